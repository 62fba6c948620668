"""Measure what docs/crowd.md reckons with, and print its table.

    python bench/crowd.py [--rounds 12] [--seconds 1]

Needs wrk and nginx. Everything runs on loopback: three services behind nginx, on a
busy day.
"""

import argparse
import tempfile
import time
from contextlib import closing
from pathlib import Path

from run import TRACK, median, wrk  # adds the tests' folder to the path

from serve.views import PENDING
from store.database import open_database, transaction
from store.views import NEW_SITES_A_DAY, utc_day, write_views
from support.api import fill, keep_photo
from support.nginx import PERSONS, Instances, send_views

VIEWS = 10_000


def print_rate(what: str, url: str, rounds: int, seconds: float) -> None:
    measured = [wrk(url, seconds) for _ in range(rounds)]
    assert not any(one.errors for one in measured), what
    print(f"| {what} | {median(measured, 'rate'):,.0f} a second |")


def rates(crowd: Instances, rounds: int, seconds: float) -> None:
    one = f"http://127.0.0.1:{crowd.services[0].port}"
    person = PERSONS[0]
    keep_photo(crowd.databases[0], person)
    with open_database(crowd.databases[0], 5) as db:
        db.execute("UPDATE photo SET jpeg = randomblob(30000)")
    draws = f"https://127.0.0.1:{crowd.nginx.port}/api/persona-random"
    print_rate("draws through nginx, TLS", draws, rounds, seconds)
    print_rate("draws, one instance", f"{one}/api/persona-random", rounds, seconds)
    print_rate("photos of 30 KB, one instance", f"{one}/foto/{person.id}", rounds, seconds)
    print_rate("views, one instance", one + TRACK.format(id=person.id), rounds, seconds)


def count_views(crowd: Instances) -> None:
    began = time.monotonic()
    sent = send_views(crowd.nginx, VIEWS, halfway=crowd.services[1].process.kill)
    took = time.monotonic() - began
    time.sleep(3)  # views are written each second
    counted = crowd.services[0].ask("/api/stats").json["views"]
    print(f"| views through nginx, one of three instances killed after half of them | "
          f"{sent[200]:,} sent in {took:.0f} s, {counted:,} counted |")  # fmt: skip


def write_at_once(folder: Path) -> None:
    """As many different views as may wait for SQLite, in one transaction."""
    database = folder / "views.db"
    fill(database, PERSONS)
    sites = [f"sitio-{number}.example" for number in range(NEW_SITES_A_DAY)]
    views = {
        (utc_day(n // 6000), sites[n % 200], PERSONS[n // 200 % 30].id): 1 for n in range(PENDING)
    }
    assert len(views) == PENDING
    began = time.monotonic()
    with open_database(database, 5) as db, transaction(db):
        write_views(db, views)
    took = time.monotonic() - began
    print(f"| {PENDING:,} different views, written in one transaction | {took:.2f} s |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=1, help="of each measurement")
    options = parser.parse_args()
    print("| | measured |\n| --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with closing(Instances(3, folder, busy=True)) as crowd:
            count_views(crowd)
        with closing(Instances(3, folder, busy=True)) as crowd:
            rates(crowd, options.rounds, options.seconds)
        write_at_once(folder)


if __name__ == "__main__":
    main()
