"""Of a person who is found, hidden or dropped, only the opaque id stays in the files of data/."""

import io
import random
import re
import sqlite3
import string
from collections.abc import Callable
from contextlib import closing

import pytest
from PIL import Image

from conftest import Figure
from store.database import open_database, transaction
from store.persons import stored_persons, write_persons
from support import STAFF_KEY
from support.register import Listed, Register
from support.scrape import edit_profile
from support.service import Service
from support.web import Answer

pytestmark = pytest.mark.slow


def secret(draw: random.Random, longest: int) -> str:
    """A word that is nowhere else, of such a length that the file's pages fill unevenly."""
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
    """Name, file address, place and photo address, in pieces of twelve characters: a page that is
    overwritten in part may keep a piece, and no other person's words contain it."""
    place, photo = person.lugar.partition(",")[0], person.foto[len("/fotos/") : -len(".jpg")]
    return [
        word[first : first + 12].encode()
        for word in (person.slug.title(), person.slug, place, photo)
        for first in range(0, len(word) - 11, 12)
    ]


def publish_photos(register: Register, persons: list[Listed]) -> None:
    """Photos of noise: as JPEG files of 14 KB, they have no piece in common."""
    edit_profile(register, "photos = false\n", "")
    for person in persons:
        body = io.BytesIO()
        Image.effect_noise((120, 160), 90).save(body, "PNG", compress_level=1)
        path = person.foto.format(slug=person.slug)
        register.web.pages[path] = Answer(200, body.getvalue())


def pieces_of_photos(register: Register) -> dict[str, list[bytes]]:
    """Of each photo that is kept, pieces of sixteen bytes behind what all JPEG files have."""
    return {
        id: [jpeg[first : first + 16] for first in range(1000, len(jpeg) - 16, 1000)]
        for id, jpeg in register.change("SELECT person, jpeg FROM photo")
    }


def bytes_left(register: Register, persons: list[Listed]) -> int:
    """How many bytes of `persons` are in the files of data/."""
    # All pieces are letters: to look for them in those alone takes a tenth of the time.
    data = b" ".join(re.findall(rb"[A-Za-z]{12,}", register.bytes_on_disk()))
    return sum(12 * data.count(piece) for one in persons for piece in pieces(one))


# --- Four ways to leave the list -----------------------------------------------------


def are_found(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    register.publish(rest)
    assert register.sync("--force").returncode == 0


def are_stamped(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    register.publish([*rest, *(one._replace(stamp="FUE ENCONTRADA") for one in gone)])
    assert register.sync("--force").returncode == 0


def are_adults_now(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    register.publish([*rest, *(one._replace(edad="18 años") for one in gone)])
    assert register.sync().returncode == 0


def are_hidden(register: Register, gone: list[Listed], rest: list[Listed]) -> None:
    for one in gone:
        assert register.sync("--hide", register.id(one.slug)).returncode == 0
    assert register.sync().returncode == 0


@pytest.mark.parametrize("leave", [are_found, are_stamped, are_adults_now, are_hidden])
def test_persons_who_leave_the_list_leave_the_disk(
    register: Register,
    service: Callable[..., Service],
    figure: Figure,
    full: bool,
    leave: Callable[[Register, list[Listed], list[Listed]], None],
) -> None:
    everybody = people(300 if full else 100, random.Random(leave.__name__))
    register.publish(everybody, per_page=300)
    publish_photos(register, everybody)
    assert register.sync().returncode == 0
    photos = pieces_of_photos(register)
    assert len(photos) == len(everybody)
    running = service(SYNC_AT="off").serving()
    read = 0
    for count in (40, 80, 120) if full else (20, 40):
        gone, rest = everybody[:count], everybody[count:]
        running.ask("/api/personas?limit=100")
        running.ask(f"/api/track?e=view&p={register.id(rest[0].slug)}&d=a.example")
        leave(register, gone, rest)
        assert bytes_left(register, gone) == 0
        data = register.bytes_on_disk()
        assert all(pieces(one)[0] in data for one in rest)  # the search finds those who stay
        for one in everybody:
            seen = sum(piece in data for piece in photos[register.id(one.slug)])
            assert (seen > 0) == (one in rest)
        assert running.ask("/api/stats").json["active"] == len(rest)
        read += len(data)
    figure(
        f"persons who {leave.__name__.replace('_', ' ')}: {count} of {len(everybody)},"
        f" {read} bytes of data/ read, 0 left"
    )


def test_whom_the_panel_hides_leaves_the_disk(
    register: Register, service: Callable[..., Service], figure: Figure
) -> None:
    everybody = people(30, random.Random(404))
    register.publish(everybody)
    publish_photos(register, everybody)
    assert register.sync().returncode == 0
    photos = pieces_of_photos(register)
    running = service(SYNC_AT="off", STAFF_KEY=STAFF_KEY).serving()
    running.ask("/api/personas?limit=100")
    for count, one in enumerate(everybody[:5], 1):
        id = register.id(one.slug)
        assert running.ask(f"/foto/{id}").status == 200
        assert bytes_left(register, [one]) > 0
        reply = running.ask(f"/api/personas/{id}/hide", "POST", X_API_Key=STAFF_KEY)
        assert (reply.status, reply.json) == (200, {"hidden": id})
        data = register.bytes_on_disk()  # at once, no run between
        assert bytes_left(register, everybody[:count]) == 0
        assert [piece for piece in photos[id] if piece in data] == []
        assert all(pieces(other)[0] in data for other in everybody[count:])
    assert running.ask(f"/api/personas/{id}").status == 404
    figure("persons whom the panel hides: 5, 0 bytes left in data/ once it has answered")


# --- What delays it ------------------------------------------------------------------


@pytest.fixture
def everybody(register: Register) -> list[Listed]:
    """Sixty stored persons."""
    persons = people(60, random.Random(404))
    register.publish(persons)
    assert register.sync().returncode == 0
    return persons


def test_a_reader_of_the_old_list_delays_it_to_the_next_run(
    register: Register, everybody: list[Listed], figure: Figure
) -> None:
    gone, rest = everybody[:20], everybody[20:]
    with closing(sqlite3.connect(register.database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM person").fetchone() == (60,)
        register.publish(rest)
        log = register.sync().stderr
        assert "removed data are still on the disk" in log
        assert register.stats()["active"] == 40
        assert bytes_left(register, gone) > 0
        reader.execute("COMMIT")
    assert register.sync().returncode == 0
    assert bytes_left(register, gone) == 0
    figure("an old snapshot held open: the log says so, 0 bytes left by the next run")


def test_a_run_killed_before_the_erasure_is_erased_by_the_next(
    register: Register, everybody: list[Listed]
) -> None:
    gone, rest = everybody[:20], everybody[20:]
    with open_database(register.database, 5) as db:  # stays open, for its close would erase
        db.execute("PRAGMA wal_autocheckpoint = 0")
        with transaction(db):  # what a run does before it is killed
            persons = stored_persons(db)
            write_persons(db, [persons[register.id(one.slug)] for one in rest])
        assert bytes_left(register, gone) > 0
        register.publish(rest)
        assert register.sync().returncode == 0
        assert bytes_left(register, gone) == 0
