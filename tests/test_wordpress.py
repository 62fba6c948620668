"""The plugin of sites/wordpress in a real WordPress, before the real service, in Chromium."""

import json
import shutil
import subprocess
from collections.abc import Iterator
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
from support.wordpress import PLUGIN, WordPress

pytestmark = pytest.mark.slow

PHP = PLUGIN / "persona404.php"
CLASSIC, BLOCK = "twentytwentyone", "twentytwentythree"


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instances]:
    """The service behind nginx.conf, with TLS."""
    with closing(Instances("nginx.conf", 1, tmp_path_factory.mktemp("service"))) as running:
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
    card = page.locator("article:has(h2)", has_text="Inventada").last
    assert card.locator("img").evaluate("image => image.naturalWidth") > 100
    assert page.locator("[data-persona404]").count() == 1
    is_above_the_footer = """node => node.compareDocumentPosition(
        document.querySelector("footer.site-footer, footer.wp-block-template-part")
    ) & Node.DOCUMENT_POSITION_FOLLOWING"""
    assert page.locator("[data-persona404]").evaluate(is_above_the_footer)
    wait_until(lambda: views(instance) == before + 1)
    sites = instance.services[0].ask("/api/sites", X_API_Key=KEY).json["sites"]
    assert [site["site"] for site in sites] == ["www.sitio.example"]


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
    admin.select_option("#persona404-lang", "pt")
    admin.fill("#persona404-region", "Ñandubay <b>Ficticio</b>")
    save(admin)
    assert "Settings saved" in admin.inner_text(".settings-error")
    options = {"size": "small", "theme": "dark", "lang": "pt", "region": "Ñandubay Ficticio"}
    assert stored(wordpress) == {"address": service, **options}
    with admin.expect_popup() as popup:
        admin.get_by_role("link", name="Preview").click()
    popup.value.get_by_role("link", name="Tenho informações").wait_for()
    assert popup.value.locator("[data-persona404]").get_attribute("data-size") == "small"


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
    wordpress: WordPress, service: str, admin: Any
) -> None:
    rule = wordpress.site / "wp-content" / "mu-plugins" / "rule.php"
    rule.write_text("<?php define( 'DISALLOW_UNFILTERED_HTML', true );")
    try:
        admin.fill("#persona404-address", service)
        save(admin)
        assert "Settings saved" in admin.inner_text(".settings-error")
        assert stored(wordpress)["address"] == ""
    finally:
        rule.unlink()


@pytest.mark.parametrize(
    "odd", ["'x'", "5", "null", "array( 'address' => array() )", "array( 'x' => 'y' )"]
)
def test_an_option_of_another_form_is_none(wordpress: WordPress, visit: Any, odd: str) -> None:
    wordpress.php(f"update_option( 'persona404', {odd} );")
    assert "data-persona404" not in visit(f"{wordpress.address}/no-hay/").content()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1", "the address must be like https://personas.example.org"),
        ("javascript:alert(1)", "the address must be like https://personas.example.org"),
        ("https://a b", "the address must be like https://personas.example.org"),
        ("SERVICE/embed.js", "the address must be like https://personas.example.org"),
        ("https://127.0.0.1:1", "no persona404 service answers at that address"),
        ("https://localhost:9", "no persona404 service answers at that address"),
    ],
)
def test_bad_input_is_refused(
    wordpress: WordPress, service: str, admin: Any, address: str, said: str
) -> None:
    set_options(wordpress, address=service)
    before = stored(wordpress)
    admin.fill("#persona404-address", address.replace("SERVICE", service))
    admin.fill("#persona404-region", "Otra")
    save(admin)
    errors = admin.locator(".notice-error, .settings-error.error")
    assert errors.count() == 1
    assert f"Nothing was saved: {said}" in errors.inner_text()
    assert {**before, "size": "", "theme": "", "lang": "", "region": ""} == stored(wordpress)


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
