"""sync.py --report: what each site showed, for sponsors."""

from pathlib import Path

import pytest

from store.database import open_database, transaction
from store.views import utc_day, write_views
from support import KEY
from support.api import Api, fill, made_up
from support.register import Register

pytestmark = pytest.mark.no_sockets


@pytest.fixture
def seen(register: Register) -> Path:
    """A database of three persons and of two sites, one of them seen twelve days ago."""
    fill(register.database, [made_up(n) for n in (1, 2, 3)])
    views = {
        (utc_day(), "a.example", "prueba-1"): 1200,
        (utc_day(12), "a.example", "prueba-2"): 34,
        (utc_day(12), "b.example", "prueba-2"): 5,
    }
    with open_database(register.database, 5) as db, transaction(db):
        write_views(db, views)
    return register.database


def test_a_report_is_a_table(seen: Path, register: Register) -> None:
    assert register.sync("--report").stdout.splitlines() == [
        "en la lista: 3; mostradas: 2; ya no figuran: 0"
        " / persons on the list: 3; shown so far: 2; no longer listed: 0",
        "últimos 30 días: 1239 vistas en 2 sitios / last 30 days: 1239 views on 2 sites",
        "lecturas que quitaron a quienes salieron: 1; horas de una a otra, como máximo: 1"
        " / readings that took off who had left: 1; hours from one to the next, at most: 1",
        "sitio / site  vistas / views  desde / first  hasta / last",
        f"a.example               1234  {utc_day(12)}     {utc_day()}",
        f"b.example                  5  {utc_day(12)}     {utc_day(12)}",
    ]


@pytest.mark.parametrize(
    ("hours_ago", "said"),  # of good runs
    [
        ([], "had left: 0; hours from one to the next, at most: 0\n"),
        ([49.5, 25, 1], "had left: 3; hours from one to the next, at most: 25\n"),
        ([24, 1.5, 0.1], "had left: 3; hours from one to the next, at most: 23\n"),
        ([25, 1, -12000], "had left: 2; hours from one to the next, at most: 24\n"),
        ([60, 58.5], "had left: 2; hours from one to the next, at most: 59\n"),
        ([800, 0.5], "had left: 1; hours from one to the next, at most: 800\n"),
    ],
)
def test_a_report_says_how_soon_a_child_is_gone(
    seen: Path, register: Register, hours_ago: list[float], said: str
) -> None:
    runs = [
        ("withheld" if hours == 25 else "ok", f"{-60 * hours:+} minutes") for hours in hours_ago
    ]
    with open_database(seen, 5) as db:
        db.execute("UPDATE run SET outcome = 'refused'")
        db.executemany(
            "INSERT INTO run (started, ended, outcome) SELECT moment, moment, ? FROM"
            " (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?) AS moment)",
            runs,
        )
    assert said in register.sync("--report").stdout


def test_a_report_is_csv(seen: Path, register: Register) -> None:
    printed = register.sync("--report", "--csv", "--days", "12").stdout
    assert printed == f"site,views,first,last\r\na.example,1200,{utc_day()},{utc_day()}\r\n"


@pytest.mark.parametrize("days", ["1", "12", "13", "400"])
def test_a_report_is_what_the_api_says(seen: Path, register: Register, days: str) -> None:
    _, *rows = register.sync("--report", "--csv", "--days", days).stdout.split()
    sites = Api(seen, KEY).ask(f"/api/sites?days={days}", X_API_Key=KEY).json["sites"]
    assert rows == [",".join(map(str, site.values())) for site in sites]


def test_a_report_of_nothing(register: Register) -> None:
    fill(register.database, [])
    assert "last 30 days: 0 views on 0 sites\n" in register.sync("--report").stdout
    assert register.sync("--report", "--csv").stdout == "site,views,first,last\r\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--report", "--days", "0"],
        ["--report", "--days", "401"],
        ["--report", "--days", "x"],
        ["--days", "7"],
        ["--csv"],
        ["--report", "--dry-run"],
    ],
)
def test_wrong_options_are_refused(register: Register, options: list[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        register.sync(*options)
    assert exit.value.code == 2
    assert not register.database.exists()
