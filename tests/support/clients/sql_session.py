"""Sessions of the MySQL protocol as bytes: with any capabilities, and every answer unchanged."""
import decimal
import socket
import struct

CONNECT_WITH_DB, PROTOCOL_41, PLUGIN_AUTH, SECURE = 1 << 3, 1 << 9, 1 << 19, 1 << 15
TRANSACTIONS, LONG_PASSWORD, FOUND_ROWS = 1 << 13, 1, 2
SESSION_TRACK, DEPRECATE_EOF = 1 << 23, 1 << 24
CACHE_METADATA, EXTENDED_METADATA = 1 << 36, 1 << 35
BASE = CONNECT_WITH_DB | PROTOCOL_41 | PLUGIN_AUTH | SECURE | TRANSACTIONS
QUERY, PING, PREPARE, EXECUTE, CLOSE, RESET_STATEMENT, RESET = 0x03, 0x0E, 0x16, 0x17, 0x19, 0x1A, 0x1F
TYPES = {int: b"\x08\0", float: b"\x05\0", decimal.Decimal: b"\xf6\0"}  # other types are sent as texts


class Session:
    """A session of an account without a password."""

    def __init__(self, port, user, database, capabilities=0, collation=45):
        self.capabilities = BASE | capabilities
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.prepared = {}
        self.packet()
        extended = self.capabilities >> 32
        flags = self.capabilities & 0xFFFFFFFF | (0 if extended else LONG_PASSWORD)
        login = struct.pack("<IIB19xI", flags, 1 << 24, collation, extended)
        login += user.encode() + b"\0\0" + database.encode() + b"\0mysql_native_password\0"
        self.put(login, 1)
        answer = self.packet()
        if answer[4] == 0xFE:
            self.put(b"", answer[3] + 1)
            answer = self.packet()
        assert answer[4] == 0, answer

    def put(self, payload, number=0):
        self.socket.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)

    def packet(self):
        while len(self.received) < 4 or len(self.received) < 4 + int.from_bytes(self.received[:3], "little"):
            part = self.socket.recv(1 << 16)
            if not part:
                raise EOFError(self.received)
            self.received += part
        size = 4 + int.from_bytes(self.received[:3], "little")
        packet, self.received = self.received[:size], self.received[size:]
        return packet

    def answer(self):
        """All packets of the answer to one command."""
        answer = packet = self.packet()
        if packet[4] in (0x00, 0xFF):
            return answer
        columns, at = (packet[4], 5) if packet[4] < 0xFB else (int.from_bytes(packet[5:7], "little"), 7)
        told = not self.capabilities & CACHE_METADATA or packet[at] == 1
        for _ in range((columns if told else 0) + (not self.capabilities & DEPRECATE_EOF)):
            answer += self.packet()
        while True:
            packet = self.packet()
            answer += packet
            if packet[4] == 0xFF or (packet[4] == 0xFE and len(packet) < (0xFFFFFF if self.deprecate else 13)):
                return answer

    @property
    def deprecate(self):
        return self.capabilities & DEPRECATE_EOF

    def command(self, code, payload=b""):
        self.put(bytes([code]) + payload)
        return self.answer()

    def query(self, text):
        return self.command(QUERY, text if isinstance(text, bytes) else text.encode())

    def prepare(self, text):
        """The statement's id, and the answers."""
        self.put(bytes([PREPARE]) + text.encode())
        answer = self.packet()
        if answer[4] != 0:
            return None, answer
        number, columns, parameters = struct.unpack("<IHH", answer[5:13])
        for count in (parameters, columns):
            for _ in range(count + (0 if self.deprecate else 1) if count else 0):
                answer += self.packet()
        return number, answer

    def execute(self, text, values):
        """Executes a text, which it prepares the first time."""
        known = self.prepared.get(text)
        if known is None:
            number, answer = self.prepare(text)
            if number is None:
                return answer
            known = self.prepared[text] = [number, None]
        types = b"".join(type_of(value) for value in values)
        body = struct.pack("<IBI", known[0], 0, 1)
        if values:
            tells = types != known[1]
            nulls = sum(1 << at for at, value in enumerate(values) if value is None)
            body += nulls.to_bytes((len(values) + 7) // 8, "little") + bytes([tells]) + (types if tells else b"")
            known[1] = types
        for value in values:
            if value is None:
                continue
            if isinstance(value, float):
                body += struct.pack("<d", value)
                continue
            text = value if isinstance(value, bytes) else str(value).encode()
            body += struct.pack("<Q", value % 2**64) if isinstance(value, int) else bytes([len(text)]) + text
        return self.command(EXECUTE, body)

    def forget(self, text):
        """Closes the statement that execute() prepared for this text."""
        known = self.prepared.pop(text, None)
        if known is not None:
            self.put(bytes([CLOSE]) + struct.pack("<I", known[0]))

    def close(self):
        self.socket.close()


class Natural(int):
    """A number bound as unsigned, as are all above the signed maximum."""


def type_of(value):
    """A parameter's type."""
    if isinstance(value, int) and (value >= 2**63 or isinstance(value, Natural)):
        return b"\x08\x80"
    return TYPES.get(type(value), b"\xfd\0")


REMARKS = 0x30  # SERVER_QUERY_NO_GOOD_INDEX_USED, SERVER_QUERY_NO_INDEX_USED
WAS_SLOW = 0x08  # in the status's second byte: SERVER_QUERY_WAS_SLOW, which the machine decides


def without_remarks(answer):
    """The packets of an answer without the server's remarks on its plan, which it chooses anew each time."""
    packets = []
    at = 0
    while at < len(answer):
        end = at + 4 + int.from_bytes(answer[at : at + 3], "little")
        packet = bytearray(answer[at + 4 : end])
        if packet[:1] == b"\xfe" and len(packet) >= 5:
            packet[3] &= ~REMARKS & 0xFF  # the status's, in both forms of the packet
            packet[4] &= ~WAS_SLOW & 0xFF
        packets.append(packet)
        at = end
    return packets


class Literal(str):
    """Appears in a text unchanged; when bound, it is a text."""


def literal_of(text, chance):
    """The text as a literal, in which characters are escaped or not, at random."""
    quote = chance.choice(("'", '"'))
    written = []
    for one in text:
        if one == quote:
            written.append(chance.choice((one + one, "\\" + one)))
        elif one == "\0":
            written.append("\\0")
        elif one == "\\" or chance.random() < 0.1:
            written.append("\\" + one)
        else:
            written.append({"\n": "\\n", "\r": "\\r", "\x1a": "\\Z"}.get(one, one))
    return Literal(quote + "".join(written) + quote)


def in_text(text, values):
    """The statement with its values in it."""
    parts = text.split("?")
    assert len(parts) == len(values) + 1, text
    quoted = [
        "NULL"
        if value is None
        else str(value)
        if isinstance(value, (int, float, decimal.Decimal, Literal))
        else f"'{value}'"
        for value in values
    ]
    return "".join(part + value for part, value in zip(parts, [*quoted, ""]))
