"""What one reading makes of the stored persons."""

import pytest

from changes import compare, refusal
from person import Person, Reading, Unreadable


def person(id: str, nombre: str = "N") -> Person:
    return Person(
        id, nombre, "01/02/2024", "1 año", "L", "https://a.example/", "https://a.example/"
    )


def unreadable(id: str | None, nombre: str | None = None) -> Unreadable:
    return Unreadable(id, 1, 1, "fecha", "missing", nombre)


@pytest.mark.parametrize(
    ("stored", "read", "unread", "over_age", "hidden", "active", "added", "found", "erased"),
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
    unread: str,
    over_age: str,
    hidden: str,
    active: str,
    added: str,
    found: str,
    erased: str,
) -> None:
    reading = Reading(
        persons={id: person(id) for id in read},
        unreadable=[unreadable(id) for id in unread],
        over_age=set(over_age),
    )
    changes = compare({id: person(id) for id in stored}, reading, set(hidden))
    assert sorted(p.id for p in changes.persons) == sorted(active)
    assert (changes.added, changes.found, changes.erased) == (set(added), set(found), set(erased))
    assert changes.changed == set()


def test_what_has_changed() -> None:
    reading = Reading(persons={"a": person("a", "new"), "b": person("b")})
    stored = {"a": person("a"), "b": person("b")}
    assert compare(stored, reading, set()).changed == {"a"}


@pytest.mark.parametrize(("name", "found"), [("A", "b"), ("Á.", "b"), ("X", "ab"), (None, "ab")])
def test_a_card_without_a_link_is_matched_by_name(name: str | None, found: str) -> None:
    reading = Reading(unreadable=[unreadable(None, name)])
    stored = {"a": person("a", "A"), "b": person("b", "B")}
    assert compare(stored, reading, set()).found == set(found)


def test_a_stamped_person_is_found_whoever_shares_the_name() -> None:
    reading = Reading(unreadable=[unreadable(None, "A")], stamped={"a"}, over_age={"b"})
    stored = {id: person(id, "A") for id in "abc"}
    changes = compare(stored, reading, set())
    assert (changes.found, changes.erased, {p.id for p in changes.persons}) == ({"a"}, {"b"}, {"c"})


@pytest.mark.parametrize(
    ("stored", "read", "unread", "reason"),
    [
        (0, 0, 0, "nobody is listed on 0 list pages"),
        (0, 1, 0, None),
        (0, 4, 1, None),
        (0, 7, 2, "2 of 9 records are unreadable (fecha 2)"),
        (10, 5, 0, None),
        (10, 4, 0, "only 4 of 10 stored persons are still listed"),
        (10, 4, 1, None),
        (9, 1, 0, None),
    ],
)
def test_refusal(stored: int, read: int, unread: int, reason: str | None) -> None:
    reading = Reading(
        persons={str(n): person(str(n)) for n in range(read)},
        unreadable=[unreadable(str(n)) for n in range(read, read + unread)],
    )
    persons = {str(n): person(str(n)) for n in range(stored)}
    changes = compare(persons, reading, set())
    assert refusal(persons, reading, changes, max_unreadable=0.2) == reason
