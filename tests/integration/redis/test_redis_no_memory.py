"""When the library runs out of memory, a command of the Redis door fails or its connection ends: until then each answer
is to the client's next command, a refused command has changed nothing, and the rows are those of acknowledged ones."""
import contextlib
import os
import random
import threading
import traceback

import pytest

from support.random_input import seeds
from support.faults.no_memory import failing  # noqa: F401
from support.clients.resp import Client, Error, decode, encode
from support.waiting import until

SECONDS = float(os.environ.get("POSTERN_SECONDS", "8"))
SEED = seeds.chosen(13)
CLIENTS = 6
COUNT_BY_SCRIPT = (
    "local n = redis.call('INCR', KEYS[1]) redis.call('XADD', KEYS[2], '*', 'n', n) "
    "redis.call('HSET', KEYS[3], 'n', n) return n"
)
FUNCTION = "#!lua name=counting\nredis.register_function('count', function(KEYS, ARGV) %s end)" % COUNT_BY_SCRIPT


@pytest.fixture(scope="module")
def server(module_factory, failing):
    server = module_factory(start=False)
    server.start("--redis-threads=2", "--redis-exec-rollback=ON", redis=True, env=failing.environment())
    failing.aim(server.env["PID"])
    with server.resp() as client:
        client.ask("FUNCTION", "LOAD", FUNCTION)
        client.ask("CONFIG", "SET", "notify-keyspace-events", "KEA")
    return server


def lacks_memory(error):
    return any(word in str(error) for word in ("OOM", "not enough memory", "out of memory", "Out of memory"))


class Peer(threading.Thread):
    """A client that connects again whenever its connection has ended."""

    def __init__(self, server, kind, number):
        super().__init__()
        self.server, self.number, self.random = server, number, random.Random(f"{SEED} {kind} {number}")
        self.stop, self.problems, self.answers, self.refusals, self.lost = False, [], 0, 0, 0

    def run(self):
        while not self.stop:
            try:
                with contextlib.closing(Client(self.server.env["REDIS_PORT"])) as client:
                    client.socket.settimeout(30)
                    self.talk(client)
            except (EOFError, ConnectionError):
                self.lost += 1
            except Exception:  # a wrong answer, or none
                self.problems.append(traceback.format_exc())
                return

    def ask(self, client, *words):
        """None: refused."""
        try:
            answer = client.ask(*words)
        except Error as error:
            assert lacks_memory(error), error
            self.refusals += 1
            return None
        self.answers += 1
        return answer


class Counting(Peer):
    """Counts in keys of its own: the number, a stream with an entry for each, and a hash."""

    def __init__(self, server, number):
        super().__init__(server, "counting", number)
        self.may_be = {0}  # the number
        self.keys = [f"{{{number}}}:{name}" for name in ("n", "stream", "hash")]
        self.last_id = (0, 0)

    def talk(self, client):
        for _ in range(self.random.randrange(1, 60)):
            if self.stop:
                return
            self.random.choice((self.count, self.count, self.count, self.read, self.subscribe, self.block))(client)

    def count(self, client):
        before = set(self.may_be)
        self.may_be = before | {value + 1 for value in before}
        told = self.random.choice((self.by_script, self.by_function, self.by_exec))(client)
        if told is None:
            self.may_be = before
            return
        assert told - 1 in before, (told, before)
        self.may_be = {told}

    def by_script(self, client):
        return self.ask(client, "EVAL", COUNT_BY_SCRIPT, 3, *self.keys)

    def by_function(self, client):
        return self.ask(client, "FCALL", "count", 3, *self.keys)

    def by_exec(self, client):
        number, stream, table = self.keys
        if self.ask(client, "MULTI") is None:
            return None
        asked = (("INCR", number), ("XADD", stream, "*", "n", "by exec"), ("HINCRBY", table, "n", 1), ("EXEC",))
        client.send(b"".join(encode(*words) for words in asked))
        for _ in asked[:-1]:
            with contextlib.suppress(Error):  # EXEC is aborted then
                assert decode(client.raw()) == "QUEUED"
        try:
            told, entry, counted = decode(client.raw())
        except Error as error:
            assert "EXECABORT" in str(error) or lacks_memory(error), error
            self.refusals += 1
            return None
        self.answers += 1
        assert told == counted, (told, counted)
        moment = tuple(map(int, entry.split(b"-")))
        assert moment > self.last_id
        self.last_id = moment
        return told

    def read(self, client):
        """The answers to a pipeline come in order."""
        marks = [str(self.random.random()) for _ in range(self.random.randrange(1, 20))]
        number, stream, table = self.keys
        client.send(
            b"".join(encode("ECHO", mark) + encode("GET", number) + encode("HGET", table, "n") for mark in marks)
        )
        for mark in marks:
            for expected in ([mark], self.may_be, self.may_be):
                try:
                    answer = decode(client.raw())
                except Error as error:
                    assert lacks_memory(error), error
                    self.refusals += 1
                    continue
                self.answers += 1
                if expected == [mark]:
                    assert answer == mark.encode(), (answer, mark)
                else:
                    assert int(answer or 0) in expected, (answer, expected)
        length = self.ask(client, "XLEN", stream)
        assert length is None or length in self.may_be, (length, self.may_be)

    def subscribe(self, client):
        """A publisher's own messages come in order."""
        channel = f"channel {self.number} {self.random.random()}"
        if self.ask(client, "SUBSCRIBE", channel) is None:
            return
        with contextlib.closing(Client(self.server.env["REDIS_PORT"])) as publisher:
            publisher.socket.settimeout(30)
            for i in range(5):
                if self.ask(publisher, "PUBLISH", channel, i) == 1:
                    assert decode(client.raw()) == [b"message", channel.encode(), b"%d" % i]
        raise EOFError  # a connection for subscriptions alone

    def block(self, client):
        # Of its own: a client that has just gone may still wait for another, and would be served first.
        queue = f"queue {self.number} {self.random.random()}"
        client.send(encode("BLPOP", queue, 10))
        with contextlib.closing(Client(self.server.env["REDIS_PORT"])) as pusher:
            pusher.socket.settimeout(30)
            pushed = self.ask(pusher, "RPUSH", queue, "x")
            if pushed is None:
                raise EOFError  # the client waits in vain
            try:
                assert decode(client.raw()) in ([queue.encode(), b"x"],)
            except Error as error:
                assert lacks_memory(error), error
                self.refusals += 1
        self.ask(client, "DEL", queue)


def test_random_clients_without_memory(server, failing):
    clients = [Counting(server, number) for number in range(CLIENTS)]
    rates = random.Random(SEED)
    failing.fail_amid(clients, SECONDS, lambda: rates.choice((3, 5, 10, 40, 200)), 0.4, 0.1)
    print(
        f"{failing.failed()} allocations failed, {sum(c.answers for c in clients)} answers, "
        f"{sum(c.refusals for c in clients)} refusals, {sum(c.lost for c in clients)} lost"
    )
    server.assert_alive()
    assert not any(client.problems for client in clients), "\n".join(p for c in clients for p in c.problems)
    assert failing.failed() > 100 and sum(client.answers for client in clients) > 300
    with server.resp() as reader:
        for client in clients:
            number, stream, table = client.keys
            found = int(reader.ask("GET", number) or 0)
            assert found in client.may_be
            assert int(reader.ask("HGET", table, "n") or 0) == reader.ask("XLEN", stream) == found
            assert len(reader.ask("XRANGE", stream, "-", "+")) == found


def test_nothing_is_left(server):
    """Every connection is closed, every lock released, and every worker running."""
    until(lambda: server.status("redis_connections")["redis_connections"] == 0, 30, "connections were leaked")
    server.execute("SET lock_wait_timeout = 5", "ALTER TABLE streams ADD COLUMN more INT", database="postern_redis")
    clients = [server.resp() for _ in range(8)]
    for client in clients:
        assert client.ask("PUBSUB", "CHANNELS") == [] and client.ask("INFO", "clients").count(b"blocked_clients:0") == 1
        assert client.ask("INCR", "afterwards") > 0
        client.close()
