"""Connections to the doors of a server, at the addresses that the server reports."""

from __future__ import annotations

import argparse
import dataclasses
import os
import socket
import ssl
from typing import Any, List, Optional, Tuple

import posterndb

from postern_cli.failure import REFUSED, UNREACHABLE, Failure
from postern_cli.server import Server, Target

SECONDS = 30.0
LINE_MAX = 1 << 20
NAMES = ("handlersocket", "memcached", "redis", "sql", "sql-door")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("doors")
    group.add_argument("--secret", metavar="WORD", help="the plain secret of HandlerSocket's port (or POSTERN_SECRET)")
    group.add_argument("--door-host", metavar="NAME", help="the address of the doors' ports, if it is not the server's")


class Places:
    """Addresses and authentication of a server's doors."""

    def __init__(self, server: Server, options: Any) -> None:
        self._server = server
        self.host = getattr(options, "door_host", None) or server.target.door_host
        self.secret = getattr(options, "secret", None) or os.environ.get("POSTERN_SECRET")
        self._ssl_ca = server.target.ssl_ca

    def port(self, setting: str) -> int:
        """The port that a setting names. Raises Failure if there is none."""
        plugin = setting.partition("_port")[0]
        if setting not in self._server.variables():
            raise Failure(f"the server has no {plugin} door: INSTALL SONAME 'postern'; postern doctor says more")
        port = self._server.number(setting)
        if not port:
            raise Failure(f"{setting} is 0: the server opens no such port")
        return port

    def address(self, plugin: str) -> str:
        address = self._server.variable(f"{plugin}_address")
        return self.host if address in ("", "0.0.0.0", "::") or self.host not in ("127.0.0.1", "::1") else address

    def account(self, plugin: str) -> bool:
        return self._server.variable(f"{plugin}_auth") == "account"

    def tls(self, plugin: str) -> Optional[ssl.SSLContext]:
        """TLS, if an authority was given or the door requires it."""
        if self._ssl_ca:
            return ssl.create_default_context(cafile=self._ssl_ca)
        if self._server.variable(f"{plugin}_require_tls") == "ON":
            raise Failure(f"{plugin}_require_tls is ON: --ssl-ca names the authority of the server's certificate")
        return None

    def has(self, name: str) -> bool:
        if name == "sql":
            return True
        name = "postern" if name == "sql-door" else name
        if name == "postern" and self._server.variable("postern_socket"):
            return True
        return any(self._server.number(f"{name}_{setting}") for setting in ("port", "port_wr"))

    def handlersocket(self, write: bool = False) -> posterndb.Connection:
        """A connection to the port for reading, or for writing."""
        port = self.port("handlersocket_port_wr" if write else "handlersocket_port")
        where = self._server.target
        try:
            return posterndb.connect(
                self.address("handlersocket"),
                port,
                user=where.user if self.account("handlersocket") else None,
                password=where.password if self.account("handlersocket") else "",
                secret=None if self.account("handlersocket") else self.secret,
                tls=self.tls("handlersocket") or False,
                timeout=SECONDS,
            )
        except posterndb.Error as error:
            raise Failure(f"HandlerSocket, port {port}: {error}", UNREACHABLE) from None

    def sql_door(self) -> Target:
        """The address of the SQL door for a client of SQL."""
        port = self.port("postern_port")
        return dataclasses.replace(self._server.target, socket="", host=self.address("postern"), port=port)

    def of_sql(self, door: str, transport: str) -> Target:
        """The server's own port or socket (sql), or the SQL door's (sql-door). Raises Failure if there is none."""
        name, setting = ("the server", "") if door == "sql" else ("the SQL door", "postern_")
        if transport == "socket":
            path = self._server.variable(f"{setting}socket")
            if not path:
                raise Failure(f"{name} has no unix socket: --transport tcp")
            return dataclasses.replace(self._server.target, socket=path, host="localhost")
        if door == "sql-door":
            return self.sql_door()
        port = self._server.number("port")
        if not port or self._server.variable("skip_networking") == "ON":
            raise Failure("the server has no port for SQL: --transport socket")
        return dataclasses.replace(self._server.target, socket="", host=self.host, port=port)

    def memcached(self) -> "Memcached":
        place = (self.address("memcached"), self.port("memcached_port"))
        where = self._server.target
        login = (where.user, where.password) if self.account("memcached") else None
        return Memcached(Wire("memcached", place, self.tls("memcached")), login)

    def redis(self) -> "Redis":
        place = (self.address("redis"), self.port("redis_port"))
        where = self._server.target
        login = (where.user, where.password) if self.account("redis") else None
        return Redis(Wire("Redis", place, self.tls("redis")), login)


class Wire:
    """Lines and bytes over a connection."""

    def __init__(self, name: str, place: Tuple[str, int], tls: Optional[ssl.SSLContext]) -> None:
        self._name = f"{name}, port {place[1]}"
        try:
            self._socket = socket.create_connection(place, timeout=SECONDS)
            if tls:
                self._socket = tls.wrap_socket(self._socket, server_hostname=place[0])
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, ssl.SSLError) as error:
            raise Failure(f"{self._name}: {error}", UNREACHABLE) from None
        self._reader = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Failure(f"{self._name}: {error}", UNREACHABLE) from None

    def line(self) -> bytes:
        try:
            line = self._reader.readline(LINE_MAX)
        except OSError as error:
            raise Failure(f"{self._name}: {error}", UNREACHABLE) from None
        if not line.endswith(b"\n"):
            raise Failure(f"{self._name}: the door closed the connection", UNREACHABLE)
        return line.rstrip(b"\r\n")

    def bytes(self, count: int) -> bytes:
        try:
            data = self._reader.read(count)
        except OSError as error:
            raise Failure(f"{self._name}: {error}", UNREACHABLE) from None
        if len(data) < count:
            raise Failure(f"{self._name}: the door closed the connection", UNREACHABLE)
        return data

    def close(self) -> None:
        self._reader.close()
        self._socket.close()


class Memcached:
    """The text dialect. Keys may begin with @@container."""

    ENDS = (
        b"STORED",
        b"NOT_STORED",
        b"EXISTS",
        b"NOT_FOUND",
        b"DELETED",
        b"TOUCHED",
        b"OK",
        b"END",
        b"VERSION",
        b"RESET",
    )

    def __init__(self, wire: Wire, login: Optional[Tuple[str, str]] = None) -> None:
        self._wire = wire
        if login:
            said = self.command(b"set login 0 0 ", " ".join(login).encode())
            if said != [b"STORED"]:
                raise Failure(f"memcached: {said[-1].decode('utf-8', 'replace')}", UNREACHABLE)

    def command(self, line: bytes, value: Optional[bytes] = None) -> List[bytes]:
        """Sends a command with its value and the value's length; returns the lines of the answer, values among them."""
        data = line + b"\r\n" if value is None else line + b"%d\r\n" % len(value) + value + b"\r\n"
        self._wire.send(data)
        told = []
        while True:
            answer = self._wire.line()
            told.append(answer)
            if answer.startswith(b"VALUE "):
                told.append(self._wire.bytes(int(answer.split()[3]) + 2)[:-2])
            elif answer.startswith(b"VA "):
                told.append(self._wire.bytes(int(answer.split()[1]) + 2)[:-2])
                return told
            elif answer.startswith((b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR")) or answer.isdigit():
                return told
            elif answer.split(b" ")[0] in self.ENDS or answer[:2] in (b"HD", b"EN", b"NS", b"NF", b"EX", b"MN", b"ME"):
                return told

    def get(self, key: str) -> Optional[bytes]:
        told = self.checked(self.command(b"get " + key.encode()))
        return told[1] if told[0].startswith(b"VALUE") else None

    def set(self, key: str, value: bytes, flags: int = 0, expiry: int = 0) -> None:
        self.checked(self.command(b"set %s %d %d " % (key.encode(), flags, expiry), value))

    def checked(self, told: List[bytes]) -> List[bytes]:
        if told[-1].startswith((b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR")):
            raise Failure(f"memcached: {told[-1].decode('utf-8', 'replace')}", REFUSED)
        return told

    def close(self) -> None:
        self._wire.close()


class Redis:
    """A client of Redis' protocol, RESP2."""

    def __init__(self, wire: Wire, login: Optional[Tuple[str, str]] = None) -> None:
        self._wire = wire
        if login:
            self.command("AUTH", *login)

    def command(self, *words: Any) -> Any:
        """Sends a command; returns the answer. Raises Failure for an error."""
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self._wire.send(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self._answer(0)

    def _answer(self, depth: int) -> Any:
        line = self._wire.line()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise Failure(rest.decode("utf-8", "replace"), REFUSED)
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else self._wire.bytes(length + 2)[:-2]
        if kind == b"*" and depth < 8:
            count = int(rest)
            return None if count < 0 else [self._answer(depth + 1) for _ in range(count)]
        raise Failure(f"Redis: malformed answer: {line[:60]!r}", REFUSED)

    def close(self) -> None:
        self._wire.close()
