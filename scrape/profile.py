"""A register's profile: a TOML file that says how its pages are read (registers/README.md)."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

import msgspec
import soupsieve
import webencodings
from msgspec import Meta, Struct, field
from msgspec.structs import asdict, force_setattr, replace

from model import SettingError
from scrape.address import https, resolve

MONTHS = ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
          "septiembre", "octubre", "noviembre", "diciembre")  # fmt: skip
# A name of several children: "Ana X y Luis X", "Ana / Luis". Not "Ramón y Cajal", with only one
# word after its "y", nor "y de la Cruz".
SEVERAL = r"[/;&+]|\sy\s+(?!del?\s)\S+\s+\S"

LIST_KEYS = ("fields.url", "file_url", "last_page", "total")  # read on list pages alone
TEXTS_KEYS = ("start", "month_words", "year_words", "missing", "no_photo", "hosts")
CHECKS: dict[str, Callable[[str], object]] = {
    "a CSS selector": soupsieve.compile,
    "a regular expression": re.compile,
    "an http or https address": partial(resolve, ""),
}

PLAIN = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false",
         "array": "a list", "object": "a table"}  # fmt: skip

Texts = str | tuple[str, ...]  # one or several; a Profile has made a tuple of each
Line = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{0,100}\Z")]


class Way(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to a text: where it stands (a CSS selector in HTML, a dotted path in JSON), what to
    take there, which part to keep."""

    card: Texts | None = None  # places within the card; "" is the card itself
    file: Texts | None = None  # or within the file page
    label: Texts | None = None  # take the text after this label
    attr: str | None = None  # take this attribute, not the text
    pattern: str | None = None  # keep the groups of this regular expression
    join: str | None = None  # between groups, places and the texts of a JSON list; a space
    template: str = "{}"  # the kept text replaces {} in it

    def __post_init__(self) -> None:
        if (self.card is None) == (self.file is None):
            raise ValueError("needs one of `card` and `file`")
        if "{}" not in self.template:
            raise ValueError("`template` has no {}")
        check("pattern", "a regular expression", self.pattern)

    @property
    def separator(self) -> str:
        return " " if self.join is None else self.join

    @property
    def on_card(self) -> bool:
        return self.file is None

    @property
    def places(self) -> tuple[str, ...]:
        return as_tuple(self.card if self.file is None else self.file)

    @property
    def whole(self) -> "Way":
        """The way to all text at the places, of which this one keeps a part."""
        return replace(self, pattern=None, join=" ", template="{}")

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


class Profile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A register's description; registers/README.md explains each key."""

    name: str = ""  # load_profile sets it
    title: Line = ""
    phone: Annotated[str, Meta(pattern=r"^(\+?[0-9][0-9 ()-]{1,30})?\Z")] = ""
    website: str | None = None
    notice: Line = ""
    demo: bool = False
    photos: bool = True
    start: Texts
    form: dict[str, str] | None = None
    first_page: Annotated[int, Meta(ge=0, le=1)] = 1
    last_page: tuple[Way, ...] = ()
    next: str | None = None
    total: tuple[Way, ...] = ()
    may_be_empty: bool = False
    card: str | None = None
    records: str | None = None
    file_url: tuple[Way, ...] = ()
    file_record: str | None = None
    pass_over: tuple[Way, ...] = ()
    max_age: Annotated[int, Meta(ge=0, le=120)] | None = None
    fields: Fields
    edad_de: Literal["entonces", "hoy"] = "entonces"
    fecha_de: Literal["caso", "publicacion"] = "caso"
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
    pages_dir: str | None = field(default=None, name="pages")

    def __post_init__(self) -> None:
        for key in TEXTS_KEYS:
            force_setattr(self, key, as_tuple(getattr(self, key)))
        check("card", "a CSS selector", self.card)
        check("next", "a CSS selector", self.next if self.records is None else None)
        check("several", "a regular expression", self.several)
        if (self.card is None) == (self.records is None):
            raise ValueError("needs one of `card` (HTML lists) and `records` (JSON lists)")
        for key, ways in self.way_lists.items():
            for i, way in enumerate(ways):
                if not way.on_card and key in LIST_KEYS:
                    raise ValueError(f"`{key}[{i}]` needs `card`: it is read on the list page")
                self.check_place(f"{key}[{i}]", way)
        check("placeholder", "an http or https address", self.placeholder)
        check("website", "an http or https address", self.website)
        if not self.start:
            raise ValueError("`start` has no address")
        for address in self.start:
            check("start", "an http or https address", address.replace("{page}", "1"))
        if self.next and self.is_numbered:
            raise ValueError("`next` does not go with {page}")
        if self.last_page and not self.is_numbered:
            raise ValueError("`last_page` needs {page} in `start` or `form`")
        if self.encoding and not webencodings.lookup(self.encoding):
            raise ValueError(f"`encoding` is unknown: {self.encoding}")

    def check_place(self, name: str, way: Way) -> None:
        if (self.records if way.on_card else self.file_record) is None:
            for selector in way.places:
                check(name, "a CSS selector", selector)
        elif way.label or way.attr:
            raise ValueError(f"`{name}`: `label` and `attr` do not go with JSON")

    @property
    def way_lists(self) -> dict[str, tuple[Way, ...]]:
        """The ways of each key that takes some, such as `pass_over` and `fields.edad`."""
        keys = ("file_url", "pass_over", "last_page", "total")
        fields = {f"fields.{name}": ways for name, ways in asdict(self.fields).items()}
        return {key: getattr(self, key) for key in keys} | fields

    def stamps(self, on_card: bool) -> tuple[Way, ...]:
        """The ways of `pass_over` for the card, or for the file page."""
        return tuple(way for way in self.pass_over if way.on_card == on_card)

    def means_no_photo(self, address: str) -> bool:
        """Whether the image at `address` says that there is no photo."""
        parts = (*self.no_photo, https(self.placeholder or "no address"))
        return any(part in https(address) for part in parts)

    @property
    def is_numbered(self) -> bool:
        """Whether list pages are counted in the address or in the form."""
        return "{page}" in "".join((*self.start, *(self.form or {}).values()))

    @property
    def own_hosts(self) -> set[str]:
        """The only hosts that are ever asked for a page; with the port, if one is given."""
        starts = (urlsplit(resolve("", address)).netloc for address in self.start)
        return {host.lower() for host in (*starts, *self.hosts)}


def as_tuple(texts: Texts | None) -> tuple[str, ...]:
    """One text, a list of them or none, as a tuple."""
    return (texts,) if isinstance(texts, str) else texts or ()


def check(key: str, kind: str, text: str | None) -> None:
    """ValueError that names `key`, unless its text is of that kind (CHECKS) or there is none."""
    try:
        if text:
            CHECKS[kind](text)
    except (ValueError, re.error, soupsieve.SelectorSyntaxError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"`{key}` is not {kind}: {text!r}: {reason}") from None


def load_profile(path: Path) -> Profile:
    """Read the profile in the TOML file `path`; `registers/demo.toml` is the register `demo`. Its
    paths, relative to its folder, are made absolute. SettingError where it cannot be used."""
    try:
        profile = msgspec.toml.decode(path.read_bytes(), type=Profile)
        if profile.name:
            raise ValueError("`name` is no key: the file name says it")
        paths = {"pages": profile.pages_dir, "ca_bundle": profile.ca_bundle}
        for key, name in paths.items():
            if name is not None and not (path.parent / name).exists():
                raise ValueError(f"`{key}`: there is no {name} beside the profile")
            paths[key] = name and str(path.parent / name)
        pages_dir, ca_bundle = paths.values()
        return replace(profile, name=path.stem, pages_dir=pages_dir, ca_bundle=ca_bundle)
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # msgspec's and tomllib's errors too
        odd = re.search("unknown field `(.+)` - at `[$].fields`", str(error))
        is_above = odd and odd[1] in Profile.__struct_encode_fields__
        hint = " (it stands above [fields])" if is_above else ""
        raise SettingError(f"{path}: {in_plain_words(str(error))}{hint}") from None


def in_plain_words(fault: str) -> str:
    """What msgspec says of a value, without its names of types."""
    if key := re.match(r"Invalid enum value .* - at `[$][.](\w+)`", fault):
        allowed = " or ".join(get_args(Profile.__annotations__[key[1]]))
        return f"`{key[1]}` must be {allowed}"
    if not fault.startswith("Expected"):
        return fault
    return re.sub("`([a-z]+)[a-z |]*`", lambda type: PLAIN.get(type[1], type[1]), fault)
