"""Subqueries that workers of the SQL door execute for each row around them: docs/statements.md."""

from __future__ import annotations

from typing import Any, List, Optional

from sqlglot import exp

DEEP_MAX = 3
# Clauses that make the server keep rows, or that only the server answers.
REFUSED = ("group", "having", "distinct", "offset", "windows", "laterals", "with_", "hint", "locks")


def planned_subqueries(tree: Any) -> List[Any]:
    """The SELECTs in conditions and in the select list of `tree` that a plan may have, and their parentheses. Empty if
    there is another one, because then there is no plan."""
    found: List[Any] = []
    for select in tree.find_all(exp.Select):
        if select is tree:
            continue
        test = test_of(select)
        if test is None or not may_stand(test, tree) or not is_repeatable(select):
            return []
        found.append(select)
        if isinstance(select.parent, exp.Subquery):
            found.append(select.parent)
    return found


def test_of(select: Any) -> Optional[Any]:
    """EXISTS, IN with a column on its left, or the parentheses of a value."""
    around = select.parent
    if isinstance(around, exp.Exists):
        return around
    if not isinstance(around, exp.Subquery) or isinstance(around.parent, (exp.From, exp.Join, exp.Any, exp.All)):
        return None
    if isinstance(around.parent, exp.In):
        return around.parent if isinstance(around.parent.this, exp.Column) else None
    return around


def may_stand(test: Any, tree: Any) -> bool:
    """In WHERE or ON, or in the outermost select list without aggregates; not too deep in others."""
    node, deep = test, 1
    while True:
        around = node.find_ancestor(exp.Select)
        if around is None or deep > DEEP_MAX:
            return False
        place = node
        while place.parent is not around:
            place = place.parent
        if not isinstance(place, (exp.Where, exp.Join)):
            listed = around is tree and any(one is place for one in around.expressions)
            if not listed or any(one.find_ancestor(exp.Select) is tree for one in tree.find_all(exp.AggFunc)):
                return False
        if around is tree:
            return True
        node, deep = around, deep + 1


def is_repeatable(select: Any) -> bool:
    """Without rows that are kept, or a result that the server finds at an end of an index."""
    if select.args.get("from_") is None or any(select.args.get(part) for part in REFUSED):
        return False
    if any(one.find(exp.Distinct) for one in select.find_all(exp.Count)):
        return False
    ends = [one for listed in select.expressions for one in listed.find_all(exp.Min, exp.Max)]
    return not ends or select.args.get("where") is not None
