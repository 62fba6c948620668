"""What the scraper, the database and the API call a person, and what one reading gave.

Nothing here reads a page, a database or a setting: every other module may import it.
"""

import hashlib
import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple


class Person(NamedTuple):
    """The specification's seven fields (2.1), in its order; all are texts."""

    id: str
    nombre: str
    fecha: str
    edad: str
    lugar: str
    foto: str
    url: str


class Unreadable(NamedTuple):
    """A record that lacks a field. `id` is None where the card has no link to a file; only then
    `nombre` may be known, which no log may tell."""

    id: str | None
    page: int  # number of the list page, from 1
    card: int  # number of the card on that page, from 1
    field: str
    reason: str
    nombre: str | None = None


@dataclass
class Reading:
    """What one reading of the whole register gave."""

    persons: dict[str, Person] = field(default_factory=dict)  # by id
    unreadable: list[Unreadable] = field(default_factory=list)
    over_age: set[str] = field(default_factory=set)  # ids of persons older than max_age
    stamped: set[str] = field(default_factory=set)  # ids that pass_over matched: absent
    pages: int = 0  # how many list pages were read
    unused: list[str] = field(default_factory=list)  # parts of the profile that matched nothing

    @property
    def listed(self) -> int:
        """How many persons are sought, readable or not."""
        return len(self.persons) + len(self.unreadable)


def person_id(register: str, url: str) -> str:
    """`REGISTER-NUMBER`, made of the file's address: the same on every installation, and again
    when a person is listed again. The number has 48 bits, so that JavaScript holds it exactly."""
    return f"{register}-{int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], 'big')}"


def comparable(text: str) -> str:
    """`text` for comparing words: without case, accents, colons, full stops, repeated spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    kept = (c for c in letters if not unicodedata.combining(c) and c not in ":.")
    return " ".join("".join(kept).split())


def region_of(place: str) -> str:
    """The part of a place after its last comma, comparable: "Orán, Salta" and "SALTA" are both
    "salta"."""
    return comparable(place.rpartition(",")[2])
