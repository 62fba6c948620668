"""A register that changes, also while it is read: into a real database.

Three tables: what must be true after a change, what is refused or withheld until the register
heals, and what is normal.
"""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from support.register import Listed, Register, slugs
from support.scrape import add_to_profile, edit_profile, read
from support.web import Answer

pytestmark = pytest.mark.no_sockets
Change = Callable[[Register], None]
TWENTY = slugs(20)  # aa to at, four pages of five
NUMBERED = ("n=1", "n={page}")


def publish(register: Register, persons: list[Listed], per_page: int = 5) -> None:
    register.publish(persons, per_page)


def without(*gone: str) -> list[Listed]:
    return [person for person in TWENTY if person.slug not in gone]


def redirect(to: str) -> Answer:
    return Answer(302, headers=(("Location", to),))


def once(register: Register, path: str, answer: Answer) -> None:
    """Let the next request of `path` get `answer`, later ones what is there now."""
    usual = register.web.pages[path]

    def reply(_: BaseHTTPRequestHandler) -> Answer:
        register.web.pages[path] = usual
        return answer

    register.web.pages[path] = reply


def name_on_both(register: Register) -> None:
    """Let the profile read the name on the file page too."""
    edit_profile(register, 'nombre = [{ card = "a" }]', 'nombre = [{card = "a"}, {file = "h1"}]')


def put_names(register: Register, persons: list[Listed]) -> None:
    """Add the name to the file pages, surnames first."""
    for person in persons:
        *first, last = person.nombre.split()
        register.web.edit(f"/file/{person.slug}", "<p>", f"<h1>{last}, {' '.join(first)}</h1><p>")


def with_both_names(change: Change) -> Change:
    def changed(register: Register) -> None:
        name_on_both(register)
        change(register)

    return changed


# --- What is true after a change -----------------------------------------------------


def a_file_redirects_to_another(register: Register) -> None:
    register.web.pages["/file/aa"] = redirect("/file/ab")


def two_cards_have_one_link(register: Register) -> None:
    register.web.edit("/lista?n=1", "'/file/ab'", "'/file/aa'")


def a_card_has_the_link_of_another_page(register: Register) -> None:
    register.web.edit("/lista?n=1", "'/file/ab'", "'/file/at'")


def three_links_lead_nowhere(register: Register) -> None:
    for slug in ("aa", "ab", "ac"):
        register.web.edit("/lista?n=1", f"'/file/{slug}'", "'#'")


def a_person_has_two_addresses(register: Register) -> None:
    register.web.edit("/lista?n=1", "</ul>", "<li><a href='/file/at/'>At Inventado Prueba</a></ul>")
    register.web.pages["/file/at/"] = register.web.pages["/file/at"]


def one_is_taken_off_while_the_list_is_read(register: Register) -> None:
    second = register.web.pages["/lista?n=2"]

    def reply(_: BaseHTTPRequestHandler) -> Answer | None:
        publish(register, without("ab"))
        answer = register.web.pages["/lista?n=2"]
        assert isinstance(answer, Answer)
        return answer

    assert isinstance(second, Answer)
    register.web.pages["/lista?n=2"] = reply


def a_page_is_cut_once(register: Register) -> None:
    once(register, "/lista?n=3", Answer(body=b"<html><ul><li><a href='/file/ak'>Ak</a></li>"))


def a_page_is_a_challenge_once(register: Register) -> None:
    once(register, "/lista?n=3", Answer(body=b"<html>Un momento...</html>"))


def a_page_is_repeated_once(register: Register) -> None:
    second = register.web.pages["/lista?n=2"]
    assert isinstance(second, Answer)
    once(register, "/lista?n=3", second)


def a_page_leads_back_once(register: Register) -> None:
    once(register, "/lista?n=3", redirect("/lista?n=1"))


def a_page_fails_once(register: Register) -> None:
    once(register, "/lista?n=3", Answer(500))


def a_file_is_gone(register: Register) -> None:
    register.web.pages["/file/aa"] = Answer(410)


def a_file_fails(register: Register) -> None:
    register.web.pages["/file/aa"] = Answer(404)


def a_case_is_closed(register: Register) -> None:
    register.web.put("/file/aa", "<html>Caso cerrado</html>")


def a_case_is_closed_for_14_days(register: Register) -> None:
    a_case_is_closed(register)
    register.sync()
    register.change("UPDATE unread SET since = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-15 days')")


def a_record_is_unreadable_and_another_leaves(register: Register) -> None:
    publish(register, without("ab"))
    a_case_is_closed(register)


def stamped(mark: str) -> Change:
    def change(register: Register) -> None:
        register.web.edit("/lista?n=1", "Aa Inventado Prueba</a><b>", f"Aa</a><b>{mark}")

    return change


def a_stamp_stands_for_the_name(register: Register) -> None:
    edit_profile(
        register, "pass_over = [", 'pass_over = [{ file = "h1", pattern = "ENCONTRADA" }, '
    )
    register.web.edit("/file/aa", "Prueba, Aa Inventado", "FUE ENCONTRADA")


def a_second_card_has_the_stamp_for_a_name(register: Register) -> None:
    card = "<li><a href='/file/aa'>¡Fue encontrada!</a><b>FUE ENCONTRADA</b></li>"
    register.web.edit("/lista?n=1", "<ul>", f"<ul>{card}")


def a_stamped_card_moves(register: Register) -> None:
    stamped("FUE ENCONTRADA")(register)
    register.web.edit("/lista?n=1", "'/file/aa'", "'/file/aa-hallada'")


def one_comes_of_age(register: Register) -> None:
    register.web.edit("/file/aa", "12 años", "18 años")


def a_record_names_several(register: Register) -> None:
    register.web.edit("/lista?n=1", "Aa Inventado Prueba", "Aa Inventado y Zoe Inventada")


def every_address_changes(register: Register) -> None:
    for n in (1, 2, 3, 4):
        register.web.edit(f"/lista?n={n}", "'/file/", "'/caso/")
    for person in TWENTY:
        register.web.pages[f"/caso/{person.slug}"] = register.web.pages[f"/file/{person.slug}"]


def links_carry_a_session(register: Register) -> None:
    page = register.web.pages["/lista?n=1"]
    assert isinstance(page, Answer)
    for person in TWENTY[:5]:
        new = f"/file//{person.slug};jsessionid=9F?utm_source=x&PHPSESSID=1"
        register.web.edit("/lista?n=1", f"/file/{person.slug}'", f"{new}'")
        register.web.pages[new] = register.web.pages[f"/file/{person.slug}"]


OF_THE_LIST = (
    three_links_lead_nowhere,
    a_person_has_two_addresses,
    a_page_is_cut_once,
    a_page_is_a_challenge_once,
    a_page_is_repeated_once,
    a_page_leads_back_once,
    a_page_fails_once,
    every_address_changes,
    links_carry_a_session,
)


@pytest.mark.parametrize(
    ("change", "gone", "found"),
    [
        (a_file_redirects_to_another, "", 0),
        (with_both_names(a_file_redirects_to_another), "", 0),
        (two_cards_have_one_link, "", 0),
        (with_both_names(two_cards_have_one_link), "", 0),
        (a_card_has_the_link_of_another_page, "", 0),
        (with_both_names(a_card_has_the_link_of_another_page), "", 0),
        (three_links_lead_nowhere, "", 0),
        (a_person_has_two_addresses, "", 0),
        (a_page_is_cut_once, "", 0),
        (a_page_is_a_challenge_once, "", 0),
        (a_page_is_repeated_once, "", 0),
        (a_page_leads_back_once, "", 0),
        (a_page_fails_once, "", 0),
        (a_file_is_gone, "aa", 1),
        (a_file_fails, "", 0),
        (a_case_is_closed, "", 0),
        (a_case_is_closed_for_14_days, "aa", 0),
        (a_record_is_unreadable_and_another_leaves, "ab", 1),
        (stamped("FUE ENCONTRADA"), "aa", 1),
        (stamped("FUE<br>ENCONTRADA"), "aa", 1),
        (stamped("Fué encontráda"), "aa", 1),
        (stamped("FUE ENCON&shy;TRADA"), "aa", 1),
        (stamped("FUE ENCON&#8203;TRADA"), "aa", 1),
        (with_both_names(a_stamp_stands_for_the_name), "aa", 1),
        (a_second_card_has_the_stamp_for_a_name, "aa", 1),
        (a_stamped_card_moves, "aa", 1),
        (one_comes_of_age, "aa", 0),
        (a_record_names_several, "", 0),
        (with_both_names(a_record_names_several), "", 0),
        (every_address_changes, "", 0),
        (links_carry_a_session, "", 0),
    ],
)
def test_after_a_change(register: Register, change: Change, gone: str, found: int) -> None:
    if change in OF_THE_LIST:
        register.read_cards_only()
    publish(register, TWENTY)
    put_names(register, TWENTY)
    register.first_sync()
    before = {p["nombre"]: p for p in register.api().get("/api/personas?limit=100")["personas"]}
    change(register)
    for _ in range(2):
        run = register.sync()
        assert (run.returncode, register.last_run()["outcome"]) == (0, "ok"), run.stderr
        assert register.names() == {p.slug for p in TWENTY} - {gone}
        assert (register.stats()["active"], register.stats()["found"]) == (20 - bool(gone), found)
    for person in register.api().get("/api/personas?limit=100")["personas"]:
        assert person["foto"] == before[person["nombre"]]["foto"]  # nobody under another's face


def test_one_is_taken_off_while_the_list_is_read(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    one_is_taken_off_while_the_list_is_read(register)
    for count, found in ((20, 0), (19, 1)):  # who was on the list in a part of the run stays
        assert register.sync().returncode == 0
        assert (len(register.names()), register.stats()["found"]) == (count, found)
    assert "ab" not in register.names()


def a_slug_is_corrected(register: Register) -> None:
    register.web.edit("/lista?n=1", "'/file/aa'", "'/file/aa-inventado'")
    register.web.pages["/file/aa-inventado"] = register.web.pages["/file/aa"]


def the_name_is_corrected_with_the_slug(register: Register) -> None:
    a_slug_is_corrected(register)
    register.web.edit("/lista?n=1", "Aa Inventado Prueba", "Aa Inventada")


def a_slash_is_added(register: Register) -> None:
    register.web.edit("/lista?n=1", "'/file/aa'", "'/file/aa/'")
    register.web.pages["/file/aa/"] = register.web.pages["/file/aa"]


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "forced"])
@pytest.mark.parametrize(
    "change",
    [
        a_slug_is_corrected,
        the_name_is_corrected_with_the_slug,
        a_slash_is_added,
        links_carry_a_session,
        every_address_changes,
    ],
)
def test_a_hidden_child_stays_hidden(
    register: Register, change: Change, force: tuple[str, ...]
) -> None:
    register.read_cards_only()
    publish(register, TWENTY)
    register.first_sync()
    register.sync("--hide", register.id("aa"))
    assert "aa" not in register.names()
    change(register)
    for _ in range(2):
        register.sync(*force)
        assert "aa" not in register.names()
        assert (register.stats()["active"], register.stats()["found"]) == (19, 0)


def test_a_hidden_child_who_was_unreadable_stays_hidden(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    register.sync("--hide", register.id("aa"))
    register.sync()
    good = register.web.pages["/file/aa"]
    register.web.pages["/file/aa"] = Answer(404)
    register.sync()
    register.web.pages["/file/aa"] = good
    a_slug_is_corrected(register)
    register.sync()
    assert "aa" not in register.names()


def test_a_hidden_child_that_is_not_recognised_is_told_once(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    register.sync("--hide", register.id("aa"))
    publish(register, [*without("aa"), Listed("zz")])
    assert register.id("aa") in register.sync().stderr.split("no longer recognised")[1]
    publish(register, [*without("aa"), Listed("zz"), Listed("zy")])
    assert "no longer recognised" not in register.sync().stderr


def test_who_moves_keeps_the_views(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    register.change("INSERT INTO person_views VALUES (?, 7)", register.id("aa"))
    a_slug_is_corrected(register)
    run = register.sync()
    assert "20 listed, 0 added, 0 found, 1 moved" in run.stdout
    moved = register.id("aa-inventado")
    assert register.change("SELECT * FROM person_views") == [(moved, 7)]
    assert moved in str(register.api().get("/api/personas"))


def put_sisters(register: Register, *cards: tuple[str, str]) -> None:
    """One list page of cards, each with its link and first name; and the file pages of both."""
    shown = "".join(f"<li><a href='/file/{s}'>Prueba Inventada {n}</a></li>" for s, n in cards)
    register.web.put("/lista?n=1", f"<html><ul>{shown}</ul></html>")
    for slug, name in (("ana", "Ana"), ("anais", "Anaís")):
        details = Listed(slug).details
        register.web.put(f"/file/{slug}", f"<h1>Prueba Inventada {name}</h1>{details}")


@pytest.mark.parametrize("wrong", ["link", "redirect", "page"])
def test_sisters_are_not_taken_for_each_other(register: Register, wrong: str) -> None:
    name_on_both(register)
    put_sisters(register, ("ana", "Ana"), ("anais", "Anaís"))
    register.sync()
    before = register.api().get("/api/personas")["personas"]
    if wrong == "link":
        put_sisters(register, ("anais", "Ana"), ("anais", "Anaís"))
    elif wrong == "redirect":
        register.web.pages["/file/ana"] = redirect("/file/anais")
    else:
        register.web.pages["/file/ana"] = register.web.pages["/file/anais"]
    register.sync()
    assert register.api().get("/api/personas")["personas"] == before


@pytest.mark.parametrize("change", [a_file_redirects_to_another, two_cards_have_one_link])
def test_a_pattern_of_pass_over_may_match_names(register: Register, change: Change) -> None:
    name_on_both(register)
    edit_profile(register, '"FUE ENCONTRADA"', '"^(?!SE BUSCA)"')
    publish(register, [person._replace(stamp="SE BUSCA") for person in TWENTY])
    put_names(register, TWENTY)
    register.sync()
    before = register.api().get("/api/personas?limit=100")["personas"]
    change(register)
    register.sync()
    assert register.api().get("/api/personas?limit=100")["personas"] == before


def test_addresses_that_are_positions_hide_no_more_than_one(register: Register) -> None:
    register.read_cards_only()
    for gone in range(6):
        cards = "".join(
            f"<li><a href='/ver/{n}'>{person.nombre}</a>{person.details}</li>"
            for n, person in enumerate(TWENTY[gone:])
        )
        register.web.put("/lista?n=1", f"<html>{cards}</html>")
        register.sync()
        if gone == 0:
            register.sync("--hide", f"https://{register.web.host}/ver/10")
        assert "ak" not in register.names()
    assert len(register.names()) == 20 - 5 - 1


def test_who_had_a_hidden_childs_address_for_a_night(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    register.sync("--hide", register.id("aa"))
    publish(register, [*without("aa"), Listed("zz")])
    register.web.edit("/lista?n=4", "'/file/zz'", "'/file/aa'")
    register.web.pages["/file/aa"] = register.web.pages["/file/zz"]
    register.sync()
    publish(register, [*without("aa"), Listed("zz")])
    register.sync()
    assert "zz" in register.names()


def test_links_that_change_at_each_request_are_named(register: Register) -> None:
    turn = 0

    def reply(_: BaseHTTPRequestHandler) -> Answer:
        nonlocal turn
        turn += 1
        publish(register, TWENTY[:5])
        register.web.edit("/lista?n=1", "'>", f"?t={turn}'>")
        register.web.pages["/lista?n=1"], answer = reply, register.web.pages["/lista?n=1"]
        assert isinstance(answer, Answer)
        return answer

    register.read_cards_only()
    register.web.pages["/lista?n=1"] = reply
    assert "all links change while it is read" in register.sync().stderr


def test_old_and_new_address_on_one_night(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    a_slug_is_corrected(register)
    corrected = register.web.pages["/lista?n=1"]
    register.web.edit("/lista?n=1", "<ul>", "<ul><li><a href='/file/aa'>Aa Inventado</a></li>")
    del register.web.pages["/file/aa"]
    for page in (register.web.pages["/lista?n=1"], corrected):
        register.web.pages["/lista?n=1"] = page
        register.sync()
        assert (register.stats()["active"], register.stats()["found"]) == (20, 0)


def test_who_is_found_stays_counted_through_a_failure(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    for status in (410, 503, 410):
        register.web.pages["/file/aa"] = Answer(status)
        register.sync()
        assert (register.stats()["active"], register.stats()["found"]) == (19, 1)


def test_stamped_cards_without_link_and_name_are_cards(register: Register) -> None:
    edit_profile(register, 'nombre = [{ card = "a" }]', 'nombre = [{ file = "h1" }]')
    publish(register, TWENTY)
    put_names(register, TWENTY)
    for n in (1, 2):
        more = f"<a class=next href='/lista?n={n + 1}'>más</a>"
        cards = "<li><b>FUE ENCONTRADA</b></li>" * 5
        register.web.put(f"/lista?n={n}", f"<html><ul>{cards}</ul>{more}</html>")
    assert register.sync().returncode == 0
    assert (register.stats()["active"], read(register).card_count) == (10, 20)


def test_a_stamp_that_changes_its_form_brings_nobody_back(register: Register) -> None:
    five = [person._replace(stamp="FUE ENCONTRADA") for person in TWENTY[:5]]
    publish(register, [*five, *TWENTY[5:]])
    register.first_sync()
    register.web.edit("/lista?n=1", "<b>FUE", "<i>FUE")
    for _ in range(2):
        run = register.sync()
        assert run.returncode == 0
        assert register.names() == {person.slug for person in TWENTY[5:]}
    assert "had a stamp in the last good run and have none now" in run.stderr
    register.sync("--force")
    assert len(register.names()) == 20


def test_who_was_merely_absent_returns(register: Register) -> None:
    for persons in (TWENTY, TWENTY[1:], TWENTY):
        publish(register, persons)
        register.sync()
    assert (len(register.names()), register.stats()["found"]) == (20, 0)


def test_an_address_may_be_a_fragment(register: Register) -> None:
    card = "<li><a href='#/ficha/{0}'>{1}</a><p>Fecha: 01/02/2024<br>Edad: 9<br>Lugar: V</p></li>"
    cards = (card.format(n, f"{name} Inventada Prueba") for n, name in enumerate("ABCD"))
    register.read_cards_only()
    register.web.put("/lista?n=1", f"<html>{''.join(cards)}</html>")
    for _ in range(2):
        register.sync()
        assert register.stats()["active"] == 4


def test_a_fragment_of_a_template_is_a_part_of_the_address(register: Register) -> None:
    url = """{ card = "a", attr = "href", pattern = '(..)$', template = "/lista?n=1#caso-{}" }"""
    edit_profile(register, '{ card = "a", attr = "href" }', url)
    register.read_cards_only()
    publish(register, TWENTY[:4])
    assert "4 added, 0 found, 0 moved, 0 unreadable" in register.sync().stdout
    assert "#caso-aa" in str(register.api().get("/api/personas"))


def test_hiding_one_address_that_is_a_fragment_hides_one(register: Register) -> None:
    register.read_cards_only()
    publish(register, TWENTY[:4])
    register.web.edit("/lista?n=1", "/file/", "#/ficha/")
    register.sync()
    register.sync("--hide", f"https://{register.web.host}/lista?n=1#/ficha/aa")
    for _ in range(3):
        register.sync()
        assert register.names() == {"ab", "ac", "ad"}


def test_a_photo_that_comes_to_another_child_hides_nobody(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    register.sync("--hide", register.id("aa"))
    publish(register, TWENTY[1:])
    register.sync()
    publish(register, [TWENTY[1]._replace(foto="/fotos/aa.jpg"), *TWENTY[2:]])
    register.sync()
    assert "ab" in register.names()


def test_what_fell_silent_is_said(register: Register) -> None:
    publish(register, [*TWENTY, Listed("zz", foto="/sin_foto.png")])
    register.sync()
    publish(register, TWENTY)
    assert "no_photo" in register.sync().stderr.split("matches nothing now:")[1]


def test_a_stamp_that_the_profile_does_not_know_is_said(register: Register) -> None:
    publish(register, TWENTY)
    stamped("NO LOCALIZADA")(register)
    assert "that somebody was found" not in register.sync().stderr
    register.web.edit("/lista?n=1", "NO LOCALIZADA", "LOCALIZADA")
    assert (
        f"cards say that somebody was found, but pass_over misses: {register.id('aa')}"
        in register.sync().stderr
    )


# --- Refused, withheld, healed -------------------------------------------------------


def the_third_page_is(body: str) -> Change:
    def change(register: Register) -> None:
        register.web.put("/lista?n=3", body)

    return change


def the_third_page_repeats_the_second(register: Register) -> None:
    register.web.pages["/lista?n=3"] = register.web.pages["/lista?n=2"]


def the_third_page_leads_back(register: Register) -> None:
    register.web.pages["/lista?n=3"] = redirect("/lista?n=1")


def the_third_page_links_back(register: Register) -> None:
    register.web.edit("/lista?n=3", "/lista?n=4", "/lista?n=1")


def the_pager_is_gone(register: Register) -> None:
    register.web.edit("/lista?n=1", "class=next", "class=otra")


def seven_are_gone(register: Register) -> None:
    publish(register, TWENTY[7:])


def six_are_gone_then_six(register: Register) -> None:
    publish(register, TWENTY[6:])
    assert register.sync().returncode == 0
    publish(register, TWENTY[10:])


def seven_are_stamped(register: Register) -> None:
    publish(register, [p._replace(stamp="FUE ENCONTRADA") for p in TWENTY[:7]] + TWENTY[7:])


def seven_files_are_gone(register: Register) -> None:
    for person in TWENTY[:7]:
        register.web.pages[f"/file/{person.slug}"] = Answer(410)


def nobody_is_listed(register: Register) -> None:
    publish(register, [])


def no_card_is_known(register: Register) -> None:
    for n in (1, 2, 3, 4):
        register.web.edit(f"/lista?n={n}", "li>", "div>")


def the_list_never_rests(register: Register) -> None:
    turn = 0

    def reply(_: BaseHTTPRequestHandler) -> Answer:
        nonlocal turn
        turn += 1
        publish(register, [*TWENTY[1:], Listed(f"n{turn}")])
        register.web.pages["/lista?n=1"], answer = reply, register.web.pages["/lista?n=1"]
        assert isinstance(answer, Answer)
        return answer

    register.web.pages["/lista?n=1"] = reply


def five_files_fail(register: Register) -> None:
    for person in TWENTY[:5]:
        register.web.put(f"/file/{person.slug}", "<html>Volvemos pronto</html>")


def all_are_adults(register: Register) -> None:
    publish(register, [person._replace(edad="45 años") for person in TWENTY])


def all_photos_become_the_logo(register: Register) -> None:
    publish(register, [person._replace(foto="/logo.png") for person in TWENTY])


def all_cards_name_several(register: Register) -> None:
    for n in (1, 2, 3, 4):
        register.web.edit(f"/lista?n={n}", "Prueba<", "Prueba (01/02/2024)<")


def all_links_lead_to_another_host(register: Register) -> None:
    for n in (1, 2, 3, 4):
        register.web.edit(f"/lista?n={n}", "'/file/", "'https://fichas.example/")


def all_photos_vanish(register: Register) -> None:
    publish(register, [person._replace(foto="/sin_foto.png") for person in TWENTY])


@pytest.mark.parametrize(
    ("change", "outcome", "reason", "forcible"),
    [
        (the_third_page_is("<html>Un momento...</html>"), "refused", "3 has nobody new", False),
        (the_third_page_is("<html><ul><li><a href='/file/ak'>Ak</a></li>"), "refused",
         "list page 3 has no </html>, unlike others: it was cut", False),
        (the_third_page_repeats_the_second, "refused", "list page 3 has nobody new", False),
        (the_third_page_leads_back, "refused", "list page 3 has nobody new", False),
        (the_third_page_links_back, "refused", "link of list page 3 leads to an earlier", False),
        (the_list_never_rests, "refused", "the list changes while it is read", False),
        (the_pager_is_gone, "refused", "15 of 20 would leave", True),
        (seven_are_gone, "refused", "7 of 20 would leave", True),
        (six_are_gone_then_six, "refused",
         "4 of 14 would leave (4 absent), and 6 left in the last 7 days", True),
        (seven_are_stamped, "refused", "7 of 20 would leave", True),
        (seven_files_are_gone, "refused", "7 of 20 would leave", True),
        (all_are_adults, "refused", "20 of 20 would leave (20 excluded)", True),
        (all_cards_name_several, "withheld", "(20 nombre: names several children)", True),
        (all_links_lead_to_another_host, "withheld", "(20 url: no link to the register's hosts",
         True),
        (all_photos_become_the_logo, "withheld", "20 of 20 persons would lose their photo", True),
        (nobody_is_listed, "refused", "nobody is listed on 1 list pages", True),
        (no_card_is_known, "refused", "nobody is listed on 4 list pages", True),
        (five_files_fail, "withheld", "5 of 20 records are unreadable (5 fecha: missing)", True),
        (all_photos_vanish, "withheld", "20 of 20 persons would lose their photo", True),
    ],
)  # fmt: skip
def test_a_bad_night(
    register: Register, change: Change, outcome: str, reason: str, forcible: bool
) -> None:
    if change not in (five_files_fail, seven_files_are_gone):
        register.read_cards_only()
    publish(register, TWENTY)
    register.first_sync()
    healthy = dict(register.web.pages)
    change(register)
    before = register.api().ask("/api/personas").body
    run = register.sync()
    assert (run.returncode, register.last_run()["outcome"]) == (1, outcome)
    assert reason in run.stderr
    assert reason in register.last_run()["reason"]
    assert reason in register.api().get("/health")["lastRun"]["reason"]
    assert register.api().ask("/api/personas").body == before
    register.web.pages = dict(healthy)
    assert register.sync().returncode == 0
    assert register.names() == {person.slug for person in TWENTY}
    assert register.stats()["found"] == 0
    change(register)
    assert register.sync("--force").returncode == (0 if forcible else 1)


def test_who_left_goes_while_the_rest_is_withheld(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    publish(register, [*without("at"), Listed("zz")])
    five_files_fail(register)
    assert register.sync().returncode == 1
    assert register.names() == {person.slug for person in without("at")}
    assert register.stats()["found"] == 1
    assert b"At Inventado" not in register.bytes_on_disk()


def two_starts(register: Register) -> None:
    site = f"http://{register.web.host}"
    edit_profile(register, f'"{site}/lista?n=1"', f'["{site}/lista?n=1", "{site}/b"]')


def test_a_start_address_that_lists_nobody(register: Register) -> None:
    two_starts(register)
    publish(register, TWENTY[:12], per_page=12)
    register.web.pages["/b"] = register.web.pages["/lista?n=1"]
    publish(register, TWENTY[12:], per_page=12)
    publish(register, TWENTY[:12], per_page=12)
    register.web.put("/b", "<html></html>")
    publish(register, TWENTY, per_page=20)
    register.web.pages["/b"] = register.web.pages["/lista?n=1"]
    register.sync()
    publish(register, TWENTY[:14], per_page=20)
    register.web.put("/b", "<html><ul></ul></html>")
    run = register.sync("--force")
    assert (run.returncode, len(register.names())) == (1, 20)
    assert "start address 2 lists nobody, and 6 persons are missing" in run.stderr
    add_to_profile(register, "may_be_empty = true")
    register.sync()
    assert len(register.names()) == 14


def test_a_list_shorter_than_its_total_is_refused(register: Register) -> None:
    add_to_profile(register, "total = [{ card = 'i' }]")
    publish(register, TWENTY)
    register.web.edit("/lista?n=1", "</html>", "<i>20</i></html>")
    assert register.sync().returncode == 0
    register.web.edit("/lista?n=1", "<i>20", "<i>1.020")
    assert "the register states 1020 cards, and 20 were read" in register.sync("--force").stderr


def test_a_maintenance_page_before_an_error_is_no_end(register: Register) -> None:
    edit_profile(register, *NUMBERED)
    edit_profile(register, 'next = "a.next"', "")
    publish(register, TWENTY)
    register.first_sync()
    register.web.put("/lista?n=4", "<html>Volvemos pronto</html>")
    register.web.pages["/lista?n=5"] = Answer(503)
    assert "list page 5 cannot be read: HTTP 503" in register.sync("--force").stderr


# --- What is normal ------------------------------------------------------------------


def the_last_page_links_to_itself(register: Register) -> None:
    register.web.edit("/lista?n=4", "</ul>", "</ul><a class=next href='/lista?n=4'>más</a>")


def pages_are_numbered(register: Register) -> None:
    """WordPress answers 404 after the last page."""
    edit_profile(register, *NUMBERED)
    edit_profile(register, 'next = "a.next"', "")


def the_last_next_link_does_nothing(register: Register) -> None:
    script = "</ul><a class=next href='javascript:void(0)'>más</a>"
    register.web.edit("/lista?n=4", "</ul>", script)


def a_second_card_is_cut(register: Register) -> None:
    card = "<li><a href='/file/at'>At Inventado Pru…</a></li>"
    register.web.edit("/lista?n=1", "<ul>", f"<ul>{card}")


def titles_on_files_name_several(register: Register) -> None:
    name_on_both(register)
    for person in TWENTY:
        register.web.edit(f"/file/{person.slug}", "</h1>", " / actualizado</h1>")


def capitals_are_turkish(register: Register) -> None:
    name_on_both(register)
    register.web.edit("/lista?n=1", "Aa Inventado Prueba", "İREM YILMAZ")
    register.web.edit("/file/aa", "Prueba, Aa Inventado", "İrem Y\u0131lmaz")


def the_last_page_comes_again(register: Register) -> None:
    pages_are_numbered(register)
    for n in (5, 6):
        register.web.pages[f"/lista?n={n}"] = redirect("/lista?n=4")


def files_redirect_to_their_slug(register: Register) -> None:
    name_on_both(register)
    for person in TWENTY:
        register.web.pages[f"/slug/{person.slug}/"] = register.web.pages[f"/file/{person.slug}"]
        register.web.pages[f"/file/{person.slug}"] = redirect(f"/slug/{person.slug}/")


def a_province_has_nobody(register: Register) -> None:
    two_starts(register)
    register.web.put("/b", "<html><ul></ul></html>")


def surnames_come_first_on_the_file(register: Register) -> None:
    name_on_both(register)


def names_are_cut_on_the_card(register: Register) -> None:
    name_on_both(register)
    for n, cut in ((1, "Pru"), (2, "Pru..."), (3, "Prueb…"), (4, "")):
        register.web.edit(f"/lista?n={n}", "Inventado Prueba", f"Inventado {cut}")


def pages_lack_a_closing_tag(register: Register) -> None:
    for n in (1, 2, 3, 4):
        register.web.edit(f"/lista?n={n}", "</html>", "")


def two_share_a_photo(register: Register) -> None:
    register.web.edit("/file/aa", "/fotos/aa.jpg", "/fotos/ab.jpg")


@pytest.mark.parametrize(
    "kind",
    [
        the_last_page_links_to_itself,
        pages_are_numbered,
        the_last_page_comes_again,
        files_redirect_to_their_slug,
        a_province_has_nobody,
        surnames_come_first_on_the_file,
        names_are_cut_on_the_card,
        the_last_next_link_does_nothing,
        a_second_card_is_cut,
        titles_on_files_name_several,
        capitals_are_turkish,
        pages_lack_a_closing_tag,
        two_share_a_photo,
    ],
)
def test_a_normal_register(register: Register, kind: Change) -> None:
    if kind in (the_last_page_links_to_itself, pages_are_numbered, the_last_page_comes_again):
        register.read_cards_only()
    publish(register, TWENTY)
    put_names(register, TWENTY)
    kind(register)
    for count, added in ((2, 20), (1, 0)):  # the first run reads the list twice
        register.web.asked.clear()
        run = register.sync()
        assert f"20 listed, {added} added, 0 found, 0 moved, 0 unreadable" in run.stdout, run.stderr
        assert register.web.asked.count("/lista?n=2") == count


def test_a_register_of_three_persons(register: Register) -> None:
    for persons in (TWENTY[:3], TWENTY[:2], [], TWENTY[:1]):
        stamp = [p._replace(stamp="FUE ENCONTRADA") for p in TWENTY[:3] if p not in persons]
        publish(register, [*persons, *stamp])
        assert register.sync().returncode == 0
        assert register.names() == {person.slug for person in persons}


def test_a_register_that_was_down_for_a_month(register: Register) -> None:
    publish(register, TWENTY)
    register.first_sync()
    register.change("UPDATE run SET started = '2026-01-01T03:00:00Z', ended = started")
    register.change("UPDATE run SET ended = started")
    assert register.api().get("/api/persona-random", 404)
    assert (register.names(), register.stats()["active"]) == (set(), 0)
    publish(register, TWENTY[9:])
    assert register.sync().returncode == 0
    assert register.names() == {person.slug for person in TWENTY[9:]}
    assert register.stats()["found"] == 0


def test_a_register_whose_last_child_was_found(register: Register) -> None:
    publish(register, TWENTY[:2])
    register.sync()
    publish(register, [])
    assert register.sync().returncode == 1
    assert register.sync("--force").returncode == 0
    assert register.sync().returncode == 0
