"""The rights of accounts: grants on each mapping's tables decide, inside commands of several steps, too."""
import pytest
from support.waiting import until

NO_KEY = "NOPERM this user has no permissions to access one of the keys used as arguments"


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory("--redis-auth=account", redis=True)
    server.execute(
        "CREATE TABLE test.user (id INT PRIMARY KEY, name VARCHAR(50), secret VARCHAR(50))",
        "CREATE TABLE test.mail (id INT PRIMARY KEY, address VARCHAR(50))",
        "INSERT INTO test.user VALUES (1, 'Ann', 's'), (2, 'Bob', 't')",
        "INSERT INTO test.mail VALUES (1, 'a@b')",
        "CREATE USER reader@localhost IDENTIFIED BY 'r'",
        "CREATE USER writer@localhost IDENTIFIED BY 'w'",
        "CREATE USER columns@localhost IDENTIFIED BY 'c'",
        "CREATE USER editor@localhost IDENTIFIED BY 'e'",
        "CREATE USER nobody@localhost IDENTIFIED BY 'n'",
        "GRANT SELECT ON test.user TO reader@localhost",
        "GRANT SELECT ON postern_redis.* TO reader@localhost",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON postern_redis.* TO writer@localhost",
        "GRANT SELECT, UPDATE ON test.user TO editor@localhost",
        "GRANT SELECT (id, name) ON test.user TO columns@localhost",
    )
    server.query("CALL postern.redis_map_row('user:', 'test', 'user', '*')")
    server.query("CALL postern.redis_map_value('mail:', 'test', 'mail', 'id', 'address')")
    with login(server, "reader") as redis:
        until(lambda: redis.ask_raw("HGET", "user:1", "name") == b"$3\r\nAnn\r\n", seconds=15)
    yield server
    server.assert_alive()


def login(server, name):
    client = server.resp()
    assert client.ask("AUTH", name, name[0]) == "OK"
    return client


def test_each_mapping_asks_for_its_own_grants(server):
    with login(server, "reader") as redis:
        assert redis.ask("HMGET", "user:1", "name", "secret") == [b"Ann", b"s"]
        assert redis.error("GET", "mail:1") == NO_KEY
        for command in ("HSET user:1 name x", "HDEL user:1 name", "DEL user:1", "SET k v", "INCR n", "HSET h f v"):
            assert redis.error(*command.split()) == NO_KEY, command
        assert redis.ask("GET", "k") is None
    assert server.query("SELECT COUNT(*) FROM postern_redis.entries") == [(0,)]
    assert server.query("SELECT name FROM test.user WHERE id = 1") == [("Ann",)]


def test_grants_of_columns(server):
    with login(server, "columns") as redis:
        assert redis.ask("HGET", "user:1", "name") == b"Ann"
        assert redis.error("HGET", "user:1", "secret") == NO_KEY
        assert redis.error("HGETALL", "user:1") == NO_KEY


def test_an_account_with_update_alone_changes_rows_and_makes_none(server):
    with login(server, "editor") as redis:
        assert redis.ask("HSET", "user:2", "secret", "u") == 0
        assert redis.error("HSET", "user:3", "name", "Cy") == NO_KEY
        assert redis.ask("HGET", "user:2", "secret") == b"u"
    assert server.query("SELECT COUNT(*) FROM test.user") == [(2,)]


def test_scans_pass_over_what_may_not_be_read(server):
    with login(server, "writer") as writer:
        assert writer.ask("SET", "own", "1") == "OK"
        assert writer.ask("KEYS", "*") == [b"own"]
        assert writer.ask("DBSIZE") == 1
        found, cursor = [], b"0"
        while True:
            cursor, keys = writer.ask("SCAN", cursor)
            found += keys
            if cursor == b"0":
                break
        assert found == [b"own"]
        with login(server, "reader") as reader:
            assert sorted(reader.ask("KEYS", "*")) == [b"own", b"user:1", b"user:2"]
        with login(server, "nobody") as nobody:
            assert nobody.ask("KEYS", "*") == []
            assert nobody.ask("SCAN", "0", "COUNT", "100")[1] == []
            assert nobody.error("GET", "own") == NO_KEY
        writer.ask("DEL", "own")


def test_a_command_of_several_steps_leaves_nothing_where_one_is_not_allowed(server):
    server.execute("REVOKE ALL PRIVILEGES, GRANT OPTION FROM writer@localhost")
    server.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON postern_redis.entries TO writer@localhost")
    with login(server, "writer") as redis:
        assert redis.error("HSET", "h", "f", "v") == NO_KEY
        assert redis.ask("EXISTS", "h") == 0
        assert redis.ask("MULTI") == "OK"
        for command in ("SET a 1", "HSET h f v", "SET b 2"):
            assert redis.ask(*command.split()) == "QUEUED"
        first, second, third = redis.ask("EXEC")
        assert (first, third) == ("OK", "OK") and str(second) == NO_KEY
        assert redis.ask("MGET", "a", "h", "b") == [b"1", None, b"2"]
        assert redis.ask("DEL", "a", "b") == 2
    server.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON postern_redis.* TO writer@localhost")


def test_neighbouring_commands_of_a_transaction_have_the_rights_of_their_account(server):
    with login(server, "writer") as writer:
        for key in "xy":
            assert writer.ask("SET", key, "v") == "OK"
    with login(server, "reader") as redis:
        assert redis.ask("MULTI") == "OK"
        commands = ("EXPIRE x 100", "EXPIRE y 100", "SET x w", "SET z v", "INCR n", "PERSIST y", "GET x")
        for command in commands:
            assert redis.ask(*command.split()) == "QUEUED"
        *refused, read = redis.ask("EXEC")
        assert [str(answer) for answer in refused] == [NO_KEY] * len(refused)
        assert read == b"v"
    assert server.query("SELECT k, v, expires FROM postern_redis.entries ORDER BY k") == [
        (b"x", b"v", 0),
        (b"y", b"v", 0),
    ]
    with login(server, "writer") as redis:
        assert redis.ask("DEL", "x", "y") == 2


def test_a_grant_that_is_taken_away_holds_within_a_second(server):
    with login(server, "writer") as redis:
        until(lambda: redis.ask_raw("SET", "k", "1") == b"+OK\r\n", seconds=5)
        server.execute("REVOKE INSERT ON postern_redis.* FROM writer@localhost")
        server.execute("REVOKE INSERT ON postern_redis.entries FROM writer@localhost")
        until(lambda: redis.ask_raw("SET", "k", "1").startswith(b"-NOPERM"), seconds=2)
        assert redis.ask("GET", "k") == b"1"
        server.execute("GRANT INSERT ON postern_redis.* TO writer@localhost")
        until(lambda: redis.ask_raw("SET", "k", "2") == b"+OK\r\n", seconds=2)
        redis.ask("DEL", "k")


def test_hello_and_auth_change_the_account(server):
    with server.resp() as redis:
        assert redis.ask("HELLO", "3", "AUTH", "reader", "r")[b"proto"] == 3
        assert redis.ask("HGET", "user:2", "name") == b"Bob"
        assert redis.ask("AUTH", "nobody", "n") == "OK"
        assert redis.error("HGET", "user:2", "name") == NO_KEY
        assert redis.error("HELLO", "2", "AUTH", "reader", "wrong").startswith("WRONGPASS")
        assert redis.error("HGET", "user:2", "name") == NO_KEY
        assert redis.ask("HELLO", "2", "AUTH", "reader", "r")
        assert redis.ask("HGET", "user:2", "name") == b"Bob"
