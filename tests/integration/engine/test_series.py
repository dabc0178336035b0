"""Features of MariaDB 11.8 that 10.11 lacks; docs/servers.md describes them for users."""
import threading

import pytest
from support.server import SERIES

pytestmark = pytest.mark.skipif(SERIES == "10.11", reason="MariaDB 10.11 does not have it")

SKIP = "IF {row}.v = 'skip' THEN SIGNAL SQLSTATE '02TRG'; END IF"


@pytest.fixture
def skipping(server, database):
    """A table with triggers that skip rows with `skip`."""
    server.execute(
        f"USE {database}",
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))",
        "INSERT INTO t VALUES (1, 'one'), (2, 'skip'), (3, 'three')",
        *(
            f"CREATE TRIGGER on_{event} BEFORE {event} ON t FOR EACH ROW BEGIN {SKIP.format(row=row)}; END"
            for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
        ),
    )
    return database


def test_a_trigger_may_skip_a_row_without_an_error(server, skipping):
    with server.hs_wr() as client:
        client.open(0, skipping, "t", "id,v")
        assert client.request(0, "+", 2, 4, "skip")[0] == "0"
        assert client.request(0, "=", 1, 1, 1, 0, "U", 1, "skip") == ["0", "1", "0"]
        assert client.request(0, "=", 1, 2, 1, 0, "D") == ["0", "1", "0"]
        # With several rows the others are changed, and counted.
        assert client.request(0, ">=", 1, 0, 10, 0, "D") == ["0", "1", "2"]
        assert client.request(0, "+", 2, 5, "kept")[0] == "0"
    assert server.query("SELECT * FROM t ORDER BY id", database=skipping) == [(2, "skip"), (5, "kept")]


def test_a_vector_is_a_value_and_its_index_none_of_the_doors(server, database):
    server.execute(
        f"USE {database}",
        "CREATE TABLE t (id INT PRIMARY KEY, e VECTOR(2) NOT NULL, VECTOR INDEX e (e))",
        "INSERT INTO t VALUES (1, VEC_FromText('[1,2]'))",
    )
    with server.hs_wr() as client:
        assert client.request("P", 0, database, "t", "e", "id")[0] != "0"
        client.open(1, database, "t", "id,e")
        one = client.request(1, "=", 1, 1)
        assert one[:3] == ["0", "2", "1"]
        assert one[3].encode("utf-8", "surrogateescape") == bytes.fromhex("0000803f00000040")
        assert client.request(1, "+", 2, 2, bytes.fromhex("0000404000008040")) == ["0", "1"]
        assert client.request(1, "+", 2, 3, b"short")[0] != "0"
        # The door does not serve this index, but keeps it up to date.
    nearest = "SELECT id FROM t ORDER BY VEC_DISTANCE_EUCLIDEAN(e, VEC_FromText('[3,4]')) LIMIT 1"
    assert server.query(nearest, database=database) == [(2,)]
    assert server.query("CHECK TABLE t", database=database)[0][3] == "OK"


def test_an_inet6_takes_an_ipv4_address_as_sql_does(server, database):
    server.execute(
        f"USE {database}", "CREATE TABLE t (id INT PRIMARY KEY, a INET6)", "INSERT INTO t VALUES (1, '10.0.0.1')"
    )
    with server.hs_wr() as client:
        client.open(0, database, "t", "id,a")
        assert client.request(0, "+", 2, 2, "10.0.0.1") == ["0", "1"]
    assert len(set(server.query("SELECT a FROM t", database=database))) == 1


def test_rows_that_change_meanwhile_raise_no_error(server, database):
    # SQL gets error 1020 if its transaction has read the row before.
    assert server.query("SELECT @@global.innodb_snapshot_isolation") == [(1,)]
    server.execute(f"USE {database}", "CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 0)")
    wrong = []

    def add():
        with server.hs_wr() as client:
            client.open(0, database, "t", "n")
            for _ in range(100):
                reply = client.request(0, "=", 1, 1, 1, 0, "+", 1)
                if reply != ["0", "1", "1"]:
                    wrong.append(reply)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    with server.connect(database=database) as connection, connection.cursor() as cursor:
        for _ in range(50):
            cursor.execute("UPDATE t SET n = n + 1 WHERE id = 1")
    for thread in threads:
        thread.join()
    assert not wrong
    assert server.query("SELECT n FROM t", database=database) == [(450,)]
