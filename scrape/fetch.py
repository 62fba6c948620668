"""Fetch a register's pages politely, or read them from a folder of saved pages.

    address --robots.txt--> pause --> request, up to TRIES --> redirects --> Page

Each page ends within PAGE_BYTES and, under `time_limit`, within PAGE_SECONDS, pauses not counted.
Errors name no address but the host's: the address of a file page may contain a person's name.
"""

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import NamedTuple
from urllib.parse import unquote, urlencode, urljoin, urlsplit

import requests
from protego import Protego
from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from model import VERSION
from scrape.address import web_address
from scrape.profile import Profile

AGENT = "persona404"  # the name that robots.txt may address (RFC 9309, 2.2.1)
PAGE_BYTES = 10_000_000
PAGE_SECONDS = 60.0  # to fetch, parse and read one page: a small page can parse for hours
RUN_SECONDS = 4 * 3600.0
TRIES = 3
RETRY_STATUS = {429, 500, 502, 503, 504}
TIMEOUT = (10, 30)  # seconds to connect, and between two pieces of an answer
RETRY_SECONDS = 30.0  # a page that asks for a longer wait (Retry-After) is not tried again
REDIRECTS = 5
FILE_NAME_BYTES = 240  # a file system takes 255
CHARSET = re.compile(r"charset=\s*[\"']?([\w.:-]+)", re.IGNORECASE)  # in a Content-Type
ROBOTS_BYTES = 500 * 1024  # RFC 9309, 2.5

Form = dict[str, str] | None  # the fields of a POST; None for a GET


class Refused(Exception):
    """The register cannot be read reliably now: the stored persons must stay."""


class PageError(Exception):
    """One page cannot be fetched, parsed or read. `status` is HTTP's, 0 without one."""

    def __init__(self, reason: str, status: int = 0):
        super().__init__(reason)
        self.status = status


class NoAnswer(PageError):
    """The register did not answer, or not completely, or not just now (RETRY_STATUS)."""


class Page(NamedTuple):
    """One answer of the register."""

    url: str
    status: int
    location: str | None  # where a redirect leads
    charset: str | None  # of its Content-Type
    body: bytes


class Session(requests.Session):
    """A session that follows no redirect: requests would read its body whole, of any size."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class Fetcher:
    """Fetches one register's pages: only from its own hosts, as robots.txt allows (RFC 9309), with
    a pause between requests. A run ends RUN_SECONDS after its Fetcher was made, or sooner: at
    `run_ends`."""

    def __init__(self, profile: Profile, contact: str | None, save: Path | None = None):
        self.profile = profile
        self.save = save
        self.hosts = profile.own_hosts
        self.session = Session()
        self.session.headers["User-Agent"] = f"{AGENT}/{VERSION} (+{contact})"
        self.rules: dict[str, Protego] = {}  # of robots.txt, by origin
        self.run_ends = time.monotonic() + RUN_SECONDS
        self.next_request = 0.0  # the moment from which it may be sent, in time.monotonic()

    def get(self, url: str, form: Form = None, is_image: bool = False) -> Page:
        """Fetch the page at `url`, by POST if there is a form; images are not saved. PageError
        where that fails after the retries; Refused if robots.txt does, or after RUN_SECONDS."""
        self.check_time()
        if self.profile.pages_dir:
            return saved_page(Path(self.profile.pages_dir), url, form, "" if is_image else ".html")
        page = self.follow(url, self.check_robots, form)
        if page.status != 200:
            kind = NoAnswer if page.status in RETRY_STATUS else PageError
            raise kind(f"HTTP {page.status}", page.status)
        if self.save and not is_image:
            path = page_path(self.save, url, form)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(page.body)
        return page

    def check_time(self) -> None:
        if time.monotonic() > self.run_ends:
            raise Refused("the run took more than the time it has")

    def check_robots(self, url: str) -> None:
        """PageError where robots.txt forbids `url`."""
        if not self.profile.robots:
            return
        origin = urljoin(url, "/")
        if origin not in self.rules:
            self.rules[origin] = self.fetch_robots(origin)
        if not self.rules[origin].can_fetch(url, AGENT):
            raise PageError("robots.txt forbids it")

    def fetch_robots(self, origin: str) -> Protego:
        """The rules of an origin (RFC 9309, 2.3.1): a 4xx allows all; Refused for a 5xx or none."""
        address = urlsplit(origin).netloc + "/robots.txt"
        try:
            page = self.follow(origin + "robots.txt", lambda url: None)
        except PageError as error:
            raise Refused(f"{address}: {error}") from None
        if page.status >= 500:
            raise Refused(f"{address}: HTTP {page.status}")
        text = page.body[:ROBOTS_BYTES] if page.status == 200 else b""
        return Protego.parse(text.decode("utf-8-sig", "replace"))

    def follow(self, url: str, check: Callable[[str], None], form: Form = None) -> Page:
        """Request `url` and what it redirects to, each address once `check` has allowed it."""
        for _ in range(1 + REDIRECTS):
            if urlsplit(url).netloc.lower() not in self.hosts:
                raise PageError("leads off the register's hosts (profile key `hosts`)")
            check(url)
            page = self.request(url, form)
            if page.location is None:
                return page
            if form is not None:
                raise PageError("redirects a form, which would lose its fields")
            if not (url := web_address(url, page.location)):
                raise PageError("redirects to something that is not a web address")
        raise PageError(f"more than {REDIRECTS} redirects")

    def request(self, url: str, form: Form) -> Page:
        """The answer to a request, which is sent again, up to TRIES times, where that may help."""
        failure, page = "", None
        for attempt in range(TRIES):
            sleep_until(self.next_request)
            wait = self.profile.pause * 2**attempt
            try:
                page, retry_after = self.send(url, form)
                if page.status not in RETRY_STATUS or retry_after > RETRY_SECONDS:
                    return page
                wait = max(wait, retry_after)
            except requests.exceptions.SSLError:
                failure = "its certificate cannot be verified (profile key `ca_bundle`)"
            except requests.RequestException as error:
                cause = cause_of(error)
                failure = f"no complete answer ({cause}): is the site up, and this machine online?"
            finally:
                self.next_request = time.monotonic() + wait
        if page is None:
            raise NoAnswer(failure)
        return page

    def send(self, url: str, form: Form) -> tuple[Page, float]:
        """The answer to one request, and the seconds that it asks to wait (RFC 9110, 10.2.3)."""
        method, verify = "GET" if form is None else "POST", self.profile.ca_bundle or True
        with self.session.request(
            method, url, data=form, stream=True, timeout=TIMEOUT, verify=verify
        ) as answer:
            body = bytearray()
            for chunk in answer.iter_content(65536):
                body += chunk
                if len(body) > PAGE_BYTES:
                    raise PageError(f"more than {PAGE_BYTES // 1_000_000} MB")
        location = answer.headers["Location"] if answer.is_redirect else None
        with suppress(UnicodeError):  # it is decoded as Latin-1, but most registers send UTF-8
            location = location and location.encode("latin-1").decode()
        charset = CHARSET.search(answer.headers.get("Content-Type", ""))
        wait = 0.0
        with suppress(InvalidHeader, ValueError, OverflowError):
            wait = Retry().parse_retry_after(answer.headers.get("Retry-After", "0"))
        if answer.status_code == 429 and wait > RETRY_SECONDS:
            raise Refused(f"the register asks to wait {wait:.0f} s (Retry-After)")
        return Page(url, answer.status_code, location, charset and charset[1], bytes(body)), wait


def cause_of(error: requests.RequestException) -> str:
    """What the system says of a request that failed ("Connection refused"), else its type.
    Never its own text, which quotes the address."""
    cause: BaseException | None = error
    while cause and not getattr(cause, "strerror", None):
        cause = cause.__context__
    return getattr(cause, "strerror", None) or type(error).__name__


def page_path(folder: Path, url: str, form: Form, suffix: str = ".html") -> Path:
    """The file of a saved page: the address's path and query, the form's fields as another query,
    `index` after a final slash, `suffix` at the end; of a long name the hash."""
    parts = urlsplit(url)
    name = unquote(parts.path).lstrip("/")
    name += "index" if name.endswith("/") or not name else ""
    name += "".join(f"?{query}" for query in (parts.query, urlencode(form or {})) if query)
    head, slash, last = name.rpartition("/")
    if len(last.encode()) > FILE_NAME_BYTES:
        name = head + slash + last[:50] + sha256(last.encode()).hexdigest()
    path = (folder / (name.removesuffix(suffix) + suffix)).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise PageError("leads out of the folder")
    return path


def saved_page(folder: Path, url: str, form: Form, suffix: str = ".html") -> Page:
    """Read a saved page. PageError where there is none."""
    path = page_path(folder, url, form, suffix)
    if not path.is_file():
        raise PageError("there is no such page in the folder: --save it", 404)
    return Page(url, 200, None, None, path.read_bytes())


def sleep_until(moment: float) -> None:
    """Sleep until `moment` of time.monotonic(), while a time_limit() around it stands still."""
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(max(0.0, moment - time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise NoAnswer once `seconds` have passed, whatever runs then. Main thread only."""

    def expire(signum: int, frame: FrameType | None) -> None:
        raise NoAnswer(f"took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, expire)
    # Repeat it each second: an exception raised in a finalizer is ignored.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
