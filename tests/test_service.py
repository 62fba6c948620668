"""app.py as its users run it: a process with a clock, a child, signals and settings."""

import http.client
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import KEY, ROOT, Answer, Register, Service, slugs, wait_until
from test_sync import Held

import app
from profiles import SettingError

pytestmark = pytest.mark.slow

TWELVE = slugs(12)
Start = Callable[..., Service]


def test_a_new_service_synchronises_at_once(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    running = service().serving()
    running.wait_for("12 active")
    assert running.ask("/api/stats").json["active"] == 12
    assert running.ask("/health").status == 200
    assert running.stop() == 0


def test_a_service_with_a_fresh_list_does_not(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    asked = len(register.web.asked)
    running = service().serving()
    assert running.ask("/api/stats").json["active"] == 12
    running.stop()
    assert len(register.web.asked) == asked


def test_the_trigger_synchronises(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    running = service(API_KEY=KEY, SYNC_AT="off").serving()
    held = Held(register.web, "/file/al")
    assert running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 202
    assert held.reached.wait(30)
    assert running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 409
    assert running.ask("/api/stats").json["active"] == 0
    held.go.set()
    running.wait_for("12 active")
    assert running.ask("/api/stats").json["active"] == 12


def test_the_trigger_sees_a_synchronisation_by_hand(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    held = Held(register.web, "/file/al")
    running = service(API_KEY=KEY, SYNC_AT="off").serving()
    by_hand = threading.Thread(target=register.sync)
    by_hand.start()
    assert held.reached.wait(30)
    assert running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 409
    held.go.set()
    by_hand.join()
    assert running.ask("/api/stats").json["active"] == 12


def test_a_failed_run_does_not_stop_the_next(register: Register, service: Start) -> None:
    running = service(API_KEY=KEY).serving()
    running.wait_for("list page 1 cannot be had: HTTP 404")
    health = running.ask("/health")
    assert health.status == 503
    assert health.json["lastRun"]["reason"] == "list page 1 cannot be had: HTTP 404"
    register.publish(TWELVE)
    # Until the failed child has ended.
    wait_until(lambda: running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 202)
    running.wait_for("12 active")
    assert running.ask("/health").json["lastRun"]["outcome"] == "ok"


def test_a_profile_broken_meanwhile_is_on_record(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(API_KEY=KEY, SYNC_AT="off").serving()
    register.profile.write_text("name = 1")
    running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY)
    running.wait_for("at `$.name`")
    running.wait_for("sync.py ended with status 2")
    assert last_run(running, "failed")["reason"] == "sync.py ended with status 2: the log says why"
    assert running.ask("/health").json["active"] == 12


def test_a_child_that_is_killed_is_on_record(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    held = Held(register.web, "/file/al")
    running = service().serving()
    assert held.reached.wait(30)
    (child,) = children(running.process.pid)
    os.kill(int(child), signal.SIGKILL)
    held.go.set()
    assert last_run(running, "killed")["ended"] is not None


def last_run(running: Service, outcome: str) -> dict[str, str]:
    """What /health tells of the last run once its outcome is `outcome`."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        run: dict[str, str] = running.ask("/health").json["lastRun"]
        if run["outcome"] == outcome:
            return run
    raise AssertionError(f"never {outcome}: {run}")


def test_a_person_removed_by_hand_is_gone_from_the_running_service(
    register: Register, service: Start
) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service().serving()
    assert register.id("aa") in running.ask("/api/personas").body.decode()
    register.sync("--hide", register.id("aa"))
    assert register.id("aa") not in running.ask("/api/personas").body.decode()


def test_sigterm_ends_the_child_too(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    held = Held(register.web, "/file/al")
    running = service().serving()
    assert held.reached.wait(30)
    assert running.stop() == 0
    held.go.set()
    assert register.last_run()["outcome"] == "failed"
    assert register.sync().returncode == 0


def test_sigterm_finishes_the_running_requests(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    tracking = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    with (
        closing(tracking),
        closing(sqlite3.connect(register.database, isolation_level=None)) as db,
    ):
        db.execute("BEGIN IMMEDIATE")  # the view waits for this writer
        tracking.request("GET", f"/api/track?e=view&p={register.id('aa')}&d=a.example")
        running.ask("/api/stats")  # came later: the view is in its thread by now
        running.process.send_signal(signal.SIGTERM)
        db.execute("COMMIT")
        assert tracking.getresponse().status == 200
    assert running.process.wait(30) == 0
    assert register.stats()["views"] == 1


def test_sigint_ends_it_too(register: Register, service: Start) -> None:
    running = service(SYNC_AT="off").serving()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(30) == 0


def test_the_key_and_the_one_cpu_are_not_handed_on(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    held = Held(register.web, "/file/al")
    running = service(API_KEY=KEY).serving()
    assert held.reached.wait(30)
    (child,) = children(running.process.pid)
    assert os.sched_getaffinity(int(child)) == os.sched_getaffinity(0)
    assert len(os.sched_getaffinity(running.process.pid)) == 1
    for file in ("environ", "cmdline"):
        assert KEY.encode() not in Path(f"/proc/{child}/{file}").read_bytes()
    held.go.set()
    running.wait_for("12 active")
    running.stop()
    assert not any(KEY in line for line in running.log)


def children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return "".join((task / "children").read_text() for task in tasks).split()


def test_no_request_is_logged(register: Register, service: Start) -> None:
    running = service(SYNC_AT="off").serving()
    running.ask("/api/stats?marker=1")
    running.ask("/marker")
    running.stop()
    assert not any("marker" in line for line in running.log)


def test_the_demo_register_in_public_is_said(service: Start) -> None:
    running = service(HOST="0.0.0.0", REGISTER="registers/demo.toml", SYNC_AT="off")
    running.wait_for("the persons of the register demo are made up")


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"PORT": "http"}, "PORT: must be a number"),
        ({"API_KEY": "short"}, "API_KEY: must be at least 20 ASCII characters"),
        ({"API_KEY": "ñ" * 20}, "API_KEY: must be at least 20 ASCII characters"),
        ({"API_KEY": "a key with some spaces"}, "API_KEY: must be at least 20 ASCII"),
        ({"SYNC_AT": "3:00"}, "SYNC_AT: must be a time"),
        ({"SYNC_AT": "24:00"}, "SYNC_AT: must be a time"),
        ({"SYNC_AT": "never"}, "SYNC_AT: must be a time"),
        ({"TZ": "Europe/Atlantis"}, "TZ: Europe/Atlantis is no time zone"),
        ({"CONTACT": "nobody"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": ""}, "CONTACT: a mail or https address must tell"),
        ({"REGISTER": "registers/none.toml"}, "registers/none.toml: "),
        ({"DATABASE": "/nowhere/x.db"}, "DATABASE: /nowhere/x.db"),
        ({"DATABASE": "/dev/null/x.db"}, "DATABASE: /dev/null/x.db"),
    ],
)
def test_a_bad_setting_is_named(register: Register, environ: dict[str, str], line: str) -> None:
    settings = {"REGISTER": str(register.profile), "CONTACT": "nadie@registro.example", **environ}
    with pytest.raises(SettingError) as refused:
        app.read_service_settings(settings)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"HOST": "no such host"}, "HOST no such host, PORT 0: "),
        ({"HOST": "192.0.2.1"}, "HOST 192.0.2.1, PORT 0: "),
        ({"PORT": "65536"}, "PORT: must be a number"),
    ],
)
def test_a_bad_setting_stops_the_start(service: Start, environ: dict[str, str], line: str) -> None:
    refused = service(**environ)
    said = refused.wait_for(line)
    assert said.startswith("app.py: ")
    assert refused.process.wait(30) == 2
    assert refused.lines.get(timeout=30) == ""  # that line is all


def test_a_database_of_another_register_stops_the_start(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    register.profile.write_text(register.profile.read_text().replace("prueba", "otra"))
    refused = service()
    refused.wait_for("app.py: DATABASE: it holds the register of prueba-")
    assert refused.process.wait(30) == 2


def test_arguments_stop_the_start() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py"), "--help"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_port_that_is_taken_stops_the_start(service: Start) -> None:
    first = service(SYNC_AT="off").serving()
    second = service(SYNC_AT="off", PORT=str(first.port))
    second.wait_for("Address already in use")
    assert second.process.wait(30) == 2


def test_a_newer_database_stops_the_start(register: Register, service: Start) -> None:
    with closing(sqlite3.connect(register.database)) as db:
        db.execute("PRAGMA user_version = 99")
    refused = service()
    refused.wait_for("its schema version 99 is newer")
    assert refused.process.wait(30) == 2


def test_an_unreadable_register_leaves_the_list_and_tells_health(
    register: Register, service: Start
) -> None:
    register.publish(TWELVE)
    register.sync()
    for path in list(register.web.pages):
        if path.startswith("/file/"):
            register.web.pages[path] = Answer(body=b"<p>Sitio en mantenimiento</p>")
    running = service(API_KEY=KEY, SYNC_AT="off").serving()
    running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY)
    running.wait_for("12 of 12 records are unreadable (fecha 12)")
    health = running.ask("/health").json
    assert health["active"] == 12
    assert "--dry-run" in health["lastRun"]["reason"]
