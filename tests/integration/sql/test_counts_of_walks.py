"""Status variables that tell how SELECTs found their rows, when workers have read the rows by an index."""
import pytest

from support.both_ports import ask, fast, filled, pair
from support.both_ports import served  # noqa: F401

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT, k INT, s VARCHAR(20), KEY k (k), KEY s (s))",
    "INSERT INTO t SELECT seq, seq * 2, seq DIV 9, CONCAT('s', seq) FROM seq_1_to_900",
    "CREATE TABLE c (a INT, b INT, v INT, PRIMARY KEY (a, b), UNIQUE v (v))",
    "INSERT INTO c SELECT seq DIV 5, seq % 5, seq FROM seq_1_to_500",
    "ANALYZE TABLE t, c",
)
COUNTED = "SHOW SESSION STATUS WHERE Variable_name IN ('Select_range', 'Select_scan', 'Select_full_join')"
READS = (
    "SELECT n FROM t WHERE id = 7",
    "SELECT n FROM t WHERE id IN (5, 7)",
    "SELECT n FROM t WHERE id IN (5, 5)",
    "SELECT n FROM t WHERE id IN (5, 9999)",
    "SELECT n FROM t WHERE id BETWEEN 5 AND 7 ORDER BY id",
    "SELECT n FROM t WHERE id BETWEEN 5 AND 5 ORDER BY id",
    "SELECT n FROM t WHERE id BETWEEN 7 AND 5 ORDER BY id",
    "SELECT n FROM t WHERE id > 890 ORDER BY id DESC LIMIT 2",
    "SELECT COUNT(*) FROM t WHERE id > 860",
    "SELECT EXISTS (SELECT 1 FROM t WHERE id > 860)",
    "SELECT id FROM t ORDER BY id LIMIT 3",
    "SELECT id FROM t WHERE k = 5 ORDER BY id LIMIT 2",
    "SELECT COUNT(*) FROM t WHERE k IN (5, 6)",
    "SELECT id FROM t WHERE s LIKE 's77%' ORDER BY s",
    "SELECT v FROM c WHERE (a, b) IN ((5, 1), (6, 2))",
    "SELECT v FROM c WHERE a = 5 AND b > 1 ORDER BY b",
    "SELECT v FROM c WHERE a = 7 ORDER BY b",
    "SELECT a FROM c WHERE v IN (5, 6)",
    "SELECT n FROM t WHERE id IN (5, 6) FOR UPDATE",
)


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
def test_each_read_counts_as_on_the_servers_port(tables, prepared):
    sessions = pair(tables)
    before = fast(tables)
    for text in READS:
        for _ in range(6):
            ask(sessions, text, () if prepared else None)
            ask(sessions, COUNTED)
    assert fast(tables) - before > 3 * len(READS)
