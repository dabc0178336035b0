"""The soak's clients: each checks every reply against the state that it alone can know.

A client takes a new name for each connection, so that the rows of a connection are known for good once it is retired:
its rows after the last reply, and the whole requests sent after that, of which any prefix may have been done.
"""
import random
import re
import socket
import struct
import threading
import time

from support.clients import hs
from support.load import TABLES, Owner

REPLY_SECONDS_MAX = 60
FIXED_ROWS = 2000
# Readers of the constant table pause, which leaves time to the others, whose checks find more.
READER_PAUSE_SECONDS = 0.01
DUPLICATE = b"1\t1\t121"
# Errors allowed during faults: missing tables, killed threads, a closing door, locks.
EXPECTED_ERROR = re.compile(
    rb"1\t1\t.*(doesn't exist|interrupted|shut|[Tt]imed out waiting|Lock wait timeout|open_table|lock_tables|stmtnum)|2\t1\t.*shut|\(cut\).*"
)


def fixed_row(number):
    return b"0\t2\t%d\tfixed %d %s" % (number, number, b"y" * 80)


def is_error(line):
    return line[:1] != b"0" and line != DUPLICATE


class Cut(Exception):
    """We closed the connection ourselves."""


class Retired:
    """The rows that one connection must have left: `now`, or that after some prefix of `pending`."""

    def __init__(self, owner):
        self.owner = owner
        self.now = {}
        self.pending = []

    def check(self, rows):
        """Returns None, or the error."""
        model = dict(self.now)
        if rows == model:
            return None
        for op in self.pending:
            self.owner.apply(model, op)
            if rows == model:
                return None
        wrong = {
            key: (self.now.get(key), rows.get(key)) for key in {*self.now, *rows} if self.now.get(key) != rows.get(key)
        }
        return (
            f"connection {self.owner.number}: no prefix of the {len(self.pending)} unanswered requests gives the rows; "
            f"(table, id): (answered, found): {dict(list(wrong.items())[:3])}"
        )


class Client(threading.Thread):
    """Connects whenever the gate is open, and works until the connection ends."""

    def __init__(self, soak, number):
        super().__init__(name=f"client {number}", daemon=True)
        self.soak = soak
        self.random = random.Random(f"{soak.seed} client {number}")
        self.cut = None

    def run(self):
        while self.soak.gate.enter():
            try:
                self.connect_and_work()
            except Cut:
                pass
            except TimeoutError as problem:
                self.soak.problem(f"{self.name} got no reply: {problem}")
            except (OSError, EOFError) as problem:
                if self.soak.gate.is_open():
                    self.soak.problem(f"{self.name} lost its connection without a cause: {problem!r}")
            except Exception as problem:  # a client that ends unnoticed would check nothing
                self.soak.problem(f"{self.name}: {problem!r}")

    def go_on(self):
        """Whether to send another request."""
        return self.soak.gate.is_open()

    def open(self, connection, index, table, columns):
        """Retries while the table is missing for a moment."""
        deadline = time.monotonic() + REPLY_SECONDS_MAX
        while True:
            reply = connection.request("P", index, "test", table, "PRIMARY", columns)
            if reply == ["0", "1"]:
                return
            self.soak.heard([hs.encode_line(*reply)[:-1]], requests=1)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{table} cannot be opened: {reply}")


class Writer(Client):
    """Writes its own rows and reads them back, through both doors."""

    def __init__(self, soak, number, depth):
        super().__init__(soak, number)
        self.depth = depth

    def connect_and_work(self):
        retired = Retired(Owner(self.soak.next_connection(), self.soak.seed, many=0.02))
        self.soak.retire_later(retired)
        with self.soak.server.hs_wr(timeout=REPLY_SECONDS_MAX) as writing, self.soak.server.hs(
            timeout=REPLY_SECONDS_MAX
        ) as reading:
            for table, name in enumerate(TABLES):
                for offset, columns in enumerate(("client,id,v,n", "v", "n")):
                    self.open(writing, table * 3 + offset, name, columns)
                self.open(reading, table * 3, name, "client,id,v,n")
            self.open(writing, 9, "counters", "n")
            sent = 0
            while self.go_on():
                ops = []
                for _ in range(self.random.randrange(1, self.depth + 1)):
                    sent += 1
                    op = retired.owner.next_op(sent)
                    ops.append(("read", op[1], None, 0) if op[1] and self.random.random() < 0.3 else op)
                self.push(writing, retired, ops)
                # The other door sees acknowledged writes, too.
                reads = [("read", (self.random.randrange(2), self.random.randrange(40)), None, 0) for _ in range(3)]
                self.push(reading, retired, reads)

    def push(self, connection, retired, ops):
        requests = [self.request(retired.owner, op) for op in ops]
        whole = b"".join(requests)
        cut, self.cut = self.cut, None
        if cut and len(whole) > 1:
            whole = whole[: self.random.randrange(1, len(whole))]
            ops = ops[: whole.count(b"\n")]
        retired.pending = ops
        self.soak.counting(sum(op[0] == "count" for op in ops))
        connection.send(whole)
        if cut == "reset":
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise Cut
        if cut == "half":
            connection.socket.shutdown(socket.SHUT_WR)
        try:
            self.hear(connection, retired, ops)
        except EOFError:
            if cut:
                raise Cut from None
            raise
        if cut:
            raise Cut

    def request(self, owner, op):
        if op[0] == "read":
            return b"%d\t=\t2\t%d\t%d\n" % (op[1][0] * 3, owner.number, op[1][1])
        return owner.request(op)

    def hear(self, connection, retired, ops):
        lines = []
        try:
            for position, op in enumerate(ops):
                retired.pending = [one for one in ops[position:] if one[0] != "read"]
                line = connection.line()
                lines.append(line)
                if is_error(line):
                    continue
                expected = self.expected(retired, op)
                if op[0] == "count":
                    self.soak.counted()
                if line != expected:
                    self.soak.problem(
                        f"connection {retired.owner.number}: {op} was answered {line!r}, not {expected!r}"
                    )
            retired.pending = []
        finally:
            self.soak.heard(lines, requests=len(ops))

    def expected(self, retired, op):
        if op[0] != "read":
            return retired.owner.apply(retired.now, op)
        row = retired.now.get(op[1])
        return (
            b"0\t4"
            if row is None
            else b"0\t4\t%d\t%d\t%b\t%d" % (retired.owner.number, op[1][1], row[0].encode(), row[1])
        )


class Reader(Client):
    """Reads a table that never changes, whatever locks delay writes."""

    def connect_and_work(self):
        with self.soak.server.hs(timeout=REPLY_SECONDS_MAX) as connection:
            self.open(connection, 0, "fixed", "id,v")
            while self.go_on():
                numbers = [self.random.randrange(FIXED_ROWS + 5) for _ in range(self.random.randrange(1, 20))]
                connection.send(b"".join(b"0\t=\t1\t%d\n" % number for number in numbers))
                lines = connection.lines(len(numbers))
                for number, line in zip(numbers, lines):
                    expected = fixed_row(number) if 0 < number <= FIXED_ROWS else b"0\t2"
                    if not is_error(line) and line != expected:
                        self.soak.problem(f"fixed row {number} was read as {line!r}")
                self.soak.heard(lines, requests=len(numbers), reads=len(numbers))
                self.soak.ended.wait(READER_PAUSE_SECONDS)


class Visitor(Client):
    """Uses the second table, which is emptied, renamed, altered and dropped: only the replies' shapes are known."""

    SHAPES = re.compile(rb"0\t1\t[012]|0\t2(\t\d+\t\d+)?")

    def connect_and_work(self):
        with self.soak.server.hs_wr(timeout=REPLY_SECONDS_MAX) as connection:
            self.open(connection, 0, "second", "id,n")
            while self.go_on():
                number = self.random.randrange(1000)
                connection.send(b"0\tU\t2\t%d\t7\n0\t=\t1\t%d\n0\t=\t1\t%d\t1\t0\tD\n" % (number, number, number + 1))
                lines = connection.lines(3)
                for line in lines:
                    if not is_error(line) and not self.SHAPES.fullmatch(line):
                        self.soak.problem(f"the second table was answered as {line!r}")
                self.soak.heard(lines, requests=3)


class Stalled:
    """A client that leaves megabytes of replies unread until the end."""

    SCANS = 30

    def __init__(self, soak):
        self.soak = soak
        self.kills_before = soak.kills
        self.connection = soak.server.hs(timeout=REPLY_SECONDS_MAX)
        self.opened = self.connection.request("P", 0, "test", "fixed", "PRIMARY", "id,v") == ["0", "1"]
        self.connection.send(b"0\t>=\t1\t0\t%d\t0\n" % (2 * FIXED_ROWS) * self.SCANS)

    def read_on(self):
        try:
            self.check()
        except (OSError, EOFError) as problem:
            # A KILL ends a scan; a reply that has begun can then only be cut off.
            if isinstance(problem, TimeoutError) or self.soak.kills == self.kills_before:
                self.soak.problem(f"a stalled scan came to no end: {problem!r}")
            else:
                self.soak.heard([b"(cut) a stalled scan, after a KILL"], requests=0)
        self.close()

    def check(self):
        if self.opened:
            rows = b"".join(fixed_row(number)[3:] for number in range(1, FIXED_ROWS + 1))
            lines = self.connection.lines(self.SCANS)
            for line in lines:
                if not is_error(line) and line != b"0\t2" + rows:
                    self.soak.problem(f"a stalled scan was answered with {len(line)} other bytes: {line[:100]!r}...")
            self.soak.heard([line if is_error(line) else b"0" for line in lines], requests=self.SCANS)

    def close(self):
        self.connection.close()
