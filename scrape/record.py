"""One listed person, read from two sources: the card on the list, and the file page.

For each field the profile's ways are tried in order, each on the source that it names. The file
page is fetched only if a field or a stamp needs it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeVar

from person import Person, Reading
from scrape.address import absolute, https
from scrape.fetch import Fetcher, PageError
from scrape.profile import Profile, Way, as_tuple
from scrape.text import Document, parse_html
from scrape.values import Age, age_between, read_age, read_date, read_name, read_place
from scrape.ways import Usage, extract, is_stamped

T = TypeVar("T")


class RecordError(Exception):
    """A record cannot be read: `RecordError(field, reason)`; `file page` counts as a field."""


class Text(NamedTuple):
    """What a way yields."""

    text: str
    base: str  # the address that a link in it starts from


@dataclass
class Card:
    """What the list pages say of one person."""

    id: str
    link: str  # the file page's address, as it is fetched
    page: int  # number of the list page, from 1
    number: int  # number of the card on that page, from 1
    texts: dict[Way, Text]  # of each way on the card
    stamped: bool


class Record(NamedTuple):
    """One person's two sources, and what reading them takes."""

    card: Card
    file_page: Callable[[], Document]  # may raise RecordError
    profile: Profile
    usage: Usage
    today: date


def fetch_file_page(link: str, fetcher: Fetcher) -> Document:
    """Fetch and parse the file page at `link`. RecordError where that fails."""
    try:
        return parse_html(fetcher.get(link), fetcher.profile.encoding)
    except PageError as error:
        raise RecordError("file page", str(error)) from None


def classify_record(reading: Reading, record: Record) -> None:
    """Read one record into the `stamped`, the `over_age` or the `persons` of `reading`."""
    id = record.card.id
    if record.card.stamped:
        reading.stamped.add(id)
    elif is_over_age(record):
        reading.over_age.add(id)
    elif has_stamped_file(record):
        reading.stamped.add(id)
    else:
        reading.persons[id] = read_person(record)


def is_over_age(record: Record) -> bool:
    """Whether the person is older than `max_age`, as far as the age is known."""
    limit = record.profile.max_age
    if limit is None:
        return False
    age = age_of(record)
    return age is not None and age.years > limit


def has_stamped_file(record: Record) -> bool:
    """Whether `pass_over` matches the file page."""
    ways = tuple(way for way in record.profile.pass_over if not way.on_card)
    return bool(ways) and is_stamped(ways, record.file_page().root, record.usage)


def read_person(record: Record) -> Person:
    """The person. RecordError names the first field that is missing or malformed."""
    name, fecha, age = name_of(record), day_of(record, "fecha"), age_of(record)
    fields = {
        "nombre": name,
        "fecha": fecha and fecha.strftime("%d/%m/%Y"),
        "edad": age and str(age),
        "lugar": first_value(record, "lugar", read_place),
        "foto": photo_of(record),
    }
    for field, value in fields.items():
        if not value:
            reason = "malformed" if any(texts_of(record, field)) else "missing"
            also = ", and the profile has no placeholder" if field == "foto" else ""
            raise RecordError(field, reason + also)
    return Person(id=record.card.id, url=https(record.card.link), **fields)  # type: ignore[arg-type]


def texts_of(record: Record, field: str) -> Iterator[Text]:
    """The texts that the ways of a field yield, in their order."""
    for way in getattr(record.profile.fields, field):
        if way.on_card:
            text, base = record.card.texts[way]
        else:
            tree, base = record.file_page()
            text, match = extract(way, tree, record.profile.missing)
            record.usage.note(way, match)
        if text:
            yield Text(text, base)


def first_value(record: Record, field: str, parse: Callable[[str], T | None]) -> T | None:
    """The first value that `parse` makes of the texts of a field."""
    values = (parse(text) for text, _ in texts_of(record, field))
    return next((value for value in values if value is not None), None)


def name_of(record: Record) -> str | None:
    """The name. RecordError where a text names several children."""
    several = record.profile.several

    def one_name(text: str) -> str | None:
        name = read_name(text)
        if name and several and re.search(several, name, re.IGNORECASE):
            raise RecordError("nombre", "names several children")
        return name

    return first_value(record, "nombre", one_name)


def day_of(record: Record, field: str) -> date | None:
    """The day that `fecha` or `nacimiento` yields."""
    months = record.profile.months
    return first_value(record, field, lambda text: read_date(text, months, record.today))


def age_of(record: Record) -> Age | None:
    """The age that the register states, else the age on the day of the case."""
    words = as_tuple(record.profile.month_words)
    stated = first_value(record, "edad", lambda text: read_age(text, words))
    if stated is not None:
        return stated
    fecha = day_of(record, "fecha")
    born = day_of(record, "nacimiento") if fecha else None
    return age_between(born, fecha) if fecha and born else None


def photo_of(record: Record) -> str:
    """The photo's address, else the placeholder's, else ""."""
    for text, base in texts_of(record, "foto"):
        try:
            address = https(absolute(base, text))
        except ValueError:
            continue
        if not any(part in address for part in as_tuple(record.profile.no_photo)):
            return address
        record.usage.keys.add("no_photo")
    return https(record.profile.placeholder or "")
