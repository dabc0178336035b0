"""Tables of odd kinds (support/changing_tables.py) that another connection changes while two sessions, one on the door
and one on the server's own port, run the same statements, each in its own database: answers and rows are the same.

SEED=N in the environment makes other choices, ROUNDS=N makes it longer.
"""
import contextlib
import os
import random

import pymysql
import pytest
from support.random_input import seeds
from support.both_ports import SIDES, alike, fast, filled, pair, same_tables
from support.both_ports import served  # noqa: F401
from support.changing_tables import SCENES
from support.random_input.planned_once import is_ordered, packets
from support.clients.sql_session import in_text

ROUNDS = int(os.environ.get("ROUNDS") or 2)
STATEMENTS = 200
SETTINGS = (
    *("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a", "START TRANSACTION WITH CONSISTENT SNAPSHOT"),
    *("SET autocommit = 0", "SET autocommit = 1", "SET timestamp = 1700000000", "SET timestamp = DEFAULT"),
    *("SET sql_mode = ''", "SET sql_mode = DEFAULT", "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'"),
    *("SET insert_id = 50", "SET last_insert_id = 7", "SET sql_auto_is_null = 1", "SET sql_auto_is_null = 0"),
    *("SET auto_increment_increment = 5", "SET auto_increment_increment = 1", "SET NAMES latin1", "SET NAMES utf8mb4"),
    *("SET foreign_key_checks = 0", "SET foreign_key_checks = 1", "SET tx_isolation = 'READ-COMMITTED'"),
    "SET tx_isolation = 'REPEATABLE-READ'",
)
# FOUND_ROWS() of sums over no rows depends on the plan.
LEFT_BEHIND = ("SELECT ROW_COUNT(), LAST_INSERT_ID(), @@warning_count", "SHOW WARNINGS")


class Sides:
    """A session on each port, and another connection to each database."""

    def __init__(self, server):
        self.server = server
        self.sessions = pair(server)
        for one in self.sessions:
            one.query("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 0")
        self.others = [server.connect(database=database) for database in SIDES.values()]
        self.said = []

    def close(self):
        for one in (*self.sessions, *self.others):
            one.close()

    def ask(self, text, values=None):
        self.said.append((text, values))
        answers = [alike(one.query(text) if values is None else one.execute(text, values)) for one in self.sessions]
        door, port = (packets(one, is_ordered(text)) for one in answers)
        assert door == port, (self.said[-12:], *answers)

    def change(self, text):
        for each in ("COMMIT", "SET autocommit = 1"):
            self.ask(each)
        self.said.append(text)
        errors = []
        for other in self.others:
            with other.cursor() as cursor:
                cursor.execute("SET lock_wait_timeout = 10")
                try:
                    cursor.execute(text)
                    errors.append(0)
                except pymysql.err.Error as error:
                    errors.append(error.args[0])
        assert errors[0] == errors[1], self.said[-12:]


def value(chance, spec):
    text = spec.replace("#", str(chance.randrange(1, 30)))
    return int(text) if text.isdigit() else text


def play(sides, scene, chance):
    mine = chance.sample(scene.statements, min(len(scene.statements), chance.choice((6, 10, 14))))
    for _ in range(STATEMENTS):
        what = chance.random()
        if what < 0.06:
            sides.ask(chance.choice(SETTINGS))
        elif what < 0.09:
            sides.change(chance.choice(scene.changes))
        elif what < 0.12:
            for text in LEFT_BEHIND:
                sides.ask(text)
        else:
            text, *specs = chance.choice(mine)
            values = [value(chance, spec) for spec in specs]
            as_text = chance.random() < 0.5
            sides.ask(in_text(text, values) if as_text else text, None if as_text else values)
            if chance.random() < 0.05:
                for one in sides.sessions:
                    one.forget(text)


@pytest.mark.parametrize("name", SCENES)
def test_tables_that_others_change(served, name):
    chance = random.Random(f"{seeds.chosen(3)} {name}")
    before = fast(served)
    for _ in range(ROUNDS):
        with contextlib.contextmanager(filled)(served, SCENES[name].tables), contextlib.closing(Sides(served)) as sides:
            play(sides, SCENES[name], chance)
            for one in sides.sessions:
                one.query("COMMIT")
            same_tables(served, SCENES[name].reads)
    assert fast(served) - before > ROUNDS * STATEMENTS / 20
