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

from model import MANY
from scrape.address import https
from scrape.fetch import PAGE_SECONDS, Fetcher, NoAnswer, Page, PageError, Refused, time_limit
from scrape.photo import NoPhoto, photo_of
from store.database import transaction, utc_now

RUNS = 7  # in which each photo is asked for again
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
    count = unanswered = 0  # the latter in a row
    for count, photo in enumerate(due, 1):
        progress(f"photo {count} of {len(due)}")
        waits = ""
        try:
            page, jpeg = fetch_photo(fetcher, addresses[photo.id], photo.etag, photo.modified)
            unanswered = 0
            if page.url != addresses[photo.id] and page.url in addresses.values():
                raise NoPhoto("it leads to another child's")
            if jpeg is not None:
                store_photo(db, photo._replace(etag=page.etag, modified=page.modified), jpeg)
        except NoPhoto as error:
            faults[str(error)] += 1
            with transaction(db):
                db.execute("DELETE FROM photo WHERE person = ?", [photo.id])
        except PageError as error:
            faults[str(error)] += 1
            unanswered = unanswered + 1 if isinstance(error, NoAnswer) else 0
            waits = f"{MANY} in a row were not answered" if unanswered == MANY else ""
        except Refused as error:
            waits = str(error)
        with transaction(db):
            db.execute("UPDATE photo SET checked = ? WHERE person = ?", [utc_now(), photo.id])
        if waits:
            log.warning("photos: the rest waits: %s", waits)
            break
    for fault, number in faults.most_common(MANY):
        log.warning("photos: %d failed: %s", number, fault)
    log.info("photos: %d of %d asked for, %d failed", count, len(due), faults.total())


def fetch_photo(
    fetcher: Fetcher, address: str, etag: str = "", modified: str = ""
) -> tuple[Page, bytes | None]:
    """The register's answer and the photo to keep, None if it is unchanged. NoPhoto where there is
    none any more; PageError and Refused as Fetcher.get_photo()."""
    try:
        with time_limit(PAGE_SECONDS):
            page = fetcher.get_photo(address, etag, modified)
            if fetcher.profile.means_no_photo(page.url):
                raise NoPhoto("it leads to the register's image for no photo")
            return page, None if page.status == 304 else photo_of(page.body)
    except PageError as error:
        if error.status in (404, 410):
            raise NoPhoto(str(error)) from None
        raise
    except Refused:
        raise
    except Exception as error:  # an unforeseen one costs this photo only
        raise PageError(type(error).__name__) from None


def due_photos(db: sqlite3.Connection, addresses: Mapping[str, str]) -> list[Due]:
    """Those that were asked for longest ago, then all that are missing, in random order: if one
    run cannot have them all, the next ones begin elsewhere."""
    rows = db.execute(
        "SELECT checked IS NULL, id, person.foto, coalesce(etag, ''), coalesce(modified, '')"
        " FROM person LEFT JOIN photo ON photo.person = id ORDER BY checked, random()"
    ).fetchall()
    rows = [row for row in rows if https(addresses.get(row[1], "")) == row[2]]
    missing = [Due(*row) for is_missing, *row in rows if is_missing]
    kept = [Due(*row) for is_missing, *row in rows if not is_missing]
    return kept[: -(-len(kept) // RUNS)] + missing


def store_photo(db: sqlite3.Connection, photo: Due, jpeg: bytes) -> None:
    """Keep a photo, if its person is still stored with it."""
    with transaction(db):
        db.execute(
            "INSERT OR REPLACE INTO photo"
            " (person, nombre, fecha, foto, checked, etag, modified, jpeg)"
            " SELECT id, nombre, fecha, foto, :now, :etag, :modified, :jpeg"
            " FROM person WHERE id = :id AND foto = :foto",
            {**photo._asdict(), "now": utc_now(), "jpeg": jpeg},
        )


def try_photos(fetcher: Fetcher, addresses: Mapping[str, str]) -> str:
    """How many photos could be kept, by the first TRIED of them."""
    kept, faults = 0, Counter[str]()
    for address in islice(addresses.values(), TRIED):
        try:
            fetch_photo(fetcher, address)
            kept += 1
        except PageError as error:
            faults[str(error)] += 1
        except Refused as error:
            faults[str(error)] += 1
            break
    tried = kept + faults.total()
    reasons = "".join(f"; {count} {fault}" for fault, count in faults.most_common())
    return f"{len(addresses)} persons have one; of {tried} tried, {kept} can be kept{reasons}"
