"""The documentation: the site builds and its links work, the pages' commands work, and monitoring reads existing
variables."""
import json
import os
import re
import shutil
import subprocess

import pytest
from support import cli
from support.server import BUILD, ROOT

MONITORING = ROOT / "docs/monitoring"
METRIC = re.compile(r"mysql_global_status_(\w+)")
PLUGINS = re.findall(r"^DOOR\((\w+),", (ROOT / "src/plugin/doors.def").read_text(), re.M)


@pytest.fixture(scope="module")
def doors(module_factory):
    return module_factory(containers=True, redis=True, postern_port=0)


def site(root, out):
    return subprocess.run([root / "tools/site", out], capture_output=True, text=True, timeout=280, check=False)


def test_the_site_is_made():
    made = site(ROOT, BUILD / "site")
    assert made.returncode == 0, made.stdout + made.stderr
    pages = BUILD / "site/site"
    for page in ("docs/tutorial.html", "docs/settings.html", "docs/redis-grammar.html", "SECURITY.html"):
        assert "<h1" in (pages / page).read_text()
    # The theme downloads the program that draws diagrams unless it is included.
    assert '<script src="mermaid.min.js">' in (pages / "index.html").read_text()
    assert '<script src="../mermaid.min.js">' in (pages / "docs/architecture.html").read_text()
    assert "mermaid" in (pages / "mermaid.min.js").read_text()[-200:]
    assert 'href="site.css"' in (pages / "index.html").read_text()
    assert "<li>the library: whether all its plugins" in (pages / "docs/postern-tool.html").read_text()


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no browser")
def test_the_site_is_searched_when_it_is_opened_as_a_file():
    """In a real browser, which downloads nothing."""
    if not (BUILD / "site/site/index.html").exists():
        test_the_site_is_made()
    index = (BUILD / "site/site/index.html").as_uri()
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    shown = subprocess.run(
        ["chromium", *words, "--virtual-time-budget=20000", "--dump-dom", f"{index}?q=postern_port"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    assert re.search(r"md-search-result__meta\W+[2-9] matching documents", shown), shown[-2000:]
    assert 'href="docs/sql-door.html' in shown


@pytest.mark.parametrize("link", ["[x](nowhere.md)", "[x](settings.md#no-such-heading)"])
def test_a_link_that_leads_nowhere_fails_the_site(tmp_path, link):
    """A copy of the documents, with the parts that exist already."""
    if not (BUILD / "site/parts").exists():
        test_the_site_is_made()
    left_out = shutil.ignore_patterns("build*", ".git", "corpus", "__pycache__")
    shutil.copytree(ROOT, tmp_path, ignore=left_out, dirs_exist_ok=True, symlinks=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/parts").symlink_to(BUILD / "site/parts")
    with open(tmp_path / "docs/tutorial.md", "a", encoding="utf-8") as page:
        page.write(f"\n{link}\n")
    broken = site(tmp_path, tmp_path / "out")
    assert broken.returncode != 0 and "tutorial.md" in broken.stdout + broken.stderr


# Pages with commands that run here, and their reader's preparations. test_cli.py runs those of postern-tool,
# test_cluster.py those of galera, replicas and spider, and test_option_files.py the option files; those of containers
# are run by hand.
SHOP = """CREATE OR REPLACE DATABASE shop;
CREATE TABLE shop.user (id INT PRIMARY KEY, name VARCHAR(50), email VARCHAR(50));
INSERT INTO shop.user VALUES (101, 'Yukari', 'yukari@example.com');
CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(50), price INT);
DROP USER IF EXISTS shop@'10.1.%';
"""
BEFORE = {
    "redis": SHOP,
    "redis-quickly": SHOP,
    "install": SHOP,
    "tutorial": "",
    "watching": "",
    "memcached": SHOP,
    "operating": SHOP,
    "deploying": SHOP,
    "sql-door": "",
}


@pytest.mark.parametrize("page", BEFORE)
def test_every_command_of_a_page(doors, tmp_path, page):
    """In their order, with this server's ports in place of the usual ones."""
    reader = Reader(doors, tmp_path)
    reader.run_sql(BEFORE[page])
    text = (ROOT / f"docs/{page}.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
    assert blocks
    for language, block in blocks:
        if language == "sql":
            reader.run_sql(block)
        elif block.startswith("["):
            reader.look_at_options(block)
        elif block.startswith("$ telnet"):
            reader.talk(block)
        elif language != "text":
            reader.run_commands(block)


class Reader:
    """Runs a page's commands, with a server that has all doors."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder
        (folder / "my.cnf").write_text(f"[client]\nsocket = {server.env['SQL_SOCKET']}\nuser = root\n")
        (folder / "sql").symlink_to(ROOT / "sql")
        client = re.search(r"^MARIADB_CLIENT=(.*)$", (BUILD / "server/server.env").read_text(), re.M)[1]
        self.env = {**os.environ, "TOOL": cli.tool(), "CLIENT": client, "MYSQL_UNIX_PORT": server.env["SQL_SOCKET"]}
        self.words = (
            f'postern() {{ c=$1; shift; "$TOOL" "$c" --defaults-file {folder}/my.cnf "$@"; }}; '
            'mariadb() { "$CLIENT" --no-defaults -u root "$@"; }'
        )
        self.ports = {"6379": "REDIS_PORT", "3307": "POSTERN_PORT", "11211": "MEMC_PORT", "9998": "HS_PORT"}

    def run_sql(self, block):
        for statement in filter(str.strip, re.split(r";\n", block)):
            self.server.execute(statement)

    def look_at_options(self, block):
        """Checks that each option exists."""
        for name in re.findall(r"^loose_(\w+)", block, re.M):
            assert self.server.query("SHOW GLOBAL VARIABLES LIKE %s", (name,)), name

    def run_commands(self, block):
        for command in block.splitlines():
            if re.match(r"mariadb -h \S+ -P \d+$", command):
                command += " -e 'SELECT 1'"  # the reader types statements there
            for usual, here in self.ports.items():
                command = re.sub(rf" {usual}\b", f" {self.server.env[here]}", command)
            done = self.until_mapped(command)
            assert done.returncode in ((0, 1) if "doctor" in command else (0,)), (command, done.stdout, done.stderr)
            assert done.stdout.strip() or " < " in command, command
            assert "ERR " not in done.stdout, (command, done.stdout)

    def until_mapped(self, command):
        """A mapping takes effect within a second, after which a reader of the page continues."""
        for _ in range(40):
            done = subprocess.run(
                ["bash", "-c", f"{self.words}\n{command}\nstatus=$?; sleep 0.1; exit $status"],
                cwd=self.folder,
                env=self.env,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if done.returncode in (0, 1) and (done.stdout.strip() or " < " in command) and "ERR " not in done.stdout:
                break
        return done

    def talk(self, block):
        """A conversation with the memcached door: one command, and its answer."""
        prompt, command, *answer = block.splitlines()
        assert prompt == "$ telnet 127.0.0.1 11211"
        with self.server.mc() as client:
            client.send(command.encode() + b"\r\n")
            assert [client.line().decode() for _ in answer] == answer


def asked_for():
    """The status variables of every plugin that the dashboard and the rules read."""
    dashboard = json.loads((MONITORING / "grafana-postern.json").read_text())
    variable = next(one for one in dashboard["templating"]["list"] if one["name"] == "door")
    assert variable["query"].split(",") == PLUGINS
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) > 20
    for expression in expressions:
        assert expression.count("(") == expression.count(")")
        for plugin in PLUGINS:
            yield from METRIC.findall(expression.replace("${door}", plugin))
    rules = (MONITORING / "prometheus-postern.rules.yml").read_text()
    assert rules.count("- alert:") == rules.count("expr:") == rules.count("summary:") > 15
    yield from METRIC.findall(rules)


def test_monitoring_asks_for_what_there_is(doors):
    """mysqld_exporter names a metric after the variable, in lower case."""
    there = doors.status()
    missing = {name for name in asked_for() if name not in there}
    assert not missing


@pytest.fixture(scope="module")
def promtool(fetched):
    return fetched("prometheus") / "prometheus/usr/bin/promtool"


def checked(promtool, *words):
    done = subprocess.run([promtool, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_rules(promtool):
    checked(promtool, "check", "rules", MONITORING / "prometheus-postern.rules.yml")


def test_prometheus_takes_the_panels_expressions(promtool, tmp_path):
    """As rules that record the expressions, for every plugin."""
    dashboard = json.loads((MONITORING / "grafana-postern.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = [
        {"record": f"panel_{number}_{plugin}", "expr": filled_in(expression, plugin)}
        for number, expression in enumerate(expressions)
        for plugin in PLUGINS
    ]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    checked(promtool, "check", "rules", tmp_path / "panels.yml")


def filled_in(expression, plugin):
    """The expression after Grafana has replaced its variables."""
    return expression.replace("${door}", plugin).replace("$instance", ".*").replace("$__rate_interval", "1m")


def test_alerts_come_when_they_should(promtool):
    """And not earlier: promtool feeds series of figures to the rules."""
    checked(promtool, "test", "rules", ROOT / "tests/integration/tools/alerts.yml")


def test_what_an_exporter_takes_is_numbers(doors):
    """The exporter takes numbers, and ON and OFF, and skips other values; its names have letters, digits and _."""
    ours = {name: value for name, value in doors.status().items() if name.split("_")[0] in PLUGINS}
    assert len(ours) > 300
    for name, value in ours.items():
        assert re.fullmatch(r"[a-z_][a-z0-9_]*", name)
        assert isinstance(value, int) or value in ("ON", "OFF"), name
