"""Photos of all shapes, drawn: of nobody, each with the box of its face."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw

from support.api import fill, keep_photo, made_up

Box = tuple[float, float, float, float]  # left, top, right, bottom
SKIN, SHIRT, INK = "#e0ac7e", "#3d4a6b", "#222222"
# What touches the four edges of the face's box, in colours that nothing else has.
EDGES = ("#d000d0", "#00a000", "#00c0e0", "#f0e000")  # left, top, right, bottom


class Picture(NamedTuple):
    """A photo: its size in pixels, and its face in fractions of them."""

    width: int
    height: int
    face: Box


PICTURES = {
    "portrait": Picture(480, 600, (0.25, 0.15, 0.75, 0.75)),
    "square": Picture(400, 400, (0.3, 0.15, 0.7, 0.7)),
    "face at the left": Picture(800, 450, (0.01, 0.2, 0.26, 0.75)),
    "face at the right": Picture(800, 450, (0.74, 0.2, 0.99, 0.75)),
    "panorama": Picture(1200, 300, (0.06, 0.1, 0.2, 0.75)),
    "full body": Picture(300, 900, (0.34, 0.02, 0.66, 0.16)),
    "poster": Picture(150, 210, (0.3, 0.22, 0.7, 0.62)),
    "40 px wide": Picture(40, 50, (0.2, 0.1, 0.8, 0.75)),
}


def draw(name: str) -> bytes:
    """The JPEG of a picture of PICTURES: a person with a cap, headphones and a beard."""
    width, height, (left, top, right, bottom) = PICTURES[name]
    finer = 4  # drawn larger than it will be: smooth edges
    image = Image.new("RGB", (width * finer, height * finer), "#cfd8dc")
    pen = ImageDraw.Draw(image)

    def area(*part: float) -> list[float]:
        """A part of the face (fractions of its box), in pixels."""
        x0, y0, x1, y1 = part
        across, down = right - left, bottom - top
        box = (left + x0 * across, top + y0 * down, left + x1 * across, top + y1 * down)
        sides = (width, height) * 2
        return [n * side * finer for n, side in zip(box, sides, strict=True)]

    if name == "full body":
        pen.rectangle(area(-0.1, 3, 0.4, 6.8), INK)
        pen.rectangle(area(0.6, 3, 1.1, 6.8), INK)
    pen.ellipse(area(-0.5, 1.02, 1.5, 2.6), SHIRT)
    pen.rectangle(area(-0.5, 1.8, 1.5, 3.6), SHIRT)
    pen.rectangle(area(0.35, 0.8, 0.65, 1.15), SKIN)
    pen.ellipse(area(0.06, 0.02, 0.94, 0.98), SKIN)
    pen.rectangle(area(0, 0.38, 0.14, 0.68), EDGES[0])
    pen.chord(area(0.1, 0, 0.9, 0.7), 180, 360, EDGES[1])
    pen.rectangle(area(0.86, 0.38, 1, 0.68), EDGES[2])
    pen.chord(area(0.2, 0.6, 0.8, 1), 30, 150, EDGES[3])
    pen.ellipse(area(0.28, 0.45, 0.38, 0.54), INK)
    pen.ellipse(area(0.62, 0.45, 0.72, 0.54), INK)
    if name == "poster":
        pen.rectangle(area(-9, -9, 9, -0.15), "#b3261e")
        pen.rectangle(area(-9, 1.3, 9, 9), "#ffffff")
        for line in range(5):
            y = 1.4 + 0.1 * line
            pen.rectangle(area(-0.5, y, 1.4 - 0.2 * line, y + 0.03), INK)
    jpeg = io.BytesIO()
    small = image.resize((width, height), Image.Resampling.LANCZOS)
    small.save(jpeg, "JPEG", quality=95, subsampling=0)
    return jpeg.getvalue()


# Who has which picture: an API asked for the region of that name gives this person.
PERSONS = {
    name: made_up(number)._replace(lugar=f"Villa Inventada, {name}")
    for number, name in enumerate(PICTURES, 1)
}


def fill_with_pictures(database: Path) -> None:
    """Make PERSONS the list of `database`."""
    fill(database, list(PERSONS.values()))
    for name, person in PERSONS.items():
        keep_photo(database, person, draw(name))


def places(names: Iterable[str] = PICTURES, attributes: str = "") -> str:
    """An element for the card of each of these persons."""
    div = f'<div data-persona404 {attributes} data-region="%s"></div>'
    return "".join(div % name for name in names)


# After UNTIL: `photos`, the <img> of each place, loaded.
PHOTOS = """
const photos = await until(() => {
    const all = [...document.querySelectorAll("[data-persona404]")].map(
        (place) => place.shadowRoot?.querySelector(".photo img"));
    return all.length && all.every(Boolean) && all;
});
for (const photo of photos) photo.loading = "eager"; // wherever it is on the page
await Promise.all(photos.map((photo) => photo.decode()));
"""
