"""SELECTs that read the time, the account, the last id or the connection's id: planned once, and right each time."""
import pytest
from support.clients import sql_session
from support.random_input.random_selects import TABLES
from support.server import STEADY_PLANS
from support.clients.sql_session import Session

WHERE = "FROM sale s JOIN person h ON h.id = s.person WHERE s.id = %d"
ASKED = (
    f"SELECT CURRENT_USER(), h.name {WHERE}",
    f"SELECT USER(), DATABASE(), h.name {WHERE}",
    f"SELECT CONNECTION_ID(), h.name {WHERE}",
    f"SELECT LAST_INSERT_ID(), LAST_INSERT_ID() + s.n {WHERE}",
    f"SELECT NOW(6), UTC_TIMESTAMP(), CURDATE(), UNIX_TIMESTAMP(), s.d < NOW() {WHERE}",
    f"SELECT s.id, s.d {WHERE} AND (s.d > NOW() - INTERVAL 9 HOUR OR s.n = 2)",
    "SELECT COUNT(*), MAX(s.d) FROM sale s WHERE s.d BETWEEN NOW() - INTERVAL 1 HOUR AND NOW() AND s.id <> %d",
    "SELECT s.id FROM sale s WHERE s.seen > CURDATE() AND s.seen <= UTC_TIMESTAMP() AND s.id <> %d ORDER BY s.seen DESC",
    "SELECT s.id, s.person FROM sale s WHERE s.id = LAST_INSERT_ID() AND s.n <> %d + 77",
    "SELECT s.id, s.person + 1 FROM sale s WHERE s.person > LAST_INSERT_ID() AND s.n <> %d ORDER BY s.id LIMIT 3",
    "SELECT s.kind, COUNT(*), MAX(s.d) FROM sale s WHERE s.person = %d AND s.d < NOW() GROUP BY s.kind",
)


@pytest.fixture(scope="module")
def plain(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", postern_port=0)
    for user in ("own", "other"):
        server.execute(f"CREATE USER {user}@'%' IDENTIFIED BY ''", f"GRANT ALL ON *.* TO {user}@'%'")
    server.execute(*TABLES, database="test")
    return server


def fast(server):
    return server.status("Postern_statements_fast")["postern_statements_fast"]


def columns_and_rows(answer):
    """The columns and rows without the status, which contains remarks on the plan."""
    return [bytes(one) for one in sql_session.without_remarks(answer)]


@pytest.mark.parametrize("text", ASKED)
def test_each_execution_has_its_sessions_values(plain, text):
    """Two sessions use one plan in turn, while everything changes that the functions return."""
    pairs = [
        [Session(plain.env[port], user, "test") for port in ("POSTERN_PORT", "SQL_PORT")] for user in ("own", "other")
    ]
    before = fast(plain)
    for turn in range(24):
        for at, pair in enumerate(pairs):
            for one in pair:
                one.query(f"SET timestamp = {1706745600 + turn * 1777 + at * 40000}.{turn:02}5")
                one.query(f"DO LAST_INSERT_ID({turn * 31 + at})")
                one.query(f"SET pseudo_thread_id = {100 + turn + at}")
            answers = [columns_and_rows(one.query(text % (turn % 9 + 1))) for one in pair]
            assert answers[0] == answers[1], (text, turn, at)
        plain.execute(f"UPDATE sale SET d = d + INTERVAL 1 HOUR WHERE id = {turn + 1}", database="test")
    assert fast(plain) - before >= 24


def test_the_time_goes_on(plain):
    session = Session(plain.env["POSTERN_PORT"], "own", "test")
    text = "SELECT UNIX_TIMESTAMP(NOW(6)) * 1000000 DIV 1, s.n + 1 FROM sale s WHERE s.id = %d"
    before = fast(plain)
    told = [int(columns_and_rows(session.query(text % number))[4][1:17]) for number in range(1, 21)]
    assert told == sorted(set(told))
    assert fast(plain) - before >= 16


def test_answers_of_the_time_are_not_taken_for_different(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", "--postern-verify=1", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    server.execute(*TABLES, database="test")
    session = Session(server.env["POSTERN_PORT"], "own", "test")
    for number in range(1, 21):
        session.query(f"SELECT NOW(6), s.n + 1 FROM sale s WHERE s.id = {number}")
    figures = server.status("Postern_verified%")
    assert figures["postern_verified_different"] == 0
    session.query("SET timestamp = 1706745600")
    for number in range(1, 21):
        session.query(f"SELECT NOW(6), s.n + 1 FROM sale s WHERE s.id = {number}")
    after = server.status("Postern_verified%")
    assert after["postern_verified_different"] == 0
    assert after["postern_verified_same"] - figures["postern_verified_same"] >= 16


@pytest.mark.parametrize(
    "text",
    (
        "SELECT s.d > SYSDATE(), s.n FROM sale s WHERE s.id = %d",
        "SELECT RAND(), s.n FROM sale s WHERE s.id = %d",
        "SELECT UUID(), s.n FROM sale s WHERE s.id = %d",
        "SELECT LAST_INSERT_ID(s.n + 200), s.n FROM sale s WHERE s.id = %d",
        "SELECT s.id FROM sale s WHERE s.tag = DATABASE() OR s.id = %d",
        "SELECT s.id FROM sale s WHERE s.d > CONCAT(CURRENT_USER(), %d)",
        "SELECT s.id FROM sale s WHERE s.d > TIME'10:00:00' AND s.id < %d",
        "SELECT s.kind, COUNT(*) FROM sale s WHERE s.person < %d GROUP BY s.kind HAVING MAX(s.d) < NOW()",
        "SELECT MAX(s.d < NOW()) FROM sale s WHERE s.person = %d",
        "SELECT DISTINCT NOW() FROM sale s WHERE s.person > %d ORDER BY 1 LIMIT 5 OFFSET 2",
        "SELECT NOW(), COUNT(*) FROM sale s WHERE s.person > %d GROUP BY 1 LIMIT 5 OFFSET 1",
        "SELECT COUNT(*) FROM sale s WHERE s.person = %d GROUP BY s.d < NOW()",
    ),
)
def test_others_are_the_servers(plain, text):
    door, port = (Session(plain.env[one], "own", "test") for one in ("POSTERN_PORT", "SQL_PORT"))
    before = fast(plain)
    for number in range(1, 12):
        for one in (door, port):
            one.query("SET timestamp = 1706790000")
        answers = [columns_and_rows(one.query(text % number)) for one in (door, port)]
        assert answers[0] == answers[1] or "RAND" in text or "UUID" in text or "SYSDATE" in text
    assert fast(plain) == before


@pytest.mark.parametrize(
    "text",
    (
        "SELECT s.id, s.n FROM sale s FORCE INDEX (PRIMARY) WHERE s.id = %d",
        "SELECT s.id, s.n + 1 FROM sale s USE INDEX (person) WHERE s.person = %d ORDER BY s.id",
        "SELECT s.id, s.n FROM sale s IGNORE INDEX (person) WHERE s.person = %d ORDER BY s.id",
        "SELECT s.id, h.name FROM sale s JOIN person h FORCE INDEX (PRIMARY) ON h.id = s.person WHERE s.id = %d",
        "SELECT s.id FROM sale s FORCE INDEX FOR ORDER BY (PRIMARY) WHERE s.person > %d ORDER BY s.id LIMIT 4",
    ),
)
def test_hints_are_obeyed(plain, text):
    door, port = (Session(plain.env[one], "own", "test") for one in ("POSTERN_PORT", "SQL_PORT"))
    before = fast(plain)
    for number in range(1, 21):
        assert columns_and_rows(door.query(text % number)) == columns_and_rows(port.query(text % number)), text
    assert fast(plain) - before >= 16
    missing = text.replace("(PRIMARY)", "(nothing)").replace("(person)", "(nothing)") % 1
    assert door.query(missing) == port.query(missing)


def test_null_is_the_last_id_once_where_the_session_says_so(plain):
    """With sql_auto_is_null `id IS NULL` alone finds the last inserted row, the first time only."""
    plain.execute("CREATE OR REPLACE TABLE made (id INT AUTO_INCREMENT PRIMARY KEY, v INT)", database="test")
    asked = "SELECT v FROM made WHERE id IS NULL"
    pair = [Session(plain.env[port], "own", "test") for port in ("POSTERN_PORT", "SQL_PORT")]
    before = fast(plain)
    for turn in range(16):
        insert = f"INSERT INTO made (v) VALUES ({turn})"
        steps = (asked, insert, f"SET sql_auto_is_null = {turn % 3 % 2}", asked, asked, insert, asked, asked)
        for step in steps:
            answers = [columns_and_rows(one.query(step)) for one in pair]
            if "INSERT" not in step:  # their ids differ
                assert answers[0] == answers[1], (step, turn)
    assert fast(plain) - before >= 24


DESCRIBED = (
    (
        "div_precision_increment",
        (4, 0, 9),
        "SELECT s.id / 3, AVG(s.n) FROM sale s WHERE s.person = %d GROUP BY 1 ORDER BY 1",
    ),
    (
        "group_concat_max_len",
        (1000, 40, 70000),
        "SELECT GROUP_CONCAT(s.n ORDER BY s.id) FROM sale s WHERE s.person = %d",
    ),
    ("lc_time_names", ("'en_US'", "'mn_MN'", "'ja_JP'"), f"SELECT DAYNAME(s.d), DATE_FORMAT(s.d, '%%M') {WHERE}"),
)


@pytest.mark.parametrize("variable, settings, text", DESCRIBED, ids=[one[0] for one in DESCRIBED])
def test_columns_are_described_by_the_sessions_settings(plain, variable, settings, text):
    """Lengths and decimals of columns, in answers and at PREPARE."""
    pairs = [[Session(plain.env[port], "own", "test") for port in ("POSTERN_PORT", "SQL_PORT")] for _ in settings]
    prepared = text.replace("%%", "%").replace("%d", "?")
    before = fast(plain)
    for turn in range(30):
        for at, pair in enumerate(pairs):
            for one in pair:
                one.query(f"SET {variable} = {settings[(at + turn // 10) % len(settings)]}")
            for ask in (
                lambda one: one.query(text % (turn % 9 + 1)),
                lambda one: one.execute(prepared, (turn % 9 + 1,)),
            ):
                answers = [columns_and_rows(ask(one)) for one in pair]
                assert answers[0] == answers[1], (turn, at)
            answers = [one.prepare(prepared)[1][9:] for one in pair]
            assert answers[0] == answers[1], (turn, at)
    assert fast(plain) - before >= 60
