"""Blocked clients: their cost, their effect on others, and how waits end. test_redis_blocking.py compares the order of
service with Redis."""
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import pytest
from support.clients.resp import blocked, decode, encode
from support.waiting import until

SERVER_OPTIONS = ("--redis-threads=3",)


@pytest.mark.alone
def test_a_held_up_client_holds_nobody_up_for_long(server):
    """An SQL transaction's row lock keeps the element from moving: the first push waits for it a while, the next not at
    all."""
    with server.resp() as waiting, server.resp() as client, server.connect() as connection:
        client.ask("RPUSH", "held-to", "x")
        waiting.send(encode("BLMOVE", "held-from", "held-to", "LEFT", "RIGHT", "0"))
        until(lambda: blocked(client) == 1)
        took = []
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT len FROM postern_redis.entries WHERE k = 'held-to' FOR UPDATE")
            for number in (1, 2, 3):
                begin = time.monotonic()
                client.ask("RPUSH", "held-from", number)
                took.append(time.monotonic() - begin)
            cursor.execute("COMMIT")
        assert took[0] > 0.4 and max(took[1:]) < 0.4, took
        assert decode(waiting.raw()) == b"1"
        assert client.ask("LRANGE", "held-to", 0, -1) == [b"x", b"1"]
        client.ask("DEL", "held-from", "held-to")


@pytest.mark.alone
@pytest.mark.parametrize("how", ["kill", "close"])
def test_pushes_go_on_while_waiters_leave(server, how):
    """Clients block and leave; no push is lost, and none waits for a client that has left."""
    over = threading.Event()

    def wait_and_go():
        while not over.is_set():
            with server.resp() as waiting:
                number = waiting.ask("CLIENT", "ID")
                waiting.send(encode("BLMOVE", "going", "gone", "LEFT", "RIGHT", "0"))
                over.wait(0.002)
                if how == "kill":
                    with server.resp() as killer:
                        killer.ask("CLIENT", "KILL", "ID", number)

    threads = [threading.Thread(target=wait_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    slow = 0
    with server.resp() as client:
        client.ask("DEL", "going", "gone")
        for number in range(300):
            begin = time.monotonic()
            client.ask("RPUSH", "going", number)
            slow += time.monotonic() - begin > 0.45
        over.set()
        for thread in threads:
            thread.join()
        until(lambda: blocked(client) == 0)
        assert client.ask("LLEN", "going") + client.ask("LLEN", "gone") == 300
        client.ask("DEL", "going", "gone")
    assert slow < 5


def test_a_wait_ends_in_time(server):
    with server.resp() as client:
        for seconds in (0.1, 0.5):
            begin = time.monotonic()
            assert client.ask("BLPOP", "nosuch", seconds) is None
            assert time.monotonic() - begin >= seconds


def test_rows_that_sql_puts_there_are_found(server):
    with server.resp() as one, server.resp() as two:
        one.send(encode("BLPOP", "sql", "30"))
        two.send(encode("BLPOP", "sql", "30"))
        with server.resp() as watcher:
            until(lambda: blocked(watcher) == 2)
        # Two elements in one transaction by SQL, which wakes nobody.
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO postern_redis.lists (k, pos, v) VALUES ('sql', 0, 'a'), ('sql', 1, 'b')")
            cursor.execute("CALL postern.redis_touch('sql')")
            cursor.execute("COMMIT")
        assert sorted([decode(one.raw()), decode(two.raw())]) == [[b"sql", b"a"], [b"sql", b"b"]]


def test_a_client_that_is_killed_leaves_nothing(server):
    script = (
        "import socket, sys\n"
        "sockets = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(20)]\n"
        "for one in sockets: one.sendall(b'BLPOP gone 0\\r\\nPING\\r\\n')\n"
        "print('sent', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with server.resp() as client:
        process = subprocess.Popen(
            [sys.executable, "-c", script, server.env["REDIS_PORT"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            assert process.stdout.readline() == b"sent\n"
            until(lambda: blocked(client) == 20)
            process.send_signal(signal.SIGKILL)
            until(lambda: blocked(client) == 0)
        finally:
            process.kill()
            process.communicate()
        assert client.ask("RPUSH", "gone", "a") == 1
        assert client.ask("LRANGE", "gone", 0, -1) == [b"a"]
        client.ask("DEL", "gone")


def test_killed_clients_and_queries_to_end_them(server):
    with server.resp() as client, server.resp() as waiting, server.resp() as other:
        number = waiting.ask("CLIENT", "ID")
        waiting.send(encode("BLPOP", "l", "0"))
        until(lambda: blocked(client) == 1)
        assert client.ask("CLIENT", "KILL", "ID", number) == 1
        assert waiting.ended()
        until(lambda: blocked(client) == 0)
        assert other.ask("PING") == "PONG"


def test_thousands_that_wait_cost_nothing(server):
    count = 2_000
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(server.resp())
        client.ask("RPUSH", "made", "x")
        client.ask("DEL", "made")
        task = f"/proc/{server.env['PID']}/task"
        threads = len(os.listdir(task))
        clients = [stack.enter_context(server.resp()) for _ in range(count)]
        for number, one in enumerate(clients):
            if number == 50:  # the first client of each queue
                until(lambda: blocked(client) == 50)
            one.send(encode("BLPOP", f"q{number % 50}", f"other{number}", "0"))
        until(lambda: blocked(client) == count, 60)
        assert len(os.listdir(task)) <= threads
        until(lambda: not server.query("SELECT trx_id FROM information_schema.innodb_trx"))
        # The first waiters are served first, each once.
        for number in range(50):
            client.ask("RPUSH", f"q{number}", "one")
        assert [decode(one.raw()) for one in clients[:50]] == [[b"q%d" % number, b"one"] for number in range(50)]
        client.ask("RPUSH", "q7", *map(str, range(39)))
        assert sorted(int(decode(one.raw())[1]) for one in clients[57::50]) == list(range(39))
        until(lambda: blocked(client) == count - 50 - 39)
        assert client.ask("EXISTS", "q7") == 0


# In each pair the second statement undoes the first.
ALTERATIONS = [
    ("ALTER TABLE postern_redis.{} COMMENT 'altered'", "ALTER TABLE postern_redis.{} COMMENT ''"),
    ("ALTER TABLE postern_redis.{} ADD COLUMN z INT", "ALTER TABLE postern_redis.{} DROP COLUMN z"),
    ("RENAME TABLE postern_redis.{0} TO postern_redis.away", "RENAME TABLE postern_redis.away TO postern_redis.{0}"),
    ("LOCK TABLES postern_redis.{} WRITE", "UNLOCK TABLES"),
    ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
]
ALTERATION_MS_MAX = 100


@pytest.mark.alone
def test_statements_get_their_locks_at_once_while_clients_wait(server):
    count = 400
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(server.resp())
        clients = [stack.enter_context(server.resp()) for _ in range(count)]
        for number, one in enumerate(clients):
            if number == 20:  # the first client of each queue
                until(lambda: blocked(client) == 20)
            one.send(encode("BZPOPMIN" if number % 2 else "BLPOP", f"q{number % 20}", f"other{number}", "0"))
        until(lambda: blocked(client) == count, 60)
        cursor = stack.enter_context(stack.enter_context(server.connect()).cursor())
        slow = []
        for table in ("lists", "zsets", "entries"):
            for pair in ALTERATIONS:
                times_ms = []
                for _ in range(5):
                    time.sleep(0.05)  # while the waiters look for elements
                    for statement in pair:
                        begin = time.monotonic()
                        cursor.execute(statement.format(table))
                        times_ms.append((time.monotonic() - begin) * 1000)
                if statistics.median(times_ms) > ALTERATION_MS_MAX:
                    slow.append((table, pair, times_ms))
        assert not slow
        client.ask("RPUSH", "q0", "one")
        client.ask("ZADD", "q1", "1", "one")
        assert decode(clients[0].raw()) == [b"q0", b"one"] and decode(clients[1].raw()) == [b"q1", b"one", b"1"]


def test_each_element_is_taken_once(server):
    """Several queues and workers that block while others push, as in a job queue."""
    jobs, takers, makers = 1_500, 8, 4
    taken = []

    def take():
        with server.resp() as client:
            while (got := client.ask("BLMPOP", "20", "2", "jobs", "more", "LEFT", "COUNT", "2"))[1] != [b"end"]:
                taken.extend(got[1])

    def make(number):
        with server.resp() as client:
            for job in range(number, jobs, makers):
                client.ask("RPUSH", "jobs" if job % 3 else "more", job)

    workers = [threading.Thread(target=take) for _ in range(takers)]
    feeders = [threading.Thread(target=make, args=(number,)) for number in range(makers)]
    for thread in workers + feeders:
        thread.start()
    for thread in feeders:
        thread.join()
    with server.resp() as client:
        until(lambda: client.ask("EXISTS", "jobs", "more") == 0, 60)
        for _ in workers:
            client.ask("RPUSH", "jobs", "end")
            until(lambda: client.ask("EXISTS", "jobs") == 0, 20)
    for thread in workers:
        thread.join()
    assert sorted(map(int, taken)) == list(range(jobs))


def test_a_waiting_client_is_not_idle(server):
    server.execute("SET GLOBAL redis_timeout = 1, GLOBAL redis_request_timeout = 1")
    try:
        with server.resp() as waiting:
            waiting.send(encode("BLPOP", "l", "0") + b"PI")
            time.sleep(3)  # the length of the wait is under test
            with server.resp() as client:
                client.ask("RPUSH", "l", "a")
            assert decode(waiting.raw()) == [b"l", b"a"]
            waiting.send(b"NG\r\n")
            assert waiting.raw() == b"+PONG\r\n"
            assert waiting.ended()
    finally:
        server.execute("SET GLOBAL redis_timeout = DEFAULT, GLOBAL redis_request_timeout = DEFAULT")


@pytest.mark.parametrize("how", ["uninstall", "shutdown"])
def test_a_server_that_stops_ends_them(sandbox_factory, how):
    server = sandbox_factory("--redis-threads=2", redis=True)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.resp()) for _ in range(200)]
        for number, client in enumerate(clients):
            client.send(encode("BLPOP", f"q{number % 5}", "0"))
        with server.resp() as client:
            until(lambda: blocked(client) == 200)
        begin = time.monotonic()
        if how == "uninstall":
            server.execute("UNINSTALL SONAME 'postern'")
        else:
            server.stop()
        assert time.monotonic() - begin < 10
        for client in clients:
            assert client.ended()
    if how == "uninstall":
        server.assert_alive()
