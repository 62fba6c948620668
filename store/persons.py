"""The stored persons: what a run compares with, and the swap of the list.

SQLite --read_stored--> Stored --rules/--> Changes --write_changes--> SQLite
"""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from model import Changes, Person, Reading, Stored, ids_of
from names import region_of
from store.database import utc_now


def read_stored(db: sqlite3.Connection) -> Stored:
    """What a reading of the register is compared with."""

    def select_ids(sql: str, *values: str) -> set[str]:
        return {id for (id,) in db.execute(sql, values)}

    last_good = db.execute(
        "SELECT julianday('now') - julianday(ended), coalesce(matched_parts, '') FROM run"
        " WHERE outcome = 'ok' ORDER BY id DESC LIMIT 1"
    ).fetchone()
    days, matched = last_good or (None, "")
    ((longest_list,),) = db.execute(
        "SELECT coalesce(max(cards), 0) FROM run WHERE outcome = 'ok' AND ended > ?"
        " AND id >= (SELECT coalesce(max(id), 0) FROM run WHERE outcome = 'ok' AND reason <> '')",
        [utc_now(days_ago=7)],
    )
    return Stored(
        persons=stored_persons(db),
        stamped=select_ids("SELECT id FROM stamped"),
        expired=select_ids("SELECT id FROM unread WHERE since < ?", utc_now(days_ago=14)),
        longest_list=longest_list,
        days_since_good=days,
        matched_parts=set(matched.split()),
    )


def write_changes(db: sqlite3.Connection, reading: Reading, changes: Changes) -> None:
    """Write what was decided. The caller has begun a transaction."""

    def for_each(sql: str, values: Iterable[Any]) -> None:
        db.executemany(sql, ((value,) for value in values))

    for_each("DELETE FROM found WHERE id = ?", changes.listed)
    for_each("INSERT OR IGNORE INTO found VALUES (?)", changes.found)
    for_each("DELETE FROM stamped WHERE id = ?", (person.id for person in changes.persons))
    for_each("INSERT OR IGNORE INTO stamped VALUES (?)", ids_of(reading.stamped))
    sql = "DELETE FROM unread WHERE id NOT IN (SELECT value FROM json_each(?))"
    db.execute(sql, [json.dumps([*changes.unread])])
    since = utc_now()
    rows = ((id, since) for id in changes.unread)
    db.executemany("INSERT OR IGNORE INTO unread VALUES (?, ?)", rows)
    for old, new in changes.moved.items():
        db.execute(
            "INSERT INTO person_views SELECT ?, views FROM person_views WHERE person = ?"
            " ON CONFLICT DO UPDATE SET views = views + excluded.views",
            [new, old],
        )
        db.execute("DELETE FROM person_views WHERE person = ?", [old])
        db.execute("UPDATE photo SET person = ? WHERE person = ?", [new, old])
    write_persons(db, changes.persons)


def stored_persons(db: sqlite3.Connection) -> dict[str, Person]:
    """The active persons by id."""
    rows = db.execute("SELECT id, nombre, fecha, edad, lugar, foto, url FROM person")
    return {row[0]: Person(*row) for row in rows}


def write_persons(db: sqlite3.Connection, persons: Iterable[Person]) -> None:
    """Replace the active persons, in the order of the API: newest date first, then id."""
    ordered = sorted(persons, key=lambda person: person.id)
    ordered.sort(key=lambda p: p.fecha[6:] + p.fecha[3:5] + p.fecha[:2], reverse=True)
    db.execute("DELETE FROM person")
    db.executemany(
        "INSERT INTO person (position, id, nombre, fecha, edad, lugar, foto, url, region)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((n, *person, region_of(person.lugar)) for n, person in enumerate(ordered, 1)),
    )
    db.execute(
        "DELETE FROM photo WHERE (person, nombre, fecha, foto) NOT IN"
        " (SELECT id, nombre, fecha, foto FROM person)"
    )
