#!/usr/bin/python3
"""Records the replies of Redis: record_redis.py [--check] [FILE ...], by default all of tests/recorded/redis.

In such a file a line `> COMMAND` is sent to Debian's redis-server over one connection, with an empty keyspace. Its
reply follows: after `2 ` in RESP2, and after `3 ` in RESP3 if that differs. Lines `! COMMAND` are sent again before
each later command, and their replies are left out. In a reply \\n is CR LF, \\\\ a backslash, and \\xHH any other byte
that is not an ASCII letter, digit or sign. To add a case write its command, then run this.
--check fails if Redis answers otherwise than recorded. src/redis/recorded_test.cc and
tests/integration/redis/test_redis_recorded.py send the same commands to the door."""
import contextlib
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.recorded import PLACE, commands_of, shown, words_of  # noqa: E402
from support.clients.resp import Original  # noqa: E402


@contextlib.contextmanager
def stopped(original):
    """Stops it in the end."""
    try:
        yield original
    finally:
        original.stop()


def replies(commands, resp):
    """The replies of a fresh Redis to each command."""
    with tempfile.TemporaryDirectory() as folder, stopped(Original(folder)) as original:
        with original.client() as client:
            client.ask("HELLO", resp)
            return [reply_after(client, before, line) for before, line in commands]


def reply_after(client, before, line):
    for one in before:
        client.ask_raw(*words_of(one))
    return shown(client.ask_raw(*words_of(line)))


def recorded(text):
    """The text of the file with the replies of the installed Redis."""
    commands = [(before, command) for before, command, *_ in commands_of(text)]
    answers = iter(zip(replies(commands, "2"), replies(commands, "3")))
    made = []
    for line in text.splitlines():
        if line.startswith(("2 ", "3 ")):
            continue
        made.append(line)
        if line.startswith("> "):
            second, third = next(answers)
            made.append(f"2 {second}")
            if third != second:
                made.append(f"3 {third}")
    return "\n".join(made) + "\n"


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:] if name != "--check"] or sorted(PLACE.glob("*.txt"))
    stale = False
    for path in files:
        text = path.read_text(encoding="ascii")
        made = recorded(text)
        if made != text and "--check" in sys.argv:
            print(f"{path}: Redis answers otherwise")
            stale = True
        elif made != text:
            path.write_text(made, encoding="ascii")
    sys.exit(stale)


if __name__ == "__main__":
    main()
