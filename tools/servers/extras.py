"""engines, galera and mtr: parts of a server with packages of their own."""
from __future__ import annotations

import os
import shutil
from pathlib import Path

from servers import words
from servers.apt import Apt, foreign_release
from servers.console import Failure, Impossible, installed, need_tools, output, run, say
from servers.place import Place, build_folder, locked
from servers.unpack import executables, fetch_package, files_below, move_files, server_of, set_loader

ENGINES = "connect mroonga oqgraph rocksdb s3 spider".split()
PROVIDER = "libgalera_smm.so"


def server_folder(series: str) -> Path:
    """The server that the parts are for."""
    return Path(os.environ.get("POSTERN_SERVER_DIR") or build_folder(series) / "server")


def galera(series: str, folder: str | None) -> None:
    """The provider has versions of its own: any version of the release fits the release's server."""
    with locked(folder or build_folder(series) / "galera") as place:
        if (place.final / "galera.env").is_file():
            say(f"Galera {place.said('galera.env').get('GALERA_PACKAGE_VERSION', '')} is in {place}")
            return
        need_tools()
        with place.opened() as work:
            apt = Apt(work, foreign_release(series))
            say("fetching galera-4")
            if fetch_package(apt, "galera-4", work / "root") is None:
                raise Impossible("the mirror does not have the package galera-4")
            (package,) = (work / "download").glob("*.deb")
            version = output("dpkg-deb", "-f", package, "Version").strip()
            move_files((path for path in files_below(work / "root", PROVIDER) if not path.is_symlink()), work)
            if not (work / PROVIDER).is_file():
                raise Failure(f"the package galera-4 has no {PROVIDER}")
            drop_packages(work, "root")
            (work / "galera.env").write_text(words.env_text({"GALERA_PACKAGE_VERSION": version}))
            place.finish()
        say(f"Galera {version} is in {place}")


def drop_packages(work: Path, *unpacked: str) -> None:
    """Removes the downloaded packages, and the folders where they were unpacked."""
    for name in ("download", *unpacked):
        shutil.rmtree(work / name)


def engines(series: str, folder: str | None) -> None:
    """Fetches storage engines of the server's version."""
    version = server_of(server_folder(series))
    with locked(folder or build_folder(series) / "engines") as place:
        if place.said("engines.env").get("ENGINES_PACKAGE_VERSION") == version:
            say(f"the storage engines of {version} are in {place}")
            return
        need_tools()
        foreign = foreign_release(series)
        with place.opened() as work:
            missing = make_engines(Apt(work, foreign), version, foreign)
            pairs = {"ENGINES_PACKAGE_VERSION": version, "ENGINES_MISSING": " ".join(missing)}
            (work / "engines.env").write_text(words.env_text(pairs))
            place.finish()
        if missing:
            say(f"the mirror does not have of {version}: {' '.join(missing)}")
        say(f"the storage engines of {version} are in {place}")


def make_engines(apt: Apt, version: str, foreign: str | None) -> list[str]:
    """Puts the engines' libraries into WORK/plugin, their dependencies into WORK/lib; returns the missing engines."""
    work, root = apt.work, apt.work / "root"
    for name in ("root", "plugin", "lib"):
        (work / name).mkdir()
    missing, wanted = [], set()
    for engine in ENGINES:
        say(f"fetching mariadb-plugin-{engine}")
        needed = fetch_package(apt, f"mariadb-plugin-{engine}={version}", root)
        if needed is None:
            missing.append(engine)
        else:
            wanted.update(needed)
    if missing == ENGINES:
        raise Impossible(f"none of the packages of {version} can be had")
    fetch_needed(apt, wanted, root, foreign)
    move_files((path for path in files_below(root, "*.so") if path.match("lib/mysql/plugin/*")), work / "plugin")
    move_files((path for path in files_below(root, "*.so*") if "lib" in path.relative_to(root).parts), work / "lib")
    drop_packages(work, "root")
    return missing


def fetch_needed(apt: Apt, wanted: set[str], root: Path, foreign: str | None) -> None:
    """Unpacks libraries into root, with the dependencies that this machine lacks; for another release with all."""
    had: set[str] = set()
    while wanted:
        there = set() if foreign else installed(sorted(wanted))
        following: set[str] = set()
        for package in sorted(wanted - there):
            needed = fetch_package(apt, package, root)
            if needed is None:
                say(f"cannot fetch {package}")
            following.update(needed or [])
        had |= wanted
        wanted = following - had


def mtr(series: str, folder: str | None) -> None:
    """Fetches the server's own test programs. mtr takes its own folder for the server's; files there may be links."""
    server = server_folder(series)
    version = server_of(server)
    with locked(folder or build_folder(series) / "mtr") as place:
        said = place.said("mtr.env")
        if said.get("MTR_PACKAGE_VERSION") == version and Path(said.get("MTR_DIR") or "/nowhere").is_dir():
            say(f"the test programs of {version} are in {place}")
            return
        foreign = foreign_release(series)
        need_tools(*(["patchelf"] if foreign else []))
        with place.opened() as work:
            make_tests(Apt(work, foreign), server, version)
            if foreign:
                settle_tests(place, server)
            program = next(path for path in files_below(work / "root/usr/share", "mtr") if path.match("*test/mtr"))
            pairs = {"MTR_PACKAGE_VERSION": version, "MTR_DIR": f"{place.final / program.parent.relative_to(work)}"}
            (work / "mtr.env").write_text(words.env_text(pairs))
            place.finish()
        say(f"the test programs of {version} are in {place}")


def make_tests(apt: Apt, server: Path, version: str) -> None:
    """Puts links to the server, and the tests, into WORK/root, and the libraries that the tests need into WORK/lib."""
    work = apt.work
    for name in ("lib", "extra"):
        (work / name).mkdir()
    run("cp", "-as", Path(os.path.realpath(server)) / "root", work / "root")
    say(f"fetching mariadb-test of {version}")
    wanted: list[str] = []
    for package in ("mariadb-test", "mariadb-test-data"):
        needed = fetch_package(apt, f"{package}={version}", work / "root")
        if needed is None:
            raise Impossible(f"the mirror does not have {package} of {version}")
        wanted += needed
    has = (server / "libraries").read_text().split()
    for package in wanted:
        if package.startswith("libmariadb") or package in has:
            continue
        if fetch_package(apt, package, work / "extra") is None:
            raise Failure(f"the mirror does not have {package}")
    move_files(files_below(work / "extra", "*.so*"), work / "lib")
    drop_packages(work, "extra")


def settle_tests(place: Place, server: Path) -> None:
    """Makes the test programs load the same libraries as the server's programs."""
    program = server / "root/usr/sbin/mariadbd"
    loader = output("patchelf", "--print-interpreter", program).strip()
    libraries = output("patchelf", "--print-rpath", program).strip()
    paths = [path for path in files_below(place.work / "root") if path.stat().st_mode & 0o100]
    for path, _ in executables(paths):
        set_loader(path, loader, f"{place.final}/lib:{libraries}")
