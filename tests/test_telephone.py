"""A mother on the telephone: --hide and --unhide by the link that she sends, and --who."""

from urllib.parse import quote

import pytest

from support.register import Listed, Register, slugs

pytestmark = pytest.mark.no_sockets
NINE = slugs(9)  # aa to ai
WITH_QUERY = Listed("ver?id=alma", name="Alma Inventada Prueba")
OURS = "https://personas.example.org/p"


@pytest.fixture
def stored(register: Register) -> Register:
    register.read_cards_only()
    register.publish([*NINE, WITH_QUERY])
    register.first_sync()
    return register


@pytest.mark.parametrize(
    "hung",
    ["?fbclid=IwAR0x", "?utm_source=whatsapp&utm_medium=share", "?gclid=1&igshid=2", "?mc_eid=1",
     "?igsh=a%3D%3D", "?never_seen=1&nor_this=2", "/?amp=1", "?amp", "/amp", "/amp/?fbclid=1",
     "#:~:text=Aa%20Inventado", "?fbclid=1#foto", "/", " "],
)  # fmt: skip
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "https://l.facebook.com/l.php?u={quoted}&h=AT0&s=1",
        "https://www.google.com/url?sa=t&url={quoted}&usg=x",
    ],
)
def test_a_link_is_known_with_what_a_social_network_hung_on_it(
    stored: Register, hung: str, around: str
) -> None:
    link = f"https://{stored.web.host}/file/aa{hung}"
    check_link(stored, around.format(link, quoted=quote(link.strip(), safe="")), "aa")


@pytest.mark.parametrize(
    ("link", "slug"),
    [
        ("http://www.{host}/file/ab", "ab"),
        ("HTTPS://{host}/file/ab", "ab"),
        ("https://{host}/file/ver?id=alma", "ver?id=alma"),
        ("https://{host}/file/ver?id=alma&fbclid=1", "ver?id=alma"),
        ("https://{host}/file/ver?fbclid=1&id=alma", "ver?id=alma"),
        ("https://{host}/file/ver?id=alma&share=fb&x=2", "ver?id=alma"),
        (OURS + "/{ab}", "ab"),
        (OURS + "/{ab}/", "ab"),
        (OURS + "/{ab}?fbclid=1#x", "ab"),
        ("https://l.facebook.com/l.php?u=" + quote(OURS, safe="") + "%2F{ab}%3Ffbclid%3D1", "ab"),
    ],
)
def test_a_link_is_known(stored: Register, link: str, slug: str) -> None:
    check_link(stored, link.format(host=stored.web.host, ab=stored.id("ab")), slug)


def check_link(register: Register, link: str, slug: str) -> None:
    """It hides that child alone, is known again, and takes it back."""
    hidden = register.sync("--hide", link)
    assert (hidden.returncode, hidden.stderr) == (0, "")
    assert hidden.stdout.startswith("estaba en la lista y ya no está")
    assert f"/ {register.id(slug)} is hidden from now on\n" in hidden.stdout
    assert register.stats()["active"] == 9
    assert "was hidden already" in register.sync("--hide", link).stdout
    shown = register.sync("--unhide", link)
    assert shown.returncode == 0
    assert shown.stdout.endswith(f" / no longer hidden: {register.id(slug)}\n")
    assert register.sync("--hidden").stdout == ""


@pytest.mark.parametrize(
    ("link", "noted"),
    [
        ("https://www.facebook.com/story.php?id=3", False),
        ("https://otra.example/file/ab", False),
        ("https://{host}/file/zz", True),
        ("https://{host}/file/ver?id=otra", True),
        ("{other}", True),
        (OURS + "/{other}", True),
    ],
)
def test_what_is_nobody_s_exits_1_and_shows_who_is_near(
    stored: Register, link: str, noted: bool
) -> None:
    link = link.format(host=stored.web.host, other=f"{stored.id('ab')}0")
    hidden = stored.sync("--hide", link)
    assert hidden.returncode == 1
    assert ("was NOT on the list" in hidden.stdout) == noted
    assert bool(stored.sync("--hidden").stdout) == noted  # a register may list the child tomorrow
    assert stored.stats()["active"] == 10
    assert "Inventad" not in hidden.stdout
    if noted:
        near = {line for line in hidden.stdout.splitlines() if line.startswith("prueba-")}
        assert near & {stored.id(p.slug) for p in (*NINE, WITH_QUERY)}


def test_two_children_of_one_page_are_not_mistaken(stored: Register) -> None:
    for id in ("otra", "mas"):
        link = f"https://{stored.web.host}/file/ver?id={id}"
        assert "was NOT on the list" in stored.sync("--hide", link).stdout
    assert len(stored.sync("--hidden").stdout.splitlines()) == 2


def test_before_the_first_reading_an_id_is_noted_and_a_link_is_not_believed(
    register: Register,
) -> None:
    assert register.sync("--hide", "prueba-1").returncode == 0
    assert register.sync("--hide", f"https://{register.web.host}/file/aa").returncode == 1


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Alma Prueba", ["ver?id=alma"]),
        ("prueba ALMA", ["ver?id=alma"]),
        ("álma inv", ["ver?id=alma"]),
        ("Prueba, Alma", ["ver?id=alma"]),
        ("ab inventado", ["ab"]),
        ("{ab}", ["ab"]),
        ("{ab}0", []),
        ("Nadie", []),
        ("Alma Nadie", []),
    ],
)
def test_who(stored: Register, text: str, who: list[str]) -> None:
    text = text.format(ab=stored.id("ab"))
    shown = stored.sync("--who", text)
    assert shown.stdout.split() == [stored.id(slug) for slug in who]
    assert shown.returncode == (0 if who else 1)
    assert shown.stderr == ("" if who else f"Nadie en la lista / Nobody on the list: {text}\n")
