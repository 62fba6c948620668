"""What sync.py shows: progress, a summary, the dry run, with which a profile is written, and the
report for sponsors.

Names, addresses and texts are shown on a terminal only: what goes into a file or a pipe is kept.
"""

import csv
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import store
from changes import decide
from person import Person, Reading, Skipped, Stored
from scrape.cards import RunContext
from scrape.fetch import Fetcher, Refused
from scrape.images import try_photos
from scrape.paging import Spoilt, read_once
from scrape.profile import Profile
from scrape.reading import join_cards, read_record, read_register
from scrape.record import Record, RecordError, parse, texts_of
from settings import HERE, SettingError, Settings
from stored import possible_ids, read_stored
from views import VIEWS_BY_SITE, utc_day

CLEAR_LINE = "\r\x1b[K"  # of a terminal
SAFEGUARDS = ("pass_over", "no_photo")  # that they match nobody may be right
SHARED = 3  # so many persons with one photo are a mistake


def progress(text: str) -> None:
    """Show a line of progress, if anybody sees it; "" removes it."""
    if sys.stderr.isatty():
        print(CLEAR_LINE + text, end="", file=sys.stderr, flush=True)


def summary(reading: Reading) -> str:
    return (
        f"{reading.page_count} list pages, {len(reading.persons)} persons, "
        f"{len(reading.unreadable)} unreadable, {len(reading.stamped)} stamped, "
        f"{len(reading.gone)} gone, {len(reading.excluded)} over max_age or several children"
    )


def describe(record: Skipped) -> str:
    """Where a record went wrong, for a log: without its name or address."""
    where = f"list page {record.page_number}, card {record.card_number}"
    return f"{record.id or 'a card without a file'} ({where}): {record.field}: {record.reason}"


def dry_run(settings: Settings, profile: Profile, save: Path | None, force: bool) -> int:
    """Show what is read and what would change; write nothing, not even a lock."""
    stored = peek(settings)
    fetcher = Fetcher(profile, settings.contact, save)
    try:
        reading = read_register(fetcher, progress, stored.persons.keys())
    finally:
        progress("")
    changes, outcome, reason = decide(stored, reading, profile.max_unreadable, force)
    show_reading(reading, set(changes.hidden))
    show_faults(reading)
    print(f"read: {summary(reading)}")
    if profile.photos and (settings.reads_folder or not profile.pages_dir):  # --pages has none
        print(f"photos: {try_photos(fetcher, reading.photos)}")
    for note in changes.notes:
        print(f"note: {note}")
    for what in ("added", "changed", "moved", "found", "erased"):
        ids = getattr(changes, what)
        print(f"would be {what}: {len(ids)} {' '.join(sorted(ids))}".rstrip())
    if reason:
        print(f"would be {reason}" if outcome == "ok" else f"would be {outcome}: {reason}")
    return 0 if outcome == "ok" else 1


def peek(settings: Settings) -> Stored:
    """What is stored, without a change to the database or its folder."""
    is_new = not settings.database.exists() or settings.database.stat().st_size == 0
    # Not mode=ro, which would leave a -wal and a -shm file.
    path = ":memory:" if is_new else f"{settings.database.as_uri()}?mode=rw"
    with store.faults_named(), closing(sqlite3.connect(path, uri=not is_new)) as db:
        if is_new:
            store.run_script(db, HERE / "schema.sql")
        db.execute("PRAGMA query_only = ON")
        if store.schema_version(db) != store.SCHEMA_VERSION:
            raise SettingError("DATABASE: it is of another version; start app.py, or run sync.py")
        store.check_register(db, settings.register)
        return read_stored(db)


def show_reading(reading: Reading, hidden: set[str]) -> None:
    """Print a table of the persons, or their ids; then who was left out and why, on a terminal
    with name, address and text."""
    on_terminal = sys.stdout.isatty()
    table = [Person._fields, *reading.persons.values()] if on_terminal else []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        mark = "  (hidden)" if row[0] in hidden else ""
        print("  ".join(map(str.ljust, row, widths)).rstrip() + mark)
    if not on_terminal:
        print(*reading.persons, sep="\n")
    for kind in ("unreadable", "stamped", "gone", "excluded"):
        for record in getattr(reading, kind):
            print(f"{kind}: {describe(record)}")
            if on_terminal:
                texts = dict.fromkeys(filter(None, (record.nombre, record.href, record.text)))
                print(*(f"    {text}" for text in texts), sep="\n")


def show_faults(reading: Reading) -> None:
    """Print what in the profile looks wrong, and which safeguards match nobody."""
    for part, fault in reading.parts.items():
        if fault and part.startswith(SAFEGUARDS):
            print(f"safeguard that matches nobody today: {part}")
        elif fault:
            print(f"in the profile: {part}: {fault}")
    persons = reading.persons.values()
    photos = Counter(p.foto for p in persons if p.foto != reading.placeholder)
    cases = Counter(f"{p.fecha}, {p.edad}, {p.lugar}" for p in persons)
    for what, counts in (("photo", photos), ("date, age and place", cases)):
        for shared, count in counts.items():
            if count >= SHARED:
                shown = f": {shared}" if sys.stdout.isatty() else ""
                print(f"in the profile: {count} persons have the same {what}{shown}")


def explain(settings: Settings, profile: Profile, address: str) -> int:
    """Show what each way yields for the person whose file page is at `address`."""
    if not sys.stdout.isatty():
        raise SettingError("--explain: shows a person, and so needs a terminal")
    wanted = possible_ids(address, profile.name)
    context = RunContext(Fetcher(profile, settings.contact), progress)
    try:
        cards = join_cards(read_once(context, set()), Reading())
    except Spoilt as error:
        raise Refused(str(error)) from None
    finally:
        progress("")
    card = next((card for card in cards if card.id in wanted), None)
    if card is None:
        raise SettingError("--explain: no card of the list links to that address")
    for i, way in enumerate(profile.file_url):
        print(f"file_url[{i}]: {card.texts[way]!r}")
    record = Record(card, context)
    for field in profile.fields.__struct_fields__:
        if field != "url":
            explain_field(record, field)
    reading = Reading()
    read_record(reading, record)
    show_reading(reading, set())
    return 0


def explain_field(record: Record, field: str) -> None:
    taken = False
    try:
        for i, text in enumerate(texts_of(record, field)):
            value = parse(record, field, text)
            mark = " (taken)" if text and value and not taken else ""
            taken = taken or bool(mark)
            print(f"fields.{field}[{i}]: {text!r} -> {value if text else None}{mark}")
    except RecordError as error:
        print(f"fields.{field}: {': '.join(filter(None, error.args))}")


def report(database: Path, days: int, as_csv: bool) -> None:
    """Print how often each site has shown somebody in the last `days` days (UTC), today's
    included: as /api/sites does, but every site."""
    with store.open_database(database, busy_seconds=60) as db:
        rows = db.execute(VIEWS_BY_SITE, {"first_day": utc_day(days - 1)}).fetchall()
        figures = db.execute(
            "SELECT (SELECT count FROM active), count(*), (SELECT count(*) FROM found)"
            " FROM person_views"
        ).fetchone()
    table = [("site", "views", "first", "last"), *rows]
    if as_csv:
        csv.writer(sys.stdout).writerows(table)
        return
    print("persons on the list: {}; shown so far: {}; found so far: {}".format(*figures))
    print(f"last {days} days: {sum(row[1] for row in rows)} views on {len(rows)} sites")
    width = max(len(row[0]) for row in table)
    for site, views, first, last in table:
        print(f"{site:{width}}  {views:>9}  {first:10}  {last}")
