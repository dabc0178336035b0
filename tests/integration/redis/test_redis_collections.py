"""Lists, sets and sorted sets: SQL reads their tables, and clients change them concurrently."""
import threading

import pytest
from support.clients.resp import decode, encode
from support.waiting import until


@pytest.fixture
def redis(server):
    with server.resp() as client:
        client.ask("FLUSHALL")
        yield client


def len_of(server, key):
    return server.query(f"SELECT len FROM postern_redis.entries WHERE k = '{key}'")


def test_sql_reads_written_rows(server, redis):
    redis.ask("SADD", "tags", "red", "green")
    redis.ask("ZADD", "board", "2.5", "ann", "-inf", "bob", "inf", "cid")
    redis.ask("RPUSH", "queue", "two", "three")
    redis.ask("LPUSH", "queue", "one")
    assert sorted(server.query("SELECT m FROM postern_redis.v_sets WHERE k = 'tags'")) == [(b"green",), (b"red",)]
    board = server.query("SELECT m, score FROM postern_redis.v_zsets WHERE k = 'board' ORDER BY score")
    assert board == [(b"bob", -1.7976931348623157e308), (b"ann", 2.5), (b"cid", 1.7976931348623157e308)]
    queue = server.query("SELECT i, v FROM postern_redis.v_lists WHERE k = 'queue' ORDER BY i")
    assert [(int(i), v) for i, v in queue] == [(0, b"one"), (1, b"two"), (2, b"three")]
    assert [len_of(server, key) for key in ("tags", "board", "queue")] == [[(2,)], [(3,)], [(3,)]]
    redis.ask("EXPIRE", "tags", "-1")
    assert server.query("SELECT COUNT(*) FROM postern_redis.sets") == [(0,)]
    redis.ask("LPOP", "queue", "9")
    redis.ask("ZREMRANGEBYRANK", "board", "0", "-1")
    assert server.query("SELECT COUNT(*) FROM postern_redis.entries") == [(0,)]


def test_the_door_reads_what_sql_wrote(server, redis):
    redis.ask("RPUSH", "queue", *"abcde")
    server.execute(
        "INSERT INTO postern_redis.sets VALUES ('tags', 'red'), ('tags', 'blue')",
        "CALL postern.redis_touch('tags')",
        "INSERT INTO postern_redis.zsets VALUES ('board', 'ann', 1.5), ('board', 'bob', -2)",
        "CALL postern.redis_touch('board')",
        "DELETE FROM postern_redis.lists WHERE k = 'queue' AND v IN ('a', 'c')",
        "CALL postern.redis_touch('queue')",
    )
    assert sorted(redis.ask("SMEMBERS", "tags")) == [b"blue", b"red"]
    assert redis.ask("ZRANGE", "board", "0", "-1", "WITHSCORES") == [b"bob", b"-2", b"ann", b"1.5"]
    assert redis.ask("LRANGE", "queue", "-3", "-1") == [b"b", b"d", b"e"]
    assert redis.ask("LINSERT", "queue", "AFTER", "b", "x") == 4
    assert redis.ask("LRANGE", "queue", "0", "-1") == [b"b", b"x", b"d", b"e"]
    assert [redis.ask("TYPE", key) for key in ("tags", "board", "queue")] == ["set", "zset", "list"]


def test_bounds(redis):
    assert redis.ask("SADD", "s", b"\x00\xff" * 512) == 1
    assert "Data too long" in redis.error("SADD", "s", "m" * 1025)
    assert redis.ask("SISMEMBER", "s", "m" * 1025) == 0
    assert redis.ask("SMISMEMBER", "s", "m" * 1025, b"\x00\xff" * 512) == [0, 1]
    assert redis.ask("SREM", "s", "m" * 1025) == 0
    assert redis.ask("ZSCORE", "z", "m" * 1025) is None
    assert redis.ask("ZADD", "z", "1", "m" * 1024) == 1
    assert redis.ask("ZRANGEBYLEX", "z", "[" + "m" * 1025, "+") == []
    assert redis.ask("ZRANGEBYLEX", "z", "-", "[" + "m" * 1025) == [b"m" * 1024]
    assert redis.ask("ZRANK", "z", "m" * 1025) is None
    big = b"\r\n\x00" * 700_000
    assert redis.ask("RPUSH", "l", big, "x") == 2
    assert redis.ask("LINDEX", "l", "0") == big
    assert redis.ask("LRANGE", "l", "0", "-1") == [big, b"x"]
    assert redis.ask("LPOS", "l", "x") == 1
    assert redis.ask("LPOP", "l") == big
    assert redis.error("SRANDMEMBER", "s", "-1000001") == "ERR value is out of range"
    assert redis.ask("RPUSH", "k" * 512, "x") == 1
    assert redis.ask("LLEN", "k" * 513) == 0
    assert redis.error("RPUSH", "k" * 513, "x") == "ERR a key can have 512 bytes"


def test_many_elements(server, redis):
    for begin in range(0, 20_000, 5_000):
        redis.ask("RPUSH", "l", *(str(i) for i in range(begin, begin + 5_000)))
        redis.ask("SADD", "s", *(str(i) for i in range(begin, begin + 5_000)))
        redis.ask("ZADD", "z", *(part for i in range(begin, begin + 5_000) for part in (str(i), str(i))))
    assert redis.ask("LLEN", "l") == redis.ask("SCARD", "s") == redis.ask("ZCARD", "z") == 20_000
    assert len(redis.ask("SMEMBERS", "s")) == 20_000
    assert redis.ask("LRANGE", "l", "9999", "10001") == [b"9999", b"10000", b"10001"]
    assert redis.ask("LRANGE", "l", "-2", "-1") == [b"19998", b"19999"]
    assert redis.ask("LINDEX", "l", "-10000") == b"10000"
    assert redis.ask("ZRANK", "z", "15000") == 15_000 and redis.ask("ZREVRANK", "z", "15000") == 4_999
    assert redis.ask("ZRANGE", "z", "-2", "-1") == [b"19998", b"19999"]
    assert redis.ask("ZCOUNT", "z", "100", "(19000") == 18_900
    assert len(redis.ask("SRANDMEMBER", "s", "15000")) == 15_000
    assert redis.ask("SINTERSTORE", "both", "s", "s") == 20_000
    assert redis.ask("LREM", "l", "0", "10") == 1 and redis.ask("LREM", "l", "0", "19990") == 1
    assert redis.ask("LINDEX", "l", "10") == b"11" and redis.ask("LINDEX", "l", "19988") == b"19989"
    assert redis.ask("LTRIM", "l", "5000", "-5000") == "OK"
    positions = server.query("SELECT COUNT(*), MAX(pos) - MIN(pos) + 1 FROM postern_redis.lists WHERE k = 'l'")[0]
    assert int(positions[0]) == int(positions[1]) == redis.ask("LLEN", "l")
    cursor, seen = b"0", []
    while True:
        cursor, some = redis.ask("SSCAN", "s", cursor, "COUNT", "1000")
        seen += some
        if cursor == b"0":
            break
    assert len(seen) == len(set(seen)) == 20_000
    assert redis.error("SSCAN", "s", "12345") == "ERR invalid cursor"
    assert redis.error("SSCAN", "z", "12345").startswith("WRONGTYPE")


def test_a_small_sorted_set_is_scanned_by_score(redis):
    for i in range(126):
        redis.ask("ZADD", "small", str(-i // 2), f"member:{i % 5}:{i}")
    redis.ask("ZADD", "small", "inf", "a", "-inf", "z")
    by_score = redis.ask("ZRANGE", "small", "0", "-1", "WITHSCORES")
    assert len(by_score) == 2 * 128 and by_score[0] == b"z"
    assert redis.ask("ZSCAN", "small", "0", "COUNT", "3") == [b"0", by_score]
    of_a_kind = [
        word for at in range(0, 256, 2) if by_score[at].startswith(b"member:2") for word in by_score[at : at + 2]
    ]
    assert redis.ask("ZSCAN", "small", "0", "MATCH", "member:2*") == [b"0", of_a_kind]


def test_a_random_member_of_many_is_had_without_a_walk(server, redis):
    names = [f"user:{i * i}" for i in range(10_000)] + [str(i) for i in range(10_000)]
    for command, key in (("SADD", "s"), ("ZADD", "z"), ("HSET", "h")):
        for begin in range(0, len(names), 5_000):
            some = names[begin : begin + 5_000]
            words = (
                some
                if command == "SADD"
                else [word for name in some for word in (("1", name) if key == "z" else (name, "v"))]
            )
            redis.ask(command, key, *words)

    def examined():
        return server.status("Redis_rows_examined")["redis_rows_examined"]

    for words in (
        ["SPOP", "s"],
        ["SRANDMEMBER", "s", "3"],
        ["ZRANDMEMBER", "z"],
        ["HRANDFIELD", "h", "-2", "WITHVALUES"],
    ):
        before = examined()
        for _ in range(50):
            assert redis.ask(*words)
        assert examined() - before < 50 * 1_000, words
    assert redis.ask("SCARD", "s") == 19_950


def test_members_have_the_same_chance(redis):
    # The gaps between them have all sizes, so halves of a range contain few names and many.
    names = sorted({f"user:{i}" for i in range(1_200)} | {f"user:1:{'x' * (i % 40)}{i}" for i in range(1_200)})
    redis.ask("SADD", "chances", *names)
    draws, groups = 8_000, 24
    redis.send(encode("SRANDMEMBER", "chances", "-4") * (draws // 4))
    counts = [0] * groups
    place = {name.encode(): at * groups // len(names) for at, name in enumerate(names)}
    for _ in range(draws // 4):
        for member in decode(redis.raw()):
            counts[place[member]] += 1
    expected = draws / groups
    chi = sum((count - expected) ** 2 / expected for count in counts)
    # Chi-squared with 23 degrees of freedom: above 64 once in 100,000 runs.
    assert chi < 64, counts


def test_in_transactions_and_watched(server, redis):
    redis.ask("RPUSH", "l", "a", "b")
    redis.ask("WATCH", "l")
    server.execute(
        "INSERT INTO postern_redis.lists SELECT 'l', MAX(pos) + 1, 'c' FROM postern_redis.lists WHERE k = 'l'",
        "CALL postern.redis_touch('l')",
    )
    redis.ask("MULTI")
    redis.ask("RPUSH", "l", "d")
    assert redis.ask("EXEC") is None
    redis.ask("MULTI")
    for command in ("LPOP l", "SADD s x y", "ZADD z 1 x", "LRANGE l -2 -1", "SUNION s s", "ZRANGE z -1 -1", "SPOP s 2"):
        assert redis.ask(*command.split()) == "QUEUED"
    replies = redis.ask("EXEC")
    assert replies[:4] == [b"a", 2, 1, [b"b", b"c"]]
    assert sorted(replies[4]) == sorted(replies[6]) == [b"x", b"y"] and replies[5] == [b"x"]
    assert redis.ask("EXISTS", "s") == 0
    for key in ("l", "z"):
        assert redis.ask("RENAME", key, f"new {key}") == "OK"
        assert redis.ask("COPY", f"new {key}", key) == 1
    assert redis.ask("LRANGE", "new l", "0", "-1") == redis.ask("LRANGE", "l", "0", "-1") == [b"b", b"c"]
    assert redis.ask("SCAN", "0", "TYPE", "zset") == [b"0", [b"new z", b"z"]]
    assert redis.ask("SET", "l", "text") == "OK"
    assert server.query("SELECT COUNT(*) FROM postern_redis.lists WHERE k = 'l'") == [(0,)]


def test_an_expired_key_is_gone_with_its_elements(server, redis):
    redis.ask("SADD", "s", "old")
    redis.ask("PEXPIRE", "s", "1")
    until(lambda: redis.ask("EXISTS", "s") == 0, seconds=10)
    assert redis.ask("SMEMBERS", "s") == []
    assert redis.ask("SADD", "s", "new") == 1
    assert redis.ask("SMEMBERS", "s") == [b"new"]
    assert redis.ask("TTL", "s") == -1


def test_writers_at_the_same_time_lose_nothing(server, redis):
    clients, rounds = 6, 60
    popped = []
    failures = []

    def work(number):
        try:
            with server.resp() as client:
                for i in range(rounds):
                    name = f"{number}:{i}"
                    client.ask("RPUSH", "l", name)
                    client.ask("LPUSH", f"l{number % 2}", name)
                    client.ask("SADD", "s", name)
                    client.ask("ZINCRBY", "z", "1", "sum")
                    client.ask("ZADD", "z", str(i), name)
                    if i % 3 == 0:
                        popped.append(client.ask("LPOP", "l"))
                    if i % 5 == 0:
                        client.ask("LMOVE", "l0", "l1", "LEFT", "RIGHT")
                        client.ask("LMOVE", "l1", "l0", "LEFT", "RIGHT")
                    if i % 7 == 0:
                        client.ask("SUNIONSTORE", "copy", "s", "s")
        except Exception as error:  # reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    everything = {f"{number}:{i}".encode() for number in range(clients) for i in range(rounds)}
    rest = redis.ask("LRANGE", "l", "0", "-1")
    assert len(popped) == len(set(popped)) and set(popped) | set(rest) == everything
    assert len(popped) + len(rest) == len(everything)
    assert set(redis.ask("SMEMBERS", "s")) == everything
    assert redis.ask("ZSCORE", "z", "sum") == str(clients * rounds).encode()
    both = redis.ask("LRANGE", "l0", "0", "-1") + redis.ask("LRANGE", "l1", "0", "-1")
    assert sorted(both) == sorted(everything)
    wrong = server.query(
        "SELECT e.k FROM postern_redis.entries AS e WHERE e.len <> (SELECT COUNT(*) FROM postern_redis.sets WHERE k = e.k) "
        "+ (SELECT COUNT(*) FROM postern_redis.zsets WHERE k = e.k) + (SELECT COUNT(*) FROM postern_redis.lists WHERE k = e.k)"
    )
    assert wrong == []


def test_pipelines(redis):
    words = [("SADD", "s", str(i)) for i in range(300)] + [("SCARD", "s")] + [("RPOPLPUSH", "l", "l")] * 3
    assert redis.ask("RPUSH", "l", "a", "b") == 2
    redis.send(b"".join(encode(*command) for command in words))
    replies = [decode(redis.raw()) for _ in words]
    assert replies == [1] * 300 + [300, b"b", b"a", b"b"]


ONE_STEP = """
    LPUSH l a b|SADD s a b c d|SADD s a e|SREM s a nosuch|HSET h f 1 g 2|HDEL h f|XADD x * f v|ZADD z 1 a 2 b 3 c 4 d
    ZADD z XX 5 a 6 nosuch|ZINCRBY z 1 a|ZREM z a|ZPOPMIN z|ZPOPMAX z|SREM s b c d e|SREM s b|HDEL nosuch f"""


def locks_of(server, redis, *commands):
    """The number of table locks for these commands: one for each statement. The door's own work may add some."""
    before = server.status("Redis_table_locks")["redis_table_locks"]
    redis.send(b"".join(encode(*words) for words in commands))
    for _ in commands:
        assert not redis.raw().startswith(b"-")
    return server.status("Redis_table_locks")["redis_table_locks"] - before


def test_a_command_is_one_statement(server, redis):
    lines = [line.split() for line in ONE_STEP.replace("\n", "|").split("|") if line.strip()]

    def few():
        redis.ask("FLUSHALL")
        locks = [locks_of(server, redis, line) for line in lines]
        return locks == [1] * len(lines) or locks

    until(lambda: few() is True, seconds=30)


def test_neighbouring_commands_are_one_statement(server, redis):
    adds = [("SADD", f"s{i}", "a") for i in range(8)]
    sets = [("MULTI",), *(("SET", f"k{i}", "v") for i in range(20)), ("EXEC",)]
    until(lambda: locks_of(server, redis, *adds) <= 2 and locks_of(server, redis, *sets) <= 2, seconds=30)
    # A command on a key of another type fails alone.
    redis.ask("SET", "s4", "text")
    redis.send(b"".join(encode("SADD", f"s{i}", "b", "c") for i in range(8)))
    answers = [redis.raw() for _ in range(8)]
    assert answers.pop(4).startswith(b"-WRONGTYPE") and answers == [b":2\r\n"] * 7
    assert redis.ask("SMEMBERS", "s5") is not None and redis.ask("GET", "s4") == b"text"
