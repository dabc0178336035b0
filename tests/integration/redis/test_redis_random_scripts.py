"""Random scripts at the door and at Debian's redis-server: commands on all types in one EVAL or FCALL, with the same
replies, and the same keys afterwards. The door keeps changes made before an error, as Redis does.

SEED=N chooses other scripts, POSTERN_REDIS_SCRIPTS=N more of them.
"""
import os
import random

import pytest
from support.random_input import seeds
from support.random_input.redis_commands import (
    OF_ARGUMENTS,
    SHAPES,
    Commands,
    is_undefined,
    looked_at_arguments_first,
    plain,
    same_replies_of,
)
from support.clients.resp import Error, decode, encode

SCRIPTS = int(os.environ.get("POSTERN_REDIS_SCRIPTS", "250"))
SEED = seeds.chosen(1)
COMPARED_EVERY = 20

# ARGV contains the commands, each after the number of its words.
BODY = """
local at, replies = 1, {}
while at <= #ARGV do
  local words = {unpack(ARGV, at + 1, at + ARGV[at])}
  at = at + ARGV[at] + 1
  replies[#replies + 1] = redis.CALL(unpack(words))
end
return replies
"""
SCRIPT = {how: BODY.replace("CALL", how) for how in ("call", "pcall")}
# The second run of a command depends on the first, in one script.
AGAIN = """
local replies = {}
for turn = 1, 2 do
  replies[turn] = redis.pcall(unpack(ARGV))
end
return replies
"""
LIBRARY = "#!lua name=random\n" + "".join(
    f"redis.register_function('{how}', function(KEYS, ARGV){BODY.replace('CALL', how)}end)\n"
    for how in ("call", "pcall")
)
# Their random choice, or an order, changes later answers.
LEFT_OUT = {b"spop", b"randomkey", b"select"}
READS = {
    "string": ["GET"],
    "list": ["LRANGE", "0", "-1"],
    "set": ["SMEMBERS"],
    "hash": ["HGETALL"],
    "zset": ["ZRANGE", "0", "-1", "WITHSCORES"],
    "stream": ["XRANGE", "-", "+"],
}


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory("--redis-script-rollback=OFF", redis=True)
    with server.resp() as client:
        client.ask("FUNCTION", "LOAD", "REPLACE", LIBRARY)
    yield server
    server.assert_alive()


def value_of(reply):
    try:
        return decode(reply)
    except Error as error:
        return error


def state(client):
    """All keys with their values, and whether they expire."""
    found = {}
    for key in sorted(client.ask("KEYS", "*")):
        kind = client.ask("TYPE", key)
        read, *rest = READS[kind]
        words = [read.encode(), key, *rest]
        value = plain(words, client.ask(*words))
        if kind == "stream":
            value = [value, plain([b"xinfo"], client.ask("XINFO", "GROUPS", key))]
        found[key] = (kind, value, client.ask("PTTL", key) >= 0)
    return found


class Chooser:
    def __init__(self, commands, chance):
        self.commands, self.chance = commands, chance

    def command(self):
        while True:
            words = self.commands.next()
            if words[0].lower() not in LEFT_OUT and not is_undefined(words):
                return words

    def request(self):
        """The words of the request, and its commands."""
        kind = self.chance.random()
        if kind < 0.15:
            words = self.command()
            return ["EVAL", AGAIN, "0", *words], [words, words]
        done = [self.command() for _ in range(self.chance.randrange(1, 9))]
        packed = [part for words in done for part in (str(len(words)), *words)]
        how = "call" if kind < 0.4 else "pcall"
        if kind > 0.85:
            return ["FCALL", how, "0", *packed], done
        return ["EVAL", SCRIPT[how], "0", *packed], done


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("group", [*(group for group in SHAPES if group != "connection"), "all"])
def test_random_scripts(server, original, group, version):
    groups = list(SHAPES) if group == "all" else [group, "generic", "string"]
    chance = random.Random(f"{group} {version} {SEED}")
    with server.resp() as ours, original.client() as theirs:
        known = {name.decode() for name in ours.ask("COMMAND", "LIST")}
        chooser = Chooser(Commands(f"scripts {group} {SEED}", groups, known), chance)
        theirs.ask("FUNCTION", "LOAD", "REPLACE", LIBRARY)
        for client in (ours, theirs):
            client.ask("HELLO", version)
            client.ask("FLUSHALL")
        history = []
        for number in range(SCRIPTS):
            request, done = chooser.request()
            history.append((request[0], done))
            told, expected_told = ours.ask_raw(*request), theirs.ask_raw(*request)
            value, expected = value_of(told), value_of(expected_told)
            if is_ended_by_arguments(request, told):
                for client in (ours, theirs):
                    client.ask("FLUSHALL")
                continue
            if not same(done, (told, value), (expected_told, expected)):
                fail(history, told, expected_told)
            if number % COMPARED_EVERY == COMPARED_EVERY - 1:
                held, expected_held = state(ours), state(theirs)
                assert held == expected_held, "\n".join(map(str, history[-COMPARED_EVERY:]))
                for client in (ours, theirs):
                    client.ask("FLUSHALL")


def is_ended_by_arguments(request, told):
    """The door may check arguments before it looks up the key; then only the door skips the rest of the script."""
    calls = request[1] in ("call", SCRIPT["call"])
    return calls and told.startswith(OF_ARGUMENTS)


def same(done, reply, expected_reply):
    (told, value), (expected_told, expected) = reply, expected_reply
    if told == expected_told:
        return True
    if isinstance(value, Exception) and isinstance(expected, Exception):
        return str(value) == str(expected) or looked_at_arguments_first(told, expected_told)
    return same_replies_of(done, value, expected)


def fail(history, told, expected_told):
    tail = "\n".join(f"{how} {encode(*words)!r}" for how, done in history[-3:] for words in done)
    raise AssertionError(f"SEED={SEED}\n{tail}\nthe door: {told[:1500]}\n   redis: {expected_told[:1500]}")
