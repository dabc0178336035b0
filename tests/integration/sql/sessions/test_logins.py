"""Logins and their refusals: at the SQL door as at the server's own port, byte for byte, and counted alike."""
import contextlib
import hashlib
import os
import re
import socket
import struct
import threading
import time

import pytest
from support.clients.sql_wire import connect, door, rows
from support.waiting import until

PORTS = ("SQL_PORT", "POSTERN_PORT")
# CLIENT_LONG_PASSWORD, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH and so on.
LONG_PASSWORD, FOUND_ROWS, CONNECT_WITH_DB, IGNORE_SPACE = 0x1, 0x2, 0x8, 0x100
PROTOCOL_41, INTERACTIVE, SSL, TRANSACTIONS, SECURE = 0x200, 0x400, 0x800, 0x2000, 0x8000
PLUGIN_AUTH, EXPIRED, SESSION_TRACK, DEPRECATE_EOF = 0x80000, 0x400000, 0x800000, 0x1000000
USUAL = LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE | PLUGIN_AUTH
COUNTERS = (
    "Aborted_connects", "Aborted_connects_preauth", "Access_denied_errors", "Connection_errors_internal",
    "Connection_errors_max_connections",
)  # fmt: skip
ACCOUNTS = (
    "CREATE USER plain@'%' IDENTIFIED BY 'right', nobody@'%' IDENTIFIED BY ''",
    "CREATE USER locked@'%' IDENTIFIED BY 'right' ACCOUNT LOCK",
    "CREATE USER expired@'%' IDENTIFIED BY 'right' PASSWORD EXPIRE",
    "CREATE USER two@'%' IDENTIFIED BY 'right' WITH MAX_USER_CONNECTIONS 2",
    "CREATE USER either@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('right') OR unix_socket",
    "CREATE USER modern@'%' IDENTIFIED VIA ed25519 USING PASSWORD('right')",
    "CREATE USER roled@'%' IDENTIFIED BY 'right'",
    "CREATE ROLE reader",
    "GRANT SELECT ON test.* TO reader",
    "GRANT reader TO roled@'%'",
    "SET DEFAULT ROLE reader FOR roled@'%'",
    "GRANT ALL ON *.* TO plain@'%'",
    "CREATE USER away@'10.1.2.3' IDENTIFIED BY 'right'",
)


def proof(password, scramble):
    if not password:
        return b""
    once = hashlib.sha1(password.encode()).digest()
    mask = hashlib.sha1(scramble + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, mask))


class Client:
    """A client's side of a login, in bytes."""

    def __init__(self, server, port, local=False):
        if local:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(server.env[port.replace("PORT", "SOCKET")])
        else:
            self.socket = socket.create_connection(("127.0.0.1", int(server.env[port])))
        self.socket.settimeout(30)
        self.greeting = self.packet()
        self.number = self.scramble = None
        if self.greeting[4] == 10:
            end = self.greeting.index(0, 5) + 1
            self.number = struct.unpack_from("<I", self.greeting, end)[0]
            self.scramble = self.greeting[end + 4 : end + 12] + self.greeting[end + 31 : end + 43]
            self.normal_greeting = (
                self.greeting[:end]
                + bytes(12)
                + self.greeting[end + 12 : end + 31]
                + bytes(12)
                + self.greeting[end + 43 :]
            )

    def packet(self):
        head = self.exactly(4)
        return head + self.exactly(int.from_bytes(head[:3], "little"))

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError(data)
            data += part
        return data

    def answer(self, user, password, database=None, flags=USUAL, plugin=b"mysql_native_password", its_proof=None):
        """The packet with which a client answers the greeting."""
        flags |= CONNECT_WITH_DB if database else 0
        hidden = proof(password, self.scramble) if its_proof is None else its_proof
        body = struct.pack("<IIB23x", flags, 1 << 24, 45) + user.encode() + b"\0" + bytes([len(hidden)]) + hidden
        if database:
            body += database.encode() + b"\0"
        if flags & PLUGIN_AUTH and plugin is not None:
            body += plugin + b"\0"
        return struct.pack("<I", len(body))[:3] + b"\1" + body

    def rest(self):
        """Everything that the server sends until it closes."""
        said = b""
        try:
            while part := self.socket.recv(65536):
                said += part
        except ConnectionResetError:
            pass  # with unread bytes, or by a timeout, the server's own port ends so
        return said

    def close(self):
        self.socket.close()


@pytest.fixture(scope="module")
def server(module_factory):
    started = module_factory(
        "--loose-postern-threads=1", "--connect-timeout=5", "--plugin-load-add=auth_ed25519", postern_port=0
    )
    started.execute(*ACCOUNTS)
    return started


def counted(server):
    status = server.status()
    return {name: status[name.lower()] for name in COUNTERS}


def gained(server, does):
    """Runs a login and returns its result, and the counters that it raised by the end of its connection. Waits for
    earlier connections first."""
    until(lambda: connected(server) == 1, 10)
    before = counted(server)
    said = does()
    until(lambda: connected(server) == 1, 10)
    after = counted(server)
    return said, {name: after[name] - before[name] for name in COUNTERS}


def connected(server):
    """The number of the server's connections, including this one."""
    return server.status("Threads_connected")["threads_connected"]


def verdict(server, port, *arguments, local=False, **options):
    """The server's verdict, and its answer to a query after it."""
    client = Client(server, port, local)
    client.socket.sendall(client.answer(*arguments, **options))
    told = client.packet()
    if told[4] == 0:
        text = b"SELECT CURRENT_USER(), USER(), DATABASE(), CURRENT_ROLE(), @@sql_mode, @@wait_timeout"
        client.socket.sendall(struct.pack("<I", len(text) + 1) + b"\3" + text + b"\1\0\0\0\1")
        told += client.rest()
    client.close()
    # Later series prove the server's identity by a hash over the password and the greeting.
    return re.sub(rb"A\x01[0-9A-F]{64}", b"", told)


TRIES = [
    (("plain", "right"), {}),
    (("plain", "wrong"), {}),
    (("plain", ""), {}),
    (("plain", "right", "test"), {}),
    (("plain", "right", "nowhere"), {}),
    (("nobody", ""), {}),
    (("nobody", "x"), {}),
    (("nobody", "", "mysql"), {}),
    (("stranger", "right"), {}),
    (("away", "right"), {}),
    (("locked", "right"), {}),
    (("locked", "wrong"), {}),
    (("expired", "right"), {}),
    (("expired", "right"), {"flags": USUAL | EXPIRED}),
    (("either", "right"), {}),
    (("either", "wrong"), {}),
    (("roled", "right", "test"), {}),
    (("plain", "right"), {"flags": USUAL | IGNORE_SPACE | INTERACTIVE | FOUND_ROWS}),
    (("plain", "right"), {"flags": USUAL | SESSION_TRACK | DEPRECATE_EOF}),
    (("plain", "right"), {"flags": USUAL & ~PLUGIN_AUTH}),
    (("plain", "right"), {"its_proof": b"short"}),
    (("plain", "right"), {"its_proof": b"x" * 40}),
    (("plain", "right"), {"plugin": None}),
    (("'plain'", "right"), {}),
    (("p" * 200, "right"), {}),
]


@pytest.mark.parametrize("local", [False, True])
def test_every_verdict_is_the_servers_and_counted_as_there(server, local):
    for arguments, options in TRIES:
        for turn in range(3):  # in between the door learns which logins need no thread
            told = [gained(server, lambda: verdict(server, port, *arguments, local=local, **options)) for port in PORTS]
            assert told[0] == told[1], (arguments, options, turn)


def test_greetings_are_the_servers_and_no_two_are_the_same(server):
    clients = [Client(server, port) for port in PORTS * 20]
    try:
        assert len({client.normal_greeting for client in clients}) == 1
        assert len({client.number for client in clients}) == len(clients)
        assert len({client.scramble for client in clients}) == len(clients)
        assert all(33 <= byte < 127 for client in clients for byte in client.scramble)
    finally:
        for client in clients:
            client.close()


def cut(server, port, count, local):
    client = Client(server, port, local)
    client.socket.sendall(client.answer("plain", "right", "test")[:count])
    client.socket.shutdown(socket.SHUT_WR)
    said = client.rest()
    client.close()
    return said


def test_an_answer_that_breaks_off_anywhere(server):
    whole = len(Client(server, "SQL_PORT").answer("plain", "right", "test"))
    for count in range(whole):
        told = [gained(server, lambda: cut(server, port, count, count % 2 == 0)) for port in PORTS]
        assert told[0] == told[1], count


def test_an_answer_in_pieces_lets_the_client_in(server):
    for _ in range(3):
        client = Client(server, "POSTERN_PORT")
        for byte in client.answer("plain", "right", "test"):
            client.socket.sendall(bytes([byte]))
        assert client.packet()[4] == 0
        client.socket.sendall(b"\1\0\0\0\x0e")
        assert client.packet()[4] == 0
        client.close()


def test_commands_that_come_with_the_answer_are_served_after_it(server):
    for _ in range(4):
        client = Client(server, "POSTERN_PORT")
        client.socket.sendall(
            client.answer("plain", "right") + b"\1\0\0\0\x0e" + b"\x09\0\0\0\3SELECT 7" + b"\1\0\0\0\1"
        )
        assert client.packet()[4] == 0
        assert client.packet()[4] == 0
        assert b"\x01\x37" in client.rest()
        client.close()


def test_a_command_before_the_answer_is_none(server):
    def speaks(port):
        client = Client(server, port)
        client.socket.sendall(b"\1\0\0\0\x0e" * 3)
        said = client.rest()
        client.close()
        return said

    for _ in range(3):
        told = [gained(server, lambda: speaks(port)) for port in PORTS]
        assert told[0] == told[1]


def told_to_answer_again(server, port, password):
    """The verdict on a client that first answers for another authentication plugin."""
    client = Client(server, port)
    client.socket.sendall(client.answer("plain", "right", plugin=b"client_ed25519", its_proof=b"x" * 64))
    asked = client.packet()
    assert asked[4:5] == b"\xfe" and asked[5:27] == b"mysql_native_password\0"
    hidden = proof(password, asked[27:47])
    client.socket.sendall(bytes([len(hidden), 0, 0, 3]) + hidden)
    told = client.packet()
    client.close()
    return told


def test_a_login_that_takes_another_round_trip(server):
    """Also for a user that has never needed one, so that a worker has begun the login."""
    before = counted(server)
    for _ in range(3):
        for _ in range(3):
            door(server, user="plain", password="right").close()
        assert told_to_answer_again(server, "POSTERN_PORT", "right")[4] == 0
    until(lambda: connected(server) == 1, 10)
    assert counted(server) == before
    for _ in range(3):
        told = [gained(server, lambda: told_to_answer_again(server, port, "wrong")) for port in PORTS]
        assert told[0] == told[1]
        door(server, user="plain", password="right").close()


def test_a_client_that_says_nothing_is_ended_as_at_the_port(server):
    def waits(port):
        client = Client(server, port)
        began = time.monotonic()
        said = client.rest()
        lasted = time.monotonic() - began
        client.close()
        return said, 4 < lasted < 9

    told = {}
    threads = [threading.Thread(target=lambda port=port: told.update({port: waits(port)})) for port in PORTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told["SQL_PORT"] == told["POSTERN_PORT"]
    assert told["SQL_PORT"][1]


def test_a_client_with_a_greeting_alone_is_listed_and_can_be_killed(server):
    def shown(number):
        columns = "USER, COMMAND, STATE, DB, INFO IS NULL"
        return server.query(f"SELECT {columns} FROM information_schema.PROCESSLIST WHERE ID = {number}")

    for _ in range(2):
        clients = [Client(server, port) for port in PORTS]
        until(lambda: len({tuple(map(tuple, shown(client.number))) for client in clients}) == 1, 5)
        assert shown(clients[1].number)
        for client in clients:
            server.execute(f"KILL {client.number}")
        said = [client.rest() for client in clients]
        assert said[0] == said[1]
        for client in clients:
            client.close()
            until(lambda client=client: not shown(client.number), 5)


def test_more_clients_than_the_server_takes(server):
    # The asking connection stays open, because the server counts a connection for a while after its end.
    with contextlib.closing(server.connect()) as asking, asking.cursor() as cursor:

        def alone():
            cursor.execute("SHOW STATUS LIKE 'Threads_connected'")
            return int(cursor.fetchone()[1]) == 1

        until(alone, 10)
        cursor.execute("SET GLOBAL max_connections = 11")
        try:
            fill(server, alone)
        finally:
            cursor.execute("SET GLOBAL max_connections = 151")


def fill(server, alone):
    """Opens as many connections as the server accepts, and more, beside one that stays."""
    for _ in range(2):
        for port in PORTS:
            held = [Client(server, port) for _ in range(10)]
            for client in held:
                client.socket.sendall(client.answer("nobody", ""))
                assert client.packet()[4] == 0
            held.append(Client(server, port))  # one more, which is reserved for an administrator
            told = [Client(server, one).greeting for one in PORTS]
            assert told[0] == told[1] and b"Too many connections" in told[0]
            held[10].socket.sendall(held[10].answer("nobody", ""))
            assert b"Too many connections" in held[10].packet()
            for client in held:
                client.close()
            until(alone, 10)


def test_no_more_sessions_than_an_account_may_have(server):
    for _ in range(3):
        for port in PORTS:
            held = [connect(server.env[port], "two", password="right") for _ in range(2)]
            told = [verdict(server, one, "two", "right") for one in PORTS]
            assert told[0] == told[1] and told[0][4] == 0xFF
            for session in held:
                session.close()
            until(lambda: connected(server) == 1, 10)


DIRT = (
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET NAMES latin1, sql_mode = 'ANSI_QUOTES', @a = 1, @b = 'x', wait_timeout = 99, autocommit = 0",
    "SET @@last_insert_id = 5, timestamp = 1000, sql_log_bin = 0, time_zone = '+05:00', max_statement_time = 7",
    "CREATE TEMPORARY TABLE test.left_behind (id INT)",
    "INSERT INTO test.kept (v) VALUES (1), (2)",
    "SELECT SQL_CALC_FOUND_ROWS * FROM test.kept LIMIT 1",
    "SELECT 1/0, CAST('x' AS INT)",
    "PREPARE s FROM 'SELECT 1'",
    "SELECT GET_LOCK('held', 0)",
    "SET ROLE reader",
    "USE other",
    "SELECT NEXTVAL(test.numbers)",
)
SEEN = (
    "SELECT @a, @b, @@last_insert_id, LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS(), @@warning_count, @@error_count",
    "SHOW WARNINGS",
    "SELECT DATABASE(), CURRENT_ROLE(), USER(), IS_FREE_LOCK('held'), @@in_transaction",
    "SHOW SESSION VARIABLES WHERE Variable_name NOT IN ('pseudo_thread_id', 'timestamp', 'rand_seed1', 'rand_seed2')",
    "SHOW SESSION STATUS WHERE Variable_name REGEXP '^(Com_|Handler_|Bytes_|Created_|Empty|Questions|Rows_|Select_|Sort_|"
    "Feature_|Slow_queries|Last_query|Prepared|Executed|Access|Opened_)' AND Variable_name NOT LIKE '%prepared_stmt_count'",
    "EXECUTE s",
    "SELECT * FROM test.left_behind",
    "SELECT LASTVAL(test.numbers)",
)


def test_a_session_finds_nothing_of_the_one_before(server):
    server.execute(
        "CREATE OR REPLACE DATABASE other CHARACTER SET latin2",
        "GRANT reader TO plain@'%'",
        "SET GLOBAL thread_cache_size = 0",  # no session at the server's port gets a cached thread
    )
    used = [Client(server, "SQL_PORT") for _ in range(40)]
    for client in used:
        client.close()
    server.execute(
        "CREATE OR REPLACE TABLE kept (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "CREATE OR REPLACE SEQUENCE numbers",
        database="test",
    )
    for _ in range(4):
        dirty = door(server, user="plain", password="right", autocommit=None)
        for statement in DIRT:
            rows(dirty, statement)
        dirty.close()
        until(lambda: connected(server) == 1, 10)
        seen = [looks(server, port) for port in PORTS]
        for statement, one, two in zip(SEEN, *seen):
            assert one == two, statement


def looks(server, port):
    session = connect(server.env[port], "plain", password="right", autocommit=None)
    told = []
    for statement in SEEN:
        try:
            told.append(rows(session, statement))
        except Exception as failed:  # noqa: BLE001
            told.append(str(failed))
    session.close()
    return told


def test_logins_and_ends_while_the_door_is_uninstalled(server):
    stop = threading.Event()

    def comes_and_goes():
        while not stop.is_set():
            try:
                client = Client(server, "POSTERN_PORT")
                if os.urandom(1)[0] % 3:
                    client.socket.sendall(client.answer("plain", "right"))
                    client.packet()
                client.close()
            except (OSError, EOFError, IndexError):
                time.sleep(0.01)

    threads = [threading.Thread(target=comes_and_goes) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            server.execute("UNINSTALL PLUGIN postern")
            server.execute("INSTALL PLUGIN postern SONAME 'postern.so'")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    until(lambda: connected(server) == 1, 20)
