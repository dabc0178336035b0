"""A raw memcached client for tests: it sends the given bytes, and returns the answers unchanged."""
import re
import socket
import struct

from support.connection import Connection
from support.waiting import until


def listens(port):
    """Whether the door is open."""
    try:
        socket.create_connection(("127.0.0.1", int(port)), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True


class Client(Connection):
    def _receive(self):
        part = self.socket.recv(1 << 20)
        if not part:
            raise EOFError(f"connection closed; unfinished: {self.received[:200]!r}")
        self.received += part

    def line(self):
        """The next line, without its end."""
        while b"\r\n" not in self.received:
            self._receive()
        line, _, self.received = self.received.partition(b"\r\n")
        return line

    def take(self, size):
        parts, have = [self.received], len(self.received)
        while have < size:
            part = self.socket.recv(1 << 20)
            if not part:
                raise EOFError(f"connection closed after {have} of {size} bytes")
            parts.append(part)
            have += len(part)
        whole = b"".join(parts)
        self.received = whole[size:]
        return whole[:size]

    def ask(self, command):
        """Sends a line; returns the first line of the answer."""
        self.send(command.encode() + b"\r\n")
        return self.line().decode()

    def items(self):
        """The items of an answer up to its END, as (key, flags, value, cas or None); any other line ends the answer and
        raises ServerSays."""
        found = []
        while (line := self.line()) != b"END":
            match = re.fullmatch(rb"VALUE (\S+) (\d+) (\d+)(?: (\d+))?", line)
            if not match:
                raise ServerSays(line.decode())
            value = self.take(int(match[3]))
            assert self.take(2) == b"\r\n"
            found.append((match[1].decode(), int(match[2]), value, int(match[4]) if match[4] else None))
        return found

    def get(self, *keys, command="get"):
        """One key: its value or None. Several: a dictionary of the existing ones."""
        self.send(f"{command} {' '.join(keys)}\r\n".encode())
        values = {key: value for key, _, value, _ in self.items()}
        return values.get(keys[0]) if len(keys) == 1 else values

    def gets(self, key):
        """(flags, value, cas), or None."""
        self.send(f"gets {key}\r\n".encode())
        items = self.items()
        return items[0][1:] if items else None

    def store(self, command, key, value, flags=0, expiry=0, tail=""):
        value = value if isinstance(value, bytes) else str(value).encode()
        self.send(f"{command} {key} {flags} {expiry} {len(value)}{tail}\r\n".encode() + value + b"\r\n")
        return self.line().decode() if "noreply" not in tail else None

    def set(self, key, value, **options):
        return self.store("set", key, value, **options)

    def stats(self, which=""):
        self.send(f"stats {which}".strip().encode() + b"\r\n")
        found = {}
        while (line := self.line()) != b"END":
            _, name, value = line.decode().split(" ", 2)
            found[name] = value
        return found

    def binary_answer(self):
        """The next packet as (opcode, status, value, opaque, cas)."""
        magic, opcode, key, extras, _, status, body, opaque, cas = struct.unpack(">BBHBBHIIQ", self.take(24))
        assert magic == 0x81
        return opcode, status, self.take(body)[extras + key :], opaque, cas


class ServerSays(Exception):
    """An unexpected line in place of an item."""


def binary(opcode, key=b"", value=b"", extras=b"", cas=0, opaque=7):
    """A packet of the binary dialect."""
    body = extras + key + value
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, len(body), opaque, cas) + body


def until_mapped(server, container, place=None):
    """Waits until the door is open and knows the container, and, if given, that it is `schema/table`."""
    until(lambda: listens(server.env["MEMC_PORT"]))
    with server.mc() as client:

        def mapped():
            try:
                value = client.get(f"@@{container}")
            except ServerSays:
                return False
            return value is not None and (place is None or value.decode() == place)

        until(mapped)


def map_table(server, container, *arguments):
    """Calls postern.map_table(), and waits until it has taken effect."""
    server.query(f"CALL postern.map_table(%s{', %s' * len(arguments)})", (container, *arguments))
    until_mapped(server, container, f"{arguments[0]}/{arguments[1]}")
