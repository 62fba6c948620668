"""A register that misbehaves over real HTTP: each run ends within the limits of time and memory,
with the old list in place or the good records stored."""

import gzip
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

import pytest

import scrape.paging
import scrape.reading
import sync
from conftest import FIGURES, Figure
from scrape.fetch import PAGE_SECONDS, ROBOTS_BYTES
from support import ROOT
from support.register import Listed, Register, Run, child_environ, slugs, sync_command
from support.web import Answer, Web

pytestmark = pytest.mark.slow

TWELVE = slugs(12)  # aa to al: stored before the register turns hostile
LIST, FILE = "/lista?n=1", "/file/aa"
HTML = (("Content-Type", "text/html; charset=utf-8"),)
Hostile = Callable[[Register], None]


# --- How a register may misbehave: each changes the pages of one that lists TWELVE ---


def answers(
    path: str, answer: Answer | Callable[[BaseHTTPRequestHandler], Answer | None]
) -> Hostile:
    def turn_hostile(register: Register) -> None:
        register.web.pages[path] = answer

    return turn_hostile


def redirects(path: str, to: str) -> Hostile:
    return answers(path, Answer(302, headers=(("Location", to),)))


def edits(path: str, old: str, new: str) -> Hostile:
    return lambda register: register.web.edit(path, old, new)


def says_it_is(path: str, kind: str) -> Hostile:
    """The page as it is, with another Content-Type."""

    def turn_hostile(register: Register) -> None:
        page = register.web.pages[path]
        assert isinstance(page, Answer)
        register.web.pages[path] = page._replace(headers=(("Content-Type", kind),))

    return turn_hostile


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    with suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            handler.wfile.write(b"<p>more" * 10_000)


def drips(text: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """Sends `text`, then a byte each tenth of a second, for longer than a page has."""

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        with suppress(OSError):
            handler.wfile.write(text)
            for _ in range(2000):
                handler.wfile.write(b"a")
                handler.wfile.flush()
                time.sleep(0.1)

    return drip


def zips(path: str, times: int) -> Hostile:
    """The page is 100 MB of "a", compressed `times` times."""

    def turn_hostile(register: Register) -> None:
        body = b"a" * 100_000_000
        for _ in range(times):
            body = gzip.compress(body, compresslevel=1)
        coding = ("Content-Encoding", ", ".join(["gzip"] * times))
        register.web.pages[path] = Answer(body=body, headers=(*HTML, coding))

    return turn_hostile


def robots(text: str) -> Hostile:
    return lambda register: register.web.put("/robots.txt", text)


def cookies(count: int, size: int) -> Hostile:
    """Both pages set `count` cookies of `size` bytes each."""

    def turn_hostile(register: Register) -> None:
        register.publish(TWELVE, per_page=6)
        for n in (1, 2):
            page = register.web.pages[f"/lista?n={n}"]
            assert isinstance(page, Answer)
            set_them = tuple(("Set-Cookie", f"c{n}_{i}={'a' * size}") for i in range(count))
            register.web.pages[f"/lista?n={n}"] = page._replace(headers=HTML + set_them)

    return turn_hostile


def backtracks(register: Register) -> None:
    text = register.profile.read_text()
    way = r"""{ file = "p", pattern = '(?:(?:a|a)+)+\d' }, { file = "p", label = "Lugar" }"""
    register.profile.write_text(text.replace('{ file = "p", label = "Lugar" }', way))
    register.web.edit(FILE, "Lugar: ", "Lugar: " + "a" * 60)


LIST_FAILS = "list page 1 cannot be read: "
FILE_FAILS = "file page: "
A = "Aa Inventado Prueba"
OLD = {person.nombre for person in TWELVE}
OK = b"HTTP/1.1 200 OK\r\n\r\n"


class Case(NamedTuple):
    """A way to be hostile, what the run prints then, and whether it is refused."""

    hostile: Hostile
    printed: str
    refused: bool = False


QUICK = {
    "endless list": Case(answers(LIST, endless), LIST_FAILS + "more than 10 MB", True),
    "endless file": Case(answers(FILE, endless), FILE_FAILS + "more than 10 MB"),
    "gzip bomb": Case(zips(FILE, 1), FILE_FAILS + "more than 10 MB"),
    "gzip bomb in a gzip bomb": Case(zips(FILE, 2), FILE_FAILS + "more than 10 MB"),
    "list leads off": Case(redirects(LIST, "http://a.example/"), "off the register's hosts", True),
    "file leads off": Case(redirects(FILE, "http://a.example/"), "off the register's hosts"),
    "to a file": Case(
        redirects(FILE, "file:///etc/passwd"), "to something that is not a web address"
    ),
    "link-local": Case(redirects(FILE, "http://169.254.169.254/"), "off the register's hosts"),
    "another port": Case(redirects(FILE, "http://127.0.0.1:22/"), "off the register's hosts"),
    "to itself": Case(redirects(FILE, FILE), "more than 5 redirects"),
    "next in a circle": Case(
        edits("/lista?n=2", "</ul>", f"</ul><a class=next href='{LIST}'>más</a>"),
        "next link of list page 2 leads to an earlier page",
        True,
    ),
    "link to another host": Case(
        edits(LIST, "'/file/aa'", "'https://a.example/file/aa'"),
        "url: no link to the register's hosts",
    ),
    "javascript link": Case(
        edits(LIST, "'/file/aa'", "'javascript:alert(1)'"),
        "url: no link to the register's hosts",
    ),
    "data link": Case(
        edits(LIST, "'/file/aa'", "'data:text/html,x'"),
        "url: no link to the register's hosts",
    ),
    "javascript photo": Case(edits(FILE, "/fotos/aa.jpg", "javascript:alert(1)"), "0 unreadable"),
    "data photo": Case(edits(FILE, "/fotos/aa.jpg", "data:image/gif;base64,R0"), "0 unreadable"),
    "long photo": Case(edits(FILE, "/fotos/aa.jpg", "/" + "a" * 1_000_000), "0 unreadable"),
    "an image for a list": Case(
        answers(
            LIST, Answer(body=b"\x89PNG\r\n\x1a\n" * 99, headers=(("Content-Type", "image/png"),))
        ),
        "nobody is listed",
        True,
    ),
    "called an image": Case(
        says_it_is(FILE, "image/png"),
        "0 unreadable",
    ),
    "wrong charset": Case(
        says_it_is(LIST, "text/html; charset=utf-16"),
        "nobody is listed",
        True,
    ),
    "unknown charset": Case(
        says_it_is(LIST, "text/html; charset=klingon"),
        "0 unreadable",
    ),
    "cookies": Case(cookies(20, 100), "0 unreadable"),
    "200 KB of cookies": Case(cookies(50, 4000), "list page 2 cannot be read: HTTP 431", True),
    "500 headers": Case(
        answers(FILE, Answer(headers=tuple((f"X-{n}", "a") for n in range(500)))),
        "(ConnectionError)",
    ),
    "markup in a name": Case(
        edits(LIST, A, "Aa <b onclick=x>Inventado</b> &lt;script&gt;Prueba"), "0 unreadable"
    ),
    "control characters": Case(edits(LIST, A, "Aa\x08 Inven\x1btado Pru&#7;eba"), "0 unreadable"),
    "right to left": Case(edits(LIST, A, "Aa \u202eInventado\u202c Prueba\u200f"), "0 unreadable"),
    "1 MB name": Case(edits(LIST, A, "A" * 1_000_000), "nombre: malformed"),
    "1 MB of spaces": Case(edits(FILE, "Fecha: ", "Fecha: " + " 1" * 500_000), "fecha: malformed"),
    "future": Case(edits(FILE, "01/02/2024", "01/02/2999"), "fecha: malformed"),
    "robots.txt forbids": Case(robots("User-agent: *\nDisallow: /"), "robots.txt forbids", True),
    "robots.txt of 11 MB": Case(robots("#" * 11_000_000), "robots.txt: more than 10 MB", True),
    "robots.txt that forbids after 500 KB": Case(
        robots("#" * ROBOTS_BYTES + "\nUser-agent: *\nDisallow: /"), "0 unreadable"
    ),
    "robots.txt that backtracks": Case(
        robots("User-agent: *\nDisallow: /" + "*a" * 3000 + "*b$\n"), "0 unreadable"
    ),
    "3,000 nested tags": Case(edits(FILE, "<p>", "<div>" * 3_000 + "<p>"), "0 unreadable"),
    "10 MB of text": Case(edits(FILE, "<p>", "x" * 9_900_000 + "<p>"), "0 unreadable"),
    "robots.txt of 9 MB": Case(robots("Disallow: /x\n" * 700_000), "0 unreadable"),
}
# What takes as long as a page may take.
ENDLESS = {
    "slow list": Case(answers(LIST, drips(OK)), LIST_FAILS + "took more than", True),
    "slow file": Case(answers(FILE, drips(OK)), FILE_FAILS + "took more than"),
    "slow header": Case(
        answers(FILE, drips(b"HTTP/1.1 200 OK\r\nX: ")), FILE_FAILS + "took more than"
    ),
    "robots.txt drips": Case(answers("/robots.txt", drips(OK)), "robots.txt: took more than", True),
    "100,000 attributes": Case(
        edits(FILE, "<p>", "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">"),
        FILE_FAILS + "took more than",
    ),
    "100,000 nested tags": Case(
        edits(FILE, "<p>", "<div>" * 100_000 + "<p>"), FILE_FAILS + "took more than"
    ),
    "a pattern without end": Case(backtracks, "record: took more than"),
}


# --- Runs ----------------------------------------------------------------------------

# Runs a command, and prints how much memory it took.
MEASURED = """\
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)"""
# sync.py with another limit of memory.
LIMITED = """\
import os, sys, sync
sync.MEMORY = int(sys.argv.pop())
sync.limit_memory()
sys.exit(sync.main(sys.argv[1:], os.environ))"""


class Hurt(NamedTuple):
    """What a hostile register did to a run, and to the list."""

    status: int
    printed: str
    seconds: float
    megabytes: float  # 0 where the run was no process of its own
    outcome: str
    names: set[str]
    addresses: set[str]
    found: int


def run_process(register: Register, memory: int = sync.MEMORY) -> tuple[Run, float]:
    """sync.py as a process, with a limit of `memory`; and how many MB it took."""
    command = sync_command(register.profile, register.database)
    if memory != sync.MEMORY:
        command = [sys.executable, "-c", LIMITED, *command[2:], str(memory)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        cwd=ROOT,
        env=child_environ(),
        capture_output=True,
        text=True,
    )
    *printed, kilobytes = done.stdout.splitlines()
    return Run(done.returncode, "\n".join(printed), done.stderr), int(kilobytes) / 1024


def hostile_run(register: Register, as_process: bool, memory: int = sync.MEMORY) -> Hurt:
    began = time.monotonic()
    run, megabytes = run_process(register, memory) if as_process else (register.sync(), 0.0)
    seconds = time.monotonic() - began
    stored = register.api().get("/api/personas?limit=100")["personas"]
    return Hurt(
        run.returncode,
        run.stderr + run.stdout,
        seconds,
        megabytes,
        register.last_run()["outcome"],
        {person["nombre"] for person in stored},
        {person[field] for person in stored for field in ("foto", "url")},
        register.stats()["found"],
    )


def turned_hostile(case: Case, web: Web, folder: Path) -> Register:
    register = Register(web, folder)
    register.publish(TWELVE)
    assert register.sync().returncode == 0
    case.hostile(register)
    return register


def check(case: Case, hurt: Hurt) -> None:
    assert case.printed in hurt.printed
    assert hurt.status == (1 if case.refused else 0), hurt.printed
    assert hurt.outcome == ("refused" if case.refused else "ok")
    assert hurt.names == OLD
    assert all(re.fullmatch("https://[!-~]{1,2000}", address) for address in hurt.addresses)
    assert hurt.found == 0
    assert hurt.megabytes * 2**20 < sync.MEMORY


@pytest.fixture(scope="module")
def hurts() -> Iterator[dict[str, list[Hurt]]]:
    """What the tests add here by kind becomes a figure for each kind."""
    kinds: dict[str, list[Hurt]] = defaultdict(list)
    yield kinds
    for kind, some in kinds.items():
        seconds = max(hurt.seconds for hurt in some)
        megabytes = max(hurt.megabytes for hurt in some)
        memory = f" and {megabytes:.0f} MB" if megabytes else ""
        FIGURES.append(f"{kind}: {len(some)} ways, at most {seconds:.1f} s{memory}")


@pytest.mark.parametrize("name", QUICK)
def test_a_hostile_register_costs_a_record_or_a_run(
    web: Web, tmp_path: Path, hurts: dict[str, list[Hurt]], full: bool, name: str
) -> None:
    hurt = hostile_run(turned_hostile(QUICK[name], web, tmp_path), as_process=full)
    check(QUICK[name], hurt)
    hurts["hostile registers"].append(hurt)


@pytest.fixture(scope="module")
def long_runs(tmp_path_factory: pytest.TempPathFactory, full: bool) -> Iterator[dict[str, Hurt]]:
    """With --full, the runs of ENDLESS: processes, all at once."""
    cases = ENDLESS if full else {}
    webs = {name: Web() for name in cases}
    registers = {
        name: turned_hostile(case, webs[name], tmp_path_factory.mktemp("long"))
        for name, case in cases.items()
    }
    with ThreadPoolExecutor(len(cases) or 1) as pool:
        hurts = pool.map(lambda register: hostile_run(register, True), registers.values())
        yield dict(zip(cases, hurts, strict=True))
    for server in webs.values():
        server.close()


@pytest.mark.parametrize("name", ENDLESS)
def test_a_page_without_end_costs_the_time_of_a_page(
    web: Web,
    tmp_path: Path,
    long_runs: dict[str, Hurt],
    hurts: dict[str, list[Hurt]],
    full: bool,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """A page has 60 s; without --full half a second, in this process."""
    if full:
        hurt = long_runs[name]
    else:
        register = turned_hostile(ENDLESS[name], web, tmp_path)
        for module in (scrape.paging, scrape.reading):
            monkeypatch.setattr(module, "PAGE_SECONDS", 0.5)
        hurt = hostile_run(register, as_process=False)
    check(ENDLESS[name], hurt)
    assert hurt.seconds >= (PAGE_SECONDS if full else 0.5)
    hurts["hostile registers without end"].append(hurt)


def test_a_page_that_needs_too_much_memory_costs_a_record(
    web: Web, tmp_path: Path, figure: Figure, full: bool
) -> None:
    """A run has 768 MB; without --full 150, and the page is smaller."""
    memory, tags = (sync.MEMORY, 2_400_000) if full else (150 * 2**20, 400_000)
    case = Case(edits(FILE, "<p>", "<p>x" * tags + "<p>"), FILE_FAILS)
    register = turned_hostile(case, web, tmp_path)
    check(case, hurt := hostile_run(register, as_process=True, memory=memory))
    figure(f"{4 * tags / 1e6:.0f} MB of tags: {hurt.seconds:.1f} s, {hurt.megabytes:.0f} MB")


def test_a_long_list_is_stored(register: Register, figure: Figure, full: bool) -> None:
    cards = 10_000 if full else 1_000
    register.publish([Listed(f"p{n}") for n in range(cards)], per_page=cards)
    run, megabytes = run_process(register)
    assert (
        f"{cards} listed, {cards} added, 0 found, 0 moved, 0 unreadable, {cards} active"
        in run.stdout
    )
    assert megabytes * 2**20 < sync.MEMORY
    figure(f"a register of {cards:,} cards: {megabytes:.0f} MB, stored")
