"""How sessions of the SQL door end: KILL, silence, limits, UNINSTALL, shutdown."""
import contextlib
import threading
import time

import pymysql
import pytest

from support.clients import sql_wire
from support.clients.sql_session import Session
from support.clients.sql_wire import QUERY, Wire, rows
from support.waiting import until


CONNECTIONS_MAX = 30
TOO_MANY = 1040


@pytest.fixture
def server(sandbox_factory):
    return sandbox_factory(f"--max-connections={CONNECTIONS_MAX}", postern_port=0)


def connected(server):
    """The number of client sessions, without the asking one; or the maximum if no session is left to ask."""
    try:
        return int(server.status("Threads_connected")["threads_connected"]) - 1
    except pymysql.err.OperationalError as problem:
        assert problem.args[0] == TOO_MANY
        return CONNECTIONS_MAX


def meets_error(connection, statement, seconds=10):
    begin = time.monotonic()
    with pytest.raises(pymysql.err.Error) as told:
        rows(connection, statement)
    assert time.monotonic() - begin < seconds
    return told.value.args[0]


def later(action):
    timer = threading.Timer(0.5, action)
    timer.start()
    return timer


def test_kill(server):
    idle, busy, asked = (sql_wire.door(server, database="test") for _ in range(3))
    later(lambda: server.execute(f"KILL QUERY {asked.thread_id()}"))
    assert meets_error(asked, "SELECT COUNT(*) FROM seq_1_to_4000000000 WHERE seq % 7 = 8") == 1317
    assert rows(asked, "SELECT 1") == [(1,)]
    server.execute(f"KILL {idle.thread_id()}")
    assert meets_error(idle, "SELECT 1") in (2006, 2013)
    later(lambda: server.execute(f"KILL {busy.thread_id()}"))
    assert meets_error(busy, "SELECT SLEEP(30)") in (1317, 2006, 2013, 1927)
    until(lambda: connected(server) == 1, 20)


def test_a_locked_row_holds_nobody_else(server):
    holder, waiter, other = (sql_wire.door(server, database="test") for _ in range(3))
    rows(holder, "CREATE TABLE t (id INT PRIMARY KEY)")
    rows(holder, "INSERT INTO t VALUES (1)")
    rows(holder, "BEGIN")
    rows(holder, "SELECT * FROM t FOR UPDATE")
    waiting = threading.Thread(target=rows, args=(waiter, "DELETE FROM t WHERE id = 1"))
    waiting.start()
    for _ in range(50):
        assert rows(other, "SELECT 1") == [(1,)]
    assert waiting.is_alive()
    rows(holder, "COMMIT")
    waiting.join(10)
    assert rows(other, "SELECT * FROM t") == []


def test_silence(server):
    short, long_one = sql_wire.door(server), sql_wire.door(server)
    rows(short, "SET wait_timeout = 1")
    in_transaction = sql_wire.door(server, database="test")
    rows(in_transaction, "SET idle_transaction_timeout = 1")
    rows(in_transaction, "CREATE TABLE s (id INT)")
    rows(in_transaction, "BEGIN")
    rows(in_transaction, "INSERT INTO s VALUES (1)")
    reader = sql_wire.door(server, database="test")
    rows(reader, "SET idle_transaction_timeout = 1")
    rows(reader, "BEGIN")
    until(lambda: connected(server) == 1, 20)
    assert meets_error(short, "SELECT 1") in (2006, 2013)
    assert meets_error(reader, "SELECT 1") in (2006, 2013)
    assert meets_error(in_transaction, "SELECT 1") in (2006, 2013)
    assert rows(long_one, "SELECT COUNT(*) FROM test.s") == [(0,)]
    assert "Got timeout" in server.log()


def test_limits(server):
    opened = [sql_wire.door(server) for _ in range(25)]
    with pytest.raises(pymysql.err.OperationalError, match="1040"):
        opened += [sql_wire.door(server) for _ in range(10)]
    for connection in opened:
        connection.close()
    until(lambda: connected(server) <= 0)
    server.execute("CREATE USER few@localhost WITH MAX_USER_CONNECTIONS 2 MAX_QUERIES_PER_HOUR 5")
    opened = [sql_wire.door(server, user="few") for _ in range(2)]
    with pytest.raises(pymysql.err.OperationalError, match="1226"):
        sql_wire.door(server, user="few")
    with pytest.raises(pymysql.err.OperationalError, match="1226"):
        for _ in range(6):
            rows(opened[0], "SELECT 1")


def test_clients_that_leave(server):
    for _ in range(5):
        connection = sql_wire.door(server)
        connection._force_close()
    half_way = sql_wire.door(server)
    half_way._sock.sendall(b"\x10\0\0\0\x03SEL")
    half_way._force_close()
    until(lambda: connected(server) == 0)
    assert int(server.status("Aborted_clients")["aborted_clients"]) >= 5


LEAVING = {
    "at once": [],
    "after a read": ["SELECT id FROM t WHERE id = 1"],
    "in a transaction that read": ["BEGIN", "SELECT id FROM t WHERE id = 1"],
    "in a transaction that wrote": ["BEGIN", "INSERT INTO t VALUES (7)"],
    "with a lock": ["SELECT GET_LOCK('mine', 0)"],
    "with a table of its own": ["CREATE TEMPORARY TABLE mine (id INT)"],
    "with tables locked": ["LOCK TABLES t WRITE"],
    "with a statement": ["PREPARE a FROM 'SELECT 1'", "SET @a = 1"],
}
OF_OTHERS = (
    "SELECT VARIABLE_NAME, g.VARIABLE_VALUE - s.VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS g"
    " JOIN information_schema.SESSION_STATUS s USING (VARIABLE_NAME)"
    " WHERE VARIABLE_NAME IN ('QUESTIONS', 'BYTES_RECEIVED', 'BYTES_SENT') UNION ALL"
    " SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS"
    " WHERE VARIABLE_NAME IN ('ABORTED_CLIENTS', 'ABORTED_CONNECTS')"
)


def leave(one):
    """Sends COM_QUIT, and waits until the server closes the connection."""
    one.put(b"\1")
    assert one.socket.recv(1) == b""
    one.close()


@pytest.mark.parametrize("before", LEAVING)
def test_a_client_that_leaves_is_counted_and_forgotten_as_at_the_port(server, before):
    server.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", database="test")
    server.execute("CREATE USER own@'%'", "GRANT ALL ON *.* TO own@'%'")
    counted = []
    asks = sql_wire.connect(server.env["SQL_PORT"], database="test")
    rows(asks, "SET lock_wait_timeout = 1")
    for port in ("SQL_PORT", "SQL_PORT", "POSTERN_PORT", "POSTERN_PORT"):  # of two, the first may follow another's
        begun = dict(rows(asks, OF_OTHERS))
        one = Session(server.env[port], "own", "test")
        for step in LEAVING[before]:
            assert one.query(step)[4] != 0xFF
        leave(one)
        until(lambda: not rows(asks, "SELECT 1 FROM information_schema.PROCESSLIST WHERE USER = 'own'"))
        ended = dict(rows(asks, OF_OTHERS))
        counted.append({name: int(ended[name]) - int(begun[name]) for name in begun})
        assert rows(asks, "SELECT id FROM t") == [(1,)]
        rows(asks, "ALTER TABLE t COMMENT = ''")  # nobody has locked it
        assert rows(asks, "SELECT IS_FREE_LOCK('mine')") == [(1,)]
    assert counted[1] == counted[3]


def test_a_client_that_leaves_without_waiting_for_its_answers(server):
    """Everything that arrived before the end is executed."""
    server.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", database="test")
    with contextlib.closing(sql_wire.door(server, database="test")) as learns:
        for value in range(2, 5):
            rows(learns, f"INSERT INTO t VALUES ({value})")
            rows(learns, f"SELECT id FROM t WHERE id = {value}")
    server.execute("CREATE USER own@'%'", "GRANT ALL ON *.* TO own@'%'")
    one = Session(server.env["POSTERN_PORT"], "own", "test")
    texts = [b"SELECT id FROM t WHERE id = 1", b"INSERT INTO t VALUES (9)", b"SELECT id FROM t WHERE id = 9"]
    packets = [b"\3" + text for text in texts] + [b"\1"]
    one.socket.sendall(b"".join(len(body).to_bytes(3, "little") + b"\0" + body for body in packets))
    answers = [one.answer() for _ in texts]
    assert [answer[4] for answer in answers] == [1, 0, 1]
    assert one.socket.recv(1) == b""
    assert server.query("SELECT id FROM t WHERE id = 9", database="test") == [(9,)]


def test_uninstall_from_elsewhere_and_through_the_door(server):
    sessions = [sql_wire.door(server) for _ in range(10)]
    sleeper = threading.Thread(target=meets_error, args=(sessions[0], "SELECT SLEEP(60)", 30))
    sleeper.start()
    until(lambda: server.query("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'"))
    begin = time.monotonic()
    server.execute("UNINSTALL PLUGIN postern")
    assert time.monotonic() - begin < 5
    sleeper.join()
    with pytest.raises(pymysql.err.OperationalError):
        sql_wire.door(server)
    server.execute("INSTALL PLUGIN postern SONAME 'postern.so'")
    others = [sql_wire.door(server) for _ in range(5)]
    caller = sql_wire.door(server)
    rows(caller, "UNINSTALL PLUGIN postern")
    for session in [caller, *others]:
        assert meets_error(session, "SELECT 1") in (2006, 2013)
    until(lambda: connected(server) == 0)
    server.execute("INSTALL PLUGIN postern SONAME 'postern.so'")
    assert rows(sql_wire.door(server), "SELECT 1") == [(1,)]


def test_many_that_sleep_end_at_once(sandbox_factory):
    """All sleeping threads share a mutex, for which the server's own KILL may wait two seconds, once for each of them."""
    server = sandbox_factory("--max-connections=150", postern_port=0)
    spent = 0
    for _ in range(5):
        sleepers = [sql_wire.door(server) for _ in range(100)]
        for sleeper in sleepers:
            Wire(sleeper).send(QUERY, b"DO SLEEP(60)")
        count = "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'DO SLEEP(60)'"
        until(lambda: server.query(count) == [(100,)], 60)
        begin = time.monotonic()
        server.execute("UNINSTALL PLUGIN postern")
        spent += time.monotonic() - begin
        for sleeper in sleepers:
            sleeper._sock.close()
        server.execute("INSTALL PLUGIN postern SONAME 'postern.so'")
    assert spent < 5


def test_shutdown_with_sessions_open(server):
    idle = [sql_wire.door(server) for _ in range(20)]
    sleeper = threading.Thread(target=meets_error, args=(sql_wire.door(server), "SELECT SLEEP(60)", 30))
    sleeper.start()
    until(lambda: server.query("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'"))
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 20
    sleeper.join()
    assert meets_error(idle[0], "SELECT 1") in (2006, 2013)


def test_shutdown_through_the_door(server):
    session = sql_wire.door(server)
    rows(session, "SHUTDOWN")
    until(lambda: not server.alive(), 20)


def test_an_option_that_is_not_set_opens_nothing(sandbox_factory):
    server = sandbox_factory()
    assert server.env["POSTERN_PORT"] == "" and server.env["POSTERN_SOCKET"] == ""
    assert server.status("Postern_listening")["postern_listening"] == "OFF"
