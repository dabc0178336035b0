"""Random sessions through the door and through Debian's redis-server: the same replies, in RESP2 and RESP3.

What may differ is in support/redis_commands.py: orders of sets, what is chosen at random, times, and whether a key that
is not there or bad arguments are told of first. SEED=N chooses other sessions, POSTERN_REDIS_COMMANDS=N makes them longer.
"""
import os

import pytest
from support import seeds
from support.redis_commands import (
    SHAPES,
    Commands,
    is_late_errno,
    is_undefined,
    looked_at_arguments_first,
    plain,
    same_replies_of,
)
from support.resp import Error, Original, decode, encode

COMMANDS = int(os.environ.get("POSTERN_REDIS_COMMANDS", "1500"))
SEED = seeds.chosen(1)
TOLD = 30


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(redis=True)
    yield server
    server.assert_alive()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    original = Original(tmp_path_factory.mktemp("redis"))
    yield original
    original.stop()


def reply_of(client, words):
    reply = client.ask_raw(*words)
    try:
        return reply, decode(reply)
    except Error as error:
        return reply, error


def same_types(one, other):
    """The kinds of a reply, so that a bulk string is not taken for a status."""
    return one[:1] == other[:1]


@pytest.mark.parametrize("resp", ["2", "3"])
@pytest.mark.parametrize("group", [*(group for group in SHAPES if group != "connection"), "all"])
@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_random_sessions(server, original, group, resp, seed):
    with server.resp() as ours, original.client() as theirs:
        known = {name.decode() for name in ours.ask("COMMAND", "LIST")}
        groups = list(SHAPES) if group == "all" else [group, "generic", "connection", "string"]
        commands = Commands(f"{group} {seed}", groups, known)
        if group != "all" and not any(shape[0] in known for shape in Commands(0, [group], known).shapes):
            pytest.skip(f"the door has no commands of {group}")
        for client in (ours, theirs):
            client.ask("HELLO", resp)
        empty(ours, known)
        theirs.ask("FLUSHALL")
        history = []
        queued = []
        for _ in range(COMMANDS):
            words = commands.next()
            if words[0].lower() in (b"spop", b"randomkey") or is_undefined(words):
                continue  # what they choose changes what comes behind
            if words[0].lower() == b"select" and words[1:] != [b"0"]:
                continue
            history.append(encode(*words).decode("latin-1").split("\r\n")[2::2])
            (told, value), (expected_told, expected) = reply_of(ours, words), reply_of(theirs, words)
            name = words[0].lower()
            done, queued = queued, ([] if name in (b"exec", b"discard") else queued)
            if name == b"exec" and same_types(told, expected_told) and same_replies_of(done, value, expected):
                continue
            if told == expected_told == b"+QUEUED\r\n":
                queued.append(words)
            if same_types(told, expected_told) and plain(words, value) == plain(words, expected):
                continue
            if looked_at_arguments_first(told, expected_told) or is_late_errno(words, value, expected):
                continue
            history += [each for each in zip(done, value, expected) if each[1] != each[2]] if name == b"exec" else []
            tail = "\n".join(map(str, history[-TOLD:]))
            raise AssertionError(f"{tail}\nthe door: {told[:500]}\n   redis: {expected_told[:500]}")


def empty(client, known):
    if "flushall" in known:
        client.ask("FLUSHALL")
        return
    for key in client.ask("KEYS", "*") if "keys" in known else ():
        client.ask("DEL", key)
