"""A read sees all earlier commits and no uncommitted change, and all reads of a batch see the same snapshot."""
import contextlib
import random
import threading

ROUNDS = 300


def test_committed_rows_are_seen(server, database):
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 0)", database=database)
    clients = [server.hs() if number % 2 else server.hs_wr() for number in range(8)]
    for client in clients:
        client.open(0, database, "t", "v")
    with contextlib.closing(server.connect(database=database)) as connection:
        cursor = connection.cursor()
        for value in range(1, ROUNDS):
            cursor.execute("UPDATE t SET v = %s", (value,))
            for client in random.sample(clients, 3):
                assert client.request(0, "=", 1, 1) == ["0", "1", str(value)]
        cursor.execute("BEGIN")
        cursor.execute("UPDATE t SET v = -1")
        cursor.execute("INSERT INTO t VALUES (2, 2)")
        for client in clients:  # clients neither see it nor wait for its row locks
            assert client.request(0, "=", 1, 1) == ["0", "1", str(ROUNDS - 1)]
            assert client.request(0, "=", 1, 2) == ["0", "1"]
        cursor.execute("ROLLBACK")
    for client in clients:
        client.close()


def test_a_batch_sees_one_view(server, database):
    server.execute(
        "CREATE TABLE a (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE b (id INT PRIMARY KEY, v INT)",
        "INSERT INTO a VALUES (1, 1000)",
        "INSERT INTO b VALUES (1, 0)",
        database=database,
    )
    stop = threading.Event()

    def transfer():
        with contextlib.closing(server.connect(database=database)) as connection:
            cursor = connection.cursor()
            while not stop.is_set():
                amount = random.randrange(-10, 10)
                for statement in (
                    "BEGIN",
                    f"UPDATE a SET v = v - {amount}",
                    f"UPDATE b SET v = v + {amount}",
                    "COMMIT",
                ):
                    cursor.execute(statement)

    thread = threading.Thread(target=transfer)
    thread.start()
    try:
        with server.hs() as client:
            client.open(0, database, "a", "v")
            client.open(1, database, "b", "v")
            for _ in range(2000):
                one, two = client.pipeline((0, "=", 1, 1), (1, "=", 1, 1))
                assert int(one[2]) + int(two[2]) == 1000
    finally:
        stop.set()
        thread.join()
