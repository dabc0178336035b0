"""Several MySQL 9.7 servers: replicas, also semi-synchronous ones, clones and Group Replication get the writes of all
doors."""
import contextlib
import socket
import subprocess
import threading
import time
import uuid

import pymysql
import pytest

from support.clients import mc, resp
from support.clients.mysql import Mysql, build, marks
from support.server import ROOT
from support.waiting import until

pytestmark = marks

GTIDS = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog"]
TABLES = [
    "CREATE DATABASE test",
    "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, j JSON)",
    "CREATE TABLE test.items (k VARCHAR(250) PRIMARY KEY, v MEDIUMBLOB, f INT, c BIGINT UNSIGNED, e INT)",
]
CONTAINER = "INSERT INTO innodb_memcache.containers VALUES ('d', 'test', 'items', 'k', 'v', 'f', 'c', 'e', 'PRIMARY')"


@pytest.fixture(scope="module", name="built", autouse=True)
def built_for_mysql():
    build()


@pytest.fixture(name="server")
def make_server(tmp_path):
    with contextlib.ExitStack() as stack:

        def make(name, *options, number=1, tables=False):
            server = Mysql(tmp_path / name)
            stack.callback(server.run, "stop")
            server.start(*GTIDS, f"--server-id={number}", *options)
            if tables:
                server.query(*TABLES)
                for script in ("innodb_memcache", "redis"):
                    command = [ROOT / "tools/mysql", "script", ROOT / f"sql/{script}.sql"]
                    text = subprocess.run(command, capture_output=True, check=True).stdout
                    subprocess.run([ROOT / "tools/mysql", "sql", server.dir], input=text, check=True)
                server.query(CONTAINER)
                wait_for_doors(server)
            return server

        yield make


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


def wait_for_doors(server):
    until(lambda: all(mc.listens(server.env[port]) for port in ("REDIS_PORT", "MEMCACHED_PORT")))


def follow(replica, source):
    source.query(
        "CREATE USER IF NOT EXISTS r@localhost IDENTIFIED BY 'r'", "GRANT REPLICATION SLAVE ON *.* TO r@localhost"
    )
    replica.query(
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='localhost', SOURCE_PORT={source.env['SQL_PORT']}, "
        "SOURCE_USER='r', SOURCE_PASSWORD='r', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1",
        "START REPLICA",
    )


def write_through_all_doors(server, word):
    with server.write_door() as hs:
        hs.open(0, "test", "t", "a,j")
        assert all(
            reply[:2] == ["0", "1"] for reply in hs.pipeline(*[(0, "+", 2, n, f'["{word}"]') for n in range(20)])
        )
    with mc.Client(int(server.env["MEMCACHED_PORT"])) as client:
        client.send(f"set {word} 0 0 5\r\nvalue\r\n".encode())
        assert client.line() == b"STORED"
    with resp.Client(server.env["REDIS_PORT"]) as redis:
        assert redis.ask("SET", f"k:{word}", word) == "OK"
        assert redis.ask("HSET", f"h:{word}", "f", word) == 1
        assert redis.ask("RPUSH", f"l:{word}", "a", "b") == 2


READ = [
    "SELECT * FROM test.t ORDER BY id",
    "SELECT * FROM test.items ORDER BY k",
    *(f"SELECT * FROM postern_redis.{name} ORDER BY 1, 2" for name in ("entries", "hashes", "lists")),
]


def everything(server):
    return [server.query(statement) for statement in READ]


def wait_for(server, source):
    executed = source.query("SELECT @@GLOBAL.gtid_executed")[0][0]
    assert server.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60)") == ((0,),)


def test_a_replica_follows_every_door(server):
    source, replica = server("source", tables=True), server("replica", number=2)
    follow(replica, source)
    write_through_all_doors(source, "one")
    wait_for(replica, source)
    assert everything(replica) == everything(source)
    assert len(everything(source)[0]) == 20
    # Its doors read the replicated rows.
    wait_for_doors(replica)
    with resp.Client(replica.env["REDIS_PORT"]) as redis:
        assert redis.ask("GET", "k:one") == b"one"


def test_a_semi_synchronous_commit_waits_for_its_replica(server):
    source = server("source", "--plugin-load-add=semisync_source.so", tables=True)
    replica = server("replica", "--plugin-load-add=semisync_replica.so", number=2)
    replica.query("SET GLOBAL rpl_semi_sync_replica_enabled = ON")
    follow(replica, source)
    source.query(
        "SET GLOBAL rpl_semi_sync_source_timeout = 3600000",
        "SET GLOBAL rpl_semi_sync_source_enabled = ON",
    )
    connected = "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = '{}'"
    until(lambda: source.query(connected.format("Rpl_semi_sync_source_clients")) == (("1",),), 30)
    write_through_all_doors(source, "one")
    assert int(source.query(connected.format("Rpl_semi_sync_source_yes_tx"))[0][0]) > 0
    assert source.query(connected.format("Rpl_semi_sync_source_no_tx")) == (("0",),)
    replica.query("STOP REPLICA IO_THREAD")
    answered = threading.Event()

    def write():
        with source.write_door() as hs:
            hs.open(0, "test", "t", "a")
            assert hs.request(0, "+", 1, 777)[:2] == ["0", "1"]
            answered.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        waiting = (
            "SELECT variable_value FROM performance_schema.global_status WHERE variable_name LIKE '%wait_sessions'"
        )
        until(lambda: source.query(waiting) == (("1",),), 30)
        assert not answered.is_set(), "no replica has it"
        with source.door() as hs:  # readers continue meanwhile
            hs.open(0, "test", "t", "a")
            assert hs.request(0, "=", 1, 1) == ["0", "1", "0"]
    finally:
        replica.query("START REPLICA IO_THREAD")
        writer.join()
    assert answered.is_set()
    wait_for(replica, source)
    assert everything(replica) == everything(source)


def test_a_clone_is_taken_while_clients_write(server):
    source = server("source", "--plugin-load-add=mysql_clone.so", tables=True)
    other = server("other", "--plugin-load-add=mysql_clone.so", number=2)
    stop, acknowledged = threading.Event(), []

    def write():
        with source.write_door() as hs:
            hs.open(0, "test", "t", "a")
            while not stop.is_set():
                reply = hs.request(0, "+", 1, len(acknowledged))
                assert reply[:2] == ["0", "1"]
                acknowledged.append(int(reply[2]))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        until(lambda: len(acknowledged) > 100)
        before = len(acknowledged)
        source.query(
            "CREATE USER c@localhost IDENTIFIED BY 'c' REQUIRE SSL", "GRANT BACKUP_ADMIN ON *.* TO c@localhost"
        )
        port = source.env["SQL_PORT"]
        other.query(f"SET GLOBAL clone_valid_donor_list = 'localhost:{port}'")
        with pytest.raises(pymysql.Error, match="Restart server failed"):  # there is no supervisor to restart it
            other.query(f"CLONE INSTANCE FROM c@localhost:{port} IDENTIFIED BY 'c'")
        until(lambda: len(acknowledged) > before)
    finally:
        stop.set()
        writer.join()
    until(lambda: not mc.listens(other.env["SQL_PORT"]), 60)
    other.start(*GTIDS, "--server-id=2", "--plugin-load-add=mysql_clone.so")
    ids = {row[0] for row in other.query("SELECT id FROM test.t")}
    assert set(acknowledged[:before]) <= ids, "what was acknowledged before is in the clone"
    follow(other, source)
    wait_for(other, source)
    assert everything(other) == everything(source)


# --- Group Replication -----------------------------------------------------------------------------------------------


@pytest.fixture(name="group")
def three_nodes(server):
    ports = free_ports(3)
    name = uuid.uuid4()
    nodes = []
    for number, port in enumerate(ports, 1):
        node = server(
            f"node{number}",
            "--plugin-load-add=group_replication.so",
            "--report-host=127.0.0.1",
            f"--loose-group-replication-group-name={name}",
            f"--loose-group-replication-local-address=127.0.0.1:{port}",
            "--loose-group-replication-group-seeds=" + ",".join(f"127.0.0.1:{one}" for one in ports),
            "--loose-group-replication-start-on-boot=OFF",
            "--loose-group-replication-single-primary-mode=OFF",
            "--loose-group-replication-enforce-update-everywhere-checks=ON",
            "--loose-group-replication-recovery-get-public-key=ON",
            number=number,
        )
        node.query(
            "SET sql_log_bin = 0",
            "CREATE USER r@'%' IDENTIFIED BY 'r'",
            "GRANT REPLICATION SLAVE, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO r@'%'",
        )
        node.query(
            "CHANGE REPLICATION SOURCE TO SOURCE_USER='r', SOURCE_PASSWORD='r' FOR CHANNEL 'group_replication_recovery'",
            *(["SET GLOBAL group_replication_bootstrap_group = ON"] if number == 1 else []),
            "START GROUP_REPLICATION",
            "SET GLOBAL group_replication_bootstrap_group = OFF",
        )
        nodes.append(node)
    online = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'"
    until(lambda: all(node.query(online) == ((3,),) for node in nodes), 120)
    nodes[0].query("CREATE DATABASE test", "CREATE TABLE test.t (id INT PRIMARY KEY, v INT)")
    for node in nodes[1:]:
        wait_for(node, nodes[0])
    yield nodes
    for node in nodes:
        node.query("STOP GROUP_REPLICATION")


def test_a_group_certifies_the_writes_of_doors(group):
    keys, counted = 10, [0, 0, 0]

    def count_up(which):
        with group[which].write_door() as hs:
            hs.open(0, "test", "t", "v")
            end = time.monotonic() + 5
            number = which
            while time.monotonic() < end:
                number += 1
                if hs.request(0, "=", 1, number % keys, 1, 0, "+", 1) == ["0", "1", "1"]:
                    counted[which] += 1

    with group[0].write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        assert all(reply == ["0", "1"] for reply in hs.pipeline(*[(0, "+", 2, key, 0) for key in range(keys)]))
    for node in group[1:]:
        wait_for(node, group[0])
    threads = [threading.Thread(target=count_up, args=(which,)) for which in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for node in group:
        for other in group:
            wait_for(node, other)
    rows = [node.query("SELECT * FROM test.t ORDER BY id") for node in group]
    assert rows[0] == rows[1] == rows[2]
    # Every acknowledged write was applied, once: a write that conflicted with another node's was retried or refused.
    assert sum(value for _, value in rows[0]) == sum(counted)
    assert min(counted) > 0
    state = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'"
    assert group[0].query(state) == ((3,),)


def test_a_node_that_has_left_its_group_takes_no_writes(group):
    group[2].query("STOP GROUP_REPLICATION")
    with group[2].write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        reply = hs.request(0, "+", 2, 5000, 1)
        assert reply[0] != "0", reply
        assert hs.request(0, "=", 1, 5000) == ["0", "2"]
    group[2].query("START GROUP_REPLICATION")
    wait_for(group[2], group[0])

    def writes():
        with group[2].write_door() as hs:
            hs.open(0, "test", "t", "id,v")
            return hs.request(0, "+", 2, 5000, 1) == ["0", "1"]

    until(writes, 30)
    wait_for(group[0], group[2])
    assert group[0].query("SELECT v FROM test.t WHERE id = 5000") == ((1,),)
