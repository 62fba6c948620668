"""Registers whose pages are saved, made up in the structure of real ones.

Each folder of tests/registers has the pages, as `sync.py --save` names them, and `expected.json`,
what a correct reading of them gives. The profile is the folder's own, or that of registers/.
"""

import json
import re
import shutil
import tomllib
from pathlib import Path
from urllib.parse import urljoin

import pytest

from scrape.profile import as_tuple, load_profile
from scrape.reading import read_register
from support import ROOT
from support.register import Register

SAVED = ROOT / "tests" / "registers"
NAMES = sorted(folder.name for folder in SAVED.iterdir())


def profile_text(name: str) -> str:
    own = SAVED / name / "profile.toml"
    return (own if own.exists() else ROOT / "registers" / f"{name}.toml").read_text()


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
        assert f"{added} added, 0 found, 0 unreadable" in run.stdout, run.stderr
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


@pytest.mark.parametrize("name", ["sifebu", "reniped", "cndes"])
def test_a_profile_that_has_not_met_its_site_says_so(name: str) -> None:
    head = profile_text(name).split("\nstart ")[0]
    assert "NOT met the live site" in head
    assert "--dry-run" in head


def test_the_demo_register() -> None:
    profile = load_profile(ROOT / "registers" / "demo.toml")
    reading = read_register(profile, None, lambda line: None)
    assert (len(reading.persons), reading.pages, len(reading.stamped)) == (24, 3, 1)
    assert (len(reading.over_age), reading.unreadable) == (1, [])
    photos = [person.foto for person in reading.persons.values()]
    assert photos.count(profile.placeholder or "") == 1
