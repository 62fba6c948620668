"""Compare words, names and places as people do: without case, accents and order.

Every module may import this one; it imports nothing of ours.
"""

import re
import unicodedata
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


def names_agree(one: str, other: str, may_be_cut: bool = True) -> bool:
    """Whether two names can be one person's: all words of the shorter are in the longer, in any
    order. Its last word may be cut before an ellipsis or, if `may_be_cut`, by two letters or more
    (so Luis is not Luisa)."""
    short, long = sorted((one, other), key=lambda name: len("".join(name_words(name))))
    *whole, last = name_words(short) or [""]
    words = set(name_words(long))
    ends = {last} & words
    is_cut = short.rstrip().endswith(("…", "..."))
    if is_cut or may_be_cut:
        shortest = len(last) + (1 if is_cut else 2)
        ends |= {word for word in words if word.startswith(last) and len(word) >= shortest}
    return set(whole) <= words and bool(ends)


def region_of(place: str) -> str:
    """The part of a place after its last comma, comparable: "Orán, Salta" and "SALTA" are both
    "salta"."""
    return comparable(place.rpartition(",")[2]) if place else ""
