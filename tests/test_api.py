"""The API through WSGI; test_waitress.py asks a few of the same through sockets."""

import gzip
import io
import json
import re
import threading
import zipfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from serve.nightly import NotNow, Synchroniser
from store.database import open_database, transaction
from store.hidden import hide
from store.persons import write_persons
from support import KEY, ROOT
from support.api import ABOUT, Api, ask_wsgi, fill, made_up

FIELDS = ["id", "nombre", "fecha", "edad", "lugar", "foto", "url"]


# --- The list ------------------------------------------------------------------------


def test_random_person_has_the_seven_fields_in_order(api: Api) -> None:
    assert list(api.get("/api/persona-random")) == FIELDS


def test_random_is_uniform(database: Path) -> None:
    fill(database, [made_up(n) for n in range(4)])
    api = Api(database)
    drawn = Counter(api.get("/api/persona-random")["id"] for _ in range(4000))
    assert len(drawn) == 4
    assert all(850 < count < 1150 for count in drawn.values())  # 1000 ± 5.5 sigma


@pytest.mark.parametrize(
    ("query", "ids", "page", "pages"),
    [
        ("", range(25, 5, -1), 1, 2),
        ("?page=2", range(5, 0, -1), 2, 2),
        ("?limit=10&page=3", range(5, 0, -1), 3, 3),
        ("?limit=101", range(25, 0, -1), 1, 1),
        ("?limit=25&page=2", [], 2, 1),
        (f"?page={10**30}", [], 10**30, 2),
        (f"?limit={10**30}", range(25, 0, -1), 1, 1),
        ("?limit=007", range(25, 18, -1), 1, 4),
        ("?unknown=1&limit=1", [25], 1, 25),
    ],
)
def test_pages(api: Api, query: str, ids: list[int], page: int, pages: int) -> None:
    body = api.get(f"/api/personas{query}")
    assert [person["id"] for person in body["personas"]] == [f"prueba-{n}" for n in ids]
    assert (body["total"], body["page"], body["totalPages"]) == (25, page, pages)


def test_persons_have_the_seven_fields_in_order(api: Api) -> None:
    assert list(api.get("/api/personas")["personas"][0]) == FIELDS


def test_one_date_is_ordered_by_id(database: Path) -> None:
    fill(database, [made_up(n) for n in (3, 1, 2)])
    listed = Api(database).get("/api/personas")["personas"]
    assert [person["id"][-1] for person in listed] == ["1", "2", "3"]


def test_text_is_utf8(api: Api) -> None:
    assert "Ñandubay".encode() in api.ask("/api/persona-random").body


def test_nobody_is_sought(database: Path) -> None:
    fill(database, [])
    api = Api(database)
    assert api.ask("/api/persona-random").status == 404
    assert api.get("/api/personas") == {"personas": [], "total": 0, "page": 1, "totalPages": 0}


def shown(api: Api) -> set[str]:
    page = api.get("/api/personas?limit=100")
    assert len(page["personas"]) == page["total"]
    return {person["id"] for person in page["personas"]}


@pytest.mark.parametrize(("end", "after"), [("COMMIT", {"prueba-2"}), ("ROLLBACK", {"prueba-1"})])
def test_a_list_is_served_from_its_commit_on(database: Path, end: str, after: set[str]) -> None:
    fill(database, [made_up(1)])
    api = Api(database)
    with open_database(database, 5) as db:
        db.execute("BEGIN IMMEDIATE")
        write_persons(db, [made_up(2)])
        assert shown(api) == {"prueba-1"}
        db.execute(end)
        assert shown(api) == after


def test_readers_of_many_threads_see_one_list_or_the_other(database: Path) -> None:
    lists = [[made_up(n) for n in range(10)], [made_up(n) for n in range(10, 30)]]
    fill(database, lists[0])
    api = Api(database)
    stop = threading.Event()
    seen: list[set[str]] = []

    def read() -> None:
        while not stop.is_set():
            seen.append(shown(api))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for swap in range(60):
        with open_database(database, 5) as db, transaction(db):
            write_persons(db, lists[swap % 2])
    stop.set()
    for thread in threads:
        thread.join()
    both = [{person.id for person in persons} for persons in lists]
    assert len(seen) > 10
    assert all(ids in both for ids in seen)


# --- Regions -------------------------------------------------------------------------

PLACES = {1: "Orán, Salta", 2: "SÁLTA", 3: "Güer, Córdoba", 4: "Salta, Jujuy", 5: "a, b, salta "}


@pytest.fixture
def regions(database: Path) -> Api:
    fill(database, [made_up(n)._replace(lugar=lugar) for n, lugar in PLACES.items()])
    return Api(database)


@pytest.mark.parametrize(
    ("region", "numbers"),
    [
        ("Salta", {1, 2, 5}),
        ("salt%C3%A1", {1, 2, 5}),
        ("CORDOBA", {3}),
        ("G%C3%BCer,+C%C3%B3rdoba", {3}),
        ("", {1, 2, 3, 4, 5}),
        ("+,+", {1, 2, 3, 4, 5}),
    ],
)
def test_a_region_has_its_persons(regions: Api, region: str, numbers: set[int]) -> None:
    ids = {f"prueba-{n}" for n in numbers}
    page = regions.get(f"/api/personas?region={region}")
    assert {person["id"] for person in page["personas"]} == ids
    assert page["total"] == len(ids)
    draws = [regions.get(f"/api/persona-random?region={region}") for _ in range(80)]
    assert {person["id"] for person in draws} == ids


def test_a_region_is_paged_in_the_order_of_the_list(regions: Api) -> None:
    pages = [regions.get(f"/api/personas?region=salta&limit=1&page={n}") for n in range(1, 5)]
    ids = [[person["id"][-1] for person in page["personas"]] for page in pages]
    assert ids == [["1"], ["2"], ["5"], []]
    assert {page["totalPages"] for page in pages} == {3}


def test_a_region_with_nobody_gives_anyone_or_an_empty_page(regions: Api) -> None:
    page = regions.get("/api/personas?region=x")
    assert page == {"personas": [], "total": 0, "page": 1, "totalPages": 0}
    assert list(regions.get("/api/persona-random?region=x")) == FIELDS


# --- What all answers have in common -------------------------------------------------

TRACK = "/api/track?e=view&p=prueba-1"


@pytest.mark.parametrize(
    ("path", "status", "word"),
    [
        ("/nothing", 404, "address"),
        ("/api", 404, "address"),
        ("/api/persona-random/x", 404, "address"),
        ("/api/%ff%fe", 404, "address"),
        ("/%ff", 404, "address"),
        ("/api/stats%ff", 404, "address"),
        ("/api/stats%C3%B1", 404, "address"),
        ("/api/personas?limit=0", 400, "limit"),
        ("/api/personas?limit=-1", 400, "limit"),
        ("/api/personas?limit=1.0", 400, "limit"),
        ("/api/personas?limit=", 400, "limit"),
        ("/api/personas?limit=%D9%A1", 400, "limit"),
        ("/api/personas?limit=1&limit=1", 400, "limit"),
        ("/api/personas?region=%ff", 400, "region"),
        ("/api/persona-random?region=a&region=a", 400, "region"),
        ("/api/personas?limit=%ff", 400, "limit"),
        (f"/api/personas?page={'9' * 5000}", 400, "page"),
        ("/api/personas?page=+1", 400, "page"),
        ("/api/personas?page=1%00", 400, "page"),
        ("/api/track", 400, "e"),
        ("/api/track?e=click&p=prueba-1&d=a.example", 400, "e"),
        ("/api/track?e=view&d=a.example", 400, "p"),
        ("/api/track?e=view&p=Prueba-1&d=a.example", 400, "p"),
        ("/api/track?e=view&p=prueba-1%0a&d=a.example", 400, "p"),
        (f"/api/track?e=view&p=prueba-{'1' * 16}&d=a.example", 400, "p"),
        (TRACK, 400, "d"),
        (f"{TRACK}&d=", 400, "d"),
        (f"{TRACK}&d=http://a.example/", 400, "d"),
        (f"{TRACK}&d=%ff.example", 400, "d"),
        (f"{TRACK}&d=a.example&d=b.example", 400, "d"),
    ],
)
def test_a_bad_request_is_a_problem(api: Api, path: str, status: int, word: str) -> None:
    assert_problem(api, "GET", path, status, word)


@pytest.mark.parametrize(
    ("method", "path", "status", "word"),
    [
        ("POST", "/api/persona-random", 405, "method"),
        ("DELETE", "/api/personas", 405, "method"),
        ("GET", "/api/scrape/trigger", 405, "method"),
        ("PATCH", "/api/stats", 405, "method"),
        ("POST", "/embed.js", 405, "method"),
        ("POST", "/api/scrape/trigger", 401, "key"),
        ("POST", f"/api/scrape/trigger?api_key={KEY}", 401, "key"),
        ("GET", "/api/sites", 401, "key"),
        ("GET", f"/api/sites?api_key={KEY}", 401, "key"),
    ],
)
def test_a_wrong_call_is_a_problem(
    api: Api, method: str, path: str, status: int, word: str
) -> None:
    assert_problem(api, method, path, status, word)


def assert_problem(api: Api, method: str, path: str, status: int, word: str) -> None:
    reply = api.ask(path, method)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-robots-tag"] == "noindex"
    assert reply.json.keys() == {"type", "title", "status", "detail"}
    assert reply.json["status"] == status
    assert word in reply.json["detail"]


@pytest.mark.parametrize(
    "path", ["/api/persona-random", "/api/personas", "/api/stats", "/health", "/nothing"]
)
def test_head_has_the_headers_of_get(api: Api, path: str) -> None:
    get, head = api.ask(path), api.ask(path, "HEAD")
    assert head.body == b""
    assert head.status == get.status
    varying = {"date", "content-length"}  # a random person is not always as long
    assert head.headers.keys() - varying == get.headers.keys() - varying


@pytest.mark.parametrize("path", ["/api/personas", "/api/personas/", "/nothing"])
def test_options(api: Api, path: str) -> None:
    reply = api.ask(path, "OPTIONS")
    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("path", ["/api/personas?limit=2", "/api/stats"])
def test_a_trailing_slash_is_alike(api: Api, path: str) -> None:
    bare, _, query = path.partition("?")
    assert api.ask(f"{bare}/?{query}").body == api.ask(path).body


@pytest.mark.parametrize("path", ["/api/personas?limit=2", "/api/stats"])
def test_etag(api: Api, path: str) -> None:
    first = api.ask(path)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for sent in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = api.ask(path, If_None_Match=sent)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == tag
        assert again.headers["access-control-allow-origin"] == "*"
    assert api.ask(path, If_None_Match='"other"').status == 200


def test_a_hide_changes_the_tag(api: Api, database: Path) -> None:
    paths = ["/api/personas", "/api/personas?region=nandubay+ficticio", "/api/stats"]
    before = [api.ask(path) for path in paths]
    with open_database(database, 5) as db:
        hide(db, ["prueba-25"])
    for path, seen in zip(paths, before, strict=True):
        now = api.ask(path, If_None_Match=seen.headers["etag"])
        assert (now.status, now.headers["etag"] != seen.headers["etag"]) == (200, True)
        assert b'"prueba-25"' not in now.body


@pytest.mark.parametrize(
    "path",
    [
        "/api/persona-random",
        "/api/personas/prueba-1",
        f"{TRACK}&d=a.example",
        "/api/sites",
        "/health",
        "/nothing",
    ],
)
def test_what_must_not_be_stored(api: Api, path: str) -> None:
    assert api.ask(path, X_API_Key=KEY).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("image/avif,image/webp,*/*;q=0.8", "image/gif"),
        ("image/*", "image/gif"),
        ("*/*", "application/json"),
        ("text/html,image/webp", "application/json"),
    ],
)
def test_an_image_request_gets_an_image(api: Api, accept: str, kind: str) -> None:
    reply = api.ask(f"{TRACK}&d=a.example", Accept=accept)
    assert reply.headers["content-type"] == kind
    assert reply.body.startswith(b"GIF89a") == (kind == "image/gif")
    assert kind == "application/json" or len(reply.body) == 43


# --- What each site showed -----------------------------------------------------------


def test_the_figures_of_the_sites(api: Api, database: Path) -> None:
    today = datetime.now(UTC).date()
    days = [str(today - timedelta(days=ago)) for ago in range(3)]
    with open_database(database, 5) as db:
        db.executemany(
            "INSERT INTO site (host, first_day, views) VALUES (?, ?, ?)",
            [("a.example", days[1], 7), ("b.example", days[2], 3)],
        )
        db.executemany(
            "INSERT INTO site_day VALUES (?, ?, ?)",
            [(days[0], 1, 2), (days[1], 2, 3), (days[2], 1, 5)],
        )
    b = {"site": "b.example", "views": 3, "first": days[1], "last": days[1]}
    a = {"site": "a.example", "views": 2, "first": days[0], "last": days[0]}
    all_of_a = {**a, "views": 7, "first": days[2]}
    for query, told, sites in [
        ("?days=2", 2, [b, a]),
        ("", 30, [all_of_a, b]),
        (f"?days={10**30}", 400, [all_of_a, b]),
    ]:
        body = api.ask(f"/api/sites{query}", X_API_Key=KEY).json
        assert body == {"days": told, "sites": sites}


def test_sites_that_were_seen_alike_are_ordered_by_name(api: Api) -> None:
    for site in ("b.example", "c.example", "a.example"):
        api.ask(f"{TRACK}&d={site}")
    api.views.flush()
    sites = api.ask("/api/sites", X_API_Key=KEY).json["sites"]
    assert [site["site"][0] for site in sites] == ["a", "b", "c"]


@pytest.mark.parametrize("days", ["0", "-1", "x", "1.5", "1&days=1"])
def test_a_wrong_number_of_days(api: Api, days: str) -> None:
    reply = api.ask(f"/api/sites?days={days}", X_API_Key=KEY)
    assert (reply.status, reply.json["detail"][:5]) == (400, "days:")


# --- The pages -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/404.html", "text/html; charset=utf-8"),
        ("/embed.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/openapi.json", "application/json"),
        ("/home.json", "application/json"),
        ("/words.json", "application/json"),
        ("/persona404.zip", "application/zip"),
    ],
)
def test_a_page_is_revalidated_and_not_indexed(api: Api, path: str, kind: str) -> None:
    reply = api.ask(path)
    assert (reply.status, reply.headers["content-type"]) == (200, kind)
    assert reply.headers["x-robots-tag"] == "noindex"
    assert ("content-security-policy" in reply.headers) == kind.startswith("text/html")
    assert api.ask(path, If_None_Match=reply.headers["etag"]).status == 304


@pytest.mark.parametrize(("path", "own"), [("/", " HASH"), ("/404.html", "")])
def test_a_page_runs_scripts_of_this_service_alone(api: Api, path: str, own: str) -> None:
    policy = api.ask(path).headers["content-security-policy"]
    assert re.sub("'sha256-[A-Za-z0-9+/]{43}='", "HASH", policy) == (
        f"default-src 'none'; script-src 'self'{own}; style-src HASH; connect-src 'self';"
        " img-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@pytest.mark.parametrize("path", ["/", "/404.html", "/embed.js", "/openapi.json"])
@pytest.mark.parametrize(
    ("accepted", "zipped"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("deflate,gzip", True),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.0, br", False),
        ("gzipped", False),
        ("", False),
    ],
)
def test_a_page_is_compressed_for_whoever_takes_it(
    api: Api, path: str, accepted: str, zipped: bool
) -> None:
    plain = api.ask(path)
    reply = ask_wsgi(api.app, path, "", HTTP_ACCEPT_ENCODING=accepted)
    assert reply.headers["vary"] == "Accept-Encoding"
    assert (reply.headers.get("content-encoding") == "gzip") == zipped
    assert (gzip.decompress(reply.body) if zipped else reply.body) == plain.body
    assert (reply.headers["etag"] == plain.headers["etag"]) != zipped
    again = {"HTTP_ACCEPT_ENCODING": accepted, "HTTP_IF_NONE_MATCH": reply.headers["etag"]}
    assert ask_wsgi(api.app, path, "", **again).status == 304


@pytest.mark.parametrize(
    ("path", "accept", "is_page"),
    [
        ("/perdida", "text/html,application/xhtml+xml,*/*;q=0.8", True),
        ("/a/b/c.html", "text/html", True),
        ("/ñandú", "text/html", True),
        ("/apis", "text/html", True),
        ("/perdida", "*/*", False),
        ("/perdida", "application/json", False),
        ("/perdida", "", False),
        ("/api/perdida", "text/html", False),
        ("/api", "text/html", False),
        ("/api/ñ", "text/html", False),
        ("/foto/prueba-1", "text/html", False),
        ("/foto/", "text/html", False),
        ("/health/x", "text/html", False),
    ],
)
def test_a_browser_gets_the_404_page(api: Api, path: str, accept: str, is_page: bool) -> None:
    reply = api.ask(quote(path), Accept=accept)
    assert reply.status == 404
    assert reply.headers["content-type"] == (
        "text/html; charset=utf-8" if is_page else "application/problem+json"
    )
    assert (reply.body == api.ask("/404.html").body) == is_page
    assert ("content-security-policy" in reply.headers) == is_page


@pytest.mark.parametrize(("path", "accept"), [("/perdida", "text/html"), ("/perdida", "*/*")])
def test_caches_keep_page_and_problem_apart(api: Api, path: str, accept: str) -> None:
    assert api.ask(path, Accept=accept).headers["vary"] == "Accept, Accept-Encoding"


def test_the_404_page_is_sent_whole_each_time(api: Api) -> None:
    tag = api.ask("/404.html").headers["etag"]
    reply = api.ask("/perdida", Accept="text/html", If_None_Match=tag)
    assert (reply.status, reply.body) == (404, api.ask("/404.html").body)


def test_the_404_page_answers_get_alone(api: Api) -> None:
    reply = api.ask("/perdida", "POST", Accept="text/html")
    assert reply.headers["content-type"] == "application/problem+json"


def test_what_the_pages_say_of_the_register_is_no_markup(filled: Path) -> None:
    about = ABOUT._replace(title="</script><b>Ñ", operator='"\\u2028')
    api = Api(filled, about=about)
    for path in ("/", "/embed.js"):
        page = api.ask(path).body.decode()
        known = re.search("const ABOUT = ({.*?});\n", page)
        assert known
        told = about if path == "/" else about._replace(operator="", contact="", public_url="")
        assert json.loads(known[1]) == {k: v for k, v in told._asdict().items() if v}
        assert "</script><b>" not in page


def test_what_age_and_date_mean_costs_a_page_nothing_unless_it_differs(filled: Path) -> None:
    for about, told in (
        (ABOUT, False),
        (ABOUT._replace(edad_de="hoy", fecha_de="publicacion"), True),
    ):
        for path in ("/", "/embed.js"):
            page = Api(filled, about=about).ask(path).body
            assert (b'"edad_de":"hoy","fecha_de":"publicacion"' in page) == told


def test_the_plugin_is_the_folder_and_the_same_at_each_start(filled: Path, api: Api) -> None:
    body = api.ask("/persona404.zip").body
    assert Api(filled).ask("/persona404.zip").body == body
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    folder = ROOT / "sites" / "wordpress"
    paths = [path for path in folder.glob("persona404/**/*") if path.is_file()]
    assert files == {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("path", ["/embed.js", "/words.json"])
def test_browsers_keep_the_script_for_an_hour(api: Api, path: str) -> None:
    assert api.ask(path).headers["cache-control"] == "max-age=3600"


# --- The trigger ---------------------------------------------------------------------


class Answering(Synchroniser):
    """A synchroniser whose trigger starts nothing, or raises `error`."""

    error: Exception | None = None

    def trigger(self) -> None:
        if self.error:
            raise self.error


@pytest.fixture
def synchroniser(database: Path) -> Answering:
    fill(database, [made_up(1)])
    return Answering(database)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X_API_Key": KEY}, 202),
        ({"Authorization": f"Bearer {KEY}"}, 202),
        ({"Authorization": f"bearer {KEY}"}, 202),
        ({"Authorization": f"Basic {KEY}"}, 401),
        ({"X_API_Key": KEY[:-1]}, 401),
        ({"X_API_Key": ""}, 401),
        ({"X_API_Key": "clavé"}, 401),
    ],
)
def test_the_key(synchroniser: Answering, headers: dict[str, str], status: int) -> None:
    reply = Api(synchroniser.database, KEY, synchroniser).ask(
        "/api/scrape/trigger", "POST", **headers
    )
    assert reply.status == status
    assert status == 401 or reply.json == {"status": "started"}
    assert ("www-authenticate" in reply.headers) == (status == 401)


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [
        (NotNow(0), 409, {}),
        (NotNow(13), 429, {"retry-after": "13"}),
        (OSError("secret words"), 503, {}),
        (RuntimeError("secret words"), 500, {}),
    ],
)
def test_the_trigger_cannot_start(
    synchroniser: Answering, error: Exception, status: int, headers: dict[str, str]
) -> None:
    synchroniser.error = error
    api = Api(synchroniser.database, KEY, synchroniser)
    reply = api.ask("/api/scrape/trigger", "POST", X_API_Key=KEY)
    assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")
    assert headers.items() <= reply.headers.items()
    assert b"secret" not in reply.body


def test_without_a_key_there_is_no_trigger(database: Path) -> None:
    assert Api(database).ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 503


# --- Health --------------------------------------------------------------------------


def test_a_new_service_has_no_good_synchronisation_yet(database: Path) -> None:
    api = Api(database)
    assert api.get("/api/stats")["lastSync"] is None
    body = api.get("/health", 503)
    assert (body["lastSync"], body["lastRun"]) == (None, None)


@pytest.mark.parametrize(("hours", "status"), [(35, 200), (37, 503), (-24, 503)])
def test_health_tells_an_old_list(database: Path, hours: int, status: int) -> None:
    ended = datetime.now(UTC) - timedelta(hours=hours)
    fill(database, [made_up(1)], ended.strftime("%Y-%m-%dT%H:%M:%SZ"))
    body = Api(database).get("/health", status)
    assert (body["register"], body["active"]) == ("prueba", 1)
    assert body["status"] == ("ok" if status == 200 else 503)


def test_health_tells_that_the_clock_cannot_start(synchroniser: Answering) -> None:
    synchroniser.fault = "The clock stands still."
    body = Api(synchroniser.database, synchroniser=synchroniser).get("/health", 503)
    assert body["detail"] == "The clock stands still."


def test_health_writes_nothing(api: Api, database: Path) -> None:
    api.get("/health")  # opens the connection of this thread

    def written() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in database.parent.iterdir()}

    before = written()
    api.get("/health")
    assert written() == before


@pytest.mark.parametrize("path", ["/api/persona-random", "/api/personas", "/api/stats", "/health"])
def test_a_file_that_is_no_database_is_a_503(
    database: Path, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    database.write_bytes(b"no database " * 100)
    api = Api(database)
    for _ in range(3):
        reply = api.ask(path)
        assert (reply.status, reply.headers["content-type"]) == (503, "application/problem+json")
        assert reply.json["detail"].endswith(
            "its file is damaged; restore a backup (docs/operating.md)."
        )
        assert str(database) not in reply.body.decode()
    assert len(caplog.records) <= 1
