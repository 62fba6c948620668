"""A register's profile: the TOML file that says how its pages are read.

`load_profile` gives a Profile, or one line that names the file and the key at fault. What
each key means to whoever writes a profile stands in registers/README.md.
"""

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urljoin, urlsplit, urlunsplit

import msgspec
import requests
import soupsieve
import webencodings
from msgspec import Meta, Struct

# fmt: off
MONTHS = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
          "septiembre", "octubre", "noviembre", "diciembre")
# fmt: on
# "Ana X y Luis X", "Ana / Luis": several children in one record. Not so "Ramón y Cajal", with
# one word behind its "y", and "y de la Cruz".
SEVERAL = r"[/;&+]|\sy\s+(?!del?\s)\S+\s+\S"

Texts = str | tuple[str, ...]


class SettingError(ValueError):
    """A setting or profile that cannot be used: one line that names it, and the key."""


class Way(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to a text: where to look, what to take of it, which part to keep."""

    card: Texts | None = None  # CSS selectors within the card; "" is the card itself
    file: Texts | None = None  # or within the person's page
    json: Texts | None = None  # or dotted paths within the record of a JSON list
    label: Texts | None = None  # take what stands behind this label
    attr: str | None = None  # take this attribute, not the text
    pattern: str | None = None  # keep the groups of this regular expression
    join: str = " "  # between groups, and between the pieces of a list
    template: str = "{}"  # what is kept goes into it in place of {}

    def __post_init__(self) -> None:
        if [self.card, self.file, self.json].count(None) != 2:
            raise ValueError("needs one of `card`, `file` and `json`")
        if self.json is None:
            for selector in filter(None, self.places):
                check_selector("card" if self.on_card else "file", selector)
        elif self.label or self.attr:
            raise ValueError("`label` and `attr` do not go with `json`")
        check_pattern("pattern", self.pattern or "")
        if "{}" not in self.template:
            raise ValueError("`template` has no {}")

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
    form: dict[str, str] | None = None
    first_page: Annotated[int, Meta(ge=0, le=1)] = 1
    last_page: tuple[Way, ...] = ()
    next: str | None = None
    max_pages: Annotated[int, Meta(ge=1, le=10_000)] = 200
    card: str | None = None
    records: str | None = None
    pass_over: tuple[Way, ...] = ()
    max_age: Annotated[int, Meta(ge=0, le=120)] | None = None
    fields: Fields
    months: Annotated[tuple[str, ...], Meta(min_length=12, max_length=12)] = MONTHS
    month_words: Texts = ("mes", "meses")
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
        check_selector("card", self.card or "*")
        check_selector("next", self.next or "*")
        check_pattern("several", self.several)
        if not as_tuple(self.start):
            raise ValueError("`start` has no address")
        for address in as_tuple(self.start):
            check_address("start", address.replace("{page}", "1"))
        check_address("placeholder", self.placeholder or "https://registro.example/")
        if (self.card is None) == (self.records is None):
            raise ValueError("needs one of `card` (HTML lists) and `records` (JSON lists)")
        for way in (*self.ways, *self.pass_over, *self.last_page):
            if way.on_card and (way.json is None) != (self.records is None):
                raise ValueError(
                    "ways on the card say `json` where there are `records`, else `card`"
                )
        if self.next and (self.is_numbered or self.records is not None):
            raise ValueError("`next` goes neither with {page} nor with `records`")
        if self.last_page and not self.is_numbered:
            raise ValueError("`last_page` needs {page} in `start` or `form`")
        if self.encoding and not webencodings.lookup(self.encoding):
            raise ValueError(f"`encoding` is unknown: {self.encoding}")

    @property
    def ways(self) -> tuple[Way, ...]:
        """All ways of all fields."""
        return sum(msgspec.structs.astuple(self.fields), ())

    @property
    def is_numbered(self) -> bool:
        """Whether list pages are counted in the address or in the form."""
        return "{page}" in "".join((*as_tuple(self.start), *(self.form or {}).values()))

    @property
    def own_hosts(self) -> set[str]:
        """The only hosts that are ever asked for a page."""
        return {urlsplit(absolute("", a)).netloc for a in as_tuple(self.start)} | set(
            as_tuple(self.hosts)
        )


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
    """The profile in the TOML file `path`. A SettingError is one line that names the file
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
        raise SettingError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # TOMLDecodeError and ValidationError as well
        odd = re.search("unknown field `(.+)` - at `[$].fields`", str(error))
        hint = " (it stands above [fields])" if odd and odd[1] in Profile.__struct_fields__ else ""
        raise SettingError(f"{path}: {error}{hint}") from None
    return profile


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
    if parts.scheme != "http":
        return address
    return urlunsplit(("https", parts.netloc.removesuffix(":80"), *parts[2:]))
