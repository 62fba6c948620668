"""The cards of a list page, and what a run knows from its first page to its last."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlsplit

import soupsieve
from msgspec.structs import astuple

from model import Skipped, person_id
from names import comparable, unaccented
from scrape.address import page_of, stored_address, web_address
from scrape.document import Document, text_of, value_at
from scrape.fetch import Fetcher, PageError
from scrape.profile import Profile, Way
from scrape.values import read_name
from scrape.ways import Usage

# What registers write of a found child, but not "no fue localizada", "sin ser localizada".
SAYS_FOUND = re.compile(
    r"(?<!no )(?<!no fue )(?<!no ha sido )(?<!ser )(?<!sea )"
    r"(?<!des)(?:encontrad|localizad|hallad|apareci)(?:[ao]s?|d[ao]s?|eron)\b",
    re.IGNORECASE,
)


class RunContext:
    """What reading a register takes, and what is known of it so far."""

    def __init__(self, fetcher: Fetcher, progress: Callable[[str], None]):
        self.fetcher = fetcher
        self.profile = fetcher.profile
        self.progress = progress
        self.usage = Usage(self.profile.missing)
        self.today = date.today()
        self.page_number = 0  # of the list page in this reading of the list, from 1
        self.seen: set[str] = set()  # ids on any reading of the list
        self.cards_per_file = Counter[str]()  # by file page, as page_of()
        self.cards_per_name = Counter[tuple[str, ...]]()  # by name_key()
        self.ends: dict[str, str] = {}  # where redirects led -> card's id
        # Digests of file pages -> card's id -> card's name.
        self.bodies = defaultdict[bytes, dict[str, str | None]](dict)
        self.disputed: set[str] = set()  # ids of cards that ended at one page


@dataclass
class Card:
    """What the list pages say of one person."""

    position: tuple[int, int]  # the numbers of the list page and of the card on it, from 1
    texts: dict[Way, str]  # that each way on the card yields, or its `whole`; addresses resolved
    name: str | None
    stamp: str  # "" for none
    says_found: bool
    href: str  # the address that `url` yields; "" for none
    stored_url: str  # the same, as it is stored
    detail_url: str  # the file page's, as it is fetched; "" if the card does not say it
    id: str  # "" without a link

    @property
    def key(self) -> str:
        """What tells the card from others of the list."""
        # test_stamped_cards_without_link_and_name_are_cards
        return self.id or self.name or (str(self.position) if self.stamp else "")

    def skipped(self, field: str, reason: str, text: str = "", children: int = 1) -> Skipped:
        place = (self.id or None, *self.position)
        return Skipped(*place, field, reason, self.name, self.href, text, children)


def read_cards(context: RunContext, document: Document) -> Iterator[Card]:
    """The cards of a list page."""
    profile = context.profile
    stamps = profile.stamps(on_card=True)
    lists_of_ways = (*astuple(profile.fields), profile.file_url)
    ways = {way for ways in lists_of_ways for way in ways if way.on_card}
    links = ways & {*profile.fields.url, *profile.fields.foto, *profile.file_url}
    starts = (start.replace("{page}", "1") for start in profile.start)
    lists = {page_of(address) for address in (document.base, document.url, *starts)}
    for number, scope in enumerate(card_scopes(document.root, profile), 1):
        context.usage.keys.add("card")
        texts = {way: context.usage.extract(way, scope) for way in ways}
        whole = {way.whole for way in ways if way.pattern and not texts[way]}
        texts |= {way: context.usage.extract(way, scope) for way in whole}
        for way in links:
            texts[way] = web_address(document.base, texts[way]) or texts[way]
        names = (texts[way] for way in profile.fields.nombre if way.on_card)
        stamp = context.usage.find_stamp(stamps, scope)
        hrefs = (file_link(context, texts[way], way, lists) for way in profile.fields.url)
        href, stored_url = next(filter(any, hrefs), ("", ""))
        details = (web_address("", texts[way]) for way in profile.file_url)
        yield Card(
            position=(context.page_number, number),
            texts=texts,
            name=first_name(names, stamp),
            stamp=stamp,
            says_found=says_found(text_of(scope)),
            href=href,
            stored_url=stored_url,
            detail_url=next(filter(None, details), "") if profile.file_url else href,
            id=person_id(profile.name, stored_url) if stored_url else "",
        )


def card_scopes(root: Any, profile: Profile) -> Iterable[Any]:
    """The cards of a list page: elements, or the records of a JSON list."""
    if profile.records is None:
        return soupsieve.iselect(profile.card or "", root)
    records = value_at(root, profile.records)
    if not isinstance(records, list):
        raise PageError(f"there is no list at {profile.records!r} (profile key `records`)")
    return records


def file_link(context: RunContext, text: str, way: Way, lists: set[str]) -> tuple[str, str]:
    """The address of a file page, as it is fetched and as it is stored; "" twice where `text` is
    not one on the register's hosts, or leads to one of `lists` itself, such as "#". The fragment of
    a template counts: in interpolar.toml it alone tells one notice from another."""
    link = web_address("", text)
    url = stored_address(link, keep_fragment="#" in way.template)
    to_list = page_of(link) in lists and "#" not in url
    is_own = urlsplit(link).netloc in context.fetcher.hosts
    return (link, url) if is_own and not to_list else ("", "")


def first_name(texts: Iterable[str], stamp: str) -> str | None:
    """The first name in `texts`. One that contains the `stamp` is none: it stands in its place."""
    names = filter(None, map(read_name, texts))
    return next((n for n in names if not stamp or comparable(stamp) not in comparable(n)), None)


def says_found(text: str) -> bool:
    return SAYS_FOUND.search(" ".join(unaccented(text).split())) is not None
