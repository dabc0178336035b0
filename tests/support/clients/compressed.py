"""The compressed protocol: a socket whose packets travel in compressed frames.

A frame has a command or a part of one: of several in one frame the server itself, on its own port, answers the first
alone.
"""
import struct
import zlib

COMPRESS = 1 << 5  # the capability
HEADER = 7
FRAME_MAX = 0xFFFFFF


class Compressed:
    """In place of a session's socket, once it has logged in."""

    def __init__(self, socket, chance, small=False):
        self.socket = socket
        self.chance = chance
        self.small = small  # frames of a few bytes
        self.raw = b""

    def sendall(self, packets):
        """Sends whole packets, each a command, in one segment."""
        sent, at = b"", 0
        while at < len(packets):
            end = at + 4 + int.from_bytes(packets[at : at + 3], "little")
            step = 3 if self.small else self.chance.choice((FRAME_MAX, 1 + (end - at) // 3))
            for number, begin in enumerate(range(at, end, step)):
                sent += self.frame(packets[begin : min(begin + step, end)], number)
            at = end
        self.socket.sendall(sent)

    def frame(self, data, number):
        packed = zlib.compress(data)
        if len(packed) < len(data) and self.chance.random() < 0.8:
            return (
                struct.pack("<I", len(packed))[:3] + bytes([number & 255]) + struct.pack("<I", len(data))[:3] + packed
            )
        return struct.pack("<I", len(data))[:3] + bytes([number & 255]) + b"\0\0\0" + data

    def recv(self, _):
        """The bytes of one frame."""
        while len(self.raw) < HEADER or len(self.raw) < HEADER + int.from_bytes(self.raw[:3], "little"):
            part = self.socket.recv(1 << 16)
            if not part:
                return b""
            self.raw += part
        size, whole = int.from_bytes(self.raw[:3], "little"), int.from_bytes(self.raw[4:7], "little")
        data, self.raw = self.raw[HEADER : HEADER + size], self.raw[HEADER + size :]
        return data if whole == 0 else zlib.decompress(data)

    def __getattr__(self, name):
        return getattr(self.socket, name)
