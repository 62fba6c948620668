"""From a text to a name, a place, a date or an age.

Each function is pure, and returns None where the text has no such value.
"""

import html
import re
from datetime import date
from typing import NamedTuple

from person import comparable

# Control characters, bidirectional overrides, characters without width: no part of a name.
INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
MARKUP = re.compile(r"</?[a-zA-Z!][^<>]*>")
# U+FFFD stands for bytes that are wrong in the page's encoding, a surrogate for a JSON text that
# was cut within a character.
BROKEN = re.compile("[\ufffd\ud800-\udfff]")
LONGEST_NAME = 200

MONTH = r"(?P<name>[^\W\d_]{3,})\.?"
DATES = (
    r"(?P<y>\d{4})-(?P<m>\d\d?)-(?P<d>\d\d?)",
    # 01/ 08/ 2016, 8-3-24, 2.1.2006.; registers sometimes forget a separator: 23/102024
    r"(?P<d>\d\d?)\s*[/.-]\s*(?P<m>\d\d?)\s*(?:[/.-]\s*(?P<y>\d{4}|\d\d)|(?P<y2>\d{4}))",
    # 8 de Marzo de 2014, 18 de septiembre del año 2006, 3 ene. 2020, 8-Mar-2014
    rf"(?P<d>\d\d?)[º°.]?(?:\s+de)?[\s-]+{MONTH},?(?:\s+(?:del?|año))*[\s-]+(?P<y>\d{{4}})",
    # March 8, 2014; Sat Mar 08 12:00:00 CET 2014
    rf"{MONTH}\s+(?P<d>\d\d?)(?:st|nd|rd|th)?(?:,|\s+[\d:]+\s+\w+)?\s+(?P<y>\d{{4}})",
)
FIRST_DAY = date(1900, 1, 1)

NUMBER_AND_UNIT = re.compile(r"(?<!\d)(\d{1,3}(?:[.,]\d+)?)(?!\d)\s*([^\W\d_]*)")
# "12-14", "12 / 14", "12 y 14", "3 a 5": the ages of several children, or a guess
TWO_AGES = re.compile(r"\d\s*(?:[-\u2013/,]|\b[yeoua]\b)\s*\d")
ZERO_FRACTION = re.compile(r"[.,]0+\b")
SHORT_UNITS = ("dia", "semana", "hora")
OLDEST = 120


class Age(NamedTuple):
    """An age in years, or in months."""

    number: int
    in_months: bool

    @property
    def years(self) -> int:
        return self.number // 12 if self.in_months else self.number

    def __str__(self) -> str:
        if self.in_months:
            return "1 mes" if self.number == 1 else f"{self.number} meses"
        return "1 año" if self.number == 1 else f"{self.number} años"


def clean(text: str) -> str:
    """`text` on one line, without markup, entities, invisible characters, repeated spaces."""
    text = MARKUP.sub(" ", html.unescape(text))
    text = INVISIBLE.sub("", " ".join(text.split()))
    return " ".join(text.split())


def read_name(text: str) -> str | None:
    """`text` cleaned; None without a letter, with broken characters, or over LONGEST_NAME."""
    name = clean(text)
    if not any(c.isalpha() for c in name) or len(name) > LONGEST_NAME or BROKEN.search(name):
        return None
    return name


def read_place(text: str) -> str | None:
    """A name whose commas are followed by one space, without empty parts: "Orán, Salta"."""
    return read_name(re.sub(r"(?: ?, ?)+", ", ", clean(text)).strip(" ,"))


def read_date(text: str, months: tuple[str, ...], today: date) -> date | None:
    """The first date in `text`, day before month; None where that is not a real date from 1900
    to `today`. `months` are the twelve names that the register uses."""
    text = clean(text)
    matches = [re.search(rf"(?<![^\W_]){form}(?!\d)", text, re.IGNORECASE) for form in DATES]
    first = min(filter(None, matches), key=re.Match.start, default=None)
    if first is None:
        return None
    part = first.groupdict()
    month = int(part["m"]) if part.get("m") else month_number(part["name"], months)
    try:
        day = date(full_year(part["y"] or part["y2"], today), month, int(part["d"]))
    except ValueError:
        return None
    return day if FIRST_DAY <= day <= today else None


def full_year(digits: str, today: date) -> int:
    """The year of two or four digits; of two, the latest such year that has begun."""
    year = int(digits)
    if len(digits) == 2:
        year += 2000 if 2000 + year <= today.year else 1900
    return year


def month_number(word: str, months: tuple[str, ...]) -> int:
    """1 to 12 for a month's name or its beginning, 0 for another word."""
    word = comparable(word).replace("setiembre", "septiembre")
    return next((i for i, month in enumerate(months, 1) if comparable(month).startswith(word)), 0)


def read_age(text: str, month_words: tuple[str, ...]) -> Age | None:
    """The number and unit in `text`, in months where the unit is one of `month_words`.

    None for two ages ("12 y 14 años", "3 a 5 meses"), for fractions, for days and weeks, and for
    a unit of one letter."""
    text = clean(text).casefold()
    ages = NUMBER_AND_UNIT.findall(text)
    if not ages or TWO_AGES.search(ZERO_FRACTION.sub("", text)):
        return None
    (number, unit), *others = [(number, comparable(unit)) for number, unit in ages]
    years, _, fraction = number.replace(",", ".").partition(".")
    if fraction.strip("0") or int(years) > OLDEST:
        return None
    if len(unit) == 1 or unit.startswith(SHORT_UNITS):
        return None
    if unit and unit in (other for _, other in others):  # 12 años y 14 años
        return None
    return Age(int(years), unit in map(comparable, month_words))


def age_between(born: date, day: date) -> Age | None:
    """The age on `day`, in months before the first birthday."""
    if born > day:
        return None
    months = (day.year - born.year) * 12 + day.month - born.month - (day.day < born.day)
    return Age(months, True) if months < 12 else Age(months // 12, False)
