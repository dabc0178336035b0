"""A command that has come whole is put where the server's own read would put it, and the session is as after a read: its
answers and all its counts are those of the server's own port."""
import contextlib

import pytest
from support.clients.sql_session import Session

PING, FIELD_LIST, SET_OPTION, RESET, UNKNOWN = b"\x0e", b"\x04t\0", b"\x1b\0\0", b"\x1f", b"\x70"
BUFFER = 16_384  # net_buffer_length: a larger command makes the server's buffer grow, which only its own read does
COUNTS = (
    "SHOW SESSION STATUS WHERE Variable_name REGEXP '^(Com_|Handler_|Bytes_|Created_|Empty|Questions|Queries_|Rows_|Select_"
    "|Sort_|Feature_|Slow_queries|Prepared|Executed|Access)' AND Variable_name NOT LIKE '%prepared_stmt_count'"
)


def text_of(size):
    """A command of that many bytes in its packet, the command's own byte with them."""
    frame = b"\3SELECT LENGTH('')"
    return frame[:-2] + b"x" * (size - len(frame)) + frame[-2:]


COMMANDS = (
    PING,
    b"\3SELECT 1",
    b"\3BEGIN",
    b"\3UPDATE t SET v = v + 1 WHERE id = 3",
    b"\3COMMIT",
    b"\3SELECT t.v, @@sql_mode FROM t JOIN t u ON u.id = t.v",
    b"\3SHOW TABLES",
    b"\3SELECT 1/0",
    b"\3no statement",
    b"\3",
    b"\3SELECT 1\0",
    b"\3SELECT 'a\0b'",
    b"\3SELECT 1; SELECT 2",
    b"\3SET STATEMENT sql_mode = '' FOR SELECT @@sql_mode",
    b"\3SET net_read_timeout = 7",
    FIELD_LIST,
    SET_OPTION,
    b"\2test",
    b"\2nowhere",
    UNKNOWN,
    RESET,
    *(text_of(BUFFER + more) for more in (-2, -1, 0, 1, 2)),
    text_of(BUFFER - 1),
    text_of(100_000),
)


@pytest.fixture(scope="module", params=["--performance-schema=OFF", "--performance-schema=ON"])
def served(module_factory, request):
    server = module_factory("--loose-postern-threads=1", request.param, postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


def answered(one, command):
    if command[:1] == b"\3":
        return one.answer()
    answer = packet = one.packet()
    while command == FIELD_LIST and packet[4] != 0xFE:
        packet = one.packet()
        answer += packet
    return answer


def told(server, port):
    """The answer to each command, and the session's counts after it."""
    server.execute(
        "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t SELECT seq, seq FROM seq_1_to_5",
        database="test",
    )
    with contextlib.closing(Session(server.env[port], "own", "test")) as one:
        one.query("SELECT 1")  # the server's own port leaves a new session FOUND_ROWS() of the thread's last one
        for command in COMMANDS:
            one.put(command)
            yield command[:40], answered(one, command), one.query(COUNTS)


def test_the_session_is_as_after_the_servers_own_read(served):
    port, door = (list(told(served, one)) for one in ("SQL_PORT", "POSTERN_PORT"))
    for at_port, at_door in zip(port, door, strict=True):
        assert at_door == at_port
