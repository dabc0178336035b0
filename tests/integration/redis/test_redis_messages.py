"""Publishing and subscribing beside Debian's redis-server: replies, messages, their order, and the end of slow readers.

Several workers serve the door's clients, so most messages cross from one worker to another. In the random sessions each
step is sent to both servers, and every client must receive the same bytes before the next. SEED=N chooses other
sessions.
"""
import random
import re
import select
import socket
import threading

import pytest
from support.random_input import seeds
from support.clients.resp import decode, encode
from support.waiting import until

SERVER_OPTIONS = ("--redis-threads=3",)
SEED = seeds.chosen(1)
STEPS = 250
KINDS = {"SUBSCRIBE": "UNSUBSCRIBE", "PSUBSCRIBE": "PUNSUBSCRIBE", "SSUBSCRIBE": "SUNSUBSCRIBE"}


class Heard:
    """A client that receives messages, too."""

    def __init__(self, client, resp):
        self.client = client
        self.client.ask_raw("HELLO", resp)

    def ask(self, *words):
        """All replies up to that to a PING after the request, so messages are included."""
        self.client.send((encode(*words) if words else b"") + encode("PING", "end"))
        return self.until_end()

    def until_end(self):
        told = []
        while not told or b"\r\n$3\r\nend\r\n" not in b"\r\n" + told[-1]:
            told.append(self.raw())
        return told[:-1]

    def raw(self):
        line = self.client.file.peek(1)[:1]
        if line != b">":
            return self.client.raw()
        head = self.client.line()
        return head + b"".join(self.client.raw() for _ in range(int(head[1:-2])))

    def messages(self, count):
        return [self.raw() for _ in range(count)]

    def is_quiet(self):
        return not select.select([self.client.socket], [], [], 0)[0]


@pytest.mark.parametrize("resp", ["2", "3"])
def test_subscribers_hear_the_same_as_of_redis(server, original, resp):
    chance = random.Random(f"{SEED} {resp}")
    both = [(Heard(server.resp(), resp), Heard(original.client(), resp)) for _ in range(5)]
    publishers = (server.resp(), original.client())
    names = ["a", "b", "news.1", "news.2", "news.é"]
    patterns = ["*", "news.*", "[ab]", "news.?", "nothing"]
    subscribed = [{"SUBSCRIBE": set(), "PSUBSCRIBE": set(), "SSUBSCRIBE": set()} for _ in both]
    for step in range(STEPS):
        if chance.random() < 0.5:
            number = chance.randrange(len(both))
            word = chance.choice(list(KINDS))
            chosen = chance.sample(patterns if word == "PSUBSCRIBE" else names, chance.randint(1, 3))
            if chance.random() < 0.6:
                request = (word, *chosen)
                subscribed[number][word].update(chosen)
            else:
                request = (KINDS[word], *chosen)
                subscribed[number][word].difference_update(chosen)
            told, expected = (one.ask(*request) for one in both[number])
            assert told == expected, (step, request)
        else:
            word, channel, text = chance.choice(["PUBLISH", "SPUBLISH"]), chance.choice(names), str(step)
            told, expected = (publisher.ask_raw(word, channel, text) for publisher in publishers)
            assert told == expected, (step, word, channel)
            for ours, theirs in both:
                heard = theirs.ask()  # Redis sent them before it answered the publisher
                # The order of one publication's messages by several patterns is that of a hash table in Redis.
                assert sorted(ours.messages(len(heard))) == sorted(heard), (step, word, channel)
        asked = [("PUBSUB", "NUMPAT"), ("PUBSUB", "NUMSUB", *names), ("PUBSUB", "SHARDNUMSUB", *names)]
        for request in asked:
            told, expected = (publisher.ask_raw(*request) for publisher in publishers)
            assert told == expected, (step, request)
        for request in [("PUBSUB", "CHANNELS"), ("PUBSUB", "CHANNELS", "news*"), ("PUBSUB", "SHARDCHANNELS")]:
            told, expected = (sorted(decode(publisher.ask_raw(*request))) for publisher in publishers)
            assert told == expected, (step, request)
    assert all(ours.is_quiet() for ours, _ in both)


def test_a_subscriber_of_resp2_asks_nothing_else(server, original):
    both = Heard(server.resp(), "2"), Heard(original.client(), "2")
    requests = [
        ("SUBSCRIBE", "a"),
        ("GET", "k"),
        ("MULTI",),
        ("CLIENT", "ID"),
        ("PING",),
        ("PING", "text"),
        ("NOSUCH",),
        ("UNSUBSCRIBE",),
        ("PUNSUBSCRIBE",),
        ("GET", "nothing"),
    ]
    for request in requests:
        told, expected = (one.ask(*request) for one in both)
        assert told == expected, request
    for request in [("MULTI",), ("SUBSCRIBE", "b"), ("EXEC",), ("RESET",)]:
        told, expected = (one.client.ask_raw(*request) for one in both)
        assert told == expected, request
    told, expected = (one.ask("UNSUBSCRIBE", "x", "y") for one in both)
    assert told == expected


def test_a_pipeline_publishes_and_subscribes_in_its_order(server, original):
    pipeline = [
        ("SET", "k", "v"),
        ("PUBLISH", "c", "1"),
        ("SUBSCRIBE", "c"),
        ("UNSUBSCRIBE", "c"),
        ("PUBLISH", "c", "2"),
        ("SUBSCRIBE", "c", "d"),
        ("UNSUBSCRIBE", "c", "d"),
        ("PUBLISH", "c", "3"),
        ("PSUBSCRIBE", "*"),
        ("PING", "end"),
        ("RESET",),
        ("PUBLISH", "c", "4"),
    ]
    for _ in range(20):
        told = []
        for port in (server.resp, original.client):
            with port() as other, port() as client:
                other.ask_raw("SUBSCRIBE", "c")
                until(lambda: client.ask("PUBSUB", "NUMSUB", "c") == [b"c", 1])  # those of before are gone
                client.send(b"".join(encode(*words) for words in pipeline))
                told.append([client.raw() for _ in range(14)] + [other.raw() for _ in range(4)])
        assert told[0] == told[1]


def test_info_counts_the_commands_before_it_in_a_pipeline(server, original):
    told = []
    for port in (server.resp, original.client):
        with port() as client:
            pipeline = [("SET", "k", "v"), ("LPUSH", "k", "x"), ("INFO", "commandstats"), ("INFO", "errorstats")]
            pipeline += [("CONFIG", "RESETSTAT"), ("GET", "k"), ("INFO", "commandstats")]
            client.ask("CONFIG", "RESETSTAT")
            client.send(b"".join(encode(*words) for words in pipeline))
            told.append(
                [sorted(re.findall(rb"(cmdstat_[^:]*:calls=\d+|errorstat_.*)", client.raw())) for _ in pipeline]
            )
    assert told[0] == told[1]
    assert b"cmdstat_set:calls=1" in told[0][2]


def test_messages_of_a_transaction_leave_with_its_commit(server):
    with server.resp() as hears, server.resp() as says, server.resp() as other:
        hears.ask("SUBSCRIBE", "a")
        for request in [("MULTI",), ("SET", "k", "v"), ("PUBLISH", "a", "x")]:
            says.ask(*request)
        assert not select.select([hears.socket], [], [], 0.05)[0]
        assert says.ask("EXEC") == ["OK", 1]
        assert decode(hears.raw()) == [b"message", b"a", b"x"]
        assert other.ask("GET", "k") == b"v"
        says.ask("WATCH", "k")
        other.ask("SET", "k", "w")
        for request in [("MULTI",), ("SET", "k", "v"), ("PUBLISH", "a", "y")]:
            says.ask(*request)
        assert says.ask("EXEC") is None
        says.ask("PUBLISH", "a", "z")
        assert decode(hears.raw()) == [b"message", b"a", b"z"]


def test_writes_and_messages_keep_their_order(server):
    """A client that receives the message of a write sees the write."""
    with server.resp() as hears, server.resp() as says, server.resp() as reads:
        hears.ask("SUBSCRIBE", "a")
        for number in range(200):
            says.send(encode("SET", "k", number) + encode("PUBLISH", "a", number))
            assert decode(hears.raw()) == [b"message", b"a", str(number).encode()]
            assert reads.ask("GET", "k") == str(number).encode()
            assert (says.raw(), says.raw()) == (b"+OK\r\n", b":1\r\n")


def test_many_publishers_and_subscribers_of_all_workers(server):
    subscribers = [server.resp() for _ in range(60)]
    for client in subscribers:
        client.ask("SUBSCRIBE", "many")
    heard = [[] for _ in subscribers]

    def publish(who):
        with server.resp() as client:
            for number in range(50):
                assert client.ask("PUBLISH", "many", f"{who} {number}") == len(subscribers)

    threads = [threading.Thread(target=publish, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for client, mine in zip(subscribers, heard):
        mine.extend(decode(client.raw())[2] for _ in range(200))
    for thread in threads:
        thread.join()
    assert all(mine == heard[0] for mine in heard), "all hear all in one order"
    for who in range(4):
        mine = [text for text in heard[0] if text.startswith(b"%d " % who)]
        assert mine == [b"%d %d" % (who, number) for number in range(50)]
    for client in subscribers:
        client.close()


def test_a_subscriber_that_does_not_read_is_cut_off(server):
    server.execute("SET GLOBAL redis_pubsub_buffer_bytes = 1048576")
    with server.resp() as slow, server.resp() as quick, server.resp() as says:
        slow.ask("SUBSCRIBE", "a")
        quick.ask("SUBSCRIBE", "a")
        text = b"x" * 100_000
        for _ in range(200):
            if says.ask("PUBLISH", "a", text) == 1:
                break
            assert decode(quick.raw())[2] == text
        else:
            raise AssertionError("nobody was cut off")
        assert decode(quick.raw())[2] == text
        assert b"postern_subscribers_cut_off:1\r\n" in says.ask("INFO", "clients")
    server.execute("SET GLOBAL redis_pubsub_buffer_bytes = DEFAULT")


def test_subscriptions_end_with_their_connection(server):
    with server.resp() as says:
        for end in (lambda client: client.socket.shutdown(socket.SHUT_WR), lambda client: client.send(b"QUIT\r\n")):
            with server.resp() as client:
                client.ask("SUBSCRIBE", "ends")
                assert says.ask("PUBSUB", "NUMSUB", "ends") == [b"ends", 1]
                end(client)
                until(lambda: says.ask("PUBSUB", "NUMSUB", "ends") == [b"ends", 0])
        with server.resp() as client:
            client.ask("SUBSCRIBE", "ends")
            assert says.ask("CLIENT", "KILL", "TYPE", "pubsub") == 1
            assert client.ended()
        until(lambda: says.ask("PUBSUB", "NUMSUB", "ends") == [b"ends", 0])


def test_a_blocked_client_hears_meanwhile(server):
    with server.resp() as both, server.resp() as says:
        both.ask("HELLO", "3")
        hears = Heard(both, "3")
        hears.ask("SUBSCRIBE", "a")
        both.send(encode("BLPOP", "nothing-there", "0"))
        until(lambda: b"blocked_clients:1\r\n" in says.ask("INFO", "clients"))
        assert says.ask("PUBLISH", "a", "x") == 1
        assert hears.raw() == b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
        says.ask("RPUSH", "nothing-there", "element")
        assert decode(hears.raw()) == [b"nothing-there", b"element"]
