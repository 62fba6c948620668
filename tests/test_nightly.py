"""When a synchronisation is due, in a named time zone and across both clock changes."""

import datetime as dt
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import schedule

from serve import nightly
from serve.nightly import NotNow, Synchroniser
from store.database import open_database, run_lock, utc_now
from support import ROOT

MADRID = ZoneInfo(
    "Europe/Madrid"
)  # 2026: forward on 29 March at 02:00, back on 25 October at 03:00


@pytest.fixture(autouse=True)
def madrid(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Madrid")
        time.tzset()
        yield
    time.tzset()


def at(text: str | None) -> datetime | None:
    """ "15 03:10" is 15 June 2026, 03:10 in Madrid."""
    return text and datetime.strptime(f"2026-06-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=MADRID)


@pytest.mark.parametrize(
    ("now", "success", "attempt", "failures", "due"),
    [
        # a new service
        ("15 12:00", None, None, 0, True),
        ("15 12:59", None, "15 12:00", 1, False),
        ("15 13:00", None, "15 12:00", 1, True),
        ("15 15:00", None, "15 14:00", 3, True),
        ("15 16:00", None, "15 15:00", 4, False),
        ("16 03:00", None, "15 15:00", 0, True),
        # every night
        ("15 02:59", "14 03:05", "14 03:00", 0, False),
        ("15 03:00", "14 03:05", "14 03:00", 0, True),
        ("15 03:06", "15 03:05", "15 03:00", 0, False),
        ("15 23:59", "15 03:05", "15 03:00", 0, False),
        # a failure, and its three retries
        ("15 03:30", "14 03:05", "15 03:00", 1, False),
        ("15 04:00", "14 03:05", "15 03:00", 1, True),
        ("15 05:00", "14 03:05", "15 04:00", 2, True),
        ("15 06:00", "14 03:05", "15 05:00", 3, True),
        ("15 07:00", "14 03:05", "15 06:00", 4, False),
        ("16 02:59", "14 03:05", "15 06:00", 4, False),
        ("16 03:00", "14 03:05", "15 06:00", 0, True),
        # success by hand, then a failed trigger: the night's list is there
        ("15 12:00", "15 09:00", "15 10:00", 1, False),
        # by hand shortly before the time: an hour's rest first
        ("15 03:00", "15 02:31", "15 02:30", 0, False),
        ("15 03:30", "15 02:31", "15 02:30", 0, True),
        # a service that was down at the time, or for days
        ("15 09:00", "14 16:00", "14 16:00", 0, True),
        ("15 02:00", "12 03:05", "12 03:00", 0, True),
        # a clock that was a day ahead
        ("15 12:00", "16 12:00", "16 12:00", 0, True),
        ("15 12:30", "16 12:00", "15 12:00", 1, False),
    ],
)
def test_is_due(
    now: str, success: str | None, attempt: str | None, failures: int, due: bool
) -> None:
    clock = dt.time(3, 0)
    moment = at(now)
    assert moment is not None
    assert nightly.is_due(moment, clock, at(success), at(attempt), failures) == due


@pytest.mark.parametrize("clock", ["00:00", "01:59", "02:00", "02:30", "03:00", "23:59"])
@pytest.mark.parametrize("first", ["2026-03-27", "2026-10-23"])
def test_once_a_day_across_a_clock_change(clock: str, first: str) -> None:
    begin = datetime.fromisoformat(first).replace(tzinfo=MADRID).astimezone(dt.UTC)
    wanted = dt.time.fromisoformat(clock)
    last = begin - timedelta(hours=2)
    runs: list[datetime] = []
    for minute in range(5 * 24 * 60):
        now = begin + timedelta(minutes=minute)
        if nightly.is_due(now, wanted, last, last, 0):
            last = now
            runs.append(now.astimezone(MADRID))
    days = [run.date().isoformat()[-2:] for run in runs[1:-1]]
    assert len(days) == len(set(days)) >= 3
    usual = {run.time() for run in runs[1:-1]}
    assert wanted in usual
    assert len(usual - {wanted}) <= 1  # 02:30 does not exist on one of the days


@pytest.fixture
def synchroniser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Synchroniser:
    """A synchroniser that only notes when it would start a child."""
    one = Synchroniser(tmp_path / "x.db")
    monkeypatch.setattr(one, "start", lambda: setattr(one, "started", datetime.now(dt.UTC)))
    return one


def record(database: Path, outcome: str, age: timedelta) -> None:
    when = (datetime.now(dt.UTC) - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    with open_database(database, 5) as db:
        insert = "INSERT INTO run (started, ended, outcome) VALUES (:when, :when, :outcome)"
        db.execute(insert, {"when": when, "outcome": outcome})


@pytest.mark.parametrize(
    ("runs", "started"),
    [
        ([], True),
        ([("ok", 0.0)], False),
        ([("ok", 25)], True),
        ([("ok", 25), ("failed", 0.5)], False),
        ([("ok", 25), ("killed", 0.5)], False),
        ([("ok", 50), ("failed", 26)], True),
        ([("failed", -50)] * 4, True),  # of a clock that was ahead
    ],
)
def test_the_runs_on_record_decide(
    synchroniser: Synchroniser, runs: list[tuple[str, float]], started: bool
) -> None:
    for outcome, hours in runs:
        record(synchroniser.database, outcome, timedelta(hours=hours))
    synchroniser.start_if_due((datetime.now() - timedelta(minutes=1)).time())
    assert (synchroniser.started is not None) == started


def test_a_child_that_recorded_nothing_was_an_attempt(synchroniser: Synchroniser) -> None:
    clock = (datetime.now() - timedelta(minutes=1)).time()
    synchroniser.start_if_due(clock)
    first = synchroniser.started
    synchroniser.start_if_due(clock)
    assert synchroniser.started is first is not None


def test_the_hour_counts_from_the_end_of_an_attempt(synchroniser: Synchroniser) -> None:
    record(synchroniser.database, "failed", timedelta(hours=4))
    with open_database(synchroniser.database, 5) as db:
        db.execute("UPDATE run SET ended = ?", [utc_now()])
    synchroniser.start_if_due((datetime.now() - timedelta(hours=5)).time())
    assert synchroniser.started is None


def test_a_time_that_is_not_kept_is_in_the_log_once(
    synchroniser: Synchroniser, caplog: pytest.LogCaptureFixture
) -> None:
    record(synchroniser.database, "ok", timedelta(minutes=20))
    now = datetime.now()
    if now.second > 57:  # all within one minute
        time.sleep(3)
    for slot in (datetime.now(), now - timedelta(minutes=5)):
        synchroniser.start_if_due(slot.time().replace(second=0, microsecond=0))
    assert synchroniser.started is None
    assert caplog.messages == ["SYNC_AT: it waits until an hour after the last synchronisation"]


@pytest.mark.parametrize(
    ("runs", "hours"),
    [
        ([], 0),
        ([("ok", 0.5)], 23),
        ([("refused", 0.5)], 0.5),
        ([("refused", 0.5), ("refused", 0.4), ("refused", 0.3), ("running", 0.25)], 0.75),
        ([("refused", 0.5), ("refused", 0.4), ("refused", 0.3), ("refused", 0.25)], 23),
        ([("ok", 0.5), ("failed", 0.25)], 23),
    ],
)
def test_when_the_next_one_starts(
    synchroniser: Synchroniser, runs: list[tuple[str, float]], hours: float
) -> None:
    for outcome, age in runs:
        record(synchroniser.database, outcome, timedelta(hours=age))
    start = synchroniser.next_start((datetime.now() - timedelta(hours=1)).time())
    wait = start - datetime.now(dt.UTC)
    assert abs(wait - timedelta(hours=hours)) < timedelta(seconds=5)


# --- The CPUs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "cpus"),
    [("", 1), ("del os.sched_getaffinity, os.sched_setaffinity", None)],  # as on macOS
)
def test_a_process_keeps_to_one_cpu_where_it_can(before: str, cpus: int | None) -> None:
    code = f"""
import os
count = os.sched_getaffinity
{before}
from serve import nightly
nightly.use_one_cpu(8080)
print(len(count(0)))
nightly.set_cpus(0, nightly.ALL_CPUS)
print(len(count(0)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    everywhere = len(os.sched_getaffinity(0))
    assert done.stdout.split() == [str(cpus or everywhere), str(everywhere)]


# --- The trigger ---------------------------------------------------------------------


def test_the_trigger_has_a_floor(
    synchroniser: Synchroniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(nightly.time, "monotonic", lambda: now)
    synchroniser.trigger()
    now += 599
    with pytest.raises(NotNow) as raised:
        synchroniser.trigger()
    assert raised.value.seconds == 1
    now += 1
    synchroniser.trigger()


def test_a_child_that_could_not_be_started_was_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("no more processes")

    synchroniser = Synchroniser(tmp_path / "x.db")
    monkeypatch.setattr(nightly, "start_sync", fail)
    with pytest.raises(OSError):
        synchroniser.trigger()
    assert (synchroniser.started, synchroniser.triggered) == (None, -math.inf)


def test_what_the_trigger_did_not_start_has_no_floor(synchroniser: Synchroniser) -> None:
    with run_lock(synchroniser.database), pytest.raises(NotNow):
        synchroniser.trigger()
    synchroniser.trigger()
    assert synchroniser.started


# --- The clock -----------------------------------------------------------------------


def test_the_clock_tells_its_fault_until_it_is_gone(
    synchroniser: Synchroniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[str | None] = []
    checks = iter([OSError(), OSError(), None])

    def check(at: dt.time) -> None:
        if error := next(checks):
            raise error

    def sleep(seconds: float) -> None:
        faults.append(synchroniser.fault)
        if len(faults) == 3:
            raise SystemExit
        for job in scheduler.jobs:
            job.next_run = datetime.now()

    scheduler = schedule.Scheduler()
    monkeypatch.setattr(schedule, "Scheduler", lambda: scheduler)
    monkeypatch.setattr(nightly.time, "sleep", sleep)
    monkeypatch.setattr(synchroniser, "start_if_due", check)
    with pytest.raises(SystemExit):
        nightly.keep_schedule(synchroniser, dt.time(3, 0))
    assert faults == [nightly.CANNOT_START, nightly.CANNOT_START, None]


@pytest.mark.parametrize("back", [timedelta(0), timedelta(hours=1), timedelta(days=1400)])
def test_the_clock_checks_every_minute_whatever_happens(
    synchroniser: Synchroniser, monkeypatch: pytest.MonkeyPatch, back: timedelta
) -> None:
    checks: list[datetime] = []
    clock = datetime(2026, 6, 15, 1, 2, 3)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> datetime:
            return clock

    def sleep(seconds: float) -> None:
        nonlocal clock
        clock += timedelta(seconds=seconds)

    def check(at: dt.time) -> None:
        nonlocal clock
        checks.append(clock)
        if len(checks) == 100:  # somebody sets the clock back
            clock -= back
        if len(checks) == 200:
            raise SystemExit
        raise OSError("a disk is full")

    monkeypatch.setattr(schedule.datetime, "datetime", Clock)
    monkeypatch.setattr(nightly.time, "sleep", sleep)
    monkeypatch.setattr(synchroniser, "start_if_due", check)
    with pytest.raises(SystemExit):
        nightly.keep_schedule(synchroniser, dt.time(3, 0))
    assert checks[0] == datetime(2026, 6, 15, 1, 2, 3)
    gaps = [later - earlier for earlier, later in pairwise(checks[1:])]
    gaps[98] += back
    assert max(gaps) <= timedelta(seconds=121)
    assert sorted(gaps)[1:-1] == [timedelta(seconds=60)] * (len(gaps) - 2)
    assert {moment.second for moment in checks[1:]} == {0}
