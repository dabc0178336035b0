"""The benchmark's load generator against real servers: it counts what is right, and sees what is not."""
import json
import subprocess

import pytest

from support.server import ROOT

ROWS = 1000


@pytest.fixture(scope="module")
def tables(server):
    columns = "(user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50), user_email VARCHAR(255), created DATETIME)"
    rows = "SELECT seq, CONCAT('name', seq), CONCAT('user', seq, '@example.org'), '2010-02-03 11:22:33'"
    server.execute(*(f"CREATE TABLE {name} {columns}" for name in ("user", "written", "fresh")),
                   *(f"INSERT INTO {name} {rows} FROM seq_1_to_{ROWS}" for name in ("user", "written")),
                   "CREATE TABLE counter (id INT UNSIGNED PRIMARY KEY, hits BIGINT UNSIGNED NOT NULL)",
                   f"INSERT INTO counter SELECT seq, 0 FROM seq_1_to_{ROWS}", database="test")
    yield server
    server.execute("DROP TABLE user, written, fresh, counter", database="test")


def load(server, protocol, mix, *more):
    port = server.env["HS_PORT" if protocol == "handlersocket" else "SQL_PORT"]
    command = [ROOT / "build/bench/load", "--protocol", protocol, "--port", port, "--mix", mix, "--clients", "3",
               "--max", ROWS, "--server-pid", server.env["PID"], *more]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60, check=False)
    result = json.loads(done.stdout)
    assert result["error"] == "" and result["unanswered"] == 0
    assert (done.returncode == 0) == (result["wrong"] == result["refused"] == 0)
    return result


def test_every_row_has_a_name_of_its_own():
    listed = subprocess.run([ROOT / "bench/run", "--list"], capture_output=True, text=True, timeout=60, check=True)
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert len(names) > 40 and len(set(names)) == len(names)


MOMENT = ("--seconds", "0.2", "--warm-up", "0")


@pytest.mark.parametrize("protocol", ["handlersocket", "sql-text", "sql-prepared"])
@pytest.mark.parametrize("depth", [1, 20])
def test_reads_are_right(tables, protocol, depth):
    for mix, keys in (("find=100", "zipfian"), ("multi=50,scan=50", "uniform")):
        result = load(tables, protocol, mix, "--depth", depth, "--keys", keys, *MOMENT)
        assert result["wrong"] == result["refused"] == 0, result
        assert result["answers"] > 100 and result["server_cpu_us"] > 0


def test_a_fixed_rate_is_kept(tables):
    result = load(tables, "handlersocket", "find=100", "--rate", "1000", "--seconds", "0.5", "--warm-up", "0.1")
    assert result["wrong"] == result["refused"] == 0
    assert 499 <= result["answers"] <= 501


def test_a_wrong_row_is_seen(tables):
    tables.execute("UPDATE user SET user_email = 'user2@example.org' WHERE user_id = 1", database="test")
    try:
        for protocol in ("handlersocket", "sql-text", "sql-prepared"):
            result = load(tables, protocol, "scan=100", "--scan", ROWS, "--count", "5")
            assert result["wrong"] == 5 and result["first_wrong"]
    finally:
        tables.execute("UPDATE user SET user_email = 'user1@example.org' WHERE user_id = 1", database="test")


@pytest.mark.parametrize("protocol", ["sql-text", "sql-prepared"])
def test_what_is_acknowledged_is_written(tables, protocol):
    tables.execute("TRUNCATE TABLE fresh", "UPDATE counter SET hits = 0", database="test")
    for mix in ("insert=100", "increment=100", "update=100"):
        result = load(tables, protocol, mix, "--count", "300")
        assert result["acknowledged"] == {mix.partition("=")[0]: 300}, result
    assert tables.query("SELECT COUNT(*) FROM test.fresh") == [(300,)]
    assert tables.query("SELECT SUM(hits) FROM test.counter") == [(300,)]
    assert tables.query("SELECT COUNT(*) > 0 FROM test.written WHERE user_name RLIKE '[.]'") == [(1,)]
