"""Photograph the card for people to judge: all shapes, sizes, languages and colours.

    python tests/gallery.py DIR

Writes PNG files and an index.html of them into DIR. Needs what the slow tests need. The persons
are made up.
"""

import html
import logging
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

from PIL import Image

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from model import Person  # noqa: E402
from support.api import ServedApi, fill, keep_photo, made_up  # noqa: E402
from support.both import PROGRAMS, Headless  # noqa: E402
from support.browser import host, with_line  # noqa: E402
from support.pictures import PERSONS, draw, places  # noqa: E402
from support.web import Answer, Web  # noqa: E402

# Further persons, with the portrait.
OTHERS: dict[str, dict[str, str]] = {
    "long name": {"nombre": "Maximiliana Guadalupe Imaginaria de los Ángeles Fernández-Supuesto"},
    "one word": {"nombre": "Renata"},
    "long word": {"nombre": "Wenceslaoimaginarioinventado Extraordinariamentesupuesto"},
    "long place": {"lugar": "Villa Inventada del Monte Imaginario, Departamento Supuesto Mayor"},
    "baby": {"edad": "7 meses", "fecha": "03/02/2025"},
    "grown up": {"edad": "15 años", "fecha": "01/06/2009"},
    "no photo": {},
}
EVERYBODY = [*PERSONS, *OTHERS]
FEW = ["portrait", "face at the left", "no photo"]

Cells = dict[str, str]  # a card's element, by what stands above it


def cells(names: Iterable[str], attributes: str = "") -> Cells:
    return {f"{name} {attributes}": places([name], attributes) for name in names}


SMALL = 'data-size="small"'
BOTH_SIZES = cells(FEW) | cells(FEW, SMALL)
ON_PAPER = cells(["portrait"]) | cells(FEW, SMALL)
LANGUAGES = [f'data-lang="{language}"' for language in ("es", "en", "pt", "it", "fr")]
IN_ALL = {text: div for tag in LANGUAGES for text, div in cells(["portrait", "baby"], tag).items()}
SMALL_IN_ALL = {
    text: div for tag in LANGUAGES for text, div in cells(FEW, f"{tag} {SMALL}").items()
}
DARK = "html { color-scheme: dark; background: #111; color: #eee }"
PREFERS_DARK = {"prefers-color-scheme": "dark"}
FORCED = {"forced-colors": "active"}

# Cards side by side: how wide each is (328 is what a window of 360 leaves, 640 the most that it
# takes), which, the page's style, and media features.
SHEETS: dict[str, tuple[int, Cells, str, dict[str, str]]] = {
    "normal 328": (328, cells(EVERYBODY), "", {}),
    "normal 640": (640, cells(PERSONS), "", {}),
    "normal 200": (200, cells(EVERYBODY), "", {}),
    "small 328": (328, cells(EVERYBODY, SMALL), "", {}),
    "small 640": (640, cells(PERSONS, SMALL), "", {}),
    "small 200": (200, cells(EVERYBODY, SMALL), "", {}),
    "languages": (328, IN_ALL, "", {}),
    "languages small": (328, SMALL_IN_ALL, "", {}),
    "dark": (328, BOTH_SIZES, DARK, {}),
    "text 200": (328, BOTH_SIZES, "html { font-size: 200% }", {}),
    "forced colours": (328, BOTH_SIZES, "", FORCED),
    "forced colours dark": (328, BOTH_SIZES, "", FORCED | PREFERS_DARK),
}
# Our own 404 page before it is scrolled: whom it shows, the window, media features.
SCREENS: dict[str, tuple[str, tuple[int, int], dict[str, str]]] = {
    "404 page 360": ("portrait", (360, 640), {}),
    "404 page 390": ("face at the left", (390, 664), {}),
    "404 page 390 long name": ("long name", (390, 664), {}),
    "404 page 390 dark": ("portrait", (390, 664), PREFERS_DARK),
    "404 page 768": ("portrait", (768, 1024), {}),
    "404 page 1280": ("face at the left", (1280, 800), {}),
}
# Waits for each card, and for the photos that there are.
SETTLED = """
const roots = await until(() => {
    const all = [...document.querySelectorAll("[data-persona404]")].map((p) => p.shadowRoot);
    return all.every((root) => root?.querySelector(".photo")) && all;
});
const photos = roots.flatMap((root) => [...root.querySelectorAll("img")]);
for (const photo of photos) photo.loading = "eager";
await Promise.all(photos.map((photo) => photo.decode().catch(() => {})));
"""
END_OF_MAIN = 'return Math.round(document.querySelector("main").getBoundingClientRect().bottom);'
# In Firefox's own viewer of PDF files.
PRINTED = """
await until(() => document.querySelector(".page[data-loaded] .endOfContent"));
document.querySelector("#toolbarContainer").remove();
"""


def sheet(width: int, cells: Cells, style: str) -> str:
    figure = f'<figure style="width: {width}px"><figcaption>'
    figures = "".join(
        f"{figure}{html.escape(caption)}</figcaption>{place}</figure>"
        for caption, place in cells.items()
    )
    return f"""<style>body, figure {{ margin: 0 }} h1 {{ display: none }}
    figure {{ display: inline-block; vertical-align: top; padding: 8px }}
    figcaption {{ font: 12px monospace }} {style}</style>{figures}"""


def person(name: str) -> Person:
    """The person whose region is `name`."""
    if name in PERSONS:
        return PERSONS[name]
    fields = {"lugar": "Villa Inventada", **OTHERS[name]}
    fields["lugar"] += f", {name}"
    return made_up(100 + EVERYBODY.index(name))._replace(**fields)


def fill_with(database: Path, names: list[str]) -> None:
    fill(database, [person(name) for name in names])
    for name in names:
        if name != "no photo":
            keep_photo(database, person(name), draw(name if name in PERSONS else "portrait"))


def photograph(browser: Headless, folder: Path, site: Web, services: dict[str, str]) -> bytes:
    """Write all that `browser` shows into `folder`; the PDF that it prints."""

    def shoot(
        title: str, url: str, script: str, size: tuple[int, int], features: dict[str, str]
    ) -> None:
        if features and browser.name == "firefox":
            return  # it cannot emulate them
        png = folder / f"{browser.name} {title}.png".replace(" ", "-")
        bottom = browser.visit(url, script, size, png=png, features=features)
        cut(png, size[0], bottom)

    for title, (width, shown, style, features) in SHEETS.items():
        page = with_line(services["everybody"], before=sheet(width, shown, style))
        shoot(title, host(site, page), SETTLED + END_OF_MAIN, (1376, 800), features)
    for title, (name, size, features) in SCREENS.items():
        script = f"{SETTLED} return {size[1]};"
        shoot(title, f"{services[name]}/404.html", script, size, features)
    pdf = folder / "print.pdf"
    page = with_line(services["everybody"], before=sheet(328, ON_PAPER, ""))
    browser.visit(host(site, page), SETTLED, pdf=pdf)
    printed = pdf.read_bytes()
    pdf.unlink()
    return printed


def cut(png: Path, width: int, height: int) -> None:
    """Keep the upper left of a picture."""
    with Image.open(png) as whole:
        whole.crop((0, 0, width, height)).save(png)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    logging.disable()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = stack.enter_context(closing(Web()))
        services = {}
        alone = {name: [name] for name, _, _ in SCREENS.values()}
        for key, names in {"everybody": EVERYBODY, **alone}.items():
            fill_with(scratch / f"{key}.db", names)
            api = stack.enter_context(closing(ServedApi(scratch / f"{key}.db")))
            services[key] = f"http://servicio.example:{api.port}"
        browsers = [stack.enter_context(closing(Headless(name))) for name in PROGRAMS]
        for browser in browsers:
            pdf = photograph(browser, folder, site, services)
            site.pages["/print.pdf"] = Answer(200, pdf, (("Content-Type", "application/pdf"),))
            png = folder / f"{browser.name}-print.png"
            viewer = browsers[-1]  # Firefox shows PDF files as pages
            viewer.visit(f"http://{site.host}/print.pdf", PRINTED, (900, 1200), png=png)
            cut(png, 900, 1200)
    pictures = sorted(path.name for path in folder.glob("*.png"))
    page = "".join(f'<h2>{name}</h2><img src="{name}" alt="">' for name in pictures)
    folder.joinpath("index.html").write_text(f"<!DOCTYPE html><title>Card</title>{page}")
    print(f"{len(pictures)} pictures: {folder / 'index.html'}")


if __name__ == "__main__":
    main()
