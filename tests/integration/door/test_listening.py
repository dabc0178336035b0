"""Ports listen when the doors can answer requests, not before, and status variables show it."""
import os
import socket
import threading

from support.clients.mc import until_mapped
from support.waiting import until

DOORS = ("HS_PORT", "HS_PORT_WR", "HS_SOCKET", "MEMC_PORT", "MEMC_SOCKET")
STATUS = ("handlersocket_listening", "handlersocket_listening_wr", "memcached_listening")


def connect(address):
    """Returns None, or why the connection failed."""
    local = not str(address).isdigit()
    with socket.socket(socket.AF_UNIX if local else socket.AF_INET) as one:
        one.settimeout(5)
        try:
            one.connect(address if local else ("127.0.0.1", int(address)))
        except OSError as problem:
            return problem
    return None


def listening(server):
    status = server.status("%listening%")
    return [status[name] for name in STATUS]


def test_nobody_is_let_in_before_the_server_is_up(sandbox_factory, tmp_path):
    server = sandbox_factory(containers=True)
    until_mapped(server, "aaa")
    assert listening(server) == ["ON"] * 3
    server.stop()
    # The server starts up to its init file, which is a pipe, and continues when the test writes to it.
    pipe = tmp_path / "init.sql"
    os.mkfifo(pipe)
    starting = threading.Thread(target=lambda: server.start(f"--init-file={pipe}", containers=True))
    starting.start()

    def opened():
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None

    ends = []
    until(lambda: ends or (end := opened()) is not None and ends.append(end) is None, seconds=60)
    try:
        for name in DOORS:
            assert isinstance(connect(server.env[name]), (ConnectionRefusedError, FileNotFoundError)), name
        assert "listening on" not in server.log().rpartition(" as process ")[2]
    finally:
        os.write(ends[0], b"SELECT 1;\n")
        os.close(ends[0])
        starting.join()
    until_mapped(server, "aaa")
    for name in DOORS:
        assert connect(server.env[name]) is None, name
    assert listening(server) == ["ON"] * 3
    assert "handlersocket write port: listening on" in server.log().rpartition(" as process ")[2]


def test_status_says_which_port_is_closed(sandbox_factory):
    server = sandbox_factory("--handlersocket-port-wr=0", "--handlersocket-socket-wr=")
    assert listening(server) == ["ON", "OFF", "OFF"]
    server.execute("UNINSTALL SONAME 'postern'", "INSTALL SONAME 'postern'")
    assert listening(server) == ["ON", "OFF", "OFF"]
    assert connect(server.env["HS_PORT"]) is None, "at once"
