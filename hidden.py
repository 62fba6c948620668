"""By what a hidden child is recognised, whatever becomes of the file's address. Pure.

A mark is an id, a keyed hash of name and date, or a keyed hash of the photo's address.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from person import Person, Reading, Stored, name_key


def keyed_hash(key: bytes, *texts: str) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), key=key, digest_size=16).hexdigest()


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

    By id (also of the address as written) or name and date. By the photo only a child who is not
    recognised otherwise, on a card that is new: a numbered photo may later show another child."""
    key, marks = stored.key, stored.marks
    recognised = {id: marks[id] for id in reading.seen if id in marks}
    recognised |= {id: marks[raw] for id, raw in reading.written.items() if raw in marks}
    for id, person in reading.persons.items():
        if child := marks.get(name_mark(key, person)):
            recognised[id] = child
    missing = set(marks.values()) - set(recognised.values())
    for id, mark in photo_marks(key, reading.persons.values(), reading.placeholder).items():
        if marks.get(mark) in missing and id not in stored.persons.keys() | recognised.keys():
            recognised[id] = marks[mark]
    return recognised


def new_marks(key: bytes, recognised: Mapping[str, str], reading: Reading) -> dict[str, str]:
    """The marks that this reading gives of the recognised children: mark -> id under which the
    child was hidden."""
    photos = photo_marks(key, reading.persons.values(), reading.placeholder)
    marks: dict[str, str] = {}
    for id, child in recognised.items():
        found = [id, reading.written.get(id), photos.get(id)]
        if id in reading.persons:
            found.append(name_mark(key, reading.persons[id]))
        marks |= {mark: child for mark in found if mark}
    return marks
