"""Texts bound to a prepared statement have the character sets that the session had when their types were bound.

A client that executes without types keeps those, also after SET NAMES: the server's own binding stays in effect.
"""
import struct

import pytest
from support.clients import sql_session
from support.server import STEADY_PLANS
from support.clients.sql_session import Session

TEXTS = (b"\xc3\xa9", b"\xe9")  # é in UTF-8, which is Ã© in latin1; é in latin1


class Bound:
    """A statement with one text parameter."""

    def __init__(self, session, text):
        self.session = session
        self.number, _ = session.prepare(text)

    def execute(self, binds, value):
        types = b"\1\xfd\0" if binds else b"\0"
        body = struct.pack("<IBI", self.number, 0, 1) + b"\0" + types + bytes([len(value)]) + value
        return self.session.command(sql_session.EXECUTE, body)


def told(port):
    session = Session(port, "own", "test")
    statement = Bound(session, "SELECT id, c FROM n WHERE c = ?")
    for value in TEXTS * 3:
        yield statement.execute(True, value)
        yield statement.execute(False, value)
    for names in ("latin1", "utf8mb4", "latin1", "utf8mb4"):
        yield session.query(f"SET NAMES {names}")
        for binds in (False, False, True, False):
            for value in TEXTS:
                yield statement.execute(binds, value)


def fast(server):
    return server.status("Postern_statements_fast")["postern_statements_fast"]


def stored(port, database):
    session = Session(port, "own", database)
    statement = Bound(session, "UPDATE n SET c = ? WHERE id = 9")
    for value in TEXTS * 3:
        yield statement.execute(True, value)
        yield statement.execute(False, value)
    yield statement.execute(True, b"e")  # another row has the text: the types are bound nevertheless
    for names in ("latin1", "utf8mb4", "latin1", "utf8mb4"):
        yield session.query(f"SET NAMES {names}")
        for binds in (False, False, True, False):
            for value in (b"\xc3\xa9.", b"\xe9."):
                yield statement.execute(binds, value)
                yield session.query("SELECT HEX(c) FROM n WHERE id = 9 AND 1 < 2")


def test_set_names_keeps_bound_types_of_writes(served):
    for database in ("by_door", "by_port"):
        served.execute(
            f"CREATE DATABASE {database}",
            f"CREATE TABLE {database}.n LIKE test.n",
            f"INSERT INTO {database}.n SELECT * FROM test.n",
            f"INSERT INTO {database}.n VALUES (9, 'x')",
            f"INSERT INTO {database}.n SELECT seq, seq FROM test.seq_10_to_2000",
        )
    before = fast(served)
    door = list(stored(served.env["POSTERN_PORT"], "by_door"))
    assert fast(served) > before + 3
    server = list(stored(served.env["SQL_PORT"], "by_port"))
    for at, (one, other) in enumerate(zip(door, server)):
        assert one.replace(b"by_door", b"by_port") == other, at


def test_set_names_keeps_bound_types(served):
    door, server = (list(told(served.env[port])) for port in ("POSTERN_PORT", "SQL_PORT"))
    for at, (one, other) in enumerate(zip(door, server)):
        assert one == other, at
    assert fast(served) > 10


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(STEADY_PLANS, postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    server.execute(
        "CREATE TABLE n (id INT PRIMARY KEY, c VARCHAR(20) COLLATE utf8mb4_bin NOT NULL, UNIQUE (c))",
        "INSERT INTO n VALUES (1, 'é'), (2, 'Ã©'), (3, 'e')",
        database="test",
    )
    return server
