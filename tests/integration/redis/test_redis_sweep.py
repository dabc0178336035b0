"""The server deletes rows of expired keys, if it may write."""
import contextlib
import subprocess

import pytest
from support.replica import follow
from support.server import SERVER_DIR, Server
from support.waiting import until

BINARIES = SERVER_DIR / "root" / "usr" / "bin"
PAST = "UNIX_TIMESTAMP() * 1000 - 1000"


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(redis=True)
    server.execute(
        "CREATE TABLE test.session (id VARCHAR(20) PRIMARY KEY, name VARCHAR(20), until BIGINT NOT NULL DEFAULT 0, "
        "KEY (until))",
        "CREATE TABLE test.ticket (id INT, part INT, name VARCHAR(20), until INT UNSIGNED, PRIMARY KEY (id, part), "
        "KEY until (until))",
        "CREATE TABLE test.plain (id INT PRIMARY KEY, name VARCHAR(20), until BIGINT NOT NULL DEFAULT 0)",
        "CREATE TABLE test.kept (id INT PRIMARY KEY, name VARCHAR(20), until BIGINT NOT NULL DEFAULT 0, KEY (until))",
        "CREATE TABLE test.child (id INT PRIMARY KEY, session VARCHAR(20), "
        "FOREIGN KEY (session) REFERENCES test.session (id))",
    )
    for name, unit in (("session", "ms"), ("ticket", "s"), ("plain", "ms"), ("kept", "ms")):
        server.query(f"CALL postern.redis_map_row('{name}:', 'test', '{name}', 'name')")
        server.query(f"CALL postern.redis_map_expiry('{name}:', 'until', '{unit}')")
    server.execute("UPDATE postern.redis_maps SET options = 'no_flush,no_delete' WHERE prefix = 'kept:'")
    with server.resp() as redis:
        until(lambda: redis.ask_raw("HSET", "plain:0", "name", "x").startswith(b":"), seconds=15)
    yield server
    server.assert_alive()


@pytest.fixture
def redis(server):
    with server.resp() as client:
        yield client


def count(server, table, where="TRUE"):
    return server.query(f"SELECT COUNT(*) FROM {table} WHERE {where}")[0][0]


def test_expired_keys_go_with_their_elements(server, redis):
    before = server.status("Redis_rows_swept")["redis_rows_swept"]
    for number in range(250):
        redis.ask("SET", f"string{number}", "x", "PX", "50")
    redis.ask("HSET", "hash", "a", "1", "b", "2")
    redis.ask("PEXPIRE", "hash", "50")
    redis.ask("HSET", "live", "a", "1")
    redis.ask("EXPIRE", "live", "1000")
    until(lambda: count(server, "postern_redis.entries", "expires <> 0 AND k <> 'live'") == 0)
    assert server.query("SELECT k FROM postern_redis.hashes WHERE k IN ('hash', 'live')") == [(b"live",)]
    assert redis.ask("TTL", "live") > 900
    # Rows are counted at the end of the sweep.
    until(lambda: server.status("Redis_rows_swept")["redis_rows_swept"] - before >= 200)
    assert b"expired_keys:" in redis.ask("INFO", "stats")
    redis.ask("DEL", "live")


def test_expired_rows_of_mapped_tables_go_where_an_index_finds_them(server, redis):
    server.execute(
        f"INSERT INTO test.session SELECT CONCAT('s', seq), 'x', {PAST} FROM test.seq_1_to_150",
        "INSERT INTO test.session VALUES ('later', 'x', UNIX_TIMESTAMP() * 1000 + 600000), ('never', 'x', 0)",
        "INSERT INTO test.ticket SELECT seq, seq, 'x', UNIX_TIMESTAMP() - 10 FROM test.seq_1_to_10",
        "INSERT INTO test.ticket VALUES (100, 1, 'x', NULL), (101, 1, 'x', UNIX_TIMESTAMP() + 600)",
        f"INSERT INTO test.plain VALUES (1, 'x', {PAST})",
        f"INSERT INTO test.kept VALUES (1, 'x', {PAST})",
    )
    until(lambda: count(server, "test.session") == 2)
    until(lambda: count(server, "test.ticket") == 2)
    assert redis.ask("HGET", "plain:1", "name") is None
    assert count(server, "test.plain", "id = 1") == 1, "it has no index to find it by"
    assert count(server, "test.kept") == 1, "the mapping lets nothing be deleted"


def test_what_cannot_be_deleted_holds_up_nothing_else(server):
    server.execute(
        f"INSERT INTO test.session SELECT CONCAT('t', seq), 'x', {PAST} + 600000 FROM test.seq_1_to_20",
        "INSERT INTO test.child VALUES (1, 't2')",
    )
    with contextlib.closing(server.connect()) as holder, holder.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT * FROM test.session WHERE id = 't1' FOR UPDATE")
        server.execute("UPDATE test.session SET until = 1 WHERE id BETWEEN 't10' AND 't9' OR id = 't2'")
        until(lambda: count(server, "test.session", "id LIKE 't%'") == 2)
        holder.rollback()
    server.execute("UPDATE test.session SET until = 1 WHERE id = 't1'", "DELETE FROM test.child")
    until(lambda: count(server, "test.session", "id LIKE 't%'") == 0)


def test_ddl_comes_through(server):
    server.execute(
        f"INSERT INTO test.session (id, name, until) SELECT CONCAT('d', seq), 'x', {PAST} FROM test.seq_1_to_3000"
    )
    for number in range(5):
        server.execute(f"SET STATEMENT lock_wait_timeout = 5 FOR ALTER TABLE test.session ADD COLUMN c{number} INT")
    until(lambda: count(server, "test.session", "id LIKE 'd%'") == 0, seconds=30)


def test_a_read_only_server_deletes_nothing(server, redis):
    server.execute("SET GLOBAL read_only = 1")
    try:
        server.execute(f"INSERT INTO test.session (id, name, until) VALUES ('r', 'x', {PAST})")
        rounds_pass(server)
        assert count(server, "test.session", "id = 'r'") == 1
    finally:
        server.execute("SET GLOBAL read_only = 0")
    until(lambda: count(server, "test.session", "id = 'r'") == 0)


def rounds_pass(server):
    """Waits as long as two rounds would take a server that may write."""
    server.query("SELECT SLEEP(2.5)")


def test_it_can_be_turned_off(module_factory):
    server = module_factory("--redis-expire-sweep=0", redis=True)
    with server.resp() as redis:
        redis.ask("SET", "k", "x", "PX", "1")
        rounds_pass(server)
        assert redis.ask("GET", "k") is None
    assert count(server, "postern_redis.entries") == 1


def log_of(server, *options):
    """The server's binlog events as SQL."""
    file = server.dir / "data" / "bin.000001"
    told = subprocess.run([BINARIES / "mariadb-binlog", *options, file], check=True, stdout=subprocess.PIPE)
    return told.stdout


@contextlib.contextmanager
def replaying(server):
    """An SQL client that runs the statements sent to it."""
    command = [BINARIES / "mariadb", "--no-defaults", "--user=root", f"--socket={server.env['SQL_SOCKET']}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        yield client
        client.stdin.close()
        assert (client.wait(), client.stderr.read()) == (0, b"")


def send(client, server, sql):
    client.stdin.write(sql + b"REPLACE INTO test.sent VALUES (1);\n")
    client.stdin.flush()
    until(lambda: client.poll() is not None or count(server, "test.sent") == 1)
    server.execute("TRUNCATE test.sent")


def test_rows_are_replayed_from_a_binary_log_beside_the_sweep(module_factory):
    """Replays as a point-in-time recovery does, in one session or in several, with pauses."""
    primary = module_factory("--log-bin=bin", "--server-id=1", redis=True)
    with primary.resp() as redis:
        for number in range(10):
            redis.ask("SET", f"session{number}", "v", "PX", "200")
            redis.ask("RPUSH", f"queue{number}", "a", "b")
        redis.ask("PEXPIRE", "queue1", "200")
        position = primary.query("SHOW MASTER STATUS")[0][1]
        for number in range(10):
            redis.ask("PEXPIRE", f"queue{number}", "300")
            redis.ask("EXPIRE", f"session{number}", "1")
        until(lambda: count(primary, "postern_redis.entries") == 0)
        redis.ask("SET", "after", "x")
    for options in ((), ("--read-only",)):
        target = module_factory("--server-id=2", *options)
        target.execute("CREATE TABLE test.sent (id INT PRIMARY KEY)")
        first, last = log_of(primary, f"--stop-position={position}"), log_of(primary, f"--start-position={position}")
        with replaying(target) as client:
            send(client, target, first)
            rounds_pass(target)
            if options:
                client.stdin.write(last)
        if not options:
            rounds_pass(target)
            with replaying(target) as client:
                client.stdin.write(last)
        assert target.query("SELECT k FROM postern_redis.entries") == [(b"after",)]
        assert target.status("Redis_rows_swept")["redis_rows_swept"] == 0


def test_a_replica_leaves_it_to_its_primary(tmp_path):
    servers = [Server(tmp_path / "primary"), Server(tmp_path / "replica")]
    try:
        servers[0].start("--log-bin=bin", "--server-id=1", "--redis-expire-sweep=0", redis=True)
        servers[1].start("--log-bin=bin", "--server-id=2", redis=True)
        with servers[1].resp() as redis:
            redis.ask("SET", "here", "x", "PX", "1")
            until(lambda: count(servers[1], "postern_redis.entries") == 0)
        servers[1].execute("RESET MASTER", "DROP DATABASE postern_redis", "DROP DATABASE postern", "RESET MASTER")
        follow(*servers)
        with servers[0].resp() as redis:
            redis.ask("SET", "there", "x", "PX", "1")
        entries = "TABLE_SCHEMA = 'postern_redis' AND TABLE_NAME = 'entries'"
        until(lambda: count(servers[1], "information_schema.TABLES", entries) == 1)
        until(lambda: count(servers[1], "postern_redis.entries") == 1)
        rounds_pass(servers[1])
        assert count(servers[1], "postern_redis.entries") == 1
        servers[1].execute("STOP SLAVE")
        rounds_pass(servers[1])
        assert count(servers[1], "postern_redis.entries") == 1, "stopped, it is one all the same"
    finally:
        for server in servers:
            with contextlib.suppress(AssertionError):
                server.execute("STOP SLAVE")
            server.stop()
