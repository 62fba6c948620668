"""A register that misbehaves over real HTTP: each run ends within the limits of time and memory,
with the old list in place or the good records stored."""

import gzip
import io
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import (
    Answer,
    Figure,
    Listed,
    Register,
    Web,
    child_environ,
    slugs,
    sync_command,
)

import fetch
import sync

pytestmark = pytest.mark.slow

TWELVE = slugs(12)  # aa to al: stored before the register turns hostile
LIST, FILE = "/lista?n=1", "/file/aa"
HTML = (("Content-Type", "text/html; charset=utf-8"),)
MEASURED = (
    "import resource, subprocess, sys; status = subprocess.call(sys.argv[1:]);"
    " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)"
)


class Run(NamedTuple):
    status: int
    said: str
    seconds: float
    megabytes: float
    names: set[str]
    addresses: set[str]
    outcome: str
    found: int


def hostile_run(register: Register) -> Run:
    """sync.py with what it took, and the list behind it."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *sync_command(register.profile, register.database)],
        env=child_environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    *said, kilobytes = done.stdout.splitlines()
    stored = register.api().get("/api/personas?limit=100").json["personas"]
    return Run(
        done.returncode,
        done.stderr + "\n".join(said),
        seconds,
        int(kilobytes) / 1024,
        {person["nombre"] for person in stored},
        {person[field] for person in stored for field in ("foto", "url")},
        register.last_run()["outcome"],
        register.stats()["found"],
    )


# --- How a register may misbehave: each changes the pages of a register that lists TWELVE --------


def answers(path: str, answer: Answer | Callable[[BaseHTTPRequestHandler], Answer | None]):
    def turn_hostile(register: Register) -> None:
        register.web.pages[path] = answer

    return turn_hostile


def redirects(path: str, to: str):
    return answers(path, Answer(302, headers=(("Location", to),)))


def edits(path: str, old: str, new: str):
    return lambda register: register.web.edit(path, old, new)


def says_it_is(path: str, kind: str):
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


def zipped(times: int) -> Answer:
    """100 MB of "a", compressed `times` times."""
    body = b"a" * 100_000_000
    for _ in range(times):
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
            file.write(body)
        body = packed.getvalue()
    return Answer(body=body, headers=(*HTML, ("Content-Encoding", ", ".join(["gzip"] * times))))


def robots(text: str):
    return lambda register: register.web.put("/robots.txt", text)


def cookies(count: int, size: int):
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


def ten_thousand(register: Register) -> None:
    register.publish([*TWELVE, *(Listed(f"p{n}") for n in range(9_988))], per_page=10_000)


LIST_FAILS = "list page 1 cannot be had: "
FILE_FAILS = "file page: "
A = "Aa Inventado Prueba"
OLD = {person.nombre for person in TWELVE}


class Case(NamedTuple):
    hostile: Callable[[Register], None]
    said: str
    refused: bool = False


QUICK = {
    "endless list": Case(answers(LIST, endless), LIST_FAILS + "more than 10 MB", True),
    "endless file": Case(answers(FILE, endless), FILE_FAILS + "more than 10 MB"),
    "gzip bomb": Case(answers(FILE, zipped(1)), FILE_FAILS + "more than 10 MB"),
    "gzip bomb in a gzip bomb": Case(answers(FILE, zipped(2)), FILE_FAILS + "more than 10 MB"),
    "list leads off": Case(redirects(LIST, "http://a.example/"), "off the register's hosts", True),
    "file leads off": Case(redirects(FILE, "http://a.example/"), "off the register's hosts"),
    "to a file": Case(redirects(FILE, "file:///etc/passwd"), "to what is no web address"),
    "link-local": Case(redirects(FILE, "http://169.254.169.254/"), "off the register's hosts"),
    "another port": Case(redirects(FILE, "http://127.0.0.1:22/"), "off the register's hosts"),
    "to itself": Case(redirects(FILE, FILE), "more than 5 redirects"),
    "next in a circle": Case(
        edits("/lista?n=2", "</ul>", f"</ul><a class=next href='{LIST}'>más</a>"),
        "12 listed, 0 added",
    ),
    "link to another host": Case(
        edits(LIST, "'/file/aa'", "'https://a.example/file/aa'"), "url: missing or malformed"
    ),
    "javascript link": Case(
        edits(LIST, "'/file/aa'", "'javascript:alert(1)'"), "url: missing or malformed"
    ),
    "data link": Case(edits(LIST, "'/file/aa'", "'data:text/html,x'"), "url: missing or malformed"),
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
    "200 KB of cookies": Case(cookies(50, 4000), "list page 2 cannot be had: HTTP 431", True),
    "500 headers": Case(
        answers(FILE, Answer(headers=tuple((f"X-{n}", "a") for n in range(500)))),
        "file page: ConnectionError",
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
    "robots.txt that forbids behind 500 KB": Case(
        robots("#" * fetch.ROBOTS_BYTES + "\nUser-agent: *\nDisallow: /"), "0 unreadable"
    ),
    "robots.txt of 9 MB": Case(robots("Disallow: /x\n" * 700_000), "0 unreadable"),
}
# Each takes a minute, and all run at once.
LONG = {
    "slow list": Case(
        answers(LIST, drips(b"HTTP/1.1 200 OK\r\n\r\n")), LIST_FAILS + "took more than 60 s", True
    ),
    "slow file": Case(
        answers(FILE, drips(b"HTTP/1.1 200 OK\r\n\r\n")), FILE_FAILS + "took more than 60 s"
    ),
    "slow header": Case(
        answers(FILE, drips(b"HTTP/1.1 200 OK\r\nX: ")), FILE_FAILS + "took more than 60 s"
    ),
    "robots.txt drips": Case(
        answers("/robots.txt", drips(b"HTTP/1.1 200 OK\r\n\r\n")),
        "robots.txt: took more than 60 s",
        True,
    ),
    "robots.txt backtracks": Case(
        robots("User-agent: *\nDisallow: /" + "*a" * 3000 + "*b$\n"), "0 unreadable"
    ),
    "100 KB of nested tags": Case(edits(FILE, "<p>", "<div>" * 20_000 + "<p>"), FILE_FAILS),
    "100,000 attributes": Case(
        edits(FILE, "<p>", "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">"),
        FILE_FAILS + "took more than 60 s",
    ),
    "10 MB of tags": Case(edits(FILE, "<p>", "<p>x" * 2_400_000 + "<p>"), FILE_FAILS),
    "10 MB of text": Case(edits(FILE, "<p>", "x" * 9_900_000 + "<p>"), "0 unreadable"),
    "a pattern without end": Case(backtracks, "record: took more than 60 s"),
}


def turned_hostile(case: Case, web: Web, folder: Path) -> Register:
    register = Register(web, folder)
    register.publish(TWELVE)
    assert register.sync().returncode == 0
    case.hostile(register)
    return register


def check(case: Case, run: Run) -> None:
    assert case.said in run.said
    assert run.status == (1 if case.refused else 0), run.said
    assert run.outcome == ("refused" if case.refused else "ok")
    assert run.names == OLD
    assert all(re.fullmatch("https://[!-~]{1,2000}", address) for address in run.addresses)
    assert run.found == 0
    assert run.megabytes * 2**20 < sync.MEMORY


@pytest.mark.parametrize("name", QUICK)
def test_a_hostile_register_costs_a_record_or_a_run(
    web: Web, tmp_path: Path, figure: Figure, name: str
) -> None:
    run = hostile_run(turned_hostile(QUICK[name], web, tmp_path))
    check(QUICK[name], run)
    figure(f"hostile register, {name}: {run.seconds:.1f} s, {run.megabytes:.0f} MB, {run.outcome}")


@pytest.fixture(scope="module")
def long_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """All of LONG at once, each with a register of its own."""
    webs = {name: Web() for name in LONG}
    runs: dict[str, Run] = {}

    def one(name: str) -> None:
        folder = tmp_path_factory.mktemp("long")
        runs[name] = hostile_run(turned_hostile(LONG[name], webs[name], folder))

    threads = [threading.Thread(target=one, args=[name]) for name in LONG]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield runs
    for web in webs.values():
        web.close()


@pytest.mark.parametrize("name", LONG)
def test_a_register_without_end_costs_a_page_s_time(
    long_runs: dict[str, Run], figure: Figure, name: str
) -> None:
    run = long_runs[name]
    check(LONG[name], run)
    assert run.seconds < fetch.PAGE_SECONDS + 60
    figure(f"hostile register, {name}: {run.seconds:.1f} s, {run.megabytes:.0f} MB, {run.outcome}")


def test_ten_thousand_cards(register: Register, figure: Figure) -> None:
    ten_thousand(register)
    run = hostile_run(register)
    assert "10000 listed, 10000 added, 0 found, 0 unreadable, 10000 active" in run.said
    assert run.megabytes * 2**20 < sync.MEMORY
    figure(f"hostile register, 10,000 cards: {run.seconds:.1f} s, {run.megabytes:.0f} MB, stored")
