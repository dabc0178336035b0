"""Reads and writes texts: package lists, versions, dependencies, apt's entries, and files of results.

Nothing here runs a program or touches a file."""
from __future__ import annotations

import re
import shlex
from typing import Iterable, Mapping


def listed_versions(madison: str, kind: str) -> set[str]:
    """The versions in the output of "apt-cache madison"; kind is the last word of the lines wanted: Packages or Sources."""
    found = set()
    for line in madison.splitlines():
        fields = re.split(r" *\| *", line.strip())
        if len(fields) >= 3 and fields[2].endswith(kind):
            found.add(fields[1])
    return found


def source_version(version: str) -> str:
    """The source's version of a binary package's: a rebuild without a change of the source is marked +bN."""
    return re.sub(r"\+b[0-9]+$", "", version)


def is_of_series(version: str, series: str) -> bool:
    """Whether a version belongs to a series: true for 1:10.11.18-1 and 10.11."""
    return re.match(rf"([0-9]+:)?{re.escape(series)}\.[0-9]", version) is not None


def series_of(version: str) -> str:
    """The series of a version: 10.11 for 1:10.11.18-0+deb12u1 and 10.11.18-MariaDB; other text stays unchanged."""
    return re.sub(r"^(?:[0-9]+:)?([0-9]+\.[0-9]+).*", r"\1", version)


def common_versions(listed: Iterable[set[str]], sources: set[str], series: str) -> set[str]:
    """The versions of the series for which all packages and the source are listed."""
    common = set.intersection(*listed)
    return {version for version in common if is_of_series(version, series) and source_version(version) in sources}


def dependencies(field: str) -> list[str]:
    """The packages in a field such as Depends; the first one of alternatives."""
    names = (re.split(r"[ |(:]", entry.strip(), maxsplit=1)[0] for entry in re.split(r"[,\n]", field))
    return [name for name in names if name]


def shared_libraries(field: str) -> set[str]:
    """The packages of shared libraries in a field, without the server's own."""
    return {
        name
        for name in dependencies(field)
        if re.match("z?lib", name) and not re.search(r"-perl$|-dev$|^libmariadb|^libmysql", name)
    }


def list_with_source(text: str) -> str:
    """The entries of a .list file with a source entry for each. Installation media have no source."""
    entries = []
    for line in text.splitlines():
        entry = re.match(r"\s*deb(\s.*)$", line)
        if entry and not re.match(r"\s*deb\s+(\[[^]]*\]\s*)?cdrom:", line):
            entries.append(f"deb{entry[1]}\ndeb-src{entry[1]}\n")
    return "".join(entries)


def stanzas_with_source(text: str) -> str:
    """The same for a .sources file."""
    return re.sub(r"^[Tt]ypes:.*", "Types: deb deb-src", text, flags=re.M)


def of_release(entries: str, codename: str, release: str) -> str:
    """Apt's entries with another release in place of the machine's own, codename; keeps comments."""
    named = re.compile(rf"(?<!\S)({re.escape(codename)}|stable|testing|sid|unstable)(?=[-/\s]|$)")
    lines = (line if line.startswith("#") else named.sub(release, line) for line in entries.splitlines(keepends=True))
    return "".join(lines)


def known_files(sums: str, series: str) -> list[tuple[str, str]]:
    """The digests and places of the series' files, from the lines of server.sha256."""
    lines = (line.split() for line in sums.splitlines())
    return [(digest, place) for digest, place in lines if re.search(rf"[/_]{re.escape(series)}\.[^/]*$", place)]


def version_of_dsc(places: Iterable[str]) -> str:
    """The version in the name of the source package's .dsc; empty if there is none."""
    found = (re.search(r"_([^_]*)\.dsc$", place) for place in places)
    return next((name[1] for name in found if name), "")


def installed_packages(statuses: str, source: str) -> list[str]:
    """The installed packages of a source, from lines "SOURCE STATUS PACKAGE"."""
    lines = (line.split() for line in statuses.splitlines())
    return [words[2] for words in lines if words[:2] == [source, "installed"] and len(words) == 3]


def owner(searched: str) -> str:
    """The package in the first line of "dpkg-query -S"; empty if no package owns the file."""
    found = re.match(r"[^:,\n]+(?=[:,])", searched)
    return found[0] if found else ""


def define(text: str, name: str) -> str:
    """The value of a macro in a header, without quotes; empty if it has none."""
    found = re.search(rf'^#define[ \t]+{re.escape(name)}[ \t]+"?([^"\n]*)"?[ \t]*$', text, flags=re.M)
    return found[1] if found else ""


def program_version(said: str) -> str:
    """The version in the output of "mariadbd --version", as 10.11.18-MariaDB; empty if there is none."""
    found = re.search(r" Ver ([0-9][0-9.]*-MariaDB)", said)
    return found[1] if found else ""


def plugin_folder(help_text: str) -> str:
    """The server's plugin folder as "mariadbd --verbose --help" prints it."""
    found = re.search(r"^\s*plugin-dir[ \t]+(\S+)", help_text, flags=re.M)
    return found[1].rstrip("/") if found else ""


def missing_libraries(ldd: str) -> list[str]:
    """The libraries that ldd did not find."""
    return sorted({line.split()[0] for line in ldd.splitlines() if "not found" in line})


def env_text(pairs: Mapping[str, str]) -> str:
    """KEY=VALUE lines that a shell can read."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in pairs.items())


def env_pairs(text: str) -> dict[str, str]:
    """The pairs of such lines; lines of another form are skipped."""
    pairs = {}
    for line in text.splitlines():
        for word in shlex.split(line, comments=True)[:1]:
            name, equals, value = word.partition("=")
            if equals:
                pairs[name] = value
    return pairs


def cmake_text(pairs: Mapping[str, str]) -> str:
    """The same for CMake."""
    return "".join(f'set({name} "{value}")\n' for name, value in pairs.items())
