"""deploy/persona404-watchdog.service restarts a service that gives no HTTP answer, and no other."""

import http.server
import re
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from support import ROOT

UNIT = (ROOT / "deploy" / "persona404-watchdog.service").read_text()
ANSWERED, SILENT = 1, 0  # systemd goes on after 0


class Unwell(http.server.BaseHTTPRequestHandler):
    """A service that is wrong, and answers."""

    def do_GET(self) -> None:
        self.send_error(503)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.HTTPServer):
    address_family = socket.AF_INET6  # takes IPv4 too


@pytest.fixture
def port() -> Iterator[int]:
    with Server(("::", 0), Unwell) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def condition(**environ: str) -> int:
    """The exit status of the unit's condition, without its pauses."""
    (command,) = re.findall(r"^ExecCondition=/bin/sh -c '(.*)'$", UNIT, re.M)
    command = command.replace("$$", "$").replace("sleep 5", "sleep 0")
    environ = {"PATH": "/usr/bin:/bin", **environ}
    return subprocess.run(["/bin/sh", "-c", command], env=environ, check=False).returncode


@pytest.mark.parametrize("host", ["", "127.0.0.1", "0.0.0.0", "::1", "::", "localhost"])
def test_a_service_that_answers_is_not_restarted(port: int, host: str) -> None:
    assert condition(HOST=host, PORT=str(port)) == ANSWERED


def test_a_proxy_for_the_register_is_not_asked(port: int) -> None:
    assert condition(PORT=str(port), http_proxy="http://127.0.0.1:9") == ANSWERED


def test_without_curl_it_cannot_be_told() -> None:
    assert condition(PORT="1", PATH="/nowhere") == ANSWERED


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_one_that_does_not_is(host: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        assert condition(HOST=host, PORT=str(taken.getsockname()[1])) == SILENT


def test_root_restarts_it_and_does_nothing_else() -> None:
    assert "\nUser=persona404\n" in UNIT
    assert "\nUnsetEnvironment=API_KEY STAFF_KEY ALERT_URL PING_URL\n" in UNIT
    as_root = re.findall(r"^Exec\w+=([-+!:]*\+.*)$", UNIT, re.M)
    assert as_root == ["+/usr/bin/systemctl try-restart persona404"]
