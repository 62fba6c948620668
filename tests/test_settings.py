"""Every setting is validated at the start."""

import subprocess
import sys
from datetime import time
from pathlib import Path

import pytest

import sync
from model import SettingError
from settings import HERE, misspelt, read_settings
from support import KEY, ROOT, STAFF_KEY


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"PORT": "http"}, "PORT: must be a number"),
        ({"API_KEY": "short"}, "API_KEY: must be at least 20 ASCII characters"),
        ({"API_KEY": "ñ" * 20}, "API_KEY: must be at least 20 ASCII characters"),
        ({"API_KEY": "a key with some spaces"}, "API_KEY: must be at least 20 ASCII"),
        ({"STAFF_KEY": "short"}, "STAFF_KEY: must be at least 20 ASCII characters"),
        ({"STAFF_KEY": "ñ" * 20}, "STAFF_KEY: must be at least 20 ASCII characters"),
        ({"STAFF_KEY": "a key with some spaces"}, "STAFF_KEY: must be at least 20 ASCII"),
        ({"STAFF_KEY": KEY, "API_KEY": f" {KEY}\r"}, "STAFF_KEY: must not be the API_KEY"),
        ({"PUBLIC_URL": "http://a.example"}, "PUBLIC_URL: must be the https address of this"),
        ({"PUBLIC_URL": "a.example"}, "PUBLIC_URL: must be the https address of this service"),
        ({"PUBLIC_URL": "https://a.example/x"}, "PUBLIC_URL: must be the https address of this"),
        ({"PUBLIC_URL": "https://a.example//"}, "PUBLIC_URL: must be the https address of this"),
        ({"PUBLIC_URL": "https://a.example?x=1"}, "PUBLIC_URL: must be the https address of"),
        ({"PUBLIC_URL": "https://a.example/#x"}, "PUBLIC_URL: must be the https address of this"),
        ({"PUBLIC_URL": "https://ana@a.example"}, "PUBLIC_URL: must be the https address of"),
        ({"PUBLIC_URL": "https://ñ.example"}, "PUBLIC_URL: must be the https address of this"),
        ({"PUBLIC_URL": "https://"}, "PUBLIC_URL: must be the https address of this service"),
        ({"PUBLIC_URL": 'https://a.example"><b>'}, "PUBLIC_URL: must be the https address of"),
        ({"ALERT_URL": "ntfy.sh/topic"}, "ALERT_URL: must be an http or https address"),
        ({"ALERT_URL": "https://a:b@ntfy.sh/topic"}, "ALERT_URL: must be an http or https address"),
        ({"ALERT_URL": "https://"}, "ALERT_URL: must be an http or https address"),
        ({"PING_URL": "file:///etc/passwd"}, "PING_URL: must be an http or https address"),
        ({"SYNC_AT": "3:00"}, "SYNC_AT: must be a time"),
        ({"SYNC_AT": "24:00"}, "SYNC_AT: must be a time"),
        ({"SYNC_AT": "never"}, "SYNC_AT: must be a time"),
        ({"TZ": "Europe/Atlantis"}, "TZ: Europe/Atlantis is no time zone"),
        ({"CONTACT": "nobody"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": "http://a.example"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": "ñ@a.example"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": ""}, "CONTACT: a mail or https address must tell"),
        ({"TZ": "Etc/GMT-3"}, "TZ: Etc/GMT-3 is UTC+3: write a place, as America/Lima"),
        ({"TZ": "Etc/GMT+5"}, "TZ: Etc/GMT+5 is UTC-5: write a place"),
        ({"REGISTER": "none.toml"}, "registers/none.toml: No such file or directory; there are"),
        ({"TZ": "/etc/passwd"}, "TZ: /etc/passwd is no time zone"),
        (
            {"REGISTER": "registers/none.toml"},
            "registers/none.toml: No such file or directory; there are registers/cndes.toml, ",
        ),
        (
            {"REGISTER": "sifebu"},
            "sifebu: the file's name must be a to z and .toml; there are registers/cndes.toml",
        ),
        ({"OPERATOR": "a\nb"}, "OPERATOR: must be a name on one line"),
        ({"OPERATOR": "x" * 201}, "OPERATOR: must be a name on one line"),
        ({"REGISTER": "registers/README.md"}, "the file's name must be a to z and .toml"),
        ({"REGISTER": "registers/Demo.toml"}, "the file's name must be a to z and .toml"),
        ({"REGISTER": "registers/demo1.toml"}, "the file's name must be a to z and .toml"),
        ({"REGISTER": "registers/de-mo.toml"}, "the file's name must be a to z and .toml"),
        ({"DATABASE": "/"}, "DATABASE: /"),
        ({"DATABASE": "/nowhere/x.db"}, "DATABASE: /nowhere/x.db"),
        ({"DATABASE": "/dev/null/x.db"}, "DATABASE: /dev/null/x.db"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, environ: dict[str, str], line: str) -> None:
    profile = tmp_path / "prueba.toml"
    profile.write_text('card = "li"')
    settings = {"REGISTER": str(profile), "CONTACT": "nadie@registro.example", **environ}
    with pytest.raises(SettingError) as refused:
        read_settings(settings)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_profile_that_is_no_toml_is_named(tmp_path: Path) -> None:
    profile = tmp_path / "prueba.toml"
    for text in (b"name =", b"\xff"):
        profile.write_bytes(text)
        with pytest.raises(SettingError, match=r"REGISTER: .*prueba\.toml: "):
            read_settings({"REGISTER": str(profile)})


def test_an_empty_setting_counts_as_not_set() -> None:
    empty = dict.fromkeys(("HOST", "PORT", "REGISTER", "DATABASE", "API_KEY", "TZ"), "")
    empty |= dict.fromkeys(("CONTACT", "SYNC_AT", "STAFF_KEY", "PUBLIC_URL"), "")
    for environ in ({}, empty):
        settings = read_settings(environ)
        assert settings[:5] == ("127.0.0.1", 8080, None, None, time(3, 0))
        assert settings.database == HERE / "data" / "demo.db"
        assert (settings.register, settings.about.public_url) == ("demo", "")


def test_the_pages_get_what_age_and_date_mean(tmp_path: Path) -> None:
    profile = tmp_path / "prueba.toml"
    settings = {"REGISTER": str(profile), "CONTACT": "nadie@registro.example"}
    for toml, told in (
        ('edad_de = "hoy"\nfecha_de = "publicacion"', ("hoy", "publicacion")),
        ('edad_de = "entonces"\nfecha_de = "caso"', ("", "")),
        ("", ("", "")),
    ):
        profile.write_text(toml)
        about = read_settings(settings).about
        assert (about.edad_de, about.fecha_de) == told


def test_a_register_may_be_named_as_the_table_of_registers_does(tmp_path: Path) -> None:
    environ = {"REGISTER": "cndes.toml", "CONTACT": "nadie@registro.example"}
    assert read_settings(environ).profile == HERE / "registers" / "cndes.toml"


def test_a_folder_of_root_is_named(as_nobody: Path) -> None:
    folder = as_nobody / "of_root"
    with pytest.raises(SettingError, match=f"DATABASE: {folder}/x.db is not a file in a folder"):
        read_settings({"DATABASE": str(folder / "x.db")})


def test_sync_at_may_be_off() -> None:
    assert read_settings({"SYNC_AT": "off"}).sync_at is None


@pytest.mark.parametrize("origin", ["https://a.example", "https://xn--a-ega.example:8443"])
def test_the_address_that_visitors_see_has_no_slash_at_the_end(origin: str) -> None:
    for text in (origin, f"{origin}/", f" {origin}/\r"):
        assert read_settings({"PUBLIC_URL": text}).about.public_url == origin


def test_the_staff_has_a_key_of_its_own() -> None:
    settings = read_settings({"API_KEY": KEY, "STAFF_KEY": STAFF_KEY})
    assert (settings.api_key, settings.staff_key) == (KEY, STAFF_KEY)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_where_alerts_go(scheme: str) -> None:
    for host in ("ntfy.sh/mi-tema", "127.0.0.1:8081/?a=b", "[::1]:80", "hc-ping.example/x-1"):
        url = f"{scheme}://{host}"
        settings = read_settings({"ALERT_URL": url, "PING_URL": url})
        assert (settings.alert_url, settings.ping_url) == (url, url)


def test_a_file_of_settings_may_have_crlf(tmp_path: Path) -> None:
    text = (ROOT / "deploy" / "settings.env").read_text()
    text = text.replace("/var/lib/persona404/sifebu.db", str(tmp_path / "sifebu.db"))
    text = text.replace("CONTACT=\n", "CONTACT=nadie@registro.example\n").replace("# TZ", "TZ")
    (tmp_path / "settings.env").write_bytes(text.replace("\n", "\r\n").encode())
    code = "import settings, time; settings.set_up_process(20); print(time.strftime('%Z'))"
    for command, printed in (
        ([sys.executable, "sync.py", "--check"], ""),
        ([sys.executable, "-c", code], "-03\n"),
    ):
        done = subprocess.run(
            ["sh", "-ec", 'set -a; . ./settings.env; cd "$0"; exec "$@"', ROOT, *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DATABSE", "DATABASE"),
        ("API-KEY", "API_KEY"),
        ("STAFFKEY", "STAFF_KEY"),
        ("PUBLIC_URI", "PUBLIC_URL"),
        ("database", "DATABASE"),
        ("SYNCAT", "SYNC_AT"),
        ("DATABASE", None),
        ("DATABASE_URL", None),
        ("HOSTNAME", None),
        ("PATH", None),
    ],
)
def test_a_misspelt_setting_is_known(name: str, meant: str | None) -> None:
    assert misspelt({name: "x"}).get(name) == meant


@pytest.mark.parametrize("profile", ["cndes.toml", "interpolar.toml"])
def test_a_check_says_who_must_be_asked_first(
    profile: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A start checks: so its log says it too."""
    environ = {"CONTACT": "nadie@registro.example", "DATABASE": str(tmp_path / "a.db")}
    assert sync.main(["--check", "--register", f"registers/{profile}"], environ) == 0
    assert "permission" in caplog.text
