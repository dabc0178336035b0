"""Tables with features of MySQL 9.7 at the doors: its types, kinds of keys, instant DDL, locks and requirements."""
import contextlib
import threading

import pytest

from support.clients.mysql import Mysql, build, marks
from support.server import timed

pytestmark = marks

DDL_MS_MAX = 1000


@pytest.fixture(scope="module", name="mysql")
def running_server(tmp_path_factory):
    build()
    server = Mysql(tmp_path_factory.mktemp("mysql"))
    server.start("--log-bin=binlog", "--server-id=1")
    server.query("CREATE DATABASE test")
    yield server
    server.run("stop")


def make(mysql, definition, rows=""):
    statements = ["DROP TABLE IF EXISTS test.t", f"CREATE TABLE test.t ({definition})"]
    mysql.query(*statements, *([f"INSERT INTO test.t VALUES {rows}"] if rows else []))


# --- types -----------------------------------------------------------------------------------------------------------


def test_json_is_written_and_read_as_text(mysql):
    make(mysql, "id INT PRIMARY KEY, j JSON")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,j")
        assert hs.request(0, "+", 2, 1, '{"b": [1, 2.5, null], "a": "ä"}') == ["0", "1"]
        assert hs.request(0, "=", 1, 1) == ["0", "2", "1", '{"a": "ä", "b": [1, 2.5, null]}']
        assert hs.request(0, "+", 2, 2, '{"no json')[0] != "0"
        assert hs.request(0, "=", 1, 2) == ["0", "2"]
        assert hs.request(0, "+", 2, 3, None) == ["0", "1"]
    assert mysql.query("SELECT j->'$.b[1]' FROM test.t WHERE id = 1") == (("2.5",),)
    assert mysql.query("SELECT COUNT(*) FROM test.t WHERE j IS NULL") == ((1,),)


def test_a_vector_is_its_bytes(mysql):
    make(mysql, "id INT PRIMARY KEY, v VECTOR(3)")
    mysql.query("INSERT INTO test.t VALUES (1, STRING_TO_VECTOR('[1,2,3]'))")
    with mysql.door() as reader, mysql.write_door() as hs:
        reader.open(0, "test", "t", "id,v")
        hs.open(0, "test", "t", "id,v")
        reader.send(b"0\t=\t1\t1\n")
        line = reader.line()
        hs.send(line.replace(b"0\t2\t1\t", b"0\t+\t2\t2\t") + b"\n")
        assert hs.line() == b"0\t1"
        assert hs.request(0, "+", 2, 3, "abc")[0] != "0", "three bytes are no vector"
    assert mysql.query("SELECT VECTOR_TO_STRING(v) FROM test.t WHERE id = 2") == (
        (mysql.query("SELECT VECTOR_TO_STRING(STRING_TO_VECTOR('[1,2,3]'))")[0][0],),
    )


def test_geometry_is_its_bytes_and_its_srid_is_checked(mysql):
    make(mysql, "id INT PRIMARY KEY, p POINT NOT NULL SRID 4326")
    mysql.query("INSERT INTO test.t VALUES (1, ST_GeomFromText('POINT(10 20)', 4326))")
    with mysql.door() as reader, mysql.write_door() as hs:
        reader.open(0, "test", "t", "id,p")
        hs.open(0, "test", "t", "id,p")
        reader.send(b"0\t=\t1\t1\n")
        line = reader.line()
        hs.send(line.replace(b"0\t2\t1\t", b"0\t+\t2\t2\t") + b"\n")
        assert hs.line() == b"0\t1"
        assert hs.request(0, "+", 2, 3, "nonsense")[0] != "0"
        # The first four bytes are the SRID.
        hs.send(line.replace(b"0\t2\t1\t", b"0\t+\t2\t4\t").replace(b"\xe6\x10", b"\xe7\x10") + b"\n")
        assert hs.line()[:1] != b"0"
    assert mysql.query("SELECT id, ST_AsText(p), ST_SRID(p) FROM test.t ORDER BY id") == (
        (1, "POINT(10 20)", 4326),
        (2, "POINT(10 20)", 4326),
    )


# --- keys ------------------------------------------------------------------------------------------------------------


def test_a_descending_key_goes_its_own_way(mysql):
    make(mysql, "id INT PRIMARY KEY, a INT, b INT, KEY d (a DESC, b)", "(1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 3, 1)")
    with mysql.door() as hs:
        hs.open(0, "test", "t", "a,b", index="d")
        # "Upwards" follows the index: towards smaller values.
        for operator, key, where in (("=", 2, "a = 2"), (">", 2, "a < 2"), ("<", 2, "a > 2"), (">=", 2, "a <= 2")):
            found = hs.request(0, operator, 1, key, 10, 0)
            rows = mysql.query(f"SELECT a, b FROM test.t WHERE {where}")
            assert sorted(zip(found[2::2], found[3::2])) == sorted((str(a), str(b)) for a, b in rows), operator


def test_invisible_columns_and_keys_are_there(mysql):
    make(mysql, "id INT PRIMARY KEY, h INT INVISIBLE DEFAULT 7, v INT, KEY hidden (v) INVISIBLE")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        hs.open(1, "test", "t", "id,h,v")
        hs.open(2, "test", "t", "id,h", index="hidden")
        assert hs.request(0, "+", 2, 1, 10) == ["0", "1"]
        assert hs.request(1, "+", 3, 2, 8, 20) == ["0", "1"]
        assert hs.request(2, "=", 1, 20) == ["0", "2", "2", "8"]
    assert mysql.query("SELECT id, h, v FROM test.t ORDER BY id") == ((1, 7, 10), (2, 8, 20))


def test_functional_keys_are_kept_and_not_opened(mysql):
    make(mysql, "id INT PRIMARY KEY, a INT, j JSON, KEY f ((a * 2)), KEY m ((CAST(j AS UNSIGNED ARRAY)))")
    with mysql.write_door() as hs:
        for index in ("f", "m"):
            assert hs.request("P", 0, "test", "t", index, "id")[0] != "0"
        hs.open(1, "test", "t", "id,a,j")
        assert hs.request(1, "+", 3, 1, 21, "[1, 2]") == ["0", "1"]
        assert hs.request(1, "+", 3, 2, 22, "[2]") == ["0", "1"]
        assert hs.request(1, "+", 3, 3, 23, "[2, 5]") == ["0", "1"]
        assert hs.request(1, "=", 1, 1, 1, 0, "U", 1, 30, "[3, 4]") == ["0", "1", "1"]
        assert hs.request(1, "=", 1, 2, 1, 0, "D") == ["0", "1", "1"]
    assert mysql.query("SELECT id FROM test.t FORCE INDEX (f) WHERE a * 2 = 42") == ()
    assert mysql.query("SELECT id FROM test.t FORCE INDEX (f) WHERE a * 2 = 60") == ((1,),)
    for value, ids in ((1, ()), (2, ((3,),)), (3, ((1,),)), (4, ((1,),))):
        assert mysql.query(f"SELECT id FROM test.t FORCE INDEX (m) WHERE {value} MEMBER OF (j)") == ids
    assert mysql.query("UPDATE test.t SET j = '[3]'", "SELECT id FROM test.t WHERE 3 MEMBER OF (j)") == ((1,), (3,))
    assert mysql.query("CHECK TABLE test.t")[0][3] == "OK"


@pytest.mark.parametrize("kind", ["TEXT", "JSON", "VARCHAR(200)"])
def test_an_index_of_a_virtual_column_follows(mysql, kind):
    key = (
        "KEY g (g)"
        if kind == "VARCHAR(200)"
        else "KEY g ((CAST(g AS CHAR(20))))"
        if kind == "JSON"
        else "KEY g (g(20))"
    )
    make(mysql, f"id INT PRIMARY KEY, a VARCHAR(99), g {kind} AS (IF(a = 'x', '10', '20')) VIRTUAL, {key}")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,a")
        assert hs.request(0, "+", 2, 1, "x") == ["0", "1"]
        assert hs.request(0, "=", 1, 1, 1, 0, "U", 1, "y") == ["0", "1", "1"]
    by_row = mysql.query("SELECT id, g FROM test.t IGNORE INDEX (g) WHERE CAST(g AS CHAR(20)) = '20'")
    by_index = mysql.query(
        f"SELECT id, g FROM test.t FORCE INDEX (g) WHERE {'g' if kind != 'JSON' else 'CAST(g AS CHAR(20))'} = '20'"
    )
    assert by_row == by_index and len(by_row) == 1
    mysql.query("UPDATE test.t SET a = 'z'")
    assert mysql.query("CHECK TABLE test.t")[0][3] == "OK"


def test_a_generated_invisible_primary_key_is_filled_in(mysql):
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_require_primary_key = ON, sql_generate_invisible_primary_key = ON")
        cursor.execute("DROP TABLE IF EXISTS test.t")
        cursor.execute("CREATE TABLE test.t (v INT, KEY (v))")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "v")
        hs.open(1, "test", "t", "my_row_id,v")
        assert [hs.request(0, "+", 1, value)[:2] for value in (5, 6)] == [["0", "1"]] * 2
        assert hs.request(1, "=", 1, 2) == ["0", "2", "2", "6"]


@pytest.mark.parametrize("door", [True, False], ids=["by doors", "after SQL"])
def test_a_column_without_default_is_missed_every_time(mysql, door):
    """The server reports the column once a statement, and notes that in the open table."""
    make(mysql, "id INT PRIMARY KEY, n INT NOT NULL, title VARCHAR(20) NOT NULL")
    missing = ["1", "1", "Field 'title' doesn't have a default value"]
    if not door:
        mysql.query("INSERT IGNORE INTO test.t (id, n) VALUES (0, 1)", "DELETE FROM test.t")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,n")
        hs.open(1, "test", "t", "id,n,title")
        for number in range(1, 5):
            assert hs.request(0, "+", 2, number, 1) == missing
        assert hs.request(1, "+", 3, 5, 1, "t") == ["0", "1"]
        for number in range(6, 9):
            assert hs.request(0, "+", 2, number, 1) == missing
            assert hs.request(1, "+", 3, number, 1, None)[0] == "1"
            assert hs.request(1, "+", 3, number, None, "t")[0] == "1"
    assert mysql.query("SELECT * FROM test.t") == ((5, 1, "t"),)


# --- DDL and locks ---------------------------------------------------------------------------------------------------


def test_instant_ddl_is_seen_by_open_indexes(mysql):
    make(mysql, "id INT PRIMARY KEY, a INT, b INT", "(1, 10, 100)")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,b")
        assert hs.request(0, "+", 2, 2, 200) == ["0", "1"]
        mysql.query("ALTER TABLE test.t ADD COLUMN n INT NOT NULL DEFAULT 9 FIRST, ALGORITHM=INSTANT")
        assert hs.request(0, "+", 2, 3, 300) == ["0", "1"]
        mysql.query("ALTER TABLE test.t DROP COLUMN a, ALGORITHM=INSTANT")
        mysql.query("ALTER TABLE test.t ADD COLUMN late VARCHAR(9) DEFAULT 'x', ALGORITHM=INSTANT")
        assert hs.request(0, "+", 2, 4, 400) == ["0", "1"]
        assert hs.request(0, "=", 1, 1, 1, 0, "U", 1, 101) == ["0", "1", "1"]
        hs.open(1, "test", "t", "id,n,b,late")
        assert hs.request(1, ">=", 1, 0, 10, 0)[2:] == [
            *("1", "9", "101", "x"),
            *("2", "9", "200", "x"),
            *("3", "9", "300", "x"),
            *("4", "9", "400", "x"),
        ]
    assert mysql.query("SELECT * FROM test.t WHERE id = 4") == ((9, 4, 400, "x"),)


def test_backup_locks_get_their_lock_beside_writes(mysql):
    make(mysql, "id INT PRIMARY KEY, v INT", "(1, 0)")
    stop, counted = threading.Event(), [0]

    def write():
        with mysql.write_door() as hs:
            hs.open(0, "test", "t", "v")
            while not stop.is_set():
                assert hs.request(0, "=", 1, 1, 1, 0, "+", 1) == ["0", "1", "1"]
                counted[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
            assert timed(cursor, "LOCK INSTANCE FOR BACKUP") < DDL_MS_MAX
            before = counted[0]
            while counted[0] == before:  # DML continues under it
                assert writer.is_alive()
            cursor.execute("UNLOCK INSTANCE")
            assert timed(cursor, "FLUSH TABLES WITH READ LOCK") < DDL_MS_MAX
            value = mysql.query("SELECT v FROM test.t")
            assert mysql.query("SELECT v FROM test.t") == value
            cursor.execute("UNLOCK TABLES")
    finally:
        stop.set()
        writer.join()
    assert mysql.query("SELECT v FROM test.t") == ((counted[0],),)


@pytest.mark.parametrize("variable", ["read_only", "super_read_only"])
def test_a_server_for_reading_alone_is_read(mysql, variable):
    make(mysql, "id INT PRIMARY KEY, v INT", "(1, 0)")
    mysql.query(f"SET GLOBAL {variable} = ON")
    try:
        with mysql.write_door() as hs:
            hs.open(0, "test", "t", "v")
            assert hs.request(0, "=", 1, 1) == ["0", "1", "0"]
            assert hs.request(0, "=", 1, 1, 1, 0, "U", 5)[0] != "0"
    finally:
        mysql.query("SET GLOBAL read_only = OFF")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "v")
        assert hs.request(0, "=", 1, 1, 1, 0, "U", 6) == ["0", "1", "1"]
