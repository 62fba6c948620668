"""The hidden children: by what they are recognised, whatever becomes of the file's address.

    hide: id -> off the list at once, and its marks
    read_hidden: SQLite -> Marks --recognise--> the hidden children on tonight's list -> rules/
    write_marks: what tonight's list teaches of them

A mark is an id, a keyed hash of name and date, or a keyed hash of the photo's address.
"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from model import Hidden, Person, Reading
from names import name_key
from store.database import transaction
from store.persons import stored_persons, write_persons


class Marks(NamedTuple):
    """What the database knows of the hidden children when a run begins."""

    key: bytes  # of the hashes
    children: dict[str, str]  # mark -> id under which the child was hidden
    watched: set[str]  # ids of those whose absence is to be noted


def read_hidden(db: sqlite3.Connection) -> Marks:
    return Marks(
        key=hash_key(db),
        children=dict(db.execute("SELECT mark, id FROM hidden_mark")),
        watched={id for (id,) in db.execute("SELECT id FROM hidden WHERE listed")},
    )


def hash_key(db: sqlite3.Connection) -> bytes:
    key: bytes = db.execute("SELECT key FROM secret").fetchone()[0]
    return key


def keyed_hash(key: bytes, kind: str, *texts: str) -> str:
    text = "\n".join((kind, *texts)).encode()
    return f"{kind}:{hashlib.blake2b(text, key=key, digest_size=16).hexdigest()}"


def name_mark(key: bytes, person: Person) -> str:
    """ "" for a name that many have: fewer than two words of three letters or more."""
    words = name_key(person.nombre)
    if sum(len(word) > 2 for word in words) < 2:
        return ""
    return keyed_hash(key, "name", *words, person.fecha)


def photo_marks(key: bytes, persons: Iterable[Person], placeholder: str) -> dict[str, str]:
    """The mark of each person's photo by id, of photos that are one person's alone."""
    photos = {person.id: person.foto for person in persons if person.foto != placeholder}
    count = Counter(photos.values())
    return {id: keyed_hash(key, "photo", foto) for id, foto in photos.items() if count[foto] == 1}


def recognise(marks: Marks, stored_ids: Iterable[str], reading: Reading) -> Hidden:
    """The hidden children on the list. Pure.

    By the id, or name and date. Where these tell nothing, by a later id, then by the photo, on a
    card that is new: addresses and photos that are numbered may later show another child."""
    key, children = marks.key, marks.children
    by_name = {id: name_mark(key, person) for id, person in reading.persons.items()}
    cards = {id: children[mark] for id, mark in by_name.items() if mark in children}
    named = set(cards.values())
    for id in reading.seen:
        child = children.get(id)
        if child and (child == id or child not in named):
            cards[id] = child
    missing = set(children.values()) - set(cards.values())
    for id, mark in photo_marks(key, reading.persons.values(), reading.placeholder).items():
        if children.get(mark) in missing and id not in {*stored_ids, *cards}:
            cards[id] = children[mark]
    return Hidden(cards, marks.watched - set(cards.values()))


def new_marks(marks: Marks, cards: Mapping[str, str], reading: Reading) -> dict[str, str]:
    """The marks that this reading gives of the children on `cards` (Hidden.cards). Pure. A card
    with another name teaches only its id: it may be another child's."""
    photos = photo_marks(marks.key, reading.persons.values(), reading.placeholder)
    have_name = {child for mark, child in marks.children.items() if mark.startswith("name:")}
    new: dict[str, str] = {}
    for id, child in cards.items():
        found = [id]
        name = name_mark(marks.key, reading.persons[id]) if id in reading.persons else ""
        if name in marks.children or child not in have_name:
            found += [name, photos.get(id, "")]
        new |= {mark: child for mark in found if mark}
    return new


def write_marks(
    db: sqlite3.Connection, marks: Marks, hidden: Hidden, reading: Reading, somebody_is_new: bool
) -> None:
    """Renew the marks of the children on the list, and who is watched. The caller has begun a
    transaction."""
    if somebody_is_new:
        db.execute("UPDATE hidden SET listed = 0")
    children = [(child,) for child in set(hidden.cards.values())]
    db.executemany("UPDATE hidden SET listed = 1 WHERE id = ?", children)
    # A hidden child who is unreadable, or whose photo tells nothing, keeps the earlier hashes.
    new = new_marks(marks, hidden.cards, reading)
    renewed = [(child,) for child in {c for m, c in new.items() if m.startswith("photo:")}]
    db.executemany("DELETE FROM hidden_mark WHERE id = ? AND mark LIKE '%:%'", renewed)
    db.executemany("INSERT OR REPLACE INTO hidden_mark VALUES (?, ?)", new.items())


def hide(db: sqlite3.Connection, ids: list[str]) -> tuple[str, str]:
    """Take a person off the list at once and for good. `ids` are those that the person may have.
    The id under which the person is hidden, and where the person was: "listed", "hidden" or
    "unknown". Needs no run lock: a swap reads who is hidden in its own transaction."""
    with transaction(db):
        persons, key = stored_persons(db), hash_key(db)
        listed = [person for person in persons.values() if person.id in ids]
        # Not the id of an address without its fragment, which may be everybody's.
        marks = {person.id for person in listed} or set(ids)
        photos = photo_marks(key, persons.values(), placeholder="")
        for person in listed:
            marks |= {name_mark(key, person), photos.get(person.id, "")}
            del persons[person.id]
        before = hidden_as(db, ids)
        id = next(iter([*(person.id for person in listed), *before]), ids[0])
        db.execute("INSERT OR IGNORE INTO hidden VALUES (?, ?)", [id, bool(listed)])
        rows = [(mark, id) for mark in marks if mark]
        db.executemany("INSERT OR REPLACE INTO hidden_mark VALUES (?, ?)", rows)
        db.executemany("DELETE FROM found WHERE id = ?", [(mark,) for mark, _ in rows])
        write_persons(db, persons.values())
    return id, "listed" if listed else "hidden" if before else "unknown"


def unhide(db: sqlite3.Connection, ids: list[str]) -> bool:
    """Let the next synchronisation bring a hidden person back; whether the person was hidden."""
    with transaction(db):
        hidden = [(id,) for id in hidden_as(db, ids)]
        db.executemany("DELETE FROM hidden WHERE id = ?", hidden)
        db.executemany("DELETE FROM hidden_mark WHERE id = ?", hidden)
    return bool(hidden)


def hidden_as(db: sqlite3.Connection, ids: list[str]) -> set[str]:
    """The ids under which a person was hidden who may have one of `ids`."""
    sql = "SELECT id FROM hidden_mark WHERE mark IN (SELECT value FROM json_each(?))"
    return {id for (id,) in db.execute(sql, [json.dumps(ids)])}
