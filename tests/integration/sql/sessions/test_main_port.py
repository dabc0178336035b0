"""The SQL door takes the server's own port and socket, and gives them back."""
import threading

import pymysql

from support.clients import sql_wire
from support.clients.sql_wire import rows
from support.waiting import until


def door_connections(server):
    return server.status("Postern_connections").get("postern_connections", 0)


def test_the_main_port_is_the_door_s_until_it_is_given_back(sandbox_factory):
    server = sandbox_factory("--loose-postern-main-port=ON", "--max-connections=60")
    over_tcp = sql_wire.connect(server.env["SQL_PORT"])
    with server.connect() as over_socket:
        assert rows(over_tcp, "SELECT 1") == rows(over_socket, "SELECT 1") == [(1,)]
        assert door_connections(server) >= 2
    ends = threading.Event()
    failed = []

    def come_and_go():
        while not ends.is_set():
            try:
                with sql_wire.connect(server.env["SQL_PORT"]) as connection:
                    rows(connection, "SELECT 1")
            except pymysql.err.OperationalError as problem:
                if problem.args[0] not in (2006, 2013):  # its session was the door's
                    failed.append(problem)

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        server.execute("SET @x = 1")
        with server.connect() as connection:
            try:
                rows(connection, "UNINSTALL PLUGIN postern")
            except pymysql.err.OperationalError as problem:
                assert problem.args[0] in (2006, 2013), problem
        assert server.query("SELECT 2") == [(2,)]
        server.execute("INSTALL PLUGIN postern SONAME 'postern.so'")
    ends.set()
    for thread in threads:
        thread.join(30)
    assert not failed, failed[:3]
    until(lambda: door_connections(server) >= 1, 20)
    server.assert_alive()
