"""The operator is told once what is wrong, and that it is over: a POST to ALERT_URL. Each good run
is a GET of PING_URL.

No message holds a person; an id only where somebody was hidden. The names of the faults are those
of docs/night.md.
"""

import logging
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from model import SettingError
from serve.health import faults
from serve.nightly import Synchroniser
from serve.views import Views
from settings import Settings
from store.database import DatabaseUnavailable, Reader, open_database, transaction, utc_now
from store.runs import record_dead_run

CHECK_SECONDS = 60.0
SEND_SECONDS = 10.0
LONGEST = 2000  # characters; ntfy makes a file of what is over 4,096 bytes
HEADLINES = {
    "ok": "La lista está al día. / The list is up to date.",
    "refused": "El registro no se leyó bien; la lista no cambió. / Misread; the list is unchanged.",
    "withheld": "Se quitó a quienes salieron; no se agregó ni cambió a nadie."
    " / Additions and changes wait.",
    "failed": "La lectura del registro falló. / The synchronisation failed.",
    "killed": "La lectura del registro fue detenida. / The synchronisation was killed.",
    "stale": "La lista no está al día. / The list is out of date.",
    "views": "Las vistas no se pueden guardar. / Views cannot be written.",
    "clock": "La lectura no puede empezar. / No synchronisation can start.",
    "wal": "Un programa retiene la base de datos. / A program holds the database.",
    "database": "La base de datos no se puede leer. / The database cannot be read.",
    "hidden": "URGENTE: una persona que ocultaste puede estar a la vista con otra ficha. Búscala"
    " ahora. / URGENT: a child whom you hid may be on show with another official page. Look now.",
    "hide": "Se ocultó a alguien. / Somebody was hidden.",
    "stamp": "Puede haber cambiado la marca de quienes fueron localizados."
    " / The mark of who was found may have changed.",
    "list": "Puede faltar una parte de la lista. / A part of the list may be missing.",
}
HIDDEN_BY = {"panel": "desde el panel / from the panel", "server": "en el servidor / on the server"}
ADVICE = "Qué hacer: docs/es/night.md / What to do: docs/night.md"

log = logging.getLogger("persona404.alerts")


class Alerts:
    """Tells the operator the state after a start, and then each change, once it has lasted for a
    minute. What cannot be sent is tried again a minute later."""

    def __init__(
        self, settings: Settings, reader: Reader, views: Views, synchroniser: Synchroniser
    ):
        self.settings, self.reader = settings, reader
        self.views, self.synchroniser = views, synchroniser
        self.began = utc_now()
        self.told: str | None = None  # the names of the faults in the last message
        self.since: dict[str, str] = {}  # the faults at the last check, and since when
        self.told_hides: set[tuple[str, ...]] = set()
        self.pinged = self.last_sync()

    def check_each_minute(self) -> None:
        """Never return."""
        while True:
            time.sleep(CHECK_SECONDS)
            try:
                self.check()
            except Exception as error:  # whatever it is, the thread goes on
                log.error("alerts: %s: %s", type(error).__name__, error)

    def check(self) -> None:
        """Look for faults, and send what has changed."""
        last_sync = None
        try:
            last_sync = self.last_sync()
            current = self.find_faults(last_sync)
        except DatabaseUnavailable as error:
            current = {"database": f"The database cannot be read: {error.reason}."}
        lasting = {name: text for name, text in current.items() if name in self.since}
        self.since = {name: self.since.get(name) or utc_now() for name in current}
        names = " ".join(lasting)
        is_new = names != self.told and (lasting or (last_sync and not current))
        if is_new and self.send("ALERT_URL", self.settings.alert_url, self.message(lasting)):
            self.told = names
        if last_sync not in (None, self.pinged) and self.send("PING_URL", self.settings.ping_url):
            self.pinged = last_sync
        if "database" not in current:
            self.tell_hides()

    def last_sync(self) -> str | None:
        """The end of the last good synchronisation."""
        runs = self.reader.select("SELECT ended FROM last_good")
        return str(runs[0]["ended"]) if runs else None

    def find_faults(self, last_sync: str | None) -> dict[str, str]:
        """What is wrong, by name."""
        if self.reader.select("SELECT 1 FROM run WHERE outcome = 'running'"):
            with suppress(DatabaseUnavailable, SettingError):
                record_dead_run(self.reader.database, busy_seconds=1)
        # A new service is not late yet.
        current = faults(last_sync or self.began, self.views, self.synchroniser)
        for outcome, reason, warnings in self.reader.select(
            "SELECT outcome, coalesce(reason, ''), warnings FROM run WHERE outcome <> 'running'"
            " ORDER BY id DESC LIMIT 1"
        ):
            if outcome != "ok":
                current[outcome] = reason
            current |= dict.fromkeys(warnings.split(), "")
        return current

    def tell_hides(self) -> None:
        """Tell each hide once, whoever did it: so a stolen key is noticed, and a database that is
        restored from a copy can be hidden from again."""
        if self.settings.alert_url is None:
            return
        sql = "SELECT id, since, by FROM hidden WHERE NOT told ORDER BY since LIMIT 20"
        hides = [tuple(row) for row in self.reader.select(sql)]
        new = [hide for hide in hides if hide not in self.told_hides]
        lines = [f"{id} ({HIDDEN_BY[by]}, {since})" for id, since, by in new]
        text = self.text("hide", [HEADLINES["hide"], *lines])
        if not hides or (new and not self.send("ALERT_URL", self.settings.alert_url, text)):
            return
        self.told_hides.update(new)  # a full disk must not have it told each minute
        with (
            suppress(DatabaseUnavailable),  # then it is noted in a minute
            open_database(self.reader.database, 5) as db,
            transaction(db),
        ):
            sql = "UPDATE hidden SET told = 1 WHERE (id, since, by) = (?, ?, ?)"
            db.executemany(sql, hides)

    def message(self, lasting: dict[str, str]) -> str:
        """A short text in Spanish and English."""
        lines = []
        for name, detail in lasting.items():
            lines += [HEADLINES[name], detail, f"Desde / since {self.since[name]}"]
        lines.append(ADVICE if lasting else HEADLINES["ok"])
        return self.text(", ".join(lasting) or "ok", filter(None, lines))

    def text(self, what: str, lines: Iterable[str]) -> str:
        where = f"persona404, {self.settings.register}, {os.uname().nodename}: {what}"
        return "\n".join([where, *lines])[:LONGEST]

    def send(self, name: str, url: str | None, text: str | None = None) -> bool:
        """Whether the address of the setting `name` took a POST of `text`, or a GET without."""
        if url is None:
            return False
        headers = {"User-Agent": "persona404", "Content-Type": "text/plain; charset=utf-8"}
        request = Request(url, text.encode() if text else None, headers)  # noqa: S310
        try:
            with urlopen(request, timeout=SEND_SECONDS) as answer:  # noqa: S310
                if text and answer.url != url:  # followed by a GET, without the text
                    raise ConnectionError(0, "it redirects")
        except Exception as error:
            # Never the error's own text, which may quote the address: a secret.
            reason = getattr(error, "reason", error)
            cause = getattr(reason, "strerror", None) or type(reason).__name__
            cause = f"HTTP {error.code}" if isinstance(error, HTTPError) else cause
            log.error("%s: %s; it is asked again in a minute", name, cause)
            return False
        return True
