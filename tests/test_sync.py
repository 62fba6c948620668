"""sync.py over a made-up register and a real database; as a process in test_sync_process.py."""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from store.database import open_database, run_lock, utc_now
from store.hidden import hide
from support import ROOT
from support.register import (
    Listed,
    Register,
    slugs,
)
from support.scrape import add_to_profile, edit_profile
from support.web import Answer

pytestmark = pytest.mark.no_sockets
ERROR_500 = Answer(500, b"broken")
TWELVE = slugs(12)  # aa to al


# --- The register changes ------------------------------------------------------------


def test_a_second_run_changes_nothing(register: Register) -> None:
    register.publish(TWELVE)
    assert register.sync().returncode == 0
    before = register.api().ask("/api/personas").body
    again = register.sync()
    assert "12 listed, 0 added, 0 found, 0 moved, 0 unreadable, 12 active" in again.stdout
    assert register.api().ask("/api/personas").body == before


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
    register.first_sync()
    register.publish([TWELVE[0]._replace(stamp="¡Fue encontrada!"), *TWELVE[1:]])
    register.sync()
    assert "aa" not in register.names()
    assert register.stats()["found"] == 1


def test_a_new_person_is_added(register: Register) -> None:
    register.publish(TWELVE)
    register.first_sync()
    register.publish([*TWELVE, Listed("nueva")])
    assert "1 added, 0 found" in register.sync().stdout
    assert "nueva" in register.names()


def test_a_changed_photo_is_served(register: Register) -> None:
    register.publish(TWELVE)
    register.first_sync()
    register.publish([TWELVE[0]._replace(foto="/fotos/otra.jpg"), *TWELVE[1:]])
    register.sync()
    listed = register.api().get("/api/personas?limit=100")["personas"]
    assert [p["foto"] for p in listed if p["id"] == register.id("aa")] == [
        f"https://{register.web.host}/fotos/otra.jpg"
    ]
    assert b"fotos/aa.jpg" not in register.bytes_on_disk()


def test_a_person_listed_again_leaves_the_found_with_the_same_id(register: Register) -> None:
    for listed, found in ((TWELVE, 0), (TWELVE[1:], 1), (TWELVE, 0)):
        register.publish(listed)
        register.sync()
        assert register.stats()["found"] == found
    assert register.id("aa") in str(register.api().get("/api/personas"))


def test_a_card_that_lost_its_link_is_still_a_listed_person(register: Register) -> None:
    register.publish(TWELVE)
    register.first_sync()
    register.web.edit("/lista?n=1", "href='/file/aa'", "href='javascript:abrir(1)'")
    assert "12 listed, 0 added, 0 found, 0 moved, 1 unreadable, 12 active" in register.sync().stdout


def test_who_has_come_of_age_is_erased_not_found(register: Register) -> None:
    register.publish(TWELVE)
    register.first_sync()
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
    assert "12 listed, 12 added, 0 found, 0 moved, 0 unreadable" in register.sync().stdout


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
    register.first_sync()
    before = register.api().ask("/api/personas").body
    register.publish([TWELVE[0]._replace(**change), *TWELVE[1:]])
    assert "0 found, 0 moved, 1 unreadable, 12 active" in register.sync().stdout
    assert register.api().ask("/api/personas").body == before
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
        (second_page_fails, "list page 2 cannot be read: HTTP 500", False),
        (second_page_is_empty, "list page 2 has nobody new", False),
        (robots_txt_fails, "robots.txt: HTTP 500", False),
        (robots_txt_forbids, "list page 2 cannot be read: robots.txt forbids it", False),
        (nobody_is_listed, "nobody is listed on 1 list pages", True),
        (no_card_is_known, "nobody is listed on 2 list pages", True),
        (half_are_missing, "7 of 12 would leave", True),
    ],
)
def test_a_bad_night_is_refused(
    register: Register, breakage: Callable[[Register], None], reason: str, forcible: bool
) -> None:
    register.publish(TWELVE)
    register.first_sync()
    before = register.api().ask("/api/personas").body
    breakage(register)
    refused = register.sync()
    assert refused.returncode == 1
    assert reason in refused.stderr
    assert register.api().ask("/api/personas").body == before
    run = register.last_run()
    assert (run["outcome"], reason in run["reason"]) == ("refused", True)
    assert reason in register.api().get("/health")["lastRun"]["reason"]
    assert register.sync("--force").returncode == (0 if forcible else 1)


def test_force_stores_an_empty_list(register: Register) -> None:
    register.publish(TWELVE)
    register.first_sync()
    register.publish([])
    register.sync("--force")
    assert register.stats()["active"] == 0
    assert register.stats()["found"] == 12
    assert register.last_run()["reason"].startswith("forced, although nobody is listed")


def test_a_small_register_may_lose_many_at_once(register: Register) -> None:
    register.publish(TWELVE[:5])
    register.sync()
    register.publish(TWELVE[:1])
    assert register.sync().returncode == 0
    assert register.names() == {"aa"}


# --- Hidden --------------------------------------------------------------------------


def test_a_hidden_person_is_gone_at_once_and_for_good(register: Register) -> None:
    register.publish(TWELVE)
    register.first_sync()
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
    register.first_sync()
    register.publish(TWELVE[1:])
    register.sync()
    register.sync("--hide", register.id("aa"))
    register.sync()
    assert register.stats()["found"] == 0


def test_hiding_needs_the_database_alone(register: Register) -> None:
    register.profile.write_text("half an edit")
    with run_lock(register.database):
        hidden = register.sync("--hide", "prueba-1", CONTACT="", TZ="Mars/Olympus")
    assert hidden.returncode == 0


@pytest.mark.parametrize(
    "form", ["http://{}/file/aa", "https://{}/file/aa/", "https://{}//file/aa?utm_source=x#foto"]
)
def test_a_child_is_hidden_and_unhidden_by_the_address(register: Register, form: str) -> None:
    register.publish(TWELVE)
    register.first_sync()
    address = form.format(register.web.host)
    assert "was on the list and is off it" in register.sync("--hide", address).stdout
    register.sync()
    assert "aa" not in register.names()
    assert "was hidden already" in register.sync("--hide", address).stdout
    assert "no longer hidden: " in register.sync("--unhide", address).stdout
    register.sync()
    assert "aa" in register.names()


def test_hiding_somebody_unknown_is_said(register: Register) -> None:
    assert "was NOT on the list" in register.sync("--hide", "prueba-1").stdout
    assert "no longer hidden: prueba-1\n" in register.sync("--unhide", "prueba-1").stdout
    again = register.sync("--unhide", "prueba-1")
    assert (again.returncode, "nobody was hidden so: prueba-1\n" in again.stdout) == (1, True)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("www.registro.example/x", "an address begins with https://"),
        ("//registro.example/x", "an address begins with https://"),
        ("ftp://registro.example/x", "an address begins with https://, not with ftp:"),
        ("https:///x", "not a web address"),
    ],
)
@pytest.mark.parametrize("option", ["--hide", "--unhide"])
def test_what_is_wrong_with_an_address_is_said(
    register: Register, option: str, address: str, reason: str
) -> None:
    refused = register.sync(option, address)
    assert refused.stderr == (
        f"sync.py: {address} is no id of the register prueba (prueba-NUMBER), nor the address of a"
        f" file page: {reason}\n"
    )


@pytest.mark.parametrize("id", ["otra-1", "prueba-", "prueba-x", "1", "prueba-1 ", ""])
def test_an_id_of_another_register_is_not_hidden(register: Register, id: str) -> None:
    refused = register.sync("--hide", id)
    assert (refused.returncode, register.database.exists()) == (2, False)
    assert "is no id of the register prueba" in refused.stderr


# --- Who is hidden, and what a stolen key did ----------------------------------------

OLD, NEW = "2026-01-30T23:30:00Z", "2026-01-31T18:00:00Z"  # two hides of the panel


@pytest.fixture
def hidden(register: Register) -> Register:
    """The server has hidden aa, the panel ab, at OLD, and ac, at NEW."""
    register.publish(TWELVE)
    register.first_sync()
    register.sync("--hide", register.id("aa"))
    for slug, since in (("ab", OLD), ("ac", NEW)):
        with open_database(register.database, 5) as db:
            hide(db, [register.id(slug)], by="panel")
        set_since(register, slug, since)
    set_since(register, "aa", NEW)
    return register


@pytest.fixture
def buenos_aires(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/Argentina/Buenos_Aires")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def set_since(register: Register, slug: str, since: str) -> None:
    register.change("UPDATE hidden SET since = ? WHERE id = ?", since, register.id(slug))


def ids_of_hidden(register: Register) -> set[str]:
    return {line.split()[0] for line in register.sync("--hidden").stdout.splitlines()}


def test_who_is_hidden_is_listed_by_id_time_and_place(hidden: Register) -> None:
    run = hidden.sync("--hidden")
    first = f"{hidden.id('ab')}  {OLD}  panel"
    rest = [f"{hidden.id('aa')}  {NEW}  server", f"{hidden.id('ac')}  {NEW}  panel"]
    assert (run.returncode, run.stdout.splitlines()) == (0, [first, *sorted(rest)])


def test_that_nobody_is_hidden_is_an_empty_list(register: Register) -> None:
    assert register.sync("--hidden")[:2] == (0, "")


@pytest.mark.parametrize(
    ("since", "still"),
    [
        ("2026-01-31T18:00:00Z", "aa ab"),
        ("2026-01-31T15:00", "aa ab"),  # in Buenos Aires
        ("2026-01-31T18:00:01Z", "aa ab ac"),
        ("2026-01-31T15:01", "aa ab ac"),
        ("2026-01-31", "aa ab"),  # its midnight is 03:00 UTC
        ("2026-01-30T20:30", "aa"),
        ("2026-01-30T23:30:00+00:00", "aa"),
        ("2020-01-01", "aa"),
    ],
)
def test_what_the_panel_hid_since_a_time_is_undone(
    hidden: Register, since: str, still: str, buenos_aires: None
) -> None:
    run = hidden.sync("--unhide", "--since", since)
    expected = {hidden.id(slug) for slug in still.split()}
    back = [hidden.id(slug) for slug in ("ab", "ac") if slug not in still.split()]
    assert ids_of_hidden(hidden) == expected
    assert run.returncode == (0 if back else 1)
    said = "a nadie / nobody was hidden so"
    if back:
        said = f"ya no se oculta / no longer hidden: {' '.join(sorted(back))}"
    assert run.stdout == f"{hidden.database}: {said}\n"
    assert len(hidden.names()) == 9  # until the register has been read
    hidden.sync()
    assert hidden.names() == {one.slug for one in TWELVE} - set(still.split())
    assert hidden.change("SELECT DISTINCT id FROM hidden_mark ORDER BY 1") == [
        (id,) for id in sorted(expected)
    ]


def test_one_whom_the_panel_hid_is_unhidden_by_id(hidden: Register) -> None:
    assert hidden.sync("--unhide", hidden.id("ab")).returncode == 0
    assert ids_of_hidden(hidden) == {hidden.id("aa"), hidden.id("ac")}


@pytest.mark.parametrize("since", ["ayer", "31/01/2026", "15:00", "9999-12-31T23:59:59-12:00"])
def test_what_is_no_time_is_one_line(hidden: Register, since: str) -> None:
    run = hidden.sync("--unhide", "--since", since)
    line = f"sync.py: --since: {since} is no time such as 2026-01-31T15:00\n"
    assert run == (2, "", line)
    assert len(ids_of_hidden(hidden)) == 3


@pytest.mark.parametrize(
    "options",
    [
        ["--unhide"],
        ["--unhide", ""],
        ["--unhide", "--since", ""],
        ["--unhide", "prueba-1", "--since", OLD],
        ["--since", OLD],
        ["--hidden", "--since", OLD],
        ["--hide", "prueba-1", "--since", OLD],
        ["--hidden", "--unhide", "prueba-1"],
    ],
)
def test_a_half_command_unhides_nobody(
    hidden: Register, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        hidden.sync(*options)
    assert exit.value.code == 2
    assert len(ids_of_hidden(hidden)) == 3


def test_a_hide_tells_no_more_than_a_moment_and_where(hidden: Register) -> None:
    """And nothing of the three is left in the files."""
    assert not re.search(rb"A[abc] Inventado|/file/a[abc]\b|fotos/a[abc]\b", hidden.bytes_on_disk())


# --- A record that cannot be read for 14 days ----------------------------------------


def status_of(register: Register, slug: str) -> int:
    return register.api().ask(f"/api/personas/{register.id(slug)}").status


@pytest.fixture
def unread(register: Register) -> Register:
    """aa is listed, but could not be read for 15 days: she is no longer shown."""
    register.publish(TWELVE)
    register.first_sync()
    register.publish([TWELVE[0]._replace(edad="mucha"), *TWELVE[1:]])
    register.sync()
    assert status_of(register, "aa") == 200
    register.change("UPDATE unread SET since = ?", utc_now(days_ago=15))
    register.sync()
    assert "aa" not in register.names()
    return register


def test_an_id_cannot_be_told_while_its_record_cannot_be_read(unread: Register) -> None:
    for _ in range(3):
        assert status_of(unread, "aa") == 503
        assert unread.sync().returncode == 0
    assert unread.change("SELECT count(*) FROM found") == [(0,)]


@pytest.mark.parametrize(
    ("published", "status"),
    [
        ([], 404),
        ([TWELVE[0]], 200),
        ([TWELVE[0]._replace(edad="18 años")], 404),
        ([TWELVE[0]._replace(edad="mucha", stamp="FUE ENCONTRADA")], 404),
    ],
    ids=["gone", "readable", "of age", "stamped"],
)
def test_it_can_be_told_once_the_card_has_gone_or_is_readable(
    unread: Register, published: list[Listed], status: int
) -> None:
    unread.publish([*published, *TWELVE[1:]])
    unread.sync()
    assert status_of(unread, "aa") == status


def test_who_is_hidden_while_the_record_cannot_be_read_is_like_never_listed(
    unread: Register,
) -> None:
    never = unread.api().ask("/api/personas/prueba-99")
    unread.sync("--hide", unread.id("aa"))
    for _ in range(2):
        assert unread.api().ask(f"/api/personas/{unread.id('aa')}") == never
        unread.sync()
    assert never.status == 404


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


def test_a_dry_run_elsewhere_than_on_a_terminal_names_nobody(register: Register) -> None:
    register.publish([*TWELVE, Listed("ilegible", fecha="ayer")])
    shown = register.sync("--dry-run")
    assert register.id("aa") in shown.stdout
    assert "Aa Inventado" not in shown.stdout
    assert "card 3): fecha: malformed" in shown.stdout


def test_a_safeguard_that_matches_nobody_is_no_mistake(register: Register) -> None:
    register.publish(TWELVE)
    shown = register.sync("--dry-run").stdout
    assert "safeguard that matches nobody today: pass_over[0]\n" in shown
    assert "in the profile: pass_over" not in shown


@pytest.mark.parametrize(
    ("slug", "several", "word"),
    [
        ("ana and luis", None, "and"),
        ("ana AND luis", None, "and"),
        ("ana e luis", None, "e"),
        ("matti ja maija", None, "ja"),
        ("ana y de", None, None),
        ("anand", None, None),
        ("ana and luis", "", None),
        ("ana e", r"\s(?-i:e)\s", None),
        ("ana i luis", "[/;&+]", "i"),
    ],
)
def test_a_dry_run_warns_of_names_that_look_like_several(
    register: Register, slug: str, several: str | None, word: str | None
) -> None:
    if several is not None:
        add_to_profile(register, f"several = '{several}'")
    register.publish([Listed(slug), *TWELVE])
    register.web.pages[f"/file/{quote(slug)}"] = register.web.pages[f"/file/{slug}"]
    shown = register.sync("--dry-run").stdout
    assert "read: 2 list pages, 13 persons" in shown
    lines = re.findall("`several` does not look for .+", shown)
    assert lines == ([f'`several` does not look for "{word}", in 1 names'] if word else [])


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


def test_a_bad_setting_is_one_line(register: Register) -> None:
    refused = register.sync(CONTACT="")
    assert refused.returncode == 2
    assert refused.stderr.startswith("sync.py: CONTACT: a mail or https address must tell")
    assert refused.stderr.count("\n") == 1
    assert not register.database.exists()


def test_a_database_of_another_register_is_refused(register: Register) -> None:
    register.publish(TWELVE)
    register.first_sync()
    register.profile = register.profile.rename(register.profile.with_name("otra.toml"))
    refused = register.sync()
    assert (refused.returncode, register.stats()["active"]) == (2, 12)
    assert "DATABASE: it holds the register prueba, not otra" in refused.stderr


def test_a_file_that_is_no_database_is_a_failure(register: Register) -> None:
    register.database.write_bytes(b"not a database, but somebody's file " * 50)
    refused = register.sync()
    assert refused.returncode == 1
    assert "file is not a database (its file is damaged" in refused.stderr


def test_check_reads_and_writes_nothing(register: Register) -> None:
    assert register.sync("--check").returncode == 0
    assert (register.web.asked, register.database.exists()) == ([], False)
    register.profile.write_text("card = 1")
    refused = register.sync("--check")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert str(register.profile) in refused.stderr


def test_a_wrong_path_is_one_line(register: Register) -> None:
    register.publish(TWELVE)
    folder = register.profile.parent
    (folder / "file").touch()
    for options in (
        ["--dry-run", "--save", str(folder / "file")],
        ["--save", str(folder / "file" / "below")],
        ["--dry-run", "--save", "/proc/pages"],
        ["--dry-run", "--pages", str(folder / "nowhere")],
        ["--dry-run", "--pages", str(folder / "file")],
        ["--database", str(folder)],
        ["--database", str(folder / "nowhere" / "x.db")],
        ["--database", str(folder / ("x" * 300))],
        ["--who", "x", "--database", str(folder / ("x" * 300))],
        ["--register", str(folder / f"{'x' * 300}.toml")],
        ["--unhide", "--since", "9999-12-31T23:59-12:00"],
        ["--unhide", "--since", "0001-01-01T00:00+12:00"],
    ):
        wrong = register.sync(*options)
        lines = [line for line in wrong.stderr.splitlines() if line.startswith("sync.py: ")]
        assert (wrong.returncode, len(lines), "Traceback" in wrong.stderr) == (2, 1, False), options


def test_a_path_that_may_not_be_looked_into_is_one_line(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)  # what /root answers to the service's user
    wrong = register.sync("--hidden")
    assert wrong.returncode == 2
    assert wrong.stderr == f"sync.py: {register.database}: Permission denied\n"


@pytest.mark.parametrize("option", ["", "--hidden", "--who=x", "--report", "--hide=prueba-1"])
def test_root_makes_no_database_beside_the_service_s(
    register: Register, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """Without the service's settings it would be data/NAME.db, which nothing ever erases."""
    etc = register.profile.parent / "etc"
    etc.mkdir()
    (etc / "persona404.env").touch()
    monkeypatch.setattr("sync.ETC", etc)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    refused = register.sync(*filter(None, [option]), DATABASE="")
    assert refused.returncode == 2
    assert refused.stderr.startswith("sync.py: DATABASE: not set; root runs this with the settings")
    assert not (ROOT / "data" / "prueba.db").exists()


def test_a_way_that_another_one_replaces_is_no_mistake(register: Register) -> None:
    edit_profile(register, "edad = [", 'edad = [{ file = "p", label = "Años" }, ')
    register.publish(TWELVE)
    shown = register.sync("--dry-run").stdout
    assert "of no use today, as another way serves: fields.edad[0]\n" in shown
    assert "in the profile: fields" not in shown
    register.publish([*TWELVE, Listed("ilegible", edad="mucha")])
    assert "in the profile: fields.edad[0]: its place is there" in register.sync("--dry-run").stdout


def test_a_page_that_was_not_saved_is_to_be_saved(register: Register) -> None:
    """A broken `next` leaves one saved page: mended, it asks for more."""
    edit_profile(register, 'next = "a.next"', 'next = "a.gone"')
    register.publish(TWELVE)
    saved = str(register.profile.parent / "saved")
    assert register.sync("--dry-run", "--save", saved).returncode == 0
    edit_profile(register, 'next = "a.gone"', 'next = "a.next"')
    shown = register.sync("--dry-run", "--pages", saved)
    assert "list page 2 cannot be read: there is no such page in the folder: --save" in shown.stderr
