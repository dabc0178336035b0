"""SIGKILL while all doors write, with readers, in every way to commit: acknowledged writes are applied, once.

Each client counts in a row of its own and in one that its door's clients share; the rows equal the acknowledged counts,
except for each client's one request in flight.

POSTERN_ROUNDS: the number of kills, 2 by default. POSTERN_SEED repeats a run's choices.
"""
import contextlib
import os
import random
import threading
import time

from support.clients.sql_session import Session, without_remarks

ROUNDS = int(os.environ.get("POSTERN_ROUNDS", "2"))
WRITERS = 5
SHARED = 0


class Handlersocket:
    def __init__(self, server):
        self.client = server.hs_wr(timeout=60)
        self.client.open(0, "test", "hs", "v")

    def add(self, key):
        assert self.client.request(0, "=", 1, key, 1, 0, "+", 1)[0] == "0"

    def read(self, key):
        return int(self.client.request(0, "=", 1, key)[2])


class Memcached:
    def __init__(self, server):
        self.client = server.mc(timeout=60)

    def add(self, key):
        assert self.client.ask(f"incr k{key} 1").isdigit()

    def read(self, key):
        return int(self.client.get(f"k{key}"))


class Redis:
    def __init__(self, server):
        self.client = server.resp()

    def add(self, key):
        assert isinstance(self.client.ask("INCR", f"k{key}"), int)

    def read(self, key):
        return int(self.client.ask("GET", f"k{key}"))


class Sql:
    def __init__(self, server):
        self.client = Session(server.env["POSTERN_PORT"], "own", "test")

    def add(self, key):
        answer = self.client.query(f"UPDATE by_sql SET v = v + 1 WHERE id = {key}")
        assert answer[4:6] == b"\0\1", answer

    def read(self, key):
        row = without_remarks(self.client.query(f"SELECT v FROM by_sql WHERE id = {key}"))[-2]
        return int(row[1:])  # after its length


DOORS = (Handlersocket, Memcached, Redis, Sql)


class Round:
    def __init__(self, server):
        self.server, self.stop, self.wrong = server, threading.Event(), []
        self.told = {door: [0] * (WRITERS + 1) for door in DOORS}
        self.lock = threading.Lock()

    def count(self, door, own):
        with contextlib.suppress(OSError, EOFError, ConnectionError):
            client = door(self.server)
            while not self.stop.is_set():
                for key in (own, SHARED):
                    client.add(key)
                    with self.lock:
                        self.told[door][key] += 1

    def look(self, door):
        with contextlib.suppress(OSError, EOFError, ConnectionError):
            client = door(self.server)
            while not self.stop.is_set():
                for key in range(WRITERS + 1):
                    known = self.told[door][key]
                    if (read := client.read(key)) < known:
                        self.wrong.append((door.__name__, key, read, known))

    def disturb(self, chance):
        ways = (
            ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
            ("BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT", "BACKUP STAGE END"),
            ("LOCK TABLES hs WRITE, by_sql READ", "UNLOCK TABLES"),
            ("ALTER TABLE hs COMMENT = 'again'", "ALTER TABLE by_sql FORCE"),
            ("SET GLOBAL innodb_flush_log_at_trx_commit = 2", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"),
            ("SET GLOBAL sync_binlog = 0", "SET GLOBAL sync_binlog = 1"),
            ("FLUSH BINARY LOGS", "FLUSH TABLES"),
        )
        with contextlib.suppress(Exception), contextlib.closing(self.server.connect(database="test")) as connection:
            while not self.stop.is_set():
                for statement in chance.choice(ways):
                    connection.cursor().execute(statement)
                    self.stop.wait(chance.random() / 50)

    def run(self, chance, seconds):
        threads = [threading.Thread(target=self.disturb, args=(chance,))]
        for door in DOORS:
            threads.append(threading.Thread(target=self.look, args=(door,)))
            threads += [threading.Thread(target=self.count, args=(door, own)) for own in range(1, WRITERS + 1)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.server.kill()
        self.stop.set()
        for thread in threads:
            thread.join()


def test_acknowledged_writes_of_any_door_are_there_once(sandbox_factory):
    server = sandbox_factory(
        "--log-bin=bin",
        "--server-id=1",
        "--sync-binlog=1",
        "--innodb-flush-log-at-trx-commit=1",
        containers=True,
        redis=True,
        postern_port=0,
    )
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    for table in ("hs", "by_sql"):
        server.execute(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT NOT NULL)",
            f"INSERT INTO {table} SELECT seq, 0 FROM seq_0_to_{WRITERS}",
            database="test",
        )
    seed = int(os.environ.get("POSTERN_SEED") or random.randrange(1 << 30))
    print(f"POSTERN_SEED={seed}")
    chance = random.Random(seed)
    for key in range(WRITERS + 1):
        assert server.resp().ask("SET", f"k{key}", "0") == "OK"
        assert server.mc().set(f"k{key}", b"0") is not None
    for _ in range(ROUNDS):
        before = {door: [door(server).read(key) for key in range(WRITERS + 1)] for door in DOORS}
        one = Round(server)
        for door in DOORS:
            one.told[door] = list(before[door])
        one.run(chance, 1.5 + chance.random() * 2)
        assert not one.wrong, one.wrong[:5]
        server.start()
        for door in DOORS:
            held = [door(server).read(key) for key in range(WRITERS + 1)]
            told = one.told[door]
            slack = [WRITERS] + [1] * WRITERS
            assert all(t <= h <= t + s for t, h, s in zip(told, held, slack)), (door.__name__, told, held)
            assert all(t > b for t, b in zip(told, before[door])), (door.__name__, before[door], told)
