"""Clients of the SQL door and of the server's own port, and a private server with a table for them: for the benchmarks
that compare statements at both ports."""
import contextlib
import hashlib
import os
import shlex
import socket
import struct
import subprocess
import time
from pathlib import Path

from planned import ROWS

ROOT = Path(__file__).resolve().parent.parent
PORTS = {"port": "SQL_PORT", "door": "POSTERN_PORT"}
WORD = b"its password"


def proof_of(scramble):
    once = hashlib.sha1(WORD).digest()
    mixed = hashlib.sha1(scramble + hashlib.sha1(once).digest()).digest()
    return bytes(left ^ right for left, right in zip(once, mixed))


class Client:
    """One connection of the protocol's bytes."""

    def __init__(self, address, user="root"):
        self.received = b""
        self.connect(address)
        self.log_in(user)
        self.end_login()

    def connect(self, address):
        local = address.startswith("/")
        self.socket = socket.socket(socket.AF_UNIX if local else socket.AF_INET)
        if not local:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect(address if local else ("127.0.0.1", int(address)))

    def log_in(self, user):
        greeting = self.packet()
        version_end = greeting.index(0, 5)
        scramble = greeting[version_end + 5 : version_end + 13] + greeting[version_end + 32 : version_end + 44]
        proof = proof_of(scramble) if user != "root" else b""
        self.user = user
        self.identity = user.encode() + b"\0" + bytes([len(proof)]) + proof + b"test\0"
        self.send(struct.pack("<IIB23x", 0x0008A209, 1 << 24, 45) + self.identity + b"mysql_native_password\0", 1)

    def end_login(self):
        answer = self.packet()
        if answer[4] == 0xFE:
            scramble = answer[answer.index(0, 5) + 1 :][:20]
            self.send(proof_of(scramble) if self.user != "root" else b"", answer[3] + 1)
            answer = self.packet()
        if answer[4] != 0:
            raise OSError(f"refused: {answer}")

    def change_user(self):
        self.send(b"\x11" + self.identity + b"\x2d\0mysql_native_password\0")

    def quit(self):
        self.send(b"\1")

    def end_quit(self):
        if self.socket.recv(1):
            raise OSError("not closed")
        self.socket.close()

    def send(self, payload, number=0):
        self.socket.sendall(struct.pack("<I", len(payload) | number << 24) + payload)

    def packet(self):
        while len(self.received) < 4 or len(self.received) < 4 + int.from_bytes(self.received[:3], "little"):
            part = self.socket.recv(1 << 16)
            if not part:
                raise OSError("closed")
            self.received += part
        size = 4 + int.from_bytes(self.received[:3], "little")
        packet, self.received = self.received[:size], self.received[size:]
        return packet

    def ask(self, text):
        self.send(text if isinstance(text, bytes) else b"\3" + text.encode())

    def answer(self):
        """Reads one answer to its end. Without DEPRECATE_EOF a result set has two EOF packets."""
        first = self.packet()
        if first[4] == 0xFF:
            raise OSError(first[13:].decode(errors="replace"))
        ends = 2 if first[4] != 0 else 0
        while ends:
            packet = self.packet()
            ends -= packet[4] == 0xFE and len(packet) < 13

    def query(self, text):
        self.ask(text)
        self.answer()


class Sandbox:
    def __init__(self, folder, options):
        self.folder = folder
        told = self.run(
            "start",
            "--postern-port",
            "0",
            "--",
            "--innodb-flush-log-at-trx-commit=2",
            "--max-connections=1000",
            *options,
        )
        self.env = dict(word.split("=", 1) for word in shlex.split(told))
        fill = Client(self.env["SQL_PORT"])
        fill.query("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40), n INT)")
        fill.query(f"INSERT INTO t SELECT seq, CONCAT('value ', seq), 1 + seq % 97 FROM seq_1_to_{ROWS}")
        fill.query("ANALYZE TABLE t")
        fill.query(f"CREATE USER visitor@localhost IDENTIFIED BY '{WORD.decode()}'")
        fill.query("GRANT ALL ON test.* TO visitor@localhost")
        fill.query(
            "CREATE FUNCTION f(ms INT) RETURNS INT BEGIN DECLARE n INT DEFAULT 0;"
            " WHILE n < ms * 1000 DO SET n = n + 1; END WHILE; RETURN n; END"
        )

    def run(self, what, *words):
        command = [ROOT / "tools/sandbox", what, self.folder, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def end(self):
        self.run("stop")

    def processor_seconds(self):
        return time.clock_gettime(~int(self.env["PID"]) << 3 | 2)


def say_all(clients, texts):
    for text in texts:
        for number, client in enumerate(clients, 1):
            client.ask(text.replace("{client}", str(number)) if isinstance(text, str) else text)
        for client in clients:
            client.answer()
        yield


def raise_niceness(thread):
    os.setpriority(os.PRIO_PROCESS, thread, -20)


def raise_priority(pid, raise_thread=raise_niceness):
    """Of all threads of the process; those that they start have it, too. False: the caller may not."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(ProcessLookupError):
                raise_thread(int(thread))
    except PermissionError:
        return False
    return True
