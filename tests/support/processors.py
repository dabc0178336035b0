"""How much of a run the processors had nothing to do: scripts/timed prints it for the other steps of make test."""
import os
import time
from pathlib import Path


def idle_seconds():
    """Of all processors since the machine's start."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


BEGAN, IDLE_BEFORE = time.monotonic(), idle_seconds()


def show_idle(terminal):
    available = (time.monotonic() - BEGAN) * os.cpu_count()
    terminal.line(f"processors idle: {(idle_seconds() - IDLE_BEFORE) / max(available, 0.01):.0%}")
