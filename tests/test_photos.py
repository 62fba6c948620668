"""The photos that the service keeps: fetched after the swap, small, and gone with their person."""

import io
import math
import random
import shutil
import sqlite3
import struct
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import sync
from scrape.fetch import PageError
from scrape.images import FORMATS, LARGEST, photo_of
from store.photos import RUNS
from support import ROOT
from support.api import ABOUT, Api
from support.register import Listed, Register, call_sync, run_sync, slugs
from support.scrape import add_to_profile, edit_profile
from support.web import Answer

JPEG = (("Content-Type", "image/jpeg"),)


def picture(
    size: tuple[int, int] = (300, 400), mode: str = "RGB", kind: str = "JPEG", **options: object
) -> bytes:
    """An image, red above and blue below where its mode has colours."""
    image = Image.new(mode, size)
    colours = Image.new("RGB", size, "blue")
    colours.paste("red", (0, 0, size[0], size[1] // 2))
    if mode != "I;16":
        image = colours.convert(mode)
    body = io.BytesIO()
    image.save(body, kind, **options)
    return body.getvalue()


def opened(body: bytes) -> Image.Image:
    return Image.open(io.BytesIO(body))


@pytest.fixture
def register(register: Register) -> Register:
    edit_profile(register, "photos = false\n", "")
    return register


def publish(register: Register, persons: list[Listed]) -> None:
    register.publish(persons)
    for person in persons:
        register.web.pages[f"/fotos/{person.slug}.jpg"] = Answer(200, picture(), JPEG)


def kept(register: Register) -> set[str]:
    """The persons of whom a photo is kept."""
    return {id for (id,) in register.change("SELECT person FROM photo WHERE jpeg NOTNULL")}


def asked(register: Register) -> int:
    """How many photos the register was asked for."""
    return sum(path.startswith("/fotos/") for path in register.web.asked)


# --- An image ------------------------------------------------------------------------


def animated(kind: str) -> bytes:
    return picture(kind=kind, save_all=True, append_images=[Image.new("RGB", (300, 400))])


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: picture(kind="PNG"), id="png"),
        pytest.param(lambda: picture(kind="WEBP", lossless=True), id="webp"),
        pytest.param(lambda: picture(kind="GIF"), id="gif"),
        pytest.param(lambda: picture(mode="P", kind="PNG"), id="palette"),
        pytest.param(lambda: picture(mode="RGBA", kind="PNG"), id="alpha"),
        pytest.param(lambda: picture(mode="CMYK"), id="cmyk"),
        pytest.param(lambda: picture((6000, 8000)), id="of a telephone"),
        pytest.param(lambda: picture((3000, 300)), id="wide"),
        pytest.param(lambda: picture((30, 40)), id="small"),
        pytest.param(lambda: animated("GIF"), id="animated"),
        pytest.param(lambda: animated("WEBP"), id="animated webp"),
    ],
)
def test_an_image_becomes_a_small_jpeg(make: Callable[[], bytes]) -> None:
    body = make()
    photo = opened(photo_of(body))
    assert photo.format == "JPEG"
    assert all(side <= limit for side, limit in zip(photo.size, LARGEST, strict=True))
    assert photo.width / photo.height == pytest.approx(
        opened(body).width / opened(body).height, rel=0.1
    )
    red, _, blue = photo.getpixel((photo.width // 2, photo.height // 5))
    assert red > 180 > 80 > blue


@pytest.mark.parametrize("mode", ["L", "1", "LA", "I;16"])
def test_an_image_without_colours_is_one_too(mode: str) -> None:
    assert opened(photo_of(picture(mode=mode, kind="PNG"))).size == (300, 400)


def test_16_bits_a_pixel_keep_their_tone() -> None:
    body = io.BytesIO()
    Image.new("I;16", (100, 100), 0x8000).save(body, "PNG")
    assert abs(opened(photo_of(body.getvalue())).getpixel((50, 50))[0] - 0x80) < 3


def test_what_is_transparent_is_white() -> None:
    body = io.BytesIO()
    Image.new("RGBA", (100, 100), (0, 0, 0, 0)).save(body, "PNG")
    assert opened(photo_of(body.getvalue())).getpixel((50, 50)) == (255, 255, 255)


UPRIGHT = {1: "red", 2: "red", 3: "blue", 4: "blue", 5: "side", 6: "side", 7: "side", 8: "side"}


@pytest.mark.parametrize("orientation", UPRIGHT)
def test_an_image_is_turned_as_its_exif_says(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = opened(photo_of(picture(exif=exif)))
    top = photo.getpixel((photo.width // 2, 5))
    seen = "side" if photo.width > photo.height else "red" if top[0] > 128 else "blue"
    assert seen == UPRIGHT[orientation]


def test_metadata_stays_behind() -> None:
    exif = Image.Exif()
    exif[0x010E] = "SECRETO"
    exif.get_ifd(0x8825)[2] = (1.0, 2.0, 3.0)  # GPS
    body = picture(exif=exif, comment=b"SECRETO", icc_profile=b"SECRETO" * 20, dpi=(7, 7))
    assert b"SECRETO" in body
    photo = photo_of(body)
    assert b"SECRETO" not in photo
    assert set(opened(photo).info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(width: int, height: int) -> bytes:
    """A PNG file that says it has this size, of all one colour."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 10_000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


BAD_IMAGES = {
    "empty": b"",
    "text": b"no photo",
    "html": b"<!DOCTYPE html><img src=x>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="400"/>',
    "cut jpeg": picture()[:700],
    "cut png": picture(kind="PNG")[:300],
    "cut gif": picture(kind="GIF")[:100],
    "cut webp": picture(kind="WEBP")[:200],
    "head of a jpeg": picture()[:20],
    "bytes after the head": picture()[:300] + bytes(range(256)) * 20,
    "50,000 x 50,000": png_of(50_000, 50_000),
    "65,000 x 1,000": png_of(65_000, 1_000),
    "2**31 wide": png_of(2**31 - 1, 1),
    "no width": png_of(0, 10),
    "missing rows": png_of(3000, 3000),
    "a pixel": picture((1, 1), kind="PNG"),
    "a line": picture((400, 2)),
    "tiff": picture(kind="TIFF"),
    "bmp": picture(kind="BMP"),
    "ico": picture((64, 64), kind="ICO"),
    "pdf": picture(kind="PDF"),
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n",
}


@pytest.mark.parametrize("body", BAD_IMAGES.values(), ids=BAD_IMAGES)
def test_what_is_no_photo_is_refused(body: bytes) -> None:
    with pytest.raises(PageError, match="its image"):
        photo_of(body)


def test_bad_images_cost_themselves_alone(register: Register) -> None:
    persons = slugs(len(BAD_IMAGES) + 2)
    publish(register, persons)
    for person, body in zip(persons[1:], BAD_IMAGES.values(), strict=False):
        register.web.pages[f"/fotos/{person.slug}.jpg"] = Answer(200, body, JPEG)
    run = register.sync()
    assert (run.returncode, "24 active" in run.stdout) == (0, True)
    assert kept(register) == {register.id("aa"), register.id(persons[-1].slug)}
    assert f"photos: 24 of 24 asked for, {len(BAD_IMAGES)} failed" in run.stderr


def test_what_pillow_says_of_an_image_is_not_in_the_log(register: Register) -> None:
    """Each of these tags says that its data are longer than the file."""
    tags = (struct.pack(">HHII", number, 2, 2**20, 9) for number in range(2**16 - 1))
    exif = b"MM\0*" + struct.pack(">IH", 8, 2**16 - 1) + b"".join(tags) + bytes(4)
    body = picture(kind="PNG")
    noisy = body[:33] + chunk(b"eXIf", exif) + body[33:]
    publish(register, slugs(1))
    register.web.pages["/fotos/aa.jpg"] = Answer(200, noisy, JPEG)
    run = run_sync(register.profile, register.database)
    assert (len(run.stderr.splitlines()) < 20, kept(register)) == (True, {register.id("aa")})


# --- A run ---------------------------------------------------------------------------


def test_photos_come_after_the_list(register: Register) -> None:
    """Whoever asks while the first photo is fetched, sees the new list."""
    publish(register, slugs(3))
    seen = []

    def look(_: BaseHTTPRequestHandler) -> Answer:
        seen.append(register.names())
        return Answer(200, picture(), JPEG)

    register.web.pages["/fotos/aa.jpg"] = look
    register.sync()
    assert seen == [{"aa", "ab", "ac"}]
    assert len(kept(register)) == 3


def test_a_photo_is_given(register: Register) -> None:
    publish(register, slugs(2))
    register.web.pages["/fotos/ab.jpg"] = Answer(404)
    register.sync()
    api = register.api()
    reply = api.ask(f"/foto/{register.id('aa')}")
    assert (reply.status, opened(reply.body).size) == (200, (300, 400))
    assert reply.headers["content-type"] == "image/jpeg"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["cross-origin-resource-policy"] == "cross-origin"
    foto = api.get("/api/persona-random")["foto"]
    assert foto.startswith(f"https://{register.web.host}/fotos/")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 200),
        ("?nombre=Aa%20Inventado%20Prueba", 200),
        ("?nombre=Otra%20Supuesta", 404),
        ("?nombre=aa", 404),
        ("?nombre=a&nombre=b", 400),
        ("?nombre=%ff", 400),
    ],
)
def test_a_page_that_stays_open_asks_with_the_name(
    register: Register, query: str, status: int
) -> None:
    publish(register, slugs(1))
    register.sync()
    assert register.api().ask(f"/foto/{register.id('aa')}{query}").status == status


@pytest.mark.parametrize("who", ["ab", "nobody", "..", "x'--", "%ff", "%00", "a/b"])
def test_no_photo_is_a_problem(register: Register, who: str) -> None:
    publish(register, slugs(2))
    register.web.pages["/fotos/ab.jpg"] = Answer(404)
    register.sync()
    reply = register.api().ask(f"/foto/{register.id(who) if len(who) == 2 else who}")
    assert (reply.status, reply.headers["content-type"]) == (404, "application/problem+json")


def test_a_photo_is_not_given_where_the_list_is_too_old(register: Register) -> None:
    publish(register, slugs(2))
    register.sync()
    register.change("UPDATE run SET ended = '2020-01-01T00:00:00Z'")
    assert register.api().ask(f"/foto/{register.id('aa')}").status == 404


def test_a_seventh_is_asked_for_again_each_night(register: Register) -> None:
    persons = slugs(2 * RUNS)
    publish(register, persons)
    register.sync()
    first = {f"/fotos/{person.slug}.jpg" for person in persons}
    for _ in range(2):
        fetched: set[str] = set()
        for _ in range(RUNS):
            register.web.asked.clear()
            register.sync()
            assert asked(register) == 2
            fetched.update(register.web.asked)
        assert fetched >= first


@pytest.mark.parametrize(
    ("answer", "stays"),
    [
        (Answer(404), False),
        (Answer(410), False),
        (Answer(403), True),
        (Answer(500), True),
        (Answer(429, headers=(("Retry-After", "3600"),)), True),
        (Answer(302, headers=(("Location", "https://other.example/x.jpg"),)), True),
        (Answer(200, b"no image"), False),
        (Answer(302, headers=(("Location", "/sin_foto.png"),)), False),
        (Answer(200, picture(), (("Content-Type", "image/jpeg; charset*=a\x00b''x"),)), True),
    ],
)
def test_a_photo_that_is_gone_is_deleted(register: Register, answer: Answer, stays: bool) -> None:
    publish(register, slugs(2))
    register.sync()
    register.web.pages["/fotos/aa.jpg"] = answer
    register.change("UPDATE photo SET asked = -9 WHERE person = ?", register.id("aa"))
    run = register.sync()
    assert run.returncode == 0
    assert (register.id("aa") in kept(register)) == stays
    assert register.id("ab") in kept(register)


def test_a_photo_is_never_another_child_s(register: Register) -> None:
    """The register gives a child's addresses, and the number of the photo, to another one."""
    publish(register, slugs(3))
    register.sync()
    register.web.edit("/lista?n=1", "Aa Inventado Prueba", "Otra Supuesta Muestra")
    register.web.edit("/file/aa", "12 años", "3 años")
    register.web.pages["/fotos/aa.jpg"] = Answer(503)
    register.sync()
    assert register.id("aa") not in kept(register)
    register.web.pages["/fotos/aa.jpg"] = Answer(200, picture((301, 400)), JPEG)
    register.sync()
    assert register.id("aa") in kept(register)


def test_nor_that_of_a_namesake(register: Register) -> None:
    publish(register, slugs(1))
    register.sync()
    register.web.edit("/file/aa", "01/02/2024", "01/02/2021")
    register.web.pages["/fotos/aa.jpg"] = Answer(503)
    register.sync()
    assert kept(register) == set()


def test_a_photo_that_leads_to_another_child_s_is_none(register: Register) -> None:
    publish(register, slugs(2))
    location = (("Location", "/fotos/ab.jpg"),)
    register.web.pages["/fotos/aa.jpg"] = Answer(302, headers=location)
    assert "1 failed: it leads to another child's" in register.sync().stderr
    assert kept(register) == {register.id("ab")}


# --- One picture, one child ----------------------------------------------------------


class Stranger(Listed):
    """A child who shares no word of her name with another."""

    @property
    def nombre(self) -> str:
        return f"{self.slug.title()} Ficticia{self.slug}"


def face(slug: str) -> bytes:
    """A picture of noise: as a JPEG it has no piece in common with another."""
    noise = random.Random(slug).randbytes(3 * 60 * 80)
    body = io.BytesIO()
    Image.frombytes("RGB", (60, 80), noise).save(body, "PNG")
    return body.getvalue()


def publish_faces(register: Register, persons: list[Listed]) -> None:
    """Let each have a photo of her own."""
    register.publish(persons)
    for person in persons:
        path = person.foto.format(slug=person.slug)
        register.web.pages[path] = Answer(200, face(person.slug), JPEG)


def faces(register: Register, persons: list[Listed]) -> dict[str, str]:
    """Whose photo /foto gives of each who is shown with one, by slug; "?" for another picture."""
    whose = {photo_of(face(person.slug)): person.slug for person in persons}
    replies = {p.slug: register.api().ask(f"/foto/{register.id(p.slug)}") for p in persons}
    return {
        slug: whose.get(reply.body, "?") for slug, reply in replies.items() if reply.status == 200
    }


def strangers(count: int) -> list[Listed]:
    return [Stranger(person.slug) for person in slugs(count)]


@pytest.mark.parametrize("whose", ["aa", "al", "nobody"])
@pytest.mark.parametrize("nights", [3, RUNS])
def test_one_picture_for_all_is_nobody_s(register: Register, whose: str, nights: int) -> None:
    """A cache, or a parked domain: nobody gets another's face, and everybody her own again: within
    RUNS good runs, but for the child whose face it was, who waits for the others."""
    twelve = strangers(12)
    own = {person.slug: person.slug for person in twelve}
    publish_faces(register, twelve)
    register.sync()
    assert faces(register, twelve) == own
    for person in twelve:
        register.web.pages[f"/fotos/{person.slug}.jpg"] = Answer(200, face(whose), JPEG)
    for _ in range(nights):
        register.web.asked.clear()
        run = register.sync()
        assert asked(register) <= 2
        assert faces(register, twelve).items() <= own.items()
    if nights == RUNS:
        assert faces(register, twelve) == {}
        assert "photos: 12 are not kept: each is another child's too" in run.stderr
        on_disk, jpegs = register.bytes_on_disk(), [photo_of(face(p.slug)) for p in twelve]
        assert not any(
            jpeg[place : place + 16] in on_disk for jpeg in jpegs for place in (700, 900)
        )
    publish_faces(register, twelve)
    for count in range(1, 2 * RUNS + 1):
        register.sync()
        assert faces(register, twelve).items() <= own.items()
        if count == RUNS:
            assert faces(register, twelve).keys() >= own.keys() - {whose}
        if count >= RUNS and faces(register, twelve) == own:
            break
    assert faces(register, twelve) == own


def test_one_picture_for_all_on_the_first_night(register: Register) -> None:
    twelve = strangers(12)
    publish_faces(register, twelve)
    for person in twelve:
        register.web.pages[f"/fotos/{person.slug}.jpg"] = Answer(200, face("nobody"), JPEG)
    run = register.sync()
    assert (run.returncode, faces(register, twelve)) == (0, {})


@pytest.mark.parametrize(
    ("one", "other", "may_share"),
    [
        (Listed("aa"), Listed("ab"), True),
        (Listed("aa"), Listed("ab", edad="9 años", foto="/fotos/aa.jpg"), True),
        (Listed("aa"), Listed("ab", fecha="02/02/2024"), False),
        (Listed("aa"), Listed("ab", fecha="02/02/2024", foto="/fotos/aa.jpg"), False),
        (Listed("aa"), Stranger("ab"), False),
        (Listed("aa"), Stranger("ab", foto="/fotos/aa.jpg?#x"), False),
    ],
)
def test_sisters_may_share_a_picture(
    register: Register, one: Listed, other: Listed, may_share: bool
) -> None:
    publish_faces(register, [one, other, Stranger("ac")])
    for path in ("/fotos/aa.jpg", "/fotos/ab.jpg"):
        register.web.pages[path] = Answer(200, face("aa"), JPEG)
    register.sync()
    shared = {"aa": "aa", "ab": "aa"} if may_share else {}
    assert faces(register, [one, other, Stranger("ac")]) == {**shared, "ac": "ac"}


def test_who_shares_an_address_with_a_hidden_child_has_no_face(register: Register) -> None:
    """Her picture is never fetched, so that only the address tells."""
    publish_faces(register, strangers(3))
    register.sync("--hide", register.id("ab"))
    two = [Stranger("aa", foto="/fotos/ab.jpg"), *strangers(3)[1:]]
    register.publish(two)
    register.sync()
    assert faces(register, two) == {"ac": "ac"}


@pytest.mark.parametrize(
    "to", ["/fotos/ab.jpg", "/fotos//ab.jpg", "/fotos/ab.jpg?v=2", "/fotos/ab.jpg#x"]
)
@pytest.mark.parametrize("ab_is", ["a sister", "a stranger", "hidden"])
def test_a_redirect_to_another_child_s_gives_no_face(
    register: Register, to: str, ab_is: str
) -> None:
    three: list[Listed] = slugs(3) if ab_is == "a sister" else strangers(3)
    publish_faces(register, three)
    if ab_is == "hidden":
        register.sync("--hide", register.id("ab"))
    register.web.pages["/fotos/aa.jpg"] = Answer(302, headers=(("Location", to),))
    for path in ("/fotos//ab.jpg", "/fotos/ab.jpg?v=2"):
        register.web.pages[path] = Answer(200, face("ab"), JPEG)
    assert "1 failed: it leads to another child's" in register.sync().stderr
    register.web.asked.clear()
    register.sync()
    shared = {"ab": "ab"} if ab_is == "a sister" else {}
    assert faces(register, three) == {**shared, "ac": "ac"}
    assert asked(register) <= 2  # the refusal is remembered


def test_redirects_of_two_to_one_address_give_no_face(register: Register) -> None:
    publish_faces(register, strangers(3))
    for slug in ("aa", "ab"):
        location = (("Location", f"/fotos/third.jpg?of={slug}"),)
        register.web.pages[f"/fotos/{slug}.jpg"] = Answer(302, headers=location)
        register.web.pages[f"/fotos/third.jpg?of={slug}"] = Answer(200, face("ab"), JPEG)
    register.sync()
    assert faces(register, strangers(3)) == {"ac": "ac"}


def test_a_query_of_caching_is_no_other_picture(register: Register) -> None:
    publish_faces(register, strangers(2))
    register.web.pages["/fotos/aa.jpg?v=2"] = register.web.pages["/fotos/aa.jpg"]
    location = (("Location", "/fotos/aa.jpg?v=2"),)
    register.web.pages["/fotos/aa.jpg"] = Answer(302, headers=location)
    register.sync()
    assert faces(register, strangers(2)) == {"aa": "aa", "ab": "ab"}


@pytest.mark.parametrize("photos_too", [False, True])
def test_who_moves_keeps_her_own_face(register: Register, photos_too: bool) -> None:
    """Each child gets the number that another one had."""
    six = strangers(6)
    for first in (0, 1, 3):
        for n, person in enumerate(six):
            number = (n + first) % 6
            foto = f"/fotos/{number if photos_too else person.slug}.jpg"
            six[n] = person._replace(foto=foto)
            register.web.put(f"/caso/{number}", six[n].details)
        publish_faces(register, six)
        for n, person in enumerate(six):
            old, new = f"/file/{person.slug}'", f"/caso/{(n + first) % 6}'"
            register.web.edit("/lista?n=1", old, new)
        assert register.sync().returncode == 0
        shown = register.api().get("/api/personas?limit=100")["personas"]
        bodies = {p["nombre"]: register.api().ask(f"/foto/{p['id']}").body for p in shown}
        assert bodies == {person.nombre: photo_of(face(person.slug)) for person in six}


# --- When it is asked for ------------------------------------------------------------


def test_a_photo_that_is_no_more_is_gone_within_seven_runs(register: Register) -> None:
    publish_faces(register, strangers(20))
    register.sync()
    for person in strangers(20):
        register.web.pages[f"/fotos/{person.slug}.jpg"] = Answer(404)
    for night in range(1, RUNS + 1):
        register.sync()
        assert len(kept(register)) <= 20 - 20 * night // RUNS
    assert kept(register) == set()


def test_a_disk_that_fills_gets_no_more_photos(
    register: Register, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The disk of the file that a link leads to; a removal still has room."""
    folders = []

    def fill_up(folder: Path) -> Any:
        folders.append(folder)
        return usage(folder)._replace(free=sync.FREE_BYTES - (len(folders) > 3))

    usage = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", fill_up)
    (tmp_path / "elsewhere").mkdir()
    register.database.symlink_to(tmp_path / "elsewhere" / "prueba.db")
    publish_faces(register, strangers(9))
    run = register.sync()
    assert (run.returncode, len(kept(register)), asked(register)) == (0, 3, 4)  # one is thrown away
    assert set(folders) == {tmp_path / "elsewhere"}
    assert "photos: they wait until 100 MB of disk are free" in run.stderr


@pytest.mark.parametrize("fault", ["full", "locked"])
def test_a_database_that_takes_no_photo_has_a_good_run(
    register: Register, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    publish(register, slugs(3))
    if fault == "full":
        monkeypatch.setattr(sync, "FREE_BYTES", 10**18)
    else:
        monkeypatch.setattr("sync.store_photo", fail)
    run = register.sync()
    assert (run.returncode, "3 active" in run.stdout, kept(register)) == (0, True, set())
    assert "wait" in run.stderr


def test_a_photo_that_refuses_is_not_the_first_again(register: Register) -> None:
    publish(register, slugs(4))
    register.sync()
    wait = (("Retry-After", "3600"),)
    register.web.pages["/fotos/aa.jpg"] = Answer(429, headers=wait)
    register.change("UPDATE photo SET asked = -9 WHERE person = ?", register.id("aa"))
    register.change("UPDATE photo SET asked = -8 WHERE person = ?", register.id("ab"))
    register.sync()
    register.web.asked.clear()
    register.sync()
    assert "/fotos/ab.jpg" in register.web.asked


@pytest.mark.parametrize(
    "bad", [Answer(403), Answer(302, headers=(("Location", "https://other.example/"),))]
)
def test_photos_that_cannot_be_had_do_not_keep_back_the_others(
    register: Register, bad: Answer
) -> None:
    publish(register, slugs(20))
    for person in slugs(20)[:8]:
        register.web.pages[f"/fotos/{person.slug}.jpg"] = bad
    register.sync()
    assert len(kept(register)) == 12


def test_a_register_that_asks_to_wait_is_left_alone(register: Register) -> None:
    publish(register, slugs(9))
    for person in slugs(9):
        wait = (("Retry-After", "3600"),)
        register.web.pages[f"/fotos/{person.slug}.jpg"] = Answer(429, headers=wait)
    run = register.sync()
    assert (run.returncode, asked(register)) == (0, 1)
    assert "photos: the rest waits: the register asks to wait 3600 s" in run.stderr
    assert "; 1 cannot: the register asks" in register.sync("--dry-run").stdout
    assert asked(register) == 2


def test_a_withheld_run_asks_for_no_photo(register: Register) -> None:
    persons = slugs(12)
    publish(register, persons)
    register.sync()
    register.web.asked.clear()
    register.publish([person._replace(fecha="?") for person in persons[:4]] + persons[4:])
    assert ": withheld: " in register.sync().stdout
    assert asked(register) == 0


def test_a_lock_in_the_middle_is_waited_for(register: Register) -> None:
    publish(register, slugs(2))

    def hold(_: BaseHTTPRequestHandler) -> Answer:
        db = sqlite3.connect(register.database, isolation_level=None, check_same_thread=False)
        db.execute("BEGIN IMMEDIATE")
        threading.Timer(1.5, db.close).start()
        return Answer(200, picture(), JPEG)

    register.web.pages["/fotos/aa.jpg"] = hold
    assert register.sync().returncode == 0
    assert len(kept(register)) == 2


def test_photos_false_counts_on_a_bad_night_too(register: Register) -> None:
    publish(register, slugs(2))
    register.sync()
    add_to_profile(register, "photos = false")
    register.web.pages["/lista?n=1"] = Answer(503)
    assert register.sync().returncode == 1
    assert kept(register) == set()
    api = Api(register.database, about=ABOUT._replace(photos=False))
    assert api.ask(f"/foto/{register.id('aa')}").status == 404


def test_another_address_is_another_photo(register: Register) -> None:
    publish(register, slugs(2))
    register.sync()
    publish(register, [slugs(2)[0]._replace(foto="/fotos/new.jpg"), slugs(2)[1]])
    assert "1 changed" in register.sync().stderr
    assert kept(register) == {register.id("ab")}
    register.web.pages["/fotos/new.jpg"] = Answer(200, picture(), JPEG)
    register.sync()
    assert kept(register) == {register.id("aa"), register.id("ab")}


def test_who_moves_takes_the_photo_along(register: Register) -> None:
    publish(register, slugs(6))
    register.sync()
    register.web.asked.clear()
    register.web.edit("/lista?n=1", "/file/aa", "/expediente/aa")
    register.web.pages["/expediente/aa"] = register.web.pages["/file/aa"]
    assert "1 moved" in register.sync().stdout
    assert asked(register) == 1  # the seventh
    assert len(kept(register)) == 6


@pytest.mark.parametrize("how", ["leaves", "--hide", "photos = false"])
def test_a_photo_goes_with_its_person(register: Register, how: str) -> None:
    publish(register, slugs(6))
    register.sync()
    if how == "leaves":
        register.publish(slugs(6)[1:])
        register.sync()
    elif how == "--hide":
        register.sync("--hide", register.id("aa"))
    else:
        add_to_profile(register, how)
        register.sync()
    assert register.id("aa") not in kept(register)
    assert len(kept(register)) == (0 if how == "photos = false" else 5)
    assert register.api().ask(f"/foto/{register.id('aa')}").status == 404


def test_a_photo_of_a_child_who_was_hidden_meanwhile_is_not_kept(register: Register) -> None:
    publish(register, slugs(2))

    def hide(_: BaseHTTPRequestHandler) -> Answer:
        call_sync(register.profile, register.database, "--hide", register.id("aa"))
        return Answer(200, picture(), JPEG)

    register.web.pages["/fotos/aa.jpg"] = hide
    register.sync()
    assert kept(register) == {register.id("ab")}


def test_a_server_that_does_not_answer_is_left_alone(register: Register) -> None:
    publish(register, slugs(20))
    for person in slugs(20):
        register.web.pages[f"/fotos/{person.slug}.jpg"] = Answer(503)
    run = register.sync()
    assert run.returncode == 0
    assert asked(register) == 5 * 3  # tries
    assert "photos: the rest waits: 5 in a row were not answered" in run.stderr


@pytest.mark.parametrize("robots", [Answer(200, b"User-agent: *\nDisallow: /fotos"), Answer(200)])
def test_robots_txt_counts_for_photos(register: Register, robots: Answer) -> None:
    publish(register, slugs(2))
    register.web.pages["/robots.txt"] = robots
    assert register.sync().returncode == 0
    assert asked(register) == (0 if robots.body else 2)


def test_a_photo_on_another_host_needs_its_name_in_the_profile(register: Register) -> None:
    other = register.web.host.replace("127.0.0.1", "localhost")
    publish(register, [slugs(1)[0]._replace(foto=f"http://{other}/fotos/aa.jpg")])
    run = register.sync()
    assert (asked(register), "leads off the register's hosts" in run.stderr) == (0, True)
    add_to_profile(register, f'hosts = "{other}"')
    register.sync()
    assert kept(register) == {register.id("aa")}


@pytest.mark.parametrize("foto", ["/sin_foto.png", "https://registro.example/silueta.png"])
def test_the_placeholder_is_no_photo(register: Register, foto: str) -> None:
    publish(register, [slugs(1)[0]._replace(foto=foto)])
    add_to_profile(register, 'hosts = "registro.example"')
    register.sync()
    assert (asked(register), kept(register)) == (0, set())


def test_a_dry_run_says_how_many_can_be_kept(register: Register) -> None:
    publish(register, slugs(12))
    register.web.pages["/fotos/ab.jpg"] = Answer(404)
    shown = register.sync("--dry-run").stdout
    line = "photos: 12 persons have the address of one; the first 10 were tried: 9 can be kept; "
    assert f'{line}1 cannot: HTTP 404; see "Photos" in registers/README.md\n' in shown
    register.web.pages["/fotos/ab.jpg"] = register.web.pages["/fotos/ac.jpg"]
    assert "tried: 10 can be kept\n" in register.sync("--dry-run").stdout
    publish(register, [listed._replace(foto="") for listed in slugs(12)])
    assert "photos: nobody has the address of one: is" in register.sync("--dry-run").stdout
    edit_profile(register, "max_age = 17", "max_age = 17\nphotos = false")
    assert "photos:" not in register.sync("--dry-run").stdout


def test_an_image_that_takes_long_ends(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(_: bytes) -> bytes:
        while True:
            pass

    publish(register, slugs(1))
    monkeypatch.setattr("scrape.images.photo_of", hang)
    monkeypatch.setattr("scrape.images.PAGE_SECONDS", 0.1)
    assert "1 failed: took more than 0 s" in register.sync().stderr


def test_photos_wait_where_the_run_has_no_time_left(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(register, slugs(9))
    write_changes = sync.write_changes

    def last(*everything: Any) -> None:
        write_changes(*everything)
        monkeypatch.setattr(time, "monotonic", lambda: math.inf)

    monkeypatch.setattr(sync, "write_changes", last)
    run = register.sync()
    assert (run.returncode, asked(register)) == (0, 0)
    assert "9 active" in run.stdout


def test_photos_that_take_too_long_wait_for_the_next_run(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small progressive JPEGs that take a minute of CPU each took a run's four hours."""
    publish(register, slugs(9))
    store, moment = sync.store_photo, time.monotonic

    def take_half_an_hour(*everything: Any) -> None:
        store(*everything)
        now = time.monotonic() + 1800
        monkeypatch.setattr(time, "monotonic", lambda: now)

    monkeypatch.setattr(sync, "store_photo", take_half_an_hour)
    run = register.sync()
    assert (run.returncode, len(kept(register))) == (0, 2)
    monkeypatch.setattr(time, "monotonic", moment)
    monkeypatch.setattr(sync, "store_photo", store)
    register.sync()
    assert len(kept(register)) == 9


def test_the_demo_s_faces_are_photos(tmp_path: Path) -> None:
    database = tmp_path / "demo.db"
    assert call_sync(ROOT / "registers" / "demo.toml", database).returncode == 0
    with closing(sqlite3.connect(database)) as db:
        bodies = [body for (body,) in db.execute("SELECT jpeg FROM photo")]
    assert len(set(bodies)) == 23  # one of the 24 has none
    assert Api(database).get("/api/stats")["active"] == 24


def test_only_four_formats_are_decoded() -> None:
    """What else Pillow knows, such as EPS, starts other programs."""
    assert set(FORMATS) == {"GIF", "JPEG", "PNG", "WEBP"}
