"""Which tables the memcached door serves and how: every form of mapping, invalid ones, changes at run time,
policies."""
import contextlib
import select
import time

import pymysql
import pytest
from support.clients import mc
from support.clients.mc import map_table, until_mapped
from support.waiting import until

COLUMNS = (
    "name",
    "db_schema",
    "db_table",
    "key_columns",
    "value_columns",
    "flags",
    "cas_column",
    "expire_time_column",
    "unique_idx_name_on_key",
)


@pytest.fixture(scope="module")
def door(module_factory):
    server = module_factory(containers=True)
    until_mapped(server, "aaa")
    yield server
    server.assert_alive()


def map_by_hand(door, name, table, key, value, flags="0", cas="0", expiry="0", index="PRIMARY", wait=True):
    door.query(
        f"REPLACE INTO innodb_memcache.containers VALUES ({', '.join(['%s'] * len(COLUMNS))})",
        (name, "test", table, key, value, flags, cas, expiry, index),
    )
    if wait:
        until_mapped(door, name, f"test/{table}")


def refusal(door, *arguments):
    with pytest.raises(pymysql.MySQLError) as refused:
        door.query(f"CALL postern.map_table({', '.join(['%s'] * len(arguments))})", arguments)
    return refused.value.args[1]


def test_map_table_takes_the_index_and_the_columns_there_are(door):
    door.execute(
        "CREATE TABLE test.shop (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b VARCHAR(20) NOT NULL, "
        "price INT, name VARCHAR(50), flags INT, cas BIGINT UNSIGNED, expire_time INT, UNIQUE ba (b, a))"
    )
    map_table(door, "shop", "test", "shop", "A, b", "name,price")
    assert door.query("SELECT * FROM innodb_memcache.containers WHERE name = 'shop'") == [
        ("shop", "test", "shop", "b,a", "name,price", "flags", "cas", "expire_time", "ba")
    ]
    with door.mc() as one:
        assert one.set("@@shop.pen|7", "A pen|120", flags=3) == "STORED"
        assert one.gets("pen|7")[:2] == (3, b"A pen|120")
        assert one.set("pen|7", "A better pen|150") == "STORED"
    assert door.query("SELECT id, a, b, price, name FROM test.shop") == [(1, 7, "pen", 150, "A better pen")]
    map_table(door, "shop", "test", "shop", "id", "name")
    with door.mc() as one:

        def by_id():
            try:
                return one.get("@@shop.1") == b"A better pen"
            except mc.ServerSays:
                return False

        until(by_id)
    door.execute("CALL postern.unmap_table('shop')")
    with door.mc() as one:
        until(lambda: one.get("@@shop") is None)
    with pytest.raises(pymysql.MySQLError, match="There is no container 'shop'"):
        door.execute("CALL postern.unmap_table('shop')")


def test_map_table_reports_errors(door):
    door.execute(
        "CREATE TABLE test.t1 (id INT PRIMARY KEY, a INT, b INT NOT NULL, v VARCHAR(9), UNIQUE (a), KEY (b), "
        "UNIQUE p (v(3)))",
        "CREATE VIEW test.v1 AS SELECT * FROM test.t1",
    )
    assert refusal(door, "x", "test", "nowhere", "id", "v") == "There is no table test.nowhere"
    assert refusal(door, "x", "test", "v1", "id", "v") == "There is no table test.v1"
    assert refusal(door, "x", "test", "t1", "id", "w") == "The table test.t1 has no column 'w'"
    assert refusal(door, "x", "test", "t1", "", "v") == "The table test.t1 has no column ''"
    assert refusal(door, "x", "test", "t1", "id", "id") == "The column 'id' is named twice"
    for key in ("a", "b", "v", "id,b"):
        assert (
            refusal(door, "x", "test", "t1", key, "v" if key != "v" else "a")
            == f"The table test.t1 has no primary key or unique index, without NULL, of just {key}"
        )
    assert refusal(door, "", "test", "t1", "id", "v") == "The container needs a name"
    assert door.query("SELECT COUNT(*) FROM innodb_memcache.containers WHERE name IN ('x', '')") == [(0,)]


@pytest.mark.parametrize(
    "key_type, key",
    [
        ("INT", "-42"),
        ("BIGINT UNSIGNED", "18446744073709551615"),
        ("CHAR(10)", "abc"),
        ("VARCHAR(10)", "abc"),
        ("VARBINARY(10)", "abc"),
        ("BINARY(3)", "abc"),
        ("DATE", "2026-11-21"),
        ("DECIMAL(5,2)", "1.50"),
        ("ENUM('a','b')", "b"),
        ("UUID", "123e4567-e89b-12d3-a456-426655440000"),
    ],
)
@pytest.mark.parametrize(
    "value_type, value",
    [
        ("INT", "-7"),
        ("BIGINT UNSIGNED", "18446744073709551615"),
        ("VARCHAR(20)", "grün"),
        ("TEXT", "text"),
        ("BLOB", "blob"),
        ("DOUBLE", "1.5"),
        ("DATETIME", "2026-11-21 12:00:00"),
        ("JSON", '{"a":1}'),
    ],
)
def test_types_of_keys_and_values(door, key_type, key, value_type, value):
    door.execute(f"CREATE OR REPLACE TABLE test.typed (k {key_type} PRIMARY KEY, v {value_type}) CHARACTER SET utf8mb4")
    map_by_hand(door, "typed", "typed", "k", "v")
    with door.mc() as one:
        assert one.get("@@typed") == b"test/typed"
        assert one.set(key, value.encode()) == "STORED"
        assert one.get(key) == value.encode()
        assert one.store("add", key, value.encode()) == "NOT_STORED"
        assert door.query("SELECT COUNT(*) FROM test.typed WHERE k = %s", (key,)) == [(1,)]
        assert one.ask(f"delete {key}") == "DELETED"


def test_columns_that_are_not_there(door):
    door.execute("CREATE TABLE test.bare (k VARCHAR(20) PRIMARY KEY, v TEXT)")
    map_by_hand(door, "bare", "bare", "k", "v")
    with door.mc() as one:
        for _ in range(2):
            assert one.set("@@bare.k", "v", flags=9, expiry=-1) == "STORED", "the same again, too"
        assert [one.store("replace", "k", "v"), one.store("append", "k", ""), one.ask("mg k")] == [
            "STORED",
            "STORED",
            "HD",
        ]
        assert one.gets("k") == (0, b"v", 0)
        assert one.store("cas", "k", "x", tail=" 1") == "CLIENT_ERROR The container has no cas_column"
        assert [one.ask("touch k 1"), one.ask("touch z 1")] == ["TOUCHED", "NOT_FOUND"]
        assert one.get("5", "k", command="gat") == {"k": b"v"}


@pytest.mark.parametrize("columns", ["a,b,c", "a;b;c", "a b c", "a|b|c", " a , b ,c "])
def test_lists_of_columns(door, columns):
    door.execute("CREATE OR REPLACE TABLE test.three (k INT PRIMARY KEY, a VARCHAR(9), b INT, c VARCHAR(9))")
    map_by_hand(door, "three", "three", "k", columns)
    with door.mc() as one:
        assert one.set("@@three.1", "x|2|y|z") == "STORED"
        assert one.get("1") == b"x|2|y|z"
        assert one.set("1", "x") == "STORED"
        assert one.get("1") == b"x||"
    assert door.query("SELECT * FROM test.three") == [(1, "x", None, None)]


def test_names_that_need_quotes(door):
    door.execute("CREATE TABLE test.`odd ``name` (`the``key` INT PRIMARY KEY, `v-1` TEXT, `größe` INT)")
    map_by_hand(door, "odd", "odd `name", "the`key", "v-1,größe")
    with door.mc() as one:
        assert one.set("@@odd.1", "a|2") == "STORED"
        assert one.get("1") == b"a|2"


def test_flags_in_a_column_with_a_sign(door):
    door.execute("CREATE TABLE test.signed (k VARCHAR(20) PRIMARY KEY, v TEXT, f INT)")
    map_by_hand(door, "signed", "signed", "k", "v", flags="f")
    with door.mc() as one:
        assert one.set("@@signed.k", "v", flags=2**31 - 1) == "STORED"
        said = one.set("k", "w", flags=2**31)
        assert said.startswith("CLIENT_ERROR ") and "'f'" in said
        assert one.gets("k")[:2] == (2**31 - 1, b"v")
        door.execute("UPDATE test.signed SET f = -1")
        assert one.gets("k")[0] == 0
        door.execute("ALTER TABLE test.signed MODIFY f BIGINT", "UPDATE test.signed SET f = 4294967296 + 7")
        assert one.gets("k")[0] == 7


def test_a_secondary_unique_index(door):
    door.execute(
        "CREATE TABLE test.users (id INT AUTO_INCREMENT PRIMARY KEY, mail VARCHAR(50) NOT NULL, name VARCHAR(20), "
        "nick VARCHAR(20), UNIQUE m (mail), UNIQUE (nick))"
    )
    map_by_hand(door, "users", "users", "mail", "name,nick", index="m")
    with door.mc() as one:
        assert one.set("@@users.a@x", "Ann|a") == "STORED"
        assert one.set("b@x", "Bob|b") == "STORED"
        assert one.set("b@x", "Bob|a").startswith("CLIENT_ERROR Duplicate entry 'a'"), "that is another item's"
        assert one.get("a@x", "b@x") == {"a@x": b"Ann|a", "b@x": b"Bob|b"}


WRONG = {
    "no_table": dict(table="nowhere", key="k", value="v", says="doesn't exist"),
    "no_index": dict(index="nope", says="nope"),
    "not_unique": dict(key="b", index="b", says="is not a unique index on exactly"),
    "part_of_key": dict(key="c", index="cd", says="is not a unique index on exactly"),
    "no_column": dict(value="nope", says="nope"),
    "no_flags": dict(flags="nope", says="nope"),
    "no_value": dict(value="", says="value_columns names no column"),
    "no_key": dict(key="", says="key_columns names no column"),
    "no_index_named": dict(index="", says="unique_idx_name_on_key is empty"),
    "a_view": dict(table="wrong_view", says="container"),
}


def test_a_column_without_default_matters_only_to_a_new_row(door):
    door.execute(
        "CREATE TABLE test.lacks (k VARCHAR(20) PRIMARY KEY, n INT UNSIGNED NOT NULL, title VARCHAR(20) NOT NULL)",
        "INSERT INTO test.lacks VALUES ('a', 1, 'A title')",
    )
    map_by_hand(door, "lacks", "lacks", "k", "n")
    with door.mc() as one:
        assert one.set("@@lacks.a", "5") == "STORED"
        assert one.ask("incr a 2") == "7" and one.store("append", "a", "1") == "STORED"
        assert one.store("add", "a", "1") == "NOT_STORED"
        assert "'title' doesn't have a default value" in one.set("b", "5")
        assert "'title' doesn't have a default value" in one.store("add", "b", "1")
    assert door.query("SELECT * FROM test.lacks") == [("a", 71, "A title")]


def test_triggers_of_an_insert_fire_where_the_row_is_there(door):
    door.execute(
        "CREATE TABLE test.fired (k VARCHAR(20) PRIMARY KEY, v VARCHAR(20), seen INT NOT NULL DEFAULT 0)",
        "INSERT INTO test.fired VALUES ('a', 'old', 0)",
        "CREATE TRIGGER test.fired_before BEFORE INSERT ON test.fired FOR EACH ROW SET NEW.v = UPPER(NEW.v)",
        "CREATE TRIGGER test.fired_update BEFORE UPDATE ON test.fired FOR EACH ROW SET NEW.seen = OLD.seen + 1",
    )
    map_by_hand(door, "fired", "fired", "k", "v")
    with door.mc() as one:
        assert one.set("@@fired.a", "new") == "STORED" and one.set("b", "made") == "STORED"
    assert door.query("SELECT * FROM test.fired ORDER BY k") == [("a", "new", 1), ("b", "MADE", 0)]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_container_is_logged_and_harms_no_other(door, name):
    door.execute(
        "CREATE TABLE IF NOT EXISTS test.wrong (k INT PRIMARY KEY, v TEXT, b INT NOT NULL, c INT NOT NULL, "
        "d INT NOT NULL, KEY b (b), UNIQUE cd (c, d))",
        "CREATE OR REPLACE VIEW test.wrong_view AS SELECT * FROM test.wrong",
    )
    wrong = dict(WRONG[name])
    says = wrong.pop("says")
    map_by_hand(
        door,
        f"w_{name}",
        wrong.pop("table", "wrong"),
        wrong.pop("key", "k"),
        wrong.pop("value", "v"),
        wait=False,
        **wrong,
    )
    with door.mc() as one:

        def told():
            try:
                return one.get(f"@@w_{name}.1") and False
            except mc.ServerSays as line:
                assert str(line).startswith("SERVER_ERROR ") and says in str(line), line
                return True

        until(told)
        assert told(), "and it goes on being told"
        assert one.get("@@aaa.AA") == b"HELLO, HELLO"
    assert door.log().count(f"container 'w_{name}'") == 1, "once in the log"
    door.execute(f"DELETE FROM innodb_memcache.containers WHERE name = 'w_{name}'")


def test_a_container_that_becomes_right(door):
    map_by_hand(door, "late", "late", "k", "v", wait=False)
    with door.mc() as one:
        with pytest.raises(mc.ServerSays):
            until(lambda: one.get("@@late.1"))
        door.execute("CREATE TABLE test.late (k INT PRIMARY KEY, v TEXT)", "INSERT INTO test.late VALUES (1, 'one')")
        assert one.get("1") == b"one"


def test_the_index_changes_under_a_client(door):
    door.execute(
        "CREATE TABLE test.changing (k INT NOT NULL, v TEXT, UNIQUE u (k))",
        "INSERT INTO test.changing VALUES (1, 'one')",
    )
    map_by_hand(door, "changing", "changing", "k", "v", index="u")
    with door.mc() as one:
        assert one.get("@@changing.1") == b"one"
        door.execute("ALTER TABLE test.changing DROP INDEX u, ADD INDEX u (k)")
        with pytest.raises(mc.ServerSays, match="not a unique index"):
            one.get("1")
        door.execute("ALTER TABLE test.changing DROP INDEX u, ADD UNIQUE u (k)")
        assert one.get("1") == b"one"


def test_a_client_follows_its_container(door):
    door.execute(
        "CREATE TABLE test.old (k INT PRIMARY KEY, v TEXT)",
        "CREATE TABLE test.new LIKE test.old",
        "INSERT INTO test.old VALUES (1, 'old')",
        "INSERT INTO test.new VALUES (1, 'new')",
    )
    map_by_hand(door, "moving", "old", "k", "v")
    with door.mc() as one, door.mc() as sleeper:
        assert one.get("@@moving.1") == b"old" and sleeper.get("@@moving.1") == b"old"
        map_by_hand(door, "moving", "new", "k", "v")
        assert one.get("1") == b"new"
        assert sleeper.get("1") == b"new"
        door.execute("DELETE FROM innodb_memcache.containers WHERE name = 'moving'")
        with pytest.raises(mc.ServerSays, match="no longer"):
            until(lambda: one.get("1") is None)


def test_separator_and_delimiter(door):
    door.execute("CREATE TABLE test.joined (a INT, b INT, x TEXT, y TEXT, PRIMARY KEY (a, b))")
    map_by_hand(door, "joined", "joined", "a,b", "x,y")
    door.execute(
        "UPDATE innodb_memcache.config_options SET value = '::' WHERE name = 'separator'",
        "UPDATE innodb_memcache.config_options SET value = '/' WHERE name = 'table_map_delimiter'",
    )
    try:
        with door.mc() as one:
            until(lambda: one.set("@@joined/1::2", "x::y") == "STORED")
            assert one.get("1::2") == b"x::y"
            assert one.set("1", "x").startswith("CLIENT_ERROR")
        assert door.query("SELECT * FROM test.joined") == [(1, 2, "x", "y")]
    finally:
        door.execute(
            "UPDATE innodb_memcache.config_options SET value = '|' WHERE name = 'separator'",
            "UPDATE innodb_memcache.config_options SET value = '.' WHERE name = 'table_map_delimiter'",
        )
        with door.mc() as one:
            until(lambda: one.get("@@aaa.AA") is not None)


def set_policies(door, get, put, delete, flush):
    door.execute(
        f"UPDATE innodb_memcache.cache_policies SET get_policy = '{get}', set_policy = '{put}', "
        f"delete_policy = '{delete}', flush_policy = '{flush}'"
    )


def test_policies(door):
    door.execute(
        "CREATE TABLE test.policed (k VARCHAR(20) PRIMARY KEY, v TEXT)", "INSERT INTO test.policed VALUES ('sql', 'x')"
    )
    map_by_hand(door, "policed", "policed", "k", "v")
    try:
        with door.mc() as one:
            assert one.get("@@policed.sql") == b"x"
            set_policies(door, *["cache_only"] * 4)
            until(lambda: one.get("sql") is None)
            assert one.set("m", "memory") == "STORED"
            assert one.get("m") == b"memory"
            assert [one.ask("incr m 1"), one.store("add", "m", 1)] == [
                "CLIENT_ERROR cannot increment or decrement non-numeric value",
                "NOT_STORED",
            ]
            assert one.stats()["curr_items"] == "1"
            set_policies(door, *["caching"] * 4)
            until(lambda: one.get("sql") == b"x")
            assert one.get("m") is None
            door.execute("UPDATE test.policed SET v = 'y'")
            assert one.get("sql") == b"y"
            set_policies(door, *["disabled"] * 4)
            until(lambda: one.get("sql") is None)
            assert [one.set("sql", 1), one.ask("delete sql"), one.ask("flush_all")] == ["STORED", "DELETED", "OK"]
        assert door.query("SELECT * FROM test.policed") == [("sql", "y")]
    finally:
        set_policies(door, *["innodb_only"] * 4)
        with door.mc() as one:
            until(lambda: one.get("@@aaa.AA") == b"HELLO, HELLO")


def test_policies_and_options_may_be_missing(door):
    door.execute(
        "RENAME TABLE innodb_memcache.cache_policies TO innodb_memcache.p, innodb_memcache.config_options TO innodb_memcache.o"
    )
    try:
        with door.mc() as one:

            def counted():
                stats = one.stats()
                return [int(stats[f"postern_requests_{name}"]) for name in ("open", "failed")]

            opens, failed = counted()
            # Each reload opens three tables.
            until(lambda: one.get("@@aaa.AA") == b"HELLO, HELLO" and counted()[0] >= opens + 3 * 3)
            assert counted()[1] == failed, "they are no client's requests"
        for name in ("cache_policies", "config_options"):
            assert door.log().count(f"innodb_memcache.{name} cannot be read") == 1
    finally:
        door.execute(
            "RENAME TABLE innodb_memcache.p TO innodb_memcache.cache_policies, innodb_memcache.o TO innodb_memcache.config_options"
        )


def test_mysqls_documented_configuration_can_be_copied(door):
    """The rows in MySQL's manual work."""
    door.execute(
        "CREATE TABLE test.multi_col (id VARCHAR(128) NOT NULL, value1 TEXT, value2 INT, flags INT, cas_column BIGINT, "
        "expire_time INT, PRIMARY KEY (id))"
    )
    door.query(
        "INSERT INTO innodb_memcache.containers VALUES ('bbb', 'test', 'multi_col', 'id', 'value1,value2', 'flags', "
        "'cas_column', 'expire_time', 'PRIMARY')"
    )
    until_mapped(door, "bbb", "test/multi_col")
    with door.mc() as one:
        assert one.set("@@bbb.k", "text|5", flags=1) == "STORED"
        assert one.ask("incr k 2") == "7", "on the column that the flags name"
        assert one.get("k") == b"text|7"


def test_while_the_mapping_is_held_one_client_at_most_waits_for_it(door):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(door.mc(timeout=30)) for _ in range(10)]
        for one in clients:
            assert one.get("@@aaa.AA") == b"HELLO, HELLO"
        holder = stack.enter_context(contextlib.closing(door.connect()))
        with holder.cursor() as cursor:
            cursor.execute("LOCK TABLES innodb_memcache.containers WRITE")
            waiting = set()
            end = time.monotonic() + 3
            while time.monotonic() < end:
                for number, one in enumerate(clients):
                    if number in waiting:
                        continue
                    one.send(b"get AA\r\n")
                    if not select.select([one.socket], [], [], 1)[0]:
                        waiting.add(number)
                    else:
                        assert [item[2] for item in one.items()] == [b"HELLO, HELLO"]
            assert len(waiting) == 1
            cursor.execute("UNLOCK TABLES")
        for number in waiting:
            assert [item[2] for item in clients[number].items()] == [b"HELLO, HELLO"]
