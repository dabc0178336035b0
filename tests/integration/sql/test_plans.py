"""The expected handling of statements, by the server's parser and tables, without asking the door. RECORD=1 in the
environment writes plans.txt."""
import json
import os
import pathlib
import shutil

import pytest
from support.server import BUILD, SERIES

HERE = pathlib.Path(__file__).parent
# Statements that drivers and libraries send for reads by key; and statements of all kinds, each with its plan in the
# line below.
RECORDED = HERE / "recorded_reads.jsonl"
PLANS = HERE / "plans.txt"
TABLES = (
    """CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(100) NOT NULL, name VARCHAR(100),
    city_id INT, visits INT NOT NULL DEFAULT 0, balance DECIMAL(10,2),
    created_at DATETIME, UNIQUE KEY email (email), KEY city (city_id)) CHARSET utf8mb4""",
    "CREATE TABLE kv (k VARCHAR(100) PRIMARY KEY, v TEXT, exp INT NOT NULL DEFAULT 0) CHARSET utf8mb4",
    "CREATE TABLE order_items (order_id INT, line_no INT, sku VARCHAR(20), qty INT, PRIMARY KEY (order_id, line_no))",
    "CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60), KEY k_1 (k))",
    """CREATE TABLE odd (id BIGINT UNSIGNED PRIMARY KEY, a INT, b INT, t VARCHAR(20) CHARACTER SET latin1, bin BINARY(4),
    vb VARBINARY(20), n DECIMAL(10,2), f DOUBLE, d DATE NOT NULL, dt DATETIME, ts TIMESTAMP NULL, e ENUM('x','y'),
    prefixed VARCHAR(300), hidden INT INVISIBLE, virt INT AS (a + 1), KEY ab (a, b), KEY t (t), UNIQUE KEY bin (bin),
    UNIQUE KEY vb (vb), UNIQUE KEY n (n), UNIQUE KEY f (f), KEY d (d), KEY dt (dt), UNIQUE KEY ts (ts),
    UNIQUE KEY e (e), KEY prefixed (prefixed(10)), KEY virt (virt)) CHARSET utf8mb4""",
    "CREATE TABLE history (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
    "CREATE TABLE parts (id INT PRIMARY KEY, v INT, KEY v (v)) PARTITION BY HASH (id) PARTITIONS 2",
    "CREATE TABLE other_engine (id INT PRIMARY KEY) ENGINE Aria",
    "CREATE VIEW seen AS SELECT id, name FROM users",
)


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory()
    shutil.copy(BUILD / "tests" / "contract" / "plan_functions.so", server.query("SELECT @@plugin_dir")[0][0])
    server.execute(*TABLES, "CREATE FUNCTION postern_plan RETURNS STRING SONAME 'plan_functions.so'", database="test")
    yield server
    server.execute("DROP FUNCTION postern_plan", database="test")


# Texts that later series parse otherwise: `WHERE a` is `a IS TRUE`, and no longer `a <> 0`.
OTHERWISE = {"SELECT a FROM odd WHERE a": "not: a condition that does not compare a column with values"}


def plan_of(connection, statement, table):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT CONVERT(postern_plan(%s) USING utf8mb4) FROM {table} LIMIT 1", (statement,))
        rows = cursor.fetchall()
        cursor.execute("SHOW WARNINGS")
        assert cursor.fetchall() == ()
        return rows[0][0]


@pytest.fixture(scope="module")
def ask(server):
    with server.connect(database="test") as connection:
        connection.autocommit(True)
        with connection.cursor() as cursor:
            for table in ("users", "kv", "order_items", "sbtest1", "odd", "history", "parts", "other_engine"):
                cursor.execute(f"SELECT * FROM {table} LIMIT 0")

        def ask(statement, table=None):
            return plan_of(connection, statement, f"{table or 'users'} RIGHT JOIN (SELECT 1) AS row ON true")

        yield ask


def table_of(statement):
    names = ("order_items", "other_engine", "history", "parts", "sbtest1", "odd", "users", "kv")
    return next(name for name in names if name in statement.lower())


def test_statements_have_the_parsers_meaning(ask):
    lines = PLANS.read_text().splitlines()
    wanted = dict(zip(lines[::2], (line.strip() for line in lines[1::2])))
    if SERIES != "10.11":
        wanted |= OTHERWISE
    plans = {statement: ask(statement, table_of(statement)) for statement in wanted}
    if os.environ.get("RECORD"):
        PLANS.write_text("".join(f"{statement}\n    {plan}\n" for statement, plan in plans.items()))
    assert plans == wanted


def test_nine_of_ten_recorded_reads_by_key_have_a_plan(ask):
    keyed = {"point_select", "in_list", "count", "exists"}
    recorded = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    statements = [one["statement"] for one in recorded if one["class"] in keyed]
    plans = {statement: ask(statement, table_of(statement)) for statement in statements}
    without = {statement: plan for statement, plan in plans.items() if plan.startswith(("not: ", "odd"))}
    assert len(without) < len(plans) / 10, without
    # Several tables, subqueries, and an error that the server reports.
    assert set(without.values()) <= {
        "not: UNION, a subquery or a derived table",
        "not: a column that the table has not, or hides",
    }, without


def test_a_database_is_part_of_the_meaning(server):
    server.execute("CREATE DATABASE IF NOT EXISTS elsewhere", "CREATE TABLE elsewhere.users (id INT PRIMARY KEY)")
    statement = "SELECT id FROM users WHERE id = 1"
    with server.connect(database="elsewhere") as connection:
        # The statement opens another table.
        assert plan_of(connection, statement, "test.users RIGHT JOIN (SELECT 1) AS row ON true") == "planned"
        assert plan_of(connection, statement, "users RIGHT JOIN (SELECT 1) AS row ON true").startswith("one")


def test_sql_mode_is_part_of_the_meaning(server):
    with server.connect(database="test") as connection:
        with connection.cursor() as cursor:
            cursor.execute("SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'")
        table = "users RIGHT JOIN (SELECT 1) AS row ON true"
        assert plan_of(connection, 'SELECT name FROM users WHERE "id" = ?', table) == "one PRIMARY by(id= ?0)"
        with connection.cursor() as cursor:
            cursor.execute("SET sql_mode = ''")
        assert plan_of(connection, 'SELECT name FROM users WHERE "id" = ?', table).startswith("not: ")


def test_asking_leaves_no_trace_in_the_session(ask, server):
    for statement in (
        "SELECT broken FROM",
        "SELECT a FROM odd WHERE id = ? AND",
        "SELECT f(?, FROM t",
        "SELECT 1 WHERE",
    ):
        assert ask(statement, "odd") == "not: the server's parser refuses it"
    assert server.query("SELECT 1 + 1") == [(2,)]
