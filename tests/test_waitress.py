"""The API through a running waitress: what depends on a real server, and a few of the rest."""

import threading
from pathlib import Path

import pytest

from support import KEY
from support.api import ServedApi, views_of

TRACK = "/api/track?e=view&p=prueba-7&d=sitio.example"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/persona-random", 200),
        ("GET", "/api/personas?limit=1&page=25", 200),
        ("GET", "/api/stats/", 200),
        ("GET", "/health", 200),
        ("GET", "/", 200),
        ("GET", TRACK, 200),
        ("HEAD", "/api/stats", 200),
        ("OPTIONS", "/api/stats", 204),
        ("GET", "/api/personas?limit=x", 400),
        ("GET", "/api/stats%ff", 404),
        ("DELETE", "/api/stats", 405),
        ("POST", "/api/scrape/trigger", 401),
    ],
)
def test_a_request_is_answered(served: ServedApi, method: str, path: str, status: int) -> None:
    reply = served.ask(path, method)
    assert reply.status == status
    assert reply.headers["access-control-allow-origin"] == "*"
    assert (reply.headers.get("content-type") == "application/problem+json") == (status >= 400)


def test_an_etag_is_revalidated(served: ServedApi) -> None:
    tag = served.ask("/api/stats").headers["etag"]
    assert served.ask("/api/stats", If_None_Match=tag).status == 304


def test_a_header_that_is_no_utf8_is_a_wrong_key(served: ServedApi) -> None:
    reply = served.ask("/api/scrape/trigger", "POST", X_API_Key=KEY + "\xff")
    assert reply.status == 401


def test_views_of_many_threads_all_count(served: ServedApi, database: Path) -> None:
    statuses: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: statuses.extend(served.ask(TRACK).status for _ in range(25))
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    served.views.flush()
    assert statuses == [200] * 200
    assert views_of(database) == [("sitio.example", 200)]
