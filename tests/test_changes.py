"""What one reading makes of the stored persons: pure, so without a register."""

import random
import time
from itertools import product
from typing import Any, NamedTuple

import pytest

import rules.compare
import rules.judge
from conftest import Figure
from model import Changes, Hidden, Person, Reading, Skipped, Stored
from names import keyed_hash, long_words
from rules.matching import match
from store.hidden import Marks, marks_of, recognise

KEY = b"k"
SILHOUETTE = "https://a.example/silhouette"
ANA, EVA, ZOE = "Ana Inventada Prueba", "Eva Ficticia Muestra", "Zoe Supuesta Ejemplo"
LATER = "02/02/2024"


def person(id: str, nombre: str = "", fecha: str = "01/02/2024", **fields: str) -> Person:
    made_up = {"edad": "1 año", "lugar": "L", "foto": f"https://a.example/{id}.jpg"}
    values = {**made_up, "url": f"https://a.example/{id}", **fields}
    return Person(id=id, nombre=nombre or f"Nombre {id * 3} Inventado", fecha=fecha, **values)


def skipped(id: str | None, nombre: str | None = None, children: int = 1) -> Skipped:
    return Skipped(id, 1, 1, "fecha", "missing", nombre, children=children)


class Before(NamedTuple):
    stored: Stored
    marks: Marks


def stored(*persons: Person, **known: Any) -> Before:
    marks = Marks(KEY, known.pop("marks", {}), known.pop("watched", set()))
    left = {f"left-{n}" for n in range(known.pop("left_lately", 0))}
    blank: dict[str, Any] = {
        "former": {},
        "stamped": {},
        "key": KEY,
        "expired": set(),
        "left_lately": left,
        "days_since_good": 1.0,
        "matched_parts": set(),
        "start": "",
    }
    return Before(Stored(**{**blank, "persons": {p.id: p for p in persons}, **known}), marks)


def hidden(before: Before, now: Reading) -> Hidden:
    return recognise(before.marks, before.stored.persons, now)


def compare(before: Before, now: Reading, force: bool = False) -> Changes:
    return rules.compare.compare(before.stored, now, hidden(before, now), force)


def decide(before: Before, now: Reading, share: float = 0.2) -> tuple[Changes, str, str | None]:
    return rules.judge.decide(before.stored, now, hidden(before, now), share, False)


def judge(before: Before, now: Reading, share: float = 0.2) -> tuple[str, str | None]:
    return decide(before, now, share)[1:]


def reading(*persons: Person, **lists: Any) -> Reading:
    made = Reading(persons={p.id: p for p in persons}, placeholder=SILHOUETTE, **lists)
    for records in (made.unreadable, made.several, made.excluded, made.stamped, made.gone):
        made.seen |= {record.id for record in records if record.id}
    made.seen |= made.persons.keys()
    made.card_count = len(made.seen)
    return made


def active(changes: Changes) -> str:
    return "".join(sorted(changes.persons))


# --- Who is who ----------------------------------------------------------------------


def photo(n: int) -> str:
    return f"https://a.example/photo{n}.jpg"


def numbered(*names: str) -> list[Person]:
    """Cards whose addresses and photos are positions on the list."""
    return [person(str(n), name, foto=photo(n)) for n, name in enumerate(names, 1)]


@pytest.mark.parametrize(
    ("rows", "cards", "expected"),
    [
        # Equal name and date: the same id before the same photo, and that before the order.
        ([person("a", ANA, foto=photo(1)), person("b", ANA, foto=photo(2))],
         [person("a", ANA, foto=photo(2)), person("b", ANA, foto=photo(1))], "aa bb"),
        ([person("a", ANA, foto=photo(1)), person("b", ANA, foto=photo(2))],
         [person("c", ANA, foto=photo(2)), person("d", ANA, foto=photo(1))], "ad bc"),
        ([person("a", ANA), person("b", ANA)], [person("c", ANA), person("d", ANA)], "ac bd"),
        ([person("a", ANA), person("b", ANA)], [person("c", ANA)], "ac"),
        ([person("a", ANA)], [person("b", ANA), person("c", ANA)], "ab"),
        ([person("a", ANA)], [person("b", "PRUEBA INVENTADA, ána")], "ab"),
        ([person("a", ANA)], [person("a", EVA), person("b", ANA)], "ab"),
        # The same id, unless name and date both differ.
        ([person("a", ANA)], [person("a", EVA)], "aa"),
        ([person("a", ANA)], [person("a", ANA, LATER)], "aa"),
        ([person("a", ANA)], [person("a", EVA, LATER)], ""),
        ([person("a", ANA)], [person("a", EVA), person("b", "Ana Luz Inventada Prueba")], "aa"),
        # Two of three: names that agree, the date, the photo.
        ([person("a", ANA)], [person("b", "Ana Luz Inventada Prueba")], "ab"),
        ([person("a", ANA)], [person("b", "Ana Prueba")], "ab"),
        ([person("a", ANA)], [person("b", "Ana Inventada Pru…")], "ab"),
        ([person("a", ANA, foto=photo(1))], [person("b", ANA, LATER, foto=photo(1))], "ab"),
        ([person("a", ANA, foto=photo(1))], [person("b", EVA, foto=photo(1))], "ab"),
        ([person("a", ANA)], [person("b", ANA, LATER)], ""),
        ([person("a", ANA)], [person("b", EVA)], ""),
        ([person("a", ANA, foto=photo(1))], [person("b", EVA, LATER, foto=photo(1))], ""),
        ([person("a", ANA)], [person("b", "Prueba")], ""),
        # A photo that two rows or two cards have says nothing.
        ([person("a", ANA, foto=photo(1))],
         [person("b", EVA, foto=photo(1)), person("c", ZOE, foto=photo(1))], ""),
        ([person("a", ANA, foto=photo(1)), person("b", EVA, foto=photo(1))],
         [person("c", ZOE, foto=photo(1))], ""),
        ([person("a", ANA, foto=photo(1)), person("b", EVA, foto=photo(1))],
         [person("c", ANA, LATER, foto=photo(1))], ""),
        # Names that agree with several: each row and each card once.
        ([person("a", "Ana Prueba"), person("b", "Ana Luz Prueba")],
         [person("c", "Ana Luz Sol Prueba")], "ac"),
        ([person("a", "Ana Prueba")],
         [person("b", "Ana Luz Prueba"), person("c", "Ana Sol Prueba")], "ab"),
        # Numbers that shift.
        (numbered(ANA, EVA, ZOE), numbered(EVA, ZOE), "21 32"),
        (numbered(EVA, ZOE), numbered(ANA, EVA, ZOE), "12 23"),
        (numbered(ANA, EVA), numbered(EVA, ANA), "12 21"),
    ],
)  # fmt: skip
def test_match(rows: list[Person], cards: list[Person], expected: str) -> None:
    matched = match({p.id: p for p in rows}, {p.id: p for p in cards})
    assert matched == dict(tuple(pair) for pair in expected.split())


@pytest.mark.parametrize(
    ("before", "read", "moved", "found"),
    [
        ([person("a", ANA)], [person("b", ANA)], {"a": "b"}, set()),
        ([person("a", ANA)], [person("b", ANA, LATER)], {}, {"a"}),
        ([person("a", ANA), person("c", ANA)], [person("b", ANA)], {"a": "b"}, set()),
        ([person("a", ANA)], [person("a", ANA), person("b", ANA, lugar="M")], {}, set()),
        (numbered(ANA, EVA, ZOE), numbered(EVA, ZOE), {"2": "1", "3": "2"}, set()),
        (numbered(ANA, EVA, ZOE), numbered(EVA), {"2": "1"}, {"3"}),
    ],
)
def test_who_has_moved(
    before: list[Person], read: list[Person], moved: dict[str, str], found: set[str]
) -> None:
    changes = compare(stored(*before), reading(*read))
    assert (changes.moved, changes.found) == (moved, found)


@pytest.mark.parametrize(
    ("before", "former", "read", "expected"),
    [
        ([person("a", ANA)], {}, [person("b", ANA)], {"a": "b"}),
        ([person("b", ANA)], {"a": "b"}, [person("c", ANA)], {"a": "c", "b": "c"}),
        ([person("b", ANA)], {"a": "b"}, [person("a", ANA)], {"b": "a"}),
        ([person("b", ANA)], {"a": "b"}, [person("b", ANA), person("a", EVA)], {"a": None}),
        ([person("a", ANA), person("b", EVA)], {}, [person("b", ANA), person("a", EVA)],
         {"a": None, "b": None}),
        ([person("b", ANA)], {"a": None}, [person("b", ANA)], {"a": None}),
        ([person("b", ANA)], {"a": None}, [person("a", ANA)], {"a": None, "b": "a"}),
        ([person("b", ANA), person("d", EVA)], {"a": "b"}, [person("a", EVA), person("d", ANA)],
         {"a": None, "b": "d", "d": None}),
        ([person("b", ANA)], {"a": "b"}, [], {}),
        ([person("a", ANA)], {}, [person("a", ANA), person("b", ANA, foto=SILHOUETTE)],
         {"b": "a"}),
        (numbered(ANA, EVA, ZOE), {}, numbered(EVA, ZOE), {"2": None, "3": "2"}),
    ],
)  # fmt: skip
def test_former_ids(
    before: list[Person],
    former: dict[str, str | None],
    read: list[Person],
    expected: dict[str, str | None],
) -> None:
    assert compare(stored(*before, former=former), reading(*read)).former == expected


# --- Who leaves ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "read", "lists", "known", "shown", "added", "found", "erased"),
    [
        ("", "ab", {}, {}, "ab", "ab", "", ""),
        ("ab", "b", {}, {}, "b", "", "a", ""),
        ("ab", "b", {"unreadable": "a"}, {}, "ab", "", "", ""),
        ("b", "b", {"unreadable": "a"}, {}, "b", "", "", ""),
        ("ab", "b", {"several": "a"}, {}, "ab", "", "", ""),
        ("ab", "b", {"unreadable": "a"}, {"expired": {"a"}}, "b", "", "", "a"),
        ("ab", "b", {"seen": {"a"}}, {}, "ab", "", "", ""),
        ("ab", "b", {"excluded": "a"}, {}, "b", "", "", "a"),
        ("ab", "b", {"stamped": "a"}, {}, "b", "", "a", ""),
        ("ab", "b", {"gone": "a"}, {}, "b", "", "a", ""),
        ("ab", "b", {"stamped": "c"}, {"former": {"c": "a"}}, "b", "", "a", ""),
        ("ab", "b", {"unreadable": "c"}, {"former": {"c": "a"}}, "ab", "", "", ""),
        ("ab", "b", {"unreadable": "c"}, {"former": {"c": None}}, "b", "", "a", ""),
        ("ab", "b", {}, {"days_since_good": 15.0}, "b", "", "", "a"),
        ("ab", "b", {"stamped": "a"}, {"days_since_good": 15.0}, "b", "", "", "a"),
        ("ab", "b", {}, {"start": "another"}, "b", "", "", "a"),
        ("a", "", {}, {}, "", "", "a", ""),
    ],
)
def test_compare(
    before: str,
    read: str,
    lists: dict[str, Any],
    known: dict[str, Any],
    shown: str,
    added: str,
    found: str,
    erased: str,
) -> None:
    lists = {k: [skipped(id) for id in v] if isinstance(v, str) else v for k, v in lists.items()}
    changes = compare(stored(*map(person, before), **known), reading(*map(person, read), **lists))
    assert active(changes) == shown
    assert (changes.added, changes.found, changes.erased) == (set(added), set(found), set(erased))
    assert changes.changed == set()


def test_what_has_changed() -> None:
    changes = compare(stored(person("a"), person("b")), reading(person("a", "New"), person("b")))
    assert changes.changed == {"a"}


@pytest.mark.parametrize(
    ("lists", "unread"),
    [
        ({"unreadable": [skipped("a")]}, "a"),
        ({"several": [skipped("a")]}, "a"),
        ({}, ""),
        ({"seen": {"a"}}, ""),
        ({"stamped": [skipped("a")]}, ""),
        ({"excluded": [skipped("a")]}, ""),
        ({"unreadable": [skipped("c")]}, ""),
    ],
)
@pytest.mark.parametrize("before", ["ab", "b"], ids=["the night that she goes", "later"])
def test_an_id_that_was_unread_for_14_days_is_noted_while_it_is_listed(
    before: str, lists: dict[str, Any], unread: str
) -> None:
    changes = compare(stored(*map(person, before), expired={"a"}), reading(person("b"), **lists))
    assert (active(changes), changes.unread) == ("b", set(unread))


MARIA = ("María Inventada Prueba", "María Ficticia Prueba", "María Supuesta Prueba")


@pytest.mark.parametrize(
    ("card", "stay"),
    [
        (skipped(None, "Inventada Prueba"), "a"),
        (skipped(None, "PRUEBA, María Inventáda"), "a"),
        (skipped(None, "María Inven…"), "a"),
        (skipped(None, "María Inven"), ""),
        (skipped(None, "María"), ""),
        (skipped(None, "María Prueba"), "a"),  # one card, one child
        (skipped(None, "María Prueba", children=2), "ab"),
        (skipped(None, "María Prueba", children=9), "abc"),
        (skipped("b", "María Prueba"), "b"),
        (skipped("b", "María Prueba", children=2), "ab"),
        (skipped("b"), "b"),
        (skipped("new", MARIA[1]), "b"),
        (skipped("z", MARIA[1]), ""),  # that card is z's
        (skipped(None, "Xenia Prueba"), ""),
        (skipped(None), ""),
    ],
)
def test_for_whom_an_unreadable_card_stands(card: Skipped, stay: str) -> None:
    before = stored(person("z", ZOE), *map(person, "abc", MARIA))
    changes = compare(before, reading(person("z", ZOE), unreadable=[card]))
    assert "".join(sorted(changes.unread)) == stay
    assert changes.found == set("abc") - set(stay)


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        ("stamped", None, "b"),
        ("stamped", "Ana", "b"),
        ("stamped", "Zoe", "bc"),  # the number came to another child
        ("gone", "Ana", "bc"),
        ("excluded", "Ana", "bc"),
    ],
)
def test_who_leaves_at_one_address_and_is_at_another(
    kind: str, name: str | None, shown: str
) -> None:
    now = reading(person("b", EVA), person("c", ANA), **{kind: [skipped("a", name)]})
    assert active(compare(stored(person("a", ANA), person("b", EVA)), now)) == shown


def test_who_is_excluded_under_a_new_address_is_not_found() -> None:
    now = reading(person("b", EVA), excluded=[skipped("new", ANA)])
    changes = compare(stored(person("a", ANA), person("b", EVA)), now)
    assert (changes.found, changes.erased, active(changes)) == (set(), {"a"}, "b")


def test_who_is_unreadable_stays_though_an_adult_has_the_name() -> None:
    now = reading(unreadable=[skipped("a", ANA)], excluded=[skipped("new", ANA)])
    assert active(compare(stored(person("a", ANA)), now)) == "a"


def test_a_stamped_person_is_found_whoever_shares_the_name() -> None:
    now = reading(unreadable=[skipped(None, ANA)], stamped=[skipped("a")], excluded=[skipped("b")])
    changes = compare(stored(*(person(id, ANA) for id in "abc")), now)
    assert (changes.found, changes.erased, active(changes)) == ({"a"}, {"b"}, "c")


@pytest.mark.parametrize("kind", ["stamped_persons", "doubles"])
def test_a_stamp_on_one_of_two_cards_counts(kind: str) -> None:
    for stamped, before in product("ab", ("", "a", "b")):
        rest = person("b" if stamped == "a" else "a", ANA)
        second = {
            "stamped_persons": {"stamped_persons": {stamped: person(stamped, ANA, foto=rest.foto)}},
            "doubles": {"doubles": {stamped: rest.id}},
        }[kind]
        now = reading(rest, stamped=[skipped(stamped, ANA)], **second)
        changes = compare(stored(*(person(id, ANA) for id in before)), now)
        assert active(changes) == ""
        assert len(changes.found) == bool(before)


@pytest.mark.parametrize(
    ("before", "second", "shown"),
    [
        ("", {}, "a"),
        ("b", {}, "b"),
        ("ab", {}, "a"),
        ("", {"foto": SILHOUETTE}, "a"),
        ("", {"foto": "https://a.example/other.jpg"}, "ab"),
        ("", {"edad": "2 años"}, "ab"),
        ("", {"lugar": "M"}, "ab"),
    ],
)
def test_one_person_under_two_addresses(before: str, second: dict[str, str], shown: str) -> None:
    first = person("a", ANA)
    now = reading(first, person("b", ANA, **{"foto": first.foto, **second}))
    changes = compare(stored(*(person(id, ANA) for id in before)), now)
    assert (active(changes), changes.found) == (shown, set())


# --- Stamps that are gone ------------------------------------------------------------


def stamp_of(name: str) -> str:
    return keyed_hash(KEY, *long_words(name))


@pytest.mark.parametrize(
    ("read", "lists", "stamped", "stay_out"),
    [
        ([person("a", ANA)], {}, {"a": ""}, "a"),
        ([person("a", ANA)], {"stamped": [skipped("z")]}, {"a": ""}, ""),
        ([person("a", ANA), person("b", EVA)], {"stamped": [skipped("z")]}, {"a": "", "b": ""},
         "ab"),
        ([person("n", ANA)], {}, {"a": stamp_of(ANA)}, "n"),
        ([person("n", ANA)], {"stamped": [skipped("z")]}, {"a": stamp_of(ANA)}, ""),
        ([person("n", ANA)], {"unreadable": [skipped("a")]}, {"a": stamp_of(ANA)}, ""),
        ([person("n", "Ana")], {}, {"a": ""}, ""),
        ([person("n", ANA)], {}, {"a": stamp_of(EVA)}, ""),
    ],
)  # fmt: skip
def test_a_card_without_its_stamp(
    read: list[Person], lists: dict[str, Any], stamped: dict[str, str], stay_out: str
) -> None:
    before, now = (
        stored(person("x", ZOE), stamped=stamped),
        reading(person("x", ZOE), *read, **lists),
    )
    changes = compare(before, now)
    assert set(active(changes)) == {"x", *(p.id for p in read)} - set(stay_out)
    assert set(stay_out) <= changes.stamped.keys()  # also tomorrow
    assert changes.warnings == (["stamp"] if stay_out else [])
    assert len(compare(before, now, force=True).persons) == 1 + len(read)


def test_what_a_stamp_leaves_behind() -> None:
    now = reading(stamped=[skipped("a", ANA), skipped("b", "Eva"), skipped("c"), skipped(None)])
    assert compare(stored(), now).stamped == {"a": stamp_of(ANA), "b": "", "c": ""}


# --- What an operator is told --------------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "known", "text", "warnings"),
    [
        ({"found_on_cards": {"a"}}, {}, "pass_over misses: a", ["stamp"]),
        ({"found_on_files": {"a", "u"}, "unreadable": [skipped("u"), skipped("v")]}, {},
         "pass_over misses: a u", ["stamp"]),
        ({"found_on_cards": {"a", "b"}}, {}, "", []),
        ({"parts": {"next": "matches nothing"}}, {"matched_parts": {"next"}},
         "matches nothing now: next", ["list"]),
        ({"parts": {"total[0]": "matches nothing"}}, {"matched_parts": {"total[0]"}},
         "matches nothing now: total[0]", ["list"]),
        ({"parts": {"no_photo": "matches nothing"}}, {"matched_parts": {"no_photo"}},
         "matches nothing now: no_photo", []),
        ({"parts": {"next": "matches nothing"}}, {}, "", []),
        ({}, {"watched": {"h"}}, "no longer recognised", ["hidden"]),
    ],
)  # fmt: skip
def test_notes(
    lists: dict[str, Any], known: dict[str, Any], text: str, warnings: list[str]
) -> None:
    now = reading(person("a"), person("b"), **lists)
    changes = compare(stored(person("a"), person("c"), **known), now)
    assert text in str(changes.notes)
    assert len(changes.notes) == bool(text)
    assert changes.warnings == warnings


def test_no_list_alert_while_nobody_is_absent() -> None:
    before = stored(person("a"), matched_parts={"next"})
    assert compare(before, reading(person("a"), parts={"next": "nothing"})).warnings == []


# --- Hidden --------------------------------------------------------------------------


def marks(*children: Person, photos: bool = True) -> dict[str, set[str]]:
    made: dict[str, set[str]] = {}
    for child in children:
        for mark in marks_of(KEY, child, photos):
            made.setdefault(mark, set()).add(child.id)
    return made


HIDDEN = person("h", ANA)
FACE = HIDDEN.foto


@pytest.mark.parametrize(
    ("listed", "shown", "doubtful"),
    [
        (person("h", ANA, LATER, foto=photo(1)), "", ""),
        (person("h", EVA, foto=photo(1)), "", ""),
        (person("h", EVA, LATER, foto=photo(1)), "h", "h"),
        (person("n", "Prueba ANA Inventáda"), "", ""),
        (person("n", "Ana Luz Inventada Prueba"), "", ""),
        (person("n", "Ana Prueba"), "", ""),
        (person("n", EVA, foto=FACE), "", ""),
        (person("n", ANA, LATER, foto=FACE), "", ""),
        (person("n", EVA, LATER, foto=FACE), "n", "n"),
        (person("n", "Ana Luz Prueba"), "n", ""),
        (person("n", "Ana Prueba", LATER), "n", ""),
        (person("n", ANA, LATER), "n", ""),
        (person("n", EVA), "n", ""),
        (person("n", "Prueba"), "n", ""),
    ],
)
def test_a_hidden_child_is_recognised(listed: Person, shown: str, doubtful: str) -> None:
    before = stored(person("x", ZOE, LATER), watched={"h"}, marks=marks(HIDDEN))
    now = reading(person("x", ZOE, LATER), listed)
    changes = compare(before, now)
    assert active(changes) == shown + "x"
    assert hidden(before, now).doubtful == set(doubtful)
    assert ("a hidden child is no longer recognised" in str(changes.notes)) == bool(shown)
    assert changes.warnings == (["hidden"] if shown else [])


def test_names_of_one_word_or_initials_hide_nobody() -> None:
    for name in ("Lu", "Xiomara", "A. B."):
        before = stored(marks=marks(person("h", name)))
        assert active(compare(before, reading(person("n", name)))) == "n"
        assert active(compare(before, reading(person("n", f"{name} Inventada Prueba")))) == "n"


def test_a_silhouette_hides_nobody() -> None:
    before, three = stored(marks=marks(HIDDEN)), [person(id, foto=FACE) for id in "abc"]
    assert active(compare(before, reading(*three))) == "abc"
    before = stored(marks=marks(person("h", ANA, foto=SILHOUETTE)))
    assert active(compare(before, reading(person("n", EVA, foto=SILHOUETTE)))) == "n"


def test_one_child_may_have_several_cards() -> None:
    now = reading(person("a", ANA), person("b", EVA, foto=FACE), person("c", "Ana Prueba"))
    assert hidden(stored(marks=marks(HIDDEN)), now).cards == dict.fromkeys("abc", "h")


def test_an_id_hides_nobody_while_the_child_is_recognised_elsewhere() -> None:
    now = reading(person("h", EVA, foto=photo(1)), person("n", ANA))
    assert active(compare(stored(marks=marks(HIDDEN)), now)) == "h"


def test_who_is_stored_is_not_compared_again() -> None:
    before = stored(person("s", EVA), marks=marks(HIDDEN))
    assert active(compare(before, reading(person("s", EVA, foto=FACE)))) == "s"


def test_a_hidden_child_stays_hidden_beside_a_namesake_of_the_same_date() -> None:
    before = stored(person("s", ANA, LATER), marks=marks(HIDDEN))
    now = reading(person("s", ANA, LATER), person("h", ANA, LATER))  # her date is corrected
    assert active(compare(before, now)) == "s"


def test_an_id_alone_is_hidden_whoever_is_there() -> None:
    before = stored(marks={"h": {"h"}})  # --hide of an address before anybody was read there
    assert active(compare(before, reading(person("h", ANA), person("x", ZOE)))) == "x"


@pytest.mark.parametrize("lists", [{}, {"unreadable": [skipped("h")]}, {"seen": {"h"}}])
def test_a_hidden_child_is_neither_active_nor_found(lists: dict[str, Any]) -> None:
    changes = compare(stored(person("x", ZOE), marks=marks(HIDDEN)), reading(**lists))
    assert (changes.found, "h" in changes.relisted) == ({"x"}, bool(lists))


@pytest.mark.parametrize(
    ("card", "teaches"),
    [
        (person("n", EVA, foto=FACE), True),
        (person("h", ANA, LATER, foto=photo(1)), True),
        (person("n", ANA), True),
        (person("h", EVA, foto=photo(1)), False),
        (person("n", "Ana Prueba"), False),
    ],
)
def test_what_a_card_teaches(card: Person, teaches: bool) -> None:
    taught = hidden(stored(marks=marks(HIDDEN)), reading(card)).taught
    assert taught == ({(mark, "h") for mark in marks(card)} if teaches else set())


# --- Refused or withheld -------------------------------------------------------------


def many(count: int, first: int = 0, **fields: str) -> list[Person]:
    return [person(f"p{n}", f"Nombre Numero{n}", **fields) for n in range(first, first + count)]


@pytest.mark.parametrize(
    ("before", "read", "known", "reason"),
    [
        (0, 0, {}, None),
        (0, 0, {"days_since_good": None}, "nobody is listed on 0 list pages"),
        (3, 0, {}, "nobody is listed on 0 list pages"),
        (3, 0, {"days_since_good": 15.0}, "nobody is listed on 0 list pages"),
        (4, 1, {}, None),
        (15, 10, {}, None),
        (14, 9, {}, "5 of 14 would leave (5 absent)"),
        (14, 9, {"days_since_good": 15.0}, None),
        (14, 9, {"start": "another"}, "5 of 14 would leave (5 absent)"),
        (12, 10, {"left_lately": 3}, None),
        (
            10,
            8,
            {"left_lately": 3},
            "2 of 10 would leave (2 absent), and 3 left in the last 7 days",
        ),
        (10, 10, {"left_lately": 30}, None),
        (3, 2, {"left_lately": 3}, None),
        (3, 2, {"left_lately": 4}, "1 of 3 would leave (1 absent), and 4 left in the last 7 days"),
        (10, 8, {"left_lately": 3, "days_since_good": 15.0}, None),
    ],
)
def test_refusal(before: int, read: int, known: dict[str, Any], reason: str | None) -> None:
    held, now = stored(*many(before), **known), reading(*many(read))
    expected = ("refused" if reason else "ok", reason)
    assert judge(held, now) == expected


def test_who_is_back_on_the_list_has_not_left_lately() -> None:
    held = stored(*many(10))
    held = held._replace(stored=held.stored._replace(left_lately={"p10", "p11", "p12"}))
    assert judge(held, reading(*many(8), *many(3, first=10))) == ("ok", None)


def test_every_way_to_leave_is_counted() -> None:
    ways = {"stamped": ["p0", "p1"], "gone": ["p2"], "excluded": ["p3"]}
    records = {kind: [skipped(id) for id in ids] for kind, ids in ways.items()}
    _, reason = judge(stored(*many(14)), reading(*many(9, first=5), **records))
    assert reason == "5 of 14 would leave (2 stamped, 1 gone, 1 excluded, 1 absent)"


def test_who_has_moved_does_not_leave() -> None:
    held = stored(*many(12))
    now = reading(*(p._replace(id=f"n{p.id}") for p in many(12)))
    changes = compare(held, now)
    assert (len(changes.moved), changes.found) == (12, set())
    assert judge(held, now) == ("ok", None)


def test_doubles_do_not_leave() -> None:
    held = stored(*many(12), *(p._replace(id=f"n{p.id}", foto="") for p in many(12)))
    changes, outcome, _ = decide(held, reading(*many(12)))
    assert (outcome, len(changes.persons), len(changes.erased)) == ("ok", 12, 12)
    assert changes.found == set()


@pytest.mark.parametrize(
    ("read", "unreadable", "share", "reason"),
    [
        (0, 2, 0.2, None),
        (12, 3, 0.2, None),
        (11, 3, 0.2, "3 of 14 records are unreadable (3 fecha: missing)"),
        (11, 3, 0.5, None),
    ],
)
def test_unreadable_records_withhold(
    read: int, unreadable: int, share: float, reason: str | None
) -> None:
    now = reading(*many(read), unreadable=[skipped(f"u{n}") for n in range(unreadable)])
    expected = ("withheld" if reason else "ok", reason)
    assert judge(stored(), now, share) == expected


@pytest.mark.parametrize(
    ("photos", "lost", "reason"),
    [(25, 5, None), (24, 5, "5 of 24 persons would lose their photo"), (4, 4, None)],
)
def test_lost_photos_withhold(photos: int, lost: int, reason: str | None) -> None:
    without = many(9, first=50, foto=SILHOUETTE)
    held = stored(*many(photos), *without)
    now = reading(*many(lost, foto=SILHOUETTE), *many(photos - lost, first=lost), *without)
    expected = ("withheld" if reason else "ok", reason)
    assert judge(held, now) == expected


def test_what_waits_while_the_rest_is_withheld() -> None:
    doubled = person("d", ANA, foto=SILHOUETTE)
    before = stored(*many(3), person("a", ANA), doubled, person("m", EVA), former={"f": "m"})
    faults = [skipped(f"u{n}") for n in range(5)]
    now = reading(*many(2), person("a", ANA), person("n", EVA), person("z", ZOE), unreadable=faults)
    changes, outcome, _ = decide(before, now)
    assert (outcome, changes.found) == ("withheld", {"p2"})
    assert changes.persons == {id: p for id, p in before.stored.persons.items() if id != "p2"}
    assert (changes.moved, changes.added, changes.former) == ({}, set(), {"f": "m"})


# --- Time ----------------------------------------------------------------------------


def of_one_date(count: int) -> list[Person]:
    """Persons of one date; each word of a name is that of some fifty others or more."""
    chance = random.Random(1)
    words = [[f"{kind}{n}" for n in range(100)] for kind in ("Nombre", "Apellido", "Segundo")]
    names = {" ".join(map(chance.choice, words)): None for _ in range(2 * count)}
    return [person(f"p{n}", name) for n, name in enumerate([*names][:count])]


def moved_away(p: Person, name: str = "") -> Person:
    return p._replace(id=f"n{p.id}", foto=f"n{p.foto}", nombre=name or p.nombre)


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", " Inventada"], ids=["the same names", "one name more"])
def test_everybody_changes_the_address(figure: Figure, more: str) -> None:
    rows = of_one_date(5_000)
    now = reading(*(moved_away(p, p.nombre + more) for p in rows))
    begun = time.process_time()
    changes, outcome, _ = decide(stored(*rows, marks=marks(HIDDEN)), now)
    seconds = time.process_time() - begun
    figure(f"5,000 of one date change addresses{' and names' * bool(more)}: {seconds:.1f} s of CPU")
    assert (outcome, len(changes.moved)) == ("ok", 5_000)
    assert seconds < 5


@pytest.mark.slow
@pytest.mark.parametrize("alike", [False, True], ids=["names", "one name"])
def test_nobody_can_be_read_at_new_addresses(figure: Figure, alike: bool) -> None:
    rows = of_one_date(6_000)
    if alike:
        rows = [p._replace(nombre="María Inventada") for p in rows]
    now = reading(unreadable=[skipped(f"n{p.id}", p.nombre) for p in rows])
    begun = time.process_time()
    changes, outcome, _ = decide(stored(*rows), now)
    seconds = time.process_time() - begun
    figure(f"6,000 cannot be read at new addresses: {seconds:.1f} s of CPU")
    assert (outcome, len(changes.unread)) == ("withheld", 6_000)
    assert seconds < 5


def test_who_leaves_loses_no_photo_to_who_takes_the_address() -> None:
    without = many(6, first=50, foto=SILHOUETTE)
    moved = [one._replace(id=f"p{n}") for n, one in enumerate(without)]
    held = stored(*many(20), *without)
    assert judge(held, reading(*many(14, first=6), *moved)) == ("ok", None)
