"""Measure what a visitor of one VPS gets, beside Fastify and Express; print README.md's table.

    python bench/deployed.py [--rounds 12] [--seconds 1]

Each server runs behind an nginx of its own, with TLS and the same file of deploy/; on a "busy day"
nginx keeps draws. The limits for one address are lifted: wrk has one. What is compared alternates
within each round. Needs wrk, nginx and `npm ci --prefix bench`.
"""

import argparse
import os
import re
import signal
import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from run import TRACK, fill, peers, person, process, service, wrk  # adds the tests' folder

from support.nginx import Nginx
from support.service import wait_until

PEERS = {"Fastify": "Fastify, better-sqlite3", "Express": "Express, better-sqlite3"}
PATHS = {  # the peers count no views
    "persona-random": "/api/persona-random",
    "personas": "/api/personas",
    "stats": "/api/stats",
    "track": TRACK.format(id=person(7).id),
}
AS_A_BROWSER = 'wrk.headers["Accept-Encoding"] = "gzip, deflate, br"'


class Figures(NamedTuple):
    """Requests a second, and the CPU time of a request in microseconds."""

    rate: float
    nginx: float
    server: float

    @property
    def cpu(self) -> float:
        return self.nginx + self.server


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process so far: its threads, its children, and those that ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    used = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return used + sum(map(cpu_seconds, children(pid)))


def lift_limits(front: Nginx, folder: Path) -> None:
    for file in folder.glob("*.conf"):
        file.write_text(re.sub(r"rate=\d+r/s", "rate=1000000r/s", file.read_text()))
    master = front.process.pid
    wait_until(lambda: children(master))  # until it has workers, a signal may end it
    old = set(children(master))
    front.process.send_signal(signal.SIGHUP)
    wait_until(lambda: old.isdisjoint(children(master)))


def measure(front: Nginx, server: int, path: str, seconds: float) -> Figures:
    pids = (front.process.pid, server)
    before = [cpu_seconds(pid) for pid in pids]
    seen = wrk(f"https://127.0.0.1:{front.port}{path}", seconds, script=AS_A_BROWSER)
    assert seen.errors == 0, (path, seen)
    used = [cpu_seconds(pid) - began for pid, began in zip(pids, before, strict=True)]
    return Figures(seen.rate, *(one / seen.requests * 1e6 for one in used))


def rounds_of(folder: Path, rounds: int, seconds: float) -> dict[tuple[str, str], list[Figures]]:
    """What was measured of each path and server, in turns."""
    database = folder / "300.db"
    fill(database, 300)
    with ExitStack() as stack:
        ours = stack.enter_context(service(database))
        servers = {"persona404, plain": ours, "persona404, busy day": ours}
        for name, peer in PEERS.items():
            command = process(peers()[peer], "/api/stats", DATABASE=str(database))
            servers[name] = stack.enter_context(command)
        fronts = {}
        for name, (address, _) in servers.items():
            here, port = folder / f"nginx-{len(fronts)}", int(address.rpartition(":")[2])
            front = Nginx([port], here, busy="busy" in name)
            fronts[name] = stack.enter_context(closing(front))
            lift_limits(fronts[name], here)
        seen: dict[tuple[str, str], list[Figures]] = {}
        for _ in range(rounds):
            for what, path in PATHS.items():
                for name, (_, pid) in servers.items():
                    if what != "track" or name not in PEERS:
                        one = measure(fronts[name], pid, path, seconds)
                        seen.setdefault((what, name), []).append(one)
    return seen


def print_table(seen: dict[tuple[str, str], list[Figures]]) -> None:
    def ratio(what: str, name: str, peer: str, figure: Callable[[Figures], float]) -> str:
        # Of each round, so that what else the machine does slows both alike.
        pairs = zip(seen[what, name], seen.get((what, peer), ()), strict=False)
        ratios = [figure(ours) / figure(theirs) for ours, theirs in pairs]
        return f"{statistics.median(ratios):.2f}" if ratios else ""

    print("| | | requests/s | spread | of Fastify | of Express "
          "| µs of CPU: nginx | server | of Fastify | of Express |")  # fmt: skip
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (what, name), measured in seen.items():
        rates, nginx_cpu, server_cpu = zip(*measured, strict=True)
        rate = statistics.median(rates)
        speed = [ratio(what, name, peer, lambda one: one.rate) for peer in PEERS]
        cpu = [ratio(what, name, peer, lambda one: one.cpu) for peer in PEERS]
        print(
            f"| {what} | {name} | {rate:,.0f} | {(max(rates) - min(rates)) / rate:.0%} "
            f"| {speed[0]} | {speed[1]} | {statistics.median(nginx_cpu):.0f} "
            f"| {statistics.median(server_cpu):.0f} | {cpu[0]} | {cpu[1]} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=1, help="of each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print_table(rounds_of(Path(name), options.rounds, options.seconds))


if __name__ == "__main__":
    main()
