"""Indexes of virtual TEXT and BLOB columns, of expressions and of JSON arrays in MySQL, while doors change the rows.
The storage engine needs the old value of such a column, which exists only in its field."""
import contextlib
import json
import random
import subprocess

import pytest

from support.clients import mc
from support.random_input import seeds
from support.clients.mysql import Mysql, build, marks
from support.server import ROOT
from support.waiting import until

pytestmark = marks

ROWS = 12
PIPELINED = 20
CHANGES = 600
TABLE = """CREATE TABLE test.t (id INT PRIMARY KEY, a VARCHAR(99), n INT, j JSON,
  g TEXT AS (CONCAT(REPEAT(a, 3), '!')) VIRTUAL, h BLOB AS (IF(n > 5, NULL, a)) VIRTUAL,
  changed TIMESTAMP(6) NULL {on_update},
  KEY g (g(50), n), KEY h (h(9)), KEY m ((CAST(j AS UNSIGNED ARRAY))), KEY f ((CAST(j->>'$[0]' AS CHAR(9)))),
  CONSTRAINT small CHECK (n < 9)) {partitions}"""
KINDS = {
    "plain": {},
    "trigger": {},
    "on update": {"on_update": "ON UPDATE CURRENT_TIMESTAMP(6)"},
    "partitions": {"partitions": "PARTITION BY HASH (id) PARTITIONS 3"},
}


@pytest.fixture(scope="module", name="mysql")
def running_server(tmp_path_factory):
    build()
    server = Mysql(tmp_path_factory.mktemp("mysql"))
    server.start("--log-bin=binlog", "--server-id=1")
    server.query("CREATE DATABASE test", TABLE.format(on_update="", partitions=""))
    script = subprocess.run(
        [ROOT / "tools/mysql", "script", ROOT / "sql/innodb_memcache.sql"], capture_output=True, check=True
    )
    subprocess.run([ROOT / "tools/mysql", "sql", server.dir], input=script.stdout, check=True)
    server.query(
        "INSERT INTO innodb_memcache.containers (name, db_schema, db_table, key_columns, value_columns, flags,"
        " unique_idx_name_on_key) VALUES ('default', 'test', 't', 'id', 'a|n|j', '0', 'PRIMARY')"
    )
    until(lambda: mc.listens(server.env["MEMCACHED_PORT"]))
    yield server
    server.run("stop")


def make(mysql, kind):
    mysql.query("DROP TABLE IF EXISTS test.t", TABLE.format(**{"on_update": "", "partitions": ""} | KINDS[kind]))
    if kind == "trigger":
        mysql.query("CREATE TRIGGER test.u BEFORE UPDATE ON test.t FOR EACH ROW SET NEW.a = CONCAT(NEW.a, 'u')")
        mysql.query("CREATE TRIGGER test.i BEFORE INSERT ON test.t FOR EACH ROW SET NEW.a = CONCAT(NEW.a, 'i')")


def values(chance):
    """Random values; the constraint refuses one in six."""
    array = json.dumps([chance.randrange(9) for _ in range(chance.randrange(1, 4))])
    return chance.choice("abcdefgh") * chance.randrange(1, 9), chance.randrange(11), array


def by_handlersocket(mysql, chance):
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,a,n,j")
        hs.open(1, "test", "t", "a,n,j")
        for _ in range(CHANGES // PIPELINED):
            lines = []
            for _ in range(PIPELINED):
                row, what = chance.randrange(ROWS), chance.randrange(6)
                if what == 0:
                    lines.append((0, "+", 4, row, *values(chance)))
                elif what == 1:
                    change = ("D",) if chance.random() < 0.3 else ("U", *values(chance))
                    lines.append((1, ">=", 1, row, 3, 0, *change))
                else:
                    lines.append((1, "=", 1, row, 1, 0, "U", *values(chance)))
            hs.send("".join("\t".join(map(str, line)) + "\n" for line in lines).encode())
            assert b"0\t1\t1" in [hs.line() for _ in lines]


def by_memcached(mysql, chance):
    with mc.Client(int(mysql.env["MEMCACHED_PORT"])) as items:
        until(lambda: items.ask("get 0") in ("END", b"END"))
        for _ in range(CHANGES // PIPELINED):
            requests = []
            for _ in range(PIPELINED):
                text = "|".join(map(str, values(chance)))
                row = chance.randrange(ROWS)
                requests.append(f"set {row} 0 0 {len(text)}\r\n{text}" if chance.random() < 0.9 else f"delete {row}")
            items.send("".join(request + "\r\n" for request in requests).encode())
            answers = [items.line() for _ in requests]
            assert b"STORED" in answers


def check(mysql):
    """Every row is found by each of its indexed values, and by no other."""
    rows = mysql.query("SELECT id, g, h, j FROM test.t IGNORE INDEX (g, h, m, f)")
    assert len(rows) > 1
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:

        def found(index, condition, *arguments):
            cursor.execute(f"SELECT id FROM test.t FORCE INDEX ({index}) WHERE {condition}", arguments)
            return sorted(number for number, in cursor.fetchall())

        for number, g, h, _ in rows:
            assert number in found("g", "g = %s", g)
            assert number in found("h", "h <=> %s", h)
        for value in range(9):
            expected = sorted(number for number, _, _, j in rows if value in json.loads(j))
            assert found("m", "%s MEMBER OF (j)", value) == expected
            first = sorted(number for number, _, _, j in rows if json.loads(j)[0] == value)
            assert found("f", "CAST(j->>'$[0]' AS CHAR(9)) = %s", str(value)) == first
    for index in "ghmf":
        assert mysql.query(f"SELECT COUNT(*) FROM test.t FORCE INDEX ({index})") == ((len(rows),),)
    assert mysql.query("CHECK TABLE test.t EXTENDED")[0][3] == "OK"
    # The server's own change looks up the index entries of the old values.
    mysql.query("UPDATE test.t SET a = 'z', n = 1, j = '[77]'")
    assert len(mysql.query("SELECT id FROM test.t FORCE INDEX (m) WHERE 77 MEMBER OF (j)")) == len(rows)
    assert mysql.query("CHECK TABLE test.t EXTENDED")[0][3] == "OK"


@pytest.mark.parametrize("by", [by_handlersocket, by_memcached])
@pytest.mark.parametrize("kind", KINDS)
def test_indexes_of_virtual_columns_follow_changes_by_chance(mysql, kind, by):
    make(mysql, kind)
    by(mysql, random.Random(seeds.chosen()))
    check(mysql)
