"""What a request asks, and the answers: a person, JSON, 304, a problem."""

import functools
import hmac
import json
import re
from datetime import datetime
from email.utils import format_datetime
from hashlib import blake2b
from http import HTTPStatus
from typing import Any

from bottle import HTTPResponse, request, response


def parameter(name: str, default: str | None = None) -> str:
    """The query parameter `name`. Missing without a default, given twice or no UTF-8: 400."""
    values = request.environ["persona404.query"].get(name, [default])
    if values == [None]:
        raise problem(400, f"{name}: is missing.")
    if len(values) > 1:
        raise problem(400, f"{name}: is given twice.")
    try:
        return str(values[0]).encode("latin-1").decode()
    except UnicodeDecodeError:
        raise problem(400, f"{name}: is not UTF-8.") from None


def number(name: str, default: int) -> int:
    """A query parameter that is a whole number from 1, in decimal ASCII digits."""
    text = parameter(name, str(default))
    if not re.fullmatch("[0-9]{1,1000}", text) or int(text) == 0:
        raise problem(400, f"{name}: must be a whole number from 1.")
    return int(text)


def header(name: str) -> str:
    """A header of the request, each byte one character; "" without it. `name` as WSGI has it,
    such as USER_AGENT. Bottle's own headers fail on bytes that are no UTF-8."""
    return str(request.environ.get("HTTP_" + name, ""))


def to_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def answer(body: bytes, media_type: str = "application/json") -> bytes:
    # Bottle's HTTPResponse would cost as much as a SELECT.
    response.set_header("Content-Type", media_type)
    response.set_header("Cache-Control", "no-store")
    return body


def answer_person(json: str, read: str) -> bytes:
    """A person; `Last-Modified` is the end of the last good run, for cards to say it."""
    response.set_header("Last-Modified", http_date(read))
    return answer(json.encode())


@functools.lru_cache(1)  # it would cost a fifth of a draw
def http_date(utc: str) -> str:
    """A moment of the database in the form of RFC 9110, 5.6.7."""
    return format_datetime(datetime.fromisoformat(utc), usegmt=True)


def revalidated(body: bytes, headers: dict[str, str]) -> bytes:
    """An answer that caches may keep but must ask about: ETag, 304 (RFC 9110, 13.1.2)."""
    # 128 bits: the page without a hidden child never has the tag of the page with the child.
    tag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    for name, value in {"Cache-Control": "no-cache", "ETag": tag, **headers}.items():
        response.set_header(name, value)
    tags = [text.strip().removeprefix("W/") for text in header("IF_NONE_MATCH").split(",")]
    if tag not in tags and "*" not in tags:
        return body
    response.status = 304
    return b""


def problem(
    status: int, detail: str, headers: dict[str, str] | None = None, **more: object
) -> HTTPResponse:
    """An error as `application/problem+json` (RFC 9457), to be raised."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    common = {"Content-Type": "application/problem+json", "Cache-Control": "no-store"}
    return HTTPResponse(to_json(body), status, {**common, **(headers or {})})


def require_key(key: str | None, setting: str) -> None:
    """Refuse a request that lacks the key of a setting in a header."""
    if key is None:
        raise problem(503, f"This service has no {setting}: its operator sets it.")
    scheme, _, token = header("AUTHORIZATION").partition(" ")
    sent = header("X_API_KEY") or (token.strip() if scheme.lower() == "bearer" else "")
    if not hmac.compare_digest(sent.encode("latin-1"), key.encode()):
        detail = "A valid key is needed in X-API-Key or Authorization: Bearer."
        raise problem(401, detail, {"WWW-Authenticate": 'Bearer realm="persona404"'})
