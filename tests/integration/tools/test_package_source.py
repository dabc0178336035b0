"""The package postern-source, and its program that builds for the machine's server, in a root of fake programs. By hand
and with real ones: tests/packaging/updates."""
import os
import re
import subprocess

import pytest
from support.clients import packages
from support.server import ROOT

PROGRAM = ROOT / "packaging/source/postern-build"
LINK = "usr/lib/mysql/plugin/postern.so"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    out = tmp_path_factory.mktemp("package")
    done = subprocess.run(
        [ROOT / "tools/package", "source", out], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    subprocess.run(["dpkg-deb", "--raw-extract", done.stdout.strip(), out / "tree"], check=True, timeout=60)
    return out / "tree"


def test_it_carries_all_that_a_build_takes(package):
    control = (package / "DEBIAN/control").read_text()
    assert "Package: postern-source\n" in control and "Architecture: all\n" in control
    depends = re.search(r"^Depends: (.*(?:\n .*)*)", control, re.M)[1]
    assert "mariadb-server-core (>= 1:10.11)" in depends and "<" not in depends, "no update is held back"
    for needed in ("cmake", "ninja-build", "g++", "libssl-dev", "dpkg-dev"):
        assert needed in depends
    tree = package / "usr/src/postern"
    for name in (
        "CMakeLists.txt",
        "cmake/server.cmake",
        "src/plugin/exports.map",
        "src/engine/mariadb/basics/server.h",
    ):
        assert (tree / name).exists()
    assert os.access(tree / "tools/server", os.X_OK) and os.access(package / "usr/sbin/postern-build", os.X_OK)
    usage = subprocess.run([tree / "tools/server"], check=False, capture_output=True, text=True)
    assert usage.returncode == 2 and "tools/server package VERSION DIR" in usage.stderr, "it has all of its parts"
    assert (package / "DEBIAN/triggers").read_text() == "interest-noawait /usr/sbin/mariadbd\n"
    unit = (package / "lib/systemd/system/mariadb.service.d/postern.conf").read_text()
    assert "ExecStartPre=-+/usr/sbin/postern-build choose\n" in unit, "its failure is none of the server's"


def test_lintian_finds_no_error(package):
    assert packages.errors_of(package.parent) == []


class Machine:
    """A root with a server of some version, and fake programs for apt, the compiler and so on."""

    def __init__(self, root):
        self.root = root
        for folder in ("bin", "usr/sbin", "usr/lib/mysql/plugin", "usr/src/postern/tools", "var/lib", "var/log"):
            (root / folder).mkdir(parents=True)
        self.program(
            "bin/dpkg-query", 'case "$*" in *postern-source*) echo 0.1.0-1 ;; *) cat "$DPKG_ROOT/package" ;; esac'
        )
        self.program("bin/apt-cache", 'echo "  Candidate: 1:10.11.20-1"')
        self.program("bin/cmake", 'while [ "$1" != -B ]; do shift; done; mkdir -p "$2/src/plugin"')
        # The library's install path is in it.
        self.program(
            "bin/ninja",
            'while [ "$1" != -C ]; do shift; done; [ ! -e "$DPKG_ROOT/no-compiler" ] || { echo "error: no"; exit 1; }\n'
            'cat "$DPKG_ROOT/var/lib/postern/server/for" >"$2/src/plugin/postern.so"',
        )
        self.program("bin/strip", ":")
        self.program(
            "usr/src/postern/tools/server",
            '[ "$1" = package ] || exit 2\n[ "$2" != "$(cat "$DPKG_ROOT/no-source" 2>/dev/null)" ] || '
            '{ echo "tools/server: the source cannot be had" >&2; exit 3; }\nmkdir -p "$3"; echo "$2" >"$3/for"',
        )
        self.server("1:10.11.18-1")

    def program(self, name, text):
        path = self.root / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def server(self, package):
        """Installs this server package from now on."""
        (self.root / "package").write_text(package)
        version = re.sub(r"^\d+:|-.*", "", package)
        self.program("usr/sbin/mariadbd", f'case "$*" in *--version) echo "mariadbd  Ver {version}-MariaDB" ;; esac')

    def build(self, *words, code=0):
        done = subprocess.run(
            [PROGRAM, *words],
            env={**os.environ, "DPKG_ROOT": str(self.root), "PATH": f"{self.root}/bin:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def loaded(self):
        """The library that the server would load: its server version, and its origin."""
        link = self.root / LINK
        if not link.is_symlink():
            return None
        target = os.readlink(link)
        return target.split("/")[4], (self.root / target.lstrip("/")).read_text().strip()


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_an_update_and_the_way_back(machine):
    assert "has its library" in machine.build()
    assert machine.loaded() == ("10.11.18", "1:10.11.18-1")
    assert "there is a library for MariaDB 10.11.18" in machine.build(), "and none is built a second time"

    machine.server("1:10.11.19-1")
    assert "the server starts without Postern's doors, SQL is not affected" in machine.build("choose")
    assert machine.loaded()[0] == "10.11.18", "the server refuses it, and says which versions they are"
    assert "the server will load the library for MariaDB 10.11.19" in machine.build()
    assert machine.loaded() == ("10.11.19", "1:10.11.19-1")

    machine.server("1:10.11.18-1")
    assert "will load the library for MariaDB 10.11.18" in machine.build("choose"), "it was kept"
    assert machine.loaded() == ("10.11.18", "1:10.11.18-1")
    assert machine.build("choose") == "", "nothing is said where nothing changes"
    listed = [line.split()[0] for line in machine.build("list").splitlines()]
    assert listed == ["10.11.18", "10.11.19"]


def test_a_library_is_built_before_the_update(machine):
    machine.build()
    machine.build("next")
    assert machine.loaded()[0] == "10.11.18"
    machine.server("1:10.11.20-1")
    machine.build("choose")
    assert machine.loaded() == ("10.11.20", "1:10.11.20-1")


def test_another_revision_of_the_same_server_has_its_own(machine):
    machine.build()
    machine.server("1:10.11.18-2")
    machine.build("choose")
    assert machine.loaded() == ("10.11.18", "1:10.11.18-1"), "until there is another"
    machine.build()
    assert machine.loaded() == ("10.11.18", "1:10.11.18-2")


@pytest.mark.parametrize("trouble, code", [("no-source", 3), ("no-compiler", 1)])
def test_a_failed_build_is_reported_and_leaves_all_as_it_was(machine, trouble, code):
    machine.build()
    machine.server("1:10.11.19-1")
    (machine.root / trouble).write_text("1:10.11.19-1")
    said = machine.build(code=code)
    assert ("the source cannot be had" if trouble == "no-source" else "error: no") in said
    assert "there is no library for MariaDB 10.11.19" in said
    assert machine.loaded() == ("10.11.18", "1:10.11.18-1")
    assert [path.name for path in (machine.root / "usr/lib/postern").iterdir()] == ["10.11.18"]
    assert not (machine.root / "var/lib/postern/build").exists()
    (machine.root / trouble).unlink()
    machine.build()
    assert machine.loaded()[0] == "10.11.19", "once it can be had"


def test_there_is_no_server(machine):
    (machine.root / "package").write_text("")
    (machine.root / "usr/sbin/mariadbd").unlink()
    assert "mariadb-server-core is not installed" in machine.build(code=1)
    assert "there is no" in machine.build("choose")
