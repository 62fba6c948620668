"""The switch for the staff, its panel, a child's page and QR code: through WSGI."""

import re
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

import app
from serve import answers
from serve.pages import qr_code
from store.database import open_database, transaction
from store.hidden import PANEL_HIDES
from store.hidden import hide as hide_in
from store.persons import stored_persons
from support import KEY, STAFF_KEY, missing
from support.api import ABOUT, Api, Reply, fill, keep_photo, made_up

SITE = "https://personas.example"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
NEVER = "prueba-99"  # was never listed
NO_IDS = ["x", "-", "PRUEBA-3", "prueba-03", "prueba-3%00", "prueba-3%00x", "prueba-3%20", "%C3"]


def staff_api(database: Path, public_url: str = SITE, staff_key: str | None = STAFF_KEY) -> Api:
    return Api(database, KEY, about=ABOUT._replace(public_url=public_url), staff_key=staff_key)


@pytest.fixture
def staff(filled: Path) -> Api:
    """Over 25 persons."""
    return staff_api(filled)


def hide(api: Api, person: str, method: str = "POST", **headers: str) -> Reply:
    return api.ask(f"/api/personas/{person}/hide", method, **(headers or {"X_API_Key": STAFF_KEY}))


def execute(database: Path, sql: str) -> list[Any]:
    with open_database(database, 5) as db, transaction(db):
        return db.execute(sql).fetchall()


def listed(api: Api) -> set[str]:
    return {one["id"] for one in api.get("/api/personas?limit=100")["personas"]}


def hidden_in(database: Path) -> list[Any]:
    return execute(database, "SELECT id, by FROM hidden ORDER BY id")


# --- Hide ----------------------------------------------------------------------------


def test_who_is_hidden_is_gone_at_the_next_request(database: Path) -> None:
    fill(database, [made_up(1), made_up(2)])
    keep_photo(database, made_up(1))
    execute(database, "INSERT INTO former VALUES ('prueba-10', 'prueba-1')")
    api = staff_api(database)
    addresses = ("/api/personas/{}", "/foto/{}", "/p/{}/qr.svg")
    hers = [address.format(id) for address in addresses for id in ("prueba-1", "prueba-10")]
    assert {api.ask(path).status for path in hers} == {200}
    reply = hide(api, "prueba-1")
    assert (reply.status, reply.json) == (200, {"hidden": "prueba-1"})
    for path in hers:
        never = api.ask(re.sub("prueba-[0-9]+", NEVER, path))
        assert (never.status, api.ask(path)) == (404, never)
    assert listed(api) == {"prueba-2"}
    assert {api.get("/api/persona-random")["id"] for _ in range(20)} == {"prueba-2"}


@pytest.mark.parametrize(
    "second",
    [
        {"edad": "13 años"},  # equal name and date
        {"fecha": "02/02/2024", "foto": made_up(1).foto},  # equal name and photo
        {"nombre": "Persona Ficticia", "foto": made_up(1).foto},  # equal date and photo
    ],
)
def test_all_her_cards_go(database: Path, second: dict[str, str]) -> None:
    other = made_up(2)._replace(nombre=made_up(1).nombre)._replace(**second)
    fill(database, [made_up(1), other, made_up(3)])
    api = staff_api(database)
    assert hide(api, "prueba-1").status == 200
    assert listed(api) == {"prueba-3"}
    assert hidden_in(database) == [("prueba-1", "panel")]


def test_a_former_id_hides_its_child(staff: Api, filled: Path) -> None:
    execute(filled, "INSERT INTO former VALUES ('prueba-70', 'prueba-7')")
    for id in ("prueba-70", "prueba-70", "prueba-7"):
        assert hide(staff, id).json == {"hidden": "prueba-7"}
    assert listed(staff) == {f"prueba-{n}" for n in range(1, 26)} - {"prueba-7"}


def test_who_is_hidden_already_is_hidden(staff: Api, filled: Path) -> None:
    with open_database(filled, 5) as db:
        hide_in(db, ["prueba-3"])
    assert (hide(staff, "prueba-3").status, hidden_in(filled)) == (200, [("prueba-3", "server")])


def test_who_is_neither_stored_nor_hidden_is_one_404(staff: Api, filled: Path) -> None:
    execute(filled, "INSERT INTO found VALUES ('prueba-50', NULL)")
    execute(filled, "INSERT INTO former VALUES ('prueba-60', NULL)")
    with open_database(filled, 5) as db:
        hide_in(db, ["prueba-25"])
    marks = [mark for (mark,) in execute(filled, "SELECT mark FROM hidden_mark") if ":" in mark]
    replies = [hide(staff, id) for id in (NEVER, "prueba-50", "prueba-60", *NO_IDS, *marks)]
    assert {reply.status for reply in replies} == {404}
    assert replies == [replies[0]] * len(replies)
    assert len(listed(staff)) == 24


# --- The key -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X_API_Key": STAFF_KEY}, 200),
        ({"Authorization": f"Bearer {STAFF_KEY}"}, 200),
        ({"X_API_Key": KEY}, 401),
        ({"Authorization": f"Bearer {KEY}"}, 401),
        ({"X_API_Key": STAFF_KEY[:-1]}, 401),
        ({"X_API_Key": STAFF_KEY.upper()}, 401),
        ({"X_API_Key": "clavé"}, 401),
        ({"X_API_Key": ""}, 401),
        ({"X_Other": STAFF_KEY}, 401),
    ],
)
@pytest.mark.parametrize("id", ["prueba-3", NEVER])
def test_the_staffs_key_opens_it(staff: Api, id: str, headers: dict[str, str], status: int) -> None:
    reply = hide(staff, id, **headers)
    assert reply.status == (404 if (id, status) == (NEVER, 200) else status)
    assert ("www-authenticate" in reply.headers) == (status == 401)
    assert ("prueba-3" in listed(staff)) == (reply.status != 200)


def test_it_is_compared_in_constant_time(staff: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(*texts: bytes) -> bool:
        compared.append(texts)
        return False

    monkeypatch.setattr(answers.hmac, "compare_digest", compare)
    assert hide(staff, "prueba-3", X_API_Key="sent").status == 401
    assert compared == [(b"sent", STAFF_KEY.encode())]


def paths_of(api: Api) -> list[str]:
    """An address of each route."""
    return sorted({route.rule.replace("<person>", "prueba-1") for route in api.app.routes})


def test_it_opens_nothing_else(database: Path) -> None:
    fill(database, [made_up(1)])
    api = staff_api(database)
    asked = [(path, method) for path in paths_of(api) for method in METHODS]
    asked.remove(("/api/personas/prueba-1/hide", "POST"))
    assert len(asked) > 100
    for path, method in asked:
        without = api.ask(path, method)
        assert api.ask(path, method, X_API_Key=STAFF_KEY) == without
        assert api.ask(path, method, Authorization=f"Bearer {STAFF_KEY}") == without
    assert listed(api) == {"prueba-1"}


def test_without_a_key_there_is_no_switch(filled: Path) -> None:
    api = staff_api(filled, staff_key=None)
    for id in ("prueba-3", NEVER):
        reply = hide(api, id)
        assert (reply.status, "STAFF_KEY" in reply.json["detail"]) == (503, True)
    assert "prueba-3" in listed(api)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_only_a_post_hides(staff: Api, method: str) -> None:
    assert hide(staff, "prueba-3", method).status == 405
    assert "prueba-3" in listed(staff)


def test_a_trailing_slash_is_alike(staff: Api) -> None:
    assert staff.ask("/panel/") == staff.ask("/panel")
    reply = staff.ask("/api/personas/prueba-3/hide/", "POST", X_API_Key=STAFF_KEY)
    assert reply.json == {"hidden": "prueba-3"}


# --- Five in 24 hours ----------------------------------------------------------------


def hide_five(api: Api) -> None:
    assert [hide(api, f"prueba-{n}").status for n in range(1, PANEL_HIDES + 1)] == [200] * 5


def age_hides(database: Path, hours: float, ids: str = "'prueba-1'") -> None:
    earlier = f"strftime('%Y-%m-%dT%H:%M:%SZ', since, '-{hours} hours')"
    execute(database, f"UPDATE hidden SET since = {earlier} WHERE id IN ({ids})")


def test_the_sixth_is_refused_also_after_a_restart(staff: Api, filled: Path) -> None:
    hide_five(staff)
    for api in (staff, staff_api(filled)):
        refused = hide(api, "prueba-6")
        assert (refused.status, refused.headers["retry-after"]) == (429, "3600")
        assert "sync.py --hide" in refused.json["detail"]
        assert "prueba-6" in listed(api)


def test_who_is_hidden_already_does_not_count(staff: Api) -> None:
    for _ in range(6):
        assert hide(staff, "prueba-1").status == 200
    hide_five(staff)
    assert hide(staff, "prueba-5").status == 200
    assert hide(staff, NEVER).status == 404
    assert hide(staff, "prueba-6").status == 429


def test_hides_of_the_server_do_not_count(staff: Api, filled: Path) -> None:
    with open_database(filled, 5) as db:
        for number in range(11, 18):
            hide_in(db, [f"prueba-{number}"])
        hide_five(staff)
        assert hide(staff, "prueba-6").status == 429
        hide_in(db, ["prueba-6"])  # which the server may still do
    assert hide(staff, "prueba-6").status == 200


def test_a_day_later_it_opens_again(staff: Api, filled: Path) -> None:
    hide_five(staff)
    age_hides(filled, 23.9, "'prueba-1', 'prueba-2', 'prueba-3', 'prueba-4', 'prueba-5'")
    assert hide(staff, "prueba-6").status == 429
    age_hides(filled, 0.2)
    assert hide(staff, "prueba-6").status == 200
    assert hide(staff, "prueba-7").status == 429


@pytest.mark.parametrize("done", [0, PANEL_HIDES - 1])
def test_hides_at_once_are_five_at_most(staff: Api, filled: Path, done: int) -> None:
    for number in range(done):
        hide(staff, f"prueba-{25 - number}")
    together = threading.Barrier(8)

    def one(number: int) -> int:
        together.wait()
        return hide(staff, f"prueba-{number}").status

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(one, range(1, 9)))
    assert statuses == [200] * (PANEL_HIDES - done) + [429] * (3 + done)
    assert (len(listed(staff)), len(hidden_in(filled))) == (25 - PANEL_HIDES, PANEL_HIDES)


def test_one_child_hidden_twice_at_once_is_one_hide(staff: Api, filled: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: hide(staff, "prueba-3"), range(8)))
    assert [reply.json for reply in replies] == [{"hidden": "prueba-3"}] * 8
    assert hidden_in(filled) == [("prueba-3", "panel")]


# --- The database cannot be written --------------------------------------------------


def test_a_locked_database_hides_nobody_and_says_what_to_do(
    staff: Api, filled: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(app, "HIDE_SECONDS", 0.05)
    with open_database(filled, 5) as db:
        before = stored_persons(db)
        db.execute("BEGIN IMMEDIATE")
        reply = hide(staff, "prueba-3")
        assert len(listed(staff)) == 25  # reading goes on
        db.execute("ROLLBACK")
        assert stored_persons(db) == before
    assert reply.status == 503
    assert reply.json["detail"] == (
        "Nobody was hidden: another program holds its lock. If it is urgent, stop the service."
    )
    assert hidden_in(filled) == execute(filled, "SELECT * FROM hidden_mark") == []
    assert "nobody was hidden: database is locked" in caplog.text
    assert hide(staff, "prueba-3").status == 200


def test_it_waits_for_a_lock_that_is_held_for_a_moment(staff: Api, filled: Path) -> None:
    with open_database(filled, 5) as db, ThreadPoolExecutor(1) as pool:
        db.execute("BEGIN IMMEDIATE")
        reply = pool.submit(hide, staff, "prueba-3")
        with pytest.raises(TimeoutError):
            reply.result(timeout=0.1)
        db.execute("ROLLBACK")
        assert reply.result().status == 200


# --- No other site may ask, no cache may keep ----------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "key", "status"),
    [
        ("GET", "/panel", "", 200),
        ("GET", "/panel/", "", 200),
        ("HEAD", "/panel", "", 200),
        ("OPTIONS", "/panel", "", 204),
        ("POST", "/panel", "", 405),
        ("POST", "/api/personas/prueba-3/hide", STAFF_KEY, 200),
        ("POST", "/api/personas/prueba-3/hide/", STAFF_KEY, 200),
        ("POST", f"/api/personas/{NEVER}/hide", STAFF_KEY, 404),
        ("POST", "/api/personas/%C3%B1%0A/hide", STAFF_KEY, 404),
        ("POST", "/api/personas/prueba-3/hide", "", 401),
        ("GET", "/api/personas/prueba-3/hide", "", 405),
        ("DELETE", "/api/personas/prueba-3/hide", STAFF_KEY, 405),
        ("OPTIONS", "/api/personas/prueba-3/hide", "", 204),
    ],
)
def test_no_other_site_may_ask(staff: Api, method: str, path: str, key: str, status: int) -> None:
    origin = {"Origin": "https://other.example", "Access_Control_Request_Method": "POST"}
    assert_closed(staff.ask(path, method, X_API_Key=key, **origin), status)


def assert_closed(reply: Reply, status: int) -> None:
    assert reply.status == status
    assert [name for name in reply.headers if name.startswith(("access-", "cross-"))] == []
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-robots-tag"] == "noindex"
    assert reply.headers.get("cache-control") == (None if status == 204 else "no-store")


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("secret words")


def test_no_other_site_may_ask_when_it_fails(
    staff: Api, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_five(staff)
    assert_closed(hide(staff, "prueba-6"), 429)
    assert_closed(hide(staff_api(filled, staff_key=None), "prueba-6"), 503)
    monkeypatch.setattr(app, "hide", fail)
    reply = hide(staff, "prueba-6")
    assert_closed(reply, 500)
    assert b"secret" not in reply.body
    filled.write_bytes(b"no database, but somebody's file " * 500)
    assert_closed(hide(staff, "prueba-6"), 503)


def test_the_panel_runs_its_own_script_alone(staff: Api) -> None:
    policy = staff.ask("/panel").headers["content-security-policy"]
    assert re.sub("'sha256-[A-Za-z0-9+/]{43}='", "HASH", policy) == (
        "default-src 'none'; script-src HASH; style-src HASH; connect-src 'self';"
        " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    )


@pytest.mark.parametrize("path", ["/", "/404.html", "/p/prueba-1", "/embed.js", "/home.json"])
def test_nothing_leads_to_the_panel(staff: Api, path: str) -> None:
    assert b"/panel" not in staff.ask(path).body


# --- A child's page ------------------------------------------------------------------


@pytest.mark.parametrize("id", ["prueba-3", NEVER, *NO_IDS, "3" * 300, "<b>", "qr.svg"])
def test_a_childs_page_is_the_same_for_any_id(staff: Api, id: str) -> None:
    page = staff.ask("/p/prueba-1")
    assert staff.ask(f"/p/{id}") == page
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    assert page.headers["content-type"] == "text/html; charset=utf-8"


def test_it_runs_scripts_of_this_service_alone(staff: Api) -> None:
    policy = staff.ask("/p/prueba-1").headers["content-security-policy"]
    assert re.sub("'sha256-[A-Za-z0-9+/]{43}='", "HASH", policy) == (
        "default-src 'none'; script-src 'self' HASH; style-src HASH; connect-src 'self';"
        " img-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@pytest.mark.parametrize("public_url", [SITE, ""])
def test_its_picture_has_an_address_where_the_origin_is_known(
    filled: Path, public_url: str
) -> None:
    api = staff_api(filled, public_url)
    page = api.ask("/p/prueba-1").body.decode()
    pictures = re.findall('<meta property="og:image" content="(.*)">', page)
    assert pictures == ([f"{SITE}/preview.png"] if public_url else [])
    assert (f'"public_url":"{SITE}"' in page) == bool(public_url)
    assert api.ask("/preview.png").headers["content-type"] == "image/png"


def test_the_host_header_is_in_no_answer(staff: Api) -> None:
    host = "visitor-says.example"
    for path in paths_of(staff):
        for method in METHODS:
            reply = staff.ask(path, method, Host=host, X_Forwarded_Host=host, X_API_Key=STAFF_KEY)
            assert host not in f"{reply.headers}" + reply.body.decode("latin-1")


# --- Its QR code ---------------------------------------------------------------------


def drawn(svg: bytes) -> Image.Image:
    """A QR code as segno writes it: one path of horizontal lines, half a module below its row."""
    (size,) = re.findall(rb'width="(\d+)"', svg)
    (path,) = re.findall(rb' d="([^"]+)"', svg)
    picture = Image.new("L", (int(size), int(size)), 255)
    x = y = 0.0
    for command, first, second in re.findall(r"([Mmh])(-?[\d.]+) ?(-?[\d.]+)?", path.decode()):
        if command == "h":
            ImageDraw.Draw(picture).line([(x, y - 0.5), (x + float(first) - 1, y - 0.5)], 0)
            x += float(first)
        elif command == "M":
            x, y = float(first), float(second)
        else:
            x, y = x + float(first), y + float(second)
    return picture.resize((8 * int(size), 8 * int(size)), Image.Resampling.NEAREST)


@pytest.mark.parametrize("id", ["prueba-3", "prueba-70"])
def test_a_qr_code_leads_to_the_childs_page(staff: Api, filled: Path, id: str) -> None:
    if not shutil.which("zbarimg"):
        missing("zbarimg")
    execute(filled, "INSERT INTO former VALUES ('prueba-70', 'prueba-7')")
    reply = staff.ask(f"/p/{id}/qr.svg")
    assert reply.headers["content-type"] == "image/svg+xml"
    assert reply.headers["cache-control"] == "no-store"
    picture = BytesIO()
    drawn(reply.body).save(picture, "PNG")
    read = subprocess.run(
        ["zbarimg", "--raw", "-q", "PNG:-"], input=picture.getvalue(), capture_output=True
    )
    assert read.stdout.decode() == f"{SITE}/p/{id}\n"


def test_only_who_is_shown_has_a_qr_code(staff: Api, filled: Path) -> None:
    hide(staff, "prueba-7")
    execute(filled, "INSERT INTO found VALUES ('prueba-50', NULL)")
    never = staff.ask(f"/p/{NEVER}/qr.svg")
    assert never.status == 404
    for id in ("prueba-7", "prueba-50", *NO_IDS):
        assert staff.ask(f"/p/{id}/qr.svg") == never
    execute(filled, "UPDATE run SET ended = '2024-02-01T03:00:00Z'")
    assert staff.ask("/p/prueba-3/qr.svg") == never


def test_without_the_origin_there_is_no_qr_code(filled: Path) -> None:
    api = staff_api(filled, public_url="")
    assert api.ask("/p/prueba-3/qr.svg") == api.ask("/nothing")
    assert "/p/<person>/qr.svg" not in {route.rule for route in api.app.routes}


def test_qr_codes_are_drawn_once_and_few_are_kept() -> None:
    assert qr_code(f"{SITE}/p/a-1") is qr_code(f"{SITE}/p/a-1")
    assert qr_code.cache_parameters()["maxsize"] <= 100
