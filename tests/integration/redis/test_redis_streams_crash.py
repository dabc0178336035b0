"""Streams with consumer groups through kill -9: no acknowledged entry is lost, ids rise, and each group's pending entries
match what its consumers were answered.

SEED=N chooses other entries and acknowledgements.
"""
import contextlib
import random
import threading

from support.random_input import seeds
from support.clients.resp import Client, Error
from support.waiting import until

SEED = seeds.chosen(1)
ROUNDS = 3
GROUPS = ("paid", "mailed")
AT_ONCE = 5


def number_of(stream_id):
    return tuple(int(part) for part in stream_id.split(b"-"))


class Peer(threading.Thread):
    """A client that works until the server is gone."""

    def __init__(self, port):
        super().__init__()
        self.port = port
        self.wrong = None

    def run(self):
        try:
            with contextlib.suppress(EOFError, OSError), Client(self.port) as client:
                while True:
                    self.work(client)
        except (AssertionError, Error) as wrong:
            self.wrong = wrong

    def work(self, client):
        raise NotImplementedError


class Producer(Peer):
    def __init__(self, port, name, first):
        super().__init__(port)
        self.name, self.next = name, first
        self.added = []  # the entries that were answered: id and payload

    def work(self, client):
        payload = f"{self.name}:{self.next}".encode()
        self.added.append((client.ask("XADD", "events", "*", "payload", payload), payload))
        self.next += 1


class Consumer(Peer):
    def __init__(self, port, group, name, seed):
        super().__init__(port)
        self.group, self.name, self.chance = group, name, random.Random(seed)
        self.heard, self.acknowledged, self.unanswered = [], set(), set()

    def work(self, client):
        words = (
            "XREADGROUP",
            "GROUP",
            self.group,
            self.name,
            "COUNT",
            AT_ONCE,
            "BLOCK",
            "100",
            "STREAMS",
            "events",
            ">",
        )
        for _, entries in client.ask(*words) or []:
            ids = [entry[0] for entry in entries]
            self.heard += ids
            done = {one for one in ids if self.chance.random() < 0.7}
            if not done:
                continue
            self.unanswered = done
            assert client.ask("XACK", "events", self.group, *done) == len(done)
            self.acknowledged |= done
            self.unanswered = set()


class Known:
    """What the clients were answered so far."""

    def __init__(self):
        self.payloads = {}  # by id
        self.next = {"one": 0, "two": 0}  # the number of each producer's next entry
        self.acknowledged = {group: set() for group in GROUPS}

    def check(self, server, producers, consumers):
        with server.resp() as client:
            entries = {entry[0]: entry[1][1] for entry in client.ask("XRANGE", "events", "-", "+")}
            self.check_entries(client, entries, producers)
            for group in GROUPS:
                self.check_group(client, group, list(entries), [one for one in consumers if one.group == group])

    def check_entries(self, client, entries, producers):
        ids = list(entries)
        assert ids == sorted(set(ids), key=number_of) and client.ask("XLEN", "events") == len(ids)
        assert len(set(entries.values())) == len(entries)
        for producer in producers:
            assert all(entries.get(one) == payload for one, payload in producer.added)
            unanswered = f"{producer.name}:{producer.next}".encode()
            self.next[producer.name] = producer.next + (unanswered in entries.values())
        assert self.payloads.items() <= entries.items()
        numbers = {tuple(payload.split(b":")) for payload in entries.values()}
        expected = {(name.encode(), b"%d" % i) for name, end in self.next.items() for i in range(end)}
        assert numbers == expected
        self.payloads = entries
        fresh = client.ask("XADD", "events", "*", "payload", "probe")
        assert number_of(fresh) > number_of(ids[-1]) and client.ask("XDEL", "events", fresh) == 1

    def check_group(self, client, group, ids, consumers):
        told = next(one for one in client.ask("XINFO", "GROUPS", "events") if one[1] == group.encode())
        last = number_of(told[told.index(b"last-delivered-id") + 1])
        pending = {one[0]: one[1].decode() for one in client.ask("XPENDING", "events", group, "-", "+", "100000")}
        unanswered = set()
        for consumer in consumers:
            self.acknowledged[group] |= consumer.acknowledged
            unanswered |= consumer.unanswered
            own = set(consumer.heard) - consumer.acknowledged - consumer.unanswered
            assert own <= {one for one, name in pending.items() if name == consumer.name}
            assert all(number_of(one) <= last for one in consumer.heard)
        assert not self.acknowledged[group] & set(pending)
        delivered = {one for one in ids if number_of(one) <= last}
        gone = delivered - set(pending) - self.acknowledged[group]
        assert gone <= unanswered, "delivered, and neither pending nor acknowledged"
        self.acknowledged[group] |= gone
        assert set(pending) <= delivered


def test_groups_survive_crashes(sandbox_factory):
    server = sandbox_factory(redis=True)
    with server.resp() as client:
        for group in GROUPS:
            client.ask("XGROUP", "CREATE", "events", group, "$", "MKSTREAM")
    known = Known()
    for turn in range(ROUNDS):
        port = server.env["REDIS_PORT"]
        producers = [Producer(port, name, first) for name, first in known.next.items()]
        consumers = [
            Consumer(port, group, f"{group} {i}", f"{SEED} {turn} {group} {i}") for group in GROUPS for i in range(2)
        ]
        for peer in (*producers, *consumers):
            peer.start()
        until(lambda: min(len(producer.added) for producer in producers) > 100, 120)
        until(lambda: min(len(consumer.heard) for consumer in consumers) > 50, 120)
        server.kill()
        for peer in (*producers, *consumers):
            peer.join()
            assert peer.wrong is None
        server.start()
        until(lambda: answers(server), 30)
        known.check(server, producers, consumers)
    assert_all_can_be_done(server, known)
    server.assert_alive()


def answers(server):
    with contextlib.suppress(OSError, EOFError), server.resp() as client:
        return client.ask("PING") == "PONG"
    return False


def assert_all_can_be_done(server, known):
    """What is not acknowledged is pending, or comes."""
    with server.resp() as client:
        for group in GROUPS:
            done = set(known.acknowledged[group])
            cursor = b"0-0"
            while True:
                cursor, entries, _ = client.ask("XAUTOCLAIM", "events", group, "last", "0", cursor, "COUNT", "100")
                done |= {entry[0] for entry in entries}
                if cursor == b"0-0":
                    break
            while came := client.ask("XREADGROUP", "GROUP", group, "last", "STREAMS", "events", ">"):
                done |= {entry[0] for entry in came[0][1]}
            assert done == set(known.payloads)
            assert client.ask("XACK", "events", group, *done) == len(done - known.acknowledged[group])
