"""What one reading of the register makes of the stored persons, and whether it can be believed.

    decide: Stored + Reading --compare--> Changes --judge--> ok, refused or withheld, and why

Pure: no database, no network, no clock.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from hidden import recognise
from person import (
    Person,
    Reading,
    Stored,
    comparable,
    ids_of,
    name_key,
    name_words,
    names_agree,
)

FEW = 3
LEAVE = 5  # so many at once are more than a coincidence, if they are a third
FEWER_CARDS = 5  # likewise
LOSE_PHOTO = 5  # so many, if they are a fifth
SHARE_PHOTO = 5  # so many persons with one photo have none: it is a logo, for instance
NEW_BEGINNING = 14  # days without a good run


@dataclass
class Changes:
    """What is to become of the stored persons; ids, but for `persons`, `notes` and `warnings`."""

    listed: set[str]  # read, hidden or excluded: they leave the found
    hidden: dict[str, str]  # hidden children on the list -> the id under which they were hidden
    moved: dict[str, str]  # who has a new address: id until now -> new id
    persons: list[Person] = field(default_factory=list)  # the new list
    added: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)  # neither active nor found
    unread: set[str] = field(default_factory=set)  # stored and listed, but not read this time
    notes: list[str] = field(default_factory=list)  # what an operator should look at, with ids
    warnings: list[str] = field(default_factory=list)  # of `notes`, what an alert tells


def decide(
    stored: Stored, reading: Reading, max_unreadable: float, force: bool
) -> tuple[Changes, str, str | None]:
    """What is to become of the stored persons; "ok", "refused" or "withheld"; and why it is not
    "ok", or what `force` overrides. What is withheld is already left out of the changes."""
    changes = compare(stored, reading, force)
    outcome, reason = judge(stored, reading, changes, max_unreadable)
    if reason and force:
        return changes, "ok", f"forced, although {reason}"
    if outcome == "withheld":
        changes = only_removals(stored, changes)
    return changes, outcome, reason


def compare(stored: Stored, reading: Reading, force: bool = False) -> Changes:
    """Only absence from the list, a stamp, or a file page that is gone means found: a person who
    is listed but unreadable stays as stored."""
    departed = ids_of(reading.stamped) | ids_of(reading.gone)
    doubles = find_doubles(stored, reading)
    hidden = recognise(stored, reading)
    # If no card has a stamp today, whoever had one stays out: the stamp may have a new form.
    unstamped = set() if force or reading.stamped else stored.stamped & reading.persons.keys()
    kept_out = doubles.keys() | hidden.keys() | unstamped | ids_of(reading.excluded)
    read = {id: person for id, person in reading.persons.items() if id not in kept_out}
    not_read = stored.persons.keys() - read.keys() - departed - kept_out
    moved = find_moved(stored.persons, reading, not_read, read)
    unattributed = find_unattributed(stored, reading, not_read - reading.seen)
    excluded_names = {name_key(card.nombre or "") for card in reading.excluded}
    listed = (reading.persons.keys() | hidden.keys() | ids_of(reading.excluded)) - unstamped
    changes = Changes(listed=listed, hidden=hidden, moved=moved)
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
    if stored.days is not None and stored.days > NEW_BEGINNING:
        changes.erased |= changes.found
        changes.found = set()
    changes.persons = [*read.values(), *(stored.persons[id] for id in changes.unread)]
    changes.added = read.keys() - stored.persons.keys() - set(moved.values())
    changes.changed = {id for id in read.keys() & stored.persons if read[id] != stored.persons[id]}
    add_notes(stored, reading, changes, doubles, unstamped)
    return changes


def name_and_date(person: Person) -> tuple[str, ...]:
    """The key that identifies a child under a new address; the order of the names is no part."""
    return (*name_key(person.nombre), person.fecha)


def find_doubles(stored: Stored, reading: Reading) -> dict[str, str]:
    """Ids of persons who are on the list under another id too -> the id that stays (the hidden or
    stored one): the same name, date, age and place, and not two different photos."""
    groups = defaultdict(list)
    for person in reading.persons.values():
        key = (*name_and_date(person), person.edad, comparable(person.lugar))
        groups[key].append(person)
    doubles: dict[str, str] = {}
    for group in groups.values():
        if len({person.foto for person in group} - {reading.placeholder}) < 2:
            kept = min(group, key=lambda p: (p.id not in stored.marks, p.id not in stored.persons))
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
    stored: Stored, reading: Reading, changes: Changes, doubles: dict[str, str], unstamped: set[str]
) -> None:
    """Add what an operator should look at, a line for each, without names."""
    lines = changes.notes
    lines += [f"{id} and {kept} are one person" for id, kept in doubles.items()]
    if silent := [part for part in sorted(stored.matched) if reading.parts.get(part)]:
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
    for child, count in Counter(changes.hidden.values()).items():
        if count > 1:
            lines.append(f"{count} cards are taken for the hidden child {child}")
    unrecognised = stored.hidden - set(changes.hidden.values())
    if unrecognised and changes.added:
        lines.append(
            "a hidden child is no longer recognised on the list, and somebody is new: check whether"
            f" it is the same child (sync.py --who, --hide): {' '.join(sorted(unrecognised))}"
        )
        changes.warnings.append("hidden")


def judge(
    stored: Stored, reading: Reading, changes: Changes, max_unreadable: float
) -> tuple[str, str | None]:
    """("ok", None); ("refused", why nothing may change); or ("withheld", why additions and changes
    must wait). `max_unreadable` is the share of unreadable records, 0 to 1, that is tolerated."""
    if not reading.card_count and (stored.persons or stored.days is None):
        return "refused", f"nobody is listed on {reading.page_count} list pages"
    if stored.days is not None and stored.days <= NEW_BEGINNING:
        leave = changes.found | (changes.erased & ids_of(reading.excluded))
        if len(leave) >= LEAVE and 3 * len(leave) > len(stored.persons):
            kinds = {"stamped": reading.stamped, "gone": reading.gone, "excluded": reading.excluded}
            counts = {kind: len(leave & ids_of(records)) for kind, records in kinds.items()}
            counts["absent"] = len(leave) - sum(counts.values())
            named = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
            return "refused", f"{len(leave)} of {len(stored.persons)} would leave ({named})"
        fewer = stored.longest_list - reading.card_count
        if fewer >= FEWER_CARDS and 3 * fewer > stored.longest_list:
            return (
                "refused",
                f"{reading.card_count} cards, and lately there were {stored.longest_list}",
            )
    unreadable = len(reading.unreadable)
    if unreadable >= FEW and unreadable > max_unreadable * reading.listed:
        reasons = Counter(f"{r.field}: {r.reason}" for r in reading.unreadable).most_common(3)
        named = "; ".join(f"{count} {reason}" for reason, count in reasons)
        return "withheld", f"{unreadable} of {reading.listed} records are unreadable ({named})"
    had = [p for p in stored.persons.values() if p.foto != reading.placeholder]
    now = [(p.foto, reading.persons.get(changes.moved.get(p.id, p.id))) for p in had]
    shared = Counter(person.foto for person in reading.persons.values())  # a logo, for instance
    without = sum(
        person is not None
        and person.foto != before
        and (person.foto == reading.placeholder or shared[person.foto] >= SHARE_PHOTO)
        for before, person in now
    )
    if without >= LOSE_PHOTO and 5 * without > len(had):
        return "withheld", f"{without} of {len(had)} persons would lose their photo"
    return "ok", None


def only_removals(stored: Stored, changes: Changes) -> Changes:
    """`changes` without additions, changes and moves, which wait."""
    removed = changes.found | changes.erased
    stay = [person for id, person in stored.persons.items() if id not in removed]
    return replace(changes, persons=stay, added=set(), changed=set(), moved={})
