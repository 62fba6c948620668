"""A register's list: its pages, by one of three kinds of paging, and the cards on them.

    single pages | linked_pages | numbered_pages --> ListPage, ListPage ...
    read_list: all of them --> one Card for each person

Rules about one page belong to its kind of paging; rules about the whole list to read_list.
"""

import itertools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urlsplit

import soupsieve

from person import Reading, Unreadable, person_id
from scrape.address import absolute, https
from scrape.fetch import PAGE_SECONDS, Fetcher, PageError, PageMissing, Refused, time_limit
from scrape.profile import Profile, Way, as_tuple
from scrape.record import Card, Text
from scrape.text import Document, parse_html, parse_json, value_at
from scrape.values import read_name
from scrape.ways import Usage, extract, extract_all, is_stamped

log = logging.getLogger("persona404.scrape")


@dataclass
class ListReader:
    """What reading the list takes, and how far it got."""

    profile: Profile
    fetcher: Fetcher
    usage: Usage
    page: int = 0  # number of the list page, from 1


class ListPage(NamedTuple):
    """What one list page says."""

    size: int  # how many cards are on it
    cards: list[Card]
    unreadable: list[Unreadable]  # cards without a link to a file page
    next: str | None  # the address that its link to the next page has
    last: int  # the highest page number that it states, 0 for none
    announced: bool = False  # whether an earlier page announced this one


def read_list(
    reader: ListReader, reading: Reading, progress: Callable[[str], None]
) -> dict[str, Card]:
    """The cards by id. All list pages are read before any file page: while a list is read slowly,
    persons move from page to page and are missed. Refused where a page cannot be read."""
    cards: dict[str, Card] = {}
    for page in list_pages(reader):
        if page.announced and not page.size and cards:
            raise Refused(f"list page {reader.page} has no card, unlike those before it")
        log.info("list page %d: %d cards", reader.page, page.size)
        reading.pages = reader.page
        reading.unreadable += page.unreadable
        for card in page.cards:
            add_card(cards, card)
        progress(f"list page {reader.page}, {len(cards)} persons")
    return cards


def add_card(cards: dict[str, Card], card: Card) -> None:
    """Add a card, or join it with an earlier one of the same file: it fills in missing texts,
    and a stamp on either counts."""
    first = cards.setdefault(card.id, card)
    if https(first.link) != https(card.link):
        raise Refused(f"two different files have the id {card.id}")
    first.stamped |= card.stamped
    for way, text in card.texts.items():
        if not first.texts[way].text:
            first.texts[way] = text


def list_pages(reader: ListReader) -> Iterator[ListPage]:
    """The list pages of all start addresses."""
    for start in as_tuple(reader.profile.start):
        if reader.profile.is_numbered:
            yield from numbered_pages(reader, start)
        elif reader.profile.next:
            yield from linked_pages(reader, start)
        else:
            yield next_page(reader, start)


def linked_pages(reader: ListReader, start: str) -> Iterator[ListPage]:
    """Follow the links to the next page, until there is none or it leads back."""
    address: str | None = start
    read: set[str] = set()
    while address is not None and address not in read:
        page = next_page(reader, address)
        yield page._replace(announced=bool(read))
        read.add(address)
        address = page.next


def numbered_pages(reader: ListReader, start: str) -> Iterator[ListPage]:
    """Count {page} up to the last number that the pages state; without one, up to a page that
    adds no person."""
    ids: set[str] = set()
    last = 0
    for number in itertools.count(reader.profile.first_page):
        page = next_page(reader, start, number)
        yield page._replace(announced=last > 0)
        last = max(last, page.last)
        if last and number >= last:
            return
        if not last:
            if not page.size and ids:
                refuse_gap(reader, start, number + 1)
            new = {card.id for card in page.cards} - ids
            if not new and not page.unreadable:
                return
            ids |= new


def refuse_gap(reader: ListReader, start: str, number: int) -> None:
    """Refused where page `number`, the one after an empty page, has cards: then the empty page
    was not the list's end, but an error with status 200."""
    try:
        page = read_page(reader, start, number)
    except PageMissing:
        return
    except PageError as error:
        raise Refused(f"list page {reader.page + 1} cannot be read: {error}") from None
    if page.size:
        raise Refused(f"list page {reader.page} has no card, but the next one has")


def next_page(reader: ListReader, address: str, number: int = 0) -> ListPage:
    """Read one more page of the list. Refused over `max_pages`."""
    reader.page += 1
    limit = reader.profile.max_pages
    if reader.page > limit:
        raise Refused(f"more than {limit} list pages (profile key `max_pages`)")
    try:
        return read_page(reader, address, number)
    except PageError as error:
        raise Refused(f"list page {reader.page} cannot be read: {error}") from None


def read_page(reader: ListReader, address: str, number: int) -> ListPage:
    """Read the list page at `address`, with `number` for {page}. PageError where that fails."""
    profile = reader.profile
    form = profile.form and {k: v.replace("{page}", str(number)) for k, v in profile.form.items()}
    parse = parse_html if profile.records is None else parse_json
    with time_limit(PAGE_SECONDS):
        page = reader.fetcher.get(address.replace("{page}", str(number)), form)
        document = parse(page, profile.encoding)
        cards = list(read_cards(reader, document))
        return ListPage(
            len(cards),
            [card for card in cards if isinstance(card, Card)],
            [card for card in cards if isinstance(card, Unreadable)],
            next_address(reader, document),
            last_number(reader, document),
        )


def read_cards(reader: ListReader, document: Document) -> Iterator[Card | Unreadable | None]:
    """The cards of a list page. One without a link to a file page is Unreadable, or None if it is
    stamped."""
    profile = reader.profile
    ways = {way for way in profile.ways if way.on_card}
    stamps = tuple(way for way in profile.pass_over if way.on_card)
    for number, scope in enumerate(card_scopes(document.root, profile), 1):
        reader.usage.keys.add("card")
        stamped = is_stamped(stamps, scope, reader.usage)
        texts = card_texts(reader, ways, scope, document.base)
        links = (file_link(texts[way], reader.fetcher.hosts) for way in profile.fields.url)
        if link := next(filter(None, links), None):
            id = person_id(profile.name, https(link))
            yield Card(id, link, reader.page, number, texts, stamped)
        elif stamped:
            yield None
        else:
            names = (read_name(texts[way].text) for way in profile.fields.nombre if way.on_card)
            name = next(filter(None, names), None)
            yield Unreadable(None, reader.page, number, "url", "missing or malformed", name)


def card_scopes(root: Any, profile: Profile) -> Iterable[Any]:
    """The cards of a list page: elements, or the records of a JSON list."""
    if profile.records is None:
        return soupsieve.iselect(profile.card or "", root)
    records = value_at(root, profile.records)
    if not isinstance(records, list):
        raise PageError(f"there is no list at {profile.records!r} (profile key `records`)")
    return records


def card_texts(reader: ListReader, ways: Iterable[Way], scope: Any, base: str) -> dict[Way, Text]:
    """What each of `ways` yields on a card."""
    texts = {}
    for way in ways:
        text, match = extract(way, scope, reader.profile.missing)
        reader.usage.note(way, match)
        texts[way] = Text(text, base)
    return texts


def file_link(text: Text, hosts: set[str]) -> str | None:
    """The address of a file page; None where `text` is not one on the register's hosts, or leads
    to the list page itself, such as "#"."""
    try:
        link = urldefrag(absolute(text.base, text.text)).url if text.text else ""
    except ValueError:
        return None
    is_own = urlsplit(link).netloc in hosts
    return link if is_own and link != urldefrag(text.base).url else None


def next_address(reader: ListReader, document: Document) -> str | None:
    """The address that the link to the next page has; None without one, or with one to #."""
    if reader.profile.next is None:
        return None
    link = soupsieve.select_one(reader.profile.next, document.root)
    if link is None:
        return None
    reader.usage.keys.add("next")
    target = str(link.get("href") or "#")
    if target.startswith("#"):
        return None
    try:
        return urldefrag(absolute(document.base, target)).url
    except ValueError:
        raise PageError("its next link leads to no page (profile key `next`)") from None


def last_number(reader: ListReader, document: Document) -> int:
    """The highest page number that the ways of `last_page` yield, 0 for none."""
    numbers = [0]
    for way in reader.profile.last_page:
        texts, match = extract_all(way, document.root, reader.profile.missing)
        reader.usage.note(way, match)
        numbers += [int(text) for text in texts if re.fullmatch("[0-9]{1,9}", text)]
    return max(numbers)
