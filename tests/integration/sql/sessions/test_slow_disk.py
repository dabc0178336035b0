"""Readers at the SQL door do not wait for others' commits, however slow the disk is; and the outcome of commits when
their sessions end meanwhile."""
import contextlib
import socket

import pytest

from support.clients import sql_wire
from support.faults.slow_disk import Disk
from support.clients.sql_wire import QUERY, Wire, rows
from support.waiting import until

READ = b"SELECT v FROM t WHERE id = 1"
READS = 100
LEARNING = 200  # rounds after which a worker has surely seen how long a commit sleeps
SLOW_US = 2_000


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return Disk(tmp_path_factory.mktemp("slow_disk"))


@pytest.fixture
def server(sandbox_factory, disk):
    made = sandbox_factory(start=False)
    disk.slow_down(0)
    made.start("--log-bin", "--sync-binlog=1", "--postern-threads=1", postern_port=0, env=disk.environment())
    made.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT NOT NULL DEFAULT 0)",
        "INSERT INTO t (id, v) SELECT seq, 'one' FROM seq_1_to_1000",
        "ANALYZE TABLE t",
        database="test",
    )
    disk.slow_down(SLOW_US)
    yield made
    made.assert_alive()


def update(row):
    return f"UPDATE t SET n = n + 1 WHERE id = {row}".encode()


def ask(connection, command):
    Wire(connection).send(QUERY, command)


class Clients:
    """Writers and readers: a worker has seen slow commits while others read."""

    def __init__(self, server, writers):
        self.reader = sql_wire.door(server, database="test", read_timeout=15)
        self.writers = [sql_wire.door(server, database="test", read_timeout=15) for _ in range(writers)]
        for _ in range(LEARNING):
            for row, writer in enumerate(self.writers):
                rows(writer, update(row + 1).decode())
            self.read()

    def read(self):
        assert rows(self.reader, READ.decode()) == [("one",)]

    def close(self):
        for one in (self.reader, *self.writers):
            with contextlib.suppress(OSError):
                one._sock.close()


@pytest.fixture
def clients(server):
    made = Clients(server, 3)
    yield made
    made.close()


def counted(server):
    return [int(row[0]) for row in server.query("SELECT n FROM t WHERE id <= 3 ORDER BY id", database="test")]


def sessions(server):
    return int(server.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root'")[0][0])


def test_readers_wait_for_no_commit(server, clients, disk):
    first, *others = clients.writers
    with disk.held():
        ask(first, update(1))
        until(disk.flushing)
        for writer, row in zip(others, (2, 3)):
            ask(writer, update(row))
        for _ in range(READS):
            clients.read()
        assert disk.flushing() != 0
    for writer in clients.writers:
        assert Wire(writer).packet()[4] == 0
    assert counted(server) == [LEARNING + 1] * 3


def test_sessions_may_end_while_their_commits_wait(server, clients, disk):
    killed, cut, told = clients.writers
    number = killed.thread_id()
    with disk.held():
        for row, writer in enumerate(clients.writers):
            ask(writer, update(row + 1))
        until(disk.flushing)
        server.execute(f"KILL {number}")
        cut._sock.shutdown(socket.SHUT_RDWR)
        for _ in range(READS):
            clients.read()
    assert Wire(told).packet()[4] == 0
    until(lambda: sessions(server) == 3, otherwise="the sessions of who is gone are still there")
    # A change is made or not, and never half; an acknowledged one is made.
    assert all(LEARNING <= count <= LEARNING + 1 for count in counted(server))
    assert counted(server)[2] == LEARNING + 1
    rows(told, update(3).decode())
    assert counted(server)[2] == LEARNING + 2


@pytest.mark.parametrize("end", ["UNINSTALL PLUGIN postern", "SHUTDOWN"])
def test_the_door_may_close_while_commits_wait(server, clients, disk, end):
    with contextlib.closing(server.connect()) as ending:
        with disk.held():
            for row, writer in enumerate(clients.writers):
                ask(writer, update(row + 1))
            until(disk.flushing)
            ask(ending, end.encode())
        assert Wire(ending).packet()[4] == 0
    for writer in clients.writers:
        with pytest.raises((EOFError, OSError)):
            while Wire(writer).packet()[4] == 0:
                pass
    if end == "SHUTDOWN":
        until(lambda: not server.alive(), 60)
        server.restart()
    assert all(LEARNING <= count <= LEARNING + 1 for count in counted(server))
