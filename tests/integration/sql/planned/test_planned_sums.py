"""Sums and differences of values in conditions: planned once, with the types, errors and rows of the server's own
port."""
import pytest
from support.random_input.planned_once import (
    CHANGES,
    fast,
    packets,
    plain,
    sessions,
)  # noqa: F401  pylint: disable=unused-import
from support.clients.sql_session import Natural

STOCK = "SELECT COUNT(DISTINCT h.id) FROM sale s, person h WHERE s.id < ? AND s.id >= ? - 20 AND h.id = s.person AND h.place < ?"
JOINED = "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person WHERE "
TEXTS = (
    (STOCK, lambda at: (at + 40, at + 40, 9)),
    (f"{JOINED} s.id = ? - 1", lambda at: (at + 2,)),
    (f"{JOINED} s.id BETWEEN ? - 3 AND ? + 3", lambda at: (at, at)),
    (f"{JOINED} s.place = ? AND s.n > -?", lambda at: (at % 13, at)),
)
# The number of an INTERVAL in a text is part of the form.
OF_TIME = (f"{JOINED} s.d > TIMESTAMP'2024-02-01 05:00:00' - INTERVAL ? MINUTE AND s.id < 300", lambda at: (at,))


@pytest.mark.parametrize(
    "text, values, prepared", [(*one, True) for one in (*TEXTS, OF_TIME)] + [(*one, False) for one in TEXTS]
)
def test_sums_are_values_of_executions(plain, text, values, prepared):  # noqa: F811
    pair = sessions(plain)
    before = fast(plain)
    for at in range(30):
        given = values(at)
        asked = text
        for one in () if prepared else given:
            asked = asked.replace("?", str(one), 1)
        answers = [packets(one.execute(text, given) if prepared else one.query(asked)) for one in pair]
        assert answers[0] == answers[1], (text, given)
        plain.execute(CHANGES[at % len(CHANGES)].format(n=at + 7), database="test")
    assert fast(plain) - before >= 24


def test_a_difference_of_unsigned_numbers_is_an_error_below_zero(plain):  # noqa: F811
    """Also if the plan was made for a signed one."""
    pair = sessions(plain)
    text = f"{JOINED} s.id <= ? - 20"
    for number in (*[30] * 5, *map(Natural, [30] * 5), Natural(5), 5, Natural(5), Natural(21), 21):
        answers = [packets(one.execute(text, (number,))) for one in pair]
        assert answers[0] == answers[1], number
    assert b"BIGINT UNSIGNED value is out of range" in pair[0].execute(text, (Natural(5),))


@pytest.mark.parametrize("prepared", (False, True))
def test_an_offset_with_a_limit_of_all_rows(plain, prepared):  # noqa: F811
    """LIMIT has no word for "all rows", so ORMs write the largest number."""
    pair = sessions(plain)
    text = f"{JOINED} s.place = ? ORDER BY s.price, s.id LIMIT ? OFFSET ?"
    before = fast(plain)
    for at in range(30):
        given = (at % 12, Natural(2**64 - 1 - at % 2) if at % 3 else 5, Natural(2**64 - 1) if at == 20 else at % 7)
        if prepared:
            answers = [packets(one.execute(text, given), True) for one in pair]
        else:
            asked = text.replace("?", "%d") % given
            answers = [packets(one.query(asked), True) for one in pair]
        assert answers[0] == answers[1], given
    assert fast(plain) - before >= 20


def test_operands_of_other_types(plain):  # noqa: F811
    """Doubles, texts and numbers at the limits of their types, with a plan for small integers or without one."""
    pair = sessions(plain)
    text = f"{JOINED} s.id >= ? - 1 AND s.id < 30"
    for number in (*[25] * 5, 25.0, 25.5, "25", "25x", None, 2**63 - 1, -(2**63), 2**64 - 1, Natural(25), 25):
        answers = [packets(one.execute(text, (number,))) for one in pair]
        assert answers[0] == answers[1], number


def test_a_range_behind_equal_columns_of_an_index(plain):  # noqa: F811
    """TPC-C's stock level: the range uses all three columns, not only the two in equalities."""
    plain.execute(
        "CREATE TABLE line (w INT, d INT, o INT, n INT, item INT NOT NULL, PRIMARY KEY (w, d, o, n))",
        "CREATE TABLE stock (w INT, item INT, quantity INT, PRIMARY KEY (w, item))",
        "INSERT INTO stock SELECT 1, seq, seq % 100 FROM seq_1_to_2000",
        "INSERT INTO line SELECT 1, d.seq, o.seq, n.seq, (o.seq * 17 + n.seq * 31) % 2000 + 1"
        " FROM seq_1_to_800 o, seq_1_to_5 d, seq_1_to_8 n",
        "ANALYZE TABLE line, stock",
        database="test",
    )
    pair = sessions(plain)
    text = (
        "SELECT COUNT(DISTINCT stock.item) FROM line, stock WHERE line.w = ? AND d = ? AND o < ? AND o >= ? - 20"
        " AND stock.w = ? AND stock.item = line.item AND quantity < ?"
    )
    before = fast(plain)
    for at in range(30):
        answers = [packets(one.execute(text, (1, 1 + at % 5, 700 + at, 700 + at, 1, 15))) for one in pair]
        assert answers[0] == answers[1], at
    assert fast(plain) - before >= 20


@pytest.mark.parametrize(
    "condition, usual, special",
    (
        ("h.since <= CURDATE() - INTERVAL ? MINUTE", 3, 2147483647),
        ("h.id <= ? - 20", Natural(30), Natural(5)),
        ("h.place BETWEEN ? - 20 AND 99", Natural(30), Natural(5)),
        ("h.place <> ? - 20", Natural(30), Natural(5)),
        ("h.place <=> ? - 20", Natural(30), Natural(5)),
        ("h.since <> CURDATE() - INTERVAL ? MINUTE", 3, 2147483647),
    ),
)
def test_what_no_row_is_compared_with_fails_and_warns(plain, condition, usual, special):  # noqa: F811
    """The server calculates it while it plans."""
    pair = sessions(plain)
    before = fast(plain)
    text = (
        f"SELECT s.id, h.name FROM sale s STRAIGHT_JOIN person h ON h.id = s.person WHERE s.person = ? AND {condition}"
    )
    for given in (*[(5, usual), (100000, usual)] * 5, (100000, special), (5, usual), (5, special)):
        answers = [packets(one.execute(text, given)) for one in pair]
        assert answers[0] == answers[1], given
    assert fast(plain) > before
