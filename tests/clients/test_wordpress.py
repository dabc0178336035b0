"""WordPress through the SQL door and through the server's port: both give the same pages, and the same tables at the
end."""
import json
import os
import re
import shutil

import pytest
from support import cli
from support.wordpress import WordPress, normal

INSTALLATION = {
    "weblog_title": "Two ports",
    "user_name": "admin",
    "admin_password": "pw-of-admin-1",
    "admin_password2": "pw-of-admin-1",
    "pw_weak": "1",
    "admin_email": "admin@example.com",
    "language": "",
}
LOGIN = {"log": "admin", "pwd": "pw-of-admin-1", "wp-submit": "Log In", "testcookie": "1"}
COMMENT = {
    "author": "Zoë",
    "email": "zoe@example.com",
    "comment": "Grüße 𝄞",
    "comment_post_ID": "1",
    "comment_parent": "0",
}
READ = [
    "/",
    "/?p=1",
    "/?page_id=2",
    "/?s=hello",
    "/?feed=rss2",
    "/?p=999",
    "/?cat=1",
    "/?author=1",
    "/wp-json/wp/v2/posts",
]
ADMINISTERED = [
    "",
    "edit.php",
    "edit-comments.php",
    "users.php",
    "options-general.php",
    "profile.php",
    "edit-tags.php?taxonomy=category",
]


@pytest.fixture(scope="module")
def packages(fetched):
    if not shutil.which("php"):
        pytest.skip("there is no PHP; run tools/deps clients")
    return fetched("wordpress")


def visit(site):
    """Visits the pages in one session as a reader and as an administrator."""
    told = []

    def ask(path, form=None):
        status, page = site.ask(path, form)
        told.append((path, status, normal(page)))
        return page

    ask("/wp-admin/install.php?step=2", INSTALLATION)
    for _ in range(2):
        for path in READ:
            ask(path)
    ask("/wp-comments-post.php", COMMENT)
    ask("/wp-login.php")
    ask("/wp-login.php", LOGIN)
    for page in ADMINISTERED:
        ask(f"/wp-admin/{page}")
    options = ask("/wp-admin/options-general.php")
    ask(
        "/wp-admin/options.php",
        {
            "option_page": "general",
            "action": "update",
            "_wpnonce": site.nonce(options, "_wpnonce"),
            "blogname": "Zwei Häfen",
            "blogdescription": "'quoted' \\ and 𝄞",
            "timezone_string": "Europe/Paris",
            "date_format": "Y",
            "time_format": "H",
            "start_of_week": "1",
        },
    )
    rest = re.search(rb'"nonce":"([0-9a-f]{10})"', ask("/wp-admin/post-new.php"))
    if rest:
        ask(
            f"/?rest_route=/wp/v2/posts&_wpnonce={rest[1].decode()}",
            {"title": "Neu", "content": "Text", "status": "publish"},
        )
    for path in READ:
        ask(path)
    return told


def page_ms(server, site, pages=20):
    """Milliseconds of processor time that the database server spends on one front page."""
    ticks = os.sysconf("SC_CLK_TCK")

    def spent():
        with open(f"/proc/{server.env['PID']}/stat", encoding="utf-8") as stat:
            user, system = stat.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / ticks * 1000

    before = spent()
    for _ in range(pages):
        site.ask("/")
    return (spent() - before) / pages


def tables(server, database):
    rows = {}
    for (table,) in server.query("SHOW TABLES", database=database):
        columns = server.query(f"SELECT * FROM {table} ORDER BY 1", database=database)
        rows[table] = [normal("\t".join(map(str, row)).encode()) for row in columns]
    return rows


@pytest.mark.parametrize("verify", [1, 0], ids=["compared", "answered"])
def test_its_pages_and_tables_are_the_same(sandbox_factory, packages, tmp_path, verify):
    server = sandbox_factory(f"--loose-postern-verify={verify}", postern_port=0)
    sites, told = {}, {}
    try:
        for name, port in (("port", server.env["SQL_PORT"]), ("door", server.env["POSTERN_PORT"])):
            server.execute(f"CREATE DATABASE {name} CHARSET utf8mb4")
            sites[name] = WordPress(packages, tmp_path / name, name, port)
            told[name] = visit(sites[name])
        figures = server.status("Postern_%")
        ms = {name: round(page_ms(server, site), 1) for name, site in sites.items()}
    finally:
        for site in sites.values():
            site.stop()
    assert len(told["door"]) == len(told["port"]) > 40
    differing = []
    for (path, ours, page), (_, theirs, expected) in zip(told["door"], told["port"]):
        if (ours, page) != (theirs, expected):
            at = len(os.path.commonprefix([page, expected]))
            around = slice(max(0, at - 100), at + 100)
            differing.append(f"{path}: port {theirs} {expected[around]}\ndoor {ours} {page[around]}")
    assert not differing, "\n".join(differing)
    assert sum(status == 200 for _, status, _ in told["door"]) > 30
    ours, theirs = tables(server, "door"), tables(server, "port")
    assert ours.keys() == theirs.keys()
    differing = [pair for name in theirs for pair in zip(ours[name], theirs[name]) if pair[0] != pair[1]]
    assert not differing, "\n".join(f"port {theirs[:500]}\ndoor {ours[:500]}" for ours, theirs in differing)
    assert {name: len(ours[name]) for name in ours} == {name: len(theirs[name]) for name in theirs}
    print("processor time of the server for a front page, ms:", ms)
    print({name: figures[name] for name in figures if figures[name] and ("statements" in name or "verified" in name)})
    assert figures["postern_verified_different"] == 0
    assert figures["postern_verified_same" if verify else "postern_statements_fast"] > 500


def test_its_owner_learns_what_it_gains(sandbox_factory, packages, tmp_path):
    """Records a general log of some visitors at the server's port and replays it at both."""
    server = sandbox_factory("--performance-schema=OFF", postern_port=0)
    server.execute("CREATE DATABASE site CHARSET utf8mb4")
    log = tmp_path / "general.log"
    site = WordPress(packages, tmp_path / "site", "site", server.env["SQL_PORT"])
    try:
        site.ask("/wp-admin/install.php?step=2", INSTALLATION)
        server.execute(f"SET GLOBAL general_log_file = '{log}'", "SET GLOBAL general_log = ON")
        for path in READ * 3:
            site.ask(path)
        server.execute("SET GLOBAL general_log = OFF")
    finally:
        site.stop()
    told = json.loads(cli.run(server, "try", "--json", "--transport", "socket", "--rounds", 3, "--log", log))
    print(cli.run(server, "try", "--transport", "socket", "--rounds", 3, "--log", log))
    assert told["same"], told["differences"][:3]
    door = [one for one in told["runs"] if one["at"] == "door"]
    assert door[-1]["statements"] > 300
    assert door[-1]["by_workers"] > 0.5 * door[-1]["statements"], told["runs"]
    assert told["cpu_part"] is not None and told["times_as_fast"] is not None
    advised = cli.run(server, "advise", log)
    print(advised)
    assert "wp_options" in advised
