"""Values that statements compute from their own values and from the time: sums, NOW(), NOW() - INTERVAL 1 DAY. Workers
write and compare them as the server's own port does. test_random_writes.py includes random ones."""
import pytest
from support.clients import sql_session
from support.both_ports import ask, fast, filled, learnt, on_door, pair, same_tables
from support.both_ports import served  # noqa: F401

TABLES = (
    "CREATE TABLE job (id INT PRIMARY KEY, n BIGINT, u INT UNSIGNED, price DECIMAL(9,2), f DOUBLE, name VARCHAR(20), d DATE,"
    " due DATETIME, fine DATETIME(6), seen TIMESTAMP NULL, KEY (n), KEY (due), KEY (d))",
    "INSERT INTO job SELECT seq, seq * 10, seq, seq / 8, seq / 4, CONCAT('job', seq), '2024-01-01' + INTERVAL seq DAY,"
    " '2024-01-01' + INTERVAL seq HOUR, '2024-01-01' + INTERVAL seq HOUR, '2024-01-01' + INTERVAL seq HOUR"
    " FROM seq_1_to_1000",
)
READS = {"job": "SELECT * FROM job ORDER BY id"}
SERVED = (
    ("UPDATE job SET n = ? * 3, price = -?, f = 2 + ?, u = ? - ? WHERE id = ? - 1", (5, 6, 7, 8, 2, 9)),
    ("UPDATE job SET d = CURDATE(), due = CURDATE() - INTERVAL ? HOUR WHERE id IN (?, 1 + ?)", (3, 5, 6)),
    ("UPDATE job SET f = f + ? * 2 WHERE n BETWEEN ? - 15 AND ? + 15", (3, 500, 500)),
    ("DELETE FROM job WHERE n = -(?)", (-70,)),
    ("DELETE FROM job WHERE n = ? + 10", (300,)),
    ("INSERT INTO job (id, n, d) VALUES (? + 5000, 10 * ?, UTC_DATE() + INTERVAL ? MONTH)", (1, 2, 3)),
    ("REPLACE INTO job (id, n, due) VALUES (?, UNIX_TIMESTAMP() * 0 + ?, CURDATE())", (30, 2)),
    ("INSERT INTO job (id, u) VALUES (?, 1) ON DUPLICATE KEY UPDATE u = ? * ?, d = CURRENT_DATE", (31, 2, 3)),
    ("UPDATE job SET f = ? WHERE id = ? AND due < NOW() - INTERVAL ? DAY", (7, 40, 2)),
    ("SELECT id, n FROM job WHERE id = ? + 1", (40,)),
    ("SELECT id, n FROM job WHERE n >= ? - 20 AND n < ? ORDER BY n", (400, 400)),
    ("SELECT id FROM job WHERE due > NOW() - INTERVAL ? DAY ORDER BY due LIMIT 3", (-100,)),
    ("SELECT id, name FROM job WHERE id = ? AND n < UNIX_TIMESTAMP() - ?", (50, 1000)),
)


@pytest.fixture
def tables(served):  # noqa: F811
    yield from filled(served, TABLES)


def others(values, number, prepared):
    """Numbers after signs, and numbers of intervals, belong to a text's form."""
    first, *rest = values
    rest = [one + 100 * number if isinstance(one, int) and one >= 100 and prepared else one for one in rest]
    return [first + 100 * number if first >= 100 or first == 1 else first, *rest]


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
@pytest.mark.parametrize("text, values", SERVED)
def test_workers_compute(tables, text, values, prepared):
    sessions = pair(tables)
    answered = 0
    for number in range(5):
        before = fast(tables)
        given = others(values, number, prepared)
        ask(sessions, text if prepared else sql_session.in_text(text, given), given if prepared else None)
        answered += fast(tables) - before
        ask(sessions, "SHOW WARNINGS")
    assert answered >= 2
    same_tables(tables, READS)


MOMENTS = (
    "NOW()",
    "NOW(6)",
    "CURRENT_TIMESTAMP(3)",
    "UTC_TIMESTAMP(2)",
    "CURDATE()",
    "UTC_DATE() + INTERVAL 1 MONTH",
    "NOW() - INTERVAL 36 HOUR",
    "NOW(4) + INTERVAL 1 QUARTER",
    "CURDATE() - INTERVAL 90 SECOND",
    "DATE_SUB(NOW(), INTERVAL 2 WEEK)",
)


STAMPS = ("1706745599.987654", "1711846800.000001", "951782400")


@pytest.mark.parametrize("column", ["d", "due", "fine", "seen", "name", "n", "price"])
def test_points_in_time_in_a_transaction(tables, column):
    """Both sessions have the same time; values that are rounded, or fit no column, are left to the server."""
    sessions = pair(tables)
    answered = 0
    for at, zone in enumerate(("SYSTEM", "+05:30", "-11:00")):
        ask(sessions, f"SET time_zone = '{zone}'")
        for number, moment in enumerate(MOMENTS):
            ask(sessions, f"SET timestamp = {STAMPS[(at + number) % 3]}")
            ask(sessions, "BEGIN")
            before = fast(tables)
            ask(sessions, f"UPDATE job SET {column} = {moment} WHERE id = 7")
            answered += fast(tables) - before
            ask(sessions, "SHOW WARNINGS")
            ask(sessions, f"SELECT {column}, id FROM job WHERE id = 7 AND {column} = {moment}")
            ask(sessions, f"SELECT COUNT(*) FROM job WHERE id = 7 AND {column} < {moment}")
            ask(sessions, f"INSERT INTO job (id, {column}) VALUES ({at + 2000}, {moment})")
            ask(sessions, "SHOW WARNINGS")
            same_tables(tables, READS)
            ask(sessions, "ROLLBACK" if number % 2 else "COMMIT")
            ask(sessions, f"DELETE FROM job WHERE id = {at + 2000}")
    assert answered >= 10 or column not in ("due", "fine", "seen")
    same_tables(tables, READS)


def test_the_time_of_writes_that_share_a_transaction(tables):
    session = on_door(tables)
    session.query("SET time_zone = '+05:30'")
    text = "UPDATE job SET due = NOW(), fine = NOW(6), seen = NOW(), n = UNIX_TIMESTAMP() WHERE id = {}"
    learnt(session, text.format(8))
    before, earlier = fast(tables), tables.query("SELECT UNIX_TIMESTAMP(NOW(6))")[0][0]
    session.query(text.format(9))
    later = tables.query("SELECT UNIX_TIMESTAMP(NOW(6))")[0][0]
    assert fast(tables) == before + 1
    columns = "UNIX_TIMESTAMP(due), UNIX_TIMESTAMP(fine), UNIX_TIMESTAMP(seen), n"
    with tables.connect(database="by_door") as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+05:30'")
        cursor.execute(f"SELECT {columns} FROM job WHERE id = 9")
        due, fine, seen, seconds = cursor.fetchone()
    assert earlier <= fine <= later
    assert due == seen == seconds == int(fine)


def test_sums_that_are_errors_are_the_servers(tables):
    sessions = pair(tables)
    text = "UPDATE job SET u = ? - ? WHERE id = ?"
    for values in (
        *[(9, 3, 5)] * 5,
        (sql_session.Natural(3), 9, 5),
        (3, 9, 5),
        (2**63 - 1, -1, 5),
        (2**64 - 1, 1, 5),
        ("9", 3, 5),
        ("9x", 3, 5),
        (9.5, 3, 5),
        (9.0, 3, 5),
        (None, 3, 5),
        (9, 3, 6),
    ):
        ask(sessions, text, values)
        ask(sessions, "SHOW WARNINGS")
        same_tables(tables, READS)
    for number in ("0", "-0.0", "0.0e0", "7", "9223372036854775807", "9223372036854775808"):
        for text in ("UPDATE job SET f = -? WHERE id = 5", "UPDATE job SET f = ? * -3, n = -? WHERE id = 5"):
            ask(sessions, text.replace("?", number))
            ask(sessions, "SHOW WARNINGS")
    for number in (0, 0.0, 5.0, -5, 2**53):
        ask(sessions, "UPDATE job SET f = -? WHERE id = 5", (number,))
        ask(sessions, "UPDATE job SET f = ? * 3 WHERE id = 5", (number,))
        ask(sessions, "SELECT f, 1 / f FROM job WHERE id = 5")
    same_tables(tables, READS)
