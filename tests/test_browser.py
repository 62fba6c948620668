"""What visitors see, in headless Chromium: the service on one host, a site on another, photos
over https on a third. Skipped where the browser or a checker is missing, unless CI is set."""

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from support import ROOT, missing
from support.api import ABOUT, Api, ask_wsgi, fill, keep_photo, made_up, views_of
from support.browser import Serve, Served, Visit, host, settle, view_of, with_card, with_line
from support.service import Service, wait_until
from support.web import Answer, Web

pytestmark = pytest.mark.slow

STATIC = ROOT / "static"
MODULES = ROOT / "tests" / "node_modules"
SLOT = '<p>De la página misma: <a href="/mapa">el mapa</a></p>'
SORRY = "Ahora no podemos mostrar a nadie más."
JSON = (("Content-Type", "application/json"), ("Access-Control-Allow-Origin", "*"))
FOCUSED = "e => e.getRootNode().activeElement === e"


def person(number: int, **fields: object) -> Answer:
    """What the service answers for a random person."""
    return Answer(200, json.dumps({**made_up(number)._asdict(), **fields}).encode(), JSON)


def stand_in(
    web: Web,
    answer: Answer | Callable[[BaseHTTPRequestHandler], Answer],
    about: dict[str, object] | None = None,
    **card: str,
) -> str:
    """Let `web` be a service that answers so, as the real one must not, and a site with its card;
    the site's address."""
    script = (STATIC / "embed.js").read_text()
    assert script.count("const ABOUT = {};") == 1
    script = script.replace("const ABOUT = {};", f"const ABOUT = {json.dumps(about or {})};")
    kind = (("Content-Type", "text/javascript; charset=utf-8"),)
    web.pages["/embed.js"] = Answer(200, script.encode(), kind)
    web.pages["/api/persona-random"] = answer
    service = f"http://servicio.example:{web.server.server_port}"
    return host(web, with_card(service, **card))


def site(served: Served, **card: str) -> str:
    """The address of a site's page with the card of the service."""
    return served.host(with_card(served.service, **card))


def hold(go: threading.Event, answer: Answer) -> Callable[[BaseHTTPRequestHandler], Answer]:
    """An answer that waits for `go`."""

    def wait(handler: BaseHTTPRequestHandler) -> Answer:
        go.wait(30)
        return answer

    return wait


# --- A person is shown ---------------------------------------------------------------


def test_the_face_shows_and_the_view_counts_for_the_site(
    serve: Serve, visit: Visit, database: Path
) -> None:
    service = serve(made_up(7))
    keep_photo(database, made_up(7))
    page = visit("about:blank")
    view_of(page, lambda: page.goto(site(service)))
    photo = page.get_by_role("img", name="Foto de Persona 7 Inventada")
    photo.evaluate("photo => photo.decode()")  # until it is loaded
    src = f"{service.service}/foto/prueba-7?nombre=Persona%207%20Inventada"
    assert photo.get_attribute("src") == src
    service.api.views.flush()
    assert views_of(database) == [("www.sitio.example", 1)]


def test_a_page_of_its_own_shows_and_counts(serve: Serve, visit: Visit) -> None:
    """The example of docs/sites.md, "A page of your own"."""
    text = (ROOT / "docs" / "sites.md").read_text()
    (example,) = [part for part in text.split("```") if 'id="child"' in part]
    service = serve()
    html = example.removeprefix("html").replace("https://personas.example.org", service.service)
    page = visit("about:blank")
    view_of(page, lambda: page.goto(service.host(html)))
    assert "Inventada, 12 años, Villa Inventada" in page.inner_text("#child")
    assert service.views() == 1


def test_the_card_is_read_once_and_in_order(visit: Visit, web: Web) -> None:
    about = {"title": "Registro", "website": "https://registro.example/", "phone": "0800 134"}
    page = visit(stand_in(web, person(1, lugar="Villa"), {**about, "demo": True}))
    page.locator("article").wait_for()
    link = "https://wa.me/?text="
    share = page.get_by_role("link", name="Compartir").get_attribute("href")
    assert share.startswith(link)
    assert (
        page.locator("main > div").aria_snapshot().replace(share, link)
        == f"""\
- article:
  - text: "Se busca Ejemplo: esta persona no existe"
  - img "Foto"
  - heading "Persona 1 Inventada" [level=2]
  - paragraph: Desapareció el 1 de febrero de 2024 en Villa. Tenía 12 años.
  - link "Tengo información":
    - /url: https://registro.example/file/1
  - link "o llama al 0800 134":
    - /url: tel:0800134
  - link "Compartir":
    - /url: {link}
  - button "Ver otra"
  - status
  - paragraph:
    - text: "Fuente:"
    - link "Registro":
      - /url: https://registro.example/
  - link "Volver al sitio":
    - /url: /"""
    )


ES, PT = (
    "Desapareció el 1 de febrero de 2024 en Villa. ",
    "Desapareceu no dia 1 de fevereiro de 2024",
)
SENTENCES = {
    "es": ("es", "", {}, ES + "Tenía 12 años."),
    "a month": ("es-AR", "", {"edad": "1 mes"}, ES + "Tenía 1 mes."),
    "pt": ("pt-BR", "", {}, PT + " em Villa. Tinha 12 anos."),
    "pt, months": ("PT", "", {"edad": "7 meses"}, PT + " em Villa. Tinha 7 meses."),
    "en": ("en", "", {}, "Went missing on February 1, 2024 in Villa. Aged 12 years at the time."),
    "another language": ("fr", "", {}, ES + "Tenía 12 años."),
    "no language": ("", "", {}, ES + "Tenía 12 años."),
    "data-lang wins": ("en", 'data-lang="es"', {}, ES + "Tenía 12 años."),
    "no place": ("es", "", {"lugar": ""}, "Falta desde el 1 de febrero de 2024. Tenía 12 años."),
    "small": (
        "en",
        'data-size="small"',
        {"edad": "1 año"},
        "Missing since February 1, 2024. Villa. Aged 1 year at the time.",
    ),
}


@pytest.mark.parametrize("row", SENTENCES)
def test_the_sentence_is_in_the_language_of_the_page(visit: Visit, web: Web, row: str) -> None:
    lang, attributes, fields, sentence = SENTENCES[row]
    answer = person(1, **{"lugar": "Villa", **fields})
    head = f"<script>document.documentElement.lang = '{lang}'</script>"
    page = visit(stand_in(web, answer, attributes=attributes, head=head))
    assert page.locator("article h2 + p").inner_text() == sentence


def test_every_word_is_translated(visit: Visit, web: Web) -> None:
    about = {"title": "R", "phone": "134", "demo": True}
    words = []
    page = visit("about:blank")
    for lang in ("es", "pt", "en"):
        page.goto(stand_in(web, person(1), about, attributes=f'data-lang="{lang}"'))
        page.locator("article").wait_for()
        words.append({text.strip() for text in page.locator("article").inner_text().split("\n")})
    everywhere = words[0] & words[1] & words[2]
    assert everywhere == {"", "134", "Persona 1 Inventada"}


def test_the_official_pages_stand_in_for_what_is_not_known(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)))
    source = page.get_by_role("link", name="registro.example")
    assert source.get_attribute("href") == "https://registro.example"
    assert page.locator("a[href^='tel:']").count() == 0
    assert page.get_by_text("no existe").count() == 0


@pytest.mark.parametrize("about", [{}, {"photos": True}], ids=["the register's", "the service's"])
def test_a_photo_that_does_not_load_becomes_a_silhouette(
    visit: Visit, web: Web, about: dict[str, object]
) -> None:
    page = visit(stand_in(web, person(404), about))
    page.locator(".photo.none").wait_for()
    style = "e => getComputedStyle(e).backgroundImage.slice(0, 15)"
    assert page.locator(".photo").evaluate(style) == "radial-gradient"
    assert page.locator("img").count() == 0


def test_a_name_with_markup_shows_as_text(serve: Serve, visit: Visit) -> None:
    name = "<img src=x onerror=alert(1)><b>Inventada</b>"
    page = visit(site(serve(made_up(1)._replace(nombre=name))))
    page.get_by_role("heading", name=name).wait_for()
    assert page.locator("h2 b").count() == 0


def test_the_register_does_not_learn_the_site(visit: Visit, web: Web, photos: Web) -> None:
    photos.referers.clear()
    page = visit(stand_in(web, person(1)))
    page.locator("img").evaluate("photo => photo.decode()")  # until it is loaded
    links = page.locator("article a")
    assert {link.get_attribute("rel") for link in links.all()} == {"noreferrer"}
    assert photos.referers == {None}


def test_sharing_names_nobody(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)))
    url = page.get_by_role("link", name="Compartir").get_attribute("href")
    (text,) = parse_qs(urlsplit(url).query)["text"]
    assert text.endswith(made_up(1).url)
    assert "Inventada" not in text


def test_sharing_says_that_nobody_of_the_demo_exists(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1), {"demo": True}))
    url = page.get_by_role("link", name="Compartir").get_attribute("href")
    (text,) = parse_qs(urlsplit(url).query)["text"]
    assert text.startswith("Ejemplo: esta persona no existe. ")


def test_sharing_uses_what_the_browser_has(visit: Visit, web: Web) -> None:
    share = "<script>navigator.share = async (data) => { window.shared = data }</script>"
    page = visit(stand_in(web, person(1), head=share))
    page.get_by_role("button", name="Compartir").click()
    shared = page.evaluate("shared")
    assert shared["url"] == made_up(1).url
    assert "Inventada" not in shared["text"]


# --- Another -------------------------------------------------------------------------


def test_another_is_shown(serve: Serve, visit: Visit) -> None:
    service = serve(*[made_up(n) for n in range(1, 31)])
    page = visit("about:blank")
    view_of(page, lambda: page.goto(site(service)))
    name = page.get_by_role("heading", level=2)
    first = name.inner_text()
    view_of(page, page.get_by_role("button", name="Ver otra").click)
    assert name.inner_text() != first
    assert name.evaluate(FOCUSED)
    assert service.views() == 2


def test_another_face_is_in_view(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)), viewport={"width": 360, "height": 600})
    another = page.get_by_role("button", name="Ver otra")
    another.scroll_into_view_if_needed()
    web.pages["/api/persona-random"] = person(2)
    another.click()
    page.get_by_text("Persona 2 Inventada").wait_for()
    assert page.locator(".photo").bounding_box()["y"] > -1


def test_the_same_person_is_asked_for_three_times(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)))
    page.get_by_role("button", name="Ver otra").click()
    page.get_by_text(SORRY).wait_for()
    assert page.get_by_role("heading", name="Persona 1 Inventada").is_visible()
    assert web.asked.count("/api/persona-random") == 1 + 3
    assert sum("/api/track" in path for path in web.asked) == 1


def test_a_click_while_asking_asks_no_more(visit: Visit, web: Web) -> None:
    go = threading.Event()
    page = visit(stand_in(web, person(1)))
    page.get_by_text("Persona 1 Inventada").wait_for()
    web.pages["/api/persona-random"] = hold(go, person(2))
    page.get_by_role("button", name="Ver otra").click(click_count=3)
    go.set()
    page.get_by_text("Persona 2 Inventada").wait_for()
    assert web.asked.count("/api/persona-random") == 2


def test_a_failed_click_leaves_the_person_on_show(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1), slot=SLOT))
    another = page.get_by_role("button", name="Ver otra")
    another.wait_for()
    web.pages["/api/persona-random"] = Answer(503, b"{}", JSON)
    another.click()
    page.get_by_role("status").get_by_text(SORRY).wait_for()
    assert page.get_by_role("heading", name="Persona 1 Inventada").is_visible()
    assert another.evaluate(FOCUSED)
    web.pages["/api/persona-random"] = person(2)
    another.click()
    page.get_by_text("Persona 2 Inventada").wait_for()
    assert not page.get_by_text(SORRY).is_visible()


def test_a_person_found_meanwhile_is_not_left_on_show(
    serve: Serve, visit: Visit, database: Path
) -> None:
    page = visit(site(serve(), slot=SLOT))
    another = page.get_by_role("button", name="Ver otra")
    another.wait_for()
    assert not page.get_by_text("De la página misma").is_visible()
    fill(database, [])
    another.click()
    page.get_by_text("De la página misma").wait_for()
    assert page.locator("article").count() == 0
    assert page.locator("slot").evaluate(FOCUSED)


# --- Nobody can be shown -------------------------------------------------------------

BROKEN = {
    "nobody": Answer(404, b'{"type":"about:blank","title":"Not Found","status":404}', JSON),
    "error": Answer(500, b"<h1>Internal Server Error</h1>", JSON),
    "error with a person": person(1)._replace(status=500),
    "cut": Answer(200, b'{"id":"prueba-1","nombre":"Persona', JSON),
    "null": Answer(200, b"null", JSON),
    "no id": person(1, id=None),
    "no name": person(1, nombre=None),
    "no date": person(1, fecha="ayer"),
    "no age": person(1, edad=""),
    "script": person(1, url="javascript:alert(1)"),
    "http": person(1, foto="http://registro.example/"),
    "no address": person(1, url="/file/1"),
}


def assert_untouched(page: Any) -> None:
    """The site's own content is on the page, and nothing else."""
    assert page.get_by_role("link", name="el mapa").is_visible()
    assert page.evaluate("document.querySelector('[data-persona404]').shadowRoot") is None


def test_a_broken_answer_leaves_the_page_alone(visit: Visit, web: Web) -> None:
    page = visit("about:blank")
    for answer in BROKEN.values():
        page.goto(stand_in(web, answer, slot=SLOT))
        settle(page)
        assert_untouched(page)
    assert web.asked.count("/api/persona-random") == len(BROKEN)
    assert not any("/api/track" in path for path in web.asked)


def test_no_answer_in_3_seconds_leaves_the_page_alone(visit: Visit, web: Web) -> None:
    go = threading.Event()
    url = stand_in(web, hold(go, person(1)), slot=SLOT)
    page = visit("about:blank", java_script_enabled=True)  # a page of its own, for its clock
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.clock.install(time=0)
    page.clock.pause_at(1)
    with page.expect_request("**/api/persona-random"):
        page.goto(url)
    page.clock.run_for(2999)
    assert failed == []
    assert_untouched(page)
    with page.expect_event("requestfailed"):
        page.clock.run_for(1)
    go.set()
    assert [urlsplit(url).path for url in failed] == ["/api/persona-random"]
    page.clock.run_for(100)
    assert_untouched(page)


def test_a_stopped_service_leaves_the_page_alone(serve: Serve, visit: Visit) -> None:
    service = serve()
    service.api.close()
    page = visit(site(service, slot=SLOT))
    assert_untouched(page)


@pytest.mark.parametrize(
    "late", ["/api/persona-random", "/foto/prueba-1?nombre=Persona%201%20Inventada", "/api/track"]
)
def test_a_slow_answer_does_not_hold_back_the_load(visit: Visit, web: Web, late: str) -> None:
    go = threading.Event()
    url = stand_in(web, person(1), {"photos": True})
    path = late + "?e=view&p=prueba-1&d=www.sitio.example" if late == "/api/track" else late
    web.pages[path] = hold(go, Answer(404, b"", JSON))
    page = visit("about:blank")
    with page.expect_request(lambda request: late in request.url):
        page.goto(url, wait_until="load")
    assert page.evaluate("document.readyState") == "complete"
    go.set()
    settle(page)


MODULE = "persona404: load embed.js with <script src>, not as a module"


@pytest.mark.parametrize("kind", ["module", "inlined"])
def test_a_script_without_its_address_says_so(browser: Any, serve: Serve, kind: str) -> None:
    service = serve()
    script = f'<script type="module" src="{service.service}/embed.js"></script>'
    if kind == "inlined":
        script = f"<script>{(STATIC / 'embed.js').read_text()}</script>"
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    html = f"<!DOCTYPE html><title>x</title><div data-persona404>{SLOT}</div>{script}"
    page.goto(service.host(html))
    assert_untouched(page)
    page.close()
    assert [line for line in said if not line.startswith("Failed to load resource")] == [MODULE]


# --- The line on all kinds of pages --------------------------------------------------


def test_a_page_without_the_div_gets_the_card_at_its_end(serve: Serve, visit: Visit) -> None:
    page = visit(serve().with_line('data-home="/inicio" data-size="small"'))
    page.locator("body > aside:last-child article.small").wait_for()


HOMES = {
    "/inicio": "/inicio",
    "https://sitio.example/": "https://sitio.example/",
    "": "/",
    "//otro.example/": "/",
    "/\\otro.example/": "/",
    "javascript:alert(1)": "/",
    "http://sitio.example/": "/",
    "inicio": "/",
}


def test_home_is_an_address_of_the_site(visit: Visit, web: Web) -> None:
    page = visit("about:blank")
    found = {}
    for home in HOMES:
        page.goto(stand_in(web, person(1), attributes=f'data-home="{home}"'))
        found[home] = page.get_by_role("link", name="Volver al sitio").get_attribute("href")
    assert found == HOMES


def test_the_div_overrules_the_script(serve: Serve, visit: Visit) -> None:
    div = '<div data-persona404 data-lang="en"></div>'
    page = visit(serve().with_line('data-lang="pt" data-home="/fim"', before=div))
    assert page.get_by_role("link", name="Back to the site").get_attribute("href") == "/fim"


def test_the_line_prefers_its_region(serve: Serve, visit: Visit) -> None:
    there = made_up(7)._replace(lugar="Villa Inventada, Córdoba Ficticia")
    service = serve(there, *[made_up(n) for n in range(10, 30)])
    page = visit(site(service, attributes='data-region="CORDOBA ficticia"'))
    page.get_by_text("Persona 7 Inventada").wait_for()


def test_two_scripts_are_one(serve: Serve, visit: Visit) -> None:
    service = serve()
    second = f'<script src="{service.service}/embed.js" id="second"></script>'
    page = visit("about:blank")
    view_of(page, lambda: page.goto(site(service, body=second)))
    settle(page)
    assert service.views() == 1
    assert page.locator("article").count() == 1


def test_two_divs_are_two_cards(serve: Serve, visit: Visit) -> None:
    service = serve()
    page = visit(site(service, body="<div data-persona404 data-size=small></div>"))
    page.locator("article").nth(1).wait_for()
    assert page.locator("article.small").count() == 1


def test_a_line_that_a_tag_manager_adds_works(serve: Serve, visit: Visit) -> None:
    service = serve()
    page = visit(service.host("<!DOCTYPE html><html lang=es><title>x</title><body></body></html>"))
    page.evaluate(
        "src => document.body.append(Object.assign(document.createElement('script'), {src}))",
        f"{service.service}/embed.js",
    )
    page.locator("article").wait_for()


def test_the_line_works_however_it_is_loaded(serve: Serve, visit: Visit) -> None:
    service, page = serve(), visit("about:blank")
    for how in ("", "defer", "async"):
        for where in ("<div data-persona404></div>", ""):
            html = with_line(service.service, before=where).replace(" async>", f" {how}>")
            page.goto(service.host(html))
            page.locator("[data-persona404] article").wait_for()


def test_the_line_leaks_nothing(serve: Serve, visit: Visit) -> None:
    service = serve()
    page = visit(service.host("<!DOCTYPE html><html lang=es><title>x</title><p>uno</p></html>"))
    state = """() => [Object.getOwnPropertyNames(window).sort().join(), document.cookie,
        localStorage.length + sessionStorage.length, document.styleSheets.length,
        document.adoptedStyleSheets.length, getComputedStyle(document.querySelector('p')).color]"""
    before = page.evaluate(state)
    page.goto(site(service, body="<p>uno</p>"))
    page.locator("article").wait_for()
    assert page.evaluate(state) == before
    assert page.context.cookies() == []
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_line_works_under_a_strict_policy(serve: Serve, visit: Visit) -> None:
    service = serve()
    policy = (
        f"default-src 'none'; script-src {service.service}; connect-src {service.service};"
        f" img-src {service.service} https:; require-trusted-types-for 'script'"
    )
    url = service.host(with_card(service.service), Content_Security_Policy=policy)
    page = visit("about:blank")
    view_of(page, lambda: page.goto(url))
    assert service.views() == 1
    assert page.locator("article").evaluate("e => getComputedStyle(e).borderTopWidth") == "1px"


def test_a_browser_without_constructed_style_sheets_shows_the_card(
    serve: Serve, visit: Visit
) -> None:
    old = "<script>CSSStyleSheet = class { constructor() { throw new TypeError() } }</script>"
    page = visit(site(serve(), head=old))
    assert page.locator("article").evaluate("e => getComputedStyle(e).borderTopWidth") == "1px"


CLOBBERED = {
    "names": "".join(
        f'<img alt="" name="{name}"><form name="{name}"></form>'
        for name in ("currentScript", "body", "documentElement", "createElement", "readyState",
                     "addEventListener", "querySelector", "querySelectorAll", "forms")
    ),
    "ids": '<a id="fetch"></a><a id="addEventListener"></a><a id="ABOUT"></a><a id="page"></a>',
    "prototype": "<script>Object.prototype.all = () => {}; Array.prototype.one = 1</script>",
}  # fmt: skip


@pytest.mark.parametrize("row", CLOBBERED)
def test_names_of_the_page_do_not_disturb(visit: Visit, web: Web, row: str) -> None:
    page = visit(stand_in(web, person(1), slot=CLOBBERED[row], head=CLOBBERED[row]))
    page.get_by_role("heading", name="Persona 1 Inventada").wait_for()


HOSTILE = {
    "all unset": ("* { all: unset }", "<div data-persona404></div>"),
    "important": (
        "div, div * { all: unset !important; display: none !important }",
        "<div data-persona404></div>",
    ),
    "empty": ("div:empty { display: none }", "<div data-persona404></div>"),
    "elements": (
        "img { display: none } a, button { font-size: 0; position: fixed } h2 { color: #fff }",
        "<div data-persona404></div>",
    ),
    "list": ("li { color: red }", "<ul data-persona404><li>uno</li></ul>"),
    "grid": ("main { display: grid; place-items: center }", "<div data-persona404></div>"),
    "flex": ("main { display: flex }", "<div data-persona404></div>"),
    "no font size": ("main { font-size: 0; line-height: 0 }", "<p data-persona404></p>"),
    "capitals": ("main { text-transform: uppercase; text-align: right }", "<div data-persona404>"),
}


@pytest.mark.parametrize("row", HOSTILE)
def test_the_card_looks_the_same_on_all_pages(serve: Serve, visit: Visit, row: str) -> None:
    css, place = HOSTILE[row]
    service = serve()
    html = with_line(service.service, before=place).replace("</head>", f"<style>{css}</style>")
    page = visit(service.host(html))
    name = page.get_by_role("heading", name="Persona 1 Inventada")
    name.wait_for()
    style = "e => ['fontSize', 'textTransform', 'textAlign'].map(k => getComputedStyle(e)[k])"
    assert name.evaluate(style) == ["27.2px", "none", "start"]
    assert page.locator(".photo").bounding_box()["width"] > 250
    assert page.get_by_role("button", name="Ver otra").bounding_box()["height"] >= 44
    assert not page.get_by_text("uno").is_visible()


def test_the_card_reads_from_left_to_right(serve: Serve, visit: Visit) -> None:
    html = with_card(serve().service).replace('lang="es"', 'lang="ar" dir="rtl"')
    page = visit(serve().host(html), viewport={"width": 1000, "height": 740})
    box = {name: page.locator(name).bounding_box() for name in (".photo", "h2")}
    assert box[".photo"]["x"] < box["h2"]["x"]
    assert page.locator("article").evaluate("e => getComputedStyle(e).direction") == "ltr"


# page, attributes, what the visitor prefers, whether the card is dark
SCHEMES = '<meta name="color-scheme" content="light dark">'
DARK = "<style>body { background: #111; color: %s }</style>"
THEMES = {
    "a plain page": ("", "", "dark", False),
    "a page of both, light": (SCHEMES, "", "light", False),
    "a page of both, dark": (SCHEMES, "", "dark", True),
    "a dark page": (DARK % "#eee", "", "light", True),
    "a dark page, oklch": (DARK % "oklch(0.97 0 0)", "", "light", True),
    "a light page, oklch": (DARK % "oklch(0.2 0 0)", "", "light", False),
    "auto": (SCHEMES, 'data-theme="auto"', "dark", True),
    "light": (DARK % "#eee", 'data-theme="light"', "dark", False),
    "dark": ("", 'data-theme="dark"', "light", True),
}


@pytest.mark.parametrize("row", THEMES)
def test_the_card_is_light_or_dark_as_its_page_is(visit: Visit, web: Web, row: str) -> None:
    head, attributes, preferred, dark = THEMES[row]
    page = visit("about:blank")
    page.emulate_media(color_scheme=preferred)
    page.goto(stand_in(web, person(1), head=head, attributes=attributes))
    paper = page.locator("article").evaluate("e => getComputedStyle(e).backgroundColor")
    page.emulate_media(color_scheme="light")
    assert paper == ("rgb(29, 28, 27)" if dark else "rgb(255, 255, 255)")


def test_the_card_follows_the_visitor_s_preference(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1), head=SCHEMES))
    page.locator("article:not(.dark)").wait_for()
    page.emulate_media(color_scheme="dark")
    page.locator("article.dark").wait_for()
    page.emulate_media(color_scheme="light")
    page.locator("article:not(.dark)").wait_for()


def test_the_page_sets_colours_font_and_corners(visit: Visit, web: Web) -> None:
    css = """<style>main { --persona404-accent: #010203; --persona404-ink: #040506;
        --persona404-paper: #fefdfc; --persona404-font: Georgia;
        --persona404-radius: 3px }</style>"""
    page = visit(stand_in(web, person(1), head=css))
    style = "(e, name) => getComputedStyle(e)[name]"
    card = page.locator("article")
    found = [
        card.evaluate(style, n) for n in ("color", "backgroundColor", "fontFamily", "borderRadius")
    ]
    assert found == ["rgb(4, 5, 6)", "rgb(254, 253, 252)", "Georgia", "3px"]
    assert page.locator("header").evaluate(style, "backgroundColor") == "rgb(1, 2, 3)"


def test_a_small_card_is_a_row(serve: Serve, visit: Visit) -> None:
    service = serve(made_up(1)._replace(lugar="Villa Inventada"))
    page = visit(site(service, attributes='data-size="small"'))
    assert 100 <= page.locator("article").bounding_box()["height"] <= 140
    assert page.get_by_role("link", name="Tengo información").is_visible()
    assert not page.get_by_role("button").first.is_visible()


# --- The service's own 404 page ------------------------------------------------------


def test_the_services_own_404_page_counts_no_site(serve: Serve, visit: Visit) -> None:
    service = serve()
    asked = []
    page = visit("about:blank", java_script_enabled=True)  # a page of its own, for its listener
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{service.service}/uno/dos/tres")
    page.get_by_role("heading", name="Persona 1 Inventada").wait_for()
    settle(page)
    assert not any("/api/track" in url for url in asked)


def test_the_404_page_makes_sense_without_scripts(serve: Serve, visit: Visit) -> None:
    page = visit(f"{serve().service}/404.html", java_script_enabled=False)
    assert page.get_by_role("heading", name="Página no encontrada").is_visible()
    assert page.get_by_role("link", name="Volver al sitio").is_visible()


def test_what_every_404_page_loads_is_light(database: Path) -> None:
    fill(database, [])
    about = ABOUT._replace(title="Registro Nacional de Personas", demo=True)
    api = Api(database, about=about).app
    gzip = {"HTTP_ACCEPT_ENCODING": "gzip"}
    sent = [ask_wsgi(api, path, "", **gzip) for path in ("/404.html", "/embed.js")]
    assert [answer.headers["content-encoding"] for answer in sent] == ["gzip", "gzip"]
    assert sum(len(answer.body) for answer in sent) <= 5000


# --- For everybody's eyes and hands --------------------------------------------------


def shown(served: Served, kind: str) -> str:
    return {
        "embed": site(served),
        "small": site(served, attributes='data-size="small"'),
        "404": f"{served.service}/404.html",
        "home": served.service,
    }[kind]


AXE = [(kind, persons) for kind in ("embed", "404", "home") for persons in ("no photo", "nobody")]
AXE += [(kind, "somebody") for kind in ("embed", "small", "404", "home")]


@pytest.mark.parametrize(("kind", "persons"), AXE)
def test_axe_finds_no_violation(
    serve: Serve, visit: Visit, database: Path, kind: str, persons: str
) -> None:
    axe = MODULES / "axe-core" / "axe.min.js"
    if not axe.exists():
        missing("axe-core (npm ci --prefix tests)")
    service = serve(made_up(1), made_up(2))
    if persons == "somebody":
        keep_photo(database, made_up(1))
        keep_photo(database, made_up(2))
    elif persons == "nobody":
        fill(database, [])
    page = visit(shown(service, kind), viewport={"width": 360, "height": 740})
    settle(page)
    page.evaluate(axe.read_text())
    for scheme, run in (("light", "axe.run()"), ("dark", "axe.run({runOnly: 'color-contrast'})")):
        page.emulate_media(color_scheme=scheme)
        result = page.evaluate(run)
        assert result["passes"]
        found = {v["id"]: [node["html"] for node in v["nodes"]] for v in result["violations"]}
        assert found == {}, scheme


@pytest.mark.parametrize("kind", ["embed", "small", "404", "home"])
def test_every_target_is_44_pixels_and_nothing_overflows(
    serve: Serve, visit: Visit, kind: str
) -> None:
    long = made_up(1)._replace(nombre="Inventada" * 12, lugar="Prueba" * 20)
    service = serve(*[long, *map(made_up, range(2, 31))][: 1 if kind != "home" else 30])
    page = visit(shown(service, kind), viewport={"width": 320, "height": 740})
    settle(page)
    for width in (280, 320, 360, 1280):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for target in page.locator("button:visible, :is(.faces, article) a:visible").all():
            box = target.bounding_box()
            assert min(box["width"], box["height"]) >= 44, target.inner_text()


@pytest.mark.parametrize("kind", ["embed", "small", "404", "home"])
def test_the_focus_is_visible(serve: Serve, visit: Visit, kind: str) -> None:
    page = visit(shown(serve(), kind))
    settle(page)
    page.keyboard.press("Tab")
    outline = page.evaluate(
        """() => {
            const at = document.activeElement;
            const style = getComputedStyle(at.shadowRoot?.activeElement ?? at);
            return [at !== document.body, style.outlineStyle, style.outlineWidth];
        }"""
    )
    assert outline == [True, "solid", "3px"]


def test_the_html_is_valid(serve: Serve, visit: Visit, tmp_path: Path) -> None:
    """As it is written, and as the browser has it with a person on show."""
    checker = MODULES / "vnu-jar" / "build" / "dist" / "vnu.jar"
    if not checker.exists():
        missing("vnu-jar (npm ci --prefix tests)")
    if shutil.which("java") is None:
        missing("java")
    service = serve()
    files = [str(STATIC / "404.html"), str(STATIC / "index.html")]
    for kind in ("404", "home"):
        page = visit(shown(service, kind))
        settle(page)
        rendered = tmp_path / f"rendered-{kind}.html"
        rendered.write_text(page.content())
        files.append(str(rendered))
    page = visit(site(service))
    inside = page.locator("article").evaluate("e => e.outerHTML")
    card = tmp_path / "card.html"
    card.write_text(f'<!DOCTYPE html><html lang="es"><title>x</title><h1>x</h1>{inside}')
    files.append(str(card))
    done = subprocess.run(
        ["java", "-jar", str(checker), "--Werror", *files], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- The service as a process --------------------------------------------------------


def test_a_running_service_with_the_made_up_register(
    service: Callable[..., Service], visit: Visit, web: Web
) -> None:
    """All of it, as an operator starts it: `python app.py`, the demo register, a site."""
    running = service(REGISTER="registers/demo.toml").serving()
    running.wait_for("24 active")
    html = with_card(f"http://servicio.example:{running.port}")
    page = visit("about:blank")
    view_of(page, lambda: page.goto(host(web, html)))
    wait_until(lambda: running.ask("/api/stats").json["sites"] == 1)
    everybody = running.ask("/api/personas?limit=100").json["personas"]
    name = page.get_by_role("heading", level=2).inner_text()
    assert name in {person["nombre"] for person in everybody}
    assert page.get_by_text("esta persona no existe").is_visible()
