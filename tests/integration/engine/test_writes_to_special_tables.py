"""Defaults, constraints, generated columns, triggers, foreign keys, history, partitions, other storage engines: a table
that was written to through the door is as SQL would have left it.

Each case is played one request at a time and with all requests at once. With POSTERN_TEST_STAND_IN=1 the door is SQL
itself, to prove the comparison.
"""
import os

import pytest
from support.like_sql import Change, Delete, Insert, Twins, Update

STAND_IN = bool(os.environ.get("POSTERN_TEST_STAND_IN"))
OLD = b"2020-01-01 00:00:00"
MIB = 1 << 20


@pytest.fixture
def twins(server):
    both = Twins(server, STAND_IN)
    yield both
    both.close()


CASES = {}


def case(name, make, *ops, queries=()):
    assert name not in CASES
    CASES[name] = [make] if isinstance(make, str) else make, ops, queries


def play(twins, name, together):
    make, ops, queries = CASES[name]
    twins.make(*make)
    for some in [ops] if together else [[op] for op in ops]:
        twins.run(some)
    for sql in queries:
        twins.query(sql)
    twins.assert_same()


# --- defaults ----------------------------------------------------------------------------------------------------

case(
    "constant defaults",
    "CREATE TABLE t (k INT PRIMARY KEY, a INT DEFAULT 7, b VARCHAR(9) DEFAULT 'é', c INT, d DATE DEFAULT"
    " '2020-02-02', e ENUM('x','y') DEFAULT 'y',"
    " f BIT(4) DEFAULT b'101', g DECIMAL(4,2) DEFAULT 1.5, h TEXT DEFAULT 'text', i BLOB DEFAULT x'00ff', j INT NOT"
    " NULL DEFAULT 5)",
    Insert("t", k=b"1"),
    Insert("t", k=b"2", c=b"3"),
    Insert("t", k=b"3", a=None, j=b"1"),
    Insert("t", k=b"4", a=b"", j=b"1"),
    Insert("t", k=b"5", j=None),
    Insert("t", c=b"1", k=b"6", i=b"\0"),
)
case(
    "expression defaults",
    [
        "CREATE SEQUENCE s",
        "CREATE TABLE t (k INT PRIMARY KEY, a INT DEFAULT (1 + 2), b INT DEFAULT (k * 10), c VARCHAR(20) DEFAULT"
        " (CONCAT('x', k)), d INT DEFAULT NEXTVAL(s),"
        " e INT NOT NULL DEFAULT (b + 1))",
    ],
    Insert("t", k=b"1"),
    Insert("t", k=b"2", b=b"5"),
    Insert("t", k=b"3", e=b"5"),
    Insert("t", k=b"3"),
    Insert("t", k=b"4", b=b"99999999999"),
    Update("t", b"1", k=b"9"),
)
case(
    "current timestamps",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, v INT, a TIMESTAMP DEFAULT CURRENT_TIMESTAMP, b DATETIME(6) DEFAULT"
        " CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),"
        " c TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, d DATETIME DEFAULT (NOW()))",
        *(
            f"INSERT INTO t VALUES ({k}, 1, '2020-01-01', '2020-01-01', '2020-01-01', '2020-01-01')"
            for k in range(1, 8)
        ),
    ],
    Insert("t", k=b"10"),
    Insert("t", k=b"11", a=OLD, b=None),
    Update("t", b"1", v=b"2"),
    Update("t", b"2", v=b"1"),
    Update("t", b"3", v=b"2", b=OLD),
    Update("t", b"4", v=b"2", c=None),
    Update("t", b"5", v=b"x"),
    Change("t", b"6", "+", {"v": b"1"}),
    Change("t", b"7", "+", {"v": b"0"}),
    Change("t", b"3", "U", {"v": b"3"}, operator=">=", limit=3),
)
case(
    "no default",
    "CREATE TABLE t (k INT, a INT NOT NULL, b VARCHAR(5) NOT NULL, c TIMESTAMP NOT NULL, d ENUM('x','y') NOT NULL, e"
    " TEXT NOT NULL, PRIMARY KEY (k))",
    Insert("t", k=b"1"),
    Insert("t", k=b"1", a=b"1", b=b"", c=OLD, e=b""),
    Insert("t", k=b"2", a=b"1", b=b"", c=OLD, d=b"x"),
    Insert("t", a=b"1", b=b"", c=OLD, d=b"x", e=b""),
    Insert("t", k=b"4", a=None, b=b"", c=OLD, d=b"x", e=b""),
    Insert("t", k=b"5", a=b"1", b=None, c=OLD, d=b"x", e=b""),
    Insert("t", k=b"6", a=b"1", b=b"", c=None, d=b"x", e=b""),
    Update("t", b"1", a=None),
    Update("t", b"1", c=None, b=b"new"),
    Update("t", b"1", d=None),
    Update("t", b"1", e=None),
)
case(
    "invisible columns",
    "CREATE TABLE t (k INT PRIMARY KEY, a INT INVISIBLE DEFAULT 3, b INT INVISIBLE)",
    Insert("t", k=b"1"),
    Insert("t", k=b"2", a=b"5", b=b"6"),
    Update("t", b"1", b=b"7"),
)
case(
    "auto-increment",
    "CREATE TABLE t (k INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(5) NOT NULL DEFAULT 'd')",
    Insert("t", v=b"a"),
    Insert("t", k=None, v=b"b"),
    Insert("t", k=b"0", v=b"c"),
    Insert("t", k=b"50", v=b"d"),
    Insert("t", v=b"e"),
    Insert("t", k=b"-5", v=b"f"),
    Insert("t", v=b"g"),
    Insert("t", k=b"51", v=b"dup"),
    Insert("t", k=b"0.4", v=b"h"),
    Insert("t", k=b"", v=b"i"),
    Update("t", b"1", k=b"0"),
    Update("t", b"2", k=b"70"),
    Insert("t", v=b"j"),
)
case(
    "auto-increment at its end",
    ["CREATE TABLE t (k TINYINT AUTO_INCREMENT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (125, 1)"],
    Insert("t", v=b"2"),
    Insert("t", v=b"3"),
    Insert("t", v=b"4"),
    Insert("t", v=b"5"),
    Insert("t", k=b"128", v=b"6"),
    Insert("t", k=b"3", v=b"7"),
)
case(
    "auto-increment as second part",
    "CREATE TABLE t (g INT, k INT AUTO_INCREMENT, PRIMARY KEY (g, k)) ENGINE=MyISAM",
    Insert("t", g=b"1"),
    Insert("t", g=b"1"),
    Insert("t", g=b"2"),
    Insert("t", g=b"1"),
    Insert("t", g=b"2", k=b"9"),
    Insert("t", g=b"2"),
)

# --- constraints -------------------------------------------------------------------------------------------------

case(
    "check",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, v INT CHECK (v > 0), w INT, CONSTRAINT small CHECK (v + w < 100), j JSON)",
        "INSERT INTO t VALUES (1, 1, 1, NULL), (2, 1, 90, NULL), (3, 1, 1, NULL)",
    ],
    Insert("t", k=b"4", v=b"0"),
    Insert("t", k=b"5", v=b"50", w=b"50"),
    Insert("t", k=b"6"),
    Update("t", b"1", v=b"-1"),
    Update("t", b"1", w=b"99"),
    Update("t", b"1", v=None),
    Insert("t", k=b"7", j=b"{"),
    Update("t", b"1", j=b"[1"),
    Change("t", b"1", "U", {"v": b"50"}, operator=">=", limit=9),
    Change("t", b"2", "+", {"v": b"9"}),
    Change("t", b"1", "+", {"w": b"-1"}, operator=">=", limit=9),
    Insert("t", k=b"1", v=b"0"),
)
case(
    "unique",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, a VARCHAR(9) UNIQUE, b INT, c INT, UNIQUE bc (b, c))",
        "INSERT INTO t VALUES (1, 'one', 1, 1), (2, 'two', 1, 2), (3, NULL, NULL, 1)",
    ],
    Insert("t", k=b"1", a=b"x"),
    Insert("t", k=b"4", a=b"ONE"),
    Insert("t", k=b"5", a=b"one "),
    Insert("t", k=b"6", a=None),
    Insert("t", k=b"7", b=b"1", c=b"1"),
    Insert("t", k=b"8", c=b"1"),
    Update("t", b"1", a=b"two"),
    Update("t", b"1", a=b"ONE"),
    Update("t", b"2", c=b"1"),
    Update("t", b"2", k=b"1"),
    Update("t", b"2", k=b"2"),
    Change("t", b"1", "U", {"a": b"same"}, operator=">=", limit=9),
    Change("t", b"1", "U", {"k": b"1"}, operator=">=", limit=9),
    Change("t", (b"1",), "+", {"c": b"1"}, index="bc", operator="<=", limit=2),
)
case(
    "unique on long columns",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, a TEXT, b BLOB, UNIQUE (a), UNIQUE (b))",
        "INSERT INTO t VALUES (1, 'one', x'00'), (2, 'two', x'01')",
    ],
    Insert("t", k=b"3", a=b"one"),
    Insert("t", k=b"4", a=b"ONE "),
    Insert("t", k=b"5", b=b"\0"),
    Insert("t", k=b"6", a=b"six", b=b"\0\0"),
    Insert("t", k=b"7"),
    Insert("t", k=b"8"),
    Update("t", b"1", a=b"two"),
    Update("t", b"1", a=b"One"),
    Update("t", b"2", b=b"\0"),
    Update("t", b"2", b=None),
    Change("t", b"1", "U", {"a": b"same"}, operator=">=", limit=9),
    Delete("t", b"1"),
    Insert("t", k=b"9", a=b"one", b=b"\0"),
)
case(
    "unique by prefix, without padding",
    "CREATE TABLE t (k INT PRIMARY KEY, a VARCHAR(20), b VARCHAR(20) COLLATE utf8mb4_nopad_bin UNIQUE, UNIQUE p (a(3)))",
    Insert("t", k=b"1", a=b"abcd", b=b"x"),
    Insert("t", k=b"2", a=b"ABCE"),
    Insert("t", k=b"3", a=b"abd", b=b"x "),
    Update("t", b"3", a=b"abcz"),
    Update("t", b"3", b=b"x"),
)
case(
    "periods that must not overlap",
    "CREATE TABLE t (k INT PRIMARY KEY, g INT, s DATE, e DATE, PERIOD FOR p (s, e), UNIQUE (g, p WITHOUT OVERLAPS))",
    Insert("t", k=b"1", g=b"1", s=b"2020-01-01", e=b"2020-02-01"),
    Insert("t", k=b"2", g=b"1", s=b"2020-01-15", e=b"2020-03-01"),
    Insert("t", k=b"3", g=b"1", s=b"2020-02-01", e=b"2020-03-01"),
    Insert("t", k=b"4", g=b"1", s=b"2020-05-01", e=b"2020-04-01"),
    Update("t", b"3", s=b"2020-01-31"),
    Update("t", b"3", e=b"2020-04-01"),
    Delete("t", b"1"),
)

PARENT = "CREATE TABLE p (id INT PRIMARY KEY, u VARCHAR(9) UNIQUE)"
for rule in ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION"):
    case(
        f"foreign key, {rule.lower()}",
        [
            PARENT,
            f"CREATE TABLE c (k INT PRIMARY KEY, p INT, u VARCHAR(9), FOREIGN KEY (p) REFERENCES p (id) ON DELETE {rule}"
            f" ON UPDATE {rule},"
            f" CONSTRAINT named FOREIGN KEY (u) REFERENCES p (u) ON DELETE {rule} ON UPDATE {rule})",
            "INSERT INTO p VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
            "INSERT INTO c VALUES (1, 1, 'a'), (2, 2, NULL), (3, NULL, 'c'), (4, NULL, NULL)",
        ],
        Insert("c", k=b"5", p=b"99"),
        Insert("c", k=b"6", u=b"zz"),
        Insert("c", k=b"7", p=b"4", u=b"D"),
        Update("c", b"4", p=b"98"),
        Update("c", b"4", p=b"1"),
        Update("p", b"1", id=b"11"),
        Update("p", b"2", u=b"bb"),
        Update("p", b"2", id=b"12"),
        Update("p", b"3", u=b"cc"),
        Delete("p", b"3"),
        Delete("p", b"1"),
        Delete("p", b"2"),
        Delete("p", b"4"),
        Delete("p", b"0", operator=">=", limit=9),
        Delete("c", b"1"),
    )
case(
    "foreign key to the same table",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES t (k) ON DELETE CASCADE)",
        "INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2), (4, 4)",
    ],
    Insert("t", k=b"5", up=b"6"),
    Insert("t", k=b"7", up=b"7"),
    Update("t", b"2", up=b"9"),
    Delete("t", b"2"),
    Delete("t", b"4"),
    Delete("t", b"1"),
)
case(
    "cascade in steps",
    [
        PARENT,
        "CREATE TABLE c (k INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
        "CREATE TABLE g (k INT PRIMARY KEY, c INT, v INT AS (c * 2) VIRTUAL, KEY (v), FOREIGN KEY (c) REFERENCES c"
        " (k) ON DELETE SET NULL)",
        "INSERT INTO p VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO c VALUES (1, 1), (2, 1), (3, 2)",
        "INSERT INTO g (k, c) VALUES (1, 1), (2, 3)",
    ],
    Delete("p", b"1"),
    Delete("p", b"0", operator=">=", limit=9),
    queries=[
        "SELECT k FROM g FORCE INDEX (v) WHERE v > 0",
        "SELECT k FROM g FORCE INDEX (v) WHERE v IS NULL ORDER BY k",
    ],
)

# --- generated columns -------------------------------------------------------------------------------------------

case(
    "generated columns",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, a INT, b VARCHAR(20), s INT AS (a * 2) STORED, v INT AS (a + 1) VIRTUAL,"
        " w VARCHAR(60) AS (CONCAT(b, '-', v)) VIRTUAL, x INT AS (s + 1) STORED,"
        " KEY (s), KEY (v), KEY (w))",
        "INSERT INTO t (k, a, b) VALUES (1, 5, 'x'), (2, NULL, 'y'), (3, 7, 'z')",
    ],
    Insert("t", k=b"4", a=b"8", b=b"w"),
    Insert("t", k=b"5"),
    Update("t", b"1", a=b"50"),
    Update("t", b"2", b=b"Y"),
    Change("t", b"3", "+", {"a": b"1"}),
    Delete("t", b"4"),
    Insert("t", k=b"6", s=b"3"),
    Insert("t", k=b"7", v=None),
    Update("t", b"1", v=b"9"),
    Insert("t", k=b"8", a=b"2147483647"),
    Update("t", b"1", a=b"2147483647"),
    queries=[
        f"SELECT k, {column} FROM t FORCE INDEX ({column}) WHERE {column} IS NOT NULL ORDER BY k"
        for column in ("s", "v", "w")
    ],
)
case(
    "unique generated columns",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, a INT, j JSON, v INT AS (a MOD 10) VIRTUAL UNIQUE, n VARCHAR(20) AS"
        " (JSON_VALUE(j, '$.n')) STORED UNIQUE)",
        "INSERT INTO t (k, a, j) VALUES (1, 5, '{\"n\": 1}'), (2, 6, NULL)",
    ],
    Insert("t", k=b"3", a=b"15"),
    Insert("t", k=b"4", a=b"17", j=b'{"n": 1}'),
    Insert("t", k=b"5", a=b"18", j=b'{"n": 2}'),
    Update("t", b"2", a=b"25"),
    Update("t", b"2", a=b"29"),
    Update("t", b"5", j=b'{"n": 1}'),
    Update("t", b"1", j=b"[]"),
    Delete("t", b"1"),
    Insert("t", k=b"6", a=b"35", j=b'{"n": 1}'),
    queries=["SELECT k, v FROM t FORCE INDEX (v) WHERE v >= 0 ORDER BY k"],
)
case(
    "checks on generated columns",
    "CREATE TABLE t (k INT PRIMARY KEY, a INT, v INT AS (a * 2) VIRTUAL, s INT AS (a * 3) STORED, CHECK (v < 10),"
    " CHECK (s <> 6))",
    Insert("t", k=b"1", a=b"1"),
    Insert("t", k=b"2", a=b"2"),
    Insert("t", k=b"3", a=b"9"),
    Update("t", b"1", a=b"2"),
    Update("t", b"1", a=b"4"),
    Update("t", b"1", a=b"5"),
)
case(
    "generated columns over long ones",
    "CREATE TABLE t (k INT PRIMARY KEY, b BLOB, t TEXT, n INT AS (LENGTH(b)) VIRTUAL, h CHAR(32) AS (MD5(t)) STORED,"
    " u VARCHAR(5) AS (LEFT(t, 5)) VIRTUAL, KEY (n), KEY (h), KEY (u))",
    Insert("t", k=b"1", b=b"x" * 40000, t=b"y" * 40000),
    Insert("t", k=b"2", b=b"", t=b"z"),
    Update("t", b"1", b=b"x" * 39999),
    Update("t", b"2", t=b"abcdefg"),
    Update("t", b"1", t=None),
    queries=[f"SELECT k FROM t FORCE INDEX ({column}) WHERE {column} >= '' ORDER BY k" for column in "nhu"],
)

# --- triggers ----------------------------------------------------------------------------------------------------

LOG = "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(100))"
BASE = "CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(20), n INT)"
ROWS = "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)"
EVERY = [
    Insert("t", k=b"10", v=b"x", n=b"5"),
    Insert("t", k=b"1", v=b"dup"),
    Insert("t", k=b"11"),
    Update("t", b"1", v=b"new"),
    Update("t", b"1", v=b"new"),
    Update("t", b"2", n=b"stop"),
    Change("t", b"2", "+", {"n": b"1"}),
    Change("t", b"2", "U", {"v": b"all"}, operator=">=", limit=2),
    Delete("t", b"3"),
    Delete("t", b"99"),
    Delete("t", b"4", operator=">=", limit=2),
]


def triggers(body, events=("INSERT", "UPDATE", "DELETE"), moments=("BEFORE", "AFTER")):
    return [
        f"CREATE TRIGGER {moment}_{event} {moment} {event} ON t FOR EACH ROW {body(moment, event)}"
        for moment in moments
        for event in events
    ]


def old_new(event):
    return {"INSERT": "'-', NEW.v", "UPDATE": "OLD.v, NEW.v", "DELETE": "OLD.v, '-'"}[event]


case(
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
case(
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
case(
    "triggers that change the key",
    [
        BASE,
        ROWS,
        "CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.k = NEW.k + 100",
        "CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW SET NEW.k = OLD.k + 1000",
    ],
    *EVERY,
)
case(
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
        case(
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
case(
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
case(
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
case(
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
case(
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
case(
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
case(
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
case(
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
case(
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

# --- partitions, other engines, special indexes ------------------------------------------------------------------

MOVES = [
    Insert("t", k=b"5", v=b"e"),
    Insert("t", k=b"25", v=b"z"),
    Insert("t", k=b"99", v=b"nowhere"),
    Insert("t", k=b"1", v=b"dup"),
    Update("t", b"1", k=b"21"),
    Update("t", b"2", k=b"3"),
    Update("t", b"3", k=b"77"),
    Update("t", b"3", v=b"C"),
    Change("t", b"1", "U", {"v": b"all"}, operator=">=", limit=3),
    Change("t", b"1", "+", {"k": b"20"}, operator=">", limit=2),
    Delete("t", b"4"),
    Delete("t", b"20", operator=">", limit=2),
]
for name, partition in {
    "hash": "HASH (k) PARTITIONS 3",
    "range": "RANGE (k) (PARTITION a VALUES LESS THAN (3), PARTITION b VALUES LESS THAN (20), PARTITION c VALUES LESS THAN (50))",
    "list": "LIST (k) (PARTITION a VALUES IN (1, 2, 25), PARTITION b VALUES IN (3, 4, 5, 21, 22, 23, 24))",
    "key": "KEY (k) PARTITIONS 4",
}.items():
    case(
        f"partitions by {name}",
        [
            f"CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(9)) PARTITION BY {partition}",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
        ],
        *MOVES,
    )
case(
    "partitions by a generated column",
    [
        "CREATE TABLE t (k INT, d DATE, y INT AS (YEAR(d)) STORED, v INT, KEY (k)) PARTITION BY RANGE (y) (PARTITION a"
        " VALUES LESS THAN (2000), PARTITION b VALUES LESS THAN (2020))",
        "INSERT INTO t (k, d) VALUES (1, '1999-01-01'), (2, '2001-01-01')",
    ],
    Insert("t", k=b"3", d=b"2019-12-31"),
    Insert("t", k=b"4", d=b"2021-01-01"),
    Change("t", b"1", "U", {"d": b"2010-10-10"}, index="k"),
    Change("t", b"2", "U", {"d": b"2050-10-10"}, index="k"),
    Change("t", b"1", "+", {"v": b"1"}, index="k"),
    Delete("t", b"1", index="k"),
    queries=["SELECT k FROM t PARTITION (a) ORDER BY k", "SELECT k FROM t PARTITION (b) ORDER BY k"],
)
case(
    "partitions with triggers",
    [
        BASE + " PARTITION BY HASH (k) PARTITIONS 2",
        LOG,
        ROWS,
        *triggers(
            lambda moment, event: f"INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{moment} {event}', {old_new(event)}))"
        ),
    ],
    *EVERY,
)
for engine in ("MyISAM", "Aria", "Aria TRANSACTIONAL=0", "MEMORY", "MyISAM PARTITION BY HASH (k) PARTITIONS 2"):
    key = "PRIMARY KEY USING BTREE (k)" if engine == "MEMORY" else "PRIMARY KEY (k)"
    unique = "" if "PARTITION" in engine else ", UNIQUE (u)"
    case(
        f"engine {engine}",
        [
            f"CREATE TABLE t (k INT AUTO_INCREMENT, v VARCHAR(20) DEFAULT 'd', n INT NOT NULL DEFAULT 3, u INT,"
            f" {key}{unique}) ENGINE={engine}",
            "INSERT INTO t (k, v, u) VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL)",
        ],
        Insert("t", v=b"x"),
        Insert("t", k=b"2", v=b"dup"),
        Insert("t", k=b"20", u=b"1"),
        Insert("t", k=b"21", v=b"y" * 21),
        Insert("t", k=b"22", n=b"x"),
        Update("t", b"1", v=b"A", n=b"9"),
        Update("t", b"2", u=b"1"),
        Update("t", b"1", k=b"2"),
        Update("t", b"1", k=b"30"),
        Change("t", b"1", "+", {"n": b"5"}, operator=">=", limit=2),
        Change("t", b"2", "+", {"n": b"2147483647"}),
        Delete("t", b"3"),
        Delete("t", b"20", operator=">=", limit=9),
        Insert("t", k=b"40", v=b""),
    )
case(
    "engines that keep no transaction, with triggers",
    [
        BASE + " ENGINE=MyISAM",
        LOG + " ENGINE=Aria",
        ROWS,
        *triggers(
            lambda moment, event: f"INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{moment} {event}', {old_new(event)}))"
        ),
    ],
    *EVERY,
)
for engine in ("InnoDB", "MyISAM", "Aria"):
    case(
        f"full-text index, {engine}",
        [
            f"CREATE TABLE t (k INT PRIMARY KEY, v TEXT, w VARCHAR(100), FULLTEXT ft (v, w)) ENGINE={engine}",
            "INSERT INTO t VALUES (1, 'apple pear', 'plum'), (2, 'melon', NULL), (3, 'cherry', 'lemon')",
        ],
        Insert("t", k=b"4", v=b"banana apple", w=b"orange"),
        Insert("t", k=b"1", v=b"strawberry"),
        Update("t", b"1", v=b"grape"),
        Update("t", b"2", w=b"raspberry"),
        Delete("t", b"3"),
        Insert("t", k=b"5", w=b"quince"),
        Update("t", b"5", k=b"6"),
        queries=[
            f"SELECT k FROM t WHERE MATCH (v, w) AGAINST ('{word}' IN BOOLEAN MODE) ORDER BY k"
            for word in ("apple", "strawberry", "grape", "raspberry", "cherry", "orange", "quince", "pear")
        ],
    )
POINT = bytes.fromhex("00000000" "01" "01000000") + bytes(16)
case(
    "spatial index",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, p POINT NOT NULL, SPATIAL (p))",
        "INSERT INTO t VALUES (1, POINT(1, 1)), (2, POINT(2, 2))",
    ],
    Insert("t", k=b"3", p=POINT),
    Insert("t", k=b"4", p=b"nonsense"),
    Insert("t", k=b"5"),
    Update("t", b"1", p=POINT),
    Update("t", b"2", p=None),
    Delete("t", b"2"),
    queries=[
        "SELECT k FROM t WHERE MBRContains(ST_GeomFromText('POLYGON((-1 -1, -1 0.5, 0.5 0.5, 0.5 -1, -1 -1))'), p)"
        " ORDER BY k"
    ],
)
case(
    "without a primary key",
    ["CREATE TABLE t (a INT, b INT, KEY a (a))", "INSERT INTO t VALUES (1, 10), (1, 11), (2, 20), (NULL, 30)"],
    Insert("t", b=b"40"),
    *[Change("t", key, "U", {"b": b"5"}, index="a", limit=9) for key in (b"1", b"3")],
    Delete("t", b"2", index="a", limit=9),
    Change("t", b"1", "+", {"a": b"10"}, index="a", operator=">=", limit=9),
)
case(
    "ranges that move under the feet",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT, KEY g (g))",
        "INSERT INTO t SELECT seq, seq, 0 FROM seq_1_to_20",
    ],
    Change("t", b"1", "+", {"g": b"5", "v": b"1"}, index="g", operator=">=", limit=100),
    Change("t", b"100", "+", {"g": b"-3"}, index="g", operator="<=", limit=7),
    Change("t", b"5", "U", {"g": b"50"}, index="g", operator=">", limit=5),
    Change("t", b"0", "+", {"k": b"100"}, operator=">", limit=100),
    Delete("t", b"50", index="g", limit=2),
    Delete("t", b"110", operator="<", limit=3),
)
case(
    "composite keys",
    [
        "CREATE TABLE t (a INT, b VARCHAR(5), c INT, PRIMARY KEY (a, b), KEY cb (c, b))",
        "INSERT INTO t VALUES (1, 'x', 1), (1, 'y', 2), (2, 'x', 1), (3, 'é', NULL)",
    ],
    Insert("t", a=b"1", b=b"X"),
    Insert("t", a=b"1", b=b"z", c=b"9"),
    Change("t", (b"1", b"y"), "U", {"c": b"7"}),
    Change("t", (b"1",), "U", {"c": b"8"}, limit=2),
    Change("t", (b"2", b"x"), "U", {"b": b"y", "a": b"1"}),
    Change("t", (b"1", b"x"), "D", {}, index="cb"),
    Change("t", (b"3", "É".encode()), "U", {"c": b"4"}),
)
case(
    "large values",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, b LONGBLOB, m MEDIUMTEXT, s BLOB)",
        "INSERT INTO t VALUES (1, REPEAT('a', 1048576), REPEAT('é', 524288), 'x')",
    ],
    Insert("t", k=b"2", b=bytes(range(256)) * (MIB // 256), m="é".encode() * (MIB // 2)),
    Update("t", b"1", b=b"\xff" * MIB),
    Update("t", b"2", b=b"small"),
    Update("t", b"1", m=None, s=b"y" * 65536),
    Update("t", b"1", s=b"y" * 65535),
    Delete("t", b"1"),
    Insert("t", k=b"1", b=b"\0" * MIB),
)
WIDE = [f"c{n}" for n in range(40)]
case(
    "rows too large for a page",
    [
        "SET SESSION innodb_strict_mode=0",
        f"CREATE TABLE t (k INT PRIMARY KEY, {', '.join(f'{name} CHAR(250)' for name in WIDE)}) CHARSET latin1"
        f" ROW_FORMAT=COMPACT",
        "INSERT INTO t (k) VALUES (1)",
    ],
    Insert("t", k=b"2", **dict.fromkeys(WIDE, b"x" * 250)),
    Update("t", b"1", **dict.fromkeys(WIDE, b"y" * 250)),
    Insert("t", k=b"3", c1=b"x" * 250),
    Update("t", b"3", c2=b"x" * 250),
)
for row_format in ("COMPRESSED", "COMPACT", "DYNAMIC"):
    case(
        f"row format {row_format}",
        [
            f"CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(9000), b BLOB, KEY (v(100))) ROW_FORMAT={row_format}",
            "INSERT INTO t VALUES (1, 'a', 'b')",
        ],
        Insert("t", k=b"2", v=b"x" * 9000, b=b"y" * 60000),
        Update("t", b"1", v=b"z" * 8999),
        Update("t", b"2", v=b""),
        Insert("t", k=b"3", v=b"x" * 9001),
        Delete("t", b"1"),
    )


@pytest.mark.parametrize("together", [False, True], ids=["singly", "together"])
@pytest.mark.parametrize("name", CASES)
def test_table(twins, name, together):
    play(twins, name, together)


# --- history -----------------------------------------------------------------------------------------------------

HISTORY = [
    Insert("t", k=b"1", v=b"1"),
    Insert("t", k=b"1", v=b"2"),
    Update("t", b"1", v=b"2"),
    Update("t", b"1", v=b"2"),
    Update("t", b"1", k=b"5"),
    Update("t", b"5", v=b"x"),
    Change("t", b"5", "+", {"v": b"3"}),
    Insert("t", k=b"6", v=b"6"),
    Insert("t", k=b"7"),
    Delete("t", b"6"),
    Insert("t", k=b"6", v=b"again"),
    Insert("t", k=b"6", v=b"66"),
    Change("t", b"1", "+", {"v": b"10"}, operator=">=", limit=9),
    Change("t", b"5", "U", {"k": b"6"}),
    Delete("t", b"1", operator=">=", limit=2),
]
TRANSACTIONS = "row_start BIGINT UNSIGNED AS ROW START, row_end BIGINT UNSIGNED AS ROW END, PERIOD FOR SYSTEM_TIME (row_start, row_end)"


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT WITHOUT SYSTEM VERSIONING, w INT DEFAULT 3) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT UNIQUE, g INT AS (v * 2) VIRTUAL, KEY (g)) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) ENGINE=Aria WITH SYSTEM VERSIONING",
        f"CREATE TABLE t (k INT PRIMARY KEY, v INT, {TRANSACTIONS}) WITH SYSTEM VERSIONING",
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME LIMIT 1000 (PARTITION"
        " h HISTORY, PARTITION c CURRENT)",
    ],
    ids=["plain", "column without", "indexes", "Aria", "transactions", "partitions"],
)
def test_history(twins, definition):
    """One at a time: two changes of one moment leave no history between them."""
    twins.make(definition)
    for op in HISTORY:
        twins.run([op])
    twins.assert_same()


def test_history_with_triggers(twins):
    twins.make(
        "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
        LOG,
        *(
            f"CREATE TRIGGER {moment}_{event} {moment} {event} ON t FOR EACH ROW INSERT INTO log (what) VALUES ('{moment} {event}')"
            for moment in ("BEFORE", "AFTER")
            for event in ("INSERT", "UPDATE", "DELETE")
        ),
    )
    for op in HISTORY:
        twins.run([op])
    twins.assert_same()


def test_history_over_a_foreign_key(twins):
    twins.make(
        PARENT,
        "CREATE TABLE c (k INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE) WITH SYSTEM"
        " VERSIONING",
        "INSERT INTO p VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO c VALUES (1, 1), (2, 2)",
    )
    for op in [Delete("p", b"1"), Insert("c", k=b"3", p=b"9"), Update("c", b"2", p=b"9"), Update("c", b"2", p=None)]:
        twins.run([op])
    twins.assert_same()
