"""static/openapi.json describes the API: every route, and examples that are true."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from model import VERSION
from serve.nightly import Synchroniser
from store.database import Reader, open_database, run_lock
from support import KEY, ROOT, STAFF_KEY, missing
from support.api import Api, Reply
from support.register import call_sync

API = json.loads((ROOT / "static" / "openapi.json").read_text())
OPERATIONS = {
    (method.upper(), path): operation
    for path, methods in API["paths"].items()
    for method, operation in methods.items()
}


def resolve(part: dict[str, Any]) -> dict[str, Any]:
    """A part that several operations share, in place of its reference."""
    if "$ref" not in part:
        return part
    _, _, kind, name = part["$ref"].split("/")
    return API["components"][kind][name]


def test_every_route_is_described(api: Api) -> None:
    rules = {(route.method, route.rule.replace("<person>", "{person}")) for route in api.app.routes}
    assert set(OPERATIONS) == rules


def test_the_version_is_the_program_s() -> None:
    last = re.search(r"^## ([0-9.]+) ", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert last and (API["info"]["version"], last[1]) == (VERSION, VERSION)


def test_the_description_is_well_formed_and_its_examples_fit_its_schemas() -> None:
    try:
        import jsonschema
        import openapi_spec_validator
    except ImportError:
        missing("openapi-spec-validator (tests/requirements.txt)")
    openapi_spec_validator.validate(API)
    for _, _, answer, example in examples():
        content = next(iter(answer["content"].values()))
        schema = {**content["schema"], "components": API["components"]}
        jsonschema.Draft202012Validator(schema).validate(example["value"])


# --- The examples are true -----------------------------------------------------------


class StartsNothing(Synchroniser):
    def start(self) -> None:
        pass


def examples() -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Each example: a title, its status or "default", its response, itself. Those of a shared
    response come once."""
    responses = [
        (f"{method} {path}", status, answer)
        for (method, path), operation in OPERATIONS.items()
        for status, answer in operation["responses"].items()
        if "$ref" not in answer
    ]
    shared = API["components"]["responses"].items()
    for title, status, answer in [*responses, *((name, "default", part) for name, part in shared)]:
        for content in answer.get("content", {}).values():
            for name, example in content.get("examples", {}).items():
                yield f"{title} {status} {name}", status, answer, example


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the demo register."""
    database = tmp_path_factory.mktemp("demo") / "demo.db"
    assert call_sync(ROOT / "registers" / "demo.toml", database).returncode == 0
    return database


def api_over(database: Path, key: str | None = KEY) -> Api:
    return Api(database, key, StartsNothing(database), "demo", staff_key=key and STAFF_KEY)


def send(api: Api, example: str) -> Reply:
    """The request that an example's summary writes out."""
    line, _, key = example.replace("KEY", KEY).partition(" with X-API-Key: ")
    method, path = line.split(" ")
    return api.ask(path, method, **({"X_API_Key": key} if key else {}))


def same(text: str | bytes) -> object:
    """JSON without its times, which differ from run to run."""
    text = text if isinstance(text, str) else text.decode()
    return json.loads(re.sub(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?", "TIME", text))


def reply_in_state(
    state: str, example: str, database: Path, monkeypatch: pytest.MonkeyPatch
) -> Reply:
    """The reply to an example's request in the state that the example's name says."""
    with ExitStack() as stack:
        if state == "no-file":
            database.unlink()
            database.mkdir()
        if state in ("nobody", "new"):
            database.unlink()
            stack.enter_context(open_database(database, 5))
        if state == "running":
            stack.enter_context(run_lock(database))
        api = api_over(database, None if state == "no-key" else KEY)
        if state == "seen":
            person = api.get("/api/persona-random")["id"]
            api.get(f"/api/track?e=view&p={person}&d=www.example.org")
            api.views.flush()
        if state == "too-soon":
            assert send(api, example).status == 202
        if state == "adding-up":
            return reply_meanwhile(api, example, monkeypatch)
        return send(api, example)


def reply_meanwhile(api: Api, example: str, monkeypatch: pytest.MonkeyPatch) -> Reply:
    """The reply to a request that comes while the same one is being answered."""
    replies: list[Reply] = []

    def select(reader: Reader, sql: str, **values: object) -> list[object]:
        thread = threading.Thread(target=lambda: replies.append(send(api, example)))
        thread.start()
        thread.join()
        return []

    monkeypatch.setattr(Reader, "select", select)
    assert send(api, example).status == 200
    return replies[0]


@pytest.mark.parametrize(
    ("name", "status", "answer", "example"),
    [pytest.param(title.split()[-1], *rest, id=title) for title, *rest in examples()],
)
def test_an_example_is_true(
    demo: Path,
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    status: str,
    answer: dict[str, Any],
    example: dict[str, Any],
) -> None:
    shutil.copy(demo, database)
    value = example["value"]
    reply = reply_in_state(name, example["summary"], database, monkeypatch)
    assert reply.status == (value["status"] if status == "default" else int(status))
    assert reply.headers["content-type"] == next(iter(answer["content"]))
    assert {name.lower() for name in answer.get("headers", {})} <= reply.headers.keys()
    if name == "anyone":
        assert value in api_over(demo).get("/api/personas?limit=100")["personas"]
        assert reply.json.keys() == value.keys()
    else:
        assert same(reply.body) == same(json.dumps(value))


def ask_as_described(api: Api, method: str, path: str) -> Reply:
    """The reply to a request with the examples of all the parameters."""
    named = [resolve(part) for part in OPERATIONS[method, path].get("parameters", [])]
    query = {p["name"]: p["example"] for p in named if p["in"] == "query"}
    sent = {p["name"].replace("-", "_"): p["example"] for p in named if p["in"] == "header"}
    key = STAFF_KEY if path.endswith("/hide") else KEY
    path = path.format(**{p["name"]: p["example"] for p in named if p["in"] == "path"})
    return api.ask(f"{path}?{urlencode(query)}", method, X_API_Key=key, **sent)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_examples_of_the_parameters_are_answered(
    demo: Path, tmp_path: Path, method: str, path: str
) -> None:
    copy = Path(shutil.copy(demo, tmp_path))  # a hide changes it
    assert ask_as_described(api_over(copy), method, path).status in (200, 202)


@pytest.mark.parametrize(
    ("method", "path"),
    [of for of, operation in OPERATIONS.items() if "$ref" in operation["responses"].get("503", {})],
)
def test_whatever_reads_the_database_says_that_it_cannot(
    database: Path, method: str, path: str
) -> None:
    database.mkdir()
    reply = ask_as_described(api_over(database), method, path)
    assert (reply.status, reply.json["title"]) == (503, "Service Unavailable")
