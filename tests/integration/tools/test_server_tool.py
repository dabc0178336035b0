"""tools/server reports missing packages clearly, and leaves no files behind. apt is a fake here."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.server import ROOT

sys.path.append(str(ROOT / "tools"))
from servers import mariadb, words  # noqa: E402

SOURCES = ("1:10.11.17-1", "1:10.11.18-1")
PACKAGES = (*SOURCES, "1:10.11.19-1")


@pytest.fixture
def apt(tmp_path):
    """Lists three versions, the newest without its source, and provides none of the files."""
    folder = tmp_path / "bin"
    folder.mkdir()
    listed = {"Packages": PACKAGES, "Sources": SOURCES}
    lines = {
        kind: "".join(f"x | {version} | http://nowhere suite/main {kind}\n" for version in versions)
        for kind, versions in listed.items()
    }
    programs = {
        "apt-get": 'case " $* " in *" source "* | *" download "*) exit 100 ;; esac',
        "apt-cache": f"case \"$*\" in *' mariadb') printf '{lines['Sources']}' ;; *) printf '{lines['Packages']}' ;; esac",
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def server_tool(apt, *words):
    return subprocess.run(
        [ROOT / "tools/server", *map(str, words)],
        env={**os.environ, "PATH": f"{apt}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("version", ["1:10.11.19-1", "1:10.11.18-1"])
def test_the_source_of_a_version_cannot_be_had(apt, tmp_path, version):
    done = server_tool(apt, "package", version, tmp_path / "server")
    assert done.returncode == 3
    said = done.stderr
    assert (
        f"the source of exactly this version ({version}) cannot be had from the package suites of this machine" in said
    )
    assert "A plugin is loaded only by the very version it was built for" in said
    others = " ".join(sorted(set(SOURCES) - {version}, reverse=True))
    assert f"With one of these versions of the server installed it works: {others}." in said
    # One of its packages cannot be installed without the others.
    newest = others.split()[0]
    command = re.search(r"apt-get install --allow-downgrades (.*)\. Otherwise", said)[1].split()
    assert len(command) > 2 and all(word.endswith(f"={newest}") for word in command), command
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("server") and path.is_dir()] == []


def test_no_server_is_installed(apt, tmp_path):
    if any(
        Path(place).exists() for place in ("/usr/sbin/mariadbd", "/usr/libexec/mariadbd", "/usr/local/sbin/mariadbd")
    ):
        pytest.skip("this machine has a server")
    done = server_tool(apt, "installed", tmp_path / "server")
    assert done.returncode == 3
    assert "no MariaDB server is installed on this machine" in done.stderr
    assert "Install the package mariadb-server first, or use 'make run'" in done.stderr


def test_wrong_usage(apt):
    for words in ([], ["package", "1:10.11.18-1"], ["fetch", "a", "b"]):
        done = server_tool(apt, *words)
        assert done.returncode == 2 and "tools/server package VERSION DIR" in done.stderr


def test_what_no_list_names_is_asked_for_and_cannot_be_had_either(apt, tmp_path):
    done = server_tool(apt, "fetch", tmp_path / "server")
    assert done.returncode == 3, done.stderr
    assert "asking for 10.11.18-0+deb12u1, which they do not name" in done.stderr
    assert done.stderr.endswith("The mirror may be between two updates; try again later.\n")
    assert [path for path in tmp_path.iterdir() if path.name.startswith("server") and path.is_dir()] == []


@pytest.mark.parametrize("series", ["10.11", "11.8"])
def test_the_files_of_a_version_are_all_named(series):
    wanted = mariadb.SERVER_PACKAGES + mariadb.BUILD_PACKAGES
    known = words.known_files(mariadb.KNOWN_FILES.read_text(), series)
    places = [place for _, place in known]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest, _ in known)
    assert sorted(Path(place).name.split("_")[0] for place in places if place.endswith(".deb")) == sorted(wanted)
    kinds = sorted(
        re.search(r"\.(dsc|debian\.tar|orig\.tar\.\w+(?:\.asc)?)", place)[1] for place in places if ".deb" != place[-4:]
    )
    assert kinds == ["debian.tar", "dsc", "orig.tar.gz", "orig.tar.gz.asc"]


def test_a_linked_folder_that_is_complete_stays(apt, tmp_path):
    """A second fetch through a link once removed the server for everybody else."""
    server = tmp_path / "server"
    server.mkdir()
    written = f"SERVER_LAYOUT=1\nSERVER_DIR={server}\nSERVER_VERSION=10.11.18-MariaDB\n"
    (server / "server.env").write_text(written)
    (server / "libraries").write_text("")
    (tmp_path / "linked").symlink_to(server)
    done = server_tool(apt, "fetch", tmp_path / "linked")
    assert done.returncode == 0 and "10.11.18-MariaDB is in" in done.stderr, done.stderr
    assert (server / "server.env").read_text() == written


def test_a_mysql_of_ones_own_is_built_for(tmp_path):
    source, build, base = (tmp_path / name for name in ("mysql-9.7.1", "configured", "usr"))
    version = '#define MYSQL_SERVER_VERSION "9.7.1"\n'
    files = {
        source / "sql/handler.h": "",
        build / "include/my_config.h": "",
        build / "include/mysql_version.h": version,
        build / "include/mysqld_error.h": "",
        build / "archive_output_directory/libmysqlservices.a": "",
        base / "sbin/mysqld": "",
        base / "lib64/mysql/plugin/x.so": "",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def ask():
        words_of_it = [ROOT / "tools/server", "mysql-built", source, build, base / "sbin/mysqld", tmp_path / "server"]
        return subprocess.run(words_of_it, capture_output=True, text=True, timeout=60, check=False)

    assert ask().returncode == 0
    said = words.env_pairs((tmp_path / "server/server.env").read_text())
    assert said["SERVER_KIND"] == "mysql" and said["SERVER_VERSION"] == "9.7.1"
    assert said["PLUGIN_DIR"] == str(base / "lib64/mysql/plugin")
    assert said["SERVER_INCLUDE_GENERATED"] == str(build / "include")
    (build / "include/mysql_version.h").write_text(version.replace("9.7", "8.4"))
    done = ask()
    assert (done.returncode, "that is MySQL 8.4.1; Postern is for 9.7" in done.stderr) == (3, True)
    (build / "include/mysqld_error.h").unlink()
    done = ask()
    assert done.returncode == 1 and f"there is no {build}/include/mysqld_error.h" in done.stderr
