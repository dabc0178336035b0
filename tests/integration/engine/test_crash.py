"""SIGKILL under write load: acknowledged writes survive, and every write is applied whole or not at all.

POSTERN_ROUNDS: the number of kills, 3 by default.
"""
import os
import random

import pytest
from support.load import Load

ROUNDS = int(os.environ.get("POSTERN_ROUNDS", "3"))
DURABLE = ("--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--handlersocket-threads-wr=2")
EXTRA = (
    "CREATE TABLE log (no BIGINT AUTO_INCREMENT PRIMARY KEY, client INT, id INT, n INT)",
    # Every change of b adds a row to another table, in the same transaction.
    "CREATE TRIGGER b_i AFTER INSERT ON b FOR EACH ROW INSERT INTO log (client, id, n) VALUES (NEW.client, NEW.id, NEW.n)",
    "CREATE TRIGGER b_u AFTER UPDATE ON b FOR EACH ROW INSERT INTO log (client, id, n) VALUES (NEW.client, NEW.id, NEW.n - OLD.n)",
    "CREATE TRIGGER b_d AFTER DELETE ON b FOR EACH ROW INSERT INTO log (client, id, n) VALUES (OLD.client, OLD.id, -OLD.n)",
)


def check_log(server, database):
    """The rows that the triggers added sum up to the values in b."""
    assert server.query(
        "SELECT client, id, SUM(n) FROM log GROUP BY client, id HAVING SUM(n) <> 0 ORDER BY 1, 2", database=database
    ) == server.query("SELECT client, id, n FROM b WHERE n <> 0 ORDER BY 1, 2", database=database)
    assert server.query("CHECK TABLE log EXTENDED", database=database)[-1][3] == "OK"


@pytest.mark.parametrize("binlog", [True, False], ids=["with binary log", "without"])
def test_a_killed_server_keeps_acknowledged_writes(sandbox_factory, binlog):
    server = sandbox_factory(*DURABLE, *(("--log-bin=bin", "--server-id=1") if binlog else ()))
    for number in range(ROUNDS):
        seed = random.randrange(1 << 30)
        print(f"round {number}: seed {seed}")
        database = f"round{number}"
        server.execute(f"CREATE DATABASE {database}")
        triggers = number % 2 == 1
        load = Load(server, clients=8, database=database, seed=seed, many=0.02)
        if triggers:
            server.execute(*EXTRA, database=database)
        with load:
            load.wait_for(random.Random(seed).randrange(200, 3000))
            server.kill()
        server.start()
        load.check(server, lost=True)
        if triggers:
            check_log(server, database)
        assert not load.errors, load.errors
        assert any(client.lost for client in load.clients)


def test_shutdown_under_load_loses_nothing(sandbox_factory):
    server = sandbox_factory("--handlersocket-threads-wr=2")
    for number in range(ROUNDS):
        database = f"round{number}"
        server.execute(f"CREATE DATABASE {database}")
        with Load(server, clients=8, database=database, seed=number, many=0.02) as load:
            load.wait_for(500)
            server.stop()
        server.start()
        load.check(server, lost=True)
        assert all(b"shut" in line or b"interrupted" in line for line in load.errors), load.errors


def test_install_and_uninstall_under_load_lose_nothing(sandbox_factory):
    server = sandbox_factory("--handlersocket-threads-wr=2")
    for number in range(ROUNDS):
        database = f"round{number}"
        server.execute(f"CREATE DATABASE {database}")
        with Load(server, clients=8, database=database, seed=number, many=0.02) as load:
            load.wait_for(500)
            server.execute("UNINSTALL SONAME 'postern'")
            load.check_ended()
        server.execute("INSTALL SONAME 'postern'")
        load.check(server, lost=True)
        assert all(b"shut" in line or b"interrupted" in line for line in load.errors), load.errors
