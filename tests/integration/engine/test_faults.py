"""Storage engine calls that fail, before or after they changed the row: the door's answers agree with the table, the
binary log and a replica. The library loaded here makes calls fail as rows request (in the column `fault`,
src/engine/mariadb/tables/testing)."""
import random
import threading

import pytest
from support.faults.faults import CODES, UNDONE, faulty_and_follower
from support.replica import catch_up, same
from support.server import name_of

TABLES = {
    "plain": "CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20), fault VARCHAR(40), UNIQUE (v))",
    "counted": "CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), fault VARCHAR(40))",
    "parts": "CREATE TABLE parts (id INT PRIMARY KEY, v VARCHAR(20), fault VARCHAR(40)) PARTITION BY HASH (id) PARTITIONS 3",
    "fired": "CREATE TABLE fired (id INT PRIMARY KEY, v VARCHAR(20), fault VARCHAR(40))",
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    options = ("--handlersocket-threads-wr=2", "--innodb-lock-wait-timeout=1")
    with faulty_and_follower(tmp_path_factory.mktemp("faults"), *options) as pair:
        yield pair


@pytest.fixture
def database(servers, request):
    name = f"t{name_of(request)}"
    servers[0].execute(
        f"CREATE DATABASE {name}",
        f"USE {name}",
        *TABLES.values(),
        "CREATE TABLE fires (id INT, what VARCHAR(20))",
        "CREATE TRIGGER fired_i AFTER INSERT ON fired FOR EACH ROW INSERT INTO fires VALUES (NEW.id, 'insert')",
        "CREATE TRIGGER fired_u AFTER UPDATE ON fired FOR EACH ROW INSERT INTO fires VALUES (NEW.id, 'update')",
    )
    yield name
    servers[0].execute(f"DROP DATABASE {name}")


class Owner:
    """A client with rows of its own in all tables, and their expected values according to its answers."""

    def __init__(self, server, database, number, seed):
        self.server, self.database, self.number = server, database, number
        self.chance = random.Random(f"{seed} {number}")
        self.rows = {table: {} for table in TABLES}
        self.serial = 0
        self.problem = None
        self.told = {True: 0, False: 0}

    def fault(self):
        """A fault or none; whether an op with it can succeed, and whether it can fail."""
        if self.chance.random() < 0.6:
            return None
        code = self.chance.choice(CODES)
        when = "before" if code in UNDONE else self.chance.choice(["before", "after"])
        self.serial += 1
        once = "once " if self.chance.random() < 0.4 else ""
        return f"{once}{when} {code} {self.number}.{self.serial}"

    def run(self):
        try:
            with self.server.hs_wr(timeout=120) as one:
                for at, table in enumerate(TABLES):
                    one.open(at, self.database, table, "id,v,fault")
                for _ in range(25):
                    requests = [self.request() for _ in range(self.chance.randint(1, 12))]
                    one.send(b"".join(text for text, *_ in requests))
                    for _, *op in requests:
                        self.hear(one.line(), *op)
        except BaseException as problem:  # pylint: disable=broad-except
            self.problem = problem

    def request(self):
        table = self.chance.choice(list(TABLES))
        at = list(TABLES).index(table)
        key = self.number * 1000 + self.chance.randint(1, 12)
        fault = self.fault()
        value = f"{key} {self.chance.randint(1, 10**6)}"
        shown = b"\0" if fault is None else fault.encode()
        kind = self.chance.choice(["insert", "insert", "upsert", "update", "move", "delete"])
        if kind == "insert":
            return b"%d\t+\t3\t%d\t%b\t%b\n" % (at, key, value.encode(), shown), kind, table, key, key, value, fault
        if kind == "upsert":
            return b"%d\tU\t3\t%d\t%b\t%b\n" % (at, key, value.encode(), shown), kind, table, key, key, value, fault
        if kind == "delete":
            return b"%d\t=\t1\t%d\t1\t0\tD\n" % (at, key), kind, table, key, key, value, fault
        to = key if kind == "update" else self.number * 1000 + self.chance.randint(1, 12)
        return (
            b"%d\t=\t1\t%d\t1\t0\tU\t%d\t%b\t%b\n" % (at, key, to, value.encode(), shown),
            kind,
            table,
            key,
            to,
            value,
            fault,
        )

    def hear(self, line, kind, table, key, to, value, fault):
        """Notes the row that an answer implies; the end of the test shows whether the answer was true."""
        rows = self.rows[table]
        done = line.startswith(b"0\t")
        self.told[done] += 1
        if kind == "insert":
            if key in rows:
                assert not done, line
            elif fault is None:
                assert done, line
            if done:
                rows[key] = (value, fault)
        elif kind == "upsert":
            if done:
                rows[key] = (value, fault)
        elif kind == "delete":
            if done:
                assert line == (b"0\t1\t1" if key in rows else b"0\t1\t0"), line
                rows.pop(key, None)
        elif done:
            assert line == (b"0\t1\t1" if key in rows else b"0\t1\t0"), line
            if key in rows:
                del rows[key]
                assert to not in rows
                rows[to] = (value, fault)


@pytest.mark.parametrize("seed", range(3))
def test_answers_agree_with_the_table_the_log_and_the_replica(servers, database, seed):
    primary, replica = servers
    lost = primary.status("handlersocket_transactions_lost")["handlersocket_transactions_lost"]
    owners = [Owner(primary, database, number, seed) for number in range(8)]
    threads = [threading.Thread(target=owner.run, daemon=True) for owner in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a client hangs"
    for owner in owners:
        if owner.problem is not None:
            raise owner.problem
    assert all(sum(owner.told[how] for owner in owners) > 100 for how in (True, False))
    for table in TABLES:
        told = {key: row for owner in owners for key, row in owner.rows[table].items()}
        there = {
            key: (value, fault)
            for key, value, fault in primary.query(f"SELECT id, v, fault FROM {table}", database=database)
        }
        assert there == told, table
    assert primary.status("handlersocket_transactions_lost")["handlersocket_transactions_lost"] > lost + 20
    catch_up(primary, replica)
    same(primary, replica, database)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("table", TABLES)
def test_every_code_ends_its_own_op_and_no_other(servers, database, table, when):
    primary, replica = servers
    codes = [code for code in CODES if when == "before" or code not in UNDONE]
    with primary.hs_wr(timeout=120) as faulty, primary.hs_wr(timeout=120) as neighbour:
        for one in (faulty, neighbour):
            one.open(0, database, table, "id,v,fault")
        for at in range(0, len(codes), 20):
            some = codes[at : at + 20]
            faulty.send(b"".join(b"0\t+\t3\t%d\tv%d\t%b %d\n" % (code, code, when.encode(), code) for code in some))
            neighbour.send(b"".join(b"0\t+\t3\t%d\tw%d\t\0\n" % (1000 + code, code) for code in some))
            for code in some:
                line = faulty.line()
                assert line.startswith((b"1\t", b"2\t")), (code, line)
            assert all(line.startswith(b"0\t1") for line in neighbour.lines(len(some)))
    rows = [row[0] for row in primary.query(f"SELECT id FROM {table} ORDER BY id", database=database)]
    assert rows == [1000 + code for code in codes]
    catch_up(primary, replica)
    same_rows = replica.query(f"SELECT id FROM {table} ORDER BY id", database=database)
    assert [row[0] for row in same_rows] == rows


def test_a_wait_for_the_row_is_not_taken_for_one_of_the_call_that_failed(servers, database):
    """A change waited for a lock, got it, and then fails with a code that ends waits: the row was changed all the same,
    so the rest of its run must not be committed with it."""
    primary, replica = servers
    primary.execute(
        "CREATE TABLE met (id INT PRIMARY KEY, v VARCHAR(20), fault VARCHAR(40))",
        "INSERT INTO met SELECT seq, NULL, NULL FROM seq_1_to_4000",
        database=database,
    )
    waits = primary.status("handlersocket_row_lock_waits")["handlersocket_row_lock_waits"]
    start, problems = threading.Barrier(2), []

    def change(kind):
        """Both clients change the same row at once; the rest of the run is the client's own."""
        own = 2001 if kind == "good" else 3001
        fault = b"\0" if kind == "good" else b"after 188"  # HA_ERR_ABORTED_BY_USER
        try:
            with primary.hs_wr(timeout=60) as one:
                one.open(0, database, "met", "v,fault")
                for key in range(1, 301):
                    start.wait(60)
                    one.send(
                        b"0\t=\t1\t%d\t1\t0\tU\t%b\t%b\n" % (key, kind.encode(), fault)
                        + b"0\t=\t1\t%d\t1\t0\tU\t%b\t\0\n" % (own + key, b"own")
                    )
                    met, mine = one.lines(2)
                    assert mine == b"0\t1\t1" and met.startswith(b"0\t1\t1" if kind == "good" else b"1\t"), (met, mine)
        except BaseException as problem:  # pylint: disable=broad-except
            problems.append(problem)
            start.abort()

    threads = [threading.Thread(target=change, args=(kind,)) for kind in ("good", "faulty")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert problems == []
    assert primary.query("SELECT id FROM met WHERE v = 'faulty'", database=database) == []
    assert primary.query("SELECT v, COUNT(*) FROM met GROUP BY v HAVING v <> ''", database=database) == [
        ("good", 300),
        ("own", 600),
    ]
    assert primary.status("handlersocket_row_lock_waits")["handlersocket_row_lock_waits"] > waits + 5
    catch_up(primary, replica)
    ours, theirs = (server.query("SELECT * FROM met ORDER BY id", database=database) for server in servers)
    assert theirs == ours
