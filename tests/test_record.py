"""One record: what makes it a person, what excludes it, what makes it unreadable."""

import pytest

from model import ids_of, person_id
from scrape.values import Age
from support.register import Listed, Register, slugs
from support.scrape import add_to_profile, edit_profile, read
from support.web import Answer

pytestmark = pytest.mark.no_sockets
NO_PHOTO = "and the profile has no placeholder"


def test_an_id_is_made_of_the_address() -> None:
    # printf %s https://registro.example/a | sha256sum | head -c 12, from hexadecimal
    assert person_id("prueba", "https://registro.example/a") == "prueba-228972813543334"


@pytest.mark.parametrize(
    ("listed", "field", "reason"),
    [
        (Listed("ana", fecha=""), "fecha", "missing"),
        (Listed("ana", fecha="pronto"), "fecha", "malformed"),
        (Listed("ana", edad="mucha"), "edad", "malformed"),
        (Listed("ana", lugar="---"), "lugar", "malformed"),
        (Listed("ana", foto=""), "foto", f"missing, {NO_PHOTO}"),
        (Listed("ana", foto="javascript:alert(1)"), "foto", f"malformed, {NO_PHOTO}"),
        (Listed("ana", foto="/sin_foto.png"), "foto", f"malformed, {NO_PHOTO}"),
        (Listed("ana", fecha="pronto", lugar=""), "fecha", "malformed"),
    ],
)
def test_an_unreadable_record_names_its_field(
    register: Register, listed: Listed, field: str, reason: str
) -> None:
    edit_profile(register, "placeholder", "# placeholder")
    register.publish([listed, *slugs(3)])
    reading = read(register)
    assert [record[:5] for record in reading.unreadable] == [
        (register.id("ana"), 1, 1, field, reason)
    ]
    assert len(reading.persons) == 3


def test_several_children_are_excluded_whatever_else_is_there(register: Register) -> None:
    edit_profile(
        register, 'nombre = [{ card = "a" }]', 'nombre = [{ card = "a" }, { file = "h1" }]'
    )
    register.publish([Listed("ana y luis"), *slugs(5)])
    register.web.pages["/file/ana%20y%20luis"] = register.web.pages["/file/ana y luis"]
    reading = read(register)
    assert len(reading.persons) == 5
    (ana_y_luis,) = reading.several
    assert (ana_y_luis.field, ana_y_luis.reason) == ("nombre", "names several children")


def test_an_adult_on_the_card_needs_no_file(register: Register) -> None:
    edit_profile(register, "edad = [", 'edad = [{ card = "b", pattern = "\\\\d+ años" }, ')
    edit_profile(register, "pass_over = [", 'pass_over = [{ file = "h9" }, ')
    register.publish([Listed("ana", stamp="40 años"), *slugs(3)])
    del register.web.pages["/file/ana"]
    reading = read(register)
    assert ids_of(reading.excluded) == {register.id("ana")}
    assert (len(reading.persons), reading.unreadable) == (3, [])


@pytest.mark.parametrize(
    ("edad_de", "edad", "born", "age"),
    [
        ("entonces", "19 años", "1/3/2010", None),
        ("hoy", "19 años", "1/3/2010", "13 años"),
        ("hoy", "", "1/3/2010", "13 años"),
        ("hoy", "17 años", "", "17 años"),
        ("hoy", "17 años", "1/3/2025", "17 años"),
        ("hoy", "19 años", "", None),
    ],
)
def test_an_age_of_today_gives_way_to_the_birth_date(
    register: Register, edad_de: str, edad: str, born: str, age: str | None
) -> None:
    add_to_profile(register, f'edad_de = "{edad_de}"')
    edit_profile(register, "[fields]", '[fields]\nnacimiento = [{ file = "p", label = "Nacida" }]')
    register.publish([Listed("ana", edad=f"{edad}<br>Nacida: {born}"), *slugs(3)])
    reading = read(register)
    assert reading.persons.keys() | ids_of(reading.excluded) >= {register.id("ana")}
    ana = reading.persons.get(register.id("ana"))
    assert (ana and ana.edad) == age
    assert "fields.edad" not in reading.parts


def test_a_stamp_may_be_on_the_file_page(register: Register) -> None:
    edit_profile(register, "pass_over = [", 'pass_over = [{ file = "p", pattern = "HALLADA" }, ')
    register.publish([Listed("ana", lugar="FUE HALLADA"), *slugs(3)])
    reading = read(register)
    assert ids_of(reading.stamped) == {register.id("ana")}
    assert len(reading.persons) == 3


def test_a_card_without_a_link_is_named_by_its_place(register: Register) -> None:
    register.publish(slugs(12))
    register.web.edit("/lista?n=1", "href='/file/ab'", "href='https://elsewhere.example/ab'")
    (ab,) = read(register).unreadable
    assert ab[:-1] == (
        None,
        1,
        2,
        "url",
        "no link to the register's hosts",
        "Ab Inventado Prueba",
        "",
        "",
    )


def test_an_unforeseen_error_costs_one_record(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_13(text: str, *words: tuple[str, ...]) -> Age:
        if "13" in text:
            raise ZeroDivisionError("Ana Inventada")
        return Age(12, False)

    monkeypatch.setattr("scrape.record.read_age", fail_at_13)
    register.publish([Listed("ana", edad="13 años"), *slugs(3)])
    reading = read(register)
    (ana,) = reading.unreadable
    assert (ana.id, ana.reason) == (register.id("ana"), "ZeroDivisionError")
    assert len(reading.persons) == 3


def test_files_that_redirect_to_one_page_give_no_person_and_no_photo(register: Register) -> None:
    edit_profile(register, '[{ card = "a" }]', '[{ file = "h1" }, { card = "a" }]')
    ana = Listed("ana")
    register.web.put("/lista?n=1", "<ul><li><a href=/file/x>Ana</a><li><a href=/file/y>Prueba</a>")
    for slug in "xy":
        register.web.pages[f"/file/{slug}"] = Answer(302, headers=(("Location", "/file/ana"),))
    register.web.put("/file/ana", f"<h1>{ana.nombre}</h1>{ana.details}")
    reading = read(register)
    assert ids_of(reading.unreadable) == {register.id("x"), register.id("y")}
    assert (reading.persons, reading.photos) == ({}, {})


@pytest.mark.parametrize("place", ["file", "card"])
@pytest.mark.parametrize(
    ("listed", "reason", "text"),
    [
        (Listed("ana", fecha="el 8/3/2024"), "no pattern matches", "el 8/3/2024"),
        (Listed("ana", fecha="Sin datos"), "missing", ""),
        (Listed("ana", fecha=""), "missing", ""),
        (Listed("ana", fecha="día pronto"), "malformed", "pronto"),
    ],
)
def test_what_no_pattern_matches_is_shown(
    register: Register, place: str, listed: Listed, reason: str, text: str
) -> None:
    edit_profile(register, 'label = "Fecha"', "label = 'Fecha', pattern = 'día (.+)'")
    edit_profile(register, "max_age", 'missing = "sin datos"\nmax_age')
    if place == "card":
        register.read_cards_only()
    register.publish([listed, Listed("eva", fecha="día 8/3/2024")])
    reading = read(register)
    (ana,) = reading.unreadable
    assert (ana.field, ana.reason, ana.text) == ("fecha", reason, text)
    assert len(reading.persons) == 1


def test_the_text_that_an_age_s_patterns_miss_is_shown(register: Register) -> None:
    edit_profile(register, 'label = "Edad" }]', "label = 'Edad', pattern = '^\\d+' }]")
    register.publish([Listed("ana", edad="tenía 12"), *slugs(3)])
    (ana,) = read(register).unreadable
    assert (ana.field, ana.reason, ana.text) == ("edad", "no pattern matches", "tenía 12")
