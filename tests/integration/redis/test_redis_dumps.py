"""DUMP and RESTORE between the door and Debian's redis-server, in both directions, in every form that Redis has for a value.

SEED=N chooses other values."""
import random
import struct

import pytest
from support.random_input import seeds
from support.clients.resp import Error, encode

SERVER_OPTIONS = ("--innodb-flush-log-at-trx-commit=0",)
SEED = seeds.chosen(1)
TEXTS = [
    b"",
    b"a",
    b"10",
    b"-1",
    b"007",
    b"127",
    b"128",
    b"-4097",
    b"40000",
    b"-8388609",
    b"2147483648",
    b"9223372036854775807",
]
TEXTS += [
    b"\0\xff\r\n",
    b"x" * 63,
    b"y" * 64,
    b"z" * 300,
    b"w" * 5_000,
    b"-9223372036854775808",
    b"18446744073709551615",
]
SCORES = ["0", "-0.5", "1", "inf", "-inf", "1e300", "0.1", "5e-324", "-9007199254740993"]


def made(chance):
    """Commands that make a key of each type, in each size for which Redis has an encoding of its own."""
    few, many = chance.sample(TEXTS, 5), [b"%d:%d" % (i, chance.randrange(1000)) for i in range(700)]
    lines = [("SET", f"string{i}", text) for i, text in enumerate(TEXTS)]
    for name, texts in (("few", few), ("many", many), ("long", [b"l" * 9_000, b"m" * 70_000, b"n"])):
        lines.append(("RPUSH", f"list {name}", *texts))
        if name == "long":
            texts = [text[:500] for text in texts]
        lines.append(("SADD", f"set {name}", *texts))
        lines.append(("HSET", f"hash {name}", *(word for text in texts for word in (text[:500], text * 2))))
        lines.append(
            ("ZADD", f"zset {name}", *(word for text in texts for word in (chance.choice(SCORES), text[:500])))
        )
    lines += [("SADD", f"numbers {bits}", 1, -5, 2**bits - 1, -(2**bits)) for bits in (7, 15, 31, 63)]
    for i in range(250):
        fields = ("f", i, "g", "v" * (i % 90)) if i % 7 else ("other", -i)
        lines.append(("XADD", "stream", f"{1000 + i // 3}-{i}", *fields))
    lines += [("XADD", "entry", "5-0", "f", "v"), ("XADD", "empty", "7-7", "f", "v"), ("XDEL", "empty", "7-7")]
    lines += [("XDEL", "stream", "1001-3", "1010-31"), ("XTRIM", "stream", "MAXLEN", 240)]
    lines += [("XGROUP", "CREATE", "stream", name, "0") for name in ("g", "h")]
    lines += [("XGROUP", "CREATE", "empty", "g", "$"), ("XGROUP", "CREATECONSUMER", "stream", "h", "idle")]
    lines += [("XREADGROUP", "GROUP", "g", who, "COUNT", 60, "STREAMS", "stream", ">") for who in ("ann", "bob")]
    lines += [("XACK", "stream", "g", "1005-15"), ("XCLAIM", "stream", "g", "bob", 0, "1006-18", "RETRYCOUNT", 7)]
    return lines


READ = {
    "string": [("GET", "K")],
    "list": [("LRANGE", "K", 0, -1)],
    "set": [("SMEMBERS", "K")],
    "hash": [("HGETALL", "K")],
    "zset": [("ZRANGE", "K", 0, -1, "WITHSCORES")],
    "stream": [("XRANGE", "K", "-", "+"), ("XINFO", "GROUPS", "K")],
}


def value_of(client, key):
    """Everything that can be read of a key, except what depends on the time."""
    kind = client.ask("TYPE", key)
    told = [client.ask(*(key if word == "K" else word for word in words)) for words in READ[kind]]
    if kind == "set":
        told = [sorted(told[0])]
    elif kind == "hash":
        told = [sorted(zip(told[0][::2], told[0][1::2]))]
    elif kind == "stream":
        info = client.ask("XINFO", "STREAM", key)
        told += [
            dict(zip(info[::2], info[1::2]))[name]
            for name in (b"length", b"last-generated-id", b"max-deleted-entry-id")
        ]
        told += [dict(zip(info[::2], info[1::2]))[name] for name in (b"entries-added", b"recorded-first-entry-id")]
        for group in told[1]:
            name = group[1]
            told.append([one[:2] + one[3:] for one in client.ask("XPENDING", key, name, "-", "+", 1000)])
            told.append([one[:4] for one in client.ask("XINFO", "CONSUMERS", key, name)])
    return kind, told


def keys_made(client, chance):
    client.ask("FLUSHALL")
    for words in made(chance):
        client.ask(*words)
    return sorted(client.ask("KEYS", "*"))


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_values_pass_in_both_directions(server, original, seed):
    """Keys are made on one server, dumped, restored on the other, dumped there, and restored on the first."""
    with server.resp() as ours, original.client() as theirs:
        for one, other in ((ours, theirs), (theirs, ours)):
            keys = keys_made(one, random.Random(f"dumps {seed}"))
            other.ask("FLUSHALL")
            assert len(keys) == 38
            for key in keys:
                expected = value_of(one, key)
                assert other.ask("RESTORE", key, 0, one.ask("DUMP", key)) == "OK", key
                assert value_of(other, key) == expected, key
                assert one.ask("RESTORE", key, 0, other.ask("DUMP", key), "REPLACE") == "OK", key
                assert value_of(one, key) == expected, key


def test_a_short_string_is_dumped_as_by_redis(server, original):
    with server.resp() as ours, original.client() as theirs:
        for text in (b"", b"a", b"10", b"-129", b"32768", b"2147483647", b"2147483648", b"x" * 20):
            assert ours.ask("SET", "k", text) == theirs.ask("SET", "k", text)
            assert ours.ask("DUMP", "k") == theirs.ask("DUMP", "k"), text


def reply(client, words):
    return client.ask_raw(*words)


def test_options_and_errors(server, original):
    with server.resp() as ours, original.client() as theirs:
        payload = None
        for client in (ours, theirs):
            client.ask("FLUSHALL")
            client.ask("SET", "there", "1")
            client.ask("RPUSH", "list", "a")
            payload = client.ask("DUMP", "there")
        spoilt = payload[:-1] + bytes([payload[-1] ^ 1])
        late = payload[:-10] + struct.pack("<H", 11) + payload[-8:]
        lines = [
            ("DUMP", "none"),
            ("RESTORE", "there", 0, payload),
            ("RESTORE", "there", -1, "x"),
            ("RESTORE", "n", -1, payload),
        ]
        lines += [
            ("RESTORE", "n", "x", payload),
            ("RESTORE", "n", 0, spoilt),
            ("RESTORE", "n", 0, late),
            ("RESTORE", "n", 0, ""),
        ]
        lines += [
            ("RESTORE", "n", 0, payload, "bad"),
            ("RESTORE", "n", 0, payload, "IDLETIME"),
            ("RESTORE", "n", 0, payload, "FREQ", 256),
        ]
        lines += [("RESTORE", "n", 0, payload, "IDLETIME", -1), ("RESTORE", "n", 0, payload, "IDLETIME", "x")]
        lines += [
            ("RESTORE", "n", 0, payload, "IDLETIME", 1, "FREQ", 1),
            ("RESTORE", "n", 0, payload, "FREQ", -1),
            ("EXISTS", "n"),
        ]
        lines += [("RESTORE", "n", 0, payload, "IDLETIME", 1), ("GET", "n"), ("TTL", "n"), ("DEL", "n")]
        lines += [
            ("RESTORE", "n", 100_000, payload, "FREQ", 5),
            ("TTL", "n"),
            ("RESTORE", "n", 1, payload, "ABSTTL", "REPLACE"),
        ]
        lines += [("EXISTS", "n"), ("RESTORE", "n", 32503680000000, payload, "absttl"), ("PEXPIRETIME", "n")]
        lines += [
            ("RESTORE", "list", 0, payload, "replace"),
            ("TYPE", "list"),
            ("RESTORE", "n", 9223372036854775807, payload, "REPLACE"),
        ]
        lines += [("MULTI",), ("RESTORE", "m", 0, payload), ("DUMP", "m"), ("RESTORE", "m", 0, payload), ("EXEC",)]
        for words in lines:
            assert reply(ours, words) == reply(theirs, words), words


def test_payloads_with_valid_checksums_and_nothing_else(server, original):
    """A forged payload is refused or makes a key, and the server survives."""
    chance = random.Random(f"forged {SEED}")
    with server.resp() as ours, original.client() as theirs:
        keys = keys_made(theirs, chance)
        payloads = [
            theirs.ask("DUMP", key)
            for key in keys
            if theirs.ask("STRLEN" if key.startswith(b"string") else "EXISTS", key) < 500
        ]
        taken = 0
        for _ in range(1_500):
            body = bytearray(chance.choice(payloads)[:-8])
            for _ in range(chance.choice([1, 1, 2, 5])):
                body[chance.randrange(len(body) - 2)] = chance.choice(
                    [0, 1, 2, 3, 19, 127, 128, 255, chance.randrange(256)]
                )
            if chance.random() < 0.2:
                del body[chance.randrange(1, len(body) - 2) : -2]
            forged = bytes(body) + struct.pack("<Q", crc64(body))
            told = ours.ask_raw("RESTORE", "forged", 0, forged, "REPLACE")
            taken += told == b"+OK\r\n"
            assert told == b"+OK\r\n" or told.startswith((b"-ERR Bad data format", b"-ERR Data too long", b"-OOM")), (
                told,
                forged,
            )
            ours.ask_raw("DUMP", "forged")
        assert taken > 50
        assert theirs.ask("PING") == "PONG"


def crc64(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc


def test_a_blocked_client_gets_a_restored_element(server):
    with server.resp() as client, server.resp() as waiting:
        client.ask("DEL", "queue")
        client.ask("RPUSH", "queue", "a", "b")
        payload = client.ask("DUMP", "queue")
        client.ask("DEL", "queue")
        waiting.send(encode("BLPOP", "queue", 20))
        while b"cmd=blpop" not in client.ask("CLIENT", "LIST"):
            pass
        assert client.ask("RESTORE", "queue", 0, payload) == "OK"
        assert waiting.raw() == b"*2\r\n$5\r\nqueue\r\n$1\r\na\r\n"


def test_rows_of_ones_own_are_dumped_and_not_restored(server, original):
    server.query("CREATE DATABASE IF NOT EXISTS shop")
    server.query("CREATE TABLE shop.dumped (id INT PRIMARY KEY, name VARCHAR(20), age INT)")
    server.query("INSERT INTO shop.dumped VALUES (1, 'Ann', 30), (2, 'Bob', NULL)")
    server.query("CALL postern.redis_map_row('person:', 'shop', 'dumped', '*')")
    server.query("CALL postern.redis_map_value('name:', 'shop', 'dumped', 'id', 'name')")
    with server.resp() as ours, original.client() as theirs:
        while ours.ask("EXISTS", "person:1") == 0:
            pass
        theirs.ask("FLUSHALL")
        for key in ("person:1", "person:2", "name:1"):
            assert theirs.ask("RESTORE", key, 0, ours.ask("DUMP", key)) == "OK"
        assert theirs.ask("HGETALL", "person:1") == [b"name", b"Ann", b"age", b"30"]
        assert theirs.ask("HGETALL", "person:2") == [b"name", b"Bob"]
        assert theirs.ask("GET", "name:1") == b"Ann"
        assert ours.ask("DUMP", "person:3") is None
        with pytest.raises(Error, match="cannot be restored"):
            ours.ask("RESTORE", "person:1", 0, ours.ask("DUMP", "person:2"), "REPLACE")
