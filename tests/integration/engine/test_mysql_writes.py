"""Writes to MySQL 9.7 through HandlerSocket's write port: the rows equal SQL's, acknowledged writes last, and nobody
waits for them."""
import contextlib
import json
import subprocess
import threading

import pymysql
import pytest

from support.clients.mysql import Mysql, build, busy_writers, marks
from support.server import timed
from support.waiting import until

pytestmark = marks

DDL_MS_MAX = 1000


@pytest.fixture(scope="module", name="built")
def built_for_mysql():
    build()


@pytest.fixture(scope="module", name="mysql")
def running_server(built, tmp_path_factory):  # pylint: disable=unused-argument
    server = Mysql(tmp_path_factory.mktemp("mysql"))
    server.start("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog", "--server-id=1")
    server.query("CREATE DATABASE test")
    yield server
    server.run("stop")


def make(mysql, definition, name="t", rows=""):
    """Recreates a table."""
    statements = [f"DROP TABLE IF EXISTS test.{name}", f"CREATE TABLE test.{name} ({definition})"]
    mysql.query(*statements, *([f"INSERT INTO test.{name} VALUES {rows}"] if rows else []))


def rows_of(mysql, name="t", columns="*"):
    return list(mysql.query(f"SELECT {columns} FROM test.{name} ORDER BY 1"))


# --- the requests ----------------------------------------------------------------------------------------------------


def test_rows_are_inserted_changed_and_deleted(mysql):
    make(mysql, "id INT PRIMARY KEY, v VARCHAR(20), n BIGINT")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,v,n")
        assert hs.request(0, "+", 3, 1, "one", 10) == ["0", "1"]
        assert hs.request(0, "+", 3, 2, None, None) == ["0", "1"]
        assert hs.request(0, "=", 1, 1, 1, 0, "U", 1, "uno", 11) == ["0", "1", "1"]
        assert rows_of(mysql) == [(1, "uno", 11), (2, None, None)]
        assert hs.request(0, "=", 1, 1) == ["0", "3", "1", "uno", "11"]
        assert hs.request(0, "=", 1, 2, 1, 0, "D") == ["0", "1", "1"]
        assert hs.request(0, "=", 1, 2, 1, 0, "D") == ["0", "1", "0"]
    assert rows_of(mysql) == [(1, "uno", 11)]


def test_numbers_are_counted_up_and_down(mysql):
    make(mysql, "id INT PRIMARY KEY, n INT, u INT UNSIGNED, d DECIMAL(10,2), f DOUBLE", rows="(1, 5, 5, 1.25, 0.5)")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "n,u,d,f")
        assert hs.request(0, "=", 1, 1, 1, 0, "+", 2, 3, "0.50", "1.5")[:2] == ["0", "1"]
        assert rows_of(mysql, columns="n, u, CAST(d AS CHAR), f") == [(7, 8, "1.75", 2.0)]
        # The reply has the old values, and a number that would change its sign stays unchanged.
        assert hs.request(0, "=", 1, 1, 1, 0, "-?", 1, 1, 1, 1) == ["0", "4", "7", "8", "1.75", "2"]
    assert rows_of(mysql, columns="n, u, CAST(d AS CHAR), f") == [(6, 7, "0.75", 1.0)]


def test_a_filter_decides_on_a_change(mysql):
    make(mysql, "id INT PRIMARY KEY, v VARCHAR(9), n INT", rows="(1, 'a', 1)")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "v", filters="n")
        assert hs.request(0, "=", 1, 1, 1, 0, "F", "=", 0, 2, "U", "b") == ["0", "1", "0"]
        assert hs.request(0, "=", 1, 1, 1, 0, "F", "=", 0, 1, "U", "c") == ["0", "1", "1"]
    assert rows_of(mysql, columns="v") == [("c",)]


def test_several_rows_are_changed_at_once_or_not_at_all(mysql):
    make(mysql, "id INT PRIMARY KEY, u INT, UNIQUE (u)", rows="(1, 1), (2, 2), (3, 3), (4, 40)")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "u")
        hs.open(1, "test", "t", "id,u")
        assert hs.request(0, ">=", 1, 1, 10, 0, "U", 9)[:2] == ["1", "1"]  # the second row is a duplicate of the first
        assert rows_of(mysql) == [(1, 1), (2, 2), (3, 3), (4, 40)]
        assert hs.request(0, ">=", 1, 1, 3, 0, "+", 10) == ["0", "1", "3"]
        assert rows_of(mysql) == [(1, 11), (2, 12), (3, 13), (4, 40)]
        assert hs.request(1, ">=", 1, 2, 2, 0, "D") == ["0", "1", "2"]
    assert rows_of(mysql) == [(1, 11), (4, 40)]


def test_a_duplicate_fails_alone_among_many(mysql):
    make(mysql, "id INT PRIMARY KEY, v INT")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        replies = hs.pipeline(*[(0, "+", 2, number % 50, number) for number in range(100)])
        assert replies == [["0", "1"]] * 50 + [["1", "1", "121"]] * 50
    assert rows_of(mysql) == [(number, number) for number in range(50)]


# --- what SQL does with a row ----------------------------------------------------------------------------------------


def test_ids_are_generated_and_answered(mysql):
    make(mysql, "id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(9)")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        hs.open(1, "test", "t", "v")
        assert hs.request(0, "+", 2, 0, "a") == ["0", "1", "1"]
        assert hs.request(0, "+", 2, None, "b") == ["0", "1", "2"]
        assert hs.request(0, "+", 2, 10, "c")[:2] == ["0", "1"]
        assert hs.request(1, "+", 1, "d") == ["0", "1", "11"]
        mysql.query("INSERT INTO test.t (v) VALUES ('e')")
        assert hs.request(1, "+", 1, "f") == ["0", "1", "13"]
    assert rows_of(mysql) == [(1, "a"), (2, "b"), (10, "c"), (11, "d"), (12, "e"), (13, "f")]


def test_defaults_and_generated_columns_are_filled_in(mysql):
    make(
        mysql,
        "id INT PRIMARY KEY, a INT DEFAULT 7, e VARCHAR(20) DEFAULT (CONCAT('e', id)), s INT AS (a * 2) STORED, "
        "w INT AS (a + 1) VIRTUAL, made DATETIME DEFAULT CURRENT_TIMESTAMP, "
        "seen DATETIME DEFAULT '2000-01-01' ON UPDATE CURRENT_TIMESTAMP, KEY (w), KEY ((a * 3))",
    )
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id")
        hs.open(1, "test", "t", "id,a")
        hs.open(2, "test", "t", "a")
        hs.open(3, "test", "t", "s")
        assert hs.request(0, "+", 1, 1) == ["0", "1"]
        assert hs.request(1, "+", 2, 2, 20) == ["0", "1"]
        assert rows_of(mysql, columns="id, a, e, s, w, made > NOW() - INTERVAL 1 MINUTE, YEAR(seen)") == [
            (1, 7, "e1", 14, 8, 1, 2000),
            (2, 20, "e2", 40, 21, 1, 2000),
        ]
        assert hs.request(2, "=", 1, 2, 1, 0, "U", 30) == ["0", "1", "1"]
        assert hs.request(3, "=", 1, 2, 1, 0, "U", 30)[0] == "1"  # a column that is computed when it is read
        assert rows_of(mysql, columns="a, s, w, seen > '2001-01-01'") == [(7, 14, 8, 0), (30, 60, 31, 1)]
    assert mysql.query("SELECT COUNT(*) FROM test.t WHERE w = 31 AND a * 3 = 90") == ((1,),)


VALUES = {
    "TINYINT": ["0", "-128", "127", "128", "x", "1.5"],
    "INT UNSIGNED": ["4294967295", "-1", "4294967296"],
    "BIGINT": ["-9223372036854775808", "9223372036854775808"],
    "DECIMAL(5,2)": ["999.99", "1000", "1.005", "abc"],
    "DOUBLE": ["1e300", "1e400", "-0.5", "1x"],
    "YEAR": ["2155", "2156", "69"],
    "DATE": ["2024-02-29", "2023-02-29", "0000-00-00", "today"],
    "TIME(3)": ["-838:59:59", "839:00:00", "11:22:33.250"],
    "DATETIME(6)": ["2024-02-29 23:59:59.000001", "2024-13-01"],
    "TIMESTAMP": ["2038-01-19 03:14:08", "2024-02-29 23:59:59"],
    "CHAR(3)": ["abc", "abcd", "", "\u00e4\u00f6\u00fc"],
    "VARCHAR(3)": ["abc", "abcd", "ab   "],
    "VARCHAR(3) CHARACTER SET latin1": ["abc"],
    "VARBINARY(3)": ["abc", "abcd"],
    "ENUM('a','bc')": ["a", "bc", "d", ""],
    "SET('a','bc')": ["a,bc", "", "d"],
    "BIT(9)": ["\x01\x01", "\x03\x01"],
    "TEXT": ["", "x" * 65535, "x" * 65536],
    "JSON": ['{"a": [1, 2]}', "{", "null"],
    "INT NOT NULL": [None, "1"],
    "VARCHAR(9) NOT NULL": [None],
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_is_taken_and_refused_as_in_sql(mysql, kind):
    make(mysql, f"id INT PRIMARY KEY, v {kind}")
    make(mysql, f"id INT PRIMARY KEY, v {kind}", name="s")
    with mysql.write_door() as hs, contextlib.closing(mysql.connect()) as sql, sql.cursor() as cursor:
        hs.open(0, "test", "t", "id,v")
        for number, value in enumerate(VALUES[kind]):
            reply = hs.request(0, "+", 2, number, value)
            literal = "NULL" if value is None else sql.escape(value)
            try:
                cursor.execute(f"INSERT INTO test.s VALUES ({number}, {literal})")
                assert reply == ["0", "1"], value
            except pymysql.MySQLError as error:
                assert reply[0] == "1", value
                assert error.args[1].split(" at row")[0].replace("'s.v'", "'t.v'") in reply[2], value
    assert rows_of(mysql) == rows_of(mysql, "s")


def test_constraints_hold(mysql):
    make(mysql, "id INT PRIMARY KEY, n INT CHECK (n < 10), m INT NOT NULL, CHECK (m > n)")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,n,m")
        hs.open(1, "test", "t", "id,n")
        assert hs.request(0, "+", 3, 1, 1, 2) == ["0", "1"]
        for number, least in [(10, 11), (5, 5)]:
            assert "Check constraint" in hs.request(0, "+", 3, 2, number, least)[2]
        assert "doesn't have a default value" in hs.request(1, "+", 2, 3, 1)[2]
        assert "Check constraint" in hs.request(1, "=", 1, 1, 1, 0, "U", 1, 3)[2]
    assert rows_of(mysql) == [(1, 1, 2)]


def test_foreign_keys_hold_and_cascade(mysql):
    mysql.query("DROP TABLE IF EXISTS test.child, test.kept, test.parent")
    make(mysql, "id INT PRIMARY KEY, v INT", "parent", "(1, 1), (2, 2), (3, 3)")
    make(
        mysql,
        "id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE",
        "child",
    )
    make(mysql, "id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)", "kept")
    with mysql.write_door() as hs:
        hs.open(0, "test", "parent", "id,v")
        hs.open(1, "test", "child", "id,p")
        hs.open(2, "test", "kept", "id,p")
        assert hs.request(1, "+", 2, 10, 1) == ["0", "1"]
        assert hs.request(1, "+", 2, 11, 2) == ["0", "1"]
        assert hs.request(2, "+", 2, 12, 3) == ["0", "1"]
        assert hs.request(1, "+", 2, 13, 9) == ["1", "1", "151"]
        assert hs.request(1, "=", 1, 10, 1, 0, "U", 10, 9)[:2] == ["1", "1"]
        assert hs.request(0, "=", 1, 3, 1, 0, "D") == ["1", "1", "152"]
        assert hs.request(0, "=", 1, 1, 1, 0, "D") == ["0", "1", "1"]
        assert hs.request(0, "=", 1, 2, 1, 0, "U", 20, 2) == ["0", "1", "1"]
    assert rows_of(mysql, "parent") == [(3, 3), (20, 2)]
    assert rows_of(mysql, "child") == [(11, 20)]
    assert rows_of(mysql, "kept") == [(12, 3)]


def test_triggers_fire(mysql):
    mysql.query("DROP TABLE IF EXISTS test.log")
    make(mysql, "id INT PRIMARY KEY, v INT NOT NULL, w INT AS (v * 2) STORED")
    mysql.query(
        "CREATE TABLE test.log (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40))",
        "CREATE TRIGGER test.b BEFORE INSERT ON test.t FOR EACH ROW SET NEW.v = COALESCE(NEW.v, 5) + 1",
        "CREATE TRIGGER test.a AFTER INSERT ON test.t FOR EACH ROW "
        "INSERT INTO test.log (what) VALUES (CONCAT('+', NEW.id, ' ', NEW.v, ' ', NEW.w))",
        "CREATE TRIGGER test.u BEFORE UPDATE ON test.t FOR EACH ROW SET NEW.v = NEW.v + OLD.v",
        "CREATE TRIGGER test.au AFTER UPDATE ON test.t FOR EACH ROW "
        "INSERT INTO test.log (what) VALUES (CONCAT(OLD.v, '>', NEW.v, ' ', NEW.w))",
        "CREATE TRIGGER test.d BEFORE DELETE ON test.t FOR EACH ROW "
        "IF OLD.id = 2 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF",
        "CREATE TRIGGER test.ad AFTER DELETE ON test.t FOR EACH ROW "
        "INSERT INTO test.log (what) VALUES (CONCAT('-', OLD.id))",
    )
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        assert hs.request(0, "+", 2, 1, 10) == ["0", "1"]
        assert hs.request(0, "+", 2, 2, None) == ["0", "1"]
        assert hs.request(0, "+", 2, 1, 10) == ["1", "1", "121"]
        assert hs.request(0, "=", 1, 1, 1, 0, "U", 1, 100) == ["0", "1", "1"]
        assert "not this one" in hs.request(0, "=", 1, 2, 1, 0, "D")[2]
        assert hs.request(0, "=", 1, 1, 1, 0, "D") == ["0", "1", "1"]
    assert rows_of(mysql) == [(2, 6, 12)]
    assert [row[1] for row in rows_of(mysql, "log")] == ["+1 11 22", "+2 6 12", "11>111 222", "-1"]


def test_partitions_take_their_rows(mysql):
    make(
        mysql,
        "id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10), "
        "PARTITION b VALUES LESS THAN (20)",
    )
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        assert hs.request(0, "+", 2, 1, 1) == ["0", "1"]
        assert hs.request(0, "+", 2, 11, 1) == ["0", "1"]
        assert hs.request(0, "+", 2, 21, 1)[0] == "1"
        assert hs.request(0, "=", 1, 1, 1, 0, "U", 12, 2) == ["0", "1", "1"]
        assert hs.request(0, "=", 1, 11, 1, 0, "D") == ["0", "1", "1"]
    assert list(mysql.query("SELECT * FROM test.t PARTITION (b)")) == [(12, 2)]
    assert rows_of(mysql) == [(12, 2)]


@pytest.mark.parametrize("variable", ["read_only", "super_read_only"])
def test_a_server_that_is_read_only_takes_no_writes(mysql, variable):
    make(mysql, "id INT PRIMARY KEY")
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id")
        mysql.query(f"SET GLOBAL {variable} = ON")
        try:
            assert "read-only" in hs.request(0, "+", 1, 1)[2]
        finally:
            mysql.query("SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF")
        assert hs.request(0, "+", 1, 2) == ["0", "1"]
    assert rows_of(mysql) == [(2,)]


# --- the binary log --------------------------------------------------------------------------------------------------


def events_since(mysql, position):
    file, start = position
    return [(row[2], row[5]) for row in mysql.query(f"SHOW BINLOG EVENTS IN '{file}' FROM {start}")]


def position_of(mysql):
    return mysql.query("SHOW BINARY LOG STATUS")[0][:2]


def test_a_batch_is_one_transaction_of_row_events_with_a_gtid(mysql):
    make(mysql, "id INT PRIMARY KEY, v INT")
    mysql.query("SET GLOBAL binlog_format = STATEMENT")
    try:
        before = position_of(mysql)
        executed = mysql.query("SELECT @@GLOBAL.gtid_executed")
        with mysql.write_door() as hs:
            hs.open(0, "test", "t", "id,v")
            hs.pipeline(*[(0, "+", 2, number, 1) for number in range(20)], (0, "+", 2, 3, 1))
            kinds = [kind for kind, _ in events_since(mysql, before)]
    finally:
        mysql.query("SET GLOBAL binlog_format = ROW")
    transactions = kinds.count("Xid")
    assert kinds.count("Gtid") == transactions
    assert 1 <= transactions <= 3  # the requests may arrive in several pieces
    assert set(kinds) == {"Gtid", "Query", "Table_map", "Write_rows", "Xid"}
    assert mysql.query("SELECT @@GLOBAL.gtid_executed") != executed


def test_failed_writes_are_not_in_the_binary_log(mysql):
    make(mysql, "id INT PRIMARY KEY, v INT CHECK (v < 10)", rows="(1, 1)")
    before = position_of(mysql)
    with mysql.write_door() as hs:
        hs.open(0, "test", "t", "id,v")
        assert hs.request(0, "+", 2, 1, 1)[0] == "1"
        assert hs.request(0, "+", 2, 2, 11)[0] == "1"
        assert hs.request(0, "=", 1, 7, 1, 0, "D") == ["0", "1", "0"]
    assert [kind for kind, _ in events_since(mysql, before)] == []


def test_a_replica_follows(mysql, tmp_path):
    replica = Mysql(tmp_path)
    replica.start("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog", "--server-id=2")
    try:
        mysql.query(
            "CREATE USER IF NOT EXISTS r@localhost IDENTIFIED BY 'r'", "GRANT REPLICATION SLAVE ON *.* TO r@localhost"
        )
        replica.query(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='localhost', SOURCE_PORT={mysql.env['SQL_PORT']}, "
            "SOURCE_USER='r', SOURCE_PASSWORD='r', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1",
            "START REPLICA",
        )
        make(mysql, "id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT AS (a * 2), j JSON, t TEXT")
        with mysql.write_door() as hs:
            hs.open(0, "test", "t", "a,j,t")
            for number in range(50):
                hs.request(0, "+", 3, number, json.dumps({"n": number}), "x" * number * 100)
            hs.request(0, ">=", 1, 1, 20, 0, "+", 1000)
            hs.request(0, ">=", 1, 40, 5, 0, "D")
        executed = mysql.query("SELECT @@GLOBAL.gtid_executed")[0][0]
        assert replica.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60)") == ((0,),)
        assert rows_of(replica) == rows_of(mysql)
        assert len(rows_of(replica)) == 45
    finally:
        replica.run("stop")


# --- others ----------------------------------------------------------------------------------------------------------


def test_acknowledged_writes_survive_kill_9(built, tmp_path):  # pylint: disable=unused-argument
    server = Mysql(tmp_path)
    server.start("--log-bin=binlog", "--server-id=1", "--sync-binlog=1")
    server.query("CREATE DATABASE test", "CREATE TABLE test.t (id INT PRIMARY KEY, v INT)")
    acknowledged = [set() for _ in range(4)]

    def write(mine):
        with contextlib.suppress(EOFError, ConnectionError), server.write_door() as hs:
            hs.open(0, "test", "t", "id,v")
            for number in range(1_000_000):
                key = number * 4 + mine
                if hs.request(0, "+", 2, key, number) == ["0", "1"]:
                    acknowledged[mine].add(key)

    threads = [threading.Thread(target=write, args=(one,)) for one in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: sum(map(len, acknowledged)) > 2000, 60, "nothing is written")
    server.kill()
    for thread in threads:
        thread.join()
    server.start("--log-bin=binlog", "--server-id=1")
    try:
        kept = {row[0] for row in rows_of(server, columns="id")}
        assert set().union(*acknowledged) <= kept
        assert len(kept) <= sum(map(len, acknowledged)) + 4
    finally:
        server.run("stop")


DDL = [
    ["ALTER TABLE test.t COMMENT 'x'"],
    ["ALTER TABLE test.t ADD COLUMN z INT FIRST", "ALTER TABLE test.t DROP COLUMN z"],
    ["ALTER TABLE test.t ADD INDEX v (v)", "ALTER TABLE test.t DROP INDEX v"],
    ["ALTER TABLE test.t ENGINE=InnoDB"],
    ["FLUSH TABLES test.t"],
    ["LOCK TABLES test.t WRITE", "UNLOCK TABLES"],
    ["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"],
    ["LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE"],
    ["RENAME TABLE test.t TO test.away, test.away TO test.t"],
]


def test_ddl_gets_its_lock_beside_writes_and_none_is_lost(mysql):
    make(mysql, "id INT PRIMARY KEY, v BIGINT", rows="(0, 0), (1, 0), (2, 0)")
    with busy_writers(mysql) as writers:
        with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
            for statements in DDL:
                for _ in range(3):
                    times = [timed(cursor, statement) for statement in statements]
                    assert max(times) < DDL_MS_MAX, (statements, times)
                writers.go_on()
    assert not writers.odd
    assert sum(row[1] for row in rows_of(mysql)) == writers.done


def test_no_update_of_sql_is_lost_beside_ours(mysql):
    make(mysql, "id INT PRIMARY KEY, v BIGINT", rows="(0, 0), (1, 0), (2, 0)")
    with busy_writers(mysql) as writers:
        for _ in range(300):
            mysql.query("UPDATE test.t SET v = v + 1 WHERE id = 1")
    assert not writers.odd
    assert sum(row[1] for row in rows_of(mysql)) == writers.done + 300


def test_a_locked_row_holds_up_its_writers_alone(mysql):
    make(mysql, "id INT PRIMARY KEY, v INT", rows="(1, 0), (2, 0)")
    mysql.query("SET GLOBAL innodb_lock_wait_timeout = 2")
    try:
        with mysql.write_door() as held, mysql.write_door() as free, contextlib.closing(mysql.connect()) as sql:
            for hs in (held, free):
                hs.open(0, "test", "t", "v")
            with sql.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute("UPDATE test.t SET v = 9 WHERE id = 1")
                held.send(b"0\t=\t1\t1\t1\t0\t+\t1\n")
                for _ in range(50):
                    assert free.request(0, "=", 1, 2, 1, 0, "+", 1) == ["0", "1", "1"]
                cursor.execute("COMMIT")
                assert held.line() == b"0\t1\t1"
                cursor.execute("BEGIN")
                cursor.execute("UPDATE test.t SET v = 9 WHERE id = 1")
                refused = held.request(0, "=", 1, 1, 1, 0, "+", 1)
                assert refused[0] == "1", refused
                cursor.execute("ROLLBACK")
    finally:
        mysql.query("SET GLOBAL innodb_lock_wait_timeout = 50")
    assert rows_of(mysql) == [(1, 10), (2, 50)]


def test_kill_of_a_writer_loses_no_write(mysql):
    make(mysql, "id INT PRIMARY KEY, v BIGINT", rows="(0, 0), (1, 0), (2, 0)")
    with busy_writers(mysql) as writers:
        for word in ("KILL", "KILL QUERY"):
            for thread in mysql.threads("handlersocket write"):
                with contextlib.suppress(pymysql.MySQLError):  # it may be gone
                    mysql.query(f"{word} {thread}")
                writers.go_on()
    odd = [reply for reply in writers.odd if "interrupted" not in (reply[2] or "")]
    assert not odd
    assert sum(row[1] for row in rows_of(mysql)) == writers.done


def test_uninstall_and_shutdown_while_clients_write(built, tmp_path):  # pylint: disable=unused-argument
    server = Mysql(tmp_path)
    server.start()
    server.query("CREATE DATABASE test")
    make(server, "id INT PRIMARY KEY, v BIGINT", rows="(0, 0), (1, 0), (2, 0)")
    writers = busy_writers(server)

    def write(mine):
        with contextlib.suppress(EOFError, ConnectionError):
            writers.ask(mine)

    for round_of in range(3):
        threads = [threading.Thread(target=write, args=(one,)) for one in range(3)]
        before = writers.done
        for thread in threads:
            thread.start()
        until(lambda since=before: writers.done > since + 300, 30, "nobody writes")
        if round_of < 2:
            server.query("UNINSTALL PLUGIN handlersocket", "INSTALL PLUGIN handlersocket SONAME 'postern.so'")
        else:
            server.run("stop")
        for thread in threads:
            thread.join()
    log = subprocess.run(["cat", tmp_path / "error.log"], capture_output=True, text=True, check=True).stdout
    assert "Shutdown complete" in log
    assert "got signal" not in log
    assert not writers.odd
