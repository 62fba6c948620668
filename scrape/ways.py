"""What a profile's ways yield in a card, a file page or a JSON record, and how far they got."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

import soupsieve
from bs4 import Tag

from names import comparable, unaccented
from scrape.document import NOT_TEXT, after_label, fold_lines, json_text, value_at, visible_text
from scrape.profile import Profile, Texts, Way

ANY_STAMP = r"^(?!(?:false|0)$)\S"  # APIs write false or 0 for none: test_a_stamp_in_a_record
NUMBER = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{3})*(?![0-9])")

Scope = Any  # a Tag, or a JSON value

# How far a way got, and what is wrong then.
NO_PLACE, PLACE_ONLY, COMPLETE = range(3)
FAULTS = ("matches nothing anywhere", "its place is there, but not its label, pattern or text", "")


@dataclass
class Usage:
    """Follows the ways of a profile, and notes what of it has been of use so far."""

    missing: Texts = ()  # texts that count as nothing
    matches: dict[Way, int] = field(default_factory=dict)  # the best of each way that was tried
    keys: set[str] = field(default_factory=set)  # which of `card`, `next`, `no_photo` matched
    unread_ages: set[str] = field(default_factory=set)  # cards whose birth date served instead

    def note(self, way: Way, match: int) -> None:
        self.matches[way] = max(match, self.matches.get(way, NO_PLACE))

    def extract(self, way: Way, scope: Scope) -> str:
        """What `way`, of a field, yields: of each place and label the first text, joined; or "".
        Of a JSON list all texts, if the way has a `join`; else, like an object, it is NOT_TEXT."""
        pieces = []
        for place, label in product(way.places, way.labels):
            texts = (self.matching_part(way, t) for t in self.texts_at(way, scope, place, label))
            kept = [*islice(filter(None, texts), 1 if isinstance(scope, Tag) else None)]
            if NOT_TEXT in kept or (len(kept) > 1 and way.join is None):
                return NOT_TEXT
            pieces += kept
        if not pieces:
            return ""
        self.note(way, COMPLETE)
        return way.template.replace("{}", way.separator.join(pieces))

    def highest_number(self, ways: tuple[Way, ...], scope: Scope) -> int:
        """The highest number that `ways`, of last_page or total, yield, or 0; "1.234" is 1234."""
        numbers = [0]
        for way in ways:
            for text in self.all_texts(way, scope):
                for number in NUMBER.findall(self.matching_part(way, text)):
                    self.note(way, COMPLETE)
                    numbers.append(int(re.sub("[.,]", "", number)))
        return max(numbers)

    def find_stamp(self, ways: tuple[Way, ...], scope: Scope) -> str:
        """The first stamp that one of `ways`, of pass_over, finds, or ""; all are tried."""
        return next(filter(None, [self.match_stamp(way, scope) for way in ways]), "")

    def match_stamp(self, way: Way, scope: Scope) -> str:
        """The text that the way's pattern matches, on one line, without case and accents. Without
        a pattern any text but "false" and "0", or the mere element; NOT_TEXT for an object."""
        bare = not way.pattern and not way.label and not way.attr and isinstance(scope, Tag)
        pattern = unaccented(way.pattern or ANY_STAMP)
        for text in self.all_texts(way, scope):
            if text == NOT_TEXT:
                return NOT_TEXT
            line = " ".join(unaccented(text).split())
            if bare or re.search(pattern, line, re.IGNORECASE):
                self.note(way, COMPLETE)
                return line or "an element without text"
        return ""

    def all_texts(self, way: Way, scope: Scope) -> Iterator[str]:
        for place, label in product(way.places, way.labels):
            yield from self.texts_at(way, scope, place, label)

    def texts_at(self, way: Way, scope: Scope, place: str, label: str | None) -> Iterator[str]:
        """raw_texts(), whose success is noted."""
        self.note(way, NO_PLACE)
        for text in raw_texts(way, scope, place, label):
            self.note(way, PLACE_ONLY)
            yield text

    def matching_part(self, way: Way, text: str) -> str:
        """The part of `text` that the way's pattern matches; "" where one of `missing` is all of
        the text or of the part."""
        if text == NOT_TEXT:
            return NOT_TEXT
        part = text.strip()
        if way.pattern is not None:
            match = re.search(way.pattern, text, re.IGNORECASE)
            groups = (match.groups() or (match[0],)) if match else ()
            part = way.separator.join(group.strip() for group in groups if group)
        missing = {comparable(text) for text in self.missing}
        return "" if missing & {comparable(text), comparable(part)} else part


def profile_parts(profile: Profile, usage: Usage) -> dict[str, str]:
    """Each part of the profile that was tried, such as `fields.edad[0]` -> its fault, or ""."""
    keys = [key for key in ("card", "next", "no_photo") if getattr(profile, key)]
    parts = {key: "" if key in usage.keys else FAULTS[NO_PLACE] for key in keys}
    for name, ways in profile.way_lists.items():
        for i, way in enumerate(ways):
            if way in usage.matches:
                parts[f"{name}[{i}]"] = FAULTS[usage.matches[way]]
    if count := len(usage.unread_ages):
        parts["fields.edad"] = f"{count} ages cannot be read, so the birth date was used"
    return parts


def raw_texts(way: Way, scope: Scope, place: str, label: str | None) -> Iterator[str]:
    """The texts at a place of `way`: one for each element, label or value there."""
    if not isinstance(scope, Tag):
        value = value_at(scope, place)
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                yield fold_lines(json_text(item).splitlines())
        return
    for element in soupsieve.iselect(place, scope) if place else [scope]:
        if way.attr is not None:
            value = element.get(way.attr) or ""
            text = value if isinstance(value, str) else " ".join(value)
            yield fold_lines(text.splitlines())
        elif label is not None:
            yield from after_label(element, label)
            yield ""  # the place is there, if not the label
        else:
            yield visible_text(element)
