"""Texts of Redis and memcached clients, which are UTF-8, in columns of other character sets: read and written as by an
SQL client with utf8mb4. HandlerSocket sends and receives the column's bytes."""
import pytest
from support.clients.mc import map_table
from support.waiting import until

# A text that the character set can encode, and one that it cannot.
SETS = {
    "latin1": ("Grüße, €5", "žluťoučký"),
    "latin2": ("žluťoučký kůň", "привет"),
    "cp1251": ("Привет, мир", "žluť"),
    "koi8r": ("Привет", "žluť"),
    "greek": ("Καλημέρα", "žluť"),
    "swe7": ("Åå", "{}"),
    "ascii": ("plain words", "žluť"),
    "sjis": ("日本語", "žluť"),
    "ucs2": ("Grüße 日本 Привет", "😀"),
    "utf16": ("Grüße 日本 😀", None),
    "utf32": ("Grüße 😀", None),
    "utf8mb3": ("Grüße 日本", "😀"),
    "utf8mb4": ("Grüße 日本 😀", None),
}
BYTES = bytes(range(256))


def make_table(server, name, charset):
    server.execute(
        f"CREATE TABLE test.{name} (id VARCHAR(20) PRIMARY KEY, name VARCHAR(50), body TEXT, fixed CHAR(30), "
        f"raw VARBINARY(300), n INT) CHARACTER SET {charset}"
    )
    server.query(f"CALL postern.redis_map_row('{name}:', 'test', '{name}', '*')")
    server.query(f"CALL postern.redis_map_value('{name}-body:', 'test', '{name}', 'id', 'body')")
    map_table(server, name, "test", name, "id", "name")


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(redis=True, containers=True)
    for name in SETS:
        make_table(server, name, name)
    make_table(server, "bare", "binary")
    with server.resp() as redis:
        until(lambda: redis.ask_raw("SET", "bare-body:0", "x") == b"+OK\r\n", seconds=15)
    yield server
    server.assert_alive()


@pytest.mark.parametrize("name", SETS)
def test_what_redis_writes_sql_reads_and_the_other_way_round(server, name):
    text = SETS[name][0]
    word = text.split()[0]
    key = f"{name}:{word}"
    with server.resp() as redis:
        assert redis.ask("HSET", key, "name", text, "body", text * 3, "fixed", text, "raw", BYTES, "n", "7") == 5
        select = f"SELECT id, name, body, fixed, raw, n FROM test.{name} WHERE id = %s"
        assert server.query(select, (word,)) == [(word, text, text * 3, text, BYTES, 7)]
        assert redis.ask("HMGET", key, "name", "fixed", "raw") == [text.encode(), text.encode(), BYTES]
        server.query(f"INSERT INTO test.{name} (id, name, fixed) VALUES ('sql', %s, %s)", (text, text))
        assert redis.ask("HGETALL", f"{name}:sql") == [b"name", text.encode(), b"fixed", text.encode()]
        assert redis.ask("SET", f"{name}-body:{word}", text) == "OK"
        assert redis.ask("APPEND", f"{name}-body:{word}", text) == 2 * len(text.encode())
        assert server.query(f"SELECT body FROM test.{name} WHERE id = %s", (word,)) == [(text * 2,)]
        assert redis.ask("STRLEN", f"{name}-body:{word}") == 2 * len(text.encode())
        server.execute(f"UPDATE test.{name} SET name = '41' WHERE id = 'sql'")
        assert redis.ask("HINCRBY", f"{name}:sql", "name", 1) == 42
        assert redis.ask("DEL", key) == 1
        assert server.query(f"SELECT id FROM test.{name}") == [("sql",)]


@pytest.mark.parametrize("name", [name for name, texts in SETS.items() if texts[1]])
def test_characters_that_the_column_cannot_hold_are_refused(server, name):
    other = SETS[name][1]
    with server.resp() as redis:
        redis.ask("HSET", f"{name}:1", "name", "before")
        for text in (other, b"\xff\xfe"):
            assert "Incorrect string value" in redis.error("HSET", f"{name}:1", "name", text)
            assert "Incorrect string value" in redis.error("HSET", f"{name}:{other}", "name", "x")
            assert redis.ask("HGET", f"{name}:{other}", "name") is None
        assert redis.ask("HGET", f"{name}:1", "name") == b"before"
    with server.mc() as memcached:
        assert "Incorrect string value" in memcached.set(f"@@{name}.2", other)
        assert memcached.get(f"@@{name}.2") is None


@pytest.mark.parametrize("name", SETS)
def test_what_memcached_writes_sql_reads_and_the_other_way_round(server, name):
    text = SETS[name][0]
    word = text.split()[0]
    with server.mc() as memcached:
        assert memcached.set(f"@@{name}.m{word}", text) == "STORED"
        assert server.query(f"SELECT name FROM test.{name} WHERE id = %s", (f"m{word}",)) == [(text,)]
        assert memcached.get(f"m{word}") == text.encode()
        assert memcached.store("append", f"m{word}", text) == "STORED"
        assert memcached.get(f"m{word}") == text.encode() * 2
        server.query(f"UPDATE test.{name} SET name = %s WHERE id = %s", ("17", f"m{word}"))
        assert memcached.ask(f"incr m{word} 3") == "20"
        assert memcached.ask(f"delete m{word}") == "DELETED"


def test_bytes_are_bytes(server):
    with server.resp() as redis, server.mc() as memcached:
        redis.ask("HSET", b"bare:\xff\xfe", "name", BYTES[:50], "body", BYTES)
        assert server.query("SELECT id, name FROM test.bare WHERE body = %s", (BYTES,)) == [(b"\xff\xfe", BYTES[:50])]
        assert redis.ask("HGET", b"bare:\xff\xfe", "body") == BYTES
        assert memcached.set("@@bare.m", BYTES[210:]) == "STORED"
        assert memcached.get("m") == BYTES[210:]


def test_names_of_a_list(server):
    server.execute(
        "CREATE TABLE test.lists (id INT PRIMARY KEY, kind ENUM('süß', 'x'), some SET('ä', 'ö')) CHARACTER SET latin1"
    )
    server.query("CALL postern.redis_map_row('lists:', 'test', 'lists', '*')")
    with server.resp() as redis:
        until(lambda: redis.ask_raw("HSET", "lists:1", "nosuch", "x").startswith(b"-ERR no such field"))
        assert redis.ask("HSET", "lists:1", "kind", "süß", "some", "ä,ö") == 2
        assert server.query("SELECT kind, some FROM test.lists") == [("süß", "ä,ö")]
        assert redis.ask("HMGET", "lists:1", "kind", "some") == ["süß".encode(), "ä,ö".encode()]
        assert "Data truncated" in redis.error("HSET", "lists:1", "kind", "bös")


def test_texts_of_handlersocket_are_the_columns_bytes(server):
    with server.hs_wr() as client:
        client.open(1, "test", "latin1", "id,name")
        assert client.request(1, "+", 2, b"hs", b"Gr\xfc\xdfe") == ["0", "1"]
        assert server.query("SELECT name FROM test.latin1 WHERE id = 'hs'") == [("Grüße",)]
        client.send(b"1\t=\t1\ths\n")
        assert client.line() == b"0\t2\ths\tGr\xfc\xdfe"
