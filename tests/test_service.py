"""app.py as its users run it: a process with a clock, a child, signals and settings."""

import http.client
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from store.database import open_database
from support import KEY, ROOT, STAFF_KEY
from support.api import fill
from support.register import Register, child_environ, slugs
from support.service import Service, wait_until
from support.web import Answer, HeldPage

pytestmark = pytest.mark.slow

TWELVE = slugs(12)
QUICK_ALERTS = (  # app.py, checking for problems ten times a second
    sys.executable,
    "-c",
    "import sys, app, serve.alerts; serve.alerts.CHECK_SECONDS = 0.1; sys.exit(app.main())",
)
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
    page = HeldPage(register.web, "/file/al")
    assert running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 202
    assert page.reached.wait(30)
    assert running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 409
    assert running.ask("/api/stats").json["active"] == 0
    page.release.set()
    running.wait_for("12 active")
    assert running.ask("/api/stats").json["active"] == 12


def test_the_trigger_sees_a_synchronisation_by_hand(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    page = HeldPage(register.web, "/file/al")
    running = service(API_KEY=KEY, SYNC_AT="off").serving()
    with register.start_sync() as by_hand:
        assert page.reached.wait(30)
        assert running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 409
        page.release.set()
        by_hand.communicate(timeout=30)
    assert running.ask("/api/stats").json["active"] == 12


def test_a_failed_run_does_not_stop_the_next(register: Register, service: Start) -> None:
    running = service(API_KEY=KEY).serving()
    running.wait_for("list page 1 cannot be read: HTTP 404")
    health = running.ask("/health")
    assert health.status == 503
    assert health.json["lastRun"]["reason"].startswith("list page 1 cannot be read: HTTP 404")
    register.publish(TWELVE)
    # Until the failed child has ended.
    wait_until(lambda: running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 202)
    running.wait_for("12 active")
    assert running.ask("/health").json["lastRun"]["outcome"] == "ok"


def test_the_operator_is_told(register: Register, service: Start) -> None:
    phone, watcher = f"http://{register.web.host}/topic", f"http://{register.web.host}/ping"
    register.web.pages |= {"/topic": Answer(), "/ping": Answer()}

    head = f"persona404, prueba, {os.uname().nodename}: "

    def told(start: str) -> bool:
        return any(asked.startswith(start) for asked in register.web.asked)

    register.sync()
    settings = {"ALERT_URL": phone, "PING_URL": watcher, "API_KEY": KEY, "SYNC_AT": "off"}
    running = service(**settings, command=QUICK_ALERTS).serving()
    wait_until(lambda: told(f"/topic?{head}refused\n"))
    assert not told("/ping")
    register.publish(TWELVE)
    wait_until(lambda: running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY).status == 202)
    wait_until(lambda: told(f"/topic?{head}ok\n") and told("/ping"))
    running.stop()
    assert not any("topic" in line or "/ping" in line for line in running.log)


def test_the_panel_hides_and_the_operator_is_told(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    register.web.pages["/topic"] = Answer()
    ids = [register.id(one.slug) for one in TWELVE]
    settings = {
        "SYNC_AT": "off",
        "STAFF_KEY": STAFF_KEY,
        "ALERT_URL": f"http://{register.web.host}/topic",
    }

    def hide(running: Service, id: str) -> int:
        return running.ask(f"/api/personas/{id}/hide", "POST", X_API_Key=STAFF_KEY).status

    def told(id: str) -> bool:
        return any(f"\n{id} (desde el panel" in asked for asked in register.web.asked)

    running = service(**settings, command=QUICK_ALERTS).serving()
    assert [hide(running, id) for id in ids[:6]] == [200] * 5 + [429]
    assert running.ask("/api/stats").json["active"] == 7
    wait_until(lambda: all(told(id) for id in ids[:5]))
    running.stop()
    again = service(**settings).serving()
    assert [hide(again, id) for id in ids[4:6]] == [200, 429]
    assert not told(ids[5])
    again.stop()
    assert not any(STAFF_KEY in line or "Inventado" in line for line in running.log + again.log)


def test_a_misspelt_setting_is_named_once(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    running = service(DATABSE="x.db")
    running.wait_for("DATABSE: there is no such setting; is DATABASE meant?")
    running.wait_for("12 active")
    running.stop()
    assert sum("DATABSE" in line for line in running.log) == 1


def test_a_profile_broken_meanwhile_is_on_record(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(API_KEY=KEY, SYNC_AT="off").serving()
    register.profile.write_text("name = 1")
    running.ask("/api/scrape/trigger", "POST", X_API_Key=KEY)
    running.wait_for("at `$.name`")
    running.wait_for("sync.py ended with status 2")
    assert (
        last_run(running, "failed")["reason"]
        == "a setting or the profile is wrong: --check says which"
    )
    assert running.ask("/health").json["active"] == 12


def test_a_child_that_is_killed_is_on_record(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    page = HeldPage(register.web, "/file/al")
    running = service().serving()
    assert page.reached.wait(30)
    (child,) = children(running.process.pid)
    os.kill(int(child), signal.SIGKILL)
    page.release.set()
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
    page = HeldPage(register.web, "/file/al")
    running = service().serving()
    assert page.reached.wait(30)
    assert running.stop() == 0
    page.release.set()
    assert register.last_run()["outcome"] == "failed"
    assert register.sync().returncode == 0


def test_sigterm_finishes_the_running_requests(register: Register, service: Start) -> None:
    fill(register.database, [])
    with open_database(register.database, 5) as db:  # so much that adding it up takes a while
        db.execute(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 300000)"
            " INSERT INTO site_day SELECT date('now'), n, 1 FROM n"
        )
        db.execute(
            "INSERT INTO site (number, host, first_day, views)"
            " SELECT site, 'h' || site, day, 1 FROM site_day"
        )
    running = service(SYNC_AT="off", API_KEY=KEY).serving()
    asking = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    with closing(asking):
        asking.request("GET", "/api/sites", headers={"X-API-Key": KEY})
        # One such sum at a time: a second one is refused while the first is under way.
        wait_until(lambda: running.ask("/api/sites", X_API_Key=KEY).status == 503)
        running.process.send_signal(signal.SIGTERM)
        assert asking.getresponse().status == 200
    assert running.process.wait(30) == 0


def test_sigterm_writes_the_views(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    running.ask(f"/api/track?e=view&p={register.id('aa')}&d=a.example")
    assert running.stop() == 0
    assert register.stats()["views"] == 1


def test_a_second_sigterm_loses_no_view(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    with open_database(register.database, 5) as db:
        db.execute("BEGIN IMMEDIATE")  # the last flush waits for this
        running.ask(f"/api/track?e=view&p={register.id('aa')}&d=a.example")
        running.wait_for("views wait in memory")
        running.process.terminate()
        wait_until(lambda: ignores_sigterm(running.process.pid))  # it is stopping
        running.process.terminate()
        db.execute("ROLLBACK")
    assert running.process.wait(30) == 0
    assert register.stats()["views"] == 1


def ignores_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
    return bool(ignored & 1 << (signal.SIGTERM - 1))


def test_views_are_written_within_a_second_or_so(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    running = service(SYNC_AT="off").serving()
    running.ask(f"/api/track?e=view&p={register.id('aa')}&d=a.example")
    wait_until(lambda: running.ask("/api/stats").json["views"] == 1)


def test_sigint_ends_it_too(register: Register, service: Start) -> None:
    running = service(SYNC_AT="off").serving()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(30) == 0


def test_the_keys_and_the_one_cpu_are_not_handed_on(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    page = HeldPage(register.web, "/file/al")
    misspelt = {"STAFFKEY": f"{STAFF_KEY}-2"}
    running = service(API_KEY=KEY, STAFF_KEY=STAFF_KEY, **misspelt).serving()
    assert page.reached.wait(30)
    (child,) = children(running.process.pid)
    assert os.sched_getaffinity(int(child)) == os.sched_getaffinity(0)
    assert len(os.sched_getaffinity(running.process.pid)) == 1
    for file in ("environ", "cmdline"):
        told = Path(f"/proc/{child}/{file}").read_bytes()
        assert [key for key in (KEY, STAFF_KEY) if key.encode() in told] == []
    page.release.set()
    running.wait_for("12 active")
    running.stop()
    assert not any(key in line for line in running.log for key in (KEY, STAFF_KEY))


def children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return "".join((task / "children").read_text() for task in tasks).split()


def test_no_request_is_logged(register: Register, service: Start) -> None:
    running = service(SYNC_AT="off").serving()
    running.ask("/api/stats?marker=1")
    running.ask("/marker")
    running.stop()
    assert not any("marker" in line for line in running.log)


def test_that_nothing_is_synchronised_by_itself_is_said(service: Start) -> None:
    service(SYNC_AT="off").wait_for("SYNC_AT=off: nothing is synchronised unless a timer or cron")


def test_no_other_process_of_the_user_may_read_the_secrets() -> None:
    code = """
import ctypes, app, waitress
waitress.create_server = lambda *_, **__: print(ctypes.CDLL(None).prctl(3)) or exit()
app.main()
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=child_environ(), capture_output=True, text=True)
    assert done.stdout == "0\n"  # PR_GET_DUMPABLE: /proc/PID/environ and mem are root's


def test_the_demo_register_in_public_is_said(service: Start) -> None:
    running = service(HOST="0.0.0.0", REGISTER="registers/demo.toml", SYNC_AT="off")
    running.wait_for("the persons of the register demo are made up")


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        (
            {"HOST": "no-such-host.invalid"},
            "HOST no-such-host.invalid, PORT 0: Invalid host/port specified.: HOST is an address of"
            " this machine (behind nginx leave it unset), PORT a free one\n",
        ),
        (
            {"HOST": "192.0.2.1"},
            "HOST 192.0.2.1, PORT 0: [Errno 99] Cannot assign requested address: HOST is an",
        ),
        ({"PORT": "65536"}, "PORT: must be a number"),
    ],
)
def test_a_bad_setting_stops_the_start(service: Start, environ: dict[str, str], line: str) -> None:
    refused = service(**environ)
    said = refused.wait_for(line)
    assert said.startswith("app.py: ")
    assert refused.process.wait(30) == 2
    assert refused.lines.get(timeout=30) == ""  # that line is all


def test_a_broken_profile_stops_the_start(register: Register, service: Start) -> None:
    register.profile.write_text("card = 1")
    refused = service()
    refused.wait_for(str(register.profile))
    assert refused.process.wait(30) == 2
    assert refused.lines.get(timeout=30) == ""  # that line is all


def test_the_web_process_has_no_html_parser() -> None:
    code = "import sys, app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    parsers = {"scrape", "bs4", "html5lib", "soupsieve", "requests", "msgspec", "webencodings"}
    assert {name.partition(".")[0] for name in done.stdout.split()} & parsers == set()


def test_a_database_of_another_register_stops_the_start(register: Register, service: Start) -> None:
    register.publish(TWELVE)
    register.sync()
    other = register.profile.rename(register.profile.with_name("otra.toml"))
    refused = service(REGISTER=str(other))
    refused.wait_for(
        "app.py: DATABASE: it holds the register prueba, not otra: each register needs a file of"
        " its own\n"
    )
    assert refused.process.wait(30) == 2


def test_arguments_stop_the_start() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py"), "--help"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_port_that_is_taken_stops_the_start(service: Start) -> None:
    first = service(SYNC_AT="off").serving()
    second = service(SYNC_AT="off", PORT=str(first.port))
    second.wait_for("Address already in use: HOST is an address of this machine")
    assert second.process.wait(30) == 2


def test_a_database_of_another_version_stops_the_start(register: Register, service: Start) -> None:
    with closing(sqlite3.connect(register.database)) as db:
        db.execute("PRAGMA user_version = 99")
    refused = service()
    refused.wait_for("its schema has version 99, and this program reads version 3")
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
    running.wait_for("12 of 12 records are unreadable (12 fecha: missing)")
    assert "--dry-run" in last_run(running, "withheld")["reason"]
    assert running.ask("/health").json["active"] == 12
