"""Random sessions with the door and with Debian's redis-server: the same replies, in RESP2 and RESP3.

The allowed differences are in support/random_input/redis_commands.py: orders of sets, random choices, times, and whether a missing
key or bad arguments are reported first. SEED=N chooses other sessions, POSTERN_REDIS_COMMANDS=N makes them longer.
"""
import concurrent.futures
import contextlib
import itertools
import os
import random
import threading

import pymysql
import pytest
from support.random_input import seeds
from support.random_input.redis_commands import (
    SHAPES,
    Commands,
    is_late_errno,
    is_undefined,
    looked_at_arguments_first,
    plain,
    same_replies_of,
)
from support.clients.resp import Error, decode, encode
from support.waiting import until

COMMANDS = int(os.environ.get("POSTERN_REDIS_COMMANDS", "1500"))
SEED = seeds.chosen(1)
HYPERLOGLOGS = COMMANDS // 3
TOLD = 30


def reply_of(client, words):
    reply = client.ask_raw(*words)
    try:
        return reply, decode(reply)
    except Error as error:
        return reply, error


def same_types(one, other):
    """The kinds of a reply, which distinguish a bulk string from a status."""
    return one[:1] == other[:1]


class Session:
    """Sends the same commands to both servers, one after another."""

    def __init__(self, ours, theirs, known):
        self.ours, self.theirs, self.known = ours, theirs, known
        self.history, self.queued, self.watched = [], [], {}
        self.empty()

    def empty(self):
        empty(self.ours, self.known)
        self.theirs.ask("FLUSHALL")

    def play(self, words):
        name = words[0].lower()
        self.history.append(encode(*words).decode("latin-1").split("\r\n")[2::2])
        (told, value), (expected_told, expected) = reply_of(self.ours, words), reply_of(self.theirs, words)
        done = self.queued
        if told == expected_told == b"+QUEUED\r\n":
            self.queued = [*done, words]
        if name in (b"exec", b"discard"):
            self.queued = []
        if not self.same(words, done, (told, value), (expected_told, expected)):
            self.fail(done if name == b"exec" else (), (told, value), (expected_told, expected))
        self.note_watched(name, words, told)

    def same(self, words, done, reply, expected_reply):
        (told, value), (expected_told, expected) = reply, expected_reply
        if words[0].lower() == b"exec":
            if same_types(told, expected_told) and same_replies_of(done, value, expected):
                return True
            if expected is None and isinstance(value, list) and self.are_absent_again():
                self.empty()
                return True
        if same_types(told, expected_told) and plain(words, value) == plain(words, expected):
            return True
        if looked_at_arguments_first(told, expected_told) or is_late_errno(words, value, expected):
            return True
        return self.expires_as_before(words) and {value, expected} == {0, 1}

    def expires_as_before(self, words):
        """Whether an EXPIRE with GT or LT compares nearly equal times: their order depends on the millisecond."""
        compares = words[0].lower() == b"expire" and words[-1] in (b"gt", b"lt")
        return compares and abs(self.theirs.ask("TTL", words[1]) - int(words[2])) <= 1

    def note_watched(self, name, words, told):
        if name == b"watch" and told == b"+OK\r\n":
            for key in words[1:]:
                self.watched.setdefault(key, self.theirs.ask("EXISTS", key))
        elif name in (b"exec", b"discard", b"unwatch") and told != b"+QUEUED\r\n":
            self.watched.clear()

    def are_absent_again(self):
        """Whether a watched key was missing, was created, and is missing again: the door sees no change."""
        return any(there == 0 == self.theirs.ask("EXISTS", key) for key, there in self.watched.items())

    def fail(self, done, reply, expected_reply):
        (told, value), (expected_told, expected) = reply, expected_reply
        if isinstance(value, list) and isinstance(expected, list):
            self.history += [each for each in zip(done, value, expected) if each[1] != each[2]]
        tail = "\n".join(map(str, self.history[-TOLD:]))
        raise AssertionError(f"{tail}\nthe door: {told[:500]}\n   redis: {expected_told[:500]}")


def play(server, original, groups, resp, seed, prefix=""):
    with server.resp() as ours, original.client() as theirs:
        known = {name.decode() for name in ours.ask("COMMAND", "LIST")}
        commands = Commands(seed, groups, known, prefix)
        for client in (ours, theirs):
            client.ask("HELLO", resp)
        session = Session(ours, theirs, known)
        for _ in range(COMMANDS):
            words = commands.next()
            if words[0].lower() in (b"spop", b"randomkey") or is_undefined(words):
                continue  # their random choice changes later answers
            if words[0].lower() == b"select" and words[1:] != [b"0"]:
                continue
            session.play(words)


@pytest.mark.parametrize("resp", ["2", "3"])
@pytest.mark.parametrize("group", [*(group for group in SHAPES if group != "connection"), "all"])
@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_random_sessions(server, original, group, resp, seed):
    groups = list(SHAPES) if group == "all" else [group, "generic", "connection", "string"]
    play(server, original, groups, resp, f"{group} {seed}")


@pytest.fixture(scope="module")
def prefixed(module_factory):
    """With a single keyspace, at a prefix: its tables store keys without the prefix."""
    server = module_factory(redis=True)
    server.query("CALL postern.redis_make_keyspace(0, 'app:', 'appks')")
    server.query("CALL postern.redis_unmap('')")
    with server.resp() as client:
        until(lambda: client.ask_raw("SET", "a", "1").startswith(b"-ERR no table") and client.ask("SET", "app:a", "1"))
    assert server.query("SELECT k FROM appks.entries") == [(b"a",)]
    yield server
    server.assert_alive()


@pytest.mark.parametrize("resp, group", [*(("3", group) for group in SHAPES if group != "connection"), ("2", "all")])
def test_random_sessions_of_a_keyspace_at_a_prefix(prefixed, original, group, resp):
    groups = list(SHAPES) if group == "all" else [group, "generic", "connection", "string"]
    play(prefixed, original, groups, resp, f"prefix {group} {SEED}", "app:")
    for table in ("lists", "sets", "zsets", "hashes"):
        stray = f"SELECT k FROM appks.{table} WHERE k NOT IN (SELECT k FROM appks.entries)"
        assert prefixed.query(stray) == [], table


def test_ranges_of_a_string(server, original):
    """Ranges that begin before the string or after it, and ranges that end before they begin."""
    lines = ["bitpos v 0", "bitpos v 1", "bitcount v", "getrange v", "substr v"]
    lines = [(*line.split(), start, end) for line in lines for start in range(-5, 6) for end in range(-5, 6)]
    lines += [(*line, "bit") for line in lines if line[0].startswith("bit")]
    with server.resp() as ours, original.client() as theirs:
        for text in (b"", b"x", b"\0\xff", b"\xff\0\xff"):
            for client in (ours, theirs):
                client.ask("SET", "v", text)
                client.send(b"".join(encode(*line) for line in lines))
            for line in lines:
                assert ours.raw() == theirs.raw(), (text, line)


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_hyperloglogs_are_the_same_bytes(server, original, seed):
    """In both encodings, and while one becomes the other; except for the estimate that PFCOUNT caches in Redis's
    string."""
    chance = random.Random(seed)
    keys = ["h1", "h2", "h3"]
    with server.resp() as ours, original.client() as theirs:

        def same(*words):
            told, expected = (client.ask_raw(*words) for client in (ours, theirs))
            assert told == expected, (seed, words, told[:100], expected[:100])
            return told

        same("DEL", *keys)
        for _ in range(HYPERLOGLOGS):
            key, kind = chance.choice(keys), chance.random()
            if kind < 0.02:
                same("DEL", key)
            elif kind < 0.04:
                same("PFDEBUG", "TODENSE", key)
            elif kind < 0.2:
                same("PFMERGE", key, *chance.choices(keys, k=chance.randrange(3)))
            else:
                count = chance.choice([0, 1, 1, 2, 5, 30, 300])
                same("PFADD", key, *[chance.randrange(3 * HYPERLOGLOGS) for _ in range(count)])
            same("GET", key)
            if chance.random() < 0.1:
                same("PFDEBUG", "ENCODING", key)
                same("PFDEBUG", "DECODE", key)
        for key in keys:
            same("PFCOUNT", key)
            same("PFDEBUG", "GETREG", key)
        same("PFCOUNT", *keys)
        for words in (("nosuch", "h1"), ("encoding", "nokey")):
            same("PFDEBUG", *words)


# Redis 7.2 and later have these.
NEWER = {b"client|no-touch", b"client|setinfo"}


def pairs(told):
    """A map in its RESP2 form."""
    return dict(zip(told[::2], told[1::2]))


@pytest.mark.parametrize("resp", ["2", "3"])
def test_commands_are_described_as_redis_does(server, original, resp):
    with server.resp() as ours, original.client() as theirs:
        for client in (ours, theirs):
            client.ask("HELLO", resp)
        names = [name for name in ours.ask("COMMAND", "LIST") if name not in NEWER]
        containers = {b"cluster", *(name.split(b"|")[0] for name in names if b"|" in name)}
        assert len(names) > 200
        for name in names:
            if name in containers:  # the door lacks some of its subcommands
                told, expected = (decode(client.ask_raw("COMMAND", "INFO", name))[0][:9] for client in (ours, theirs))
            else:
                told, expected = (client.ask_raw("COMMAND", "INFO", name) for client in (ours, theirs))
            assert told == expected, name
        assert ours.ask_raw("COMMAND", "INFO", "nosuch") == theirs.ask_raw("COMMAND", "INFO", "nosuch")


def test_documents_of_commands_are_those_of_redis(server, original):
    with server.resp() as ours, original.client() as theirs:
        told, expected = pairs(ours.ask("COMMAND", "DOCS")), pairs(theirs.ask("COMMAND", "DOCS"))
        for name, document in told.items():
            there = pairs(expected[name])
            assert {key: there[key] for key in (b"summary", b"since", b"group")} == {
                key: value for key, value in pairs(document).items() if key != b"subcommands"
            }, name
            for sub, document_of_sub in pairs(pairs(document).get(b"subcommands", [])).items():
                if sub in NEWER:
                    continue
                there_of_sub = pairs(pairs(there[b"subcommands"])[sub])
                assert {key: there_of_sub[key] for key in pairs(document_of_sub)} == pairs(document_of_sub), sub


KEYS_OF = """SET a b|SET a b GET|SET a b EX 1 get|GET a|SORT a STORE b|SORT a STORE b STORE c|SORT a BY x* GET y* LIMIT 0 1
SORT a BY nosort GET x STORE|SORT a STORE STORE STORE|SORT_RO a BY b*|LMOVE a b LEFT RIGHT|RPOPLPUSH a b|ZUNIONSTORE d 2 a b
ZUNIONSTORE d 3 a b|ZUNIONSTORE d x a b|ZUNIONSTORE d 0 a b|ZUNIONSTORE d -1 a b|ZINTERSTORE d 2 a b WEIGHTS 1 2|ZUNION 2 a b
ZUNION 9223372036854775807 a b|SINTERCARD 2 a b LIMIT 1|SINTERCARD 3 a b|MSET a 1 b 2|MSET a|MSET a b c|MSETNX a 1 b 2|DEL a b
UNLINK a b|SMOVE a b c|BLPOP a b 0|BLPOP a|BLMPOP 0 2 a b LEFT|BZMPOP 0 1 a MIN|BZMPOP 0 3 a MIN|ZMPOP 1 a MIN|LMPOP 2 a b LEFT
PING|EXEC|OBJECT ENCODING k|OBJECT FREQ k|OBJECT|OBJECT HELP|MEMORY USAGE k|MEMORY DOCTOR|BITOP AND d a b|BITOP NOT d|WATCH a b|RENAME a b
COPY a b REPLACE|ZRANGESTORE d s 0 -1|SDIFFSTORE d a b|SINTERSTORE d a|HSET h f v|GETEX a EX 5|GETDEL a|EXPIRE a 5|KEYS x|SCAN 0
GEORADIUS k 1 1 1 m STORE d|GEORADIUS k 1 1 1 m|GEORADIUS k 1 1 1 m storedist d STORE e|GEORADIUS k 1 1 1 m STORE
GEORADIUSBYMEMBER k m 1 m STORE d|GEOSEARCHSTORE d s FROMMEMBER m BYBOX 1 1 m|GEOADD k 1 1 m|LCS a b|BITFIELD k get u8 0
BITFIELD k get u8 0 set u8 0 1|BITFIELD k overflow sat|BITFIELD k bad|BITFIELD_RO k get u8 0|DUMP k|RESTORE k 0 x|ACL CAT|GEOPOS k
RANDOMKEY|nosuch a|EXISTS a b c|TOUCH a b|SUBSTR a 0 1|ZDIFFSTORE d 1 a|ZINTERCARD 1 a|ZDIFF 1 a|ZRANDMEMBER z 1|COMMAND LIST""".replace(
    "\n", "|"
)


def test_keys_of_commands_and_their_use(server, original):
    with server.resp() as ours, original.client() as theirs:
        for line in KEYS_OF.split("|"):
            for ask in ("GETKEYS", "GETKEYSANDFLAGS"):
                words = ["COMMAND", ask, *line.split()]
                assert ours.ask_raw(*words) == theirs.ask_raw(*words), words


def test_sums_of_infinite_scores(server, original):
    with server.resp() as ours, original.client() as theirs:
        for option in ("incr", "nx incr", "xx incr", "gt incr", "lt incr", "nx", "ch"):
            for before, by in itertools.product(("inf", "-inf", "1"), repeat=2):
                for line in ("DEL z", f"ZADD z {before} m", f"ZADD z {option} {by} m", "ZSCORE z m"):
                    assert ours.ask_raw(*line.split()) == theirs.ask_raw(*line.split()), (before, line)


@contextlib.contextmanager
def rows_are_held(server):
    """SQL transactions lock rows of the keys and of their elements, again and again."""
    over = threading.Event()
    held = []

    def hold():
        with server.connect() as connection, connection.cursor() as cursor:
            for table in itertools.cycle(("entries", "lists", "entries", "hashes", "zsets")):
                if over.is_set():
                    return
                cursor.execute("BEGIN")
                with contextlib.suppress(pymysql.OperationalError):  # a deadlock
                    cursor.execute(f"SELECT k FROM postern_redis.{table} FOR UPDATE")
                    over.wait(0.004)
                    held.append(table)
                cursor.execute("ROLLBACK")
                over.wait(0.003)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield held
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_random_sessions_where_rows_are_held(server, original, seed):
    with rows_are_held(server) as held:
        play(server, original, list(SHAPES), "3", f"held {seed}")
    assert held


def empty(client, known):
    if "flushall" in known:
        client.ask("FLUSHALL")
        return
    for key in client.ask("KEYS", "*") if "keys" in known else ():
        client.ask("DEL", key)


# Their answers depend on other clients' keys, on chance, or on the time.
NOT_PIPELINED = {b"keys", b"scan", b"dbsize", b"flushall", b"flushdb", b"randomkey", b"spop", b"expire", b"pexpire"}
TYPES = {"lists": 2, "sets": 3, "hashes": 4, "zsets": 5}


def play_pipelines(server, original, group, client, bursts):
    with server.resp() as ours, original.client() as theirs:
        known = {name.decode() for name in ours.ask("COMMAND", "LIST")}
        commands = Commands(f"pipelines {group} {client} {SEED}", [group, "string", "generic"], known, f"{client}:")
        for _ in range(bursts):
            burst = [commands.next() for _ in range(commands.random.randrange(1, 40))]
            burst = [words for words in burst if words[0].lower() not in NOT_PIPELINED and not is_undefined(words)]
            for one in (ours, theirs):
                one.send(b"".join(encode(*words) for words in burst))
            for words in burst:
                told, expected = ours.raw(), theirs.raw()
                values = []
                for reply in (told, expected):
                    try:
                        values.append(plain(words, decode(reply)))
                    except Error as error:
                        values.append(plain(words, error))
                same = same_types(told, expected) and values[0] == values[1]
                assert same or looked_at_arguments_first(told, expected) or is_late_errno(words, *values), (
                    words,
                    told,
                    expected,
                    [encode(*words) for words in burst],
                )


@pytest.mark.parametrize("group", ["hash", "list", "set", "sorted-set", "stream"])
def test_pipelines_of_clients_with_keys_of_their_own(server, original, group):
    """Their commands share transactions and statements, and a failing one fails alone."""
    with server.resp() as ours:
        empty(ours, {name.decode() for name in ours.ask("COMMAND", "LIST")})
    with original.client() as theirs:
        theirs.ask("FLUSHALL")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        playing = [pool.submit(play_pipelines, server, original, group, client, COMMANDS // 15) for client in range(6)]
        for one in playing:
            one.result()
    for table in ("lists", "sets", "zsets", "hashes"):
        wrong = (
            f"SELECT e.k, e.len, COUNT(x.k) FROM postern_redis.entries e LEFT JOIN postern_redis.{table} x ON x.k = e.k "
            f"WHERE e.type = {TYPES[table]} GROUP BY e.k, e.len HAVING e.len <> COUNT(x.k)"
        )
        assert server.query(wrong) == [], table
