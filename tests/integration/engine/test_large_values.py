"""Values of sizes around every limit that a reply meets, through two doors and for many clients at once: each answer is
complete and in order, whether it was made in a worker's turn or in the slow lane."""
import random
import re
import socket
import threading

import pytest
from support.clients.mc import map_table

KIB = 1 << 10
SIZES = [
    0,
    100,
    4 * KIB,
    32 * KIB - 7,
    32 * KIB,
    64 * KIB,
    128 * KIB - 50,
    128 * KIB,
    200 * KIB,
    256 * KIB,
    1024 * KIB,
    2048 * KIB - 30,
    2048 * KIB,
    5000 * KIB,
]
SEED = 20101020
PATIENCE_SECONDS = 60


def on_the_wire(value):
    return re.sub(rb"[\x00-\x0f]", lambda found: bytes((1, found[0][0] + 0x40)), value)


@pytest.fixture(scope="module")
def large(module_factory):
    """A server with one thread for each door, and the expected answer to a get of each value through either."""
    server = module_factory(
        "--handlersocket-threads=1", "--memcached-threads=1", "--max-allowed-packet=64M", containers=True
    )
    source = random.Random(SEED)
    server.execute("CREATE TABLE test.large (k INT PRIMARY KEY, v LONGBLOB NOT NULL) ENGINE=InnoDB")
    values = {}
    for size in SIZES:
        # Text that needs no escapes, and bytes of every kind.
        values[len(values)] = b"0123456789abcdef" * (size // 16) + b"x" * (size % 16)
        values[len(values)] = source.randbytes(size)
    for key, value in values.items():
        server.query("INSERT INTO test.large VALUES (%s, UNHEX(%s))", (key, value.hex()))
    map_table(server, "large", "test", "large", "k", "v")
    answers = {
        "hs": {key: b"0\t1\t" + on_the_wire(value) + b"\n" for key, value in values.items()},
        "mc": {key: b"VALUE %d 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value) for key, value in values.items()},
    }
    yield server, answers
    server.assert_alive()


def take(connection, count):
    """Receives the next so many bytes."""
    pieces = []
    while count:
        piece = connection.socket.recv(min(count, 1 << 20))
        assert piece, f"closed, {count} bytes before the end"
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def connect(server, door):
    if door == "hs":
        client = server.hs(timeout=PATIENCE_SECONDS)
        client.open(0, "test", "large", "v")
        return client, b"0\t=\t1\t%d\n"
    client = server.mc(timeout=PATIENCE_SECONDS)
    assert client.get("@@large") == b"test/large"
    return client, b"get %d\r\n"


@pytest.mark.parametrize("door", ["hs", "mc"])
def test_every_size_by_itself(large, door):
    server, answers = large
    client, request = connect(server, door)
    with client:
        for key, answer in answers[door].items():
            client.send(request % key)
            assert take(client, len(answer)) == answer, key


@pytest.mark.parametrize("door", ["hs", "mc"])
def test_many_clients_each_with_many_under_way(large, door):
    server, answers = large
    wrong = []

    def ask(seed):
        source = random.Random(seed)
        client, request = connect(server, door)
        with client:
            if seed % 2:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * KIB)
            keys = [source.choice(list(answers[door])) for _ in range(12)]
            client.send(b"".join(request % key for key in keys))
            for at, key in enumerate(keys):
                answer = answers[door][key]
                if take(client, len(answer)) != answer:
                    wrong.append((seed, at, key))
                    return

    def run(seed):
        try:
            ask(seed)
        except Exception as error:  # noqa: BLE001: reported below
            wrong.append((seed, repr(error)))

    clients = [threading.Thread(target=run, args=(SEED + i,)) for i in range(16)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert not wrong


@pytest.mark.parametrize("door", ["hs", "mc"])
def test_a_batch_of_large_rows_needs_no_slow_lane(large, door):
    """Thirty clients ask for a MiB each before the first has its answer: what exceeds one batch is served in the next
    turn, and no row is read twice."""
    server, answers = large
    name = f"{'handlersocket' if door == 'hs' else 'memcached'}_slow_finds"
    key = 2 * SIZES.index(1024 * KIB)
    answer = answers[door][key]
    before = server.status(name)[name]
    clients = [connect(server, door) for _ in range(30)]
    for client, request in clients:
        client.send(request % key)
    for client, _ in clients:
        with client:
            assert take(client, len(answer)) == answer
    assert server.status(name)[name] == before
