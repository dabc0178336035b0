"""tools/server parses package lists, versions, dependencies, apt's entries and its own results."""
import sys

import pytest
from support.server import ROOT

sys.path.append(str(ROOT / "tools"))
from servers import apt, words  # noqa: E402

MADISON = """\
   mariadb | 1:10.11.19-0+deb12u1 | http://deb.debian.org/debian bookworm-updates/main Sources
mariadb-server | 1:10.11.18-0+deb12u1+b1 | http://deb.debian.org/debian bookworm/main amd64 Packages
mariadb-server | 1:10.11.18-0+deb12u1 | http://security.debian.org bookworm-security/main amd64 Packages
mariadb-server | 1:10.11.18-0+deb12u1 | http://deb.debian.org/debian bookworm/main amd64 Packages
N: a remark
"""


def test_versions_are_those_of_the_wanted_kind():
    assert words.listed_versions(MADISON, "Packages") == {"1:10.11.18-0+deb12u1", "1:10.11.18-0+deb12u1+b1"}
    assert words.listed_versions(MADISON, "Sources") == {"1:10.11.19-0+deb12u1"}
    assert words.listed_versions("", "Packages") == set()


def test_a_rebuild_shares_its_source():
    assert words.source_version("1:10.11.18-0+deb12u1+b12") == "1:10.11.18-0+deb12u1"
    assert words.source_version("1:10.11.18-0+deb12u1") == "1:10.11.18-0+deb12u1"


@pytest.mark.parametrize(
    ("version", "series"),
    [("1:10.11.18-0+deb12u1", "10.11"), ("10.11.18-MariaDB", "10.11"), ("1:11.8.6-1", "11.8"), ("garbage", "garbage")],
)
def test_the_series_of_a_version(version, series):
    assert words.series_of(version) == series


def test_a_version_is_of_one_series_alone():
    assert words.is_of_series("1:10.11.18-1", "10.11") and words.is_of_series("10.11.18-1", "10.11")
    for other in ("1:10.110.18-1", "1:10x11.18-1", "110.11.18-1", "1:10.11-1", "2:1:10.11.18"):
        assert not words.is_of_series(other, "10.11"), other


def test_common_versions_are_listed_with_every_package_and_the_source():
    one, two, three = "1:10.11.17-1", "1:10.11.18-1+b2", "1:10.11.19-1"
    listed = [{one, two, three, "1:11.8.6-1"}, {two, three, "1:11.8.6-1"}]
    assert words.common_versions(listed, {one, "1:10.11.18-1", "1:11.8.6-1"}, "10.11") == {two}


def test_newest_first_is_debians_order():
    versions = {"1:10.11.9-1", "1:10.11.18-1~bpo1", "1:10.11.18-1", "1:10.11.18-1+b1", "9.7.0-1"}
    assert apt.newest_first(versions) == [
        "1:10.11.18-1+b1",
        "1:10.11.18-1",
        "1:10.11.18-1~bpo1",
        "1:10.11.9-1",
        "9.7.0-1",
    ]


def test_dependencies_are_the_first_of_alternatives():
    field = "adduser, debconf (>= 0.5) | debconf-2.0,libc6:any (>= 2.34),\n galera-4 (>= 26.4), perl\n"
    assert words.dependencies(field) == ["adduser", "debconf", "libc6", "galera-4", "perl"]
    assert words.dependencies("\n") == []


def test_shared_libraries_are_neither_perls_nor_the_servers():
    field = "libc6, zlib1g (>= 1:1.1.4), libdbi-perl, libssl-dev, libmariadb3, libmysqlclient21, passwd, libc6"
    assert words.shared_libraries(field) == {"libc6", "zlib1g"}


def test_each_entry_is_one_of_source_too():
    entries = (
        "# deb http://old stable main\ndeb [arch=amd64] http://a bookworm main\ndeb-src http://a bookworm main\n"
        "  deb http://b bookworm main\ndeb cdrom:[Debian]/ bookworm main\ndeb [trusted=yes] cdrom:[x]/ bookworm main\n"
    )
    assert words.list_with_source(entries) == (
        "deb [arch=amd64] http://a bookworm main\ndeb-src [arch=amd64] http://a bookworm main\n"
        "deb http://b bookworm main\ndeb-src http://b bookworm main\n"
    )
    stanza = "Types: deb\nURIs: http://a\nSuites: bookworm\n\ntypes: deb deb-src\nURIs: http://b\n"
    assert words.stanzas_with_source(stanza) == (
        "Types: deb deb-src\nURIs: http://a\nSuites: bookworm\n\nTypes: deb deb-src\nURIs: http://b\n"
    )


def test_every_suite_of_an_entry_becomes_the_other_release():
    entries = (
        "# of bookworm\nURIs: http://bookworm.example/stable-x\nSuites: bookworm bookworm-updates\n"
        "deb http://a stable/updates main\ndeb http://a bookworms main\n"
    )
    assert words.of_release(entries, "bookworm", "trixie") == (
        "# of bookworm\nURIs: http://bookworm.example/stable-x\nSuites: trixie trixie-updates\n"
        "deb http://a trixie/updates main\ndeb http://a bookworms main\n"
    )


def test_known_files_are_those_of_the_series():
    sums = (
        "aa  pool/m/mariadb_10.11.18-1.dsc\nbb  pool/m/mariadb-server_10.11.18-1_amd64.deb\ncc  pool/m/x_11.8.6.dsc\n"
    )
    known = words.known_files(sums, "10.11")
    assert known == [("aa", "pool/m/mariadb_10.11.18-1.dsc"), ("bb", "pool/m/mariadb-server_10.11.18-1_amd64.deb")]
    assert words.version_of_dsc(place for _, place in known) == "10.11.18-1"
    assert words.known_files(sums, "10.1") == [] and words.version_of_dsc([]) == ""


def test_installed_packages_of_a_source():
    statuses = "mariadb installed mariadb-server\nmariadb config-files mariadb-client\nmysql installed mysql\n"
    assert words.installed_packages(statuses, "mariadb") == ["mariadb-server"]


def test_output_of_programs_and_macros_of_headers():
    assert words.owner("mariadb-server-core: /usr/sbin/mariadbd\nother: /usr/sbin/mariadbd\n") == "mariadb-server-core"
    assert words.owner("libc6:amd64, libc6:i386: /usr/share/doc/libc6\n") == "libc6"
    assert words.owner("") == ""
    header = '#define MYSQL_VERSION_ID\t\t101118\n#define MYSQL_SERVER_VERSION "10.11.18-MariaDB"\n#define EMPTY\n'
    assert words.define(header, "MYSQL_SERVER_VERSION") == "10.11.18-MariaDB"
    assert words.define(header, "MYSQL_VERSION_ID") == "101118"
    assert words.define(header, "MYSQL_VERSION") == "" and words.define(header, "EMPTY") == ""
    said = "/usr/sbin/mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n"
    assert words.program_version(said) == "10.11.18-MariaDB" and words.program_version("mysqld  Ver 8.0.36") == ""
    help_text = "  --plugin-dir=name   Directory for plugins\nplugin-dir                     /usr/lib/mysql/plugin/\n"
    assert words.plugin_folder(help_text) == "/usr/lib/mysql/plugin" and words.plugin_folder("") == ""
    ldd = "\tlibaio.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x7f)\n/x:\n\tlibaio.so.1 => not found\n"
    assert words.missing_libraries(ldd) == ["libaio.so.1"]


def test_results_are_read_as_they_were_written():
    pairs = {"SERVER_DIR": "/tmp/a folder/it's", "EMPTY": "", "VERSION": "1:10.11.18-0+deb12u1"}
    text = words.env_text(pairs)
    assert words.env_pairs(text) == pairs
    assert "VERSION=1:10.11.18-0+deb12u1\n" in text
    assert words.env_pairs("A=a\\ b\n# B=c\n\nC='d e' # f\nnone\n") == {"A": "a b", "C": "d e"}
    assert words.cmake_text({"A": "/x"}) == 'set(A "/x")\n'
