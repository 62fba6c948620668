"""Serve the missing persons of one register to 404 pages, and keep them up to date.

    site's browser -> waitress -> API -> PersonList      (the list, in memory)
                                      -> SQLite           (views, figures; one connection a thread)
    clock thread, trigger -> Synchroniser -> sync.py     (a child process) -> SQLite

    python app.py

The settings are environment variables: see README. Everything this process knows of a
register's persons it reads from the database; sync.py alone reads pages.
"""

import hmac
import ipaddress
import json
import logging
import math
import os
import random
import re
import signal
import sqlite3
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import idna
import waitress
from bottle import Bottle, HTTPError, HTTPResponse, request, response

from generation import PersonList, region_of
from nightly import Synchroniser, keep_time
from profiles import SettingError
from sync import (
    HERE,
    Settings,
    check_register,
    explained,
    fault_of,
    log_to_stderr,
    may_pass,
    open_database,
    read_settings,
)

WAITRESS = {
    "threads": 4,
    "ident": None,
    "channel_timeout": 30,
    "cleanup_interval": 10,
    "connection_limit": 500,
    "asyncore_use_poll": True,
    "max_request_header_size": 16384,
    "max_request_body_size": 65536,
}
BUSY_SECONDS = 1.0  # how long a view waits for another program's lock
TURN_SECONDS = 0.02  # how long it waits for other views
SITES_A_DAY = 2000  # past it no view of another site is counted that day (UTC)
ROWS_A_DAY = 20_000  # past it views are counted per site, no longer per person, that day
LOOK_AFTER = 1000  # views; by so many may a process pass either
SITES_SHOWN = 1000
SLOW = 0.05  # seconds
APPLICATION_ID = 0x70343034  # of the database file: "p404"
STALE = timedelta(hours=36)
PERSON_ID = re.compile(r"[a-z]+-[0-9]{1,15}")
LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
ROBOT = re.compile(r"(?<!cu)bot|crawl|spider|slurp|preview|archive|externalhit", re.I)
PIXEL = bytes.fromhex(  # a transparent GIF of one pixel
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)

log = logging.getLogger("persona404.app")


# --- The API -------------------------------------------------------------------------


# Any site may read an answer, no browser guesses its type, and no search engine keeps it: a found
# child would stay there.
COMMON_HEADERS = [
    ("Access-Control-Allow-Origin", "*"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Robots-Tag", "noindex"),
]
OPTIONS_HEADERS = [
    ("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS"),
    ("Access-Control-Allow-Headers", "Authorization, X-API-Key"),
]


class API(Bottle):
    """Bottle with what all addresses have in common; its own errors are problems too (RFC 9457)."""

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            return start_response(status, headers + COMMON_HEADERS, exc_info)

        if environ["REQUEST_METHOD"] == "OPTIONS":
            start("204 No Content", OPTIONS_HEADERS)
            return []
        path = environ["PATH_INFO"].rstrip("/") or "/"
        # Bottle would drop the bytes that are no UTF-8, and find the address without them.
        environ["PATH_INFO"] = path if path.isascii() else "/-"
        return super().wsgi(environ, start)

    def default_error_handler(self, error: HTTPError) -> str:
        detail = {404: "There is nothing at this address.", 405: "Not with this method."}
        status = error.status_code
        body = problem(status, detail.get(status, "This request could not be answered."))
        response.headers.update(body.headers)
        return body.body


def create_app(
    database: Path,
    register: str,
    api_key: str | None = None,
    start_synchronisation: Callable[[], bool] = lambda: False,
    clock_fault: Callable[[], str | None] = lambda: None,
) -> API:
    """The WSGI application. `register` is the register's name; `start_synchronisation`
    begins one and returns at once, False while one is running; `clock_fault` tells why the
    clock cannot begin one that is due."""
    app = API()
    local = threading.local()
    said: dict[str, float] = {}  # what was logged of the database, and when

    for path, name in PAGES.items():
        app.get(path, callback=static_page(name))

    def rows(sql: str, **values: object) -> list[sqlite3.Row]:
        """All rows of one statement: a consistent snapshot, and no cursor left open."""
        try:
            # Once a second, for each look is a tenth of a view's cost.
            if hasattr(local, "db") and time.monotonic() > local.looked + 1:
                local.looked = time.monotonic()
                if local.file != file_number(database):  # a backup was put in its place
                    local.db.close()
                    del local.db
            if not hasattr(local, "db"):
                local.db = open_database(database, BUSY_SECONDS)
                local.file, local.looked = file_number(database), time.monotonic()
                local.db.row_factory = sqlite3.Row
                local.db.execute("PRAGMA synchronous = NORMAL")  # see README, "What is stored"
            return local.db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            if time.monotonic() > said.get(str(error), -math.inf) + 60:
                said[str(error)] = time.monotonic()  # not for each request
                log.error("%s: %s", database, explained(error))
            if hasattr(local, "db"):
                local.db.close()  # a new connection may find the fault mended
                del local.db
            raise no_database(fault_of(error)) from None

    persons = PersonList(database, rows)
    views = Views(rows)
    sums = Slow(
        lambda: rows(
            "SELECT count(DISTINCT site) AS sites, coalesce(sum(views), 0) AS views FROM view"
        )[0]
    )

    @app.get("/api/persona-random")
    def persona_random() -> bytes:
        """Specification 4.1. `region` is a wish: where it has nobody, anyone is drawn."""
        region = region_of(parameter("region", ""))
        there = persons.current().regions.get(region) if region else None
        body = random.choice(there) if there else persons.draw()  # noqa: S311 - no secret
        if body is None:
            raise problem(404, "Nobody is being sought at the moment.")
        return answer(body)

    @app.get("/api/personas")
    def personas() -> HTTPResponse:
        """Specification 4.2."""
        limit = min(number("limit", 20), 100)
        page = number("page", 1)
        region = region_of(parameter("region", ""))
        listed = persons.current()
        chosen = listed.regions.get(region, []) if region else listed.everybody
        total = len(chosen)
        first = (page - 1) * limit
        shown = b",".join(chosen[first : first + limit])
        rest = to_json({"total": total, "page": page, "totalPages": -(-total // limit)})
        return revalidated(b'{"personas":[%b],%b' % (shown, rest[1:]), JSON)

    @app.get("/api/stats")
    def stats() -> HTTPResponse:
        """Specification 4.3."""
        for _ in range(3):  # until list and found are of one moment
            listed = persons.current()
            counts = rows(
                "SELECT (SELECT value FROM generation) AS generation,"
                " (SELECT count(*) FROM found) AS found, (SELECT ended FROM last_good) AS lastSync"
            )[0]
            if counts["generation"] == listed.generation:
                break
        figures = {"active": len(listed.everybody), "found": counts["found"], **sums.get()}
        return revalidated(to_json({**figures, "lastSync": counts["lastSync"]}), JSON)

    @app.get("/api/track")
    def track() -> bytes:
        """Specification 4.5. No address, cookie or User-Agent is stored."""
        if parameter("e") != "view":
            raise problem(400, "e: must be view.")
        person = parameter("p")
        if not PERSON_ID.fullmatch(person):
            raise problem(400, "p: must be the id of a person.")
        site = host_name(parameter("d"))
        if site is None:
            raise problem(400, "d: must be a host name.")
        if is_counted(site) and person in persons.current().ids:
            views.count(site, person)
        if header("ACCEPT").startswith("image/"):
            return answer(PIXEL, media_type="image/gif")
        return answer(b'{"ok":true}')

    @app.get("/api/sites")
    def sites() -> bytes:
        """Specification 1.6: what each site showed in the last `days` days (UTC), today's
        included, most seen first, SITES_SHOWN at most. For the operator."""
        require_key(api_key)
        days = min(number("days", 30), 36500)
        figures = rows(
            "SELECT site, sum(views) AS views, min(day) AS first, max(day) AS last FROM view"
            " WHERE day >= :from_day GROUP BY site ORDER BY views DESC, site LIMIT :shown",
            from_day=(datetime.now(UTC) - timedelta(days=days - 1)).strftime("%Y-%m-%d"),
            shown=SITES_SHOWN,
        )
        return answer(to_json({"days": days, "sites": [dict(row) for row in figures]}))

    @app.post("/api/scrape/trigger")
    def trigger() -> bytes:
        """Specification 4.4 and 5."""
        require_key(api_key)
        try:
            started = start_synchronisation()
        except (OSError, SettingError, sqlite3.Error) as error:
            log.error("a synchronisation cannot be started: %s", explained(error))
            raise problem(503, "A synchronisation cannot be started just now.") from None
        if not started:
            raise problem(409, "A synchronisation is running.")
        return answer(b'{"status":"started"}', 202)

    @app.get("/health")
    def health() -> bytes:
        """Whether the list can be trusted and changed, and what became of the last run."""
        runs = rows(
            "SELECT started, ended, outcome, listed, added, found, unreadable, reason"
            " FROM run ORDER BY id DESC LIMIT 1"
        )
        good = rows("SELECT ended FROM last_good")
        last_sync = good[0]["ended"] if good else None
        tracking, unwritable = views.state()
        facts = {
            "register": register,
            "active": len(persons.current().everybody),
            "lastSync": last_sync,
            "lastRun": dict(runs[0]) if runs else None,
            "tracking": tracking,
        }
        if fault := tracking if unwritable else clock_fault():
            raise problem(503, fault, **facts)
        if last_sync is None:
            raise problem(503, "There was no good synchronisation yet; see lastRun.", **facts)
        age = datetime.now(UTC) - datetime.fromisoformat(last_sync)
        if age > STALE:
            raise problem(
                503, "The last good synchronisation is over 36 hours old; see lastRun.", **facts
            )
        if age < -timedelta(minutes=1):
            raise problem(503, "The last synchronisation is to come: was the clock wrong?", **facts)
        return answer(to_json({"status": "ok", **facts}))

    return app


def file_number(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


# --- Views ---------------------------------------------------------------------------


class Views:
    """Counts one view after the other: a view that waits for SQLite keeps one thread only, so
    reads do not wait for it, and writers that take turns are faster than ones that collide.

    What anybody can make it store is bounded: SITES_A_DAY, ROWS_A_DAY."""

    def __init__(self, rows: Callable[..., list[sqlite3.Row]]):
        self.rows = rows
        self.turn = threading.Lock()
        self.since = math.inf  # when the view began whose turn it is
        self.fault: str | None = None  # why the latest write failed
        self.day = ""
        self.sites: set[str] = set()  # which were counted that day
        self.per_person = True  # whether that day has fewer than ROWS_A_DAY rows
        self.until_look = 0

    def count(self, site: str, person: str) -> None:
        """Count a view of `person` on `site`; once SITES_A_DAY were counted today, on those only.
        503 when it cannot be written, or another one has waited longer than a turn for another
        program's lock or the disk."""
        self.take_turn(self.store, site, person)

    def state(self) -> tuple[str, bool]:
        """How counting goes, and whether SQLite cannot write; tried by a write of what stands in
        the file's header already."""
        try:
            self.take_turn(self.rows, f"PRAGMA application_id = {APPLICATION_ID}")
        except HTTPResponse as refused:
            fault = self.fault  # None where a view is waiting, for the first second
            return fault or detail_of(refused), fault is not None
        full = len(self.sites) >= SITES_A_DAY
        return f"{SITES_A_DAY} sites were counted today, no other will be" if full else "ok", False

    def take_turn(self, work: Callable[..., object], *arguments: str) -> None:
        stuck = self.turn.locked() and time.monotonic() > self.since + TURN_SECONDS
        if stuck or not self.turn.acquire(timeout=TURN_SECONDS):
            raise no_database("another view waits for it")
        try:
            self.since = time.monotonic()
            self.look(datetime.now(UTC).date().isoformat())
            work(*arguments)
            self.fault = None
        except HTTPResponse as refused:
            self.fault = detail_of(refused)
            raise
        finally:
            self.since = math.inf
            self.turn.release()

    def look(self, day: str) -> None:
        """Have what was counted on `day`; again after LOOK_AFTER views, as other processes may
        count too."""
        if day == self.day and self.until_look > 0:
            return
        counted = self.rows(
            "SELECT site, count(*) AS rows FROM view WHERE day = :day GROUP BY site", day=day
        )
        self.day = day
        self.sites = {row["site"] for row in counted}
        self.per_person = sum(row["rows"] for row in counted) < ROWS_A_DAY
        self.until_look = LOOK_AFTER

    def store(self, site: str, person: str) -> None:
        if site not in self.sites and len(self.sites) >= SITES_A_DAY:
            return
        self.rows(
            "INSERT INTO view (day, site, person, views) VALUES (:day, :site, :person, 1)"
            " ON CONFLICT DO UPDATE SET views = views + 1",
            day=self.day,
            site=site,
            person=person if self.per_person else "",
        )
        self.sites.add(site)
        self.until_look -= 1


class Slow:
    """The answer of a query that may take long. While it takes over SLOW it is asked about a
    twentieth of the time, and meanwhile the last answer stands; else it is asked each time."""

    def __init__(self, query: Callable[[], sqlite3.Row]):
        self.query = query
        self.last: sqlite3.Row | None = None
        self.took = self.until = 0.0

    def get(self) -> Any:
        begun = time.monotonic()
        if begun >= self.until:
            self.until = begun + 20 * self.took
            try:
                self.last = self.query()
            except BaseException:
                self.until = 0.0
                raise
            took = time.monotonic() - begun
            self.took = took if took > SLOW else 0.0
            self.until = begun + 20 * self.took
        return self.last


# --- Answers -------------------------------------------------------------------------

JSON = {"Content-Type": "application/json"}
NO_STORE = {"Cache-Control": "no-store"}
PAGES = {  # path: file of static/
    "/": "index.html",
    "/404.html": "404.html",
    "/embed.js": "embed.js",
    "/openapi.json": "openapi.json",
}
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": JSON["Content-Type"],
}


def to_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def answer(body: bytes, status: int = 200, media_type: str = "application/json") -> bytes:
    # Bottle's HTTPResponse would cost half as much again as all the rest of a request.
    response.status = status
    response.set_header("Content-Type", media_type)
    response.set_header("Cache-Control", "no-store")
    return body


def revalidated(body: bytes, headers: dict[str, str]) -> HTTPResponse:
    """An answer that caches may keep but must ask about: ETag, 304 (RFC 9110, 13.1.2)."""
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag, **headers}
    known = header("IF_NONE_MATCH").split(",")
    if any(text.strip().removeprefix("W/") in (tag, "*") for text in known):
        return HTTPResponse(status=304, headers=headers)
    return HTTPResponse(body, headers=headers)


def static_page(name: str) -> Callable[[], HTTPResponse]:
    """A route's function for a file of static/. It is read now: one that is missing stops the
    start, and no request waits for the disk."""
    body = (HERE / "static" / name).read_bytes()
    headers = {"Content-Type": MEDIA_TYPES[Path(name).suffix]}
    if name.endswith(".html"):
        headers["Content-Security-Policy"] = page_policy(body)
    if name.endswith(".js"):  # asked for by every 404 page; a new version is there in an hour
        headers["Cache-Control"] = "max-age=3600"

    def page() -> HTTPResponse:
        return revalidated(body, headers)

    return page


def page_policy(html: bytes) -> str:
    """A Content-Security-Policy that lets this page run its own inline script and style, known
    by their hashes, ask this service, show https images, and nothing else (CSP Level 3)."""

    def hashes(tag: str) -> str:
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), html, re.S)
        return " ".join(f"'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in inline)

    return (
        f"default-src 'none'; script-src {hashes('script')}; style-src {hashes('style')};"
        " connect-src 'self'; img-src 'self' https:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def problem(status: int, detail: str, **more: object) -> HTTPResponse:
    """An error as `application/problem+json` (RFC 9457), to be raised."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    headers = {"Content-Type": "application/problem+json", **NO_STORE}
    return HTTPResponse(to_json(body), status, headers)


def detail_of(refused: HTTPResponse) -> str:
    detail: str = json.loads(refused.body)["detail"]
    return detail


def no_database(reason: str) -> HTTPResponse:
    return problem(503, f"The database cannot be read or written just now: {reason}.")


# --- Requests ------------------------------------------------------------------------


def parameter(name: str, default: str | None = None) -> str:
    """The query parameter `name`. Missing without a default, given twice or no UTF-8: 400."""
    query = request.environ.get("persona404.query")
    if query is None:  # once a request: it is a tenth of a view's cost
        # Bottle's own query turns bad UTF-8 into "" and shows the last of two.
        query = parse_qs(request.query_string, True, encoding="latin-1")
        request.environ["persona404.query"] = query
    values = query.get(name, [])
    if len(values) > 1:
        raise problem(400, f"{name}: is given twice.")
    if not values:
        if default is None:
            raise problem(400, f"{name}: is missing.")
        return default
    try:
        return values[0].encode("latin-1").decode()
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
    value: str = request.environ.get("HTTP_" + name, "")
    return value


def host_name(text: str) -> str | None:
    """`text` as a host name: lower case, IDNA, no port, no trailing dot; an IPv6 address
    keeps its brackets. None where it has no such form (RFC 1123, RFC 3986, UTS 46)."""
    host = re.sub(r":[0-9]{0,5}\Z", "", text.lower())
    try:
        if host.startswith("[") and host.endswith("]"):
            return f"[{ipaddress.IPv6Address(host[1:-1])}]"
        host = host.removesuffix(".")
        host = host if host.isascii() else idna.encode(host, uts46=True).decode()
    except ValueError:  # idna.IDNAError as well
        return None
    return host if len(host) <= 253 and HOST_NAME.fullmatch(host) else None


def is_counted(site: str) -> bool:
    """Whether this call is a visitor of a public site who was shown a person."""
    last = site.rpartition(".")[2]
    if "." not in site or site.startswith("[") or re.fullmatch("[0-9]+|0x[0-9a-f]*", last):
        return False  # localhost, an intranet's name, an IP address
    purposes = header("SEC_PURPOSE") + header("PURPOSE") + header("X_MOZ")
    if request.method == "HEAD" or "prefetch" in purposes or "prerender" in purposes:
        return False
    if ROBOT.search(header("USER_AGENT")):
        return False
    referer = header("REFERER")
    return not referer or host_of(referer) == site


def host_of(address: str) -> str | None:
    try:
        return host_name(urlsplit(address).netloc)
    except ValueError:
        return None


def require_key(api_key: str | None) -> None:
    """Refuse a request without the API key (specification 5), which is never taken from the
    address and compared in constant time."""
    if api_key is None:
        raise problem(503, "This service has no API key; its operator sets API_KEY.")
    scheme, _, token = header("AUTHORIZATION").partition(" ")
    sent = header("X_API_KEY") or (token.strip() if scheme.lower() == "bearer" else "")
    if not hmac.compare_digest(sent.encode("latin-1"), api_key.encode()):
        refused = problem(401, "A valid key is needed in X-API-Key or Authorization: Bearer.")
        refused.set_header("WWW-Authenticate", 'Bearer realm="persona404"')
        raise refused


# --- The service ---------------------------------------------------------------------


class ServiceSettings(NamedTuple):
    host: str
    port: int
    api_key: str | None
    sync_at: clock_time | None  # None: something else runs sync.py
    sync: Settings


def read_service_settings(environ: Mapping[str, str]) -> ServiceSettings:
    """All settings of README; an empty one counts as not set. SettingError is one line."""
    port = environ.get("PORT") or "8080"
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise SettingError("PORT: must be a number from 0 (any free port) to 65535")
    api_key = environ.get("API_KEY") or None
    if api_key and not re.fullmatch("[!-~]{20,}", api_key):
        raise SettingError("API_KEY: must be at least 20 ASCII characters without spaces")
    sync_at = environ.get("SYNC_AT") or "03:00"
    if sync_at != "off" and not re.fullmatch("([01][0-9]|2[0-3]):[0-5][0-9]", sync_at):
        raise SettingError("SYNC_AT: must be a time such as 03:00, or off")
    return ServiceSettings(
        host=environ.get("HOST") or "127.0.0.1",
        port=int(port),
        api_key=api_key,
        sync_at=None if sync_at == "off" else clock_time.fromisoformat(sync_at),
        sync=read_settings(environ),
    )


def use_one_cpu(number: int) -> None:
    """Keep this process on one CPU. The GIL lets one thread run at a time: waking the next one
    on another CPU takes longer than most requests (README, "Speed"). Instances with
    consecutive ports share the CPUs out."""
    cpus = sorted(os.sched_getaffinity(0))
    with suppress(OSError):  # it is slower without, no more
        os.sched_setaffinity(0, {cpus[number % len(cpus)]})


def main() -> int:
    log_to_stderr(logging.INFO)
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda number, frame: sys.exit(0))
    if len(sys.argv) > 1:
        print("app.py: takes no arguments; its settings are environment variables", file=sys.stderr)
        return 2
    try:
        settings = read_service_settings(os.environ)
        profile, database, _ = settings.sync
        # Open until the end: SQLite's -shm file stays, so a disk that is full keeps nobody from
        # reading.
        held = open_database(database, busy_seconds=60)
        check_register(held, profile)
    except SettingError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return 2
    except sqlite3.Error as error:
        print(f"app.py: DATABASE: {database}: {explained(error)}", file=sys.stderr)
        return 1 if may_pass(error) else 2  # systemd starts it again after 1
    synchroniser = Synchroniser(database)
    use_one_cpu(settings.port)
    try:
        server = waitress.create_server(
            create_app(
                database,
                profile.name,
                settings.api_key,
                synchroniser.start,
                lambda: synchroniser.fault,
            ),
            host=settings.host,
            port=settings.port,
            **WAITRESS,
        )
    except (OSError, ValueError) as error:
        print(f"app.py: HOST {settings.host}, PORT {settings.port}: {error}", file=sys.stderr)
        return 2
    # A name such as localhost may stand for two addresses; then the server has both.
    one = [(settings.host, getattr(server, "effective_port", settings.port))]
    for host, port in getattr(server, "effective_listen", one):
        shown = f"[{host}]" if ":" in host else host
        log.info("serving %s on http://%s:%s", profile.name, shown, port)
    if profile.pages is not None and settings.host not in ("127.0.0.1", "::1", "localhost"):
        log.warning("the persons of the register %s are made up, and are public now", profile.name)
    try:
        if settings.sync_at:
            arguments = (synchroniser, settings.sync_at)
            threading.Thread(target=keep_time, args=arguments, daemon=True).start()
        server.run()  # until SIGTERM or SIGINT; finishes the requests that are running
    finally:
        synchroniser.stop()
        held.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
