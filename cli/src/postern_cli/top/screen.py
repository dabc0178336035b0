"""The screen: fits a terminal of any size without scrolling, and responds to keys."""

from __future__ import annotations

import os
import textwrap
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from postern_cli import output

HELP = """f  forms of statements of the SQL door: how often they are asked for, the
   share that its workers answer, and microseconds of a processor that one takes
r  why the server answered statements
c  connections          t  open tables          l  latencies
s  sort by the next column
up, down  choose a form; Enter shows it whole, Esc goes back
q  end
"""
KEYS = "f forms r reasons c clients t tables l latencies  s sort Enter whole h help q"

# The columns of each view: (heading, key of the value, format).
Columns = Sequence[Tuple[str, str, str]]
FORMS: Columns = (
    ("asked/s", "asked", "{:,.0f}"),
    ("served", "share", "{:.0%}"),
    ("worker us", "worker_each_us", "{:,.1f}"),
    ("server us", "server_each_us", "{:,.1f}"),
    ("form", "form", "{}"),
)
DOORS: Columns = (
    ("a second", "door", "{}"),
    ("requests", "requests", "{:,.0f}"),
    ("failed", "failed", "{:,.0f}"),
    ("rows out", "rows_sent", "{:,.0f}"),
    ("written", "rows_written", "{:,.0f}"),
    ("clients", "connections", "{:,}"),
    ("p50 us", "p50", "{:,}"),
    ("p99 us", "p99", "{:,}"),
)
CONNECTIONS: Columns = tuple(
    (name.replace("_", " "), name, "{}") for name in ("id", "door", "host", "account", "state", "silent_ms", "requests")
)
TABLES: Columns = tuple((name, name, "{}") for name in ("table", "index", "columns", "opened", "finds", "writes"))
REASONS: Columns = (("a second", "a_second", "{:,.0f}"), ("why the server answers", "why", "{}"))
VIEWS = {"f": "forms", "r": "reasons", "c": "connections", "t": "tables", "l": "latencies"}


class Screen:
    """The view of the last look. One thread."""

    def __init__(self) -> None:
        self.view = "forms"
        self.sort: Dict[str, int] = {}  # by view, the column's number
        self.chosen = 0
        self.detail = self.help = False

    def press(self, key: str) -> None:
        if key in VIEWS:
            self.view, self.chosen, self.detail, self.help = VIEWS[key], 0, False, False
        elif key == "s":
            self.sort[self.view] = self.sort.get(self.view, 0) + 1
        elif key in ("up", "down"):
            self.chosen = max(self.chosen + (1 if key == "down" else -1), 0)
        elif key == "enter":
            self.detail = not self.detail
        elif key in ("h", "?"):
            self.help = not self.help
        elif key == "escape":
            self.detail = self.help = False

    def lines(self, told: Dict[str, Any], head: str, size: os.terminal_size) -> List[str]:
        """The lines, cut to the size of the terminal."""
        top = [f"postern top  {head}  {time.strftime('%H:%M:%S')}", *doors(told), *sql_door(told), ""]
        room = max(size.lines - len(top) - 1, 1)
        whole = [*top, *self.body(told, room, size.columns)[:room]]
        whole += [""] * (size.lines - 1 - len(whole))
        return [line[: size.columns] if "\x1b" not in line else line for line in [*whole, KEYS][: size.lines]]

    def body(self, told: Dict[str, Any], room: int, width: int) -> List[str]:
        if self.help:
            return HELP.splitlines()
        if self.view == "forms":
            return self.forms(told, room, width)
        if self.view == "reasons":
            return shown(REASONS, told["reasons"], width) or ["The server answered no statement whose reason is known."]
        if self.view == "latencies":
            return latencies(told)
        columns, name = (CONNECTIONS, "connections") if self.view == "connections" else (TABLES, "tables")
        return shown(columns, self.sorted(columns, told[name]), width) or [f"No {name}."]

    def sorted(self, columns: Columns, rows: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """The rows sorted by the chosen column, largest numbers first; unsorted until a key was pressed."""
        if self.view not in self.sort:
            return rows
        by = columns[self.sort[self.view] % len(columns)][1]
        return sorted(rows, key=lambda row: sort_key(row.get(by)))

    def forms(self, told: Dict[str, Any], room: int, width: int) -> List[str]:
        if not told["forms"]:
            return ["The SQL door knows no statement yet, or this account lacks the privilege PROCESS."]
        self.sort.setdefault("forms", 0)
        rows = self.sorted(FORMS, told["forms"])
        self.chosen = min(self.chosen, len(rows) - 1)
        if self.detail:
            return detail(rows[self.chosen], width)
        first = max(self.chosen - max(room - 3, 0), 0)
        by = FORMS[self.sort["forms"] % len(FORMS)][0]
        lines = shown(FORMS, rows[first : first + max(room - 1, 1)], width)
        return mark(lines, self.chosen - first + 1, by)


def mark(lines: List[str], chosen: int, by: str) -> List[str]:
    """A table with the sort column's heading in capitals, and a mark before the chosen row."""
    return [
        "  " + lines[0].replace(by, by.upper(), 1),
        *(("> " if i == chosen else "  ") + line for i, line in enumerate(lines[1:], 1)),
    ]


def sort_key(value: Any) -> Tuple[int, Any]:
    if value is None:
        return (2, "")
    return (0, -value) if isinstance(value, (int, float)) else (1, str(value))


def written(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value)


def shown(columns: Columns, rows: List[Dict[str, Any]], width: int) -> List[str]:
    """A table with a last column that takes the remaining room."""
    if not rows:
        return []
    cells = [[output.printable(written(row.get(name), form)) for _, name, form in columns] for row in rows]
    heads = [heading for heading, _, _ in columns]
    widths = [max(output.width(head), *(output.width(row[i]) for row in cells)) for i, head in enumerate(heads)]
    texts = [form == "{}" and not all(figure(row.get(name)) for row in rows) for _, name, form in columns]

    def line(words: List[str]) -> str:
        padded = [
            word + " " * (widths[i] - output.width(word)) if texts[i] else " " * (widths[i] - output.width(word)) + word
            for i, word in enumerate(words)
        ]
        return "  ".join(padded).rstrip()[: width - 2]

    return [line(heads), *(line(row) for row in cells)]


def figure(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))


def doors(told: Dict[str, Any]) -> List[str]:
    rows = []
    for door in told["doors"]:
        kind = max(door["latency_us"].values(), key=lambda one: one.get("p99", 0), default={})
        rows.append({**door, "p50": kind.get("p50") or None, "p99": kind.get("p99") or None})
    closed = [one for one in told["open"] if one.get("state") == "closed"]
    lines = shown(DOORS, rows, 200)
    return lines + [f"{one['door']} is closed: {one.get('remedy')}" for one in closed[:2]]


def sql_door(told: Dict[str, Any]) -> List[str]:
    """The share that workers of the SQL door serve, and the processor time that it saves."""
    door = next((one for one in told["doors"] if one["door"] == "postern"), None)
    if door is None or not door["requests"]:
        return []
    share = door["statements_fast"] / door["requests"]
    line = f"SQL door: workers serve {share:.0%} of {door['requests']:,.0f} statements/s"
    if door["spared_processors"]:
        line += f" and spare {door['spared_processors']:.2f} processors"
    return [line]


def latencies(told: Dict[str, Any]) -> List[str]:
    timed = [
        (door["door"], kind, values)
        for door in told["doors"]
        for kind, values in door["latency_us"].items()
        if any(values.values())
    ]
    names = sorted({name for _, _, values in timed for name in values}, key=lambda name: float(name[1:].ljust(3, "0")))
    if not timed:
        return ["No latencies."]
    text = output.table(["latency, us", "", *names], [[d, k, *(v.get(n, "-") for n in names)] for d, k, v in timed])
    return text.splitlines()


def detail(form: Dict[str, Any], width: int) -> List[str]:
    """The details of one form."""
    lines = textwrap.wrap(output.printable(str(form["form"])), max(width - 1, 20)) + [""]

    def add(name: str, value: Optional[Any]) -> None:
        if value not in (None, ""):
            lines.extend(textwrap.wrap(f"{name:<20}{value}", width - 1, subsequent_indent=" " * 20))

    add("state", form["state"])
    add("reason", form.get("reason"))
    add("database", form.get("database_name"))
    table = ".".join(str(form[name]) for name in ("table_schema", "table_name") if form.get(name))
    add("table", f"{table}, index {form.get('index_name') or 'not known yet'}" if table else "")
    asked = f", {form['asked']:,.0f} a second" if form["asked"] is not None else ""
    add("asked for", f"{int(form['hits']):,} times{asked}")
    add("left to the server", f"{int(form['left_to_server']):,} times although it has a plan")
    for side, words in (("worker", "a worker"), ("server", "the server")):
        if form[f"{side}_each_us"] is not None:
            add(words, f"takes {form[f'{side}_each_us']:,.1f} us of a processor")
    if form["worker_each_us"] and form["server_each_us"]:
        add("gain", f"{form['server_each_us'] / form['worker_each_us']:.1f} times")
    add("last seen", f"{form['seen_seconds_ago']} s ago" if form.get("seen_seconds_ago") is not None else "")
    return lines
