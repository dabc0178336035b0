"""The folder that a command makes."""
from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Iterator, Mapping

from servers import words
from servers.console import say

ROOT = Path(os.path.abspath(__file__)).parent.parent.parent
# Raise it when the content of the folder changes, so that older folders are made anew.
LAYOUT = "1"
SERVER_ENV = "server.env"


class Place:
    """A folder, with its path resolved, on which one run at a time works. It is built in a temporary folder beside it,
    so that the last step is a rename and an interrupted run changes nothing."""

    def __init__(self, folder: Path) -> None:
        self.final = folder
        self.work = folder
        """The temporary folder, once opened."""

    def __str__(self) -> str:
        return str(self.final.relative_to(ROOT) if self.final.is_relative_to(ROOT) else self.final)

    def said(self, name: str) -> dict[str, str]:
        """The pairs in a file of results; none if there is no such file."""
        return read_env(self.final / name)

    def is_server(self, **wanted: str) -> bool:
        """True if the folder is complete, was made at this path, and has the wanted results."""
        said = self.said(SERVER_ENV)
        wanted = {"SERVER_LAYOUT": LAYOUT, "SERVER_DIR": str(self.final), **wanted}
        return all(said.get(name) == value for name, value in wanted.items())

    @contextlib.contextmanager
    def opened(self) -> Iterator[Path]:
        """Yields the temporary folder, and removes it at the end unless finish() was called."""
        prefix = f"{self.final.name}.tmp."
        for path in self.final.parent.iterdir():
            if path.name.startswith(prefix):
                shutil.rmtree(path)
        self.work = Path(tempfile.mkdtemp(prefix=prefix, dir=self.final.parent))
        self.work.chmod(0o755)
        try:
            yield self.work
        finally:
            shutil.rmtree(self.work, ignore_errors=True)

    def finish(self) -> None:
        """Renames the temporary folder to the final one."""
        for name in ("lists", "cache", "sources.list.d"):
            shutil.rmtree(self.work / name, ignore_errors=True)
        for log in self.work.glob("*.log"):
            log.unlink()
        # The results go first: if removing the old tree is interrupted, it counts as absent.
        (self.final / SERVER_ENV).unlink(missing_ok=True)
        if self.final.exists():
            shutil.rmtree(self.final)
        self.work.rename(self.final)

    def write_server(self, pairs: Mapping[str, str]) -> None:
        """Writes the results of a server; server.env last, so that its presence means "complete"."""
        (self.work / "server.cmake").write_text(words.cmake_text(pairs))
        new = self.work / f"{SERVER_ENV}.new"
        new.write_text(words.env_text(pairs))
        new.rename(self.work / SERVER_ENV)


@contextlib.contextmanager
def locked(folder: str | Path) -> Iterator[Place]:
    """Locks the place of a folder; waits while another run works on it."""
    Path(folder).parent.mkdir(parents=True, exist_ok=True)
    final = Path(os.path.realpath(folder))
    with open(f"{final}.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that works on {folder}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield Place(final)


def read_env(path: Path) -> dict[str, str]:
    try:
        return words.env_pairs(path.read_text())
    except FileNotFoundError:
        return {}


def build_folder(series: str) -> Path:
    """The default folder for the parts of a series."""
    return ROOT / ("build" if series == "10.11" else f"build-{series}")
