"""SET GLOBAL changes open doors, refuses invalid values, and ends connections."""
import contextlib
import re

import pymysql
import pytest
from support.items import map_items, unmap_items, wait_until_mapped
from support.clients.resp import encode
from support.server import ROOT
from support.waiting import until

FOLDERS = dict(re.findall(r"^DOOR\((\w+), (\w+),", (ROOT / "src/plugin/doors.def").read_text(), re.M))


@pytest.fixture(scope="module")
def own(module_factory):
    server = module_factory("--handlersocket-plain-secret=first", containers=True, redis=True)
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), w INT)",
        "INSERT INTO t SELECT seq, 'v', seq FROM seq_1_to_100000",
        database="test",
    )
    yield server


@contextlib.contextmanager
def changed(server, name, value):
    before = server.variable(name)
    server.execute(f"SET GLOBAL {name} = {value}")
    yield
    server.query(f"SELECT 1 FROM (SELECT 1) one WHERE '{before}' <> ''")
    server.execute(f"SET GLOBAL {name} = {before if before.isdigit() or before in ('ON', 'OFF') else repr(before)}")


def refusal(server, statement):
    with pytest.raises(pymysql.Error) as told:
        server.execute(statement)
    return told.value.args


def client(server, secret="first"):
    one = server.hs()
    assert one.request("A", 1, secret) == ["0", "1"]
    return one


def ended(one):
    with pytest.raises((EOFError, ConnectionError)):
        while True:
            one.line()
    return True


def settings():
    """(name, type, minimum, maximum) of the settings of all plugins."""
    for plugin, folder in FOLDERS.items():
        paths = [f"src/{folder}/settings.def", "src/plugin/door_settings.def"]
        if plugin != "postern":
            paths.append("src/plugin/client_settings.def")
        for path in paths:
            for kind, name, rest in re.findall(r"^(\w+)\((\w+), (.*)\)$", (ROOT / path).read_text(), re.M):
                bounds = re.match(r"\d+, (\d+), (\d+),", rest) or re.match(r'"[^"]*", ((\d+)),', rest)
                yield f"{plugin}_{name}", kind, *(map(int, bounds.groups()) if bounds else (None, None))


def test_each_setting_is_as_its_row_says(own):
    strict = "SET STATEMENT sql_mode = 'STRICT_ALL_TABLES' FOR "
    for name, kind, least, most in settings():
        if kind == "LIVE_NUMBER":
            before = own.variable(name)
            own.execute(f"SET GLOBAL {name} = {most}")
            assert own.variable(name) == str(most)
            for beyond, nearest in ((most + 1, most), *([(least - 1, least)] if least else [])):
                assert refusal(own, strict + f"SET GLOBAL {name} = {beyond}")[0] == 1231, name
                own.execute(f"SET GLOBAL {name} = {beyond}")
                assert own.variable(name) == str(nearest)
            assert refusal(own, f"SET GLOBAL {name} = 'x'")[0] == 1232, name
            own.execute(f"SET GLOBAL {name} = {before}")
        elif kind == "LIVE_TEXT":
            before = own.variable(name)
            own.execute(f"SET GLOBAL {name} = '{'x' * least}'")
            assert own.variable(name) == "x" * least
            assert f"at most {least} bytes" in refusal(own, f"SET GLOBAL {name} = '{'x' * (least + 1)}'")[1]
            assert own.variable(name) == "x" * least
            assert refusal(own, f"SET GLOBAL {name} = 1")[0] == 1232, name
            own.execute(f"SET GLOBAL {name} = DEFAULT")
            assert own.variable(name) == before
        elif kind in ("PLACE_NUMBER", "PLACE_TEXT"):
            beyond = most + 1 if kind == "PLACE_NUMBER" else repr("x" * (least + 1))
            assert refusal(own, f"SET GLOBAL {name} = {beyond}")[0] == 1231, name
            assert refusal(own, f"SET GLOBAL {name} = " + ("'x'" if kind == "PLACE_NUMBER" else "1"))[0] == 1232, name
        elif kind == "LIVE_SWITCH":
            own.execute(f"SET GLOBAL {name} = ON")
            assert own.variable(name) == "ON"
            own.execute(f"SET GLOBAL {name} = DEFAULT")
        elif kind == "LIVE_CHOICE":
            assert "is one of" in refusal(own, f"SET GLOBAL {name} = 'nonsense'")[1]
        elif kind in ("NUMBER", "TEXT", "SWITCH", "CHOICE"):
            assert refusal(own, f"SET GLOBAL {name} = 1")[0] == 1238, name
        elif kind == "SECRET":
            assert own.variable(name) is None
    own.assert_alive()


def test_form_of_errors(own):
    with client(own) as one:
        assert one.request("what") == ["2", "1", "cmd"]
        with changed(own, "handlersocket_errors", "'TEXT'"):
            assert own.variable("handlersocket_errors") == "text"
            assert " " in one.request("what")[2]
        assert one.request("what") == ["2", "1", "cmd"]


def test_bounds_of_requests(own):
    with client(own) as one:
        one.open(0, "test", "t", "id")
        with changed(own, "handlersocket_max_open_indexes", 1):
            assert one.request("P", 1, "test", "t", "PRIMARY", "id")[0] != "0"
        one.open(1, "test", "t", "id")
        with changed(own, "handlersocket_max_key_values", 2):
            assert one.request(0, "=", 1, 1, 10, 0, "@", 0, 3, 1, 2, 3)[0] != "0"
        with changed(own, "handlersocket_max_request_bytes", 1024):
            one.send(b"x" * 3000)
            assert ended(one)


def test_bounds_of_items(own):
    value = b"x" * 2000  # the example's column holds 1024 bytes
    with own.mc() as one:
        assert one.set("k", value).startswith("CLIENT_ERROR Data too long")
        with changed(own, "memcached_max_value_bytes", 1024):
            assert one.set("k", value) == "SERVER_ERROR object too large for cache"
            assert one.stats("settings")["item_size_max"] == "1024"
        assert one.set("k", value).startswith("CLIENT_ERROR Data too long")


def test_bounds_of_redis(own):
    many = ("MSET", *(word for number in range(100) for word in (f"many:{number}", "x" * 1000)))
    with changed(own, "redis_max_value_bytes", 1024), own.resp() as one:
        assert one.ask("CONFIG", "GET", "proto-max-bulk-len") == [b"proto-max-bulk-len", b"1024"]
        assert one.ask("SET", "k", b"x" * 1000) == "OK"
        assert "invalid bulk length" in one.error("SET", "k", b"x" * 2000)
        assert one.ended()
    with changed(own, "redis_max_request_bytes", 65536), own.resp() as one:
        with contextlib.suppress(ConnectionError):
            one.send(encode(*many))
        assert b"ERR" in one.line()
        assert one.ended()
    with own.resp() as one:
        assert one.ask(*many) == "OK"


def test_whether_exec_undoes_all(own):
    def transact(one):
        for words in (("MULTI",), ("SET", "b", 1), ("INCR", "word")):
            one.ask(*words)
        return one.ask_raw("EXEC")

    with own.resp() as one:
        one.ask("SET", "word", "abc")
        one.ask("DEL", "b")
        with changed(own, "redis_exec_rollback", "ON"):
            assert transact(one).startswith(b"-EXECABORT")
            assert one.ask("GET", "b") is None
        assert transact(one).startswith(b"*2")
        assert one.ask("GET", "b") == b"1"


@pytest.fixture(scope="module")
def asking(module_factory):
    """A server with a Redis door that requires accounts, and two accounts."""
    server = module_factory("--redis-auth=account", "--redis-expire-sweep=0", redis=True)
    server.execute(
        *(f"CREATE USER {name} IDENTIFIED BY '{name}-opens'" for name in ("first", "second")),
        *(f"GRANT ALL ON postern_redis.* TO {name}" for name in ("first", "second")),
    )
    yield server


def test_a_password_alone_is_the_default_accounts(asking):
    with asking.resp() as one, asking.resp() as other:
        assert "without any password configured" in one.error("AUTH", "first-opens")
        with changed(asking, "redis_default_account", "'first'"):
            assert other.ask("AUTH", "first-opens") == "OK"
            asking.execute("SET GLOBAL redis_default_account = 'second'")
            assert other.ask("CLIENT", "LIST").count(b"user=first") == 1  # clients that are logged in stay connected
            assert one.error("AUTH", "first-opens").startswith("WRONGPASS")
            assert one.ask("AUTH", "second-opens") == "OK"
            asking.execute("SET GLOBAL redis_default_account = NULL")
            assert "without any password configured" in one.error("AUTH", "second-opens")


def test_expired_rows_are_swept_from_now_on(asking):
    """The door swept no rows when it was opened, and sweeps none again afterwards."""

    def rows():
        return asking.query("SELECT count(*) FROM postern_redis.entries")[0][0]

    def expire(one):
        for number in range(30):
            one.ask("SET", f"gone:{number}", "v", "PX", 1)

    with asking.resp() as one:
        one.ask("AUTH", "first", "first-opens")
        expire(one)
        with changed(asking, "redis_expire_sweep", 20):
            until(lambda: rows() == 0)
            # Rows are deleted before they are counted.
            until(lambda: asking.status("redis_rows_swept")["redis_rows_swept"] == 30)
        expire(one)
        asking.execute("DELETE FROM postern_redis.entries LIMIT 1")
    assert rows() == 29


def test_the_size_of_the_cache(own):
    """Items in memory stay when the cache grows, and are evicted by new ones when it shrinks."""
    map_items(own, "test", "cache_only")
    wait_until_mapped(own.env["MEMC_PORT"], "test", "cache_only")
    value = b"x" * 1000
    with own.mc() as one:

        def fill(keys):
            one.send(b"".join(b"set %d 0 0 1000 noreply\r\n%s\r\n" % (key, value) for key in keys))
            return int(one.stats()["curr_items"])

        with changed(own, "memcached_cache_bytes", 1 << 20):
            few = fill(range(2000))
            assert 500 < few < 1000
            own.execute(f"SET GLOBAL memcached_cache_bytes = {8 << 20}")
            assert int(one.stats()["limit_maxbytes"]) == 8 << 20
            assert fill(range(2000, 6000)) == few + 4000
            own.execute(f"SET GLOBAL memcached_cache_bytes = {1 << 20}")
            assert fill(range(10000, 16000)) < few + 20
            assert one.get("15999") == value
    unmap_items(own)


def test_timeouts_hold_for_clients_that_are_silent_already(own):
    with client(own) as one, changed(own, "handlersocket_timeout", 1):
        assert ended(one)
    with client(own) as one:
        one.send(b"0\t=")
        with changed(own, "handlersocket_request_timeout", 1):
            assert ended(one)


def test_most_connections(own):
    with client(own), changed(own, "handlersocket_max_connections", 1):
        with own.hs() as refused:
            assert ended(refused)
        doors = own.query("SELECT state FROM information_schema.postern_doors WHERE door = 'handlersocket read'")
        assert doors == [("full",)]
    client(own).close()


def test_a_secret_is_replaced(own):
    with client(own) as before:
        own.execute("SET GLOBAL handlersocket_new_plain_secret = 'sesame-2'")
        assert before.request("what") == ["2", "1", "cmd"]  # clients that are logged in stay connected
        assert own.variable("handlersocket_new_plain_secret") == ""
        with own.hs() as one:
            assert one.request("A", 1, "first")[0] != "0"
        client(own, "sesame-2").close()
        assert "can't be empty" in refusal(own, "SET GLOBAL handlersocket_new_plain_secret = ''")[1]
        own.execute("SET GLOBAL handlersocket_new_plain_secret = DEFAULT")
        with own.hs() as one:
            assert one.request(0, "=", 1, 1) == ["3", "1", "unauth"]
        own.execute("SET GLOBAL handlersocket_new_plain_secret = 'first'")
    assert "sesame-2" not in str(own.query("SHOW GLOBAL VARIABLES")) and "sesame-2" not in own.log()


def test_tls_is_not_required_where_there_is_none(own):
    assert "no certificate" in refusal(own, "SET GLOBAL handlersocket_require_tls = ON")[1]
    assert "Unknown system variable" in refusal(own, "SET GLOBAL postern_require_tls = ON")[1]


def test_buffers_of_closed_doors_count_for_nothing(own):
    """The SQL door is closed here: three plugins share three gibibytes."""
    bound = "redis_buffer_bytes_max"
    assert own.status(bound)[bound] == 3 << 30
    with changed(own, "redis_max_buffer_bytes", 1 << 20):
        assert own.status(bound)[bound] == (2 << 30) + (1 << 20)
    with changed(own, "postern_max_buffer_bytes", 1 << 20):
        assert own.status(bound)[bound] == 3 << 30


def number_of(server, one):
    host = "127.0.0.1:%d" % one.socket.getsockname()[1]
    ids = "SELECT id FROM information_schema.postern_connections WHERE host = %s"
    until(lambda: server.query(ids, (host,)))
    return server.query(ids, (host,))[0][0]


@pytest.mark.parametrize("plugin, connect", [("handlersocket", "hs"), ("memcached", "mc"), ("redis", "resp")])
def test_a_connection_is_ended(own, plugin, connect):
    with getattr(own, connect)() as one, getattr(own, connect)() as other:
        number, spared = number_of(own, one), number_of(own, other)
        own.execute(f"SET GLOBAL {plugin}_end_connection = {number}")
        assert one.socket.recv(1) == b""
        gone = "SELECT id FROM information_schema.postern_connections WHERE id = %s"
        until(lambda: not own.query(gone, (number,)))
        assert own.query(gone, (spared,))
    assert own.variable(f"{plugin}_end_connection") == "0"
    assert refusal(own, f"SET GLOBAL {plugin}_end_connection = {number}") == (1094, f"Unknown connection id: {number}")
    own.execute(f"SET GLOBAL {plugin}_end_connection = DEFAULT")


def test_a_connection_is_ended_wherever_it_is(own):
    """In a long scan, and during a wait for a table."""
    with client(own) as scans, client(own) as waits, contextlib.closing(own.connect(database="test")) as sql:
        for one in (scans, waits):
            one.open(0, "test", "t", "id,v", filters="w")
        number = number_of(own, waits)
        sql.cursor().execute("LOCK TABLES t WRITE")
        waits.send(b"0\t=\t1\t7\n")
        state = "SELECT state FROM information_schema.postern_connections WHERE id = %s"
        until(lambda: own.query(state, (number,)) == [("waiting for a table",)])
        own.execute(f"SET GLOBAL handlersocket_end_connection = {number}")
        assert waits.socket.recv(1) == b""
        sql.cursor().execute("UNLOCK TABLES")
        until(lambda: not own.query(state, (number,)))
        number = number_of(own, scans)
        for _ in range(50):
            scans.send(b"0\t>=\t1\t0\t100000\t0\tF\t<\t0\t0\n")  # reads all rows, finds none
        own.execute(f"SET GLOBAL handlersocket_end_connection = {number}")
        until(lambda: not own.query(state, (number,)))
    own.assert_alive()


def test_an_account_that_may_not_set_may_not_end(own):
    own.execute("CREATE USER weak")
    with client(own) as one, contextlib.closing(own.connect("weak")) as sql, pytest.raises(pymysql.Error) as told:
        sql.cursor().execute(f"SET GLOBAL handlersocket_end_connection = {number_of(own, one)}")
    assert told.value.args[0] == 1227


def test_slow_requests_are_written_down(own, tmp_path):
    log = tmp_path / "slow.log"
    own.execute(
        f"SET GLOBAL slow_query_log_file = '{log}'", "SET GLOBAL log_output = 'FILE'", "SET GLOBAL slow_query_log = 1"
    )
    with client(own) as one:
        one.open(0, "test", "t", "id,v", filters="w")
        one.request(0, "=", 1, 1)
        assert "handlersocket" not in log.read_text()  # off by default
        number = number_of(own, one)
        counter = "handlersocket_slow_requests"
        assert own.status(counter)[counter] == 0
        with changed(own, "handlersocket_slow_request_us", 1):
            one.request(0, "=", 1, 4711)
            for _ in range(40):
                one.request(0, "=", 1, 4711)
            assert one.request(0, ">=", 1, 0, 100000, 0, "F", "<", 0, 0) == ["0", "2"]
            until(lambda: "Query_time" in log.read_text())
        written = log.read_text()
        before = written.count("/* handlersocket")
        one.request(0, "=", 1, 1)
        assert log.read_text().count("/* handlersocket") == before
    assert re.search(
        rf"# User@Host: \[\] @ 127\.0\.0\.1:\d+ \[\]\n# Thread_id: .*\n# Query_time: 0\.\d+ .*\n.*\nSET timestamp=\d+;\n"
        rf"/\* handlersocket read, connection {number}[^\n]* \*/ find test\.t index PRIMARY columns id,v filtered by w;\n",
        written,
    ), written
    assert "4711" not in written
    assert 2 <= before < 30  # of more than forty: a few each second
    assert 42 <= own.status(counter)[counter] < 50  # all of them


def test_a_word_may_be_given_as_a_number_and_is_shown_as_the_word(sandbox_factory):
    """In option files as by SET GLOBAL, so that the variable always shows one spelling."""
    server = sandbox_factory("--handlersocket-require-tls=0", "--memcached-auth=NONE", "--handlersocket-errors=1")
    assert server.variable("handlersocket_require_tls") == "OFF"
    assert server.variable("memcached_auth") == "none"
    assert server.variable("handlersocket_errors") == "text"
    server.execute("SET GLOBAL handlersocket_errors = '0'")
    assert server.variable("handlersocket_errors") == "compatible"


def test_slow_requests_have_their_rows(own, tmp_path):
    log = tmp_path / "rows.log"
    own.execute(
        f"SET GLOBAL slow_query_log_file = '{log}'", "SET GLOBAL log_output = 'FILE'", "SET GLOBAL slow_query_log = 1"
    )

    def rows(what, ask):
        """Only some slow requests of a second are written: others of this server may have been written just now."""
        pattern = rf"Rows_sent: (\d+)  Rows_examined: (\d+)\n(?:.*\n){{2,3}}/\*.*{what}"

        def written():
            ask()
            return re.search(pattern, log.read_text())

        until(written)
        return tuple(map(int, re.findall(pattern, log.read_text())[-1]))

    with client(own) as one, changed(own, "handlersocket_slow_request_us", 1):
        one.open(0, "test", "t", "id,v", filters="w")
        assert rows("find test.t index PRIMARY columns id,v", lambda: one.request(0, ">=", 1, 7, 5, 2)) == (5, 7)
    with own.resp() as redis, changed(own, "redis_slow_request_us", 1):
        redis.ask("SET", "slow:rows", "1")
        got = rows(
            r"redis.* open postern_redis\.entries index PRIMARY columns k,expires,type,v;",
            lambda: redis.ask("GET", "slow:rows"),
        )
        assert got == (1, 1)
