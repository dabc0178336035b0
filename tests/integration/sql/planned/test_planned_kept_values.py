"""Planned SELECTs whose values may be kept in a temporary table. The server needs none where it finds the only row by a
key beforehand, and its client then gets some values in another way: bits, which Hibernate makes for booleans, as a
number, FLOAT and DOUBLE of fixed decimals unrounded, MIN and MAX without leading zeros."""
import itertools

from support.clients import sql_session
from support.random_input.planned_once import plain, sessions  # noqa: F401  pylint: disable=unused-import

COMPUTED = (
    "IF(x.k > 2, x.done, NULL)",
    "COALESCE(x.done, b'1')",
    "CASE WHEN x.k > 2 THEN x.done END",
    "NULLIF(x.done, b'1')",
    "GREATEST(x.done, x.flags)",
    "MAX(x.flags)",
    "x.flags",
    "x.flags + 0",
    "(SELECT y.done FROM task y WHERE y.id = x.id)",
    "COALESCE(x.price, x.k)",
    "x.weight / 3",
    "-x.price",
    "AVG(x.price)",
    "ROUND(x.weight * 1.1, 2)",
    "x.price",
    "MAX(x.number)",
    "MIN(x.amount)",
    "x.amount",
    "IF(x.k > 2, x.number, 7)",
)
FORMS = (
    "SELECT x.k, {}, COUNT(DISTINCT x.w) FROM person p JOIN task x ON p.k = x.id WHERE p.id = ?"
    " GROUP BY x.k, x.done, x.flags, x.price, x.weight, x.number, x.amount ORDER BY 3",
    "SELECT DISTINCT {} AS a, x.k FROM person p JOIN task x ON p.k = x.id WHERE p.k = ? ORDER BY x.k + 1",
    "SELECT {} AS a, x.id FROM person p JOIN task x ON p.k = x.id WHERE p.k = ? ORDER BY x.w, p.id",
    "SELECT a FROM (SELECT {} AS a, x.k FROM person p JOIN task x ON p.k = x.id WHERE p.id < ?"
    " GROUP BY x.k, x.done, x.flags, x.price, x.weight, x.number, x.amount) d ORDER BY a",
)


def rows(answer):
    """Without the definitions of the columns, which show the plan."""
    every = [bytes(one) for one in sql_session.without_remarks(answer)]
    return sorted(one for one in every if one[:4] != b"\x03def")


def test_values_are_those_of_the_servers_port(plain):
    plain.execute(
        "CREATE OR REPLACE TABLE task (id INT PRIMARY KEY, k INT, done BIT(1), flags BIT(12) NOT NULL, w INT,"
        " price FLOAT(7, 2), weight DOUBLE(9, 3), number INT ZEROFILL, amount DECIMAL(10, 3) ZEROFILL, KEY (k))",
        "INSERT INTO task SELECT seq, seq % 7, IF(seq % 5, seq % 2, NULL), seq * 37 % 4000, seq, seq / 7, seq / 11, seq,"
        " seq / 3 FROM seq_1_to_40",
        "CREATE OR REPLACE TABLE person (id INT PRIMARY KEY, k INT, KEY (k))",
        "INSERT INTO person SELECT seq, seq % 9 FROM seq_1_to_40",
        "ANALYZE TABLE task, person",
        database="test",
    )
    pair = sessions(plain)
    for form, computed in itertools.product(FORMS, COMPUTED):
        if "GROUP BY" not in form and computed[:3] in ("MAX", "MIN", "AVG"):
            continue
        text = form.format(computed)
        for value in range(3, 9):
            answers = [one.query(text.replace("?", str(value))) for one in pair]
            assert rows(answers[0]) == rows(answers[1]), (text, value)
            answers = [one.execute(text, (value,)) for one in pair]
            assert rows(answers[0]) == rows(answers[1]), (text, value, "prepared")
