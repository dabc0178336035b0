"""Tables that a worker keeps open and lends to sessions for SELECTs by key: each session reads by its own transaction,
isolation and privileges, and other sessions get the tables when they want them."""
import contextlib
import threading
import time

import pymysql
import pytest

from support import both_ports
from support.both_ports import SIDES, ask, fast, filled, learnt, pair
from support.both_ports import served  # noqa: F401
from support.waiting import until

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w INT, note MEDIUMTEXT, KEY w (w))",
    "INSERT INTO t SELECT seq, CONCAT('v', seq), seq % 7, IF(seq % 3, REPEAT('n', 3000 * seq), NULL) FROM seq_1_to_60",
    "CREATE TABLE u (id INT PRIMARY KEY, n INT)",
    "INSERT INTO u SELECT seq, seq FROM seq_1_to_9",
    "ANALYZE TABLE t, u",
)
BY_KEY = "SELECT v, w FROM t WHERE id = 7"
READS = (
    BY_KEY,
    "SELECT id, note FROM t WHERE id = 8",
    "SELECT * FROM t WHERE id = 9",
    "SELECT id, v FROM t WHERE id IN (3, 5, 11) ORDER BY id",
    "SELECT n FROM u WHERE id = 4",
)
CHANGES = (
    "ALTER TABLE t COMMENT = 'other'",
    "ALTER TABLE t FORCE",
    "ALTER TABLE t ADD COLUMN x INT DEFAULT 5 AFTER id",
    "ALTER TABLE t DROP COLUMN x",
    "FLUSH TABLES t",
    "FLUSH TABLES",
    "FLUSH TABLES WITH READ LOCK",
    "LOCK TABLES t WRITE",
    "RENAME TABLE t TO t2, t2 TO t",
    "TRUNCATE TABLE t",
    "DROP TABLE t",
)

COUNTERS = (
    *("Com_select", "Rows_read", "Rows_sent", "Empty_queries", "Questions"),
    *("Opened_tables", "Table_open_cache_hits", "Table_open_cache_misses"),
)


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


def kept(server, database="by_door"):
    """The number of tables of the database that are open in some THD while no statement runs in it."""
    with contextlib.closing(server.connect(database=database)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW OPEN TABLES")
        return sum(row[2] for row in cursor.fetchall())


def learn(sessions, reads=READS):
    for _ in range(8):
        for text in reads:
            ask(sessions, text)


def change(server, text):
    """At both sides, on the server's own port."""
    server.execute(*(text.replace("#", database) for database in SIDES.values()))


def test_sessions_see_their_own_transactions(tables):
    sessions = {name: pair(tables) for name in ("older", "newer", "writer", "dirty", "committed")}
    learn(sessions["newer"])
    before = fast(tables)
    assert kept(tables) >= 3
    for setting in ("SET SESSION tx_isolation = 'READ-UNCOMMITTED'", "BEGIN"):
        ask(sessions["dirty"], setting)
    ask(sessions["committed"], "SET SESSION tx_isolation = 'READ-COMMITTED'")
    for name in ("older", "committed", "writer"):
        ask(sessions[name], "BEGIN")
    asked = 0
    for step in (None, "UPDATE t SET v = CONCAT(v, '!'), w = 4, note = 'short' WHERE id IN (7, 8, 9)", None, "COMMIT"):
        if step:
            ask(sessions["writer"], step)
        for _ in range(3):
            for one in sessions.values():
                for text in READS:
                    ask(one, text)
                    asked += 1
        change(tables, "UPDATE #.u SET n = n + 100")
    ask(sessions["older"], "COMMIT")
    for text in READS:
        ask(sessions["older"], text)
    assert fast(tables) - before > asked / 2


def test_an_index_that_is_newer_than_a_snapshot(tables):
    """InnoDB refuses to read by it, until the transaction has ended. Other sessions read by it from the same table."""
    by_v = "SELECT id, w FROM t WHERE v = 'v8'"
    older, newer = pair(tables), pair(tables)
    ask(older, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    ask(older, READS[-1])
    change(tables, "ALTER TABLE #.t ADD UNIQUE KEY v (v)")
    learn(newer, [by_v])
    assert kept(tables) >= 1
    for _ in range(3):
        ask(newer, by_v)
        ask(older, by_v)
    ask(older, "COMMIT")
    for _ in range(3):
        ask(older, by_v)


def test_a_transaction_keeps_its_metadata_lock(tables):
    sessions = pair(tables)
    learn(sessions)
    for setting in ("BEGIN", BY_KEY, READS[-1]):
        ask(sessions, setting)
    for database in SIDES.values():
        with pytest.raises(pymysql.err.OperationalError):
            tables.execute("SET lock_wait_timeout = 1", "ALTER TABLE t COMMENT = 'waits'", database=database)
    ask(sessions, BY_KEY)
    ask(sessions, "SAVEPOINT a")
    ask(sessions, READS[1])
    ask(sessions, "ROLLBACK TO a")
    ask(sessions, "COMMIT")
    change(tables, "ALTER TABLE #.t COMMENT = 'done'")
    ask(sessions, BY_KEY)


@pytest.mark.parametrize("asks", ("idle", "busy"))
def test_others_get_the_tables(tables, asks):
    sessions = pair(tables)
    learn(sessions)
    stop = threading.Event()
    busy = pair(tables)[0]

    def read():
        while not stop.is_set():
            for text in READS[-1:] + READS[:4]:
                busy.query(text)

    for text in CHANGES:
        for _ in range(3):
            for one in READS:
                sessions[0].query(one)
        reader = threading.Thread(target=read)
        if asks == "busy":
            reader.start()
        with contextlib.closing(tables.connect(database="by_door")) as other, other.cursor() as cursor:
            cursor.execute("SET lock_wait_timeout = 20")
            begin = time.monotonic()
            cursor.execute(text)
            took = time.monotonic() - begin
            cursor.execute("UNLOCK TABLES")
        stop.set()
        if asks == "busy":
            reader.join()
        stop.clear()
        assert took < 1, text  # tables that nobody asks for stay open for two seconds


@pytest.mark.parametrize("text", (BY_KEY, "SELECT COUNT(*) FROM t WHERE id BETWEEN 2 AND 9 AND w IN (3, 5)"))
def test_others_open_the_table_after_optimize(tables, text):
    """OPTIMIZE TABLE outdates the definition while the door has the table open. Others wait to open it, and no metadata
    lock shows that they do."""
    door, _ = pair(tables)
    learnt(door, text)
    with contextlib.closing(tables.connect(database="by_door")) as other, other.cursor() as cursor:
        cursor.execute("SET lock_wait_timeout = 20")
        for number in range(12):
            stop = threading.Event()

            def read(stop=stop):
                while not stop.is_set():
                    door.query(text)

            reader = threading.Thread(target=read)
            reader.start()
            cursor.execute("OPTIMIZE TABLE t")
            cursor.fetchall()
            if number % 2:
                stop.set()
                reader.join()
            begin = time.monotonic()
            try:
                cursor.execute("SELECT COUNT(*) FROM t")
                took = time.monotonic() - begin
            finally:
                stop.set()
                reader.join()
            assert took < 1, number


def test_the_client_itself_gets_the_table(tables):
    door, _ = pair(tables)
    for text in CHANGES[:-2]:
        for _ in range(5):
            door.query(BY_KEY)
        begin = time.monotonic()
        door.query(text)
        assert time.monotonic() - begin < 1, text
        door.query("UNLOCK TABLES")
        assert b"v7" in door.query(BY_KEY), text


def test_tables_that_nobody_reads_are_closed(tables):
    learn(pair(tables), READS[:3])
    assert kept(tables) >= 2
    until(lambda: kept(tables) == 0, seconds=20)


def test_sessions_end_while_their_table_stays(tables):
    """The storage engine's part of the table was used with their transactions."""
    sessions = pair(tables)
    learn(sessions)
    for number in range(12):
        one = pair(tables)
        if number % 2:
            ask(one, "BEGIN")
        for text in READS:
            ask(one, text)
        for each in one:
            each.close()
        both_ports.OPENED[-2:] = []
        for text in READS:
            ask(sessions, text)
    change(tables, "ALTER TABLE #.t COMMENT = 'closed'")
    learn(sessions)


def test_privileges_are_checked_for_each_read(tables):
    tables.execute("CREATE OR REPLACE USER some@'%' IDENTIFIED BY ''")
    change(tables, "GRANT SELECT ON #.* TO some@'%'")
    own = pair(tables)
    learn(own)
    some = [both_ports.opened(tables, port, "some", database) for port, database in SIDES.items()]
    for said in (None, "REVOKE SELECT ON #.* FROM some@'%'", "GRANT SELECT (id, v) ON #.t TO some@'%'"):
        if said:
            change(tables, said)
        for text in READS:
            ask(some, text)
            ask(own, text)


def test_counters_are_the_servers(tables):
    sessions = pair(tables)
    learn(sessions)
    ask(sessions, "FLUSH STATUS")
    for text in READS * 3:
        ask(sessions, text)
    ask(sessions, "BEGIN")
    for text in READS * 3:
        ask(sessions, text)
    ask(sessions, "COMMIT")
    status = "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler\\_%' OR Variable_name IN {}"
    ask(sessions, status.format(COUNTERS))


def test_killed_sessions_leave_the_table_to_others(tables):
    door, _ = pair(tables)
    stop = threading.Event()
    wrong = []

    def read():
        while not stop.is_set():
            with contextlib.suppress(OSError, EOFError):
                with contextlib.closing(both_ports.Session(tables.env["POSTERN_PORT"], "own", "by_door")) as one:
                    for _ in range(300):
                        if b"v7" not in (answer := one.query(BY_KEY)) and answer[4] != 0xFF:
                            wrong.append(answer)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    ends = time.monotonic() + 5
    with contextlib.closing(tables.connect()) as connection, connection.cursor() as cursor:
        while time.monotonic() < ends:
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE db = 'by_door' AND id <> CONNECTION_ID()"
            )
            for number, (one,) in enumerate(cursor.fetchall()):
                with contextlib.suppress(pymysql.err.Error):
                    cursor.execute(f"KILL {'QUERY' if number % 2 else 'CONNECTION'} {one}")
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    with contextlib.suppress(OSError, EOFError):
        door.query(BY_KEY)  # it may have been killed
    tables.execute("ALTER TABLE t COMMENT = 'after'", database="by_door")
    tables.assert_alive()
