"""Connections to the SQL door, and to the server's own port, as drivers make them and as bytes."""
import struct

import pymysql

QUERY, PING, STATISTICS, CHANGE_USER = 0x03, 0x0E, 0x09, 0x11
PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET, FETCH = 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1C
RESET_CONNECTION = 0x1F


def connect(port, user="root", **options):
    """A connection over TCP, in autocommit."""
    settings = {"charset": "utf8mb4", "autocommit": True, "read_timeout": 60, "write_timeout": 60, **options}
    return pymysql.connect(host="127.0.0.1", port=int(port), user=user, **settings)


def door(server, **options):
    """A connection to the SQL door of a sandbox."""
    return connect(server.env["POSTERN_PORT"], **options)


def rows(connection, statement, arguments=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return list(cursor.fetchall())


def execution(statement, *values, types=True):
    """The body of a COM_STMT_EXECUTE with integers and texts."""
    body = struct.pack("<IBI", statement, 0, 1)
    if not values:
        return body
    body += bytes((len(values) + 7) // 8) + bytes([types])
    if types:
        body += b"".join(b"\x08\0" if isinstance(value, int) else b"\xfd\0" for value in values)
    for value in values:
        body += struct.pack("<q", value) if isinstance(value, int) else bytes([len(value)]) + value
    return body


class Wire:
    """A connection by packets: commands and answers."""

    def __init__(self, connection):
        self.connection = connection

    def send(self, command, body=b""):
        self.connection._next_seq_id = 0
        self.connection._sock.sendall(struct.pack("<I", len(body) + 1)[:3] + b"\0" + bytes([command]) + body)

    def packet(self):
        """One packet's bytes, header included."""
        head = self._exactly(4)
        return head + self._exactly(int.from_bytes(head[:3], "little"))

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.connection._sock.recv(count - len(data))
            if not part:
                raise EOFError(data)
            data += part
        return data

    def result(self):
        """All packets of one result set, or the one packet of an answer without rows."""
        packets = [self.packet()]
        if packets[0][4] in (0x00, 0xFF):
            return packets
        ends = 0
        while ends < 2:
            packets.append(self.packet())
            if packets[-1][4] == 0xFF:
                return packets
            ends += packets[-1][4] == 0xFE and len(packets[-1]) < 13
        return packets

    def prepare(self, text):
        """Prepares a text; returns the statement's id."""
        self.send(PREPARE, text.encode())
        first = self.packet()
        assert first[4] == 0, first
        number, columns, parameters = struct.unpack("<IHH", first[5:13])
        for count in (parameters, columns):
            for _ in range(count + 1 if count else 0):
                self.packet()
        return number

    def execute(self, *arguments, **options):
        self.send(EXECUTE, execution(*arguments, **options))
        return self.result()
