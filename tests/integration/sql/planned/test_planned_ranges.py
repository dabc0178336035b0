"""Planned reads through ranges of an index, whose keys are written anew for each execution: rows and handler calls as
on the server's own port, with values of every kind that a range may have.

SEED=N in the environment makes other choices.
"""
import random

import pytest
from support.clients import sql_session
from support.random_input import seeds
from support.random_input.planned_once import (
    assert_alike,
    fast,
    plain,
    sessions,
)  # noqa: F401  pylint: disable=unused-import

ROWS = 400
# No two are equal in the session's collation: the server reads BETWEEN of such two as `=`, whatever the column's is.
APART = ("a", "B", "c", "ab", "bä", "Zz", "z" * 12, "", "-")
LETTERS = ("a", "A", "ä", "b", "ab", "aB ", "ab  c", "z" * 12, "", " ")
# Of a column: its type, the expression of its rows, and values.
COLUMNS = {
    "int": ("INT", "seq % 23", (0, 1, 7, 22, 30, -1, 1 << 31, -(1 << 40), "5", "7x", 4.0, 4.5)),
    "tiny unsigned": ("TINYINT UNSIGNED", "seq % 200", (0, 1, 99, 150, 199, 255, 256, -1, "12", 1 << 40)),
    "big unsigned": (
        "BIGINT UNSIGNED",
        "18446744073709551615 - seq % 19",
        (0, -1, (1 << 64) - 1, (1 << 64) - 2, (1 << 64) - 10, (1 << 64) - 18, 1 << 63),
    ),
    "decimal": ("DECIMAL(7,2)", "seq % 31 / 4", (0, 1, 0.25, "0.50", 7.5, 7.125, -3, 99999.99, 100000)),
    "varchar": ("VARCHAR(12)", None, (*LETTERS, "z" * 13, 5)),
    "varchar binary": ("VARCHAR(12) COLLATE utf8mb4_bin", None, (*APART, "z" * 13)),
    "char": ("CHAR(12) CHARACTER SET latin1", None, (*LETTERS, "z" * 13)),
    "nopad": ("VARCHAR(12) COLLATE utf8mb4_unicode_nopad_ci", None, LETTERS),
    "varbinary": ("VARBINARY(12)", None, APART),
    "date": (
        "DATE",
        "'2026-01-01' + INTERVAL seq % 40 DAY",
        ("2026-01-01", "2026-01-20", "2026-02-30", "2026-01-05 10:00:00", "x"),
    ),
    "datetime": (
        "DATETIME(3)",
        "'2026-01-01' + INTERVAL seq % 40 HOUR",
        ("2026-01-01", "2026-01-01 07:00:00", "2026-01-01 07:00:00.5", "2026-01-01 7:00", "2026-01-02 03:00:00.123456"),
    ),
}
# Comparisons of the first column `a`, and of the second one, which is a whole number.
FIRST = (
    "a = {}",
    "a > {}",
    "{} > a",
    "a >= {}",
    "a <= {}",
    "a BETWEEN {} AND {}",
    "a NOT BETWEEN {} AND {}",
    "a > {} AND a <= {}",
    "a >= {} AND a >= {}",
    "a IN ({}, {})",
    "a IN ({}, {}, {})",
    "a NOT IN ({}, {})",
    "(a < {} OR a > {})",
)
SECOND = (
    "",
    " AND b = {n}",
    " AND b > {n}",
    " AND b < {n}",
    " AND b BETWEEN {n} AND {n}",
    " AND b IN ({n}, {n}, {n})",
    " AND b IN ({n}, {n}) AND c > {n}",
    " AND c = {n}",
    " AND b + 0 = {n}",
    " AND b > {n} AND id > {n}",
    " AND (b = {n} OR b IS NULL)",
    " AND b IS NULL",
    " AND b = c AND c > {n}",
)
KEYS = ("KEY k (a, b, c)", "KEY k (a DESC, b)", "KEY k (a), KEY other (b)", "UNIQUE KEY k (a, b, c, id)")


def fill(server, column, may_be_null, keys):
    null = "" if may_be_null else "NOT NULL"
    kind, rows, _ = COLUMNS[column]
    if rows is None:
        rows = f"ELT(seq % {len(LETTERS)} + 1, {', '.join(repr(one) for one in LETTERS)})"
    if may_be_null:
        rows = f"IF(seq % 11 = 0, NULL, {rows})"
    server.execute(
        f"CREATE OR REPLACE TABLE ranged (id INT PRIMARY KEY, a {kind} {null}, b INT {null}, c INT NOT NULL, d INT, {keys})"
        " CHARACTER SET utf8mb4",
        f"INSERT INTO ranged SELECT seq, {rows}, {'IF(seq % 7 = 0, NULL, seq % 5)' if may_be_null else 'seq % 5'}, seq % 3,"
        f" seq FROM seq_1_to_{ROWS}",
        "ANALYZE TABLE ranged",
        database="test",
    )


def written(value):
    return "'" + value + "'" if isinstance(value, str) else str(value)


def calls(session):
    return session.query("SHOW SESSION STATUS LIKE 'Handler_read%'")


@pytest.mark.parametrize("may_be_null", [True, False], ids=["with NULL", "NOT NULL"])
@pytest.mark.parametrize("column", COLUMNS)
def test_ranges_of_every_kind(plain, column, may_be_null):  # noqa: F811  pylint: disable=redefined-outer-name
    chance = random.Random(f"{seeds.chosen()} {column} {may_be_null}")
    answered = 0
    for keys in KEYS:
        fill(plain, column, may_be_null, keys)
        pair = sessions(plain)
        for first in chance.sample(FIRST, 6):
            second = chance.choice(SECOND)
            order = chance.choice(("a, b, c, id", "a DESC, b DESC, c DESC, id DESC", "d DESC"))
            text = f"SELECT id, a, b + 1 FROM ranged FORCE INDEX (k) WHERE {first}{second} ORDER BY {order} LIMIT 90"
            for one in pair:
                one.query("FLUSH STATUS")
            before = fast(plain)
            for _ in range(14):
                usual = COLUMNS[column][2][: 4 if chance.random() < 0.6 else None]
                said = text.format(*[written(chance.choice(usual)) for _ in range(first.count("{}"))], n="{n}")
                while "{n}" in said:
                    said = said.replace("{n}", str(chance.choice((-1, 0, 1, 2, 3, 4, 9, 1 << 40))), 1)
                assert_alike(said, pair)
            answered += fast(plain) - before
    assert answered > 0


def test_handler_calls_of_written_ranges(plain):  # noqa: F811  pylint: disable=redefined-outer-name
    """The ends of a range decide how often the storage engine is called."""
    fill(plain, "int", True, KEYS[0])
    pair = sessions(plain)
    text = "SELECT id, a, b + 1 FROM ranged FORCE INDEX (k) WHERE a {} ORDER BY d, id"
    for test in (
        "IN ({}, {}) AND b >= {}",
        "= {} AND b < {} + {}",
        "> {} AND a < {} + 5 AND c <> {}",
        "BETWEEN {} AND {} AND d <> {}",
    ):
        for one in range(4):
            for session in pair:
                session.query(text.format(test.format(one, one + 2, 3)))
        before = fast(plain)
        for first in range(12):
            values = (first, first + 3, 1 + first % 3)
            counted = []
            for session in pair:
                session.query("FLUSH STATUS")
                session.query(text.format(test.format(*values)))
                counted.append(sql_session.without_remarks(calls(session)))
            assert counted[0] == counted[1], (test, values)
        assert fast(plain) - before >= 8, test


@pytest.mark.parametrize("order", ["d", "a DESC, id DESC"])
def test_ranges_that_statistics_take_for_empty(plain, order):  # noqa: F811  pylint: disable=redefined-outer-name
    """One value is then found by no range, and the next values are not written into what the optimizer made of it."""
    fill(plain, "int", False, "KEY k (a)")
    plain.execute(
        "SET use_stat_tables = PREFERABLY",
        "ANALYZE TABLE ranged PERSISTENT FOR ALL",
        "UPDATE mysql.index_stats SET avg_frequency = 0.7 WHERE table_name = 'ranged' AND index_name = 'k'"
        " AND prefix_arity = 1",
        "FLUSH TABLES",
        database="test",
    )
    pair = sessions(plain)
    before = fast(plain)
    for ends in ((1, 5), (1, 5), (1, 5), (2, 6), (3, 3), (1, 5), (10, 15), (3, 3), (3, 3), (1, 4)):
        text = (
            f"SELECT id, a, b + 1 FROM ranged FORCE INDEX (k) WHERE a BETWEEN {ends[0]} AND {ends[1]} ORDER BY {order}"
        )
        assert_alike(text, pair)
    assert fast(plain) > before + 3
    plain.execute("DELETE FROM mysql.index_stats WHERE table_name = 'ranged'")
