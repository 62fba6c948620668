"""The photos that the service keeps, so that no visitor's browser asks the register for one.

    persons just stored --due_photos--> addresses --Fetcher.get_photo--> photo_of --> SQLite

They are fetched after the list is swapped, so a removal never waits for one, and what goes wrong
with a photo costs that photo alone. One whose person leaves, or gets another address, is deleted
by the swap itself (store.py, write_persons).
"""

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

from person import MANY
from scrape.address import https
from scrape.fetch import PAGE_SECONDS, Fetcher, PageError, Refused, time_limit
from scrape.photo import photo_of
from store import transaction, utc_now

NIGHTS = 7  # in which each photo is asked for again
TRIED = 10  # so many by a dry run

log = logging.getLogger("persona404.photos")


class Due(NamedTuple):
    """A photo to ask the register for."""

    id: str
    foto: str  # its address, as it is stored
    etag: str
    modified: str


def keep_photos(
    db: sqlite3.Connection,
    fetcher: Fetcher,
    addresses: Mapping[str, str],
    progress: Callable[[str], None],
) -> None:
    """Fetch the photos that are missing and a part of the others. `addresses` are those on the
    register tonight, by id, as they are fetched."""
    due, faults = due_photos(db, addresses), Counter[str]()
    unanswered = 0  # in a row
    for count, photo in enumerate(due, 1):
        if unanswered == MANY:
            log.warning("photos: %d in a row were not answered; the rest waits", MANY)
            break
        progress(f"photo {count} of {len(due)}")
        unanswered += 1
        try:
            with time_limit(PAGE_SECONDS):
                page = fetcher.get_photo(addresses[photo.id], photo.etag, photo.modified)
                unanswered = 0
                jpeg = None if page.status == 304 else photo_of(page.body)
            store_photo(db, photo._replace(etag=page.etag, modified=page.modified), jpeg)
        except (PageError, Refused) as error:
            faults[str(error)] += 1
            is_gone = getattr(error, "status", 0) in (404, 410)
            unanswered *= not is_gone
            put_off(db, photo, forget=is_gone)
    log.info("photos: %d due, %d not kept", len(due), faults.total())
    for fault, count in faults.most_common(MANY):
        log.warning("photos: %d not kept: %s", count, fault)


def due_photos(db: sqlite3.Connection, addresses: Mapping[str, str]) -> list[Due]:
    """All that are missing, then those of the others that were asked for longest ago."""
    rows = db.execute(
        "SELECT checked, id, person.foto, coalesce(etag, ''), coalesce(modified, '')"
        " FROM person LEFT JOIN photo ON photo.person = id ORDER BY checked, id"
    ).fetchall()
    rows = [row for row in rows if https(addresses.get(row[1], "")) == row[2]]
    missing = sum(checked is None for checked, *_ in rows)
    again = -(-(len(rows) - missing) // NIGHTS)
    return [Due(*row) for _, *row in rows[: missing + again]]


def store_photo(db: sqlite3.Connection, photo: Due, jpeg: bytes | None) -> None:
    """Keep a photo if its person is still stored with it; without `jpeg` the one that is kept."""
    with transaction(db):
        db.execute(
            "INSERT INTO photo SELECT id, foto, :now, :etag, :modified, :jpeg FROM person"
            " WHERE id = :id AND foto = :foto AND :jpeg IS NOT NULL"
            " ON CONFLICT DO UPDATE SET jpeg = excluded.jpeg, etag = excluded.etag,"
            " modified = excluded.modified",
            {**photo._asdict(), "now": utc_now(), "jpeg": jpeg},
        )
        db.execute("UPDATE photo SET checked = ? WHERE person = ?", [utc_now(), photo.id])


def put_off(db: sqlite3.Connection, photo: Due, forget: bool) -> None:
    """A photo that cannot be had waits for its next turn; one that is gone is forgotten."""
    with transaction(db):
        db.execute("DELETE FROM photo WHERE person = ? AND ?", [photo.id, forget])
        db.execute("UPDATE photo SET checked = ? WHERE person = ?", [utc_now(), photo.id])


def try_photos(fetcher: Fetcher, addresses: Mapping[str, str]) -> str:
    """How many photos could be kept, by the first TRIED of them."""
    faults: Counter[str] = Counter()
    tried = dict(islice(addresses.items(), TRIED))
    for address in tried.values():
        try:
            with time_limit(PAGE_SECONDS):
                photo_of(fetcher.get_photo(address).body)
        except (PageError, Refused) as error:
            faults[str(error)] += 1
    reasons = "".join(f"; {count} {fault}" for fault, count in faults.most_common())
    kept = len(tried) - faults.total()
    return f"{len(addresses)} persons have one; of {len(tried)} tried, {kept} can be kept{reasons}"
