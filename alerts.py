"""What is wrong just now: /health says it, and the operator is told once.

    views, clock, write-ahead log, age of the list --faults--> /health
    these, and the last run --Alerts.check, each minute--> POST to ALERT_URL
    a good run ---------------Alerts.check, each minute--> GET of PING_URL

No message holds a person or an id. The words that name a problem are those of docs/night.md.
"""

import logging
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from nightly import Synchroniser
from settings import Settings, cause_of
from store import (
    DatabaseUnavailable,
    Reader,
    open_database,
    record_killed_runs,
    run_lock,
    utc_now,
)
from views import Views

CHECK_SECONDS = 60.0
SEND_SECONDS = 10.0
STALE = timedelta(hours=36)
WAL_BYTES = 64_000_000
LONGEST = 2000  # characters; ntfy makes a file of what is over 4,096 bytes

HEADLINES = {
    "ok": "La lista está al día. / The list is up to date.",
    "refused": "El registro no se leyó bien; la lista no cambió. / Misread; the list is unchanged.",
    "withheld": "Las altas y los cambios esperan. / Additions and changes wait.",
    "failed": "La lectura del registro falló. / The synchronisation failed.",
    "killed": "La lectura del registro fue detenida. / The synchronisation was killed.",
    "stale": "La lista no está al día. / The list is out of date.",
    "views": "Las vistas no se pueden guardar. / Views cannot be written.",
    "clock": "El servicio no puede leer el registro. / The register cannot be read.",
    "wal": "Un programa retiene la base de datos. / A program holds the database.",
    "database": "La base de datos no se puede leer. / The database cannot be read.",
    "hidden": "Una persona oculta ya no se reconoce. / A hidden child is no longer recognised.",
    "stamp": "La marca de «localizado» cambió. / The stamp of who was found has changed.",
}

log = logging.getLogger("persona404.alerts")


def faults(last_sync: str | None, views: Views, synchroniser: Synchroniser) -> dict[str, str]:
    """Why the list cannot be trusted or changed just now, each a sentence for anybody's eyes.
    `last_sync` is the end of the last good synchronisation."""
    found = {}
    if views.fault:
        found["views"] = f"The database cannot be written just now: {views.fault}."
    if synchroniser.fault:
        found["clock"] = synchroniser.fault
    if stale := fault_of_age(last_sync):
        found["stale"] = stale
    with suppress(OSError):
        size = Path(f"{views.database.resolve()}-wal").stat().st_size
        if size > WAL_BYTES:
            found["wal"] = f"The write-ahead log has {size // 10**6} MB: a reader does not end."
    return found


def fault_of_age(last_sync: str | None) -> str | None:
    """What is wrong with the time of the last good synchronisation, or None."""
    if last_sync is None:
        return "There was no good synchronisation yet; see lastRun."
    age = datetime.now(UTC) - datetime.fromisoformat(last_sync)
    if age > STALE:
        return "The last good synchronisation is over 36 hours old; see lastRun."
    if age < -timedelta(minutes=1):
        return "The last synchronisation is dated in the future: was the clock wrong?"
    return None


class Alerts:
    """Tells the operator of each change, once it has lasted for a minute. What cannot be sent is
    sent a minute later."""

    def __init__(
        self, settings: Settings, reader: Reader, views: Views, synchroniser: Synchroniser
    ):
        self.settings, self.reader, self.database = settings, reader, reader.database
        self.views, self.synchroniser = views, synchroniser
        ((self.told, self.pinged),) = reader.select("SELECT problems, run FROM sent")
        self.seen: str | None = None  # the problems at the last check
        self.since = ""  # when they were first seen

    def check_each_minute(self) -> None:
        """Never return."""
        while True:
            time.sleep(CHECK_SECONDS)
            try:
                self.check()
            except Exception as error:  # whatever it is, the thread goes on
                log.error("alerts: %s: %s", type(error).__name__, error)

    def check(self) -> None:
        """Look for problems, and send what has changed."""
        good_run = 0
        try:
            good_run, problems = self.look()
        except DatabaseUnavailable as error:
            problems = {"database": f"The database cannot be read just now: {error.reason}."}
        kinds = " ".join(problems)
        if kinds != self.seen:  # a lock, for instance, may be gone in a moment
            self.seen, self.since = kinds, utc_now()
            return
        before = (self.told, self.pinged)
        text = self.message(problems or {"ok": ""})
        is_new = kinds != self.told and (problems or good_run)
        if is_new and self.send("ALERT_URL", self.settings.alert_url, text):
            self.told = kinds
        if good_run > self.pinged and self.send("PING_URL", self.settings.ping_url):
            self.pinged = good_run
        if before != (self.told, self.pinged):
            # If it cannot be written, only a restart would repeat it.
            with suppress(DatabaseUnavailable), open_database(self.database, 5) as db:
                db.execute("UPDATE sent SET problems = ?, run = ?", [self.told, self.pinged])

    def look(self) -> tuple[int, dict[str, str]]:
        """The number of the last good run, 0 before the first, and what is wrong, by name."""
        if self.reader.select("SELECT 1 FROM run WHERE outcome = 'running'"):
            self.record_killed_run()
        ((good_run, last_sync),) = self.reader.select(
            "SELECT coalesce(max(id), 0), (SELECT ended FROM last_good) FROM run"
            " WHERE outcome = 'ok'"
        )
        # A new service is not late yet.
        problems = faults(last_sync or utc_now(), self.views, self.synchroniser)
        for outcome, reason, warnings in self.reader.select(
            "SELECT outcome, reason, warnings FROM run"
            " WHERE outcome = 'ok' OR (outcome <> 'running' AND NOT by_hand)"
            " ORDER BY id DESC LIMIT 1"
        ):
            if outcome != "ok":
                problems[outcome] = reason or ""
            problems |= dict.fromkeys(warnings.split(), "")
        return good_run, problems

    def record_killed_run(self) -> None:
        """Record the end of a run that died, if that is what it did."""
        with run_lock(self.database) as locked, open_database(self.database, 5) as db:
            if locked:
                record_killed_runs(db)

    def message(self, problems: dict[str, str]) -> str:
        """A short text in Spanish and English."""
        lines = [f"persona404, {self.settings.register}: {', '.join(problems)}"]
        for name, detail in problems.items():
            lines += filter(None, [HEADLINES[name], detail])
        lines.append("Qué hacer: docs/es/night.md / What to do: docs/night.md")
        return "\n".join([*lines, f"Desde / since: {self.since}"])[:LONGEST]

    def send(self, name: str, url: str | None, text: str | None = None) -> bool:
        """Whether the address of the setting `name` took a POST of `text`, or a GET without."""
        if url is None:
            return False
        headers = {"User-Agent": "persona404", "Content-Type": "text/plain; charset=utf-8"}
        request = Request(url, text.encode() if text else None, headers)  # noqa: S310 - settings.py admits http and https
        try:
            with urlopen(request, timeout=SEND_SECONDS) as answer:  # noqa: S310
                if answer.url != url:  # a POST would lose its text
                    raise ConnectionError(0, "it redirects")
        except Exception as error:
            cause = f"HTTP {error.code}" if isinstance(error, HTTPError) else cause_of(error)
            log.error("%s: %s; it is asked again in a minute", name, cause)
            return False
        return True
