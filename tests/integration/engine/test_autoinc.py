"""AUTO_INCREMENT ids while another transaction holds InnoDB's AUTO-INC lock, which a bulk insert keeps until its end.
SQL waits for the lock; if the statement gave the id, the row is inserted already."""
import contextlib
import random
import subprocess
import threading
import time

import pytest
from support.clients.mc import map_table
from support.server import SERVER_DIR, Server, name_of
from support.waiting import until

INSERTED = b"0\t1\t0"  # if the request gave the id
CHANGED = b"0\t1\t1"
PROGRAMS = SERVER_DIR / "root" / "usr" / "bin"
HOLD = "hold the counter"


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("autoinc") / "server")
    try:
        yield one.start("--log-bin=bin", "--server-id=1", "--handlersocket-threads-wr=2", containers=True)
    finally:
        one.stop()
    one.assert_no_crash()


@pytest.fixture
def database(counting, request):
    name = f"t{name_of(request)}"
    counting.execute(
        f"CREATE DATABASE {name}",
        f"USE {name}",
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))",
        "CREATE TABLE other (id INT PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO other SELECT seq, 0 FROM seq_1_to_100",
        "FLUSH BINARY LOGS",
    )
    yield name
    counting.execute(f"DROP DATABASE {name}")


class Bulk:
    """An INSERT ... SELECT into t that holds the AUTO-INC lock from here to release()."""

    def __init__(self, server, database):
        self.server = server
        self.lock = server.connect()
        self.lock.cursor().execute("SELECT GET_LOCK(%s, 10)", (HOLD,))
        self.thread = threading.Thread(target=self._insert, args=(database,))
        self.thread.start()
        until(lambda: server.query("SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'"), 20)

    def _insert(self, database):
        self.server.execute(
            f"INSERT INTO t (v) SELECT IF(seq = 1, 'bulk', GET_LOCK('{HOLD}', 60)) FROM seq_1_to_3", database=database
        )

    def release(self):
        if self.lock is not None:
            self.lock.close()
            self.lock = None
        self.thread.join(60)


@pytest.fixture
def bulk(counting, database):
    with contextlib.ExitStack() as stack:

        def begin():
            one = Bulk(counting, database)
            stack.callback(one.release)
            return one

        yield begin


def logged(server, database, change, table="t"):
    """The number of row events for a change in the newest binary log: INSERT INTO, UPDATE, DELETE FROM."""
    server.execute("FLUSH BINARY LOGS")
    log = server.query("SHOW BINARY LOGS")[-2][0]
    shown = subprocess.run(
        [PROGRAMS / "mariadb-binlog", "--verbose", "--base64-output=decode-rows", f"{server.env['DATADIR']}/{log}"],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    ).stdout
    return shown.count(f"### {change} `{database}`.`{table}`")


def send_while_held(server, held, connection, request, answers=1):
    """Sends requests, waits until the door waits, releases the lock, and returns the answers."""
    waits = server.status("handlersocket_row_lock_waits")["handlersocket_row_lock_waits"]
    connection.send(request)
    until(lambda: server.status("handlersocket_row_lock_waits")["handlersocket_row_lock_waits"] > waits + 2, 20)
    held.release()
    return connection.lines(answers)


def test_an_insert_with_an_id_waits_for_the_counter_and_is_logged_once(counting, database, bulk):
    with counting.hs_wr(timeout=60) as one:
        one.open(0, database, "t", "id,v")
        held = bulk()
        request = b"".join(b"0\t+\t2\t%d\tdoor\n" % key for key in (1001, 1002, 1003))
        assert send_while_held(counting, held, one, request, 3) == [INSERTED] * 3
    assert counting.query("SELECT id FROM t WHERE v = 'door' ORDER BY id", database=database) == [
        (1001,),
        (1002,),
        (1003,),
    ]
    counting.execute("INSERT INTO t (v) VALUES ('next')", database=database)
    assert counting.query("SELECT id FROM t WHERE v = 'next'", database=database) == [(1004,)]
    assert (
        logged(counting, database, "INSERT INTO") == 3 + 3
    )  # the bulk insert's and the door's; the next id is a statement's


def test_an_insert_without_an_id_waits_for_the_counter(counting, database, bulk):
    with counting.hs_wr(timeout=60) as one:
        one.open(0, database, "t", "v")
        held = bulk()
        lines = send_while_held(counting, held, one, b"0\t+\t1\tdoor\n" * 3, 3)
    ids = [row[0] for row in counting.query("SELECT id FROM t WHERE v = 'door' ORDER BY id", database=database)]
    assert len(ids) == 3
    assert lines == [b"0\t1\t%d" % key for key in ids]


def test_a_changed_id_waits_for_the_counter_and_is_logged(counting, database, bulk):
    counting.execute("INSERT INTO t VALUES (501, 'a'), (502, 'b')", "FLUSH BINARY LOGS", database=database)
    with counting.hs_wr(timeout=60) as one:
        one.open(0, database, "t", "id")
        held = bulk()
        request = b"0\t=\t1\t501\t1\t0\tU\t2001\n0\t=\t1\t502\t1\t0\tU\t2002\n"
        assert send_while_held(counting, held, one, request, 2) == [CHANGED] * 2
    assert counting.query("SELECT id FROM t WHERE v IN ('a', 'b') ORDER BY id", database=database) == [(2001,), (2002,)]
    assert logged(counting, database, "UPDATE") == 2


def test_a_stored_item_waits_for_the_counter_and_is_logged(counting, database, bulk):
    map_table(counting, database, database, "t", "id", "v")
    counting.execute("FLUSH BINARY LOGS")
    with counting.mc(timeout=60) as one:
        one.send(b"get @@%b\r\n" % database.encode())
        while one.line() != b"END":
            pass
        held = bulk()
        waits = counting.status("memcached_row_lock_waits")["memcached_row_lock_waits"]
        one.send(b"".join(b"set %d 0 0 4\r\ndoor\r\n" % key for key in (3001, 3002)))
        until(lambda: counting.status("memcached_row_lock_waits")["memcached_row_lock_waits"] > waits + 2, 20)
        held.release()
        assert [one.line(), one.line()] == [b"STORED", b"STORED"]
    assert counting.query("SELECT id FROM t WHERE v = 'door' ORDER BY id", database=database) == [(3001,), (3002,)]
    assert logged(counting, database, "INSERT INTO") == 3 + 2


def test_others_go_on_while_the_counter_is_held(counting, database, bulk):
    with counting.hs_wr(timeout=60) as waiting, counting.hs_wr(timeout=60) as other:
        waiting.open(0, database, "t", "id,v")
        other.open(0, database, "other", "n")
        held = bulk()
        waiting.send(b"".join(b"0\t+\t2\t%d\tdoor\n" % key for key in range(4001, 4021)))
        for _ in range(50):
            other.send(b"".join(b"0\t=\t1\t%d\t1\t0\t+\t1\n" % key for key in range(1, 11)))
            assert other.lines(10) == [CHANGED] * 10
        held.release()
        assert waiting.lines(20) == [INSERTED] * 20
    assert counting.query("SELECT SUM(n) FROM other", database=database) == [(500,)]


def test_a_write_that_waits_too_long_fails_and_has_changed_nothing(counting, database, bulk):
    counting.execute("INSERT INTO t VALUES (601, 'a')", "SET GLOBAL innodb_lock_wait_timeout = 1", database=database)
    try:
        with counting.hs_wr(timeout=60) as one:
            one.open(0, database, "t", "id,v")
            one.open(1, database, "t", "id")
            one.open(2, database, "t", "v")
            bulk()
            one.send(b"0\t+\t2\t5001\tdoor\n1\t=\t1\t601\t1\t0\tU\t5002\n2\t+\t1\tdoor\n")
            assert one.lines(3) == [b"1\t1\t146"] * 3
    finally:
        counting.execute("SET GLOBAL innodb_lock_wait_timeout = 50")
    assert counting.query("SELECT id FROM t WHERE v IN ('a', 'door')", database=database) == [(601,)]


def test_deadlocks_over_the_counter_lose_no_acknowledged_write(counting, database):
    """The AUTO-INC lock and row locks taken in both orders: a bulk insert that reads rows, a door that changes them
    first."""
    end = time.monotonic() + 2
    lock, told, odd = threading.Lock(), {}, []

    def door(seed):
        chance = random.Random(seed)
        with counting.hs_wr(timeout=70) as one:
            one.open(0, database, "t", "v")
            one.open(1, database, "other", "n")
            while time.monotonic() < end:
                key = chance.randint(1, 100)
                one.send(b"1\t=\t1\t%d\t1\t0\t+\t1\n0\t+\t1\tdoor\n" % key)
                changed, inserted = one.lines(2)
                with lock:
                    if changed == CHANGED:
                        told[key] = told.get(key, 0) + 1
                    if not inserted.startswith(b"0\t1\t"):
                        odd.append(inserted)
                    told["door"] = told.get("door", 0) + inserted.startswith(b"0\t1\t")

    def bulk_inserts():
        with contextlib.closing(counting.connect(database=database)) as connection, connection.cursor() as cursor:
            while time.monotonic() < end:
                with contextlib.suppress(Exception):  # the victim of a deadlock
                    cursor.execute("INSERT INTO t (v) SELECT n FROM other")

    threads = [threading.Thread(target=door, args=(seed,)) for seed in range(6)] + [
        threading.Thread(target=bulk_inserts) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert odd == []
    there = dict(counting.query("SELECT id, n FROM other WHERE n <> 0", database=database))
    there["door"] = counting.query("SELECT COUNT(*) FROM t WHERE v = 'door'", database=database)[0][0]
    assert there == told


def test_ids_changed_by_two_workers(counting, database):
    counting.execute(
        "CREATE TABLE x (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT, b BLOB)",
        "INSERT INTO x (id, n) SELECT seq, seq FROM seq_1_to_8",
        "FLUSH BINARY LOGS",
        database=database,
    )
    end = time.monotonic() + 2
    lock, top, done, wrong = threading.Lock(), [1000], [0], []

    def client(at):
        with counting.hs_wr(timeout=70) as one:
            one.open(0, database, "x", "id")
            one.open(1, database, "x", "id,b")
            while time.monotonic() < end:
                with lock:
                    top[0] += 1
                    to = top[0]
                one.send(b"0\t=\t1\t%d\t1\t0\tU\t%d\n1\t=\t1\t%d\t1\t0\tU\t%d\t%b\n" % (at, to, to, to, b"x" * 20000))
                first, second = one.lines(2)
                with lock:
                    done[0] += 1
                    if (first, second) != (CHANGED, CHANGED):
                        wrong.append((at, to, first, second))
                at = to

    threads = [threading.Thread(target=client, args=(number + 1,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert wrong == []
    assert logged(counting, database, "UPDATE", "x") == done[0] + 8  # and b, once for each client
