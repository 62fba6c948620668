"""Web addresses: as a register writes them, as they are fetched, as they are stored."""

import re
from urllib.parse import urldefrag, urljoin, urlsplit, urlunsplit

from requests import PreparedRequest

LONGEST = 2000  # characters
SESSION_PATH = re.compile(";jsessionid=[^/]*", re.IGNORECASE)
SESSION_QUERY = re.compile("(?:phpsessid|jsessionid|utm_[a-z_]+)=", re.IGNORECASE)


def resolve(base: str, text: str) -> str:
    """The address `text` as seen from the page `base`, escaped as a browser sends it. ValueError
    unless that is an http or https address of at most LONGEST characters."""
    address = urljoin(base, text.strip())
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        wrong = f", not with {parts.scheme}:" if parts.scheme else ""
        raise ValueError(f"an address begins with https://{wrong}")
    if not parts.hostname or "@" in parts.netloc:
        raise ValueError("not a web address")
    if "\ufffd" in address:
        raise ValueError("broken characters, or a JSON value that is no text")
    request = PreparedRequest()
    request.prepare_url(address, None)
    if len(request.url or "") > LONGEST:
        raise ValueError("too long")
    return request.url or ""


def web_address(base: str, text: str) -> str:
    """resolve(), but "" where that is no address, or `text` is empty."""
    try:
        return resolve(base, text) if text else ""
    except ValueError:
        return ""


def https(address: str) -> str:
    """`address` with http raised to https."""
    parts = urlsplit(address)
    if parts.scheme != "http":
        return address
    return urlunsplit(("https", parts.netloc.removesuffix(":80"), *parts[2:]))


def stored_address(address: str, keep_fragment: bool = False) -> str:
    """`address` as it is stored: https, and without what changes from visit to visit (a session,
    utm_*, a repeated slash). A fragment stays if it is a path (#/1, #!1) or `keep_fragment`."""
    parts = urlsplit(https(address))
    path = re.sub("/{2,}", "/", SESSION_PATH.sub("", parts.path))
    query = "&".join(q for q in parts.query.split("&") if not SESSION_QUERY.match(q))
    is_part = keep_fragment or parts.fragment.startswith(("/", "!"))
    return urlunsplit((*parts[:2], path, query, parts.fragment if is_part else ""))


def page_of(address: str) -> str:
    """`address` for comparing pages: https, without session, `www.`, fragment and closing slash."""
    return bare(urldefrag(stored_address(address)).url)


def bare(stored: str) -> str:
    """A stored address without `www.` and closing slash, which do not make another page."""
    return stored.replace("//www.", "//", 1).rstrip("/")
