"""INSERT, INSERT IGNORE, ON DUPLICATE KEY UPDATE and REPLACE by the SQL door's worker: as on the server's own port.

See test_writes.py. test_random_writes.py has random ones.
"""
import contextlib
import threading

import pytest
from support.clients import sql_session
from support.both_ports import LEFT_BEHIND, SIDES, ask, fast, filled, learnt, on_door, pair, same_tables
from support.both_ports import served  # noqa: F401
from support.random_input.random_new_rows import READS, TABLES
from support.waiting import until


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


EXAMPLES = (
    ("INSERT INTO counters (k, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + 1", ("k5",)),
    ("INSERT INTO counters (k, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)", ("fresh",)),
    ("INSERT INTO counters (k, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = VALUES(n)", ("k5", 5)),  # unchanged
    ("INSERT INTO counters (k, n) VALUES (?, 7) ON DUPLICATE KEY UPDATE k = k", ("k5",)),
    ("INSERT INTO counters (k, n) VALUES (?, 7), (?, 8), (?, 9) ON DUPLICATE KEY UPDATE n = n + 1", ("k5", "f", "k6")),
    (
        "INSERT INTO `options` (`name`, `value`, `autoload`) VALUES (?, ?, 'yes') ON DUPLICATE KEY UPDATE"
        " `name` = VALUES(`name`), `value` = VALUES(`value`), `autoload` = VALUES(`autoload`)",
        ("o5", "a:1:{i:0;s:1:x;}"),
    ),
    (
        "INSERT INTO options (name, value) VALUES (?, ?), (?, ?), (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)",
        ("o5", "x", "new", "y", "o6", "z"),
    ),
    ("INSERT INTO options (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)", ("o5", "x")),
    ("INSERT INTO several (a, b, t) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE t = VALUES(t)", (5, "b9", "t")),
    ("INSERT IGNORE INTO counters (k, n) VALUES (?, ?)", ("k5", 1)),
    ("INSERT IGNORE INTO counters (k, n) VALUES (?, ?)", ("new", 1)),
    ("INSERT IGNORE INTO options (name, value) VALUES (?, ?), (?, ?)", ("o5", "x", "new", "y")),
    ("REPLACE INTO counters (k, n) VALUES (?, ?)", ("k5", 1)),
    ("REPLACE counters (k, n) VALUES (?, ?)", ("new", 1)),
    ("REPLACE INTO counters SET k = ?, n = ?", ("k5", 1)),
    ("REPLACE INTO options (name, value) VALUES (?, ?), (?, ?)", ("o5", "x", "new", "y")),
    ("REPLACE INTO several (a, b, n) VALUES (?, ?, ?)", (5, "b9", 1)),  # conflicts with two
    ("REPLACE INTO several (id, a, b) VALUES (?, ?, ?)", (2, 5, "b9")),  # with three
    ("REPLACE INTO children (id, parent, u) VALUES (?, ?, ?)", (3, 2, 4)),
)


def test_an_update_that_fails_has_told_the_id(tables):
    """LAST_INSERT_ID(id) was evaluated before the update found that another row has the name."""
    sessions = pair(tables)
    text = (
        "INSERT INTO options (id, name, value) VALUES ({}, '{}', 'x')"
        " ON DUPLICATE KEY UPDATE name = VALUES(name), id = LAST_INSERT_ID(id)"
    )
    for _ in range(4):
        ask(sessions, text.format(1003, "fresh"))
    ask(sessions, "BEGIN")
    before = fast(tables)
    ask(sessions, text.format(1006, "o5"))
    assert fast(tables) == before + 1
    ask(sessions, LEFT_BEHIND[0])
    ask(sessions, "COMMIT")


@pytest.mark.parametrize("mode", ["", "STRICT_TRANS_TABLES"])
@pytest.mark.parametrize("begin", ["SET autocommit = 1", "BEGIN"])
def test_last_insert_id_of_numbers_below_zero_and_null(tables, begin, mode):
    """LAST_INSERT_ID() is unsigned, so a column of signed integers refuses large ones; it is 0 for NULL."""
    table = (
        "CREATE OR REPLACE TABLE signed (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(8) NOT NULL UNIQUE, n INT)",
        "INSERT INTO signed VALUES (-3, 'below', -7), (4, 'above', 7), (5, 'none', NULL)",
    )
    for database in SIDES.values():
        tables.execute(*table, database=database)
    sessions = pair(tables)
    ask(sessions, f"SET sql_mode = '{mode}'")
    for column in ("id", "n"):
        text = f"INSERT INTO signed (name) VALUES ('%s') ON DUPLICATE KEY UPDATE {column} = LAST_INSERT_ID({column})"
        ask(sessions, begin)
        for name in ("above", "above", "above", "below", "none", "above", "none", "below"):
            for left in (text % name, "SHOW WARNINGS", "SELECT LAST_INSERT_ID()", "SELECT * FROM signed"):
                ask(sessions, left)
        ask(sessions, "COMMIT")


def unused(value, number):
    return value + 1000 + number if isinstance(value, int) else f"{value}{number}"[-30:]


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
@pytest.mark.parametrize("text, values", EXAMPLES)
def test_a_session_has_the_same_state_afterwards(tables, text, values, prepared):
    sessions = pair(tables)
    for number in range(3):  # the form is known from here on
        others = [unused(value, number) for value in values]
        others = [3 if "children" in text and at == 1 else value for at, value in enumerate(others)]
        ask(sessions, text if prepared else sql_session.in_text(text, others), others if prepared else None)
    ask(sessions, "FLUSH STATUS")
    before = fast(tables)
    ask(sessions, text if prepared else sql_session.in_text(text, values), values if prepared else None)
    assert fast(tables) == before + 1
    for left in LEFT_BEHIND:
        ask(sessions, left)
    same_tables(tables, READS)


@pytest.mark.parametrize("begin", ["BEGIN", "SET autocommit = 0"])
def test_new_rows_of_a_transaction_are_its_own(tables, begin):
    sessions = pair(tables)
    texts = [sql_session.in_text(text, values) for text, values in EXAMPLES]
    for text, values in EXAMPLES:
        for number in range(3):
            others = [unused(value, number) for value in values]
            others = [3 if "children" in text and at == 1 else value for at, value in enumerate(others)]
            ask(sessions, sql_session.in_text(text, others))
    ask(sessions, begin)
    for text in texts:
        before = fast(tables)
        ask(sessions, text)
        assert fast(tables) == before + 1, text
        ask(sessions, LEFT_BEHIND[0])
    for left in LEFT_BEHIND:
        ask(sessions, left)
    ask(sessions, "ROLLBACK")
    same_tables(tables, READS)


REFUSED = (
    "INSERT INTO parents (id) VALUES (?) ON DUPLICATE KEY UPDATE id = id",  # another table refers to it
    "REPLACE INTO parents (id) VALUES (?)",
    "INSERT INTO several (id, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE a = 7",  # which another row may have
    "INSERT INTO several (a, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE id = 50",
    "INSERT INTO several (a, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n * 2",
    "INSERT INTO several (a, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = a",
    "INSERT INTO several (a, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = VALUES(a)",
    "INSERT INTO several (a, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = DEFAULT",
    "INSERT IGNORE INTO several (a, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = 1",
    "REPLACE DELAYED INTO several (a, n) VALUES (?, 1)",
    "INSERT INTO several (a, n) VALUES (?, 1) RETURNING id + 1",
    "INSERT INTO several (a, n) VALUES (?, 1) RETURNING (SELECT 1)",
    "REPLACE INTO several (a, n) VALUES (?, 1) RETURNING id, LAST_INSERT_ID()",
    "INSERT INTO several (a, n) VALUES (?, 1) RETURNING COUNT(*)",
)


@pytest.mark.parametrize("text", REFUSED)
def test_statements_that_may_differ_are_the_servers(tables, text):
    sessions = pair(tables)
    before = fast(tables)
    for number in (60, 61, 3, 4, 5, 3):
        ask(sessions, sql_session.in_text(text, [number]))
        ask(sessions, text, [number])
    assert fast(tables) == before
    same_tables(tables, {table: read for table, read in READS.items() if "DELAYED" not in text})


def test_an_id_that_is_given_while_a_bulk_insert_holds_the_counter(tables):
    """InnoDB raises the counter after it has inserted the row: the answer must come after both."""
    session = on_door(tables)
    for number in range(3):
        session.query(f"INSERT INTO several (id, b) VALUES ({8000 + number}, 'l{number}')")
    with contextlib.closing(tables.connect(database="by_door")) as other:
        bulk = threading.Thread(
            target=other.cursor().execute,
            args=("INSERT INTO several (b) SELECT CONCAT('z', seq) FROM seq_1_to_3 WHERE SLEEP(0.5) = 0",),
        )
        bulk.start()
        # The bulk insert holds the lock from its second row on, because the first comes after its sleep.
        until(
            lambda: tables.query(
                "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_NAME = 'several'"
                " AND TABLE_SCHEMA = 'by_door' AND AUTO_INCREMENT > 8003"
            )
        )
        answer = session.query("INSERT INTO several (id, b) VALUES (9000, 'q')")
        bulk.join()
    assert answer[4] == 0, answer
    assert tables.query("SELECT COUNT(*) FROM several WHERE b = 'q'", database="by_door") == [(1,)]


def test_privileges_are_asked_for_each_statement(tables):
    session, text = on_door(tables), "INSERT INTO counters (k, n) VALUES ('k5', 1) ON DUPLICATE KEY UPDATE n = n + 1"
    replaces, ignores = "REPLACE INTO counters (k, n) VALUES ('k6', 1)", "INSERT IGNORE counters (k, n) VALUES ('q', 1)"
    for one in (text, replaces, ignores):
        learnt(session, one.replace("'q'", "'p'"))
    tables.execute("CREATE OR REPLACE USER few@'%' IDENTIFIED BY ''", "GRANT INSERT ON by_door.counters TO few@'%'")
    few, before = on_door(tables, "few"), fast(tables)
    assert few.query(ignores)[4] == 0
    assert fast(tables) == before + 1
    assert few.query(text)[4] == few.query(replaces)[4] == 0xFF
    tables.execute("GRANT UPDATE, DELETE ON by_door.counters TO few@'%'")
    assert few.query(text)[4] == 0xFF  # it reads n
    assert few.query(replaces)[4] == 0
    assert fast(tables) == before + 2
    tables.execute("GRANT SELECT (n) ON by_door.counters TO few@'%'")
    assert few.query(text)[4] == 0
    assert fast(tables) == before + 3


def test_a_locked_row_is_waited_for_as_that_session(tables):
    session, text = on_door(tables), "INSERT INTO counters (k) VALUES ('{}') ON DUPLICATE KEY UPDATE n = n + 1"
    learnt(session, text.format("k5"))
    with contextlib.closing(tables.connect(database="by_door")) as holder:
        holder.begin()
        holder.cursor().execute("UPDATE counters SET n = 1000 WHERE k = 'k5'")
        session.query("SET innodb_lock_wait_timeout = 1")
        assert session.query(text.format("k5"))[4:7] == b"\xff\xb5\x04"  # 1205
        session.query("SET innodb_lock_wait_timeout = 50")
        session.put(bytes([sql_session.QUERY]) + text.format("k5").encode())
        assert on_door(tables).query(text.format("k6"))[4] == 0  # on the same worker
        tables.wait_for_row_lock()
        holder.commit()
    assert session.answer()[4:6] == b"\x00\x02"
    assert tables.query("SELECT n FROM counters WHERE k IN ('k5', 'k6')", database="by_door") == [(1001,), (7,)]


def test_sessions_that_count_in_one_row_lose_nothing(tables):
    text = "INSERT INTO counters (k, n) VALUES ('hits', 1) ON DUPLICATE KEY UPDATE n = n + 1"
    sessions = [on_door(tables) for _ in range(16)]
    learnt(sessions[0], text)
    for _ in range(30):
        for session in sessions:
            session.put(bytes([sql_session.QUERY]) + text.encode())
        for session in sessions:
            assert session.answer()[4:6] == b"\x00\x02"
    assert tables.query("SELECT n FROM counters WHERE k = 'hits'", database="by_door") == [(16 * 30 + 3,)]


def test_the_door_counts_the_rows(tables):
    session = on_door(tables)
    texts = (
        ("INSERT INTO counters (k) VALUES ('{}'), ('x') ON DUPLICATE KEY UPDATE n = n + 1", "k5", "rows_updated", 2),
        ("INSERT IGNORE INTO counters (k) VALUES ('{}'), ('k5')", "y", "rows_inserted", 1),
        ("REPLACE INTO several (a, b) VALUES (7, 'b{}')", "8", "rows_deleted", 1),
        ("SELECT * FROM counters WHERE k IN ('{}', 'k6')", "k5", "rows_sent", 2),
        ("UPDATE counters SET n = n + 1 WHERE k = '{}'", "k5", "rows_updated", 1),
        ("DELETE FROM counters WHERE k = '{}'", "k5", "rows_deleted", 1),
    )
    for begin in ("COMMIT", "BEGIN"):
        for text, key, counter, rows in texts:
            learnt(session, text.format("none"))
            session.query(begin)
            before = tables.status("Postern_%")
            session.query(text.format(key))
            after = tables.status("Postern_%")
            assert after["postern_statements_fast"] == before["postern_statements_fast"] + 1, text
            assert after[f"postern_{counter}"] == before[f"postern_{counter}"] + rows, text
            session.query("ROLLBACK")
            if begin == "COMMIT":
                restored = "REPLACE INTO counters (k) VALUES ('k5')", "DELETE FROM counters WHERE k = 'y'"
                tables.execute(*restored, database="by_door")
                tables.execute("REPLACE several (a, b) VALUES (7, 'b7'), (8, 'b8')", database="by_door")
