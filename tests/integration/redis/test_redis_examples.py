"""The examples in Redis's documentation of the door's commands, and the edges of their options, beside Debian's
redis-server: the same replies, byte by byte. The lines are in examples.txt.
"""
import re
import shlex
from pathlib import Path

import pytest

LINES = [
    line
    for line in (Path(__file__).parent / "examples.txt").read_text(encoding="ascii").splitlines()
    if line and not line.startswith("#")
]


def words_of(line):
    return [
        re.sub(rb"\\x(..)", lambda byte: bytes.fromhex(byte[1].decode()), word.encode()) for word in shlex.split(line)
    ]


@pytest.mark.parametrize("resp", ["2", "3"])
def test_examples(server, original, resp):
    with server.resp() as ours, original.client() as theirs:
        for client in (ours, theirs):
            client.ask("HELLO", resp)
            client.ask("CONFIG", "RESETSTAT")
        different = {}
        for number, line in enumerate(LINES):
            words = words_of(line)
            told, expected = ours.ask_raw(*words), theirs.ask_raw(*words)
            if told != expected:
                different[f"{number} {line}"] = (told, expected)
        assert not different
        for section in ("errorstats", "commandstats"):
            assert counts(ours, section) == counts(theirs, section)
        assert total_errors(ours) == total_errors(theirs) == sum(counts(ours, "errorstats").values())


def text_of(client, section):
    return client.ask("INFO", section).decode()


def counts(client, section):
    """How often each command was carried out and rejected, and each error answered."""
    lines = dict(line.split(":") for line in text_of(client, section).split("\r\n") if "stat_" in line)
    found = {}
    for name, values in lines.items():
        value = dict(pair.split("=") for pair in values.split(","))
        found[name] = int(value["count"]) if "count" in value else (int(value["calls"]), int(value["rejected_calls"]))
    return found


def total_errors(client):
    return int(re.search(r"total_error_replies:(\d+)", text_of(client, "stats"))[1])


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory("--innodb-flush-log-at-trx-commit=0", redis=True)
    yield server
    server.assert_alive()
