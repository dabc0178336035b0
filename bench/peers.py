"""The measured servers, by peer (a way into a server); and Run, which starts them and applies the load."""
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import matrix
from mariadb import MariaDB
from process import OUT, Failure, processor_seconds
from stores import Memcached, Null, Redis, Store

# Inserts into a store reuse the same keys, which bounds its memory.
STORE_INSERTS_FROM = matrix.ROWS + 1
SERVERS = {
    "null": Null,
    "memcached": Memcached,
    "memcached-unix": Memcached,
    "redis": Redis,
    "redis-everysec": Redis,
    "redis-hash": Redis,
    "redis-everysec-hash": Redis,
    "original": MariaDB,
    "original-unix": MariaDB,
    "ours": MariaDB,
}


def server_of(peer):
    """The server that a peer leads to."""
    if peer in SERVERS:
        return peer
    if peer.startswith(("sql", "ours")):
        return "ours"
    if peer.endswith(("-hgetall", "-hmget")):
        return f"{peer.rpartition('-')[0]}-hash"
    return peer.removesuffix("-unix").removesuffix("-meta")


class Bench:
    """All servers of a run, and the load."""

    def __init__(self, server_core, load_core, data, say, kinds=SERVERS):
        """kinds: the kinds of servers, by name."""
        self.server_core, self.load_core, self.say = str(server_core), str(load_core), say
        self.data = data.resolve()
        self.kinds = kinds
        self.servers = {}
        self.absent = {}  # server -> the reason why it did not start
        self.sockets = None
        self.lock = None

    def __enter__(self):
        OUT.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.data / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"another bench/run is using {self.data}") from None
        self.sockets = Path(tempfile.mkdtemp(prefix="postern-bench-"))
        return self

    def __exit__(self, *_):
        for server in self.servers.values():
            try:
                server.stop()
            except Failure as failure:
                self.say(failure)
        shutil.rmtree(self.sockets, ignore_errors=True)
        self.lock.close()

    def flushes_per_second(self):
        """How many small writes a second the data's disk flushes one after the other: the floor of durability."""
        path = self.data / "flush-probe"
        with open(path, "wb", buffering=0) as probe:
            os.posix_fallocate(probe.fileno(), 0, 1 << 20)
            begin, count = time.monotonic(), 0
            while time.monotonic() < begin + 0.5:
                os.pwrite(probe.fileno(), b"\1" * 512, count * 512 % (1 << 20))
                os.fdatasync(probe.fileno())
                count += 1
            seconds = time.monotonic() - begin
        path.unlink()
        return count / seconds

    def start(self, peers):
        """Starts the servers that do not run yet. Leaves out missing peers; fails without our own server."""
        for name in dict.fromkeys(server_of(peer) for peer in peers):
            if name in self.servers or name in self.absent:
                continue
            self.say(f"starting {name}")
            server = self.kinds[name](self, name)
            self.servers[name] = server
            try:
                server.start()
            except Failure as failure:
                if name == "ours":
                    raise
                self.say(failure)
                self.absent[name] = str(failure)
                server.stop()
                del self.servers[name]

    def load(self, protocol, place, arguments, server_pid=None):
        command = ["taskset", "-c", self.load_core, str(OUT / "load"), "--protocol", protocol, *place, *arguments]
        if server_pid:
            command += ["--server-pid", str(server_pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise Failure(f"{shlex.join(command)}: {done.stdout}{done.stderr}") from None

    def run(self, peer, row, arguments):
        """Runs `row` once against `peer` and verifies it: (result, error or None)."""
        server = self.servers[server_of(peer)]
        protocol, place = server.places[peer]
        more = ["--insert-from", str(STORE_INSERTS_FROM)] if isinstance(server, Store) else []
        server.wait_for_descriptors(row.clients + row.idle + 100)
        memory = server.before(row)
        before = processor_seconds(server.pid())
        result = self.load(protocol, place, [*row.arguments(), *arguments, *more], server.pid())
        wall, all_, own = (now - then for now, then in zip(processor_seconds(server.pid()), before))
        result["others_cpu_percent"] = max(0.0, 100 * (all_ - own) / wall)
        return result, server.after(row, memory, result)
