"""The stored persons: what a run compares with, and the swap of the list.

SQLite --read_stored--> Stored --rules/--> Changes --write_changes--> SQLite
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping

from model import Changes, Person, Stored
from names import region_of
from store.database import utc_now
from store.photos import delete_photos


def read_stored(db: sqlite3.Connection) -> Stored:
    """What a reading of the register is compared with."""
    last_good = db.execute(
        "SELECT julianday('now') - julianday(ended), coalesce(matched_parts, ''),"
        " coalesce(start, '') FROM run WHERE outcome = 'ok' AND NOT restored"
        " ORDER BY id DESC LIMIT 1"
    ).fetchone()
    days, matched, start = last_good or (None, "", "")
    left_lately = db.execute(  # a forced run, which is good for a reason, begins anew
        "SELECT id FROM found WHERE since > max(:week_ago, (SELECT coalesce(max(ended), '')"
        " FROM run WHERE outcome = 'ok' AND reason IS NOT NULL))",
        {"week_ago": utc_now(days_ago=7)},
    )
    expired = db.execute("SELECT id FROM unread WHERE since < ?", [utc_now(days_ago=14)])
    return Stored(
        persons=stored_persons(db),
        former=dict(db.execute("SELECT id, person FROM former")),
        stamped=dict(db.execute("SELECT id, name FROM stamped")),
        key=hash_key(db),
        expired={id for (id,) in expired},
        left_lately={id for (id,) in left_lately},
        days_since_good=days,
        matched_parts=set(matched.split()),
        start=start,
    )


def hash_key(db: sqlite3.Connection) -> bytes:
    return bytes(db.execute("SELECT key FROM secret").fetchone()[0])


def write_changes(db: sqlite3.Connection, changes: Changes) -> None:
    """Write what was decided. The caller has begun a transaction."""
    now = utc_now()
    db.execute("UPDATE found SET since = NULL WHERE since < ?", [utc_now(days_ago=7)])
    found = [(id, now) for id in changes.found]
    db.executemany("INSERT OR REPLACE INTO found VALUES (?, ?)", found)
    db.executemany("DELETE FROM found WHERE id = ?", [(id,) for id in changes.relisted])
    db.execute("DELETE FROM stamped")
    db.executemany("INSERT INTO stamped VALUES (?, ?)", changes.stamped.items())
    unread = json.dumps([*changes.unread])
    db.execute("DELETE FROM unread WHERE id NOT IN (SELECT value FROM json_each(?))", [unread])
    db.execute("INSERT OR IGNORE INTO unread SELECT value, ? FROM json_each(?)", [now, unread])
    move(db, changes.moved)
    write_persons(db, changes.persons.values())
    db.execute("DELETE FROM former")
    there = {None, *changes.persons, *changes.stamped, *changes.unread}
    former = [(id, to) for id, to in changes.former.items() if to in there]
    db.executemany("INSERT INTO former VALUES (?, ?)", former)


def move(db: sqlite3.Connection, moved: Mapping[str, str]) -> None:
    """Take views and photo along to a new id: by way of a third one, since an id may be both left
    and taken."""
    away = [(f">{new}", old) for old, new in moved.items()]
    db.executemany("UPDATE person_views SET person = ? WHERE person = ?", away)
    db.executemany("UPDATE photo SET person = ? WHERE person = ?", away)
    db.execute(
        "INSERT INTO person_views SELECT substr(person, 2), views FROM person_views"
        " WHERE person LIKE '>%' ON CONFLICT DO UPDATE SET views = views + excluded.views"
    )
    db.execute("DELETE FROM person_views WHERE person LIKE '>%'")
    # The one in its place is of another child, and goes.
    db.execute("UPDATE OR REPLACE photo SET person = substr(person, 2) WHERE person LIKE '>%'")


def stored_persons(db: sqlite3.Connection) -> dict[str, Person]:
    """The active persons by id."""
    rows = db.execute("SELECT id, nombre, fecha, edad, lugar, foto, url FROM person")
    return {row[0]: Person(*row) for row in rows}


def write_persons(db: sqlite3.Connection, persons: Iterable[Person]) -> None:
    """Replace the active persons, in the order of the API: newest date first, then id."""
    # The positions are 1, 2, 3 ... without a gap: app.py draws one, and the last is the count.
    ordered = sorted(persons, key=lambda person: person.id)
    ordered.sort(key=lambda p: p.fecha[6:] + p.fecha[3:5] + p.fecha[:2], reverse=True)
    db.execute("DELETE FROM person")
    db.executemany(
        "INSERT INTO person (position, id, nombre, fecha, edad, lugar, foto, url, region)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((n, *person, region_of(person.lugar)) for n, person in enumerate(ordered, 1)),
    )
    delete_photos(db)
