"""Keyspace notifications beside Debian's redis-server: the same events for the same keys, in the same order."""
import itertools
import time

import pytest
from support.clients.resp import decode, encode
from support.waiting import until

SERVER_OPTIONS = ("--innodb-flush-log-at-trx-commit=0",)
LINES = """SET a 1|SET a 2 EX 100|SET a 3 NX|SET a 4 XX GET|SETNX a 1|SETNX b 1|SETEX a 100 1|PSETEX a 100000 1|GETSET a 5|GETDEL b|GETDEL b
GETEX a EX 100|GETEX a PERSIST|GETEX a|MSET a 1 b 2|MSETNX a 1 c 2|MSETNX d 1 e 2|APPEND a x|SETRANGE a 1 y|SET n 1|INCR n|DECR n
INCRBY n 5|DECRBY n 2|INCRBYFLOAT n 1.5|SETBIT bits 1 1|BITFIELD bits SET u8 0 7|BITFIELD bits GET u8 0|BITOP NOT notbits bits
PFADD hll a b|PFADD hll a|PFMERGE hll2 hll|HSET h f 1 g 2|HMSET h f 2|HSETNX h f 1|HSETNX h x 1|HINCRBY h f 1|HINCRBYFLOAT h f 1.5
HDEL h nosuch|HDEL h f|HDEL h g x|LPUSH l a b c|RPUSH l d|LPUSHX none x|LPUSHX l z|RPUSHX l z|LINSERT l BEFORE a q|LINSERT l BEFORE nosuch q
LSET l 0 w|LREM l 0 nosuch|LREM l 0 w|LTRIM l 0 3|LPOP l|RPOP l|LPOP none|RPOPLPUSH l m|LMOVE l m LEFT RIGHT|LMOVE m l RIGHT LEFT
LMPOP 1 l LEFT|LMPOP 2 none m RIGHT COUNT 9|BLPOP l 1|BRPOP none 0.01|RPUSH l a b|LTRIM l 0 0|LTRIM l 5 9|RPUSH l a b|BRPOP l 1|BLMOVE l m LEFT LEFT 1|BRPOPLPUSH m l 1
SADD s a b c|SADD s a|SREM s nosuch|SREM s a|SMOVE s t b|SMOVE s t nosuch|SPOP t|SPOP none|SADD t c d|SINTERSTORE u s t|SDIFFSTORE u s t
SUNIONSTORE u s t|SINTERSTORE u s none|SINTERSTORE u s none|SREM s c|ZADD z 1 a 2 b 3 c|ZADD z INCR 1 a|ZINCRBY z 1 a|ZREM z nosuch
ZREM z a|ZPOPMIN z|ZPOPMAX none|ZADD z 1 a 2 b 3 d|ZMPOP 1 z MAX|BZPOPMIN z 1|BZMPOP 1 1 z MIN|ZADD z 1 a 2 b 3 d 4 e|ZREMRANGEBYRANK z 0 0
ZREMRANGEBYSCORE z 2 2|ZREMRANGEBYLEX z [d [d|ZREMRANGEBYSCORE z 100 200|ZRANGESTORE y z 0 -1|ZUNIONSTORE y 2 y z|ZINTERSTORE y 2 y none
ZDIFFSTORE y 1 z|ZREMRANGEBYRANK z 0 -1|GEOADD geo 1 1 m|GEORADIUS geo 1 1 10 km STORE near|GEOSEARCHSTORE near geo FROMLONLAT 50 50 BYBOX 1 1 m
GEORADIUS geo 1 1 10 km|XADD x 1-1 f v|XADD none NOMKSTREAM 1-1 f v|XADD x 1-2 f v|XDEL x 1-1|XDEL x 1-1|XTRIM x MAXLEN 0|XSETID x 9-9
XGROUP CREATE x g 0|XGROUP CREATECONSUMER x g bob|XGROUP CREATECONSUMER x g bob|XGROUP SETID x g $|XGROUP DESTROY x g|XGROUP DESTROY x g
DEL x|DEL x|DEL a nosuch b|UNLINK c d e|SET a 1|EXPIRE a 100|EXPIRE nosuch 100|EXPIREAT a 9999999999|PEXPIRE a 100000|PERSIST a|PERSIST a
EXPIRE a -1|SET a 1|PEXPIREAT a 1|SET a 1|RENAME a b|RENAME b c|RENAMENX c d|SET e 1|RENAMENX d e|COPY d f|COPY d f|RPUSH l 3 1 2
SORT l STORE sorted|SORT none STORE sorted|GET a|EXISTS a|SET a 1 XX|INCR h|LPUSH n x|SET l string|DEL l""".replace(
    "\n", "|"
).split(
    "|"
)
TRANSACTIONS = [
    ["MULTI", "SET a 1", "INCR nosuch", "LPUSH a x", "RPUSH list x", "LPOP list", "EXEC"],
    ["MULTI", "SET a 1", "DISCARD"],
    ["MULTI", "DEL a nosuchkey", "SADD s 1", "EXEC"],
    ["EVAL|redis.call('SET', KEYS[1], 'x') redis.call('RPUSH', 'sl', 1) return redis.call('RPOP', 'sl')|1|scripted"],
    ["EVAL|redis.pcall('LPUSH', KEYS[1], 'x') return redis.call('DEL', KEYS[1])|1|scripted"],
]


class Listener:
    """The events that arrive by the pattern, up to a message that is published last."""

    def __init__(self, client):
        self.client = client
        client.ask_raw("PSUBSCRIBE", "*")
        self.ends = itertools.count()

    def heard(self, by):
        end = b"end %d" % next(self.ends)
        by.ask("PUBLISH", "over", end)
        heard = []
        while True:
            _, _, channel, payload = decode(self.client.raw())
            if channel == b"over":
                assert payload == end
                return heard
            heard.append((channel, payload))


@pytest.fixture
def both(server, original):
    with server.resp() as ours, original.client() as theirs:
        for client in (ours, theirs):
            client.ask("FLUSHALL")
            assert client.ask("CONFIG", "SET", "notify-keyspace-events", "KEA") == "OK"
        yield ours, theirs
        for client in (ours, theirs):
            client.ask("CONFIG", "SET", "notify-keyspace-events", "")


def test_events_of_each_command(server, original, both):
    with server.resp() as one, original.client() as other:
        listeners = [Listener(one), Listener(other)]
        wrong = []
        for line in LINES:
            heard = []
            for client, listener in zip(both, listeners):
                client.ask_raw(*line.split())
                heard.append(listener.heard(client))
            if heard[0] != heard[1]:
                wrong.append((line, *heard))
        assert not wrong, "\n".join(map(str, wrong))


def test_events_of_transactions_and_scripts(server, original, both):
    with server.resp() as one, original.client() as other:
        listeners = [Listener(one), Listener(other)]
        for lines in TRANSACTIONS:
            heard = []
            for client, listener in zip(both, listeners):
                for line in lines:
                    client.ask_raw(*(line.split("|") if line.startswith("EVAL") else line.split()))
                heard.append(listener.heard(client))
            assert heard[0] == heard[1], lines


def test_an_undone_change_has_no_event(server, both):
    """A script that fails is rolled back as a whole here."""
    ours, _ = both
    with server.resp() as listening:
        listener = Listener(listening)
        ours.ask_raw("EVAL", "redis.call('SET', 'undone', 1) error('no')", "0")
        assert listener.heard(ours) == []
        assert ours.ask("EXISTS", "undone") == 0


def test_a_key_expires(server, both):
    ours, _ = both
    with server.resp() as listening:
        listener = Listener(listening)
        ours.ask("SET", "string", "x", "PX", "50")
        ours.ask("RPUSH", "list", "x")
        ours.ask("PEXPIRE", "list", "50")
        listener.heard(ours)
        heard = set()
        until(lambda: heard.update(listener.heard(ours)) or len(heard) == 4, seconds=20)
        keys = (b"string", b"list")
        assert heard == {(b"__keyspace@0__:" + key, b"expired") for key in keys} | {
            (b"__keyevent@0__:expired", key) for key in keys
        }
        # A write may find the expired key before the sweep does.
        ours.ask("RPUSH", "late", "x")
        ours.ask("PEXPIRE", "late", "1")
        listener.heard(ours)
        time.sleep(0.002)
        ours.ask("RPUSH", "late", "y")
        events = [channel for channel, payload in listener.heard(ours) if payload == b"late"]
        assert events in ([b"__keyevent@0__:expired", b"__keyevent@0__:rpush"], [b"__keyevent@0__:rpush"])


def test_a_pop_after_a_wait_has_its_event(server, original, both):
    with server.resp() as one, original.client() as other, server.resp() as a, original.client() as b:
        listeners = [Listener(one), Listener(other)]
        heard = []
        for client, waiting, listener in zip(both, (a, b), listeners):
            waiting.send(encode("BLPOP", "queue", 20))
            until(lambda: b"cmd=blpop" in client.ask("CLIENT", "LIST"))
            client.ask("RPUSH", "queue", "x")
            assert waiting.raw() == b"*2\r\n$5\r\nqueue\r\n$1\r\nx\r\n"
            heard.append(sorted(listener.heard(client)))
        assert heard[0] == heard[1]


def test_classes_are_chosen_by_letters(both):
    ours, theirs = both
    for letters in ("", "K", "KEA", "Elg", "g$lshzxeKE", "AKE", "Kx", "Kt", "d"):
        for client in both:
            assert client.ask("CONFIG", "SET", "notify-keyspace-events", letters) == "OK"
        words = ("CONFIG", "GET", "notify-keyspace-events")
        assert ours.ask(*words) == theirs.ask(*words), letters
    for letters in ("q", "KEm", "n"):
        assert "Invalid event class" in ours.error("CONFIG", "SET", "notify-keyspace-events", letters)


def test_the_setting_is_the_servers(server):
    server.query("SET GLOBAL redis_notify_keyspace_events = 'Eg'")
    with server.resp() as client, server.resp() as listening:
        until(lambda: client.ask("CONFIG", "GET", "notify-keyspace-events")[1] == b"gE")
        listener = Listener(listening)
        client.ask("SET", "told", "1")
        client.ask("DEL", "told")
        assert listener.heard(client) == [(b"__keyevent@0__:del", b"told")]
        server.query("SET GLOBAL redis_notify_keyspace_events = ''")
        until(lambda: client.ask("CONFIG", "GET", "notify-keyspace-events")[1] == b"")
