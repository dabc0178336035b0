"""SELECTs over random tables, under settings that force the server's rarer executions: as at the server's own port.

A difference counts if the port itself gives one answer by all of its plans. SEED=N in the environment makes other
choices, SECONDS=N makes it longer.
"""
import os
import random
import re
import time

import pytest
from support.clients import sql_session
from support.random_input import rare_settings, seeds
from support.random_input.planned_once import fast, in_any_order_of_letters, of_any_plan
from support.random_input.random_schemas import Schema
from support.random_input.random_statements import Statements
from support.server import STEADY_PLANS
from support.clients.sql_session import Session

SECONDS = float(os.environ.get("SECONDS") or 8)
FORMS, TURNS = 5, 9
LONG = 1 << 16  # bytes of an answer
FAILED = 0xFF  # the first byte of an error
# The server's own answers by other plans.
OTHERWISE = (
    "join_cache_level = 0",
    "optimizer_switch = 'semijoin=off,materialization=off,derived_merge=off'",
    "optimizer_switch = 'semijoin=off,in_to_exists=off,materialization=on'",
    "optimizer_switch = 'firstmatch=off,loosescan=off,materialization=off,subquery_cache=off'",
    "optimizer_switch = 'index_condition_pushdown=off,index_merge=off,extended_keys=off,table_elimination=off'",
    "optimizer_switch = 'exists_to_in=off,split_materialized=off,condition_pushdown_for_derived=off'",
    "optimizer_switch = 'outer_join_with_cache=off,mrr=off,rowid_filter=off,derived_with_keys=off'",
    "optimizer_switch = 'condition_pushdown_from_having=off,orderby_uses_equalities=off'",
)


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", "--postern-verify=0", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


def shown(answer):
    """Its rows."""
    return [bytes(one) for one in sql_session.without_remarks(answer) if one[:4] != b"\x03def"]


class Search:
    def __init__(self, server, seed):
        self.server = server
        self.chance = random.Random(seed)
        self.compared = 0
        self.problems = []
        self.log = []  # of the tables
        self.schema = None
        self.sessions = []
        self.settings = []

    def open(self):
        """Two sessions with random settings."""
        for one in self.sessions:
            one.close()
        capabilities = self.chance.choice((0, sql_session.DEPRECATE_EOF))
        self.sessions = [
            Session(self.server.env[port], "own", "test", capabilities) for port in ("POSTERN_PORT", "SQL_PORT")
        ]
        self.settings = []
        self.set("timestamp = 1706760000", *rare_settings.some(self.chance))

    def set(self, *settings):
        self.settings += settings
        for setting in settings:
            answers = [one.query(f"SET {setting}") for one in self.sessions]
            assert answers[0] == answers[1], setting

    def change(self, *statements):
        self.log += statements
        self.server.execute(*statements, database="test")

    def asked(self, session, statement, values, prepared):
        if not prepared:
            return session.query(sql_session.in_text(statement.text, values))
        answer = session.execute(statement.text, values)
        # The server, also one without plugins, crashes if it executes a SELECT again that failed while the optimizer
        # made joins of its IN (SELECT ...)s: the first became one, and the second compares collations that do not mix.
        if answer[4] == FAILED:
            session.forget(statement.text)
        return answer

    def ask(self, statement, prepared):
        """Whether it is worth asking again."""
        values = tuple(make() for make in statement.makers)
        answers = [self.asked(one, statement, values, prepared) for one in self.sessions]
        self.compared += 1
        if self.seen(statement, answers[0]) == self.seen(statement, answers[1]):
            return len(answers[0]) < LONG
        again = [self.asked(one, statement, values, prepared) for one in self.sessions]
        if self.seen(statement, answers[0]) not in self.by_other_plans(statement, values, prepared):
            words = "prepared" if prepared else "text"
            text = sql_session.in_text(statement.text, values)
            problem = (
                f"{words} {text}\n settings: {self.settings}\n door: {shown(answers[0])}\n port: {shown(answers[1])}"
            )
            problem += f"\n again: {[one == two for one, two in zip(answers, again)]} {values}"
            self.problems.append(problem)
            print(problem, self.plan(statement), sep="\n", flush=True)
        return False

    def plan(self, statement):
        return self.server.query(
            "SELECT KIND, STATE, REASON, INDEX_NAME, HITS, LEFT_TO_SERVER FROM information_schema.POSTERN_PLANS"
            " WHERE FORM LIKE %s",
            (f"%{statement.text[:40]}%{statement.text[-30:]}",),
        )

    def seen(self, statement, answer):
        packets = of_any_plan(answer, statement.ordered and not statement.loose)
        return in_any_order_of_letters(packets) if statement.loose else packets

    def by_other_plans(self, statement, values, prepared):
        """The port's answers to the statement by other plans."""
        port = self.sessions[1]
        found = []
        for setting in OTHERWISE:
            name = setting.split()[0]
            port.query(f"SET @usual = @@{name}")
            port.query(f"SET {setting}")
            found.append(self.seen(statement, self.asked(port, statement, values, prepared)))
            port.query(f"SET {name} = @usual")
        return found

    def round(self):
        chance = self.chance
        if self.schema is None or chance.random() < 0.2:
            self.schema = Schema(chance)
            self.log.clear()
            self.change(*self.schema.statements())
        self.open()
        statements = Statements(self.schema)
        for _ in range(FORMS):
            statement = statements.select()
            # When a prepared NOT IN (SELECT ...) is executed again, the server answers NULL as before.
            prepares = not re.search(r"NOT IN \(SELECT|ALL \(SELECT", statement.text)
            for turn in range(TURNS):
                if chance.random() < 0.05:
                    self.set(rare_settings.one(chance))
                if chance.random() < 0.12:
                    self.in_one_transaction(statement, prepares and chance.random() < 0.5)
                elif not self.ask(statement, prepares and chance.random() < 0.4):
                    break
                if turn % 2:
                    self.change(*self.schema.change())

    def in_one_transaction(self, statement, prepared):
        """Rows that other sessions have changed since its beginning are not seen."""
        for one in self.sessions:
            one.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        for _ in range(2):
            self.change(*self.schema.change())
            self.ask(statement, prepared)
        for one in self.sessions:
            one.query("COMMIT")


def test_answers_are_those_of_the_port(served):
    search = Search(served, seeds.chosen())
    before, end = fast(served), time.monotonic() + SECONDS
    while (time.monotonic() < end or search.compared < 200) and len(search.problems) < 20:
        search.round()
    answered = fast(served) - before
    print(f"{answered} of {search.compared} were answered by workers")
    assert not search.problems, search.problems[0]
    assert answered > search.compared // 10
    served.assert_alive()
