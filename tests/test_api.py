"""The API, through WSGI and through a running waitress."""

import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import webtest
from conftest import KEY, ROOT, Client, fill, made_up

import app
import generation
import sync

FIELDS = ["id", "nombre", "fecha", "edad", "lugar", "foto", "url"]
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def views(database: Path) -> list[tuple[str, str, int]]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT site, person, views FROM view").fetchall()


def test_random_person_has_the_seven_fields_in_order(client: Client) -> None:
    assert list(client.ask("/api/persona-random").json) == FIELDS


def test_random_is_uniform(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    fill(database, [made_up(n) for n in range(4)])
    api = webtest.TestApp(app.create_app(database, "prueba"))
    drawn = Counter(api.get("/api/persona-random").json["id"] for _ in range(4000))
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
def test_pages(client: Client, query: str, ids: list[int], page: int, pages: int) -> None:
    body = client.ask(f"/api/personas{query}").json
    assert [person["id"] for person in body["personas"]] == [f"prueba-{n}" for n in ids]
    assert (body["total"], body["page"], body["totalPages"]) == (25, page, pages)


def test_persons_have_the_seven_fields_in_order(client: Client) -> None:
    assert list(client.ask("/api/personas").json["personas"][0]) == FIELDS


def test_one_date_is_ordered_by_id(tmp_path: Path) -> None:
    database = tmp_path / "x.db"
    fill(database, [made_up(n) for n in (3, 1, 2)])
    listed = webtest.TestApp(app.create_app(database, "prueba")).get("/api/personas").json
    assert [person["id"][-1] for person in listed["personas"]] == ["1", "2", "3"]


# --- Regions -------------------------------------------------------------------------

PLACES = {1: "Orán, Salta", 2: "SÁLTA", 3: "Güer, Córdoba", 4: "Salta, Jujuy", 5: "a, b, salta "}


@pytest.fixture
def regions(database: Path) -> webtest.TestApp:
    fill(database, [made_up(n)._replace(lugar=lugar) for n, lugar in PLACES.items()])
    return webtest.TestApp(app.create_app(database, "prueba"))


@pytest.mark.parametrize(
    ("region", "numbers"),
    [
        ("Salta", {1, 2, 5}),
        ("saltá", {1, 2, 5}),
        ("CORDOBA", {3}),
        ("Güer, Córdoba", {3}),
        ("", {1, 2, 3, 4, 5}),
        (" , ", {1, 2, 3, 4, 5}),
    ],
)
def test_a_region_has_its_persons(regions: webtest.TestApp, region: str, numbers: set[int]) -> None:
    ids = {f"prueba-{n}" for n in numbers}
    page = regions.get("/api/personas", {"region": region}).json
    assert {person["id"] for person in page["personas"]} == ids
    assert page["total"] == len(ids)
    draws = [regions.get("/api/persona-random", {"region": region}).json for _ in range(80)]
    assert {person["id"] for person in draws} == ids


def test_a_region_is_paged_in_the_order_of_the_list(regions: webtest.TestApp) -> None:
    pages = [regions.get(f"/api/personas?region=salta&limit=1&page={n}").json for n in range(1, 5)]
    ids = [[person["id"][-1] for person in page["personas"]] for page in pages]
    assert ids == [["1"], ["2"], ["5"], []]
    assert {page["totalPages"] for page in pages} == {3}


def test_a_region_with_nobody_gives_anyone_or_an_empty_page(regions: webtest.TestApp) -> None:
    page = regions.get("/api/personas?region=x").json
    assert page == {"personas": [], "total": 0, "page": 1, "totalPages": 0}
    assert list(regions.get("/api/persona-random?region=x").json) == FIELDS


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
        ("/api/track?e=view&p=prueba-1", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=a..example", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=a%20b.example", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=-a.example", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=http://a.example/", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=[::1", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=[::1]x", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=::1", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=a.example]x", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=a.example:80%0a", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=xn--%C3%B1.example", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=%ff.example", 400, "d"),
        (f"/api/track?e=view&p=prueba-1&d={'a' * 64}.example", 400, "d"),
        (f"/api/track?e=view&p=prueba-1&d={'a.' * 126}example", 400, "d"),
        ("/api/track?e=view&p=prueba-1&d=a.example&d=b.example", 400, "d"),
    ],
)
def test_a_bad_request_is_a_problem(client: Client, path: str, status: int, word: str) -> None:
    assert_problem(client, "GET", path, status, word)


@pytest.mark.parametrize(
    ("method", "path", "status", "word"),
    [
        ("POST", "/api/persona-random", 405, "method"),
        ("DELETE", "/api/personas", 405, "method"),
        ("GET", "/api/scrape/trigger", 405, "method"),
        ("PATCH", "/api/stats", 405, "method"),
        ("POST", "/api/scrape/trigger", 401, "key"),
        ("POST", f"/api/scrape/trigger?api_key={KEY}", 401, "key"),
        ("GET", "/api/sites", 401, "key"),
        ("GET", f"/api/sites?api_key={KEY}", 401, "key"),
        ("POST", "/embed.js", 405, "method"),
    ],
)
def test_a_wrong_call_is_a_problem(
    client: Client, method: str, path: str, status: int, word: str
) -> None:
    assert_problem(client, method, path, status, word)


def assert_problem(client: Client, method: str, path: str, status: int, word: str) -> None:
    reply = client.ask(path, method)
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
def test_head_has_the_headers_of_get(client: Client, path: str) -> None:
    get, head = client.ask(path), client.ask(path, "HEAD")
    assert head.body == b""
    assert head.status == get.status
    varying = {"date", "content-length"}  # a random person is not always as long
    assert head.headers.keys() - varying == get.headers.keys() - varying


@pytest.mark.parametrize("path", ["/api/personas", "/api/personas/", "/nothing"])
def test_options(client: Client, path: str) -> None:
    reply = client.ask(path, "OPTIONS")
    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("path", ["/api/personas?limit=2", "/api/stats"])
def test_a_trailing_slash_is_alike(client: Client, path: str) -> None:
    bare, _, query = path.partition("?")
    assert client.ask(f"{bare}/?{query}").body == client.ask(path).body


@pytest.mark.parametrize("path", ["/api/personas?limit=2", "/api/stats"])
def test_etag(client: Client, path: str) -> None:
    first = client.ask(path)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.ask(path, If_None_Match=known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == tag
        assert again.headers["access-control-allow-origin"] == "*"
    assert client.ask(path, If_None_Match='"other"').status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/persona-random",
        "/api/track?e=view&p=prueba-1&d=a.example",
        "/api/sites",
        "/health",
        "/nothing",
    ],
)
def test_what_must_not_be_stored(client: Client, path: str) -> None:
    assert client.ask(path, X_API_Key=KEY).headers["cache-control"] == "no-store"


def test_text_is_utf8(client: Client) -> None:
    assert "Ñandubay".encode() in client.ask("/api/persona-random").body


# --- The list in memory --------------------------------------------------------------


def shown(api: webtest.TestApp) -> set[str]:
    page = api.get("/api/personas?limit=100").json
    assert len(page["personas"]) == page["total"]
    return {person["id"] for person in page["personas"]}


def test_a_list_is_served_from_its_commit_on(database: Path) -> None:
    fill(database, [made_up(1)])
    api = webtest.TestApp(app.create_app(database, "prueba"))
    with closing(sync.open_database(database, 5)) as db:
        for number in range(2, 100):
            assert shown(api) == {f"prueba-{number - 1}"}
            db.execute("BEGIN IMMEDIATE")
            sync.write_persons(db, [made_up(number)])
            assert shown(api) == {f"prueba-{number - 1}"}  # announced, not committed
            db.execute("COMMIT")


def test_a_change_that_is_rolled_back_is_none(database: Path) -> None:
    fill(database, [made_up(1)])
    api = webtest.TestApp(app.create_app(database, "prueba"))
    with closing(sync.open_database(database, 5)) as db:
        db.execute("BEGIN IMMEDIATE")
        sync.write_persons(db, [made_up(2)])
        db.execute("ROLLBACK")  # as the death of the writer would
        assert shown(api) == {"prueba-1"}
        fill(database, [made_up(3)])
    assert shown(api) == {"prueba-3"}


@pytest.mark.parametrize("lost", [None, "removed", "a folder"])
def test_what_nobody_announced_is_seen_within_a_second(database: Path, lost: str | None) -> None:
    fill(database, [made_up(1), made_up(2)])
    announced = Path(f"{database}.generation")
    if lost == "a folder":
        announced.unlink()
        announced.mkdir()
    api = webtest.TestApp(app.create_app(database, "prueba"))
    assert len(shown(api)) == 2
    if lost == "removed":
        announced.unlink()
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("DELETE FROM person WHERE id = 'prueba-1'")
    deadline = time.monotonic() + 10
    while shown(api) != {"prueba-2"}:
        assert time.monotonic() < deadline


def test_a_draw_does_not_wait_for_the_list_to_be_read(database: Path) -> None:
    fill(database, [made_up(1)])
    with closing(sync.open_database(database, 5)) as db:
        db.row_factory = sqlite3.Row
        persons = generation.PersonList(database, lambda sql: db.execute(sql).fetchall())
        assert b"prueba-1" in persons.current().everybody[0]
        fill(database, [made_up(n) for n in range(2, 6)])
        db.execute("DELETE FROM person WHERE position = 2")  # by hand: positions have a gap
        with persons.loading:
            drawn = Counter(app.json.loads(persons.draw() or b"{}")["id"] for _ in range(200))
    assert drawn.keys() == {"prueba-2", "prueba-4", "prueba-5"}


def test_readers_of_many_threads_see_one_list_or_the_other(database: Path) -> None:
    lists = [[made_up(n) for n in range(10)], [made_up(n) for n in range(10, 30)]]
    fill(database, lists[0])
    application = app.create_app(database, "prueba")
    stop = threading.Event()
    seen: list[set[str]] = []

    def read() -> None:
        api = webtest.TestApp(application)
        while not stop.is_set():
            seen.append(shown(api))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    # In a process of its own, as sync.py is: here it would wait for the GIL again and again.
    code = (
        "import sys; from pathlib import Path; from conftest import fill, made_up\n"
        "for swap in range(60): fill(Path(sys.argv[1]), [made_up(n) for n in"
        " (range(10), range(10, 30))[swap % 2]])"
    )
    command = [sys.executable, "-c", code, str(database)]
    swapped = subprocess.run(command, cwd=ROOT / "tests", check=False)
    stop.set()
    for thread in threads:
        thread.join()
    both = [{person.id for person in persons} for persons in lists]
    assert swapped.returncode == 0
    assert len(seen) > 10
    assert all(ids in both for ids in seen)


# --- Tracking ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "site"),
    [
        ("sitio.example", "sitio.example"),
        ("Sitio.EXAMPLE.:8443", "sitio.example"),
        ("ni%C3%B1ez.example", "xn--niez-hqa.example"),
        ("xn--niez-hqa.example", "xn--niez-hqa.example"),
        ("my_shop.example", "my_shop.example"),
        ("127.0.0.1", None),
        ("127.1", None),
        ("0x7f.0.0.0x1", None),
        ("[::1]", None),
        ("[2001:db8::1]:80", None),
        ("localhost", None),
        ("localhost:8000", None),
        ("intranet", None),
    ],
)
def test_a_view_counts_for_a_public_host(
    client: Client, database: Path, sent: str, site: str | None
) -> None:
    reply = client.ask(f"/api/track?e=view&p=prueba-7&d={sent}")
    assert (reply.status, reply.json) == (200, {"ok": True})
    assert views(database) == ([(site, "prueba-7", 1)] if site else [])


@pytest.mark.parametrize(
    ("method", "headers", "counted"),
    [
        ("GET", {"User_Agent": BROWSER}, True),
        ("GET", {"Referer": "https://a.example/"}, True),
        ("GET", {"Referer": "https://A.example:443/lost?x=1"}, True),
        ("GET", {"Referer": "https://b.example/"}, False),
        ("GET", {"Referer": "https://[b/"}, False),
        ("GET", {"Referer": "https://b.example/\xff"}, False),
        ("GET", {"User_Agent": "Navegador \xff"}, True),
        ("GET", {"User_Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"}, False),
        ("GET", {"User_Agent": "facebookexternalhit/1.1"}, False),
        ("GET", {"User_Agent": "Mozilla/5.0 (Linux; Android 11; CUBOT X50) Chrome/140"}, True),
        ("GET", {"Sec_Purpose": "prefetch;prerender"}, False),
        ("GET", {"Purpose": "prefetch"}, False),
        ("GET", {"X_Moz": "prefetch"}, False),
        ("HEAD", {}, False),
    ],
)
def test_a_view_counts_for_a_visitor(
    client: Client, database: Path, method: str, headers: dict[str, str], counted: bool
) -> None:
    reply = client.ask("/api/track?e=view&p=prueba-7&d=a.example", method, **headers)
    assert reply.status == 200
    assert views(database) == ([("a.example", "prueba-7", 1)] if counted else [])


def test_an_unknown_person_is_not_counted(client: Client, database: Path) -> None:
    assert client.ask("/api/track?e=view&p=prueba-99&d=a.example").json == {"ok": True}
    assert views(database) == []


def test_views_add_up_in_the_statistics(client: Client) -> None:
    for site in ("a.example", "a.example", "b.example"):
        client.ask(f"/api/track?e=view&p=prueba-7&d={site}")
    stats = client.ask("/api/stats").json
    assert list(stats) == ["active", "found", "sites", "views", "lastSync"]
    assert (stats["active"], stats["found"], stats["sites"], stats["views"]) == (25, 0, 2, 3)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("image/avif,image/webp,*/*;q=0.8", "image/gif"),
        ("image/*", "image/gif"),
        ("*/*", "application/json"),
        ("text/html,image/webp", "application/json"),
    ],
)
def test_an_image_request_gets_an_image(client: Client, accept: str, kind: str) -> None:
    reply = client.ask("/api/track?e=view&p=prueba-7&d=a.example", Accept=accept)
    assert reply.headers["content-type"] == kind
    assert reply.body.startswith(b"GIF89a") == (kind == "image/gif")
    assert kind == "application/json" or len(reply.body) == 43


def test_reads_do_not_wait_for_views_that_wait_for_a_lock(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "BUSY_SECONDS", 60)
    fill(database, [made_up(1)])
    client = Client("waitress", app.create_app(database, "prueba"))
    path = "/api/track?e=view&p=prueba-1&d=a.example"
    assert client.ask(path).status == 200
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(client.ask(path).status)) for _ in range(12)
    ]
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        for thread in threads:
            thread.start()
        assert client.ask("/api/persona-random").status == 200
        deadline = time.monotonic() + 30
        while len(statuses) < 11:  # all but the one that waits
            assert time.monotonic() < deadline
            assert client.ask("/api/stats").status == 200
        db.execute("COMMIT")
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [503] * 11
    assert client.ask(path).status == 200
    client.close()
    assert views(database) == [("a.example", "prueba-1", 3)]


def test_views_of_many_threads_all_count(database: Path) -> None:
    fill(database, [made_up(1)])
    client = Client("waitress", app.create_app(database, "prueba"))
    path = "/api/track?e=view&p=prueba-1&d=a.example"
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.extend(client.ask(path).status for _ in range(50)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    assert statuses == [200] * 400
    assert views(database) == [("a.example", "prueba-1", 400)]


# --- What each site showed -----------------------------------------------------------


def test_the_figures_of_the_sites(client: Client, database: Path) -> None:
    today = datetime.now(UTC).date()
    days = [str(today - timedelta(days=ago)) for ago in range(3)]
    seen = [
        (days[0], "a.example", "prueba-1", 2),
        (days[1], "b.example", "prueba-1", 2),
        (days[1], "b.example", "prueba-2", 1),
        (days[2], "a.example", "prueba-1", 5),
    ]
    with closing(sqlite3.connect(database)) as db, db:
        db.executemany("INSERT INTO view VALUES (?, ?, ?, ?)", seen)
    b = {"site": "b.example", "views": 3, "first": days[1], "last": days[1]}
    a = {"site": "a.example", "views": 2, "first": days[0], "last": days[0]}
    all_of_a = {**a, "views": 7, "first": days[2]}
    for query, told, sites in [
        ("?days=2", 2, [b, a]),
        ("", 30, [all_of_a, b]),
        (f"?days={10**30}", 36500, [all_of_a, b]),
    ]:
        body = client.ask(f"/api/sites{query}", X_API_Key=KEY).json
        assert body == {"days": told, "sites": sites}


def test_sites_that_were_seen_alike_are_ordered_by_name(client: Client) -> None:
    for site in ("b.example", "c.example", "a.example"):
        client.ask(f"/api/track?e=view&p=prueba-7&d={site}")
    sites = client.ask("/api/sites", X_API_Key=KEY).json["sites"]
    assert [site["site"][0] for site in sites] == ["a", "b", "c"]


@pytest.mark.parametrize("days", ["0", "-1", "x", "1.5", "1&days=1"])
def test_a_wrong_number_of_days(client: Client, days: str) -> None:
    reply = client.ask(f"/api/sites?days={days}", X_API_Key=KEY)
    assert (reply.status, reply.json["detail"][:5]) == (400, "days:")


# --- The pages -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/404.html", "text/html; charset=utf-8"),
        ("/embed.js", "text/javascript; charset=utf-8"),
        ("/openapi.json", "application/json"),
    ],
)
def test_a_page_is_revalidated_and_not_indexed(client: Client, path: str, kind: str) -> None:
    reply = client.ask(path)
    assert (reply.status, reply.headers["content-type"]) == (200, kind)
    assert reply.headers["x-robots-tag"] == "noindex"
    assert ("content-security-policy" in reply.headers) == kind.startswith("text/html")
    assert client.ask(path, If_None_Match=reply.headers["etag"]).status == 304


@pytest.mark.parametrize("path", ["/", "/404.html"])
def test_a_page_runs_its_own_script_alone(client: Client, path: str) -> None:
    policy = client.ask(path).headers["content-security-policy"]
    assert re.sub("'sha256-[A-Za-z0-9+/]{43}='", "HASH", policy) == (
        "default-src 'none'; script-src HASH; style-src HASH; connect-src 'self';"
        " img-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def test_browsers_keep_the_script_for_an_hour(client: Client) -> None:
    assert client.ask("/embed.js").headers["cache-control"] == "max-age=3600"


# --- The trigger ---------------------------------------------------------------------


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
def test_the_key(client: Client, headers: dict[str, str], status: int) -> None:
    reply = client.ask("/api/scrape/trigger", "POST", **headers)
    assert reply.status == status
    assert status == 401 or reply.json == {"status": "started"}
    assert ("www-authenticate" in reply.headers) == (status == 401)


@pytest.mark.parametrize(("key", "running", "status"), [(None, False, 503), (KEY, True, 409)])
def test_the_trigger_cannot_start(
    database: Path, key: str | None, running: bool, status: int
) -> None:
    api = webtest.TestApp(app.create_app(database, "prueba", key, lambda: not running))
    reply = api.post("/api/scrape/trigger", headers={"X-API-Key": KEY}, status=status)
    assert reply.content_type == "application/problem+json"


def test_the_trigger_meets_a_locked_database(database: Path) -> None:
    def locked() -> bool:
        raise sqlite3.OperationalError("database is locked")

    api = webtest.TestApp(app.create_app(database, "prueba", KEY, locked))
    reply = api.post("/api/scrape/trigger", headers={"X-API-Key": KEY}, status=503)
    assert "locked" not in reply.text


# --- Empty, stale, broken ------------------------------------------------------------


def test_nobody_is_sought(database: Path) -> None:
    fill(database, [])
    api = webtest.TestApp(app.create_app(database, "prueba"))
    assert api.get("/api/persona-random", status=404).content_type == "application/problem+json"
    assert api.get("/api/personas").json == {
        "personas": [],
        "total": 0,
        "page": 1,
        "totalPages": 0,
    }


def test_a_new_service_has_no_good_synchronisation_yet(database: Path) -> None:
    sync.open_database(database, 5).close()
    api = webtest.TestApp(app.create_app(database, "prueba"))
    assert api.get("/api/stats").json["lastSync"] is None
    body = api.get("/health", status=503).json
    assert (body["lastSync"], body["lastRun"]) == (None, None)


def test_a_database_put_in_place_of_the_open_one_is_seen(database: Path, tmp_path: Path) -> None:
    fill(database, [made_up(1)])
    api = webtest.TestApp(app.create_app(database, "prueba"))
    assert api.get("/api/persona-random").json["id"] == "prueba-1"
    fill(tmp_path / "other.db", [made_up(2)])
    for end in ("", "-wal", "-shm"):
        Path(f"{database}{end}").rename(tmp_path / f"old.db{end}")
    (tmp_path / "other.db").rename(database)
    deadline = time.monotonic() + 10  # it is asked once a second
    while api.get("/api/persona-random").json["id"] == "prueba-1":
        assert time.monotonic() < deadline


@pytest.mark.parametrize(("hours", "status"), [(35, 200), (37, 503), (-24, 503)])
def test_health_tells_an_old_list(database: Path, hours: int, status: int) -> None:
    ended = app.datetime.now(app.UTC) - app.timedelta(hours=hours)
    fill(database, [made_up(1)], ended.strftime("%Y-%m-%dT%H:%M:%SZ"))
    body = webtest.TestApp(app.create_app(database, "prueba")).get("/health", status=status).json
    assert body["register"] == "prueba"
    assert body["active"] == 1
    assert body["status"] == ("ok" if status == 200 else 503)


@pytest.mark.parametrize("path", ["/api/persona-random", "/api/personas", "/api/stats", "/health"])
def test_a_database_that_is_none_is_a_503(tmp_path: Path, path: str) -> None:
    (tmp_path / "x.db").write_bytes(b"no database " * 100)
    reply = webtest.TestApp(app.create_app(tmp_path / "x.db", "prueba")).get(path, status=503)
    assert reply.content_type == "application/problem+json"
    assert str(tmp_path) not in reply.text


def test_a_bug_is_a_problem_without_its_text(database: Path) -> None:
    def broken() -> bool:
        raise RuntimeError("secret words")

    client = Client("waitress", app.create_app(database, "prueba", KEY, broken))
    reply = client.ask("/api/scrape/trigger", "POST", X_API_Key=KEY)
    client.close()
    assert (reply.status, reply.headers["content-type"]) == (500, "application/problem+json")
    assert reply.headers["access-control-allow-origin"] == "*"
    assert b"secret" not in reply.body


def test_a_view_that_cannot_be_stored_is_not_acknowledged(database: Path) -> None:
    fill(database, [made_up(1)])
    api = webtest.TestApp(app.create_app(database, "prueba"))
    with closing(sync.open_database(database, 5)) as db:
        db.execute("BEGIN IMMEDIATE")
        api.get("/api/track?e=view&p=prueba-1&d=a.example", status=503)
        assert api.get("/api/persona-random").json["id"] == "prueba-1"  # reads go on
        db.execute("ROLLBACK")
    assert api.get("/api/track?e=view&p=prueba-1&d=a.example").json == {"ok": True}
    assert views(database) == [("a.example", "prueba-1", 1)]
