"""When to synchronise, and the child process that does.

    keep_time --each minute--> start_if_due --is_due--> Synchroniser.start --> sync.py
    the API's trigger ---------------------------------^

What is due is a pure function of the time, the last good run and the last attempt.
"""

import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path

import schedule

from profiles import SettingError
from sync import BUSY, HERE, call_killed, explained, open_database, sole_run, utc_now

HOUR = timedelta(hours=1)
RETRIES = 3
CANNOT_START = "The clock, which looks each minute, cannot start synchronisations: see the log."

log = logging.getLogger("persona404.nightly")


def latest_slot(now: datetime, at: clock_time) -> datetime:
    """The latest SYNC_AT that is not after `now`, in the local time zone: once a day, also
    where the clock skips that time (it is then an hour later) or shows it twice."""
    local = datetime.combine(now.astimezone().date(), at)
    slot = local.astimezone()
    return slot if slot <= now else (local - timedelta(days=1)).astimezone()


def is_due(
    now: datetime,
    at: clock_time,
    last_success: datetime | None,
    last_attempt: datetime | None,
    failures: int,
) -> bool:
    """Whether a synchronisation should start by itself.

    Each SYNC_AT wants one good run, at once where it was missed (service down, or new).
    `failures` counts the runs since the latest SYNC_AT that did not end well: after the
    first come RETRIES more, an hour apart. A time that lies in the future is of a clock
    that was wrong, and says nothing. All times are aware.
    """
    if last_attempt and timedelta(0) <= now - last_attempt < HOUR:
        return False
    if last_success and latest_slot(now, at) <= last_success <= now:
        return False
    return failures <= RETRIES


class Synchroniser:
    """sync.py as a child process, one at a time: parsing in a thread of this process would
    starve the requests (the GIL)."""

    def __init__(self, database: Path):
        self.database = database
        self.child: subprocess.Popen[bytes] | None = None
        self.started: datetime | None = None
        self.stopped = False
        self.fault: str | None = None  # why the clock could not start one
        self.guard = threading.Lock()
        self.cpus = os.sched_getaffinity(0)

    def start(self) -> bool:
        """Begin a synchronisation. False while one runs, whoever started it."""
        with self.guard:
            if self.stopped or (self.child and self.child.poll() is None):
                return False
            with sole_run(self.database) as alone:
                if not alone:
                    return False
            with closing(open_database(self.database, busy_seconds=1)) as db:
                last_run = db.execute("SELECT coalesce(max(id), 0) FROM run").fetchone()[0]
            # Should another one slip in now, the child says so and the work is done anyway.
            self.started = datetime.now(UTC)
            self.child = subprocess.Popen(
                [sys.executable, str(HERE / "sync.py")],
                env={name: text for name, text in os.environ.items() if name != "API_KEY"},
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
            )
            with suppress(OSError):  # it ended at once
                os.sched_setaffinity(self.child.pid, self.cpus)
            arguments = (self.child, last_run)
            threading.Thread(target=self.watch, args=arguments, daemon=True).start()
            return True

    def watch(self, child: subprocess.Popen[bytes], last_run: int) -> None:
        """Wait for the child's end; record one that it could not record itself: a profile
        that it could not read, a signal that killed it."""
        status = child.wait()
        if status in (0, BUSY):
            return
        log.error("sync.py ended with status %d", status)
        failed = (
            "INSERT INTO run (started, ended, outcome, reason) SELECT :now, :now, 'failed', :reason"
            " WHERE NOT EXISTS (SELECT 1 FROM run WHERE id > :last_run)"
        )
        reason = f"sync.py ended with status {status}: the log says why"
        values = {"now": utc_now(), "reason": reason, "last_run": last_run}
        try:
            with sole_run(self.database) as alone:
                if alone:
                    with closing(open_database(self.database, busy_seconds=60)) as db:
                        call_killed(db)
                        db.execute(failed, values)
        except (sqlite3.Error, SettingError) as error:
            log.error("this end is not on record: %s", error)

    def start_if_due(self, at: clock_time) -> None:
        now = datetime.now(UTC)
        slot = latest_slot(now, at).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with closing(open_database(self.database, busy_seconds=1)) as db:
            good, last, failures = db.execute(
                "SELECT (SELECT ended FROM last_good),"
                " (SELECT coalesce(ended, started) FROM run ORDER BY id DESC LIMIT 1),"
                " (SELECT count(*) FROM run WHERE outcome <> 'ok' AND started BETWEEN ? AND ?)",
                [slot, utc_now()],
            ).fetchone()
        attempts = [datetime.fromisoformat(last)] if last else []
        # A child that died before it could record its run was an attempt too.
        attempts += [self.started] if self.started else []
        success = datetime.fromisoformat(good) if good else None
        if is_due(now, at, success, max(attempts, default=None), failures):
            if success and success > now:
                log.warning("the last good synchronisation is to come: was the clock wrong?")
            self.start()

    def stop(self) -> None:
        with self.guard:
            self.stopped = True
            if self.child and self.child.poll() is None:
                self.child.terminate()
                try:
                    self.child.wait(10)
                except subprocess.TimeoutExpired:
                    self.child.kill()


def keep_time(synchroniser: Synchroniser, at: clock_time) -> None:
    """Look every minute, on the minute, whether a synchronisation is due; never return."""

    def look() -> None:
        try:
            synchroniser.start_if_due(at)
            synchroniser.fault = None
        except Exception as error:  # a job that raises would be run again at once
            synchroniser.fault = CANNOT_START
            log.error("schedule: %s: %s", type(error).__name__, explained(error))

    scheduler = schedule.Scheduler()
    look()
    while True:
        scheduler.run_pending()
        if not scheduler.jobs or (scheduler.idle_seconds or 0) > 60:
            scheduler.clear()  # the clock was set back: schedule would wait for the old time
            scheduler.every().minute.at(":00").do(look)
        time.sleep(max(0.1, min(scheduler.idle_seconds or 0, 60)))
