"""deploy/persona404: its help and refusals; each verb on an empty Debian 12 and 13 (`-m roots`).

certbot is a stand-in there. That line is not shown to work.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest

from support import ROOT, missing
from support.roots import Root

SCRIPT = ROOT / "deploy" / "persona404"
VERBS = set(re.findall(r"^do_(\w+)\(\)", SCRIPT.read_text(), re.M))
HOST = "personas.example.org"
ASK = f"curl -sk --resolve {HOST}:443:127.0.0.1 https://{HOST}"
TYPE = """import fcntl, glob
for fd in (0, 1, 2):
    try:
        for letter in b"rm x":
            fcntl.ioctl(fd, 0x5412, bytes([letter]))  # TIOCSTI
    except OSError:
        pass
for name in ["/etc/persona404.env", *glob.glob("/proc/[0-9]*/environ")]:
    try:
        print(open(name).read())
    except OSError as error:
        print(name, error.strerror)
"""


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True)


# --- The script by itself ------------------------------------------------------------


def test_the_script_is_short_and_without_fault() -> None:
    assert len(SCRIPT.read_text().splitlines()) <= 150
    # Else systemd logs the command line: a name after --who.
    assert SCRIPT.read_text().count("systemd-run -q --wait --collect --description=") == 1
    subprocess.run(["bash", "-n", SCRIPT], check=True)
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", "-S", "warning", SCRIPT], capture_output=True)
        assert done.stdout == b""


def test_the_help_has_each_verb_in_both_languages() -> None:
    done = call()
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert {line.split()[1] for line in lines} == VERBS
    assert all(" / " in line for line in lines)


@pytest.mark.parametrize(
    "arguments",
    [
        "fix",
        "install",
        "install demo",
        "install nobody personas.example.org",
        "install demo https://personas.example.org/",
        "install demo personas.example.org o'neill@example.org",
        "restore",
        "restore /no/such/file",
    ],
)
def test_wrong_usage_changes_nothing(arguments: str) -> None:
    if os.geteuid() != 0:
        missing("root")
    done = call(*arguments.split())
    assert (done.returncode, done.stdout, "uninstall" in done.stderr) == (2, "", True)


# --- On an empty Debian --------------------------------------------------------------


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def root(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Root]:
    with closing(Root(request.param, tmp_path_factory.mktemp(request.param))) as booted:
        yield booted


def health(root: Root) -> dict[str, object]:
    root.wait_for(f'{ASK}/health | grep -q \'^."status":"ok"\'')
    return dict(json.loads(root.did(f"{ASK}/health")))


def ids(root: Root) -> list[str]:
    return root.did("persona404 sync --who ''").split()


@pytest.mark.roots
def test_install(root: Root) -> None:
    root.did("apt-get update -qq && apt-get install -qqy git && git clone -q /repo /opt/persona404")
    for _ in range(2):  # it may be repeated
        root.did(f"/opt/persona404/deploy/persona404 install demo {HOST} familia@example.org")
        assert root.did("stat -c %U%a /etc/persona404.env") == "root600\n"
    assert "API_KEY=\n" not in root.did("cat /etc/persona404.env")
    root.did("sed -i 's/^# set /set /' /etc/nginx/persona404/server.conf")  # a busy day
    assert root.run("systemctl is-active persona404").stdout == "inactive\n"  # look first
    assert "would be added: 24" in root.did("persona404 sync --dry-run")
    root.did("systemctl enable --now persona404")
    assert health(root)["active"] == 24
    assert "persona404-" in root.did("persona404 backup")
    print(root.did("persona404 doctor"))


@pytest.mark.roots
def test_doctor_says_what_is_wrong(root: Root) -> None:
    root.did("chmod 0644 /etc/persona404.env; chown persona404 /opt/persona404/app.py")
    root.did("sed -i s/127.0.0.1:8080/127.0.0.1:8079/ /etc/nginx/sites-available/persona404")
    root.did("systemctl restart nginx; rm /var/backups/persona404/*")
    done = root.run("persona404 doctor")
    assert (done.returncode, done.stdout.count("\n!!: ")) == (1, 4), done.stdout
    root.did(f"persona404 install demo {HOST}; chown root: /opt/persona404/app.py")
    kept = root.did("grep -c ^set /etc/nginx/persona404/server.conf")  # the operator's line
    assert kept == "1\n"
    health(root)
    root.did("persona404 backup && persona404 doctor")


@pytest.mark.roots
def test_a_wrong_setting_fails_loudly(root: Root) -> None:
    root.did("echo ALERT_URL=ntfy.sh/mitema >>/etc/persona404.env")
    assert root.run("systemctl restart persona404").returncode == 1
    assert "ALERT_URL" in root.did("journalctl -u persona404 -n 5")
    root.did("sleep 6")
    assert "NRestarts=0" in root.did("systemctl show -p NRestarts persona404")
    root.did("sed -i '$ c OPERATOR=Red ls' /etc/persona404.env; systemctl restart persona404")
    health(root)


@pytest.mark.roots
def test_the_watchdog_restarts_what_does_not_answer(root: Root) -> None:
    main = "systemctl show -p MainPID --value persona404"
    root.did("echo HOST=::1 >>/etc/persona404.env; systemctl restart persona404")
    root.wait_for("curl -s [::1]:8080/health")
    before = root.did(main).strip()
    root.did("systemctl start persona404-watchdog")
    assert root.did(main).strip() == before
    root.did(f"kill -STOP {before}; systemctl start persona404-watchdog")
    assert root.did(main).strip() != before
    root.did("sed -i '$ d' /etc/persona404.env; systemctl restart persona404")
    health(root)


@pytest.mark.roots
def test_what_reads_the_register_cannot_type_for_root(root: Root) -> None:
    root.put("opt/persona404/sync.py", TYPE)
    printed = root.on_terminal("persona404 sync")
    assert "/etc/persona404.env Permission denied" in printed
    assert "REGISTER=" in printed
    assert "API_KEY=" not in printed
    assert "terminal: nothing" in printed
    assert "terminal: nothing" in root.on_terminal("bash -c 'persona404 sync | cat'")
    assert "terminal: nothing" in root.on_terminal("bash -c 'persona404 sync 2>/dev/null'")
    root.did("git -C /opt/persona404 checkout -q sync.py")
    assert "Simón Imaginario" in root.on_terminal("persona404 sync --who Simón")
    assert "Simón Imaginario" not in root.did("persona404 sync --who Simón")


@pytest.mark.roots
def test_a_lost_server_is_restored_and_the_hidden_stay_hidden(root: Root) -> None:
    child = ids(root)[0]
    root.did("rm -f /var/backups/persona404/*")
    root.did(f"persona404 sync --hide {child}")
    root.wait_for("cp /var/backups/persona404/persona404-*.db copy.db")  # made at the hide
    for damage in ("rm -r /var/lib/persona404", "echo x >/var/lib/persona404/demo.db", "true"):
        root.did(f"systemctl stop persona404; {damage}; persona404 restore copy.db")
        assert health(root)["active"] == 23
        assert child in root.did("persona404 sync --hidden")
    root.did("echo x >damaged.db")
    assert root.run("persona404 restore damaged.db").returncode == 1
    assert health(root)["active"] == 23
    assert root.having(["Imaginario Ejemplo"]).count(str(root.files / "root/copy.db")) == 0


@pytest.mark.roots
def test_update_and_the_way_back(root: Root) -> None:
    profile = "/opt/persona404/registers/demo.toml"
    root.did(f"sed -i 's/555 0100/555 0199/' {profile}")  # the operator's own
    root.commit("# a good version", "v9.0.1")
    root.did("persona404 update")
    assert "v9.0.1" in root.did("git -C /opt/persona404 describe --tags")
    broken = {
        "v9.0.2": "raise SystemExit(1)",
        "v9.0.3": "import sys; '--check' in sys.argv or exit(3)",
    }
    for tag, line in broken.items():
        root.commit(line, tag)
        done = root.run("persona404 update")
        assert (
            done.returncode,
            "v9.0.1" in root.did("git -C /opt/persona404 describe --tags"),
        ) == (
            1,
            True,
        )
        assert health(root)["active"] == 23
    assert "555 0199" in root.did(f"cat {profile}")
    assert root.did("ls -d /var/lib/persona404* /opt/persona404/.venv*").split() == [
        "/opt/persona404/.venv",
        "/var/lib/persona404",
    ]
    root.commit("# a good version", "v9.0.4")
    for version in ("v9.0.4", "v9.0.1", ""):  # there, back and there
        root.did(f"persona404 update {version} && persona404 doctor")


@pytest.mark.roots
def test_a_second_register(root: Root) -> None:
    root.did("git clone -q /repo /opt/otro404")
    root.did("/opt/otro404/deploy/persona404 install --trial demo otro.example.org")
    root.did("systemctl enable --now otro404")
    root.wait_for("otro404 backup && otro404 doctor")
    root.did("persona404 doctor")
    assert "/etc/nginx/otro404/server.conf" in root.did("nginx -T")
    root.did("otro404 uninstall", "otro404\n")
    root.did("nginx -t && persona404 doctor")


@pytest.mark.roots
def test_debian_12_becomes_13(root: Root) -> None:
    if "bookworm" not in root.did("cat /etc/os-release"):
        pytest.skip("it is 13")
    root.did("sed -i s/bookworm/trixie/ /etc/apt/sources.list && apt-get update -qq")
    keep = "-o Dpkg::Options::=--force-confold"
    root.did(f"DEBIAN_FRONTEND=noninteractive apt-get full-upgrade -qqy {keep}")
    assert root.run("systemctl restart persona404").returncode == 1
    root.did("persona404 update")
    assert health(root)["active"] == 23
    root.did("persona404 doctor")


@pytest.mark.roots
def test_uninstall_leaves_no_child_on_the_disk(root: Root) -> None:
    assert root.having(["Imaginario Ejemplo"])
    assert root.run("persona404 uninstall", "no\n").returncode == 1
    root.did("persona404 uninstall", "persona404\n")
    assert root.having(["Imaginario Ejemplo"]) == []
    ours = list(root.files.rglob("*persona404*"))  # the mounts are not seen from here
    assert (ours, root.run("id persona404").returncode) == ([], 1)
    assert "delete -n --cert-name personas.example.org" in root.did("cat certbot.log")
