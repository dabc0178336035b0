"""Statements that wait at the SQL door wait as on the server's port, and block nobody else: FLUSH TABLES WITH READ
LOCK, the stages of BACKUP, commits that are blocked; and thousands of silent sessions."""
import concurrent.futures
import contextlib
import threading
import time

import pymysql
import pytest

from support.clients import sql_wire
from support.clients.sql_wire import Wire, rows
from support.waiting import until

READ = "SELECT v FROM t WHERE id = 1"
# Each session starts fresh; the server decides which of its statements wait, and their final answers.
SESSIONS = {
    "reads": ["BEGIN", READ, READ, "COMMIT", "START TRANSACTION READ ONLY", READ, "ROLLBACK"],
    "autocommit": ["SET autocommit = 0", READ, "COMMIT", READ, "SET autocommit = 1", READ],
    "names": ["SET NAMES latin1", READ, "SET NAMES utf8mb4", READ],
    "writes": ["BEGIN", READ, "UPDATE t SET v = 'new' WHERE id = 1", "ROLLBACK", READ],
    "locks": ["BEGIN", "SELECT v FROM t WHERE id = 1 FOR UPDATE", "COMMIT"],
    "autocommitted": ["UPDATE t SET v = 'a' WHERE id = 1", READ],
}
# Another session's first statements, and the one that releases the hold.
HOLDERS = {
    "read lock": (["FLUSH TABLES WITH READ LOCK"], "UNLOCK TABLES"),
    "table lock": (["LOCK TABLES t WRITE"], "UNLOCK TABLES"),
    "backup": (["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"], "BACKUP STAGE END"),
    "block ddl": (["BACKUP STAGE START", "BACKUP STAGE BLOCK_DDL"], "BACKUP STAGE END"),
    "metadata": (["SET autocommit = 0", "UPDATE t SET v = 'held' WHERE id = 1"], "ROLLBACK"),
}


@pytest.fixture(scope="module")
def server(module_factory):
    made = module_factory("--log-bin", "--max-connections=6000", "--performance-schema=OFF", postern_port=0)
    made.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))",
        "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
        database="test",
    )
    yield made
    made.assert_alive()


def played(port, statements):
    """The answers to a session, statement by statement, and whether each had to wait."""
    told = []
    with contextlib.closing(sql_wire.connect(port, database="test")) as connection:
        rows(connection, "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1")
        for _ in range(2):  # the worker learns the form
            with contextlib.suppress(pymysql.err.OperationalError):  # the table's lock
                rows(connection, READ)
        for statement in statements:
            begin = time.monotonic()
            try:
                result = rows(connection, statement)
            except pymysql.err.Error as problem:
                result = problem.args[0]
            told.append((statement, result, time.monotonic() - begin > 0.8))
    return told


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_waits_waits_as_on_the_servers_port(server, holder, session):
    begins, ends = HOLDERS[holder]
    server.execute("UPDATE t SET v = 'one' WHERE id = 1", database="test")
    with contextlib.closing(server.connect(database="test")) as other:
        for statement in begins:
            rows(other, statement)
        # Both at once, because most of the time is waiting.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            ports = (server.env["SQL_PORT"], server.env["POSTERN_PORT"])
            told = list(pool.map(lambda port: played(port, SESSIONS[session]), ports))
        rows(other, ends)
    assert told[1] == told[0]


def test_commits_that_wait_hold_no_worker(server):
    """With as many waiting commits as there could be workers, and more."""
    waiting = []
    for _ in range(8):
        connection = sql_wire.door(server, database="test")
        rows(connection, "BEGIN")
        rows(connection, "INSERT INTO t VALUES (%s, 'x')", (100 + len(waiting),))
        waiting.append(connection)
    reader = sql_wire.door(server, database="test")
    for _ in range(3):
        rows(reader, READ)
    with contextlib.closing(server.connect()) as other:
        rows(other, "FLUSH TABLES WITH READ LOCK")
        ended = []
        threads = [threading.Thread(target=lambda one=one: ended.append(rows(one, "COMMIT"))) for one in waiting]
        for thread in threads:
            thread.start()
        until(
            lambda: server.query("SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'COMMIT'") == [(8,)],
            20,
        )
        begin = time.monotonic()
        for _ in range(20):
            rows(reader, "BEGIN")
            assert rows(reader, "SELECT v FROM t WHERE id = 2") == [("two",)]
            rows(reader, "COMMIT")
        assert time.monotonic() - begin < 10 and not ended
        rows(other, "UNLOCK TABLES")
    for thread in threads:
        thread.join(20)
    assert len(ended) == 8
    assert server.query("SELECT COUNT(*) FROM test.t WHERE id >= 100") == [(8,)]
    server.execute("DELETE FROM test.t WHERE id >= 100")
    for connection in (*waiting, reader):
        connection.close()


def test_thousands_of_silent_sessions(server):
    """Each session costs as much memory as at the server's port, and no thread."""
    few, many = 300, 3000

    def open_sessions(port, count):
        made = []
        for _ in range(count):
            made.append(sql_wire.connect(port, database="test"))
            rows(made[-1], READ)
        return made

    def threads():
        with open(f"/proc/{server.env['PID']}/status", encoding="utf-8") as status:
            return int(next(line.split()[1] for line in status if line.startswith("Threads:")))

    before = server.memory_kib()
    own = open_sessions(server.env["SQL_PORT"], few)
    at_port = (server.memory_kib() - before) / few
    for connection in own:
        connection.close()
    until(lambda: server.status("Threads_connected")["threads_connected"] == 1, 30)
    before, threads_before = server.memory_kib(), threads()
    sessions = open_sessions(server.env["POSTERN_PORT"], few)
    at_door = (server.memory_kib() - before) / few
    sessions += open_sessions(server.env["POSTERN_PORT"], many - few)
    print(
        f"KiB a session: {at_port:.0f} at the server's port, {at_door:.0f} at the door, {(server.memory_kib() - before) / many:.0f} of {many}"
    )
    assert server.status("Threads_connected")["threads_connected"] == many + 1
    assert threads() < threads_before + 30
    assert (server.memory_kib() - before) / many < 2 * at_port + 20
    for connection in sessions[:: many // 50]:
        assert rows(connection, READ) == rows(sessions[0], READ)
    for connection in sessions:
        connection._force_close()
    until(lambda: server.status("Threads_connected")["threads_connected"] == 1, 60)
    assert server.status("Postern_connections")["postern_connections"] == 0


def test_a_reset_leaves_nothing_of_the_session(server):
    """COM_RESET_CONNECTION, and COM_CHANGE_USER to the same account, end transactions, variables, statements and
    locks."""
    told = []
    for port in ("SQL_PORT", "POSTERN_PORT"):
        with contextlib.closing(sql_wire.connect(server.env[port], database="test")) as connection:
            wire = Wire(connection)
            by_key = wire.prepare("SELECT v FROM t WHERE id = ?")
            for _ in range(3):
                wire.execute(by_key, 1)
            rows(connection, "SET autocommit = 0, @a = 1, sql_mode = ''")
            rows(connection, "UPDATE t SET v = 'lost' WHERE id = 1")
            rows(connection, "CREATE TEMPORARY TABLE t (id INT)")
            wire.send(sql_wire.RESET_CONNECTION)
            answers = [wire.result(), wire.execute(by_key, 1)]
            for _ in range(3):
                wire.send(sql_wire.QUERY, READ.encode())
                answers.append(wire.result())
            answers.append(rows(connection, "SELECT @a, @@autocommit, @@sql_mode, DATABASE(), CONNECTION_ID() > 0"))
            by_key = wire.prepare("SELECT v FROM t WHERE id = ?")
            answers += [wire.execute(by_key, 2) for _ in range(3)]
            told.append(answers)
    assert told[0] == told[1]
