"""Statements that the server runs on the thread of the worker that received them: while one waits or lasts, a client
beside it is answered, and KILL, UNINSTALL and shutdown work as on a thread of its own."""
import contextlib
import threading
import time

import pymysql
import pytest

from support.clients import sql_wire
from support.clients.sql_wire import rows
from support.waiting import until

# One worker, which all clients share.
ONE_WORKER = "--loose-postern-threads=1"
KEYED = "SELECT v FROM t WHERE id = {}"
ROWS = 20000
BESIDE = 40


@pytest.fixture(scope="module")
def server(module_factory):
    made = module_factory(
        ONE_WORKER, "--local-infile=1", "--innodb-flush-log-at-trx-commit=2", "--performance-schema=ON", postern_port=0
    )
    made.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40), n INT)",
        f"INSERT INTO t SELECT seq, CONCAT('v', seq), seq % 97 FROM seq_1_to_{ROWS}",
        "CREATE TABLE loaded (id INT PRIMARY KEY, v VARCHAR(40))",
        "CREATE TABLE held (id INT PRIMARY KEY)",
        "INSERT INTO held VALUES (1)",
        "CREATE FUNCTION nested(depth INT) RETURNS INT RETURN SLEEP(depth)",
        database="test",
    )
    yield made
    made.assert_alive()


def counted(server):
    return server.status("Postern_%")


def beside(server, lasting, holder=None, ends=None):
    """Runs `lasting` on a connection of its own, looks rows up beside it, and returns its answer."""
    with contextlib.ExitStack() as opened:
        busy, other = (opened.enter_context(sql_wire.door(server, database="test")) for _ in range(2))
        for id_ in range(4):
            assert rows(other, KEYED.format(1 + id_)) == [(f"v{1 + id_}",)]
        told = []

        def run():
            try:
                told.append(rows(busy, lasting))
            except pymysql.err.Error as problem:
                told.append(problem.args[0])

        if holder is not None:
            rows(holder[0], holder[1])
        thread = threading.Thread(target=run)
        thread.start()
        until(
            lambda: server.query(
                "SELECT 1 FROM information_schema.processlist WHERE id = %s AND info IS NOT NULL", (busy.thread_id(),)
            ),
            20,
        )
        begin = time.monotonic()
        for id_ in range(BESIDE):
            assert rows(other, KEYED.format(10 + id_)) == [(f"v{10 + id_}",)]
            assert rows(other, f"SELECT COUNT(*) + {id_} FROM held") == [(1 + id_,)]  # the server answers this one
        took = time.monotonic() - begin
        assert thread.is_alive(), "it was over before anybody could be beside it"
        if ends is not None:
            ends()
        elif holder is not None:
            rows(holder[0], holder[2])
        else:
            server.execute(f"KILL QUERY {busy.thread_id()}")
        thread.join(20)
        assert not thread.is_alive()
        assert took < 10
        # The connection still works.
        assert rows(busy, KEYED.format(7)) == [("v7",)]
        assert rows(busy, "SELECT COUNT(*) FROM held") == [(1,)]
        return told[0]


LASTING = {
    "sleep": "SELECT SLEEP(100)",
    "sleep in functions": "SELECT nested(100) + 1",
    "a slow scan": "SELECT COUNT(*) FROM t a, t b, t c WHERE a.n + b.n + c.n = 1",
    "a long sort": "SELECT a.id FROM t a, t b WHERE a.n < b.n ORDER BY RAND() LIMIT 5",
    "a benchmark": "DO BENCHMARK(1000000000, MD5('a'))",
}


@pytest.mark.parametrize("kind", LASTING)
def test_nobody_waits_for_what_lasts(server, kind):
    before = counted(server)["postern_loops_moved"]
    beside(server, LASTING[kind])
    assert counted(server)["postern_loops_moved"] > before


HELD = {
    "a user's lock": ("DO GET_LOCK('l', 100)", "DO RELEASE_LOCK('l')", "SELECT GET_LOCK('l', 100) + 0"),
    "a row": ("BEGIN; SELECT * FROM held FOR UPDATE", "ROLLBACK", "SELECT * FROM held FOR UPDATE"),
    "metadata": ("LOCK TABLES loaded READ", "UNLOCK TABLES", "ALTER TABLE loaded COMMENT 'altered'"),
    "a table": ("LOCK TABLES loaded WRITE", "UNLOCK TABLES", "SELECT COUNT(*) FROM loaded"),
}


@pytest.mark.parametrize("kind", HELD)
def test_nobody_waits_for_a_statement_that_is_held_up(server, kind):
    begins, ends, waits = HELD[kind]
    options = {"client_flag": pymysql.constants.CLIENT.MULTI_STATEMENTS}
    with contextlib.closing(sql_wire.connect(server.env["SQL_PORT"], database="test", **options)) as holder:
        before = counted(server)["postern_loops_moved"]
        assert not isinstance(beside(server, waits, (holder, begins, ends)), int)
        assert counted(server)["postern_loops_moved"] > before


def test_nobody_waits_for_a_client_that_sends_its_file_slowly(server):
    """LOAD DATA LOCAL reads the network in the middle of a statement."""
    with contextlib.ExitStack() as opened:
        loads, other = (
            opened.enter_context(sql_wire.door(server, database="test", local_infile=True)) for _ in range(2)
        )
        wire = sql_wire.Wire(loads)
        wire.send(sql_wire.QUERY, b"LOAD DATA LOCAL INFILE 'x' INTO TABLE loaded FIELDS TERMINATED BY ','")
        asked = wire.packet()
        assert asked[4] == 0xFB
        number = asked[3]
        for block in range(5):
            for id_ in range(1, BESIDE):
                assert rows(other, KEYED.format(id_)) == [(f"v{id_}",)]
            lines = b"".join(b"%d,v\n" % (block * 1000 + i) for i in range(1000))
            number += 1
            loads._sock.sendall(len(lines).to_bytes(3, "little") + bytes([number % 256]) + lines)
        # The end of the file, and the next command in the same segment.
        after = b"\x03" + KEYED.format(5).encode()
        ends = b"\0\0\0" + bytes([(number + 1) % 256]) + len(after).to_bytes(3, "little") + b"\0" + after
        loads._sock.sendall(ends)
        assert wire.packet()[4] == 0
        assert b"v5" in b"".join(wire.result())
        assert rows(other, "SELECT COUNT(*) FROM loaded") == [(5000,)]


def test_nobody_waits_for_a_client_that_becomes_another_slowly(server):
    """COM_CHANGE_USER is served in place, and reads the network when the server asks for the password again."""
    another = b"root\0\0test\0\x2d\0mysql_native_password\0\0"
    with contextlib.ExitStack() as opened:
        changes, other = (opened.enter_context(sql_wire.door(server, database="test")) for _ in range(2))
        wire = sql_wire.Wire(changes)

        def change(asked_meanwhile):
            wire.send(sql_wire.CHANGE_USER, another)
            asked = wire.packet()
            for id_ in range(1, asked_meanwhile):
                assert rows(other, KEYED.format(id_)) == [(f"v{id_}",)]
            if asked[4] == 0xFE:
                changes._sock.sendall(b"\0\0\0" + bytes([asked[3] + 1]))
                asked = wire.packet()
            assert asked[4] == 0

        def change_in_place():
            before = counted(server)["postern_statements_in_place"]
            for _ in range(50):
                change(0)
            return counted(server)["postern_statements_in_place"] > before

        until(change_in_place, 60)  # statements moved to the pool: the machine is busy
        change(BESIDE)
        assert rows(changes, KEYED.format(7)) == [("v7",)]


def test_more_statements_than_threads_may_wait(server):
    """Statements that a worker cannot leave move to the pool; all are answered, and the worker continues."""
    with contextlib.ExitStack() as opened:
        waiting = [opened.enter_context(sql_wire.door(server, database="test")) for _ in range(20)]
        other = opened.enter_context(sql_wire.door(server, database="test"))
        holder = opened.enter_context(sql_wire.connect(server.env["SQL_PORT"], database="test"))
        rows(holder, "DO GET_LOCK('many', 10)")
        told = []
        threads = [
            threading.Thread(
                target=lambda one=one: told.append(rows(one, "SELECT GET_LOCK('many', 60), RELEASE_LOCK('many')"))
            )
            for one in waiting
        ]
        for thread in threads:
            thread.start()
        until(
            lambda: server.query("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock'")
            == [(20,)],
            30,
        )
        for id_ in range(1, BESIDE):
            assert rows(other, KEYED.format(id_)) == [(f"v{id_}",)]
        rows(holder, "DO RELEASE_LOCK('many')")
        for thread in threads:
            thread.join(30)
        assert told == [[(1, 1)]] * 20


def test_short_statements_stay(server):
    with contextlib.closing(sql_wire.door(server, database="test")) as client:
        before = counted(server)
        for id_ in range(200):
            assert rows(client, f"SELECT COUNT(*), {id_} FROM held") == [(1, id_)]
        after = counted(server)
        served = after["postern_statements_served"] - before["postern_statements_served"]
        in_place = after["postern_statements_in_place"] - before["postern_statements_in_place"]
        assert served >= 200
        assert in_place > 0  # statements moved to the pool: the machine is busy


def test_a_session_knows_its_thread(server):
    """State that is bound to a thread follows the session: the stack's limit, performance schema's thread, the process
    list."""
    with contextlib.closing(sql_wire.door(server, database="test")) as client:
        deep = "(" * 3000 + "1" + ")" * 3000
        for _ in range(3):
            assert rows(client, f"SELECT {deep}") == [(1,)]
            assert rows(
                client,
                "SELECT processlist_id, processlist_command FROM performance_schema.threads"
                " WHERE processlist_id = CONNECTION_ID()",
            ) == [(client.thread_id(), "Query")]
            rows(client, "SELECT SLEEP(0.01)")


def test_kill_finds_a_statement_in_place(server):
    for how in ("KILL QUERY", "KILL"):
        with contextlib.ExitStack() as opened:
            busy = opened.enter_context(sql_wire.door(server, database="test"))
            other = opened.enter_context(sql_wire.door(server, database="test"))
            told = []

            def run():
                try:
                    told.append(rows(busy, "SELECT SLEEP(100) = 'kill'"))
                except pymysql.err.Error as problem:
                    told.append(problem.args[0])

            thread = threading.Thread(target=run)
            thread.start()
            until(lambda: server.query("SELECT 1 FROM information_schema.processlist WHERE info LIKE '%= ''kill''%'"))
            rows(other, f"{how} {busy.thread_id()}")
            thread.join(20)
            assert not thread.is_alive()
            assert rows(other, KEYED.format(3)) == [("v3",)]
            if how == "KILL":
                assert told[0] in (1317, 2006, 2013, 1927)
            else:
                assert rows(busy, KEYED.format(3)) == [("v3",)]


def test_killed_workers_go_on(server):
    """KILL of a worker's own thread, while another thread runs the loop."""
    with contextlib.ExitStack() as opened:
        busy, other = (opened.enter_context(sql_wire.door(server, database="test")) for _ in range(2))
        thread = threading.Thread(target=lambda: rows(busy, "SELECT SLEEP(2)"))
        thread.start()
        until(lambda: server.query("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(2)%'"))
        assert rows(other, KEYED.format(3)) == [("v3",)]
        assert server.kill_threads() > 5
        for id_ in range(1, 20):
            assert rows(other, KEYED.format(id_)) == [(f"v{id_}",)]
        thread.join(20)
        assert rows(busy, KEYED.format(4)) == [("v4",)]


@pytest.mark.parametrize("asks", (True, False))
def test_uninstall_and_shutdown_amid(sandbox_factory, asks):
    """With and without a client that made the loop move before."""
    server = sandbox_factory(ONE_WORKER, postern_port=0)
    sleeps = [sql_wire.door(server) for _ in range(3)]
    other = sql_wire.door(server)

    def sleep(connection):
        with pytest.raises(pymysql.err.Error):
            rows(connection, "SELECT SLEEP(100)")

    def begin():
        made = [threading.Thread(target=sleep, args=(one,)) for one in sleeps]
        for number, thread in enumerate(made):
            thread.start()
            until(
                lambda: len(
                    server.query("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'")
                )
                > number  # pylint: disable=cell-var-from-loop
            )
        if asks:
            assert rows(other, "SELECT 1") == [(1,)]
        return made

    threads = begin()
    started = time.monotonic()
    server.execute("UNINSTALL PLUGIN postern")
    assert time.monotonic() - started < 10
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    server.execute("INSTALL PLUGIN postern SONAME 'postern.so'")
    sleeps = [sql_wire.door(server) for _ in range(3)]
    other = sql_wire.door(server)
    threads = begin()
    started = time.monotonic()
    server.stop()
    assert time.monotonic() - started < 20
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
