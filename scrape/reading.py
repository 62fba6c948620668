"""One reading of a whole register.

    Profile --read_list--> cards --add_record, one after the other--> Reading

All list pages are read before the first file page.
"""

from collections.abc import Callable
from datetime import date
from functools import cache, partial
from pathlib import Path

from person import Reading, Unreadable
from scrape.fetch import PAGE_SECONDS, Fetcher, PageError, Refused, time_limit
from scrape.pages import ListReader, read_list
from scrape.profile import Profile
from scrape.record import Record, RecordError, classify_record, fetch_file_page
from scrape.ways import Usage, unused


def read_register(
    profile: Profile,
    contact: str | None,
    progress: Callable[[str], None],
    save: Path | None = None,
) -> Reading:
    """Read the whole register. Main thread only, because of the time limits.

    `contact`, a mail or https address, goes into the User-Agent; `progress` is called with each
    line for the terminal; `save` is a folder to keep the pages in. Refused where a list page or
    robots.txt cannot be read; a file page that cannot be read makes its record unreadable."""
    today = date.today()
    usage = Usage()
    fetcher = Fetcher(profile, contact, save)
    reading = Reading()
    cards = read_list(ListReader(profile, fetcher, usage), reading, progress)
    for count, card in enumerate(cards.values(), 1):
        progress(f"person {count} of {len(cards)}")
        fetcher.check_time()
        file_page = cache(partial(fetch_file_page, card.link, fetcher))
        add_record(reading, Record(card, file_page, profile, usage, today))
    reading.unused = unused(profile, usage)
    return reading


def add_record(reading: Reading, record: Record) -> None:
    """Read one record into `reading`. A fault costs this record only."""
    card = record.card
    try:
        with time_limit(PAGE_SECONDS):
            classify_record(reading, record)
    except Refused:
        raise
    except RecordError as error:
        reading.unreadable.append(Unreadable(card.id, card.page, card.number, *error.args))
    except Exception as error:  # an unforeseen one may quote the page: only its type is kept
        reason = str(error) if isinstance(error, PageError) else type(error).__name__
        reading.unreadable.append(Unreadable(card.id, card.page, card.number, "record", reason))
