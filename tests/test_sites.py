"""The lines of docs/sites.md for servers, in real ones: status 404, the card, a view."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import ROOT, missing
from support.api import made_up
from support.browser import Serve, Served, Visit, view_of
from support.nginx import is_open
from support.service import end, free_port, wait_until

pytestmark = pytest.mark.slow

DOCUMENT = (ROOT / "docs" / "sites.md").read_text()
NGINX = """daemon off; pid {folder}/pid; error_log stderr; user root; events {{}} http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
  fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {root}; {lines} }} }}"""
APACHE = """ServerRoot /usr/lib/apache2
ServerName www.sitio.example
PidFile {folder}/pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule dir_module modules/mod_dir.so
DocumentRoot {root}
{lines}"""
CADDY = """{{
	admin off
	auto_https off
}}
http://www.sitio.example:{port} {{
	root * {root}
	file_server
	{lines}
}}"""
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "nginx": (NGINX, ["nginx", "-c"]),
    "apache": (APACHE, ["apache2", "-D", "FOREGROUND", "-f"]),
    "caddy": (CADDY, ["caddy", "run", "--adapter", "caddyfile", "--config"]),
}
Start = Callable[[str, Path], int]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server of the files in a folder, with the lines of the document; its port."""
    started = []

    def start_server(name: str, root: Path) -> int:
        template, command = COMMANDS[name]
        if shutil.which(command[0]) is None:
            missing(command[0])
        (lines,) = [part for part in DOCUMENT.split("```") if part.startswith(f"{name}\n")]
        port, file = free_port(), tmp_path / "conf"
        lines = lines.removeprefix(name)
        file.write_text(template.format(folder=tmp_path, port=port, root=root, lines=lines))
        started.append(subprocess.Popen([*command, file], stderr=subprocess.DEVNULL))
        wait_until(lambda: is_open(port))
        return port

    yield start_server
    for process in started:
        end(process)


def publish(folder: Path, served: Served) -> Path:
    """The folder sites/static with the service's address in its line."""
    root = folder / "public"
    root.mkdir()
    folder.chmod(0o755)  # Apache's workers are another user
    root.chmod(0o755)
    page = (ROOT / "sites" / "static" / "404.html").read_text()
    assert page.count("https://personas.example.org") == 1
    page = page.replace("https://personas.example.org", served.service)
    (root / "404.html").write_text(page)
    (root / "index.html").write_text("<!DOCTYPE html><title>Inicio</title>")
    return root


@pytest.mark.parametrize("name", COMMANDS)
def test_a_missing_page_is_404_with_the_card(
    start: Start, serve: Serve, visit: Visit, tmp_path: Path, name: str
) -> None:
    served = serve(made_up(1))
    port = start(name, publish(tmp_path, served))
    page = visit("about:blank")
    answers: list[Any] = []
    url = f"http://www.sitio.example:{port}"
    view_of(page, lambda: answers.append(page.goto(f"{url}/no/hay")))
    assert answers[0].status == 404
    assert page.get_by_role("heading", name="Persona 1 Inventada").is_visible()
    assert served.views() == 1
    assert page.goto(f"{url}/").status == 200


def test_the_page_is_the_service_s_own() -> None:
    own = (ROOT / "static" / "404.html").read_text()
    own = own.replace('src="/embed.js"', 'src="https://personas.example.org/embed.js"')
    assert (ROOT / "sites" / "static" / "404.html").read_text() == own
