"""What both programs do to SQLite: open a database, name its faults, lock runs, keep persons.

    app.py, views.py, nightly.py --Reader, open_database--> SQLite <--open_database-- sync.py

SQLite is the truth at each request: no list is kept in a process. An error of SQLite leaves this
file as DatabaseUnavailable; what it becomes in HTTP or on a terminal is its caller's matter.
"""

import fcntl
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from person import Person, Reading, region_of
from settings import HERE, SettingError

SCHEMA_VERSION = 6  # as schema.sql sets it
READ_SECONDS = 1.0  # how long a request waits for a lock

REASONS = {  # https://www.sqlite.org/rescode.html
    sqlite3.SQLITE_BUSY: "another program holds its lock",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full or broken",
    sqlite3.SQLITE_READONLY: "its file or folder may not be written",
    sqlite3.SQLITE_CANTOPEN: "its file or folder cannot be opened",
    sqlite3.SQLITE_CORRUPT: "its file is damaged; restore a backup (docs/operating.md)",
    sqlite3.SQLITE_NOTADB: "its file is damaged; restore a backup (docs/operating.md)",
}
PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)

OUT_OF_THE_WAY = (  # of schema.sql, in an older database
    "DROP VIEW IF EXISTS last_good",
    "DROP TABLE person",
    "ALTER TABLE hidden RENAME TO old_hidden",
    "ALTER TABLE run RENAME TO old_run",
)


log = logging.getLogger("persona404.store")


class DatabaseUnavailable(Exception):
    """SQLite cannot read or write just now.

    `str()` is for the log; `reason`, without a path or SQLite's own words, may be shown to
    anybody; `passing` says whether the fault may be gone in a moment, without hands."""

    def __init__(self, error: Exception):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code
        self.reason = REASONS.get(code, "see the log")
        self.passing = code in PASSING
        super().__init__(f"{error} ({self.reason})" if code in REASONS else str(error))


@contextmanager
def faults_named() -> Iterator[None]:
    """Raise DatabaseUnavailable in place of an error of SQLite."""
    try:
        yield
    except sqlite3.Error as error:
        raise DatabaseUnavailable(error) from error


@contextmanager
def open_database(path: Path, busy_seconds: float) -> Iterator[sqlite3.Connection]:
    """A connection for a `with` block, in autocommit, that waits `busy_seconds` for a lock. A new
    or older database gets the tables of schema.sql. DatabaseUnavailable for whatever SQLite
    cannot do in the block, and where the schema is newer than this program."""
    with faults_named(), closing(connect(path, busy_seconds)) as db:
        yield db


def connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """As open_database(), but the caller closes it, and gets sqlite3.Error."""
    db = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    try:
        db.execute("PRAGMA secure_delete = ON")  # overwrite what is deleted
        db.execute("PRAGMA temp_store = MEMORY")  # else a large DELETE spills rows to /tmp
        db.execute("PRAGMA synchronous = NORMAL")  # WAL stays consistent
        # WAL stays with the file; a backup's copy comes without.
        if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            db.execute("PRAGMA journal_mode = WAL")
        if schema_version(db) != SCHEMA_VERSION:
            upgrade(db)
    except BaseException:
        db.close()
        raise
    return db


def schema_version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """BEGIN IMMEDIATE, then COMMIT, or ROLLBACK after an exception."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        yield


class Reader:
    """Reads one database: one read-only connection per thread."""

    def __init__(self, database: Path):
        self.database = database
        self.local = threading.local()

    def select(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """All rows of one statement: a consistent snapshot, and no cursor is left open.
        DatabaseUnavailable; the next call opens a new connection."""
        try:
            if not hasattr(self.local, "db"):
                self.local.db = connect(self.database, READ_SECONDS)
                self.local.db.row_factory = sqlite3.Row
                self.local.db.execute("PRAGMA query_only = ON")
                self.local.db.execute("PRAGMA cache_size = -1000")  # KiB; photos fill it
                self.local.db.execute("PRAGMA temp_store = FILE")  # for long sums of views
            rows: list[sqlite3.Row] = self.local.db.execute(sql, values).fetchall()
            return rows
        except sqlite3.Error as error:
            if hasattr(self.local, "db"):
                self.local.db.close()
                del self.local.db
            raise DatabaseUnavailable(error) from error


def empty_wal(db: sqlite3.Connection) -> None:
    """Empty the write-ahead log, where deleted rows would live on. If another connection uses an
    old snapshot, or the disk is full, the next run does it."""
    ((before,),) = db.execute("PRAGMA busy_timeout").fetchall()
    try:
        db.execute("PRAGMA busy_timeout = 1000")
        done = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    except sqlite3.Error:
        done = False
    finally:
        db.execute(f"PRAGMA busy_timeout = {before}")
    if not done:
        log.warning(
            "removed data are still on the disk, in the write-ahead log: a reader holds the"
            " old list, or the disk is full. The next run erases them"
        )


def upgrade(db: sqlite3.Connection) -> None:
    """Make the tables of schema.sql; those of an older version are taken over."""
    with transaction(db):
        version = schema_version(db)  # again: another program may have been faster
        if version == SCHEMA_VERSION:
            return
        if version > SCHEMA_VERSION:
            text = f"its schema version {version} is newer than this program's {SCHEMA_VERSION}"
            raise DatabaseUnavailable(ValueError(text))
        if version in (0, 4, 5):  # version 5 has a table more, 6 a column
            if version:
                db.execute("ALTER TABLE run ADD COLUMN warnings TEXT NOT NULL DEFAULT ''")
            run_script(db, HERE / "schema.sql")
            return
        persons = stored_persons(db)
        for statement in OUT_OF_THE_WAY:
            db.execute(statement)
        run_script(db, HERE / "schema.sql")
        run_script(db, HERE / "upgrade.sql")
        write_persons(db, persons.values())


def run_script(db: sqlite3.Connection, path: Path) -> None:
    """Run an SQL file. (executescript() would commit the open transaction.)"""
    statement = ""
    for line in path.read_text("utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""


@contextmanager
def run_lock(database: Path) -> Iterator[bool]:
    """Hold the lock of a synchronisation of `database`; False if another program holds it.

    It is flock(2) on a file beside the database that a link leads to, so one database has one
    lock, and it dies with its holder. SettingError where that file cannot be opened."""
    path = Path(f"{database.resolve()}.lock")
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise SettingError(f"DATABASE: {path}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(lock)


# --- Persons -------------------------------------------------------------------------


def stored_persons(db: sqlite3.Connection) -> dict[str, Person]:
    """The active persons by id."""
    rows = db.execute("SELECT id, nombre, fecha, edad, lugar, foto, url FROM person")
    return {row[0]: Person(*row) for row in rows}


def write_persons(db: sqlite3.Connection, persons: Iterable[Person]) -> None:
    """Replace the active persons, in the order of the API: newest date first, then id."""
    ordered = sorted(persons, key=lambda person: person.id)
    ordered.sort(key=lambda p: p.fecha[6:] + p.fecha[3:5] + p.fecha[:2], reverse=True)
    db.execute("DELETE FROM person")
    db.executemany(
        "INSERT INTO person (position, id, nombre, fecha, edad, lugar, foto, url, region)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((n, *person, region_of(person.lugar)) for n, person in enumerate(ordered, 1)),
    )
    db.execute(
        "DELETE FROM photo WHERE (person, nombre, fecha, foto) NOT IN"
        " (SELECT id, nombre, fecha, foto FROM person)"
    )


def check_register(db: sqlite3.Connection, register: str) -> None:
    """SettingError where the database holds another register's persons: they would all be taken
    for found."""
    for (id,) in db.execute(
        "SELECT id FROM person UNION ALL SELECT id FROM found UNION ALL SELECT id FROM hidden"
    ):
        name = id.partition("-")[0]
        if name != register:
            text = f"DATABASE: it holds the register {name}, not {register}"
            raise SettingError(f"{text}: each register needs a file of its own")


# --- Runs ----------------------------------------------------------------------------


def utc_text(moment: datetime) -> str:
    """A moment as the database has it, such as 2026-01-31T03:00:00Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now(days_ago: int = 0) -> str:
    return utc_text(datetime.now(UTC) - timedelta(days=days_ago))


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


def record_dead_run(database: Path, reason: str, last_run: int | None = None) -> None:
    """Record a run that died, or that failed before it began: none is newer than `last_run`, if
    that is given. Nothing while another run holds the lock."""
    with run_lock(database) as locked, open_database(database, busy_seconds=5) as db:
        if locked:
            with transaction(db):
                record_killed_runs(db)
                db.execute(
                    "INSERT INTO run (started, ended, outcome, reason)"
                    " SELECT :now, :now, 'failed', :reason"
                    " WHERE NOT EXISTS (SELECT 1 FROM run WHERE id > :last_run)",  # never > NULL
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
        values |= {"cards": reading.card_count, "listed": reading.listed, "matched": matched}
        values["unreadable"] = len(reading.unreadable)
    columns = ", ".join(f"{name} = :{name}" for name in values)
    sql = f"UPDATE run SET {columns} WHERE id = :run AND outcome = 'running'"  # noqa: S608
    db.execute(sql, {**values, "run": run})
