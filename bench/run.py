"""Measure the service beside its peers on this machine, and print the tables of README.md here.

    python bench/run.py [--rounds 12] [--seconds 1]

Everything runs on loopback: made-up persons in databases below a temporary folder, the service
and its peers as processes, wrk (Debian) as the crowd. What is compared alternates within each
round; the table gives medians over the rounds. CPU time is that of calls of the WSGI application
in this process, without a socket. Peers that are not installed are left out:
FastAPI (`pip install -r bench/requirements.txt`), Express and Fastify (`npm ci --prefix bench`).
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from bottle import Bottle  # noqa: E402

import app  # noqa: E402
from model import Person, person_id  # noqa: E402
from support import api as support  # noqa: E402
from support.nginx import Nginx  # noqa: E402
from support.service import demo_profile, free_port  # noqa: E402
from support.web import Web  # noqa: E402

CONNECTIONS = 16
TRACK = "/api/track?e=view&p={id}&d=www.sitio.example"
AIMS = {  # times the CPU of bare Bottle at most, and the share of raw waitress at least
    "persona-random": (3, 0.7),
    "track": (3.5, 0.6),
    "stats": (4.5, 0.5),
    "personas": (7.5, 0.45),
}
MIX = """
request = function()
  turn = not turn
  return wrk.format("GET", turn and "/api/persona-random" or "{track}")
end
"""


class Measured(NamedTuple):
    """What wrk saw: requests, and how many a second; milliseconds; answers other than 2xx."""

    requests: int
    rate: float
    p50: float
    p99: float
    errors: int


def wrk(url: str, seconds: float, connections: int = CONNECTIONS, script: str = "") -> Measured:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as lua:
        lua.write(script)
        lua.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
        command += ["-s", lua.name] if script else []
        text = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    units = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}

    def latency(percentile: int) -> float:
        number, unit = re.search(rf"\s{percentile}%\s+([0-9.]+)(us|ms|s|m)\b", text).groups()
        return float(number) * units[unit]

    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    rate = float(re.search(r"Requests/sec:\s+([0-9.]+)", text)[1])
    requests = int(re.search(r"(\d+) requests in", text)[1])
    return Measured(requests, rate, latency(50), latency(99), int(errors[1]) if errors else 0)


def person(number: int) -> Person:
    url = f"https://registro.example/file/{number}"
    place = f"Villa Inventada, Provincia Ficticia {number % 25}"
    photo = f"https://registro.example/fotos/{number}.jpg"
    name = f"Persona {number} Inventada"
    return Person(person_id("prueba", url), name, f"{1 + number % 28:02}/02/2024", "12 años",
                  place, photo, url)  # fmt: skip


def fill(database: Path, count: int) -> None:
    support.fill(database, [person(number) for number in range(count)])


@contextmanager
def process(command: list[str], path: str = "/", **environ: str) -> Iterator[tuple[str, int]]:
    """Run a server until it answers; its address and process id. PORT stands for its port."""
    port = str(free_port())
    command = [part.replace("PORT", port) for part in command]
    started = subprocess.Popen(
        command,
        env={**os.environ, "PORT": port, **environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=BENCH,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}{path}")
        yield f"http://127.0.0.1:{port}", started.pid
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def wait_for(url: str) -> bytes:
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            return error.read()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)


def megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


def service(database: Path):
    profile = demo_profile(database.parent)
    command = [sys.executable, str(ROOT / "app.py")]
    settings = {"REGISTER": str(profile), "DATABASE": str(database), "SYNC_AT": "off"}
    return process(command, "/api/stats", **settings)


# --- The table -----------------------------------------------------------------------


def table(folder: Path, rounds: int, seconds: float) -> dict[str, float]:
    """Each server under each load, in turns; medians, and ratios to raw waitress. Returns those
    of the service over 300 persons."""
    small, large = folder / "300.db", folder / "100000.db"
    fill(small, 300)
    fill(large, 100_000)
    track = TRACK.format(id=person(7).id)
    mix = MIX.format(track=track)
    loads = {  # what is asked for, and wrk's script
        "persona-random": ("/api/persona-random", ""),
        "personas": ("/api/personas", ""),
        "stats": ("/api/stats", ""),
        "track": (track, ""),
        "mix": ("/", mix),
    }
    with ExitStack() as stack:
        ours = {"300": stack.enter_context(service(small))}
        ours["100,000"] = stack.enter_context(service(large))
        servers = {
            f"persona404, {count} persons": (one, list(loads)) for count, one in ours.items()
        }
        for name, (path, _) in list(loads.items())[:4]:
            size = str(len(wait_for(ours["300"][0] + path)))
            raw = stack.enter_context(process(raw_command(size, one_cpu=True)))
            servers[f"raw waitress, {size} bytes"] = (raw, [name])
            if name == "persona-random":
                raw = stack.enter_context(process(raw_command(size, one_cpu=False)))
                servers["raw waitress, any CPU"] = (raw, [name])
        for name, command in peers().items():
            peer = process(command, "/api/personas", DATABASE=str(small))
            servers[name] = (stack.enter_context(peer), ["persona-random", "personas"])
        seen: dict[tuple[str, str], list[Measured]] = {}
        for _ in range(rounds):
            for load, (path, script) in loads.items():
                for name, ((address, _), served) in servers.items():
                    if load in served:
                        one = wrk(address + path, seconds, script=script)
                        assert one.errors == 0, (name, load, one)
                        seen.setdefault((load, name), []).append(one)
        memory = {name: megabytes(pid) for name, ((_, pid), _) in servers.items()}
    of_raw: dict[str, float] = {}
    print("| | | requests/s | spread | of raw | p50 ms | p99 ms | MB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (load, name), all_of_it in seen.items():
        raws = [key for key in seen if key[1].startswith("raw") and key[1].endswith("bytes")]
        reference = next((seen[key] for key in raws if key[0] == load), None)
        rate = median(all_of_it, "rate")
        # Of each round, so that what else the machine does slows both alike.
        shares = [
            ours.rate / raw.rate for ours, raw in zip(all_of_it, reference or (), strict=False)
        ]
        ratio = f"{statistics.median(shares):.2f}" if shares else ""
        if shares and name == "persona404, 300 persons":
            of_raw[load] = statistics.median(shares)
        rates = [one.rate for one in all_of_it]
        spread = (max(rates) - min(rates)) / rate
        print(
            f"| {load} | {name} | {rate:,.0f} | {spread:.0%} | {ratio} "
            f"| {median(all_of_it, 'p50'):.2f} | {median(all_of_it, 'p99'):.2f} "
            f"| {memory[name]:.0f} |",
            flush=True,
        )
    return of_raw


def cpu_microseconds(folder: Path, rounds: int = 4, calls: int = 5000) -> dict[str, float]:
    """CPU time of one call of a WSGI application: bare Bottle with a constant body, and the
    service over 300 persons and 1,000 sites. In turns; the best round of each."""
    database = folder / "cpu.db"
    fill(database, 300)
    with closing(sqlite3.connect(database)) as db, db:
        sites = ((f"www.sitio-{number}.example",) for number in range(1000))
        db.executemany("INSERT INTO site (host, first_day, views) VALUES (?, '', 1)", sites)
    service, bare, body = support.Api(database).app, Bottle(), b"x" * 240
    bare.get("/", callback=lambda: body)
    paths = {name: f"/api/{name}" for name in AIMS} | {"track": TRACK.format(id=person(7).id)}
    called = {"bare Bottle": (bare, "/")} | {name: (service, paths[name]) for name in paths}
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, (application, path) in called.items():
            environ = browser_environ(path)
            began = time.process_time()
            for _ in range(calls):
                application(environ.copy(), lambda *answer: None)
            used = (time.process_time() - began) / calls * 1e6
            best[name] = min(used, best.get(name, used))
    return best


def browser_environ(path: str) -> dict[str, object]:
    """What waitress hands on of a browser's request from a site."""
    path, _, query = path.partition("?")
    return {
        "REMOTE_ADDR": "127.0.0.1",
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "personas.example",
        "HTTP_USER_AGENT": "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like "
        "Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
        "HTTP_ACCEPT": "*/*",
        "HTTP_ACCEPT_ENCODING": "gzip, deflate, br",
        "HTTP_ACCEPT_LANGUAGE": "es-AR,es;q=0.9",
        "HTTP_ORIGIN": "https://www.sitio.example",
        "HTTP_REFERER": "https://www.sitio.example/",
        "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "http",
    }


def against_aims(folder: Path, of_raw: dict[str, float]) -> None:
    used = cpu_microseconds(folder)
    bare = used["bare Bottle"]
    print("\n| | µs of CPU | times bare Bottle | at most | of raw waitress | at least |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    print(f"| bare Bottle | {bare:.1f} | 1.0 | | | |")
    for name, (times, share) in AIMS.items():
        print(f"| {name} | {used[name]:.1f} | {used[name] / bare:.1f} | {times} "
              f"| {of_raw[name]:.2f} | {share} |", flush=True)  # fmt: skip


def persons_against_persons(folder: Path, rounds: int, seconds: float) -> None:
    """persona-random over 100,000 persons against 300, in turns."""
    with service(folder / "300.db") as (few, _), service(folder / "100000.db") as (many, _):
        path = "/api/persona-random"
        shares = [
            wrk(many + path, seconds).rate / wrk(few + path, seconds).rate
            for _ in range(2 * rounds)
        ]
    print(f"| persona-random, 100,000 persons against 300 | {statistics.median(shares):.2f} "
          "| at least 0.95 |")  # fmt: skip


def photos(folder: Path, rounds: int, seconds: float) -> None:
    """300 photos of 30 KB: the speed of /foto/ID, and what they add to file and memory."""
    without, kept = folder / "300.db", folder / "photos.db"
    fill(kept, 300)
    people = [person(number) for number in range(300)]
    with closing(sqlite3.connect(kept)) as db, db:
        db.executemany(
            "INSERT INTO photo VALUES (?, ?, ?, ?, 1, '', ?)",
            ((one.id, one.nombre, one.fecha, one.foto, os.urandom(30_000)) for one in people),
        )
    paths = [f"/foto/{one.id}" for one in people]
    raw = process(raw_command("30000", one_cpu=True))
    with service(kept) as (ours, pid), service(without) as (bare_address, bare), raw as (peer, _):
        shares = [
            wrk(ours + paths[turn % 300], seconds).rate / wrk(peer + "/", seconds).rate
            for turn in range(rounds)
        ]
        wrk(bare_address + "/api/persona-random", seconds)
        for path in 10 * paths:
            wait_for(ours + path)
        memory = megabytes(pid) - megabytes(bare)
    added = (kept.stat().st_size - without.stat().st_size) / 1e6
    share = statistics.median(shares)
    print(f"| /foto/ID of 30 KB, of raw waitress | {share:.2f} | at least 0.5 |")
    print(f"| 300 photos of 30 KB | {added:.1f} MB of file, {memory:.1f} MB of memory "
          "| under 15 MB, under 8 MB |")  # fmt: skip


def raw_command(size: str, one_cpu: bool) -> list[str]:
    """raw.py with what app.py tells waitress, and with the headers that it sends."""
    headers = [["Content-Type", "application/json"], ["Cache-Control", "no-store"]]
    settings = {
        "waitress": app.WAITRESS,
        "headers": [*headers, *app.COMMON_HEADERS],
        "one_cpu": one_cpu,
    }
    return [sys.executable, "raw.py", "PORT", size, json.dumps(settings)]


def median(measured: list[Measured], what: str) -> float:
    return statistics.median(getattr(one, what) for one in measured)


def peers() -> dict[str, list[str]]:
    """The commands of the peers that are installed."""
    found = {}
    if find_spec("fastapi") and find_spec("uvicorn"):
        uvicorn = [sys.executable, "-m", "uvicorn", "--no-access-log", "--port", "PORT"]
        found["FastAPI, uvicorn"] = [*uvicorn, "fastapi_peer:api"]
    if shutil.which("node") and (BENCH / "node_modules" / "better-sqlite3").exists():
        found["Express, better-sqlite3"] = ["node", "express_peer.js"]
        found["Fastify, better-sqlite3"] = ["node", "fastify_peer.js"]
    return found


# --- The single figures --------------------------------------------------------------


def busy(database: Path, count: int) -> None:
    """A synchronisation without its network, again and again: parse 5 MB, swap the list."""
    from bs4 import BeautifulSoup

    cards = "<article><h2><a href='/x'>Persona Inventada</a></h2><p>12 años</p></article>"
    page = cards.encode() * (5_000_000 // len(cards.encode()))
    while True:
        BeautifulSoup(page, "html5lib")
        fill(database, count)


def while_swapping(folder: Path, seconds: float, count: int) -> None:
    database = folder / f"swapped-{count}.db"
    fill(database, count)
    with service(database) as (address, _):
        url = address + "/api/persona-random"
        quiet = wrk(url, seconds, connections=2)
        command = [sys.executable, __file__, "--busy", str(database), str(count)]
        with closing_process(subprocess.Popen(command)):
            loud = wrk(url, seconds, connections=2)
    print(f"| p99 while {count:,} are swapped and 5 MB parsed | {loud.p99:.2f} ms, "
          f"quiet {quiet.p99:.2f} ms | at most 5 times, or 20 ms |")  # fmt: skip


def while_locked(folder: Path, seconds: float) -> None:
    database = folder / "locked.db"
    fill(database, 300)
    with (
        service(database) as (address, _),
        closing(sqlite3.connect(database, isolation_level=None)) as db,
    ):
        url = address + "/api/persona-random"
        quiet = wrk(url, seconds, connections=2)
        db.execute("BEGIN IMMEDIATE")
        views = ["wrk", "-t1", "-c8", f"-d{seconds + 5}s", address + TRACK.format(id=person(7).id)]
        with closing_process(subprocess.Popen(views, stdout=subprocess.DEVNULL)):
            loud = wrk(url, seconds, connections=2)
        db.execute("ROLLBACK")
    print(f"| p99 while the database is locked and 8 connections send views | {loud.p99:.2f} ms, "
          f"quiet {quiet.p99:.2f} ms | at most 2 times |")  # fmt: skip


@contextmanager
def closing_process(started: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        started.kill()
        started.wait()


def crowd(folder: Path, rounds: int, seconds: float) -> None:
    """persona-random through nginx on a busy day, beside Fastify by itself."""
    if "Fastify, better-sqlite3" not in peers() or not shutil.which("nginx"):
        return
    databases = [folder / f"crowd-{number}.db" for number in range(3)]
    for database in databases:
        fill(database, 300)
    with ExitStack() as stack:
        ports = [int(stack.enter_context(service(one))[0].rpartition(":")[2]) for one in databases]
        front = stack.enter_context(closing(Nginx(ports, folder / "nginx", busy=True)))
        fastify = process(["node", "fastify_peer.js"], "/api/personas", DATABASE=str(databases[0]))
        peer, _ = stack.enter_context(fastify)
        addresses = [f"https://127.0.0.1:{front.port}", peer]
        seen = [
            [wrk(address + "/api/persona-random", seconds) for address in addresses]
            for _ in range(rounds)
        ]
    through, alone = (median(list(column), "rate") for column in zip(*seen, strict=True))
    print(f"| persona-random through nginx on a busy day, TLS | {through:,.0f} requests/s, "
          f"{through / alone:.2f} of Fastify by itself | at least 1.5 |")  # fmt: skip


def start(folder: Path) -> None:
    database = folder / "start.db"
    fill(database, 300)
    times = []
    for _ in range(5):
        began = time.monotonic()
        with service(database):
            times.append(time.monotonic() - began)
    print(f"| start to first answer | {statistics.median(times):.2f} s | under 1 s |")


def million(folder: Path) -> None:
    database = folder / "million.db"
    fill(database, 300)
    track = TRACK.format(id=person(7).id)
    with service(database) as (address, pid):
        asked, memory = 0.0, []
        while asked < 1_000_000:
            asked += wrk(address, 10, script=MIX.format(track=track)).rate * 10
            memory.append(megabytes(pid))
    half = memory[len(memory) // 2]
    print(f"| resident memory after a million requests | {memory[-1]:.0f} MB, after half of them "
          f"{half:.0f} MB | under 60 MB, not growing |")  # fmt: skip


def synchronisation(folder: Path) -> None:
    """5,000 persons whose list pages tell all, without photos, from a local server that needs no
    pause."""
    web = Web()
    for page in range(100):
        cards = "".join(
            f"<li><a href='/file/{n}'>Persona {n} Inventada</a><b>01/02/2024</b><i>12 años</i>"
            f"<u>Villa Inventada, Ficticia</u><img src='/fotos/{n}.jpg'></li>"
            for n in range(page * 50, page * 50 + 50)
        )
        more = f"<a class=next href='/lista?n={page + 1}'>más</a>" if page < 99 else ""
        web.put(f"/lista?n={page}", f"<ul>{cards}</ul>{more}")
    profile = folder / "lista.toml"
    profile.write_text(
        f'start = "http://{web.host}/lista?n=0"\nnext = "a.next"\ncard = "li"\n'
        'pause = 0\nmax_age = 17\nphotos = false\n[fields]\nurl = [{ card = "a", attr = "href" }]\n'
        'nombre = [{ card = "a" }]\nfecha = [{ card = "b" }]\nedad = [{ card = "i" }]\n'
        'lugar = [{ card = "u" }]\nfoto = [{ card = "img", attr = "src" }]\n'
    )
    command = [sys.executable, str(ROOT / "sync.py"), "--register", str(profile)]
    command += ["--database", str(folder / "lista.db")]
    began = time.monotonic()
    child = subprocess.Popen(
        command, env={**os.environ, "CONTACT": "nadie@registro.example"}, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, used = os.wait4(child.pid, 0)
    took = time.monotonic() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    with closing(child.stdout) as out:
        assert b"5000 listed, 5000 added" in out.read()
    web.close()
    print(f"| synchronisation of 5,000 persons, without photos | {took:.1f} s, "
          f"{used.ru_maxrss / 1024:.0f} MB | under 20 s, under 300 MB |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=1, help="of each measurement")
    parser.add_argument("--busy", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.busy:
        busy(Path(options.busy[0]), int(options.busy[1]))
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    linux = ".".join(platform.release().split(".")[:2])
    print(f"{os.cpu_count()} CPUs, {cpu[1] if cpu else platform.machine()}, Linux {linux}, "
          f"Python {platform.python_version()}, {CONNECTIONS} connections, "
          f"{options.rounds} rounds of {options.seconds} s, medians\n")  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        of_raw = table(folder, options.rounds, options.seconds)
        against_aims(folder, of_raw)
        print("\n| | measured | target |\n| --- | --- | --- |")
        persons_against_persons(folder, options.rounds, options.seconds)
        photos(folder, options.rounds, options.seconds)
        while_swapping(folder, 10, 100_000)
        while_swapping(folder, 10, 5_000)
        while_locked(folder, 10)
        crowd(folder, options.rounds, options.seconds)
        start(folder)
        million(folder)
        synchronisation(folder)


if __name__ == "__main__":
    main()
