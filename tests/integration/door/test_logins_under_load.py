"""Many logins at once delay nobody else."""
import contextlib
import select
import threading
import time

import pytest
from support.accounts import GOOD, denied, login
from support.waiting import until


@pytest.mark.alone
def test_a_storm_of_wrong_passwords_stalls_nobody(sandbox_factory):
    server = sandbox_factory("--handlersocket-auth=account", "--handlersocket-scan-threads=1")
    server.execute(
        "CREATE USER good@localhost IDENTIFIED BY 'pw'",
        "CREATE USER poor@localhost IDENTIFIED BY 'pw'",
        "GRANT SELECT ON test.* TO good@localhost",
        "CREATE TABLE test.t (id INT PRIMARY KEY)",
        "INSERT INTO test.t SELECT seq FROM seq_1_to_20000",
        database="test",
    )
    stop = threading.Event()

    def storm():
        while not stop.is_set():
            with contextlib.suppress(OSError, EOFError), server.hs(timeout=1) as client:
                while not stop.is_set():
                    client.pipeline(*[("A", 2, "poor", "wrong")] * 20)

    threads = [threading.Thread(target=storm) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: server.status("handlersocket_errors_too_many_logins")["handlersocket_errors_too_many_logins"], 20)
        with server.hs() as client:
            assert login(client, "good") == GOOD  # delayed, but accepted
            client.open(0, "test", "t", "id")
            slowest = 0.0
            for _ in range(100):
                began = time.monotonic()
                assert client.request(0, "=", 1, 5) == ["0", "1", "5"]
                slowest = max(slowest, time.monotonic() - began)
            assert slowest < 0.5
            assert len(client.request(0, ">", 1, 0, 20000)) == 20002
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    tried = server.log().count("Access denied for user 'poor'")
    assert 3 <= tried < 100, "failed logins have to cost time"


def test_kill_and_uninstall_while_logins_come_in(sandbox_factory):
    server = sandbox_factory("--handlersocket-auth=account", "--handlersocket-threads=2")
    server.execute(
        "CREATE USER ann@localhost IDENTIFIED BY 'pw'",
        "GRANT SELECT ON test.* TO ann@localhost",
        "CREATE TABLE test.t (id INT PRIMARY KEY)",
    )
    stop, answered, problems = threading.Event(), [0], []

    def storm():
        while not stop.is_set():
            with contextlib.suppress(OSError, EOFError), server.hs(timeout=5) as client:
                while not stop.is_set():
                    for reply in client.pipeline(
                        *[("A", 2, "ann", "pw"), ("P", 0, "test", "t", "PRIMARY", "id"), (0, "=", 1, 1)] * 10
                    ):
                        answered[0] += 1
                        if reply[0] != "0":
                            problems.append(reply)

    threads = [threading.Thread(target=storm) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            before = answered[0]
            for number, _, _ in server.threads():
                with contextlib.suppress(Exception):  # it may have a new account by now
                    server.execute(f"KILL {number}")
            until(lambda: answered[0] > before, 10)
        assert not problems, problems[0]
        for _ in range(5):
            before = answered[0]
            server.execute("UNINSTALL SONAME 'postern'", "INSTALL SONAME 'postern'")
            until(lambda: answered[0] > before, 10)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    server.assert_alive()


def test_the_process_list_shows_threads_that_ask_for_privileges(sandbox_factory):
    """It reads a thread's account without a lock. The server crashed if the account was freed meanwhile."""
    server = sandbox_factory("--handlersocket-auth=account", "--handlersocket-threads=2")
    server.execute(
        "CREATE USER ann@localhost IDENTIFIED BY 'pw'",
        "CREATE TABLE test.secret (id INT PRIMARY KEY)",
    )
    stop, refusals = threading.Event(), []

    def storm():
        with server.hs() as client:
            assert login(client, "ann") == GOOD
            while not stop.is_set():
                refusals.extend(client.pipeline(*[("P", 0, "test", "secret", "PRIMARY", "id")] * 200)[-1:])

    threads = [threading.Thread(target=storm) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        users = set()
        with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
            for _ in range(1000):
                cursor.execute("SELECT user, host FROM information_schema.processlist WHERE db IS NULL")
                users.update(cursor.fetchall())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert refusals and all(refusal == denied("SELECT", "ann", "secret") for refusal in refusals)
    assert {user for user, _ in users} == {"root", "postern"}, users


def test_shutdown_does_not_wait_for_logins(sandbox_factory):
    server = sandbox_factory("--handlersocket-auth=account")
    clients = [server.hs() for _ in range(20)]
    for client in clients:
        client.send(b"A\t2\tnobody\twrong\n" * 50)
    # One of them was refused; the throttle decides when the next is tried.
    assert select.select([client.socket for client in clients], [], [], 30)[0]
    server.stop()
    for client in clients:
        client.close()
    server.start()
