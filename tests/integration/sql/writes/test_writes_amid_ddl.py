"""Random writes by key while their tables change: columns, keys, triggers, engines, partitions, temporary tables.

See test_random_writes.py; SEED and STATEMENTS mean the same. Both sessions change the tables of their own database, in
the same place of their session.
"""
import os

import pytest
from support.random_input import random_new_rows, random_writes
from support import replica as replicas
from support.clients import sql_session
from support.random_input import seeds
from support.both_ports import SIDES, ask, ask_by_chance, fast, filled, pair, same_tables
from support.both_ports import follower, served  # noqa: F401

STATEMENTS = int(os.environ.get("STATEMENTS") or 1000)
CHANGES = {
    random_writes: (
        "ALTER TABLE w ADD KEY IF NOT EXISTS more (t)",
        "ALTER TABLE w DROP KEY IF EXISTS more",
        "ALTER TABLE w ALTER COLUMN u SET DEFAULT 9",
        "ALTER TABLE w MODIFY l VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "ALTER TABLE w MODIFY l VARCHAR(20) CHARACTER SET latin1",
        "ALTER TABLE w ADD COLUMN IF NOT EXISTS g BIGINT AS (b + 1) VIRTUAL",
        "ALTER TABLE w DROP COLUMN IF EXISTS g",
        "ALTER TABLE w FORCE",
        "CREATE OR REPLACE TRIGGER by_trigger BEFORE UPDATE ON w FOR EACH ROW SET NEW.x = CONCAT(OLD.id, 'x')",
        "DROP TRIGGER IF EXISTS by_trigger",
        "ALTER TABLE ids ADD COLUMN IF NOT EXISTS more INT NOT NULL DEFAULT 5 FIRST",
        "ALTER TABLE ids DROP COLUMN IF EXISTS more",
        "ALTER TABLE ids MODIFY n INT NOT NULL DEFAULT 4",
        "ALTER TABLE ids MODIFY n SMALLINT NOT NULL DEFAULT 3",
        "ALTER TABLE pairs PARTITION BY KEY (a) PARTITIONS 3",
        "ALTER TABLE pairs REMOVE PARTITIONING",
        "ALTER TABLE pairs ENGINE = Aria",
        "ALTER TABLE pairs ENGINE = InnoDB",
        "CREATE TEMPORARY TABLE IF NOT EXISTS pairs (a INT, b VARCHAR(10), v INT, PRIMARY KEY (a))",
        "DROP TEMPORARY TABLE IF EXISTS pairs",
        "RENAME TABLE ids TO other, other TO ids",
        "TRUNCATE TABLE ids",
        "FLUSH TABLES",
    ),
    random_new_rows: (
        "ALTER TABLE counters ADD UNIQUE KEY IF NOT EXISTS more (u)",
        "ALTER TABLE counters DROP KEY IF EXISTS more",
        "ALTER TABLE counters MODIFY k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german2_ci",
        "ALTER TABLE counters MODIFY k VARCHAR(20) CHARACTER SET utf8mb4",
        "ALTER TABLE counters ENGINE = MyISAM",
        "ALTER TABLE counters ENGINE = InnoDB",
        "CREATE OR REPLACE TRIGGER by_trigger BEFORE INSERT ON options FOR EACH ROW SET NEW.value = 'by trigger'",
        "CREATE OR REPLACE TRIGGER by_trigger AFTER DELETE ON options FOR EACH ROW DELETE FROM keyless",
        "DROP TRIGGER IF EXISTS by_trigger",
        "ALTER TABLE options AUTO_INCREMENT = 3000",
        "ALTER TABLE options MODIFY value LONGTEXT NOT NULL DEFAULT 'none'",
        "ALTER TABLE options MODIFY value LONGTEXT NOT NULL",
        "ALTER TABLE several ADD COLUMN IF NOT EXISTS g INT AS (n + 1) STORED",
        "ALTER TABLE several DROP COLUMN IF EXISTS g",
        "ALTER TABLE several ADD CONSTRAINT IF NOT EXISTS low CHECK (n > -3)",
        "ALTER TABLE several DROP CONSTRAINT IF EXISTS low",
        "ALTER TABLE several DROP KEY IF EXISTS b",
        "ALTER TABLE several ADD KEY IF NOT EXISTS b (b)",
        "ALTER TABLE pairs ADD COLUMN IF NOT EXISTS z INT INVISIBLE DEFAULT 7",
        "ALTER TABLE pairs DROP COLUMN IF EXISTS z",
        "ALTER TABLE pairs ADD SYSTEM VERSIONING",
        "ALTER TABLE pairs DROP SYSTEM VERSIONING",
        "ALTER TABLE children DROP FOREIGN KEY IF EXISTS children_ibfk_1",
        "CREATE TEMPORARY TABLE IF NOT EXISTS counters (k VARCHAR(20) PRIMARY KEY, n INT, u INT, t TEXT, at DATE)",
        "DROP TEMPORARY TABLE IF EXISTS counters",
        "TRUNCATE TABLE keyless",
        "FLUSH TABLES",
    ),
}
TRUNCATED = {"ids", "keyless"}
SETTINGS = (
    *("BEGIN", "COMMIT", "ROLLBACK", "SET autocommit = 0") * 2,
    "SET sql_mode = ''",
    "SET NAMES latin1",
    "SET NAMES binary",
)
USUAL = ("COMMIT", "SET autocommit = 1", "SET sql_mode = DEFAULT", "SET NAMES utf8mb4")


@pytest.fixture
def tables(served, request):
    yield from filled(served, request.param.TABLES)


@pytest.mark.parametrize("capabilities", [0, sql_session.DEPRECATE_EOF], ids=["plain", "deprecate_eof"])
@pytest.mark.parametrize("tables", CHANGES, indirect=True, ids=["writes", "new_rows"])
def test_random_writes_are_done_alike_amid_ddl(tables, follower, capabilities, request):
    kind = request.node.callspec.params["tables"]
    seed = seeds.chosen()
    statements = random_writes.Writes(seed) if kind is random_writes else random_new_rows.NewRows(seed)
    make = statements.write if kind is random_writes else statements.statement
    sessions, chance, before = pair(tables, capabilities), statements.random, fast(tables)
    known = []
    for _ in range(STATEMENTS):
        if len(known) < 20 or chance.random() < 0.03:
            known.append(make())
            known = known[-20:]
        if chance.random() < 0.015:
            ask(sessions, chance.choice(CHANGES[kind]))
        elif chance.random() < 0.03:
            ask(sessions, chance.choice(SETTINGS))
        elif chance.random() < 0.04:
            for usual in USUAL:
                ask(sessions, usual)
        text, values = chance.choice(known)
        ask_by_chance(sessions, chance, text, values)
        if chance.random() < 0.2:
            ask(sessions, "SELECT ROW_COUNT(), LAST_INSERT_ID(), FOUND_ROWS()")
            ask(sessions, "SHOW WARNINGS")
    ask(sessions, "SET autocommit = 1")
    print(f"{fast(tables) - before} of {STATEMENTS} by workers")
    assert fast(tables) - before > STATEMENTS / 50
    same_tables(tables, kind.READS)
    replicas.catch_up(tables, follower)
    for database in SIDES.values():
        replicas.same(tables, follower, database, may_be_empty=TRUNCATED)


@pytest.mark.parametrize("tables", [random_new_rows], indirect=True, ids=["new_rows"])
def test_a_null_that_stays_is_counted_as_the_server_counts_it(tables):
    sessions = pair(tables)
    ask(sessions, "UPDATE several SET n = NULL WHERE id < 10")
    text = "INSERT INTO several (a, b, n) VALUES ({0}, 'x', 1) ON DUPLICATE KEY UPDATE n = several.n, d = d"
    before = fast(tables)
    for number in range(1, 9):
        ask(sessions, text.format(number))
        ask(sessions, "SELECT ROW_COUNT(), LAST_INSERT_ID()")
    assert fast(tables) > before
    same_tables(tables, random_new_rows.READS)
