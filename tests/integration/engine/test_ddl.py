"""DDL, table locks and backups proceed at once, whatever clients hold open and however much they send."""
import contextlib
import statistics
import threading
import time

import pytest
from support.server import timed

IDLE_CLIENTS = 20
BUSY_CLIENTS = 5
WAIT_MS_MAX = 100
ROWS = 1000
FIND_7 = b"0\t=\t1\t7\n"
ROW_7 = ["0", "2", "7", "v7"]


def fill(server, database, table="t", engine="InnoDB"):
    server.execute(
        f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(20), w INT, KEY w (w)) ENGINE={engine}",
        f"INSERT INTO {table} SELECT seq, CONCAT('v', seq), seq % 10 FROM seq_1_to_{ROWS}",
        database=database,
    )


class Crowd:
    """Idle and busy clients on both ports that all hold the table's index open."""

    def __init__(self, server, database, table="t"):
        self.server, self.names = server, (database, table, "id,v")
        self.clients = [self.client(number) for number in range(IDLE_CLIENTS)]
        self.stop = threading.Event()
        self.answered = [0] * BUSY_CLIENTS
        self.strange = []
        self.threads = [threading.Thread(target=self.push, args=(number,)) for number in range(BUSY_CLIENTS)]

    def client(self, number):
        client = self.server.hs(timeout=30) if number % 2 else self.server.hs_wr(timeout=30)
        client.open(0, *self.names)
        assert client.request(0, "=", 1, 7) == ROW_7
        return client

    def push(self, number):
        with self.client(number) as client:
            while not self.stop.is_set():
                client.send(FIND_7 * 10)
                for line in client.lines(10):
                    if line not in (b"0\t2\t7\tv7", b"0\t2") and b"exist" not in line and b"Unknown column" not in line:
                        self.strange.append(line)
                self.answered[number] += 10

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive(), "a busy client hangs"
        for client in self.clients:
            client.close()


ROUNDS = [
    ["ALTER TABLE t COMMENT 'round'"],
    ["ALTER TABLE t ADD COLUMN z INT", "ALTER TABLE t DROP COLUMN z"],
    ["CREATE INDEX vv ON t (v)", "DROP INDEX vv ON t"],
    ["RENAME TABLE t TO t2", "RENAME TABLE t2 TO t"],
    ["FLUSH TABLES", "FLUSH TABLES t"],
    ["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"],
    ["FLUSH TABLES t WITH READ LOCK", "UNLOCK TABLES"],
    ["LOCK TABLES t WRITE", "UNLOCK TABLES"],
    ["LOCK TABLES t READ", "UNLOCK TABLES"],
    [
        "BACKUP STAGE START",
        "BACKUP STAGE FLUSH",
        "BACKUP STAGE BLOCK_DDL",
        "BACKUP STAGE BLOCK_COMMIT",
        "BACKUP STAGE END",
    ],
    ["ANALYZE TABLE t"],
    ["ALTER TABLE t ENGINE=InnoDB"],
    ["TRUNCATE TABLE t", f"INSERT INTO t SELECT seq, CONCAT('v', seq), seq % 10 FROM seq_1_to_{ROWS}"],
    [
        "DROP TABLE t",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w INT, KEY w (w))",
        f"INSERT INTO t SELECT seq, CONCAT('v', seq), seq % 10 FROM seq_1_to_{ROWS}",
    ],
]


@pytest.mark.alone
def test_every_statement_gets_its_lock_at_once(server, database):
    fill(server, database)
    with Crowd(server, database) as crowd, contextlib.closing(server.connect(database=database)) as connection:
        cursor = connection.cursor()
        slow = []
        for statements in ROUNDS:
            times = {}
            for _ in range(5):
                for statement in statements:
                    times.setdefault(statement, []).append(timed(cursor, statement))
            slow += [
                (statement, all_ms) for statement, all_ms in times.items() if statistics.median(all_ms) > WAIT_MS_MAX
            ]
        assert not slow
        before = sum(crowd.answered)
        for client in crowd.clients:
            assert client.request(0, "=", 1, 7) == ROW_7
        deadline = time.monotonic() + 10
        while sum(crowd.answered) == before and time.monotonic() < deadline:
            crowd.clients[0].request(0, "=", 1, 7)
        assert sum(crowd.answered) > before, "busy clients are answered no more"
        assert not crowd.strange
    assert server.status("handlersocket_ddl_yields")["handlersocket_ddl_yields"] > 0


@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
@pytest.mark.alone
def test_engines_with_table_locks_give_way_too(server, database, engine):
    fill(server, database, engine=engine)
    with Crowd(server, database) as crowd, contextlib.closing(server.connect(database=database)) as connection:
        cursor = connection.cursor()
        for statement in (
            "ALTER TABLE t COMMENT 'x'",
            "LOCK TABLES t WRITE",
            "UPDATE t SET w = w + 1",
            "UNLOCK TABLES",
            "UPDATE t SET w = w + 1",
            "FLUSH TABLES",
            "OPTIMIZE TABLE t",
        ):
            assert statistics.median(timed(cursor, statement) for _ in range(3)) < 2 * WAIT_MS_MAX, statement
        assert crowd.clients[1].request(0, "=", 1, 7) == ROW_7
        assert not crowd.strange


def test_a_missing_object_is_named_and_works_again_when_it_is_back(server, database):
    fill(server, database)
    with server.hs() as client:
        client.open(0, database, "t", "id,v")
        client.open(1, database, "t", "id", index="w")
        assert client.request(0, "=", 1, 7) == ROW_7
        server.execute("ALTER TABLE t DROP COLUMN v", database=database)
        code, _, text = client.request(0, "=", 1, 7)
        assert code != "0" and "'v'" in text
        assert client.request(1, "=", 1, 7)[0] == "0"
        server.execute("DROP INDEX w ON t", database=database)
        code, _, text = client.request(1, "=", 1, 7)
        assert code != "0" and "'w'" in text
        server.execute("DROP TABLE t", database=database)
        code, _, text = client.request(0, "=", 1, 7)
        assert code != "0" and f"{database}.t" in text
        fill(server, database)
        assert client.request(0, "=", 1, 7) == ROW_7
        server.execute("ALTER TABLE t MODIFY v VARCHAR(20) FIRST, MODIFY w INT AFTER v", database=database)
        assert client.request(0, "=", 1, 7) == ROW_7


@pytest.mark.alone
def test_names_opened_in_vain_do_not_stand_in_the_way(server, database):
    fill(server, database, "other")
    with server.hs() as client:
        client.open(1, database, "other", "id,v")
        for _ in range(10):
            assert client.request("P", 0, database, "later", "PRIMARY", "id") == ["1", "1", "open_table"]
            assert client.request(1, "=", 1, 7) == ROW_7
        connection = server.connect(database=database)
        assert timed(connection.cursor(), "CREATE TABLE later (id INT PRIMARY KEY)") < 5 * WAIT_MS_MAX
        connection.close()
        client.open(0, database, "later", "id")


def test_a_locked_table_makes_its_clients_wait_and_nobody_else(server, database):
    fill(server, database)
    fill(server, database, "other")
    locker = server.connect(database=database)
    cursor = locker.cursor()
    with server.hs_wr() as waiting, server.hs_wr() as other:  # the write port has one worker
        waiting.open(0, database, "t", "id,v")
        other.open(0, database, "other", "id,v")
        cursor.execute("LOCK TABLES t WRITE")
        waiting.send(FIND_7 + b"0\t=\t1\t8\n")
        for _ in range(50):
            assert other.request(0, "=", 1, 7) == ROW_7
        waiting.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            waiting.line()
        waiting.socket.settimeout(10)
        cursor.execute("UPDATE t SET v = 'new' WHERE id = 7")
        cursor.execute("UNLOCK TABLES")
        assert waiting.lines(2) == [b"0\t2\t7\tnew", b"0\t2\t8\tv8"]
    locker.close()


def test_waiting_for_a_locked_table_ends_with_an_error(sandbox_factory):
    server = sandbox_factory("--handlersocket-lock-wait-timeout=1")
    fill(server, "test")
    locker = server.connect(database="test")
    with server.hs() as client:
        client.open(0, "test", "t", "id,v")
        locker.cursor().execute("LOCK TABLES t WRITE")
        client.send(FIND_7 + b"nothing\n")
        assert client.lines(2) == [b"1\t1\tTimed out waiting for the table's metadata lock", b"2\t1\tcmd"]
        locker.cursor().execute("UNLOCK TABLES")
        assert client.request(0, "=", 1, 7) == ROW_7
    locker.close()


@pytest.mark.alone
def test_a_scan_gives_way_and_goes_on(server, database):
    server.execute(
        "CREATE TABLE big (id INT PRIMARY KEY, a VARCHAR(100), b INT, KEY (b))",
        "INSERT INTO big SELECT seq, REPEAT('x', 80), seq % 100 FROM seq_1_to_300000",
        database=database,
    )
    for index, operator, key in (("PRIMARY", ">=", 0), ("PRIMARY", "<=", 400000), ("b", ">=", 0), ("b", "<", 1000)):
        with server.hs() as client, contextlib.closing(server.connect(database=database)) as connection:
            client.open(0, database, "big", "id,a", index=index)
            client.send(f"0\t{operator}\t1\t{key}\t1000000\n".encode())
            received = client.socket.recv(1 << 16)
            # In the middle of a reply, first with a client that never reads.
            assert timed(connection.cursor(), "ALTER TABLE big COMMENT 'stalled'") < 5 * WAIT_MS_MAX
            chunks = [received]
            while not chunks[-1].endswith(b"\n"):
                chunks.append(client.socket.recv(1 << 20))
                assert chunks[-1], "the reply breaks off"
                if len(chunks) % 10 == 0:
                    connection.cursor().execute("FLUSH TABLES big")
            values = b"".join(chunks).rstrip(b"\n").split(b"\t")
            ids = [int(one) for one in values[2::2]]
            assert values[:2] == [b"0", b"2"]
            assert len(ids) == 300000 and len(set(ids)) == 300000, (index, operator)
            expected = sorted(
                ids, key=lambda one: one if index == "PRIMARY" else (one % 100, one), reverse=operator in ("<", "<=")
            )
            assert ids == expected, (index, operator)
            assert client.request(0, "=", 1, 7)[0] == "0"
