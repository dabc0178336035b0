"""The documentation: the site is made and its links lead somewhere, pages' commands do what they say, and monitoring asks for
what there is."""
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


@pytest.mark.parametrize("link", ["[x](nowhere.md)", "[x](settings.md#no-such-heading)"])
def test_a_link_that_leads_nowhere_fails_the_site(tmp_path, link):
    """Of a copy of the documents, with the parts that are there already."""
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


@pytest.mark.parametrize("page", ["tutorial", "watching"])
def test_every_command_of_a_page(doors, tmp_path, page):
    """In their order, the usual ports being this server's."""
    text = (ROOT / f"docs/{page}.md").read_text()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
    assert len(blocks) >= 2
    (tmp_path / "my.cnf").write_text(f"[client]\nsocket = {doors.env['SQL_SOCKET']}\nuser = root\n")
    words = f'postern() {{ c=$1; shift; "$TOOL" "$c" --defaults-file {tmp_path}/my.cnf "$@"; }}; mariadb() {{ "$CLIENT" --no-defaults -u root "$@"; }}'
    client = re.search(r"^MARIADB_CLIENT=(.*)$", (BUILD / "server/server.env").read_text(), re.M)[1]
    for language, block in blocks:
        if language == "text":
            continue
        if language == "sql":
            for statement in filter(str.strip, re.split(r";\n", block)):
                doors.execute(statement)
            continue
        for command in block.splitlines():
            command = command.replace(" 6379", f" {doors.env['REDIS_PORT']}").replace(
                " 3307", f" {doors.env['POSTERN_PORT']}"
            )
            done = run_until_mapped(words, command, {"TOOL": cli.tool(), "CLIENT": client}, tmp_path)
            assert done.returncode in ((0, 1) if "doctor" in command else (0,)), (command, done.stdout, done.stderr)
            assert done.stdout.strip() and "ERR " not in done.stdout, (command, done.stdout)


def run_until_mapped(words, command, env, folder):
    """A mapping is in effect within a second, which a reader of the page has let pass."""
    for _ in range(40):
        done = subprocess.run(
            ["bash", "-c", f"{words}\n{command}\nstatus=$?; sleep 0.1; exit $status"],
            cwd=folder,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode in (0, 1) and done.stdout.strip() and "ERR " not in done.stdout:
            break
    return done


def asked_for():
    """Names of status variables that the dashboard and the rules ask for, of every plugin."""
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
    """mysqld_exporter names a metric after the variable, in small letters."""
    there = doors.status()
    missing = {name for name in asked_for() if name not in there}
    assert not missing


def test_what_an_exporter_takes_is_numbers(doors):
    """It takes what is a number, or ON and OFF, and leaves the rest out; its names have letters, digits and _."""
    ours = {name: value for name, value in doors.status().items() if name.split("_")[0] in PLUGINS}
    assert len(ours) > 300
    for name, value in ours.items():
        assert re.fullmatch(r"[a-z_][a-z0-9_]*", name)
        assert isinstance(value, int) or value in ("ON", "OFF"), name
