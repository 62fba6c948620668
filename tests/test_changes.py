"""What one reading makes of the stored persons: pure, so without a register."""

from typing import Any, NamedTuple

import pytest

import rules.compare
import rules.judge
from model import Changes, Person, Reading, Skipped, Stored
from store.hidden import Marks, name_mark, photo_marks, recognise

KEY = b"k"
SILHOUETTE = "https://a.example/silhouette"


def person(id: str, nombre: str = "", fecha: str = "01/02/2024", **fields: str) -> Person:
    made_up = {"edad": "1 año", "lugar": "L", "foto": f"https://a.example/{id}.jpg"}
    values = {**made_up, "url": f"https://a.example/{id}", **fields}
    return Person(id=id, nombre=nombre or f"Nombre {id * 3} Inventado", fecha=fecha, **values)


def skipped(id: str | None, nombre: str | None = None) -> Skipped:
    return Skipped(id, 1, 1, "fecha", "missing", nombre)


class Before(NamedTuple):
    stored: Stored
    marks: Marks


def stored(*persons: Person, **known: Any) -> Before:
    marks = Marks(KEY, known.pop("marks", {}), known.pop("watched", set()))
    blank: dict[str, Any] = {
        "stamped": set(),
        "expired": set(),
        "longest_list": 0,
        "days_since_good": 1.0,
        "matched_parts": set(),
    }
    return Before(Stored(**{**blank, "persons": {p.id: p for p in persons}, **known}), marks)


def compare(before: Before, now: Reading, force: bool = False) -> Changes:
    hidden = recognise(before.marks, before.stored.persons, now)
    return rules.compare.compare(before.stored, now, hidden, force)


def judge(before: Before, now: Reading, share: float = 0.2) -> tuple[str, str | None]:
    return rules.judge.judge(before.stored, now, compare(before, now), share)


def reading(*persons: Person, **lists: Any) -> Reading:
    made = Reading(persons={p.id: p for p in persons}, placeholder=SILHOUETTE, **lists)
    for records in (made.unreadable, made.excluded, made.stamped, made.gone):
        made.seen |= {record.id for record in records if record.id}
    made.seen |= made.persons.keys()
    made.card_count = len(made.seen)
    return made


def active(changes: Changes) -> str:
    return "".join(sorted(p.id for p in changes.persons))


@pytest.mark.parametrize(
    ("before", "read", "lists", "known", "shown", "added", "found", "erased"),
    [
        ("", "ab", {}, {}, "ab", "ab", "", ""),
        ("ab", "b", {}, {}, "b", "", "a", ""),
        ("ab", "b", {"unreadable": "a"}, {}, "ab", "", "", ""),
        ("b", "b", {"unreadable": "a"}, {}, "b", "", "", ""),
        ("ab", "b", {"unreadable": "a"}, {"expired": {"a"}}, "b", "", "", "a"),
        ("ab", "b", {"seen": {"a"}}, {}, "ab", "", "", ""),
        ("ab", "b", {"excluded": "a"}, {}, "b", "", "", "a"),
        ("ab", "b", {"stamped": "a"}, {}, "b", "", "a", ""),
        ("ab", "b", {"gone": "a"}, {}, "b", "", "a", ""),
        ("ab", "b", {}, {"days_since_good": 15.0}, "b", "", "", "a"),
        ("a", "", {}, {}, "", "", "a", ""),
        ("b", "ab", {}, {"marks": {"a": "a"}}, "b", "", "", ""),
        ("ab", "ab", {}, {"marks": {"a": "a"}}, "b", "", "", "a"),
        ("b", "b", {"unreadable": "a"}, {"marks": {"a": "a"}}, "b", "", "", ""),
        ("b", "ab", {}, {"stamped": {"a"}}, "b", "", "", ""),
        ("b", "ab", {"stamped": "c"}, {"stamped": {"a"}}, "ab", "a", "", ""),
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


def test_force_admits_who_had_a_stamp() -> None:
    before = stored(person("b"), stamped={"a"})
    assert active(compare(before, reading(person("a"), person("b")), force=True)) == "ab"


# --- Who is who ----------------------------------------------------------------------

ANA, EVA = "Ana Inventada Prueba", "Eva Ficticia Muestra"


@pytest.mark.parametrize(
    ("before", "read", "moved", "found"),
    [
        ([person("a", ANA)], [person("b", ANA)], {"a": "b"}, set()),
        ([person("a", ANA)], [person("b", "PRUEBA INVENTADA, ána")], {"a": "b"}, set()),
        ([person("a", ANA)], [person("b", ANA, "02/02/2024")], {}, {"a"}),
        ([person("a", ANA)], [person("b", EVA)], {}, {"a"}),
        ([person("a", ANA), person("c", ANA)], [person("b", ANA)], {}, {"a", "c"}),
        ([person("a", ANA)], [person("b", ANA), person("c", ANA, lugar="M")], {}, {"a"}),
        ([person("a", ANA)], [person("a", ANA), person("b", ANA, lugar="M")], {}, set()),
    ],
)
def test_who_has_moved(
    before: list[Person], read: list[Person], moved: dict[str, str], found: set[str]
) -> None:
    changes = compare(stored(*before), reading(*read))
    assert (changes.moved, changes.found) == (moved, found)


@pytest.mark.parametrize(
    ("id", "name", "found"),
    [
        (None, "Ana", "b"),
        (None, "PRUEBA, Ána", "b"),
        (None, "Ana Inven", "b"),
        ("new", ANA, "b"),
        ("c", ANA, "ab"),  # that card is c's
        (None, "Xenia", "ab"),
        (None, None, "ab"),
    ],
)
def test_an_unreadable_card_is_matched_by_name(id: str | None, name: str, found: str) -> None:
    before = stored(person("a", ANA), person("b", EVA), person("c", "Zoe Ficticia"))
    now = reading(person("c", "Zoe Ficticia"), unreadable=[skipped(id, name)])
    assert compare(before, now).found == set(found)


def test_who_is_excluded_under_a_new_address_is_not_found() -> None:
    now = reading(person("b", EVA), excluded=[skipped("new", ANA)])
    changes = compare(stored(person("a", ANA), person("b", EVA)), now)
    assert (changes.found, changes.erased, active(changes)) == (set(), {"a"}, "b")


def test_a_stamped_person_is_found_whoever_shares_the_name() -> None:
    now = reading(unreadable=[skipped(None, ANA)], stamped=[skipped("a")], excluded=[skipped("b")])
    changes = compare(stored(*(person(id, ANA) for id in "abc")), now)
    assert (changes.found, changes.erased, active(changes)) == ({"a"}, {"b"}, "c")


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


# --- Hidden --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "shown"),
    [
        (person("h", "Otra Persona"), ""),
        (person("n", ANA), ""),
        (person("n", "Prueba ANA Inventáda"), ""),
        (person("n", "Ana Corregida", foto="https://a.example/h.jpg"), ""),
        (person("n", "Ana Corregida"), "n"),
        (person("n", ANA, "02/02/2024"), "n"),
    ],
)
def test_a_hidden_child_is_recognised(listed: Person, shown: str) -> None:
    hidden = person("h", ANA)
    marks = [name_mark(KEY, hidden), *photo_marks(KEY, [hidden], SILHOUETTE).values(), "h"]
    before = stored(watched={"h"}, marks={str(mark): "h" for mark in marks})
    changes = compare(before, reading(listed))
    assert active(changes) == shown
    assert ("a hidden child is no longer recognised" in str(changes.notes)) == bool(shown)


def test_a_photo_tells_nobody_who_shares_it_or_where_the_child_is_known_otherwise() -> None:
    hidden = person("h", "Lu")
    (photo,) = photo_marks(KEY, [hidden], SILHOUETTE).values()
    before = stored(marks={photo: "h", "h": "h"})
    other = person("n", EVA, foto=hidden.foto)
    assert active(compare(before, reading(other, person("o", ANA, foto=hidden.foto)))) == "no"
    assert active(compare(before, reading(other, person("h", "Lu", foto=SILHOUETTE)))) == "n"
    assert name_mark(KEY, hidden) == ""


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
        (27, 21, {"longest_list": 31}, None),
        (27, 20, {"longest_list": 31}, "20 cards, and lately there were 31"),
        (27, 20, {"longest_list": 31, "days_since_good": 15.0}, None),
    ],
)
def test_refusal(before: int, read: int, known: dict[str, Any], reason: str | None) -> None:
    held, now = stored(*many(before), **known), reading(*many(read))
    expected = ("refused" if reason else "ok", reason)
    assert judge(held, now) == expected


def test_who_has_moved_does_not_leave() -> None:
    held = stored(*many(12))
    now = reading(*(p._replace(id=f"n{p.id}") for p in many(12)))
    changes = compare(held, now)
    assert (len(changes.moved), changes.found) == (12, set())
    assert judge(held, now) == ("ok", None)


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
