"""Names, places, dates and ages, read from texts."""

from datetime import date

import pytest

from scrape.profile import MONTHS
from scrape.values import Age, age_between, clean, read_age, read_date, read_name, read_place

TODAY = date(2026, 1, 31)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  Ana\xa0 \n María ", "Ana María"),
        ("Ana &amp;amp; &lt;b&gt;María&lt;/b&gt;", "Ana & María"),
        ("A\u202ena\u200b Ma\u00adría\x07", "Ana María"),
        ("a < b > c", "a < b > c"),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    assert clean(clean(text)) == cleaned


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ELIAN  SUPUESTO", "ELIAN SUPUESTO"),
        ("Jos\ud83d Prueba", None),
        ("An\ufffd Prueba", None),
        ("---", None),
        ("x" * 201, None),
        ("<b></b>", None),
    ],
)
def test_read_name(text: str, name: str | None) -> None:
    assert read_name(text) == name


@pytest.mark.parametrize(
    ("text", "place"),
    [("Salta ,  Jujuy", "Salta, Jujuy"), (", Jujuy", "Jujuy"), ("Salta,", "Salta"), (",", None)],
)
def test_read_place(text: str, place: str | None) -> None:
    assert read_place(text) == place


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("01/02/2024", date(2024, 2, 1)),
        ("1-2-2024", date(2024, 2, 1)),
        ("2.1.2006. godine", date(2006, 1, 2)),
        ("01/ 08/ 2016", date(2016, 8, 1)),
        ("23/102024", date(2024, 10, 23)),
        ("03/09/19", date(2019, 9, 3)),
        ("03/09/98", date(1998, 9, 3)),
        ("2024-02-01T10:00:00Z", date(2024, 2, 1)),
        ("12/08/2024 12:00:00 a.m.", date(2024, 8, 12)),
        ("3/07/24 07:30", date(2024, 7, 3)),
        ("el día 8 de Marzo de 2014 en", date(2014, 3, 8)),
        ("18 de septiembre del año 2006", date(2006, 9, 18)),
        ("1º de setiembre de 2006", date(2006, 9, 1)),
        ("3 ene. 2020", date(2020, 1, 3)),
        ("8-Mar-2014", date(2014, 3, 8)),
        ("marzo 8, 2014", date(2014, 3, 8)),
        ("Abril 8, 2014 12:00:00 AM", date(2014, 4, 8)),
        ("Sat Mar 08 00:00:00 CET 2014", date(2014, 3, 8)),
        ("Sat, 08 Mar 2014 00:00:00 GMT", date(2014, 3, 8)),
        ("8 DE MARZO DE 2024, publicado 2024-04-01", date(2024, 3, 8)),
        ("31/01/2026", TODAY),
        ("01/02/2026", None),
        ("31/02/2024", None),
        ("29/02/2023", None),
        ("31/02/2024, es decir 01/03/2024", None),
        ("8 de mayonesa de 2014", None),
        ("00/00/0000", None),
        ("01/01/0024", None),
        ("12/08", None),
        ("", None),
    ],
)
def test_read_date(text: str, day: date | None) -> None:
    assert read_date(text, MONTHS, TODAY) == day


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("15 AÑOS", "15 años"),
        ("8", "8 años"),
        ("1 año", "1 año"),
        ("1 año y 6 meses", "1 año"),
        ("EDAD: 7 Meses", "7 meses"),
        ("1 mes", "1 mes"),
        ("0 años", "0 años"),
        ("3 días", None),
        ("2 semanas", None),
        ("12 y 14 años", None),
        ("12-14 años", None),
        ("12 años y 14 años", None),
        ("15 o 16 años", None),
        ("12 a 14 años", None),
        ("3 a 5 meses", None),
        ("12 / 14", None),
        ("12.0", "12 años"),
        ("12,0 años", "12 años"),
        ("1.8 años", None),
        ("1,5 años", None),
        ("8 m", None),
        ("15 años, 3 meses", "15 años"),
        ("15 años.", "15 años"),
        ("2009", None),
        ("130 años", None),
        ("muchos", None),
    ],
)
def test_read_age(text: str, age: str | None) -> None:
    read = read_age(text, ("mes", "meses"))
    assert (read and str(read)) == age


@pytest.mark.parametrize(
    ("born", "day", "age"),
    [
        (date(2008, 5, 2), date(2023, 8, 1), Age(15, False)),
        (date(2008, 8, 2), date(2023, 8, 1), Age(14, False)),
        (date(2008, 8, 1), date(2023, 8, 1), Age(15, False)),
        (date(2023, 1, 31), date(2023, 2, 28), Age(0, True)),
        (date(2022, 9, 1), date(2023, 8, 1), Age(11, True)),
        (date(2012, 2, 29), date(2013, 2, 28), Age(11, True)),
        (date(2023, 8, 2), date(2023, 8, 1), None),
    ],
)
def test_age_between(born: date, day: date, age: Age | None) -> None:
    assert age_between(born, day) == age
