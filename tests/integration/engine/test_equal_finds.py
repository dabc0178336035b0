"""Equal finds in one batch share one read; only the speed and the counters show it."""
import contextlib
import threading

import pytest
from support.waiting import until

FINDS = 200  # sent at once: about 100 of them are in one batch
ROUNDS = 60


@pytest.fixture(scope="module")
def own(module_factory):
    server = module_factory("--handlersocket-threads=1")
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20), KEY (v))",
        "INSERT INTO t SELECT seq, 0, CONCAT('w', seq) FROM seq_1_to_10",
        database="test",
    )
    return server


def counts(server):
    return {name.removeprefix("handlersocket_"): value for name, value in server.status("handlersocket%").items()}


def shared(server):
    return counts(server)["finds_shared"]


def test_they_see_every_commit(own):
    clients = [own.hs() for _ in range(3)]
    for number, client in enumerate(clients):
        client.open(number, "test", "t", "v,w")
    before = shared(own)
    with contextlib.closing(own.connect(database="test")) as connection:
        cursor = connection.cursor()
        for value in range(1, ROUNDS):
            cursor.execute("UPDATE t SET v = %s WHERE id <= 5", (value,))
            for number, client in enumerate(clients):
                keys = [(at + value) % 7 + 1 for at in range(FINDS)]
                found = client.pipeline(*((number, "=", 1, key) for key in keys))
                assert found == [["0", "2", str(value if key <= 5 else 0), f"w{key}"] for key in keys]
    for client in clients:
        client.close()
    assert shared(own) - before > FINDS


def test_they_never_go_back_in_time(own):
    own.execute("UPDATE t SET v = 0", database="test")
    stop, committed = threading.Event(), [0]

    def count_up():
        with contextlib.closing(own.connect(database="test")) as connection:
            cursor = connection.cursor()
            while not stop.is_set():
                cursor.execute("UPDATE t SET v = v + 1")
                committed[0] += 1

    thread = threading.Thread(target=count_up)
    thread.start()
    try:
        with own.hs() as client:
            client.open(0, "test", "t", "v")
            seen = 0
            for _ in range(ROUNDS):
                least = max(seen, committed[0])
                values = [int(reply[2]) for reply in client.pipeline(*((0, "=", 1, at % 3 + 1) for at in range(FINDS)))]
                assert values == sorted(values) and values[0] >= least
                seen = values[-1]
    finally:
        stop.set()
        thread.join()


def test_counters_show_sent_rows_and_read_rows(own):
    with own.hs() as client:
        client.open(0, "test", "t", "w")
        client.open(1, "test", "t", "id", index="v")
        for request, rows in ((0, "=", 1, 3), 1), ((0, "=", 1, 99), 0), ((1, "=", 1, 12345, 100), 10):
            own.execute("UPDATE t SET v = 12345", database="test")
            before = counts(own)
            replies = client.pipeline(*[request] * FINDS)
            assert all(reply == replies[0] and len(reply) == 2 + rows for reply in replies)
            until(lambda: counts(own)["requests_find"] == before["requests_find"] + FINDS)
            after = counts(own)
            assert after["rows_sent"] - before["rows_sent"] == FINDS * rows
            assert after["finds_shared"] > before["finds_shared"]
            assert after["rows_examined"] - before["rows_examined"] < FINDS * max(rows, 1)


@pytest.mark.parametrize(
    "kind, definition",
    [
        ("another engine", "(id INT PRIMARY KEY, r DOUBLE) ENGINE=MyISAM"),
        ("a column that differs each time", "(id INT PRIMARY KEY, r DOUBLE AS (RAND()) VIRTUAL) ENGINE=InnoDB"),
    ],
)
def test_what_may_differ_is_read_each_time(own, kind, definition):
    own.execute(
        "DROP TABLE IF EXISTS other",
        f"CREATE TABLE other {definition}",
        "INSERT INTO other (id) VALUES (1)",
        database="test",
    )
    before = shared(own)
    with own.hs() as client:
        client.open(0, "test", "other", "r")
        replies = client.pipeline(*[(0, "=", 1, 1)] * FINDS)
    assert shared(own) == before
    if "RAND" in definition:
        assert len({reply[2] for reply in replies}) > FINDS / 2


def test_reopening_an_index_changes_what_equal_requests_mean(own):
    own.execute("CREATE TABLE same LIKE t", "INSERT INTO same SELECT id, v, 'other' FROM t", database="test")
    with own.hs() as client:
        requests, expected = [], []
        for table, columns, values in (
            ("t", "id", ["4"]),
            ("t", "w", ["w4"]),
            ("same", "w", ["other"]),
            ("t", "w", ["w4"]),
        ):
            requests += [("P", 0, "test", table, "PRIMARY", columns)] + [(0, "=", 1, 4)] * FINDS
            expected += [["0", "1"]] + [["0", "1", *values]] * FINDS
        assert client.pipeline(*requests) == expected
