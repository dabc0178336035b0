"""The facts that checks examine: the server, and its machine if that is this one."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from postern_cli.failure import Failure
from postern_cli.server import Server

DOORS = {"handlersocket": ("port", "port_wr"), "memcached": ("port",), "redis": ("port",), "postern": ("port",)}
LIBRARY = "postern"
LOG_BYTES = 1 << 20  # read from the end of the error log


class Facts:
    """Facts are read once, on first use."""

    def __init__(
        self, server: Server, option_files: Tuple[str, ...] = ("/etc/mysql", "/etc/my.cnf", "/etc/my.cnf.d")
    ) -> None:
        self.server = server
        self.option_files = option_files
        self.variables = server.variables()
        self.status: Dict[str, Any] = server.status()
        self.refused: List[str] = []  # facts that the server does not show this account
        rows = self.ask(
            "SELECT plugin_name, plugin_status, plugin_type_version, plugin_auth_version, plugin_maturity FROM"
            " information_schema.plugins WHERE plugin_library LIKE 'postern%' ORDER BY plugin_name"
        )
        self.plugins: List[Tuple[Any, ...]] = list(rows or [])

    def ask(self, sql: str, arguments: Sequence[Any] = ()) -> Optional[List[Tuple[Any, ...]]]:
        """The rows; None if a table is missing or the server refuses, which is noted."""
        try:
            return self.server.query(sql, arguments)
        except Failure as failure:
            if "denied" in str(failure):
                self.refused.append(str(failure))
            return None

    @property
    def active(self) -> List[str]:
        """The active plugins, which are those with settings."""
        return [row[0].lower() for row in self.plugins if row[1] == "ACTIVE"]

    def doors(self) -> List[str]:
        return [name for name in self.active if f"{name}_port" in self.variables]

    def variable(self, name: str) -> str:
        return self.variables.get(name, "")

    def number(self, name: str) -> int:
        value = self.variable(name)
        return int(value) if value.isdigit() else 0

    def on(self, name: str) -> bool:
        return self.variable(name).upper() in ("ON", "1", "YES")

    def count(self, name: str) -> int:
        value = self.status.get(name, 0)
        return value if isinstance(value, int) else 0

    @property
    def version(self) -> str:
        """The server's version, as 10.11.18."""
        return self.variable("version").partition("-")[0]

    @property
    def local(self) -> bool:
        """Whether the server runs on this machine: its process exists, and it reports this machine's name."""
        if self.variable("hostname") != socket.gethostname():
            return False
        return os.path.exists(self.variable("pid_file")) or os.path.exists(self.variable("socket"))

    def option_lines(self) -> List[Tuple[str, int, str]]:
        """The lines of the machine's option files except blanks and comments: file, number, line."""
        found = []
        for place in map(Path, self.option_files):
            files = sorted(place.rglob("*.cnf")) if place.is_dir() else [place]
            for file in files:
                try:
                    lines = file.read_text(errors="replace").splitlines()
                except OSError:
                    continue
                found += [(str(file), number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
        return [entry for entry in found if entry[2][0] not in "#;"]

    def errors_logged(self, door: str) -> List[str]:
        """The error log's lines on a door's start since the server started; nothing if the log cannot be read."""
        path = Path(self.variable("datadir")) / (self.variable("log_error") or "-")
        try:
            with open(path, "rb") as log:
                log.seek(max(0, path.stat().st_size - LOG_BYTES))
                lines = log.read().decode(errors="replace").rpartition(" as process ")[2].splitlines()
        except OSError:
            return []
        found = (re.search(rf"\[ERROR\] Postern: {door}\b[^:]*: (.*?)\.?$", line) for line in lines)
        return [one[1] for one in found if one] if self.local else []

    def processors(self) -> int:
        """The machine's, if the server runs here; otherwise 0."""
        return len(os.sched_getaffinity(0)) if self.local else 0


def is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "localhost")
