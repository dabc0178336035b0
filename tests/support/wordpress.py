"""WordPress of Debian's packages, served by PHP's own server: two instances, each using one port of a MariaDB server.

It is not installed on the machine: its files are copied, and PHP listens on loopback.
"""
import re
import shutil

from support.site import Site

ADDRESS = "blog.example"  # the address in page requests, the same at both, so that their links are equal
CONFIGURATION = """<?php
define('DB_NAME', getenv('DB_NAME'));
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', '127.0.0.1:' . getenv('DB_PORT'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $kind) {
    define($kind . '_KEY', "a key of $kind");
    define($kind . '_SALT', "salt of $kind");
}
define('WP_HOME', 'http://blog.example');
define('WP_SITEURL', 'http://blog.example');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('ABSPATH', __DIR__ . '/');
$table_prefix = 'wp_';
function wp_mail() { return true; }
require_once ABSPATH . 'wp-settings.php';
"""
# Text that differs by the clock or by chance: times, hashes, keys, the seconds that making a page took.
CHANGING = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|\+00:00)?|\w{3}, \d+ \w{3} \d{4} \d\d:\d\d:\d\d \+0000|\b\d{1,2}:\d\d(:\d\d)?\b"
    rb"|\b[0-9a-f]{10}\b|\b[0-9a-f]{32,64}\b|\$P\$B[./0-9A-Za-z]+|\b1[0-9]{9}(\.[0-9]+)?\b|\d+\.\d+ seconds?|a:\d+:\{i:1\d{9}.*"
    rb'|class="(jj|mm|aa|hh|mn|ss)">\d+|name="(hidden_|cur_)?(jj|mm|aa|hh|mn|ss)" value="\d+"'
    rb'|\d\.gravatar\.com|data-pw="[^"]*"'
    rb"|_wpnonce=\w+|\bin \d+ (second|min)s?|(value|data-wp-nonce|nonce\W+)=?\W[0-9a-f]{10}\W"
)


class WordPress(Site):
    """A copy of the files, in `folder`, with its tables in `database` on `port`."""

    def __init__(self, packages, folder, database, port):
        shutil.copytree(packages / "wordpress/usr/share/wordpress", folder, symlinks=True)
        theme = packages / "wordpress-theme/usr/share/wordpress/wp-content/themes"
        shutil.copytree(theme, folder / "wp-content/themes", dirs_exist_ok=True)
        (folder / "wp-config.php").write_text(CONFIGURATION)
        environment = {"DB_NAME": database, "DB_PORT": str(port)}
        super().__init__(folder, folder.parent / f"{folder.name}.log", ADDRESS, environment)

    def nonce(self, page, name):
        """A form's one-time word."""
        return re.search(rb'name="%b" value="([0-9a-f]{10})"' % name.encode(), page)[1].decode()


def normal(page):
    # WordPress hides addresses from harvesters by writing random characters as numbers.
    plain = re.sub(rb"&#0*([0-9]{2,3});", lambda found: chr(int(found[1])).encode(), page)
    return CHANGING.sub(b"(changing)", plain)
