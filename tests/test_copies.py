"""sync.py --backup and --restore: what a copy holds, what it never holds, and what stops them."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from conftest import Figure
from store.copies import KEPT
from store.database import open_database, run_lock, transaction
from store.persons import stored_persons
from store.views import utc_day, write_views
from support.api import fill, keep_photo, made_up
from support.client import Client
from support.register import Listed, Register, call_sync, slugs, start_sync
from support.service import Service, wait_until

pytestmark = pytest.mark.no_sockets
TWELVE = slugs(12)  # aa to al
SECRETS = (b"Zoraida", b"zoraida", b"Lugar Inolvidable", b"inolvidable.jpg", b"FOTOSECRETA")


@pytest.fixture
def lived(register: Register) -> Register:
    """A register with a past: aa is hidden, ab was found, ac has a stamp, ad has moved."""
    secret = Listed("zoraida", lugar="Lugar Inolvidable, Salta", foto="/fotos/inolvidable.jpg")
    register.publish([*TWELVE, secret])
    assert register.sync().returncode == 0
    assert register.sync("--hide", register.id("aa")).returncode == 0
    moved = TWELVE[3]._replace(slug="otra", name=TWELVE[3].nombre)
    stamped = TWELVE[2]._replace(stamp="FUE ENCONTRADA")
    register.publish([TWELVE[0], stamped, moved, *TWELVE[4:], secret])
    assert register.sync().returncode == 0
    with open_database(register.database, 5) as db, transaction(db):
        write_views(db, {(utc_day(), "sitio.example", register.id("ae")): 3})
    with open_database(register.database, 5) as db:
        person = stored_persons(db)[register.id("zoraida")]
    keep_photo(register.database, person, b"FOTOSECRETA")
    return register


@pytest.fixture
def copy(lived: Register, tmp_path: Path) -> Path:
    file = tmp_path / "copies" / "copy.db"
    file.parent.mkdir()
    assert lived.sync("--backup", str(file)).returncode == 0
    return file


def rows(database: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as db:
        return sorted(db.execute(f"SELECT * FROM {table}"))


def files(folder: Path) -> dict[str, bytes]:
    kept = (path for path in folder.iterdir() if path.suffix != ".lock")
    return {path.name: path.read_bytes() for path in kept}


# --- What a copy holds -----------------------------------------------------------------


def test_a_copy_holds_what_no_register_can_give_back(lived: Register, copy: Path) -> None:
    assert {path.name for path in copy.parent.iterdir()} == {copy.name}
    assert copy.stat().st_mode & 0o777 == 0o600
    for table in KEPT:
        assert rows(copy, table) == rows(lived.database, table) != []
    assert rows(copy, "person") == rows(copy, "photo") == rows(copy, "unread") == []


def test_no_copy_holds_a_byte_of_a_person(lived: Register, copy: Path) -> None:
    stored = lived.bytes_on_disk()
    assert all(secret in stored for secret in SECRETS)
    data = copy.read_bytes()
    assert [secret for secret in SECRETS if secret in data] == []
    kinds = (
        b"Inventado",
        b"Villa",
        b"Salta",
        b"/file/",
        b"/fotos/",
        b"01/02/2024",
        "12 años".encode(),
    )
    assert all(kind in stored for kind in kinds)
    assert [kind for kind in kinds if kind in data] == []


# --- What stops a copy -------------------------------------------------------------------


def put_file(file: Path) -> None:
    file.write_bytes(b"somebody's")


def put_link(file: Path) -> None:
    file.symlink_to(file.with_name("nowhere"))


@pytest.mark.parametrize(
    ("put", "reason"),
    [
        (put_file, "File exists"),
        (put_link, "File exists"),
        (Path.mkdir, "File exists"),
        (lambda file: file.parent.rmdir(), "No such file or directory"),
        (lambda file: (file.parent.rmdir(), file.parent.touch()), "Not a directory"),
    ],
)
def test_a_copy_is_never_written_over_anything(
    register: Register, tmp_path: Path, put: Callable[[Path], object], reason: str
) -> None:
    fill(register.database, [made_up(1)])
    file = tmp_path / "copies" / "copy.db"
    file.parent.mkdir()
    put(file)
    before = file.parent.is_dir() and sorted(os.lstat(one) for one in file.parent.iterdir())
    refused = register.sync("--backup", str(file))
    assert (refused.returncode, refused.stderr) == (2, f"sync.py: {file}: {reason}\n")
    assert before == (file.parent.is_dir() and sorted(map(os.lstat, file.parent.iterdir())))


def test_a_copy_needs_a_database(register: Register, tmp_path: Path) -> None:
    refused = register.sync("--backup", str(tmp_path / "copy.db"))
    assert (refused.returncode, register.database.exists()) == (2, False)


# --- What stops a restore ----------------------------------------------------------------


def change(sql: str) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(sql)

    return do


def break_a_page(file: Path) -> None:
    data = bytearray(file.read_bytes())
    with closing(sqlite3.connect(file)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'found'").fetchone()
    data[(root - 1) * 4096 : root * 4096] = b"x" * 4096
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:40960])


def make_whole(file: Path) -> None:
    file.unlink()
    fill(file, [made_up(1)])


def make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


BREAKAGES = [
    (change("UPDATE copy SET register = 'otra'"), "this copy is of the register otra, not prueba"),
    (change("PRAGMA user_version = 2"), "this copy is of version 2, not 3"),
    (break_a_page, "it is no whole copy|this copy is damaged"),
    (cut, "it is no whole copy"),
    (make_whole, "it is no whole copy made by --backup .no such table: copy"),
    (lambda file: file.write_bytes(b""), "it is no whole copy"),
    (lambda file: file.write_bytes(b"a text\n" * 999), "it is no whole copy"),
    (Path.unlink, "it is no whole copy"),
    (make_folder, "it is no whole copy"),
]


@pytest.mark.parametrize("is_new", [False, True], ids=["over a database", "where none is"])
@pytest.mark.parametrize(("spoil", "reason"), BREAKAGES)
def test_a_restore_refuses_what_is_no_copy(
    lived: Register, copy: Path, is_new: bool, spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(copy)
    if is_new:
        lived.database.unlink()
    before, copies = files(lived.database.parent), sorted(copy.parent.iterdir())
    refused = lived.sync("--restore", str(copy))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert re.search(f"sync.py: {copy}: ({reason})", refused.stderr), refused.stderr
    assert files(lived.database.parent) == before
    assert sorted(copy.parent.iterdir()) == copies


def test_a_restore_never_replaces_another_register(lived: Register, copy: Path) -> None:
    lived.database.unlink()
    fill(lived.database, [made_up(1)._replace(id="otra-1")])
    before = files(lived.database.parent)
    assert lived.sync("--restore", str(copy)).returncode == 2
    assert files(lived.database.parent) == before


def test_a_restore_waits_for_no_synchronisation(lived: Register, copy: Path) -> None:
    with run_lock(lived.database):
        assert lived.sync("--restore", str(copy)).returncode == 75
    assert lived.stats()["active"] == 10


# --- After a restore ---------------------------------------------------------------------


def is_lost(database: Path) -> None:
    for path in database.parent.iterdir():
        path.unlink()


def is_empty(database: Path) -> None:
    is_lost(database)
    database.touch()


def is_damaged(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'person'").fetchone()
    data = bytearray(database.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = b"x" * 4096
    database.write_bytes(data)


def is_no_database(database: Path) -> None:
    database.write_bytes(b"not a database" * 999)
    Path(f"{database}-wal").write_bytes(b"of another time" * 999)


@pytest.mark.parametrize("happens", [is_lost, is_empty, is_damaged, is_no_database, id])
def test_a_restore_shows_nobody_until_the_first_good_reading(
    lived: Register, copy: Path, happens: Callable[[Path], object]
) -> None:
    happens(lived.database)
    restored = lived.sync("--restore", str(copy))
    assert (restored.returncode, restored.stderr) == (0, "")
    assert "/ Nobody is shown until the first good reading." in restored.stdout
    assert [path.name for path in lived.database.parent.iterdir() if path.suffix == ".part"] == []
    assert all(secret not in lived.bytes_on_disk() for secret in SECRETS)
    api = lived.restarted_api()
    assert api.ask("/health").status == 503
    assert api.ask("/api/persona-random").status == 404
    stats = lived.stats()
    assert (stats["active"], stats["found"], stats["lastSync"]) == (0, 2, None)
    for slug in ("ae", "ab", "zzz"):  # a poster's page must not say that she is no longer listed
        assert api.ask(f"/api/personas/{lived.id(slug)}").status == 503
    assert lived.sync().returncode == 0
    assert lived.sync("--hidden").stdout.split()[0] == lived.id("aa")
    stats = lived.stats()
    assert (stats["active"], stats["found"], stats["views"], stats["sites"]) == (10, 2, 3, 1)
    assert api.ask("/health").status == 200
    assert "aa" not in lived.names() and "ac" not in lived.names()
    assert lived.change("SELECT * FROM person_views") == [(lived.id("ae"), 3)]


def test_an_empty_list_after_a_restore_is_refused(lived: Register, copy: Path) -> None:
    lived.sync("--restore", str(copy))
    lived.publish([])
    assert lived.sync().returncode == 1
    assert lived.api().ask("/health").status == 503


def test_who_left_meanwhile_is_not_counted_and_who_came_back_leaves_the_found(
    lived: Register, copy: Path
) -> None:
    is_lost(lived.database)
    lived.sync("--restore", str(copy))
    lived.publish([TWELVE[1], *TWELVE[6:]])
    assert "7 added, 0 found" in lived.sync().stdout
    assert lived.stats()["found"] == 1  # ac, whose stamp it saw
    assert lived.names() == {"ab", *(p.slug for p in TWELVE[6:])}


def test_a_hidden_child_is_known_by_her_marks_after_a_restore(lived: Register, copy: Path) -> None:
    is_lost(lived.database)
    lived.sync("--restore", str(copy))
    hers = TWELVE[0]._replace(slug="nueva", name=TWELVE[0].nombre, foto="/fotos/nueva.jpg")
    lived.publish([hers, *TWELVE[4:]])
    assert lived.sync().returncode == 0
    assert lived.names() == {p.slug for p in TWELVE[4:]}


def test_who_was_hidden_after_the_copy_stays_so_in_a_database_that_is_whole(
    lived: Register, copy: Path
) -> None:
    lived.sync("--hide", lived.id("ae"))
    lived.sync("--restore", str(copy))
    lived.sync()
    assert lived.names().isdisjoint({"aa", "ae"})


def test_a_service_that_runs_meanwhile_shows_the_restored_list(lived: Register, copy: Path) -> None:
    api = lived.api()
    assert api.get("/api/stats")["active"] == 10
    lived.sync("--restore", str(copy))
    assert api.get("/api/stats")["active"] == 0
    lived.sync()
    assert api.get("/api/stats")["active"] == 10


# --- Kills, and load ---------------------------------------------------------------------


@pytest.fixture
def large(lived: Register) -> Register:
    """With so many views that copying them takes a while."""
    with open_database(lived.database, 5) as db, transaction(db):
        db.execute(
            "WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n LIMIT 100000)"
            " INSERT INTO site_day SELECT date('2020-01-01', format('+%d days', value / 1000)),"
            " value % 1000 + 2, 1 FROM n"
        )
    return lived


class Kills:
    """Kills sync.py at moments spread over the time in which it writes, from when `begun` says."""

    def __init__(self, register: Register, begun: Callable[[], object], count: int):
        self.register, self.begun, self.count = register, begun, count

    def write(self, seconds: float, *options: str) -> tuple[float, int]:
        """How long it wrote, `seconds` at most, and its exit status."""
        with start_sync(self.register.profile, self.register.database, *options) as process:
            wait_until(lambda: self.begun() or process.poll() is not None)
            began = time.monotonic()
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
            process.kill()
        return time.monotonic() - began, process.returncode

    def moments(self, *options: str) -> Iterator[float]:
        whole, status = self.write(60, *options)
        assert status == 0
        return (whole * n / self.count for n in range(self.count))


@pytest.mark.slow
def test_a_killed_backup_leaves_no_copy_or_a_whole_one(
    large: Register, tmp_path: Path, full: bool, figure: Figure
) -> None:
    first, before = tmp_path / "first.db", rows(large.database, "found")
    kills, killed = Kills(large, lambda: any(tmp_path.glob("*.part")), 50 if full else 10), 0
    for n, moment in enumerate(kills.moments("--backup", str(first))):
        file = tmp_path / f"{n}.db"
        killed += kills.write(moment, "--backup", str(file))[1] != 0
        if file.exists():
            assert rows(file, "site_day") == rows(first, "site_day")
        for part in tmp_path.glob("*.part*"):
            part.unlink()
    assert rows(large.database, "found") == before
    assert large.stats()["active"] == 10
    assert killed > 0
    figure(f"{killed} backups killed while they wrote: no copy, or a whole one")


@pytest.mark.slow
@pytest.mark.parametrize("happens", [id, is_damaged], ids=["whole", "damaged"])
def test_a_killed_restore_leaves_the_old_file_or_the_new_one(
    large: Register, tmp_path: Path, full: bool, figure: Figure, happens: Callable[[Path], object]
) -> None:
    copy, old = tmp_path / "copy.db", tmp_path / "old.db"
    large.sync("--backup", str(copy))
    happens(large.database)
    shutil.copy(large.database, old)
    lock = Path(f"{large.database}.lock")
    lock.unlink()
    kills, killed, new = Kills(large, lock.exists, 50 if full else 10), 0, 0
    for moment in kills.moments("--restore", str(copy)):
        is_lost(large.database)
        shutil.copy(old, large.database)
        killed += kills.write(moment, "--restore", str(copy))[1] != 0
        if happens is is_damaged and large.database.read_bytes() == old.read_bytes():
            continue
        with closing(sqlite3.connect(large.database)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (active,) = db.execute("SELECT count(*) FROM person").fetchone()
            (restored,) = db.execute("SELECT count(*) FROM run WHERE restored").fetchone()
        assert (active, restored) in [(10, 0), (0, 2)]
        new += restored > 0
    assert killed > 0
    old = kills.count - new
    figure(f"{kills.count} restores, {killed} killed: {old} left the old file, {new} the new one")


class Visitor(Client):
    """Sees persons on ten sites."""

    def turn(self) -> None:
        self.ask(f"/api/track?e=view&p=prueba-{self.sent % 25 + 1}&d=s{self.sent % 10}.example")


@pytest.mark.slow
def test_a_copy_under_load_is_whole(
    filled: Path, register: Register, service: Callable[..., Service], figure: Figure, full: bool
) -> None:
    register.database = filled
    running = service(DATABASE=str(filled), SYNC_AT="off").serving()
    clients = [Visitor(running.port), *(Client(running.port, "/api/persona-random") for _ in "123")]
    for client in clients:
        client.start()
    wait_until(lambda: running.ask("/api/stats").json["views"] > 0)
    began, count = time.monotonic(), 20 if full else 5
    hidden = random.Random(404).sample(range(1, 26), count)
    for n in hidden:
        call_sync(register.profile, filled, "--hide", f"prueba-{n}")
        file = filled.with_name(f"copy-{n}.db")
        with start_sync(register.profile, filled, "--backup", str(file)) as process:
            assert process.wait(60) == 0
        with closing(sqlite3.connect(file)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            sums = db.execute(
                "SELECT (SELECT sum(views) FROM site), (SELECT sum(views) FROM site_day),"
                " (SELECT sum(views) FROM person_views), (SELECT views FROM total)"
            ).fetchone()
            assert len({*sums}) == 1, sums
            assert (f"prueba-{n}",) in db.execute("SELECT id FROM hidden").fetchall()
    seconds = time.monotonic() - began
    for client in clients:
        client.stop()
    statuses = {status for client in clients for status in client.statuses}
    rate = sum(client.sent for client in clients) / seconds
    assert statuses == {200}
    figure(f"{count} copies under {rate:.0f} requests/s: each whole, no request failed")
