"""The latency of a server's clients, at a fixed, modest rate, while another client disturbs their table."""
import contextlib
import dataclasses
import fnmatch
import random
import select
import subprocess
import threading
import time

import matrix
import peers
import process

PEERS = ("ours", "ours-memcached", "original", "sql-prepared")
CLIENTS = 50
# All clients touch the same few rows, so that writers conflict.
KEYS = 10_000
RATE_PART = 0.3
SECONDS = 10
ROUNDS = 2
# A statement that takes longer has not got its lock: it is aborted and counts as hung.
LOCK_SECONDS = 3
STALL_US = 10_000
# The pause between two statements of a disturber, so that it disturbs the server's one core without filling it.
PAUSE_SECONDS = 0.02


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    title: str
    statements: tuple = ()  # repeated in this order
    scans: bool = False
    kills: bool = False


CASES = (
    Case("quiet", "nothing else"),
    Case(
        "alter-inplace",
        "ALTER TABLE, a column added and dropped in place",
        (
            "ALTER TABLE written ADD COLUMN extra INT, ALGORITHM=INPLACE",
            "ALTER TABLE written DROP COLUMN extra, ALGORITHM=INPLACE",
        ),
    ),
    Case(
        "alter-rebuild", "ALTER TABLE, rebuilt in place", ("ALTER TABLE written FORCE, ALGORITHM=INPLACE, LOCK=NONE",)
    ),
    Case("alter-copy", "ALTER TABLE, copied", ("ALTER TABLE written FORCE, ALGORITHM=COPY",)),
    Case("scan", "a scan of 100,000 rows through the same door", scans=True),
    Case(
        "sql-writes",
        "SQL transactions over 100 of the same rows",
        (
            "BEGIN; UPDATE written SET user_name = CONCAT('name', user_id, '.', {number}) "
            f"WHERE user_id BETWEEN {{key}} AND {{key}} + 99 AND user_id <= {KEYS}; COMMIT",
        ),
    ),
    Case("kill", "KILL of the threads that serve", kills=True),
)
LOADS = {
    "find": ("find, 50 connections", ["--mix", "find=100"]),
    "update": ("durable update, 50 connections", ["--mix", "update=100"]),
}
ARGUMENTS = ["--clients", str(CLIENTS), "--max", str(KEYS), "--table", "written"]
# The threads of a peer in the process list.
SERVING = {
    "ours": "state LIKE 'handlersocket%worker%'",
    "ours-memcached": "state LIKE 'memcached worker%'",
    "original": "user = 'system user' AND (state LIKE '%handlersocket%' OR db = 'handlersocket')",
    "sql-prepared": "user = 'root' AND command IN ('Execute', 'Sleep')",
}


class Client:
    """A mariadb client that gets one statement at a time."""

    def __init__(self, server):
        command = [
            "taskset",
            "-c",
            server.bench.server_core,
            str(process.HERE / "tools/sandbox"),
            "sql",
            str(server.folder),
            "--batch",
            "--skip-column-names",
            "--unbuffered",
            "--force",
            "test",
        ]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.rest = b""
        self.run(f"SET lock_wait_timeout = {LOCK_SECONDS}")

    def run(self, statement, seconds=60):
        """The lines of its answer; None on a timeout."""
        self.child.stdin.write(f"{statement}; SELECT 'that is all';\n".encode())
        self.child.stdin.flush()
        deadline = time.monotonic() + seconds
        while b"that is all\n" not in self.rest:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0, deadline - time.monotonic()))
            part = self.child.stdout.read1(65536) if ready else b""
            if not part:
                return None
            self.rest += part
        said, _, self.rest = self.rest.partition(b"that is all\n")
        return said.decode(errors="replace").splitlines()

    def close(self):
        self.child.stdin.close()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()


class Disturber:
    """Repeats the work of a case until stopped; counts repetitions and errors."""

    def __init__(self, case, peer, server):
        self.case, self.peer, self.server = case, peer, server
        self.done, self.failed, self.first_failure, self.longest_seconds = 0, 0, "", 0.0
        self.stopped = threading.Event()
        self.begun = threading.Event()
        self.thread = threading.Thread(target=self.go)

    def __enter__(self):
        self.thread.start()
        self.begun.wait(30)
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def go(self):
        try:
            if self.case.scans:
                self.scan()
            elif self.case.statements or self.case.kills:
                self.speak()
        finally:
            self.begun.set()

    def scan(self):
        protocol, place = self.server.places[self.peer]
        if protocol == "memcached-container":  # it has no scans; HandlerSocket's use the same engine
            protocol, place = self.server.places["ours"]
        command = [
            "nice",
            "-n",
            "19",
            "taskset",
            "-c",
            self.server.bench.server_core,
            str(process.OUT / "load"),
            "--protocol",
            protocol,
            *place,
            "--clients",
            "1",
            "--mix",
            "scan=100",
            "--scan",
            "100000",
            "--table",
            "written",
            "--seconds",
            "600",
        ]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.begun.set()
        self.stopped.wait()
        if child.poll() is None:
            self.done = 1
        else:
            self.fail("the scan ended early")
        child.kill()
        child.wait()

    def speak(self):
        with contextlib.closing(Client(self.server)) as client:
            self.begun.set()
            chance = random.Random(1)
            while not self.stopped.wait(PAUSE_SECONDS):
                for statement in self.case.statements or self.killing(client, chance):
                    self.do(
                        client, statement.format(number=chance.randrange(1, 1 << 24), key=chance.randrange(1, KEYS))
                    )
            if self.case.name == "alter-inplace":
                client.run("ALTER TABLE written DROP COLUMN IF EXISTS extra")

    def killing(self, client, chance):
        """Kills the queries of workers, not SQL sessions: their clients would have to log in again."""
        threads = client.run(f"SELECT id FROM information_schema.processlist WHERE {SERVING[self.peer]}") or []
        if not threads:
            self.fail("there is no thread to kill")
            self.stopped.wait(1)
            return []
        how = "KILL QUERY" if self.peer.startswith("sql") else chance.choice(["KILL", "KILL QUERY"])
        return [f"{how} {chance.choice(threads)}"]

    def do(self, client, statement):
        begin = time.monotonic()
        said = client.run(statement, LOCK_SECONDS + 30)
        self.longest_seconds = max(self.longest_seconds, time.monotonic() - begin)
        if said is None:
            self.fail(f"no answer to {statement}")
            self.stopped.set()
        elif error := next((line for line in said if line.startswith("ERROR")), None):
            self.fail(error)
        else:
            self.done += 1

    def fail(self, text):
        self.failed += 1
        self.first_failure = self.first_failure or text


def measure(bench, options, say):
    """The input of report.disturbed(): a dictionary for each load, case and peer."""
    named = [peer for peer in PEERS if not options.peers or peer in options.peers]
    bench.start(named)
    seconds = options.seconds or SECONDS
    made = []
    for load, (title, mix) in LOADS.items():
        cases = [
            case
            for case in CASES
            if not options.only or any(fnmatch.fnmatchcase(f"{load}-{case.name}", pattern) for pattern in options.only)
        ]
        peaks = {}
        for peer in named if cases else ():
            if peers.server_of(peer) in bench.absent:
                continue
            server = bench.servers[peers.server_of(peer)]
            server.set_state(matrix.State(durable=True, threads=2))
            peaks[peer] = once(bench, peer, [*mix, "--seconds", str(min(2, seconds))])["answers_per_second"]
        for case in cases:
            for peer, peak in peaks.items():
                if case.kills and peer == "original":
                    continue  # its threads end and are not replaced: no later request is answered
                say(f"{title}, {case.title}: {peer}")
                # A moment in which other processes kept the machine busy affects only one of them.
                runs = [
                    disturbed(bench, case, peer, [*mix, "--rate", f"{RATE_PART * peak:.0f}", "--seconds", str(seconds)])
                    for _ in range(options.rounds or ROUNDS)
                ]
                calmest = min(runs, key=lambda run: (not is_wrong(run["result"], peer), run["result"]["max_us"]))
                made.append(
                    {
                        "load": load,
                        "title": title,
                        "case": case.name,
                        "case_title": case.title,
                        "peer": peer,
                        "rate": RATE_PART * peak,
                        **calmest,
                    }
                )
                yield made


def disturbed(bench, case, peer, arguments):
    with Disturber(case, peer, bench.servers[peers.server_of(peer)]) as disturber:
        result = once(bench, peer, arguments)
    return {
        "result": result,
        "disturbances": disturber.done,
        "disturbances_failed": disturber.failed,
        "first_failure": disturber.first_failure,
        "longest_disturbance_seconds": disturber.longest_seconds,
    }


def is_wrong(result, peer):
    """All answers are right, and none of ours is missing."""
    return bool(result["wrong"] or peer.startswith("ours") and (result["unanswered"] or result["error"]))


def once(bench, peer, arguments):
    server = bench.servers[peers.server_of(peer)]
    protocol, place = server.places[peer]
    return bench.load(protocol, place, [*ARGUMENTS, *arguments], server.pid())


def judge(made):
    for one in made:
        result = one["result"]
        if is_wrong(result, one["peer"]):
            yield f"{one['title']}, {one['case_title']}, {one['peer']}: {result['wrong']} wrong, " f"{result['unanswered']} unanswered {result['error']} {result['first_wrong']!r}"


def stalls(one, made):
    """By how many us our slowest answer exceeds SQL's on the same rows; None if that is no stall."""
    if not one["peer"].startswith("ours"):
        return None
    of_sql = next(
        (
            other["result"]["max_us"]
            for other in made
            if other["peer"] == "sql-prepared" and (other["load"], other["case"]) == (one["load"], one["case"])
        ),
        None,
    )
    if of_sql is None or one["result"]["max_us"] - of_sql <= STALL_US:
        return None
    return one["result"]["max_us"] - of_sql
