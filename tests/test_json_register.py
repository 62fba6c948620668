"""Registers that are APIs: a list in JSON, a record in JSON, a page for people elsewhere.

INTERPOL's yellow notices, with made-up persons (tests/registers/interpolar/SOURCES.md); the page
for people is on another host, which is never asked.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from model import Reading, Skipped, person_id
from scrape.fetch import Refused
from scrape.profile import load_profile
from support import ROOT
from support.register import Register
from support.scrape import add_to_profile, edit_profile, read
from support.web import Answer

pytestmark = pytest.mark.no_sockets
SAVED = ROOT / "tests" / "registers" / "interpolar"
PROFILE = (ROOT / "registers" / "interpolar.toml").read_text()
LIST = "/notices/v1/yellow?nationality=AR&ageMax=17&resultPerPage=20&page="
NOTICE = "/notices/v1/yellow/2024-"
PEOPLE = "https://registro.example/How-we-work/Notices/Yellow-Notices/View-Yellow-Notices#2024-"
NO_PHOTO = "foto: malformed, and the profile has no placeholder"
NO_CHARSET = (("Content-Type", "application/json"),)


@pytest.fixture
def interpol(register: Register) -> Register:
    """INTERPOL's register on `register.web`, read with the profile of the repository."""
    host = register.web.host
    for path in (SAVED / "pages" / "notices").rglob("*.html"):
        asked = f"/{path.relative_to(SAVED / 'pages')}".removesuffix(".html")
        body = path.read_bytes().replace(
            rb"https:\/\/registro.example", b"http://%s" % host.encode()
        )
        body = body.replace(b"https://registro.example", b"http://%s" % host.encode())
        register.web.pages[asked] = Answer(body=body, headers=NO_CHARSET)
    for number in (3, 4):
        register.web.pages[f"{LIST}{number}"] = register.web.pages[f"{LIST}1"]
    text = re.sub(r"start = \[.*?\]", f'start = "http://{host}{LIST}1"', PROFILE, flags=re.DOTALL)
    text = text.replace("www.interpol.int", "registro.example")
    register.profile = register.profile.with_name("interpolar.toml")
    register.profile.write_text(text)
    add_to_profile(register, 'pause = 0\nplaceholder = "https://registro.example/silueta.png"')
    return register


def edit_json(register: Register, path: str, change: Callable[[Any], object]) -> None:
    """Change the JSON that is served at `path`."""
    page = register.web.pages[path]
    assert isinstance(page, Answer)
    value = json.loads(page.body)
    change(value)
    register.web.pages[path] = page._replace(body=json.dumps(value).encode())


def put_json(register: Register, path: str, value: object) -> None:
    register.web.pages[path] = Answer(body=json.dumps(value).encode(), headers=NO_CHARSET)


def id_of(number: int) -> str:
    return person_id("interpolar", f"{PEOPLE}{number}")


def fault(reading: Reading, number: int) -> str:
    """Why a notice is unreadable."""
    record: Skipped = next(r for r in reading.unreadable if r.id == id_of(number))
    return f"{record.field}: {record.reason}"


def test_the_saved_answers_read_as_expected(interpol: Register) -> None:
    text = (SAVED / "expected.json").read_text()
    host = interpol.web.host
    persons = json.loads(text.replace("registro.example/notices", f"{host}/notices"))
    for added in (12, 0):
        run = interpol.sync()
        assert f"{added} added, 0 found, 0 moved, 2 unreadable" in run.stdout, run.stderr
        listed = interpol.api().get("/api/personas")["personas"]
        for person in listed:
            assert re.fullmatch("interpolar-[0-9]+", person.pop("id"))
        assert sorted(listed, key=str) == sorted(persons, key=str)


def test_only_the_list_and_the_records_are_asked_for(interpol: Register) -> None:
    interpol.sync()
    interpol.web.asked.clear()
    interpol.sync()
    notices = [f"{NOTICE}{number}" for number in range(900001, 900015)]
    assert interpol.web.asked == ["/robots.txt", f"{LIST}1", f"{LIST}2", *notices]


@pytest.mark.parametrize(
    ("trap", "number", "field", "value"),
    [
        ("17 today, 14 then", 900001, "edad", "14 años"),
        ("born on 29 February", 900002, "edad", "6 años"),
        ("gone on a birthday", 900003, "edad", "7 años"),
        ("still 17", 900012, "edad", "17 años"),
        ("under a year", 900004, "edad", "7 meses"),
        ("one month", 900010, "edad", "1 mes"),
        ("one year", 900009, "edad", "1 año"),
        ("no forename", 900004, "nombre", "SINNOMBRE DE MUESTRA"),
        ("spaces", 900008, "nombre", "HUGO IVAN APÓCRIFO FÁBULA"),
        ("escapes of PHP", 900002, "nombre", "BRUNO ÍTALO INVENTADO SUPUESTO"),
        ("escapes of Java", 900009, "nombre", "INÉS O'FICTICIO ÑANDÚ"),
        ("no escapes, no charset", 900005, "lugar", "ALDEA DEL AÑO NUNCA, UY"),
        ("no place", 900003, "lugar", "BR"),
        ("the country of the case", 900011, "lugar", "Ciudad Quimera, PY"),
        ("a related notice's name", 900011, "nombre", "KIRA CUENTO DE MENTIRA"),
        ("a related notice's address", 900011, "url", f"{PEOPLE}900011"),
        ("a related notice's photo", 900011, "foto", f"{NOTICE}900011/images/6000021"),
        ("no photo", 900005, "foto", "https://registro.example/silueta.png"),
        ("same surname, date, place: one", 900001, "nombre", "AMBAR EJEMPLO FICTICIA"),
        ("same surname, date, place: two", 900014, "nombre", "NICO EJEMPLO FICTICIA"),
    ],
)
def test_a_trap_in_a_record(
    interpol: Register, trap: str, number: int, field: str, value: str
) -> None:
    read_value: str = getattr(read(interpol).persons[id_of(number)], field)
    assert read_value.removeprefix(f"https://{interpol.web.host}") == value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"date_of_birth": "2009"}, "nacimiento: malformed"),
        ({"date_of_birth": "2009/03"}, "nacimiento: malformed"),
        ({"date_of_birth": None}, "edad: missing"),
        ({"date_of_event": None}, "fecha: missing"),
        ({"date_of_event": "2024/03"}, "fecha: malformed"),
        ({"date_of_event": "2024"}, "fecha: malformed"),
        ({"date_of_event": {"date": "2024/03/08"}}, "fecha: malformed"),
        ({"place": None, "country": None}, "lugar: missing"),
        ({"place": {"town": "Villa Inventada"}}, "lugar: malformed"),
        ({"place": [{"town": "Villa Inventada"}]}, "lugar: malformed"),
        ({"name": {"text": "EJEMPLO"}}, "nombre: malformed"),
        ({"forename": ["AMBAR", "LUZ"]}, "nombre: malformed"),
        ({"forename": None, "name": 12}, "nombre: malformed"),
        ({"_links": {"thumbnail": {"href": ["/1", "/2"]}}}, NO_PHOTO),
        ({"_links": {"thumbnail": {"href": {"url": "/1"}}}}, NO_PHOTO),
        ({"name": "OTRA", "forename": "GENTE"}, "file page: it names somebody else than the card"),
    ],
)
def test_a_record_that_does_not_fit(
    interpol: Register, change: dict[str, object], reason: str
) -> None:
    edit_profile(interpol, ', { card = ["forename", "name"] }]', "]")
    edit_profile(interpol, "placeholder =", "# placeholder =")
    if reason.startswith("file page"):
        edit_profile(interpol, "nombre     = [", 'nombre     = [{ card = ["forename", "name"] }, ')
    edit_json(interpol, f"{NOTICE}900001", lambda record: record.update(change))
    reading = read(interpol)
    assert fault(reading, 900001) == reason
    assert (len(reading.persons), len(reading.unreadable)) == (10, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"nationalities": None},
        {"height": 2, "weight": 1.5},
        {"countries_likely_to_be_visited": [None, "BO"]},
        {"forename": None, "name": "AMBAR EJEMPLO FICTICIA"},
        {"name": None, "forename": "AMBAR EJEMPLO FICTICIA"},
        {"forename": ["AMBAR EJEMPLO", None, ""], "name": "FICTICIA"},
    ],
)
def test_a_record_that_reads_all_the_same(interpol: Register, change: dict[str, object]) -> None:
    before = read(interpol)
    edit_json(interpol, f"{NOTICE}900001", lambda record: record.update(change))
    assert read(interpol).persons == before.persons


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(body=b"<html>"), "file page: it is not JSON"),
        (Answer(body=b""), "file page: it is not JSON"),
        (Answer(body=b"[]"), "file page: there is no record at '' (profile key `file_record`)"),
        (Answer(body=b"null"), "file page: there is no record at '' (profile key `file_record`)"),
        (Answer(404), "file page: HTTP 404"),
        (Answer(403), "file page: HTTP 403"),
    ],
)
def test_a_record_that_cannot_be_had(interpol: Register, answer: Answer, reason: str) -> None:
    interpol.web.pages[f"{NOTICE}900001"] = answer
    reading = read(interpol)
    assert fault(reading, 900001) == reason
    assert len(reading.unreadable) == 3


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        (None, "file page: the card does not say where it is (profile key `file_url`)"),
        ({"a": 1}, "file page: the card does not say where it is (profile key `file_url`)"),
        ("ftp://x", "file page: the card does not say where it is (profile key `file_url`)"),
        ("https://other.example/1", "file page: leads off the register's hosts"),
    ],
)
def test_an_address_to_read_that_is_none(interpol: Register, link: object, reason: str) -> None:
    def change(page: dict[str, Any]) -> None:
        page["_embedded"]["notices"][0]["_links"]["self"]["href"] = link

    edit_json(interpol, f"{LIST}1", change)
    assert fault(read(interpol), 900001).startswith(reason)


@pytest.mark.parametrize("more", ["", "/", "?utm_source=x"])
@pytest.mark.parametrize(
    "answer", [None, Answer(410), Answer(body=b'{"status": "FOUND", "forename": "AMBAR"}')]
)
def test_a_record_that_two_cards_lead_to(
    interpol: Register, more: str, answer: Answer | None
) -> None:
    """It is nobody's, whatever it says: one of the two is another child."""
    add_to_profile(interpol, 'pass_over = [{ file = "status" }]')
    edit_profile(interpol, ', { card = ["forename", "name"] }]', "]")
    interpol.sync()

    def change(page: dict[str, Any]) -> None:
        first, second, *_ = page["_embedded"]["notices"]
        second["_links"]["self"]["href"] = first["_links"]["self"]["href"] + more

    edit_json(interpol, f"{LIST}1", change)
    if answer:
        interpol.web.pages[f"{NOTICE}900001"] = answer
    run = interpol.sync()
    reason = "): file page: another card has the same one"
    assert (run.stderr.count(reason), "0 found" in run.stderr) == (2, True)


@pytest.mark.parametrize("same", ["href", "entity_id"])
def test_a_notice_that_stands_on_the_list_twice(interpol: Register, same: str) -> None:
    """The same record is one person; another record under the same address is nobody's."""

    def change(page: dict[str, Any]) -> None:
        first, second, *_ = page["_embedded"]["notices"]
        second["entity_id"] = first["entity_id"]
        if same == "href":
            second["_links"] = first["_links"]

    edit_profile(interpol, ', { card = ["forename", "name"] }]', "]")
    edit_json(interpol, f"{LIST}1", change)
    reading = read(interpol)
    assert (id_of(900001) in reading.persons) == (same == "href")
    reason = "another card with another file page has the same link"
    reasons = [record.reason for record in reading.unreadable]
    assert reasons.count(reason) == (0 if same == "href" else 2)


def with_total(total: object) -> Callable[[dict[str, Any]], object]:
    return lambda page: page.update(total=total)


def with_next(href: object) -> Callable[[dict[str, Any]], object]:
    return lambda page: page["_links"].update(next={"href": href})


@pytest.mark.parametrize(
    ("page", "change", "reason"),
    [
        (1, with_total(400), "the register states 400 cards, and 15 were read"),
        (2, with_total("1.400"), "the register states 1400 cards, and 15 were read"),
        (1, with_next(7), "list page 2 cannot be read: HTTP 404"),
        (1, with_next({"page": 2}), "its next link leads to no page"),
        (1, with_next("https://other.example/"), "list page 2 cannot be read: leads off"),
        (2, with_next(f"{LIST}1"), "leads to an earlier page"),
        (2, lambda page: page.update(_embedded={}), "there is no list at '_embedded.notices'"),
        (1, lambda page: page.update(_embedded={"notices": None}), "there is no list at"),
    ],
)
def test_a_list_that_is_refused(
    interpol: Register, page: int, change: Callable[[Any], object], reason: str
) -> None:
    edit_json(interpol, f"{LIST}{page}", change)
    with pytest.raises(Refused, match=re.escape(reason)):
        read(interpol)


@pytest.mark.parametrize("total", [{"value": 400}, None, True, "many", []])
def test_a_list_that_no_longer_states_its_length_is_refused(
    interpol: Register, total: object
) -> None:
    for page in (1, 2):
        edit_json(interpol, f"{LIST}{page}", with_total(total))
    with pytest.raises(Refused, match="the register does not state how many cards it has"):
        read(interpol)


@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_a_nested_list_costs_a_card_or_the_page(interpol: Register, depth: int) -> None:
    page = interpol.web.pages[f"{LIST}1"]
    assert isinstance(page, Answer)
    body = page.body.replace(b'"AMBAR"', b"[" * depth + b"]" * depth)
    interpol.web.pages[f"{LIST}1"] = page._replace(body=body)
    assert interpol.sync().returncode in (0, 1)
    assert interpol.last_run()["outcome"] in ("ok", "refused")


@pytest.mark.parametrize("href", [None, "", False, 0, f"{LIST}2"])
def test_a_list_ends_without_a_next_page(interpol: Register, href: object) -> None:
    edit_json(interpol, f"{LIST}2", with_next(href))
    assert len(read(interpol).persons) == 12


@pytest.mark.parametrize("status", [401, 403])
def test_an_api_that_does_not_admit_the_program(interpol: Register, status: int) -> None:
    interpol.web.pages[f"{LIST}1"] = Answer(status)
    run = interpol.sync()
    reason = f"list page 1: HTTP {status}: the register does not admit this program; ask"
    assert (run.returncode, run.stderr.count(reason)) == (1, 1)
    assert interpol.web.asked.count(f"{LIST}1") == 1


def test_pages_that_begin_again_after_the_last(interpol: Register) -> None:
    edit_profile(interpol, f"{LIST}1", f"{LIST}{{page}}")
    edit_profile(interpol, "next  ", "# next ")
    assert len(read(interpol).persons) == 12


def test_start_addresses_that_overlap_are_one_list(interpol: Register) -> None:
    young = "/notices/v1/yellow?ageMin=0&ageMax=9"
    nobody = "/notices/v1/yellow?ageMin=50&ageMax=120"
    page = interpol.web.pages[f"{LIST}2"]
    assert isinstance(page, Answer)
    put_json(interpol, young, json.loads(page.body) | {"total": 7})
    put_json(interpol, nobody, {"total": 0, "_embedded": {"notices": []}, "_links": {}})
    host = f"http://{interpol.web.host}"
    edit_profile(
        interpol, f'"{host}{LIST}1"', f'["{host}{young}", "{host}{LIST}1", "{host}{nobody}"]'
    )
    run = interpol.sync()
    assert "12 added, 0 found, 0 moved, 2 unreadable" in run.stdout, run.stderr


def test_last_page_is_a_path_too(interpol: Register) -> None:
    edit_profile(interpol, f"{LIST}1", f"{LIST}{{page}}")
    edit_profile(
        interpol,
        "next  ",
        """last_page = [{ card = "_links.last.href", pattern = 'page=(\\d+)$' }]\n# next """,
    )
    read(interpol)
    assert f"{LIST}3" not in interpol.web.asked


@pytest.mark.parametrize(
    ("way", "place"),
    [
        ('{ file = "nationalities", join = " y " }', "AR y PY"),
        ('{ file = "nationalities.1" }', "PY"),
        ('{ file = "nationalities.7" }, { file = "place" }', "PUERTO FALSO, CHUBUT"),
        ('{ file = "nowhere.0.x" }, { card = "nationalities", join = "" }', "ARPY"),
        ('{ file = ["place", "nationalities.1"], join = ", " }', "PUERTO FALSO, CHUBUT, PY"),
        ("""{ file = "place", pattern = '^\\w+' }""", "PUERTO"),
    ],
)
def test_paths(interpol: Register, way: str, place: str) -> None:
    edit_profile(interpol, '{ file = ["place", "country"], join = ", " }', way)
    assert read(interpol).persons[id_of(900012)].lugar == place


def test_a_record_within_an_answer(interpol: Register) -> None:
    before = read(interpol)
    for path, page in interpol.web.pages.items():
        if path.startswith(NOTICE) and isinstance(page, Answer):
            put_json(interpol, path, {"data": [None, json.loads(page.body)]})
    edit_profile(interpol, 'file_record = ""', 'file_record = "data.1"')
    assert read(interpol).persons == before.persons


@pytest.mark.parametrize(
    ("way", "value", "stamped"),
    [
        ('{ file = "status", pattern = "^FOUND" }', "Found alive", True),
        ('{ file = "status", pattern = "^FOUND" }', "not found", False),
        ('{ file = "status" }', "2026-01-01", True),
        ('{ file = "status" }', True, True),
        ('{ file = "status" }', False, False),
        ('{ file = "status" }', 0, False),
        ('{ file = "status" }', None, False),
        ('{ file = "status", pattern = "^FOUND" }', ["ALERT", "FOUND"], True),
        ('{ file = "status" }', [False, None], False),
    ],
)
def test_a_stamp_in_a_record(interpol: Register, way: str, value: object, stamped: bool) -> None:
    add_to_profile(interpol, f"pass_over = [{way}]")
    edit_json(interpol, f"{NOTICE}900001", lambda record: record.update(status=value))
    assert [record.id for record in read(interpol).stamped] == [id_of(900001)] * stamped


@pytest.mark.parametrize("where", ["card", "file"])
@pytest.mark.parametrize("pattern", ["", ', pattern = "^FOUND"'])
def test_a_stamp_that_has_become_an_object_is_malformed(
    interpol: Register, where: str, pattern: str
) -> None:
    add_to_profile(interpol, f'pass_over = [{{ {where} = "status"{pattern} }}]')
    status = {"status": {"code": "FOUND"}}
    edit_json(interpol, f"{NOTICE}900001", lambda record: record.update(status))
    edit_json(interpol, f"{LIST}1", lambda page: page["_embedded"]["notices"][0].update(status))
    assert fault(read(interpol), 900001) == "pass_over: malformed"


def test_a_record_that_answers_410_is_found(interpol: Register) -> None:
    interpol.sync()
    interpol.web.pages[f"{NOTICE}900001"] = Answer(410)
    assert "0 added, 1 found" in interpol.sync().stdout


def test_a_notice_is_hidden_by_the_address_of_its_page(interpol: Register) -> None:
    interpol.sync()
    assert interpol.sync("--hide", f"{PEOPLE}900001").returncode == 0
    interpol.sync()
    names = {person["nombre"] for person in interpol.api().get("/api/personas")["personas"]}
    assert len(names) == 11
    assert "AMBAR EJEMPLO FICTICIA" not in names


def test_one_notice_is_shown_again_and_no_other(interpol: Register) -> None:
    """All share the address before the fragment."""
    interpol.sync()
    for number in (900001, 900002):
        assert id_of(number) in interpol.sync("--hide", f"{PEOPLE}{number}").stdout
    interpol.sync("--unhide", f"{PEOPLE}900003")
    interpol.sync("--unhide", f"{PEOPLE}900002")
    interpol.sync()
    assert interpol.change("SELECT count(*) FROM person WHERE id = ?", id_of(900001)) == [(0,)]
    assert interpol.change("SELECT count(*) FROM person WHERE id = ?", id_of(900002)) == [(1,)]


def test_another_country_is_a_copy_with_two_letters_changed(register: Register) -> None:
    register.profile = register.profile.with_name("interpolcl.toml")
    register.profile.write_text(PROFILE.replace("nationality=AR", "nationality=CL"))
    profile = load_profile(register.profile)
    assert (profile.name, len(profile.start)) == ("interpolcl", 7)
    ages = [re.search(r"=CL&ageMin=(\d+)&ageMax=(\d+)&", address) for address in profile.start]
    edges = [int(number) for age in ages if age for number in age.groups()]
    assert (edges[0], edges[-1]) == (0, 120)
    assert [low - high for high, low in zip(edges[1:-1:2], edges[2::2], strict=True)] == [1] * 6
