"""Access to the memcached door and its rights, TLS, and opening and closing it beside the other plugin."""
import contextlib
import itertools
import re
import shutil
import ssl
import subprocess

import pymysql
import pytest
from support.clients import mc
from support.clients.mc import binary, until_mapped
from support.server import ROOT, sandbox
from support.waiting import until

CONTAINERS = (
    "CREATE DATABASE innodb_memcache",
    "CREATE TABLE innodb_memcache.containers (name VARCHAR(50) PRIMARY KEY, db_schema VARCHAR(250), db_table VARCHAR(250), "
    "key_columns VARCHAR(250), value_columns VARCHAR(250), flags VARCHAR(250), cas_column VARCHAR(250), "
    "expire_time_column VARCHAR(250), unique_idx_name_on_key VARCHAR(250))",
)
CONTAINER = (
    "CREATE TABLE test.t (k INT PRIMARY KEY, v TEXT)",
    "INSERT INTO test.t VALUES (1, 'one')",
    "INSERT INTO innodb_memcache.containers VALUES ('x', 'test', 't', 'k', 'v', '0', '0', '0', 'PRIMARY')",
)


@pytest.fixture(scope="module")
def accounts(module_factory):
    server = module_factory("--memcached-auth=account", containers=True)
    server.execute(
        "CREATE TABLE test.open (k VARCHAR(20) PRIMARY KEY, v TEXT, flags INT, cas BIGINT UNSIGNED, expire_time INT)",
        "CREATE TABLE test.closed LIKE test.open",
        "INSERT INTO test.closed VALUES ('k', 'secret', 0, 0, 0)",
        "CALL postern.map_table('default', 'test', 'open', 'k', 'v')",
        "CALL postern.map_table('closed', 'test', 'closed', 'k', 'v')",
        "CREATE USER ann@localhost IDENTIFIED BY 'pass word'",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON test.open TO ann@localhost",
        "CREATE USER reader@localhost IDENTIFIED BY 'r'",
        "GRANT SELECT ON test.open TO reader@localhost",
    )
    with log_in(server, "ann", "pass word")[0] as one:
        until(lambda: "denied" in one.ask("mg @@closed.k"))
    yield server
    server.assert_alive()


def log_in(server, user, password):
    client = server.mc()
    return client, client.set("login", f"{user} {password}")


def test_strangers_get_no_answer(accounts):
    with accounts.mc() as one:
        assert one.ask("version").startswith("VERSION")
        for command in (
            "get k",
            "get a b c",
            "delete k",
            "incr k 1",
            "touch k 1",
            "stats",
            "flush_all",
            "mg k v",
            "mn",
            "gat 1 a b",
        ):
            assert one.ask(command).startswith("CLIENT_ERROR"), command
        one.send(b"ms k 1\r\nx\r\nadd k 0 0 1\r\nx\r\nversion\r\n")
        assert one.line().startswith(b"CLIENT_ERROR") and one.line().startswith(b"CLIENT_ERROR")
        assert one.line().startswith(b"VERSION")


def test_login_by_text(accounts):
    one, told = log_in(accounts, "ann", "wrong")
    with one:
        assert told.startswith("CLIENT_ERROR"), told
        assert one.ask("get k").startswith("CLIENT_ERROR")
        assert one.set("again", "ann pass word") == "STORED"
        assert one.set("k", "v") == "STORED"
        assert one.get("k") == b"v"
    with accounts.mc() as other:
        assert other.ask("get k").startswith("CLIENT_ERROR"), "a login is for one connection"
    with accounts.mc() as pipelined:
        pipelined.send(b"set x 0 0 13\r\nann pass word\r\nset p 0 0 1\r\n1\r\nget p\r\n")
        assert [pipelined.line() for _ in range(2)] == [b"STORED", b"STORED"] and pipelined.items() == [
            ("p", 0, b"1", None)
        ]
    for strange in ("nobody x", "ann", "", " ", "ann  ", "root "):
        one, told = log_in(accounts, strange, "")
        with one:
            assert told.startswith("CLIENT_ERROR"), strange


def test_values_of_applications_are_in_no_log(sandbox_factory):
    """A client that has reconnected sends its items where the door expects a login."""
    server = sandbox_factory(
        "--memcached-auth=account",
        "--log-warnings=9",
        "--general-log=1",
        "--general-log-file=general.log",
        containers=True,
    )
    server.execute("CREATE USER ann@localhost IDENTIFIED BY 'pass word'", "CREATE USER ann2@localhost")
    with server.mc() as one:
        told = {
            value: one.set("k", value)
            for value in ("value1", "value2 ", "value3 value4", "value5\nvalue6 x", "ann wrong")
        }
        assert all(line.startswith("CLIENT_ERROR") for line in told.values()), told
        # Strangers do not learn which accounts exist.
        assert told["value3 value4"].replace("value3", "ann") == told["ann wrong"]
        assert one.set("k", "value7 x", flags=1).startswith("CLIENT_ERROR")
        assert one.store("cas", "k", "value8 x", tail=" 5").startswith("CLIENT_ERROR")
        assert one.set("k", "ann2 ") == "STORED"
    with server.mc() as one:
        one.send(binary(0x21, b"PLAIN", b"\0value9\0value10"))
        assert one.binary_answer()[1] == 0x20
    logs = server.log() + next(server.dir.rglob("general.log")).read_text(errors="replace")
    assert not re.findall(r".*value\d.*", logs)
    assert logs.count("Access denied for user '(no account of this name)'@'localhost'") >= 3
    assert "Access denied for user 'ann'@'localhost'" in logs and "ann2@localhost" in logs


def test_browsers_are_hung_up_on(accounts):
    for line in (
        b"GET / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\n\r\n",
        b"PUT /x HTTP/1.0\r\n",
        b"Host: here\r\n",
    ):
        for connect in (accounts.mc, accounts.hs, accounts.hs_wr):
            with connect() as one:
                one.send(line + b"version\r\n")
                assert one.closed_by_server(), line
                assert one.received == b"", line


def test_login_by_sasl(accounts):
    with accounts.mc() as one:
        one.send(binary(0x20))
        assert one.binary_answer()[1:3] == (0, b"PLAIN")
        one.send(binary(0x00, b"k"))
        assert one.binary_answer()[1] == 0x20
        one.send(binary(0x21, b"PLAIN", b"\0ann\0wrong"))
        assert one.binary_answer()[1] == 0x20
        one.send(binary(0x21, b"PLAIN", b"\0ann\0pass word") + binary(0x01, b"s", b"v", bytes(8)) + binary(0x00, b"s"))
        assert [one.binary_answer()[1:3] for _ in range(3)][0::2] == [(0, b"Authenticated"), (0, b"v")]


def test_grants_decide(accounts):
    one, told = log_in(accounts, "reader", "r")
    with one:
        assert told == "STORED"
        assert one.get("nothing") is None
        for answered in (one.set("k", 1), one.ask("delete k"), one.ask("incr k 1"), one.store("append", "k", 1)):
            assert "command denied to user 'reader'@'localhost'" in answered
        with pytest.raises(mc.ServerSays, match="denied"):
            one.get("@@closed.k")
    accounts.execute("INSERT INTO test.open VALUES ('gone', 'x', 0, 0, 1)")
    with log_in(accounts, "reader", "r")[0] as one:
        for _ in range(5):
            assert one.get("gone") is None, "an expired item, which this account may not delete"
    assert accounts.query("SELECT COUNT(*) FROM test.open WHERE k = 'gone'") == [(1,)]


def test_statistics_count_logins(accounts):
    before = accounts.status("memcached_auth%")
    for password in ("pass word", "no"):
        log_in(accounts, "ann", password)[0].close()
    after = accounts.status("memcached_auth%")
    assert after["memcached_auth_cmds"] == before["memcached_auth_cmds"] + 2
    assert after["memcached_auth_errors"] == before["memcached_auth_errors"] + 1


@pytest.mark.parametrize(
    "options, listens",
    [([], False), (["--memcached-allow-open-access=1"], True), (["--memcached-auth=account"], True)],
    ids=["none", "forced", "account"],
)
def test_what_may_listen_for_other_machines(sandbox_factory, options, listens):
    server = sandbox_factory(*options, "--memcached-address=0.0.0.0")
    assert ("refusing to listen on 0.0.0.0" in server.log()) != listens
    assert ("without TLS shows its password" in server.log()) == ("--memcached-auth=account" in options)
    active = server.query("SELECT plugin_name FROM information_schema.plugins WHERE plugin_library LIKE 'postern%'")
    assert (("memcached",) in active) == listens
    assert ("handlersocket",) in active, "the other plugins are there in any case"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")
def test_tls(sandbox_factory, tmp_path):
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=x",
            "-keyout",
            tmp_path / "key.pem",
            "-out",
            tmp_path / "cert.pem",
        ],
        check=True,
        capture_output=True,
    )
    server = sandbox_factory(
        f"--ssl-cert={tmp_path / 'cert.pem'}",
        f"--ssl-key={tmp_path / 'key.pem'}",
        "--memcached-require-tls=1",
        containers=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with server.mc(wrap=context.wrap_socket) as one:
        until(lambda: one.ask("mg AA v").startswith("VA") and one.line() == b"HELLO, HELLO")
        assert one.set("@@aaa.BB", "some") == "STORED"
        assert one.get("BB") == b"some"
    with server.mc() as plain:
        assert "TLS is required" in plain.ask("get AA")
        assert plain.closed_by_server()
    with mc.Client(server.env["MEMC_SOCKET"]) as local:
        assert local.get("@@aaa.BB") == b"some"


def libraries(server):
    return {
        name
        for name, in server.query(
            "SELECT plugin_name FROM information_schema.plugins "
            "WHERE plugin_library LIKE 'postern%' AND plugin_status = 'ACTIVE' "
            "AND plugin_name IN ('handlersocket', 'memcached')"
        )
    }


def threads(server):
    return server.query(
        "SELECT state FROM information_schema.processlist WHERE user = 'postern' AND state NOT LIKE 'redis%'"
    )


def test_either_plugin_comes_and_goes_without_the_other(sandbox_factory):
    server = sandbox_factory(containers=True)
    for first, second in itertools.islice(
        itertools.cycle([("handlersocket", "memcached"), ("memcached", "handlersocket")]), 6
    ):
        until_mapped(server, "aaa")
        with server.mc() as one, server.hs() as other:
            assert one.get("AA") == b"HELLO, HELLO"
            one.send(b"set half 0 0 10\r\nabc")
            server.execute(f"UNINSTALL PLUGIN {first}")
            gone, left = (other, one) if first == "handlersocket" else (one, other)
            assert gone.closed_by_server()
            assert libraries(server) == {second}
            if left is one:
                one.send(b"defghij\r\n")
                assert one.line() == b"STORED" and one.ask("delete half") == "DELETED"
            else:
                left.open(0, "test", "demo_test", "c1,c2")
            server.execute(f"UNINSTALL PLUGIN {second}")
            assert left.closed_by_server()
        assert libraries(server) == set() and not threads(server)
        for name in (second, first):
            server.execute(f"INSTALL PLUGIN {name} SONAME 'postern'")
    log = server.log()
    assert log.count("Postern: memcached: all doors closed") == 6
    assert log.count("Postern: handlersocket: all doors closed") == 6
    server.execute("UNINSTALL SONAME 'postern'", "INSTALL SONAME 'postern'")
    assert libraries(server) == {"handlersocket", "memcached"}


def test_uninstall_under_load_ends_everything(sandbox_factory):
    server = sandbox_factory(containers=True)
    for _ in range(10):
        until_mapped(server, "aaa")
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(server.mc()) for _ in range(20)]
            for number, one in enumerate(clients):
                one.send(
                    b"".join(
                        b"set k%d 0 0 1\r\n1\r\nget k%d AA\r\nincr k%d 1\r\n" % (number, number, number)
                        for _ in range(300)
                    )
                )
            server.execute("UNINSTALL PLUGIN memcached")
            assert not [state for state, in threads(server) if "memcached" in (state or "")]
            server.execute("INSTALL PLUGIN memcached SONAME 'postern'")
    until_mapped(server, "aaa")


def test_the_door_opens_with_the_first_container(sandbox_factory):
    server = sandbox_factory()
    until(lambda: "innodb_memcache.sql" in server.log())
    assert not mc.listens(server.env["MEMC_PORT"])
    server.execute(
        "SHOW GLOBAL STATUS LIKE 'memcached%'",
        "UNINSTALL PLUGIN memcached",
        "INSTALL PLUGIN memcached SONAME 'postern'",
    )
    with open(ROOT / "sql/innodb_memcache.sql", encoding="utf-8") as script:
        sandbox("sql", server.dir, stdin=script)
    until(lambda: "has no rows" in server.log())
    assert not mc.listens(server.env["MEMC_PORT"])
    assert server.query("SHOW TABLES IN test") == [], "MySQL's example is in a script of its own"
    server.execute(*CONTAINER)
    until(lambda: mc.listens(server.env["MEMC_PORT"]))
    with server.mc() as one:
        assert one.get("1") == b"one"
    server.restart()
    until(lambda: mc.listens(server.env["MEMC_PORT"]))


def test_without_the_tables_the_log_and_the_client_say_so(sandbox_factory):
    server = sandbox_factory(containers=True)
    with server.mc() as one:
        server.execute("DROP DATABASE innodb_memcache")
        until(lambda: "no table" in one.ask("mg nobody v"))
        with pytest.raises(mc.ServerSays, match="SERVER_ERROR There is no table innodb_memcache.containers"):
            one.get("k")
        assert "innodb_memcache.sql" in one.set("k", 1)
        server.execute(*CONTAINERS)
        until(lambda: "has no rows" in one.ask("get k"))
        server.execute(*CONTAINER)
        until_mapped(server, "x")
        assert one.get("1") == b"one"


def test_a_taken_port_is_logged_and_everything_else_works(sandbox_factory):
    first = sandbox_factory(containers=True)
    second = sandbox_factory(f"--memcached-port={first.env['MEMC_PORT']}")
    assert libraries(second) == {"handlersocket", "memcached"}
    second.execute(*CONTAINERS, *CONTAINER)
    until(lambda: "Postern: memcached port: " in second.log())
    with second.hs() as client:
        assert client.request("P", 0, "innodb_memcache", "containers", "PRIMARY", "name") == ["0", "1"]


def test_writes_survive_a_crash(sandbox_factory):
    server = sandbox_factory(containers=True)
    until_mapped(server, "aaa")
    with server.mc() as one:
        one.send(b"".join(b"set k%d 0 0 1\r\n1\r\n" % i for i in range(500)))
        stored = sum(one.line() == b"STORED" for _ in range(500))
    server.kill()
    server.start()
    assert server.query("SELECT COUNT(*) FROM test.demo_test WHERE c1 LIKE 'k%'") == [(stored,)] == [(500,)]
    with server.mc() as one:
        until_mapped(server, "aaa")
        before = int(server.query("SELECT MAX(c4) FROM test.demo_test")[0][0])
        one.set("k0", 2)
        assert one.gets("k0")[2] > before


def test_a_read_only_server_refuses_writes_in_words(sandbox_factory):
    server = sandbox_factory(containers=True)
    until_mapped(server, "aaa")
    server.execute("SET GLOBAL read_only = 1")
    with server.mc() as one:
        assert one.get("AA") == b"HELLO, HELLO"
        assert "read-only" in one.set("k", 1)
    server.execute("SET GLOBAL read_only = 0")


def test_map_table_needs_the_callers_own_rights(accounts):
    with contextlib.closing(
        pymysql.connect(unix_socket=accounts.env["SQL_SOCKET"], user="reader", password="r")
    ) as sql, sql.cursor() as cursor, pytest.raises(pymysql.MySQLError):
        cursor.execute("CALL postern.map_table('mine', 'test', 'open', 'k', 'v')")
