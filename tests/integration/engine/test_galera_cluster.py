"""Three nodes of a Galera cluster: a write through a door of one reaches all, and its answer is true."""
import contextlib
import os
import signal
import struct
import subprocess
import threading

import pymysql
import pytest
from support.clients import sql_wire
from support.galera import (
    NODES,
    Cluster,
    Writer,
    check,
    inserts,
    run_until,
    size_of,
    wait_until_all_have_written,
    wait_until_others_go_on,
)
from support.server import ROOT
from support.waiting import until

# Errors of writes that were not made: certification failed again and again, or the node is not ready.
ERRORS_WITHOUT_A_WRITE = ("149", "WSREP has not yet prepared node for application use", "Deadlock found", "146")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    directory = tmp_path_factory.mktemp("galera") / "c"
    try:
        made = Cluster(directory)
        made.nodes[1].execute(
            "CREATE TABLE t (k INT PRIMARY KEY, v INT)",
            "CREATE TABLE tr (k INT PRIMARY KEY, v INT)",
            "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, k INT)",
            "CREATE TRIGGER tr_log AFTER INSERT ON tr FOR EACH ROW INSERT INTO log (k) VALUES (NEW.k)",
            database="test",
        )
        yield made
        for server in made.nodes.values():
            server.assert_no_crash()
    finally:
        if directory.exists():
            subprocess.run([ROOT / "tools/cluster", "stop", directory], check=False, capture_output=True, timeout=290)


def test_every_door_of_every_node_writes_for_all(cluster):
    for node, server in cluster.nodes.items():
        key = 1000 * node
        with server.hs_wr() as writer:
            writer.open(0, "test", "t", "k,v")
            for more in range(3):
                assert writer.request(0, "+", 2, key + more, node) == ["0", "1"]
            assert writer.request(0, "=", 1, key + 1, 1, 0, "U", key + 1, 77) == ["0", "1", "1"]
            assert writer.request(0, "=", 1, key + 2, 1, 0, "D") == ["0", "1", "1"]
            writer.open(1, "test", "tr", "k,v")
            assert writer.request(1, "+", 2, key, node) == ["0", "1"], "with a trigger it is a transaction of its own"
        with server.mc() as cache:
            assert cache.set(f"mc{node}", f"value {node}") == "STORED"
        with server.resp() as redis:
            assert redis.ask("SET", f"redis{node}", node) == "OK"
            assert redis.ask("INCR", f"redis{node}") == node + 1
            assert redis.ask("HSET", f"hash{node}", "a", 1, "b", 2) == 2
        with contextlib.closing(
            pymysql.connect(host="127.0.0.1", port=int(server.env["POSTERN_PORT"]), user="root")
        ) as sql:
            with sql.cursor() as cursor:
                cursor.execute("INSERT INTO test.t VALUES (%s, 5)", (key + 5,))
                cursor.execute("BEGIN")
                cursor.execute("UPDATE test.t SET v = 6 WHERE k = %s", (key + 5,))
                cursor.execute("COMMIT")
    wanted = [row for node in NODES for row in ((1000 * node, node), (1000 * node + 1, 77), (1000 * node + 5, 6))]
    assert cluster.same_everywhere("SELECT k, v FROM test.t ORDER BY k") == wanted
    assert cluster.same_everywhere("SELECT k FROM test.log ORDER BY k") == [(1000 * node,) for node in NODES]
    for server in cluster.nodes.values():
        with server.mc() as cache, server.resp() as redis:
            for node in NODES:
                assert cache.get(f"mc{node}") == f"value {node}".encode()
                assert redis.ask("GET", f"redis{node}") == str(node + 1).encode()
                assert redis.ask("HGET", f"hash{node}", "b") == b"2"


def test_a_write_that_loses_to_another_node_is_run_again(cluster):
    """All nodes add to one row: most transactions lose certification, and no answer is wrong."""
    cluster.nodes[1].execute("REPLACE INTO t VALUES (1, 0)", database="test")
    cluster.same_everywhere("SELECT v FROM test.t WHERE k = 1")
    writers = [
        Writer(server, lambda _: (1, ("=", 1, 1, 1, 0, "+", 0, 1)))
        for server in cluster.nodes.values()
        for _ in range(2)
    ]

    def lost():
        return sum(int(n) for server in cluster.nodes.values() for n in server.status("%transactions_lost").values())

    before = lost()
    run_until(lambda: all(len(writer.acknowledged) > 20 for writer in writers) and lost() > before, writers)
    acknowledged = sum(len(writer.acknowledged) for writer in writers)
    told = [answer for writer in writers for answer in writer.told]
    assert cluster.same_everywhere("SELECT v FROM test.t WHERE k = 1") == [(acknowledged,)], told[:5]
    assert [
        answer for answer in told if answer[0] == "0" or answer[2:] and answer[2] not in ERRORS_WITHOUT_A_WRITE
    ] == []


def test_redis_transactions_that_lose_are_run_again(cluster):
    acknowledged = []

    def increment(server):
        with server.resp() as redis:
            for _ in range(15):
                redis.ask("MULTI")
                redis.ask("INCR", "counter")
                redis.ask("INCR", "other")
                reply = redis.ask("EXEC")
                if isinstance(reply, list):
                    acknowledged.append(reply)

    threads = [threading.Thread(target=increment, args=(server,)) for server in cluster.nodes.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in cluster.nodes.values():
        server.execute("SET GLOBAL wsrep_sync_wait = 1")
    try:
        for server in cluster.nodes.values():
            with server.resp() as redis:
                assert redis.ask("GET", "counter") == redis.ask("GET", "other") == str(len(acknowledged)).encode()
    finally:
        for server in cluster.nodes.values():
            server.execute("SET GLOBAL wsrep_sync_wait = 0")


def test_reads_wait_for_other_nodes_where_that_is_asked_for(cluster):
    """wsrep_sync_wait: a door reads all writes that another node has acknowledged."""
    writer_node, reader_node = cluster.nodes[1], cluster.nodes[2]
    reader_node.execute("SET GLOBAL wsrep_sync_wait = 1")
    try:
        with writer_node.hs_wr() as writer, reader_node.hs() as reader:
            writer.open(0, "test", "t", "k,v")
            reader.open(0, "test", "t", "k,v")
            for key in range(50_000, 50_100):
                assert writer.request(0, "+", 2, key, 1) == ["0", "1"]
                assert reader.request(0, "=", 1, key) == ["0", "2", str(key), "1"]
    finally:
        reader_node.execute("SET GLOBAL wsrep_sync_wait = 0")


def sql_session(server, port):
    return pymysql.connect(
        host="127.0.0.1", port=int(server.env[port]), user="root", database="test", read_timeout=60, autocommit=True
    )


def ask(connection, statement):
    """The answer's rows, or the number of the error."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())
    except pymysql.MySQLError as error:
        return error.args[0]


def brute_force_aborts(server):
    return int(server.status("wsrep_local_bf_aborts")["wsrep_local_bf_aborts"])


PREPARED = "SELECT v FROM t WHERE k = ?"


@pytest.fixture
def aborted(cluster, request):
    """A session of the second node, after another node's write has aborted its open transaction."""
    first, second = cluster.nodes[1], cluster.nodes[2]
    first.execute("REPLACE INTO t VALUES (11, 0), (12, 0)", database="test")
    cluster.same_everywhere("SELECT k, v FROM test.t WHERE k IN (11, 12)")
    for _ in range(4):  # a worker learns the statement, and then answers PREPARE
        with contextlib.closing(sql_session(second, request.param)) as teacher:
            wire = sql_wire.Wire(teacher)
            wire.execute(wire.prepare(PREPARED), 11)
    session = sql_session(second, request.param)
    session.prepared = sql_wire.Wire(session).prepare(PREPARED)
    try:
        assert ask(session, "BEGIN") == ask(session, "UPDATE t SET v = v + 1 WHERE k = 11") == []
        before = brute_force_aborts(second)
        first.execute("UPDATE t SET v = 100 WHERE k = 11", database="test")
        until(lambda: brute_force_aborts(second) > before)
        cluster.same_everywhere("SELECT v FROM test.t WHERE k = 11")
        yield session
    finally:
        session._force_close()
    second.assert_no_crash()


BOTH_PORTS = pytest.mark.parametrize("aborted", ["SQL_PORT", "POSTERN_PORT"], indirect=True)


@BOTH_PORTS
@pytest.mark.parametrize(
    "statement", ["SELECT v FROM t WHERE k = 12", "COMMIT", "SET @a = 1", "UPDATE t SET v = 1 WHERE k = 12"]
)
def test_a_session_resting_in_a_transaction_learns_that_another_node_ended_it(aborted, statement):
    assert ask(aborted, statement) == 1213
    assert ask(aborted, "SELECT v FROM t WHERE k = 11") == [(100,)]
    assert ask(aborted, "UPDATE t SET v = v + 1 WHERE k = 11") == []
    assert ask(aborted, "SELECT v FROM t WHERE k IN (11, 12) ORDER BY k") == [(101,), (0,)]


@BOTH_PORTS
@pytest.mark.parametrize("command", [b"\x02test", b"\x03SET NAMES utf8mb4", b"\x1a", b"\x18"])
def test_a_statement_prepared_late_takes_no_error_of_the_transaction(aborted, command):
    """A worker answered PREPARE; the server has to prepare the statement before the command."""
    wire = sql_wire.Wire(aborted)
    if command == b"\x18":  # COM_STMT_SEND_LONG_DATA, which has no answer
        wire.send(command[0], struct.pack("<IH", aborted.prepared, 0) + b"11")
        wire.send(0x17, struct.pack("<IBIBBH", aborted.prepared, 0, 1, 0, 1, 0xFD))
    else:
        wire.send(command[0], struct.pack("<I", aborted.prepared) if command == b"\x1a" else command[1:])
    answer = wire.packet()[4:]
    assert answer[:1] == b"\xff" and struct.unpack("<H", answer[1:3]) == (1213,)
    assert ask(aborted, "SELECT v FROM t WHERE k = 11") == [(100,)]


@BOTH_PORTS
@pytest.mark.parametrize("how", ["quit", "gone", "killed", "reset", "user changed"])
def test_a_session_may_end_when_another_node_has_ended_its_transaction(cluster, aborted, how):
    number = aborted.thread_id()
    if how == "quit":
        aborted.close()
    elif how == "gone":
        aborted._force_close()
    elif how == "killed":
        cluster.nodes[2].execute(f"KILL {number}")
    elif how == "reset":
        aborted._execute_command(0x1F, b"")
        with contextlib.suppress(pymysql.MySQLError):
            aborted._read_packet()
        assert ask(aborted, "SELECT v FROM t WHERE k = 11") in ([(100,)], 1213)
        aborted.close()
    else:
        aborted._execute_command(0x11, b"root\0\0test\0")
        with contextlib.suppress(pymysql.MySQLError):
            aborted._read_packet()
        aborted.close()
    count = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {number}"
    until(lambda: cluster.nodes[2].query(count) == [(0,)])
    assert cluster.same_everywhere("SELECT v FROM test.t WHERE k = 11") == [(100,)]


@pytest.mark.parametrize("port", ["SQL_PORT", "POSTERN_PORT"])
def test_ddl_ends_transactions_that_rest_on_all_nodes(cluster, port):
    """Also in sessions that have only read: every driver without autocommit opens such transactions."""
    with contextlib.ExitStack() as opened:
        sessions = []
        for server in cluster.nodes.values():
            session = opened.enter_context(contextlib.closing(sql_session(server, port)))
            session.autocommit(False)
            assert ask(session, "SELECT v FROM t WHERE k = 1") is not None
            sessions.append(session)
        cluster.nodes[1].execute(f"ALTER TABLE t ADD COLUMN {port} INT", database="test")
        cluster.nodes[1].execute(f"ALTER TABLE t DROP COLUMN {port}", database="test")
        cluster.same_everywhere("SELECT COUNT(*) FROM test.t")
        assert [ask(session, "COMMIT") for session in sessions] == [1213] * len(NODES)
        assert [ask(session, "SELECT 1") for session in sessions] == [[(1,)]] * len(NODES)
    for server in cluster.nodes.values():
        server.assert_no_crash()


def test_transactions_that_rest_and_lose_get_the_error_again_and_again(cluster):
    """Sessions of all nodes' SQL doors change one row in open transactions, and then all commit."""
    cluster.nodes[1].execute("REPLACE INTO t VALUES (21, 0)", database="test")
    cluster.same_everywhere("SELECT v FROM test.t WHERE k = 21")
    turns, errors = 25, []
    barrier = threading.Barrier(len(NODES))

    def fight(server):
        with contextlib.closing(sql_session(server, "POSTERN_PORT")) as session:
            for _ in range(turns):
                answers = [ask(session, "BEGIN"), ask(session, "UPDATE t SET v = v + 1 WHERE k = 21")]
                barrier.wait(60)
                answers += [ask(session, "SELECT 1"), ask(session, "COMMIT")]
                failed = [answer for answer in answers if isinstance(answer, int)]
                errors.append(failed[0] if failed else 0)
                barrier.wait(60)

    threads = [threading.Thread(target=fight, args=(server,)) for server in cluster.nodes.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in cluster.nodes.values():
        server.assert_no_crash()
    assert len(errors) == turns * len(NODES) and set(errors) == {0, 1213}
    assert cluster.same_everywhere("SELECT v FROM test.t WHERE k = 21") == [(errors.count(0),)]


def answered_by_workers(server):
    return server.status("Postern_statements_fast")["postern_statements_fast"]


def test_workers_answer_on_a_node_as_elsewhere(cluster):
    """Reads by key, in and outside transactions, with housekeeping statements in between."""
    server = cluster.nodes[1]
    server.execute("REPLACE INTO t VALUES (41, 7)", database="test")
    with contextlib.closing(sql_session(server, "POSTERN_PORT")) as session:
        for _ in range(5):
            assert ask(session, "SELECT v FROM t WHERE k = 41") == [(7,)]
        before = answered_by_workers(server)
        for _ in range(20):
            assert ask(session, "SELECT v FROM t WHERE k = 41") == [(7,)]
        assert ask(session, "BEGIN") == []
        for _ in range(20):
            assert ask(session, "SELECT v FROM t WHERE k = 41") == [(7,)]
        assert ask(session, "SELECT @@wsrep_on, 1") == ask(session, "SELECT 1, 1") == [(1, 1)]
        assert ask(session, "COMMIT") == ask(session, "SET NAMES utf8mb4") == []
        assert answered_by_workers(server) - before >= 40
        assert ask(session, "SET wsrep_sync_wait = 1") == []
        before = answered_by_workers(server)
        for _ in range(10):
            assert ask(session, "SELECT v FROM t WHERE k = 41") == [(7,)]
        assert answered_by_workers(server) == before


def test_readers_in_transactions_that_lose_get_an_error(cluster):
    """Reads by key: other nodes' writes abort their transactions between a worker's answers."""
    first, second = cluster.nodes[1], cluster.nodes[2]
    first.execute("REPLACE INTO t VALUES (51, 0), (52, 0)", database="test")
    cluster.same_everywhere("SELECT v FROM test.t WHERE k = 51")
    stop, told, wrong = threading.Event(), [], []

    def reads():
        with contextlib.closing(sql_session(second, "POSTERN_PORT")) as session:
            while not stop.is_set():
                answers = [ask(session, "BEGIN"), ask(session, "UPDATE t SET v = v + 1 WHERE k = 52")]
                answers += [ask(session, f"SELECT v FROM t WHERE k = {51 + number % 2}") for number in range(200)]
                answers.append(ask(session, "COMMIT"))
                failed = [answer for answer in answers if isinstance(answer, int)]
                told.append(failed[0] if failed else 0)
                wrong.extend(answer for answer in failed if answer != 1213)

    readers = [threading.Thread(target=reads) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(60):
            assert ask_of(first, "UPDATE t SET v = v + 1 WHERE k IN (51, 52)") in ([], 1213)
        until(lambda: 1213 in told, 60)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not wrong, wrong[:3]
    cluster.same_everywhere("SELECT v FROM test.t WHERE k IN (51, 52)")
    for server in cluster.nodes.values():
        server.assert_no_crash()


def ask_of(server, statement):
    with contextlib.closing(sql_session(server, "SQL_PORT")) as session:
        return ask(session, statement)


def test_a_session_that_need_not_wait_for_other_nodes_does_not(cluster):
    """wsrep_sync_wait is a session variable: a session that has turned it off never waits."""
    first, second = cluster.nodes[1], cluster.nodes[2]
    first.execute("REPLACE INTO t VALUES (31, 1)", database="test")
    assert cluster.same_everywhere("SELECT v FROM test.t WHERE k = 31") == [(1,)]
    second.execute("SET GLOBAL wsrep_sync_wait = 1")
    try:
        with contextlib.ExitStack() as opened:
            holder = opened.enter_context(contextlib.closing(second.connect()))
            behind = opened.enter_context(contextlib.closing(sql_session(second, "POSTERN_PORT")))
            free = [opened.enter_context(contextlib.closing(sql_session(second, "POSTERN_PORT"))) for _ in range(4)]
            for session in free:
                assert ask(session, "SET wsrep_sync_wait = 0") == []
            holder.query("FLUSH TABLES WITH READ LOCK")  # changes from the first node are applied after it
            first.execute("UPDATE t SET v = 2 WHERE k = 31", database="test")
            answers = []
            waiting = threading.Thread(target=lambda: answers.append(ask(behind, "SELECT v FROM t WHERE k = 31")))
            waiting.start()
            assert [ask(session, "SELECT v FROM t WHERE k = 31") for session in free] == [[(1,)]] * 4
            assert not answers
            holder.query("UNLOCK TABLES")
            waiting.join()
            assert answers == [[(2,)]]
    finally:
        second.execute("SET GLOBAL wsrep_sync_wait = 0")


def test_a_table_is_altered_under_writes(cluster):
    """DDL on one node briefly blocks writes on all."""
    writers = [Writer(server, inserts(10_000_000 * node)) for node, server in cluster.nodes.items()]
    for writer in writers:
        writer.start()
    for comment in range(3):
        more = [len(writer.acknowledged) + 1 for writer in writers]
        until(lambda more=more: all(len(one.acknowledged) >= n for one, n in zip(writers, more)), seconds=60)
        cluster.nodes[2].execute(f"ALTER TABLE t COMMENT = '{comment}'", database="test")
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.join()
    for node, writer in zip(NODES, writers):
        low = 10_000_000 * node
        assert writer.acknowledged, writer.told[:3]
        rows = cluster.same_everywhere(f"SELECT k FROM test.t WHERE k BETWEEN {low} AND {low + 9_999_999} ORDER BY k")
        assert [key for key, in rows] == writer.acknowledged, writer.told[:3]


def test_a_node_is_cut_off_under_load(cluster):
    """The node is isolated for a while, as in a network partition: the others continue without it, and it rejoins."""
    writers = [Writer(server, inserts(40_000_000 * node)) for node, server in cluster.nodes.items()]
    for writer in writers:
        writer.start()
    wait_until_all_have_written(writers)
    pid = int(cluster.nodes[3].env["PID"])
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until_others_go_on(cluster, writers)
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: size_of(cluster) == len(NODES), seconds=120)
    until(lambda: cluster.nodes[3].status("wsrep_ready")["wsrep_ready"] == "ON", seconds=120)
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.join()
    check(cluster, writers, 40_000_000)


def test_a_node_is_killed_under_load(cluster):
    """Acknowledged writes of any node are on all; the killed node rejoins and has them, too."""
    writers = [Writer(server, inserts(100_000_000 * node)) for node, server in cluster.nodes.items()]
    for writer in writers:
        writer.start()
    wait_until_all_have_written(writers)
    cluster.nodes[3].kill()
    wait_until_others_go_on(cluster, writers)
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.join()
    cluster.start()
    check(cluster, writers, 100_000_000)
    with cluster.nodes[3].hs_wr() as writer:
        writer.open(0, "test", "t", "k,v")
        assert writer.request(0, "+", 2, 5, 5) == ["0", "1"]
    assert cluster.same_everywhere("SELECT v FROM test.t WHERE k = 5") == [(5,)]
