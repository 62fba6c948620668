"""Several nights over a real database: what one night leaves is what the next one begins with.

Each row is a history that once showed, lost or found the wrong child."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model import Changes
from store.database import connect
from store.hidden import hide
from store.persons import stored_persons
from support.nights import run_night
from test_changes import ANA, EVA, LATER, SILHOUETTE, ZOE, person, photo, reading, skipped

OTHERS = person("y", "Otra Persona Lista"), person("w", "Cuarta Persona Lista")
FIRST, SISTER = "Ana Gomez Prueba", "Bea Gomez Prueba"
LUZ = "Ana Luz Inventada Prueba"


class Nights:
    def __init__(self, path: Path):
        self.db = connect(path, busy_seconds=5)

    def night(self, *cards: Any, **lists: Any) -> tuple[Changes, str]:
        """One run over these cards, and two others that are always there; what it changed, and its
        outcome."""
        return run_night(self.db, reading(*cards, *OTHERS, **lists))

    def hide(self, id: str) -> set[str]:
        return hide(self.db, [id]).off

    def shown(self) -> dict[str, str]:
        others = {other.id for other in OTHERS}
        persons = stored_persons(self.db).values()
        return {person.id: person.nombre for person in persons if person.id not in others}

    def column(self, sql: str) -> set[str]:
        return {value for (value,) in self.db.execute(sql)}


@pytest.fixture
def nights(tmp_path: Path) -> Iterator[Nights]:
    made = Nights(tmp_path / "prueba.db")
    yield made
    made.db.close()


def test_a_sisters_stamp_at_an_address_that_was_hers(nights: Nights) -> None:
    one, two, three = (photo(n) for n in (1, 2, 3))
    nights.night(
        person("1", ZOE, foto=one), person("2", FIRST, foto=two), person("3", SISTER, foto=three)
    )
    for _ in range(3):
        nights.night(person("1", FIRST, foto=one), stamped=[skipped("2", SISTER)])
        assert nights.shown() == {"1": FIRST}


def test_another_child_at_a_former_id_of_who_is_stamped(nights: Nights) -> None:
    nights.night(person("c", ANA), person("e", EVA))
    nights.night(person("a", ANA), person("e", EVA))
    for _ in range(2):
        nights.night(person("c", EVA), stamped=[skipped("a", ANA)])
        assert nights.shown() == {"c": EVA}


def test_an_id_that_was_hidden_before_it_was_read(nights: Nights) -> None:
    nights.night(person("s", ANA))
    nights.hide("h")
    nights.night(person("h", ANA))
    assert (nights.shown(), nights.column("SELECT id FROM found")) == ({}, set())


def test_a_name_of_one_word_is_hidden_beside_a_namesake(nights: Nights) -> None:
    two = person("a", "María"), person("e", "María")
    nights.night(*two)
    nights.hide("a")
    nights.night(*two)
    assert nights.shown() == {"e": "María"}


def test_a_silhouette_hides_nobody_else(nights: Nights) -> None:
    nights.night(person("a", ANA, foto=SILHOUETTE), person("e", EVA, foto=SILHOUETTE))
    assert nights.hide("a") == {"a"}


def test_a_hidden_id_under_another_slash(nights: Nights) -> None:
    nights.hide("x")
    nights.night(person("a", ANA), doubles={"x": "a"}, seen={"x"})
    assert nights.shown() == {}


def test_who_is_hidden_under_a_new_card_is_not_found(nights: Nights) -> None:
    nights.night(person("s", ANA))
    nights.hide("h")
    nights.night(person("h", LUZ))
    assert nights.column("SELECT id FROM found") == set()


def test_who_is_unreadable_is_no_double_of_her_sister(nights: Nights) -> None:
    nights.night(person("a", "Ana Prueba"), person("b", "Ana Luz Prueba"))
    nights.night(person("b", "Ana Luz Prueba"), unreadable=[skipped("a", "Ana Prueba")])
    assert nights.shown().keys() == {"a", "b"}


def test_a_withheld_night_erases_nobody_who_is_listed(nights: Nights) -> None:
    many = [person(f"p{n}", f"Nombre Numero{n}") for n in range(4)]
    nights.night(person("a", ANA), person("b", EVA), *many)
    lost = [skipped("n", ANA), *(skipped(one.id, one.nombre) for one in many[1:])]
    _, outcome = nights.night(person("a", EVA), many[0], unreadable=lost)
    assert (outcome, ANA in nights.shown().values()) == ("withheld", True)


def test_the_placeholder_is_nobodys_own_photo(nights: Nights) -> None:
    nights.night(person("a", ANA, foto=SILHOUETTE))
    changes, _ = nights.night(person("e", EVA, foto=SILHOUETTE))
    assert (changes.moved, changes.found) == ({}, {"a"})


def test_a_former_id_is_not_handed_on_to_the_next_child(nights: Nights) -> None:
    nights.night(person("a", ANA), person("e", EVA))
    nights.night(person("b", ANA), person("e", EVA))
    nights.night(person("b", EVA))
    assert nights.column("SELECT person FROM known WHERE id = 'a'") == set()


def test_a_former_id_goes_with_who_is_hidden(nights: Nights) -> None:
    nights.night(person("a", ANA))
    nights.night(person("b", ANA))
    nights.hide("a")
    assert nights.column("SELECT id FROM former") == set()
    nights.night(person("a", "Ana Corregida Prueba", foto=photo(9)))
    assert nights.shown() == {}


def test_three_ids_of_one_child(nights: Nights) -> None:
    kept = person("b", ANA, foto=SILHOUETTE)
    nights.night(kept)
    nights.night(person("a", ANA), kept, doubles={"x": "a"}, seen={"x"})
    assert nights.column("SELECT id FROM former WHERE person = 'b'") == {"a", "x"}


def test_ids_that_go_round(nights: Nights) -> None:
    def cards(*ids: str) -> list[Any]:
        return [person(id, name) for id, name in zip(ids, (ANA, EVA, ZOE), strict=True)]

    nights.night(*cards("a", "b", "c"))
    nights.db.execute("INSERT INTO person_views VALUES ('a', 1), ('b', 20), ('c', 300)")
    nights.night(*cards("b", "c", "a"))
    assert nights.shown() == {"b": ANA, "c": EVA, "a": ZOE}
    views = dict(nights.db.execute("SELECT person, views FROM person_views"))
    assert views == {"b": 1, "c": 20, "a": 300}


def test_a_date_that_is_corrected_later(nights: Nights) -> None:
    nights.night(person("a", ANA))
    nights.hide("a")
    nights.night(person("n", ANA))
    nights.night(person("n", ANA, LATER))
    assert nights.shown() == {}
