"""Every column type reads as SQL's text, in every storage engine and row format."""
import random

import pytest

SEED = 20101019
ALL_BYTES = bytes(range(256))

# type, literals to store (SQL expressions; None is NULL)
TYPES = [
    ("TINYINT", ["-128", "0", "127"]),
    ("TINYINT UNSIGNED", ["0", "255"]),
    ("TINYINT(3) ZEROFILL", ["7"]),
    ("SMALLINT", ["-32768", "32767"]),
    ("SMALLINT UNSIGNED", ["65535"]),
    ("SMALLINT(5) ZEROFILL", ["42"]),
    ("MEDIUMINT", ["-8388608", "8388607"]),
    ("MEDIUMINT UNSIGNED", ["16777215"]),
    ("MEDIUMINT(9) ZEROFILL", ["5"]),
    ("INT", ["-2147483648", "0", "2147483647"]),
    ("INT UNSIGNED", ["4294967295"]),
    ("INT(10) ZEROFILL", ["1"]),
    ("BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", ["18446744073709551615"]),
    ("BIGINT(20) ZEROFILL", ["12"]),
    ("BOOLEAN", ["TRUE", "FALSE"]),
    ("BIT(1)", ["0", "1"]),
    ("BIT(7)", ["b'1010101'"]),
    ("BIT(8)", ["255"]),
    ("BIT(12)", ["b'101010101010'"]),
    ("BIT(33)", ["0", "1 << 32"]),
    ("BIT(64)", ["18446744073709551615"]),
    ("DECIMAL(10,3)", ["1234.5", "-0.001", "0"]),
    ("DECIMAL(65,30)", ["-1.5", "REPEAT('9',35)"]),
    ("DECIMAL(5)", ["-99999"]),
    ("DECIMAL(6,2) ZEROFILL", ["3.1"]),
    ("DECIMAL(65,0)", ["REPEAT('9',65)"]),
    ("FLOAT", ["1.1", "-3.4e38", "1e-38", "0", "123456.789"]),
    ("FLOAT(7,2)", ["12345.67"]),
    ("DOUBLE", ["0.1", "1.7976931348623157e308", "-2.2250738585072014e-308", "1e15", "1e16", "123456789.123"]),
    ("DOUBLE(10,3) ZEROFILL", ["1.5"]),
    ("DATE", ["'2024-02-29'", "'0000-00-00'", "'9999-12-31'", "'0001-01-01'", "'2024-00-00'"]),
    (
        "DATETIME",
        [
            "'2010-02-03 11:22:33'",
            "'0000-00-00'",
            "'9999-12-31 23:59:59'",
            "'0001-01-01 00:00:01'",
            "'2024-00-05 01:02:03'",
        ],
    ),
    *[(f"DATETIME({n})", ["'2024-02-29 01:02:03.123456'", "'0000-00-00'"]) for n in range(1, 7)],
    ("TIME", ["'-12:34:56'", "'838:59:59'", "'00:00:00'", "'-838:59:59'"]),
    *[(f"TIME({n})", ["'-12:34:56.789123'", "'01:02:03.5'"]) for n in range(1, 7)],
    ("TIMESTAMP NULL", ["'2024-02-29 01:02:03'", "'1970-01-02 00:00:00'", "'0000-00-00'", "'2038-01-01'"]),
    *[(f"TIMESTAMP({n}) NULL", ["'2024-02-29 01:02:03.987654'"]) for n in range(1, 7)],
    ("YEAR", ["2024", "1901", "0"]),
    ("YEAR(2)", ["70"]),
    ("CHAR(5)", ["'ab'", "''", "'  x'", "'éàü'"]),
    ("CHAR(0)", ["''"]),
    ("VARCHAR(5)", ["'héllo'", "'a  '", "''"]),
    ("VARCHAR(255)", ["REPEAT('x',255)"]),
    ("VARCHAR(300)", ["REPEAT('é',300)"]),
    ("VARCHAR(4000)", ["REPEAT('y',3999)"]),
    ("BINARY(4)", ["x'00'", "x'01020304'"]),
    ("VARBINARY(8)", ["x'0001020a0d0f10'", "''"]),
    ("VARBINARY(300)", ["%s"]),
    ("ENUM('red','green','blue')", ["'green'", "'BLUE'"]),
    ("SET('a','b','c')", ["'a,c'", "''"]),
    ("ENUM(%s)" % ",".join(f"'e{n}'" for n in range(300)), ["'e0'", "'e299'"]),
    ("UUID", ["'123e4567-e89b-12d3-a456-426614174000'"]),
    ("INET6", ["'::1'", "'2001:db8::ff00:42:8329'"]),
    ("INET4", ["'10.1.2.3'"]),
]
LONG_TYPES = [
    ("TINYTEXT", ["'tab\\tnl\\n'", "''"]),
    ("TEXT", ["REPEAT('é',20000)"]),
    ("MEDIUMTEXT", ["REPEAT('z',200000)"]),
    ("LONGTEXT", ["'long'"]),
    ("TINYBLOB", ["x'00010203ff'"]),
    ("BLOB", ["%s"]),
    ("MEDIUMBLOB", ["REPEAT(%s,2000)"]),
    ("LONGBLOB", ["%s"]),
    ("JSON", ["'{\"a\": [1, null]}'"]),
    ("GEOMETRY", ["ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')"]),
    ("POINT", ["POINT(1, 2)"]),
    ("VARCHAR(3000) COMPRESSED", ["REPEAT('c',2500)"]),
    ("TEXT COMPRESSED", ["REPEAT('d',30000)"]),
    ("BLOB COMPRESSED", ["REPEAT(%s,100)"]),
]


def sql_text(server, database, table, columns):
    """Every row as SQL shows it, in bytes without conversion; columns are (name, stored in binary form)."""
    # A cast to BINARY uses a UUID's bytes, not its text, unless it is text already.
    shown = [f"CAST({f'CAST({name} AS CHAR)' if binary else name} AS BINARY)" for name, binary in columns]
    rows = server.query(f"SELECT {','.join(shown)} FROM {database}.{table} ORDER BY k")
    return [
        [None if value is None else value if isinstance(value, bytes) else str(value).encode() for value in row]
        for row in rows
    ]


def door_text(server, database, table, columns):
    with server.hs() as client:
        client.open(0, database, table, ",".join(name for name, _ in columns))
        reply = client.request(0, ">=", 1, "0", 100000)
    assert reply[:2] == ["0", str(len(columns))], reply[:3]
    values = [None if value is None else value.encode("utf-8", "surrogateescape") for value in reply[2:]]
    return [values[at : at + len(columns)] for at in range(0, len(values), len(columns))]


def make(server, database, table, types, suffix):
    """Makes a table with a column for each type, rows with each of its literals, and a row of NULLs."""
    columns = [(f"c{n}", kind) for n, (kind, _) in enumerate(types)]
    definitions = ", ".join(f"{name} {kind}{'' if 'NULL' in kind else ' NULL'}" for name, kind in columns)
    depth = max(len(literals) for _, literals in types)
    statements = [
        f"DROP TABLE IF EXISTS {table}",
        f"CREATE TABLE {table} (k INT PRIMARY KEY, {definitions}) {suffix}",
        "INSERT INTO %s (k) VALUES (0)" % table,
    ]
    connection = server.connect(database=database)
    cursor = connection.cursor()
    cursor.execute("SET sql_mode=''")
    for statement in statements:
        cursor.execute(statement)
    for row in range(depth):
        literals = [values[row % len(values)] for _, values in types]
        sql = f"INSERT INTO {table} VALUES ({row + 1}, {','.join(literals)})"
        cursor.execute(sql.replace("%s", "x'" + ALL_BYTES.hex() + "'"))
    connection.close()
    return [(name, kind in ("UUID", "INET4", "INET6")) for name, kind in columns]


def assert_same(server, database, table, columns):
    expected, got = sql_text(server, database, table, columns), door_text(server, database, table, columns)
    assert len(got) == len(expected)
    for number, (left, right) in enumerate(zip(got, expected)):
        for (name, _), ours, theirs in zip(columns, left, right):
            assert ours == theirs, f"row {number}, {name}"


STORES = [
    "ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
    "ENGINE=InnoDB ROW_FORMAT=COMPRESSED",
    "ENGINE=InnoDB ROW_FORMAT=REDUNDANT",
    "ENGINE=InnoDB PAGE_COMPRESSED=1",
    "ENGINE=InnoDB PARTITION BY HASH(k) PARTITIONS 3",
    "ENGINE=InnoDB PARTITION BY RANGE(k) (PARTITION a VALUES LESS THAN (2), PARTITION b VALUES LESS THAN MAXVALUE)",
    "ENGINE=Aria",
    "ENGINE=Aria TRANSACTIONAL=0",
    "ENGINE=MyISAM",
    "ENGINE=MyISAM PARTITION BY KEY(k) PARTITIONS 2",
]


@pytest.mark.parametrize("store", STORES)
def test_every_type_in_every_store(server, database, store):
    partitioned = "PARTITION BY" in store
    types = TYPES + [one for one in LONG_TYPES if not (partitioned and one[0] in ("GEOMETRY", "POINT"))]
    for number in range(5):  # together they would exceed the maximum row size
        columns = make(server, database, "t", types[number::5], f"CHARSET utf8mb4 {store}")
        assert_same(server, database, "t", columns)


def test_every_type_in_memory(server, database):
    short = [one for one in TYPES if not one[0].startswith("VARCHAR(4000)")]
    columns = make(server, database, "t", short, "CHARSET utf8mb4 ENGINE=MEMORY")
    server.execute("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY USING BTREE (k)", database=database)
    assert_same(server, database, "t", columns)


@pytest.mark.parametrize(
    "charset", ["latin1", "utf8mb3", "utf8mb4", "utf16", "utf16le", "utf32", "ucs2", "sjis", "binary", "big5", "cp1251"]
)
def test_character_columns_come_in_their_own_character_set(server, database, charset):
    text = {"sjis": "日本語", "big5": "中文", "cp1251": "Привет"}.get(charset, "été")
    server.execute(
        f"CREATE TABLE t (k INT PRIMARY KEY, a VARCHAR(20), b CHAR(20), c TEXT, d ENUM('x','{text}')) CHARSET {charset}",
        f"INSERT INTO t VALUES (1, '{text}', '{text}', '{text}', '{text}')",
        database=database,
    )
    assert_same(server, database, "t", [(name, False) for name in "abcd"])


def test_generated_columns(server, database):
    server.execute(
        "CREATE TABLE t (k INT PRIMARY KEY, a INT, b VARCHAR(20), s INT AS (a * 2) STORED, v INT AS (a + 1) VIRTUAL,"
        " w VARCHAR(60) AS (CONCAT(b, '-', v)) VIRTUAL, KEY (v), KEY (w))",
        "INSERT INTO t (k, a, b) VALUES (1, 5, 'x'), (2, NULL, 'y'), (3, 7, 'z')",
        database=database,
    )
    assert_same(server, database, "t", [(name, False) for name in ("s", "v", "w")])
    with server.hs() as client:
        client.open(1, database, "t", "w,k", index="v")
        assert client.request(1, "=", 1, 6) == ["0", "2", "x-6", "1"]
        client.open(2, database, "t", "k", index="w", filters="s")
        assert client.request(2, ">=", 1, "", 10, 0, "F", "=", 0, 14) == ["0", "1", "3"]


def test_timestamps_are_in_the_servers_time_zone(sandbox_factory):
    server = sandbox_factory("--default-time-zone=+05:30")
    server.execute(
        "CREATE TABLE test.t (k INT PRIMARY KEY, a TIMESTAMP NULL, b TIMESTAMP(6) NULL)",
        "INSERT INTO test.t VALUES (1, '2024-02-29 01:02:03', '2024-02-29 01:02:03.5')",
    )
    with server.hs() as client:
        client.open(0, "test", "t", "a,b")
        assert client.request(0, "=", 1, 1) == ["0", "2", "2024-02-29 01:02:03", "2024-02-29 01:02:03.500000"]


def test_random_rows_of_random_types(server, database):
    random.seed(SEED)
    for _ in range(5):
        some = random.sample(TYPES, 12)
        columns = make(server, database, "t", some, "CHARSET utf8mb4 ENGINE=InnoDB")
        random.shuffle(columns)
        assert_same(server, database, "t", columns)
