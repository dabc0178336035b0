"""Random reads on the SQL door and on the server's own port, answer by answer, with DDL and KILL beside them.

The concurrent DDL changes no answer, because the two sessions do not read at the same moment.

SEED=N in the environment makes other choices, SECONDS=N makes it longer.
"""
import contextlib
import os
import random
import threading
import time

import pytest
from support.clients import sql_session
from support.random_input import random_values, seeds
from support.server import STEADY_PLANS
from support.clients.sql_session import Session
from support.waiting import until

SECONDS = int(os.environ.get("SECONDS") or 4)
PAIRS = 3
NO_NUMBER = "3x"
CHANGED_SINCE = 1412  # a snapshot older than the table, which the two sessions need not share
STATES = ("BEGIN", "COMMIT", "ROLLBACK", "SET autocommit = 0", "COMMIT", "SET autocommit = 1")
STATES += ("SET NAMES binary", "SET NAMES utf8mb4", "SET NAMES utf8mb4")
COLUMNS = ("id", "a", "b", "c", "t", "d", "n", "v")
TABLE = (
    "CREATE OR REPLACE TABLE r (id INT PRIMARY KEY, a INT NOT NULL, b SMALLINT UNSIGNED, c VARCHAR(12), t TEXT,"
    " d DATETIME, n DECIMAL(8,2), v VARBINARY(9), UNIQUE uc (c), KEY ab (a, b), KEY d (d), KEY n (n))"
    " CHARACTER SET utf8mb4",
    "INSERT INTO r SELECT seq, seq % 10, IF(seq % 4, seq % 13, NULL), IF(seq % 9, CONCAT('K', seq), NULL),"
    " IF(seq % 5, CONCAT('text ', seq), NULL), '2024-01-01' + INTERVAL seq HOUR, seq / 8, CHAR(seq % 250)"
    " FROM seq_1_to_300",
)
DDL = (
    "ALTER TABLE r COMMENT = 'changed'",
    "ALTER TABLE r FORCE",
    "ALTER TABLE r ADD KEY IF NOT EXISTS more (a, id)",
    "ALTER TABLE r DROP KEY IF EXISTS more",
    "ALTER TABLE r ADD COLUMN IF NOT EXISTS x INT INVISIBLE DEFAULT 7 AFTER a",
    "ALTER TABLE r DROP COLUMN IF EXISTS x",
    "FLUSH TABLES",
    "ANALYZE TABLE r",
)


class Reads:
    """Random statements: a text with ? and its values."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, column):
        pick = self.random.choice
        number = self.random.randrange(-2, 310)
        if column == "c":
            odd = sql_session.literal_of(pick([f"K{number}", "K'1", "K\\1"]), self.random)
            return pick([f"K{number}", f"k{number}", f"K{number} ", "", "Ké", odd])
        if column == "t":
            return pick([f"text {number}", "TEXT 4", "text"])
        if column == "d":
            return pick(["2024-01-03 10:00:00", "2024-01-05", "2024-1-3 1:0:0", "2024-01-02 00:00:00.000"])
        if column == "v":
            written = pick(["x'61'", "0x62", "_binary'c'", "_binary'\\0'", "0x00", "'\\''"])
            return pick(["a", "b", "zz", sql_session.Literal(written), sql_session.Literal(written)])
        if column in ("a", "b"):
            return pick([number % 13, number, str(number % 10), NO_NUMBER, 70000, sql_session.Literal("3.0")])
        return pick([number, number, number, str(number), f"{number}.0", 1 << 40])

    def condition(self, column, values):
        kind = self.random.randrange(9)
        if kind == 8 and column in ("id", "a", "b", "n", "d", "c"):
            make = random_values.moment if column == "d" else random_values.number
            text, its = make(self.random)
            values += its
            return f"{column} {self.random.choice(['=', '<', '<=', '>', '>='])} {text}"
        if kind == 0:
            count = self.random.randrange(1, 5)
            values += [self.value(column) for _ in range(count)]
            if self.random.random() < 0.4:
                return f"({' OR '.join([f'{column} = ?'] * count)})"
            return f"{column} IN ({', '.join('?' * count)})"
        if kind == 1:
            values += [self.value(column), self.value(column)]
            return f"{column} BETWEEN ? AND ?"
        if kind == 2:
            values.append(self.value(column))
            return f"{column} {self.random.choice(['<', '<=', '>', '>=', '<>'])} ?"
        if kind == 3:
            null = f"({column} = NULL OR NULL IS NULL AND {column} IS NULL)"
            flags = [column, f"NOT {column}"] if column in ("id", "a", "b") else []
            return self.random.choice([f"{column} IS NULL", f"{column} IS NOT NULL", null, *flags])
        if kind == 4 and column in ("c", "t"):
            values.append(self.random.choice(["K1%", "text 2%", "k_", "%", sql_session.Literal("'K\\_%'")]))
            return f"{column} LIKE ?"
        values.append(self.value(column))
        return f"{column} = ?"

    def listed_rows(self, where, values):
        columns = self.random.choice((("a", "b"), ("a", "b"), ("b", "a"), ("id", "a"), ("a", "b", "id"), ("c", "n")))
        rows = [[self.value(column) for column in columns] for _ in range(self.random.randrange(1, 5))]
        places = ", ".join([f"({', '.join('?' * len(columns))})"] * len(rows))
        if self.random.random() < 0.4:
            either = " OR ".join(["(" + " AND ".join(f"{column} = ?" for column in columns) + ")"] * len(rows))
            return f"{where} AND ({either})", values + [value for row in rows for value in row]
        return f"{where} AND ({', '.join(columns)}) IN ({places})", values + [value for row in rows for value in row]

    def read(self):
        chance, values = self.random, []
        wanted = chance.choice(
            ["*", "COUNT(*)", "1", "NULL, id", "id", ", ".join(chance.sample(COLUMNS, 3)), "COUNT(t)", "id AS x, c"]
        )
        columns = chance.sample(("id", "c", "a", "b", "d", "n", "t", "v"), chance.choice([1, 1, 2, 3]))
        where = " AND ".join(self.condition(column, values) for column in columns)
        if chance.random() < 0.15:
            where, values = self.listed_rows(*((where, values) if chance.random() < 0.3 else ("1 = 1", [])))
        text = f"SELECT {wanted} FROM r WHERE {where}"
        if chance.random() < 0.7:
            text += f" ORDER BY {chance.choice(['id', 'a, b, id', 'c, id', 'd', 'id DESC', 'a DESC, b DESC, id DESC', 'n, id'])}"
        # Without an order the server itself may choose other rows each time.
        if "ORDER" in text and chance.random() < 0.5:
            text += " LIMIT ?"
            values.append(chance.randrange(0, 6))
            if chance.random() < 0.4:
                text += " OFFSET ?"
                values.append(chance.randrange(0, 4))
        return text, tuple(values)


class Beside(threading.Thread):
    """Repeats something until the end; end() reports errors."""

    def __init__(self, work):
        super().__init__()
        self.work, self.stopping, self.problem = work, threading.Event(), None
        self.start()

    def run(self):
        try:
            while not self.stopping.is_set():
                self.work()
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def end(self):
        self.stopping.set()
        self.join()
        if self.problem:
            raise self.problem


@pytest.fixture(scope="module", params=[0, 1], ids=["answered", "verified"])
def served(module_factory, request):
    server = module_factory(
        STEADY_PLANS, f"--postern-verify={request.param}", "--loose-postern-threads=1", postern_port=0
    )
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    server.execute(*TABLE, database="test")
    return server


class Pair:
    """A session on the door and one on the server's own port, which run the same statements."""

    def __init__(self, server, seed):
        capabilities = seed % 2 * sql_session.DEPRECATE_EOF
        self.reads = Reads(seed)
        self.sessions = [
            Session(server.env[port], "own", "test", capabilities) for port in ("POSTERN_PORT", "SQL_PORT")
        ]
        self.known = []
        self.compared = 0

    def __call__(self):
        chance = self.reads.random
        if not self.known or chance.random() < 0.1:
            self.known = [self.reads.read() for _ in range(12)]
            for one in self.sessions:
                for number, _ in one.prepared.values():
                    one.put(bytes([sql_session.CLOSE]) + number.to_bytes(4, "little"))
                one.prepared.clear()
        if chance.random() < 0.1:
            word = chance.choice(STATES)
            self.compare(word, [one.query(word) for one in self.sessions])
        text, values = chance.choice(self.known)
        if chance.random() < 0.5:
            self.compare((text, values), [one.execute(text, values) for one in self.sessions])
        else:
            said = sql_session.in_text(text, values)
            self.compare(said, [one.query(said) for one in self.sessions])

    def compare(self, said, answers):
        self.compared += 1
        door, server = answers
        if door == server or CHANGED_SINCE in (
            int.from_bytes(answer[5:7], "little") for answer in answers if answer[4] == 255
        ):
            return
        ordered = "ORDER BY" in (said if isinstance(said, str) else said[0])
        warns = NO_NUMBER in repr(said)
        if rows_by_any_plan(door, ordered, warns) != rows_by_any_plan(server, ordered, warns):
            raise AssertionError(f"{said}\n door: {door!r}\n server: {server!r}")


def rows_by_any_plan(answer, ordered, warns):
    """The packets of an answer without the parts that depend on the plan, which the server chooses anew each time.

    These are the remark that no index was used, the number of warnings of comparisons with an invalid value, and the
    order of unordered rows.
    """
    packets = sql_session.without_remarks(answer)
    for packet in packets:
        if packet[0] == 0xFE and len(packet) >= 5:
            warnings = slice(1, 3) if len(packet) == 5 else slice(5, 7)
            packet[warnings] = b"\1\0" if any(packet[warnings]) and not warns else b"\0\0"
    return packets if ordered else sorted(packets)


def test_random_reads_are_answered_alike(served):
    seed = seeds.chosen()
    chance = random.Random(seed)
    pairs = [Pair(served, seed + number) for number in range(PAIRS)]

    def change_table():
        with contextlib.suppress(Exception):
            served.execute("SET lock_wait_timeout = 1", chance.choice(DDL), database="test")
        time.sleep(0.05)

    def be_killed():
        session = Session(served.env["POSTERN_PORT"], "own", "test")
        number = session.query("SELECT CONNECTION_ID()").split(b"\xfe")[-2][6:-4].split(b"\x05")[0]
        with contextlib.suppress(EOFError, ConnectionError):
            for _ in range(5):
                session.query("SELECT c FROM r WHERE id = 5")
            digits = bytes(byte for byte in number if byte in b"0123456789")
            with contextlib.suppress(Exception):
                served.execute(f"KILL {digits.decode()}")
            for _ in range(5):
                session.query("SELECT c FROM r WHERE id = 5")
        session.close()

    besides = [Beside(work) for work in (*pairs, change_table, be_killed)]
    time.sleep(SECONDS)
    until(lambda: sum(pair.compared for pair in pairs) > 200, 60)  # a busy machine compares few
    for one in besides:
        one.end()
    figures = served.status("Postern%")
    assert figures["postern_verified_different"] == 0
    assert figures["postern_verified_same"] + figures["postern_statements_fast"] > 50
    served.assert_alive()
