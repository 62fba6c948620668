"""A register's list: its pages, linked (or a single one) or numbered.

    linked_pages | numbered_pages --> ListPage, ListPage ...
    read_list: readings of all of them, until one can be believed --> Card, Card ...

Rules about one page belong to its kind of paging; about one start address to read_start; about
the whole list to read_once and read_list. A reading that breaks one is Spoilt and begins again.
"""

import logging
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import chain, count
from typing import NamedTuple
from urllib.parse import urldefrag

import soupsieve

from scrape.address import page_of, web_address
from scrape.cards import Card, RunContext, read_cards
from scrape.document import Document, json_text, parse_html, parse_json, value_at
from scrape.fetch import PAGE_SECONDS, PageError, Refused, time_limit

READINGS = 4
MAX_PAGES = 200  # of a list; a longer one is taken for endless
MISSING = 5  # so many stored persons missing are no coincidence with an empty start address

log = logging.getLogger("persona404.scrape")


class Spoilt(Exception):
    """This reading of the list is not whole: read it again."""


class ListPage(NamedTuple):
    """What one list page says."""

    number: int
    url: str  # where it was found in the end
    cards: list[Card]
    next: str | None = None  # the address that its link to the next page has
    last: int = 0  # the highest page number that it states, 0 for none
    total: int = 0  # how many cards it says the list has, 0 if it does not
    ended: bool = False  # whether </html> is there


def read_list(context: RunContext, stored_ids: AbstractSet[str]) -> list[Card]:
    """The cards of a reading with all `stored_ids`, else of two in a row with the same cards: a
    person who moves from page to page while the list is read can be missed. Refused after READINGS.
    All list pages are read before any file page, since a slow reading misses more."""
    before, fault = None, ""
    for _ in range(READINGS):
        context.page_number = 0
        context.fetcher.session.cookies.clear()
        try:
            cards = read_once(context, stored_ids)
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


def read_once(context: RunContext, stored_ids: AbstractSet[str]) -> list[Card]:
    """The cards of one reading."""
    lists = [read_start(context, start) for start in context.profile.start]
    missing = len(stored_ids - context.seen)
    if any(lists) and [] in lists and missing >= MISSING and not context.profile.may_be_empty:
        empty = f"start address {lists.index([]) + 1} lists nobody"
        raise Spoilt(f"{empty}, and {missing} persons are missing (profile key `may_be_empty`)")
    return [*chain(*lists)]


def read_start(context: RunContext, start: str) -> list[Card]:
    """The cards of the list at one start address."""
    pages = []
    pages_of = numbered_pages if context.profile.is_numbered else linked_pages
    for page in pages_of(context, start):
        log.info("list page %d: %d cards", page.number, len(page.cards))
        context.seen.update(card.id for card in page.cards if card.id)
        context.progress(f"list page {page.number}, {len(context.seen)} persons")
        pages.append(page)
    cards = [card for page in pages for card in page.cards]
    cut = [page.number for page in pages if page.cards and not page.ended]
    if cut and any(page.cards and page.ended for page in pages):
        raise Spoilt(f"list page {cut[0]} has no </html>, unlike others: it was cut")
    total = max(page.total for page in pages)
    if context.profile.total and cards and not total:
        raise Spoilt("the register does not state how many cards it has (profile key `total`)")
    if len(cards) < total:
        raise Spoilt(f"the register states {total} cards, and {len(cards)} were read")
    return cards


def linked_pages(context: RunContext, start: str) -> Iterator[ListPage]:
    """Follow the links to the next page, until there is none, or one to the page itself. Without
    `next` in the profile there is one page."""
    address = start
    read: set[str] = set()
    keys: set[str] = set()
    while True:
        page = read_next(context, address)
        new = {card.key for card in page.cards} - keys
        if read and bool(new) != bool(keys):
            empty = page.number if keys else page.number - 1
            raise Spoilt(f"list page {empty} has nobody new, unlike the page beside it")
        yield page
        keys |= new
        here = {page_of(address), page_of(page.url)}
        if page.next is None or page_of(page.next) in here:
            return
        if page_of(page.next) in read:
            raise Spoilt(f"the next link of list page {page.number} leads to an earlier page")
        read |= here
        address = page.next


def numbered_pages(context: RunContext, start: str) -> Iterator[ListPage]:
    """Count {page} up to the last number that the pages state. Without one, up to two pages in a
    row that are missing or bring nobody new: one alone may be an error page with status 200
    (test_a_numbered_page_that_fails_with_200_is_refused)."""
    keys: set[str] = set()
    last, at_end = 0, False
    for number in count(context.profile.first_page):
        may_be_missing = number > max(context.profile.first_page, last)
        page = read_next(context, start, number, may_be_missing)
        new = {card.key for card in page.cards} - keys
        if not new and number <= last:
            raise Spoilt(f"list page {page.number} has nobody new, though {last} pages are stated")
        if new and at_end:
            raise Spoilt(f"list page {page.number - 1} has nobody new, unlike the page beside it")
        if not new and at_end:
            return
        yield page if new else page._replace(cards=[])
        keys |= new
        at_end = not new
        last = max(last, page.last)
        if 0 < last <= number:
            return


def read_next(
    context: RunContext, address: str, number: int = 0, may_be_missing: bool = False
) -> ListPage:
    """Read one more page of the list. Refused over MAX_PAGES."""
    context.page_number += 1
    where = f"list page {context.page_number}"
    if context.page_number > MAX_PAGES:
        raise Refused(f"more than {MAX_PAGES} list pages")
    try:
        with time_limit(PAGE_SECONDS):
            return read_page(context, address, number)
    except RecursionError:
        raise Spoilt(f"{where} cannot be read: it is nested too deeply") from None
    except PageError as error:
        if error.status in (401, 403):
            reason = f"HTTP {error.status}: the register does not admit this program"
            advice = "ask its operators for access (registers/README.md)"
            raise Refused(f"{where}: {reason}; {advice}") from None
        missing = (404, 410) if context.profile.records is None else (400, 404, 410)
        if may_be_missing and error.status in missing:
            return ListPage(context.page_number, address, [])
        raise Spoilt(f"{where} cannot be read: {error}") from None


def read_page(context: RunContext, address: str, number: int) -> ListPage:
    """Read the list page at `address`, with `number` for {page}. PageError where that fails."""
    profile = context.profile
    parse = parse_html if profile.records is None else parse_json
    form = profile.form and {k: v.replace("{page}", str(number)) for k, v in profile.form.items()}
    page = context.fetcher.get(address.replace("{page}", str(number)), form)
    document = parse(page, profile.encoding)
    return ListPage(
        number=context.page_number,
        url=page.url,
        cards=list(read_cards(context, document)),
        next=next_address(context, document),
        last=context.usage.highest_number(profile.last_page, document.root),
        total=context.usage.highest_number(profile.total, document.root),
        ended=profile.records is not None or b"</html" in page.body.lower(),
    )


def next_address(context: RunContext, document: Document) -> str | None:
    """The address that the link to the next page has; None without one, or with one to #."""
    if context.profile.next is None:
        return None
    if context.profile.records is None:
        link = soupsieve.select_one(context.profile.next, document.root)
        target = link and str(link.get("href") or "#").strip()
    else:
        target = json_text(value_at(document.root, context.profile.next) or None)
    if not target:
        return None
    context.usage.keys.add("next")
    if target.startswith("#") or re.fullmatch(r"javascript:\s*(void\(0\))?;?", target):
        return None
    if not (address := web_address(document.base, target)):
        raise PageError("its next link leads to no page (profile key `next`)")
    return urldefrag(address).url
