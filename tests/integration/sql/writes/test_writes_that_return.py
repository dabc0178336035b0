"""INSERT, REPLACE and DELETE with RETURNING by the SQL door's worker: as on the server's own port, packet by packet."""
import pytest
from support import replica as replicas
from support.clients import sql_session
from support.both_ports import LEFT_BEHIND, SIDES, ask, fast, filled, learnt, on_door, pair, same_tables
from support.both_ports import follower, served  # noqa: F401
from support.random_input.random_new_rows import READS, TABLES

CAPABILITIES = {
    "plain": 0,
    "found_rows": sql_session.FOUND_ROWS,
    "tracked": sql_session.DEPRECATE_EOF | sql_session.SESSION_TRACK,
    "cached": sql_session.CACHE_METADATA | sql_session.DEPRECATE_EOF | sql_session.EXTENDED_METADATA,
    "cached_eof": sql_session.CACHE_METADATA,
}
# With new values, and with existing ones.
EXAMPLES = (
    ("INSERT INTO options (name, value) VALUES (?, ?) RETURNING id", ("new", "v"), None),
    ("INSERT INTO `options` (`name`, `value`) VALUES (?, ?) RETURNING `options`.`id`", ("new", "v"), None),
    ("INSERT INTO options (name, value) VALUES (?, ?) RETURNING id AS `key`, name n, id", ("new", "v"), None),
    ("INSERT INTO options (name, value) VALUES (?, ?) RETURNING *", ("new", "v"), None),
    ("INSERT INTO options (name, value) VALUES (?, ?) RETURNING options.*, value", ("new", "v"), None),
    ("INSERT INTO options (id, name, value) VALUES (?, ?, ?) RETURNING id, autoload", (5000, "new", "v"), None),
    ("INSERT INTO options (name, value) VALUES (?, ?), (?, ?) RETURNING id, name", ("n", "v", "m", "w"), None),
    ("INSERT INTO several (a, b) VALUES (?, ?) RETURNING id, n, t, d", (500, "b500"), None),
    ("INSERT INTO keyless (a, b) VALUES (?, ?) RETURNING b, a", (5, "text"), None),
    ("INSERT INTO counters SET k = ?, n = ? RETURNING n, u, t, at", ("new", 3), None),
    ("INSERT INTO counters VALUES (?, 3, 4, NULL, NULL) RETURNING *", ("new",), None),
    ("INSERT IGNORE INTO counters (k, n) VALUES (?, 1) RETURNING k, n", ("new",), ("k5",)),
    (
        "INSERT IGNORE INTO options (name, value) VALUES (?, ?), (?, ?) RETURNING id",
        ("n", "v", "m", "w"),
        ("o5", "v", "m", "w"),
    ),
    ("INSERT INTO counters (k, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + 1 RETURNING n", ("new",), ("k5",)),
    ("INSERT INTO counters (k, n) VALUES (?, 5) ON DUPLICATE KEY UPDATE n = VALUES(n) RETURNING *", ("new",), ("k5",)),
    (
        "INSERT INTO options (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id) RETURNING id",
        ("new", "v"),
        ("o5", "v"),
    ),
    (
        "INSERT INTO options (name, value) VALUES (?, ?), (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)"
        " RETURNING id, value",
        ("n", "v", "m", "w"),
        ("o5", "v", "m", "w"),
    ),
    ("REPLACE INTO counters (k, n) VALUES (?, ?) RETURNING k, n, u", ("new", 1), ("k5", 1)),
    ("REPLACE INTO options (name, value) VALUES (?, ?) RETURNING id", ("new", "v"), ("o5", "v")),
    ("REPLACE INTO several (a, b, n) VALUES (?, ?, 1) RETURNING *", (500, "b500"), (5, "b9")),
    ("DELETE FROM counters WHERE k = ? RETURNING n, k", ("k7",), ("none",)),
    ("DELETE FROM `options` WHERE `options`.`id` = ? RETURNING *", (7,), (70000,)),
    ("DELETE FROM pairs WHERE a = ? AND b = ? RETURNING v", (2, "k3"), (2, "none")),
)


@pytest.fixture
def tables(served):
    yield from filled(served, TABLES)


def unused(values, number):
    return [value + 1000 * number if isinstance(value, int) else f"{value}{number}" for value in values]


def said(sessions, text, values, prepared):
    return ask(sessions, text if prepared else sql_session.in_text(text, values), values if prepared else None)


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
@pytest.mark.parametrize("capabilities", CAPABILITIES.values(), ids=CAPABILITIES)
@pytest.mark.parametrize("begin", ["COMMIT", "BEGIN", "SET autocommit = 0"])
def test_rows_are_returned_as_by_the_server(tables, follower, begin, capabilities, prepared):
    sessions = pair(tables, capabilities)
    for at, (text, new, _) in enumerate(EXAMPLES):
        for number in range(4):  # the form is known from here on
            said(sessions, text, unused(new, at * 10 + number), prepared)
    for at, (text, new, old) in enumerate(EXAMPLES):
        for values in filter(None, (unused(new, at * 10 + 9), old)):
            ask(sessions, "FLUSH STATUS")  # which commits
            ask(sessions, begin)
            before = fast(tables)
            said(sessions, text, values, prepared)
            assert fast(tables) == before + 1, (text, values)
            for left in (*LEFT_BEHIND, "SHOW SESSION STATUS LIKE 'Feature_insert_returning'"):
                ask(sessions, left)
    ask(sessions, "COMMIT")
    same_tables(tables, READS)
    replicas.catch_up(tables, follower)
    for database in SIDES.values():
        replicas.same(tables, follower, database)


# The server's notes come before the error.
REFUSED = (
    ("INSERT INTO options (name, value) VALUES (?, ?) RETURNING id", ("o5", "v")),
    ("INSERT INTO several (id, a, b) VALUES (?, ?, ?), (?, ?, ?) RETURNING id, b", (700, 900, "x", 701, 5, "y")),
    ("INSERT INTO children (id, parent) VALUES (?, ?) RETURNING id", (50, 77)),
    ("REPLACE INTO children (id, parent) VALUES (?, ?) RETURNING *", (50, 77)),
)


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
@pytest.mark.parametrize("capabilities", CAPABILITIES.values(), ids=CAPABILITIES)
def test_an_error_in_a_transaction_comes_after_the_columns(tables, capabilities, prepared):
    sessions = pair(tables, capabilities)
    for text, values in REFUSED:
        for number in range(4):
            others = unused(values, number + 1)
            others = [1 if "parent" in text and at == 1 else value for at, value in enumerate(others)]
            said(sessions, text, others, prepared)
    for text, values in REFUSED:
        ask(sessions, "FLUSH STATUS")  # which commits
        ask(sessions, "BEGIN")
        before = fast(tables)
        answer = said(sessions, text, values, prepared)
        assert answer[4] != 0xFF and b"\xff" in answer, text
        assert fast(tables) == before + 1, text
        for left in (*LEFT_BEHIND[:2], "SHOW SESSION STATUS LIKE 'Feature_insert_returning'"):
            ask(sessions, left)
    ask(sessions, "COMMIT")
    same_tables(tables, READS)


ODD = """CREATE TABLE odd (id INT AUTO_INCREMENT PRIMARY KEY, b BIT(9) DEFAULT b'101', y YEAR DEFAULT 2024,
    u UUID DEFAULT '123e4567-e89b-12d3-a456-426655440000', i INET6 DEFAULT '::1', j JSON DEFAULT '{"a": 1}',
    c CHAR(5) DEFAULT 'ab', r BINARY(4) DEFAULT 'x', v VARBINARY(9) DEFAULT 'yz', f FLOAT DEFAULT 0.1, d DOUBLE DEFAULT
    0.1, n DECIMAL(20, 10) DEFAULT 1.5, z INT(8) ZEROFILL DEFAULT 7, t TINYINT UNSIGNED DEFAULT 200, m MEDIUMINT DEFAULT
    -5, l BIGINT UNSIGNED DEFAULT 18446744073709551615, ts TIMESTAMP(3) DEFAULT '2024-01-02 03:04:05.678', dt DATETIME
    DEFAULT '2024-01-02 00:00:00', da DATE DEFAULT '2024-01-02', tm TIME(2) DEFAULT '-12:34:56.78', e ENUM('x', 'ä')
    DEFAULT 'ä', s SET('p', 'q') DEFAULT 'p,q', o BLOB DEFAULT 'bytes', x LONGTEXT DEFAULT 'text', w VARCHAR(20) CHARACTER
    SET latin1 DEFAULT 'Änn', q VARCHAR(99) COMPRESSED DEFAULT 'small', h INT INVISIBLE DEFAULT 3, k TEXT)"""
STATES = (
    "SET time_zone = '+05:00'",
    "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'",
    "SET character_set_results = latin1",
    "SET character_set_results = NULL",
    "SET character_set_results = koi8r",
    "SET NAMES utf8mb4",
    "SET sql_mode = DEFAULT",
    "SET time_zone = DEFAULT",
)


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
@pytest.mark.parametrize("begin", ["COMMIT", "BEGIN"])
def test_columns_of_every_type_are_sent_as_the_session_wants_them(tables, begin, prepared):
    sessions = pair(tables)
    ask(sessions, ODD)
    ask(sessions, begin)
    for state in STATES:
        ask(sessions, state)
        for session in sessions:
            session.prepared.clear()  # statements prepared in another sql_mode are left to the server
        for text in (
            "INSERT INTO odd (k) VALUES (?) RETURNING *, h",
            "INSERT INTO odd (k) VALUES (?), (?) RETURNING c, ts, e, w, b",
            "REPLACE INTO odd (k, c) VALUES (?, ?) RETURNING *",
        ):
            before = fast(tables)
            values = ["a", "b"][: text.count("?")]
            for _ in range(5):
                said(sessions, text, values, prepared)
            assert fast(tables) > before, (state, text)
    ask(sessions, "COMMIT")
    same_tables(tables, {"odd": "SELECT * FROM odd ORDER BY id"})


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
def test_another_table_has_other_columns(tables, prepared):
    sessions = pair(tables)
    texts = [
        ("INSERT INTO several (b) VALUES (?) RETURNING *", "i"),
        ("INSERT INTO several (b) VALUES (?) RETURNING n, id", "j"),
        ("DELETE FROM several WHERE b = ? RETURNING *", "b"),
    ]
    number = 0
    for change in (
        "SET @nothing = 1",
        "ALTER TABLE several ADD COLUMN more INT DEFAULT 4",
        "ALTER TABLE several MODIFY n BIGINT DEFAULT 5",
        "ALTER TABLE several RENAME COLUMN d TO e",
        "ALTER TABLE several DROP COLUMN more, ADD COLUMN more TEXT DEFAULT 'x' FIRST",
        "ALTER TABLE several ALTER n SET DEFAULT 6",
        "CREATE TRIGGER late BEFORE INSERT ON several FOR EACH ROW SET NEW.n = 7",
    ):
        ask(sessions, change)
        before = fast(tables)
        for _ in range(6):
            number += 1
            for text, key in texts:
                said(sessions, text, [f"{key}{number}"], prepared)
        assert (fast(tables) > before + 3) == ("TRIGGER" not in change), change
    same_tables(tables, {"several": READS["several"]})


def test_rows_that_are_long_are_the_servers(tables):
    sessions = pair(tables)
    long = "INSERT INTO options (name, value) VALUES ('long', REPEAT('x', {}))"
    update = (
        "INSERT INTO options (name, value) VALUES ('{}', '') ON DUPLICATE KEY UPDATE autoload = 'no' RETURNING value"
    )
    erase = "DELETE FROM options WHERE name = '{}' RETURNING *"
    for name in ("o1", "o2", "o3", "o1"):
        ask(sessions, update.format(name))
        ask(sessions, erase.format(name))
    for size, are_served in ((100_000, 2), (200_000, 0), (16_700_000, 0)):
        ask(sessions, long.format(size))
        before = fast(tables)
        ask(sessions, update.format("long"))
        ask(sessions, erase.format("long"))
        assert fast(tables) == before + are_served, size
    same_tables(tables, {"options": READS["options"]})


def test_returned_columns_need_their_privilege(tables):
    session, text = on_door(tables), "INSERT INTO options (name, value) VALUES ('{}', 'v') RETURNING id"
    every, erase = text.replace("id", "*"), "DELETE FROM options WHERE name = '{}' RETURNING value"
    for number, one in enumerate((text, every, erase)):
        learnt_of(session, one, number)
    tables.execute(
        "CREATE OR REPLACE USER few@'%' IDENTIFIED BY ''", "GRANT INSERT, DELETE ON by_door.options TO few@'%'"
    )
    few, before = on_door(tables, "few"), fast(tables)
    for one in (text, every, erase):
        assert few.query(one.format("o5"))[4] == 0xFF
    tables.execute("GRANT SELECT (id) ON by_door.options TO few@'%'")
    assert few.query(text.format("f1"))[4] == 1
    assert fast(tables) == before + 1
    for one in (every, erase):
        assert few.query(one.format("o5"))[4] == 0xFF
    tables.execute("GRANT SELECT ON by_door.options TO few@'%'")
    for one in (every.format("f2"), erase.format("f2")):
        assert few.query(one)[4] != 0xFF
    assert fast(tables) == before + 3


def learnt_of(session, text, number):
    for at in range(3):
        session.query(text.format(f"l{number}{at}"))


def test_sessions_of_one_commit_get_each_its_own_rows(tables):
    sessions = [on_door(tables) for _ in range(16)]
    text = "INSERT INTO options (name, value) VALUES ('{}', 'v'), ('{}x', 'v') RETURNING name, id"
    learnt(sessions[0], text.format("l", "l").replace("INSERT", "REPLACE"))
    for at in range(3):
        sessions[0].query(text.format(f"l{at}", f"l{at}"))
    told, before = {}, fast(tables)
    for turn in range(20):
        for at, session in enumerate(sessions):
            name = f"s{turn}.{at}"
            session.put(bytes([sql_session.QUERY]) + text.format(name, name).encode())
        for at, session in enumerate(sessions):
            told.update(rows_in(session.answer()))
    assert fast(tables) == before + 20 * 16
    assert len(told) == 20 * 16 * 2
    stored = tables.query("SELECT name, id FROM options WHERE name LIKE 's%.%'", database="by_door")
    assert told == dict(stored)


def rows_in(answer):
    """The rows of an answer with two columns, a text and a number, without CLIENT_DEPRECATE_EOF."""
    packets = []
    while answer:
        end = 4 + int.from_bytes(answer[:3], "little")
        packets.append(answer[4:end])
        answer = answer[end:]
    for row in packets[4:-1]:
        yield row[1 : 1 + row[0]].decode(), int(row[2 + row[0] :])
