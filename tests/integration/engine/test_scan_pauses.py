"""Scans that are interrupted: where they continue, their cost, and the right to interrupt them."""
import contextlib
import socket
import statistics
import struct
import threading
import time

import pytest
from support.waiting import until

ALTERS = 12
WAIT_MS_MAX = 100


class Scan:
    """One find by the index k, read to its end by a thread. It also reads a column outside the index, which makes the
    index scan long."""

    def __init__(self, server, database, request):
        self.client = server.hs(timeout=120)
        self.client.open(0, database, "t", "id,v", index="k")
        self.reply = bytearray()
        self.seconds = None
        self.begin = time.monotonic()
        self.client.send(request)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while not self.reply.endswith(b"\n"):
            part = self.client.socket.recv(1 << 20)
            if not part:
                return
            self.reply += part
        self.seconds = time.monotonic() - self.begin

    def under_way(self):
        return self.thread.is_alive()

    def wait_for(self, size):
        while len(self.reply) < size and self.under_way():
            self.thread.join(0.002)

    def ids(self):
        self.thread.join(120)
        self.client.close()
        assert self.seconds is not None, "the scan broke off"
        tokens = self.reply[:-1].split(b"\t")
        assert tokens[:2] == [b"0", b"2"], tokens[:3]
        return list(map(int, tokens[2::2]))


def alter_while(server, database, scan, gap_s=0.02):
    """Alters the table repeatedly while the scan runs; returns the milliseconds that each ALTER took."""
    times = []
    with contextlib.closing(server.connect(database=database)) as connection, connection.cursor() as cursor:
        while scan.under_way() and len(times) < ALTERS:
            begin = time.monotonic()
            cursor.execute("ALTER TABLE t COMMENT %s", (str(len(times)),))
            times.append((time.monotonic() - begin) * 1000)
            scan.thread.join(gap_s)
    return times


# A group with entries made unique by the primary key in the index, and two in which only a walk finds the position
# again.
@pytest.mark.parametrize(
    "table, group_rows",
    [
        ("id INT PRIMARY KEY, k INT NOT NULL, v INT, KEY k (k)", 1_000_000),
        ("id INT PRIMARY KEY, k VARCHAR(20) CHARACTER SET latin1 NOT NULL, v INT, KEY k (k(1))", 400_000),
        ("id INT NOT NULL, k INT NOT NULL, v INT, KEY k (k)", 400_000),
    ],
    ids=["extended", "prefix", "no primary key"],
)
@pytest.mark.alone
def test_ddl_does_not_wait_for_a_scan_of_equal_keys(server, database, table, group_rows):
    server.execute(
        f"CREATE TABLE t ({table}) ENGINE=InnoDB",
        f"INSERT INTO t SELECT seq, 5, seq FROM seq_1_to_{group_rows}",
        database=database,
    )
    for operator in ("=", "<="):
        alter_while_all_is_scanned(server, database, operator, group_rows)


def alter_while_all_is_scanned(server, database, operator, group_rows):
    request = f"0\t{operator}\t1\t5\t{2 * group_rows}\n".encode()
    undisturbed = Scan(server, database, request)
    ids = undisturbed.ids()
    assert ids == (list(range(1, group_rows + 1)) if operator == "=" else list(range(group_rows, 0, -1)))
    disturbed = Scan(server, database, request)
    disturbed.wait_for(len(undisturbed.reply) * 2 // 3)  # far into the group
    times = alter_while(server, database, disturbed)
    assert disturbed.ids() == ids
    print(
        f"{len(times)} ALTERs, ms: {sorted(round(ms) for ms in times)}; "
        f"scan {undisturbed.seconds:.2f} s, with them {disturbed.seconds:.2f} s"
    )
    assert len(times) >= 3, "the scan was over before it was disturbed"
    assert statistics.median(times) < WAIT_MS_MAX and max(times) < 3 * WAIT_MS_MAX, times


# (a, b) is unique; k has ten values and, if nullable, NULL.
SHAPES = {
    "one key part after another": "PRIMARY KEY (a, b), KEY k (k)",
    "key holds a part of the primary key": "PRIMARY KEY (a, b), KEY k (k, b)",
    "descending": "PRIMARY KEY (a DESC, b), KEY k (k DESC)",
    "letters in both": "PRIMARY KEY (name, a, b), KEY k (k, name)",
    "prefix of the primary key": "PRIMARY KEY (name(3), a, b), KEY k (k)",
    "unique but for NULL": "UNIQUE (a, b), UNIQUE k (k, n)",
    "no primary key": "KEY k (k)",
    "partitions": "PRIMARY KEY (a, b), KEY k (k)) PARTITION BY HASH (b) PARTITIONS 3 (",
    "Aria": "PRIMARY KEY (a, b), KEY k (k)) ENGINE=Aria (",
}
# Storage engines without clustered keys; the switch does not affect them.
PARTITIONED_SHAPES = {
    "partitions without a primary key": "KEY k (k)) PARTITION BY HASH (b) PARTITIONS 3 (",
    "partitions of MyISAM": "PRIMARY KEY (a, b), KEY k (k)) ENGINE=MyISAM PARTITION BY HASH (b) PARTITIONS 3 (",
    "partitions of Aria": "PRIMARY KEY (a, b), KEY k (k)) ENGINE=Aria PARTITION BY HASH (a) PARTITIONS 3 (",
}


@pytest.mark.parametrize(
    "shape,switch",
    [(shape, switch) for switch in ("on", "off") for shape in SHAPES.values()]
    + [(shape, "on") for shape in PARTITIONED_SHAPES.values()],
    ids=[f"{switch}-{name}" for switch in ("on", "off") for name in SHAPES] + list(PARTITIONED_SHAPES),
)
def test_a_paused_scan_answers_every_row_once(server, database, shape, switch):
    shape = shape.removesuffix(" (") if shape.endswith(" (") else f"{shape})"
    # Aria walks through the whole table to its old position.
    rows = 30_000 if "Aria" in shape and "PARTITION" not in shape else 100_000
    server.execute(
        f"SET GLOBAL optimizer_switch='extended_keys={switch}'",
        "CREATE TABLE t (id INT NOT NULL, a INT NOT NULL, b INT NOT NULL, k VARCHAR(10), n INT, name VARCHAR(20) NOT NULL, "
        f"v INT, {shape}",
        "INSERT INTO t SELECT seq, seq DIV 100, seq % 100, IF(seq % 11, CHAR(97 + seq % 11), NULL), NULL, "
        f"IF(seq % 2, 'Same', 'same'), seq FROM seq_1_to_{rows}",
        database=database,
    )
    requests = (b"0\t>=\t1\t\0\t1000000\n", b"0\t<=\t1\tk\t1000000\n", b"0\t=\t1\td\t1000000\n")
    paused = pauses(server)
    try:
        # A scan may end before the first ALTER.
        for _ in range(10):
            for request in requests:
                expected = Scan(server, database, request).ids()
                assert len(expected) == len(set(expected)) > rows * 9 // 100
                scan = Scan(server, database, request)
                alter_while(server, database, scan, gap_s=0.002)
                assert scan.ids() == expected
            if pauses(server) > paused:
                return
        raise AssertionError("no scan was paused")
    finally:
        server.execute("SET GLOBAL optimizer_switch='extended_keys=on'")


def pauses(server):
    return server.status("handlersocket_scan_pauses")["handlersocket_scan_pauses"]


VALUES = 10_000
# For every value the same 10,000 rows are read, and none passes the filter: the scan takes minutes and answers no byte.
ENDLESS = b"0\t=\t1\t5\t1000000\t0\t@\t0\t%d\t%s\tF\t=\t0\t-1\n" % (VALUES, b"\t".join([b"5"] * VALUES))


@pytest.fixture
def endless(server, database):
    """Makes a table for ENDLESS; returns a function that makes a client with a find in a scan thread."""
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, v INT, KEY k (k)) ENGINE=InnoDB",
        "INSERT INTO t SELECT seq, 5, seq FROM seq_1_to_10000",
        database=database,
    )
    clients = []

    def start():
        slow = server.status("handlersocket_slow_finds")["handlersocket_slow_finds"]
        client = server.hs(timeout=30)
        clients.append(client)
        client.open(0, database, "t", "id", index="k", filters="v")
        client.send(ENDLESS)
        until(lambda: server.status("handlersocket_slow_finds")["handlersocket_slow_finds"] > slow)
        return client

    yield start
    for client in clients:
        reset(client)
    until(lambda: connections(server) == 0)


def reset(client):
    """Closes the connection with a reset, so that the server notices that nobody reads any more."""
    if client.socket.fileno() >= 0:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()


def connections(server):
    return server.status("handlersocket_connections")["handlersocket_connections"]


@pytest.mark.parametrize("leave", ["close", "reset"])
def test_a_scan_ends_when_its_client_has_left(server, endless, leave):
    before = connections(server)
    client = endless()
    assert connections(server) == before + 1
    begin = time.monotonic()
    if leave == "reset":
        reset(client)
    client.close()
    until(lambda: connections(server) == before, seconds=3)
    print(f"noticed after {(time.monotonic() - begin) * 1000:.0f} ms")


def test_a_client_that_ends_its_sending_is_served_on(server, endless):
    client = endless()
    client.socket.shutdown(socket.SHUT_WR)
    assert client.socket.recv(100) == b"0\t1"  # the start of the answer, which may be sent early
    assert connections(server) == 1


@pytest.mark.alone
def test_finds_do_not_wait_for_long_scans(server, database, endless):
    for _ in range(4):
        endless()
    times = []
    with server.hs() as client:
        client.open(0, database, "t", "id")
        for _ in range(20):
            begin = time.monotonic()
            assert len(client.request(0, ">=", 1, 0, 5000)) == 2 + 5000  # too many for a worker's turn
            times.append((time.monotonic() - begin) * 1000)
    print(f"5,000 rows behind four scans, ms: {sorted(round(ms) for ms in times)}")
    assert statistics.median(times) < 200
