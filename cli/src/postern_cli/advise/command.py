"""postern advise: its options. The work is in work.py, which takes a while to load."""

from __future__ import annotations

import argparse
from typing import Any, List

SOURCES = ("digests", "general-log-table", "slow-log-table")


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "advise",
        parents=common,
        help="find key-value shaped statements, and the door that would serve them",
        description="Says which statements of a server are key-value shaped, what share of its statements and of its time they"
        " take, which door would serve them and how, and which mapping or index is missing. Without FILE it reads the"
        " digests of performance_schema.",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a general log, a slow log, a capture of the network (pcap), a trace (JSON lines) or SQL; - for the standard input",
    )
    parser.add_argument("--from", dest="source", choices=SOURCES, default="digests", help="the source on the server")
    parser.add_argument("--watch", type=float, metavar="SECONDS", help="read digests twice, and report the difference")
    parser.add_argument(
        "--tables", metavar="FILE", help="take tables from this dump (mariadb-dump --no-data), not from a server"
    )
    parser.add_argument("--database", default="", metavar="NAME", help="the default database, if the source names none")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only statements on tables of this database, or sent with it as the default",
    )
    parser.add_argument("--sql-port", type=int, default=3306, metavar="N", help="the server's port in a capture (3306)")
    parser.add_argument("--limit", type=int, default=15, metavar="N", help="statements to show (15)")
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    from postern_cli.advise import work

    return work.run(options)
