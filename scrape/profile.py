"""A register's profile: the TOML file that says how the register's pages are read.

`load_profile` makes a Profile of it. The keys are declared and checked here; registers/README.md
explains them to authors of profiles.
"""

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
import soupsieve
import webencodings
from msgspec import Meta, Struct

from scrape.address import absolute

# fmt: off
MONTHS = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
          "septiembre", "octubre", "noviembre", "diciembre")
# fmt: on
# A name of several children: "Ana X y Luis X", "Ana / Luis". Not "Ramón y Cajal", with only one
# word after its "y", nor "y de la Cruz".
SEVERAL = r"[/;&+]|\sy\s+(?!del?\s)\S+\s+\S"

Texts = str | tuple[str, ...]


class ProfileError(ValueError):
    """A profile that cannot be used: one line that names its file and the key."""


class Way(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to a text: where it stands, what to take there, which part to keep."""

    card: Texts | None = None  # CSS selectors within the card; "" is the card itself
    file: Texts | None = None  # or within the file page
    json: Texts | None = None  # or dotted paths within the record of a JSON list
    label: Texts | None = None  # take the text after this label
    attr: str | None = None  # take this attribute, not the text
    pattern: str | None = None  # keep the groups of this regular expression
    join: str = " "  # between groups, and between the pieces of a list
    template: str = "{}"  # the kept text replaces {} in it

    def __post_init__(self) -> None:
        if [self.card, self.file, self.json].count(None) != 2:
            raise ValueError("needs one of `card`, `file` and `json`")
        if self.json is not None and (self.label or self.attr):
            raise ValueError("`label` and `attr` do not go with `json`")
        if "{}" not in self.template:
            raise ValueError("`template` has no {}")
        for selector in self.places if self.json is None else ():
            check_selector("card" if self.on_card else "file", selector)
        check_pattern("pattern", self.pattern)

    @property
    def on_card(self) -> bool:
        return self.file is None

    @property
    def places(self) -> tuple[str, ...]:
        """The selectors or dotted paths; "" is the whole card, page or record."""
        return next(as_tuple(p) for p in (self.card, self.file, self.json) if p is not None)

    @property
    def labels(self) -> tuple[str | None, ...]:
        return as_tuple(self.label) or (None,)


Ways = Annotated[tuple[Way, ...], Meta(min_length=1)]


class Fields(Struct, frozen=True, forbid_unknown_fields=True):
    """For each field its ways, in order: the first that yields a good value counts."""

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

    name: Annotated[str, Meta(pattern=r"^[a-z]+\Z")] = ""  # load_profile sets it
    start: Texts
    form: dict[str, str] | None = None
    first_page: Annotated[int, Meta(ge=0, le=1)] = 1
    last_page: tuple[Way, ...] = ()
    next: str | None = None
    total: tuple[Way, ...] = ()
    complete: bool = True
    may_be_empty: bool = False
    max_pages: Annotated[int, Meta(ge=1, le=10_000)] = 200
    card: str | None = None
    records: str | None = None
    pass_over: tuple[Way, ...] = ()
    max_age: Annotated[int, Meta(ge=0, le=120)] | None = None
    fields: Fields
    months: Annotated[tuple[str, ...], Meta(min_length=12, max_length=12)] = MONTHS
    month_words: Texts = ()
    year_words: Texts = ()
    missing: Texts = ()
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
        check_selector("next", self.next)
        check_pattern("several", self.several)
        if any(way.file is not None for way in (*self.last_page, *self.total)):
            raise ValueError("`last_page` and `total` are read on the list page")
        check_address("placeholder", self.placeholder)
        if not as_tuple(self.start):
            raise ValueError("`start` has no address")
        for address in as_tuple(self.start):
            check_address("start", address.replace("{page}", "1"))
        if (self.card is None) == (self.records is None):
            raise ValueError("needs one of `card` (HTML lists) and `records` (JSON lists)")
        for way in (*self.ways, *self.pass_over, *self.last_page, *self.total):
            if way.on_card and (way.json is None) != (self.records is None):
                text = "ways on the card need `json` in a profile with `records`, else `card`"
                raise ValueError(text)
        if self.next and (self.is_numbered or self.records is not None):
            raise ValueError("`next` goes neither with {page} nor with `records`")
        if self.last_page and not self.is_numbered:
            raise ValueError("`last_page` needs {page} in `start` or `form`")
        if self.encoding and not webencodings.lookup(self.encoding):
            raise ValueError(f"`encoding` is unknown: {self.encoding}")

    @property
    def ways(self) -> tuple[Way, ...]:
        return sum(msgspec.structs.astuple(self.fields), ())

    def stamps(self, on_card: bool) -> tuple[Way, ...]:
        """The ways of `pass_over` for the card, or for the file page."""
        return tuple(way for way in self.pass_over if way.on_card == on_card)

    @property
    def is_numbered(self) -> bool:
        """Whether list pages are counted in the address or in the form."""
        return "{page}" in "".join((*as_tuple(self.start), *(self.form or {}).values()))

    @property
    def own_hosts(self) -> set[str]:
        """The only hosts that are ever asked for a page; with the port, if one is given."""
        starts = {urlsplit(absolute("", address)).netloc for address in as_tuple(self.start)}
        return starts.union(as_tuple(self.hosts))


def as_tuple(texts: Texts | None) -> tuple[str, ...]:
    """One text, a list of them or none, as a tuple."""
    return (texts,) if isinstance(texts, str) else texts or ()


def check_selector(key: str, selector: str | None) -> None:
    try:
        soupsieve.compile(selector or "*")
    except (soupsieve.SelectorSyntaxError, NotImplementedError) as error:
        raise ValueError(f"`{key}` is not a CSS selector: {str(error).splitlines()[0]}") from None


def check_pattern(key: str, pattern: str | None) -> None:
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ValueError(f"`{key}` is not a regular expression: {error}") from None


def check_address(key: str, address: str | None) -> None:
    try:
        if address:
            absolute("", address)
    except ValueError:
        raise ValueError(f"`{key}` is not an http or https address: {address}") from None


def load_profile(path: Path) -> Profile:
    """Read the profile in the TOML file `path`; `registers/demo.toml` is the register `demo`.

    Paths in a profile start at its own folder; here they are made absolute. ProfileError where
    the file cannot be read or says what it may not say."""
    try:
        profile = msgspec.toml.decode(path.read_bytes(), type=Profile)
        if profile.name not in ("", path.stem):
            raise ValueError(f"`name` is {profile.name}, but the file name says {path.stem}")
        paths = {"pages": profile.pages, "ca_bundle": profile.ca_bundle}
        for key, name in paths.items():
            if name is not None and not (path.parent / name).exists():
                raise ValueError(f"`{key}`: there is no {name} beside the profile")
            paths[key] = name and str(path.parent / name)
        return msgspec.structs.replace(profile, name=path.stem, **paths)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # msgspec's and tomllib's errors too
        odd = re.search("unknown field `(.+)` - at `[$].fields`", str(error))
        hint = " (it stands above [fields])" if odd and odd[1] in Profile.__struct_fields__ else ""
        raise ProfileError(f"{path}: {error}{hint}") from None
