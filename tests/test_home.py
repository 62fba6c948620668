"""The home page, in headless Chromium."""

from datetime import datetime
from pathlib import Path

import pytest

from support.api import fill, made_up
from support.browser import Serve, Visit

pytestmark = pytest.mark.slow


def test_the_home_page_shows_figures_and_faces(serve: Serve, visit: Visit) -> None:
    service = serve(*[made_up(n, f"{n:02}/01/2024") for n in range(1, 31)])
    page = visit(service.service)
    page.get_by_text("Página 1 de 3").wait_for()
    faces = page.locator(".faces a")
    assert faces.count() == 12
    assert "Persona 30 Inventada" in faces.first.inner_text()
    assert faces.first.get_attribute("href") == made_up(30).url
    page.get_by_role("button", name="Siguientes").click()
    page.get_by_text("Página 2 de 3").wait_for()
    assert "Persona 18 Inventada" in faces.first.inner_text()
    assert page.locator("#active").inner_text() == "30"
    assert str(datetime.now().year) in page.locator("#last-sync").inner_text()
    line = f'<script src="{service.service}/embed.js" async></script>'
    assert page.locator("pre").inner_text() == line


def test_the_home_page_hands_out_a_404_page_that_works(serve: Serve, visit: Visit) -> None:
    service = serve(made_up(7))
    page = visit(service.service)
    page.locator("#copy[href^='blob:']").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Descarga una ya hecha").click()
    html = Path(download.value.path()).read_text()
    visit(service.host(html)).get_by_text("Persona 7 Inventada").wait_for()


def test_the_home_page_turns_pages_within_the_list(
    serve: Serve, visit: Visit, database: Path
) -> None:
    service = serve(*map(made_up, range(1, 31)))
    page = visit(service.service)
    page.get_by_text("Página 1 de 3").wait_for()
    turn = {name: page.get_by_role("button", name=name) for name in ("Anteriores", "Siguientes")}
    turn["Anteriores"].click(force=True)  # aria-disabled: it keeps the focus, and does nothing
    assert page.get_by_text("Página 1 de 3").is_visible()
    turn["Siguientes"].click()
    page.get_by_text("Página 2 de 3").wait_for()
    page.route("**/api/personas*", lambda route: route.abort())
    turn["Siguientes"].click()
    page.get_by_text("El servicio no responde ahora mismo").wait_for()
    page.unroute("**/api/personas*")
    turn["Siguientes"].click()
    page.get_by_text("Página 3 de 3").wait_for()
    assert turn["Siguientes"].get_attribute("aria-disabled") == "true"
    fill(database, [made_up(n) for n in range(1, 14)])
    turn["Anteriores"].click()
    page.get_by_text("Página 2 de 2").wait_for()
    fill(database, [made_up(1)])
    turn["Anteriores"].click()
    page.get_by_text("Página 1 de 1").wait_for()


def test_the_home_page_starts_again_where_the_list_has_become_shorter(
    serve: Serve, visit: Visit, database: Path
) -> None:
    service = serve(*map(made_up, range(1, 31)))
    page = visit(service.service)
    page.get_by_text("Página 1 de 3").wait_for()
    fill(database, [made_up(1)])
    page.get_by_role("button", name="Siguientes").click()
    page.get_by_text("Página 1 de 1").wait_for()


def test_the_home_page_links_to_https_only(serve: Serve, visit: Visit) -> None:
    bad = [
        made_up(1)._replace(url="javascript:alert(1)"),
        made_up(2)._replace(foto="http://registro.example/2.jpg"),
    ]
    page = visit(serve(*bad, made_up(3)).service)
    page.get_by_text("Página 1 de 1").wait_for()
    assert page.locator(".faces a").count() == 1


def test_the_home_page_says_that_it_is_a_demonstration(serve: Serve, visit: Visit) -> None:
    words = "ninguna de estas personas existe"
    page = visit(serve(made_up(1)._replace(id="demo-1")).service)
    page.get_by_text(words).wait_for()
    other = visit(serve(made_up(1)).service)
    other.get_by_text("Página 1 de 1").wait_for()
    assert not other.get_by_text(words).is_visible()


def test_the_home_page_with_nobody(serve: Serve, visit: Visit, database: Path) -> None:
    service = serve()
    fill(database, [])
    page = visit(service.service)
    page.locator("#figures").wait_for()
    assert page.locator("#active").inner_text() == "0"
    assert not page.locator("#sought-section").is_visible()


def test_the_home_page_says_that_the_service_is_down(
    serve: Serve, visit: Visit, database: Path
) -> None:
    service = serve()
    database.rename(database.with_suffix(".gone"))
    database.write_bytes(b"no database" * 1000)
    page = visit(service.service)
    page.get_by_text("El servicio no responde ahora mismo").wait_for()


def test_the_home_page_is_text_without_scripts(serve: Serve, visit: Visit) -> None:
    page = visit(serve().service, java_script_enabled=False)
    assert page.get_by_role("link", name="/api/stats").is_visible()
    assert not page.get_by_role("button").first.is_visible()
