"""postern, the command-line tool, against a server: the commands on its page, and the errors of each command."""
import contextlib
import json
import os
import pty
import re
import select
import shlex
import shutil
import socket
import subprocess
import time
import xml.etree.ElementTree

import pytest
from support import cli
from support.clients import sql_wire
from support.server import ROOT
from support.waiting import until

PAGE = (ROOT / "docs/postern-tool.md").read_text()


@pytest.fixture(scope="module")
def shop(module_factory):
    """A server with the page's table, which logs statements."""
    server = module_factory(
        "--performance-schema=ON",
        "--general-log",
        "--slow-query-log",
        "--long-query-time=0",
        containers=True,
    )
    [sql] = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
    server.execute(*[one for one in re.split(r";\n", sql) if one.strip()])
    return server


@pytest.fixture
def logs(shop, tmp_path):
    """A folder with the files that the page names."""
    for name, setting in (("general.log", "general_log_file"), ("slow.log", "slow_query_log_file")):
        shop.execute(f"SET GLOBAL {setting} = '{tmp_path / name}'")
    shop.execute("SELECT user_name FROM shop.user WHERE user_id = 101")
    create = shop.query("SHOW CREATE TABLE shop.user")[0][1]
    (tmp_path / "dump.sql").write_text(f"USE `shop`;\n{create};\n")
    yield tmp_path
    shop.execute(
        f"SET GLOBAL general_log_file = '{shop.dir}/g.log'", f"SET GLOBAL slow_query_log_file = '{shop.dir}/s.log'"
    )


def commands():
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.S | re.M)
    return [line for language, block in blocks if not language for line in block.splitlines()]


def test_every_command_of_the_page(shop, logs):
    """As written on the page, by a shell, with an option file."""
    (logs / "my.cnf").write_text(f"[client]\nsocket = {shop.env['SQL_SOCKET']}\nuser = root\n")
    script = f'postern() {{ c=$1; shift; case $c in completion|manual) "$TOOL" $c;; *) "$TOOL" "$c" --defaults-file {logs}/my.cnf "$@";; esac; }}'
    assert len(commands()) > 20
    for command in commands():
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{command}"],
            cwd=logs,
            env={**os.environ, "TOOL": cli.tool()},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        expected = (0, 1) if "doctor" in command else (0,)
        assert done.returncode in expected, f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), command
        assert "Traceback" not in done.stderr
    xml.etree.ElementTree.parse(logs / "bench.svg")


def test_rows(shop):
    assert cli.told(shop, "get", "shop.user", 102) == [
        {"user_id": "102", "user_name": "Kei Ito", "user_email": "kei@example.com", "visits": "7"}
    ]
    assert cli.run(shop, "get", "shop.user", 999, code=1) == ""
    cli.run(shop, "set", "shop.user", 7, "user_name=a=b\tc", "user_email=\\N")
    assert shop.query("SELECT user_name, user_email, visits FROM shop.user WHERE user_id = 7") == [("a=b\tc", None, 0)]
    assert cli.told(shop, "incr", "shop.user", 7, "visits=5") == [{"changed": 1}]
    assert "121" in cli.run(shop, "set", "--new", "shop.user", 7, "user_name=x", code=4)
    assert [row["visits"] for row in cli.told(shop, "scan", "shop.user", "--where", "visits = 5")] == ["5"]
    assert [row["user_id"] for row in cli.told(shop, "scan", "shop.user", 102, "--op", "<=", "--limit", 2)] == [
        "102",
        "101",
    ]
    assert cli.told(shop, "delete", "shop.user", 7) == [{"deleted": 1}]
    assert cli.told(shop, "delete", "shop.user", 7, code=1) == [{"deleted": 0}]


def test_rows_through_memcached(shop):
    name = ["--door", "memcached", "users"]
    assert cli.told(shop, "set", *name, 8, "Jun|jun@example.com") == [{"stored": 1}]
    assert cli.told(shop, "get", *name, 8) == [{"value": "Jun|jun@example.com"}]
    assert shop.query("SELECT user_name FROM shop.user WHERE user_id = 8") == [("Jun",)]
    assert cli.told(shop, "delete", *name, 8) == [{"deleted": 1}]
    assert "no ranges" in cli.run(shop, "scan", *name, code=2)


@pytest.mark.parametrize(
    "words, code, told",
    [
        (["get", "shop.nothing", 1], 4, "there is no table shop.nothing"),
        (["get", "user", 1], 4, "say DATABASE.TABLE"),
        (["get", "shop.user"], 2, "say the key: user_id"),
        (["get", "shop.user", 1, 2], 2, "no more columns"),
        (["get", "shop.user", 1, "--columns", "nix"], 4, "has no column nix"),
        (["get", "shop.user", 1, "--index", "nix"], 4, "has no index nix; it has PRIMARY"),
        (["scan", "shop.user", "--where", "visits"], 2, "say COLUMN < VALUE"),
        (["incr", "shop.user", 101], 2, "COLUMN=N"),
        (["incr", "shop.user", 101, "user_name=1"], 4, "postern: "),
        (["set", "shop.user", 101, "visits"], 2, "say COLUMN=VALUE"),
        (["get", "--door", "redis", "user:1"], None, "postern: "),
    ],
)
def test_what_cannot_be_is_said(shop, words, code, told):
    done = subprocess.run(
        [cli.tool(), words[0], *cli.where(shop), *map(str, words[1:])],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told in done.stderr and done.returncode in ((code,) if code else (3, 4))


def test_a_server_that_is_not_there():
    for command in ("doctor", "advise", "top", "shell"):
        done = subprocess.run(
            [cli.tool(), command, "--defaults-file", "/dev/null", "-S", "/nonexistent", "-u", "root"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 3 and done.stderr.startswith("postern: cannot connect"), done


def findings(server, *options, code=1):
    [told] = cli.told(server, "doctor", "--all", "--option-files", "/nonexistent", *options, code=code)
    return {(one["severity"], one["check"]): one for one in told["findings"]}


def test_doctor(shop):
    """It reports only MySQL's example, until more is wrong."""
    found = findings(shop)
    assert [one for one in found if one[0] in ("broken", "slow")] == []
    assert found["unsafe", "mappings"]["remedy"] == "CALL postern.unmap_table('aaa');"
    shop.execute(
        "CREATE TABLE shop.heap (a INT)",
        "INSERT INTO innodb_memcache.containers VALUES ('x', 'shop', 'gone', 'id', 'v', '0', '0', '0', 'PRIMARY')",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
        "SET GLOBAL innodb_adaptive_hash_index = OFF",
    )
    found = findings(shop)
    assert "there is no table shop.gone" in found["broken", "mappings"]["what"]
    assert "shop.heap" in found["slow", "keys"]["what"]
    assert found["unsafe", "durability"]["remedy"].startswith("SET GLOBAL innodb_flush_log_at_trx_commit = 1;")
    # Its advice removes the finding.
    for name in (("slow", "keys"), ("unsafe", "durability"), ("slow", "hash-index"), ("unsafe", "mappings")):
        shop.execute(found[name]["remedy"].partition("--")[0].strip().rstrip(";"))
    shop.execute("DELETE FROM innodb_memcache.containers WHERE name = 'x'")
    found = findings(shop, code=0)
    assert [one for one in found if one[0] in ("broken", "unsafe", "slow")] == []
    shop.execute("DROP TABLE shop.heap")


def test_doctor_of_open_doors_and_option_files(sandbox_factory, tmp_path):
    server = sandbox_factory(
        "--handlersocket-address=0.0.0.0", "--handlersocket-allow-open-access", "--innodb-log-file-buffering=OFF"
    )
    (tmp_path / "a.cnf").write_text(
        "[mariadbd]\nhandlersocket_port = 9998\nloose_memcached_port = 1\nplugin_maturity = stable\n"
    )
    [told] = cli.told(server, "doctor", "--option-files", tmp_path, code=1)
    found = {(one["severity"], one["check"]): one for one in told["findings"]}
    assert "allow_open_access is ON" in found["unsafe", "access"]["what"]
    assert ("unsafe", "tls") in found and ("broken", "maturity") in found
    server.execute(found["note", "log"]["remedy"].partition("--")[0])
    loose = found["broken", "loose"]
    assert loose["what"].endswith("a.cnf:2: handlersocket_port = 9998")
    subprocess.run(["bash", "-c", loose["remedy"]], check=True, timeout=10)
    assert "\nloose_handlersocket_port = 9998\n" in (tmp_path / "a.cnf").read_text()
    server.execute("UNINSTALL SONAME 'postern'")
    found = findings(server)
    assert ("note", "log") not in found
    assert found["broken", "loaded"]["remedy"].startswith("INSTALL SONAME 'postern';")


def test_doctor_of_an_sql_door_for_other_machines(sandbox_factory):
    """The server configures TLS for an SQL door."""
    server = sandbox_factory("--loose-postern-address=0.0.0.0", postern_port=0)
    found = findings(server, code=1)
    assert found["unsafe", "tls"]["what"].startswith("postern takes clients of other machines without TLS")
    assert found["unsafe", "tls"]["remedy"].endswith("require_secure_transport = ON")


def test_doctor_of_a_closed_sql_door(shop):
    assert "The SQL door is closed" in findings(shop, code=None)["note", "sql-door"]["what"]


def test_doctor_knows_what_takes_the_sql_door_its_gain(sandbox_factory):
    server = sandbox_factory(
        "--general-log",
        "--userstat",
        "--long-query-time=0.01",
        "--query-cache-type=ON",
        postern_port=0,
    )
    server.execute("SET GLOBAL query_cache_size = 1048576", "SET GLOBAL postern_verify = 1")

    def told():
        found = cli.told(server, "doctor", code=None)[0]["findings"]
        return [one for one in found if one["check"] == "sql-door"]

    whats = " ".join(one["what"] for one in told())
    for what in (
        "general_log is ON",
        "userstat is ON",
        "long_query_time is 0.01",
        "the query cache is on",
        "verify is 1",
    ):
        assert what in whats
    for one in told():
        server.execute(one["remedy"].partition("--")[0].strip().rstrip(";"))
    assert [one["what"] for one in told() if one["severity"] != "note"] == []
    server.restart()
    recommended = [
        one for one in cli.told(server, "doctor", code=None)[0]["findings"] if "performance_schema" in str(one)
    ]
    assert recommended == []


def test_doctor_says_what_performance_schema_costs(sandbox_factory):
    server = sandbox_factory("--performance-schema=ON", postern_port=0)
    found = findings(server, code=1)["slow", "sql-door"]
    assert found["what"] == "The SQL door answers no statement itself while performance_schema is ON."
    told = cli.run(server, "advise")
    assert "While performance_schema is ON the SQL door answers no statement itself" in told


def test_doctor_knows_what_sessions_begin_with(sandbox_factory):
    server = sandbox_factory(postern_port=0)
    assert not [
        one for one in cli.told(server, "doctor", code=None)[0]["findings"] if "sessions that begin" in one["what"]
    ]
    wrong = {
        "max_statement_time": "30",
        "sql_select_limit": "1000",
        "tx_isolation": "'SERIALIZABLE'",
        "unique_checks": "OFF",
        "sql_mode": "'EMPTY_STRING_IS_NULL,STRICT_TRANS_TABLES'",
    }
    server.execute(*(f"SET GLOBAL {name} = {value}" for name, value in wrong.items()))
    found = [
        one for one in cli.told(server, "doctor", code=None)[0]["findings"] if "sessions that begin" in one["what"]
    ]
    assert {name for name in wrong if any(name in one["what"] for one in found)} == set(wrong)
    for one in found:
        server.execute(one["remedy"].partition(";")[0])
    assert not [
        one for one in cli.told(server, "doctor", code=None)[0]["findings"] if "sessions that begin" in one["what"]
    ]


def test_doctor_says_which_door_could_not_be_moved(sandbox_factory):
    server = sandbox_factory()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # unless another process has it already
            other.bind(("127.0.0.1", 9999))
            other.listen()
        server.execute("SET GLOBAL handlersocket_port_wr = DEFAULT")
        reasons = "SELECT reason FROM information_schema.postern_doors WHERE door = 'handlersocket write'"
        until(lambda: server.query(reasons)[0][0])
        [told] = cli.told(server, "doctor", code=1)
    assert any("not at the place in the settings" in one["what"] for one in told["findings"])


def test_doctor_says_what_its_account_does_not_see(shop):
    shop.execute("CREATE USER poor@localhost", "GRANT SELECT ON shop.* TO poor@localhost")
    [told] = cli.told(shop, "doctor", "-u", "poor", code=1)
    [found] = [one for one in told["findings"] if one["check"] == "account"]
    assert "does not see everything" in found["what"] and "plans of the doors" in found["why"]
    shop.execute(found["remedy"].partition("--")[0].strip().rstrip(";"))
    [told] = cli.told(shop, "doctor", "-u", "poor", code=None)
    assert [one for one in told["findings"] if one["check"] == "account"] == []
    shop.execute("DROP USER poor@localhost")


def test_names_of_checks_are_known(shop):
    cli.parts()
    from postern_cli.doctor.finding import NAMES

    said = cli.run(shop, "doctor", "--skip", "nonsense", code=2)
    assert "no such check" in said and all(name in said for name in NAMES)
    used = set()
    for file in (ROOT / "cli/src/postern_cli/doctor").glob("checks_*.py"):
        text = file.read_text()
        used |= set(re.findall(r'good\(\s*"([a-z-]+)"', text))
        used |= set(re.findall(r'Finding\(\s*"?\w+"?(?:\([^)]*\))?[^,]{0,60},\s*"([a-z-]+)"', text))
    assert used == set(NAMES)


def test_options_may_stand_before_the_command(shop):
    words = [cli.tool(), *cli.where(shop), "--json", "get", "shop.user", "101"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["user_id"] == "101", done.stderr
    assert subprocess.run([cli.tool(), "--version"], capture_output=True, check=False, timeout=60).returncode == 0


def test_a_host_is_named_as_for_other_clients(shop):
    shop.execute("CREATE USER who@'127.0.0.1'")
    port = ["-P", shop.env["SQL_PORT"], "-u", "who", "--defaults-file", "/dev/null"]
    for words in (
        ["doctor", "-h", "127.0.0.1", *port],
        ["-h", "127.0.0.1", *port, "doctor"],
        ["doctor", *port, "-h127.0.0.1"],
    ):
        done = subprocess.run([cli.tool(), *words], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode in (0, 1) and "MariaDB 10.11" in done.stdout, done.stdout + done.stderr
    for words in (["doctor", "-h"], ["-h"], ["-h", "doctor"]):
        done = subprocess.run([cli.tool(), *words], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0 and done.stdout.startswith("usage: postern")
    shop.execute("DROP USER who@'127.0.0.1'")


def test_a_row_that_is_not_there_is_said_to_be(shop):
    for more, said in (([], "no such row\n"), (["--json"], "")):
        words = [cli.tool(), "get", *cli.where(shop), *more, "shop.user", "4711"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_the_shell_shows_a_column_a_line(shop):
    told = cli.run(shop, "shell", "-e", "select user_id, user_name from shop.user where user_id = 101\\G")
    assert "1. row" in told and re.search(r"^  user_id: 101$", told, re.M) and re.search(r"^user_name: ", told, re.M)


def test_bench_compares_the_same_transport(sandbox_factory):
    server = sandbox_factory(postern_port=0)
    server.execute("CREATE TABLE test.t (id INT PRIMARY KEY, v INT)", "INSERT INTO test.t VALUES (1, 1), (2, 2)")
    [told] = cli.told(server, "bench", "test.t", "--seconds", "0.5", "--clients", 1)
    assert [door["door"] for door in told["doors"]] == ["sql", "sql-door", "handlersocket"]
    assert len({door["transport"] for door in told["doors"] if door["door"].startswith("sql")}) == 1
    [told] = cli.told(
        server, "bench", "test.t", "--seconds", "0.5", "--clients", 1, "--transport", "socket", "--door", "sql"
    )
    assert told["doors"][0]["transport"] == "socket"


def test_top(shop):
    [told] = cli.told(shop, "top", "--once", "--interval", "0.2")
    assert {"handlersocket", "memcached"} <= {door["door"] for door in told["doors"]}
    with shop.hs() as client:
        client.close()
    assert "requests a batch" in cli.run(shop, "top", "--once", "--interval", "0.1")


def test_bench(shop):
    [told] = cli.told(shop, "bench", "shop.user", "--seconds", "0.5", "--clients", 2)
    assert [door["door"] for door in told["doors"]] == ["sql", "handlersocket"]  # its SQL door is closed
    assert all(door["requests_per_second"] > 0 and door["p99_us"] >= door["p50_us"] > 0 for door in told["doors"])
    for door in told["doors"]:
        assert 0 < door["slowest_round"] <= door["requests_per_second"] <= door["fastest_round"] * 1.001
    assert "--container" in cli.run(shop, "bench", "shop.user", "--door", "memcached", code=2)
    assert "--rounds" in cli.run(shop, "bench", "shop.user", "--rounds", 0, code=2)


def test_shell_through_the_sql_door(sandbox_factory):
    server = sandbox_factory(postern_port=0)
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 5)", database="test")
    before = server.status("Postern_connections_accepted")["postern_connections_accepted"]
    ask = ["-e", "sql-door select v from t where id = 1", "-e", "door sql-door", "-e", "select v + 1 from t"]
    told = cli.run(server, "shell", "--json", "--database", "test", *ask)
    assert '"5"' in told.replace("5,", '"5",').replace(": 5", ': "5"') and "6" in told
    assert server.status("Postern_connections_accepted")["postern_connections_accepted"] == before + 1


def test_shell(shop):
    lines = [
        "use shop",
        "set user 9 user_name=Aki",
        "get user 9 --columns user_name",
        "incr user 9 visits=3",
        "select visits from user where user_id = 9",
        "handlersocket P\\t1\\tshop\\tuser\\tPRIMARY\\tuser_name",
        "handlersocket 1\\t=\\t1\\t9",
        "memcached get users",
        "door memcached",
        "get @@users.9",
        "door handlersocket",
        "delete user 9",
        "quit",
        "get user 101",
    ]
    out = cli.run(shop, "shell", "--json", stdin="\n".join(lines))
    assert out.splitlines() == [
        '{"new": 1}',
        '{"user_name": "Aki"}',
        '{"changed": 1}',
        '{"visits": 3}',
        '{"answer": ["0", "1"]}',
        '{"answer": ["0", "1", "Aki"]}',
        '{"answer": ["END"]}',
        '{"answer": ["VALUE @@users.9 0 4", "Aki|", "END"]}',
        '{"deleted": 1}',
    ]
    assert "no such command" in cli.run(shop, "shell", "-e", "nonsense", code=2)
    assert "doesn't exist" in cli.run(shop, "shell", "-e", "select * from shop.nix", code=4)


def test_the_prompt_completes(shop, tmp_path):
    """On a terminal: history, completion of databases, tables and columns."""
    cli.tool()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", XDG_STATE_HOME=str(tmp_path), COLUMNS="120", LINES="40")
        os.execv(cli.tool(), [cli.tool(), "shell", *cli.where(shop)])
    seen = []

    def until(words, seconds=60):
        deadline = time.monotonic() + seconds
        while words not in plain("".join(seen)):
            assert time.monotonic() < deadline, "".join(seen)
            if select.select([terminal], [], [], 0.2)[0]:
                seen.append(os.read(terminal, 65536).decode(errors="replace"))
                if "\x1b[6n" in seen[-1]:
                    os.write(terminal, b"\x1b[1;1R")
        seen.clear()

    def plain(text):
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)

    until("postern handlersocket>")
    os.write(terminal, b"get shop.us")
    until("shop.user")  # offered, and accepted with the Tab key
    os.write(terminal, b"\t")
    until("er")
    os.write(terminal, b" 101 --columns user_n")
    until("user_name")
    os.write(terminal, b"\t")
    until("ame")
    os.write(terminal, b"\r")
    until("Yukari Takeba")
    os.write(terminal, b"quit\r")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)
    assert "get shop.user 101 --columns user_name" in (tmp_path / "postern/history").read_text()


def test_completion_of_bash_and_the_manual():
    script = subprocess.run([cli.tool(), "completion"], capture_output=True, text=True, timeout=60, check=True).stdout
    ask = 'COMP_WORDS=(postern "$@"); COMP_CWORD=$#; _postern; echo "${COMPREPLY[@]}"'
    for words, expected in (
        (["do"], "doctor"),
        (["top", "--on"], "--once"),
        (["get", "--door", "mem"], "memcached"),
        (["advise", "--wat"], "--watch"),
    ):
        line = f"{script}\nset -- {shlex.join(words)}\n{ask}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.split() == [expected], (words, done.stdout, done.stderr)
    page = subprocess.run([cli.tool(), "manual"], capture_output=True, text=True, timeout=60, check=True).stdout
    for name in ("doctor", "advise", "shell", "scan", "top", "bench"):
        assert f"\n.SS {name}\n" in page


@pytest.mark.parametrize("copied", [shutil.copy, cli.of_another_python])
def test_it_needs_no_more_than_python(tmp_path, copied):
    """The file alone, copied elsewhere, without any installed package except Python."""
    copied(cli.tool(), tmp_path / "postern")
    for arguments in (["--version"], ["advise", "--tables", str(ROOT / "tests/wire/sql/tables.sql"), "-"]):
        done = subprocess.run(
            ["/usr/bin/python3", "-I", "-S", tmp_path / "postern", *arguments],
            input="SELECT v FROM shop.kv WHERE k = 'a'",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
