"""Observers of the server's threads access ours at any moment of their lives, without a lock in between."""
import collections
import contextlib
import os
import random
import struct
import subprocess
import threading

import pymysql
from pymysql.cursors import SSCursor

from support.random_input import seeds
from support.accounts import GOOD, login
from support.clients.sql_session import Session
from support.waiting import until

# More than a socket buffers while its client does not read.
LONG_BYTES = 8 << 20


def test_the_state_of_a_thread_that_has_gone_is_still_shown(sandbox_factory):
    """SHOW PROCESSLIST collects pointers to the states of all threads, and reads each when it sends its row."""
    server = sandbox_factory("--max-allowed-packet=64M")
    server.execute("UNINSTALL SONAME 'postern'")
    with contextlib.ExitStack() as stack:
        long, slow = (stack.enter_context(contextlib.closing(server.connect())) for _ in range(2))
        number = long.thread_id()

        def sleep():
            with contextlib.suppress(Exception):  # KILL ends it
                long.cursor().execute(f"SELECT SLEEP(300) /* {'x' * LONG_BYTES} */")

        sleeper = threading.Thread(target=sleep)
        sleeper.start()
        state = f"SELECT state FROM information_schema.processlist WHERE id = {number}"
        until(lambda: server.query(state) == [("User sleep",)])
        # The rows of our threads follow the long one, at which the list is held up.
        server.execute("INSTALL SONAME 'postern'")
        cursor = slow.cursor(SSCursor)
        cursor.execute("SHOW FULL PROCESSLIST")
        server.execute("UNINSTALL SONAME 'postern'")
        rows = cursor.fetchall()
        server.execute(f"KILL {number}", "INSTALL SONAME 'postern'")
        sleeper.join()
    states = [row[6] for row in rows if row[1] == "postern"]
    assert states
    assert not [state for state in states if not state.startswith(("starting", "handlersocket", "memcached", "redis"))]


@contextlib.contextmanager
def busy_processors():
    """Busy processors, which a thread of the lowest priority hardly gets."""
    hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def test_a_session_ends_while_its_statement_is_explained(sandbox_factory):
    """SHOW EXPLAIN FOR uses the mutex of the target session again after that session has ended."""
    server = sandbox_factory(postern_port=0)
    with contextlib.closing(server.connect()) as observer:
        thread = f"SELECT tid FROM information_schema.processlist WHERE id = {observer.thread_id()}"
        os.sched_setscheduler(server.query(thread)[0][0], os.SCHED_IDLE, os.sched_param(0))

        def state_of(number):
            return server.query(f"SELECT state FROM information_schema.processlist WHERE id = {number}")

        def sleep(session):
            with contextlib.suppress(pymysql.err.MySQLError):  # KILL ends it
                session.cursor().execute("SELECT SLEEP(300) FROM mysql.global_priv LIMIT 1")

        def explain(number):
            with contextlib.suppress(pymysql.err.MySQLError), observer.cursor() as cursor:
                cursor.execute(f"SHOW EXPLAIN FOR {number}")

        session = pymysql.connect(unix_socket=server.env["POSTERN_SOCKET"], user="root")
        number = session.thread_id()
        sleeper = threading.Thread(target=sleep, args=(session,))
        sleeper.start()
        until(lambda: state_of(number) == [("User sleep",)])
        explainer = threading.Thread(target=explain, args=(number,))
        explainer.start()
        until(lambda: state_of(observer.thread_id()) == [("Show explain",)])
        with busy_processors():
            server.execute(f"KILL {number}")
            sleeper.join()
            until(lambda: not state_of(number))
        explainer.join()
    server.assert_alive()


# With accounts, one of which has no privilege, and with all messages about others' threads in the log.
SETTINGS = ("--handlersocket-auth=account", "--innodb-print-all-deadlocks=ON", "--log-warnings=9", "--log-bin")
LOOKS = (
    "SHOW PROCESSLIST",
    "SHOW FULL PROCESSLIST",
    "SELECT * FROM information_schema.processlist",
    "SELECT * FROM information_schema.innodb_trx",
    "SELECT * FROM information_schema.innodb_lock_waits",
    "SHOW ENGINE INNODB STATUS",
    "SHOW GLOBAL STATUS",
    "SELECT * FROM information_schema.postern_doors",
    "SELECT * FROM information_schema.postern_connections",
    "SELECT * FROM information_schema.postern_tables",
    "SELECT * FROM information_schema.postern_mappings",
    "SELECT * FROM information_schema.postern_plans",
)
KILLS = (
    "KILL QUERY {}",
    "KILL {}",
    "KILL HARD {}",
    "SHOW EXPLAIN FOR {}",
    "SHOW ANALYZE FOR {}",
    "KILL QUERY USER bob",
)
LOOKS_EACH, KILL_ROUNDS, INSTALLS = 200, 60, 4
HOT_ROWS = 8
# Errors that a client may get when its session or thread is killed, or its door closes.
ENDED = (OSError, EOFError, struct.error, IndexError, pymysql.err.MySQLError)


class Visitors:
    """Clients of all doors that change the same few rows, and reconnect when they were disconnected."""

    def __init__(self, server, seed):
        self.server, self.seed = server, seed
        self.done = threading.Event()
        self.answered = collections.Counter()

    def threads(self):
        visits = [self.handlersocket, self.handlersocket, self.redis, self.memcached, self.sql, self.sql, self.sql]
        return [threading.Thread(target=self.come_again, args=(visit, at)) for at, visit in enumerate(visits)]

    def come_again(self, visit, at):
        chance = random.Random(f"{self.seed} {at}")
        while not self.done.is_set():
            with contextlib.suppress(*ENDED):
                visit(chance)

    def handlersocket(self, chance):
        with self.server.hs_wr() as client:
            assert login(client, "ann") == GOOD
            client.request("P", 0, "test", "hot", "PRIMARY", "id,n")
            for _ in range(20):
                ids = [chance.randrange(HOT_ROWS) for _ in range(chance.randrange(1, 20))]
                changes = [(0, "=", 1, row, 1, 0, "U", row, chance.randrange(100)) for row in ids]
                client.pipeline(*changes, ("P", 1, "test", "closed", "PRIMARY", "id"))
                self.answered["handlersocket"] += 1

    def redis(self, chance):
        with self.server.resp() as client:
            for _ in range(20):
                client.ask_raw("SET", f"k{chance.randrange(HOT_ROWS)}", "v")
                client.ask_raw("LPUSH", "list", chance.randrange(100))
                self.answered["redis"] += 1

    def memcached(self, chance):
        with self.server.mc() as client:
            for _ in range(20):
                client.set("AA", chance.randrange(100))
                client.ask("gets AA")
                client.line()
                client.line()
                self.answered["memcached"] += 1

    def sql(self, chance):
        session = Session(self.server.env["POSTERN_PORT"], "bob", "test")
        with contextlib.closing(session):
            for _ in range(20):
                first, second = chance.sample(range(HOT_ROWS), 2)
                session.execute("UPDATE hot SET n = n + ? WHERE id = ?", [1, first])
                session.query("BEGIN")
                session.query(f"UPDATE hot SET n = n + 1 WHERE id = {first}")
                session.query(f"UPDATE hot SET n = n + 1 WHERE id = {second}")
                session.query("COMMIT")
                self.answered["sql"] += 1


def look(server, chance, seen):
    with contextlib.closing(server.connect("watcher")) as connection, connection.cursor() as cursor:
        for _ in range(LOOKS_EACH):
            cursor.execute(chance.choice(LOOKS))
            cursor.fetchall()
            cursor.execute("SELECT state FROM information_schema.processlist WHERE user = 'postern'")
            seen.update(state.split()[0].rstrip(":") for state, in cursor.fetchall() if state)


def kill(server, chance):
    """Kills every session except the watchers', and at times none."""
    with contextlib.closing(server.connect("watcher")) as connection, connection.cursor() as cursor:
        for _ in range(KILL_ROUNDS):
            cursor.execute("SELECT id FROM information_schema.processlist WHERE user IN ('postern', 'bob')")
            ids = [one for one, in cursor.fetchall()]
            for victim in chance.sample(ids, min(4, len(ids))):
                with contextlib.suppress(pymysql.err.MySQLError):
                    cursor.execute(chance.choice(KILLS).format(victim))
                    cursor.fetchall()


def test_looking_and_killing_do_no_harm(sandbox_factory):
    server = sandbox_factory(*SETTINGS, containers=True, redis=True, postern_port=0)
    server.execute(
        "CREATE TABLE test.hot (id INT PRIMARY KEY, n INT)",
        f"INSERT INTO hot SELECT seq, 0 FROM seq_0_to_{HOT_ROWS - 1}",
        "CREATE TABLE test.closed (id INT PRIMARY KEY)",
        "CREATE USER ann@localhost IDENTIFIED BY 'pw', bob@localhost, watcher@localhost",
        "GRANT SELECT, INSERT, UPDATE ON test.hot TO ann@localhost, bob@localhost",
        "GRANT ALL ON *.* TO watcher@localhost",
        database="test",
    )
    seed, seen = seeds.chosen(), set()
    visitors = Visitors(server, seed)
    watchers = [
        threading.Thread(target=what, args=(server, random.Random(f"{seed} {what} {at}"), *more))
        for at, (what, *more) in enumerate([(look, seen), (look, seen), (kill,)])
    ]
    clients = visitors.threads()
    for thread in clients + watchers:
        thread.start()
    try:
        for _ in range(INSTALLS):
            before = visitors.answered["sql"]
            until(lambda: visitors.answered["sql"] >= before + 20, seconds=60)
            server.execute("UNINSTALL PLUGIN postern", "INSTALL PLUGIN postern SONAME 'postern'")
        for thread in watchers:
            thread.join()
    finally:
        visitors.done.set()
        for thread in clients:
            thread.join()
    server.assert_alive()
    assert {"handlersocket", "memcached", "redis", "postern"} <= seen, seen
    assert all(visitors.answered[door] for door in ("handlersocket", "memcached", "redis", "sql")), visitors.answered
