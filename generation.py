"""How a running service knows that the list it holds in memory is still the true one.

    sync.py: announce() --generation file--> app.py: PersonList     before the commit
             commit     --SQLite-----------> PersonList             then read again

A change of the list changes the value in the table `generation` (triggers of schema.sql), and
whoever makes it announces that value in a file beside the database, before the commit. Services
have that file mapped: looking costs no system call, and lets no other thread run.
"""

import logging
import mmap
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from register import plain

log = logging.getLogger("persona404.generation")

BODY = (
    "CAST(json_object('id', id, 'nombre', nombre, 'fecha', fecha, 'edad', edad, 'lugar', lugar,"
    " 'foto', foto, 'url', url) AS BLOB)"
)


# --- Announce ------------------------------------------------------------------------


def announce(db: sqlite3.Connection) -> None:
    """Tell running services, before the commit of this transaction, which list is to be the true
    one: until it is committed, or was not, they ask the database."""
    (generation,) = db.execute("SELECT value FROM generation").fetchone()
    (_, _, database) = db.execute("PRAGMA database_list").fetchone()
    try:
        with generation_file(Path(database)) as file:
            os.pwrite(file.fileno(), generation, 0)  # never truncated: services have it mapped
    except OSError as error:  # they ask once a second anyway
        log.warning("running services are not told of the new list: %s", error)


def generation_file(database: Path) -> BinaryIO:
    """The file that is told of changes, made if need be, with the owner of the database."""
    path = Path(f"{database.resolve()}.generation")
    made = not path.exists()
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if made:
        owner = database.stat()
        os.fchmod(file, owner.st_mode)
        if os.geteuid() == 0:
            os.fchown(file, owner.st_uid, owner.st_gid)
    return os.fdopen(file, "r+b")


def map_generation(database: Path) -> mmap.mmap | None:
    """The generation that was announced last, 16 bytes, as every process that writes them sees
    them. None where there can be no such file."""
    try:
        with generation_file(database) as file:
            # A hole in the file would end this process, were the disk full when it is read.
            os.posix_fallocate(file.fileno(), 0, 16)
            return mmap.mmap(file.fileno(), 16, access=mmap.ACCESS_READ)
    except OSError:
        return None


# --- The list, in memory -------------------------------------------------------------


class Listed(NamedTuple):
    """One generation of the list, each person ready to be sent, newest first."""

    generation: bytes
    everybody: list[bytes]
    regions: dict[str, list[bytes]]
    ids: set[str]


class PersonList:
    """The list as the database has it, held in memory: with several threads one SELECT costs a
    request more than all the rest of it, because each lets the GIL go.

    Exact all the same: a request that begins after a commit sees what was announced before it,
    and asks the database. Once a second that is asked anyway, for what nobody announced: a change
    by hand, another file in the database's place.
    """

    def __init__(self, database: Path, rows: Callable[..., list[sqlite3.Row]]):
        self.rows = rows
        self.database = database
        self.announced: mmap.mmap | None = None
        self.held: Listed | None = None
        self.asked = 0.0
        self.loading = threading.Lock()

    def known(self) -> Listed | None:
        """The list as it is now, or None where it has changed and was not read again yet."""
        held, announced = self.held, self.announced
        asked = time.monotonic()
        if held is None:
            return None
        if announced and announced[:16] == held.generation and asked < self.asked + 1:
            return held
        if self.rows("SELECT value FROM generation")[0]["value"] != held.generation:
            return None
        self.announced = map_generation(self.database)
        self.asked = asked
        return held

    def current(self) -> Listed:
        """The list as it is now, read again where it has changed: 0.25 s for 100,000 persons."""
        while (listed := self.known()) is None:
            with self.loading:
                if self.known() is None:
                    self.held = as_listed(
                        self.rows(
                            f"SELECT value, id, {BODY}, lugar"  # noqa: S608
                            " FROM generation LEFT JOIN person ORDER BY position"
                        )
                    )
        return listed

    def draw(self) -> bytes | None:
        """Anyone, None where there is nobody. Nobody waits for the list while it is read again:
        the database draws."""
        listed = self.known()
        if listed is not None:
            return random.choice(listed.everybody) if listed.everybody else None  # noqa: S311
        found = self.rows(
            f"SELECT {BODY} AS body FROM person WHERE position >="  # noqa: S608
            " (SELECT 1 + (random() & 0x7fffffffffffffff) % max(position) FROM person)"
            " ORDER BY position LIMIT 1"
        )
        if not self.loading.locked():
            threading.Thread(target=self.read_again, daemon=True).start()
        return found[0]["body"] if found else None

    def read_again(self) -> None:
        with suppress(Exception):  # the next request meets the same fault, and says so
            self.current()


def as_listed(rows: list[sqlite3.Row]) -> Listed:
    listed = Listed(rows[0]["value"], [], {}, set())
    known: dict[str, str] = {}  # there are few regions
    for _, id, body, lugar in rows:
        if id is None:  # an empty list is one row of NULL
            break
        region = lugar.rpartition(",")[2]
        if region not in known:
            known[region] = region_of(region)
        listed.everybody.append(body)
        listed.regions.setdefault(known[region], []).append(body)
        listed.ids.add(id)
    return listed


def region_of(lugar: str) -> str:
    """The part of `lugar` behind its last comma, without case, accents and full stops: "Orán,
    Salta" and "SALTA" are both "salta"."""
    return plain(lugar.rpartition(",")[2])
