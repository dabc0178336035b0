"""MIN and MAX that the server's optimizer reads at an end of an index while it plans, beside sums of rows."""
import pytest
from support.random_input.planned_once import assert_alike, plain, sessions  # noqa: F401  pylint: disable=unused-import

TABLES = (
    "CREATE OR REPLACE TABLE many (id INT PRIMARY KEY, k INT, m INT, KEY (k))",
    "INSERT INTO many SELECT seq, seq, seq FROM seq_1_to_50",
    "CREATE OR REPLACE TABLE few (id INT PRIMARY KEY)",
    "INSERT INTO few VALUES (1), (2), (3)",
)


@pytest.mark.parametrize(
    "text",
    (
        "SELECT MIN(k), SUM(m) FROM many",
        "SELECT MAX(k), COUNT(m), MIN(m) FROM many",
        "SELECT MIN(k), GROUP_CONCAT(m ORDER BY m) FROM many",
        "SELECT MIN(k) + SUM(m) FROM many",
        "SELECT MIN(k), SUM(m) FROM many WHERE id > 0",
        "SELECT id, (SELECT MIN(k) + SUM(m) FROM many) FROM few",
        "SELECT q.a, q.b FROM (SELECT MAX(k) a, SUM(m) b FROM many) q",
    ),
)
def test_ends_of_an_index_are_those_of_now(plain, text):  # noqa: F811
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    for turn in range(12):
        plain.execute(f"UPDATE many SET k = {turn * 100 * (-1) ** turn} WHERE id IN (1, 50)", database="test")
        assert_alike(text, pair)
