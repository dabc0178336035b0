"""MySQL 9.7 servers for tests, run by tools/mysql. Only if POSTERN_TEST_MYSQL is set, because it downloads half a
gigabyte and builds the plugin for it."""
import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path

import pymysql
import pytest

from support.clients import mc
from support.clients.hs import Client
from support.server import ROOT, parse_env
from support.waiting import until

CANNOT_BE_HAD = 3  # exit code of tools/server if it cannot provide the server
BUILD_SECONDS = 3000

marks = [
    pytest.mark.skipif(
        not os.environ.get("POSTERN_TEST_MYSQL"), reason="fetches half a gigabyte: POSTERN_TEST_MYSQL=1"
    ),
    pytest.mark.timeout(BUILD_SECONDS),
]


def build():
    """Builds for MySQL, or skips; not needed if POSTERN_TEST_MYSQL is `built`."""
    if os.environ.get("POSTERN_TEST_MYSQL") == "built":
        return
    fetched = subprocess.run([ROOT / "tools/server", "mysql"], capture_output=True, text=True, check=False)
    if fetched.returncode == CANNOT_BE_HAD:
        pytest.skip(fetched.stderr.strip())
    assert fetched.returncode == 0, fetched.stderr
    subprocess.run(["make", "-C", ROOT, "plugin", "SERVER=mysql"], check=True)


class Mysql:
    """A server of tools/mysql."""

    def __init__(self, directory):
        self.dir = directory
        self.env = {}

    def run(self, verb, *options, check=True):
        command = [ROOT / "tools/mysql", verb, self.dir, *options]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=check)

    def start(self, *options):
        self.env = parse_env(self.run("start", "--", *options).stdout)

    def connect(self):
        return pymysql.connect(unix_socket=self.env["SQL_SOCKET"], user="root", autocommit=True)

    def query(self, *statements):
        """Runs all statements; returns the rows of the last, as text."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()

    def door(self):
        return Client(int(self.env["HS_PORT"]))

    def write_door(self):
        return Client(int(self.env["HS_PORT_WR"]))

    def kill(self):
        """The server dies at once, as in a power failure that the operating system survives."""
        os.kill(int(self.env["PID"]), signal.SIGKILL)
        until(lambda: not Path(f"/proc/{self.env['PID']}").exists(), 30, "mysqld does not die")

    def told(self):
        """The states of Postern's threads in the process list, by id."""
        return {row[0]: row[6] for row in self.query("SHOW PROCESSLIST") if row[1] == "postern"}

    def threads(self, word):
        """The ids of the threads in this state."""
        return [number for number, text in self.told().items() if word in (text or "")]


def make_tables_of_doors(server):
    """Makes the tables of the memcached and Redis doors, which then open."""
    for script in ("innodb_memcache", "redis"):
        text = subprocess.run(
            [ROOT / "tools/mysql", "script", ROOT / f"sql/{script}.sql"], capture_output=True, check=True
        )
        subprocess.run([ROOT / "tools/mysql", "sql", server.dir], input=text.stdout, check=True)
    until(lambda: mc.listens(server.env["REDIS_PORT"]))


@contextlib.contextmanager
def made_users(mysql):
    """Returns a function that makes an account and returns its name; all accounts are dropped afterwards."""
    made = []

    def make(how="IDENTIFIED BY 'pw'", host="localhost", grants=()):
        name = f"u{len(made)}"
        mysql.query(f"DROP USER IF EXISTS '{name}'@'{host}'", f"CREATE USER '{name}'@'{host}' {how}")
        made.append((name, host))
        for grant in grants:
            mysql.query(f"GRANT {grant} TO '{name}'@'{host}'")
        return name

    yield make
    for name, host in made:
        mysql.query(f"DROP USER IF EXISTS '{name}'@'{host}'")


class Busy:
    """Clients that each send test.TABLE the same batch of requests as fast as they can, and count the expected
    replies."""

    def __init__(self, connect, table, columns, requests, expected, count=3):
        self.connect, self.table, self.columns, self.requests, self.expected = (
            connect,
            table,
            columns,
            requests,
            expected,
        )
        self.stop = threading.Event()
        self.done = 0
        self.odd = []
        self.threads = [threading.Thread(target=self.ask, args=(one,)) for one in range(count)]

    def ask(self, one):
        with self.connect() as hs:
            hs.open(0, "test", self.table, self.columns)
            while not self.stop.is_set():
                for reply in hs.pipeline(*self.requests(one)):
                    if self.expected(reply):
                        self.done += 1
                    elif len(self.odd) < 20:
                        self.odd.append(reply)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        until(lambda: self.done > 100)
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def go_on(self):
        before = self.done
        until(lambda: self.done > before + 100, 30, "the clients do not go on")


def busy_writers(mysql):
    """Clients that each increment one row of test.t."""
    return Busy(mysql.write_door, "t", "v", lambda one: [(0, "=", 1, one, 1, 0, "+", 1)] * 10, ["0", "1", "1"].__eq__)


def busy_readers(mysql):
    """Clients that read the first rows of test.busy."""
    requests = [(0, "=", 1, number) for number in range(1, 21)]
    return Busy(
        mysql.door, "busy", "id,v", lambda _: requests, lambda reply: reply[:2] == ["0", "2"] and len(reply) == 4
    )
