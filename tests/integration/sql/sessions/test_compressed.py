"""The compressed protocol: its sessions are answered as on the server's own port, however their commands are cut into
frames, and one that sends a part of a command keeps no other waiting."""
import random
import time

import pytest

from support.both_ports import SIDES, ask, compare, filled, on_door, opened, same_tables
from support.both_ports import served  # noqa: F401
from support.clients.compressed import COMPRESS, Compressed
from support.clients.sql_session import DEPRECATE_EOF, QUERY

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT, long_text MEDIUMTEXT, KEY n (n))",
    "INSERT INTO t SELECT seq, CONCAT('v', seq), seq DIV 3, REPEAT('x', seq * 100) FROM seq_1_to_300",
    "ANALYZE TABLE t",
)
READS = {"t": "SELECT * FROM t ORDER BY id"}
STATEMENTS = (
    ("SELECT v FROM t WHERE id = ?", (7,)),
    ("SELECT id, long_text FROM t WHERE id IN (?, ?) ORDER BY id", (290, 3)),
    ("SELECT a.id, b.v FROM t a JOIN t b ON b.n = a.n WHERE a.id = ? ORDER BY b.id", (9,)),
    ("UPDATE t SET n = n + ? WHERE id = ?", (1, 5)),
    ("INSERT INTO t (id, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = CONCAT(v, '+')", (900, "new")),
    ("SELECT nothing FROM t WHERE id = ?", (1,)),
    ("SELECT REPEAT(?, 200000)", ("y",)),
)


def frame(text):
    command = bytes([QUERY]) + text
    return len(command).to_bytes(3, "little") + b"\0" + command


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


def compressed_sessions(tables, capabilities, small):
    sessions = [opened(tables, port, "own", database, COMPRESS | capabilities) for port, database in SIDES.items()]
    for one in sessions:
        one.socket = Compressed(one.socket, random.Random(1), small)
    return sessions


@pytest.mark.parametrize("small", [False, True], ids=["frames", "small_frames"])
@pytest.mark.parametrize("capabilities", [0, DEPRECATE_EOF], ids=["plain", "ok_for_eof"])
def test_every_byte_is_the_servers(tables, capabilities, small):
    sessions = compressed_sessions(tables, capabilities, small)
    for _ in range(5):
        for text, values in STATEMENTS:
            ask(sessions, text, values)
        for transaction in ("BEGIN", "UPDATE t SET n = 0 WHERE id = 8", "SELECT n FROM t WHERE id = 8", "ROLLBACK"):
            ask(sessions, transaction)
    texts = [b"SELECT v FROM t WHERE id = %d" % number for number in range(1, 30)] + [
        b"UPDATE t SET v = 'z' WHERE n = 9"
    ]
    for one in sessions:
        one.socket.sendall(b"".join(map(frame, texts)))
    for text in texts:
        compare(text, [one.answer() for one in sessions])
    same_tables(tables, READS)


def test_a_frame_that_ends_in_a_command_keeps_nobody_waiting(tables):
    """There is one worker."""
    other = on_door(tables)
    begun = Compressed(opened(tables, "POSTERN_PORT", "own", "by_door", COMPRESS).socket, random.Random(1))
    command = frame(b"SELECT v FROM t WHERE id = 3")
    begun.socket.sendall(begun.frame(command[:9], 0))
    for _ in range(20):
        sent = time.monotonic()
        assert b"v5" in other.query("SELECT v FROM t WHERE id = 5")
        assert time.monotonic() - sent < 1
    begun.socket.sendall(begun.frame(command[9:], 1))
    heard = b""
    while b"\x02v3" not in heard:
        heard += begun.recv(0)
