"""A real WordPress with MariaDB, from Debian's packages, on http://www.sitio.example:PORT."""

import json
import os
import shutil
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

from support import ROOT, TLS, missing
from support.service import end, free_port, wait_until

WORDPRESS = Path("/usr/share/wordpress")
PLUGIN = ROOT / "sites" / "wordpress" / "persona404"
CONFIG = """<?php
define( 'DB_NAME', 'wordpress' );
define( 'DB_USER', 'root' );
define( 'DB_PASSWORD', '' );
define( 'DB_HOST', 'localhost:{folder}/socket' );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );
define( 'AUTH_KEY', 'made up' );
define( 'AUTH_SALT', 'made up' );
define( 'NONCE_KEY', 'made up' );
define( 'NONCE_SALT', 'made up' );
$table_prefix = 'wp_';
define( 'WP_DEBUG', true );
define( 'WP_DEBUG_LOG', '{folder}/debug.log' );
define( 'WP_DEBUG_DISPLAY', false );
define( 'DISABLE_WP_CRON', true );
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'WP_ACCESSIBLE_HOSTS', '127.0.0.1' );
define( 'WP_HOME', '{address}' );
define( 'WP_SITEURL', WP_HOME );
if ( ! defined( 'ABSPATH' ) ) {{
	define( 'ABSPATH', __DIR__ . '/' );
}}
require_once ABSPATH . 'wp-settings.php';
"""
TRUST = """<?php
add_filter( 'pre_wp_mail', '__return_true' );
add_filter( 'locale', function ( $locale ) {{
	return get_option( 'made_up_locale', $locale );
}} );
add_filter( 'http_request_args', function ( $args ) {{
	return array_merge( $args, array( 'sslcertificates' => '{tls}/cert.pem' ) );
}} );
"""
INSTALL = """
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install( 'Sitio', 'admin', 'nadie@sitio.example', true, '', 'made-up-password' );
update_option( 'permalink_structure', '/%postname%/' );
flush_rewrite_rules();
"""


class WordPress:
    """It has the plugin's files; nothing is active yet."""

    def __init__(self, folder: Path):
        for tool in ("php", "mariadbd", "mariadb-install-db", "mariadb"):
            if shutil.which(tool) is None:
                missing(tool)
        if not WORDPRESS.exists():
            missing("wordpress")
        self.folder, self.site = folder, folder / "site"
        port = free_port()
        self.address = f"http://www.sitio.example:{port}"
        with ExitStack() as stack:
            self.start_database(stack)
            shutil.copytree(WORDPRESS, self.site)
            self.site.joinpath("wp-config.php").unlink()
            config = CONFIG.format(folder=folder, address=self.address)
            self.site.joinpath("wp-config.php").write_text(config)
            must_use = self.site / "wp-content" / "mu-plugins"
            must_use.mkdir()
            must_use.joinpath("trust.php").write_text(TRUST.format(tls=TLS))
            self.php(INSTALL, before="define( 'WP_INSTALLING', true );")
            shutil.copytree(PLUGIN, self.site / "wp-content" / "plugins" / "persona404")
            server = subprocess.Popen(
                ["php", "-S", f"127.0.0.1:{port}", "-t", self.site],
                env={"PATH": "/usr/bin:/bin", "PHP_CLI_SERVER_WORKERS": "4"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(server.wait, 30)
            stack.callback(os.killpg, server.pid, signal.SIGTERM)  # with its workers
            self.close = stack.pop_all().close

    def start_database(self, stack: ExitStack) -> None:
        data, socket = self.folder / "data", self.folder / "socket"
        install = ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}"]
        install += ["--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run(install, check=True, capture_output=True)
        command = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}"]
        command += [f"--socket={socket}", "--skip-networking", f"--pid-file={self.folder}/pid"]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        stack.callback(end, server)
        client = [
            "mariadb",
            "--no-defaults",
            f"--socket={socket}",
            "-e",
            "CREATE DATABASE wordpress",
        ]
        wait_until(lambda: subprocess.run(client, capture_output=True).returncode == 0)

    def php(self, code: str, before: str = "") -> str:
        """Run PHP code in WordPress; what it prints."""
        load = f"$_SERVER['HTTP_HOST'] = 'www.sitio.example'; {before}"
        load += f" require '{self.site}/wp-load.php';"
        load += " require_once ABSPATH . 'wp-admin/includes/plugin.php';"
        done = subprocess.run(["php", "-r", load + code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    def each(self, values: list[str], expression: str) -> list[str]:
        """What a PHP expression makes of each value, which is `$it`."""
        file = self.folder / "values.json"
        file.write_text(json.dumps(values))
        values_of = f"json_decode( file_get_contents( '{file}' ) )"
        of_one = f"function ( $it ) {{ return {expression}; }}"
        made: list[str] = json.loads(
            self.php(f"echo json_encode( array_map( {of_one}, {values_of} ) );")
        )
        return made

    def notices(self) -> list[str]:
        """What PHP had to say, but for WordPress's own code, which is older than this PHP."""
        log = self.folder / "debug.log"
        lines = log.read_text().splitlines() if log.exists() else []
        own = ("/wp-includes/", "/wp-admin/", "/wp-content/themes/")
        return [line for line in lines if not any(part in line for part in own)]
