"""Writes by key that the SQL door's worker does: answers, tables and sessions as on the server's own port.

Two databases hold the same tables. One is written through the door, the other on the server's own port, by the same
statements, as text and prepared; every byte of every answer is compared, the sessions' state afterwards, and in the end
the tables. test_random_writes.py has random ones.
"""
import contextlib
import random
import threading
import time
from decimal import Decimal

import pytest
from support.clients import sql_session
from support.both_ports import LEFT_BEHIND, ask, fast, filled, learnt, on_door, pair, same_tables
from support.both_ports import served  # noqa: F401
from support.random_input.random_writes import LOCKS, READS, TABLES
from support.clients.sql_session import Literal


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


EXAMPLES = (
    ("UPDATE w SET c = ? WHERE id = ?", ("new", 5)),
    ("UPDATE w SET c = ? WHERE id = ?", ("new", 5)),  # changed: 0
    ("UPDATE w SET c = ? WHERE id = ?", ("new", 9999)),  # matched: 0
    ("UPDATE w SET b = b + ? WHERE id = ?", (3, 6)),
    ("UPDATE w SET b = b - ?, c = ? WHERE k = ?", (3, None, "k7")),
    ("UPDATE w SET b = COALESCE(b, 0) + ? WHERE id = ?", (3, 6)),
    ("UPDATE w SET b = GREATEST(IFNULL(b, 0) - ?, 5) WHERE id = ?", (900, 7)),
    ("UPDATE w SET n = n + ?, b = b + 1 WHERE id = ?", (Decimal("10.25"), 6)),
    ("UPDATE w SET n = n - ?, f = f + ? WHERE id = ?", (Decimal("0.10"), 2.5, 6)),
    ("DELETE FROM w WHERE id = ?", (8,)),
    ("UPDATE w SET b = b + ?, c = ? WHERE id IN (?, ?, ?, ?)", (3, "new", 19, 15, 9999, 19)),
    ("UPDATE w SET t = ? WHERE id IN (?, ?) AND u < ?", (5, 17, 30, 25)),
    ("DELETE FROM w WHERE k IN (?, ?, ?)", ("k11", "k12", "none")),
    ("DELETE FROM pairs WHERE a = ? AND b IN (?, ?)", (4, "k1", "k3")),
    ("INSERT INTO ids (a, n) VALUES (?, ?)", ("new", 6)),
    ("INSERT INTO ids (id, a, n) VALUES (?, ?, DEFAULT)", (6000, "new")),
    ("INSERT INTO ids (a, n) VALUES (?, ?), (?, ?)", ("new", 6, "newer", 7)),
    ("INSERT INTO pairs VALUES (?, ?, ?)", (6000, "k", 7)),
    ("UPDATE w SET t = ? WHERE b = ? AND u < ?", (5, 160, 400)),
    ("UPDATE w SET t = ? WHERE b IN (?, ?, ?) AND u < ?", (5, 10, 160, 290, 20)),
    ("UPDATE w SET t = ? WHERE b >= ? AND b < ? AND u <> ?", (5, 200, 240, 22)),
    ("DELETE FROM w WHERE b = ? AND u > ?", (170, 400)),
    ("DELETE FROM w WHERE b BETWEEN ? AND ? AND u IN (?, ?)", (200, 240, 21, 23)),
    ("UPDATE pairs SET v = ? + 1 WHERE (a, b) IN ((?, ?), (?, ?))", (7, 9, "k1", 8, "k2")),
    ("DELETE FROM pairs WHERE (a, b) IN ((?, ?), (?, ?), (?, ?))", (9, "k1", 8, "k2", 9, "k1")),
    (
        "UPDATE w SET c = ?, n = ?, f = ?, y = ? WHERE id = ?",
        (Literal(r"'it''s\\'"), Literal("1.25"), Literal("-1.5e-3"), Literal("x'00ff'"), 5),
    ),
    ("UPDATE w SET x = ?, f = ? WHERE k = ?", (Literal(r"'\'\"\n\0\%'"), -2.625, Literal('"k7"'))),
    ("INSERT INTO ids (a, t) VALUES (?, ?)", ("new", Literal("'a''s \\\\ c'"))),
)


def other(value, number):
    if isinstance(value, int):
        return value + 100 + number
    return f"{value}{number}" if isinstance(value, str) and value.startswith("new") else value


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
@pytest.mark.parametrize("text, values", EXAMPLES)
def test_a_session_has_the_same_state_afterwards(tables, text, values, prepared):
    sessions = pair(tables)
    for number in range(3):  # the form is known from here on
        others = [other(value, number) for value in values]
        ask(sessions, text if prepared else sql_session.in_text(text, others), others if prepared else None)
    ask(sessions, "FLUSH STATUS")
    fast = tables.status("Postern%")["postern_statements_fast"]
    ask(sessions, text if prepared else sql_session.in_text(text, values), values if prepared else None)
    assert tables.status("Postern%")["postern_statements_fast"] == fast + 1
    for left in LEFT_BEHIND:
        ask(sessions, left)
    same_tables(tables, READS)


@pytest.mark.parametrize(
    "setting",
    [
        "SET sql_log_bin = 0",
        "SET binlog_format = STATEMENT",
        "SET foreign_key_checks = 0",
        "SET unique_checks = 0",
        "SET check_constraint_checks = 0",
        "SET timestamp = 1700000000",
        "SET insert_id = 77777",
        "SET gtid_seq_no = 77777",
        "SET gtid_domain_id = 7",
        "SET skip_replication = 1",
        "SET auto_increment_increment = 3",
        "SET TRANSACTION READ ONLY",
        "SET SESSION TRANSACTION READ ONLY",
        "LOCK TABLES w WRITE",
        "CREATE TEMPORARY TABLE w (id INT PRIMARY KEY, b INT)",
    ],
)
def test_settings_that_a_shared_transaction_cannot_honour_are_the_servers(tables, setting):
    session = on_door(tables)
    text = "UPDATE w SET b = b + 1 WHERE id = 5"
    learnt(session, text)
    before = fast(tables)
    session.query(text)
    assert fast(tables) == before + 1
    assert session.query(setting)[4] == 0
    before = fast(tables)
    session.query(text)
    assert fast(tables) == before


STEPS = (
    "UPDATE w SET b = b + 1 WHERE id = 5",
    "INSERT INTO ids (a, n) VALUES ('own', 3)",
    "DELETE FROM w WHERE id = 7",
    "INSERT INTO pairs VALUES (7000, 'own', 1)",
    "UPDATE pairs SET n = 5 WHERE a = 7000 AND b = 'own'",
)


def learn_all(sessions):
    for text in STEPS:
        for number in range(3):
            ask(sessions, text.replace("'own'", f"'own{number}'").replace("= 5", f"= {number + 9}"))


@pytest.mark.parametrize("begin, end", [("BEGIN", "COMMIT"), ("BEGIN", "ROLLBACK"), ("SET autocommit = 0", "ROLLBACK")])
def test_writes_of_a_transaction_are_its_own(tables, begin, end):
    sessions = pair(tables)
    learn_all(sessions)
    ask(sessions, begin)
    before = fast(tables)
    for text in STEPS[:3]:
        ask(sessions, text)
    assert fast(tables) == before + 3
    ask(sessions, "SAVEPOINT s")
    ask(sessions, "UPDATE w SET b = 99 WHERE id = 5")
    ask(sessions, "UPDATE w SET b = b + 1 WHERE id = 6")
    ask(sessions, "ROLLBACK TO SAVEPOINT s")
    ask(sessions, "SELECT b FROM w WHERE id = 5")
    ask(sessions, "SELECT id FROM w WHERE id = 7")
    others = pair(tables)
    for text in ("SELECT b FROM w WHERE id = 5", "SELECT id FROM w WHERE id = 7"):
        ask(others, text)
    for left in LEFT_BEHIND:
        ask(sessions, left)
    ask(sessions, end)
    ask(sessions, "SELECT b FROM w WHERE id = 5")
    same_tables(tables, READS)


def test_a_locked_row_in_a_transaction_leaves_the_transaction_as_it_was(tables):
    text = "UPDATE w SET b = b + 1 WHERE id = {}"
    session = on_door(tables)
    learnt(session, text.format(5))
    with contextlib.closing(tables.connect(database="by_door")) as holder:
        holder.begin()
        holder.cursor().execute("UPDATE w SET b = 1000 WHERE id = 6")
        session.query("SET innodb_lock_wait_timeout = 1")
        session.query("UPDATE w SET b = 0 WHERE id = 5")
        session.query("BEGIN")
        assert session.query(text.format(5))[4] == 0
        assert session.query(text.format(6))[4:7] == b"\xff\xb5\x04"  # 1205
        assert session.query(text.format(5))[4] == 0
        session.query("SET innodb_lock_wait_timeout = 50")
        session.put(bytes([sql_session.QUERY]) + text.format(6).encode())
        neighbour = on_door(tables)
        assert neighbour.query("UPDATE w SET b = 7 WHERE id = 8")[4] == 0  # on the same worker
        tables.wait_for_row_lock()
        holder.commit()
        assert session.answer()[4] == 0
    assert tables.query("SELECT b FROM w WHERE id = 5", database="by_door") == [(0,)]
    session.query("COMMIT")
    assert tables.query("SELECT b FROM w WHERE id IN (5, 6)", database="by_door") == [(2,), (1001,)]


def test_of_several_rows_none_is_changed_where_one_is_locked(tables):
    text = "UPDATE w SET b = b + 1 WHERE id IN ({}, {})"
    session = on_door(tables)
    learnt(session, text.format(7, 8))
    rows = "SELECT b FROM w WHERE id IN (5, 6)"
    tables.execute("UPDATE w SET b = 0 WHERE id IN (5, 6)", database="by_door")
    with contextlib.closing(tables.connect(database="by_door")) as holder:
        holder.begin()
        holder.cursor().execute("UPDATE w SET t = 1 WHERE id = 6")
        session.query("SET innodb_lock_wait_timeout = 1")
        for begin in ("SET @none = 1", "BEGIN"):
            session.query(begin)
            assert session.query(text.format(5, 6))[4:7] == b"\xff\xb5\x04"  # 1205
            session.query("COMMIT")
            assert tables.query(rows, database="by_door") == [(0,), (0,)]
        holder.rollback()
    before = fast(tables)
    assert session.query(text.format(5, 6))[4:6] == b"\0\2"
    assert fast(tables) == before + 1
    assert tables.query(rows, database="by_door") == [(1,), (1,)]


@pytest.mark.parametrize("how", LOCKS)
@pytest.mark.parametrize("begin", ["BEGIN", "SET autocommit = 0"])
def test_a_row_that_is_read_is_locked_until_the_end(tables, begin, how):
    text = f"SELECT b FROM w WHERE id = 5 {how}"
    session = on_door(tables)
    learnt(session, text)
    assert session.query(begin)[4] == 0
    before = fast(tables)
    session.query(text)
    assert fast(tables) == before + 1
    with contextlib.closing(tables.connect(database="by_door")) as other:
        cursor = other.cursor()
        cursor.execute("SET innodb_lock_wait_timeout = 1")
        cursor.execute("SELECT b FROM w WHERE id = 5 LOCK IN SHARE MODE" if how == LOCKS[1] else "SELECT 1")
        with pytest.raises(Exception, match="1205"):
            cursor.execute("UPDATE w SET b = b + 1 WHERE id = 5")
        other.rollback()
        assert session.query("COMMIT")[4] == 0
        cursor.execute("UPDATE w SET b = b + 1 WHERE id = 5")
        other.rollback()


def test_a_read_that_locks_waits_as_the_server_does(tables):
    text = "SELECT b FROM w WHERE id = 5 FOR UPDATE"
    session = on_door(tables)
    learnt(session, text)
    with contextlib.closing(tables.connect(database="by_door")) as holder:
        holder.begin()
        holder.cursor().execute("UPDATE w SET b = 1000 WHERE id = 5")
        session.put(bytes([sql_session.QUERY]) + text.encode())
        tables.wait_for_row_lock()
        holder.commit()
        assert b"\x041000" in session.answer()


def test_one_of_the_two_gets_the_deadlock(tables):
    text = "UPDATE w SET b = b + 1 WHERE id = {}"
    one, two = on_door(tables), on_door(tables)
    learnt(one, text.format(5))
    tables.execute("UPDATE w SET b = 0 WHERE id IN (5, 6)", database="by_door")
    for session, row in ((one, 5), (two, 6)):
        session.query("BEGIN")
        assert session.query(text.format(row))[4] == 0
    one.put(bytes([sql_session.QUERY]) + text.format(6).encode())
    tables.wait_for_row_lock()
    two.put(bytes([sql_session.QUERY]) + text.format(5).encode())
    told = [one.answer()[4:7], two.answer()[4:7]]
    assert told.count(b"\xff\xbd\x04") == 1, told  # 1213
    for session in (one, two):
        session.query("COMMIT")
    assert tables.query("SELECT b FROM w WHERE id IN (5, 6)", database="by_door") == [(1,), (1,)]


def test_privileges_are_asked_for_each_statement(tables):
    tables.execute(
        "CREATE OR REPLACE USER few@'%' IDENTIFIED BY ''",
        "GRANT SELECT (id), UPDATE (b) ON by_door.w TO few@'%'",
    )
    learnt(on_door(tables), "UPDATE w SET b = 9 WHERE id = 5")
    learnt(on_door(tables), "UPDATE w SET b = u + 9 WHERE id = 5")
    learnt(on_door(tables), "UPDATE w SET n = 9 WHERE id = 5")
    learnt(on_door(tables), "DELETE FROM w WHERE id = 5000")
    session, before = on_door(tables, "few"), fast(tables)
    assert session.query("UPDATE w SET b = 10 WHERE id = 5")[4] == 0
    assert fast(tables) == before + 1
    for denied in (
        "UPDATE w SET b = u + 1 WHERE id = 5",
        "UPDATE w SET n = 1 WHERE id = 5",
        "DELETE FROM w WHERE id = 5",
    ):
        assert session.query(denied)[4] == 0xFF, denied
    tables.execute("REVOKE UPDATE (b) ON by_door.w FROM few@'%'")
    assert session.query("UPDATE w SET b = 11 WHERE id = 5")[4] == 0xFF
    assert fast(tables) == before + 1
    assert tables.query("SELECT b, n FROM w WHERE id = 5", database="by_door") == [(10, 9)]


def test_a_locked_row_is_waited_for_as_that_session(tables):
    session, text = on_door(tables), "UPDATE w SET b = b + 1 WHERE id = 5"
    learnt(session, text)
    with contextlib.closing(tables.connect(database="by_door")) as holder:
        holder.begin()
        holder.cursor().execute("UPDATE w SET b = 1000 WHERE id = 5")
        session.query("SET innodb_lock_wait_timeout = 1")
        assert session.query(text)[4:7] == b"\xff\xb5\x04"  # 1205
        session.query("SET innodb_lock_wait_timeout = 50")
        session.put(bytes([sql_session.QUERY]) + text.encode())
        neighbour = on_door(tables)
        assert neighbour.query("UPDATE w SET b = 7 WHERE id = 6")[4] == 0  # on the same worker
        tables.wait_for_row_lock()
        holder.commit()
    assert session.answer()[4] == 0
    assert tables.query("SELECT b FROM w WHERE id = 5", database="by_door") == [(1001,)]


def test_acknowledged_writes_are_in_the_table(tables):
    """Sessions increment the same few rows, beside others that lock them, alter the table and kill: acknowledged writes
    last."""
    rows, seconds, told, lock = 4, 4, [0] * 5, threading.Lock()
    learnt(on_door(tables), "UPDATE w SET b = b + 1 WHERE id = 1")
    tables.execute("UPDATE w SET b = 0 WHERE id <= 4", database="by_door")
    stop, unsure = time.monotonic() + seconds, [0] * 5

    def add(seed):
        chance = random.Random(seed)
        session = on_door(tables)
        while time.monotonic() < stop:
            row = chance.randrange(1, rows + 1)
            try:
                answer = session.query(f"UPDATE w SET b = b + 1 WHERE id = {row}")
            except (EOFError, ConnectionError):
                with lock:
                    unsure[row] += 1  # killed before the answer
                session = on_door(tables)
                continue
            if answer[4] == 0:
                assert answer[5] == 1
                with lock:
                    told[row] += 1

    def disturb():
        with contextlib.closing(tables.connect(database="by_door")) as other:
            other.autocommit(False)
            cursor = other.cursor()
            while time.monotonic() < stop:
                with contextlib.suppress(Exception):
                    cursor.execute("UPDATE w SET t = 1 WHERE id IN (3, 1)")
                    time.sleep(0.01)
                    cursor.execute("UPDATE w SET t = 2 WHERE id = 2")
                other.commit()
                with contextlib.suppress(Exception):
                    cursor.execute("SET STATEMENT lock_wait_timeout = 1 FOR ALTER TABLE w COMMENT = 'again'")
                cursor.execute(
                    "SELECT id FROM information_schema.processlist WHERE user = 'own' ORDER BY RAND() LIMIT 1"
                )
                for (number,) in cursor.fetchall():
                    with contextlib.suppress(Exception):
                        cursor.execute(f"KILL {random.choice(['QUERY', 'CONNECTION'])} {number}")

    before = fast(tables)
    threads = [threading.Thread(target=add, args=(seed,)) for seed in range(8)] + [threading.Thread(target=disturb)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fast(tables) > before
    for row in range(1, rows + 1):
        ((sum_of_row,),) = tables.query(f"SELECT b FROM w WHERE id = {row}", database="by_door")
        assert told[row] <= sum_of_row <= told[row] + unsure[row], (row, told, unsure, sum_of_row)
    tables.assert_alive()


BYTES = ("x'00112233445566778899aabbccddeeff'", "0x{:032x}", "_binary'{:016d}'", "'{:016d}'", "x'4142'", "0x{:030x}")


def test_rows_are_found_by_bytes(tables):
    """UUIDs as applications store them."""
    sessions = pair(tables)
    ask(sessions, "CREATE TABLE uuids (id BINARY(16) PRIMARY KEY, v VARBINARY(20), n INT, KEY v (v))")
    before = fast(tables)
    for number in (1, 2, 300, 1, 2):
        for form in BYTES:
            key = form.format(number)
            ask(sessions, f"INSERT INTO uuids VALUES ({key}, {key}, {number})")
            ask(sessions, f"SELECT HEX(id) FROM uuids WHERE id = {key}")
            ask(sessions, f"SELECT n FROM uuids WHERE id IN ({key}, x'{'00' * 16}') ORDER BY id")
            ask(sessions, f"SELECT * FROM uuids WHERE id = {key} AND v >= {key} AND v <> x'41'")
            ask(sessions, f"SELECT id FROM uuids WHERE v = {key} ORDER BY id")
            ask(sessions, f"UPDATE uuids SET v = {form.format(number + 1)}, n = n + 1 WHERE id = {key}")
        ask(sessions, f"DELETE FROM uuids WHERE id = {BYTES[number % 4].format(number)}")
    assert fast(tables) > before + 40
    same_tables(tables, {"uuids": "SELECT HEX(id), HEX(v), n FROM uuids ORDER BY id"})


def test_many_sessions_share_a_commit(tables):
    sessions = [on_door(tables) for _ in range(24)]
    learnt(sessions[0], "UPDATE w SET b = b + 1 WHERE id = 1")

    def groups():
        return int(dict(tables.query("SHOW GLOBAL STATUS LIKE 'Binlog_commits'"))["Binlog_commits"])

    before, commits = fast(tables), groups()
    for _ in range(20):
        for number, session in enumerate(sessions):
            session.put(bytes([sql_session.QUERY]) + f"UPDATE w SET b = b + 1 WHERE id = {number + 1}".encode())
        for session in sessions:
            assert session.answer()[4] == 0
    assert fast(tables) - before == 20 * 24
    assert groups() - commits < 20 * 24 / 2


def test_an_empty_text_may_be_null(tables):
    """If the sql_mode says so. Forms, and statements prepared before, serve both modes."""
    sessions = pair(tables)
    for mode in ("DEFAULT", "'EMPTY_STRING_IS_NULL'", "DEFAULT"):
        ask(sessions, f"SET sql_mode = {mode}")
        for number, text in enumerate(("a", "b", "c", "", "d", ""), 20):
            for values in ((text, number), (text, number + 20)):
                statement = "UPDATE w SET c = ? WHERE id = ?"
                ask(
                    sessions,
                    sql_session.in_text(statement, values) if number % 2 else statement,
                    None if number % 2 else values,
                )
            ask(sessions, f"INSERT INTO ids (a, t) VALUES ('{number}{len(mode)}', '{text}')")
            ask(sessions, f"SELECT id FROM w WHERE c = '{text}' AND u > 15")
            ask(sessions, "SELECT id FROM w WHERE c = ? AND u > 15", (text,))
    same_tables(tables, READS)
