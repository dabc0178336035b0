"""Keys over tables: SQL reads what Redis writes, and Redis what SQL writes; mappings, invalid ones and changes of
them."""
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


def test_rows_order_sorted_sets(server, redis):
    server.execute(
        "INSERT INTO test.user (id, name, n) VALUES (201, 'Una', 30), (202, NULL, 10), (203, 'Vic', 20)",
        "INSERT INTO test.mail (id, address) VALUES (201, 'una@a'), (203, NULL)",
    )
    redis.ask("DEL", "ids", "names")
    redis.ask("RPUSH", "ids", 201, 202, 203, 299, "no number")
    by_n = ["SORT", "ids", "BY", "user:*->n", "GET", "#", "GET", "user:*->name", "GET", "mail:*"]
    lines = [[b"299", None, None], [b"no number", None, None], [b"202", None, None], [b"203", b"Vic", None]]
    lines.append([b"201", b"Una", b"una@a"])
    assert redis.ask(*by_n) == sum(lines, [])
    assert redis.ask(*by_n, "DESC", "LIMIT", 0, 2) == lines[4] + lines[3]
    redis.ask("MULTI")
    redis.ask("SET", "other", "x")
    redis.ask(*by_n, "LIMIT", 2, 9)
    assert redis.ask("EXEC")[1] == sum(lines[2:], [])
    # An element that names no field, a field of a missing row, a row that is not a string.
    assert redis.ask("SORT", "ids", "BY", "nosort", "LIMIT", 0, 1, "GET", "user:*->nosuch", "GET", "user:*") == [
        None,
        None,
    ]
    assert redis.error("SORT", "user:201").startswith("WRONGTYPE")
    assert redis.error("SORT", "user:201", "STORE", "names").startswith("WRONGTYPE")
    assert redis.error("SORT", "ids", "ALPHA", "STORE", "user:201").startswith("WRONGTYPE")
    assert redis.ask("SORT", "ids", "BY", "user:*->n", "GET", "user:*->name", "STORE", "names") == 5
    rows = server.query("SELECT i, v FROM postern_redis.v_lists WHERE k = 'names' ORDER BY i")
    assert [row[1] for row in rows] == [b"", b"", b"", b"Vic", b"Una"]


def test_fields_of_a_row_are_scanned_and_chosen_by_chance(server, redis):
    server.execute("INSERT INTO test.user (id, name, n) VALUES (110, 'Cy', 5), (111, NULL, NULL)")
    assert redis.ask("HSCAN", "user:110", "0", "COUNT", "1") == [b"0", [b"name", b"Cy", b"n", b"5"]]
    assert redis.ask("HSCAN", "user:110", "0", "MATCH", "na*", "NOVALUES") == [b"0", [b"name"]]
    assert redis.ask("HSCAN", "user:111", "0") == redis.ask("HSCAN", "user:112", "0") == [b"0", []]
    assert redis.ask("HSCAN", "user:110", "5") == [b"0", [b"name", b"Cy", b"n", b"5"]]
    redis.ask("SET", "mail:110", "x")
    assert redis.error("HSCAN", "mail:110", "0").startswith("WRONGTYPE")
    assert redis.error("HRANDFIELD", "mail:110").startswith("WRONGTYPE")
    assert {redis.ask("HRANDFIELD", "user:110") for _ in range(50)} == {b"name", b"n"}
    assert redis.ask("HRANDFIELD", "user:110", "9", "WITHVALUES") == [b"name", b"Cy", b"n", b"5"]
    assert set(redis.ask("HRANDFIELD", "user:110", "-40")) == {b"name", b"n"}
    assert redis.ask("HRANDFIELD", "user:111") is None and redis.ask("HRANDFIELD", "user:112", "3") == []
    redis.ask("HELLO", "3")
    assert redis.ask("HRANDFIELD", "user:110", "2", "WITHVALUES") == [[b"name", b"Cy"], [b"n", b"5"]]


def test_values_that_a_row_cannot_hold_are_refused_in_words(redis):
    assert redis.error("HSET", "user:103", "nosuch", "1") == "ERR no such field 'nosuch' in 'test.user'"
    assert "Incorrect integer value" in redis.error("HSET", "user:103", "n", "many")
    assert "Out of range" in redis.error("HSET", "user:103", "n", "99999999999")
    assert redis.error("SET", "user:103", "x").startswith("WRONGTYPE")
    assert redis.error("GET", "user:101").startswith("WRONGTYPE")
    assert "Incorrect integer value" in redis.error("HSET", "user:x", "name", "y")
    assert redis.ask("HGET", "user:x", "name") is None
    assert redis.ask("EXISTS", "user:103") == 0


def test_a_column_without_default_matters_only_to_a_new_row(server, redis):
    server.execute(
        "CREATE TABLE test.book (isbn VARCHAR(13) PRIMARY KEY, title VARCHAR(200) NOT NULL, "
        "copies INT UNSIGNED NOT NULL, price DECIMAL(5,2) CHECK (price > 0))",
        "INSERT INTO test.book VALUES ('1', 'High Performance MySQL', 3, 10)",
    )
    server.query("CALL postern.redis_map_row('book:', 'test', 'book', '*')")
    server.query("CALL postern.redis_map_value('copies:', 'test', 'book', 'isbn', 'copies')")
    until(lambda: redis.ask("GET", "copies:1") == b"3" and redis.ask("HLEN", "book:1") == 3, seconds=15)
    assert redis.ask("HINCRBY", "book:1", "copies", "2") == 5
    assert redis.ask("HINCRBY", "book:1", "copies", "-1") == 4
    assert redis.ask("HINCRBYFLOAT", "book:1", "price", "-2.5") == b"7.5"
    assert redis.ask("HSET", "book:1", "copies", "6") == redis.ask("HSETNX", "book:1", "copies", "7") == 0
    assert redis.ask("INCR", "copies:1") == 7 and redis.ask("DECRBY", "copies:1", "5") == 2
    assert redis.ask("SET", "copies:1", "8", "GET") == b"2"
    for command in ("MULTI", "HINCRBY book:1 copies -3", "SET copies:1 4", "HINCRBY book:1 copies 1"):
        redis.ask(*command.split())
    assert redis.ask("EXEC") == [5, "OK", 5]
    for command in ("MULTI", "SET beside 1", "HINCRBY book:2 copies 1", "HINCRBY book:1 copies 0"):
        redis.ask(*command.split())
    first, second, third = redis.ask("EXEC")
    assert (first, third) == ("OK", 5) and str(second) == "ERR Field 'title' doesn't have a default value"
    assert server.query("SELECT * FROM test.book")[0][:3] == ("1", "High Performance MySQL", 5)
    for made in (("HINCRBY", "book:2", "copies", "1"), ("SET", "copies:2", "1"), ("HSET", "book:2", "price", "1")):
        assert redis.error(*made) == "ERR Field 'title' doesn't have a default value"
    assert "Out of range" in redis.error("HINCRBY", "book:1", "copies", "-6")
    assert redis.ask("HSET", "book:2", "title", "New", "copies", "1") == 2
    assert redis.ask("HINCRBY", "book:2", "copies", "-1") == 0


@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
def test_rows_of_tables_without_transactions(server, redis, engine):
    name = engine.lower()
    server.execute(f"CREATE TABLE test.{name} (id INT PRIMARY KEY, a INT, b INT NOT NULL) ENGINE {engine}")
    server.query(f"CALL postern.redis_map_row('{name}:', 'test', '{name}', '*')")
    server.execute(f"INSERT INTO test.{name} VALUES (1, 1, 1)")
    until(lambda: redis.ask("HGET", f"{name}:1", "a") == b"1", seconds=15)
    assert redis.ask("HSET", f"{name}:1", "a", "2") == 0
    assert redis.ask("HSET", f"{name}:2", "a", "2", "b", "3") == 2
    assert redis.ask("HINCRBY", f"{name}:2", "b", "4") == 7
    assert redis.error("HSET", f"{name}:3", "a", "1") == "ERR Field 'b' doesn't have a default value"
    assert server.query(f"SELECT * FROM test.{name} ORDER BY id") == [(1, 2, 1), (2, 2, 7)]


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


def test_expired_keys_are_absent(server, redis):
    redis.ask("HSET", "user:200", "name", "Old", "n", "1")
    assert redis.ask("PEXPIRE", "user:200", "60000") == 1
    assert 0 < redis.ask("PTTL", "user:200") <= 60000
    server.execute("UPDATE test.user SET expires = 1 WHERE id = 200")
    assert redis.ask("EXISTS", "user:200") == 0
    assert redis.ask("HGETALL", "user:200") == []
    assert redis.ask("TTL", "user:200") == -2
    assert redis.ask("HSET", "user:200", "name", "New") == 1
    assert server.query("SELECT name, n, expires FROM test.user WHERE id = 200") == [("New", None, 0)]


def test_rows_are_made_once_by_many_at_once(server, redis):
    failures = []

    def make(number):
        try:
            with server.resp() as client:
                for i in range(50):
                    client.ask("HINCRBY", f"user:{40_000 + i}", "n", "1")
                    client.ask("HSET", f"user:{50_000 + 8 * i + number}", "n", "1")
        except Exception as error:  # reported below
            failures.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert server.query("SELECT COUNT(*), MIN(n), MAX(n) FROM test.user WHERE id BETWEEN 40000 AND 49999") == [
        (50, 8, 8)
    ]
    assert server.query("SELECT COUNT(*), SUM(n) FROM test.user WHERE id >= 50000")[0] == (400, 400)


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


def test_scan_returns_every_key_once(redis):
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
