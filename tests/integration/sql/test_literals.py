"""Literals as drivers and people write them, in lookups by key, in walks and in plans: workers answer them if they can,
and always as the server's own port does."""
import pytest
from support.random_input.planned_once import assert_alike, fast, plain, sessions  # noqa: F401
from support.random_input.random_selects import TABLES
from support.waiting import until

LOOKUP = "SELECT name, born FROM person WHERE id = {}"
WALK = "SELECT id, name FROM person WHERE place = {} ORDER BY id"
RANGE = "SELECT id, d FROM sale WHERE d > {} ORDER BY d LIMIT 3"
JOIN = "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person WHERE {} ORDER BY s.id LIMIT 7"
NAMED = "SELECT id, place FROM person WHERE name = {} ORDER BY id"

# A form, and two groups of values: those that workers answer, and those that must only get equal answers.
KINDS = (
    (
        LOOKUP,
        ("5", "7e0", "1e1", "11.0", "12.00", "120e-1", "'13'", "TRUE"),
        ("5.5", "1e-1", "1e15", "0e0", "DATE'2020-01-01'"),
    ),
    (
        "SELECT tag, n FROM sale WHERE id = {}",
        ("5", "9223372036854775807", "1234567890123456789", "-9223372036854775808"),
        ("18446744073709551615", "12345678901234567890", "-9223372036854775809"),
    ),
    (WALK, ("3", "4e0", "5.0", "'6'", "FALSE"), ("3.5", "_utf8mb4'7'", "1e300", "N'8'", "18446744073709551616")),
    (
        NAMED,
        ("'name5'", "_utf8mb4'name6'", "N'name7'", "_utf8'name8'", "_utf8mb3'NAME9'", "_utf8mb4'\u00e9'", "_utf8mb4''"),
        (
            "_latin1'name1'",
            "_binary'name2'",
            "X'6e616d6533'",
            "_utf8mb4'na''me'",
            "_utf8mb4'\U0001f600'",
            "DATE'2020-01-01'",
            "5e0",
        ),
    ),
    (
        RANGE,
        (
            "'2024-02-01 05:00:00'",
            "TIMESTAMP'2024-02-01 06:00:00'",
            "DATE'2024-02-01'",
            "timestamp '2024-02-01 07:00:00'",
        ),
        (
            "TIMESTAMP'2024-02-01 06:00:00.5'",
            "DATE'0000-00-00'",
            "DATE'2024-02-30'",
            "TIMESTAMP'2024-02-01'",
            "TIME'10:00:00'",
        ),
    ),
    (
        "SELECT id, born FROM person WHERE born = {} OR born > {} ORDER BY 1",
        ("DATE'1970-03-01'", "'1970-03-02'", "date'1970-03-03'"),
        ("TIMESTAMP'1970-03-04 00:00:00'", "DATE'1970-3-5'", "DATE'1970-02-31'", "19700305"),
    ),
    (
        JOIN.format("s.person IN ({}, 6) AND s.d <> TIMESTAMP'2024-02-01 00:05:00'"),
        ("5", "7e0", "8.0"),
        ("NULL", "5.25"),
    ),
    (
        JOIN.format("h.name IN (_utf8mb4'name5', {}) AND s.n * 1.5 < 4.5e0"),
        ("'name6'", "_utf8mb4'name7'"),
        ("_latin1'name7'", "N'x''y'"),
    ),
    (JOIN.format("s.person <=> {} AND s.price * 1.07 > 0.5 + 0.25"), ("5", "7", "8e0", "9"), ("NULL", "5.5", "-1")),
    (JOIN.format("s.person <=> NULL AND s.place = {}"), ("5", "6", "7"), ("NULL", "6.5")),
    (JOIN.format("(s.tag <=> NULL OR s.price IS NULL) AND s.place = {}"), ("5", "6", "TRUE"), ()),
    (
        "SELECT id, price * 1.5, 2e-3, N'x', _latin1'y', DATE'2020-01-01', x'41', TRUE FROM sale WHERE person = {} ORDER BY id",
        ("5", "6", "7"),
        ("NULL",),
    ),
    (JOIN.format("s.tag IN (_latin1'T3', 't4') AND s.n <= {}"), (), ("5", "6", "1")),
)


@pytest.mark.parametrize("form, served, others", KINDS)
def test_literals_of_every_kind(plain, form, served, others):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    text = lambda value: form.replace("{}", value)
    for value in served * 4:
        assert_alike(text(value), pair)
    # The server answers every second of a new plan's first executions, to compare the numbers of examined rows.
    for _ in range(8):
        before = fast(plain)
        for value in served * 3:
            assert_alike(text(value), pair)
        by_workers = fast(plain) - before
        if by_workers >= 2 * len(served):
            break
    assert by_workers >= 2 * len(served)
    for value in (others + served) * 3:
        assert_alike(text(value), pair)
    assert plain.status("Postern%")["postern_verified_different"] == 0


def test_collations_and_character_sets_of_sessions(plain):
    """Texts with an introducer mean the same in every session; others are read in the session's character set."""
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = (
        "SELECT id, name FROM person WHERE name = _utf8mb4'\u00e9' ORDER BY id",
        "SELECT id, IF('a' = _utf8mb4'A', 'same', 'other'), name FROM person WHERE name = _utf8mb4'name5' ORDER BY id",
        "SELECT h.id, UPPER(p.name) FROM person h JOIN place p ON p.id = h.place WHERE h.name = _utf8mb4'name5' AND p.code <> N'B' ORDER BY 1",
        "SELECT word, sale FROM tag WHERE word = _utf8mb4'W3' OR word = _utf8mb4'w3' ORDER BY 2, 1 LIMIT 5",
    )
    plain.execute("UPDATE person SET name = '\u00e9' WHERE id % 9 = 4", database="test")
    for context in (
        "SET NAMES utf8mb4",
        "SET NAMES latin1",
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET NAMES utf8mb3",
        "SET NAMES sjis",
    ):
        for one in pair:
            one.query(context)
        for _ in range(6):
            for text in texts:
                assert_alike(text, pair)


def test_rows_of_columns(plain):
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = (
        JOIN.format("(s.person, s.n) IN (({0}, 1), (7, {1}), (9, 3))"),
        JOIN.format("(s.person, s.n) = ({0}, {1})"),
        JOIN.format("(s.person, s.n) NOT IN (({0}, 1), (7, {1})) AND s.id < 90"),
        JOIN.format("(s.id, h.place) IN (({0}, 1), (7, {1}), (9, 9)) OR s.id = 3"),
        "SELECT id, n + 1 FROM sale WHERE (place, n) IN (({0}, 1), (7, {1})) ORDER BY price, id",
        "SELECT COUNT(*), MAX(price) FROM sale WHERE (tag, kind) IN (('t3', 'a'), ('t4', 'b')) AND person > {0} + {1}",
        "SELECT id, price + 1 FROM sale WHERE (price, person) IN ((1.25, {0}), (2, 5), (0.5, {1})) ORDER BY id",
        "SELECT id, price + 1 FROM sale WHERE (d, person) IN (('2024-02-01 00:05:00', {0}), ('2024-02-01 00:06:00', {1})) ORDER BY id",
        "SELECT id, n FROM sale WHERE (place, n) IN (({0}, NULL), (7, {1})) ORDER BY id",
        "SELECT id, n FROM sale WHERE (place, (n, id)) IN (({0}, (1, 2)), (7, ({1}, 4))) ORDER BY id",
        "SELECT s.id FROM sale s WHERE (s.place, s.n) IN (({0}, s.person), (7, {1})) ORDER BY s.price, s.id",
    )
    for text in texts:
        before = fast(plain)
        for turn in range(20):
            assert_alike(text.format(turn % 12 + 1, turn % 5), pair)
            plain.execute(f"UPDATE sale SET n = {turn} % 5, person = {turn} + 3 WHERE id = {turn * 7}", database="test")
        # The server answers the fourth, too, to compare the numbers of examined rows.
        if text not in texts[3:4] + texts[5:6] + texts[8:10]:
            assert fast(plain) - before >= 12, text
    for value in ("'x'", "5.5", "NULL", "18446744073709551615", "-5", "TRUE", "'5'"):
        for text in texts:
            assert_alike(text.format(value, "2"), pair)


def test_lists_in_one_text(plain):
    """GROUP_CONCAT: the text of one execution does not appear in the next."""
    plain.execute(*TABLES, database="test")
    pair = sessions(plain)
    texts = (
        "SELECT s.person, GROUP_CONCAT(s.id) FROM sale s JOIN person h ON h.id = s.person WHERE s.place = {} GROUP BY s.person ORDER BY 1",
        "SELECT GROUP_CONCAT(DISTINCT n ORDER BY n DESC SEPARATOR '; ') FROM sale WHERE person = {}",
        "SELECT GROUP_CONCAT(tag, '-', n ORDER BY id), COUNT(*), COUNT(DISTINCT n) FROM sale WHERE person = {}",
        "SELECT place, GROUP_CONCAT(DISTINCT kind ORDER BY 1) k FROM sale WHERE person IN ({}, 5) GROUP BY place HAVING k <> 'a' ORDER BY 1",
        "SELECT h.place, GROUP_CONCAT(h.name ORDER BY h.since, h.id LIMIT 2) FROM person h WHERE h.place = {} GROUP BY h.place ORDER BY 1",
        "SELECT GROUP_CONCAT(q.c ORDER BY q.c) FROM (SELECT person, COUNT(*) c FROM sale WHERE place = {} GROUP BY person) q",
        "SELECT GROUP_CONCAT(NULL), GROUP_CONCAT(id ORDER BY id) FROM sale WHERE person = {}",
    )
    for text in texts:
        before = fast(plain)
        for turn in range(30):
            assert_alike(text.format((turn % 11 + 1) if turn % 3 else 7000), pair)
            plain.execute(
                f"UPDATE sale SET n = {turn} % 5, person = {turn} % 11 WHERE id = {turn * 7}", database="test"
            )
        assert fast(plain) - before >= 16, text
    for one in pair:
        one.query("SET group_concat_max_len = 9")
    for turn in range(8):
        for text in texts:
            assert_alike(text.format(turn % 4 + 1), pair)


def test_a_view_is_the_servers_for_a_true_reason(plain):
    plain.execute(
        *TABLES, "CREATE OR REPLACE VIEW seen AS SELECT id, name, place FROM person ORDER BY place", database="test"
    )
    pair = sessions(plain)
    texts = (
        "SELECT name FROM seen WHERE id = %d",
        "SELECT v.name, s.n FROM seen v JOIN sale s ON s.person = v.id WHERE v.id = %d ORDER BY s.id",
    )
    for number in range(1, 9):
        for text in texts:
            assert_alike(text % number, pair)

    def told():
        pair[0].query("UPDATE seen SET name = 'x' WHERE id = 7")
        return plain.query("SELECT STATE, REASON FROM information_schema.POSTERN_PLANS WHERE FORM LIKE '% seen %'")

    until(lambda: len(told()) == 3)  # nothing is learnt of a statement that lasts
    reason = "a view that is changed, or sorted, or whose SELECT cannot be planned once in its place"
    assert set(told()) == {("not served", reason)}
    # Later a table has that name.
    plain.execute(
        "DROP VIEW seen", "CREATE TABLE seen (PRIMARY KEY (id)) AS SELECT id, name, place FROM person", database="test"
    )
    for number in range(1, 200):
        assert_alike(texts[0] % (number % 90), pair)
    assert plain.query(
        "SELECT STATE FROM information_schema.POSTERN_PLANS WHERE FORM LIKE 'SELECT name FROM seen %'"
    ) == [("served",)]
    plain.execute("DROP TABLE seen", database="test")


@pytest.mark.parametrize(
    "column, values",
    [
        ("h.since", ("'2024-01-01 05:00:00'", "'2024-01-01 06:00:00.000'", "'2024-01-01 07:00:00.0'", "'2024-01-02%'")),
        ("s.price", ("2.5", "2.50", "'3.5'", "'3.50'", "4.50", "'%.25'")),
        ("h.born", ("'1970-01-05'", "'1970-1-6'", "'1970-01-07 00:00:00'", "DATE'1970-01-08'", "'1970-02%'")),
        ("s.id", ("5", "'5'", "5.0", "'05'", "'1_'")),
    ],
)
def test_patterns_are_compared_with_the_texts_of_columns(plain, column, values):
    """Patterns match another form of a value, too: with fractions of a second, or with trailing zeros."""
    pair = sessions(plain)
    for value in values * 6:
        assert_alike(JOIN.format(f"{column} LIKE {value}"), pair)
