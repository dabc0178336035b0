"""Files of tests/recorded/redis: commands, and Redis's replies. scripts/record_redis.py makes and describes them."""
import re
import shlex

from support.server import ROOT

PLACE = ROOT / "tests/recorded/redis"


def words_of(line):
    """The words of a command, as bytes."""
    return [
        re.sub(rb"\\x(..)", lambda byte: bytes.fromhex(byte[1].decode()), word.encode()) for word in shlex.split(line)
    ]


def shown(reply):
    """A reply as written in a file."""
    text = "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else escaped(byte) for byte in reply)
    return text.replace("\\x0d\\x0a", "\\n").removesuffix("\\n")


def escaped(byte):
    return "\\\\" if byte == 92 else f"\\x{byte:02x}"


def commands_of(text):
    """(commands to send before, command, reply in RESP2, reply in RESP3) of each."""
    found, before, setting_up = [], [], False
    for line in text.splitlines():
        if line.startswith("! "):
            before = [*(before if setting_up else ()), line[2:]]
        elif line.startswith("> "):
            found.append([before, line[2:], None, None])
        elif line.startswith("2 "):
            found[-1][2:] = [line[2:]] * 2
        elif line.startswith("3 "):
            found[-1][3] = line[2:]
        setting_up = line.startswith("! ")
    return found
