"""Open a database, name its faults, lock runs.

SQLite is the truth at each request: no list is kept in a process. An error of SQLite leaves this
file as DatabaseUnavailable; what it becomes in HTTP or on a terminal is its caller's matter.
"""

import fcntl
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from model import SettingError

SCHEMA = Path(__file__).parents[1] / "schema.sql"
SCHEMA_VERSION = 3  # as schema.sql sets it
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

log = logging.getLogger("persona404.store")


class DatabaseUnavailable(Exception):
    """SQLite cannot read or write just now.

    `str()` is for the log; `reason`, without a path or SQLite's own words, may be shown to
    anybody; `passing` says whether the fault may be gone in a moment, without hands; `damaged`,
    whether the file itself is at fault."""

    def __init__(self, error: Exception):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code
        self.reason = REASONS.get(code, "see the log")
        self.passing = code in PASSING
        self.damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
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
    database gets the tables of schema.sql. DatabaseUnavailable for whatever SQLite cannot do in
    the block, and for a database of another schema version."""
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
        make_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def make_tables(db: sqlite3.Connection) -> None:
    """Make the tables of schema.sql in a new database. DatabaseUnavailable for one of another
    version. It holds who is hidden, so nobody is told to remove it."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 0:  # if another program is doing it too, the second one changes nothing
        db.executescript(f"BEGIN IMMEDIATE; {SCHEMA.read_text('utf-8')} COMMIT;")
    elif version != SCHEMA_VERSION:
        text = f"its schema has version {version}, and this program reads version {SCHEMA_VERSION}"
        raise DatabaseUnavailable(ValueError(f"{text}: run the program that wrote it"))


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
    done = False
    with suppress(sqlite3.Error):
        db.execute("PRAGMA busy_timeout = 1000")
        done = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    db.execute(f"PRAGMA busy_timeout = {before}")
    if not done:
        log.warning(
            "removed data are still on the disk, in the write-ahead log: a reader holds the"
            " old list, or the disk is full. The next run erases them"
        )


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


@contextmanager
def open_register(path: Path, register: str) -> Iterator[sqlite3.Connection]:
    """As open_database(), patiently. SettingError where the file holds another register."""
    with open_database(path, busy_seconds=60) as db:
        check_register(db, register)
        yield db


@contextmanager
def peek_register(path: Path, register: str) -> Iterator[sqlite3.Connection]:
    """As open_register(), but the file and its folder stay as they are."""
    is_new = not path.exists() or path.stat().st_size == 0
    # Not mode=ro, which would leave a -wal and a -shm file.
    name = ":memory:" if is_new else f"{path.as_uri()}?mode=rw"
    with faults_named(), closing(sqlite3.connect(name, uri=not is_new)) as db:
        if not is_new:
            db.execute("PRAGMA query_only = ON")
        make_tables(db)
        check_register(db, register)
        yield db


def check_register(db: sqlite3.Connection, register: str) -> None:
    """SettingError where the database holds another register's persons: they would all be taken
    for found."""
    sql = "SELECT id FROM person UNION ALL SELECT id FROM found UNION ALL SELECT id FROM hidden"
    for (id,) in db.execute(sql):
        name = id.partition("-")[0]
        if name != register:
            text = f"DATABASE: it holds the register {name}, not {register}"
            raise SettingError(f"{text}: each register needs a file of its own")


def utc_text(moment: datetime) -> str:
    """A moment as the database has it, such as 2026-01-31T03:00:00Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_now(days_ago: int = 0) -> str:
    return utc_text(datetime.now(UTC) - timedelta(days=days_ago))
