"""Clients that mean harm, over real sockets: of the service itself, and of nginx before it."""

import re
import resource
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from app import WAITRESS
from conftest import Figure
from support import KEY, ROOT, STAFF_KEY, TLS, missing
from support.api import Reply, fill, made_up
from support.nginx import Instances
from support.service import COMMAND, Service, demo_profile, wait_until


@pytest.fixture
def settings(tmp_path: Path, database: Path) -> dict[str, str]:
    """Those of a service over 25 persons."""
    fill(database, [made_up(n) for n in range(1, 26)])
    return {
        "REGISTER": str(demo_profile(tmp_path)),
        "DATABASE": str(database),
        "SYNC_AT": "off",
        "API_KEY": KEY,
        "STAFF_KEY": STAFF_KEY,
    }


@pytest.fixture
def running(settings: dict[str, str]) -> Iterator[Service]:
    one = Service(**settings).serving()
    yield one
    one.kill()


def tls(stack: ExitStack, bare: socket.socket) -> socket.socket:
    context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    return stack.enter_context(closing(context.wrap_socket(bare, server_hostname="127.0.0.1")))


def opened(stack: ExitStack, port: int, count: int, first: bytes = b"") -> list[socket.socket]:
    """`count` connections that have sent `first`."""
    sockets = []
    for _ in range(count):
        connection = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port))))
        connection.sendall(first)
        sockets.append(connection)
    return sockets


# --- Requests that no client library would send ---------------------------------------

TRACK = "/api/track?e=view&p=prueba-1&d=smuggled.example"
HIDDEN = f"GET {TRACK} HTTP/1.1\r\nHost: a.example\r\n\r\n".encode()
POST = b"POST /api/stats HTTP/1.1\r\nHost: a.example\r\n"
GET = b"GET /api/stats HTTP/1.1\r\nHost: a.example\r\n"
LENGTH = b"Content-Length: %d\r\n" % (5 + len(HIDDEN))
CHUNKED = b"Transfer-Encoding: chunked\r\n"
# What a front and a service may read in two ways, so that HIDDEN slips through (RFC 9112, 11.2);
# with the statuses that the service itself answers. It reads a chunked body as such, whatever
# Content-Length says (RFC 9112, 6.3): what follows is the same client's next request.
SMUGGLED: dict[str, tuple[bytes, list[int]]] = {
    "CL.TE": (POST + LENGTH + CHUNKED + b"\r\n0\r\n\r\n" + HIDDEN, [405, 200]),
    "TE.CL": (
        POST
        + b"Content-Length: 4\r\n"
        + CHUNKED
        + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
        [405],
    ),
    "a tab": (
        POST + LENGTH + b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
        [405, 200],
    ),
    "a space": (POST + LENGTH + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HIDDEN, [400]),
    "xchunked": (POST + LENGTH + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN, [501]),
    "two codings": (
        POST + CHUNKED + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n" + HIDDEN,
        [501],
    ),
    "two lengths": (GET + b"Content-Length: 0\r\n" + LENGTH + b"\r\n" + HIDDEN, [400]),
    "a list of lengths": (GET + b"Content-Length: 0, 90\r\n\r\n" + HIDDEN, [400]),
    "a signed length": (GET + b"Content-Length: +90\r\n\r\n" + HIDDEN, [400]),
    "a negative length": (GET + b"Content-Length: -1\r\n\r\n" + HIDDEN, [400]),
    "bare line feeds": ((GET + b"\r\n").replace(b"\r", b"") + HIDDEN, [400]),
    "a bare line feed": (GET + b"X: y\n" + LENGTH + b"\r\n" + HIDDEN, [400]),
    "a bare carriage return": (GET + b"X: y\r" + LENGTH + b"\r\n" + HIDDEN, [400]),
    "a folded line": (GET + b"X: y\r\n " + LENGTH + b"\r\n", [200]),
    "a null byte": (GET + b"X: \0\r\n\r\n" + HIDDEN, [400]),
    "a bad chunk size": (POST + CHUNKED + b"\r\n0x2\r\nab\r\n0\r\n\r\n" + HIDDEN, [400]),
    "a bad chunk extension": (POST + CHUNKED + b"\r\n2;\nab\r\nxy\r\n0\r\n\r\n" + HIDDEN, [400]),
}
NGINX = {  # where nginx does not answer 400
    "a tab": [501],
    "xchunked": [501],
    "a bare line feed": [],  # it ends a line (RFC 9112, 2.2), and HIDDEN is the body
    "bare line feeds": [200, 200],  # so too: two requests
}
ODD: dict[str, tuple[bytes, list[int]]] = {
    "17 KB of header": (GET + b"X: " + b"a" * 17_000 + b"\r\n\r\n", [431]),
    "many headers": (GET + b"X: a\r\n" * 5_000 + b"\r\n", [431]),
    "a long address": (b"GET /?" + b"a" * 17_000 + b" HTTP/1.1\r\n\r\n", [431]),
    "70 KB of body": (POST + b"Content-Length: 70000\r\n\r\n" + b"a" * 70_000, [413]),
    "an endless chunk": (POST + CHUNKED + b"\r\nFFFFFFFF\r\n" + b"a" * 100_000, [413]),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", [400]),
    "a path that is no ASCII": ("GET /ñ HTTP/1.1\r\n\r\n".encode(), [400]),
    "bad escapes": (b"GET /%ff%zz?limit=%ff HTTP/1.1\r\n\r\n", [404]),
    "Expect without a body": (GET + b"Expect: 100-continue\r\n\r\n", [100]),  # see SECURITY.md
    "a tunnel": (b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", [404]),
    "another host": (b"GET http://b.example/api/stats HTTP/1.1\r\n\r\n", [200]),
    "a hundred at once": ((GET + b"\r\n") * 100, [200] * 100),
}


def statuses(connection: socket.socket, sent: bytes, expected: int) -> list[int]:
    """Those of all answers: of the `expected` ones, and of others that come a second later."""
    got: list[int] = []
    data = b""
    with suppress(OSError):  # refused before all was sent: the answer is there
        connection.sendall(sent)
    with suppress(OSError):
        while True:
            connection.settimeout(30 if len(got) < expected else 1)
            part = connection.recv(65536)
            data += part
            got = [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", data)]
            if not part:
                break
    return got


def assert_answers(
    connections: list[socket.socket], cases: dict[str, tuple[bytes, list[int]]]
) -> None:
    """All cases at once, each on a connection of its own."""
    with ThreadPoolExecutor(len(cases)) as pool:
        answered = pool.map(
            lambda connection, case: statuses(connection, case[0], len(case[1])),
            connections,
            cases.values(),
        )
        got = dict(zip(cases, answered, strict=True))
    assert got == {name: expected for name, (_, expected) in cases.items()}


@pytest.mark.slow
def test_odd_requests_are_refused_or_read_as_rfc_9112_says(
    running: Service, figure: Figure
) -> None:
    cases = {**SMUGGLED, **ODD}
    with ExitStack() as stack:
        assert_answers(opened(stack, running.port, len(cases)), cases)
    assert running.ask("/api/stats").status == 200
    running.stop()
    assert len(running.log) == 2  # "serving", and that SYNC_AT is off
    figure(f"odd requests to the service itself: {len(cases)}, none unexpected, no log line")


@pytest.mark.slow
def test_nothing_is_smuggled_through_nginx(tmp_path: Path, figure: Figure) -> None:
    cases = {name: (sent, NGINX.get(name, [400])) for name, (sent, _) in SMUGGLED.items()}
    with closing(Instances(1, tmp_path)) as instances, ExitStack() as stack:
        bare = opened(stack, instances.nginx.port, len(cases))
        assert_answers([tls(stack, connection) for connection in bare], cases)
        visitor = instances.nginx.visitor()
        assert visitor.ask("/api/stats", Expect="100-continue").status == 200
        # nginx has few connections to the service: what was smuggled would be the answer to
        # somebody else's request.
        for _ in range(20):
            assert visitor.ask("/api/persona-random").json["id"].startswith("prueba-")
        visitor.ask(TRACK.replace("smuggled", "last"))
        service = instances.services[0]
        wait_until(lambda: len(sites(service)) == 2)
        assert sites(service) == {"last.example": 1, "smuggled.example": 1}  # see NGINX
    figure(
        f"smuggling through nginx.conf: {len(SMUGGLED)} forms, {len(SMUGGLED) - 2} refused, 1 waits"
        " for its body, 1 is read as the two requests that it is; 0 reach another client"
    )


def sites(service: Service) -> dict[str, int]:
    """The views of each site."""
    shown = service.ask("/api/sites", X_API_Key=KEY).json["sites"]
    return {row["site"]: row["views"] for row in shown}


# --- Sockets that say little ---------------------------------------------------------


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


IMPATIENT = (  # a service that closes silent sockets after 3 s, not 30
    sys.executable,
    "-c",
    "import sys, app; app.WAITRESS.update(channel_timeout=3, cleanup_interval=1);"
    " sys.exit(app.main())",
)


def seconds_to_answer(ask: Callable[[str], Reply]) -> float:
    began = time.monotonic()
    while time.monotonic() < began + 90:
        with suppress(TimeoutError):  # the client's own, 30 s
            assert ask("/api/persona-random").status == 200
            return time.monotonic() - began
    raise AssertionError("no answer in 90 s")


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_idle_sockets_do_not_stop_the_service(
    settings: dict[str, str], figure: Figure, full: bool
) -> None:
    service = Service(COMMAND if full else IMPATIENT, **settings, PYTHONPATH=str(ROOT)).serving()
    borne = WAITRESS["connection_limit"] - 10
    with ExitStack() as stack:
        stack.callback(service.kill)
        opened(stack, service.port, borne // 2)
        opened(stack, service.port, borne // 2, b"GET /api/stats HTTP/1.1\r\nX: ")
        assert seconds_to_answer(service.ask) < WAITRESS["channel_timeout"]
        opened(stack, service.port, 30)  # more than it takes
        silent = seconds_to_answer(service.ask)
    figure(
        f"sockets at the service itself: {borne} borne, half of them in mid-header; 20 over its"
        f" limit it answered after {silent:.0f} s, having closed the silent ones"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_idle_and_dripping_sockets_do_not_stop_nginx(
    tmp_path: Path, figure: Figure, full: bool
) -> None:
    idle, dripping = (3000, 500) if full else (300, 100)
    with (
        closing(Instances(1, tmp_path, patience=10 if full else 2)) as instances,
        ExitStack() as stack,
    ):
        opened(stack, instances.nginx.port, idle)
        slow = [tls(stack, bare) for bare in opened(stack, instances.nginx.port, dripping)]
        for connection in slow:
            connection.sendall(b"GET /api/stats HTTP/1.1\r\nHost: a\r\nX: ")
            connection.setblocking(False)
        visitor, began, slowest = instances.nginx.visitor(), time.monotonic(), 0.0
        while not all(map(is_cut, slow)):
            assert time.monotonic() < began + 90
            slowest = max(slowest, seconds_to_answer(visitor.ask))
            time.sleep(0.1)  # how fast they drip
    figure(
        f"behind nginx.conf: {idle} idle and {dripping} dripping sockets, slowest answer"
        f" {1000 * slowest:.0f} ms, all dripping ones cut"
    )


def is_cut(connection: socket.socket) -> bool:
    """Whether the other side has closed it; if not, one more byte is sent."""
    try:
        connection.send(b"a")
        return connection.recv(100) == b""
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return False
    except OSError:
        return True


# --- The key -------------------------------------------------------------------------


def test_the_key_is_never_shown(running: Service) -> None:
    answers = [
        running.ask(path, method, **headers).body
        for path in ("/api/sites", "/api/scrape/trigger", f"/{KEY}", f"/api/sites?key={KEY}", "/")
        for method in ("GET", "POST")
        for headers in (
            {"X_API_Key": KEY},
            {"X_API_Key": KEY + "x"},
            {"Authorization": f"Bearer {KEY}"},
            {"Authorization": KEY},
            {"Referer": KEY, "User_Agent": KEY, "Cookie": KEY},
        )
    ]
    with closing(socket.create_connection(("127.0.0.1", running.port))) as connection:
        broken = f"GET / HTTP/1.1\r\nX-API-Key: {KEY}\r\nBroken\r\n\r\n"
        assert statuses(connection, broken.encode(), 1) == [400]
    assert KEY.encode() not in Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
    running.stop()
    assert any(answers)
    assert not any(KEY.encode() in body for body in answers)
    assert not any(KEY in line for line in running.log)


# --- Generated requests --------------------------------------------------------------


@pytest.mark.slow
def test_schemathesis_finds_nothing(
    running: Service, tmp_path: Path, figure: Figure, full: bool
) -> None:
    schemathesis = Path(sys.executable).with_name("st")
    if not schemathesis.exists():
        missing("schemathesis (tests/requirements.txt)")
    config = tmp_path / "schemathesis.toml"
    config.write_text(
        '[[operations]]\ninclude-name = "GET /api/track"\n'
        # JSON Schema cannot say what a host name is.
        "checks.positive_data_acceptance.enabled = false\n"
    )
    address = f"http://127.0.0.1:{running.port}/openapi.json"
    options = ["--header", f"X-API-Key: {KEY}", "--seed", "404", "--no-color"]
    options += ["--max-examples", "650" if full else "50"]
    done = subprocess.run(
        [str(schemathesis), "--config-file", str(config), "run", address, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    (cases,) = re.findall(r"(\d+) generated, \d+ passed", done.stdout)
    assert int(cases) >= (5000 if full else 500)
    figure(f"schemathesis on openapi.json: {cases} cases, no failure")
