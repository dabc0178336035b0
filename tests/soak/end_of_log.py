"""python3 -m soak.end_of_log [SECONDS] [mariadbd options]: how InnoDB's log on the disk ends when a server is killed.

A plain server without Postern, four writers. It is stopped (SIGSTOP) again and again, which finds the disk as SIGKILL
would; the log is read, and compared with what stands there later. Counts ends without the mark that recovery looks for,
and ends with records that were no part of the log: what recovery would have done again. See docs/operating.md.

  PYTHONPATH=tests python3 -m soak.end_of_log 300 --innodb-log-file-buffering=OFF
"""
import contextlib
import mmap
import os
import random
import signal
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

from support.server import Server

BLOCK = 4096
FIRST_LSN = 12288  # of a new log: an offset in the file is its LSN until the log wraps around
CHECKPOINTS = (4096, 8192)
MTR_TAIL = 5  # the end mark and a checksum
CASTAGNOLI = 0x82F63B78
# Lengths of numbers by their first byte: below the bound, so many bytes, so many bits, added to this base.
VARINTS = (
    (0x80, 1, 7, 0),
    (0xC0, 2, 14, 0x80),
    (0xE0, 3, 21, 0x4080),
    (0xF0, 4, 28, 0x204080),
    (0x100, 5, 32, 0x10204080),
)


def table_of(polynomial):
    def row(byte):
        for _ in range(8):
            byte = byte >> 1 ^ (polynomial if byte & 1 else 0)
        return byte

    return [row(byte) for byte in range(256)]


TABLE = table_of(CASTAGNOLI)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def varint(data, at):
    """A number, and the offset of its end: as mlog_decode_varint() of the server."""
    size, bits, base = next(row[1:] for row in VARINTS if data[at] < row[0])
    return (int.from_bytes(data[at : at + size], "big") & (1 << bits) - 1) + base, at + size


def end_of_mtr(data, at):
    """The end of the mini-transaction that begins here; None if recovery would not accept one."""
    begin = at
    with contextlib.suppress(IndexError):
        while data[at] > 1:
            size, at = data[at] & 15, at + 1
            if size == 0:
                more, behind = varint(data, at)
                size, at = more + 15 - (behind - at), behind
            at += size
        if at > begin and crc32c(data[begin:at]) == int.from_bytes(data[at + 1 : at + MTR_TAIL], "big"):
            return at + MTR_TAIL
    return None


class Log:
    """ib_logfile0 as it is on disk, bypassing the page cache."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self.buffer = mmap.mmap(-1, 4 << 20)
        head = self.read(0, FIRST_LSN)
        assert struct.unpack_from(">Q", head, 8)[0] == FIRST_LSN
        self.since = max(struct.unpack_from(">Q", head, at)[0] for at in CHECKPOINTS)

    def read(self, at, size):
        begin = at - at % BLOCK
        got = os.preadv(self.file, [memoryview(self.buffer)[: size + BLOCK - size % BLOCK]], begin)
        return self.buffer[at - begin : got]

    def mtrs(self):
        """The ends of the mini-transactions since the last call, except some blocks; and whether a mark follows the
        last one."""
        data, ends = self.read(self.since, 2 << 20), [0]
        while (end := end_of_mtr(data, ends[-1])) is not None:
            ends.append(end)
        lsns = [self.since + end for end in ends]
        self.since = max((lsn for lsn in lsns if lsn < lsns[-1] - 3 * BLOCK), default=self.since)
        return lsns, data[ends[-1]] == 0


def write(server, number, stop):
    chance = random.Random(number)
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        while not stop.is_set():
            key = f"{number}:{chance.randrange(40)}"
            cursor.execute("BEGIN")
            cursor.execute("REPLACE INTO test.t VALUES (%s, %s)", (key, f"v{chance.randrange(10**6)}"))
            if chance.random() < 0.5:
                cursor.execute("DELETE FROM test.t WHERE k = %s LIMIT 3", (key,))
            cursor.execute("COMMIT")


def is_stopped(pid):
    return all(
        Path(f"/proc/{pid}/task/{task}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
        for task in os.listdir(f"/proc/{pid}/task")
    )


@contextlib.contextmanager
def stopped(pid):
    """Writes in flight are complete when all threads have stopped."""
    os.kill(pid, signal.SIGSTOP)
    while not is_stopped(pid):
        time.sleep(0.0005)
    yield
    os.kill(pid, signal.SIGCONT)


def look(server, log, seconds):
    seen = without_mark = with_others = 0
    before = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(random.uniform(0.002, 0.02))
        with stopped(int(server.env["PID"])):
            lsns, marked = log.mtrs()
        if before and lsns[-1] > before[-1]:
            seen += 1
            without_mark += not marked
            with_others += any(lsns[0] <= lsn and lsn not in lsns for lsn in before)
        before = lsns
    return seen, without_mark, with_others


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    os.environ["POSTERN_SO"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder).start("--log-bin=bin", "--sync-binlog=1", *sys.argv[2:])
        stop = threading.Event()
        server.execute("CREATE TABLE test.t (k VARBINARY(99), m VARBINARY(99), PRIMARY KEY (k, m)) ENGINE=InnoDB")
        writers = [threading.Thread(target=write, args=(server, number, stop)) for number in range(4)]
        for writer in writers:
            writer.start()
        try:
            seen, without_mark, with_others = look(server, Log(Path(server.env["DATADIR"]) / "ib_logfile0"), seconds)
        finally:
            stop.set()
            for writer in writers:
                writer.join()
            server.stop()
    print(f"stopped {seen} times; {without_mark} ends without a mark, {with_others} with records of before")


if __name__ == "__main__":
    main()
