"""MySQL 9.7, the engine's second server, as docs/servers.md describes it. Runs only if POSTERN_TEST_MYSQL is set,
because it downloads half a gigabyte and builds the plugin for it."""
import contextlib
import random
import re
import statistics
import subprocess
import time

import pytest

from support.clients.hs import Client
from support.clients.mysql import Mysql, build, busy_readers, marks
from support.server import ROOT, timed
from support.waiting import until

DDL_MS_MAX = 1000
KILL_SECONDS_MAX = 5
STOP_SECONDS_MAX = 20
UNKNOWN_THREAD = 1094

pytestmark = marks


@pytest.fixture(scope="module", name="built")
def built_for_mysql():
    build()


@pytest.fixture(scope="module", name="mysql")
def running_server(built, tmp_path_factory):  # pylint: disable=unused-argument
    server = Mysql(tmp_path_factory.mktemp("mysql"))
    server.start()
    server.query("CREATE DATABASE test")
    yield server
    server.run("stop")


def test_the_engine_keeps_the_contract(built):  # pylint: disable=unused-argument
    done = subprocess.run(["make", "-C", ROOT, "contract", "SERVER=mysql"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"^(\d+) of \1 tests of the contract passed", done.stdout, re.M)


# For each type its definition, and values that SQL accepts.
TYPES = {
    "i1": ("TINYINT", ["-128", "0", "127"]),
    "i1u": ("TINYINT UNSIGNED", ["0", "255"]),
    "i3": ("MEDIUMINT", ["-8388608", "8388607"]),
    "i4z": ("INT(7) ZEROFILL", ["42"]),
    "i8": ("BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    "i8u": ("BIGINT UNSIGNED", ["18446744073709551615"]),
    "f": ("FLOAT", ["1.5", "-3.4e10", "0.1"]),
    "d": ("DOUBLE", ["0.1", "-1e300"]),
    "n": ("DECIMAL(20,5)", ["-12.50000", "99999999999999.99999"]),
    "b": ("BIT(17)", ["b'10000000000000001'"]),
    "y": ("YEAR", ["1901", "2155"]),
    "dd": ("DATE", ["1000-01-01", "2024-02-29"]),
    "t": ("TIME", ["-838:59:59", "11:22:33"]),
    "t3": ("TIME(3)", ["-00:00:00.001", "11:22:33.250"]),
    "dt": ("DATETIME", ["1000-01-01 00:00:00", "2024-02-29 23:59:59"]),
    "dt6": ("DATETIME(6)", ["2024-02-29 23:59:59.000001"]),
    "ts": ("TIMESTAMP", ["2024-02-29 23:59:59"]),
    "c": ("CHAR(10)", ["", "abc", "\u00e4\u00f6\u00fc\u20ac"]),
    "v": ("VARCHAR(100)", ["", "a\tb\nc\0d", "\U0001f600", "x" * 100]),
    "v2": ("VARCHAR(100) CHARACTER SET latin1 COLLATE latin1_bin", ["", "a ", "\u00e4"]),
    "vl": ("VARCHAR(700)", ["y" * 700]),
    "vb": ("VARBINARY(50)", ["\u00ff\u0001"]),
    "e": ("ENUM('a','bc')", ["a", "bc"]),
    "s": ("SET('a','bc')", ["", "a", "a,bc"]),
}
UNINDEXED = {
    "tx": ("MEDIUMTEXT", ["", "z" * 70000]),
    "bl": ("BLOB", ["\u00ff" * 300]),
    "j": ("JSON", ['{"a": [1, 2]}']),
}


@pytest.fixture(scope="module", name="every_type")
def table_of_every_type(mysql):
    columns = ", ".join(f"`{name}` {kind}" for name, (kind, _) in (TYPES | UNINDEXED).items())
    keys = ", ".join(f"KEY (`{name}`)" for name in TYPES)
    mysql.query(f"CREATE TABLE test.every_type (id INT AUTO_INCREMENT PRIMARY KEY, {columns}, {keys})")
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO test.every_type () VALUES ()")  # NULL in every column
        for name, (kind, values) in (TYPES | UNINDEXED).items():
            for value in values:
                literal = value if kind.startswith("BIT") else connection.escape(value)
                cursor.execute(f"INSERT INTO test.every_type (`{name}`) VALUES ({literal})")
    return [*TYPES, *UNINDEXED]


def in_sql(mysql, column):
    """The column's values in SQL, by id, as bytes in the column's own character set."""
    text = f"IF(CHARSET(`{column}`) = 'latin1', CONVERT(`{column}` USING latin1), `{column}`)"
    if column == "b":
        text = f"`{column}`"
    elif TYPES.get(column, ("",))[0].endswith("latin1_bin"):
        text = f"CAST(`{column}` AS BINARY)"
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET character_set_results = NULL")
        connection.decoders = {}
        cursor.execute(f"SELECT id, CAST({text} AS BINARY) FROM test.every_type ORDER BY id")
        return {int(number): value for number, value in cursor.fetchall()}


def found(hs, column, *request):
    """The ids and values in a find's answer."""
    reply = hs.request(*request)
    assert reply[:2] == ["0", "2"], f"{column}: {reply}"
    cells = reply[2:]
    return {
        int(cells[i]): None if cells[i + 1] is None else cells[i + 1].encode("utf-8", "surrogateescape")
        for i in range(0, len(cells), 2)
    }


def test_columns_of_every_type_are_answered_as_in_sql(mysql, every_type):
    with mysql.door() as hs:
        for index, column in enumerate(every_type):
            hs.open(index, "test", "every_type", f"id,{column}")
            assert found(hs, column, index, ">=", 1, 0, 1000, 0) == in_sql(mysql, column), column


@pytest.mark.parametrize("column", TYPES)
def test_a_value_is_found_by_its_text_in_sql(mysql, every_type, column):  # pylint: disable=unused-argument
    expected = in_sql(mysql, column)
    with mysql.door() as hs:
        hs.open(0, "test", "every_type", f"id,{column}", index=column)
        for number, value in expected.items():
            equal = found(hs, column, 0, "=", 1, value, 1000, 0)
            assert equal.get(number, b"missing") == value, (column, value)
            # In index order, from the first row with an equal key.
            onwards = found(hs, column, 0, ">=", 1, value, 1000, 0)
            assert number in onwards, (column, value)
            assert set(equal) <= set(onwards)


# Indexes other than plain ones on whole columns: the table's definition, and the index order.
SHAPES = {
    "partitions": ("id INT PRIMARY KEY, a INT, b INT, KEY k (a, b)) PARTITION BY HASH (id) PARTITIONS 5", "a"),
    "generated": ("id INT PRIMARY KEY, a INT, b INT AS (a * 3 % 50), KEY k (b))", "b"),
    "stored": ("id INT PRIMARY KEY, a INT, b INT AS (a * 3 % 50) STORED, KEY k (b))", "b"),
    "descending": ("id INT PRIMARY KEY, a INT, KEY k (a DESC))", "a"),
    "prefix": ("id INT PRIMARY KEY, a INT, b VARCHAR(9) AS (CONCAT('abc', a, 'xyz')) STORED, KEY k (b(4)))", "b"),
    "invisible": ("id INT PRIMARY KEY, a INT, b INT INVISIBLE, KEY k (a) INVISIBLE)", "a"),
    "no primary key": ("id INT NOT NULL, a INT, KEY k (a))", "a"),
}
TURNED = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}


@pytest.mark.parametrize("shape", SHAPES)
def test_ranges_are_what_sql_finds(mysql, shape):
    definition, column = SHAPES[shape]
    generator = random.Random(2010)
    rows = [(number, generator.choice(["NULL", *range(40)])) for number in generator.sample(range(1, 400), 399)]
    mysql.query(
        "DROP TABLE IF EXISTS test.shape",
        f"CREATE TABLE test.shape ({definition}",
        "INSERT INTO test.shape (id, a) VALUES " + ", ".join(f"({number}, {value})" for number, value in rows),
    )
    # NULL is below every value; the index does not order texts beyond their first four bytes.
    place = f"LEFT({column}, 4)" if shape == "prefix" else column
    places = dict(mysql.query(f"SELECT id, COALESCE({place}, {repr('') if shape == 'prefix' else -1}) FROM test.shape"))
    with mysql.door() as hs:
        hs.open(0, "test", "shape", "id", index="k")
        for value in range(40):
            text = f"abc{value}xyz" if shape == "prefix" else str(value)
            for operator in TURNED:
                # "Greater" means later in the index.
                comparison = TURNED[operator] if shape == "descending" else operator
                null = f" OR {column} IS NULL" if comparison.startswith("<") else ""
                wanted = mysql.query(f"SELECT id FROM test.shape WHERE {column} {comparison} '{text}'{null}")
                reply = hs.request(0, operator, 1, text, 1000, 0)
                assert reply[:2] == ["0", "1"], reply
                found_ids = [int(one) for one in reply[2:]]
                assert sorted(found_ids) == sorted(row[0] for row in wanted), (operator, text)
                in_order = [places[one] for one in found_ids]
                assert in_order == sorted(in_order, reverse=comparison.startswith("<")), (operator, text)


def test_a_text_that_is_no_value_finds_nothing(mysql, every_type):  # pylint: disable=unused-argument
    with mysql.door() as hs:
        for index, column in enumerate(TYPES):
            hs.open(index, "test", "every_type", f"id,{column}", index=column)
            assert hs.request(index, "=", 1, "no such value", 10, 0) == ["0", "2"], column


def test_tables_that_may_not_be_opened_are_refused_in_words(mysql):
    mysql.query("CREATE TABLE test.m (a INT PRIMARY KEY) ENGINE=MyISAM", "CREATE VIEW test.w AS SELECT * FROM test.m")
    with mysql.door() as hs:
        assert "MyISAM" in hs.request("P", 0, "test", "m", "PRIMARY", "a")[2]
        for database, table in [("mysql", "user"), ("test", "w"), ("test", "nosuch"), ("nosuch", "t")]:
            assert hs.request("P", 0, database, table, "PRIMARY", "a")[0] != "0", table


def test_writes_are_refused_and_change_nothing(mysql):
    mysql.query("CREATE TABLE test.r (a INT PRIMARY KEY, b INT)", "INSERT INTO test.r VALUES (1, 1)")
    with mysql.door() as hs:
        hs.open(0, "test", "r", "a,b")
        for request in [(0, "+", 2, 2, 2), (0, "=", 1, 1, 1, 0, "U", 1, 5), (0, "=", 1, 1, 1, 0, "D")]:
            assert hs.request(*request)[0] != "0", request
        assert hs.request(0, "=", 1, 1) == ["0", "2", "1", "1"]
    assert mysql.query("SELECT * FROM test.r") == ((1, 1),)


@pytest.fixture(name="busy")
def table_that_is_read(mysql):
    rows = ", ".join(f"({number}, 'v{number}')" for number in range(1, 1001))
    mysql.query(
        "DROP TABLE IF EXISTS test.busy",
        "CREATE TABLE test.busy (id INT PRIMARY KEY, v VARCHAR(20))",
        f"INSERT INTO test.busy VALUES {rows}",
    )
    with busy_readers(mysql) as readers:
        yield readers


DDL = [
    ["ALTER TABLE test.busy COMMENT 'x'"],
    ["ALTER TABLE test.busy ADD COLUMN z INT FIRST", "ALTER TABLE test.busy DROP COLUMN z"],
    ["ALTER TABLE test.busy ADD INDEX v (v)", "ALTER TABLE test.busy DROP INDEX v"],
    ["ALTER TABLE test.busy ENGINE=InnoDB"],
    ["FLUSH TABLES test.busy"],
    ["LOCK TABLES test.busy WRITE", "UNLOCK TABLES"],
    ["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"],
    ["RENAME TABLE test.busy TO test.away, test.away TO test.busy"],
]


def test_ddl_gets_its_lock_while_clients_read_and_they_go_on(mysql, busy):
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        for statements in DDL:
            times = []
            for _ in range(3):
                times += [timed(cursor, statement) for statement in statements]
            assert statistics.median(times) < DDL_MS_MAX, (statements, times)
            busy.go_on()
    assert not busy.odd


@pytest.mark.parametrize("partitions", ["", "PARTITION BY HASH (id) PARTITIONS 3"])
def test_ddl_does_not_wait_for_a_long_scan(mysql, partitions):
    """The scan is paused for DDL, and then continues where it was."""
    mysql.query(
        "DROP TABLE IF EXISTS test.long",
        f"CREATE TABLE test.long (id INT PRIMARY KEY, v VARCHAR(100)) {partitions}",
        "SET cte_max_recursion_depth = 1000000",
        "INSERT INTO test.long WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
        " SELECT i, REPEAT('x', 90) FROM n",
    )
    with mysql.door() as hs, contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        hs.open(0, "test", "long", "id,v")
        for _ in range(3):
            hs.send(b"0\t>=\t1\t0\t1000000\t0\n")
            times = [timed(cursor, f"ALTER TABLE test.long COMMENT '{count}'") for count in range(5)]
            assert statistics.median(times) < DDL_MS_MAX, times
            reply = hs.line().split(b"\t")
            assert [int(one) for one in reply[2::2]] == list(range(1, 200001))


def test_what_ddl_takes_away_is_named(mysql, busy):
    mysql.query("ALTER TABLE test.busy RENAME COLUMN v TO w")
    until(lambda: busy.odd)
    assert "v" in busy.odd[0][2]
    mysql.query("ALTER TABLE test.busy RENAME COLUMN w TO v")
    busy.go_on()
    busy.odd.clear()
    mysql.query("DROP TABLE test.busy")
    until(lambda: busy.odd)
    assert any("busy" in reply[2] for reply in busy.odd)


def test_the_process_list_shows_the_work_of_each_thread(mysql, busy):  # pylint: disable=unused-argument
    for _ in range(20):
        # A thread's state is shown while the server works for it.
        at_rest = [text for text in mysql.told().values() if text is None or "handlersocket read " in text]
        assert None not in at_rest
        assert len(at_rest) >= 2
    for thread in mysql.threads("worker"):
        mysql.query(f"KILL {thread}")
    until(lambda: len(mysql.threads("handlersocket read worker")) > 1, KILL_SECONDS_MAX)


def test_a_global_variable_holds_for_the_next_find(mysql):
    mysql.query(
        "CREATE TABLE test.at (id INT PRIMARY KEY, t TIMESTAMP)",
        "SET time_zone = '+00:00'",
        "INSERT INTO test.at VALUES (1, '2024-02-29 12:00:00')",
    )
    with mysql.door() as hs:
        hs.open(0, "test", "at", "t")
        for zone, told in [("+00:00", "12:00:00"), ("+05:00", "17:00:00"), ("-01:00", "11:00:00")]:
            mysql.query(f"SET GLOBAL time_zone = '{zone}'")
            assert hs.request(0, "=", 1, 1) == ["0", "1", f"2024-02-29 {told}"]
    mysql.query("SET GLOBAL time_zone = 'SYSTEM'")


def test_kill_takes_no_client(mysql, busy):
    for word in ("worker", "scan"):
        for thread in mysql.threads(word):
            try:
                mysql.query(f"KILL {thread}")
            except pymysql.err.OperationalError as gone:  # an idle thread has ended by itself
                assert gone.args[0] == UNKNOWN_THREAD
            until(lambda one=thread: one not in mysql.threads(""), KILL_SECONDS_MAX, "the thread stays")
        until(lambda looked=word: mysql.threads(looked), KILL_SECONDS_MAX, "no thread comes back")
    busy.go_on()
    assert not busy.odd


def test_a_port_for_others_is_refused(mysql, tmp_path):  # pylint: disable=unused-argument
    server = Mysql(tmp_path)
    done = subprocess.run(
        [ROOT / "tools/mysql", "start", tmp_path, "--", "--handlersocket-address=0.0.0.0"],
        capture_output=True,
        text=True,
        check=False,
    )
    server.run("stop")
    assert done.returncode == 1
    assert "refusing to listen on 0.0.0.0" in (tmp_path / "error.log").read_text()


def test_uninstall_and_install_again_while_clients_read(mysql):
    mysql.query("CREATE TABLE test.kept (a INT PRIMARY KEY)", "INSERT INTO test.kept VALUES (1)")
    for _ in range(5):
        with mysql.door() as hs:
            hs.open(0, "test", "kept", "a")
            assert hs.request(0, "=", 1, 1) == ["0", "1", "1"]
            mysql.query("UNINSTALL PLUGIN handlersocket")
            with pytest.raises((EOFError, ConnectionError)):
                hs.request(0, "=", 1, 1)
        assert not mysql.threads("handlersocket")
        mysql.query("INSTALL PLUGIN handlersocket SONAME 'postern.so'")


def test_shutdown_does_not_wait_for_clients(built, tmp_path):  # pylint: disable=unused-argument
    server = Mysql(tmp_path)
    server.start()
    server.query("CREATE DATABASE test", "CREATE TABLE test.busy (id INT PRIMARY KEY, v VARCHAR(20))")
    with server.door() as hs:
        hs.open(0, "test", "busy", "id,v")
        begin = time.monotonic()
        server.run("stop")
        assert time.monotonic() - begin < STOP_SECONDS_MAX
    log = (tmp_path / "error.log").read_text()
    assert "Shutdown complete" in log
    assert "got signal" not in log
