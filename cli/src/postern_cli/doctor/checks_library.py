"""Checks of the library itself: whether it exists, is loaded, and will be loaded at the next start."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Iterator, Optional

from postern_cli.doctor.facts import DOORS, LIBRARY, Facts
from postern_cli.doctor.finding import Finding, good

BUILT_FOR = re.compile(rb"(\d+\.\d+\.\d+)-MariaDB")
BUILDER = Path("/usr/sbin/postern-build")
OURS = re.compile(r"^(?:handlersocket|memcached|redis|postern)[-_]\w+")


def loaded(facts: Facts) -> Iterator[Finding]:
    if not facts.plugins:
        yield not_loaded(facts)
        return
    for name, status, _, version, _ in facts.plugins:
        if status == "ACTIVE":
            yield good("loaded", f"The plugin {name} {version} is loaded.")
        else:
            yield Finding(
                "broken",
                "loaded",
                f"The plugin {name} is {status}.",
                "It could not start; the error log says why.",
                f"sed -n '/{name}/p' {facts.variable('log_error') or 'the error log'} | tail",
            )


def left_out(facts: Facts) -> Iterator[Finding]:
    """Plugins of the library that are not loaded, while others are."""
    there = {row[0].lower() for row in facts.plugins}
    for name in DOORS:
        if not there or name in there:
            continue
        reasons = facts.errors_logged(name)
        mend = f"INSTALL PLUGIN {name} SONAME '{LIBRARY}';"
        if reasons:
            yield Finding(
                "broken",
                "loaded",
                f"The plugin {name} could not start: {reasons[-1]}.",
                "Its door is closed, and its settings are unknown to the server. The error log has this.",
                f"{mend}  -- when that is mended",
            )
        else:
            yield Finding(
                "note",
                "loaded",
                f"The plugin {name} is not loaded, but others of the library are.",
                "Its door is closed, and its settings are unknown to the server.",
                mend,
            )


def not_loaded(facts: Facts) -> Finding:
    path = Path(facts.variable("plugin_dir")) / f"{LIBRARY}.so"
    built = built_for(path) if facts.local else None
    if built and built != facts.version:
        return Finding(
            "broken",
            "version",
            f"{path} is for MariaDB {built}, and the server is {facts.version}.",
            "The server refuses a library that was built for another version, to the patch level.",
            mend(
                f"apt-get install postern-mariadb-{facts.version.rpartition('.')[0]}"
                f"  # for {facts.version}; or, in Postern's source: make install"
            ),
        )
    if facts.local and not path.exists():
        return Finding(
            "broken",
            "loaded",
            f"There is no {LIBRARY}.so in {path.parent}.",
            "The server cannot load a missing file.",
            mend("apt-get install ./postern-mariadb-*.deb  # or, in Postern's source: make install"),
        )
    return Finding(
        "broken",
        "loaded",
        "Postern is not loaded.",
        "No door is open.",
        "INSTALL SONAME 'postern';  -- and plugin_load_add = postern below [mariadbd] of an option file",
    )


def mend(otherwise: str) -> str:
    """The command that builds a library for the installed server: the package postern-source has a program for it."""
    return "postern-build  # and INSTALL SONAME 'postern', or a restart" if BUILDER.exists() else otherwise


def built_for(path: Path) -> Optional[str]:
    """The server version that a library was built for."""
    try:
        found = BUILT_FOR.search(path.read_bytes())
    except OSError:
        return None
    return found.group(1).decode() if found else None


def library_of_tomorrow(facts: Facts) -> Iterator[Finding]:
    """The library and the server on disk, which the next start will use."""
    if not facts.local or not facts.plugins:
        return
    path = Path(facts.variable("plugin_dir")) / f"{LIBRARY}.so"
    built = built_for(path)
    if built is None:
        yield Finding(
            "broken",
            "version",
            f"{path} is gone, or cannot be read.",
            "The server has it loaded; after its next start no door will open.",
            mend("make install  # in Postern's source, or install its package again"),
        )
    elif built != facts.version:
        yield Finding(
            "broken",
            "version",
            f"{path} is for MariaDB {built} now, and the server that runs is {facts.version}.",
            "One of them was updated. If the installed server has the library's version, restart it.",
            "systemctl restart mariadb",
        )
    else:
        yield good("version", f"Library and server are both of MariaDB {built}.")
    yield from packages(facts)


def packages(facts: Facts) -> Iterator[Finding]:
    """Debian's packages: the server that is installed, and the one that an upgrade would bring."""
    installed = package_version("mariadb-server-core") or package_version("mariadb-server")
    ours = package_version("postern-mariadb-*")
    if not ours and not BUILDER.exists():
        return
    built = re.search(r"mariadb([\d.]+)", ours or "")
    if built and installed and built.group(1) != installed:
        yield Finding(
            "broken",
            "packages",
            f"The package of Postern is for MariaDB {built.group(1)}, and the installed server is {installed}.",
            "From the server's next start on the doors stay closed.",
            f"make package && apt-get install ./build/postern-mariadb-*.deb  # made where MariaDB {installed} is available",
        )
    candidate = candidate_version("mariadb-server-core")
    if candidate and installed and candidate != installed:
        yield Finding(
            "note",
            "packages",
            f"apt would upgrade the server from {installed} to {candidate}.",
            "Install Postern for that version, too; otherwise the doors stay closed.",
            (
                "postern-build next && apt-get install mariadb-server"
                if BUILDER.exists()
                else "apt-get install mariadb-server ./postern-mariadb-*.deb  # both at once; docs/deploying.md"
            ),
        )


def plain_version(version: str) -> str:
    return re.split(r"[-+~]", version.partition(":")[2] or version)[0] if not version.startswith("0.") else version


def package_version(name: str) -> Optional[str]:
    told = run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", name)
    for line in told.splitlines():
        status, _, version = line.partition(" ")
        if status == "installed":
            return plain_version(version)
    return None


def candidate_version(name: str) -> Optional[str]:
    match = re.search(r"Candidate: (\S+)", run("apt-cache", "policy", name))
    return plain_version(match.group(1)) if match and match.group(1) != "(none)" else None


def run(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def option_files(facts: Facts) -> Iterator[Finding]:
    """Our settings without loose_: a server does not start with an unknown setting."""
    if not facts.local:
        return
    wrong = [
        (file, number, line)
        for file, number, line in facts.option_lines()
        if OURS.match(line) and line.split("=")[0].strip().replace("-", "_").split("_")[0] in DOORS
    ]
    for file, number, line in wrong:
        yield Finding(
            "broken",
            "loose",
            f"{file}:{number}: {line}",
            "Without loose_ the database server does not start once Postern is not loaded, after an update for instance.",
            f"sed -i '{number}s/{line.split('=')[0].strip()}/loose_{line.split('=')[0].strip()}/' {file}",
        )
    if not wrong:
        yield good("loose", "Every setting of Postern in option files begins with loose_.")
    for file, number, line in facts.option_lines():
        if re.match(r"plugin[-_]maturity\s*=\s*stable", line, re.I):
            yield Finding(
                "broken",
                "maturity",
                f"{file}:{number}: {line}",
                "Postern's maturity is gamma, so the server will refuse it.",
                f"sed -i '{number}s/stable/gamma/I' {file}",
            )


CHECKS = (loaded, left_out, library_of_tomorrow, option_files)
