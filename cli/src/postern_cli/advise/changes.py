"""Verdicts about UPDATE, DELETE, INSERT and REPLACE."""

from __future__ import annotations

from typing import Any, Set

from sqlglot import exp

from postern_cli.advise import computed
from postern_cli.advise.conditions import Reader, bare, is_plain, is_value
from postern_cli.advise.schema import INTEGERS, Schema
from postern_cli.advise.verdict import Verdict, of_the_system, place, table_of


def change(tree: Any, schema: Schema, database: str) -> Verdict:
    """The verdict on an UPDATE or DELETE."""
    target = tree.this
    several = tree.args.get("tables") or tree.args.get("using") or tree.args.get("from_")
    if not isinstance(target, exp.Table) or target.args.get("joins") or several:
        return Verdict("other", "several tables")
    name, table, names = table_of(target, schema, database)
    if of_the_system(name):
        return Verdict("session")
    verdict = Verdict("other", table=table, table_name=name, changes=True)
    read_returning(tree, verdict)
    reader = Reader(names, table.columns if table else {})
    where = tree.args.get("where")
    found = reader.read(where.this) if where else reader.found
    if isinstance(tree, exp.Delete):
        kind = "point_delete"
    else:
        kind = assignments(tree.expressions, reader, verdict)
        if not kind:
            return verdict
    place(verdict, found, kind, kind)
    read_order(tree, reader, verdict)
    return verdict


def read_order(tree: Any, reader: Reader, verdict: Verdict) -> None:
    """ORDER BY and LIMIT mean nothing for one row. For an UPDATE the server reads it twice if its order is not of
    columns that equal values."""
    order = tree.args.get("order")
    if not order and not tree.args.get("limit"):
        return
    ordered = [reader.column(bare(one.this)) for one in order.expressions] if order else []
    constant = isinstance(tree, exp.Delete) or all(one in verdict.key_columns for one in ordered)
    if not verdict.key_value or verdict.keys > 1 or not all(ordered) or not constant:
        verdict.unserved = (
            verdict.unserved or "ORDER BY or LIMIT of a change of several rows, or ORDER BY of other columns"
        )


def read_returning(tree: Any, verdict: Verdict) -> None:
    returning = tree.args.get("returning")
    if returning:
        verdict.returning = True
        wanted = [one.this if isinstance(one, exp.Alias) else one for one in returning.expressions]
        verdict.returns_expressions = not all(isinstance(one, (exp.Column, exp.Star)) for one in wanted)


def assignments(expressions: Any, reader: Reader, verdict: Verdict) -> str:
    """`increment`, `point_update`, or nothing if SET reads other tables."""
    columns, increments = [], 0
    for expression in expressions:
        name = reader.column(expression.this) if isinstance(expression, exp.EQ) else None
        if not name:
            verdict.why = "SET is not understood"
            return ""
        columns.append(name)
        value = bare(expression.expression)
        if any(True for _ in value.find_all(exp.Select)):
            verdict.why = "a subselect in SET"
            return ""
        if is_increment(name, value, reader):
            increments += 1
            plain = not any(True for _ in value.find_all(exp.Coalesce))
            if not integer(verdict, name) and not (plain and fraction(verdict, name)):
                verdict.unserved = "adds to what is no column of numbers"
        elif is_default(value):
            verdict.unserved = "sets a column to DEFAULT"
        elif not is_plain(value):
            note_computed(verdict, value, name)
    verdict.columns = tuple(dict.fromkeys(columns))
    if increments and increments < len(columns):
        verdict.how = "mixed"
    return "increment" if increments == len(columns) or (increments and reader) else "point_update"


def note_computed(verdict: Verdict, value: Any, name: str) -> None:
    column = verdict.table.columns.get(name) if verdict.table else None
    verdict.expressions = True
    if not computed.suits(value, column.type if column else "", compared=False):
        verdict.worked_out = True


def is_increment(name: str, value: Any, reader: Reader) -> bool:
    """c + n, c - n, n + c, COALESCE(c, 0) + n, where c is the assigned column."""
    if not isinstance(value, (exp.Add, exp.Sub)):
        return False
    left, right = bare(value.this), bare(value.expression)
    if isinstance(value, exp.Add) and is_value(left):
        left, right = right, left
    if isinstance(left, exp.Coalesce) and all(is_value(part) for part in left.expressions):
        left = bare(left.this)
    return reader.column(left) == name and is_value(right)


def is_default(node: Any) -> bool:
    return (isinstance(node, exp.Var) and node.name.upper() == "DEFAULT") or (
        isinstance(node, exp.Column) and not node.table and node.name.upper() == "DEFAULT"
    )


def insertion(tree: Any, schema: Schema, database: str, replace: bool) -> Verdict:
    """The verdict on an INSERT or REPLACE."""
    target = tree.this
    listed = isinstance(target, exp.Schema)
    named = target.this if listed else target
    if not isinstance(named, exp.Table):
        return Verdict("other", "not understood")
    name, table, names = table_of(named, schema, database)
    if of_the_system(name):
        return Verdict("session")
    verdict = Verdict("other", table=table, table_name=name)
    read_returning(tree, verdict)
    rows = tree.expression
    if not isinstance(rows, exp.Values):
        verdict.why = "INSERT ... SELECT" if isinstance(rows, exp.Query) else "not understood"
        return verdict
    if any(True for _ in rows.find_all(exp.Select)):
        verdict.why = "a subselect in VALUES"
        return verdict
    if table is None:
        verdict.why = f"the table {name} is not known"
        return verdict
    if table.view:
        verdict.why = "of a view"
        return verdict
    verdict.columns = tuple(part.name.lower() for part in target.expressions) if listed else tuple(table.columns)
    for row in rows.expressions:
        values = row.expressions if isinstance(row, exp.Tuple) else [row]
        for name_of_column, value in zip(verdict.columns, values):
            if not is_plain(value) and not is_default(value):
                note_computed(verdict, value, name_of_column)
    verdict.keys = len(rows.expressions)
    if not table.keys():
        verdict.why = "the table has no unique key"
        return verdict
    key = next((k for k in table.keys() if set(k.columns) <= set(verdict.columns)), table.keys()[0])
    verdict.index, verdict.key_columns = key, key.columns
    conflict = tree.args.get("conflict")
    if replace or tree.args.get("ignore") or conflict:
        verdict.kind = "upsert"
        verdict.how = (
            "replace" if replace else "ignore" if tree.args.get("ignore") else upsert_how(conflict, names, verdict)
        )
        if not verdict.how:
            verdict.kind, verdict.why = "other", "ON DUPLICATE KEY UPDATE is not understood"
        return verdict
    verdict.kind = "insert"
    return verdict


def is_given(value: Any, name: str) -> bool:
    """VALUES(c), of this column."""
    of_values = isinstance(value, exp.Anonymous) and value.name.upper() in ("VALUES", "VALUE")
    return of_values and bool(value.expressions[0].name.lower() == name)


def upsert_how(conflict: Any, names: Set[str], verdict: Verdict) -> str:
    """The kind of an ON DUPLICATE KEY UPDATE: sets all values of the row (`update`) or some (`update_some`), adds
    (`add`), changes nothing (`keep`), or needs the server (`other`)."""
    reader = Reader(names, verdict.table.columns if verdict.table else {})
    taken, kept, added = set(), set(), set()
    for expression in conflict.expressions:
        name = reader.column(expression.this) if isinstance(expression, exp.EQ) else None
        if not name:
            return ""
        value = bare(expression.expression)
        if any(True for _ in value.find_all(exp.Select)):
            return ""
        if is_given(value, name) or is_plain(value):
            taken.add(name)
        elif reader.column(value) == name:
            kept.add(name)
        elif is_increment(name, value, reader) or (
            isinstance(value, exp.Add) and reader.column(value.this) == name and is_given(bare(value.expression), name)
        ):
            added.add(name)
        elif computed.suits(value, reader.kind(name), compared=False):
            verdict.expressions = True
            taken.add(name)
        else:
            verdict.expressions = verdict.worked_out = True
            return "other"
    given = set(verdict.columns) - set(verdict.key_columns)
    if not taken and not added:
        return "keep"
    if added:
        return "add"
    return "update" if given <= taken else "update_some"


def fraction(verdict: Verdict, name: str) -> bool:
    """Whether a column of the statement's table is DECIMAL, FLOAT or DOUBLE."""
    column = verdict.table.columns.get(name) if verdict.table else None
    return bool(column) and column.type in ("decimal", "float", "double")  # type: ignore[union-attr]


def integer(verdict: Verdict, name: str) -> bool:
    """Whether a column of the statement's table holds integers."""
    column = verdict.table.columns.get(name) if verdict.table else None
    return bool(column) and column.type in INTEGERS  # type: ignore[union-attr]
