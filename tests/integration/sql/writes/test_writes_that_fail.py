"""Storage engine calls that fail under the SQL door's writes, before or after they changed the row.

The library that is loaded here makes them fail as the column `fault` of a row requests (src/engine/mariadb/testing);
the server's own calls succeed. So statements left to the server end as at its own port, and a lost one is reported as
lost, never as anything else.
"""
import random

import pytest
from support.faults import faults
from support import replica as replicas
from support.clients import sql_session
from support.random_input import seeds
from support.both_ports import LEFT_BEHIND, SIDES, ask, compare, fast, filled, learnt, pair, same_tables

# HA_ERR_RECORD_CHANGED, HA_ERR_LOCK_TABLE_FULL, HA_ERR_LOCK_DEADLOCK: InnoDB has rolled back its transaction.
LOST = {123: 1020, 147: 1206, 149: 1213}
# A transaction reports a foreign key's error (151) at once. A timed-out wait (146) leaves the row unchanged, except for
# the AUTO-INC lock, which test_writes_of_new_rows.py tests.
CODES = [code for code in faults.CODES if code != 151]
UNDONE = faults.UNDONE | {146}
TABLES = (
    "CREATE TABLE f (id INT PRIMARY KEY, k VARCHAR(20), n INT NOT NULL DEFAULT 0, fault VARCHAR(40), UNIQUE k (k))",
    "INSERT INTO f (id, k) SELECT seq, CONCAT('k', seq) FROM seq_1_to_60",
)
READS = {"f": "SELECT * FROM f ORDER BY id"}
TEXTS = (
    "UPDATE f SET n = n + 1, fault = ? WHERE id = ?",
    "UPDATE f SET fault = ?, n = n + 1 WHERE k = ?",
    "INSERT INTO f (fault, id, k) VALUES (?, ?, ?)",
    "INSERT INTO f (fault, id, k) VALUES (NULL, 1000, 'z'), (?, ?, ?) ON DUPLICATE KEY UPDATE n = n + 1",
    "INSERT INTO f (fault, id) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + 1, fault = VALUES(fault)",
    "INSERT IGNORE INTO f (fault, id, k) VALUES (?, ?, ?)",
    "REPLACE INTO f (fault, id, k) VALUES (?, ?, ?)",
    "REPLACE INTO f (fault, id) VALUES (?, ?)",
    "DELETE FROM f WHERE fault <> ? AND id = ?",
    "DELETE FROM f WHERE fault <> ? AND id IN (?, 33, 34, 50)",
    "UPDATE f SET fault = ?, n = n + 1 WHERE id IN (7, ?, 40)",
    "INSERT INTO f (fault, id, k) VALUES (?, ?, ?) RETURNING k, id",
    "INSERT INTO f (fault, id, k) VALUES (NULL, 1001, 'y'), (?, ?, ?) ON DUPLICATE KEY UPDATE n = n + 1 RETURNING *",
    "REPLACE INTO f (fault, id) VALUES (?, ?) RETURNING id",
    "DELETE FROM f WHERE fault <> ? AND id = ? RETURNING n",
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    options = ("--postern-verify=0", "--loose-postern-threads=1", "--binlog-format=ROW")
    with faults.faulty_and_follower(tmp_path_factory.mktemp("faults"), *options, postern_port=0) as pair:
        pair[0].execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
        yield pair


@pytest.fixture
def tables(servers):
    yield from filled(servers[0], TABLES)


def statement(chance, serial):
    text = chance.choice(TEXTS)
    fault, code = "fine", chance.choice(CODES + list(LOST) * 3)
    if chance.random() < 0.4:
        when = "before" if code in UNDONE else chance.choice(("before", "after"))
        fault = f"{chance.choice(('', 'once '))}{when} {code} {serial}"
    number = chance.randrange(1, 80)
    key = f"k{chance.randrange(1, 80)}"
    values = [fault, key if "WHERE k" in text else number, key]
    return text, values[: text.count("?")]


def error_of(answer):
    """The error in the last packet: rows may come before it."""
    while len(answer) > 4 + int.from_bytes(answer[:3], "little"):
        answer = answer[4 + int.from_bytes(answer[:3], "little") :]
    return int.from_bytes(answer[5:7], "little") if answer[4] == 0xFF else 0


def without_remarks(answer):
    """For a list of keys and so few rows, the optimizer's estimate decides whether the server scans the table."""
    if answer[4] != 0:
        return answer
    return answer[:7] + bytes([answer[7] & ~sql_session.REMARKS & 0xFF]) + answer[8:]


@pytest.mark.parametrize("seed", range(2))
def test_answers_agree_with_the_table(tables, servers, seed):
    chance = random.Random(seeds.chosen() + seed)
    door, port = sessions = pair(tables)
    within, lost, before = False, 0, fast(tables)
    for serial in range(1200):
        if chance.random() < 0.1:
            within = not within
            ask(sessions, "BEGIN" if within else chance.choice(("COMMIT", "ROLLBACK")))
        text, values = statement(chance, serial)
        prepared = chance.random() < 0.5
        texts = (text, values) if prepared else (sql_session.in_text(text, values),)
        answers = [one.execute(*texts) if prepared else one.query(*texts) for one in sessions]
        if " IN (" in text:
            answers = list(map(without_remarks, answers))
        if error_of(answers[0]) in LOST.values() and error_of(answers[1]) not in LOST.values():
            assert within, (texts, answers)
            lost, within = lost + 1, False
            port.query("ROLLBACK")
        else:
            compare(texts, answers)
    ask(sessions, "COMMIT")
    assert lost > 5 and fast(tables) - before > 100
    same_tables(tables, READS)
    replicas.catch_up(*servers)
    for database in SIDES.values():
        replicas.same(*servers, database)


CHANGES = (
    "UPDATE f SET n = 7, fault = {} WHERE id = 5",
    "INSERT INTO f (id, fault) VALUES (500, {})",
    "INSERT INTO f (id, fault) VALUES (5, {}) ON DUPLICATE KEY UPDATE fault = VALUES(fault)",
    "REPLACE INTO f (id, fault) VALUES (5, {})",
    "INSERT INTO f (id, fault) VALUES (500, {}) RETURNING n",
)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("code, told", LOST.items())
@pytest.mark.parametrize("change", CHANGES, ids=["update", "insert", "upsert", "replace", "returning"])
def test_a_lost_transaction_is_reported_and_over(tables, change, code, told, when):
    door, port = pair(tables)
    for session in (door, port):
        for _ in range(3):
            session.query(change.format("'fine'"))
            session.query("DELETE FROM f WHERE id = 500")
        session.query("UPDATE f SET n = 0, fault = NULL WHERE id = 5")
        session.query("SET sql_notes = 1")
    learnt(door, "UPDATE f SET n = n + 1 WHERE id = 6")
    learnt(port, "UPDATE f SET n = n + 1 WHERE id = 6")
    ask((door, port), "BEGIN")
    ask((door, port), "UPDATE f SET n = n + 1 WHERE id = 6")
    answer = door.query(change.format(f"'{when} {code}'"))
    assert error_of(answer) == told, answer
    assert b"@@in_transaction" in door.query("SELECT @@in_transaction") and port.query("ROLLBACK")
    compare("over", [one.query("SELECT @@in_transaction, LAST_INSERT_ID()") for one in (door, port)])
    # This write is not part of the transaction, and lasts.
    ask((door, port), "UPDATE f SET n = n + 1 WHERE id = 6")
    ask((door, port), "ROLLBACK")
    assert tables.query("SELECT n FROM f WHERE id IN (5, 6)", database="by_door") == [(0,), (4,)]
    same_tables(tables, READS)


READ_FIRST = (
    "DELETE FROM f WHERE id = 5",
    "DELETE FROM f WHERE id = 5 RETURNING n",
    "UPDATE f SET n = n + 1 WHERE k = 'k5'",
    "DELETE FROM f WHERE k = 'k5' AND n < 1000",
    "SELECT n FROM f WHERE id = 5 FOR UPDATE",
    "SELECT n FROM f WHERE k = 'k5' LOCK IN SHARE MODE",
)


@pytest.mark.parametrize("change", (*CHANGES, *READ_FIRST))
def test_a_transaction_that_innodb_ends_is_reported_as_by_the_server(tables, change):
    """Compares the session's state, too: innodb_snapshot_isolation refuses rows that have changed since."""
    sessions = pair(tables)
    change = change.format("'fine'").replace("500", "6")
    for number in range(3):
        for session in sessions:
            session.query(change.replace("5", str(20 + number)).replace("6", str(30 + number)))
    ask(sessions, "SET innodb_snapshot_isolation = ON")
    ask(sessions, "BEGIN")
    ask(sessions, "SELECT * FROM f WHERE id = 5")
    for database in SIDES.values():
        tables.execute("UPDATE f SET n = n + 1 WHERE id IN (5, 6)", database=database)
    ask(sessions, "UPDATE f SET n = 9 WHERE id = 50")
    ask(sessions, change)
    for left in (*LEFT_BEHIND[:2], "SELECT @@in_transaction", "SHOW ERRORS"):
        ask(sessions, left)
    ask(sessions, "SELECT * FROM f WHERE id IN (5, 50) ORDER BY id")
    ask(sessions, "COMMIT")
    same_tables(tables, READS)
