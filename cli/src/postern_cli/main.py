"""postern: parses the command line."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

from postern_cli import __version__
from postern_cli import server as sql
from postern_cli.failure import UNREACHABLE, Failure
from postern_cli.subparsers import subparsers

DESCRIPTION = "Checks Postern's doors, reads and writes through them, and estimates the gain for other statements."
EPILOG = """exit codes:
  0  done
  1  doctor found a fault; get, scan, incr, delete: no such row
  2  wrong usage
  3  the server or the door cannot be reached, or refuses the login
  4  it refused, or has not what the command needs

The server is found as other clients find it: by the groups [client] and [postern] of option files, or the options of
each command. Doors are found by asking the server. All commands have --help; answers for programs come with --json.
"""


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(
        prog="postern", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whole.set_defaults(whole=whole)
    whole.add_argument("--version", action="version", version=f"postern {__version__}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    common = argparse.ArgumentParser(add_help=False)
    sql.add_options(common)
    common.add_argument("--json", action="store_true", help="print JSON")
    for module in modules():
        module.add(commands, [common])
    return whole


def modules() -> List[object]:
    """The commands, in the order of the help."""
    from postern_cli import bench, completion, keys, manual, shell
    from postern_cli.advise import command as advise
    from postern_cli.advise import explain
    from postern_cli.doctor import command as doctor
    from postern_cli.top import command as top
    from postern_cli.trial import command as trial

    return [doctor, advise, explain, trial, shell, keys, top, bench, completion, manual]


def command_first(arguments: List[str], whole: argparse.ArgumentParser) -> List[str]:
    """Moves options before the command to their place after it, because many programs accept them there."""
    commands = subparsers(whole)
    taking = {
        text
        for command in commands.values()
        for action in command._actions
        for text in action.option_strings
        if action.nargs is None
    }
    place = 0
    while place < len(arguments) and arguments[place].startswith("-") and arguments[place] != "--":
        place += 2 if arguments[place] in taking else 1
    if not 0 < place < len(arguments) or arguments[place] not in commands:
        return arguments
    return [arguments[place], *arguments[:place], *arguments[place + 1 :]]


def with_hosts(arguments: List[str], whole: argparse.ArgumentParser) -> List[str]:
    """-h with a word is a host, as for MariaDB's own clients; alone it is help. Words after -- stay as they are."""
    commands = subparsers(whole)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    ours = arguments[:end]
    for place, word in enumerate(ours):
        after = ours[place + 1] if place + 1 < end else "-"
        if word == "-h" and not after.startswith("-") and after not in commands:
            ours[place] = "--host"
        elif word.startswith("-h") and len(word) > 2:
            ours[place] = f"--host={word[2:]}"
    return ours + arguments[end:]


def main(arguments: Optional[List[str]] = None) -> int:
    whole = parser()
    words = with_hosts(sys.argv[1:] if arguments is None else arguments, whole)
    options = whole.parse_args(command_first(words, whole))
    try:
        return int(options.run(options))
    except Failure as failure:
        print(f"postern: {failure}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ConnectionError as error:
        print(f"postern: {error}", file=sys.stderr)
        return UNREACHABLE
