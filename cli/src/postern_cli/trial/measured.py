"""The cost of a stretch of work: time, the server's processor time, and statements."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from postern_cli.server import Server


class Stretch:
    """Measures from construction to done(), the server's other clients included."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._status = server.status()
        self._cpu = cpu_seconds(server)
        self._begun = time.monotonic()

    def done(self, at: str) -> Dict[str, Any]:
        seconds = time.monotonic() - self._begun
        cpu, now = cpu_seconds(self._server), self._server.status()

        def grown(name: str) -> int:
            return int(now.get(name, 0)) - int(self._status.get(name, 0))

        fast = grown("postern_statements_fast")
        return {
            "at": at,
            "seconds": seconds,
            "cpu_seconds": cpu - self._cpu if cpu is not None and self._cpu is not None else None,
            "statements": fast + grown("postern_statements_served") if at == "door" else grown("questions"),
            "by_workers": fast,
        }


def cpu_seconds(server: Server) -> Optional[float]:
    """The server's processor time, if it runs on this machine."""
    try:
        pid = int(Path(server.variable("pid_file")).read_text())
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def gains(runs: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The sum over all rounds."""

    def total(at: str, name: str) -> Optional[float]:
        values = [one[name] for one in runs if one["at"] == at]
        return None if None in values else sum(values)

    port, door = total("port", "seconds"), total("door", "seconds")
    cpu_port, cpu_door = total("port", "cpu_seconds"), total("door", "cpu_seconds")
    return {
        "times_as_fast": port / door if port and door else None,
        "cpu_part": cpu_door / cpu_port if cpu_port and cpu_door is not None else None,
    }
