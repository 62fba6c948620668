"""The list: its pages, where it ends, when it is refused, and its cards."""

import json

import pytest

from model import ids_of, person_id
from scrape.fetch import Refused
from support.register import Listed, Register, slugs
from support.scrape import add_to_profile, edit_profile, read
from support.web import Answer

pytestmark = pytest.mark.no_sockets


def number_pages(register: Register, first: int = 1) -> None:
    """Make the register's list a numbered one."""
    edit_profile(register, "n=1", "n={page}")
    edit_profile(register, 'next = "a.next"', f"first_page = {first}")


# --- Numbered pages ------------------------------------------------------------------


def test_numbered_pages_end_where_nobody_is_new(register: Register) -> None:
    number_pages(register)
    register.publish(slugs(5), per_page=2)
    register.web.pages["/lista?n=4"] = register.web.pages["/lista?n=3"]
    assert read(register).listed == 5
    one_reading = [f"/lista?n={n}" for n in (1, 2, 3, 4, 5)]
    assert [path for path in register.web.asked if "lista" in path] == 2 * one_reading


def test_numbered_pages_may_begin_at_0(register: Register) -> None:
    number_pages(register, first=0)
    register.publish(slugs(5), per_page=2)
    register.web.pages["/lista?n=0"] = register.web.pages["/lista?n=1"]
    register.web.pages["/lista?n=1"] = register.web.pages["/lista?n=2"]
    register.web.put("/lista?n=2", "")
    del register.web.pages["/lista?n=3"]
    assert read(register).listed == 4


def test_a_numbered_page_of_broken_cards_is_not_the_last(register: Register) -> None:
    number_pages(register)
    register.publish(slugs(12), per_page=1)
    register.web.put("/lista?n=9", "<li><a>Ai</a></li></html>")
    register.web.put("/lista?n=13", "")
    reading = read(register)
    assert (len(reading.persons), len(reading.unreadable)) == (11, 1)


def test_a_numbered_page_that_fails_with_200_is_refused(register: Register) -> None:
    number_pages(register)
    register.publish(slugs(6), per_page=2)
    register.web.put("/lista?n=2", "<p>Volvemos pronto</p>")
    with pytest.raises(Refused, match="list page 2 has nobody new, unlike the page beside it"):
        read(register)


@pytest.mark.parametrize(("status", "refused"), [(404, False), (410, False), (503, True)])
def test_only_a_missing_page_after_an_empty_one_ends_the_list(
    register: Register, status: int, refused: bool
) -> None:
    number_pages(register)
    register.publish(slugs(4), per_page=2)
    register.web.put("/lista?n=3", "<p>Volvemos pronto</p>")
    register.web.pages["/lista?n=4"] = Answer(status)
    if refused:
        with pytest.raises(Refused, match=f"list page 4 cannot be read: HTTP {status}"):
            read(register)
    else:
        assert read(register).listed == 4


def test_a_page_of_stamped_cards_without_links_is_not_empty(register: Register) -> None:
    register.publish(slugs(4), per_page=2)
    register.web.put("/lista?n=2", "<li><a>Ac</a><b>FUE ENCONTRADA</b></li></html>")
    assert read(register).listed == 2


@pytest.mark.parametrize("link", ["#", "", "?n=1", "/lista?n=1#aa"])
def test_a_link_to_the_list_itself_is_no_link(register: Register, link: str) -> None:
    register.publish(slugs(3))
    register.web.edit("/lista?n=1", "'/file/aa'", f"'{link}'")
    (unreadable,) = read(register).unreadable
    assert (unreadable.field, unreadable.id) == ("url", None)


def test_without_a_last_number_the_pages_are_counted_up(register: Register) -> None:
    number_pages(register)
    add_to_profile(register, "last_page = [{ card = 'i' }]")
    register.publish(slugs(4), per_page=2)
    register.web.put("/lista?n=3", "")
    assert read(register).listed == 4


def test_an_empty_page_before_the_last_is_refused(register: Register) -> None:
    number_pages(register)
    add_to_profile(register, "last_page = [{ card = 'i' }]")
    register.publish(slugs(4), per_page=2)
    for n in (1, 2):
        register.web.edit(f"/lista?n={n}", "</ul>", "</ul><i>1</i><i>3</i>")
    register.web.put("/lista?n=3", "<p>Volvemos pronto</p><i>3</i>")
    with pytest.raises(Refused, match="list page 3 has nobody new, though 3 pages are stated"):
        read(register)


# --- Next links ----------------------------------------------------------------------


def test_a_list_of_too_many_pages_is_refused(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrape.paging.MAX_PAGES", 2)
    register.publish(slugs(5), per_page=2)
    with pytest.raises(Refused, match="more than 2 list pages"):
        read(register)
    assert "/lista?n=3" not in register.web.asked


def test_a_next_link_that_leads_nowhere_is_refused(register: Register) -> None:
    register.publish(slugs(4), per_page=2)
    register.web.edit("/lista?n=1", "'/lista?n=2'", "'javascript:ir(2)'")
    with pytest.raises(Refused, match="its next link leads to no page"):
        read(register)


@pytest.mark.parametrize(("page", "refused"), [(1, True), (2, True), (3, False)])
def test_a_next_link_may_lead_to_the_page_itself_but_not_back(
    register: Register, page: int, refused: bool
) -> None:
    register.publish(slugs(6), per_page=2)
    again = f"</ul><a class=next href='/lista?n={page}&utm_source=x#top'>otra vez</a>"
    register.web.edit("/lista?n=3", "</ul>", again)
    if refused:
        with pytest.raises(Refused, match="next link of list page 3 leads to an earlier page"):
            read(register)
    else:
        assert read(register).listed == 6


def test_an_empty_page_after_a_next_link_is_refused(register: Register) -> None:
    register.publish(slugs(4), per_page=2)
    register.web.put("/lista?n=2", "<p>Volvemos pronto</p>")
    with pytest.raises(Refused, match="list page 2 has nobody new"):
        read(register)


# --- Cards ---------------------------------------------------------------------------


def test_several_start_addresses_are_one_register(register: Register) -> None:
    site = f"http://{register.web.host}"
    edit_profile(register, f'"{site}/lista?n=1"', f'["{site}/lista?n=1", "{site}/b"]')
    register.publish(slugs(3))
    register.web.put("/b", "<li><a href='/file/ac'>Ac</a></li><li><a href='/file/ad'>Ad</a></li>")
    register.web.put("/file/ad", Listed("ad").details)
    assert len(read(register).persons) == 4


def test_one_file_linked_twice_is_one_person(register: Register) -> None:
    register.publish([Listed("ana")])
    register.web.put(
        "/lista?n=1",
        "<li><a href='/file/ana#foto'><img></a></li><li><a href='/file/ana'>Ana Prueba</a></li>",
    )
    reading = read(register)
    assert [person.nombre for person in reading.persons.values()] == ["Ana Prueba"]
    assert reading.unreadable == []


def test_a_stamp_on_any_card_of_a_person_counts(register: Register) -> None:
    register.publish([*slugs(3), slugs(3)[0]._replace(stamp="FUE ENCONTRADA")])
    reading = read(register)
    assert ids_of(reading.stamped) == {register.id("aa")}
    assert reading.persons.keys() == {register.id("ab"), register.id("ac")}


def test_two_files_with_one_id_are_refused(register: Register) -> None:
    one, two = ("https://registro.example/22670797", "https://registro.example/32798511")
    assert person_id("prueba", one) == person_id("prueba", two)
    folder = register.profile.parent / "pages"
    folder.mkdir()
    (folder / "lista?n=1.html").write_text(
        f"<li><a href='{one}'>A</a></li><li><a href='{two}'>B</a>"
    )
    edit_profile(register, f"http://{register.web.host}", "https://registro.example")
    add_to_profile(register, 'pages = "pages"')
    with pytest.raises(Refused, match="two different files have one id"):
        read(register)


# --- Lists in JSON -------------------------------------------------------------------

JSON_FIELDS = """
pause = 0
placeholder = "https://registro.example/s.png"
[fields]
url = [{ card = "id", template = "http://{host}/f/{}" }]
nombre = [{ card = "n" }]
fecha = [{ card = "f" }]
edad = [{ card = "e" }]
lugar = [{ card = ["l", "r"], join = ", " }]
"""
ANA = {"n": "Ana Inventada", "f": "2024-02-01", "e": 12, "l": "Villa", "r": "Salta"}


def make_json(register: Register, keys: str = "") -> None:
    """Make the register's list one of JSON records at `p.q`."""
    start = f'start = "http://{register.web.host}/lista?n=1"\nrecords = "p.q"\n'
    register.profile.write_text(start + keys + JSON_FIELDS.replace("{host}", register.web.host))


def records(*numbers: int, odd: tuple[object, ...] = ()) -> Answer:
    listed = [*({"id": n, **ANA} for n in numbers), *odd]
    return Answer(body=json.dumps({"p": {"q": listed}}).encode())


def test_a_form_may_count_the_pages(register: Register) -> None:
    make_json(register, 'form = { tipo = "MENOR", pagina = "{page}" }')
    for page, answer in enumerate([records(1, 2), records(3), records()], 1):
        register.web.pages[f"/lista?n=1?tipo=MENOR&pagina={page}"] = answer
    reading = read(register)
    assert (len(reading.persons), reading.unreadable) == (3, [])


def test_a_form_is_not_redirected(register: Register) -> None:
    make_json(register, 'form = { tipo = "MENOR" }')
    register.web.pages["/lista?n=1?tipo=MENOR"] = Answer(302, headers=(("Location", "/login"),))
    with pytest.raises(Refused, match="redirects a form"):
        read(register)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "it is not JSON"),
        (b"\xff\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"{}", "there is no list at 'p.q'"),
        (b'{"p": {"q": {"id": 1}}}', "there is no list at 'p.q'"),
    ],
)
def test_json_that_cannot_be_read_is_refused(register: Register, body: bytes, reason: str) -> None:
    make_json(register)
    register.web.pages["/lista?n=1"] = Answer(body=body)
    with pytest.raises(Refused, match=f"list page 1 cannot be read: {reason}"):
        read(register)


@pytest.mark.parametrize(
    "odd", [None, 1, "x", [], {}, {"id": {"a": 1}}, {"id": 2, **ANA, "n": "A \ud83d"}]
)
def test_an_odd_record_is_unreadable(register: Register, odd: object) -> None:
    make_json(register)
    register.web.pages["/lista?n=1"] = records(1, odd=(odd,))
    reading = read(register)
    assert (len(reading.persons), len(reading.unreadable)) == (1, 1)
