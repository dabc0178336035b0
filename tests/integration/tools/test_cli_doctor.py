"""Broken set-ups, one after another: doctor reports each, and its remedy repairs it."""
import os
import re
import socket

import pymysql
import pytest
from support import cli
from support.clients import sql_wire
from support.server import ROOT


@pytest.fixture(scope="module")
def house(module_factory):
    """A healthy server, with something for every door to serve."""
    server = module_factory(
        "--handlersocket-auth=account",
        "--innodb-log-file-buffering=ON",
        "--skip-name-resolve",
        "--log-bin",
        "--sync-binlog=1",
        redis=True,
        containers=True,
        postern_port=0,
    )
    server.execute(
        "CALL postern.unmap_table('aaa')",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.user (id INT PRIMARY KEY, name VARCHAR(50) NOT NULL)",
        "DELETE FROM mysql.global_priv WHERE user = '' OR host <> 'localhost'",
        "UPDATE mysql.global_priv SET priv = JSON_SET(priv, '$.plugin', 'unix_socket') WHERE user = 'root'",
        "FLUSH PRIVILEGES",
    )
    assert worse_than_notes(server) == []
    return server


def found(server, *words):
    return cli.told(server, "doctor", *words, code=None)[0]["findings"]


def worse_than_notes(server):
    return [one for one in found(server) if one["severity"] in ("broken", "unsafe", "slow")]


def that(server, severity, check, words):
    """The one finding that contains these words."""
    (one,) = [
        one for one in found(server) if (one["severity"], one["check"]) == (severity, check) and words in one["what"]
    ]
    return one


def sql_of(remedy):
    """The statements of a remedy, without its comments."""
    lines = [line.partition("--")[0].strip() for line in remedy.splitlines()]
    return [line.rstrip(";") for line in lines if line and line != "mariadb < /usr/share/postern/redis.sql"]


# Statements that break something, and the finding. The remedy is SQL that reverts it, unless another statement is
# given.
BREAKS = {
    "the general log is on": (["SET GLOBAL general_log = ON"], "slow", "sql-door", "general_log is ON", None),
    "statistics of users are on": (["SET GLOBAL userstat = ON"], "slow", "sql-door", "userstat is ON", None),
    "an audit plugin sees each statement": (
        ["INSTALL SONAME 'server_audit'"],
        *("slow", "sql-door", "the audit plugin SERVER_AUDIT is loaded", None),
    ),
    "the query cache is on": (
        ["SET GLOBAL query_cache_type = ON", "SET GLOBAL query_cache_size = 1048576"],
        *("slow", "sql-door", "the query cache is on", None),
    ),
    "each answer is compared": (["SET GLOBAL postern_verify = 1"], "slow", "sql-door", "postern_verify is 1", None),
    "sessions begin as SERIALIZABLE": (
        ["SET GLOBAL tx_isolation = 'SERIALIZABLE'"],
        *("slow", "sql-door", "tx_isolation = SERIALIZABLE", None),
    ),
    "somebody has uninstalled the SQL door": (
        ["UNINSTALL PLUGIN postern"],
        *("note", "loaded", "The plugin postern is not loaded", None),
    ),
    "a column that Redis clients see has gone": (
        [
            "CALL postern.redis_map_row('user:', 'shop', 'user', 'name')",
            "ALTER TABLE shop.user CHANGE name title VARCHAR(50)",
        ],
        *("broken", "mappings", "has no column name"),
        ["CALL postern.redis_unmap('user:')", "ALTER TABLE shop.user CHANGE title name VARCHAR(50) NOT NULL"],
    ),
    "a table that memcached clients see has gone": (
        [
            "CREATE TABLE shop.old (id VARCHAR(50) PRIMARY KEY, v VARCHAR(50))",
            "CALL postern.map_table('old', 'shop', 'old', 'id', 'v')",
            "DROP TABLE shop.old",
        ],
        *("broken", "mappings", "there is no table shop.old", ["CALL postern.unmap_table('old')"]),
    ),
    "an account has no password": (
        ["CREATE USER ann@localhost"],
        "unsafe",
        "accounts",
        "'ann'@'localhost'",
        ["DROP USER ann@localhost"],
    ),
    "commits are not flushed": (
        ["SET GLOBAL innodb_flush_log_at_trx_commit = 2"],
        *("unsafe", "durability", "innodb_flush_log_at_trx_commit is 2", None),
    ),
    "the binary log is not flushed": (["SET GLOBAL sync_binlog = 0"], "unsafe", "binlog", "sync_binlog is 0", None),
    "the binary log has statements": (
        ["SET GLOBAL binlog_format = 'STATEMENT'"],
        *("slow", "sql-door", "no writes itself in sessions that begin with binlog_format = STATEMENT", None),
    ),
    "the binary log has parts of rows": (
        ["SET GLOBAL binlog_row_image = 'MINIMAL'"],
        *("slow", "sql-door", "binlog_row_image = MINIMAL", None),
    ),
    "commits wait for company": (
        ["SET GLOBAL binlog_commit_wait_count = 5"],
        *("note", "binlog", "binlog_commit_wait_count is 5", None),
    ),
    "an account may do so much in an hour": (
        ["CREATE USER ann@localhost IDENTIFIED BY 'x' WITH MAX_QUERIES_PER_HOUR 9"],
        *("slow", "sql-door", "no statement of 'ann'@'localhost' itself", ["DROP USER ann@localhost"]),
    ),
    "a table has no key": (["CREATE TABLE shop.heap (a INT)"], "slow", "keys", "shop.heap", None),
    "the server takes no writes": (["SET GLOBAL read_only = ON"], "note", "read-only", "is read_only", None),
    "the hash index is off": (
        ["SET GLOBAL innodb_adaptive_hash_index = OFF"],
        *("slow", "hash-index", "innodb_adaptive_hash_index is OFF", None),
    ),
    "there are too many threads": (
        ["SET GLOBAL redis_threads = 100"],
        *("slow", "threads", "redis_threads is 100", ["SET GLOBAL redis_threads = DEFAULT"]),
    ),
    "buffers may take more than there is": (
        ["SET GLOBAL redis_max_buffer_bytes = 1099511627776"],
        *(
            "unsafe",
            "memory",
            "The buffer pool and the doors' buffers",
            ["SET GLOBAL redis_max_buffer_bytes = DEFAULT"],
        ),
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_doctor_names_a_fault_and_mends_it(house, name):
    breaks, severity, check, words, mends = BREAKS[name]
    assert not any(words in one["what"] for one in found(house))
    house.execute(*breaks)
    try:
        remedy = that(house, severity, check, words)["remedy"]
        assert remedy
    finally:
        house.execute(*(mends or sql_of(remedy)))
    left = found(house)
    assert not any(words in one["what"] or one["severity"] in ("broken", "unsafe", "slow") for one in left)
    house.execute("DROP TABLE IF EXISTS shop.heap")


def test_doctor_says_why_a_door_could_not_start(house):
    """Another process has its port, and then frees it."""
    port = int(house.env["HS_PORT"])
    house.execute("UNINSTALL PLUGIN handlersocket")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(pymysql.err.MySQLError):
            house.execute("INSTALL PLUGIN handlersocket SONAME 'postern'")
        told = that(house, "broken", "loaded", "handlersocket could not start")
        assert "Address already in use" in told["what"]
    house.execute(*sql_of(told["remedy"]))
    assert worse_than_notes(house) == []


@pytest.mark.parametrize(
    "contents, words",
    [(None, "is gone, or cannot be read"), (b"10.11.1-MariaDB", "is for MariaDB 10.11.1 now")],
    ids=["nothing", "another version's"],
)
def test_doctor_knows_that_the_next_start_will_fail(house, contents, words):
    """The library's file is not the one that the server has loaded."""
    library = house.query("SELECT @@plugin_dir")[0][0] + "/postern.so"
    os.rename(library, library + ".kept")
    try:
        if contents:
            with open(library, "wb") as file:
                file.write(contents)
        assert words in that(house, "broken", "version", words)["what"]
    finally:
        os.replace(library + ".kept", library)
    assert worse_than_notes(house) == []


def test_doctor_reads_option_files(house, tmp_path):
    file = tmp_path / "mine.cnf"
    file.write_text("[mariadbd]\npostern_port = 3307\nplugin_maturity = stable\n")
    told = [one for one in found(house, "--option-files", tmp_path) if one["severity"] == "broken"]
    assert {one["check"] for one in told} == {"loose", "maturity"}
    for one in told:
        assert os.system(one["remedy"]) == 0
    assert file.read_text() == "[mariadbd]\nloose_postern_port = 3307\nplugin_maturity = gamma\n"


def test_doctor_of_a_server_that_lets_in_everybody(sandbox_factory):
    server = sandbox_factory("--skip-grant-tables", "--handlersocket-auth=account", postern_port=0)
    told = that(server, "unsafe", "account", "skip_grant_tables")
    server.execute(*sql_of(told["remedy"]))
    assert not any("skip_grant_tables" in one["what"] for one in found(server))


class Node:
    """Settings of a cluster node on which each session waits for the others."""

    variables = {"postern_port": "3307", "wsrep_on": "ON", "wsrep_sync_wait": "1"}

    def doors(self):
        return ["postern"]

    def variable(self, name):
        return self.variables.get(name, "")

    def number(self, name):
        return int(self.variable(name) or 0)

    def on(self, name):
        return self.variable(name) == "ON"


def test_doctor_of_a_node_that_waits_for_others():
    cli.parts()
    from postern_cli.doctor import checks_sql_door

    (told,) = checks_sql_door.of_sessions(Node())
    assert "wsrep_sync_wait = 1" in told.what and told.remedy.startswith("SET GLOBAL wsrep_sync_wait = '0';")
    alone = type("Alone", (Node,), {"variables": {**Node.variables, "wsrep_on": "OFF"}})
    assert not list(checks_sql_door.of_sessions(alone()))


def test_the_example_accounts_suffice(house):
    """The accounts of docs/install.md: one for an application at the SQL door, one with the rights that doctor
    needs."""
    (block,) = re.findall(r"^```sql\n(.*?)^```", (ROOT / "docs/install.md").read_text(), re.S | re.M)
    house.execute(*filter(str.strip, re.split(r";\n", block)))
    app = {"user": "app", "password": "a long password", "database": "shop"}
    with pymysql.connect(host="127.0.0.1", port=int(house.env["POSTERN_PORT"]), **app) as door, door.cursor() as cursor:
        cursor.execute("INSERT INTO user VALUES (7, 'Ann')")
        assert cursor.execute("UPDATE user SET name = 'Zoe' WHERE id = 7") == 1
        with pytest.raises(pymysql.err.OperationalError, match="denied"):
            cursor.execute("DROP TABLE user")
    login = ("--user", "watcher", "--password", "another password")
    assert not [one for one in found(house, *login) if one["severity"] in ("broken", "unsafe", "slow")]
    cli.told(house, "top", "--once", *login)
    house.execute("DROP USER app@localhost, app@'127.0.0.1', watcher@localhost", "DELETE FROM shop.user")


def test_doctor_knows_that_a_short_long_query_time_counts_without_a_slow_log(sandbox_factory):
    server = sandbox_factory("--long-query-time=0.01", postern_port=0)
    for seconds, told in ((0.01, True), (1, False)):
        server.execute(f"SET GLOBAL long_query_time = {seconds}", "CREATE OR REPLACE TABLE test.t (id INT PRIMARY KEY)")
        session = sql_wire.door(server)
        before = server.status("Postern_statements_fast")["postern_statements_fast"]
        for _ in range(9):
            sql_wire.rows(session, "SELECT id FROM test.t WHERE id = 1")
        served = server.status("Postern_statements_fast")["postern_statements_fast"] > before
        assert (served, "long_query_time" in cli.run(server, "doctor", code=None)) == (not told, told)


def test_doctor_knows_that_plans_are_off(sandbox_factory):
    server = sandbox_factory(postern_port=0)
    assert "postern_plan_once is OFF" not in cli.run(server, "doctor", code=None)
    server.execute("SET GLOBAL postern_plan_once = OFF")
    assert "postern_plan_once is OFF" in cli.run(server, "doctor", code=None)
