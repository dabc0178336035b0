"""Readers never wait for another client's commit, however long it takes.

On a semi-sync primary without its replica commits hang as long as a test wants.
"""
import contextlib
import threading
import time

import pytest
from support.clients.number_clients import Handlersocket, Memcached, Redis
from support.waiting import until

WAITING = "Rpl_semi_sync_master_wait_sessions"


@pytest.fixture(scope="module")
def server(module_factory):
    one = module_factory(
        "--log-bin",
        "--binlog-format=ROW",
        "--handlersocket-threads-wr=1",
        "--memcached-threads=1",
        "--redis-threads=1",
        containers=True,
        redis=True,
    )
    one.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t SELECT seq, 0 FROM seq_1_to_100", database="test"
    )
    yield one
    one.assert_alive()


def hang(server, for_ms):
    """Makes commits wait for `for_ms`; after the first one that times out none waits."""
    server.execute(
        "SET GLOBAL rpl_semi_sync_master_enabled = 0",
        f"SET GLOBAL rpl_semi_sync_master_timeout = {for_ms}",
        "SET GLOBAL rpl_semi_sync_master_enabled = 1",
    )


@pytest.fixture(params=[Handlersocket, Memcached, Redis], ids=lambda door: door.__name__.lower())
def door(request, server):
    """Makes clients of a door that has seen slow commits."""
    with contextlib.ExitStack() as clients:

        def connect():
            return clients.enter_context(contextlib.closing(request.param(server)))

        reader, writer = connect(), connect()
        hang(server, 0)
        for key in range(1, 101):
            writer.send_write(key, 0)
            writer.end_write()
        for value in range(1, 12):
            hang(server, 30)
            reader.read(1)
            writer.send_write(1, value)
            writer.end_write()
            assert reader.read(1) == value
        yield connect
        server.execute("SET GLOBAL rpl_semi_sync_master_enabled = 0")


def waiting(server):
    return server.status(WAITING)[WAITING.lower()]


def test_reads_are_answered_while_a_commit_hangs(server, door):
    reader, writer, later = door(), door(), door()
    reader.read(1)
    hang(server, 60000)
    writer.send_write(2, 7)
    until(lambda: waiting(server) == 1)
    begin = time.monotonic()
    for key in range(3, 101):
        assert reader.read(key) == 0
    later.send_write(3, 8)
    until(lambda: waiting(server) == 2, otherwise="a commit waited for another that sleeps long")
    for _ in range(100):
        assert reader.read(3) == 8, "committed, as others see it in SQL, too; its writer waits for the replica"
    assert time.monotonic() - begin < 20
    assert waiting(server) == 2
    server.execute("SET GLOBAL rpl_semi_sync_master_enabled = 0")
    writer.end_write()
    later.end_write()
    assert (reader.read(2), reader.read(3), writer.read(3)) == (7, 8, 8)


def test_everybody_reads_acknowledged_writes(server, door):
    """Writers publish acknowledged values; no connection reads an older value afterwards."""
    acknowledged = [0] * 101
    end = time.monotonic() + 4
    wrong = []
    clients = [door() for _ in range(8)]

    def go(number):
        client, value = clients[number], 0
        own = number + 10  # which only this writer changes
        while time.monotonic() < end and not wrong:
            value += 1
            client.send_write(own, value)
            client.end_write()
            acknowledged[own] = value
            for key in range(10, 18):
                known = acknowledged[key]
                if (read := client.read(key)) < known:
                    wrong.append((key, read, known))

    def disturb():
        while time.monotonic() < end:
            hang(server, 20)
            time.sleep(0.05)

    threads = [threading.Thread(target=go, args=(i,)) for i in range(8)] + [threading.Thread(target=disturb)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and min(acknowledged[10:18]) > 3


def test_kill_of_the_thread_that_commits(server, door):
    reader, writer = door(), door()
    for value in range(1, 20):
        reader.read(1)
        assert server.kill_threads() >= 6  # idle committers are not shown
        writer.send_write(5, value)
        writer.end_write()
        assert reader.read(5) == value


def test_a_backup_lets_nobody_commit_and_everybody_read(server, door):
    reader, writer = door(), door()
    with contextlib.closing(server.connect()) as connection:
        cursor = connection.cursor()
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        writer.send_write(6, 9)
        for key in range(20, 100):
            assert reader.read(key) == 0
        cursor.execute("UNLOCK TABLES")
    writer.end_write()
    assert reader.read(6) == 9


def test_shutdown_while_a_commit_hangs_loses_nothing_acknowledged(sandbox_factory):
    one = sandbox_factory("--log-bin", "--handlersocket-threads-wr=1")
    one.execute("CREATE TABLE test.t (id INT PRIMARY KEY, v INT)", "INSERT INTO test.t VALUES (1, 0), (2, 0)")
    with contextlib.closing(Handlersocket(one)) as reader, contextlib.closing(Handlersocket(one)) as writer:
        for value in range(1, 12):
            hang(one, 30)
            assert reader.read(1) == value - 1
            writer.send_write(1, value)
            writer.end_write()
        hang(one, 5000)
        writer.send_write(2, 9)
        until(lambda: waiting(one) == 1)
        assert reader.read(1) == 11
        one.execute("UNINSTALL SONAME 'postern'")
        assert reader.client.closed_by_server()
    one.execute("INSTALL SONAME 'postern'")
    assert one.query("SELECT v FROM test.t ORDER BY id") == [(11,), (9,)]
    one.assert_alive()
