"""One reading of a whole register.

Profile --read_list--> cards --join_cards--> a card for each file --read_record--> Reading
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from itertools import pairwise

from model import Reading, ids_of
from names import is_cut, name_key, names_agree
from scrape.address import bare, https, page_of
from scrape.cards import Card, RunContext, says_found
from scrape.document import text_of
from scrape.fetch import PAGE_SECONDS, Fetcher, PageError, Refused, time_limit
from scrape.paging import read_list
from scrape.record import Record, RecordError, read_fields, read_person
from scrape.ways import profile_parts


def read_register(
    fetcher: Fetcher, progress: Callable[[str], None], stored_ids: AbstractSet[str] = frozenset()
) -> Reading:
    """Read the whole register. Main thread only, because of the time limits.

    `progress` gets each line for the terminal; a list without one of `stored_ids` is read again.
    Refused where the list cannot be read whole, or robots.txt cannot be fetched."""
    context = RunContext(fetcher, progress)
    cards = read_list(context, stored_ids)
    reading = Reading(
        seen=context.seen,
        card_count=len({card.key for card in cards}),
        page_count=context.page_number,
        placeholder=https(fetcher.profile.placeholder or ""),
        start=" ".join(fetcher.profile.start),
    )
    joined = join_cards(cards, reading, stored_ids)
    linked = [card for card in joined if card.id]
    context.cards_per_file.update(page_of(card.detail_url) for card in linked if card.detail_url)
    context.cards_per_name.update(name_key(card.name) for card in linked if card.name)
    for count, card in enumerate(joined, 1):
        progress(f"person {count} of {len(joined)}")
        fetcher.check_time()
        record = Record(card, context)
        kind = read_record(reading, record)
        if card.id and kind == "stamped" and context.cards_per_name[name_key(card.name or "")] > 1:
            read_stamped(reading, record)
    withdraw(reading, joined, context)
    reading.parts = profile_parts(fetcher.profile, context.usage)
    return reading


def join_cards(
    cards: list[Card], reading: Reading, stored_ids: AbstractSet[str] = frozenset()
) -> list[Card]:
    """One card for each file: what one lacks, the others fill in, and a stamp on any counts. A
    stored id wins over that of an address with another slash or `www.`. Cards of one file and names
    that do not agree are unreadable. Those without a link stay."""
    if len({card.id for card in cards}) < len({card.stored_url for card in cards}):
        raise Refused("two different files have one id")
    by_file: dict[str, list[Card]] = {}
    for card in cards:
        by_file.setdefault(bare(card.stored_url), []).append(card)
    joined = by_file.pop("", [])
    for same in by_file.values():
        agree = all_agree([card.name for card in same if card.name])
        files = {page_of(card.detail_url) for card in same if card.detail_url}
        if not agree or len(files) > 1:
            other = "file page" if agree else "name"
            reason = f"another card with another {other} has the same link"
            for card in same:  # the link is nobody's
                reading.unreadable.append(card.skipped("url", reason)._replace(id=None))
            continue
        first, *others = sorted(same, key=lambda card: card.id not in stored_ids)
        for card in others:
            for name in ("name", "stamp", "says_found", "detail_url"):
                setattr(first, name, getattr(first, name) or getattr(card, name))
            first.texts = {way: t or card.texts.get(way, "") for way, t in first.texts.items()}
            if card.id != first.id:
                reading.doubles[card.id] = first.id
        joined.append(first)
    return joined


def all_agree(names: list[str]) -> bool:
    """Whether each two of `names` agree. Sorted, it is enough that each agrees with the next and
    with the longest: a hostile list may have 100,000 cards of one file."""
    names = sorted(names, key=lambda name: (len(name_key(name)), not is_cut(name)))
    pairs = [*pairwise(names), *((name, names[-1]) for name in names)]
    return all(names_agree(*pair, at_least=1) for pair in pairs)


def read_record(reading: Reading, record: Record) -> str:
    """Read one record into a list of `reading`, whose name is returned. A fault costs this record
    only."""
    card, kind = record.card, "persons"
    try:
        with time_limit(PAGE_SECONDS):
            person = read_person(record)
        reading.persons[person.id] = person._replace(foto=https(person.foto))
        if not record.profile.means_no_photo(person.foto):
            reading.photos[person.id] = person.foto
    except Refused:
        raise
    except RecordError as error:
        kind = error.kind
        getattr(reading, kind).append(card.skipped(*error.args))
    except Exception as error:  # an unforeseen one may quote the page: only its type is kept
        kind = "unreadable"
        reason = str(error) if isinstance(error, PageError) else type(error).__name__
        reading.unreadable.append(card.skipped("record", reason))
    if kind in ("persons", "unreadable"):
        if card.says_found:
            reading.found_on_cards.add(card.id)
        if record.document and says_found(text_of(record.document.root)):
            reading.found_on_files.add(card.id)
    return kind


def read_stamped(reading: Reading, record: Record) -> None:
    """Read a stamped card all the same, if that is possible: a second card of the child may have
    no stamp."""
    try:
        with time_limit(PAGE_SECONDS):
            person = read_fields(record)
    except Refused:
        raise
    except Exception:
        return
    reading.stamped_persons[person.id] = person._replace(foto=https(person.foto))


def withdraw(reading: Reading, cards: list[Card], context: RunContext) -> None:
    """Make unreadable what file pages cannot say: a redirect led two cards to one page; or one page
    is at the addresses of cards without one name, or at three addresses (a cache, a login)."""
    reasons = dict.fromkeys(context.disputed, "a redirect led to it and to that of another card")
    for same in context.bodies.values():
        names = {name_key(name or id) for id, name in same.items()}
        if len(same) > 2 or len(names) > 1:
            reasons |= dict.fromkeys(same, f"{len(same)} file pages are the same")
    lists = (reading.stamped, reading.excluded, reading.several)
    withdrawn = reasons.keys() & {*reading.persons}.union(*map(ids_of, lists))
    for records in lists:
        records[:] = [record for record in records if record.id not in withdrawn]
    for card in cards:
        if card.id in withdrawn:
            reading.persons.pop(card.id, None)
            reading.photos.pop(card.id, None)  # it may be another child's
            reading.unreadable.append(card.skipped("file page", reasons[card.id]))
