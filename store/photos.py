"""The photos that the service keeps, so that no visitor's browser asks the register for one.

    due_photos: who is stored -> addresses --scrape/images.py--> JPEG --store_photo--> SQLite

One whose person leaves, or gets another name, date or address, is deleted by the swap itself
(persons.py, write_persons).
"""

import sqlite3
from collections.abc import Mapping

from store.database import transaction, utc_now

RUNS = 7  # in which each photo is asked for again


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


def store_photo(db: sqlite3.Connection, id: str, jpeg: bytes | None) -> None:
    """Keep a photo, if its person is still stored: one may have been hidden meanwhile. None: the
    register has none any more; b"": that is not known now."""
    with transaction(db):
        if jpeg is None:
            db.execute("DELETE FROM photo WHERE person = ?", [id])
        elif jpeg:
            db.execute(
                "INSERT OR REPLACE INTO photo (person, nombre, fecha, foto, checked, jpeg)"
                " SELECT id, nombre, fecha, foto, ?, ? FROM person WHERE id = ?",
                [utc_now(), jpeg, id],
            )
        db.execute("UPDATE photo SET checked = ? WHERE person = ?", [utc_now(), id])
