"""UPDATE and DELETE with ORDER BY or LIMIT: workers answer those of at most one row, and all are answered as at the
server's port."""
import pytest
from support.both_ports import LEFT_BEHIND, alike, ask, fast, filled, pair, same_tables
from support.both_ports import served  # noqa: F401
from support.clients.sql_session import in_text
from support.row_locks import id_of, locks_of

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, k INT, a INT, b INT, price DECIMAL(9,2), day DATE,"
    " w VARCHAR(20) COLLATE utf8mb4_general_ci, v VARCHAR(20) COLLATE utf8mb4_bin,"
    " UNIQUE (a, b), UNIQUE (w), UNIQUE (v), UNIQUE (price), UNIQUE (day), KEY (k))",
    "INSERT INTO t SELECT seq, seq % 7, seq DIV 4, seq, seq % 5, seq, '2020-01-01' + INTERVAL seq DAY, CONCAT('w', seq),"
    " CONCAT('v', seq) FROM seq_1_to_600",
    "ANALYZE TABLE t",
)
READS = {"t": "SELECT * FROM t ORDER BY id"}
STATUS = "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_rnd', 'Sort_rows', 'Sort_range', 'Sort_scan')"
# A condition and the end of a statement, and whether the server sorts or reads rows twice for an UPDATE.
BY_A_KEY = (
    ("id = ?", "LIMIT 1", (7,)),
    ("id = ?", "LIMIT 50", (8,)),
    ("id = ? AND n < ?", "LIMIT 1", (9, 5)),
    ("id = ?", "ORDER BY id", (10,)),
    ("id = ? AND k >= ?", "ORDER BY t.id DESC LIMIT 1", (11, 0)),
    ("a = ? AND b = ?", "ORDER BY b, a DESC", (12, 2)),
    ("a = ? AND b = ?", "ORDER BY a LIMIT 1", (13, 3)),
    ("w = ?", "ORDER BY w", ("w14",)),
    ("price = ?", "ORDER BY price", (15,)),
    ("day = ?", "ORDER BY day LIMIT 2", ("2020-01-17",)),
    ("id = ?", "LIMIT 1", (5000,)),
)
# Not by workers, if it is an UPDATE.
READ_TWICE = (
    ("id = ?", "ORDER BY n", (107,)),
    ("id = ?", "ORDER BY id, n LIMIT 1", (108,)),
    ("id = ?", "ORDER BY id", ("109",)),
    ("id = ? AND n < ?", "ORDER BY n LIMIT 1", (110, 7)),
    ("v = ?", "ORDER BY v", ("v111",)),
    ("a = ? AND b = ?", "ORDER BY b, n", (112, 2)),
)
OF_THE_SERVER = (
    ("id = ?", "LIMIT 0", (207,)),
    ("id IN (?, ?)", "LIMIT 1", (208, 209)),
    ("id IN (?, ?)", "ORDER BY id DESC LIMIT 1", (210, 211)),
    ("k = ?", "ORDER BY id LIMIT 2", (60,)),
    ("k = ?", "ORDER BY k", (61,)),
    ("id > ? AND id < ?", "ORDER BY id LIMIT 3", (212, 230)),
)
UPDATE, DELETE = "UPDATE t SET k = k + 1 WHERE {} {}", "DELETE FROM t WHERE {} {}"


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


def compared(tables, head, case, prepared, change=lambda value: value):
    """Asks some times, and gives the number that workers answered."""
    where, end, values = case
    sessions = pair(tables)
    ask(sessions, "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
    before = 0
    for time in range(6):
        if time == 3:
            before = fast(tables)
        text, given = head.format(where, end), tuple(map(change, values))
        ask(sessions, text if prepared else in_text(text, given), given if prepared else None)
        if time == 5:
            answered = fast(tables) - before
    for left in (*LEFT_BEHIND, STATUS):
        ask(sessions, left)
    same_tables(tables, READS)
    return answered


def in_both_ways(cases):
    return [(case, prepared) for case in cases for prepared in (False, True)]


@pytest.mark.parametrize("head", [UPDATE, DELETE])
@pytest.mark.parametrize("case, prepared", in_both_ways(BY_A_KEY))
def test_workers_change_the_row_of_a_key(tables, head, case, prepared):
    assert compared(tables, head, case, prepared) == 3


@pytest.mark.parametrize("case, prepared", in_both_ways(READ_TWICE))
def test_the_server_reads_a_row_twice_for_an_order(tables, case, prepared):
    assert compared(tables, UPDATE, case, prepared) == 0
    assert compared(tables, DELETE, case, prepared) == 3


@pytest.mark.parametrize("head", [UPDATE, DELETE])
@pytest.mark.parametrize("case, prepared", in_both_ways(OF_THE_SERVER))
def test_the_server_changes_several_in_order(tables, head, case, prepared):
    assert compared(tables, head, case, prepared) == 0


def test_the_order_needs_the_connections_collation(tables):
    sessions = pair(tables)
    for _ in range(3):
        ask(sessions, "UPDATE t SET k = k + 1 WHERE w = 'w20' ORDER BY w")
    before = fast(tables)
    for names in ("utf8mb4 COLLATE utf8mb4_bin", "latin1", "utf8mb4"):
        ask(sessions, f"SET NAMES {names}")
        for _ in range(4):
            ask(sessions, "UPDATE t SET k = k + 1 WHERE w = 'w21' ORDER BY w")
        ask(sessions, STATUS)
    assert fast(tables) > before
    same_tables(tables, READS)


def test_rows_of_deletes_are_returned(tables):
    sessions = pair(tables)
    before = fast(tables)
    for number in range(300, 310):
        ask(sessions, f"DELETE FROM t WHERE id = {number} ORDER BY n LIMIT 1 RETURNING id, w")
    assert fast(tables) - before >= 6


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "READ COMMITTED"])
@pytest.mark.parametrize("head", [UPDATE, DELETE])
def test_locks_in_a_transaction(tables, head, isolation):
    tables.execute("SET GLOBAL innodb_status_output_locks = ON")
    sessions = pair(tables)
    for where, end, values in (*BY_A_KEY, *READ_TWICE, *OF_THE_SERVER):
        ask(sessions, f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        for _ in range(4):
            ask(sessions, "BEGIN")
            ask(sessions, in_text(head.format(where, end), values))
            seen = [{alike(repr(lock).encode()) for lock in locks_of(tables, id_of(one))} for one in sessions]
            assert seen[0] == seen[1], (where, end)
            ask(sessions, "ROLLBACK")


@pytest.mark.parametrize("text", [UPDATE.format("id = 3", "ORDER BY n"), DELETE.format("id = 3", "ORDER BY n LIMIT 1")])
def test_the_order_needs_a_privilege(tables, text):
    tables.execute("CREATE OR REPLACE USER some@'%' IDENTIFIED BY ''")
    for database in ("by_door", "by_port"):
        tables.execute(f"GRANT SELECT (id, k), UPDATE (k), DELETE ON {database}.t TO some@'%'")
    able = pair(tables)
    for _ in range(4):
        ask(able, text)
    from support.both_ports import SIDES, opened

    sessions = [opened(tables, port, "some", database) for port, database in SIDES.items()]
    answer = ask(sessions, text)
    assert answer[4] == 0xFF
