"""Compare words, names and places as people do: without case, accents and order.

Every module may import this one; it imports nothing of ours.
"""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache


def unaccented(text: str) -> str:
    """`text` without accents and invisible characters."""
    letters = unicodedata.normalize("NFKD", text.replace("\u0131", "i"))  # Turkish
    return "".join(c for c in letters if unicodedata.category(c) not in ("Mn", "Cf"))


def comparable(text: str) -> str:
    """`text` for comparing words: without case, accents, colons, full stops, repeated spaces."""
    return " ".join(re.sub("[:.]", "", unaccented(text.casefold())).split())


@lru_cache(maxsize=20_000)  # on a bad night each name is compared with many
def name_words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", unaccented(name.casefold())))


def name_key(name: str) -> tuple[str, ...]:
    """The words of a name, sorted: some registers write the surname first."""
    return tuple(sorted(name_words(name)))


def long_words(name: str) -> tuple[str, ...]:
    """The words of a name, sorted, if two have three letters or more; else none: many have it."""
    words = name_key(name)
    return words if sum(len(word) > 2 for word in words) > 1 else ()


def keyed_hash(key: bytes, *texts: str) -> str:
    """A hash that says nothing of `texts` to whoever lacks `key`; "" for no text."""
    text = "\n".join(texts).encode()
    return hashlib.blake2b(text, key=key, digest_size=16).hexdigest() if texts else ""


def names_agree(one: str, other: str, at_least: int = 2) -> bool:
    """Whether two names can be one person's: all words of the shorter, `at_least` so many, are in
    the longer, in any order; a last word that is cut before an ellipsis counts. Equal names
    agree."""
    short, long = sorted((one, other), key=lambda name: (len(name_words(name)), not is_cut(name)))
    *whole, last = name_words(short) or [""]
    words = name_words(long)
    is_there = last in words or (is_cut(short) and any(word.startswith(last) for word in words))
    enough = len(whole) + 1 >= at_least or name_key(one) == name_key(other)
    return enough and is_there and set(whole) <= set(words)


def is_cut(name: str) -> bool:
    return bool(name_words(name)) and name.rstrip().endswith(("…", "..."))


def share_a_word(one: str, other: str) -> bool:
    return not set(name_words(one)).isdisjoint(name_words(other))


class NameIndex:
    """Finds the names that agree with a name, without comparing it with each of thousands: of two
    names that agree, the longer has the shorter's rarest word."""

    def __init__(self, names: Mapping[str, str]):
        self.names = names  # by id
        self.count = Counter(word for name in names.values() for word in whole_words(name))
        self.by_word: dict[str, list[str]] = defaultdict(list)
        self.by_rarest: dict[str, list[str]] = defaultdict(list)
        for id, name in names.items():
            for word in whole_words(name):
                self.by_word[word].append(id)
            self.by_rarest[self.rarest(name)].append(id)

    def rarest(self, name: str) -> str:
        return min(whole_words(name), key=self.count.__getitem__, default="")

    def agreeing(self, name: str, but: Container[str] = ()) -> Iterator[str]:
        """The ids of the names that agree with `name`, but those in `but`."""
        longer = self.by_word.get(self.rarest(name), [])
        shorter = (id for word in whole_words(name) for id in self.by_rarest.get(word, []))
        either = dict.fromkeys((*longer, *shorter))
        return (id for id in either if id not in but and names_agree(name, self.names[id]))


def whole_words(name: str) -> tuple[str, ...]:
    """The words of a name, but one that is cut before an ellipsis."""
    return name_words(name)[:-1] if is_cut(name) else name_words(name)


def region_of(place: str) -> str:
    """The part of a place after its last comma, comparable: "salta" of "Orán, Salta"."""
    return comparable(place.rpartition(",")[2]) if place else ""
