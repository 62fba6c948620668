"""docs/closing.md, carried out: sites/closed behind a real nginx, and what visitors see of it."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from support import ROOT, TLS, missing
from support.browser import axe, check_html, host, with_card
from support.nginx import Visitor, is_open
from support.service import end, free_port, wait_until
from support.web import Web

pytestmark = pytest.mark.slow

CLOSED = ROOT / "sites" / "closed"
SLOT = '<p>De la página misma: <a href="/mapa">el mapa</a></p>'
LINE = "persona404: este servicio cerró; quita sus dos líneas de la página. / This service"
SCRIPTS = {"last": CLOSED / "embed.js", "still kept by a browser": ROOT / "static" / "embed.js"}


class Closed(NamedTuple):
    port: int
    plain: int
    folder: Path


DOMAIN = "personas.example.org"


def enabled(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "sites-enabled").iterdir())


def close(folder: Path, nginx_is_well: bool = True) -> None:
    """The document's commands in `folder`, but for those of nginx and systemd."""
    text = (ROOT / "docs" / "closing.md").read_text()
    (block,) = [block for block in re.findall(r"```sh\n(.*?)```", text, re.S) if "cp -rT" in block]
    for old, new in {"/opt/$SERVICE": ROOT, "/var/www": folder, "/etc/nginx": folder}.items():
        block = block.replace(old, str(new))
    functions = f"nginx() {{ {str(nginx_is_well).lower()}; }}; systemctl() {{ :; }}\n"
    subprocess.run(["bash", "-euc", functions + block], check=True)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    """The nginx that the document sets up, changed only in paths and ports."""
    if shutil.which("nginx") is None:
        missing("nginx")
    folder = tmp_path_factory.mktemp("closed")
    closed = Closed(free_port(), free_port(), folder)
    (folder / "sites-enabled").mkdir()
    (folder / "sites-enabled" / "persona404").touch()
    close(folder, nginx_is_well=False)
    assert enabled(folder) == ["persona404"]
    for _ in range(2):  # it may be repeated
        close(folder)
        assert enabled(folder) == [DOMAIN]
    text = re.sub(r"\n *listen \[::\].*", "", (folder / "sites-enabled" / DOMAIN).read_text())
    for old, new in {
        "listen 80;": f"listen 127.0.0.1:{closed.plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{closed.port} ssl;",
        "/etc/letsencrypt/live/personas.example.org/fullchain.pem": f"{TLS}/cert.pem",
        "/etc/letsencrypt/live/personas.example.org/privkey.pem": f"{TLS}/key.pem",
        "/var/www/": f"{folder}/",
        "/var/log/nginx/error.log": f"{folder}/error.log",
    }.items():
        assert old in text
        text = text.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    file = folder / "nginx.conf"
    main = f"user root; pid {folder}/pid; error_log {folder}/main.log; daemon off; events {{}}"
    file.write_text(f"{main} http {{ access_log {folder}/access.log; {paths}\n{text}\n}}")
    process = subprocess.Popen(["nginx", "-p", folder, "-c", file])
    wait_until(lambda: is_open(closed.port))
    yield closed
    end(process)


@pytest.fixture
def visitor(closed: Closed) -> Visitor:
    return Visitor(closed.port)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(ignore_https_errors=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_site_keeps_its_own_content(closed: Closed, page: Any, web: Web, script: str) -> None:
    """With the last version of the script, and with that of before in the browser's cache."""
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    service = f"https://servicio.example:{closed.port}"
    if script != "last":
        page.route("**/embed.js", lambda route: route.fulfill(path=SCRIPTS[script]))
    page.goto(host(web, with_card(service, slot=SLOT)), wait_until="networkidle")
    assert page.locator("[data-persona404] a").is_visible()
    assert page.locator("h1, p").all_inner_texts() == ["No está", "De la página misma: el mapa"]
    said = [line for line in said if not line.startswith("Failed to load resource")]
    assert [line[: len(LINE)] for line in said] == ([LINE] if script == "last" else [])


@pytest.mark.parametrize("path", ["/p/prueba-1", "/p/prueba-1/", "/", "/404.html"])
def test_a_poster_leads_to_the_register(closed: Closed, page: Any, path: str) -> None:
    page.goto(f"https://servicio.example:{closed.port}{path}")
    assert page.title() == "Este servicio cerró"
    for link in page.get_by_role("link", name="Registro Oficial, 911").all():
        assert link.get_attribute("href") == "https://registro.example/lista"
    assert page.get_by_role("link").count() == 2
    assert axe(page) == {}


@pytest.mark.parametrize(
    "path", ["/api/persona-random", "/api/personas/prueba-1", "/foto/prueba-1", "/words.json"]
)
def test_the_api_is_gone(visitor: Visitor, path: str) -> None:
    answer = visitor.ask(path, Origin="https://sitio.example")
    assert (answer.status, answer.json["status"], answer.json["title"]) == (410, 410, "Gone")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["access-control-allow-origin"] == "*"


def test_the_script_is_there_for_a_day(visitor: Visitor) -> None:
    answer = visitor.ask("/embed.js")
    assert answer.body == (CLOSED / "embed.js").read_bytes()
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "max-age=86400"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


def test_nobody_is_logged(closed: Closed, visitor: Visitor) -> None:
    for path in ("/p/prueba-1", "/api/track?d=sitio.example", "/%00", "/../.."):
        visitor.ask(path, Referer="https://sitio.example/")
    challenge = f"http://127.0.0.1:{closed.plain}/.well-known/acme-challenge/x"
    with pytest.raises(HTTPError, match="404"):
        urlopen(challenge)
    logs = [path for path in closed.folder.rglob("*.log") if path.read_bytes()]
    assert logs == []


def test_the_page_is_html() -> None:
    assert check_html([CLOSED / "index.html"]) == (0, "")
