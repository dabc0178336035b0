"""Reads that the SQL door's worker answers: every byte equals the server's own port's, in whatever state a session is.

Each scenario is run by a session on the server's own port, then on the door: once for the door to learn, and again. A
read is a text with ? and its values, sent as text and as a prepared statement; everything else is sent as text.
"""
import contextlib
import itertools

import pytest
from support.clients import sql_session
from support.server import STEADY_PLANS
from support.clients.sql_session import Session

TABLES = (
    "CREATE OR REPLACE TABLE users (id INT PRIMARY KEY, name VARCHAR(40), mail VARCHAR(60) COLLATE utf8mb4_general_ci,"
    " age TINYINT UNSIGNED, big BIGINT, price DECIMAL(10,2), made DATETIME(3), seen TIMESTAMP NULL, day DATE, notes TEXT,"
    " raw VARBINARY(20), pad CHAR(8), f DOUBLE, e ENUM('a','b'), UNIQUE mail (mail), KEY age (age), KEY an (age, name))"
    " CHARACTER SET utf8mb4",
    "INSERT INTO users SELECT seq, CONCAT('Näme ', seq), CONCAT('user', seq, '@example.com'), seq % 7, seq * 10000000000,"
    " seq / 4, '2024-02-29 12:34:56.789' + INTERVAL seq DAY, IF(seq % 3, FROM_UNIXTIME(1700000000 + seq), NULL),"
    " '2024-01-01' + INTERVAL seq DAY, IF(seq % 5, REPEAT('x', seq), NULL), UNHEX(HEX(seq)), seq, seq / 3,"
    " IF(seq % 2, 'a', 'b') FROM seq_1_to_60",
    "CREATE OR REPLACE TABLE pairs (a INT, b VARCHAR(10), v INT, w INT, PRIMARY KEY (a, b), KEY v (v, w))",
    "INSERT INTO pairs SELECT seq DIV 5, CONCAT('k', seq % 5), seq % 4, seq FROM seq_1_to_100",
)

BY_ID = ("SELECT * FROM users WHERE id = ?", (5,))
NAME = ("SELECT name FROM users WHERE id = ? LIMIT 1", (7,))
MISS = ("SELECT name FROM users WHERE id = ?", (777,))
TIMES = ("SELECT made, seen, day FROM users WHERE id = ?", (4,))
PADDED = ("SELECT pad, raw FROM users WHERE id = ?", (4,))
READS = (
    BY_ID,
    NAME,
    MISS,
    ("SELECT `u`.`name` AS `n`, u.id FROM users AS u WHERE u.id = ?", (8,)),
    ("SELECT id FROM users WHERE id = ?", ("9",)),
    ("SELECT id FROM users WHERE id = ?", ("9x",)),
    ("SELECT id, name FROM users WHERE mail = ?", ("USER3@example.com",)),
    ("SELECT id FROM users WHERE mail = ?", ("user3@example.com  ",)),
    ("SELECT 1 FROM users WHERE id = ?", (3,)),
    ("SELECT COUNT(*) FROM users WHERE id = ?", (3,)),
    ("SELECT COUNT(*) FROM users WHERE age = ?", (3,)),
    ("SELECT COUNT(notes) FROM users WHERE age = ?", (3,)),
    ("SELECT EXISTS (SELECT 1 FROM users WHERE id = ?)", (3,)),
    ("SELECT id, name FROM users WHERE id IN (?, ?, ?, ?)", (4, 2, 99, 2)),
    ("SELECT id FROM users WHERE id IN (?, ?) ORDER BY id DESC", (4, 12)),
    ("SELECT id, age FROM users WHERE age = ? ORDER BY id", (3,)),
    ("SELECT id, age FROM users WHERE age = ? ORDER BY id DESC LIMIT ?", (3, 2)),
    ("SELECT id FROM users WHERE age = ? ORDER BY id LIMIT ? OFFSET ?", (3, 2, 3)),
    ("SELECT id FROM users WHERE id = ? LIMIT ?", (3, 0)),
    ("SELECT id FROM users WHERE id BETWEEN ? AND ? ORDER BY id", (10, 15)),
    ("SELECT id FROM users WHERE id > ? ORDER BY id LIMIT 3", (57,)),
    ("SELECT id FROM users WHERE id < ? ORDER BY id DESC LIMIT 3", (3,)),
    ("SELECT name FROM users WHERE age = ? AND name LIKE 'Näme 1%' ORDER BY name", (3,)),
    ("SELECT id, name FROM users WHERE id = ? AND age = ?", (10, 3)),
    ("SELECT id, name FROM users WHERE id = ? AND age > ?", (10, 3)),
    ("SELECT id FROM users WHERE id = ? AND notes IS NULL", (10,)),
    ("SELECT id FROM users WHERE id = ? AND price = ?", (8, 2)),
    ("SELECT id FROM users WHERE id = ? AND mail = ?", (8, "USER8@EXAMPLE.COM")),
    ("SELECT id FROM users WHERE id = ? AND day >= ?", (8, "2024-01-01")),
    ("SELECT w FROM pairs WHERE a = ? AND b = ?", (3, "k2")),
    ("SELECT b, w FROM pairs WHERE a = ? ORDER BY b", (3,)),
    ("SELECT b FROM pairs WHERE a = ? AND b >= ? ORDER BY b DESC", (3, "k2")),
    ("SELECT w FROM pairs WHERE v = ? AND w > ? ORDER BY w LIMIT 4", (2, 30)),
    TIMES,
    PADDED,
)


class Other(str):
    """A statement of another session, on the server's own port, with autocommit."""


LEFT_BEHIND = (
    "SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID()",
    "SHOW WARNINGS",
    "SHOW SESSION STATUS WHERE Variable_name IN ('Questions', 'Com_select', 'Empty_queries', 'Rows_sent', 'Rows_read',"
    " 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_commit', 'Handler_rollback',"
    " 'Handler_external_lock', 'Bytes_received', 'Bytes_sent', 'Com_stmt_execute', 'Slow_queries')",
)
SCENARIOS = {
    "reads": READS,
    "left behind": [step for read in (NAME, MISS, BY_ID) for step in (read, *LEFT_BEHIND)],
    "begin": ["BEGIN", *READS, "COMMIT", NAME],
    "read only": ["START TRANSACTION READ ONLY", NAME, "UPDATE users SET age = 1 WHERE id = 1", NAME, "COMMIT"],
    "snapshot": [
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        Other("UPDATE users SET name = 'new' WHERE id = 7"),
        NAME,
    ]
    + ["ROLLBACK", NAME],
    "repeatable": ["BEGIN", NAME, Other("UPDATE users SET name = 'new' WHERE id = 7"), NAME, BY_ID, "COMMIT", NAME],
    "deleted meanwhile": ["BEGIN", NAME, Other("DELETE FROM users WHERE id = 7"), NAME, "COMMIT", NAME],
    "committed": ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", NAME]
    + [Other("UPDATE users SET name = 'new' WHERE id = 7"), NAME, "ROLLBACK"],
    "serializable": ["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", NAME, "BEGIN", NAME, "COMMIT", NAME],
    "one shot": ["SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", NAME, "SET TRANSACTION READ ONLY", NAME]
    + ["UPDATE users SET age = 1 WHERE id = 1"],
    "autocommit off": [
        "SET autocommit = 0",
        NAME,
        MISS,
        BY_ID,
        "COMMIT",
        NAME,
        "ROLLBACK",
        "ROLLBACK",
        "SET autocommit=1",
    ]
    + [NAME],
    "own changes": [
        "BEGIN",
        NAME,
        "UPDATE users SET name = 'mine' WHERE id = 7",
        NAME,
        "DELETE FROM users WHERE id = 5",
    ]
    + [BY_ID, "ROLLBACK", NAME, BY_ID],
    "savepoint": ["BEGIN", "SAVEPOINT s", NAME, "UPDATE users SET name = 'mine' WHERE id = 7", "ROLLBACK TO s", NAME]
    + ["COMMIT"],
    "temporary table": [
        "CREATE TEMPORARY TABLE users (id INT, name INT)",
        ("SELECT name FROM users WHERE id = ?", (7,)),
    ]
    + ["DROP TEMPORARY TABLE users", NAME],
    "lock tables": ["LOCK TABLES users READ", NAME, "UNLOCK TABLES", NAME],
    "global read lock": ["FLUSH TABLES WITH READ LOCK", NAME, "UNLOCK TABLES", NAME],
    "handler": ["HANDLER users OPEN", NAME, "HANDLER users CLOSE", NAME],
    "xa": ["XA START 'x'", NAME, "XA END 'x'", "XA ROLLBACK 'x'", NAME],
    "warnings before": ["SELECT 1/0", "SHOW WARNINGS", "DO 1/0", NAME, "SHOW WARNINGS"],
    "errors before": ["SELECT nothing", NAME, "SHOW WARNINGS", "SELECT @@error_count"],
    "diagnostics": ["SIGNAL SQLSTATE '01000'", NAME, "GET DIAGNOSTICS @n = NUMBER", "SELECT @n"],
    "found rows": [("SELECT id FROM users WHERE age = ? ORDER BY id LIMIT ?", (3, 2)), "SELECT FOUND_ROWS()"],
    "select limit": ["SET sql_select_limit = 1", ("SELECT id FROM users WHERE age = ? ORDER BY id", (3,))]
    + ["SET sql_select_limit = DEFAULT"],
    "buffered results": [
        ("SELECT id FROM users WHERE id BETWEEN ? AND ? ORDER BY id", (3, 6)),
        "SET sql_buffer_result = 1",
        ("SELECT id FROM users WHERE id BETWEEN ? AND ? ORDER BY id", (3, 6)),
        "SELECT 1",
        "SELECT @@sql_buffer_result",
        "SET sql_buffer_result = DEFAULT",
        ("SELECT id FROM users WHERE id BETWEEN ? AND ? ORDER BY id", (3, 6)),
    ],
    "results in latin1": [
        "SET NAMES latin1",
        NAME,
        BY_ID,
        "SET character_set_results = NULL",
        NAME,
        "SET NAMES utf8mb4",
    ]
    + [NAME],
    "time zones": ["SET time_zone = '+05:00'", TIMES, "SET time_zone = 'SYSTEM'", TIMES],
    "padded": ["SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", PADDED, "SET sql_mode = 'ANSI_QUOTES'", PADDED],
    "column added": [BY_ID, Other("ALTER TABLE users ADD extra INT DEFAULT 5 FIRST"), BY_ID, BY_ID, BY_ID],
    "columns exchanged": [BY_ID, Other("ALTER TABLE users MODIFY age INT AFTER big, MODIFY name VARCHAR(50)"), BY_ID]
    + [BY_ID, BY_ID],
    "index dropped": [("SELECT id, age FROM users WHERE age = ? ORDER BY id", (3,))]
    + [
        Other("ALTER TABLE users DROP KEY age, DROP KEY an"),
        ("SELECT id, age FROM users WHERE age = ? ORDER BY id", (3,)),
    ],
    "renamed away": [NAME, Other("RENAME TABLE users TO gone"), NAME, Other("RENAME TABLE gone TO users"), NAME, NAME],
    "dropped": [NAME, Other("DROP TABLE users"), NAME],
    "made a view": [NAME, Other("RENAME TABLE users TO gone"), Other("CREATE VIEW users AS SELECT * FROM gone"), NAME]
    + [NAME, Other("DROP VIEW users"), Other("RENAME TABLE gone TO users")],
    "flushed": [NAME, Other("FLUSH TABLES"), NAME, NAME, NAME],
    "snapshot older than the table": ["BEGIN", ("SELECT w FROM pairs WHERE a = ? AND b = ?", (3, "k2"))]
    + [Other("ALTER TABLE users FORCE"), NAME, "COMMIT", NAME],
    "reset": [NAME, sql_session.RESET, "SELECT @@autocommit", ("SELECT id FROM users WHERE id = ?", (9,))],
    "pings": [sql_session.PING, NAME, sql_session.PING, "SELECT @@warning_count"],
    "housekeeping": ["begin", "COMMIT;", "Start Transaction", "rollback", "SET AUTOCOMMIT = OFF", "set @@autocommit=1"]
    + ["BEGIN", "BEGIN", "UPDATE users SET age = 9 WHERE id = 1", "COMMIT", "SET NAMES nothing", "SET NAMES 'utf8mb4'"],
    "chained": [
        "SET completion_type = 1",
        "BEGIN",
        NAME,
        "COMMIT",
        NAME,
        "ROLLBACK",
        "SET completion_type = 0",
        "COMMIT",
    ],
    "statement time": ["SET max_statement_time = 10", NAME, "SET max_statement_time = 0", NAME],
    "tracked": ["SET session_track_transaction_info = 'CHARACTERISTICS'", "BEGIN", NAME, "COMMIT"]
    + ["SET session_track_transaction_info = OFF", NAME],
    "relaxed": ["SET unique_checks = 0, foreign_key_checks = 0", "BEGIN", "INSERT INTO users (id) VALUES (1000)", NAME]
    + ["ROLLBACK"],
    "insert id": [
        "SET insert_id = 700, timestamp = 1700000000",
        NAME,
        "SELECT NOW(), @@insert_id",
        "SET timestamp = 0",
    ],
}
CAPABILITIES = {
    "plain": 0,
    "ok for eof": sql_session.DEPRECATE_EOF,
    "tracking": sql_session.SESSION_TRACK | sql_session.DEPRECATE_EOF | sql_session.FOUND_ROWS,
    "cached metadata": sql_session.CACHE_METADATA | sql_session.EXTENDED_METADATA,
}


@contextlib.contextmanager
def running(module_factory, verify):
    server = module_factory(STEADY_PLANS, f"--postern-verify={verify}", "--loose-postern-threads=1", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    yield server
    figures = server.status("Postern%")
    assert figures["postern_verified_different"] == 0
    assert figures["postern_verified_same" if verify else "postern_statements_fast"] > 100


@pytest.fixture(scope="module")
def served(module_factory):
    with running(module_factory, 0) as server:
        yield server


@pytest.fixture(scope="module")
def verified(module_factory):
    """The server answers here, and the door compares."""
    with running(module_factory, 1) as server:
        yield server


def run(server, port, steps, capabilities, prepared):
    """The answers to one session, step by step."""
    server.execute(*TABLES, database="test")
    session = Session(port, "own", "test", capabilities)
    answers = []
    for step in steps:
        if isinstance(step, Other):
            server.execute("SET lock_wait_timeout = 5", step, database="test")
        elif isinstance(step, int):
            answers.append((step, session.command(step)))
            session.prepared.clear() if step == sql_session.RESET else None
        elif isinstance(step, str):
            answers.append((step, session.query(step)))
        elif prepared:
            answers.append((step, session.execute(*step)))
        else:
            answers.append((step, session.query(sql_session.in_text(*step))))
    session.close()
    return answers


def assert_alike(served, scenario, capabilities):
    for prepared in (False, True):
        # A worker answers a prepared statement only after some executions.
        steps = [
            step for one in SCENARIOS[scenario] for step in itertools.repeat(one, 3 if isinstance(one, tuple) else 1)
        ]
        expected = run(served, served.env["SQL_PORT"], steps, CAPABILITIES[capabilities], prepared)
        for attempt in range(2):
            answers = run(served, served.env["POSTERN_PORT"], steps, CAPABILITIES[capabilities], prepared)
            for (step, answer), (_, right) in zip(answers, expected):
                assert answer == right, f"{step}, prepared: {prepared}, attempt {attempt}"


@pytest.mark.parametrize("capabilities", CAPABILITIES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_byte_is_the_servers(served, scenario, capabilities):
    assert_alike(served, scenario, capabilities)


# test_random_reads.py has the plainer sessions.
@pytest.mark.parametrize("capabilities", ["tracking", "cached metadata"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_byte_is_compared(verified, scenario, capabilities):
    assert_alike(verified, scenario, capabilities)
