"""Which calls count as a view, and how views reach SQLite."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from serve import views
from serve.views import Views, host_name, is_public, is_visit
from store.database import open_database, transaction
from store.views import KEPT_DAYS, utc_day, write_views
from support.api import Api, fill, made_up, views_of

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


# --- Which calls count ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "host", "public"),
    [
        ("sitio.example", "sitio.example", True),
        ("Sitio.EXAMPLE.:8443", "sitio.example", True),
        ("niñez.example", "xn--niez-hqa.example", True),
        ("xn--niez-hqa.example", "xn--niez-hqa.example", True),
        ("my_shop.example", "my_shop.example", True),
        ("127.0.0.1", "127.0.0.1", False),
        ("127.1", "127.1", False),
        ("0x7f.0.0.0x1", "0x7f.0.0.0x1", False),
        ("[::1]", "[::1]", False),
        ("[2001:db8::1]:80", "[2001:db8::1]", False),
        ("localhost:8000", "localhost", False),
        ("intranet", "intranet", False),
    ],
)
def test_a_host_name(text: str, host: str, public: bool) -> None:
    assert (host_name(text), is_public(host)) == (host, public)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a..example",
        "a b.example",
        "-a.example",
        "http://a.example/",
        "[::1",
        "[::1]x",
        "::1",
        "a.example]x",
        "a.example:80\n",
        "xn--ñ.example",
        "a" * 64 + ".example",
        "a." * 126 + "example",
    ],
)
def test_no_host_name(text: str) -> None:
    assert host_name(text) is None


@pytest.mark.parametrize(
    ("method", "headers", "counted"),
    [
        ("GET", {}, True),
        ("GET", {"USER_AGENT": BROWSER}, True),
        ("GET", {"REFERER": "https://a.example/"}, True),
        ("GET", {"REFERER": "https://A.example:443/lost?x=1"}, True),
        ("GET", {"REFERER": "https://b.example/"}, False),
        ("GET", {"REFERER": "https://[b/"}, False),
        ("GET", {"REFERER": "https://b.example/\xff"}, False),
        ("GET", {"USER_AGENT": "Navegador \xff"}, True),
        ("GET", {"USER_AGENT": "Mozilla/5.0 (compatible; Googlebot/2.1)"}, False),
        ("GET", {"USER_AGENT": "facebookexternalhit/1.1"}, False),
        ("GET", {"USER_AGENT": "Mozilla/5.0 (Linux; Android 11; CUBOT X50) Chrome/140"}, True),
        ("GET", {"SEC_PURPOSE": "prefetch;prerender"}, False),
        ("GET", {"PURPOSE": "prefetch"}, False),
        ("GET", {"X_MOZ": "prefetch"}, False),
        ("HEAD", {}, False),
    ],
)
def test_a_visit(method: str, headers: dict[str, str], counted: bool) -> None:
    environ = {f"HTTP_{name}": value for name, value in headers.items()}
    assert is_visit("a.example", {"REQUEST_METHOD": method, **environ}) == counted


@pytest.mark.parametrize(
    ("query", "headers", "counted"),
    [
        ("p=prueba-7&d=a.example", {}, [("a.example", 1)]),
        ("p=prueba-7&d=localhost", {}, []),
        ("p=prueba-7&d=a.example", {"Purpose": "prefetch"}, []),
        ("p=prueba-99&d=a.example", {}, []),  # nobody
    ],
)
def test_a_call_of_track(
    api: Api, database: Path, query: str, headers: dict[str, str], counted: list[Any]
) -> None:
    reply = api.ask(f"/api/track?e=view&{query}", **headers)
    api.views.flush()
    assert (reply.status, reply.json) == (200, {"ok": True})
    assert views_of(database) == counted


# --- How they are written ------------------------------------------------------------


@pytest.fixture
def counter(database: Path) -> Views:
    fill(database, [made_up(n) for n in range(1, 10)])
    return Views(database)


def rows(database: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute(sql).fetchall()


def test_a_view_counts_per_day_site_and_person(counter: Views) -> None:
    for site, person in [("a.example", 1), ("a.example", 1), ("a.example", 2), ("b.example", 1)]:
        counter.add(site, f"prueba-{person}")
    counter.flush()
    day = utc_day()
    by_day = "SELECT day, host, site_day.views FROM site_day JOIN site ON site = number ORDER BY 2"
    assert rows(counter.database, by_day) == [(day, "a.example", 3), (day, "b.example", 1)]
    assert rows(counter.database, "SELECT * FROM person_views ORDER BY person") == [
        ("prueba-1", 3),
        ("prueba-2", 1),
    ]
    stats = Api(counter.database).get("/api/stats")
    assert (stats["sites"], stats["views"]) == (2, 4)


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14"])  # one of them has another date
def test_a_view_is_of_its_day_in_utc(
    counter: Views, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        days = {utc_day()}
        counter.add("a.example", "prueba-1")
    time.tzset()
    counter.flush()
    assert set(rows(counter.database, "SELECT day FROM site_day")) <= {
        (day,) for day in days | {utc_day()}
    }


def test_views_wait_for_a_lock(counter: Views) -> None:
    counter.add("a.example", "prueba-1")
    with open_database(counter.database, 5) as db:
        db.execute("BEGIN IMMEDIATE")
        counter.flush(busy_seconds=0)
        counter.add("a.example", "prueba-1")
        assert counter.state == "views wait in memory: another program holds its lock"
        health = Api(counter.database)
        health.views.fault = counter.fault
        assert health.get("/health", 503)["detail"] == (
            "The database cannot be written just now: another program holds its lock."
        )
        db.execute("ROLLBACK")
    counter.flush()
    assert (counter.state, views_of(counter.database)) == ("ok", [("a.example", 2)])


def test_a_view_while_others_are_written_counts(
    counter: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = views.write_views

    def write_and_add(*arguments: Any) -> None:
        write(*arguments)
        counter.add("a.example", "prueba-1")

    counter.add("a.example", "prueba-1")
    monkeypatch.setattr(views, "write_views", write_and_add)
    counter.flush()
    monkeypatch.undo()
    counter.flush()
    assert views_of(counter.database) == [("a.example", 2)]


def test_a_view_of_a_person_who_was_found_meanwhile_counts(counter: Views) -> None:
    counter.add("a.example", "prueba-1")
    with open_database(counter.database, 5) as db:
        db.execute("DELETE FROM person WHERE id = 'prueba-1'")
        db.execute("INSERT INTO found VALUES ('prueba-1', NULL)")
    counter.flush()
    assert views_of(counter.database) == [("a.example", 1)]


def test_an_unforeseen_error_keeps_the_views(
    counter: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(views, "write_views", lambda *_: 1 / 0)
        counter.add("a.example", "prueba-1")
        counter.flush()
        assert counter.state == "views wait in memory: see the log"
    counter.flush()
    assert (counter.state, views_of(counter.database)) == ("ok", [("a.example", 1)])


def test_views_that_a_stop_loses_are_told(
    counter: Views, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(views, "STOP_SECONDS", 0)
    counter.thread.start()
    with open_database(counter.database, 5) as db, transaction(db):
        counter.add("a.example", "prueba-1")
        counter.stop()
    assert "1 views could not be written and are lost" in caplog.text


def test_a_stop_writes_the_rest(counter: Views) -> None:
    counter.thread.start()
    counter.add("a.example", "prueba-1")
    counter.stop()
    assert views_of(counter.database) == [("a.example", 1)]


# --- Their limits --------------------------------------------------------------------


def test_what_waits_is_bounded(counter: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "PENDING", 2)
    for site in ("a.example", "b.example", "c.example", "a.example"):
        counter.add(site, "prueba-1")
    counter.fault = "the disk is full"
    assert counter.state.startswith("views wait in memory (no more fit, further ones are lost)")
    counter.flush()
    assert (counter.state, views_of(counter.database)) == (
        "ok",
        [("a.example", 2), ("b.example", 1)],
    )


@pytest.mark.parametrize(("limit", "value"), [("NEW_SITES_A_DAY", 3), ("SITES", 3)])
def test_past_a_limit_the_sites_that_are_there_count(
    counter: Views, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(f"store.views.{limit}", value)
    for site in "abc":
        counter.add(f"{site}.example", "prueba-1")
    counter.flush()
    assert counter.state.startswith("views of further new sites are not counted today")
    again = Views(counter.database)  # after a restart
    again.add("d.example", "prueba-1")
    again.add("a.example", "prueba-1")
    again.flush()
    assert views_of(counter.database) == [("a.example", 2), ("b.example", 1), ("c.example", 1)]
    assert rows(counter.database, "SELECT * FROM person_views") == [("prueba-1", 4)]


def test_another_day_has_its_own_new_sites(counter: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.views.NEW_SITES_A_DAY", 1)
    counter.add("a.example", "prueba-1")
    counter.flush()
    with open_database(counter.database, 5) as db:
        db.execute("UPDATE site SET first_day = '2026-01-01'")
    counter.add("b.example", "prueba-1")
    counter.flush()
    assert len(views_of(counter.database)) == 2


def test_a_site_never_inherits_the_days_of_another(
    counter: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.views.SITES", 2)
    for site in "ab":
        counter.add(f"{site}.example", "prueba-1")
        counter.flush()
    with open_database(counter.database, 5) as db:
        db.execute("UPDATE site SET last_day = '2026-01-01' WHERE host = 'b.example'")
    counter.add("c.example", "prueba-1")
    counter.flush()
    by_day = "SELECT host, site_day.views FROM site_day JOIN site ON site = number ORDER BY 1"
    assert rows(counter.database, by_day) == [("a.example", 1), ("c.example", 1)]


@pytest.fixture
def past(counter: Views) -> list[str]:
    """As many days as are kept, with views of a.example: up to yesterday, one of them missing."""
    days = [utc_day(ago) for ago in range(KEPT_DAYS + 1, 0, -1) if ago != 7]
    with open_database(counter.database, 5) as db, transaction(db):
        db.execute(
            "INSERT INTO site (host, first_day, views) VALUES ('a.example', ?, 400)", days[:1]
        )
        db.executemany("INSERT INTO site_day VALUES (?, 1, 1)", [(day,) for day in days])
    return days


def days_of(database: Path) -> list[str]:
    return [day for (day,) in rows(database, "SELECT day FROM site_day ORDER BY day")]


def test_old_days_are_forgotten_but_not_their_sums(counter: Views, past: list[str]) -> None:
    counter.add("a.example", "prueba-1")
    counter.flush()
    assert days_of(counter.database) == [*past[1:], utc_day()]
    assert views_of(counter.database) == [("a.example", KEPT_DAYS + 1)]


def test_a_clock_that_was_ahead_forgets_no_more_than_a_day(
    counter: Views, past: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = utc_day(-500)
    with monkeypatch.context() as patch:
        patch.setattr(views, "utc_day", lambda *_: ahead)
        patch.setattr("store.views.utc_day", lambda *_: ahead)
        for _ in range(2):
            counter.add("a.example", "prueba-1")
            counter.flush()
    assert days_of(counter.database) == [*past[1:], ahead]


def test_a_new_site_takes_the_place_of_the_one_not_seen_for_longest(
    counter: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody invents hosts until long after all places are taken; a shop is seen each 33 days."""
    monkeypatch.setattr("store.views.NEW_SITES_A_DAY", 2)
    monkeypatch.setattr("store.views.SITES", 8)
    for day in range(10):
        hosts = [f"invented-{day}-{n}.example" for n in (1, 2, 3)]
        hosts += ["a-shop-of-each-third-day.example"] * (day % 3 == 0)
        with open_database(counter.database, 5) as db, transaction(db):
            write_views(db, {(utc_day(), host, "prueba-1"): 1 for host in hosts})
            db.execute("UPDATE site SET first_day = date(first_day, '-11 days'),"
                       " last_day = date(last_day, '-11 days')")  # fmt: skip
    counter.add("new.example", "prueba-1")
    counter.flush()
    views = dict(views_of(counter.database))
    assert (len(views), views["a-shop-of-each-third-day.example"], views["new.example"]) == (
        8,
        4,
        1,
    )
