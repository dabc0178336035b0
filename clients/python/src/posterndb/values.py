"""Python values to the bytes of a request, and the bytes of a reply to Python values.

HandlerSocket sends everything as text, without types; the program chooses the type of a column when it opens
the index. Writing needs no types: each Python value below has one text.
"""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from typing import Any, Callable, Dict, Union

from posterndb.errors import DataError, InterfaceError

Value = Union[
    None,
    bool,
    int,
    float,
    decimal.Decimal,
    str,
    bytes,
    bytearray,
    memoryview,
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
]
Decoder = Callable[[bytes], Any]

NULL = b"\0"
ESCAPED = {byte: bytes((1, byte + 0x40)) for byte in range(0x10)}
# Text without these bytes is sent unchanged.
DELETE_PLAIN = bytes(range(0x10, 0x100))


def escape(raw: bytes) -> bytes:
    """The bytes as they go over the wire: 0x00 to 0x0f as 0x01 and the byte plus 0x40."""
    if not raw.translate(None, DELETE_PLAIN):
        return raw
    return b"".join(ESCAPED.get(byte) or bytes((byte,)) for byte in raw)


def unescape(token: bytes) -> bytes:
    """Unescapes bytes. ValueError for a malformed or incomplete escape."""
    head, *parts = token.split(b"\1")
    for part in parts:
        if not part or part[0] < 0x40:
            raise ValueError("malformed escape")
    return head + b"".join(bytes((part[0] - 0x40,)) + part[1:] for part in parts)


def time_text(value: datetime.timedelta) -> str:
    """As TIME is written: hours beyond 24, a sign, microseconds where there are some."""
    microseconds = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    sign, microseconds = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    seconds, fraction = divmod(microseconds, 1_000_000)
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}" if fraction else text


def text_of(value: Any) -> str:
    """The text of a value that is neither None nor bytes."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InterfaceError(f"{value!r} has no form in SQL")
        return repr(float(value))
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise InterfaceError(f"{value!r} has no form in SQL")
        return f"{value:f}"
    if isinstance(value, (datetime.datetime, datetime.time)) and value.tzinfo is not None:
        raise InterfaceError("a time with a time zone has no form in SQL: convert it to the server's first")
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return time_text(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    raise InterfaceError(f"cannot send a {type(value).__name__}: make it text or bytes first")


def encode(value: Any) -> bytes:
    """One token of a request. InterfaceError for a value that has no form in SQL."""
    if value is None:
        return NULL
    if isinstance(value, (bytes, bytearray, memoryview)):
        return escape(bytes(value))
    return escape(text_of(value).encode("utf-8", "surrogateescape"))


# The other way


def to_bool(raw: bytes) -> bool:
    """From a number, or from BIT, which comes as its bytes."""
    return int(raw) != 0 if raw.isdigit() else any(raw)


def to_decimal(raw: bytes) -> decimal.Decimal:
    return decimal.Decimal(raw.decode("ascii"))


def to_date(raw: bytes) -> datetime.date:
    return datetime.date.fromisoformat(raw.decode("ascii"))


def to_datetime(raw: bytes) -> datetime.datetime:
    # fromisoformat of Python 3.9 takes three or six digits of a fraction only, DATETIME(n) has one to six.
    text, _, fraction = raw.decode("ascii").partition(".")
    moment = datetime.datetime.fromisoformat(text)
    return moment.replace(microsecond=int(fraction.ljust(6, "0"))) if fraction else moment


def to_timedelta(raw: bytes) -> datetime.timedelta:
    text, _, fraction = raw.decode("ascii").partition(".")
    hours, minutes, seconds = text.lstrip("-").split(":")
    length = datetime.timedelta(
        hours=int(hours), minutes=int(minutes), seconds=int(seconds), microseconds=int(fraction.ljust(6, "0"))
    )
    return -length if text.startswith("-") else length


def to_time(raw: bytes) -> datetime.time:
    moment = to_datetime(b"2000-01-01 " + raw)
    return moment.time()


def to_uuid(raw: bytes) -> uuid.UUID:
    return uuid.UUID(raw.decode("ascii"))


def to_text(raw: bytes) -> str:
    return raw.decode("utf-8")


DECODERS: Dict[Any, Decoder] = {
    str: to_text,
    bytes: bytes,
    bool: to_bool,
    int: int,
    float: float,
    decimal.Decimal: to_decimal,
    datetime.date: to_date,
    datetime.datetime: to_datetime,
    datetime.time: to_time,
    datetime.timedelta: to_timedelta,
    uuid.UUID: to_uuid,
}


def decoder(kind: Any) -> Decoder:
    """What makes this type of a column's bytes. Any other callable is taken as it is, json.loads for example."""
    found = DECODERS.get(kind)
    if found is not None:
        return found
    if callable(kind):
        return kind  # type: ignore[no-any-return]
    raise InterfaceError(f"{kind!r} is no type of a column")


def decode(raw: bytes, make: Decoder, column: str) -> Any:
    """Decodes one value that is not NULL. DataError if it does not fit this type."""
    try:
        return make(raw)
    except Exception as error:
        raise DataError(f"column {column}: {raw[:60]!r} is no value of the type asked for: {error}") from error
