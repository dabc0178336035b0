"""Reads single keys from a terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, List, Optional

SEQUENCES = {"\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down", "\x1b": "escape"}
NAMES = {"\r": "enter", "\n": "enter", "k": "up", "j": "down"}


class Keys:
    """Puts the terminal into raw mode without echo, until close()."""

    def __init__(self) -> None:
        import termios
        import tty

        self._typed = ""  # typed, and not processed yet
        self._saved: Optional[List[Any]] = None
        if sys.stdin.isatty():
            self._saved = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        sys.stdout.write("\x1b[?1049h\x1b[?25l")

    def wait(self, seconds: float) -> str:
        """The next key, as a name or a character; empty if none was pressed."""
        import select

        if self._saved is None:
            time.sleep(seconds)
            return ""
        file = sys.stdin.fileno()
        if not self._typed and select.select([file], [], [], seconds)[0]:
            self._typed = os.read(file, 64).decode(errors="replace")
        for sequence, name in SEQUENCES.items():
            if self._typed.startswith(sequence):
                self._typed = self._typed[len(sequence) :]
                return name
        key, self._typed = self._typed[:1], self._typed[1:]
        return NAMES.get(key, key)

    def close(self) -> None:
        import termios

        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
        if self._saved is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._saved)
