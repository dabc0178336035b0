"""Whole sessions of third-party Redis clients, in the versions that users install today.

Each session's script prints its client's results; they must equal the .expected file beside the script, line by line,
which contains Redis's results. With POSTERN_TEST_ORIGINAL=1 the sessions run against Debian's redis-server.
"""
import re
import shutil
import subprocess

import pytest
from support.clients.java import JAVA
from support.program import output_of
from support.clients.resp import Client, Original
from support.server import ROOT

HERE = ROOT / "tests" / "clients" / "redis"


def expected(name):
    return (HERE / f"{name}.expected").read_text()


def need(program, *check):
    if not shutil.which(program) or (check and subprocess.run(check, capture_output=True, check=False).returncode != 0):
        pytest.skip(f"{program} lacks what this needs; run tools/deps clients")


def test_redis_py(redis_port, fetched):
    folder = fetched("redis-py")
    command = ("/usr/bin/python3", HERE / "redis_py_session.py", folder / "redis-py", redis_port)
    assert output_of(*command) == expected("redis_py_session")


def test_a_redis_is_copied(redis_port, fetched, tmp_path):
    """Copies a Redis as docs/migrating.md describes, twice: all types, binary values, expiry, and keys left out of the
    copy."""
    folder = fetched("redis-py") / "redis-py"
    (script,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/migrating.md").read_text(), re.S)
    original = Original(tmp_path)
    try:
        with original.client() as old, Client(redis_port) as new:
            new.ask("FLUSHDB")
            old.ask("SET", "word", b"\0\xff\r\n")
            old.ask("SET", "short", "x", "PX", 3_600_000)
            old.ask("HSET", "hash", "a", 1, "b", "")
            old.ask("RPUSH", "list", *range(500))
            old.ask("SADD", "set", "x", "y")
            old.ask("ZADD", "zset", "1.5", "one", "-inf", "least")
            old.ask("XADD", "stream", "*", "a", "b")
            for _ in range(2):
                told = script.replace("port=6380", f"port={original.port}").replace("port=6379", f"port={redis_port}")
                output_of("/usr/bin/python3", "-c", f"import sys\nsys.path.insert(0, {str(folder)!r})\n{told}")
            for words in (
                ("GET", "word"),
                ("HGETALL", "hash"),
                ("LRANGE", "list", 0, -1),
                ("ZRANGE", "zset", 0, -1, "WITHSCORES"),
                ("GET", "short"),
            ):
                assert new.ask(*words) == old.ask(*words), words
            assert sorted(new.ask("SMEMBERS", "set")) == [b"x", b"y"]
            assert 3_500_000 < new.ask("PTTL", "short") <= 3_600_000 and new.ask("PTTL", "word") == -1
            assert new.ask("DBSIZE") == old.ask("DBSIZE") - 1
            new.ask("FLUSHDB")
    finally:
        original.stop()


def test_go_redis(redis_port, fetched):
    folder = fetched("go-redis")
    assert output_of(folder / "go-redis" / "session", redis_port) == expected("go_redis_session")


def test_ioredis(redis_port, fetched):
    folder = fetched("ioredis")
    assert output_of("node", HERE / "ioredis_session.js", folder / "ioredis" / "node_modules", redis_port) == expected(
        "ioredis_session"
    )


def test_node_redis(redis_port, fetched):
    folder = fetched("node-redis") / "node-redis"
    assert output_of("node", HERE / "node_redis_session.js", folder, redis_port) == expected("node_redis_session")


def test_express_sessions_in_connect_redis(redis_port, fetched):
    folder = fetched("node-redis") / "node-redis"
    assert output_of("node", HERE / "express_session.js", folder, redis_port) == expected("express_session")


def test_django_cache_and_sessions(redis_port, fetched):
    folder = fetched("django")
    command = ("/usr/bin/python3", HERE / "django_session.py", folder / "redis-py", folder / "django", redis_port)
    assert output_of(*command) == expected("django_session")


def test_jedis(redis_port, fetched):
    folder = fetched("jedis") / "jedis"
    assert output_of(*JAVA, "-cp", f"{folder}/*", HERE / "JedisSession.java", redis_port) == expected("JedisSession")


def test_lettuce(redis_port, fetched):
    folder = fetched("lettuce") / "lettuce"
    assert output_of(*JAVA, "-cp", f"{folder}/*", HERE / "LettuceSession.java", redis_port) == expected(
        "LettuceSession"
    )


def test_redisson(redis_port, fetched):
    folder = fetched("redisson") / "redisson"
    assert output_of(*JAVA, "-cp", f"{folder}/*", HERE / "RedissonSession.java", redis_port) == expected(
        "RedissonSession"
    )


def test_spring_session(redis_port, fetched):
    folder = fetched("spring-session") / "spring-session"
    assert output_of(*JAVA, "-cp", f"{folder}/*", HERE / "SpringSession.java", redis_port) == expected("SpringSession")


def test_jobs_of_arq(redis_port, fetched):
    folder = fetched("arq")
    command = ("/usr/bin/python3", HERE / "arq_session.py", folder / "redis-py", folder / "arq", redis_port)
    assert output_of(*command) == expected("arq_session")


def test_tasks_of_huey(redis_port, fetched):
    folder = fetched("huey")
    command = ("/usr/bin/python3", HERE / "huey_session.py", folder / "redis-py", folder / "huey", redis_port)
    assert output_of(*command) == expected("huey_session")


def test_jobs_of_sidekiq(redis_port, fetched):
    need("ruby", "ruby", "-rredis", "-e", "")
    folder = fetched("sidekiq")
    command = ("ruby", HERE / "sidekiq_session.rb", folder / "sidekiq", folder / "connection-pool", redis_port)
    assert output_of(*command) == expected("sidekiq_session")


def test_rails_cache_store(redis_port):
    need("ruby", "ruby", "-rredis", "-ractive_support", "-e", "")
    assert output_of("ruby", HERE / "rails_session.rb", redis_port) == expected("rails_session")


def test_phpredis(redis_port):
    need("php", "php", "-r", "exit(extension_loaded('redis') ? 0 : 1);")
    assert output_of("php", HERE / "phpredis_session.php", redis_port) == expected("phpredis_session")


def test_predis(redis_port):
    need("php", "php", "-r", "exit(file_exists('/usr/share/php/Predis/autoload.php') ? 0 : 1);")
    assert output_of("php", HERE / "predis_session.php", redis_port) == expected("predis_session")


def test_redis_rb(redis_port):
    need("ruby", "ruby", "-rredis", "-e", "")
    assert output_of("ruby", HERE / "redis_rb_session.rb", redis_port) == expected("redis_rb_session")


def test_hiredis(redis_port, tmp_path):
    need("gcc", "sh", "-c", "echo '#include <hiredis/hiredis.h>' | gcc -E -")
    program = tmp_path / "session"
    output_of("gcc", "-o", program, HERE / "hiredis_session.c", "-lhiredis")
    assert output_of(program, redis_port) == expected("hiredis_session")


def test_redis_cli(redis_port):
    need("redis-cli")
    script = "FLUSHDB\nSET k 'a b'\nGET k\nHSET h f v\nHGETALL h\nINCR n\nMULTI\nINCR n\nEXEC\nNOSUCH\nDEL k h n\n"
    told = output_of("redis-cli", "-p", redis_port, "--no-raw", input=script)
    assert told.splitlines() == [
        "OK",
        "OK",
        '"a b"',
        "(integer) 1",
        '1) "f"',
        '2) "v"',
        "(integer) 1",
        "OK",
        "QUEUED",
        "1) (integer) 2",
        "(error) ERR unknown command 'NOSUCH', with args beginning with: ",
        "(integer) 3",
    ]


@pytest.mark.parametrize("depth", [1, 16])
def test_redis_benchmark(redis_port, depth):
    need("redis-benchmark")
    tests = "ping_inline,ping_mbulk,set,get,incr,hset,mset"
    told = output_of(
        "redis-benchmark", "-p", redis_port, "-t", tests, "-n", 2000, "-c", 10, "-P", depth, "-r", 1000, "-q"
    )
    assert "ERR" not in told
    for name in ("PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "HSET", "MSET (10 keys)"):
        assert f"{name}: " in told
