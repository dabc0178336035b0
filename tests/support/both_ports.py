"""Sessions at the SQL door and at the server's own port, which are asked the same and shall answer the same.

Two databases hold the same tables: one is written to through the door, the other at the server's port. A test module
takes the fixtures by name: `from support.both_ports import follower, served`.
"""
import pytest

from support import replica as replicas
from support.server import STEADY_PLANS
from support.clients.sql_session import Session, in_text

OPENED = []  # sessions of the running test
SIDES = {"POSTERN_PORT": "by_door", "SQL_PORT": "by_port"}
LEFT_BEHIND = (
    "SELECT ROW_COUNT(), LAST_INSERT_ID(), FOUND_ROWS()",
    "SHOW WARNINGS",
    "SHOW SESSION STATUS WHERE Variable_name IN ('Questions', 'Com_update', 'Com_delete', 'Com_insert', 'Com_replace',"
    " 'Empty_queries', 'Rows_sent', 'Handler_read_key', 'Handler_read_next', 'Handler_read_rnd_next', 'Handler_update', 'Handler_delete',"
    " 'Handler_write', 'Handler_commit', 'Handler_prepare', 'Handler_rollback', 'Bytes_received', 'Bytes_sent',"
    " 'Com_stmt_execute', 'Slow_queries', 'Rows_read', 'Handler_external_lock')",
)


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(
        STEADY_PLANS,
        "--postern-verify=0",
        "--loose-postern-threads=1",
        "--log-bin=binlog",
        "--server-id=1",
        "--binlog-format=ROW",
        postern_port=0,
    )
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


@pytest.fixture(scope="module")
def follower(module_factory, served):
    server = module_factory("--server-id=2", "--log-bin=binlog", "--read-only=0")
    replicas.follow(served, server)
    return server


def filled(served, statements):
    """For a fixture to yield from: recreates both databases, with the tables that the statements make."""
    for database in SIDES.values():
        served.execute("SET lock_wait_timeout = 20", f"CREATE OR REPLACE DATABASE {database} CHARACTER SET utf8mb4")
        served.execute(*statements, database=database)
    yield served
    served.execute("SET GLOBAL binlog_format = ROW")
    while OPENED:
        OPENED.pop().close()


def opened(server, port, user, database, capabilities=0):
    OPENED.append(Session(server.env[port], user, database, capabilities))
    return OPENED[-1]


def pair(server, capabilities=0):
    sessions = [opened(server, port, "own", database, capabilities) for port, database in SIDES.items()]
    for one in sessions:
        one.query("SELECT 1")  # FOUND_ROWS() of a new session may be another session's
    return sessions


def alike(answer):
    return answer.replace(b"by_door", b"by_port")


def compare(said, answers):
    door, port = map(alike, answers)
    assert door == port, f"{said}\n door: {door!r}\n server: {port!r}"


def ask(sessions, text, values=None):
    """Runs the text in all sessions, prepared if there are values; their answers must be equal."""
    answers = [one.query(text) if values is None else one.execute(text, values) for one in sessions]
    compare((text, values), answers)
    return answers[0]


def ask_by_chance(sessions, chance, text, values):
    """As text or prepared; a prepared statement may be closed afterwards, so that the next one is prepared anew."""
    prepared = chance.random() < 0.5
    ask(sessions, text if prepared else in_text(text, values), values if prepared else None)
    if prepared and chance.random() < 0.3:
        for one in sessions:
            one.forget(text)


def same_tables(server, reads):
    """`reads`: a query for each table's name."""
    for table, read in reads.items():
        rows = [server.query(read, database=database) for database in SIDES.values()]
        differences = [(one, two) for one, two in zip(*rows) if one != two]
        assert len(rows[0]) == len(rows[1]) and not differences, (table, differences[:3])


def fast(server):
    """The number of statements that workers have answered."""
    return server.status("Postern%")["postern_statements_fast"]


def on_door(server, user="own"):
    return opened(server, "POSTERN_PORT", user, "by_door")


def learnt(session, text):
    """Runs the text until the door knows its form."""
    for _ in range(3):
        session.query(text)
