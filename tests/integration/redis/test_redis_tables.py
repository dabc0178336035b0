"""Keys over tables: what Redis writes SQL reads, and the other way round; mappings, their refusals and changes."""
import threading

import pytest
from support.waiting import until


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(redis=True)
    server.execute(
        "CREATE TABLE test.user (id INT PRIMARY KEY, name VARCHAR(50), email VARCHAR(100), n INT, price DECIMAL(10,2), "
        "expires BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE test.seat (row_name VARCHAR(3), number INT, guest VARCHAR(50), PRIMARY KEY (row_name, number))",
        "CREATE TABLE test.mail (id INT PRIMARY KEY, address VARCHAR(20), body TEXT)",
        "INSERT INTO test.user (id, name, email) VALUES (101, 'Ann', 'ann@example.com')",
    )
    server.query("CALL postern.redis_map_row('user:', 'test', 'user', 'name,email mail,n,price')")
    server.query("CALL postern.redis_map_expiry('user:', 'expires', 'ms')")
    server.query("CALL postern.redis_map_row('seat:', 'test', 'seat', '*')")
    server.query("CALL postern.redis_map_value('mail:', 'test', 'mail', 'id', 'address')")
    with server.resp() as redis:
        until(lambda: redis.ask("HGET", "user:101", "name") == b"Ann", seconds=15)
    yield server
    server.assert_alive()


@pytest.fixture
def redis(server):
    with server.resp() as client:
        yield client


def pairs(reply):
    return dict(zip(reply[::2], reply[1::2]))


def test_a_row_is_a_hash(server, redis):
    assert pairs(redis.ask("HGETALL", "user:101")) == {b"name": b"Ann", b"mail": b"ann@example.com"}
    assert redis.ask("HMGET", "user:101", "mail", "n", "nosuch", "id") == [b"ann@example.com", None, None, None]
    assert redis.ask("HSET", "user:102", "name", "Bob", "n", "7") == 2
    assert redis.ask("HSET", "user:102", "name", "Bobby", "price", "1.50") == 1
    assert server.query("SELECT name, n, price FROM test.user WHERE id = 102")[0][:2] == ("Bobby", 7)
    assert redis.ask("HINCRBY", "user:102", "n", "3") == 10
    assert redis.ask("HINCRBYFLOAT", "user:102", "price", "0.25") == b"1.75"
    server.execute("UPDATE test.user SET n = n + 1 WHERE id = 102")
    assert redis.ask("HGET", "user:102", "n") == b"11"
    assert redis.ask("HDEL", "user:102", "n", "nosuch") == 1
    assert server.query("SELECT n FROM test.user WHERE id = 102") == [(None,)]
    assert redis.ask("TYPE", "user:102") == "hash"
    assert redis.ask("DEL", "user:102") == 1
    assert redis.ask("EXISTS", "user:102", "user:101") == 1
    assert server.query("SELECT COUNT(*) FROM test.user WHERE id = 102") == [(0,)]


def test_what_a_row_cannot_hold_is_refused_in_words(redis):
    assert redis.error("HSET", "user:103", "nosuch", "1") == "ERR no such field 'nosuch' in 'test.user'"
    assert "Incorrect integer value" in redis.error("HSET", "user:103", "n", "many")
    assert "Out of range" in redis.error("HSET", "user:103", "n", "99999999999")
    assert redis.error("SET", "user:103", "x").startswith("WRONGTYPE")
    assert redis.error("GET", "user:101").startswith("WRONGTYPE")
    assert "Incorrect integer value" in redis.error("HSET", "user:x", "name", "y")
    assert redis.ask("HGET", "user:x", "name") is None
    assert redis.ask("EXISTS", "user:103") == 0


def test_several_key_columns_are_pieces_of_the_key(server, redis):
    assert redis.ask("HSET", "seat:A:7", "guest", "Ann") == 1
    assert server.query("SELECT * FROM test.seat") == [("A", 7, "Ann")]
    assert redis.ask("HGET", "seat:A", "guest") is None
    assert redis.error("HSET", "seat:A", "guest", "x") == "ERR no such key can be in 'test.seat': 2 pieces are needed"
    assert redis.error("EXPIRE", "seat:A:7", "10") == "ERR 'seat:' has no column for expiry"


def test_a_column_is_a_string(server, redis):
    assert redis.ask("SET", "mail:1", "a@b") == "OK"
    assert redis.ask("APPEND", "mail:1", ".c") == 5
    assert server.query("SELECT address FROM test.mail WHERE id = 1") == [("a@b.c",)]
    server.execute("UPDATE test.mail SET address = '41' WHERE id = 1")
    assert redis.ask("INCR", "mail:1") == 42
    assert "Data too long" in redis.error("SET", "mail:1", "x" * 21)
    assert redis.ask("GET", "mail:1") == b"42"
    assert redis.ask("MGET", "mail:1", "mail:2", "user:101", "nokey") == [b"42", None, None, None]


def test_sql_reads_the_generic_keyspace(server, redis):
    redis.ask("SET", "plain", "text", "EX", "100")
    redis.ask("HSET", "cart:7", "a", "1", "b", "2")
    assert server.query("SELECT v FROM postern_redis.v_strings WHERE k = 'plain'") == [(b"text",)]
    assert server.query("SELECT f, v FROM postern_redis.v_hashes WHERE k = 'cart:7'") == [(b"a", b"1"), (b"b", b"2")]
    server.execute("INSERT INTO postern_redis.hashes VALUES ('cart:7', 'c', '3')")
    assert pairs(redis.ask("HGETALL", "cart:7")) == {b"a": b"1", b"b": b"2", b"c": b"3"}
    server.query("CALL postern.redis_touch('cart:7')")
    assert redis.ask("HLEN", "cart:7") == 3
    assert redis.ask("SET", "cart:7", "now a string") == "OK"
    assert server.query("SELECT COUNT(*) FROM postern_redis.hashes WHERE k = 'cart:7'") == [(0,)]
    assert redis.ask("DEL", "cart:7", "plain", "nokey") == 2


def test_what_has_expired_is_absent(server, redis):
    redis.ask("HSET", "user:200", "name", "Old", "n", "1")
    assert redis.ask("PEXPIRE", "user:200", "60000") == 1
    assert 0 < redis.ask("PTTL", "user:200") <= 60000
    server.execute("UPDATE test.user SET expires = 1 WHERE id = 200")
    assert redis.ask("EXISTS", "user:200") == 0
    assert redis.ask("HGETALL", "user:200") == []
    assert redis.ask("TTL", "user:200") == -2
    assert redis.ask("HSET", "user:200", "name", "New") == 1
    assert server.query("SELECT name, n, expires FROM test.user WHERE id = 200") == [("New", None, 0)]


def test_counters_lose_nothing_beside_sql(server, redis):
    server.execute("INSERT INTO test.user (id, n) VALUES (300, 0)")

    def count():
        with server.resp() as client:
            for _ in range(100):
                client.ask("HINCRBY", "user:300", "n", "1")
                client.ask("INCR", "counter")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        server.execute("UPDATE test.user SET n = n + 1 WHERE id = 300")
    for thread in threads:
        thread.join()
    assert redis.ask("HGET", "user:300", "n") == b"500"
    assert redis.ask("GET", "counter") == b"400"


def test_ddl_beside(server, redis):
    redis.ask("SET", "mail:5", "x")
    server.execute("ALTER TABLE test.mail ADD COLUMN more INT")
    assert redis.ask("GET", "mail:5") == b"x"
    assert redis.ask("SET", "mail:5", "y") == "OK"


def test_a_mapping_that_cannot_be_used_says_why(server, redis):
    server.execute(
        "INSERT INTO postern.redis_maps (prefix, kind, db_schema, db_table, key_columns, value_columns) VALUES "
        "('gone:', 'value', 'test', 'gone', 'id', 'v'), ('star:', 'row', 'test', 'user', 'id', '*')"
    )
    until(lambda: redis.ask_raw("GET", "gone:1").startswith(b"-ERR mapping 'gone:' cannot be used"), seconds=15)
    assert "'*'" in redis.error("HGETALL", "star:1")
    server.execute("DELETE FROM postern.redis_maps WHERE prefix IN ('gone:', 'star:')")


def test_scan_tells_every_key_once(redis):
    for i in range(57):
        redis.ask("SET", f"scanned:{i}", "x")
    found, cursor = [], b"0"
    for _ in range(1000):
        cursor, keys = redis.ask("SCAN", cursor, "MATCH", "scanned:*", "COUNT", "10")
        found += keys
        if cursor == b"0":
            break
    assert sorted(found) == sorted(f"scanned:{i}".encode() for i in range(57))
    assert sorted(redis.ask("KEYS", "scanned:*")) == sorted(found)
    assert redis.error("SCAN", "123456789") == "ERR invalid cursor"


def test_flush_spares_mapped_tables(server, redis):
    redis.ask("SET", "something", "x")
    assert redis.ask("FLUSHALL") == "OK"
    assert redis.ask("GET", "something") is None
    assert redis.ask("HGET", "user:101", "name") == b"Ann"
    assert server.query("SELECT COUNT(*) FROM postern_redis.entries") == [(0,)]


def test_writes_survive_a_kill(server, redis):
    redis.ask("SET", "kept", "1")
    redis.ask("HSET", "kept:hash", "f", "1")
    server.kill()
    server.restart()
    with server.resp() as client:
        until(lambda: client.ask("GET", "kept") == b"1", seconds=15)
        assert client.ask("HGET", "kept:hash", "f") == b"1"
