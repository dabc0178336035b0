"""Our clients in the form of their registries: PyPI, CPAN, Packagist, and an archive for C++."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from release import archives

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def copy_of(folder, to):
    """The files of a folder that are part of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z", folder], cwd=ROOT, check=True, capture_output=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        target = to / pathlib.Path(name).relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return to


def run(command, folder, date):
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(date), "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def python(folder, out, date):
    """Wheel and source archive of a package."""
    for hook in ("build_wheel", "build_sdist"):
        with tempfile.TemporaryDirectory() as work:
            tree = copy_of(folder, pathlib.Path(work))
            made = tree / "made"
            made.mkdir()
            call = f"import setuptools.build_meta as backend; backend.{hook}({str(made)!r})"
            run([sys.executable, "-c", call], tree, date)
            (file,) = made.iterdir()
            if hook == "build_sdist":
                archives.pack_again(file, date)
            shutil.copy(file, out / file.name)


def perl(out, date):
    """The archive for CPAN, with the META files that it reads."""
    with tempfile.TemporaryDirectory() as work:
        tree = copy_of("clients/perl", pathlib.Path(work))
        run(["perl", "Makefile.PL"], tree, date)
        run(["make", "dist"], tree, date)
        (file,) = tree.glob("*.tar.gz")
        archives.pack_again(file, date)
        shutil.copy(file, out / file.name)


def php(out, date):
    with tempfile.TemporaryDirectory() as work:
        tree = copy_of("clients/php", pathlib.Path(work))
        version = re.search(r'"version": "([^"]+)"', (tree / "composer.json").read_text())[1]
        archives.write_zip(out / f"postern-handlersocket-php-{version}.zip", archives.entries_of(tree), date)


def cpp(out, version, date):
    with tempfile.TemporaryDirectory() as work:
        tree = copy_of("clients/cpp", pathlib.Path(work))
        name = f"handlersocket-cpp-{version}"
        archives.write_tar(out / f"{name}.tar.gz", name, archives.entries_of(tree), date)


def make(out, version, date):
    out.mkdir(parents=True)
    python("clients/python", out, date)
    python("cli", out, date)
    perl(out, date)
    php(out, date)
    cpp(out, version, date)
