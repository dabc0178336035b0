"""Clients of the SQL door that begin TLS do not wait for anything between their request for it and the handshake."""
import socket
import ssl
import struct

import pytest
from support.certificates import Certificates, client_context

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
# CLIENT_LONG_PASSWORD, PROTOCOL_41, SSL, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
CAPABILITIES = 0x1 | 0x200 | 0x800 | 0x2000 | 0x8000 | 0x80000
HEAD = struct.pack("<IIB23x", CAPABILITIES, 1 << 24, 45)
REQUEST = b"\x20\0\0\1" + HEAD
ANSWER = HEAD + b"root\0\0mysql_native_password\0"
SELECT = b"\x09\0\0\0\x03SELECT 1"
PARTS = ((1 << 20,), (4, 1 << 20), (35, 1 << 20), (36, 1 << 20), (37, 1 << 20), (100, 1 << 20))


class Client:
    def __init__(self, port, version):
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.coming, self.going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = client_context(minimum_version=version, maximum_version=version).wrap_bio(self.coming, self.going)
        head = self.socket.recv(4, socket.MSG_WAITALL)
        self.socket.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)

    def step(self, action, *arguments):
        """Does something that may need more bytes of the server."""
        while True:
            try:
                return action(*arguments)
            except ssl.SSLWantReadError:
                self.socket.sendall(self.going.read())
                part = self.socket.recv(1 << 16)
                assert part, "the server has closed the connection"
                assert self.coming.pending or part[0] in range(20, 24) or self.tls.version(), part
                self.coming.write(part)

    def shake_hands(self, parts):
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        first = REQUEST + self.going.read()
        for size in parts:
            self.socket.sendall(first[:size])
            first = first[size:]
        self.step(self.tls.do_handshake)

    def ask(self, packet):
        self.tls.write(packet)
        self.socket.sendall(self.going.read())
        return self.step(self.tls.read, 1 << 16)


@pytest.fixture(scope="module")
def server(module_factory, tmp_path_factory):
    return module_factory(*Certificates(tmp_path_factory.mktemp("tls")).options(), postern_port=0)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_handshake_follows_its_request_at_once(server, version):
    for parts in PARTS * 3:
        client = Client(server.env["POSTERN_PORT"], version)
        client.shake_hands(parts)
        answer = client.ask(len(ANSWER).to_bytes(3, "little") + b"\2" + ANSWER)
        if answer[4] == 0xFE:  # it asks for another proof
            answer = client.ask(b"\0\0\0" + bytes([answer[3] + 1]))
        assert answer[4] == 0, answer
        assert b"\x011" in client.ask(SELECT)
        client.socket.close()
