"""deploy/: a real nginx, also on a busy day; systemd's own opinion of the units."""

import gzip
import http.client
import http.server
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from conftest import Figure
from support import KEY, ROOT, STAFF_KEY, TLS, missing
from support.api import fill, made_up, request
from support.browser import Visit, host, view_of, with_card
from support.nginx import PERSONS, Instances, Nginx, Visitor, send_views
from support.service import Service, demo_profile, free_port, wait_until
from support.web import Web

pytestmark = pytest.mark.slow

DEPLOY = ROOT / "deploy"
DRAW, PAGE = "/api/persona-random", "/embed.js"
TRACK = "/api/track?e=view&p=prueba-1&d=a.example"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instances]:
    """nginx.conf before one service."""
    with closing(Instances(1, tmp_path_factory.mktemp("one"))) as running:
        yield running


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instances]:
    """nginx.conf before three services, on a busy day."""
    folder = tmp_path_factory.mktemp("three")
    with closing(Instances(3, folder, busy=True)) as running:
        yield running


@pytest.fixture
def visitor(one: Instances) -> Visitor:
    return one.nginx.visitor()


@pytest.fixture
def crowd(three: Instances) -> Visitor:
    return three.nginx.visitor()


@pytest.fixture
def alone(tmp_path: Path, full: bool) -> Iterator[Nginx]:
    """nginx.conf before a service that is down."""
    with closing(Nginx([free_port()], tmp_path, 10 if full else 1)) as nginx:
        yield nginx


def answers_until_429(visitor: Visitor, path: str, method: str = "GET") -> int:
    """How many answers the visitor gets over one connection before 429."""
    count = 0
    with closing(visitor.connect()) as connection:
        while (answer := request(connection, path, method)).status != 429:
            count += 1
            assert count < 5000
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["retry-after"] == "1"
    assert method == "HEAD" or answer.json["status"] == 429
    return count


# --- nginx.conf ----------------------------------------------------------------------


def test_the_api_through_nginx(visitor: Visitor) -> None:
    assert visitor.ask("/api/persona-random").json["id"].startswith("prueba-")
    page = visitor.ask("/api/personas", Accept_Encoding="gzip")
    assert page.headers["content-encoding"] == "gzip"
    assert visitor.ask("/api/personas", If_None_Match=page.headers["etag"]).status == 304
    script = visitor.ask("/embed.js", Accept_Encoding="gzip")
    assert gzip.decompress(script.body) == visitor.ask("/embed.js").body
    assert visitor.ask("/embed.js", If_None_Match=script.headers["etag"]).status == 304
    wrong = visitor.ask("/api/personas?limit=none")
    assert (wrong.status, wrong.headers["content-type"]) == (400, "application/problem+json")
    assert wrong.headers["access-control-allow-origin"] == "*"
    assert visitor.ask("/api/scrape/trigger", "POST", X_API_Key="wrong").status == 401
    assert "max-age" in visitor.ask("/").headers["strict-transport-security"]


def test_a_view_counts_through_nginx(one: Instances, visitor: Visitor) -> None:
    track = TRACK.replace("a.example", "only-here.example")
    assert visitor.ask(track, Referer="https://only-here.example/").json == {"ok": True}
    service = one.services[0]
    wait_until(lambda: b"only-here.example" in service.ask("/api/sites", X_API_Key=KEY).body)


def test_plain_http_leads_to_https(one: Instances) -> None:
    port = one.nginx.plain
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/api/stats", headers={"Host": "servicio.example"})
        answer = connection.getresponse()
        assert answer.status == 301
        assert answer.headers["Location"] == "https://servicio.example/api/stats"


def test_limits_spare_404_pages_and_stop_a_crowd(visitor: Visitor) -> None:
    visit = ["/embed.js", "/api/persona-random", TRACK]
    assert {visitor.ask(path).status for _ in range(25) for path in visit} == {200}
    assert answers_until_429(visitor, "/api/persona-random") > 0


def test_a_service_that_is_down_is_a_problem(alone: Nginx) -> None:
    down = alone.visitor().ask("/api/persona-random", Referer="https://sitio.example/")
    assert (down.status, down.headers["content-type"]) == (503, "application/problem+json")
    assert down.headers["access-control-allow-origin"] == "*"
    assert "sitio.example" not in alone.logged()
    assert "127.0.0.1" not in alone.logged()


HOST = b" HTTP/1.1\r\nHost: servicio.example\r\n"
CHALLENGE = b"GET /.well-known/acme-challenge/"
ERRORS = {  # the port, what is sent, and how the answer begins
    "a challenge that is not there": ("plain", CHALLENGE + b"x" + HOST, b"HTTP/1.1 404"),
    "no challenge": ("plain", CHALLENGE + HOST, b"HTTP/1.1 404"),
    "a long address": ("plain", b"GET /" + b"x" * 9000 + HOST, b"HTTP/1.1 414"),
    "a long header": ("TLS", b"GET /" + HOST + b"X: " + b"x" * 9000 + b"\r\n", b"HTTP/1.1 400"),
    "a large body": ("TLS", b"POST /" + HOST + b"Content-Length: 99999\r\n", b"HTTP/1.1 413"),
    "a folder above all": ("TLS", b"GET /../.." + HOST, b"HTTP/1.1 400"),
    "a service that is down": ("TLS", b"GET /panel" + HOST, b"HTTP/1.1 503"),
    "another name": ("TLS", b"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n", b"HTTP/1.1 503"),
    "no TLS": ("bare", b"GET /" + HOST, b"HTTP/1.1 400"),
    "a broken handshake": ("bare", b"\x16\x03\x01\x00\x04\x01\x00\x00\x00", b"\x15\x03"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_no_log_tells_who_made_an_error(alone: Nginx, case: str) -> None:
    port, sent, expected = ERRORS[case]
    address = ("127.0.0.1", alone.plain if port == "plain" else alone.port)
    with ExitStack() as stack:
        client = stack.enter_context(closing(socket.create_connection(address, 30)))
        if port == "TLS":
            context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
            client = stack.enter_context(context.wrap_socket(client, server_hostname="127.0.0.1"))
        client.sendall(sent + b"\r\n")
        assert client.recv(1000).startswith(expected)
    assert "127.0.0.1" not in alone.logged()


def test_no_log_tells_who_asks_too_often(one: Instances, visitor: Visitor) -> None:
    answers_until_429(visitor, "/api/stats")
    assert visitor.address not in one.nginx.logged()


def test_visitors_behind_a_cdn_are_limited_one_by_one(one: Instances, tmp_path: Path) -> None:
    edge, other = one.nginx.visitor(), one.nginx.visitor()
    ports = [one.services[0].port]
    with closing(Nginx(ports, tmp_path, edge=edge.address)) as nginx:
        edge.port = other.port = nginx.port
        for client, admitted in ((edge, {200}), (other, {200, 429})):
            with closing(client.connect()) as connection:
                names = [f"192.0.2.{1 + n % 30}" for n in range(1500)]
                asked = [request(connection, TRACK, X_Forwarded_For=name) for name in names]
            assert {reply.status for reply in asked} == admitted


def test_slow_clients_are_cut_off(alone: Nginx) -> None:
    context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    with (
        closing(socket.create_connection(("127.0.0.1", alone.port), timeout=30)) as bare,
        closing(context.wrap_socket(bare, server_hostname="127.0.0.1")) as slow,
    ):
        slow.sendall(b"GET /api/stats HTTP/1.1\r\nHost: a")
        assert slow.recv(100) == b""  # after client_header_timeout


def test_a_service_that_hangs_does_not_hold_back_the_sites(
    visit: Visit, web: Web, tmp_path: Path, figure: Figure
) -> None:
    """The page's load waits for the script, which nginx has, and for nothing else."""
    with closing(Instances(1, tmp_path)) as running:
        service, visitor = running.services[0].process, running.nginx.visitor()
        url = host(web, with_card(f"https://servicio.example:{running.nginx.port}"))
        page = visit("about:blank")
        view_of(page, lambda: page.goto(url))
        for path in ("/404.html", "/icon.svg"):
            assert visitor.ask(path).status == 200
        service.send_signal(signal.SIGSTOP)
        try:
            too_old = time.monotonic() + 1.1  # for nginx's copies, in these tests
            wait_until(lambda: time.monotonic() > too_old)
            page.goto(url, wait_until="load")
            loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventStart")
            assert loaded < 3000
            assert {visitor.ask(path).status for path in ("/404.html", "/icon.svg")} == {200}
        finally:
            service.send_signal(signal.SIGCONT)
    figure(f"a site's page, the service stopped behind nginx: loaded after {loaded:.0f} ms")


# --- A busy day ----------------------------------------------------------------------


def test_draws_of_a_crowd_vary(crowd: Visitor) -> None:
    drawn = [crowd.ask("/api/persona-random") for _ in range(200)]
    assert {reply.status for reply in drawn} == {200}
    assert len({reply.json["id"] for reply in drawn}) > 10
    assert drawn[0].headers["cache-control"] == "no-store"
    region = crowd.ask("/api/persona-random?region=x").json
    assert region["id"].startswith("prueba-")


@pytest.mark.parametrize(
    ("method", "query"), [("POST", ""), ("GET", "?n=1"), ("OPTIONS", ""), ("HEAD", "?n=1")]
)
def test_what_is_not_kept_is_limited(crowd: Visitor, method: str, query: str) -> None:
    assert answers_until_429(crowd, "/api/persona-random" + query, method) >= 100
    assert crowd.ask("/api/persona-random").status == 200


def fill_the_pool(connection: http.client.HTTPSConnection) -> None:
    for _ in range(100):
        request(connection, DRAW)


def see_them_leave(three: Instances, connection: http.client.HTTPSConnection) -> None:
    """Remove everybody but prueba-99; from two seconds later on nobody else may be drawn."""
    for database in three.databases:
        fill(database, [made_up(99)])
    removed = time.monotonic()
    while (began := time.monotonic()) < removed + 2.5:
        drawn = request(connection, DRAW).json["id"]
        assert drawn == "prueba-99" or began < removed + 2


def test_a_removed_person_leaves_the_cache_within_two_seconds(
    three: Instances, crowd: Visitor
) -> None:
    with closing(crowd.connect()) as connection:
        fill_the_pool(connection)
        see_them_leave(three, connection)
        assert request(connection, "/api/personas?limit=100").json["total"] == 1
    three.fill()


def test_a_clock_that_is_set_back_brings_no_old_draw_back(three: Instances, crowd: Visitor) -> None:
    """To nginx, what it keeps is then good until an hour from now."""
    with closing(crowd.connect()) as connection:
        fill_the_pool(connection)
        for file in (three.nginx.folder / "draws").iterdir():
            header = bytearray(file.read_bytes())
            header[8:16] = struct.pack("q", struct.unpack("q", header[8:16])[0] + 3600)
            file.write_bytes(header)
        see_them_leave(three, connection)
    three.fill()


@pytest.mark.parametrize("line", ["POST /", "GET /api/persona-random"])
def test_a_body_that_is_too_large_takes_no_process_down(three: Instances, line: str) -> None:
    """To nginx, a process that refuses in mid-request would look like one that is down."""
    sent = (
        f"{line} HTTP/1.1\r\nHost: servicio.example\r\nContent-Length: 65536\r\n\r\n{'x' * 65536}"
    )
    context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))

    def send() -> None:
        with (
            suppress(OSError),  # it is cut off
            closing(socket.create_connection(("127.0.0.1", three.nginx.port), 30)) as bare,
            closing(context.wrap_socket(bare, server_hostname="127.0.0.1")) as client,
        ):
            client.sendall(sent.encode())
            client.recv(100)

    visitor = three.nginx.visitor()
    for _ in range(10):
        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert visitor.ask("/api/personas").status == 200


ODD_REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "as it should be": ("GET", "{0}", {}),
    "a slash before": ("GET", "/{0}", {}),
    "each slash twice": ("GET", "{2}", {}),
    "a dot": ("GET", "/.{0}", {}),
    "a dot as its number": ("GET", "/%2e{0}", {}),
    "two dots": ("GET", "/x/..{0}", {}),
    "two dots in another page": ("GET", "/p/%2e%2e{0}", {}),
    "a letter as its number": ("GET", "{1}", {}),
    "a slash behind": ("GET", "{0}/", {}),
    "a dot behind": ("GET", "{0}/.", {}),
    "a new line behind": ("GET", "{0}%0a", {}),
    "a NUL behind": ("GET", "{0}%00", {}),
    "a semicolon": ("GET", "{0};x", {}),
    "a question mark": ("GET", "{0}?", {}),
    "a question mark as its number": ("GET", "{0}%3f", {}),
    "a parameter that is 0": ("GET", "{0}?0", {}),
    "a region": ("GET", "{0}?region=x", {}),
    "a fragment": ("GET", "{0}#/../../p/x", {}),
    "a full address": ("GET", "http://otro.example/{0}", {}),
    "HEAD": ("HEAD", "{0}", {}),
    "POST": ("POST", "{0}", {}),
    "OPTIONS": ("OPTIONS", "{0}", {"Origin": "https://otro.example"}),
    "a range": ("GET", "{0}", {"Range": "bytes=0-0"}),
    "a condition": ("GET", "{0}", {"If_None_Match": "*"}),
    "a date": ("GET", "{0}", {"If_Modified_Since": "Fri, 31 Dec 2100 23:59:59 GMT"}),
    "gzip": ("GET", "{0}", {"Accept_Encoding": "gzip"}),
    "no gzip": ("GET", "{0}", {"Accept_Encoding": "gzip;q=0"}),
    "a picture": ("GET", "{0}", {"Accept": "image/*"}),
    "another host": ("GET", "{0}", {"Host": "otro.example", "X_Forwarded_Host": "otro.example"}),
    "another method": ("GET", "{0}", {"X_HTTP_Method_Override": "POST"}),
    "long headers": ("GET", "{0}", {"X1": "x" * 8000, "X2": "x" * 8000, "X3": "x" * 8000}),
    "a body": ("GET", "{0}", {"Content_Length": "0"}),
    "an upgrade": ("GET", "{0}", {"Upgrade": "h2c", "Connection": "Upgrade"}),
    "headers to be dropped": ("GET", "{0}", {"Connection": "Host, Accept-Encoding"}),
}


def kept(nginx: Nginx) -> list[Path]:
    """Answers in the files of both caches; one that is being written has a longer name."""
    files = [file for name in ("draws", "cache") for file in (nginx.folder / name).iterdir()]
    return [file for file in files if len(file.name) == 32]


class Echo(http.server.BaseHTTPRequestHandler):
    """A service that says what it was asked: method, address, names of headers."""

    status, asked = 200, 0

    def do_GET(self) -> None:
        Echo.asked += 1
        names = sorted(name.lower() for name, text in self.headers.items() if text != "0")
        body = f"{self.command} {self.path} {names}".encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_POST = do_OPTIONS = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def echoing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """An nginx on a busy day before an Echo."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with closing(
            Nginx([server.server_port], tmp_path_factory.mktemp("echo"), busy=True)
        ) as nginx:
            yield nginx
        server.shutdown()
        thread.join()


def kept_after(nginx: Nginx, path: str, odd: str, method: str, **headers: str) -> set[bytes]:
    """The bodies that nginx keeps after an odd request and a usual one; before, it keeps none."""
    for file in kept(nginx):
        file.unlink()
    nginx.visitor().ask(odd, method, **headers)
    nginx.visitor().ask(path)
    wait_until(lambda: kept(nginx))
    return {file.read_bytes().rpartition(b"\r\n\r\n")[2] for file in kept(nginx)}


@pytest.fixture(scope="module")
def usual(echoing: Nginx) -> dict[str, set[bytes]]:
    """What is kept after usual requests alone, by address."""
    bodies = {path: kept_after(echoing, path, path, "GET") for path in (DRAW, PAGE)}
    for path in bodies:
        assert [body.split()[:2] for body in bodies[path]] == [[b"GET", path.encode()]]
    return bodies


@pytest.mark.parametrize("path", [DRAW, PAGE])
@pytest.mark.parametrize("case", ODD_REQUESTS)
def test_nobody_has_a_part_in_what_others_get(
    echoing: Nginx, usual: dict[str, set[bytes]], path: str, case: str
) -> None:
    method, odd, headers = ODD_REQUESTS[case]
    odd = odd.format(path, f"{path[:-1]}%{ord(path[-1]):x}", path.replace("/", "//"))
    assert kept_after(echoing, path, odd, method, **headers) == usual[path]


def test_a_draw_that_is_refused_is_kept_a_second_too(
    echoing: Nginx, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Echo, "status", 503)
    before = Echo.asked
    with closing(echoing.visitor().connect()) as connection:
        assert {request(connection, DRAW).status for _ in range(400)} == {503}
    assert Echo.asked - before < 200


def test_strangers_do_not_fill_what_nginx_keeps(three: Instances) -> None:
    for first in range(0, 300, 20):
        with closing(three.nginx.visitor().connect()) as connection:
            for number in range(first, first + 20):
                page = f"/api/personas?page={number + 1}"
                assert request(connection, page).status == 200
                asked = {"Accept_Encoding": f"gzip, x-{number}"}
                assert request(connection, PAGE, **asked).status == 200
                assert request(connection, f"/p/x-{number}?{number}").status == 200
                assert request(connection, f"{DRAW}?region={number}").status == 200
    keys = {re.search(rb"\nKEY: (.*)\n", file.read_bytes())[1] for file in kept(three.nginx)}
    assert keys >= {PAGE.encode(), b"/p/id"}
    pages = {key for key in keys if not re.fullmatch(rb"[1-3]?[0-9] [0-9]{10}", key)}
    assert len(pages) <= 6


def test_views_are_one_number_while_a_read_instance_is_killed(
    tmp_path: Path, full: bool, figure: Figure
) -> None:
    """Reads fail at most where they were in flight; no view is lost."""
    statuses: Counter[int] = Counter()
    stop = threading.Event()

    def read(path: str) -> None:
        with closing(crowd.nginx.visitor().connect()) as connection:
            while not stop.is_set():
                statuses[request(connection, path).status] += 1

    paths = ["/api/persona-random", "/api/persona-random", "/foto/x", "/api/personas"]
    threads = [threading.Thread(target=read, args=[path], daemon=True) for path in paths]
    count = 10_000 if full else 1_000
    with closing(Instances(3, tmp_path, busy=True)) as crowd:
        for thread in threads:
            thread.start()
        seen = send_views(crowd.nginx, count, halfway=crowd.services[1].process.kill)
        stop.set()
        for thread in threads:
            thread.join()
        visitor = crowd.nginx.visitor()
        wait_until(lambda: visitor.ask("/api/stats").json["views"] == count)
        sites = visitor.ask("/api/sites", X_API_Key=KEY).json["sites"]
    assert (seen, sum(site["views"] for site in sites), len(sites)) == ({200: count}, count, 100)
    assert statuses.total() - statuses[200] - statuses[404] - statuses[429] <= len(threads)
    figure(f"views through nginx, one of three instances killed: {count}, all counted")


@pytest.mark.parametrize("path", ["/api/stats", "/api/sites", "/health"])
def test_what_is_counted_is_asked_of_one(three: Instances, path: str) -> None:
    """The others would answer 0."""
    databases = three.databases[1:]
    for database in databases:
        fill(database, [])
    try:
        answers = {three.nginx.visitor().ask(path, X_API_Key=KEY).body for _ in range(9)}
        assert len(answers) == 1
        assert b'"active":0' not in answers.pop()
    finally:
        three.fill()


def test_instances_may_share_a_database(tmp_path: Path) -> None:
    """On one machine: then whatever they answer and count is one number."""
    environ = {"REGISTER": str(demo_profile(tmp_path)), "DATABASE": str(tmp_path / "x.db")}
    fill(tmp_path / "x.db", PERSONS)
    with ExitStack() as stack:
        services = [Service(**environ, SYNC_AT="off") for _ in range(2)]
        for service in services:
            stack.callback(service.kill)
            service.serving()
            for _ in range(10):
                assert service.ask(TRACK).status == 200
        for service in services:
            wait_until(lambda service=service: service.ask("/api/stats").json["views"] == 20)


# --- Each day ------------------------------------------------------------------------


@pytest.mark.parametrize("busy", [False, True])
def test_the_page_of_a_child_outlives_the_service_and_holds_nobody(
    tmp_path: Path, busy: bool
) -> None:
    with closing(Instances(3 if busy else 1, tmp_path, busy=busy)) as running:
        visitor = running.nginx.visitor()
        before = visitor.ask(f"/p/{PERSONS[0].id}")
        for service in running.services:
            service.process.kill()
            service.process.wait()
        after = visitor.ask("/p/otra-1")
        assert (after.status, after.body) == (200, before.body)
        assert after.headers["cache-control"] == "no-store"
        assert visitor.ask(f"/api/personas/{PERSONS[0].id}").status == 503
        down = visitor.ask(f"/api/personas/{PERSONS[0].id}/hide", "POST", X_API_Key=STAFF_KEY)
        assert down.json["detail"] == "The service is not running."  # the panel knows these words
        assert "access-control-allow-origin" not in down.headers


@pytest.mark.parametrize("busy", [False, True])
def test_a_child_whom_the_staff_hides_is_gone_at_once(tmp_path: Path, busy: bool) -> None:
    """Nothing of the panel, of the hide or of the child is kept."""
    with closing(Instances(1, tmp_path, busy=busy)) as running:
        visitor, child = running.nginx.visitor(), PERSONS[0].id
        hide = f"/api/personas/{child}/hide"
        assert visitor.ask("/panel").headers["cache-control"] == "no-store"
        assert visitor.ask(f"/api/personas/{child}").status == 200
        assert visitor.ask(hide, "POST", X_API_Key=KEY).status == 401
        assert visitor.ask(hide, "POST", X_API_Key=STAFF_KEY).json == {"hidden": child}
        assert visitor.ask(f"/api/personas/{child}").status == 404
        kept = [path.read_bytes() for path in (tmp_path / "nginx").rglob("*") if path.is_file()]
        assert not any(b"Panel" in text or b"hidden" in text for text in kept)


# --- systemd -------------------------------------------------------------------------

UNITS = sorted(path.name for path in DEPLOY.glob("persona404*.*"))


def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze")
    python = shutil.which("python3")
    for name in UNITS:
        text = (DEPLOY / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/persona404/.venv/bin/python", str(python)))
    files = [str(tmp_path / name) for name in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "name", [name for name in UNITS if name.endswith(".service") and "dog" not in name]
)
def test_a_unit_is_exposed_little(name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze")
    command = ["systemd-analyze", "security", "--offline=yes", "--threshold=20"]
    done = subprocess.run([*command, str(DEPLOY / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout.splitlines()[-1]
