"""The stored persons: what a run reads and writes of them, --hide and --who.

SQLite --read_stored--> Stored --decide (changes.py)--> Changes --write_changes--> SQLite
"""

import json
import re
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import store
from changes import Changes
from hidden import name_mark, new_marks, photo_marks
from person import Reading, Stored, comparable, ids_of, person_id
from scrape.address import https, resolve, stored_address
from settings import SettingError


def read_stored(db: sqlite3.Connection) -> Stored:
    """What a reading of the register is compared with."""

    def select_ids(sql: str, *values: str) -> set[str]:
        return {id for (id,) in db.execute(sql, values)}

    last_good = db.execute(
        "SELECT julianday('now') - julianday(ended), coalesce(matched, '') FROM run"
        " WHERE outcome = 'ok' ORDER BY id DESC LIMIT 1"
    ).fetchone()
    days, matched = last_good or (None, "")
    ((longest_list,),) = db.execute(
        "SELECT coalesce(max(cards), 0) FROM run WHERE outcome = 'ok' AND ended > ?"
        " AND id >= (SELECT coalesce(max(id), 0) FROM run WHERE reason LIKE 'forced%')",
        [store.utc_now(days_ago=7)],
    )
    return Stored(
        persons=store.stored_persons(db),
        hidden=select_ids("SELECT id FROM hidden WHERE listed"),
        marks=dict(db.execute("SELECT mark, id FROM hidden_mark")),
        key=hash_key(db),
        stamped=select_ids("SELECT id FROM stamped"),
        expired=select_ids("SELECT id FROM unread WHERE since < ?", store.utc_now(days_ago=14)),
        longest_list=longest_list,
        days=days,
        matched=set(matched.split()),
    )


def hash_key(db: sqlite3.Connection) -> bytes:
    key: bytes = db.execute("SELECT key FROM secret").fetchone()[0]
    return key


def write_changes(
    db: sqlite3.Connection, stored: Stored, reading: Reading, changes: Changes
) -> None:
    """Write what compare() found, and renew the hidden children's marks. The caller has begun a
    transaction."""

    def for_each(sql: str, values: Iterable[Any]) -> None:
        db.executemany(sql, ((value,) for value in values))

    for_each("DELETE FROM found WHERE id = ?", changes.listed)
    for_each("INSERT OR IGNORE INTO found VALUES (?)", changes.found)
    for_each("DELETE FROM stamped WHERE id = ?", (person.id for person in changes.persons))
    for_each("INSERT OR IGNORE INTO stamped VALUES (?)", ids_of(reading.stamped))
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
        db.execute("UPDATE photo SET person = ? WHERE person = ?", [new, old])
    if changes.added:
        db.execute("UPDATE hidden SET listed = 0")
    for_each("UPDATE hidden SET listed = 1 WHERE id = ?", set(changes.hidden.values()))
    # A hidden child who is unreadable, or whose photo tells nothing, keeps the earlier hashes.
    marks = new_marks(stored, changes.hidden, reading)
    renewed = {child for mark, child in marks.items() if mark.startswith("photo:")}
    for_each("DELETE FROM hidden_mark WHERE id = ? AND mark LIKE '%:%'", renewed)
    db.executemany("INSERT OR REPLACE INTO hidden_mark VALUES (?, ?)", marks.items())
    store.write_persons(db, changes.persons)


def hide(who: str, register: str, database: Path) -> None:
    """Take a person off the list at once and for good. `who` is an id or the file's address. Needs
    no run lock: a swap reads who is hidden in its own transaction."""
    given = possible_ids(who, register)
    with store.open_database(database, busy_seconds=60) as db:
        store.check_register(db, register)
        with store.transaction(db):
            persons, key = store.stored_persons(db), hash_key(db)
            listed = [person for person in persons.values() if person.id in given]
            # Not the id of an address without its fragment, which may be everybody's.
            marks = {person.id for person in listed} or set(given)
            photos = photo_marks(key, persons.values(), placeholder="")
            for person in listed:
                marks |= {name_mark(key, person), photos.get(person.id, "")}
                del persons[person.id]
            before = hidden_as(db, given)
            id = next(iter([*(person.id for person in listed), *before]), given[0])
            db.execute("INSERT OR IGNORE INTO hidden VALUES (?, ?)", [id, bool(listed)])
            rows = [(mark, id) for mark in marks if mark]
            db.executemany("INSERT OR REPLACE INTO hidden_mark VALUES (?, ?)", rows)
            db.executemany("DELETE FROM found WHERE id = ?", [(mark,) for mark, _ in rows])
            store.write_persons(db, persons.values())
        store.empty_wal(db)
    was = "NOT on the list: is the id or address right?"
    if listed or before:
        was = "on the list and is off it" if listed else "hidden already"
    print(f"{database}: {id} is hidden from now on; the person was {was}")


def unhide(who: str, register: str, database: Path) -> None:
    """Let the next synchronisation bring a hidden person back."""
    given = possible_ids(who, register)
    with store.open_database(database, busy_seconds=60) as db:
        store.check_register(db, register)
        with store.transaction(db):
            hidden = hidden_as(db, given)
            for id in hidden:
                db.execute("DELETE FROM hidden WHERE id = ?", [id])
                db.execute("DELETE FROM hidden_mark WHERE id = ?", [id])
    print(f"{database}: {given[0]} {'is no longer' if hidden else 'was not'} hidden")


def hidden_as(db: sqlite3.Connection, possible: list[str]) -> set[str]:
    """The ids under which a person was hidden."""
    sql = "SELECT id FROM hidden_mark WHERE mark IN (SELECT value FROM json_each(?))"
    return {id for (id,) in db.execute(sql, [json.dumps(possible)])}


def possible_ids(who: str, register: str) -> list[str]:
    """The ids that an id or an address may stand for."""
    if re.fullmatch(rf"{register}-[0-9]+", who):
        return [who]
    try:
        address = resolve("", who)
    except ValueError:
        raise SettingError(
            f"{who} is no id of the register {register}: they are {register}-NUMBER; nor is it the"
            " https address of a file page"
        ) from None
    forms = [https(address)]
    for keep in (False, True):
        parts = urlsplit(stored_address(address, keep))
        path = parts.path.rstrip("/")
        forms += [parts._replace(path=p).geturl() for p in (parts.path, path, path + "/")]
    return [person_id(register, form) for form in forms]


def show_who(text: str, register: str, database: Path) -> None:
    """Print the stored persons whose name contains `text`; elsewhere than on a terminal, the ids
    only."""
    with store.open_database(database, busy_seconds=60) as db:
        store.check_register(db, register)
        for person in store.stored_persons(db).values():
            if comparable(text) in comparable(person.nombre):
                shown = (person.id, person.nombre, person.url)
                print("  ".join(shown if sys.stdout.isatty() else shown[:1]))
