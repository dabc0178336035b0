"""Planned SELECTs that compare with NULL, as applications write them when a parameter is none (tt-rss: `profile = NULL OR
(NULL IS NULL AND profile IS NULL)`)."""
import pytest
from support.clients import sql_session
from support.random_input.planned_once import assert_alike, fast, plain, sessions  # noqa: F401

NULLS = (
    "SELECT h.name, s.n FROM sale s, person h WHERE (s.tag = NULL OR (NULL IS NULL AND s.tag IS NULL)) AND h.id = s.person"
    " AND s.id < %d",
    "SELECT h.name, s.n FROM sale s LEFT JOIN person h ON h.id = s.person AND h.place = NULL WHERE s.id = %d",
    "SELECT s.n, h.place > NULL FROM sale s, person h WHERE h.id = s.person AND s.id = %d AND NOT (s.n = NULL AND s.n = 9)",
    "SELECT COUNT(*), MAX(s.n) FROM sale s, person h WHERE h.id = s.person AND s.id < %d AND h.place <> NULL",
    "SELECT s.n FROM sale s, person h WHERE h.id = s.person AND s.id = NULL AND s.n = %d",
    "SELECT s.n FROM sale s WHERE s.person = %d AND EXISTS (SELECT 1 FROM person h WHERE h.id = s.person AND h.place = NULL)",
)


@pytest.mark.parametrize("text", NULLS)
def test_comparisons_with_null_are_part_of_the_plan(plain, text):
    door, port = sessions(plain)
    before = fast(plain)
    for number in range(1, 40):
        assert_alike(text % number, (door, port))
        plain.execute(f"UPDATE sale SET tag = IF({number} % 2, NULL, 't') WHERE id = {number}", database="test")
    if text in (NULLS[0], NULLS[2]):  # of the others the server knows some rows, or the result, when it plans
        assert fast(plain) - before > 25


def null_and_flag(answer):
    """For each value of the first row, whether it is NULL, and whether the column's definition says that none is."""
    every = sql_session.without_remarks(answer)
    columns = [packet for packet in every if packet[:4] == b"\x03def"]
    row = every[1 + len(columns) + 1]
    at, told = 0, []
    for column in columns:
        told.append((row[at] == 0xFB, bool(column[-5] & 1)))
        at += 1 if row[at] == 0xFB else 1 + row[at]
    return told


def test_no_null_where_the_columns_promise_none(plain):
    """The server reads both rows while it optimizes, so it knows whether there is a second one when it tells the columns."""
    plain.execute(
        "CREATE TABLE house (id INT PRIMARY KEY, street VARCHAR(20) NOT NULL)",
        "CREATE TABLE tenant (id INT PRIMARY KEY, house INT)",
        "INSERT INTO house SELECT seq, CONCAT('street ', seq) FROM seq_1_to_300",
        "INSERT INTO tenant SELECT seq, IF(seq % 5, seq, NULL) FROM seq_1_to_300",
        "ANALYZE TABLE house, tenant",
        database="test",
    )
    door, port = sessions(plain)
    text = "SELECT t.id, h.id AS house, h.street FROM tenant t LEFT JOIN house h ON h.id = t.house WHERE t.id = %d"
    before = fast(plain)
    for number in (1, 2, 3, 4, 6, 7, 8, 9, 11, 12, *range(13, 60)):
        answers = [null_and_flag(one.query(text % number)) for one in (door, port)]
        assert (True, True) not in answers[0], number
        assert [null for null, _ in answers[0]] == [null for null, _ in answers[1]]
    assert fast(plain) > before + 10
