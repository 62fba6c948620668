"""What breaks around the programs: kills, a full disk, a lock, damage, a wrong clock. The list
stays whole, what was acknowledged is kept, and all goes on by itself once the cause is gone."""

import contextlib
import http.client
import itertools
import json
import os
import pickle
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import (
    ROOT,
    Figure,
    Register,
    Service,
    child_environ,
    fill,
    made_up,
    missing,
    prueba_profile,
    slugs,
    sync_command,
    wait_until,
)

from register import Reading

pytestmark = pytest.mark.slow

KILLS = 100
TWELVE = slugs(12)
FULL, LOCKED = "just now: the disk is full", "another program holds its lock"
DAMAGED = "its file is damaged; restore a backup (README)"
Start = Callable[..., Service]


def intact(database: Path) -> bool:
    with closing(sqlite3.connect(database)) as db:
        return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def rows(database: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute(sql).fetchall()


# --- kill -9 -------------------------------------------------------------------------

# Two lists that share most ids, but no row: what is mixed of both shows.
LISTS = {"Alfa": range(20_000), "Beta": range(5_000, 24_000)}
# Of each list: its length, and how many of the other one are found then (none at first).
SIZES = {("Alfa", 20_000, 0), ("Alfa", 20_000, 4_000), ("Beta", 19_000, 5_000)}
# sync.py whose reading is at hand: what is killed is its swap, a moment of each run.
WITH_READING = """\
import pickle, sys
import sync
path = sys.argv.pop()
sync.read_register = lambda *_: pickle.load(open(path, "rb"))
sys.exit(sync.main())
"""


def reading(mark: str) -> Reading:
    people = (made_up(n)._replace(nombre=f"Persona {n} Inventada {mark}") for n in LISTS[mark])
    return Reading(persons={person.id: person for person in people}, pages=1)


class Swaps:
    """Swaps of 20,000 persons by sync.py, one list after the other, in a database of its own."""

    def __init__(self, folder: Path):
        self.database = folder / "prueba.db"
        self.profile = prueba_profile(folder)
        self.readings = {mark: folder / f"{mark}.pickle" for mark in LISTS}
        for mark, path in self.readings.items():
            path.write_bytes(pickle.dumps(reading(mark)))

    def start(self, mark: str) -> subprocess.Popen[str]:
        command = sync_command(self.profile, self.database, str(self.readings[mark]))
        command[1:2] = ["-c", WITH_READING]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=child_environ(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def reach_swap(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        assert any("compare:" in line for line in process.stderr)

    def finish(self, mark: str) -> float:
        """A whole run; the seconds from its swap's beginning to its end."""
        with self.start(mark) as process:
            self.reach_swap(process)
            began = time.monotonic()
            process.stderr.read()
            assert process.wait(60) == 0
        return time.monotonic() - began

    def kill(self, mark: str, after: float) -> None:
        with self.start(mark) as process:
            self.reach_swap(process)
            time.sleep(after)
            process.kill()

    def state(self) -> tuple[str, int, int]:
        """The mark that all persons bear, how many there are, how many are found."""
        marks = rows(
            self.database, "SELECT DISTINCT substr(nombre, -4), count(*) OVER () FROM person"
        )
        assert len({mark for mark, _ in marks}) == 1
        ((found,),) = rows(self.database, "SELECT count(*) FROM found")
        return (*marks[0], found)


class Reader(threading.Thread):
    """Polls a service until it is stopped; notes what it got that no list can give."""

    def __init__(self, port: int):
        super().__init__()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.stopped = threading.Event()
        self.wrong: list[object] = []
        self.count = 0

    def ask(self, path: str) -> Any:
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        self.count += 1
        if answer.status != 200:
            self.wrong.append(body)
        return json.loads(body)

    def run(self) -> None:
        for page in itertools.count(1):
            if self.stopped.wait(0.005):  # leave the swaps a CPU
                break
            got = self.ask(f"/api/personas?limit=100&page={1 + page % 190}")
            marks = {person["nombre"][-4:] for person in got["personas"]}
            if len(marks) != 1 or got["total"] != len(LISTS[marks.pop()]):
                self.wrong.append(got)
            stats = self.ask("/api/stats")
            if not any(stats["active"] == size and stats["found"] == f for _, size, f in SIZES):
                self.wrong.append(stats)
            if self.ask("/api/persona-random")["nombre"][-4:] not in LISTS:
                self.wrong.append("persona-random")
        self.connection.close()


def test_a_swap_that_is_killed_is_whole_or_was_none(
    tmp_path: Path, service: Start, figure: Figure
) -> None:
    swaps = Swaps(tmp_path)
    swaps.finish("Alfa")
    running = service(
        REGISTER=str(swaps.profile), DATABASE=str(swaps.database), SYNC_AT="off"
    ).serving()
    reader = Reader(running.port)
    reader.start()
    length = max(swaps.finish(mark) for mark in ("Beta", "Alfa"))
    draw = random.Random(404)
    was, became = swaps.state(), Counter[str]()
    for _ in range(KILLS):
        other = "Beta" if was[0] == "Alfa" else "Alfa"
        swaps.kill(other, after=draw.uniform(0, 1.2 * length))
        assert intact(swaps.database)
        state = swaps.state()
        assert state in SIZES
        became["the old list" if state == was else "the new list"] += 1
        mark = draw.choice(list(LISTS))
        swaps.finish(mark)  # the next run works
        was = swaps.state()
        assert was[0] == mark
    reader.stopped.set()
    reader.join()
    assert reader.wrong == []
    assert became["the old list"] > 10
    assert became["the new list"] > 10
    figure(
        f"kill -9 of sync.py in a swap of 20,000: {KILLS}, then {became['the old list']} times the"
        f" old list, {became['the new list']} times the new one, 0 mixed, 0 damaged"
    )
    figure(f"reads through {2 * KILLS} swaps, {KILLS} of them killed: {reader.count}, 0 mixed")


class Tracker(threading.Thread):
    """Sends views over one connection until the service is gone; counts what it acknowledged."""

    def __init__(self, port: int, site: str):
        super().__init__()
        self.path = f"/api/track?e=view&p=prueba-1&d={site}"
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.sent = self.acknowledged = 0

    def run(self) -> None:
        with closing(self.connection), contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                self.sent += 1
                self.connection.request("GET", self.path)
                answer = self.connection.getresponse()
                answer.read()
                self.acknowledged += answer.status == 200


def test_a_view_that_was_acknowledged_outlives_a_kill(
    tmp_path: Path, database: Path, service: Start, figure: Figure
) -> None:
    fill(database, [made_up(n) for n in range(300)])
    profile = prueba_profile(tmp_path)
    draw = random.Random(404)
    acknowledged = counted = 0
    for n in range(KILLS):
        running = service(REGISTER=str(profile), DATABASE=str(database), SYNC_AT="off").serving()
        trackers = [Tracker(running.port, f"sitio-{n}.example") for _ in range(4)]
        for tracker in trackers:
            tracker.start()
        time.sleep(draw.uniform(0.05, 0.3))
        running.process.kill()
        for tracker in trackers:
            tracker.join()
        assert intact(database)
        ((views,),) = rows(
            database,
            f"SELECT coalesce(sum(views), 0) FROM view WHERE site = 'sitio-{n}.example'",
        )
        assert sum(tracker.acknowledged for tracker in trackers) <= views
        assert views <= sum(tracker.sent for tracker in trackers)
        acknowledged += sum(tracker.acknowledged for tracker in trackers)
        counted += views
    assert rows(database, "SELECT count(*) FROM person") == [(300,)]
    assert acknowledged > 50 * KILLS
    figure(
        f"kill -9 of app.py under track load: {KILLS}, {acknowledged} views acknowledged,"
        f" {counted} counted, 0 lost, 0 damaged"
    )


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
def test_a_full_disk_keeps_the_list_and_passes(
    register: Register, small_disk: Path, service: Start, leave: int
) -> None:
    register.database = small_disk / "prueba.db"
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    ballast = fill_disk(small_disk, leave)
    register.publish([*TWELVE, *(TWELVE[0]._replace(slug=f"nueva{n}") for n in range(300))])
    failed = register.sync()
    assert failed.returncode == 1
    assert "(the disk is full" in failed.stderr
    assert ("compare:" in failed.stderr) == (leave > 0)  # it is in its swap by then
    assert running.ask("/api/stats").json["active"] == 12
    fill_disk(small_disk, 0)
    track = f"/api/track?e=view&p={register.id('aa')}&d=a.example"
    refused, health = running.ask(track), running.ask("/health")
    assert (refused.status, health.status) == (503, 503)
    assert FULL in refused.json["detail"]
    assert FULL in health.json["detail"]
    assert running.ask("/api/persona-random").status == 200
    running.wait_for("(the disk is full")

    ballast.unlink()
    assert running.ask(track).status == 200
    assert register.sync().returncode == 0
    assert running.ask("/api/stats").json["active"] == 312
    assert running.ask("/health").json["tracking"] == "ok"


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
        timeout=30,
    )
    folder.chmod(0o755)
    assert done.returncode == 2
    assert f"DATABASE: {register.database}" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(register.names()) == 12


def test_what_keeps_the_clock_from_starting_is_told_by_health(
    register: Register, service: Start
) -> None:
    """Such as a lock file of root's, after a run by hand as root."""
    register.publish(TWELVE)
    lock = Path(f"{register.database}.lock")
    lock.mkdir()  # which root cannot open as a file either
    running = service().serving()
    running.wait_for(f"{lock}: Is a directory")
    health = running.ask("/health")
    assert health.status == 503
    assert health.json["detail"].startswith("The clock, which looks each minute, cannot start")


# --- A lock --------------------------------------------------------------------------


def timed(port: int, path: str, until: float, times: list[float], statuses: Counter[int]) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        while time.monotonic() < until:
            began = time.monotonic()
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            times.append(time.monotonic() - began)
            statuses[answer.status] += 1


def test_reads_go_on_while_the_database_is_locked(
    register: Register, service: Start, figure: Figure
) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    track = f"/api/track?e=view&p={register.id('aa')}&d=a.example"
    times: dict[str, list[float]] = {track: [], "/api/persona-random": []}
    statuses = {path: Counter[int]() for path in times}
    with closing(sqlite3.connect(register.database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        until = time.monotonic() + 60
        load = [
            threading.Thread(target=timed, args=[running.port, p, until, times[p], statuses[p]])
            for p in [track] * 6 + ["/api/persona-random"] * 2
        ]
        for thread in load:
            thread.start()
        running.wait_for("database is locked")
        wait_until(lambda: running.ask("/health").status == 503)
        health = running.ask("/health")
        register.publish(TWELVE[1:])
        waiting = subprocess.run(
            sync_command(register.profile, register.database),
            env=child_environ(),
            capture_output=True,
            text=True,
        )
        for thread in load:
            thread.join()
        db.execute("ROLLBACK")
    reads = sorted(times["/api/persona-random"])
    p99 = 1000 * reads[len(reads) * 99 // 100]
    assert set(statuses["/api/persona-random"]) == {200}
    assert set(statuses[track]) == {503}
    assert p99 < 100
    assert (health.status, health.json["active"]) == (503, 12)
    assert health.json["detail"].endswith(LOCKED + ".")
    assert "database is locked" in waiting.stderr
    running.stop()
    assert sum("database is locked" in line for line in running.log) <= 2
    figure(
        f"database locked for 60 s: persona-random p99 {p99:.1f} ms of {len(reads)} answers, while"
        f" {len(times[track])} views were refused"
    )


def test_a_lock_passes(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    track = f"/api/track?e=view&p={register.id('aa')}&d=a.example"
    with closing(sqlite3.connect(register.database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert running.ask(track).json["detail"].endswith(LOCKED + ".")
        assert running.ask("/health").status == 503
        db.execute("ROLLBACK")
    assert running.ask("/health").json["tracking"] == "ok"
    assert running.ask(track).status == 200


# --- Damage --------------------------------------------------------------------------


def damage(database: Path, pages: range) -> None:
    with database.open("r+b") as file:
        for page in pages:
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)


def backed_up(register: Register) -> Path:
    backup = register.database.with_suffix(".backup")
    with closing(sqlite3.connect(register.database)) as db:
        db.execute("VACUUM INTO ?", [str(backup)])
    return backup


def restore(backup: Path, database: Path) -> None:
    """As README says, the service being stopped."""
    for end in ("-wal", "-shm"):
        Path(f"{database}{end}").unlink(missing_ok=True)
    backup.rename(database)


@pytest.mark.parametrize("first", [0, 1], ids=["all", "all but the header"])
def test_a_damaged_file_is_told_and_a_restored_backup_mends_it(
    register: Register, service: Start, first: int
) -> None:
    register.publish(TWELVE)
    register.sync()
    backup = backed_up(register)
    damage(register.database, range(first, register.database.stat().st_size // 4096))
    said = "file is not a database" if first == 0 else "database disk image is malformed"
    failed = register.sync()
    assert (failed.returncode, said in failed.stderr) == (1, True)
    stopped = service()
    stopped.wait_for(said)
    assert stopped.process.wait(30) == 2
    api = register.api()
    for path in ("/api/persona-random", "/api/personas", "/api/stats", "/health"):
        refused = api.get(path, status=503)
        assert refused.content_type == "application/problem+json"
        assert refused.json["detail"].endswith(DAMAGED + ".")
    restore(backup, register.database)
    assert register.api().get("/health").json["active"] == 12
    assert register.sync().returncode == 0


def test_reads_go_on_where_views_are_damaged(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    backup = backed_up(register)
    ((page,),) = rows(register.database, "SELECT rootpage FROM sqlite_master WHERE name = 'view'")
    damage(register.database, range(page - 1, page))
    api = register.api()
    track = f"/api/track?e=view&p={register.id('aa')}&d=a.example"
    assert api.get(track, status=503).json["detail"].endswith(DAMAGED + ".")
    assert api.get("/api/persona-random").status_int == 200
    health = api.get("/health", status=503).json
    assert (health["active"], health["detail"].endswith(DAMAGED + ".")) == (12, True)
    restore(backup, register.database)
    assert register.api().get(track).status_int == 200


# --- The clock -----------------------------------------------------------------------


def test_a_clock_that_was_set_back_a_day_is_told_and_passes(
    register: Register, service: Start
) -> None:
    """What a service finds then: its last synchronisation is to come."""
    register.publish(TWELVE)
    register.sync()
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with closing(sqlite3.connect(register.database)) as db, db:
        db.execute("UPDATE run SET started = :t, ended = :t", {"t": tomorrow})
    health = register.api().get("/health", status=503).json
    assert health["detail"] == "The last synchronisation is to come: was the clock wrong?"
    running = service().serving()
    running.wait_for("the last good synchronisation is to come: was the clock wrong?")
    running.wait_for("12 active")
    assert running.ask("/health").status == 200
