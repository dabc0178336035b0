"""FUNCTION and FCALL beside Debian's redis-server, and differences of the door: libraries are rows, and survive a
restart."""
import re
import threading
import time

import pytest
from support.clients.resp import Client, Error
from support.waiting import until

MY_SET = """#!lua name=mylib
local function note(key) redis.call('INCR', 'calls:' .. key) end
redis.register_function('my_set', function(keys, args) note(keys[1]) return redis.call('SET', keys[1], args[1]) end)
redis.register_function{function_name='my_get', callback=function(keys) return redis.call('GET', keys[1]) end,
  flags={'no-writes', 'allow-stale'}, description='Reads a key'}
redis.register_function('fails', function(keys) redis.call('SET', keys[1], 'x') return redis.call('INCR', keys[1]) end)
"""
ONE = "#!lua name={0}\nredis.register_function('{1}', function(keys, args) return {2} end)"
FLAGS = """#!lua name=flags
redis.register_function{function_name='one', flags={'ALLOW-OOM', 'no-writes', 'no-cluster', 'allow-cross-slot-keys'},
  callback=function() return 1 end, description='One'}"""
COUNTS = "#!lua name=c\nlocal n = 0\nredis.register_function('count', function() n = n + 1 return n end)"
FOREVER = ONE.format("slow", "forever", "(function() while true do end end)()")

BAD_LIBRARIES = [
    "return 1",
    "#!lua name=x",
    "#!lua\nreturn 1",
    "#!lua name=x\nreturn 1",
    "#!lua name=x foo=bar\n",
    "#!lua name=x name=y\n",
    "#!lua name=\n",
    "#!lua name=a-b\nreturn 1",
    '#!lua name="a\n',
    "#!lua name='a'b\n",
    "#!js name=x\nreturn 1",
    "#! name=x\nreturn 1",
    "#!lua name=x\n+",
    "#!lua name=x\nredis.register_function()",
    "#!lua name=x\nredis.register_function(1)",
    "#!lua name=x\nredis.register_function('f')",
    "#!lua name=x\nredis.register_function('f', 1)",
    "#!lua name=x\nredis.register_function({}, function() end)",
    "#!lua name=x\nredis.register_function('f-g', function() end)",
    "#!lua name=x\nredis.register_function('', function() end)",
    "#!lua name=x\nredis.register_function('f', function() end, 1)",
    "#!lua name=x\nredis.register_function('f', function() end) redis.register_function('f', function() end)",
    "#!lua name=x\nredis.register_function{callback=function() end}",
    "#!lua name=x\nredis.register_function{function_name='f'}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=function() end, flags='no-writes'}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=function() end, flags={'nosuch'}}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=function() end, flags={{}}}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=function() end, nosuch=1}",
    "#!lua name=x\nredis.register_function{function_name='f', callback=function() end, description={}}",
    "#!lua name=x\nredis.register_function{[{}]=1}",
    "#!lua name=x\nredis.call('PING')",
    "#!lua name=x\nmath.random()",
    "#!lua name=x\nx = 1",
    "#!lua name=x\nredis.x = 1",
    "#!lua name=x\nerror('no')",
    "#!lua name=x\nlocal a = nil + 1",
]
# Requests after FUNCTION FLUSH, each list separately.
SESSIONS = [
    [
        ("FUNCTION", "LOAD", MY_SET),
        ("FUNCTION", "LOAD", MY_SET),
        ("FUNCTION", "LOAD", "REPLACE", MY_SET),
        ("FCALL", "my_set", "1", "k", "v"),
        ("FCALL", "MY_GET", "1", "k"),
        ("FCALL_RO", "my_get", "1", "k"),
        ("FCALL_RO", "my_set", "1", "k", "v"),
        ("FCALL", "nosuch", "0"),
        ("FCALL", "nosuch", "x"),
        ("FCALL", "my_set", "x", "k"),
        ("FCALL", "my_set", "2", "k"),
        ("FCALL", "my_set", "-1", "k"),
        ("FCALL", "my_set", "0"),
        ("FCALL", "my_set"),
        ("GET", "calls:k"),
        ("COMMAND", "GETKEYS", "FCALL", "my_set", "1", "k", "v"),
        ("FUNCTION", "LOAD", FLAGS),
        ("FUNCTION", "LIST", "LIBRARYNAME", "FL?gs"),
        ("FUNCTION", "LIST", "WITHCODE", "LIBRARYNAME", "fl*"),
        ("FUNCTION", "LIST", "LIBRARYNAME", "x*"),
        ("FUNCTION", "LIST", "LIBRARYNAME"),
        ("FUNCTION", "LIST", "WITHCODE", "WITHCODE"),
        ("FUNCTION", "STATS"),
        ("FUNCTION", "DELETE", "nosuch"),
        ("FUNCTION", "DELETE", "mylib"),
        ("FCALL", "my_get", "1", "k"),
        ("FUNCTION", "DELETE", "flags"),
        ("FUNCTION", "DUMP"),
        ("FUNCTION", "RESTORE", "x"),
        ("FUNCTION", "RESTORE", "x", "NOSUCH"),
        ("FUNCTION", "RESTORE"),
        ("FUNCTION", "FLUSH", "NOSUCH"),
        ("FUNCTION", "KILL"),
        ("FUNCTION", "LOAD"),
        ("FUNCTION", "LOAD", "NOSUCH", MY_SET),
    ],
    [
        ("FUNCTION", "LOAD", ONE.format("a", "f", "1")),
        ("FUNCTION", "LOAD", ONE.format("b", "f", "2")),
        ("FUNCTION", "LOAD", ONE.format("b", "F", "2")),
        ("FUNCTION", "LOAD", ONE.format("A", "g", "{keys, args}")),
        ("FCALL", "g", "2", "1", "2", "3"),
        ("FUNCTION", "LOAD", ONE.format("m", "m", "redis.call('MULTI')")),
        ("FCALL", "m", "0"),
        ("FUNCTION", "LOAD", ONE.format("r", "r", "redis.register_function")),
        ("FCALL", "r", "0"),
        ("FUNCTION", "LOAD", ONE.format("e", "e", "redis.error_reply('MY error')")),
        ("FCALL", "e", "0"),
        ("FUNCTION", "LOAD", ONE.format("p", "p", "redis.pcall('NOSUCH')")),
        ("FCALL", "p", "0"),
        ("FUNCTION", "LOAD", ONE.format("x", "x", "nosuch")),
        ("FCALL", "x", "0"),
        ("FUNCTION", "LOAD", ONE.format("y", "y", "{1, 'two', {3.5, true}, false, redis.status_reply('FINE')}")),
        ("FCALL", "y", "0"),
        ("FUNCTION", "LOAD", ONE.format("z", "z", "redis.sha1hex(cjson.encode({#keys, #args}))")),
        ("FCALL", "z", "1", "a", "b", "c"),
        ("MULTI",),
        ("FUNCTION", "LOAD", "REPLACE", ONE.format("a", "f", "11")),
        ("FCALL", "f", "0"),
        ("FUNCTION", "DELETE", "A"),
        ("FCALL", "g", "0"),
        ("EXEC",),
        ("FCALL", "f", "0"),
        ("EVAL", "return redis.call('FCALL', 'f', 0)", "0"),
        ("EVAL", "return redis.call('FUNCTION', 'LIST')", "0"),
    ],
]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("requests", SESSIONS, ids=["one", "several"])
def test_functions_answer_as_in_redis(port, original, requests, version):
    with Client(port) as ours, original.client() as theirs:
        theirs.ask("FUNCTION", "FLUSH")
        theirs.ask("FLUSHALL")
        for client in (ours, theirs):
            client.ask("HELLO", version)
        differs = [
            (words, pair) for words in requests if len(set(pair := [c.ask_raw(*words) for c in (ours, theirs)])) > 1
        ]
        assert not differs, differs


def test_libraries_are_refused_as_in_redis(port, original):
    with Client(port) as ours, original.client() as theirs:
        theirs.ask("FUNCTION", "FLUSH")
        for library in BAD_LIBRARIES:
            assert ours.error("FUNCTION", "LOAD", library) == theirs.error("FUNCTION", "LOAD", library), library
        assert ours.ask("FUNCTION", "LIST") == []


def test_dumps_go_both_ways(port, original):
    long = ONE.format("long", "long", "'" + "abcabcabc" * 400 + "'")
    with Client(port) as ours, original.client() as theirs:
        theirs.ask("FUNCTION", "FLUSH")
        for giver, taker in ((theirs, ours), (ours, theirs)):
            giver.ask("FUNCTION", "FLUSH")
            for library in (MY_SET, long):
                giver.ask("FUNCTION", "LOAD", library)
            dump = giver.ask("FUNCTION", "DUMP")
            taker.ask("FUNCTION", "FLUSH")
            assert taker.ask("FUNCTION", "RESTORE", dump) == "OK"
            assert taker.ask("FCALL", "long", "0") == b"abcabcabc" * 400
            # The error names either library, depending on the order in the dump.
            assert re.fullmatch("ERR Library (mylib|long) already exists", taker.error("FUNCTION", "RESTORE", dump))
            assert taker.ask("FUNCTION", "RESTORE", dump, "REPLACE") == "OK"
            taker.ask("FUNCTION", "LOAD", "REPLACE", ONE.format("long", "other", "1"))
            taker.ask("FUNCTION", "LOAD", ONE.format("third", "long", "3"))
            assert "already exists" in taker.error("FUNCTION", "RESTORE", dump, "REPLACE")
            assert (taker.ask("FCALL", "other", "0"), taker.ask("FCALL", "long", "0")) == (1, 3)
            assert taker.ask("FUNCTION", "RESTORE", dump, "FLUSH") == "OK"
            assert taker.ask("FUNCTION", "STATS")[-1][1][1] == 2
        for cut in range(len(dump)):
            assert ours.error("FUNCTION", "RESTORE", dump[:cut]) == "ERR DUMP payload version or checksum are wrong"


def test_a_library_is_a_row_that_outlives_the_server(sandbox_factory):
    server = sandbox_factory(redis=True)
    with server.resp() as client:
        assert client.ask("FUNCTION", "LOAD", MY_SET) == b"mylib"
    assert server.query("SELECT library, code FROM postern.redis_functions") == [(b"mylib", MY_SET.encode())]
    server.kill()
    server.start()
    with server.resp() as client:
        assert client.ask("FCALL", "my_set", "1", "k", "v") == "OK"
        # A change by SQL takes effect within about a second.
        server.execute(f"REPLACE INTO postern.redis_functions VALUES ('sql', \"{ONE.format('sql', 'sql', '7')}\")")
        until(lambda: answered(client, "FCALL", "sql", "0") == 7, seconds=15)
        server.execute("REPLACE INTO postern.redis_functions VALUES ('sql', 'nonsense')")
        until(lambda: isinstance(answered(client, "FCALL", "sql", "0"), Error), seconds=15)
        assert [row[1] for row in client.ask("FUNCTION", "LIST")] == [b"mylib"]
        server.execute("DROP TABLE postern.redis_functions")
        until(lambda: isinstance(answered(client, "FCALL", "my_get", "1", "k"), Error), seconds=15)
        assert "redis.sql" in client.error("FUNCTION", "LOAD", MY_SET)
        assert client.ask("FUNCTION", "LIST") == [] and client.ask("GET", "k") == b"v"
    log = server.log()
    assert log.count("the library 'sql' of postern.redis_functions cannot be used: ERR Missing library metadata") == 1


def answered(client, *words):
    try:
        return client.ask(*words)
    except Error as error:
        return error


def test_a_function_is_a_transaction(server, port):
    with Client(port) as client:
        client.ask("FUNCTION", "LOAD", MY_SET)
        assert client.error("FCALL", "fails", "1", "k").startswith("ERR value is not an integer")
        assert client.ask("EXISTS", "k") == 0
        assert server.query("SELECT COUNT(*) FROM postern_redis.entries") == [(0,)]
        # A library's local variables are initialised for each call.
        client.ask("FUNCTION", "LOAD", COUNTS)
        assert [client.ask("FCALL", "count", "0") for _ in range(3)] == [1, 1, 1]
        # EXEC's rollback also removes a library that it loaded.
        client.ask("MULTI")
        client.ask("FUNCTION", "LOAD", ONE.format("new", "new", "5"))
        client.ask("FCALL", "new", "0")
        assert client.ask("EXEC") == [b"new", 5]
        server.execute("SET GLOBAL redis_exec_rollback = ON")
        try:
            client.ask("MULTI")
            client.ask("FUNCTION", "DELETE", "new")
            client.ask("FUNCTION", "LOAD", ONE.format("lost", "lost", "6"))
            client.ask("FCALL", "lost", "0")
            client.ask("LPUSH", "s", "x")
            client.ask("INCR", "s")
            assert client.error("EXEC").startswith("EXECABORT")
        finally:
            server.execute("SET GLOBAL redis_exec_rollback = OFF")
        assert client.error("FCALL", "lost", "0") == "ERR Function not found"
        assert client.ask("FCALL", "new", "0") == 5


def test_a_function_is_killed_and_bounded_and_its_load_too(server, port):
    with Client(port) as client, Client(port) as other:
        client.ask("FUNCTION", "LOAD", FOREVER)
        began = time.monotonic()
        client.send(b"*3\r\n$5\r\nFCALL\r\n$7\r\nforever\r\n$1\r\n0\r\n")
        until(lambda: other.ask("FUNCTION", "STATS")[1] is not None, seconds=15)
        running = other.ask("FUNCTION", "STATS")[1]
        assert running[:4] == [b"name", b"forever", b"command", [b"FCALL", b"forever", b"0"]]
        assert other.error("SCRIPT", "KILL").startswith("BUSY ")
        assert other.ask("FUNCTION", "KILL") == "OK"
        assert b"Script killed by user with FUNCTION KILL" in client.raw()
        assert time.monotonic() - began < 60 and other.error("FUNCTION", "KILL").startswith("NOTBUSY ")
        assert other.error("FUNCTION", "LOAD", "#!lua name=x\nwhile true do end").endswith("FUNCTION LOAD timeout")
        assert "not enough memory" in other.error(
            "FUNCTION", "LOAD", "#!lua name=x\nlocal s = 'x' while true do s = s .. s end"
        )
        assert other.error("FUNCTION", "LOAD", "#!lua name=x\n" + " " * (4 << 20)) == "ERR the library is too long"
        # An interpreter still runs scripts after an interrupted load.
        assert other.ask("EVAL", "return math.max(1, 2)", "0") == 2


def test_libraries_of_many_clients_never_share_a_function(server, port):
    """Two libraries define the same function: the first one loaded has it, each time."""
    failures = []

    def load(library):
        with Client(port) as client:
            for _ in range(30):
                try:
                    client.ask("FUNCTION", "LOAD", "REPLACE", ONE.format(library, "one", f"'{library}'"))
                    got = answered(client, "FCALL", "one", "0")
                    if got not in (b"a", b"b") and "not found" not in str(got):
                        failures.append(got)
                    client.ask("FUNCTION", "DELETE", library)
                except Error as error:
                    if "already exists" not in str(error):
                        failures.append(error)

    threads = [threading.Thread(target=load, args=[library]) for library in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert server.query("SELECT COUNT(*) FROM postern.redis_functions")[0][0] == 0


def test_grants_decide_on_loads(sandbox_factory):
    server = sandbox_factory("--redis-auth=account", redis=True)
    server.execute(
        "CREATE USER ann@localhost IDENTIFIED BY 'a'",
        "CREATE USER bob@localhost IDENTIFIED BY 'b'",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON postern_redis.* TO ann@localhost",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON postern.redis_functions TO ann@localhost",
    )
    with server.resp() as ann, server.resp() as bob:
        ann.ask("AUTH", "ann", "a")
        bob.ask("AUTH", "bob", "b")
        assert bob.error("FUNCTION", "LOAD", MY_SET).startswith("NOPERM ")
        ann.ask("FUNCTION", "LOAD", MY_SET)
        assert ann.ask("FCALL", "my_set", "1", "k", "v") == "OK"
        for words in (("DELETE", "mylib"), ("FLUSH",), ("RESTORE", ann.ask("FUNCTION", "DUMP"), "REPLACE")):
            assert bob.error("FUNCTION", *words).startswith("NOPERM "), words
        # Its commands run with the caller's rights.
        assert bob.error("FCALL", "my_set", "1", "k", "x").startswith("NOPERM ")
        assert ann.ask("FCALL", "my_get", "1", "k") == b"v"
