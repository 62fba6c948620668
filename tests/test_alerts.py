"""The operator is told once of each change; a watcher hears of each good run."""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import get_args

import pytest

from model import WarningName
from serve import alerts, nightly
from serve.alerts import Alerts
from serve.nightly import Synchroniser
from serve.views import Views
from settings import read_settings
from store.database import Reader, open_database, run_lock, transaction, utc_text
from store.hidden import hide, unhide
from store.persons import write_persons
from support.api import Api, fill, made_up
from support.register import Register, slugs
from support.web import Answer, Web

HEAD = f"persona404, prueba, {os.uname().nodename}: "
OK = f"{HEAD}ok\nLa lista está al día. / The list is up to date."


class Operator:
    """Alerts over a database; a phone at /topic and a watcher at /ping of a real server."""

    def __init__(self, web: Web, database: Path):
        self.web, self.database = web, database
        web.pages |= {"/topic": self.ring, "/ping": Answer()}
        self.headers: dict[str, str] = {}  # of the last message
        self.restart()

    def ring(self, handler: BaseHTTPRequestHandler) -> Answer:
        self.headers = dict(handler.headers)
        return Answer()

    def restart(self, **more: str) -> None:
        environ = {
            "SYNC_AT": "off",
            "ALERT_URL": f"http://{self.web.host}/topic",
            "PING_URL": f"http://{self.web.host}/ping",
            "DATABASE": str(self.database),
            **more,
        }
        settings = read_settings(environ)._replace(register="prueba")
        self.views, self.synchroniser = Views(self.database), Synchroniser(self.database)
        reader = Reader(self.database)
        self.alerts = Alerts(settings, reader, self.views, self.synchroniser)

    def hears(self) -> list[str]:
        """What is sent after two checks, a minute apart in the service."""
        before = len(self.web.asked)
        self.alerts.check()
        self.alerts.check()
        return [asked.removeprefix("/topic?") for asked in self.web.asked[before:]]

    def run(self, outcome: str, age: timedelta = timedelta(0), **columns: object) -> None:
        """Put a run on record that ended `age` ago."""
        moment = utc_text(datetime.now(UTC) - age)
        values = {"started": moment, "ended": moment, "outcome": outcome, **columns}
        names = ", ".join(values)
        with open_database(self.database, 5) as db:
            marks = ", ".join(f":{name}" for name in values)
            db.execute(f"INSERT INTO run ({names}) VALUES ({marks})", values)


@pytest.fixture
def operator(web: Web, database: Path) -> Operator:
    fill(database, [made_up(1)], utc_text(datetime.now(UTC) - timedelta(hours=1)))
    operator = Operator(web, database)
    assert operator.hears() == [OK]
    return operator


def test_nothing_is_told_before_the_first_run(web: Web, database: Path) -> None:
    fill(database, [])
    with open_database(database, 5) as db:
        db.execute("DELETE FROM run")
    assert Operator(web, database).hears() == []


def test_that_all_is_well_is_told_at_the_start_and_each_good_run_to_the_watcher(
    operator: Operator,
) -> None:
    operator.run("ok", age=timedelta(minutes=31))
    assert operator.hears() == ["/ping"]
    assert operator.hears() == []
    operator.restart()
    assert operator.hears() == [OK]


def test_a_restart_after_a_good_run_keeps_no_ping_back(operator: Operator) -> None:
    operator.run("ok")
    operator.restart()
    assert operator.hears() == [OK, "/ping"]
    assert operator.hears() == []


def spoil_views(operator: Operator) -> None:
    operator.views.fault = "the disk is full"


def stop_the_clock(operator: Operator) -> None:
    operator.synchroniser.fault = nightly.CANNOT_START


def grow_the_log(operator: Operator) -> None:
    with Path(f"{operator.database}-wal").open("ab") as log:
        log.truncate(64_000_001)


def take_the_file_away(operator: Operator) -> None:
    operator.alerts.reader = Reader(operator.database.with_name("none") / "x.db")


def end_a_run(outcome: str, **columns: object) -> Callable[[Operator], None]:
    return lambda operator: operator.run(outcome, **columns)


def grow_old(operator: Operator) -> None:
    with open_database(operator.database, 5) as db:
        db.execute("UPDATE run SET ended = datetime(ended, '-37 hours') || 'Z'")


@pytest.mark.parametrize(
    ("spoil", "first_line", "detail"),
    [
        (end_a_run("refused", reason="5 of 9 left"), "refused", "la lista no cambió. / Misread"),
        (end_a_run("refused", reason="5 of 9 left"), "refused", "\n5 of 9 left\n"),
        (end_a_run("withheld", reason="x"), "withheld", "Additions and changes wait."),
        (end_a_run("failed", reason="OSError"), "failed", "\nOSError\n"),
        (end_a_run("killed"), "killed", "The synchronisation was killed."),
        (end_a_run("running"), "killed", "The synchronisation was killed."),
        (end_a_run("ok", warnings="hidden"), "hidden", "URGENTE: una persona que ocultaste"),
        (end_a_run("ok", warnings="list"), "list", "A part of the list may be missing."),
        (
            end_a_run("ok", warnings="stamp hidden"),
            "hidden, stamp",
            "\nURGENTE: una persona que ocultaste",
        ),
        (grow_old, "stale", "over 36 hours old"),
        (spoil_views, "views", "cannot be written just now: the disk is full."),
        (stop_the_clock, "clock", nightly.CANNOT_START),
        (grow_the_log, "wal", "The write-ahead log has 64 MB"),
        (
            take_the_file_away,
            "database",
            "cannot be read: its file or folder cannot be opened",
        ),
    ],
)
def test_a_problem_is_told_once(
    operator: Operator, spoil: Callable[[Operator], None], first_line: str, detail: str
) -> None:
    spoil(operator)
    (message,) = [text for text in operator.hears() if text != "/ping"]
    assert message.startswith(f"{HEAD}{first_line}\n")
    assert detail in message
    assert f"\nDesde / since {datetime.now().astimezone():%Y-%m-%d}" in message
    assert message.endswith("What to do: docs/night.md")
    assert operator.hears() == []


def test_every_warning_has_a_headline() -> None:
    assert {*get_args(WarningName)} - {""} <= alerts.HEADLINES.keys()


@pytest.mark.parametrize(
    ("reason", "spanish"),
    [
        ("nobody is listed on 3 list pages; if the register's pages", "No se encontró a nadie"),
        ("9 of 12 would leave (9 absent)", "Saldrían demasiadas personas"),
        (
            "additions and changes wait: 4 of 9 records are unreadable (x)",
            "Los datos de demasiadas",
        ),
        ("additions and changes wait: 6 of 9 persons would lose their photo", "Faltan demasiadas"),
        ("list page 1: HTTP 403: the register does not admit this program; ask", "no admite este"),
        ("list page 1 cannot be read: robots.txt forbids it (the list", "no admite este programa"),
        ("list page 1 cannot be read: its certificate cannot be verified", "El certificado"),
        ("registro.example/robots.txt: HTTP 503", "El registro no responde"),
        ("list page 1 cannot be read: no complete answer (Timeout)", "El registro no responde"),
        (
            "the run took more than the time it has",
            "El registro no responde o tarda",
        ),
        ("list page 2 cannot be read: HTTP 404 (the list was read 4 times)", "La dirección de una"),
        (
            "the register states 9 cards, and 8 were read (the list was read 4",
            "no se pudo leer comp",
        ),
        ("stopped by a signal", "Un reinicio detuvo la lectura"),
        ("a setting or the profile is wrong: --check says which", "Un ajuste o el perfil"),
        ("sync.py ended with status -11: the log says why", "Un error la interrumpió"),
        ("DatabaseUnavailable", "Un error la interrumpió"),
        ("The database cannot be read: the disk is full.", "El disco está lleno"),
    ],
)
def test_each_reason_has_a_sentence(reason: str, spanish: str) -> None:
    sentence = alerts.Fault("refused", reason).sentence
    assert spanish in sentence
    assert " / " in sentence
    assert "--force" not in sentence


def test_an_unknown_reason_stays_as_it_is(operator: Operator) -> None:
    operator.run("refused", reason="two different files have one id")
    assert "the list is unchanged.\ntwo different files have one id\nDesde" in operator.hears()[0]


def test_another_reason_is_told_but_not_other_figures(operator: Operator) -> None:
    for reason, messages in (("5 of 9 would leave", 1), ("6 of 9 would leave", 0), ("HTTP 503", 1)):
        operator.run("refused", reason=reason)
        assert len(operator.hears()) == messages


@pytest.fixture
def lima(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/Lima")
        time.tzset()
        yield
    time.tzset()


def test_since_when_it_really_is_in_local_time(operator: Operator, lima: None) -> None:
    long_ago = "2026-01-31T0"
    for hour, outcome in enumerate(["ok", "refused", "failed", "refused"]):
        times = {"started": f"{long_ago}{hour}:04:29Z", "ended": f"{long_ago}{hour}:09:00Z"}
        operator.run(outcome, **times)
    refused, stale = "since 2026-01-30 20:04 -0500", "since 2026-02-01 07:09 -0500"
    (message,) = [text for text in operator.hears() if text != "/ping"]
    assert re.findall("since .*", message) == [stale, refused]


def test_what_ntfy_shows(operator: Operator) -> None:
    operator.run("ok", warnings="hidden")
    operator.restart(PUBLIC_URL="https://personas.example.org")
    operator.hears()
    assert operator.headers["Title"] == "prueba: hidden"
    assert operator.headers["Priority"] == "urgent"
    assert operator.headers["Click"] == "https://personas.example.org/health"
    operator.run("failed")
    operator.restart()
    operator.hears()
    assert operator.headers["Title"] == "prueba: failed"
    assert operator.headers["Priority"] == "default"
    assert "Click" not in operator.headers


@pytest.mark.parametrize(
    ("sync_at", "ages", "told"),
    [
        ("off", [0.2], True),  # nothing will retry
        ("hourly", [0.2], False),
        ("hourly", [2.2, 1.2, 0.2], False),
        ("hourly", [3.2, 2.2, 1.2, 0.2], True),  # the retries are used
        ("hourly", [4.2], True),  # the clock cannot start one, say
    ],
)
def test_a_refusal_waits_for_its_retries(
    operator: Operator, sync_at: str, ages: list[float], told: bool
) -> None:
    slot = f"{datetime.now() - timedelta(hours=5):%H:%M}"
    with open_database(operator.database, 5) as db:  # the last good one was yesterday's
        db.execute("UPDATE run SET ended = datetime(ended, '-23 hours') || 'Z'")
    operator.restart(SYNC_AT=slot if sync_at == "hourly" else "off")
    for age in ages:
        operator.run("refused", timedelta(hours=age))
    assert bool(operator.hears()) == told
    operator.run("ok")
    assert operator.hears() == [OK, "/ping"]


def test_an_address_that_drips_holds_nothing_back(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    end = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        while not end.wait(0.05):
            handler.connection.send(b"H")

    monkeypatch.setattr(alerts, "SEND_SECONDS", 0.3)
    operator.web.pages["/ping"] = drip
    operator.run("ok", warnings="list")
    operator.hears()
    operator.run("failed")
    asked = operator.hears()
    end.set()
    assert [text.partition("\n")[0] for text in asked] == [f"{HEAD}failed"]
    assert {*caplog.messages} == {
        "PING_URL: no whole answer within 0 s; it is asked again in a minute"
    }


def test_that_it_is_well_again_is_told_once(operator: Operator) -> None:
    operator.run("refused")
    operator.hears()
    operator.run("ok")
    assert operator.hears() == [OK, "/ping"]
    assert operator.hears() == []


def test_a_restart_tells_what_is_wrong_and_then_that_it_is_over(operator: Operator) -> None:
    operator.run("refused")
    operator.hears()
    operator.restart()
    assert operator.hears()[0].startswith(HEAD + "refused")
    operator.run("ok")
    assert operator.hears() == [OK, "/ping"]


def test_what_passes_within_a_minute_is_not_told(operator: Operator) -> None:
    operator.views.fault = "another program holds its lock"
    operator.alerts.check()
    operator.views.fault = None
    assert operator.hears() == []


def test_a_problem_more_is_told_with_the_one_before(operator: Operator) -> None:
    operator.run("refused", reason="x")
    operator.hears()
    spoil_views(operator)
    assert operator.hears()[0].startswith(HEAD + "views, refused\n")


def test_one_that_comes_and_goes_does_not_hold_back_one_that_lasts(operator: Operator) -> None:
    operator.run("refused")
    operator.views.fault = "another program holds its lock"
    operator.alerts.check()
    operator.views.fault = None
    operator.alerts.check()
    assert operator.web.asked[-1].startswith(f"/topic?{HEAD}refused\n")


def test_a_service_that_never_reads_the_register_is_told(operator: Operator) -> None:
    with open_database(operator.database, 5) as db:
        db.execute("DELETE FROM run")
    assert operator.hears() == []
    operator.alerts.began = utc_text(datetime.now(UTC) - timedelta(hours=37))
    assert operator.hears()[0].startswith(HEAD + "stale\n")


def test_a_run_that_goes_on_is_not_told(operator: Operator) -> None:
    operator.run("running")
    with run_lock(operator.database):
        assert operator.hears() == []


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (Answer(500), "HTTP 500"),
        (Answer(302, headers=(("Location", "/ping"),)), "it redirects"),
    ],
)
def test_what_cannot_be_sent_is_sent_later(
    operator: Operator, caplog: pytest.LogCaptureFixture, answer: Answer, cause: str
) -> None:
    operator.run("refused")
    operator.web.pages["/topic"] = answer
    operator.hears()
    assert caplog.messages == [f"ALERT_URL: {cause}; it is asked again in a minute"]
    operator.web.pages["/topic"] = Answer()
    assert operator.hears()[0].startswith(HEAD + "refused")


def test_a_watcher_may_redirect(operator: Operator) -> None:
    operator.web.pages["/ping"] = Answer(301, headers=(("Location", "/new"),))
    operator.web.pages["/new"] = Answer()
    operator.run("ok")
    assert operator.hears() == ["/ping", "/new"]
    assert operator.hears() == []


def test_a_locked_database_hides_no_run_that_was_killed(operator: Operator) -> None:
    operator.run("running")
    with open_database(operator.database, 5) as db:
        db.execute("BEGIN IMMEDIATE")
        assert operator.hears() == []
        db.execute("ROLLBACK")
    assert operator.hears()[0].startswith(HEAD + "killed\n")


def test_a_phone_that_is_away_is_no_secret_in_the_log(
    operator: Operator, caplog: pytest.LogCaptureFixture
) -> None:
    settings = operator.alerts.settings
    nowhere = "http://127.0.0.1:9/secret-topic"
    operator.alerts.settings = settings._replace(alert_url=nowhere, ping_url=nowhere)
    operator.run("ok", warnings="hidden")
    operator.hears()
    assert "ALERT_URL: Connection refused; it is asked again in a minute" in caplog.messages
    assert "PING_URL: Connection refused; it is asked again in a minute" in caplog.messages
    assert "secret-topic" not in caplog.text


def test_a_fault_of_its_own_does_not_end_the_thread(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    minutes = iter(range(2))
    monkeypatch.setattr(operator.alerts, "check", lambda: 1 / 0)
    monkeypatch.setattr(alerts.time, "sleep", lambda seconds: next(minutes))
    with pytest.raises(StopIteration):
        operator.alerts.check_each_minute()
    assert caplog.messages == ["alerts: ZeroDivisionError: division by zero"] * 2


def test_a_long_reason_is_cut(operator: Operator) -> None:
    operator.run("refused", reason="á" * 9000)
    assert len(operator.hears()[0].encode()) < 4096


# --- Hides ---------------------------------------------------------------------------


def hide_one(operator: Operator, number: int, by: str, since: str = "2026-01-31T18:00:00Z") -> str:
    """Somebody is hidden; what is told of it."""
    person = made_up(number)
    with open_database(operator.database, 5) as db:
        with transaction(db):
            write_persons(db, [person])
        hide(db, [person.id], by)
        db.execute("UPDATE hidden SET since = ? WHERE id = ?", [since, person.id])
    place = {"panel": "desde el panel / from the panel", "server": "en el servidor / on the server"}
    return (
        f"{HEAD}hide\nSe ocultó a alguien. / Somebody was hidden.\n"
        f"{person.id} ({place[by]}, {alerts.local_text(since)})"
    )


@pytest.mark.parametrize("by", ["panel", "server"])
def test_a_hide_is_told_once_by_its_id_alone(operator: Operator, by: str) -> None:
    told = hide_one(operator, 7, by)
    assert operator.hears() == [told]
    operator.restart()
    assert operator.hears() == [OK]


def test_who_is_hidden_anew_is_told_anew(operator: Operator) -> None:
    hide_one(operator, 7, "panel")
    operator.hears()
    with open_database(operator.database, 5) as db:
        hide(db, ["prueba-7"], "panel")  # is so already
        assert operator.hears() == []
        unhide(db, ["prueba-7"])
        assert operator.hears() == []
    again = hide_one(operator, 7, "server", since="2026-02-01T18:00:00Z")
    assert operator.hears() == [again]


def test_several_hides_are_one_message(operator: Operator) -> None:
    for number in range(1, 31):
        hide_one(operator, number, "server", since=f"2026-01-31T18:00:{number:02}Z")
    first, second = operator.hears()
    told = [re.findall(r"prueba-\d+", message) for message in (first, second)]
    assert told == [[f"prueba-{n}" for n in numbers] for numbers in (range(1, 21), range(21, 31))]
    assert (max(map(len, (first, second))) < alerts.LONGEST, operator.hears()) == (True, [])


def test_a_hide_that_cannot_be_told_is_told_later(operator: Operator) -> None:
    told = hide_one(operator, 7, "panel")
    operator.web.pages["/topic"] = Answer(500)
    assert operator.hears() == [told, told]  # refused twice
    operator.web.pages["/topic"] = Answer()
    assert operator.hears() == [told]


def test_a_locked_database_has_no_hide_told_twice(operator: Operator, patient: None) -> None:
    told = hide_one(operator, 7, "panel")
    with open_database(operator.database, 5) as db:
        db.execute("BEGIN IMMEDIATE")
        assert operator.hears() + operator.hears() == [told]
        db.execute("ROLLBACK")
    assert operator.hears() == []
    operator.restart()  # by now it is on record
    assert operator.hears() == [OK]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is waited for a moment only."""
    monkeypatch.setattr(alerts, "open_database", lambda path, _: open_database(path, 0))


def test_without_an_address_no_hide_is_told_or_noted(operator: Operator) -> None:
    told = hide_one(operator, 7, "panel")
    operator.alerts.settings = operator.alerts.settings._replace(alert_url=None)
    assert operator.hears() == []
    operator.restart()
    assert operator.hears() == [OK, told]


# --- What a synchronisation records for it -------------------------------------------


@pytest.fixture
def stamps(register: Register) -> Register:
    """A register with somebody who was stamped, and who is hidden."""
    register.publish([*slugs(12), slugs(13)[12]._replace(stamp="FUE ENCONTRADA")])
    register.sync()
    register.sync("--hide", register.id("aa"))
    return register


def test_a_stamp_in_a_new_form_is_a_warning(stamps: Register) -> None:
    stamps.publish([*slugs(12), slugs(13)[12]._replace(stamp="¡YA ESTÁ EN CASA!")])
    stamps.sync()
    assert stamps.last_run()["warnings"] == "stamp"


def test_a_hidden_child_who_is_not_recognised_is_a_warning(stamps: Register) -> None:
    stamps.publish(slugs(15)[1:])
    stamps.sync()
    assert stamps.last_run()["warnings"] == "stamp hidden"


@pytest.mark.parametrize("left", [1, 9, 15])
def test_no_message_names_a_person(stamps: Register, left: int) -> None:
    stamps.publish(slugs(15)[left:])
    stamps.sync()
    operator = Operator(stamps.web, stamps.database)
    hide, first = [text for text in operator.hears() if text != "/ping"]
    assert first.startswith(HEAD + ("hidden, stamp" if left == 1 else "refused"))
    assert hide.startswith(f"{HEAD}hide\n")
    assert re.findall(r"prueba-\d+", hide) == [stamps.id("aa")]
    assert not re.search(r"prueba-\d", first)
    assert not re.search(r"inventad|https?:|file/|foto|ficticia", hide + first, re.I)
    assert "--force" not in first


def test_health_tells_of_a_large_write_ahead_log(filled: Path) -> None:
    api = Api(filled)
    api.get("/api/stats")
    with Path(f"{filled}-wal").open("ab") as log:
        log.truncate(64_000_001)
    reply = api.ask("/health")
    assert reply.status == 503
    assert reply.json["detail"].startswith("The write-ahead log has 64 MB")
