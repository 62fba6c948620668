"""A list that is edited at random moments while it is read: nobody on it is called found."""

import random
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pytest

from conftest import Figure
from model import person_id
from support.register import Register
from support.web import Answer

pytestmark = pytest.mark.slow

PER_PAGE = 5
PROFILE = """\
start = "http://{host}/lista?n={page}"
{paging}card = "li"
pause = 0
placeholder = "https://registro.example/silueta.png"
[fields]
url = [{{ card = "a", attr = "href" }}]
nombre = [{{ card = "a" }}]
fecha = [{{ card = "p", label = "Fecha" }}]
edad = [{{ card = "p", label = "Edad" }}]
lugar = [{{ card = "p", label = "Lugar" }}]
"""


class MovingList:
    """A list of numbers, which are persons. A page is answered after edits, as `plan` gives them
    for each reading: how many may come and go in it."""

    def __init__(self, chance: random.Random, numbered: bool):
        self.chance, self.numbered = chance, numbered
        self.listed = list(range(20))
        self.next_number = 20
        self.plan = (0, 0)
        self.left = (0, 0)
        self.often = 0.0  # the probability of one more edit before a page
        self.always: set[int] = set()  # on the list during the whole run
        self.ever: set[int] = set()  # on it at some moment

    def begin_run(self, additions: int, removals: int) -> None:
        self.plan = (additions, removals)
        self.often = self.chance.choice([0.03, 0.1, 0.3])
        self.always, self.ever = set(self.listed), set(self.listed)

    def edit(self) -> None:
        additions, removals = self.left
        while additions and self.chance.random() < self.often:
            additions -= 1
            place = self.chance.choice([0, 0, self.chance.randint(0, len(self.listed))])
            self.listed.insert(place, self.next_number)
            self.ever.add(self.next_number)
            self.next_number += 1
        while removals and len(self.listed) > 1 and self.chance.random() < self.often:
            removals -= 1
            gone = self.listed.pop(self.chance.randrange(len(self.listed)))
            self.always.discard(gone)
        self.left = (additions, removals)

    def answer(self, request: BaseHTTPRequestHandler) -> Answer:
        number = int(parse_qs(urlsplit(request.path).query)["n"][0])
        if number == 1:
            self.left = self.plan
        self.edit()
        shown = self.listed[(number - 1) * PER_PAGE : number * PER_PAGE]
        if not shown and number > 1:
            return Answer(404)
        cards = "".join(
            f"<li><a href='/f/{n}'>Persona {'abcdefghij'[n % 10] * (n // 10 + 3)}</a>"
            "<p>Fecha: 01/02/2024<br>Edad: 9<br>Lugar: V</p></li>"
            for n in shown
        )
        more = f"<a class=next href='/lista?n={number + 1}'>más</a>"
        if self.numbered or number * PER_PAGE >= len(self.listed):
            more = ""
        return Answer(body=f"<html>{cards}{more}</html>".encode())


@pytest.mark.parametrize("numbered", [False, True], ids=["pager", "numbered"])
@pytest.mark.parametrize("kind", ["removals", "both"])
def test_nobody_on_the_list_is_found_nobody_off_it_is_shown(
    register: Register, full: bool, figure: Figure, numbered: bool, kind: str
) -> None:
    paging = "" if numbered else 'next = "a.next"\n'
    page = "{page}" if numbered else "1"
    profile = PROFILE.format(host=register.web.host, paging=paging, page=page)
    register.profile.write_text(profile)
    moving = MovingList(random.Random(f"{numbered}{kind}"), numbered)
    for n in range(1, 1000):
        register.web.pages[f"/lista?n={n}"] = moving.answer
    assert register.sync().returncode == 0
    runs, refused = 500 if full else 50, 0
    for _ in range(runs):
        count = moving.chance.randint(0, 3)
        moving.begin_run(*((count, count) if kind == "both" else (0, 99)))
        before = active(register)
        run = register.sync("--force")
        found = {id for (id,) in register.change("SELECT id FROM found")}
        assert not found & {id_of(register, number) for number in moving.always}
        if run.returncode == 0:
            assert active(register) <= {id_of(register, number) for number in moving.ever}
        else:
            refused += 1
            assert active(register) == before
        while len(moving.listed) < 20:
            moving.listed.append(moving.next_number)
            moving.next_number += 1
    figure(
        f"a list edited while it is read ({kind}, numbered {numbered}): {runs} runs, "
        f"{refused} refused, nobody on it found, nobody off it shown"
    )


def id_of(register: Register, number: int) -> str:
    return person_id("prueba", f"https://{register.web.host}/f/{number}")


def active(register: Register) -> set[str]:
    return {id for (id,) in register.change("SELECT id FROM person")}
