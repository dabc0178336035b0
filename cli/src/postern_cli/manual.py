"""postern manual: the manual page, generated from the parser."""

from __future__ import annotations

import argparse
from typing import Any, List

from postern_cli import __version__
from postern_cli.failure import DONE
from postern_cli.subparsers import subparsers

EXAMPLES = """postern doctor
postern advise
postern advise --tables dump.sql /var/log/mysql/general.log
postern explain 'SELECT user_name FROM shop.user WHERE user_id = 101'
postern try -u app -p --log /var/log/mysql/general.log
postern get shop.user 101 --columns user_name
postern scan shop.user 100 --op '>=' --limit 10
postern incr shop.page /index.html hits=1
postern top --once
postern bench shop.user --clients 8 --picture bench.svg
postern shell"""


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("manual", help="print the manual page", description="Prints the manual page, for man.")
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    print(page(options.whole), end="")
    return DONE


def roff(text: str) -> str:
    """Escapes text, so that roff sees no request in it."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\n".join(("\\&" + line) if line.startswith(".") else line for line in escaped.splitlines())


def page(parser: argparse.ArgumentParser) -> str:
    lines = [
        f'.TH POSTERN 1 "" "postern {__version__}" "Postern"',
        ".SH NAME",
        "postern \\- look into Postern\\(aqs doors, use them, and find out what they would be good for",
        ".SH SYNOPSIS",
        ".B postern",
        "COMMAND [OPTION...] [ARGUMENT...]",
        ".SH DESCRIPTION",
        roff(parser.description or ""),
    ]
    lines += [".SH COMMANDS"]
    common = {}
    for name, command in subparsers(parser).items():
        lines += [f".SS {name}", whole(command.description or "")]
        for group in command._action_groups:
            for action in group._group_actions:
                if group.title == "connection" or action.dest == "json":
                    common[action.dest] = action
                elif action.dest != "help":
                    lines += entry(action)
    lines += [".SH OPTIONS OF ALL COMMANDS"]
    for action in common.values():
        lines += entry(action)
    lines += [".SH EXIT STATUS"]
    for line in (parser.epilog or "").splitlines():
        if line.startswith("  "):
            number, _, words = line.strip().partition("  ")
            lines += [".TP", number, roff(words)]
    lines += [
        ".SH FILES",
        ".TP",
        "/etc/mysql/my.cnf, ~/.my.cnf",
        "option files; their groups [client] and [postern] count",
    ]
    lines += [".TP", "~/.local/state/postern/history", "what was typed at the prompt"]
    lines += [".SH EXAMPLES", ".nf", roff(EXAMPLES), ".fi", ".SH SEE ALSO", ".BR mariadb (1),", ".BR mariadbd (8)"]
    return "\n".join(lines) + "\n"


def whole(text: str) -> str:
    """A description, with the layout of its lists."""
    head, _, rest = text.partition("\n\n")
    return f"{roff(head)}\n.nf\n{roff(rest)}\n.fi" if rest else roff(head)


def entry(action: argparse.Action) -> List[str]:
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    takes = (
        ""
        if not action.option_strings or action.nargs == 0
        else f" {action.metavar or '{' + ','.join(map(str, action.choices or [])) + '}'}"
    )
    return [".TP", f".B {roff(names + takes)}", roff(action.help or "")]
