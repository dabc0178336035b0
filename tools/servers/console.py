"""Messages, failures, and running other programs."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Union

Word = Union[str, Path]
LOG_TAIL_LINES = 5


class Failure(Exception):
    """An error with a message for the user; the program exits with the code."""

    code = 1


class Impossible(Failure):
    """It is not available on this machine."""

    code = 3


def say(message: str) -> None:
    print(f"tools/server: {message}", file=sys.stderr, flush=True)


def run(*command: Word) -> None:
    """Runs a program that has to succeed."""
    done = subprocess.run(command, check=False)
    if done.returncode != 0:
        raise Failure(f"{command[0]} failed")


def output(*command: Word, quiet: bool = True) -> str:
    """The output of a program, whatever its exit code; empty if there is no such program."""
    errors = subprocess.DEVNULL if quiet else None
    try:
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=errors)
    except OSError:
        return ""
    return done.stdout.decode(errors="replace")


def logged(log: Path, *command: Word, cwd: Path | None = None) -> bool:
    """True if the program succeeded. Appends its output to the log."""
    with log.open("ab") as file:
        done = subprocess.run(command, check=False, stdout=file, stderr=subprocess.STDOUT, cwd=cwd)
    return done.returncode == 0


def show_end_of(log: Path) -> None:
    lines = log.read_text(errors="replace").splitlines()
    print(*lines[-LOG_TAIL_LINES:], sep="\n", file=sys.stderr, flush=True)


def as_root(*command: str) -> list[str]:
    """The command as root runs it."""
    if os.getuid() == 0:
        return list(command)
    if not shutil.which("sudo"):
        raise Failure(f"this needs root, and sudo is not installed: {' '.join(command)}")
    return ["sudo", *command]


def install_packages(packages: list[str]) -> None:
    """Installs Debian packages on this machine, after an update of the lists if the first try fails."""
    options = ["-q", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=600"]
    install = as_root("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *options, "install", *packages)
    if logged(Path(os.devnull), *install):
        return
    logged(Path(os.devnull), *as_root("apt-get", "-q", "update"))
    if subprocess.run(install, check=False, stdout=sys.stderr).returncode != 0:
        raise Failure(f"apt-get could not install: {' '.join(packages)}")


def installed(packages: list[str]) -> set[str]:
    """Those of the packages that are installed."""
    lines = output("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *packages).splitlines()
    return {line.split()[1] for line in lines if line.startswith("installed ")}


def need_tools(*more: str) -> None:
    """Installs the packages of missing commands. Each of more is a command with a package of the same name."""
    commands = {"apt-get": "apt", "dpkg-source": "dpkg-dev", "patch": "patch", "xz": "xz-utils", "gzip": "gzip"}
    commands.update({name: name for name in more})
    missing = [package for command, package in commands.items() if not shutil.which(command)]
    if not shutil.which("apt-get"):
        raise Impossible(
            "this machine has no apt. Postern's tools fetch servers from Debian packages;"
            " elsewhere build the plugin inside the server's source tree."
        )
    if missing:
        install_packages(missing)
