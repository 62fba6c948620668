"""The database: opened, locked, and what its faults are called."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from model import SettingError
from store.database import (
    DatabaseUnavailable,
    Reader,
    empty_wal,
    open_database,
    run_lock,
    transaction,
    utc_now,
)
from store.persons import stored_persons
from support import ROOT
from support.api import Api, fill, made_up

SYNCED = utc_now()


def test_programs_that_start_together_make_one_database(database: Path) -> None:
    code = f"from store.database import *; open_database(Path({str(database)!r}), 20).__enter__()"
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4


def test_a_copy_without_wal_gets_it_back(database: Path, tmp_path: Path) -> None:
    fill(database, [made_up(1)])
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(database)) as db:
        db.execute("VACUUM INTO ?", [str(copy)])
    with open_database(copy, 5) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("secure_delete", 1), ("temp_store", 2), ("synchronous", 1), ("journal_mode", "wal")],
)
def test_every_connection_erases_and_spills_nothing(
    database: Path, pragma: str, value: object
) -> None:
    with open_database(database, 5) as db:
        assert db.execute(f"PRAGMA {pragma}").fetchone() == (value,)


def test_a_reader_cannot_write(database: Path) -> None:
    fill(database, [made_up(1)])
    with pytest.raises(DatabaseUnavailable):
        Reader(database).select("DELETE FROM person")


def test_a_reader_recovers(database: Path) -> None:
    fill(database, [made_up(1)])
    reader = Reader(database)
    with pytest.raises(DatabaseUnavailable):
        reader.select("SELECT x FROM nowhere")
    assert len(reader.select("SELECT id FROM person")) == 1


def test_persons_come_back_as_they_were_stored(database: Path) -> None:
    odd = made_up(1)._replace(nombre='Niña "Ñ" \\ \u2028 Inventada', lugar="Güemes, Salta")
    fill(database, [odd])
    with open_database(database, 5) as db:
        assert stored_persons(db) == {odd.id: odd}
    assert tuple(Api(database).get("/api/persona-random").values()) == odd


@pytest.mark.parametrize("version", [1, 99])
def test_a_database_of_another_version_is_left_alone(database: Path, version: int) -> None:
    fill(database, [])
    with closing(sqlite3.connect(database)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(DatabaseUnavailable) as raised:
        Reader(database).select("SELECT 1")
    assert str(raised.value) == (
        f"its schema has version {version}, and this program reads version 3:"
        " run the program that wrote it"
    )


# --- Faults --------------------------------------------------------------------------


def test_a_lock_is_a_passing_fault(database: Path) -> None:
    fill(database, [])
    with (
        open_database(database, 5) as db,
        transaction(db),
        pytest.raises(DatabaseUnavailable) as raised,
        open_database(database, 0) as other,
        transaction(other),
    ):
        pass
    assert (raised.value.reason, raised.value.passing) == ("another program holds its lock", True)
    assert str(raised.value) == "database is locked (another program holds its lock)"


def test_a_file_that_is_no_database_is_left_alone(database: Path) -> None:
    text = b"not a database, but somebody's file " * 50
    database.write_bytes(text)
    with pytest.raises(DatabaseUnavailable) as raised, open_database(database, 5):
        pass
    assert not raised.value.passing
    assert database.read_bytes() == text


def test_a_write_ahead_log_that_cannot_be_emptied_is_told(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(database, [made_up(1)])
    with open_database(database, 5) as reader, open_database(database, 5) as db:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM person").fetchall()
        fill(database, [])
        empty_wal(db)
    assert "removed data are still on the disk" in caplog.text


# --- The lock of a run ---------------------------------------------------------------


def test_one_database_has_one_lock(database: Path, tmp_path: Path) -> None:
    fill(database, [])
    link = tmp_path / "link.db"
    link.symlink_to(database)
    with run_lock(database) as first, run_lock(link) as second:
        assert (first, second) == (True, False)
    with run_lock(link) as again:
        assert again
    assert Path(f"{database}.lock").stat().st_mode & 0o777 == 0o600


def test_a_lock_that_cannot_be_opened_is_named(database: Path) -> None:
    Path(f"{database}.lock").mkdir()
    with pytest.raises(SettingError, match=r"prueba\.db\.lock: Is a directory"), run_lock(database):
        pass
