"""UPDATE, DELETE and locking reads over random tables, under settings that make the server choose other indexes: the
answers, the rows and the locks equal those at the server's port.

SEED=N in the environment makes other choices, SECONDS=N makes it longer.
"""
import os
import random
import time
from collections import Counter

import pytest
from support.both_ports import alike
from support.clients import sql_session
from support.clients.sql_session import Session
from support.random_input import rare_settings, seeds
from support.random_input.planned_once import fast
from support.random_input.random_schemas import ODD, Schema, literal
from support.row_locks import id_of, locks_of
from support.server import STEADY_PLANS

SECONDS = float(os.environ.get("SECONDS") or 6)
FORMS, TURNS = 6, 8
PORTS = ("POSTERN_PORT", "SQL_PORT")
DATABASES = ("by_door", "by_port", "by_both")
# Records of another length may get other numbers, and locks name records by numbers.
OF_ONE_LENGTH = ("int", "decimal", "float", "date", "time", "hour", "kind")
ISOLATIONS = ("REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED", "SERIALIZABLE")


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(
        STEADY_PLANS,
        "--loose-postern-threads=1",
        "--postern-verify=0",
        "--innodb-status-output-locks=ON",
        "--innodb-lock-wait-timeout=1",
        postern_port=0,
    )
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


def without_remark(answer):
    """An OK without the remark that no index was used, which is as it was when the worker learnt the form."""
    if answer[4] != 0:
        return b"".join(map(bytes, sql_session.without_remarks(answer)))
    at = 5
    for _ in range(2):  # rows, and an id
        at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(answer[at], 1)
    return (
        answer[:at]
        + bytes([answer[at] & ~sql_session.REMARKS & 0xFF, answer[at + 1] & ~sql_session.WAS_SLOW])
        + answer[at + 2 :]
    )


class Writes:
    """Texts with ?, and a maker of values for each."""

    def __init__(self, schema):
        self.chance = schema.chance
        self.schema = schema
        self.makers = []

    def value(self, column):
        if self.chance.random() < 0.2:
            return literal(column.kind, column.value(self.chance))
        self.makers.append(
            lambda: self.chance.choice(ODD) if self.chance.random() < 0.05 else column.value(self.chance)
        )
        return "?"

    def condition(self, table, keyed):
        chance = self.chance
        able = [one for one in table.columns if one.kind != "point"]
        column = table.by_name[chance.choice(("id", "id", "k", "m", "w"))] if keyed else chance.choice(able)
        name = column.name
        what = chance.random()
        if what < 0.5:
            return f"{name} = {self.value(column)}"
        if what < 0.65:
            return f"{name} IN ({', '.join(self.value(column) for _ in range(chance.choice((2, 3))))})"
        if what < 0.75:
            return f"{name} {chance.choice(('BETWEEN', 'NOT BETWEEN', 'BETWEEN'))} {self.value(column)} AND {self.value(column)}"
        if what < 0.8:
            return f"({name} = {self.value(column)} OR {name} = {self.value(column)})"
        if what < 0.85:
            return f"{name} IS {chance.choice(('', 'NOT '))}NULL"
        return f"{name} {chance.choice(('<', '<=', '>', '>=', '<>'))} {self.value(column)}"

    def set(self, table):
        chance = self.chance
        fixed = [one for one in table.columns[1:] if one.kind in OF_ONE_LENGTH and not one.nullable]
        column = chance.choice(fixed or [table.by_name["id"]])
        if column.kind == "int" and chance.random() < 0.5:
            return f"{column.name} = {column.name} {chance.choice('+-')} 1"
        return f"{column.name} = {self.value(column)}"

    def write(self):
        chance = self.chance
        self.makers = []
        table = chance.choice(self.schema.tables)
        kind = chance.random()
        start = f"DELETE FROM {table.name}"
        if kind < 0.6:
            ignore = chance.choice(("", "", "", "IGNORE "))
            start = (
                f"UPDATE {ignore}{table.name} SET {', '.join(self.set(table) for _ in range(chance.choice((1, 1, 2))))}"
            )
        elif kind < 0.8:
            start = f"SELECT {chance.choice(('*', 'id', 'id, k'))} FROM {table.name}"
        parts = [self.condition(table, True)] + [
            self.condition(table, False) for _ in range(chance.choice((0, 1, 1, 2)))
        ]
        text = f"{start} WHERE {' AND '.join(parts)}"
        if chance.random() < 0.15:
            text += f" ORDER BY {chance.choice(('id', 'k, id', 'id DESC'))}{chance.choice(('', ' LIMIT 2'))}"
        elif start.startswith("SELECT"):
            text += " ORDER BY id"
        if start.startswith("SELECT"):
            text += chance.choice((" FOR UPDATE", " FOR UPDATE", " LOCK IN SHARE MODE"))
        return table, text, list(self.makers)


class Search:
    def __init__(self, server, seed):
        self.server = server
        self.chance = random.Random(seed)
        self.compared = 0
        self.settings = []
        self.made = []  # the tables
        self.sessions = []
        self.ids = []
        self.problems = []

    def fill(self, schema):
        for database in DATABASES:
            self.server.execute(f"CREATE OR REPLACE DATABASE {database}")
            self.server.execute(*schema, database=database)

    def open(self):
        """Each port has a session in its own database, and one in that of both, which keeps its rows."""
        for one in self.sessions:
            one.close()
        self.settings = ["timestamp = 1706760000", *rare_settings.some(self.chance)]
        self.settings.append(f"SESSION TRANSACTION ISOLATION LEVEL {self.chance.choice(ISOLATIONS)}")
        names = (*zip(PORTS, DATABASES[:2]), *((port, DATABASES[2]) for port in PORTS))
        self.sessions = [Session(self.server.env[port], "own", database) for port, database in names]
        for setting in self.settings:
            for one in self.sessions:
                one.query(f"SET {setting}")
        self.ids = [id_of(one) for one in self.sessions]

    def ask(self, session, text, values, prepared):
        answer = session.execute(text, values) if prepared else session.query(sql_session.in_text(text, values))
        return without_remark(answer)

    def compare(self, how, text, values, one, two):
        self.compared += 1
        if one != two:
            said = sql_session.in_text(text, values)
            self.problems.append(
                f"{how} {said}\n settings: {self.settings}\n door: {one!r}\n port: {two!r}\n {self.made}"
            )
            print(text, values, self.problems[-1], flush=True)

    def committed(self, table, text, values, prepared):
        """In each port's own database."""
        answers = [alike(self.ask(one, text, values, prepared)) for one in self.sessions[:2]]
        if "ORDER BY" not in text and "LIMIT" in text:
            return
        self.compare(f"prepared={prepared}", text, values, *answers)
        reads = f"SELECT * FROM {table.name} ORDER BY id"
        self.compare(
            f"prepared={prepared}, rows", text, values, *(alike(one.query(reads)) for one in self.sessions[:2])
        )

    def undone(self, table, text, values, prepared):
        """The locks and rows of a transaction, which then ends. Its undone writes may change how the
        server counts the rows of a range, so a difference counts that is there in each of three repetitions."""
        for _ in range(4):
            seen = [self.in_transaction(at, table, text, values, prepared) for at in (2, 3)]
            if seen[0] == seen[1]:
                break
        (_, one, _), (_, two, _) = seen
        how = f"transaction, prepared={prepared}, locks {one - two} {two - one}"
        self.compare(how, text, values, *seen)

    def in_transaction(self, at, table, text, values, prepared):
        session = self.sessions[at]
        session.query("BEGIN")
        answer = self.ask(session, text, values, prepared)
        # Without their places: an entry that an undone write has left changes those of later ones.
        locks = Counter(lock[0] for lock in locks_of(self.server, self.ids[at]))
        rows = session.query(f"SELECT * FROM {table.name} ORDER BY id")
        session.query("ROLLBACK")
        return answer, locks, rows

    def round(self):
        chance = self.chance
        schema = Schema(chance)
        made = list(schema.statements())
        self.made = [one for one in made if one.startswith("CREATE")]
        self.fill(made)
        self.open()
        for _ in range(FORMS):
            table, text, makers = Writes(schema).write()
            for _ in range(TURNS):
                values = tuple(make() for make in makers)
                way = self.committed if chance.random() < 0.3 else self.undone
                way(table, text, values, chance.random() < 0.4)


def test_writes_and_locks_are_those_of_the_port(served):
    search = Search(served, seeds.chosen())
    before, end = fast(served), time.monotonic() + SECONDS
    while (time.monotonic() < end or search.compared < 200) and len(search.problems) < 20:
        search.round()
    answered = fast(served) - before
    print(f"{search.compared} comparisons; workers answered {answered} statements, among them those that read the rows")
    assert not search.problems, search.problems[0]
    assert answered > search.compared // 10
    served.assert_alive()
