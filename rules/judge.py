"""Whether a reading can be believed: ok, refused or withheld, and why. Pure.

Stored + Reading --compare--> Changes --judge--> ok, refused or withheld
"""

from collections import Counter
from dataclasses import replace

from model import Changes, Hidden, Reading, Stored, ids_of
from rules.compare import NEW_BEGINNING, compare

SHARE_PHOTO = 5  # so many persons with one image: it is nobody's photo


def decide(
    stored: Stored, reading: Reading, hidden: Hidden, max_unreadable: float, force: bool
) -> tuple[Changes, str, str | None]:
    """What is to become of the stored persons; "ok", "refused" or "withheld"; and why it is not
    "ok", or what `force` overrides. What is withheld is already left out of the changes."""
    changes = compare(stored, reading, hidden, force)
    outcome, reason = judge(stored, reading, changes, max_unreadable)
    if reason and force:
        return changes, "ok", f"forced, although {reason}"
    if outcome == "withheld":
        changes = only_removals(stored, changes)
    return changes, outcome, reason


def judge(
    stored: Stored, reading: Reading, changes: Changes, max_unreadable: float
) -> tuple[str, str | None]:
    """("ok", None); ("refused", why nothing may change); or ("withheld", why additions and changes
    must wait). `max_unreadable` is the share of unreadable records, 0 to 1, that is tolerated."""
    if not reading.card_count and (stored.persons or stored.days_since_good is None):
        return "refused", f"nobody is listed on {reading.page_count} list pages"
    if stored.days_since_good is not None and stored.days_since_good <= NEW_BEGINNING:
        leave = changes.found | (changes.erased & ids_of(reading.excluded))
        if is_large_part(len(leave), len(stored.persons), 1 / 3):
            named = kinds_of(leave, reading)
            return "refused", f"{len(leave)} of {len(stored.persons)} would leave ({named})"
        if is_large_part(stored.longest_list - reading.card_count, stored.longest_list, 1 / 3):
            return (
                "refused",
                f"{reading.card_count} cards, and lately there were {stored.longest_list}",
            )
    unreadable = len(reading.unreadable)
    if is_large_part(unreadable, reading.listed, max_unreadable, least=3):
        reasons = Counter(f"{r.field}: {r.reason}" for r in reading.unreadable).most_common(3)
        named = "; ".join(f"{count} {reason}" for reason, count in reasons)
        return "withheld", f"{unreadable} of {reading.listed} records are unreadable ({named})"
    had, lose = count_lost_photos(stored, reading, changes)
    if is_large_part(lose, had, 1 / 5):
        return "withheld", f"{lose} of {had} persons would lose their photo"
    return "ok", None


def is_large_part(count: int, whole: int, share: float, least: int = 5) -> bool:
    """Whether `count` of `whole` are more than a coincidence: at least `least`, over `share`."""
    return count >= least and count > share * whole


def kinds_of(leave: set[str], reading: Reading) -> str:
    """How many of those who leave are stamped, gone, excluded or absent."""
    kinds = {"stamped": reading.stamped, "gone": reading.gone, "excluded": reading.excluded}
    counts = {kind: len(leave & ids_of(records)) for kind, records in kinds.items()}
    counts["absent"] = len(leave) - sum(counts.values())
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def count_lost_photos(stored: Stored, reading: Reading, changes: Changes) -> tuple[int, int]:
    """How many stored persons have a photo of their own, and how many of these would lose it: to
    the placeholder, or to an image that SHARE_PHOTO or more would share."""
    shared = Counter(person.foto for person in reading.persons.values())
    had = [p for p in stored.persons.values() if p.foto != reading.placeholder]
    lose = 0
    for person in had:
        now = reading.persons.get(changes.moved.get(person.id, person.id))
        if now and now.foto != person.foto:
            lose += now.foto == reading.placeholder or shared[now.foto] >= SHARE_PHOTO
    return len(had), lose


def only_removals(stored: Stored, changes: Changes) -> Changes:
    """`changes` without additions, changes and moves, which wait."""
    removed = changes.found | changes.erased
    stay = [person for id, person in stored.persons.items() if id not in removed]
    return replace(changes, persons=stay, added=set(), changed=set(), moved={})
