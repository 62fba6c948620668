"""sync.py as its users run it: a process, a real register over HTTP, a real database."""

import os
import pty
import re
import signal
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import pytest
from conftest import Answer, Listed, Register, Web, child_environ, slugs, sync_command

import sync
from profiles import load_profile
from register import LeftOut, Person, Reading

ERROR_500 = Answer(500, b"broken")
TWELVE = slugs(12)  # aa to al


# --- The register changes ------------------------------------------------------------


def test_a_second_run_changes_nothing(register: Register) -> None:
    register.publish(TWELVE)
    assert register.sync().returncode == 0
    before = register.api().get("/api/personas").body
    again = register.sync()
    assert "12 listed, 0 added, 0 found, 0 unreadable, 12 active" in again.stdout
    assert register.api().get("/api/personas").body == before


def test_a_good_run_is_one_whoever_listens(register: Register) -> None:
    register.publish(TWELVE)
    command = sync_command(register.profile, register.database)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, env=child_environ(), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 0
    assert b"12 active (and its line could not be printed" in done.stderr


def test_who_is_not_listed_any_more_is_found_and_erased(register: Register) -> None:
    gone = Listed("zoraida", lugar="Lugar Inolvidable, Salta", foto="/fotos/inolvidable.jpg")
    register.publish([*TWELVE, gone])
    register.sync()
    assert "zoraida" in register.names()
    secrets = [b"Zoraida", b"Inolvidable", b"inolvidable.jpg", b"file/zoraida"]
    assert all(secret in register.bytes_on_disk() for secret in secrets)
    register.publish(TWELVE)
    assert register.sync().returncode == 0
    assert "zoraida" not in register.names()
    assert register.stats()["found"] == 1
    assert [secret for secret in secrets if secret in register.bytes_on_disk()] == []


def test_a_stamped_card_counts_as_absent(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.publish([TWELVE[0]._replace(stamp="¡Fue encontrada!"), *TWELVE[1:]])
    register.sync()
    assert "aa" not in register.names()
    assert register.stats()["found"] == 1


def test_a_new_person_is_added(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.publish([*TWELVE, Listed("nueva")])
    assert "1 added, 0 found" in register.sync().stdout
    assert "nueva" in register.names()


def test_a_changed_photo_is_served(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.publish([TWELVE[0]._replace(foto="/fotos/otra.jpg"), *TWELVE[1:]])
    register.sync()
    listed = register.api().get("/api/personas?limit=100").json["personas"]
    assert [p["foto"] for p in listed if p["id"] == register.id("aa")] == [
        f"https://{register.web.host}/fotos/otra.jpg"
    ]
    assert b"fotos/aa.jpg" not in register.bytes_on_disk()


def test_a_person_listed_again_leaves_the_found_with_the_same_id(register: Register) -> None:
    for listed, found in ((TWELVE, 0), (TWELVE[1:], 1), (TWELVE, 0)):
        register.publish(listed)
        register.sync()
        assert register.stats()["found"] == found
    assert register.id("aa") in register.api().get("/api/personas").text


def test_a_card_that_lost_its_link_is_still_a_listed_person(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.web.edit("/lista?n=1", "href='/file/aa'", "href='javascript:abrir(1)'")
    assert "12 listed, 0 added, 0 found, 1 unreadable, 12 active" in register.sync().stdout


def test_who_has_come_of_age_is_erased_not_found(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.publish([TWELVE[0]._replace(edad="18 años"), *TWELVE[1:]])
    register.sync()
    assert "aa" not in register.names()
    assert register.stats()["found"] == 0
    assert b"Aa Inventado" not in register.bytes_on_disk()


def test_who_was_found_and_is_listed_of_age_is_not_found_any_more(register: Register) -> None:
    for listed, found in (
        (TWELVE, 0),
        (TWELVE[1:], 1),
        ([TWELVE[0]._replace(edad="18 años"), *TWELVE[1:]], 0),
    ):
        register.publish(listed)
        register.sync()
        assert register.stats()["found"] == found


def test_an_adult_is_passed_over_whatever_else_is_wrong(register: Register) -> None:
    adults = [Listed(f"adulto{n}", edad="40 años", fecha="ayer") for n in range(5)]
    register.publish([*TWELVE, *adults])
    assert "12 listed, 12 added, 0 found, 0 unreadable" in register.sync().stdout


def test_one_dead_file_page_costs_that_record_alone(register: Register) -> None:
    register.publish(TWELVE)
    register.web.pages["/file/aa"] = ERROR_500
    run = register.sync()
    assert run.returncode == 0
    assert "aa" not in register.names()
    assert len(register.names()) == 11
    assert f"{register.id('aa')} (list page 1, card 1): file page: HTTP 500" in run.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"fecha": "pronto"},
        {"fecha": "31/02/2024"},
        {"fecha": "01/01/2999"},
        {"edad": "mucha"},
        {"lugar": ""},
        {"foto": "javascript:alert(1)"},
    ],
)
def test_who_is_listed_but_unreadable_stays_as_stored(
    register: Register, change: dict[str, str]
) -> None:
    without = register.profile.read_text().replace("placeholder", "# placeholder")
    register.profile.write_text(without)
    register.publish(TWELVE)
    register.sync()
    before = register.api().get("/api/personas").body
    register.publish([TWELVE[0]._replace(**change), *TWELVE[1:]])
    assert "0 found, 1 unreadable, 12 active" in register.sync().stdout
    assert register.api().get("/api/personas").body == before
    assert register.stats()["found"] == 0


# --- Refusals ------------------------------------------------------------------------


def second_page_fails(register: Register) -> None:
    register.web.pages["/lista?n=2"] = ERROR_500


def second_page_is_empty(register: Register) -> None:
    register.web.put("/lista?n=2", "<p>Volvemos pronto</p>")


def nobody_is_listed(register: Register) -> None:
    register.publish([])


def no_card_is_known(register: Register) -> None:
    for n in (1, 2):
        register.web.edit(f"/lista?n={n}", "li>", "div>")


def the_markup_has_changed(register: Register) -> None:
    for slug in ("aa", "ab", "ac"):
        register.web.put(f"/file/{slug}", "<div>Fecha 01/02/2024, Edad 12</div>")


def half_are_missing(register: Register) -> None:
    register.publish(TWELVE[:5])


def robots_txt_fails(register: Register) -> None:
    register.web.pages["/robots.txt"] = ERROR_500


def robots_txt_forbids(register: Register) -> None:
    register.web.put("/robots.txt", "User-agent: *\nDisallow: /*?n=2")


@pytest.mark.parametrize(
    ("breakage", "reason", "forcible"),
    [
        (second_page_fails, "list page 2 cannot be had: HTTP 500", False),
        (second_page_is_empty, "list page 2 has no card, unlike", False),
        (robots_txt_fails, "robots.txt: HTTP 500", False),
        (robots_txt_forbids, "list page 2 cannot be had: robots.txt forbids it", False),
        (nobody_is_listed, "nobody is listed on 1 list pages", True),
        (no_card_is_known, "nobody is listed on 2 list pages", True),
        (the_markup_has_changed, "3 of 12 records are unreadable (fecha 3)", True),
        (half_are_missing, "only 5 of 12 stored persons are still listed", True),
    ],
)
def test_a_bad_night_is_refused(register: Register, breakage, reason: str, forcible: bool) -> None:
    register.publish(TWELVE)
    register.sync()
    before = register.api().get("/api/personas").body
    breakage(register)
    refused = register.sync()
    assert refused.returncode == 1
    assert reason in refused.stderr
    assert register.api().get("/api/personas").body == before
    run = register.last_run()
    assert (run["outcome"], reason in run["reason"]) == ("refused", True)
    assert reason in register.api().get("/health").json["lastRun"]["reason"]
    assert register.sync("--force").returncode == (0 if forcible else 1)


def test_force_stores_an_empty_list(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.publish([])
    register.sync("--force")
    assert register.stats()["active"] == 0
    assert register.stats()["found"] == 12
    assert register.last_run()["reason"].startswith("forced, although nobody is listed")


def test_a_small_register_may_lose_many_at_once(register: Register) -> None:
    register.publish(TWELVE[:9])
    register.sync()
    register.publish(TWELVE[:2])
    assert register.sync().returncode == 0
    assert register.names() == {"aa", "ab"}


# --- Hidden --------------------------------------------------------------------------


def test_a_hidden_person_is_gone_at_once_and_for_good(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    done = register.sync("--hide", register.id("aa"))
    assert (done.returncode, str(register.database) in done.stdout) == (0, True)
    for _ in range(2):  # before and after another synchronisation
        assert "aa" not in register.names()
        assert (register.stats()["active"], register.stats()["found"]) == (11, 0)
        assert b"Aa Inventado" not in register.bytes_on_disk()
        register.sync()
    register.sync("--unhide", register.id("aa"))
    assert "aa" not in register.names()
    register.sync()
    assert "aa" in register.names()


def test_a_hidden_person_is_no_longer_counted_as_found(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.publish(TWELVE[1:])
    register.sync()
    register.sync("--hide", register.id("aa"))
    register.sync()
    assert register.stats()["found"] == 0


def test_hiding_needs_no_contact(register: Register) -> None:
    assert register.sync("--hide", "prueba-1", CONTACT="").returncode == 0


def test_hiding_somebody_unknown_is_said(register: Register) -> None:
    assert "was NOT on the list" in register.sync("--hide", "prueba-1").stdout
    assert "prueba-1 is no longer hidden" in register.sync("--unhide", "prueba-1").stdout
    assert "prueba-1 was not hidden" in register.sync("--unhide", "prueba-1").stdout


@pytest.mark.parametrize("id", ["otra-1", "prueba-", "prueba-x", "1", "prueba-1 ", ""])
def test_an_id_of_another_register_is_not_hidden(register: Register, id: str) -> None:
    refused = register.sync("--hide", id)
    assert (refused.returncode, register.database.exists()) == (2, False)
    assert "is no id of the register prueba" in refused.stderr


# --- While a synchronisation runs ----------------------------------------------------


class Held:
    """A file page that answers only when it is let go."""

    def __init__(self, web: Web, path: str):
        self.reached, self.go = Event(), Event()
        self.page = web.pages[path]
        web.pages[path] = self.answer

    def answer(self, _: BaseHTTPRequestHandler) -> Answer:
        self.reached.set()
        assert self.go.wait(30)
        assert isinstance(self.page, Answer)
        return self.page


@pytest.fixture
def running(register: Register):
    """A synchronisation of TWELVE, over an older list, that waits at its last file page."""
    register.publish(TWELVE[:11])
    register.sync()
    register.publish(TWELVE)
    held = Held(register.web, "/file/al")
    process = subprocess.Popen(
        sync_command(register.profile, register.database),
        env=child_environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert held.reached.wait(30)
    yield process, held
    held.go.set()
    process.communicate(timeout=30)


def test_a_second_one_says_so(register: Register, running) -> None:
    process, held = running
    second = register.sync()
    assert second.returncode == 75
    assert "another synchronisation" in second.stderr
    held.go.set()
    assert process.wait(30) == 0
    assert "al" in register.names()


def test_hide_works_meanwhile(register: Register, running) -> None:
    process, held = running
    assert register.sync("--hide", register.id("aa")).returncode == 0
    assert "aa" not in register.names()
    held.go.set()
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
    register: Register, running, number: int, status: int, outcome: str
) -> None:
    process, held = running
    before = register.api().get("/api/personas").body
    process.send_signal(number)
    assert process.wait(30) == status
    assert register.last_run()["outcome"] == outcome
    assert register.api().get("/api/personas").body == before
    with closing(sqlite3.connect(register.database)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    held.go.set()
    assert register.sync().returncode == 0
    assert "al" in register.names()


def test_a_killed_run_is_called_so_by_the_next(register: Register, running) -> None:
    process, held = running
    process.kill()
    process.wait(30)
    held.go.set()
    register.sync()
    with closing(sqlite3.connect(register.database)) as db:
        outcomes = [row[0] for row in db.execute("SELECT outcome FROM run ORDER BY id")]
    assert outcomes == ["ok", "killed", "ok"]


# --- Dry run -------------------------------------------------------------------------


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("stored", [False, True])
def test_a_dry_run_writes_nothing(register: Register, stored: bool) -> None:
    register.publish(TWELVE)
    if stored:
        register.sync()
    before = snapshot(register.database.parent)
    register.publish([*TWELVE[1:], Listed("nueva")])
    shown = register.sync("--dry-run")
    assert shown.returncode == 0
    assert f"would be found: 1 {register.id('aa')}" in shown.stdout or not stored
    assert snapshot(register.database.parent) == before


def test_a_dry_run_takes_an_empty_file_for_a_new_database(register: Register) -> None:
    register.publish(TWELVE)
    register.database.touch()
    assert "would be added: 12" in register.sync("--dry-run").stdout


def test_a_dry_run_tells_a_refusal(register: Register) -> None:
    register.publish([])
    shown = register.sync("--dry-run")
    assert shown.returncode == 1
    assert "would be refused: nobody is listed" in shown.stdout


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_dry_run_on_a_terminal_names_persons(register: Register, terminal: bool) -> None:
    register.publish([*TWELVE, Listed("ilegible", fecha="ayer")])
    command = sync_command(register.profile, register.database, "--dry-run")
    if terminal:
        leader, follower = pty.openpty()
        process = subprocess.Popen(command, env=child_environ(), stdout=follower, stderr=follower)
        os.close(follower)
        shown = b""
        while chunk := read_terminal(leader):
            shown += chunk
        os.close(leader)
        assert process.wait(30) == 0
        assert b"person 13 of 13" in shown
        assert re.search(rb"id +nombre +fecha +edad +lugar +foto +url\r\n", shown)
    else:
        shown = subprocess.run(command, env=child_environ(), capture_output=True).stdout
    assert register.id("aa").encode() in shown
    assert (b"Aa Inventado" in shown) == terminal
    assert b"card 3): fecha: malformed" in shown


def read_terminal(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # EIO: the last process has closed it
        return b""


def test_logs_name_nobody(register: Register) -> None:
    register.publish([*TWELVE, Listed("ilegible", fecha="ayer")])
    register.web.pages["/file/aa"] = ERROR_500
    register.web.pages["/file/ab"] = Answer(302, headers=(("Location", "https://a.example/ab"),))
    shown = register.sync()
    assert "3 of 13 records are unreadable" in shown.stderr
    with closing(sqlite3.connect(register.database)) as db:
        recorded = str(db.execute("SELECT * FROM run").fetchall())
    for text in (shown.stdout, shown.stderr, recorded):
        assert "Inventado" not in text
        assert "/file/" not in text


# --- Settings and databases ----------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"CONTACT": ""}, "CONTACT: a mail or https address must tell"),
        ({"CONTACT": "call me"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": "http://a.example"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": "ñ@a.example"}, "CONTACT: must be a mail or https address"),
        ({"TZ": "Mars/Olympus"}, "TZ: Mars/Olympus is no time zone"),
        ({"TZ": "/etc/passwd"}, "TZ: /etc/passwd is no time zone"),
    ],
)
def test_a_bad_setting_is_one_line(register: Register, environ: dict[str, str], line: str) -> None:
    refused = register.sync(**environ)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"sync.py: {line}")
    assert refused.stderr.count("\n") == 1
    assert not register.database.exists()


@pytest.mark.parametrize("database", ["/", "/nowhere/x.db"])
def test_a_database_needs_a_folder(register: Register, database: str) -> None:
    refused = register.sync("--database", database)
    assert refused.returncode == 2
    assert "DATABASE: " in refused.stderr


def test_the_settings_come_from_the_environment(register: Register) -> None:
    register.publish(TWELVE)
    command = sync_command(register.profile, register.database)[:2]
    environ = child_environ(REGISTER=str(register.profile), DATABASE=str(register.database))
    assert subprocess.run(command, env=environ, cwd="/", capture_output=True).returncode == 0
    assert len(register.names()) == 12


def test_a_database_of_another_register_is_refused(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    register.profile.write_text(register.profile.read_text().replace("prueba", "otra"))
    refused = register.sync()
    assert refused.returncode == 2
    assert "not otra" in refused.stderr
    assert register.stats()["active"] == 12


def test_a_newer_schema_is_refused(register: Register) -> None:
    with closing(sqlite3.connect(register.database)) as db:
        db.execute("PRAGMA user_version = 99")
    refused = register.sync()
    assert refused.returncode == 1
    assert "schema version 99 is newer than this program's 2" in refused.stderr


def test_the_schema_can_be_applied_twice(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    with closing(sqlite3.connect(register.database)) as db:
        db.executescript((sync.HERE / "schema.sql").read_text())
        assert db.execute("PRAGMA user_version").fetchone() == (sync.SCHEMA_VERSION,)
    assert len(register.names()) == 12


def test_a_list_of_schema_version_1_is_taken_over(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    with closing(sqlite3.connect(register.database)) as db:
        for name in ("added", "changed", "removed"):
            db.execute(f"DROP TRIGGER person_{name}")
        db.executescript("DROP TABLE generation; PRAGMA user_version = 1;")
    api = register.api()
    assert api.get("/api/personas").json["total"] == 12
    register.sync("--hide", register.id("aa"))
    assert api.get("/api/personas").json["total"] == 11


def test_a_backup_that_is_put_back_is_read_while_it_is_written(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    backup = register.database.with_suffix(".backup")
    with closing(sqlite3.connect(register.database)) as db:
        db.execute("VACUUM INTO ?", [str(backup)])
    backup.rename(register.database)
    assert len(register.names()) == 12
    with closing(sqlite3.connect(register.database)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_list_that_cannot_be_announced_is_stored(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    generation = Path(f"{register.database}.generation")
    generation.unlink()
    generation.mkdir()
    register.publish(TWELVE[1:])
    done = register.sync()
    assert done.returncode == 0
    assert "running services are not told of the new list" in done.stderr
    assert len(register.names()) == 11


def test_the_generation_belongs_to_the_owner_of_the_database(register: Register) -> None:
    register.publish(TWELVE)
    sync.open_database(register.database, 5).close()
    register.database.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(register.database, 65534, 65534)
    register.sync()
    made, database = Path(f"{register.database}.generation").stat(), register.database.stat()
    assert (made.st_mode, made.st_uid) == (database.st_mode, database.st_uid)
    assert made.st_size == 16


# --- Old views -----------------------------------------------------------------------


def test_old_views_are_added_up_per_day_and_site(register: Register) -> None:
    register.publish(TWELVE)
    register.sync()
    today = datetime.now(UTC).date()
    old, kept = str(today - timedelta(days=61)), str(today - timedelta(days=60))
    seen = [(day, site, f"prueba-{n}", 1) for day in (old, kept) for site in "ab" for n in range(3)]
    with closing(sqlite3.connect(register.database)) as db, db:
        db.executemany("INSERT INTO view VALUES (?, ?, ?, ?)", seen)
    before = register.stats()
    for _ in range(2):  # the second finds nothing to do
        register.sync()
        with closing(sqlite3.connect(register.database)) as db:
            rows = db.execute("SELECT * FROM view ORDER BY day, site, person").fetchall()
        assert rows[:2] == [(old, "a", "", 3), (old, "b", "", 3)]
        assert len(rows) == 2 + 6
    after = register.stats()
    assert (after["views"], after["sites"]) == (before["views"], before["sites"]) == (12, 2)


def test_a_refused_run_adds_up_old_views_too(register: Register) -> None:
    register.sync()
    with closing(sqlite3.connect(register.database)) as db, db:
        db.execute("INSERT INTO view VALUES ('2020-01-01', 'a', 'prueba-1', 2)")
        db.execute("INSERT INTO view VALUES ('2020-01-01', 'a', '', 3)")
    assert register.sync().returncode == 1
    with closing(sqlite3.connect(register.database)) as db:
        assert db.execute("SELECT * FROM view").fetchall() == [("2020-01-01", "a", "", 5)]


def test_a_file_that_is_no_database_is_left_alone(register: Register) -> None:
    register.database.write_bytes(b"not a database, but somebody's file " * 50)
    refused = register.sync()
    assert refused.returncode == 1
    assert "file is not a database" in refused.stderr
    assert register.database.read_bytes().startswith(b"not a database")


def test_programs_that_start_together_make_one_database(tmp_path: Path) -> None:
    code = f"import sync; sync.open_database(sync.Path({str(tmp_path / 'x.db')!r}), 20).close()"
    command = [sync_command(tmp_path, tmp_path)[0], "-c", code]
    processes = [subprocess.Popen(command, cwd=sync.HERE) for _ in range(8)]
    assert [process.wait(60) for process in processes] == [0] * 8


# --- Compare, without a database -----------------------------------------------------


def person(id: str, nombre: str = "N") -> Person:
    return Person(
        id, nombre, "01/02/2024", "1 año", "L", "https://a.example/", "https://a.example/"
    )


@pytest.mark.parametrize(
    ("stored", "read", "unreadable", "outside", "hidden", "active", "added", "found", "erased"),
    [
        ("", "ab", "", "", "", "ab", "ab", "", ""),
        ("ab", "b", "", "", "", "b", "", "a", ""),
        ("ab", "b", "a", "", "", "ab", "", "", ""),
        ("b", "b", "a", "", "", "b", "", "", ""),
        ("ab", "b", "", "a", "", "b", "", "", "a"),
        ("ab", "ab", "", "", "a", "b", "", "", "a"),
        ("b", "ab", "", "", "a", "b", "", "", ""),
        ("b", "b", "a", "", "a", "b", "", "", ""),
        ("a", "", "", "", "", "", "", "a", ""),
    ],
)
def test_compare(
    stored: str,
    read: str,
    unreadable: str,
    outside: str,
    hidden: str,
    active: str,
    added: str,
    found: str,
    erased: str,
) -> None:
    reading = Reading(
        persons={id: person(id) for id in read},
        unreadable=[LeftOut(id, 1, 1, "fecha", "missing") for id in unreadable],
        outside=set(outside),
    )
    changes = sync.compare({id: person(id) for id in stored}, reading, set(hidden))
    assert sorted(p.id for p in changes.persons) == sorted(active)
    assert (changes.added, changes.found, changes.erased) == (set(added), set(found), set(erased))
    assert changes.changed == set()


def test_a_stamped_person_is_found_whoever_shares_the_name() -> None:
    lost = LeftOut(None, 1, 1, "url", "missing", "A")
    reading = Reading(unreadable=[lost], passed_over={"a"}, outside={"b"})
    stored = {"a": person("a", "A"), "b": person("b", "A"), "c": person("c", "A")}
    changes = sync.compare(stored, reading, set())
    assert (changes.found, changes.erased, {p.id for p in changes.persons}) == ({"a"}, {"b"}, {"c"})


def test_compare_sees_what_has_changed() -> None:
    reading = Reading(persons={"a": person("a", "new"), "b": person("b")})
    stored = {"a": person("a"), "b": person("b")}
    assert sync.compare(stored, reading, set()).changed == {"a"}


@pytest.mark.parametrize(("name", "found"), [("A", "b"), ("Á.", "b"), ("X", "ab"), (None, "ab")])
def test_a_card_without_a_file_is_whoever_has_its_name(name: str | None, found: str) -> None:
    reading = Reading(unreadable=[LeftOut(None, 1, 1, "url", "missing", name)])
    stored = {"a": person("a", "A"), "b": person("b", "B")}
    assert sync.compare(stored, reading, set()).found == set(found)


@pytest.mark.parametrize(
    ("stored", "read", "unreadable", "refused"),
    [
        (0, 0, 0, True),
        (0, 1, 0, False),
        (0, 4, 1, False),
        (0, 7, 2, True),
        (10, 5, 0, False),
        (10, 4, 0, True),
        (10, 4, 1, False),
        (9, 1, 0, False),
    ],
)
def test_refusal(
    register: Register, stored: int, read: int, unreadable: int, refused: bool
) -> None:
    reading = Reading(
        persons={str(n): person(str(n)) for n in range(read)},
        unreadable=[
            LeftOut(str(n), 1, 1, "fecha", "missing") for n in range(read, read + unreadable)
        ],
    )
    held = {str(n): person(str(n)) for n in range(stored)}
    assert bool(sync.refusal(held, reading, load_profile(register.profile))) == refused
