"""Whether workers of the SQL door answer a SELECT by a plan that the server's optimizer made once: docs/statements.md."""

from __future__ import annotations

from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from postern_cli.advise.locked import locks_by_primary_keys
from postern_cli.advise.schema import OURS, SYSTEM, Schema, Table
from postern_cli.advise.subqueries import planned_subqueries

TABLES_MAX = 12
# Syntax that only the server answers, wherever it stands.
REFUSED = (
    exp.Subquery,
    exp.SetOperation,
    exp.Window,
    exp.With,
    exp.Parameter,
    exp.SessionParameter,
    exp.PropertyEQ,
    exp.Rand,
    exp.CurrentTime,
    exp.CurrentUser,
    exp.Collate,
    exp.Cast,
    exp.Tuple,
    exp.Anonymous,
)
TIMES = ("DATE", "DATETIME", "TIMESTAMP", "TIMESTAMPTZ")
# Functions without a class in sqlglot that workers call.
FUNCTIONS = (
    "now",
    "unix_timestamp",
    "last_insert_id",
    "connection_id",
    "ifnull",
    "truncate",
    "locate",
    "left",
    "right",
    "mid",
    "find_in_set",
    "field",
    "strcmp",
    "bit_length",
)


def is_planned(tree: Any, schema: Schema, database: str) -> bool:
    if isinstance(tree, exp.Union):
        return is_planned_union(tree, schema, database)
    if not schema.plans or not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
        return False
    if any(tree.args.get(part) for part in ("into", "windows", "laterals", "with_", "hint")):
        return False
    if tree.args.get("locks") and not locks_by_primary_keys(tree, schema, database):
        return False
    inner = planned_subqueries(tree)
    for node in tree.walk():
        if is_derived(node, tree) or is_derived(node.parent, tree) or any(node is one for one in inner):
            continue
        if isinstance(node, exp.Select) and node is not tree:
            return False
        if isinstance(node, REFUSED) and not is_known(node):
            return False
    tables = list(tree.find_all(exp.Table))
    return 1 <= len(tables) <= TABLES_MAX and all(suits(table, schema, database) for table in tables)


def is_known(node: Any) -> bool:
    """A function that workers call, a row of columns or values, or DATE'...'."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in FUNCTIONS
    if isinstance(node, exp.Tuple):
        return isinstance(node.parent, (exp.In, exp.EQ))
    return isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.to.this.name in TIMES


def is_planned_union(tree: Any, schema: Schema, database: str) -> bool:
    """Of SELECTs that may stand in FROM; its own ORDER BY and LIMIT are any."""
    if tree.args.get("with_"):
        return False
    for part in (tree.this, tree.expression):
        if isinstance(part, exp.Union):
            if not is_planned_union(part, schema, database):
                return False
            continue
        select = part.this if isinstance(part, exp.Subquery) else part
        if not isinstance(select, exp.Select) or not is_planned(select, schema, database):
            return False
        if has_inner(select) or select.args.get("operation_modifiers"):
            return False
    return len(list(tree.find_all(exp.Table))) <= TABLES_MAX


def has_inner(select: Any) -> bool:
    return any(one is not select for one in select.find_all(exp.Select))


def is_derived(node: Any, tree: Any) -> bool:
    """A SELECT in the place of one of its tables, or of one of those that such a SELECT has."""
    if not isinstance(node, exp.Subquery) or not isinstance(node.parent, (exp.From, exp.Join)):
        return False
    if not isinstance(node.this, exp.Select) or node.this.args.get("from_") is None:
        return False
    around = node.parent.parent
    return around is tree or (is_plain(node.this) and is_derived(around.parent, tree))


def is_plain(select: Any) -> bool:
    """Whether the optimizer merges it into the SELECT around it."""
    parts = ("group", "distinct", "having", "limit", "offset")
    return not any(select.args.get(part) for part in parts) and not any(
        one.find(exp.AggFunc) for one in select.expressions
    )


def suits(node: Any, schema: Schema, database: str) -> bool:
    """A table of users' in InnoDB, without generated columns, or a view of such tables."""
    table = schema.find(node.text("db") or database, node.name)
    if table is None or table.schema.lower() in SYSTEM + OURS:
        return False
    if table.view:
        return is_planned_view(table, schema)
    return table.engine.lower() in ("innodb", "") and not any(column.generated for column in table.columns.values())


def is_planned_view(table: Table, schema: Schema) -> bool:
    """Its SELECT may stand in FROM, and is not sorted. A view on others is planned if those are."""
    try:
        tree = parse_one(table.definition, read="mysql")
    except SqlglotError:
        return False
    if not isinstance(tree, exp.Select) or tree.args.get("order") or has_inner(tree) or not table.definition.isascii():
        return False
    return is_planned(tree, schema, table.schema)
