"""Plans of SELECTs are made with a table's statistics from the server's system tables, as at the server's own port."""
import pytest
from support.clients.sql_session import Session
from support.random_input.planned_once import fast, plain  # noqa: F401

FORMS = (
    "SELECT l.id, r.id FROM lefts l JOIN rights r ON r.k = l.k WHERE l.n > %d AND r.n > %d",
    "SELECT COUNT(*) FROM lefts l JOIN rights r ON r.k = l.k WHERE l.n > %d AND r.n > %d",
    "SELECT MAX(l.id), MIN(r.n) FROM lefts l JOIN rights r ON r.k = l.k WHERE l.n > %d AND r.n > %d",
)
TABLES = (
    "CREATE OR REPLACE TABLE lefts (id INT PRIMARY KEY, k INT, n INT, KEY (k))",
    "CREATE OR REPLACE TABLE rights (id INT PRIMARY KEY, k INT, n INT, KEY (k))",
    "INSERT INTO lefts SELECT seq, seq, seq % 7 FROM seq_1_to_300",
    "INSERT INTO rights SELECT seq, seq, seq % 7 FROM seq_1_to_300",
    "ANALYZE TABLE lefts PERSISTENT FOR ALL",
    "ANALYZE TABLE rights PERSISTENT FOR ALL",
)


@pytest.mark.parametrize("small", ["lefts", "rights"])
def test_a_plan_begins_with_the_table_that_is_smaller_by_its_own_statistics(plain, small):
    large = {"lefts": "rights", "rights": "lefts"}[small]
    plain.execute(
        *TABLES,
        f"UPDATE mysql.table_stats SET cardinality = 5 WHERE table_name = '{small}'",
        f"UPDATE mysql.table_stats SET cardinality = 900000 WHERE table_name = '{large}'",
        "FLUSH TABLES lefts, rights",
        database="test",
    )
    for text in FORMS:
        explained = plain.query("EXPLAIN " + text % (0, 0), database="test")
        assert explained[0][2] == small[0]
    door = Session(plain.env["POSTERN_PORT"], "root", "test")
    before = fast(plain)
    for number in range(8):
        # In turn: the table that the server has used for one is open in that one's plan, so the next plan opens another.
        for text in FORMS:
            door.query(text % (number % 3, number % 5))
    assert fast(plain) - before >= 3 * len(FORMS)
    plans = plain.query(
        "SELECT INDEX_NAME FROM information_schema.POSTERN_PLANS"
        " WHERE FORM LIKE '%lefts l JOIN rights r%' AND STATE = 'served'"
    )
    assert len(plans) == len(FORMS)
    assert all(plan.startswith(small[0] + ":") for (plan,) in plans), plans
