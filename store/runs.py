"""What is on record of each run.

begin_run: "running" --end_run--> "ok", "withheld", "refused", "failed"
                     --record_dead_run, or the next begin_run--> "killed"
"""

import sqlite3
from pathlib import Path

from model import Reading
from store.database import open_database, run_lock, transaction, utc_now

READINGS = (  # how many took off who had left; days from one to the next, or to now, at most
    "SELECT count(*) FILTER (WHERE ended >= :first_day),"
    " coalesce(max(julianday(next) - julianday(ended)), 0) FROM"
    " (SELECT ended, lead(ended, 1, 'now') OVER (ORDER BY ended) AS next FROM run"
    " WHERE outcome IN ('ok', 'withheld') AND ended <= strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))"
    " WHERE next >= :first_day"
)


def begin_run(db: sqlite3.Connection) -> int:
    """Record the start of a run; its number. The caller holds the run lock."""
    with transaction(db):
        record_killed_runs(db)
        cursor = db.execute("INSERT INTO run (started, outcome) VALUES (?, 'running')", [utc_now()])
        return cursor.lastrowid or 0


def record_killed_runs(db: sqlite3.Connection) -> None:
    """Call "killed" what still says "running". The caller holds the run lock, so none is."""
    update = "UPDATE run SET outcome = 'killed', ended = ? WHERE outcome = 'running'"
    db.execute(update, [utc_now()])


def record_dead_run(
    database: Path, reason: str | None = None, last_run: int | None = None, busy_seconds: float = 5
) -> None:
    """Record a run that died; with `reason`, also one that failed before it began, unless a run is
    newer than `last_run`. Nothing while another run holds the lock. DatabaseUnavailable,
    SettingError."""
    with run_lock(database) as locked, open_database(database, busy_seconds) as db:
        if locked:
            with transaction(db):
                record_killed_runs(db)
                db.execute(
                    "INSERT INTO run (started, ended, outcome, reason)"
                    " SELECT :now, :now, 'failed', :reason WHERE :reason IS NOT NULL"
                    " AND NOT EXISTS (SELECT 1 FROM run WHERE id > :last_run)",  # never > NULL
                    {"now": utc_now(), "reason": reason, "last_run": last_run},
                )


def end_run(
    db: sqlite3.Connection,
    run: int,
    outcome: str,
    reason: str | None,
    reading: Reading | None,
    **more: int | str,
) -> None:
    """Record the end of a run. A signal after the commit does not overwrite "ok"."""
    values = {"ended": utc_now(), "outcome": outcome, "reason": reason, **more}
    if reading:
        matched = " ".join(part for part, fault in reading.parts.items() if not fault)
        values |= {"listed": reading.listed, "unreadable": len(reading.unreadable)}
        values |= {"matched_parts": matched, "start": reading.start}
    columns = ", ".join(f"{name} = :{name}" for name in values)
    sql = f"UPDATE run SET {columns} WHERE id = :run AND outcome = 'running'"  # noqa: S608
    db.execute(sql, {**values, "run": run})
