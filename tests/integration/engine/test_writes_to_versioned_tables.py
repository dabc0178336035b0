"""The history of system-versioned tables that are written through the door."""
import pytest
from support.like_sql import Change, Delete, Insert, Update
from support.random_input.special_tables import LOG, PARENT

HISTORY = [
    Insert("t", k=b"1", v=b"1"),
    Insert("t", k=b"1", v=b"2"),
    Update("t", b"1", v=b"2"),
    Update("t", b"1", v=b"2"),
    Update("t", b"1", k=b"5"),
    Update("t", b"5", v=b"x"),
    Change("t", b"5", "+", {"v": b"3"}),
    Insert("t", k=b"6", v=b"6"),
    Insert("t", k=b"7"),
    Delete("t", b"6"),
    Insert("t", k=b"6", v=b"again"),
    Insert("t", k=b"6", v=b"66"),
    Change("t", b"1", "+", {"v": b"10"}, operator=">=", limit=9),
    Change("t", b"5", "U", {"k": b"6"}),
    Delete("t", b"1", operator=">=", limit=2),
]
TRANSACTIONS = "row_start BIGINT UNSIGNED AS ROW START, row_end BIGINT UNSIGNED AS ROW END, PERIOD FOR SYSTEM_TIME (row_start, row_end)"


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT WITHOUT SYSTEM VERSIONING, w INT DEFAULT 3) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT UNIQUE, g INT AS (v * 2) VIRTUAL, KEY (g)) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) ENGINE=Aria WITH SYSTEM VERSIONING",
        f"CREATE TABLE t (k INT PRIMARY KEY, v INT, {TRANSACTIONS}) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME LIMIT 1000 (PARTITION"
        " h HISTORY, PARTITION c CURRENT)",
    ],
    ids=["plain", "column without", "indexes", "Aria", "transactions", "partitions"],
)
def test_history(twins, definition):
    """One change at a time: two changes in one microsecond leave no history between them."""
    twins.make(definition)
    for op in HISTORY:
        twins.run([op])
    twins.assert_same()


def test_history_with_triggers(twins):
    twins.make(
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
        LOG,
        *(
            f"CREATE TRIGGER {moment}_{event} {moment} {event} ON t FOR EACH ROW INSERT INTO log (what) VALUES ('{moment} {event}')"
            for moment in ("BEFORE", "AFTER")
            for event in ("INSERT", "UPDATE", "DELETE")
        ),
    )
    for op in HISTORY:
        twins.run([op])
    twins.assert_same()


def test_history_over_a_foreign_key(twins):
    twins.make(
        PARENT,
        "CREATE TABLE c (k INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE) WITH SYSTEM"
        " VERSIONING",
        "INSERT INTO p VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO c VALUES (1, 1), (2, 2)",
    )
    for op in [Delete("p", b"1"), Insert("c", k=b"3", p=b"9"), Update("c", b"2", p=b"9"), Update("c", b"2", p=None)]:
        twins.run([op])
    twins.assert_same()
