"""SELECTs with subqueries, planned once: other rows, values, accounts and definitions at each execution."""
import threading
import time

import pytest
from support.random_input.planned_once import CHANGES, assert_alike, assert_each_has_its_view, fast, packets, sessions
from support.random_input.planned_once import plain  # noqa: F401
from support.random_input.random_selects import TABLES

SERVED = (
    "SELECT h.id FROM person h WHERE h.place = %d AND EXISTS (SELECT 1 FROM sale s WHERE s.person = h.id AND s.n = 2)",
    "SELECT h.id FROM person h WHERE h.place = %d AND NOT EXISTS (SELECT 1 FROM sale s WHERE s.person = h.id LIMIT 1)",
    "SELECT h.id FROM person h WHERE h.place = 3 AND EXISTS (SELECT * FROM sale s WHERE s.id = %d)",
    "SELECT h.id FROM person h WHERE h.place = 3 AND h.id NOT IN (SELECT s.person FROM sale s WHERE s.place = %d)",
    "SELECT s.id FROM sale s WHERE s.person IN (SELECT id FROM person WHERE place = %d) AND s.n = 1 ORDER BY s.id",
    "SELECT h.id FROM person h WHERE h.place = 4 AND h.id > (SELECT MIN(s.person) FROM sale s WHERE s.id = %d)",
    "SELECT p.name, (SELECT COUNT(*) FROM person h WHERE h.place = p.id) FROM place p WHERE p.id = %d",
    "SELECT s.id, (SELECT name FROM person WHERE id = s.person) n FROM sale s WHERE s.person = %d ORDER BY n, s.id",
    "SELECT h.id FROM person h WHERE h.place = %d AND (SELECT COUNT(*) FROM sale s WHERE s.person = h.id) > 6",
    "SELECT h.id FROM person h WHERE h.place = %d AND h.name IN (SELECT CONCAT('name', s.n) FROM sale s WHERE s.id < 30)",
    # In one another.
    "SELECT s.id FROM sale s WHERE s.person IN (SELECT h.id FROM person h WHERE h.place <> 5 AND (h.place NOT IN"
    " (SELECT p.id FROM place p WHERE p.id IN (3, 4)) OR h.id IN (7, 8))) AND s.place = %d ORDER BY s.id",
    "SELECT p.id FROM place p WHERE p.id = %d OR p.id < 4 AND EXISTS (SELECT 1 FROM person h WHERE h.place = p.id AND"
    " NOT EXISTS (SELECT 1 FROM sale s WHERE s.person = h.id AND s.n = p.id))",
    "SELECT p.id, (SELECT MAX(h.id) FROM person h WHERE h.place = p.id AND h.id IN (SELECT s.person FROM sale s WHERE"
    " s.n = 1 AND EXISTS (SELECT 1 FROM tag t WHERE t.sale = s.id))) m FROM place p WHERE p.id <> %d ORDER BY m, p.id",
    # Lists of what they find.
    "SELECT h.id, (SELECT GROUP_CONCAT(s.id) FROM sale s WHERE s.person = h.id AND s.n < 3) g FROM person h"
    " WHERE h.place = %d ORDER BY h.id",
    "SELECT h.id, (SELECT GROUP_CONCAT(DISTINCT t.word ORDER BY t.word DESC SEPARATOR '|') FROM sale s JOIN tag t"
    " ON t.sale = s.id WHERE s.person = h.id) g FROM person h WHERE h.id < %d ORDER BY g, h.id LIMIT 9",
    # The newest row of each.
    "SELECT h.id, (SELECT s.tag FROM sale s WHERE s.person = h.id AND s.n < 4 ORDER BY s.price DESC, s.id LIMIT 1) n"
    " FROM person h WHERE h.place = %d ORDER BY n, h.id",
    "SELECT h.id FROM person h WHERE h.place = %d AND 'name3' < (SELECT x.name FROM person x"
    " WHERE x.place = h.place AND x.id <> h.id ORDER BY x.note DESC, x.id LIMIT 1)",
    # Rows that are sorted, of which only a subquery needs some columns.
    "SELECT h.id, h.note, (SELECT COUNT(*) FROM place p WHERE p.id = h.place) FROM person h ORDER BY 3, 1 LIMIT %d",
    "SELECT h.id, h.note, (SELECT MIN(p.code) FROM place p WHERE p.id = h.place AND p.id <> %d) c FROM person h"
    " ORDER BY c DESC, h.id LIMIT 5",
    "SELECT h.id, h.note FROM person h WHERE h.id <> %d AND (SELECT COUNT(*) FROM place p"
    " WHERE p.id = h.place) = 0 ORDER BY h.name, h.id",
    "SELECT h.id, h.note FROM person h WHERE h.id > %d AND (h.id = 13 OR EXISTS (SELECT 1 FROM place p"
    " WHERE p.id = h.place LIMIT 1)) ORDER BY h.born DESC",
    "SELECT s.place + 0, (SELECT COUNT(*) FROM person h WHERE h.id = s.person) FROM sale s LEFT JOIN tag t"
    " ON t.sale = s.id ORDER BY 1, 2 LIMIT %d",
    # Joined, with rowids that have been found.
    "SELECT h.id FROM person h WHERE h.id IN (SELECT s.person FROM sale s WHERE s.place = %d AND s.n < 3)",
    "SELECT h.name, p.name FROM person h JOIN place p ON p.id = h.place WHERE h.id IN (SELECT s.person FROM sale s JOIN tag t"
    " ON t.sale = s.id WHERE s.place = %d AND t.word <> 'w3') ORDER BY h.id",
    "SELECT p.id, (SELECT MAX(h.id) FROM person h WHERE h.place = p.id AND h.id IN (SELECT s.person FROM sale s WHERE"
    " s.place = 3)) m FROM place p WHERE p.id <> %d ORDER BY m, p.id",
)


@pytest.mark.parametrize("text", SERVED)
def test_rows_change_between_executions(plain, text):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    before = fast(plain)
    for turn in range(40):
        assert_alike(text % (turn % 11 + 1), pair)
        plain.execute(CHANGES[turn % len(CHANGES)].format(n=turn * 17 % 890 + 1), database="test")
    assert fast(plain) - before >= 20


@pytest.mark.parametrize(
    "text",
    (
        "SELECT p.code, p.name FROM place p WHERE NOT EXISTS (SELECT * FROM person h WHERE h.id = %d) ORDER BY 1 DESC, 2",
        "SELECT p.code, p.name FROM place p WHERE p.id > 3 AND NOT EXISTS (SELECT * FROM person h WHERE h.id = %d)"
        " ORDER BY p.code DESC, p.id LIMIT 3",
        "SELECT h.since, h.note FROM person h WHERE h.place = 3 AND NOT EXISTS (SELECT 1 FROM sale s WHERE s.id = %d)"
        " ORDER BY h.note, h.id",
        "SELECT p.code, COUNT(*) FROM place p WHERE NOT EXISTS (SELECT * FROM person h WHERE h.id = %d) GROUP BY p.code"
        " ORDER BY 2 DESC, 1",
    ),
)
def test_executions_without_rows_come_first(plain, text):
    """A condition that needs no row is not true then, so nothing is sorted: later executions sort."""
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    before = fast(plain)
    for number in (3, 3, 3, 3, 3, 300000, 3, 300000, 300001, 300002, 3, 4, 300003, 300004, 300005):
        assert_alike(text % number, pair)
    assert fast(plain) - before >= 8


def test_a_condition_of_the_session_is_not_true_at_first(plain):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    text = "SELECT code, name FROM place WHERE LAST_INSERT_ID() = 7 AND name <> 'place%d' ORDER BY 1 DESC, 2 LIMIT 5"
    before = fast(plain)
    for known in (3, 7, 3, 7):
        for one in pair:
            one.query(f"DO LAST_INSERT_ID({known})")
        for number in range(6):
            assert_alike(text % number, pair)
    assert fast(plain) - before >= 12


def test_the_same_values_and_other_rows(plain):
    """The server treats an uncorrelated subquery as a constant, and would so keep its first value."""
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = (
        "SELECT h.id FROM person h WHERE h.place = 3 AND EXISTS (SELECT 1 FROM sale s WHERE s.id = 77)",
        "SELECT h.id FROM person h WHERE h.id = (SELECT MAX(s.person) FROM sale s WHERE s.place = 2)",
        "SELECT h.id + 1 FROM person h WHERE h.place < 4 AND (h.id, 1) = (h.id, 1) AND NULL IN (SELECT s.n FROM sale s)",
        "SELECT s.id FROM sale s WHERE s.id < 20 AND s.person NOT IN (SELECT t.sale FROM tag t WHERE t.word = 'w1')",
        "SELECT s.id, (SELECT MAX(n) FROM sale x WHERE x.place = 2) m FROM sale s WHERE s.person = 5",
    )
    for turn in range(30):
        for text in texts:
            assert_alike(text, pair)
        change = (
            f"UPDATE sale SET id = {77 if turn % 2 else 99077} WHERE id = {99077 if turn % 2 else 77}",
            f"UPDATE sale SET person = {turn + 50}, n = {turn} WHERE place = 2",
            f"UPDATE tag SET word = '{'w1' if turn % 4 else 'x1'}' WHERE word = '{'x1' if turn % 4 else 'w1'}'",
        )
        plain.execute(change[turn % 3], database="test")


@pytest.mark.parametrize(
    "text",
    (
        "SELECT h.id, (SELECT {0}(s.n) FROM sale s) x FROM person h WHERE h.place = %d",
        "SELECT h.id, (SELECT {0}(s.n) FROM sale s WHERE s.n < s.place) x FROM person h WHERE h.place = %d",
        "SELECT h.id FROM person h WHERE h.place = %d AND h.id > (SELECT {0}(s.n) FROM sale s)",
        "SELECT h.id FROM person h WHERE h.place = %d AND (SELECT {0}(s.n) FROM sale s) IS NULL",
        "SELECT h.id FROM person h WHERE h.place = %d AND EXISTS (SELECT {0}(s.n) FROM sale s HAVING {0}(s.n) > 3)",
        "SELECT h.id FROM person h WHERE h.place = %d AND EXISTS (SELECT s.n FROM sale s ORDER BY s.n)",
        "SELECT h.id FROM person h WHERE h.place = %d AND h.id <> (SELECT s.person FROM sale s ORDER BY s.n, s.id DESC LIMIT 1)",
        "SELECT h.id FROM person h WHERE h.place = %d AND h.id > (SELECT {0}(s.n) FROM sale s JOIN tag t ON t.sale = s.id)",
        "SELECT h.id, (SELECT {0}(s.n) FROM sale s WHERE s.id IN (SELECT t.sale FROM tag t)) x FROM person h WHERE h.place = %d",
    ),
)
@pytest.mark.parametrize("sum_", ("MIN", "COUNT"))
def test_subqueries_without_values_see_other_rows(plain, text, sum_):
    """They name no outer column and no value that varies: the server executes such a subquery once."""
    few = ("DELETE FROM sale WHERE id > 60", "CREATE OR REPLACE TABLE sold AS SELECT * FROM sale", "ANALYZE TABLE sale")
    plain.execute(*TABLES, *few, database="test")
    pair = sessions(plain)
    before = fast(plain)
    for turn in range(20):
        assert_alike(text.format(sum_) % (turn % 5), pair)
        change = ("UPDATE sale SET n = n + 5", "DELETE FROM sale", "INSERT INTO sale SELECT * FROM sold")
        plain.execute(change[turn % 3], database="test")
    assert fast(plain) - before >= 8


@pytest.mark.parametrize(
    "listed",
    (
        "(SELECT MIN(s.n) FROM sale s WHERE s.person = h.id AND s.place = {0})",
        "EXISTS (SELECT 1 FROM sale s WHERE s.person = h.id AND s.place > {0} + 1)",
        "1 + (SELECT COUNT(*) FROM sale s WHERE s.person = h.id AND s.tag LIKE 't{0}%')",
    ),
)
def test_literals_are_in_the_name_of_a_column_that_has_no_other(plain, listed):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    for name in ("", " AS answer"):
        before = fast(plain)
        for turn in range(24):
            place = turn // 3 % 4 if name == "" else turn % 7
            assert_alike(f"SELECT h.id, {listed.format(place)}{name} FROM person h WHERE h.place = {turn % 5}", pair)
        assert fast(plain) - before >= 8


@pytest.mark.parametrize("offset", ("LIMIT ?, 3", "LIMIT 2, ?", "LIMIT ? OFFSET 3", "LIMIT ?, ?"))
def test_an_offset_beside_a_limit_that_is_written_out(plain, offset):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = (
        "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person WHERE s.place = ? ORDER BY s.price, s.id ",
        "SELECT SQL_CALC_FOUND_ROWS s.id FROM sale s WHERE s.place = ? OR s.place = 3 ORDER BY s.tag DESC, s.id ",
        "SELECT n, COUNT(*) FROM sale WHERE place = ? GROUP BY n ORDER BY n ",
    )
    before = fast(plain)
    for turn in range(36):
        values = [turn % 4, turn // 4 % 3 + 1, turn % 3 + 1][: 1 + offset.count("?")]
        for text in texts:
            answers = [packets(one.execute(text + offset, values), ordered=True) for one in pair]
            assert answers[0] == answers[1], (text, offset, values)
    assert fast(plain) - before >= 30


def test_privileges_are_those_of_the_session(plain):
    plain.execute(*TABLES, database="test")
    plain.execute(
        "CREATE OR REPLACE USER some@'%' IDENTIFIED BY ''",
        "GRANT SELECT ON test.person TO some@'%'",
        "GRANT SELECT (id, person) ON test.sale TO some@'%'",
    )
    own, pair = sessions(plain)[0], sessions(plain, "some")
    texts = (
        "SELECT h.id FROM person h WHERE h.place = %d AND EXISTS (SELECT 1 FROM sale s WHERE s.person = h.id)",
        "SELECT h.id FROM person h WHERE h.place = %d AND EXISTS (SELECT 1 FROM sale s WHERE s.person = h.id AND s.n = 1)",
        "SELECT h.id, (SELECT MAX(s.n) FROM sale s WHERE s.person = h.id) FROM person h WHERE h.place = %d",
        "SELECT h.id FROM person h WHERE h.place = %d AND h.id IN (SELECT s.person FROM sale s WHERE s.n = 2)",
    )
    for step in ("", "GRANT SELECT ON test.sale TO some@'%'", "REVOKE SELECT ON test.sale FROM some@'%'"):
        if step:
            plain.execute(step)
        for number in range(1, 8):
            for text in texts:
                own.query(text % number)
                assert_alike(text % number, pair)


def test_definitions_change(plain):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = [text for text in SERVED if "sale" in text]
    for change in (
        "ALTER TABLE sale DROP KEY person",
        "ANALYZE TABLE sale",
        "ALTER TABLE sale ADD KEY person (person, n)",
        "ALTER TABLE sale MODIFY person BIGINT",
        "ALTER TABLE sale ADD COLUMN x INT DEFAULT 7 FIRST",
        "ALTER TABLE person MODIFY name VARCHAR(20) CHARACTER SET latin1",
        "FLUSH TABLES",
        "DROP TABLE sale",
    ):
        for number in range(1, 7):
            for text in texts:
                assert_alike(text % number, pair)
        began = time.monotonic()
        plain.execute(change, database="test")
        assert time.monotonic() - began < 5
    for text in texts:
        assert_alike(text % 1, pair)


def test_a_subquery_of_many_rows_ends_by_kill_and_by_limits(plain):
    """It may read far more rows than it returns: a worker gives it up, and the server's execution is killed."""
    plain.execute(*TABLES, database="test")
    plain.execute(
        "CREATE OR REPLACE TABLE much (id INT PRIMARY KEY, n INT)",
        "INSERT INTO much SELECT seq, seq % 7 FROM seq_1_to_9000",
        database="test",
    )
    door, port = sessions(plain)
    text = (
        "SELECT COUNT(*) FROM much m WHERE m.n >= (SELECT MIN(x.n) + %d FROM much x WHERE x.n = m.n AND x.id <> m.id)"
    )
    for one in (door, port):
        one.query("SET max_statement_time = 0.2")
    for number in (0, 1, 2, 3):
        assert door.query(text % number) == port.query(text % number)
    door.query("SET max_statement_time = 0")
    number = int(packets(door.query("SELECT CONNECTION_ID()"), True)[3][1:])
    killer = threading.Timer(0.5, lambda: plain.execute(f"KILL QUERY {number}"))
    killer.start()
    answer = door.query(text % 4)
    killer.join()
    assert b"\xff\x25\x05" in answer  # 1317
    assert_alike(SERVED[0] % 3, (door, port))


def test_two_sessions_by_turns(plain):
    plain.execute(*TABLES, database="test")
    text = "SELECT h.id FROM person h WHERE h.place = %d AND EXISTS (SELECT 1 FROM sale s WHERE s.person = h.id)"
    seen, later = assert_each_has_its_view(plain, text, "DELETE FROM sale")
    assert all(len(packets(one)) < len(packets(seen)) for one in later)


def test_counters_are_those_of_the_server(plain):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    for text in (SERVED[0], SERVED[6]):
        for number in range(1, 9):
            assert_alike(text % number, pair)
        counted = []
        for one in pair:
            one.query("FLUSH STATUS")
            for number in range(3, 7):
                one.query(text % number)
            counted.append(
                packets(
                    one.query(
                        "SHOW SESSION STATUS WHERE VARIABLE_NAME IN ('Com_select', 'Questions', 'Rows_sent', 'Sort_rows',"
                        " 'Created_tmp_tables', 'Empty_queries', 'Opened_tables')"
                    ),
                    True,
                )
            )
        assert counted[0] == counted[1], text


@pytest.mark.parametrize(
    "text",
    (
        "SELECT MAX(h.id), (SELECT MAX(s.n) FROM sale s WHERE s.place = 2) FROM person h WHERE h.place = %d",
        "SELECT h.id FROM person h WHERE h.place = %d AND h.id > ALL (SELECT s.n FROM sale s)",
        "SELECT h.id FROM person h WHERE h.place = %d AND (h.id, 1) IN (SELECT s.person, s.n FROM sale s)",
        "SELECT h.id FROM person h WHERE h.place = %d AND h.id IN (SELECT 5 UNION SELECT 6)",
        "SELECT h.id FROM person h WHERE h.place = %d AND EXISTS (SELECT 1)",
        "SELECT h.place FROM person h WHERE h.place = %d GROUP BY 1 HAVING MAX(h.id) > (SELECT COUNT(*) FROM tag)",
        "SELECT h.id FROM person h WHERE h.place = %d ORDER BY (SELECT COUNT(*) FROM sale s WHERE s.person = h.id)",
    ),
)
def test_others_are_the_servers(plain, text):
    pair = sessions(plain)
    before = fast(plain)
    for number in range(1, 12):
        assert_alike(text % number, pair)
    assert fast(plain) == before
