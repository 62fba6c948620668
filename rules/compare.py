"""What becomes of the stored persons after a reading. Pure: no database, no network, no clock.

cards, but hidden, second and stamped ones --matching.py--> moved, changed, added
rows without a card --> found, excluded, unread (an unreadable card stands for them) or erased
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import islice

from model import Changes, Hidden, Person, Reading, Skipped, Stored, WarningName, ids_of
from names import NameIndex, comparable, keyed_hash, long_words, name_key, names_agree
from rules.matching import Persons, match, with_agreeing

Ids = Mapping[str, str]

OVERDUE = 14  # days without a good run


def compare(stored: Stored, reading: Reading, hidden: Hidden, force: bool = False) -> Changes:
    """What becomes of the stored persons. Only absence from the list, a stamp, or a file page that
    is gone means found: a person who is listed but unreadable stays as stored. `force` admits
    cards that lost a stamp."""
    rows, doubles = stored.persons, find_doubles(stored, reading, hidden)
    departing = find_departing(stored, reading, doubles)
    out = find_out(stored, reading, hidden, doubles)
    cards = {id: person for id, person in reading.persons.items() if id not in out}
    matched = match(rows, cards, reading.placeholder)
    # The second card of a child who has a stamp on the first; then cards that lost a stamp.
    second = {matched.pop(id): id for id in [*matched] if departing.get(id) == "stamped"}
    new = {id: cards[id] for id in cards.keys() - matched.values() - second.keys()}
    unstamped = set() if force else find_unstamped(stored, reading, new)
    stay_out = unstamped.union(second)
    cards = {id: person for id, person in cards.items() if id not in stay_out}
    changes = Changes(cards, {id: card for id, card in matched.items() if id != card})
    changes.added = new.keys() - unstamped
    changes.changed = {id for id in cards.keys() & rows if cards[id] != rows[id]}
    changes.relisted = {*cards, *hidden.cards, *ids_of(reading.excluded)}
    names = {card.id: card.nombre or "" for card in reading.stamped if card.id}
    names |= {id: reading.persons[id].nombre for id in stay_out}
    changes.stamped = {id: keyed_hash(stored.key, *long_words(name)) for id, name in names.items()}
    sort_absent(changes, stored, reading, hidden, departing, matched)
    changes.former = next_former(stored, changes, {**doubles, **second})
    for id, kept in doubles.items():
        changes.note(f"{id} and {kept} are one person")
    if unstamped:
        text = "had a stamp in the last good run and have none now: check pass_over. They stay out;"
        changes.note(f"{text} --force admits them:", unstamped, "stamp")
    add_notes(changes, stored, reading, hidden)
    return changes


def find_out(stored: Stored, reading: Reading, hidden: Hidden, doubles: Ids) -> set[str]:
    """The cards that are hidden, stamped, or second ones; with one of two also the other."""
    stamps = {record.id: record for record in reading.stamped if record.id}
    out = {*hidden.cards, *stamps}
    for id, first in stored.former.items():
        card = reading.persons.get(id)
        if card and first in stamps and is_named(stamps[first], card):
            out.add(id)
    return doubles.keys() | out | {doubles[id] for id in doubles.keys() & out}


def is_overdue(stored: Stored) -> bool:
    """Whether the list is so old that nobody is shown: the next one is a new beginning."""
    return (stored.days_since_good or 0) > OVERDUE


def find_doubles(stored: Stored, reading: Reading, hidden: Hidden) -> dict[str, str]:
    """Ids of persons who are on the list under another id too -> the id that stays (a hidden or
    stored one): the same name, date, age and place, and not two different photos."""
    groups = defaultdict(list)
    for person in (*reading.persons.values(), *reading.stamped_persons.values()):
        if long_words(person.nombre):
            key = (*person.name_and_date, person.edad, comparable(person.lugar))
            groups[key].append(person)
    doubles = dict(reading.doubles)
    for group in groups.values():
        if len({person.foto for person in group} - {reading.placeholder}) < 2:
            kept = min(group, key=lambda p: (p.id not in hidden.cards, p.id not in stored.persons))
            doubles |= {person.id: kept.id for person in group if person is not kept}
    return {id: doubles.get(kept, kept) for id, kept in doubles.items()}


def find_departing(stored: Stored, reading: Reading, doubles: Ids) -> dict[str, str]:
    """The rows that are "stamped", "gone" or "excluded": by an id that leads there, now or
    formerly, if the names share a word, since a number may come to stand for another child. Who is
    excluded under a new address is known by the name."""
    names = {name_key(card.nombre or "") for card in reading.excluded}
    rows = stored.persons
    elsewhere = rows.keys() - reading.seen
    departing = {id: "excluded" for id in elsewhere if name_key(rows[id].nombre) in names}
    for kind in ("excluded", "gone", "stamped"):
        for record in getattr(reading, kind):
            id = row_of(record, stored, doubles)
            if id and is_named(record, rows[id]):
                departing[id] = kind
    return departing


def is_named(record: Skipped, person: Person) -> bool:
    """Whether a record's name, if it has one, can be the person's: one word is enough."""
    return not record.nombre or names_agree(record.nombre, person.nombre, at_least=1)


def row_of(record: Skipped, stored: Stored, doubles: Ids) -> str | None:
    """The id of the stored person to whom a record's id leads, now or formerly."""
    id = doubles.get(record.id or "", record.id or "")
    return next((row for row in (id, stored.former.get(id)) if row in stored.persons), None)


def find_unstamped(stored: Stored, reading: Reading, new: Persons) -> set[str]:
    """Of the `new` cards, those that had a stamp in the last good run: by id, or by name where
    that id is gone, since addresses and the form of the stamp may change on one night. One alone
    is back, if other cards still have a stamp."""
    gone = {name for id, name in stored.stamped.items() if name and id not in reading.seen}
    hashes = {id: keyed_hash(stored.key, *long_words(card.nombre)) for id, card in new.items()}
    back = {id for id in new if id in stored.stamped or hashes[id] in gone}
    return set() if len(back) == 1 and reading.stamped else back


def sort_absent(
    changes: Changes, stored: Stored, reading: Reading, hidden: Hidden, departing: Ids, matched: Ids
) -> None:
    """Sort the rows without a card: they have left, stay unread, or are erased."""
    absent = {id: row for id, row in stored.persons.items() if id not in matched}
    cards = {id: changes.persons[id] for id in matched.values()}
    unreadable = ids_of([*reading.unreadable, *reading.several])
    agreeing = with_agreeing(absent, cards, lambda person: person.fecha)
    stays = unreadable | {id for id, kind in departing.items() if kind == "stamped"}
    changes.doubles = {id for id, on in agreeing if id not in stays and any(on)}
    rest = absent.keys() - changes.doubles
    changes.left = {id: departing[id] for id in rest & departing.keys()}
    hers = {id: p for id, p in reading.persons.items() if id in hidden.cards}
    is_hidden = hidden.cards.keys() | match(absent, hers, reading.placeholder).keys()
    changes.erased = (rest & is_hidden) - departing.keys()
    rest -= changes.left.keys() | changes.erased
    rows = {id: absent[id] for id in sorted(rest)}
    unread = find_unread(stored, reading, rows, changes.persons)
    changes.left |= dict.fromkeys(rest - unread, "absent")
    # After 14 days, or where the id is another child's now, nobody can stay.
    stay = unread - stored.expired - changes.persons.keys()
    changes.unread = stay | (stored.expired & unreadable)
    changes.erased |= unread - stay
    changes.doubles |= unread - stored.expired - stay  # nobody has left: they can wait
    changes.persons |= {id: absent[id] for id in stay}
    if not is_overdue(stored) and stored.start == reading.start:  # else it is a new beginning
        changes.found = {id for id, kind in changes.left.items() if kind != "excluded"}
        changes.found -= changes.relisted
    changes.erased |= changes.doubles | (changes.left.keys() - changes.found)


def find_unread(stored: Stored, reading: Reading, absent: Persons, cards: Persons) -> set[str]:
    """The absent rows for which an unreadable card stands, or one that names several children: by
    its id, else by a name that agrees; for one row each, of several as many as it names. Also
    those who were on an earlier reading of this run."""
    records = [*reading.unreadable, *reading.several]
    last = ids_of([*records, *reading.stamped, *reading.gone, *reading.excluded])
    unread = absent.keys() & reading.seen - last - reading.persons.keys()
    index = NameIndex({id: row.nombre for id, row in absent.items()})
    standing = [row_of(record, stored, reading.doubles) or "" for record in records]
    unread |= absent.keys() & standing
    children = Counter[str]()
    for record, id in zip(records, standing, strict=True):
        if record.nombre and record.id not in cards:
            children[record.nombre] += record.children - (id in absent)
    for name, count in children.items():
        unread |= set(islice(index.agreeing(name, but=unread), count))
    return unread


def next_former(stored: Stored, changes: Changes, doubles: Ids) -> dict[str, str | None]:
    """The ids that the persons on the new list had before, or have on a second card, like those
    with a stamp. One that has stood for two children leads to nobody."""
    taken = changes.persons.keys() | changes.relisted
    leads: set[tuple[str, str | None]] = {*changes.moved.items(), *doubles.items()}
    gone = (changes.left.keys() | changes.erased) - changes.stamped.keys() - changes.unread
    stay = [(old, id) for old, id in stored.former.items() if id not in gone]
    leads |= {(old, id and changes.moved.get(id, id)) for old, id in stay}
    former: dict[str, str | None] = {}
    there = {None, *changes.persons, *changes.stamped, *changes.unread}
    for old, id in leads:
        if old != id and id in there:
            is_two = old in taken or former.get(old, id) != id
            former[old] = None if is_two else id
    return former


def add_notes(changes: Changes, stored: Stored, reading: Reading, hidden: Hidden) -> None:
    """Note what else an operator should look at."""
    if silent := {part for part in stored.matched_parts if reading.parts.get(part)}:
        is_list = changes.left and any(p.startswith(("next", "last_page", "total")) for p in silent)
        warning: WarningName = "list" if is_list else ""
        changes.note("matched in the last good run, matches nothing now:", silent, warning)
    for ids, where in ((reading.found_on_cards, "cards"), (reading.found_on_files, "file pages")):
        if 0 < 2 * len(ids) <= reading.listed:  # more is the text of every page
            text = f"{where} say that somebody was found, but pass_over misses:"
            changes.note(text, ids, "stamp")
    for child, count in Counter(hidden.cards.values()).items():
        if count > 1:
            changes.note(f"{count} cards are taken for the hidden child {child}")
    if hidden.doubtful:
        text = "with the photo or address of a hidden child, but another name and date:"
        changes.note(text, hidden.doubtful, "hidden")
    if hidden.missing and changes.added:
        text = (
            "a hidden child is no longer recognised on the list, and somebody is new: is it one of"
        )
        text += f" {' '.join(sorted(changes.added))} (--hide ID)? Hidden as:"
        changes.note(text, hidden.missing, "hidden")
