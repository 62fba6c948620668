"""Who on the list is who among the stored persons. Pure: no database, no network, no clock."""

from collections import Counter, defaultdict

from model import Changes, Hidden, Person, Reading, Stored, ids_of
from names import comparable, name_key, name_words, names_agree

NEW_BEGINNING = 14  # days without a good run


def compare(stored: Stored, reading: Reading, hidden: Hidden, force: bool = False) -> Changes:
    """Only absence from the list, a stamp, or a file page that is gone means found: a person who
    is listed but unreadable stays as stored."""
    departed = ids_of(reading.stamped) | ids_of(reading.gone)
    doubles = find_doubles(stored, reading, hidden)
    # If no card has a stamp today, whoever had one stays out: the stamp may have a new form.
    unstamped = set() if force or reading.stamped else stored.stamped & reading.persons.keys()
    kept_out = doubles.keys() | hidden.cards.keys() | unstamped | ids_of(reading.excluded)
    read = {id: person for id, person in reading.persons.items() if id not in kept_out}
    not_read = stored.persons.keys() - read.keys() - departed - kept_out
    moved = find_moved(stored.persons, reading, not_read, read)
    unattributed = find_unattributed(stored, reading, not_read - reading.seen)
    excluded_names = {name_key(card.nombre or "") for card in reading.excluded}
    listed = (reading.persons.keys() | hidden.cards.keys() | ids_of(reading.excluded)) - unstamped
    changes = Changes(listed=listed, moved=moved)
    for id, person in stored.persons.items():
        if id in kept_out:
            changes.erased.add(id)
        elif id in read or id in moved:
            continue
        elif id in departed:
            changes.found.add(id)
        elif id in reading.seen or id in unattributed:
            (changes.erased if id in stored.expired else changes.unread).add(id)
        elif name_key(person.nombre) in excluded_names:
            changes.erased.add(id)
        else:
            changes.found.add(id)
    if stored.days_since_good is not None and stored.days_since_good > NEW_BEGINNING:
        changes.erased |= changes.found
        changes.found = set()
    changes.persons = [*read.values(), *(stored.persons[id] for id in changes.unread)]
    changes.added = read.keys() - stored.persons.keys() - set(moved.values())
    changes.changed = {id for id in read.keys() & stored.persons if read[id] != stored.persons[id]}
    add_notes(stored, reading, hidden, changes, doubles, unstamped)
    return changes


def name_and_date(person: Person) -> tuple[str, ...]:
    """The key that identifies a child under a new address; the order of the names is no part."""
    return (*name_key(person.nombre), person.fecha)


def find_doubles(stored: Stored, reading: Reading, hidden: Hidden) -> dict[str, str]:
    """Ids of persons who are on the list under another id too -> the id that stays (the hidden or
    stored one): the same name, date, age and place, and not two different photos."""
    groups = defaultdict(list)
    for person in reading.persons.values():
        key = (*name_and_date(person), person.edad, comparable(person.lugar))
        groups[key].append(person)
    doubles: dict[str, str] = {}
    for group in groups.values():
        if len({person.foto for person in group} - {reading.placeholder}) < 2:
            kept = min(group, key=lambda p: (p.id not in hidden.cards, p.id not in stored.persons))
            doubles |= {person.id: kept.id for person in group if person is not kept}
    return doubles


def find_moved(
    stored: dict[str, Person], reading: Reading, not_read: set[str], read: dict[str, Person]
) -> dict[str, str]:
    """Persons who are absent, or listed but unreadable, and came in anew under another id: with the
    same name and date, one to one."""
    new = read.keys() - stored.keys()
    pairs: dict[tuple[str, ...], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for id in not_read:
        pairs[name_and_date(stored[id])][0].append(id)
    for id in new:
        pairs[name_and_date(read[id])][1].append(id)
    return {old[0]: new[0] for old, new in pairs.values() if len(old) == len(new) == 1}


def find_unattributed(stored: Stored, reading: Reading, absent: set[str]) -> set[str]:
    """Absent persons whose name stands on an unreadable card that is no stored person's."""
    by_word = defaultdict(set)  # names that agree share a word
    for record in reading.unreadable:
        if record.nombre and record.id not in stored.persons:
            for word in name_words(record.nombre):
                by_word[word].add(record.nombre)

    def is_there(name: str) -> bool:
        cards = set().union(*(by_word[word] for word in name_words(name)))
        return any(names_agree(card, name) for card in cards)

    return {id for id in absent if is_there(stored.persons[id].nombre)}


def add_notes(
    stored: Stored,
    reading: Reading,
    hidden: Hidden,
    changes: Changes,
    doubles: dict[str, str],
    unstamped: set[str],
) -> None:
    """Add what an operator should look at, a line for each, without names."""
    lines = changes.notes
    lines += [f"{id} and {kept} are one person" for id, kept in doubles.items()]
    if silent := [part for part in sorted(stored.matched_parts) if reading.parts.get(part)]:
        lines.append(f"matched in the last good run, matches nothing now: {' '.join(silent)}")
    if unstamped:
        changes.warnings.append("stamp")
        lines.append(
            "had a stamp earlier, and today no card has one: check pass_over. They stay out;"
            f" --force admits them: {' '.join(sorted(unstamped))}"
        )
    for count, where in ((reading.found_on_cards, "cards"), (reading.found_on_files, "file pages")):
        if 0 < 2 * count < len(reading.persons):  # more is the text of every page
            lines.append(f"{where} that say that somebody was found, but pass_over misses: {count}")
    for child, count in Counter(hidden.cards.values()).items():
        if count > 1:
            lines.append(f"{count} cards are taken for the hidden child {child}")
    if hidden.missing and changes.added:
        lines.append(
            "a hidden child is no longer recognised on the list, and somebody is new: check whether"
            f" it is the same child (sync.py --who, --hide): {' '.join(sorted(hidden.missing))}"
        )
        changes.warnings.append("hidden")
