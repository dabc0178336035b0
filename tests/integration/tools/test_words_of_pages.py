"""Names in the sentences of operators' pages: statements and commands run, programs and make targets exist, and a
server has every setting and status variable."""
import re
import subprocess

import pymysql
import pytest
from support import cli
from support.server import ROOT

PAGES = [
    "operating",
    "migrating",
    "containers",
    "deploying",
    "watching",
    "memcached",
    "redis",
    "sql-door",
    "statements",
    "galera",
    "replicas",
    "servers",
]
PLUGINS = re.findall(r"^DOOR\((\w+),", (ROOT / "src/plugin/doors.def").read_text(), re.M)
STATEMENT = re.compile(r"(?:SHOW|SELECT|FLUSH) .+|(?:CALL|INSTALL|UNINSTALL|SET GLOBAL) .*['=(].*")
SETTING = re.compile(r"(?:loose_)?([a-z]+(?:_[a-z0-9]+)+)(?: = \S+)?")
ALREADY_LOADED = 1968
EMPTY = ("SHOW SLAVE STATUS",)  # on a server that is no replica

# Names with an underscore that are neither a setting nor a status variable.
OTHERS = {
    *("innodb_memcache", "postern_redis", "postern_version"),  # in the scripts
    *("stream_pending", "v_lists", "v_sets", "v_stream_pending", "v_streams", "v_zsets"),
    *(
        "information_schema",
        "performance_schema",
        "mysqld_exporter",
        "rule_files",
        "mysql_global_status_redis_requests_find",
    ),
    *("cache_only", "innodb_only", "flush_all", "insert_id"),
    # tables and columns of innodb_memcache
    *("cache_policies", "cache_policy", "cas_column", "config_options", "db_schema", "db_table", "delete_policy"),
    *("expire_time", "expire_time_column", "flush_policy", "get_policy", "key_columns", "set_policy"),
    *("table_map_delimiter", "unique_idx_name_on_key", "value_columns"),
    # MySQL's, and names that the SQL door does not have, as its page says
    *("daemon_memcached_r_batch_size", "daemon_memcached_w_batch_size", "innodb_api_bk_commit_interval"),
    *("innodb_api_enable_binlog", "innodb_api_enable_mdl", "innodb_api_trx_level"),
    *("postern_auth", "postern_tls", "postern_timeout"),
    # server options that are not variables
    *("plugin_load_add", "binlog_do_db", "binlog_ignore_db"),
    # of bench/sysbench, and of Sidekiq
    *("begin_read_commit", "scheduled_enq"),
    # of 11.8
    *("innodb_snapshot_isolation", "redirect_url", "plugin_wsrep_provider", "wsrep_provider_pc_bootstrap"),
}


@pytest.fixture(scope="module")
def doors(module_factory):
    return module_factory(containers=True, redis=True, postern_port=0)


def words(page):
    """The code in the sentences of a page, in order."""
    text = (ROOT / f"docs/{page}.md").read_text()
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


@pytest.mark.parametrize("page", PAGES)
def test_statements(doors, page):
    """Runs the complete ones. A plugin that a page unloads is loaded again."""
    for statement in filter(STATEMENT.fullmatch, words(page)):
        try:
            with doors.connect() as connection, connection.cursor() as cursor:
                cursor.execute(statement)
                told = cursor.fetchall()
        except pymysql.Error as error:
            assert error.args[0] == ALREADY_LOADED, (statement, error)
        else:
            assert told or not statement.startswith("SHOW") or statement in EMPTY, statement
        if statement.startswith("UNINSTALL"):
            doors.execute(statement[2:] if "SONAME" in statement else f"{statement[2:]} SONAME 'postern'")


@pytest.mark.parametrize("page", PAGES)
def test_names(doors, page):
    """A name without its prefix must exist for all plugins."""
    there = {name.lower() for kind in ("VARIABLES", "STATUS") for name, *_ in doors.query(f"SHOW GLOBAL {kind}")}
    there |= {name.lower() for name, *_ in doors.query("SHOW VARIABLES")}
    there |= {name.removeprefix(f"{plugin}_") for name in there for plugin in PLUGINS}
    for match in filter(None, map(SETTING.fullmatch, words(page))):
        assert match[1] in there | OTHERS, match[0]


@pytest.mark.parametrize("page", PAGES)
def test_programs(page):
    """make's targets, files of the repository, commands of the tool."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    told = subprocess.run([cli.tool(), "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    for word in words(page):
        first, *rest = word.split()
        if first == "make" and rest:
            assert rest[0] in targets, word
        elif first == "postern" and rest:
            assert re.search(rf"^\s+{rest[0]}\b", told, re.M), word
        elif re.match(r"(tools|scripts|tests|sql|bench|packaging|docs|src)/[\w./-]+$", first):
            assert (ROOT / first).exists(), word


def test_keys_that_a_redis_has(doors):
    """Keys that migrating.md names, copied to our door as to a Redis."""
    assert "`redis-cli --scan`" in (ROOT / "docs/migrating.md").read_text()
    with doors.resp() as client:
        client.ask("SET", "one", "1")
    done = subprocess.run(
        ["redis-cli", "-p", str(doors.env["REDIS_PORT"]), "--scan"], capture_output=True, timeout=60, check=True
    )
    assert b"one\n" in done.stdout
