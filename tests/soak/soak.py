"""A server under every fault at once, for as long as wanted: make soak MINUTES=30 [SEED=N].

Clients write, read back and check every reply while the faults below are given in an order that the seed decides.
Whenever all connections have ended, the tables are compared with the acknowledged writes. The report, the error log and
the memory curve are left in DIR; exit code 1 if a reply was wrong, a write lost, a connection ended without a cause, an
error occurred that no fault explains, or the server crashed.

  PYTHONPATH=tests python3 -m soak.soak [--minutes N] [--seed N] [--dir build/soak] [--clients N]
"""
import argparse
import contextlib
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pymysql

from soak.clients import EXPECTED_ERROR, FIXED_ROWS, REPLY_SECONDS_MAX, Reader, Stalled, Visitor, Writer, is_error
from support.load import SCHEMA, TABLES
from support.server import ROOT, Server

PROBLEMS_SHOWN_MAX = 20
SAMPLE_SECONDS = 1.0
FIXED = (
    "CREATE TABLE fixed (id INT PRIMARY KEY, v VARCHAR(200))",
    f"INSERT INTO fixed SELECT seq, CONCAT('fixed ', seq, ' ', REPEAT('y', 80)) FROM seq_1_to_{FIXED_ROWS}",
)
SECOND = "CREATE TABLE second (id INT PRIMARY KEY, n INT)"
CHANGES = (
    ("TRUNCATE TABLE second",),
    ("ALTER TABLE second ADD COLUMN z INT", "ALTER TABLE second DROP COLUMN z"),
    ("DROP TABLE second", SECOND),
    ("RENAME TABLE second TO third", "RENAME TABLE third TO second"),
    ("ALTER TABLE b ADD COLUMN z INT", "ALTER TABLE b DROP COLUMN z"),
    ("CREATE INDEX vv ON a (v)", "DROP INDEX vv ON a"),
    ("RENAME TABLE a TO away", "RENAME TABLE away TO a"),
    ("ALTER TABLE counters ENGINE=InnoDB",),
    ("ANALYZE TABLE a", "FLUSH TABLES"),
)
LOCKS = (
    (("FLUSH TABLES WITH READ LOCK",), "UNLOCK TABLES"),
    (("FLUSH TABLES a, b WITH READ LOCK",), "UNLOCK TABLES"),
    (("LOCK TABLES a WRITE, counters WRITE",), "UNLOCK TABLES"),
    (
        ("BACKUP STAGE START", "BACKUP STAGE FLUSH", "BACKUP STAGE BLOCK_DDL", "BACKUP STAGE BLOCK_COMMIT"),
        "BACKUP STAGE END",
    ),
)


class Gate:
    """Clients connect while it is open. Once it is closed, they finish their work and gather here."""

    def __init__(self):
        self.changed = threading.Condition()
        self.open = False
        self.ended = False
        self.waiting = 0

    def is_open(self):
        return self.open

    def enter(self):
        """Waits until it is open; false once the soak has ended."""
        with self.changed:
            self.waiting += 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.open or self.ended)
            self.waiting -= 1
            return not self.ended

    def set(self, is_open, ended=False):
        with self.changed:
            self.open, self.ended = is_open, ended
            self.changed.notify_all()

    def gathered(self, count):
        with self.changed:
            return self.changed.wait_for(lambda: self.waiting == count, REPLY_SECONDS_MAX + 30)


class Soak:
    """One run. The thread that calls run() injects the faults; everything else arrives through heard() and
    problem()."""

    def __init__(self, server, seed, clients=5):
        self.server, self.seed = server, seed
        self.random = random.Random(seed)
        self.gate = Gate()
        self.changed = threading.Condition()
        self.requests = self.reads = self.connections = self.kills = 0
        self.counts_sent = self.counts_answered = 0
        self.errors, self.faults = {}, {}
        self.problems = []
        self.retired = []
        self.stalled = []
        self.memory = []  # (seconds, KiB or None while the server is down)
        self.writers = [Writer(self, number, depth=40 if number % 2 else 1) for number in range(clients)]
        self.clients = [*self.writers, Reader(self, clients), Reader(self, clients + 1), Visitor(self, clients + 2)]
        self.begin = time.monotonic()
        self.ended = threading.Event()

    # reported by the clients

    def problem(self, text):
        with self.changed:
            self.problems.append(f"{time.monotonic() - self.begin:.1f} s: {text}")

    def heard(self, lines, requests, reads=0):
        with self.changed:
            self.requests += requests
            self.reads += reads
            for line in lines:
                if is_error(line):
                    kind = line.decode(errors="replace").replace("\t", " ")
                    self.errors[kind] = self.errors.get(kind, 0) + 1
                    if self.errors[kind] == 1 and not EXPECTED_ERROR.fullmatch(line):
                        self.problems.append(f"no fault explains the error {kind!r}")
            self.changed.notify_all()

    def next_connection(self):
        with self.changed:
            self.connections += 1
            return self.connections

    def retire_later(self, retired):
        with self.changed:
            self.retired.append(retired)

    def counting(self, count):
        with self.changed:
            self.counts_sent += count

    def counted(self):
        with self.changed:
            self.counts_answered += 1

    # running

    def run(self, seconds):
        self.begin = time.monotonic()
        self.server.execute(*SCHEMA, *FIXED, SECOND, database="test")
        sampler = threading.Thread(target=self.sample_memory, daemon=True)
        for thread in (sampler, *self.clients):
            thread.start()
        self.gate.set(True)
        try:
            self.give_faults(seconds)
            self.without_connections("last restart", self.server.restart, reopen=False)
        except Exception as problem:  # The report is needed however the soak ended.
            self.problem(f"{type(problem).__name__}: {problem}")
        finally:
            self.gate.set(False, ended=True)
            self.ended.set()
        for thread in (sampler, *self.clients):
            thread.join(REPLY_SECONDS_MAX + 30)
        try:
            self.server.assert_no_crash()
        except AssertionError as problem:
            self.problem(str(problem))
        return not self.problems

    def give_faults(self, seconds):
        """All faults in some order, then all in another, so none is left out for long. In a longer soak each server
        lives longer, because its memory is checked, too."""
        mild = [self.change, self.lock, self.kill_threads, self.stall, self.stall, self.cut, self.cut]
        hard = [self.reinstall, self.stop_and_start, self.kill_server, self.kill_server_in_alter]
        deck = []
        while time.monotonic() < self.begin + seconds and len(self.problems) < PROBLEMS_SHOWN_MAX:
            if not deck:
                deck = mild * max(2, min(150, round(seconds / 12))) + hard
                self.random.shuffle(deck)
            self.wait_for_requests(self.random.randrange(100, 6000))
            deck.pop()()

    def given(self, name):
        self.faults[name] = self.faults.get(name, 0) + 1

    def wait_for_requests(self, count, of="requests"):
        """Waits for so many more answered requests. A minute without an answer is a problem that ends the soak."""
        with self.changed:
            target = getattr(self, of) + count
            done = self.changed.wait_for(lambda: getattr(self, of) >= target, REPLY_SECONDS_MAX)
        assert done, f"{of} stand still"

    # faults

    def change(self):
        statements = self.random.choice(CHANGES)
        self.given("ALTER, RENAME, TRUNCATE and the like")
        self.server.execute(*statements, database="test")

    def lock(self):
        statements, end = self.random.choice(LOCKS)
        self.given(statements[0].partition(" START")[0])
        with contextlib.closing(self.server.connect(database="test")) as holder, holder.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            # Reads continue whatever delays writes.
            self.wait_for_requests(100, of="reads")
            cursor.execute(end)

    def kill_threads(self):
        with contextlib.closing(self.server.connect()) as connection, connection.cursor() as cursor:
            found = self.server.all_threads()
            for thread in self.random.sample(found, min(3, len(found))):
                how = self.random.choice(["KILL", "KILL QUERY", "KILL SOFT", "KILL HARD"])
                # An idle thread is not a connection that the server would kill.
                self.kills += 1
                with contextlib.suppress(pymysql.Error):
                    cursor.execute(f"{how} {thread}")
                    self.given("KILL of our threads" if how != "KILL QUERY" else "KILL QUERY of our threads")

    def stall(self):
        if len(self.stalled) == 3:
            oldest = self.stalled.pop(0)
            if self.random.random() < 0.7:
                oldest.read_on()
            else:
                oldest.close()
        self.stalled.append(Stalled(self))
        self.given("slow reader")

    def cut(self):
        self.random.choice(self.writers).cut = self.random.choice(["reset", "half"])
        self.given("connection cut inside a request")

    def reinstall(self):
        self.without_connections(
            "UNINSTALL and INSTALL SONAME", self.uninstall, lambda: self.server.execute("INSTALL SONAME 'postern'")
        )

    def uninstall(self):
        self.server.execute("UNINSTALL SONAME 'postern'")

    def stop_and_start(self):
        self.without_connections("stop and start", self.server.stop, self.server.start)

    def kill_server(self):
        self.without_connections("kill -9", self.server.kill, self.server.start)

    def kill_server_in_alter(self):
        table = self.random.choice(TABLES)

        def alter():
            with contextlib.suppress(pymysql.Error, OSError):
                self.server.execute(f"ALTER TABLE {table} FORCE", database="test")

        thread = threading.Thread(target=alter)

        def kill():
            thread.start()
            self.server.kill()
            thread.join()

        self.without_connections("kill -9 beside an ALTER", kill, self.server.start)

    def without_connections(self, name, end, begin=lambda: None, reopen=True):
        """A fault that ends every connection; when all have ended, the tables are compared with the acknowledged
        writes."""
        self.given(name)
        if self.server.env["PID"] and not self.server.alive():
            raise AssertionError(f"the server is gone\n{self.server.log_tail()}")
        self.gate.set(False)
        end()
        assert self.gate.gathered(len(self.clients)), "a client does not come back"
        for stalled in self.stalled:
            stalled.close()
        self.stalled = []
        begin()
        self.check_tables()
        if reopen:
            self.gate.set(True)

    def check_tables(self):
        found = {}
        for table, name in enumerate(TABLES):
            for client, key, value, number in self.server.query(
                f"SELECT client, id, v, n FROM {name}", database="test"
            ):
                found.setdefault(client, {})[table, key] = (value, number)
        for retired in self.retired:
            if wrong := retired.check(found.pop(retired.owner.number, {})):
                self.problem(wrong)
        if found:
            self.problem(f"rows of connections that never were: {sorted(found)[:5]}")
        ((count,),) = self.server.query("SELECT n FROM counters WHERE id = 0", database="test")
        if not self.counts_answered <= count <= self.counts_sent:
            self.problem(
                f"the counter is {count}, but {self.counts_answered} were answered and {self.counts_sent} sent"
            )
        for name in (*TABLES, "counters", "fixed", "second"):
            verdict = self.server.query(f"CHECK TABLE {name} EXTENDED", database="test")
            if verdict[-1][3] != "OK":
                self.problem(f"CHECK TABLE {name}: {verdict}")
        self.retired = []
        self.server.execute(*[f"DELETE FROM {name}" for name in TABLES], database="test")

    # memory

    def sample_memory(self):
        while not self.ended.wait(SAMPLE_SECONDS):
            kib = None
            with contextlib.suppress(OSError, StopIteration, KeyError):
                kib = self.server.memory_kib()
            self.memory.append((time.monotonic() - self.begin, kib))

    # the report

    def report(self):
        sizes = [kib / 1024 for _, kib in self.memory if kib]
        lines = [
            f"seed {self.seed}, {time.monotonic() - self.begin:.0f} s, {len(self.clients)} clients",
            f"requests {self.requests}, of which {self.reads} reads of a table at rest, "
            f"{self.counts_answered} additions to one counter; connections of writers {self.connections}",
            "faults given:",
        ]
        lines += [f"  {count:7} {name}" for name, count in sorted(self.faults.items())]
        lines += ["errors answered, all of a kind that the faults explain unless told below:"]
        lines += [f"  {count:7} {kind}" for kind, count in sorted(self.errors.items(), key=lambda item: -item[1])] or [
            "  none"
        ]
        if sizes:
            lines.append(
                f"memory of the server: {sizes[0]:.0f} MiB at first, {max(sizes):.0f} at most, {sizes[-1]:.0f} at last"
            )
        lines.append(f"wrong: {len(self.problems)}" if self.problems else "wrong: nothing")
        lines += [f"  {problem}" for problem in self.problems[:PROBLEMS_SHOWN_MAX]]
        return "\n".join(lines) + "\n"

    def write(self, folder):
        (folder / "report.txt").write_text(self.report())
        (folder / "memory.csv").write_text(
            "seconds,kib\n" + "".join(f"{seconds:.1f},{'' if kib is None else kib}\n" for seconds, kib in self.memory)
        )
        try:
            import matplotlib
        except ImportError:
            print("No picture: python3-matplotlib is missing; tools/deps soak installs it.")
            return
        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axis = pyplot.subplots(figsize=(9, 3.5))
        # Gaps while the server was down.
        axis.plot(
            [seconds for seconds, _ in self.memory], [kib / 1024 if kib else float("nan") for _, kib in self.memory]
        )
        axis.set(xlabel="seconds", ylabel="resident memory, MiB", title=f"soak, seed {self.seed}", ylim=(0, None))
        figure.tight_layout()
        figure.savefig(folder / "memory.png", dpi=110)
        pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description="Soaks a server; see the head of this file.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--dir", type=Path, default=ROOT / "build" / "soak")
    parser.add_argument("--clients", type=int, default=5)
    arguments = parser.parse_args()
    # Left by an interrupted run: its server is stopped before its files are removed.
    server = Server(arguments.dir / "server")
    if arguments.dir.exists():
        server.kill()
        shutil.rmtree(arguments.dir)
    arguments.dir.mkdir(parents=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"soak: seed {arguments.seed}, {arguments.minutes:g} minutes, in {arguments.dir}", flush=True)
    try:
        soak = Soak(server.start(), arguments.seed, arguments.clients)
        good = soak.run(arguments.minutes * 60)
        soak.write(arguments.dir)
        print(soak.report(), end="")
        server.stop()
    finally:
        server.kill()
    if good:
        shutil.rmtree(server.dir, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
