"""Shared by tests of SELECTs that are planned once: a server, sessions at both ports, and the comparison of their
answers."""
import re

import pytest

from support.clients import sql_session
from support.random_input.random_selects import TABLES
from support.server import STEADY_PLANS
from support.clients.sql_session import Session

CHANGES = (
    "UPDATE sale SET person = {n} % 130, n = {n} % 5 WHERE id = {n}",
    "DELETE FROM sale WHERE id = {n} + 300",
    "UPDATE sale SET person = NULL WHERE id = {n} * 7",
    "UPDATE person SET place = {n} % 9 WHERE id = {n} % 120",
    "INSERT IGNORE INTO sale (id, person, place, n) VALUES ({n} + 2000, {n} % 130, {n} % 13, 2)",
    "DELETE FROM sale WHERE person = {n} % 130",
)


@pytest.fixture(scope="module")
def plain(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    server.execute(*TABLES, database="test")
    return server


def sessions(server, user="own"):
    return [Session(server.env[port], user, "test") for port in ("POSTERN_PORT", "SQL_PORT")]


def fast(server):
    return server.status("Postern_statements_fast")["postern_statements_fast"]


def packets(answer, ordered=False):
    """The packets without traces of the chosen plan: remarks, column flags, and the order of unordered rows."""
    every = sql_session.without_remarks(answer)
    for at, packet in enumerate(every):
        if packet[:4] == b"\x03def":
            every[at] = packet[:-5]
    return every if ordered else sorted(map(bytes, every))


TEXTS = range(0xF9, 0xFF)  # types of columns


def of_any_plan(answer, ordered):
    """The packets of an answer without traces of the chosen plan: the remark that no index was used, the attributes of
    a temporary table's column (origin, length, flags, kind of text), and the order of unordered rows."""
    every = sql_session.without_remarks(answer)
    for at, packet in enumerate(every):
        if packet[:4] == b"\x03def":
            kind = b"text" if packet[-6] in TEXTS else packet[-6:-5]
            every[at] = bytearray(name_of(packet) + kind)
    return every if ordered else sorted(every)


def in_any_order_of_letters(every):
    """The packets without the differences between texts that a collation takes for equal."""
    return sorted(re.sub(rb"[^a-z0-9]", b"", bytes(one).lower()) for one in every)


def name_of(column):
    """The column's name in its packet: the fifth text, each of which is short here."""
    at = 0
    for _ in range(4):
        at += 1 + column[at]
    return column[at : at + 1 + column[at]]


def is_ordered(text):
    """Whether its last ORDER BY is outside parentheses."""
    before, order, _ = text.rpartition("ORDER BY")
    return order != "" and before.count("(") == before.count(")")


def assert_alike(text, pair):
    answers = [packets(one.query(text), is_ordered(text)) for one in pair]
    assert answers[0] == answers[1], text


def assert_each_has_its_view(server, text, change):
    """Two sessions execute one plan in turn, the first in a transaction that began before `change`. Returns its answer
    there, and the answers that see the change."""
    first, second = sessions(server)[0], sessions(server)[0]
    for number in range(1, 12):
        first.query(text % number)
        second.query(text % number)
    first.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    seen = first.query(text % 3)
    server.execute(change, database="test")
    before = fast(server)
    later = []
    for _ in range(4):
        assert first.query(text % 3) == seen
        later.append(second.query(text % 3))
    assert fast(server) - before >= 6
    first.query("COMMIT")
    later.append(first.query(text % 3))
    assert all(packets(one) != packets(seen) for one in later)
    return seen, later
