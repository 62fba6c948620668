"""Which calls of /api/track count as a view, and how views reach SQLite.

    /api/track --is_visit--> Views.add: in memory --each second, one transaction--> SQLite

No request waits for SQLite, and a busy database loses no view; a crash loses a second's.
"""

import ipaddress
import logging
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import idna

from store import open_database, transaction

FLUSH_SECONDS = 1.0
STOP_SECONDS = 10.0  # how long the last flush waits for a lock; systemd kills after 30
PENDING = 20_000  # combinations of day, site and person that wait to be written, at most
NEW_SITES_A_DAY = 200
SITES = 20_000  # with the longest host names 12 MB
KEPT_DAYS = 400  # how long views are kept per site and day; 24 bytes each, 200 MB at most
LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
ROBOTS = ("bot", "crawl", "spider", "slurp", "preview", "archive", "externalhit")

VIEWS_BY_SITE = (  # from :first_day on, most seen first
    "SELECT host AS site, summed.views, first, last FROM"
    " (SELECT site, sum(views) AS views, min(day) AS first, max(day) AS last"
    " FROM site_day WHERE day >= :first_day GROUP BY site) AS summed"
    " JOIN site ON number = summed.site ORDER BY summed.views DESC, host"
)

log = logging.getLogger("persona404.views")

Key = tuple[str, str, str]  # day, site, person


def host_name(text: str) -> str | None:
    """`text` as a host name: lower case, IDNA, no port, no trailing dot; an IPv6 address
    keeps its brackets. None where it has no such form (RFC 1123, RFC 3986, UTS 46)."""
    host = re.sub(r":[0-9]{0,5}\Z", "", text.lower())
    try:
        if host.startswith("[") and host.endswith("]"):
            return f"[{ipaddress.IPv6Address(host[1:-1])}]"
        host = host.removesuffix(".")
        host = host if host.isascii() else idna.encode(host, uts46=True).decode()
    except ValueError:  # idna.IDNAError is one
        return None
    return host if len(host) <= 253 and HOST_NAME.fullmatch(host) else None


def is_public(host: str) -> bool:
    """Whether `host` is a site's name: no IP address, localhost or name of an intranet."""
    last = host.rpartition(".")[2]
    is_address = host.startswith("[") or re.fullmatch("[0-9]+|0x[0-9a-f]*", last)
    return "." in host and not is_address


def is_visit(site: str, environ: Mapping[str, str]) -> bool:
    """Whether a WSGI request comes from a visitor of `site`: no robot, no prefetch, no HEAD, no
    Referer of another host."""
    agent = environ.get("HTTP_USER_AGENT", "").lower().replace("cubot", "")  # makes telephones
    if environ["REQUEST_METHOD"] == "HEAD" or any(word in agent for word in ROBOTS):
        return False
    purposes = [environ.get(f"HTTP_{name}", "") for name in ("SEC_PURPOSE", "PURPOSE", "X_MOZ")]
    if any("prefetch" in purpose or "prerender" in purpose for purpose in purposes):
        return False
    referer = environ.get("HTTP_REFERER")
    return not referer or host_of(referer) == site


def host_of(address: str) -> str | None:
    try:
        return host_name(urlsplit(address).netloc)
    except ValueError:
        return None


def utc_day(days_ago: int = 0) -> str:
    """Today in UTC, or some days ago, such as 2026-01-31."""
    return (datetime.now(UTC).date() - timedelta(days=days_ago)).isoformat()


class Views:
    """Adds views up in memory; one thread writes them each second. A view that SQLite does not
    take stays in memory, up to PENDING combinations of day, site and person."""

    def __init__(self, database: Path):
        self.database = database
        self.pending: Counter[Key] = Counter()
        self.guard = threading.Lock()  # of `pending`, held for a moment only
        self.fault: str | None = None  # why the last flush failed
        self.full_day: str | None = None  # a day on which no further site can be new
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.flush_each_second, daemon=True)

    def add(self, site: str, person: str) -> None:
        """Count a view of `person` on the host `site`. Never waits for SQLite."""
        key = (utc_day(), site, person)
        with self.guard:
            if key in self.pending or len(self.pending) < PENDING:
                self.pending[key] += 1

    def stop(self) -> None:
        """Write the rest, and end the thread."""
        self.stopping.set()
        self.thread.join()

    def flush_each_second(self) -> None:
        while not self.stopping.wait(FLUSH_SECONDS):
            self.flush()
        self.flush(busy_seconds=STOP_SECONDS)
        if self.pending:
            log.error("%d views could not be written and are lost", self.pending.total())

    def flush(self, busy_seconds: float = 1.0) -> None:
        """Write what is pending in one transaction, or keep it and remember why not."""
        with self.guard:
            batch = self.pending.copy()
        if not batch:
            return
        try:
            with open_database(self.database, busy_seconds) as db, transaction(db):
                write_views(db, batch)
                self.full_day = utc_day() if room_for_sites(db) <= 0 else None
        except Exception as error:  # whatever it is, the thread goes on
            reason = getattr(error, "reason", "see the log")
            if reason != self.fault:  # not each second
                log.error("views wait in memory: %s: %s", type(error).__name__, error)
            self.fault = reason
        else:
            self.fault = None
            with self.guard:
                self.pending -= batch

    @property
    def state(self) -> str:
        """ "ok", or why views, or those of some sites, are not counted just now."""
        if self.fault:
            full = " (no more fit, further ones are lost)" if len(self.pending) >= PENDING else ""
            return f"views wait in memory{full}: {self.fault}"
        if self.full_day == utc_day():
            limits = f"{NEW_SITES_A_DAY} new ones a day and {SITES} in all at most"
            return f"views of new sites are not counted today: {limits}"
        return "ok"


def write_views(db: sqlite3.Connection, batch: Mapping[Key, int]) -> None:
    """Add `batch` to the tables, but for ids that are nobody's and for new sites over a limit.
    The caller has begun a transaction."""
    values = {"room": max(0, room_for_sites(db)), "first_kept": utc_day(KEPT_DAYS - 1)}
    db.execute("CREATE TEMP TABLE batch (day TEXT, host TEXT, person TEXT, views INTEGER)")
    rows = [(*key, views) for key, views in batch.items()]
    db.executemany("INSERT INTO batch VALUES (?, ?, ?, ?)", rows)
    for statement in (
        # A person who was found a moment ago was shown all the same.
        "DELETE FROM batch WHERE person NOT IN (SELECT id FROM person)"
        " AND person NOT IN (SELECT id FROM found)",
        "INSERT INTO site (host, first_day, views) SELECT host, min(day), 0 FROM batch"
        " WHERE host NOT IN (SELECT host FROM site) GROUP BY host LIMIT :room",
        "DELETE FROM batch WHERE host NOT IN (SELECT host FROM site)",
        "INSERT INTO site_day SELECT day, number, sum(batch.views) FROM batch"
        " JOIN site USING (host) GROUP BY day, number"
        " ON CONFLICT DO UPDATE SET views = views + excluded.views",
        "UPDATE site SET views = views + more FROM"
        " (SELECT host AS shown_on, sum(views) AS more FROM batch GROUP BY host)"
        " WHERE host = shown_on",
        "INSERT INTO person_views SELECT person, sum(views) FROM batch GROUP BY person"
        " ON CONFLICT DO UPDATE SET views = views + excluded.views",
        "DELETE FROM site_day WHERE day < :first_kept",
    ):
        db.execute(statement, values)


def room_for_sites(db: sqlite3.Connection) -> int:
    """How many more sites can be new today; 0 or less for none."""
    room: int = db.execute(
        "SELECT min(:all - count(*), :new - count(*) FILTER (WHERE first_day = :today)) FROM site",
        {"all": SITES, "new": NEW_SITES_A_DAY, "today": utc_day()},
    ).fetchone()[0]
    return room
