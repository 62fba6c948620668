"""Reading a register: real registers' pages, the profile language, the fetching."""

import json
import re
import time
from datetime import date
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from conftest import ROOT, TLS, Answer, Listed, Register, Web, slugs

import fetch
import register as reg
from profiles import (
    MONTHS,
    SEVERAL,
    Fields,
    Profile,
    SettingError,
    Way,
    absolute,
    https,
    load_profile,
)
from register import Age

# Each folder holds the pages of a register, made up in a real one's structure, and what a
# correct reading of them gives. Its profile is its own, or the one of registers/.
SAVED = ROOT / "tests" / "registers"
NAMES = sorted(path.name for path in SAVED.iterdir())
# Pages that are not kept as `sync.py --save` names them: what file answers which path.
FILES = {
    "sifebu": {
        "/seguridad/personasextraviadas": "lista-p0",
        "/seguridad/personasextraviadas?page=1": "lista-p1",
        "/persona-buscada/": "ficha-",
    },
    "reniped": {
        "/Desaparecidos/menor_desaparecido": "menor_desaparecido",
        "/Desaparecidos/nota_alerta_menor/": "nota-",
    },
}


def serve_saved(web: Web, name: str) -> str:
    """Serve the saved pages of a register; its profile's text for this server."""
    text = profile_of(name).read_text()
    site = re.search(r'start *= *\[?"(https://[^/]+)', text)
    assert site is not None
    here = f"http://{web.host}"
    for path, file in files_of(name).items():
        body = file.read_bytes().replace(b"https://registro.example/", f"{here}/".encode())
        web.pages[path] = Answer(body=body, headers=(("Content-Type", "text/html"),))
    return "pause = 0\n" + text.replace(site[1], here)


def profile_of(name: str) -> Path:
    own = SAVED / name / "profile.toml"
    return own if own.exists() else ROOT / "registers" / f"{name}.toml"


def files_of(name: str) -> dict[str, Path]:
    """The saved files by the path and query that they answer."""
    if name not in FILES:
        folder = SAVED / name / "pages"
        pages = {str(p.relative_to(folder)): p for p in folder.rglob("*.html")}
        return {re.sub(r"(^|/)index$", r"\1", f"/{key[:-5]}"): p for key, p in pages.items()}
    found = {}
    for path, start in FILES[name].items():
        for page in (SAVED / name).glob(
            f"{start}*.html" if path.endswith("/") else f"{start}.html"
        ):
            found[path + page.stem.removeprefix(start)] = page
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_register_reads_as_expected(name: str, register: Register) -> None:
    register.profile.write_text(serve_saved(register.web, name))
    expected = (SAVED / name / "expected.json").read_text()
    for site in ("https://registro.example", "https://cndes-web.ses.mir.es"):
        expected = expected.replace(site, f"https://{register.web.host}")
    expected = json.loads(expected)
    for added in (len(expected), 0):
        run = register.sync()
        assert f"{added} added, 0 found, 0 unreadable" in run.stdout, run.stderr
        listed = register.api().get("/api/personas").json["personas"]
        for person in listed:
            assert re.fullmatch(rf"{name}-[0-9]+", person.pop("id"))
        assert sorted(listed, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("name", ["sifebu", "reniped"])
def test_a_card_taken_off_a_saved_register_is_erased(name: str, register: Register) -> None:
    register.profile.write_text(serve_saved(register.web, name))
    register.sync()
    gone = json.loads((SAVED / name / "expected.json").read_text())[0]
    assert gone["nombre"].encode() in register.bytes_on_disk()
    key = gone["url"].rpartition("/")[2]
    for path, page in register.web.pages.items():
        assert isinstance(page, Answer)
        cut = re.sub(rb"href=\"[^\"]*/" + key.encode() + rb"\"", b"", page.body)
        register.web.pages[path] = page._replace(body=cut)
    register.sync()
    api = register.api()
    assert gone["nombre"] not in api.get("/api/personas").text
    assert api.get("/api/persona-random").json["nombre"] != gone["nombre"]
    assert api.get("/api/stats").json["found"] == 1
    assert gone["nombre"].encode() not in register.bytes_on_disk()


@pytest.mark.parametrize("name", ["sifebu", "reniped", "cndes"])
def test_a_profile_that_has_not_met_its_site_says_so(name: str) -> None:
    head = (ROOT / "registers" / f"{name}.toml").read_text().split("\nname ")[0]
    assert "NOT met the live site" in head
    assert "--dry-run" in head


def test_the_demo_register(tmp_path: Path) -> None:
    profile = load_profile(ROOT / "registers" / "demo.toml")
    reading = reg.read_register(profile, None, lambda text: None)
    assert (len(reading.persons), reading.pages, len(reading.passed_over)) == (24, 3, 1)
    assert (len(reading.outside), reading.unreadable) == (1, [])
    photos = [person.foto for person in reading.persons.values()]
    assert photos.count(profile.placeholder or "") == 1


# --- Profiles ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('name = "prueba"', 'name = "Prueba1"', "matching regex"),
        ('name = "prueba"', "", "missing required field `name`"),
        ('name = "prueba"', "name =", "Invalid value (at line 1"),
        ("max_age = 17", "max_agge = 17", "unknown field `max_agge`"),
        ("max_age = 17", 'max_age = "17"', "Expected `int | null`, got `str` - at `$.max_age`"),
        ("max_age = 17", "max_age = -1", "Expected `int` >= 0 - at `$.max_age`"),
        ("max_age = 17", "first_page = 2", "Expected `int` <= 1 - at `$.first_page`"),
        ("max_age = 17", "max_unreadable = 2", "at `$.max_unreadable`"),
        ("max_age = 17", "pause = 1", "Cannot overwrite a value"),
        ("max_age = 17", 'encoding = "utf-ocho"', "`encoding` is unknown: utf-ocho"),
        ("max_age = 17", 'pages = "nowhere"', "`pages`: there is no nowhere beside"),
        ("max_age = 17", 'ca_bundle = "x.pem"', "`ca_bundle`: there is no x.pem beside"),
        ("max_age = 17", 'several = "("', "`several` is no regular expression"),
        ("max_age = 17", 'months = ["enero"]', "of length >= 12 - at `$.months`"),
        ('card = "li"', 'card = "li["', "`card` is no CSS selector"),
        ('card = "li"', 'card = "li:has(> td a)["', "`card` is no CSS selector"),
        ('next = "a.next"', 'next = "a:nexxt"', "`next` is no CSS selector"),
        ("/lista?n=1", "/lista?n={page}", "`next` goes neither with {page} nor with `records`"),
        ('card = "li"', 'card = "li"\nrecords = "a"', "needs one of `card` (HTML lists) and"),
        ('card = "li"', "", "needs one of `card` (HTML lists) and `records`"),
        ("max_age = 17", 'last_page = [{ card = "a" }]', "`last_page` needs {page}"),
        ("max_age = 17", "form = { a = 1 }", "Expected `str`, got `int` - at `$.form"),
        ('card = "a" }', 'json = "a" }', "say `json` where there are `records`, else `card`"),
        ('card = "a" }', 'json = "a", attr = "b" }', "`label` and `attr` do not go with `json`"),
        ('card = "a" }', 'card = "a", template = "x" }', "`template` has no {}"),
        ('start = "http:', 'start = "ftp:', "`start` is no http or https address"),
        ("start = ", "start = [] #", "`start` has no address"),
        ('placeholder = "https:', 'placeholder = "data:', "`placeholder` is no http or https"),
        ('card = "a" }', 'card = "a", patern = "x" }', "unknown field `patern` - at `$.fields.nom"),
        ('card = "a" }', 'card = "a", pattern = "(" }', "`pattern` is no regular expression"),
        ('card = "a" }', 'card = "a", file = "a" }', "needs one of `card`, `file` and `json` - at"),
        ('card = "a" }', 'label = "Nombre" }', "needs one of `card`, `file` and `json` - at"),
        ('card = "a" }', 'card = "a[" }', "`card` is no CSS selector"),
        ('nombre = [{ card = "a" }]', "nombre = []", "of length >= 1 - at `$.fields.nombre`"),
        ('nombre = [{ card = "a" }]', "", "missing required field `nombre` - at `$.fields`"),
        ("edad = [", "apodo = [", "unknown field `apodo` - at `$.fields`"),
        (
            "[fields]",
            "[fields]\nmax_pages = 1",
            "`max_pages` - at `$.fields` (it stands above [fields])",
        ),
        ('url = [{ card = "a",', 'url = [{ file = "a",', "`url` is read on the card"),
    ],
)
def test_a_mistake_in_a_profile_is_named(register: Register, old: str, new: str, line: str) -> None:
    text = register.profile.read_text()
    assert old in text
    register.profile.write_text(text.replace(old, new, 1))
    with pytest.raises(SettingError) as refused:
        load_profile(register.profile)
    assert str(refused.value).startswith(f"{register.profile}: ")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_mistake_in_a_profile_is_one_line(register: Register) -> None:
    register.profile.write_text(register.profile.read_text().replace("pause = 0", "pause = -1"))
    refused = register.sync()
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"sync.py: {register.profile}: ")
    assert refused.stderr.count("\n") == 1
    assert not register.database.exists()


def test_a_profile_that_is_not_there(register: Register) -> None:
    register.profile.unlink()
    refused = register.sync()
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "prueba.toml" in refused.stderr


# --- Texts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<br>b", "a\nb"),
        ("<p>a <b>b</b>c</p>d", "a bc\nd"),
        ("<td>a</td><td>b</td>", "ab"),  # no table: html5lib drops the cells
        ("<table><tr><td>a<td>b</table>", "a\nb"),
        ("a<!-- x --><script>y</script><style>z</style>b", "ab"),
        (" a \n\t b&nbsp;&amp;c ", "a b &c"),
    ],
)
def test_text_of(html: str, text: str) -> None:
    assert reg.text_of(BeautifulSoup(html, "html5lib")) == text


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
    assert reg.clean(reg.clean(text)) == cleaned


def lookup() -> reg.Lookup:
    fields = Fields(*[(Way(card="a"),)] * 5)
    return reg.Lookup(Profile(name="x", start="https://a.example/", card="a", fields=fields))


def look(way: Way, scope: Tag) -> str:
    return lookup().text(way, scope)


LABELS = """
<p>Edad: 15 años<br>Lugar : Salta</p>
<p><b>FECHA DEL HECHO:</b> <b>1/2/2024</b><br><b>VACÍO:</b> <b></b><br><b>PAIS:</b> <b>X</b></p>
<dl><dt>Provincia</dt><dd>Jujuy</dd></dl>
<table><tr><td><b>OJOS :</b></td><td><b>PARDOS</b></td></tr></table>
<div><h5>Municipio.</h5><h4>Torreón</h4></div>
<p><i>Sexo</i>: F</p>
<div><p>Último:</p></div><div>no</div>
<p>Peso: <br>Talla: 1,50 m<br>Ojos de: <br>Ciudad Verde</p>
<p><b>Calle:</b> <br><b>Barrio:</b> Norte</p>
<dl><dt>Cantón<dt>Distrito<dd>Sur</dl>
<p><b>Altura:</b>&nbsp;<b>1,40</b> <b>Tez:</b> clara</p>
<p><b>Años:</b> <span>8</span> meses</p>
<p><b>Día:</b> 8 de <i>marzo</i> de 2024<br>no</p>
<p><b>Señas:</b><i class="icono"></i> lunar</p>
"""


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("edad", "15 años"),
        ("LUGAR:", "Salta"),
        ("Fecha del hecho", "1/2/2024"),
        ("vacio", ""),
        ("país", "X"),
        ("provincia", "Jujuy"),
        ("ojos", "PARDOS"),
        ("municipio", "Torreón"),
        ("sexo", "F"),
        ("fecha", ""),
        ("último", "no"),
        ("peso", ""),
        ("ojos de", "Ciudad Verde"),
        ("calle", ""),
        ("barrio", "Norte"),
        ("cantón", ""),
        ("distrito", "Sur"),
        ("altura", "1,40"),
        ("tez", "clara"),
        ("años", "8 meses"),
        ("día", "8 de marzo de 2024"),
        ("señas", "lunar"),
    ],
)
def test_the_value_behind_a_label(label: str, value: str) -> None:
    tree = BeautifulSoup(LABELS, "html5lib")
    assert look(Way(card="", label=label), tree) == value


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
    assert look(way, CARD) == text


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
def test_a_stamp_holds(way: Way, there: bool) -> None:
    assert lookup().holds(way, STAMPS) == there


TODAY = date(2026, 1, 31)


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
    assert reg.read_date(text, MONTHS, TODAY) == day


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
    read = reg.read_age(text, ("mes", "meses"))
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
    assert reg.age_between(born, day) == age


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
    assert reg.read_name(text) == name


@pytest.mark.parametrize(
    ("name", "several"),
    [
        ("Ana y Luis Inventado", True),
        ("ANA Y LUIS INVENTADO", True),
        ("Ana Prueba / Luis Prueba", True),
        ("Ana Prueba & Luis", True),
        ("Ñusta Ramón y Cajal", False),
        ("María Prueba y de la Cruz", False),
        ("JUAN E IBARRA PRUEBA", False),
    ],
)
def test_a_name_of_several_children(name: str, several: bool) -> None:
    assert bool(re.search(SEVERAL, name, re.IGNORECASE)) == several


def test_several_children_are_unreadable_whatever_else_is_there(register: Register) -> None:
    text = register.profile.read_text()
    text = text.replace('nombre = [{ card = "a" }]', 'nombre = [{ card = "a" }, { file = "h1" }]')
    register.profile.write_text(text)
    register.publish([Listed("ana y luis"), *slugs(5)])
    page = register.web.pages["/file/ana y luis"]
    register.web.pages["/file/ana%20y%20luis"] = page
    run = register.sync()
    assert "5 added, 0 found, 1 unreadable" in run.stdout
    assert "nombre: names several children" in run.stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [("Salta ,  Jujuy", "Salta, Jujuy"), (", Jujuy", "Jujuy"), ("Salta,", "Salta"), (",", None)],
)
def test_read_place(text: str, place: str | None) -> None:
    assert reg.read_place(text) == place


@pytest.mark.parametrize(
    ("base", "text", "address"),
    [
        ("http://a.example/b/c", "../d", "http://a.example/d"),
        ("https://a.example/", "//H.example/niño 1.jpg", "https://h.example/ni%C3%B1o%201.jpg"),
        ("https://a.example/", "javascript:alert(1)", None),
        ("https://a.example/", "data:image/png;base64,AA", None),
        ("https://a.example/", "https://u:p@a.example/", None),
        ("https://a.example/", "http://[::1", None),
        ("https://a.example/", "http:///x", None),
        ("https://a.example/", "/" + "x" * 2000, None),
    ],
)
def test_absolute(base: str, text: str, address: str | None) -> None:
    if address is None:
        with pytest.raises(ValueError):
            absolute(base, text)
    else:
        assert absolute(base, text) == address


@pytest.mark.parametrize(
    ("address", "raised"),
    [
        ("http://a.example:80/b?c", "https://a.example/b?c"),
        ("http://a.example:8080/b", "https://a.example:8080/b"),
        ("https://a.example/b", "https://a.example/b"),
    ],
)
def test_https(address: str, raised: str) -> None:
    assert https(address) == raised


@pytest.mark.parametrize(
    ("head", "charset", "encoding", "body", "text"),
    [
        ("", None, None, "ñ".encode(), "ñ"),
        ("<meta charset=iso-8859-1>", None, None, b"\xf1", "ñ"),
        ("<meta charset=iso-8859-1>", "utf-8", None, "ñ".encode(), "ñ"),
        ("", "nonsense", None, "ñ".encode(), "ñ"),
        ("<!-- <meta charset=iso-8859-1> --><meta charset=utf-8>", None, None, "ñ".encode(), "ñ"),
        ("<meta charset=utf-16>", None, None, "ñ".encode(), "ñ"),
        ("", None, "x-mac-roman", b"\x96", "ñ"),
        ("", "utf-8", "iso-8859-1", b"\xf1", "ñ"),
        ("", None, None, b"\xf1o", "\ufffdo"),
    ],
)
def test_encoding(
    head: str, charset: str | None, encoding: str | None, body: bytes, text: str
) -> None:
    page = fetch.Page("https://a.example/", 200, None, charset, head.encode() + b"<p>" + body)
    assert reg.text_of(reg.parse(page, encoding)) == text


# --- Lists ---------------------------------------------------------------------------


def numbered(register: Register, first: int) -> None:
    text = register.profile.read_text().replace("n=1", "n={page}").replace('next = "a.next"', "")
    register.profile.write_text(f"first_page = {first}\n{text}")


def test_numbered_pages_end_where_nobody_is_new(register: Register) -> None:
    numbered(register, 1)
    register.publish(slugs(5), per_page=2)
    register.web.pages["/lista?n=4"] = register.web.pages["/lista?n=3"]
    assert "5 listed" in register.sync().stdout
    assert [path for path in register.web.asked if "lista" in path] == [
        f"/lista?n={n}" for n in (1, 2, 3, 4)
    ]


def test_numbered_pages_may_begin_at_0(register: Register) -> None:
    numbered(register, 0)
    register.publish(slugs(5), per_page=2)
    register.web.pages["/lista?n=0"] = register.web.pages["/lista?n=1"]
    register.web.pages["/lista?n=1"] = register.web.pages["/lista?n=2"]
    register.web.put("/lista?n=2", "")
    del register.web.pages["/lista?n=3"]
    assert "4 listed" in register.sync().stdout


def test_a_list_without_end_is_refused(register: Register) -> None:
    text = register.profile.read_text()
    register.profile.write_text(f"max_pages = 2\n{text}")
    register.publish(slugs(5), per_page=2)
    refused = register.sync()
    assert refused.returncode == 1
    assert "more than 2 list pages" in refused.stderr


def test_a_next_link_that_leads_nowhere_is_refused(register: Register) -> None:
    register.publish(slugs(4), per_page=2)
    register.web.edit("/lista?n=1", "'/lista?n=2'", "'javascript:ir(2)'")
    assert "its next link leads to no page" in register.sync().stderr


def test_a_numbered_page_of_broken_cards_is_not_the_last(register: Register) -> None:
    numbered(register, 1)
    register.publish(slugs(12), per_page=1)
    register.web.put("/lista?n=9", "<li><a>Ai</a></li>")
    register.web.put("/lista?n=13", "")
    assert "12 listed, 11 added, 0 found, 1 unreadable" in register.sync().stdout


def test_next_links_in_a_circle_end(register: Register) -> None:
    register.publish(slugs(4), per_page=2)
    again = "</ul><a class=next href='/lista?n=1#top'>otra vez</a>"
    register.web.edit("/lista?n=2", "</ul>", again)
    assert "4 listed" in register.sync().stdout


def test_several_start_addresses_are_one_register(register: Register) -> None:
    text = register.profile.read_text()
    starts = f'start = ["http://{register.web.host}/lista?n=1", "http://{register.web.host}/b"]'
    register.profile.write_text(re.sub("start = .*", starts, text))
    register.publish(slugs(3))
    register.web.put("/b", "<li><a href='/file/ac'>Ac</a></li><li><a href='/file/ad'>Ad</a></li>")
    register.web.pages["/file/ad"] = register.web.pages["/file/ac"]
    assert "4 listed, 4 added" in register.sync().stdout


def test_one_file_linked_twice_is_one_person(register: Register) -> None:
    register.publish([Listed("ana")])
    register.web.put(
        "/lista?n=1",
        "<li><a href='/file/ana#foto'><img></a></li><li><a href='/file/ana'>Ana Prueba</a></li>",
    )
    assert "1 listed, 1 added, 0 found, 0 unreadable" in register.sync().stdout
    assert register.names() == {"ana"}


def test_an_adult_on_the_card_needs_no_file(register: Register) -> None:
    text = register.profile.read_text()
    text = text.replace("edad = [", 'edad = [{ card = "b", pattern = "\\\\d+ años" }, ')
    text = text.replace("pass_over = [", 'pass_over = [{ file = "h9" }, ')
    register.profile.write_text(text)
    register.publish([Listed("ana", stamp="40 años"), *slugs(3)])
    del register.web.pages["/file/ana"]
    assert "3 listed, 3 added, 0 found, 0 unreadable" in register.sync().stdout


def test_hosts_are_compared_as_they_are_asked(register: Register) -> None:
    text = register.profile.read_text().replace("127.0.0.1", "LOCALHOST", 1)
    register.profile.write_text(text)
    profile = load_profile(register.profile)
    assert profile.own_hosts == {register.web.host.replace("127.0.0.1", "localhost")}


def test_a_stamp_on_any_card_of_a_person_counts(register: Register) -> None:
    register.publish([*slugs(3), slugs(3)[0]._replace(stamp="FUE ENCONTRADA")])
    assert "2 listed, 2 added" in register.sync().stdout
    assert register.names() == {"ab", "ac"}


def test_a_numbered_page_that_fails_with_200_is_refused(register: Register) -> None:
    numbered(register, 1)
    register.publish(slugs(6), per_page=2)
    register.web.put("/lista?n=2", "<p>Volvemos pronto</p>")
    assert "list page 2 has no card, but the one behind it has" in register.sync().stderr


def test_a_card_without_a_link_is_named_by_its_place(register: Register) -> None:
    register.publish(slugs(12))
    register.web.edit("/lista?n=1", "href='/file/ab'", "href='https://elsewhere.example/ab'")
    assert "no id (list page 1, card 2): url" in register.sync().stderr


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("/b/", "https://a.example/b/"),
        ("http://b.example/c", "http://b.example/c"),
        ("javascript:x", "https://a.example/x"),
        ("http://[", "https://a.example/x"),
    ],
)
def test_base_of(base: str, address: str) -> None:
    page = fetch.Page("https://a.example/x", 200, None, None, b"")
    tree = BeautifulSoup(f"<base href='{base}'>", "html5lib")
    assert reg.base_of(tree, page) == address


def test_what_nobody_foresaw_costs_one_record(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_age(text: str, words: tuple[str, ...]) -> Age:
        if "13" in text:
            raise ZeroDivisionError("Ana Inventada")
        return Age(12, False)

    monkeypatch.setattr(reg, "read_age", read_age)
    register.publish([Listed("ana", edad="13 años"), *slugs(3)])
    reading = reg.read_register(load_profile(register.profile), None, lambda text: None)
    (left,) = reading.unreadable
    assert (left.id, left.reason) == (register.id("ana"), "ZeroDivisionError")
    assert len(reading.persons) == 3


def test_two_files_with_one_id_are_refused(register: Register) -> None:
    one, two = ("https://registro.example/22670797", "https://registro.example/32798511")
    assert reg.person_id("prueba", one) == reg.person_id("prueba", two)
    folder = register.profile.parent / "pages"
    folder.mkdir()
    (folder / "lista?n=1.html").write_text(
        f"<li><a href='{one}'>A</a></li><li><a href='{two}'>B</a>"
    )
    text = register.profile.read_text().replace(f"http://{register.web.host}", one[:24])
    register.profile.write_text(f'pages = "pages"\n{text}')
    refused = register.sync()
    assert refused.returncode == 1
    assert "two different files have the id prueba-" in refused.stderr


def test_an_id_is_made_of_the_address() -> None:
    # printf %s https://registro.example/a | sha256sum | head -c 12, from hexadecimal
    assert reg.person_id("prueba", "https://registro.example/a") == "prueba-228972813543334"


# --- Lists in JSON -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", ""),
        ("a", "1"),
        ("b.c", "x"),
        ("b.d.1.e", "true"),
        ("b.d.2.e", ""),
        ("b.c.f", ""),
        ("g", "uno\ndos & tres"),
        ("h", ""),
        ("i", "https://a.example/?a=1&copy=2"),
        ("none", ""),
    ],
)
def test_a_dotted_path(path: str, text: str) -> None:
    record = {
        "a": 1,
        "b": {"c": "x", "d": [{}, {"e": True}]},
        "g": "<b>uno</b><br>dos &amp; tres",
        "h": None,
        "i": "https://a.example/?a=1&copy=2",
    }
    assert reg.json_text(reg.value_at(record, path)) == text


JSON_PROFILE = """
[fields]
url = [{ json = "id", template = "http://{host}/f/{}" }]
nombre = [{ json = "n" }]
fecha = [{ json = "f" }]
edad = [{ json = "e" }]
lugar = [{ json = ["l", "r"], join = ", " }]
"""


def make_json(register: Register, head: str) -> None:
    text = register.profile.read_text().split("next =")[0]
    fields = JSON_PROFILE.replace("{host}", register.web.host)
    head += '\npause = 0\nplaceholder = "https://registro.example/s.png"\n'
    register.profile.write_text(text + head + fields)


def records(*numbers: int) -> Answer:
    one = {"n": "Ana Inventada", "f": "2024-02-01", "e": 12, "l": "Villa", "r": "Salta"}
    return Answer(body=json.dumps({"p": {"q": [{"id": n, **one} for n in numbers]}}).encode())


def test_a_form_may_count_the_pages(register: Register) -> None:
    make_json(register, 'records = "p.q"\nform = { tipo = "MENOR", pagina = "{page}" }')
    for page, answer in enumerate([records(1, 2), records(3), records()], 1):
        register.web.pages[f"/lista?n=1?tipo=MENOR&pagina={page}"] = answer
    run = register.sync()
    assert "3 listed, 3 added, 0 found, 0 unreadable" in run.stdout, run.stderr


def test_a_form_is_not_redirected(register: Register) -> None:
    make_json(register, 'records = "p.q"\nform = { tipo = "MENOR" }')
    register.web.pages["/lista?n=1?tipo=MENOR"] = redirect("/login")
    assert "redirects a form" in register.sync().stderr


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "is no JSON"),
        (b"\xff\xff", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"{}", "there is no list at 'p.q'"),
        (b'{"p": {"q": {"id": 1}}}', "there is no list at 'p.q'"),
    ],
)
def test_json_that_cannot_be_read_is_refused(register: Register, body: bytes, reason: str) -> None:
    make_json(register, 'records = "p.q"')
    register.web.pages["/lista?n=1"] = Answer(body=body)
    refused = register.sync()
    assert refused.returncode == 1
    assert f"list page 1 cannot be had: {reason}" in refused.stderr


def page_record() -> dict[str, object]:
    record: dict[str, object] = json.loads(records(1).body)["p"]["q"][0]
    return record


def test_odd_records_are_unreadable(register: Register) -> None:
    make_json(register, 'records = "p.q"\nmax_unreadable = 1')
    odd = [None, 1, "x", [], {}, {"id": {"a": 1}}, {**page_record(), "id": 2, "n": "A \ud83d"}]
    page = json.loads(records(1).body)
    page["p"]["q"] += odd
    register.web.pages["/lista?n=1"] = Answer(body=json.dumps(page).encode())
    assert f"1 added, 0 found, {len(odd)} unreadable" in register.sync().stdout


def test_without_a_last_number_the_pages_are_counted_up(register: Register) -> None:
    numbered(register, 1)
    register.profile.write_text(f"last_page = [{{ card = 'i' }}]\n{register.profile.read_text()}")
    register.publish(slugs(4), per_page=2)
    register.web.put("/lista?n=3", "")
    assert "4 listed" in register.sync().stdout


def test_an_empty_page_before_the_last_is_refused(register: Register) -> None:
    numbered(register, 1)
    register.profile.write_text(f"last_page = [{{ card = 'i' }}]\n{register.profile.read_text()}")
    register.publish(slugs(4), per_page=2)
    for n in (1, 2):
        register.web.edit(f"/lista?n={n}", "</ul>", "</ul><i>1</i><i>3</i>")
    register.web.put("/lista?n=3", "<p>Volvemos pronto</p><i>3</i>")
    assert "list page 3 has no card" in register.sync().stderr


# --- Writing a profile ---------------------------------------------------------------


def test_saved_pages_read_like_the_register(register: Register) -> None:
    register.publish(slugs(12))
    folder = str(register.profile.parent / "saved")
    fetched = register.sync("--dry-run", "--save", folder)
    asked = len(register.web.asked)
    replayed = register.sync("--dry-run", "--pages", folder, CONTACT="")
    assert "would be added: 12" in replayed.stdout
    assert replayed.stdout == fetched.stdout
    assert len(register.web.asked) == asked


def test_saved_pages_are_never_stored(register: Register) -> None:
    refused = register.sync("--pages", str(register.profile.parent))
    assert (refused.returncode, register.database.exists()) == (2, False)
    assert "--pages: goes with --dry-run" in refused.stderr


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
    text = register.profile.read_text()
    assert old in text
    assert unused(register) == []
    register.profile.write_text(text.replace(old, new))
    assert line in "\n".join(unused(register))


def test_a_dry_run_tells_what_matches_nothing(register: Register) -> None:
    register.publish(slugs(3))
    assert "in the profile: next: matches nothing anywhere" in register.sync("--dry-run").stdout


def unused(register: Register) -> list[str]:
    return reg.read_register(load_profile(register.profile), None, lambda text: None).unused


# --- Fetching ------------------------------------------------------------------------


@pytest.fixture
def fetcher(register: Register) -> fetch.Fetcher:
    return fetch.Fetcher(load_profile(register.profile), "nadie@registro.example")


def redirect(to: str) -> Answer:
    return Answer(302, headers=(("Location", to),))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(404), "HTTP 404"),
        (Answer(204), "HTTP 204"),
        (Answer(500), "HTTP 500"),
        (Answer(503, headers=(("Retry-After", "3600"),)), "HTTP 503"),
        (Answer(503, headers=(("Retry-After", "soon"),)), "HTTP 503"),
        (Answer(404, headers=(("Retry-After", "Fri, 01 Jan 99999 00:00:00 GMT"),)), "HTTP 404"),
        (redirect("/\xf1"), "HTTP 404"),
        (redirect("/x"), "more than 5 redirects"),
        (redirect("/y")._replace(body=b"x" * (fetch.PAGE_BYTES + 1)), "more than 10 MB"),
        (redirect("https://elsewhere.example/"), "off the register's hosts"),
        (redirect("http://169.254.1.1/"), "off the register's hosts"),
        (redirect("http://127.0.0.1:1/"), "off the register's hosts"),
        (redirect("file:///etc/passwd"), "no web address"),
        (Answer(body=b"x" * (fetch.PAGE_BYTES + 1)), "more than 10 MB"),
        (Answer(body=b"cut", headers=(("Content-Length", "999"),)), "ConnectionError|Chunked"),
        (Answer(body=b"no gzip", headers=(("Content-Encoding", "gzip"),)), "ContentDecoding"),
    ],
)
def test_a_page_that_cannot_be_had(
    web: Web, fetcher: fetch.Fetcher, answer: Answer, reason: str
) -> None:
    web.pages["/x"] = close_after(answer)
    with pytest.raises(fetch.PageError, match=reason):
        fetcher.get(f"http://{web.host}/x")


def close_after(answer: Answer):
    def serve(handler: BaseHTTPRequestHandler) -> Answer:
        handler.close_connection = True
        return answer

    return serve


def test_a_passing_fault_is_tried_again(web: Web, fetcher: fetch.Fetcher) -> None:
    answers = iter([Answer(503), Answer(429), Answer(body=b"there")])
    web.pages["/x"] = lambda _: next(answers)
    assert fetcher.get(f"http://{web.host}/x").body == b"there"


def test_a_register_that_asks_for_a_long_wait_is_left_alone(
    web: Web, fetcher: fetch.Fetcher
) -> None:
    web.pages["/x"] = Answer(429, headers=(("Retry-After", "120"),))
    with pytest.raises(fetch.Refused, match="asks to wait 120 s"):
        fetcher.get(f"http://{web.host}/x")


def test_retry_after_is_honoured(web: Web, fetcher: fetch.Fetcher) -> None:
    answers = iter([Answer(503, headers=(("Retry-After", "1"),)), Answer(body=b"there")])
    web.pages["/x"] = lambda _: next(answers)
    began = time.monotonic()
    fetcher.get(f"http://{web.host}/x")
    assert time.monotonic() - began >= 1


def test_a_pause_lies_between_requests(register: Register) -> None:
    text = register.profile.read_text().replace("pause = 0", "pause = 0.2")
    register.profile.write_text(text)
    fetcher = fetch.Fetcher(load_profile(register.profile), "nadie@registro.example")
    register.web.put("/x", "x")
    began = time.monotonic()
    for _ in range(3):  # and robots.txt: four requests, three pauses
        fetcher.get(f"http://{register.web.host}/x")
    assert time.monotonic() - began >= 0.6


def test_a_redirect_within_the_register_is_followed(web: Web, fetcher: fetch.Fetcher) -> None:
    web.pages["/x"] = redirect("/y")
    web.put("/y", "there")
    page = fetcher.get(f"http://{web.host}/x")
    assert (page.url, page.body) == (f"http://{web.host}/y", b"there")


def test_the_user_agent_names_the_service_and_the_contact(web: Web, fetcher: fetch.Fetcher) -> None:
    web.put("/x", "x")
    fetcher.get(f"http://{web.host}/x")
    assert web.agents == {"persona404/1 (+nadie@registro.example)"}


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        (Answer(404), True),
        (Answer(410), True),
        (Answer(body=b"User-agent: *\nDisallow: /secret"), True),
        (Answer(body=b"User-agent: *\nDisallow: /*.html$"), True),
        (Answer(body=b"User-agent: *\nDisallow: /\nAllow: /x"), True),
        (Answer(body=b"User-agent: *\nDisallow: /*?n="), False),
        (Answer(body=b"\xef\xbb\xbfUser-agent: *\nDisallow: /"), False),
        (Answer(body=b"User-agent: Persona404\nDisallow: /x"), False),
        (redirect("/elsewhere.txt"), True),
    ],
)
def test_robots_txt(web: Web, fetcher: fetch.Fetcher, robots: Answer, allowed: bool) -> None:
    web.pages["/robots.txt"] = robots
    web.put("/x?n=1", "there")
    if allowed:
        assert fetcher.get(f"http://{web.host}/x?n=1").body == b"there"
    else:
        with pytest.raises(fetch.PageError, match="forbids it"):
            fetcher.get(f"http://{web.host}/x?n=1")
    assert web.asked[0] == "/robots.txt"


def test_robots_txt_is_off_by_permission(register: Register) -> None:
    register.profile.write_text("robots = false\n" + register.profile.read_text())
    register.publish(slugs(1))
    register.web.put("/robots.txt", "User-agent: *\nDisallow: /")
    assert "1 listed" in register.sync().stdout
    assert "/robots.txt" not in register.web.asked


@pytest.mark.parametrize("trusted", [True, False])
def test_certificates_are_verified(register: Register, trusted: bool) -> None:
    register.web.use_tls()
    text = register.profile.read_text().replace("http://", "https://")
    if trusted:
        text = f'ca_bundle = "{TLS / "cert.pem"}"\n{text}'
    register.profile.write_text(text)
    register.publish(slugs(3))
    run = register.sync()
    if trusted:
        assert "3 listed, 3 added" in run.stdout, run.stderr
    else:
        assert "its certificate cannot be verified" in run.stderr
        assert register.web.asked == []


def test_a_run_has_its_time(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "RUN_SECONDS", -1)
    register.publish(slugs(1))
    with pytest.raises(fetch.Refused, match="the run took more than"):
        reg.read_register(load_profile(register.profile), None, lambda text: None)


@pytest.mark.parametrize("stage", ["list", "file"])
def test_a_page_has_its_time(
    register: Register, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    monkeypatch.setattr(reg, "PAGE_SECONDS", 0.2)
    register.publish(slugs(1))
    text = register.profile.read_text()
    endless = {"list": '{ card = "a" }', "file": '{ file = "p" }'}[stage]
    way = endless.replace(" }", ", pattern = '(A+|a+)+$' }")
    register.profile.write_text(text.replace('nombre = [{ card = "a" }]', f"nombre = [{way}]"))
    for path in ("/lista?n=1", "/file/aa"):
        page = register.web.pages[path]
        assert isinstance(page, Answer)
        body = page.body.replace(b"Aa", b"a" * 50 + b"!").replace(
            b"Fecha", b"a" * 50 + b"!<br>Fecha"
        )
        register.web.pages[path] = page._replace(body=body)
    profile = load_profile(register.profile)
    if stage == "list":
        with pytest.raises(fetch.Refused, match="list page 1 cannot be had: took more than"):
            reg.read_register(profile, None, lambda text: None)
    else:
        (left,) = reg.read_register(profile, None, lambda text: None).unreadable
        assert left.reason.startswith("took more than")


def test_a_redirect_may_be_in_utf8(web: Web, fetcher: fetch.Fetcher) -> None:
    web.pages["/x"] = redirect("/niño".encode().decode("latin-1"))
    web.put("/ni%C3%B1o", "there")
    assert fetcher.get(f"http://{web.host}/x").body == b"there"


def test_a_page_that_takes_too_long_is_given_up() -> None:
    began = time.monotonic()
    with pytest.raises(fetch.PageError, match="took more than 0 s"), fetch.time_limit(0.05):
        re.search("(a+)+b", "a" * 40)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("path", ["/../profile.toml", "/%2e%2e/profile.toml", "/nothing", "/"])
def test_saved_pages_stay_in_their_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "profile.toml").touch()
    (tmp_path / "pages").mkdir()
    with pytest.raises(fetch.PageError):
        fetch.saved_page(tmp_path / "pages", f"https://registro.example{path}", None)
