"""Scripts at the door and at Debian's redis-server give the same replies, byte by byte; and features that only the door
has.

SEED=N chooses other random scripts, POSTERN_REDIS_SCRIPTS=N more of them.
"""
import contextlib
import os
import random
import subprocess
import sys
import threading
import time

import pytest
from support.random_input import seeds
from support.random_input.redis_scripts import COMMANDS, ERRORS, LIBRARIES, VALUES
from support.clients.resp import Client, decode, encode
from support.waiting import until

SCRIPTS = int(os.environ.get("POSTERN_REDIS_SCRIPTS", "400"))
SEED = seeds.chosen(1)


@contextlib.contextmanager
def setting(server, name, value):
    before = server.variable(name)
    server.execute(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        server.execute(f"SET GLOBAL {name} = {before}")


def test_a_command_of_a_script_is_one_statement_and_needs_no_mark(server, port):
    """Earlier each command took another statement and a savepoint, in case its key had another type."""
    script = (
        "local n = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 60000) redis.call('SET', KEYS[2], n) "
        "return {redis.call('INCR', KEYS[1]), redis.call('RPUSH', KEYS[3], n), redis.call('DEL', KEYS[2])}"
    )

    def counted():
        return [server.status(name)[name.lower()] for name in ("Redis_table_locks", "Handler_savepoint")]

    with Client(port) as client:
        client.ask("RPUSH", "l", "x")

        def few():  # the door's own work may come between
            before = counted()
            client.ask("EVAL", script, "3", "n", "s", "l")
            return [after - earlier for after, earlier in zip(counted(), before, strict=True)] == [6, 0]

        until(few, seconds=30)


class Pair:
    """The same request on both servers."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs = ours, theirs

    def both(self, *words):
        return self.ours.ask_raw(*words), self.theirs.ask_raw(*words)

    def same(self, *words):
        ours, theirs = self.both(*words)
        assert ours == theirs, words
        return ours


@pytest.fixture(params=[2, 3])
def pair(request, port, original):
    with Client(port) as ours, original.client() as theirs:
        both = Pair(ours, theirs)
        theirs.ask("FLUSHALL")
        if request.param == 3:
            ours.ask("HELLO", "3")
            theirs.ask("HELLO", "3")
        yield both


@pytest.mark.parametrize("scripts", [VALUES, ERRORS, LIBRARIES], ids=["values", "errors", "libraries"])
def test_scripts_answer_as_in_redis(pair, scripts):
    differs = []
    for script in scripts:
        ours, theirs = pair.both("EVAL", script, "0")
        if ours != theirs:
            differs.append(f"{script}\n  ours   {ours[:300]}\n  Redis' {theirs[:300]}")
        pair.both("FLUSHALL")
        pair.both("SCRIPT", "FLUSH")  # clears settings of cjson, which Redis keeps
    assert not differs, f"{len(differs)}\n" + "\n".join(differs)


def test_commands_in_scripts_answer_as_in_redis(pair):
    differs = []
    for script, keys, arguments in COMMANDS:
        ours, theirs = pair.both("EVAL", script, str(len(keys)), *keys, *arguments)
        if ours != theirs:
            differs.append(f"{script}\n  ours   {ours[:300]}\n  Redis' {theirs[:300]}")
    assert not differs, "\n".join(differs)


def test_eval_and_script_answer_as_in_redis(pair):
    sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"  # of "return 1"
    pair.both("SCRIPT", "FLUSH")
    for words in [
        ("EVAL", "return 1", "x"),
        ("EVAL", "return 1", "-1"),
        ("EVAL", "return 1", "1"),
        ("EVAL", "return 1"),
        ("EVALSHA", sha, "0"),
        ("EVALSHA", "x", "0"),
        ("SCRIPT", "EXISTS", sha, "x"),
        ("SCRIPT", "LOAD", "return 1"),
        ("SCRIPT", "LOAD", "return +"),
        ("SCRIPT", "LOAD", "#!lua flags=x\nreturn 1"),
        ("SCRIPT", "EXISTS", sha, sha.upper(), "x"),
        ("EVALSHA", sha, "0"),
        ("EVALSHA", sha.upper(), "0"),
        ("EVALSHA_RO", sha, "0"),
        ("EVAL_RO", "return redis.call('set','a',1)", "0"),
        ("EVAL_RO", "return redis.call('get','a')", "0"),
        ("EVAL_RO", "#!lua\nreturn 1", "0"),
        ("EVAL_RO", "#!lua flags=no-writes\nreturn 1", "0"),
        ("SCRIPT", "KILL"),
        ("SCRIPT", "DEBUG", "x"),
        ("SCRIPT", "FLUSH", "x"),
        ("SCRIPT", "FLUSH", "ASYNC"),
        ("SCRIPT", "EXISTS", sha),
        ("SCRIPT",),
        ("SCRIPT", "x"),
        ("COMMAND", "INFO", "eval", "evalsha", "eval_ro", "evalsha_ro"),
        ("COMMAND", "GETKEYS", "EVAL", "return 1", "2", "a", "b", "c"),
    ]:
        pair.same(*words)


def test_scripts_in_transactions_answer_as_in_redis(pair):
    for words in [
        ("MULTI",),
        ("SET", "a", "1"),
        ("EVAL", "redis.call('incr','a') return redis.call('incr','b')", "2", "a", "b"),
        ("EVAL", "return redis.call('nosuch')", "0"),
        ("GET", "a"),
        ("EXEC",),
        ("MGET", "a", "b"),
    ]:
        pair.same(*words)


# --- random scripts ---------------------------------------------------------------------------------------------------


class Scripts:
    """Random programs: commands on a few keys, with conditions and loops, and calls with errors that are caught."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def key(self):
        return f"KEYS[{self.random.randint(1, 4)}]"

    def value(self):
        return self.random.choice(["1", "'x'", "ARGV[1]", "ARGV[2]", "short(last)", "#KEYS", "0.5", "'12'"])

    def call(self):
        key, other, value = self.key(), self.key(), self.value()
        call = self.random.choice(
            [
                f"'set', {key}, tostring({value})",
                f"'get', {key}",
                f"'incr', {key}",
                f"'append', {key}, tostring({value})",
                f"'del', {key}",
                f"'rpush', {key}, 'a', tostring({value})",
                f"'lrange', {key}, 0, -1",
                f"'lpop', {key}",
                f"'hset', {key}, 'f', tostring({value})",
                f"'hget', {key}, 'f'",
                f"'hlen', {key}",
                f"'sadd', {key}, tostring({value})",
                f"'scard', {key}",
                f"'zadd', {key}, 1, 'm'",
                f"'zincrby', {key}, 2, 'm'",
                f"'zcard', {key}",
                f"'exists', {key}, {other}",
                f"'type', {key}",
                f"'rename', {key}, {other}",
                f"'mset', {key}, 1, {other}, 2",
                f"'strlen', {key}",
                f"'ttl', {key}",
                f"'nosuch', {key}",
                f"'get'",
            ]
        )
        return f"redis.{'pcall' if self.random.random() < 0.8 else 'call'}({call})"

    def statement(self, depth):
        kind = self.random.random()
        if kind < 0.6 or depth == 0:
            return f"last = plain({self.call()})\n"
        if kind < 0.7:
            return f"local ok, e = pcall(redis.call, 'lpush', {self.key()}, 1) last = tostring(ok)\n"
        if kind < 0.85:
            return f"if type(last) == '{self.random.choice(['number', 'string', 'table'])}' then {self.block(depth - 1)} end\n"
        return f"for i = 1, {self.random.randint(1, 4)} do {self.block(depth - 1)} end\n"

    def block(self, depth):
        return "".join(self.statement(depth) for _ in range(self.random.randint(1, 4)))

    def script(self):
        begin = (
            "local function plain(v) if type(v) == 'table' and v.err then return 'E' .. v.err end "
            "if type(v) == 'table' and v.ok then return v.ok end return v end "
            "local function short(v) return type(v) == 'table' and 'table' or v end\nlocal last = 0\nlocal all = {}\n"
        )
        body = "".join(f"{self.statement(2)}all[#all+1] = last or 'nil'\n" for _ in range(self.random.randint(1, 8)))
        return f"{begin}{body}return all"


def test_random_scripts_answer_as_in_redis_and_leave_the_same(pair):
    scripts = Scripts(SEED)
    keys = ["a", "b", "c", "d"]
    for number in range(SCRIPTS):
        script = scripts.script()
        ours, theirs = pair.both("EVAL", script, "4", *keys, "x", str(number % 7))
        assert ours == theirs, f"SEED={SEED} {number}\n{script}"
        if theirs[:1] == b"-":  # ours is rolled back as a whole
            pair.both("FLUSHALL")
            continue
        for key in keys:
            kind = pair.same("TYPE", key)
            if kind == b"+string\r\n":
                pair.same("GET", key)
            elif kind == b"+list\r\n":
                pair.same("LRANGE", key, "0", "-1")
            elif kind == b"+hash\r\n":
                pair.same("HGETALL", key)
            elif kind == b"+zset\r\n":
                pair.same("ZRANGE", key, "0", "-1", "WITHSCORES")
        if number % 10 == 9:
            pair.both("FLUSHALL")


# --- ours alone -------------------------------------------------------------------------------------------------------


def test_a_script_that_fails_leaves_nothing(server, port):
    script = "redis.call('set', 'a', 1) redis.call('rpush', 'l', 1, 2) return redis.call('lpush', 'a', 1)"
    with Client(port) as client:
        assert client.ask_raw("EVAL", script, "0").startswith(b"-WRONGTYPE")
        assert client.ask("EXISTS", "a", "l") == 0
        with setting(server, "redis_script_rollback", "OFF"):
            until(lambda: client.ask("DEL", "a", "l") >= 0 and half_done(client, script))
        client.ask("FLUSHALL")


def half_done(client, script):
    client.ask_raw("EVAL", script, "0")
    return client.ask("EXISTS", "a", "l") == 2


def test_a_script_is_bounded_in_time_and_memory(server, port):
    with Client(port) as client, setting(server, "redis_script_time_limit", "300"):
        for script in [
            "while true do end",
            "local t = {} for i = 1, 60 do t = {t, t} end return t",
            "redis.call('set', 'a', 1) while true do pcall(function() while true do end end) end",
            "return string.rep('a', 1e6):find(string.rep('a?', 1000) .. 'b')",
            "return string.find(string.rep('a', 100000), string.rep('a-', 2000) .. 'b')",
        ]:
            until(lambda script=script: b"redis_script_time_limit" in client.ask_raw("EVAL", script, "0"), seconds=60)
        assert client.ask("EXISTS", "a") == 0
    # Without a time limit memory ends these, however slow the machine is.
    with setting(server, "redis_script_time_limit", "0"), setting(server, "redis_script_memory", "4194304"), Client(
        port
    ) as client:
        for script in [
            "local t = {} while true do t[#t + 1] = string.rep('x', 100000) .. #t end",
            "return string.rep('x', 2^31 - 1)",
            "local s = 'x' while true do s = s .. s end",
            "local t = {} for i = 1, 30 do t = {t, t} end return cjson.encode(t)",
        ]:
            assert b"not enough memory" in client.ask_raw("EVAL", script, "0"), script
        assert client.ask("EVAL", "return 1", "0") == 1


def test_others_go_on_while_a_script_runs_and_it_can_be_killed(server, port):
    with setting(server, "redis_script_time_limit", "0"), Client(port) as client, Client(port) as other:
        # Creating a missing key would lock its gap, and so block its neighbours.
        client.ask("MSET", *(word for number in range(50) for word in (f"k{number}", "old")), "a", "old")
        client.send(encode("EVAL", "redis.call('set', 'a', 1) while true do end", "0"))
        begun = time.monotonic()
        for number in range(50):
            assert other.ask("SET", f"k{number}", "v") == "OK"
            assert other.ask("EVAL", "return redis.call('get', KEYS[1])", "1", f"k{number}") == b"v"
        assert time.monotonic() - begun < 20
        until(lambda: other.ask_raw("SCRIPT", "KILL") == b"+OK\r\n")
        assert client.raw().startswith(b"-ERR Error running script")
        assert other.ask("GET", "a") == b"old"
        assert other.ask_raw("SCRIPT", "KILL").startswith(b"-NOTBUSY")


# KILL gave the thread another identity, and the script ran again from its beginning. After its first command the process
# list did not show its thread as one that runs a script.
@pytest.mark.parametrize("what", ["KILL", "KILL QUERY"])
@pytest.mark.parametrize(
    "endless",
    [
        "while true do end",
        "while true do redis.call('set', 'a', 1) end",
        "while true do redis.pcall('set', 'a', 1) end",
    ],
)
def test_kill_of_its_thread_ends_a_script(server, port, what, endless):
    find = "SELECT id FROM information_schema.processlist WHERE state LIKE 'redis script%: running a script'"
    with setting(server, "redis_script_time_limit", "0"), Client(port) as client, Client(port) as other:
        other.ask("SET", "a", "old")
        client.send(encode("EVAL", f"redis.call('set', 'a', 1) {endless}", "0"))
        threads = []
        until(lambda: threads.extend(server.query(find)) or threads)
        server.execute(f"{what} {threads[0][0]}")
        assert client.raw().startswith(b"-TRYAGAIN The request was interrupted")
        assert other.ask("GET", "a") == b"old"
        assert client.ask("EVAL", "return 1", "0") == 1


@contextlib.contextmanager
def starved(server):
    """The server shares one processor with processes that never rest, and long scripts have a low priority."""
    cpu = {min(os.sched_getaffinity(0))}
    threads = [int(name) for name in os.listdir(f"/proc/{server.env['PID']}/task")]
    before = os.sched_getaffinity(threads[0])
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        for task in (*threads, *(process.pid for process in busy)):
            os.sched_setaffinity(task, cpu)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
        for thread in threads:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, before)


# On a busy machine scripts failed that had used a fiftieth of the limit.
def test_the_time_without_a_processor_does_not_count(server, port):
    work = "for i = 1, 10000 do redis.call('ping') end return 'ok'"
    with setting(server, "redis_script_time_limit", "150"), Client(port) as client, starved(server):
        client.socket.settimeout(120)
        assert client.ask("EVAL", work, "0") == b"ok"
        begun = time.monotonic()
        assert client.ask_raw("EVAL", "while true do end", "0").startswith(b"-ERR Error running script: it has run for")
        assert time.monotonic() - begun < 100


# Endless scripts took all threads for long work, so nobody's DBSIZE or FLUSHALL was answered.
def test_many_endless_scripts_stop_nobody_elses_commands(server, port):
    endless = encode("EVAL", "local n = 0 while true do n = n + 1 end", "0")
    with setting(server, "redis_script_time_limit", "0"), contextlib.ExitStack() as stack:
        other = stack.enter_context(Client(port))
        assert other.ask("SET", "a", "b") == "OK"
        looping = [stack.enter_context(Client(port)) for _ in range(12)]
        for client in looping:
            client.send(endless)
        until(lambda: other.ask("CLIENT", "LIST").count(b"cmd=eval") == len(looping))
        for _ in range(3):
            assert other.ask("DBSIZE") == 1
            assert other.ask("KEYS", "*") == [b"a"]
            assert other.ask("SADD", "s", *range(100)) == 100
            assert other.ask("EVAL", "return redis.call('get', KEYS[1])", "1", "a") == b"b"
            assert other.ask("DEL", "s") == 1
        assert other.ask("FLUSHALL") == "OK"
        assert other.ask("DBSIZE") == 0
        # Scripts that wait for a thread begin when others have ended.
        killer = threading.Thread(target=until, args=(lambda: not killed(port),), kwargs={"seconds": 60})
        killer.start()
        for client in looping:
            assert client.raw().startswith(b"-ERR Error running script: Script killed")
        killer.join()


def killed(port):
    with Client(port) as client:
        return client.ask_raw("SCRIPT", "KILL") == b"+OK\r\n"


def test_scripts_of_many_clients_lose_nothing(port):
    script = """
    local n = tonumber(redis.call('get', KEYS[1]) or '0')
    redis.call('set', KEYS[1], n + 1)
    redis.call('rpush', KEYS[2], n + 1)
    return n + 1
    """
    told = []

    def count():
        with Client(port) as client:
            for _ in range(40):
                told.append(client.ask("EVAL", script, "2", "n", "list"))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(1, 321))
    with Client(port) as client:
        assert client.ask("GET", "n") == b"320"
        assert [int(one) for one in client.ask("LRANGE", "list", "0", "-1")] == list(range(1, 321))


def test_scripts_that_lock_in_another_order_get_through(port):
    script = "redis.call('incr', KEYS[1]) redis.call('incr', KEYS[2]) return 1"

    def add(keys):
        with Client(port) as client:
            for _ in range(30):
                assert client.ask("EVAL", script, "2", *keys) == 1

    threads = [threading.Thread(target=add, args=(keys,)) for keys in (["a", "b"], ["b", "a"]) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Client(port) as client:
        assert client.ask("MGET", "a", "b") == [b"180", b"180"]


def test_a_pipeline_of_scripts_is_answered_in_order(port):
    with Client(port) as client:
        client.send(encode("SCRIPT", "LOAD", "return redis.call('incr', 'n')"))
        client.send(encode("EVALSHA", "f1f2c1d2", "0"))
        client.send(encode("SET", "x", "1"))
        for _ in range(50):
            client.send(encode("EVAL", "return redis.call('incr', 'n')", "0"))
            client.send(encode("RPUSH", "list", "x"))
            client.send(encode("GET", "n"))
        sha = decode(client.raw())
        assert len(sha) == 40
        assert client.raw().startswith(b"-NOSCRIPT")
        assert decode(client.raw()) == "OK"
        for number in range(1, 51):
            assert [decode(client.raw()), decode(client.raw()), decode(client.raw())] == [
                number,
                number,
                str(number).encode(),
            ]


def test_a_script_wakes_a_waiting_client(port):
    with Client(port) as waiting, Client(port) as client:
        waiting.send(encode("BLPOP", "q", "10"))
        until(lambda: b"flags=b" in client.ask("CLIENT", "LIST"))
        assert client.ask("EVAL", "return redis.call('rpush', KEYS[1], 'job')", "1", "q") == 1
        assert decode(waiting.raw()) == [b"q", b"job"]


def test_kill_of_the_server_leaves_no_half_script(sandbox_factory):
    server = sandbox_factory(redis=True)
    script = "for i = 1, 20 do redis.call('incr', KEYS[i]) end return redis.call('get', KEYS[1])"
    keys = [f"k{i}" for i in range(20)]
    done = []

    def work():
        with contextlib.suppress(OSError, EOFError, AssertionError), Client(server.env["REDIS_PORT"]) as client:
            while True:
                done.append(int(client.ask("EVAL", script, "20", *keys)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: len(done) > 100)
    server.kill()
    for thread in threads:
        thread.join()
    server.start()
    with Client(server.env["REDIS_PORT"]) as client:
        values = {int(value) for value in client.ask("MGET", *keys)}
        assert len(values) == 1, values
        assert values.pop() >= max(done)
