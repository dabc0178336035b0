"""One reply shows one state, however many steps it reads in; and WATCH detects that a row without a version was changed
and changed back."""
import random
import threading
import time

import pytest
from support.clients.resp import encode
from support.waiting import until

ROWS = 300
TOTAL = ROWS * 1000
REPLIES = 60
ids = [str(number) for number in range(1, ROWS + 1)]


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(redis=True)
    server.execute(
        "CREATE TABLE test.acc (id INT PRIMARY KEY, bal BIGINT NOT NULL)",
        f"INSERT INTO test.acc SELECT seq, 1000 FROM seq_1_to_{ROWS}",
        database="test",
    )
    server.query("CALL postern.redis_map_row('acc:', 'test', 'acc', '*')")
    server.query("CALL postern.redis_map_value('bal:', 'test', 'acc', 'id', 'bal')")
    with server.resp() as redis:
        until(lambda: redis.ask_raw("GET", "bal:1") == b"$4\r\n1000\r\n", seconds=15)
        redis.ask("RPUSH", "ids", *ids)
        redis.ask("SADD", "here", *ids)
        redis.ask("ZADD", "ranks", *[word for one in ids for word in (one, one)])
    yield server
    server.assert_alive()


class Working:
    """Threads that repeat some work until the block is left."""

    def __init__(self, server, *works):
        self.over, self.failed = threading.Event(), []
        self.threads = [threading.Thread(target=self.work, args=(server, work)) for work in works]

    def work(self, server, work):
        try:
            with server.resp() as redis, server.connect() as sql, sql.cursor() as cursor:
                while not self.over.is_set():
                    work(redis, cursor)
        except Exception as error:  # pylint: disable=broad-except
            self.failed.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert self.failed == []


def transfer(redis, _):
    one, other = random.sample(ids, 2)
    amount = random.randrange(1, 10**9)
    lines = [["HINCRBY", f"acc:{one}", "bal", -amount], ["HINCRBY", f"acc:{other}", "bal", amount]]
    redis.send(b"".join(encode(*words) for words in (["MULTI"], *lines, ["EXEC"])))
    for _ in range(4):
        redis.raw()


def transfer_by_sql(_, cursor):
    one, other = random.sample(ids, 2)
    amount = random.randrange(1, 10**9)
    cursor.execute(f"UPDATE test.acc SET bal = bal + IF(id = {one}, {amount}, -{amount}) WHERE id IN ({one}, {other})")


def move(redis, _):
    one, other = random.sample(["here", "there"], 2)
    redis.ask("SMOVE", one, other, random.choice(ids))


def turn(redis, _):
    redis.ask("LMOVE", "ids", "ids", random.choice(["LEFT", "RIGHT"]), random.choice(["LEFT", "RIGHT"]))


@pytest.mark.parametrize(
    "words",
    [
        ["SORT", "ids", "BY", "nosort", "GET", "acc:*->bal"],
        ["SORT", "ids", "BY", "nosort", "GET", "bal:*"],
        ["SORT_RO", "ids", "BY", "acc:*->bal", "GET", "acc:*->bal"],
    ],
)
def test_rows_that_sort_returns_are_of_one_state(server, words):
    with Working(server, transfer, transfer, transfer_by_sql, turn), server.resp() as redis:
        for _ in range(REPLIES):
            assert sum(map(int, redis.ask(*words))) == TOTAL


@pytest.mark.parametrize(
    "words, size",
    [
        (["SUNION", "here", "there"], ROWS),
        (["ZUNION", "2", "there", "here"], ROWS),
        (["SINTER", "here", "there"], 0),
        (["LRANGE", "ids", "-400", "-1"], ROWS),
        (["SORT", "ids", "ALPHA", "LIMIT", "0", "-1"], ROWS),
    ],
)
def test_elements_of_several_keys_are_of_one_state(server, words, size):
    with Working(server, move, move, turn), server.resp() as redis:
        for _ in range(REPLIES):
            told = redis.ask(*words)
            assert (len(told), len(set(told))) == (size, size)


def up_and_down(redis, _):
    redis.ask("HINCRBY", "acc:1", "bal", 1)
    redis.ask("HINCRBY", "acc:1", "bal", -1)


@pytest.mark.parametrize(
    "read",
    [
        ["HGET", "acc:1", "bal"],
        ["GET", "bal:1"],
        ["HGETALL", "acc:1"],
        ["SORT", "one", "BY", "x", "GET", "bal:*"],
        ["EVAL", "return redis.call('HGET', KEYS[1], 'bal')", "1", "acc:1"],
        ["EVAL", "return redis.call('SORT', KEYS[1], 'BY', 'x', 'GET', 'acc:*->bal')", "1", "one"],
    ],
)
def test_watch_notices_a_change_that_is_undone_before_exec(server, read):
    """A successful EXEC adds to the value that its client has read."""
    key = "bal:1" if "GET" in read else "acc:1"
    with server.resp() as redis:
        redis.ask("DEL", "one")
        redis.ask("RPUSH", "one", "1")
        before = int(redis.ask("HGET", "acc:1", "bal"))
        done = 0
        end = time.monotonic() + 10
        with Working(server, up_and_down, up_and_down):
            while done < 100 and time.monotonic() < end:
                redis.ask("WATCH", key)
                told = redis.ask(*read)
                number = int(told[-1] if isinstance(told, list) else told)
                redis.ask("MULTI")
                redis.ask("HSET", "acc:1", "bal", number + 1000)
                done += redis.ask("EXEC") is not None
        assert int(redis.ask("HGET", "acc:1", "bal")) == before + 1000 * done
    assert done > 10


@pytest.mark.parametrize(
    "read",
    [
        ["HGETALL"],
        ["EVAL", "return redis.call('HGETALL', KEYS[1])", "1"],
        ["EVAL", "return redis.call('TYPE', KEYS[1])", "1"],
    ],
    ids=["plain", "script", "another read of a script"],
)
def test_watch_compares_with_the_read_row(server, read):
    with server.resp() as redis:
        for undo in ("UPDATE test.acc SET bal = 5 WHERE id = 2", "DELETE FROM test.acc WHERE id = 2"):
            server.execute("REPLACE INTO test.acc VALUES (2, 7)")
            redis.ask("WATCH", "acc:2")
            server.execute(undo)
            redis.ask(*read, "acc:2")
            server.execute("REPLACE INTO test.acc VALUES (2, 7)")
            redis.ask("MULTI")
            redis.ask("PING")
            assert redis.ask("EXEC") is None
        redis.ask("WATCH", "acc:2")
        redis.ask("HGET", "acc:2", "bal")
        server.execute("UPDATE test.acc SET bal = 8 WHERE id = 2", "UPDATE test.acc SET bal = 7 WHERE id = 2")
        redis.ask("MULTI")
        redis.ask("PING")
        assert redis.ask("EXEC") == ["PONG"], "it is what the client has seen, and nobody can tell"
