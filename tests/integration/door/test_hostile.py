"""Nothing that a client sends, or fails to send, harms the server or other clients."""
import contextlib
import os
import random
import socket
import struct
import time

import pytest
from support.clients import hs
from support.random_input import seeds
from support.waiting import until

MIB = 1024
FUZZ_SECONDS = 5


@pytest.fixture(scope="module")
def target(module_factory):
    server = module_factory("--handlersocket-threads=1")
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200), n INT, KEY n (n), KEY p (v(3)))",
        "INSERT INTO t SELECT seq, REPEAT('v', 100), seq % 7 FROM seq_1_to_100000",
        database="test",
    )
    yield server


@pytest.fixture(autouse=True)
def still_well(target):
    yield
    target.assert_alive()
    for client in (target.hs(), target.hs_wr()):
        with client:
            client.open(0, "test", "t", "id")
            assert client.request(0, "=", 1, 7) == ["0", "1", "7"]


def reset(client):
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


BLOWS = [
    (b"0\t=\t400000000\t101\n", b"2\t1\tkpnum"),
    (b"0\t=\t4294967295\t1\n", b"2\t1\tkpnum"),
    (b"0\t=\t33\t1\n", b"2\t1\tkpnum"),
    (b"0\t=\t99999999999999999999999\t1\n", b"2\t1\tkpnum"),
    (b"4294967295\t=\t1\t1\n", b"2\t1\tstmtnum"),
    (b"P\t4294967295\ttest\tt\tPRIMARY\tid\n", b"0\t1"),
    (b"P\t4294967296\ttest\tt\tPRIMARY\tid\n", b"2\t1\tstmtnum"),
    (b"0\t=\t1\t1\t10\t0\t@\t0\t4294967295\t1\n", b"2\t1\tMore key values than the limit"),
    (b"0\t=\t1\t1\t10\t0\t@\t4000000000\t1\t1\n", b"2\t1\tkpnum"),
    (b"Q\n", b"2\t1\tcmd"),
    (b"/\n", b"2\t1\tcmd"),
    (b"\n", b"2\t1\tcmd"),
    (b"\0\n", b"2\t1\tcmd"),
    (b"\t\t\t\t\n", b"2\t1\tcmd"),
    (b"0\t=\t1\t\x01\n", b"2\t1\tsyntax"),
    (b"0\t=\t1\t7\t18446744073709551615\t18446744073709551615\n", b"0\t1"),
    (b"0\t+\t1\t5\n", b"2\t1\treadonly"),
    (b"0" + b"\t=" * 5000 + b"\n", None),
    (bytes(range(256)).replace(b"\n", b"") + b"\n", b"2\t1\tcmd"),
    (b"P\t0\t" + b"x" * 300 + b"\tt\tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\ttest\tt\tPRIMARY\t" + b"id," * 5000 + b"id\n", None),
    (b"P\t1\t#mysql50#..\tt\tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\ttest\t../../mysql/user\tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\ttest\t#mysql50#t\tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\t..\t..\tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\ttest\t\xff\xfe\tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\ttest\tt/\tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\ttest\tt \tPRIMARY\tid\n", b"1\t1\topen_table"),
    (b"P\t1\ttest\tt\tPRIMARY\t`id\n", b"2\t1\tfld"),
    (b"P\t1\ttest\tt\t" + b"9" * 200 + b"\tid\n", b"2\t1\tidxnum"),
    (b"P\t1\ttest\tt\tPRIMARY\t\xc3\n", b"2\t1\tfld"),
]


@pytest.mark.parametrize("blow, reply", BLOWS, ids=range(len(BLOWS)))
def test_one_line(target, blow, reply):
    with target.hs() as client:
        client.open(0, "test", "t", "id")
        client.send(blow)
        got = client.line()
        assert reply is None or got == reply
        assert client.request(0, "=", 1, 7) == ["0", "1", "7"]


@pytest.mark.parametrize(
    "schema, table",
    [
        ("mysql", "global_priv"),
        ("mysql", "user"),
        ("MYSQL", "user"),
        ("sys", "sys_config"),
        ("information_schema", "TABLES"),
        ("performance_schema", "threads"),
        ("mysql", "innodb_table_stats"),
        ("test", "view1"),
        ("test", "seq1"),
        ("test", "merge1"),
        ("test", "absent"),
        ("absent", "t"),
    ],
)
def test_what_may_not_be_opened(target, schema, table):
    target.execute(
        "CREATE OR REPLACE VIEW view1 AS SELECT * FROM t",
        "CREATE SEQUENCE IF NOT EXISTS seq1",
        "CREATE TABLE IF NOT EXISTS m1 (id INT PRIMARY KEY) ENGINE=MyISAM",
        "CREATE TABLE IF NOT EXISTS merge1 (id INT, KEY (id)) ENGINE=MERGE UNION=(m1)",
        database="test",
    )
    for client in (target.hs(), target.hs_wr()):
        with client:
            assert client.request("P", 0, schema, table, "", "id")[0] in ("1", "2")
            assert client.request(0, "=", 1, 1) == ["2", "1", "stmtnum"]


def test_an_index_that_is_opened_anew_after_finds_of_the_same_batch(target):
    """The client has its answers, and the index that it used is closed, before the batch ends. `make asan` detects
    later uses of it."""
    with target.hs() as client:
        for columns in ("id", "v", "n", "id,n"):
            client.open(0, "test", "t", columns)
            replies = client.pipeline(*[(0, "=", 1, 7)] * 3, ("P", 0, "test", "t", "p", columns))
            assert [reply[0] for reply in replies] == ["0"] * 4
        assert client.request(0, "=", 1, "vvv")[0] == "0"


def test_a_line_longer_than_the_limit(target):
    before = target.memory_kib()
    with target.hs(timeout=30) as client:
        client.send(b"0\t=\t1\t" + b"x" * (16 * 1024 * 1024 - 7) + b"\n")  # just below the limit
        assert client.line() == b"2\t1\tstmtnum"
        with contextlib.suppress(OSError):
            client.send(b"0\t=\t1\t" + b"x" * (17 * 1024 * 1024))
        with contextlib.suppress(ConnectionResetError, EOFError):
            assert client.line() == b"2\t1\tRequest is longer than the limit"
            assert client.closed_by_server()
    assert target.memory_kib() < before + 64 * MIB


def test_half_requests_and_disconnects_at_every_byte(target):
    session = b"P\t0\ttest\tt\tPRIMARY\tid,v\n0\t=\t1\t7\n0\t>=\t1\t1\t50\t0\tF\t=\t0\tx\n"
    before = target.descriptors()
    for cut in range(len(session)):
        client = target.hs()
        client.send(session[:cut])
        (reset if cut % 2 else hs.Client.close)(client)
    with target.hs() as client:
        for byte in session:
            client.send(bytes((byte,)))
        assert len(client.lines(3)) == 3
    until(lambda: target.descriptors() <= before + 2)


@pytest.mark.alone
def test_clients_that_do_not_read_cost_little_and_delay_nobody(target):
    before = target.memory_kib()
    sleepers = []
    for _ in range(20):
        client = target.hs()
        client.open(0, "test", "t", "id,v")
        client.socket.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            for _ in range(50):
                client.send(b"0\t>=\t1\t1\t1000000\n" * 200)
        sleepers.append(client)
    with target.hs() as client:
        client.open(0, "test", "t", "id")
        times = []
        for _ in range(200):
            begin = time.monotonic()
            assert client.request(0, "=", 1, 7) == ["0", "1", "7"]
            times.append(time.monotonic() - begin)
        assert sorted(times)[100] < 0.05
    assert target.memory_kib() < before + 128 * MIB
    for client in sleepers:
        reset(client)


def test_large_answers_to_small_requests_cost_little(target):
    size, finds = 120_000, 256
    target.execute(
        "CREATE TABLE large (id INT PRIMARY KEY, v MEDIUMTEXT)",
        f"INSERT INTO large VALUES (1, REPEAT('v', {size}))",
        database="test",
    )
    find = b"0\t=\t1\t1\n"
    row = b"0\t1\t" + b"v" * size + b"\n"
    # The index is reopened in the middle, and reopened again as another one: deferred finds must keep their meaning.
    requests = (
        find * 100 + b"P\t0\ttest\tlarge\tPRIMARY\tv\n" + find * 100 + b"P\t0\ttest\tlarge\tPRIMARY\tid\n" + find * 56
    )
    clients = [target.hs(timeout=60) for _ in range(40)]
    for client in clients:
        client.open(0, "test", "large", "v")
        assert len(client.request(0, "=", 1, 1)[2]) == size
    before = target.memory_kib()
    for client in clients:
        client.send(requests)
        assert client.socket.recv(10, socket.MSG_PEEK)
    with target.hs() as client:
        client.open(0, "test", "t", "id")
        for _ in range(300):
            assert client.request(0, "=", 1, 7) == ["0", "1", "7"]
            assert target.memory_kib() < before + 64 * MIB
    for client in clients:
        answers = (row * 100 + b"0\t1\n") * 2 + b"0\t1\t1\n" * 56
        assert b"".join(client.line() + b"\n" for _ in range(finds + 2)) == answers
        client.close()


def test_many_connections_and_storms(target):
    before = target.descriptors()
    clients = [target.hs() for _ in range(2000)]
    for client in clients[::50]:
        client.open(0, "test", "t", "id")
        assert client.request(0, "=", 1, 7) == ["0", "1", "7"]
    for client in clients:
        client.close()
    for number in range(2000):
        client = target.hs()
        client.send(b"nothing\n")
        if number % 3:
            client.line()
        (reset if number % 2 else hs.Client.close)(client)
    until(lambda: target.descriptors() <= before + 2, 20)


def test_too_many_open_indexes(target):
    with target.hs() as client:
        for number in range(1024):
            client.open(number, "test", "t", "id")
        assert client.request("P", 5000, "test", "t", "PRIMARY", "id") == [
            "2",
            "1",
            "Too many open indexes on this connection",
        ]
        client.open(3, "test", "t", "v")
        assert client.request(1023, "=", 1, 7) == ["0", "1", "7"]


def test_a_crashed_table(target):
    target.execute(
        "CREATE OR REPLACE TABLE c (id INT PRIMARY KEY) ENGINE=MyISAM",
        "INSERT INTO c VALUES (1)",
        "FLUSH TABLES c",
        database="test",
    )
    with open(f"{target.env['DATADIR']}/test/c.MYI", "r+b") as index:
        index.truncate(100)
    with target.hs() as client:
        assert client.request("P", 0, "test", "c", "PRIMARY", "id")[0] == "1"
    target.execute("DROP TABLE c", database="test")


def test_idle_and_full(sandbox_factory):
    server = sandbox_factory("--handlersocket-timeout=1", "--handlersocket-max-connections=5")
    clients = [server.hs() for _ in range(5)]
    for client in clients:
        assert client.request("nothing") == ["2", "1", "cmd"]
    with server.hs() as sixth:
        assert sixth.line() == b"1\t1\tToo many connections"
        assert sixth.closed_by_server()
    half = clients[0]
    half.send(b"0\t=")
    assert half.line() == b"2\t1\tRequest timed out"
    for client in clients:
        assert client.closed_by_server()


def test_random_sessions(target):
    chance = random.Random(seeds.chosen())
    good = [
        b"P",
        b"A",
        b"0",
        b"1",
        b"2",
        b"=",
        b">",
        b">=",
        b"<",
        b"<=",
        b"1",
        b"2",
        b"7",
        b"100",
        b"@",
        b"F",
        b"W",
        b"!=",
        b"fuzz",
        b"t",
        b"PRIMARY",
        b"n",
        b"p",
        b"id,v,n",
        b"id",
        b"v",
        b"\0",
        b"",
        b"abc",
        b"-1",
        b"99999999999",
        b"U",
        b"D",
        b"+",
        b"x" * 3000,
        b"3.5",
        b"\x01@",
        b"\x01",
        b"\xff\xfe",
        b"`id`",
        b"`",
        b"vvvv",
    ]
    # A table of their own: on the write port some of them delete and change rows.
    target.execute(
        "CREATE OR REPLACE DATABASE fuzz", "CREATE TABLE fuzz.t LIKE test.t", "INSERT INTO fuzz.t SELECT * FROM test.t"
    )
    before = target.memory_kib()
    end = time.monotonic() + FUZZ_SECONDS
    while time.monotonic() < end:
        with target.hs() if chance.random() < 0.5 else target.hs_wr() as client:
            data = b"P\t0\tfuzz\tt\tPRIMARY\tid,v,n\tn,v\nP\t1\tfuzz\tt\tn\tid\tv\nP\t2\tfuzz\tt\tp\tid,v\n"
            for _ in range(chance.randrange(200)):
                data += b"\t".join(chance.choice(good) for _ in range(chance.randrange(1, 14))) + b"\n"
            raw = bytearray(data)
            for _ in range(chance.randrange(20)):
                raw[chance.randrange(len(raw))] = chance.randrange(256)
            with contextlib.suppress(ConnectionError):
                client.socket.settimeout(20)
                client.send(bytes(raw))
                if chance.random() < 0.7:
                    for _ in range(bytes(raw).count(b"\n")):
                        client.line()
    target.assert_alive()
    assert target.memory_kib() < before + 64 * MIB
