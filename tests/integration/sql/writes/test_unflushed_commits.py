"""COMMITs that workers make at once and that share a flush: no client is acknowledged before its commit is on disk, and
no worker waits for the disk."""
import contextlib
import random
import select
import socket
import threading

import pymysql
import pytest

from support.random_input import seeds
from support.server import STEADY_PLANS
from support.faults.slow_disk import Disk
from support.clients.sql_session import Session
from support.waiting import until

ROWS = 8
READS = 100
TABLES = ("CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, n INT)", f"INSERT INTO t SELECT seq, 0 FROM seq_1_to_{ROWS}")


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return Disk(tmp_path_factory.mktemp("slow_disk"))


@pytest.fixture
def server(sandbox_factory, disk):
    made = sandbox_factory(start=False)
    disk.slow_down(0)
    disk.keep_log(0)
    made.start(STEADY_PLANS, "--postern-threads=2", postern_port=0, env=disk.environment())
    made.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'", *TABLES, database="test")
    yield made
    made.assert_alive()
    made.assert_no_crash()


@contextlib.contextmanager
def session(server, port="POSTERN_PORT"):
    one = Session(server.env[port], "own", "test")
    try:
        yield one
    finally:
        one.socket.close()


def update(row):
    return f"UPDATE t SET n = n + 1 WHERE id = {row}"


def change(one, row):
    """A transaction without its COMMIT."""
    for step in ("BEGIN", update(row)):
        assert one.query(step)[4] == 0


def learn(one, row):
    for _ in range(2):
        change(one, row)
        assert one.query("COMMIT")[4] == 0


def ask_commit(one):
    one.put(b"\3COMMIT")


def heard(one):
    return bool(one.received) or bool(select.select([one.socket], [], [], 0)[0])


def of_rows(server):
    return [row[0] for row in server.query("SELECT n FROM t ORDER BY id", database="test")]


def handed_over(server):
    return server.status("Postern_statements_served")["postern_statements_served"]


def read(one):
    assert one.query("SELECT n FROM t WHERE id = 8")[4] == 1


@pytest.fixture
def clients(server):
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(session(server)) for _ in range(4)]
        for row, one in enumerate(made, 1):
            learn(one, row)
            read(one)
        yield made


def test_a_commit_is_heard_of_when_it_is_on_disk_and_holds_nobody_up(server, clients, disk):
    reader, *writers = clients
    for row, one in enumerate(writers, 2):
        change(one, row)
    before = handed_over(server)
    with disk.held():
        ask_commit(writers[0])
        until(disk.flushing)
        ask_commit(writers[1])
        ask_commit(writers[2])
        for _ in range(READS):
            read(reader)
        assert of_rows(server)[:2] == [2, 3]  # as at the server's own port, others see it first
        assert not any(heard(one) for one in writers)
    for one in writers:
        assert one.answer()[4] == 0
    assert handed_over(server) == before
    assert of_rows(server)[:4] == [2, 3, 3, 3]


@pytest.mark.parametrize("flushed", (0, 2))
def test_commits_without_a_flush_of_their_own_are_made_in_turns(server, clients, disk, flushed):
    server.execute(f"SET GLOBAL innodb_flush_log_at_trx_commit = {flushed}")
    for row, one in enumerate(clients, 1):
        change(one, row)
    before = handed_over(server)
    with disk.held():
        assert [one.query("COMMIT")[4] for one in clients] == [0, 0, 0, 0]
    assert handed_over(server) == before
    assert of_rows(server)[:4] == [3, 3, 3, 3]


def test_later_requests_are_answered_after_the_commit(server, clients, disk):
    reader, one, *_ = clients
    change(one, 2)
    with disk.held():
        for text in ("SELECT 1", "COMMIT", "SELECT n FROM t WHERE id = 2", "BEGIN", update(2), "COMMIT", "DO SLEEP(0)"):
            one.put(b"\3" + text.encode())
        until(disk.flushing)
        for _ in range(READS):
            read(reader)
        assert one.answer()[4] == 1
        assert not heard(one)
    assert [one.answer()[4] for _ in range(6)] == [0, 1, 0, 0, 0, 0]
    assert of_rows(server)[1] == 4


@pytest.mark.parametrize("how", ["KILL", "KILL QUERY", "hang up"])
def test_a_session_may_end_while_its_commit_waits(server, clients, disk, how):
    reader, one, *_ = clients
    victim = server.query(
        "SELECT id FROM information_schema.processlist WHERE user = 'own' ORDER BY id LIMIT 1 OFFSET 1"
    )
    change(one, 2)
    with disk.held():
        ask_commit(one)
        until(disk.flushing)
        if how == "hang up":
            one.socket.shutdown(socket.SHUT_RDWR)
        else:
            server.execute(f"{how} {victim[0][0]}")
        for _ in range(READS):
            read(reader)
        assert how != "KILL QUERY" or not heard(one)
    if how == "KILL QUERY":
        assert one.answer()[4] == 0
        assert one.query("SELECT 1")[4] in (1, 0xFF)  # an idle session keeps it for the next statement, or forgets it
    else:
        ended = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'own'"
        until(lambda: server.query(ended) == [(3,)])
    assert of_rows(server)[1] == 3
    learn(reader, 1)


@pytest.mark.parametrize("end", ["UNINSTALL PLUGIN postern", "SHUTDOWN"])
def test_the_door_may_close_while_commits_wait(server, clients, disk, end):
    for row, one in enumerate(clients, 1):
        change(one, row)
    with session(server, "SQL_PORT") as ending:
        with disk.held():
            for one in clients:
                ask_commit(one)
            until(disk.flushing)
            ending.put(b"\3" + end.encode())
        assert ending.answer()[4] == 0
    answered = []
    for one in clients:
        with contextlib.suppress(EOFError, OSError):
            answered.append(one.answer()[4] == 0)
            one.answer()
    assert all(answered)
    if end == "SHUTDOWN":
        until(lambda: not server.alive(), 60)
        server.restart()
    assert all(2 <= count <= 3 for count in of_rows(server)[:4])


class Writer(threading.Thread):
    """Commits transactions until its server is gone, or until it is stopped."""

    def __init__(self, server, row, ends):
        super().__init__()
        self.server, self.row, self.ends = server, row, ends
        self.acknowledged = self.begun = 0
        self.problem = None

    def run(self):
        try:
            with session(self.server) as one:
                while not self.ends.is_set():
                    change(one, self.row)
                    self.begun += 1
                    if one.query("COMMIT")[4] == 0:
                        self.acknowledged += 1
        except (EOFError, OSError):
            pass
        except AssertionError as problem:
            self.problem = problem


@contextlib.contextmanager
def writers(server):
    ends = threading.Event()
    made = [Writer(server, row, ends) for row in range(1, ROWS + 1)]
    for one in made:
        one.start()
    try:
        yield made
    finally:
        ends.set()
        for one in made:
            one.join()
    assert [one.problem for one in made if one.problem] == []


@pytest.mark.parametrize("flushed", [True, False], ids=["flushed", "and without flushes some do not"])
def test_acknowledged_commits_outlive_a_power_failure(server, disk, flushed):
    disk.slow_down(300)
    server.execute(
        f"SET GLOBAL innodb_flush_log_at_trx_commit = {int(flushed)}", "SET GLOBAL innodb_flush_log_at_timeout = 2700"
    )
    with writers(server) as made:
        until(lambda: all(one.acknowledged > 20 for one in made), 60)
        disk.keep_log(1)
        begun = [one.acknowledged for one in made]
        until(lambda: all(one.acknowledged > before + 30 for one, before in zip(made, begun)), 60)
        server.kill()
    disk.keep_log(0)
    server.restart()
    there = of_rows(server)
    lost = [one.acknowledged - count for one, count in zip(made, there)]
    assert all(count <= one.begun for one, count in zip(made, there))
    assert (max(lost) <= 0) == flushed, lost


def test_settings_and_locks_may_change_meanwhile(server, disk):
    chance = random.Random(seeds.chosen())
    disk.slow_down(200)
    with writers(server) as made, session(server, "SQL_PORT") as other:
        for _ in range(60):
            if chance.random() < 0.5:
                step = f"SET GLOBAL innodb_flush_log_at_trx_commit = {chance.choice((0, 1, 1, 2, 3))}"
                assert other.query(step)[4] == 0
                continue
            for step in chance.choice(
                (
                    ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
                    ("BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT", "BACKUP STAGE END"),
                    ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"),
                    ("FLUSH TABLES t",),
                )
            ):
                assert other.query(step)[4] == 0
        before = [one.acknowledged for one in made]
        assert other.query("SET GLOBAL innodb_flush_log_at_trx_commit = 1")[4] == 0
        until(lambda: all(one.acknowledged > count for one, count in zip(made, before)), 60)
    assert of_rows(server) == [one.acknowledged for one in made]


class KilledWriter(Writer):
    """Continues after errors, and in a new session after losing one."""

    unknown = 0  # commits without an answer

    def run(self):
        while not self.ends.is_set():
            commits = False
            try:
                with session(self.server) as one:
                    while not self.ends.is_set():
                        commits = False
                        if any(one.query(step)[4] == 0xFF for step in ("ROLLBACK", "BEGIN", update(self.row))):
                            continue
                        commits = True
                        self.acknowledged += one.query("COMMIT")[4] == 0
            except (EOFError, OSError):
                self.unknown += commits


def test_a_commit_that_fails_is_not_made(server, disk):
    chance = random.Random(seeds.chosen())
    disk.slow_down(100)
    ends = threading.Event()
    made = [KilledWriter(server, row, ends) for row in range(1, ROWS + 1)]
    for one in made:
        one.start()
    until(lambda: all(one.acknowledged > 5 for one in made), 60)
    with contextlib.closing(server.connect()) as killer, killer.cursor() as cursor:
        for _ in range(200):
            cursor.execute("SELECT id FROM information_schema.processlist WHERE user = 'own'")
            victims = [row[0] for row in cursor.fetchall()]
            for victim in chance.sample(victims, min(4, len(victims))):
                with contextlib.suppress(pymysql.Error):  # it has ended
                    cursor.execute(f"KILL {chance.choice(('', 'QUERY', 'QUERY'))} {victim}")
    ends.set()
    for one in made:
        one.join()
    for one, count in zip(made, of_rows(server)):
        assert one.acknowledged <= count <= one.acknowledged + one.unknown
