"""openapi.json, README and app.py agree: routes, parameters, statuses, fields, examples."""

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import webtest
from conftest import KEY, ROOT, missing, run_sync
from test_readme import README, same

import app
import sync

API = json.loads((ROOT / "static" / "openapi.json").read_text())
OPERATIONS = {
    (method.upper(), path): operation
    for path, methods in API["paths"].items()
    for method, operation in methods.items()
}
FUNCTIONS = {
    node.name: node
    for file in ("app.py", "generation.py")
    for node in ast.walk(ast.parse((ROOT / file).read_text()))
    if isinstance(node, ast.FunctionDef)
}


def routes() -> dict[tuple[str, str], str]:
    """Each route with the name of the function that answers it."""
    found = app.create_app(ROOT / "unused.db", "demo").routes
    return {(route.method, route.rule): route.callback.__name__ for route in found}


def calls(name: str) -> Iterator[tuple[str, list[Any]]]:
    """Each call in a function of app.py and in those that it calls: name, constant arguments."""
    for node in ast.walk(FUNCTIONS[name]):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            yield called, [a.value for a in node.args if isinstance(a, ast.Constant)]
            if called in FUNCTIONS:
                yield from calls(called)


def statuses(function: str) -> set[str]:
    found = set()
    for name, arguments in calls(function):
        if name == "problem":
            found.add(str(arguments[0]))
        elif name == "answer":
            found.add(next((str(a) for a in arguments if isinstance(a, int)), "200"))
        elif name == "revalidated":
            found |= {"200", "304"}
    return found


def parameters(function: str) -> set[str]:
    named = calls(function)
    return {args[0] for name, args in named if name in ("parameter", "number") and args}


def fields(schema: dict[str, Any]) -> set[str]:
    """The fields of a schema and of those that it is made of."""
    if "$ref" in schema:
        return fields(API["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    inner = [*schema.get("allOf", []), *schema.get("anyOf", []), schema.get("items", {})]
    inner += schema.get("properties", {}).values()
    found = set(schema.get("properties", {}))
    return found.union(*map(fields, inner)) if any(inner) else found


def answers(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """An operation's responses by status, those of all operations looked up."""
    common = API["components"]["responses"]
    return {
        status: common[answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer
        for status, answer in operation["responses"].items()
    }


def test_every_route_is_described() -> None:
    assert set(OPERATIONS) == set(routes())


@pytest.mark.parametrize("route", OPERATIONS)
def test_every_status_is_described(route: tuple[str, str]) -> None:
    described = set(answers(OPERATIONS[route])) - {"default"}
    assert described == statuses(routes()[route])


@pytest.mark.parametrize("route", OPERATIONS)
def test_every_parameter_is_described(route: tuple[str, str]) -> None:
    described = OPERATIONS[route].get("parameters", [])
    query = {parameter["name"] for parameter in described if parameter["in"] == "query"}
    assert query == parameters(routes()[route])


@pytest.mark.parametrize("route", OPERATIONS)
def test_readme_tells_the_same(route: tuple[str, str]) -> None:
    section = README.split(f"### {' '.join(route)}\n")[1].split("\n#")[0]
    operation = OPERATIONS[route]
    query = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query"]
    answered = answers(operation)
    told = set(re.findall(r'[`"]([A-Za-z]+)[`"=]', section))
    good = [answered[status].get("content", {}) for status in answered if status[0] == "2"]
    schemas = [kind.get("schema", {}) for content in good for kind in content.values()]
    names = set(query).union(*map(fields, schemas))
    assert names - told == set()
    usual = {"200", "304", "400", "503", "default"}  # README tells these once, for all
    assert set(answered) - usual <= set(re.findall(r"\b[1-5][0-9]{2}\b", section))


# --- The examples --------------------------------------------------------------------


def examples() -> Iterator[tuple[str, str, str, Any, Any]]:
    """Each example: its route, status and name, its request, its body."""
    for (method, path), operation in OPERATIONS.items():
        for status, answer in answers(operation).items():
            for kind, content in answer.get("content", {}).items():
                for name, example in content.get("examples", {}).items():
                    label = f"{method} {path} {status} {name}"
                    yield label, kind, status, example["summary"], example["value"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the demo register."""
    database = tmp_path_factory.mktemp("demo") / "demo.db"
    assert run_sync(ROOT / "registers" / "demo.toml", database).returncode == 0
    return database


def service(name: str, demo: Path, folder: Path) -> webtest.TestApp:
    """The API in the state that an example of this name needs."""
    database = folder / "demo.db"
    if name == "broken":
        database.write_bytes(b"no database " * 100)
    elif name in ("nobody", "new"):
        sync.open_database(database, 5).close()
    else:
        shutil.copy(demo, database)
    key = None if name == "no-key" else KEY
    api = webtest.TestApp(app.create_app(database, "demo", key, lambda: name != "running"))
    if name == "seen":
        person = api.get("/api/persona-random").json["id"]
        api.get(f"/api/track?e=view&p={person}&d=www.example.org")
    return api


@pytest.mark.parametrize(
    ("kind", "status", "request_line", "value"),
    [pytest.param(*rest, id=label) for label, *rest in examples()],
)
def test_an_example_is_true(
    request: pytest.FixtureRequest,
    demo: Path,
    tmp_path: Path,
    kind: str,
    status: str,
    request_line: str,
    value: Any,
) -> None:
    state = request.node.callspec.id.rpartition(" ")[2]
    # "nobody" of personas is a region without anybody, of persona-random an empty list.
    state = "full" if state == "nobody" and status == "200" else state
    line, _, key = request_line.replace("KEY", KEY).partition(" with X-API-Key: ")
    method, path = line.split(" ")
    headers = {"X-API-Key": key} if key else {}
    api = service(state, demo, tmp_path)
    reply = api.request(path, method=method, headers=headers, expect_errors=True)
    assert reply.status_int == (value["status"] if status == "default" else int(status))
    assert reply.content_type == kind
    if path.startswith("/api/persona-random") and status == "200":
        assert value in api.get("/api/personas?limit=100").json["personas"]
        assert reply.json.keys() == value.keys()
    else:
        assert same(reply.text) == same(json.dumps(value))


def test_the_examples_of_the_parameters_are_answered(demo: Path, tmp_path: Path) -> None:
    api = service("full", demo, tmp_path)
    for (method, path), operation in OPERATIONS.items():
        named = operation.get("parameters", [])
        query = {p["name"]: p["example"] for p in named if p["in"] == "query"}
        headers = {p["name"]: p["example"] for p in named if p["in"] == "header"}
        headers["X-API-Key"] = KEY
        reply = api.request(f"{path}?{urlencode(query)}", method=method, headers=headers)
        assert str(reply.status_int) in answers(operation)


def test_the_description_is_well_formed_and_its_examples_fit_its_schemas() -> None:
    try:
        import jsonschema
        import openapi_spec_validator
    except ImportError:
        missing("openapi-spec-validator (tests/requirements.txt)")
    openapi_spec_validator.validate(API)
    for operation in OPERATIONS.values():
        for answer in answers(operation).values():
            for content in answer.get("content", {}).values():
                for example in content.get("examples", {}).values():
                    schema = {**content["schema"], "components": API["components"]}
                    jsonschema.Draft202012Validator(schema).validate(example["value"])
