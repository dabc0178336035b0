"""A HandlerSocket client for tests: plain sockets, nothing hidden.

    with Client(port) as hs:
        assert hs.request("P", 0, "test", "user", "PRIMARY", "user_name") == ["0", "1"]
        assert hs.request(0, "=", 1, 101) == ["0", "1", "Yukari Takeba"]
        hs.send(b"0\\t=\\t1\\t101\\n")              # the bytes as they are
        assert hs.line() == b"0\\t1\\tYukari Takeba"

A token is None (SQL NULL), an int, a str (sent as UTF-8) or bytes. In replies a token is None
or a str; bytes that are not UTF-8 come as surrogates, which encode() with "surrogateescape"
turns back.
"""
from support.connection import Connection


def encode_token(token):
    if token is None:
        return b"\0"
    if isinstance(token, int):
        return str(token).encode()
    raw = token.encode("utf-8", "surrogateescape") if isinstance(token, str) else bytes(token)
    return b"".join(bytes((1, byte + 0x40)) if byte < 0x10 else bytes((byte,)) for byte in raw)


def decode_token(token):
    if token == b"\0":
        return None
    head, *rest = token.split(b"\1")
    raw = head + b"".join(bytes((part[0] - 0x40,)) + part[1:] for part in rest)
    return raw.decode("utf-8", "surrogateescape")


def encode_line(*tokens):
    return b"\t".join(encode_token(token) for token in tokens) + b"\n"


def decode_line(line):
    return [decode_token(token) for token in line.split(b"\t")]


class Client(Connection):
    def line(self):
        """The next reply line without its LF. Raises EOFError if the server closes instead."""
        while b"\n" not in self.received:
            try:
                part = self.socket.recv(1 << 20)
            except TimeoutError as error:
                raise TimeoutError(
                    f"no whole line within {self.socket.gettimeout()} s; so far {self.shown()}"
                ) from error
            if not part:
                raise EOFError(f"connection closed; unfinished line {self.shown()}")
            self.received += part
        line, _, self.received = self.received.partition(b"\n")
        return line

    def shown(self):
        """A description of an unfinished line, which may be megabytes long."""
        return (
            repr(self.received)
            if len(self.received) < 1000
            else f"of {len(self.received)} bytes, {self.received[:200]!r}..."
        )

    def lines(self, count):
        return [self.line() for _ in range(count)]

    def request(self, *tokens):
        """Sends one request and returns the tokens of its reply."""
        self.send(encode_line(*tokens))
        return decode_line(self.line())

    def pipeline(self, *requests):
        """Sends all requests (each a sequence of tokens) at once and returns all replies."""
        self.send(b"".join(encode_line(*tokens) for tokens in requests))
        return [decode_line(line) for line in self.lines(len(requests))]

    def open(self, index_id, database, table, columns, index="PRIMARY", filters=None):
        """Opens an index and asserts that it worked."""
        request = ["P", index_id, database, table, index, columns]
        reply = self.request(*request, *([filters] if filters is not None else []))
        assert reply == ["0", "1"], f"{request} was answered {reply}"
