"""mysql: a whole private MySQL server, with the source and the headers to build for it; mysql-built: the same for
an existing server and its source."""
from __future__ import annotations

import shutil
from pathlib import Path

from servers import words
from servers.apt import Apt, newest_first
from servers.console import Failure, Impossible, logged, need_tools, say
from servers.place import LAYOUT, ROOT, Place, locked
from servers.unpack import bring_libraries, fetch_package, fetch_packages, services_library, settle_programs

SERIES = "9.7"
PACKAGES = "mysql-server-core mysql-client-core libmysqlclient-dev".split()
# The parts of MySQL's source that its headers need, and its configuration.
PARTS = """MYSQL_VERSION include libs sql sql-common mysys strings vio vector-common components/libminchassis
  libbinlogevents extra/rapidjson extra/unordered_dense builddir/include""".split()


def mysql(folder: str | None) -> None:
    """Fetches MySQL from Debian's unstable release."""
    with locked(folder or ROOT / "build-mysql/server") as place:
        if place.is_server():
            say(f"MySQL {place.said('server.env').get('SERVER_VERSION', '')} is in {place}")
            return
        need_tools("patchelf")
        with place.opened() as work:
            version = make(place, Apt(work, "sid"))
            place.finish()
        say(f"MySQL {version} is in {place}")


def built(source: str, build: str, mysqld: str, folder: str | None = None) -> None:
    """Uses an existing server and its source, configured in the folder `build` as the server was."""
    headers, services = (
        Path(build).resolve() / "include",
        Path(build).resolve() / "archive_output_directory/libmysqlservices.a",
    )
    program = Path(mysqld).resolve()
    needed = [Path(source) / "sql/handler.h", services, program]
    needed += [headers / name for name in ("my_config.h", "mysql_version.h", "mysqld_error.h")]
    for path in needed:
        if not path.exists():
            raise Failure(f"there is no {path}; see docs/servers.md, where MySQL's own source is built for")
    version = words.define((headers / "mysql_version.h").read_text(), "MYSQL_SERVER_VERSION")
    if not version.startswith(f"{SERIES}."):
        raise Impossible(f"that is MySQL {version}; Postern is for {SERIES}")
    base = program.parent.parent
    plugins = [base / name for name in ("lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin")]
    with locked(folder or ROOT / "build-mysql/server") as place:
        with place.opened():
            place.write_server(
                {
                    "SERVER_LAYOUT": LAYOUT,
                    "SERVER_KIND": "mysql",
                    "SERVER_DIR": str(place.final),
                    "SERVER_VERSION": version,
                    "SERVER_PACKAGE_VERSION": version,
                    "SERVER_BASEDIR": str(base),
                    "SERVER_SOURCE": str(Path(source).resolve()),
                    "SERVER_INCLUDE_GENERATED": str(headers),
                    "SERVER_SERVICES_LIB": str(services),
                    "MYSQLD": str(program),
                    "MYSQL_CLIENT": str(base / "bin/mysql"),
                    "PLUGIN_DIR": str(next((path for path in plugins if path.is_dir()), plugins[0])),
                }
            )
            place.finish()
        say(f"{place} has what builds for MySQL {version} in {base}")


def make(place: Place, apt: Apt) -> str:
    """Makes the folder except for its last step; returns the version of the packages."""
    root = place.work / "root"
    listed = set.intersection(*(apt.versions_of(package) for package in ["mysql-source", *PACKAGES]))
    versions = newest_first({version for version in listed if version.startswith(f"{SERIES}.")})
    if not versions:
        raise Impossible(
            f"no package suite that this machine reaches has MySQL {SERIES} with mysql-source,"
            " of one version. Debian's unstable release has."
        )
    version = versions[0]
    say(f"fetching the packages of MySQL {version}, half a gigabyte for the most part source")
    if not fetch_packages(apt, [f"{package}={version}" for package in PACKAGES], root):
        raise Impossible(f"the mirror does not have every package of MySQL {version}")
    fetch_source(apt, version)
    bring_libraries(apt, root)
    settle_programs(root, place.final / "root")
    headers = place.work / "source/builddir/include"
    shutil.copy(root / "usr/include/mysql/mysqld_error.h", headers)
    write_results(place, version, (headers / "mysql_version.h").read_text())
    return version


def fetch_source(apt: Apt, version: str) -> None:
    """Uses the package mysql-source: the source as configured for the server of the same version. The release's
    own source package would have to be configured first, with all its requirements."""
    packed, source = apt.work / "packed", apt.work / "source"
    if fetch_package(apt, f"mysql-source={version}", packed) is None:
        raise Impossible(f"the mirror does not have the source of MySQL {version}")
    shutil.rmtree(apt.work / "download")
    source.mkdir()
    archive = packed / "usr/src/mysql/mysql-source.tar.gz"
    options = ("--strip-components=1", "--no-same-owner", *(f"mysql-{SERIES}/{part}" for part in PARTS))
    if not logged(apt.work / "tar.log", "tar", "-xzf", archive, "-C", source, *options):
        raise Failure("the source of MySQL has other parts than were looked for")
    shutil.rmtree(packed)


def write_results(place: Place, version: str, header: str) -> None:
    """Writes server.env and server.cmake with the paths of the final folder."""
    final: Path = place.final
    place.write_server(
        {
            "SERVER_LAYOUT": LAYOUT,
            "SERVER_KIND": "mysql",
            "SERVER_DIR": str(final),
            "SERVER_VERSION": words.define(header, "MYSQL_SERVER_VERSION"),
            "SERVER_PACKAGE_VERSION": version,
            "SERVER_BASEDIR": f"{final}/root/usr",
            "SERVER_SOURCE": f"{final}/source",
            "SERVER_INCLUDE_GENERATED": f"{final}/source/builddir/include",
            "SERVER_SERVICES_LIB": services_library(place),
            "MYSQLD": f"{final}/root/usr/sbin/mysqld",
            "MYSQL_CLIENT": f"{final}/root/usr/bin/mysql",
            "PLUGIN_DIR": f"{final}/root/usr/lib/mysql/plugin",
        }
    )
