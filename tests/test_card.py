"""The card on pages of all kinds, and for everybody: routers, foreign prototypes, isolated pages,
paper, narrow columns, screen readers, keyboards. In headless Chromium."""

import json
import re
from pathlib import Path

import pytest

from support.api import ABOUT, Api, keep_photo, made_up
from support.browser import Serve, Visit, axe, view_of, with_card
from support.pictures import draw

pytestmark = pytest.mark.slow

LONG_NAME = "Maximiliana Inventada Ficticia"
SIZES = ["", 'data-size="small"']
PLACE = """() => {
    const place = document.createElement("div");
    place.setAttribute("data-persona404", "");
    document.querySelector("main").append(place);
}"""


# --- A router ------------------------------------------------------------------------


def test_a_place_that_arrives_later_gets_its_card(serve: Serve, visit: Visit) -> None:
    page = visit(serve().with_card())
    page.locator("article").wait_for()
    for path in ("/una", "/otra"):
        page.evaluate("(path) => history.pushState(null, '', path)", path)
        page.locator("[data-persona404]").evaluate("(place) => place.remove()")
        assert page.locator("article").count() == 0
        page.evaluate(PLACE)
        page.locator("main article").wait_for()


def test_the_script_s_own_place_is_added_once_and_goes_with_its_path(
    serve: Serve, visit: Visit
) -> None:
    page = visit(serve().with_line())
    own = page.locator("body > aside:last-child article")
    own.wait_for()
    page.evaluate("document.querySelector('main').append('más')")
    page.evaluate("history.replaceState(null, '', '#fin')")
    page.evaluate("document.querySelector('main').append('más')")
    assert own.count() == page.locator("aside").count() == 1
    page.evaluate("history.pushState(null, '', '/otra')")
    page.evaluate("document.querySelector('main').append('más')")
    own.wait_for(state="detached")
    page.evaluate("document.querySelector('main').append('más')")
    assert page.locator("[data-persona404]").count() == 0


def test_a_place_that_arrives_replaces_the_script_s_own(serve: Serve, visit: Visit) -> None:
    page = visit(serve().with_line())
    page.locator("aside article").wait_for()
    page.evaluate(PLACE)
    page.locator("main article").wait_for()
    assert page.locator("[data-persona404]").count() == 1


# --- Foreign prototypes and isolated pages -------------------------------------------

# Names in what the service answers, of the card's options and words, and of options that functions
# of a browser take.
FOREIGN = re.findall(
    r"\w+",
    """
    title phone website demo photos edad_de fecha_de id nombre fecha edad lugar foto url
    size theme lang home lead region es en sought was now place
    alt className href is loading rel text
    method headers body mode credentials cache redirect referrer referrerPolicy integrity keepalive
    signal priority window duplex
    slotAssignment delegatesFocus clonable serializable customElementRegistry
    threshold root rootMargin scrollMargin trackVisibility delay
    attributes attributeFilter attributeOldValue characterData capture once passive
    media disabled baseURL preventScroll focusVisible
    style unit unitDisplay weekday era year month day hour timeStyle timeZone calendar
    numberingSystem localeMatcher numeric notation currency signDisplay useGrouping roundingMode
    minimumFractionDigits minimumIntegerDigits maximumSignificantDigits
    then toJSON length name message stack""",
)
POLLUTE = f"""<script>
    for (const name of {json.dumps(FOREIGN)}) Object.prototype[name] = "555 0199";
    Array.prototype.each = function () {{ return "555 0199"; }};
</script>"""
SAID = {
    "all": ABOUT._replace(demo=True),
    "nothing": ABOUT._replace(title="", phone="", website="", photos=False),
}


@pytest.mark.parametrize("row", SAID)
def test_what_the_page_adds_to_prototypes_changes_nothing(
    serve: Serve, visit: Visit, database: Path, row: str
) -> None:
    service = serve(about=SAID[row])
    keep_photo(database, made_up(1))
    cards = []
    page = visit("about:blank")
    for head in ("", POLLUTE):
        view_of(page, lambda head=head: page.goto(service.with_card(head=head)))
        cards.append(page.locator("article").evaluate("(card) => card.outerHTML"))
    assert cards[0] == cards[1]
    assert "Persona 1 Inventada" in cards[0]
    assert service.views() == 2


def test_an_isolated_page_shows_the_photo_and_counts(
    serve: Serve, visit: Visit, database: Path
) -> None:
    """Under Cross-Origin-Embedder-Policy, which browsers obey on trustworthy hosts alone."""
    service = serve()
    keep_photo(database, made_up(1))
    url = service.host(
        with_card(service.service),
        Cross_Origin_Embedder_Policy="require-corp",
        Cross_Origin_Opener_Policy="same-origin",
    )
    page = visit("about:blank")
    view_of(page, lambda: page.goto(url.replace("sitio.example", "sitio.localhost")))
    assert page.evaluate("crossOriginIsolated")
    photo = page.get_by_role("img", name="Foto de Persona 1 Inventada")
    assert photo.evaluate("(photo) => photo.decode().then(() => photo.naturalWidth)") == 1
    assert service.views() == 1


EMBEDDED = {
    "/embed.js": 200,
    "/words.json": 200,
    "/foto/prueba-1": 200,
    "/foto/prueba-99": 404,
    "/api/persona-random": 200,
    "/api/personas/prueba-1": 200,
    "/api/personas/prueba-99": 404,
    "/api/track?e=view&p=prueba-1&d=www.sitio.example": 200,
    "/api/track": 400,
    "/perdida": 404,
}


def test_every_answer_may_be_embedded(filled: Path) -> None:
    keep_photo(filled, made_up(1))
    api = Api(filled)
    answers = {path: api.ask(path) for path in EMBEDDED}
    assert {path: answer.status for path, answer in answers.items()} == EMBEDDED
    policies = {answer.headers["cross-origin-resource-policy"] for answer in answers.values()}
    assert policies == {"cross-origin"}


# --- Paper and narrow columns --------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_paper_has_black_text_the_telephone_and_no_buttons(
    serve: Serve, visit: Visit, size: str, theme: str
) -> None:
    url = serve().with_card(attributes=f'data-theme="{theme}" {size}')
    page = visit(url, java_script_enabled=True)  # a page of its own, for its medium
    page.locator("article").wait_for()
    page.emulate_media(media="print")
    colours = (
        """(part) => ["color", "backgroundColor"].map((name) => getComputedStyle(part)[name])"""
    )
    assert page.locator("article").evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    for part in ("h2", "h3", ".text p", "footer a", ".call"):
        assert page.locator(part).first.evaluate(colours)[0] == "rgb(0, 0, 0)", part
    assert page.get_by_role("link", name="Llamar al 134").is_visible()
    assert page.locator("article :is(button, .do, .more, .back):visible").count() == 0


# The words of a name that lie on several lines; parts that leave their card or the window.
BROKEN = """(card) => {
    const { firstChild: text } = card.querySelector("h3");
    const lines = ({ index, 0: word }) => {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        return range.getClientRects().length;
    };
    return [...text.data.matchAll(/\\S+/g)].filter((word) => lines(word) !== 1).map(String);
}"""
OUTSIDE = """(card) => {
    const { left, right } = card.getBoundingClientRect();
    const leaves = (part) => {
        const box = part.getBoundingClientRect();
        return box.left < left || box.right > right || part.scrollWidth > part.clientWidth + 1;
    };
    const parts = [...card.querySelectorAll("*")].filter((part) => part.clientWidth);
    const outside = parts.filter(leaves);
    if (left < 0 || document.documentElement.scrollWidth > innerWidth) outside.push(card);
    return outside.map((part) => part.className || part.localName);
}"""
COLUMNS = {
    "a side bar": "main { width: 200px }",
    "a telephone, letters of twice the size": "html { font-size: 200% } main { width: 328px }",
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("row", COLUMNS)
def test_a_narrow_card_breaks_no_word_and_leaves_nothing_out(
    serve: Serve, visit: Visit, database: Path, row: str, size: str
) -> None:
    person = made_up(1)._replace(nombre=LONG_NAME)
    service = serve(person)
    keep_photo(database, person, draw("panorama"))
    width = 200 if "200px" in COLUMNS[row] else 328
    head = f"<style>body {{ margin: 0 }} {COLUMNS[row]}</style>"
    url = service.with_card(head=head, attributes=size)
    page = visit(url, viewport={"width": width, "height": 740})
    page.locator("img").evaluate("(photo) => photo.decode()")
    card = page.locator("article")
    assert card.bounding_box()["width"] == width
    assert card.evaluate(BROKEN) == []
    assert card.evaluate(OUTSIDE) == []


# --- For everybody -------------------------------------------------------------------


def test_a_screen_reader_hears_what_the_card_is(serve: Serve, visit: Visit, database: Path) -> None:
    service = serve()
    keep_photo(database, made_up(1))
    page = visit(service.with_card())
    card = page.get_by_role("region", name="Se busca: Persona 1 Inventada")
    card.get_by_role("img", name="Foto de Persona 1 Inventada").wait_for()
    headings = card.get_by_role("heading").all()
    found = [(h.evaluate("(h) => h.localName"), h.text_content()) for h in headings]
    assert found == [("h2", "Se busca"), ("h3", "Persona 1 Inventada")]


MEDIA = [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}]


@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(serve: Serve, visit: Visit, database: Path, size: str) -> None:
    service = serve(made_up(1), about=ABOUT._replace(demo=True))
    keep_photo(database, made_up(1), draw("portrait"))
    head = '<meta name="color-scheme" content="light dark">'
    page = visit(
        service.with_card(head=head, attributes=size), viewport={"width": 360, "height": 740}
    )
    page.locator("img").evaluate("(photo) => photo.decode()")
    for media in MEDIA:
        assert axe(page, **media) == {}, media


FOCUSED = """() => {
    const at = document.querySelector("[data-persona404]").shadowRoot.activeElement;
    return at && (at.className || at.textContent);
}"""


def test_the_keyboard_reaches_everything_in_order(serve: Serve, visit: Visit) -> None:
    page = visit(serve(*[made_up(n) for n in range(1, 31)]).with_card())
    page.locator("article").wait_for()
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    source = "Registro de prueba"
    assert reached == ["do", "call", "Compartir", "Ver otra", source, "back"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    first = page.locator("h3").inner_text()
    page.keyboard.press("Enter")
    other = page.locator("h3", has_not_text=first)
    other.wait_for()
    assert page.evaluate(FOCUSED) == other.inner_text()
