"""When the library runs out of memory, sessions of the SQL door end: until then each answer is to the client's next
question, and no statement is executed twice."""
import os
import random
import struct
import threading

import pytest

from support.random_input import seeds
from support.faults.no_memory import failing  # noqa: F401
from support.clients.sql_session import QUERY, Session
from support.waiting import until

SECONDS = float(os.environ.get("POSTERN_SECONDS", "8"))
SEED = seeds.chosen(12)
CLIENTS = 8
OUT_OF_MEMORY = b"#HY001"
READS = (
    "SELECT {0} FROM t WHERE id = 1",
    "SELECT id FROM t WHERE id = {0}",
    "SELECT a.id FROM t a JOIN t b ON b.id = a.id WHERE a.id = {0} GROUP BY a.id",
    "SELECT MAX(id) FROM t WHERE v = {0}",
    "SELECT {0} FROM t WHERE TRIM(w) = 'none' UNION SELECT {0}",
    "SELECT MAX(id) FROM of_definer WHERE id = {0}",
    "SELECT DISTINCT a.id FROM of_definer a JOIN t b ON b.id = a.id WHERE a.id = {0} ORDER BY a.w",
    "SELECT {0}",
)
SETS = (
    "SET NAMES latin1",
    "SET NAMES utf8mb4",
    "SET sql_mode = ''",
    "SET sql_mode = DEFAULT",
    "SAVEPOINT s",
    "USE test",
)


@pytest.fixture(scope="module")
def server(module_factory, failing):
    server = module_factory(start=False)
    server.start(
        "--loose-postern-threads=1", "--innodb-flush-log-at-trx-commit=2", postern_port=0, env=failing.environment()
    )
    failing.aim(server.env["PID"])
    server.execute(
        "CREATE USER own@'%' IDENTIFIED BY ''",
        "GRANT ALL ON *.* TO own@'%'",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20), KEY (v))",
        "INSERT INTO t SELECT seq, seq, CONCAT('w', seq) FROM seq_1_to_1000",
        "CREATE VIEW of_definer AS SELECT id, w FROM t",
        "CREATE TABLE counted (id INT PRIMARY KEY, n INT NOT NULL)",
        f"INSERT INTO counted SELECT seq, 0 FROM seq_0_to_{CLIENTS}",
        database="test",
    )
    return server


class Client(threading.Thread):
    """Asks for numbers, and counts in a row of its own, in transactions of several statements."""

    def __init__(self, server, number):
        super().__init__()
        self.server, self.number, self.random = server, number, random.Random(f"{SEED} {number}")
        self.stop, self.problems, self.answers, self.lost = False, [], 0, 0
        self.counted = {0}  # the values that the row may have

    def run(self):
        while not self.stop:
            try:
                session = self.login()
                try:
                    for _ in range(self.random.randrange(1, 80)):
                        if self.stop:
                            break
                        self.random.choice((self.ask, self.ask, self.count, self.set))(session)
                finally:
                    session.close()
            except (EOFError, ConnectionError):
                self.lost += 1
            except Exception as problem:  # a wrong answer, or none
                self.problems.append(repr(problem))

    def login(self):
        try:
            session = Session(self.server.env["POSTERN_PORT"], "own", "test")
        except AssertionError as refused:
            raise EOFError from refused
        session.socket.settimeout(30)
        return session

    @staticmethod
    def answer(session):
        """Raises EOFError where the door has refused, and closed the connection."""
        answer = session.answer()
        if answer[4] == 0xFF and OUT_OF_MEMORY in answer:
            session.packet()
        return answer

    def query(self, session, text):
        session.put(bytes([QUERY]) + text.encode())
        return self.answer(session)

    def ask(self, session):
        asked = [
            (self.random.choice(READS), self.random.randrange(1, 1001)) for _ in range(self.random.randrange(1, 9))
        ]
        texts = [bytes([QUERY]) + text.format(number).encode() for text, number in asked]
        session.socket.sendall(b"".join(struct.pack("<I", len(text)) + text for text in texts))
        for text, number in asked:
            answer = self.answer(session)
            self.answers += 1
            row = str(number).encode()
            assert bytes([len(row) + 1, 0, 0, 4, len(row)]) + row in answer, (text, number, answer)

    def set(self, session):
        answer = self.query(session, self.random.choice(SETS))
        assert answer[4] == 0, answer

    def count(self, session):
        """A row that another session sees only after the COMMIT."""
        before = set(self.counted)
        assert self.query(session, "BEGIN")[4] == 0
        self.counted = before | {value + 1 for value in before}
        answer = self.query(session, f"UPDATE counted SET n = n + 1 WHERE id = {self.number}")
        assert b"Rows matched: 1  Changed: 1" in answer, answer
        self.set(session)
        answer = self.query(session, f"SELECT n FROM counted WHERE id = {self.number}")
        found = [value for value in self.counted if b"\4%c%d" % (len(str(value)), value) in answer]
        assert found and found[0] - 1 in before, (before, answer)
        self.counted = {found[0] - 1, found[0]}
        assert self.query(session, "COMMIT")[4] == 0
        self.counted = {found[0]}
        self.answers += 4


def test_random_sessions_without_memory(server, failing):
    clients = [Client(server, number) for number in range(CLIENTS)]
    rates = random.Random(SEED)
    # Between failures forms are learnt and plans are made.
    failing.fail_amid(clients, SECONDS, lambda: rates.choice((3, 10, 40, 200)), 0.3, 0.2)
    print(
        f"{failing.failed()} allocations failed, {sum(c.answers for c in clients)} answers, {sum(c.lost for c in clients)} lost"
    )
    server.assert_alive()
    assert [client.problems for client in clients if client.problems] == []
    assert failing.failed() > 50 and sum(client.answers for client in clients) > 500
    rows = dict(server.query("SELECT id, n FROM counted", database="test"))
    for client in clients:
        assert rows[client.number] in client.counted, (client.number, rows, client.counted)


def test_nothing_is_left(server):
    """Every session has ended, its locks are released, and the worker goes on."""
    until(lambda: server.status("postern_connections")["postern_connections"] == 0, 30, "sessions were leaked")
    server.execute(
        "SET lock_wait_timeout = 5",
        "ALTER TABLE t ADD COLUMN more INT",
        "ALTER TABLE counted ADD COLUMN more INT",
        database="test",
    )
    session = Session(server.env["POSTERN_PORT"], "own", "test")
    for number in range(1, 10):
        assert b"\4%c%d" % (len(str(number)), number) in session.query(f"SELECT id FROM t WHERE id = {number}")
    session.close()
