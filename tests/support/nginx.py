"""nginx with the configuration of deploy/, changed only in paths and ports, before services."""

import http.client
import itertools
import re
import shutil
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from support import KEY, ROOT, STAFF_KEY, TLS, missing
from support.api import Reply, ask_over, fill, made_up, request
from support.service import Service, demo_profile, end, free_port, wait_until

PERSONS = [made_up(n) for n in range(1, 31)]


class Visitor:
    """A client with an address of its own, since nginx limits what one address may ask."""

    numbers = itertools.count(2)

    def __init__(self, port: int):
        self.port = port
        number = next(self.numbers)
        self.address = f"127.0.{number // 250}.{number % 250 + 1}"

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1",
            self.port,
            timeout=30,
            source_address=(self.address, 0),
            context=ssl.create_default_context(cafile=str(TLS / "cert.pem")),
        )

    def ask(self, path: str, method: str = "GET", **headers: str) -> Reply:
        return ask_over(self.connect(), path, method, headers)


class Nginx:
    """A running nginx before services on `ports`, with `patience` seconds for slow clients, on a
    busy day or not. `edge` is the address of a CDN before it."""

    def __init__(
        self,
        ports: list[int],
        folder: Path,
        patience: int = 10,
        busy: bool = False,
        edge: str = "",
    ):
        if shutil.which("nginx") is None:
            missing("nginx")
        folder.mkdir(exist_ok=True)
        self.folder, self.plain, self.port = folder, free_port(), free_port()
        yours = (ROOT / "deploy" / "nginx-server.conf").read_text()
        if busy:
            yours = yours.replace("# set $", "set $")
        if edge:
            yours = re.sub("# ((set_)?real_ip)", r"\1", yours).replace("192.0.2.0/24", edge)
        (folder / "server.conf").write_text(yours)
        more = "".join(f"server 127.0.0.1:{port} fail_timeout=2s;" for port in ports[1:])
        (folder / "upstream.conf").write_text(more)
        text = (ROOT / "deploy" / "nginx.conf").read_text()
        text = re.sub(r"\n *listen \[::\].*", "", text)
        changes = {
            "listen 80;": f"listen 127.0.0.1:{self.plain};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.port} ssl",
            "/etc/letsencrypt/live/personas.example.org/fullchain.pem": f"{TLS}/cert.pem",
            "/etc/letsencrypt/live/personas.example.org/privkey.pem": f"{TLS}/key.pem",
            "/var/lib/nginx/persona404": f"{folder}/cache",
            "proxy_cache_valid 200 1m;": "proxy_cache_valid 200 1s;",
            "/run/persona404-draws": f"{folder}/draws",
            "/var/log/nginx/error.log": f"{folder}/error.log",
            "/etc/nginx/persona404/": f"{folder}/",
            "personas.example.org": "servicio.example",
            "_timeout 10s;": f"_timeout {patience}s;",
            "127.0.0.1:8080": f"127.0.0.1:{ports[0]}",
        }
        for old, new in changes.items():
            text = text.replace(old, new)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        file = folder / "nginx.conf"
        file.write_text(
            f"user root; worker_processes 2; pid {folder}/pid; error_log {folder}/main.log;"
            f"events {{}} http {{ access_log {folder}/access.log; {paths}\n{text}\n}}"
        )
        command = ["nginx", "-p", str(folder), "-c", str(file)]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        assert "warn" not in checked.stderr
        self.process = subprocess.Popen([*command, "-g", "daemon off;"], stderr=subprocess.DEVNULL)
        wait_until(lambda: is_open(self.port))

    def logged(self) -> str:
        return "".join(file.read_text() for file in self.folder.glob("*.log"))

    def visitor(self) -> Visitor:
        return Visitor(self.port)

    def close(self) -> None:
        end(self.process)


def is_open(port: int) -> bool:
    with closing(socket.socket()) as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class Instances:
    """nginx before `count` services, each with a database of its own, of the same persons."""

    def __init__(self, count: int, folder: Path, patience: int = 10, busy: bool = False):
        self.databases = [folder / f"{number}.db" for number in range(count)]
        self.fill()
        environ = {"REGISTER": str(demo_profile(folder)), "SYNC_AT": "off"}
        environ |= {"API_KEY": KEY, "STAFF_KEY": STAFF_KEY}
        with ExitStack() as stack:  # if one of them does not start, end the others
            self.services = [Service(**environ, DATABASE=str(path)) for path in self.databases]
            for service in self.services:
                stack.callback(service.kill)
            ports = [service.serving().port for service in self.services]
            self.nginx = Nginx(ports, folder / "nginx", patience, busy)
            stack.callback(self.nginx.close)
            self.close = stack.pop_all().close

    def fill(self) -> None:
        for database in self.databases:
            fill(database, PERSONS)


def send_views(nginx: Nginx, count: int, halfway: Callable[[], object]) -> Counter[int]:
    """Send `count` views, and as many reads, from so many addresses that nginx admits them all;
    call `halfway` after half of them. The statuses of the views."""
    statuses: Counter[int] = Counter()
    while statuses.total() < count:
        with closing(nginx.visitor().connect()) as connection:
            for _ in range(min(50, count - statuses.total())):
                if statuses.total() == count // 2:
                    halfway()
                person = PERSONS[statuses.total() % len(PERSONS)].id
                site = f"sitio-{statuses.total() % 100}.example"
                track = f"/api/track?e=view&p={person}&d={site}"
                statuses[request(connection, track).status] += 1
                request(connection, "/api/persona-random?region=x")
    return statuses
