"""Planned SELECTs that compare with NULL, as applications write them when a parameter is none (tt-rss: `profile = NULL OR
(NULL IS NULL AND profile IS NULL)`)."""
import pytest
from support.planned_once import assert_alike, fast, plain, sessions  # noqa: F401

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
