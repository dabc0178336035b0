"""MediaWiki through the SQL door and through the server's port: both give the same pages, and the same tables at the
end."""
import os
import shutil

import pytest
from support.mediawiki import MediaWiki, normal

READ = [
    "Main Page",
    "Absent",
    "Special:RecentChanges",
    "Special:AllPages",
    "Special:Statistics",
    "Category:Häfen",
    "Hafen 1",
]
READ += ["Hafen 2", "User:Admin", "Talk:Main Page", "Special:WhatLinksHere/Hafen 1", "Special:Contributions/Admin"]


@pytest.fixture(scope="module")
def packages(fetched):
    if not shutil.which("php"):
        pytest.skip("there is no PHP; run tools/deps clients")
    return fetched("mediawiki")


def visit(wiki):
    """Visits the pages in one session as a reader and as an author."""
    told = []

    def tell(path, status, page):
        told.append((path, status, normal(page)))

    def read():
        for title in READ:
            tell(title, *wiki.page(title))
        tell("history", *wiki.page("Hafen 1", action="history"))
        tell("raw", *wiki.page("Hafen 1", action="raw"))
        tell("search", *wiki.page("Special:Search", search="Wasser1"))

    def call(**asked):
        tell(asked, 200, repr(wiki.api(**asked)).encode())

    read()
    call(action="login", lgname="Admin", lgpassword="long-pw-of-admin-1", lgtoken=wiki.token("login"))
    token = wiki.token("csrf")
    for number in range(1, 4):
        text = f"[[Category:Häfen]] Wasser{number} 'quoted' \\ 𝄞 [[Hafen {number + 1}]] {{{{Tide|{number}}}}}"
        call(action="edit", title=f"Hafen {number}", text=text, summary=f"new {number}", token=token)
    call(action="edit", title="Template:Tide", text="tide {{{1}}} [[Absent]]", token=token)
    for number in range(1, 4):
        call(action="edit", title="Hafen 1", appendtext=f"\n\n== More {number} ==\ntext", token=token)
    call(action="move", **{"from": "Hafen 3", "to": "Port 3"}, token=token)
    call(action="delete", title="Hafen 2", reason="gone", token=token)
    call(action="undelete", title="Hafen 2", token=token)
    call(action="protect", title="Hafen 1", protections="edit=sysop", token=token)
    call(action="watch", titles="Main Page", token=wiki.token("watch"))
    call(action="rollback", title="Hafen 1", user="Admin", token=wiki.token("rollback"))
    call(action="options", optionname="gender", optionvalue="female", token=token)
    wiki.maintain("runJobs", "--nothrottle")
    read()
    call(action="logout", token=token)
    for _ in range(2):
        read()
    call(
        action="query",
        prop="revisions|categories|links",
        titles="Hafen 1|Port 3|Main Page",
        rvprop="ids|comment|content",
    )
    return told


def tables(server, database):
    rows = {}
    for (table,) in server.query("SHOW TABLES", database=database):
        if table == "objectcache":  # its values are packed, with their times, and expire after some seconds
            continue
        found = server.query(f"SELECT * FROM `{table}`", database=database)
        rows[table] = sorted(normal(repr(row).encode()) for row in found)
    return rows


def test_its_pages_and_tables_are_the_same(sandbox_factory, packages, tmp_path):
    server = sandbox_factory(f"--loose-postern-verify={os.environ.get('VERIFY', 0)}", postern_port=0)
    wikis, told = {}, {}
    try:
        for name, port in (("by_port", server.env["SQL_PORT"]), ("by_door", server.env["POSTERN_PORT"])):
            wikis[name] = MediaWiki(packages, tmp_path / name, name, port)
            told[name] = visit(wikis[name])
    finally:
        for wiki in wikis.values():
            wiki.stop()
    figures = server.status("Postern_%")
    print({name: figures[name] for name in figures if figures[name] and ("statements" in name or "not_now" in name)})
    assert len(told["by_door"]) == len(told["by_port"]) > 60
    differing = []
    for (path, ours, page), (_, theirs, expected) in zip(told["by_door"], told["by_port"]):
        if (ours, page) != (theirs, expected):
            at = len(os.path.commonprefix([page, expected]))
            around = slice(max(0, at - 150), at + 150)
            differing.append(f"{path}: port {theirs} {expected[around]}\ndoor {ours} {page[around]}")
    assert not differing, "\n".join(differing[:5])
    assert sum(status == 200 for _, status, _ in told["by_door"]) > 40
    ours, theirs = tables(server, "by_door"), tables(server, "by_port")
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        differing += [(name, *pair) for pair in zip(ours[name], expected) if pair[0] != pair[1]]
    assert not differing, "\n".join(f"{name}\ndoor {one[:400]}\nport {two[:400]}" for name, one, two in differing[:5])
    assert {name: len(rows) for name, rows in ours.items()} == {name: len(rows) for name, rows in theirs.items()}
    assert figures["postern_verified_different"] == 0
    assert figures["postern_statements_fast"] + figures["postern_verified_same"] > 300
