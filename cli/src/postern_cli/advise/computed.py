"""Values that workers of the SQL door compute from a statement's own values and the time."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from postern_cli.advise.schema import INTEGERS

UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
DAYS = (exp.CurrentDate, exp.UtcDate)
NUMBERS = ("last_insert_id", "connection_id")
MOMENTS = (exp.CurrentTimestamp, exp.UtcTimestamp)


def suits(node: Any, kind: str, compared: bool) -> bool:
    """Whether a worker computes it for a column of that type; an unknown type may be any."""
    if is_sum(node):
        return kind in ("", "decimal", *INTEGERS) or (not compared and kind in ("float", "double"))
    if is_written(node):
        return kind in ("", "date", "datetime")
    if is_day(node):
        return kind in ("", "date", "datetime") or (not compared and kind == "timestamp")
    return is_moment(node) and (kind in ("", "datetime") or (not compared and kind == "timestamp"))


def is_sum(node: Any) -> bool:
    """A sum, difference or product of integers."""
    while isinstance(node, (exp.Paren, exp.Neg)):
        node = node.this
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return is_sum(node.this) and is_sum(node.expression)
    if isinstance(node, exp.Literal):
        return not node.is_string and node.name.isdigit()
    is_clock = isinstance(node, exp.Anonymous) and node.name.lower() == "unix_timestamp" and not node.expressions
    return is_clock or isinstance(node, exp.Placeholder) or is_of_session(node)


def is_of_session(node: Any) -> bool:
    """LAST_INSERT_ID() or CONNECTION_ID()."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in NUMBERS and not node.expressions


def is_written(node: Any) -> bool:
    """DATE'...' or TIMESTAMP'...'."""
    is_cast = isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal)
    return is_cast and node.to.this.name in ("DATE", "DATETIME", "TIMESTAMP", "TIMESTAMPTZ")


def is_day(node: Any) -> bool:
    """CURDATE(), also plus or minus days."""
    base, unit = without_interval(node)
    return isinstance(base, DAYS) and unit in ("", *UNITS[3:])


def is_moment(node: Any) -> bool:
    """NOW() and similar functions, also plus or minus an interval."""
    base, unit = without_interval(node)
    is_now = isinstance(base, exp.Anonymous) and base.name.lower() == "now"
    return (is_now or isinstance(base, (*MOMENTS, *DAYS))) and unit in ("", *UNITS)


def without_interval(node: Any) -> Any:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval):
        return node.this, node.expression.text("unit").upper()
    if isinstance(node, (exp.DateAdd, exp.DateSub)):
        return node.this, node.text("unit").upper()
    return node, ""
