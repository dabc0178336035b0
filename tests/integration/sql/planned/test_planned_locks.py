"""FOR UPDATE and LOCK IN SHARE MODE of joins by primary keys, planned once: the rows and the locks equal those at the
server's port."""
import random

import pytest
from support.random_input.planned_once import fast, plain, sessions  # noqa: F401
from support.random_input.random_selects import TABLES
from support.row_locks import id_of, locks_of
from support.random_input.seeds import chosen

LOCKS = ("FOR UPDATE", "LOCK IN SHARE MODE")
MORE = (
    "CREATE OR REPLACE TABLE part (id INT PRIMARY KEY, whole INT, code INT NOT NULL, kind CHAR(2), UNIQUE (code))",
    "CREATE OR REPLACE TABLE two (a INT, b INT, part INT, v INT, PRIMARY KEY (a, b), KEY (part))",
    "INSERT INTO part SELECT seq, IF(seq % 7, seq + 1, NULL), seq + 1000, ELT(1 + seq % 3, 'a', 'b', 'c') FROM seq_1_to_60",
    "INSERT INTO two SELECT seq DIV 8, seq % 8, seq % 90, seq FROM seq_1_to_300",
    "ANALYZE TABLE part, two",
)
JOINS = (
    "SELECT s.id, s.price, h.name FROM sale s JOIN person h ON h.id = s.person WHERE s.id = %d",
    "SELECT s.id + 1, UPPER(h.name), p.code FROM sale s, person h, place p WHERE s.id = %d AND h.id = s.person AND p.id = h.place",
    "SELECT * FROM sale s STRAIGHT_JOIN person h ON h.id = s.person AND h.place > 3 WHERE s.id = %d AND s.n <> 2 LIMIT 1",
    "SELECT h.id, s.id FROM person h JOIN sale s ON s.id = h.id WHERE s.id = %d ORDER BY s.d",
    "SELECT t.v, q.kind FROM two t JOIN part q ON q.id = t.part WHERE t.a = %d AND t.b = 3",
    "SELECT q.id, r.kind FROM part q JOIN part r ON r.id = q.whole WHERE q.id = %d AND r.kind = 'b'",
)
# The server may lock more rows, or other ones.
OTHERS = (
    "SELECT h.id, s.id FROM person h JOIN sale s ON s.person = h.id WHERE h.id = %d",
    "SELECT s.id, h.name FROM sale s LEFT JOIN person h ON h.id = s.person WHERE s.id = %d",
    "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person WHERE s.person = %d",
    "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person WHERE s.id IN (%d, 5)",
    "SELECT q.id, r.kind FROM part q JOIN part r ON r.id = q.whole AND r.code = 1004 WHERE q.id = %d",
    "SELECT COUNT(*) FROM sale s JOIN person h ON h.id = s.person WHERE s.id = %d",
    "SELECT DISTINCT h.name FROM sale s JOIN person h ON h.id = s.person WHERE s.id = %d",
    "SELECT h.name FROM sale s JOIN (SELECT id, name FROM person) h ON h.id = s.person WHERE s.id = %d",
    "SELECT s.id FROM sale s WHERE s.id = %d AND EXISTS (SELECT 1 FROM person h WHERE h.id = s.person)",
)


@pytest.fixture(scope="module")
def tables(plain):
    plain.execute(*TABLES, *MORE, "SET GLOBAL innodb_status_output_locks = ON", database="test")
    return plain


WALKS = (
    "SELECT id, n FROM sale WHERE id = %d",
    "SELECT id, n FROM sale WHERE id = %d AND n > 2",
    "SELECT id, n FROM sale WHERE id IN (%d, 5, 7, 9)",
    "SELECT id, n FROM sale WHERE id > %d ORDER BY id LIMIT 3",
    "SELECT id, n FROM sale WHERE id < %d ORDER BY id DESC LIMIT 2",
    "SELECT id, n FROM sale WHERE id BETWEEN %d AND 12 LIMIT 4",
    "SELECT id FROM sale WHERE person = %d",
    "SELECT id, n FROM sale WHERE person = %d LIMIT 1",
    "SELECT id, n FROM sale WHERE person = %d ORDER BY id LIMIT 2",
    "SELECT id, tag FROM sale WHERE place = %d AND n = 2 LIMIT 2",
    "SELECT id, tag FROM sale WHERE place = %d ORDER BY n LIMIT 1",
    "SELECT id, tag FROM sale WHERE place = %d AND n > 2",
    "SELECT code FROM part WHERE code = 1000 + %d",
    "SELECT code, kind FROM part WHERE code > 1000 + %d ORDER BY code LIMIT 2",
    "SELECT v FROM two WHERE a = %d AND b > 2 ORDER BY b LIMIT 2",
    "SELECT word FROM tag WHERE sale = %d ORDER BY word",
    "SELECT COUNT(*) FROM tag WHERE sale = %d",
)

WAYS = (
    ("FOR UPDATE", "REPEATABLE READ"),
    ("FOR UPDATE NOWAIT", "REPEATABLE READ"),
    ("FOR UPDATE SKIP LOCKED", "REPEATABLE READ"),
    ("FOR UPDATE SKIP LOCKED", "READ COMMITTED"),
    ("LOCK IN SHARE MODE SKIP LOCKED", "REPEATABLE READ"),
)


def served(text, pair, number):
    return [one.query(text % number) for one in pair]


@pytest.mark.parametrize("how", LOCKS)
@pytest.mark.parametrize("text", JOINS)
def test_rows_and_locks_are_those_of_the_port(tables, text, how):
    pair = sessions(tables)
    ids = [id_of(one) for one in pair]
    text = f"{text} {how}"
    chance = random.Random(chosen() + len(text))
    found = [number for number in range(1, 100) if len(pair[1].query(text % number)) > len(pair[1].query(text % 7000))]
    answered = 0
    for turn in range(48):
        if turn % 24 == 0:
            for one in pair:
                one.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {'READ COMMITTED' if turn else 'REPEATABLE READ'}")
        number = chance.choice(found) if turn % 12 else chance.randrange(1, 910)
        seen = []
        for one, own in zip(pair, ids):
            one.query("BEGIN")
            before = fast(tables)
            rows = one.query(text % number)
            answered += fast(tables) - before
            seen.append((rows, locks_of(tables, own)))
            one.query("ROLLBACK")
        assert seen[0] == seen[1], (text, number)
        assert turn < 5 or seen[0][1], "the monitor shows no lock"
    assert answered >= 25


@pytest.mark.parametrize("text", WALKS)
def test_walks_lock_as_the_port_does(tables, text):
    pair = sessions(tables)
    holder = sessions(tables)[1]
    ids = [id_of(one) for one in pair]
    for one in pair:
        one.query("SET innodb_lock_wait_timeout = 0")
    for how, isolation in WAYS:
        for one in pair:
            one.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        before = fast(tables)
        for turn in range(12):
            if turn == 6:
                holder.query("BEGIN")
                holder.query("SELECT 1 FROM sale WHERE id IN (5, 8, 11, 138) FOR UPDATE")
                holder.query("SELECT 1 FROM part WHERE id IN (5, 8) FOR UPDATE")
            seen = []
            for one, own in zip(pair, ids):
                one.query("BEGIN")
                rows = one.query(f"{text} {how}" % (turn + 1))
                seen.append((rows, locks_of(tables, own)))
                one.query("ROLLBACK")
            assert seen[0] == seen[1], (text, how, turn)
        holder.query("ROLLBACK")
        # The worker answers BEGIN and ROLLBACK, too.
        assert text not in WALKS[:2] or fast(tables) - before > 24 + 5, (text, how)


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_the_servers(tables, text):
    pair = sessions(tables)
    text += " FOR UPDATE"
    before = fast(tables)
    for number in range(1, 14):
        answers = served(text, pair, number)
        assert answers[0] == answers[1], text
    assert fast(tables) == before


@pytest.mark.parametrize("wait", ("", " NOWAIT", " SKIP LOCKED"))
def test_a_locked_row_is_met_as_at_the_port(tables, wait):
    pair = sessions(tables)
    holder = sessions(tables)[1]
    text = JOINS[0] + " FOR UPDATE" + wait
    for number in range(1, 9):
        answers = served(text, pair, number)
        assert answers[0] == answers[1]
    before = fast(tables)
    assert pair[0].query(text % 5) == pair[1].query(text % 5)
    assert fast(tables) == before + 1
    holder.query("BEGIN")
    holder.query("SELECT id FROM person WHERE id = 5 FOR UPDATE")
    for one in pair:
        one.query("SET innodb_lock_wait_timeout = 1")
        one.query("BEGIN")
    answers = served(text, pair, 5)
    assert answers[0] == answers[1]
    assert (b"\xff\xb5\x04" in answers[0][4:8]) == (wait != " SKIP LOCKED"), answers[0]
    ids = [id_of(one) for one in pair]
    pair[1].query("ROLLBACK")
    pair[0].query("ROLLBACK")
    held = []
    for one, own in zip(pair, ids):
        one.query("BEGIN")
        one.query(text % 5)
        held.append(locks_of(tables, own))
        one.query("ROLLBACK")
    assert held[0] == held[1] and held[0]
    holder.query("ROLLBACK")
    assert pair[0].query(text % 5) == pair[1].query(text % 5)


def test_rows_stay_locked_and_are_the_newest(tables):
    door, port = sessions(tables)
    other = sessions(tables)[1]
    text = "SELECT s.n, h.place FROM sale s JOIN person h ON h.id = s.person WHERE s.id = %d FOR UPDATE"
    for number in range(1, 9):
        door.query(text % number)
    door.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    port.query("UPDATE sale SET n = 77 WHERE id = 6")
    before = fast(tables)
    assert b"\x0277" in door.query(text % 6)
    assert fast(tables) == before + 1
    other.query("SET innodb_lock_wait_timeout = 1")
    for blocked in ("UPDATE sale SET n = 1 WHERE id = 6", "UPDATE person SET place = 1 WHERE id = 6"):
        assert b"\xff\xb5\x04" in other.query(blocked)[4:8]
    door.query("COMMIT")
    assert b"\xff" != other.query("UPDATE person SET place = 1 WHERE id = 6")[4:5]


def test_a_lock_is_in_the_way_of_a_read_lock_on_tables(tables):
    """FLUSH TABLES WITH READ LOCK waits for the statement's metadata lock, which is a write's, and the statement waits
    for it."""
    door = sessions(tables)[0]
    text = JOINS[0] + " FOR UPDATE"
    for number in range(1, 9):
        door.query(text % number)
    holder = sessions(tables)[1]
    holder.query("FLUSH TABLES WITH READ LOCK")
    door.query("SET lock_wait_timeout = 1")
    before = fast(tables)
    assert b"\xff\xb5\x04" in door.query(text % 5)[4:8]
    assert fast(tables) == before
    holder.query("UNLOCK TABLES")
    door.query("BEGIN")
    before = fast(tables)
    door.query(text % 5)
    assert fast(tables) == before + 1
    holder.query("SET lock_wait_timeout = 1")
    assert b"\xff" == holder.query("LOCK TABLES sale READ")[4:5]
    assert b"\xff" == holder.query("ALTER TABLE person COMMENT 'held'")[4:5]
    door.query("COMMIT")
    assert b"\xff" != holder.query("ALTER TABLE person COMMENT 'free'")[4:5]


@pytest.mark.parametrize("setting", ("SET binlog_format = STATEMENT", "SET SESSION TRANSACTION READ ONLY"))
def test_sessions_that_may_not_lock_are_the_servers(tables, setting):
    pair = sessions(tables)
    text = JOINS[0] + " FOR UPDATE"
    for number in range(1, 9):
        served(text, pair, number)
    for one in pair:
        one.query(setting)
    before = fast(tables)
    answers = served(text, pair, 5)
    assert answers[0] == answers[1]
    assert fast(tables) == before
