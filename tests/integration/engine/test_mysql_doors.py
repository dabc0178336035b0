"""The memcached and Redis doors in MySQL 9.7, and the settings and status variables of all doors."""
import contextlib
import subprocess

import pymysql
import pytest

from support.clients import mc, resp
from support.clients.mysql import Mysql, build, marks
from support.server import ROOT
from support.waiting import until

pytestmark = marks

# The tables of MySQL's own plugin, as an upgraded server has them.
OF_DAEMON_MEMCACHED = [
    "CREATE DATABASE innodb_memcache",
    "CREATE TABLE innodb_memcache.cache_policies (policy_name VARCHAR(40) PRIMARY KEY,"
    " get_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,"
    " set_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,"
    " delete_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,"
    " flush_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL)",
    "CREATE TABLE innodb_memcache.containers (name VARCHAR(50) NOT NULL PRIMARY KEY, db_schema VARCHAR(250) NOT NULL,"
    " db_table VARCHAR(250) NOT NULL, key_columns VARCHAR(250) NOT NULL, value_columns VARCHAR(250),"
    " flags VARCHAR(250) NOT NULL DEFAULT '0', cas_column VARCHAR(250), expire_time_column VARCHAR(250),"
    " unique_idx_name_on_key VARCHAR(250) NOT NULL)",
    "CREATE TABLE innodb_memcache.config_options (name VARCHAR(50) NOT NULL PRIMARY KEY, value VARCHAR(50))",
    "INSERT INTO innodb_memcache.cache_policies VALUES"
    " ('cache_policy', 'innodb_only', 'innodb_only', 'innodb_only', 'innodb_only')",
    "INSERT INTO innodb_memcache.config_options VALUES ('separator', '|'), ('table_map_delimiter', '.')",
    "CREATE TABLE test.demo_test (c1 VARCHAR(32), c2 VARCHAR(1024), c3 INT, c4 BIGINT UNSIGNED, c5 INT,"
    " PRIMARY KEY (c1))",
    "INSERT INTO test.demo_test VALUES ('AA', 'HELLO, HELLO', 8, 0, 0)",
    "CREATE TABLE test.pairs (id INT PRIMARY KEY, a VARCHAR(20), b VARCHAR(20))",
    "INSERT INTO innodb_memcache.containers VALUES"
    " ('aaa', 'test', 'demo_test', 'c1', 'c2', 'c3', 'c4', 'c5', 'PRIMARY'),"
    " ('pairs', 'test', 'pairs', 'id', 'a|b', '0', NULL, NULL, 'PRIMARY')",
]


@pytest.fixture(scope="module", name="mysql")
def running_server(tmp_path_factory):
    build()
    server = Mysql(tmp_path_factory.mktemp("mysql"))
    server.start()
    server.query("CREATE DATABASE test", *OF_DAEMON_MEMCACHED)
    script = subprocess.run([ROOT / "tools/mysql", "script", ROOT / "sql/redis.sql"], capture_output=True, check=True)
    subprocess.run([ROOT / "tools/mysql", "sql", server.dir], input=script.stdout, check=True)
    until(lambda: mc.listens(server.env["MEMCACHED_PORT"]) and mc.listens(server.env["REDIS_PORT"]))
    yield server
    server.run("stop")


@pytest.fixture(name="items")
def memcached_client(mysql):
    with mc.Client(int(mysql.env["MEMCACHED_PORT"])) as client:
        yield client


def store(client, command, value):
    client.send(f"{command} {len(value)}\r\n{value}\r\n".encode())
    return client.line().decode()


def fetch(client, *keys, command="get"):
    """The lines of the answer, except END."""
    client.send(f"{command} {' '.join(keys)}\r\n".encode())
    lines = []
    while (line := client.line().decode()) != "END":
        lines.append(line)
    return lines


def test_the_containers_of_daemon_memcached_are_served(mysql, items):
    assert fetch(items, "AA") == ["VALUE AA 8 12", "HELLO, HELLO"]
    assert store(items, "set k 5 0", "abc") == "STORED"
    assert store(items, "append k 0 0", "de") == "STORED"
    assert fetch(items, "k") == ["VALUE k 5 5", "abcde"]
    assert store(items, "add k 0 0", "x") == "NOT_STORED"
    assert mysql.query("SELECT c2, c3, c5 FROM test.demo_test WHERE c1 = 'k'") == (("abcde", 5, 0),)
    assert store(items, "set n 0 0", "5") == "STORED"
    assert items.ask("incr n 37") == "42"
    assert items.ask("delete n") == "DELETED"
    assert mysql.query("SELECT * FROM test.demo_test WHERE c1 = 'n'") == ()


def test_cas_and_expiry_have_their_columns(mysql, items):
    assert store(items, "set c 0 1000", "one") == "STORED"
    cas = fetch(items, "c", command="gets")[0].split()[-1]
    kept = mysql.query("SELECT c4, c5 > UNIX_TIMESTAMP() + 900 FROM test.demo_test WHERE c1 = 'c'")
    assert kept == ((int(cas), 1),)
    items.send(f"cas c 0 0 3 {cas}\r\ntwo\r\n".encode())
    assert items.line() == b"STORED"
    items.send(f"cas c 0 0 5 {cas}\r\nthree\r\n".encode())
    assert items.line() == b"EXISTS"
    mysql.query("UPDATE test.demo_test SET c5 = UNIX_TIMESTAMP() - 1 WHERE c1 = 'c'")
    assert fetch(items, "c") == []


def test_a_client_switches_between_tables(mysql, items):
    assert store(items, "set @@pairs.7 0 0", "left|right") == "STORED"
    assert mysql.query("SELECT a, b FROM test.pairs WHERE id = 7") == (("left", "right"),)
    assert fetch(items, "7") == ["VALUE 7 0 10", "left|right"]
    assert fetch(items, "@@aaa.AA") == ["VALUE @@aaa.AA 8 12", "HELLO, HELLO"]
    assert fetch(items, "AA") == ["VALUE AA 8 12", "HELLO, HELLO"]


@pytest.fixture(name="redis")
def redis_client(mysql):
    with resp.Client(mysql.env["REDIS_PORT"]) as client:
        yield client


def test_every_type_of_redis_is_kept_in_tables(mysql, redis):
    assert redis.ask("SET", "a", "1") == "OK"
    assert redis.ask("INCRBY", "a", 41) == 42
    assert mysql.query("SELECT v FROM postern_redis.entries WHERE k = 'a'") == ((b"42",),)
    assert redis.ask("HSET", "h", "f", "v", "g", "w") == 2
    assert redis.ask("HGET", "h", "g") == b"w"
    assert redis.ask("RPUSH", "l", "x", "y", "z") == 3
    assert redis.ask("LRANGE", "l", 0, -1) == [b"x", b"y", b"z"]
    assert redis.ask("LPOP", "l") == b"x"
    assert redis.ask("SADD", "s", "m", "n") == 2
    assert redis.ask("SISMEMBER", "s", "n") == 1
    assert redis.ask("ZADD", "z", 2, "two", 1, "one") == 2
    assert redis.ask("ZRANGE", "z", 0, -1) == [b"one", b"two"]
    assert redis.ask("XADD", "x", "1-1", "f", "v") == b"1-1"
    assert redis.ask("XRANGE", "x", "-", "+") == [[b"1-1", [b"f", b"v"]]]
    assert redis.ask("EXPIRE", "a", 100) == 1
    assert 90 < redis.ask("TTL", "a") <= 100
    assert redis.ask("DEL", "a", "h", "l", "s", "z", "x") == 6
    assert mysql.query("SELECT COUNT(*) FROM postern_redis.entries") == ((0,),)


def test_rows_are_hashes(mysql, redis):
    mysql.query(
        "CREATE TABLE test.user (id INT PRIMARY KEY, name VARCHAR(20), age INT)",
        "INSERT INTO test.user VALUES (7, 'bob', 40)",
        "CALL postern.redis_map_row('user:', 'test', 'user', '*')",
    )
    until(lambda: redis.ask("HGET", "user:7", "name") == b"bob")
    assert redis.ask("HINCRBY", "user:7", "age", 2) == 42
    assert redis.ask("HSET", "user:8", "name", "ann") == 1
    assert mysql.query("SELECT * FROM test.user ORDER BY id") == ((7, "bob", 42), (8, "ann", None))


@pytest.mark.parametrize("charset", ["binary", "latin1", "utf8mb4", "gbk"])
def test_keys_are_found_by_how_they_begin(mysql, redis, charset):
    """A single-byte character set lacks a function for multi-byte characters: calling it crashed the server."""
    mysql.query(
        "DROP TABLE IF EXISTS test.named",
        f"CREATE TABLE test.named (name VARCHAR(20) CHARACTER SET {charset} PRIMARY KEY, v INT)",
        "INSERT INTO test.named VALUES ('ab1', 1), ('ab_2', 2), ('ac', 3), ('a', 4)",
        "CALL postern.redis_map_row('named:', 'test', 'named', '*')",
    )
    until(lambda: redis.ask("HGET", "named:ab1", "v") == b"1")
    assert sorted(redis.ask("KEYS", "named:ab*")) == [b"named:ab1", b"named:ab_2"]
    assert redis.ask("KEYS", "named:ab_*") == [b"named:ab_2"]
    assert redis.ask("MSET", "own:1", "x", "own:2", "y", "other", "z") == "OK"
    assert sorted(redis.ask("KEYS", "own:*")) == [b"own:1", b"own:2"]
    assert redis.ask("DEL", "own:1", "own:2", "other") == 3
    mysql.query("CALL postern.redis_unmap('named:')")


def test_multi_and_scripts_are_transactions(mysql, redis):
    assert redis.ask("MULTI") == "OK"
    for words in [("SET", "t", "1"), ("INCR", "t"), ("LPUSH", "t2", "x")]:
        assert redis.ask(*words) == "QUEUED"
    assert redis.ask("EXEC") == ["OK", 2, 1]
    script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('INCR', KEYS[1])"
    assert redis.ask("EVAL", script, 1, "e", "41") == 42
    # A script that fails changes nothing.
    with contextlib.suppress(resp.Error):
        redis.ask("EVAL", "redis.call('SET', KEYS[1], '1') return redis.call('LPUSH', KEYS[1], 'x')", 1, "gone")
    assert redis.ask("EXISTS", "gone") == 0
    assert redis.ask("WATCH", "t") == "OK"
    mysql.query("UPDATE postern_redis.entries SET v = '9' WHERE k = 't'")
    assert redis.ask("MULTI") == "OK"
    assert redis.ask("SET", "t", "0") == "QUEUED"
    assert redis.ask("EXEC") is None
    assert redis.ask("GET", "t") == b"9"


def test_a_blocked_client_is_woken(mysql, redis):
    with resp.Client(mysql.env["REDIS_PORT"]) as waiter:
        waiter.send(resp.encode("BLPOP", "queue", 30))
        until(lambda: redis.ask("LPUSH", "queue", "job") >= 1)
        assert resp.decode(waiter.raw()) == [b"queue", b"job"]


def test_settings_have_the_names_and_the_meaning_of_mariadb(mysql):
    variables = dict(mysql.query("SHOW VARIABLES LIKE 'handlersocket%'"))
    assert variables["handlersocket_port_wr"] == mysql.env["HS_PORT_WR"]
    assert variables["handlersocket_max_request_bytes"] == "16777216"
    mysql.query("SET GLOBAL handlersocket_errors = 'text'")
    try:
        with mysql.write_door() as hs:
            assert hs.request("P", 0, "nosuch", "t", "PRIMARY", "a")[2] == "Unknown database 'nosuch'"
    finally:
        mysql.query("SET GLOBAL handlersocket_errors = 'compatible'")
    for wrong in ["handlersocket_errors = 'other'", "memcached_port = 70000"]:
        with pytest.raises(pymysql.MySQLError):
            mysql.query(f"SET GLOBAL {wrong}")


def test_a_door_moves_while_the_server_runs(mysql, tmp_path):
    path = tmp_path / "hs.sock"
    mysql.query(f"SET GLOBAL handlersocket_socket = '{path}'")
    until(path.exists)
    mysql.query("SET GLOBAL handlersocket_socket = ''")
    until(lambda: not path.exists())


def test_status_variables_count(mysql):
    def count(name):
        return int(dict(mysql.query(f"SHOW GLOBAL STATUS LIKE '{name}'"))[name])

    mysql.query("CREATE TABLE test.counted (id INT PRIMARY KEY)")
    before = count("Handlersocket_requests_insert"), count("Handlersocket_rows_inserted")
    with mysql.write_door() as hs:
        hs.open(0, "test", "counted", "id")
        assert hs.request(0, "+", 1, 1) == ["0", "1"]
        assert hs.request(0, "+", 1, 1) == ["1", "1", "121"]
    assert (count("Handlersocket_requests_insert"), count("Handlersocket_rows_inserted")) == (
        before[0] + 2,
        before[1] + 1,
    )
    status = dict(mysql.query("SHOW GLOBAL STATUS LIKE '%listening%'"))
    assert {status[name] for name in ("Handlersocket_listening", "Memcached_listening", "Redis_listening")} == {"ON"}


def test_a_secret_is_asked_for(tmp_path):
    server = Mysql(tmp_path)
    server.start("--handlersocket-plain-secret-wr=open")
    try:
        with server.write_door() as hs:
            assert hs.request("P", 0, "test", "t", "PRIMARY", "a")[0] != "0"
            assert hs.request("A", 1, "wrong")[0] != "0"
            assert hs.request("A", 1, "open") == ["0", "1"]
        assert not dict(server.query("SHOW VARIABLES LIKE 'handlersocket_plain%'"))
    finally:
        server.run("stop")


# --- tables of INFORMATION_SCHEMA, and the slow log ------------------------------------------------------------------


def information(mysql, table, columns="*", more=""):
    return mysql.query(f"SELECT {columns} FROM information_schema.{table} {more}")


def test_doors_show_their_ports_and_state(mysql):
    rows = information(mysql, "POSTERN_DOORS", "PLUGIN, PORT, STATE, TLS, LETS_IN", "ORDER BY 1, 2")
    ports = {(row[0], row[1]) for row in rows}
    assert {("redis", int(mysql.env["REDIS_PORT"])), ("memcached", int(mysql.env["MEMCACHED_PORT"]))} <= ports
    assert {row[2] for row in rows} == {"listening"}
    assert {row[3] for row in rows} == {"offered"}
    assert {row[4] for row in rows} == {"everybody"}


def test_connections_tables_and_mappings_are_shown(mysql):
    with mysql.door() as client:
        client.open(0, "test", "pairs", "id,a")
        client.request(0, "=", 1, 7)
        rows = information(
            mysql, "POSTERN_CONNECTIONS", "LAST_REQUEST, OPEN_INDEXES, TLS", "WHERE PLUGIN = 'handlersocket'"
        )
        assert ("find", 1, "NO") in rows
        rows = information(mysql, "POSTERN_TABLES", "TABLE_NAME, INDEX_NAME, COLUMN_NAMES, FINDS")
        assert ("pairs", "PRIMARY", "id,a", 1) in rows
    rows = information(
        mysql, "POSTERN_MAPPINGS", "NAME, KIND, VALUE_COLUMNS, STATE, ERROR", "WHERE PLUGIN = 'memcached'"
    )
    assert ("pairs", "container", "a|b", "usable", None) in rows
    assert information(mysql, "POSTERN_PLANS") == ()


def test_others_connections_are_seen_with_a_privilege_alone(mysql):
    mysql.query("CREATE USER someone@localhost IDENTIFIED BY 'pw'")
    try:
        with mysql.door() as client, contextlib.closing(
            pymysql.connect(unix_socket=mysql.env["SQL_SOCKET"], user="someone", password="pw", autocommit=True)
        ) as connection, connection.cursor() as cursor:
            client.open(0, "test", "pairs", "id")
            asked = "SELECT COUNT(*) FROM information_schema.POSTERN_CONNECTIONS"
            for rights, count in (("SELECT ON test.*", 0), ("PROCESS ON *.*", 1)):
                mysql.query(f"GRANT {rights} TO someone@localhost")
                connection.connect()
                with connection.cursor() as fresh:
                    fresh.execute(asked)
                    assert (fresh.fetchone()[0] > 0) == bool(count), rights
    finally:
        mysql.query("DROP USER someone@localhost")


def test_a_table_goes_and_comes_as_a_plugin(tmp_path):
    server = Mysql(tmp_path / "again")
    server.start()
    try:
        before = len(information(server, "POSTERN_DOORS"))
        server.query("UNINSTALL PLUGIN POSTERN_DOORS")
        with pytest.raises(pymysql.Error, match="Unknown table"):
            information(server, "POSTERN_DOORS")
        server.query("INSTALL PLUGIN POSTERN_DOORS SONAME 'postern.so'")
        assert len(information(server, "POSTERN_DOORS")) == before > 0
        server.start()
        assert len(information(server, "POSTERN_DOORS")) == before
    finally:
        server.run("stop")


def test_slow_requests_are_in_the_servers_slow_log(mysql):
    log = mysql.dir / "slow.log"
    mysql.query(
        f"SET GLOBAL slow_query_log_file = '{log}'",
        "SET GLOBAL slow_query_log = ON",
        "SET GLOBAL redis_slow_request_us = 1",
    )
    try:
        with resp.Client(mysql.env["REDIS_PORT"]) as client:
            client.ask("SET", "slow", "a secret value")
            until(lambda: log.exists() and "SET" in log.read_text().upper().split("# TIME")[-1])
    finally:
        mysql.query("SET GLOBAL redis_slow_request_us = 0", "SET GLOBAL slow_query_log = OFF")
    text = log.read_text()
    assert "# Query_time: 0.0" in text and "127.0.0.1" in text
    assert "a secret value" not in text
