"""Lists, sets, sorted sets and hashes in crashes, on a replica, and beside SQL writes to the same rows.

Each writer keeps a model of its keys in memory. After kill -9 all answered writes must be in the tables; the one
unanswered command is applied whole or not at all.
"""
import contextlib
import copy
import random
import threading

import pymysql
from support.replica import catch_up, follow
from support.clients.resp import Client, Error
from support.server import Server
from support.waiting import until

KINDS = {"lists": "t.pos - e.head, t.v", "sets": "t.m", "zsets": "t.m, t.score", "hashes": "t.f, t.v"}


class Model:
    """The contents of one writer's keys."""

    def __init__(self, number):
        self.names = {kind: f"{kind}:{number}" for kind in KINDS}
        self.lists, self.sets, self.zsets, self.hashes = [], set(), {}, {}

    def rows(self, kind):
        """The contents as rows of the table."""
        key, held = self.names[kind].encode(), getattr(self, kind)
        if kind == "lists":
            return [(key, i, value) for i, value in enumerate(held)]
        if kind == "sets":
            return sorted((key, member) for member in held)
        return sorted((key, name, value) for name, value in held.items())

    def next(self, chance, count):
        """A random command, and its effect on the model."""
        kind = chance.choice(list(KINDS))
        name, member = self.names[kind], f"m{chance.randrange(40)}".encode()
        words, act = getattr(self, f"of_{kind}")(chance, member, f"v{count}".encode())
        return (words[0], name, *words[1:]), act

    @staticmethod
    def of_lists(chance, _, value):
        at, end = chance.randrange(30), chance.randrange(1, 40)
        return chance.choice(
            [
                (("RPUSH", value, value + b"+"), lambda m: m.lists.extend([value, value + b"+"])),
                (("LPUSH", value), lambda m: m.lists.insert(0, value)),
                (("LPOP",), lambda m: m.lists and m.lists.pop(0)),
                (("RPOP", "2"), lambda m: m.lists.__delitem__(slice(max(len(m.lists) - 2, 0), None))),
                (("LTRIM", "0", end), lambda m: m.lists.__delitem__(slice(end + 1, None))),
                (("LSET", at, value), lambda m: at < len(m.lists) and m.lists.__setitem__(at, value)),
                (("LINSERT", "BEFORE", b"v7", value), lambda m: insert_before(m.lists, b"v7", value)),
                (("LREM", "1", b"v7"), lambda m: b"v7" in m.lists and m.lists.remove(b"v7")),
            ]
        )

    @staticmethod
    def of_sets(chance, member, value):
        return chance.choice(
            [
                (("SADD", member, value), lambda m: m.sets.update([member, value])),
                (("SREM", member), lambda m: m.sets.discard(member)),
            ]
        )

    @staticmethod
    def of_zsets(chance, member, _):
        score = chance.randrange(100)
        return chance.choice(
            [
                (("ZADD", score, member), lambda m: m.zsets.__setitem__(member, score)),
                (("ZINCRBY", score, member), lambda m: m.zsets.__setitem__(member, m.zsets.get(member, 0) + score)),
                (("ZREM", member), lambda m: m.zsets.pop(member, None)),
                (("ZPOPMIN",), lambda m: m.zsets and m.zsets.pop(min(m.zsets, key=lambda one: (m.zsets[one], one)))),
            ]
        )

    @staticmethod
    def of_hashes(chance, member, value):
        return chance.choice(
            [
                (("HSET", member, value, "f", value), lambda m: m.hashes.update({member: value, b"f": value})),
                (("HDEL", member, "f"), lambda m: [m.hashes.pop(field, None) for field in (member, b"f")]),
                (("HINCRBY", "n", "3"), lambda m: m.hashes.__setitem__(b"n", b"%d" % (int(m.hashes.get(b"n", 0)) + 3))),
            ]
        )


def insert_before(held, pivot, value):
    if pivot in held:
        held.insert(held.index(pivot), value)


class Writer(threading.Thread):
    """Writes until the server is gone."""

    def __init__(self, port, model, seed):
        super().__init__()
        self.port, self.model, self.chance = port, model, random.Random(seed)
        self.answered = 0
        self.unanswered = None
        self.wrong = None

    def run(self):
        with contextlib.suppress(EOFError, OSError), Client(self.port) as client:
            for count in range(1_000_000):
                words, act = self.model.next(self.chance, count)
                self.unanswered = act
                try:
                    client.ask(*words)
                except Error as error:
                    if "index out of range" not in str(error) and "no such key" not in str(error):
                        self.wrong = (words, error)
                        return
                act(self.model)
                self.unanswered = None
                self.answered += 1


def table(server, kind):
    """The elements; for lists with their index."""
    return server.query(
        f"SELECT t.k, {KINDS[kind]} FROM postern_redis.{kind} AS t JOIN postern_redis.entries AS e "
        "ON t.k = e.k ORDER BY 1, 2"
    )


def assert_keys_say_what_is_there(server):
    for kind in KINDS:
        wrong = server.query(
            f"SELECT t.k FROM (SELECT k, COUNT(*) AS n FROM postern_redis.{kind} GROUP BY k) AS t "
            "LEFT JOIN postern_redis.entries AS e ON t.k = e.k WHERE e.k IS NULL OR e.len <> t.n"
        )
        assert wrong == [], kind
    assert server.query("SELECT k FROM postern_redis.entries WHERE type <> 1 AND len = 0") == []


def assert_holds(server, writers):
    assert_keys_say_what_is_there(server)
    for writer in writers:
        assert writer.wrong is None
        other = copy.deepcopy(writer.model)
        if writer.unanswered is not None:
            writer.unanswered(other)
        there = {kind: own_rows(server, writer.model, kind) for kind in KINDS}
        states = [{kind: model.rows(kind) for kind in KINDS} for model in (writer.model, other)]
        assert there in states
        writer.model = other if there == states[1] else writer.model


def own_rows(server, model, kind):
    rows = [row for row in table(server, kind) if row[0] == model.names[kind].encode()]
    return rows if kind == "lists" else sorted(rows)


def test_a_crash_loses_nothing_that_was_answered_and_a_replica_has_the_same(tmp_path):
    servers = [Server(tmp_path / "primary"), Server(tmp_path / "replica")]
    try:
        servers[0].start("--log-bin=bin", "--server-id=1", "--sync-binlog=1", redis=True)
        servers[1].start("--log-bin=bin", "--server-id=2")
        follow(*servers)
        models = [Model(number) for number in range(4)]
        for seed in range(3):
            until(lambda: answers(servers[0]), 30)
            writers = [Writer(servers[0].env["REDIS_PORT"], model, f"{seed} {i}") for i, model in enumerate(models)]
            for writer in writers:
                writer.start()
            until(lambda: min(writer.answered for writer in writers) > 150, 120)
            servers[0].kill()
            for writer in writers:
                writer.join()
            servers[0].restart()
            assert_holds(servers[0], writers)
            models = [writer.model for writer in writers]
        catch_up(*servers)
        for kind in (*KINDS, "entries"):
            select = f"SELECT * FROM postern_redis.{kind} ORDER BY 1, 2"
            rows = servers[0].query(select)
            assert rows and servers[1].query(select) == rows, kind
    finally:
        for server in servers:
            with contextlib.suppress(AssertionError):
                server.execute("STOP SLAVE")
            server.stop()


def answers(server):
    with contextlib.suppress(OSError, EOFError), server.resp() as client:
        return client.ask("PING") == "PONG"
    return False


SQL_ROUNDS, DOOR_ROUNDS, EACH = 40, 120, 3
HELD = (1205, 1213)


def write_by_sql(server, number):
    """Transactions that change elements of all four keys, and return the keys' rows."""
    connection = server.connect()
    with contextlib.closing(connection), connection.cursor() as cursor:
        for i in range(SQL_ROUNDS):
            while True:
                try:
                    connection.begin()
                    cursor.execute("SELECT k FROM postern_redis.entries WHERE k IN ('h', 'l', 's', 'z') FOR UPDATE")
                    cursor.execute("UPDATE postern_redis.hashes SET v = v + 1 WHERE k = 'h' AND f = 'n'")
                    cursor.execute("UPDATE postern_redis.zsets SET score = score + 1 WHERE k = 'z' AND m = 'sum'")
                    cursor.execute("INSERT INTO postern_redis.sets VALUES ('s', %s)", (f"sql{number}:{i}",))
                    cursor.execute(
                        "INSERT INTO postern_redis.lists SELECT 'l', MAX(pos) + 1, %s FROM postern_redis.lists WHERE k = 'l'",
                        (f"sql{number}:{i}",),
                    )
                    for key in "hlsz":
                        cursor.execute("CALL postern.redis_touch(%s)", (key,))
                    connection.commit()
                    break
                except pymysql.MySQLError as error:
                    connection.rollback()
                    if error.args[0] not in HELD:
                        raise


def write_by_door(server, number):
    with server.resp() as client:
        for i in range(DOOR_ROUNDS):
            name = f"door{number}:{i}"
            for words in (
                ("HINCRBY", "h", "n", "1"),
                ("ZINCRBY", "z", "1", "sum"),
                ("SADD", "s", name),
                ("LPUSH" if i % 2 else "RPUSH", "l", name),
            ):
                until_taken(client, *words)


def until_taken(client, *words):
    """Sends a command until it is carried out: one that was held up has done nothing, and may be repeated."""
    while True:
        try:
            return client.ask(*words)
        except Error as error:
            if not str(error).startswith("TRYAGAIN"):
                raise


def test_the_same_rows_by_sql_and_by_the_door(module_factory):
    server = module_factory(redis=True)
    with server.resp() as client:
        for words in ("HSET h n 0", "ZADD z 0 sum", "SADD s first", "RPUSH l first"):
            client.ask(*words.split())
        failures = []

        def work(write, number):
            try:
                write(server, number)
            except Exception as error:  # reported below
                failures.append(error)

        threads = [
            threading.Thread(target=work, args=(write, number))
            for write in (write_by_sql, write_by_door)
            for number in range(EACH)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        total = EACH * (SQL_ROUNDS + DOOR_ROUNDS)
        assert client.ask("HGET", "h", "n") == client.ask("ZSCORE", "z", "sum") == b"%d" % total
        names = {f"sql{n}:{i}".encode() for n in range(EACH) for i in range(SQL_ROUNDS)}
        names |= {f"door{n}:{i}".encode() for n in range(EACH) for i in range(DOOR_ROUNDS)} | {b"first"}
        assert set(client.ask("SMEMBERS", "s")) == names and client.ask("SCARD", "s") == len(names)
        told = client.ask("LRANGE", "l", "0", "-1")
        assert sorted(told) == sorted(names) and client.ask("LLEN", "l") == len(names)
    assert_keys_say_what_is_there(server)
    server.assert_alive()
