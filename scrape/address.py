"""Web addresses: as a register writes them, as they are fetched, as they are stored."""

from urllib.parse import urljoin, urlsplit, urlunsplit

import requests

LONGEST = 2000  # characters


def absolute(base: str, text: str) -> str:
    """The address `text` as seen from the page `base`, escaped as a browser sends it.

    ValueError unless that is an http or https address of at most LONGEST characters."""
    address = urljoin(base, text.strip())
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("not a web address")
    escaped = requests.Request("GET", address).prepare().url
    if escaped is None or len(escaped) > LONGEST:
        raise ValueError("too long")
    return escaped


def https(address: str) -> str:
    """`address` as it is stored: with http raised to https."""
    parts = urlsplit(address)
    if parts.scheme != "http":
        return address
    return urlunsplit(("https", parts.netloc.removesuffix(":80"), *parts[2:]))
