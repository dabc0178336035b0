"""postern advise predicts for each statement whether the SQL door serves it, and the door agrees."""
import contextlib
import csv
import io
import json
import re

import pymysql
import pytest
from support import cli
from support.server import ROOT

WIRE = ROOT / "tests/wire/sql"
ROWS = 3000
# The plan's first execution failed, or its values never had types that a worker compares.
LEARNING = "learning"

MORE = """
SELECT name FROM users WHERE id = 1 AND visits > 5
SELECT name FROM users WHERE id = 1 AND name <> 'x'
SELECT name FROM users WHERE id = 1 AND name LIKE '%a%'
SELECT name FROM users WHERE id = 1 AND created_at IS NULL
SELECT name FROM users WHERE id = 1 AND visits > city_id
SELECT NULL FROM users WHERE id = 1 FOR UPDATE
DELETE FROM order_items WHERE (order_id = 1 AND line_no = 2) OR (order_id = 3 AND line_no = 4)
UPDATE users SET visits = 1 WHERE id = 1 OR id = 2
SELECT name FROM users WHERE id = 1 AND visits
SELECT name FROM users WHERE NOT visits AND id = 1
SELECT name FROM users WHERE id = 1 AND (visits = NULL OR (NULL IS NULL AND created_at IS NULL))
SELECT DISTINCT name FROM users WHERE city_id = 7 LIMIT 3 OFFSET 2
UPDATE users SET visits = 3 WHERE id = 1 AND NOT city_id AND (visits = NULL OR visits IS NOT NULL)
SELECT name FROM users WHERE id = 1 AND UPPER(name) = 'X'
SELECT name FROM users WHERE id = 1 ORDER BY name
SELECT name FROM users WHERE id = 1 + 1
SELECT name FROM users WHERE id = LAST_INSERT_ID()
SELECT name FROM users WHERE id = CONNECTION_ID() + 1
SELECT name FROM users WHERE email = LAST_INSERT_ID()
SELECT UPPER(name) FROM users WHERE id = 1
SELECT id + 1 FROM users WHERE id = 1
SELECT name, 1 FROM users WHERE id = 1
SELECT DISTINCT name FROM users WHERE id = 1
SELECT name FROM users WHERE id = 1 LIMIT 1 OFFSET 0
SELECT name FROM users WHERE id IN (1, 2, 3) ORDER BY id
SELECT name FROM users WHERE id IN (1, 2, 3) ORDER BY id DESC
SELECT name FROM users WHERE id IN (1, 2, 3) ORDER BY name
SELECT name FROM users WHERE id = 1 OR id = 2
SELECT name FROM users WHERE (id, email) = (1, 'x')
SELECT name FROM users WHERE id = 1 LOCK IN SHARE MODE
SELECT name FROM users WHERE id = 1 AND visits > 5 FOR UPDATE
SELECT name FROM users WHERE email = 12
SELECT COUNT(*) FROM users WHERE id IN (1, 2)
SELECT COUNT(*) FROM users WHERE city_id = 7
SELECT COUNT(name) FROM users WHERE id = 1
SELECT 1 FROM users WHERE city_id = 7 LIMIT 1
SELECT EXISTS (SELECT 1 FROM users WHERE email = 'x') AS there
SELECT sku FROM order_items WHERE order_id = 1
SELECT sku FROM order_items WHERE order_id = 1 ORDER BY line_no
SELECT sku FROM order_items WHERE order_id = 1 ORDER BY line_no DESC LIMIT 3
SELECT sku FROM order_items WHERE order_id = 1 ORDER BY order_id, line_no
SELECT sku FROM order_items WHERE order_id = 1 ORDER BY qty
SELECT sku FROM order_items WHERE order_id = 1 AND line_no > 2
SELECT sku FROM order_items WHERE order_id = 1 AND line_no IN (1, 2)
SELECT sku FROM order_items WHERE (order_id, line_no) IN ((1, 2), (3, 4))
SELECT sku FROM order_items WHERE order_id IN (1, 2)
SELECT sku FROM order_items WHERE order_id IN (1, 2) ORDER BY order_id, line_no
SELECT name FROM users WHERE id BETWEEN 1 AND 5
SELECT name FROM users WHERE id > 2990 ORDER BY id LIMIT 3 OFFSET 2
SELECT name FROM users WHERE id > 2990 ORDER BY id DESC LIMIT 3
SELECT name FROM users WHERE email LIKE 'ema29%'
SELECT name FROM users WHERE email LIKE 'ema29%' FOR UPDATE
SELECT name FROM users WHERE city_id = 7 ORDER BY id
SELECT name FROM users WHERE city_id = 7 ORDER BY id DESC
SELECT name FROM users WHERE city_id = 7 ORDER BY name
SELECT name FROM users WHERE city_id = 7 AND visits > 5
SELECT name FROM users WHERE city_id > 2990 ORDER BY city_id
SELECT name FROM users WHERE city_id > 2990 ORDER BY id
SELECT name FROM users WHERE created_at > DATE'2020-01-01' AND id = 3
SELECT name FROM users WHERE created_at > TIMESTAMP'2020-01-01 10:00:00' AND city_id = 3 ORDER BY visits
SELECT name FROM users WHERE email = _utf8mb4'x'
SELECT name FROM users WHERE id = 1e0
SELECT name FROM users WHERE city_id <=> 7 ORDER BY visits
SELECT id, visits * 1.5 FROM users WHERE city_id = 7 ORDER BY visits
SELECT GROUP_CONCAT(name ORDER BY id SEPARATOR '-') FROM users WHERE city_id = 7
SELECT id FROM users WHERE (city_id, name) IN ((7, 'x'), (8, 'y')) ORDER BY visits
SELECT id FROM users WHERE city_id = 7 UNION SELECT id FROM users WHERE city_id = 8 ORDER BY id LIMIT 3
(SELECT id FROM users WHERE city_id = 7 ORDER BY visits LIMIT 1) UNION ALL (SELECT id FROM users WHERE city_id = 8 LIMIT 1)
SELECT id FROM users WHERE city_id = 7 UNION ALL SELECT 5
SELECT id FROM users WHERE city_id = 7 EXCEPT SELECT id FROM users WHERE city_id = 8
SELECT x.id, x.name FROM (SELECT id, name, visits FROM (SELECT * FROM users WHERE city_id = 7) y) x WHERE x.visits > 3
SELECT name FROM users u WHERE city_id = 7 AND EXISTS (SELECT 1 FROM order_items i WHERE i.order_id = u.id)
SELECT name FROM users u WHERE city_id = 7 AND NOT EXISTS (SELECT 1 FROM order_items i WHERE i.order_id = u.id AND i.qty > 3)
SELECT name FROM users WHERE city_id = 7 AND id NOT IN (SELECT order_id FROM order_items WHERE qty = 3)
SELECT name FROM users WHERE city_id = 7 AND id + 1 IN (SELECT order_id FROM order_items WHERE qty = 3)
SELECT u.id, (SELECT COUNT(*) FROM order_items i WHERE i.order_id = u.id) FROM users u WHERE u.city_id = 7 ORDER BY u.visits
SELECT COUNT(*), (SELECT MAX(qty) FROM order_items i WHERE i.order_id = 7) FROM users u WHERE u.city_id = 7
SELECT u.id FROM users u WHERE u.city_id = 7 AND u.visits > (SELECT MIN(i.qty) FROM order_items i WHERE i.order_id = u.id)
SELECT u.id FROM users u WHERE u.city_id = 7 AND u.visits > ALL (SELECT i.qty FROM order_items i WHERE i.order_id = u.id)
SELECT u.id FROM users u WHERE u.city_id = 7 ORDER BY (SELECT COUNT(*) FROM order_items i WHERE i.order_id = u.id)
SELECT u.id, (SELECT i.sku FROM order_items i WHERE i.order_id = u.id ORDER BY i.qty DESC LIMIT 1) FROM users u WHERE u.city_id = 7
SELECT u.id, (SELECT COUNT(DISTINCT i.sku) FROM order_items i WHERE i.order_id = u.id) FROM users u WHERE u.city_id = 7
SELECT name, visits FROM townspeople WHERE city_id = 7
SELECT t.name, u.email FROM townspeople t JOIN users u ON u.id = t.id WHERE t.city_id = 8 ORDER BY u.visits
SELECT id FROM sorted_people WHERE id < 9
SELECT i.sku, u.email FROM order_items i JOIN users u ON u.id = i.qty WHERE i.order_id = 7 AND i.line_no = 7 FOR UPDATE
SELECT i.sku, u.email FROM order_items i, users u WHERE u.id = i.qty AND i.order_id = 7 AND i.line_no = 7 LOCK IN SHARE MODE
SELECT i.sku, u.email FROM order_items i LEFT JOIN users u ON u.id = i.qty WHERE i.order_id = 7 AND i.line_no = 7 FOR UPDATE
SELECT u.email, v.name FROM users u JOIN users v ON v.id = u.visits WHERE u.email = 'ema7' AND u.id = 7 FOR UPDATE
SELECT name FROM users WHERE id = 8 FOR UPDATE SKIP LOCKED
SELECT name FROM users WHERE id IN (8, 9) ORDER BY id FOR UPDATE NOWAIT
SELECT SQL_NO_CACHE v FROM kv FORCE INDEX (PRIMARY) WHERE k = 'x'
SELECT v FROM kv WHERE k = 'x' COLLATE utf8mb4_bin
UPDATE users SET name = 'x', visits = visits + 1 WHERE id = 1
UPDATE users SET visits = visits - 1 WHERE id = 1 AND visits > 0
UPDATE users SET visits = 1 + visits WHERE id = 1
UPDATE users SET visits = COALESCE(visits, 0) + 1 WHERE id = 1
UPDATE users SET name = UPPER(name) WHERE id = 1
UPDATE users SET created_at = NOW() WHERE id = 1
UPDATE users SET created_at = NOW() - INTERVAL 1 DAY, balance = 2 * 3 WHERE id = 1
UPDATE users SET created_at = DATE_ADD(CURDATE(), INTERVAL 2 HOUR) WHERE id = 1
UPDATE users SET created_at = SYSDATE() WHERE id = 1
UPDATE users SET name = NOW() WHERE id = 1
UPDATE users SET visits = 7 * 3 WHERE id = 1
UPDATE users SET visits = 7 / 3 WHERE id = 1
UPDATE users SET visits = UNIX_TIMESTAMP() - 60 WHERE id = 1 AND created_at < NOW() - INTERVAL 3 MONTH
DELETE FROM users WHERE id = 10 + 1 AND visits < UNIX_TIMESTAMP()
DELETE FROM users WHERE id = 10 AND created_at < LAST_DAY(NOW())
SELECT name FROM users WHERE id = 3 AND created_at > CURDATE() - INTERVAL 1 WEEK
SELECT name FROM users WHERE id > 40 - 20 AND id < 25 ORDER BY id
SELECT name FROM users WHERE id > 40 / 2 AND id < 25 ORDER BY id
INSERT INTO kv (k, v, exp) VALUES ('soon', 'b', UNIX_TIMESTAMP() + 60)
INSERT INTO kv (k, v, exp) VALUES ('a', 'b', 1) ON DUPLICATE KEY UPDATE exp = 2 * 30
UPDATE users SET balance = balance + 1 WHERE id = 1
UPDATE users SET name = DEFAULT WHERE id = 1
UPDATE users SET name = 'x' WHERE id IN (1, 2)
UPDATE users SET id = id + 100000 WHERE id IN (801, 802)
UPDATE users SET name = 'x' WHERE city_id = 7
SELECT u.name FROM users u JOIN order_items i ON i.order_id = u.id WHERE (u.name = NULL OR (NULL IS NULL AND u.name IS NULL)) AND u.id = 7
UPDATE users SET name = 'x' WHERE city_id = 7 AND visits > 3
UPDATE users SET name = 'x' WHERE city_id = 7 AND visits = 3 AND created_at IS NULL
UPDATE users SET name = 'x' WHERE city_id = 7 AND id > 5
UPDATE users SET name = 'x' WHERE city_id = 7 AND visits > id
UPDATE users SET name = 'x' WHERE city_id IN (7, 8) AND visits <> 3
DELETE FROM users WHERE city_id = 905 AND created_at < NOW() - INTERVAL 1 DAY
DELETE FROM order_items WHERE order_id = 903 AND qty = 7
UPDATE users SET name = 'x' WHERE email LIKE 'ema29%'
UPDATE users SET name = 'x' WHERE id = 1 AND email LIKE 'ema29%'
UPDATE users SET name = 'x' WHERE id = 1 LIMIT 1
UPDATE users SET name = 'x' WHERE id = 1 ORDER BY id DESC
UPDATE users SET name = 'x' WHERE id = 1 ORDER BY email LIMIT 1
UPDATE users SET name = 'x' WHERE id IN (1, 2) LIMIT 1
UPDATE users SET name = 'x' WHERE city_id = 7 ORDER BY id LIMIT 1
UPDATE users SET id = 70001 WHERE id = 70000
DELETE FROM users WHERE id = 900 AND visits = 900
DELETE FROM users WHERE id = 901 LIMIT 1
DELETE FROM users WHERE id = 911 ORDER BY email LIMIT 1
DELETE FROM users WHERE city_id = 912 LIMIT 1
DELETE FROM users WHERE city_id = 902
DELETE FROM users WHERE email LIKE 'ema299%'
DELETE FROM users WHERE id IN (907, 908)
DELETE FROM users WHERE id IN (909, 910) RETURNING id
DELETE FROM users WHERE id = 903 RETURNING id
DELETE FROM users WHERE id = 904 RETURNING id + 1
INSERT INTO users (email) VALUES ('returned') RETURNING id, users.*
REPLACE INTO kv (k, v) VALUES ('returned', 'b') RETURNING UPPER(v)
INSERT INTO kv SET k = 'set', v = 'b'
INSERT INTO kv (k, v, exp) VALUES ('p', 'b', 1), ('q', 'd', 2)
INSERT INTO kv (k, v, exp) VALUES ('now', NOW(), 1)
INSERT INTO kv (k, v, exp) VALUES ('sum', 'b', 1 + 1)
INSERT INTO kv VALUES ('all', 'b', 1)
INSERT INTO kv (k, v, exp) VALUES ('a', 'b', 1) ON DUPLICATE KEY UPDATE exp = exp + 1
INSERT INTO kv (k, v, exp) VALUES ('a', 'b', 1) ON DUPLICATE KEY UPDATE exp = exp + VALUES(exp)
INSERT INTO kv (k, v, exp) VALUES ('a', 'b', 1) ON DUPLICATE KEY UPDATE v = UPPER(v)
INSERT INTO kv (k, v, exp) VALUES ('a', 'b', 1) ON DUPLICATE KEY UPDATE exp = exp + 1, v = VALUES(v)
INSERT IGNORE INTO kv (k, v) VALUES ('a', 'b'), ('c', 'd')
REPLACE INTO kv VALUES ('a', 'b', 1)
REPLACE INTO kv (k, v) VALUES ('a', 'b'), ('c', 'd')
"""


def fill(server):
    """Inserts enough rows that no plan scans a table."""
    server.execute(*(one for one in re.split(r";\s*\n", (WIRE / "tables.sql").read_text()) if one.strip()))
    for schema, table in server.query(
        "SELECT table_schema, table_name FROM information_schema.tables"
        " WHERE table_schema IN ('shop', 'wordpress', 'mediawiki')"
    ):
        values = {}
        for name, kind in server.query(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = %s AND table_name = %s AND extra NOT LIKE '%%auto_increment%%'",
            (schema, table),
        ):
            number = kind.endswith("int") or kind == "decimal"
            date = kind in ("binary", "datetime")
            values[f"`{name}`"] = "seq" if number else "'20260101000000'" if date else f"CONCAT('{name[:3]}', seq)"
        server.execute(
            f"INSERT IGNORE INTO {schema}.`{table}` ({', '.join(values)})"
            f" SELECT {', '.join(values.values())} FROM test.seq_1_to_{ROWS}",
            f"ANALYZE TABLE {schema}.`{table}`",
        )
    server.execute(
        "CREATE VIEW townspeople AS SELECT id, name, visits, city_id FROM users WHERE city_id > 1",
        "CREATE VIEW sorted_people AS SELECT id, name FROM users ORDER BY name",
        database="shop",
    )


def statements():
    """Pairs of database and statement, with values in place of question marks."""
    rows = csv.DictReader(io.StringIO((WIRE / "applications.tsv").read_text()), delimiter="\t", quoting=csv.QUOTE_NONE)
    found = [("shop", json.loads(line)["statement"]) for line in (WIRE / "libraries.jsonl").read_text().splitlines()]
    found += [(row["application"], row["statement"]) for row in rows]
    found += [("shop", line) for line in MORE.strip().splitlines()]
    for database, text in dict.fromkeys(found):
        text = re.sub(r"(?i)\blimit \?", "LIMIT 1", text)
        yield database, re.sub(r"(?<=[ (,=])\?", "'1'", text)


def plans(server):
    rows = server.query(
        "SELECT form, database_name, state, reason FROM information_schema.postern_plans WHERE form NOT LIKE 'PREPARE %'"
    )
    return {(form, database): (state, reason) for form, database, state, reason in rows}


def judge(server, texts, times):
    """The verdicts of both on each form of statement: (statement, advise's, the door's)."""
    cli.parts()
    from postern_cli.advise import classify, doors, schema

    fill(server)
    server.execute("CREATE USER own@'%'", "GRANT ALL ON *.* TO own@'%'")
    tables = schema.from_server(server.query)
    known, found = {}, []
    for database, text in texts:
        verdict = classify.classify(text, tables, database)
        if verdict.kind == "unindexed":
            continue  # the rows read decide whether the server answers
        told = next((one for one in doors.services(verdict) if one.door == doors.SQL), None)
        port = int(server.env["POSTERN_PORT"])
        with contextlib.closing(
            pymysql.connect(host="127.0.0.1", port=port, user="own", database=database, autocommit=True)
        ) as session:
            for _ in range(times):
                with session.cursor() as cursor, contextlib.suppress(pymysql.Error):
                    cursor.execute(text)
        before, known = known, plans(server)
        found += [(text, told, state) for form, state in known.items() if form not in before]
    return found


@pytest.fixture(scope="module")
def judged(module_factory):
    """Whether statements are served by key; plans of the server's optimizer serve more."""
    return judge(module_factory("--loose-postern-plan-once=OFF", postern_port=0), statements(), 3)


def test_planned_statements(module_factory):
    """The door serves the plans that advise expects, and no others."""
    server = module_factory(postern_port=0)
    reads = [one for one in statements() if one[1].lstrip().upper().startswith("SELECT")]
    found = judge(server, reads, 8)
    wrong = [
        (" ".join(text.split()), told and (told.how or told.why), state)
        for text, told, state in found
        if state[0] != LEARNING and (told is not None and told.serves) != (state[0] == "served")
    ]
    assert not wrong, "\n".join(map(str, wrong))
    planned = [told for _, told, _ in found if told and "plan made once" in told.how]
    assert len(planned) > 20


def test_served_statements(judged):
    wrong = [
        (" ".join(text.split()), told and (told.how or told.why), state)
        for text, told, state in judged
        if state[0] != LEARNING and (told is not None and told.serves) != (state[0] == "served")
    ]
    assert not wrong, "\n".join(map(str, wrong))
    assert sum(state[0] == "served" for _, _, state in judged) > 100
    assert sum(state[0] == "not served" for _, _, state in judged) > 20
