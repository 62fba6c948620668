"""sync.py as a process: its output, its environment, signals, a terminal; over real HTTP."""

import os
import pty
import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.register import Listed, Register, child_environ, slugs, sync_command
from support.scrape import edit_profile
from support.web import Answer, HeldPage

TWELVE = slugs(12)  # aa to al
Running = tuple["subprocess.Popen[str]", HeldPage]


def test_a_good_run_is_one_whoever_listens(register: Register) -> None:
    register.publish(TWELVE)
    with Path("/dev/full").open("w") as full, register.start_sync(stdout=full) as process:
        _, log = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "12 active (and its line could not be printed" in log


def test_the_settings_come_from_the_environment(register: Register) -> None:
    register.publish(TWELVE)
    command = sync_command(register.profile, register.database)[:2]
    environ = child_environ(REGISTER=str(register.profile), DATABASE=str(register.database))
    assert subprocess.run(command, env=environ, cwd="/", capture_output=True).returncode == 0
    assert len(register.names()) == 12
    saved = register.profile.parent / "saved"
    command += ["--dry-run", "--save", str(saved)]
    assert subprocess.run(command, env=environ, cwd="/", capture_output=True).returncode == 0
    made = [*register.database.parent.iterdir(), saved, *saved.rglob("*")]
    assert len(made) > 10
    assert [path for path in made if path.stat().st_mode & 0o077] == []  # for its owner alone


# --- While a synchronisation runs --------------------------------------------------


@pytest.fixture
def running(register: Register) -> Iterator[Running]:
    """A synchronisation of TWELVE, over an older list, that waits at its last file page."""
    register.publish(TWELVE[:11])
    register.sync()
    register.publish(TWELVE)
    page = HeldPage(register.web, "/file/al")
    process = register.start_sync()
    assert page.reached.wait(30)
    yield process, page
    page.release.set()
    process.communicate(timeout=30)


def test_a_second_one_says_so(register: Register, running: Running) -> None:
    process, page = running
    second = register.sync()
    assert second.returncode == 75
    assert "another synchronisation" in second.stderr
    page.release.set()
    assert process.wait(30) == 0
    assert "al" in register.names()


def test_hide_works_meanwhile(register: Register, running: Running) -> None:
    process, page = running
    assert register.sync("--hide", register.id("aa")).returncode == 0
    assert "aa" not in register.names()
    page.release.set()
    assert process.wait(30) == 0
    assert register.names() == {p.slug for p in TWELVE} - {"aa"}


@pytest.mark.parametrize(
    ("number", "status", "outcome"),
    [
        (signal.SIGKILL, -9, "running"),
        (signal.SIGTERM, 143, "failed"),
        (signal.SIGINT, 130, "failed"),
    ],
)
def test_a_stopped_one_leaves_the_old_list_and_no_lock(
    register: Register, running: Running, number: int, status: int, outcome: str
) -> None:
    process, page = running
    before = register.api().ask("/api/personas").body
    process.send_signal(number)
    assert process.wait(30) == status
    assert register.last_run()["outcome"] == outcome
    assert register.api().ask("/api/personas").body == before
    with closing(sqlite3.connect(register.database)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    page.release.set()
    assert register.sync().returncode == 0
    assert "al" in register.names()


def test_a_killed_run_is_called_so_by_the_next(register: Register, running: Running) -> None:
    process, page = running
    process.kill()
    process.wait(30)
    page.release.set()
    register.sync()
    with closing(sqlite3.connect(register.database)) as db:
        outcomes = [row[0] for row in db.execute("SELECT outcome FROM run ORDER BY id")]
    assert outcomes == ["ok", "killed", "ok"]


# --- On a terminal -----------------------------------------------------------------


def on_terminal(register: Register, *options: str) -> str:
    """What sync.py shows on a terminal."""
    leader, follower = pty.openpty()
    with register.start_sync(*options, stdout=follower, stderr=follower):
        os.close(follower)
        shown = b""
        while chunk := read_terminal(leader):
            shown += chunk
        os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def read_terminal(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # EIO: the last process has closed it
        return b""


def test_a_dry_run_on_a_terminal_shows_persons_and_progress(register: Register) -> None:
    register.publish(TWELVE)
    shown = on_terminal(register, "--dry-run")
    assert "person 12 of 12" in shown
    assert re.search(r"id +nombre +fecha +edad +lugar +foto +url\n", shown)
    assert "Aa Inventado" in shown


def test_a_dry_run_on_a_terminal_shows_who_is_left_out_and_why(register: Register) -> None:
    for key in ("placeholder", "no_photo"):
        edit_profile(register, key, f"# {key}")
    stamped = Listed("hallada", stamp="FUE ENCONTRADA")
    odd = [Listed("ilegible", fecha="ayer"), Listed("mayor", edad="18 años"), stamped]
    ages = [person._replace(edad=f"{age} años") for age, person in enumerate(TWELVE, 2)]
    same_photo = [person._replace(foto="/cargando.gif") for person in ages]
    register.publish([*odd, *same_photo])
    shown = on_terminal(register, "--dry-run")
    for kind, name, fault in (
        ("unreadable", "Ilegible", "ayer"),
        ("excluded", "Mayor", "18 años"),
        ("stamped", "Hallada", "FUE ENCONTRADA"),
    ):
        address = f"http://{register.web.host}/file/{name.lower()}"
        text = rf"{kind}: prueba-\d+ .*\n    {name} Inventado Prueba\n    {address}\n    {fault}\n"
        assert re.search(text, shown), text
    assert f"12 persons have the same photo: https://{register.web.host}/cargando" in shown


def test_explain_shows_which_way_is_taken(register: Register) -> None:
    edit_profile(
        register, "fecha = [", "fecha = [{ file = 'h1' }, { file = 'img', attr = 'src' }, "
    )
    register.publish(TWELVE[:2])
    shown = on_terminal(register, "--explain", f"http://{register.web.host}/file/ab")
    assert "fields.fecha[0]: '' -> None\n" in shown
    assert "fields.fecha[1]: '/fotos/ab.jpg' -> None\n" in shown
    assert "fields.fecha[2]: '01/02/2024' -> 2024-02-01 (taken)\n" in shown
    assert f"{register.id('ab')}  Ab Inventado Prueba  01/02/2024" in shown
    register.web.pages["/file/ab"] = Answer(404)
    saved = register.profile.parent / "saved"
    options = ("--explain", f"http://{register.web.host}/file/ab", "--save", str(saved))
    shown = on_terminal(register, *options)
    assert "fields.fecha: file page: HTTP 404: http://" in shown
    assert [path.name for path in saved.iterdir()] == ["lista?n=1.html"]
    assert "an address begins with https://" in on_terminal(register, "--explain", "a.example/x")
    assert "no card of the list" in on_terminal(register, "--explain", "https://a.example/x")
    assert register.sync("--explain", f"http://{register.web.host}/file/ab").returncode == 2


def test_who_is_called_so(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.profile.write_text("half an edit")
    id = register.id("ab")
    assert register.sync("--who", "áb inv").stdout == f"{id}\n"
    address = f"https://{register.web.host}/file/ab"
    assert on_terminal(register, "--who", "AB INV") == f"{id}  Ab Inventado Prueba  {address}\n"


def test_who_is_near_a_link_is_named_on_a_terminal_alone(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    link = f"https://{register.web.host}/file/abc"
    assert "  Ab Inventado Prueba  https://" in on_terminal(register, "--hide", link)
    assert "Inventado" not in register.sync("--hide", f"{link}d").stdout
