"""Joins that lock rows: workers answer those that read one row of each table by its whole primary key."""
from typing import Any, Dict, Optional, Set, Tuple

from sqlglot import exp

from postern_cli.advise.conditions import bare, conjuncts, is_value
from postern_cli.advise.schema import Schema, Table

Place = Tuple[str, str]  # an alias and a column, in lower case


def locks_by_primary_keys(tree: Any, schema: Schema, database: str) -> bool:
    joins = tree.args.get("joins") or []
    if any(tree.args.get(part) for part in ("group", "having", "distinct")) or tree.find(exp.AggFunc):
        return False
    if not joins or any(join.side for join in joins):
        return False
    tables: Dict[str, Table] = {}
    for node in tree.find_all(exp.Table):
        table = schema.find(node.text("db") or database, node.name)
        if table is None or table.view:
            return False
        tables[node.alias_or_name.lower()] = table
    return len(tables) == len(joins) + 1 and Equalities(tree, joins, tables).find_all()


class Equalities:
    """Columns that conditions compare with values, or with columns of other tables."""

    def __init__(self, tree: Any, joins: Any, tables: Dict[str, Table]) -> None:
        self._tables = tables
        self._known: Set[Place] = set()
        self._pairs: Set[Tuple[Place, Place]] = set()
        where = tree.args.get("where")
        for condition in [where.this if where else None] + [join.args.get("on") for join in joins]:
            if condition is not None:
                for node in conjuncts(condition):
                    self._note(bare(node))
        for join in joins:
            for name in join.args.get("using") or []:
                places = [(alias, name.name.lower()) for alias in tables if name.name.lower() in tables[alias].columns]
                self._pairs.update((places[0], other) for other in places[1:])

    def _note(self, node: Any) -> None:
        if not isinstance(node, exp.EQ):
            return
        left, right = bare(node.this), bare(node.expression)
        places = [self._place(left), self._place(right)]
        if places[0] and places[1]:
            self._pairs.add((places[0], places[1]))
        elif places[0] and is_value(right):
            self._known.add(places[0])
        elif places[1] and is_value(left):
            self._known.add(places[1])

    def _place(self, node: Any) -> Optional[Place]:
        if not isinstance(node, exp.Column):
            return None
        name = node.name.lower()
        owners = (
            [node.table.lower()] if node.table else [one for one in self._tables if name in self._tables[one].columns]
        )
        return (owners[0], name) if len(owners) == 1 and owners[0] in self._tables else None

    def find_all(self) -> bool:
        """Whether each table yields one row by its primary key, and no other unique key could find one."""
        found: Set[str] = set()
        count = -1
        while count != len(found) + len(self._known):
            count = len(found) + len(self._known)
            for one, other in self._pairs:
                for here, there in ((one, other), (other, one)):
                    if here in self._known or here[0] in found:
                        self._known.add(there)
            for alias, table in self._tables.items():
                key = table.keys()[0] if table.keys() else None
                if key and key.name == "PRIMARY" and all((alias, column) in self._known for column in key.columns):
                    found.add(alias)
        compared = self._known | {place for pair in self._pairs for place in pair}
        others = any(
            all((alias, column) in compared for column in key.columns)
            for alias, table in self._tables.items()
            for key in table.keys()
            if key.name != "PRIMARY"
        )
        return len(found) == len(self._tables) and not others
