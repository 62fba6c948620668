"""The panel of whoever answers a family's call, in headless Chromium on a phone's screen."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from model import Person
from support import KEY, ROOT, STAFF_KEY
from support.api import ServedApi, fill, keep_photo, made_up
from support.browser import Visit, axe

pytestmark = pytest.mark.slow

PANEL = ROOT / "static" / "panel.html"
PHONE = {"width": 360, "height": 740}
ANA = made_up(1)._replace(nombre="Ana María Ñandú-Supuesta", url="https://www.registro.example/1/")
LUZ = made_up(2)._replace(nombre="Luz Inventada", url="https://registro.example/ver?ficha=2")
UMA = made_up(3)._replace(nombre="ÁNGELA UMA FICTICIA", url="https://registro.example/#/ficha/3")
THREE = [ANA, LUZ, UMA]
Panel = Callable[..., Any]
NOBODY = re.compile("Nadie (de la lista tiene ese enlace|aparece con ese nombre)")


@pytest.fixture
def service(database: Path) -> Iterator[ServedApi]:
    """The service over THREE, with photos of two of them."""
    fill(database, THREE)
    keep_photo(database, ANA)
    keep_photo(database, LUZ)
    server = ServedApi(database, KEY, staff_key=STAFF_KEY)
    yield server
    server.close()


@pytest.fixture
def panel(service: ServedApi, visit: Visit) -> Panel:
    """Opens the panel, with answers in place of the service's own, and the key typed."""

    def start(answers: dict[str, Callable[[Any], None]] | None = None, **options: Any) -> Any:
        page = visit("about:blank", **options)
        page.set_viewport_size(PHONE)
        for path, answer in (answers or {}).items():
            page.route(path, answer)
        page.goto(f"http://127.0.0.1:{service.port}/panel")
        page.locator("#count", has_text="Cargando…").wait_for(state="hidden")
        page.get_by_label("Clave").fill(STAFF_KEY)
        return page

    return start


@pytest.fixture(autouse=True)
def without_answers_of_tests(tab: Any) -> Iterator[None]:
    yield
    tab.unroute_all()


def hide(page: Any, person: Person = ANA) -> None:
    page.get_by_role("button", name=f"Ocultar a {person.nombre}").click()
    page.get_by_role("button", name="Ocultar ahora").click()
    page.locator("#outcome", has_text="Enviando…").wait_for(state="hidden")


def names(page: Any) -> list[str]:
    found: list[str] = page.locator("#list b").all_inner_texts()
    return sorted(found)


# --- Hiding --------------------------------------------------------------------------


def test_a_hidden_child_is_gone_at_the_next_request(service: ServedApi, panel: Panel) -> None:
    page = panel()
    hide(page)
    for path in (f"/foto/{ANA.id}", f"/api/personas/{ANA.id}"):
        assert service.ask(path).status == 404
    assert ANA.id not in [person["id"] for person in service.get("/api/personas")["personas"]]
    page.locator("#list li").nth(1).wait_for()
    assert names(page) == sorted([LUZ.nombre, UMA.nombre])


def test_the_staff_is_told_the_id_and_what_to_say(panel: Panel) -> None:
    page = panel()
    hide(page)
    text = page.locator("#outcome").inner_text()
    for part in (ANA.id, "Desde ahora no se muestra", "en diez minutos", "no lo podemos quitar"):
        assert part in text
    assert ANA.nombre not in text
    assert page.evaluate("document.activeElement.id") == "outcome"


def refuse(status: int, body: Any = None, **headers: str) -> Callable[[Any], None]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, str) else json.dumps(body or {})
    return lambda route: route.fulfill(status=status, body=text, headers=sent)


UNSURE = [
    "No sabemos si se ocultó.",
    "otra vez",
    "no importa si se repite",
    "llama a quien cuida el servidor",
]


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        (refuse(200, {"hidden": "prueba-1"}), ["Listo: ya no se muestra.", "prueba-1"]),
        (refuse(200, {"portal": "Wi-Fi"}), UNSURE),
        (refuse(404), ["ya no está en la lista", "Busca el nombre otra vez"]),
        (refuse(429, Retry_After="3600"), ["cinco personas en 24 horas", "llama a quien cuida"]),
        (refuse(429, Retry_After="1"), ["No se ocultó", "Espera un minuto"]),
        (
            refuse(503, {"detail": "Nobody was hidden: the disk is full."}),
            ["No se ocultó.", "que detenga el servicio", "Léele esto: Nobody was hidden: the disk"],
        ),
        (refuse(503, {"detail": "The service is not running."}), UNSURE),  # from nginx
        (refuse(500), UNSURE),
        (refuse(502, "<html>"), UNSURE),
        (lambda route: route.abort(), UNSURE),
    ],
)
def test_each_answer_becomes_a_sentence(panel: Panel, answer: Any, sentences: list[str]) -> None:
    page = panel({"**/hide": answer})
    hide(page)
    text = page.locator("#outcome").inner_text()
    assert [part for part in sentences if part not in text] == []


def test_after_a_wrong_key_the_key_is_asked_again(service: ServedApi, panel: Panel) -> None:
    page = panel()
    for key in ("", "con acentó y espacios", KEY):
        page.get_by_label("Clave").fill(key)
        page.get_by_role("button", name=f"Ocultar a {ANA.nombre}").click()
        if key == KEY:
            page.get_by_role("button", name="Ocultar ahora").click()
            page.get_by_text("La clave no es correcta; no se ocultó a nadie.").wait_for()
        page.locator("#refused:not(:empty)").wait_for()
        assert page.evaluate("document.activeElement.id") == "key"
        assert not page.locator("dialog, #outcome").locator("visible=true").count()
    assert service.get("/api/stats")["active"] == 3
    page.get_by_label("Clave").fill(STAFF_KEY)
    hide(page)
    assert service.get("/api/stats")["active"] == 2


def test_a_service_without_a_staff_key_says_so(service: ServedApi, panel: Panel) -> None:
    service.app.__dict__["settings"] = service.app.settings._replace(staff_key=None)
    page = panel()
    hide(page)
    assert "STAFF_KEY" in page.locator("#outcome").inner_text()


def test_a_double_click_sends_once(panel: Panel) -> None:
    sent: list[Any] = []
    page = panel({"**/hide": lambda route: sent.append(route)})
    page.get_by_role("button", name=f"Ocultar a {ANA.nombre}").click()
    page.evaluate("byId('yes').click(); byId('yes').click()")
    page.get_by_role("button", name=f"Ocultar a {LUZ.nombre}").click()
    assert not page.locator("dialog").is_visible()
    assert len(sent) == 1
    sent[0].fulfill(status=200, body='{"hidden": "prueba-1"}')
    page.get_by_text("Listo").wait_for()


def test_hiding_again_after_no_answer_is_safe(service: ServedApi, panel: Panel) -> None:
    def lose(route: Any) -> None:
        route.fetch()  # the service has done it
        route.abort()

    page = panel({"**/hide": lose})
    hide(page)
    page.unroute("**/hide")
    hide(page)
    page.get_by_text("Listo: ya no se muestra.").wait_for()
    assert service.get("/api/stats")["active"] == 2


# --- Finding -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", THREE),
        ("ana maria", [ANA]),
        ("NANDU ana", [ANA]),
        ("supuesta, ñan", [ANA]),
        ("angela", [UMA]),
        ("a", THREE),
        ("ana luz", []),
        ("prueba-1", [ANA]),
        ("https://otro-404.example/p/prueba-1?fbclid=IwAR-2", [ANA]),
        ("mira: https://otro.example/p/Prueba-1", [ANA]),
        ("https://otro.example/p/prueba-11", []),
        ("http://registro.example/1?utm_source=x#y", [ANA]),
        ("https://registro.example/ver?fbclid=1&ficha=2", [LUZ]),
        ("https://registro.example/ver?ficha=22", []),
        ("https://registro.example/?fbclid=1#/ficha/3", [UMA]),
        ("https://registro.example/#/ficha/33", []),
        ("https://otro.example/p/prueba-7", [LUZ]),  # which she has left
        ("https://", []),
        ("https://[", []),
        ("(.*", THREE),
    ],
)
def test_a_name_or_a_link_finds(
    panel: Panel, database: Path, text: str, found: list[Person]
) -> None:
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("INSERT INTO former VALUES ('prueba-7', 'prueba-2')")
    page = panel()
    page.get_by_label("Buscar").fill(text)
    page.locator(f"#list:not(:has(li:nth-child({len(found) + 1})))").wait_for(state="attached")
    page.get_by_text(f"Aquí ves {len(found)} de" if found else NOBODY).wait_for()
    assert names(page) == sorted(person.nombre for person in found)


def test_all_pages_of_the_list_are_searched(panel: Panel, database: Path) -> None:
    fill(database, [made_up(n)._replace(nombre=f"Ficticia Número{n}") for n in range(1, 216)])
    page = panel()
    page.get_by_text("Aquí ves 30 de 215.").wait_for()
    page.get_by_label("Buscar").fill("numero215")
    page.get_by_text("Aquí ves 1 de 1.").wait_for()


def test_the_whole_photo_or_a_silhouette(panel: Panel) -> None:
    page = panel()
    page.locator("#list span.photo").wait_for()
    photos = page.locator("#list img")
    assert photos.count() == 2
    assert photos.first.evaluate("photo => getComputedStyle(photo).objectFit") == "contain"
    page.get_by_role("button", name=f"Ocultar a {ANA.nombre}").click()
    assert "/foto/prueba-1?nombre=Ana" in page.locator("dialog img").get_attribute("src")


def test_markup_shows_as_text(panel: Panel, database: Path) -> None:
    marked = made_up(1)._replace(nombre="<u>Ana</u>", lugar="<img src=x onerror=alert(1)>")
    fill(database, [marked])
    page = panel()
    page.get_by_text("<u>Ana</u>").wait_for()
    page.get_by_role("button", name="Ocultar a <u>Ana</u>").click()
    page.locator("dialog").get_by_text(marked.lugar).wait_for()
    assert page.locator("u, img[src=x]").count() == 0


RUN = {"outcome": "ok"}
FRESH = {"active": 3, "lastSync": "2126-01-31T03:04:29Z"}


@pytest.mark.parametrize(
    ("status", "health", "words"),
    [
        (200, {**FRESH, "lastRun": RUN}, "La lista está al día. Última lectura correcta: 31"),
        (200, {**FRESH, "lastRun": {"outcome": "running"}}, "La lista está al día."),
        (200, {**FRESH, "lastRun": {"outcome": "refused"}}, "la lista sigue siendo válida"),
        (503, {**FRESH, "lastRun": RUN}, "no es confiable o no se puede cambiar: avisa"),
        (503, {"active": 3, "lastSync": "2026-01-31T03:04:29Z", "lastRun": RUN}, "no está al día"),
        (503, {"active": 0, "lastSync": None, "lastRun": None}, "no se muestra a nadie"),
        (503, {"detail": "The database cannot be read."}, "no se muestra a nadie"),
        (502, "<html>", "El servicio no responde."),
    ],
)
def test_the_state_of_the_list(panel: Panel, status: int, health: Any, words: str) -> None:
    page = panel({"**/health": refuse(status, health)})
    page.locator("#state", has_text=words).wait_for()


# --- What stays ----------------------------------------------------------------------


def test_an_open_panel_forgets_who_is_no_longer_shown(panel: Panel, database: Path) -> None:
    page = panel(java_script_enabled=True)  # its own, for its clock
    page.clock.install()
    page.reload()
    page.get_by_label("Clave").fill(STAFF_KEY)
    page.get_by_role("button", name=f"Ocultar a {ANA.nombre}").click()
    fill(database, [LUZ])
    page.clock.run_for(596_000)
    page.get_by_text("Aquí ves 1 de 1.").wait_for()
    page.locator("#whom:empty").wait_for(state="attached")
    assert ANA.nombre not in page.content()


def test_nobody_stays_while_the_list_cannot_be_read(panel: Panel) -> None:
    page = panel(java_script_enabled=True)
    page.clock.install()
    page.reload()
    page.get_by_text("Aquí ves 3 de 3.").wait_for()
    page.route("**/api/personas?*", lambda route: route.abort())
    page.clock.run_for(596_000)
    page.get_by_text("La lista no se puede leer.").wait_for()
    assert names(page) == []
    page.unroute_all()
    page.clock.run_for(12_000)
    page.get_by_text("Aquí ves 3 de 3.").wait_for()


def test_the_key_is_in_one_header_and_nowhere_else(panel: Panel) -> None:
    asked: list[Any] = []
    page = panel(java_script_enabled=True)  # its own, for its storage and history
    page.on("request", lambda request: asked.append(request))
    length = page.evaluate("history.length")
    page.get_by_label("Clave").press("Enter")
    hide(page)
    kept = page.evaluate(
        "JSON.stringify([location, history.state, {...localStorage},"
        " {...sessionStorage}, document.cookie])"
    )
    assert STAFF_KEY not in kept + page.content()
    assert page.evaluate("history.length") == length
    assert [request.method for request in asked if STAFF_KEY in str(request.headers)] == ["POST"]
    assert [request.url for request in asked if STAFF_KEY in request.url] == []
    page.reload()
    assert page.get_by_label("Clave").input_value() == ""


# --- For everybody's eyes and hands --------------------------------------------------


def test_the_keyboard_is_enough_and_the_face_leaves_with_the_dialog(panel: Panel) -> None:
    page = panel({"**/hide": lambda route: pytest.fail("nothing may be sent")})
    button = page.get_by_role("button", name=f"Ocultar a {ANA.nombre}")
    for key in ("Escape", "Enter"):  # which presses "No"
        button.focus()
        page.keyboard.press("Enter")
        page.get_by_role("dialog", name=f"¿Ocultar a esta persona? {ANA.nombre}").wait_for()
        assert page.evaluate("document.activeElement.id") == "no"
        page.keyboard.press(key)
        page.locator("dialog").wait_for(state="hidden")
        assert page.evaluate("document.activeElement.ariaLabel") == f"Ocultar a {ANA.nombre}"
        page.locator("#whom:empty").wait_for(state="attached")


def test_a_password_manager_finds_its_fields(panel: Panel) -> None:
    fields = panel().locator("form input").evaluate_all("all => all.map((one) => one.autocomplete)")
    assert fields == ["username", "current-password"]


@pytest.mark.parametrize("step", ["list", "dialog", "done", "refused"])
def test_axe_finds_no_violation(panel: Panel, step: str) -> None:
    page = panel({"**/hide": refuse(401)} if step == "refused" else None, bypass_csp=True)
    if step == "dialog":
        page.get_by_role("button", name=f"Ocultar a {ANA.nombre}").click()
    elif step != "list":
        hide(page)
    for scheme in ("light", "dark"):
        assert axe(page, color_scheme=scheme) == {}, scheme


def test_every_target_is_44_pixels_and_nothing_overflows(panel: Panel, database: Path) -> None:
    fill(database, [made_up(1)._replace(nombre="Inventada" * 12, lugar="Prueba" * 20)])
    page = panel()
    for width in (320, 360, 1280):
        page.set_viewport_size({"width": width, "height": 740})
        page.get_by_role("button", name="Ocultar a").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = page.locator("dialog").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        for target in page.locator("button, input:visible").all():
            box = target.bounding_box()
            assert min(box["width"], box["height"]) >= 44
        page.keyboard.press("Escape")


def test_the_page_stays_small() -> None:
    assert PANEL.stat().st_size < 13 * 1024
