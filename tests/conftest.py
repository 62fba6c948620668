"""Fixtures: a register that tests can break, the programs, the API in two ways."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from support import KEY, ROOT, missing
from support.api import Api, ServedApi, fill, made_up
from support.register import Register
from support.service import Service
from support.web import NoSockets, Pages, Web

pytest_plugins = ["support.browser", "support.both", "support.still"]


@pytest.fixture
def web(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Web | NoSockets]:
    if request.node.get_closest_marker("no_sockets"):
        yield NoSockets(monkeypatch)
        return
    server = Web()
    yield server
    server.close()


@pytest.fixture
def register(web: Pages, tmp_path: Path) -> Register:
    return Register(web, tmp_path)


@pytest.fixture
def service(register: Register) -> Iterator[Callable[..., Service]]:
    """Starts services over the database of `register`; what still runs is ended."""
    started: list[Service] = []

    def start(**environ: str) -> Service:
        settings = {"REGISTER": str(register.profile), "DATABASE": str(register.database)}
        started.append(Service(**{**settings, **environ}))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "prueba.db"


@pytest.fixture(scope="session")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    database = tmp_path_factory.mktemp("filled") / "prueba.db"
    fill(database, [made_up(n, f"{n:02}/02/2024") for n in range(1, 26)])
    return database.read_bytes()


@pytest.fixture
def filled(database: Path, filled_once: bytes) -> Path:
    """The database of 25 persons, numbers 1 to 25."""
    database.write_bytes(filled_once)
    return database


@pytest.fixture
def api(filled: Path) -> Api:
    """Over 25 persons, with the API key KEY; through WSGI."""
    return Api(filled, KEY)


@pytest.fixture
def served(filled: Path) -> Iterator[ServedApi]:
    """The same through a running waitress."""
    server = ServedApi(filled, KEY)
    yield server
    server.close()


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """Lets the test run as another user than root. A folder with the profile and a database of the
    demo register, which this user may only read, and a folder `of_root`."""
    if os.getuid():
        missing("root")
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "of_root").mkdir(0o700)
        shutil.copy(ROOT / "registers" / "demo.toml", folder)
        fill(folder / "demo.db", [])
        (folder / "demo.db").chmod(0o644)
        folder.chmod(0o777)
        os.setresuid(65534, 65534, 0)
        try:
            yield folder
        finally:
            os.setresuid(0, 0, 0)


# --- Figures, and how long tests are -------------------------------------------------

Figure = Callable[[str], None]
FIGURES: list[str] = []  # what tests measured; SECURITY.md quotes what a full run prints


@pytest.fixture
def figure() -> Figure:
    return FIGURES.append


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether tests that repeat something do so as often as SECURITY.md says."""
    return bool(request.config.getoption("--full"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="as long as SECURITY.md says")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Figures are taken one after the other; other tests get a worker for each CPU."""
    return 0 if config.getoption("--full") else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["figures"] = FIGURES


def pytest_testnodedown(node: Any) -> None:
    """A worker has ended: take its figures over."""
    FIGURES.extend(getattr(node, "workeroutput", {}).get("figures", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("figures (SECURITY.md)")
    for line in FIGURES:
        terminalreporter.write_line(line)
