"""Fetching: redirects, retries, pauses, robots.txt, limits, and saved pages."""

import re
import signal
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from model import VERSION
from scrape.fetch import PAGE_BYTES, Fetcher, PageError, Refused, saved_page, time_limit
from scrape.profile import load_profile
from support import TLS
from support.register import Register, slugs
from support.scrape import add_to_profile, edit_profile, read
from support.web import Answer, Web


def make_fetcher(register: Register) -> Fetcher:
    return Fetcher(load_profile(register.profile), "nadie@registro.example")


@pytest.fixture
def fetcher(register: Register) -> Fetcher:
    return make_fetcher(register)


def redirect(to: str) -> Answer:
    return Answer(302, headers=(("Location", to),))


def retry_after(status: int, value: str) -> Answer:
    return Answer(status, headers=(("Retry-After", value),))


def close_after(answer: Answer) -> Answer:
    """Answer, and close the connection. The client is told, else it may send the next request
    over a connection that is just being closed."""
    return answer._replace(headers=(*answer.headers, ("Connection", "close")))


def note_moments(web: Web, *answers: Answer) -> list[float]:
    """Serve /x with each of `answers` in turn; the moments of its requests will be noted."""
    moments: list[float] = []
    turns = iter(answers)

    def serve(handler: BaseHTTPRequestHandler) -> Answer:
        moments.append(time.monotonic())
        return next(turns)

    web.pages["/x"] = serve
    return moments


# --- Requests ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(404), "HTTP 404"),
        (Answer(204), "HTTP 204"),
        (Answer(500), "HTTP 500"),
        (retry_after(503, "3600"), "HTTP 503"),
        (retry_after(503, "soon"), "HTTP 503"),
        (retry_after(404, "Fri, 01 Jan 99999 00:00:00 GMT"), "HTTP 404"),
        (redirect("/\xf1"), "HTTP 404"),
        (redirect("/x"), "more than 5 redirects"),
        (redirect("/y")._replace(body=b"x" * (PAGE_BYTES + 1)), "more than 10 MB"),
        (redirect("https://elsewhere.example/"), "off the register's hosts"),
        (redirect("http://169.254.1.1/"), "off the register's hosts"),
        (redirect("http://127.0.0.1:1/"), "off the register's hosts"),
        (redirect("file:///etc/passwd"), "redirects to something that is not a web address"),
        (Answer(body=b"x" * (PAGE_BYTES + 1)), "more than 10 MB"),
        (
            Answer(body=b"cut", headers=(("Content-Length", "999"),)),
            r"no complete answer \((ConnectionError|Chunked)",
        ),
        (
            Answer(body=b"no gzip", headers=(("Content-Encoding", "gzip"),)),
            r"no complete answer \(ContentDecoding",
        ),
    ],
)
def test_a_page_that_cannot_be_fetched(
    web: Web, fetcher: Fetcher, answer: Answer, reason: str
) -> None:
    web.pages["/x"] = close_after(answer)
    with pytest.raises(PageError, match=reason):
        fetcher.get(f"http://{web.host}/x")


def test_a_redirect_within_the_register_is_followed(web: Web, fetcher: Fetcher) -> None:
    web.pages["/x"] = redirect("/y")
    web.put("/y", "there")
    page = fetcher.get(f"http://{web.host}/x")
    assert (page.url, page.body) == (f"http://{web.host}/y", b"there")


def test_a_host_may_be_written_in_capitals(register: Register) -> None:
    port = register.web.host.rpartition(":")[2]
    edit_profile(register, register.web.host, f"LOCALHOST:{port}")
    register.publish(slugs(2))
    assert len(read(register).persons) == 2


def test_a_redirect_may_be_in_utf8(web: Web, fetcher: Fetcher) -> None:
    web.pages["/x"] = redirect("/niño".encode().decode("latin-1"))
    web.put("/ni%C3%B1o", "there")
    assert fetcher.get(f"http://{web.host}/x").body == b"there"


def test_the_user_agent_names_the_service_and_the_contact(web: Web, fetcher: Fetcher) -> None:
    web.put("/x", "x")
    fetcher.get(f"http://{web.host}/x")
    assert web.agents == {f"persona404/{VERSION} (+nadie@registro.example)"}


@pytest.mark.parametrize("trusted", [True, False])
def test_certificates_are_verified(register: Register, trusted: bool) -> None:
    register.web.use_tls()
    edit_profile(register, "http://", "https://")
    if trusted:
        add_to_profile(register, f'ca_bundle = "{TLS / "cert.pem"}"')
    register.publish(slugs(3))
    if trusted:
        assert len(read(register).persons) == 3
    else:
        with pytest.raises(Refused, match="its certificate cannot be verified"):
            read(register)
        assert register.web.asked == []


# --- Retries and pauses --------------------------------------------------------------


def test_a_passing_fault_is_tried_again(web: Web, fetcher: Fetcher) -> None:
    note_moments(web, Answer(503), Answer(429), Answer(body=b"there"))
    assert fetcher.get(f"http://{web.host}/x").body == b"there"


def test_a_register_that_asks_for_a_long_wait_is_left_alone(web: Web, fetcher: Fetcher) -> None:
    web.pages["/x"] = retry_after(429, "120")
    with pytest.raises(Refused, match="asks to wait 120 s"):
        fetcher.get(f"http://{web.host}/x")


def test_retry_after_is_honoured(
    web: Web, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrape.fetch.TRIES", 1)  # only the wait before another try is tested
    web.pages["/x"] = retry_after(503, "20")
    began = time.monotonic()
    with pytest.raises(PageError, match="HTTP 503"):
        fetcher.get(f"http://{web.host}/x")
    assert fetcher.next_request >= began + 20


def test_a_pause_lies_between_requests(register: Register) -> None:
    edit_profile(register, "pause = 0", "pause = 0.05")
    moments = note_moments(register.web, *[Answer()] * 3)
    fetcher = make_fetcher(register)
    for _ in range(3):
        fetcher.get(f"http://{register.web.host}/x")
    first, second, third = moments
    assert second - first >= 0.05
    assert third - second >= 0.05


def test_each_retry_waits_twice_as_long(register: Register) -> None:
    edit_profile(register, "pause = 0", "pause = 0.05")
    moments = note_moments(register.web, Answer(503), Answer(503), Answer())
    make_fetcher(register).get(f"http://{register.web.host}/x")
    first, second, third = moments
    assert second - first >= 0.05
    assert third - second >= 0.1


# --- robots.txt ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "robots",
    [
        Answer(404),
        Answer(410),
        Answer(body=b"User-agent: *\nDisallow: /secret"),
        Answer(body=b"User-agent: *\nDisallow: /*.html$"),
        Answer(body=b"User-agent: *\nDisallow: /\nAllow: /x"),
        redirect("/elsewhere.txt"),
    ],
)
def test_robots_txt_allows(web: Web, fetcher: Fetcher, robots: Answer) -> None:
    web.pages["/robots.txt"] = robots
    web.put("/x?n=1", "there")
    assert fetcher.get(f"http://{web.host}/x?n=1").body == b"there"
    assert web.asked[0] == "/robots.txt"


@pytest.mark.parametrize(
    "robots",
    [
        Answer(body=b"User-agent: *\nDisallow: /*?n="),
        Answer(body=b"\xef\xbb\xbfUser-agent: *\nDisallow: /"),
        Answer(body=b"User-agent: Persona404\nDisallow: /x"),
    ],
)
def test_robots_txt_forbids(web: Web, fetcher: Fetcher, robots: Answer) -> None:
    web.pages["/robots.txt"] = robots
    with pytest.raises(PageError, match=r"robots\.txt forbids it"):
        fetcher.get(f"http://{web.host}/x?n=1")
    assert web.asked == ["/robots.txt"]


@pytest.mark.parametrize(
    ("robots", "reason"),
    [
        (Answer(500), "HTTP 500"),
        (redirect("https://elsewhere.example/robots.txt"), "leads off the register's hosts"),
        (
            Answer(headers=(("Content-Length", "9"),)),
            r"no complete answer \((ConnectionError|Chunked)",
        ),
    ],
)
def test_robots_txt_that_cannot_be_fetched_is_refused(
    web: Web, fetcher: Fetcher, robots: Answer, reason: str
) -> None:
    web.pages["/robots.txt"] = close_after(robots)
    with pytest.raises(Refused, match=f"^{web.host}/robots.txt: {reason}"):
        fetcher.get(f"http://{web.host}/x")


def test_robots_txt_is_off_by_permission(register: Register) -> None:
    add_to_profile(register, "robots = false")
    register.publish(slugs(1))
    register.web.put("/robots.txt", "User-agent: *\nDisallow: /")
    assert read(register).listed == 1
    assert "/robots.txt" not in register.web.asked


# --- Time ----------------------------------------------------------------------------


def test_a_run_has_its_time(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrape.fetch.RUN_SECONDS", -1)
    register.publish(slugs(1))
    with pytest.raises(Refused, match="the run took more than"):
        read(register)


def backtrack(register: Register, place: str) -> None:
    """Publish one person, and read the name by a pattern that never comes to an end."""
    register.publish(slugs(1))
    way = f"{{ {place}, pattern = '(A+|a+)+$' }}"
    edit_profile(register, 'nombre = [{ card = "a" }]', f"nombre = [{way}]")
    register.web.edit("/lista?n=1", "Aa", "a" * 50 + "!")
    register.web.edit("/file/aa", "Fecha", "a" * 50 + "!<br>Fecha")


def test_a_list_page_has_its_time(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrape.paging.PAGE_SECONDS", 0.05)
    backtrack(register, 'card = "a"')
    with pytest.raises(Refused, match="list page 1 cannot be read: took more than"):
        read(register)


def test_a_record_has_its_time(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrape.reading.PAGE_SECONDS", 0.05)
    backtrack(register, 'file = "p"')
    (record,) = read(register).unreadable
    assert record.reason.startswith("took more than")


def test_a_stamped_namesake_has_its_time(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read all the same, as it may be the second card of a child."""
    monkeypatch.setattr("scrape.reading.PAGE_SECONDS", 0.05)
    one, other = slugs(2)
    register.publish([one, other._replace(name=one.nombre, stamp="FUE ENCONTRADA")])
    way = "fecha = [{ file = 'p', pattern = '(A+|a+)+$' }, "
    edit_profile(register, "fecha = [", way)
    register.web.edit("/file/ab", "Fecha", "a" * 50 + "!<br>Fecha")
    reading = read(register)
    assert (reading.persons.keys(), reading.stamped_persons) == ({register.id("aa")}, {})


def test_pauses_are_no_part_of_a_pages_time(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = []

    def sleep(seconds: float) -> None:  # longer than any limit
        pauses.append(seconds)
        if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
            signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr("scrape.fetch.time.sleep", sleep)
    edit_profile(register, "pause = 0", "pause = 30")
    edit_profile(register, "lista?n=1", "inicio")
    register.web.pages["/inicio"] = Answer(302, headers=(("Location", "/lista?n=1"),))
    register.publish([])
    assert read(register).card_count == 0
    assert max(pauses) > 0


def test_a_time_limit_interrupts_whatever_runs() -> None:
    began = time.monotonic()
    with pytest.raises(PageError, match="took more than 0 s"), time_limit(0.05):
        re.search("(a+)+b", "a" * 40)
    assert time.monotonic() - began < 5


# --- Saved pages ---------------------------------------------------------------------


def test_saved_pages_read_like_the_register(register: Register) -> None:
    edit_profile(register, "photos = false\n", "")
    register.publish(slugs(12))
    folder = str(register.profile.parent / "saved")
    fetched = register.sync("--dry-run", "--save", folder)
    asked = len(register.web.asked)
    replayed = register.sync("--dry-run", "--pages", folder, CONTACT="")
    assert "would be added: 12" in replayed.stdout
    assert replayed.stdout == re.sub("photos: .*\n", "", fetched.stdout)
    assert len(register.web.asked) == asked


def test_a_long_address_is_saved_too(register: Register, tmp_path: Path) -> None:
    path = "/lista?n=1&" + "x" * 300
    edit_profile(register, "/lista?n=1", path)
    register.publish(slugs(1))
    register.web.pages[path] = register.web.pages["/lista?n=1"]
    register.sync("--dry-run", "--save", str(tmp_path / "saved"))
    replayed = register.sync("--dry-run", "--pages", str(tmp_path / "saved"))
    assert "would be added: 1" in replayed.stdout
    assert replayed.returncode == 0


def test_saved_pages_are_never_stored(register: Register) -> None:
    refused = register.sync("--pages", str(register.profile.parent))
    assert (refused.returncode, register.database.exists()) == (2, False)
    assert "--pages: goes with --dry-run" in refused.stderr


@pytest.mark.parametrize("path", ["/../profile.toml", "/%2e%2e/profile.toml", "/nothing", "/"])
def test_saved_pages_stay_in_their_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "profile.toml").touch()
    (tmp_path / "pages").mkdir()
    with pytest.raises(PageError):
        saved_page(tmp_path / "pages", f"https://registro.example{path}", None)
