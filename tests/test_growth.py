"""What anybody may make the service store or compute is bounded."""

import random
import sqlite3
import string
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import webtest
from conftest import KEY, Figure, ask_wsgi, fill, made_up

import app


def api_of(database: Path) -> webtest.TestApp:
    return webtest.TestApp(app.create_app(database, "prueba", KEY))


def track(api: webtest.TestApp, site: str, person: int = 1) -> None:
    assert api.get(f"/api/track?e=view&p=prueba-{person}&d={site}").json == {"ok": True}


def stored(database: Path) -> set[tuple[str, str, int]]:
    with closing(sqlite3.connect(database)) as db:
        return set(db.execute("SELECT site, person, views FROM view"))


@pytest.fixture
def three_sites(database: Path, monkeypatch: pytest.MonkeyPatch) -> webtest.TestApp:
    """The API on a day whose sites are all counted: a.example to c.example."""
    monkeypatch.setattr(app, "SITES_A_DAY", 3)
    fill(database, [made_up(n) for n in range(1, 10)])
    api = api_of(database)
    for site in ("a.example", "b.example", "c.example"):
        track(api, site)
    return api


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14"])  # one of them has another date
def test_a_view_is_of_its_day_in_utc(
    database: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    fill(database, [made_up(1)])
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        before = datetime.now(UTC)
        track(api_of(database), "a.example")
    time.tzset()
    with closing(sqlite3.connect(database)) as db:
        ((day,),) = db.execute("SELECT day FROM view").fetchall()
    assert day in (str(before.date()), str(datetime.now(UTC).date()))


def test_past_the_cap_no_other_site_is_counted(
    three_sites: webtest.TestApp, database: Path
) -> None:
    track(three_sites, "d.example")
    assert {site for site, _, _ in stored(database)} == {"a.example", "b.example", "c.example"}


def test_past_the_cap_the_sites_that_are_there_are_counted(
    three_sites: webtest.TestApp, database: Path
) -> None:
    track(three_sites, "a.example")
    track(three_sites, "a.example", person=2)
    assert {("a.example", "prueba-1", 2), ("a.example", "prueba-2", 1)} < stored(database)


def test_health_tells_of_the_cap(three_sites: webtest.TestApp) -> None:
    health = three_sites.get("/health")
    assert health.json["tracking"] == "3 sites were counted today, no other will be"


def test_the_cap_outlives_a_restart(three_sites: webtest.TestApp, database: Path) -> None:
    again = api_of(database)
    track(again, "d.example")
    assert len(stored(database)) == 3
    assert again.get("/health").json["tracking"].startswith("3 sites")


def test_another_day_has_its_own_sites(three_sites: webtest.TestApp, database: Path) -> None:
    yesterday = str(datetime.now(UTC).date() - timedelta(days=1))
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("UPDATE view SET day = ?", [yesterday])
    again = api_of(database)
    track(again, "d.example")
    assert len(stored(database)) == 4
    assert again.get("/health").json["tracking"] == "ok"


def test_what_another_process_counted_is_looked_up(
    three_sites: webtest.TestApp, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "SITES_A_DAY", 4)
    monkeypatch.setattr(app, "LOOK_AFTER", 2)
    one, other = api_of(database), api_of(database)
    track(one, "a.example")
    track(other, "d.example")
    for _ in range(2):
        track(one, "b.example")
    track(one, "e.example")
    assert len({site for site, _, _ in stored(database)}) == 4


def test_past_the_rows_of_a_day_views_are_counted_per_site(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "ROWS_A_DAY", 3)
    monkeypatch.setattr(app, "LOOK_AFTER", 1)
    fill(database, [made_up(n) for n in range(1, 10)])
    api = api_of(database)
    for person in range(1, 10):
        track(api, "a.example", person)
    rows = stored(database)
    assert ("a.example", "", 6) in rows
    assert len(rows) == 4
    assert api.get("/api/stats").json["views"] == 9


def test_the_operator_gets_the_sites_most_seen(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "SITES_SHOWN", 2)
    fill(database, [made_up(1)])
    api = api_of(database)
    for site in ("a.example", "b.example", "b.example", "c.example", "c.example"):
        track(api, site)
    seen = api.get("/api/sites", headers={"X-API-Key": KEY}).json["sites"]
    assert [row["site"] for row in seen] == ["b.example", "c.example"]


@pytest.mark.parametrize(("took", "asked"), [(0.0, 3), (1.0, 1)], ids=["quick", "slow"])
def test_a_slow_answer_stands_for_a_while(
    monkeypatch: pytest.MonkeyPatch, took: float, asked: int
) -> None:
    now = 100.0
    times: list[float] = []

    def query() -> dict[str, int]:
        nonlocal now
        now += took
        times.append(now)
        return {"views": len(times)}

    monkeypatch.setattr(app.time, "monotonic", lambda: now)
    slow = app.Slow(query)
    assert [slow.get()["views"] for _ in range(3)] == [min(n, asked) for n in (1, 2, 3)]
    now += 20 * took + 1
    assert slow.get()["views"] == asked + 1


def test_a_slow_answer_that_fails_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Iterator[object] = iter([0, OSError(), 1])
    now = 100.0

    def query() -> object:
        nonlocal now
        now += 1.0
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(app.time, "monotonic", lambda: now)
    slow = app.Slow(query)
    assert slow.get() == 0
    now += 100
    with pytest.raises(OSError):
        slow.get()
    assert slow.get() == 1


# --- A million calls -----------------------------------------------------------------


def any_host(draw: random.Random) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=20)) + ".example"


def long_host(draw: random.Random) -> str:
    """One of 3,000 hosts of 253 characters."""
    return ".".join(["a" * 63, "b" * 63, "c" * 63, f"d{draw.randrange(3000):060}"])


def call(api: app.API, draw: random.Random, host: Callable[[random.Random], str]) -> None:
    """Not over a socket: a million would take ten minutes."""
    query = f"e=view&p=prueba-{draw.randrange(300)}&d={host(draw)}"
    assert ask_wsgi(api, "/api/track", query).status == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "host", "megabytes"), [(1_000_000, any_host, 10), (200_000, long_host, 20)]
)
def test_a_million_calls_store_little(
    database: Path,
    figure: Figure,
    count: int,
    host: Callable[[random.Random], str],
    megabytes: int,
) -> None:
    fill(database, [made_up(n) for n in range(300)])
    api = app.create_app(database, "prueba")
    draw = random.Random(404)
    for _ in range(count):
        call(api, draw, host)
    size = sum(path.stat().st_size for path in database.parent.iterdir())
    rows = stored(database)
    sites = len({site for site, _, _ in rows})
    assert sites == app.SITES_A_DAY
    assert len(rows) <= app.ROWS_A_DAY + app.LOOK_AFTER + app.SITES_A_DAY
    assert size < megabytes * 1_000_000
    figure(
        f"{count:,} track calls, {host.__name__}: {sites} sites, {len(rows)} rows,"
        f" {size / 1e6:.1f} MB in all of data/"
    )
