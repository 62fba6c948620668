"""What a way of the profile yields in a card, a file page or a JSON record, and how far it got.

    way, scope --extract--> text, Match        (fields)
    way, scope --match_stamp--> text, Match    (pass_over)
    way, scope --extract_all--> texts, Match   (last_page, total)

These functions keep no state; their callers note each Match in a Usage.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import product
from typing import Any

import soupsieve
from bs4 import Tag

from model import comparable, unaccented
from scrape.profile import Profile, Texts, Way, as_tuple
from scrape.text import NOT_TEXT, after_label, json_text, value_at, visible_text

Scope = Any  # a Tag, or a JSON value


class Match(IntEnum):
    """How far a way got."""

    NO_PLACE = 0  # no element matches its selector, no value stands at its path
    PLACE_ONLY = 1  # its place is there, but not its label, pattern or text
    COMPLETE = 2


UNUSED = {
    Match.NO_PLACE: "matches nothing anywhere",
    Match.PLACE_ONLY: "its place is there, but not its label, pattern or text",
}


@dataclass
class Usage:
    """What a reading has used of its profile so far."""

    matches: dict[Way, Match] = field(default_factory=dict)  # the best of each way that was tried
    keys: set[str] = field(default_factory=set)  # which of `card`, `next`, `no_photo` matched
    unread_ages: set[str] = field(default_factory=set)  # cards whose birth date served instead

    def note(self, way: Way, match: Match) -> None:
        self.matches[way] = max(match, self.matches.get(way, Match.NO_PLACE))


def profile_parts(profile: Profile, usage: Usage) -> dict[str, str]:
    """Each part of the profile that was tried, such as `fields.edad[0]`, and how it failed to
    match anything, or ""."""
    keys = [key for key in ("card", "next", "no_photo") if getattr(profile, key)]
    parts = {key: "" if key in usage.keys else UNUSED[Match.NO_PLACE] for key in keys}
    for name, ways in profile.way_lists.items():
        for i, way in enumerate(ways):
            if way in usage.matches:
                parts[f"{name}[{i}]"] = UNUSED.get(usage.matches[way], "")
    if count := len(usage.unread_ages):
        parts["fields.edad"] = f"{count} ages cannot be read, so the birth date was used"
    return parts


def extract(way: Way, scope: Scope, missing: Texts = ()) -> tuple[str, Match]:
    """What `way` yields in `scope`: of each place and label the first text, joined; or "".

    Of a JSON list all texts are joined, if the way has a `join`; otherwise, and where an object
    is, NOT_TEXT. `missing` are texts that count as nothing."""
    pieces = []
    match = Match.NO_PLACE
    for place, label in product(way.places, way.labels):
        texts = []
        for text in texts_at(way, scope, place, label):
            match = max(match, Match.PLACE_ONLY)
            if text == NOT_TEXT:
                return NOT_TEXT, match
            if kept := keep(way, text, missing):
                texts.append(kept)
                if isinstance(scope, Tag):
                    break
        if len(texts) > 1 and way.join is None:
            return NOT_TEXT, match
        pieces += texts
    if not pieces:
        return "", match
    return way.template.replace("{}", way.separator.join(pieces)), Match.COMPLETE


def extract_all(way: Way, scope: Scope, missing: Texts = ()) -> tuple[list[str], Match]:
    """Every text that `way` yields in `scope`, not joined."""
    steps = product(way.places, way.labels)
    texts = [text for step in steps for text in texts_at(way, scope, *step)]
    kept = [text for text in (keep(way, text, missing) for text in texts) if text]
    if kept:
        return kept, Match.COMPLETE
    return [], Match.PLACE_ONLY if texts else Match.NO_PLACE


def find_stamp(ways: tuple[Way, ...], scope: Scope, usage: Usage) -> str:
    """The first text in `scope` that one of `ways`, of pass_over, takes for a stamp, or ""."""
    stamp = ""
    for way in ways:
        text, match = match_stamp(way, scope)
        usage.note(way, match)
        stamp = stamp or text
    return stamp


def match_stamp(way: Way, scope: Scope) -> tuple[str, Match]:
    """The text that the way's pattern matches; without a pattern any text but "false" and "0", or
    the element itself if the way is only a selector; NOT_TEXT for an object. Compared on one line,
    without case, accents, invisible characters."""
    bare = not way.pattern and not way.label and not way.attr and isinstance(scope, Tag)
    pattern = unaccented(way.pattern or r"^(?!(?:false|0)$)\S")
    match = Match.NO_PLACE
    for place, label in product(way.places, way.labels):
        for text in texts_at(way, scope, place, label):
            if text == NOT_TEXT:
                return NOT_TEXT, Match.PLACE_ONLY
            line = " ".join(unaccented(text).split())
            if bare or re.search(pattern, line, re.IGNORECASE):
                return line or "an element without text", Match.COMPLETE
            match = Match.PLACE_ONLY
    return "", match


def texts_at(way: Way, scope: Scope, place: str, label: str | None) -> Iterator[str]:
    """The texts at a place of `way`: one for each element, label or value there."""
    if not isinstance(scope, Tag):
        value = value_at(scope, place)
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield fold(json_text(item))
        return
    for element in soupsieve.iselect(place, scope) if place else [scope]:
        if way.attr is not None:
            value = element.get(way.attr) or ""
            yield fold(value if isinstance(value, str) else " ".join(value))
        elif label is not None:
            yield from after_label(element, label)
            yield ""  # the place is there, if not the label
        else:
            yield visible_text(element)


def fold(text: str) -> str:
    """`text` with the spaces of each line folded."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def keep(way: Way, text: str, missing: Texts) -> str:
    """The part of `text` that the way's pattern keeps; "" for one of `missing`."""
    kept = text.strip()
    if way.pattern is not None:
        match = re.search(way.pattern, text, re.IGNORECASE)
        groups = (match.groups() or (match[0],)) if match else ()
        kept = way.separator.join(group.strip() for group in groups if group)
    if missing and comparable(kept) in map(comparable, as_tuple(missing)):
        return ""
    return kept
