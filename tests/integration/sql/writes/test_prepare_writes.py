"""Writes that are prepared, executed and closed: byte for byte as the server's own port answers, ids included. The SQL
door's worker prepares and executes most of them; the server prepares them only if it has to.

SEED=N in the environment makes other choices, SECONDS=N makes it longer.
"""
import os
import random
import struct
import time

import pytest
from support.clients import sql_session
from support.random_input import seeds
from support.both_ports import OPENED, SIDES, alike, fast, filled, same_tables
from support.both_ports import served  # noqa: F401
from support.clients.prepared import (
    CURSOR,
    INTEGER,
    LATER,
    TEXT,
    Client,
    Close,
    Command,
    Execute,
    LongData,
    Other,
    Prepare,
    Reset,
    bound,
)
from support.waiting import until

SECONDS = float(os.environ.get("SECONDS") or 4)
TABLES = (
    "CREATE OR REPLACE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), mail VARCHAR(60), age INT NOT NULL DEFAULT 3,"
    " UNIQUE mail (mail)) CHARACTER SET utf8mb4",
    "INSERT INTO w SELECT seq, CONCAT('Näme ', seq), CONCAT('user', seq, '@example.com'), seq % 7 FROM seq_1_to_2000",
    "CREATE OR REPLACE TABLE log (no INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(60))",
)
READS = {table: f"SELECT * FROM {table} ORDER BY 1" for table in ("w", "log")}
INSERT = "INSERT INTO w (name, age) VALUES (?, ?)"
TWO_ROWS = "INSERT INTO w (name) VALUES (?), (?)"
IGNORED = "INSERT IGNORE INTO w (id, mail) VALUES (?, ?)"
UPSERT = "INSERT INTO w (id, name) VALUES (?, ?) ON DUPLICATE KEY UPDATE name = VALUES(name), age = age + 1"
REPLACE = "REPLACE INTO w (id, name) VALUES (?, ?)"
UPDATE = "UPDATE w SET name = ? WHERE id = ?"
ADD = "UPDATE w SET age = age + ? WHERE mail = ?"
DELETE = "DELETE FROM w WHERE id = ?"
SEVERAL = "UPDATE w SET age = ? WHERE id IN (?, ?, ?)"
FIXED = "UPDATE w SET age = age + 1 WHERE id = 7"
RETURNING = "INSERT INTO w (name) VALUES (?) RETURNING id, name"
STAR = "DELETE FROM w WHERE id = ? RETURNING *"
VALUES = {
    INSERT: ("nëw", 5),
    TWO_ROWS: ("one", "two"),
    IGNORED: (30, "user31@example.com"),
    UPSERT: (40, "again"),
    REPLACE: (50, "other"),
    UPDATE: ("neü", 60),
    ADD: (2, "user70@example.com"),
    DELETE: (80,),
    SEVERAL: (9, 93, 91, 5000),
    FIXED: (),
    RETURNING: ("told",),
    STAR: (81,),
}
BULKS = 1 << 34  # the capability


def bulk(text, *rows, types=True):
    """A step: many executions in one command."""

    def made(client):
        body = client.number(text) + struct.pack("<H", 128 if types else 0)
        for value in rows[0] if rows and types else ():
            body += INTEGER if isinstance(value, int) else TEXT
        for row in rows:
            for value in row:
                body += b"\0" + bound(value)
        return client.command(0xFA, body)

    return made


def whole(text, *values):
    return [Prepare(text), Execute(text, *(values or VALUES.get(text, ()))), Close(text)]


LEFT_BEHIND = [
    "SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID()",
    "SHOW WARNINGS",
    "SHOW SESSION STATUS WHERE Variable_name IN ('Questions', 'Com_insert', 'Com_update', 'Com_delete', 'Com_stmt_prepare',"
    " 'Com_stmt_close', 'Com_stmt_execute', 'Com_stmt_reset', 'Com_stmt_reprepare', 'Empty_queries', 'Rows_sent',"
    " 'Handler_read_key', 'Handler_commit', 'Handler_write', 'Handler_update', 'Handler_external_lock', 'Bytes_received',"
    " 'Bytes_sent', 'Table_open_cache_hits', 'Opened_tables', 'Com_stmt_send_long_data')",
]
SCENARIOS = {
    "each": [step for text in VALUES for step in whole(text)],
    "left behind": [step for text in VALUES for one in whole(text) for step in (one, *LEFT_BEHIND)],
    "kept": [Prepare(UPDATE), Execute(UPDATE, "a", 1), Execute(UPDATE, "b", 2), Execute(UPDATE, "c", 3, types=False)]
    + [Prepare(INSERT), Execute(UPDATE, "d", 4, types=False), Execute(INSERT, "e", 5), Close(UPDATE)],
    "by no number": [Prepare(UPDATE), Execute(UPDATE, "new", 1, last=True), Prepare("SELECT nothing")]
    + [Execute(UPDATE, "newer", 1, last=True), Prepare(UPDATE), Execute(UPDATE, "newest", 1, last=True)]
    + [Execute(UPDATE, "old", 1, types=False)],
    "reset": [Prepare(UPDATE), Reset(UPDATE), Execute(UPDATE, "new", 1), Reset(UPDATE)]
    + [Execute(UPDATE, "newer", 2, types=False)],
    "long data": [Prepare(UPDATE), LongData(UPDATE, b"lo"), LongData(UPDATE, b"ng"), Execute(UPDATE, "", 9)]
    + [Execute(UPDATE, "short", 9, types=False), *whole(UPDATE)],
    "types, then long data": [Prepare(UPDATE), Execute(UPDATE, "\u00e9", 9), LongData(UPDATE, b"\xc3\xa9")]
    + [Execute(UPDATE, "", 10, types=False), Execute(UPDATE, "\u00e9", 11, types=False)],
    "cursor": [Prepare(UPDATE), Execute(UPDATE, "a", 1, flags=CURSOR), Execute(UPDATE, "b", 1), Close(UPDATE)],
    "other types": [
        Prepare(UPDATE),
        Execute(UPDATE, "a", 1),
        Execute(UPDATE, 12, "2"),
        Execute(UPDATE, 13, "3", types=False),
    ]
    + ["SET @x = 1", Execute(UPDATE, 14, "4", types=False), Execute(UPDATE, "b", "x5"), Execute(UPDATE, "c", 5)],
    "types that only a worker saw": [Prepare(UPDATE), Execute(UPDATE, 12, 2), "SELECT 1/0", "SHOW WARNINGS"]
    + ["SET NAMES latin1", Execute(UPDATE, 13, 3, types=False), "SET NAMES utf8mb4", Execute(UPDATE, "x" * 41, 4)],
    "a text that only a worker saw": [Prepare(UPDATE), Execute(UPDATE, "\u00e9", 2), "SET NAMES latin1"]
    + [Execute(UPDATE, "\u00e9", 3, types=False), "SET NAMES utf8mb4", Execute(UPDATE, "\u00e9", 4, types=False)],
    "empty is null": [Prepare(UPDATE), Execute(UPDATE, "", 2), "SET sql_mode = 'EMPTY_STRING_IS_NULL'"]
    + [Execute(UPDATE, "", 3, types=False), Execute(UPDATE, "", 4), "SET sql_mode = DEFAULT"]
    + [Execute(UPDATE, "", 5, types=False), Execute(UPDATE, "", 6)],
    "without types": [Prepare(UPDATE), Execute(UPDATE, "a", 1, types=False), Execute(UPDATE, "a", 2), *whole(UPDATE)],
    "warnings": ["SET sql_mode = ''", *whole(UPDATE, "x" * 50, 5), "SHOW WARNINGS", *whole(UPDATE, "new", 5)]
    + ["SHOW WARNINGS", *whole(IGNORED), "SHOW WARNINGS", Prepare(UPDATE), "SHOW WARNINGS", "SET sql_mode = DEFAULT"],
    "errors": [
        *whole(UPDATE, "x" * 50, 5),
        *whole(INSERT, "a", "b"),
        "SHOW WARNINGS",
        *whole(ADD, 2147483647, "user9@example.com"),
    ],
    "in a transaction": ["BEGIN", *whole(INSERT), *whole(UPDATE), "SELECT LAST_INSERT_ID()", "ROLLBACK", *whole(UPDATE)]
    + ["BEGIN", *whole(DELETE, 90), *whole(UPDATE, "none", 90), "COMMIT"],
    "read only": ["START TRANSACTION READ ONLY", *whole(UPDATE), "COMMIT", *whole(UPDATE)],
    "another database": [
        Prepare(UPDATE),
        Command(2, b"test"),
        Execute(UPDATE, "a", 1),
        Prepare(UPDATE),
        "USE {database}",
    ]
    + [Execute(UPDATE, "b", 1), *whole(UPDATE)],
    "connection reset": [Prepare(UPDATE), Execute(UPDATE, "a", 1), Command(sql_session.RESET), Execute(UPDATE, "b", 1)]
    + whole(UPDATE),
    "altered": [Prepare(INSERT), Prepare(STAR), Execute(STAR, 82), Other("ALTER TABLE w MODIFY age BIGINT")]
    + [Execute(INSERT, "a", 1), Execute(STAR, 83), *whole(INSERT), *whole(STAR), Other("ALTER TABLE w MODIFY age INT")]
    + [Execute(INSERT, "b", 2), *whole(STAR, 84), *whole(INSERT)],
    "other columns": [*whole(STAR, 85), *whole(STAR, 86), *whole(STAR, 87), Prepare(STAR)]
    + [Other("ALTER TABLE w ADD more INT"), Execute(STAR, 88), Execute(STAR, 89), *whole(STAR, 90), *whole(STAR, 91)]
    + [*whole(STAR, 92), Prepare(STAR), Other("ALTER TABLE w DROP more"), Execute(STAR, 93), Execute(STAR, 94)],
    "a trigger comes and goes": [Prepare(INSERT), Execute(INSERT, "a", 1), Prepare(INSERT)]
    + [LATER, Other("CREATE TRIGGER t AFTER INSERT ON w FOR EACH ROW INSERT INTO log (what) VALUES (NEW.name)")]
    + [Execute(INSERT, "b", 2), *whole(INSERT), Other("DROP TRIGGER t"), Execute(INSERT, "c", 3), *whole(INSERT)],
    "renamed and back": [Prepare(UPDATE), Other("RENAME TABLE w TO v"), Execute(UPDATE, "a", 1), *whole(UPDATE)]
    + [Execute(UPDATE, "b", 1, types=False), Other("RENAME TABLE v TO w"), Execute(UPDATE, "c", 1, types=False)]
    + [Execute(UPDATE, "d", 1), *whole(UPDATE)],
    "temporary": [Prepare(UPDATE), "CREATE TEMPORARY TABLE w (id INT PRIMARY KEY, name INT)", *whole(UPDATE)]
    + [Execute(UPDATE, "a", 1), "DROP TEMPORARY TABLE w", *whole(UPDATE)],
    "prepared in SQL": [
        f"PREPARE s FROM '{UPDATE}'",
        *whole(UPDATE),
        "EXECUTE s USING 'sql', 3",
        "DEALLOCATE PREPARE s",
    ]
    + whole(UPDATE),
    "bulk": [
        Prepare(INSERT),
        bulk(INSERT, ("a", 1), ("b", 2)),
        Execute(INSERT, "c", 3),
        Execute(INSERT, "d", 4, types=False),
    ],
    "bulk with the types of an execution": [Prepare(UPDATE), Execute(UPDATE, "a", 1)]
    + [bulk(UPDATE, ("b", 2), ("c", 3), types=False), Execute(UPDATE, "d", 4, types=False), Execute(UPDATE, 5, "5")]
    + [bulk(UPDATE, (6, "6"), (7, "7"), types=False), *LEFT_BEHIND[:2]],
    "bulk that is refused": [Prepare(FIXED), bulk(FIXED, ()), Prepare(UPDATE), Execute(UPDATE, "a", 1), bulk(UPDATE)]
    + [Execute(UPDATE, "b", 2, types=False), bulk("SELECT nothing", (1,)), Execute(UPDATE, "c", 2, types=False)],
}
CAPABILITIES = {
    "plain": 0,
    "found rows": sql_session.FOUND_ROWS,
    "tracking": sql_session.SESSION_TRACK | sql_session.DEPRECATE_EOF | BULKS,
    "cached metadata": sql_session.CACHE_METADATA | sql_session.EXTENDED_METADATA | BULKS,
}
ROUNDS = 4  # the first ones teach the door


@pytest.fixture
def tables(served):
    served.execute("SET GLOBAL thread_cache_size = 0")  # a thread's next session continues its statement ids
    yield from filled(served, TABLES)


@pytest.fixture(params=[0, 1], ids=["answered", "by the server"])
def either(tables, request):
    """Workers execute; or a worker prepares a statement that the server executes."""
    tables.execute(f"SET GLOBAL postern_verify = {request.param}")
    yield tables
    tables.execute("SET GLOBAL postern_verify = 0")


class Pair:
    """A session on the door and one on the server's own port, which run the same steps."""

    def __init__(self, server, capabilities):
        self.server, self.asked = server, []
        self.clients = [Client(server.env[port], "own", name, capabilities) for port, name in SIDES.items()]
        OPENED.extend(self.clients)

    def run(self, step):
        self.asked.append(step)
        if isinstance(step, Other):
            for database in SIDES.values():
                self.server.execute("SET lock_wait_timeout = 20", step, database=database)
            return
        door, port = (alike(self.take(client, name, step)) for client, name in zip(self.clients, SIDES.values()))
        assert door == port, f"{self.asked[-12:]}\n door: {door!r}\n server: {port!r}"

    @staticmethod
    def take(client, database, step):
        if callable(step):
            return step(client)
        return client.run(step.format(database=database) if type(step) is str else step)


@pytest.mark.parametrize("capabilities", CAPABILITIES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_byte_is_the_servers(either, scenario, capabilities):
    steps, flags = SCENARIOS[scenario], CAPABILITIES[capabilities]
    if "bulk" in scenario and not flags & BULKS:
        return
    for _ in range(ROUNDS):
        pair = Pair(either, flags)
        for step in steps:
            pair.run(step)
        for client in pair.clients:
            client.close()
    same_tables(either, READS)


@pytest.mark.parametrize("text", VALUES)
def test_a_statement_executed_once_is_prepared_and_executed_by_a_worker(tables, text):
    steps = whole(f"{text} /* not known yet */", *VALUES[text])
    for _ in range(2):
        pair = Pair(tables, 0)
        for step in (*steps, "SHOW WARNINGS"):
            pair.run(step)
    before = fast(tables)
    for step in steps[:2]:
        pair.run(step)
    assert fast(tables) == before + 2
    for step in LEFT_BEHIND:
        pair.run(step)
    same_tables(tables, READS)


@pytest.mark.parametrize("capabilities", CAPABILITIES)
@pytest.mark.parametrize("text", VALUES)
def test_sessions_that_prepare_a_new_statement_at_once_have_it_executed_by_workers(tables, text, capabilities):
    new = f"{text} /* of several sessions, {capabilities} */"
    pairs = [Pair(tables, CAPABILITIES[capabilities]) for _ in range(3)]
    for pair in pairs:
        pair.run(Prepare(new))
    for pair in 2 * pairs:
        pair.run(Execute(new, *VALUES[text]))
    before = fast(tables)
    for pair in pairs:
        pair.run(Execute(new, *VALUES[text]))
    assert fast(tables) == before + 3
    same_tables(tables, READS)


def test_privileges_hold_at_the_next_prepare(tables):
    tables.execute("CREATE OR REPLACE USER less@'%' IDENTIFIED BY ''", "GRANT SELECT, UPDATE ON by_door.w TO less@'%'")
    for _ in range(2):
        pair = Pair(tables, 0)
        for text in (UPDATE, INSERT):
            for step in whole(text):
                pair.run(step)
    client = Client(tables.env["POSTERN_PORT"], "less", "by_door")
    OPENED.append(client)
    assert client.run(Prepare(INSERT))[4] == 0xFF

    def prepared_by_the_worker():  # a busy worker does not prepare it
        before = fast(tables)
        assert client.run(Prepare(UPDATE))[4] == 0
        return fast(tables) == before + 1

    until(prepared_by_the_worker)
    tables.execute("REVOKE UPDATE ON by_door.w FROM less@'%'", "GRANT UPDATE (age) ON by_door.w TO less@'%'")
    assert client.run(Execute(UPDATE, "a", 1))[4] == 0xFF
    assert client.run(Prepare(UPDATE))[4] == 0xFF
    tables.execute("GRANT UPDATE (name) ON by_door.w TO less@'%'")
    for step in whole(UPDATE, "granted", 1):
        assert client.run(step)[4:5] != b"\xff"
    assert tables.query("SELECT name FROM w WHERE id = 1", database="by_door") == [("granted",)]


ASIDE = (
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SELECT 1/0",
    "SHOW WARNINGS",
    "SET NAMES latin1",
    "SET NAMES utf8mb4",
    "SET sql_mode = ''",
    "SET sql_mode = DEFAULT",
    "USE test",
    "USE {database}",
    *LEFT_BEHIND[:2],
)
DDL = (
    "ALTER TABLE w FORCE",
    "ALTER TABLE w COMMENT = 'x'",
    "ALTER TABLE w ADD COLUMN IF NOT EXISTS more INT DEFAULT 5",
    "ALTER TABLE w DROP COLUMN IF EXISTS more",
    "CREATE OR REPLACE TRIGGER t AFTER UPDATE ON w FOR EACH ROW INSERT INTO log (what) VALUES (NEW.name)",
    "DROP TRIGGER IF EXISTS t",
    "FLUSH TABLES",
)


class Steps:
    """Random steps of one session."""

    def __init__(self, chance, bulks):
        self.chance, self.bulks = chance, bulks
        self.open, self.bound, self.in_transaction = [], set(), False

    def values(self, text):
        chance = self.chance
        odd = ("", "x" * 41, "é", "12", "user5@example.com")
        return [
            chance.choice([value, chance.randrange(1, 99)])
            if isinstance(value, int)
            else chance.choice([value, *odd, f"user{chance.randrange(1, 99)}@example.com"])
            for value in VALUES[text]
        ]

    def __call__(self):
        chance, dice = self.chance, self.chance.random()
        if dice < 0.02 and not self.in_transaction:
            return Other(chance.choice(DDL))
        if dice < 0.1:
            aside = chance.choice(ASIDE)
            self.in_transaction = aside == "BEGIN" or (self.in_transaction and aside not in ("COMMIT", "ROLLBACK"))
            return aside
        if dice < 0.11:
            self.open, self.in_transaction = [], False
            return Command(sql_session.RESET)
        if dice < 0.4 or not self.open:
            text = Prepare(chance.choice(list(VALUES)))
            self.open.append(text)
            self.bound.discard(text)
            return text
        text = chance.choice(self.open)
        if dice < 0.6:
            self.open.remove(text)
            return Close(text)
        if dice < 0.62:
            return Reset(text)
        if dice < 0.64 and text in (INSERT, UPDATE):
            return LongData(text, b"l\xc3\xb6ng")
        values, types = self.values(text), not (text in self.bound and chance.random() < 0.5)
        if dice < 0.68 and self.bulks and values and "RETURNING" not in text:
            return bulk(text, values, types=types)
        if text == self.open[-1] and types and chance.random() < 0.2:
            return Execute(text, *values, last=True)
        self.bound.add(text)
        if not types:
            # A value that was bound as a text stays a text.
            values = [other if isinstance(other, type(value)) else value for value, other in zip(VALUES[text], values)]
        # A cursor for the rows of DELETE ... RETURNING crashes the server, at its own port, too.
        cursor = chance.random() < 0.02 and "RETURNING" not in text
        return Execute(text, *values, types=types, flags=CURSOR if cursor else 0)


def test_random_sessions_are_answered_alike(either):
    chance = random.Random(seeds.chosen())
    before, end = fast(either), time.monotonic() + SECONDS
    while time.monotonic() < end or fast(either) <= before + 50:  # a busy machine executes few
        flags = chance.choice(list(CAPABILITIES.values()))
        pair, steps = Pair(either, flags), Steps(chance, bool(flags & BULKS))
        for _ in range(150):
            pair.run(steps())
        for client in pair.clients:
            client.close()
    same_tables(either, READS)
    either.assert_alive()
