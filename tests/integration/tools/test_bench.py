"""The benchmark's load generator against real servers: it counts right answers, and detects wrong ones."""
import json
import subprocess

import pytest

from support.clients.mc import map_table
from support.server import BUILD, ROOT

ROWS = 1000


@pytest.fixture(scope="module")
def tables(server):
    columns = "(user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50), user_email VARCHAR(255), created DATETIME)"
    rows = "SELECT seq, CONCAT('name', seq), CONCAT('user', seq, '@example.org'), '2010-02-03 11:22:33'"
    server.execute(
        *(f"CREATE TABLE {name} {columns}" for name in ("user", "written", "fresh")),
        *(f"INSERT INTO {name} {rows} FROM seq_1_to_{ROWS}" for name in ("user", "written")),
        "CREATE TABLE counter (id INT UNSIGNED PRIMARY KEY, hits BIGINT UNSIGNED NOT NULL)",
        f"INSERT INTO counter SELECT seq, 0 FROM seq_1_to_{ROWS}",
        database="test",
    )
    server.execute(
        "CREATE TABLE value_24 (user_id INT UNSIGNED PRIMARY KEY, value VARBINARY(24))",
        f"INSERT INTO value_24 SELECT seq, LEFT(REPEAT(LPAD(seq, 10, '0'), 3), 24) FROM seq_1_to_{ROWS}",
        "CREATE TABLE value_300000 (user_id INT UNSIGNED PRIMARY KEY, value MEDIUMBLOB)",
        f"INSERT INTO value_300000 SELECT seq, REPEAT(LPAD(seq, 10, '0'), 30000) FROM seq_1_to_100",
        "CREATE TABLE wide (user_id INT UNSIGNED PRIMARY KEY, c1 VARCHAR(20), c2 VARCHAR(20), c3 VARCHAR(20))",
        "INSERT INTO wide SELECT seq, CONCAT('1.', seq), CONCAT('2.', seq), CONCAT('3.', seq) " f"FROM seq_1_to_{ROWS}",
        database="test",
    )
    yield server
    server.execute("DROP TABLE user, written, fresh, counter, value_24, value_300000, wide", database="test")


def load(server, protocol, mix, *more):
    port = server.env[{"handlersocket": "HS_PORT", "memcached-container": "MEMC_PORT"}.get(protocol, "SQL_PORT")]
    command = [
        BUILD / "bench/load",
        "--protocol",
        protocol,
        "--port",
        port,
        "--mix",
        mix,
        "--clients",
        "3",
        "--max",
        ROWS,
        "--server-pid",
        server.env["PID"],
        *more,
    ]
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


@pytest.mark.parametrize("depth", [1, 20])
def test_a_request_is_overtaken_by_other_clients_alone(tables, depth):
    alone = load(tables, "sql-text", "find=100", "--clients", 1, "--depth", depth, *MOMENT)
    assert alone["overtaken_p50"] == alone["overtaken_max"] == 0
    beside = load(tables, "sql-text", "find=100", "--clients", 8, "--depth", depth, *MOMENT)
    assert 0 < beside["overtaken_p50"] <= beside["overtaken_p99"] <= beside["overtaken_max"]


@pytest.mark.parametrize("protocol", ["handlersocket", "sql-text", "sql-prepared"])
@pytest.mark.parametrize("depth", [1, 20])
def test_reads_are_right(tables, protocol, depth):
    for mix, keys in (("find=100", "zipfian"), ("multi=50,scan=50", "uniform")):
        result = load(tables, protocol, mix, "--depth", depth, "--keys", keys, *MOMENT)
        assert result["wrong"] == result["refused"] == 0, result
        assert result["answers"] > 100 and result["server_cpu_us"] > 0


@pytest.mark.parametrize("protocol", ["handlersocket", "sql-text", "sql-prepared"])
def test_other_tables_are_read(tables, protocol):
    for table, rows in (("value_24", ROWS), ("value_300000", 100), ("wide_1", ROWS), ("wide_3", ROWS)):
        result = load(tables, protocol, "find=100", "--table", table, "--max", rows, "--depth", 3, *MOMENT)
        assert result["wrong"] == result["refused"] == 0, (table, result)
        assert result["answers"] > 10, (table, result)


@pytest.mark.parametrize("protocol", ["handlersocket", "sql-prepared"])
@pytest.mark.parametrize("idle_as", ["connected", "opened", "used"])
def test_silent_connections_stay_beside(tables, protocol, idle_as):
    result = load(tables, protocol, "find=100", "--idle", 50, "--idle-as", idle_as, *MOMENT)
    assert result["wrong"] == result["refused"] == 0 and result["answers"] > 100, result
    assert result["idle_server_bytes"] < 1_000_000


def test_the_memcached_door_is_measured(tables):
    with open(ROOT / "sql/innodb_memcache.sql", encoding="utf-8") as script:
        subprocess.run([ROOT / "tools/sandbox", "sql", tables.dir], stdin=script, timeout=60, check=True)
    columns = {
        "user": "user_name,user_email,created",
        "written": "user_name,user_email,created",
        "fresh": "user_name,user_email,created",
        "value_24": "value",
        "counter": "hits",
    }
    tables.execute("TRUNCATE TABLE fresh", "UPDATE counter SET hits = 0", database="test")
    for name, values in columns.items():
        map_table(tables, name, "test", name, "id" if name == "counter" else "user_id", values)
    for table in ("user", "value_24"):
        result = load(tables, "memcached-container", "find=50,multi=50", "--table", table, "--multi", 5, *MOMENT)
        assert result["wrong"] == result["refused"] == 0 and result["answers"] > 10, result
    for mix in ("insert=100", "increment=100"):
        result = load(tables, "memcached-container", mix, "--count", "300")
        assert result["acknowledged"] == {mix.partition("=")[0]: 300}, result
    result = load(
        tables,
        "memcached-container",
        "find=50,update=50",
        "--table",
        "written",
        "--keys",
        "sequential",
        "--count",
        "300",
    )
    assert result["wrong"] == result["refused"] == 0, result
    assert tables.query("SELECT COUNT(*) FROM test.fresh") == [(300,)]
    assert tables.query("SELECT SUM(hits) FROM test.counter") == [(300,)]


@pytest.mark.parametrize("profile", ["--grow", "--settings", "--article-2012"])
def test_every_profile_has_rows(profile):
    listed = subprocess.run(
        [ROOT / "bench/run", profile, "--only", "*", "--list"], capture_output=True, text=True, timeout=60, check=True
    )
    assert len([line for line in listed.stdout.splitlines() if line.split()[1] == profile[2:]]) > 5


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
def test_acknowledged_writes_are_written(tables, protocol):
    tables.execute("TRUNCATE TABLE fresh", "UPDATE counter SET hits = 0", database="test")
    for mix in ("insert=100", "increment=100", "update=100"):
        result = load(tables, protocol, mix, "--count", "300")
        assert result["acknowledged"] == {mix.partition("=")[0]: 300}, result
    assert tables.query("SELECT COUNT(*) FROM test.fresh") == [(300,)]
    assert tables.query("SELECT SUM(hits) FROM test.counter") == [(300,)]
    assert tables.query("SELECT COUNT(*) > 0 FROM test.written WHERE user_name RLIKE '[.]'") == [(1,)]


def measured(speed):
    sample = {
        "rows_per_second": speed,
        "server_cpu_us": 1.5,
        "server_cpu_percent": 99,
        "client_cpu_percent": 50,
        "others_cpu_percent": 0,
        "p50_us": 1,
        "p99_us": 2,
        "p999_us": 3,
    }
    return sample | {
        "best": speed,
        "median": speed,
        "least": speed,
        "spread_percent": 0,
        "client_bound": False,
        "samples": [sample],
    }


def test_measurements_become_tables_and_pictures(tmp_path):
    row = {
        "title": "find",
        "mix": "find=100",
        "clients": 50,
        "depth": 1,
        "keys": "uniform",
        "rows_per_operation": 1,
        "idle_server_bytes": {"ours": 392},
    }
    rows = [
        row
        | {
            "name": f"grow-{idle}",
            "idle": idle,
            "peers": {"ours": measured(speed), "original": {"failure": "x"}},
            "point": {"picture": "growth", "along": "silent connections", "at": str(idle), "variant": ""},
        }
        for idle, speed in ((0, 1000), (500, 900))
    ]
    quick = {"p50_us": 1, "p99_us": 2, "p999_us": 3, "refused": 0, "unanswered": 0, "wrong": 0, "error": ""}
    felt = [
        {
            "load": "find",
            "title": "find",
            "case": "scan",
            "case_title": "a scan",
            "peer": peer,
            "rate": 100,
            "result": quick | {"max_us": most},
            "disturbances": 1,
            "disturbances_failed": 0,
            "first_failure": "",
            "longest_disturbance_seconds": 0,
        }
        for peer, most in (("ours", 25_000), ("sql-prepared", 5_000))
    ]
    results = {
        "profile": "grow",
        "rows": rows,
        "disturbed": felt,
        "versions": {},
        "rounds": 1,
        "seconds": 1,
        "machine": {
            "processor": "",
            "cores": 2,
            "kernel": "",
            "distribution": "",
            "load_average_before": 0,
            "flushes_per_second": 1,
        },
        "build": {"commit": "", "changed": False, "type": "", "flags": ""},
    }
    (tmp_path / "in.json").write_text(json.dumps(results))
    drawn = subprocess.run(
        [ROOT / "bench/run", "--draw", tmp_path / "in.json", "--out", tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "900 (0.90) 392 B" in drawn.stdout and "20 ms" in drawn.stdout
    if "No pictures" not in drawn.stdout:
        assert {path.name for path in tmp_path.glob("*.svg")} >= {"growth.svg", "disturb.svg"}
