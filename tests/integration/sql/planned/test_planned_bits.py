"""Planned SELECTs with columns of type BIT, which Hibernate makes for booleans."""
import itertools

from support.random_input.planned_once import (
    assert_alike,
    plain,
    sessions,
)  # noqa: F401  pylint: disable=unused-import

COMPUTED = (
    "IF(x.k > 2, x.done, NULL)",
    "COALESCE(x.done, b'1')",
    "CASE WHEN x.k > 2 THEN x.done END",
    "IFNULL(x.done, x.flags)",
    "NULLIF(x.done, b'1')",
    "GREATEST(x.done, x.flags)",
    "MAX(x.flags)",
    "x.flags",
    "x.done",
    "(SELECT y.done FROM task y WHERE y.id = x.id)",
    "x.flags + 0",
)
FORMS = (
    "SELECT x.k, {}, COUNT(DISTINCT x.w) FROM person p JOIN task x ON p.k = x.id WHERE p.id = {} GROUP BY 1, x.done, x.flags ORDER BY 3",
    "SELECT DISTINCT {} AS a, x.k FROM person p JOIN task x ON p.k = x.id WHERE p.k = {} ORDER BY x.k + 1",
    "SELECT {} AS a, x.id FROM person p JOIN task x ON p.k = x.id WHERE p.k = {} ORDER BY x.id",
    "SELECT a FROM (SELECT {} AS a, x.k FROM person p JOIN task x ON p.k = x.id WHERE p.id < {} GROUP BY x.k, x.done, x.flags) d ORDER BY a",
)


def test_bits_are_bits_or_numbers_as_at_the_servers_port(plain):
    plain.execute(
        "CREATE OR REPLACE TABLE task (id INT PRIMARY KEY, k INT, done BIT(1), flags BIT(12) NOT NULL, w INT, KEY (k))",
        "INSERT INTO task SELECT seq, seq % 7, IF(seq % 5, seq % 2, NULL), seq * 37 % 4000, seq FROM seq_1_to_40",
        "CREATE OR REPLACE TABLE person (id INT PRIMARY KEY, k INT, KEY (k))",
        "INSERT INTO person SELECT seq, seq % 9 FROM seq_1_to_40",
        "ANALYZE TABLE task, person",
        database="test",
    )
    pair = sessions(plain)
    for form, computed in itertools.product(FORMS, COMPUTED):
        if "GROUP BY" in form or "MAX(" not in computed:
            for value in range(3, 9):
                assert_alike(form.format(computed, value), pair)
