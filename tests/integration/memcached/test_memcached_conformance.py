"""libmemcached's own conformance test, memccapable: every test of the text and of the binary protocol, with the items
in a table and in memory. With POSTERN_TEST_ORIGINAL=1 it runs against Debian's memcached. And random sessions, which
Debian's memcached and the door answer alike."""
import random
import re
import shutil
import subprocess

import pytest
from support.clients import mc
from support.items import ORIGINAL_OR_STORES, items_door, memcached
from support.server import ORIGINAL

TESTS_OF_EACH = 27
TEST_SECONDS = 120
OUTCOME = re.compile(r"^(\S.*?)\s+\[(.*?)\]$", re.MULTILINE)


@pytest.fixture(params=ORIGINAL_OR_STORES)
def port(request):
    with items_door(request) as port:
        yield port


@pytest.mark.parametrize("protocol", ["-a", "-b"])
def test_memccapable(port, protocol):
    try:
        done = subprocess.run(
            ["memccapable", "-h", "127.0.0.1", "-p", str(port), protocol],
            capture_output=True,
            text=True,
            check=False,
            timeout=TEST_SECONDS,
        )
    except FileNotFoundError:
        pytest.skip("there is no memccapable; run tools/deps clients")
    outcomes = dict(OUTCOME.findall(done.stdout))
    assert {name for name, outcome in outcomes.items() if outcome != "pass"} == set(), done.stdout + done.stderr
    assert len(outcomes) == TESTS_OF_EACH


KEYS = ["a", "b", "a:1", "b:2", "b:22", "long" + "k" * 246]
TOO_LONG = "k" * 251
STATISTICS = [
    "detail on",
    "detail off",
    "detail dump",
    "detail",
    "detail x",
    "reset",
    "sizes",
    "sizes_disable",
    "nonsense",
    "cachedump",
    "cachedump 1",
    "cachedump 64 1",
    "cachedump 63 10",
    "cachedump x 1",
    "extstore",
]
SESSIONS, COMMANDS = 6, 150


def random_command(chance):
    """A command that both servers answer with the same bytes: without CAS values, which are counted differently."""
    key, value = chance.choice(KEYS), str(chance.randrange(3)) * chance.randrange(4)
    keys = " ".join(chance.choices(KEYS, k=chance.randrange(1, 40)))
    # memcached counts by prefix the keys before an overlong one, although it answers nothing for them.
    refused = " ".join([*chance.choices(["a", "b"], k=chance.randrange(40)), TOO_LONG, *chance.choices(KEYS, k=3)])
    flags, noreply = chance.randrange(3), chance.choice(["", "", " noreply"])
    return chance.choice(
        [
            f"get {keys}",
            f"gets {refused}",
            f"get {refused}",
            f"gat 0 {keys}",
            f"bget  {keys} ",
            f"delete {key}{noreply}",
            f"touch {key} 0{noreply}",
            f"{chance.choice(['set', 'set', 'add', 'replace', 'append', 'prepend'])} {key} {flags} 0 {len(value)}{noreply}\r\n{value}",
            f"mg {key} v f k q",
            f"ms {key} {len(value)} F{flags} k\r\n{value}",
            f"md {key} q k",
            f"incr {key} {flags}{noreply}",
            f"stats {chance.choice(STATISTICS)}",
            f"stats {chance.choice(STATISTICS)}",
            chance.choice(["verbosity 1", "version 1 2"]),
            f"touch {TOO_LONG} 0",
            "flush_all",
            "GET a",
            "get",
            "set a 0 0",
        ]
    )


def answer(client, command):
    """The answer up to that of the final no-op, without the version, with prefixes in the order of names."""
    client.send(command.encode() + b"\r\nmn\r\n")
    lines = []
    while (line := client.line()) != b"MN":
        lines.append(line[:7] if line.startswith(b"VERSION") else line)
    return sorted(lines) if command == "stats detail dump" else lines


@pytest.mark.skipif(ORIGINAL, reason="it is the original that is compared with")
def test_random_sessions_are_answered_as_by_memcached(port, fetched):
    program = shutil.which("memcached") or fetched("memcached") / "memcached" / "usr" / "bin" / "memcached"
    with memcached(program) as original:
        for seed in range(SESSIONS):
            chance, told = random.Random(seed), []
            with mc.Client(port) as ours, mc.Client(original) as theirs:
                for command in ["flush_all", "stats detail off", "stats reset"] + [
                    random_command(chance) for _ in range(COMMANDS)
                ]:
                    told.append(command)
                    assert answer(ours, command) == answer(theirs, command), (seed, told[-6:])
