"""COM_CHANGE_USER: a worker asks for the proof in the server's place, and the server verifies it; the session is then
as at the server's own port."""
import contextlib
import hashlib

import pytest
from support.server import STEADY_PLANS
from support.clients.sql_session import RESET, Session
from support.waiting import until

CHANGE_USER = 0x11
ACCOUNTS = (
    "CREATE USER own@'%' IDENTIFIED BY ''",
    "GRANT ALL ON *.* TO own@'%'",
    "CREATE USER hidden@'%' IDENTIFIED BY 'its password'",
    "GRANT SELECT, CREATE TEMPORARY TABLES, LOCK TABLES ON test.* TO hidden@'%'",
    "CREATE USER locked@'%' IDENTIFIED BY 'its password' ACCOUNT LOCK",
    "CREATE ROLE reader",
    "CREATE USER member@'%' IDENTIFIED BY 'its password'",
    "GRANT reader TO member@'%'",
    "SET DEFAULT ROLE reader FOR member@'%'",
    "GRANT SELECT ON test.* TO reader",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t SELECT seq, seq FROM seq_1_to_20",
)
# All state of the session that it may keep or lose.
LEFT = (
    "SELECT v FROM t WHERE id = 3",
    "SHOW WARNINGS",
    "SELECT CURRENT_USER(), USER(), DATABASE(), CURRENT_ROLE(), @a, ROW_COUNT(), LAST_INSERT_ID(), FOUND_ROWS()",
    "SHOW SESSION VARIABLES WHERE Variable_name NOT IN ('timestamp', 'pseudo_thread_id', 'rand_seed1', 'rand_seed2', 'error_count',"
    " 'last_gtid', 'gtid_binlog_state', 'gtid_current_pos', 'in_transaction')",
    "SELECT @@in_transaction, IS_USED_LOCK('held') = CONNECTION_ID()",
    "SHOW SESSION STATUS WHERE Variable_name REGEXP '^(Com_|Handler_|Bytes_|Questions|Rows_|Empty|Select_|Created_tmp_tables)'",
)
BEFORE = (
    "SET @a = 5, sql_mode = 'ANSI', autocommit = 0, wait_timeout = 77",
    "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT)",
    "UPDATE t SET v = v + 1 WHERE id = 3",
    "SELECT GET_LOCK('held', 0)",
    "SELECT v FROM t WHERE id = 3",
    "SELECT 1/0",
    "LOCK TABLES t READ",
)


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", postern_port=0)
    server.execute(*ACCOUNTS, database="test")
    return server


def proof(password, scramble):
    once = hashlib.sha1(password).digest()
    mixed = hashlib.sha1(scramble + hashlib.sha1(once).digest()).digest()
    return bytes(left ^ right for left, right in zip(once, mixed))


class Client(Session):
    def ask(self, user, database="test", method=b"mysql_native_password"):
        """Sends COM_CHANGE_USER and returns the server's challenge."""
        self.put(bytes([CHANGE_USER]) + user.encode() + b"\0\0" + database.encode() + b"\0\x2d\0" + method + b"\0")
        return self.packet()

    def reply(self, question, password):
        assert question[4:26] == b"\xfemysql_native_password", question
        self.put(proof(password, question[27:47]) if password else b"", question[3] + 1)
        return self.packet()

    def change(self, user, password=b"", database="test"):
        """Changes the user; returns all packets except the scramble."""
        question = self.ask(user, database)
        if question[4] != 0xFE:
            return question
        return question[:27] + self.reply(question, password)


@contextlib.contextmanager
def session(server, port="POSTERN_PORT"):
    one = Client(server.env[port], "own", "test")
    try:
        yield one
    finally:
        one.socket.close()


@contextlib.contextmanager
def both(server):
    with session(server) as door, session(server, "SQL_PORT") as port:
        yield door, port


def all_packets(one):
    """All packets until the connection ends."""
    said = b""
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            said += one.packet()
    return said


def status(server, *names):
    counted = server.status("%")
    return [counted[name] for name in names]


def in_place_of_the_server(server):
    return status(server, "postern_statements_fast")[0]


def known(server, user, password):
    """The door has learnt how the server verifies the account."""
    with session(server) as one:
        assert one.change(user, password)[-7:-6] != b"\xff"


CHANGES = {
    "another": ("hidden", b"its password"),
    "the same": ("own", b""),
    "with a role": ("member", b"its password"),
    "no database": ("hidden", b"its password", ""),
    "a database that is not there": ("hidden", b"its password", "nowhere"),
    "a wrong password": ("hidden", b"another"),
    "no password": ("hidden", b""),
    "nobody": ("nobody", b"its password"),
    "a locked account": ("locked", b"its password"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_session_is_as_it_is_at_the_servers_port(served, change):
    known(served, "hidden", b"its password")
    with both(served) as pair:
        for round_ in range(2):
            told = []
            for one in pair:
                said = [one.query(text) for text in BEFORE[: -1 if round_ else None]]
                said.append(one.change(*CHANGES[change]))
                told.append(said + [one.query(text) for text in LEFT])
            for text, door, port in zip((*BEFORE, "change", *LEFT), *told):
                assert door == port, text


def test_workers_ask_for_the_proof(served):
    with session(served) as one:
        one.change("hidden", b"its password")
        before = in_place_of_the_server(served)
        for _ in range(5):
            assert one.change("hidden", b"its password")[-7:-6] != b"\xff"
            assert one.change("own")[-7:-6] != b"\xff"
        assert in_place_of_the_server(served) == before + 10
        assert one.query("SELECT CURRENT_USER()").count(b"own@%") == 1


def test_prepared_statements_are_gone(served):
    with both(served) as pair:
        for _ in range(3):
            told = []
            for one in pair:
                said = [one.execute("SELECT v FROM t WHERE id = ?", (4,)) for _ in range(3)]
                known_before = one.prepared.pop("SELECT v FROM t WHERE id = ?")
                said.append(one.change("hidden", b"its password"))
                said.append(one.command(0x17, known_before[0].to_bytes(4, "little") + b"\0\1\0\0\0\0\0"))
                said += [one.execute("SELECT v FROM t WHERE id = ?", (4,)) for _ in range(3)]
                one.prepared.clear()
                said.append(one.command(RESET))
                told.append(said)
            assert told[0] == told[1]


def test_three_wrong_proofs_are_enough(served):
    known(served, "hidden", b"its password")
    with both(served) as pair:
        told = [[one.change("hidden", b"wrong") for _ in range(4)] for one in pair]
        assert told[0] == told[1]
        assert [len(one) > 60 for one in told[0]] == [True, True, True, False]


def test_a_client_that_does_not_reply_keeps_nobody_waiting(served):
    known(served, "hidden", b"its password")
    with session(served) as silent, session(served) as other:
        question = silent.ask("hidden")
        for _ in range(20):
            assert other.query("SELECT v FROM t WHERE id = 4")[4] == 1
        assert silent.reply(question, b"its password")[4] == 0


def test_a_client_that_leaves_before_its_reply_is_counted_as_at_the_servers_port(served):
    known(served, "hidden", b"its password")
    names = ("aborted_clients", "access_denied_errors")
    told = []

    def nobody_is_left():
        return not served.query("SELECT 1 FROM information_schema.PROCESSLIST WHERE USER IN ('own', 'hidden')")

    for port in ("POSTERN_PORT", "SQL_PORT"):
        until(nobody_is_left, 60)
        before = status(served, *names)
        with session(served, port) as one:
            one.ask("hidden")
        until(lambda: status(served, *names)[0] > before[0], 60)
        until(nobody_is_left, 60)
        told.append([after - past for after, past in zip(status(served, *names), before)])
    assert told[0] == told[1]


def test_a_client_that_is_silent_for_too_long_hears_the_same(served):
    known(served, "hidden", b"its password")
    with both(served) as pair:
        told = []
        for one in pair:
            one.query("SET net_read_timeout = 1")
            one.ask("hidden")
            told.append(all_packets(one))
        assert told[0] == told[1]


def test_kill_finds_a_client_that_has_not_replied(served):
    known(served, "hidden", b"its password")
    with session(served) as one:
        number = served.query("SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE USER = 'own'")[0][0]
        one.ask("hidden")
        served.execute(f"KILL {number}")
        all_packets(one)
    until(lambda: not served.query(f"SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {number}"), 60)


OTHERWISE = {
    "another password": ("ALTER USER changing@'%' IDENTIFIED BY 'new'", b"new"),
    "dropped": ("DROP USER changing@'%'", None),
    "locked": ("ALTER USER changing@'%' ACCOUNT LOCK", None),
    "another method": ("ALTER USER changing@'%' IDENTIFIED VIA unix_socket", None),
    "two methods": (
        "ALTER USER changing@'%' IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('new')",
        b"new",
    ),
}


@pytest.mark.parametrize("change", OTHERWISE)
def test_the_account_is_changed_between_question_and_reply(served, change):
    """The server uses the account as it is when the reply arrives; packet numbers continue."""
    statement, password = OTHERWISE[change]
    served.execute("CREATE OR REPLACE USER changing@'%' IDENTIFIED BY 'old'", "GRANT SELECT ON test.* TO changing@'%'")
    known(served, "changing", b"old")
    with session(served) as one:
        question = one.ask("changing")
        served.execute(statement)
        answer = one.reply(question, password or b"old")
        number = 3
        while answer[4] == 0xFE:  # it is asked once more
            assert answer[3] == number
            number += 2
            answer = one.reply(answer, password or b"old")
        assert answer[3] == number
        assert answer[4] == (0 if password else 0xFF), answer
        user = b"changing@" if password else b"own@"
        assert user in one.query("SELECT CURRENT_USER()")
        assert one.change("own")[-7:-6] != b"\xff"


def test_a_packet_out_of_order_in_place_of_a_reply(served):
    known(served, "hidden", b"its password")
    with both(served) as pair:
        told = []
        for one in pair:
            one.ask("hidden")
            one.put(b"\3SELECT 1", 0)
            told.append(all_packets(one))
        assert told[0] == told[1]
