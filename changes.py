"""What one reading of the register makes of the stored persons, and why it may be refused.

    stored persons + Reading + hidden ids --compare--> Changes --refusal--> a reason, or None

Pure: no database, no network, no clock.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from person import Person, Reading, comparable

GUARDED = 10  # from so many stored persons on, losing more than half is refused


class Changes(NamedTuple):
    """What is to become of the stored persons; all but `persons` are ids."""

    listed: set[str]  # every id that is still sought, whatever its state
    persons: list[Person]  # the new list
    added: set[str]
    changed: set[str]
    found: set[str]
    erased: set[str]  # hidden or over age: neither active nor found


def compare(stored: Mapping[str, Person], reading: Reading, hidden: set[str]) -> Changes:
    """Only absence from the register means found: a person who is listed but unreadable stays as
    stored."""
    listed = reading.persons.keys() | unreadable_ids(stored, reading)
    latest = {**stored, **reading.persons}
    active = {id for id in listed - hidden if id in latest}
    return Changes(
        listed=listed,
        persons=[latest[id] for id in active],
        added=active - stored.keys(),
        changed={id for id in active & stored.keys() if latest[id] != stored[id]},
        found=stored.keys() - listed - reading.over_age - hidden,
        erased=stored.keys() & (reading.over_age | hidden),
    )


def unreadable_ids(stored: Mapping[str, Person], reading: Reading) -> set[str]:
    """The ids of the unreadable records. A card without a link has none: it is matched to stored
    persons by name."""
    ids = {record.id for record in reading.unreadable if record.id}
    names = {comparable(r.nombre) for r in reading.unreadable if not r.id and r.nombre}
    of_that_name = {id for id, person in stored.items() if comparable(person.nombre) in names}
    return ids | (of_that_name - reading.stamped - reading.over_age)


def refusal(
    stored: Mapping[str, Person], reading: Reading, changes: Changes, max_unreadable: float
) -> str | None:
    """Why this reading cannot be believed, or None. `max_unreadable` is the share of unreadable
    records, 0 to 1, that is borne."""
    if not reading.listed:
        return f"nobody is listed on {reading.pages} list pages"
    fields = Counter(record.field for record in reading.unreadable)
    if fields.total() > max_unreadable * reading.listed:
        named = ", ".join(f"{field} {count}" for field, count in fields.most_common())
        return f"{fields.total()} of {reading.listed} records are unreadable ({named})"
    still = len(stored.keys() & changes.listed)
    if len(stored) >= GUARDED and 2 * still < len(stored):
        return f"only {still} of {len(stored)} stored persons are still listed"
    return None
