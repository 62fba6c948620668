"""A face is never cut, whatever the shape of its picture: in two browsers, on another's site."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from support.api import ServedApi
from support.both import Headless
from support.browser import host, with_line
from support.pictures import EDGES, PHOTOS, PICTURES, Box, fill_with_pictures, places
from support.web import Web

pytestmark = pytest.mark.slow

# Of each picture: the boxes of .photo and of the <img> without border and padding, in CSS pixels
# of the page; and how the picture lies in it.
LOOK = """return photos.map((photo) => {
    const box = (of, inset) => {
        const { x, y, width, height } = of.getBoundingClientRect();
        const [top, right, bottom, left] = inset;
        return [x + scrollX + left, y + scrollY + top,
            x + scrollX + width - right, y + scrollY + height - bottom];
    };
    const style = getComputedStyle(photo);
    const inset = ["Top", "Right", "Bottom", "Left"].map((side) =>
        parseFloat(style[`padding${side}`]) + parseFloat(style[`border${side}Width`]));
    return {
        slot: box(photo.closest(".photo"), [0, 0, 0, 0]),
        image: box(photo, inset),
        natural: [photo.naturalWidth, photo.naturalHeight],
        fit: style.objectFit,
        position: style.objectPosition.split(" "),
    };
})"""
Look = dict[str, Any]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service with one person for each picture."""
    database = tmp_path_factory.mktemp("faces") / "prueba.db"
    fill_with_pictures(database)
    api = ServedApi(database)
    yield f"http://servicio.example:{api.port}"
    api.close()


def drawn(look: Look, part: Box) -> Box:
    """Where `part` of a picture (fractions of it) lies on the page, by CSS Images 3, 5.5."""
    left, top, right, bottom = look["image"]
    room = (right - left, bottom - top)
    scales = [space / size for space, size in zip(room, look["natural"], strict=True)]
    scale = {"contain": min(scales), "cover": max(scales)}[look["fit"]]
    shown = [size * scale for size in look["natural"]]
    corner = [
        start + (whole - size) * float(share.removesuffix("%")) / 100
        for start, whole, size, share in zip(
            (left, top), room, shown, look["position"], strict=True
        )
    ]
    return tuple(corner[n % 2] + shown[n % 2] * part[n] for n in range(4))


def outside(part: Box, box: Box) -> float:
    """By how many pixels `part` leaves `box`; 0 if it lies inside."""
    return max(0, box[0] - part[0], box[1] - part[1], part[2] - box[2], part[3] - box[3])


@pytest.mark.parametrize("size", ["", "small"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_face_is_cut(either: Headless, web: Web, service: str, width: int, size: str) -> None:
    page = host(web, with_line(service, f'data-size="{size}"', places()))
    looks = dict(zip(PICTURES, either.visit(page, PHOTOS + LOOK, (width, 800)), strict=True))
    screen = (0, 0, width, float("inf"))
    assert {name for name, look in looks.items() if outside(look["slot"], screen)} == set()
    faces = {name: drawn(look, PICTURES[name].face) for name, look in looks.items()}
    cut = {name: outside(face, looks[name]["slot"]) for name, face in faces.items()}
    assert {name: pixels for name, pixels in cut.items() if pixels > 1} == {}


def test_the_edges_of_each_face_are_on_the_screen(
    either: Headless, web: Web, service: str, tmp_path: Path
) -> None:
    """Not by a formula, but by the pixels of a screenshot."""
    png = tmp_path / "page.png"
    looks = either.visit(
        host(web, with_line(service, before=places())), PHOTOS + LOOK, (1280, 800), png
    )
    screenshot = Image.open(png).convert("RGB")
    for (name, picture), look in zip(PICTURES.items(), looks, strict=True):
        seen = edges(screenshot, look["slot"])
        assert seen == pytest.approx(drawn(look, picture.face), abs=4), name


def edges(screenshot: Image.Image, slot: Box) -> Box:
    """The box of the face inside `slot`, by the colours of its four edges."""
    x, y = round(slot[0]), round(slot[1])
    photo = screenshot.crop((x, y, round(slot[2]), round(slot[3])))

    def spot(colour: str) -> Box:
        difference = ImageChops.difference(photo, Image.new("RGB", photo.size, colour))
        red, green, blue = difference.point(lambda level: 255 * (level < 60)).split()
        box = ImageChops.darker(ImageChops.darker(red, green), blue).getbbox()
        assert box, f"no {colour}"
        return box

    left, top, right, bottom = (spot(colour) for colour in EDGES)
    return (x + left[0], y + top[1], x + right[2], y + bottom[3])
