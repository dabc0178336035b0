"""Runs programs to their end."""
import subprocess

from support.server import ROOT


def output_of(*words, seconds=120, **options):
    """The standard output of a program, which runs in the repository's root unless `cwd` is given, and must exit with 0
    within `seconds`."""
    options = {"cwd": ROOT} | options
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=seconds,
        **options,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
