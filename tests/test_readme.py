"""README and the programs agree: commands, routes, settings, options, profile keys."""

import importlib
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import sync
from scrape.fetch import Fetcher
from scrape.profile import Fields, Profile, Way, load_profile
from scrape.reading import read_register
from settings import read_settings
from support import KEY, ROOT
from support.api import Api
from support.service import Service, wait_until

README = (ROOT / "README.md").read_text()
PROFILES = (ROOT / "registers" / "README.md").read_text()


def consoles(text: str) -> list[tuple[str, str]]:
    """Each `$ command` of the text with the output printed below it."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S)
    return [(command[2:], output) for command, _, output in (b.partition("\n") for b in blocks)]


def same(output: str) -> object:
    """Output with what differs from run to run taken out."""
    return json.loads(re.sub(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?", "TIME", output))


def test_each_curl_prints_what_readme_says(service: Callable[..., Service]) -> None:
    commands = consoles(README)
    assert len(commands) >= 7
    running = service(REGISTER="registers/demo.toml", API_KEY=KEY).serving()
    running.wait_for("24 active")
    everybody = running.ask("/api/personas?limit=100").json["personas"]
    for command, printed in commands:
        command = command.replace("127.0.0.1:8080", f"127.0.0.1:{running.port}")
        done = subprocess.run(
            ["bash", "-c", command], env={"API_KEY": KEY}, capture_output=True, text=True
        )
        if "track" in command:  # it is written within a second
            wait_until(lambda: running.ask("/api/stats").json["views"] == 1)
        if "persona-random" in command:
            assert json.loads(printed) in everybody
            assert json.loads(done.stdout) in everybody
        else:
            assert same(done.stdout) == same(printed), command


def test_the_two_commands_are_there() -> None:
    assert README.count("-r requirements.txt && .venv/bin/python app.py\n") == 1
    assert README.count("-r requirements.txt && .venv/bin/python -m pytest\n") == 1


def test_every_route_is_described(database: Path) -> None:
    described = set(re.findall(r"^### (GET|POST) (\S+)$", README.replace("/ID", "/<person>"), re.M))
    assert described == {(route.method, route.rule) for route in Api(database).app.routes}


class Asked(dict[str, str]):
    """An environment that notes which settings are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.names.add(name)
        return default


def test_every_setting_is_described() -> None:
    table = README.split("## Settings")[1].split("\n## ")[0]
    described = set(re.findall(r"^\| `([A-Z_]+)` ", table, re.M))
    asked = Asked()
    read_settings(asked)
    assert described == asked.names


def test_every_option_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sync.main(["--help"], os.environ)
    options = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.M))
    described = set(
        re.findall(r"`(--[a-z-]+)[ `]", README.split("## Synchronisation")[1].split("\n## ")[0])
    )
    assert len(options) > 5
    assert described == options


def test_every_file_that_is_named_is_there() -> None:
    named = re.findall(r"\b(?:bench|deploy|static|registers|tests)/[\w./-]*\w", README)
    assert len(named) > 10
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    assert [name for name in named if f"\n{name}" not in f"\n{kept}"] == []


def test_every_promise_has_its_test() -> None:
    named = re.findall(r"`(test_\w+)\.py::(test_\w+)`", (ROOT / "SECURITY.md").read_text())
    assert len(named) > 10
    missing = [pair for pair in named if not hasattr(importlib.import_module(pair[0]), pair[1])]
    assert missing == []


def test_every_unit_is_named() -> None:
    units = {path.name for path in (ROOT / "deploy").glob("*.timer")}
    assert {unit for unit in units if unit not in README} == set()


@pytest.mark.parametrize("kind", [Profile, Fields, Way])
def test_every_profile_key_is_described(kind: type) -> None:
    described = set(re.findall(r"^\| `([a-z_]+)` ", PROFILES, re.M))
    assert set(kind.__struct_fields__) <= described


def test_the_example_profiles_read_their_pages(tmp_path: Path) -> None:
    cards, file, other_cards, other_file = re.findall(r"```html\n(.*?)```", PROFILES, re.S)
    api_list, api_record = re.findall(r"```json\n(.*?)```", PROFILES, re.S)
    pages = {
        "lista?p=1": cards,
        "lista?p=2": cards.replace("siguiente", "").replace("Ana", "Luz").replace("a/1", "a/2"),
        "persona/1": file,
        "persona/2": file.replace("Ana", "Luz"),
        "eltuntek?oldal=1": other_cards,
        "eltuntek?eset=7": other_file,
        "v2/casos?orden=fecha&desde=0": api_list,
        "v2/casos/71": api_record,
        "v2/casos/72": api_record.replace("VIGENTE", "LOCALIZADO").replace(
            "Inventada, Ana Luz", "Ficticio, Bruno"
        ),
    }
    for name, html in pages.items():
        path = tmp_path / "pages" / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html)
    examples = re.findall(r"`registers/([a-z]+)\.toml`:\n\n```toml\n(.*?)```", PROFILES, re.S)
    persons = []
    for name, profile in examples:
        (tmp_path / f"{name}.toml").write_text('pages = "pages"\n' + profile)
        reading = read_register(
            Fetcher(load_profile(tmp_path / f"{name}.toml"), None), lambda text: None
        )
        assert reading.unreadable == []
        persons += [fields for _, *fields in reading.persons.values()]
    spanish = ["08/03/2024", "12 años", "Villa Inventada, Ficticia"]
    assert persons == [
        [
            "Ana Inventada Prueba",
            *spanish,
            "https://registro.example/fotos/1.jpg",
            "https://registro.example/persona/1",
        ],
        [
            "Luz Inventada Prueba",
            *spanish,
            "https://registro.example/fotos/1.jpg",
            "https://registro.example/persona/2",
        ],
        [
            "Kitalált Anna",
            "05/03/2024",
            "12 años",
            "Kitaláltfalva, Képzelt vármegye",
            "https://registro.example/nincs-kep.png",
            "https://registro.example/eltuntek?eset=7",
        ],
        [
            "Ana Luz Inventada",
            *spanish,
            "https://api.registro.example/imagenes/71.jpg",
            "https://www.registro.example/#/caso/C-0071",
        ],
    ]
