"""Serve the missing persons of one register to 404 pages, and keep them up to date.

    site's browser -> waitress -> API -> Reader -> SQLite           (a SELECT for each request)
                                      -> Views --each second--> SQLite
    clock thread, trigger -> Synchroniser -> sync.py, a child process -> SQLite
    alerts thread --> ALERT_URL, PING_URL

The settings are environment variables (docs/operating.md). Only sync.py reads a register's pages.
"""

import ctypes
import logging
import os
import re
import signal
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import waitress
from bottle import Bottle, HTTPError, request, response

from model import SettingError
from names import region_of
from serve.alerts import Alerts
from serve.answers import (
    answer,
    answer_person,
    header,
    number,
    parameter,
    problem,
    require_key,
    revalidated,
    to_json,
)
from serve.doctor import examine
from serve.health import faults
from serve.nightly import NotNow, Synchroniser, keep_schedule, start_sync, use_one_cpu
from serve.pages import qr_code, static_file, zip_of
from serve.views import Views, host_name, is_public, is_visit
from settings import HERE, VERSION, Settings, read_settings, set_up_process
from store.database import DatabaseUnavailable, Reader, empty_wal, open_database, open_register
from store.hidden import TooManyHides, hide
from store.views import KEPT_DAYS, VIEWS_BY_SITE, utc_day

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
# Any site may read and embed an answer, no browser guesses its type, and no search engine keeps it:
# a found child would stay there.
COMMON_HEADERS = [
    ("Access-Control-Allow-Origin", "*"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Robots-Tag", "noindex"),
]
STAFF_PATHS = re.compile("/panel|/api/personas/[^/]+/hide")  # no other site may ask these
STAFF_HEADERS = COMMON_HEADERS[2:]
OPTIONS_HEADERS = [
    ("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS"),
    ("Access-Control-Allow-Headers", "Authorization, X-API-Key"),
]
JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html; charset=utf-8"}
NO_STORE = {"Cache-Control": "no-store"}
SCRIPT = {"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "max-age=3600"}
WORDS = {**JSON, "Cache-Control": "max-age=3600"}
ICON = {"Content-Type": "image/svg+xml", "Cache-Control": "max-age=86400"}
ZIP = {"Content-Type": "application/zip"}
SITES_SHOWN = 1000
HIDE_SECONDS = 5.0  # how long a hide waits for a lock
PERSON_ID = re.compile(r"[a-z]+-[0-9]{1,15}")
PIXEL = b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==")  # transparent GIF

log = logging.getLogger("persona404.app")


class API(Bottle):
    """The WSGI application of one register: a method for each address."""

    def __init__(
        self, settings: Settings, reader: Reader, views: Views, synchroniser: Synchroniser
    ):
        super().__init__()
        self.settings, self.reader = settings, reader
        self.views, self.synchroniser = views, synchroniser
        self.adding_up = threading.Lock()
        self.install(database_faults_to_503)
        self.get("/api/persona-random", callback=self.persona_random)
        self.get("/api/personas", callback=self.personas)
        self.get("/api/personas/<person>", callback=self.persona)
        self.post("/api/personas/<person>/hide", callback=self.hide)
        self.get("/api/stats", callback=self.stats)
        self.get("/api/track", callback=self.track)
        self.get("/api/sites", callback=self.sites)
        self.post("/api/scrape/trigger", callback=self.trigger)
        self.get("/health", callback=self.health)
        about = settings.about
        if about.photos:
            self.get("/foto/<person>", callback=self.foto)
        if about.public_url:
            self.get("/p/<person>/qr.svg", callback=self.qr)
        self.get("/p/<person>", callback=static_file("child.html", {**HTML, **NO_STORE}, about))
        self.get("/panel", callback=static_file("panel.html", {**HTML, **NO_STORE}, about))
        self.get("/preview.png", callback=static_file("preview.png", {"Content-Type": "image/png"}))
        self.not_found = static_file("404.html", HTML, about)
        self.get("/", callback=static_file("index.html", HTML, about))
        self.get("/404.html", callback=self.not_found)
        # All sites load it: less is faster.
        on_cards = about._replace(operator="", contact="", public_url="")
        self.get("/embed.js", callback=static_file("embed.js", SCRIPT, on_cards))
        self.get("/words.json", callback=static_file("words.json", WORDS))
        self.get("/icon.svg", callback=static_file("icon.svg", ICON))
        self.get("/openapi.json", callback=static_file("openapi.json", JSON))
        self.get("/home.json", callback=static_file("home.json", JSON))
        plugin = zip_of(HERE / "sites" / "wordpress" / "persona404")
        self.get("/persona404.zip", callback=lambda: revalidated(plugin, ZIP))

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """Answer a request with what all addresses have in common."""

        path = environ["PATH_INFO"].rstrip("/") or "/"
        for_staff = STAFF_PATHS.fullmatch(path)
        common = STAFF_HEADERS if for_staff else COMMON_HEADERS

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            return start_response(status, headers + common, exc_info)

        if environ["REQUEST_METHOD"] == "OPTIONS":
            start("204 No Content", [] if for_staff else OPTIONS_HEADERS)
            return []
        # Bottle would drop the bytes that are no UTF-8, and find the address without them.
        environ["PATH_INFO"] = path.encode("ascii", "replace").decode()
        # Bottle's own query turns bad UTF-8 into "" and shows the last of two values.
        query = environ.get("QUERY_STRING", "")
        environ["persona404.query"] = parse_qs(query, True, encoding="latin-1") if query else {}
        return super().wsgi(environ, start)

    def default_error_handler(self, error: HTTPError) -> bytes:
        """A problem document; a browser that asks for a page gets the 404 page."""
        detail = {404: "There is nothing at this address.", 405: "Not with this method."}
        status = error.status_code
        reply = problem(status, detail.get(status, "This request could not be answered."))
        response.headers.update(reply.headers)
        body: bytes = reply.body
        if status == 404 and not re.match("/(api|foto|health)(/|$)", request.path):
            if request.method in ("GET", "HEAD") and "text/html" in header("ACCEPT"):
                request.environ.pop("HTTP_IF_NONE_MATCH", None)  # a 404 is never a 304
                body = self.not_found()
            response.set_header("Vary", "Accept, Accept-Encoding")
        return body

    def persona_random(self) -> bytes:
        """A random person; with `region` one from there, if anybody is sought there."""
        from_region = (
            "SELECT json, (SELECT ended FROM last_good) FROM shown WHERE region = :region"
            " LIMIT 1 OFFSET"
            " (random() & 0x7fffffffffffffff)"
            " % (SELECT max(count(*), 1) FROM person WHERE region = :region)"
        )
        from_all = (
            "SELECT json, (SELECT ended FROM last_good) FROM shown WHERE position ="
            " (SELECT 1 + (random() & 0x7fffffffffffffff) % max(position) FROM person)"
        )
        region = region_of(parameter("region", ""))
        drawn = self.reader.select(from_region, region=region) if region else []
        drawn = drawn or self.reader.select(from_all)
        if not drawn:
            raise problem(404, "There is nobody to show at the moment.")
        return answer_person(*drawn[0])

    def persona(self, person: str) -> bytes:
        """The person with an id, now or formerly. Found, hidden and never listed are one 404. 503
        where it cannot be told: the list is too old, the record cannot be read, or the id has stood
        for two."""
        sql = (
            "SELECT json, ended, is_fresh"
            " AND NOT EXISTS (SELECT 1 FROM former WHERE id = :id AND person IS NULL)"
            " AND NOT EXISTS (SELECT 1 FROM unread WHERE id IN"
            " (:id, (SELECT person FROM former WHERE former.id = :id)))"
            " FROM (SELECT 1) LEFT JOIN last_good"
            " LEFT JOIN shown ON shown.id = (SELECT person FROM known WHERE known.id = :id)"
        )
        ((json, read, can_tell),) = self.reader.select(sql, id=person)
        if json:
            return answer_person(json, read)
        if not can_tell:
            raise problem(503, "It cannot be told just now whether this person is still sought.")
        raise problem(404, "There is no such person on the list.")

    def personas(self) -> bytes:
        """A page of the list, newest date first; with `region`, of those from there."""
        limit = min(number("limit", 20), 100)
        page = number("page", 1)
        region = region_of(parameter("region", ""))
        skipped = min((page - 1) * limit, 2**62)  # SQLite's integers end at 2**63
        everybody = (
            "SELECT (SELECT count FROM active), group_concat(json) FROM"
            " (SELECT json FROM shown WHERE position > :skipped ORDER BY position LIMIT :limit)"
        )
        of_region = (
            "SELECT (SELECT count(*) FROM shown WHERE region = :region), group_concat(json) FROM"
            " (SELECT json FROM shown WHERE region = :region ORDER BY position"
            " LIMIT :limit OFFSET :skipped)"
        )
        sql = of_region if region else everybody
        ((total, shown),) = self.reader.select(sql, region=region, limit=limit, skipped=skipped)
        body = b'{"personas":[%b],"total":%d,"page":%d,"totalPages":%d}'
        return revalidated(body % ((shown or "").encode(), total, page, -(-total // limit)), JSON)

    def stats(self) -> bytes:
        """Figures of the list, the sites and the views; when the last good run ended."""
        ((figures,),) = self.reader.select(
            "SELECT json_object('active', (SELECT count FROM active),"
            " 'found', (SELECT count(*) FROM found),"
            " 'sites', (SELECT count(*) FROM site),"
            " 'views', (SELECT views FROM total),"
            " 'lastSync', (SELECT ended FROM last_good))"
        )
        return revalidated(figures.encode(), JSON)

    def foto(self, person: str) -> bytes:
        """The photo that is kept of a person who is shown. With `nombre`, only of one with that
        name: on a page that stays open, an id may have come to stand for another child."""
        sql = (
            "SELECT jpeg FROM photo WHERE person = (SELECT person FROM known WHERE id = :id)"
            " AND EXISTS (SELECT 1 FROM shown WHERE id = person) AND jpeg IS NOT NULL"
            " AND :nombre IN ('', nombre)"
        )
        kept = self.reader.select(sql, id=person, nombre=parameter("nombre", ""))
        if not kept:
            raise problem(404, "There is no photo of such a person.")
        return answer(kept[0]["jpeg"], "image/jpeg")

    def track(self) -> bytes:
        """Count a view. No address, cookie or User-Agent is stored."""
        if parameter("e") != "view":
            raise problem(400, "e: must be view.")
        person = parameter("p")
        if not PERSON_ID.fullmatch(person):
            raise problem(400, "p: must be the id of a person.")
        site = host_name(parameter("d"))
        if site is None:
            raise problem(400, "d: must be a host name.")
        if is_public(site) and is_visit(site, request.environ):
            self.views.add(site, person)
        if header("ACCEPT").startswith("image/"):
            return answer(PIXEL, "image/gif")
        return answer(b'{"ok":true}')

    def sites(self) -> bytes:
        """How often each site showed somebody in the last `days` days (UTC), today's included,
        most seen first, SITES_SHOWN at most. For the operator."""
        require_key(self.settings.api_key, "API_KEY")
        days = min(number("days", 30), KEPT_DAYS)
        if not self.adding_up.acquire(blocking=False):  # a long sum may keep one thread, no more
            raise problem(503, "The views are being added up for another request: ask again.")
        try:
            figures = self.reader.select(
                f"{VIEWS_BY_SITE} LIMIT :shown", first_day=utc_day(days - 1), shown=SITES_SHOWN
            )
        finally:
            self.adding_up.release()
        return answer(to_json({"days": days, "sites": [dict(row) for row in figures]}))

    def trigger(self) -> bytes:
        """Start a synchronisation. For the operator."""
        require_key(self.settings.api_key, "API_KEY")
        try:
            self.synchroniser.trigger()
        except NotNow as error:
            if not error.seconds:
                raise problem(409, "A synchronisation is running.") from None
            detail = "The trigger started a synchronisation a moment ago."
            raise problem(429, detail, {"Retry-After": str(error.seconds)}) from None
        except (OSError, SettingError) as error:
            log.error("a synchronisation cannot be started: %s", error)
            raise problem(503, "A synchronisation cannot be started just now.") from None
        response.status = 202
        return answer(b'{"status":"started"}')

    def hide(self, person: str) -> bytes:
        """Take a person off the list at once, as `sync.py --hide` does. For the staff."""
        require_key(self.settings.staff_key, "STAFF_KEY")
        ids = [person] if PERSON_ID.fullmatch(person) else []  # SQLite's JSON ends text at a NUL
        try:
            with open_database(self.reader.database, HIDE_SECONDS) as db:
                hidden = hide(db, ids, by="panel")
                empty_wal(db)
        except LookupError:
            raise problem(404, "There is no such person, on the list or hidden.") from None
        except TooManyHides:
            detail = "Five were hidden here within 24 hours. The server hides more: sync.py --hide."
            raise problem(429, detail, {"Retry-After": "3600"}) from None
        except DatabaseUnavailable as error:
            log.error("DATABASE: nobody was hidden: %s", error)
            detail = f"Nobody was hidden: {error.reason}. If it is urgent, stop the service."
            raise problem(503, detail) from None
        return answer(to_json({"hidden": hidden.id}))

    def qr(self, person: str) -> bytes:
        """The QR code of the page of a person who is shown, for posters."""
        sql = "SELECT 1 FROM shown WHERE id = (SELECT person FROM known WHERE id = :id)"
        if not self.reader.select(sql, id=person):
            raise problem(404, "There is no such person on the list.")
        return answer(qr_code(f"{self.settings.about.public_url}/p/{person}"), "image/svg+xml")

    def health(self) -> bytes:
        """Whether the list can be trusted and changed, and the last run. Writes nothing."""
        sql = "SELECT count, (SELECT ended FROM last_good) FROM active"
        ((active, last_sync),) = self.reader.select(sql)
        runs = self.reader.select(
            "SELECT started, ended, outcome, listed, added, found, moved, unreadable, reason"
            " FROM run ORDER BY id DESC LIMIT 1"
        )
        facts = {
            "version": VERSION,
            "register": self.settings.register,
            "active": active,
            "lastSync": last_sync,
            "lastRun": dict(runs[0]) if runs else None,
            "tracking": self.views.state,
        }
        if wrong := faults(last_sync, self.views, self.synchroniser):
            raise problem(503, " ".join(wrong.values()), **facts)
        return answer(to_json({"status": "ok", **facts}))


quiet_until: dict[str, float] = {}  # when a fault is logged again: time.monotonic(), by text


def database_faults_to_503(callback: Callable[..., Any]) -> Callable[..., Any]:
    """A Bottle plugin, around each route's function."""

    def answer_or_refuse(**parts: str) -> Any:
        try:
            return callback(**parts)
        except DatabaseUnavailable as error:
            fault = str(error)
            if time.monotonic() >= quiet_until.get(fault, 0):  # many requests may meet it
                quiet_until[fault] = time.monotonic() + 60
                log.error("DATABASE: %s", fault)
            detail = f"The database cannot be read or written just now: {error.reason}."
            raise problem(503, detail) from None

    return answer_or_refuse


# --- The service ---------------------------------------------------------------------


def main() -> int:
    """Serve until SIGTERM or SIGINT; the exit status."""
    options = " ".join(sys.argv[1:])
    if options == "--version":
        print(f"persona404 {VERSION}")
        return 0
    set_up_process(logging.INFO)
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda number, frame: sys.exit(0))
    try:
        if options not in ("", "--check", "--doctor", "--doctor --alert"):
            raise SettingError("takes --version, --check or --doctor [--alert], else no argument")
        if "--doctor" in options:
            return examine(os.environ, send_alert="--alert" in options)
        settings = read_settings(os.environ)
        # A check makes no database: an empty one would hide that it was lost.
        if options == "--check" and not settings.database.exists():
            return start_sync("--check").wait()
        # Keep one connection open, so the last close cannot remove -shm: a reader on a full disk
        # could not make it again.
        with open_register(settings.database, settings.register):
            if not os.access(settings.database, os.W_OK):
                raise SettingError(f"DATABASE: {settings.database}: this user may not write there")
            # A broken profile stops the start. sync.py checks it: it has the HTML parser.
            if status := start_sync("--check").wait():
                return 2 if status == 2 else 1
            if not options:
                serve(settings)
            return 0
    except SettingError as error:
        print(f"app.py: {error}", file=sys.stderr)
        return 2
    except DatabaseUnavailable as error:
        print(f"app.py: DATABASE: {settings.database}: {error}", file=sys.stderr)
        return 1 if error.passing else 2  # systemd starts it again after 1


def serve(settings: Settings) -> None:
    """Serve until a signal. SettingError where HOST and PORT cannot be had."""
    register, database = settings.register, settings.database
    reader, views, synchroniser = Reader(database), Views(database), Synchroniser(database)
    api = API(settings, reader, views, synchroniser)
    use_one_cpu(settings.port)
    with suppress(Exception):  # sync.py, of the same user, must not read this process's secrets
        ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
    try:
        server = waitress.create_server(api, host=settings.host, port=settings.port, **WAITRESS)
    except (OSError, ValueError) as error:
        advice = "HOST is an address of this machine (behind nginx leave it unset), PORT a free one"
        where = f"HOST {settings.host}, PORT {settings.port}"
        raise SettingError(f"{where}: {error}: {advice}") from None
    # A name such as localhost may stand for two addresses; then the server has both.
    one = [(settings.host, getattr(server, "effective_port", settings.port))]
    for host, port in getattr(server, "effective_listen", one):
        shown = f"[{host}]" if ":" in host else host
        log.info("serving %s on http://%s:%s", register, shown, port)
    if settings.about.demo and settings.host not in ("127.0.0.1", "::1", "localhost"):
        log.warning("the persons of the register %s are made up, and are public now", register)
    views.thread.start()
    try:
        if settings.sync_at:
            clock = (synchroniser, settings.sync_at)
            threading.Thread(target=keep_schedule, args=clock, daemon=True).start()
        else:
            log.warning("SYNC_AT=off: nothing is synchronised unless a timer or cron runs sync.py")
        if settings.alert_url or settings.ping_url:
            alerts = Alerts(settings, reader, views, synchroniser)
            threading.Thread(target=alerts.check_each_minute, daemon=True).start()
        server.run()  # until SIGTERM or SIGINT; finishes the requests that are running
    finally:
        for stop in (signal.SIGTERM, signal.SIGINT):  # a second one must not lose views
            signal.signal(stop, signal.SIG_IGN)
        synchroniser.stop()
        views.stop()


if __name__ == "__main__":
    sys.exit(main())
