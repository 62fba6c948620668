"""What imports what: the picture of docs/developing.md."""

import ast
import subprocess
import sys

import pytest

from support import ROOT

EVERYWHERE = {"model", "names"}
MAY_IMPORT: dict[str, set[str]] = {
    "names.py": set(),
    "model.py": {"names"},
    "settings.py": {"model"},
    "scrape": EVERYWHERE | {"scrape"},
    "rules": EVERYWHERE | {"rules"},
    "store": EVERYWHERE | {"store"},
    "serve": EVERYWHERE | {"serve", "store", "settings"},
    "app.py": EVERYWHERE | {"serve", "store", "settings"},
    "commands.py": EVERYWHERE | {"scrape", "rules", "store", "settings"},
    "sync.py": EVERYWHERE | {"commands", "scrape", "rules", "store", "settings"},
}
OURS = {name.removesuffix(".py") for name in MAY_IMPORT}


def test_every_module_has_its_place() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {path.name for path in ROOT.glob("*.py")} | rooms == MAY_IMPORT.keys()


@pytest.mark.parametrize("place", MAY_IMPORT)
def test_nothing_imports_what_stands_above_it(place: str) -> None:
    path = ROOT / place
    for file in [path] if path.is_file() else sorted(path.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            imported = {name.partition(".")[0] for name in names} & OURS
            assert imported <= MAY_IMPORT[place], file.name


def test_the_web_service_holds_no_parser() -> None:
    code = "import app, sys; print({'bs4', 'html5lib', 'requests', 'PIL'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_all_html_is_parsed_in_one_place() -> None:
    """html5lib is no longer maintained: whoever replaces it changes one function."""
    files = [*ROOT.glob("*.py"), *ROOT.glob("[rs]*/*.py")]
    assert sum(file.read_text("utf-8").count("BeautifulSoup(") for file in files) == 1
