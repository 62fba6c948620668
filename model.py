"""What the rooms hand to each other: a person, a reading, what is stored, what is to change.

Every module may import this one; it imports nothing of ours.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class SettingError(ValueError):
    """A setting, an option or a database that cannot be used: one line that names it."""


class Person(NamedTuple):
    """The specification's seven fields (2.1), in its order; all are texts."""

    id: str
    nombre: str
    fecha: str
    edad: str
    lugar: str
    foto: str
    url: str


class Skipped(NamedTuple):
    """A card that gave no person. No log may tell `nombre`, `href` or `text`."""

    id: str | None  # None where the card cannot be attributed to one file
    page_number: int  # of the list page, from 1
    card_number: int  # of the card on that page, from 1
    field: str
    reason: str
    nombre: str | None = None  # of the card
    href: str | None = None  # of its link
    text: str = ""  # what could not be read


@dataclass
class Reading:
    """What one reading of the whole register gave."""

    persons: dict[str, Person] = field(default_factory=dict)  # by id
    photos: dict[str, str] = field(default_factory=dict)  # addresses, as they are fetched, by id
    unreadable: list[Skipped] = field(default_factory=list)
    excluded: list[Skipped] = field(default_factory=list)  # over max_age, or several children
    stamped: list[Skipped] = field(default_factory=list)  # pass_over matched
    gone: list[Skipped] = field(default_factory=list)  # the file page answers 410
    seen: set[str] = field(default_factory=set)  # ids on any of the run's readings of the list
    card_count: int = 0  # on the list, of whatever person
    page_count: int = 0  # of list pages
    placeholder: str = ""  # the address that stands for "no photo"
    found_on_cards: int = 0  # how many cards of `persons` say that somebody was found
    found_on_files: int = 0  # how many of their file pages do
    parts: dict[str, str] = field(default_factory=dict)  # of the profile -> "" or its fault

    @property
    def listed(self) -> int:
        """How many persons are sought, readable or not."""
        return len(self.persons) + len(self.unreadable)


class Stored(NamedTuple):
    """What the database knows when a run begins."""

    persons: dict[str, Person]  # the active ones, by id
    stamped: set[str]  # ids that carried a stamp once
    expired: set[str]  # ids of persons who could not be read for 14 days
    longest_list: int  # cards of the longest list of a good run in the last 7 days
    days_since_good: float | None  # None before the first good run
    matched_parts: set[str]  # of the profile, in the last good run


class Hidden(NamedTuple):
    """The hidden children on the list (store/hidden.py, recognise)."""

    cards: dict[str, str]  # id on the list -> id under which the child was hidden
    missing: set[str]  # those who were on the list in the last run and are not recognised now


@dataclass
class Changes:
    """What is to become of the stored persons; ids, but for `persons`, `notes` and `warnings`."""

    listed: set[str]  # read, hidden or excluded: they leave the found
    moved: dict[str, str]  # who has a new address: id until now -> new id
    persons: list[Person] = field(default_factory=list)  # the new list
    added: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)  # neither active nor found
    unread: set[str] = field(default_factory=set)  # stored and listed, but not read this time
    notes: list[str] = field(default_factory=list)  # what an operator should look at, with ids
    warnings: list[str] = field(default_factory=list)  # of `notes`, what an alert tells


def ids_of(records: Iterable[Skipped]) -> set[str]:
    return {record.id for record in records if record.id}


def person_id(register: str, url: str) -> str:
    """`REGISTER-NUMBER`, made of the file's address: the same on every installation, and again
    when a person is listed again. The number has 48 bits, so that JavaScript holds it exactly."""
    return f"{register}-{int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], 'big')}"
