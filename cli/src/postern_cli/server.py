"""The server's SQL side: its address, variables and status."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import getpass
import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pymysql

from postern_cli.failure import UNREACHABLE, Failure

OPTION_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
GROUPS = ("client", "client-server", "client-mariadb", "mariadb-client", "postern")
NAMES = ("host", "port", "socket", "user", "password", "ssl-ca", "database")
SOCKETS = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")
CONNECT_SECONDS = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a connection to the server; the rest comes from option files, as for other clients."""
    group = parser.add_argument_group("connection")
    group.add_argument("--defaults-file", metavar="FILE", help="read only this option file")
    group.add_argument("--host", metavar="NAME", help="the server's address, also -h NAME; localhost: its socket")
    group.add_argument("-P", "--port", type=int, metavar="N", help="its port for SQL (3306)")
    group.add_argument("-S", "--socket", metavar="PATH", help="its socket for SQL")
    group.add_argument("-u", "--user", metavar="NAME", help="the account")
    group.add_argument(
        "-p", "--password", nargs="?", const="", metavar="WORD", help="its password; without a word, prompts for it"
    )
    group.add_argument(
        "--ssl-ca", metavar="FILE", help="use TLS, and verify the server's certificate with this authority; doors, too"
    )


def option_file(path: str, found: Dict[str, str], depth: int = 0) -> None:
    """Adds the settings of an option file's client groups."""
    try:
        lines = Path(path).expanduser().read_text(errors="replace").splitlines()
    except OSError:
        return
    group = ""
    for line in lines:
        line = line.strip()
        if line.startswith("!includedir") and depth < 5:
            for each in sorted(glob.glob(line.split(None, 1)[1].strip() + "/*.cnf")):
                option_file(each, found, depth + 1)
        elif line.startswith("!include") and depth < 5:
            option_file(line.split(None, 1)[1].strip(), found, depth + 1)
        elif line.startswith("["):
            group = line.strip("[]").strip()
        elif line and line[0] not in "#;" and group in GROUPS:
            name, _, value = line.partition("=")
            name = re.sub(r"^loose[-_]", "", name.strip()).replace("_", "-")
            if name in NAMES:
                found[name] = value.strip().strip("'\"")


@dataclass
class Target:
    """The server's address and the account."""

    host: str = ""
    port: int = 3306
    socket: str = ""
    user: str = ""
    password: str = ""
    ssl_ca: str = ""

    @property
    def door_host(self) -> str:
        """The host for a port of a door that listens on all addresses or on loopback."""
        return self.host if self.host and self.host != "localhost" else "127.0.0.1"


def target(options: Any) -> Target:
    """The address from the command line and option files."""
    found: Dict[str, str] = {}
    if options.defaults_file and not os.access(options.defaults_file, os.R_OK):
        raise Failure(f"cannot read the option file {options.defaults_file}")
    for path in [options.defaults_file] if options.defaults_file else OPTION_FILES:
        option_file(path, found)
    for name in NAMES:
        value = getattr(options, name.replace("-", "_"), None)
        if value is not None:
            found[name] = str(value)
    if options.password == "":
        found["password"] = getpass.getpass("Password: ")
    host, socket = found.get("host", ""), found.get("socket", "")
    if (options.host or options.port) and not options.socket:
        socket = ""  # ignores the option file's socket: the command line has a port
        host = host or "127.0.0.1"
        host = "127.0.0.1" if host == "localhost" and options.port else host
    if not socket and host in ("", "localhost"):
        socket = next((path for path in SOCKETS if os.path.exists(path)), SOCKETS[0])
    return Target(
        host=host,
        port=int(found.get("port") or 3306),
        socket=socket,
        user=found.get("user") or getpass.getuser(),
        password=found.get("password", ""),
        ssl_ca=found.get("ssl-ca", ""),
    )


class Server:
    """A connection to the server's SQL port. One thread uses it."""

    def __init__(self, where: Target) -> None:
        self.target = where
        arguments: Dict[str, Any] = (
            {"unix_socket": where.socket} if where.socket else {"host": where.host, "port": where.port}
        )
        if where.ssl_ca and not where.socket:
            arguments["ssl"] = {"ca": where.ssl_ca}
        try:
            self._connection = pymysql.connect(
                user=where.user,
                password=where.password,
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                **arguments,
            )
        except (pymysql.MySQLError, OSError) as error:
            raise Failure(f"cannot connect to the server: {words_of(error)}", UNREACHABLE) from None
        # Otherwise the server logs an aborted client.
        atexit.register(self.close)
        self._variables: Dict[str, str] = {}
        self.columns: List[str] = []  # columns of the last result
        self.affected = 0

    def query(self, sql: str, arguments: Sequence[Any] = ()) -> List[Tuple[Any, ...]]:
        """Runs one statement. Raises Failure with the server's words."""
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(sql, tuple(arguments) or None)
                rows = list(cursor.fetchall())
            except (pymysql.MySQLError, OSError) as error:
                raise Failure(words_of(error)) from None
            self.columns = [column[0] for column in cursor.description or ()]
            self.affected = cursor.rowcount
        return rows

    def try_query(self, sql: str, arguments: Sequence[Any] = ()) -> Optional[List[Tuple[Any, ...]]]:
        """The rows; None if the server refuses, because a table or a privilege is missing."""
        try:
            return self.query(sql, arguments)
        except Failure:
            return None

    def variables(self) -> Dict[str, str]:
        """All global variables, read once, on first use."""
        if not self._variables:
            self._variables = {name.lower(): value for name, value in self.query("SHOW GLOBAL VARIABLES")}
        return self._variables

    def variable(self, name: str) -> str:
        return self.variables().get(name, "")

    def number(self, name: str) -> int:
        value = self.variable(name)
        return int(value) if value.isdigit() else 0

    def status(self, pattern: str = "%") -> Dict[str, Any]:
        """Current status variables; numbers as int."""
        rows = self.query("SHOW GLOBAL STATUS WHERE variable_name LIKE %s", (pattern,))
        return {name.lower(): int(value) if value.lstrip("-").isdigit() else value for name, value in rows}

    def close(self) -> None:
        with contextlib.suppress(pymysql.MySQLError, OSError):
            self._connection.close()


def words_of(error: Exception) -> str:
    """The message of the server or the system."""
    if isinstance(error, pymysql.MySQLError) and len(error.args) > 1:
        return f"{error.args[1]} ({error.args[0]})"
    return str(error)
