"""Starts a measured process on its core, waits for it and stops it; and reads the processor time that processes use."""
import contextlib
import os
import random
import resource
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
OUT = HERE / "build" / "bench"
LOOPBACK = "127.0.0.1"


class Failure(Exception):
    """An error with a message for the user; the command exits with code 1."""


def free_port():
    for _ in range(1000):
        port = random.randrange(12000, 32000)
        with socket.socket() as probe:
            with contextlib.suppress(OSError):
                probe.bind((LOOPBACK, port))
                return port
    raise Failure("no free port found")


def all_processor_seconds():
    """The processor time of all processes of the machine, and of other guests of the hypervisor."""
    user, nice, system, _, _, interrupts, softirqs, stolen = (
        int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + interrupts + softirqs + stolen) / os.sysconf("SC_CLK_TCK")


def busy_percent(seconds=0.3):
    """The share of the processors that all processes use now."""
    before = all_processor_seconds()
    time.sleep(seconds)
    return 100 * (all_processor_seconds() - before) / seconds


def seconds_of(pid):
    """The processor time of a process."""
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid() computes it


def processor_seconds(pid):
    """(time, the processor time of all processes of the machine, that of the process and our finished children)."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), all_processor_seconds(), seconds_of(pid) + children.ru_utime + children.ru_stime


class Server:
    """One process under measurement. `places`: peer name -> the arguments of bench/load for it."""

    def __init__(self, bench, name):
        self.bench = bench
        self.name = name
        self.child = None

    def pid(self):
        return self.child.pid

    def spawn(self, command, ready):
        """Starts a process on the server's core and waits until `ready`, a socket address, takes connections."""
        # The kernel ends it when we end, however that happens.
        command = ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", self.bench.server_core, *command]
        with open(OUT / f"{self.name}.log", "wb") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        family = socket.AF_UNIX if isinstance(ready, str) else socket.AF_INET
        deadline = time.monotonic() + 20
        while True:
            with socket.socket(family) as probe:
                try:
                    probe.connect(ready)
                    return
                except OSError:
                    pass
            try:
                self.child.wait(0.02)
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline:
                    continue
            raise Failure(f"{self.name} did not start; see {log.name}")

    def stop(self):
        if self.child and self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(20)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()

    def set_state(self, state):
        """Configures the server for a row."""

    def make(self, table):
        """Inserts the rows that a row of the matrix reads, unless they exist."""

    def renew(self):
        """Starts a process that has served no client yet, to measure the memory of connections."""
        self.stop()
        self.start()

    def wait_for_descriptors(self, wanted):
        """Waits until the server has closed the connections of the last run and has room for this many."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        deadline = time.monotonic() + 30
        while len(os.listdir(f"/proc/{self.pid()}/fd")) + wanted > limit:
            if time.monotonic() > deadline:
                raise Failure(f"{self.name} has no descriptors for {wanted} connections; the limit is {limit}")
            time.sleep(0.05)

    def before(self, row):
        """Called just before a run; its result is passed to after()."""

    def after(self, row, memory, result):
        """Called just after a run; returns the error in the server's rows, or None."""

    def versions(self):
        return {}
