"""Traffic of applications at MariaDB's port: recorded by a proxy between them, and replayed command by command."""
import hashlib
import json
import re
import socket
import struct
import threading
from dataclasses import asdict, dataclass

from process import LOOPBACK, Failure

QUIT, INIT_DB, QUERY, FIELD_LIST, STATISTICS, PING = 0x01, 0x02, 0x03, 0x04, 0x09, 0x0E
PREPARE, EXECUTE, LONG_DATA, CLOSE, RESET, SET_OPTION, FETCH = 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x1C
CHANGE_USER, RESET_CONNECTION = 0x11, 0x1F
NAMES = {
    QUIT: "quit", INIT_DB: "init db", STATISTICS: "statistics", PING: "ping", PREPARE: "prepare", LONG_DATA: "long data",
    CLOSE: "close statement", RESET: "reset statement", SET_OPTION: "set option", FETCH: "fetch",
    CHANGE_USER: "change user", RESET_CONNECTION: "reset connection", FIELD_LIST: "field list",
}  # fmt: skip
SILENT = (QUIT, CLOSE, LONG_DATA)
# Capabilities that change the packets of answers, or make them unreadable here. No application needs them.
UNTOLD = 1 << 5 | 1 << 11 | 1 << 24  # COMPRESS, SSL, DEPRECATE_EOF
CONNECT_WITH_DB, PLUGIN_AUTH, CONNECT_ATTRIBUTES, CLIENT_MYSQL = 1 << 3, 1 << 19, 1 << 20, 1
MORE_RESULTS, CURSOR = 0x08, 0x40
CONNECT = "connect"


@dataclass
class Step:
    """One command of a client's: its connection, CONNECT or its bytes after the packet's header, in hexadecimal."""

    connection: int
    command: str
    statement: int = 0  # for a prepare, the statement's id

    def body(self):
        return bytes.fromhex(self.command)


@dataclass
class Login:
    """The login of a client."""

    flags: int
    charset: int
    has_database: bool


class Stream:
    """Packets over a socket."""

    def __init__(self, its_socket):
        self.socket = its_socket
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def packet(self):
        """One packet, header included; None at the end of the stream."""
        while len(self.received) < 4 or len(self.received) < 4 + int.from_bytes(self.received[:3], "little"):
            part = self.socket.recv(1 << 16)
            if not part:
                return None
            self.received += part
        size = 4 + int.from_bytes(self.received[:3], "little")
        packet, self.received = self.received[:size], self.received[size:]
        if size == 4 + 0xFFFFFF:
            raise Failure("a command or an answer of 16 MiB is not recorded")
        return packet

    def answer(self, command):
        """All packets of the answer to a command, as one string."""
        if command in SILENT:
            return b""
        packets = []
        while self._result(command, packets) & MORE_RESULTS:
            pass
        return b"".join(packets)

    def _next(self, packets):
        packet = self.packet()
        if packet is None:
            raise Failure("the server has closed a connection")
        packets.append(packet)
        return packet[4:]

    def _result(self, command, packets):
        """The status flags at the end of a result."""
        first = self._next(packets)
        if command == PREPARE and first[0] == 0:
            columns, parameters = struct.unpack_from("<HH", first, 5)
            for count in (parameters, columns):
                for _ in range(count + 1 if count else 0):
                    self._next(packets)
            return 0
        if command not in (QUERY, EXECUTE, FETCH, FIELD_LIST) or first[0] == 0xFF:
            return 0
        if command in (QUERY, EXECUTE):
            if first[0] == 0:
                return status_of_ok(first)
            if first[0] == 0xFB:
                raise Failure("LOAD DATA LOCAL is not recorded")
            status = self._until_end(packets)
            if status & CURSOR:
                return 0
        elif first[0] == 0xFE and len(first) < 9:
            return 0
        return self._until_end(packets)

    def _until_end(self, packets):
        while True:
            packet = self._next(packets)
            if packet[0] == 0xFF:
                return 0
            if packet[0] == 0xFE and len(packet) < 9:
                return struct.unpack_from("<H", packet, 3)[0]


def status_of_ok(packet):
    at = 1
    for _ in range(2):  # affected rows, the last id
        at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(packet[at], 1)
    return struct.unpack_from("<H", packet, at)[0]


def without_untold(greeting):
    """The greeting without these capabilities."""
    changed = bytearray(greeting)
    at = greeting.index(0, 5) + 1 + 4 + 8 + 1
    low, high = struct.unpack_from("<H", changed, at)[0], struct.unpack_from("<H", changed, at + 5)[0]
    offered = (low | high << 16) & ~UNTOLD
    struct.pack_into("<H", changed, at, offered & 0xFFFF)
    struct.pack_into("<H", changed, at + 5, offered >> 16)
    struct.pack_into("<I", changed, at + 14, 0)  # MariaDB's own
    return bytes(changed)


class Recorder:
    """Listens on `port`, forwards everything to the server's port, and records the clients' commands page by page."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.pages = []
        self.logins = {}
        self.failure = None
        self._prepared = {}  # PREPAREs from before the first page, by connection and id
        self._lock = threading.Lock()
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def begin(self, page):
        with self._lock:
            self.pages.append((page, []))

    def stop(self):
        self._listener.close()
        if self.failure is not None:
            raise self.failure

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({number: asdict(login) for number, login in self.logins.items()}) + "\n")
            for page, steps in self.pages:
                file.write(json.dumps([page, [asdict(step) for step in steps]]) + "\n")

    def _accept(self):
        number = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            threading.Thread(target=self._hand_on, args=(Stream(client), number), daemon=True).start()

    def _note(self, step):
        body = b"" if step.command == CONNECT else step.body()
        with self._lock:
            if not self.pages:
                if body[:1] == bytes([PREPARE]):
                    self._prepared[step.connection, step.statement] = step
                return
            steps = self.pages[-1][1]
            if body and body[0] in (EXECUTE, CLOSE, RESET, LONG_DATA):
                prepared = self._prepared.pop((step.connection, struct.unpack_from("<I", body, 1)[0]), None)
                if prepared is not None:
                    steps.append(prepared)
            steps.append(step)

    def _hand_on(self, client, number):
        try:
            server = Stream(socket.create_connection((LOOPBACK, self.server_port)))
            if self._log_in(client, server, number):
                self._serve(client, server, number)
            server.socket.close()
        except Failure as failed:
            self.failure = failed
        except OSError:
            pass
        client.socket.close()

    def _log_in(self, client, server, number):
        client.socket.sendall(without_untold(server.packet()))
        first = client.packet()
        if first is None:
            return False
        flags, _, charset = struct.unpack_from("<IIB", first, 4)
        self.logins[number] = Login(flags, charset, bool(flags & CONNECT_WITH_DB))
        self._note(Step(number, CONNECT))
        server.socket.sendall(first)
        while (said := server.packet()) is not None:
            client.socket.sendall(said)
            if said[4] in (0, 0xFF):
                return said[4] == 0
            server.socket.sendall(client.packet())
        return False

    def _serve(self, client, server, number):
        while (packet := client.packet()) is not None:
            step = Step(number, packet[4:].hex())
            server.socket.sendall(packet)
            answer = server.answer(packet[4])
            if packet[4] == PREPARE and answer[4] == 0:
                step.statement = struct.unpack_from("<I", answer, 5)[0]
            self._note(step)
            client.socket.sendall(answer)
            if packet[4] == QUIT:
                return


class Player:
    """Replays recorded steps at a port, over one connection for each recorded one, in `database`."""

    def __init__(self, port, database, logins):
        self.port = port
        self.database = database
        self.logins = logins
        self.streams = {}
        self.statements = {}  # by connection and recorded id

    def play(self, step):
        """Replays a command; returns the answer."""
        if step.command == CONNECT:
            self.streams[step.connection] = self._log_in(self.logins[step.connection])
            return b""
        stream = self.streams.get(step.connection)
        if stream is None:  # the connection began before the recording
            stream = self.streams[step.connection] = self._log_in(self.logins[step.connection])
        body = step.body()
        command = body[0]
        if command in (EXECUTE, CLOSE, RESET, LONG_DATA, FETCH):
            recorded = struct.unpack_from("<I", body, 1)[0]
            number = self.statements.get((step.connection, recorded), 0)
            body = body[:1] + struct.pack("<I", number) + body[5:]
        elif command == INIT_DB:
            body = body[:1] + self.database.encode()
        stream.socket.sendall(struct.pack("<I", len(body)) + body)
        if command == QUIT:
            stream.socket.close()
            del self.streams[step.connection]
            return b""
        answer = stream.answer(command)
        if command == PREPARE and answer[4] == 0:
            self.statements[step.connection, step.statement] = struct.unpack_from("<I", answer, 5)[0]
            answer = answer[:5] + bytes(4) + answer[9:]  # the connection id differs: the server reuses THDs
        return answer

    def close(self):
        for stream in self.streams.values():
            stream.socket.close()
        self.streams = {}

    def _log_in(self, login):
        stream = Stream(socket.create_connection((LOOPBACK, self.port)))
        stream.packet()
        flags = login.flags & ~CONNECT_ATTRIBUTES | PLUGIN_AUTH
        body = struct.pack("<IIB23x", flags, 1 << 24, login.charset) + b"root\0\0"
        if login.has_database:
            body += self.database.encode() + b"\0"
        body += b"mysql_native_password\0"
        stream.socket.sendall(struct.pack("<I", len(body))[:3] + b"\1" + body)
        said = stream.packet()
        if said is None or said[4] != 0:
            raise Failure(f"a login at port {self.port} was refused: {said!r}")
        return stream


def read(path):
    """The logins and the pages of a recording."""
    with open(path, encoding="utf-8") as file:
        logins = {int(number): Login(**login) for number, login in json.loads(file.readline()).items()}
        pages = [(page, [Step(**step) for step in steps]) for page, steps in map(json.loads, file)]
    return logins, pages


LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|\b\d+(?:\.\d+)?\b")
COMMENT = re.compile(r"/\*(?!!).*?\*/", re.DOTALL)
LISTED = re.compile(r"\?(?:\s*,\s*\?)+")
COLUMNS = re.compile(r"^(SELECT) .{40,}?( FROM )")


def form_of(text):
    """The text without literals and comments, and without its columns if there are many; lists lose their length."""
    plain = " ".join(LITERAL.sub("?", COMMENT.sub(" ", text)).split())
    return COLUMNS.sub(r"\1 ...\2", LISTED.sub("?, ...", plain))


def class_and_form(step, prepared):
    """A readable name of the command. `prepared`: texts by connection and id; a prepare adds its own."""
    if step.command == CONNECT:
        return CONNECT, CONNECT
    body = step.body()
    if body[0] == PREPARE:
        prepared[step.connection, step.statement] = body[1:].decode(errors="replace")
    if body[0] not in (QUERY, EXECUTE):
        name = NAMES.get(body[0], f"command {body[0]}")
        return name, name
    if body[0] == QUERY:
        text = body[1:].decode(errors="replace")
    else:
        text = prepared.get((step.connection, struct.unpack_from("<I", body, 1)[0]), "?")
    form = form_of(text)
    word = (re.match(r"\W*(\w+)", form) or [None, "?"])[1].upper()
    if word == "SELECT" and not re.search(r"\bFROM\b", form, re.IGNORECASE):
        word = "SELECT of no table"
    how = "prepared " if body[0] == EXECUTE else ""
    return how + word, how + form


def digest(answer):
    """Equal for answers with the same meaning."""
    return hashlib.sha1(answer).hexdigest()[:12]
