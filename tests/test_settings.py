"""Every setting is validated at the start."""

from datetime import time
from pathlib import Path

import pytest

from settings import HERE, SettingError, read_settings


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"PORT": "http"}, "PORT: must be a number"),
        ({"API_KEY": "short"}, "API_KEY: must be at least 20 ASCII characters"),
        ({"API_KEY": "ñ" * 20}, "API_KEY: must be at least 20 ASCII characters"),
        ({"API_KEY": "a key with some spaces"}, "API_KEY: must be at least 20 ASCII"),
        ({"SYNC_AT": "3:00"}, "SYNC_AT: must be a time"),
        ({"SYNC_AT": "24:00"}, "SYNC_AT: must be a time"),
        ({"SYNC_AT": "never"}, "SYNC_AT: must be a time"),
        ({"TZ": "Europe/Atlantis"}, "TZ: Europe/Atlantis is no time zone"),
        ({"CONTACT": "nobody"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": "http://a.example"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": "ñ@a.example"}, "CONTACT: must be a mail or https address"),
        ({"CONTACT": ""}, "CONTACT: a mail or https address must tell"),
        ({"TZ": "/etc/passwd"}, "TZ: /etc/passwd is no time zone"),
        ({"REGISTER": "registers/none.toml"}, "registers/none.toml: No such file"),
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
    for environ in ({}, {**empty, "CONTACT": "", "SYNC_AT": ""}):
        settings = read_settings(environ)
        assert settings[:4] == ("127.0.0.1", 8080, None, time(3, 0))
        assert settings.database == HERE / "data" / "demo.db"
        assert (settings.register, settings.reads_folder) == ("demo", True)


def test_sync_at_may_be_off() -> None:
    assert read_settings({"SYNC_AT": "off"}).sync_at is None
