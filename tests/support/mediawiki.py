"""MediaWiki of Debian's packages, served by PHP's own server: two instances, each using one port of a MariaDB server.

It is not installed on the machine: its files stay where they were unpacked, because nothing writes there.
"""
import json
import os
import re
import subprocess
import time
import urllib.parse

from support.site import Site

ADDRESS = "wiki.example"
INSTALL_SECONDS = 120
BEGIN = int(time.time()) + 600  # after both are installed
# Settings after the installer's: the database caches pages, no job runs at random beside a page, and both instances
# share a clock, because changes in one second are shown in any order.
SETTINGS = """
$wgMainCacheType = $wgParserCacheType = $wgMessageCacheType = $wgSessionCacheType = CACHE_DB;
$wgLocalisationCacheConf['store'] = 'db';
$wgJobRunRate = 0;
$wgEnableParserLimitReporting = false;
$wgSecretKey = str_repeat('5ec', 21) . '5';
$wgUpgradeKey = 'a key';
$wgAuthenticationTokenVersion = '1';
$wgCookieSecure = false;
$clock = $_SERVER['HTTP_CLOCK'] ?? getenv('CLOCK');
Wikimedia\\Timestamp\\ConvertibleTimestamp::setFakeTime(fn () => (int)$clock);
"""
# Text that differs by the clock, by chance, or by the database's name.
CHANGING = re.compile(
    rb"\b20\d{12}\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?|\b\d{1,2}(:|%3A)\d\d(:\d\d)?\b|\b\d{1,2}[ +]\w+[ +]20\d\d\b|\w{3}, \d+ \w{3} \d{4}"
    rb"|\b[0-9a-f]{16,64}(\+\\*)?|:pbkdf2:[^\"'\s]*|\bby_(door|port)\b|\"wgBackendResponseTime\":\d+|\"wgRequestId\":\"\w+\""
    rb"|\b1[789]\d{8}(\d{3}|\.\d+)?\b|\bversion=\w+|0\.\d{6,}|\"(starttime|servedby)\":\"[^\"]*\""
)


class MediaWiki(Site):
    """Installed into `database` on `port`; its settings are in `folder`."""

    def __init__(self, packages, folder, database, port):
        folder.mkdir()
        self.root = packages / "mediawiki/usr/share/mediawiki"
        self.settings = folder / "LocalSettings.php"
        address = [
            f"--dbserver=127.0.0.1:{port}",
            f"--dbname={database}",
            "--dbuser=root",
            "--dbpass=",
            "--dbtype=mysql",
        ]
        site = [f"--server=http://{ADDRESS}", "--scriptpath=", f"--confpath={folder}", "--pass=long-pw-of-admin-1"]
        self._run("install", *address, *site, "Two ports", "Admin")
        self.settings.write_text(self.settings.read_text() + SETTINGS)
        self.clock = BEGIN
        self.environment = {"MW_CONFIG_FILE": str(self.settings)}
        super().__init__(self.root, folder.parent / f"{folder.name}.log", ADDRESS, self.environment)

    def _run(self, script, *arguments, environment=None):
        command = ["php", "-d", "error_reporting=0", self.root / "maintenance" / f"{script}.php", *arguments]
        done = subprocess.run(
            command,
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def maintain(self, script, *arguments):
        """The output of one of its maintenance scripts."""
        return self._run(script, *arguments, environment=self.environment | {"CLOCK": self._later()})

    def _later(self):
        self.clock += 2
        return str(self.clock)

    def ask(self, path, form=None, **more):
        return super().ask(path, form, Clock=self._later(), **more)

    def api(self, **asked):
        """The response of its API to a POST."""
        _, answer = self.ask("/api.php", asked | {"format": "json", "formatversion": "2"})
        return json.loads(answer)

    def token(self, kind):
        told = self.api(action="query", meta="tokens", type=kind)
        return told["query"]["tokens"][f"{kind}token"]

    def page(self, title, **asked):
        return self.ask("/index.php?" + urllib.parse.urlencode({"title": title} | asked))


def normal(page):
    return CHANGING.sub(b"(changing)", page)
