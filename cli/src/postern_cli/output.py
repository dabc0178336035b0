"""Output as text and as JSON."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
from typing import Any, Iterable, List, Sequence

from wcwidth import wcswidth

WIDTH_MAX = 60  # characters of a cell that are shown; --json has all


def colours(stream: Any = None) -> bool:
    stream = stream or sys.stdout
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    """Colours a text, on a terminal with colours."""
    codes = {"red": "31", "yellow": "33", "green": "32", "bold": "1", "dim": "2"}
    return f"\x1b[{codes[colour]}m{text}\x1b[0m" if colours() else text


def width(text: str) -> int:
    return max(wcswidth(text), 0)


def printable(text: str) -> str:
    """The text on one line, without control sequences of terminals."""
    return "".join(c if c.isprintable() else {"\n": "\\n", "\t": "\\t"}.get(c, f"\\x{ord(c):02x}") for c in text)


def cell(value: Any, width_max: int = WIDTH_MAX) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (bytes, bytearray)):
        value = readable(bytes(value))
    text = printable(str(value))
    if width(text) <= width_max:
        return text
    while width(text) > width_max - 1:
        text = text[: max(len(text) - 1 - (width(text) - width_max) // 2, 0)]
    return text + "…"


def readable(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "0x" + value.hex()


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], width_max: int = WIDTH_MAX, indent: str = "") -> str:
    """A table of rows with headings; numbers are right-aligned."""
    rows = [list(row) for row in rows]
    cells = [[cell(value, width_max) for value in row] for row in rows]
    right = [
        all(isinstance(row[i], (int, float, decimal.Decimal)) or row[i] is None or figures(row[i]) for row in rows)
        and bool(rows)
        for i in range(len(columns))
    ]
    heads = [cell(column, width_max) for column in columns]
    widths = [max([width(heads[i])] + [width(row[i]) for row in cells]) for i in range(len(columns))]

    def line(words: List[str]) -> str:
        padded = []
        for i, word in enumerate(words):
            blanks = " " * (widths[i] - width(word))
            padded.append(blanks + word if right[i] else word + blanks)
        return (indent + "  ".join(padded)).rstrip()

    return "\n".join([paint(line(heads), "bold"), *(line(row) for row in cells)])


def upright(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows with a line for each column, if they are too wide for a table."""
    wide = max((width(column) for column in columns), default=0)
    lines: List[str] = []
    for number, row in enumerate(rows, 1):
        lines.append(paint(f"{'*' * 10} {number}. row {'*' * 10}", "dim"))
        lines += [f"{' ' * (wide - width(name))}{name}: {cell(value, 10_000)}" for name, value in zip(columns, row)]
    return "\n".join(lines)


def figures(value: Any) -> bool:
    """Whether a text is a number in a report: 12,345, 3.5 %, 12 us, or a dash for none."""
    text = str(value).strip()
    return bool(text) and (text[0].isdigit() or text == "-") and all(c in "0123456789,.%+- usm" for c in text)


def plain(value: Any) -> Any:
    """For JSON: bytes that are no text as {"base64": ...}."""
    if isinstance(value, (bytes, bytearray)):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            import base64

            return {"base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, (datetime.date, datetime.datetime, datetime.timedelta, datetime.time, decimal.Decimal)):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def as_json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def duration(seconds: float) -> str:
    """Seconds in a readable unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds:,.2f} s"


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
