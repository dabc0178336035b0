"""Packets that no driver sends: those that the door does not understand are the server's, and answered as on its own port.

Random commands are sent at both ports, many of them in one segment: known statements among others, executions whose
values are cut, oversized or of other types than their columns, numbers of statements that nobody has prepared, bulk
executions, cursors. Every byte of every answer is the same, and so are the tables in the end.

SEED=N in the environment makes other choices, SECONDS=N makes it longer.
"""
import itertools
import os
import random
import socket
import struct
import time

import pytest
from support.clients import sql_session
from support.random_input import seeds
from support.both_ports import OPENED, SIDES, alike, filled, opened, same_tables
from support.both_ports import served  # noqa: F401
from support.clients.sql_session import without_remarks
from support.waiting import until

SECONDS = float(os.environ.get("SECONDS") or 5)
TABLES = (
    "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), d DATETIME(3), f DOUBLE, n DECIMAL(10,3),"
    " x BLOB, m TIME, y YEAR, UNIQUE b (b), KEY a (a)) STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0",
    "INSERT INTO t SELECT seq, seq DIV 3, CONCAT('b', seq), '2024-01-01' + INTERVAL seq HOUR, seq / 4, seq / 7,"
    " REPEAT('x', seq), SEC_TO_TIME(seq), 2000 + seq % 100 FROM seq_1_to_200",
    "CREATE OR REPLACE TABLE ids (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(10), UNIQUE a (a))",
    "ANALYZE TABLE t",
)
READS = {"t": "SELECT * FROM t ORDER BY id", "ids": "SELECT * FROM ids ORDER BY id"}
# No form reads by one value of a non-unique index: with another type each time the server itself, on its own port,
# reads freed memory there, as AddressSanitizer shows (test_if_ref).
FORMS = (
    "SELECT a, b FROM t WHERE id = ?",
    "SELECT * FROM t WHERE id = ?",
    "SELECT id FROM t WHERE b = ? ORDER BY id",
    "SELECT id FROM t WHERE id IN (?, ?, ?) ORDER BY id",
    "SELECT id, d FROM t WHERE id BETWEEN ? AND ? ORDER BY id",
    "SELECT id FROM t WHERE id > ? ORDER BY id LIMIT ?",
    "UPDATE t SET a = ? WHERE id = ?",
    "UPDATE t SET b = ? WHERE id = ?",
    "UPDATE t SET d = ?, f = ? WHERE id = ?",
    "UPDATE t SET n = ?, x = ?, m = ?, y = ? WHERE id = ?",
    "UPDATE t SET a = a + ? WHERE id = ?",
    "INSERT INTO ids (a) VALUES (?)",
    "INSERT IGNORE INTO ids (a) VALUES (?)",
    "INSERT INTO ids (id, a) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = VALUES(a)",
    "REPLACE INTO t (id, b) VALUES (?, ?)",
    "DELETE FROM t WHERE id = ?",
    "UPDATE t SET a = ? WHERE id IN (?, ?, ?)",
    "DELETE FROM t WHERE b IN (?, ?)",
    "SELECT ? + 1",
    "SELECT COUNT(*) FROM t WHERE a > ?",
    "SELECT nothing FROM t WHERE id = ?",
)
SETTINGS = (
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET autocommit = 0",
    "SET autocommit = 1",
    "SET NAMES latin1",
    "SET NAMES utf8mb4",
    "SET sql_mode = ''",
    "SET sql_mode = DEFAULT",
    "SET sql_select_limit = 2",
    "SET sql_select_limit = DEFAULT",
)
BULKS = 1 << 34  # the capability
INIT_DB, FIELD_LIST, LONG_DATA, SET_OPTION, FETCH, BULK = 0x02, 0x04, 0x18, 0x1B, 0x1C, 0xFA
# Commands that end the server, dump logs, show threads or the time, or kill.
NOT_SENT = {0x01, 0x03, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0xFE}
# If one of these is truncated, the server reads the statement's id from old bytes of its buffer.
NOT_SENT |= {LONG_DATA, sql_session.CLOSE, sql_session.RESET_STATEMENT, FETCH}
FIXED = {1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 8: 8, 9: 4, 13: 2}
TIMES = {7, 10, 11, 12}


def framed(payload, number=0):
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


class Packets:
    """Makes random commands. It knows the ids of a session's prepared statements, because they count from 1."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.begin()

    def begin(self, bulks=False):
        self.bulks = bulks
        self.count = 0
        self.forms = {}

    def some(self, *ways):
        return self.chance.choice(ways)()

    def seldom(self, of=10):
        return self.chance.randrange(of) == 0

    def bytes_of(self, size):
        return bytes(self.chance.randrange(256) for _ in range(size))

    def text(self):
        known = [
            b"1",
            b"7",
            b"150",
            b"b5",
            b"b70",
            b"a1",
            b"new%d" % self.chance.randrange(50),
            b"",
            b"2024-02-30",
            b"-1e3",
        ]
        return self.chance.choice(known) if not self.seldom() else self.bytes_of(self.chance.randrange(30))

    def value(self, kind):
        """A value in the form of this type, or nearly."""
        chance = self.chance
        if kind in FIXED:
            if kind in (4, 5):
                number = float(chance.randrange(300))
                return (
                    struct.pack("<f" if kind == 4 else "<d", number)
                    if not self.seldom()
                    else self.bytes_of(FIXED[kind])
                )
            number = chance.randrange(1, 250) if not self.seldom(5) else chance.randrange(1 << 63)
            return number.to_bytes(8, "little")[: FIXED[kind]]
        if kind in TIMES:
            # With other sizes the server would read the bytes after them, or beyond the packet.
            size = chance.choice([0, 8, 12] if kind == 11 else [0, 4, 7, 11])
            whole = struct.pack(
                "<HBBBBBI", 2024, chance.randrange(14), chance.randrange(33), 10, 10, 61 if self.seldom() else 9, 500
            )
            if kind == 11:
                whole = struct.pack("<BIBBBI", chance.randrange(2), chance.randrange(40), 10, 59, 5, 1000)
            return bytes([size]) + (whole + bytes(20))[:size]
        text = self.text()
        if self.seldom(30):
            return chance.choice([b"\xfb", b"\xfc\xff\xff", b"\xfd\xff\xff\xff", b"\xfe" + b"\xff" * 8, b"\xff"]) + text
        if self.seldom():
            return b"\xfc" + struct.pack("<H", len(text)) + text
        return bytes([len(text)]) + text

    def kind(self):
        chance = self.chance
        if self.seldom(40):
            return chance.randrange(256)
        return chance.choice([8, 8, 3, 2, 1, 253, 253, 254, 15, 252, 246, 5, 4, 12, 10, 7, 11, 13, 6, 9, 16, 247])

    def number(self):
        if self.seldom(25):
            return self.chance.choice([0, 999, 0xFFFFFFFF, 0x80000000, self.count + 1])
        return self.chance.randrange(1, self.count + 1) if self.count else 1

    def prepare(self):
        form = self.chance.choice(FORMS)
        self.count += 1
        self.forms[self.count] = form
        return bytes([sql_session.PREPARE]) + form.encode()

    def execute(self):
        chance, number = self.chance, self.number()
        count = self.forms.get(number, "??").count("?")
        flags = 0 if not self.seldom() else chance.choice([1, 2, 4, 8, 255])
        body = struct.pack("<IBI", number, flags, 1 if not self.seldom() else chance.choice([0, 2, 1 << 31]))
        nulls = chance.randrange(256) if self.seldom(8) else 0
        kinds = [self.kind() for _ in range(count)]
        tells = 1 if not self.seldom(8) else chance.choice([0, 2, 255])
        body += bytes([nulls]) * ((count + 7) // 8) + bytes([tells])
        if tells:
            body += b"".join(bytes([kind, chance.choice([0, 0, 0x80])]) for kind in kinds)
        for at, kind in enumerate(kinds):
            if not nulls >> at & 1 and kind != 6:
                body += self.value(kind)
        return self.mangled(bytes([sql_session.EXECUTE]) + body)

    def bulk(self):
        chance, number = self.chance, self.number()
        count = self.forms.get(number, "??").count("?")
        kinds = [self.kind() for _ in range(count)]
        flags = 128
        body = struct.pack("<IH", number, flags)
        if flags & 128:
            body += b"".join(bytes([kind, 0]) for kind in kinds)
        for _ in range(chance.randrange(4)):
            for kind in kinds:
                mark = chance.choice([0, 0, 0, 0, 1, 2, 3, 9])
                body += bytes([mark]) + (self.value(kind) if mark == 0 and kind != 6 else b"")
        return self.mangled(bytes([BULK]) + body)

    def mangled(self, payload):
        if not self.seldom(12):
            return payload
        size = self.chance.randrange(1, len(payload) + 1)
        return self.some(
            lambda: payload[:size],
            lambda: payload + self.bytes_of(self.chance.randrange(1, 9)),
            lambda: payload[:size] + self.bytes_of(1) + payload[size + 1 :],
        )

    def query(self):
        chance = self.chance
        if self.seldom():
            return bytes([sql_session.QUERY]) + chance.choice(SETTINGS).encode()
        text = chance.choice(FORMS).encode()
        while b"?" in text:
            text = text.replace(
                b"?", chance.choice([b"%d" % chance.randrange(220), b"'b%d'" % chance.randrange(220)]), 1
            )
        if self.seldom():
            at = chance.randrange(len(text))
            odd = chance.choice([b"\0", b"/*", b"'", b"`", b"--\n", b"\xff", b";", b"/*!", b"\\", b'"', b"?"])
            text = text[:at] + odd + text[at:]
        return bytes([sql_session.QUERY]) + text

    def about_statement(self):
        chance = self.chance
        number = struct.pack("<I", self.number())
        return self.some(  # never truncated, see above
            lambda: bytes([sql_session.CLOSE]) + number,
            lambda: bytes([sql_session.RESET_STATEMENT]) + number,
            lambda: bytes([FETCH]) + number + struct.pack("<I", chance.choice([0, 1, 3, 0xFFFFFFFF])),
            lambda: bytes([LONG_DATA]) + number + struct.pack("<H", chance.choice([0, 0, 1, 2, 77])) + self.text(),
        )

    def other(self):
        chance = self.chance
        return self.some(
            lambda: bytes([sql_session.PING]) + self.bytes_of(chance.randrange(3)),
            lambda: bytes([FIELD_LIST]) + b"t\0" + self.bytes_of(chance.randrange(3)),
            lambda: bytes([SET_OPTION]) + struct.pack("<H", chance.choice([1, 1, 1, 7])),
            lambda: bytes([INIT_DB]) + b"nowhere",
            lambda: bytes([chance.choice([code for code in range(256) if code not in NOT_SENT and code < 250])])
            + self.bytes_of(chance.randrange(12)),
        )

    def reset(self):
        return bytes([sql_session.RESET])

    def command(self):
        ways = (
            [self.prepare]
            + 8 * [self.execute]
            + 2 * self.bulks * [self.bulk]
            + 8 * [self.query]
            + 3 * [self.about_statement]
        )
        if self.seldom(6):
            ways = [self.other]
        elif self.seldom(30):
            ways = [self.reset]
        return self.some(*ways)


def until_said(session, end):
    """Everything up to the answer to `end`, or to the end of the connection."""
    heard = b""
    while True:
        at = heard.find(end)
        if at >= 0 and len(heard) >= at + len(end) + (11 if session.deprecate else 9):
            return heard, True
        try:
            part = session.socket.recv(1 << 16)
        except ConnectionResetError:
            part = b""
        except socket.timeout:
            raise AssertionError(f"no end after {heard[-200:]!r}") from None
        if not part:
            return heard, False
        heard += part


def judged(answer):
    """The answer's packets without effects of the optimizer's estimates: plan remarks, and warnings of each examined
    row."""
    packets = without_remarks(answer)
    for packet in packets:
        if packet[:1] == b"\xfe" and len(packet) in (5, 7):
            at = 1 if len(packet) == 5 else 5  # without and with DEPRECATE_EOF
            packet[at : at + 2] = b"\0\0"
        if b"Rows matched: " in packet:
            # A list with values of several types makes the server examine every row.
            status = packet.index(b"Rows matched: ") - 5
            packet[status] &= ~sql_session.REMARKS & 0xFF
    return packets


def shown(packets, commands, *answers):
    """The request, and the first packets that differ."""
    lines = [f"{command!r} {command.hex()}" for command in commands]
    pairs = itertools.zip_longest(*map(judged, answers))
    lines += [repr(pair) for pair in pairs if pair[0] != pair[1]][:3]
    return "\n".join([*lines, str(packets.forms)])


def test_every_byte_is_the_servers(served):
    packets = Packets(seeds.chosen())
    served.execute("SET GLOBAL thread_cache_size = 0")  # a thread's next session continues its statement ids
    for tables in filled(served, TABLES):
        fast = tables.status("Postern%")["postern_statements_fast"]
        stop, rounds = time.monotonic() + SECONDS, 0
        while time.monotonic() < stop:
            rounds += 1
            one_session(tables, packets, rounds)
        assert tables.status("Postern%")["postern_statements_fast"] - fast > rounds
        same_tables(tables, READS)
        tables.assert_alive()


def one_session(tables, packets, rounds):
    capabilities = packets.chance.choice([0, sql_session.DEPRECATE_EOF, BULKS, 1 << 16])
    sessions = [opened(tables, port, "own", database, capabilities) for port, database in SIDES.items()]
    packets.begin(capabilities == BULKS)
    for number in range(12):
        commands = [packets.command() for _ in range(packets.chance.choice([1, 1, 2, 5, 12]))]
        numbers = [0] * len(commands)
        if packets.seldom(60):
            numbers[-1] = packets.chance.randrange(256)
        end = b"end %d of %d" % (number, rounds)
        last = bytes([sql_session.QUERY]) + b"SELECT '%s' AS `end`" % end
        sent = b"".join(map(framed, commands, numbers)) + framed(last)
        answers = []
        for session in sessions:
            try:
                session.socket.sendall(sent)
            except (BrokenPipeError, ConnectionResetError):
                pass
            answers.append(until_said(session, end))
        (door, on), (port, going_on) = answers
        same = judged(alike(door)) == judged(alike(port)) and on == going_on
        assert same, shown(packets, commands, alike(door), alike(port))
        if not on:
            break
        if any(command[0] == sql_session.RESET for command in commands):
            packets.forms = {}
    for session in sessions:
        session.close()
        OPENED.remove(session)
    until(lambda: tables.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'own'") == [(0,)])
