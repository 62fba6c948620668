"""An empty Debian, booted: debootstrap once, then systemd-nspawn with a copy of it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from support import ROOT, missing

BASES = Path("/var/tmp/persona404-roots")  # a tmpfs is too small
CERTBOT = r"""#!/bin/bash
# A stand-in: no server of Let's Encrypt is asked.
set -eu
echo "$*" >>/root/certbot.log
live=/etc/letsencrypt/live/$(sed 's/.*\(-d\|--cert-name\) \([^ ]*\).*/\2/' <<<"$*")
[ "$1" = certonly ] || exec rm -r "$live"
install -d "$live"
openssl req -x509 -newkey rsa:2048 -nodes -days 90 -subj "/CN=made-up" \
  -keyout "$live/privkey.pem" -out "$live/fullchain.pem" 2>/dev/null
"""
# Runs a command on a terminal, as root's shell does, and prints what was typed into it meanwhile.
TERMINAL = """import os, pty, select, subprocess, sys
def shell():
    subprocess.call(sys.argv[1:])
    typed = select.select([0], [], [], 1)[0] and os.read(0, 99)
    print("typed into root's terminal:", typed or "nothing", flush=True)
pid, terminal = pty.fork()
if pid == 0:
    shell()
    os._exit(0)
try:
    while part := os.read(terminal, 4096):
        os.write(1, part)
except OSError:
    pass
"""


class Root:
    """A booted root. `git`, in /repo, is where it clones from."""

    def __init__(self, suite: str, folder: Path):
        for tool in ("debootstrap", "systemd-nspawn"):
            if shutil.which(tool) is None or os.geteuid() != 0:
                missing(f"{tool}, and root,")
        base, self.files, self.git = BASES / suite, folder / "root", folder / "repo"
        if not base.exists():
            BASES.mkdir(exist_ok=True)
            subprocess.run(["debootstrap", suite, f"{base}.part"], check=True)
            Path(f"{base}.part").rename(base)
        subprocess.run(["cp", "-a", base, self.files], check=True)
        subprocess.run(["git", "clone", "-q", "--no-local", ROOT, self.git], check=True)
        self.put("etc/pip.conf", "[global]\nno-index = true\nfind-links = /wheels\n")
        self.put("root/terminal.py", TERMINAL)
        self.put("usr/local/bin/certbot", CERTBOT).chmod(0o755)
        self.put("etc/hostname", "servidor\n")
        for mount in ("repo", "wheels"):
            (self.files / mount).mkdir()
        self.boot(wheels())

    def boot(self, packages: Path) -> None:
        mounts = f"--bind-ro={packages}:/wheels --bind-ro={self.git}:/repo"
        nspawn = f"systemd-nspawn -q --register=no --keep-unit {mounts} --resolv-conf=copy-host"
        script = f"mount -t tmpfs tmpfs /run; exec {nspawn} -bD {self.files}"
        with (self.files.parent / "console").open("w") as console:
            self.nspawn = subprocess.Popen(
                ["unshare", "-m", "bash", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        self.wait_for("systemctl is-system-running --wait", 60)

    def put(self, path: str, text: str) -> Path:
        (self.files / path).write_text(text)
        return self.files / path

    def run(self, command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a bash command as root there, without a terminal."""
        children = f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children"
        leader = Path(children).read_text().split()[0]
        paths = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        enter = ["nsenter", "-t", leader, "-a", "env", "-i", paths]
        return subprocess.run(
            [*enter, "HOME=/root", "LANG=C.UTF-8", "bash", "-c", f"cd /root; {command}"],
            input=stdin,
            capture_output=True,
            text=True,
        )

    def did(self, command: str, stdin: str = "") -> str:
        """Run a command that exits with 0; what it prints."""
        done = self.run(command, stdin)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def on_terminal(self, command: str) -> str:
        return self.did(f"python3 terminal.py {command}").replace("\r", "")

    def wait_for(self, command: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if (
                self.nspawn.poll() is None
                and self.has_booted()
                and not self.run(command).returncode
            ):
                return
            time.sleep(0.2)
        raise AssertionError(f"{command}: not within {seconds} s")

    def has_booted(self) -> bool:
        children = Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children")
        return bool(children.read_text().strip())

    def commit(self, text: str, tag: str) -> None:
        """A next version: `text` becomes the first line of app.py."""
        program = self.git / "app.py"
        program.write_text(text + "\n" + (ROOT / "app.py").read_text())
        git = ["git", "-C", self.git, "-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run([*git, "commit", "-qam", tag], check=True)
        subprocess.run([*git, "tag", tag], check=True)

    def having(self, texts: list[str]) -> list[str]:
        """The files that hold one of these texts."""
        words = [word for text in texts for word in ("-e", text)]
        command = ["grep", "-rlaF", *words, str(self.files)]
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()

    def close(self) -> None:
        self.nspawn.send_signal(signal.SIGTERM)
        try:
            self.nspawn.wait(30)
        except subprocess.TimeoutExpired:
            self.nspawn.kill()
            self.nspawn.wait()
        shutil.rmtree(self.files, ignore_errors=True)


def wheels() -> Path:
    """A folder of the packages for both Pythons: what a server gets from PyPI."""
    folder, requirements = BASES / "wheels", ROOT / "requirements.txt"
    copy, text = folder / "requirements.txt", re.sub(r";.*", "", requirements.read_text())
    if not copy.exists() or copy.read_text() != text:
        folder.mkdir(exist_ok=True)
        copy.write_text(text)  # without markers: pip evaluates them for the Python that it runs on
        pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "-d", folder]
        for version in ("3.11", "3.13"):
            command = [*pip, "--python-version", version, "-r", copy]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return folder
