"""The primary is killed under load: with semi-sync a replica has everything that any door acknowledged."""
import contextlib
import subprocess
import threading

import pytest
from support.server import ROOT, Server, parse_env
from support.waiting import until


@pytest.fixture
def nodes(tmp_path):
    """A primary and two replicas, with semi-sync."""
    folder = tmp_path / "c"
    try:
        done = subprocess.run(
            [ROOT / "tools/cluster", "start", folder, "replicas"],
            capture_output=True,
            text=True,
            timeout=290,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        servers = []
        for number, part in enumerate(done.stdout.split("# node ")[1:], 1):
            servers.append(Server(folder / str(number)))
            servers[-1].env = parse_env(part.partition("\n")[2])
        yield servers
    finally:
        subprocess.run([ROOT / "tools/cluster", "stop", folder], check=False, capture_output=True, timeout=200)


class Writer(threading.Thread):
    """Writes rows one after another until the server is gone, and records the acknowledged ones."""

    def __init__(self, writes):
        super().__init__()
        self.writes = writes
        self.acknowledged = []

    def run(self):
        with contextlib.suppress(OSError, EOFError, AssertionError):
            for key in range(1, 1_000_000):
                self.writes(key)
                self.acknowledged.append(key)


def hs_writer(server, base):
    door = server.hs_wr()
    door.open(0, "test", "t", "k,v")

    def write(key):
        assert door.request(0, "+", 2, base + key, key) == ["0", "1"]

    return write


def mc_writer(server):
    cache = server.mc()

    def write(key):
        assert cache.set(f"key{key}", f"value {key}") == "STORED"

    return write


def redis_writer(server):
    door = server.resp()

    def write(key):
        reply = door.ask("SET", f"key{key}", key)
        assert reply == "OK"

    return write


def sql_writer(server, base):
    session = server.connect()
    cursor = session.cursor()

    def write(key):
        try:
            cursor.execute("INSERT INTO test.t VALUES (%s, %s)", (base + key, key))
        except Exception as error:
            raise OSError from error

    return write


def test_nothing_acknowledged_is_lost_with_the_primary(nodes):
    primary, *replicas = nodes
    primary.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)", database="test")
    writers = [
        Writer(hs_writer(primary, 1_000_000)),
        Writer(hs_writer(primary, 2_000_000)),
        Writer(sql_writer(primary, 3_000_000)),
        Writer(mc_writer(primary)),
        Writer(redis_writer(primary)),
    ]
    for writer in writers:
        writer.start()
    until(lambda: all(len(writer.acknowledged) > 200 for writer in writers), seconds=60)
    primary.kill()
    for writer in writers:
        writer.join()

    for replica in replicas:  # the received log is applied before the comparison
        replica.execute("STOP SLAVE IO_THREAD")
        until(
            lambda replica=replica: replica.query(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Slave has read all relay log%'"
            )
            == [(1,)],
            seconds=60,
        )

    def has(replica):
        return int(replica.query("SELECT @@gtid_slave_pos")[0][0].rpartition("-")[2] or 0)

    heir = max(replicas, key=has)
    heir.execute("STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
    for writer, base in zip(writers, (1_000_000, 2_000_000, 3_000_000)):
        rows = heir.query(f"SELECT v FROM t WHERE k BETWEEN {base} AND {base + 999_999}", database="test")
        found = {value for value, in rows}
        assert set(writer.acknowledged) <= found
        assert len(found) - len(writer.acknowledged) <= 1, "at most the one that nobody was told of"
    with heir.mc() as cache:
        for key in writers[3].acknowledged:
            assert cache.get(f"key{key}") == f"value {key}".encode()
    with heir.resp() as redis:
        for key in writers[4].acknowledged:
            assert redis.ask("GET", f"key{key}") == str(key).encode()
    with heir.hs_wr() as door:
        door.open(0, "test", "t", "k,v")
        assert door.request(0, "+", 2, 1, 1) == ["0", "1"], "it is the primary now"
