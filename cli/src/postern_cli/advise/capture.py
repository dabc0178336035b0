"""Statements out of a capture of the network (`tcpdump -w FILE port 3306`): pcap and pcapng, IPv4 and IPv6, without TLS."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

from postern_cli.advise.statement import first_words
from postern_cli.advise.workload import Observation

PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\xc3\xd4": (">", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
    b"\xa1\xb2\x3c\x4d": (">", 1e-9),
}
PCAPNG = b"\x0a\x0d\x0d\x0a"
# Bytes of the link-layer header before the address family or the IP packet.
ETHERNET, RAW, LINUX_SLL, LOOPBACK, LINUX_SLL2 = 1, 101, 113, 0, 276
BUFFER_MAX = 1 << 20
COM_QUIT, COM_INIT_DB, COM_QUERY, COM_PREPARE, COM_EXECUTE, COM_CLOSE, COM_RESET = 1, 2, 3, 0x16, 0x17, 0x19, 0x1F
IN_TRANSACTION, AUTOCOMMIT = 1, 2
LAST_PREPARED = 0xFFFFFFFF


def is_capture(head: bytes) -> bool:
    return head[:4] in PCAP or head[:4] == PCAPNG


class Whole:
    """A stream that first returns the bytes already read from it."""

    def __init__(self, stream: BinaryIO, head: bytes) -> None:
        self._stream, self._head = stream, head

    def read(self, size: int) -> bytes:
        taken, self._head = self._head[:size], self._head[size:]
        return taken + self._stream.read(size - len(taken)) if len(taken) < size else taken


def packets(stream: Any) -> Iterator[Tuple[float, int, bytes]]:
    """Time, link type and bytes of each packet. A truncated last packet ends the iteration."""
    magic = stream.read(4)
    if magic == PCAPNG:
        yield from packets_ng(stream, magic)
        return
    order, unit = PCAP[magic]
    header = stream.read(20)
    if len(header) < 20:
        return
    link = struct.unpack(order + "I", header[16:20])[0] & 0xFFFF
    while True:
        head = stream.read(16)
        if len(head) < 16:
            return
        seconds, parts, length, _ = struct.unpack(order + "IIII", head)
        if length > BUFFER_MAX:
            return
        yield seconds + parts * unit, link, stream.read(length)


def packets_ng(stream: Any, magic: bytes) -> Iterator[Tuple[float, int, bytes]]:
    order, links = "<", []
    kind_bytes = magic
    while len(kind_bytes) == 4:
        length_bytes = stream.read(4)
        if kind_bytes == PCAPNG:
            mark = stream.read(4)
            order = "<" if mark == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        if len(length_bytes) < 4:
            return
        [kind], [length] = struct.unpack(order + "I", kind_bytes), struct.unpack(order + "I", length_bytes)
        if not 12 <= length <= BUFFER_MAX * 16:
            return
        body = stream.read(length - 8 - (4 if kind_bytes == PCAPNG else 0))
        if kind == 1 and len(body) >= 2:
            links.append(struct.unpack(order + "H", body[:2])[0])
        elif kind == 6 and len(body) >= 20:
            which, high, low, size, _ = struct.unpack(order + "IIIII", body[:20])
            if which < len(links):
                yield ((high << 32) + low) * 1e-6, links[which], body[20 : 20 + size]
        kind_bytes = stream.read(4)


def tcp(link: int, packet: bytes) -> Optional[Tuple[bytes, bytes, int, int, int, int, bytes]]:
    """Addresses, ports, sequence number, flags and payload of a TCP packet."""
    at = {ETHERNET: 14, RAW: 0, LINUX_SLL: 16, LOOPBACK: 4, LINUX_SLL2: 20}.get(link)
    if at is None or len(packet) < at + 20:
        return None
    if link == ETHERNET and packet[12:14] == b"\x81\x00":
        at += 4
    version = packet[at] >> 4
    if version == 4 and packet[at + 9] == 6:
        total = struct.unpack(">H", packet[at + 2 : at + 4])[0]
        begin = at + (packet[at] & 15) * 4
        source, target = packet[at + 12 : at + 16], packet[at + 16 : at + 20]
        end = at + total if total else len(packet)
    elif version == 6 and len(packet) >= at + 40 and packet[at + 6] == 6:
        begin, end = at + 40, at + 40 + struct.unpack(">H", packet[at + 4 : at + 6])[0]
        source, target = packet[at + 8 : at + 24], packet[at + 24 : at + 40]
    else:
        return None
    if len(packet) < begin + 20:
        return None
    from_port, to_port, sequence = struct.unpack(">HHI", packet[begin : begin + 8])
    data = begin + (packet[begin + 12] >> 4) * 4
    return source, target, from_port, to_port, sequence, packet[begin + 13], packet[data:end]


@dataclass
class Stream:
    """One direction of a connection, in order."""

    next: Optional[int] = None
    waiting: Dict[int, bytes] = field(default_factory=dict)
    buffer: bytes = b""

    def add(self, sequence: int, payload: bytes) -> None:
        if self.next is None:
            self.next = sequence
        if (sequence - self.next) & 0x80000000:
            return  # a retransmission
        self.waiting[sequence] = payload
        if len(self.waiting) > 64:
            # The capture lacks bytes: resume at the next message that begins a packet.
            self.next, self.buffer = min(self.waiting), b""
        while self.next in self.waiting:
            payload = self.waiting.pop(self.next)
            self.next = (self.next + len(payload)) & 0xFFFFFFFF
            self.buffer = (self.buffer + payload)[-BUFFER_MAX:]

    def messages(self) -> Iterator[Tuple[int, bytes]]:
        """Sequence number and body of each complete message of the protocol."""
        while len(self.buffer) >= 4:
            length = int.from_bytes(self.buffer[:3], "little")
            if len(self.buffer) < 4 + length:
                if length > BUFFER_MAX - 4:
                    self.buffer = b""
                return
            number, body = self.buffer[3], self.buffer[4 : 4 + length]
            self.buffer = self.buffer[4 + length :]
            yield number, body


class Dialogue:
    """The connection of a client and the server."""

    def __init__(self) -> None:
        self.client, self.server = Stream(), Stream()
        self._database = ""
        self._prepared: Dict[int, str] = {}
        self._preparing: List[str] = []
        self._asked: Optional[Observation] = None
        self._since = 0.0
        self._inside = False
        self._manual = False
        self.secret = False  # TLS: unreadable

    def from_client(self, time: float, payload: bytes, sequence: int) -> Iterator[Observation]:
        self.client.add(sequence, payload)
        for number, body in self.client.messages():
            if number == 1 and len(body) == 32 and int.from_bytes(body[:4], "little") & 0x800:
                self.secret = True
            if number != 0 or not body or self.secret:
                continue
            yield from self.finish()
            command, argument = body[0], body[1:]
            if command == COM_INIT_DB:
                self._database = argument.decode("utf-8", "replace")
            elif command == COM_QUERY:
                self._ask(time, argument.decode("utf-8", "replace"), False)
            elif command == COM_PREPARE:
                self._preparing.append(argument.decode("utf-8", "replace"))
            elif command == COM_EXECUTE and len(argument) >= 4:
                identity = int.from_bytes(argument[:4], "little")
                text = (
                    self._preparing[-1]
                    if identity == LAST_PREPARED and self._preparing
                    else self._prepared.get(identity)
                )
                if text:
                    self._ask(time, text, True)

    def _ask(self, time: float, text: str, prepared: bool) -> None:
        words = first_words(text, 4)
        if words[:1] == ["USE"] and len(words) > 1:
            self._database = text.split()[1].strip("`;")
        self._asked = Observation(text, self._database, in_transaction=self._inside or self._manual, prepared=prepared)
        self._since = time

    def from_server(self, time: float, payload: bytes, sequence: int) -> None:
        self.server.add(sequence, payload)
        for number, body in self.server.messages():
            if number != 1 or not body:
                if body[:1] == b"\xfe" and len(body) == 5:
                    self._state(int.from_bytes(body[3:5], "little"))
                continue
            if self._preparing and body[0] == 0 and len(body) >= 12 and self._asked is None:
                self._prepared[int.from_bytes(body[1:5], "little")] = self._preparing.pop(0)
            elif body[0] == 0 and len(body) >= 7 and body[1] < 0xFB and body[2] < 0xFB:
                self._state(int.from_bytes(body[3:5], "little"))
            if self._asked is not None and self._asked.seconds is None:
                self._asked.seconds = max(time - self._since, 0.0)

    def _state(self, flags: int) -> None:
        self._inside, self._manual = bool(flags & IN_TRANSACTION), not flags & AUTOCOMMIT

    def finish(self) -> Iterator[Observation]:
        if self._asked is not None:
            yield self._asked
        self._asked = None


def read(stream: BinaryIO, head: bytes, port: int, notes: List[str]) -> Iterator[Observation]:
    """Each statement, with the time until the first message of its answer."""
    dialogues: Dict[Tuple[bytes, int], Dialogue] = {}
    secret = 0
    for time, link, packet in packets(Whole(stream, head)):
        told = tcp(link, packet)
        if told is None:
            continue
        source, target, from_port, to_port, sequence, _, payload = told
        if to_port == port:
            place, to_server = (source, from_port), True
        elif from_port == port:
            place, to_server = (target, to_port), False
        else:
            continue
        dialogue = dialogues.setdefault(place, Dialogue())
        if not payload:
            continue
        if to_server:
            was = dialogue.secret
            yield from dialogue.from_client(time, payload, sequence)
            secret += dialogue.secret and not was
        else:
            dialogue.from_server(time, payload, sequence)
    for dialogue in dialogues.values():
        yield from dialogue.finish()
    if secret:
        notes.append(f"{secret} connections of the capture speak TLS: what they asked cannot be read")
    if not dialogues:
        notes.append(f"nobody speaks to port {port} in the capture: --sql-port names another")
