"""Finds by key give SQL's answers: an oracle computes each answer by comparing and sorting in SQL."""
import random

import pytest
from support.random_input import seeds

ROUNDS = 60
SQL_OF = {"=": "=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}

# name, column definition, values (SQL literals), keys to find: (text on the wire, SQL literal)
KINDS = [
    (
        "int",
        "INT",
        ["-5", "0", "1", "7", "2147483647", "-2147483648"],
        [
            ("7", "7"),
            ("-5", "-5"),
            ("3", "3"),
            ("99999999999", "99999999999"),
            ("-99999999999", "-99999999999"),
            ("0.5", "0.5"),
            ("-0.5", "-0.5"),
            ("7.0", "7"),
            ("+7", "7"),
            ("007", "7"),
        ],
    ),
    (
        "tinyint unsigned",
        "TINYINT UNSIGNED",
        ["0", "5", "255"],
        [("5", "5"), ("256", "256"), ("-1", "-1"), ("254.5", "254.5")],
    ),
    (
        "bigint unsigned",
        "BIGINT UNSIGNED",
        ["0", "18446744073709551615", "9223372036854775808"],
        [
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "18446744073709551616"),
            ("-1", "-1"),
        ],
    ),
    (
        "bigint",
        "BIGINT",
        ["-9223372036854775808", "0", "9223372036854775807"],
        [
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854775808"),
            ("-9223372036854775809", "-9223372036854775809"),
        ],
    ),
    (
        "decimal",
        "DECIMAL(10,2)",
        ["-1.50", "0", "1.23", "1.24", "99999999.99"],
        [("1.23", "1.23"), ("1.234", "1.234"), ("1.239", "1.239"), ("-1.505", "-1.505"), ("1000000000", "1000000000")],
    ),
    ("double", "DOUBLE", ["-1.5", "0", "0.1", "1e10"], [("0.1", "0.1e0"), ("1e10", "1e10"), ("0.05", "0.05e0")]),
    (
        "date",
        "DATE",
        ["'2020-01-01'", "'2024-02-29'", "'9999-12-31'"],
        [
            ("2024-02-29", "'2024-02-29'"),
            ("2022-05-05", "'2022-05-05'"),
            ("2024-02-29 12:00:00", "TIMESTAMP'2024-02-29 12:00:00'"),
        ],
    ),
    (
        "datetime(3)",
        "DATETIME(3)",
        ["'2020-01-01 00:00:00'", "'2024-02-29 01:02:03.004'"],
        [
            ("2024-02-29 01:02:03.004", "'2024-02-29 01:02:03.004'"),
            ("2024-02-29 01:02:03.0045", "'2024-02-29 01:02:03.0045'"),
            ("2024-02-29", "'2024-02-29'"),
        ],
    ),
    (
        "timestamp",
        "TIMESTAMP NULL",
        ["'2020-01-01 00:00:00'", "'2024-02-29 01:02:03'"],
        [("2024-02-29 01:02:03", "'2024-02-29 01:02:03'")],
    ),
    (
        "time",
        "TIME",
        ["'-10:00:00'", "'00:00:00'", "'10:11:12'"],
        [("10:11:12", "'10:11:12'"), ("-10:00:00", "'-10:00:00'")],
    ),
    ("year", "YEAR", ["1999", "2024"], [("2024", "2024"), ("2000", "2000")]),
    (
        "varchar ci",
        "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        ["'a'", "'B'", "'é'", "'zz'", "''"],
        [
            ("A", "'A'"),
            ("b", "'b'"),
            ("e", "'e'"),
            ("zz ", "'zz '"),
            ("m", "'m'"),
            ("", "''"),
            ("zzzzzzzzzzzz", "'zzzzzzzzzzzz'"),
        ],
    ),
    (
        "varchar bin",
        "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        ["'a'", "'A'", "'é'", "'b '"],
        [("a", "'a'"), ("A", "'A'"), ("é", "'é'"), ("b", "'b'")],
    ),
    (
        "varchar nopad",
        "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
        ["'a'", "'a '", "'b'"],
        [("a", "'a'"), ("a ", "'a '"), ("b ", "'b '")],
    ),
    (
        "char",
        "CHAR(5) CHARACTER SET latin1",
        ["'a'", "'abc'", "'abcde'"],
        [("abc", "'abc'"), ("abcdef", "'abcdef'"), ("ab", "'ab'")],
    ),
    (
        "varbinary",
        "VARBINARY(8)",
        ["x'00'", "x'0001'", "x'ff'"],
        [(b"\x00\x01", "x'0001'"), (b"\xff", "x'ff'"), (b"", "''")],
    ),
    ("enum", "ENUM('z','a','m')", ["'z'", "'a'", "'m'"], [("a", "2"), ("m", "3")]),
    (
        "uuid",
        "UUID",
        ["'123e4567-e89b-12d3-a456-426614174000'", "'00000000-0000-0000-0000-000000000001'"],
        [("123e4567-e89b-12d3-a456-426614174000", "'123e4567-e89b-12d3-a456-426614174000'")],
    ),
    ("inet6", "INET6", ["'::1'", "'2001:db8::1'"], [("::1", "'::1'"), ("2001:db8:0:0::1", "'2001:db8::1'")]),
]


def door(client, operator, key, limit=1000):
    reply = client.request(0, operator, 1, key, limit)
    assert reply[:2] == ["0", "1"], (operator, key, reply)
    return [int(one) for one in reply[2:]]


@pytest.mark.parametrize("engine", ["InnoDB", "Aria"])
@pytest.mark.parametrize("direction", ["", "DESC"])
@pytest.mark.parametrize("kind", KINDS, ids=[kind[0] for kind in KINDS])
def test_every_operator_on_every_kind_of_key(server, database, kind, direction, engine):
    _, definition, values, keys = kind
    if direction and engine != "InnoDB":
        pytest.skip("only InnoDB stores descending keys")
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(values * 2 + ["NULL"]))
    server.execute(
        f"CREATE TABLE t (id INT PRIMARY KEY, k {definition} {'' if 'NULL' in definition else 'NULL'}, KEY k (k {direction})) ENGINE={engine}",
        f"INSERT INTO t VALUES {rows}",
        database=database,
    )
    with server.hs() as client:
        client.open(0, database, "t", "id", index="k")
        for wire, literal in keys:
            for operator in SQL_OF:
                got = door(client, operator, wire)
                upwards = operator in ("=", ">", ">=")
                # Operators follow the index order: in a descending index > walks to smaller values.
                comparison = (
                    SQL_OF[operator] if not direction else SQL_OF[operator].translate(str.maketrans("<>", "><"))
                )
                nulls = (
                    "OR k IS NULL"
                    if operator in ("<", "<=") and not direction or operator in (">", ">=") and direction
                    else ""
                )
                order = ("k" if upwards else "k DESC") if not direction else ("k DESC" if upwards else "k")
                expected = [
                    one
                    for one, in server.query(
                        f"SELECT id FROM t WHERE k {comparison} {literal} {nulls} ORDER BY {order}, id {'' if upwards else 'DESC'}",
                        database=database,
                    )
                ]
                assert sorted(got) == sorted(expected), (operator, wire)
                assert len(set(got)) == len(got)
                if engine == "InnoDB":
                    assert got == expected, (operator, wire)


def test_values_that_are_none(server, database):
    server.execute(
        "CREATE TABLE t (k INT PRIMARY KEY, d DATE, KEY d (d))",
        "INSERT INTO t VALUES (0, '2024-01-01'), (1, NULL)",
        database=database,
    )
    with server.hs() as client:
        client.open(0, database, "t", "k")
        client.open(1, database, "t", "k", index="d")
        for wrong in ("abc", "1abc", "", "1e", "--1", "0x1"):
            assert client.request(0, "=", 1, wrong) == ["0", "1"]
            assert client.request(0, "=", 1, "7", 10, 0, "@", 0, 2, wrong, 0) == ["0", "1", "0"]
        assert client.request(0, "=", 1, None) == ["0", "1"]
        assert client.request(1, "=", 1, "2024-02-30") == ["0", "1"]
        assert client.request(1, "=", 1, None) == ["0", "1", "1"]


@pytest.mark.parametrize(
    "definition,value,none",
    [("DECIMAL(5,2)", "1", "1x"), ("DOUBLE(7,2)", "1.23", "1.234"), ("INET4", "10.0.0.1", "abcd")],
)
def test_a_lost_fraction_equals_nothing(server, database, definition, value, none):
    server.execute(
        f"CREATE TABLE t (id INT PRIMARY KEY, k {definition}, KEY k (k))",
        f"INSERT INTO t VALUES (1, '{value}'), (2, NULL)",
        database=database,
    )
    with server.hs() as client:
        client.open(0, database, "t", "id", index="k")
        assert door(client, "=", value) == [1]
        assert door(client, "=", none) == []


def test_the_parts_before_a_prefix_are_compared(server, database):
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, c INT, v VARCHAR(20), KEY cv (c, v(3)))",
        "INSERT INTO t VALUES (1, 1, 'abcdef'), (2, 1, 'abcxyz'), (3, 2, 'abcdef')",
        database=database,
    )
    with server.hs() as client:
        client.open(0, database, "t", "id", index="cv")
        for c, ids in ((1, ["1"]), (2, ["3"]), (1, ["1"])):
            assert client.request(0, "=", 2, c, "abcdef", 10) == ["0", "1", *ids]
        assert client.request(0, ">", 2, 1, "abc", 10) == ["0", "1", "1", "2", "3"]


def test_random_finds_on_a_key_of_parts(server, database):
    chance = random.Random(seeds.chosen())
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(5), c INT NOT NULL, f INT, KEY abc (a, b, c))",
        "INSERT INTO t SELECT seq, IF(RAND() < .2, NULL, FLOOR(RAND() * 4)), IF(RAND() < .2, NULL, CHAR(97 + FLOOR(RAND() * 3))),"
        " FLOOR(RAND() * 5), IF(RAND() < .2, NULL, FLOOR(RAND() * 10)) FROM seq_1_to_400",
        database=database,
    )
    table = sorted(
        server.query("SELECT a, b, c, id, f FROM t", database=database),
        key=lambda row: [(part is not None, part) if part is not None else (False,) for part in row[:4]],
    )

    def order(part):
        return (1, part) if part is not None else (0,)

    with server.hs() as client:
        client.open(0, database, "t", "id", index="abc", filters="f")
        for _ in range(ROUNDS * 5):
            parts = [
                chance.choice([None, 0, 1, 2, 3, 9]),
                chance.choice([None, "a", "b", "c", "zz"]),
                chance.randrange(6),
            ][: chance.randrange(1, 4)]
            operator = chance.choice(list(SQL_OF))
            limit, offset = chance.choice([1, 5, 1000]), chance.choice([0, 0, 3])
            request = [0, operator, len(parts), *parts, limit, offset]
            in_list = None
            if chance.random() < 0.3:
                at = chance.randrange(len(parts))
                in_list = [
                    chance.choice([[None, 0, 1, 2], ["a", None, "c"], [0, 1, 4]][at])
                    for _ in range(chance.randrange(1, 4))
                ]
                request += ["@", at, len(in_list), *in_list]
            keep = lambda row: True  # noqa: E731
            if chance.random() < 0.4:
                bound = chance.randrange(10)
                request += ["F", ">=", 0, bound]
                keep = lambda row, bound=bound: row[4] is not None and row[4] >= bound  # noqa: E731
            expected = []
            for value in in_list if in_list is not None else [None]:
                key = list(parts)
                if in_list is not None:
                    key[at] = value
                bound_key = [order(part) for part in key]
                compare = {
                    "=": lambda one: one == bound_key,
                    ">": lambda one: one > bound_key,
                    ">=": lambda one: one >= bound_key,
                    "<": lambda one: one < bound_key,
                    "<=": lambda one: one <= bound_key,
                }[operator]
                found = [row for row in table if compare([order(part) for part in row[: len(key)]])]
                if operator in ("<", "<="):
                    found.reverse()
                if in_list is not None and operator != "=":
                    found = found[:1]
                expected += [row[3] for row in found if keep(row)]
            reply = client.request(*request)
            assert reply[:2] == ["0", "1"], (request, reply)
            assert [int(one) for one in reply[2:]] == expected[offset : offset + limit], request


def test_prefix_indexes_compare_the_whole_of_a_longer_value(server, database):
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(50), x TEXT, y BLOB, KEY v (v(3)), KEY x (x(4)), KEY y (y(2)))",
        "INSERT INTO t VALUES (1, 'abcdef', 'text one', x'0001ff'), (2, 'abcxyz', 'text two', x'0001aa'), (3, 'ab', 'te', x'00')",
        database=database,
    )
    with server.hs() as client:
        client.open(0, database, "t", "id", index="v")
        client.open(1, database, "t", "id", index="x")
        client.open(2, database, "t", "id", index="y")
        assert client.request(0, "=", 1, "abcdef", 9) == ["0", "1", "1"]
        assert client.request(0, "=", 1, "abcdeg", 9) == ["0", "1"]
        assert client.request(0, ">", 1, "abcdef", 9) == ["0", "1", "2"]
        assert client.request(0, "<", 1, "abcxyz", 9) == ["0", "1", "1", "3"]
        assert client.request(0, "=", 1, "ab", 9) == ["0", "1", "3"]
        assert client.request(1, "=", 1, "TEXT TWO", 9) == ["0", "1", "2"]
        assert client.request(2, "=", 1, b"\0\1\xaa", 9) == ["0", "1", "2"]


def test_indexes_that_serve_only_some_finds(server, database):
    server.execute(
        "CREATE TABLE h (id INT, v INT, PRIMARY KEY USING HASH (id), KEY hv USING HASH (id, v)) ENGINE=MEMORY",
        "INSERT INTO h VALUES (1, 10), (2, 20)",
        "CREATE TABLE f (id INT PRIMARY KEY, v TEXT, p POINT NOT NULL, u TEXT, UNIQUE KEY u (u), FULLTEXT KEY v (v), SPATIAL KEY p (p))",
        database=database,
    )
    with server.hs() as client:
        client.open(0, database, "h", "v")
        assert client.request(0, "=", 1, 2) == ["0", "1", "20"]
        for operator in (">", ">=", "<", "<="):
            assert client.request(0, operator, 1, 1)[0] == "2"
        client.open(1, database, "h", "v", index="hv")
        assert client.request(1, "=", 1, 1)[0] == "2"
        assert client.request(1, "=", 2, 1, 10) == ["0", "1", "10"]
        for index in ("v", "p", "u"):
            assert client.request("P", 2, database, "f", index, "id") == ["2", "1", "idxnum"]


def test_names_and_versions(server, database):
    server.execute(
        "CREATE TABLE t (Id INT PRIMARY KEY, `a,b` INT, `c``d` INT, hid INT INVISIBLE, KEY Sec (`a,b`))",
        "INSERT INTO t (Id, `a,b`, `c``d`, hid) VALUES (1, 2, 3, 4)",
        "CREATE TABLE v (id INT PRIMARY KEY, x INT, KEY (x)) WITH SYSTEM VERSIONING",
        "INSERT INTO v VALUES (1, 1), (2, 2), (3, 3)",
        "UPDATE v SET x = x + 10",
        "UPDATE v SET x = x + 10",
        "DELETE FROM v WHERE id = 2",
        database=database,
    )
    with server.hs() as client:
        client.open(0, database, "t", "`a,b`,ID,`c``d`,hid", index="SEC")
        assert client.request(0, "=", 1, 2) == ["0", "4", "2", "1", "3", "4"]
        client.open(0, database, "t", "id", index="1")
        assert client.request(0, "=", 1, 2) == ["0", "1", "1"]
        client.open(1, database, "v", "id,x")
        assert client.request(1, "=", 1, 1, 10) == ["0", "2", "1", "21"]
        assert client.request(1, "=", 1, 2, 10) == ["0", "2"]
        assert client.request(1, ">=", 1, 0, 10) == ["0", "2", "1", "21", "3", "23"]
        client.open(2, database, "v", "id", index="x")
        assert client.request(2, ">=", 1, 0, 10) == ["0", "1", "1", "3"]
