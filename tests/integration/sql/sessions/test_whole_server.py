"""The whole server through the SQL door: every command, as on the server's own port."""
import hashlib
import os
import ssl
import struct
import subprocess
import time

import pymysql
import pytest

from support.clients import sql_wire
from support.clients.sql_wire import Wire, rows


@pytest.fixture(scope="module")
def server(module_factory):
    running = module_factory("--max-allowed-packet=64M", "--local-infile=1", "--postern-verify=1", postern_port=0)
    running.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)",
        "INSERT INTO t SELECT seq, CONCAT('v', seq) FROM seq_1_to_1000",
        database="test",
    )
    return running


def figure(server, name):
    return server.status(name)[name.lower()]


def threads(server):
    return len(os.listdir(f"/proc/{server.env['PID']}/task"))


@pytest.fixture
def connection(server):
    opened = sql_wire.door(server, database="test", local_infile=True)
    yield opened
    if opened.open:
        opened.close()


def test_texts_and_transactions(connection):
    assert rows(connection, "SELECT 1 + 1, DATABASE(), CURRENT_USER()") == [(2, "test", "root@localhost")]
    rows(connection, "BEGIN")
    rows(connection, "UPDATE t SET v = 'changed' WHERE id = 5")
    assert rows(connection, "SELECT v FROM t WHERE id = 5") == [("changed",)]
    rows(connection, "ROLLBACK")
    assert rows(connection, "SELECT v FROM t WHERE id = 5") == [("v5",)]
    with pytest.raises(pymysql.err.ProgrammingError, match="1064"):
        rows(connection, "SELEC")
    assert rows(connection, "SELECT COUNT(*) FROM t") == [(1000,)]


def test_the_unix_socket(server):
    with pymysql.connect(unix_socket=server.env["POSTERN_SOCKET"], user="root") as connection:
        assert rows(connection, "SELECT USER()") == [("root@localhost",)]


def test_prepared_statements_cursors_and_long_data(connection):
    wire = Wire(connection)
    by_key = wire.prepare("SELECT v FROM t WHERE id = ?")
    for number in (1, 2, 3, 1, 2, 3):
        assert wire.execute(by_key, number)[3][4:] == b"\0\0" + bytes([2]) + b"v%d" % number
    assert wire.execute(by_key, 7, types=False)[3][4:] == b"\0\0\x02v7"
    text = wire.prepare("SELECT LENGTH(?), MD5(?)")
    wire.send(sql_wire.LONG_DATA, struct.pack("<IH", text, 0) + b"x" * 100_000)
    wire.send(sql_wire.LONG_DATA, struct.pack("<IH", text, 1) + b"y" * 10)
    wire.send(sql_wire.EXECUTE, struct.pack("<IBI", text, 0, 1) + b"\0\1" + b"\xfd\0" * 2)
    assert hashlib.md5(b"y" * 10).hexdigest().encode() in b"".join(wire.result())
    cursor = wire.prepare("SELECT id FROM t ORDER BY id LIMIT 5")
    wire.send(sql_wire.EXECUTE, struct.pack("<IBI", cursor, 1, 1))
    opened = [wire.packet() for _ in range(3)]
    assert opened[-1][4] == 0xFE
    wire.send(sql_wire.FETCH, struct.pack("<II", cursor, 3))
    assert [struct.unpack("<i", wire.packet()[6:10])[0] for _ in range(3)] == [1, 2, 3]
    assert wire.packet()[4] == 0xFE
    wire.send(sql_wire.RESET, struct.pack("<I", cursor))
    assert wire.packet()[4] == 0
    wire.send(sql_wire.CLOSE, struct.pack("<I", cursor))
    wire.send(sql_wire.EXECUTE, struct.pack("<IBI", cursor, 0, 1))
    assert wire.packet()[4:7] == b"\xff" + struct.pack("<H", 1243)


def test_ping_statistics_reset_and_change_user(server, connection):
    connection.ping()
    wire = Wire(connection)
    wire.send(sql_wire.STATISTICS)
    assert b"Uptime:" in wire.packet()
    rows(connection, "SET @x = 1")
    wire.send(sql_wire.RESET_CONNECTION)
    assert wire.packet()[4] == 0
    assert rows(connection, "SELECT @x") == [(None,)]
    server.execute("CREATE OR REPLACE USER other@localhost", "GRANT SELECT ON test.* TO other@localhost")
    wire.send(sql_wire.CHANGE_USER, b"other\0\0test\0\x2d\0mysql_native_password\0\0")
    switch = wire.packet()
    assert switch[4] == 0xFE
    connection._sock.sendall(b"\0\0\0" + bytes([switch[3] + 1]))  # no password
    assert wire.packet()[4] == 0
    assert rows(connection, "SELECT CURRENT_USER()") == [("other@localhost",)]
    account = "SELECT account FROM information_schema.postern_connections WHERE id = %s"
    assert server.query(account, (connection.thread_id(),)) == [("other@localhost",)]
    with pytest.raises(pymysql.err.OperationalError, match="1142"):
        rows(connection, "DELETE FROM t WHERE id = 1")


def test_several_statements_in_one_packet(server):
    flag = pymysql.constants.CLIENT.MULTI_STATEMENTS
    with sql_wire.door(server, database="test", client_flag=flag) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1; SELECT v FROM t WHERE id = 2; SELECT nothing; SELECT 3")
            assert cursor.fetchall() == ((1,),)
            assert cursor.nextset() and cursor.fetchall() == (("v2",),)
            with pytest.raises(pymysql.err.OperationalError, match="1054"):
                cursor.nextset()
        assert rows(connection, "SELECT 4") == [(4,)]


def test_packets_of_20_megabytes(connection):
    text = "x" * 20_000_000
    rows(connection, "REPLACE INTO t VALUES (100000, %s)", (text,))
    assert rows(connection, "SELECT LENGTH(v), MD5(v) FROM t WHERE id = 100000") == [
        (20_000_000, hashlib.md5(text.encode()).hexdigest())
    ]
    assert rows(connection, "SELECT v FROM t WHERE id = 100000") == [(text,)]
    rows(connection, "DELETE FROM t WHERE id = 100000")
    with pytest.raises(pymysql.err.Error):
        rows(connection, "SELECT LENGTH('" + "x" * (70 << 20) + "')")


def test_load_data_local(connection, tmp_path):
    file = tmp_path / "lines"
    file.write_text("".join(f"{number}\tline {number}\n" for number in range(200_000, 250_000)))
    rows(connection, f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE t")
    assert rows(connection, "SELECT COUNT(*) FROM t WHERE id >= 200000") == [(50_000,)]
    rows(connection, "DELETE FROM t WHERE id >= 200000")
    with pytest.raises(pymysql.err.OperationalError):
        rows(connection, "LOAD DATA LOCAL INFILE '/nonexistent/file' INTO TABLE t")


def test_pipelined_commands_are_answered_in_order(connection):
    wire = Wire(connection)
    for number in range(200):
        slow = f"SELECT SLEEP(0.001), {number}" if number % 7 == 0 else f"SELECT v FROM t WHERE id = {number + 1}"
        wire.send(sql_wire.QUERY, slow.encode())
    for number in range(200):
        answer = b"".join(wire.result())
        assert (str(number) if number % 7 == 0 else f"v{number + 1}").encode() in answer


def test_wrong_sequence_numbers_and_commands_are_answered(server):
    with sql_wire.door(server) as connection:
        wire = Wire(connection)
        wire.send(0xEE)
        assert wire.packet()[4] == 0xFF
        connection._sock.sendall(b"\x02\0\0\x05\x0ex")
        with pytest.raises((EOFError, ConnectionError, AssertionError)):
            assert wire.packet()[4] != 0xFF
    server.assert_alive()


def test_a_plan_is_found_and_verified(server, connection):
    before = figure(server, "Postern_verified_same")
    wire = Wire(connection)
    by_key = wire.prepare("SELECT v FROM t WHERE id = ?")
    for _ in range(10):
        assert b"v9" in b"".join(wire.execute(by_key, 9))
        assert rows(connection, "SELECT v FROM t WHERE id = 8") == [("v8",)]
    told = {name: value for name, value in server.status("postern_%").items() if value}
    assert figure(server, "Postern_verified_same") >= before + 10, str(
        {k: v for k, v in told.items() if v not in (0, "0")}
    )
    assert figure(server, "Postern_verified_different") == 0


def test_tls_as_the_server_does_it(module_factory, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        + ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True,
        capture_output=True,
    )
    server = module_factory(f"--ssl-cert={folder}/cert.pem", f"--ssl-key={folder}/key.pem", postern_port=0)
    server.execute("CREATE USER s@localhost REQUIRE SSL")
    context = ssl.create_default_context(cafile=folder / "cert.pem")
    context.check_hostname = False
    with sql_wire.door(server, user="s", ssl=context) as connection:
        assert rows(connection, "SHOW STATUS LIKE 'Ssl_version'")[0][1].startswith("TLSv1")
        assert rows(connection, "SELECT REPEAT('x', 1000000)") == [("x" * 1_000_000,)]
        assert rows(connection, "SELECT LENGTH(%s)", ("y" * 300_000,)) == [(300_000,)]
        wire = Wire(connection)
        for number in range(50):
            wire.send(sql_wire.QUERY, f"SELECT {number}".encode())
        for number in range(50):
            assert str(number).encode() in b"".join(wire.result())
    with pytest.raises(pymysql.err.OperationalError, match="1045"):
        sql_wire.door(server, user="s")


def test_idle_sessions_cost_no_thread(server):
    opened = [sql_wire.door(server, database="test") for _ in range(100)]
    try:
        for connection in opened:
            assert rows(connection, "SELECT 1") == [(1,)]
        deadline = time.monotonic() + 40
        while threads(server) > 60 and time.monotonic() < deadline:
            time.sleep(0.5)
        assert threads(server) <= 60
        assert rows(opened[0], "SHOW STATUS LIKE 'Threads_connected'")[0][1] >= "100"
    finally:
        for connection in opened:
            connection.close()
