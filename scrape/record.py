"""One listed person, read from two sources: the card on the list, and the file page.

    card --is it stamped, too old, of several children?--> skipped
      |--its file page--> is it this card's? stamped? gone?--> skipped
      '--each field--> Person, or unreadable

The file page is fetched only if a field or a stamp needs it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from model import Person
from names import name_key, share_a_word
from scrape.address import page_of, web_address
from scrape.cards import Card, RunContext, first_name
from scrape.document import NOT_TEXT, Document, parse_html, parse_json, value_at
from scrape.fetch import PageError
from scrape.profile import Profile
from scrape.values import Age, age_between, read_age, read_date, read_name, read_place


class RecordError(Exception):
    """A record gives no person. `kind` is the list of Reading in which it belongs; `file page`
    counts as a field; only `text` may quote the page."""

    def __init__(
        self, field: str, reason: str, text: str = "", kind: str = "unreadable", children: int = 1
    ):
        super().__init__(field, reason, text, children)
        self.kind = kind


@dataclass
class Record:
    """One person's two sources."""

    card: Card
    context: RunContext
    document: Document | None = None  # the file page
    stamp: str = ""  # on the file page

    @property
    def profile(self) -> Profile:
        return self.context.profile

    def file_page(self) -> Document:
        """The file page, fetched once. RecordError where that fails, or it is another child's."""
        if self.document is not None:
            return self.document
        address = self.card.detail_url
        if self.context.cards_per_file[page_of(address)] > 1:
            raise RecordError("file page", "another card has the same one", address)
        try:
            document = self.read_file(address)
        except PageError as error:
            kind = "gone" if error.status == 410 else "unreadable"
            raise RecordError("file page", str(error), address, kind) from None
        stamps = self.profile.stamps(on_card=False)
        self.stamp = self.context.usage.find_stamp(stamps, document.root)
        check_owner(self, document)
        self.document = document
        return document

    def read_file(self, address: str) -> Document:
        """The file page; of one in JSON, the record. PageError where that fails."""
        if not address:
            raise PageError("the card does not say where it is (profile key `file_url`)")
        page, path = self.context.fetcher.get(address), self.profile.file_record
        self.context.bodies[blake2b(page.body).digest()][self.card.id] = self.card.name
        if path is None:
            return parse_html(page, self.profile.encoding)
        document = parse_json(page, self.profile.encoding)
        record = value_at(document.root, path)
        if not isinstance(record, dict):
            raise PageError(f"there is no record at {path!r} (profile key `file_record`)")
        return document._replace(root=record)


def check_owner(record: Record, document: Document) -> None:
    """RecordError unless the file page is this card's: their names agree where the profile reads
    both, and after a redirect they must. No other card's file may be there."""
    card, context = record.card, record.context
    ways = (way for way in record.profile.fields.nombre if not way.on_card)
    texts = (context.usage.extract(way, document.root) for way in ways)
    name = first_name(texts, record.stamp)
    if card.name and name and not names_its_child(name, card.name, context):
        raise RecordError("file page", "it names somebody else than the card", name)
    end = page_of(document.url)
    if end == page_of(card.detail_url):
        return
    if not (card.name and name):
        reason = "a redirect led to it, and `nombre` is not read on both card and file page"
        raise RecordError("file page", reason)
    first = context.ends.setdefault(end, card.id)
    if end in context.cards_per_file or first != card.id:
        context.disputed.add(first)
        raise RecordError("file page", "a redirect led to the file page of another card")


def names_its_child(on_file: str, on_card: str, context: RunContext) -> bool:
    """Whether a file page's name is its card's, or shares a word and is no other card's."""
    if name_key(on_file) == name_key(on_card):
        return True
    return share_a_word(on_file, on_card) and name_key(on_file) not in context.cards_per_name


def read_person(record: Record) -> Person:
    """The person, `foto` as it is fetched. RecordError of the first missing or malformed field."""
    check_stamp(record.card.stamp)
    if not record.card.id:
        raise RecordError("url", "no link to the register's hosts")
    if record.profile.fields.nombre[0].on_card:
        check_one_child(record, record.card.name)
    limit = record.profile.max_age
    if limit is not None and (age := age_of(record)) and age.years > limit:
        raise RecordError("edad", "over max_age", str(age), "excluded")
    name = first_value(record, "nombre")
    check_one_child(record, name)
    if record.profile.stamps(on_card=False):
        record.file_page()
        check_stamp(record.stamp)
    return read_fields(record)


def read_fields(record: Record) -> Person:
    """The person, whatever the stamps say. RecordError as read_person()."""
    fecha, age = first_value(record, "fecha"), age_of(record)
    fields = {
        "nombre": first_value(record, "nombre"),
        "fecha": fecha and fecha.strftime("%d/%m/%Y"),
        "edad": age and str(age),
        "lugar": first_value(record, "lugar"),
        "foto": first_value(record, "foto") or record.profile.placeholder,
    }
    for field_name, value in fields.items():
        if not value:
            raise fault_of(record, field_name)
    return Person(id=record.card.id, url=record.card.stored_url, **fields)


def check_stamp(stamp: str) -> None:
    if stamp == NOT_TEXT:
        raise RecordError("pass_over", "malformed", stamp)
    if stamp:
        raise RecordError("pass_over", "stamped", stamp, "stamped")


def check_one_child(record: Record, name: str | None) -> None:
    several = record.profile.several
    if name and several and re.search(several, name, re.IGNORECASE):
        count = 1 + len(re.findall(several, name, re.IGNORECASE))
        raise RecordError("nombre", "names several children", name, "several", count)


def fault_of(record: Record, field_name: str) -> RecordError:
    """What is wrong with a field that has no value, and the texts at its places."""
    names = ("edad", "nacimiento") if field_name == "edad" else (field_name,)
    also = ", and the profile has no placeholder" if field_name == "foto" else ""
    for whole, reason in ((False, "malformed"), (True, "no pattern matches")):
        for name in names:
            if texts := [*filter(None, texts_of(record, name, whole))]:
                return RecordError(name, reason + also, " | ".join(texts))
    return RecordError(field_name, "missing" + also)


def texts_of(record: Record, field_name: str, whole: bool = False) -> Iterator[str]:
    """The text that each way of a field yields, in their order; "" for none. A photo's address is
    resolved. With `whole`, all that stands at the places of those that have a pattern."""
    ways = getattr(record.profile.fields, field_name)
    for way in [way.whole for way in ways if way.pattern] if whole else ways:
        if way.on_card:
            yield record.card.texts.get(way, "")
        else:
            document = record.file_page()
            text = record.context.usage.extract(way, document.root)
            yield (field_name == "foto" and web_address(document.base, text)) or text


def parse(record: Record, field_name: str, text: str) -> Any:
    """The value of a field in `text`, or None; of a photo the address, as it is fetched."""
    profile = record.profile
    if field_name in ("fecha", "nacimiento"):
        return read_date(text, profile.months, record.context.today)
    if field_name == "edad":
        return read_age(text, profile.month_words, profile.year_words)
    if field_name != "foto":
        return read_name(text) if field_name == "nombre" else read_place(text)
    address = web_address("", text)
    if not profile.means_no_photo(address):
        return address or None
    record.context.usage.keys.add("no_photo")
    return None


def first_value(record: Record, field_name: str) -> Any:
    """The first value in the texts of a field, or None."""
    values = (parse(record, field_name, text) for text in texts_of(record, field_name) if text)
    return next((value for value in values if value is not None), None)


def age_of(record: Record) -> Age | None:
    """The age that the register states, else that on the day of the case: Croatia gives none.
    Where it states today's, the other way round."""
    if record.profile.edad_de == "hoy":
        return age_by_birth(record) or first_value(record, "edad")
    age: Age | None = first_value(record, "edad")
    if age is None and (age := age_by_birth(record)) and any(texts_of(record, "edad")):
        record.context.usage.unread_ages.add(record.card.key)
    return age


def age_by_birth(record: Record) -> Age | None:
    fecha, born = (first_value(record, name) for name in ("fecha", "nacimiento"))
    return age_between(born, fecha) if born and fecha else None
