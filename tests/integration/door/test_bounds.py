"""Bounds on the resources that clients may use: descriptors and memory are limited, and idle resources are freed."""
import contextlib
import os
import resource
import socket

import pymysql
import pytest

from support.waiting import until

MIB = 1024  # in KiB


def anonymous(server):
    return server.memory_kib("RssAnon") / MIB


def settled(server, most, seconds=5):
    """Whether memory falls to that."""
    with contextlib.suppress(AssertionError):
        until(lambda: anonymous(server) <= most, seconds)
    return anonymous(server)


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory("--max-allowed-packet=64M", "--handlersocket-threads=1")
    long = "c" * 64
    server.execute(
        "CREATE TABLE fat (k INT PRIMARY KEY, v INT)",
        "INSERT INTO fat SELECT seq, seq FROM seq_1_to_1000",
        "CREATE TABLE wide (k INT PRIMARY KEY, v MEDIUMTEXT)",
        "INSERT INTO wide SELECT seq, REPEAT('x', 60000) FROM seq_1_to_200",
        f"CREATE TABLE oi (k INT PRIMARY KEY, {long} INT)",
        "INSERT INTO oi VALUES (1, 1)",
        "CREATE TABLE cc (k INT PRIMARY KEY, v LONGBLOB COMPRESSED)",
        "INSERT INTO cc VALUES (1, REPEAT('x', 6 << 20))",
        "CREATE TABLE plain (k INT PRIMARY KEY, v LONGBLOB)",
        "INSERT INTO plain VALUES (1, REPEAT('x', 6 << 20))",
        database="test",
    )
    return server


def test_silent_clients_pin_little_of_what_their_neighbours_asked(server):
    fat = server.hs(timeout=60)
    fat.open(1, "test", "fat", "k,v")
    lines = (b"1\t+\t4096" + b"\t" * 4096 + b"\n") * 60  # refused after their values were parsed
    fat.send(lines)
    fat.lines(60)
    before = anonymous(server)
    silent = []
    for _ in range(60):
        client = server.hs()
        client.open(1, "test", "wide", "k,v")
        fat.send(lines)
        client.send(b"1\t>=\t1\t0\t100000\t0\n")
        fat.lines(60)
        silent.append(client)
    taken = settled(server, before + 60)
    assert (taken - before) / 60 < 1, f"{(taken - before) / 60:.1f} MiB each"
    for client in [fat, *silent]:
        client.close()


@pytest.mark.parametrize("port", ["hs", "hs_wr"])
def test_open_indexes_go_with_their_client(server, port):
    before = anonymous(server)
    client = getattr(server, port)(timeout=60)
    for number in range(60):  # about 15 MiB of names
        columns = ",".join(["c" * 64] * (4000 - number) + ["k"] * number)
        client.open(number, "test", "oi", columns)
        assert client.request(number, "=", 1, 1)[:2] == ["0", "4000"]
    client.close()
    assert settled(server, before + 10) - before < 12


def test_open_indexes_are_counted(sandbox_factory):
    small = [f"--{door}-max-buffer-bytes=1M" for door in ("memcached", "redis", "postern")]
    server = sandbox_factory("--handlersocket-max-buffer-bytes=16M", *small)
    server.execute(f"CREATE TABLE oi (k INT PRIMARY KEY, {'c' * 64} INT)", database="test")
    with server.hs(timeout=60) as client, server.hs() as other:
        other.open(0, "test", "oi", "k")
        replies = []
        for number in range(100):
            columns = ",".join(["c" * 64] * (4000 - number) + ["k"] * number)
            replies.append(client.request("P", number, "test", "oi", "PRIMARY", columns))
        assert replies[0] == ["0", "1"] and replies[-1] == ["1", "1", "Out of memory"], replies[-1]
        assert other.request(0, "=", 1, 1) == ["0", "1"]
    until(lambda: server.status("handlersocket_buffer_bytes")["handlersocket_buffer_bytes"] < 1 << 20)


@pytest.mark.parametrize("table", ["cc", "plain"])
def test_large_values_do_not_stay(server, table):
    before = anonymous(server)
    busy = server.hs()  # keeps the worker awake
    busy.open(0, "test", "fat", "k")
    client = server.hs(timeout=60)
    for number in range(30):
        client.open(number, "test", table, ",".join(["v"] + ["k"] * number))
        client.send(b"%d\t=\t1\t1\n" % number)
        assert len(client.line()) > 6 << 20
        busy.pipeline(*[(0, "=", 1, 1)] * 20)
    assert settled(server, before + 60) - before < 90
    client.close()
    busy.close()


# --- descriptors -------------------------------------------------------------------------------------------------------

LIMIT = 400
TOO_MANY = 1040


@pytest.fixture(scope="module")
def poor(module_factory):
    """A server with few descriptors."""
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, old[1]))
    server = module_factory(start=False)
    try:
        server.start(
            "--open-files-limit=400",
            "--max-connections=100",
            "--handlersocket-threads=1",
            "--handlersocket-threads-wr=1",
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, old)
    return server


def limit_of(server):
    with open(f"/proc/{server.env['PID']}/limits", encoding="ascii") as limits:
        return next(int(line.split()[3]) for line in limits if line.startswith("Max open files"))


def flood(port, count):
    """Opens connections; returns them, how many were refused with an error, and how many are served."""
    clients, refused = [], 0
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", int(port)), timeout=10)
        client.sendall(b"nonsense\n")
        reply = client.recv(1000)
        if b"Too many connections" in reply:
            refused += 1
            client.close()
        else:
            assert reply.startswith(b"2\t1\t"), reply
            clients.append(client)
    return clients, refused


def test_clients_leave_the_server_its_descriptors(poor):
    limit = limit_of(poor)
    told = [line for line in poor.log().splitlines() if "all doors together get" in line]
    assert told, poor.log_tail()
    readers, refused = flood(poor.env["HS_PORT"], limit + 50)
    writers, also_refused = flood(poor.env["HS_PORT_WR"], 30)
    assert refused > 0 and len(readers) >= limit // 8 - 1 and also_refused == 30 and not writers
    sql = [poor.connect() for _ in range(50)]
    for connection in sql:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        connection.close()
    for client in readers:
        client.close()
    until(lambda: poor.status("handlersocket_connections")["handlersocket_connections"] == 0)
    writers, refused = flood(poor.env["HS_PORT_WR"], 10)
    assert len(writers) == 10 and refused == 0, "the doors share what there is"
    for client in writers:
        client.close()


def test_sessions_of_the_server_are_the_servers_own_connections(sandbox_factory):
    """They do not count against the limit that all doors share: max_connections counts them already."""
    server = sandbox_factory(start=False)
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, old[1]))
    try:
        server.start("--open-files-limit=400", "--max-connections=120", "--table-open-cache=10", postern_port=0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, old)
    clients, _ = flood(server.env["HS_PORT"], LIMIT)
    room = len(clients)
    for client in clients:
        client.close()
    until(lambda: server.status("handlersocket_connections")["handlersocket_connections"] == 0)
    sessions = []
    with pytest.raises(pymysql.err.OperationalError) as refused:
        while len(sessions) < LIMIT:
            sessions.append(pymysql.connect(host="127.0.0.1", port=int(server.env["POSTERN_PORT"]), user="root"))
    assert refused.value.args[0] == TOO_MANY and 110 <= len(sessions) <= 121
    clients, _ = flood(server.env["HS_PORT"], LIMIT)
    assert len(clients) == room, "as many as without them"
    for one in (*sessions, *clients):
        one.close()


def test_uninstalled_plugins_give_back_their_share(poor):
    clients, _ = flood(poor.env["HS_PORT"], 20)
    assert len(clients) == 20
    poor.execute("UNINSTALL SONAME 'postern'", "INSTALL SONAME 'postern'")
    for client in clients:
        client.close()
    clients, refused = flood(poor.env["HS_PORT"], 40)
    assert len(clients) >= 40 and refused == 0
    for client in clients:
        client.close()


def test_threads_beyond_the_descriptors_are_refused_in_words(sandbox_factory):
    server = sandbox_factory(start=False)
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, old[1]))
    try:
        with contextlib.suppress(AssertionError):  # the sandbox waits for doors that never open
            server.start(
                "--open-files-limit=400",
                "--max-connections=100",
                "--handlersocket-threads=100",
                env={**os.environ, "POSTERN_TIMEOUT": "10"},
            )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, old)
    assert "give it fewer threads" in server.log()
