"""Status variables and other server tools show the work of the doors."""
import contextlib
import time

import pymysql
import pytest
from support.clients import resp, sql_wire
from support.waiting import until


@pytest.fixture
def own(sandbox_factory):
    server = sandbox_factory("--handlersocket-threads=2", "--handlersocket-plain-secret-wr=hush")
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w INT)",
        "INSERT INTO t SELECT seq, 'v', seq FROM seq_1_to_1000",
        database="test",
    )
    return server


def moved(server, before):
    after = server.status("handlersocket%")
    return {
        name[len("handlersocket_") :]: value - before[name] for name, value in after.items() if value != before[name]
    }


def test_counters_move_by_the_work_done(own):
    with own.hs() as client:
        before = own.status("handlersocket%")
        client.open(0, "test", "t", "id,v", filters="w")
        for key in range(1, 11):
            assert client.request(0, "=", 1, key) == ["0", "2", str(key), "v"]
        assert client.request(0, ">=", 1, 1, 100, 0, "F", "<", 0, 51)[:2] == ["0", "2"]
        assert client.request(7, "=", 1, 1) == ["2", "1", "stmtnum"]
        assert client.request("what") == ["2", "1", "cmd"]
        assert client.request("P", 0, "test", "absent", "PRIMARY", "id") == ["1", "1", "open_table"]
        # The engine's work is counted before the reply is sent; the reply itself is counted only afterwards.
        until(lambda: moved(own, before)["sends"] == 15)
        counts = moved(own, before)
    assert counts["requests_open"] == 2
    assert counts["requests_find"] == 11
    assert counts["requests_other"] == 2
    assert counts["requests_failed"] == 3
    assert counts["rows_sent"] == 60
    assert counts["rows_examined"] == 1010
    assert counts["errors_not_open"] == counts["errors_unknown_command"] == counts["errors_no_table"] == 1
    assert counts["batches"] == 15
    assert counts["receives"] == counts["sends"] == 15
    assert counts["bytes_received"] > 100 and counts["bytes_sent"] > 100
    assert counts["table_locks"] == counts["hs_table_lock"]


def test_connections_now_and_peak(own):
    clients = [own.hs() for _ in range(5)]
    for client in clients:
        client.request("x")
    assert own.status("handlersocket_connections")["handlersocket_connections"] == 5
    for client in clients:
        client.close()

    def are_closed():
        status = own.status("handlersocket_connections%")
        return (
            status["handlersocket_connections"] == 0
            and status["handlersocket_connections_accepted"] == status["handlersocket_connections_closed"]
        )

    until(are_closed)
    assert own.status("handlersocket_connections_peak")["handlersocket_connections_peak"] >= 5


def test_the_servers_own_counters_move(own):
    """The 2010 article watched Innodb_rows_read, which MariaDB 10.11 has removed; these are its successors."""
    with own.hs() as client:
        client.open(0, "test", "t", "id")
        client.request(0, "=", 1, 1)
        names = "Rows_read", "Handler_read_key", "Innodb_buffer_pool_read_requests"
        before = {name: own.status(name)[name.lower()] for name in names}
        client.pipeline(*[(0, "=", 1, key) for key in range(1, 501)])
        for name in names[:2]:
            assert 500 <= own.status(name)[name.lower()] - before[name] <= 520, name
        assert own.status(names[2])[names[2].lower()] > before[names[2]]


def test_the_process_list_shows_the_threads(own):
    with own.hs() as client:
        client.open(0, "test", "t", "id")

        def states():
            return "\n".join(
                state
                for (state,) in own.query("SELECT state FROM information_schema.processlist WHERE user = 'postern'")
            )

        until(lambda: "1 connection" in states())
        text = states()
        for part in ("handlersocket read worker 1", "handlersocket write worker 1", "1 connection"):
            assert part in text


def test_ddl_yields_are_counted(own):
    with own.hs() as client, contextlib.closing(own.connect(database="test")) as connection:
        client.open(0, "test", "t", "id")
        deadline = time.monotonic() + 20
        while not own.status("handlersocket_ddl_yields")["handlersocket_ddl_yields"] and time.monotonic() < deadline:
            client.send(b"0\t=\t1\t7\n" * 20000)
            connection.cursor().execute("ALTER TABLE t COMMENT 'x'")
            client.lines(20000)
        assert own.status("handlersocket_ddl_yields")["handlersocket_ddl_yields"] > 0


def test_secrets_are_shown_nowhere(own):
    assert "hush" not in str(own.query("SHOW GLOBAL VARIABLES"))
    assert "hush" not in str(own.query("SHOW GLOBAL STATUS"))
    assert own.variable("handlersocket_port_wr") == own.env["HS_PORT_WR"]
    with own.hs_wr() as client:
        assert client.request(0, "=", 1, 1) == ["3", "1", "unauth"]
        assert client.request("A", 1, "hush") == ["0", "1"]
        client.open(0, "test", "t", "id")
    assert "hush" not in own.log()


def test_latencies_by_kind_of_request(own):
    """Latencies of answered requests agree with the client's measurement, and there are none before the first
    request."""
    names = [
        f"handlersocket_latency_{kind}_{part}_us"
        for kind in ("find", "insert", "edit")
        for part in ("p50", "p99", "p999")
    ]
    assert [own.status("handlersocket_latency%")[name] for name in names] == [0] * 9
    with own.hs() as client:
        client.open(0, "test", "t", "id,v")
        begin = time.monotonic()
        for key in range(1, 101):
            client.request(0, "=", 1, key)
        took_us = (time.monotonic() - begin) * 1e6
    until(lambda: own.status("handlersocket_latency%")[names[0]] > 0)
    told = own.status("handlersocket_latency%")
    seen_us = (time.monotonic() - begin) * 1e6  # a worker may be interrupted before it reads its clock
    p50, p99, p999 = (told[name] for name in names[:3])
    assert 0 < p50 <= p99 <= p999 <= seen_us * 1.25
    assert p50 <= 2 * 1.25 * took_us / 100  # half of them took at most twice the mean
    assert [told[name] for name in names[3:]] == [0] * 6
    with own.hs_wr() as client:
        client.request("A", 1, "hush")
        client.open(0, "test", "t", "id,v")
        client.request(0, "+", 2, 2001, "x")
        client.request(0, "=", 1, 2001, 1, 0, "U", 2001, "y")
    until(lambda: own.status("handlersocket_latency%")[names[6]] > 0)
    told = own.status("handlersocket_latency%")
    assert told[names[3]] > 0 and told[names[3]] == told[names[5]]


@pytest.fixture
def doors(sandbox_factory):
    server = sandbox_factory(containers=True, redis=True, postern_port=0)
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)", database="test")
    return server


@contextlib.contextmanager
def failed(server, door, count):
    """The number of requests that the door answered with an error meanwhile."""

    def counted():
        name = f"{door}_requests_failed"
        return server.status(name)[name]

    before = counted()
    yield
    until(lambda: counted() - before >= count)
    assert counted() - before == count


def test_errors_are_counted_by_handlersocket(doors):
    with doors.hs_wr() as client, failed(doors, "handlersocket", 4):
        client.open(0, "test", "t", "id,v")
        assert client.request(0, "+", 2, 2, 2) == ["0", "1"]
        for request in ((0, "+", 2, 2, 2), (7, "=", 1, 1), ("what",), (0, "=", 1, 1, 1, 0, "Z", 1, 2)):
            assert client.request(*request)[0] != "0"


def test_errors_are_counted_by_memcached(doors):
    with doors.mc() as client, failed(doors, "memcached", 5):
        for line in ("nosuch", "set", "incr AA x", "incr AA 1", "get " + "k" * 251):
            assert "ERROR" in client.ask(line)
        assert client.ask("get absent") == "END"
        assert client.store("add", "AA", "x") == "NOT_STORED"


REFUSED_BY_REDIS = """
    nosuch|get|set q|lpush q 1|incr q|hget q f|zadd z x m|expire q x|set q 1 nx xx|getrange q x 1|lset l 9 x|exec
    bitcount q 0|hincrby h f x|rename absent q|migrate host 1 q 0 1
"""


def test_errors_are_counted_by_redis(doors):
    refused = REFUSED_BY_REDIS.replace("\n", "|").split("|")
    refused = [words.split() for words in refused if words.strip()]
    with doors.resp() as client, failed(doors, "redis", len(refused) + 2):
        for words in ("set q a", "setnx q 2", "get absent", "rpush l 1 2", "lpop absent", "hset h f 1", "hsetnx h f 2"):
            client.ask(*words.split())
        for words in refused:
            assert client.error(*words)
        client.ask("multi")
        client.ask("incr", "q")
        client.ask("set", "q", "1")
        client.ask("lpush", "q", "1")
        answers = client.ask("exec")
        assert [isinstance(answer, resp.Error) for answer in answers] == [True, False, True]
        told = client.ask("info", "stats")
        assert f"total_error_replies:{len(refused) + 2}" in told.decode()


def test_errors_are_counted_by_the_sql_door(doors):
    with contextlib.closing(sql_wire.door(doors, database="test")) as connection, failed(doors, "postern", 4):
        for statement in ("SELEC 1", "SELECT * FROM absent", "INSERT INTO t VALUES (1, 1)"):
            for _ in range(2 if statement.startswith("INSERT") else 1):
                with pytest.raises(pymysql.err.Error):
                    connection.cursor().execute(statement)
        for _ in range(3):
            connection.cursor().execute("SELECT v FROM t WHERE id = 1")
            connection.cursor().execute("UPDATE t SET v = v + 1 WHERE id = 1")
