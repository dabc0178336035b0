"""Constraints, foreign keys and generated columns of tables that are written through the door."""
from support.like_sql import Change, Delete, Insert, Update
from support.random_input.special_tables import Cases, PARENT

CASES = Cases()

CASES.add(
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
CASES.add(
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
CASES.add(
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
CASES.add(
    "unique by prefix, without padding",
    "CREATE TABLE t (k INT PRIMARY KEY, a VARCHAR(20), b VARCHAR(20) COLLATE utf8mb4_nopad_bin UNIQUE, UNIQUE p (a(3)))",
    Insert("t", k=b"1", a=b"abcd", b=b"x"),
    Insert("t", k=b"2", a=b"ABCE"),
    Insert("t", k=b"3", a=b"abd", b=b"x "),
    Update("t", b"3", a=b"abcz"),
    Update("t", b"3", b=b"x"),
)
CASES.add(
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

for rule in ("RESTRICT", "CASCADE", "SET NULL", "NO ACTION"):
    CASES.add(
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
CASES.add(
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
CASES.add(
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

# --- generated columns ---

CASES.add(
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
CASES.add(
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
CASES.add(
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
CASES.add(
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


@CASES.each
def test_table(twins, name, together):
    CASES.play(twins, name, together)
