"""postern advise: how it classifies statements, one by one and in files, without a server."""
import csv
import io
import json
import struct

import pytest
from support import cli
from support.server import ROOT

cli.parts()

from postern_cli.advise import capture, classify, doors, logs, schema, statement, workload  # noqa: E402

WIRE = ROOT / "tests/wire/sql"
TABLES = schema.from_definitions((WIRE / "tables.sql").read_text())
LIBRARIES = [json.loads(line) for line in (WIRE / "libraries.jsonl").read_text().splitlines()]
APPLICATIONS = list(
    csv.DictReader(io.StringIO((WIRE / "applications.tsv").read_text()), delimiter="\t", quoting=csv.QUOTE_NONE)
)


def kind(text, database="shop"):
    return classify.classify(text, TABLES, database).kind


def test_statements_of_libraries():
    wrong = [(one["kind"], kind(one["statement"]), one["statement"]) for one in LIBRARIES]
    assert [one for one in wrong if one[0] != one[1]] == []
    assert len(LIBRARIES) > 200


def test_statements_of_applications():
    wrong = [(one["kind"], kind(one["statement"], one["application"]), one["statement"]) for one in APPLICATIONS]
    assert [one for one in wrong if one[0] != one[1]] == []


@pytest.mark.parametrize(
    "text, expected",
    [
        ("SELECT name FROM users WHERE id = 1 AND email = 'x'", "point_select"),
        ("SELECT name FROM users WHERE (id, email) = (1, 'x')", "point_select"),
        ("SELECT sku FROM order_items WHERE order_id = 1", "range"),
        ("SELECT sku FROM order_items WHERE line_no = 1", "unindexed"),
        ("SELECT sku FROM order_items WHERE (order_id, line_no) IN ((1, 2), (3, 4))", "in_list"),
        ("SELECT sku FROM order_items WHERE order_id = 1 AND line_no IN (1, 2)", "in_list"),
        ("SELECT name FROM users WHERE id = 1 OR id = 2", "in_list"),
        ("SELECT name FROM users WHERE id = 1 OR email = 'x'", "other"),
        ("SELECT name FROM users WHERE id <> 1", "other"),
        ("SELECT name FROM users WHERE id BETWEEN 1 AND 5", "range"),
        ("SELECT name FROM users WHERE email LIKE 'a%'", "range"),
        ("SELECT name FROM users WHERE email LIKE '%a'", "other"),
        ("SELECT name FROM users WHERE LOWER(email) = 'x'", "other"),
        ("SELECT name FROM users WHERE id = city_id", "other"),
        ("SELECT name FROM users WHERE id = (SELECT 1)", "other"),
        ("SELECT name FROM users WHERE id IN (SELECT order_id FROM order_items)", "other"),
        ("SELECT name, (SELECT 1) FROM users WHERE id = 1", "other"),
        ("SELECT name FROM users", "other"),
        ("SELECT MAX(id) FROM users", "other"),
        ("SELECT name FROM users WHERE id = 1 GROUP BY name", "other"),
        ("SELECT name FROM users WHERE id = 1 UNION SELECT name FROM users WHERE id = 2", "other"),
        ("WITH x AS (SELECT 1) SELECT name FROM users WHERE id = 1", "other"),
        ("SELECT u.name FROM users u, kv WHERE u.id = 1", "other"),
        ("SELECT name FROM nowhere WHERE id = 1", "other"),
        ("SELECT COUNT(*) FROM users", "other"),
        ("SELECT COUNT(*) FROM users WHERE id = 1", "count"),
        ("SELECT UPPER(name) FROM users WHERE id = 1", "point_select"),
        ("SELECT v FROM kv WHERE k = 0", "other"),
        ("SELECT v FROM `kv` WHERE k = _utf8mb4'x' COLLATE utf8mb4_bin", "point_select"),
        ("SELECT SQL_NO_CACHE v FROM kv FORCE INDEX (PRIMARY) WHERE k = 'x' LOCK IN SHARE MODE", "point_select"),
        ("SET STATEMENT max_statement_time = 1 FOR SELECT v FROM kv WHERE k = 'x'", "point_select"),
        ("UPDATE users SET name = 'x', visits = visits + 1 WHERE id = 1", "increment"),
        ("UPDATE users SET name = UPPER(name) WHERE id = 1", "point_update"),
        ("UPDATE users SET name = (SELECT 1) WHERE id = 1", "other"),
        ("UPDATE users, kv SET name = 'x' WHERE id = 1", "other"),
        ("UPDATE users SET name = 'x'", "other"),
        ("DELETE FROM users WHERE id = 1 LIMIT 1", "point_delete"),
        ("DELETE FROM users", "other"),
        ("INSERT INTO kv SET k = 'a', v = 'b'", "insert"),
        ("INSERT INTO kv SELECT * FROM kv", "other"),
        ("INSERT INTO kv VALUES ('a', 'b', 1), ('c', 'd', 2)", "insert"),
        ("REPLACE INTO kv VALUES ('a', 'b', 1)", "upsert"),
        ('SELECT "u"."name" FROM "users" "u" WHERE ("u"."id" = \'1\')', "point_select"),
        ('DELETE FROM "shop"."kv" WHERE "k" = \'a "b"\'', "point_delete"),
        ("SELECT name FROM users WHERE id = 1 AND created_at IS NULL LIMIT 1", "point_select"),
        ("SELECT name FROM users WHERE id = :id", "point_select"),
        ("SELECT name FROM users WHERE id = LAST_INSERT_ID()", "point_select"),
        ("SELECT DISTINCT name FROM users USE INDEX (PRIMARY) WHERE id IN (1, 2) ORDER BY name", "in_list"),
        ("CALL p()", "other"),
        ("CREATE TABLE x (a INT)", "definition"),
        ("this is no SQL", "other"),
        ("SELECT 'it''s; \\' -- no comment' FROM", "other"),
        ("", "session"),
    ],
)
def test_shapes(text, expected):
    assert kind(text) == expected


def test_digests_of_statements_are_understood():
    digests = {
        "SELECT NAME FROM `users` WHERE `id` = ? LIMIT ? ": "point_select",
        "SELECT `u` . `name` FROM `users` AS `u` WHERE `u` . `id` IN (...) ": "in_list",
        "SELECT ?, ... ": "session",
        "INSERT INTO `kv` ( `k` , `v` ) VALUES (...) /* , ... */ ": "insert",
        "UPDATE `users` SET `visits` = `visits` + ? WHERE `id` = ? ": "increment",
        "SELECT COUNT ( * ) FROM `users` WHERE ( ( `id` = ? ) ) ": "count",
        "SELECT `name` FROM `users` WHERE `id` = ? AND `email` = ? AND `vis...": "other",
    }
    assert {text: kind(text) for text in digests} == digests


def services(text):
    return {one.door: one.serves for one in doors.services(classify.classify(text, TABLES, "shop"))}


@pytest.mark.parametrize(
    "text, serving",
    [
        ("SELECT name FROM users WHERE id = 1", "sql handlersocket memcached redis"),
        ("SELECT name FROM users WHERE id = 1 FOR UPDATE", "sql"),
        ("SELECT name FROM users WHERE city_id = 1 FOR UPDATE", "sql"),
        ("SELECT name FROM users WHERE id = 1 AND visits > 5", "sql handlersocket"),
        ("SELECT name FROM users WHERE city_id = 10", "sql handlersocket"),
        ("SELECT name FROM users WHERE city_id = 10 ORDER BY name", "sql handlersocket"),
        ("SELECT COUNT(*) FROM (SELECT id FROM users WHERE id = 1) one", "sql handlersocket memcached redis"),
        ("SELECT UPPER(name) FROM users WHERE id = 1", "sql handlersocket"),
        ("UPDATE users SET visits = visits + 1 WHERE id = 1", "sql handlersocket memcached redis"),
        ("UPDATE users SET visits = visits + 1, name = 'x' WHERE id = 1", "sql"),
        ("UPDATE users SET created_at = NOW() WHERE id = 1", "sql"),
        ("UPDATE users SET name = 'x' WHERE city_id = 1", "sql handlersocket"),
        ("UPDATE users SET name = 'x' WHERE email LIKE 'a%'", "handlersocket"),
        ("UPDATE users SET name = 'x' WHERE id = 1 AND email LIKE 'a%'", "sql handlersocket"),
        ("DELETE FROM users WHERE email LIKE 'a%'", "handlersocket"),
        ("SELECT name FROM users WHERE email LIKE 'a%' FOR UPDATE", ""),
        ("SELECT name FROM users WHERE email LIKE 'a%'", "sql handlersocket"),
        ("UPDATE users SET name = 'x', visits = 1 WHERE id = 1", "sql handlersocket redis"),
        ("INSERT INTO users (email) VALUES ('x')", "sql handlersocket"),
        ("INSERT INTO users (email) VALUES ('x') RETURNING id", "sql"),
        ("INSERT INTO users (email) VALUES ('x') RETURNING `users`.`id` AS n, users.*, *", "sql"),
        ("INSERT INTO users (email) VALUES ('x') RETURNING id + 1", ""),
        ("DELETE FROM kv WHERE k = 'a' RETURNING v", "sql"),
        (
            "INSERT INTO kv (k, v, exp) VALUES ('a', 'b', 1) ON DUPLICATE KEY UPDATE v = VALUES(v), exp = VALUES(exp)",
            "sql handlersocket memcached redis",
        ),
        ("INSERT INTO kv (k, v, exp) VALUES ('a', 'b', 1) ON DUPLICATE KEY UPDATE exp = exp + 1", "sql"),
        ("INSERT INTO kv (k, exp) VALUES ('a', 1) ON DUPLICATE KEY UPDATE exp = exp + VALUES(exp)", "sql"),
        ("INSERT INTO kv (k, v) VALUES ('a', 'b') ON DUPLICATE KEY UPDATE v = UPPER(v)", ""),
        ("INSERT IGNORE INTO kv (k, v, exp) VALUES ('a', 'b', 1)", "sql handlersocket memcached"),
        ("REPLACE INTO kv (k, v) VALUES ('a', 'b')", "sql"),
        ("DELETE FROM kv WHERE k = 'a'", "sql handlersocket memcached redis"),
    ],
)
def test_doors(text, serving):
    assert sorted(door for door, serves in services(text).items() if serves) == sorted(serving.split())


def test_an_index_is_asked_for_where_one_is_missing():
    verdict = classify.classify("SELECT qty FROM order_items WHERE sku = 'x' AND qty = 2", TABLES, "shop")
    assert doors.index_statement(verdict) == "ALTER TABLE `shop`.`order_items` ADD INDEX `sku_qty` (`sku`, `qty`);"


def test_a_number_for_text_is_warned_of():
    assert "quote the value" in classify.classify("SELECT v FROM kv WHERE k = 7", TABLES, "shop").warning


def test_statements_that_differ_in_values_are_one():
    same = [
        "SELECT a FROM t WHERE id = 1 AND b IN (1, 2, 3)",
        "select a  FROM t /* c */ where id = -5 AND b IN ('x', 'y')  ;",
        "SELECT a FROM t WHERE id = ? -- end\n AND b IN (?, ?)",
    ]
    assert len({statement.fingerprint(text) for text in same}) == 1
    assert statement.fingerprint("SELECT a - 1 FROM t") != statement.fingerprint("SELECT a FROM t")


def test_a_write_with_values_of_the_session_is_the_servers_outside_a_transaction():
    def served(text, inside):
        observations = [workload.Observation(text, "shop", in_transaction=one) for one in inside]
        [shape] = workload.gather(observations, TABLES, "statements").shapes
        return doors.sql(shape.verdict).serves

    write, read = "UPDATE users SET name = @name WHERE id = 1", "SELECT name FROM users WHERE id = @id"
    assert served(write, [True, True])
    assert not served(write, [False]) and not served(write, [True, False])
    assert served(read, [False])
    assert served("UPDATE users SET name = ? WHERE id = ?", [False])


def observed(text):
    return [(one.text, one.database, one.in_transaction) for one in logs.read(io.StringIO(""), text)]


def test_a_general_log():
    log = (
        "/usr/sbin/mariadbd, Version: 10.11.18-MariaDB (Debian 12). started with:\n"
        "Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n"
        "Time\t\t    Id Command\tArgument\n"
        "261122  8:00:00\t     3 Connect\tapp@localhost on shop using Socket\n"
        "\t\t     3 Query\tSELECT name\n\tFROM users WHERE id = 1\n"
        "\t\t     4 Connect\tapp@localhost on  using TCP/IP\n"
        "261122  8:00:01\t     4 Init DB\tmediawiki\n"
        "\t\t     4 Query\tBEGIN\n"
        "\t\t     3 Prepare\tSELECT 1\n"
        "\t\t     3 Execute\tSELECT v FROM kv WHERE k = 'a'\n"
        "\t\t     4 Query\tDELETE FROM job WHERE job_id = 1\n"
        "\t\t     4 Query\tCOMMIT\n"
        "\t\t     4 Query\tSET autocommit=0\n"
        "\t\t     4 Query\tSELECT 2\n"
        "\t\t     3 Quit\t\n"
    )
    assert logs.kind_of(log) == "general"
    assert observed(log) == [
        ("SELECT name\n\tFROM users WHERE id = 1", "shop", False),
        ("BEGIN", "mediawiki", False),
        ("SELECT v FROM kv WHERE k = 'a'", "shop", False),
        ("DELETE FROM job WHERE job_id = 1", "mediawiki", True),
        ("COMMIT", "mediawiki", True),
        ("SET autocommit=0", "mediawiki", False),
        ("SELECT 2", "mediawiki", True),
    ]


def test_a_slow_log():
    log = (
        "# Time: 261122  8:00:00\n# User@Host: app[app] @ localhost []\n# Thread_id: 3  Schema: shop  QC_hit: No\n"
        "# Query_time: 0.500000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795334400;\n"
        "SELECT name\nFROM users WHERE id = 1;\n"
        "# User@Host: app[app] @ localhost []\n# Thread_id: 3  Schema: shop  QC_hit: No\n"
        "# Query_time: 0.250000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\nuse wordpress;\nSET timestamp=1795334400;\n"
        "SELECT * FROM wp_posts WHERE ID = 1;\n"
        "# User@Host: app[app] @ localhost []\n# Thread_id: 3  Schema:   QC_hit: No\n# Query_time: 0.1  Lock_time: 0.0\n"
        "# administrator command: Ping;\n"
    )
    assert logs.kind_of(log) == "slow"
    work = workload.gather(logs.read(io.StringIO(""), log), TABLES, "a slow log")
    assert [(one.verdict.kind, one.database, one.seconds) for one in work.shapes] == [
        ("point_select", "shop", 0.5),
        ("point_select", "wordpress", 0.25),
    ]


def message(number, body):
    return len(body).to_bytes(3, "little") + bytes([number]) + body


def pcap(dialogue, order="<"):
    """A capture of (to the server?, bytes) in Ethernet, IPv4 and TCP; each side's bytes in order."""
    out = [struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    sequence = {True: 1000, False: 0xFFFFFFF0}
    for place, (to_server, data) in enumerate(dialogue):
        ports = (40000, 3306) if to_server else (3306, 40000)
        addresses = (b"\x0a\0\0\1", b"\x0a\0\0\2") if to_server else (b"\x0a\0\0\2", b"\x0a\0\0\1")
        tcp = struct.pack(">HHIIBBHHH", *ports, sequence[to_server], 0, 5 << 4, 0x18, 1000, 0, 0) + data
        sequence[to_server] = (sequence[to_server] + len(data)) & 0xFFFFFFFF
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, *addresses) + tcp
        packet = b"\0" * 12 + b"\x08\0" + ip
        out.append(struct.pack(order + "IIII", 100, place * 1000, len(packet), len(packet)) + packet)
    return b"".join(out)


OK = b"\0\0\0\2\0\0\0"
DIALOGUE = [
    (True, message(0, b"\x02shop")),
    (False, message(1, OK)),
    (True, message(0, b"\x03SELECT name FROM users WHERE id = 1")),
    (False, message(1, b"\1")),
    (True, message(0, b"\x16SELECT v FROM kv WHERE k = ?")),
    (False, message(1, b"\0\7\0\0\0\1\0\1\0\0\0\0")),
    (True, message(0, b"\x17\7\0\0\0\0\1\0\0\0")[:9]),
    (True, message(0, b"\x17\7\0\0\0\0\1\0\0\0")[9:]),
    (False, message(1, b"\1")),
    (True, message(0, b"\x01")),
]


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_capture(order):
    data = pcap(DIALOGUE, order)
    assert capture.is_capture(data[:64])
    notes = []
    seen = list(capture.read(io.BytesIO(data[64:]), data[:64], 3306, notes))
    assert [(one.text, one.database, one.prepared) for one in seen] == [
        ("SELECT name FROM users WHERE id = 1", "shop", False),
        ("SELECT v FROM kv WHERE k = ?", "shop", True),
    ]
    assert [round(one.seconds, 6) for one in seen] == [0.001, 0.001] and notes == []


def test_a_capture_that_is_broken_off_anywhere_ends_without_error():
    data = pcap(DIALOGUE)
    for end in range(4, len(data), 7):
        list(capture.read(io.BytesIO(b""), data[:end], 3306, []))
    for place in range(24, len(data), 11):
        list(capture.read(io.BytesIO(data[:place] + b"\xff\xff" + data[place + 2 :]), b"", 3306, []))


def test_bytes_that_are_no_log_end_without_error():
    for text in (
        "\0\x01\xff" * 50,
        "# Time:\n# Query_time: x\n;;;",
        "\t\t 3 Query\t" + "'" * 99,
        "{]\n{}\n",
        "`" * 70,
        "/*" * 70,
    ):
        workload.gather(logs.read(io.StringIO(text), text[:10]), TABLES, "nothing")
