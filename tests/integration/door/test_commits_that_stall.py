"""A commit that stalls without warning delays no client that only reads, whichever has read lately.

Commits stall on a semi-sync primary without replicas; the door has seen no slow commit before.
"""
import contextlib
import time

import pytest

from support.clients.number_clients import Handlersocket, Memcached, Redis, Sql, SqlTransaction
from support.waiting import until

WAITING = "Rpl_semi_sync_master_wait_sessions"
ROWS = 100
LONG = 5000  # more rows than a find may read in a worker's turn
SOON_S = 1.0  # enough for a busy machine; a stall lasts a minute
ALONE_S = 1.1  # after this time a worker has forgotten its readers


@pytest.fixture(scope="module")
def server(module_factory):
    one = module_factory(
        "--log-bin",
        "--handlersocket-threads-wr=1",
        "--memcached-threads=1",
        "--redis-threads=1",
        "--postern-threads=1",
        containers=True,
        redis=True,
        postern_port=0,
    )
    one.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)",
        f"INSERT INTO t SELECT seq, 0 FROM seq_1_to_{LONG}",
        "ANALYZE TABLE t",
        database="test",
    )
    yield one
    one.assert_alive()


@contextlib.contextmanager
def stalled_commits(server):
    server.execute(
        "SET GLOBAL rpl_semi_sync_master_timeout = 60000",
        "SET GLOBAL rpl_semi_sync_master_wait_no_slave = 1",
        "SET GLOBAL rpl_semi_sync_master_enabled = 1",
    )
    try:
        yield
    finally:
        server.execute("SET GLOBAL rpl_semi_sync_master_enabled = 0")


def stalled(server):
    return server.status(WAITING)[WAITING.lower()]


DOORS = [Handlersocket, Memcached, Redis, Sql, SqlTransaction]


@pytest.fixture(params=DOORS, ids=lambda door: door.__name__.lower())
def connect(request, server):
    with contextlib.ExitStack() as clients:
        yield lambda: clients.enter_context(contextlib.closing(request.param(server, timeout=10)))


def took_s(step):
    begin = time.monotonic()
    result = step()
    return time.monotonic() - begin, result


def reads_soon(client):
    seconds, value = took_s(lambda: client.read(50))
    return value == 1 and seconds < SOON_S


def test_nobody_waits_for_a_commit_that_suddenly_stalls(server, connect):
    old = [connect() for _ in range(2)]
    writers = [connect() for _ in range(4)]
    for key in range(1, ROWS):
        writers[key % 4].send_write(key, 1)
        writers[key % 4].end_write()
    for client in old:
        assert [client.read(key) for key in range(1, 5)] == [1] * 4
    end = time.monotonic() + ALONE_S
    while time.monotonic() < end:
        for key, writer in enumerate(writers):
            writer.send_write(key + 10, 2)
            writer.end_write()
    with stalled_commits(server):
        for key, writer in enumerate(writers):
            writer.send_write(key + 10, 3)
        until(lambda: stalled(server) != 0)
        for client in old:
            assert reads_soon(client)
        for _ in range(3):
            seconds, client = took_s(connect)
            assert seconds < SOON_S, "a new connection waits for others' commits"
            assert reads_soon(client)
        assert stalled(server) != 0
    for writer in writers:
        writer.end_write()
    assert [old[0].read(key) for key in range(10, 14)] == [3] * 4


def test_a_long_find_does_not_wait_for_commits_of_the_slow_lane(server):
    """Each request that changes several rows has a transaction of its own, and occupies a thread while it commits."""
    with contextlib.ExitStack() as clients:
        writers = [clients.enter_context(contextlib.closing(Handlersocket(server, timeout=10))) for _ in range(8)]
        reader = clients.enter_context(contextlib.closing(Handlersocket(server, timeout=10)))
        with stalled_commits(server):
            for number, writer in enumerate(writers):
                writer.send_lone_write(1000 + 10 * number)
            until(lambda: stalled(server) == 2, otherwise="each thread but one has a commit that waits")
            seconds, found = took_s(lambda: reader.client.request(0, ">=", 1, 1, LONG, 0))
            assert seconds < SOON_S and len(found) > LONG
            assert stalled(server) == 2
        for writer in writers:
            writer.end_lone_write()


@contextlib.contextmanager
def commits_that_wait_for_company(server):
    server.execute("SET GLOBAL binlog_commit_wait_usec = 5000000", "SET GLOBAL binlog_commit_wait_count = 20")
    try:
        yield
    finally:
        server.execute("SET GLOBAL binlog_commit_wait_count = 0")


def waited_for_company(server):
    name = "Binlog_group_commit_trigger_timeout"
    return server.status(name)[name.lower()]


@pytest.mark.parametrize("door", [Handlersocket, Memcached, Redis, Sql], ids=lambda door: door.__name__.lower())
def test_a_commit_for_many_clients_waits_for_no_others(server, door):
    """binlog_commit_wait_count: the door's group commit must not wait for more transactions."""
    with contextlib.ExitStack() as clients:
        writers = [clients.enter_context(contextlib.closing(door(server, timeout=10))) for _ in range(4)]
        for key, writer in enumerate(writers):
            for value in range(4):
                writer.send_write(key + 20, value)
                writer.end_write()
            assert writer.read(key + 20) == 3
        before = waited_for_company(server)
        with commits_that_wait_for_company(server):
            for value in range(4, 8):
                for key, writer in enumerate(writers):
                    writer.send_write(key + 20, value)
                for writer in writers:
                    writer.end_write()
            if door is Handlersocket:
                writers[0].send_lone_write(2000)
                writers[0].end_lone_write()
        assert waited_for_company(server) == before
        assert [writer.read(key + 20) for key, writer in enumerate(writers)] == [7] * 4
