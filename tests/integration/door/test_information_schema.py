"""INFORMATION_SCHEMA shows doors, connections, open tables and mappings."""
import contextlib
import re
import socket
import threading

import pytest
from support.server import ROOT
from support.waiting import until

DEF = (ROOT / "src/plugin/information.def").read_text()


@pytest.fixture(scope="module")
def own(module_factory):
    server = module_factory("--handlersocket-threads=2", containers=True, redis=True)
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w INT)",
        "INSERT INTO t SELECT seq, 'v', seq FROM seq_1_to_1000",
        database="test",
    )
    yield server


def rows(server, table, where="1", **connection):
    with contextlib.closing(server.connect(**connection)) as sql, sql.cursor() as cursor:
        cursor.execute(f"SELECT * FROM information_schema.postern_{table} WHERE {where}")
        names = [one[0].lower() for one in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]


def test_the_tables_have_the_columns_that_the_rows_declare(own):
    for table, plugin in re.findall(r'^TABLE\((\w+), "(\w+)"', DEF, re.M):
        declared = [
            (name, kind) for of, name, kind in re.findall(r"^COLUMN\((\w+), (\w+), (\w+)", DEF, re.M) if of == table
        ]
        shown = own.query(
            "SELECT column_name, IF(data_type = 'bigint', 'number', 'text') FROM information_schema.columns"
            " WHERE table_schema = 'information_schema' AND table_name = %s ORDER BY ordinal_position",
            (plugin,),
        )
        assert list(shown) == declared


def test_doors(own):
    doors = {door["door"]: door for door in rows(own, "doors")}
    assert set(doors) == {"handlersocket read", "handlersocket write", "memcached", "redis", "postern"}
    read = doors["handlersocket read"]
    assert (read["plugin"], read["state"], read["address"]) == ("handlersocket", "listening", "127.0.0.1")
    assert str(read["port"]) == own.env["HS_PORT"] and read["threads"] == 2
    with own.hs() as client:
        client.open(0, "test", "t", "id")
        for _ in range(9):
            client.request(0, "=", 1, 1)
        now = next(door for door in rows(own, "doors") if door["door"] == "handlersocket read")
    assert now["requests"] == read["requests"] + 10
    assert now["connections"] == read["connections"] + 1
    assert now["bytes_received"] > read["bytes_received"]


def test_a_connection_is_shown_with_its_work(own):
    with own.hs() as client:
        port = client.socket.getsockname()[1]
        mine = f"host = '127.0.0.1:{port}'"
        until(lambda: rows(own, "connections", mine))
        fresh = rows(own, "connections", mine)[0]
        assert fresh["last_request"] is None and fresh["requests"] == 0 and fresh["tls"] == "NO"
        client.open(0, "test", "t", "id,v")
        client.open(1, "test", "t", "id")
        client.request(0, "=", 1, 7)
        until(lambda: rows(own, "connections", mine)[0]["state"] == "idle")
        shown = rows(own, "connections", mine)[0]
        assert (shown["door"], shown["plugin"]) == ("handlersocket read", "handlersocket")
        assert (shown["last_request"], shown["requests"], shown["open_indexes"]) == ("find", 3, 2)
        assert shown["bytes_received"] > 0 and shown["bytes_sent"] > 0 and shown["bytes_buffered"] == 0
        assert shown["account"] is None and shown["silent_ms"] < 60000
        client.send(b"0\t=\t1")
        until(lambda: rows(own, "connections", mine)[0]["state"] == "sending a request")
        assert rows(own, "connections", mine)[0]["bytes_buffered"] == 5
    until(lambda: not rows(own, "connections", mine))


def test_waiting_for_a_table_is_shown(own):
    with own.hs() as client, contextlib.closing(own.connect(database="test")) as sql:
        client.open(0, "test", "t", "id")
        sql.cursor().execute("LOCK TABLES t WRITE")
        client.send(b"0\t=\t1\t7\n")
        until(lambda: "waiting for a table" in [one["state"] for one in rows(own, "connections")])
        sql.cursor().execute("UNLOCK TABLES")
        assert client.line() == b"0\t1\t7"


def test_ids_are_no_sessions(own):
    with own.mc(), own.resp():
        until(lambda: len(rows(own, "connections")) >= 2)
        ids = {one["id"] for one in rows(own, "connections")}
        sessions = {one for (one,) in own.query("SELECT id FROM information_schema.processlist")}
        assert not ids & sessions


def test_open_tables_are_counted(own):
    with own.hs() as client, own.hs() as other:
        for one in (client, other):
            one.open(0, "test", "t", "id,w", filters="v")
        for key in range(20):
            client.request(0, "=", 1, key)
        wanted = "table_name = 't' AND column_names = 'id,w'"
        until(lambda: rows(own, "tables", wanted)[0]["finds"] == 20)
        shown = rows(own, "tables", wanted)[0]
        assert (shown["plugin"], shown["table_schema"], shown["index_name"]) == ("handlersocket", "test", "PRIMARY")
        assert (shown["filter_column_names"], shown["opened"]) == ("v", 2)
        assert shown["rows_examined"] >= 19
    until(lambda: not rows(own, "tables", wanted))


def test_mappings_are_shown_with_their_errors(own):
    memcached = rows(own, "mappings", "plugin = 'memcached'")
    assert [one["state"] for one in memcached] == ["usable"] and memcached[0]["kind"] == "container"
    own.execute("UPDATE innodb_memcache.containers SET unique_idx_name_on_key = 'gone'")
    with own.mc() as client:

        def broken():
            with contextlib.suppress(Exception):
                client.get("x")
            return rows(own, "mappings", "plugin = 'memcached' AND state = 'broken'")

        until(broken)
        assert "gone" in broken()[0]["error"]
        own.execute("UPDATE innodb_memcache.containers SET unique_idx_name_on_key = 'PRIMARY'")
        until(lambda: not broken())
    assert rows(own, "mappings", "plugin = 'redis'")


def test_without_process_one_sees_ones_own(own):
    own.execute("CREATE USER nobody_much")
    with own.hs() as client:
        client.open(0, "test", "t", "id")
        assert rows(own, "connections") and rows(own, "tables")
        assert rows(own, "connections", user="nobody_much") == rows(own, "tables", user="nobody_much") == []
        assert rows(own, "mappings", user="nobody_much") == []
        assert rows(own, "doors", user="nobody_much")


def test_looking_while_connections_come_and_go(own):
    """Readers and connections never wait for each other."""
    stop, failures = threading.Event(), []

    def come_and_go():
        while not stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", int(own.env["HS_PORT"])), 10) as client:
                    client.sendall(b"P\t0\ttest\tt\tPRIMARY\tid\n0\t=\t1\t5\n")
                    client.recv(100)
            except OSError as problem:
                failures.append(problem)

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(60):
        for table in ("connections", "doors", "tables"):
            rows(own, table)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    own.assert_alive()


def test_the_tables_come_and_go_with_the_library(sandbox_factory):
    server = sandbox_factory()
    server.execute("UNINSTALL SONAME 'postern'")
    assert server.query("SHOW PLUGINS") and not server.query(
        "SELECT 1 FROM information_schema.plugins WHERE plugin_name LIKE 'POSTERN%'"
    )
    server.execute("INSTALL SONAME 'postern'")
    assert rows(server, "doors")
    server.execute("UNINSTALL PLUGIN handlersocket")
    gone = [door for door in rows(server, "doors") if door["plugin"] == "handlersocket"]
    assert [door["state"] for door in gone] == ["closed"] and gone[0]["port"] is None
