"""Cases of tables that are written through a door: each must then equal one written by SQL.

A test file defines its Cases and plays each of them, one request at a time and with all requests at once:

    CASES = Cases()
    CASES.add("name", "CREATE TABLE t ...", Insert("t", k=b"1"))

    @CASES.each
    def test_table(twins, name, together):
        CASES.play(twins, name, together)
"""
import pytest
from support.like_sql import Change, Delete, Insert, Update

OLD = b"2020-01-01 00:00:00"
PARENT = "CREATE TABLE p (id INT PRIMARY KEY, u VARCHAR(9) UNIQUE)"
LOG = "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(100))"
BASE = "CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(20), n INT)"
ROWS = "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)"

EVERY = [
    Insert("t", k=b"10", v=b"x", n=b"5"),
    Insert("t", k=b"1", v=b"dup"),
    Insert("t", k=b"11"),
    Update("t", b"1", v=b"new"),
    Update("t", b"1", v=b"new"),
    Update("t", b"2", n=b"stop"),
    Change("t", b"2", "+", {"n": b"1"}),
    Change("t", b"2", "U", {"v": b"all"}, operator=">=", limit=2),
    Delete("t", b"3"),
    Delete("t", b"99"),
    Delete("t", b"4", operator=">=", limit=2),
]


def triggers(body, events=("INSERT", "UPDATE", "DELETE"), moments=("BEFORE", "AFTER")):
    return [
        f"CREATE TRIGGER {moment}_{event} {moment} {event} ON t FOR EACH ROW {body(moment, event)}"
        for moment in moments
        for event in events
    ]


def old_new(event):
    return {"INSERT": "'-', NEW.v", "UPDATE": "OLD.v, NEW.v", "DELETE": "OLD.v, '-'"}[event]


class Cases:
    def __init__(self):
        self.known = {}

    def add(self, name, make, *ops, queries=()):
        """`make`: SQL that creates the tables; `queries`: must return the same on both sides at the end."""
        assert name not in self.known
        self.known[name] = [make] if isinstance(make, str) else make, ops, queries

    def each(self, test):
        """Runs a test for each case, singly and together."""
        test = pytest.mark.parametrize("name", self.known)(test)
        return pytest.mark.parametrize("together", [False, True], ids=["singly", "together"])(test)

    def play(self, twins, name, together):
        make, ops, queries = self.known[name]
        twins.make(*make)
        for some in [ops] if together else [[op] for op in ops]:
            twins.run(some)
        for sql in queries:
            twins.query(sql)
        twins.assert_same()
