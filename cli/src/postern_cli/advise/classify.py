"""Classifies a statement: rows by key, a range, or other SQL. One parse, no guesses about unknown tables."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from postern_cli.advise.changes import change, insertion
from postern_cli.advise.computed import is_of_session
from postern_cli.advise.conditions import Conditions, Reader, bare, conjuncts, is_value
from postern_cli.advise.planned import is_planned
from postern_cli.advise.schema import Index, Schema, Table
from postern_cli.advise.statement import complete, is_cut, rough_kind
from postern_cli.advise.verdict import Verdict, of_the_system, place, table_of


def classify(statement: str, schema: Schema, database: str = "") -> Verdict:
    """Classifies a statement that was sent with `database` in use. Its values may be question marks."""
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
    if isinstance(tree, (exp.Update, exp.Delete, exp.Insert)):
        written = (
            insertion(tree, schema, database, replace)
            if isinstance(tree, exp.Insert)
            else change(tree, schema, database)
        )
        written.variables = any(isinstance(node, exp.Parameter) or is_of_session(node) for node in tree.walk())
        return written
    verdict = Verdict("other", "several SELECTs" if isinstance(tree, exp.SetOperation) else "not understood")
    verdict.planned = is_planned(tree, schema, database)
    return verdict


class SelectReader:
    """Classifies a SELECT, or the one within its COUNT(*) or EXISTS."""

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
        """The SELECT by key within a COUNT(*) FROM (SELECT ...), SELECT EXISTS (...) or similar."""
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
        """Whether subselects in the select list or in ORDER BY make it other SQL."""
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
            elif is_value(node) or isinstance(node, exp.Null):
                constants += 1
            else:
                verdict.expressions = verdict.worked_out = True
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
