"""app.py as a process, on a free port."""

import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from support import ROOT
from support.api import Reply, ask
from support.register import child_environ

COMMAND = (sys.executable, str(ROOT / "app.py"))


class Service:
    """A running app.py, and its log."""

    def __init__(self, command: tuple[str, ...] = COMMAND, **environ: str):
        environ = {"PORT": "0", **child_environ(), **environ}
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True
        )
        self.log: list[str] = []
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.put(line)
        self.lines.put("")

    def wait_for(self, text: str) -> str:
        """The next line of the log that holds `text`."""
        while line := self.lines.get(timeout=30):
            self.log.append(line)
            if text in line:
                return line
        raise AssertionError(f"{text!r} is not in the log: {self.log}")

    def serving(self) -> "Service":
        self.port = int(self.wait_for("serving").rpartition(":")[2])
        return self

    def ask(self, path: str, method: str = "GET", **headers: str) -> Reply:
        return ask(self.port, path, method, headers)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.terminate()
        status = self.process.wait(30)
        self.reader.join()
        while line := self.lines.get():
            self.log.append(line)
        return status

    def kill(self) -> None:
        """SIGKILL, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.reader.join()
        self.process.communicate()


def demo_profile(folder: Path) -> Path:
    """The profile of a register `prueba`, over the pages of the demo register."""
    text = (ROOT / "registers" / "demo.toml").read_text()
    profile = folder / "prueba.toml"
    profile.write_text(text.replace('"demo"', f'"{ROOT}/registers/demo"'))
    return profile


def free_port() -> int:
    """A port that nobody uses, below those which the kernel gives to clients meanwhile."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with closing(socket.socket()) as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def end(process: "subprocess.Popen[bytes]") -> None:
    """SIGTERM, and wait."""
    process.terminate()
    process.wait(30)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)
