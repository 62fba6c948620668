"""A copy of what no register can give back: no person and no photo.

database --back_up--> copy --restore--> database, without persons until its first good reading

A copy has a table more, `copy`: so it is never taken for a whole database.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from model import SettingError
from store.database import (
    SCHEMA_VERSION,
    DatabaseUnavailable,
    empty_wal,
    open_database,
    open_register,
    utc_now,
)

KEPT = ("hidden", "hidden_mark", "secret", "stamped", "found", "former", "site", "site_day",
        "total", "person_views", "run")  # fmt: skip
ONE_FILE = "PRAGMA main.journal_mode = DELETE"  # nothing is left in a write-ahead log


def back_up(database: Path, register: str, file: Path) -> None:
    """Write the copy `file` while the service may run. SettingError where it exists, or cannot be
    made, or there is no database."""
    if not database.exists():
        raise SettingError(f"DATABASE: {database}: there is none")
    sql = f"CREATE TABLE copy AS SELECT '{register}' AS register, '{utc_now()}' AS made"
    with open_register(database, register), new_file(file) as part:
        with open_database(part, 5) as db:
            copy_tables(db, database, sql)
            db.execute(ONE_FILE)
        check_copy(part, register)
        os.link(part, file)  # never over another file


def restore(database: Path, register: str, file: Path) -> str:
    """Put the copy `file` in place of the database; when it was made. SettingError, before anything
    changes, unless it is a whole one of this register and version. The caller holds the run
    lock."""
    made, database = check_copy(file, register), database.resolve()
    tables = (f"DELETE FROM {table}" for table in ("person", "photo", "unread"))  # noqa: S608
    changes = (*tables, "UPDATE run SET restored = 1")
    if database.exists() and is_readable(database, register):
        with open_register(database, register) as db:  # the service may have it open: no rename
            copy_tables(db, file, *changes)
            empty_wal(db)
        return made
    with new_file(database) as part:
        with open_database(part, 5) as db:
            copy_tables(db, file, *changes)
            db.execute(ONE_FILE)
        for end in ("-wal", "-shm"):  # of a damaged file: SQLite would take them for the new one's
            Path(f"{database}{end}").unlink(missing_ok=True)
        part.replace(database)
    return made


def is_readable(database: Path, register: str) -> bool:
    try:
        with open_register(database, register) as db:
            return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    except DatabaseUnavailable as error:
        if error.damaged:
            return False
        raise


def check_copy(file: Path, register: str) -> str:
    """When a copy was made. SettingError unless it is a whole one of this register and version."""
    try:
        name = f"{file.absolute().as_uri()}?mode=ro&immutable=1"  # leaves no file beside it
        with closing(sqlite3.connect(name, uri=True)) as db:
            of, made = db.execute("SELECT register, made FROM copy").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            is_intact = db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    except sqlite3.Error as error:
        raise SettingError(f"{file}: it is no whole copy made by --backup ({error})") from None
    for what, is_right in (
        (f"of the register {of}, not {register}", of == register),
        (f"of version {version}, not {SCHEMA_VERSION}", version == SCHEMA_VERSION),
        ("damaged", is_intact),
    ):
        if not is_right:
            raise SettingError(f"{file}: this copy is {what}")
    return str(made)


def copy_tables(db: sqlite3.Connection, source: Path, *more: str) -> None:
    """Take the rows of KEPT from `source`, and do `more`, at once. Who is hidden stays hidden."""
    db.execute("ATTACH ? AS source", [str(source)])
    with db:
        db.execute("BEGIN")  # IMMEDIATE would lock `source`, the service's database
        for table in KEPT:
            if not table.startswith("hidden"):
                db.execute(f"DELETE FROM main.{table}")  # noqa: S608
            rows = f"SELECT * FROM source.{table}"  # noqa: S608
            db.execute(f"INSERT OR IGNORE INTO main.{table} {rows}")
        for sql in more:
            db.execute(sql)


@contextmanager
def new_file(file: Path) -> Iterator[Path]:
    """A new file beside `file` for a `with` block, ours alone. SettingError where that fails."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        part.touch(0o600, exist_ok=False)
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise SettingError(f"{file}: {error.strerror}") from None
