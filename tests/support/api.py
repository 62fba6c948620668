"""A filled database, and the API over it: through WSGI, or through a running waitress."""

import http.client
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import waitress
import webtest

import app
from model import Person
from serve.nightly import Synchroniser
from serve.views import Views
from settings import About, read_settings
from store.database import Reader, open_database, transaction, utc_now
from store.persons import write_persons

ABOUT = About(
    title="Registro de prueba",
    phone="134",
    website="https://registro.example/",
    demo=False,
    photos=True,
    operator="Fundación de prueba",
    contact="nadie@registro.example",
    public_url="https://personas.example.org",
)


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
    """Make `persons` the list of `database`, by a good run that ended at `ended`, else now."""
    with open_database(database, 5) as db, transaction(db):
        write_persons(db, persons)
        db.execute(
            "INSERT INTO run (started, ended, outcome) VALUES (:t, :t, 'ok')",
            {"t": ended or utc_now()},
        )


def keep_photo(database: Path, person: Person, photo: bytes = app.PIXEL) -> None:
    """Let the service have a photo of a stored person: one pixel, if no other is given."""
    with open_database(database, 5) as db, transaction(db):
        row = (person.id, person.nombre, person.fecha, person.foto, person.id, photo)
        db.execute("INSERT INTO photo VALUES (?, ?, ?, ?, 1, ?, ?)", row)


def views_of(database: Path) -> list[tuple[str, int]]:
    """The sites that were counted, each with its views."""
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT host, views FROM site ORDER BY host").fetchall()


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
    """One request; the connection is closed after it."""
    with closing(connection):
        return request(connection, path, method, **headers)


def request(
    connection: http.client.HTTPConnection, path: str, method: str = "GET", **headers: str
) -> Reply:
    """One request over a connection that stays open, its header names with _ for -."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=sent)
    answer = connection.getresponse()
    fields = {name.lower(): value for name, value in answer.getheaders()}
    return Reply(answer.status, fields, answer.read())


def ask_wsgi(api: app.API, path: str, query: str, **headers: str) -> Reply:
    """One request as a WSGI server makes it, any query as it is."""
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query, **headers}
    begun: list[Any] = []
    body = b"".join(api.wsgi(environ, lambda *answer: begun.extend(answer)))
    return Reply(int(begun[0][:3]), {k.lower(): v for k, v in begun[1]}, body)


class Api:
    """The API over `database`, through WSGI."""

    def __init__(
        self,
        database: Path,
        key: str | None = None,
        synchroniser: Synchroniser | None = None,
        register: str = "prueba",
        about: About = ABOUT,
        staff_key: str | None = None,
    ):
        self.views = Views(database)
        synchroniser = synchroniser or Synchroniser(database)
        settings = read_settings({})._replace(
            register=register, api_key=key, staff_key=staff_key, about=about
        )
        self.app = app.API(settings, Reader(database), self.views, synchroniser)
        self.test = webtest.TestApp(self.app)

    def ask(self, path: str, method: str = "GET", **headers: str) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        got = self.test.request(path, method=method, headers=sent, expect_errors=True)
        return Reply(got.status_int, {k.lower(): v for k, v in got.headers.items()}, got.body)

    def get(self, path: str, status: int = 200) -> Any:
        """The JSON at `path`, whose status must be `status`."""
        reply = self.ask(path)
        assert reply.status == status, reply
        return reply.json


class ServedApi(Api):
    """The same through a running waitress."""

    def __init__(self, database: Path, key: str | None = None, **more: Any):
        super().__init__(database, key, **more)
        self.server = waitress.create_server(self.app, port=0, threads=4)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        while not self.stopped.is_set():
            self.server.asyncore.loop(timeout=0.02, map=self.server._map, count=1)
        self.server.task_dispatcher.shutdown()
        self.server.asyncore.close_all(self.server._map)

    @property
    def port(self) -> int:
        port: int = self.server.effective_port
        return port

    def ask(self, path: str, method: str = "GET", **headers: str) -> Reply:
        return ask(self.port, path, method, headers)

    def close(self) -> None:
        self.stopped.set()
        self.thread.join()
