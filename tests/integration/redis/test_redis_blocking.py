"""Blocking commands beside Debian's redis-server: which client is served, in which order, and how a wait ends.

Several workers serve the door's clients, so most pushes come from another worker than the waiter's. In the random
sessions several clients wait at once; after each step both servers must have sent the same replies to the same clients.
SEED=N chooses other sessions.
"""
import random
import select
import socket

import pytest
from support.random_input import seeds
from support.clients.resp import blocked, decode, encode
from support.waiting import until

SERVER_OPTIONS = ("--redis-threads=3",)
SEED = seeds.chosen(1)
STEPS = 120
# Redis has answered the clients that it serves within this time; it serves them before it answers the push.
TELL_SECONDS = 0.02


def has_reply(client, seconds=0.0):
    return bool(client.file.peek(1)) if select.select([client.socket], [], [], seconds)[0] else False


class Both:
    """One client on each server."""

    def __init__(self, server, original, resp="2"):
        self.ours, self.theirs = server.resp(), original.client()
        self.waits = False
        self.ask("HELLO", resp, same=False)

    def close(self):
        self.ours.close()
        self.theirs.close()

    def ask(self, *words, same=True):
        told, expected = self.ours.ask_raw(*words), self.theirs.ask_raw(*words)
        assert not same or told == expected, words
        return told

    def send(self, *words):
        self.ours.send(encode(*words))
        self.theirs.send(encode(*words))

    def read(self):
        told, expected = self.ours.raw(), self.theirs.raw()
        assert told == expected
        return told


@pytest.fixture(params=["2", "3"])
def both(request, server, original):
    """Makes pairs of clients."""
    clients = []

    def make():
        clients.append(Both(server, original, request.param))
        return clients[-1]

    make().ask("FLUSHALL")
    yield make
    for client in clients:
        client.close()


def block(both, *words):
    """Makes a pair of clients that block."""
    waiting = both()
    with_others = both()
    before = [blocked(with_others.ours), blocked(with_others.theirs)]
    waiting.send(*words)
    until(lambda: [blocked(with_others.ours), blocked(with_others.theirs)] == [count + 1 for count in before])
    with_others.close()
    return waiting


WAITS = [
    ("BLPOP l 0", "RPUSH l a b"),
    ("BRPOP l 0", "RPUSH l a b"),
    ("BLPOP nosuch l 10", "LPUSH l a"),
    ("BLMPOP 0 2 other l LEFT", "RPUSH l a b"),
    ("BLMPOP 10 2 other l RIGHT COUNT 5", "RPUSH l a b c"),
    ("BLMOVE l m LEFT RIGHT 0", "RPUSH l a b"),
    ("BRPOPLPUSH l m 0", "RPUSH l a b"),
    ("BRPOPLPUSH l l 0", "RPUSH l a b"),
    ("BZPOPMIN z 0", "ZADD z 2 two 1 one"),
    ("BZPOPMAX z 0", "ZADD z 2 two 1 one"),
    ("BZPOPMAX y z 10", "ZINCRBY z 1.5 m"),
    ("BZMPOP 0 1 z MIN COUNT 2", "ZADD z 1 a 2 b 3 c"),
    ("BZMPOP 0 2 y z MAX", "ZADD z 1 a 2 b 3 c"),
    ("BLPOP new 0", "RENAME old new"),
    ("BLPOP new 0", "COPY old new"),
    ("BLPOP new 0", "RPOPLPUSH old new"),
    ("BZPOPMIN new 0", "ZUNIONSTORE new 1 oldz"),
    ("BZPOPMIN new 0", "ZRANGESTORE new oldz 0 -1"),
]


@pytest.mark.parametrize("waits, push", WAITS, ids=[" / ".join(pair) for pair in WAITS])
def test_a_write_serves_waiters(both, waits, push):
    other = both()
    other.ask("RPUSH", "old", "1", "2")
    other.ask("ZADD", "oldz", "1", "m")
    waiting = block(both, *waits.split())
    other.ask(*push.split())
    waiting.read()
    for key in ("l", "m", "new"):
        if other.ask("TYPE", key) == b"+list\r\n":
            other.ask("LRANGE", key, 0, -1)
    other.ask("ZRANGE", "z", 0, -1)
    # The same commands at once, when nobody has to wait.
    other.ask("DEL", "l", "m", "z", "new")
    if push.split()[0] in ("RPUSH", "LPUSH", "ZADD", "ZINCRBY"):
        other.ask(*push.split())
        waiting.ask(*waits.split())


def chain(both, *lines):
    return [block(both, *line.split()) for line in lines]


CHAINS = [
    (["BLMOVE a b RIGHT LEFT 0", "BLMOVE b c LEFT RIGHT 0"], "RPUSH a x"),
    (["BLMOVE b c LEFT RIGHT 0", "BRPOPLPUSH a b 0"], "LPUSH a x y"),
    (["BRPOPLPUSH a b 0", "BRPOPLPUSH b a 0"], "RPUSH a x"),
    (["BLMOVE a a LEFT RIGHT 0"], "RPUSH a x y"),
    (
        ["BLMOVE a b LEFT LEFT 0", "BLMOVE b c LEFT LEFT 0", "BLMOVE c d LEFT LEFT 0", "BLPOP d 0"],
        "MULTI;RPUSH a x;EXEC",
    ),
    (["BLPOP a 0", "BRPOP a 0", "BLMPOP 0 1 a LEFT COUNT 5"], "RPUSH a 1 2 3 4"),
    (["BZPOPMIN a 0", "BZPOPMAX a 0"], "ZADD a 1 m 2 n 3 o"),
    (["BLMOVE a b LEFT LEFT 0"], "MULTI;RPUSH a x;LRANGE a 0 -1;LRANGE b 0 -1;EXEC"),
]


@pytest.mark.parametrize("waits, push", CHAINS, ids=[f"{' / '.join(waits)} / {push}" for waits, push in CHAINS])
def test_a_push_is_answered_after_its_waiters_are_served(both, waits, push):
    waiting, other = chain(both, *waits), both()
    for line in push.split(";"):
        other.ask(*line.split())
    # Another client, on any worker, sees the result, too.
    for client in (other, both(), both(), both()):
        for key in "abcd":
            if client.ask("TYPE", key) == b"+list\r\n":
                client.ask("LRANGE", key, 0, -1)
            elif client.ask("TYPE", key) == b"+zset\r\n":
                client.ask("ZRANGE", key, 0, -1)
    for client in waiting:
        client.read()


def test_elements_moved_for_a_waiter_are_seen_by_watchers(both):
    (waiting,) = chain(both, "BRPOPLPUSH a b 0")
    for _ in range(10):
        watching, other = both(), both()
        watching.ask("WATCH", "b")
        watching.ask("MULTI")
        watching.ask("PING")
        other.ask("LPUSH", "a", "x")
        assert watching.ask("EXEC") in (b"*-1\r\n", b"_\r\n")
        waiting.read()
        waiting.close()
        other.ask("DEL", "b")
        (waiting,) = chain(both, "BRPOPLPUSH a b 0")


def test_pushes_in_a_pipeline_are_answered_in_order(both):
    waiting, other = chain(both, "BLPOP a 0", "BLMOVE a b LEFT RIGHT 0"), both()
    lines = "SET before 1|RPUSH a 1|LLEN a|RPUSH a 2|RPUSH a 3|LRANGE a 0 -1|LRANGE b 0 -1|GET before".split("|")
    for line in lines:
        other.send(*line.split())
    for _ in lines:
        other.read()
    for client in waiting:
        client.read()


def test_a_client_that_pushes_may_end_its_sending(both):
    looker = both()
    at_rest = [blocked(looker.ours), blocked(looker.theirs)]
    for number in range(10):
        until(lambda: [blocked(looker.ours), blocked(looker.theirs)] == at_rest)  # the last client has been served
        (waiting,) = chain(both, "BLPOP a 0")
        other = both()
        other.send("RPUSH", "a", str(number))
        for client in (other.ours, other.theirs):
            client.socket.shutdown(socket.SHUT_WR)
        assert other.ours.raw() == b":1\r\n"
        assert other.ours.ended()
        waiting.read()


REFUSED = """BLPOP l -1|BLPOP l x|BLPOP l nan|BLPOP l inf|BLPOP l -inf|BLPOP l 1e400|BLPOP l -0.01|BLPOP l 0x7FFFFFFFFFFFFF|BLPOP l
BLPOP l 9223372036854775807|BLPOP l 9223372036854776|BLPOP l 1e5000|BRPOP text 0|BLPOP text 0|BLPOP nosuch text 0
BLMOVE l m LEFT UP 0|BLMOVE l m UP LEFT -1|BLMOVE text m LEFT LEFT 0|BLMOVE there text LEFT LEFT 0|BLMOVE l m LEFT LEFT x
BRPOPLPUSH text m 0|BRPOPLPUSH there text 0|BRPOPLPUSH l m -1|BLMPOP 0 0 l LEFT|BLMPOP x 0 l LEFT|BLMPOP -1 1 l LEFT
BLMPOP 0 1 l UP|BLMPOP 0 1 l LEFT COUNT 0|BLMPOP 0 1 l LEFT COUNT 1 COUNT 2|BLMPOP 0 2 l LEFT|BLMPOP 0 1 text LEFT
BZPOPMIN text 0|BZPOPMAX z -1|BZPOPMIN z x|BZPOPMIN there 0|BZMPOP 0 1 z LEFT|BZMPOP 0 a z MIN|BZMPOP 0 1 text MAX
BLPOP l 0.001|BLMOVE l m LEFT LEFT 0.01|BRPOPLPUSH l m 0.01|BZPOPMIN z .01|BZMPOP 1e-3 1 z MIN|BLMPOP 0.01 1 l LEFT
BLPOP l +0.01|BLPOP l 0.0000001|BLPOP there there 0|CLIENT UNBLOCK|CLIENT UNBLOCK x|CLIENT UNBLOCK 1 x|CLIENT UNBLOCK 999999
CLIENT UNBLOCK -1|CLIENT UNBLOCK 1 TIMEOUT x|COMMAND GETKEYS BLPOP a b 0|COMMAND GETKEYS BLMPOP 0 2 a b LEFT
COMMAND GETKEYS BZMPOP 0 1 a MIN|COMMAND GETKEYS BLMOVE a b LEFT LEFT 0""".replace(
    "\n", "|"
).split(
    "|"
)


def test_arguments_and_timeouts_in_redis_words(both):
    client = both()
    client.ask("SET", "text", "x")
    for line in REFUSED:
        client.ask("DEL", "there")
        client.ask("RPUSH", "there", "a")
        client.ask(*line.split())
        client.ask("LRANGE", "there", 0, -1)


def test_nobody_waits_in_a_transaction(both):
    client = both()
    client.ask("MULTI")
    for line in (
        "BLPOP l 0|BRPOP l 0|BLMOVE l m LEFT LEFT 0|BRPOPLPUSH l m 0|BLMPOP 0 1 l LEFT|BZPOPMIN z 0|BZPOPMAX z 0"
        "|BZMPOP 0 1 z MIN|RPUSH l a b|BLPOP l 0|BLMOVE l m LEFT LEFT 0|BLPOP l x|ZADD z 1 m|BZPOPMIN z 0"
    ).split("|"):
        client.ask(*line.split())
    client.ask("EXEC")


def test_a_transaction_serves_when_it_is_over(both):
    waiting, other = block(both, "BLPOP", "l", "0"), both()
    for lines in ("RPUSH l a|DEL l", "RPUSH l a|LPOP l|RPUSH l b|RPUSH l c"):
        other.ask("MULTI")
        for line in lines.split("|"):
            other.ask(*line.split())
        other.ask("EXEC")
        if "DEL" in lines:
            assert not has_reply(waiting.ours, 0.2)
    waiting.read()
    other.ask("LRANGE", "l", 0, -1)


def test_commands_pipelined_after_it_wait(both):
    waiting, other = both(), both()
    waiting.send("SET", "before", "1")
    waiting.read()
    for words in (("BLPOP", "l", "0"), ("GET", "before"), ("BLPOP", "l", "0"), ("LLEN", "l")):
        waiting.send(*words)
    other.ask("RPUSH", "l", "a")
    waiting.read()
    waiting.read()
    assert not has_reply(waiting.ours, 0.1)
    other.ask("RPUSH", "l", "b")
    waiting.read()
    waiting.read()


@pytest.mark.parametrize("how", ["", "TIMEOUT", "ERROR"])
def test_clients_are_unblocked(both, how):
    waiting, other = both(), both()
    ids = [decode(client.ask_raw("CLIENT", "ID")) for client in (waiting.ours, waiting.theirs)]

    def unblock():
        reason = [how] if how else []
        return [
            client.ask("CLIENT", "UNBLOCK", number, *reason) for client, number in zip((other.ours, other.theirs), ids)
        ]

    assert unblock() == [0, 0]
    waiting.send("BLMOVE", "l", "m", "LEFT", "LEFT", "0")
    until(lambda: blocked(other.ours) == 1 and blocked(other.theirs) == 1)
    assert unblock() == [1, 1]
    waiting.read()
    waiting.ask("PING")
    assert unblock() == [0, 0]


class Session:
    """Several pairs of clients that block and push at random."""

    def __init__(self, make, seed):
        self.random = random.Random(seed)
        self.clients = [make() for _ in range(6)]
        self.watcher = make()
        # A client that waits for several keys gets the one that was pushed to first, and moves make that order
        # ambiguous.
        self.moves = self.random.random() < 0.5
        self.history = []

    def key(self):
        return self.random.choice("abc")

    def wait(self):
        key, chance = self.key(), self.random
        if self.moves:
            lines = [f"BLPOP {key} 0", f"BRPOP {key} 0", f"BLMOVE {key} {self.key()} LEFT RIGHT 0"]
            lines += [f"BRPOPLPUSH {key} {self.key()} 0", f"BLMPOP 0 1 {key} LEFT"]
        else:
            two = f"{key} {self.key()}"
            lines = [f"BLPOP {two} 0", f"BRPOP {key} 0", f"BLMPOP 0 2 {two} RIGHT COUNT 2", f"BZPOPMIN z{key} 0"]
            lines += [f"BZMPOP 0 1 z{key} MAX COUNT 2", f"BZPOPMAX z{key} zz 0"]
        return chance.choice(lines)

    def act(self):
        key, number = self.key(), self.random.randrange(100)
        lines = [f"RPUSH {key} {number}", f"LPOP {key}", f"ZADD z{key} {number} m{number % 7}", f"ZADD z{key} 1 a 2 b"]
        lines += [f"DEL {key}", f"LPUSHX {key} {number}", f"MULTI;RPUSH {key} 1;LPOP {key};EXEC"]
        if not self.moves:  # else the second element may be taken before the first has come back
            lines += [f"LPUSH {key} {number} {number + 1}", f"RPUSH {key} x y z"]
            lines += [f"MULTI;RPUSH {key} 1;RPUSH {key} 2;EXEC"]
        return self.random.choice(lines)

    def step(self):
        free = [client for client in self.clients if not client.waits]
        if len(free) > 1 and self.random.random() < 0.5:
            client = self.random.choice(free)
            line = self.wait()
            self.history.append(f"{self.clients.index(client)}: {line}")
            client.send(*line.split())
            client.waits = True
        else:
            line = self.act()
            self.history.append(line)
            for part in line.split(";"):
                self.watcher.ask(*part.split())
        self.hear()
        until(lambda: blocked(self.watcher.ours) == blocked(self.watcher.theirs))
        for key in "abc":
            self.watcher.ask("LRANGE", key, 0, -1)

    def hear(self):
        """Reads Redis's replies, and expects the same from the door."""
        while True:
            waiting = {client.theirs.socket: client for client in self.clients if client.waits}
            ready = select.select(list(waiting), [], [], TELL_SECONDS)[0]
            if not ready:
                return
            for one in ready:
                waiting[one].read()
                waiting[one].waits = False

    def end(self):
        for client in self.clients:
            if client.waits:
                client.close()


@pytest.mark.parametrize("number", range(4))
def test_random_sessions(both, number):
    session = Session(both, f"{SEED} {number}")
    try:
        for _ in range(STEPS):
            session.step()
    except AssertionError as error:
        raise AssertionError("\n".join(session.history[-25:])) from error
    finally:
        session.end()
