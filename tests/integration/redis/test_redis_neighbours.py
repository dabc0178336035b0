"""Commands that arrive together for few keys, at the door and at Debian's redis-server: the same replies, and the same
keys afterwards. Such commands share a statement, which stores a key's row once for all of them.

SEED=N chooses other commands, POSTERN_REDIS_PIPELINES=N more pipelines.
"""
import os
import random
import threading

from support.random_input import seeds
from support.replica import catch_up, follow
from support.clients.resp import encode

# Each binlog event contains only the changed columns.
SERVER_OPTIONS = (
    "--log-bin=bin",
    "--server-id=1",
    "--binlog-row-image=MINIMAL",
)
PIPELINES = int(os.environ.get("POSTERN_REDIS_PIPELINES", "40"))
SEED = seeds.chosen(1)
CLIENTS = 3
KINDS = {"list": 2, "set": 3, "hash": 4, "zset": 5, "stream": 6}


class Pipelines:
    """Random pipelines on one client's keys. Members are few, so some exist already."""

    def __init__(self, number, seed):
        self.random = random.Random(f"{seed} {number}")
        self.number = number
        self.last_id = 0

    def key(self, kind):
        if self.random.random() < 0.03:
            kind = self.random.choice(list(KINDS))  # most likely of another type
        return f"{self.number}:{kind}{self.random.randrange(2)}"

    def members(self):
        return [f"m{self.random.randrange(12)}" for _ in range(self.random.choice((1, 1, 1, 2, 5)))]

    def on_list(self, key):
        pick = self.random.choice
        pops = [pick(("LPOP", "RPOP")), key]
        pushes = [pick(("LPUSH", "RPUSH")), key, *self.members()]
        return pick([pushes, pushes, pushes, pops, [pick(("LPUSHX", "RPUSHX")), key, "x"], ["LLEN", key]])

    def on_set(self, key):
        adds, removes = ["SADD", key, *self.members()], ["SREM", key, *self.members()]
        return self.random.choice([adds, adds, adds, removes, ["SCARD", key], ["SISMEMBER", key, "m1"]])

    def on_hash(self, key):
        pairs = [word for member in self.members() for word in (member, str(self.random.randrange(9)))]
        sets = ["HSET", key, *pairs]
        others = [
            ["HSETNX", key, *pairs[:2]],
            ["HDEL", key, *self.members()],
            ["HINCRBY", key, "n", "2"],
            ["HLEN", key],
        ]
        return self.random.choice([sets, sets, sets, ["HMSET", key, *pairs], *others])

    def on_zset(self, key):
        pairs = [word for member in self.members() for word in (str(self.random.randrange(9)), member)]
        adds = ["ZADD", key, *pairs]
        options = self.random.choice((["NX"], ["XX"], ["GT", "CH"], ["XX", "LT"], ["CH"]))
        others = [["ZADD", key, *options, *pairs], ["ZREM", key, *self.members()], ["ZCARD", key]]
        return self.random.choice(
            [adds, adds, ["ZINCRBY", key, "1.5", "m1"], ["ZADD", key, "INCR", *pairs[:2]], *others]
        )

    def on_stream(self, key):
        self.last_id += self.random.choice((0, 1, 1, 1))
        adds = ["XADD", key, f"{self.last_id}-*", "field", "x" * self.random.choice((3, 700))]
        return self.random.choice(
            [
                adds,
                adds,
                adds,
                ["XADD", key, "NOMKSTREAM", f"{self.last_id}-*", "f", "v"],
                ["XADD", key, "MAXLEN", "5", f"{self.last_id}-*", "f", "v"],
                ["XLEN", key],
            ]
        )

    def command(self, kind):
        key = self.key(kind)
        if self.random.random() < 0.06:
            others = [
                ["DEL", key],
                ["EXISTS", key],
                ["TYPE", key],
                ["SET", key, "v"],
                ["PEXPIRE", key, "1"],
                ["EXPIRETIME", key],
            ]
            return self.random.choice(
                [*others, ["EXPIREAT", key, "4000000000"], ["PERSIST", key], ["INCR", f"{self.number}:n"]]
            )
        return getattr(self, f"on_{kind}")(key)

    def next(self):
        kinds = self.random.choices(list(KINDS), k=self.random.choice((1, 1, 2)))
        return [self.command(self.random.choice(kinds)) for _ in range(self.random.choice((3, 20, 70)))]


def content(client, kind, key):
    if client.ask("TYPE", key) != kind:
        return client.ask("TYPE", key), client.ask("EXISTS", key)
    asked = {"list": ("LRANGE", key, 0, -1), "set": ("SMEMBERS", key), "hash": ("HGETALL", key)}
    asked |= {"zset": ("ZRANGE", key, 0, -1, "WITHSCORES"), "stream": ("XRANGE", key, "-", "+")}
    found = client.ask(*asked[kind])
    if kind == "hash":
        found = sorted(zip(found[::2], found[1::2]))
    return client.ask("EXPIRETIME", key), sorted(found) if kind == "set" else found


def play(server, original, number, failures):
    pipelines = Pipelines(number, SEED)
    try:
        with server.resp() as ours, original.client() as theirs:
            for _ in range(PIPELINES):
                commands = pipelines.next()
                replies = []
                for client in (ours, theirs):
                    client.send(b"".join(encode(*words) for words in commands))
                    replies.append([client.raw() for _ in commands])
                expires = [words for words in commands if words[0] == "PEXPIRE"]
                wrong = [each for each in zip(commands, *replies) if each[1] != each[2]]
                if expires:  # the millisecond may have passed on one of them only
                    for client in (ours, theirs):
                        client.ask("DEL", *(words[1] for words in expires))
                    keys = {words[1] for words in expires}
                    wrong = [each for each in wrong if each[0][1] not in keys]
                assert not wrong, (commands, wrong)
            for kind in KINDS:
                for key in (f"{number}:{kind}0", f"{number}:{kind}1"):
                    assert content(ours, kind, key) == content(theirs, kind, key), key
    except Exception as error:  # reported by the caller
        failures.append(error)


def test_pipelines_on_few_keys_are_answered_as_in_redis(server, original):
    failures = []
    with server.resp() as ours, original.client() as theirs:
        for client in (ours, theirs):
            client.ask("FLUSHALL")
    threads = [threading.Thread(target=play, args=(server, original, number, failures)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    # Rows of keys describe their elements correctly.
    for table, kind in {"lists": 2, "sets": 3, "hashes": 4, "zsets": 5, "streams": 6}.items():
        assert server.query(
            f"SELECT e.k, e.len, n FROM (SELECT k, COUNT(*) AS n FROM postern_redis.{table} GROUP BY k) AS c"
            f" LEFT JOIN postern_redis.entries AS e ON e.k = c.k AND e.type = {kind} WHERE e.len IS NULL OR e.len <> n"
        ) in ([], ()), table


# Increments of all clients wait next to each other in the rows of one table while another transaction locks the key's
# row.
def test_many_writers_of_the_same_keys_lose_nothing(server):
    clients, rounds, depth = 5, 20, 30
    failures = []

    def work(number):
        try:
            with server.resp() as client:
                for at in range(rounds):
                    commands = []
                    for i in range(depth):
                        name = f"{number}:{at}:{i}"
                        commands += [("ZINCRBY", "z", "1", "sum"), ("ZADD", "z", "1", name), ("SADD", "s", name)]
                        commands += [("RPUSH", "l", name), ("HSET", "h", name, "v"), ("XADD", "x", "*", "f", name)]
                    client.send(b"".join(encode(*words) for words in commands))
                    assert not [reply for reply in (client.raw() for _ in commands) if reply.startswith(b"-")]
        except Exception as error:  # reported below
            failures.append(error)

    with server.resp() as client:
        client.ask("FLUSHALL")
        threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        total = clients * rounds * depth
        assert client.ask("ZSCORE", "z", "sum") == b"%d" % total
        assert [client.ask(word, key) for word, key in zip(("ZCARD", "SCARD", "LLEN", "HLEN", "XLEN"), "zslhx")] == [
            total + 1,
            total,
            total,
            total,
            total,
        ]
        assert len(set(client.ask("LRANGE", "l", 0, -1))) == total
        assert [entry[1][1] for entry in client.ask("XRANGE", "x", "-", "+")] and len(client.ask("HKEYS", "h")) == total


def test_a_replica_has_the_same_rows(server, module_factory):
    replica = module_factory("--server-id=2")
    follow(server, replica)
    catch_up(server, replica)
    tables = [name for name, kind in server.query("SHOW FULL TABLES", database="postern_redis") if kind == "BASE TABLE"]
    assert len(tables) > 5
    for table in tables:
        rows = [
            sorted(one.query(f"SELECT * FROM {table}", database="postern_redis"), key=repr) for one in (server, replica)
        ]
        assert rows[0] == rows[1], table
