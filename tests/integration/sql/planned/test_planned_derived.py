"""SELECTs of derived tables, and COUNT(DISTINCT ...), planned once: other rows, values, accounts and definitions at
each execution."""
import pytest
from support.random_input.planned_once import CHANGES, assert_alike, assert_each_has_its_view, fast, packets, sessions
from support.random_input.planned_once import plain  # noqa: F401
from support.random_input.random_selects import TABLES

COUNTED = "SELECT COUNT(*) FROM (SELECT DISTINCT s.person AS col FROM sale s WHERE s.place = %d) subquery"
SERVED = (
    COUNTED,
    "SELECT COUNT(*) FROM (SELECT 1 AS one FROM sale WHERE place = %d LIMIT 11) subquery_for_count",
    "SELECT COUNT(*) FROM (SELECT s.id AS c1, COUNT(t.word) AS n FROM sale s LEFT JOIN tag t ON t.sale = s.id"
    " WHERE s.person = %d GROUP BY s.id ORDER BY NULL) subquery",
    "SELECT q.* FROM (SELECT id, person, n FROM sale WHERE place = %d) q WHERE q.n > 1 ORDER BY q.id",
    "SELECT q.person, h.name FROM (SELECT person, MAX(id) m FROM sale WHERE place = %d GROUP BY person) q"
    " JOIN person h ON h.id = q.person ORDER BY q.m",
    "SELECT h.id, q.total FROM person h LEFT JOIN (SELECT person, SUM(n) total FROM sale WHERE place < 4 GROUP BY person) q"
    " ON q.person = h.id WHERE h.place = %d",
    "SELECT a.id, b.n FROM (SELECT id FROM sale WHERE person = %d ORDER BY id DESC LIMIT 3) a"
    " JOIN (SELECT sale, COUNT(*) n FROM tag GROUP BY sale) b ON b.sale = a.id ORDER BY 1",
    "SELECT q.c + 1, COUNT(*) FROM (SELECT n c FROM sale WHERE person = %d AND d < NOW()) q GROUP BY 1 HAVING COUNT(*) > 0",
    "SELECT COUNT(DISTINCT person) FROM sale WHERE place = %d",
    "SELECT COUNT(DISTINCT s.id) FROM sale s LEFT JOIN tag t ON t.sale = s.id WHERE s.person = %d",
    "SELECT place, COUNT(DISTINCT person, n), COUNT(DISTINCT tag) FROM sale WHERE person IN (%d, 5, 6) GROUP BY place",
    "SELECT COUNT(*) n, COUNT(DISTINCT kind) FROM sale WHERE person = %d HAVING n <> 2",
    "SELECT COUNT(*) FROM (SELECT COUNT(DISTINCT person) c FROM sale WHERE place = %d GROUP BY n) q WHERE q.c > 1",
)
CHANGES_OF_SALES = (*CHANGES, "DELETE FROM tag WHERE sale = {n} % 300")


def reasons(server):
    return server.query("SELECT HITS, STATE, REASON, INDEX_NAME, FORM FROM information_schema.POSTERN_PLANS")


@pytest.mark.parametrize("text", SERVED)
def test_rows_change_between_executions(plain, text):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    before = fast(plain)
    for turn in range(40):
        assert_alike(text % (turn % 11 + 1), pair)
        plain.execute(CHANGES_OF_SALES[turn % len(CHANGES_OF_SALES)].format(n=turn * 17 % 890 + 1), database="test")
    assert fast(plain) - before >= 20, reasons(plain)


def test_no_rows_after_some_and_some_after_none(plain):
    """Values that the last execution stored but did not count must not be counted by the next one."""
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = (
        "SELECT COUNT(DISTINCT n) FROM sale WHERE person = %d HAVING COUNT(*) < 3",
        "SELECT COUNT(DISTINCT tag), COUNT(DISTINCT person, n) FROM sale WHERE person = %d HAVING COUNT(*) < 3",
        "SELECT COUNT(*) FROM (SELECT COUNT(DISTINCT n) c FROM sale WHERE person = %d HAVING COUNT(*) < 3) q",
    )
    for turn in range(12):
        for text in texts:
            for person in (5, 7000, 8, 1, 7000, 7001):
                assert_alike(text % person, pair)
        plain.execute(f"DELETE FROM sale WHERE person = 8 AND id % 5 = {turn % 5}", database="test")
        plain.execute(f"UPDATE sale SET n = {turn} WHERE person = 1", database="test")


def test_privileges_are_those_of_the_session(plain):
    plain.execute(*TABLES, database="test")
    plain.execute(
        "CREATE OR REPLACE USER some@'%' IDENTIFIED BY ''",
        "GRANT SELECT ON test.person TO some@'%'",
        "GRANT SELECT (id, person, place) ON test.sale TO some@'%'",
    )
    own, pair = sessions(plain)[0], sessions(plain, "some")
    for step in ("", "GRANT SELECT ON test.sale TO some@'%'", "REVOKE SELECT ON test.sale FROM some@'%'"):
        if step:
            plain.execute(step)
        for number in range(1, 8):
            for text in (COUNTED, SERVED[3], SERVED[4], SERVED[5], SERVED[8]):
                own.query(text % number)
                assert_alike(text % number, pair)


def test_definitions_change(plain):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = [text for text in SERVED if "tag" not in text]
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
        plain.execute(change, database="test")
    for text in texts:
        assert_alike(text % 1, pair)


def test_a_temporary_table_in_front(plain):
    """The temporary table belongs to the session, and hides the plan's."""
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    for text in SERVED:
        for number in range(1, 6):
            assert_alike(text % number, pair)
    for one in pair:
        one.query("CREATE TEMPORARY TABLE sale AS SELECT * FROM test.sale WHERE id < 100")
    for text in SERVED:
        assert_alike(text % 3, pair)
    for one in pair:
        one.query("DROP TEMPORARY TABLE sale")
    for text in SERVED:
        assert_alike(text % 3, pair)


def test_names_and_conditions_of_derived_columns(plain):
    """A value that is compared with a column of a derived table is part of the plan."""
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = (
        "SELECT * FROM (SELECT * FROM sale s WHERE person = %d) s WHERE s.id > %d ORDER BY s.id",
        "SELECT s.id FROM (SELECT CONCAT(id, 'x') id FROM sale s WHERE person = %d) s WHERE s.id = '%dx' ORDER BY 1",
        "SELECT id FROM (SELECT name id FROM person WHERE place = %d) s WHERE id > %d ORDER BY 1",
        "SELECT q.a FROM (SELECT tag a FROM sale WHERE person = %d UNION SELECT %d) q ORDER BY 1",
        "SELECT q.a, q.b FROM (SELECT n a, price b FROM sale WHERE person = %d LIMIT %d, 2) q WHERE 1 = 0",
        "SELECT COUNT(*) FROM (SELECT price, d FROM sale WHERE person = %d AND d > '2024-02-01 00:00:00') q WHERE q.price > %d",
        "SELECT q.x FROM (SELECT id x FROM (SELECT id FROM sale WHERE person = %d) r) q WHERE q.x > %d ORDER BY 1",
        "SELECT COUNT(*) FROM (SELECT note FROM person WHERE place = %d GROUP BY note) q WHERE LENGTH(q.note) > %d",
        "SELECT x FROM (SELECT COUNT(*) x FROM sale WHERE person = %d) q WHERE x > %d",
    )
    for turn in range(24):
        for text in texts:
            assert_alike(text % (turn % 5 + 1, turn % 3), pair)
    assert plain.status("Postern%")["postern_verified_different"] == 0


def test_two_sessions_by_turns(plain):
    plain.execute(*TABLES, database="test")
    assert_each_has_its_view(plain, COUNTED, "DELETE FROM sale")


def test_counters_are_those_of_the_server(plain):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    for text in (COUNTED, SERVED[1], SERVED[4], SERVED[8], SERVED[10]):
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
                        " 'Created_tmp_tables', 'Created_tmp_disk_tables', 'Empty_queries', 'Opened_tables')"
                    ),
                    True,
                )
            )
        assert counted[0] == counted[1], text
