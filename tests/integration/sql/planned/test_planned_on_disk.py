"""SELECTs with temporary tables of TEXT columns, which the server stores on disk, planned once: other rows and values
at each execution, by several sessions in turn, with the server's status counts."""
import os

import pytest
from support.server import SERIES
from support.random_input.planned_once import (
    assert_alike,
    assert_each_has_its_view,
    fast,
    plain,
    sessions,
)  # noqa: F401

pytestmark = pytest.mark.skipif(SERIES != "10.11", reason="later series bound the bytes of such tables")
TABLES = (
    "CREATE OR REPLACE TABLE page (id INT PRIMARY KEY, owner INT, place INT, title VARCHAR(60), body TEXT, raw LONGBLOB,"
    " facts JSON, KEY (owner), KEY (place)) CHARACTER SET utf8mb4",
    "CREATE OR REPLACE TABLE remark (id INT PRIMARY KEY, page INT, said MEDIUMTEXT, KEY (page)) CHARACTER SET utf8mb4",
    "INSERT INTO page SELECT seq, seq % 13, seq % 7, CONCAT('Page ', seq % 50), IF(seq % 9 = 0, NULL, REPEAT(CHAR(65 + seq % 5),"
    " seq % 400)), REPEAT(CHAR(seq % 3), seq % 5), CONCAT('{\"os\": \"', CHAR(97 + seq % 3), '\"}') FROM seq_1_to_400",
    "INSERT INTO remark SELECT seq, seq % 420, IF(seq % 8 = 0, NULL, CONCAT('remark ', seq % 6)) FROM seq_1_to_900",
    "ANALYZE TABLE page, remark",
)
CHANGES = (
    "UPDATE page SET body = REPEAT('z', {n} % 900), owner = {n} % 13 WHERE id = {n}",
    "UPDATE remark SET said = CONCAT('remark ', {n}), page = {n} % 400 WHERE id = {n}",
    "DELETE FROM page WHERE id = {n} + 100",
    "INSERT IGNORE INTO page VALUES ({n} + 1000, {n} % 13, {n} % 7, 'New', REPEAT('n', {n}), NULL, '{{\"os\": \"b\"}}')",
    "UPDATE page SET body = NULL, raw = NULL WHERE owner = {n} % 13 AND id % 3 = 0",
    "DELETE FROM remark WHERE page = {n} % 400",
)
DISTINCT = "SELECT DISTINCT p.* FROM page p JOIN remark r ON r.page = p.id WHERE p.owner = %d"
SERVED = (
    DISTINCT,
    "SELECT DISTINCT body, raw FROM page WHERE owner = %d",
    "SELECT DISTINCT p.id, p.body, r.said FROM page p LEFT JOIN remark r ON r.page = p.id WHERE p.place = %d"
    " ORDER BY r.said DESC, p.body, p.id LIMIT 20",
    "SELECT p.id, p.body, r.said FROM page p LEFT JOIN remark r ON r.page = p.id WHERE p.owner = %d"
    " ORDER BY r.said, p.id, r.id",
    "SELECT said, COUNT(*) FROM remark WHERE page IN (%d, 5, 6, 7) GROUP BY said ORDER BY NULL",
    "SELECT p.body, COUNT(*) n, COUNT(DISTINCT r.said), MAX(p.title) FROM page p JOIN remark r ON r.page = p.id"
    " WHERE p.owner = %d GROUP BY p.body, p.raw HAVING n > 1",
    "SELECT COUNT(DISTINCT body), COUNT(DISTINCT raw, title) FROM page WHERE owner = %d",
    "SELECT place, GROUP_CONCAT(title ORDER BY id) c FROM page WHERE owner = %d GROUP BY place ORDER BY c, place",
    "SELECT GROUP_CONCAT(body ORDER BY id) FROM page WHERE owner = %d AND id < 60",
    "SELECT COUNT(*) FROM (SELECT DISTINCT body, title FROM page WHERE owner = %d) q",
    "SELECT q.*, r.said FROM (SELECT id, title, body, raw FROM page WHERE owner = %d ORDER BY place, id LIMIT 6) q"
    " LEFT JOIN remark r ON r.page = q.id ORDER BY q.id, r.id",
    "SELECT q.body, q.n FROM (SELECT body, COUNT(*) n FROM page WHERE owner = %d GROUP BY body) q WHERE q.n > 1",
    "SELECT COUNT(*) FROM page WHERE JSON_UNQUOTE(JSON_EXTRACT(facts, '$.os')) = 'b' AND owner = %d",
    "SELECT JSON_VALUE(facts, '$.os') os, COUNT(*) FROM page WHERE owner = %d GROUP BY os",
)


@pytest.mark.parametrize("text", SERVED)
def test_rows_change_between_executions(plain, text):  # noqa: F811
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    before = fast(plain)
    for turn in range(40):
        assert_alike(text % (turn % 14), pair)
        plain.execute(CHANGES[turn % len(CHANGES)].format(n=turn * 17 % 390 + 1), database="test")
    assert fast(plain) - before >= 20


def test_rows_are_those_of_the_session(plain):  # noqa: F811
    plain.execute(*TABLES, database="test")
    assert_each_has_its_view(
        plain, "SELECT DISTINCT body, id FROM page WHERE owner = %d", "UPDATE page SET body = 'new'"
    )


@pytest.mark.parametrize("text", SERVED)
def test_tables_count_as_on_the_servers_port(plain, text):  # noqa: F811
    """Temporary tables of a plan's first execution, of later ones, and of the server's executions."""
    plain.execute(*TABLES, database="test")
    counts = []
    for one in sessions(plain):
        shown = []
        for turn in range(12):
            one.query(text % (turn % 5))
            shown.append(one.query("SHOW SESSION STATUS LIKE 'Created_tmp%tables'"))
        counts.append(shown)
    assert counts[0] == counts[1]


def test_long_rows_are_the_servers(plain):  # noqa: F811
    """A worker writes at most some megabytes into such a table, and logs no error about it."""
    plain.execute(*TABLES, "UPDATE page SET body = REPEAT(CHAR(65 + id % 20), 60000)", database="test")
    plain.execute("ANALYZE TABLE page", database="test")
    pair = sessions(plain)
    logged = len(plain.log())
    text = "SELECT LENGTH(body), COUNT(*) FROM (SELECT DISTINCT body, id FROM page WHERE id > %d) q GROUP BY 1"
    for number in range(12):
        assert_alike(text % number, pair)
    before = fast(plain)
    for number in range(12):
        assert_alike(text % number, pair)
    assert fast(plain) == before
    assert "is full" not in plain.log()[logged:]


def longest_kept(server):
    """The bytes of the longest file of a temporary table that the server has open."""
    folder = f"/proc/{server.env['PID']}/fd"
    paths = [f"{folder}/{one}" for one in os.listdir(folder)]
    return max([os.stat(path).st_size for path in paths if "#sql-temptable" in os.readlink(path)], default=0)


@pytest.mark.parametrize(
    "text",
    (
        "SELECT COUNT(*) FROM (SELECT DISTINCT body, id FROM page WHERE owner = %d) q",
        "SELECT DISTINCT LENGTH(body), LEFT(body, 9), COUNT(*) FROM page WHERE owner = %d GROUP BY body",
        "SELECT COUNT(DISTINCT body) FROM page WHERE owner = %d",
    ),
)
def test_a_few_long_rows_are_the_servers(plain, text):  # noqa: F811
    """Rows that are much longer than the average of the table: such a plan does not go on with them, nor keep their file."""
    plain.execute(*TABLES, "ALTER TABLE page MODIFY body LONGTEXT", "ANALYZE TABLE page", database="test")
    pair = sessions(plain)
    for number in range(40):
        assert_alike(text % (number % 12), pair)
    before = fast(plain)
    assert_alike(text % 3, pair)
    assert fast(plain) == before + 1
    plain.execute(
        "UPDATE page SET body = CONCAT(id, REPEAT(CHAR(65 + id % 20), 500000)) WHERE owner = 12", database="test"
    )
    before = fast(plain)
    for _ in range(5):
        assert_alike(text % 12, pair)
    assert fast(plain) <= before + 1
    assert longest_kept(plain) < 9 << 20
