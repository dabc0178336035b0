"""The tables that sql/redis.sql creates, and the errors of its procedures."""
import pymysql
import pytest
from support.server import ROOT, sandbox


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory()
    for _ in range(2):
        with open(ROOT / "sql" / "redis.sql", encoding="utf-8") as script:
            sandbox("sql", server.dir, stdin=script)
    server.execute(
        "CREATE TABLE test.user (id INT PRIMARY KEY, name VARCHAR(50), email VARCHAR(100), expires BIGINT, "
        "twice INT AS (id * 2))",
        "CREATE TABLE test.seat (row_name VARCHAR(3) NOT NULL, number INT NOT NULL, guest VARCHAR(50), "
        "UNIQUE by_number (number, row_name))",
        "CREATE TABLE test.no_key (a INT)",
    )
    yield server
    server.assert_alive()


def mapping(server, prefix):
    return server.query(
        "SELECT kind, db_schema, db_table, key_columns, value_columns, key_index, expire_column, expire_unit, options "
        "FROM postern.redis_maps WHERE prefix = %s",
        (prefix,),
    )


def test_the_script_makes_a_keyspace_and_can_be_run_again(server):
    assert mapping(server, "") == [
        ("generic", "postern_redis", "entries", "k", "v", "PRIMARY", "expires", "ms", ""),
    ]


def test_rows_are_mapped_with_the_key_that_the_table_has(server):
    server.query("CALL postern.redis_map_row('user:', 'test', 'user', '*')")
    assert mapping(server, "user:") == [
        ("row", "test", "user", "id", "name,email,expires", "PRIMARY", None, "ms", "no_flush")
    ]
    server.query("CALL postern.redis_map_expiry('user:', 'expires', 's')")
    assert mapping(server, "user:")[0][4:8] == ("name,email", "PRIMARY", "expires", "s")
    server.query("CALL postern.redis_map_row('seat:', 'test', 'seat', 'guest who')")
    assert mapping(server, "seat:")[0][3:6] == ("number,row_name", "guest who", "by_number")
    server.query("CALL postern.redis_unmap('seat:')")
    assert mapping(server, "seat:") == []


def test_a_column_is_mapped_as_strings(server):
    server.query("CALL postern.redis_map_value('guest:', 'test', 'seat', 'row_name,number', 'GUEST')")
    assert mapping(server, "guest:") == [
        ("value", "test", "seat", "number,row_name", "guest", "by_number", None, "ms", "no_flush")
    ]


def test_touch_makes_the_key_of_elements(server):
    server.execute("INSERT INTO postern_redis.hashes VALUES ('cart', 'a', '1'), ('cart', 'b', '2')")
    server.query("CALL postern.redis_touch('cart')")
    assert server.query("SELECT type, len FROM postern_redis.entries WHERE k = 'cart'") == [(4, 2)]
    assert server.query("SELECT f, v FROM postern_redis.v_hashes WHERE k = 'cart'") == [(b"a", b"1"), (b"b", b"2")]
    server.execute("DELETE FROM postern_redis.hashes WHERE k = 'cart'")
    server.query("CALL postern.redis_touch('cart')")
    assert server.query("SELECT * FROM postern_redis.entries WHERE k = 'cart'") == []


@pytest.mark.parametrize(
    "call, why",
    [
        ("redis_map_row('u:', 'test', 'no_key', '*')", "has no primary key or unique index, without NULL"),
        ("redis_map_row('u:', 'test', 'nowhere', '*')", "There is no table test.nowhere"),
        ("redis_map_row('u:', 'test', 'user', '')", "The mapping needs fields"),
        ("redis_map_row('u:', 'test', 'user', 'nope')", "has no column 'nope'"),
        ("redis_map_row('u:', 'test', 'user', 'id')", "is a key column"),
        ("redis_map_row('u:', 'test', 'user', 'name a, email a')", "The field 'a' is named twice"),
        ("redis_map_row('', 'test', 'user', '*')", "that of a generic keyspace"),
        ("redis_map_row(NULL, 'test', 'user', '*')", "but not NULL"),
        ("redis_map_row('u:', 'mysql', 'global_priv', '*')", "system schema"),
        ("redis_map_value('u:', 'test', 'user', 'name', 'email')", "of just name"),
        ("redis_map_value('u:', 'test', 'user', 'id', 'nope')", "has no column 'nope'"),
        ("redis_map_value('u:', 'test', 'user', '', 'email')", "has no column ''"),
        ("redis_map_expiry('nope:', 'expires', 's')", "There is no mapping of rows or values for 'nope:'"),
        ("redis_map_expiry('user:', 'name', 's')", "of type INT or BIGINT"),
        ("redis_map_expiry('user:', 'expires', 'd')", "The unit is"),
        ("redis_unmap('nope:')", "There is no mapping for 'nope:'"),
        ("redis_make_keyspace(16, '', 'r16')", "from 0 to 15"),
        ("redis_make_keyspace(1, '', 'postern_redis')", "is another keyspace already"),
        ("redis_make_keyspace(0, 'user:', 'r0')", "is mapped already"),
    ],
)
def test_what_cannot_work_is_refused_in_words(server, call, why):
    with pytest.raises(pymysql.MySQLError) as refused:
        server.query(f"CALL postern.{call}")
    assert why in refused.value.args[1]
