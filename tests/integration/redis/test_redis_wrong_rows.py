"""Rows of the generic keyspace that SQL has corrupted: the number of a key's elements, the position of a list's head,
or the key's type is wrong. Every command gets a complete reply soon; a refused one has changed nothing; and the key can
be deleted."""
import pytest
from support.clients.resp import Error, decode, encode

SERVER_OPTIONS = (
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-lock-wait-timeout=5",
)
TABLES = {2: "lists", 3: "sets", 4: "hashes", 5: "zsets"}
OF_KEYS = "DEL k|EXISTS k|TYPE k|TTL k|EXPIRE k 100|PERSIST k|RENAME k d|COPY k d|MEMORY USAGE k|SORT k ALPHA|SCAN 0|GET k|SET k x"
COMMANDS = {
    2: """LPUSH k a|RPUSH k a b|LPUSHX k a|LPOP k|RPOP k 10|LLEN k|LRANGE k 0 -1|LRANGE k -2 -1|LINDEX k 0|LINDEX k -1|LSET k 0 z
LSET k -1 z|LINSERT k BEFORE e1 z|LINSERT k AFTER e1 z|LREM k 0 e1|LREM k -1 e2|LREM k 1 nosuch|LTRIM k 1 -1|LTRIM k 0 0|LTRIM k 5 9
LPOS k e1|LPOS k e1 COUNT 0 RANK -1|LPOS k nosuch COUNT 0|LPOS k nosuch RANK -1 MAXLEN 5|LMOVE k d LEFT RIGHT|LMOVE k k LEFT RIGHT
LMPOP 1 k LEFT COUNT 10|BLPOP k 0.01""",
    3: """SADD k e1 x|SREM k e1|SPOP k|SPOP k 2|SPOP k 9223372036854775807|SRANDMEMBER k|SRANDMEMBER k 9223372036854775807
SRANDMEMBER k -5|SCARD k|SMEMBERS k|SISMEMBER k e1|SMOVE k d e1|SINTER k k|SDIFF k d|SINTERCARD 1 k|SUNIONSTORE d k|SSCAN k 0""",
    4: """HSET k e1 v x y|HDEL k e1|HGETALL k|HKEYS k|HLEN k|HINCRBY k e1 5|HRANDFIELD k|HRANDFIELD k 4611686018427387903 WITHVALUES
HRANDFIELD k -5|HSCAN k 0|HSETNX k z 1|HMGET k e1 z""",
    5: """ZADD k 1 e1 5 z|ZADD k INCR 3 e1|ZREM k e1|ZCARD k|ZRANK k e1|ZREVRANK k e1|ZRANGE k 0 -1 WITHSCORES|ZRANGE k -2 -1
ZRANGE k (0 +inf BYSCORE|ZCOUNT k -inf +inf|ZPOPMIN k|ZPOPMAX k 2|ZMPOP 1 k MIN COUNT 10|BZPOPMIN k 0.01|ZREMRANGEBYRANK k -1 -1
ZREMRANGEBYSCORE k -inf 1|ZRANDMEMBER k 4611686018427387903 WITHSCORES|ZRANDMEMBER k -5|ZUNIONSTORE d 1 k|ZRANGESTORE k k 0 1""",
}
LENGTHS = [0, 1, 9, 1 << 60, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
HEADS = [1, -1, (1 << 63) - 2, -(1 << 63)]


@pytest.fixture
def cursor(server):
    with server.connect() as connection, connection.cursor() as cursor:
        yield cursor


def make(cursor, kind, length, head, place=0):
    """Three elements from `place` on, or as many as there are positions, and a key row that disagrees."""
    for table in ("entries", *TABLES.values()):
        cursor.execute(f"DELETE FROM postern_redis.{table}")
    cursor.execute("INSERT INTO postern_redis.entries VALUES ('k', %s, NULL, 0, 1, %s, %s)", (kind, length, head))
    for number in range(3):
        where = f"({min(place + number, (1 << 63) - 1)}, 'e{number}')"
        values = {2: where, 3: f"('e{number}')", 4: f"('e{number}', '{number}')", 5: f"('e{number}', {number})"}[kind]
        cursor.execute(f"INSERT IGNORE INTO postern_redis.{TABLES[kind]} VALUES ('k', {values[1:]}")


def rows(cursor):
    found = []
    for table in ("entries", *TABLES.values()):
        cursor.execute(f"SELECT * FROM postern_redis.{table} ORDER BY 1, 2")
        found.append(cursor.fetchall())
    return found


@pytest.mark.parametrize("kind", TABLES)
def test_commands_on_wrong_rows(server, cursor, kind):
    wrong = [(length, 0, 0) for length in LENGTHS]
    if kind == 2:
        wrong += [(3, head, 0) for head in HEADS] + [(1, head, head) for head in HEADS]
    with server.resp() as client:
        for state in wrong:
            for line in f"{OF_KEYS}|{COMMANDS[kind]}".replace("\n", "|").split("|"):
                make(cursor, kind, *state)
                before = rows(cursor)
                client.send(encode(*line.split()))
                try:
                    decode(client.raw())  # times out if there is no reply, or only a part
                except Error:
                    assert rows(cursor) == before, (state, line)
                assert client.ask("PING") == "PONG", (state, line)
                client.ask("DEL", "k", "d")
                cursor.execute("SELECT * FROM postern_redis.entries WHERE k = 'k' FOR UPDATE NOWAIT")
                assert not cursor.fetchall(), (state, line)
