"""What a way yields in a card, how stamps match, and which parts of a profile match nothing."""

import pytest
from bs4 import BeautifulSoup
from msgspec.structs import replace

from scrape.profile import Way
from scrape.ways import Usage
from support.register import Listed, Register, slugs
from support.scrape import edit_profile, read

pytestmark = pytest.mark.no_sockets
CARD = BeautifulSoup(
    """<div class=c><h2>Ana</h2><h3>Inventada</h3><p>En Salta, provincia de Prueba, hoy</p>
    <img class="x y" src="" data-original="/a.jpg"><i style="background: url('//h/b.jpg')"></i>
    <meta content="2024-02-01"></div>""",
    "html5lib",
)


@pytest.mark.parametrize(
    ("way", "text"),
    [
        (Way(card="h2"), "Ana"),
        (Way(card=("h2", "h3")), "Ana Inventada"),
        (Way(card=("h2", "h4", "h3"), join="-"), "Ana-Inventada"),
        (Way(card="h2, h3"), "Ana"),
        (Way(card="h4"), ""),
        (Way(card="", pattern="inventada"), "Inventada"),
        (Way(card="p", pattern="en ([^,]+), provincia de ([^,]+)", join=", "), "Salta, Prueba"),
        (Way(card="p", pattern="(nada)?En"), ""),
        (Way(card="h2, h3", pattern="Inv.*"), "Inventada"),
        (Way(card="img", attr="src"), ""),
        (Way(card="img", attr="data-original"), "/a.jpg"),
        (Way(card="img", attr="class"), "x y"),
        (Way(card="i", attr="style", pattern=r"url\('?(.+?)'?\)"), "//h/b.jpg"),
        (Way(card="meta", attr="content"), "2024-02-01"),
    ],
)
def test_a_way(way: Way, text: str) -> None:
    assert Usage().extract(way, CARD) == text


@pytest.mark.parametrize(
    ("way", "values", "text"),
    [
        (Way(card=("a", "b"), join=", "), ("Orán", "sin datos"), "Orán"),
        (Way(card=("a", "b"), join=", "), ("SIN DATOS.", "Salta"), "Salta"),
        (Way(card=("a", "b"), join=", ", pattern="^[a-z]+"), ("Sin datos", "Salta 1"), "Salta"),
        (
            Way(card=("a", "b"), join=", ", pattern=": (.+)"),
            ("en: Sin datos", "en: Salta"),
            "Salta",
        ),
        (Way(card=("a", "b"), pattern="^(.+) [(]"), ("Orán (Salta)", "Salta"), "Orán"),
        (Way(card=("a", "b"), pattern="Orán.+Salta"), ("Orán", "Salta"), ""),
    ],
)
def test_pattern_and_missing_apply_to_each_place_before_joining(
    way: Way, values: tuple[str, str], text: str
) -> None:
    usage = Usage(missing=("Sin datos",))
    html = BeautifulSoup("<a>{}</a><b>{}</b>".format(*values), "html5lib")
    assert usage.extract(way, html) == text
    assert usage.extract(way, dict(zip("ab", values, strict=True))) == text
    assert usage.extract(replace(way, card="l", join=way.separator), {"l": [*values]}) == text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", " \r\n\r\n ", "<br>", "<br>\r\n"])
@pytest.mark.parametrize("head", ["Niña", "Niña de <5 años"])
def test_the_lines_of_a_json_text_are_those_of_a_page(end: str, head: str) -> None:
    text = end.join((head, "Lugar:", "Villa  Inventada", ""))
    for pattern, kept in ((r"Lugar:\n(.+)", "Villa Inventada"), (r"^Lugar", ""), (r"años$", "")):
        assert Usage().extract(Way(card="a", pattern=pattern), {"a": text}) == kept


STAMPS = BeautifulSoup("<b> FUE  ENCONTRADA</b><img alt='FUE&nbsp;ENCONTRADA'><u></u>", "html5lib")


@pytest.mark.parametrize(
    ("way", "there"),
    [
        (Way(card="b", pattern="FUE (SIDO )?ENCONTRAD[AO]"), True),
        (Way(card="b", pattern="fue encontrad[ao]( con vida)?"), True),
        (Way(card="img", attr="alt", pattern="FUE ENCONTRADA"), True),
        (Way(card="u"), True),
        (Way(card="u", pattern="x"), False),
        (Way(card="img", attr="title"), False),
        (Way(card="s"), False),
    ],
)
def test_a_stamp(way: Way, there: bool) -> None:
    assert bool(Usage().find_stamp((way,), STAMPS)) == there


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('card = "li"', 'card = "article"', "card: matches nothing anywhere"),
        ('next = "a.next"', 'next = "a.more"', "next: matches nothing anywhere"),
        ('no_photo = "sin_foto"', 'no_photo = "x"', "no_photo: matches nothing"),
        ('[{ file = "img", attr = "src" }]', '[{ file = "i" }]', "fields.foto[0]: matches nothing"),
        ('label = "Edad"', 'label = "Años"', "fields.edad[0]: its place is there, but"),
        ('nombre = [{ card = "a" }]', 'nombre = [{ card = "a", pattern = "z{9}" }, { card = "a" }]',
         "fields.nombre[0]: its place is there, but not"),
        ('attr = "src"', 'attr = "data-src"', "fields.foto[0]: its place is there, but not"),
        ('card = "b"', 'card = "u"', "pass_over[0]: matches nothing"),
    ],
)  # fmt: skip
def test_a_part_of_a_profile_that_matches_nothing_is_named(
    register: Register, old: str, new: str, line: str
) -> None:
    ana = Listed("ana", stamp="FUE ENCONTRADA")
    register.publish([ana, Listed("eva", foto="/sin_foto.png"), *slugs(3)], per_page=3)
    assert not any(read(register).parts.values())
    edit_profile(register, old, new)
    parts = read(register).parts
    assert line in "\n".join(f"{part}: {fault}" for part, fault in parts.items())


def test_a_dry_run_tells_what_matches_nothing(register: Register) -> None:
    register.publish(slugs(3))
    assert "in the profile: next: matches nothing anywhere" in register.sync("--dry-run").stdout
