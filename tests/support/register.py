"""A made-up register `prueba` on a web server, and sync.py over it."""

import io
import logging
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from model import person_id
from support import ROOT
from support.api import Api
from support.web import Pages

PROFILE = """\
start = "http://{host}/lista?n=1"
next = "a.next"
card = "li"
pass_over = [{{ card = "b", pattern = "FUE ENCONTRADA" }}]
max_age = 17
pause = 0
photos = false
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
    name: str = ""  # another than the slug says

    @property
    def nombre(self) -> str:
        return self.name or f"{self.slug.title()} Inventado Prueba"

    @property
    def details(self) -> str:
        return (
            f"<p>Fecha: {self.fecha}<br>Edad: {self.edad}<br>Lugar: {self.lugar}</p>"
            f"<img src='{self.foto.format(slug=self.slug)}'>"
        )


def slugs(count: int) -> list[Listed]:
    """`count` made-up persons: persona-aa, persona-ab ..."""
    return [Listed(f"{chr(97 + i // 26)}{chr(97 + i % 26)}") for i in range(count)]


class Run(NamedTuple):
    """What one call of sync.py gave."""

    returncode: int
    stdout: str
    stderr: str


FIRST_DATABASES: dict[object, bytes] = {}  # what Register.first_sync() made, by what it read


class Register:
    """The register `prueba` on `web`, its profile and its database below `folder`. Its photos are
    not fetched, as long as its profile says so."""

    def __init__(self, web: Pages, folder: Path):
        self.web = web
        (folder / "data").mkdir()
        self.database = folder / "data" / "prueba.db"
        self.profile = folder / "prueba.toml"
        self.profile.write_text(PROFILE.format(host=web.host))
        self.on_cards = False
        self.open_api: Api | None = None

    def read_cards_only(self) -> None:
        """Put everything on the cards, so that no file page is fetched: that is much faster."""
        self.on_cards = True
        self.profile.write_text(self.profile.read_text().replace("file =", "card ="))

    def publish(self, persons: list[Listed], per_page: int = 10) -> None:
        """Put the list pages and the file pages of `persons` on the web."""
        pages = [persons[i : i + per_page] for i in range(0, len(persons), per_page)] or [[]]
        for n, page in enumerate(pages, 1):
            cards = "".join(
                f"<li><a href='/file/{p.slug}'>{p.nombre}</a><b>{p.stamp}</b>"
                f"{p.details if self.on_cards else ''}</li>"
                for p in page
            )
            more = f"<a class=next href='/lista?n={n + 1}'>más</a>" if n < len(pages) else ""
            self.web.put(f"/lista?n={n}", f"<html><ul>{cards}</ul>{more}</html>")
        for p in persons:
            self.web.put(f"/file/{p.slug}", p.details)

    def id(self, slug: str) -> str:
        return person_id("prueba", f"https://{self.web.host}/file/{slug}")

    def sync(self, *options: str, **environ: str) -> Run:
        """Call sync.py in this process."""
        return call_sync(self.profile, self.database, *options, **environ)

    def first_sync(self) -> None:
        """Call sync.py for a new database; for the same profile and pages as before, copy the
        database that it made then."""
        assert not self.database.exists()
        key = (self.profile.name, self.profile.read_text(), *sorted(self.web.pages.items()))
        if key in FIRST_DATABASES:
            self.database.write_bytes(FIRST_DATABASES[key])
            return
        assert self.sync().returncode == 0
        FIRST_DATABASES[key] = self.database.read_bytes()

    def start_sync(self, *options: str, **more: Any) -> "subprocess.Popen[str]":
        """Start sync.py as a process of its own."""
        return start_sync(self.profile, self.database, *options, **more)

    def api(self) -> Api:
        return self.open_api or self.restarted_api()

    def restarted_api(self) -> Api:
        self.open_api = Api(self.database)
        return self.open_api

    def names(self) -> set[str]:
        """First names of the active persons, as the API gives them."""
        listed = self.api().get("/api/personas?limit=100")["personas"]
        return {person["nombre"].split()[0].lower() for person in listed}

    def stats(self) -> dict[str, Any]:
        result: dict[str, Any] = self.api().get("/api/stats")
        return result

    def change(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement on the database; its rows."""
        with closing(sqlite3.connect(self.database)) as db, db:
            return db.execute(sql, values).fetchall()

    def last_run(self) -> dict[str, Any]:
        with closing(sqlite3.connect(self.database)) as db:
            db.row_factory = sqlite3.Row
            return dict(db.execute("SELECT * FROM run ORDER BY id DESC").fetchone())

    def bytes_on_disk(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.database.parent.iterdir())


def child_environ(**environ: str) -> dict[str, str]:
    """Settings of a child process: none of this one's."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**keep, "CONTACT": "nadie@registro.example", **environ}


def call_sync(profile: Path, database: Path, *options: str, **environ: str) -> Run:
    """Call sync.py's main(): a tenth of the time that a process takes."""
    import sync

    out, err = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(err)
    log = logging.getLogger("persona404")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    settings = {"REGISTER": str(profile), "DATABASE": str(database), **child_environ(**environ)}
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = sync.main(list(options), settings)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    return Run(status, out.getvalue(), err.getvalue())


def sync_command(profile: Path, database: Path, *options: str) -> list[str]:
    command = [sys.executable, str(ROOT / "sync.py"), "--register", str(profile)]
    return [*command, "--database", str(database), *options]


def start_sync(
    profile: Path, database: Path, *options: str, **more: Any
) -> "subprocess.Popen[str]":
    """Start sync.py as a process, its output in pipes."""
    return subprocess.Popen(
        sync_command(profile, database, *options),
        env=child_environ(),
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
    )


def run_sync(profile: Path, database: Path, *options: str) -> Run:
    """Run sync.py as a process to its end."""
    with start_sync(profile, database, *options) as process:
        out, err = process.communicate(timeout=120)
    return Run(process.returncode, out, err)
