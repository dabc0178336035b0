"""The memcached door end to end: commands, SQL and the door on the same rows, expiry, large values, hostile bytes."""
import contextlib
import os
import socket
import struct
import threading
import time

import pytest
from support.clients import mc
from support.clients.mc import binary, map_table, until_mapped
from support.server import sandbox
from support.waiting import until


@pytest.fixture(scope="module")
def door(module_factory):
    """One server with the script's example, for all tests of this module."""
    server = module_factory(containers=True)
    until_mapped(server, "aaa")
    yield server
    server.assert_alive()


@pytest.fixture
def table(door):
    """A new table of the example's shape, mapped; returns its name, which is also the container's."""
    name = f"t{time.monotonic_ns()}"
    door.execute(
        f"CREATE TABLE test.{name} (k VARCHAR(250) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY, v LONGBLOB, "
        "flags INT UNSIGNED, cas BIGINT UNSIGNED, expire_time BIGINT)"
    )
    map_table(door, name, "test", name, "k", "v")
    yield name
    door.execute(f"CALL postern.unmap_table('{name}')", f"DROP TABLE test.{name}")


@pytest.fixture
def one(door, table):
    with door.mc() as connection:
        assert connection.get(f"@@{table}") == f"test/{table}".encode()
        yield connection


def row(door, table, key):
    rows = door.query(f"SELECT v, flags, cas, expire_time FROM test.{table} WHERE k = %s", (key,))
    return rows[0] if rows else None


def test_the_example(door):
    with door.mc() as example:
        assert example.get("AA") == b"HELLO, HELLO"
        assert example.gets("AA") == (8, b"HELLO, HELLO", 0)
        assert example.set("BB", "GOODBYE, GOODBYE", flags=10) == "STORED"
        assert door.query("SELECT c2, c3, c5 FROM test.demo_test WHERE c1 = 'BB'") == [("GOODBYE, GOODBYE", 10, 0)]
        assert example.ask("delete BB") == "DELETED"


def test_the_script_can_be_run_again(door):
    door.execute("UPDATE innodb_memcache.config_options SET value = ':' WHERE name = 'separator'")
    try:
        sandbox("start", door.dir, "--containers")
        assert door.query("SELECT value FROM innodb_memcache.config_options WHERE name = 'separator'") == [(":",)]
        assert door.query("SELECT COUNT(*) FROM innodb_memcache.containers WHERE name = 'aaa'") == [(1,)]
    finally:
        door.execute("UPDATE innodb_memcache.config_options SET value = '|' WHERE name = 'separator'")


def test_commands(door, table, one):
    assert one.set("k", "hello", flags=5) == "STORED"
    value, flags, cas, expiry = row(door, table, "k")
    assert (value, flags, expiry) == (b"hello", 5, 0) and cas > 0
    assert one.gets("k") == (5, b"hello", cas)
    assert one.get("k", "nothing", "k") == {"k": b"hello"}
    assert [one.store("add", "k", 1), one.store("add", "n", 5)] == ["NOT_STORED", "STORED"]
    assert [one.ask("incr n 7"), one.ask("decr n 2"), one.ask("decr n 99"), one.ask("incr z 1")] == [
        "12",
        "10",
        "0",
        "NOT_FOUND",
    ]
    assert one.ask("incr k 1") == "CLIENT_ERROR cannot increment or decrement non-numeric value"
    assert [one.store("append", "k", ">"), one.store("prepend", "k", "<"), one.store("append", "z", ">")] == [
        "STORED",
        "STORED",
        "NOT_STORED",
    ]
    assert one.gets("k")[:2] == (5, b"<hello>")
    assert [one.store("replace", "k", 1), one.store("replace", "z", 1)] == ["STORED", "NOT_STORED"]
    assert [one.ask("touch k 1000"), one.ask("touch z 1")] == ["TOUCHED", "NOT_FOUND"]
    assert row(door, table, "k")[3] > time.time() + 900
    assert one.get("0", "k", "z", command="gat") == {"k": b"1"}
    assert row(door, table, "k")[3] == 0
    assert [one.ask("delete k"), one.ask("delete k")] == ["DELETED", "NOT_FOUND"]
    assert one.ask("flush_all") == "OK"
    assert door.query(f"SELECT COUNT(*) FROM test.{table}") == [(0,)]
    assert one.ask("nonsense") == "ERROR"
    assert one.ask("version").startswith("VERSION 1.")


def test_pipelined_writes_and_reads_keep_their_order(one):
    commands = b"".join(b"set k 0 0 %d\r\n%d\r\nget k\r\n" % (len(str(i)), i) for i in range(1000))
    one.send(commands)
    for i in range(1000):
        assert one.line() == b"STORED"
        assert one.items() == [("k", 0, str(i).encode(), None)]


def test_a_get_of_thousands_of_keys(one):
    one.send(b"".join(b"set k%d 0 0 4 noreply\r\nabcd\r\n" % i for i in range(0, 3000, 2)))
    found = one.get(*(f"k{i}" for i in range(3000)))
    assert found == {f"k{i}": b"abcd" for i in range(0, 3000, 2)}


def test_binary_commands(door, table):
    with door.mc() as one:
        key = f"@@{table}.k".encode()
        one.send(binary(0x01, key, b"value", struct.pack(">II", 3, 0)))
        opcode, status, _, opaque, cas = one.binary_answer()
        assert (opcode, status, opaque) == (1, 0, 7) and cas == row(door, table, "k")[2]
        one.send(binary(0x00, b"k") + binary(0x00, b"z") + binary(0x09, b"z") + binary(0x0A))
        assert one.binary_answer()[1:3] == (0, b"value")
        assert one.binary_answer()[1] == 1
        assert one.binary_answer()[0] == 0x0A, "a quiet miss is silent"
        one.send(binary(0x05, b"n", extras=struct.pack(">QQI", 1, 10, 0)) * 2)
        assert [struct.unpack(">Q", one.binary_answer()[2]) for _ in range(2)] == [(10,), (11,)]
        one.send(binary(0x05, b"m", extras=struct.pack(">QQI", 1, 10, 0xFFFFFFFF)))
        assert one.binary_answer()[1] == 1
        one.send(binary(0x01, b"k", b"new", struct.pack(">II", 0, 0), cas=cas + 1))
        assert one.binary_answer()[1] == 2
        one.send(binary(0x01, b"k", b"new", struct.pack(">II", 0, 0), cas=cas))
        assert one.binary_answer()[1] == 0
        one.send(binary(0x04, b"k") + binary(0x07))
        assert [one.binary_answer()[:2] for _ in range(2)] == [(4, 0), (7, 0)]
        assert one.closed_by_server()


def test_sql_and_the_door_see_each_other(door, table, one):
    door.execute(f"INSERT INTO test.{table} VALUES ('s', 'by SQL', 3, 41, 0)")
    assert one.gets("s") == (3, b"by SQL", 41)
    door.execute(f"UPDATE test.{table} SET v = 'changed', cas = cas + 1 WHERE k = 's'")
    assert one.store("cas", "s", "x", tail=" 41") == "EXISTS"
    assert one.store("cas", "s", "x", tail=" 42") == "STORED"
    door.execute(f"DELETE FROM test.{table} WHERE k = 's'")
    assert one.get("s") is None
    door.execute(f"INSERT INTO test.{table} (k, v) VALUES ('nulls', '5')")
    assert one.gets("nulls") == (0, b"5", 0)
    assert one.store("cas", "nulls", "6", tail=" 0") == "STORED"
    assert one.ask("incr nulls 1") == "7"
    assert row(door, table, "nulls")[0] == b"7"


def test_what_sql_has_not_committed_is_not_seen_and_waited_for(door, table, one):
    one.set("k", 1)
    with contextlib.closing(door.connect()) as sql, sql.cursor() as cursor:
        sql.begin()
        cursor.execute(f"UPDATE test.{table} SET v = '100' WHERE k = 'k'")
        assert one.get("k") == b"1"
        one.send(b"incr k 1\r\n")
        with door.mc() as other:
            assert other.get(f"@@{table}.k") == b"1"
        sql.commit()
        assert one.line() == b"101"


def test_increments_from_everywhere_add_up(door, table, one):
    clients, each, sql_each = 6, 300, 150
    one.set("n", 0)
    problems = []

    def count(number):
        try:
            with door.mc(timeout=60) as other:
                for i in range(each // 10):
                    other.send(f"incr @@{table}.n 1\r\n".encode() * 10)
                    for _ in range(10):
                        assert other.line().isdigit()
        except Exception as problem:  # the main thread reports it
            problems.append((number, problem))

    def count_in_sql():
        with contextlib.closing(door.connect()) as sql, sql.cursor() as cursor:
            for _ in range(sql_each):
                cursor.execute(f"UPDATE test.{table} SET v = v + 1 WHERE k = 'n'")

    threads = [threading.Thread(target=count, args=(i,)) for i in range(clients)]
    threads.append(threading.Thread(target=count_in_sql))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert int(one.get("n")) == clients * each + sql_each


def test_adds_of_one_key_at_once_store_one(door, table):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(door.mc()) for _ in range(20)]
        for round_number in range(20):
            for number, other in enumerate(clients):
                other.send(f"add @@{table}.r{round_number} 0 0 2\r\n{number:02}\r\n".encode())
            told = [other.line() for other in clients]
            assert sorted(told) == [b"NOT_STORED"] * 19 + [b"STORED"]
            assert int(row(door, table, f"r{round_number}")[0]) == told.index(b"STORED")


def test_expiry(door, table, one):
    door.execute(f"INSERT INTO test.{table} VALUES ('old1', 'x', 0, 0, 1), ('old2', 'x', 0, 0, 1)")
    assert one.get("old1", "old2") == {}
    assert one.store("add", "old2", "new") == "STORED"
    until(lambda: one.get("old2") == b"new" and row(door, table, "old1") is None)
    assert one.set("k", 1, expiry=1) == "STORED"
    assert one.get("k") == b"1"
    until(lambda: one.get("k") is None)
    assert one.set("k", 1, expiry=-1) == "STORED"
    assert one.get("k") is None
    assert one.store("replace", "k", 1) == "NOT_STORED"


def test_large_and_binary_safe_values(door, table, one):
    door.execute("SET GLOBAL max_allowed_packet = 268435456")
    everything = bytes(range(256)) * 4
    assert one.set("bytes", everything) == "STORED"
    assert one.get("bytes") == everything
    assert row(door, table, "bytes")[0] == everything
    large = os.urandom(1 << 20) * 5
    assert one.set("large", large) == "STORED"
    assert one.get("large") == large
    assert one.get("bytes", "large", "bytes") == {"bytes": everything, "large": large}
    assert one.store("append", "large", b"end") == "STORED"
    assert one.get("large") == large + b"end"
    assert one.get("60", "large", command="gat") == {"large": large + b"end"}


def test_a_value_of_64_mib(door, table):
    door.execute("SET GLOBAL max_allowed_packet = 268435456", "SET GLOBAL innodb_log_file_size = 402653184")
    value = os.urandom(1 << 20) * 64
    with door.mc(timeout=120) as one:
        assert one.set(f"@@{table}.huge", value) == "STORED"
        assert one.get("huge") == value
        one.send(b"set huge 0 0 67108865\r\n")
        assert one.line() == b"SERVER_ERROR object too large for cache"


def test_a_set_that_is_too_large_leaves_no_older_item(door, table):
    key = f"@@{table}.old".encode()
    packet = bytearray(binary(1, key, extras=bytes(8)))
    packet[8:12] = (len(key) + 8 + 67108865).to_bytes(4, "big")
    commands = {
        b"set %b 0 0 67108865\r\n" % key: None,
        b"ms %b 67108865\r\n" % key: None,
        bytes(packet): None,
        b"add %b 0 0 67108865\r\n" % key: b"older",
        b"append %b 0 0 67108865\r\n" % key: b"older",
    }
    for command, left in commands.items():
        with door.mc() as one, door.mc() as writer:
            assert one.set(key.decode(), "older") == "STORED"
            writer.send(command)
            assert b"oo large" in (writer.take(34) if command[:1] == b"\x80" else writer.line())
            assert one.get("old") == left, command


def test_what_does_not_fit_is_refused_in_words(door):
    door.execute(
        "CREATE OR REPLACE TABLE test.small (id TINYINT UNSIGNED PRIMARY KEY, v VARCHAR(3), n TINYINT UNSIGNED)"
    )
    map_table(door, "small", "test", "small", "id", "n")
    with door.mc() as one:
        assert one.set("@@small.7", 200) == "STORED"
        assert one.ask("incr 7 55") == "255"
        assert one.ask("incr 7 1").startswith("CLIENT_ERROR Out of range")
        assert one.set("7", "x").startswith("CLIENT_ERROR")
        assert one.set("300", "1").startswith("CLIENT_ERROR Out of range")
        assert one.get("300") is None and one.get("x") is None
        assert one.get("7") == b"255"


def test_ddl_is_not_blocked_and_noticed(door, table, one):
    one.set("k", "v")
    for _ in range(3):
        assert one.get("k") == b"v"
        begin = time.monotonic()
        door.execute(f"ALTER TABLE test.{table} FORCE")
        assert time.monotonic() - begin < 5
    door.execute(f"ALTER TABLE test.{table} ADD COLUMN more INT FIRST")
    assert one.get("k") == b"v"
    door.execute(f"ALTER TABLE test.{table} CHANGE v w LONGBLOB")
    with pytest.raises(mc.ServerSays, match="SERVER_ERROR.*'v'"):
        one.get("k")
    door.execute(f"ALTER TABLE test.{table} CHANGE w v LONGBLOB")
    assert one.get("k") == b"v"
    door.execute(f"TRUNCATE TABLE test.{table}")
    assert one.get("k") is None


HOSTILE = [
    b"\r\n",
    b"get\r\n",
    b"get " + b"k" * 251 + b"\r\n",
    b"set k 0 0 -1\r\n",
    b"set k 0 0 99999999999999999999\r\n",
    b"set k 0 0 3\r\nabcdef\r\n",
    b"set k x y z\r\n",
    b"incr k\r\n",
    b"incr k -1\r\n",
    b"\x00" * 100 + b"\r\n",
    b"get @@\r\n",
    b"get @@.\r\n",
    b"set @@. 0 0 1\r\n1\r\n",
    b"get " + b"a " * 5000 + b"\r\n",
    b"x" * 5000 + b"\r\n",
    b"flush_all 99999\r\n",
    b"mg\r\n",
    b"mg k " + b"z" * 200 + b"\r\n",
    b"ms k S3\r\n",
    b"me \r\n",
    b"verbosity\r\n",
    b"stats nonsense\r\n",
    b"\x80\xff" + b"\xff" * 22,
    b"\x80\x00\x00\x01" + b"\x00" * 20,
    b"\x16\x03\x01\x00\x05hello",
    b"\xff" * 1000,
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_bytes_do_no_harm(door, number):
    with door.mc(timeout=5) as one:
        one.send(HOSTILE[number])
        with contextlib.suppress(OSError):
            one.socket.shutdown(socket.SHUT_WR)
            while one.socket.recv(65536):
                pass
    with door.mc() as other:
        assert other.ask("version").startswith("VERSION")


def test_half_a_value_and_gone(door, table):
    for _ in range(50):
        with door.mc() as one:
            one.send(f"set @@{table}.k 0 0 1000000\r\n".encode() + b"x" * 5000)
    with door.mc() as one:
        assert one.get(f"@@{table}.k") is None


def test_statistics_and_status(door, table, one):
    before = door.status("memcached%")
    one.set("k", 1)
    one.get("k", "z")
    stats = one.stats()
    assert (
        stats["version"].startswith("1.6") and int(stats["threads"]) > 0 and int(stats["pid"]) == int(door.env["PID"])
    )
    after = door.status("memcached%")
    assert after["memcached_get_hits"] == before["memcached_get_hits"] + 1
    assert after["memcached_get_misses"] == before["memcached_get_misses"] + 1
    assert after["memcached_cmd_set"] == before["memcached_cmd_set"] + 1
    assert after["memcached_requests_find"] > before["memcached_requests_find"]
    assert "item_size_max" in one.stats("settings")
    for which in ("items", "slabs", "sizes", "conns"):
        one.stats(which)


def test_over_the_unix_socket(door, table):
    with mc.Client(door.env["MEMC_SOCKET"]) as one:
        assert one.set(f"@@{table}.k", "v") == "STORED"
        assert one.get("k") == b"v"
