"""Synchronise the database with the register: read, compare, remove, add, serve.

    register --read_register--> Reading --decide--> Changes --write_changes--> SQLite --> app.py
       (no lock is held on the database)       (swap: one transaction)
    register --keep_photos--> SQLite           (then the photos, each by itself)

commands.py has the options that do something else. Exit 0: done. 1: refused, withheld or failed:
see the log. 2: wrong usage, setting or profile. 75: another synchronisation is running.
"""

import argparse
import logging
import os
import resource
import shutil
import signal
import sqlite3
import sys
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

import commands
from model import VERSION, Changes, Reading, SettingError
from rules.judge import decide
from scrape.address import page_of
from scrape.fetch import Fetcher, Refused
from scrape.images import fetch_photos
from scrape.profile import Profile, load_profile
from scrape.reading import read_register
from settings import HERE, Settings, read_paths, read_settings, set_up_process
from store.database import DatabaseUnavailable, empty_wal, open_register, run_lock, transaction
from store.hidden import read_hidden, recognise, write_marks
from store.persons import read_stored, stored_persons, write_changes
from store.photos import Children, count_refused, delete_photos, due_photos, store_photo
from store.runs import begin_run, end_run, record_dead_run
from store.views import KEPT_DAYS

ETC = Path("/etc")
LOGGED = 100  # so many unreadable records are named in the log; all are counted
LOGGED_FAULTS = 5  # so many kinds of faults of photos
FREE_BYTES = 100_000_000  # a disk with less gets no photos: removals need the rest
MEMORY = 768 * 2**20  # bytes; a page that needs more cannot be parsed
ADVICE = (
    "if the register's pages have changed, --dry-run shows where its profile fails; if the list is"
    " right, --force saves it (docs/night.md)"
)

log = logging.getLogger("persona404.sync")


def main(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Run one command; its exit status."""
    options = parse_options(arguments)
    given = {"REGISTER": options.register, "DATABASE": options.database}
    environ = {**environ, **{name: text for name, text in given.items() if text}}
    try:
        return run_command(options, environ)
    except SettingError as error:
        print(f"sync.py: {error}", file=sys.stderr)
        return 2
    except Refused as error:  # of --dry-run or --explain; a run records it
        log.error("would be refused: %s", error)
    except DatabaseUnavailable as error:
        log.error("failed: DATABASE: %s: %s", read_paths(environ)[1], error)
    except Exception as error:  # its text may quote a person; where it happened does not
        if isinstance(error, OSError) and error.filename:  # a path of an option or setting
            print(f"sync.py: {error.filename}: {error.strerror}", file=sys.stderr)
            return 2
        where = "".join(traceback.format_tb(error.__traceback__))
        log.error("failed: %s\n%s", type(error).__name__, where)
    return 1


def parse_options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Read the register. See docs/operating.md.")
    parser.add_argument("--version", action="version", version=f"persona404 {VERSION}")
    parser.add_argument("--register", metavar="FILE", help="the register's profile")
    parser.add_argument("--database", metavar="FILE", help="the SQLite file")
    parser.add_argument("--pages", metavar="DIR", help="read a folder of saved pages, not the web")
    parser.add_argument("--save", metavar="DIR", help="keep the pages that are fetched")
    parser.add_argument("--force", action="store_true", help="save the list despite the checks")
    command = parser.add_mutually_exclusive_group()
    command.add_argument("--dry-run", action="store_true", help="show, write nothing")
    command.add_argument("--check", action="store_true", help="check settings and profile only")
    who = "ID-OR-ADDRESS"
    command.add_argument("--explain", metavar=who, help="show what each way reads there")
    command.add_argument("--hide", metavar=who, help="never show this person, from now on")
    command.add_argument(
        "--unhide", metavar=who, nargs="?", const="", help="let the next run show the person again"
    )
    command.add_argument("--hidden", action="store_true", help="list who is hidden, by id")
    command.add_argument("--who", metavar="TEXT", help="find stored persons by name or id")
    command.add_argument("--report", action="store_true", help="show the views of each site")
    command.add_argument("--backup", metavar="FILE", help="write a copy without persons")
    command.add_argument("--restore", metavar="FILE", help="put such a copy in place")
    parser.add_argument("--since", metavar="TIME", help="unhide all whom the panel hid since then")
    parser.add_argument("--days", type=int, metavar="N", help="of the report: 1 to 400, else 30")
    parser.add_argument("--csv", action="store_true", help="the report as CSV")
    options = parser.parse_args(arguments)
    in_range = options.days is None or 1 <= options.days <= KEPT_DAYS
    if not in_range or (not options.report and (options.csv or options.days)):
        parser.error(f"--days (1 to {KEPT_DAYS}) and --csv go with --report")
    if bool(options.since) != (options.unhide == ""):
        parser.error(f"--unhide goes with {who} or with --since TIME")
    return options


def run_command(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    profile_file, database = read_paths(environ)
    register = profile_file.stem
    shows = options.dry_run or options.explain is not None
    is_installed = os.geteuid() == 0 and any(ETC.glob("persona404*.env"))
    if is_installed and not shows and not environ.get("DATABASE"):
        raise SettingError("DATABASE: not set; root runs this with the settings: persona404 sync")
    # These need the database alone.
    if options.hide is not None:
        return commands.hide_person(options.hide, register, database)
    if options.unhide is not None:
        return commands.unhide_persons(options.unhide, options.since, register, database)
    if options.hidden:
        return commands.show_hidden(register, database)
    if options.who is not None:
        return commands.show_who(options.who, register, database)
    if options.report:
        return commands.report(database, options.days or 30, options.csv)
    if options.backup is not None:
        return commands.back_up_to(options.backup, register, database)
    if options.restore is not None:
        return locked(database, lambda: commands.restore_from(options.restore, register, database))
    if options.pages is not None and not (HERE / options.pages).is_dir():
        raise SettingError(f"--pages: {HERE / options.pages} is not a folder")
    if options.pages is not None and not shows:
        raise SettingError("--pages: goes with --dry-run and --explain: old pages are never stored")
    try:
        settings = read_settings(environ, need_contact=options.pages is None)
        profile = load_profile(settings.profile)
    except SettingError:
        if not shows and not options.check and database.exists():
            with suppress(SettingError, DatabaseUnavailable):  # /health shows it to anybody
                record_dead_run(database, "a setting or the profile is wrong: --check says which")
        raise
    if options.check:
        return commands.check(profile)
    if options.pages is not None:
        profile = replace(profile, pages_dir=str(HERE / options.pages), photos=False)
    save = HERE / options.save if options.save else None
    fetcher = Fetcher(profile, settings.about.contact, save)
    if options.explain is not None:
        return commands.explain(fetcher, options.explain)
    if options.dry_run:
        return commands.dry_run(settings, fetcher, options.force)
    return locked(database, lambda: synchronise(settings, fetcher, options.force))


def locked(database: Path, run: Callable[[], int]) -> int:
    """What `run` returns under the run lock."""
    with run_lock(database) as is_ours:
        if is_ours:
            return run()
    log.error("another synchronisation of %s is running", database)
    return os.EX_TEMPFAIL  # 75


def synchronise(settings: Settings, fetcher: Fetcher, force: bool) -> int:
    """Run once and record it; the exit status. The caller holds the run lock. SettingError for a
    database of another register."""
    with open_register(settings.database, settings.register) as db:
        run = begin_run(db)
        reading = None
        if not fetcher.profile.photos:
            with suppress(sqlite3.Error):  # a removal must not wait for it
                delete_photos(db, of_strangers_only=False)
        try:
            log.info("read the register %s", settings.register)
            reading = read_register(fetcher, commands.progress, stored_persons(db).keys())
            for record in reading.unreadable[:LOGGED]:
                log.warning("unreadable: %s", commands.describe(record))
            log.info("read: %s", commands.summary(reading))
            changes, outcome = swap(db, run, reading, fetcher.profile, force)
        except Refused as error:
            end_run(db, run, "refused", str(error), reading)
            log.error("%s: refused, the stored persons stay: %s", settings.register, error)
            return 1
        except BaseException as error:  # its text may quote a person
            is_signal = isinstance(error, SystemExit | KeyboardInterrupt)
            reason = "stopped by a signal" if is_signal else type(error).__name__
            end_run(db, run, "failed", reason, reading)
            log.error("%s: failed, the stored persons stay: %s", settings.register, reason)
            raise
        finally:
            commands.progress("")
            empty_wal(db)
        if fetcher.profile.photos and outcome == "ok":
            keep_photos(db, settings.database.resolve().parent, fetcher, reading, changes)
    print_line(
        f"{settings.register}: {outcome}: {reading.listed} listed, "
        f"{len(changes.added)} added, {len(changes.found)} found, {len(changes.moved)} moved, "
        f"{len(reading.unreadable)} unreadable, {len(changes.persons)} active"
    )
    return 0 if outcome == "ok" else 1


def keep_photos(
    db: sqlite3.Connection, folder: Path, fetcher: Fetcher, reading: Reading, changes: Changes
) -> None:
    """Fetch the photos that are due, while the disk of `folder`, the file's own, has room."""
    with_address: dict[str, Children] = defaultdict(set)
    for person in reading.persons.values():
        with_address[page_of(person.foto)].add((person.nombre, person.fecha))
    read = {id for id in reading.photos if changes.persons.get(id) == reading.persons[id]}
    due, asked, faults = due_photos(db, read), 0, Counter[str]()
    photos = fetch_photos(fetcher, due, reading.photos, commands.progress, faults)
    try:
        for id, digest, jpeg in photos:
            if shutil.disk_usage(folder).free < FREE_BYTES:
                log.warning("photos: they wait until %d MB of disk are free", FREE_BYTES // 10**6)
                break
            store_photo(db, id, digest, jpeg, with_address[page_of(reading.photos[id])])
            asked += 1
        if refused := count_refused(db):
            log.warning("photos: %d are not kept: each is another child's too", refused)
    except sqlite3.Error as error:
        log.warning("photos: the rest waits: %s", error)
    finally:
        commands.progress("")
        empty_wal(db)
    for fault, count in faults.most_common(LOGGED_FAULTS):
        log.warning("photos: %d failed: %s", count, fault)
    log.info("photos: %d of %d asked for, %d failed", asked, len(due), faults.total())


def swap(
    db: sqlite3.Connection, run: int, reading: Reading, profile: Profile, force: bool
) -> tuple[Changes, str]:
    """Replace the old list by the new one, with the run's record; the changes, and "ok" or
    "withheld". Refused if the reading cannot be believed; `force` says that it is true.

    Deciding may take long, so it holds no lock: it is repeated if somebody was hidden meanwhile."""
    stored, marks = read_stored(db), read_hidden(db)
    log.info("compare: %d stored, %d listed", len(stored.persons), reading.listed)
    hidden = recognise(marks, stored.persons, reading)
    changes, outcome, reason = decide(stored, reading, hidden, profile.max_unreadable, force)
    for note in changes.notes:
        log.warning("%s", note)
    if outcome == "refused":
        raise Refused(f"{reason}; {ADVICE}")
    if outcome == "withheld":
        reason = f"additions and changes wait: {reason}; {ADVICE}"
    with transaction(db):
        is_current = (stored_persons(db), read_hidden(db)) == (stored.persons, marks)
        if is_current:
            write_changes(db, changes)
            write_marks(db, hidden, somebody_is_new=bool(changes.added))
            counts = {name: len(getattr(changes, name)) for name in ("added", "found", "moved")}
            warnings = " ".join(changes.warnings)
            end_run(db, run, outcome, reason, reading, warnings=warnings, **counts)
    if not is_current:
        return swap(db, run, reading, profile, force)
    if outcome == "withheld":
        log.error("%s: withheld: %s", profile.name, reason)
    log.info("remove: %d found, %d erased", len(changes.found), len(changes.erased))
    log.info("add: %d new, %d changed", len(changes.added), len(changes.changed))
    log.info("serve: %d active", len(changes.persons))
    return changes, outcome


def print_line(line: str) -> None:
    """Print the summary. If it cannot be (a full disk behind >>sync.log), the run stays good."""
    try:
        print(line, flush=True)
    except OSError as error:
        log.error("%s (and its line could not be printed: %s)", line, error.strerror)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - else Python's own exit fails


def limit_memory() -> None:
    """Keep this process's address space to MEMORY: no page, however made, takes more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft > MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


if __name__ == "__main__":
    terminal = sys.stderr.isatty()
    level = logging.WARNING if terminal else logging.INFO
    set_up_process(level, commands.CLEAR_LINE if terminal else "")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # `nohup ... &` has it ignored
    limit_memory()
    try:
        sys.exit(main(sys.argv[1:], os.environ))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
