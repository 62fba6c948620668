"""Synchronise the database with the register: read, compare, remove, add, serve.

    python sync.py [--register FILE] [--database FILE] [--force] [--save DIR]
    python sync.py --dry-run [--register FILE] [--database FILE] [--save DIR] [--pages DIR]
    python sync.py --check | --hide ID | --unhide ID

    register --read_register--> Reading --compare--> Changes --swap--> SQLite --> app.py
                 (no lock is held on the database)      (one transaction)

Exit 0: done. 1: refused or failed, the stored persons stay. 2: wrong usage, setting or
profile. 75: another synchronisation is running. The settings are those of README.
"""

import argparse
import logging
import os
import re
import resource
import signal
import sqlite3
import sys
import traceback
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

import store
from changes import Changes, compare, refusal
from person import Person, Reading, Unreadable
from scrape.fetch import Refused
from scrape.profile import Profile, ProfileError, load_profile
from scrape.reading import read_register
from settings import HERE, SettingError, Settings, read_paths, read_settings, set_up_process

EXIT_BUSY = os.EX_TEMPFAIL  # 75
CLEAR_LINE = "\r\x1b[K"  # of a terminal
LOGGED = 100  # so many unreadable records are named in the log; all are counted
MEMORY = 768 * 2**20  # bytes; a page that needs more cannot be parsed
ADVICE = (
    "if the register's pages have changed, `sync.py --dry-run` shows where its profile fails; "
    "if it is true, `sync.py --force` stores it (both with the service's settings: README, "
    '"Synchronisation")'
)

log = logging.getLogger("persona404.sync")


# --- The command line ----------------------------------------------------------------


def main(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Run one command; its exit status."""
    options = parse_options(arguments)
    given = {"REGISTER": options.register, "DATABASE": options.database}
    environ = {**environ, **{name: text for name, text in given.items() if text}}
    try:
        return run_command(options, environ)
    except (SettingError, ProfileError) as error:
        print(f"sync.py: {error}", file=sys.stderr)
        return 2
    except Refused as error:  # of a dry run; a real one records it
        log.error("would be refused: %s", error)
    except store.DatabaseUnavailable as error:
        log.error("failed: DATABASE: %s: %s", read_paths(environ)[1], error)
    except Exception as error:  # its text may quote a person; where it happened does not
        where = "".join(traceback.format_tb(error.__traceback__))
        log.error("failed: %s\n%s", type(error).__name__, where)
    return 1


def parse_options(arguments: list[str]) -> argparse.Namespace:
    about = "Read the register and bring the database up to date. Settings: see README.md."
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--register", metavar="FILE", help="the register's profile")
    parser.add_argument("--database", metavar="FILE", help="the SQLite file")
    parser.add_argument("--pages", metavar="DIR", help="read a folder of saved pages, not the web")
    parser.add_argument("--save", metavar="DIR", help="keep the pages that are fetched")
    parser.add_argument("--force", action="store_true", help="save the list despite the checks")
    command = parser.add_mutually_exclusive_group()
    command.add_argument("--dry-run", action="store_true", help="show, write nothing")
    command.add_argument("--check", action="store_true", help="check settings and profile only")
    command.add_argument("--hide", metavar="ID", help="never show this person, from now on")
    command.add_argument("--unhide", metavar="ID", help="let the next run show the person again")
    return parser.parse_args(arguments)


def run_command(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if options.hide is not None or options.unhide is not None:
        profile_file, database = read_paths(environ)
        id = options.unhide if options.hide is None else options.hide
        return hide(id, profile_file.stem, database, hidden=options.hide is not None)
    if options.pages is not None and not options.dry_run:
        raise SettingError("--pages: goes with --dry-run, for old pages must not be stored")
    settings = read_settings(environ, need_contact=options.pages is None)
    profile = load_profile(settings.profile)
    if options.check:
        return 0
    if options.pages is not None:
        profile = replace(profile, pages=str(HERE / options.pages))
    save = HERE / options.save if options.save else None
    if options.dry_run:
        return dry_run(settings, profile, save)
    with store.run_lock(settings.database) as locked:
        if not locked:
            log.error("another synchronisation of %s is running", settings.database)
            return EXIT_BUSY
        return synchronise(settings, profile, save, options.force)


# --- One synchronisation -------------------------------------------------------------


def synchronise(settings: Settings, profile: Profile, save: Path | None, force: bool) -> int:
    """Run once and record it; the exit status. The caller holds the run lock. SettingError for a
    database of another register."""
    with store.open_database(settings.database, busy_seconds=60) as db:
        store.check_register(db, settings.register)
        run = store.begin_run(db)
        reading = None
        try:
            log.info("read the register %s", settings.register)
            reading = read(settings, profile, save)
            for record in reading.unreadable[:LOGGED]:
                log.warning("unreadable: %s", describe(record))
            log.info("read: %s", summary(reading))
            changes = swap(db, run, reading, profile, force)
        except Refused as error:
            store.end_run(db, run, "refused", str(error), reading)
            log.error("%s: refused, the stored persons stay: %s", settings.register, error)
            return 1
        except (SystemExit, KeyboardInterrupt):
            store.end_run(db, run, "failed", "stopped by a signal", reading)
            log.error("%s: stopped", settings.register)
            raise
        except Exception as error:  # only its type: its text may quote a person
            store.end_run(db, run, "failed", type(error).__name__, reading)
            raise
        finally:
            store.empty_wal(db)
    print_line(
        f"{settings.register}: ok: {reading.listed} listed, {len(changes.added)} added, "
        f"{len(changes.found)} found, {len(reading.unreadable)} unreadable, "
        f"{len(changes.persons)} active"
    )
    return 0


def read(settings: Settings, profile: Profile, save: Path | None) -> Reading:
    """Read the register, with a line of progress on a terminal."""
    on_terminal = sys.stderr.isatty()

    def progress(text: str) -> None:
        if on_terminal:
            print(CLEAR_LINE + text, end="", file=sys.stderr, flush=True)

    try:
        return read_register(profile, settings.contact, progress, save)
    finally:
        progress("")


def swap(
    db: sqlite3.Connection, run: int, reading: Reading, profile: Profile, force: bool
) -> Changes:
    """Replace the old list by the new one in one transaction, with the run's record. Refused if
    the reading cannot be believed and `force` does not say that it is true."""
    with store.transaction(db):
        stored = store.stored_persons(db)
        log.info("compare: %d stored, %d listed", len(stored), reading.listed)
        changes = compare(stored, reading, store.hidden_ids(db))
        reason = refusal(stored, reading, changes, profile.max_unreadable)
        if reason and not force:
            raise Refused(f"{reason}; {ADVICE}")
        listed_again = changes.listed | reading.over_age
        db.executemany("DELETE FROM found WHERE id = ?", ((id,) for id in listed_again))
        db.executemany("INSERT OR IGNORE INTO found VALUES (?)", ((id,) for id in changes.found))
        log.info("remove: %d found, %d erased", len(changes.found), len(changes.erased))
        store.write_persons(db, changes.persons)
        log.info("add: %d new, %d changed", len(changes.added), len(changes.changed))
        forced = reason and f"forced, although {reason}"
        store.end_run(db, run, "ok", forced, reading, len(changes.added), len(changes.found))
    log.info("serve: %d active", len(changes.persons))
    return changes


def print_line(line: str) -> None:
    """Print the summary. If it cannot be (a full disk behind >>sync.log), the run stays good."""
    try:
        print(line, flush=True)
    except OSError as error:
        log.error("%s (and its line could not be printed: %s)", line, error.strerror)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - else Python's own exit fails


def summary(reading: Reading) -> str:
    return (
        f"{reading.pages} list pages, {len(reading.persons)} persons, "
        f"{len(reading.unreadable)} unreadable, {len(reading.stamped)} stamped, "
        f"{len(reading.over_age)} over max_age"
    )


def describe(record: Unreadable) -> str:
    """Where a record went wrong, for a log: without its name or address."""
    where = f"list page {record.page}, card {record.card}"
    return f"{record.id or 'no id'} ({where}): {record.field}: {record.reason}"


# --- The other commands --------------------------------------------------------------


def dry_run(settings: Settings, profile: Profile, save: Path | None) -> int:
    """Show what is read and what would change; write nothing, not even a lock."""
    stored, hidden = peek(settings)
    reading = read(settings, profile, save)
    show_persons(reading, hidden)
    for record in reading.unreadable:
        print(f"unreadable: {describe(record)}")
    for part in reading.unused:
        print(f"in the profile: {part}")
    print(f"read: {summary(reading)}")
    print(f"stamped: {' '.join(sorted(reading.stamped))}")
    print(f"over max_age: {' '.join(sorted(reading.over_age))}")
    changes = compare(stored, reading, hidden)
    for what in ("added", "changed", "found", "erased"):
        ids = getattr(changes, what)
        print(f"would be {what}: {len(ids)} {' '.join(sorted(ids))}".rstrip())
    if reason := refusal(stored, reading, changes, profile.max_unreadable):
        print(f"would be refused: {reason}")
        return 1
    return 0


def peek(settings: Settings) -> tuple[dict[str, Person], set[str]]:
    """The stored persons and the hidden ids, without a change to the database or its folder."""
    if not settings.database.exists() or settings.database.stat().st_size == 0:
        return {}, set()
    # Not mode=ro, which would leave a -wal and a -shm file.
    uri = f"{settings.database.as_uri()}?mode=rw"
    with store.faults_named(), closing(sqlite3.connect(uri, uri=True)) as db:
        db.execute("PRAGMA query_only = ON")
        store.check_register(db, settings.register)
        return store.stored_persons(db), store.hidden_ids(db)


def show_persons(reading: Reading, hidden: set[str]) -> None:
    """Print a table on a terminal; in a file or a pipe, which may be kept, the ids only."""
    if not sys.stdout.isatty():
        print(*reading.persons, sep="\n")
        return
    table = [Person._fields, *reading.persons.values()]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        mark = "  (hidden)" if row[0] in hidden else ""
        print("  ".join(map(str.ljust, row, widths)).rstrip() + mark)


def hide(id: str, register: str, database: Path, hidden: bool) -> int:
    """Take a person off the list at once and for good, or let the next synchronisation bring the
    person back. Needs no run lock: a swap reads the hidden ids in its own transaction."""
    if not re.fullmatch(rf"{register}-[0-9]+", id):
        raise SettingError(f"{id} is no id of the register {register}: they are {register}-NUMBER")
    with store.open_database(database, busy_seconds=60) as db:
        store.check_register(db, register)
        with store.transaction(db):
            if hidden:
                db.execute("INSERT OR IGNORE INTO hidden VALUES (?)", [id])
                db.execute("DELETE FROM found WHERE id = ?", [id])
                persons = store.stored_persons(db)
                was_there = persons.pop(id, None) is not None
                store.write_persons(db, persons.values())
            else:
                was_there = db.execute("DELETE FROM hidden WHERE id = ?", [id]).rowcount > 0
        store.empty_wal(db)
    if hidden:
        was = "on the list and is off it" if was_there else "NOT on the list: is the id right?"
        print(f"{database}: {id} is hidden from now on; the person was {was}")
    else:
        print(f"{database}: {id} {'is no longer' if was_there else 'was not'} hidden")
    return 0


def limit_memory() -> None:
    """Keep this process's address space to MEMORY: no page, however made, takes more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft > MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


if __name__ == "__main__":
    terminal = sys.stderr.isatty()
    set_up_process(logging.WARNING if terminal else logging.INFO, CLEAR_LINE if terminal else "")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    limit_memory()
    try:
        sys.exit(main(sys.argv[1:], os.environ))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
