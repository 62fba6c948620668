"""The sisters of a synchronisation: --dry-run and --explain, with which a profile is written,
--hide, --unhide, --hidden, --who, --report, --backup and --restore.

Names, addresses and texts are shown on a terminal only: what goes into a file or a pipe is kept.
"""

import csv
import logging
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit

from model import Person, Reading, SettingError, Skipped
from names import comparable, name_words
from rules.judge import decide
from scrape.address import page_of, possible_ids
from scrape.cards import RunContext
from scrape.fetch import Fetcher, Refused
from scrape.images import try_photos
from scrape.paging import Spoilt, read_once
from scrape.profile import Profile
from scrape.reading import join_cards, read_record, read_register
from scrape.record import Record, RecordError, parse, texts_of
from settings import HERE, Settings
from store.copies import back_up, restore
from store.database import empty_wal, open_database, open_register, peek_register, utc_text
from store.hidden import hide, known_ids, read_hidden, recognise, unhide
from store.persons import read_stored, stored_persons
from store.runs import READINGS
from store.views import VIEWS_BY_SITE, utc_day

CLEAR_LINE = "\r\x1b[K"  # of a terminal
SAFEGUARDS = ("pass_over", "no_photo")  # that they match nobody may be right
AND = ("and", "und", "et", "e", "y", "i", "ja")
SHARED = 3  # so many persons with one photo are a mistake

log = logging.getLogger("persona404.sync")


def progress(text: str) -> None:
    """Show a line of progress, if anybody sees it; "" removes it."""
    if sys.stderr.isatty():
        print(CLEAR_LINE + text, end="", file=sys.stderr, flush=True)


def summary(reading: Reading) -> str:
    return (
        f"{reading.page_count} list pages, {len(reading.persons)} persons, "
        f"{len(reading.unreadable)} unreadable, {len(reading.stamped)} stamped, "
        f"{len(reading.gone)} gone, {len(reading.excluded)} over max_age, "
        f"{len(reading.several)} with several children"
    )


def describe(record: Skipped) -> str:
    """Where a record went wrong, for a log: without its name or address."""
    where = f"list page {record.page_number}, card {record.card_number}"
    return f"{record.id or 'a card without a file'} ({where}): {record.field}: {record.reason}"


def check(profile: Profile) -> int:
    """Say what operators of a profile that can be used must know."""
    if profile.notice:
        log.warning("%s: %s", profile.name, profile.notice)
    return 0


def dry_run(settings: Settings, fetcher: Fetcher, force: bool) -> int:
    """Show what is read and what would change; write nothing, not even a lock."""
    profile = fetcher.profile
    with peek_register(settings.database, settings.register) as db:
        stored, marks = read_stored(db), read_hidden(db)
    try:
        reading = read_register(fetcher, progress, stored.persons.keys())
    finally:
        progress("")
    hidden = recognise(marks, stored.persons, reading)
    changes, outcome, reason = decide(stored, reading, hidden, profile.max_unreadable, force)
    show_reading(reading, set(hidden.cards))
    show_faults(reading)
    show_joined_names(reading, profile.several)
    print(f"read: {summary(reading)}")
    if profile.photos:
        print(f"photos: {try_photos(fetcher, reading.photos)}")
    for note in changes.notes:
        print(f"note: {note}")
    for what in ("added", "changed", "moved", "found", "erased"):
        ids = getattr(changes, what)
        print(f"would be {what}: {len(ids)} {' '.join(sorted(ids))}".rstrip())
    if reason:
        print(f"would be {reason}" if outcome == "ok" else f"would be {outcome}: {reason}")
    return 0 if outcome == "ok" else 1


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
    for kind in ("unreadable", "stamped", "gone", "excluded", "several"):
        for record in getattr(reading, kind):
            print(f"{kind}: {describe(record)}")
            if on_terminal:
                texts = dict.fromkeys(filter(None, (record.nombre, record.href, record.text)))
                print(*(f"    {text}" for text in texts), sep="\n")


def show_faults(reading: Reading) -> None:
    """Print what in the profile looks wrong, and which safeguards match nobody."""
    served = {part.rpartition("[")[0] for part, fault in reading.parts.items() if not fault}
    served -= {"", "fields.foto", *(f"fields.{record.field}" for record in reading.unreadable)}
    for part, fault in reading.parts.items():
        if fault and part.startswith(SAFEGUARDS):
            print(f"safeguard that matches nobody today: {part}")
        elif fault and part.rpartition("[")[0] in served:
            print(f"of no use today, as another way serves: {part}")
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


def show_joined_names(reading: Reading, several: str) -> None:
    """Print which of AND stand in names, unless `several` looks for them."""
    for word in AND:
        names = [p.nombre for p in reading.persons.values() if f" {word} " in p.nombre.casefold()]
        if names and several and not re.search(several, f"A {word} B C", re.IGNORECASE):
            shown = f": {names[0]}" if sys.stdout.isatty() else ""
            count = len(names)
            print(f'in the profile: `several` does not look for "{word}", in {count} names{shown}')


def explain(fetcher: Fetcher, address: str) -> int:
    """Show what each way yields for the person whose file page is at `address`."""
    if not sys.stdout.isatty():
        raise SettingError("--explain: shows a person, and so needs a terminal")
    profile, context = fetcher.profile, RunContext(fetcher, progress)
    either = possible_ids(address, profile.name)
    try:
        cards = join_cards(read_once(context, set()), Reading())
    except Spoilt as error:
        raise Refused(str(error)) from None
    finally:
        progress("")
    card = next((card for ids in either for card in cards if card.id in ids), None)
    if card is None:
        raise SettingError("--explain: no card of the list links to that address")
    for i, way in enumerate(profile.file_url):
        print(f"file_url[{i}]: {card.texts[way]!r}")
    record, reading = Record(card, context), Reading()
    for field in profile.fields.__struct_fields__:
        if field != "url":
            explain_field(record, field)
    read_record(reading, record)
    show_reading(reading, set())
    return 0


def explain_field(record: Record, field: str) -> None:
    taken = None
    try:
        for i, text in enumerate(texts_of(record, field)):
            value = parse(record, field, text) if text else None
            mark = " (taken)" if value and not taken else ""
            taken = taken or value
            print(f"fields.{field}[{i}]: {text!r} -> {value}{mark}")
    except RecordError as error:
        wrong, reason, quoted, _ = error.args
        print(f"fields.{field}: {': '.join(filter(None, (wrong, reason, quoted)))}")


def report(database: Path, days: int, as_csv: bool) -> int:
    """Print how often each site has shown somebody in the last `days` days (UTC), today's
    included: as /api/sites does, but every site; and how often the register was read."""
    with open_database(database, busy_seconds=60) as db:
        since = {"first_day": utc_day(days - 1)}
        rows = db.execute(VIEWS_BY_SITE, since).fetchall()
        active, shown, found = db.execute(
            "SELECT (SELECT count FROM active), count(*), (SELECT count(*) FROM found)"
            " FROM person_views"
        ).fetchone()
        readings, longest = db.execute(READINGS, since).fetchone()
    if as_csv:
        csv.writer(sys.stdout).writerows([("site", "views", "first", "last"), *rows])
        return 0
    total, sites = sum(row[1] for row in rows), len(rows)
    print(f"en la lista: {active}; mostradas: {shown}; ya no figuran: {found}", end=" / ")
    print(f"persons on the list: {active}; shown so far: {shown}; no longer listed: {found}")
    print(f"últimos {days} días: {total} vistas en {sites} sitios", end=" / ")
    print(f"last {days} days: {total} views on {sites} sites")
    hours = math.ceil(24 * longest)
    es, en = "lecturas que quitaron a quienes salieron", "readings that took off who had left"
    print(f"{es}: {readings}; horas de una a otra, como máximo: {hours}", end=" / ")
    print(f"{en}: {readings}; hours from one to the next, at most: {hours}")
    table = [("sitio / site", "vistas / views", "desde / first", "hasta / last"), *rows]
    width = max(len(row[0]) for row in table)
    for site, views, first, last in table:
        print(f"{site:{width}}  {views:>14}  {first:13}  {last}")
    return 0


def hide_person(who: str, register: str, database: Path) -> int:
    """Take a child off the list at once and for good. `who` is an id, or a link to a file page or
    to /p/ID; 1 where it is nobody's on the list. SettingError where it is neither."""
    either = possible_ids(who, register)
    with open_register(database, register) as db:
        persons = stored_persons(db).values()
        ids = known_ids(db, either)
        is_link = len(either) > 1
        sites = {urlsplit(page_of(person.url)).netloc for person in persons}
        if is_link and not ids and sites and urlsplit(page_of(who)).netloc.lower() not in sites:
            print("Nadie: ese sitio no es el del registro / Nobody: not a site of the register")
            show(nearest(who, persons))
            return 1
        done = hide(db, ids or either[0])
        empty_wal(db)
    was = "¡NO estaba en la lista! Si fue un error / was NOT on the list! If by mistake: --unhide"
    if done.off:
        was = "estaba en la lista y ya no está / was on the list and is off it"
    elif done.was_hidden:
        was = "ya estaba oculta / was hidden already"
    print(f"{was}\n{database}: {done.id} queda oculta / {done.id} is hidden from now on")
    for what, others in (("also off the list", done.off - {done.id}), ("alike", done.alike)):
        if others:
            print(f"{what}: {' '.join(sorted(others))}")
    if done.off or done.was_hidden:
        return 0
    show(nearest(who if is_link else done.id, persons))
    return 1 if persons or is_link else 0  # before the first reading, ids can only be noted


def unhide_persons(who: str, since: str | None, register: str, database: Path) -> int:
    """Let the next synchronisation bring a hidden person back, or all whom the panel hid from
    `since` on (ISO 8601, local time if it names no zone); 1 if nobody was hidden so."""
    try:
        moment = utc_text(datetime.fromisoformat(since)) if since else None
    except (ValueError, OverflowError):
        raise SettingError(f"--since: {since} is no time such as 2026-01-31T15:00") from None
    either = possible_ids(who, register) if who else []
    with open_register(database, register) as db:
        hidden = sorted(unhide(db, known_ids(db, either), moment))
    said = "ya no se oculta / no longer hidden" if hidden else "a nadie / nobody was hidden so"
    print(f"{database}: {said}: {' '.join(hidden or [who])}".rstrip(": "))
    return 0 if hidden else 1


def show_hidden(register: str, database: Path) -> int:
    """Print who is hidden: id, since when (UTC), and by which, the panel or the server."""
    with open_register(database, register) as db:
        for row in db.execute("SELECT id, since, by FROM hidden ORDER BY since, id"):
            print("  ".join(row))
    return 0


def nearest(who: str, persons: Iterable[Person]) -> list[Person]:
    texts = {text: person for person in persons for text in (person.id, person.url)}
    return [texts[text] for text in get_close_matches(who, texts)]


def show(persons: Iterable[Person]) -> None:
    """Print persons with name and address; elsewhere than on a terminal, the ids only."""
    for person in persons:
        shown = (person.id, person.nombre, person.url)
        print("  ".join(shown if sys.stdout.isatty() else shown[:1]))


def show_who(text: str, register: str, database: Path) -> int:
    """Print the stored persons with all words of `text` in their names, or to whom that id leads;
    1 if there is nobody."""
    with open_register(database, register) as db:
        led_to = {id for (id,) in db.execute("SELECT person FROM known WHERE id = ?", [text])}
        persons = stored_persons(db).values()
    words = name_words(text)
    found = [
        p for p in persons if p.id in led_to or all(word in comparable(p.nombre) for word in words)
    ]
    show(found)
    if not found:
        print(f"Nadie en la lista / Nobody on the list: {text}", file=sys.stderr)
    return 0 if found else 1


def back_up_to(file: str, register: str, database: Path) -> int:
    back_up(database, register, HERE / file)
    print(f"{file}: copia hecha y revisada / copy made and checked")
    return 0


def restore_from(file: str, register: str, database: Path) -> int:
    """Bring a copy back, and print what is to be done then. The caller holds the run lock."""
    made = restore(database, register, HERE / file)
    print(f"{database}: copia restaurada, del {made} / copy restored, of {made}")
    print("No se muestra a nadie hasta la primera lectura correcta.", end=" / ")
    print("Nobody is shown until the first good reading.")
    print("Oculta de nuevo los id que los avisos nombraron desde entonces: --hide ID", end=" / ")
    print("Hide again the ids that alerts have named since: --hide ID")
    return 0
