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
from urllib.parse import urlsplit

import pytest

from support import ROOT, missing
from support.api import fill, made_up, views_of
from support.browser import Serve, Served, Visit, host, settle, view_of, with_line
from support.service import Service, wait_until
from support.web import Answer, Web

pytestmark = pytest.mark.slow

STATIC = ROOT / "static"
MODULES = ROOT / "tests" / "node_modules"
NOBODY = "Ahora mismo no podemos mostrar a nadie."
JSON = (("Content-Type", "application/json"), ("Access-Control-Allow-Origin", "*"))


def copied_404(service: str) -> str:
    """404.html, with the service's address in its one place."""
    html = (STATIC / "404.html").read_text()
    assert html.count('const SERVICE = "/"') == 1
    return html.replace('const SERVICE = "/"', f'const SERVICE = "{service}/"')


def person(number: int) -> Answer:
    """What the service answers for a random person."""
    return Answer(200, json.dumps(made_up(number)._asdict()).encode(), JSON)


def stand_in(
    web: Web, answer: Answer | Callable[[BaseHTTPRequestHandler], Answer], kind: str = "embed"
) -> str:
    """Let `web` be a service that answers so, as the real one must not, and a site that uses it;
    the site's address."""
    script = (STATIC / "embed.js").read_bytes()
    web.pages["/embed.js"] = Answer(200, script, (("Content-Type", "text/javascript"),))
    web.pages["/api/persona-random"] = answer
    service = f"http://servicio.example:{web.server.server_port}"
    return host(web, with_line(service) if kind == "embed" else copied_404(service))


# --- A person is shown ---------------------------------------------------------------

PAGES = {"embed": lambda served: with_line(served.service), "404": lambda s: copied_404(s.service)}


@pytest.mark.parametrize("kind", PAGES)
def test_the_face_shows_and_the_view_counts_for_the_site(
    serve: Serve, visit: Visit, database: Path, kind: str
) -> None:
    service = serve(made_up(7))
    url = service.host(PAGES[kind](service))
    page = visit("about:blank")
    view_of(page, lambda: page.goto(url))
    photo = page.get_by_role("img", name="Foto de Persona 7 Inventada")
    photo.evaluate("photo => photo.decode()")  # until it is loaded
    assert photo.evaluate("photo => photo.naturalWidth") > 0
    shown = page.get_by_role("status").first.inner_text()
    for text in ("Persona 7 Inventada", "12 años", "Ñandubay Ficticio", "01/02/2024"):
        assert text in shown
    file = page.get_by_role("link", name="Ver la ficha oficial")
    assert file.get_attribute("href") == made_up(7).url
    service.api.views.flush()
    assert views_of(database) == [("www.sitio.example", 1)]


def test_another_is_shown(serve: Serve, visit: Visit) -> None:
    service = serve(*[made_up(n) for n in range(1, 31)])
    page = visit("about:blank")
    view_of(page, lambda: page.goto(service.with_line()))
    another = page.get_by_role("button", name="Ver otra")
    first = page.locator(".name").inner_text()
    view_of(page, another.click)
    assert page.locator(".name").inner_text() != first
    assert service.views() == 2
    assert another.evaluate("button => button.getRootNode().activeElement === button")


def test_the_same_person_is_asked_for_three_times(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)))
    another = page.get_by_role("button", name="Ver otra")
    another.wait_for()
    asked = web.asked.count("/api/persona-random")
    with page.expect_response(lambda answer: web.asked.count("/api/persona-random") == asked + 3):
        another.click()
    settle(page)
    page.get_by_text("no podemos mostrar a nadie más").wait_for()
    assert page.locator(".name").is_visible()
    assert web.asked.count("/api/persona-random") == asked + 3
    assert sum("/api/track" in path for path in web.asked) == 1


@pytest.mark.parametrize("kind", PAGES)
def test_a_name_with_markup_shows_as_text(serve: Serve, visit: Visit, kind: str) -> None:
    name = "<img src=x onerror=alert(1)><b>Inventada</b>"
    service = serve(made_up(1)._replace(nombre=name))
    page = visit(service.host(PAGES[kind](service)))
    page.get_by_text(name, exact=True).wait_for()
    assert page.locator("b").count() == 0


@pytest.mark.parametrize("kind", PAGES)
def test_a_photo_that_does_not_load_becomes_a_silhouette(
    serve: Serve, visit: Visit, kind: str
) -> None:
    service = serve(made_up(404))
    page = visit(service.host(PAGES[kind](service)))
    silhouette = page.get_by_role("img", name="Sin foto de Persona 404 Inventada")
    silhouette.wait_for()
    style = "e => [e.tagName, getComputedStyle(e).backgroundImage.slice(0, 15)]"
    assert silhouette.evaluate(style) == ["DIV", "radial-gradient"]
    assert page.locator("img").count() == 0


def test_the_line_works_under_a_strict_policy(serve: Serve, visit: Visit) -> None:
    service = serve()
    policy = (
        f"default-src 'none'; script-src {service.service}; connect-src {service.service};"
        f" img-src {service.service} https:; require-trusted-types-for 'script'"
    )
    url = service.with_line(Content_Security_Policy=policy)
    page = visit("about:blank")
    view_of(page, lambda: page.goto(url))
    assert service.views() == 1
    section = page.locator("[data-persona404] section")
    assert section.evaluate("e => getComputedStyle(e).borderTopWidth") == "1px"


def test_the_line_fills_the_place_it_is_given(serve: Serve, visit: Visit) -> None:
    before = "<div data-persona404>mientras tanto</div><p>final</p>"
    page = visit(serve().with_line('data-home="/inicio"', before))
    page.locator("main [data-persona404] .name").wait_for()
    assert page.get_by_role("link", name="Volver al sitio").get_attribute("href") == "/inicio"


def test_the_line_prefers_its_region(serve: Serve, visit: Visit) -> None:
    there = made_up(7)._replace(lugar="Villa Inventada, Córdoba Ficticia")
    service = serve(there, *[made_up(n) for n in range(10, 30)])
    page = visit(service.with_line('data-region="CORDOBA ficticia"'))
    page.get_by_text("Persona 7 Inventada").wait_for()


def test_two_lines_are_one(serve: Serve, visit: Visit) -> None:
    service = serve()
    second = f'<script src="{service.service}/embed.js" id="second"></script>'
    page = visit("about:blank")
    url = service.with_line(before=f"<div data-persona404></div>{second}")
    view_of(page, lambda: page.goto(url, wait_until="load"))
    assert service.views() == 1
    assert page.locator(".name").count() == 1


def test_a_line_that_a_tag_manager_adds_works(serve: Serve, visit: Visit) -> None:
    service = serve()
    page = visit(service.host("<!DOCTYPE html><html lang=es><title>x</title><body></body></html>"))
    page.evaluate(
        "src => document.body.append(Object.assign(document.createElement('script'), {src}))",
        f"{service.service}/embed.js",
    )
    page.locator(".name").wait_for()


def test_the_line_leaks_nothing(serve: Serve, visit: Visit) -> None:
    service = serve()
    page = visit(service.host("<!DOCTYPE html><html lang=es><title>x</title><p>uno</p></html>"))
    state = """() => [Object.getOwnPropertyNames(window).sort().join(), document.cookie,
        localStorage.length + sessionStorage.length, document.styleSheets.length,
        document.adoptedStyleSheets.length, getComputedStyle(document.querySelector('p')).color]"""
    before = page.evaluate(state)
    page.goto(service.with_line(before="<p>uno</p>"))
    page.locator(".name").wait_for()
    assert page.evaluate(state) == before
    assert page.context.cookies() == []
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_line_works_however_it_is_loaded(serve: Serve, visit: Visit) -> None:
    service, page = serve(), visit("about:blank")
    for how in ("", "defer", "async"):
        for where in ("<div data-persona404></div>", ""):
            html = with_line(service.service, before=where).replace(" async>", f" {how}>")
            page.goto(service.host(html))
            page.locator("[data-persona404] .name").wait_for()


def test_the_line_is_light_or_dark_as_its_page_is(serve: Serve, visit: Visit) -> None:
    service = serve()
    backgrounds = []
    for scheme in ("light dark", "light"):
        html = with_line(service.service).replace("light dark", scheme)
        page = visit(service.host(html), color_scheme="dark")
        section = page.locator("[data-persona404] section")
        backgrounds.append(section.evaluate("e => getComputedStyle(e).backgroundColor"))
    assert backgrounds[0] != backgrounds[1] == "rgb(255, 255, 255)"


@pytest.mark.parametrize("kind", ["embed", "404", "home"])
def test_the_register_does_not_learn_the_site(
    serve: Serve, visit: Visit, photos: Web, kind: str
) -> None:
    photos.referers.clear()
    page = visit(shown(serve(), kind))
    settle(page)
    page.locator("img").evaluate("photo => photo.decode()")  # until it is loaded
    link = page.locator("a[href^='https://registro.example']")
    assert link.get_attribute("rel") == "noreferrer"
    assert photos.referers == {None}


def test_a_click_while_asking_asks_no_more(visit: Visit, web: Web) -> None:
    go = threading.Event()

    def wait(handler: BaseHTTPRequestHandler) -> Answer:
        go.wait(30)
        return person(2)

    page = visit(stand_in(web, person(1)))
    page.get_by_text("Persona 1 Inventada").wait_for()
    web.pages["/api/persona-random"] = wait
    page.get_by_role("button", name="Ver otra").click(click_count=3)
    go.set()
    page.get_by_text("Persona 2 Inventada").wait_for()
    assert web.asked.count("/api/persona-random") == 2


def test_a_failed_click_leaves_the_person_on_show(visit: Visit, web: Web) -> None:
    page = visit(stand_in(web, person(1)))
    page.get_by_text("Persona 1 Inventada").wait_for()
    web.pages["/api/persona-random"] = Answer(503, b"{}", JSON)
    page.get_by_role("button", name="Ver otra").click()
    page.get_by_text("no podemos mostrar a nadie más").wait_for()
    assert page.locator(".name").is_visible()
    assert page.get_by_role("button", name="Ver otra").is_visible()


def test_the_preview_counts_no_site(serve: Serve, visit: Visit) -> None:
    service = serve()
    asked = []
    page = visit("about:blank", java_script_enabled=True)  # a page of its own, for its listener
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{service.service}/404.html")
    page.get_by_text("Persona 1 Inventada").wait_for()
    assert not any("/api/track" in url for url in asked)


# --- Nobody can be shown -------------------------------------------------------------

PERSON = made_up(1)._asdict()
BROKEN = {
    "empty": Answer(404, b'{"type":"about:blank","title":"Not Found","status":404}', JSON),
    "error": Answer(500, b"<h1>Internal Server Error</h1>", JSON),
    "error with a person": Answer(500, json.dumps(PERSON).encode(), JSON),
    "broken": Answer(200, b'{"id":"prueba-1","nombre":"Persona', JSON),
    "null": Answer(200, b"null", JSON),
    "no name": Answer(200, json.dumps({**PERSON, "nombre": None}).encode(), JSON),
    "script": Answer(200, json.dumps({**PERSON, "url": "javascript:alert(1)"}).encode(), JSON),
    "http": Answer(200, json.dumps({**PERSON, "foto": "http://registro.example/"}).encode(), JSON),
    "no address": Answer(200, json.dumps({**PERSON, "url": "/file/1"}).encode(), JSON),
}


def assert_fallback(page: Any, kind: str) -> None:
    if kind == "embed":
        page.get_by_text(NOBODY).wait_for()
        assert not page.get_by_role("button").is_visible()
    else:
        assert page.get_by_role("status").inner_text() == ""
    assert page.get_by_role("link", name="Volver al sitio").is_visible()
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("kind", PAGES)
def test_a_broken_answer_leaves_a_plain_page(visit: Visit, web: Web, kind: str) -> None:
    page = visit("about:blank")
    for answer in BROKEN.values():
        page.goto(stand_in(web, answer, kind))
        settle(page)
        assert_fallback(page, kind)
    assert web.asked.count("/api/persona-random") == len(BROKEN)
    assert not any("/api/track" in path for path in web.asked)


@pytest.mark.parametrize("kind", PAGES)
def test_no_answer_in_3_seconds_leaves_a_plain_page(visit: Visit, web: Web, kind: str) -> None:
    go = threading.Event()

    def wait(handler: BaseHTTPRequestHandler) -> Answer:
        go.wait(30)
        return person(1)

    url = stand_in(web, wait, kind)
    page = visit("about:blank", java_script_enabled=True)  # a page of its own, for its clock
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.clock.install(time=0)
    page.clock.pause_at(1)
    with page.expect_request("**/api/persona-random"):
        page.goto(url)
    page.clock.run_for(2999)
    assert failed == []
    with page.expect_event("requestfailed"):
        page.clock.run_for(1)
    go.set()
    assert [urlsplit(url).path for url in failed] == ["/api/persona-random"]
    assert_fallback(page, kind)


def test_the_copied_page_makes_sense_without_the_service(serve: Serve, visit: Visit) -> None:
    service = serve()
    service.api.close()
    page = visit(service.host(copied_404(service.service)))
    settle(page)
    assert_fallback(page, "404")
    assert page.get_by_role("heading").inner_text() == "Página no encontrada"


def test_the_copied_page_makes_sense_without_scripts(serve: Serve, visit: Visit) -> None:
    service = serve()
    page = visit(service.host(copied_404(service.service)), java_script_enabled=False)
    assert page.locator("noscript p").is_visible()
    assert page.get_by_role("link", name="Volver al sitio").is_visible()


def test_a_person_found_meanwhile_is_not_left_on_show(
    serve: Serve, visit: Visit, database: Path
) -> None:
    page = visit(serve().with_line())
    another = page.get_by_role("button", name="Ver otra")
    another.wait_for()
    fill(database, [])
    another.click()
    page.get_by_text(NOBODY).wait_for()
    assert page.locator("img").count() == 0
    back = page.get_by_role("link", name="Volver al sitio")
    assert back.evaluate("link => link.getRootNode().activeElement === link")


# --- For everybody's eyes and hands --------------------------------------------------


def shown(served: Served, kind: str) -> str:
    return {
        "embed": served.with_line(),
        "404": served.host(copied_404(served.service)),
        "home": served.service,
    }[kind]


@pytest.mark.parametrize("persons", ["somebody", "no photo", "nobody"])
@pytest.mark.parametrize("kind", ["embed", "404", "home"])
def test_axe_finds_no_violation(
    serve: Serve, visit: Visit, database: Path, kind: str, persons: str
) -> None:
    axe = MODULES / "axe-core" / "axe.min.js"
    if not axe.exists():
        missing("axe-core (npm ci --prefix tests)")
    service = serve(made_up(404 if persons == "no photo" else 1), made_up(2))
    if persons != "somebody":
        fill(database, [made_up(404)] if persons == "no photo" else [])
    page = visit(shown(service, kind), viewport={"width": 360, "height": 740})
    settle(page)
    page.evaluate(axe.read_text())
    for scheme, run in (("light", "axe.run()"), ("dark", "axe.run({runOnly: 'color-contrast'})")):
        page.emulate_media(color_scheme=scheme)
        result = page.evaluate(run)
        assert result["passes"]
        found = {v["id"]: [node["html"] for node in v["nodes"]] for v in result["violations"]}
        assert found == {}, scheme


@pytest.mark.parametrize("kind", ["embed", "404", "home"])
def test_every_target_is_44_pixels_and_nothing_overflows(
    serve: Serve, visit: Visit, kind: str
) -> None:
    long = made_up(1)._replace(nombre="Inventada" * 12, lugar="Prueba" * 20)
    service = serve(*[long, *map(made_up, range(2, 31))][: 1 if kind != "home" else 30])
    page = visit(shown(service, kind), viewport={"width": 320, "height": 740})
    settle(page)
    for width in (320, 360, 1280):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for target in page.locator("button:visible, :is(.faces, section, .persona) > a").all():
            box = target.bounding_box()
            assert min(box["width"], box["height"]) >= 44, target.inner_text()


@pytest.mark.parametrize("kind", ["embed", "404", "home"])
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


@pytest.mark.parametrize("name", ["embed.js", "404.html"])
def test_what_every_404_page_loads_is_light(name: str) -> None:
    assert (STATIC / name).stat().st_size <= 5000


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
    html = with_line(f"http://servicio.example:{running.port}")
    page = visit("about:blank")
    view_of(page, lambda: page.goto(host(web, html)))
    wait_until(lambda: running.ask("/api/stats").json["sites"] == 1)
    everybody = running.ask("/api/personas?limit=100").json["personas"]
    assert page.locator(".name").inner_text() in {person["nombre"] for person in everybody}
