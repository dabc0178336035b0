"""Verdicts about statements, and how WHERE decides: which index leads to the rows, and the kind that follows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Optional, Set, Tuple

from postern_cli.advise.conditions import Conditions, residual_of
from postern_cli.advise.schema import OURS, SYSTEM, Index, Schema, Table

# In the order of reports. `count` and `exists` refer to rows named by key.
KEY_VALUE = (
    "point_select",
    "in_list",
    "count",
    "exists",
    "point_update",
    "increment",
    "point_delete",
    "insert",
    "upsert",
)
NEAR = ("range", "unindexed")
REST = ("transaction", "session", "definition", "other")


@dataclass
class Verdict:
    """`kind` is one of KEY_VALUE, NEAR or REST. Keys and columns are empty for REST."""

    kind: str
    why: str = ""  # for NEAR and `other`: the missing part
    table: Optional[Table] = None
    table_name: str = ""
    index: Optional[Index] = None
    columns: Tuple[str, ...] = ()  # read or written, in lower case; ("*",) for all
    key_columns: Tuple[str, ...] = ()
    residual: List[str] = field(default_factory=list)
    by_pattern: bool = False  # the index finds rows by a pattern's prefix, and may cover only a part of it
    simple_residual: bool = True
    keys: int = 1  # rows in an IN list or in VALUES
    locking: bool = False  # FOR UPDATE, LOCK IN SHARE MODE
    expressions: bool = False  # a column or value that has to be computed
    worked_out: bool = False  # and no worker computes it
    how: str = ""  # kind of upsert: `update`, `update_some`, `add`, `ignore`, `keep`, `replace`
    returning: bool = False
    returns_expressions: bool = False
    ordered: bool = False
    order_kept: bool = True  # an index that leads to the rows has the wanted order
    changes: bool = False  # UPDATE, DELETE
    variables: bool = False  # a write with values from session variables
    planned: bool = False  # the SQL door answers it by a plan that was made once
    unserved: str = ""  # the reason why the SQL door leaves it to the server, whatever the other members say
    offset: bool = False
    missing_index: Tuple[str, ...] = ()
    warning: str = ""

    @property
    def key_value(self) -> bool:
        return self.kind in KEY_VALUE


def table_of(node: Any, schema: Schema, database: str) -> Tuple[str, Optional[Table], Set[str]]:
    """The name of a table, its definition if known, and the names that may qualify its columns."""
    wanted = node.text("db") or database
    found = schema.find(wanted, node.name)
    name = found.full_name if found else ".".join(part for part in (wanted, node.name) if part)
    return name, found, {(node.alias or node.name).lower(), node.name.lower() if not node.alias else node.alias.lower()}


def of_the_system(name: str) -> bool:
    """Whether a table belongs to the server or to Postern itself."""
    return name.partition(".")[0].lower() in SYSTEM + OURS


def place(verdict: Verdict, found: Conditions, bare_kind: str, list_kind: str) -> Verdict:
    """Chooses the index for the conditions of WHERE, and thereby the kind."""
    table = verdict.table
    verdict.expressions = verdict.expressions or found.expression_values
    verdict.worked_out = verdict.worked_out or found.worked_out
    verdict.unserved = verdict.unserved or found.unserved
    if found.impossible:
        verdict.kind, verdict.why = "other", found.impossible
        return verdict
    if table is None:
        return place_unknown(verdict, found, bare_kind, list_kind)
    if table.view:
        verdict.kind, verdict.why = "other", "of a view"
        return verdict
    if found.number_for_text:
        names = ", ".join(sorted(found.number_for_text))
        verdict.warning = f"compares text ({names}) with a number, so no index is used: quote the value"
    named = (found.equal | set(found.listed) | found.listed_together) - found.number_for_text
    for key in table.keys():
        if set(key.columns) <= named:
            lists = [name for name in key.columns if name in found.listed]
            together = found.listed_together & set(key.columns)
            if len(lists) > 1:
                continue
            verdict.index, verdict.key_columns = key, key.columns
            verdict.residual = residual_of(found, key.columns)
            verdict.simple_residual = found.simple_residual
            verdict.keys = found.listed[lists[0]] if lists else 2 if together else 1
            verdict.kind = list_kind if lists or together else bare_kind
            return verdict
    return place_range(verdict, found, bare_kind)


def place_unknown(verdict: Verdict, found: Conditions, bare_kind: str, list_kind: str) -> Verdict:
    """The verdict without a table definition: the shape alone does not suffice."""
    verdict.kind = "other"
    verdict.why = f"the table {verdict.table_name} is not known"
    if found.exact:
        verdict.why += ", so whether that is a key is not, either"
    return verdict


def place_range(verdict: Verdict, found: Conditions, bare_kind: str) -> Verdict:
    """The verdict without a whole unique key: another index may still lead to the rows."""
    table = verdict.table
    assert table is not None
    usable = (found.exact | found.ranges) - found.number_for_text
    best, best_length = None, 0
    for index in table.indexes:
        length = 0
        for name in index.columns:
            if name not in usable:
                break
            length += 1
            if name in found.ranges and name not in found.exact:
                break
        if length > best_length:
            best, best_length = index, length
    if best is not None:
        verdict.kind, verdict.index = "range", best
        verdict.key_columns = best.columns[:best_length]
        verdict.residual = residual_of(found, verdict.key_columns)
        verdict.simple_residual = found.simple_residual
        verdict.by_pattern = bool(set(verdict.key_columns) & found.patterns)
        verdict.why = "reads a range of an index" if best_length else ""
        return verdict
    verdict.residual = residual_of(found, ())
    if found.exact - found.number_for_text:
        verdict.kind = "unindexed"
        verdict.missing_index = tuple(name for name in table.columns if name in found.exact - found.number_for_text)
        verdict.why = f"no index begins with {' or '.join(verdict.missing_index)}"
    else:
        verdict.kind = "other"
        verdict.why = "no row is named" if bare_kind != "point_select" or found.residual else "reads the whole table"
    return verdict
