"""A node of a Galera cluster reads and writes when SQL does. test_galera_cluster.py tests several nodes."""
import contextlib
import socket
import subprocess

import pymysql
import pytest
from support.clients.mc import ServerSays, until_mapped
from support.server import BUILD, ROOT
from support.waiting import until

CANNOT_BE_HAD = 3  # exit code of tools/server if it cannot provide the server
SENTENCE = "WSREP has not yet prepared node for application use"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def galera_provider():
    done = subprocess.run(
        [ROOT / "tools" / "server", "galera", BUILD / "galera"], capture_output=True, text=True, check=False
    )
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return BUILD / "galera" / "libgalera_smm.so"


@pytest.fixture(scope="module")
def node(module_factory):
    """A cluster of one node, on loopback."""
    library = galera_provider()
    port = free_port()
    server = module_factory(
        "--wsrep-on=ON",
        f"--wsrep-provider={library}",
        "--wsrep-cluster-address=gcomm://",
        f"--wsrep-node-address=127.0.0.1:{port}",
        f"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{port};ist.recv_addr=127.0.0.1:{free_port()};pc.wait_prim=no",
        "--loose-plugin-wsrep-provider=OFF",  # with it, later series refuse wsrep_provider_options at run time
        "--wsrep-sst-method=skip",
        "--binlog-format=ROW",
        "--innodb-autoinc-lock-mode=2",
        containers=True,
        postern_port=0,
    )
    server.execute(
        "CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(10))",
        "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
        database="test",
    )
    until_mapped(server, "aaa")
    yield server
    server.assert_alive()


def becomes(node, ready):
    until(lambda: node.status("wsrep_ready")["wsrep_ready"] == ("ON" if ready else "OFF"), seconds=30)


@contextlib.contextmanager
def without_quorum(node):
    node.execute("SET GLOBAL wsrep_cluster_address = 'gcomm://127.0.0.1:1'")  # no node listens there
    becomes(node, False)
    try:
        yield
    finally:
        node.execute("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'")
        becomes(node, True)


@contextlib.contextmanager
def rejecting(node):
    node.execute("SET GLOBAL wsrep_reject_queries = ALL")
    try:
        yield
    finally:
        node.execute("SET GLOBAL wsrep_reject_queries = NONE")


def sql_reads(node):
    try:
        return list(node.query("SELECT v FROM t WHERE k = 1", database="test")[0])
    except pymysql.MySQLError as error:
        assert error.args[0] == 1047 or SENTENCE in str(error), error
        return None


@pytest.mark.parametrize("trouble", [without_quorum, rejecting])
def test_a_node_that_sql_cannot_read_cannot_be_read(node, trouble):
    with node.hs() as reader, node.hs_wr() as writer, node.mc() as cache:
        clients = (reader, writer)
        for one in clients:
            one.open(0, "test", "t", "v")
            assert one.request(0, "=", 1, 1) == ["0", "1", "one"]
        assert cache.get("AA") == b"HELLO, HELLO"
        before = node.status("handlersocket_errors_cluster_not_ready")
        with trouble(node):
            assert sql_reads(node) is None
            for one in clients:
                assert one.pipeline((0, "=", 1, 1), (0, ">=", 1, 1, 5000)) == [["1", "1", SENTENCE]] * 2
                assert one.request("P", 1, "test", "t", "PRIMARY", "k") == ["1", "1", SENTENCE]
                assert one.request(1, "=", 1, 1) == ["2", "1", "stmtnum"]
            assert writer.request(0, "+", 1, "x")[0] == "1"
            with pytest.raises(ServerSays, match=SENTENCE):
                cache.get("AA")
            assert cache.set("AA", "x") == f"SERVER_ERROR {SENTENCE}"
            assert node.status("handlersocket_errors_cluster_not_ready") != before
        for one in clients:
            assert one.request(0, "=", 1, 1) == ["0", "1", "one"], "what was open is open"
        assert cache.get("AA") == b"HELLO, HELLO", "containers are known as before"


def test_dirty_reads_are_answered_as_sql_does(node):
    with node.hs() as reader, without_quorum(node):
        reader.send(b"P\t0\ttest\tt\tPRIMARY\tv\n")
        assert reader.line().startswith(b"1\t1\t")
        with contextlib.closing(node.connect()) as session:
            session.cursor().execute("SET GLOBAL wsrep_dirty_reads = 1")
            try:
                assert sql_reads(node) == ["one"]
                reader.open(0, "test", "t", "v")
                assert reader.request(0, "=", 1, 1) == ["0", "1", "one"]
            finally:
                session.cursor().execute("SET GLOBAL wsrep_dirty_reads = 0")
        assert reader.request(0, "=", 1, 1) == ["1", "1", SENTENCE]
        assert sql_reads(node) is None


def test_writes_are_certified(node):
    with node.hs_wr() as writer:
        writer.open(0, "test", "t", "k,v")
        before = int(node.status("wsrep_replicated")["wsrep_replicated"])
        assert writer.request(0, "+", 2, 3, "x") == ["0", "1"]
        assert writer.request(0, "=", 1, 3, 1, 0, "D") == ["0", "1", "1"]
        assert int(node.status("wsrep_replicated")["wsrep_replicated"]) == before + 2
    assert node.query("SELECT k FROM t ORDER BY k", database="test") == [(1,), (2,)]


def test_no_write_is_made_where_dirty_reads_are(node):
    with node.hs_wr() as writer, without_quorum(node):
        with contextlib.closing(node.connect()) as session:
            session.cursor().execute("SET GLOBAL wsrep_dirty_reads = 1")
            try:
                writer.open(0, "test", "t", "k,v")
                assert writer.request(0, "=", 1, 1) == ["0", "2", "1", "one"]
                assert writer.request(0, "+", 2, 4, "x") == ["1", "1", SENTENCE]
            finally:
                session.cursor().execute("SET GLOBAL wsrep_dirty_reads = 0")
    assert node.query("SELECT k FROM t ORDER BY k", database="test") == [(1,), (2,)]


def test_a_transaction_that_is_too_large_fails(node):
    """wsrep_max_ws_size is exceeded; other requests in the transaction do not fail with it."""
    node.execute("CREATE OR REPLACE TABLE large (k INT PRIMARY KEY, v LONGBLOB)", database="test")
    node.execute("SET GLOBAL wsrep_max_ws_size = 100000")
    try:
        with node.hs_wr() as writer:
            writer.open(0, "test", "large", "k,v")
            answers = writer.pipeline((0, "+", 2, 1, "a"), (0, "+", 2, 2, "b" * 200_000), (0, "+", 2, 3, "c"))
    finally:
        node.execute("SET GLOBAL wsrep_max_ws_size = DEFAULT")
    assert [answer[0] for answer in answers] == ["0", "1", "0"], answers
    assert node.query("SELECT k FROM large ORDER BY k", database="test") == [(1,), (3,)]


def test_wsrep_on_is_switched_at_run_time(node):
    """As with SQL, writes meanwhile stay on this node."""
    with node.hs_wr() as writer:
        writer.open(0, "test", "t", "k,v")
        before = int(node.status("wsrep_replicated")["wsrep_replicated"])
        node.execute("SET GLOBAL wsrep_on = OFF")
        try:
            assert writer.request(0, "+", 2, 3, "x") == ["0", "1"]
        finally:
            node.execute("SET GLOBAL wsrep_on = ON")
        assert int(node.status("wsrep_replicated")["wsrep_replicated"]) == before
        assert writer.request(0, "=", 1, 3, 1, 0, "D") == ["0", "1", "1"]
        assert int(node.status("wsrep_replicated")["wsrep_replicated"]) == before + 1


@pytest.mark.parametrize("trouble", [without_quorum, rejecting])
def test_the_sql_door_reads_when_the_port_does(node, trouble):
    def told(session, statement):
        try:
            with session.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        except pymysql.MySQLError as error:
            return error.args

    asked = ["SELECT v FROM t WHERE k = 1"] * 5 + ["SELECT 1", "SET NAMES utf8mb4", "SET wsrep_dirty_reads = 1"]
    asked += ["SELECT v FROM t WHERE k = 1"] * 2 + ["BEGIN", "SELECT v FROM t WHERE k = 2", "COMMIT"]

    def session(port):
        return pymysql.connect(host="127.0.0.1", port=int(node.env[port]), user="root", database="test")

    with contextlib.closing(session("POSTERN_PORT")) as learning:
        assert [told(learning, "SELECT v FROM t WHERE k = 1") for _ in range(5)] == [[("one",)]] * 5
    answers = []
    with trouble(node):
        for port in ("SQL_PORT", "POSTERN_PORT"):
            with contextlib.closing(session(port)) as one:
                answers.append([told(one, statement) for statement in asked])
    assert answers[0] == answers[1]
    assert answers[0][0][1] == SENTENCE and answers[0][-2] == [("two",)]
