"""postern top: its counts, and its display on a terminal of any size."""
import json
import os
import pty
import re
import select
import subprocess

import pytest
from support import cli
from support.clients import sql_wire


@pytest.fixture(scope="module")
def shop(module_factory):
    return module_factory()


def test_top_counts_statements_of_the_sql_door(sandbox_factory):
    server = sandbox_factory(postern_port=0)
    watching = subprocess.Popen(
        [cli.tool(), "top", *cli.where(server), "--json", "--once", "--interval", "2"],
        stdout=subprocess.PIPE,
        text=True,
    )
    session = sql_wire.door(server)
    while watching.poll() is None:
        sql_wire.rows(session, "SELECT 1 + 1")
    [door] = [one for one in json.loads(watching.stdout.read())["doors"] if one["door"] == "postern"]
    assert door["requests"] > 10 and door["statements_served"] > 10


@pytest.mark.parametrize("wrong", [("--interval", "-1"), ("--interval", "nan"), ("--interval", "0"), ("--count", "0")])
def test_top_wants_an_interval_that_is_one(shop, wrong):
    said = cli.run(shop, "top", "--once", *wrong, code=2)
    assert "--interval is above 0" in said and "Traceback" not in said


def busy_look():
    """Data for top about four doors and a hundred forms."""
    door = {"requests": 5199.0, "failed": 0, "rows_sent": 1e6, "rows_written": 17, "connections": 20000}
    doors = [
        {
            **door,
            "door": name,
            "statements_fast": 5100,
            "spared_processors": 0.31,
            "latency_us": {"find": {"p50": 9, "p99": 99}},
        }
        for name in ("handlersocket", "memcached", "postern", "redis")
    ]
    form = {"form": "SELECT " + "x" * 300, "state": "served", "reason": None, "hits": 9, "left_to_server": 0}
    form |= {"share": 0.99, "worker_each_us": 4.1, "server_each_us": 38.2, "seen_seconds_ago": 3}
    forms = [{**form, "asked": float(number), "index_name": f"i{number}"} for number in range(100)]
    reasons = [{"a_second": 9.0, "why": "w" * 200}] * 90
    return {"doors": doors, "open": [], "forms": forms, "reasons": reasons, "connections": [], "tables": []}


@pytest.mark.parametrize("columns, rows", [(80, 24), (200, 50), (40, 8)])
def test_top_fits_the_terminal(columns, rows):
    cli.parts()
    from postern_cli.top.screen import KEYS, Screen

    assert len(KEYS) < 80
    screen = Screen()
    for key in ("", "s", "down", "enter", "escape", "r", "c", "t", "l", "h", "f", *["down"] * 120):
        screen.press(key)
        lines = screen.lines(busy_look(), "x" * 300, os.terminal_size((columns, rows)))
        assert len(lines) == rows and max(map(len, lines)) <= columns, key


def test_top_sorts_and_shows_one_form():
    cli.parts()
    from postern_cli.top.screen import Screen

    screen, size, told = Screen(), os.terminal_size((80, 24)), busy_look()
    first = next(line for line in screen.lines(told, "", size) if line.startswith("> "))
    assert first.split()[1] == "99"
    assert "98% of 5,199 statements/s" in "\n".join(screen.lines(told, "", size)) and "0.31 processors" in str(
        screen.lines(told, "", size)
    )
    for key in ("down", "enter"):
        screen.press(key)
    whole = "\n".join(screen.lines(told, "", size))
    assert "98 a second" in whole and "9.3 times" in whole
    screen.press("escape")
    screen.press("s")
    assert "SERVED" in "\n".join(screen.lines(told, "", size))


class Terminal:
    """`postern top` on a terminal, interval in seconds."""

    def __init__(self, server, interval):
        self.seen = b""
        self.child, self.file = pty.fork()
        if self.child == 0:
            os.environ.update(TERM="xterm", COLUMNS="80", LINES="24")
            os.execv(cli.tool(), [cli.tool(), "top", *cli.where(server), "--interval", interval])

    def until_seen(self, wanted):
        while wanted not in self.seen:
            assert select.select([self.file], [], [], 30)[0], self.seen[-3000:]
            self.seen += os.read(self.file, 1 << 16)

    def press(self, keys):
        os.write(self.file, keys)

    def quit(self):
        self.press(b"q")
        assert os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1]) == 0
        os.close(self.file)


def test_top_answers_keys(sandbox_factory):
    terminal = Terminal(sandbox_factory(postern_port=0), "0.2")
    terminal.until_seen(b"knows no statement yet")
    terminal.press(b"h")
    terminal.until_seen(b"why the server answered statements")
    terminal.press(b"r")
    terminal.quit()


def test_top_shows_no_rate_before_an_interval_has_passed(sandbox_factory):
    """It showed 0, as if nobody asked anything."""
    server = sandbox_factory(postern_port=0)
    assert sql_wire.rows(sql_wire.door(server), "SELECT 1 + 1")
    terminal = Terminal(server, "600")
    terminal.until_seen(b"h help q")
    lines = [line.split() for line in re.sub(rb"\x1b\[[?0-9]*[A-Za-z]", b"", terminal.seen).splitlines()]
    [door] = [line for line in lines if line[:1] == [b"postern"] and line[1] != b"top"]
    assert door[1:5] == [b"-"] * 4
    [form] = [line for line in lines if line[:1] == [b">"]]
    assert form[1] == b"-"
    terminal.press(b"\r")
    terminal.until_seen(b"last seen")
    assert re.search(rb"asked for +\d+ times\x1b", terminal.seen)
    terminal.quit()
