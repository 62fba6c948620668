"""The database: opened, upgraded, locked, and what its faults are called."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import store
from person import Person
from settings import SettingError
from store import (
    DatabaseUnavailable,
    Reader,
    open_database,
    run_lock,
    stored_persons,
    transaction,
    utc_now,
)
from stored import read_stored
from support import ROOT
from support.api import Api, fill, made_up

SYNCED = utc_now()
SCHEMA_2 = (ROOT / "tests" / "schema-2.sql").read_text()


def test_programs_that_start_together_make_one_database(database: Path) -> None:
    code = f"import store; store.open_database(store.Path({str(database)!r}), 20).__enter__()"
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


# --- Upgrades ------------------------------------------------------------------------


@pytest.fixture
def version_2(database: Path) -> Path:
    """A database as the service before this version left it."""
    days = ("2026-09-01", "2026-09-02")
    views = [
        (days[0], "a.example", "", 5),
        (days[0], "b.example", "prueba-1", 1),
        (days[1], "a.example", "prueba-1", 2),
        (days[1], "a.example", "prueba-2", 3),
    ]
    with closing(sqlite3.connect(database)) as db:
        db.executescript(SCHEMA_2)
        with db:
            db.executemany(
                "INSERT INTO person VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(n, *made_up(n)) for n in (1, 2)],
            )
            db.execute("INSERT INTO found VALUES ('prueba-8')")
            db.execute("INSERT INTO hidden VALUES ('prueba-9')")
            db.executemany("INSERT INTO view VALUES (?, ?, ?, ?)", views)
            db.execute(
                "INSERT INTO run (started, ended, outcome, listed) VALUES"
                f" ('{SYNCED}', '{SYNCED}', 'ok', 2)"
            )
    return database


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_database_is_taken_over(version_2: Path, version: int) -> None:
    if version == 1:
        with closing(sqlite3.connect(version_2)) as db:
            for name in ("added", "changed", "removed"):
                db.execute(f"DROP TRIGGER person_{name}")
            db.execute("DROP TABLE generation")
            db.execute("PRAGMA user_version = 1")
    api = Api(version_2)
    assert api.get("/api/stats") == {
        "active": 2, "found": 1, "sites": 2, "views": 11, "lastSync": SYNCED
    }  # fmt: skip
    listed = api.get("/api/personas?region=nandubay+ficticio")["personas"]
    assert [Person(**person) for person in listed] == [made_up(1), made_up(2)]
    assert api.get("/health")["lastRun"]["listed"] == 2
    with open_database(version_2, 5) as db:
        for sql, rows in {
            "SELECT * FROM hidden": [("prueba-9", 1)],
            "SELECT * FROM hidden_mark": [("prueba-9", "prueba-9")],
            "SELECT host, first_day, views FROM site": [
                ("a.example", "2026-09-01", 10),
                ("b.example", "2026-09-01", 1),
            ],
            "SELECT day, views FROM site_day": [
                ("2026-09-01", 5),
                ("2026-09-01", 1),
                ("2026-09-02", 5),
            ],
            "SELECT * FROM person_views": [("prueba-1", 3), ("prueba-2", 3)],
            "SELECT name FROM sqlite_master WHERE name IN ('view', 'generation')": [],
        }.items():
            assert db.execute(sql).fetchall() == rows


def test_version_3_is_taken_over(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db, db:
        db.executescript((ROOT / "tests" / "schema-3.sql").read_text())
        columns = "position, id, nombre, fecha, edad, lugar, foto, url, region"
        person = [1, *made_up(1), "x"]
        db.execute(f"INSERT INTO person ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", person)
        db.execute("INSERT INTO hidden VALUES ('prueba-9')")
        db.execute("INSERT INTO site VALUES (1, 'a.example', '2026-09-01', 7)")
        sql = "INSERT INTO run (started, ended, outcome, listed) VALUES (?, ?, 'ok', 1)"
        db.execute(sql, [SYNCED, SYNCED])
    assert Api(database).get("/api/stats") == {
        "active": 1, "found": 0, "sites": 1, "views": 7, "lastSync": SYNCED
    }  # fmt: skip
    with open_database(database, 5) as db:
        assert read_stored(db).marks == {"prueba-9": "prueba-9"}


def test_version_4_is_taken_over(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as db:
        for change in (
            "DROP TABLE photo",
            "ALTER TABLE run DROP warnings",
            "PRAGMA user_version = 4",
        ):
            db.execute(change)
    assert Api(filled).get("/api/stats")["active"] == 25
    with open_database(filled, 5) as db:
        assert db.execute("SELECT count(*) FROM photo").fetchall() == [(0,)]


def test_version_5_is_taken_over(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as db:
        for change in ("ALTER TABLE run DROP warnings", "PRAGMA user_version = 5"):
            db.execute(change)
    assert Api(filled).get("/api/stats")["active"] == 25
    with open_database(filled, 5) as db:
        assert db.execute("SELECT warnings FROM run").fetchall() == [("",)]


def test_an_upgrade_that_fails_changes_nothing(
    version_2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_persons", killed)
        with pytest.raises(KeyboardInterrupt):
            store.connect(version_2, 5)
    assert Api(version_2).get("/api/stats")["views"] == 11


def test_a_newer_database_is_refused(database: Path) -> None:
    fill(database, [])
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(DatabaseUnavailable, match="its schema version 99 is newer"):
        Reader(database).select("SELECT 1")


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
        store.empty_wal(db)
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
