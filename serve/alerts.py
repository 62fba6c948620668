"""The operator is told once what is wrong, and that it is over: a POST to ALERT_URL. Each good run
is a GET of PING_URL.

No message holds a person; an id only where somebody was hidden. The names of the faults are those
of docs/night.md.
"""

import logging
import os
import re
import time
import tomllib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from model import SettingError
from serve.health import STALE, faults
from serve.nightly import HOUR, Synchroniser
from serve.views import Views
from settings import VERSION, Settings
from store.database import (
    DatabaseUnavailable,
    Reader,
    open_database,
    transaction,
    utc_now,
    utc_text,
)
from store.runs import record_dead_run

CHECK_SECONDS = 60.0
SEND_SECONDS = 20.0  # in all, however slowly the address answers
HELD_BACK = 4 * HOUR  # a refusal that a retry may end
LONGEST = 2000  # characters; ntfy makes a file of what is over 4,096 bytes
WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
HEADLINES: dict[str, str] = WORDS["headlines"]
HIDDEN_BY = {"panel": "desde el panel / from the panel", "server": "en el servidor / on the server"}
ADVICE = "Qué hacer: docs/es/night.md / What to do: docs/night.md"

FIRST_RUN = (  # since the last good run without the warning `name`
    "SELECT min(started) FROM run WHERE id > coalesce((SELECT max(id) FROM run"
    " WHERE outcome = 'ok' AND NOT instr(warnings, :name)), 0)"
)

log = logging.getLogger("persona404.alerts")


class Fault(NamedTuple):
    """What is wrong, by the name of its headline."""

    name: str
    reason: str = ""  # in English, with figures
    since: str = ""  # UTC, if the database tells

    @property
    def sentence(self) -> str:
        """The reason in Spanish and English; "" for an unknown one."""
        known = (text for form, text in WORDS["reasons"].items() if re.search(form, self.reason))
        return next(known, "")

    @property
    def kind(self) -> tuple[str, str]:
        """What is told once: other figures are no other fault."""
        return self.name, self.sentence or re.sub("[0-9]", "", self.reason)


class Alerts:
    """Tells the operator the state after a start, and then each change, once it has lasted for a
    minute. What cannot be sent is tried again a minute later."""

    def __init__(
        self, settings: Settings, reader: Reader, views: Views, synchroniser: Synchroniser
    ):
        self.settings, self.reader = settings, reader
        self.views, self.synchroniser = views, synchroniser
        self.began = utc_now()
        self.told: list[tuple[str, str]] | None = None  # the kinds of faults in the last message
        self.since: dict[tuple[str, str], str] = {}  # those at the last check, and since when
        self.told_hides: set[tuple[str, ...]] = set()
        self.sending: dict[str, Thread] = {}  # by the setting that has the address
        # A restart may have come between a good run and its ping: a second one does no harm.
        recent = utc_text(datetime.now(UTC) - timedelta(minutes=30))
        self.pinged: str | None = min(self.last_sync() or recent, recent)

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
            early = [fault for fault in current if self.waits(fault)]
        except DatabaseUnavailable as error:
            current = [Fault("database", f"The database cannot be read: {error.reason}.")]
            early = []
        known, now = self.since, utc_now()
        told = [fault for fault in current if fault.kind in known and fault not in early]
        self.since = {fault.kind: fault.since or known.get(fault.kind, now) for fault in current}
        kinds = [fault.kind for fault in told]
        is_new = kinds != self.told and (told or (last_sync and not current))
        if is_new and self.tell_faults(told):
            self.told = kinds
        if last_sync not in (None, self.pinged) and self.send("PING_URL", self.settings.ping_url):
            self.pinged = last_sync
        if "database" not in (fault.name for fault in current):
            self.tell_hides()

    def last_sync(self) -> str | None:
        """The end of the last good synchronisation."""
        runs = self.reader.select("SELECT ended FROM last_good")
        return str(runs[0]["ended"]) if runs else None

    def find_faults(self, last_sync: str | None) -> list[Fault]:
        """What is wrong, the most urgent first."""
        select = self.reader.select
        if select("SELECT 1 FROM run WHERE outcome = 'running'"):
            with suppress(DatabaseUnavailable, SettingError):
                record_dead_run(self.reader.database, busy_seconds=1)
        good = last_sync or self.began  # a new service is not late yet
        since = {"stale": min(utc_text(datetime.fromisoformat(good) + STALE), utc_now())}
        reasons = faults(good, self.views, self.synchroniser)
        for outcome, reason, warnings in select(
            "SELECT outcome, coalesce(reason, ''), warnings FROM run WHERE outcome <> 'running'"
            " ORDER BY id DESC LIMIT 1"
        ):
            of_run = {outcome: reason.partition("; if the register's pages")[0]}  # without advice
            of_run |= dict.fromkeys(warnings.split(), "")
            of_run.pop("ok", None)
            reasons |= of_run
            since |= {name: select(FIRST_RUN, name=name)[0][0] for name in of_run}
        found = [Fault(name, text, since.get(name, "")) for name, text in reasons.items()]
        return sorted(found, key=lambda fault: fault.name != "hidden")

    def waits(self, fault: Fault) -> bool:
        """Whether a retry may end the fault before anybody is woken."""
        at, now = self.settings.sync_at, datetime.now(UTC)
        if fault.name != "refused" or at is None or fault.since <= utc_text(now - HELD_BACK):
            return False
        return self.synchroniser.next_start(at) <= now + HOUR

    def tell_hides(self) -> None:
        """Tell each hide once, whoever did it: so a stolen key is noticed, and a database that is
        restored from a copy can be hidden from again."""
        sql = "SELECT id, since, by FROM hidden WHERE NOT told ORDER BY since LIMIT 20"
        hides = [tuple(row) for row in self.reader.select(sql)]
        new = [hide for hide in hides if hide not in self.told_hides]
        lines = [f"{id} ({HIDDEN_BY[by]}, {local_text(since)})" for id, since, by in new]
        if not hides or (new and not self.tell("hide", [HEADLINES["hide"], *lines])):
            return
        self.told_hides.update(new)  # a full disk must not have it told each minute
        with (
            suppress(DatabaseUnavailable),  # then it is noted in a minute
            open_database(self.reader.database, 5) as db,
            transaction(db),
        ):
            sql = "UPDATE hidden SET told = 1 WHERE (id, since, by) = (?, ?, ?)"
            db.executemany(sql, hides)

    def tell_faults(self, faults: list[Fault]) -> bool:
        lines = []
        for fault in faults:
            since = f"Desde / since {local_text(self.since[fault.kind])}"
            lines += [HEADLINES[fault.name], fault.sentence, fault.reason, since]
        lines.append(ADVICE if faults else HEADLINES["ok"])
        return self.tell(", ".join(fault.name for fault in faults) or "ok", lines)

    def tell(self, what: str, lines: list[str]) -> bool:
        """Whether ALERT_URL took a message. Its headers are ntfy's."""
        register, public = self.settings.register, self.settings.about.public_url
        where = f"persona404, {register}, {os.uname().nodename}: {what}"
        headers = {"Title": f"{register}: {what}", "Content-Type": "text/plain; charset=utf-8"}
        headers["Priority"] = "urgent" if what.startswith("hidden") else "default"
        headers |= {"Click": f"{public}/health"} if public else {}
        text = "\n".join([where, *filter(None, lines)])[:LONGEST]
        return self.send("ALERT_URL", self.settings.alert_url, text, **headers)

    def send(self, name: str, url: str | None, text: str = "", **headers: str) -> bool:
        """Whether the address of the setting `name` took a POST of `text`, or a GET without, within
        SEND_SECONDS. While an earlier request to it lasts, it gets no other."""
        if url is None:
            return False
        headers["User-Agent"] = f"persona404/{VERSION}"
        request = Request(url, text.encode() or None, headers)  # noqa: S310
        causes: list[str] = []
        if name not in self.sending or not self.sending[name].is_alive():
            thread = Thread(target=lambda: causes.append(ask(request)), daemon=True)
            self.sending[name] = thread
            thread.start()
            thread.join(SEND_SECONDS)
        if causes == [""]:
            return True
        cause = causes[0] if causes else f"no whole answer within {SEND_SECONDS:.0f} s"
        log.error("%s: %s; it is asked again in a minute", name, cause)
        return False


def local_text(moment: str) -> str:
    """A moment of the database as the operator's clock shows it, such as 2026-01-31 00:04 -0300."""
    return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M %z}"


def ask(request: Request) -> str:
    """Send it; "" or why that failed. Not in the error's own words: the address is a secret."""
    try:
        with urlopen(request, timeout=SEND_SECONDS / 2) as answer:  # noqa: S310
            # A redirect is followed by a GET, without the text.
            return "it redirects" if request.data and answer.url != request.full_url else ""
    except Exception as error:
        if isinstance(error, HTTPError):
            return f"HTTP {error.code}"
        reason = getattr(error, "reason", error)
        return getattr(reason, "strerror", None) or type(reason).__name__
