"""Upserts, REPLACE, INSERT IGNORE, UPDATE and DELETE over tables with triggers, generated columns, foreign keys and several
unique keys: answers, tables and sessions as on the server's own port, whether a worker or the server runs them.

SEED=N in the environment repeats a run's choices, STATEMENTS=N makes it longer.
"""
import os
import random

import pytest
from support.clients import sql_session
from support.random_input import seeds
from support.both_ports import LEFT_BEHIND, ask, ask_by_chance, fast, filled, pair, same_tables
from support.both_ports import served  # noqa: F401

STATEMENTS = int(os.environ.get("STATEMENTS") or 1200)
TABLES = (
    "SET foreign_key_checks = 0",
    "CREATE OR REPLACE TABLE log (no INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40))",
    "CREATE OR REPLACE TABLE trig (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(8), n INT NOT NULL DEFAULT 1, UNIQUE a (a))",
    *(
        f"CREATE TRIGGER {name} {when} ON trig FOR EACH ROW {does}"
        for name, when, does in (
            ("bi", "BEFORE INSERT", "SET NEW.n = NEW.n + 1"),
            ("ai", "AFTER INSERT", "INSERT INTO log (what) VALUES (CONCAT('i', NEW.id))"),
            ("au", "AFTER UPDATE", "INSERT INTO log (what) VALUES (CONCAT('u', OLD.n, NEW.n))"),
            ("ad", "AFTER DELETE", "INSERT INTO log (what) VALUES (CONCAT('d', OLD.id))"),
        )
    ),
    "CREATE OR REPLACE TABLE gen (id INT PRIMARY KEY, a INT, v INT AS (a * 2) VIRTUAL, s VARCHAR(20) AS (CONCAT('s', a)) STORED,"
    " UNIQUE a (a), KEY v (v))",
    "CREATE OR REPLACE TABLE parent (id INT PRIMARY KEY, n INT)",
    "CREATE OR REPLACE TABLE child (id INT PRIMARY KEY, p INT, a VARCHAR(8), UNIQUE a (a),"
    " FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE OR REPLACE TABLE keep (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
    "CREATE OR REPLACE TABLE many (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(8), c INT, n INT DEFAULT 0,"
    " UNIQUE a (a), UNIQUE b (b), UNIQUE bc (b, c), CHECK (n < 50))",
    "SET foreign_key_checks = 1",
    "INSERT INTO trig (a) SELECT CONCAT('a', seq) FROM seq_1_to_40",
    "INSERT INTO gen (id, a) SELECT seq, seq FROM seq_1_to_40",
    "INSERT INTO parent SELECT seq, seq FROM seq_1_to_40",
    "INSERT INTO child (id, p, a) SELECT seq, seq, CONCAT('a', seq) FROM seq_1_to_40",
    "INSERT INTO keep SELECT seq, seq FROM seq_1_to_10",
    "INSERT INTO many (a, b, c) SELECT seq, CONCAT('a', seq), seq FROM seq_1_to_40",
)
READS = {
    table: f"SELECT * FROM {table} ORDER BY 1" for table in ("log", "trig", "gen", "parent", "child", "keep", "many")
}
FORMS = (
    "INSERT INTO trig (a, n) VALUES ({w}, {i}) ON DUPLICATE KEY UPDATE n = n + {i}",
    "INSERT INTO trig (id, a) VALUES ({i}, {w}) ON DUPLICATE KEY UPDATE a = VALUES(a)",
    "INSERT IGNORE INTO trig (id, a) VALUES ({i}, {w})",
    "REPLACE INTO trig (id, a, n) VALUES ({i}, {w}, {i})",
    "UPDATE trig SET n = {i} WHERE id = {i}",
    "UPDATE trig SET a = {w} WHERE id = {i}",
    "DELETE FROM trig WHERE id = {i}",
    "INSERT INTO gen (id, a) VALUES ({i}, {i}) ON DUPLICATE KEY UPDATE a = VALUES(a) + {i}",
    "INSERT INTO gen (id, a) VALUES ({i}, {i}) ON DUPLICATE KEY UPDATE a = {i}",
    "INSERT IGNORE INTO gen (id, a) VALUES ({i}, {i})",
    "REPLACE INTO gen (id, a) VALUES ({i}, {i})",
    "INSERT INTO gen (id, a, v) VALUES ({i}, {i}, {i})",
    "INSERT INTO gen (id, a, v) VALUES ({i}, {i}, DEFAULT)",
    "UPDATE gen SET a = {i} WHERE id = {i}",
    "DELETE FROM gen WHERE a = {i}",
    "INSERT INTO child (id, p, a) VALUES ({i}, {i}, {w}) ON DUPLICATE KEY UPDATE p = VALUES(p)",
    "INSERT IGNORE INTO child (id, p, a) VALUES ({i}, {i}, {w})",
    "REPLACE INTO child (id, p, a) VALUES ({i}, {i}, {w})",
    "UPDATE child SET p = {i} WHERE id = {i}",
    "INSERT INTO parent (id, n) VALUES ({i}, {i}) ON DUPLICATE KEY UPDATE n = {i}",
    "INSERT INTO parent (id, n) VALUES ({i}, {i}) ON DUPLICATE KEY UPDATE id = {i}",
    "REPLACE INTO parent (id, n) VALUES ({i}, {i})",
    "UPDATE parent SET id = {i} WHERE id = {i}",
    "UPDATE parent SET n = {i} WHERE id = {i}",
    "DELETE FROM parent WHERE id = {i}",
    "INSERT INTO keep VALUES ({i}, {i}) ON DUPLICATE KEY UPDATE p = VALUES(p)",
    "INSERT IGNORE INTO keep VALUES ({i}, {i})",
    "REPLACE INTO keep VALUES ({i}, {i})",
    "INSERT INTO many (a, b, c) VALUES ({i}, {w}, {i}) ON DUPLICATE KEY UPDATE n = n + 1",
    "INSERT INTO many (a, b, c) VALUES ({i}, {w}, {i}) ON DUPLICATE KEY UPDATE a = {i}, b = {w}",
    "INSERT INTO many (a, b, c) VALUES ({i}, {w}, {i}), ({i}, {w}, {i}) ON DUPLICATE KEY UPDATE c = VALUES(c), n = n + 3",
    "INSERT INTO many (a, b, c) VALUES ({i}, {w}, {i}) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = n + 1",
    "INSERT INTO many (id, a, b, n) VALUES ({i}, {i}, {w}, {i}) ON DUPLICATE KEY UPDATE n = VALUES(n)",
    "INSERT IGNORE INTO many (a, b, n) VALUES ({i}, {w}, {i})",
    "INSERT IGNORE INTO many (a, b, n) VALUES ({i}, {w}, {i}), ({i}, {w}, {i})",
    "REPLACE INTO many (a, b, c) VALUES ({i}, {w}, {i})",
    "REPLACE INTO many (id, a, b, n) VALUES ({i}, {i}, {w}, {i})",
    "REPLACE INTO many (a, b) VALUES ({i}, {w}), ({i}, {w})",
)
SETTINGS = (
    "SET insert_id = 77",
    "SET insert_id = 20",
    "SET sql_mode = ''",
    "SET sql_mode = DEFAULT",
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
    "SET foreign_key_checks = 0",
    "SET foreign_key_checks = 1",
    "SET check_constraint_checks = 0",
    "SET check_constraint_checks = 1",
    "SET unique_checks = 0",
    "SET unique_checks = 1",
    "SET auto_increment_increment = 3",
    "SET auto_increment_increment = 1",
    "SET last_insert_id = 5",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO SAVEPOINT s",
)
USUAL = (
    "COMMIT",
    "SET sql_mode = DEFAULT, foreign_key_checks = 1, check_constraint_checks = 1, unique_checks = 1",
    "SET auto_increment_increment = 1, insert_id = 0, last_insert_id = 0",
)


def usual(sessions):
    for statement in USUAL:
        ask(sessions, statement)


@pytest.mark.parametrize(
    "capabilities", [0, sql_session.FOUND_ROWS, sql_session.SESSION_TRACK], ids=["plain", "found_rows", "tracked"]
)
def test_random_writes_are_done_alike(served, capabilities):
    seed = seeds.chosen()
    chance = random.Random(seed)
    for tables in filled(served, TABLES):
        sessions, before = pair(tables, capabilities), fast(tables)
        for _ in range(STATEMENTS):
            if chance.random() < 0.04:
                ask(sessions, chance.choice(SETTINGS))
            elif chance.random() < 0.05:
                usual(sessions)
            form, values = chance.choice(FORMS), []

            def value(kind):
                odd = chance.random()
                if odd < 0.03:
                    return None
                number = chance.randrange(1, 60) if odd < 0.95 else chance.choice([0, -1, 2147483647, 2147483648])
                return number if kind == "i" else f"a{number}"

            while "{" in form:
                at = form.index("{")
                values.append(value(form[at + 1]))
                form = form[:at] + "?" + form[at + 3 :]
            ask_by_chance(sessions, chance, form, values)
            if chance.random() < 0.3:
                for left in LEFT_BEHIND[:2]:
                    ask(sessions, left)
            if chance.random() < 0.05:
                ask(
                    sessions,
                    "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_write', 'Handler_update', 'Handler_delete')",
                )
        usual(sessions)
        assert fast(tables) - before > STATEMENTS / 40
        same_tables(tables, READS)
        tables.assert_alive()
