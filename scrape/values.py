"""From a text to a name, a place, a date or an age; None where the text has no such value."""

import html
import re
from datetime import UTC, date, datetime, time
from typing import NamedTuple

from names import comparable
from scrape.profile import Texts

# Control characters, and what Unicode draws as nothing (Default_Ignorable_Code_Point, but for the
# two joiners that Persian and Hindi write with): no part of a name.
INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
MARKUP = re.compile(r"</?[a-zA-Z!][^<>]*>")
# U+FFFD stands for bytes that are wrong in the page's encoding, a surrogate for a JSON text that
# was cut within a character.
BROKEN = re.compile("[\ufffd\ud800-\udfff]")
LONGEST_NAME = 200

MONTH = r"(?P<name>[^\W\d_]{3,})\.?"
ORDINAL = r"(?:\.?[º°]|\.|e?ro?\.?|st|nd|rd|th)?"
DATES = (
    # 2024-02-01, 2024/03/08 (interpolar), 2009.04.17., 2009. 04. 17.
    r"(?P<y>\d{4})(?P<separator>-|/|\.\s?)(?P<m>\d\d?)(?P=separator)(?P<d>\d\d?)",
    # 01/ 08/ 2016 and 23/102024 (sifebu forgets a separator), 8-3-24, 2.1.2006. (croacia)
    r"(?P<d>\d\d?)\s*[/.-]\s*(?P<m>\d\d?)\s*(?:[/.-]\s*(?P<y>\d{4}|\d\d)|(?P<y2>\d{4}))",
    # 8 de Marzo de 2014, 8 de mayo del año 2006 (sifebu), 3 ene. 2020, 8-Mar-2014, 1ro de mayo
    rf"(?P<d>\d\d?){ORDINAL}(?:\s+de)?[\s-]+{MONTH},?(?:\s+(?:del?|año))*[\s-]+(?P<y>\d{{4}})",
    # March 8, 2014 (cndes); Sat Mar 08 12:00:00 CET 2014
    rf"{MONTH}\s+(?P<d>\d\d?){ORDINAL}(?:,|\s+[\d:]+\s+\w+)?\s+(?P<y>\d{{4}})",
)
# 2024. március 5., 2024 March 8
YEAR_FIRST = re.compile(rf"\b(?P<y>\d{{4}})\.?\s+{MONTH}\s+(?P<d>\d\d?)\b")
EPOCH = re.compile(r"\d{10}|(?!20)\d{12}|\d{13}")  # in seconds or ms; 202403081200 is neither
UTC_TIME = re.compile(r"(?:19|20)\d\d-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|\+00(?::?00)?)(?![\d:])")
FIRST_DAY = date(1900, 1, 1)

# "15 años", "15-year-old", "8 (ocho) meses"
NUMBER_AND_UNIT = re.compile(
    r"(?<!\d)(\d{1,3}(?:[.,]\d+)?)(?!\d)(?:-|\s*)(?:\([^()\d]{3,}\)\s*)?([^\W\d_]*)"
)
# "12-14", "12 / 14", "12 y 14", "3 a 5": the ages of several children, or a guess
TWO_AGES = re.compile(r"\d\s*(?:[-\u2013/,]|\b[yeoua]\b)\s*\d")
ZERO_FRACTION = re.compile(r"[.,]0+\b")
# Units in the languages of Europe and the Americas, as comparable() writes them.
YEARS = """an ani anio anios anni anno annee annees ano anos ans any anys ar arig arige ev eves
    godina godine godinu jaar jahr jahre jahren jahrig jahrige jarig lat lata let leta leti leto rok
    roku roky rokov vuotta vuotias yas yasinda year years yo yr yrs"""
MONTHS = """ay aylik honap honapos kuukautta luni maand maanden manad manader maned maneder mes mese
    mesec meseca meseci mesecev meses mesi mesiac mesiace mesiacov mesic mesice mesicu mesos miesiac
    miesiace miesiecy mjesec mjeseca mjeseci mo mois monat monate monaten month months mos"""
OLDEST = 120


class Age(NamedTuple):
    """An age in years, or in months."""

    number: int
    in_months: bool

    @property
    def years(self) -> int:
        return self.number // 12 if self.in_months else self.number

    def __str__(self) -> str:
        one, many = ("mes", "meses") if self.in_months else ("año", "años")
        return f"{self.number} {one if self.number == 1 else many}"


def clean(text: str) -> str:
    """`text` on one line, without markup, entities, invisible characters, repeated spaces."""
    line = INVISIBLE.sub("", " ".join(html.unescape(text).split()))
    return " ".join(MARKUP.sub(" ", line).split())


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
    try:
        if EPOCH.fullmatch(text):
            text = str(datetime.fromtimestamp(int(text) // (1000 if text[10:] else 1), UTC))
        text = UTC_TIME.sub(local_day, text)
        matches = [re.search(rf"(?<![^\W_]){form}(?!\d)", text, re.IGNORECASE) for form in DATES]
        # A word after a year is often no month: "Ficha 2024 Fecha 12/08/2024".
        matches += [m for m in YEAR_FIRST.finditer(text) if month_number(m["name"], months)]
        first = min(filter(None, matches), key=re.Match.start, default=None)
        if first is None:
            return None
        part = first.groupdict()
        month = int(part["m"]) if part.get("m") else month_number(part["name"], months)
        day = date(full_year(part["y"] or part["y2"], today), month, int(part["d"]))
    except ValueError:
        return None
    return day if FIRST_DAY <= day <= today else None


def local_day(match: re.Match[str]) -> str:
    """The day in the process's time zone of a time in UTC. Midnight stands for a day that was
    written without a time: it is the same day in every zone."""
    moment = datetime.fromisoformat(match[0])
    return str((moment if moment.time() == time() else moment.astimezone()).date())


def full_year(digits: str, today: date) -> int:
    """The year of two or four digits; of two, the latest such year that has begun."""
    year = int(digits)
    if len(digits) == 2:
        year += 2000 if 2000 + year <= today.year else 1900
    return year


def month_number(word: str, months: tuple[str, ...]) -> int:
    """1 to 12 for a month's name or its beginning, 0 for another word."""
    word = comparable(word)
    words = (word, word.replace("set", "sept"))  # Peru writes setiembre
    return next((i for i, name in enumerate(months, 1) if comparable(name).startswith(words)), 0)


def read_age(text: str, month_words: Texts = (), year_words: Texts = ()) -> Age | None:
    """The first age in `text`, in years where the number has no unit; the words are units besides
    MONTHS and YEARS. None for two ages ("12 y 14 años", "3 a 5 meses"), fractions, other units."""
    text = clean(text).casefold()
    ages = NUMBER_AND_UNIT.findall(text)
    if not ages or text.startswith("-") or TWO_AGES.search(ZERO_FRACTION.sub("", text)):
        return None
    (number, unit), *others = [(number, comparable(unit)) for number, unit in ages]
    whole, _, fraction = number.replace(",", ".").partition(".")
    if fraction.strip("0") or int(whole) > OLDEST:
        return None
    months = {*MONTHS.split(), *map(comparable, month_words)}
    years = {*YEARS.split(), *map(comparable, year_words)}
    if unit not in {"", *years, *months}:
        return None
    if not unit and months & set(re.findall(r"[^\W\d_]+", comparable(text))):  # Meses: 8
        return None
    if {other for _, other in others} & (years | months if unit in months else years):
        return None  # 12 años y 14 años
    return Age(int(whole), unit in months)


def age_between(born: date, day: date) -> Age | None:
    """The age on `day`, in months before the first birthday."""
    if born > day:
        return None
    months = (day.year - born.year) * 12 + day.month - born.month - (day.day < born.day)
    return Age(months, True) if months < 12 else Age(months // 12, False)
