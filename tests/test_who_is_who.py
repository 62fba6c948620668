"""Whether it is the same child: what a register changes, into a real database.

Each change is played twice: with everybody on the list, and with aa hidden before it.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

import sync
from store.persons import stored_persons
from support.api import keep_photo
from support.register import Listed, Register, slugs
from support.scrape import edit_profile

Change = Callable[[Register], None]
TWENTY = slugs(20)  # aa to at
SIX, REST = TWENTY[1:7], [TWENTY[0], *TWENTY[7:]]  # ab to ag; aa and the others
FOUND, OTHER_FORM = "FUE ENCONTRADA", "YA CON SU FAMILIA"
OTHER_DATE = "05/06/2024"


def names_of(persons: list[Listed]) -> set[str]:
    return {person.nombre.split()[0].lower() for person in persons}


def stamped(persons: list[Listed], stamp: str = FOUND) -> list[Listed]:
    return [person._replace(stamp=stamp) for person in persons]


def moved(person: Listed, **more: str) -> Listed:
    """The same child at another address."""
    return person._replace(**{"slug": f"otra/{person.slug}", "name": person.nombre, **more})


def relaunched(persons: list[Listed]) -> list[Listed]:
    """Other addresses of files and photos."""
    return [moved(p, foto=f"/nuevas/{p.slug}.jpg") for p in persons]


def with_own_photo_address(persons: list[Listed]) -> list[Listed]:
    return [p._replace(foto=p.foto.format(slug=p.slug)) for p in persons]


def nights(*lists: list[Listed]) -> Change:
    """The register has each list for a night; the last one stays."""

    def change(register: Register) -> None:
        for persons in lists[:-1]:
            register.publish(persons)
            assert register.sync().returncode == 0
        register.publish(lists[-1])

    return change


# --- Found children --------------------------------------------------------------------

MARIAS = [
    Listed(f"m{n}", name=f"María {name} Prueba") for n, name in enumerate(("Una", "Dos", "Tres"))
]
UNREADABLE_MARIA = Listed("m9", name="María", edad="")
ADULTS = [person._replace(edad="45 años") for person in slugs(40)[20:]]


def a_second_card_is_stamped(register: Register) -> None:
    second = TWENTY[1]._replace(slug="otra/ab", name=TWENTY[1].nombre, foto="/fotos/ab.jpg")
    register.publish([*TWENTY, second._replace(stamp=FOUND)])


def a_second_card_with_a_slash_is_stamped(register: Register) -> None:
    register.publish([*TWENTY, moved(TWENTY[1], slug="ab/", stamp=FOUND)])


def a_file_page_says_only_found(register: Register) -> None:
    register.web.put("/file/ab", "<html>FUE LOCALIZADA</html>")


def the_pager_is_gone(register: Register) -> None:
    register.web.edit("/lista?n=1", "class=next", "class=otra")


# --- Hidden and sought children --------------------------------------------------------

AA, *OTHERS = with_own_photo_address(TWENTY)
LUZ = "Aa Luz Inventado Prueba"
SECOND = moved(AA, foto="/fotos/segunda.jpg", lugar="Otra Villa, Salta Ficticia")
CHILD_OF_ANOTHER_DAY = Listed("zz", fecha=OTHER_DATE, foto="/fotos/aa.jpg")
SILHOUETTE = "/silueta-b.png"


def a_new_child_has_two_addresses(register: Register) -> None:
    register.publish([*TWENTY, Listed("zz"), Listed("zz/", name="Zz Inventado Prueba")])


# --- Children who are listed -----------------------------------------------------------

ONE, TWO = TWENTY[1], Listed("ab2", name=TWENTY[1].nombre, lugar="Otra Villa, Salta Ficticia")
PENAS = [p._replace(name=f"{p.slug.title()} Inventada Peña") for p in (AA, *OTHERS[:2])]
GARBLED = [
    p._replace(slug=f"{p.slug}-pe%C3%83%C2%B1a", name=p.name.replace("ñ", "Ã±")) for p in PENAS
]
SIBLINGS = [
    *TWENTY,
    Listed("ba", name="Alma Ficticia Una"),
    Listed("bb", name="Bruno Ficticia Una"),
]
TOGETHER = [*TWENTY, Listed("ba", name="Alma y Bruno Ficticia Una")]
HIDDEN_TOGETHER = [Listed("aa", name="Aa y Ab Inventado Prueba"), *TWENTY[2:]]
WITHOUT_PHOTO = [*(p._replace(foto="/sin_foto.png") for p in TWENTY[:7]), *TWENTY[7:]]


def one_start_address_is_taken_out(register: Register) -> None:
    site = f"http://{register.web.host}"
    edit_profile(register, f'"{site}/lista?n=1"', f'["{site}/lista?n=1", "{site}/b"]')
    register.publish(TWENTY[16:], per_page=20)
    register.web.pages["/b"] = register.web.pages["/lista?n=1"]
    register.publish(TWENTY[:16], per_page=20)
    register.sync()
    edit_profile(register, f', "{site}/b"]', "]")


def the_placeholder_is_another(register: Register) -> None:
    edit_profile(register, "silueta.png", "otra-silueta.png")


@pytest.mark.parametrize("hides", [False, True], ids=["", "aa hidden"])
@pytest.mark.parametrize(
    ("before", "change", "shown", "found", "warning"),
    [
        # Found children stay off, or go.
        pytest.param([*stamped(SIX), *REST],
         nights(relaunched([*stamped(SIX, OTHER_FORM), *REST])), REST, [], "stamp",
         id="addresses and the form of the stamp change"),
        pytest.param([*stamped(SIX), *REST],
         nights([*stamped(SIX[:1]), *stamped(SIX[1:], OTHER_FORM), *REST]), REST, [], "stamp",
         id="the stamp changes on all cards but one"),
        pytest.param([*TWENTY, *MARIAS], nights([*TWENTY, UNREADABLE_MARIA]), TWENTY, MARIAS, "",
         id="an unreadable card has one name"),
        pytest.param(TWENTY, a_second_card_is_stamped, [TWENTY[0], *TWENTY[2:]], [TWENTY[1]], "",
         id="one of two cards is stamped"),
        pytest.param(TWENTY, a_second_card_with_a_slash_is_stamped, [TWENTY[0], *TWENTY[2:]],
         [TWENTY[1]], "", id="one of two cards is stamped, a slash apart"),
        pytest.param([*stamped(slugs(40)[20:]), *TWENTY], nights(TWENTY), TWENTY, [], "",
         id="old stamped cards are dropped"),
        pytest.param(TWENTY, nights([*TWENTY, *ADULTS], TWENTY), TWENTY, [], "",
         id="adults are listed for a night"),
        pytest.param(TWENTY, a_file_page_says_only_found, TWENTY, [], "stamp",
         id="a file page says only that she was found"),
        pytest.param(TWENTY[:14], the_pager_is_gone, TWENTY[:10], TWENTY[10:14], "list",
         id="the pager is gone"),
        # Hidden children stay hidden.
        pytest.param([AA, *OTHERS],
         nights([AA._replace(name="Aa Inventada Prueba"), *OTHERS],
                relaunched([AA._replace(name="Aa Inventada Prueba"), *OTHERS])), TWENTY, [], "",
         id="a name is corrected, then the site is new"),
        pytest.param([AA, *OTHERS],
         nights([AA._replace(fecha=OTHER_DATE), *OTHERS],
                relaunched([AA._replace(fecha=OTHER_DATE), *OTHERS])), TWENTY, [], "",
         id="a date is corrected, then the site is new"),
        pytest.param([AA, *OTHERS], nights([AA, moved(AA, name=LUZ), *OTHERS]), TWENTY, [], "",
         id="a second card has one more name"),
        pytest.param([AA, *OTHERS],
         nights([moved(AA), *OTHERS], [moved(AA, name=LUZ), SECOND._replace(slug="c"), *OTHERS]),
         TWENTY, [], "", id="another card carries the old name"),
        # Sought children are shown.
        pytest.param([AA, *OTHERS],
         nights([CHILD_OF_ANOTHER_DAY, *OTHERS],
                [CHILD_OF_ANOTHER_DAY._replace(foto="/fotos/zz.jpg"), *OTHERS]),
         [Listed("zz"), *OTHERS], [AA], "", id="a new child has the photo of one who left"),
        pytest.param([AA._replace(foto=SILHOUETTE), *OTHERS],
         nights([CHILD_OF_ANOTHER_DAY._replace(foto=SILHOUETTE), *OTHERS]),
         [Listed("zz"), *OTHERS], [AA], "", id="a new child has the silhouette of one who left"),
        pytest.param(TWENTY, a_new_child_has_two_addresses, [*TWENTY, Listed("zz")], [], "",
         id="a new child has two addresses, a slash apart"),
        # Nobody is found who is still listed.
        pytest.param([AA, *OTHERS],
         nights([moved(AA, name=LUZ), moved(TWENTY[1], name="Ab Luz Inventado Prueba"),
                 *TWENTY[2:]]), TWENTY, [], "", id="a second name, at another address"),
        pytest.param([AA, *OTHERS],
         nights([*(moved(p, fecha=OTHER_DATE) for p in (AA, OTHERS[0])), *OTHERS[1:]]),
         TWENTY, [], "", id="a corrected slug with a corrected date"),
        pytest.param([*PENAS, *TWENTY[3:]], nights([*GARBLED, *TWENTY[3:]], [*PENAS, *TWENTY[3:]]),
         TWENTY, [], "", id="mojibake for a night"),
        pytest.param(TWENTY, nights([*TWENTY, *relaunched(TWENTY)], relaunched(TWENTY)), TWENTY,
         [], "", id="side by side, then the old site goes"),
        pytest.param([*TWENTY, TWO],
         nights([TWENTY[0], *relaunched([ONE, TWO]), *TWENTY[2:]]), TWENTY, [], "",
         id="two of one name and date change addresses"),
        pytest.param(TWENTY, one_start_address_is_taken_out, TWENTY[:16], [], "",
         id="a start address is taken out"),
        pytest.param(WITHOUT_PHOTO, the_placeholder_is_another, TWENTY, [], "",
         id="the placeholder is another"),
        pytest.param(SIBLINGS, nights(TOGETHER), SIBLINGS, [], "", id="two cards become one"),
        pytest.param(TWENTY, nights(HIDDEN_TOGETHER), TWENTY, [], "",
         id="a card becomes that of the first child too"),
    ],
)  # fmt: skip
def test_the_same_child(
    register: Register,
    before: list[Listed],
    change: Change,
    shown: list[Listed],
    found: list[Listed],
    warning: str,
    hides: bool,
) -> None:
    if change not in (a_file_page_says_only_found, a_new_child_has_two_addresses):
        register.read_cards_only()
    register.publish(before)
    register.first_sync()
    off = {"aa"} if hides else set()
    if hides:
        register.sync("--hide", register.id("aa"))
    change(register)
    warnings = ""
    for _ in range(2):
        run = register.sync()
        assert (run.returncode, register.last_run()["outcome"]) == (0, "ok"), run.stderr
        assert register.names() == names_of(shown) - off
        assert register.stats()["found"] == len([p for p in found if p.slug not in off])
        warnings += register.last_run()["warnings"]
    assert warning in warnings


# --- Another child's facts -------------------------------------------------------------


def one_page_for_all(register: Register) -> None:
    for person in TWENTY:
        register.web.pages[f"/file/{person.slug}"] = register.web.pages["/file/at"]


def one_page_for_two(register: Register) -> None:
    register.web.pages["/file/ab"] = register.web.pages["/file/at"]


@pytest.mark.parametrize("hides", [False, True], ids=["", "aa hidden"])
@pytest.mark.parametrize("name_on", ["card", "file"])
@pytest.mark.parametrize("change", [one_page_for_all, one_page_for_two])
def test_a_cache_gives_nobody_the_facts_of_another(
    register: Register, change: Change, name_on: str, hides: bool
) -> None:
    persons = [
        p._replace(fecha=f"{n:02}/02/2024", foto="/sin_foto.png") for n, p in enumerate(TWENTY, 1)
    ]
    register.publish(persons)
    if name_on == "file":
        edit_profile(register, 'nombre = [{ card = "a" }]', 'nombre = [{ file = "h1" }]')
        for p in persons:
            register.web.edit(f"/file/{p.slug}", "<p>", f"<h1>{p.nombre}</h1><p>")
    register.first_sync()
    if hides:
        register.sync("--hide", register.id("aa"))
        register.sync()
    healthy, listed = dict(register.web.pages), register.api().ask("/api/personas?limit=100").body
    change(register)
    for pages in (register.web.pages, healthy):
        register.web.pages = pages
        register.sync()
        assert register.api().ask("/api/personas?limit=100").body == listed
        assert register.stats()["found"] == 0


# --- Former ids ------------------------------------------------------------------------


def shifted(register: Register, persons: list[Listed]) -> None:
    """Addresses that are positions on the list."""
    register.publish([p._replace(slug=f"{n}", name=p.nombre) for n, p in enumerate(persons, 1)])


def person_at(register: Register, slug: str) -> str:
    """The address in the register to whose child an id leads, by --who; "" for nobody."""
    led_to = register.sync("--who", register.id(slug)).stdout.split()
    shown = register.api().get("/api/personas?limit=100")["personas"]
    (url,) = [person["url"] for person in shown if [person["id"]] == led_to] or [""]
    return str(url).rpartition("/file/")[2]


def test_a_former_id_leads_to_its_child(register: Register) -> None:
    register.read_cards_only()
    register.publish(TWENTY)
    register.first_sync()
    for persons in ([moved(TWENTY[0], slug=slug), *TWENTY[1:]] for slug in ("one", "two")):
        register.publish(persons)
        register.sync()
    old, new, ask = register.id("aa"), register.id("two"), register.api().ask
    with closing(sqlite3.connect(register.database)) as db:
        keep_photo(register.database, stored_persons(db)[new])
    assert ask(f"/foto/{old}").body == ask(f"/foto/{new}").body
    assert ask(f"/foto/{old}?nombre=Otra").status == 404
    assert ask(f"/api/track?e=view&p={old}&d=sitio.example").status == 200
    register.api().views.flush()
    assert register.change("SELECT * FROM person_views") == [(new, 1)]
    assert person_at(register, "aa") == person_at(register, "one") == "two"
    assert f"{new} is hidden" in register.sync("--hide", old).stdout
    assert "aa" not in register.names()
    assert ask(f"/foto/{old}").status == 404
    register.sync()
    assert (register.stats()["active"], register.stats()["found"]) == (19, 0)
    assert register.change("SELECT * FROM former") == []


def test_the_id_of_a_second_card_leads_to_the_child(register: Register) -> None:
    register.read_cards_only()
    register.publish([AA, *OTHERS])
    register.first_sync()
    register.publish([AA, moved(AA), *OTHERS])
    register.sync()
    assert person_at(register, "otra/aa") == "aa"
    register.publish(OTHERS)
    register.sync()
    assert (person_at(register, "otra/aa"), register.stats()["found"]) == ("", 1)


def test_an_id_that_stood_for_two_leads_to_nobody(register: Register) -> None:
    register.read_cards_only()
    shifted(register, TWENTY)
    register.sync()
    shifted(register, TWENTY[1:])
    register.sync()
    assert [person_at(register, n) for n in ("1", "19", "20")] == ["1", "19", "19"]
    shifted(register, TWENTY[2:])
    register.sync()
    assert [person_at(register, n) for n in ("18", "19", "20")] == ["18", "", "18"]
    out = register.sync("--hide", register.id("19")).stdout
    assert ("NOT on the list" in out, register.stats()["active"]) == (True, 18)


def test_a_former_id_that_is_a_hidden_childs_now_leads_to_nobody(register: Register) -> None:
    register.read_cards_only()
    shifted(register, TWENTY)
    register.sync()
    register.sync("--hide", register.id("1"))
    shifted(register, [Listed("zz"), *TWENTY])
    register.sync()
    assert "aa" not in register.names()
    assert person_at(register, "2") == ""


# --- Hiding ----------------------------------------------------------------------------


def test_hiding_takes_off_all_cards_of_a_child_at_once(register: Register) -> None:
    register.read_cards_only()
    alike = moved(AA, slug="luz", name=LUZ, fecha=OTHER_DATE, foto="/fotos/luz.jpg")
    register.publish([AA, SECOND, alike, *OTHERS])
    register.first_sync()
    assert register.stats()["active"] == 22
    out = register.sync("--hide", register.id("aa")).stdout
    assert f"also off the list: {register.id('otra/aa')}" in out
    assert f"alike: {register.id('luz')}" in out
    for _ in range(2):
        assert (register.stats()["active"], register.stats()["found"]) == (20, 0)
        register.sync()


@pytest.mark.parametrize("hides", [False, True], ids=["", "aa hidden"])
def test_who_is_hidden_while_a_run_decides_is_off(
    register: Register, hides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    register.read_cards_only()
    register.publish(TWENTY)
    register.first_sync()
    if hides:
        register.sync("--hide", register.id("aa"))
    decide, decided = sync.decide, 0

    def hide_and_decide(*arguments: object) -> object:
        nonlocal decided
        decided += 1
        if decided == 1:  # no lock is held
            assert register.sync("--hide", register.id("ab")).returncode == 0
        return decide(*arguments)

    monkeypatch.setattr(sync, "decide", hide_and_decide)
    register.publish([*TWENTY, Listed("zz")])
    assert register.sync().returncode == 0
    assert register.names() == names_of([*TWENTY[2:], Listed("zz")]) | (
        {"aa"} if not hides else set()
    )
    assert (decided, register.stats()["found"]) == (2, 0)


def test_a_child_is_unhidden_by_the_id_that_hid_her(register: Register) -> None:
    register.read_cards_only()
    register.publish(TWENTY)
    register.first_sync()
    register.publish([moved(TWENTY[0], slug="aa-nueva"), *TWENTY[1:]])
    register.sync()
    old, new = register.id("aa"), register.id("aa-nueva")
    assert f"{new} is hidden" in register.sync("--hide", old).stdout
    assert "hidden already" in register.sync("--hide", old).stdout
    assert f"no longer hidden: {new}\n" in register.sync("--unhide", old).stdout
    register.sync()
    assert "aa" in register.names()
