"""Photograph a child's page and its posters for people to judge.

    python tests/posters.py DIR

Writes posters.png (twelve sheets) and page.png (three states) into DIR. Needs Chromium and
poppler-utils. The persons are made up.
"""

import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageOps
from playwright.sync_api import sync_playwright

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from support.child import GONE, POSTERS, ChildPage, poster  # noqa: E402
from support.web import Answer, Web  # noqa: E402

STATES = {"shown": None, "gone": GONE, "unknown": Answer(503)}
SIZES = [(360, 740), (1280, 800)]


def load(page: Any, url: str) -> None:
    page.goto(url)
    page.locator("h1").wait_for()
    page.wait_for_load_state("networkidle")


def posters(page: Any, web: Web, folder: Path) -> Image.Image:
    """All posters as they are printed, the last one in grey too."""
    pictures = {}
    for name in POSTERS:
        load(page, poster(web, name).url)
        pdf = folder / "poster.pdf"
        page.pdf(path=pdf, prefer_css_page_size=True)
        subprocess.run(
            ["pdftoppm", "-singlefile", "-r", "50", "-png", pdf, pdf.with_suffix("")], check=True
        )
        pictures[name] = Image.open(pdf.with_suffix(".png")).convert("RGB")
        web.pages.clear()
    pictures["in grey"] = pictures[name].convert("L").convert("RGB")
    return sheet(pictures, 4)


def states(browser: Any, web: Web) -> Image.Image:
    """The three states at three sizes, light and dark: the first screen is framed."""
    pictures = {}
    for size in SIZES:
        for scheme in ("light", "dark"):
            viewport = {"width": size[0], "height": size[1]}
            page = browser.new_page(viewport=viewport, color_scheme=scheme, locale="es")
            for name, answer in STATES.items():
                child = ChildPage(web, about={"demo": True})
                if answer:
                    child.answer(answer)
                load(page, child.url)
                shot = Path(tempfile.mkstemp(suffix=".png")[1])
                page.screenshot(path=shot, full_page=True)
                picture = Image.open(shot).convert("RGB")
                ImageDraw.Draw(picture).line((0, size[1], size[0], size[1]), "blue")
                pictures[f"{name} {size[0]} {scheme}"] = picture
                shot.unlink()
            page.close()
    return sheet(pictures, 6)


def sheet(pictures: dict[str, Image.Image], columns: int) -> Image.Image:
    """Pictures side by side, each under its name."""
    cells = [ImageOps.expand(picture, (10, 20, 10, 10), "silver") for picture in pictures.values()]
    rows = [cells[n : n + columns] for n in range(0, len(cells), columns)]
    width = max(sum(cell.width for cell in row) for row in rows)
    whole = Image.new("RGB", (width, sum(max(c.height for c in row) for row in rows)), "silver")
    names = iter(pictures)
    top = 0
    for row in rows:
        left = 0
        for cell in row:
            ImageDraw.Draw(cell).text((10, 4), next(names), "black")
            whole.paste(cell, (left, top))
            left += cell.width
        top += max(cell.height for cell in row)
    return whole


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    arguments = ["--no-sandbox", "--host-resolver-rules=MAP *.example 127.0.0.1"]
    with (
        closing(Web()) as web,
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=arguments
        )
        posters(browser.new_page(locale="es"), web, Path(scratch)).save(folder / "posters.png")
        states(browser, web).save(folder / "page.png")
        browser.close()
    print(f"{len(POSTERS)} posters, {len(STATES)} states: {folder}")


if __name__ == "__main__":
    main()
