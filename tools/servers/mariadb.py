"""fetch: a whole private MariaDB server, with the source and the headers to build for it."""
from __future__ import annotations

from pathlib import Path

from servers import words
from servers.apt import Apt, foreign_release
from servers.console import Impossible, need_tools, output, say
from servers.place import LAYOUT, ROOT, Place, build_folder, locked
from servers.unpack import (
    bring_libraries,
    check_agreement,
    ensure_libraries,
    fetch_packages,
    remove,
    services_library,
    settle_programs,
    stage_headers,
    unpack_packages,
    unpack_source,
    write_libraries,
)

# The packages of a private server; the two libmariadb*-dev packages are for building.
SERVER_PACKAGES = "mariadb-server-core mariadb-server mariadb-client-core mariadb-client mariadb-backup".split()
BUILD_PACKAGES = "libmariadb-dev libmariadbd-dev".split()
# Packages and sources of the last tested versions, with their places on a mirror.
KNOWN_FILES = ROOT / "tools/server.sha256"


def fetch(series: str, folder: str | None) -> None:
    """Fetches the newest complete server of the series."""
    foreign = foreign_release(series)
    with locked(folder or build_folder(series) / "server") as place:
        if place.is_server():
            if not foreign:
                ensure_libraries(place.final)
            say(f"{place.said('server.env').get('SERVER_VERSION', '')} is in {place}")
            return
        need_tools(*(["patchelf"] if foreign else []))
        with place.opened() as work:
            version = make(place, Apt(work, foreign), series, foreign)
        say(f"{place.said('server.env').get('SERVER_VERSION', '')} ({version}) is in {place}")


def make(place: Place, apt: Apt, series: str, foreign: str | None) -> str:
    """Makes the folder; returns the version of the packages."""
    work, root = place.work, place.work / "root"
    version = fetch_newest(apt, series)
    stage_headers(work)
    library = services_library(place)
    if foreign:
        bring_libraries(apt, root)
        settle_programs(root, root)
    else:
        ensure_libraries(work)
    check_agreement(work, root / "usr/sbin/mariadbd")
    if foreign:
        settle_programs(root, place.final / "root")
    base = place.final / "root/usr"
    write_results(place, version, library, base / "sbin/mariadbd", base, base / "lib/mysql/plugin")
    place.finish()
    return version


def fetch_source(apt: Apt, version: str) -> bool:
    """Puts the source of a binary package's version into WORK/source; False if the mirror lacks it."""
    version, downloaded = words.source_version(version), apt.work / "download-source"
    if not apt.source(version, downloaded):
        return False
    unpack_source(apt.work, downloaded, version)
    return True


def fetch_newest(apt: Apt, series: str) -> str:
    """Puts packages and source of the newest complete version into WORK; returns the version."""
    packages = SERVER_PACKAGES + BUILD_PACKAGES
    versions = apt.candidates(packages, series)
    for version in versions:
        say(f"fetching the source of {version}")
        if not fetch_source(apt, version):
            say(f"the mirror lists the source of {version} but does not have it; trying the next older version")
            continue
        say(f"fetching the packages of {version}")
        if fetch_packages(apt, [f"{package}={version}" for package in packages], apt.work / "root"):
            return version
        say(f"the mirror does not have every package of {version}; trying the next older version")
        remove(apt.work / "source")
        remove(apt.work / "root")
    if not versions:
        raise Impossible(
            f"no package suite that this machine reaches lists MariaDB {series} with its source."
            " Debian 12 has 10.11, Debian 13 has 11.8. Check the machine's apt entries and network."
        )
    known = fetch_known(apt, series)
    if known:
        return known
    raise Impossible(
        f"no MariaDB {series} could be fetched whole: server packages, development packages and source of one"
        " version. The mirror may be between two updates; try again later."
    )


def fetch_known(apt: Apt, series: str) -> str | None:
    """As fetch_newest, for a version in server.sha256 that the lists no longer have: a mirror keeps its files for a
    while. None if it lacks them."""
    known = words.known_files(KNOWN_FILES.read_text(), series)
    version = words.version_of_dsc(place for _, place in known)
    if not version or output("dpkg", "--print-architecture").strip() != "amd64":
        return None
    say(f"the lists have none that is whole; asking for {version}, which they do not name")
    packages, source = apt.work / "download", apt.work / "download-source"
    for folder in (packages, source):
        remove(folder)
        folder.mkdir()
    mirrors = apt.mirrors()
    for digest, place in known:
        path = (packages if place.endswith(".deb") else source) / Path(place).name
        if not any(apt.file(f"{mirror.rstrip('/')}/{place}", path, digest) for mirror in mirrors):
            return None
    version = f"1:{version}"
    unpack_source(apt.work, source, version)
    root = apt.work / "root"
    root.mkdir()
    write_libraries(apt.work, unpack_packages(packages, root))
    return version


def write_results(place: Place, version: str, library: str, program: Path, base: Path, plugins: Path) -> None:
    """Writes server.env and server.cmake with the paths of the final folder."""
    header = (place.work / "include-generated/mysql_version.h").read_text()
    place.write_server(
        {
            "SERVER_LAYOUT": LAYOUT,
            "SERVER_DIR": str(place.final),
            "SERVER_VERSION": words.define(header, "MYSQL_SERVER_VERSION"),
            "SERVER_VERSION_ID": words.define(header, "MYSQL_VERSION_ID"),
            "SERVER_PACKAGE_VERSION": version,
            "SERVER_ROOT": f"{place.final}/root",
            "SERVER_BASEDIR": str(base),
            "SERVER_SOURCE": f"{place.final}/source",
            "SERVER_INCLUDE_GENERATED": f"{place.final}/include-generated",
            "SERVER_SERVICES_LIB": library,
            "MARIADBD": str(program),
            "MARIADB_CLIENT": f"{base}/bin/mariadb",
            "MARIADB_INSTALL_DB": f"{base}/bin/mariadb-install-db",
            "PLUGIN_DIR": str(plugins),
        }
    )
