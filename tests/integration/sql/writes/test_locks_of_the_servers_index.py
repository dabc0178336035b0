"""In a transaction, changes and locking reads by a key lock what they lock at the server's port: where its optimizer may
read by another index, or finds that no row can match, the server answers."""
import pytest
from support.clients.sql_session import Session
from support.random_input.planned_once import fast
from support.row_locks import id_of, locks_of
from support.server import STEADY_PLANS

PORTS = ("POSTERN_PORT", "SQL_PORT")
# Of each table the columns, their values, and its rows.
TABLES = {
    "plain": ("id INT PRIMARY KEY, a INT NOT NULL, b TINYINT NOT NULL, KEY ab (a, b)", "seq, seq % 7, seq % 5", 200),
    "longer": ("id INT PRIMARY KEY, b TINYINT NOT NULL, KEY id_b (id, b)", "seq, seq % 5", 200),
    "second": (
        "id INT PRIMARY KEY, x INT NOT NULL, b INT NOT NULL, UNIQUE KEY x (x), KEY xb (x, b)",
        "seq, seq, 1",
        200,
    ),
    "pivot": ("o BIGINT NOT NULL, t BIGINT NOT NULL, PRIMARY KEY (o, t), KEY t (t)", "seq, seq % 20", 200),
    "twice": (
        "id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, KEY ab (a, b), KEY a (a)",
        "seq, seq DIV 3, 1",
        3000,
    ),
    "few": ("id INT PRIMARY KEY, m INT NOT NULL, KEY m (m)", "seq, 30 + seq % 7", 40),
    "many": ("id INT PRIMARY KEY, m INT NOT NULL, KEY m (m)", "seq, seq DIV 7", 3000),
    "parts": (
        "w INT NOT NULL, d INT NOT NULL, i INT NOT NULL, l INT NOT NULL, PRIMARY KEY (w, d, i), KEY wdl (w, d, l)",
        "seq % 2, seq DIV 2 % 3, seq, seq",
        3000,
    ),
}
CHANGES = ("UPDATE {} SET c = 1 WHERE {}", "DELETE FROM {} WHERE {}")
LOCKS = ("SELECT * FROM {} WHERE {} FOR UPDATE", "SELECT * FROM {} WHERE {} LOCK IN SHARE MODE")
BOTH = CHANGES + LOCKS
OTHERS = [
    ("longer", "id = %d", BOTH),
    ("longer", "id IN (%d, 12)", CHANGES),
    ("longer", "id IN (%d, 12) ORDER BY id", LOCKS),
    ("second", "x = %d", BOTH),
    ("pivot", "o = %d AND t = 13", BOTH),
    ("pivot", "o = %d AND t IN (12, 13)", BOTH),
    ("pivot", "o IN (%d, 9) AND t = 13", BOTH),
    ("twice", "a = %d AND b > 0", BOTH),
    ("parts", "w = 0 AND d = 0 AND i = %d AND l > 3", BOTH),
    ("plain", "id = %d AND b BETWEEN 6 AND 5", BOTH),
    ("plain", "id = %d AND b = 1 AND b = 2", BOTH),
    ("plain", "id = %d AND b > 3 AND b <> 4 AND b < 2", BOTH),
    ("plain", "id = %d AND c = 1 AND c > 2", BOTH),
    ("plain", "id = %d AND id IN (10, 19)", BOTH),
    ("plain", "id = %d AND id > 100", BOTH),
    ("plain", "id BETWEEN %d AND 20", BOTH),
    ("few", "m = %d ORDER BY id", LOCKS),
    ("few", "m IN (%d, 33) ORDER BY m, id", LOCKS),
    ("few", "id IN (%d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18) ORDER BY id", LOCKS),
    ("few", "id BETWEEN 3 AND %d ORDER BY id", LOCKS),
    ("few", "m = %d", CHANGES),
]
CERTAIN = [
    ("plain", "id = %d", BOTH),
    ("plain", "id IN (%d, 10)", BOTH),
    ("plain", "id = %d AND c > 3", CHANGES),
    ("plain", "id = %d AND a = 2", CHANGES),
    ("plain", "id = %d AND c BETWEEN 3 AND 300", LOCKS),
    ("longer", "id = %d", LOCKS),
    ("second", "id = %d", BOTH),
    ("pivot", "o = %d", BOTH),
    ("parts", "w = 0 AND d = 0 AND i = %d", BOTH),
    ("many", "m = %d ORDER BY id", LOCKS),
    ("many", "m IN (%d, 7) ORDER BY m, id", LOCKS),
    ("many", "id BETWEEN 3 AND %d ORDER BY id DESC", LOCKS),
    ("many", "m = %d", CHANGES),
]


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(STEADY_PLANS, "--postern-verify=0", "--innodb-status-output-locks=ON", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    for name, (columns, values, rows) in TABLES.items():
        server.execute(
            f"CREATE TABLE {name} ({columns}, c INT NOT NULL)",
            f"INSERT INTO {name} SELECT {values}, seq FROM seq_1_to_{rows}",
            f"ANALYZE TABLE {name}",
            database="test",
        )
    return server


def locks_at_both(server, text):
    """For some values the locks at the door and at the port, the first few times without what workers learn by."""
    sessions = [Session(server.env[port], "own", "test") for port in PORTS]
    ids = [id_of(one) for one in sessions]
    for number in (*range(30, 34), *range(36, 42, 6)):
        seen = []
        for session, connection in zip(sessions, ids):
            session.query("BEGIN")
            session.query(text % number)
            seen.append(locks_of(server, connection))
            session.query("ROLLBACK")
        yield number, seen
    for one in sessions:
        one.close()


def texts(cases):
    for table, where, heads in cases:
        for head in heads:
            yield head.format(table, where)


@pytest.mark.parametrize("text", texts(OTHERS))
def test_another_index_or_none(served, text):
    for number, (door, port) in locks_at_both(served, text):
        assert door == port, number


@pytest.mark.parametrize("text", texts(CERTAIN))
def test_workers_answer_where_the_index_is_certain(served, text):
    before = fast(served)
    for number, (door, port) in locks_at_both(served, text):
        assert door == port, number
        assert port
    assert fast(served) > before
