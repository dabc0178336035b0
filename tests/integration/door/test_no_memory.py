"""When the library runs out of memory, a request or a connection ends: the server and its workers survive, and no
acknowledged write is lost."""
import os
import random
import threading

import pytest

from support.clients import mc
from support.random_input import seeds
from support.faults.no_memory import failing  # noqa: F401
from support.waiting import until

SECONDS = float(os.environ.get("POSTERN_SECONDS", "8"))
SEED = seeds.chosen(11)
CLIENTS = 4  # for each door
KEYS = 200  # that each client writes to
OUT_OF_MEMORY = "Out of memory"


@pytest.fixture(scope="module")
def server(module_factory, failing):
    server = module_factory(start=False)
    server.start(
        "--handlersocket-errors=text",
        "--handlersocket-threads=1",
        "--handlersocket-threads-wr=2",
        "--memcached-threads=2",
        containers=True,
        env=failing.environment(),
    )
    failing.aim(server.env["PID"])
    server.execute(
        "CREATE TABLE t (client INT, id INT, v VARCHAR(300), PRIMARY KEY (client, id))",
        "CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(300))",
        "INSERT INTO big SELECT seq, REPEAT('b', 300) FROM seq_1_to_20000",
        "CREATE TABLE fired (client INT, id INT, v VARCHAR(300), PRIMARY KEY (client, id))",
        "CREATE TRIGGER f BEFORE UPDATE ON fired FOR EACH ROW SET NEW.id = NEW.id",
        database="test",
    )
    return server


class Rows:
    """The possible values of a key: one value if the last reply came, otherwise also the value of the unanswered
    write."""

    def __init__(self):
        self.known = {}

    def may(self, key):
        return self.known.get(key, {None})

    def sent(self, key, value):
        self.known[key] = self.may(key) | {value}

    def told(self, key, value):
        self.known[key] = {value}


class Hs(threading.Thread):
    def __init__(self, server, number):
        super().__init__()
        self.server, self.number, self.random = server, number, random.Random(f"{SEED} hs {number}")
        self.stop, self.problems, self.answers, self.refusals = False, [], 0, 0
        self.rows = {"t": Rows(), "fired": Rows()}

    def run(self):
        while not self.stop:
            try:
                with self.server.hs_wr(timeout=30) as client:
                    self.talk(client)
            except (EOFError, ConnectionError):
                pass
            except Exception as problem:  # a wrong answer, or no answer
                self.problems.append(repr(problem))
                return

    def refused(self, reply):
        self.answers += 1
        if reply[0] == "0":
            return False
        assert OUT_OF_MEMORY in reply[-1], reply
        self.refusals += 1
        return True

    def talk(self, client):
        for index, table in enumerate(("t", "fired")):
            if self.refused(client.request("P", index, "test", table, "PRIMARY", "client,id,v")):
                return
        if self.refused(client.request("P", 2, "test", "big", "PRIMARY", "id")):
            return
        for _ in range(self.random.randrange(1, 60)):
            if self.stop:
                return
            self.step(client)

    def step(self, client):
        if self.random.random() < 0.03:
            reply = client.request(2, ">=", 1, 0, 20000, 0)
            if not self.refused(reply):
                assert reply[2:] == [str(number) for number in range(1, 20001)]
            return
        index = self.random.randrange(2)
        rows = self.rows["fired" if index else "t"]
        key = self.random.randrange(KEYS)
        kind = self.random.choice(("find", "insert", "update", "delete", "many"))
        value = f"{self.number}-{key}-{self.random.random()}" + "v" * self.random.randrange(200)
        if kind == "find":
            reply = client.request(index, "=", 2, self.number, key)
            if not self.refused(reply):
                assert (reply[4] if len(reply) > 2 else None) in rows.may(key), (reply, rows.may(key))
                rows.told(key, reply[4] if len(reply) > 2 else None)
        elif kind == "insert":
            if rows.may(key) != {None}:
                return
            rows.sent(key, value)
            reply = client.request(index, "+", 3, self.number, key, value)
            rows.told(key, None if self.refused(reply) else value)
        elif kind == "update":
            if rows.may(key) == {None}:
                return
            before = rows.may(key)
            rows.sent(key, value)
            reply = client.request(index, "=", 2, self.number, key, 1, 0, "U", self.number, key, value)
            if self.refused(reply):
                rows.known[key] = before
            elif reply[2] == "1":
                rows.told(key, value)
            else:
                assert None in before, (reply, before)
                rows.told(key, None)
        elif kind == "delete":
            before = rows.may(key)
            rows.sent(key, None)
            reply = client.request(index, "=", 2, self.number, key, 1, 0, "D")
            if self.refused(reply):
                rows.known[key] = before
            else:
                rows.told(key, None)
        else:
            keys = [self.random.randrange(KEYS) for _ in range(20)]
            for reply, asked in zip(client.pipeline(*[(index, "=", 2, self.number, k) for k in keys]), keys):
                if not self.refused(reply):
                    assert (reply[4] if len(reply) > 2 else None) in rows.may(asked), (reply, rows.may(asked))


class Mc(threading.Thread):
    def __init__(self, server, number):
        super().__init__()
        self.server, self.number, self.random = server, number, random.Random(f"{SEED} mc {number}")
        self.stop, self.problems, self.answers, self.refusals = False, [], 0, 0
        self.rows = Rows()

    def run(self):
        while not self.stop:
            try:
                with self.server.mc(timeout=30) as client:
                    for _ in range(self.random.randrange(1, 60)):
                        if self.stop:
                            return
                        self.step(client)
            except (EOFError, ConnectionError):
                pass
            except Exception as problem:
                self.problems.append(repr(problem))
                return

    def step(self, client):
        name = self.random.randrange(KEYS)
        key = f"c{self.number}k{name}"
        value = f"{key}-{self.random.random()}" + "v" * self.random.randrange(200)
        self.answers += 1
        if self.random.random() < 0.5:
            client.send(f"get {key}\r\n".encode())
            try:
                items = client.items()
            except mc.ServerSays as said:
                assert "SERVER_ERROR" in str(said), said
                self.refusals += 1
                return
            found = items[0][2].decode() if items else None
            assert found in self.rows.may(key), (found, self.rows.may(key))
            return
        before = self.rows.may(key)
        self.rows.sent(key, value)
        client.send(f"set {key} 0 0 {len(value)}\r\n{value}\r\n".encode())
        line = client.line()
        if line == b"STORED":
            self.rows.told(key, value)
        else:
            assert line.startswith(b"SERVER_ERROR"), line
            self.rows.known[key] = before
            self.refusals += 1


def test_random_sessions_without_memory(server, failing):
    clients = [Hs(server, number) for number in range(CLIENTS)] + [Mc(server, number) for number in range(CLIENTS)]
    rates = random.Random(SEED)
    failing.fail_amid(clients, SECONDS, lambda: rates.choice((2, 3, 5, 10, 40)), 0.5)
    print(
        f"{failing.failed()} allocations failed, {sum(c.answers for c in clients)} answers, {sum(c.refusals for c in clients)} refusals"
    )
    server.assert_alive()
    assert [client.problems for client in clients if client.problems] == []
    assert failing.failed() > 100 and sum(client.answers for client in clients) > 500
    for table in ("t", "fired"):
        rows = {
            (client, key): value
            for client, key, value in server.query(f"SELECT client, id, v FROM {table}", database="test")
        }
        for client in clients[:CLIENTS]:
            for key, may in client.rows[table].known.items():
                assert rows.get((client.number, key)) in may, (table, client.number, key)
    with server.mc() as reader:
        for client in clients[CLIENTS:]:
            for key, may in client.rows.known.items():
                value = reader.get(key)
                assert (value.decode() if value is not None else None) in may, key


def test_nothing_is_left(server):
    """Every connection is closed, every lock released, and every worker running."""
    until(
        lambda: server.status("handlersocket_connections")["handlersocket_connections"] == 0,
        30,
        "connections were leaked",
    )
    server.execute(
        "SET lock_wait_timeout = 5",
        "ALTER TABLE t ADD COLUMN more INT",
        "ALTER TABLE fired ADD COLUMN more INT",
        "ALTER TABLE big ADD COLUMN more INT",
        database="test",
    )
    clients = [door() for door in (server.hs, server.hs_wr) for _ in range(8)]
    for client in clients:
        client.open(0, "test", "big", "id")
        assert client.request(0, ">=", 1, 1, 2, 0) == ["0", "1", "1", "2"]
        client.close()
