"""Connections of the Redis door: first requests, accounts, TLS, and attacks by hostile clients."""
import contextlib
import ssl
import subprocess

import pytest
from support.clients.resp import Client, Error, encode
from support.waiting import until


@pytest.fixture
def client(server):
    with server.resp() as connection:
        yield connection


def until_closed(connection):
    with contextlib.suppress(ConnectionResetError):
        while connection.socket.recv(65536):
            pass


def test_what_client_libraries_send_first(client):
    assert client.ask("HELLO", "3")[b"proto"] == 3
    assert client.ask("CLIENT", "SETINFO", "LIB-NAME", "redis-py") == "OK"
    assert client.ask("client", "setinfo", "LIB-VER", "5.2.1") == "OK"
    assert b"\r\nloading:0\r\n" in client.ask("info")
    assert client.ask("hello", "2")[1] == b"redis"
    assert client.ask("CONFIG", "GET", "save") == [b"save", b""]
    assert client.ask("CONFIG", "GET", "appendonly") == [b"appendonly", b"yes"]
    docs = client.ask("COMMAND", "DOCS")
    assert b"ping" in docs
    assert client.ask("CLIENT", "SETNAME", "me") == "OK"
    assert b" name=me " in client.ask("CLIENT", "INFO")


def test_a_killed_client_is_gone_at_once(server, client):
    for _ in range(30):
        with server.resp() as victim:
            number = str(victim.ask("CLIENT", "ID"))
            kill = encode("CLIENT", "KILL", "ID", number)
            client.send(kill + kill + encode("CLIENT", "LIST", "ID", number))
            assert [client.raw() for _ in range(3)] == [b":1\r\n", b":0\r\n", b"$0\r\n\r\n"]
            until_closed(victim)


def memory_of(client):
    lines = client.ask("INFO", "memory").decode().split("\r\n")
    return dict(line.split(":") for line in lines if ":" in line)


def test_info_tells_the_most_memory_that_was_used(client):
    client.ask("SET", "large", "x" * (8 << 20))
    told = memory_of(client)
    assert int(told["used_memory_peak"]) >= max(8 << 20, int(told["used_memory"]))
    assert told["used_memory_peak_human"].endswith("M") and told["used_memory_peak_perc"].endswith("%")
    assert client.ask("DEL", "large") == 1 and int(memory_of(client)["used_memory_peak"]) >= 8 << 20


def test_the_error_in_a_database_without_a_keyspace_has_the_call_that_makes_one(server, client):
    assert client.ask("SELECT", "9") == "OK" and client.ask("GET", "k") is None
    error, call = client.error("SET", "k", "v").split(" in database 9: ")
    assert error == "ERR no table is mapped for this key"
    try:
        server.query(call)
        until(lambda: client.ask_raw("SET", "k", "v") == b"+OK\r\n")
        assert server.query("SELECT k, v FROM postern_redis9.entries") == [(b"k", b"v")]
    finally:
        server.query("DELETE FROM postern.redis_maps WHERE db = 9")


def test_a_pipeline_of_any_depth_keeps_its_order(client):
    count = 20_000
    client.send(b"".join(encode("ECHO", n) for n in range(count)))
    assert [client.raw() for _ in range(count)] == [b"$%d\r\n%d\r\n" % (len(str(n)), n) for n in range(count)]


def test_an_argument_of_many_bytes(client, server):
    value = b"x" * (40 << 20)
    before = server.memory_kib("RssAnon")
    for _ in range(5):
        assert client.ask("ECHO", value) == value
        assert client.ask("PING") == "PONG"
    # The C library may cache some memory for the next connection.
    assert server.memory_kib("RssAnon") - before < 150 << 10


def test_announced_bytes_take_no_memory(server):
    before = server.memory_kib("RssAnon")
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            one = stack.enter_context(server.resp())
            one.send(b"*1048576\r\n$67108864\r\nabc")
        with server.resp() as other:
            assert other.ask("PING") == "PONG"
        assert server.memory_kib("RssAnon") - before < 20 << 10


def test_bounds_end_the_connection_in_redis_words(server):
    for sent, told in (
        (b"*1048577\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
        (b"*1\r\n$67108865\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
        (b"x" * (65 << 10), b"-ERR Protocol error: too big inline request\r\n"),
        (b"*1\r\n!\r\n", b"-ERR Protocol error: expected '$', got '!'\r\n"),
    ):
        with server.resp() as one:
            one.send(sent)
            assert one.line() == told
            until_closed(one)


def test_replies_that_nobody_reads_stay_bounded(server):
    before = server.memory_kib("RssAnon")
    with server.resp() as one:
        one.socket.settimeout(1)
        with contextlib.suppress(TimeoutError):
            for _ in range(3000):
                one.send(encode("ECHO", b"x" * 100_000))
        assert server.memory_kib("RssAnon") - before < 100 << 10
    with server.resp() as other:
        assert other.ask("PING") == "PONG"


def test_http_is_hung_up_on_without_a_word(server):
    for sent in (b"POST / HTTP/1.1\r\nPING\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nPING\r\n"):
        with server.resp() as one:
            one.send(sent)
            with contextlib.suppress(ConnectionResetError):
                assert b"PONG" not in one.file.read()
    assert "spoke HTTP" in server.log()


def test_a_client_may_be_killed_while_it_is_idle(server, client):
    with server.resp() as other:
        victim = other.ask("CLIENT", "ID")
        assert client.ask("CLIENT", "KILL", "ID", victim) == 1
        assert other.ended()
    with server.resp() as again:
        assert again.ask("PING") == "PONG"


def test_a_unix_socket(server):
    with Client(0, path=server.env["REDIS_SOCKET"]) as one:
        assert one.ask("PING") == "PONG"
        assert b" addr=unix:0 " in one.ask("CLIENT", "INFO")


# --- accounts ---------------------------------------------------------------------------------------------------

WRONG = "WRONGPASS invalid username-password pair or user is disabled."
NOBODY = "NOAUTH Authentication required."


@pytest.fixture(scope="module")
def accounts(module_factory):
    server = module_factory("--redis-auth=account", "--redis-default-account=app", redis=True)
    server.execute(
        "CREATE USER app@localhost IDENTIFIED BY 'pass word'",
        "CREATE USER other@localhost IDENTIFIED BY 'o'",
    )
    yield server
    server.assert_alive()


def test_strangers_may_log_in_and_no_more(accounts):
    with accounts.resp() as one:
        assert one.error("PING") == NOBODY
        assert one.error("CLIENT", "ID") == NOBODY
        assert one.error("HELLO", "3").startswith("NOAUTH HELLO must be called")
        assert one.ask("RESET") == "RESET"
        assert one.ask("QUIT") == "OK"
        assert one.ended()


def test_a_pipeline_goes_on_as_the_logged_in_account(accounts):
    with accounts.resp() as one:
        one.send(
            encode("PING")
            + encode("AUTH", "app", "wrong")
            + encode("PING")
            + encode("AUTH", "app", "pass word")
            + encode("PING")
            + encode("AUTH", "other", "wrong")
            + encode("PING")
        )
        refused = f"-{NOBODY}\r\n".encode()
        wrong = f"-{WRONG}\r\n".encode()
        pong, ok = b"+PONG\r\n", b"+OK\r\n"
        assert [one.raw() for _ in range(7)] == [refused, wrong, refused, ok, pong, wrong, pong]
        assert b" user=app " in one.ask("CLIENT", "INFO")


def test_login_by_hello_and_by_password_alone(accounts):
    with accounts.resp() as one:
        assert one.error("HELLO", "3", "AUTH", "app", "wrong") == WRONG
        assert one.ask("HELLO", "3", "AUTH", "app", "pass word", "SETNAME", "n")[b"proto"] == 3
        assert one.ask("CLIENT", "GETNAME") == b"n"
        assert one.ask("RESET") == "RESET"
        assert one.error("PING") == NOBODY
        assert one.ask("AUTH", "pass word") == "OK"
        assert one.ask("PING") == "PONG"


def test_accounts_see_their_own_connections(accounts):
    with accounts.resp() as one, accounts.resp() as other:
        one.ask("AUTH", "app", "pass word")
        other.ask("AUTH", "other", "o")
        assert b"user=other" not in one.ask("CLIENT", "LIST")
        victim = other.ask("CLIENT", "ID")
        assert one.error("CLIENT", "KILL", "ID", victim).startswith("NOPERM ")
        assert other.ask("PING") == "PONG"


def test_failed_logins_are_counted_and_held_up(accounts):
    before = accounts.status("Redis_logins_failed")["redis_logins_failed"]
    with accounts.resp() as one:
        with pytest.raises(Error, match="WRONGPASS|too many failed logins"):
            one.ask("AUTH", "nobody", "x")
    assert accounts.status("Redis_logins_failed")["redis_logins_failed"] == before + 1


def test_strangers_send_little(accounts):
    for sent, told in (
        (b"*11\r\n", b"-ERR Protocol error: unauthenticated multibulk length\r\n"),
        (b"*1\r\n$16385\r\n", b"-ERR Protocol error: unauthenticated bulk length\r\n"),
    ):
        with accounts.resp() as one:
            one.send(sent)
            assert one.line() == told
            until_closed(one)


def test_open_access_stays_on_loopback(module_factory):
    server = module_factory("--redis-address=", redis=False)
    assert "redis_auth" in server.log()
    assert server.env["REDIS_PORT"] == ""


# --- tls --------------------------------------------------------------------------------------------------------


def test_tls_on_the_same_port(module_factory, tmp_path):
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    server = module_factory(
        f"--ssl-cert={tmp_path}/cert.pem", f"--ssl-key={tmp_path}/key.pem", "--redis-require-tls=ON", redis=True
    )
    context = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    context.check_hostname = False
    with server.resp(tls=context) as one:
        assert one.ask("HELLO", "3")[b"proto"] == 3
        assert one.ask("ECHO", b"x" * 3_000_000) == b"x" * 3_000_000
    with server.resp() as plain:
        assert plain.error("PING").startswith("ERR TLS is required")
    assert server.query("SELECT 1") == [(1,)]
