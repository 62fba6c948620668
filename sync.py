"""Synchronise the database with the register: read, compare, remove, add, serve.

    python sync.py [--register FILE] [--database FILE] [--force] [--save DIR]
    python sync.py --dry-run [--register FILE] [--database FILE] [--save DIR] [--pages DIR]
    python sync.py --hide ID | --unhide ID

    register --read_register--> Reading --compare--> Changes --swap--> SQLite --> app.py
                 (no lock is held on the database)      (one transaction)

Exit 0: done. 1: refused or failed, the stored persons stay. 2: wrong usage, setting or
profile. 75: another synchronisation runs. The settings are those of README.
"""

import argparse
import fcntl
import logging
import os
import re
import resource
import signal
import sqlite3
import sys
import time
import traceback
import zoneinfo
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from fetch import Refused
from generation import announce
from profiles import Profile, SettingError, load_profile
from register import LeftOut, Person, Progress, Reading, plain, read_register

HERE = Path(__file__).resolve().parent
SCHEMA_VERSION = 2  # as schema.sql sets it
BUSY = os.EX_TEMPFAIL  # 75
CLEAR_LINE = "\r\x1b[K"  # of a terminal
LOGGED = 100  # so many unreadable records are named in the log; all are counted
FOLDED = timedelta(days=60)  # views of days longer past are kept per site, not per person
MEMORY = 768 * 2**20  # bytes; a page that needs more cannot be parsed
GUARDED = 10  # from so many stored persons on, losing more than half is refused

log = logging.getLogger("persona404.sync")


# --- Settings, shared with app.py -----------------------------------------------------


class Settings(NamedTuple):
    """What a synchronisation needs to know."""

    profile: Profile
    database: Path
    contact: str | None


def read_settings(environ: Mapping[str, str], need_contact: bool = True) -> Settings:
    """REGISTER, DATABASE, CONTACT and TZ; an empty one counts as not set. SettingError is one
    line that names the setting. Relative paths start at the folder of this file."""
    check_time_zone(environ.get("TZ", ""))
    profile = load_profile(HERE / (environ.get("REGISTER") or "registers/demo.toml"))
    database = HERE / (environ.get("DATABASE") or f"data/{profile.name}.db")
    if database.is_dir() or not database.parent.is_dir():
        raise SettingError(f"DATABASE: {database} is not a file in an existing folder")
    contact = environ.get("CONTACT") or None
    if contact and not re.fullmatch(r"https://[!-~]+|[!-?A-~]+@[!-?A-~]+\.[!-?A-~]+", contact):
        raise SettingError("CONTACT: must be a mail or https address")
    if need_contact and not contact and profile.pages is None:
        raise SettingError("CONTACT: a mail or https address must tell the register who reads it")
    return Settings(profile, database, contact)


def check_time_zone(name: str) -> None:
    """The C library takes a misspelt TZ for UTC, silently."""
    try:
        if name:
            zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise SettingError(f"TZ: {name} is no time zone that this machine knows") from None


def log_to_stderr(level: int, before: str = "") -> None:
    """Our own log from `level` on, of other packages errors only: they may quote addresses.
    Its times are local; the C library takes an empty TZ for UTC, we for not set."""
    if os.environ.get("TZ") == "":
        del os.environ["TZ"]
        time.tzset()
    logging.basicConfig(
        format=f"{before}%(asctime)s %(levelname)s %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S%z",
        level=logging.ERROR,
    )
    logging.getLogger("persona404").setLevel(level)


def limit_memory() -> None:
    """Keep this process's address space to MEMORY: no page, however made, takes more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft > MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


def utc_now() -> str:
    """2026-01-31T03:00:00Z"""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- The database, shared with app.py -------------------------------------------------


def open_database(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection in autocommit, waiting `busy_seconds` for a lock; a new or older file
    gets schema.sql. sqlite3.DatabaseError where the schema is newer than this program."""
    db = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise sqlite3.DatabaseError(
                f"its schema version {version} is newer than this program's {SCHEMA_VERSION}"
            )
        db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        # WAL stays with the file; a backup's copy comes without.
        if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            db.execute("PRAGMA journal_mode = WAL")
        if version < SCHEMA_VERSION:
            db.executescript((HERE / "schema.sql").read_text("utf-8"))
    except BaseException:
        db.close()
        raise
    return db


FAULTS = {  # https://www.sqlite.org/rescode.html
    sqlite3.SQLITE_BUSY: "another program holds its lock",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full or broken",
    sqlite3.SQLITE_READONLY: "its file or folder may not be written",
    sqlite3.SQLITE_CANTOPEN: "its file or folder cannot be opened",
    sqlite3.SQLITE_CORRUPT: "its file is damaged; restore a backup (README)",
    sqlite3.SQLITE_NOTADB: "its file is damaged; restore a backup (README)",
}


def fault_of(error: sqlite3.Error) -> str:
    """What is wrong, for an operator; no path, and nothing of the program."""
    return FAULTS.get(code_of(error), "see the log")


def explained(error: Exception) -> str:
    """An error for the log: SQLite's own texts do not tell what to do."""
    return f"{error} ({fault_of(error)})" if isinstance(error, sqlite3.Error) else str(error)


def may_pass(error: sqlite3.Error) -> bool:
    """Whether the fault may be gone in a moment, without hands."""
    return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 of an error that is Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def erase(db: sqlite3.Connection) -> None:
    """Empty the write-ahead log, where deleted rows would live on, and bring all to the disk.
    Not while a reader holds an old snapshot: then the next run does it."""
    db.execute("PRAGMA busy_timeout = 1000")  # as long as views wait
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        log.warning("a reader holds the old list: removed data leave the disk at the next run")


@contextmanager
def sole_run(database: Path) -> Iterator[bool]:
    """Whether this is the only synchronisation of `database` just now. The lock (flock(2)
    on a file that stays) dies with its holder."""
    try:
        lock = Path(f"{database}.lock").open("w")  # noqa: SIM115
    except OSError as error:
        raise SettingError(f"DATABASE: {database}.lock: {error.strerror}") from None
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def stored_persons(db: sqlite3.Connection) -> dict[str, Person]:
    rows = db.execute("SELECT id, nombre, fecha, edad, lugar, foto, url FROM person")
    return {row[0]: Person(*row) for row in rows}


def hidden_ids(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT id FROM hidden")}


def write_persons(db: sqlite3.Connection, persons: Iterable[Person]) -> None:
    """Replace the list, in the order of the API: newest date first, then id."""
    ordered = sorted(persons, key=lambda person: person.id)
    ordered.sort(key=lambda p: p.fecha[6:] + p.fecha[3:5] + p.fecha[:2], reverse=True)
    db.execute("DELETE FROM person")
    db.executemany(
        "INSERT INTO person (position, id, nombre, fecha, edad, lugar, foto, url) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((position, *person) for position, person in enumerate(ordered, 1)),
    )
    announce(db)


def fold_views(db: sqlite3.Connection) -> None:
    """Add up the views of days longer past than FOLDED: one row per day and site is left, so
    that the table stays small and tells no more than a site's figures need."""
    before = {"day": (datetime.now(UTC) - FOLDED).strftime("%Y-%m-%d")}
    try:
        with db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "INSERT INTO view (day, site, person, views)"
                " SELECT day, site, '', sum(views) FROM view"
                " WHERE day < :day AND person <> '' GROUP BY day, site"
                " ON CONFLICT DO UPDATE SET views = views + excluded.views",
                before,
            )
            db.execute("DELETE FROM view WHERE day < :day AND person <> ''", before)
    except sqlite3.OperationalError as error:  # no reason to call a good run bad
        log.warning("old views are added up at the next run: %s", error)


# --- Compare: pure -------------------------------------------------------------------


class Changes(NamedTuple):
    """What one reading makes of the stored persons; all but `persons` are ids."""

    listed: set[str]  # readable or not, hidden or not
    persons: list[Person]  # the new list
    added: set[str]
    changed: set[str]
    found: set[str]
    erased: set[str]  # hidden, or outside the filter: neither active nor found


def compare(stored: Mapping[str, Person], reading: Reading, hidden: set[str]) -> Changes:
    """Only absence from the register means found: a person who is listed but unreadable
    stays as stored. A card whose file is not known is whoever has its name."""
    lost_ids = {left.id for left in reading.unreadable if left.id}
    lost_names = {plain(left.nombre) for left in reading.unreadable if not left.id and left.nombre}
    named = {id for id, person in stored.items() if plain(person.nombre) in lost_names}
    named -= reading.passed_over | reading.outside
    listed = reading.persons.keys() | lost_ids | named
    known = {**stored, **reading.persons}
    active = {id for id in listed - hidden if id in known}
    return Changes(
        listed=listed,
        persons=[known[id] for id in active],
        added=active - stored.keys(),
        changed={id for id in active & stored.keys() if known[id] != stored[id]},
        found=stored.keys() - listed - reading.outside - hidden,
        erased=stored.keys() & (reading.outside | hidden),
    )


def refusal(stored: Mapping[str, Person], reading: Reading, profile: Profile) -> str | None:
    """Why this reading cannot be believed, or None."""
    lost = Counter(left.field for left in reading.unreadable)
    if not reading.listed:
        return f"nobody is listed on {reading.pages} list pages"
    if lost.total() > profile.max_unreadable * reading.listed:
        fields = ", ".join(f"{field} {count}" for field, count in lost.most_common())
        return f"{lost.total()} of {reading.listed} records are unreadable ({fields})"
    still = len(stored.keys() & compare(stored, reading, set()).listed)
    if len(stored) >= GUARDED and 2 * still < len(stored):
        return f"only {still} of {len(stored)} stored persons are still listed"
    return None


# What an operator may do about a refusal.
ADVICE = (
    "if the register's pages have changed, `sync.py --dry-run` shows where its profile fails; "
    "if it is true, `sync.py --force` stores it (both with the service's settings: README, "
    '"Synchronisation")'
)


# --- One synchronisation -------------------------------------------------------------


def synchronise(
    settings: Settings, force: bool, progress: Progress, save: Path | None
) -> str | None:
    """Run once and record it; the caller holds the lock. A line that sums it up, or None when
    it was refused and the stored persons stay. SettingError for a database of another register."""
    profile, database, contact = settings
    with closing(open_database(database, busy_seconds=60)) as db:
        check_register(db, profile)
        run = begin_run(db)
        reading = None
        try:
            log.info("read: %s", profile.name)
            reading = read_register(profile, contact, progress, save)
            progress("")
            for left in reading.unreadable[:LOGGED]:
                log.warning("unreadable: %s", describe(left))
            log.info("read: %s", summary(reading))
            changes = swap(db, run, reading, profile, force)
            return (
                f"{profile.name}: ok: {reading.listed} listed, {len(changes.added)} added, "
                f"{len(changes.found)} found, {len(reading.unreadable)} unreadable, "
                f"{len(changes.persons)} active"
            )
        except Refused as error:
            end_run(db, run, "refused", str(error), reading)
            log.error("%s: refused, the stored persons stay: %s", profile.name, error)
            return None
        except (SystemExit, KeyboardInterrupt):
            end_run(db, run, "failed", "stopped by a signal", reading)
            log.error("%s: stopped", profile.name)
            raise
        except Exception as error:  # only its type: its text may quote a person
            end_run(db, run, "failed", type(error).__name__, reading)
            raise
        finally:
            erase(db)
            fold_views(db)


def check_register(db: sqlite3.Connection, profile: Profile) -> None:
    """SettingError where the database holds another register's persons: they would all be
    taken for found."""
    for (id,) in db.execute(
        "SELECT id FROM person UNION ALL SELECT id FROM found UNION ALL SELECT id FROM hidden"
    ):
        if not id.startswith(f"{profile.name}-"):
            raise SettingError(f"DATABASE: it holds the register of {id}, not {profile.name}")


def begin_run(db: sqlite3.Connection) -> int:
    """Record the start. Who holds the lock knows that no other run is running."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        call_killed(db)
        cursor = db.execute("INSERT INTO run (started, outcome) VALUES (?, 'running')", [utc_now()])
        return cursor.lastrowid or 0


def call_killed(db: sqlite3.Connection) -> None:
    """What still says "running" died unrecorded; the caller holds the lock."""
    update = "UPDATE run SET outcome = 'killed', ended = ? WHERE outcome = 'running'"
    db.execute(update, [utc_now()])


def end_run(
    db: sqlite3.Connection,
    run: int,
    outcome: str,
    reason: str | None,
    reading: Reading | None,
    changes: Changes | None = None,
) -> None:
    """Record the end, once: a signal behind a good swap leaves it a good run."""
    db.execute(
        "UPDATE run SET ended = :ended, outcome = :outcome, listed = :listed, added = :added, "
        "found = :found, unreadable = :unreadable, reason = :reason "
        "WHERE id = :run AND outcome = 'running'",
        {
            "run": run,
            "ended": utc_now(),
            "outcome": outcome,
            "reason": reason,
            "listed": reading and reading.listed,
            "unreadable": reading and len(reading.unreadable),
            "added": changes and len(changes.added),
            "found": changes and len(changes.found),
        },
    )


def summary(reading: Reading) -> str:
    return (
        f"{reading.pages} list pages, {len(reading.persons)} persons, "
        f"{len(reading.unreadable)} unreadable, {len(reading.passed_over)} passed over, "
        f"{len(reading.outside)} over max_age"
    )


def describe(left: LeftOut) -> str:
    """Where a record went wrong, for a log: without its name or address."""
    where = f"list page {left.page}, card {left.card}"
    return f"{left.id or 'no id'} ({where}): {left.field}: {left.reason}"


def swap(
    db: sqlite3.Connection, run: int, reading: Reading, profile: Profile, force: bool
) -> Changes:
    """From the old list to the new one in one transaction, with the run's record. Refused
    where the reading cannot be believed and `force` does not say that it is true."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        stored = stored_persons(db)
        changes = compare(stored, reading, hidden_ids(db))
        log.info("compare: %d stored, %d listed", len(stored), reading.listed)
        reason = refusal(stored, reading, profile)
        if reason and not force:
            raise Refused(f"{reason}; {ADVICE}")
        listed_again = changes.listed | reading.outside
        db.executemany("DELETE FROM found WHERE id = ?", ((id,) for id in listed_again))
        db.executemany("INSERT OR IGNORE INTO found VALUES (?)", ((id,) for id in changes.found))
        log.info("remove: %d found, %d erased", len(changes.found), len(changes.erased))
        write_persons(db, changes.persons)
        log.info("add: %d new, %d changed", len(changes.added), len(changes.changed))
        end_run(db, run, "ok", reason and f"forced, although {reason}", reading, changes)
    log.info("serve: %d active", len(changes.persons))
    return changes


# --- The commands --------------------------------------------------------------------


def run(settings: Settings, force: bool, progress: Progress, save: Path | None) -> int:
    with sole_run(settings.database) as alone:
        if not alone:
            log.error("another synchronisation of %s is running", settings.database)
            return BUSY
        line = synchronise(settings, force, progress, save)
    if line is None:
        return 1
    try:
        print(line, flush=True)
    except OSError as error:  # a full disk behind >>sync.log: the run was good all the same
        log.error("%s (and its line could not be printed: %s)", line, error.strerror)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - else Python's own exit fails
    return 0


def dry_run(settings: Settings, progress: Progress, save: Path | None) -> int:
    """Show what is read and what would change; write nothing, not even a lock."""
    stored: dict[str, Person] = {}
    hidden: set[str] = set()
    if settings.database.exists():
        # Not mode=ro, which would leave a -wal and a -shm file behind.
        with closing(sqlite3.connect(f"{settings.database.as_uri()}?mode=rw", uri=True)) as db:
            db.execute("PRAGMA query_only = ON")
            if db.execute("PRAGMA user_version").fetchone()[0]:  # else it is empty yet
                check_register(db, settings.profile)
                stored, hidden = stored_persons(db), hidden_ids(db)
    reading = read_register(settings.profile, settings.contact, progress, save)
    progress("")
    show_persons(reading, hidden)
    for left in reading.unreadable:
        print(f"unreadable: {describe(left)}")
    for part in reading.unused:
        print(f"in the profile: {part}")
    print(f"read: {summary(reading)}")
    print(f"passed over: {' '.join(sorted(reading.passed_over))}")
    print(f"over max_age: {' '.join(sorted(reading.outside))}")
    changes = compare(stored, reading, hidden)
    for what in ("added", "changed", "found", "erased"):
        ids = getattr(changes, what)
        print(f"would be {what}: {len(ids)} {' '.join(sorted(ids))}".rstrip())
    if reason := refusal(stored, reading, settings.profile):
        print(f"would be refused: {reason}")
        return 1
    return 0


def show_persons(reading: Reading, hidden: set[str]) -> None:
    """A table on a terminal; in a file or a pipe the ids only, for they may be kept."""
    if not sys.stdout.isatty():
        for id in reading.persons:
            print(id)
        return
    rows = [Person._fields, *reading.persons.values()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        mark = "  (hidden)" if row[0] in hidden else ""
        print("  ".join(map(str.ljust, row, widths)).rstrip() + mark)


def hide(settings: Settings, id: str, hidden: bool) -> int:
    """Take a person off now and for good, or let the next synchronisation bring it back.
    Needs no lock: the swap reads the hidden inside its own transaction."""
    name, database = settings.profile.name, settings.database
    if not re.fullmatch(rf"{name}-[0-9]+", id):
        raise SettingError(f"{id} is no id of the register {name}, whose ids are {name}-NUMBER")
    with closing(open_database(database, busy_seconds=60)) as db:
        check_register(db, settings.profile)
        with db:
            db.execute("BEGIN IMMEDIATE")
            if hidden:
                db.execute("INSERT OR IGNORE INTO hidden VALUES (?)", [id])
                db.execute("DELETE FROM found WHERE id = ?", [id])
                persons = stored_persons(db)
                known = persons.pop(id, None) is not None
                if known:
                    write_persons(db, persons.values())
            else:
                known = db.execute("DELETE FROM hidden WHERE id = ?", [id]).rowcount > 0
        erase(db)
    if hidden:
        was = "was on the list and is off it" if known else "was NOT on the list: is the id right?"
        print(f"{database}: {id} is hidden from now on; the person {was}")
    else:
        print(f"{database}: {id} {'is no longer' if known else 'was not'} hidden")
    return 0


def terminal_progress(text: str) -> None:
    print(CLEAR_LINE + text, end="", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Read the register and bring the database up to date.",
        epilog="Relative paths start at the folder of this file. Settings: see README.md.",
    )
    parser.add_argument("--register", metavar="FILE", help="the register's profile")
    parser.add_argument("--database", metavar="FILE", help="the SQLite file")
    parser.add_argument("--pages", metavar="DIR", help="read a folder of saved pages, not the web")
    parser.add_argument("--save", metavar="DIR", help="keep the pages that are fetched")
    parser.add_argument("--force", action="store_true", help="store what would be refused")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="show, write nothing")
    what.add_argument("--hide", metavar="ID", help="never show this person, from now on")
    what.add_argument("--unhide", metavar="ID", help="let the next run show the person again")
    options = parser.parse_args(arguments)

    terminal = sys.stderr.isatty()
    log_to_stderr(logging.WARNING if terminal else logging.INFO, CLEAR_LINE if terminal else "")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    environ = dict(os.environ)
    environ.update({"REGISTER": options.register} if options.register else {})
    environ.update({"DATABASE": options.database} if options.database else {})
    progress: Progress = terminal_progress if terminal else lambda text: None
    try:
        if options.hide is not None or options.unhide is not None:
            settings = read_settings(environ, need_contact=False)
            id = options.unhide if options.hide is None else options.hide
            return hide(settings, id, hidden=options.hide is not None)
        if options.pages is not None and not options.dry_run:
            raise SettingError("--pages: goes with --dry-run, for old pages must not be stored")
        settings = read_settings(environ, need_contact=options.pages is None)
        if options.pages is not None:
            pages = str(HERE / options.pages)
            settings = settings._replace(profile=replace(settings.profile, pages=pages))
        save = HERE / options.save if options.save else None
        limit_memory()
        if options.dry_run:
            return dry_run(settings, progress, save)
        return run(settings, options.force, progress, save)
    except SettingError as error:
        print(f"sync.py: {error}", file=sys.stderr)
        return 2
    except Refused as error:
        log.error("would be refused: %s", error)
        return 1
    except sqlite3.Error as error:
        log.error("failed: DATABASE: %s: %s", settings.database, explained(error))
        return 1
    except Exception as error:  # its text may quote a person; where it happened does not
        where = "".join(traceback.format_tb(error.__traceback__))
        log.error("failed: %s\n%s", type(error).__name__, where)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if terminal:
            terminal_progress("")


if __name__ == "__main__":
    sys.exit(main())
