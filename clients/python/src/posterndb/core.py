"""The protocol as bytes, without a socket: shared by the blocking and the asyncio client.

A Request knows its bytes and how to read its reply. A ReplyReader cuts a socket's bytes into lines. Nothing here
waits, and nothing here is shared between connections.
"""

from __future__ import annotations

from typing import Any, Callable, Generic, List, Optional, Sequence, TypeVar

from posterndb.errors import InterfaceError, ProtocolError, class_of
from posterndb.values import NULL, encode, unescape

T = TypeVar("T")

READ_PORT = 9998
WRITE_PORT = 9999
# Longer replies are rejected; one row may have 256 MiB.
MAX_REPLY_BYTES = 1 << 30
SHOWN = 80


def number(token: bytes, end: int, line: bytes) -> int:
    """A decimal number below `end`. ProtocolError shows the line."""
    value = int(token) if token.isdigit() and len(token) <= 20 else end
    if value >= end:
        raise ProtocolError(f"this is no reply: {line[:SHOWN]!r}")
    return value


class Reply:
    """One reply line: `code`, the number of `columns` it announces, and the `tokens` after them, still escaped."""

    __slots__ = ("code", "columns", "tokens")

    def __init__(self, line: bytes) -> None:
        code, *rest = line.split(b"\t")
        self.code = number(code, 2**32, line)
        # The original's clients take an error without a word for one, too.
        self.columns = number(rest[0] if rest else b"", 2**32, line) if rest or self.code == 0 else 0
        self.tokens = rest[1:]

    def values(self) -> List[Optional[bytes]]:
        """The tokens as bytes, None for NULL."""
        try:
            return [None if token == NULL else unescape(token) if b"\1" in token else token for token in self.tokens]
        except ValueError:
            raise ProtocolError("a reply with a malformed escape") from None

    def check(self) -> "Reply":
        """Returns itself, or raises its DatabaseError."""
        if self.code == 0:
            return self
        raw = self.tokens[0] if self.tokens else b""
        try:
            raw = unescape(raw)
        except ValueError:
            pass  # The original did not escape the texts of errors.
        message = raw.decode("utf-8", "replace")
        raise class_of(self.code, message)(message, self.code)


class Request(Generic[T]):
    """The bytes of one request, and what its reply means. Make them with an index: `index.requests.get(1)`."""

    __slots__ = ("data", "decode")

    def __init__(self, data: bytes, decode: Callable[[Reply], T]) -> None:
        self.data = data
        self.decode = decode

    def result(self, line: bytes) -> T:
        """The meaning of the reply line. DatabaseError if it refuses, ProtocolError if it is no reply to this."""
        return self.decode(Reply(line).check())


class ReplyReader:
    """Cuts received bytes into lines, however they arrive."""

    def __init__(self, max_reply_bytes: int = MAX_REPLY_BYTES) -> None:
        self._max = max_reply_bytes
        self._parts: List[bytes] = []
        self._size = 0

    @property
    def unfinished(self) -> bool:
        """Whether a line is incomplete."""
        return bool(self._parts)

    def feed(self, data: bytes) -> List[bytes]:
        """The complete lines, without their LF. ProtocolError for a line beyond max_reply_bytes."""
        *lines, rest = data.split(b"\n")
        if lines:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts = []
            self._size = 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if self._size > self._max or any(len(line) > self._max for line in lines):
            raise ProtocolError(f"a reply longer than {self._max} bytes")
        return lines


# Requests that need no index


def name(what: str, text: str) -> bytes:
    """A name goes over the wire as it is, so it must not look like the end of a token."""
    if any(character in text for character in "\t\n\1"):
        raise InterfaceError(f"TAB, LF and 0x01 cannot be sent in {what}: {text!r}")
    return text.encode("utf-8", "surrogateescape")


def names(what: str, columns: Sequence[str]) -> bytes:
    """A list of columns; a name that a list could not hold goes in backquotes."""
    quoted = []
    for column in columns:
        if not column:
            raise InterfaceError(f"an empty name in {what}")
        plain = "," not in column and "`" not in column
        quoted.append(column if plain else "`" + column.replace("`", "``") + "`")
    return name(what, ",".join(quoted))


def done(reply: Reply) -> None:
    """The answer to a P or an A."""
    if reply.columns != 1 or reply.tokens:
        raise ProtocolError("the reply has values where there can be none")


def open_request(
    index_id: int, database: str, table: str, index: str, columns: Sequence[str], filter_columns: Sequence[str]
) -> Request[None]:
    tokens = [
        b"P",
        b"%d" % index_id,
        name("the name of a database", database),
        name("the name of a table", table),
        name("the name of an index", index),
        names("the names of columns", columns),
    ]
    if filter_columns:
        tokens.append(names("the names of filter columns", filter_columns))
    return Request(b"\t".join(tokens) + b"\n", done)


def login_request(user: Optional[str], password: str, secret: Optional[str]) -> Optional[Request[None]]:
    """The login request, or None without credentials."""
    if user is not None and secret is not None:
        raise InterfaceError("give user and password, or the secret of the port, not both")
    if user is not None:
        return Request(b"A\t2\t" + encode(user) + b"\t" + encode(password) + b"\n", done)
    if secret is not None:
        return Request(b"A\t1\t" + name("a secret", secret) + b"\n", done)
    return None


def raw_request(*tokens: Any) -> Request[Reply]:
    """A request of any tokens; its result is the raw Reply, and errors are raised."""
    return Request(b"\t".join(encode(token) for token in tokens) + b"\n", lambda reply: reply)
