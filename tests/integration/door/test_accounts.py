"""Clients log in as accounts of the server."""
import contextlib
import os
import pwd
import subprocess

import pymysql
import pytest
from support.accounts import GOOD, UNAUTHORIZED, denied, login
from support.waiting import until


# --- logins ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how, password",
    [
        ("IDENTIFIED BY 'pw'", "pw"),
        ("IDENTIFIED VIA mysql_native_password USING PASSWORD('pw')", "pw"),
        ("IDENTIFIED VIA ed25519 USING PASSWORD('long secret')", "long secret"),
        ("IDENTIFIED VIA ed25519 USING PASSWORD('one') OR mysql_native_password USING PASSWORD('two')", "one"),
        ("IDENTIFIED VIA ed25519 USING PASSWORD('one') OR mysql_native_password USING PASSWORD('two')", "two"),
        ("IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('two')", "two"),
        ("IDENTIFIED BY ''", ""),
    ],
    ids=["native", "native-via", "ed25519", "or-first", "or-second", "or-socket", "no-password"],
)
def test_the_servers_authentication_decides(accounts, user, how, password):
    name = user(how, grants=["SELECT ON test.t"])
    with accounts.hs() as client:
        assert client.request("P", 0, "test", "t", "PRIMARY", "id,a") == UNAUTHORIZED
        assert login(client, name, password + "x") == UNAUTHORIZED
        assert login(client, name, password) == GOOD
        client.open(0, "test", "t", "id,a")
        assert client.request(0, "=", 1, 7) == ["0", "2", "7", "70"]


@pytest.mark.parametrize("password", ["ta\tb", "nu\0l", "\1\2\x0f", "line\nfeed", "Pässwörd 鍵", "x" * 200])
def test_any_bytes_may_be_a_password(accounts, user, password):
    quoted = "".join(f"{byte:02x}" for byte in password.encode())
    name = user(
        f"IDENTIFIED BY PASSWORD '{accounts.query(f'SELECT PASSWORD(CONVERT(0x{quoted} USING utf8mb4))')[0][0]}'"
    )
    with accounts.hs() as client:
        assert login(client, name, password[:-1]) == UNAUTHORIZED
        assert login(client, name, password) == GOOD


def test_what_follows_a_login_in_one_piece_is_answered_in_order(accounts, user):
    name = user(grants=["SELECT ON test.t"])
    opening, find = ("P", 0, "test", "t", "PRIMARY", "id"), (0, "=", 1, 5)
    with accounts.hs() as client:
        replies = client.pipeline(
            opening,
            ("A", 2, name, "pw"),
            find,
            opening,
            find,
            ("A", 2, name, "no"),
            find,
            ("A", 2, name, "pw"),
            find,
            ("A", 1, "pw"),
            find,
            ("what",),
        )
    assert replies == [
        UNAUTHORIZED,
        GOOD,
        ["2", "1", "stmtnum"],
        GOOD,
        ["0", "1", "5"],
        UNAUTHORIZED,
        UNAUTHORIZED,
        GOOD,
        ["0", "1", "5"],
        ["3", "1", "authtype"],
        UNAUTHORIZED,
        ["2", "1", "cmd"],
    ]


def test_a_second_login_takes_nothing_of_the_first_along(accounts, user):
    first, second = user(grants=["SELECT ON test.t"]), user(grants=["SELECT ON test.other"])
    with accounts.hs() as client:
        assert login(client, first) == GOOD
        client.open(0, "test", "t", "id")
        assert login(client, second) == GOOD
        assert client.request(0, "=", 1, 5) == denied("SELECT", second)
        assert login(client, first) == GOOD
        assert client.request(0, "=", 1, 5) == ["0", "1", "5"]


def test_malformed_logins_are_refused(accounts, user):
    name = user()
    with accounts.hs() as client:
        for line in (
            b"A\t2",
            b"A\t2\t",
            b"A\t2\t" + name.encode(),
            b"A\t2\t\0\t\0",
            b"A\t2\tx\t\1",
            b"A\t2\t\1@root\tpw",
            b"A\t2\t" + name.encode() + b"\1@x\tpw",
            b"A\t2\t" + b"n" * 100000 + b"\tpw",
            b"A\t2\t" + name.encode() + b"\t" + b"p" * 100000,
        ):
            client.send(line + b"\n")
            assert client.line() == b"3\t1\tunauth", line[:40]
        assert client.request("A") == ["3", "1", "authtype"]
    accounts.assert_alive()


@pytest.mark.parametrize(
    "how, host",
    [
        ("IDENTIFIED BY 'pw' ACCOUNT LOCK", "localhost"),
        ("IDENTIFIED BY 'pw' PASSWORD EXPIRE", "localhost"),
        ("IDENTIFIED BY 'pw' REQUIRE SSL", "localhost"),
        ("IDENTIFIED BY 'pw' REQUIRE X509", "localhost"),
        ("IDENTIFIED BY 'pw' REQUIRE SUBJECT '/CN=x'", "localhost"),
        ("IDENTIFIED BY 'pw'", "10.%"),
        ("IDENTIFIED BY 'pw'", "example.org"),
        ("IDENTIFIED VIA unix_socket", "localhost"),
    ],
    ids=["locked", "expired", "ssl", "x509", "subject", "network", "name", "socket"],
)
def test_the_server_keeps_accounts_out(accounts, user, how, host):
    name = user(how, host, grants=["SELECT ON test.*"])
    with accounts.hs() as client:
        assert login(client, name) == UNAUTHORIZED
        assert client.request("P", 0, "test", "t", "PRIMARY", "id") == UNAUTHORIZED


@pytest.mark.parametrize("host", ["127.%", "127.0.0.0/255.0.0.0", "%"])
def test_host_patterns_see_the_clients_address(accounts, user, host):
    name = user(host=host, grants=["SELECT ON test.t"])
    with accounts.hs() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "id")


def test_max_password_errors_blocks(accounts, user):
    name = user()
    with accounts.hs() as client:
        for _ in range(5):
            assert login(client, name, "no") == UNAUTHORIZED
        assert login(client, name) == UNAUTHORIZED
        accounts.execute("FLUSH PRIVILEGES")
        assert login(client, name) == GOOD


def test_unix_socket_accounts_go_by_the_peer(sandbox_factory):
    server = sandbox_factory("--handlersocket-auth=account")
    me = pwd.getpwuid(os.getuid()).pw_name
    server.execute(
        "CREATE OR REPLACE USER nobodyelse@localhost IDENTIFIED VIA unix_socket",
        f"CREATE USER IF NOT EXISTS '{me}'@localhost",
        f"ALTER USER '{me}'@localhost IDENTIFIED VIA unix_socket OR mysql_native_password USING 'invalid'",
    )
    with server.hs() as client:  # the server runs as this same user, which must not matter
        assert login(client, me, "") == UNAUTHORIZED
        assert login(client, me, "x") == UNAUTHORIZED
        assert login(client, "nobodyelse", "") == UNAUTHORIZED
    from support.clients import hs

    with hs.Client(server.env["HS_SOCKET"]) as client:
        assert login(client, "nobodyelse", "") == UNAUTHORIZED
        assert login(client, me, "") == GOOD
    if me == "root":
        # Another user at the other end of the same socket.
        os.chmod(server.dir, 0o755)
        os.chmod(server.env["HS_SOCKET"], 0o666)
        script = (
            f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({server.env['HS_SOCKET']!r}); "
            "s.sendall(b'A\\t2\\troot\\t\\n'); print(s.recv(100))"
        )
        done = subprocess.run(
            ["/usr/bin/python3", "-c", script], user="nobody", cwd="/", capture_output=True, text=True, check=False
        )
        assert "unauth" in done.stdout or "Permission denied" in done.stderr, done


def test_nobody_is_let_in_without_grant_tables(sandbox_factory):
    server = sandbox_factory("--handlersocket-auth=account", "--skip-grant-tables")
    with server.hs() as client:
        assert login(client, "root", "") == UNAUTHORIZED
        assert client.request("P", 0, "test", "t", "PRIMARY", "id") == UNAUTHORIZED
    server.assert_alive()


def test_anonymous_accounts(accounts):
    accounts.execute("CREATE USER ''@localhost IDENTIFIED BY 'pw'", "GRANT SELECT ON test.t TO ''@localhost")
    try:
        with accounts.hs() as client:
            assert login(client, "whoever", "no") == UNAUTHORIZED
            assert login(client, "whoever") == GOOD
            client.open(0, "test", "t", "id")
            assert client.request("P", 1, "test", "other", "PRIMARY", "id") == denied("SELECT", "", "other")
    finally:
        accounts.execute("DROP USER ''@localhost")


def test_without_name_resolution(sandbox_factory):
    server = sandbox_factory("--handlersocket-auth=account", "--skip-name-resolve")
    server.execute(
        "CREATE USER byname@localhost IDENTIFIED BY 'pw'",
        "CREATE USER byip@'127.0.0.1' IDENTIFIED BY 'pw'",
        "GRANT SELECT ON test.* TO byip@'127.0.0.1'",
        "CREATE TABLE test.t (id INT PRIMARY KEY)",
    )
    with server.hs() as client:
        assert login(client, "byname") == UNAUTHORIZED
        assert login(client, "byip") == GOOD
        client.open(0, "test", "t", "id")


# --- throttling, and its log ---------------------------------------------------------------------------------------


def test_passwords_are_shown_nowhere(accounts, user):
    name = user("IDENTIFIED BY 'hush-hush'", grants=["SELECT ON test.t"])
    accounts.execute("SET GLOBAL general_log = 1", "SET GLOBAL general_log_file = 'general.log'")
    try:
        with accounts.hs() as client:
            assert login(client, name, "hush-hush") == GOOD
            assert login(client, name, "hush-hash") == UNAUTHORIZED
            shown = (
                repr(
                    [
                        accounts.query(what)
                        for what in (
                            "SHOW FULL PROCESSLIST",
                            "SHOW GLOBAL STATUS",
                            "SHOW GLOBAL VARIABLES",
                            "SELECT * FROM information_schema.processlist",
                        )
                    ]
                )
                + accounts.log()
            )
    finally:
        accounts.execute("SET GLOBAL general_log = 0")
    for path in accounts.dir.rglob("general.log"):
        text = path.read_text(errors="replace")
        assert f"{name}@localhost" in text, "logins are in the general log, as those of SQL"
        shown += text
    assert "hush-h" not in shown


def test_the_audit_plugin_hears_of_logins(sandbox_factory):
    server = sandbox_factory(
        "--handlersocket-auth=account",
        "--plugin-load-add=server_audit",
        "--server-audit-logging=ON",
        "--server-audit-events=CONNECT",
    )
    server.execute("CREATE USER ann@localhost IDENTIFIED BY 'pw'")
    with server.hs() as client:
        assert login(client, "ann", "no") == UNAUTHORIZED
        assert login(client, "ann") == GOOD
    text = "".join(path.read_text() for path in server.dir.rglob("server_audit.log"))
    lines = [line for line in text.splitlines() if ",ann,localhost," in line]
    assert any(line.endswith(",1045") for line in lines) and any(line.endswith(",0") for line in lines), text


def test_logins_are_counted(accounts, user):
    name = user()
    before = accounts.status("handlersocket_%")
    with accounts.hs() as client:
        login(client, name)
        login(client, name, "no")
        client.request("P", 0, "test", "t", "PRIMARY", "id")
        login(client, name)
        client.request("P", 0, "test", "t", "PRIMARY", "id")
    after = accounts.status("handlersocket_%")
    moved = {key[14:]: after[key] - before[key] for key in after if after[key] != before[key]}
    assert moved["logins"] == 2 and moved["logins_failed"] == 1
    assert moved["errors_unauthorized"] == 2 and moved["errors_privilege_denied"] == 1


def test_accounts_are_unknown_to_other_ways_of_authentication(server):
    with server.hs() as client:
        assert client.request("A", 2, "root", "") == ["3", "1", "authtype"]


def test_limits_of_an_account_hold(accounts, user):
    name = user("IDENTIFIED BY 'pw' WITH MAX_CONNECTIONS_PER_HOUR 3")
    with accounts.hs() as client:
        assert [login(client, name) for _ in range(5)] == [GOOD] * 3 + [UNAUTHORIZED] * 2


def test_connections_of_an_account_are_bounded_with_those_of_sql(accounts, user):
    name = user("IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 2")
    with accounts.hs() as first, accounts.hs_wr() as second, accounts.hs() as third:
        assert [login(first, name) for _ in range(3)] == [GOOD] * 3, "one connection, however often it logs in"
        with contextlib.closing(accounts.connect(user=name, password="pw")):
            assert login(second, name) == UNAUTHORIZED
        until(lambda: login(second, name) == GOOD)
        assert login(third, name) == UNAUTHORIZED
        with pytest.raises(pymysql.Error, match="max_user_connections"):
            accounts.connect(user=name, password="pw")
        first.close()
        until(lambda: login(third, name) == GOOD)


def test_the_bound_for_all_accounts_holds(sandbox_factory):
    server = sandbox_factory("--handlersocket-auth=account", "--max-user-connections=3")
    server.execute("CREATE USER u@localhost IDENTIFIED BY 'pw'")
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.hs()) for _ in range(5)]
        assert [login(client, "u") for client in clients] == [GOOD] * 3 + [UNAUTHORIZED] * 2
        server.execute("UNINSTALL SONAME 'postern'")
        for _ in range(3):
            stack.enter_context(contextlib.closing(server.connect(user="u", password="pw")))


@pytest.mark.parametrize(
    "options, listens",
    [
        (["--handlersocket-auth=none", "--handlersocket-plain-secret=s", "--handlersocket-plain-secret-wr=s"], False),
        (["--handlersocket-auth=none", "--handlersocket-allow-open-access=1"], True),
        (["--handlersocket-auth=account"], True),
    ],
    ids=["none", "forced", "account"],
)
def test_what_may_listen_for_other_machines(sandbox_factory, options, listens):
    server = sandbox_factory(start=False)
    with contextlib.nullcontext() if listens else pytest.raises(AssertionError):
        server.start(*options, "--handlersocket-address=0.0.0.0")
    assert ("refusing to listen" in server.log()) != listens
