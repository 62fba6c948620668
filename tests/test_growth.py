"""Anybody can send views: what they cost in disk, in memory and in time is bounded."""

import random
import sqlite3
import string
import tracemalloc
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conftest import Figure
from serve.views import PENDING
from store.database import Reader, open_database, transaction
from store.views import KEPT_DAYS, NEW_SITES_A_DAY, SITES, write_views
from support import KEY
from support.api import Api, ServedApi, ask_wsgi, fill, made_up, views_of
from support.client import Client

pytestmark = pytest.mark.slow

PERSONS = [made_up(n) for n in range(300)]


def longest_host(label: str) -> str:
    """A host name of 253 characters."""
    return ".".join(["a" * 63, "b" * 63, "c" * 63, f"{label:x>61}"])


def day(ago: int) -> str:
    return (datetime.now(UTC) - timedelta(days=ago)).date().isoformat()


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_a_million_calls_store_little(database: Path, figure: Figure, full: bool) -> None:
    """Not over a socket: a million would take ten minutes."""
    fill(database, PERSONS)
    api, draw = Api(database), random.Random(404)
    dates = {day(ago=0)}
    api.views.thread.start()
    calls = 1_000_000 if full else 50_000
    for _ in range(calls):
        host = longest_host("".join(draw.choices(string.ascii_lowercase, k=20)))
        query = f"e=view&p=prueba-{draw.randrange(300)}&d={host}"
        assert ask_wsgi(api.app, "/api/track", query).status == 200
    api.views.stop()
    dates.add(day(ago=0))  # two if it was midnight (UTC) meanwhile
    sites = len(views_of(database))
    assert sites == NEW_SITES_A_DAY * len(dates)
    size = bytes_in(database.parent)
    assert size < 10_000_000
    figure(
        f"{calls:,} calls of track, each with another host of 253 characters:"
        f" {sites} sites are stored, {size / 1e6:.1f} MB in all of data/"
    )


def test_a_locked_database_costs_little_memory(database: Path, figure: Figure) -> None:
    fill(database, PERSONS)
    api = Api(database)
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        tracemalloc.start()
        for n in range(2 * PENDING):
            api.views.add(longest_host(str(n // 300)), f"prueba-{n % 300}")
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        api.views.flush(busy_seconds=0.01)
        assert "(no more fit, further ones are lost)" in api.get("/health", 503)["tracking"]
    assert len(api.views.pending) == PENDING
    assert size < 20_000_000
    api.views.flush()
    assert api.get("/health")["tracking"] == "ok"
    assert api.get("/api/stats")["views"] == PENDING
    figure(f"{PENDING:,} combinations of day, site and person in memory: {size / 1e6:.1f} MB")


def insert_sites(database: Path, count: int) -> None:
    with open_database(database, 5) as db, transaction(db):
        db.executemany(
            "INSERT INTO site (host, first_day, views) VALUES (?, ?, 1)",
            ((longest_host(str(n)), day(ago=1)) for n in range(count)),
        )


def test_what_all_sites_take_on_the_disk_in_all_days(
    database: Path, figure: Figure, full: bool
) -> None:
    """Some days are written, as flushes write them; then they are too old to be kept."""
    days = 10 if full else 2
    fill(database, PERSONS)
    insert_sites(database, SITES)
    before, draw = bytes_in(database.parent), random.Random(404)
    for ago in range(days, 0, -1):
        shuffled = draw.sample(range(SITES), SITES)
        for first in range(0, SITES, 500):
            hosts = map(longest_host, map(str, shuffled[first : first + 500]))
            with open_database(database, 5) as db, transaction(db):
                write_views(db, {(day(ago), host, "prueba-1"): 1000 for host in hosts})
    size = (bytes_in(database.parent) - before) / (days * SITES)
    figure(
        f"{SITES:,} sites with names of 253 characters: {before / 1e6:.1f} MB, and {size:.1f} bytes"
        f" for each on each day: {(before + size * SITES * KEPT_DAYS) / 1e6:.0f} MB in"
        f" {KEPT_DAYS} days"
    )
    assert size < 40
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("UPDATE site_day SET day = date(day, ?)", [f"-{KEPT_DAYS} days"])
        db.execute("UPDATE site SET last_day = date(last_day, ?)", [f"-{KEPT_DAYS} days"])
        db.execute(ROWS, {"days": KEPT_DAYS, "sites": 1})
    api = Api(database)
    api.views.add("one-more.example", "prueba-1")
    api.views.flush()
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("SELECT count(*) FROM site").fetchone() == (SITES,)
        assert db.execute("SELECT count(*) FROM site_day").fetchone() == (KEPT_DAYS + 1,)


# --- A long sum ----------------------------------------------------------------------


ROWS = """
    WITH RECURSIVE
        ago (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM ago WHERE n < :days - 1),
        number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < :sites)
    INSERT INTO site_day SELECT date('now', -ago.n || ' days'), number.n, 1 FROM ago, number"""


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many sums of views are running, and ran at the same time at most."""
    counts, select = Counter[str](), Reader.select

    def counted(reader: Reader, sql: str, **values: object) -> list[sqlite3.Row]:
        if "site_day" not in sql:
            return select(reader, sql, **values)
        counts["running"] += 1
        counts["at most"] = max(counts["at most"], counts["running"])
        try:
            return select(reader, sql, **values)
        finally:
            counts["running"] -= 1

    monkeypatch.setattr(Reader, "select", counted)
    return counts


class Operator(Client):
    """Asks until the answer is not 503."""

    def turn(self) -> None:
        super().turn()
        if self.statuses.keys() - {503}:
            self.stopped.set()


def peak_memory() -> int:
    """The most bytes that this process had in memory since the last call."""
    status = Path("/proc/self/status").read_text()
    Path("/proc/self/clear_refs").write_text("5")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def test_long_sums_keep_one_thread(
    served: ServedApi, sums: Counter[str], figure: Figure, full: bool
) -> None:
    sites = 6500 if full else 500
    insert_sites(served.views.database, sites)
    with open_database(served.views.database, 5) as db:
        db.execute(ROWS, {"days": KEPT_DAYS, "sites": sites})
    track = "/api/track?e=view&p=prueba-1&d=a.example"
    paths = ("/api/persona-random", "/api/stats", track)
    visitors = [Client(served.port, path) for path in paths]
    path = f"/api/sites?days={KEPT_DAYS}"
    operators = [Operator(served.port, path, X_API_Key=KEY) for _ in range(4)]
    peak_memory()
    before = peak_memory()
    for client in visitors + operators:
        client.start()
    for operator in operators:
        operator.join()
    for visitor in visitors:
        visitor.stop()
    grown = peak_memory() - before
    answered = sum((one.statuses for one in visitors), Counter[int]())
    refused = sum(one.statuses[503] for one in operators)
    longest = max(max(one.seconds) for one in operators)
    slowest = max(max(one.seconds) for one in visitors)
    figure(
        f"/api/sites over {sites * KEPT_DAYS:,} rows, asked by 4 clients: the longest sum"
        f" {longest:.1f} s and {grown / 1e6:.0f} MB of memory, and {refused:,} times 503; meanwhile"
        f" {answered[200]:,} other answers, the slowest {1000 * slowest:.0f} ms"
    )
    assert all(set(one.statuses) <= {200, 503} for one in operators)
    assert refused > 0
    assert sums["at most"] == 1
    assert [set(one.statuses) for one in visitors] == [{200}] * 3
    assert grown < 100_000_000
