"""Replicas that lag, or filter: doors read the rows that exist, and a GTID position says when rows have arrived."""
import contextlib

import pymysql
import pytest
from support.replica import catch_up, follow
from support.server import Server
from support.waiting import until

HOURS = 3600


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A primary and a replica, with all doors."""
    servers = [Server(tmp_path_factory.mktemp(name) / "s") for name in ("primary", "replica")]
    try:
        for number, server in enumerate(servers, 1):
            options = [f"--server-id={number}", "--log-bin", "--log-slave-updates", "--gtid-strict-mode=ON"]
            if number == 1:
                server.start(*options, containers=True, redis=True, postern_port=0)
            else:
                server.start(*options, "--read-only=ON", postern_port=0)
        primary, replica = servers
        follow(primary, replica)
        primary.execute(
            "CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(20))",
            "CREATE TABLE hidden (k INT PRIMARY KEY, v VARCHAR(20))",
            "CREATE USER reader@'%'",
            "GRANT SELECT ON test.* TO reader@'%'",
            database="test",
        )
        catch_up(primary, replica)
        for name in ("memcached_listening", "redis_listening"):  # the primary's tables were replicated
            until(lambda name=name: replica.status(name)[name] == "ON", seconds=30)
        yield primary, replica
        for server in servers:
            server.assert_alive()
    finally:
        for server in servers:
            server.kill()


@contextlib.contextmanager
def following(replica, change, back):
    """Other writes reach the replica meanwhile."""
    replica.execute("STOP SLAVE", change, "START SLAVE")
    yield
    replica.execute("STOP SLAVE", back, "START SLAVE")


def write(server, key, value):
    """Writes through four doors: a row, two items, and a row by SQL."""
    with server.hs_wr() as hs, server.mc() as mc, server.resp() as redis:
        hs.open(0, "test", "t", "k,v")
        assert hs.request(0, "U", 2, key, value) in (["0", "1", "0"], ["0", "1", "1"], ["0", "1", "2"])
        assert mc.set(f"item{key}", value) == "STORED"
        assert redis.ask("SET", f"item{key}", value) == "OK"
    with sql_door(server, "root") as cursor:
        cursor.execute("REPLACE INTO test.t VALUES (%s, %s)", (key + 1000, value))
    return server.query("SELECT @@gtid_binlog_pos")[0][0]


@contextlib.contextmanager
def sql_door(server, user):
    with contextlib.closing(
        pymysql.connect(host="127.0.0.1", port=int(server.env["POSTERN_PORT"]), user=user, autocommit=True)
    ) as connection:
        yield connection.cursor()


def read(server, key):
    with server.hs() as hs, server.mc() as mc, server.resp() as redis, sql_door(server, "reader") as cursor:
        hs.open(0, "test", "t", "k,v")
        row = hs.request(0, "=", 1, key)
        cursor.execute("SELECT v FROM test.t WHERE k = %s", (key + 1000,))
        found = cursor.fetchall()
        return [
            row[3].encode() if len(row) > 2 else None,
            mc.get(f"item{key}"),
            redis.ask("GET", f"item{key}"),
            found[0][0].encode() if found else None,
        ]


def wait_for(replica, position, seconds):
    """Waits for a position by the SQL door; the session waits on a thread of its own and blocks no worker."""
    with sql_door(replica, "reader") as cursor:
        cursor.execute("SELECT MASTER_GTID_WAIT(%s, %s)", (position, seconds))
        return cursor.fetchone()[0]


def test_a_delayed_replica_reads_the_rows_it_has(pair):
    primary, replica = pair
    assert wait_for(replica, write(primary, 1, "first"), 60) == 0
    assert read(replica, 1) == [b"first"] * 4
    with following(replica, f"CHANGE MASTER TO master_delay = {HOURS}", "CHANGE MASTER TO master_delay = 0"):
        position = write(primary, 1, "second")
        write(primary, 2, "new")
        received = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting until MASTER_DELAY%'"
        until(lambda: replica.query(received) == [(1,)], seconds=30)
        assert wait_for(replica, position, 0.2) == -1  # the event was received, but not applied
        assert read(replica, 1) == [b"first"] * 4
        assert read(replica, 2) == [None] * 4
        assert read(primary, 1) == [b"second"] * 4
    assert wait_for(replica, position, 60) == 0
    catch_up(primary, replica)
    assert read(replica, 1) == [b"second"] * 4 and read(replica, 2) == [b"new"] * 4


def test_the_rest_of_a_filtered_group_is_there(pair):
    """Requests of one turn are one transaction with one position, even if a replica filters some of them."""
    primary, replica = pair
    with following(
        replica, "SET GLOBAL replicate_ignore_table = 'test.hidden'", "SET GLOBAL replicate_ignore_table = ''"
    ):
        with primary.hs_wr() as hs:
            hs.open(0, "test", "t", "k,v")
            hs.open(1, "test", "hidden", "k,v")
            for number in range(10, 30):  # one write to each table in a packet
                hs.send(b"0\t+\t2\t%d\tshown\n1\t+\t2\t%d\tnot\n" % (number, number))
                assert hs.lines(2) == [b"0\t1", b"0\t1"]
        position = primary.query("SELECT @@gtid_binlog_pos")[0][0]
        assert wait_for(replica, position, 60) == 0
        with replica.hs() as hs:
            hs.open(0, "test", "t", "k,v")
            hs.open(1, "test", "hidden", "k,v")
            for number in (10, 29):
                assert hs.request(0, "=", 1, number) == ["0", "2", str(number), "shown"]
                assert hs.request(1, "=", 1, number) == ["0", "2"]


def test_items_of_a_database_that_is_filtered_are_missed(pair):
    """The Redis door's keyspace is an ordinary database: a replica without it has no keys, while the others have
    all."""
    primary, replica = pair
    with following(replica, "SET GLOBAL replicate_ignore_db = 'postern_redis'", "SET GLOBAL replicate_ignore_db = ''"):
        assert wait_for(replica, write(primary, 50, "x"), 60) == 0
        assert read(replica, 50) == [b"x", b"x", None, b"x"]
