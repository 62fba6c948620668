"""What a profile may say, and how a mistake in one is named."""

import re

import pytest

from model import SettingError
from scrape.profile import SEVERAL, load_profile
from support.register import Register
from support.scrape import edit_profile

pytestmark = pytest.mark.no_sockets


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("max_age = 17", 'name = "prueba"', "`name` is no key: the file name says it"),
        ("max_age = 17", "max_age =", "Invalid value (at line"),
        ("max_age = 17", "max_agge = 17", "unknown field `max_agge`"),
        ("max_age = 17", 'max_age = "17"', "Expected a whole number, got a text - at `$.max_age`"),
        ("max_age = 17", "max_age = -1", "Expected a whole number >= 0 - at `$.max_age`"),
        ("max_age = 17", "first_page = 2", "Expected a whole number <= 1 - at `$.first_page`"),
        ("max_age = 17", "max_unreadable = 2", "Expected a number <= 1.0 - at `$.max_unr"),
        ("max_age = 17", 'edad_de = "ayer"', "`edad_de` must be entonces or hoy"),
        ("max_age = 17", 'fecha_de = "hoy"', "`fecha_de` must be caso or publicacion"),
        ("max_age = 17", "pause = 1", "Cannot overwrite a value"),
        ("max_age = 17", 'encoding = "utf-ocho"', "`encoding` is unknown: utf-ocho"),
        ("max_age = 17", 'pages = "nowhere"', "`pages`: there is no nowhere beside"),
        ("max_age = 17", 'ca_bundle = "x.pem"', "`ca_bundle`: there is no x.pem beside"),
        ("max_age = 17", 'several = "("', "`several` is not a regular expression"),
        ("max_age = 17", 'months = ["enero"]', "Expected a list of length >= 12 - at `$.months`"),
        ('card = "li"', 'card = "li["', "`card` is not a CSS selector"),
        ('card = "li"', 'card = "li:has(> td a)["', "`card` is not a CSS selector"),
        ('next = "a.next"', 'next = "a:nexxt"', "`next` is not a CSS selector"),
        ("/lista?n=1", "/lista?n={page}", "`next` does not go with {page}"),
        ('card = "li"', 'card = "li"\nrecords = "a"', "needs one of `card` (HTML lists) and"),
        ('card = "li"', "", "needs one of `card` (HTML lists) and `records`"),
        ("max_age = 17", 'last_page = [{ card = "a" }]', "`last_page` needs {page}"),
        ("max_age = 17", 'phone = "call us"', "at `$.phone`"),
        ("max_age = 17", 'title = "a\\nb"', "at `$.title`"),
        (
            "max_age = 17",
            'website = "www.x.example"',
            "`website` is not an http or https address: "
            "'www.x.example': an address begins with https://",
        ),
        ("max_age = 17", 'demo = "yes"', "Expected true or false, got a text - at `$.demo`"),
        ("max_age = 17", "form = { a = 1 }", "Expected a text, got a whole number - at `$.form"),
        ('card = "li"', 'records = "a"', "`fields.url[0]`: `label` and `attr` do not go with JSON"),
        (
            "max_age = 17",
            'file_record = ""',
            "`fields.fecha[0]`: `label` and `attr` do not go with",
        ),
        (
            "max_age = 17",
            'file_url = [{ file = "a" }]',
            "`file_url[0]` needs `card`: it is read on the list",
        ),
        ("max_age = 17", 'total = [{ file = "a" }]', "`total[0]` needs `card`"),
        ('card = "a" }', 'card = "a", template = "x" }', "`template` has no {}"),
        ('start = "http:', 'start = "ftp:', "`start` is not an http or https address"),
        ('start = "http:', 'start = "ftp:', ": an address begins with https://, not with ftp:"),
        ('start = "http://', 'start = "', "`start` is not an http or https address"),
        ("start = ", "start = [] #", "`start` has no address"),
        ('placeholder = "https:', 'placeholder = "data:', "`placeholder` is not an http or https"),
        ('card = "a" }', 'card = "a", patern = "x" }', "unknown field `patern` - at `$.fields.nom"),
        ('card = "a" }', 'card = "a", pattern = "(" }', "`pattern` is not a regular expression"),
        ('card = "a" }', 'card = "a", file = "a" }', "needs one of `card` and `file` - at"),
        ('card = "a" }', 'label = "Nombre" }', "needs one of `card` and `file` - at"),
        ('card = "a" }', 'card = "a[" }', "`fields.nombre[0]` is not a CSS selector"),
        ('nombre = [{ card = "a" }]', "nombre = []", "of length >= 1 - at `$.fields.nombre`"),
        ('nombre = [{ card = "a" }]', "", "missing required field `nombre` - at `$.fields`"),
        ("edad = [", "apodo = [", "unknown field `apodo` - at `$.fields`"),
        (
            "[fields]",
            "[fields]\nmax_age = 1",
            "`max_age` - at `$.fields` (it stands above [fields])",
        ),
        (
            'url = [{ card = "a",',
            'url = [{ file = "a",',
            "`fields.url[0]` needs `card`: it is read on",
        ),
    ],
)
def test_a_mistake_in_a_profile_is_named(register: Register, old: str, new: str, line: str) -> None:
    edit_profile(register, old, new)
    with pytest.raises(SettingError) as error:
        load_profile(register.profile)
    assert str(error.value).startswith(f"{register.profile}: ")
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_the_file_name_is_the_register_s_name(register: Register) -> None:
    assert load_profile(register.profile).name == "prueba"


def test_a_mistake_in_a_profile_is_one_line(register: Register) -> None:
    edit_profile(register, "pause = 0", "pause = -1")
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


def test_hosts_are_compared_as_they_are_asked(register: Register) -> None:
    edit_profile(register, "127.0.0.1", "LOCALHOST")
    profile = load_profile(register.profile)
    assert profile.own_hosts == {register.web.host.replace("127.0.0.1", "localhost")}
