"""app.py --version, --check and --doctor: what is wrong, before a start and beside a service."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import app
from serve import doctor
from settings import VERSION
from store.database import DatabaseUnavailable, open_database
from support import KEY, ROOT
from support.api import fill, made_up
from support.register import Register, child_environ, slugs
from support.service import Service
from support.web import Answer

RESTART = "(systemctl restart persona404)"
Start = Callable[..., Service]


def call_app(*options: str, **environ: str) -> tuple[int, str, str]:
    command = [sys.executable, str(ROOT / "app.py"), *options]
    environ = {**child_environ(), **environ}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def settings(register: Register) -> dict[str, str]:
    return {"REGISTER": str(register.profile), "DATABASE": str(register.database)}


def test_the_version(settings: dict[str, str]) -> None:
    assert call_app("--version", **settings) == (0, f"persona404 {VERSION}\n", "")


# --- Before a start ------------------------------------------------------------------


def test_where_all_is_well_nothing_is_printed(settings: dict[str, str]) -> None:
    assert call_app("--check", **settings) == (0, "", "")


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"ALERT_URL": "ntfy.sh/mitema"}, "ALERT_URL: must be an http or https address"),
        ({"API_KEY": "short"}, "API_KEY: must be at least 20 ASCII characters"),
        ({"TZ": "Etc/GMT-3"}, "TZ: Etc/GMT-3 is UTC+3"),
        ({"REGISTER": "registers/demo.toml"}, "DATABASE: it holds the register prueba, not demo"),
        ({"DATABASE": "/etc/passwd"}, "DATABASE: /etc/passwd: file is not a database"),
    ],
)
def test_a_fault_is_one_line(
    register: Register, settings: dict[str, str], environ: dict[str, str], line: str
) -> None:
    fill(register.database, [made_up(1)])
    status, printed, said = call_app("--check", **{**settings, **environ})
    assert (status, printed, said.count("\n")) == (2, "", 1)
    assert said.startswith(f"app.py: {line}")


def test_a_profile_is_checked_too(register: Register, settings: dict[str, str]) -> None:
    register.profile.write_text("card = 1")
    status, _, said = call_app("--check", **settings)
    assert (status, said.count("\n")) == (2, 1)
    assert str(register.profile) in said


def test_a_database_that_cannot_be_written_stops_the_start(
    as_nobody: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = as_nobody / "demo.db"
    environ = {"DATABASE": str(database), "REGISTER": str(as_nobody / "demo.toml")}
    monkeypatch.setattr(app, "set_up_process", lambda level: None)
    monkeypatch.setattr(app.signal, "signal", lambda *_: None)
    monkeypatch.setattr(os, "environ", environ)
    monkeypatch.setattr(sys, "argv", ["app.py"])
    assert app.main() == 2
    line = f"app.py: DATABASE: {database}: this user may not write there\n"
    assert capsys.readouterr().err == line


# --- Beside a service ----------------------------------------------------------------


def lines_of(printed: str, mark: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith(f"{mark}: ")]


def test_a_service_that_is_well(
    register: Register, settings: dict[str, str], service: Start
) -> None:
    register.publish(slugs(12))
    register.sync()
    register.sync("--hide", register.id("aa"))
    register.web.pages["/topic"] = Answer()
    secrets = {"API_KEY": KEY, "ALERT_URL": f"http://{register.web.host}/topic"}
    running = service(TZ="America/Lima", **secrets).serving()
    settings |= {"PORT": str(running.port), "TZ": "America/Lima", **secrets}
    status, printed, said = call_app("--doctor", "--alert", **settings)
    assert (status, said, lines_of(printed, "!!")) == (0, "", [])
    version, given, port, last, following, hidden, alert = printed.splitlines()
    assert version == f"ok: persona404 {VERSION}"
    assert given.endswith("ALERT_URL sí / set, API_KEY sí / set, PING_URL no, STAFF_KEY no")
    assert KEY not in printed
    assert port == f"ok: PORT {running.port}: {VERSION}"
    assert last.endswith(" -0500, 0 h")
    assert following.endswith(" 03:00 -0500")
    assert hidden == f"ok: personas ocultas / hidden: {register.id('aa')}"
    assert alert == "ok: ALERT_URL: mensaje enviado / sent"
    assert any(asked.startswith("/topic?persona404, prueba") for asked in register.web.asked)


def test_a_service_that_is_down_or_of_another_version(
    register: Register, settings: dict[str, str]
) -> None:
    fill(register.database, [made_up(1)])
    web = register.web
    web.put("/health", '{"version": "0.9"}')
    for port, wrong in (("9", "no responde / no answer"), (web.host.split(":")[1], "0.9")):
        status, printed, _ = call_app("--doctor", PORT=port, **settings)
        assert (status, lines_of(printed, "!!")) == (1, [f"!!: PORT {port}: {wrong} {RESTART}"])


def test_what_an_alert_would_say(register: Register, settings: dict[str, str]) -> None:
    fill(register.database, [made_up(1)])
    with open_database(register.database, 5) as db:
        db.execute(
            "INSERT INTO run (started, ended, outcome, reason) SELECT ended, ended, 'refused',"
            " 'nobody is listed on 1 list pages' FROM last_good"
        )
    status, printed, _ = call_app("--doctor", **settings)
    assert status == 1
    (line,) = [line for line in lines_of(printed, "!!") if "PORT" not in line]
    assert line.startswith("!!: refused: El registro no se leyó bien; la lista no cambió. / ")
    assert "Nobody was found on the register." in line


def test_a_wrong_setting_is_all_that_is_looked_at(settings: dict[str, str]) -> None:
    status, printed, _ = call_app("--doctor", **{**settings, "ALERT_URL": "ntfy.sh/x"})
    assert status == 1
    assert lines_of(printed, "!!")[0].startswith("!!: corrige / correct: app.py: ALERT_URL: must")


def test_options_that_do_not_exist_start_nothing(settings: dict[str, str]) -> None:
    for options in (["--alert"], ["--doctor", "--check"], ["x"]):
        assert call_app(*options, **settings)[0] == 2


def test_a_damaged_table_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise DatabaseUnavailable(sqlite3.DatabaseError("malformed"))

    monkeypatch.setattr(doctor, "findings", fail)
    assert doctor.examine({}, False) == 1
    assert capsys.readouterr().out.startswith("!!: DATABASE: malformed (Qué hacer: ")


def test_a_check_makes_no_database(settings: dict[str, str]) -> None:
    """A lost one must be brought back from a copy: a new one would show whom somebody hid."""
    database = Path(settings["DATABASE"])
    database.unlink(missing_ok=True)
    assert call_app("--check", **settings) == (0, "", "")
    assert not database.exists()
