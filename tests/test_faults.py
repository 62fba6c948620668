"""What breaks around the programs: kills, a full disk, a lock, damage, a wrong clock. The list
stays whole, acknowledged views are kept, and all goes on by itself once the cause is gone."""

import contextlib
import http.client
import itertools
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import Figure
from model import Reading
from serve import nightly
from serve.nightly import NotNow, Synchroniser
from store.database import empty_wal, open_database
from store.hidden import marks_of
from support import ROOT, STAFF_KEY, missing
from support.api import Api, fill, made_up
from support.client import Client
from support.register import Register, child_environ, slugs, sync_command
from support.service import Service, demo_profile, wait_until
from support.web import Web
from test_alerts import Operator, hide_one

pytestmark = pytest.mark.slow

TWELVE = slugs(12)
DAMAGED = "its file is damaged; restore a backup (docs/operating.md)"
Start = Callable[..., Service]


def is_intact(database: Path) -> bool:
    return select(database, "PRAGMA integrity_check") == [("ok",)]


def select(database: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute(sql).fetchall()


def views_on(database: Path, site: str) -> int:
    return sum(
        views for (views,) in select(database, f"SELECT views FROM site WHERE host = '{site}'")
    )


def track(site: str, person: str = "prueba-1") -> str:
    return f"/api/track?e=view&p={person}&d={site}"


# --- A swap --------------------------------------------------------------------------

# sync.py whose reading is in a file: what is killed is its swap, a moment of each run.
WITH_READING = """\
import logging, os, pickle, sys
import sync
path = sys.argv.pop()
sync.read_register = lambda *_: pickle.load(open(path, "rb"))
sync.set_up_process(logging.INFO)
sys.exit(sync.main(sys.argv[1:], os.environ))
"""


class Swaps:
    """Swaps by sync.py between two lists, in a database of its own. The lists share most ids, but
    no row: a mix of both shows."""

    def __init__(self, folder: Path, size: int):
        self.database = folder / "prueba.db"
        self.profile = demo_profile(folder)
        self.lists = {"Alfa": range(size), "Beta": range(size // 4, size + size // 5)}
        # Of each list: its length, and how many of the other one are found then (none at first).
        self.states = {
            ("Alfa", size, 0),
            ("Alfa", size, size // 5),
            ("Beta", len(self.lists["Beta"]), size // 4),
        }
        self.readings = {mark: folder / f"{mark}.pickle" for mark in self.lists}
        for mark, path in self.readings.items():
            persons = [
                made_up(n)._replace(nombre=f"Persona {n} Inventada {mark}")
                for n in self.lists[mark]
            ]
            by_id = {person.id: person for person in persons}
            reading = Reading(by_id, seen=set(by_id), card_count=len(by_id), page_count=1)
            path.write_bytes(pickle.dumps(reading))

    def begin(self, mark: str, **environ: str) -> "subprocess.Popen[str]":
        """Start a run, and wait until its swap begins."""
        command = sync_command(self.profile, self.database, str(self.readings[mark]))
        process = subprocess.Popen(
            [command[0], "-c", WITH_READING, *command[2:]],
            cwd=ROOT,
            env=child_environ(**environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        assert any("compare:" in line for line in process.stderr)
        return process

    def finish(self, mark: str, **environ: str) -> float:
        """A whole run; the seconds from its swap's beginning to its commit."""
        with self.begin(mark, **environ) as process:
            began = time.monotonic()
            assert process.stderr is not None
            assert any("serve:" in line for line in process.stderr)
            seconds = time.monotonic() - began
            process.communicate()
        assert process.returncode == 0
        return seconds

    def kill(self, mark: str, after: float) -> None:
        with self.begin(mark) as process:
            time.sleep(after)
            process.kill()

    def state(self) -> tuple[str, int, int]:
        """The mark that all persons bear, how many there are, how many are found."""
        marks = select(
            self.database, "SELECT DISTINCT substr(nombre, -4), count(*) OVER () FROM person"
        )
        assert len({mark for mark, _ in marks}) == 1
        ((found,),) = select(self.database, "SELECT count(*) FROM found")
        return (*marks[0], found)


class ListReader(Client):
    """Reads the list in three ways; notes what no list, or not the one in `only`, can give."""

    def __init__(self, port: int, swaps: Swaps):
        super().__init__(port)
        self.swaps = swaps
        self.only: str | None = None  # the mark of the list, from its commit to the next swap
        self.wrong: list[object] = []

    def turn(self) -> None:
        only = self.only
        pages = len(self.swaps.lists["Beta"]) // 100
        page = self.ask(f"/api/personas?limit=100&page={1 + self.sent % pages}").json
        stats = self.ask("/api/stats").json
        drawn = self.ask("/api/persona-random").json
        marks = {person["nombre"][-4:] for person in page["personas"]}
        sizes = {(size, found) for _, size, found in self.swaps.states}
        right = (
            len(marks) == 1
            and page["total"] == len(self.swaps.lists[min(marks)])
            and (stats["active"], stats["found"]) in sizes
            and drawn["nombre"][-4:] in self.swaps.lists
        )
        if only is not None and only == self.only:
            right = right and marks == {only} == {drawn["nombre"][-4:]}
        if not right:
            self.wrong.append((only, page["total"], marks, stats, drawn))
        self.stopped.wait(0.005)  # leave the swaps a CPU


def test_a_killed_swap_leaves_the_old_list_or_the_new_one(
    tmp_path: Path, service: Start, figure: Figure, full: bool
) -> None:
    kills, size = (100, 20_000) if full else (10, 4_000)
    swaps = Swaps(tmp_path, size)
    swaps.finish("Alfa")
    settings = {"REGISTER": str(swaps.profile), "DATABASE": str(swaps.database), "SYNC_AT": "off"}
    running = service(**settings).serving()
    reader = ListReader(running.port, swaps)
    visitor = Client(running.port, track("a.example", f"prueba-{size // 2}"))  # on both lists
    reader.start()
    visitor.start()
    length = max(swaps.finish(mark) for mark in ("Beta", "Alfa"))
    before, became = swaps.state(), Counter[str]()
    for number in range(kills):
        reader.only = None
        swaps.kill("Beta" if before[0] == "Alfa" else "Alfa", after=1.5 * length * number / kills)
        assert is_intact(swaps.database)
        state = swaps.state()
        assert state in swaps.states
        became["old" if state == before else "new"] += 1
        mark = list(swaps.lists)[number // 2 % 2]
        swaps.finish(mark)  # the next run works
        before = swaps.state()
        assert before[0] == mark
        reader.only, sent = mark, reader.sent
        wait_until(lambda sent=sent: reader.sent > sent + 6)
    reader.stop()
    visitor.stop()
    running.stop()
    assert reader.wrong == []
    assert set(reader.statuses) == set(visitor.statuses) == {200}
    assert views_on(swaps.database, "a.example") == visitor.sent
    assert min(became["old"], became["new"]) >= kills // 20
    figure(
        f"kill -9 of sync.py in a swap of {size:,}: {kills}, then {became['old']} times the old"
        f" list, {became['new']} times the new one, 0 mixed, 0 damaged"
    )
    figure(
        f"meanwhile, through {2 * kills} swaps: {reader.statuses.total()} reads, 0 of a mix or of a"
        f" list that was replaced; {visitor.sent} views acknowledged, 0 lost"
    )


class Witness(Client):
    """Asks for one path; notes the persons that were removed before it asked."""

    def __init__(self, port: int, path: str, removed: list[str]):
        super().__init__(port, path)
        self.removed = removed
        self.wrong: list[str] = []

    def turn(self) -> None:
        removed = list(self.removed)
        text = self.ask(self.path).body.decode()
        self.wrong += [id for id in removed if f'"{id}"' in text]


def test_a_removed_person_is_not_served_after_the_commit(
    tmp_path: Path, database: Path, service: Start, figure: Figure, full: bool
) -> None:
    persons = [made_up(n) for n in range(220 if full else 60)]
    fill(database, persons)
    settings = {"REGISTER": str(demo_profile(tmp_path)), "DATABASE": str(database)}
    running = service(**settings, SYNC_AT="off").serving()
    paths = [
        "/api/persona-random",
        "/api/persona-random?region=x",
        "/api/personas?limit=100",
        "/api/personas?limit=100&region=nandubay%20ficticio",
    ]
    removed: list[str] = []
    witnesses = [Witness(running.port, path, removed) for path in paths]
    for witness in witnesses:
        witness.start()
    while len(persons) > 20:
        person = persons.pop()
        fill(database, persons)
        removed.append(person.id)
        for witness in witnesses:  # it asks once more at least
            wait_until(lambda one=witness, sent=witness.sent: one.sent > sent + 1)
    for witness in witnesses:
        witness.stop()
    assert [witness.wrong for witness in witnesses] == [[]] * 4
    assert {status for witness in witnesses for status in witness.statuses} == {200}
    figure(
        f"{len(removed)} persons removed one after the other:"
        f" {sum(len(one.times) for one in witnesses)} requests, 0 show one who was removed before"
    )


def test_a_swap_leaves_nothing_in_the_temporary_folder(tmp_path: Path) -> None:
    swaps = Swaps(tmp_path, 20_000)  # the second one removes 5,000
    folder = tmp_path / "temporary"
    folder.mkdir()
    before = folder.stat().st_mtime_ns  # SQLite unlinks its files at once, which changes it too
    for mark in ("Alfa", "Beta"):
        swaps.finish(mark, SQLITE_TMPDIR=str(folder), TMPDIR=str(folder))
        with open_database(swaps.database, 60) as db:  # photos of overflow pages, all of them
            db.execute(
                "INSERT INTO photo SELECT id, nombre, fecha, foto, 1, id,"
                " CAST(printf('%.*c', 9000, 'x') AS BLOB) FROM person WHERE true"
                " ON CONFLICT DO NOTHING"
            )
    assert folder.stat().st_mtime_ns == before


# --- A hide by the panel -------------------------------------------------------------


class Hides:
    """A database of `size` persons, as new again before each hide of the one in the middle."""

    def __init__(self, database: Path, size: int):
        self.database, self.size = database, size
        self.id = f"prueba-{size // 2}"
        fill(database, [made_up(n) for n in range(size)])
        self.new = database.read_bytes()

    def renew(self) -> None:
        for end in ("-wal", "-shm"):  # nobody has it open
            Path(f"{self.database}{end}").unlink(missing_ok=True)
        self.database.write_bytes(self.new)

    def state(self) -> str:
        """ "listed" or "hidden"; neither where it is half done."""
        one = f"WHERE id = '{self.id}'"
        seen = select(
            self.database,
            f"SELECT (SELECT count(*) FROM person {one}), (SELECT count(*) FROM person),"
            f" (SELECT max(position) FROM person), (SELECT count(*) FROM hidden {one}),"
            f" (SELECT count(*) FROM hidden_mark {one}), (SELECT count(*) FROM hidden_mark)",
        )
        size, marks = self.size, len(marks_of(b"", made_up(self.size // 2), has_own_photo=True))
        known = {
            (1, size, size, 0, 0, 0): "listed",
            (0, size - 1, size - 1, 1, marks, marks): "hidden",
        }
        return known.get(*seen, f"half done: {seen}")


def ask_to_hide(running: Service, id: str) -> int:
    """The status; 0 where the connection ended without an answer."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return running.ask(f"/api/personas/{id}/hide", "POST", X_API_Key=STAFF_KEY).status
    return 0


def test_a_kill_during_a_hide_leaves_all_or_nothing(
    tmp_path: Path, database: Path, service: Start, figure: Figure, full: bool
) -> None:
    kills, hides = (100 if full else 10), Hides(database, 5_000)
    profile = str(demo_profile(tmp_path))
    became, unknown, length = Counter[str](), 0, 0.0
    for number in range(-1, kills):
        hides.renew()
        running = service(
            REGISTER=profile, DATABASE=str(database), SYNC_AT="off", STAFF_KEY=STAFF_KEY
        ).serving()
        assert hides.state() == "listed"
        with ThreadPoolExecutor(1) as pool:
            began = time.monotonic()
            answer = pool.submit(ask_to_hide, running, hides.id)
            if number < 0:  # the first one measures how long a hide takes
                assert answer.result() == 200
                length = time.monotonic() - began
            time.sleep(1.5 * length * max(0, number) / kills)
            running.process.kill()
            status = answer.result()
        running.process.wait()
        state = hides.state()
        assert is_intact(database)
        assert state in (["hidden"] if status == 200 else ["listed", "hidden"])
        unknown += (status, state) == (0, "hidden")
        became[state] += number >= 0
    assert min(became["listed"], became["hidden"]) >= kills // 20
    figure(
        f"kill -9 of app.py in a hide by the panel: {kills}, then {became['listed']} times none of"
        f" it is done, {became['hidden']} times all ({unknown} before the answer), 0 times a part"
    )


# --- The end of the service ----------------------------------------------------------

Rounds = Callable[[int], Iterator[tuple[Service, str, list[Client]]]]


@pytest.fixture
def rounds(tmp_path: Path, database: Path, service: Start) -> Rounds:
    """Starts a service again and again; each time four clients send views of a site for a while."""
    fill(database, [made_up(n) for n in range(300)])
    settings = {"REGISTER": str(demo_profile(tmp_path)), "DATABASE": str(database)}

    def start(count: int) -> Iterator[tuple[Service, str, list[Client]]]:
        for number in range(count):
            running = service(**settings, SYNC_AT="off").serving()
            site = f"sitio-{number}.example"
            visitors = [Client(running.port, track(site)) for _ in range(4)]
            for visitor in visitors:
                visitor.start()
            time.sleep(1.6 + number % 10 / 10)  # the load goes on so long
            yield running, site, visitors

    return start


def answered(visitors: list[Client]) -> list[float]:
    return sorted(itertools.chain.from_iterable(visitor.times for visitor in visitors))


def test_a_kill_loses_the_last_second_of_views(
    rounds: Rounds, database: Path, figure: Figure, full: bool
) -> None:
    kills = 100 if full else 5
    acknowledged = lost = 0
    oldest = 0.0
    for running, site, visitors in rounds(kills):
        killed = time.monotonic()
        running.process.kill()
        for visitor in visitors:
            visitor.join()
        assert is_intact(database)
        counted, times = views_on(database, site), answered(visitors)
        assert counted >= sum(moment < killed - 1.5 for moment in times)
        assert counted <= sum(visitor.sent for visitor in visitors)
        acknowledged += len(times)
        lost += max(0, len(times) - counted)
        oldest = max([oldest, *(killed - moment for moment in times[counted:])])
    assert select(database, "SELECT count(*) FROM person") == [(300,)]
    figure(
        f"kill -9 of app.py under load: {kills}, {acknowledged} views acknowledged, {lost} lost,"
        f" none older than {oldest:.1f} s; 0 databases damaged"
    )


def test_sigterm_loses_no_view(rounds: Rounds, database: Path, figure: Figure, full: bool) -> None:
    stops = 20 if full else 2
    acknowledged = 0
    for running, site, visitors in rounds(stops):
        assert running.stop() == 0
        for visitor in visitors:
            visitor.join()
        counted, times = views_on(database, site), answered(visitors)
        assert len(times) <= counted <= sum(visitor.sent for visitor in visitors)
        acknowledged += len(times)
    figure(f"SIGTERM under load: {stops}, {acknowledged} views acknowledged, 0 lost")


# --- A child that hangs --------------------------------------------------------------


def test_a_stopped_child_is_killed_and_the_next_one_starts(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    register.publish(TWELVE)
    for name, value in child_environ(
        REGISTER=str(register.profile), DATABASE=str(register.database)
    ).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(nightly, "TRIGGER_SECONDS", 0)
    synchroniser = Synchroniser(register.database)
    with monkeypatch.context() as patch:
        patch.setattr(nightly, "CHILD_SECONDS", 0.5)
        synchroniser.trigger()
        assert synchroniser.child is not None
        synchroniser.child.send_signal(signal.SIGSTOP)
        wait_until(lambda: select(register.database, "SELECT 1 FROM run WHERE ended > ''") != [])
    assert synchroniser.child.returncode == -signal.SIGKILL
    assert register.last_run()["outcome"] in ("failed", "killed")  # before or after its beginning
    wait_until(lambda: has_started(synchroniser))
    wait_until(lambda: register.last_run()["outcome"] == "ok")
    synchroniser.stop()


def has_started(synchroniser: Synchroniser) -> bool:
    try:
        synchroniser.trigger()
    except NotNow:  # the end of the last one is being recorded
        return False
    return True


# --- A full disk ---------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder that is a file system of 2 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "persona404", str(folder)], capture_output=True
    )
    if mounted.returncode:
        missing("the right to mount a small disk (root)")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(folder: Path, leave: int) -> Path:
    """Write until nothing more fits, then give `leave` bytes back."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(ballast, ballast.stat().st_size - leave)
    return ballast


@pytest.mark.parametrize("leave", [0, 65536], ids=["full", "full in mid-swap"])
def test_a_full_disk_keeps_list_and_views_and_passes(
    register: Register, small_disk: Path, service: Start, leave: int
) -> None:
    register.database = small_disk / "prueba.db"
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    ballast = fill_disk(small_disk, leave)
    register.publish([*TWELVE, *(TWELVE[0]._replace(slug=f"nueva{n}") for n in range(200))])
    failed = register.sync()
    assert failed.returncode == 1
    assert "(the disk is full" in failed.stderr
    assert ("compare:" in failed.stderr) == (leave > 0)  # whether it came to its swap
    assert running.ask("/api/stats").json["active"] == 12
    fill_disk(small_disk, 0)
    assert running.ask(track("a.example", register.id("aa"))).status == 200
    running.wait_for("(the disk is full")
    wait_until(lambda: running.ask("/health").status == 503)
    health = running.ask("/health")
    assert "just now: the disk is full" in health.json["detail"]
    assert health.json["tracking"].startswith("views wait in memory: the disk is full")
    assert running.ask("/api/persona-random").status == 200

    ballast.unlink()
    wait_until(lambda: running.ask("/health").status == 200)
    assert running.ask("/api/stats").json["views"] == 1
    assert register.sync().returncode == 0
    assert running.ask("/api/stats").json["active"] == 212


@pytest.mark.parametrize("leave", [0, 65536], ids=["full", "full in the middle"])
def test_a_full_disk_hides_nobody_and_says_what_to_do(small_disk: Path, leave: int) -> None:
    hides = Hides(small_disk / "prueba.db", 1_000)
    api = Api(hides.database, staff_key=STAFF_KEY)
    assert api.get("/api/stats")["active"] == 1_000
    path, key = f"/api/personas/{hides.id}/hide", {"X_API_Key": STAFF_KEY}
    ballast = fill_disk(small_disk, leave)
    for _ in range(2):
        reply = api.ask(path, "POST", **key)
        assert reply.status == 503
        assert reply.json["detail"] == (
            "Nobody was hidden: the disk is full. If it is urgent, stop the service."
        )
        assert hides.state() == "listed"
        assert api.get(f"/api/personas/{hides.id}")["id"] == hides.id
    ballast.unlink()
    assert api.ask(path, "POST", **key).status == 200
    assert (hides.state(), is_intact(hides.database)) == ("hidden", True)


def test_a_full_disk_has_no_hide_told_twice(web: Web, small_disk: Path) -> None:
    database = small_disk / "prueba.db"
    fill(database, [])
    operator = Operator(web, database)
    operator.hears()
    told = hide_one(operator, 7, "panel")
    with open_database(database, 5) as db:
        empty_wal(db)
    ballast = fill_disk(small_disk, 0)
    assert operator.hears() + operator.hears() == [told]
    assert select(database, "SELECT told FROM hidden") == [(0,)]
    ballast.unlink()
    assert operator.hears() == []
    assert select(database, "SELECT told FROM hidden") == [(1,)]


def test_a_full_disk_at_the_start_is_one_line(
    register: Register, small_disk: Path, service: Start
) -> None:
    register.database = small_disk / "prueba.db"
    fill_disk(small_disk, 0)
    stopped = service()
    stopped.wait_for("(the disk is full")
    assert stopped.process.wait(30) == 1  # systemd tries again


# --- A folder that may not be written ------------------------------------------------


def as_owner_only() -> list[str]:
    """What makes root mind a file's mode as others must."""
    if os.geteuid():
        return []
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


@pytest.mark.parametrize("program", ["sync.py", "app.py"])
def test_a_folder_that_may_not_be_written_is_one_line(register: Register, program: str) -> None:
    register.publish(TWELVE)
    register.sync()
    folder = register.database.parent
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    settings = {"REGISTER": str(register.profile), "DATABASE": str(register.database)}
    done = subprocess.run(
        [*as_owner_only(), sys.executable, str(ROOT / program)],
        env=child_environ(**settings, PORT="0"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    folder.chmod(0o755)
    assert done.returncode == 2
    assert f"DATABASE: {register.database}" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(register.names()) == 12


def test_health_says_what_keeps_the_clock_from_starting(register: Register, service: Start) -> None:
    """Such as a lock file of root's, after a run by hand as root."""
    lock = Path(f"{register.database}.lock")
    lock.mkdir()  # which root cannot open as a file either
    running = service().serving()
    running.wait_for(f"{lock}: Is a directory")
    health = running.ask("/health")
    assert health.status == 503
    assert "cannot start" in health.json["detail"]


# --- A lock --------------------------------------------------------------------------


def test_a_locked_database_stops_no_read_and_loses_no_view(
    register: Register, service: Start, figure: Figure, full: bool
) -> None:
    seconds = 60 if full else 5
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    readers = [Client(running.port, "/api/persona-random") for _ in range(2)]
    visitors = [Client(running.port, track("a.example", register.id("aa"))) for _ in range(6)]
    with closing(sqlite3.connect(register.database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        unlock = time.monotonic() + seconds
        for client in readers + visitors:
            client.start()
        running.wait_for("database is locked")
        wait_until(lambda: running.ask("/health").status == 503)
        health = running.ask("/health").json
        time.sleep(max(0.0, unlock - 4 - time.monotonic()))
        waiting = register.start_sync()
        time.sleep(max(0.0, unlock - time.monotonic()))  # the lock lasts so long
        for client in readers + visitors:
            client.stop()
        db.execute("ROLLBACK")
    out, _ = waiting.communicate()
    running.stop()
    assert health["active"] == 12
    assert health["detail"].endswith("another program holds its lock.")
    assert "12 active" in out
    acknowledged = sum(visitor.statuses[200] for visitor in visitors)
    assert {status for client in readers + visitors for status in client.statuses} == {200}
    assert views_on(register.database, "a.example") == acknowledged
    assert sum("database is locked" in line for line in running.log) == 1
    reads = sorted(itertools.chain.from_iterable(reader.seconds for reader in readers))
    figure(
        f"database locked for {seconds} s: {len(reads)} draws answered, p99"
        f" {1000 * reads[len(reads) * 99 // 100]:.1f} ms; {acknowledged} views acknowledged, 0 lost"
    )


# --- Damage --------------------------------------------------------------------------


def damage(database: Path, pages: range) -> None:
    with database.open("r+b") as file:
        for page in pages:
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)


def back_up(register: Register) -> Path:
    backup = register.database.with_suffix(".backup")
    with closing(sqlite3.connect(register.database)) as db:
        db.execute("VACUUM INTO ?", [str(backup)])
    return backup


def restore(backup: Path, database: Path) -> None:
    """As docs/operating.md says, the service being stopped."""
    for end in ("-wal", "-shm"):
        Path(f"{database}{end}").unlink(missing_ok=True)
    backup.rename(database)


@pytest.mark.parametrize(
    ("first", "fault"),
    [(0, "file is not a database"), (1, "database disk image is malformed")],
    ids=["all", "all but the header"],
)
def test_a_damaged_file_is_reported_and_a_backup_restores_it(
    register: Register, service: Start, first: int, fault: str
) -> None:
    register.publish(TWELVE)
    register.sync()
    backup = back_up(register)
    damage(register.database, range(first, register.database.stat().st_size // 4096))
    failed = register.sync()
    assert failed.returncode == 1
    assert fault in failed.stderr
    stopped = service()
    stopped.wait_for(fault)
    assert stopped.process.wait(30) == 2
    api = register.api()
    for path in ("/api/persona-random", "/api/personas", "/api/stats", "/health"):
        assert api.get(path, status=503)["detail"].endswith(DAMAGED + ".")
    restore(backup, register.database)
    assert register.restarted_api().get("/health")["active"] == 12
    assert register.sync().returncode == 0


def test_damaged_views_stop_no_read(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    backup = back_up(register)
    sql = "SELECT rootpage FROM sqlite_master WHERE name = 'site_day'"
    ((page,),) = select(register.database, sql)
    damage(register.database, range(page - 1, page))
    api = register.api()
    api.get(track("a.example", register.id("aa")))
    api.views.flush()
    health = api.get("/health", status=503)
    assert (health["active"], health["detail"].endswith(DAMAGED + ".")) == (12, True)
    assert "nombre" in api.get("/api/persona-random")
    restore(backup, register.database)
    api = register.restarted_api()
    api.get(track("a.example", register.id("aa")))
    api.views.flush()
    assert api.get("/api/stats")["views"] == 1


# --- The clock -----------------------------------------------------------------------


def test_a_clock_that_was_set_back_a_day_is_reported_and_passes(
    register: Register, service: Start
) -> None:
    """What a service finds then: its last synchronisation is dated in the future."""
    register.publish(TWELVE)
    register.sync()
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with closing(sqlite3.connect(register.database)) as db, db:
        db.execute("UPDATE run SET started = :t, ended = :t", {"t": tomorrow})
    health = register.api().get("/health", status=503)
    assert health["detail"].endswith("is dated in the future: was the clock wrong?")
    running = service().serving()
    running.wait_for("is dated in the future: was the clock wrong?")
    running.wait_for("12 active")
    assert running.ask("/health").status == 200
