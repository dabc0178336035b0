"""The command-line tool `postern` for tests: the single file that tools/cli makes, run against a server."""
import fcntl
import functools
import json
import subprocess
import sys
import zipfile

from support.server import ROOT


@functools.lru_cache
def tool():
    """The file, built once in each test process."""
    build = ROOT / "build"
    with open(build / "cli.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([ROOT / "tools/cli", build], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def of_another_python(tool, to):
    """The same file as a Python sees it that made none of its compiled modules."""
    with zipfile.ZipFile(tool) as all_parts, zipfile.ZipFile(to, "w") as changed:
        names = set(all_parts.namelist())
        assert {f"{name}c" for name in names if name.endswith(".py")} <= names, "not all modules are compiled"
        for name in names:
            part = all_parts.read(name)
            changed.writestr(name, b"\0\0\r\n" + part[4:] if name.endswith(".pyc") else part)


def parts():
    """Makes the tool's modules, and those that it includes, importable."""
    folder = next((ROOT / "build/cli-parts").iterdir()) if tool() else None
    for path in (folder, ROOT / "clients/python/src", ROOT / "cli/src"):
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))


def where(server):
    """The options that select a server."""
    return ["--defaults-file", "/dev/null", "-S", server.env["SQL_SOCKET"], "-u", "root"]


def run(server, command, *arguments, code=0, stdin=None, **options):
    """The tool's output; fails with its errors unless it exits with `code` (None: any)."""
    words = [tool(), command, *(where(server) if server else []), *map(str, arguments)]
    done = subprocess.run(words, input=stdin or "", capture_output=True, text=True, timeout=120, check=False, **options)
    assert code in (None, done.returncode), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code in (None, 0, 1) else done.stderr


def told(server, command, *arguments, **options):
    """The same with --json: the parsed lines."""
    return [json.loads(line) for line in run(server, command, "--json", *arguments, **options).splitlines()]
