"""When to synchronise, and the child process that does it.

The child is a process because parsing HTML in a thread of the service would starve the requests.
"""

import logging
import math
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path

import schedule

from model import SettingError
from settings import HERE, SECRETS, misspelt
from store.database import DatabaseUnavailable, open_database, run_lock, utc_text
from store.runs import record_dead_run

RETRIES = 3
HOUR = timedelta(hours=1)  # between the end of an attempt and the next one
TRIGGER_SECONDS = 600  # between two synchronisations that the trigger starts
CHILD_SECONDS = 5 * 3600.0  # a run ends itself after 4 hours: a child that takes 5 hangs
CANNOT_START = "The clock cannot start a synchronisation: see the log. It tries again each minute."
# Read at the import, so before use_one_cpu() can be called. macOS has no such call.
ALL_CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()

log = logging.getLogger("persona404.nightly")


def latest_slot(now: datetime, at: clock_time) -> datetime:
    """The latest SYNC_AT that is not after `now`, in the local time zone: once a day, also
    where the clock skips that time (it is then an hour later) or shows it twice."""
    local = datetime.combine(now.astimezone().date(), at)
    slot = local.astimezone()
    return slot if slot <= now else (local - timedelta(days=1)).astimezone()


def is_due(
    now: datetime, at: clock_time, success: datetime | None, attempt: datetime | None, failures: int
) -> bool:
    """Whether a synchronisation should start by itself, given the last good run, the last attempt
    and how many runs failed since the latest SYNC_AT. All times are aware.

    Each SYNC_AT wants one good run; one that was missed (the service was down, or is new) is made
    up for at once. After a failure RETRIES more follow, an hour apart. A time in the future comes
    from a clock that was wrong, and is ignored."""
    if attempt and timedelta(0) <= now - attempt < HOUR:
        return False
    if success and latest_slot(now, at) <= success <= now:
        return False
    return failures <= RETRIES


def keep_schedule(synchroniser: "Synchroniser", at: clock_time) -> None:
    """Check every minute, on the minute, whether a synchronisation is due; never return."""

    def check() -> None:
        try:
            synchroniser.start_if_due(at)
            synchroniser.fault = None
        except Exception as error:  # schedule runs a job that raises again at once
            synchroniser.fault = CANNOT_START
            log.error("schedule: %s: %s", type(error).__name__, error)

    scheduler = schedule.Scheduler()
    check()
    while True:
        scheduler.run_pending()
        scheduler.clear()  # a clock that was set back would make the planned check wait
        scheduler.every().minute.at(":00").do(check)
        time.sleep(max(0.1, scheduler.idle_seconds or 0))


class NotNow(Exception):
    """A synchronisation cannot be started now. `seconds`: how long to wait; 0 while one runs."""

    def __init__(self, seconds: int):
        self.seconds = seconds


class Synchroniser:
    """Runs sync.py as a child process, one at a time."""

    def __init__(self, database: Path):
        self.database = database
        self.child: subprocess.Popen[bytes] | None = None
        self.started: datetime | None = None  # the last child
        self.triggered = -math.inf  # the last child of the trigger, monotonic
        self.stopped = False
        self.fault: str | None = None  # why the clock could not start one
        self.guard = threading.Lock()

    def trigger(self) -> None:
        """Start a synchronisation for the API. NotNow while one runs, and within TRIGGER_SECONDS
        of the last one that the trigger started."""
        with self.guard:
            self.check_idle()
            if (wait := self.triggered + TRIGGER_SECONDS - time.monotonic()) > 0:
                raise NotNow(math.ceil(wait))
            self.start()
            self.triggered = time.monotonic()

    def start_if_due(self, at: clock_time) -> None:
        """Start a synchronisation if one is due and none runs."""
        now = datetime.now(UTC)
        success, attempt, failures = self.past(now, at)
        if not is_due(now, at, success, attempt, failures):
            slot = latest_slot(now, at)
            if attempt and attempt < slot and now - slot < timedelta(minutes=1):
                log.warning("SYNC_AT: it waits until an hour after the last synchronisation")
            return
        if success and success > now:
            log.warning("the last good run is dated in the future: was the clock wrong?")
        with self.guard, suppress(NotNow):
            self.check_idle()
            self.start()

    def next_start(self, at: clock_time) -> datetime:
        """When the clock starts the next synchronisation, as far as can be told now."""
        now = datetime.now(UTC)
        success, attempt, failures = self.past(now, at)
        soonest = max(now, min(now, attempt) + HOUR) if attempt else now
        if is_due(soonest, at, success, attempt, failures):
            return soonest
        return latest_slot(soonest + timedelta(days=1), at)

    def past(self, now: datetime, at: clock_time) -> tuple[datetime | None, datetime | None, int]:
        """For is_due(): the last good run, the last attempt, the failures since SYNC_AT."""
        with open_database(self.database, busy_seconds=1) as db:
            *times, failures = db.execute(
                "SELECT (SELECT ended FROM last_good),"
                " (SELECT coalesce(ended, started) FROM run ORDER BY id DESC LIMIT 1),"
                " (SELECT count(*) FROM run WHERE outcome NOT IN ('ok', 'running')"
                " AND started BETWEEN ? AND ?)",
                [utc_text(latest_slot(now, at)), utc_text(now)],
            ).fetchone()
        success, attempt = (datetime.fromisoformat(text) if text else None for text in times)
        # A child that died before it could record its run was an attempt too.
        attempts = [moment for moment in (attempt, self.started) if moment]
        return success, max(attempts, default=None), failures

    def check_idle(self) -> None:
        """NotNow while a synchronisation runs."""
        # First, so that the lock is free for a child that is about to take it.
        if self.stopped or (self.child and self.child.poll() is None):
            raise NotNow(0)
        with run_lock(self.database) as locked:
            if not locked:
                raise NotNow(0)

    def start(self) -> None:
        """Start the child. If another run begins first, the child exits with 75."""
        with open_database(self.database, busy_seconds=1) as db:
            (last_run,) = db.execute("SELECT coalesce(max(id), 0) FROM run").fetchone()
        self.child = start_sync()
        self.started = datetime.now(UTC)
        threading.Thread(target=self.wait, args=(self.child, last_run), daemon=True).start()

    def wait(self, child: "subprocess.Popen[bytes]", last_run: int) -> None:
        """Wait for the child's end, or end it; record what it could not record itself: that it
        was killed, or, with no run after `last_run`, that it began none."""
        try:
            status = child.wait(CHILD_SECONDS)
        except subprocess.TimeoutExpired:
            log.error("sync.py hangs: it is ended after %.0f hours", CHILD_SECONDS / 3600)
            child.kill()
            status = child.wait()
        if status in (0, os.EX_TEMPFAIL):  # 75: another synchronisation was faster
            return
        log.error("sync.py ended with status %d", status)
        reason = f"sync.py ended with status {status}: the log says why"
        try:
            record_dead_run(self.database, reason, last_run)
        except (DatabaseUnavailable, SettingError) as error:
            log.error("this end is not on record: %s", error)

    def stop(self) -> None:
        """End the child, if one runs, and start no other."""
        with self.guard:
            self.stopped = True
            if self.child:
                self.child.terminate()  # nothing where it has ended, as kill()
                with suppress(subprocess.TimeoutExpired):
                    self.child.wait(10)
                self.child.kill()


def start_sync(*options: str) -> "subprocess.Popen[bytes]":
    """Start sync.py, without secrets, on all CPUs, its output in the log of this process."""
    kept_back = {*SECRETS, *misspelt(os.environ)}  # the latter are in the log already
    env = {name: text for name, text in os.environ.items() if name not in kept_back}
    command = [sys.executable, str(HERE / "sync.py"), *options]
    child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    set_cpus(child.pid, ALL_CPUS)
    return child


def use_one_cpu(number: int) -> None:
    """Keep this process on one CPU (docs/developing.md). Instances with consecutive numbers share
    the CPUs out."""
    if ALL_CPUS:
        set_cpus(0, {sorted(ALL_CPUS)[number % len(ALL_CPUS)]})


def set_cpus(pid: int, cpus: set[int]) -> None:
    if cpus:
        with suppress(OSError):  # not allowed here, or the process has ended: slower, no worse
            os.sched_setaffinity(pid, cpus)
