"""What is true of every request, tried with generated ones (hypothesis)."""

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest

from conftest import Figure
from support.api import Api, Reply, ask_wsgi, fill, made_up, views_of

if find_spec("hypothesis") is None and not os.environ.get("CI"):
    pytest.skip("hypothesis (tests/requirements.txt) is not installed", allow_module_level=True)

from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

LABELS = st.sampled_from(
    ["a", "www", "b-1", "_c", "ñandú", "STRASSE", "xn--nxasmm1c", "0x1", "-", "7"]
)
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
PERSONS = st.integers(0, 30).map(lambda n: f"prueba-{n}")
DIGITS = st.from_regex("[0-9]{1,30}", fullmatch=True)

Tried = Callable[[Callable[..., None]], Callable[..., None]]


@pytest.fixture
def cases(full: bool) -> int:
    return 2000 if full else 200


@pytest.fixture
def tried(cases: int) -> Tried:
    return settings(max_examples=cases, deadline=None, derandomize=True, database=None)


def mostly(usual: st.SearchStrategy[str], odd: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One in five is odd: a request with five such parameters has none with probability 1/3."""
    return st.integers(1, 5).flatmap(lambda n: odd if n == 5 else usual)


def assert_problem(reply: Reply, *names: str) -> None:
    """A 400 that names one of the parameters."""
    assert reply.status == 400
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["access-control-allow-origin"] == "*"
    assert set(reply.json) == {"type", "title", "status", "detail"}
    assert reply.json["detail"].partition(":")[0] in names


def queried(**values: str) -> str:
    return "&".join(f"{k}={quote_plus(v.encode('utf-8', 'replace'))}" for k, v in values.items())


def test_any_view_is_counted_once_or_not_at_all(
    api: Api, cases: int, tried: Tried, figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.views.NEW_SITES_A_DAY", 10**9)
    answered = total = 0

    @tried
    @given(
        e=mostly(st.just("view"), st.text(max_size=9)),
        p=mostly(PERSONS, st.text()),
        d=mostly(HOSTS, st.text() | st.text("a.:[]7ß。-") | st.just("a" * 300)),
        agent=mostly(st.just("Mozilla/5.0"), st.text("Mozila/5.0botBOT", max_size=9)),
        referer=mostly(st.just(""), HOSTS.map(lambda d: f"https://{d}/x") | st.text("ht/:[]x")),
        accept=st.sampled_from(["*/*", "image/webp", ""]),
    )
    def track(e: str, p: str, d: str, agent: str, referer: str, accept: str) -> None:
        nonlocal answered, total
        sent = {"HTTP_USER_AGENT": agent, "HTTP_REFERER": referer, "HTTP_ACCEPT": accept}
        reply = ask_wsgi(api.app, "/api/track", queried(e=e, p=p, d=d), **sent)
        api.views.flush()
        ((counted,),) = db.execute("SELECT coalesce(sum(views), 0) FROM site")
        if reply.status == 200:
            answered += 1
            assert counted in (total, total + 1)
        else:
            assert_problem(reply, "e", "p", "d")
            assert counted == total
        total = counted

    with closing(sqlite3.connect(api.views.database)) as db:
        track()
        persons = db.execute("SELECT person FROM person_views").fetchall()
    sites = views_of(api.views.database)
    assert cases // 20 < total == sum(count for _, count in sites)
    assert {person for (person,) in persons} <= {f"prueba-{n}" for n in range(1, 26)}
    assert all(re.fullmatch(r"[a-z0-9_.-]+\.[a-z0-9_-]+", site) for site, _ in sites)
    figure(f"hypothesis on track: {cases} cases, {answered} answered, {total} of them counted")


def test_any_bytes_are_answered(api: Api, cases: int, tried: Tried, figure: Figure) -> None:
    pieces = st.sampled_from(
        ["e=view", "p=prueba-1", "d=a.example", "limit=1", "page=2", "region="]
    )
    raw = st.binary(max_size=40).map(lambda some: some.decode("latin-1"))

    @tried
    @given(
        path=st.sampled_from(["/api/track", "/api/personas", "/api/persona-random", "/api/stats"]),
        query=st.lists(pieces | raw, max_size=6).map("&".join),
        header=raw,
    )
    def ask(path: str, query: str, header: str) -> None:
        names = ("HTTP_ACCEPT", "HTTP_REFERER", "HTTP_USER_AGENT", "HTTP_IF_NONE_MATCH")
        reply = ask_wsgi(api.app, path, query, **dict.fromkeys(names, header))
        if reply.status not in (200, 304):
            assert_problem(reply, "e", "p", "d", "limit", "page", "region")

    ask()
    figure(f"hypothesis on raw queries and headers: {cases} cases, 200, 304 or a problem")


@pytest.mark.parametrize("count", [0, 1, 25])
def test_any_pages_make_the_list(
    database: Path, cases: int, tried: Tried, figure: Figure, count: int
) -> None:
    persons = [made_up(n, f"{n:02}/02/2024") for n in range(count, 0, -1)]
    fill(database, persons)
    api = Api(database)

    @tried
    @given(limit=st.integers(1, 130).map(str) | DIGITS | st.text(), page=DIGITS | st.text())
    def pages(limit: str, page: str) -> None:
        reply = ask_wsgi(api.app, "/api/personas", queried(limit=limit, page=page))
        if not all(re.fullmatch("[0-9]+", text) and int(text) for text in (limit, page)):
            assert_problem(reply, "limit", "page")
            return
        assert reply.status == 200
        size, number = min(int(limit), 100), int(page)
        shown = [person.id for person in persons[(number - 1) * size : number * size]]
        expected = {"total": count, "page": number, "totalPages": -(-count // size)}
        got: dict[str, Any] = reply.json
        assert [person["id"] for person in got.pop("personas")] == shown
        assert got == expected

    pages()
    figure(f"hypothesis on paging {count} persons: {cases} cases")
