"""deploy/: a real nginx with both configurations, changed only in paths and ports; systemd's own
opinion of the units."""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import (
    KEY,
    ROOT,
    TLS,
    Reply,
    Service,
    ask_over,
    fill,
    free_port,
    made_up,
    missing,
    prueba_profile,
    wait_until,
)

pytestmark = pytest.mark.slow

DEPLOY = ROOT / "deploy"
PERSONS = [made_up(n) for n in range(1, 31)]


class Nginx:
    """nginx with a configuration of deploy/ before instances on `ports`."""

    def __init__(self, name: str, ports: list[int], folder: Path):
        self.plain, self.port = free_port(), free_port()
        text = (DEPLOY / name).read_text()
        text = re.sub(r"\n *listen \[::\].*", "", text)
        text = text.replace("listen 80;", f"listen 127.0.0.1:{self.plain};")
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl")
        text = text.replace("/etc/letsencrypt/live/HOST/fullchain.pem", str(TLS / "cert.pem"))
        text = text.replace("/etc/letsencrypt/live/HOST/privkey.pem", str(TLS / "key.pem"))
        text = text.replace("/run/persona404-draws", str(folder / "draws"))
        text = text.replace("/var/log/nginx/error.log", str(folder / "error.log"))
        text = text.replace("HOST", "servicio.example")
        for number, port in enumerate(ports):
            text = text.replace(f"127.0.0.1:{8080 + number}", f"127.0.0.1:{port}")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        self.file = folder / "nginx.conf"
        self.file.write_text(
            f"user root; worker_processes 2; pid {folder}/pid; error_log stderr;"
            f"events {{}} http {{ {paths}\n{text}\n}}"
        )
        self.command = ["nginx", "-p", str(folder), "-c", str(self.file)]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        checked = subprocess.run([*self.command, "-t"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        assert "warn" not in checked.stderr
        self.process = subprocess.Popen(
            [*self.command, "-g", "daemon off;"], stderr=subprocess.DEVNULL
        )
        wait_until(lambda: is_open(self.port))

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)

    def ask(self, path: str, method: str = "GET", **headers: str) -> Reply:
        return ask_over(self.connect(), path, method, headers)


def is_open(port: int) -> bool:
    with closing(socket.socket()) as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class Instances:
    """nginx before services of one list, each with its own database."""

    def __init__(self, folder: Path, name: str, count: int):
        self.databases = [folder / f"{number}.db" for number in range(count)]
        profile = prueba_profile(folder)
        self.services: list[Service] = []
        self.nginx: Nginx | None = None
        for database in self.databases:
            fill(database, PERSONS)
            environ = {"DATABASE": str(database), "REGISTER": str(profile), "API_KEY": KEY}
            self.services.append(Service(**environ, SYNC_AT="off"))
        self.name, self.folder = name, folder

    def start(self) -> "Instances":
        ports = [service.serving().port for service in self.services]
        self.nginx = Nginx(self.name, ports, self.folder)
        self.nginx.start()
        return self

    def stop(self) -> None:
        if self.nginx is not None:
            self.nginx.stop()
        for service in self.services:
            service.process.kill()
            service.reader.join()
            service.process.communicate()


@pytest.fixture
def instances(tmp_path: Path) -> Iterator[Callable[..., Instances]]:
    if shutil.which("nginx") is None:
        missing("nginx")
    started: list[Instances] = []

    def start(name: str, count: int) -> Instances:
        started.append(Instances(tmp_path, name, count))
        return started[-1].start()

    yield start
    for one in started:
        one.stop()


# --- nginx.conf ----------------------------------------------------------------------


def test_the_api_through_nginx(instances: Callable[..., Instances]) -> None:
    nginx = instances("nginx.conf", 1).nginx
    assert nginx.ask("/api/persona-random").json["id"].startswith("prueba-")
    page = nginx.ask("/api/personas", Accept_Encoding="gzip")
    assert page.headers["content-encoding"] == "gzip"
    assert nginx.ask("/api/personas", If_None_Match=page.headers["etag"]).status == 304
    wrong = nginx.ask("/api/personas?limit=none")
    assert (wrong.status, wrong.headers["content-type"]) == (400, "application/problem+json")
    assert wrong.headers["access-control-allow-origin"] == "*"
    track = nginx.ask("/api/track?e=view&p=prueba-1&d=a.example", Referer="https://a.example/")
    assert track.json == {"ok": True}
    assert nginx.ask("/api/stats").json["views"] == 1
    assert nginx.ask("/api/scrape/trigger", "POST", X_API_Key="wrong").status == 401
    assert "max-age" in nginx.ask("/").headers["strict-transport-security"]


def test_plain_http_leads_to_https(instances: Callable[..., Instances]) -> None:
    nginx = instances("nginx.conf", 1).nginx
    with closing(http.client.HTTPConnection("127.0.0.1", nginx.plain, timeout=30)) as connection:
        connection.request("GET", "/api/stats", headers={"Host": "servicio.example"})
        answer = connection.getresponse()
        assert answer.status == 301
        assert answer.headers["Location"] == "https://servicio.example/api/stats"


def test_limits_spare_404_pages_and_tell_a_crowd(instances: Callable[..., Instances]) -> None:
    nginx = instances("nginx.conf", 1).nginx
    visit = ["/embed.js", "/api/persona-random", "/api/track?e=view&p=prueba-1&d=a.example"]
    assert {nginx.ask(path).status for _ in range(25) for path in visit} == {200}
    with closing(nginx.connect()) as connection:
        for _ in range(400):
            connection.request("GET", "/api/persona-random")
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 429:
                break
    assert answer.status == 429
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert b'"status":429' in body


def test_a_service_that_is_down_is_a_problem(instances: Callable[..., Instances]) -> None:
    one = instances("nginx.conf", 1)
    one.services[0].stop()
    down = one.nginx.ask("/api/persona-random", Referer="https://sitio.example/")
    assert (down.status, down.headers["content-type"]) == (503, "application/problem+json")
    assert down.headers["access-control-allow-origin"] == "*"
    log = (one.folder / "error.log").read_text()
    assert "sitio.example" not in log
    assert "127.0.0.1" not in log


def test_slow_clients_are_cut_off(instances: Callable[..., Instances]) -> None:
    nginx = instances("nginx.conf", 1).nginx
    context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    with (
        closing(socket.create_connection(("127.0.0.1", nginx.port), timeout=30)) as bare,
        closing(context.wrap_socket(bare, server_hostname="127.0.0.1")) as slow,
    ):
        slow.sendall(b"GET /api/stats HTTP/1.1\r\nHost: a")
        assert slow.recv(100) == b""  # after client_header_timeout


# --- nginx-crowd.conf ----------------------------------------------------------------


def test_draws_of_a_crowd_vary(instances: Callable[..., Instances]) -> None:
    nginx = instances("nginx-crowd.conf", 2).nginx
    drawn = [nginx.ask("/api/persona-random") for _ in range(200)]
    assert {reply.status for reply in drawn} == {200}
    assert len({reply.json["id"] for reply in drawn}) > 10
    assert drawn[0].headers["cache-control"] == "no-store"
    region = nginx.ask("/api/persona-random?region=x").json
    assert region["id"].startswith("prueba-")


@pytest.mark.parametrize(
    ("method", "query"), [("POST", ""), ("GET", "?n=1"), ("OPTIONS", ""), ("HEAD", "?n=1")]
)
def test_what_is_not_kept_is_limited(
    instances: Callable[..., Instances], method: str, query: str
) -> None:
    nginx = instances("nginx-crowd.conf", 1).nginx
    statuses = [nginx.ask("/api/persona-random" + query, method).status for _ in range(200)]
    assert 429 in statuses
    assert statuses.index(429) > 90
    assert nginx.ask("/api/persona-random").status == 200


def test_who_was_removed_leaves_a_crowd_within_two_seconds(
    instances: Callable[..., Instances],
) -> None:
    crowd = instances("nginx-crowd.conf", 2)
    with closing(crowd.nginx.connect()) as connection:

        def ask(path: str) -> bytes:
            connection.request("GET", path)
            return connection.getresponse().read()

        for _ in range(100):  # fill the pool
            ask("/api/persona-random")
            ask("/api/personas?limit=100") if _ == 0 else None
        for database in crowd.databases:
            fill(database, [made_up(99)])
        removed = last_seen = time.monotonic()
        while time.monotonic() < removed + 3:
            if b"prueba-99" not in ask("/api/persona-random"):
                last_seen = time.monotonic()
        assert last_seen < removed + 2
        assert ask("/api/personas?limit=100").count(b'"id"') == 1


def test_a_page_of_a_crowd_is_revalidated(instances: Callable[..., Instances]) -> None:
    nginx = instances("nginx-crowd.conf", 2).nginx
    page = nginx.ask("/api/personas")
    again = nginx.ask("/api/personas", If_None_Match=page.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert page.json["total"] == 30


def test_an_instance_killed_under_load_costs_what_was_in_flight(
    instances: Callable[..., Instances],
) -> None:
    crowd = instances("nginx-crowd.conf", 2)
    failed: list[Any] = []
    answered: list[int] = []
    stop = threading.Event()

    def load(path: str) -> None:
        with closing(crowd.nginx.connect()) as connection:
            while not stop.is_set():
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                answered.append(answer.status)
                if answer.status not in (200, 429):
                    failed.append((path, answer.status))

    paths = ["/api/persona-random", "/api/persona-random", "/api/stats", "/api/personas"]
    threads = [threading.Thread(target=load, args=[path]) for path in paths]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(answered) > 200)
    crowd.services[0].process.kill()
    killed = len(answered)
    wait_until(lambda: len(answered) > killed + 1000)
    stop.set()
    for thread in threads:
        thread.join()
    assert len(failed) <= len(threads)


# --- systemd -------------------------------------------------------------------------

UNITS = sorted(path.name for path in DEPLOY.glob("persona404*.*"))


def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze")
    python = shutil.which("python3")
    for name in UNITS:
        text = (DEPLOY / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/persona404/.venv/bin/python", str(python)))
    files = [str(tmp_path / name) for name in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["persona404.service", "persona404-sync.service"])
def test_a_unit_is_exposed_little(name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze")
    command = ["systemd-analyze", "security", "--offline=yes", "--threshold=20"]
    done = subprocess.run([*command, str(DEPLOY / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout.splitlines()[-1]
