"""Read an official register of missing children, as its profile describes it.

    registers/NAME.toml --load_profile--> Profile
    Profile --read_list--> cards: one a person, with what the list pages say
    card (+ the person's file page) --Record--> Person
    all of it: read_register(profile, contact) -> Reading

sync.py calls `load_profile` and `read_register`. Nothing here knows the database, and
nothing here names a person in a message: reasons speak of pages, cards and fields.
"""

import hashlib
import html
import logging
import re
import signal
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from email.message import Message
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Annotated, NamedTuple, TypeGuard, TypeVar
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

import msgspec
import requests
import soupsieve
import webencodings
from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import CData, NavigableString, PageElement
from msgspec import Meta, Struct
from protego import Protego
from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

AGENT = "persona404"  # the name that robots.txt may address (RFC 9309, 2.2.1)
PAGE_BYTES = 10_000_000
PAGE_SECONDS = 60.0  # to fetch, parse and read one page; bytes alone bound no parser
RUN_SECONDS = 4 * 3600.0
TRIES = 3
RETRY_STATUS = {429, 500, 502, 503, 504}
RETRY_SECONDS = 30.0  # who asks for a longer wait (Retry-After) is not asked again
REDIRECTS = 5
ROBOTS_BYTES = 500 * 1024  # RFC 9309, 2.5

# fmt: off
MONTHS = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
          "septiembre", "octubre", "noviembre", "diciembre")
# fmt: on
# "Ana X y Luis X", "Ana / Luis": several children in one record. A surname such as
# "Ramón y Cajal" has one word behind its "y".
SEVERAL = r"[/;&+]|\s[ye]\s+\S+\s+\S"


log = logging.getLogger("persona404.register")
T = TypeVar("T")
Progress = Callable[[str], None]  # takes a line for the terminal


class ProfileError(ValueError):
    """A mistake in a profile; the text names file and key."""


class Refused(Exception):
    """The register cannot be read truthfully now: the stored persons must stay."""


class PageError(Exception):
    """One page cannot be had or parsed."""


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
    passed_over: int = 0  # records that pass_over matched: absent
    pages: int = 0  # list pages read


# --- The profile ---------------------------------------------------------------------

Texts = str | tuple[str, ...]


class Way(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to a text: where to look, what to take of it, which part to keep."""

    card: Texts | None = None  # CSS selectors within the card; "" is the card itself
    file: Texts | None = None  # or within the person's page
    label: Texts | None = None  # take what stands behind this label
    attr: str | None = None  # take this attribute, not the text
    pattern: str | None = None  # keep the groups of this regular expression
    join: str = " "  # between groups, and between the pieces of a list

    def __post_init__(self) -> None:
        if (self.card is None) == (self.file is None):
            raise ValueError("needs one of `card` and `file`")
        for selector in filter(None, self.selectors):
            check_selector("card" if self.on_card else "file", selector)
        check_pattern("pattern", self.pattern or "")

    @property
    def on_card(self) -> bool:
        return self.file is None

    @property
    def selectors(self) -> tuple[str, ...]:
        return as_tuple(self.card if self.on_card else self.file)

    @property
    def labels(self) -> tuple[str | None, ...]:
        return as_tuple(self.label) or (None,)


Ways = Annotated[tuple[Way, ...], Meta(min_length=1)]


class Fields(Struct, frozen=True, forbid_unknown_fields=True):
    """For each field its ways, in order: the first that yields a good value wins."""

    nombre: Ways
    fecha: Ways
    lugar: Ways
    url: Ways
    edad: tuple[Way, ...] = ()
    nacimiento: tuple[Way, ...] = ()  # the birth date, where the register gives no age
    foto: tuple[Way, ...] = ()

    def __post_init__(self) -> None:
        if not self.edad and not self.nacimiento:
            raise ValueError("needs `edad` or `nacimiento`")
        if any(way.file is not None for way in self.url):
            raise ValueError("`url` is read on the card: it leads to the file")


class Profile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A register's description; registers/README.md explains each key."""

    name: Annotated[str, Meta(pattern=r"^[a-z]+\Z")]
    start: Texts
    first_page: Annotated[int, Meta(ge=0, le=1)] = 1
    next: str | None = None
    max_pages: Annotated[int, Meta(ge=1, le=10_000)] = 200
    card: str
    pass_over: tuple[Way, ...] = ()
    max_age: Annotated[int, Meta(ge=0, le=120)] | None = None
    fields: Fields
    months: Annotated[tuple[str, ...], Meta(min_length=12, max_length=12)] = MONTHS
    month_words: Texts = ("mes", "meses")
    several: str = SEVERAL
    no_photo: Texts = ()
    placeholder: str | None = None
    max_unreadable: Annotated[float, Meta(ge=0, le=1)] = 0.2
    hosts: Texts = ()
    encoding: str | None = None
    pause: Annotated[float, Meta(ge=0, le=30)] = 1.0
    ca_bundle: str | None = None
    robots: bool = True
    pages: str | None = None

    def __post_init__(self) -> None:
        check_selector("card", self.card)
        check_selector("next", self.next or "*")
        check_pattern("several", self.several)
        for key, address in (("start", a.replace("{page}", "1")) for a in as_tuple(self.start)):
            check_address(key, address)
        check_address("placeholder", self.placeholder or "https://registro.example/")
        if self.next and "{page}" in "".join(self.start):
            raise ValueError("`next` cannot stand beside a {page} in `start`")
        if self.encoding and not webencodings.lookup(self.encoding):
            raise ValueError(f"`encoding` is unknown: {self.encoding}")

    @property
    def own_hosts(self) -> set[str]:
        """The only hosts that are ever asked for a page."""
        return {urlsplit(a).netloc for a in as_tuple(self.start)} | set(as_tuple(self.hosts))


def as_tuple(texts: Texts | None) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts or ()


def check_selector(key: str, selector: str) -> None:
    try:
        soupsieve.compile(selector)
    except (soupsieve.SelectorSyntaxError, NotImplementedError) as error:
        raise ValueError(f"`{key}` is no CSS selector: {str(error).splitlines()[0]}") from None


def check_pattern(key: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"`{key}` is no regular expression: {error}") from None


def check_address(key: str, address: str) -> None:
    try:
        absolute("", address)
    except ValueError:
        raise ValueError(f"`{key}` is no http or https address: {address}") from None


def load_profile(path: Path) -> Profile:
    """The profile in the TOML file `path`. A ProfileError is one line that names the file
    and the key. The paths in a profile start at its own folder."""
    try:
        profile = msgspec.toml.decode(path.read_bytes(), type=Profile)
        for key in ("pages", "ca_bundle"):
            name = getattr(profile, key)
            if name is not None:
                if not (path.parent / name).exists():
                    raise ValueError(f"`{key}`: there is no {name} beside the profile")
                profile = msgspec.structs.replace(profile, **{key: str(path.parent / name)})
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # TOMLDecodeError and ValidationError as well
        raise ProfileError(f"{path}: {error}") from None
    return profile


# --- Pages: fetched politely, or read from a folder ----------------------------------


class Page(NamedTuple):
    """One answer of the register."""

    url: str
    status: int
    location: str | None  # where a redirect leads
    charset: str | None  # of its Content-Type
    body: bytes


class Fetcher:
    """The pages of one register: one connection, a pause between requests, robots.txt
    obeyed (RFC 9309), and never a host that is not the register's own."""

    def __init__(self, profile: Profile, contact: str | None):
        self.profile = profile
        self.session = requests.Session()
        self.session.headers["User-Agent"] = f"{AGENT}/1 (+{contact})"
        self.rules: dict[str, Protego] = {}  # the robots.txt of each origin
        self.ends = time.monotonic() + RUN_SECONDS
        self.free_at = 0.0  # when the next request may go out

    def get(self, url: str) -> Page:
        """The page at `url`. PageError when it cannot be had after its retries; Refused
        when robots.txt cannot be had, or when the run has taken its whole time."""
        if time.monotonic() > self.ends:
            raise Refused(f"the run took more than {RUN_SECONDS / 3600:.0f} hours")
        if self.profile.pages is not None:
            return saved_page(Path(self.profile.pages), url)
        page = self.follow(url, self.check_robots)
        if page.status != 200:
            raise PageError(f"HTTP {page.status}")
        return page

    def follow(self, url: str, check: Callable[[str], None]) -> Page:
        """What `url` leads to; each address on the way must be the register's own and pass
        `check`."""
        for _ in range(1 + REDIRECTS):
            if urlsplit(url).netloc not in self.profile.own_hosts:
                raise PageError("leads off the register's hosts (profile key `hosts`)")
            check(url)
            page = self.request(url)
            if page.location is None:
                return page
            try:
                url = absolute(url, page.location)
            except ValueError:
                raise PageError("redirects to what is no web address") from None
        raise PageError(f"more than {REDIRECTS} redirects")

    def request(self, url: str) -> Page:
        """The answer to a GET of `url`, sent up to TRIES times where that may help."""
        failure, page = "", None
        for attempt in range(TRIES):
            time.sleep(max(0.0, self.free_at - time.monotonic()))
            wait = self.profile.pause * 2**attempt
            try:
                page, retry_after = self.send(url)
                if page.status not in RETRY_STATUS or retry_after > RETRY_SECONDS:
                    return page
                wait = max(wait, retry_after)
            except requests.exceptions.SSLError:
                failure = "its certificate cannot be verified (profile key `ca_bundle`)"
            except requests.RequestException as error:
                failure = type(error).__name__  # its text would hold the address
            finally:
                self.free_at = time.monotonic() + wait
        if page is None:
            raise PageError(failure)
        return page

    def send(self, url: str) -> tuple[Page, float]:
        """The answer, and the seconds that it asks to wait (RFC 9110, 10.2.3)."""
        verify = self.profile.ca_bundle or True
        with self.session.get(
            url, stream=True, timeout=(10, 30), allow_redirects=False, verify=verify
        ) as response:
            body = bytearray()
            for chunk in response.iter_content(65536):
                body += chunk
                if len(body) > PAGE_BYTES:
                    raise PageError(f"more than {PAGE_BYTES // 1_000_000} MB")
            location = response.headers["Location"] if response.is_redirect else None
            kind = Message()
            kind["Content-Type"] = response.headers.get("Content-Type", "text/html")
            charset = kind.get_content_charset()
            page = Page(url, response.status_code, location, charset, bytes(body))
            try:
                wait = Retry().parse_retry_after(response.headers.get("Retry-After", "0"))
            except InvalidHeader:
                wait = 0.0
            return page, wait

    def check_robots(self, url: str) -> None:
        if self.profile.robots:
            origin = urljoin(url, "/")
            if origin not in self.rules:
                self.rules[origin] = self.robots_of(origin)
            if not self.rules[origin].can_fetch(url, AGENT):
                raise PageError("robots.txt forbids it")

    def robots_of(self, origin: str) -> Protego:
        """RFC 9309, 2.3.1: a 4xx allows everything, a 5xx or no answer forbids it."""
        try:
            page = self.follow(origin + "robots.txt", lambda url: None)
        except PageError as error:
            raise Refused(f"robots.txt: {error}") from None
        if page.status >= 500:
            raise Refused(f"robots.txt: HTTP {page.status}")
        text = page.body[:ROBOTS_BYTES] if page.status == 200 else b""
        return Protego.parse(text.decode("utf-8", "replace"))


def saved_page(folder: Path, url: str) -> Page:
    """The file that stands for `url` in `folder`: its path, and `?query` if it has one."""
    parts = urlsplit(url)
    name = unquote(parts.path).lstrip("/") + (f"?{parts.query}" if parts.query else "")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise PageError("there is no such page in the folder")
    return Page(url, 200, None, None, path.read_bytes())


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise PageError in the main thread once `seconds` are over, wherever it is then."""

    def expire(signum: int, frame: FrameType | None) -> None:
        raise PageError(f"took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, expire)
    # And again each second: an exception that strikes in a finalizer is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def absolute(base: str, text: str) -> str:
    """The web address `text` as seen from the page `base`, escaped as a browser sends it.
    ValueError where that is no http or https address."""
    address = urljoin(base, text.strip())
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("no web address")
    prepared = requests.Request("GET", address).prepare().url
    if prepared is None or len(prepared) > 2000:
        raise ValueError("too long")
    return prepared


def https(address: str) -> str:
    """`address` with http raised to https."""
    parts = urlsplit(address)
    if parts.scheme == "https":
        return address
    return urlunsplit(("https", parts.netloc.removesuffix(":80"), *parts[2:]))


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


def parse(page: Page, encoding: str | None) -> BeautifulSoup:
    """The page's tree as a browser builds it. Its encoding is that of its byte order mark,
    else `encoding`, else its Content-Type's, its <meta>'s, UTF-8."""
    body, mark = EncodingDetector.strip_byte_order_mark(page.body)
    declared = EncodingDetector.find_declared_encoding(body, is_html=True)
    names = [mark, encoding, page.charset, declared, "utf-8"]
    known = next(name for name in names if name and webencodings.lookup(name))
    try:
        return BeautifulSoup(body, "html5lib", from_encoding=known)
    except PageError:
        raise
    except Exception as error:  # a page may break a parser in any way
        raise PageError(f"cannot be parsed: {type(error).__name__}") from None


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
    stands next to it (<b>Edad</b> 15, <dt>Edad</dt><dd>15</dd>, two cells of a row)."""
    wanted = plain(label)
    for string in filter(is_text, scope.descendants):
        head, _, rest = string.partition(":")
        if plain(head) != wanted:
            continue
        value = rest.strip() or next_text(string)
        node = string.parent
        # From <td><b>Edad</b></td> out to the cell, but not out of what holds more.
        while value is None and node and node is not scope and plain(text_of(node)) == wanted:
            value = next_text(node)
            node = node.parent
        yield value or ""


def next_text(node: PageElement) -> str | None:
    """The text of the next sibling that is neither blank nor <br>; None without one."""
    for sibling in node.next_siblings:
        if isinstance(sibling, Tag) and sibling.name != "br":
            return text_of(sibling)
        if is_text(sibling) and (text := sibling.strip(" :\t\r\n")):
            return text
    return None


def look(way: Way, scope: Tag) -> str:
    """What `way` yields in `scope`: its pieces joined, "" where there are none."""
    pieces = []
    for selector in way.selectors:
        for label in way.labels:
            texts = (kept(way, text) for text in texts_at(way, scope, selector, label))
            pieces.append(next(filter(None, texts), ""))
    return way.join.join(filter(None, pieces))


def is_there(way: Way, scope: Tag) -> bool:
    """Whether `way`, one of pass_over, holds: its element is there, and its pattern is."""
    if way.pattern or way.label or way.attr:
        return bool(look(way, scope))
    return any(not s or soupsieve.select_one(s, scope) for s in way.selectors)


def texts_at(way: Way, scope: Tag, selector: str, label: str | None) -> Iterator[str]:
    for element in soupsieve.iselect(selector, scope) if selector else [scope]:
        if way.attr is not None:
            value = element.get(way.attr) or ""
            yield value if isinstance(value, str) else " ".join(value)
        elif label is not None:
            yield from labelled(element, label)
        else:
            yield text_of(element)


def kept(way: Way, text: str) -> str:
    """The part of `text` that the way's pattern keeps."""
    if way.pattern is None:
        return text.strip()
    match = re.search(way.pattern, text, re.IGNORECASE)
    groups = (match.groups() or (match[0],)) if match else ()
    return way.join.join(group.strip() for group in groups if group)


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


def read_name(text: str, several: str = "") -> str | None:
    """`text` cleaned; None without a letter, when overlong or naming several children.
    U+FFFD marks bytes that the page's encoding could not hold."""
    name = clean(text)
    if not any(c.isalpha() for c in name) or len(name) > 200 or "\ufffd" in name:
        return None
    return None if several and re.search(several, name) else name


def read_place(text: str) -> str | None:
    return read_name(re.sub(r"\s*,[\s,]*", ", ", text).strip(" ,"))


DATES = (
    r"(?P<y>\d{4})-(?P<m>\d\d?)-(?P<d>\d\d?)",
    # 01/ 08/ 2016, 8-3-24, 2.1.2006.; the second separator is sometimes lost: 23/102024
    r"(?P<d>\d\d?)\s*[/.-]\s*(?P<m>\d\d?)\s*(?:[/.-]\s*(?P<y>\d{4}|\d\d)|(?P<y2>\d{4}))",
    # 8 de Marzo de 2014, 18 de septiembre del año 2006, 3 ene. 2020
    r"(?P<d>\d\d?)[º°.]?(?:\s+de)?\s+(?P<name>[^\W\d_]{3,})\.?,?(?:\s+(?:del?|año))*\s+(?P<y>\d{4})",
)


def read_date(text: str, months: tuple[str, ...], today: date) -> date | None:
    """The first date in `text`, day before month; None when it is not real or is to come."""
    forms = (re.search(rf"(?<!\d){form}(?!\d)", clean(text), re.IGNORECASE) for form in DATES)
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
    """The number and unit in `text`. None for two numbers ("12 y 14 años": several
    children) and for days and weeks, which are no age in years."""
    text = plain(clean(text))
    match = re.search(r"(?<!\d)(\d{1,3})(?!\d)\s*([^\W\d_]*)", text)
    if not match or re.match(r"\d+\s*(?:y|e|,|/|-)\s*\d", text[match.start() :]):
        return None
    number, unit = int(match[1]), match[2]
    if number > 120 or unit.startswith(("dia", "semana", "hora")):
        return None
    return Age(number, unit in map(plain, month_words))


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

    def __init__(self, card: Card, profile: Profile, fetcher: Fetcher, today: date):
        self.card = card
        self.profile = profile
        self.fetcher = fetcher
        self.today = today
        self.seen: set[str] = set()  # fields for which a way gave a text, readable or not

    @cached_property
    def file(self) -> tuple[BeautifulSoup, str]:
        """The tree of the file page and the address that its links start from."""
        try:
            return fetch_tree(self.fetcher, self.card.link, self.profile.encoding)
        except PageError as error:
            raise Unreadable("file page", str(error)) from None

    def read(self, name: str, reader: Callable[[str, str], T | None]) -> T | None:
        """The first value that `reader(text, base)` makes of the texts of a field's ways."""
        for way in getattr(self.profile.fields, name):
            if way.on_card:
                text, base = self.card.texts[way]
            else:
                tree, base = self.file
                text = look(way, tree)
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
        ways = [way for way in self.profile.pass_over if not way.on_card]
        return self.card.passed_over or any(is_there(way, self.file[0]) for way in ways)

    def is_outside(self) -> bool:
        limit = self.profile.max_age
        return limit is not None and self.age is not None and self.age.years > limit

    def photo(self, text: str, base: str) -> str | None:
        try:
            address = https(absolute(base, text))
        except ValueError:
            return None
        return None if any(part in address for part in as_tuple(self.profile.no_photo)) else address

    def person(self) -> Person:
        """Unreadable names the first field that is missing or malformed."""
        several = self.profile.several
        values = {
            "nombre": self.read("nombre", lambda text, _: read_name(text, several)),
            "fecha": self.fecha and self.fecha.strftime("%d/%m/%Y"),
            "edad": self.age and str(self.age),
            "lugar": self.read("lugar", lambda text, _: read_place(text)),
            "foto": self.read("foto", self.photo) or self.profile.placeholder,
        }
        for name, value in values.items():
            if not value:
                raise Unreadable(name, "malformed" if name in self.seen else "missing")
        return Person(id=self.card.id, url=https(self.card.link), **values)  # type: ignore[arg-type]


def fetch_tree(fetcher: Fetcher, address: str, encoding: str | None) -> tuple[BeautifulSoup, str]:
    """A page's tree, and the address that its links start from (<base href> or its own)."""
    page = fetcher.get(address)
    tree = parse(page, encoding)
    base = tree.select_one("base[href]")
    return tree, urljoin(page.url, str(base["href"])) if base else page.url


def read_cards(
    tree: BeautifulSoup, base: str, page: int, profile: Profile
) -> tuple[list[Card], list[LeftOut]]:
    """The cards of list page number `page`, and those without a link to a file."""
    cards, lost = [], []
    ways = {way for ways in msgspec.structs.astuple(profile.fields) for way in ways if way.on_card}
    for number, tag in enumerate(soupsieve.iselect(profile.card, tree), 1):
        passed = any(is_there(way, tag) for way in profile.pass_over if way.on_card)
        texts = {way: (look(way, tag), base) for way in ways}
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


def read_list(
    profile: Profile, fetcher: Fetcher, reading: Reading, progress: Progress
) -> dict[str, Card]:
    """All list pages, one right after another: while a list is read slowly, persons move
    from page to page and are missed. One card for each id; cards of one file are joined."""
    cards: dict[str, Card] = {}
    for start in as_tuple(profile.start):
        number = profile.first_page
        address: str | None = start.replace("{page}", str(number))
        seen: set[str] = set()  # addresses and ids of this start
        while address and address not in seen:
            seen.add(address)
            reading.pages += 1
            if reading.pages > profile.max_pages:
                raise Refused(f"more than {profile.max_pages} list pages (profile key: max_pages)")
            try:
                with time_limit(PAGE_SECONDS):
                    tree, base = fetch_tree(fetcher, address, profile.encoding)
                    found, lost = read_cards(tree, base, reading.pages, profile)
                    following = next_address(tree, base, profile)
            except PageError as error:
                raise Refused(f"list page {reading.pages} cannot be had: {error}") from None
            if not found and not lost and profile.next and cards:
                raise Refused(f"list page {reading.pages} has no card, unlike those before it")
            reading.unreadable += lost
            add_cards(cards, found)
            log.info("list page %d: %d cards", reading.pages, len(found) + len(lost))
            progress(f"list page {reading.pages}, {len(cards)} persons")
            if "{page}" in start:
                number += 1
                nobody_new = seen.issuperset(card.id for card in found)
                following = None if nobody_new else start.replace("{page}", str(number))
            seen.update(card.id for card in found)
            address = following
    return cards


def next_address(tree: BeautifulSoup, base: str, profile: Profile) -> str | None:
    link = soupsieve.select_one(profile.next, tree) if profile.next else None
    if link is None or not link.get("href"):
        return None
    try:
        return urldefrag(absolute(base, str(link["href"]))).url
    except ValueError:
        return None


def add_cards(cards: dict[str, Card], found: list[Card]) -> None:
    for card in found:
        known = cards.setdefault(card.id, card)
        if https(known.link) != https(card.link):
            raise Refused(f"two different files have the id {card.id}")
        known.passed_over |= card.passed_over
        for way, text in card.texts.items():
            if not known.texts[way][0]:
                known.texts[way] = text


def read_register(profile: Profile, contact: str | None, progress: Progress) -> Reading:
    """Read the whole register. `contact` (a mail or https address) goes into the
    User-Agent; `progress` is told how far the reading is.
    Refused when a list page or robots.txt cannot be had. Main thread only (time limits)."""
    reading = Reading()
    fetcher = Fetcher(profile, contact)
    today = date.today()
    cards = read_list(profile, fetcher, reading, progress)
    for count, card in enumerate(cards.values(), 1):
        progress(f"person {count} of {len(cards)}")
        record = Record(card, profile, fetcher, today)
        try:
            with time_limit(PAGE_SECONDS):
                if record.is_passed_over():
                    reading.passed_over += 1
                elif record.is_outside():
                    reading.outside.add(card.id)
                else:
                    reading.persons[card.id] = record.person()
        except Unreadable as error:
            reading.unreadable.append(LeftOut(card.id, card.page, card.number, *error.args))
        except PageError as error:  # the time limit
            reading.unreadable.append(
                LeftOut(card.id, card.page, card.number, "record", str(error))
            )
    return reading
