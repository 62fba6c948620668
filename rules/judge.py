"""Whether a reading can be believed: ok, refused or withheld, and why. Pure.

Stored + Reading --compare--> Changes --judge--> ok, refused or withheld
"""

from collections import Counter
from dataclasses import replace

from model import Changes, Hidden, Reading, Stored
from rules.compare import compare, is_overdue
from rules.matching import Persons

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
    left, lately = len(changes.left), len(stored.left_lately - changes.relisted)
    is_large = is_large_part(left + lately, len(stored.persons) + lately, 1 / 3)
    if left and is_large and not is_overdue(stored):
        count = Counter(changes.left.values())
        kinds = (kind for kind in ("stamped", "gone", "excluded", "absent") if count[kind])
        named = ", ".join(f"{count[kind]} {kind}" for kind in kinds)
        also = f", and {lately} left in the last 7 days" if lately else ""
        return "refused", f"{left} of {len(stored.persons)} would leave ({named}){also}"
    # Whoever was one child and is several now may be misread: `several` may match dates.
    misread = [
        record for record in reading.several if record.id in changes.unread & changes.persons.keys()
    ]
    unreadable, listed = reading.unreadable + misread, reading.listed + len(misread)
    if is_large_part(len(unreadable), listed, max_unreadable, least=3):
        reasons = Counter(f"{r.field}: {r.reason}" for r in unreadable).most_common(3)
        named = "; ".join(f"{count} {reason}" for reason, count in reasons)
        return "withheld", f"{len(unreadable)} of {listed} records are unreadable ({named})"
    had, lose = count_lost_photos(stored, reading, changes)
    if is_large_part(lose, had, 1 / 5):
        return "withheld", f"{lose} of {had} persons would lose their photo"
    return "ok", None


def is_large_part(count: int, whole: int, share: float, least: int = 5) -> bool:
    """Whether `count` of `whole` are more than a coincidence: at least `least`, over `share`."""
    return count >= least and count > share * whole


def count_lost_photos(stored: Stored, reading: Reading, changes: Changes) -> tuple[int, int]:
    """How many stored persons have a photo of their own, and how many of these would lose it, to
    the placeholder or to an image that SHARE_PHOTO or more have."""

    def with_photo(persons: Persons) -> set[str]:
        count = Counter(person.foto for person in persons.values())
        own = {foto for foto in count if foto != reading.placeholder and count[foto] < SHARE_PHOTO}
        return {id for id, person in persons.items() if person.foto in own}

    had, have = with_photo(stored.persons), with_photo(changes.persons)
    stay = had - changes.left.keys() - changes.erased
    now = {changes.moved.get(id, id) for id in stay}
    return len(had), len(now & changes.persons.keys() - have)


def only_removals(stored: Stored, changes: Changes) -> Changes:
    """`changes` without additions, changes, moves and erased doubles, which wait."""
    removals = replace(changes, moved={}, added=set(), changed=set(), former=stored.former)
    removals.erased = changes.erased - changes.doubles
    removals.stamped = stored.stamped | changes.stamped
    removed = changes.left.keys() | removals.erased
    removals.persons = {id: row for id, row in stored.persons.items() if id not in removed}
    return removals
