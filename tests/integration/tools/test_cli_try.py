"""postern explain and postern try: one statement, and an application's own, at the port and at the SQL door."""
import json

import pytest
from support import cli
from support.clients import sql_wire
from support.server import ROOT


APPLICATION = """import os, pymysql
sql = pymysql.connect(host="127.0.0.1", port=int(os.environ["MYSQL_TCP_PORT"]), user="app", password="app", autocommit=True)
with sql.cursor() as cursor:
    for number in range(1, 1001):
        cursor.execute("SELECT v FROM test.t WHERE id = %s", (number,))
        assert cursor.fetchone() == (number,)
    cursor.execute("UPDATE test.t SET v = v + 1 WHERE id = 1001")
    cursor.execute("SELECT v, CONNECTION_ID() FROM test.t WHERE id = 1001")
    print(cursor.fetchone()[0], "at", {})
"""


@pytest.fixture(scope="module")
def tried(module_factory):
    server = module_factory("--general-log", postern_port=0)
    server.execute(
        "CREATE TABLE test.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO test.t SELECT seq, seq FROM test.seq_1_to_1001",
        *(
            f"{what} app@'{host}'{how}"
            for host in ("127.0.0.1", "localhost")
            for what, how in (("CREATE USER", " IDENTIFIED BY 'app'"), ("GRANT ALL ON *.* TO", ""))
        ),
        "SET GLOBAL general_log = OFF",
    )
    return server


def try_(server, *words, code=0):
    asked = ["--json", "-u", "app", "-papp", *words]
    return json.loads(cli.run(server, "try", *asked, code=code))


def test_try_runs_an_application_at_both_ports(tried, tmp_path):
    program = tmp_path / "application.py"
    program.write_text(APPLICATION.replace("{}", "'here'"))
    reset = f"{ROOT}/tools/sandbox sql {tried.dir} -e 'UPDATE test.t SET v = 1001 WHERE id = 1001'"
    told = try_(tried, "--reset", reset, "--rounds", 2, "--", "/usr/bin/python3", program)
    assert told["same"] and [one["at"] for one in told["runs"]] == ["port", "door"] * 2
    door = told["runs"][3]
    assert door["statements"] >= 1000 and door["by_workers"] > 900 and told["times_as_fast"] > 0
    program.write_text(APPLICATION.replace("{}", "os.environ['POSTERN_TRY']"))
    told = try_(tried, "--reset", reset, "--", "/usr/bin/python3", program, code=1)
    assert "+1002 at door" in told["differences"][0]
    assert try_(tried, "--reset", reset, "--ignore", "at .*", "--", "/usr/bin/python3", program)["same"]
    told = try_(tried, "--", "/bin/sh", "-c", "echo {port}; exit 3", "--", code=1)
    assert told["runs"][0]["exit"] == 3 and "Not one statement came" in told["notes"][0]


def test_try_replays_a_log(tried, tmp_path):
    log = tmp_path / "general.log"
    tried.execute(f"SET GLOBAL general_log_file = '{log}'", "SET GLOBAL general_log = ON")
    for statement in (*(f"SELECT v FROM t WHERE id = {number}" for number in range(50)), "SELECT UUID()"):
        tried.query(statement, database="test")
    tried.execute("DELETE FROM t WHERE id = 2000", database="test")
    tried.execute("SET GLOBAL general_log = OFF")
    told = try_(tried, "--log", log)
    assert told["same"] and "answers" in told["compared"]
    assert "1 answer otherwise" in " ".join(told["notes"]) and "no SELECTs" in " ".join(told["notes"])
    assert told["runs"][1]["by_workers"] >= 40


def test_advise_says_what_was_measured(tried, tmp_path):
    log = tmp_path / "statements.sql"
    log.write_text("SELECT v FROM test.t WHERE id = 3;\n")
    session = sql_wire.door(tried)
    for number in range(300):
        sql_wire.rows(session, f"SELECT v FROM test.t WHERE id = {number}")
    [told] = cli.told(tried, "advise", log)
    assert told["measured"]["by_workers"] >= 290 and told["measured"]["processor_seconds_spared"] > 0


def test_try_wants_one_thing(tried):
    assert "either" in cli.run(tried, "try", code=2)
    tried.execute("SET GLOBAL postern_port = 0, GLOBAL postern_socket = ''")
    assert "SET GLOBAL postern_port = 3307" in cli.run(tried, "try", "--", "true", code=4)


def test_explain(sandbox_factory):
    server = sandbox_factory(postern_port=0)
    server.execute("CREATE TABLE test.t (id INT PRIMARY KEY, v INT)", "INSERT INTO test.t VALUES (1, 1), (2, 2)")
    ask = ["--database", "test", "SELECT v FROM t WHERE id = 3"]
    [told] = cli.told(server, "explain", *ask)
    assert (told["kind"], told["table"], told["index"]) == ("point_select", "test.t", "PRIMARY")
    assert all(door["serves"] for door in told["doors"]) and told["seen"] == [] and told["changes"] == []
    session = sql_wire.door(server)
    for _ in range(9):
        sql_wire.rows(session, "SELECT v FROM test.t WHERE id = 1")
    ask[-1] = ask[-1].replace("FROM t", "FROM test.t")
    [told] = cli.told(server, "explain", *ask)
    [seen] = told["seen"]
    assert seen["state"] == "served" and seen["hits"] >= 7 and seen["worker_each_us"] > 0
    server.execute("SET GLOBAL general_log = ON")
    told = cli.run(server, "explain", "--database", "test", "SELECT id FROM t WHERE v = 3")
    assert "rows by columns without an index" in told and "ADD INDEX" in told
    assert "general_log is ON: the SQL door answers nothing itself" in told
    server.execute("SET GLOBAL general_log = OFF, GLOBAL postern_port = 0, GLOBAL postern_socket = ''")
    assert "SET GLOBAL postern_port = 3307" in cli.run(server, "explain", "SELECT 1")
    assert "no statement" in cli.run(server, "explain", " ", code=2)


def test_explain_knows_plans_made_once(tried):
    join = "SELECT a.v FROM t a JOIN t b ON a.id = b.v WHERE b.id = 3"
    [told] = cli.told(tried, "explain", "--database", "test", join)
    assert [one["door"] for one in told["doors"] if one["serves"]] == ["sql"]
    [told] = cli.told(tried, "explain", "--database", "test", f"{join} FOR UPDATE")
    assert [one["door"] for one in told["doors"] if one["serves"]] == ["sql"]
    [told] = cli.told(tried, "explain", "--database", "test", f"{join.replace('JOIN', 'LEFT JOIN')} FOR UPDATE")
    assert not any(one["serves"] for one in told["doors"])
    tried.execute("SET GLOBAL postern_plan_once = OFF")
    [told] = cli.told(tried, "explain", "--database", "test", join)
    assert not any(one["serves"] for one in told["doors"]) and told["doors"][0]["why"] == "a join"
    tried.execute("SET GLOBAL postern_plan_once = ON")
