"""The command-line tool `postern` as tests run it: the one file that tools/cli makes, against a server."""
import fcntl
import functools
import json
import subprocess
import sys

from support.server import ROOT


@functools.lru_cache
def tool():
    """The file, made anew once in each process that tests."""
    build = ROOT / "build"
    with open(build / "cli.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([ROOT / "tools/cli", build], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def parts():
    """Makes the tool's modules importable: its own and those it is made of."""
    folder = next((ROOT / "build/cli-parts").iterdir()) if tool() else None
    for path in (folder, ROOT / "clients/python/src", ROOT / "cli/src"):
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))


def where(server):
    """The options that lead to a server."""
    return ["--defaults-file", "/dev/null", "-S", server.env["SQL_SOCKET"], "-u", "root"]


def run(server, command, *arguments, code=0, stdin=None, **options):
    """The tool's output; its errors are in the assertion where it ends otherwise than with `code` (None: any)."""
    words = [tool(), command, *(where(server) if server else []), *map(str, arguments)]
    done = subprocess.run(words, input=stdin or "", capture_output=True, text=True, timeout=120, check=False, **options)
    assert code in (None, done.returncode), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code in (None, 0, 1) else done.stderr


def told(server, command, *arguments, **options):
    """The same with --json: a list of what each line has."""
    return [json.loads(line) for line in run(server, command, "--json", *arguments, **options).splitlines()]
