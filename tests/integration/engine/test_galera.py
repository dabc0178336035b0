"""A node of a Galera cluster: reads are refused when SQL refuses them, writes always."""
import contextlib
import socket

import pymysql
import pytest
from support.mc import ServerSays, until_mapped
from support.waiting import until

SENTENCE = "WSREP has not yet prepared node for application use"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def node(fetched, module_factory):
    """A cluster of one, on loopback."""
    library = fetched("galera") / "galera" / "usr" / "lib" / "galera" / "libgalera_smm.so"
    port = free_port()
    server = module_factory(
        "--wsrep-on=ON",
        f"--wsrep-provider={library}",
        "--wsrep-cluster-address=gcomm://",
        f"--wsrep-node-address=127.0.0.1:{port}",
        f"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{port};ist.recv_addr=127.0.0.1:{free_port()};pc.wait_prim=no",
        "--wsrep-sst-method=skip",
        "--binlog-format=ROW",
        "--innodb-autoinc-lock-mode=2",
        containers=True,
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
    node.execute("SET GLOBAL wsrep_cluster_address = 'gcomm://127.0.0.1:1'")  # nobody is there
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


def test_writes_are_refused(node):
    with node.hs_wr() as writer:
        writer.open(0, "test", "t", "k,v")
        assert writer.request(0, "+", 2, 3, "x") == [
            "1",
            "1",
            "Writes through this door are not supported on a Galera node",
        ]
        assert writer.request(0, "=", 1, 2, 1, 0, "D")[0] == "1"
    assert node.query("SELECT k FROM t ORDER BY k", database="test") == [(1,), (2,)]
