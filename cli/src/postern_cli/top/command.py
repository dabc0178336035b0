"""postern top: the activity of the doors, from the server's status variables and INFORMATION_SCHEMA."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from typing import Any, Dict, List

from postern_cli import output
from postern_cli import server as sql
from postern_cli.failure import DONE, USAGE, Failure
from postern_cli.top import figures
from postern_cli.top.keys import Keys
from postern_cli.top.looks import Look, between, first
from postern_cli.top.screen import FORMS, REASONS, Screen, latencies, shown, sort_key, sql_door

INTERVAL_MAX = 86_400
PLAIN_WIDTH = 200
PLAIN_ROWS = 10


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "top",
        parents=common,
        help="show the activity of the doors",
        description="Shows requests and rows a second by door, how much of the SQL door its workers serve, and the forms of"
        " its statements with what they take. h shows the keys; q or Ctrl-C ends it.",
    )
    parser.add_argument("--interval", type=float, default=1.0, metavar="SECONDS", help="between two readings (1)")
    parser.add_argument("--once", action="store_true", help="show one interval as plain text, and quit")
    parser.add_argument("--count", type=int, metavar="N", help="end after so many intervals")
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    if not 0 < options.interval <= INTERVAL_MAX or (options.count is not None and options.count < 1):
        raise Failure(f"--interval is above 0 and at most {INTERVAL_MAX:,}, and --count above 0", USAGE)
    server = sql.Server(sql.target(options))
    before = Look(server)
    if not figures.doors_in(before.status):
        raise Failure("the server has no doors: INSTALL SONAME 'postern'; postern doctor says more")
    if sys.stdout.isatty() and not options.once and not options.json:
        return run_live(server, before, options)
    shown_already = 0
    while True:
        time.sleep(options.interval)
        after = Look(server)
        told = between(before, after)
        print(output.as_json(told) if options.json else plain(told, head(server, after)), flush=True)
        before, shown_already = after, shown_already + 1
        if options.once or shown_already == options.count:
            return DONE


def head(server: sql.Server, look: Look) -> str:
    where = server.target
    return f"{where.socket or f'{where.host}:{where.port}'}  up {look.status.get('uptime', 0):,} s"


def run_live(server: sql.Server, before: Look, options: Any) -> int:
    screen, keys, looks = Screen(), Keys(), 0
    told, words = first(before), head(server, before)
    try:
        draw(screen, told, words)
        due = time.monotonic() + options.interval
        while True:
            key = keys.wait(max(due - time.monotonic(), 0))
            if key in ("q", "Q", "\x03"):
                return DONE
            if key:
                screen.press(key)
            if time.monotonic() >= due:
                after = Look(server)
                told, words = between(before, after), head(server, after)
                before, due, looks = after, time.monotonic() + options.interval, looks + 1
            draw(screen, told, words)
            if looks == options.count:
                return DONE
    finally:
        keys.close()


def draw(screen: Screen, told: Dict[str, Any], words: str) -> None:
    size = shutil.get_terminal_size()
    sys.stdout.write("\x1b[H" + "\r\n".join(line + "\x1b[K" for line in screen.lines(told, words, size)))
    sys.stdout.flush()


def plain(told: Dict[str, Any], words: str) -> str:
    """The whole report as plain text, for a file or a pipe."""
    lines = [f"postern top  {words}  {time.strftime('%H:%M:%S')}", ""]
    lines.append(output.table(["a second", *(door["door"] for door in told["doors"])], figures.rows_of(told["doors"])))
    lines += ["", *latencies(told)]
    if told["forms"]:
        busiest = sorted(told["forms"], key=lambda form: sort_key(form["asked"]))[:PLAIN_ROWS]
        lines += ["", *sql_door(told), *shown(FORMS, busiest, PLAIN_WIDTH)]
    if told["reasons"]:
        lines += ["", *shown(REASONS, told["reasons"][:PLAIN_ROWS], PLAIN_WIDTH)]
    for name in ("connections", "tables"):
        if told[name]:
            heads = list(told[name][0])
            lines += ["", output.table(heads, [list(row.values()) for row in told[name][:PLAIN_ROWS]], 24)]
    return "\n".join(lines)
