"""Clients that mean harm, over real sockets: the service itself, and behind deploy/nginx.conf."""

import re
import resource
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from conftest import KEY, TLS, Figure, Reply, Service, fill, made_up, missing, prueba_profile
from test_deploy import Instances, instances

import app

__all__ = ["instances"]  # a fixture


@pytest.fixture
def running(
    tmp_path: Path, database: Path, service: Callable[..., Service]
) -> Callable[..., Service]:
    """Starts the service over 25 persons."""
    fill(database, [made_up(n) for n in range(1, 26)])
    profile = prueba_profile(tmp_path)

    def start() -> Service:
        settings = {"REGISTER": str(profile), "DATABASE": str(database), "SYNC_AT": "off"}
        return service(**settings, API_KEY=KEY).serving()

    return start


# --- Requests that no client library would send ---------------------------------------

TRACK = "/api/track?e=view&p=prueba-1&d=smuggled.example"
HIDDEN = f"GET {TRACK} HTTP/1.1\r\nHost: a.example\r\n\r\n".encode()
POST = b"POST /api/stats HTTP/1.1\r\nHost: a.example\r\n"
GET = b"GET /api/stats HTTP/1.1\r\nHost: a.example\r\n"
LENGTH = b"Content-Length: %d\r\n" % (5 + len(HIDDEN))
CHUNKED = b"Transfer-Encoding: chunked\r\n"
# What a front and a service may read in two ways, so that HIDDEN slips through (RFC 9112, 11.2);
# with the statuses that the service itself answers. It reads a chunked body as such, whatever
# length is told (RFC 9112, 6.3): what follows is the same client's next request.
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


def statuses(connection: socket.socket, sent: bytes) -> list[int]:
    """Those of all answers until the other side closes, or nothing more comes."""
    got = b""
    connection.settimeout(1)
    with suppress(OSError):  # refused before all was sent: the answer is there
        connection.sendall(sent)
    with suppress(OSError):
        while part := connection.recv(65536):
            got += part
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", got)]


@pytest.mark.slow
def test_odd_requests_are_refused_or_read_as_one_reads_them(
    running: Callable[..., Service], figure: Figure
) -> None:
    service = running()
    cases = {**SMUGGLED, **ODD}
    answered = {}
    for name, (sent, _) in cases.items():
        with closing(socket.create_connection(("127.0.0.1", service.port))) as connection:
            answered[name] = statuses(connection, sent)
    assert answered == {name: expected for name, (_, expected) in cases.items()}
    assert service.ask("/api/stats").status == 200
    service.stop()
    assert len(service.log) == 1  # "serving"
    figure(f"odd requests to the service itself: {len(cases)}, none unexpected, no log line")


@pytest.mark.slow
def test_nothing_is_smuggled_through_nginx(
    instances: Callable[..., Instances], figure: Figure
) -> None:
    nginx = instances("nginx.conf", 1).nginx
    context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    for name, (sent, _) in SMUGGLED.items():
        with (
            closing(socket.create_connection(("127.0.0.1", nginx.port))) as bare,
            closing(context.wrap_socket(bare, server_hostname="127.0.0.1")) as connection,
        ):
            answered = statuses(connection, sent)
            assert answered == NGINX.get(name, [400]), name
    assert nginx.ask("/api/stats", Expect="100-continue").status == 200
    # nginx has few connections to the service: what was smuggled would be the answer to somebody
    # else's request.
    for _ in range(20):
        assert nginx.ask("/api/persona-random").json["id"].startswith("prueba-")
    assert nginx.ask("/api/stats").json["views"] == 1  # of the bare line feeds
    figure(
        f"smuggling through nginx.conf: {len(SMUGGLED)} forms, {len(SMUGGLED) - 2} refused, 1 waits"
        " for its body, 1 is read as the two requests that it is; 0 reach another client"
    )


# --- Sockets that say little ---------------------------------------------------------


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def opened(stack: ExitStack, port: int, count: int, first: bytes = b"") -> list[socket.socket]:
    """`count` connections that have sent `first` and go on saying nothing."""
    sockets = []
    for _ in range(count):
        connection = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port))))
        connection.sendall(first)
        sockets.append(connection)
    return sockets


def seconds_to_answer(ask: Callable[[str], Reply]) -> float:
    began = time.monotonic()
    while time.monotonic() < began + 90:
        with suppress(TimeoutError):  # the client's own, 30 s
            assert ask("/api/persona-random").status == 200
            return time.monotonic() - began
    raise AssertionError("no answer in 90 s")


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_idle_sockets_that_the_service_bears(
    running: Callable[..., Service], figure: Figure
) -> None:
    service = running()
    with ExitStack() as stack:
        borne = app.WAITRESS["connection_limit"] - 10
        opened(stack, service.port, borne // 2)
        opened(stack, service.port, borne // 2, b"GET /api/stats HTTP/1.1\r\nX: ")
        assert seconds_to_answer(service.ask) < 1
        opened(stack, service.port, 30)  # more than it takes
        silent = seconds_to_answer(service.ask)
        figure(
            f"sockets at the service itself: {borne} borne, half of them in mid-header; 20 over its"
            f" limit it answered after {silent:.0f} s, having closed the silent ones"
        )


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_sockets_that_nginx_bears(instances: Callable[..., Instances], figure: Figure) -> None:
    nginx = instances("nginx.conf", 1).nginx
    idle, dripping = 3000, 500
    context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    with ExitStack() as stack:
        opened(stack, nginx.port, idle)
        slow = []
        for bare in opened(stack, nginx.port, dripping):
            connection = stack.enter_context(
                closing(context.wrap_socket(bare, server_hostname="127.0.0.1"))
            )
            connection.sendall(b"GET /api/stats HTTP/1.1\r\nHost: a\r\nX: ")
            slow.append(connection)
        until, slowest = time.monotonic() + 12, 0.0
        while time.monotonic() < until:
            slowest = max(slowest, seconds_to_answer(nginx.ask))
            for connection in slow:
                with suppress(OSError):
                    connection.sendall(b"a")
            time.sleep(0.5)
        assert slowest < 1
        cut = sum(is_closed(connection) for connection in slow)
    assert cut == dripping
    figure(
        f"behind nginx.conf: {idle} idle and {dripping} dripping sockets for 12 s, slowest answer"
        f" {1000 * slowest:.0f} ms, all dripping ones cut"
    )


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(1)
    try:
        return connection.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


# --- The key -------------------------------------------------------------------------


def test_the_key_is_told_to_nobody(running: Callable[..., Service]) -> None:
    service = running()
    answers = [
        service.ask(path, method, **headers).body
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
    with closing(socket.create_connection(("127.0.0.1", service.port))) as connection:
        statuses(connection, f"GET / HTTP/1.1\r\nX-API-Key: {KEY}\r\nBroken\n\r\n".encode())
    assert KEY.encode() not in Path(f"/proc/{service.process.pid}/cmdline").read_bytes()
    service.stop()
    assert any(answers)
    assert not any(KEY.encode() in body for body in answers)
    assert not any(KEY in line for line in service.log)


# --- Generated requests --------------------------------------------------------------


@pytest.mark.slow
def test_schemathesis_finds_nothing(
    running: Callable[..., Service], tmp_path: Path, figure: Figure
) -> None:
    schemathesis = Path(sys.executable).with_name("st")
    if not schemathesis.exists():
        missing("schemathesis (tests/requirements.txt)")
    service = running()
    config = tmp_path / "schemathesis.toml"
    config.write_text(
        '[[operations]]\ninclude-name = "GET /api/track"\n'
        # JSON Schema cannot say what a host name is.
        "checks.positive_data_acceptance.enabled = false\n"
    )
    address = f"http://127.0.0.1:{service.port}/openapi.json"
    options = ["-H", f"X-API-Key: {KEY}", "--max-examples", "650", "--seed", "404", "--no-color"]
    done = subprocess.run(
        [str(schemathesis), "--config-file", str(config), "run", address, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    (cases,) = re.findall(r"(\d+) generated, \d+ passed", done.stdout)
    assert int(cases) >= 5000
    figure(f"schemathesis on openapi.json: {cases} cases, no failure")
