"""Planned SELECTs with values for columns of BINARY, such as MediaWiki's times."""
from support.random_input.planned_once import (
    assert_alike,
    fast,
    plain,
    sessions,
)  # noqa: F401  pylint: disable=unused-import


def answered(server, session, statements):
    """The number of statements that workers have answered."""
    before = fast(server)
    for one in statements:
        session.query(one)
    return fast(server) - before


def test_whole_values_of_binary_columns_are_values_of_executions(plain):
    """Shorter ones, which the column pads, and longer ones shape a plan, or are the server's."""
    plain.execute(
        "CREATE OR REPLACE TABLE cached (id INT PRIMARY KEY, name VARBINARY(20) NOT NULL, until BINARY(14) NOT NULL,"
        " tag BINARY(4), KEY (name), KEY (until)) CHARACTER SET utf8mb4",
        "INSERT INTO cached SELECT seq, CONCAT('key ', seq % 50), CONCAT('202611271200', LPAD(seq % 60, 2, '0')),"
        " ELT(seq % 5 + 1, 'ab', 'abcd', x'00ff00ff', x'ff000000', NULL) FROM seq_1_to_600",
        "ANALYZE TABLE cached",
        database="test",
    )
    pair = sessions(plain)
    texts = (
        "SELECT id, name, until FROM cached WHERE name IN ('key 3', 'key 4') AND until >= {} ORDER BY id",
        "SELECT id, HEX(tag) FROM cached WHERE until < {} ORDER BY until, id LIMIT 5",
        "SELECT COUNT(*) FROM cached WHERE until = {} AND CONCAT(name, until) <> 'x'",
        "SELECT COUNT(*) FROM cached WHERE until BETWEEN {} AND '20261127120059' AND id + 1 > 7",
        "SELECT c.id FROM cached c JOIN cached d ON d.id = c.id + 1 WHERE d.until IN ({}, '20261127120007') ORDER BY 1",
        "SELECT MAX(id), HEX(tag) FROM cached WHERE tag >= {} GROUP BY tag ORDER BY tag",
    )
    stamps = [f"'202611271200{second:02}'" for second in range(60)]
    odd = ("''", "'2026'", "'ab'", "'ab\\0\\0'", "'abcd'", "'abcde'", "x'00ff00ff'", "0xff000000", "_binary'abcd'", "5")
    wide = (
        "'20261127120003 '",
        "x'3230323631313237313230303037'",
        "_utf8mb4'20261127120007'",
        "'2026112712ä0'",
        "NULL",
    )
    for value in (*stamps[:20], *odd, *wide, *stamps[20:25], *odd, *wide):
        for text in texts:
            assert_alike(text.format(value), pair)
    for text in texts[:-1]:
        assert answered(plain, pair[0], [text.format(stamp) for stamp in stamps]) >= 55, text
    tags = [f"'a{number:03}'" for number in range(60)]
    assert answered(plain, pair[0], [texts[-1].format(tag) for tag in tags]) >= 55
