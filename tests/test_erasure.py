"""Who is found, hidden or dropped leaves no byte in any file of data/, but the opaque id."""

import random
import sqlite3
import string
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Figure, Listed, Register, Service

import sync
from register import Person

pytestmark = pytest.mark.slow


def secret(draw: random.Random, longest: int) -> str:
    """A word that stands nowhere else, so long that pages of the file fill unevenly."""
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(12, longest)))


def people(count: int, draw: random.Random) -> list[Listed]:
    return [
        Listed(
            slug=secret(draw, 60),
            lugar=f"{secret(draw, 150)}, Salta Ficticia",
            foto=f"/fotos/{secret(draw, 1500)}.jpg",
        )
        for _ in range(count)
    ]


def pieces(person: Listed) -> list[bytes]:
    """Name, file address, place and photo address, twelve characters each: no word of somebody
    else holds them, and what an overwritten page may keep is longer."""
    place, photo = person.lugar.partition(",")[0], person.foto[len("/fotos/") : -len(".jpg")]
    return [
        word[first : first + 12].encode()
        for word in (person.slug.title(), person.slug, place, photo)
        for first in range(0, len(word) - 11, 12)
    ]


def left(register: Register, persons: list[Listed]) -> int:
    """How many bytes of `persons` stand in the files of data/."""
    kept = register.bytes_on_disk()
    return sum(12 * kept.count(piece) for one in persons for piece in pieces(one))


def are_found(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    register.publish(rest)
    assert register.sync().returncode == 0


def are_stamped(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    register.publish([*rest, *(one._replace(stamp="FUE ENCONTRADA") for one in gone)])
    assert register.sync().returncode == 0


def are_adults_now(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    register.publish([*rest, *(one._replace(edad="18 años") for one in gone)])
    assert register.sync().returncode == 0


def are_hidden(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    for one in gone[:5]:
        assert register.sync("--hide", register.id(one.slug)).returncode == 0
    with closing(sync.open_database(register.database, 5)) as db:  # the others like it, faster
        db.executemany(
            "INSERT OR IGNORE INTO hidden VALUES (?)", [(register.id(p.slug),) for p in gone]
        )
    assert register.sync().returncode == 0


@pytest.mark.parametrize("leave", [are_found, are_stamped, are_adults_now, are_hidden])
def test_who_leaves_the_list_leaves_the_disk(
    register: Register,
    service: Callable[..., Service],
    figure: Figure,
    leave: Callable[[Register, list[Listed], list[Listed]], None],
) -> None:
    everybody = people(300, random.Random(leave.__name__))
    register.publish(everybody, per_page=300)
    assert register.sync().returncode == 0
    running = service(SYNC_AT="off").serving()
    read = 0
    for n in range(3):  # forty leave, then forty more
        gone, rest = everybody[: 40 * n + 40], everybody[40 * n + 40 :]
        running.ask("/api/personas?limit=100")
        running.ask(f"/api/track?e=view&p={register.id(rest[0].slug)}&d=a.example")
        leave(register, gone, rest)
        assert left(register, gone) == 0
        kept = register.bytes_on_disk()  # in which what is looked for is found
        assert all(piece in kept for one in rest for piece in pieces(one)[:1])
        assert running.ask("/api/stats").json["active"] == len(rest)
        read += len(register.bytes_on_disk())
    figure(
        f"who {leave.__name__.replace('_', ' ')}: 120 of 300, {read} bytes of data/ read, 0 left"
    )


def test_a_reader_of_the_old_list_delays_it_to_the_next_run(
    register: Register, figure: Figure
) -> None:
    everybody = people(60, random.Random(404))
    register.publish(everybody)
    register.sync()
    gone, rest = everybody[:20], everybody[20:]
    with closing(sqlite3.connect(register.database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM person").fetchone() == (60,)
        register.publish(rest)
        said = register.sync().stderr
        assert "a reader holds the old list: removed data leave the disk at the next run" in said
        assert register.stats()["active"] == 40
        assert left(register, gone) > 0
        reader.execute("COMMIT")
    assert register.sync().returncode == 0
    assert left(register, gone) == 0
    figure("an old snapshot held open: said by the run, 0 bytes left by the next one")


def test_a_swap_that_is_stopped_before_the_erasure_is_erased_by_the_next_run(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody = people(60, random.Random(404))
    register.publish(everybody)
    register.sync()
    with closing(sync.open_database(register.database, 5)) as db:  # as kill -9 leaves it
        db.execute("PRAGMA wal_autocheckpoint = 0")
        stored = sync.stored_persons(db)
        kept: list[Person] = list(stored.values())[20:]
        with db:
            db.execute("BEGIN IMMEDIATE")
            sync.write_persons(db, kept)
        names = {person.nombre.split()[0].lower() for person in kept}
        gone = [one for one in everybody if one.slug not in names]
        assert len(gone) == 20
        assert left(register, gone) > 0
        register.publish([one for one in everybody if one.slug in names])
        register.sync()
        assert left(register, gone) == 0


def test_every_connection_overwrites_what_it_deletes(database: Path) -> None:
    with closing(sync.open_database(database, 5)) as db:
        assert db.execute("PRAGMA secure_delete").fetchone() == (1,)
