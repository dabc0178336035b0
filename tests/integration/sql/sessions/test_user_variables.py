"""User variables as values: a worker uses the integer that the session has in one, and the server does everything
else."""
import pytest
from support.random_input.planned_once import fast, packets, plain, sessions  # noqa: F401

TABLE = (
    "CREATE OR REPLACE TABLE v (id INT PRIMARY KEY, big BIGINT UNSIGNED, n TINYINT, d DECIMAL(9,2), name VARCHAR(20), KEY (big),"
    " KEY (name))",
    "INSERT INTO v SELECT seq, seq, seq % 50, seq / 4, CONCAT('name', seq) FROM seq_1_to_400",
    "ANALYZE TABLE v",
)
VALUES = (
    "5",
    "-5",
    "NULL",
    "'5'",
    "5.0",
    "5e0",
    "18446744073709551615",
    "2147483648",
    "LAST_INSERT_ID()",
    "'name5'",
    "_binary'name5'",
    "_latin1'name5' COLLATE latin1_bin",
    "0x35",
    "TRUE",
    "300",
)
READS = (
    "SELECT * FROM v WHERE id = @x",
    "SELECT id, name FROM v WHERE id IN (@x, 7)",
    "SELECT id FROM v WHERE big = @x",
    "SELECT id FROM v WHERE id > @X ORDER BY id LIMIT 2",
    "SELECT id FROM v WHERE id = @x + 1",
    "SELECT id FROM v WHERE name = @x",
    "SELECT id FROM v WHERE id = 5 AND d > @x",
    "SELECT id FROM v WHERE id = 5 AND n = @y",
    "SELECT name FROM v WHERE id = 7 LIMIT @x",
)
WRITES = (
    "UPDATE v SET big = @x WHERE id = 9",
    "UPDATE v SET n = n + @x WHERE id = 9",
    "UPDATE v SET name = @x, d = @x WHERE id = 9",
    "UPDATE v SET d = 1 WHERE id = @x",
    "DELETE FROM v WHERE id = @x",
    "INSERT INTO v (id, big, n) VALUES (401, @x, 3)",
    "INSERT INTO v (id, n) VALUES (5, 1) ON DUPLICATE KEY UPDATE n = @x",
    "INSERT IGNORE INTO v (id, n, name) VALUES (@x, 1, 'new')",
)


# Forms used only here: a form with changed values is left to the server for a while.
INTEGERS = (
    "SELECT id, n FROM v WHERE id = @x",
    "SELECT big FROM v WHERE big = @x",
    "SELECT id, d FROM v WHERE id = @x + 1",
    "UPDATE v SET big = @x, n = 1 WHERE id = 9",
    "UPDATE v SET n = 2 + @x WHERE id = 9",
    "INSERT IGNORE INTO v (id, big) VALUES (@x, @x)",
)


@pytest.fixture(scope="module")
def table(plain):
    plain.execute(*TABLE, database="test")
    return plain


def each(pair, text):
    answers = [packets(one.query(text), True) for one in pair]
    assert answers[0] == answers[1], text
    return answers[0]


@pytest.mark.parametrize("text", READS)
def test_reads_are_those_of_the_port(table, text):
    pair = sessions(table)
    for value in VALUES:
        each(pair, f"SET @x = {value}")
        for _ in range(3):
            each(pair, text)
            each(pair, "SHOW WARNINGS")


@pytest.mark.parametrize("text", WRITES)
def test_writes_are_those_of_the_port(table, text):
    pair = sessions(table)
    for mode in ("", "STRICT_TRANS_TABLES"):
        each(pair, f"SET sql_mode = '{mode}'")
        for value in VALUES:
            each(pair, f"SET @x = {value}")
            for _ in range(3):
                told = []
                for one in pair:
                    one.query("BEGIN")
                    told.append(
                        [
                            one.query(text),
                            one.query("SHOW WARNINGS"),
                            one.query("SELECT * FROM v WHERE id IN (5, 9, 401)"),
                        ]
                    )
                    told[-1] += [
                        one.query("SELECT COUNT(*), SUM(id), SUM(n) FROM v"),
                        one.query("SELECT LAST_INSERT_ID(), ROW_COUNT()"),
                    ]
                    one.query("ROLLBACK")
                assert told[0] == told[1], (text, value)


def test_integers_are_answered_by_workers(table):
    door = sessions(table)[0]
    door.query("SET @x = 5")
    for text in INTEGERS:
        door.query("BEGIN")
        for _ in range(8):
            door.query(text)
        before = fast(table)
        door.query(text)
        assert fast(table) == before + 1, text
        door.query("ROLLBACK")
    # Each session has its own variables.
    other = sessions(table)[0]
    other.query("SET @x = 6")
    assert door.query(INTEGERS[0]) != other.query(INTEGERS[0])
    before = fast(table)
    door.query(INTEGERS[3])
    assert fast(table) == before, "a worker's shared transaction has no variables"
