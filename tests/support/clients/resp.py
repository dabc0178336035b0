"""RESP as it is on the wire: a client that keeps replies as bytes, and Debian's redis-server for comparison."""
import contextlib
import os
import random
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

from support.waiting import until

LOOPBACK = "127.0.0.1"
SECONDS = 60
ORIGINAL_VERSION = "7.0"


def encode(*words):
    """A request, as client libraries send it."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Error(Exception):
    """An error reply: equal to another one with the same text."""

    def __eq__(self, other):
        return isinstance(other, Error) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class Client:
    def __init__(self, port, host=LOOPBACK, path=None, tls=None):
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.socket.settimeout(SECONDS)
        self.socket.connect(path or (host, int(port)))
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def ended(self):
        """Whether the server has closed the connection, and sent nothing more before."""
        with contextlib.suppress(ConnectionResetError, ssl.SSLError):
            return self.file.read(1) == b""
        return True

    def line(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError(line)
        return line

    def raw(self):
        """The bytes of one reply."""
        line = self.line()
        kind, rest = line[:1], line[1:-2]
        if kind in b"$=":
            return line if rest == b"-1" else line + self.file.read(int(rest) + 2)
        if kind in b"*~%":
            count = max(int(rest), 0) * (2 if kind == b"%" else 1)
            return line + b"".join(self.raw() for _ in range(count))
        return line

    def ask_raw(self, *words):
        self.send(encode(*words))
        return self.raw()

    def ask(self, *words):
        """The reply as a Python value; raises an error reply."""
        return decode(self.ask_raw(*words))

    def error(self, *words):
        """Sends a command that must fail; returns the error's text."""
        reply = self.ask_raw(*words)
        assert reply.startswith(b"-"), reply
        return reply[1:-2].decode(errors="replace")


def decode(reply):
    value, rest = _decode(reply)
    assert rest == b"", rest
    return value


def _decode(reply):
    line, _, rest = reply.partition(b"\r\n")
    kind, text = line[:1], line[1:]
    if kind == b"+":
        return text.decode(), rest
    if kind == b"-":
        raise Error(text.decode(errors="replace"))
    if kind == b":":
        return int(text), rest
    if kind == b",":
        return float(text), rest
    if kind == b"_" or text == b"-1":
        return None, rest
    size = int(text)
    if kind in b"$=":
        return rest[:size], rest[size + 2 :]
    values = []
    for _ in range(size * (2 if kind == b"%" else 1)):
        try:
            value, rest = _decode(rest)
        except Error as error:
            value, rest = error, rest.partition(b"\r\n")[2]
        values.append(value)
    return (dict(zip(values[::2], values[1::2])) if kind == b"%" else values), rest


class Original:
    """Debian's redis-server on a free port, in a folder of its own."""

    def __init__(self, folder):
        self.folder = Path(folder)
        # The package redis-server would start a service; redis-tools contains the program under another name.
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        assert program, "Redis is missing; tools/deps test installs it"
        link = self.folder / "redis-server"
        link.symlink_to(program)
        for _ in range(20):
            self.port = random.randrange(20000, 32000)
            # A link to the program, which acts by its name.
            self.process = subprocess.Popen(
                [link, "--port", str(self.port), "--bind", LOOPBACK, "--save", "", "--dir", str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=(self.folder / "redis.log").open("ab"),
                stderr=subprocess.STDOUT,
                env={**os.environ, "TZ": "UTC"},
            )
            until(lambda: self.process.poll() is not None or self.answers(), seconds=30)
            if self.process.poll() is None:
                return
        raise AssertionError("redis-server does not start")

    def answers(self):
        with contextlib.suppress(OSError, EOFError), Client(self.port) as client:
            return client.ask("PING") == "PONG"
        return False

    def client(self):
        return Client(self.port)

    def stop(self):
        self.process.terminate()
        self.process.wait(SECONDS)


def blocked(client):
    """The number of blocked clients."""
    info = client.ask("INFO", "clients").decode()
    return int(next(line.split(":")[1] for line in info.split("\r\n") if line.startswith("blocked_clients:")))
