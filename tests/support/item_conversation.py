"""A conversation in memcached's dialects that uses every command for items."""
from support.clients import mc

CONVERSATION = [
    "get a",
    "set a 5 0 1|x",
    "get a",
    "add a 0 0 1|y",
    "add b 0 0 1|1",
    "replace b 0 0 2|10",
    "replace z 0 0 1|1",
    "append a 0 0 2|yz",
    "prepend a 0 0 2|vw",
    "get a",
    "get a b z",
    "incr b 5",
    "decr b 3",
    "incr z 1",
    "incr a 1",
    "touch a 0",
    "gat 0 a",
    "mg a v f",
    "ms a 2|mm",
    "mg a v",
    "mn",
    "md b",
    "get b",
    "set n 0 0 1 noreply|1",
    "get n",
    "delete a",
    "delete a",
    "get a",
    "set c 1 0 3|ccc",
    "cas c 0 0 1 999999|q",
    "get c",
]  # yapf: disable
ENDINGS = (
    b"END",
    b"STORED",
    b"NOT_STORED",
    b"DELETED",
    b"NOT_FOUND",
    b"EXISTS",
    b"TOUCHED",
    b"OK",
    b"MN",
    b"EN",
    b"HD",
    b"NF",
)


def talk(client, command):
    """Sends it; returns all lines of the answer."""
    line, _, value = command.partition("|")
    client.send(line.encode() + b"\r\n" + (value.encode() + b"\r\n" if value else b""))
    lines = []
    while "noreply" not in command:
        lines.append(client.line())
        if lines[-1].split(b" ")[0] in ENDINGS or b"ERROR" in lines[-1] or line[:5] in ("incr ", "decr "):
            break
        if lines[-1].startswith(b"VA "):
            lines.append(client.line())
            break
    return lines


def binary_talk(client, container):
    """Switches to the container; store, read, add, count, delete in the binary dialect; returns the answers without CAS."""
    both = bytes(8)
    client.send(mc.binary(0, b"@@" + container.encode()))
    assert client.binary_answer()[1] == 0
    packets = [
        mc.binary(1, b"p", b"1", both),
        mc.binary(0, b"p"),
        mc.binary(2, b"p", b"2", both),
        mc.binary(3, b"p", b"7", both),
        mc.binary(5, b"p", extras=(5).to_bytes(8, "big") + bytes(12)),
        mc.binary(0xE, b"p", b"3"),
        mc.binary(0, b"p"),
        mc.binary(0x1C, b"p", extras=bytes(4)),
        mc.binary(4, b"p"),
        mc.binary(0, b"p"),
    ]
    client.send(b"".join(packets))
    return [client.binary_answer()[:3] for _ in packets]
