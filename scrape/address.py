"""Web addresses: as a register writes them, as they are fetched, stored, sent by people."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urldefrag, urljoin, urlsplit, urlunsplit

from requests import PreparedRequest

from model import SettingError, person_id

LONGEST = 2000  # characters
SESSION_PATH = re.compile(";jsessionid=[^/]*", re.IGNORECASE)
SESSION_QUERY = re.compile(
    "(?:phpsessid|jsessionid|utm_[a-z_]+|fbclid|gclid|igsh(?:id)?|mc_[ce]id)=", re.IGNORECASE
)


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


def possible_ids(who: str, register: str) -> list[list[str]]:
    """The ids that an id or a link may stand for, the likeliest first."""
    id = rf"({register}-[0-9]+)"
    if own := re.match(rf"https?://\S+/p/{id}\b|{id}\Z", unquote(who)):
        return [[own[own.lastindex or 0]]]
    try:
        address = resolve("", who)
    except ValueError as error:
        no_id = f"{who} is no id of the register {register} ({register}-NUMBER)"
        raise SettingError(f"{no_id}, nor the address of a file page: {error}") from None
    return [[person_id(register, form) for form in forms] for forms in shared_forms(address)]


def shared_forms(link: str) -> Iterator[list[str]]:
    """What a link that somebody sends may be as a stored address: as it is, then with less and less
    of the parameters at its end; then so an address among them (l.facebook.com/l.php?u=)."""
    inner = (web_address("", text) for _, text in parse_qsl(urlsplit(link).query))
    for address in (link, *filter(None, inner)):
        parts = urlsplit(address)
        pieces = parts.query.split("&")
        for count in range(len(pieces), -1, -1):
            yield stored_forms(parts._replace(query="&".join(pieces[:count])).geturl())


def stored_forms(address: str) -> list[str]:
    """How an address may be stored: with and without closing slash, `www.`, `/amp`."""
    forms = [https(address)]
    for keep in (False, True):
        parts = urlsplit(stored_address(address, keep))
        path, host = parts.path.rstrip("/"), parts.netloc.removeprefix("www.")
        for p in (parts.path, path, path + "/", path.removesuffix("/amp")):
            forms += [parts._replace(netloc=h, path=p).geturl() for h in (host, f"www.{host}")]
    return forms


def page_of(address: str) -> str:
    """`address` for comparing pages: https, without session, `www.`, fragment and closing slash."""
    return bare(urldefrag(stored_address(address)).url)


def bare(stored: str) -> str:
    """A stored address without `www.` and closing slash, which do not make another page."""
    return stored.replace("//www.", "//", 1).rstrip("/")
