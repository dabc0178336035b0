"""Statements that are prepared, executed and closed: byte for byte as the server's own port answers, ids included. The
SQL door has the server prepare most of them only if a later command needs that.

SEED=N in the environment makes other choices, SECONDS=N makes it longer.
"""
import contextlib
import os
import random
import time

import pytest
from support.clients import sql_session
from support.random_input import seeds
from support.clients.prepared import CURSOR, LATER, Client, Close, Command, Execute, LongData, Other, Prepare, Reset
from support.server import STEADY_PLANS
from support.waiting import until

SECONDS = int(os.environ.get("SECONDS") or 4)
TABLES = (
    "CREATE OR REPLACE TABLE p (id INT PRIMARY KEY, name VARCHAR(40), mail VARCHAR(60), age TINYINT UNSIGNED, notes TEXT,"
    " UNIQUE mail (mail), KEY age (age)) CHARACTER SET utf8mb4",
    "INSERT INTO p SELECT seq, CONCAT('Näme ', seq), CONCAT('user', seq, '@example.com'), seq % 7,"
    " IF(seq % 5, REPEAT('x', seq), NULL) FROM seq_1_to_40",
    "CREATE DATABASE IF NOT EXISTS other",
    "CREATE OR REPLACE TABLE other.p (id INT PRIMARY KEY, name VARCHAR(40))",
    "INSERT INTO other.p VALUES (1, 'other')",
)
ALL = "SELECT * FROM p WHERE id = ?"
NAME = "SELECT name FROM p WHERE id = ? LIMIT 1"
MAIL = "SELECT id, name FROM p WHERE mail = ?"
COUNTED = "SELECT COUNT(*) FROM p WHERE age = ?"
ONE = "SELECT 1 FROM p WHERE id = ?"
EXISTS = "SELECT EXISTS(SELECT * FROM p WHERE id = ?)"
FIXED = "SELECT id, notes FROM p WHERE id = 7"
JOINED = "SELECT a.id FROM p a JOIN p b ON a.id = b.id WHERE a.id = ?"
VALUES = {
    ALL: (5,),
    NAME: (7,),
    MAIL: ("user3@example.com",),
    COUNTED: (3,),
    ONE: (4,),
    EXISTS: (6,),
    FIXED: (),
    JOINED: (2,),
}


def whole(text, *values):
    return [Prepare(text), Execute(text, *(values or VALUES[text])), Close(text)]


LEFT_BEHIND = [
    "SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID()",
    "SHOW WARNINGS",
    "SHOW SESSION STATUS WHERE Variable_name IN ('Questions', 'Com_select', 'Com_stmt_prepare', 'Com_stmt_close',"
    " 'Com_stmt_execute', 'Com_stmt_reset', 'Com_stmt_reprepare', 'Empty_queries', 'Rows_sent', 'Handler_read_key',"
    " 'Handler_commit', 'Handler_external_lock', 'Bytes_received', 'Bytes_sent', 'Table_open_cache_hits',"
    " 'Opened_tables', 'Com_stmt_send_long_data')",
]
SCENARIOS = {
    "each": [step for text in VALUES for step in whole(text)],
    "left behind": [step for text in (NAME, ALL) for one in whole(text) for step in (one, *LEFT_BEHIND)],
    "kept": [Prepare(NAME), Execute(NAME, 1), Execute(NAME, 2), Execute(NAME, 3, types=False), Execute(NAME, 99)]
    + [Prepare(ALL), Execute(ALL, 1), Execute(NAME, 4, types=False), Close(NAME), Execute(ALL, 2), Close(ALL)],
    "the same twice": [Prepare(NAME), Execute(NAME, 1), Prepare(NAME), Execute(NAME, 2), Close(NAME), Execute(NAME, 1)],
    "by no number": [Prepare(NAME), Execute(NAME, 1, last=True), Prepare(JOINED), Execute(JOINED, 1, last=True)]
    + [Prepare(NAME), Close(NAME), Execute(NAME, 1, last=True), Prepare("SELECT nothing"), Execute(NAME, 1, last=True)]
    + [
        Prepare(MAIL),
        Execute(MAIL, "user1@example.com", last=True),
        LongData(MAIL, b"x"),
        Execute(MAIL, "", last=True),
    ],
    "reset": [Prepare(NAME), Reset(NAME), Execute(NAME, 1), Reset(NAME), Execute(NAME, 2), Close(NAME), Reset(NAME)],
    "long data": [Prepare(MAIL), LongData(MAIL, b"user3@"), LongData(MAIL, b"example.com"), Execute(MAIL, "")]
    + [Execute(MAIL, "user2@example.com"), Close(MAIL)],
    "cursor": [Prepare(NAME), Execute(NAME, 1, flags=CURSOR), Execute(NAME, 2), Execute(NAME, 3), Close(NAME)],
    "types later": [Prepare(NAME), Execute(NAME, 1), "SET @x = 1", Execute(NAME, "2"), Reset(NAME)]
    + [Execute(NAME, "3", types=False), Close(NAME)],
    "null": [Prepare(NAME), Execute(NAME, 1), Execute(NAME), Close(NAME)],
    "unknown": [Execute(NAME, 1), Close(NAME), Reset(NAME), Prepare(NAME), Close(NAME), Execute(NAME, 1)],
    "in a transaction": ["BEGIN", *whole(NAME), Other("UPDATE p SET name = 'new' WHERE id = 7"), *whole(NAME)]
    + ["COMMIT", *whole(NAME)],
    "autocommit off": ["SET autocommit = 0", *whole(NAME), "COMMIT", *whole(ALL), "ROLLBACK", "SET autocommit = 1"],
    "another database": [Prepare(NAME), Command(2, b"other"), Execute(NAME, 1), *whole(NAME, 1), Command(2, b"test")]
    + [Execute(NAME, 1), *whole(NAME)],
    "use": [Prepare(NAME), Execute(NAME, 1), Prepare(ALL), "USE other", Execute(NAME, 1), Execute(ALL, 1), "USE test"],
    "names": [Prepare(NAME), Prepare(ALL), Execute(ALL, 1), "SET NAMES latin1", Execute(NAME, 1), Execute(ALL, 1)]
    + [*whole(NAME), *whole(ALL), "SET NAMES utf8mb4", Execute(NAME, 1), Execute(NAME, 1), Execute(ALL, 1)],
    "modes": [Prepare(NAME), "SET sql_mode = 'ANSI_QUOTES'", Execute(NAME, 1), *whole(NAME), "SET sql_mode = DEFAULT"],
    "results": [Prepare(NAME), "SET character_set_results = NULL", Execute(NAME, 1), *whole(NAME)],
    "connection reset": [Prepare(NAME), Execute(NAME, 1), Command(sql_session.RESET), Execute(NAME, 1), *whole(NAME)],
    "column added": [Prepare(ALL), Prepare(NAME), Other("ALTER TABLE p ADD extra INT DEFAULT 5"), Execute(NAME, 1)]
    + [Execute(NAME, 2), *whole(ALL), *whole(NAME), *whole(ALL)],
    "column added to star": [Prepare(ALL), Execute(ALL, 1), Prepare(NAME), Other("ALTER TABLE p MODIFY age INT")]
    + [Execute(NAME, 2), *whole(ALL), *whole(NAME), *whole(ALL)],
    "other columns of a star": [Prepare(ALL), Other("ALTER TABLE p ADD extra INT"), Execute(ALL, 1), Execute(ALL, 2)]
    + [Prepare(ALL), Other("ALTER TABLE p DROP age, DROP extra"), Execute(ALL, 1), Execute(ALL, 2)],
    "dropped": [Prepare(NAME), Prepare(ALL), Execute(ALL, 1), Other("DROP TABLE p"), Execute(NAME, 1), *whole(NAME)]
    + [Close(NAME), Execute(ALL, 1)],
    "a trigger": [Prepare(NAME), Prepare(ALL), Execute(ALL, 1)]
    + [LATER, Other("CREATE TRIGGER t AFTER INSERT ON p FOR EACH ROW SET @told = NEW.id")]
    + [Execute(NAME, 1), Execute(ALL, 1), Prepare(NAME), Other("DROP TRIGGER t"), Execute(NAME, 1), *whole(NAME)],
    "renamed and back": [Prepare(NAME), Other("RENAME TABLE p TO q"), Execute(NAME, 1), Other("RENAME TABLE q TO p")]
    + [Execute(NAME, 1), Execute(NAME, 1)],
    "temporary": [Prepare(NAME), "CREATE TEMPORARY TABLE p (id INT PRIMARY KEY, name INT)", *whole(NAME)]
    + ["DROP TEMPORARY TABLE p", *whole(NAME)],
    "many": [*[Prepare(f"{NAME} /* {number} */") for number in range(3)], *[Prepare(NAME) for _ in range(20)]]
    + ["SHOW STATUS LIKE 'Prepared_stmt_count'", Command(sql_session.RESET), "SHOW STATUS LIKE 'Prepared_stmt_count'"],
    "prepared in SQL": [
        f"PREPARE s FROM '{NAME}'",
        *whole(NAME),
        "EXECUTE s USING 1",
        *whole(NAME),
        "DEALLOCATE PREPARE s",
    ]
    + [*whole(NAME)],
    "warnings": ["DO 1/0", Prepare(NAME), "SHOW WARNINGS", "DO 1/0", Prepare(NAME), Execute(NAME, 1), "SHOW WARNINGS"],
}
CAPABILITIES = {
    "plain": 0,
    "ok for eof": sql_session.DEPRECATE_EOF,
    "tracking": sql_session.SESSION_TRACK | sql_session.DEPRECATE_EOF | sql_session.FOUND_ROWS,
    "cached metadata": sql_session.CACHE_METADATA | sql_session.EXTENDED_METADATA,
}


@contextlib.contextmanager
def running(module_factory, verify):
    # A thread of the server's own port that serves a second session would continue the first one's statement ids.
    options = (f"--postern-verify={verify}", "--loose-postern-threads=1", "--thread-cache-size=0")
    server = module_factory(STEADY_PLANS, *options, postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    yield server
    figures = server.status("Postern%")
    assert figures["postern_verified_different"] == 0
    if verify:
        assert figures["postern_verified_same"] > figures["postern_not_now_verified"] / 3
    else:
        assert figures["postern_statements_fast"] > 300
    assert server.status("Prepared_stmt_count")["prepared_stmt_count"] == 0


@pytest.fixture(scope="module")
def served(module_factory):
    with running(module_factory, 0) as server:
        yield server


@pytest.fixture(scope="module")
def verified(module_factory):
    """The server answers here, and the door compares."""
    with running(module_factory, 1) as server:
        yield server


def texts(steps):
    return {step for step in steps if isinstance(step, Prepare)}


def warm(server, capabilities, steps):
    """Prepares and executes until the door has learnt everything."""
    client = Client(server.env["POSTERN_PORT"], "own", "test", capabilities)
    for text in texts(steps):
        for _ in range(4):
            if client.run(Prepare(text))[4] != 0:
                break
            values = VALUES.get(text, (1,))
            client.run(Execute(text, *values))
            client.run(Execute(text, *values))
            client.run(Close(text))
    client.close()


def run(server, port, steps, capabilities):
    client = Client(port, "own", "test", capabilities)
    answers = []
    for step in steps:
        if isinstance(step, Other):
            server.execute("SET lock_wait_timeout = 5", step, database="test")
        else:
            answers.append((step, client.run(step)))
    client.close()
    return answers


@pytest.mark.parametrize("capabilities", CAPABILITIES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_byte_is_the_servers(served, scenario, capabilities):
    steps, flags = SCENARIOS[scenario], CAPABILITIES[capabilities]
    served.execute(*TABLES, database="test")
    expected = run(served, served.env["SQL_PORT"], steps, flags)
    for known in (False, True):
        served.execute(*TABLES, database="test")
        if known:
            warm(served, flags, steps)
        answers = run(served, served.env["POSTERN_PORT"], steps, flags)
        for (step, answer), (_, right) in zip(answers, expected):
            assert answer == right, f"{step}, known: {known}\n{answer!r}\n{right!r}"


def test_as_many_as_there_may_be(served):
    served.execute(*TABLES, database="test")
    warm(served, 0, [Prepare(NAME)])
    client = Client(served.env["POSTERN_PORT"], "own", "test")
    served.execute("SET GLOBAL max_prepared_stmt_count = 3")
    try:
        answers = [client.run(Prepare(NAME)) for _ in range(4)]
        assert [answer[4] for answer in answers] == [0, 0, 0, 0xFF]
        assert int.from_bytes(answers[3][5:7], "little") == 1461
        assert served.status("Prepared_stmt_count")["prepared_stmt_count"] == 3
    finally:
        served.execute("SET GLOBAL max_prepared_stmt_count = DEFAULT")
        client.close()


def test_privileges_hold_at_the_next_prepare(served):
    served.execute(*TABLES, database="test")
    served.execute("CREATE OR REPLACE USER less@'%' IDENTIFIED BY ''", "GRANT SELECT ON test.p TO less@'%'")
    warm(served, 0, [Prepare(NAME)])
    client = Client(served.env["POSTERN_PORT"], "less", "test")
    for step in whole(NAME):
        assert client.run(step)[4:5] != b"\xff"
    client.run(Prepare(NAME))
    served.execute("REVOKE SELECT ON test.p FROM less@'%'", "GRANT SELECT (id) ON test.p TO less@'%'")
    assert client.run(Execute(NAME, 1))[4] == 0xFF
    assert client.run(Prepare(NAME))[4] == 0xFF
    served.execute("GRANT SELECT (name) ON test.p TO less@'%'")
    for step in whole(NAME):
        assert client.run(step)[4:5] != b"\xff"
    client.close()


class Pair:
    """A session on the door and one on the server's own port, which run the same steps."""

    ASIDE = ("BEGIN", "COMMIT", "SELECT 1/0", "SHOW WARNINGS", "SET NAMES latin1", "SET NAMES utf8mb4", "USE other")
    ASIDE += ("USE test", "SET sql_mode = 'ANSI_QUOTES'", "SET sql_mode = DEFAULT", "SELECT FOUND_ROWS(), ROW_COUNT()")
    DDL = (
        "ALTER TABLE p FORCE",
        "ALTER TABLE p COMMENT = 'x'",
        "FLUSH TABLES",
        "UPDATE p SET age = age + 1 WHERE id < 9",
    )

    def __init__(self, server, seed):
        self.server, self.random = server, random.Random(seed)
        flags = list(CAPABILITIES.values())[seed % 4]
        self.clients = [Client(server.env[port], "own", "test", flags) for port in ("POSTERN_PORT", "SQL_PORT")]
        self.open, self.bound, self.in_transaction = [], set(), False

    def step(self):
        chance = self.random
        dice = chance.random()
        if dice < 0.02 and not self.in_transaction:
            self.server.execute(chance.choice(self.DDL), database="test")
            return None
        if dice < 0.12:
            aside = chance.choice(self.ASIDE)
            self.in_transaction = aside == "BEGIN" or (self.in_transaction and aside != "COMMIT")
            return aside
        if dice < 0.13:
            self.open, self.in_transaction = [], False
            return Command(sql_session.RESET)
        if dice < 0.4 or not self.open:
            text = Prepare(chance.choice([*VALUES, "SELECT nothing"]))
            self.open.append(text)
            self.bound.discard(text)
            return text
        text = chance.choice(self.open)
        if dice < 0.55:
            self.open.remove(text)
            return Close(text)
        if dice < 0.58:
            return Reset(text)
        if dice < 0.61 and text == MAIL:
            return LongData(text, b"user3@example.com")
        values = VALUES.get(text, ())
        if values and chance.random() < 0.7:
            values = (chance.choice([1, 2, 3, 44]),) if isinstance(values[0], int) else values
        types = not (text in self.bound and chance.random() < 0.5)
        if text == self.open[-1] and chance.random() < 0.2:
            return Execute(text, *values, last=True)
        self.bound.add(text)
        return Execute(text, *values, types=types, flags=CURSOR if chance.random() < 0.03 else 0)

    def __call__(self):
        step = self.step()
        if step is None:
            return
        door, server = (client.run(step) for client in self.clients)
        same = sql_session.without_remarks(door) == sql_session.without_remarks(server)
        assert same, f"{step}\n door: {door!r}\n server: {server!r}"

    def close(self):
        for client in self.clients:
            client.close()


def test_a_statement_prepared_late_takes_no_warnings_away(served):
    served.execute(*TABLES, database="test")
    warm(served, 0, [Prepare(NAME)])
    with contextlib.closing(Pair(served, 0)) as pair:
        for step in (Prepare(NAME), "SELECT nothing", "SET @a = 1", "USE other", "SHOW WARNINGS", "SELECT ROW_COUNT()"):
            door, server = (client.run(step) for client in pair.clients)
            assert door == server, step


@pytest.mark.parametrize("one", ["served", "verified"])
def test_random_sessions_are_answered_alike(request, one):
    served, seed = request.getfixturevalue(one), seeds.chosen()
    served.execute(*TABLES, database="test")
    end = time.monotonic() + SECONDS
    for number in range(10_000):
        if time.monotonic() > end:
            break
        with contextlib.closing(Pair(served, seed + number)) as pair:
            for _ in range(150):
                pair()
    served.assert_alive()


def test_a_session_that_ends_takes_its_statements_along(served):
    served.execute(*TABLES, database="test")
    warm(served, 0, [Prepare(NAME)])
    with contextlib.closing(Client(served.env["POSTERN_PORT"], "own", "test")) as client:
        for _ in range(5):
            client.run(Prepare(NAME))
        assert served.status("Prepared_stmt_count")["prepared_stmt_count"] == 5
    until(lambda: served.status("Prepared_stmt_count")["prepared_stmt_count"] == 0, seconds=20)
