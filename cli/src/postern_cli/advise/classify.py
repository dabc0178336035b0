"""Classifies a statement: rows by key, a range, or other SQL. One parse, no guesses about unknown tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Optional, Set, Tuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from postern_cli.advise.conditions import Conditions, Reader, bare, conjuncts, is_plain, is_value, residual_of
from postern_cli.advise.planned import is_planned
from postern_cli.advise.schema import INTEGERS, OURS, SYSTEM, Index, Schema, Table
from postern_cli.advise.statement import complete, is_cut, rough_kind

# In the order of reports. `count` and `exists` are of rows named by key.
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
READS = ("point_select", "in_list", "count", "exists", "range")
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
    columns: Tuple[str, ...] = ()  # read or written, in small letters; ("*",) for all
    key_columns: Tuple[str, ...] = ()
    residual: List[str] = field(default_factory=list)
    simple_residual: bool = True
    keys: int = 1  # rows in an IN list or in VALUES
    locking: bool = False  # FOR UPDATE, LOCK IN SHARE MODE
    expressions: bool = False  # a column or value that the server works out
    how: str = ""  # of upserts: `update`, `update_some`, `add`, `ignore`, `keep`, `replace`
    returning: bool = False
    returns_expressions: bool = False
    ordered: bool = False
    order_kept: bool = True  # an index that leads to the rows has the order that is wanted
    changes: bool = False  # UPDATE, DELETE
    planned: bool = False  # the SQL door answers it by a plan that was made once
    unserved: str = ""  # why the SQL door leaves it to the server, whatever else is said here
    offset: bool = False
    missing_index: Tuple[str, ...] = ()
    warning: str = ""

    @property
    def key_value(self) -> bool:
        return self.kind in KEY_VALUE


def classify(statement: str, schema: Schema, database: str = "") -> Verdict:
    """What this statement is, sent with `database` in use. Its values may be question marks."""
    rough = rough_kind(statement)
    if rough != "rows":
        return Verdict(rough)
    text = complete(statement)
    replace = text[:7].upper() == "REPLACE"
    if replace:
        text = "INSERT" + text[7:]
    try:
        tree = parse_one(text, read="mysql")
    except (SqlglotError, RecursionError):
        cut = is_cut(statement)
        return Verdict("other", "its text is cut; see max_digest_length" if cut else "not understood")
    if isinstance(tree, exp.Select):
        verdict = SelectReader(schema, database).verdict(tree)
        verdict.planned = is_planned(tree, schema, database)
        return verdict
    if isinstance(tree, (exp.Update, exp.Delete)):
        return change(tree, schema, database)
    if isinstance(tree, exp.Insert):
        return insertion(tree, schema, database, replace)
    return Verdict("other", "several SELECTs" if isinstance(tree, exp.SetOperation) else "not understood")


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
    """Chooses the index for what WHERE says, and by that the kind."""
    table = verdict.table
    verdict.expressions = verdict.expressions or found.expression_values
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
    """Without the table only the shape is known, which is not enough."""
    verdict.kind = "other"
    verdict.why = f"the table {verdict.table_name} is not known"
    if found.exact:
        verdict.why += ", so whether that is a key is not, either"
    return verdict


def place_range(verdict: Verdict, found: Conditions, bare_kind: str) -> Verdict:
    """No unique key is named whole: an index may still lead to the rows."""
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


class SelectReader:
    """Reads a SELECT, and the one within a COUNT(*) or EXISTS around it."""

    def __init__(self, schema: Schema, database: str) -> None:
        self._schema = schema
        self._database = database

    def verdict(self, tree: Any) -> Verdict:
        inner = self._within(tree)
        if inner is not None:
            select, kind = inner
            found = self._plain(select)
            if found.kind in ("point_select", "in_list", "count", "exists"):
                found.kind = kind
            if not is_named_exists(tree):
                found.unserved = "a subselect, which the door takes as SELECT EXISTS (...) AS name alone"
            return found
        if tree.args.get("from_") is None:
            functions = any(True for _ in tree.find_all(exp.Select)) and tree.find(exp.Exists)
            return Verdict("other", "subselects") if functions else Verdict("session")
        return self._plain(tree)

    def _within(self, tree: Any) -> Optional[Tuple[Any, str]]:
        """The SELECT by key in a COUNT(*) FROM (SELECT ...), SELECT EXISTS (...) or the like."""
        source = tree.args.get("from_")
        expressions = [bare(e.this if isinstance(e, exp.Alias) else e) for e in tree.expressions]
        simple = len(expressions) == 1 and not tree.args.get("joins") and not tree.args.get("group")
        if not simple:
            return None
        [only] = expressions
        if isinstance(only, exp.Exists) and source is None and isinstance(bare_select(only.this), exp.Select):
            return bare_select(only.this), "exists"
        if source is None or not isinstance(source.this, exp.Subquery):
            return None
        within = source.this.this
        where = tree.args.get("where")
        if isinstance(only, exp.Count) and where is None and isinstance(within, exp.Select):
            return within, "count"
        conditions = list(conjuncts(where.this)) if where else []
        if is_value(only) and len(conditions) == 1 and isinstance(conditions[0], exp.Exists):
            if isinstance(within, exp.Select) and within.args.get("from_") is None:
                return bare_select(conditions[0].this), "exists"
        return None

    def _plain(self, tree: Any) -> Verdict:
        source = tree.args["from_"].this if tree.args.get("from_") else None
        if tree.args.get("with_") or tree.args.get("with"):
            return Verdict("other", "WITH")
        if tree.args.get("joins") or tree.args.get("laterals"):
            return Verdict("other", "a join")
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return Verdict("other", "a subselect in FROM" if source is not None else "no table")
        if source.args.get("joins"):
            return Verdict("other", "a join")
        name, table, names = table_of(source, self._schema, self._database)
        if of_the_system(name):
            return Verdict("session")
        verdict = Verdict("other", table=table, table_name=name)
        for part, word in (("group", "GROUP BY"), ("having", "HAVING"), ("windows", "a window"), ("into", "INTO")):
            if tree.args.get(part):
                verdict.why = word
                return verdict
        reader = Reader(names, table.columns if table else {})
        where = tree.args.get("where")
        found = reader.read(where.this) if where else reader.found
        kind = self._columns(tree, reader, verdict)
        if kind is None:
            return verdict
        verdict.locking = bool(tree.args.get("locks"))
        verdict.ordered = bool(tree.args.get("order"))
        options = [one for one in tree.args.get("operation_modifiers") or [] if one.name.upper() != "SQL_NO_CACHE"]
        if tree.args.get("distinct") or options:
            verdict.unserved = "DISTINCT, or another option of SELECT"
        if verdict.ordered and table is not None:
            verdict.order_kept = is_order_kept(tree.args["order"], reader, found, table)
        offset = tree.args.get("offset")
        verdict.offset = bool(offset) and offset.expression.name not in ("0", "")
        list_kind = "in_list" if kind == "point_select" else kind
        placed = place(verdict, found, kind, list_kind)
        if not obeys(source.args.get("hints") or [], placed.index):
            placed.unserved = placed.unserved or "an index hint"
        return self._settled(placed, tree)

    def _settled(self, verdict: Verdict, tree: Any) -> Verdict:
        """Subselects in the select list or in ORDER BY make it other SQL."""
        if verdict.kind != "other" and any(True for node in tree.find_all(exp.Select) if node is not tree):
            verdict.kind, verdict.why = "other", "subselects"
        return verdict

    def _columns(self, tree: Any, reader: Reader, verdict: Verdict) -> Optional[str]:
        """The kind that a SELECT with a key would have; None if a key would not help."""
        columns: List[str] = []
        counts = constants = 0
        for expression in tree.expressions:
            node = bare(expression.this if isinstance(expression, exp.Alias) else expression)
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                columns.append("*")
            elif reader.column(node):
                columns.append(str(reader.column(node)))
            elif isinstance(node, exp.Count):
                counts += 1
            elif any(True for _ in node.find_all(exp.AggFunc, exp.Window)):
                verdict.why = "an aggregate"
                return None
            elif is_value(node):
                constants += 1
            else:
                verdict.expressions = True
                columns += [str(name) for name in (reader.column(part) for part in node.find_all(exp.Column)) if name]
        verdict.columns = tuple(dict.fromkeys(columns))
        if counts:
            if columns or counts > 1:
                verdict.why = "an aggregate"
                return None
            return "count"
        return "exists" if constants and not columns else "point_select"


def obeys(hints: List[Any], index: Optional[Index]) -> bool:
    """Whether the index that finds the rows is the one that a hint names."""
    if not hints:
        return True
    named = [one.name.lower() for hint in hints for one in hint.expressions]
    willing = all(str(hint.this).upper() in ("FORCE", "USE") for hint in hints)
    return willing and index is not None and named == [index.name.lower()]


def is_named_exists(tree: Any) -> bool:
    """SELECT EXISTS (...) AS name, and nothing else."""
    only = tree.expressions[0]
    named = isinstance(only, exp.Alias) and isinstance(bare(only.this), exp.Exists)
    return named and not any(tree.args.get(part) for part in ("from_", "where", "order", "limit", "offset"))


def is_order_kept(order: Any, reader: Reader, found: Conditions, table: Table) -> bool:
    """Whether an index that leads to the rows has them in this order, or in the opposite one."""
    wanted = [(reader.column(one.this), bool(one.args.get("desc"))) for one in order.expressions]
    if not all(name for name, _ in wanted) or len({down for _, down in wanted}) > 1:
        return False
    names = [name for name, _ in wanted if name not in found.equal]
    primary = next((index.columns for index in table.indexes if index.name == "PRIMARY"), ())
    for index in table.indexes:
        if index.columns[0] in found.exact | found.ranges:
            rest = [name for name in (*index.columns, *primary) if name not in found.equal]
            if rest[: len(names)] == names:
                return True
    return False


def bare_select(node: Any) -> Any:
    while isinstance(node, (exp.Paren, exp.Subquery)):
        node = node.this
    return node


def change(tree: Any, schema: Schema, database: str) -> Verdict:
    """Of UPDATE and DELETE."""
    target = tree.this
    several = tree.args.get("tables") or tree.args.get("using") or tree.args.get("from_")
    if not isinstance(target, exp.Table) or target.args.get("joins") or several:
        return Verdict("other", "several tables")
    name, table, names = table_of(target, schema, database)
    if of_the_system(name):
        return Verdict("session")
    verdict = Verdict("other", table=table, table_name=name, changes=True)
    read_returning(tree, verdict)
    if tree.args.get("limit") or tree.args.get("order"):
        verdict.unserved = "ORDER BY or LIMIT of a change"
    reader = Reader(names, table.columns if table else {})
    where = tree.args.get("where")
    found = reader.read(where.this) if where else reader.found
    if isinstance(tree, exp.Delete):
        kind = "point_delete"
    else:
        kind = assignments(tree.expressions, reader, verdict)
        if not kind:
            return verdict
    return place(verdict, found, kind, kind)


def read_returning(tree: Any, verdict: Verdict) -> None:
    returning = tree.args.get("returning")
    if returning:
        verdict.returning = True
        wanted = [one.this if isinstance(one, exp.Alias) else one for one in returning.expressions]
        verdict.returns_expressions = not all(isinstance(one, (exp.Column, exp.Star)) for one in wanted)


def assignments(expressions: Any, reader: Reader, verdict: Verdict) -> str:
    """`increment`, `point_update`, or nothing where SET reads other tables."""
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
            verdict.expressions = True
    verdict.columns = tuple(dict.fromkeys(columns))
    if increments and increments < len(columns):
        verdict.how = "mixed"
    return "increment" if increments == len(columns) or (increments and reader) else "point_update"


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
    """Of INSERT and REPLACE."""
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
        if not all(is_plain(value) or is_default(value) for value in values):
            verdict.expressions = True
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
    """The kind of an ON DUPLICATE KEY UPDATE: sets the row to the given values (`update`), a part of it (`update_some`), adds
    (`add`), nothing (`keep`), or something that the server works out (`other`)."""
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
        else:
            verdict.expressions = True
            return "other"
    given = set(verdict.columns) - set(verdict.key_columns)
    if not taken and not added:
        return "keep"
    if added:
        return "add"
    return "update" if given <= taken else "update_some"


def fraction(verdict: Verdict, name: str) -> bool:
    """The same of DECIMAL, FLOAT and DOUBLE."""
    column = verdict.table.columns.get(name) if verdict.table else None
    return bool(column) and column.type in ("decimal", "float", "double")  # type: ignore[union-attr]


def integer(verdict: Verdict, name: str) -> bool:
    """Whether a column of the statement's table holds integers."""
    column = verdict.table.columns.get(name) if verdict.table else None
    return bool(column) and column.type in INTEGERS  # type: ignore[union-attr]
