"""The Debian package that tools/package builds: it blocks no update, prints the steps after one, and contains its
documents."""
import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest
from support.clients import packages
from support.server import BUILD, ROOT, SERVER_DIR, parse_env

SETTINGS = parse_env((SERVER_DIR / "server.env").read_text())
VERSION = SETTINGS["SERVER_VERSION"].partition("-")[0]
PACKAGE_VERSION = SETTINGS["SERVER_PACKAGE_VERSION"]
NAME = f"postern-mariadb-{VERSION.rpartition('.')[0]}"
LIBRARY = Path(os.environ.get("POSTERN_SO") or BUILD / "src/plugin/postern.so")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The package's unpacked files with its DEBIAN folder, and the build's output."""
    out = tmp_path_factory.mktemp("package")
    done = subprocess.run(
        [ROOT / "tools/package", SERVER_DIR, LIBRARY, out],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    subprocess.run(["dpkg-deb", "--raw-extract", done.stdout.strip(), out / "tree"], check=True, timeout=60)
    return out / "tree", done.stderr


def control(tree):
    return dict(re.findall(r"^([\w-]+): (.*)$", (tree / "DEBIAN/control").read_text(), re.M))


def test_no_update_of_the_server_is_held_back(made):
    depends = control(made[0])["Depends"]
    assert f"mariadb-server-core (>= 1:{VERSION})" in depends
    assert "<" not in depends


def test_it_says_which_servers_it_is_for(made):
    tree, told = made
    assert f"for servers of MariaDB {VERSION} alone" in told
    description = (tree / "DEBIAN/control").read_text()
    assert VERSION in description and "memcached" in description and "HandlerSocket" in description


def postinst(tree, tmp_path, server, how):
    """The messages that the administrator sees when that server is installed."""
    query = tmp_path / "dpkg-query"
    query.write_text(f"#!/bin/sh\n{f'printf %s {server}' if server else 'exit 1'}\n")
    query.chmod(0o755)
    done = subprocess.run(
        [tree / "DEBIAN/postinst", how, ""],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and done.stdout == "", done
    return done.stderr


@pytest.mark.parametrize("how", ["configure", "triggered"])
def test_an_administrator_learns_of_another_server(made, tmp_path, how):
    tree = made[0]
    assert (tree / "DEBIAN/triggers").read_text() == "interest-noawait /usr/sbin/mariadbd\n"
    other = f"{VERSION}9"
    told = postinst(tree, tmp_path, f"1:{other}-0+deb12u1", how)
    built_for = PACKAGE_VERSION.partition(":")[2]
    assert f"for MariaDB {built_for}, and the installed server is {other}-0+deb12u1" in told and "make install" in told
    assert postinst(tree, tmp_path, PACKAGE_VERSION, how) == ""
    for others in (f"{PACKAGE_VERSION}9", f"1:{VERSION}+maria~deb12"):
        assert f"the installed server is {others[2:]}" in postinst(tree, tmp_path, others, how)
    assert postinst(tree, tmp_path, "", how) == ""
    assert postinst(tree, tmp_path, f"1:{other}", "abort-upgrade") == ""


def test_lintian_finds_no_error(made):
    assert packages.errors_of(made[0].parent) == []


def test_sums_are_right(made):
    tree = made[0]
    sums = dict(line.split("  ")[::-1] for line in (tree / "DEBIAN/md5sums").read_text().splitlines())
    assert sums == {
        path.relative_to(tree).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
        for path in (tree / "usr").rglob("*")
        if path.is_file()
    }


def test_documents_and_scripts_come_along_and_no_link_is_dead(made):
    documents = made[0] / "usr/share/doc" / NAME
    names = {path.relative_to(documents).as_posix() for path in documents.rglob("*") if path.is_file()}
    assert {
        "README.md",
        "SECURITY.md",
        "copyright",
        "changelog.gz",
        "changelog.Debian.gz",
        "docs/operating.md",
        "docs/deploying.md",
        "docs/memcached.md",
        "docs/settings.md",
        "docs/handlersocket-grammar.md",
        "docs/memcached-grammar.md",
    } <= names
    links = [
        (path, target)
        for path in documents.rglob("*.md")
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", path.read_text())
        if "://" not in target
    ]
    assert len(links) > 20
    assert [(path, target) for path, target in links if not (path.parent / target).exists()] == []
    assert {path.name for path in (made[0] / "usr/share/postern").iterdir()} == {
        "innodb_memcache.sql",
        "innodb_memcache_example.sql",
        "redis.sql",
    }


def test_the_option_file_does_nothing_until_it_is_taken_in(made):
    text = (made[0] / "etc/mysql/mariadb.conf.d/70-postern.cnf").read_text()
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == ["[mariadbd]"]
    settings = re.findall(r"^#(\w+) = ", text, re.M)
    assert settings[0] == "plugin_load_add"
    assert [name for name in settings[1:] if not name.startswith("loose_")] == []


def anchors(text):
    """The anchor of a heading."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)
    }


def test_no_document_shows_a_setting_of_ours_without_loose():
    """No document's link into another document is broken."""
    documents = [
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "src").glob("*/grammar.md"),
    ]
    for path in documents:
        text = path.read_text()
        assert re.findall(r"^\s*((?:handlersocket|memcached)_\w+ *=.*)$", text, re.M) == [], path
        for target, anchor in re.findall(r"\]\(([^)\s#]*)#([^)]+)\)", text):
            if "://" not in target:
                assert anchor in anchors((path.parent / target).read_text() if target else text), (path, target, anchor)


def test_the_tool_comes_along(made):
    """One executable file, with completion for bash and a page for man."""
    tree = made[0]
    tool = tree / "usr/bin/postern"
    assert os.access(tool, os.X_OK)
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert re.fullmatch(r"postern [\d.]+\n", done.stdout)
    page = subprocess.run(
        ["zcat", tree / "usr/share/man/man1/postern.1.gz"], capture_output=True, text=True, check=True
    )
    assert page.stdout.startswith(".TH POSTERN 1") and ".SS advise" in page.stdout
    assert (
        "complete -o default -F _postern postern"
        in (tree / "usr/share/bash-completion/completions/postern").read_text()
    )
    assert "python3 (>= 3.9)" in control(tree)["Depends"]
