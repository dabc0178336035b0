"""Tables that workers keep open, while transactions with older snapshots go on over every kind of ALTER TABLE, and with
small table caches."""
import random

import pytest

from support.both_ports import SIDES, ask, fast, filled, pair
from support.both_ports import served  # noqa: F401

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w INT, note MEDIUMTEXT, KEY w (w))",
    "INSERT INTO t SELECT seq, CONCAT('v', seq), seq % 7, IF(seq % 3, REPEAT('n', 3000 * seq), NULL) FROM seq_1_to_60",
    "CREATE TABLE u (id INT PRIMARY KEY, n INT)",
    "INSERT INTO u SELECT seq, seq FROM seq_1_to_9",
    "ANALYZE TABLE t, u",
)
BESIDE = "SELECT n FROM u WHERE id = 4"
READS = (
    "SELECT v, w FROM t WHERE id = 7",
    "SELECT id, note FROM t WHERE id = 8",
    "SELECT * FROM t WHERE id = 9",
    "SELECT id, v FROM t WHERE id IN (3, 5, 11) ORDER BY id",
    "SELECT COUNT(*) FROM t WHERE w = 3",
    BESIDE,
)
ALTERS = (
    "ADD COLUMN z INT DEFAULT 3, ALGORITHM = INSTANT",
    "ADD COLUMN z2 INT DEFAULT 3 FIRST, ALGORITHM = INSTANT",
    "DROP COLUMN z, ALGORITHM = INSTANT",
    "ADD COLUMN g INT AS (w + 1) VIRTUAL",
    "ADD COLUMN gs INT AS (w + 1) STORED",
    "DROP COLUMN g",
    "ADD INDEX n1 (v), ALGORITHM = INPLACE, LOCK = NONE",
    "ADD COLUMN k INT NOT NULL DEFAULT 9, ALGORITHM = INPLACE, LOCK = NONE",
    "FORCE, ALGORITHM = INPLACE",
    "RENAME COLUMN w TO w9",
    "RENAME COLUMN w9 TO w",
    "MODIFY v VARCHAR(300)",
    "MODIFY COLUMN w BIGINT",
    "DROP INDEX n1",
    "ADD CONSTRAINT c CHECK (id > 0)",
    "DROP COLUMN gs",
    "ADD SYSTEM VERSIONING",
    "DROP SYSTEM VERSIONING",
    "ROW_FORMAT = COMPRESSED",
    "ROW_FORMAT = DYNAMIC",
    "PARTITION BY HASH (id) PARTITIONS 3",
    "REMOVE PARTITIONING",
    "ENGINE = MyISAM",
    "ENGINE = InnoDB",
    "DISCARD TABLESPACE",
)
OF_MANY = (
    "SELECT v FROM m{} WHERE id = 1",
    "SELECT id FROM m{} WHERE v = 'b'",
    "SELECT COUNT(*) FROM m{} WHERE id = 2",
)


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


def change(server, text):
    """At both sides, on the server's own port."""
    server.execute(*(text.replace("#", database) for database in SIDES.values()))


def test_snapshots_older_than_every_alter(tables):
    newer, older = pair(tables), pair(tables)
    for _ in range(6):
        for text in READS:
            ask(newer, text)
    before = fast(tables)
    for alter in ALTERS:
        ask(older, "ROLLBACK")
        ask(older, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        ask(older, BESIDE)
        change(tables, "UPDATE #.t SET v = CONCAT(LEFT(v, 6), '+') WHERE id < 12")
        change(tables, "ALTER TABLE #.t " + alter)
        for _ in range(4):
            for text in READS:
                ask(newer, text)
                ask(older, text)
    assert fast(tables) - before > 100
    ask(older, "ROLLBACK")
    change(tables, "DROP TABLE #.t")
    for text in READS:
        ask(newer, text)


def test_more_tables_than_caches_hold(tables):
    """More than a worker keeps, too."""
    count = 150
    caches = {name: tables.query(f"SELECT @@{name}")[0][0] for name in ("table_open_cache", "table_definition_cache")}
    tables.execute("SET GLOBAL table_open_cache = 10", "SET GLOBAL table_definition_cache = 400")
    try:
        for number in range(count):
            change(tables, f"CREATE TABLE #.m{number} (id INT PRIMARY KEY, v VARCHAR(9), KEY (v))")
            change(tables, f"INSERT INTO #.m{number} VALUES (1, 'a{number}'), (2, 'b'), (3, NULL)")
        sessions = pair(tables)
        for number in range(count):
            for text in OF_MANY * 4:
                ask(sessions, text.format(number))
        before = fast(tables)
        chance = random.Random(4)
        for step in range(2000):
            number = chance.randrange(count)
            ask(sessions, chance.choice(OF_MANY).format(number))
            if step % 300 == 0:
                change(tables, f"ALTER TABLE #.m{number} COMMENT = '{step}'")
            if step % 431 == 0:
                change(tables, f"OPTIMIZE TABLE #.m{number}")
            if step % 700 == 0:
                tables.execute("FLUSH TABLES")
        assert fast(tables) - before > 500
    finally:
        tables.execute(*(f"SET GLOBAL {name} = {size}" for name, size in caches.items()))
