"""Triggers fire for writes through the door as they do for SQL."""
from support.like_sql import Change, Delete, Insert, Update
from support.random_input.special_tables import BASE, EVERY, LOG, OLD, PARENT, ROWS, Cases, old_new, triggers

CASES = Cases()

CASES.add(
    "triggers that write a log",
    [
        BASE,
        LOG,
        ROWS,
        *triggers(
            lambda moment, event: f"INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{moment} {event}', {old_new(event)}))"
        ),
    ],
    *EVERY,
)
CASES.add(
    "triggers that change the row",
    [
        BASE,
        ROWS,
        *triggers(
            lambda *_: "SET NEW.v = CONCAT(UPPER(NEW.v), NEW.k), NEW.n = IFNULL(NEW.n, 0) + 100",
            ("INSERT", "UPDATE"),
            ("BEFORE",),
        ),
    ],
    *EVERY,
)
CASES.add(
    "triggers that change the key",
    [
        BASE,
        ROWS,
        "CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.k = NEW.k + 100",
        "CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW SET NEW.k = OLD.k + 1000",
    ],
    *EVERY,
)
CASES.add(
    "triggers that break the row",
    [
        BASE.replace("n INT", "n INT CHECK (n < 50)"),
        ROWS,
        *triggers(
            lambda *_: "SET NEW.n = IF(NEW.v = 'new', 99, NEW.n), NEW.v = IF(NEW.k = 10, REPEAT('x', 30), NEW.v)",
            ("INSERT", "UPDATE"),
            ("BEFORE",),
        ),
    ],
    *EVERY,
)
for when in ("BEFORE", "AFTER"):
    for event in ("INSERT", "UPDATE", "DELETE"):
        row = "OLD" if event == "DELETE" else "NEW"
        CASES.add(
            f"refusing {when.lower()} {event.lower()}",
            [
                BASE,
                LOG,
                ROWS,
                *triggers(lambda moment, which: f"INSERT INTO log (what) VALUES ('{moment} {which}')"),
                f"CREATE TRIGGER refuse {when} {event} ON t FOR EACH ROW BEGIN INSERT INTO log (what) VALUES ('asked');"
                f" IF {row}.k IN (1, 3, 10) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this row', MYSQL_ERRNO ="
                f" 4711; END IF; END",
            ],
            *EVERY,
        )
CASES.add(
    "triggers that fail in another table",
    [
        BASE,
        "CREATE TABLE o (k INT PRIMARY KEY)",
        "INSERT INTO o VALUES (10), (3)",
        ROWS,
        "CREATE TRIGGER i AFTER INSERT ON t FOR EACH ROW INSERT INTO o VALUES (NEW.k)",
        "CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW INSERT INTO o VALUES (NEW.k)",
    ],
    *EVERY,
)
CASES.add(
    "triggers with routines and queries",
    [
        BASE,
        LOG,
        ROWS,
        "CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC RETURN x * 2",
        "CREATE PROCEDURE note(text VARCHAR(100)) INSERT INTO log (what) VALUES (text)",
        "CREATE TRIGGER i BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.n = (SELECT MAX(twice(n)) FROM log, t AS other"
        " WHERE log.id > 0); CALL note(NEW.v); END",
        "CREATE TRIGGER u AFTER UPDATE ON t FOR EACH ROW CALL note(CONCAT(OLD.n, NEW.n))",
    ],
    *EVERY,
)
CASES.add(
    "several triggers in order",
    [
        BASE,
        ROWS,
        "CREATE TRIGGER a BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = CONCAT(NEW.v, '1')",
        "CREATE TRIGGER c BEFORE UPDATE ON t FOR EACH ROW FOLLOWS a SET NEW.v = CONCAT(NEW.v, '2')",
        "CREATE TRIGGER b BEFORE UPDATE ON t FOR EACH ROW PRECEDES a SET NEW.v = CONCAT(NEW.v, '0')",
    ],
    *EVERY,
)
CASES.add(
    "a trigger fills what may not be NULL",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO t VALUES (1, 1)",
        "CREATE TRIGGER i BEFORE INSERT ON t FOR EACH ROW SET NEW.v = IFNULL(NEW.v, NEW.k * 10)",
        "CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = IF(NEW.k = 1, NEW.v, 5)",
    ],
    Insert("t", k=b"2", v=None),
    Insert("t", k=b"3"),
    Insert("t", k=b"4", v=b"4"),
    Insert("t", k=None, v=b"4"),
    Update("t", b"2", v=None),
    Update("t", b"1", v=None),
)
CASES.add(
    "triggers and generated columns",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, a INT, s INT AS (a * 2) STORED, v INT AS (a * 3) VIRTUAL, KEY (v))",
        LOG,
        "INSERT INTO t (k, a) VALUES (1, 1)",
        "CREATE TRIGGER bi BEFORE INSERT ON t FOR EACH ROW SET NEW.a = NEW.a + 1",
        "CREATE TRIGGER ai AFTER INSERT ON t FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT(NEW.s, '/', NEW.v))",
        "CREATE TRIGGER bu BEFORE UPDATE ON t FOR EACH ROW SET NEW.a = NEW.a * 10",
        "CREATE TRIGGER ad AFTER DELETE ON t FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT(OLD.s, '-', OLD.v))",
    ],
    Insert("t", k=b"2", a=b"2"),
    Update("t", b"1", a=b"3"),
    Delete("t", b"2"),
    queries=["SELECT k, v FROM t FORCE INDEX (v) WHERE v > 0"],
)
CASES.add(
    "triggers and auto-increment",
    [
        "CREATE TABLE t (k INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        LOG,
        "CREATE TRIGGER bi BEFORE INSERT ON t FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT('before ', NEW.k))",
        "CREATE TRIGGER ai AFTER INSERT ON t FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT('after ', NEW.k))",
    ],
    Insert("t", v=b"1"),
    Insert("t", k=b"9", v=b"2"),
    Insert("t", k=None, v=b"3"),
)
CASES.add(
    "triggers and current timestamps",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, v INT, ts DATETIME DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP)",
        "INSERT INTO t (k, v) VALUES (1, 1), (2, 2), (3, 3)",
        "CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = IF(OLD.k = 1, OLD.v, NEW.v), NEW.ts = IF(OLD.k = 2,"
        " '2021-01-01', NEW.ts)",
    ],
    Update("t", b"1", v=b"5"),
    Update("t", b"2", v=b"5"),
    Update("t", b"3", v=b"5"),
)
CASES.add(
    "cascades fire no triggers",
    [
        PARENT,
        "CREATE TABLE t (k INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
        LOG,
        "CREATE TRIGGER d AFTER DELETE ON t FOR EACH ROW INSERT INTO log (what) VALUES ('gone')",
        "INSERT INTO p VALUES (1, 'a')",
        "INSERT INTO t VALUES (1, 1), (2, 1)",
    ],
    Delete("t", b"2"),
    Delete("p", b"1"),
)


@CASES.each
def test_table(twins, name, together):
    CASES.play(twins, name, together)
