"""What the rooms hand to each other: a person, a reading, what is stored, what is to change.

Every module may import this one; it imports names.py alone.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from names import name_key

VERSION = "1.0.0"


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

    @property
    def name_and_date(self) -> tuple[str, ...]:
        """What tells a child from others: the words of the name, in any order, and the date."""
        return (*name_key(self.nombre), self.fecha)


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
    children: int = 1  # how many it names


@dataclass
class Reading:
    """What one reading of the whole register gave."""

    persons: dict[str, Person] = field(default_factory=dict)  # by id
    photos: dict[str, str] = field(default_factory=dict)  # addresses, as they are fetched, by id
    unreadable: list[Skipped] = field(default_factory=list)
    several: list[Skipped] = field(default_factory=list)  # names several children
    excluded: list[Skipped] = field(default_factory=list)  # over max_age
    stamped: list[Skipped] = field(default_factory=list)  # pass_over matched
    gone: list[Skipped] = field(default_factory=list)  # the file page answers 410
    stamped_persons: dict[str, Person] = field(default_factory=dict)  # those with a namesake
    doubles: dict[str, str] = field(default_factory=dict)  # id of a second address -> the first's
    seen: set[str] = field(default_factory=set)  # ids on any of the run's readings of the list
    card_count: int = 0  # on the list, of whatever person
    page_count: int = 0  # of list pages
    placeholder: str = ""  # the address that stands for "no photo"
    found_on_cards: set[str] = field(default_factory=set)  # cards that say "found", by id or number
    found_on_files: set[str] = field(default_factory=set)  # file pages that do
    start: str = ""  # the profile's start addresses
    parts: dict[str, str] = field(default_factory=dict)  # of the profile -> "" or its fault

    @property
    def listed(self) -> int:
        """How many persons are sought, readable or not."""
        return len(self.persons) + len(self.unreadable)


class Stored(NamedTuple):
    """What the database knows when a run begins."""

    persons: dict[str, Person]  # the active ones, by id
    former: dict[str, str | None]  # ids that they had before -> id; None: it stood for two children
    stamped: dict[str, str]  # ids stamped in the last good run -> keyed hash of the name, or ""
    key: bytes  # of these hashes
    expired: set[str]  # ids of persons who could not be read for 14 days
    left_lately: set[str]  # ids of who left within seven days, since the last forced run
    days_since_good: float | None  # None before the first good run
    matched_parts: set[str]  # of the profile, in the last good run
    start: str  # the profile's start addresses in that run


class Hidden(NamedTuple):
    """The hidden children on the list (store/hidden.py, recognise)."""

    cards: dict[str, str]  # id on the list -> id under which the child was hidden
    taught: set[tuple[str, str]]  # what these cards teach: a mark, and that id
    doubtful: set[str]  # ids with the photo or the address of a hidden child, and nothing else
    missing: set[str]  # those who were on the list in the last run and are not recognised now


WarningName = Literal["", "hidden", "list", "stamp"]  # each has a headline in serve/alerts.py


@dataclass
class Changes:
    """What is to become of the stored persons; ids, but for `persons`, `notes` and `warnings`."""

    persons: dict[str, Person]  # the new list
    moved: dict[str, str]  # id until now -> new id
    relisted: set[str] = field(default_factory=set)  # on the list: they leave the found
    added: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    left: dict[str, str] = field(default_factory=dict)  # -> "absent", "stamped", "gone", "excluded"
    found: set[str] = field(default_factory=set)  # of these
    erased: set[str] = field(default_factory=set)  # neither active nor found
    doubles: set[str] = field(default_factory=set)  # erased, as the child is on another card
    unread: set[str] = field(default_factory=set)  # listed and stored, or once so, but not read
    former: dict[str, str | None] = field(default_factory=dict)  # as in Stored
    stamped: dict[str, str] = field(default_factory=dict)  # as in Stored
    notes: list[str] = field(default_factory=list)  # what an operator should look at, with ids
    warnings: list[str] = field(default_factory=list)  # of `notes`, what an alert tells

    def note(self, text: str, ids: Iterable[str] = (), warning: WarningName = "") -> None:
        """Add a line for the operator, without names."""
        self.notes.append(" ".join([text, *sorted(ids)]))
        if warning and warning not in self.warnings:
            self.warnings.append(warning)


def ids_of(records: Iterable[Skipped]) -> set[str]:
    return {record.id for record in records if record.id}


def person_id(register: str, url: str) -> str:
    """`REGISTER-NUMBER`, made of the file's address: the same on every installation, and again
    when a person is listed again. The number has 48 bits, so that JavaScript holds it exactly."""
    return f"{register}-{int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], 'big')}"
