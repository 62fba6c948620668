"""Names, places, dates and ages, read from texts."""

import time
from collections.abc import Iterator
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
        ("A\u061cn\u180ea M\u034far\U000e0041ía\ufe0f", "Ana María"),
        ("<\u034fb>Ana</\u034fb>", "Ana"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),  # a joiner is spelling
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
        ("\u3164 \uffa0", None),
        ("\u115f\u1160", None),
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
        ("2009.04.17.", date(2009, 4, 17)),
        ("2009. 04. 17.", date(2009, 4, 17)),
        ("2024/03/08 10:00", date(2024, 3, 8)),
        ("2024. marzo 5.", date(2024, 3, 5)),
        ("el 2024 Marzo 5", date(2024, 3, 5)),
        ("Ficha 2024 Fecha 12/08/2024", date(2024, 8, 12)),
        ("5 set 2019", date(2019, 9, 5)),
        ("5 SET. 2019", date(2019, 9, 5)),
        ("1ro de marzo de 2020", date(2020, 3, 1)),
        ("1er. de marzo de 2020", date(2020, 3, 1)),
        ("marzo 1ro, 2020", date(2020, 3, 1)),
        ("202403081200", None),
        ("9999999999999", None),
        ("2024-03-07T99:00:00Z", None),
        ("0001-01-01T00:01:00Z", None),
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


# fmt: off
HUNGARIAN = ("január", "február", "március", "április", "május", "június", "július", "augusztus",
             "szeptember", "október", "november", "december")
PORTUGUESE = ("janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto",
              "setembro", "outubro", "novembro", "dezembro")
# fmt: on


@pytest.mark.parametrize(
    ("text", "months", "day"),
    [
        ("2024. március 5.", HUNGARIAN, date(2024, 3, 5)),
        ("5 set 2019", PORTUGUESE, date(2019, 9, 5)),
        ("5 de setembro de 2019", PORTUGUESE, date(2019, 9, 5)),
    ],
)
def test_read_date_with_other_months(text: str, months: tuple[str, ...], day: date) -> None:
    assert read_date(text, months, TODAY) == day


@pytest.fixture(params=["Europe/Madrid", "America/Lima", "Pacific/Kiritimati"])
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    """The process's time zone during a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-07T23:00:00Z",
        "2024-03-07T23:00:00.000Z",
        "2024-03-07 23:00+00:00",
        "1709852400000",
        "1709852400",
    ],
)
def test_a_time_in_utc_is_a_day_in_the_local_zone(zone: str, text: str) -> None:
    assert read_date(text, MONTHS, TODAY) == date(2024, 3, 7 if zone == "America/Lima" else 8)


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-08T00:00:00Z",
        "2024-03-08T00:00:00.000+0000",
        "1709856000000",
        "2024-03-08",
        "2024-03-08T23:00:00",
        "2024-03-08T23:00:00-03:00",
        "2024-03-08T01:00:00+00:30",
    ],
)
def test_midnight_in_utc_and_a_time_with_another_offset_keep_their_day(
    zone: str, text: str
) -> None:
    assert read_date(text, MONTHS, TODAY) == date(2024, 3, 8)


def test_an_epoch_before_september_2001() -> None:
    assert read_date("946684800000", MONTHS, TODAY) == date(2000, 1, 1)


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
        ("15 a", None),
        ("1 a 3 m", None),
        ("8 maanden", "8 meses"),
        ("8 Měsíců", "8 meses"),
        ("8-month-old", "8 meses"),
        ("8 (ocho) meses", "8 meses"),
        ("Meses: 8", None),
        ("15 Jahre", "15 años"),
        ("15-jährig", "15 años"),
        ("15 éves", "15 años"),
        ("15 YAŞINDA", "15 años"),
        ("15 days", None),
        ("3 (tres) días", None),
        ("12 to 14", None),
        ("12 bis 14 Jahre", None),
        ("1 año y 14 años", None),
        ("3 meses y 5 meses", None),
        ("12 años y 3 meses", "12 años"),
        ("15 años (quince)", "15 años"),
        ("15 años de edad", "15 años"),
        ("María (15), de Orán", "15 años"),
        ("15 años, 3 meses", "15 años"),
        ("15 años.", "15 años"),
        ("2009", None),
        ("130 años", None),
        ("muchos", None),
    ],
)
def test_read_age(text: str, age: str | None) -> None:
    read = read_age(text)
    assert (read and str(read)) == age


def test_read_age_with_more_units() -> None:
    assert read_age("15 urte", ("hilabete",), ("URTE",)) == Age(15, False)
    assert read_age("8 m", ("M.",), ("a",)) == Age(8, True)
    assert read_age("8 d", ("m",), ("a",)) is None


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
