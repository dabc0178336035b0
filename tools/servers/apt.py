"""The machine's package suites with source, through apt; the machine's own entries and lists stay as they are."""
from __future__ import annotations

import functools
import os
import platform
import shlex
import shutil
import subprocess
from pathlib import Path

from servers import words
from servers.console import Word, logged, output, say, show_end_of

# The Debian release of each series; a series that is not here can only come from the machine's own package suites.
RELEASE_OF = {"10.11": "bookworm", "11.8": "trixie"}
HELPER = "/usr/lib/apt/apt-helper"


def this_machine() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def foreign_release(series: str) -> str | None:
    """The Debian release that has the series; None if that is the machine's own, and on machines without Debian,
    where their own suites are used."""
    machine, release = this_machine(), RELEASE_OF.get(series)
    return release if machine.get("ID") == "debian" and release != machine.get("VERSION_CODENAME") else None


def newest_first(versions: set[str]) -> list[str]:
    """Compares versions as dpkg does."""

    def compare(one: str, other: str) -> int:
        if one == other:
            return 0
        newer = subprocess.run(["dpkg", "--compare-versions", one, "gt", other], check=False).returncode == 0
        return -1 if newer else 1

    return sorted(versions, key=functools.cmp_to_key(compare))


def write_entries(folder: Path, release: str | None) -> None:
    """Copies the machine's apt entries into the folder with source entries, for another release if one is named."""
    places = dict(
        line.split("=", 1)
        for line in shlex.split(
            output("apt-config", "shell", "list", "Dir::Etc::sourcelist/f", "parts", "Dir::Etc::sourceparts/d")
        )
    )
    parts = Path(places.get("parts", "/etc/apt/sources.list.d"))
    entries = {}
    for path in [Path(places.get("list", "/etc/apt/sources.list")), *parts.glob("*.list")]:
        if path.is_file():
            entries[f"{path.stem}-list.list"] = words.list_with_source(path.read_text())
    for path in parts.glob("*.sources"):
        if path.is_file():
            entries[path.name] = words.stanzas_with_source(path.read_text())
    for name, text in entries.items():
        if release:
            text = words.of_release(text, this_machine().get("VERSION_CODENAME", "stable"), release)
        (folder / name).write_text(text)


class Apt:
    """Private package lists in a temporary folder, and downloads from there. The folder also has the logs."""

    def __init__(self, work: Path, release: str | None = None) -> None:
        self.work = work
        for name in ("sources.list.d", "lists/partial", "cache/archives/partial"):
            (work / name).mkdir(parents=True)
        write_entries(work / "sources.list.d", release)
        settings = [
            "Dir::Etc::sourcelist=/dev/null",
            f"Dir::Etc::sourceparts={work}/sources.list.d",
            f"Dir::State::lists={work}/lists",
            f"Dir::Cache={work}/cache",
            "Acquire::Languages=none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
            "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false",
            "Acquire::Retries=2",
            "Acquire::http::Timeout=60",
            "Dpkg::Use-Pty=0",
        ]
        # The unprivileged download user of apt cannot write below a home or build folder.
        if os.getuid() == 0:
            settings.append("APT::Sandbox::User=root")
        self.options = [word for setting in settings for word in ("-o", setting)]
        say(f"reading the package lists{f' of {release}' if release else ''}, with source")
        # An unreachable third-party suite is no error: only the versions found count.
        if not logged(work / "update.log", "apt-get", *self.options, "-q", "update"):
            say("some package lists could not be read (that may not matter)")

    def versions_of(self, package: str, kind: str = "Packages") -> set[str]:
        """The versions that can be downloaded."""
        listed = output("apt-cache", *self.options, "madison", package, quiet=False)
        return words.listed_versions(listed, kind)

    def candidates(self, packages: list[str], series: str) -> list[str]:
        """Versions of the series that all packages and the source are listed with, newest first."""
        listed = [self.versions_of(package) for package in packages]
        return newest_first(words.common_versions(listed, self.versions_of("mariadb", "Sources"), series))

    def mirrors(self) -> list[str]:
        """Addresses of the machine's mirrors."""
        targets = ("indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
        return sorted(set(output("apt-get", *self.options, *targets, quiet=False).splitlines()))

    def source(self, version: str, folder: Path) -> bool:
        """Downloads the server's source; False if the mirror lists it but lacks it."""
        return self._download(folder, "--download-only", "source", f"mariadb={version}", log="source.log")

    def packages(self, names: list[str], folder: Path) -> bool:
        """Downloads packages, each NAME or NAME=VERSION, into an empty folder. False if the mirror
        lacks one; the log of packages has the reason."""
        return self._download(folder, "download", *names, log="packages.log")

    def file(self, address: str, path: Path, digest: str) -> bool:
        """Downloads one file from a mirror and checks its SHA-256."""
        command: list[Word] = [HELPER, *self.options, "download-file", address, path, f"SHA256:{digest}"]
        return logged(self.work / "packages.log", *command)

    def show_why(self) -> None:
        """Prints the end of the log of packages."""
        show_end_of(self.work / "packages.log")

    def _download(self, folder: Path, *command: str, log: str) -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return logged(self.work / log, "apt-get", *self.options, "-q", *command, cwd=folder)
