"""One person by id: still sought, no longer listed, or it cannot be told (decisions.md)."""

from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from store.database import open_database, transaction
from store.hidden import hide
from support.api import Api, Reply, fill, made_up

GONE = "/api/personas/prueba-99"  # who was never listed
UNLIKE = {"date"}


def execute(database: Path, sql: str) -> None:
    with open_database(database, 5) as db, transaction(db):
        db.execute(sql)


def alike(reply: Reply) -> tuple[int, dict[str, str], bytes]:
    """All that a reply can tell."""
    headers = {name: text for name, text in reply.headers.items() if name not in UNLIKE}
    return reply.status, headers, reply.body


@pytest.fixture
def today(database: Path) -> Api:
    """3 is listed; 1 was found, 2 is hidden, 7 is 3's former id."""
    fill(database, [made_up(1), made_up(2), made_up(3)])
    fill(database, [made_up(2), made_up(3)])
    with open_database(database, 5) as db:
        hide(db, ["prueba-2"])
    execute(database, "INSERT INTO found VALUES ('prueba-1', NULL)")
    execute(database, "INSERT INTO former VALUES ('prueba-7', 'prueba-3'), ('prueba-8', NULL)")
    return Api(database)


@pytest.mark.parametrize("id", ["prueba-3", "prueba-7", "prueba-3/"])
def test_a_child_who_is_sought_is_there(today: Api, id: str) -> None:
    assert today.get(f"/api/personas/{id}") == made_up(3)._asdict()


@pytest.mark.parametrize(
    "id", ["prueba-1", "prueba-2", "otro-3", "x", "-", "PRUEBA-3", "prueba-03", "%C3", "1" * 300]
)
def test_found_hidden_never_listed_and_malformed_are_alike(today: Api, id: str) -> None:
    reply = today.ask(f"/api/personas/{id}")
    assert alike(reply) == alike(today.ask(GONE))
    assert reply.status == 404


def test_an_id_that_stood_for_two_children_leads_to_nobody(today: Api) -> None:
    assert today.ask("/api/personas/prueba-8").status == 503


@pytest.mark.parametrize("id", ["prueba-3", "prueba-1", "x"])
@pytest.mark.parametrize("ended", ["2024-02-01T03:00:00Z", None])
def test_what_cannot_be_told_is_503(database: Path, id: str, ended: str | None) -> None:
    with open_database(database, 5):
        pass  # new: never read
    if ended:
        fill(database, [made_up(3)], ended)
    assert Api(database).ask(f"/api/personas/{id}").status == 503


@pytest.mark.parametrize(
    "path", ["/api/persona-random", "/api/persona-random?region=x", "/api/personas/prueba-3"]
)
def test_a_person_says_when_the_register_was_read(database: Path, path: str) -> None:
    fill(database, [made_up(3)])
    api = Api(database)
    modified = parsedate_to_datetime(api.ask(path).headers["last-modified"])
    assert f"{modified:%Y-%m-%dT%H:%M:%SZ}" == api.get("/api/stats")["lastSync"]


@pytest.mark.parametrize(
    "path",
    ["/embed.js", "/words.json", "/api/persona-random", "/api/track", "/foto/x", GONE, "/nothing"],
)
def test_a_page_that_is_isolated_may_embed_it(api: Api, path: str) -> None:
    assert api.ask(path).headers["cross-origin-resource-policy"] == "cross-origin"
