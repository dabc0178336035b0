"""The server's memory does not grow with writes, nor with refused ones.

The storage engine needs about 200,000 writes to touch all of its buffers, so three rounds, the default, only detect a
leak of 200 bytes for each write; with POSTERN_ROUNDS=9 the second half must be flat.
"""
import os

import pytest

ROUNDS = int(os.environ.get("POSTERN_ROUNDS", "3"))
OPS_PER_ROUND = 68_000  # about a third for each kind of write
BATCH = 200
BUFFERS_KIB_MAX = 40 * 1024
GROWTH_KIB_MAX = 2048


def line(*tokens):
    return b"\t".join(str(token).encode() for token in tokens) + b"\n"


def push(client, requests):
    """Sends all requests at once; returns the number of refusals."""
    client.send(b"".join(requests))
    return sum(not reply.startswith(b"0\t") for reply in client.lines(len(requests)))


def churn(client, index, ops):
    """Inserts, changes and deletes the same few rows repeatedly; a tenth of the inserts is refused."""
    refused = 0
    for begin in range(0, ops, BATCH * 3):
        refused += push(client, [line(index, "+", 3, key, f"value {begin}", 1) for key in range(BATCH)])
        refused += push(
            client,
            [line(index, "+", 3, key, "again" if key % 2 else "far too long" * 10, 1) for key in range(BATCH // 10)],
        )
        push(client, [line(index + 1, "=", 1, key, 1, 0, "+", key) for key in range(BATCH)])
        push(client, [line(index, "=", 1, key, 1, 0, "D") for key in range(BATCH)])
    return refused


@pytest.mark.parametrize("kind", ["plain", "triggers"])
def test_memory_stays_flat_over_writes(sandbox_factory, kind):
    server = sandbox_factory(
        "--log-bin=bin",
        "--server-id=1",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=8M",
        "--innodb-log-buffer-size=2M",
        "--innodb-adaptive-hash-index=OFF",
    )
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40), n INT)", database="test")
    share = 1.0
    if kind == "triggers":
        share = 0.12  # each has a transaction of its own
        server.execute(
            "CREATE TABLE log (id INT PRIMARY KEY, v VARCHAR(200))",
            "CREATE TRIGGER b_i BEFORE INSERT ON t FOR EACH ROW IF NEW.v = 'again' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF",
            "CREATE TRIGGER a_u AFTER UPDATE ON t FOR EACH ROW REPLACE INTO log VALUES (NEW.id, CONCAT(OLD.v, NEW.v))",
            "CREATE TRIGGER a_d AFTER DELETE ON t FOR EACH ROW DELETE FROM log WHERE id = OLD.id",
            database="test",
        )
    sizes = []
    with server.hs_wr(timeout=60) as client:
        client.open(0, "test", "t", "id,v,n")
        client.open(1, "test", "t", "n")
        churn(client, 0, int(60_000 * share))
        for _ in range(ROUNDS):
            sizes.append(server.memory_kib("VmHWM"))
            assert churn(client, 0, int(OPS_PER_ROUND * share)) > 1000 * share
        sizes.append(server.memory_kib("VmHWM"))
    print(f"{kind}: resident KiB after each round {sizes}")
    assert sizes[-1] - sizes[0] < BUFFERS_KIB_MAX, sizes
    if ROUNDS >= 8:
        assert sizes[-1] - sizes[ROUNDS // 2] < GROWTH_KIB_MAX, sizes


def test_memory_stays_flat_over_the_rows_of_one_edit(sandbox_factory):
    server = sandbox_factory(
        "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M", "--innodb-adaptive-hash-index=OFF"
    )
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40), n INT)",
        "INSERT INTO t SELECT seq, 'v', 0 FROM seq_1_to_100000",
        "CREATE TRIGGER b_u BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = 'w'",
        database="test",
    )
    with server.hs_wr(timeout=120) as client:
        client.open(0, "test", "t", "n")
        assert client.request(0, "<=", 1, 1000, 1000, 0, "+", 1) == ["0", "1", "1000"]
        before = server.memory_kib("VmHWM")
        assert client.request(0, ">=", 1, 1, 1_000_000, 0, "+", 1) == ["0", "1", "100000"]
        grown = server.memory_kib("VmHWM") - before
    print(f"an edit of 100,000 rows: {grown} KiB more")
    assert grown < 32 * 1024
