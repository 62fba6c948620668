"""What the card counts, and when it forgets: in headless Chromium with the clock in the test's
hand; in a real background tab and out of a real back/forward cache, of two browsers."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urljoin

import pytest

from store.database import utc_now
from support import KEY
from support.api import fill, made_up
from support.both import Headless
from support.browser import Serve
from support.still import HIDE, MINUTE, SLOT, Still
from support.web import Answer

pytestmark = pytest.mark.slow

LIMIT = 10 * MINUTE + 5000  # how long a found child may stay on the screen
ASKED = 570_000  # when the card asks: every 5 s it looks whether 9.5 minutes are over
MANY = [made_up(n) for n in range(1, 31)]  # of few, the card may draw the same one three times
BELOW = '<div style="height: 6000px"></div><div data-persona404 id="below"></div>'


# --- Views ---------------------------------------------------------------------------


def test_a_view_is_a_second_in_sight(serve: Serve, still: Still) -> None:
    service = serve()
    still.open(service)
    still.run(999)
    assert still.viewed == []
    still.view(1)
    assert service.views() == 1
    (site,) = service.api.ask("/api/sites", X_API_Key=KEY).json["sites"]
    assert (site["site"], site["views"]) == ("www.sitio.example", 1)


def test_less_than_a_second_in_sight_is_no_view(serve: Serve, still: Still) -> None:
    service = serve()
    still.open(service, body='<p id="end" style="margin-top: 6000px">fin</p>')
    still.run(999)
    still.scroll_to("#end")
    still.run(MINUTE)
    still.scroll_to("h1")
    still.run(999)
    assert still.viewed == []
    still.view(1)
    assert service.views() == 1


def test_a_card_far_below_counts_when_it_is_reached(serve: Serve, still: Still) -> None:
    service = serve()
    still.open(service, body=BELOW)
    still.page.locator("#below article").wait_for()
    still.view(MINUTE)  # of the card above: the control
    assert service.views() == 1
    still.scroll_to("#below")
    still.view(1000)
    assert service.views() == 2


def test_a_tab_that_says_it_is_hidden_counts_when_it_is_seen(serve: Serve, still: Still) -> None:
    service = serve()
    still.page.add_init_script(f"({HIDE})(true)")
    still.open(service)
    still.run(MINUTE)
    assert still.viewed == []
    still.hide(False)
    still.view(1000)
    assert service.views() == 1


def test_a_tab_in_the_background_counts_when_it_is_seen(either: Headless, serve: Serve) -> None:
    """A card is drawn behind another tab; then that tab gets one too, and counts its view."""
    service = serve()
    script = f"""
        const counted = (tab) => tab.performance.getEntriesByType("resource")
            .some((entry) => entry.name.includes("/api/track"));
        const front = open("/vacia");
        await until(() => document.hidden);
        const src = "{service.service}/embed.js";
        document.body.append(Object.assign(document.createElement("script"), {{ src }}));
        await until(() => document.querySelector("aside")?.shadowRoot?.querySelector("article"));
        front.location = "/perdida";
        await until(() => counted(front));
        const behind = counted(window);
        front.close();
        await until(() => counted(window));
        return behind;"""
    service.site.pages["/vacia"] = Answer(body=b"<!DOCTYPE html><html lang=es><title>x</title>")
    assert either.visit(urljoin(service.with_card(), "/vacia"), script) is False
    assert service.views() == 2


def test_each_further_child_is_a_view(serve: Serve, still: Still) -> None:
    service = serve(*MANY)
    still.open(service)
    still.view(1000)
    still.another()
    still.view(1000)
    still.another()
    still.view(1000)
    first, second, third = still.viewed
    assert first != second != third
    assert service.views() == 3


def test_a_child_who_is_confirmed_is_not_counted_again(serve: Serve, still: Still) -> None:
    service = serve(*MANY)
    still.open(service)
    still.view(1000)
    still.recheck(LIMIT)
    still.run(MINUTE)
    still.another()
    still.view(1000)  # the control
    first, second = still.viewed
    assert first != second
    assert service.views() == 2


# --- Forgetting ----------------------------------------------------------------------


def test_an_open_tab_asks_every_ten_minutes_and_forgets(
    serve: Serve, still: Still, database: Path
) -> None:
    still.open(serve())
    for asked in ([], ["prueba-1"]):
        still.run(8 * MINUTE)
        assert still.rechecked == asked
        still.recheck(2 * MINUTE)
    assert still.page.locator("article").is_visible()
    fill(database, [])
    still.recheck(LIMIT)
    still.gone()
    assert len(still.rechecked) == 3


def test_a_tab_that_is_looked_at_again_forgets_at_once(
    serve: Serve, still: Still, database: Path
) -> None:
    still.open(serve())
    still.hide(True)
    still.run(11 * MINUTE)
    assert still.rechecked == []  # nobody sees the child
    fill(database, [])
    with still.page.expect_response("**/api/personas/*"):
        still.hide(False)
    still.gone()


def test_a_tab_that_was_away_for_minutes_does_not_ask(serve: Serve, still: Still) -> None:
    still.open(serve())
    for minutes in (2, 3, 4):
        still.hide(True)
        still.run(minutes * MINUTE)
        still.hide(False)
    still.recheck(MINUTE)  # the control
    assert len(still.rechecked) == 1


def test_a_page_out_of_the_browser_s_cache_forgets_at_once(
    either: Headless, serve: Serve, database: Path
) -> None:
    service = serve()
    shown = """window.same = true;
        const place = document.querySelector("[data-persona404]");
        await until(() => place.shadowRoot?.querySelector("article"));"""
    either.visit(service.with_card(slot=SLOT), shown)
    fill(database, [])
    either.visit(f"{service.service}/openapi.json")
    gone = """const place = document.querySelector("[data-persona404]");
        await until(() => !place.shadowRoot.querySelector("article"));
        return [window.same, place.querySelector("a").checkVisibility()];"""
    assert either.back(gone) == [True, True]


def test_a_service_that_fails_twice_leaves_nobody_on_show(serve: Serve, still: Still) -> None:
    service = serve()
    still.open(service)
    service.api.close()
    failed = {"event": "requestfailed", "predicate": lambda asked: "/api/personas/" in asked.url}
    with still.page.expect_event(**failed):
        still.run(ASKED)
    assert still.page.locator("article").is_visible()
    with still.page.expect_event(**failed):
        still.run(5000)
    still.gone()
    assert len(still.rechecked) == 2


def test_a_service_that_cannot_tell_leaves_nobody_on_show(
    serve: Serve, still: Still, database: Path
) -> None:
    """It answers 503, since the last good list is over 14 days old."""
    still.open(serve())
    fill(database, [made_up(1)], ended=utc_now(days_ago=15))
    still.recheck(ASKED)
    assert still.page.locator("article").is_visible()
    still.recheck(5000)
    still.gone()
    assert len(still.rechecked) == 2


def test_another_child_takes_the_place_of_one_who_was_found(
    serve: Serve, still: Still, database: Path
) -> None:
    still.open(serve())
    still.view(1000)
    fill(database, [made_up(2)])
    still.run(LIMIT)
    still.page.get_by_role("heading", name="Persona 2 Inventada").wait_for()
    still.view(1000)
    assert still.viewed == ["prueba-1", "prueba-2"]


def test_a_child_who_moved_stays_and_is_not_counted_again(
    serve: Serve, still: Still, database: Path
) -> None:
    still.open(serve())
    still.view(1000)
    fill(database, [made_up(1)._replace(id="prueba-99"), *MANY[1:]])
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("INSERT INTO former VALUES ('prueba-1', 'prueba-99')")
    still.recheck(LIMIT)
    still.recheck(LIMIT)
    assert still.page.get_by_role("heading", name="Persona 1 Inventada").is_visible()
    assert still.rechecked == ["prueba-1", "prueba-99"]
    still.run(MINUTE)
    still.another()
    still.view(1000)  # the control
    assert len(still.viewed) == 2


# Where the focus is, who is sought then, where the focus is then.
FOCUS = {
    "in the card, nobody": ("article button", [], "slot"),
    "in the card, another": ("article button", [made_up(2)], "h3"),
    "on the page, nobody": ("#field", [], "input"),
    "on the page, another": ("#field", [made_up(2)], "input"),
}
FOCUSED = """() => {
    const at = document.activeElement;
    return (at.shadowRoot?.activeElement ?? at).localName;
}"""


@pytest.mark.parametrize("row", FOCUS)
def test_the_focus_moves_only_if_it_was_in_the_card(
    serve: Serve, still: Still, database: Path, row: str
) -> None:
    before, sought, after = FOCUS[row]
    still.open(serve(), body='<input id="field">')
    still.page.locator(before).focus()
    fill(database, sought)
    still.run(LIMIT)
    still.page.get_by_text("Persona 2 Inventada" if sought else "De la página misma").wait_for()
    assert still.page.evaluate(FOCUSED) == after


def test_only_what_changed_is_drawn_again(serve: Serve, still: Still, database: Path) -> None:
    still.open(serve())
    still.page.locator("article").evaluate("(card) => card.setAttribute('data-first', '')")
    still.recheck(LIMIT)
    still.run(MINUTE)
    assert still.page.locator("article[data-first]").is_visible()
    fill(database, [made_up(1)._replace(nombre="Maximiliana Inventada")])
    still.recheck(LIMIT)
    still.page.get_by_role("heading", name="Maximiliana Inventada").wait_for()
    assert still.page.locator("article").count() == 1
