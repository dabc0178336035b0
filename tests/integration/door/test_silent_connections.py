"""The memory cost of thousands of silent clients of the HandlerSocket door."""
import os
import resource
import socket

import pytest

from support.faults.malloc_count import MallocCount
from support.waiting import until

FIRST = 500  # the first connections use memory that is allocated once
CLIENTS = 9000
FRESH_BYTES_MAX = 275  # measured: 244 to 255, including the sessions that read the status
USED_BYTES_MAX = 320  # measured: 286 to 302
OPEN_INDEX_BYTES_MAX = 50  # measured: 42, and 58 while malloc gave the first open index of a client


class Client:
    def __init__(self, server):
        self.socket = socket.create_connection((server.env["HS_HOST"], int(server.env["HS_PORT"])))

    def ask(self, request):
        self.socket.sendall(request)
        assert self.socket.recv(1000).startswith(b"0\t")

    def find(self):
        self.ask(b"P\t1\ttest\tt\tPRIMARY\tid,a\n")
        self.ask(b"1\t=\t1\t7\n")


@pytest.fixture(scope="module")
def malloc(tmp_path_factory):
    if os.environ.get("POSTERN_PRELOAD"):
        pytest.skip("another library's malloc is in use")
    return MallocCount(tmp_path_factory.mktemp("malloc"))


@pytest.fixture(scope="module")
def server(module_factory, malloc):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < CLIENTS + 2000:
        pytest.skip(f"ulimit -Hn is {hard}")
    one = module_factory(
        "--max-connections=50",
        f"--handlersocket-max-connections={CLIENTS + 10}",
        f"--open-files-limit={CLIENTS + 1000}",
        "--performance-schema=off",
        "--innodb-stats-auto-recalc=OFF",
        env=malloc.environment(),
    )
    one.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))",
        "INSERT INTO t SELECT seq, seq FROM seq_1_to_1000",
        database="test",
    )
    return one


def await_clients(server, count):
    until(lambda: server.status("handlersocket_connections")["handlersocket_connections"] == count)


def test_a_silent_client_takes_a_few_hundred_bytes(server, malloc):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    clients = []
    try:
        clients += [Client(server) for _ in range(FIRST)]
        for client in clients:
            client.find()
        await_clients(server, FIRST)
        before = malloc.bytes()
        clients += [Client(server) for _ in range(CLIENTS - FIRST)]
        await_clients(server, CLIENTS)
        fresh = malloc.bytes()
        for client in clients[FIRST:]:
            client.find()
        used = malloc.bytes()
        each = [(now - before) / (CLIENTS - FIRST) for now in (fresh, used)]
        print(f"bytes of a silent client: {each[0]:.0f} fresh, {each[1]:.0f} once used")
        assert each[0] < FRESH_BYTES_MAX and each[1] < USED_BYTES_MAX
        assert each[1] - each[0] < OPEN_INDEX_BYTES_MAX
    finally:
        for client in clients:
            client.socket.close()
        await_clients(server, 0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
