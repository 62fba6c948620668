"""Read an official register of missing children, as its profile describes it.

    registers/NAME.toml --load_profile--> Profile           (profiles.py)
    Profile --read_list--> cards: one a person, with what the list pages say
    card (+ the person's file page) --Record--> Person
    all of it: read_register(profile, contact) -> Reading

The pages come from fetch.py. Nothing here knows the database, and nothing here names a
person in a message: reasons speak of pages, cards and fields.
"""

import gc
import hashlib
import html
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, TypeVar
from urllib.parse import urldefrag, urlsplit

import msgspec
import soupsieve
import webencodings
from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import CData, NavigableString, PageElement

from fetch import PAGE_SECONDS, Fetcher, Page, PageError, Refused, time_limit
from profiles import Profile, Way, absolute, as_tuple, https

log = logging.getLogger("persona404.register")
T = TypeVar("T")
Progress = Callable[[str], None]  # takes a line for the terminal


class Unreadable(Exception):
    """One record lacks a field: `Unreadable(field, reason)`."""


class Person(NamedTuple):
    """The specification's seven fields (2.1), in its order."""

    id: str
    nombre: str
    fecha: str
    edad: str
    lugar: str
    foto: str
    url: str


class LeftOut(NamedTuple):
    """An unreadable record. `id` is None where not even its file's address was read; then
    the card may still tell the name, which no log may."""

    id: str | None
    page: int
    card: int
    field: str
    reason: str
    nombre: str | None = None


@dataclass
class Reading:
    """What one reading of the register gave."""

    persons: dict[str, Person] = field(default_factory=dict)
    unreadable: list[LeftOut] = field(default_factory=list)
    outside: set[str] = field(default_factory=set)  # ids of persons over max_age
    passed_over: set[str] = field(default_factory=set)  # ids that pass_over matched: absent
    pages: int = 0  # list pages read
    unused: list[str] = field(default_factory=list)  # parts of the profile that matched nothing

    @property
    def listed(self) -> int:
        """How many are listed, readable or not."""
        return len(self.persons) + len(self.unreadable)


# --- From a page to texts ------------------------------------------------------------

# fmt: off
BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "html", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
}
# fmt: on
# Control characters, bidirectional overrides, characters of no width: no part of a name.
INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)


SPACE = " :\t\r\n\xa0"  # around a value


def encoding_of(page: Page, encoding: str | None) -> str:
    """The encoding of a page: that of its byte order mark, else `encoding`, its Content-Type's,
    UTF-8 where it is that, its <meta>'s."""
    mark = EncodingDetector.strip_byte_order_mark(page.body)[1]
    declared = EncodingDetector.find_declared_encoding(page.body, is_html=True)
    try:
        page.body.decode()
        is_utf8 = "utf-8"
    except UnicodeDecodeError:
        is_utf8 = None
    names = [mark, encoding, page.charset, is_utf8, declared, "utf-8"]
    return next(name for name in names if name and webencodings.lookup(name))


def parse(page: Page, encoding: str | None) -> BeautifulSoup:
    """The page's tree as a browser builds it."""
    body = EncodingDetector.strip_byte_order_mark(page.body)[0]
    try:
        return BeautifulSoup(body, "html5lib", from_encoding=encoding_of(page, encoding))
    except PageError as error:  # the time limit
        reason = str(error)
    except Exception as error:  # a page may break a parser in any way
        reason = f"cannot be parsed: {type(error).__name__}"
    # Down here, where no traceback holds the tree any more: the next page needs its room.
    gc.collect()
    raise PageError(reason)


def is_text(node: PageElement) -> TypeGuard[NavigableString]:
    """Whether `node` is text that one sees: no comment, script or style."""
    parent = node.parent
    seen = parent is None or parent.name not in ("script", "style", "template")
    return seen and type(node) in (NavigableString, CData)


def text_of(scope: Tag) -> str:
    """The text one sees: a line for each block and each <br>, spaces folded."""
    parts: list[str] = []
    block: Tag | None = None
    for node in scope.descendants:
        if isinstance(node, Tag) and node.name == "br":
            parts.append("\n")
        elif is_text(node):
            around = node.parent
            while around is not None and around.name not in BLOCKS:
                around = around.parent
            if around is not block:
                parts.append("\n")
                block = around
            parts.append(re.sub(r"\s+", " ", node))
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)


def fold(text: str) -> str:
    """`text` with the spaces of each line folded."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def clean(text: str) -> str:
    """One line without markup, entities, invisible characters and repeated spaces."""
    text = re.sub(r"</?[a-zA-Z!][^<>]*>", " ", html.unescape(text))
    text = INVISIBLE.sub("", " ".join(text.split()))
    return " ".join(text.split())


def plain(text: str) -> str:
    """For comparing words: without case, accents, colons, full stops, repeated spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    kept = (c for c in letters if not unicodedata.combining(c) and c not in ":.")
    return " ".join("".join(kept).split())


def labelled(scope: Tag, label: str) -> Iterator[str]:
    """The value of each `label` in `scope`: the rest of its own text ("Edad: 15"), or what
    stands behind it (<b>Edad</b> 15, <dt>Edad</dt><dd>15</dd>, two cells of a row); "" where
    the next thing is another label."""
    wanted = plain(label)
    for string in filter(is_text, scope.descendants):
        head, _, rest = string.partition(":")
        if plain(head) != wanted:
            continue
        node = string.parent
        value = text_behind(string, node.name if node else "", rest)
        # From <td><b>Edad</b></td> out to the cell, but not out of what holds more.
        while value is None and node and node is not scope and plain(text_of(node)) == wanted:
            value = text_behind(node, node.name)
            node = node.parent
        yield value or ""


def text_behind(node: PageElement, tag: str, rest: str = "") -> str | None:
    """The text behind a label, which is `node` in an element `tag`: `rest` and the siblings up
    to the next line, block or label. None where nothing follows, "" for another label."""
    parts = [rest]
    element = line = False  # whether the value began with an element; whether after a <br>
    for sibling in node.next_siblings:
        begun = element or bool("".join(parts).strip(SPACE))
        if is_text(sibling):
            parts.append(sibling)
        elif isinstance(sibling, Tag) and begun:
            if element or sibling.name in (*BLOCKS, "br", tag):
                break
            parts.append(text_of(sibling))
        elif isinstance(sibling, Tag) and sibling.name == "br":
            line = True
        elif isinstance(sibling, Tag):
            element = True
            parts.append(text_of(sibling))
            if parts[-1].endswith(":") or (sibling.name == tag and tag in ("dt", "th")):
                return ""
    value = " ".join("".join(parts).split()).strip(SPACE)
    if line and re.match(r"[^:\d]{1,40}:", value):
        return ""
    return value if value or element else None


NOTHING, PLACE, TEXT = 0, 1, 2  # what a way found: not its place, its place, a text there


class Lookup:
    """Looks where the ways of a profile lead, and remembers which of them lead nowhere."""

    def __init__(self, profile: Profile):
        self.profile = profile
        self.missing = {plain(text) for text in as_tuple(profile.missing)}
        self.best: dict[Way, int] = {}  # for each way that was tried the most it found
        self.used: set[str] = set()  # the other keys that matched something

    def text(self, way: Way, scope: Any) -> str:
        """What `way` yields in a card, page or record: its pieces joined, or ""."""
        pieces = []
        for place in way.places:
            for label in way.labels:
                texts = self.texts(way, scope, place, label)
                pieces.append(next(filter(None, texts), ""))
        joined = way.join.join(filter(None, pieces))
        return way.template.replace("{}", joined) if joined else ""

    def texts(self, way: Way, scope: Any, place: str, label: str | None) -> Iterator[str]:
        """What the way's pattern keeps of each text at one of its places."""
        self.best.setdefault(way, NOTHING)
        for text in texts_at(way, scope, place, label):
            kept = keep(way, text)
            if plain(kept) in self.missing:
                kept = ""
            self.best[way] = max(self.best[way], TEXT if kept else PLACE)
            yield kept

    def holds(self, way: Way, scope: Any) -> bool:
        """Whether `way`, one of pass_over, is there: its place, and its pattern if any."""
        self.best.setdefault(way, NOTHING)
        bare = not way.pattern and not way.label and not way.attr and way.json is None
        for place in way.places:
            for label in way.labels:
                for text in texts_at(way, scope, place, label):
                    found = re.search(way.pattern or r"\S", text, re.IGNORECASE)
                    self.best[way] = max(self.best[way], TEXT if found or bare else PLACE)
                    if found or bare:
                        return True
        return False

    def unused(self) -> list[str]:
        """The parts of the profile that were tried and matched nothing, by their key."""
        lists = {"pass_over": self.profile.pass_over, "last_page": self.profile.last_page}
        for name, ways in msgspec.structs.asdict(self.profile.fields).items():
            lists[f"fields.{name}"] = ways
        why = {
            NOTHING: "matches nothing anywhere",
            PLACE: "its place is there, but not its label, pattern or text",
        }
        return [
            f"{name}: matches nothing anywhere"
            for name in ("card", "next", "no_photo")
            if getattr(self.profile, name) and name not in self.used
        ] + [
            f"{name}[{i}]: {why[self.best[way]]}"
            for name, ways in lists.items()
            for i, way in enumerate(ways)
            if self.best.get(way, TEXT) != TEXT
        ]


def texts_at(way: Way, scope: Any, place: str, label: str | None) -> Iterator[str]:
    """The texts at a place of `way`: one for each element, label or value there."""
    if way.json is not None:
        if (value := value_at(scope, place)) is not None:
            yield fold(json_text(value))
        return
    for element in soupsieve.iselect(place, scope) if place else [scope]:
        if way.attr is not None:
            value = element.get(way.attr) or ""
            yield fold(value if isinstance(value, str) else " ".join(value))
        elif label is not None:
            yield from labelled(element, label)
            yield ""  # the place is there, if not the label
        else:
            yield text_of(element)


def keep(way: Way, text: str) -> str:
    """The part of `text` that the way's pattern keeps."""
    if way.pattern is None:
        return text.strip()
    match = re.search(way.pattern, text, re.IGNORECASE)
    groups = (match.groups() or (match[0],)) if match else ()
    return way.join.join(group.strip() for group in groups if group)


def value_at(document: Any, path: str) -> Any:
    """What stands at a dotted path such as `a.b.0.c` in a JSON document; None if nothing."""
    for name in filter(None, path.split(".")):
        if isinstance(document, list) and name.isdecimal():
            document = document[int(name)] if int(name) < len(document) else None
        else:
            document = document.get(name) if isinstance(document, dict) else None
    return document


def json_text(value: Any) -> str:
    """A JSON value as a text; of a text that holds HTML what one sees."""
    if isinstance(value, str):
        return text_of(BeautifulSoup(value, "html5lib")) if "<" in value else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value) if isinstance(value, bool | int | float) else ""


# --- From texts to fields ------------------------------------------------------------


class Age(NamedTuple):
    number: int
    months: bool

    @property
    def years(self) -> int:
        return self.number // 12 if self.months else self.number

    def __str__(self) -> str:
        if self.months:
            return "1 mes" if self.number == 1 else f"{self.number} meses"
        return "1 año" if self.number == 1 else f"{self.number} años"


def read_name(text: str) -> str | None:
    """`text` cleaned; None without a letter or when overlong.
    U+FFFD marks bytes that the page's encoding could not hold, a surrogate a cut JSON text."""
    name = clean(text)
    if not any(c.isalpha() for c in name) or len(name) > 200:
        return None
    if re.search("[\ufffd\ud800-\udfff]", name):
        return None
    return name


def read_place(text: str) -> str | None:
    return read_name(re.sub(r"(?: ?, ?)+", ", ", clean(text)).strip(" ,"))


NAME = r"(?P<name>[^\W\d_]{3,})\.?"
DATES = (
    r"(?P<y>\d{4})-(?P<m>\d\d?)-(?P<d>\d\d?)",
    # 01/ 08/ 2016, 8-3-24, 2.1.2006.; the second separator is sometimes lost: 23/102024
    r"(?P<d>\d\d?)\s*[/.-]\s*(?P<m>\d\d?)\s*(?:[/.-]\s*(?P<y>\d{4}|\d\d)|(?P<y2>\d{4}))",
    # 8 de Marzo de 2014, 18 de septiembre del año 2006, 3 ene. 2020, 8-Mar-2014
    rf"(?P<d>\d\d?)[º°.]?(?:\s+de)?[\s-]+{NAME},?(?:\s+(?:del?|año))*[\s-]+(?P<y>\d{{4}})",
    # March 8, 2014; Sat Mar 08 12:00:00 CET 2014
    rf"{NAME}\s+(?P<d>\d\d?)(?:st|nd|rd|th)?(?:,|\s+[\d:]+\s+\w+)?\s+(?P<y>\d{{4}})",
)


def read_date(text: str, months: tuple[str, ...], today: date) -> date | None:
    """The first date in `text`, day before month; None when it is not real or is to come."""
    forms = (re.search(rf"(?<![^\W_]){form}(?!\d)", clean(text), re.IGNORECASE) for form in DATES)
    found = sorted(filter(None, forms), key=lambda match: match.start())
    if not found:
        return None
    part: dict[str, str] = {"m": "", "y2": "", **found[0].groupdict()}
    digits = part["y"] or part["y2"]
    year = int(digits)
    if len(digits) == 2:
        year += 2000 if 2000 + year <= today.year else 1900
    month = int(part["m"]) if part["m"] else month_number(part["name"], months)
    try:
        day = date(year, month, int(part["d"]))
    except ValueError:
        return None
    return day if date(1900, 1, 1) <= day <= today else None


def month_number(word: str, months: tuple[str, ...]) -> int:
    """1 to 12 for a month's name or its beginning, 0 for another word."""
    word = plain(word).replace("setiembre", "septiembre")
    return next((i for i, month in enumerate(months, 1) if plain(month).startswith(word)), 0)


def read_age(text: str, month_words: tuple[str, ...]) -> Age | None:
    """The number and unit in `text`. None for two ages ("12 y 14 años", "3 a 5 meses": several
    children, or a guess), for fractions, for days and weeks, and for a unit of one letter."""
    text = clean(text).casefold()
    ages = re.findall(r"(?<!\d)(\d{1,3}(?:[.,]\d+)?)(?!\d)\s*([^\W\d_]*)", text)
    if not ages or re.search(
        r"\d\s*(?:[-\u2013/,]|\b[yeoua]\b)\s*\d", re.sub(r"[.,]0+\b", "", text)
    ):
        return None
    number, _, fraction = ages[0][0].replace(",", ".").partition(".")
    unit = plain(ages[0][1])
    same_unit = [other for _, other in ages[1:] if unit and plain(other) == unit]
    if fraction.strip("0") or same_unit or int(number) > 120 or len(unit) == 1:
        return None
    if unit.startswith(("dia", "semana", "hora")):
        return None
    return Age(int(number), unit in map(plain, month_words))


def age_between(born: date, day: date) -> Age | None:
    """The age on `day`, in months before the first birthday."""
    if born > day:
        return None
    months = (day.year - born.year) * 12 + day.month - born.month - (day.day < born.day)
    return Age(months, True) if months < 12 else Age(months // 12, False)


def person_id(name: str, url: str) -> str:
    """`NAME-NUMBER`: the same on every installation, and when a person is listed again."""
    return f"{name}-{int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], 'big')}"


# --- Cards, records, the register ----------------------------------------------------


@dataclass
class Card:
    """What the list pages say of one person."""

    id: str
    link: str  # the file's address as the register writes it: what is fetched
    page: int
    number: int
    texts: dict[Way, tuple[str, str]]  # what each way on the card yields, and its page
    passed_over: bool


class Record:
    """One listed person, read field by field; the file page only if a field needs it."""

    def __init__(self, card: Card, lookup: Lookup, fetcher: Fetcher, today: date):
        self.card = card
        self.lookup = lookup
        self.profile = lookup.profile
        self.fetcher = fetcher
        self.today = today
        self.seen: set[str] = set()  # fields for which a way gave a text, readable or not

    @cached_property
    def file(self) -> tuple[BeautifulSoup, str]:
        """The tree of the file page and the address that its links start from."""
        try:
            page = self.fetcher.get(self.card.link)
            tree = parse(page, self.profile.encoding)
            return tree, base_of(tree, page)
        except PageError as error:
            raise Unreadable("file page", str(error)) from None

    def read(self, name: str, reader: Callable[[str, str], T | None]) -> T | None:
        """The first value that `reader(text, base)` makes of the texts of a field's ways."""
        for way in getattr(self.profile.fields, name):
            if way.on_card:
                text, base = self.card.texts[way]
            else:
                tree, base = self.file
                text = self.lookup.text(way, tree)
            if text:
                self.seen.add(name)
                value = reader(text, base)
                if value is not None:
                    return value
        return None

    def day(self, name: str) -> date | None:
        return self.read(name, lambda text, _: read_date(text, self.profile.months, self.today))

    @cached_property
    def fecha(self) -> date | None:
        return self.day("fecha")

    @cached_property
    def age(self) -> Age | None:
        """The age that the register states, else the age at the date of the case."""
        stated = self.read(
            "edad", lambda text, _: read_age(text, as_tuple(self.profile.month_words))
        )
        if stated is None and self.fecha and (born := self.day("nacimiento")):
            return age_between(born, self.fecha)
        return stated

    def is_passed_over(self) -> bool:
        """Whether the file page says so; of the card it is known."""
        ways = [way for way in self.profile.pass_over if not way.on_card]
        return any(self.lookup.holds(way, self.file[0]) for way in ways)

    def is_outside(self) -> bool:
        limit = self.profile.max_age
        return limit is not None and self.age is not None and self.age.years > limit

    def photo(self, text: str, base: str) -> str | None:
        try:
            address = https(absolute(base, text))
        except ValueError:
            return None
        if any(part in address for part in as_tuple(self.profile.no_photo)):
            self.lookup.used.add("no_photo")
            return None
        return address

    def one_name(self, text: str) -> str | None:
        name = read_name(text)
        if name and self.profile.several and re.search(self.profile.several, name, re.IGNORECASE):
            raise Unreadable("nombre", "names several children")
        return name

    def person(self) -> Person:
        """Unreadable names the first field that is missing or malformed."""
        values = {
            "nombre": self.read("nombre", lambda text, _: self.one_name(text)),
            "fecha": self.fecha and self.fecha.strftime("%d/%m/%Y"),
            "edad": self.age and str(self.age),
            "lugar": self.read("lugar", lambda text, _: read_place(text)),
            "foto": self.read("foto", self.photo) or https(self.profile.placeholder or ""),
        }
        for name, value in values.items():
            if not value:
                reason = "malformed" if name in self.seen else "missing"
                also = ", and the profile has no placeholder" if name == "foto" else ""
                raise Unreadable(name, reason + also)
        return Person(id=self.card.id, url=https(self.card.link), **values)  # type: ignore[arg-type]


def base_of(tree: BeautifulSoup, page: Page) -> str:
    """The address that a page's links start from: <base href>, or the page's own."""
    base = tree.select_one("base[href]")
    try:
        return absolute(page.url, str(base["href"])) if base else page.url
    except ValueError:
        return page.url


def parse_json(page: Page, encoding: str | None) -> Any:
    try:
        return json.loads(webencodings.decode(page.body, encoding_of(page, encoding))[0])
    except (ValueError, RecursionError):
        raise PageError("is no JSON") from None


def cards_of(document: Any, profile: Profile) -> Iterable[Any]:
    """The cards of a list page: elements, or the records of a JSON list."""
    if profile.records is None:
        return soupsieve.iselect(profile.card or "", document)
    records = value_at(document, profile.records)
    if not isinstance(records, list):
        raise PageError(f"there is no list at {profile.records!r} (profile key `records`)")
    return records


def read_cards(
    document: Any, base: str, page: int, lookup: Lookup
) -> tuple[list[Card], list[LeftOut]]:
    """The cards of list page number `page`, and those without a link to a file."""
    cards, lost = [], []
    profile = lookup.profile
    ways = {way for way in profile.ways if way.on_card}
    for number, item in enumerate(cards_of(document, profile), 1):
        lookup.used.add("card")
        passed = any(lookup.holds(way, item) for way in profile.pass_over if way.on_card)
        texts = {way: (lookup.text(way, item), base) for way in ways}
        links = (file_link(texts[way][0], base, profile) for way in profile.fields.url)
        if link := next(filter(None, links), None):
            id = person_id(profile.name, https(link))
            cards.append(Card(id, link, page, number, texts, passed))
        elif not passed:
            names = (read_name(texts[way][0]) for way in profile.fields.nombre if way.on_card)
            name = next(filter(None, names), None)
            lost.append(LeftOut(None, page, number, "url", "missing or malformed", name))
    return cards, lost


def file_link(text: str, base: str, profile: Profile) -> str | None:
    try:
        link = urldefrag(absolute(base, text)).url if text else ""
    except ValueError:
        return None
    return link if urlsplit(link).netloc in profile.own_hosts else None


class ListPage(NamedTuple):
    """What one list page says."""

    cards: list[Card]
    lost: list[LeftOut]  # cards without a link to a file
    next: str | None  # the address behind its link to the next page
    last: int | None  # the highest page number that it names


def read_list_page(
    address: str, number: int, page: int, lookup: Lookup, fetcher: Fetcher
) -> ListPage:
    """The list page at `address`, `{page}` being `number`; it is the run's page number
    `page`. Refused when it cannot be had."""
    profile = lookup.profile
    form = profile.form and {k: v.replace("{page}", str(number)) for k, v in profile.form.items()}
    try:
        with time_limit(PAGE_SECONDS):
            got = fetcher.get(address.replace("{page}", str(number)), form)
            document: Any
            if profile.records is not None:
                document, base = parse_json(got, profile.encoding), got.url
            else:
                document = parse(got, profile.encoding)
                base = base_of(document, got)
            cards, lost = read_cards(document, base, page, lookup)
            following = next_address(document, base, lookup) if profile.next else None
            return ListPage(cards, lost, following, last_number(document, lookup))
    except PageError as error:
        raise Refused(f"list page {page} cannot be had: {error}") from None


def read_list(
    lookup: Lookup, fetcher: Fetcher, reading: Reading, progress: Progress
) -> dict[str, Card]:
    """All list pages, one right after another: while a list is read slowly, persons move
    from page to page and are missed. One card for each id; cards of one file are joined."""
    profile = lookup.profile
    cards: dict[str, Card] = {}
    for start in as_tuple(profile.start):
        number, last = profile.first_page, 0  # 0: no page has named the last one
        address: str | None = start
        expected = False  # whether an earlier page has named this one
        asked: set[str] = set()
        ids: set[str] = set()
        while address is not None:
            asked.add(address)
            reading.pages += 1
            if reading.pages > profile.max_pages:
                raise Refused(f"more than {profile.max_pages} list pages (profile key `max_pages`)")
            page = read_list_page(address, number, reading.pages, lookup, fetcher)
            if expected and not page.cards and not page.lost and cards:
                raise Refused(f"list page {reading.pages} has no card, unlike those before it")
            log.info("list page %d: %d cards", reading.pages, len(page.cards) + len(page.lost))
            reading.unreadable += page.lost
            add_cards(cards, page.cards)
            progress(f"list page {reading.pages}, {len(cards)} persons")
            somebody_new = page.lost or not ids.issuperset(card.id for card in page.cards)
            ids.update(card.id for card in page.cards)
            last = max(last, page.last or 0)
            if profile.is_numbered:
                number += 1
                goes_on = number <= last if last else bool(somebody_new)
                if not page.cards and not page.lost and ids and not last:
                    refuse_a_gap(start, number, reading.pages, lookup, fetcher)
                address, expected = (start if goes_on else None), bool(last)
            else:
                address, expected = (page.next if page.next not in asked else None), True
    return cards


def refuse_a_gap(start: str, number: int, page: int, lookup: Lookup, fetcher: Fetcher) -> None:
    """An empty page ends a numbered list; so would an error page that says 200. Refused where
    the page behind it, `number`, has cards."""
    try:
        behind = read_list_page(start, number, page + 1, lookup, fetcher)
    except Refused:  # there is none
        return
    if behind.cards or behind.lost:
        raise Refused(f"list page {page} has no card, but the one behind it has")


def next_address(tree: BeautifulSoup, base: str, lookup: Lookup) -> str | None:
    link = soupsieve.select_one(lookup.profile.next or "", tree)
    if link is None:
        return None
    lookup.used.add("next")
    target = str(link.get("href") or "#")
    if target.startswith("#"):
        return None
    try:
        return urldefrag(absolute(base, target)).url
    except ValueError:
        raise PageError("its next link leads to no page (profile key `next`)") from None


def last_number(document: Any, lookup: Lookup) -> int | None:
    """The highest page number that the ways of `last_page` yield."""
    numbers = (
        int(text)
        for way in lookup.profile.last_page
        for place in way.places
        for label in way.labels
        for text in lookup.texts(way, document, place, label)
        if re.fullmatch("[0-9]{1,9}", text)
    )
    return max(numbers, default=None)


def add_cards(cards: dict[str, Card], found: list[Card]) -> None:
    for card in found:
        known = cards.setdefault(card.id, card)
        if https(known.link) != https(card.link):
            raise Refused(f"two different files have the id {card.id}")
        known.passed_over |= card.passed_over
        for way, text in card.texts.items():
            if not known.texts[way][0]:
                known.texts[way] = text


def read_register(
    profile: Profile, contact: str | None, progress: Progress, save: Path | None = None
) -> Reading:
    """Read the whole register. `contact` (a mail or https address) goes into the
    User-Agent; `progress` is told how far the reading is; `save` is a folder to keep the
    pages in. Refused when a list page or robots.txt cannot be had. Main thread only (time
    limits)."""
    reading = Reading()
    fetcher = Fetcher(profile, contact, save)
    lookup = Lookup(profile)
    today = date.today()
    cards = read_list(lookup, fetcher, reading, progress)
    for count, card in enumerate(cards.values(), 1):
        progress(f"person {count} of {len(cards)}")
        fetcher.check_time()
        record = Record(card, lookup, fetcher, today)
        try:
            with time_limit(PAGE_SECONDS):
                if card.passed_over:
                    reading.passed_over.add(card.id)
                elif record.is_outside():
                    reading.outside.add(card.id)
                elif record.is_passed_over():
                    reading.passed_over.add(card.id)
                else:
                    reading.persons[card.id] = record.person()
        except Unreadable as error:
            reading.unreadable.append(LeftOut(card.id, card.page, card.number, *error.args))
        except Refused:
            raise
        except Exception as error:  # the time limit, or what nobody foresaw: only this record
            reason = str(error) if isinstance(error, PageError) else type(error).__name__
            reading.unreadable.append(LeftOut(card.id, card.page, card.number, "record", reason))
    reading.unused = lookup.unused()
    return reading
