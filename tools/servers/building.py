"""installed, package: the source and the headers to build for a server of this machine."""
from __future__ import annotations

import os
import shutil
from pathlib import Path

from servers import words
from servers.apt import Apt
from servers.console import Failure, Impossible, need_tools, output, say
from servers.mariadb import BUILD_PACKAGES, fetch_source, write_results
from servers.place import ROOT, Place, locked
from servers.unpack import check_agreement, fetch_packages, program_version, services_library, stage_headers

TESTED_SERIES = ("10.11", "11.8")
# The packages of a server, for machines where none is installed.
USUAL_PACKAGES = (
    "mariadb-server mariadb-server-core mariadb-client mariadb-client-core mariadb-common libmariadb3".split()
)


def installed(folder: str | None) -> None:
    """The files to build for the server installed on this machine."""
    with locked(folder or ROOT / "build/server-installed") as place:
        program, version, package = installed_server()
        if place.is_server(SERVER_PACKAGE_VERSION=package, MARIADBD=str(program)):
            say(f"what is needed to build for the installed {version} is in {place}")
            return
        need_tools()
        with place.opened():
            library = fetch_for_building(place, package, f"the installed server is {package}, and ")
            check_agreement(place.work, program)
            # Reads the user's own configuration, which may have moved it.
            plugins = words.plugin_folder(output(program, "--verbose", "--help"))
            if not Path(plugins).is_dir() or not plugins:
                raise Failure(f"the installed server has no plugin folder{f' {plugins}' if plugins else ''}")
            write_results(place, package, library, program, program.parent.parent, Path(plugins))
            place.finish()
        say(f"what is needed to build for the installed {version} ({package}) is in {place}")


def for_package(version: str, folder: str) -> None:
    """The same for the server with Debian packages of a version, be it installed or not."""
    with locked(folder) as place:
        need_tools()
        with place.opened():
            library = fetch_for_building(place, version, "")
            check_agreement(place.work)
            write_results(
                place, version, library, Path("/usr/sbin/mariadbd"), Path("/usr"), Path("/usr/lib/mysql/plugin")
            )
            place.finish()
        say(f"what is needed to build for {version} is in {place.final}")


def installed_server() -> tuple[Path, str, str]:
    """The machine's mariadbd, its version, and the version of its package."""
    places = [shutil.which("mariadbd"), *(f"/usr/{part}/mariadbd" for part in ("sbin", "libexec", "local/sbin"))]
    found = [place for place in places if place and os.access(place, os.X_OK)]
    if not found:
        raise Impossible(
            "no MariaDB server is installed on this machine: there is no mariadbd on the PATH"
            " nor in /usr/sbin. Install the package mariadb-server first, or use 'make run', which brings its own"
            " private server."
        )
    program = Path(os.path.realpath(found[0]))
    version = program_version(program)
    if not version:
        raise Impossible(f"{program} does not say which version it is. Does '{program} --version' work?")
    if words.series_of(version) not in TESTED_SERIES:
        say(
            f"NOTE: the installed server is {version}. Postern is tested with MariaDB {' and '.join(TESTED_SERIES)} alone."
            " It may build for another series and may not; if it does, try it well before you rely on it."
        )
    owner = words.owner(output("dpkg-query", "-S", program))
    if not owner:
        raise Impossible(
            f"the installed server {program} ({version}) does not come from a Debian package,"
            " so headers made by the same build cannot be found. Put Postern into its source tree as plugin/postern and"
            " build it there."
        )
    return program, version, output("dpkg-query", "-W", "-f", "${Version}", owner)


def fetch_for_building(place: Place, version: str, reason: str) -> str:
    """Puts source and headers of a version into the temporary folder; returns the final path of the services' library.
    If they are not available the error begins with the reason for this version."""
    apt = Apt(place.work)
    say(f"fetching the source of {version}")
    if not fetch_source(apt, version):
        raise Impossible(
            f"{reason}the source of exactly this version ({version}) cannot be had from the package suites of this"
            f" machine. {advise_other_version(apt, version)}"
        )
    say(f"fetching the development packages of {version}")
    if not fetch_packages(apt, [f"{package}={version}" for package in BUILD_PACKAGES], place.work / "root"):
        raise Impossible(
            f"{reason}the development packages ({' '.join(BUILD_PACKAGES)}) of exactly this version ({version}) cannot be"
            f" had from the package suites of this machine. {advise_other_version(apt, version)}"
        )
    stage_headers(place.work)
    return services_library(place)


def advise_other_version(apt: Apt, version: str) -> str:
    """The user's alternatives, as this version is not available."""
    listed = [other for other in apt.candidates(BUILD_PACKAGES, words.series_of(version)) if other != version]
    advice = ["A plugin is loaded only by the very version it was built for, so no other source will do."]
    if listed:
        advice += [
            f"With one of these versions of the server installed it works: {' '.join(listed)}. Its packages go together:",
            f"apt-get install --allow-downgrades {' '.join(packages_of_version(listed[0]))}.",
        ]
    advice.append(
        "Otherwise try again when the mirror has the source; 'make run' works meanwhile, with a private server."
    )
    return " ".join(advice)


def packages_of_version(version: str) -> list[str]:
    """The installed packages of the server, in apt's form NAME=VERSION. All of them, because each depends on others of
    the same version."""
    statuses = output("dpkg-query", "-W", "-f", "${source:Package} ${db:Status-Status} ${Package}\n")
    return [f"{name}={version}" for name in words.installed_packages(statuses, "mariadb") or USUAL_PACKAGES]
