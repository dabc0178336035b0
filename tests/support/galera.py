"""Three nodes of a Galera cluster, and threads that write to them."""
import contextlib
import subprocess
import threading

import pytest
from support.server import ROOT, Server, parse_env
from support.waiting import until

CANNOT_BE_HAD = 3
NODES = (1, 2, 3)


def cluster_tool(*words):
    done = subprocess.run(
        [ROOT / "tools/cluster", *map(str, words)], capture_output=True, text=True, timeout=290, check=False
    )
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Cluster:
    def __init__(self, directory):
        self.dir = directory
        self.nodes = {}
        self.start("galera", "--nodes", len(NODES))

    def start(self, *words):
        parts = cluster_tool("start", self.dir, *words).split("# node ")[1:]
        for node, part in zip(NODES, parts):
            server = self.nodes.setdefault(node, Server(self.dir / str(node)))
            server.env = parse_env(part.partition("\n")[2])

    def same_everywhere(self, query):
        """The answers of all nodes, once each has all earlier writes."""
        answers = []
        for server in self.nodes.values():
            with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
                cursor.execute("SET wsrep_sync_wait = 1")
                cursor.execute(query)
                answers.append(list(cursor.fetchall()))
        assert answers.count(answers[0]) == len(answers), answers
        return answers[0]


class Writer(threading.Thread):
    """Makes one change after another on a node; counts the acknowledged ones and the errors."""

    def __init__(self, server, request):
        super().__init__()
        self.server, self.make_request = server, request
        self.acknowledged, self.told, self.unanswered, self.unsure = [], [], [], []
        self.stop = threading.Event()

    def run(self):
        number = 0
        with contextlib.suppress(OSError, EOFError):
            # While a node is missing the others answer nothing for some seconds.
            with self.server.hs_wr(timeout=90) as door:
                door.open(0, "test", "t", "k,v")
                while not self.stop.is_set():
                    number += 1
                    key, request = self.make_request(number)
                    self.unanswered = [key]
                    answer = door.request(0, *request)
                    self.unanswered = []
                    if answer[:2] == ["0", "1"]:
                        self.acknowledged.append(key)
                    else:
                        self.told.append(answer)
                        self.unsure.append(key)


def run_until(condition, writers):
    for writer in writers:
        writer.start()
    try:
        until(condition, seconds=60)
    finally:
        for writer in writers:
            writer.stop.set()
        for writer in writers:
            writer.join()


def inserts(base):
    return lambda number: (base + number, ("+", 2, base + number, 1))


def wait_until_all_have_written(writers):
    until(lambda: all(len(writer.acknowledged) >= 100 for writer in writers), seconds=60)


def wait_until_others_go_on(cluster, writers):
    """Waits until the others notice, after some seconds, that the third node is missing."""
    until(lambda: size_of(cluster) == len(NODES) - 1, seconds=60)
    before = [len(writer.acknowledged) for writer in writers]
    until(lambda: all(len(writer.acknowledged) > before[i] for i, writer in enumerate(writers[:2])), seconds=60)


def size_of(cluster):
    return int(cluster.nodes[1].status("wsrep_cluster_size")["wsrep_cluster_size"])


def check(cluster, writers, base):
    """All nodes have each writer's acknowledged writes, in its own range of keys, and at most one more."""
    for node, writer in zip(NODES, writers):
        low = base * node
        rows = cluster.same_everywhere(f"SELECT k FROM test.t WHERE k BETWEEN {low} AND {low + 9_999_999}")
        found = {key for key, in rows}
        assert writer.acknowledged and set(writer.acknowledged) <= found
        assert found - set(writer.acknowledged) <= {*writer.unanswered, *writer.unsure}
