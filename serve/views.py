"""Which calls of /api/track count as a view, and how views reach SQLite.

No request waits for SQLite, and a busy database loses no view; a crash loses a second's.
"""

import ipaddress
import logging
import re
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import idna

from store.database import open_database, transaction
from store.views import NEW_SITES_A_DAY, Key, room_for_sites, utc_day, write_views

FLUSH_SECONDS = 1.0
STOP_SECONDS = 10.0  # how long the last flush waits for a lock; systemd kills after 30
PENDING = 20_000  # combinations of day, site and person that wait to be written, at most
LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
ROBOTS = ("bot", "crawl", "spider", "slurp", "preview", "archive", "externalhit")

log = logging.getLogger("persona404.views")


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
    referer = environ.get("HTTP_REFERER", "")
    host = re.match("(?:[^:/?#]+:)?//([^/?#]*)", referer)  # RFC 3986, appendix B
    return not referer or (host is not None and host_name(host[1]) == site)


class Views:
    """Adds views up in memory; one thread writes them each second, or as soon as SQLite can."""

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
            return (
                f"views of further new sites are not counted today: at most {NEW_SITES_A_DAY} a day"
            )
        return "ok"
