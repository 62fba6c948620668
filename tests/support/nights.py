"""One history, night by night: the service reads the register, and who is shown is counted.

World.cards() --Service.read--> decide --> the database --History.night--> counts
"""

import sqlite3
from collections import Counter
from pathlib import Path

from model import Changes, Person, Reading, Skipped
from names import long_words
from rules.judge import decide
from store.database import connect, transaction
from store.hidden import hide, read_hidden, recognise, write_marks
from store.persons import read_stored, write_changes
from store.runs import begin_run, end_run
from support.histories import OF_SEVERAL, SILHOUETTE, Card, Child, World

SKIPPED = {  # a card's state -> the list of Reading that it goes to, the field that is at fault
    "stamped": ("stamped", "pass_over"),
    "unreadable": ("unreadable", "fecha"),
    "nameless": ("unreadable", "nombre"),
    "several": ("several", "nombre"),
    "adult": ("excluded", "edad"),
}
A_DAY_LATER = (
    "UPDATE run SET started = strftime('%Y-%m-%dT%H:%M:%SZ', started, '-1 day'),"
    " ended = strftime('%Y-%m-%dT%H:%M:%SZ', ended, '-1 day')",
    "UPDATE found SET since = strftime('%Y-%m-%dT%H:%M:%SZ', since, '-1 day')",
    "UPDATE unread SET since = strftime('%Y-%m-%dT%H:%M:%SZ', since, '-1 day')",
)


def run_night(db: sqlite3.Connection, reading: Reading) -> tuple[Changes, str]:
    """One run over a database that is a day older then; what it changed, and its outcome."""
    for sql in A_DAY_LATER:
        db.execute(sql)
    run = begin_run(db)
    with transaction(db):
        stored, marks = read_stored(db), read_hidden(db)
        hidden = recognise(marks, stored.persons, reading)
        changes, outcome, reason = decide(stored, reading, hidden, 0.2, force=False)
        if outcome != "refused":
            write_changes(db, changes)
            write_marks(db, hidden, bool(changes.added))
        end_run(db, run, outcome, reason, reading)
    return changes, outcome


class Service:
    """The rules over a real database, which is a day older each night."""

    def __init__(self, path: Path):
        self.path, self.db = path, connect(path, busy_seconds=5)
        self.db.execute("PRAGMA synchronous = OFF")

    def read(self, cards: list[Card]) -> str:
        """One run; its outcome."""
        reading = Reading(placeholder=SILHOUETTE, page_count=1, card_count=len(cards))
        files: dict[str, str] = {}  # without the closing slash -> id
        names = Counter(
            long_words(card.person.nombre) for card in cards if card.state != "nameless"
        )
        for number, card in enumerate(cards):
            person = card.person
            reading.seen.add(person.id)
            first = files.setdefault(person.url.rstrip("/"), person.id)
            if card.state == "read" and first != person.id:
                reading.doubles[person.id] = first
            elif card.state == "read":
                reading.persons[person.id] = person
            else:
                kind, at_fault = SKIPPED[card.state]
                name = None if card.state == "nameless" else person.nombre
                count = 2 if kind == "several" else 1
                record = Skipped(person.id, 1, number, at_fault, card.state, name, children=count)
                getattr(reading, kind).append(record)
                if kind == "stamped" and names[long_words(person.nombre)] > 1:
                    reading.stamped_persons[person.id] = person
        return run_night(self.db, reading)[1]

    def shown(self) -> list[Person]:
        rows = self.db.execute("SELECT id, nombre, fecha, edad, lugar, foto, url FROM shown")
        return [Person(*row) for row in rows]

    def found(self) -> set[str]:
        return {id for (id,) in self.db.execute("SELECT id FROM found")}

    def hide(self, id: str) -> None:
        hide(self.db, [id])


class History:
    """One world and the service that reads it; `count` is by kind of event and measure."""

    def __init__(self, seed: int, path: Path):
        self.world = World(seed, promised_only=seed % 2 == 0)
        self.service = Service(path)
        self.count: Counter[tuple[str, str]] = Counter()
        self.owners: dict[str | tuple[str, ...], Child] = {}  # whose these facts, or this id, are
        self.called_found: dict[str, tuple[Child, str]] = {}  # who was sought, and what is to blame
        self.seen: set[Child] = set()  # was readable once
        self.was_good = True

    def night(self) -> None:
        if self.world.night(self.was_good):
            self.hide_somebody()
        cards, before = self.world.cards(), self.service.found()
        self.was_good = self.service.read(cards) == "ok"
        shows: dict[str, Child] = {}  # an address -> whose picture or file is there tonight
        for card in (card for card in cards if card.child >= 0):
            child = self.world.children[card.child]
            self.owners[card.person[1:]] = self.owners[card.person.id] = child
            for address in (card.person.foto, card.person.url):
                if OF_SEVERAL not in address and address != SILHOUETTE:
                    shows[address] = child
            if card.state == "read":
                self.seen.add(child)
        for id in self.service.found() - before:
            child = self.owners[id]
            if child.sought:
                self.called_found[id] = child, child.blame
        shown = self.shown()
        for person, child in shown:
            if {shows.get(address, child) for address in (person.foto, person.url)} != {child}:
                self.count[child.blame, "another's"] += 1
        on_show = {child for _, child in shown}
        for child in self.world.children:
            if child.hidden:
                wrong = "hidden shown" if child in on_show else ""
            elif child in on_show:
                wrong = "" if child.sought else "found on show"
            else:
                wrong = "sought not shown" if child.sought and child in self.seen else ""
            self.count[child.blame, wrong] += 1

    def shown(self) -> list[tuple[Person, Child]]:
        """Who is shown, and whose facts these are; KeyError for those of two cards in one."""
        return [(person, self.owners[person[1:]]) for person in self.service.shown()]

    def hide_somebody(self) -> None:
        """As an operator does, by day: somebody whom the register shows as it did last night."""
        shown = self.shown()
        able = [(p, c) for p, c in shown if c.sought and c not in self.world.touched]
        if not able:
            return
        hidden, child = self.world.chance.choice(able)
        self.service.hide(hidden.id)
        for person, other in shown:  # the command names those whose names agree
            if other is child and person.nombre != hidden.nombre:
                self.service.hide(person.id)
        self.world.hide(child)

    def end(self) -> Counter[tuple[str, str]]:
        for id in self.service.found() & self.called_found.keys():
            child, blame = self.called_found[id]
            if child.sought:
                self.count[blame, "wrongly found"] += 1
        self.service.db.close()
        return self.count
