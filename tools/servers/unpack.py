"""Unpacks packages and source into folders, and sets the libraries that the programs there load."""
from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Iterable, Iterator

from servers import words
from servers.apt import Apt
from servers.console import Failure, install_packages, installed, logged, output, run, say, show_end_of
from servers.place import SERVER_ENV, Place, read_env

# Parts of the source, two thirds of it, that neither builds nor readers of the server need.
UNNEEDED_SOURCE = """mysql-test/main mysql-test/suite mysql-test/plugin plugin/handler_socket storage/columnstore storage/rocksdb
  storage/mroonga extra/wolfssl sql-bench win man""".split()
GENERATED_HEADERS = "my_config.h mysql_version.h mysqld_error.h mysqld_ername.h sql_state.h handler_ername.h".split()


def remove(path: Path) -> None:
    """Removes a file, a link or a whole folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def unpack_source(work: Path, downloaded: Path, version: str) -> None:
    """Unpacks the source package in a folder into WORK/source, and removes the folder."""
    log, source = work / "source.log", work / "source"
    if not logged(log, "dpkg-source", "--no-check", "-x", *downloaded.glob("*.dsc"), source):
        show_end_of(log)
        raise Failure(f"the source of {version} was downloaded but could not be unpacked")
    # dpkg-source leaves a copy of the archive beside the source.
    for path in [downloaded, *work.glob("*.orig.tar.*"), *(source / part for part in UNNEEDED_SOURCE)]:
        remove(path)
    # The server's own build makes character sets from the files in unicode.
    for path in (source / "mysql-test/std_data").iterdir():
        if path.name != "unicode":
            remove(path)


def unpack_packages(downloaded: Path, root: Path) -> set[str]:
    """Unpacks the packages in a folder into root, removes the folder; returns the library packages that they need."""
    libraries: set[str] = set()
    for package in sorted(downloaded.glob("*.deb")):
        run("dpkg-deb", "-x", package, root)
        for field in ("Depends", "Pre-Depends"):
            libraries |= words.shared_libraries(output("dpkg-deb", "-f", package, field))
    shutil.rmtree(downloaded)
    return libraries


def fetch_packages(apt: Apt, versions: list[str], root: Path) -> bool:
    """Downloads packages, each NAME=VERSION, unpacks them into root, and lists their libraries in WORK/libraries. False
    if the mirror lacks one."""
    downloaded = apt.work / "download"
    if not apt.packages(versions, downloaded):
        apt.show_why()
        return False
    write_libraries(apt.work, unpack_packages(downloaded, root))
    return True


def write_libraries(work: Path, libraries: Iterable[str]) -> None:
    """See ensure_libraries and bring_libraries."""
    (work / "libraries").write_text("".join(f"{name}\n" for name in sorted(libraries)))


def fetch_package(apt: Apt, package: str, root: Path) -> list[str] | None:
    """Downloads one package (NAME, or NAME=VERSION) and unpacks it into root. Returns the libraries that it depends on; None
    if it is not available. WORK/download holds it until the next call."""
    downloaded = apt.work / "download"
    if not apt.packages([package], downloaded):
        return None
    (path,) = downloaded.glob("*.deb")
    run("dpkg-deb", "-x", path, root)
    return [name for name in words.dependencies(output("dpkg-deb", "-f", path, "Depends")) if name.startswith("lib")]


def bring_libraries(apt: Apt, root: Path) -> None:
    """Unpacks the packages in WORK/libraries and all their dependencies into root."""
    say("fetching the shared libraries of that release")
    wanted = set((apt.work / "libraries").read_text().split())
    had: set[str] = set()
    while wanted:
        downloaded = apt.work / "download"
        if not apt.packages(sorted(wanted), downloaded):
            apt.show_why()
            raise Failure("the shared libraries that the server needs could not be downloaded")
        had |= wanted
        wanted = unpack_packages(downloaded, root) - had


def ensure_libraries(folder: Path) -> None:
    """Installs the shared libraries that the programs unpacked in the folder need."""
    programs = [folder / "root/usr" / name for name in ("sbin/mariadbd", "bin/mariadb", "bin/mariadb-backup")]
    if not words.missing_libraries(output("ldd", *programs)):
        return
    needed = (folder / "libraries").read_text().split()
    there = installed(needed)
    missing = [package for package in needed if package not in there]
    say(f"installing the shared libraries the server needs: {' '.join(missing)}")
    install_packages(missing)
    still = words.missing_libraries(output("ldd", *programs))
    if still:
        raise Failure(f"the server's programs still miss shared libraries: {' '.join(still)}")


def executables(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """The programs among the files, with the loader that each names. Skips links, which may lead out of the root."""
    for path in paths:
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        loader = output("patchelf", "--print-interpreter", path).strip()
        if loader:
            yield path, loader


def files_below(root: Path, name: str = "*") -> list[Path]:
    """All files and links below a folder with a matching name, sorted by path."""
    return sorted(path for path in root.rglob(name) if path.is_symlink() or not path.is_dir())


def settle_programs(root: Path, final: Path) -> None:
    """Makes the programs of root load the loader and libraries of root, by the final path of root."""
    (libraries,) = (root / "usr/lib").glob("*-linux-gnu*")
    loaders: dict[str, Path] = {}
    places = [*sorted((root / "usr/bin").iterdir()), *sorted((root / "usr/sbin").iterdir())]
    for program, loader in executables(places):
        name = Path(loader).name
        if name not in loaders:
            loaders[name] = next(path for path in files_below(root, name) if not path.is_symlink())
        load = final / loaders[name].relative_to(root)
        set_loader(program, str(load), str(final / "usr/lib" / libraries.name))


def set_loader(program: Path, loader: str, libraries: str) -> None:
    run("patchelf", "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries, program)


def stage_headers(work: Path) -> None:
    """Puts the generated headers from the development package into WORK/include-generated."""
    headers, target = work / "root/usr/include/mariadb/server", work / "include-generated"
    target.mkdir()
    for name in GENERATED_HEADERS:
        if not (headers / name).is_file():
            raise Failure(f"the development package has no {name}")
        shutil.copy(headers / name, target)
    shutil.copy(work / "source/include/probes_mysql_nodtrace.h.in", target / "probes_mysql_nodtrace.h")


def services_library(place: Place) -> str:
    """The final path of the static library of the server's services."""
    found = list((place.work / "root/usr/lib").glob("*/libmysqlservices.a"))
    if len(found) != 1:
        raise Failure("the development package has no libmysqlservices.a")
    return str(place.final / found[0].relative_to(place.work))


def program_version(program: Path) -> str:
    """The program's version, as 10.11.18-MariaDB; empty if it does not run."""
    return words.program_version(output(program, "--no-defaults", "--version"))


def check_agreement(work: Path, program: Path | None = None) -> None:
    """Checks that the headers have the same version as the source and the program, if one is given."""
    headers = words.define((work / "include-generated/mysql_version.h").read_text(), "MYSQL_SERVER_VERSION")
    if program:
        version = program_version(program)
        if not version:
            raise Failure(f"{program} does not run")
        if headers != version:
            raise Failure(f"the server says it is {version} but the headers are of {headers}")
    parts = words.env_pairs((work / "source/VERSION").read_text())
    source = ".".join(parts.get(f"MYSQL_VERSION_{part}", "") for part in ("MAJOR", "MINOR", "PATCH")) + "-MariaDB"
    if headers != source:
        raise Failure(f"the headers are of {headers} but the source is of {source}")


def server_of(folder: Path) -> str:
    """The package version of a server that fetch has made."""
    version = read_env(folder / SERVER_ENV).get("SERVER_PACKAGE_VERSION")
    if not version:
        raise Failure(f"there is no server in {folder}; run tools/server fetch")
    return version


def move_files(paths: Iterable[Path], folder: Path) -> None:
    for path in paths:
        os.replace(path, folder / path.name)
