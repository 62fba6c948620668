"""What holds for any request, tried with generated ones (hypothesis)."""

import json
import os
import re
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from conftest import Figure, Reply, ask_wsgi, fill, made_up

import app

if find_spec("hypothesis") is None and not os.environ.get("CI"):
    pytest.skip("hypothesis (tests/requirements.txt) is not installed", allow_module_level=True)

from hypothesis import example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow
CASES = 2000
TRIED = settings(max_examples=CASES, deadline=None, derandomize=True, database=None)
LABELS = st.sampled_from(
    ["a", "www", "b-1", "_c", "ñandú", "STRASSE", "xn--nxasmm1c", "0x1", "-", "7"]
)
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
PERSONS = st.integers(0, 30).map(lambda n: f"prueba-{n}")
DIGITS = st.from_regex("[0-9]{1,30}", fullmatch=True)


def mostly(usual: st.SearchStrategy[str], odd: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One in five is odd; of five such parameters a third of all requests have none."""
    return st.integers(1, 5).flatmap(lambda n: odd if n == 5 else usual)


def assert_problem(reply: Reply, *names: str) -> None:
    """A 400 that names one of the parameters."""
    assert reply.status == 400
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["access-control-allow-origin"] == "*"
    problem = json.loads(reply.body)
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["detail"].partition(":")[0] in names


def queried(**values: str) -> str:
    return "&".join(f"{k}={quote_plus(v.encode('utf-8', 'replace'))}" for k, v in values.items())


def test_any_view_is_counted_once_or_not_at_all(
    database: Path, figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(database, [made_up(n) for n in range(1, 26)])
    api = app.create_app(database, "prueba")
    monkeypatch.setattr(app, "SITES_A_DAY", 10**9)
    answered = total = 0

    @TRIED
    @given(
        e=mostly(st.just("view"), st.text(max_size=9)),
        p=mostly(PERSONS, st.text()),
        d=mostly(HOSTS, st.text() | st.text("a.:[]7ß。-")),
        agent=mostly(st.just("Mozilla/5.0"), st.text("Mozila/5.0botBOT", max_size=9)),
        referer=mostly(st.just(""), HOSTS.map(lambda d: f"https://{d}/x") | st.text("ht/:[]x")),
        accept=st.sampled_from(["*/*", "image/webp", ""]),
    )
    @example(e="view", p="prueba-1", d="a" * 300, agent="", referer="", accept="")
    def track(e: str, p: str, d: str, agent: str, referer: str, accept: str) -> None:
        nonlocal answered, total
        headers = {"HTTP_USER_AGENT": agent, "HTTP_REFERER": referer, "HTTP_ACCEPT": accept}
        reply = ask_wsgi(api, "/api/track", queried(e=e, p=p, d=d), **headers)
        ((views,),) = db.execute("SELECT coalesce(sum(views), 0) FROM view")
        if reply.status == 200:
            answered += 1
            assert views in (total, total + 1)
        else:
            assert_problem(reply, "e", "p", "d")
            assert views == total
        total = views

    with closing(sqlite3.connect(database)) as db:
        track()
        counted = db.execute("SELECT site, person, views FROM view").fetchall()
    assert 100 < total == sum(views for _, _, views in counted)
    assert {person for _, person, _ in counted} <= {f"prueba-{n}" for n in range(1, 26)}
    assert all(re.fullmatch(r"[a-z0-9_.-]+\.[a-z0-9_-]+", site) for site, _, _ in counted)
    figure(f"hypothesis on track: {CASES} cases, {answered} answered, {total} of them counted")


def test_any_bytes_are_answered(database: Path, figure: Figure) -> None:
    fill(database, [made_up(n) for n in range(1, 26)])
    api = app.create_app(database, "prueba")
    pieces = st.sampled_from(
        ["e=view", "p=prueba-1", "d=a.example", "limit=1", "page=2", "region="]
    )
    raw = st.binary(max_size=40).map(lambda some: some.decode("latin-1"))

    @TRIED
    @given(
        path=st.sampled_from(["/api/track", "/api/personas", "/api/persona-random", "/api/stats"]),
        query=st.lists(pieces | raw, max_size=6).map("&".join),
        header=raw,
    )
    def ask(path: str, query: str, header: str) -> None:
        names = ("HTTP_ACCEPT", "HTTP_REFERER", "HTTP_USER_AGENT", "HTTP_IF_NONE_MATCH")
        reply = ask_wsgi(api, path, query, **dict.fromkeys(names, header))
        if reply.status not in (200, 304):
            assert_problem(reply, "e", "p", "d", "limit", "page", "region")

    ask()
    figure(f"hypothesis on raw queries and headers: {CASES} cases, 200, 304 or a problem")


@pytest.mark.parametrize("count", [0, 1, 25])
def test_any_pages_make_the_list(database: Path, figure: Figure, count: int) -> None:
    everybody = [f"prueba-{n}" for n in range(1, count + 1)]
    fill(database, [made_up(n) for n in range(1, count + 1)])
    api = app.create_app(database, "prueba")

    @TRIED
    @given(limit=st.integers(1, 130).map(str) | DIGITS | st.text(), page=DIGITS | st.text())
    def pages(limit: str, page: str) -> None:
        reply = ask_wsgi(api, "/api/personas", queried(limit=limit, page=page))
        good = all(re.fullmatch("[0-9]+", text) and int(text) for text in (limit, page))
        if not good:
            return assert_problem(reply, "limit", "page")
        assert reply.status == 200
        size, number = min(int(limit), 100), int(page)
        body = json.loads(reply.body)
        assert (body["page"], body["total"], body["totalPages"]) == (
            number,
            count,
            -(-count // size),
        )
        shown = [person["id"] for person in body["personas"]]
        assert shown == sorted(everybody)[(number - 1) * size : number * size]
        return None

    pages()
    figure(f"hypothesis on paging {count} persons: {CASES} cases")
