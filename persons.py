"""What sync.py reads and writes of persons in SQLite: for a run, and for --hide and --who.

SQLite --read_stored--> Stored --compare (changes.py)--> Changes --write_changes--> SQLite
"""

import json
import re
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import store
from changes import Changes
from hidden import name_mark, photo_marks
from person import Reading, Stored, comparable, ids, person_id
from scrape.address import absolute, https, stored_address
from settings import SettingError


def read_stored(db: sqlite3.Connection) -> Stored:
    """What a reading of the register is compared with."""

    def select(sql: str, *values: object) -> list[Any]:
        return db.execute(sql, values).fetchall()

    since_force = "(SELECT coalesce(max(id), 0) FROM run WHERE reason LIKE 'forced%')"
    longest = (
        "SELECT coalesce(max(cards), 0) FROM run WHERE outcome = 'ok' AND ended > ? AND id >= "
    )
    last_good = select(
        "SELECT julianday('now') - julianday(ended), coalesce(matched, '') FROM run"
        " WHERE outcome = 'ok' ORDER BY id DESC LIMIT 1"
    )
    days, matched = last_good[0] if last_good else (None, "")
    expired = select("SELECT id FROM unread WHERE since < ?", store.utc_now(days_ago=14))
    return Stored(
        persons=store.stored_persons(db),
        hidden={id: bool(listed) for id, listed in select("SELECT id, listed FROM hidden")},
        marks=dict(select("SELECT mark, id FROM hidden_mark")),
        key=hash_key(db),
        stamped={id for (id,) in select("SELECT id FROM stamped")},
        expired={id for (id,) in expired},
        longest=select(longest + since_force, store.utc_now(days_ago=7))[0][0],
        days=days,
        matched=set(matched.split()),
    )


def hash_key(db: sqlite3.Connection) -> bytes:
    key: bytes = db.execute("SELECT key FROM secret").fetchone()[0]
    return key


def write_changes(
    db: sqlite3.Connection, reading: Reading, changes: Changes, marks: Mapping[str, str]
) -> None:
    """Write what compare() found, and the renewed `marks` of the hidden children, in the caller's
    transaction."""

    def for_each(sql: str, values: Iterable[Any]) -> None:
        db.executemany(sql, ((value,) for value in values))

    for_each("DELETE FROM found WHERE id = ?", changes.listed)
    for_each("INSERT OR IGNORE INTO found VALUES (?)", changes.found)
    for_each("DELETE FROM stamped WHERE id = ?", (person.id for person in changes.persons))
    for_each("INSERT OR IGNORE INTO stamped VALUES (?)", ids(reading.stamped))
    sql = "DELETE FROM unread WHERE id NOT IN (SELECT value FROM json_each(?))"
    db.execute(sql, [json.dumps([*changes.unread])])
    since = store.utc_now()
    rows = ((id, since) for id in changes.unread)
    db.executemany("INSERT OR IGNORE INTO unread VALUES (?, ?)", rows)
    for old, new in changes.moved.items():
        db.execute(
            "INSERT INTO person_views SELECT ?, views FROM person_views WHERE person = ?"
            " ON CONFLICT DO UPDATE SET views = views + excluded.views",
            [new, old],
        )
        db.execute("DELETE FROM person_views WHERE person = ?", [old])
    if changes.added:
        db.execute("UPDATE hidden SET listed = 0")
    for_each("UPDATE hidden SET listed = 1 WHERE id = ?", set(changes.hidden.values()))
    for_each("DELETE FROM hidden_mark WHERE id = ? AND mark NOT LIKE '%-%'", set(marks.values()))
    db.executemany("INSERT OR REPLACE INTO hidden_mark VALUES (?, ?)", marks.items())
    store.write_persons(db, changes.persons)


def hide(who: str, register: str, database: Path) -> None:
    """Take a person off the list at once and for good. `who` is an id or the file's address. Needs
    no run lock: a swap reads who is hidden in its own transaction."""
    given = ids_of(who, register)
    with store.open_database(database, busy_seconds=60) as db:
        store.check_register(db, register)
        with store.transaction(db):
            persons, key = store.stored_persons(db), hash_key(db)
            listed = [person for person in persons.values() if person.id in given]
            marks = set(given)
            photos = photo_marks(key, persons.values(), placeholder="")
            for person in listed:
                marks |= {person.id, name_mark(key, person) or "", photos.get(person.id, "")}
                del persons[person.id]
            id = listed[0].id if listed else given[0]
            db.execute("INSERT OR REPLACE INTO hidden VALUES (?, ?)", [id, bool(listed)])
            rows = [(mark, id) for mark in marks if mark]
            db.executemany("INSERT OR REPLACE INTO hidden_mark VALUES (?, ?)", rows)
            db.executemany("DELETE FROM found WHERE id = ?", [(mark,) for mark, _ in rows])
            store.write_persons(db, persons.values())
        store.empty_wal(db)
    was = "on the list and is off it" if listed else "NOT on the list: is the id or address right?"
    print(f"{database}: {id} is hidden from now on; the person was {was}")


def unhide(who: str, register: str, database: Path) -> None:
    """Let the next synchronisation bring a hidden person back."""
    given = ids_of(who, register)
    with store.open_database(database, busy_seconds=60) as db:
        store.check_register(db, register)
        with store.transaction(db):
            sql = "SELECT id FROM hidden_mark WHERE mark IN (SELECT value FROM json_each(?))"
            hidden = db.execute(sql, [json.dumps(given)]).fetchall()
            db.executemany("DELETE FROM hidden WHERE id = ?", hidden)
            db.executemany("DELETE FROM hidden_mark WHERE id = ?", hidden)
    print(f"{database}: {given[0]} {'is no longer' if hidden else 'was not'} hidden")


def ids_of(who: str, register: str) -> list[str]:
    """The ids that an id or an address may stand for."""
    if re.fullmatch(rf"{register}-[0-9]+", who):
        return [who]
    try:
        address = absolute("", who)
    except ValueError:
        raise SettingError(
            f"{who} is no id of the register {register}: they are {register}-NUMBER; nor is it the"
            " https address of a file page"
        ) from None
    page, slash = address.rstrip("/"), address.rstrip("/") + "/"
    forms = [
        f for a in (address, page, slash) for f in (stored_address(a), stored_address(a, True))
    ]
    return [person_id(register, form) for form in (*forms, https(address))]


def show_who(text: str, register: str, database: Path) -> None:
    """Print the stored persons whose name contains `text`; elsewhere than on a terminal, the ids
    only."""
    with store.open_database(database, busy_seconds=60) as db:
        store.check_register(db, register)
        for person in store.stored_persons(db).values():
            if comparable(text) in comparable(person.nombre):
                shown = (person.id, person.nombre, person.url)
                print("  ".join(shown if sys.stdout.isatty() else shown[:1]))
