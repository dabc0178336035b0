"""Commands of tests/recorded/redis over the tables of a server: the replies equal Redis's recorded ones, and Debian's
redis-server still gives them; both count the same commands and errors. src/redis/recorded_test.cc sends them in RESP2
as well, with more files, over the engine in memory."""
import re

import pytest
from support.recorded import PLACE, commands_of, shown, words_of

FILES = sorted(path.stem for path in PLACE.glob("*.txt") if not path.stem.startswith(("edges_", "types_")))

# Commands in scripts and in aborted transactions are counted differently, see grammar.md.
OTHER_STATISTICS = {"scripts", "transactions"}


def answers(client, commands):
    client.ask("FLUSHALL")
    client.ask("HELLO", "3")
    client.ask("CONFIG", "RESETSTAT")
    return [shown(client.ask_raw(*words_of(command))) for command in commands]


@pytest.mark.parametrize("name", FILES)
def test_answers_are_those_of_redis(server, original, name):
    recorded = commands_of((PLACE / f"{name}.txt").read_text(encoding="ascii"))
    assert not any(before for before, *_ in recorded)
    commands, expected = [one[1] for one in recorded], [one[3] for one in recorded]
    with server.resp() as ours, original.client() as theirs:
        different = [each for each in zip(commands, answers(ours, commands), expected) if each[1] != each[2]]
        assert not different
        assert answers(theirs, commands) == expected, "record anew: scripts/record_redis.py"
        if name not in OTHER_STATISTICS:
            assert counts(ours, "commandstats") == counts(theirs, "commandstats")
            assert counts(ours, "errorstats") == counts(theirs, "errorstats")
            assert total_errors(ours) == total_errors(theirs)
        assert total_errors(ours) == sum(counts(ours, "errorstats").values())


def text_of(client, section):
    return client.ask("INFO", section).decode()


def counts(client, section):
    """The number of executions and rejections of each command, and of each error."""
    lines = dict(line.split(":") for line in text_of(client, section).split("\r\n") if "stat_" in line)
    found = {}
    for name, values in lines.items():
        value = dict(pair.split("=") for pair in values.split(","))
        found[name] = int(value["count"]) if "count" in value else (int(value["calls"]), int(value["rejected_calls"]))
    return found


def total_errors(client):
    return int(re.search(r"total_error_replies:(\d+)", text_of(client, "stats"))[1])
