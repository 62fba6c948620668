"""By what a hidden child is recognised, whatever becomes of the file's address. Pure.

A mark is an id, a keyed hash of name and date, or a keyed hash of the photo's address.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from person import Person, Reading, Stored, name_key


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


def recognise(stored: Stored, reading: Reading) -> dict[str, str]:
    """The hidden children on the list: each one's id there -> id under which it was hidden.

    By that id, or name and date. Where these tell nothing, by a later id, then by the photo,
    on a card that is new: addresses and photos that are numbered may later show another child."""
    key, marks = stored.key, stored.marks
    by_name = {id: name_mark(key, person) for id, person in reading.persons.items()}
    recognised = {id: marks[mark] for id, mark in by_name.items() if mark in marks}
    named = set(recognised.values())
    for id in reading.seen:
        child = marks.get(id)
        if child and (child == id or child not in named):
            recognised[id] = child
    missing = set(marks.values()) - set(recognised.values())
    for id, mark in photo_marks(key, reading.persons.values(), reading.placeholder).items():
        if marks.get(mark) in missing and id not in stored.persons.keys() | recognised.keys():
            recognised[id] = marks[mark]
    return recognised


def new_marks(stored: Stored, recognised: Mapping[str, str], reading: Reading) -> dict[str, str]:
    """The marks that this reading gives of the recognised children: mark -> id under which the
    child was hidden. A card with another name teaches only its id: it may be another child's."""
    photos = photo_marks(stored.key, reading.persons.values(), reading.placeholder)
    have_name = {child for mark, child in stored.marks.items() if mark.startswith("name:")}
    marks: dict[str, str] = {}
    for id, child in recognised.items():
        found: list[str | None] = [id]
        name = name_mark(stored.key, reading.persons[id]) if id in reading.persons else ""
        if name in stored.marks or child not in have_name:
            found += [name, photos.get(id)]
        marks |= {mark: child for mark in found if mark}
    return marks
