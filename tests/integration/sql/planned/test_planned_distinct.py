"""SELECT DISTINCT with an OFFSET, planned once: the server ignores the OFFSET if values make all rows the same."""
import pytest
from support.random_input.planned_once import (
    fast,
    packets,
    plain,
    sessions,
)  # noqa: F401  pylint: disable=unused-import

# Columns that no value makes constant, beside others; and those that some values do.
SKIPPED = (
    "SELECT DISTINCT s.id, h.name FROM sale s LEFT JOIN person h ON s.person = h.id WHERE s.place = {0} ORDER BY s.d, s.id",
    "SELECT DISTINCT h.name, s.tag FROM sale s LEFT JOIN person h ON s.person = h.id LEFT JOIN tag t ON t.sale = s.id"
    " WHERE h.place = {0} AND s.n = 3 ORDER BY 1, 2",
    "SELECT DISTINCT s.tag FROM sale s JOIN person h ON s.person = h.id, tag t WHERE t.sale = s.id AND h.id = {0} ORDER BY 1",
    "SELECT DISTINCT n FROM sale WHERE place = {0} ORDER BY 1",
)
NOT_SKIPPED = (
    "SELECT DISTINCT s.place FROM sale s WHERE s.place = {0} AND s.id > 3 ORDER BY 1",
    "SELECT DISTINCT h.place, h.name FROM sale s JOIN person h ON s.person = h.id WHERE s.person = {0} AND s.n < 4",
    "SELECT DISTINCT h.name FROM sale s LEFT JOIN person h ON h.id = s.person AND h.id < {0} AND h.id > 50 WHERE s.id < 20",
    "SELECT DISTINCT s.n FROM tag t LEFT JOIN sale s ON s.id = t.sale AND s.place = 4 WHERE t.sale = {0} AND s.kind = 'a'",
    "SELECT DISTINCT s.place FROM sale s WHERE s.place IN (SELECT id FROM place WHERE name = 'place{0}')",
    "SELECT DISTINCT s.id & 0 FROM sale s WHERE s.place = {0}",
)


@pytest.mark.parametrize("text", SKIPPED + NOT_SKIPPED)
def test_distinct_with_an_offset(plain, text):  # noqa: F811
    pair = sessions(plain)
    kinds = (" LIMIT {1} OFFSET {2}", " LIMIT 18446744073709551615 OFFSET {2}")
    before = fast(plain)
    for limit in kinds:
        for turn in range(32):
            said = (text + limit).format(turn % 14, 1 + turn % 5, (0, 1, 3, 1)[turn % 4])
            answers = [packets(one.query(said), "ORDER" in text) for one in pair]
            assert [len(one) for one in answers] == [len(answers[1])] * 2, said
            assert "ORDER" not in text or answers[0] == answers[1], said
    ran = fast(plain) - before
    assert ran >= 30 if text in SKIPPED else ran == 0
