"""Accounts of MySQL 9.7 at its doors: the server's own authentication, grants, roles, partial revokes, locks, expiry,
limits and TLS apply as in SQL."""
import contextlib
import os
import pwd
import ssl
import threading
from pathlib import Path

import pymysql
import pytest

from support.clients import hs, mc, resp
from support.accounts import GOOD, UNAUTHORIZED, login
from support.certificates import make_certificate
from support.clients.mysql import Mysql, build, make_tables_of_doors, made_users, marks
from support.waiting import until

pytestmark = marks

# A change of privileges takes effect within this time.
HELD_SECONDS = 1
OPEN = ("P", 0, "test", "t", "PRIMARY", "id,a")


def refused(redis, *words):
    """The first word of the error."""
    return redis.ask_raw(*words).split()[0].lstrip(b"-").decode()


def denied(command, name, table="t", column=None):
    what = f"column '{column}' in table '{table}'" if column else f"table '{table}'"
    return ["3", "1", f"{command} command denied to user '{name}'@'localhost' for {what}"]


@pytest.fixture(scope="module", name="mysql")
def running_server(tmp_path_factory):
    build()
    server = Mysql(tmp_path_factory.mktemp("mysql"))
    server.start(
        *(f"--{door}-auth=account" for door in ("handlersocket", "memcached", "redis")),
        f"--handlersocket-socket={server.dir}/hs.sock",
        f"--redis-socket={server.dir}/redis.sock",
        "--partial-revokes=ON",
        "--log-error-verbosity=3",
        "--general-log=ON",
        f"--general-log-file={server.dir}/general.log",
        "--plugin-load-add=auth_socket.so",
    )
    server.query(
        "CREATE DATABASE test",
        "CREATE DATABASE private",
        "CREATE TABLE test.t (id INT PRIMARY KEY, a INT, b INT, c INT, KEY ab (a, b))",
        "CREATE TABLE private.t LIKE test.t",
        "CREATE TABLE test.other LIKE test.t",
        "INSERT INTO test.t VALUES (1, 10, 1, 1), (5, 50, 5, 5), (7, 70, 7, 7)",
    )
    make_tables_of_doors(server)
    yield server
    server.run("stop")


@pytest.fixture(name="user")
def make_user(mysql):
    with made_users(mysql) as make:
        yield make


# --- logins ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how, password",
    [
        ("IDENTIFIED BY 'pw'", "pw"),
        ("IDENTIFIED WITH sha256_password BY 'pw'", "pw"),
        ("IDENTIFIED BY ''", ""),
        ("IDENTIFIED WITH sha256_password BY ''", ""),
        ("IDENTIFIED BY 'Pässwört 鍵 and more than twenty bytes'", "Pässwört 鍵 and more than twenty bytes"),
    ],
    ids=["caching_sha2", "sha256", "no-password", "sha256-no-password", "long"],
)
def test_the_servers_authentication_decides(mysql, user, how, password):
    name = user(how, grants=["SELECT ON test.t"])
    for address in (int(mysql.env["HS_PORT"]), f"{mysql.dir}/hs.sock"):
        # Over TCP the password is sealed with RSA, as over the unix socket; afterwards the server has it cached.
        mysql.query("FLUSH PRIVILEGES")
        with hs.Client(address) as client:
            assert client.request(*OPEN) == UNAUTHORIZED
            assert login(client, name, password + "x") == UNAUTHORIZED
            assert login(client, name, password) == GOOD
            assert login(client, name, password) == GOOD
            client.open(0, "test", "t", "id,a")
            assert client.request(0, "=", 1, 7) == ["0", "2", "7", "70"]


def test_full_authentication_comes_first_and_fast_afterwards(mysql, user):
    name = user(grants=["SELECT ON test.t"])
    mysql.query("FLUSH PRIVILEGES")  # empties the cache
    key_uses = (
        "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Handlersocket_logins'"
    )
    before = int(mysql.query(key_uses)[0][0])
    with mysql.door() as client:
        assert [login(client, name) for _ in range(3)] == [GOOD] * 3
        assert login(client, name, "no") == UNAUTHORIZED
    assert int(mysql.query(key_uses)[0][0]) - before == 3


def test_a_second_password_works_as_well(mysql, user):
    name = user("IDENTIFIED BY 'old'")
    mysql.query(f"ALTER USER {name}@localhost IDENTIFIED BY 'new' RETAIN CURRENT PASSWORD")
    with mysql.door() as client:
        assert [login(client, name, word) for word in ("old", "new", "other")] == [GOOD, GOOD, UNAUTHORIZED]
        mysql.query(f"ALTER USER {name}@localhost DISCARD OLD PASSWORD")
        assert [login(client, name, word) for word in ("old", "new")] == [UNAUTHORIZED, GOOD]


@pytest.mark.parametrize(
    "how, host",
    [
        ("IDENTIFIED BY 'pw' ACCOUNT LOCK", "localhost"),
        ("IDENTIFIED BY 'pw' PASSWORD EXPIRE", "localhost"),
        ("IDENTIFIED BY 'pw' REQUIRE SSL", "localhost"),
        ("IDENTIFIED BY 'pw' REQUIRE X509", "localhost"),
        ("IDENTIFIED BY 'pw'", "10.%"),
        ("IDENTIFIED WITH auth_socket", "localhost"),
    ],
    ids=["locked", "expired", "ssl", "x509", "network", "socket"],
)
def test_the_server_keeps_accounts_out(mysql, user, how, host):
    name = user(how, host, grants=["SELECT ON test.*"])
    with mysql.door() as client:
        assert login(client, name) == UNAUTHORIZED
        assert client.request(*OPEN) == UNAUTHORIZED


def test_an_expired_password_lets_nobody_in_whatever_sql_does_with_it(mysql, user):
    name = user("IDENTIFIED BY 'pw' PASSWORD EXPIRE")
    mysql.query("SET PERSIST_ONLY disconnect_on_expired_password = OFF", "RESET PERSIST")
    with mysql.door() as client:
        assert login(client, name) == UNAUTHORIZED
        mysql.query(f"ALTER USER {name}@localhost IDENTIFIED BY 'fresh'")
        assert login(client, name, "fresh") == GOOD


def test_too_many_failed_logins_lock_the_account(mysql, user):
    name = user("IDENTIFIED BY 'pw' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2")
    with mysql.door() as client:
        assert [login(client, name, "no") for _ in range(3)] == [UNAUTHORIZED] * 3
        assert login(client, name) == UNAUTHORIZED
        with pytest.raises(pymysql.Error, match="blocked"):
            pymysql.connect(unix_socket=mysql.env["SQL_SOCKET"], user=name, password="pw")
        mysql.query(f"ALTER USER {name}@localhost ACCOUNT UNLOCK")
        assert login(client, name) == GOOD


def test_unix_socket_accounts_go_by_the_peer(mysql):
    me = pwd.getpwuid(os.getuid()).pw_name
    mysql.query(
        "CREATE USER nobodyelse@localhost IDENTIFIED WITH auth_socket",
        f"CREATE USER byname@localhost IDENTIFIED WITH auth_socket AS '{me}'",
    )
    try:
        with mysql.door() as client:  # the server runs as this same user, which must not matter
            assert login(client, "byname", "") == UNAUTHORIZED
        with hs.Client(f"{mysql.dir}/hs.sock") as client:
            assert login(client, "nobodyelse", "") == UNAUTHORIZED
            assert login(client, "byname", "") == GOOD
    finally:
        mysql.query("DROP USER nobodyelse@localhost, byname@localhost")


def test_an_account_that_wants_a_second_factor_is_kept_out(mysql, user):
    name = user("IDENTIFIED BY 'pw'")
    with mysql.door() as client:
        assert login(client, name) == GOOD
        mysql.query(
            "SET GLOBAL authentication_policy = '*,*'",
            f"ALTER USER {name}@localhost ADD 2 FACTOR IDENTIFIED WITH auth_socket",
        )
        try:
            assert login(client, name) == UNAUTHORIZED
        finally:
            mysql.query(f"ALTER USER {name}@localhost DROP 2 FACTOR", "SET GLOBAL authentication_policy = '*,,'")
        assert login(client, name) == GOOD


def test_limits_of_an_account_hold(mysql, user):
    name = user("IDENTIFIED BY 'pw' WITH MAX_CONNECTIONS_PER_HOUR 3")
    with mysql.door() as client:
        assert [login(client, name) for _ in range(5)] == [GOOD] * 3 + [UNAUTHORIZED] * 2


def test_connections_of_an_account_are_bounded_with_those_of_sql(mysql, user):
    name = user("IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 2")

    def by_sql():
        return pymysql.connect(unix_socket=mysql.env["SQL_SOCKET"], user=name, password="pw")

    with mysql.door() as first, mysql.write_door() as second, mysql.door() as third:
        assert [login(first, name) for _ in range(3)] == [GOOD] * 3, "one connection, however often it logs in"
        with contextlib.closing(by_sql()):
            assert login(second, name) == UNAUTHORIZED
        until(lambda: login(second, name) == GOOD)
        assert login(third, name) == UNAUTHORIZED
        with pytest.raises(pymysql.Error, match="max_user_connections"):
            by_sql()
        first.close()
        until(lambda: login(third, name) == GOOD)


def test_passwords_are_shown_nowhere(mysql, user):
    name = user("IDENTIFIED BY 'hush-hush'", grants=["SELECT ON test.t"])
    with mysql.door() as client:
        assert login(client, name, "hush-hush") == GOOD
        assert login(client, name, "hush-hash") == UNAUTHORIZED
        shown = repr(
            [mysql.query(what) for what in ("SHOW FULL PROCESSLIST", "SHOW GLOBAL STATUS", "SHOW GLOBAL VARIABLES")]
        )
    log = (mysql.dir / "general.log").read_text(errors="replace")
    assert f"{name}@localhost" in log, "logins are in the general log, as those of SQL"
    errors = (mysql.dir / "error.log").read_text(errors="replace")
    assert f"Access denied for user '{name}'@'localhost'" in errors
    assert "hush-h" not in shown + errors + "\n".join(line for line in log.splitlines() if "CREATE USER" not in line)


def test_the_other_doors_ask_for_accounts_too(mysql, user):
    name = user(grants=["ALL ON postern_redis.*", "SELECT ON innodb_memcache.*"])
    with resp.Client(mysql.env["REDIS_PORT"]) as redis:
        assert refused(redis, "SET", "k", "v") == "NOAUTH"
        assert refused(redis, "AUTH", name, "no") == "WRONGPASS"
        assert redis.ask("AUTH", name, "pw") == "OK"
        assert redis.ask("SET", "k", "v") == "OK"
        assert redis.ask("GET", "k") == b"v"
    with resp.Client(None, path=f"{mysql.dir}/redis.sock") as redis:
        assert redis.ask("AUTH", name, "pw") == "OK"
        mysql.query(f"REVOKE ALL ON postern_redis.* FROM {name}@localhost")
        until(lambda: refused(redis, "SET", "k", "w") == "NOPERM", HELD_SECONDS)


def test_sasl_of_memcached_knows_accounts(mysql, user):
    mysql.query(
        "DELETE FROM innodb_memcache.containers",
        "CREATE TABLE IF NOT EXISTS test.items (k VARCHAR(250) PRIMARY KEY, v MEDIUMBLOB, f INT, c BIGINT UNSIGNED, e INT)",
        "INSERT INTO innodb_memcache.containers VALUES ('d', 'test', 'items', 'k', 'v', 'f', 'c', 'e', 'PRIMARY')",
    )
    port = int(mysql.env["MEMCACHED_PORT"])
    until(lambda: mc.listens(port))
    name = user(grants=["ALL ON test.items"])
    with mc.Client(port) as client:
        client.send(b"get a\r\n")
        assert client.line().startswith(b"CLIENT_ERROR")
    with mc.Client(port) as client:
        words = f"{name} pw".encode()
        client.send(b"set login 0 0 %d\r\n%s\r\n" % (len(words), words))
        assert client.line() == b"STORED"
        client.send(b"set a 0 0 1\r\n1\r\n")
        assert client.line() == b"STORED"
    assert mysql.query("SELECT v FROM test.items WHERE k = 'a'") == ((b"1",),)


# --- privileges ------------------------------------------------------------------------------------------------------


def test_nobody_learns_whether_a_table_exists(mysql, user):
    name = user()
    with mysql.door() as client:
        assert login(client, name) == GOOD
        for table in ("t", "absent"):
            assert client.request("P", 0, "test", table, "PRIMARY", "id") == denied("SELECT", name, table)
            assert client.request("P", 0, "test", table, "absent", "absent") == denied("SELECT", name, table)


def test_column_grants_cover_results_keys_and_filters(mysql, user):
    name = user(grants=["SELECT (id, a) ON test.t"])
    with mysql.door() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "id,a")
        assert client.request(0, "=", 1, 5) == ["0", "2", "5", "50"]
        assert client.request("P", 1, "test", "t", "PRIMARY", "id,c") == denied("SELECT", name, column="c")
        assert client.request("P", 1, "test", "t", "PRIMARY", "id", "a,c") == denied("SELECT", name, column="c")
        assert client.request("P", 1, "test", "t", "ab", "id") == denied("SELECT", name, column="b")
        assert client.request("P", 2, "test", "other", "PRIMARY", "id") == denied("SELECT", name, "other")


WRITES = {
    "INSERT": (0, "+", 2, 900, 1),
    "UPDATE": (0, "=", 1, 1, 1, 0, "U", 1, 10),
    "DELETE": (0, "=", 1, 900, 1, 0, "D"),
}


@pytest.mark.parametrize("granted", WRITES)
def test_each_write_needs_its_privilege(mysql, user, granted):
    name = user(grants=["SELECT ON test.t", f"{granted} ON test.t"])
    with mysql.write_door() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "id,a")
        for command, request in WRITES.items():
            reply = client.request(*request)
            assert (reply[:2] == GOOD) if command == granted else (reply == denied(command, name)), (command, reply)
    mysql.query("DELETE FROM test.t WHERE id = 900")


def test_roles_count_as_the_login_made_them_active(mysql, user):
    name = user()
    mysql.query(
        "CREATE ROLE reader, other", "GRANT SELECT ON test.t TO reader", f"GRANT reader, other TO {name}@localhost"
    )
    try:
        with mysql.door() as client:
            assert login(client, name) == GOOD
            assert client.request(*OPEN) == denied("SELECT", name)
            mysql.query(f"SET DEFAULT ROLE other TO {name}@localhost")
            assert login(client, name) == GOOD
            assert client.request(*OPEN) == denied("SELECT", name)
            mysql.query(f"SET DEFAULT ROLE ALL TO {name}@localhost")
            assert login(client, name) == GOOD
            client.open(0, "test", "t", "id")
            assert client.request(0, "=", 1, 5) == ["0", "1", "5"]
            mysql.query("REVOKE SELECT ON test.t FROM reader", "GRANT SELECT (id) ON test.t TO reader")
            until(lambda: client.request("P", 1, "test", "t", "PRIMARY", "id,a")[0] == "3", HELD_SECONDS)
            assert client.request(0, "=", 1, 5) == ["0", "1", "5"]
            mysql.query(f"REVOKE reader FROM {name}@localhost")
            until(lambda: client.request(0, "=", 1, 5) == denied("SELECT", name), HELD_SECONDS)
        mysql.query(f"GRANT reader TO {name}@localhost", f"SET DEFAULT ROLE NONE TO {name}@localhost")
        mysql.query("SET GLOBAL activate_all_roles_on_login = ON")
        with mysql.door() as client:
            assert login(client, name) == GOOD
            client.open(0, "test", "t", "id")
            assert client.request(0, "=", 1, 5) == ["0", "1", "5"]
    finally:
        mysql.query("SET GLOBAL activate_all_roles_on_login = OFF", "DROP ROLE reader, other")


def test_mandatory_roles_count(mysql, user):
    mysql.query("CREATE ROLE everybody", "GRANT SELECT ON test.t TO everybody")
    mysql.query("SET GLOBAL mandatory_roles = 'everybody'", "SET GLOBAL activate_all_roles_on_login = ON")
    try:
        name = user()
        with mysql.door() as client:
            assert login(client, name) == GOOD
            client.open(0, "test", "t", "id")
            assert client.request(0, "=", 1, 5) == ["0", "1", "5"]
    finally:
        mysql.query("SET GLOBAL mandatory_roles = ''", "SET GLOBAL activate_all_roles_on_login = OFF")
        mysql.query("DROP ROLE everybody")


def test_partial_revokes_hold(mysql, user):
    name = user(grants=["SELECT ON *.*"])
    with mysql.door() as client:
        assert login(client, name) == GOOD
        client.open(0, "private", "t", "id")
        mysql.query(f"REVOKE SELECT ON private.* FROM {name}@localhost")
        until(lambda: client.request(0, "=", 1, 1) == denied("SELECT", name), HELD_SECONDS)
        client.open(1, "test", "t", "id")
        assert client.request(1, "=", 1, 5) == ["0", "1", "5"]
        assert client.request("P", 2, "private", "t", "PRIMARY", "id") == denied("SELECT", name)
        mysql.query(f"GRANT SELECT ON private.* TO {name}@localhost")
        until(lambda: client.request("P", 2, "private", "t", "PRIMARY", "id") == GOOD, HELD_SECONDS)


def test_dynamic_privileges_open_no_table(mysql, user):
    name = user(grants=["SYSTEM_USER, CONNECTION_ADMIN, ROLE_ADMIN ON *.*"])
    with mysql.write_door() as client:
        assert login(client, name) == GOOD
        assert client.request(*OPEN)[0] == "3"
        assert client.request("P", 0, "mysql", "user", "PRIMARY", "Host")[0] != "0"


@pytest.mark.parametrize(
    "revoke",
    [
        "REVOKE SELECT ON test.t FROM {0}@localhost",
        "DROP USER {0}@localhost",
        "RENAME USER {0}@localhost TO {0}x@localhost",
    ],
    ids=["revoke", "drop", "rename"],
)
def test_a_revoked_privilege_is_gone_within_a_second(mysql, user, revoke):
    name = user(grants=["SELECT ON test.t"])
    with mysql.door() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "id")
        assert client.request(0, "=", 1, 5) == ["0", "1", "5"]
        mysql.query(revoke.format(name))
        until(lambda: client.request(0, "=", 1, 5)[:2] == ["3", "1"], HELD_SECONDS)
    mysql.query(f"DROP USER IF EXISTS {name}x@localhost")


def test_grants_and_finds_do_not_stand_in_each_others_way(mysql, user):
    name = user(grants=["SELECT ON test.t"])
    stop, replies = threading.Event(), []

    def load():
        with mysql.door() as client:
            login(client, name)
            client.open(0, "test", "t", "id")
            while not stop.is_set():
                replies.extend(reply for reply in client.pipeline(*[(0, "=", 1, 5)] * 50) if reply != ["0", "1", "5"])

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(40):
            mysql.query(
                f"GRANT INSERT ON test.t TO {name}@localhost",
                f"REVOKE INSERT ON test.t FROM {name}@localhost",
                "FLUSH PRIVILEGES",
            )
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not replies, replies[:3]


# --- TLS -------------------------------------------------------------------------------------------------------------


def trusting(mysql):
    context = ssl.create_default_context(cafile=f"{mysql.env['DATADIR']}/ca.pem")
    context.check_hostname = False
    return context


def test_doors_have_the_servers_certificates(mysql, user):
    name = user("IDENTIFIED BY 'pw' REQUIRE SSL", grants=["ALL ON postern_redis.*"])
    with resp.Client(mysql.env["REDIS_PORT"]) as redis:
        assert refused(redis, "AUTH", name, "pw") == "WRONGPASS"
    with resp.Client(mysql.env["REDIS_PORT"], tls=trusting(mysql)) as redis:
        mysql.query("FLUSH PRIVILEGES")
        assert redis.ask("AUTH", name, "pw") == "OK"
        assert redis.ask("SET", "tls", "1") == "OK"


def test_certificates_are_read_again_with_the_servers(mysql):
    before = connection_certificate(mysql)
    datadir = mysql.env["DATADIR"]
    make_certificate(Path(datadir), "fresh", "rsa")
    mysql.query(
        "SET GLOBAL ssl_ca = 'fresh.pem'",
        "SET GLOBAL ssl_cert = 'fresh.pem'",
        "SET GLOBAL ssl_key = 'fresh-key.pem'",
        "ALTER INSTANCE RELOAD TLS",
    )
    try:
        until(lambda: connection_certificate(mysql) != before)
    finally:
        mysql.query(
            "SET GLOBAL ssl_ca = 'ca.pem'",
            "SET GLOBAL ssl_cert = 'server-cert.pem'",
            "SET GLOBAL ssl_key = 'server-key.pem'",
            "ALTER INSTANCE RELOAD TLS",
        )
    until(lambda: connection_certificate(mysql) == before)


def connection_certificate(mysql):
    return ssl.get_server_certificate(("127.0.0.1", int(mysql.env["REDIS_PORT"])))


def test_tls_may_be_demanded_of_every_client(mysql, tmp_path):
    server = Mysql(tmp_path / "required")
    server.start("--redis-require-tls=ON", "--redis-auth=account")
    try:
        make_tables_of_doors(server)
        with resp.Client(server.env["REDIS_PORT"], tls=trusting(server)) as redis:
            assert refused(redis, "GET", "k") == "NOAUTH"
        with resp.Client(server.env["REDIS_PORT"]) as redis:
            assert redis.ask_raw("GET", "k") == b"-ERR TLS is required\r\n"
    finally:
        server.run("stop")
    assert mysql.env["REDIS_PORT"] != server.env["REDIS_PORT"]


def test_nobody_is_let_in_without_grant_tables(tmp_path):
    server = Mysql(tmp_path / "open")
    server.start("--handlersocket-auth=account", "--skip-grant-tables")
    try:
        with server.door() as client:
            assert login(client, "root", "") == UNAUTHORIZED
            assert client.request(*OPEN) == UNAUTHORIZED
    finally:
        server.run("stop")
