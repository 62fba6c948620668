"""The child is on the first screen of our own 404 page, in two browsers, without scrolling."""

from pathlib import Path

import pytest

from model import Person
from support.api import keep_photo, made_up
from support.both import Headless
from support.browser import Serve
from support.pictures import PHOTOS, draw

pytestmark = pytest.mark.slow

SCREENS = [(390, 664), (360, 640), (1280, 800)]
FACE_AND_NAME = ["face", "name"]
THREE_LINES = "Maximiliana Guadalupe Imaginaria de los Ángeles Inventada"
TWO_LINES = "Villa Inventada del Monte Imaginario, Provincia Ficticia"
PERSONS = {
    "ordinary": (made_up(1), [*FACE_AND_NAME, "facts", "button"]),
    "name of three lines": (made_up(1)._replace(nombre=THREE_LINES), FACE_AND_NAME),
    "place of two lines": (made_up(1)._replace(lugar=TWO_LINES), FACE_AND_NAME),
}
# Left, top, right and bottom of each part, in CSS pixels of the window; null if it is not there.
BOXES = """
const all = (selector) => [...photos[0].getRootNode().querySelectorAll(selector)];
const box = (element) => {
    if (!element) return null;
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return [left, top, right, bottom];
};
return {
    face: box(photos[0]),
    name: box(all("h1, h2, h3").find((heading) => heading.textContent.includes(NAME))),
    facts: box(all("p").find((p) => p.textContent.startsWith("Falta desde"))),
    button: box(all("a.do")[0]),
};"""


@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize(("person", "parts"), PERSONS.values(), ids=PERSONS)
def test_the_first_screen_has_the_child(
    either: Headless,
    serve: Serve,
    database: Path,
    screen: tuple[int, int],
    person: Person,
    parts: list[str],
) -> None:
    service = serve(person)
    keep_photo(database, person, draw("portrait"))
    script = f"const NAME = {person.nombre!r};" + PHOTOS + BOXES
    boxes = either.visit(f"{service.service}/404.html", script, screen)
    width, height = screen
    _, top, _, bottom = boxes["face"]
    assert bottom - top >= 160  # 10rem: a slot that gives way further shows nobody
    seen = {
        part
        for part, box in boxes.items()
        if box and min(box) >= 0 and box[2] <= width and box[3] <= height
    }
    assert set(parts) - seen == set(), boxes
