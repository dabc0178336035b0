"""postern top: what the doors are doing, from the server's status variables."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from typing import Any, Dict, List, Optional

from postern_cli import output
from postern_cli import server as sql
from postern_cli.failure import DONE, USAGE, Failure

SUMS = ("requests_find", "requests_insert", "requests_edit", "requests_open", "requests_other")
# The requests of the SQL door: what a worker has answered, and what the server has.
STATEMENTS = ("statements_fast", "statements_served")
INTERVAL_MAX = 86_400
NOW = ("connections", "connections_peak", "buffer_bytes")
LATENCY = re.compile(r"_latency_(\w+)_p(\d+)(?:_us)?$")
# What there is to be shown besides, the busiest first.
VIEWS = {
    "connections": "SELECT id, door, host, account, state, silent_ms, last_request, requests, bytes_received, bytes_sent"
    " FROM information_schema.postern_connections"
    " ORDER BY state NOT LIKE 'waiting%', bytes_received + bytes_sent DESC LIMIT 10",
    "tables": "SELECT CONCAT(table_schema, '.', table_name) AS `table`, index_name AS `index`, column_names AS columns,"
    " opened, finds, writes FROM information_schema.postern_tables ORDER BY finds + writes DESC LIMIT 5",
}


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "top",
        parents=common,
        help="show live what the doors are doing",
        description="Shows by door: requests and rows a second, how well requests share batches and writes share commits,"
        " connections, and latencies where the server tells them. q or Ctrl-C ends it.",
    )
    parser.add_argument("--interval", type=float, default=1.0, metavar="SECONDS", help="between two looks (1)")
    parser.add_argument("--once", action="store_true", help="show one interval, plainly, and end")
    parser.add_argument("--count", type=int, metavar="N", help="end after so many intervals")
    parser.set_defaults(run=run)


def doors_in(status: Dict[str, Any]) -> List[str]:
    """The plugins that count."""
    return sorted({name[: -len("_requests_find")] for name in status if name.endswith("_requests_find")})


def figures(before: Dict[str, Any], after: Dict[str, Any], seconds: float) -> List[Dict[str, Any]]:
    """What each door did in between, a second."""
    told = []
    for door in doors_in(after):

        def rate(*counters: str) -> float:
            grown = sum(max(after.get(f"{door}_{name}", 0) - before.get(f"{door}_{name}", 0), 0) for name in counters)
            return grown / seconds

        is_sql = door == "postern"
        requests, batches = rate(*(STATEMENTS if is_sql else SUMS)), rate("batches")
        writes, commits = rate("rows_inserted", "rows_updated", "rows_deleted"), rate("commits")
        told.append(
            {
                "door": door,
                "requests": requests,
                "finds": rate("requests_find"),
                "inserts": rate("requests_insert"),
                "edits": rate("requests_edit"),
                "failed": rate("requests_failed"),
                "statements_fast": rate("statements_fast") if is_sql else None,
                "statements_served": rate("statements_served") if is_sql else None,
                "rows_sent": rate("rows_sent"),
                "rows_written": writes,
                "requests_per_batch": requests / batches if batches else None,
                "writes_per_commit": writes / commits if commits else None,
                "bytes_received": rate("bytes_received"),
                "bytes_sent": rate("bytes_sent"),
                "scans": rate("slow_finds"),
                "row_lock_waits": rate("row_lock_waits"),
                "ddl_yields": rate("ddl_yields"),
                "connections_accepted": rate("connections_accepted"),
                **{name: after.get(f"{door}_{name}", 0) for name in NOW},
                "latency_us": latencies(door, after),
            }
        )
    return told


def latencies(door: str, status: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Percentiles in microseconds by kind of request, where the server has them."""
    found: Dict[str, Dict[str, Any]] = {}
    for name, value in status.items():
        match = LATENCY.search(name)
        if match and name.startswith(f"{door}_latency_"):
            found.setdefault(match[1], {})[f"p{match[2]}"] = value
    return found


def run(options: Any) -> int:
    if not 0 < options.interval <= INTERVAL_MAX or (options.count is not None and options.count < 1):
        raise Failure(f"--interval is above 0 and at most {INTERVAL_MAX:,}, and --count above 0", USAGE)
    server = sql.Server(sql.target(options))
    before = server.status()
    if not doors_in(before):
        raise Failure("the server has no doors: INSTALL SONAME 'postern'; postern doctor says more")
    last = time.monotonic()
    shown, live = 0, sys.stdout.isatty() and not options.once and not options.json
    keys = Keys() if live else None
    try:
        while True:
            if keys:
                if keys.wait(options.interval) in ("q", "Q", "\x1b"):
                    return DONE
            else:
                time.sleep(options.interval)
            after, now = server.status(), time.monotonic()
            told = figures(before, after, now - last)
            seen = {name: view(server, query) for name, query in VIEWS.items()}
            if options.json:
                lists = {name: dictionaries(rows) for name, rows in seen.items()}
                print(output.as_json({"seconds": now - last, "doors": told, **lists}), flush=True)
            else:
                draw(told, server.target, after, seen.values(), live)
            before, last, shown = after, now, shown + 1
            if options.once or shown == options.count:
                return DONE
    finally:
        if keys:
            keys.close()


def view(server: sql.Server, query: str) -> Any:
    """The names of the columns and the rows; None where there are none, or none for us."""
    rows = server.try_query(query)
    return (list(server.columns), rows) if rows else None


def dictionaries(rows: Any) -> List[Dict[str, Any]]:
    return [dict(zip([name.lower() for name in rows[0]], row)) for row in rows[1]] if rows else []


def draw(told: List[Dict[str, Any]], where: sql.Target, status: Dict[str, Any], views: Any, live: bool) -> None:
    place = where.socket or f"{where.host}:{where.port}"
    lines = [f"postern top  {place}  up {status.get('uptime', 0):,} s  {time.strftime('%H:%M:%S')}", ""]
    lines.append(output.table(["a second", *(door["door"] for door in told)], rows_of(told)))
    timed = [(door["door"], kind, values) for door in told for kind, values in door["latency_us"].items()]
    if timed:
        names = sorted(
            {name for _, _, values in timed for name in values}, key=lambda name: float(name[1:].ljust(3, "0"))
        )
        lines += [
            "",
            output.table(["latency, us", "", *names], [[d, k, *(v.get(n, "-") for n in names)] for d, k, v in timed]),
        ]
    for shown in views:
        if shown:
            lines += ["", output.table([name.lower() for name in shown[0]], shown[1], 24)]
    text = "\n".join(lines)
    if live:
        sys.stdout.write("\x1b[H\x1b[2J" + fitting(text, shutil.get_terminal_size()))
        sys.stdout.flush()
    else:
        print(text, flush=True)


def fitting(text: str, size: os.terminal_size) -> str:
    """As much of it as a terminal shows without scrolling, the last line saying how much there is below."""
    lines = [line[: size.columns] for line in text.split("\n")]
    if len(lines) > size.lines:
        more = f"... {len(lines) - size.lines + 1} lines more: a higher terminal, or --once, shows them"
        lines = [*lines[: size.lines - 1], more[: size.columns]]
    return "\n".join(lines)


def rows_of(told: List[Dict[str, Any]]) -> List[List[str]]:
    def row(words: str, name: str, form: str = "{:,.0f}") -> List[str]:
        return [words, *(form.format(door[name]) if door[name] is not None else "-" for door in told)]

    return [
        row("requests", "requests"),
        row("  finds", "finds"),
        row("  inserts", "inserts"),
        row("  changes and deletions", "edits"),
        row("  by a plan", "statements_fast"),
        row("  by the server", "statements_served"),
        row("  failed", "failed"),
        row("rows sent", "rows_sent"),
        row("rows written", "rows_written"),
        row("requests a batch", "requests_per_batch", "{:,.1f}"),
        row("writes a commit", "writes_per_commit", "{:,.1f}"),
        row("bytes received", "bytes_received"),
        row("bytes sent", "bytes_sent"),
        row("to scan threads", "scans"),
        row("waits for rows", "row_lock_waits"),
        row("yields to DDL", "ddl_yields"),
        row("new connections", "connections_accepted"),
        row("connections now", "connections"),
        row("most at once", "connections_peak"),
    ]


class Keys:
    """Keys of a terminal as they are pressed."""

    def __init__(self) -> None:
        import termios
        import tty

        self._saved: Optional[List[Any]] = None
        if sys.stdin.isatty():
            self._saved = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        sys.stdout.write("\x1b[?1049h\x1b[?25l")

    def wait(self, seconds: float) -> str:
        import select

        if self._saved is None:
            time.sleep(seconds)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else ""

    def close(self) -> None:
        import termios

        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
        if self._saved is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._saved)
