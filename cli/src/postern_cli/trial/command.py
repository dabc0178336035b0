"""postern try: runs an application's tests, or replays a recorded log, at the server's port and at the SQL door, and
reports the differences and the gain."""

from __future__ import annotations

import argparse
from typing import Any, List

from postern_cli import output
from postern_cli import server as sql
from postern_cli.doors import Places
from postern_cli.failure import DONE, FOUND, USAGE, Failure

DESCRIPTION = """Runs COMMAND twice, for the server's own port and for the SQL door of the same server, and compares what it prints, how it ends,
how long it takes and what the server takes of a processor. In COMMAND {host}, {port}, {socket}, {user}, {password} and
{database} are replaced; MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT and POSTERN_TRY (port or door) are in its environment. With --log
the SELECTs of a general log, a slow log, a trace or SQL are sent to both, and their rows compared.

Use a server that may be written to as COMMAND likes: a scratch server, or a replica that nobody needs."""


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "try",
        parents=common,
        help="run an application's tests, or replay a log, at the server's port and at the SQL door, and compare",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "words", nargs="*", metavar="COMMAND", help="after --: the command that runs the application's tests"
    )
    parser.add_argument("--log", metavar="FILE", help="replay the SELECTs of this file; - for the standard input")
    parser.add_argument("--database", default="", metavar="NAME", help="the default database; replaces {database}")
    parser.add_argument("--reset", metavar="SHELL", help="a command that restores the data before each run")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="rounds, each with both ports (1)")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="REGEX", help="parts of an output line that may differ"
    )
    parser.add_argument("--transport", choices=("tcp", "socket"), default="tcp", help="transport to both ports (tcp)")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="differences to show (10)")
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    from postern_cli.trial import replay, runs

    if bool(options.words) == bool(options.log):
        raise Failure("either -- COMMAND or --log FILE", USAGE)
    if options.rounds < 1:
        raise Failure("--rounds is above 0", USAGE)
    server = sql.Server(sql.target(options))
    places = Places(server, options)
    if not places.has("sql-door"):
        raise Failure("the SQL door is closed: SET GLOBAL postern_port = 3307; opens it")
    targets = {"port": places.of_sql("sql", options.transport), "door": places.of_sql("sql-door", options.transport)}
    told = replay.replayed(server, targets, options) if options.log else runs.compared(server, targets, options)
    print(output.as_json(told) if options.json else text(told, options.limit))
    return DONE if told["same"] else FOUND


def text(told: Any, limit: int) -> str:
    heads = ["at", "seconds", "server's processor", "statements", "by workers"]
    rows = [
        [
            {"port": "the server's port", "door": "the SQL door"}[one["at"]],
            f"{one['seconds']:,.2f} s",
            f"{one['cpu_seconds']:,.2f} s" if one["cpu_seconds"] is not None else "-",
            f"{one['statements']:,}",
            output.share(one["by_workers"], one["statements"]) if one["at"] == "door" else "-",
        ]
        for one in told["runs"]
    ]
    lines = [output.table(heads, rows), ""]
    if told["times_as_fast"]:
        lines.append(
            f"The door took {1 / told['times_as_fast']:.2f} of the time ({told['times_as_fast']:.1f} times as fast)"
        )
        if told["cpu_part"] is not None:
            lines[-1] += f" and {told['cpu_part']:.2f} of the server's processor time"
        lines[-1] += "."
    lines += told["notes"]
    if told["same"]:
        lines.append(output.paint(f"No difference: {told['compared']}.", "green"))
    else:
        lines.append(output.paint(f"{len(told['differences']):,} differences: {told['compared']}.", "red"))
        for difference in told["differences"][:limit]:
            lines += ["", *difference.splitlines()]
    return "\n".join(lines)
