"""The conditions of a WHERE on the columns of one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from sqlglot import exp

from postern_cli.advise import computed

COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE)


@dataclass
class Conditions:
    """Column names are in lower case."""

    equal: Set[str] = field(default_factory=set)
    listed: Dict[str, int] = field(default_factory=dict)  # IN, with the number of values
    listed_together: Set[str] = field(default_factory=set)  # (a, b) IN ((1, 2), (3, 4))
    null: Set[str] = field(default_factory=set)  # IS NULL, or <=> with a value that may be NULL
    ranges: Set[str] = field(default_factory=set)  # < <= > >= BETWEEN, LIKE with a fixed beginning
    patterns: Set[str] = field(default_factory=set)  # those of them that LIKE restricts
    residual: List[str] = field(default_factory=list)  # conditions that no key covers, as SQL
    simple_residual: bool = True  # each of them compares a column with a value
    expression_values: bool = False  # a value that has to be computed: NOW(), 1 + 1
    worked_out: bool = False  # and no worker computes it
    number_for_text: Set[str] = field(default_factory=set)  # text columns compared with a number: no index helps
    impossible: Optional[str] = None  # the reason why these are not conditions on one table
    unserved: str = ""  # why no worker of the SQL door reads it

    @property
    def exact(self) -> Set[str]:
        return self.equal | set(self.listed) | self.listed_together | self.null


def is_value(node: Any) -> bool:
    """A literal, a parameter, or an expression of those alone."""
    if isinstance(node, (exp.Column, exp.Subquery, exp.Select, exp.Star)):
        return False
    return not any(
        isinstance(child, (exp.Column, exp.Select, exp.Star))
        for child in node.find_all(exp.Column, exp.Select, exp.Star)
    )


def is_plain(node: Any) -> bool:
    """A value that the client knows."""
    while isinstance(node, (exp.Paren, exp.Neg, exp.Introducer, exp.Collate)):
        node = node.expression if isinstance(node, exp.Introducer) else node.this
    return isinstance(
        node,
        (
            exp.Literal,
            exp.Placeholder,
            exp.Parameter,
            exp.Null,
            exp.Boolean,
            exp.HexString,
            exp.BitString,
            exp.National,
        ),
    )


def bare(node: Any) -> Any:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def conjuncts(node: Any) -> Iterator[Any]:
    node = bare(node)
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
        return
    known = truth(node)
    left = [part for part in alternatives(node) if truth(part) is not False] if known is None else []
    if len(left) == 1 and isinstance(node, exp.Or):
        yield from conjuncts(left[0])
    elif node is not None and known is not True:
        yield node


def alternatives(node: Any) -> List[Any]:
    """The parts of an OR."""
    node = bare(node)
    return alternatives(node.this) + alternatives(node.expression) if isinstance(node, exp.Or) else [node]


def truth(node: Any) -> Optional[bool]:
    """Of a condition that NULL decides: NULL IS NULL, c = NULL."""
    node = bare(node)
    if isinstance(node, (exp.And, exp.Or)):
        decides = isinstance(node, exp.Or)
        parts = {truth(node.this), truth(node.expression)}
        if decides in parts:
            return decides
        return None if None in parts else not decides
    if isinstance(node, exp.Not):
        inner = bare(node.this)
        return False if isinstance(inner, exp.Is) and truth(inner) else None
    if isinstance(node, exp.Is):
        return True if isinstance(node.this, exp.Null) and isinstance(node.expression, exp.Null) else None
    if isinstance(node, (exp.EQ, exp.NEQ, *COMPARISONS)):
        sides = (bare(node.this), bare(node.expression))
        return False if any(isinstance(one, exp.Null) for one in sides) else None
    return None


class Reader:
    """Reads conditions on the columns of one table, which may have several names."""

    def __init__(self, names: Set[str], columns: Any) -> None:
        self._names = names
        self._columns = columns  # columns of the table, by name; empty if the table is unknown
        self.found = Conditions()

    def read(self, where: Any) -> Conditions:
        for part in conjuncts(where):
            self._conjunct(part)
        return self.found

    def column(self, node: Any) -> Optional[str]:
        """The name of a column of this table, or None."""
        node = bare(node)
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        table = node.table.lower()
        if table and table not in self._names:
            return None
        name = node.name.lower()
        # The parser knows that "abc" is a string; any other word that is not a column belongs to another table.
        return name if not self._columns or name in self._columns else None

    def _conjunct(self, node: Any) -> None:
        if is_value(node):
            return  # 1=1
        flag = self.column(node.this if isinstance(node, exp.Not) else node)
        if flag:
            self._flag(flag, node)
            return
        if self._equality(node) or self._list(node) or self._range(node):
            return
        self._leave(node, simple=False)

    def _flag(self, name: str, node: Any) -> None:
        """For the server `flag` is flag <> 0, and NOT flag is flag = 0."""
        self._note_value(name, exp.Literal.number(0))
        if isinstance(node, exp.Not):
            self._equal(name, node, False)
        else:
            self._leave(node, simple=True)

    def _leave(self, node: Any, simple: bool) -> None:
        if any(True for _ in node.find_all(exp.Select)):
            self.found.impossible = "a subselect in WHERE"
        self.found.residual.append(node.sql(dialect="mysql"))
        if not simple and not self._is_like(node):
            self.found.unserved = "a condition that does not compare a column with values"
        self.found.simple_residual = self.found.simple_residual and simple

    def _is_like(self, node: Any) -> bool:
        inner = bare(node.this) if isinstance(node, exp.Not) else node
        return isinstance(inner, exp.Like) and bool(self.column(inner.this)) and is_plain(inner.expression)

    def _note_value(self, name: str, value: Any) -> None:
        if not is_plain(value):
            self.found.expression_values = True
        self._note_computed(name, value)
        if isinstance(value, (exp.Collate, exp.Introducer)):
            self.found.unserved = "a value with a character set or collation of its own"
        column = self._columns.get(name) if self._columns else None
        if column and column.type in ("char", "varchar", "text", "tinytext", "mediumtext", "longtext"):
            if isinstance(value, exp.Literal) and not value.is_string:
                self.found.number_for_text.add(name)

    def _note_computed(self, name: str, value: Any) -> None:
        if not is_plain(value) and not computed.suits(value, self.kind(name), compared=True):
            self.found.worked_out = True

    def kind(self, name: str) -> str:
        """The type of a column; empty if unknown."""
        column = self._columns.get(name) if self._columns else None
        return column.type if column else ""

    def _equality(self, node: Any) -> bool:
        if isinstance(node, (exp.EQ, exp.NullSafeEQ)):
            for left, right in ((bare(node.this), bare(node.expression)), (bare(node.expression), bare(node.this))):
                name = self.column(left)
                if name and is_value(right):
                    self._note_value(name, right)
                    self._equal(name, node, isinstance(node, exp.NullSafeEQ))
                    return True
                if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
                    names = [self.column(part) for part in left.expressions]
                    if all(names) and all(is_value(part) for part in right.expressions):
                        for one in names:
                            self._equal(one, node, False)
                        return True
            return False
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            name = self.column(node.this)
            if name:
                self.found.null.add(name)
                return True
        return False

    def _equal(self, name: str, node: Any, with_null: bool) -> None:
        if name in self.found.equal:
            # id = 1 AND id = 1: the second is checked on the row.
            self._leave(node, simple=True)
        elif with_null:
            self.found.null.add(name)
        else:
            self.found.equal.add(name)

    def _list(self, node: Any) -> bool:
        if isinstance(node, exp.In) and not node.args.get("query"):
            left = bare(node.this)
            if isinstance(left, exp.Tuple):
                names = [self.column(part) for part in left.expressions]
                if all(names) and all(is_value(part) for part in node.expressions):
                    self.found.listed_together |= set(names)
                    return True
                return False
            name = self.column(left)
            if not name or not node.expressions or not all(is_value(part) for part in node.expressions):
                return False
            for value in node.expressions:
                self._note_value(name, value)
            return self._listed(name, node, len(node.expressions))
        if isinstance(node, exp.Or):
            return self._alternatives(node)
        return False

    def _listed(self, name: str, node: Any, count: int) -> bool:
        if name in self.found.equal or name in self.found.listed:
            self._leave(node, simple=True)
        elif count == 1:
            self.found.equal.add(name)
        else:
            self.found.listed[name] = count
        return True

    def _alternatives(self, node: Any) -> bool:
        """id = 1 OR id = 2 is a list, too."""
        parts = alternatives(node)
        rows = [self._equalities(part) for part in parts]
        names = rows[0]
        if not names or rows.count(names) < len(rows) or len(set(names)) < len(names):
            self.found.unserved = "OR"
            return False
        if len(names) > 1:
            self.found.listed_together |= set(names)
            return True
        return self._listed(names[0], node, len(parts))

    def _equalities(self, node: Any) -> List[str]:
        """The columns of c = 1 AND d = 2, in this order; empty if there is something else."""
        node = bare(node)
        if isinstance(node, exp.And):
            left, right = self._equalities(node.this), self._equalities(node.expression)
            return left + right if left and right else []
        if not isinstance(node, exp.EQ):
            return []
        for column, value in ((node.this, node.expression), (node.expression, node.this)):
            name = self.column(column)
            if name and is_value(value):
                self._note_value(name, value)
                return [name]
        return []

    def _range(self, node: Any) -> bool:
        name = None
        if isinstance(node, COMPARISONS):
            left, right = bare(node.this), bare(node.expression)
            name = self.column(left) if is_value(right) else self.column(right) if is_value(left) else None
        elif isinstance(node, exp.Between):
            name = self.column(node.this) if is_value(node.args["low"]) and is_value(node.args["high"]) else None
        elif isinstance(node, exp.Like) and is_value(node.expression):
            pattern = node.expression
            if not isinstance(pattern, exp.Literal) or pattern.name[:1] not in ("%", "_"):
                name = self.column(node.this)
            if name:
                self.found.patterns.add(name)
        elif isinstance(node, (exp.NEQ, exp.Not)):
            return self._unequal(node)
        if name is None:
            return False
        if isinstance(node, exp.Between):
            bounds = [node.args["low"], node.args["high"]]
        else:
            bounds = [one for one in (bare(node.this), bare(node.expression)) if is_value(one)]
        for value in bounds:
            self._note_computed(name, value)
        self.found.ranges.add(name)
        return True

    def _unequal(self, node: Any) -> bool:
        """c <> 1, NOT c, c IS NOT NULL: no key covers it, but a filter may."""
        inner = bare(node.this)
        simple = isinstance(node, exp.NEQ) and self.column(inner) and is_value(node.expression)
        simple = simple or (isinstance(inner, exp.Is) and self.column(inner.this))
        if not simple:
            return False
        self._leave(node, simple=True)
        return True


def residual_of(conditions: Conditions, key: Tuple[str, ...]) -> List[str]:
    """The columns and conditions beyond those of a key."""
    return sorted((conditions.exact | conditions.ranges) - set(key)) + conditions.residual
