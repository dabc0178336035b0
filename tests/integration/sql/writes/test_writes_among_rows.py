"""UPDATE and DELETE of some of the rows that an index finds: the answers, the rows and the locks equal those at the
server's port, also where the server may take another index for other values."""
import random

import pytest
from support.random_input.planned_once import fast, plain, sessions  # noqa: F401
from support.row_locks import id_of, locks_of
from support.random_input.seeds import chosen

TABLES = (
    # Every tenth entry has an article of its own; owner 1 has nine tenths of all, and feed 3 every fourth.
    "CREATE OR REPLACE TABLE entry (id INT PRIMARY KEY, ref INT NOT NULL, feed INT, owner INT NOT NULL, unread TINYINT"
    " NOT NULL, score INT, note INT NOT NULL, word"
    " VARCHAR(30) CHARACTER SET utf8mb4 NOT NULL, KEY word (word(2)), KEY ref (ref), KEY feed (feed), KEY owner (owner), KEY place (score, feed))",
    "INSERT INTO entry SELECT seq, seq DIV 2, IF(seq % 4, seq % 90, 3), IF(seq % 10, 1, seq), seq % 3 = 0, seq % 40, 0, CONCAT('aw', seq % 7)"
    " FROM seq_1_to_2000",
    "CREATE OR REPLACE TABLE few (id INT PRIMARY KEY, ref INT, n INT, KEY (ref))",
    "INSERT INTO few SELECT seq, seq % 5, seq FROM seq_1_to_30",
    # The server's own statistics know of few rows.
    "CREATE OR REPLACE TABLE grown (id INT PRIMARY KEY, ref INT NOT NULL, n INT, KEY (ref))",
    "INSERT INTO grown SELECT seq, 0, 1 FROM seq_1_to_20",
    "ANALYZE TABLE grown PERSISTENT FOR ALL",
    "INSERT INTO grown SELECT seq, IF(seq <= 340, seq % 40, seq), 1 FROM seq_21_to_640",
    "ANALYZE TABLE entry, few, grown",
)
# Text, range of its first value, and how many of 40 executions a worker answers at least.
STATEMENTS = (
    ("UPDATE entry SET note = 1 WHERE ref = %d AND unread = 1", 1000, 30),
    ("UPDATE entry SET note = 1, score = score + 1 WHERE ref = %d AND note <> 2", 1000, 30),
    ("DELETE FROM entry WHERE ref = %d AND unread = 0", 1000, 30),
    ("UPDATE entry SET unread = 0 WHERE ref IN (%d, 5, 700) AND unread = 1", 1000, 30),
    ("UPDATE entry SET note = 1 WHERE (ref = %d OR ref = 9 OR ref = 800) AND word = 'aw3'", 1000, 30),
    ("DELETE FROM entry WHERE (id = %d OR 7 = id) AND unread = 1", 1000, 30),
    (
        "UPDATE entry SET note = 1 WHERE (score = %d AND feed = 3) OR (score = 4 AND feed = 8) OR (score = 9 AND feed = 3)",
        40,
        0,
    ),
    ("DELETE FROM entry WHERE id = %d OR feed = 3", 1000, 0),
    ("UPDATE entry SET note = 1 WHERE ref = %d AND NOT unread", 1000, 30),
    ("UPDATE entry SET note = 1 WHERE unread AND ref = %d", 1000, 30),
    ("UPDATE entry SET note = 1 WHERE ref = %d AND (unread = NULL OR (NULL IS NULL AND unread))", 1000, 30),
    ("UPDATE entry SET note = 1 WHERE ref = %d AND (feed = NULL OR (NULL IS NULL AND feed IS NULL))", 1000, 0),
    ("UPDATE entry SET note = 1 WHERE ref = %d AND unread AND feed", 1000, 0),
    ("UPDATE entry SET note = 1 WHERE ref = %d AND NOT feed", 1000, 0),
    ("UPDATE entry SET unread = 0 WHERE ref > 930 + %d AND ref <= 1000 AND unread = 1", 70, 20),
    ("UPDATE entry SET note = 1 WHERE score = %d AND feed = 3 AND unread IS NOT NULL", 40, 0),
    ("UPDATE entry SET note = 1 WHERE score = 4 AND feed = %d AND owner = 1", 90, 0),
    ("UPDATE entry SET note = 1 WHERE id > 930 + %d AND id <= 1000 AND unread = 1", 70, 20),
    ("DELETE FROM entry WHERE id IN (%d, 7, 900) AND unread = 1", 1000, 30),
    # Another index may be better, or an intersection.
    ("UPDATE entry SET note = 1 WHERE ref = %d AND owner = 1", 1000, 0),
    ("UPDATE entry SET note = 1 WHERE feed = %d AND owner = 1", 90, 0),
    ("UPDATE entry SET note = 1 WHERE owner = %d AND feed = 3", 2000, 15),
    ("DELETE FROM entry WHERE owner = %d AND feed = 3", 200, 15),
    ("UPDATE entry SET note = 1 WHERE ref IN (%d, 8) AND owner = 1", 1000, 30),
    ("UPDATE entry SET note = 1 WHERE feed = %d AND unread = 1", 90, 10),
    ("UPDATE entry SET note = 1 WHERE ref = %d AND id > 50 AND unread = 1", 1000, 0),
    ("UPDATE entry SET note = 1 WHERE id > 930 + %d AND id <= 1000 AND owner = 1", 70, 0),
    ("UPDATE entry FORCE INDEX (ref) SET note = 1 WHERE ref = %d AND id > 700 AND unread = 1", 1000, 0),
    ("UPDATE entry USE INDEX (feed) SET note = 1 WHERE feed = %d AND id < 700 AND unread = 1", 90, 0),
    ("UPDATE entry SET note = 1 WHERE ref = %d AND word = 'aw3'", 1000, 30),
    ("UPDATE entry SET note = 1 WHERE ref IN (%d, 9, 800) AND word = 'aw3'", 1000, 30),
    ("UPDATE entry SET note = 1 WHERE score = %d AND word = 'none'", 40, 0),
    # The server reads all rows.
    ("UPDATE grown SET n = 2 WHERE ref = %d AND n > 0", 60, 0),
    ("UPDATE few SET n = 1 WHERE ref = %d AND n < 9", 5, 0),
)


@pytest.fixture(scope="module")
def tables(plain):
    plain.execute(*TABLES, "SET GLOBAL innodb_status_output_locks = ON", database="test")
    return plain


@pytest.mark.parametrize("isolation", ("REPEATABLE READ", "READ COMMITTED"))
@pytest.mark.parametrize("text, end, least", STATEMENTS)
def test_answers_and_locks_are_those_of_the_port(tables, text, end, least, isolation):
    pair = sessions(tables)
    ids = [id_of(one) for one in pair]
    for one in pair:
        one.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
    chance = random.Random(chosen() + len(text))
    answered = 0
    for turn in range(43):
        number = 3 if turn % 8 == 5 else chance.randrange(1, end)
        seen = []
        for one, own in zip(pair, ids):
            one.query("BEGIN")
            before = fast(tables)
            answer = one.query(text % number)
            answered += fast(tables) - before
            seen.append((answer, locks_of(tables, own)))
            one.query("ROLLBACK")
        assert seen[0] == seen[1], (text, number)
        assert seen[0][1], "the monitor shows no lock"
    assert answered >= least


@pytest.mark.parametrize("isolation", ("REPEATABLE READ", "READ COMMITTED"))
def test_a_row_that_another_session_has_is_met_as_at_the_port(tables, isolation):
    """At READ COMMITTED the server passes a locked row whose committed version it would not change."""
    pair = sessions(tables)
    ids = [id_of(one) for one in pair]
    holder = sessions(tables)[1]
    text = "UPDATE entry SET note = 1 WHERE ref IN (%d, 20) AND unread = 1"
    for one in pair:
        one.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        one.query("SET innodb_lock_wait_timeout = 0")
    for number in range(10, 14):
        for one in pair:
            one.query(text % number)
    holder.query("BEGIN")
    holder.query("SELECT id FROM entry WHERE id IN (20, 22, 24, 27, 41) FOR UPDATE")
    for number in range(10, 15):
        seen = []
        for one, own in zip(pair, ids):
            one.query("BEGIN")
            seen.append((one.query(text % number), locks_of(tables, own)))
            one.query("ROLLBACK")
        assert seen[0] == seen[1], number


@pytest.mark.parametrize(
    "text",
    (
        "UPDATE entry SET note = 1 WHERE ref > %d AND ref < 500 AND unread = 1",
        "DELETE FROM entry WHERE ref >= %d AND ref < 500",
        "SELECT id FROM entry WHERE id > %d AND id <= 500 ORDER BY id FOR UPDATE",
    ),
)
def test_a_range_without_values_locks_nothing(tables, text):
    door, port = sessions(tables)
    ids = [id_of(one) for one in (door, port)]
    before = fast(tables)
    for number in range(485, 497):
        for one in (door, port):
            one.query("BEGIN")
            one.query(text % number)
            one.query("ROLLBACK")
    assert fast(tables) - before >= 8
    for number in (500, 501, 900):
        seen = []
        for one, own in zip((door, port), ids):
            one.query("BEGIN")
            seen.append((one.query(text % number), locks_of(tables, own)))
            one.query("ROLLBACK")
        assert seen[0] == seen[1], number


def test_rows_that_are_passed_are_free_at_read_committed(tables):
    """InnoDB unlocks them where it walks along the primary key."""
    door = sessions(tables)[0]
    other = sessions(tables)[1]
    other.query("SET innodb_lock_wait_timeout = 0")
    door.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    text = "UPDATE entry SET note = 3 WHERE id > %d AND id <= 73 AND unread = 1"
    for number in range(66, 70):
        door.query(text % number)
    door.query("BEGIN")
    before = fast(tables)
    door.query(text % 70)  # of the rows from 71 to 73 one is unread
    assert fast(tables) == before + 1
    for free in (71, 73):
        assert b"\xff" != other.query(f"UPDATE entry SET note = 4 WHERE id = {free}")[4:5]
    assert b"\xff\xb5\x04" in other.query("UPDATE entry SET note = 5 WHERE id = 72")[4:8]
    door.query("ROLLBACK")


def test_other_sessions_may_want_other_switches(tables):
    door = sessions(tables)[0]
    text = "UPDATE entry SET note = 1 WHERE ref = %d AND unread = 1"
    for number in range(40, 44):
        door.query(text % number)
    for setting, served in (
        ("SET optimizer_switch = 'index_merge_sort_intersection=on'", 0),
        ("SET optimizer_switch = DEFAULT", 1),
        ("SET eq_range_index_dive_limit = 1", 0),
        ("SET eq_range_index_dive_limit = 2", 1),
    ):
        door.query(setting)
        before = fast(tables)
        door.query(text % 50)
        assert fast(tables) - before == served, setting
