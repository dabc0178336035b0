"""Random writes by key: answers, sessions and tables as on the server's own port.

Plans of forms that fail by chance pause for a while, for all sessions of the server. So these tests have a server of
their own: those of test_writes.py and test_writes_of_new_rows.py count the statements that workers answer.

SEED=N in the environment makes other choices, STATEMENTS=N makes it longer.
"""
import os

import pytest
from support.random_input import random_new_rows, random_writes
from support import replica as replicas
from support.clients import sql_session
from support.random_input import seeds
from support.both_ports import LEFT_BEHIND, SIDES, ask, ask_by_chance, fast, filled, pair, same_tables
from support.both_ports import follower, served  # noqa: F401

STATEMENTS = int(os.environ.get("STATEMENTS") or 1000)
KINDS = pytest.mark.parametrize(
    "capabilities, binlog_format",
    [(0, "ROW"), (sql_session.FOUND_ROWS, "MIXED"), (sql_session.DEPRECATE_EOF | sql_session.SESSION_TRACK, "ROW")],
    ids=["plain", "found_rows", "tracked"],
)


@pytest.fixture
def tables(served):
    yield from filled(served, random_writes.TABLES)


@pytest.fixture
def tables_for_new_rows(served):
    yield from filled(served, random_new_rows.TABLES)


SETTINGS = (
    "SET sql_mode = DEFAULT",
    "SET sql_mode = ''",
    "SET sql_mode = 'TRADITIONAL'",
    "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,STRICT_ALL_TABLES'",
    "SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES'",
    "SET sql_mode = 'ANSI_QUOTES'",
    "SET sql_mode = 'EMPTY_STRING_IS_NULL'",
    "SET NAMES gbk",
    "SET NAMES sjis",
    "SET time_zone = '+05:30'",
    "SET time_zone = 'SYSTEM'",
    "SET NAMES latin1",
    "SET NAMES binary",
    "SET NAMES utf8mb4",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SET sql_safe_updates = 1",
    "SET sql_safe_updates = 0",
    "SET lc_messages = 'de_DE'",
    "SET lc_messages = 'en_US'",
    "SET sql_notes = 0",
    "SET sql_notes = 1",
    "SET @v = 5",
    "SET @v = 70",
    "SET @v = LAST_INSERT_ID()",
    "SET @v = '12'",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET autocommit = 0",
    "SET autocommit = 1",
)


@KINDS
def test_random_writes_are_done_alike(tables, follower, capabilities, binlog_format):
    tables.execute(f"SET GLOBAL binlog_format = {binlog_format}")
    seed = seeds.chosen()
    writes, sessions = random_writes.Writes(seed), pair(tables, capabilities)
    chance = writes.random
    before, known = fast(tables), []
    # If texts were bound before SET NAMES, the server logs the statement in the wrong character set.
    other_characters = ("SET NAMES latin1", "SET NAMES binary", "SET NAMES gbk", "SET NAMES sjis")
    settings = [one for one in SETTINGS if binlog_format == "ROW" or one not in other_characters]
    for _ in range(STATEMENTS):
        if len(known) < 30 or chance.random() < 0.05:
            known.append(writes.write())
            known = known[-40:]
        if chance.random() < 0.03:
            ask(sessions, chance.choice(settings))
        elif chance.random() < 0.03:
            for usual in ("COMMIT", "SET autocommit = 1", "SET sql_mode = DEFAULT", "SET NAMES utf8mb4"):
                ask(sessions, usual)
        text, values = chance.choice(known)
        if chance.random() < 0.8:
            # The form again, on another row.
            values = [
                chance.randrange(1, 310) if isinstance(value, int) and chance.random() < 0.3 else value
                for value in values
            ]
        ask_by_chance(sessions, chance, text, values)
        if chance.random() < 0.2:
            for left in LEFT_BEHIND[:2]:
                ask(sessions, left)
    ask(sessions, "SET autocommit = 1")
    assert fast(tables) - before > STATEMENTS / 20
    same_tables(tables, random_writes.READS)
    replicas.catch_up(tables, follower)
    for database in SIDES.values():
        replicas.same(tables, follower, database)


NEW_ROWS_SETTINGS = (
    "SET sql_mode = DEFAULT",
    "SET sql_mode = ''",
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
    "SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "SET NAMES latin1",
    "SET NAMES utf8mb4",
    "SET auto_increment_increment = 3",
    "SET auto_increment_offset = 2",
    "SET auto_increment_increment = 1",
    "SET lc_messages = 'de_DE'",
    "SET lc_messages = 'en_US'",
    "SET sql_notes = 0",
    "SET sql_notes = 1",
    "SET max_error_count = 0",
    "SET max_error_count = 64",
    "SET old_mode = 'NO_DUP_KEY_WARNINGS_WITH_IGNORE'",
    "SET old_mode = DEFAULT",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET autocommit = 0",
    "SET autocommit = 1",
)
USUAL = (
    "COMMIT",
    "SET autocommit = 1",
    "SET auto_increment_increment = 1",
    "SET auto_increment_offset = 1",
    "SET sql_mode = DEFAULT",
    "SET old_mode = DEFAULT",
    "SET NAMES utf8mb4",
)


@KINDS
def test_random_new_rows_are_written_alike(tables_for_new_rows, follower, capabilities, binlog_format):
    tables = tables_for_new_rows
    tables.execute(f"SET GLOBAL binlog_format = {binlog_format}")
    seed = seeds.chosen()
    new_rows, sessions = random_new_rows.NewRows(seed), pair(tables, capabilities)
    chance, before, known = new_rows.random, fast(tables), []
    settings = [one for one in NEW_ROWS_SETTINGS if binlog_format == "ROW" or one != "SET NAMES latin1"]
    for _ in range(STATEMENTS):
        if len(known) < 30 or chance.random() < 0.05:
            known.append(new_rows.statement())
            known = known[-40:]
        if chance.random() < 0.02:
            ask(sessions, chance.choice(settings))
        elif chance.random() < 0.03:
            for usual in USUAL:
                ask(sessions, usual)
        text, values = chance.choice(known)
        values = new_rows.again(values)
        ask_by_chance(sessions, chance, text, values)
        if chance.random() < 0.3:
            for left in LEFT_BEHIND[:2]:
                ask(sessions, left)
    ask(sessions, "SET autocommit = 1")
    print(f"{fast(tables) - before} of {STATEMENTS} by workers")
    assert fast(tables) - before > STATEMENTS / 10
    same_tables(tables, random_new_rows.READS)
    replicas.catch_up(tables, follower)
    for database in SIDES.values():
        replicas.same(tables, follower, database)
