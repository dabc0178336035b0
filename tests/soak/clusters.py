"""Clusters under faults, for as long as wanted: make soak CLUSTER=galera, or CLUSTER=replicas, [MINUTES=10] [SEED=N].

Clients write through all doors of all nodes that take writes, while nodes are killed, stopped, frozen and altered in an order
that the seed decides. After each fault that a node does not outlive, and at the end, every node has to have the same rows:
all that was acknowledged, and nothing that nobody had asked for.

  PYTHONPATH=tests python3 -m soak.clusters galera|replicas [--minutes N] [--seed N] [--dir build/soak-cluster]
"""
import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pymysql

from soak.cluster_doors import COUNTER, DOORS, REPLY_SECONDS_MAX, SHARED, Refused
from support.server import ROOT, Server, parse_env
from support.waiting import until

NODES = (1, 2, 3)
CANNOT_BE_HAD = 3
SPAN = 1_000_000  # in one writer's keys
# Errors that a client may get while a node is missing, starts, stops or is altered. The fate of its write is then
# unknown.
EXPLAINED = re.compile(
    r"149|146|open_table|lock_tables|stmtnum|.*(WSREP has not yet|provider status|not yet prepared|cut off from the cluster|Deadlock|interrupted|"
    r"shut|read.only|Lock wait timeout|[Tt]imed out|Unknown command|gone away|Lost connection|Connection was killed|refused|"
    r"Too many).*",
    re.S,
)


class Writer(threading.Thread):
    """Makes one write after another through a door of a node, and reconnects whenever necessary."""

    def __init__(self, soak, number, node, door):
        super().__init__(daemon=True, name=f"{door} of node {node}")
        self.soak, self.node, self.door = soak, node, door
        self.low = number * SPAN
        self.next = self.low
        self.acknowledged, self.unsure = set(), set()

    def run(self):
        while not self.soak.ended.is_set():
            if self.soak.resting.is_set() or not self.soak.takes_writes(self.node):
                self.soak.ended.wait(0.05)
                continue
            with contextlib.suppress(OSError, EOFError, AssertionError, pymysql.Error):
                self.work()

    def work(self):
        door, write = DOORS[self.door][0](self.soak.nodes[self.node])
        with contextlib.closing(door):
            while not self.soak.ended.is_set() and not self.soak.resting.is_set():
                key, self.next = self.next, self.next + 1
                self.unsure.add(key)
                with self.soak.writing():
                    try:
                        write(key)
                        self.unsure.discard(key)
                        self.acknowledged.add(key)
                    except Refused as told:
                        self.soak.heard(self, str(told))
                        self.soak.ended.wait(0.01)


class ClusterSoak:
    """One run; the thread that calls run() injects the faults."""

    def __init__(self, kind, directory, seed):
        self.kind, self.dir, self.seed = kind, directory, seed
        self.random = random.Random(seed)
        self.nodes = {}
        self.errors, self.faults, self.problems = {}, {}, []
        self.ended, self.resting = threading.Event(), threading.Event()
        self.changed = threading.Condition()
        self.under_way = 0
        self.primary = 1
        self.start(kind)
        self.writers = [
            Writer(self, 1 + index, node, door)
            for index, (node, door) in enumerate((node, door) for node in NODES for door in DOORS)
        ]

    def start(self, *words):
        """Starts the nodes that are not running."""
        done = subprocess.run(
            [ROOT / "tools/cluster", "start", self.dir, *words],
            capture_output=True,
            text=True,
            timeout=290,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr) if done.returncode != CANNOT_BE_HAD else FileNotFoundError(done.stderr)
        for node, part in zip(NODES, done.stdout.split("# node ")[1:]):
            server = self.nodes.setdefault(node, Server(self.dir / str(node)))
            server.env = parse_env(part.partition("\n")[2])

    # reported by the writers

    def takes_writes(self, node):
        return self.kind == "galera" or node == self.primary

    @contextlib.contextmanager
    def writing(self):
        with self.changed:
            self.under_way += 1
        try:
            yield
        finally:
            with self.changed:
                self.under_way -= 1
                self.changed.notify_all()

    def heard(self, writer, told):
        with self.changed:
            self.errors[told] = self.errors.get(told, 0) + 1
            if not EXPLAINED.fullmatch(told):
                self.problems.append(f"{writer.name}: no fault explains the error {told!r}")

    # running

    def run(self, seconds):
        """Returns true if all is well."""
        self.nodes[1].execute(
            "CREATE TABLE t (k INT PRIMARY KEY, v INT)",
            f"INSERT INTO t VALUES ({COUNTER}, 0), ({SHARED}, 0)",
            database="test",
        )
        self.each_has_the_same()
        for writer in self.writers:
            writer.start()
        end, deck = time.monotonic() + seconds, []
        try:
            while True:
                self.go_on()
                if not deck:
                    deck = list(FAULTS[self.kind])
                    self.random.shuffle(deck)
                fault = deck.pop()
                self.faults[fault.__name__] = self.faults.get(fault.__name__, 0) + 1
                fault(self)
                self.check()
                if time.monotonic() > end or self.problems:
                    break
        except Exception as problem:  # the report is needed however the soak ended
            self.problems.append(f"{type(problem).__name__}: {problem}")
        finally:
            self.ended.set()
        for server in self.nodes.values():
            try:
                server.assert_no_crash()
            except AssertionError as problem:
                self.problems.append(str(problem))
        return not self.problems

    def go_on(self, nodes=NODES):
        """Waits until each door of these nodes has acknowledged more writes."""
        writers = [one for one in self.writers if one.node in nodes and self.takes_writes(one.node)]
        before = [len(writer.acknowledged) for writer in writers]
        until(
            lambda: self.problems or all(len(one.acknowledged) > then + 5 for one, then in zip(writers, before)),
            seconds=REPLY_SECONDS_MAX,
            otherwise="not all doors write",
        )

    def check(self):
        """Nobody writes meanwhile; an unanswered write is settled when its node has ended."""
        self.resting.set()
        with self.changed:
            assert self.changed.wait_for(lambda: self.under_way == 0, REPLY_SECONDS_MAX), "a write comes to no end"
        self.each_has_the_same()
        for writer in self.writers:
            statement = DOORS[writer.door][1]
            if not statement:
                continue
            rows = self.of_all(statement.format(writer.low, writer.low + SPAN - 1))
            found = {int(key) for key, in rows}
            if lost := writer.acknowledged - found:
                self.problems.append(f"{writer.name}: {len(lost)} acknowledged writes are lost: {sorted(lost)[:5]}")
            if more := found - writer.acknowledged - writer.unsure:
                self.problems.append(f"{writer.name}: rows that nobody wrote: {sorted(more)[:5]}")
        self.check_sum("counter", COUNTER)
        self.check_sum("transactions", SHARED)
        self.resting.clear()

    def check_sum(self, door, key):
        """The sum that a door's writers have added to one row."""
        writers = [writer for writer in self.writers if writer.door == door]
        least = sum(len(writer.acknowledged) for writer in writers)
        most = least + sum(len(writer.unsure) for writer in writers)
        ((count,),) = self.of_all(f"SELECT v FROM test.t WHERE k = {key}")
        if not least <= count <= most:
            self.problems.append(f"{door}: the row is {count}, but {least} were acknowledged of {most}")

    def each_has_the_same(self):
        """Waits until every node has the last commit."""
        if self.kind == "galera":
            self.of_all("SELECT COUNT(*) FROM test.t")
        else:
            ((position,),) = self.nodes[self.primary].query("SELECT @@gtid_binlog_pos")
            for node in NODES:
                if node != self.primary:
                    assert self.nodes[node].query(f"SELECT MASTER_GTID_WAIT('{position}', 60)") == [
                        (0,)
                    ], f"node {node}"

    def of_all(self, query):
        """The answer of each node."""
        answers = []
        for server in self.nodes.values():
            with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
                if self.kind == "galera":
                    cursor.execute("SET wsrep_sync_wait = 1")
                cursor.execute(query)
                answers.append(sorted(cursor.fetchall()))
        if answers.count(answers[0]) != len(answers):
            self.problems.append(f"not all nodes have the same: {query}: {[len(answer) for answer in answers]} rows")
        return answers[0]

    # faults of both kinds

    def alter(self):
        node = self.random.choice(NODES) if self.kind == "galera" else self.primary
        self.nodes[node].execute(f"ALTER TABLE t COMMENT = '{self.random.random()}'", database="test")
        self.go_on()

    # faults of Galera

    def others(self, *nodes):
        return [node for node in NODES if node not in nodes]

    def size(self, node):
        return int(self.nodes[node].status("wsrep_cluster_size")["wsrep_cluster_size"])

    def view(self, node):
        """The cluster as the node sees it. An isolated node keeps its last view, and stays ready, until it notices."""
        status = self.nodes[node].status("wsrep_%")
        return tuple(status[f"wsrep_{name}"] for name in ("ready", "cluster_size", "cluster_conf_id"))

    def all_are_back(self):
        def agree():
            first, *others = {self.view(node) for node in NODES}
            return not others and first[:2] == ("ON", len(NODES))

        until(agree, seconds=REPLY_SECONDS_MAX)

    def node_killed(self):
        node = self.random.choice(NODES)
        rest = self.others(node)
        self.nodes[node].kill()
        until(lambda: self.size(rest[0]) == len(rest), seconds=REPLY_SECONDS_MAX)
        self.go_on(rest)
        self.start()
        self.all_are_back()

    def node_stopped(self):
        node = self.random.choice(NODES)
        self.nodes[node].stop()
        self.go_on(self.others(node))
        self.start()
        self.all_are_back()

    @contextlib.contextmanager
    def frozen(self, *nodes):
        """Frozen nodes receive nothing and send nothing, as in a network partition."""
        pids = [int(self.nodes[node].env["PID"]) for node in nodes]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def node_cut_off(self):
        node = self.random.choice(NODES)
        rest = self.others(node)
        with self.frozen(node):
            until(lambda: self.size(rest[0]) == len(rest), seconds=REPLY_SECONDS_MAX)
            self.go_on(rest)
        self.all_are_back()

    def most_cut_off(self):
        """The remaining node notices that it is alone, and refuses requests."""
        left = self.random.choice(NODES)
        with self.frozen(*self.others(left)):
            until(lambda: self.view(left)[0] == "OFF", seconds=REPLY_SECONDS_MAX)
        self.all_are_back()

    # faults of a primary and its replicas

    def replica_killed(self):
        node = self.random.choice(self.others(self.primary))
        self.nodes[node].kill()
        self.go_on([self.primary])
        self.nodes[node].start()
        self.nodes[node].execute("START SLAVE")

    def replicas_cut_off(self):
        """A write that no replica has is not acknowledged."""
        with self.frozen(*self.others(self.primary)):
            self.ended.wait(2)
        self.go_on()

    def primary_killed(self):
        """The most advanced replica takes over; the old primary returns and follows it."""
        old, rest = self.primary, self.others(self.primary)
        self.primary = None  # SQL's root may write on a read-only server, too
        self.nodes[old].kill()
        read_all = (
            "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Slave has read all relay log%'"
        )
        for node in rest:
            self.nodes[node].execute("STOP SLAVE IO_THREAD")
            until(lambda node=node: self.nodes[node].query(read_all) == [(1,)], seconds=60)
        heir = max(rest, key=lambda node: int(self.nodes[node].query("SELECT @@gtid_slave_pos")[0][0].split("-")[2]))
        self.nodes[heir].execute(
            "STOP SLAVE",
            "RESET SLAVE ALL",
            "SET GLOBAL rpl_semi_sync_slave_enabled = OFF",
            "SET GLOBAL read_only = OFF",
        )
        # As a replica it rolls back the unacknowledged end of its binary log.
        as_replica = {"rpl-semi-sync-master-enabled": "OFF", "rpl-semi-sync-slave-enabled": "ON", "read-only": "ON"}
        options = [
            f"--server-id={old}",
            "--log-bin",
            "--log-slave-updates",
            "--gtid-strict-mode=ON",
            "--sync-binlog=1",
            "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
            "--rpl-semi-sync-master-timeout=3600000",
            "--init-rpl-role=SLAVE",
            *(f"--{name}={value}" for name, value in as_replica.items()),
        ]
        self.nodes[old].start(*options)
        port = self.nodes[heir].env["SQL_PORT"]
        for node in self.others(heir):
            begin = "slave_pos" if node != old else "current_pos"
            self.nodes[node].execute(
                "STOP SLAVE",
                f"CHANGE MASTER TO master_host = '127.0.0.1', master_port = {port}, master_user = 'copy',"
                f" master_password = 'copy', master_connect_retry = 1, master_use_gtid = {begin}",
                "START SLAVE",
            )
        self.nodes[heir].execute("SET GLOBAL rpl_semi_sync_master_enabled = ON")
        self.primary = heir
        self.go_on()

    # the report

    def report(self):
        lines = [f"{self.kind}, seed {self.seed}"]
        lines += [f"  {count:7} {name}" for name, count in sorted(self.faults.items())]
        for door in DOORS:
            of_door = [writer for writer in self.writers if writer.door == door]
            told = sum(len(writer.acknowledged) for writer in of_door)
            lines.append(f"{door}: {told} acknowledged, {sum(len(writer.unsure) for writer in of_door)} not known")
        lines += ["errors answered:"] + [f"  {count:7} {told}" for told, count in sorted(self.errors.items())]
        lines += [f"wrong: {len(self.problems) or 'nothing'}", *(f"  {problem}" for problem in self.problems[:20])]
        return "\n".join(lines) + "\n"

    def stop(self):
        subprocess.run([ROOT / "tools/cluster", "stop", self.dir], check=False, capture_output=True, timeout=290)


FAULTS = {
    "galera": (
        ClusterSoak.node_killed,
        ClusterSoak.node_stopped,
        ClusterSoak.node_cut_off,
        ClusterSoak.most_cut_off,
        ClusterSoak.alter,
    ),
    "replicas": (
        ClusterSoak.primary_killed,
        ClusterSoak.primary_killed,
        ClusterSoak.replica_killed,
        ClusterSoak.replicas_cut_off,
        ClusterSoak.alter,
    ),
}


def main():
    parser = argparse.ArgumentParser(description="Soaks a cluster; see the head of this file.")
    parser.add_argument("kind", choices=FAULTS)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--dir", type=Path, default=ROOT / "build" / "soak-cluster")
    arguments = parser.parse_args()
    if arguments.dir.exists():  # left by an interrupted run
        subprocess.run([ROOT / "tools/cluster", "stop", arguments.dir], check=False, capture_output=True, timeout=290)
        shutil.rmtree(arguments.dir)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"soak of {arguments.kind}: seed {arguments.seed}, {arguments.minutes:g} minutes", flush=True)
    soak = ClusterSoak(arguments.kind, arguments.dir, arguments.seed)
    try:
        good = soak.run(arguments.minutes * 60)
        print(soak.report(), end="")
    finally:
        soak.stop()
    if good:
        shutil.rmtree(arguments.dir, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
