"""MONITOR beside Debian's redis-server: the same lines, their order, their limits, and rights."""
import re
import threading
import time

import pytest
from support.clients.resp import Client, encode
from support.waiting import until

LINE = re.compile(rb"\+(\d+\.\d{6}) \[(\d+) (lua|127\.0\.0\.1:\d+)\]((?: \"(?:[^\"\\]|\\.)*\")+)\r\n")
LIBRARY = "#!lua name=l\nredis.register_function('f', function(keys) return redis.call('incr', keys[1]) end)"

ASKED = [
    ("SET", "k", b'v\n\r\t\a\b"\\\x01\xff~ \x7f'),
    ("GET", "k", "x"),
    ("NOSUCH",),
    ("LPUSH", "k", "x"),
    ("SET", "k", "x", "BAD"),
    ("SELECT", "0"),
    ("SELECT", "99"),
    ("PING",),
    ("get", "k"),
    ("MULTI",),
    ("SET", "q", "1"),
    ("EVAL", "redis.call('set', KEYS[1], '1') return redis.call('get', KEYS[1])", "1", "x"),
    ("PING",),
    ("EXEC",),
    ("MULTI",),
    ("EXEC",),
    ("MULTI",),
    ("GET", "k"),
    ("HGETALL", "nokey"),
    ("EXEC",),
    ("MULTI",),
    ("NOSUCH",),
    ("EXEC",),
    ("MULTI",),
    ("GET", "k"),
    ("DISCARD",),
    ("WATCH", "q"),
    ("UNWATCH",),
    ("EVAL", "redis.pcall('lpush', 's') redis.call('sadd', 's', '1', 'a b') return redis.call('select', '0')", "0"),
    ("EVAL", "redis.call('set', 'x', '1') error('x')", "0"),
    ("EVAL_RO", "return redis.call('get', 'x')", "0"),
    ("EVAL", "return 1", "x"),
    ("EVALSHA", "a" * 40, "0"),
    ("EVAL", "bad lua", "0"),
    ("SCRIPT", "LOAD", "return 1"),
    ("FUNCTION", "LOAD", "REPLACE", LIBRARY),
    ("FCALL", "f", "1", "n"),
    ("AUTH", "a", "b"),
    ("AUTH", "secret"),
    ("HELLO", "3", "AUTH", "default", "b", "SETNAME", "z"),
    ("HELLO", "2"),
    ("CONFIG", "GET", "port"),
    ("CLIENT", "LIST"),
    ("CLIENT", "SETNAME", "n"),
    ("COMMAND", "COUNT"),
    ("SLOWLOG", "GET"),
    ("ACL", "WHOAMI"),
    ("DBSIZE",),
    ("BLPOP", "nokey", "0.01"),
    ("LPUSH", "l", "1", "2"),
    ("BLPOP", "l", "0"),
    ("SORT", "l", "ALPHA"),
    ("ZADD", "z", "1", "a", "2", "b"),
    ("SUBSCRIBE", "c"),
    ("UNSUBSCRIBE",),
    ("PUBLISH", "c", "m"),
    ("RESET",),
    ("XADD", "s2", "*", "a", "1"),
    ("FLUSHALL",),
    ("QUIT",),
]


def watching(port):
    monitor = Client(port)
    assert monitor.ask("MONITOR") == "OK"
    return monitor


def lines_until(monitor, last):
    """The lines before the one that contains this word, as (database, client, words)."""
    lines = []
    while True:
        line = monitor.line()
        found = LINE.fullmatch(line)
        assert found, line
        if last in found[4]:
            return lines
        lines.append((found[1], found[2], found[3], found[4]))


def shown(port):
    """ASKED as a monitor shows it."""
    with watching(port) as monitor:
        with Client(port) as client:
            for words in ASKED:
                client.ask_raw(*words)
        with Client(port) as client:
            client.ask_raw("ECHO", "the end")
        lines = lines_until(monitor, b"the end")
    times = [time for time, *_ in lines]
    assert times == sorted(times)
    peers = {whose for _, _, whose, _ in lines if whose != b"lua"}
    assert len(peers) == 1
    return [(database, whose == b"lua", words) for _, database, whose, words in lines]


def test_monitor_shows_what_redis_shows(port, original):
    theirs = shown(original.port)
    assert shown(port) == theirs
    assert len(theirs) > 50


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_monitor_is_answered_as_by_redis_and_ends(port, original, version):
    asked = [
        *[("PING",), ("GET", "k"), ("SET", "k", "v"), ("EVAL", "return 1", "0"), ("PUBLISH", "a", "b"), ("DBSIZE",)],
        *[("MULTI",), ("SET", "a", "b"), ("EXEC",), ("TIME",), ("MONITOR",), ("ECHO", "x"), ("RESET",)],
        *[("SET", "k", "v"), ("MULTI",), ("MONITOR",), ("EXEC",), ("EVAL", "return redis.call('monitor')", "0")],
        *[("MONITOR", "x"), ("MONITOR",), ("QUIT",)],
    ]
    heard = []
    for at in (port, original.port):
        with Client(at) as client:
            client.ask("HELLO", version)
            client.ask("MONITOR")
            client.send(b"".join(encode(*words) for words in asked))
            told = client.file.read()
        # Redis puts the monitor's own lines between the answers.
        answers = LINE.sub(b"", told)
        heard.append(re.sub(rb"\*2\r\n\$10\r\n\d+\r\n\$\d\r\n\d+\r\n", b"time", answers))
    assert heard[0] == heard[1]
    with watching(port) as monitor, Client(port) as client:
        assert client.ask("CLIENT", "LIST").decode().count(" flags=O ") == 1
        client.send(encode("SET", "k", "v"))
        assert monitor.raw().endswith(b'] "SET" "k" "v"\r\n')


def test_a_command_is_shown_before_those_that_came_after_its_answer(port):
    """One order has the commands of all workers, and agrees with each client's order."""
    clients, rounds = 8, 60

    def work(number):
        with Client(port) as client:
            for turn in range(rounds):
                value = f"{number}-{turn}"
                began = time.monotonic()
                if turn % 3 == 0:
                    client.ask("SET", "k", value)
                elif turn % 3 == 1:
                    client.ask("EVAL", "return redis.call('set', KEYS[1], ARGV[1])", "1", "k", value)
                else:
                    client.send(encode("MULTI") + encode("SET", "k", value) + encode("EXEC"))
                    assert [client.raw(), client.raw(), client.raw()][2] == b"*1\r\n+OK\r\n"
                times[value] = (began, time.monotonic())

    times = {}
    with watching(port) as monitor:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with Client(port) as client:
            client.ask("ECHO", "the end")
        lines = lines_until(monitor, b"the end")
    sets = [re.fullmatch(rb' "set" "k" "([^"]*)"', words.lower()) for *_, words in lines]
    values = [found[1].decode() for found in sets if found]
    assert sorted(values) == sorted(times)
    latest_begin = 0
    for value in values:
        began, ended = times[value]
        assert ended > latest_begin, value
        latest_begin = max(latest_begin, began)


def test_a_script_that_ran_twice_is_shown_once_with_its_commands_together(port):
    """Scripts that lock keys in different orders are retried at times."""
    script = "redis.call('incr', KEYS[1]) redis.call('incr', KEYS[2]) return ARGV[1]"
    rounds = 100

    def work(keys):
        with Client(port) as client:
            for turn in range(rounds):
                client.ask("EVAL", script, "2", *keys, f"{keys[0]}{turn}")

    with watching(port) as monitor, Client(port) as client:
        client.ask("MSET", "a", "0", "b", "0")
        threads = [threading.Thread(target=work, args=(keys,)) for keys in (("a", "b"), ("b", "a"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.ask("MGET", "a", "b") == [b"200", b"200"]
        client.ask("ECHO", "the end")
        lines = lines_until(monitor, b"the end")[1:-1]
    assert len(lines) == 3 * 2 * rounds
    begun = []
    for at in range(0, len(lines), 3):
        script_line, first, second = lines[at : at + 3]
        keys = [word.decode() for word in re.findall(rb'"([^"]*)"', script_line[3])][-3:-1]
        assert [first[3], second[3]] == [b' "incr" "%s"' % key.encode() for key in keys]
        assert [script_line[2] == b"lua", first[2], second[2]] == [False, b"lua", b"lua"]
        begun.append(script_line[3])
    assert len(set(begun)) == 2 * rounds


def test_a_monitor_that_does_not_read_is_disconnected(server, port):
    before = server.variable("redis_pubsub_buffer_bytes")
    server.execute("SET GLOBAL redis_pubsub_buffer_bytes = 1048576")
    try:
        with watching(port) as slow, watching(port) as quick, Client(port) as says:
            taken = []
            reader = threading.Thread(target=lambda: taken.append(lines_until(quick, b"the end")))
            reader.start()
            text = b"x" * 100_000
            until(
                lambda: says.ask("SET", "k", text) == "OK"
                and b" flags=O " in says.ask("CLIENT", "LIST")
                and says.ask("CLIENT", "LIST").count(b" flags=O ") == 1
            )
            says.ask("ECHO", "the end")
            reader.join()
            assert all(text in words or b'"SET"' not in words for *_, words in taken[0])
            slow.socket.settimeout(30)
            while slow.file.read(1 << 20):
                pass
    finally:
        server.execute(f"SET GLOBAL redis_pubsub_buffer_bytes = {before}")


def test_with_accounts_a_monitor_sees_its_own_account_alone(sandbox_factory):
    server = sandbox_factory("--redis-auth=account", redis=True)
    server.execute(
        *[f"CREATE USER {name}@localhost IDENTIFIED BY 'pass of {name}'" for name in ("one", "two")],
        *[f"GRANT ALL ON postern_redis.* TO {name}@localhost" for name in ("one", "two")],
    )
    with server.resp() as stranger:
        assert stranger.error("MONITOR").startswith("NOAUTH")

    def client(name):
        client = server.resp()
        until(lambda: client.ask_raw("AUTH", name, f"pass of {name}") == b"+OK\r\n")
        return client

    with client("one") as monitor, client("one") as own, client("two") as other:
        assert monitor.ask("MONITOR") == "OK"
        other.ask("SET", "k", "of two")
        own.ask("SET", "k", "of one")
        own.ask_raw("AUTH", "two", "pass of nobody")
        own.ask("AUTH", "one", "pass of one")
        own.ask("ECHO", "the end")
        words = [words for *_, words in lines_until(monitor, b"the end")]
        secret = b' "AUTH" "(redacted)" "(redacted)"'
        assert words == [b' "SET" "k" "of one"', secret, secret]
        monitor.send(encode("AUTH", "two", "pass of two"))
        assert sorted([monitor.line(), monitor.line()])[1] == b"+OK\r\n"
        own.ask("SET", "k", "of one again")
        other.ask("ECHO", "the end")
        assert lines_until(monitor, b"the end") == []
    server.assert_alive()
