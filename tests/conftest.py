"""A register that tests can break, the programs as processes, the API in two ways."""

import http.client
import json
import os
import queue
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest
import waitress
import webtest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import app  # noqa: E402
import sync  # noqa: E402
from register import Person  # noqa: E402

TLS = ROOT / "tests" / "tls"  # a certificate of 127.0.0.1 that vouches for itself, until 2126
KEY = "a-key-of-made-up-letters"


def missing(what: str) -> NoReturn:
    """Skip a test that needs what is not here; CI must have it."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is needed where CI is set")
    pytest.skip(f"{what} is not installed")


class Answer(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)


class Web:
    """A real HTTP server on loopback. `pages` maps a path with its query (of a POST with its
    form behind another "?") to an Answer, or to a function that is called with the request's
    handler, and answers by itself where it returns None; anything else is 404."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer | Callable[[BaseHTTPRequestHandler], Answer | None]] = {}
        self.asked: list[str] = []
        self.agents: set[str] = set()
        self.referers: set[str | None] = set()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 65536  # an answer in one piece: two wait for each other 40 ms

            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.reply(f"{self.path}?{form}")

            def do_GET(self) -> None:
                self.reply(self.path)

            def reply(self, asked: str) -> None:
                web.asked.append(asked)
                web.agents.add(self.headers["User-Agent"])
                web.referers.add(self.headers["Referer"])
                answer = web.pages.get(asked, Answer(404))
                if callable(answer):
                    answer = answer(self)
                if answer is None:
                    return
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                if not any(name == "Content-Length" for name, _ in answer.headers):
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.01])
        self.thread.start()

    def put(self, path: str, html: str) -> None:
        self.pages[path] = Answer(body=html.encode())

    def edit(self, path: str, old: str, new: str) -> None:
        """Change a page that is there; it must hold `old`."""
        page = self.pages[path]
        assert isinstance(page, Answer)
        assert old.encode() in page.body
        self.pages[path] = page._replace(body=page.body.replace(old.encode(), new.encode()))

    def use_tls(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


PROFILE = """\
name = "prueba"
start = "http://{host}/lista?n=1"
next = "a.next"
card = "li"
pass_over = [{{ card = "b", pattern = "FUE ENCONTRADA" }}]
max_age = 17
pause = 0
placeholder = "https://registro.example/silueta.png"
no_photo = "sin_foto"
[fields]
url = [{{ card = "a", attr = "href" }}]
nombre = [{{ card = "a" }}]
fecha = [{{ file = "p", label = "Fecha" }}]
edad = [{{ file = "p", label = "Edad" }}]
lugar = [{{ file = "p", label = "Lugar" }}]
foto = [{{ file = "img", attr = "src" }}]
"""


class Listed(NamedTuple):
    """One made-up person of the register `prueba`."""

    slug: str
    fecha: str = "01/02/2024"
    edad: str = "12 años"
    lugar: str = "Villa Inventada, Salta Ficticia"
    foto: str = "/fotos/{slug}.jpg"
    stamp: str = ""

    @property
    def nombre(self) -> str:
        return f"{self.slug.title()} Inventado Prueba"


class Register:
    """The register `prueba` on `web`, its profile and its database below `folder`."""

    def __init__(self, web: Web, folder: Path):
        self.web = web
        (folder / "data").mkdir()
        self.database = folder / "data" / "prueba.db"
        self.profile = folder / "prueba.toml"
        self.profile.write_text(PROFILE.format(host=web.host))

    def publish(self, persons: list[Listed], per_page: int = 10) -> None:
        pages = [persons[i : i + per_page] for i in range(0, len(persons), per_page)] or [[]]
        for n, page in enumerate(pages, 1):
            cards = "".join(
                f"<li><a href='/file/{p.slug}'>{p.nombre}</a><b>{p.stamp}</b></li>" for p in page
            )
            more = f"<a class=next href='/lista?n={n + 1}'>más</a>" if n < len(pages) else ""
            self.web.put(f"/lista?n={n}", f"<ul>{cards}</ul>{more}")
        for p in persons:
            self.web.put(
                f"/file/{p.slug}",
                f"<p>Fecha: {p.fecha}<br>Edad: {p.edad}<br>Lugar: {p.lugar}</p>"
                f"<img src='{p.foto.format(slug=p.slug)}'>",
            )

    def id(self, slug: str) -> str:
        from register import person_id

        return person_id("prueba", f"https://{self.web.host}/file/{slug}")

    def sync(self, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return run_sync(self.profile, self.database, *options, **environ)

    def api(self) -> webtest.TestApp:
        return webtest.TestApp(app.create_app(self.database, "prueba"))

    def names(self) -> set[str]:
        """First names of the active persons, as the API gives them."""
        listed = self.api().get("/api/personas?limit=100").json["personas"]
        return {person["nombre"].split()[0].lower() for person in listed}

    def stats(self) -> dict[str, Any]:
        result: dict[str, Any] = self.api().get("/api/stats").json
        return result

    def last_run(self) -> dict[str, Any]:
        with closing(sqlite3.connect(self.database)) as db:
            db.row_factory = sqlite3.Row
            return dict(db.execute("SELECT * FROM run ORDER BY id DESC").fetchone())

    def bytes_on_disk(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.database.parent.iterdir())


def slugs(count: int) -> list[Listed]:
    """`count` made-up persons: persona-a, persona-b ..."""
    return [Listed(f"{chr(97 + i // 26)}{chr(97 + i % 26)}") for i in range(count)]


@pytest.fixture
def register(web: Web, tmp_path: Path) -> Register:
    return Register(web, tmp_path)


def child_environ(**environ: str) -> dict[str, str]:
    """Settings of a child process: none of this one's."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**keep, "CONTACT": "nadie@registro.example", **environ}


def sync_command(profile: Path, database: Path, *options: str) -> list[str]:
    command = [sys.executable, str(ROOT / "sync.py"), "--register", str(profile)]
    return [*command, "--database", str(database), *options]


def run_sync(
    profile: Path, database: Path, *options: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        sync_command(profile, database, *options),
        env=child_environ(**environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Service:
    """app.py as a process, on a free port."""

    def __init__(self, **environ: str):
        environ = {"PORT": "0", **child_environ(), **environ}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "app.py")], env=environ, stderr=subprocess.PIPE, text=True
        )
        self.log: list[str] = []
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.put(line)
        self.lines.put("")

    def wait_for(self, text: str) -> str:
        """The next line of the log that holds `text`."""
        while line := self.lines.get(timeout=30):
            self.log.append(line)
            if text in line:
                return line
        raise AssertionError(f"{text!r} is not in the log: {self.log}")

    def serving(self) -> "Service":
        self.port = int(self.wait_for("serving").rpartition(":")[2])
        return self

    def ask(self, path: str, method: str = "GET", **headers: str) -> "Reply":
        return ask(self.port, path, method, headers)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.terminate()
        status = self.process.wait(30)
        self.reader.join()
        while line := self.lines.get():
            self.log.append(line)
        return status


@pytest.fixture
def service(register: Register) -> Iterator[Callable[..., Service]]:
    """Starts services over the database of `register`; what still runs is ended."""
    started: list[Service] = []

    def start(**environ: str) -> Service:
        settings = {"REGISTER": str(register.profile), "DATABASE": str(register.database)}
        started.append(Service(**{**settings, **environ}))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.reader.join()
        one.process.communicate()


# --- A filled database, and the API over it ------------------------------------------


def made_up(number: int, fecha: str = "01/02/2024") -> Person:
    return Person(
        f"prueba-{number}",
        f"Persona {number} Inventada",
        fecha,
        "12 años",
        "Villa Inventada, Ñandubay Ficticio",
        f"https://registro.example/{number}.jpg",
        f"https://registro.example/file/{number}",
    )


def fill(database: Path, persons: list[Person], ended: str | None = None) -> None:
    with closing(sync.open_database(database, 5)) as db, db:
        db.execute("BEGIN IMMEDIATE")
        sync.write_persons(db, persons)
        db.execute(
            "INSERT INTO run (started, ended, outcome) VALUES (:t, :t, 'ok')",
            {"t": ended or sync.utc_now()},
        )


def prueba_profile(folder: Path) -> Path:
    """The profile of a register `prueba`, over the pages of the made-up one."""
    text = (ROOT / "registers" / "demo.toml").read_text().replace('"demo"', '"prueba"', 1)
    profile = folder / "prueba.toml"
    profile.write_text(text.replace('"demo"', f'"{ROOT}/registers/demo"'))
    return profile


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(port: int, path: str, method: str, headers: dict[str, str]) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    return ask_over(connection, path, method, headers)


def ask_over(
    connection: http.client.HTTPConnection, path: str, method: str, headers: dict[str, str]
) -> Reply:
    """One request, its header names with _ for -; the connection is closed behind it."""
    with closing(connection):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=sent)
        answer = connection.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, fields, answer.read())


Figure = Callable[[str], None]
FIGURES: list[str] = []  # what tests measured; SECURITY.md quotes what a run prints at its end


@pytest.fixture
def figure() -> Figure:
    return FIGURES.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("figures (SECURITY.md)")
    for line in FIGURES:
        terminalreporter.write_line(line)


def ask_wsgi(api: app.API, path: str, query: str, **headers: str) -> Reply:
    """One request as a WSGI server makes it, any query as it is."""
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query, **headers}
    begun: list[Any] = []
    body = b"".join(api.wsgi(environ, lambda *answer: begun.extend(answer)))
    return Reply(int(begun[0][:3]), {k.lower(): v for k, v in begun[1]}, body)


class Client:
    """The API through WSGI (`wsgi`) or through a running waitress."""

    def __init__(self, kind: str, application: app.API):
        self.server = None
        if kind == "wsgi":
            self.test = webtest.TestApp(application)
        else:
            self.server = waitress.create_server(application, port=0, threads=4)
            self.stopped = threading.Event()
            self.thread = threading.Thread(target=self.serve)
            self.thread.start()

    def serve(self) -> None:
        while not self.stopped.is_set():
            self.server.asyncore.loop(timeout=0.02, map=self.server._map, count=1)
        self.server.task_dispatcher.shutdown()
        self.server.asyncore.close_all(self.server._map)

    def ask(self, path: str, method: str = "GET", **headers: str) -> Reply:
        if self.server is None:
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            got = self.test.request(path, method=method, headers=headers, expect_errors=True)
            return Reply(got.status_int, {k.lower(): v for k, v in got.headers.items()}, got.body)
        return ask(self.server.effective_port, path, method, headers)

    def close(self) -> None:
        if self.server is not None:
            self.stopped.set()
            self.thread.join()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "prueba.db"


@pytest.fixture(params=["wsgi", "waitress"])
def client(request: pytest.FixtureRequest, database: Path) -> Iterator[Client]:
    """Over 25 persons, numbers 1 to 25, with the API key KEY."""
    fill(database, [made_up(n, f"{n:02}/02/2024") for n in range(1, 26)])
    served = Client(request.param, app.create_app(database, "prueba", KEY, lambda: True))
    yield served
    served.close()
