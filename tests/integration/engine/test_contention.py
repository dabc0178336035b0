"""Many writers of the same rows: no update is lost, no reply is wrong, and nobody waits long for another client's
lock."""
import contextlib
import random
import statistics
import threading
import time

import pymysql
import pytest
from support.load import Load
from support.server import Server, name_of
from support.waiting import until

WORKERS = "--handlersocket-threads-wr=4"
UPDATED = b"0\t1\t1"
LOCKED = b"1\t1\t146"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A server with several write workers."""
    one = Server(tmp_path_factory.mktemp("contention") / "server")
    try:
        yield one.start(WORKERS)
    finally:
        one.stop()
    one.assert_no_crash()


@pytest.fixture
def rows(crowded, request):
    """A table t of 100 rows in a new database; returns the database's name."""
    name = f"t{name_of(request)}"
    crowded.execute(
        f"CREATE DATABASE {name}",
        f"USE {name}",
        "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, v VARCHAR(20), KEY n (n))",
        "INSERT INTO t SELECT seq, 0, 'v' FROM seq_1_to_100",
    )
    yield name
    crowded.execute(f"DROP DATABASE {name}")


def client(server, database, timeout=60):
    one = server.hs_wr(timeout=timeout)
    one.open(0, database, "t", "n")
    return one


def add(key, number=1):
    return b"0\t=\t1\t%d\t1\t0\t+\t%d\n" % (key, number)


def together(functions, seconds=120):
    """Runs all functions at once, and raises the exception of one of them."""
    problems, start = [], threading.Barrier(len(functions))

    def run(function):
        try:
            start.wait(30)
            function()
        except BaseException as problem:  # pylint: disable=broad-except
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
        assert not thread.is_alive(), "a client hangs"
    if problems:
        raise problems[0]


def test_a_counter_of_a_hundred_connections_and_sql_is_exact(crowded, rows):
    def one_at_a_time():
        with client(crowded, rows) as one:
            for _ in range(30):
                one.send(add(1))
                assert one.line() == UPDATED

    def pipelined():
        with client(crowded, rows) as one:
            for _ in range(3):
                one.send(add(1) * 50)
                assert one.lines(50) == [UPDATED] * 50

    def sql():
        with contextlib.closing(crowded.connect(database=rows)) as connection:
            for _ in range(100):
                connection.cursor().execute("UPDATE t SET n = n + 1 WHERE id = 1")

    together([one_at_a_time] * 50 + [pipelined] * 50 + [sql] * 4)
    assert crowded.query("SELECT n FROM t WHERE id = 1", database=rows) == [(50 * 30 + 50 * 150 + 4 * 100,)]


@pytest.mark.parametrize("triggers", [False, True], ids=["plain", "with triggers"])
def test_deadlocks_lose_nothing_and_answer_nothing_wrong(crowded, rows, triggers):
    if triggers:
        crowded.execute(
            "CREATE TABLE sums (id INT PRIMARY KEY, n INT NOT NULL)",
            "INSERT INTO sums VALUES (0, 0), (1, 0)",
            "CREATE TRIGGER a_u AFTER UPDATE ON t FOR EACH ROW UPDATE sums SET n = n + NEW.n - OLD.n WHERE id = NEW.id % 2",
            database=rows,
        )
    added = [0] * 101
    lock = threading.Lock()
    refused = {}
    rounds = 8 if triggers else 40

    def door(number):
        chance = random.Random(number)
        with client(crowded, rows) as one:
            for _ in range(rounds):
                keys = [chance.randrange(1, 9) for _ in range(20)]
                one.send(b"".join(add(key) for key in keys))
                for key in keys:
                    line = one.line()
                    with lock:
                        if line == UPDATED:
                            added[key] += 1
                        else:
                            refused[line] = refused.get(line, 0) + 1

    def several_rows(number):
        with client(crowded, rows) as one:
            for at in range(rounds):
                operator = b"<=\t1\t8" if (at + number) % 2 else b">=\t1\t1"
                one.send(b"0\t%b\t8\t0\t+\t1\n" % operator)
                line = one.line()
                with lock:
                    if line == b"0\t1\t8":
                        for key in range(1, 9):
                            added[key] += 1
                    else:
                        refused[line] = refused.get(line, 0) + 1

    def sql(number):
        chance = random.Random(1000 + number)
        with contextlib.closing(crowded.connect(database=rows)) as connection:
            connection.autocommit(False)
            for _ in range(rounds):
                keys = [chance.randrange(1, 9) for _ in range(4)]
                try:
                    for key in keys:
                        connection.cursor().execute("UPDATE t SET n = n + 1 WHERE id = %s", (key,))
                    connection.commit()
                except pymysql.err.OperationalError as problem:
                    assert problem.args[0] in (1205, 1213)
                    connection.rollback()
                    continue
                with lock:
                    for key in keys:
                        added[key] += 1

    before = crowded.status("handlersocket%")
    together(
        [lambda n=n: door(n) for n in range(8)]
        + [lambda n=n: several_rows(n) for n in range(4)]
        + [lambda n=n: sql(n) for n in range(4)]
    )
    after = crowded.status("handlersocket%")
    print({name: after[name] - before[name] for name in after if after[name] != before[name]})
    assert crowded.query("SELECT id, n FROM t WHERE id < 9 ORDER BY id", database=rows) == [
        (key, added[key]) for key in range(1, 9)
    ]
    if triggers:
        assert crowded.query("SELECT SUM(n) FROM sums", database=rows) == [(sum(added),)]
    # SQL would detect every deadlock; the door retries, and reports one only after several in a row.
    assert set(refused) <= {b"1\t1\t149"} and sum(refused.values()) < sum(added) / 100, refused


def latencies(server, database, seconds, busy=50):
    """Milliseconds of single updates while `busy` clients update rows of their own."""
    taken, lock, end = [], threading.Lock(), time.monotonic() + seconds

    def run(key):
        mine = []
        with client(server, database) as one:
            while time.monotonic() < end:
                begin = time.monotonic()
                one.send(add(key))
                assert one.line() == UPDATED
                mine.append((time.monotonic() - begin) * 1000)
        with lock:
            taken.extend(mine)

    together([lambda key=key: run(key) for key in range(10, 10 + busy)])
    taken.sort()
    return statistics.median(taken), taken[len(taken) * 99 // 100], taken[-1], len(taken)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.alone
def test_a_locked_row_holds_up_its_client_alone(sandbox_factory, workers):
    server = sandbox_factory(f"--handlersocket-threads-wr={workers}", "--innodb-flush-log-at-trx-commit=2")
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO t SELECT seq, 0 FROM seq_1_to_100",
        "SET GLOBAL innodb_lock_wait_timeout = 2",
        database="test",
    )
    free = latencies(server, "test", 1)
    with contextlib.closing(server.connect(database="test")) as holder, client(server, "test") as waiting, client(
        server, "test"
    ) as other:
        holder.autocommit(False)
        holder.cursor().execute("UPDATE t SET n = 100 WHERE id = 1")
        begin = time.monotonic()
        waiting.send(add(1) + add(2))
        held = latencies(server, "test", 1.2)
        # It times out when SQL would.
        assert waiting.line() == LOCKED
        assert 1.9 < time.monotonic() - begin < 4
        assert waiting.line() == UPDATED
        # Or it is answered as soon as the lock is released.
        other.send(b"0\t=\t1\t1\n" + add(1))
        assert other.line() == b"0\t1\t0"
        holder.commit()
        released = time.monotonic()
        assert other.line() == UPDATED
        assert time.monotonic() - released < 0.5
    print(f"{workers} workers, milliseconds (median, 99%, most, updates): free {free}, beside a locked row {held}")
    assert server.query("SELECT n FROM test.t WHERE id = 1") == [(101,)]
    assert held[0] < max(3 * free[0], 20) and held[1] < max(3 * free[1], 150), (free, held)


def test_only_one_of_many_inserts_of_a_key_succeeds(crowded, rows):
    won, lock = {}, threading.Lock()

    def run(number):
        with crowded.hs_wr(timeout=60) as one:
            one.open(0, rows, "t", "id,n,v")
            for first in range(1000, 1500, 50):
                replies = one.pipeline(*[(0, "+", 3, key, number, "x") for key in range(first, first + 50)])
                with lock:
                    for key, reply in enumerate(replies, first):
                        if reply == ["0", "1"]:
                            assert key not in won, f"{key} was inserted twice"
                            won[key] = number
                        else:
                            assert reply == ["1", "1", "121"], reply

    together([lambda n=n: run(n) for n in range(20)])
    assert dict(crowded.query("SELECT id, n FROM t WHERE id >= 1000", database=rows)) == won
    assert len(won) == 500


def test_generated_ids_are_unique_and_leave_few_gaps(crowded, rows):
    crowded.execute("CREATE TABLE ids (id INT AUTO_INCREMENT PRIMARY KEY, n INT)", database=rows)
    ids, lock = {}, threading.Lock()

    def run(number):
        with crowded.hs_wr(timeout=60) as one:
            one.open(0, rows, "ids", "n")
            for at in range(0, 100, 10):
                replies = one.pipeline(*[(0, "+", 1, number * 1000 + at + more) for more in range(10)])
                with lock:
                    for more, reply in enumerate(replies):
                        assert reply[:2] == ["0", "1"]
                        assert int(reply[2]) not in ids
                        ids[int(reply[2])] = number * 1000 + at + more

    together([lambda n=n: run(n) for n in range(20)])
    assert dict(crowded.query("SELECT id, n FROM ids", database=rows)) == ids
    assert len(ids) == 2000 and max(ids) < 2200, max(ids)


def test_kill_of_write_workers_loses_nothing(crowded):
    crowded.execute("CREATE DATABASE killing")
    killed = 0
    with Load(crowded, clients=8, database="killing", many=0.02) as load, contextlib.closing(
        crowded.connect()
    ) as connection:
        deadline = time.monotonic() + 20
        chance = random.Random(3)
        while killed < 60 and time.monotonic() < deadline:
            found = crowded.query(
                "SELECT id FROM information_schema.processlist WHERE user = 'postern' AND command = 'Query'"
            )
            for (thread,) in found:
                # The thread may be idle by now, and is no connection then.
                with contextlib.suppress(pymysql.Error):
                    connection.cursor().execute(
                        f"{chance.choice(['KILL', 'KILL QUERY', 'KILL SOFT', 'KILL HARD'])} {thread}"
                    )
                    killed += 1
        load.wait_for(500)
    assert killed >= 20
    load.check(crowded)
    assert all(b"interrupted" in line or b"1317" in line for line in load.errors), load.errors


@pytest.mark.alone
def test_uninstall_does_not_wait_for_a_row_lock(sandbox_factory):
    server = sandbox_factory("--innodb-lock-wait-timeout=1000")
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO t VALUES (1, 0), (2, 0)",
        "CREATE TABLE side (id INT PRIMARY KEY, n INT)",
        "INSERT INTO side VALUES (1, 0)",
        "CREATE TRIGGER a_u AFTER UPDATE ON t FOR EACH ROW UPDATE side SET n = n + 1",
        database="test",
    )
    with contextlib.closing(server.connect(database="test")) as holder:
        holder.autocommit(False)
        holder.cursor().execute("UPDATE side SET n = 100")
        with client(server, "test") as one:
            one.send(add(1))  # waits after it has changed a row
            server.wait_for_row_lock()
            begin = time.monotonic()
            server.execute("UNINSTALL SONAME 'postern'")
            assert time.monotonic() - begin < 5
            assert one.closed_by_server()
        holder.commit()
    assert server.query("SELECT n FROM test.t") == [(0,), (0,)]


@pytest.mark.alone
def test_a_write_that_waits_with_locks_holds_up_no_other_table(sandbox_factory):
    """Writes that run alone share a lane: one that waits inside a trigger does not block the others for long."""
    server = sandbox_factory("--innodb-lock-wait-timeout=5")
    for name in ("t", "u"):
        server.execute(
            f"CREATE TABLE {name} (id INT PRIMARY KEY, n INT NOT NULL)",
            f"INSERT INTO {name} VALUES (1, 0), (2, 0)",
            f"CREATE TABLE side_{name} (id INT PRIMARY KEY, n INT)",
            f"INSERT INTO side_{name} VALUES (1, 0)",
            f"CREATE TRIGGER a_{name} AFTER UPDATE ON {name} FOR EACH ROW UPDATE side_{name} SET n = n + 1",
            database="test",
        )
    with contextlib.closing(server.connect(database="test")) as holder, client(server, "test") as waiting, server.hs_wr(
        timeout=30
    ) as other:
        other.open(0, "test", "u", "n")
        holder.autocommit(False)
        holder.cursor().execute("UPDATE side_t SET n = 100")
        waiting.send(add(1))
        server.wait_for_row_lock()
        begin = time.monotonic()
        for _ in range(3):
            other.send(add(1))
            assert other.line() == UPDATED
        print(f"three lone writes beside one that waits: {(time.monotonic() - begin) * 1000:.0f} ms")
        assert time.monotonic() - begin < 2
        holder.commit()
        assert waiting.line() == UPDATED


@pytest.mark.parametrize("lone", [False, True], ids=["shared", "alone"])
@pytest.mark.parametrize("scan_threads", [1, 2])
@pytest.mark.alone
def test_many_waiters_for_rows_hold_up_no_other_table(sandbox_factory, scan_threads, lone):
    """Each waiter occupied a thread of the slow lane for 50 ms, again and again: with 100 waiters others took 100 times
    as long."""
    server = sandbox_factory(f"--handlersocket-scan-threads={scan_threads}", "--innodb-flush-log-at-trx-commit=2")
    many = 100
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO t SELECT seq, 0 FROM seq_1_to_100",
        "CREATE TABLE u (id INT PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO u VALUES (1, 0)",
        "CREATE TRIGGER b_u BEFORE UPDATE ON u FOR EACH ROW SET NEW.n = NEW.n",
        database="test",
    )
    if lone:
        server.execute("CREATE TRIGGER b_t BEFORE UPDATE ON t FOR EACH ROW SET NEW.n = NEW.n", database="test")
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(client(server, "test")) for _ in range(many)]
        other = stack.enter_context(server.hs_wr(timeout=30))
        other.open(0, "test", "u", "n")
        holder = stack.enter_context(contextlib.closing(server.connect(database="test")))
        holder.autocommit(False)
        holder.cursor().execute("UPDATE t SET n = n + 1")
        yields = server.status("handlersocket%")["handlersocket_row_lock_yields"]
        for key, one in enumerate(waiting, 1):
            one.send(add(key) + add(key))
        until(
            lambda: server.status("handlersocket%")["handlersocket_row_lock_yields"] >= yields + 2 * many,
            60,
            "they are not all tried",
        )
        taken = []
        for _ in range(10):
            begin = time.monotonic()
            other.send(add(1))
            assert other.line() == UPDATED
            taken.append((time.monotonic() - begin) * 1000)
        holder.commit()
        begin = time.monotonic()
        for one in waiting:
            assert one.lines(2) == [UPDATED] * 2
        last = (time.monotonic() - begin) * 1000
    print(
        f"beside {many} that wait: median {statistics.median(taken):.1f} ms, most {max(taken):.1f}; the last of them after {last:.0f} ms"
    )
    assert server.query("SELECT COUNT(*), MIN(n), MAX(n) FROM test.t") == [(many, 3, 3)]
    assert statistics.median(taken) < 300, taken
    assert last < 10_000


def test_what_cannot_be_undone_is_not_done_twice(crowded, rows):
    crowded.execute(
        "CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, t INT) ENGINE=MyISAM",
        "CREATE TRIGGER b_u BEFORE UPDATE ON t FOR EACH ROW INSERT INTO notes (t) VALUES (NEW.id)",
        "CREATE TABLE other (id INT PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO other VALUES (1, 0)",
        "CREATE TRIGGER a_u AFTER UPDATE ON t FOR EACH ROW UPDATE other SET n = n + 1 WHERE id = 1",
        database=rows,
    )
    with contextlib.closing(crowded.connect(database=rows)) as holder, client(crowded, rows) as one:
        holder.autocommit(False)
        holder.cursor().execute("UPDATE other SET n = 100 WHERE id = 1")
        one.send(add(1))
        assert one.line() == b"1\t1\t146"
        holder.rollback()
    assert crowded.query("SELECT COUNT(*) FROM notes", database=rows) == [(1,)]
