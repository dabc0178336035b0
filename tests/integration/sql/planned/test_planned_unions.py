"""UNION and UNION ALL of SELECTs, planned once: other rows and values at each execution, and no row of the execution
before."""
import pytest
from support.random_input.planned_once import (
    CHANGES,
    assert_alike,
    assert_each_has_its_view,
    fast,
    plain,
    sessions,
)  # noqa: F401
from support.random_input.random_selects import TABLES

SERVED = (
    "SELECT id, n FROM sale WHERE person = %d UNION SELECT id, place FROM person WHERE place = 3",
    "SELECT id, n FROM sale WHERE person = %d UNION ALL SELECT id, place FROM person WHERE place = 3",
    "SELECT n FROM sale WHERE person = %d UNION SELECT n FROM sale WHERE place = 4 ORDER BY n DESC LIMIT 3",
    "SELECT id a, price b FROM sale WHERE person = %d UNION ALL SELECT id, n FROM sale WHERE place = 4 ORDER BY b, a LIMIT 4 OFFSET 1",
    "SELECT id, d FROM sale WHERE person = %d UNION ALL SELECT id, since FROM person WHERE place = 5 UNION SELECT sale, word FROM tag"
    " WHERE sale = 9 ORDER BY 1, 2",
    "SELECT id FROM sale WHERE person = %d UNION SELECT id FROM sale WHERE place = 5 UNION ALL SELECT id FROM person WHERE place = 5",
    "(SELECT id, name FROM person WHERE place = %d ORDER BY born DESC LIMIT 2) UNION ALL (SELECT id, tag FROM sale WHERE person = 4"
    " ORDER BY d LIMIT 3) ORDER BY 2, 1",
    "(SELECT id FROM person WHERE place = %d ORDER BY born DESC LIMIT 2) UNION ALL (SELECT id FROM sale WHERE person = 4 ORDER BY d"
    " LIMIT 3) LIMIT 4",
    "SELECT person, COUNT(*), COUNT(DISTINCT n) FROM sale WHERE place = %d GROUP BY person UNION SELECT h.id, s.n, h.place FROM person h"
    " JOIN sale s ON s.person = h.id WHERE h.place IN (3, 4) ORDER BY 1, 2, 3",
    "SELECT person, GROUP_CONCAT(n ORDER BY n) FROM sale WHERE person = %d UNION ALL SELECT 1, tag FROM sale WHERE person = 6",
    "SELECT DISTINCT place FROM sale WHERE person = %d UNION SELECT MAX(place) FROM sale WHERE person = 8 UNION SELECT 5 FROM sale"
    " WHERE id = 7 AND d < NOW()",
    "SELECT id FROM sale WHERE person = %d AND 1 = 0 UNION SELECT id FROM sale WHERE person = 5 ORDER BY 1",
)
OTHERS = (
    "SELECT id FROM sale WHERE person = %d INTERSECT SELECT id FROM sale WHERE place = 5 ORDER BY 1",
    "SELECT id FROM sale WHERE person = %d EXCEPT SELECT id FROM sale WHERE place = 5 ORDER BY 1",
    "SELECT SQL_CALC_FOUND_ROWS id FROM sale WHERE person = %d UNION SELECT id FROM sale WHERE place = 5 ORDER BY 1 LIMIT 2",
    "SELECT id FROM sale WHERE person = %d UNION SELECT 7 ORDER BY 1",
    "SELECT id FROM sale WHERE person = %d UNION VALUES (1), (2) ORDER BY 1",
    "SELECT note FROM person WHERE place = %d UNION SELECT note FROM person WHERE id = 3 ORDER BY 1",
    "SELECT x FROM (SELECT id x FROM sale WHERE person = %d UNION SELECT 5) q ORDER BY 1",
)


@pytest.mark.parametrize("text", SERVED)
def test_rows_change_between_executions(plain, text):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    served = 0
    for turn in range(40):
        before = fast(plain)
        assert_alike(text % ((turn % 11 + 1) if turn % 4 else 7000), pair)
        served += fast(plain) - before
        assert pair[0].query("SELECT FOUND_ROWS()") == pair[1].query("SELECT FOUND_ROWS()"), text
        plain.execute(CHANGES[turn % len(CHANGES)].format(n=turn * 17 % 890 + 1), database="test")
    figures = plain.query(
        "SELECT STATE, REASON, INDEX_NAME FROM information_schema.POSTERN_PLANS WHERE FORM LIKE '%%UNION%%'"
    )
    assert served >= 22, figures


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_the_servers(plain, text):
    pair = sessions(plain)
    before = fast(plain)
    for turn in range(12):
        assert_alike(text % (turn % 11 + 1), pair)
    assert fast(plain) == before


def test_counters_are_those_of_the_server(plain):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    for text in SERVED[:-1]:
        for number in range(1, 9):
            assert_alike(text % number, pair)
        counted = []
        for one in pair:
            one.query("FLUSH STATUS")
            for number in range(3, 7):
                one.query(text % number)
            counted.append(
                one.query(
                    "SHOW SESSION STATUS WHERE VARIABLE_NAME IN ('Com_select', 'Questions', 'Rows_sent', 'Sort_rows',"
                    " 'Select_scan', 'Select_full_join', 'Select_range', 'Created_tmp_tables', 'Sort_scan',"
                    " 'Created_tmp_disk_tables', 'Empty_queries', 'Opened_tables')"
                )
            )
        assert counted[0] == counted[1], text


def test_two_sessions_by_turns(plain):
    """One plan, with one temporary table: it holds one session's rows, and then the other's."""
    plain.execute(*TABLES, database="test")
    assert_each_has_its_view(plain, SERVED[2], "UPDATE sale SET n = n + 20")


def test_more_rows_than_a_turn_takes(plain):
    """The server stops in the middle of a UNION, and the client sees nothing of that."""
    plain.execute(
        "CREATE OR REPLACE TABLE many (id INT PRIMARY KEY, k INT, KEY (k))",
        "INSERT INTO many SELECT seq, IF(seq < 9000, 1, seq) FROM seq_1_to_10000",
        "ANALYZE TABLE many",
        database="test",
    )
    pair = sessions(plain)
    texts = (
        "SELECT id FROM many WHERE k = %d UNION SELECT id FROM many WHERE k = 9500 ORDER BY 1 LIMIT 5",
        "SELECT COUNT(*) FROM many WHERE k = %d UNION ALL SELECT id FROM many WHERE k = 9500",
        "SELECT id FROM many WHERE k = 9500 UNION ALL SELECT id FROM many WHERE k = %d LIMIT 6000",
    )
    for turn in range(40):
        for text in texts:
            assert_alike(text % (1 if turn % 7 == 5 else 9000 + turn), pair)
    plain.execute("DROP TABLE many", database="test")
    plain.assert_alive()
