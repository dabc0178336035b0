"""Real servers for tests: a thin wrapper of tools/sandbox."""
import contextlib
import os
import re
import shlex
import subprocess
import time
import zlib
from pathlib import Path

import pymysql

from support.clients import hs, mc, resp

ROOT = Path(__file__).resolve().parent.parent.parent
SANDBOX = ROOT / "tools" / "sandbox"
SERIES = os.environ.get("SERIES") or "10.11"
BUILD = ROOT / ("build" if SERIES == "10.11" else f"build-{SERIES}")
SERVER_DIR = Path(os.environ.get("POSTERN_SERVER_DIR") or BUILD / "server")
ORIGINAL = bool(os.environ.get("POSTERN_TEST_ORIGINAL"))
ON_MYSQL = os.environ.get("POSTERN_TEST_ON") == "mysql"  # then Server is support/on_mysql.py's
CRASH = re.compile(r"got signal|Assertion|ERROR: AddressSanitizer|runtime error:|\[FATAL\]")
LOG_TAIL_LINES = 60
# For tests that compare bytes of both ports: status flags depend on the chosen plan, which depends on statistics, which
# InnoDB recalculates in a background thread.
STEADY_PLANS = "--innodb-stats-auto-recalc=0"


def sandbox(*arguments, check=True, env=None, **options):
    """Runs tools/sandbox; returns its output, which a failure's error includes. The server fills memory when it is
    allocated and freed, so that reading it then fails in every run."""
    done = subprocess.run(
        [SANDBOX, *map(str, arguments)],
        env={"MALLOC_PERTURB_": "165"} | dict(os.environ if env is None else env),
        stdin=options.pop("stdin", subprocess.DEVNULL),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        **options,
    )
    if check and done.returncode != 0:
        raise AssertionError(
            f"tools/sandbox {shlex.join(map(str, arguments))} ended with {done.returncode}\n"
            f"{done.stdout}{done.stderr}"
        )
    return done


def parse_env(text):
    return dict(word.split("=", 1) for word in shlex.split(text))


def name_of(request):
    """A name for databases and accounts of the running test: the same in every run, and different from other tests'."""
    return f"{zlib.crc32(request.node.nodeid.encode()):08x}"


def timed(cursor, statement):
    """Runs it to its end, its rows included; returns the milliseconds."""
    begin = time.monotonic()
    cursor.execute(statement)
    with contextlib.suppress(Exception):
        cursor.fetchall()
    return (time.monotonic() - begin) * 1000


def original_plugin():
    """The HandlerSocket plugin that comes with the server."""
    settings = parse_env((SERVER_DIR / "server.env").read_text())
    return str(Path(settings["PLUGIN_DIR"]) / "handlersocket.so")


class Server:
    """One sandbox. The server's own values are attributes: server.env["HS_PORT"] and so on."""

    def __init__(self, directory):
        self.dir = Path(directory)
        self.env = {}

    # life

    def start(self, *options, env=None, containers=False, redis=False, **ports):
        """start("--max-connections=7", hs_port=4711). env: the environment of tools/sandbox; containers, redis: makes
        the tables that the memcached door or the Redis door reads."""
        arguments = ["--containers"] * containers + ["--redis"] * redis
        arguments += [word for name, port in ports.items() for word in (f"--{name.replace('_', '-')}", port)]
        if options:
            arguments += ["--", *options]
        self.env = parse_env(sandbox("start", self.dir, *arguments, env=env).stdout)
        return self

    def stop(self):
        sandbox("stop", self.dir)

    def kill(self):
        sandbox("kill", self.dir)

    def restart(self):
        self.env = parse_env(sandbox("restart", self.dir).stdout)

    def alive(self):
        return parse_env(sandbox("env", self.dir).stdout)["PID"] == self.env["PID"]

    def assert_alive(self):
        """The process that was started still runs and answers SQL."""
        assert self.alive(), f"the server is gone\n{self.log_tail()}"
        assert self.query("SELECT 1") == [(1,)]

    # its share of the machine

    def memory_kib(self, which="VmRSS"):
        """`which` as in /proc/PID/status: VmHWM for the peak resident size, RssAnon for memory without files."""
        with open(f"/proc/{self.env['PID']}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(which))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.env['PID']}/fd"))

    # doors

    def hs(self, **options):
        """A new connection to the read port."""
        return hs.Client(self.env["HS_PORT"], **options)

    def hs_wr(self, **options):
        """A new connection to the write port."""
        return hs.Client(self.env["HS_PORT_WR"], **options)

    def mc(self, **options):
        """A new connection to the memcached port."""
        return mc.Client(self.env["MEMC_PORT"], **options)

    def resp(self, **options):
        """A new connection to the Redis port."""
        return resp.Client(self.env["REDIS_PORT"], **options)

    def connect(self, user="root", **options):
        """A new SQL connection over the unix socket, in autocommit."""
        return pymysql.connect(
            unix_socket=self.env["SQL_SOCKET"],
            user=user,
            charset="utf8mb4",
            autocommit=True,
            read_timeout=60,
            write_timeout=60,
            **options,
        )

    def query(self, sql, arguments=None, database=None):
        """Runs one statement on a new connection; returns a list of row tuples."""
        with contextlib.closing(self.connect(database=database)) as connection, connection.cursor() as cursor:
            cursor.execute(sql, arguments)
            return list(cursor.fetchall())

    def execute(self, *statements, database=None):
        """Runs statements one after the other on one connection."""
        with contextlib.closing(self.connect(database=database)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def load(self, name):
        """Runs a script of sql/."""
        with open(ROOT / "sql" / f"{name}.sql") as script:
            sandbox("sql", self.dir, stdin=script)

    def status(self, pattern="%"):
        """Status variables by name in lower case; numbers as int."""
        rows = self.query("SHOW GLOBAL STATUS LIKE %s", (pattern,))
        return {name.lower(): int(value) if value.isdigit() else value for name, value in rows}

    def variable(self, name):
        rows = self.query("SHOW GLOBAL VARIABLES LIKE %s", (name,))
        return rows[0][1] if rows else None

    def wait_for_row_lock(self, seconds=30):
        """Waits until a row lock wait shows. innodb_trx would not do: within 100 ms it repeats its last answer."""
        deadline = time.monotonic() + seconds
        while self.status("Innodb_row_lock_current_waits")["innodb_row_lock_current_waits"] == 0:
            assert time.monotonic() < deadline, "nobody waits for a row"

    # threads of the plugin

    def threads(self):
        """(id, command, state) of the plugin's threads in the process list."""
        return self.query("SELECT id, command, state FROM information_schema.processlist WHERE user = 'postern'")

    def all_threads(self):
        """Ids of all plugin threads, shown or not, and unused ids."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, user FROM information_schema.processlist")
            users = dict(cursor.fetchall())
            return [number for number in range(1, connection.thread_id()) if users.get(number, "postern") == "postern"]

    def kill_threads(self, how="KILL"):
        """Kills all threads, shown or not; returns the number."""
        killed = 0
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            for number in self.all_threads():
                with contextlib.suppress(pymysql.Error):
                    cursor.execute(f"{how} {number}")
                    killed += 1
        return killed

    # log

    def log(self):
        path = self.dir / "error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def log_tail(self):
        return "\n".join(self.log().splitlines()[-LOG_TAIL_LINES:])

    def assert_no_crash(self):
        found = CRASH.search(self.log())
        assert not found, f"the error log of {self.dir} tells of a crash ({found.group()})\n{self.log_tail()}"
