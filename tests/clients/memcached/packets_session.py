"""Sends bare packets of the binary protocol: `python3 packets_session.py PORT`.

Prints every answer field by field, its CAS as 0 or *. Each group of packets has its own connection, and ends with a
no-op if the server should keep it open.
"""
import socket
import struct
import sys

HEADER = struct.Struct(">BBHBBHIIQ")
STORED = struct.pack(">II", 7, 0)
COUNTED = struct.pack(">QQI", 3, 5, 0)
COUNTED_IF_THERE = struct.pack(">QQI", 3, 5, 0xFFFFFFFF)
SOON = struct.pack(">I", 100)
(
    GET,
    SET,
    ADD,
    REPLACE,
    DELETE,
    INCR,
    DECR,
    QUIT,
    FLUSH,
    GETQ,
    NOOP,
    VERSION,
    GETK,
    GETKQ,
    APPEND,
    PREPEND,
    STAT,
) = range(0x11)
SETQ, ADDQ, REPLACEQ, DELETEQ, INCRQ, DECRQ, QUITQ, FLUSHQ, APPENDQ, PREPENDQ = range(0x11, 0x1B)
TOUCH, GAT, GATQ, GATK, GATKQ, UNKNOWN = 0x1C, 0x1D, 0x1E, 0x23, 0x24, 0x60


def packet(opcode, key=b"", extras=b"", value=b"", cas=0, magic=0x80, **wrong):
    body = len(key) + len(extras) + len(value)
    return (
        HEADER.pack(magic, opcode, len(key), len(extras), 0, 0, wrong.get("body_bytes", body), 0x01020304, cas)
        + extras
        + key
        + value
    )


def receive(connection, size):
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise EOFError
        received += part
    return received


def ask(name, *packets, goes_on=True):
    print(f"{name}:")
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30) as connection:
        connection.sendall(b"".join(packets) + (packet(NOOP) if goes_on else b""))
        try:
            while True:
                magic, opcode, key, extras, _, status, body, opaque, cas = HEADER.unpack(
                    receive(connection, HEADER.size)
                )
                assert magic == 0x81 and opaque == 0x01020304
                if opcode == NOOP and status == 0:
                    return
                print(
                    f"  {opcode:02x} status {status:02x} extras {extras} key {key} {receive(connection, body)!r} cas {'*' if cas else 0}"
                )
        except (EOFError, ConnectionResetError):
            print("  closed")


ask("an empty store", packet(FLUSH), packet(GET, b"a"), packet(GETK, b"a"), packet(GETQ, b"a"), packet(GETKQ, b"a"))
ask(
    "set and get",
    packet(SET, b"a", STORED, b"v"),
    packet(GET, b"a"),
    packet(GETK, b"a"),
    packet(GETQ, b"a"),
    packet(GETKQ, b"a"),
)
ask(
    "quiet stores",
    packet(SETQ, b"a", STORED, b"w"),
    packet(ADDQ, b"a", STORED, b"x"),
    packet(REPLACEQ, b"nobody", STORED, b"x"),
    packet(ADDQ, b"b", STORED, b"y"),
    packet(REPLACEQ, b"b", STORED, b"z"),
    packet(GET, b"a"),
    packet(GET, b"b"),
)
ask(
    "loud stores",
    packet(ADD, b"a", STORED, b"x"),
    packet(REPLACE, b"nobody", STORED, b"x"),
    packet(REPLACE, b"a", STORED, b"v"),
)
ask(
    "a wrong cas",
    packet(SET, b"a", STORED, b"x", 1),
    packet(SET, b"nobody", STORED, b"x", 1),
    packet(ADD, b"nobody", STORED, b"x", 1),
    packet(REPLACE, b"nobody", STORED, b"x", 1),
    packet(ADD, b"a", STORED, b"x", 1),
    packet(DELETE, b"a", cas=1),
    packet(GET, b"a"),
)
ask(
    "append and prepend",
    packet(APPEND, b"nobody", value=b"x"),
    packet(APPEND, b"nobody", value=b"x", cas=5),
    packet(APPENDQ, b"nobody", value=b"x"),
    packet(APPEND, b"a", value=b"x", cas=1),
    packet(APPEND, b"a", value=b">"),
    packet(PREPENDQ, b"a", value=b"<"),
    packet(GET, b"a"),
)
ask(
    "delete",
    packet(DELETE, b"nobody"),
    packet(DELETEQ, b"nobody"),
    packet(DELETEQ, b"a"),
    packet(DELETE, b"b"),
    packet(GET, b"a"),
)
ask(
    "numbers",
    packet(INCR, b"n", COUNTED_IF_THERE),
    packet(INCR, b"n", COUNTED),
    packet(INCR, b"n", COUNTED),
    packet(INCR, b"n", COUNTED, cas=1),
    packet(INCRQ, b"n", COUNTED),
    packet(DECRQ, b"n", COUNTED),
    packet(DECR, b"n", COUNTED),
    packet(INCRQ, b"nobody", COUNTED_IF_THERE),
    packet(DECR, b"n", struct.pack(">QQI", 100, 5, 0)),
    packet(SET, b"t", STORED, b"text"),
    packet(INCR, b"t", COUNTED),
    packet(DECRQ, b"t", COUNTED),
)
ask(
    "touch",
    packet(TOUCH, b"nobody", SOON),
    packet(TOUCH, b"t", SOON),
    packet(GAT, b"t", SOON),
    packet(GAT, b"nobody", SOON),
    packet(GATQ, b"nobody", SOON),
    packet(GATQ, b"t", SOON),
    packet(GATK, b"t", SOON),
    packet(GATK, b"nobody", SOON),
    packet(GATKQ, b"nobody", SOON),
    packet(GATKQ, b"t", SOON),
)
ask("an empty value", packet(SET, b"e", STORED), packet(GET, b"e"), packet(GETK, b"e"))
ask(
    "any bytes in a key",
    packet(SET, b"\0 \r\n\xff", STORED, b"v"),
    packet(GETK, b"\0 \r\n\xff"),
    packet(DELETE, b"\0 \r\n\xff"),
)
ask(
    "flush quietly",
    packet(FLUSHQ, extras=struct.pack(">I", 0)),
    packet(GET, b"e"),
    packet(FLUSH, extras=struct.pack(">I", 0)),
)
ask("unknown statistics", packet(STAT, b"nonsense"), packet(STAT, b"reset"))
ask("quit", packet(QUIT), goes_on=False)
ask("quit quietly", packet(QUITQ), goes_on=False)
ask("an unknown command", packet(UNKNOWN), packet(UNKNOWN, value=b"1234"))
ask("another magic", packet(SETQ, b"a", STORED, b"v"), packet(GET, b"a", magic=0x81), goes_on=False)
ask("extras where there are none", packet(GET, b"a", b"1234"), goes_on=False)
ask("other extras", packet(SET, b"a", b"1234", b"v"), goes_on=False)
ask("no extras", packet(TOUCH, b"a"), goes_on=False)
ask("no key", packet(GET), goes_on=False)
ask("a key longer than its packet", packet(GET, b"k" * 10, body_bytes=1), goes_on=False)
ask("a key too long", packet(GET, b"k" * 251), goes_on=False)
ask("the longest key", packet(GET, b"k" * 250))
for opcode in (NOOP, VERSION, QUIT, FLUSH):
    ask("a key where there is none", packet(opcode, b"a"), goes_on=False)
