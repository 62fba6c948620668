"""A headless Chromium, the API over some persons, and a site that uses it.

The fixtures are skipped where the browser is missing, unless CI is set."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from model import Person
from support import KEY, ROOT, missing
from support.api import ServedApi, fill, made_up
from support.web import Answer, Web

FACE = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 5"><rect width="4" height="5"
fill="tan"/><circle cx="2" cy="2" r="1.2" fill="sienna"/></svg>"""
MODULES = ROOT / "tests" / "node_modules"
Serve = Callable[..., "Served"]
Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def photos() -> Iterator[Web]:
    """https://registro.example, where the photos of made_up() are; /404.jpg is not."""
    web = Web()
    web.use_tls()
    for number in range(1, 31):
        web.pages[f"/{number}.jpg"] = Answer(200, FACE, (("Content-Type", "image/svg+xml"),))
    yield web
    web.close()


@pytest.fixture(scope="module")
def browser(photos: Web) -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright (tests/requirements.txt)")
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("chromium")
    rules = f"MAP registro.example:443 {photos.host}, MAP *.example 127.0.0.1"
    arguments = ["--no-sandbox", f"--host-resolver-rules={rules}"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """The page that all tests share: a new one takes longer than most tests."""
    return browser.new_context(ignore_https_errors=True, locale="es").new_page()


@pytest.fixture
def visit(browser: Any, tab: Any) -> Iterator[Visit]:
    """Opens a page: in `tab`, or in a new context if it has options or is not the test's first.
    At the end nothing may be on the console but the browser's own line for a failed request, and
    no exception uncaught."""
    pages, console = [], []

    def hear(line: Any) -> None:
        console.append(line.text if hasattr(line, "text") else str(line))

    def open_page(url: str, **options: Any) -> Any:
        page = tab
        if options or pages:
            options = {"locale": "es", **options}
            page = browser.new_context(ignore_https_errors=True, **options).new_page()
        pages.append(page)
        page.set_default_timeout(30_000)
        page.on("console", hear)
        page.on("pageerror", hear)
        page.goto(url)
        return page

    yield open_page
    for page in pages:
        if page is tab:
            page.remove_listener("console", hear)
            page.remove_listener("pageerror", hear)
            page.goto("about:blank")
        else:
            page.context.close()
    assert [line for line in console if not line.startswith("Failed to load resource")] == []


@pytest.fixture
def serve(database: Path) -> Iterator["Serve"]:
    """Starts the API over some persons, and a site that uses it."""
    started: list[Served] = []

    def start(*persons: Person, **more: Any) -> Served:
        started.append(Served(database, list(persons) or [made_up(1)], **more))
        return started[-1]

    yield start
    for one in started:
        one.api.close()
        one.site.close()


class Served:
    """The service on servicio.example, and a site that uses it on sitio.example."""

    def __init__(self, database: Path, persons: list[Person], **more: Any):
        fill(database, persons)
        self.api = ServedApi(database, KEY, **more)
        self.service = f"http://servicio.example:{self.api.port}"
        self.site = Web()

    def host(self, html: str, **headers: str) -> str:
        """The address of a page of the site."""
        return host(self.site, html, **headers)

    def with_card(self, **card: str) -> str:
        """A page of the site with the two lines of README."""
        return self.host(with_card(self.service, **card))

    def with_line(self, attributes: str = "", before: str = "", **headers: str) -> str:
        """A page of the site with the script alone."""
        return self.host(with_line(self.service, attributes, before), **headers)

    def views(self) -> int:
        self.api.views.flush()
        views: int = self.api.ask("/api/stats").json["views"]
        return views


def host(site: Web, html: str, **headers: str) -> str:
    more = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    kind = ("Content-Type", "text/html; charset=utf-8")
    site.pages["/perdida"] = Answer(200, html.encode(), (kind, *more))
    return f"http://www.sitio.example:{site.host.rpartition(':')[2]}/perdida"


def with_line(service: str, attributes: str = "", before: str = "") -> str:
    """A page with the script in its head, and no div unless `before` has one."""
    return f"""<!DOCTYPE html><html lang="es"><head><meta charset="utf-8"><title>No está</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <script src="{service}/embed.js" {attributes} async></script></head>
    <body><main><h1>No está</h1>{before}</main></body></html>"""


def with_card(
    service: str, attributes: str = "", slot: str = "", head: str = "", body: str = ""
) -> str:
    """A page with the two lines of README."""
    return f"""<!DOCTYPE html><html lang="es"><head><meta charset="utf-8"><title>No está</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">{head}</head>
    <body><main><h1>No está</h1><div data-persona404 {attributes}>{slot}</div>
    <script src="{service}/embed.js" async></script>{body}</main></body></html>"""


def view_of(page: Any, do: Callable[[], object]) -> None:
    """Do what shows a person, and wait until the view was answered."""
    with page.expect_response(lambda answer: "/api/track" in answer.url):
        do()


def settle(page: Any) -> None:
    """Wait until the service has answered for persons and the page has dealt with it."""
    page.evaluate("""async () => {
        const frame = () => new Promise(requestAnimationFrame);
        const asked = (entry) => entry.name.includes("/api/persona");
        for (let n = 0; n < 600; n++) {
            await frame();
            if (performance.getEntriesByType("resource").some(asked)) break;
        }
        await frame();
        await frame();
    }""")


def axe(page: Any, run: str = "axe.run()", **media: Any) -> dict[str, list[str]]:
    """What axe finds on the page under these media: by rule, the elements. It must pass in some."""
    script = MODULES / "axe-core" / "axe.min.js"
    if not script.exists():
        missing("axe-core (npm ci --prefix tests)")
    page.evaluate(script.read_text())
    page.emulate_media(**media)
    result = page.evaluate(run)
    assert result["passes"]
    return {v["id"]: [node["html"] for node in v["nodes"]] for v in result["violations"]}


def check_html(files: list[Path]) -> tuple[int, str]:
    """The exit status of the W3C's checker, and what it says."""
    checker = MODULES / "vnu-jar" / "build" / "dist" / "vnu.jar"
    if not checker.exists():
        missing("vnu-jar (npm ci --prefix tests)")
    if shutil.which("java") is None:
        missing("java")
    command = ["java", "-jar", checker, "--Werror", *files]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr
