"""What visitors see, in headless Chromium: the service on one host, a site on another, photos
over https on a third. Skipped where the browser or a checker is missing, unless CI is set."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support import ROOT
from support.api import ABOUT, Api, ask_wsgi, fill, keep_photo, made_up, views_of
from support.browser import (
    Serve,
    Served,
    Visit,
    axe,
    check_html,
    host,
    settle,
    view_of,
    with_card,
    with_line,
)
from support.service import Service, wait_until
from support.web import Answer, Web

pytestmark = pytest.mark.slow

STATIC = ROOT / "static"
SLOT = '<p>De la página misma: <a href="/mapa">el mapa</a></p>'
SORRY = "Ahora no podemos mostrar a nadie más."
JSON = (
    ("Content-Type", "application/json"),
    ("Access-Control-Allow-Origin", "*"),
    ("Cache-Control", "no-store"),
)
FOCUSED = "e => e.getRootNode().activeElement === e"
SENTENCE = "article h3 + p"
LANGUAGES = ("es", "en", "pt", "it", "fr")
BUENOS_AIRES = "America/Argentina/Buenos_Aires"  # 3 hours behind UTC
NOW = "2026-11-22T15:00Z"


def person(number: int, read: str = "", **fields: object) -> Answer:
    """What the service answers for a random person; `read` is the Last-Modified."""
    headers = (*JSON, ("Last-Modified", read)) if read else JSON
    return Answer(200, json.dumps({**made_up(number)._asdict(), **fields}).encode(), headers)


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
    web.pages["/words.json"] = Answer(200, (STATIC / "words.json").read_bytes(), JSON)
    web.pages["/api/persona-random"] = answer
    service = f"http://servicio.example:{web.server.server_port}"
    return host(web, with_card(service, **card))


def site(served: Served, **card: str) -> str:
    """The address of a site's page with the card of the service."""
    return served.host(with_card(served.service, **card))


def at(page: Any, now: str, url: str) -> None:
    """Visit `url` with the visitor's clock at `now`. The page's clock stays so."""
    page.clock.set_fixed_time(now)
    page.goto(url)
    page.locator("article").wait_for()


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


GONE = "Falta desde hace %s (1 de febrero de 2024), en Villa. Tenía %s."
SINCE = "Se busca desde el 1 de febrero de 2024, en Villa. "


def test_the_card_is_read_once_and_in_order(visit: Visit, web: Web) -> None:
    about = {"title": "Registro", "website": "https://registro.example/", "phone": "0800 134"}
    answer = person(1, "Sun, 22 Nov 2026 12:00:00 GMT", lugar="Villa")
    url = stand_in(web, answer, {**about, "demo": True}, attributes="data-lead=yes")
    page = visit("about:blank", timezone_id=BUENOS_AIRES)
    at(page, NOW, url)
    service = f"http://servicio.example:{web.server.server_port}"
    assert (
        page.locator("main > div").aria_snapshot()
        == f"""\
- 'region "Se busca: Persona 1 Inventada"':
  - paragraph: Persona 1 Inventada tampoco. ¿Puedes ayudar?
  - article:
    - heading "Se busca" [level=2]
    - text: "Ejemplo: esta persona no existe"
    - img "Foto de Persona 1 Inventada"
    - heading "Persona 1 Inventada" [level=3]
    - paragraph: {GONE % ("2 años", "12 años; hoy tiene unos 14")}
    - 'link "Sé algo: avisar"':
      - /url: https://registro.example/file/1
    - link "Llamar al 0800 134":
      - /url: tel:0800134
    - link "Compartir":
      - /url: {service}/p/prueba-1
    - button "Ver otra"
    - status
    - paragraph:
      - text: "Fuente:"
      - link "Registro":
        - /url: https://registro.example/
      - text: · leída hoy
    - link "Volver al sitio":
      - /url: /"""
    )


# The visitor's time, what the service says, the sentence.
SENTENCES: dict[str, tuple[str, dict[str, str], str]] = {
    "the visitor's clock is behind": ("2024-01-30T15:00Z", {}, SINCE + "Tenía 12 años."),
    "today": ("2024-02-01T15:00Z", {}, SINCE + "Tenía 12 años."),
    "today until midnight": ("2024-02-02T02:59Z", {}, SINCE + "Tenía 12 años."),
    "yesterday": ("2024-02-02T03:00Z", {}, GONE % ("1 día", "12 años")),
    "days": ("2024-02-29T15:00Z", {}, GONE % ("28 días", "12 años")),
    "a month": ("2024-03-01T15:00Z", {}, GONE % ("1 mes", "12 años")),
    "the first year": ("2025-01-31T15:00Z", {}, GONE % ("11 meses", "12 años")),
    "a year": ("2025-02-01T15:00Z", {}, GONE % ("12 meses", "12 años; hoy tiene unos 13")),
    "23 months": ("2026-01-31T15:00Z", {}, GONE % ("23 meses", "12 años; hoy tiene unos 13")),
    "24 months": ("2026-02-01T15:00Z", {}, GONE % ("2 años", "12 años; hoy tiene unos 14")),
    "the day before": ("2027-01-31T15:00Z", {}, GONE % ("2 años", "12 años; hoy tiene unos 14")),
    "the anniversary": ("2027-02-01T15:00Z", {}, GONE % ("3 años", "12 años; hoy tiene unos 15")),
    "one year old": (
        "2026-02-01T15:00Z",
        {"edad": "1 año"},
        GONE % ("2 años", "1 año; hoy tiene unos 3"),
    ),
    "a month old": ("2024-03-01T15:00Z", {"edad": "1 mes"}, GONE % ("1 mes", "1 mes")),
    "a baby": (
        "2025-06-01T15:00Z",
        {"edad": "7 meses"},
        GONE % ("16 meses", "7 meses; hoy tiene unos 23 meses"),
    ),
    "a baby then": (
        "2025-07-01T15:00Z",
        {"edad": "7 meses"},
        GONE % ("17 meses", "7 meses; hoy tiene unos 2 años"),
    ),
    "no place": (
        NOW,
        {"lugar": ""},
        "Falta desde hace 2 años (1 de febrero de 2024). Tenía 12 años; hoy tiene unos 14.",
    ),
}


def test_the_sentence_says_how_long_ago_and_how_old_today(visit: Visit, web: Web) -> None:
    page = visit("about:blank", timezone_id=BUENOS_AIRES)
    found = {}
    for row, (now, fields, _) in SENTENCES.items():
        at(page, now, stand_in(web, person(1, **{"lugar": "Villa", **fields})))
        found[row] = page.locator(SENTENCE).inner_text()
    assert found == {row: sentence for row, (*_, sentence) in SENTENCES.items()}


# What is known of the register, the sentence.
MEANINGS: list[tuple[dict[str, object], str]] = [
    (
        {"edad_de": "hoy"},
        "Falta desde hace 2 años (1 de febrero de 2024), en Villa. Tiene 12 años.",
    ),
    ({"fecha_de": "publicacion"}, SINCE + "Tenía 12 años."),
    ({"edad_de": "hoy", "fecha_de": "publicacion"}, SINCE + "Tiene 12 años."),
]


def test_the_sentence_says_no_more_than_the_register(visit: Visit, web: Web) -> None:
    page = visit("about:blank", timezone_id=BUENOS_AIRES)
    for about, sentence in MEANINGS:
        at(page, NOW, stand_in(web, person(1, lugar="Villa"), about))
        assert page.locator(SENTENCE).inner_text() == sentence


# The end of the last good run, the footer at NOW.
READINGS = {
    "": "Fuente: registro.example",
    "Mon, 23 Nov 2026 15:00:00 GMT": "Fuente: registro.example · leída hoy",
    "Sun, 22 Nov 2026 03:00:00 GMT": "Fuente: registro.example · leída hoy",
    "Sun, 22 Nov 2026 02:59:59 GMT": "Fuente: registro.example · leída ayer",
    "Sat, 21 Nov 2026 03:00:00 GMT": "Fuente: registro.example · leída ayer",
    "Sat, 21 Nov 2026 02:59:59 GMT": (
        "Fuente: registro.example · sin actualizar desde el 20 de noviembre de 2026"
    ),
    "Fri, 04 Oct 2024 12:00:00 GMT": (
        "Fuente: registro.example · sin actualizar desde el 4 de octubre de 2024"
    ),
}


def test_the_footer_says_when_the_list_was_read(visit: Visit, web: Web) -> None:
    page = visit("about:blank", timezone_id=BUENOS_AIRES)
    found = {}
    for read in READINGS:
        at(page, NOW, stand_in(web, person(1, read)))
        found[read] = page.locator("footer p").inner_text()
    assert found == READINGS


TRANSLATED = {
    "es": (
        "Falta desde hace 2 años (1 de febrero de 2024), en Villa."
        " Tenía 12 años; hoy tiene unos 14.",
        "Fuente: R · leída ayer",
    ),
    "en": (
        "Missing for 2 years (since February 1, 2024), in Villa. Was 12 years old; now about 14.",
        "Source: R · checked yesterday",
    ),
    "pt": (
        "Sem notícias há 2 anos (1 de fevereiro de 2024), em Villa."
        " Tinha 12 anos; hoje tem cerca de 14.",
        "Fonte: R · consultada ontem",
    ),
    "it": (
        "Manca da 2 anni (1 febbraio 2024) \u2013 Villa. Aveva 12 anni; oggi circa 14.",
        "Fonte: R · consultata ieri",
    ),
    "fr": (
        "Sans nouvelles depuis 2 ans (1 février 2024) \u2013 Villa."
        " 12 ans à l\u2019époque ; aujourd\u2019hui environ 14.",
        "Source : R · consultée hier",
    ),
}


def test_every_word_is_translated(visit: Visit, web: Web) -> None:
    answer = person(1, "Sat, 21 Nov 2026 12:00:00 GMT", lugar="Villa")
    about = {"title": "R", "phone": "134", "demo": True}
    page = visit("about:blank", timezone_id=BUENOS_AIRES)
    words, found = [], {}
    for lang in LANGUAGES:
        at(page, NOW, stand_in(web, answer, about, attributes=f'data-lang="{lang}" data-lead'))
        found[lang] = tuple(page.locator(f"{SENTENCE}, footer p").all_inner_texts())
        words.append({text.strip() for text in page.locator("section").inner_text().split("\n")})
    assert found == TRANSLATED
    assert set.intersection(*words) == {"", "Persona 1 Inventada"}


def test_all_languages_have_the_same_words(visit: Visit) -> None:
    """With the same gaps; and no word is forgotten in another's language."""
    script = (STATIC / "embed.js").read_text()
    inline = script.partition("const WORDS = {")[2].partition("};")[0]
    words = visit("about:blank").evaluate(f"() => ({{...{{{inline}}}}})")
    words |= json.loads((STATIC / "words.json").read_text())
    gaps = [{key: text.count("|") for key, text in words[lang].items()} for lang in LANGUAGES]
    assert [lang for lang, own in zip(LANGUAGES, gaps, strict=True) if own != gaps[0]] == []
    same = {
        (key, one, other)
        for one, other in combinations(LANGUAGES, 2)
        for key in gaps[0]
        if words[one][key] == words[other][key]
    }
    assert same == {("photo", "es", "pt"), ("source", "pt", "it"), ("place", "it", "fr")}


# The visitor's languages: the page's, with the data-lang: the card's.
CHOICES: dict[str, dict[tuple[str, str], str]] = {
    "es-AR": {
        ("es-AR", ""): "es",
        ("en", ""): "en",
        ("PT", ""): "pt",
        ("it", ""): "it",
        ("fr-CA", ""): "fr",
        ("en", "es"): "es",
        ("en", "FR"): "fr",
        ("en", "de"): "en",
        ("de", ""): "es",
    },
    "fr-FR": {("", ""): "fr", ("de", ""): "fr", ("ar", ""): "fr", ("en", ""): "en"},
    "de": {("", ""): "es", ("ar", ""): "es", ("pt-BR", ""): "pt"},
}


@pytest.mark.parametrize("visitor", CHOICES)
def test_the_language_is_the_page_s_then_the_visitor_s(
    visit: Visit, web: Web, visitor: str
) -> None:
    page = visit("about:blank", locale=visitor)
    found = {}
    for lang, own in CHOICES[visitor]:
        head = f"<script>document.documentElement.lang = '{lang}'</script>"
        page.goto(stand_in(web, person(1), attributes=f'data-lang="{own}"', head=head))
        found[lang, own] = page.locator("section").get_attribute("lang")
    assert found == CHOICES[visitor]


def test_the_first_of_the_visitor_s_languages_that_the_card_speaks(visit: Visit, web: Web) -> None:
    page = visit("about:blank", locale="de")
    several = "{get: () => ['de-AT', 'it-CH', 'fr', 'es']}"
    page.add_init_script(f"Object.defineProperty(navigator, 'languages', {several})")
    german = "<script>document.documentElement.lang = 'de'</script>"
    page.goto(stand_in(web, person(1), head=german))
    assert page.locator("section").get_attribute("lang") == "it"


def test_other_words_are_fetched_only_where_they_are_needed(visit: Visit, web: Web) -> None:
    page = visit("about:blank")
    for lang in ("es", "en", "fr"):
        assert "/words.json" not in web.asked
        page.goto(stand_in(web, person(1), attributes=f"data-lang={lang}"))
        page.locator("article").wait_for()
    assert web.asked.count("/words.json") == 1


@pytest.mark.parametrize("answer", [Answer(503, b"{}", JSON), Answer(200, b"{", JSON)])
def test_without_the_other_words_the_card_is_in_spanish(
    visit: Visit, web: Web, answer: Answer
) -> None:
    url = stand_in(web, person(1), attributes="data-lang=fr")
    web.pages["/words.json"] = answer
    page = visit(url)
    page.get_by_role("region", name="Se busca: Persona 1 Inventada").wait_for()
    assert page.locator("section").get_attribute("lang") == "es"


def test_the_official_pages_stand_in_for_what_is_not_known(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)))
    source = page.get_by_role("link", name="registro.example")
    assert source.get_attribute("href") == "https://registro.example/file/1"
    assert page.locator("a[href^='tel:']").count() == 0
    assert page.get_by_text("no existe").count() == 0


@pytest.mark.parametrize("about", [{}, {"photos": True}], ids=["the register's", "the service's"])
def test_a_photo_that_does_not_load_becomes_a_silhouette(
    visit: Visit, web: Web, about: dict[str, object]
) -> None:
    page = visit(stand_in(web, person(404), about))
    page.locator(".photo:empty").wait_for()
    style = "e => getComputedStyle(e).backgroundImage.slice(0, 15)"
    assert page.locator(".photo").evaluate(style) == "radial-gradient"
    assert page.locator("img").count() == 0


def test_a_name_with_markup_shows_as_text(serve: Serve, visit: Visit) -> None:
    name = "<img src=x onerror=alert(1)><b>Inventada</b>"
    page = visit(site(serve(made_up(1)._replace(nombre=name))))
    page.get_by_role("heading", name=name).wait_for()
    assert page.locator("h3 b").count() == 0


def test_the_register_does_not_learn_the_site(visit: Visit, web: Web, photos: Web) -> None:
    photos.referers.clear()
    page = visit(stand_in(web, person(1)))
    page.locator("img").evaluate("photo => photo.decode()")  # until it is loaded
    links = page.locator("article a")
    assert {link.get_attribute("rel") for link in links.all()} == {"noreferrer"}
    assert photos.referers == {None}


def test_sharing_names_nobody(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)))
    share = page.get_by_role("link", name="Compartir")
    service = f"http://servicio.example:{web.server.server_port}"
    assert share.get_attribute("href") == f"{service}/p/prueba-1"


def test_sharing_uses_what_the_browser_has(visit: Visit, web: Web) -> None:
    share = "<script>navigator.share = async (data) => { window.shared = data }</script>"
    page = visit(stand_in(web, person(1), head=share))
    page.get_by_role("button", name="Compartir").click()
    service = f"http://servicio.example:{web.server.server_port}"
    assert page.evaluate("({...shared})") == {"url": f"{service}/p/prueba-1"}


# --- Another -------------------------------------------------------------------------


def test_another_is_shown(serve: Serve, visit: Visit) -> None:
    service = serve(*[made_up(n) for n in range(1, 31)])
    page = visit("about:blank")
    view_of(page, lambda: page.goto(site(service)))
    name = page.get_by_role("heading", level=3)
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
    page = visit("about:blank")
    view_of(page, lambda: page.goto(stand_in(web, person(1))))
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
    "no number of years": person(1, edad="años"),
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


LIMITS = """window.limits = [];
AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    limits.push({ms, end: () => controller.abort(new DOMException("", "TimeoutError"))});
    return controller.signal;
}"""


def test_no_answer_in_3_seconds_leaves_the_page_alone(visit: Visit, web: Web) -> None:
    go = threading.Event()
    url = stand_in(web, hold(go, person(1)), slot=SLOT)
    page = visit("about:blank", java_script_enabled=True)  # a page of its own, for its script
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.add_init_script(LIMITS)
    with page.expect_request("**/api/persona-random"):
        page.goto(url)
    assert page.evaluate("limits.map(({ms}) => ms)") == [3000]
    assert failed == []
    assert_untouched(page)
    with page.expect_event("requestfailed"):
        page.evaluate("limits[0].end()")
    go.set()
    assert [urlsplit(url).path for url in failed] == ["/api/persona-random"]
    settle(page)
    assert_untouched(page)


def test_a_stopped_service_leaves_the_page_alone(serve: Serve, visit: Visit) -> None:
    service = serve()
    service.api.close()
    page = visit(site(service, slot=SLOT))
    assert_untouched(page)


@pytest.mark.parametrize(
    "late",
    [
        "/words.json",
        "/api/persona-random",
        "/foto/prueba-1?nombre=Persona%201%20Inventada",
        "/api/track",
    ],
)
def test_a_slow_answer_does_not_hold_back_the_load(visit: Visit, web: Web, late: str) -> None:
    go = threading.Event()
    url = stand_in(web, person(1), {"photos": True}, attributes="data-lang=fr")
    path = late + "?e=view&p=prueba-1&d=www.sitio.example" if late == "/api/track" else late
    web.pages[path] = hold(go, Answer(404, b"", JSON))
    page = visit("about:blank")
    with page.expect_request(lambda request: late in request.url):
        page.goto(url, wait_until="load")
    assert page.evaluate("document.readyState") == "complete"
    go.set()
    settle(page)


# What the browser itself says of a script that does not know where it comes from.
LOST = {
    "module": "Cannot read properties of null (reading 'src')",
    "inlined": "Failed to construct 'URL': Invalid base URL",
}


@pytest.mark.parametrize("kind", LOST)
def test_a_script_without_its_address_is_an_error_on_the_console(
    browser: Any, serve: Serve, kind: str
) -> None:
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
    assert [line for line in said if not line.startswith("Failed to load resource")] == [LOST[kind]]


# --- The line on all kinds of pages --------------------------------------------------


def test_a_page_without_the_div_gets_the_card_at_its_end(serve: Serve, visit: Visit) -> None:
    page = visit(serve().with_line('data-home="/inicio" data-size="small"'))
    page.locator("body > aside:last-child article.small").wait_for()


HOMES = {
    "/inicio": "/inicio",
    "https://sitio.example/": "https://sitio.example/",
    "": "/",
    "//otro.example/": "//otro.example/",
    "/\\otro.example/": "/\\otro.example/",  # the same to a browser
    "javascript:alert(1)": None,
    "http://sitio.example/": None,
    "inicio": None,
    "none": None,
}


def test_home_is_an_address_or_none(visit: Visit, web: Web) -> None:
    page = visit("about:blank")
    found = {}
    for home in HOMES:
        page.goto(stand_in(web, person(1), attributes=f'data-home="{home}"'))
        page.locator("article").wait_for()
        back = page.get_by_role("link", name="Volver al sitio").all()
        found[home] = back[0].get_attribute("href") if back else None
        assert page.locator("a[href*='javascript:']").count() == 0
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


NO_CARD = {
    "a list": ("<ul data-persona404><li>%s</li></ul>", ""),
    "no constructed style sheets": (
        "<div data-persona404>%s</div>",
        "<script>CSSStyleSheet = class { constructor() { throw new TypeError() } }</script>",
    ),
}


@pytest.mark.parametrize("row", NO_CARD)
def test_where_a_card_cannot_be_the_page_is_left_alone(
    serve: Serve, visit: Visit, row: str
) -> None:
    place, head = NO_CARD[row]
    service = serve()
    html = with_line(service.service, before=place % SLOT).replace("<head>", f"<head>{head}")
    page = visit(service.host(html))
    settle(page)
    assert_untouched(page)
    assert page.get_by_text("Inventada").count() == 0


CLOBBERED = {
    "names": "".join(
        f'<img alt="" name="{name}"><form name="{name}"></form>'
        for name in ("currentScript", "body", "documentElement", "createElement", "readyState",
                     "addEventListener", "querySelector", "querySelectorAll", "forms")
    ),
    "ids": '<a id="fetch"></a><a id="addEventListener"></a><a id="ABOUT"></a><a id="page"></a>',
    "prototype": """<script>Object.prototype.all = () => {}; Array.prototype.one = 1;
        Object.assign(Object.prototype, {phone: "666", demo: true, edad_de: "hoy", photos: true,
            size: 1, method: "POST", mode: "closed", style: "percent", weekday: "long",
            attributes: false, root: 1, rootMargin: "x", es: 1, fr: 1})</script>""",
}  # fmt: skip


@pytest.mark.parametrize("row", CLOBBERED)
def test_names_of_the_page_do_not_disturb(visit: Visit, web: Web, row: str) -> None:
    page = visit(stand_in(web, person(1), slot=CLOBBERED[row], head=CLOBBERED[row]))
    page.get_by_role("heading", name="Persona 1 Inventada").wait_for()
    assert "Tenía 12 años" in page.locator(SENTENCE).inner_text()
    assert page.locator("a[href^='tel:']").count() == 0
    assert not page.get_by_text("no existe").is_visible()
    assert page.locator("article img").get_attribute("src") == made_up(1).foto


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
    assert name.evaluate(style) == ["24px", "none", "start"]
    assert page.locator(".photo").bounding_box()["width"] > 250
    assert page.get_by_role("button", name="Ver otra").bounding_box()["height"] >= 44


def test_the_card_reads_from_left_to_right(serve: Serve, visit: Visit) -> None:
    html = with_card(serve().service).replace('lang="es"', 'lang="ar" dir="rtl"')
    page = visit(serve().host(html), viewport={"width": 1000, "height": 740})
    box = {name: page.locator(name).bounding_box() for name in (".photo", "h3")}
    assert box[".photo"]["x"] + box[".photo"]["width"] <= box["h3"]["x"]
    assert page.locator("article").evaluate("e => getComputedStyle(e).direction") == "ltr"


@pytest.mark.parametrize(("root", "size"), [("100%", 16), ("200%", 32), ("62.5%", 16)])
def test_the_text_is_as_large_as_the_page_s_and_never_small(
    visit: Visit, web: Web, root: str, size: int
) -> None:
    page = visit(stand_in(web, person(1), head=f"<style>html {{ font-size: {root} }}</style>"))
    style = "e => getComputedStyle(e).fontSize"
    assert page.locator(SENTENCE).evaluate(style) == f"{size}px"
    assert page.get_by_role("link", name="Sé algo: avisar").evaluate(style) == f"{size}px"


# page, attributes, what the visitor prefers, the card's colour
SCHEMES = '<meta name="color-scheme" content="light dark">'
DARK = "<style>body { background: #111; color: %s }</style>"
THEMES = {
    "a plain page": ("", "", "dark", "oklch(1 0 0)"),
    "a page of both, light": (SCHEMES, "", "light", "oklch(1 0 0)"),
    "a page of both, dark": (SCHEMES, "", "dark", "oklch(0.22 0 0)"),
    "a dark page": (DARK % "#eee", "", "light", "oklch(0.22 0 0)"),
    "a dark page, oklch": (DARK % "oklch(0.97 0 0)", "", "light", "oklch(0.22 0 0)"),
    "a light page, oklch": (DARK % "oklch(0.2 0 0)", "", "light", "oklch(1 0 0)"),
    "auto": (SCHEMES, 'data-theme="auto"', "dark", "oklch(0.22 0 0)"),
    "light": (DARK % "#eee", 'data-theme="light"', "dark", "rgb(255, 255, 255)"),
    "dark": ("", 'data-theme="dark"', "light", "rgb(28, 27, 26)"),
}
PAPER = "e => getComputedStyle(e).backgroundColor"


@pytest.mark.parametrize("row", THEMES)
def test_the_card_is_light_or_dark_as_its_page_is(visit: Visit, web: Web, row: str) -> None:
    head, attributes, preferred, colour = THEMES[row]
    page = visit("about:blank")
    page.emulate_media(color_scheme=preferred)
    page.goto(stand_in(web, person(1), head=head, attributes=attributes))
    paper = page.locator("article").evaluate(PAPER)
    page.emulate_media(color_scheme="light")
    assert paper == colour


def test_the_card_follows_the_visitor_s_preference(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1), head=SCHEMES))
    card = page.locator("article")
    for scheme, colour in (("light", 1), ("dark", 0.22), ("light", 1)):
        page.emulate_media(color_scheme=scheme)
        assert card.evaluate(PAPER) == f"oklch({colour} 0 0)"


def test_the_card_follows_the_switch_of_its_page(visit: Visit, web: Web) -> None:
    head = "<style>.night body { background: #111; color: #eee }</style>"
    page = visit(stand_in(web, person(1), head=head))
    card = page.locator("article")
    for night, colour in ((False, 1), (True, 0.22), (False, 1)):
        page.evaluate("on => document.documentElement.classList.toggle('night', on)", night)
        assert card.evaluate(PAPER) == f"oklch({colour} 0 0)"


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
    page = visit(
        site(service, attributes='data-size="small"'), viewport={"width": 640, "height": 740}
    )
    assert 100 <= page.locator("article").bounding_box()["height"] <= 230
    assert page.get_by_role("link", name="Sé algo: avisar").is_visible()
    assert not page.get_by_role("button").first.is_visible()


# --- The service's own 404 page ------------------------------------------------------


# `counted` is when the second is over after which a view counts.
SECOND = """const set = setTimeout;
window.counted = new Promise((resolve) => {
    window.setTimeout = (then, ms, ...more) => set(() => {
        then(...more);
        if (ms === 1000) resolve();
    }, ms);
});"""


def test_the_services_own_404_page_counts_no_site(serve: Serve, visit: Visit) -> None:
    service = serve()
    asked = []
    page = visit("about:blank", java_script_enabled=True)  # a page of its own, for its listener
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(SECOND)
    page.goto(f"{service.service}/uno/dos/tres")
    page.get_by_role("heading", name="Persona 1 Inventada").wait_for()
    page.evaluate("counted")
    settle(page)
    assert not any("/api/track" in url for url in asked)


def test_the_404_page_makes_sense_without_scripts(serve: Serve, visit: Visit) -> None:
    page = visit(f"{serve().service}/404.html", java_script_enabled=False)
    assert page.get_by_role("heading", name="Esta página no se encontró.").is_visible()
    assert page.get_by_role("link", name="Volver al sitio").is_visible()


def test_what_every_404_page_loads_is_light(database: Path) -> None:
    fill(database, [])
    about = ABOUT._replace(title="Registro Nacional de Personas", demo=True)
    api = Api(database, about=about).app
    gzip = {"HTTP_ACCEPT_ENCODING": "gzip"}
    sent = [ask_wsgi(api, path, "", **gzip) for path in ("/404.html", "/embed.js")]
    assert [answer.headers["content-encoding"] for answer in sent] == ["gzip", "gzip"]
    assert sum(len(answer.body) for answer in sent) <= 5_632


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
    service = serve(made_up(1), made_up(2))
    if persons == "somebody":
        keep_photo(database, made_up(1))
        keep_photo(database, made_up(2))
    elif persons == "nobody":
        fill(database, [])
    page = visit(shown(service, kind), viewport={"width": 360, "height": 740})
    settle(page)
    page.evaluate("document.documentElement.style.background ||= 'Canvas'")  # axe would guess
    for scheme, run in (("light", "axe.run()"), ("dark", "axe.run({runOnly: 'color-contrast'})")):
        assert axe(page, run, color_scheme=scheme) == {}, scheme


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
        # A link in a sentence is exempt (WCAG 2.2, 2.5.8).
        links = ":is(.faces, article) :not(p) > a:visible"
        for target in page.locator(f"button:visible, {links}").all():
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
    service = serve()
    files = [STATIC / "404.html", STATIC / "index.html"]
    for kind in ("404", "home"):
        page = visit(shown(service, kind))
        settle(page)
        rendered = tmp_path / f"rendered-{kind}.html"
        rendered.write_text(page.content())
        files.append(rendered)
    page = visit(site(service, attributes="data-lead=yes"))
    inside = page.locator("section").evaluate("e => e.outerHTML")
    card = tmp_path / "card.html"
    card.write_text(f'<!DOCTYPE html><html lang="es"><title>x</title><h1>x</h1>{inside}')
    files.append(card)
    assert check_html(files) == (0, "")


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
    name = page.get_by_role("heading", level=3).inner_text()
    assert name in {person["nombre"] for person in everybody}
    assert page.get_by_text("esta persona no existe").is_visible()
