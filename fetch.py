"""Have the pages of a register: fetched politely, or read from a folder.

Each ends within PAGE_BYTES and, under `time_limit`, within PAGE_SECONDS. Reasons name no
address: a file's address may hold a name.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from pathlib import Path
from types import FrameType
from typing import NamedTuple
from urllib.parse import unquote, urlencode, urljoin, urlsplit

import requests
from protego import Protego
from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from profiles import Profile, absolute

AGENT = "persona404"  # the name that robots.txt may address (RFC 9309, 2.2.1)
PAGE_BYTES = 10_000_000
PAGE_SECONDS = 60.0  # to fetch, parse and read one page; bytes alone bound no parser
RUN_SECONDS = 4 * 3600.0
TRIES = 3
RETRY_STATUS = {429, 500, 502, 503, 504}
RETRY_SECONDS = 30.0  # a page that asks for a longer wait (Retry-After) is given up
REDIRECTS = 5
ROBOTS_BYTES = 500 * 1024  # RFC 9309, 2.5

Form = dict[str, str] | None  # the fields of a POST; None: a GET


class Refused(Exception):
    """The register cannot be read truthfully now: the stored persons must stay."""


class PageError(Exception):
    """One page cannot be had or parsed."""


class Page(NamedTuple):
    """One answer of the register."""

    url: str
    status: int
    location: str | None  # where a redirect leads
    charset: str | None  # of its Content-Type
    body: bytes


class Session(requests.Session):
    """A session that leaves redirects alone: requests reads their bodies whole, with no cap."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class Fetcher:
    """The pages of one register: one connection, a pause between requests, robots.txt
    obeyed (RFC 9309), and never a host that is not the register's own."""

    def __init__(self, profile: Profile, contact: str | None, save: Path | None = None):
        self.profile = profile
        self.save = save  # a folder to keep the pages in
        self.session = Session()
        self.session.headers["User-Agent"] = f"{AGENT}/1 (+{contact})"
        self.rules: dict[str, Protego] = {}  # the robots.txt of each origin
        self.ends = time.monotonic() + RUN_SECONDS
        self.free_at = 0.0  # when the next request may go out

    def get(self, url: str, form: Form = None) -> Page:
        """The page at `url`, by POST where there is a form. PageError when it cannot be had
        after its retries; Refused when robots.txt cannot be had, or when the run has taken
        its whole time."""
        self.check_time()
        if self.profile.pages is not None:
            return saved_page(Path(self.profile.pages), url, form)
        page = self.follow(url, self.check_robots, form)
        if page.status != 200:
            raise PageError(f"HTTP {page.status}")
        if self.save is not None:
            path = page_path(self.save, url, form)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(page.body)
        return page

    def check_time(self) -> None:
        if time.monotonic() > self.ends:
            raise Refused(f"the run took more than {RUN_SECONDS / 3600:.0f} hours")

    def follow(self, url: str, check: Callable[[str], None], form: Form = None) -> Page:
        """What `url` leads to; each address on the way must be the register's own and pass
        `check`."""
        for _ in range(1 + REDIRECTS):
            if urlsplit(url).netloc not in self.profile.own_hosts:
                raise PageError("leads off the register's hosts (profile key `hosts`)")
            check(url)
            page = self.request(url, form)
            if page.location is None:
                return page
            if form is not None:
                raise PageError("redirects a form, which would lose its fields")
            try:
                url = absolute(url, page.location)
            except ValueError:
                raise PageError("redirects to what is no web address") from None
        raise PageError(f"more than {REDIRECTS} redirects")

    def request(self, url: str, form: Form) -> Page:
        """The answer to a request, sent up to TRIES times where that may help."""
        failure, page = "", None
        for attempt in range(TRIES):
            time.sleep(max(0.0, self.free_at - time.monotonic()))
            wait = self.profile.pause * 2**attempt
            try:
                page, retry_after = self.send(url, form)
                if page.status not in RETRY_STATUS or retry_after > RETRY_SECONDS:
                    return page
                wait = max(wait, retry_after)
            except requests.exceptions.SSLError:
                failure = "its certificate cannot be verified (profile key `ca_bundle`)"
            except requests.RequestException as error:
                failure = type(error).__name__  # its text would hold the address
            finally:
                self.free_at = time.monotonic() + wait
        if page is None:
            raise PageError(failure)
        return page

    def send(self, url: str, form: Form) -> tuple[Page, float]:
        """The answer, and the seconds that it asks to wait (RFC 9110, 10.2.3)."""
        with self.session.request(
            "GET" if form is None else "POST",
            url,
            data=form,
            stream=True,
            timeout=(10, 30),
            allow_redirects=False,
            verify=self.profile.ca_bundle or True,
        ) as response:
            body = bytearray()
            for chunk in response.iter_content(65536):
                body += chunk
                if len(body) > PAGE_BYTES:
                    raise PageError(f"more than {PAGE_BYTES // 1_000_000} MB")
            location = response.headers["Location"] if response.is_redirect else None
            if location is not None:  # a header's bytes come as Latin-1; most mean UTF-8
                with suppress(UnicodeError):
                    location = location.encode("latin-1").decode()
            kind = Message()
            kind["Content-Type"] = response.headers.get("Content-Type", "text/html")
            charset = kind.get_content_charset()
            page = Page(url, response.status_code, location, charset, bytes(body))
            try:
                wait = Retry().parse_retry_after(response.headers.get("Retry-After", "0"))
            except (InvalidHeader, ValueError, OverflowError):
                wait = 0.0
            if page.status == 429 and wait > RETRY_SECONDS:
                raise Refused(f"the register asks to wait {wait:.0f} s (Retry-After)")
            return page, wait

    def check_robots(self, url: str) -> None:
        if self.profile.robots:
            origin = urljoin(url, "/")
            if origin not in self.rules:
                self.rules[origin] = self.robots_of(origin)
            if not self.rules[origin].can_fetch(url, AGENT):
                raise PageError("robots.txt forbids it")

    def robots_of(self, origin: str) -> Protego:
        """RFC 9309, 2.3.1: a 4xx allows everything, a 5xx or no answer forbids it."""
        try:
            page = self.follow(origin + "robots.txt", lambda url: None)
        except PageError as error:
            raise Refused(f"robots.txt: {error}") from None
        if page.status >= 500:
            raise Refused(f"robots.txt: HTTP {page.status}")
        text = page.body[:ROBOTS_BYTES] if page.status == 200 else b""
        return Protego.parse(text.decode("utf-8-sig", "replace"))


def page_path(folder: Path, url: str, form: Form) -> Path:
    """The file that stands for a page in `folder`: the address's path and query, the form's
    fields like a query, `index` for a closing slash, `.html` at the end."""
    parts = urlsplit(url)
    name = unquote(parts.path).lstrip("/")
    name += "index" if name.endswith("/") or not name else ""
    name += "".join(f"?{query}" for query in (parts.query, urlencode(form or {})) if query)
    path = (folder / (name if name.endswith(".html") else f"{name}.html")).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise PageError("leads out of the folder")
    return path


def saved_page(folder: Path, url: str, form: Form) -> Page:
    path = page_path(folder, url, form)
    if not path.is_file():
        raise PageError("there is no such page in the folder")
    return Page(url, 200, None, None, path.read_bytes())


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise PageError in the main thread once `seconds` are over, wherever it is then."""

    def expire(signum: int, frame: FrameType | None) -> None:
        raise PageError(f"took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, expire)
    # And again each second: an exception that strikes in a finalizer is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
