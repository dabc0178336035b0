"""LAST_INSERT_ID() and CONNECTION_ID() as values: each session has its own."""
import pytest
from support.random_input.planned_once import fast, packets, plain, sessions  # noqa: F401

TABLE = (
    "CREATE OR REPLACE TABLE v (id INT PRIMARY KEY, big BIGINT UNSIGNED, n TINYINT, d DECIMAL(9,2), f DOUBLE, name VARCHAR(20),"
    " KEY (big), KEY (name))",
    "INSERT INTO v SELECT seq, seq, CAST(seq % 50 AS SIGNED) - 25, seq / 4, seq, CONCAT('name', seq) FROM seq_1_to_400",
    "CREATE OR REPLACE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT, name VARCHAR(20) UNIQUE, n INT DEFAULT 0)",
    "ANALYZE TABLE v",
)
NUMBERS = {
    "LAST_INSERT_ID()": "DO LAST_INSERT_ID(%d)",
    "CONNECTION_ID()": "SET pseudo_thread_id = %d",
}
VALUES = (5, 0, 30, 300, 70000, 7)
READS = (
    "SELECT * FROM v WHERE id = {}",
    "SELECT id, name FROM v WHERE id IN ({}, 7)",
    "SELECT id FROM v WHERE big = {}",
    "SELECT id FROM v WHERE id > {} ORDER BY id LIMIT 2",
    "SELECT id FROM v WHERE id = {} - 1",
    "SELECT id FROM v WHERE name = {}",
    "SELECT id FROM v WHERE id = 5 AND d > {}",
    "SELECT id FROM v WHERE n = {} AND id < 90",
)
WRITES = (
    "UPDATE v SET big = {} WHERE id = 9",
    "UPDATE v SET n = n + {} WHERE id = 9",
    "UPDATE v SET n = {} - 3 WHERE id = 9",
    "UPDATE v SET d = {}, f = {} WHERE id = 30",
    "UPDATE v SET name = {} WHERE id = 9",
    "UPDATE v SET d = 1 WHERE id = {}",
    "DELETE FROM v WHERE id = {}",
    "INSERT INTO child (parent, name) VALUES ({}, 'a'), ({} + 1, 'b')",
    "INSERT INTO child (id, name) VALUES ({}, 'c')",
    "INSERT INTO child (parent, name) VALUES (1, 'd'), ({}, 'd') ON DUPLICATE KEY UPDATE parent = {}",
    "INSERT INTO child (id, parent, name) VALUES (900, 1, 'e'), (901, {}, 'e'), (902, {}, 'f')"
    " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = {}",
    "REPLACE INTO child (id, parent) VALUES (3, {})",
)


@pytest.fixture(scope="module")
def table(plain):
    plain.execute(*TABLE, database="test")
    return plain


def each(pair, text):
    answers = [packets(one.query(text), "ORDER BY" in text) for one in pair]
    assert answers[0] == answers[1], text
    return answers[0]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("text", READS)
def test_reads_are_those_of_the_port(table, text, number):
    pair = sessions(table)
    for value in VALUES:
        each(pair, NUMBERS[number] % value)
        for _ in range(3):
            each(pair, text.format(number))
            each(pair, "SHOW WARNINGS")


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("text", WRITES)
def test_writes_are_those_of_the_port(table, text, number):
    pair, text = sessions(table), text.replace("{}", number)
    for mode in ("", "STRICT_TRANS_TABLES"):
        each(pair, f"SET sql_mode = '{mode}'")
        for value in VALUES * 2:
            told = []
            for one in pair:
                one.query(NUMBERS[number] % value)
                one.query("BEGIN")
                told.append([one.query(text), one.query("SHOW WARNINGS")])
                told[-1].append(one.query("SELECT * FROM v WHERE id IN (5, 9, 30) ORDER BY id"))
                told[-1].append(one.query("SELECT parent, name, n FROM child ORDER BY id"))
                told[-1].append(one.query("SELECT COUNT(*), SUM(id), SUM(n) FROM v"))
                if "child" not in text:  # each port generates ids of its own
                    told[-1].append(one.query("SELECT LAST_INSERT_ID(), ROW_COUNT()"))
                one.query("ROLLBACK")
            if "child" in text:
                told = [[packet_without_ids(told[at][0]), *told[at][1:]] for at in range(2)]
            assert told[0] == told[1], (text, value)


def packet_without_ids(packet):
    """The packet without generated ids, which the ports take in turn: only OK or an error is compared."""
    return packet if packet[4:5] == b"\xff" else packet[4:6]


def test_numbers_are_answered_by_workers(table):
    door = sessions(table)[0]
    for number, usual in NUMBERS.items():
        for text in ("SELECT id, n FROM v WHERE id = {}", "UPDATE v SET big = {}, n = 1 WHERE id = 9"):
            said = text.format(number)
            door.query("BEGIN")
            for _ in range(8):
                door.query(usual % 5)
                door.query(said)
            before = fast(table)
            door.query(said)
            assert fast(table) == before + 1, said
            door.query("ROLLBACK")
    # Under autocommit the server writes: the transaction that a worker's clients share has no session.
    before = fast(table)
    door.query("UPDATE v SET big = LAST_INSERT_ID(), n = 1 WHERE id = 9")
    assert fast(table) == before


def test_a_parent_and_its_children(table):
    """The next statement uses each generated id."""
    table.execute(
        TABLE[2],
        "CREATE OR REPLACE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9))",
        database="test",
    )
    door = sessions(table)[0]
    for number in range(12):
        table.execute("DELETE FROM child", database="test")
        door.query("BEGIN")
        door.query(f"INSERT INTO parent (name) VALUES ('p{number}')")
        door.query("INSERT INTO child (parent, name) VALUES (LAST_INSERT_ID(), 'one'), (LAST_INSERT_ID(), 'two')")
        door.query("UPDATE parent SET name = CONCAT('x', '') WHERE id = 0")
        door.query("COMMIT")
        rows = table.query(
            "SELECT p.name, c.name FROM test.child c JOIN test.parent p ON p.id = c.parent ORDER BY c.id"
        )
        assert [tuple(row) for row in rows] == [(f"p{number}", "one"), (f"p{number}", "two")]


def test_prepared_statements_have_the_number_of_their_execution(table):
    pair = sessions(table)
    insert = "INSERT INTO child (parent, name) VALUES (LAST_INSERT_ID(), ?), (LAST_INSERT_ID() + ?, 'z')"
    before = fast(table)
    told = []
    for one in pair:
        rows = []
        for value in VALUES * 3:
            one.query("BEGIN")
            one.query("DELETE FROM child")
            one.query(f"DO LAST_INSERT_ID({value})")
            answer = one.execute(insert, (f"n{value}", value))
            assert answer[4:5] == b"\0", answer
            one.query(f"DO LAST_INSERT_ID({value})")
            rows.append([one.execute("SELECT id, n FROM v WHERE id = LAST_INSERT_ID() AND n < ?", (100,))])
            rows.append([one.query("SELECT parent, name FROM child ORDER BY name")])
            one.query("ROLLBACK")
        told.append(rows)
    assert told[0] == told[1]
    assert fast(table) > before + 2 * len(VALUES)
