"""The photos that the service keeps, so that no visitor's browser asks the register for one.

    persons just stored --due_photos--> addresses --fetch_photos--> JPEG --store_photo--> SQLite

They are fetched after the list is swapped, so a removal never waits for one. One whose person
leaves, or gets another address, is deleted by the swap itself (store.py, write_persons).
"""

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping

from scrape.fetch import Fetcher
from scrape.images import fetch_photos
from store import transaction, utc_now

RUNS = 7  # in which each photo is asked for again
LOGGED = 5  # so many kinds of faults

log = logging.getLogger("persona404.photos")


def keep_photos(
    db: sqlite3.Connection,
    fetcher: Fetcher,
    addresses: Mapping[str, str],
    progress: Callable[[str], None],
) -> None:
    """Fetch the photos that are missing and a part of the others. `addresses` are those on the
    register tonight, by id, as they are fetched."""
    due, asked, faults = due_photos(db, addresses), 0, Counter[str]()
    for id, jpeg in fetch_photos(fetcher, due, addresses.values(), progress, faults):
        asked += 1
        with transaction(db):
            if jpeg:
                store_photo(db, id, jpeg)
            elif jpeg is None:
                db.execute("DELETE FROM photo WHERE person = ?", [id])
            else:
                db.execute("UPDATE photo SET checked = ? WHERE person = ?", [utc_now(), id])
    for fault, number in faults.most_common(LOGGED):
        log.warning("photos: %d failed: %s", number, fault)
    log.info("photos: %d of %d asked for, %d failed", asked, len(due), faults.total())


def due_photos(db: sqlite3.Connection, addresses: Mapping[str, str]) -> dict[str, str]:
    """The addresses of those that were asked for longest ago, then of all that are missing, by id;
    in random order: if one run cannot fetch them all, the next ones begin elsewhere."""
    rows = db.execute(
        "SELECT id, checked IS NULL FROM person LEFT JOIN photo ON photo.person = id"
        " ORDER BY checked, random()"
    )
    listed = [row for row in rows if row[0] in addresses]
    missing = [id for id, is_missing in listed if is_missing]
    kept = [id for id, is_missing in listed if not is_missing]
    return {id: addresses[id] for id in kept[: -(-len(kept) // RUNS)] + missing}


def store_photo(db: sqlite3.Connection, id: str, jpeg: bytes) -> None:
    """Keep a photo, if its person is still stored: it may have been hidden meanwhile."""
    db.execute(
        "INSERT OR REPLACE INTO photo (person, nombre, fecha, foto, checked, jpeg)"
        " SELECT id, nombre, fecha, foto, ?, ? FROM person WHERE id = ?",
        [utc_now(), jpeg, id],
    )
