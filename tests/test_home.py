"""The home page, in headless Chromium."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from model import Person
from support import ROOT
from support.api import ABOUT, ServedApi, fill, keep_photo, made_up
from support.browser import Visit, host
from support.web import Web

pytestmark = pytest.mark.slow

INDEX = ROOT / "static" / "index.html"
THIRTY = [  # with one photo: twelve requests for photos take longer than most tests
    made_up(n, f"{n:02}/01/2024")._replace(foto=made_up(1).foto) for n in range(1, 31)
]
FIRST = ".faces li:first-child"
DOWN = "El servicio no responde ahora mismo"
Home = Callable[..., ServedApi]


@pytest.fixture
def home(database: Path) -> Iterator[Home]:
    """Starts the service over some persons, with other facts about it than usual."""
    started = []

    def start(*persons: Person, **about: Any) -> ServedApi:
        fill(database, list(persons))
        about = {"photos": False, **about}  # fewer requests
        started.append(ServedApi(database, about=ABOUT._replace(**about)))
        return started[-1]

    yield start
    for one in started:
        one.close()


def address(service: ServedApi) -> str:
    return f"http://servicio.example:{service.port}"


def wait_for_page(page: Any, number: int, of: int) -> None:
    page.get_by_text(f"Página {number} de {of}", exact=True).wait_for()


def lines(service: str, chosen: str = "") -> str:
    return f'<div data-persona404{chosen}></div>\n<script src="{service}/embed.js" async></script>'


# --- The faces -----------------------------------------------------------------------


def test_the_first_page_has_one_link_for_each_of_twelve_children(home: Home, visit: Visit) -> None:
    page = visit(address(home(*THIRTY)))
    wait_for_page(page, 1, of=3)
    links = page.locator(".faces a").evaluate_all("links => links.map((link) => link.href)")
    assert links == [made_up(n).url for n in range(30, 18, -1)]
    assert page.locator(f"{FIRST} a").inner_text().split("\n") == [
        "Persona 30 Inventada",
        "Villa Inventada, Ñandubay Ficticio",
        "desde el 30 de enero de 2024",
    ]


def test_a_single_child_is_on_show_once(home: Home, visit: Visit) -> None:
    page = visit(address(home(made_up(7, "09/12/2022"))))
    large = page.locator("#large")
    large.get_by_role("heading", name="Persona 7 Inventada").wait_for()
    for href in (made_up(7).url, "tel:134"):
        assert large.locator(f"a[href='{href}']").is_visible()
    assert not page.locator("#rostros").is_visible()


@pytest.mark.parametrize(
    ("kept", "stored", "foto", "shown"),
    [
        (True, True, "https://registro.example/1.jpg", "img[src*='?nombre=Persona+']"),
        (True, False, "https://registro.example/1.jpg", "span.photo"),
        (False, False, "https://registro.example/1.jpg", "img[src$='registro.example/1.jpg']"),
        (False, False, "https://registro.example/404.jpg", "span.photo"),
        (False, False, "http://registro.example/1.jpg", "span.photo"),
    ],
)
def test_the_photo_or_a_silhouette(
    home: Home, visit: Visit, database: Path, kept: bool, stored: bool, foto: str, shown: str
) -> None:
    persons = [made_up(n)._replace(foto=foto) for n in (1, 2)]
    service = home(*persons, photos=kept)
    for person in persons if stored else []:
        keep_photo(database, person)
    page = visit(address(service))
    page.locator(f"{FIRST} {shown}").wait_for()


def test_the_register_learns_of_no_visitor_if_photos_are_kept(home: Home, visit: Visit) -> None:
    asked: list[str] = []
    page = visit("about:blank")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address(home(made_up(1), made_up(2), photos=True)))
    page.locator(".faces a").first.wait_for()
    page.get_by_label("Tema").select_option("dark")
    page.locator("#sample").get_by_text("Inventada").first.scroll_into_view_if_needed()
    assert [url for url in asked if "registro.example" in url] == []


def test_a_file_that_is_not_https_is_not_linked(home: Home, visit: Visit) -> None:
    bad = ["javascript:alert(1)", "http://registro.example/1", "//registro.example/1", "/1"]
    persons = [made_up(n)._replace(url=url) for n, url in enumerate(bad, 2)]
    page = visit(address(home(made_up(1), *persons)))
    page.locator(".faces a").first.wait_for()
    assert page.locator(".faces a").count() == 1


@pytest.mark.parametrize(
    ("place", "fields"),
    [("#large", ("nombre", "lugar")), (FIRST, ("nombre", "lugar", "fecha"))],
)
def test_markup_shows_as_text(
    home: Home, visit: Visit, place: str, fields: tuple[str, ...]
) -> None:
    marked = {name: f"<u>{name}</u>" for name in fields}
    page = visit(address(home(*(made_up(n)._replace(**marked) for n in (1, 2)))))
    for text in marked.values():
        page.locator(place).get_by_text(text).wait_for()
    assert page.locator("u").count() == 0


@pytest.mark.parametrize("demo", [True, False])
def test_every_invented_child_is_called_invented(home: Home, visit: Visit, demo: bool) -> None:
    page = visit(address(home(made_up(1), made_up(2), demo=demo)))
    page.locator("#large h2").wait_for()
    page.locator(".faces a").first.wait_for()
    mark = "Ejemplo: esta persona no existe"
    assert page.locator("#large").get_by_text(mark).count() == demo
    assert page.locator(".faces").get_by_text(mark).count() == 2 * demo
    assert page.get_by_text("ninguna de estas personas existe").is_visible() == demo


# --- Turning pages -------------------------------------------------------------------


def test_turning_leads_to_the_first_face(home: Home, visit: Visit) -> None:
    page = visit(address(home(*THIRTY)))
    page.get_by_role("button", name="Siguientes").click()
    wait_for_page(page, 2, of=3)
    at = "[document.activeElement.href, document.activeElement.getBoundingClientRect().top]"
    focused, top = page.evaluate(at)
    assert focused == made_up(18).url
    assert 0 <= top < 370


def test_the_buttons_end_where_the_list_ends(home: Home, visit: Visit) -> None:
    page = visit(address(home(*THIRTY[:13])))
    wait_for_page(page, 1, of=2)
    for name, number in (("Anteriores", 1), ("Siguientes", 2), ("Siguientes", 2)):
        page.get_by_role("button", name=name).click(force=True)  # aria-disabled
        wait_for_page(page, number, of=2)
    states = page.locator("#paging button").evaluate_all("all => all.map((b) => b.ariaDisabled)")
    assert states == ["false", "true"]


def test_a_turn_that_fails_says_so_and_can_be_repeated(home: Home, visit: Visit) -> None:
    page = visit(address(home(*THIRTY)))
    wait_for_page(page, 1, of=3)
    following = page.get_by_role("button", name="Siguientes")
    page.route("**/api/personas*", lambda route: route.abort())
    following.click()
    page.get_by_text(f"{DOWN}. Sigues en la página 1 de 3").wait_for()
    assert following.evaluate("button => button === document.activeElement")
    page.unroute("**/api/personas*")
    following.click()
    wait_for_page(page, 2, of=3)


def test_a_turn_waits_five_seconds(home: Home, visit: Visit) -> None:
    page = visit(address(home(*THIRTY)), java_script_enabled=True)  # its own, for its clock
    wait_for_page(page, 1, of=3)
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.route("**/api/personas*", lambda route: None)
    page.get_by_role("button", name="Siguientes").click()
    page.clock.run_for(4999)
    assert page.locator("#position").inner_text() == "Cargando…"
    page.clock.run_for(1)
    page.get_by_text("El servicio no responde en 5 segundos").wait_for()


@pytest.mark.parametrize(
    ("left", "faces", "large"),
    [(13, ".faces li:only-child", "visible"), (0, ".faces:empty", "hidden")],
)
def test_who_was_found_meanwhile_is_gone_after_a_turn(
    home: Home, visit: Visit, database: Path, left: int, faces: str, large: str
) -> None:
    page = visit(address(home(*THIRTY)))
    wait_for_page(page, 1, of=3)
    page.locator("#large h2").wait_for()
    fill(database, THIRTY[:left])
    with page.expect_response("**/api/persona-random"):  # the large child is drawn again
        page.get_by_role("button", name="Siguientes").click()
    page.locator(faces).wait_for(state="attached")
    page.locator("#large").wait_for(state=large)


def test_a_list_that_has_become_shorter_ends_with_its_last_page(
    home: Home, visit: Visit, database: Path
) -> None:
    page = visit(address(home(*THIRTY)))
    page.get_by_role("button", name="Siguientes").click()
    wait_for_page(page, 2, of=3)
    fill(database, THIRTY[:13])
    page.get_by_role("button", name="Siguientes").click()
    wait_for_page(page, 2, of=2)


# --- A page that stays open ----------------------------------------------------------

FACES = ".faces li"


@pytest.fixture
def opened(home: Home, visit: Visit, database: Path) -> Any:
    """A page with three faces and a clock that stands still; one child is found then."""
    page = visit("about:blank", java_script_enabled=True)  # its own, for its clock
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.goto(address(home(*map(made_up, (1, 2, 3)))))
    page.locator(FACES).nth(2).wait_for()
    fill(database, [made_up(1), made_up(2)])
    return page


def hide_tab(page: Any, hidden: bool) -> None:
    page.evaluate(
        "value => Object.defineProperty(document, 'hidden', { value, configurable: true })", hidden
    )


def test_the_list_is_read_again_within_ten_minutes(opened: Any) -> None:
    opened.clock.run_for(593_000)
    assert opened.locator(FACES).count() == 3
    opened.clock.run_for(1_000)
    opened.locator(FACES).nth(2).wait_for(state="detached")


@pytest.mark.parametrize("event", ["document, 'visibilitychange'", "window, 'pageshow'"])
def test_a_list_that_is_looked_at_again_is_read_again(opened: Any, event: str) -> None:
    hide_tab(opened, True)
    opened.clock.run_for(3_600_000)
    assert opened.locator(FACES).count() == 3
    hide_tab(opened, False)
    target, name = event.split(", ")
    opened.evaluate(f"{target}.dispatchEvent(new Event({name}))")
    opened.locator(FACES).nth(2).wait_for(state="detached")


def test_a_list_that_cannot_be_read_again_is_hidden_until_it_can(opened: Any) -> None:
    opened.route("**/api/persona*", lambda route: route.abort())
    opened.clock.run_for(594_000)
    opened.get_by_role("status").get_by_text(DOWN).wait_for()
    assert not opened.locator("#rostros, #large, #preview").filter(visible=True).count()
    opened.unroute("**/api/persona*")
    opened.clock.run_for(594_000)
    opened.locator(FACES).nth(1).wait_for()
    opened.locator("#large").get_by_text("Inventada").first.wait_for()
    assert not opened.get_by_text(DOWN).count()


# --- Languages -----------------------------------------------------------------------

SINCE = {
    "es": "desde el 30 de enero de 2024",
    "pt": "desde 30 de janeiro de 2024",
    "en": "since January 30, 2024",
}
TITLES = {
    "es": "Cada página perdida puede ayudar a encontrar a alguien",
    "pt": "Cada página perdida pode ajudar a encontrar alguém",
    "en": "Every lost page can help to find someone",
}
NAMES = {"Español", "Português", "English", "Italiano", "Français", "nginx:", "Apache:"}


@pytest.mark.parametrize(
    ("locale", "query", "lang"),
    [
        ("es-AR", "", "es"),
        ("pt-BR", "", "pt"),
        ("en-US", "", "en"),
        ("fr-FR", "", "es"),
        ("en-US", "?lang=pt", "pt"),
        ("pt-BR", "?lang=es", "es"),
        ("pt-BR", "?lang=fr", "pt"),
    ],
)
def test_the_page_speaks_three_languages(
    home: Home, visit: Visit, locale: str, query: str, lang: str
) -> None:
    page = visit(f"{address(home(*THIRTY))}/{query}", locale=locale)
    page.locator(FIRST).get_by_text(SINCE[lang]).wait_for()
    assert page.locator(f":root[lang={lang}] h1").inner_text() == TITLES[lang] == page.title()
    assert page.locator(f"#languages [aria-current][lang={lang}]").count() == 1


def test_a_link_changes_the_language_of_page_and_card(home: Home, visit: Visit) -> None:
    page = visit(address(home(*THIRTY)))
    page.get_by_role("link", name="English").click()
    page.locator(":root[lang=en] #large [lang=en]").first.wait_for()


def test_without_the_other_words_the_page_stays_spanish(home: Home, visit: Visit) -> None:
    page = visit("about:blank", locale="pt-BR")
    page.route("**/home.json", lambda route: route.abort())
    page.goto(address(home(*THIRTY)))
    page.locator(f":root[lang=es] {FIRST}").get_by_text(SINCE["es"]).wait_for()


def test_every_word_is_in_three_languages() -> None:
    html = INDEX.read_text()
    soup = BeautifulSoup(html, "html5lib")
    for part in soup(["script", "style", "noscript", "code"]):
        part.decompose()
    written = {" ".join(text.split()) for text in soup.strings if re.search(r"\w\w", text)}
    said = set(re.findall(r'(?:say\(|DOWN = )"([^"]+)"', html))
    words = json.loads(INDEX.with_name("home.json").read_text())
    assert words.keys() == (written - NAMES) | said
    for spanish, others in words.items():
        assert {lang: text.count("|") for lang, text in others.items()} == dict.fromkeys(
            ("pt", "en"), spanish.count("|")
        )


# --- Without faces -------------------------------------------------------------------


def test_nobody_is_sought(home: Home, visit: Visit) -> None:
    page = visit(address(home()))
    page.get_by_text("En este momento no hay a quién mostrar.").wait_for()
    page.locator("#large").wait_for(state="hidden")
    assert not page.locator("#rostros, #preview, #to-faces").filter(visible=True).count()


def test_the_service_is_down(home: Home, visit: Visit, database: Path) -> None:
    service = home(made_up(1))
    database.rename(database.with_suffix(".gone"))
    database.write_bytes(b"no database" * 1000)
    page = visit(address(service))
    page.get_by_role("status").get_by_text(DOWN).wait_for()
    page.locator("#large").wait_for(state="hidden")
    assert page.locator("#line").inner_text() == lines(address(service))


def test_without_scripts_it_says_what_it_is(home: Home, visit: Visit) -> None:
    page = visit(address(home(made_up(1))), java_script_enabled=False)
    assert page.locator("noscript a[href='/api/personas']").is_visible()
    assert page.locator("button:visible, #large:visible, section:visible").count() == 1


# --- Taking part ---------------------------------------------------------------------


def test_the_lines_are_copied(home: Home, visit: Visit) -> None:
    service = f"http://127.0.0.1:{home(made_up(1)).port}"  # a clipboard takes https or this
    page = visit(service, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copiar").click()
    page.get_by_role("status").get_by_text("Copiado.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == lines(service)


def test_without_a_clipboard_the_lines_are_selected(home: Home, visit: Visit) -> None:
    service = address(home(made_up(1)))
    page = visit(service)
    page.get_by_role("button", name="Copiar").click()
    page.get_by_role("status").get_by_text("Las líneas están seleccionadas").wait_for()
    assert page.evaluate("getSelection().toString()").strip() == lines(service)


@pytest.mark.parametrize(
    ("choices", "chosen"),
    [
        ({"Tema": "oscuro"}, ' data-theme="dark"'),
        (
            {"Idioma": "Português", "Tamaño": "pequeño", "Tema": "claro"},
            ' data-lang="pt" data-size="small" data-theme="light"',
        ),
    ],
)
def test_choices_change_the_lines_and_the_true_card_below(
    home: Home, visit: Visit, choices: dict[str, str], chosen: str
) -> None:
    service = address(home(made_up(1)))
    page = visit(service)
    for label, option in choices.items():
        page.get_by_label(label).select_option(label=option)
    assert page.locator("#line").inner_text() == lines(service, chosen)
    place = page.locator("#sample > div")
    place.get_by_text("Persona 1 Inventada").wait_for()
    assert place.evaluate("div => div.outerHTML") == f'<div data-persona404=""{chosen}></div>'
    for label in choices:
        page.get_by_label(label).select_option("")
    page.locator("#preview").wait_for(state="hidden")
    assert page.locator("#line").inner_text() == lines(service)


def test_wordpress_users_are_told_the_address_and_get_the_plugin(home: Home, visit: Visit) -> None:
    service = address(home(made_up(1)))
    page = visit(service)
    page.get_by_text(f"escribe esta dirección: {service}").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Descarga el plugin (ZIP)").click()
    assert download.value.suggested_filename == "persona404.zip"


def test_the_downloaded_404_page_works_elsewhere(home: Home, visit: Visit, web: Web) -> None:
    page = visit(address(home(made_up(7))))
    page.locator("#download[href^='blob:']").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Descarga una ya hecha").click()
    html = Path(download.value.path()).read_text()
    visit(host(web, html)).get_by_role("heading", name="Persona 7 Inventada").wait_for()


# --- Figures and footer --------------------------------------------------------------


@pytest.mark.parametrize(("sites", "figures"), [(0, []), (2, ["1", "2", "2"])])
def test_figures_need_a_site(home: Home, visit: Visit, sites: int, figures: list[str]) -> None:
    service = home(made_up(1))
    for number in range(sites):
        service.views.add(f"sitio{number}.example", "prueba-1")
    service.views.flush()
    page = visit(address(service))
    page.locator("time").wait_for()
    assert page.locator("#now dd:visible").all_inner_texts() == figures


@pytest.mark.parametrize(("days", "words"), [(0, "hoy, "), (1, "ayer, "), (9, "el ")])
def test_the_last_reading_has_a_human_date(
    home: Home, visit: Visit, database: Path, days: int, words: str
) -> None:
    service = home()
    ended = datetime.now(UTC) - timedelta(days=days)
    fill(database, [made_up(1)], ended.strftime("%Y-%m-%dT%H:%M:%SZ"))
    page = visit(address(service))
    assert page.locator("time").inner_text().startswith(words)


WEBSITE, PHONE, MAIL = "https://registro.example/", "tel:134", "mailto:nadie@registro.example"
CONTACT = "https://fundacion.example/familias"
EMPTY = {"title": "", "website": "", "phone": "", "operator": "", "contact": ""}


@pytest.mark.parametrize(
    ("about", "links", "columns"),
    [
        ({}, [WEBSITE, PHONE, MAIL], 4),
        ({"contact": CONTACT}, [WEBSITE, PHONE, CONTACT], 4),
        ({"website": "javascript:alert(1)"}, [PHONE, MAIL], 4),
        (EMPTY, [], 2),
    ],
)
def test_the_footer_has_what_is_known(
    home: Home, visit: Visit, about: dict[str, str], links: list[str], columns: int
) -> None:
    page = visit(address(home(made_up(1), **about)))
    found = page.locator("body > footer a").evaluate_all(
        "all => all.map((a) => a.getAttribute('href'))"
    )
    assert found == [*links, "/openapi.json"]
    assert page.locator("body > footer h2:visible").count() == columns


def test_a_link_preview_shows_no_child() -> None:
    html = INDEX.read_text()
    assert 'property="og:title"' in html
    assert "og:image" not in html


def test_the_page_is_light() -> None:
    assert INDEX.stat().st_size <= 20_500
