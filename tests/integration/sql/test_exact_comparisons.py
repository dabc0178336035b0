"""Values of every kind compared with columns of every kind: byte for byte as the server answers."""
import random

import pytest
from support.clients import sql_wire
from support.server import STEADY_PLANS

COLUMNS = {
    "i": "INT",
    "u": "TINYINT UNSIGNED NOT NULL",
    "l": "BIGINT",
    "lu": "BIGINT UNSIGNED",
    "n": "DECIMAL(10,2)",
    "long_n": "DECIMAL(30,10)",
    "f": "DOUBLE",
    "v": "VARCHAR(10) CHARACTER SET utf8mb4",
    "vl": "VARCHAR(10) CHARACTER SET latin1",
    "vb": "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "vn": "VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
    "c": "CHAR(6) CHARACTER SET utf8mb4",
    "cn": "CHAR(6) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_nopad_ci",
    "bin": "BINARY(4)",
    "vbin": "VARBINARY(6)",
    "d": "DATE",
    "dt": "DATETIME",
    "dt3": "DATETIME(3)",
    "ts": "TIMESTAMP NULL",
    "t": "TIME",
    "y": "YEAR",
    "e": "ENUM('a','b','1')",
    "g": "UUID",
}
STORED = {
    "number": [0, 1, 2, 7, 100, 127, 3, 42],
    "text": ["", "a", "A", "b", "ab", "é", "1", "01", "2024", "ß", "a b", "%"],
    "uuid": ["00000000-0000-4000-8000-00000000000a", "123e4567-e89b-12d3-a456-426614174000"],
    "time": ["2024-01-01", "2024-02-29 12:00:00", "1999-12-31 23:59:59", "2024-01-01 00:00:00.5"],
}
WRITTEN = [
    *("0", "1", "-1", "7", "42", "127", "128", "300", "99999999999", "999999999999999999", "007"),
    *(
        "'1'",
        "'01'",
        "' 1'",
        "'1 '",
        "'1.0'",
        "'1e0'",
        "'+1'",
        "'2abc'",
        "''",
        "'-1'",
        "'-0'",
        "'127'",
        "'99999999999999999'",
    ),
    *(
        "'a'",
        "'A'",
        "'a '",
        "'a  '",
        "'ab'",
        "'é'",
        "'e'",
        "'ß'",
        "'ss'",
        "'a b'",
        "'abcdefghijklmn'",
        "'😀'",
        "'a%'",
        "'%'",
    ),
    *(
        "'2024-01-01'",
        "'2024-1-1'",
        "'20240101'",
        "'2024-02-30'",
        "'2024-00-00'",
        "'0000-00-00'",
        "'2024-01-01 00:00:00'",
    ),
    *(
        "'2024-02-29 12:00:00'",
        "'2024-02-29T12:00:00'",
        "'2024-02-29 12:00'",
        "'2024-01-01 00:00:00.500'",
        "'12:00:00'",
    ),
    *(
        "'123e4567-e89b-12d3-a456-426614174000'",
        "'00000000-0000-4000-8000-00000000000A'",
        "'0000000000004000800000000000000a'",
        "'00000000-0000-4000-80000000-0000000a'",
        "'ffffffff-ffff-ffff-0fff-ffffffffffff'",
        "x'0000000000004000800000000000000a'",
    ),
    *("1.5", "TRUE", "NULL", "0x41", "_latin1'a'", "DATE'2024-01-01'", "1e0", "'1' ", "-0"),
]
TESTS = [
    "{c} = {v}",
    "{c} IN ({v}, {w})",
    "{c} > {v}",
    "{c} <= {v}",
    "{c} BETWEEN {v} AND {w}",
    "{c} <> {v}",
    "{v} = {c}",
]
TEXT_TESTS = [*TESTS, "{c} LIKE {v}"]
SHAPES = [
    "SELECT id, {c} FROM typed WHERE {test} ORDER BY id",
    "SELECT id FROM typed WHERE id = {id} AND {test}",
    "SELECT COUNT(*) FROM typed WHERE {test}",
    "SELECT * FROM typed WHERE {test} ORDER BY {c}, id LIMIT 3",
    "SELECT EXISTS (SELECT 1 FROM typed WHERE {test}) AS x",
]


def another(chance, sort):
    if sort == "number":
        return chance.randint(0, 120)
    if sort == "uuid":
        return f"{chance.randint(0, 50):08}-e89b-12d3-a456-426614174000"
    if sort == "text":
        return "".join(chance.choice("abcdefgh1") for _ in range(3))
    return f"20{chance.randint(10, 30)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02} 10:00:00"


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(STEADY_PLANS, postern_port=0)
    columns = ", ".join(f"{name} {kind}, KEY {name} ({name})" for name, kind in COLUMNS.items())
    server.execute(
        f"CREATE TABLE typed (id INT AUTO_INCREMENT PRIMARY KEY, {columns}) CHARSET utf8mb4", database="test"
    )
    chance = random.Random(5)
    rows = []
    for _ in range(1500):
        values = []
        for name, kind in COLUMNS.items():
            sort = (
                "text" if "CHAR" in kind or "BIN" in kind else "time" if name in ("d", "dt", "dt3", "ts") else "number"
            )
            if kind == "UUID":
                sort = "uuid"
            value = chance.choice(STORED[sort]) if chance.random() < 0.2 else another(chance, sort)
            if name == "e":
                value = chance.choice(["a", "b", "1"])
            if name == "y":
                value = chance.choice([2024, 1999, 2001])
            values.append("NULL" if "NOT NULL" not in kind and chance.random() < 0.1 else repr(value))
        rows.append(f"({', '.join(values)})")
    server.execute(
        "SET sql_mode = ''",
        f"INSERT IGNORE INTO typed ({', '.join(COLUMNS)}) VALUES {', '.join(rows)}",
        "ANALYZE TABLE typed",
        database="test",
    )
    return server


def forms():
    """Statements with two parameters, and a value for which the server uses the index."""
    for column, kind in COLUMNS.items():
        is_text = "CHAR" in kind or "BIN" in kind
        usual = (
            repr(STORED["uuid"][0])
            if kind == "UUID"
            else "'1'"
            if is_text
            else "'2024-02-29'"
            if column in ("d", "dt", "dt3", "ts")
            else "1"
        )
        for test in TEXT_TESTS if is_text else TESTS:
            for shape in SHAPES:
                yield shape.replace("{c}", column).replace("{test}", test.replace("{c}", column)), usual


def without_hints(packets):
    """The packets without the status bits about the chosen index."""
    told = []
    for packet in packets:
        if packet[4] == 0xFE and len(packet) < 13:
            packet = packet[:7] + bytes([packet[7] & ~0x30]) + packet[8:]
        told.append(packet)
    return told


def fast(server):
    return int(server.status("postern_statements_fast")["postern_statements_fast"])


@pytest.mark.parametrize("charset", ["utf8mb4", "latin1"])
def test_texts(server, charset):
    ways = [
        sql_wire.Wire(sql_wire.door(server, database="test", charset="utf8mb4")),
        sql_wire.Wire(sql_wire.connect(server.env["SQL_PORT"], database="test", charset="utf8mb4")),
    ]
    for way in ways:
        sql_wire.rows(way.connection, f"SET NAMES {charset}")
        sql_wire.rows(way.connection, "SET sql_mode = ''")
    before = fast(server)
    chance = random.Random(charset)
    asked = 0
    for form, usual in forms():
        written = [(usual, usual)] * 3 + [(chance.choice(WRITTEN), chance.choice(WRITTEN)) for _ in range(4)]
        for v, w in written:
            statement = form.format(v=v, w=w, id=chance.randint(1, 1500))
            answers = []
            for way in ways:
                way.send(sql_wire.QUERY, statement.encode())
                answers.append(without_hints(way.result()))
            assert answers[0] == answers[1], statement
            asked += 1
    assert fast(server) - before > asked / 10, str(
        {k: v for k, v in server.status("postern_%").items() if v not in (0, "0")}
    )
