"""MULTI, EXEC, DISCARD, WATCH and UNWATCH: they work as in Redis, as one transaction of the database."""
import contextlib
import random
import threading

import pytest
from support.clients import resp
from support.replica import catch_up, follow
from support.clients.resp import encode
from support.server import Server
from support.waiting import until


class Error(str):
    """An error reply, which may be one of the replies in a transaction."""


class Client(resp.Client):
    def read(self):
        return plain(resp.decode, self.raw())

    def ask(self, *words):
        return plain(super().ask, *words)

    def ask_line(self, line):
        """Sends a command of words without blanks."""
        return self.ask(*line.split())


def plain(act, *arguments):
    try:
        reply = act(*arguments)
    except resp.Error as error:
        return Error(error)
    return [Error(one) if isinstance(one, resp.Error) else one for one in reply] if isinstance(reply, list) else reply


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(redis=True)
    server.execute(
        "CREATE TABLE test.account (id INT PRIMARY KEY, owner VARCHAR(20), balance INT CHECK (balance >= 0))",
        "INSERT INTO test.account VALUES (1, 'Ann', 100), (2, 'Bob', 100)",
    )
    server.query("CALL postern.redis_map_value('balance:', 'test', 'account', 'id', 'balance')")
    with Client(server.env["REDIS_PORT"]) as client:
        until(lambda: client.ask("GET", "balance:1") == b"100", 20)
    yield server
    server.assert_alive()


@pytest.fixture
def client(server):
    with Client(server.env["REDIS_PORT"]) as client:
        yield client


def transact(client, *lines):
    client.ask("MULTI")
    for line in lines:
        assert client.ask_line(line) == "QUEUED"
    return client.ask("EXEC")


def test_commands_are_done_together_and_in_order(client):
    assert transact(client, "SET a 1", "INCR a", "GET a", "APPEND a x", "GET a") == ["OK", 2, b"2", 2, b"2x"]
    assert client.ask("GET", "a") == b"2x"
    assert transact(client) == []
    assert transact(client, "GET a", "GET nothing", "STRLEN a") == [b"2x", None, 2]


def test_a_command_that_fails_has_its_error_in_its_place(client):
    client.ask("SET", "word", "abc")
    results = transact(client, "SET b 1", "INCR word", "INCR b")
    assert results == ["OK", Error("ERR value is not an integer or out of range"), 2]
    assert client.ask("GET", "b") == b"2"


def test_of_many_commands_the_one_that_fails_is_undone_alone(client, server):
    client.ask("SET", "word", "abc")
    lines = [line for i in range(8) for line in (f"SET k{i} 1", f"INCR k{i}", "INCR count", "EXPIRE k0 100")]
    lines[21:21] = ["INCR word", "SADD s a b", "INCR word", "GET k3"]
    before = server.status("Redis_requests_failed")["redis_requests_failed"]
    results = transact(client, *lines)
    wrong = Error("ERR value is not an integer or out of range")
    assert results[21:25] == [wrong, 2, wrong, b"2"]
    del results[21:25]
    assert results == [result for i in range(8) for result in ("OK", 2, i + 1, 1)]
    assert client.ask("GET", "count") == b"8"
    assert client.ask("GET", "k7") == b"2"
    assert server.status("Redis_requests_failed")["redis_requests_failed"] - before <= 2


def test_what_many_transactions_held_goes_back(server):
    def hold():
        with contextlib.ExitStack() as stack:
            for _ in range(200):
                one = stack.enter_context(server.resp())
                one.send(encode("MULTI") + b"".join(encode("SET", f"k{i}", b"x" * 100_000) for i in range(10)))
                assert [one.raw() for _ in range(11)] == [b"+OK\r\n"] + [b"+QUEUED\r\n"] * 10
            assert server.memory_kib("RssAnon") - before > 150 << 10
        until(lambda: server.status("Redis_connections")["redis_connections"] == 0)

    before = server.memory_kib("RssAnon")
    for _ in range(3):
        hold()
        assert server.memory_kib("RssAnon") - before < 40 << 10


def test_a_command_that_the_database_refuses_is_undone_by_itself(client, server):
    results = transact(client, "SET balance:1 70", "SET balance:2 -30", "SET c 1")
    assert results[0] == "OK" and results[2] == "OK"
    assert isinstance(results[1], Error)
    assert server.query("SELECT balance FROM test.account ORDER BY id") == [(70,), (100,)]


def test_a_transaction_with_a_mistake_is_not_carried_out(client):
    for mistake in ("NOSUCH x", "GET", "SET k"):
        client.ask("MULTI")
        client.ask_line("SET mistaken 1")
        assert isinstance(client.ask_line(mistake), Error)
        assert client.ask("EXEC") == "EXECABORT Transaction discarded because of previous errors."
        assert client.ask("GET", "mistaken") is None


def test_words_of_its_commands(client):
    assert client.ask("EXEC") == "ERR EXEC without MULTI"
    assert client.ask("DISCARD") == "ERR DISCARD without MULTI"
    assert client.ask("MULTI") == "OK"
    assert client.ask("MULTI") == "ERR MULTI calls can not be nested"
    assert client.ask("WATCH", "k") == "ERR WATCH inside MULTI is not allowed"
    assert client.ask_line("SET discarded 1") == "QUEUED"
    assert client.ask("DISCARD") == "OK"
    assert client.ask("GET", "discarded") is None
    assert client.ask("UNWATCH") == "OK"


def test_a_closed_connection_discards(client, server):
    with Client(server.env["REDIS_PORT"]) as other:
        other.ask("MULTI")
        other.ask_line("SET closed 1")
    assert client.ask("GET", "closed") is None


@pytest.mark.parametrize("commands", [["GET w"], ["SET done 1"], []])
def test_watch_notices_every_committed_change(client, server, commands):
    def sql(statement):
        return lambda: server.execute(f"UPDATE postern_redis.entries SET {statement} WHERE k = 'w'")

    changes = [
        lambda: client.ask("SET", "w", "2"),
        lambda: client.ask("APPEND", "w", ""),
        sql("v = 'by SQL'"),
        sql("expires = 1"),
        lambda: server.execute("DELETE FROM postern_redis.entries WHERE k = 'w'"),
        lambda: server.execute("INSERT INTO postern_redis.entries (k, type, v) VALUES ('w2', 1, 'x')"),
    ]
    for change in changes:
        client.ask("SET", "w", "1")
        server.execute("DELETE FROM postern_redis.entries WHERE k IN ('w2', 'done')")
        for changed in (False, True):
            client.ask("WATCH", "w", "w2")
            if changed:
                change()
            results = transact(client, *commands)
            assert (results is None) == changed
            assert client.ask("GET", "done") == (b"1" if "SET done 1" in commands and not changed else None)
            client.ask("SET", "done", "")
            server.execute("DELETE FROM postern_redis.entries WHERE k = 'done'")


def test_watch_is_forgotten(client):
    for forget in ("UNWATCH", "EXEC", "DISCARD"):
        client.ask("WATCH", "f")
        client.ask("SET", "f", random.random())
        if forget != "UNWATCH":
            client.ask("MULTI")
        client.ask(forget)
        assert transact(client, "GET f") is not None


def test_watch_of_a_mapped_row_notices_sql(client, server):
    client.ask("WATCH", "balance:2")
    server.execute("UPDATE test.account SET balance = balance + 1 WHERE id = 2")
    assert transact(client, "SET balance:2 1") is None
    client.ask("WATCH", "balance:2")
    server.execute("UPDATE test.account SET owner = 'Bert' WHERE id = 2")
    assert transact(client, "SET balance:2 1") == ["OK"], "another column is none of its value"


def test_a_pipeline_may_hold_all_of_it(client):
    client.ask("SET", "p", "1")
    lines = ["WATCH p", "MULTI", "INCR p", "EXEC", "MULTI", "INCR p", "EXEC", "GET p"]
    for line in lines:
        client.send(encode(*line.split()))
    assert [client.read() for _ in lines] == ["OK", "OK", "QUEUED", [2], "OK", "QUEUED", [3], b"3"]
    lines = ["WATCH p", "SET p 5", "MULTI", "INCR p", "EXEC", "GET p"]
    for line in lines:
        client.send(encode(*line.split()))
    assert [client.read() for _ in lines] == ["OK", "OK", "OK", "QUEUED", None, b"5"]


def test_random_sessions_are_answered_as_by_redis(server, original):
    random.seed(7)
    ours = [Client(server.env["REDIS_PORT"]) for _ in range(3)]
    theirs = [Client(original.port) for _ in range(3)]
    keys = [f"r{i}" for i in range(4)]

    def command():
        key = random.choice(keys)
        return random.choice(
            [
                f"SET {key} {random.choice(['1', '41', 'x', '-7'])}",
                f"SET {key} 5 NX",
                f"SET {key} 6 XX GET",
                f"GET {key}",
                f"INCR {key}",
                f"DECRBY {key} 3",
                f"APPEND {key} 4",
                f"GETDEL {key}",
                f"STRLEN {key}",
                f"SETRANGE {key} 1 z",
                f"GETSET {key} {random.randrange(9)}",
                "INCR",
                "NOSUCH 1 2",
                "PING",
            ]
        )

    for _ in range(3_000):
        line = random.choice([command(), command(), command(), "MULTI", "EXEC", "EXEC", "DISCARD", "UNWATCH"])
        if random.random() < 0.1:
            line = f"WATCH {random.choice(keys)} {random.choice(keys)}"
        which = random.randrange(3)
        assert ours[which].ask_line(line) == theirs[which].ask_line(line), line
    for client in ours + theirs:
        client.close()


def test_transactions_in_opposite_order_are_all_done(server):
    rounds = 60
    failures = []

    def work(lines):
        with Client(server.env["REDIS_PORT"]) as client:
            for _ in range(rounds):
                results = transact(client, *lines)
                if isinstance(results, Error) or any(isinstance(one, Error) for one in results):
                    failures.append(results)

    orders = [["INCR o1", "INCR o2", "INCR o3"], ["INCR o3", "INCR o2", "INCR o1"]] * 2
    threads = [threading.Thread(target=work, args=(lines,)) for lines in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    with Client(server.env["REDIS_PORT"]) as client:
        assert [client.ask("GET", key) for key in ("o1", "o2", "o3")] == [str(4 * rounds).encode()] * 3


def test_watched_counters_lose_no_count(server):
    """Many clients increment a counter by WATCH, GET, MULTI, SET, EXEC: a client tries again when EXEC fails."""
    done = []

    def work():
        with Client(server.env["REDIS_PORT"]) as client:
            for _ in range(25):
                while True:
                    client.ask("WATCH", "counted")
                    number = int(client.ask("GET", "counted") or 0)
                    results = transact(client, f"SET counted {number + 1}")
                    if results == ["OK"]:
                        done.append(1)
                        break
                    assert results is None, results

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Client(server.env["REDIS_PORT"]) as client:
        assert client.ask("GET", "counted") == str(len(done)).encode() == b"100"


def test_with_exec_rollback_one_error_undoes_all(module_factory):
    server = module_factory("--redis-exec-rollback=ON", redis=True)
    with Client(server.env["REDIS_PORT"]) as client:
        client.ask("SET", "word", "abc")
        assert transact(client, "SET b 1", "INCR word", "SET c 1") == Error(
            "EXECABORT Transaction discarded because of: ERR value is not an integer or out of range"
        )
        assert [client.ask("GET", key) for key in "bc"] == [None, None]
        assert transact(client, "SET b 1", "GET b") == ["OK", b"1"]


def test_a_crash_and_a_replica_see_whole_transactions(tmp_path):
    servers = [Server(tmp_path / "primary"), Server(tmp_path / "replica")]
    try:
        servers[0].start("--log-bin=bin", "--server-id=1", "--sync-binlog=1", redis=True)
        servers[1].start("--log-bin=bin", "--server-id=2")
        follow(*servers)
        servers[0].execute("CREATE TABLE test.mail (id INT PRIMARY KEY, address VARCHAR(50))")
        servers[0].query("CALL postern.redis_map_value('mail:', 'test', 'mail', 'id', 'address')")
        with servers[0].resp() as client:
            mapped = "SELECT COUNT(*) FROM test.mail"
            until(lambda: client.ask("SET", "mail:1", "a@b") == "OK" and servers[0].query(mapped) == [(1,)])
        answered = [0]

        def load(number):
            with contextlib.suppress(EOFError, OSError), Client(servers[0].env["REDIS_PORT"]) as client:
                for count in range(100_000):
                    bad = f"INCR word{number}" if count % 2 else "GET x"
                    client.ask("SET", f"word{number}", "abc")
                    # Some of their steps are rolled back alone: they must not reach the binary log.
                    wrong = "MSET gone 1 mail:x 2" if count % 3 else "GET x"
                    results = transact(client, f"INCR left{number}", bad, wrong, f"INCR right{number}")
                    if isinstance(results, list):
                        answered[0] += 1

        threads = [threading.Thread(target=load, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: answered[0] > 100, 120)
        servers[0].kill()
        for thread in threads:
            thread.join()
        servers[0].restart()
        pairs = (
            "SELECT l.v, r.v FROM postern_redis.entries l JOIN postern_redis.entries r "
            "ON l.k = CONCAT('left', RIGHT(r.k, 1)) WHERE r.k LIKE 'right_'"
        )
        found = servers[0].query(pairs)
        assert len(found) == 3 and all(left == right for left, right in found)
        assert sum(int(left) for left, _ in found) >= answered[0]
        catch_up(*servers)
        assert sorted(servers[1].query(pairs)) == sorted(found)
        everything = "SELECT k, v FROM postern_redis.entries ORDER BY k"
        assert servers[1].query(everything) == servers[0].query(everything)
        assert not [key for key, _ in servers[0].query(everything) if key == b"gone"]
    finally:
        for server in servers:
            with contextlib.suppress(AssertionError):
                server.execute("STOP SLAVE")
            server.stop()


COLLECTIONS = {
    "list": (("RPUSH", "c", "a", "b"), ("LRANGE", "c", 0, -1), [b"a", b"b"]),
    "set": (("SADD", "c", "a"), ("SMEMBERS", "c"), [b"a"]),
    "hash": (("HSET", "c", "f", "v"), ("HGETALL", "c"), [b"f", b"v"]),
    "zset": (("ZADD", "c", 1, "m"), ("ZRANGE", "c", 0, -1), [b"m"]),
}


@pytest.mark.parametrize("kind", COLLECTIONS)
@pytest.mark.parametrize("words", [("SETNX", "c", "x"), ("SET", "c", "x", "NX"), ("SET", "c", "x", "NX", "GET")])
@pytest.mark.parametrize("where", ["exec", "behind a lock"])
def test_set_nx_spares_a_collection(server, client, where, words, kind):
    make, read, held = COLLECTIONS[kind]
    wrong = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
    nothing = wrong if "GET" in words else 0 if words[0] == "SETNX" else None
    client.ask("DEL", "c")
    client.ask(*make)
    if where == "exec":
        client.ask("MULTI")
        client.ask("INCR", "n")
        client.ask(*words)
        told = client.ask("EXEC")[1]
    else:
        with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT k FROM postern_redis.entries WHERE k = 'c' FOR UPDATE")
            client.send(encode(*words))
            server.wait_for_row_lock()
            cursor.execute("ROLLBACK")
        told = client.read()
    assert told == nothing
    assert client.ask("TYPE", "c") == kind and client.ask(*read) == held
