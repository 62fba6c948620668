"""The plugin of sites/wordpress in a real WordPress, before the real service, in Chromium."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from scrape.images import photo_of
from store.database import open_database
from support import KEY, ROOT, missing
from support.api import keep_photo
from support.browser import view_of
from support.nginx import PERSONS, Instances
from support.service import wait_until
from support.web import Web
from support.wordpress import PLUGIN, WordPress

pytestmark = pytest.mark.slow

PHP = PLUGIN / "persona404.php"
CLASSIC, BLOCK = "twentytwentyone", "twentytwentythree"


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instances]:
    """The service behind nginx.conf, with TLS."""
    with closing(Instances(1, tmp_path_factory.mktemp("service"))) as running:
        (database,) = running.databases
        for person in PERSONS:
            keep_photo(database, person)
        face = photo_of(next((ROOT / "registers" / "demo" / "fotos").iterdir()).read_bytes())
        with open_database(database, 5) as db:
            db.execute("UPDATE photo SET jpeg = ?", [face])
        yield running


@pytest.fixture(scope="module")
def service(instance: Instances) -> str:
    return f"https://127.0.0.1:{instance.nginx.port}"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WordPress]:
    with closing(WordPress(tmp_path_factory.mktemp("wordpress"))) as one:
        yield one


@pytest.fixture
def wordpress(running: WordPress) -> Iterator[WordPress]:
    """With the plugin active and nothing set. PHP may have nothing to say of it."""
    running.php(
        "delete_option( 'made_up_locale' ); delete_option( 'persona404' );"
        "var_dump( activate_plugin( 'persona404/persona404.php' ) );"
    )
    yield running
    assert running.notices() == []


@pytest.fixture(scope="module")
def session(running: WordPress, browser: Any) -> Any:
    """The administrator's cookies: a login takes longer than most tests."""
    with closing(browser.new_context(ignore_https_errors=True)) as context:
        page = context.new_page()
        page.goto(f"{running.address}/wp-login.php")
        page.fill("#user_login", "admin")
        page.fill("#user_pass", "made-up-password")
        page.click("#wp-submit")
        page.wait_for_url("**/wp-admin/")
        return context.storage_state()


@pytest.fixture
def admin(wordpress: WordPress, browser: Any, session: Any) -> Iterator[Any]:
    """The plugin's settings, before the administrator's eyes."""
    context = browser.new_context(ignore_https_errors=True, storage_state=session)
    page = context.new_page()
    page.goto(f"{wordpress.address}/wp-admin/options-general.php?page=persona404")
    yield page
    context.close()


Rule = Callable[[str], object]


@pytest.fixture
def rule(wordpress: WordPress) -> Iterator[Rule]:
    """Adds PHP code to WordPress, as another plugin does."""
    file = wordpress.site / "wp-content" / "mu-plugins" / "rule.php"
    yield lambda code: file.write_text(f"<?php {code}")
    file.unlink(missing_ok=True)


def save(admin: Any) -> None:
    """Send the form, and wait for the page that comes then."""
    with admin.expect_navigation():
        admin.click("#submit")


def set_options(wordpress: WordPress, **options: str) -> None:
    text = json.dumps(options).replace("'", "\\'")
    wordpress.php(f"update_option( 'persona404', json_decode( '{text}', true ) );")


def stored(wordpress: WordPress) -> object:
    return json.loads(wordpress.php("echo json_encode( get_option( 'persona404' ) );"))


def views(instance: Instances) -> int:
    count: int = instance.services[0].ask("/api/stats").json["views"]
    return count


@pytest.mark.parametrize(("theme", "text"), [(CLASSIC, "Nothing here"), (BLOCK, "404")])
def test_a_missing_page_shows_a_child_and_counts(
    wordpress: WordPress, instance: Instances, service: str, visit: Any, theme: str, text: str
) -> None:
    wordpress.php(f"switch_theme( '{theme}' );")
    set_options(wordpress, address=service, lang="es")
    page, before = visit("about:blank"), views(instance)
    answers: list[Any] = []
    view_of(page, lambda: answers.append(page.goto(f"{wordpress.address}/no-hay/")))
    assert answers[0].status == 404
    assert text in page.locator("body").inner_text()
    card = page.locator("article", has_text="Inventada").last
    assert card.locator("img").evaluate("image => image.naturalWidth") > 100
    assert page.locator("[data-persona404]").count() == 1
    assert page.locator("main [data-persona404] + script + h1").count() == 1
    wait_until(lambda: views(instance) == before + 1)
    sites = instance.services[0].ask("/api/sites", X_API_Key=KEY).json["sites"]
    assert [site["site"] for site in sites] == ["www.sitio.example"]


@pytest.mark.parametrize("theme", [CLASSIC, BLOCK])
@pytest.mark.parametrize(("width", "height"), [(390, 664), (360, 640), (1280, 800)])
def test_the_first_screen_has_face_name_facts_and_button(
    wordpress: WordPress, service: str, visit: Any, theme: str, width: int, height: int
) -> None:
    wordpress.php(f"switch_theme( '{theme}' );")
    set_options(wordpress, address=service, lang="es")
    page = visit("about:blank", viewport={"width": width, "height": height})
    page.goto(f"{wordpress.address}/no-hay/")
    for part in (".photo", ":is(h2, h3):has-text('Inventada')", "p:has-text('2024')", "a.do"):
        box = page.locator("[data-persona404]").locator(part).bounding_box()
        assert 0 <= box["y"] < box["y"] + box["height"] <= height, part


@pytest.mark.parametrize(
    ("theme", "place", "margin"),
    [(CLASSIC, "", 16), (CLASSIC, "below", 16), (BLOCK, "", 24), (BLOCK, "below", 16)],
)
def test_on_a_telephone_the_card_has_a_margin_or_the_theme_s_wider_one(
    wordpress: WordPress, service: str, visit: Any, theme: str, place: str, margin: int
) -> None:
    wordpress.php(f"switch_theme( '{theme}' );")
    set_options(wordpress, address=service, place=place)
    page = visit("about:blank", viewport={"width": 360, "height": 640})
    page.goto(f"{wordpress.address}/no-hay/")
    box = page.locator("article", has_text="Inventada").last.bounding_box()
    assert (box["x"], 360 - box["x"] - box["width"]) == (margin, margin)


@pytest.mark.parametrize("theme", [CLASSIC, BLOCK])
def test_below_it_comes_before_the_footer(
    wordpress: WordPress, service: str, visit: Any, theme: str
) -> None:
    wordpress.php(f"switch_theme( '{theme}' );")
    set_options(wordpress, address=service, place="below")
    page = visit(f"{wordpress.address}/no-hay/")
    parts = page.locator("main h1, [data-persona404], .site > footer, .wp-site-blocks > footer")
    order = parts.evaluate_all("nodes => nodes.map(node => node.localName)")
    assert order == ["h1", "div", "footer"]


# "|" is where a theme's footer begins, "^" where the card comes then.
PAGES = [
    "<header><h1>S</h1></header><main><p></p>^<h2>x</h2><h1>y</h1></main>|",
    '<MAIN\nid="m">^<H1 class="t">x</H1>|</MAIN>',
    "<main>^<h1>x</h1></main><h2>y</h2><main><h1>z</h1></main>|",
    "<main></main><main>^<h1>z</h1></main>|",
    "<main><p>x</p></main><h2>y</h2>^|<footer><h2>z</h2></footer>",
    "<h1>x</h1>^|",
    "<main><header><hr></header>^|</main>",
    "<main-menu><h1>x</h1></main-menu>^|",
    "<!-- <main> --><h1>x</h1>^|",
    "<main><script>'<h1>'</script><!-- <h1> --><style>/*<h1>*/</style>^<h1>x</h1></main>|",
    "<main>" + "<p>x</p>" * 300_000 + "^<h1>x</h1></main>|",
]


def test_the_card_moves_above_the_first_heading_of_main(wordpress: WordPress) -> None:
    moved = wordpress.each(
        [page.replace("^", "") for page in PAGES],
        "persona404_move( str_replace( '|', PERSONA404_MARK . '(card)' . PERSONA404_MARK, $it ) )",
    )
    assert moved == [page.replace("|", "").replace("^", "(card)") for page in PAGES]


def hook(name: str, code: str, when: int = 10) -> str:
    return f"add_action( '{name}', function () {{ {code} }}, {when} );"


PASS_ON = "ob_start( function ( $page ) { return $page; } );"


@pytest.mark.parametrize(
    ("other", "place"),
    [
        (hook("wp_body_open", "echo do_shortcode( '[persona404]' );"), "body >"),
        (hook("wp_body_open", "echo '<div data-persona404></div>';"), "body >"),
        (hook("template_redirect", PASS_ON), "main header >"),
        (hook("template_redirect", PASS_ON, 100), "main header >"),
        (hook("wp_body_open", "ob_flush();") + hook("get_footer", "ob_flush();", 1), "main >"),
        (hook("get_footer", "while ( ob_get_level() ) { ob_end_flush(); }", 1), "main >"),
    ],
)
def test_a_missing_page_has_one_card_whatever_else_there_is(
    wordpress: WordPress, service: str, rule: Rule, visit: Any, other: str, place: str
) -> None:
    wordpress.php(f"switch_theme( '{CLASSIC}' );")
    set_options(wordpress, address=service)
    rule(other)
    page = visit(f"{wordpress.address}/no-hay/")
    assert page.locator("[data-persona404]").count() == 1
    assert page.locator(f"{place} [data-persona404]").count() == 1
    assert page.locator("main h1").count() == 1


@pytest.mark.parametrize("theme", [CLASSIC, BLOCK])
def test_other_pages_are_as_they_were(
    wordpress: WordPress, service: str, visit: Any, theme: str
) -> None:
    wordpress.php(f"switch_theme( '{theme}' );")
    set_options(wordpress, address=service)
    assert "persona404" not in visit(f"{wordpress.address}/").content()


def test_nothing_is_shown_without_an_address(wordpress: WordPress, visit: Any) -> None:
    assert "persona404" not in visit(f"{wordpress.address}/no-hay/").content()


def test_the_shortcode_puts_it_where_it_stands(
    wordpress: WordPress, service: str, visit: Any
) -> None:
    set_options(wordpress, address=service)
    wordpress.php(
        "wp_insert_post( array( 'post_type' => 'page', 'post_status' => 'publish',"
        " 'post_name' => 'ayuda', 'post_content' => '<p>Uno</p>[persona404]<p>Dos</p>' ) );"
    )
    page = visit(f"{wordpress.address}/ayuda/")
    card = page.locator("p:has-text('Uno') + [data-persona404] + script[async] + p:has-text('Dos')")
    assert card.count() == 1


def test_what_is_stored_is_escaped(wordpress: WordPress, service: str, visit: Any) -> None:
    bad = '"><script>alert(1)</script>'
    set_options(wordpress, address=service, region=bad, size=bad)
    page = visit(f"{wordpress.address}/no-hay/")
    assert page.locator("[data-persona404]").get_attribute("data-region") == bad


# --- The settings --------------------------------------------------------------------


def test_settings_are_saved_and_shown(
    wordpress: WordPress, instance: Instances, service: str, admin: Any
) -> None:
    admin.fill("#persona404-address", f" {service}/ ")
    admin.select_option("#persona404-size", "small")
    admin.select_option("#persona404-theme", "dark")
    for lang in ("es", "en", "it", "fr", "pt"):
        admin.select_option("#persona404-lang", lang)
    admin.select_option("#persona404-place", "below")
    admin.fill("#persona404-region", "Ñandubay <b>Ficticio</b>")
    save(admin)
    assert "Settings saved" in admin.inner_text(".settings-error")
    options = {"size": "small", "theme": "dark", "lang": "pt", "region": "Ñandubay Ficticio"}
    assert stored(wordpress) == {"address": service, "place": "below", **options}
    with admin.expect_popup() as popup:
        admin.get_by_role("link", name="Preview").click()
    popup.value.locator("[data-persona404][data-size=small][data-lang=pt] a.do").wait_for()


def test_a_service_that_is_down_keeps_nobody_from_other_changes(
    wordpress: WordPress, admin: Any
) -> None:
    set_options(wordpress, address="https://127.0.0.1:1")
    admin.reload()
    admin.select_option("#persona404-size", "small")
    save(admin)
    assert stored(wordpress)["size"] == "small"
    admin.fill("#persona404-address", "")
    save(admin)
    assert stored(wordpress)["address"] == ""


def test_who_may_not_write_scripts_may_not_choose_one(
    wordpress: WordPress, service: str, rule: Rule, admin: Any
) -> None:
    rule("define( 'DISALLOW_UNFILTERED_HTML', true );")
    admin.reload()
    address = admin.locator("#persona404-address")
    assert "unfiltered_html" in admin.locator("#persona404-address + p").inner_text()
    assert address.get_attribute("readonly") is not None
    address.evaluate(f"field => field.value = '{service}'")
    save(admin)
    assert "Settings saved" in admin.inner_text(".settings-error")
    assert stored(wordpress)["address"] == ""


@pytest.mark.parametrize(
    "odd", ["'x'", "5", "null", "array( 'address' => array() )", "array( 'x' => 'y' )"]
)
def test_an_option_of_another_form_is_none(wordpress: WordPress, visit: Any, odd: str) -> None:
    wordpress.php(f"update_option( 'persona404', {odd} );")
    assert "data-persona404" not in visit(f"{wordpress.address}/no-hay/").content()


PASTED = {
    " https://a.example/ ": "https://a.example",
    "HTTPS://A.example/404.html?x#y": "https://a.example",
    '"https://a.example:8443"': "https://a.example:8443",
    "“a.example”": "https://a.example",
    "//a.example/embed.js": "https://a.example",
    "10.1.2.3:8443/embed.js": "https://10.1.2.3:8443",
    "https://intranet/": "https://intranet",
    "La dirección es https://a.example.": "https://a.example",
    "http://a.example": "http://a.example",
    '<script src="https://a.example/embed.js" async></script>': "https://a.example",
    "<div data-persona404 data-home='https://b.example/'></div>\n"
    "<script async src='https://a.example:8443/embed.js'></script>": "https://a.example:8443",
    "": "",
    "<div data-persona404></div>": "",
    "javascript:alert(1)": "",
    "ftp://a.example": "",
    "https://a@b.example": "",
    "https://ñ.example": "",
    "hola": "",
}


def test_the_address_is_taken_out_of_what_is_pasted(wordpress: WordPress) -> None:
    found = wordpress.each(list(PASTED), "persona404_address( $it )")
    assert dict(zip(PASTED, found, strict=True)) == PASTED


def test_the_line_of_the_script_is_enough(wordpress: WordPress, service: str, admin: Any) -> None:
    set_options(wordpress, address="https://127.0.0.1:1")
    line = f'<div data-persona404></div>\n<script src="{service}/embed.js" async></script>'
    admin.fill("#persona404-address", line)
    save(admin)
    assert "Settings saved" in admin.inner_text(".settings-error")
    assert stored(wordpress)["address"] == admin.input_value("#persona404-address") == service


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("http://127.0.0.1", "the address must begin with https://"),
        ("<div data-persona404></div>", "there is no address in that text"),
        ("javascript:alert(1)", "there is no address in that text"),
        ("https://personas.example.org/embed.js", "that is the example"),
        ("https://www.sitio.example", "that name does not exist (DNS)"),
        ("https://localhost:NGINX", "the certificate of that address was not accepted"),
        ("https://127.0.0.1:1", "that address does not answer"),
        ("https://WEB", "there is no persona404 service at that address"),
    ],
)
def test_bad_input_is_refused_and_stays_in_the_form(
    wordpress: WordPress, service: str, photos: Web, admin: Any, typed: str, said: str
) -> None:
    set_options(wordpress, address=service)
    before = stored(wordpress)
    typed = typed.replace("NGINX", service.rpartition(":")[2]).replace("WEB", photos.host)
    admin.fill("#persona404-address", typed)
    admin.fill("#persona404-region", "Otra")
    save(admin)
    errors = admin.locator(".notice-error, .settings-error.error")
    assert errors.count() == 1
    assert f"Nothing was saved: {said}" in errors.inner_text()
    assert admin.input_value("#persona404-address") == typed
    assert admin.input_value("#persona404-region") == "Otra"
    nothing = dict.fromkeys(["place", "size", "theme", "lang", "region"], "")
    assert {**before, **nothing} == stored(wordpress)
    admin.reload()
    assert admin.input_value("#persona404-address") == service


def test_the_list_of_plugins_leads_to_the_settings(wordpress: WordPress, admin: Any) -> None:
    admin.goto(f"{wordpress.address}/wp-admin/plugins.php")
    admin.click('tr[data-plugin="persona404/persona404.php"] a:text-is("Settings")')
    assert admin.locator("#persona404-address").is_editable()


def test_an_option_that_does_not_exist_is_refused(
    wordpress: WordPress, service: str, admin: Any
) -> None:
    admin.fill("#persona404-address", service)
    admin.evaluate("document.querySelector('#persona404-size option').value = 'huge'")
    save(admin)
    assert "Nothing was saved" in admin.inner_text(".settings-error")
    assert stored(wordpress)["address"] == ""


@pytest.mark.parametrize(
    ("locale", "label"),
    [
        ("en_US", "Address of the service"),
        ("es_AR", "Dirección del servicio"),
        ("pt_BR", "Endereço"),
    ],
)
def test_the_administrator_s_language(
    wordpress: WordPress, admin: Any, locale: str, label: str
) -> None:
    wordpress.php(f"update_option( 'made_up_locale', '{locale}' );")
    admin.reload()
    assert label in admin.inner_text("form")


def test_uninstalled_it_leaves_nothing(wordpress: WordPress, service: str, visit: Any) -> None:
    set_options(wordpress, address=service)
    wordpress.php("deactivate_plugins( 'persona404/persona404.php' );")
    assert "persona404" not in visit(f"{wordpress.address}/no-hay/").content()
    assert stored(wordpress) == {"address": service}
    wordpress.php("var_dump( uninstall_plugin( 'persona404/persona404.php' ) );")
    rows = wordpress.php(
        'global $wpdb; echo json_encode( $wpdb->get_col( "SELECT option_name FROM $wpdb->options'
        " WHERE option_name LIKE '%persona404%' OR option_value LIKE '%persona404%'\" ) );"
    )
    assert set(json.loads(rows)) <= {"recently_activated"}


# --- The file itself -----------------------------------------------------------------


# WordPress still takes PHP 7.2, which Debian no longer has; a parser knows what it could read.
PHP_7_2 = """
const { Engine } = require("php-parser");
const engine = new Engine({ parser: { version: 702 } });
engine.parseCode(require("fs").readFileSync(process.argv[1], "utf8"));
"""


@pytest.mark.parametrize(
    "command",
    [
        ["php", "-l"],
        ["phpcs", f"--standard={PLUGIN.parent}/phpcs.xml"],
        ["node", "-e", PHP_7_2],
    ],
)
def test_the_files_have_no_fault(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        missing(command[0])
    for file in PLUGIN.glob("*.php"):
        done = subprocess.run([*command, file], cwd=ROOT / "tests", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_is_what_the_directory_asks_for() -> None:
    text = (PLUGIN / "readme.txt").read_text()
    header = dict(line.split(": ", 1) for line in text.split("\n\n")[0].splitlines()[1:])
    code = PHP.read_text()
    for name in ("Requires at least", "Requires PHP", "License"):
        assert f"{name}:" in code
        assert header[name] == code.split(f" * {name}:")[1].split("\n")[0].strip()
    assert header["Stable tag"] == code.split(" * Version:")[1].split("\n")[0].strip()
    assert len(text.split("\n\n")[1]) <= 150
    assert (PLUGIN / "license.txt").read_text() == (ROOT / "LICENSE").read_text()
