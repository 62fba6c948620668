"""One reading of a whole register.

Profile --read_list--> cards --join_cards--> a card for each file --read_record--> Reading
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from itertools import combinations

from model import Reading
from names import name_key, names_agree
from scrape.address import https, page_of
from scrape.cards import Card, RunContext, says_found
from scrape.document import text_of
from scrape.fetch import PAGE_SECONDS, Fetcher, PageError, Refused, time_limit
from scrape.paging import read_list
from scrape.record import Record, RecordError, read_person
from scrape.ways import profile_parts


def read_register(
    fetcher: Fetcher, progress: Callable[[str], None], stored_ids: AbstractSet[str] = frozenset()
) -> Reading:
    """Read the whole register. Main thread only, because of the time limits.

    `progress` is called with each line for the terminal; a list that misses one of `stored_ids` is
    read again. Refused where the list cannot be read whole, or robots.txt cannot be fetched; a file
    page that cannot be read costs its own record."""
    context = RunContext(fetcher, progress)
    cards = read_list(context, stored_ids)
    reading = Reading(
        seen=context.seen,
        card_count=len({card.key for card in cards}),
        page_count=context.page_number,
        placeholder=https(fetcher.profile.placeholder or ""),
    )
    joined = join_cards(cards, reading)
    linked = [card for card in joined if card.id]
    context.cards_per_file.update(page_of(card.detail_url) for card in linked if card.detail_url)
    context.names = {name_key(card.name) for card in linked if card.name}
    for count, card in enumerate(joined, 1):
        progress(f"person {count} of {len(joined)}")
        fetcher.check_time()
        read_record(reading, Record(card, context))
    for card in joined:
        if card.id in context.disputed and card.id in reading.persons:
            del reading.persons[card.id]
            reading.photos.pop(card.id, None)  # it may be another child's
            reason = "a redirect led to it and to that of another card"
            reading.unreadable.append(card.skipped("file page", reason))
    reading.parts = profile_parts(fetcher.profile, context.usage)
    return reading


def join_cards(cards: list[Card], reading: Reading) -> list[Card]:
    """One card for each file page: what one lacks, the others fill in, and a stamp on any counts.
    Cards with one link and names that do not agree are unreadable. Those without a link stay."""
    by_id: dict[str, list[Card]] = {}
    for card in cards:
        by_id.setdefault(card.id, []).append(card)
    joined = by_id.pop("", [])
    for same in by_id.values():
        if len({card.stored_url for card in same}) > 1:
            raise Refused("two different files have one id")
        names = [card.name for card in same if card.name]
        agree = all(names_agree(*two, may_be_cut=False) for two in combinations(names, 2))
        files = {page_of(card.detail_url) for card in same if card.detail_url}
        if not agree or len(files) > 1:
            other = "file page" if agree else "name"
            reason = f"another card with another {other} has the same link"
            for card in same:  # the link is nobody's
                reading.unreadable.append(card.skipped("url", reason)._replace(id=None))
            continue
        first, *others = same
        for card in others:
            for name in ("name", "stamp", "says_found", "detail_url"):
                setattr(first, name, getattr(first, name) or getattr(card, name))
            first.texts = {way: text or card.texts[way] for way, text in first.texts.items()}
        joined.append(first)
    return joined


def read_record(reading: Reading, record: Record) -> None:
    """Read one record into its list of `reading`. A fault costs this record only."""
    card = record.card
    try:
        with time_limit(PAGE_SECONDS):
            person = read_person(record)
            text = text_of(record.document.root) if record.document else ""
        reading.persons[person.id] = person._replace(foto=https(person.foto))
        if not record.profile.means_no_photo(person.foto):
            reading.photos[person.id] = person.foto
        reading.found_on_cards += card.says_found
        reading.found_on_files += says_found(text)
    except Refused:
        raise
    except RecordError as error:
        getattr(reading, error.kind).append(card.skipped(*error.args))
    except Exception as error:  # an unforeseen one may quote the page: only its type is kept
        reason = str(error) if isinstance(error, PageError) else type(error).__name__
        reading.unreadable.append(card.skipped("record", reason))
