"""The hidden children: by what they are recognised, whatever becomes of their file's address.

    hide: id -> off the list at once, and its marks
    read_hidden: SQLite -> Marks --recognise--> the hidden children on tonight's list -> rules/
    write_marks: what tonight's cards teach

A mark is an id, or a keyed hash of a date, a name, a part of a name, or a photo's address.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from model import Hidden, Person, Reading
from names import keyed_hash, long_words, names_agree, share_a_word
from store.database import transaction, utc_now
from store.persons import hash_key, stored_persons, write_persons

LONGEST = 8  # words; of a longer name no parts are compared
PANEL_HIDES = 5  # in 24 hours


class Marks(NamedTuple):
    """What the database knows of the hidden children when a run begins."""

    key: bytes  # of the hashes
    children: dict[str, set[str]]  # mark -> ids under which they were hidden
    watched: set[str]  # ids of those whose absence is to be noted

    def having(self, kind: str, hashes: Iterable[str]) -> set[str]:
        """The hidden children who have one of these marks."""
        return set().union(*(self.children.get(f"{kind}:{text}", ()) for text in hashes))


def read_hidden(db: sqlite3.Connection) -> Marks:
    children: dict[str, set[str]] = {}
    for mark, id in db.execute("SELECT mark, id FROM hidden_mark"):
        children.setdefault(mark, set()).add(id)
    watched = {id for (id,) in db.execute("SELECT id FROM hidden WHERE watched")}
    return Marks(hash_key(db), children, watched)


def hashes_of(key: bytes, person: Person, has_own_photo: bool) -> dict[str, set[str]]:
    """The marks of a card, by kind. A part of a name has two words of three letters or more."""
    words = long_words(person.nombre)
    sizes = range(2, len(words)) if len(words) <= LONGEST else ()
    parts = (part for size in sizes for part in combinations(words, size))
    texts: dict[str, list[tuple[str, ...]]] = {
        "date": [(person.fecha,)],
        "photo": [(person.foto,)] if has_own_photo else [],
        "name": [words] if words else [],
        "part": [part for part in parts if long_words(" ".join(part))],
    }
    return {kind: {keyed_hash(key, *text) for text in texts[kind]} for kind in texts}


def marks_of(key: bytes, person: Person, has_own_photo: bool) -> set[str]:
    """All that a card teaches of its child."""
    hashes = hashes_of(key, person, has_own_photo)
    return {person.id, *(f"{kind}:{text}" for kind in hashes for text in hashes[kind])}


def own_photos(persons: Iterable[Person], placeholder: str = "") -> set[str]:
    """The photos that are one child's, who may be on two cards; more share a silhouette."""
    count = Counter(person.foto for person in persons)
    return {foto for foto in count if count[foto] <= 2 and foto != placeholder}


def recognise(marks: Marks, stored: Mapping[str, Person], reading: Reading) -> Hidden:
    """The hidden children on the list, and what their cards teach. Pure.

    By the date and a name that is all in the other; by the photo, with an equal name or date; else
    by the id, unless another name and date is there or the child is recognised elsewhere. Who is
    stored already is compared by the whole name: numbered photos would take her neighbours off."""
    known = Counter(person.name_and_date for person in stored.values())
    listed = Counter(person.name_and_date for person in reading.persons.values())
    own = own_photos(reading.persons.values(), reading.placeholder)
    dated = {child for m, ids in marks.children.items() if m.startswith("date:") for child in ids}
    cards: dict[str, str] = {}
    doubtful, taught = set[str](), set[tuple[str, str]]()
    by_id, may_learn = dict[str, set[str]](), dict[str, set[str]]()  # id -> hidden children
    for id in sorted(reading.seen if marks.children else ()):
        person, ids = reading.persons.get(id), marks.children.get(id, set())
        if person is None:
            by_id[id] = ids
            continue
        hashes = hashes_of(marks.key, person, person.foto in own)
        dates, names, photos = (marks.having(k, hashes[k]) for k in ("date", "name", "photo"))
        wider = marks.having("name", hashes["part"]) | marks.having("part", hashes["name"])
        certain = (dates & (names | wider)) | (photos & (names | dates))
        undated = ids - dated  # hidden by the id alone: there is nothing to compare
        if person.name_and_date in known:
            may_learn[id] = certain = undated | (names & (dates | photos | ids))
            # One card more than is stored: at the id of a hidden child of that date, it is hers.
            if id not in stored and listed[person.name_and_date] > known[person.name_and_date]:
                certain = certain | (ids & dates)
            if certain:
                cards[id] = min(certain)
            continue
        if certain:
            cards[id] = min(certain)
        elif photos | ids:
            doubtful.add(id)
        by_id[id] = undated | (ids & (names | dates))
        may_learn[id] = undated | photos | (names & (dates | ids))
    elsewhere = set(cards.values())
    for id, children in by_id.items():
        if id not in cards and children - elsewhere:
            cards[id] = min(children - elsewhere)
    for id in [id for id in cards if cards[id] in may_learn.get(id, ())]:
        person = reading.persons[id]
        taught |= {(m, cards[id]) for m in marks_of(marks.key, person, person.foto in own)}
    return Hidden(cards, taught, doubtful - cards.keys(), marks.watched.difference(cards.values()))


def write_marks(db: sqlite3.Connection, hidden: Hidden, somebody_is_new: bool) -> None:
    """Write what tonight's cards teach, and who is watched. The caller has begun a transaction."""
    if somebody_is_new:
        db.execute("UPDATE hidden SET watched = 0")
    children = [(child,) for child in set(hidden.cards.values())]
    db.executemany("UPDATE hidden SET watched = 1 WHERE id = ?", children)
    db.executemany("INSERT OR IGNORE INTO hidden_mark VALUES (?, ?)", hidden.taught)


class TooManyHides(Exception):
    """The panel has hidden PANEL_HIDES in 24 hours: a stolen key must not empty the list."""


class Hide(NamedTuple):
    """What a hide did; ids."""

    id: str  # under which the child is hidden
    was_hidden: bool
    off: set[str]  # who was on the list and is off it
    alike: set[str]  # who is on it and has a name that agrees


def hide(db: sqlite3.Connection, ids: list[str], by: str = "server") -> Hide:
    """Take a child off the list at once and for good, with all cards: equal name and date, or the
    photo with an equal name or date. `ids` are those that the child may have. Needs no run lock: a
    swap looks again whether somebody was hidden meanwhile. By the "panel", LookupError for who is
    neither stored nor hidden, and TooManyHides."""
    with transaction(db):
        persons, key = stored_persons(db), hash_key(db)
        sql = "SELECT person FROM known WHERE id IN (SELECT value FROM json_each(?))"
        children = [persons[id] for (id,) in db.execute(sql, [json.dumps(ids)])]
        before = hidden_as(db, ids)
        if by == "panel" and not children:
            if not before:
                raise LookupError(ids)
            return Hide(min(before), True, set(), set())
        if by == "panel" and panel_hides(db) >= PANEL_HIDES:
            raise TooManyHides
        own = own_photos(persons.values())
        off, alike = set(), set()
        for id, person in persons.items():
            if any(has_her_card(person, child, own) for child in children):
                off.add(id)
            elif any(names_agree(person.nombre, child.nombre) for child in children):
                alike.add(id)
        id = ([child.id for child in children] or sorted(before) or ids)[0]
        marks = set().union(*(marks_of(key, persons[id], persons[id].foto in own) for id in off))
        sql = "SELECT id FROM former WHERE person IN (SELECT value FROM json_each(?))"
        marks |= {former for (former,) in db.execute(sql, [json.dumps([*off])])}
        # Only of somebody who is not stored: an address without its fragment may be everybody's.
        rows = [(mark, id) for mark in marks or ids]
        db.executemany("DELETE FROM former WHERE person = ?", [(one,) for one in off])
        row = (id, bool(off), utc_now(), by)
        db.execute(  # another child may have come to stand at the id of a hidden one
            "INSERT INTO hidden (id, watched, since, by) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET told = told AND NOT excluded.watched",
            row,
        )
        db.executemany("INSERT OR IGNORE INTO hidden_mark VALUES (?, ?)", rows)
        db.executemany("DELETE FROM found WHERE id = ?", [(mark,) for mark, _ in rows])
        db.executemany("DELETE FROM unread WHERE id = ?", [(mark,) for mark, _ in rows])
        write_persons(db, [person for id, person in persons.items() if id not in off])
    want_copy(db)
    return Hide(id, bool(before), off, alike)


def want_copy(db: sqlite3.Connection) -> None:
    """Leave a file beside the database: systemd (persona404-backup.path) then makes a copy."""
    with suppress(OSError):
        Path(db.execute("PRAGMA database_list").fetchone()[2]).with_name("copy.wanted").touch()


def has_her_card(person: Person, child: Person, own_photos: set[str]) -> bool:
    """Whether a stored person is taken for the child who is being hidden. Two who share no word of
    their names may have one silhouette."""
    equal_name = long_words(person.nombre) == long_words(child.nombre) != ()
    equal_date = person.fecha == child.fecha
    may_be_hers = person.foto in own_photos and share_a_word(person.nombre, child.nombre)
    equal_photo = may_be_hers and person.foto == child.foto
    return person.id == child.id or equal_name + equal_date + equal_photo > 1


def panel_hides(db: sqlite3.Connection) -> int:
    """How many children the panel has hidden in the last 24 hours."""
    sql = "SELECT count(*) FROM hidden WHERE by = 'panel' AND since > ?"
    return int(db.execute(sql, [utc_now(days_ago=1)]).fetchone()[0])


def unhide(db: sqlite3.Connection, ids: list[str], panel_since: str | None = None) -> set[str]:
    """Let the next synchronisation bring hidden persons back: who has one of `ids`, and all whom
    the panel has hidden from `panel_since` on. The ids under which they were hidden."""
    with transaction(db):
        sql = "SELECT id FROM hidden WHERE by = 'panel' AND since >= ?"
        hidden = hidden_as(db, ids) | {id for (id,) in db.execute(sql, [panel_since])}
        rows = [(id,) for id in hidden]
        # Until the next run it cannot be told whether they are sought; then old ids lead to them.
        db.executemany(
            "INSERT OR IGNORE INTO unread VALUES (?, ?)", [(id, utc_now()) for id in hidden]
        )
        db.executemany(
            "INSERT OR IGNORE INTO former SELECT mark, id FROM hidden_mark"
            " WHERE id = ? AND mark LIKE '%-%' AND mark <> id",
            rows,
        )
        db.executemany("DELETE FROM hidden WHERE id = ?", rows)
        db.executemany("DELETE FROM hidden_mark WHERE id = ?", rows)
    want_copy(db)
    return hidden


def known_ids(db: sqlite3.Connection, either: Iterable[list[str]]) -> list[str]:
    """Of lists of ids the first with a stored or hidden child's; none where there is none."""
    sql = (
        "SELECT 1 FROM json_each(?) WHERE value IN (SELECT id FROM known)"
        " OR value IN (SELECT mark FROM hidden_mark)"
    )
    return next((ids for ids in either if db.execute(sql, [json.dumps(ids)]).fetchone()), [])


def hidden_as(db: sqlite3.Connection, ids: list[str]) -> set[str]:
    """The ids under which a person was hidden who may have one of `ids`."""
    sql = "SELECT id FROM hidden_mark WHERE mark IN (SELECT value FROM json_each(?))"
    return {id for (id,) in db.execute(sql, [json.dumps(ids)])}
