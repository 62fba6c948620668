"""The documents and the programs agree: commands, routes, settings, options, messages, profile
keys. The Spanish documents say the same as the English ones."""

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sync
from scrape.fetch import Fetcher
from scrape.profile import Fields, Profile, Way, load_profile
from scrape.reading import read_register
from serve import alerts
from settings import SETTINGS, read_settings
from support import KEY, ROOT, STAFF_KEY
from support.api import Api
from support.register import Register, call_sync
from support.service import Service, wait_until
from support.web import Web

ENGLISH = {"README.md": "LEEME.md"} | {
    f"docs/{name}.md": f"{name}.md" for name in ("sites", "operating", "night", "privacy")
}
ENGLISH |= {
    "docs/call.md": "llamada.md",
    "docs/permission.md": "permiso.md",
    "docs/closing.md": "cierre.md",
}
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for pattern in ("*.md", "docs/*.md", "docs/es/*.md", "bench/*.md", "registers/*.md")
    for path in ROOT.glob(pattern)
}
README, OPERATING, NIGHT = (
    PAGES[f"{name}.md"] for name in ("README", "docs/operating", "docs/night")
)
PROFILES = PAGES["registers/README.md"]


CONTACT = {"CONTACT": "nadie@registro.example"}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def consoles(text: str) -> list[tuple[str, str]]:
    """Each `$ command` of the text with the output printed below it."""
    parts = [block.partition("\n") for block in blocks(text, "console")]
    return [(command[2:], output) for command, _, output in parts]


def section(text: str, heading: str) -> str:
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """What each row of the tables has in backticks in its first column."""
    return re.findall(r"^\| `([^`]+)`", text, re.M)


def same(output: str) -> object:
    """Output with what differs from run to run taken out."""
    return json.loads(re.sub(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?", "TIME", output))


# --- Each document by itself ---------------------------------------------------------


def test_each_curl_prints_what_its_page_says(
    register: Register, service: Callable[..., Service]
) -> None:
    commands = consoles(README) + consoles(PAGES["docs/api.md"])
    assert len(commands) == 11
    demo = ROOT / "registers" / "demo.toml"
    assert "24 active" in call_sync(demo, register.database).stdout  # none runs at the trigger
    keys = {"API_KEY": KEY, "STAFF_KEY": STAFF_KEY}
    running = service(REGISTER=str(demo), **keys).serving()
    everybody = running.ask("/api/personas?limit=100").json["personas"]
    for command, printed in commands:
        command = command.replace("127.0.0.1:8080", f"127.0.0.1:{running.port}")
        done = subprocess.run(["bash", "-c", command], env=keys, capture_output=True, text=True)
        if "track" in command:  # it is written within a second
            wait_until(lambda: running.ask("/api/stats").json["views"] == 1)
        if "persona-random" in command:
            assert json.loads(printed) in everybody
            assert json.loads(done.stdout) in everybody
        else:
            assert same(done.stdout) == same(printed), command


def test_readme_is_short_and_has_the_two_commands() -> None:
    assert len(README.splitlines()) <= 150
    assert README.count("-r requirements.txt && .venv/bin/python app.py\n") == 1
    assert README.count("-r requirements.txt && .venv/bin/python -m pytest\n") == 1


def test_every_route_is_described(database: Path) -> None:
    text = PAGES["docs/api.md"].replace("/ID", "/<person>")
    described = set(re.findall(r"^## (GET|POST) (\S+)$", text, re.M))
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
    asked = Asked()
    read_settings(asked)
    assert set(first_cells(section(OPERATING, "Settings"))) == asked.names == SETTINGS | {"TZ"}


def test_every_option_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sync.main(["--help"], os.environ)
    options = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.M))
    described = {cell.split()[0] for cell in first_cells(section(OPERATING, "By hand"))}
    assert len(options) > 5
    assert described == options


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = re.findall(
        r"(?<![\w/])(?:bench|deploy|docs|sites|static|tests)/[\w./-]*\w", PAGES[page]
    )
    named += re.findall(
        r"\bregisters/[a-z]+\.toml", PAGES[page] if page != "registers/README.md" else ""
    )
    assert [name for name in named if not any(ROOT.glob(f"{name}*"))] == []
    links = re.findall(r"\]\(([^)#:]+)\)", PAGES[page])
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(PAGES[page], "sh")])
def test_every_command_is_one(page: str) -> None:
    """The shell can read it, and its options are sync.py's."""
    for block in blocks(PAGES[page], "sh"):
        done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        for options in re.findall(r"(?:[a-z]404 sync|sync\.py) +(--[^;&>\n]*)", block):
            sync.parse_options(shlex.split(options))


@pytest.mark.parametrize("page", PAGES)
def test_every_verb_is_one(page: str) -> None:
    script = (ROOT / "deploy" / "persona404").read_text()
    verbs = re.findall(r"^do_(\w+)\(\)", script, re.M)
    named = re.findall(r"(?:`|^|/deploy/|/bin/|; |&& )[a-z]+404 ([a-z]+)", PAGES[page], re.M)
    assert [verb for verb in named if verb not in verbs] == []


def test_every_alert_is_explained() -> None:
    assert set(first_cells(section(NIGHT, "Alerts"))) == alerts.HEADLINES.keys()
    (example,) = blocks(NIGHT, "text")
    first, headline, sentence, reason, since, advice = example.splitlines()
    assert sentence == alerts.Fault("refused", reason).sentence
    assert (first, headline) == ("persona404, sifebu, vps: refused", alerts.HEADLINES["refused"])
    assert advice == alerts.ADVICE
    assert since.startswith("Desde / since 20")


def test_every_log_line_that_is_explained_is_logged() -> None:
    source = "".join(
        path.read_text() for path in sorted(ROOT.glob("*.py")) + sorted(ROOT.glob("[rs]*/*.py"))
    )
    source = re.sub(r'"\s*f?"', "", source)
    explained = first_cells(section(NIGHT, "What you see in the log"))
    assert len(explained) == 8
    for line in explained:
        words = max(re.split(r"[^a-z ,-]+", line), key=len).strip()
        rest = words.partition(" ")[2]  # the first word may be a variable
        assert words in source or (rest and rest in source), line


def test_every_promise_has_its_test() -> None:
    named = re.findall(r"`(test_\w+)\.py::(test_\w+)`", (ROOT / "SECURITY.md").read_text())
    assert len(named) > 10
    missing = [pair for pair in named if not hasattr(importlib.import_module(pair[0]), pair[1])]
    assert missing == []


@pytest.mark.parametrize("name", ["config.yml", "fault.md", "register.md"])
def test_every_issue_template_asks_for_no_real_child(name: str) -> None:
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / name).read_text()
    assert "no real child's name, photo or address" in text.lower()


def test_every_unit_is_named() -> None:
    units = {path.name for path in (ROOT / "deploy").glob("*.timer")}
    assert {unit for unit in units if unit not in OPERATING} == set()


# --- Both languages ------------------------------------------------------------------


@pytest.mark.parametrize(("english", "spanish"), ENGLISH.items())
def test_both_languages_say_the_same(english: str, spanish: str) -> None:
    one, other = PAGES[english], PAGES[f"docs/es/{spanish}"]
    fence = re.compile(r"^```.*?^```$", re.M | re.S)
    assert fence.findall(one) == fence.findall(other)
    one, other = fence.sub("", one), fence.sub("", other)
    for pattern in (r"^#+ ", r"^\|", r"^(?:- |\d\. )"):
        assert len(re.findall(pattern, one, re.M)) == len(re.findall(pattern, other, re.M)), pattern
    assert [*map(len, re.findall(r"^(#+) ", one, re.M))] == [
        *map(len, re.findall(r"^(#+) ", other, re.M))
    ]
    assert first_cells(one) == first_cells(other)
    other = " ".join(other.split())
    for text in re.findall(r"`[^`]+`", " ".join(one.split())):
        assert text in other, text


# --- The operator's commands, run ----------------------------------------------------


def run_block(block: str, register: Register, web: Web, folder: Path) -> str:
    """Run a block of docs/ in `folder`, over `register`; what it prints."""
    for old, new in {
        "/var/lib/persona404/sifebu.db": str(register.database),
        "/var/backups": str(folder),
        "/etc/systemd/system": str(folder),
        "/etc": str(folder),
        "https://ntfy.sh": f"http://{web.host}",
    }.items():
        block = block.replace(old, new)
    sync_py = f"{sys.executable} {ROOT}/sync.py --register {register.profile}"
    functions = f"""systemctl() {{ :; }}
    persona404() {{ [ "$1" != sync ] || {sync_py} --database {register.database} "${{@:2}}"; }}
    """
    environ = {"PATH": os.environ["PATH"], **CONTACT}
    done = subprocess.run(
        ["bash", "-euc", functions + block], cwd=folder, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_topic_is_made(register: Register, web: Web, tmp_path: Path) -> None:
    (block,) = blocks(section(OPERATING, "Alerts on your phone"), "sh")
    line = run_block(block, register, web, tmp_path).strip()
    name, _, address = line.partition("=")
    assert (tmp_path / "persona404.env").read_text() == line + "\n"
    assert read_settings({name: address, "REGISTER": str(register.profile), **CONTACT}).alert_url


def test_a_report_is_printed(register: Register, web: Web, tmp_path: Path) -> None:
    (block,) = blocks(section(OPERATING, "Figures for sponsors"), "sh")
    assert "persons on the list: 0" in run_block(block, register, web, tmp_path)
    assert (tmp_path / "sites.csv").read_text() == "site,views,first,last\n"


def test_a_second_process_gets_its_settings(register: Register, web: Web, tmp_path: Path) -> None:
    (tmp_path / "persona404.env").write_text("REGISTER=x\nPORT=8080\nALERT_URL='x'\n")
    unit = (ROOT / "deploy" / "persona404.service").read_text()
    (tmp_path / "persona404.service").write_text(unit)
    text = section(PAGES["docs/crowd.md"], "Several processes on one machine")
    (block,) = blocks(text, "sh")
    run_block(block, register, web, tmp_path)
    settings = (tmp_path / "persona404-2.env").read_text()
    assert settings == "REGISTER=x\nPORT=8081\nSYNC_AT=off\n"
    assert "/persona404-2.env\n" in (tmp_path / "persona404-2.service").read_text()


# --- Profiles ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Profile, Fields, Way])
def test_every_profile_key_is_described(kind: type) -> None:
    described = set(re.findall(r"^\| `([a-z_]+)` ", PROFILES, re.M))
    assert set(kind.__struct_encode_fields__) - {"name"} <= described


def test_the_examples_of_several_match_their_names() -> None:
    line = "^several = '(.+)'  # ([A-Z][a-z]+): ([^;\n]+)(?:; not (.+))?$"
    lines = re.findall(line, PROFILES, re.M)
    assert [language for _, language, *_ in lines] == ["English", "Portuguese", "French", "German"]
    for pattern, _, name, other in lines:
        assert re.search(pattern, name, re.IGNORECASE)
        assert not re.search(pattern, other, re.IGNORECASE)


def test_the_example_profiles_read_their_pages(tmp_path: Path) -> None:
    cards, file, other_cards, other_file, sentences = re.findall(
        r"```html\n(.*?)```", PROFILES, re.S
    )
    api_list, api_record = re.findall(r"```json\n(.*?)```", PROFILES, re.S)
    pages = {
        "lista?p=1": cards,
        "lista?p=2": cards.replace("siguiente", "").replace("Ana", "Luz").replace("a/1", "a/2"),
        "persona/1": file,
        "persona/2": file.replace("Ana", "Luz"),
        "eltuntek?oldal=1": other_cards,
        "eltuntek?eset=7": other_file,
        "casos": sentences,
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
    day, *rest = "03/05/2024", "Villa Inventada", "https://registro.example/sin-foto.png"
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
        ["Ana Inventada Prueba", day, "12 años", *rest, "https://registro.example/caso/1"],
        ["Bruno Ficticio Prueba", day, "9 años", *rest, "https://registro.example/caso/2"],
        [
            "Ana Luz Inventada",
            *spanish,
            "https://api.registro.example/imagenes/71.jpg",
            "https://www.registro.example/#/caso/C-0071",
        ],
    ]


def test_the_redesigned_register_is_read_step_by_step(tmp_path: Path) -> None:
    """docs/es/registro.md: what the dry run prints before and after each correction."""
    text = PAGES["docs/es/registro.md"]
    profile, *corrections = blocks(text, "toml")
    cards, file = blocks(text, "html")
    (tmp_path / "pages" / "persona").mkdir(parents=True)
    for name, html in {
        "lista": cards,
        "persona/1": file,
        "persona/2": file.replace("Ana Inventada", "Bruno Ficticio"),
    }.items():
        (tmp_path / "pages" / f"{name}.html").write_text(html)
    none, without_date, explained, unmarked, good = blocks(text, "text")
    printed = [none, without_date, unmarked, good]
    for correction, lines in zip(["", *corrections], printed, strict=True):
        key = correction.partition("=")[0]
        profile = re.sub(rf"^{key}=.*\n", correction, profile, flags=re.M) if key else profile
        (tmp_path / "ejemplo.toml").write_text('pages = "pages"\n' + profile)
        done = call_sync(tmp_path / "ejemplo.toml", tmp_path / "x.db", "--dry-run")
        assert set(lines.splitlines()) <= set(done.stdout.splitlines())
    assert "(taken)" in explained
