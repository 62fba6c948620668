"""A register's list: its pages, linked (or a single one) or numbered, and the cards on them.

    linked_pages | numbered_pages --> ListPage, ListPage ...
    read_list: readings of all of them, until one can be believed --> Card, Card ...

Rules about one page belong to its kind of paging; about one start address to read_start; about
the whole list to read_once and read_list. A reading that breaks one is Spoilt and begins again.
"""

import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urlsplit

import soupsieve

from model import MANY, person_id
from scrape.address import https, page_of, stored_address, web_address
from scrape.fetch import PAGE_SECONDS, Fetcher, PageError, Refused, time_limit
from scrape.profile import Profile, Way, as_tuple
from scrape.record import Card, Text, first_name, says_found
from scrape.text import Document, json_text, parse_html, parse_json, text_of, value_at
from scrape.ways import Match, Usage, extract, extract_all, find_stamp

READINGS = 4
NUMBER = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{3})*(?![0-9])")

log = logging.getLogger("persona404.scrape")


class Spoilt(Exception):
    """This reading of the list is not whole: read it again."""


@dataclass
class ListReader:
    """What reading the list takes, and how far it got."""

    profile: Profile
    fetcher: Fetcher
    usage: Usage
    progress: Callable[[str], None]
    seen: set[str] = field(default_factory=set)  # ids on any reading
    page: int = 0  # number of the list page in this reading, from 1


class ListPage(NamedTuple):
    """What one list page says."""

    number: int
    url: str  # where it was found in the end
    cards: list[Card]
    next: str | None  # the address that its link to the next page has
    last: int  # the highest page number that it states, 0 for none
    total: int  # how many cards it says the list has, 0 if it does not
    ended: bool  # whether </html> is there


def read_list(reader: ListReader, stored_ids: AbstractSet[str]) -> list[Card]:
    """The cards of a reading of the list that can be believed.

    A reading that contains all `stored_ids` is believed at once. Else two readings in a row must
    bring the same cards, for a person who moves from page to page while the list is read can be
    missed. All list pages are read before any file page: a slow reading misses more. Refused
    after READINGS."""
    before, fault = None, ""
    for _ in range(READINGS):
        reader.page = 0
        reader.fetcher.session.cookies.clear()
        try:
            cards = read_once(reader, stored_ids)
        except Spoilt as error:
            before, fault = None, str(error)
            continue
        keys = {card.key for card in cards}
        if keys == before or (stored_ids and stored_ids <= keys):
            return cards
        fault = "the list changes while it is read"
        if before and not keys & before:
            fault = "all links change while it is read: `url` must leave out what changes"
        before = keys
    raise Refused(f"{fault} (the list was read {READINGS} times)")


def read_once(reader: ListReader, stored_ids: AbstractSet[str]) -> list[Card]:
    """The cards of one reading."""
    lists = [read_start(reader, start) for start in as_tuple(reader.profile.start)]
    cards = list(itertools.chain(*lists))
    missing = len(stored_ids - reader.seen)
    if cards and [] in lists and missing >= MANY and not reader.profile.may_be_empty:
        raise Spoilt(
            f"start address {lists.index([]) + 1} lists nobody, and {missing} persons are missing"
            " (profile key `may_be_empty`)"
        )
    return cards


def read_start(reader: ListReader, start: str) -> list[Card]:
    """The cards of the list at one start address."""
    pages = []
    pages_of = numbered_pages if reader.profile.is_numbered else linked_pages
    for page in pages_of(reader, start):
        log.info("list page %d: %d cards", page.number, len(page.cards))
        for card in page.cards:
            reader.seen |= {id for id in (card.id, card.written) if id}
        reader.progress(f"list page {page.number}, {len(reader.seen)} persons")
        pages.append(page)
    cards = list(itertools.chain(*(page.cards for page in pages)))
    cut = [page.number for page in pages if page.cards and not page.ended]
    if reader.profile.complete and cut and any(page.cards and page.ended for page in pages):
        raise Spoilt(f"list page {cut[0]} has no </html>, unlike others: it was cut")
    total = max(page.total for page in pages)
    if reader.profile.total and cards and not total:
        raise Spoilt("the register does not state how many cards it has (profile key `total`)")
    if len(cards) < total:
        raise Spoilt(f"the register states {total} cards, and {len(cards)} were read")
    return cards


def linked_pages(reader: ListReader, start: str) -> Iterator[ListPage]:
    """Follow the links to the next page, until there is none, or one to the page itself. Without
    `next` in the profile there is one page."""
    address: str | None = start
    read: set[str] = set()
    keys: set[str] = set()
    while address is not None:
        page = next_page(reader, address)
        new = {card.key for card in page.cards} - keys
        if read and bool(new) != bool(keys):
            empty = page.number if keys else page.number - 1
            raise Spoilt(f"list page {empty} has nobody new, unlike the page beside it")
        yield page
        keys |= new
        if page.next and page_of(page.next) in (page_of(address), page_of(page.url)):
            return
        read |= {page_of(address), page_of(page.url)}
        address = page.next
        if address and page_of(address) in read:
            raise Spoilt(f"the next link of list page {page.number} leads to an earlier page")


def numbered_pages(reader: ListReader, start: str) -> Iterator[ListPage]:
    """Count {page} up to the last number that the pages state. Without one, up to two pages in a
    row that are missing or bring nobody new: one alone may be an error page with status 200."""
    keys: set[str] = set()
    last, at_end = 0, False
    for number in itertools.count(reader.profile.first_page):
        may_be_missing = number > max(reader.profile.first_page, last)
        page = next_page(reader, start, number, may_be_missing)
        new = {card.key for card in page.cards} - keys
        if not new and number <= last:
            raise Spoilt(f"list page {page.number} has nobody new, though {last} pages are stated")
        if new and at_end:
            raise Spoilt(f"list page {page.number - 1} has nobody new, unlike the page beside it")
        if not new and at_end:
            return
        yield page._replace(cards=page.cards if new else [])
        keys |= new
        at_end = not new
        last = max(last, page.last)
        if last and number >= last:
            return


def next_page(
    reader: ListReader, address: str, number: int = 0, may_be_missing: bool = False
) -> ListPage:
    """Read one more page of the list. Refused over `max_pages`."""
    reader.page += 1
    limit = reader.profile.max_pages
    if reader.page > limit:
        raise Refused(f"more than {limit} list pages (profile key `max_pages`)")
    try:
        return read_page(reader, address, number)
    except PageError as error:
        if error.status in (401, 403):
            raise Refused(
                f"list page {reader.page}: HTTP {error.status}: the register does not admit this"
                " program; ask its operators for access (registers/README.md)"
            ) from None
        missing = (404, 410) if reader.profile.records is None else (400, 404, 410)
        if may_be_missing and error.status in missing:
            return ListPage(reader.page, address, [], None, 0, 0, False)
        raise Spoilt(f"list page {reader.page} cannot be read: {error}") from None


def read_page(reader: ListReader, address: str, number: int) -> ListPage:
    """Read the list page at `address`, with `number` for {page}. PageError where that fails."""
    profile = reader.profile
    form = profile.form and {k: v.replace("{page}", str(number)) for k, v in profile.form.items()}
    parse = parse_html if profile.records is None else parse_json
    try:
        with time_limit(PAGE_SECONDS):
            page = reader.fetcher.get(address.replace("{page}", str(number)), form)
            document = parse(page, profile.encoding)
            return ListPage(
                reader.page,
                page.url,
                list(read_cards(reader, document)),
                next_address(reader, document),
                highest_number(reader, profile.last_page, document),
                highest_number(reader, profile.total, document),
                profile.records is not None or b"</html" in page.body.lower(),
            )
    except RecursionError:
        raise PageError("it is nested too deeply") from None


def read_cards(reader: ListReader, document: Document) -> Iterator[Card]:
    """The cards of a list page."""
    profile = reader.profile
    ways = profile.card_ways
    stamps = profile.stamps(on_card=True)
    starts = (start.replace("{page}", "1") for start in as_tuple(profile.start))
    list_pages = {page_of(address) for address in (document.base, document.url, *starts)}
    for number, scope in enumerate(card_scopes(document.root, profile), 1):
        reader.usage.keys.add("card")
        texts = {}
        for way in ways:
            text, match = extract(way, scope, profile.missing)
            reader.usage.note(way, match)
            texts[way] = Text(text, document.base)
        names = (texts[way].text for way in profile.fields.nombre if way.on_card)
        stamp = find_stamp(stamps, scope, reader.usage)
        card = Card(
            page=reader.page,
            number=number,
            texts=texts,
            name=first_name(names, stamp),
            stamp=stamp,
            says_found=says_found(text_of(scope)),
        )
        for way in profile.fields.url:
            if card.id is None and (link := file_link(reader, texts[way], way, list_pages)):
                card.link, card.url = link
                card.id = person_id(profile.name, card.url)
                if "#" not in card.url:
                    card.written = person_id(profile.name, https(urldefrag(card.link).url))
        addresses = (web_address(texts[way].base, texts[way].text) for way in profile.file_url)
        card.file = next(filter(None, addresses), "") if profile.file_url else card.link
        yield card


def card_scopes(root: Any, profile: Profile) -> Iterable[Any]:
    """The cards of a list page: elements, or the records of a JSON list."""
    if profile.records is None:
        return soupsieve.iselect(profile.card or "", root)
    records = value_at(root, profile.records)
    if not isinstance(records, list):
        raise PageError(f"there is no list at {profile.records!r} (profile key `records`)")
    return records


def file_link(
    reader: ListReader, text: Text, way: Way, list_pages: set[str]
) -> tuple[str, str] | None:
    """The address of a file page, as it is fetched and as it is stored; None where `text` is not
    one on the register's hosts, or leads to the list itself, such as "#" or ""."""
    link = web_address(text.base, text.text)
    url = stored_address(link, keep_fragment="#" in way.template)
    to_list = page_of(link) in list_pages
    if (to_list and "#" not in url) or urlsplit(link).netloc not in reader.fetcher.hosts:
        return None
    return link, url


def next_address(reader: ListReader, document: Document) -> str | None:
    """The address that the link to the next page has; None without one, or with one to #."""
    if reader.profile.next is None:
        return None
    if reader.profile.records is None:
        link = soupsieve.select_one(reader.profile.next, document.root)
        target = link and str(link.get("href") or "#").strip()
    else:
        target = json_text(value_at(document.root, reader.profile.next) or None)
    if not target:
        return None
    reader.usage.keys.add("next")
    if target.startswith("#") or re.fullmatch(r"javascript:\s*(void\(0\))?;?", target):
        return None
    if not (address := web_address(document.base, target)):
        raise PageError("its next link leads to no page (profile key `next`)")
    return urldefrag(address).url


def highest_number(reader: ListReader, ways: tuple[Way, ...], document: Document) -> int:
    """The highest number in what `ways` yield, 0 for none. "1.234" and "1,234" are 1234."""
    numbers = [0]
    for way in ways:
        texts, match = extract_all(way, document.root, reader.profile.missing)
        found = NUMBER.findall(" ".join(texts))
        reader.usage.note(way, match if found else min(match, Match.PLACE_ONLY))
        numbers += [int(re.sub("[.,]", "", number)) for number in found]
    return max(numbers)
