"""The photos that the service keeps, so that no visitor's browser asks the register for one.

    due_photos: who is stored -> ids --scrape/images.py--> digest, JPEG --store_photo--> SQLite

A picture that children share who may not is kept for none of them: their rows stay without it.
A photo goes with its person: the swap deletes those whose person has left, or has another name,
date or address.
"""

import sqlite3
from collections.abc import Container

from names import name_words
from store.database import transaction

RUNS = 7  # in which each photo is asked for again

Children = set[tuple[str, str]]  # name and date


def due_photos(db: sqlite3.Connection, ids: Container[str]) -> list[str]:
    """Who of `ids` was asked for RUNS good runs ago, then who has no photo, in random order: if
    one run cannot fetch them all, the next one begins elsewhere."""
    rows = db.execute(
        "SELECT id FROM person LEFT JOIN photo ON photo.person = id"
        " WHERE asked IS NULL OR asked <= (SELECT count FROM good_runs) - ?"
        " ORDER BY asked IS NULL, asked, random()",
        [RUNS],
    )
    return [id for (id,) in rows if id in ids]


def store_photo(
    db: sqlite3.Connection, id: str, digest: str | None, jpeg: bytes | None, others: Children
) -> None:
    """Keep what fetch_photos() gave, if its person is still stored: one may have been hidden
    meanwhile. `others` are listed with the same address."""
    with transaction(db):
        if digest is None:
            db.execute("UPDATE photo SET asked = count FROM good_runs WHERE person = ?", [id])
        elif digest == "":
            db.execute("DELETE FROM photo WHERE person = ?", [id])
        else:
            db.execute(  # a new one as if asked for in one of the last runs: so they spread
                "INSERT INTO photo SELECT id, nombre, fecha, foto,"
                " count + 1 - :runs + (SELECT count(*) FROM photo) % :runs, :digest, :jpeg"
                " FROM person, good_runs WHERE id = :id ON CONFLICT DO UPDATE SET digest = :digest,"
                " jpeg = :jpeg, asked = (SELECT count FROM good_runs)",
                {"runs": RUNS, "digest": digest, "jpeg": jpeg, "id": id},
            )
            same = db.execute("SELECT nombre, fecha FROM photo WHERE digest = ?", [digest])
            if not may_share({*others, *same}):
                erase = "UPDATE photo SET jpeg = NULL WHERE digest = ? AND jpeg IS NOT NULL"
                db.execute(erase, [digest])


def may_share(children: Children) -> bool:
    """Whether children can be on one picture: they went missing on one day and have a word of
    their names in common."""
    words = [set(name_words(name)) for name, _ in children]
    one_day = len({date for _, date in children}) == 1
    return len(children) < 2 or (one_day and bool(set.intersection(*words)))


def count_refused(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM photo WHERE jpeg IS NULL").fetchone()[0])


def delete_photos(db: sqlite3.Connection, of_strangers_only: bool = True) -> None:
    """Delete the photos of whoever is no longer stored with this name, date and address; or all."""
    stored = "SELECT id, nombre, fecha, foto FROM person"
    only = f" WHERE (person, nombre, fecha, foto) NOT IN ({stored})" if of_strangers_only else ""
    db.execute(f"DELETE FROM photo{only}")  # noqa: S608
