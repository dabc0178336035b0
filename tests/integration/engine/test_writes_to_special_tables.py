"""Partitions, other storage engines, special indexes, long rows: a table written through the door equals one written by
SQL."""
from support.like_sql import Change, Delete, Insert, Update
from support.random_input.special_tables import BASE, EVERY, LOG, ROWS, Cases, old_new, triggers

MIB = 1 << 20
CASES = Cases()

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
    CASES.add(
        f"partitions by {name}",
        [
            f"CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(9)) PARTITION BY {partition}",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
        ],
        *MOVES,
    )
CASES.add(
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
CASES.add(
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
    CASES.add(
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
CASES.add(
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
    CASES.add(
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
CASES.add(
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
CASES.add(
    "without a primary key",
    ["CREATE TABLE t (a INT, b INT, KEY a (a))", "INSERT INTO t VALUES (1, 10), (1, 11), (2, 20), (NULL, 30)"],
    Insert("t", b=b"40"),
    *[Change("t", key, "U", {"b": b"5"}, index="a", limit=9) for key in (b"1", b"3")],
    Delete("t", b"2", index="a", limit=9),
    Change("t", b"1", "+", {"a": b"10"}, index="a", operator=">=", limit=9),
)
CASES.add(
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
CASES.add(
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
CASES.add(
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
CASES.add(
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
    CASES.add(
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


@CASES.each
def test_table(twins, name, together):
    CASES.play(twins, name, together)
