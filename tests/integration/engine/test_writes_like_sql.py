"""A write through the door leaves the same rows as the same write by SQL, value by value.

Every column type gets every hostile value, in an insert and in an update, all in one batch. With
POSTERN_TEST_STAND_IN=1 SQL writes both sides, to prove the comparison.
"""
import os
from decimal import Decimal

import pytest
from support.like_sql import Change, Insert, Twins, Update

STAND_IN = bool(os.environ.get("POSTERN_TEST_STAND_IN"))


@pytest.fixture
def twins(server):
    both = Twins(server, STAND_IN)
    yield both
    both.close()


NUMBERS = """
0 1 -1 -0 +5 00007 127 128 -128 -129 255 256 32767 32768 -32769 65535 65536 8388607 8388608 -8388609 16777215 16777216
2147483647 2147483648 -2147483648 -2147483649 4294967295 4294967296 9223372036854775807 9223372036854775808
-9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616 99999999999999999999999999999999
123456789012345678901234567890123456789012345678901234567890123456789 1.5 2.5 -1.5 1.4999999999999999999 -0.5 0.5 .5 5. 1.005
99999.99 99999.994 99999.995 127.4 127.5 255.5 1e3 1E3 1e+3 1e-3 1e 1e400 -1e400 1e-400 3.4028235e38 3.5e38 1.7976931348623157e308 1e308
nan inf -inf Infinity 0x10 0b1 1_000 1,000 7abc abc 7. -- --1 + - . e1 true false NULL ١
""".split()
TIMES = """
2024-02-29 2023-02-29 2024-02-30 2024-13-01 2024-12-32 0000-00-00 2024-00-10 2024-01-00 0000-01-01 0001-01-01 9999-12-31
10000-01-01 2024/01/31 2024.01.31 24-1-3 70-01-01 69-12-31 20240131 240131 20240131102030 20240131102030.5 2024-01-31T10:20:30 hello
2024-01 2024- 838:59:59 838:59:59.999999 839:00:00 -838:59:59 -839:00:00 10:11 10:11:12 10:11:12.9999999 12:60:00 12:59:60 24:00:00
-00:00:01 101112 101160 1901 1900 2155 2156 99 69 70 00 0000
""".split()
TIMES += [
    "0000-00-00 00:00:00",
    "2024-01-31 10:20:30",
    "2024-01-31 10:20:30.999999",
    "2024-01-31 10:20:30.1234567",
    "2024-01-31 25:00:00",
    "2024-01-31 10:60:00",
    "2024-01-31 23:59:59.9999999",
    "2024-01-31 10:20:30+02:00",
    "2024-01-31 10:20:30Z",
    "1969-12-31 23:59:59",
    "1970-01-01 00:00:00",
    "1970-01-01 00:00:01",
    "1970-01-01 13:00:00",
    "2038-01-19 03:14:07",
    "2038-01-19 03:14:08",
    "9999-12-31 23:59:59.999999",
    " 2024-01-31",
    "2024-01-31 ",
    "2024-01-31 x",
    "1 10:11:12",
    "35 00:00:00",
    "-1 10:11:12",
    "2024-01-31 10",
]
TEXTS = [
    "",
    " ",
    "   ",
    "\t",
    "\n",
    " 7",
    "7 ",
    "7 x",
    "a",
    "a  ",
    "abcde",
    "abcdef",
    "abcde  ",
    "é" * 5,
    "é" * 6,
    "😀",
    "x" * 255,
    "x" * 256,
    "red",
    "RED",
    "red ",
    " red",
    "purple",
    "red,green",
    "a,b",
    "b,a",
    "a,a",
    "A",
    "a,zz",
    ",",
    "a,",
    '{"a": [1]}',
    "{bad",
    "null",
    "[1",
    '"x"',
    "123e4567-e89b-12d3-a456-426614174000",
    "123e4567e89b12d3a456426614174000",
    "{123e4567-e89b-12d3-a456-426614174000}",
    "123e4567-e89b-12d3-a456-42661417400",
    "123e4567-e89b-12d3-a456-42661417400z",
    "::1",
    "10.0.0.1",
    "10.0.0.256",
    "::ffff:10.0.0.1",
    "2001:db8::g",
    "'",
    "\\",
    "\\'",
]
BYTES = [
    b"\0",
    b"\1",
    b"\x80",
    b"\xff",
    b"a\xffb",
    b"\xc3",
    b"\xe9t\xe9",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"\xc0\xaf",
    bytes(16),
    bytes(range(256)),
    b"\xff" * 4,
    b"\0" * 8,
    b"\0\0\0\1",
    b"\xd8\x00",
    b"\x00A\x00b",
    b"\x00A\x00b\x00c\x00d\x00e\x00f",
    b"\xdc\x00\xd8\x00",
    "日本語".encode("sjis"),
    bytes.fromhex("00000000" "01" "01000000" "000000000000f03f" "0000000000000040"),
    bytes.fromhex("00000000" "01" "01000000" "000000000000f03f"),
]
LONG = [b"y" * 65535, b"y" * 65536, b"z" * 70000]
HOSTILE = [None, *dict.fromkeys([*(text.encode() for text in NUMBERS + TIMES + TEXTS), *BYTES, *LONG])]

# type, the value before an update
TYPES = [
    ("TINYINT", b"7"),
    ("TINYINT UNSIGNED", b"7"),
    ("SMALLINT", b"7"),
    ("SMALLINT UNSIGNED", b"7"),
    ("MEDIUMINT", b"7"),
    ("MEDIUMINT UNSIGNED", b"7"),
    ("INT", b"7"),
    ("INT UNSIGNED", b"7"),
    ("INT(6) ZEROFILL", b"7"),
    ("BIGINT", b"7"),
    ("BIGINT UNSIGNED", b"7"),
    ("BOOLEAN", b"1"),
    ("DECIMAL(10,3)", b"7.5"),
    ("DECIMAL(5,0) UNSIGNED", b"7"),
    ("DECIMAL(65,30)", b"7.5"),
    ("DECIMAL(2,2)", b"0.5"),
    ("FLOAT", b"7.5"),
    ("FLOAT UNSIGNED", b"7.5"),
    ("FLOAT(7,2)", b"7.5"),
    ("DOUBLE", b"7.5"),
    ("DOUBLE UNSIGNED", b"7.5"),
    ("DOUBLE(10,2)", b"7.5"),
    ("DATE", b"2020-01-01"),
    ("DATETIME", b"2020-01-01"),
    ("DATETIME(3)", b"2020-01-01"),
    ("DATETIME(6)", b"2020-01-01"),
    ("TIME", b"01:02:03"),
    ("TIME(6)", b"01:02:03"),
    ("TIMESTAMP NULL DEFAULT NULL", b"2020-01-01"),
    ("TIMESTAMP(6) NULL DEFAULT NULL", b"2020-01-01"),
    ("YEAR", b"2020"),
    ("BIT(1)", b"\1"),
    ("BIT(8)", b"\1"),
    ("BIT(12)", b"\1"),
    ("BIT(64)", b"\1"),
    ("CHAR(5)", b"q"),
    ("CHAR(0)", b""),
    ("VARCHAR(5)", b"q"),
    ("VARCHAR(255)", b"q"),
    ("VARCHAR(300)", b"q"),
    ("VARCHAR(16000)", b"q"),
    ("TINYTEXT", b"q"),
    ("TEXT", b"q"),
    ("MEDIUMTEXT", b"q"),
    ("TEXT COMPRESSED", b"q"),
    ("VARCHAR(300) COMPRESSED", b"q"),
    ("BINARY(4)", b"q"),
    ("BINARY(16)", b"q"),
    ("VARBINARY(5)", b"q"),
    ("VARBINARY(300)", b"q"),
    ("TINYBLOB", b"q"),
    ("BLOB", b"q"),
    ("LONGBLOB", b"q"),
    ("BLOB COMPRESSED", b"q"),
    ("ENUM('red','green','blue','7')", b"green"),
    ("SET('a','b','c')", b"b"),
    ("JSON", b"{}"),
    ("UUID", b"00000000-0000-0000-0000-000000000001"),
    ("INET6", b"::2"),
    ("INET4", b"1.2.3.4"),
    ("POINT", bytes.fromhex("00000000" "01" "01000000" "000000000000f03f" "000000000000f03f")),
    ("GEOMETRY", bytes.fromhex("00000000" "01" "01000000" "000000000000f03f" "000000000000f03f")),
    ("VARCHAR(5) CHARACTER SET utf8mb3", b"q"),
    ("TEXT CHARACTER SET utf8mb3", b"q"),
    ("VARCHAR(5) COLLATE utf8mb4_bin", b"q"),
    ("VARCHAR(5) COLLATE utf8mb4_nopad_bin", b"q"),
]
# SQL gets the same bytes with an introducer here. It reports malformed ones in words of its own.
CHARSET_TYPES = [
    (f"{kind} CHARACTER SET {charset}", b"")
    for kind in ("VARCHAR(5)", "CHAR(5)", "TEXT")
    for charset in ("latin1", "utf16", "utf16le", "ucs2", "utf32", "sjis", "big5", "cp1251", "ascii", "koi8r")
]
CHARACTER_BYTES = {"utf16": 2, "utf16le": 2, "ucs2": 2, "utf32": 4}
DATES = [one for one in TYPES if one[0].startswith(("DATE", "TIME", "YEAR"))]


def refused_for(kind):
    """SQL pads an introduced literal of half a character with a leading zero byte, which no client sent."""
    bytes_each = CHARACTER_BYTES.get(kind.rpartition("CHARACTER SET ")[2], 1)
    return lambda op: op.values["v"] is not None and len(op.values["v"]) % bytes_each != 0


def give_everything(twins, kind, before, null, words=True):
    twins.make(f"CREATE TABLE t (k INT PRIMARY KEY, v {kind}{null})")
    first = 1000
    inserts = [Insert("t", k=b"%d" % n, v=value) for n, value in enumerate(HOSTILE)]
    updates = [Update("t", b"%d" % (n + first), v=value) for n, value in enumerate(HOSTILE)]
    for side in (twins.twin, twins.target):
        side.cursor.execute("START TRANSACTION")
        prepared = side.run([Insert("t", k=b"%d" % (n + first), v=before) for n in range(len(HOSTILE))])
        assert all(outcome.accepted for outcome in prepared), prepared[0]
        side.cursor.execute("COMMIT")
    twins.twin.cursor.execute("START TRANSACTION")
    twins.run(inserts + updates, refused_for(kind), words)
    twins.twin.cursor.execute("COMMIT")
    twins.assert_same()


@pytest.mark.parametrize("kind, before", TYPES, ids=[kind for kind, _ in TYPES])
def test_every_value_in_every_type(twins, kind, before):
    give_everything(twins, kind, before, "")


@pytest.mark.parametrize("kind, before", TYPES, ids=[kind for kind, _ in TYPES])
def test_null_and_nothing_where_null_is_not_allowed(twins, kind, before):
    kind = kind.replace(" NULL DEFAULT NULL", "")
    twins.make(
        "SET SESSION explicit_defaults_for_timestamp=1",
        f"CREATE TABLE t (k INT PRIMARY KEY, v {kind} NOT NULL)",
        "CREATE TABLE empty (k INT PRIMARY KEY)",
    )
    twins.run(
        [
            Insert("t", k=b"1", v=before),
            Insert("t", k=b"2", v=None),
            Insert("t", k=b"3"),
            Update("t", b"1", v=None),
            Update("t", b"1", k=b"5"),
            Insert("t", k=b"", v=before),
            Insert("t", k=None, v=before),
            Insert("t", v=before),
        ]
    )
    twins.assert_same()


@pytest.mark.parametrize("kind, before", CHARSET_TYPES, ids=[kind for kind, _ in CHARSET_TYPES])
def test_character_columns_take_their_own_character_set(twins, kind, before):
    give_everything(twins, kind, before, "", words=False)


@pytest.mark.parametrize(
    "option",
    [
        "--sql-mode=TRADITIONAL",
        "--sql-mode=STRICT_ALL_TABLES,ALLOW_INVALID_DATES",
        "--sql-mode=TIME_ROUND_FRACTIONAL,PAD_CHAR_TO_FULL_LENGTH",
        "--default-time-zone=-03:30",
    ],
)
def test_dates_under_the_servers_settings(sandbox_factory, option):
    server = sandbox_factory(option)
    for kind, before in DATES:
        both = Twins(server, STAND_IN)
        try:
            give_everything(both, kind, before, "")
        finally:
            both.close()


# --- increments -------------------------------------------------------------------------------------------------

INCREMENTED = [
    ("TINYINT", ["-128", "-1", "0", "1", "126", "127"]),
    ("TINYINT UNSIGNED", ["0", "1", "254", "255"]),
    ("SMALLINT", ["32767", "5"]),
    ("MEDIUMINT UNSIGNED", ["16777215", "5"]),
    ("INT", ["-2147483648", "5", "2147483647"]),
    ("INT UNSIGNED", ["0", "4294967295"]),
    ("INT(6) ZEROFILL", ["7"]),
    ("BIGINT", ["-9223372036854775808", "5", "9223372036854775806"]),
    ("BIGINT UNSIGNED", ["0", "5", "9223372036854775808", "18446744073709551615"]),
    ("DECIMAL(10,3)", ["1.750", "-1.750", "9999999.999"]),
    ("DECIMAL(65,30)", ["1.123456789012345678901234567891"]),
    ("DECIMAL(4,1) UNSIGNED", ["1.5", "999.9"]),
    ("FLOAT", ["1.75", "16777216"]),
    ("DOUBLE", ["1.75", "9007199254740992", "1.7976931348623157e308"]),
    ("YEAR", ["1901", "2020", "2155"]),
]
OPERANDS = [
    "0",
    "1",
    "-1",
    "5",
    "127",
    "1.5",
    "0.25",
    "-0.001",
    "1e2",
    "100000",
    "2147483647",
    "9223372036854775807",
    "18446744073709551615",
    "-9223372036854775808",
]


def give_operands(twins, kind, modification, pairs):
    """pairs: values, or None, and operands. The door's error of an overflow names the column, SQL's the expression."""
    twins.make(f"CREATE TABLE t (k INT PRIMARY KEY, v {kind})")
    for side in (twins.twin, twins.target):
        side.cursor.execute("START TRANSACTION")
        side.run(
            [
                Insert("t", k=b"%d" % n, v=None if value is None else value.encode())
                for n, (value, _) in enumerate(pairs)
            ]
        )
        side.cursor.execute("COMMIT")
    twins.run(
        [Change("t", b"%d" % n, modification, {"v": operand.encode()}) for n, (_, operand) in enumerate(pairs)],
        words=False,
    )
    twins.assert_same()


@pytest.mark.parametrize("kind, values", INCREMENTED, ids=[kind for kind, _ in INCREMENTED])
def test_increments(twins, kind, values):
    give_operands(twins, kind, "+", [(value, operand) for value in [*values, None] for operand in OPERANDS])


@pytest.mark.parametrize("kind", ["VARCHAR(30)", "TEXT", "VARBINARY(30)"])
def test_increments_of_text_that_is_a_number(twins, kind):
    values = ["10", "-3", "1.5", "0", " 7", "1e2", "abc", "7abc", "", None]
    give_operands(twins, kind, "+", [(value, operand) for value in values for operand in ("0", "1", "-20", "0.25")])


@pytest.mark.parametrize("kind, values", INCREMENTED, ids=[kind for kind, _ in INCREMENTED])
def test_decrements(twins, kind, values):
    """- yields v - n if that has the same sign or is 0; the vectors test the other results."""

    def keeps_sign(value, operand):
        left = Decimal(value) - Decimal(operand)
        return Decimal(value) * left >= 0 and (Decimal(value) != 0 or left == 0)

    give_operands(
        twins, kind, "-", [(value, operand) for value in values for operand in OPERANDS if keeps_sign(value, operand)]
    )


def test_several_columns_in_one_increment(twins):
    twins.make(
        "CREATE TABLE t (k INT PRIMARY KEY, a INT, b BIGINT UNSIGNED, c DECIMAL(5,2), d DOUBLE, e TINYINT NOT NULL DEFAULT 100)",
        "INSERT INTO t VALUES (1, 1, 1, 1, 1, 1), (2, NULL, 2, NULL, 2, 2), (3, 3, 18446744073709551615, 3, 3, 3), (4, 4, 4, 4, 4, 127)",
    )
    every = dict(a=b"1", b=b"2", c=b"0.5", d=b"0.125", e=b"1")
    ops = [Change("t", b"%d" % key, "+", every) for key in range(1, 6)]
    ops += [
        Change("t", b"1", "+", dict(every, b=None, e=None), operator=">=", limit=9),
        Change("t", b"1", "+", every, operator=">=", limit=9),
        Change("t", b"1", "+", every, operator=">=", limit=2),
    ]
    twins.run(ops, words=False)
    twins.assert_same()
