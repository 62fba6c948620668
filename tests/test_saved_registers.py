"""Registers whose pages are saved, made up in the structure of real ones.

Each folder of tests/registers has the pages, as `sync.py --save` names them, and `expected.json`,
what a correct reading of them gives. The profile is the one of registers/ or registers/models/ with
the folder's name.
"""

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import pytest
from bs4 import BeautifulSoup

from scrape.fetch import Fetcher
from scrape.profile import Way, as_tuple, load_profile
from scrape.reading import read_register
from scrape.values import read_age, read_place
from scrape.ways import Usage
from support import ROOT
from support.register import Register

pytestmark = pytest.mark.no_sockets
SAVED = ROOT / "tests" / "registers"
NAMES = sorted({folder.name for folder in SAVED.iterdir()} - {"interpolar"})  # test_json_register
PARTS = {"pages", "expected.json", "SOURCES.md"}
PROFILES = {path.stem: path for path in (ROOT / "registers").rglob("*.toml")}


def profile_text(name: str) -> str:
    return PROFILES[name].read_text()


def use_saved(register: Register, name: str) -> Path:
    """Make `register` the saved one; the folder of its pages, which a test may change."""
    folder = register.profile.parent / "pages"
    shutil.copytree(SAVED / name / "pages", folder)
    text = profile_text(name)
    start, *_ = as_tuple(tomllib.loads(text)["start"])
    text = text.replace(urljoin(start, "/"), "https://registro.example/")
    register.profile = register.profile.with_name(f"{name}.toml")
    register.profile.write_text(f'pages = "pages"\n{text}')
    return folder


def expected(name: str) -> list[dict[str, str]]:
    persons: list[dict[str, str]] = json.loads((SAVED / name / "expected.json").read_text())
    return persons


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_register_reads_as_expected(register: Register, name: str) -> None:
    use_saved(register, name)
    for added in (len(expected(name)), 0):
        run = register.sync()
        assert f"{added} added, 0 found, 0 moved, 0 unreadable" in run.stdout, run.stderr
        listed = register.api().get("/api/personas")["personas"]
        for person in listed:
            assert re.fullmatch(rf"{name}-[0-9]+", person.pop("id"))
        assert sorted(listed, key=str) == sorted(expected(name), key=str)


@pytest.mark.parametrize("name", ["sifebu", "reniped"])
def test_a_card_taken_off_a_saved_register_is_erased(register: Register, name: str) -> None:
    folder = use_saved(register, name)
    register.sync()
    gone = expected(name)[0]
    assert gone["nombre"].encode() in register.bytes_on_disk()
    link = gone["url"].removeprefix("https://registro.example")
    for page in folder.rglob("*.html"):
        page.write_text(page.read_text().replace(f'href="{link}"', ""))
    register.sync()
    api = register.api()
    assert gone["nombre"] not in str(api.get("/api/personas"))
    assert api.get("/api/persona-random")["nombre"] != gone["nombre"]
    assert api.get("/api/stats")["found"] == 1
    assert gone["nombre"].encode() not in register.bytes_on_disk()


@pytest.mark.parametrize("name", sorted(PROFILES.keys() - {"demo"}))
def test_a_profile_has_pages_and_their_sources(name: str) -> None:
    assert {path.name for path in (SAVED / name).iterdir()} == PARTS


@pytest.mark.parametrize("name", sorted(PROFILES.keys() - {"demo"}))
def test_a_profile_says_whether_it_has_met_its_site(name: str) -> None:
    head = profile_text(name).split("\nstart ")[0]
    assert "met the live site" in head
    assert "--dry-run" in head


def test_a_profile_without_a_real_address_is_a_model() -> None:
    for path in PROFILES.values():
        is_model = path.parent.name == "models"
        text = path.read_text()
        assert text.startswith("# A MODEL that reads no register") == is_model
        assert ("registro.example/" in text) == (is_model or path.stem == "demo")


SIFEBU = load_profile(ROOT / "registers" / "sifebu.toml")


def sifebu_page(text: str) -> BeautifulSoup:
    html = f"<main><h1>Ana</h1><div class=field-name-body><p>{text}</p></div></main>"
    return BeautifulSoup(html, "html5lib")


def first_value(ways: tuple[Way, ...], text: str, parse: Callable[[str], object]) -> object:
    texts = (Usage().extract(way, sifebu_page(text)) for way in ways)
    return next((value for value in map(parse, filter(None, texts)) if value), None)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("Buscada desde hace 5 años. María tenía 15 años", "15 años"),
        ("Desde hace más de 5 años. María tenía 15 años al momento de", "15 años"),
        ("Buscada desde hace 5 años", None),
        ("Edad: 15 años", "15 años"),
        ("Ana, de 8 meses, y su madre", "8 meses"),
        ("Ana, de 12 años y 3 meses", "12 años"),
        ("de 12 y 14 años", None),
        ("de 12, 13 y 14 años", None),
        ("tenían 12 años y 14 años de edad", None),
        ("de 12 o 13 años al momento de la ausencia", None),
    ],
)
def test_the_age_in_a_sentence_of_sifebu(text: str, age: str | None) -> None:
    read = first_value(SIFEBU.fields.edad, text, read_age)
    assert (read and str(read)) == age


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("en la localidad de 9 de Julio, provincia de Salta.", "9 de Julio, Salta"),
        ("en la calle Belgrano 123, localidad de Orán, provincia de Salta.", "Orán, Salta"),
        ("en localidad de Orán en su casa de Belgrano, provincia de Salta.", "Orán, Salta"),
        ("Lugar: 9 de Julio, Salta", "9 de Julio, Salta"),
        ("en su casa de Belgrano 123, provincia de Salta.", None),
        ("en Calle Belgrano, provincia de Salta.", None),
        ("Lugar: Belgrano 123, Orán", None),
        ("Lugar: su casa, Orán", None),
        ("Lugar: Avda. Mitre, Salta", None),
        ("Lugar: Av Mitre, Salta", None),
        ("Lugar: Rivadavia y Mitre, Salta", None),
        ("Lugar: San Martín s/n, Orán", None),
        ("en localidad de Orán, provincia de Salta - Calle Mitre", "Orán, Salta"),
        ("en localidad de Orán, provincia de Salta desde su casa de Mitre", "Orán, Salta"),
        ("en localidad de Orán barrio Norte, provincia de Salta", None),
        ("Lugar: 9 de Julio 123, Orán", None),
    ],
)
def test_no_address_is_a_place_of_sifebu(text: str, place: str | None) -> None:
    assert first_value(SIFEBU.fields.lugar, text, read_place) == place


def test_the_demo_register() -> None:
    profile = load_profile(ROOT / "registers" / "demo.toml")
    reading = read_register(Fetcher(profile, None), lambda line: None)
    assert (len(reading.persons), reading.page_count, len(reading.stamped)) == (24, 3, 1)
    assert (len(reading.excluded), reading.unreadable) == (1, [])
    photos = [person.foto for person in reading.persons.values()]
    assert photos.count(profile.placeholder or "") == 1
