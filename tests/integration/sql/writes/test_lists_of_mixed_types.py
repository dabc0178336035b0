"""IN lists whose values have several types: the server makes no ranges of them, and reads and locks all rows. Workers
answer lists of one type, and lists of mixed types are answered, and lock, as at the server's port."""
import itertools

import pytest
from support.clients.sql_session import Session, without_remarks
from support.random_input.planned_once import fast
from support.row_locks import id_of, locks_of
from support.server import STEADY_PLANS

PORTS = ("POSTERN_PORT", "SQL_PORT")
COLUMNS = {
    "i": ("INT", "seq"),
    "g": ("BIGINT", "seq"),
    "u": ("BIGINT UNSIGNED", "seq"),
    "e": ("DECIMAL(10,2)", "seq"),
    "w": ("VARCHAR(20)", "CONCAT('a', seq)"),
    "y": ("VARBINARY(20)", "CONCAT('a', seq)"),
    "d": ("DATE", "'2024-01-01' + INTERVAL seq DAY"),
    "t": ("DATETIME", "'2024-01-01' + INTERVAL seq DAY"),
}
NUMBERS = ("8", "9.00", "'10'", "1.1e1", "TRUE", "-1", "18446744073709551615")
LITERALS = {
    **dict.fromkeys("igue", NUMBERS),
    "w": ("'a1'", "N'a2'", "_utf8mb4'a3'", "x'6134'"),
    "y": ("'a1'", "x'6132'", "_binary'a3'"),
    "d": ("'2024-01-03'", "DATE'2024-01-04'", "CURDATE()"),
    "t": ("'2024-01-03 00:00:00'", "DATE'2024-01-04'", "TIMESTAMP'2024-01-05 00:00:00'", "NOW()"),
}
LISTS = [
    (column, *pair)
    for column, literals in LITERALS.items()
    for pair in (*itertools.combinations(literals, 2), *zip(literals, literals))
]
FORMS = (
    "UPDATE m SET c = c + 1 WHERE {0} IN ({1}, {2})",
    "UPDATE m SET c = c + 1 WHERE {0} = {1} OR {0} = {2}",
    "DELETE FROM m WHERE {0} IN ({1}, {2})",
    "DELETE FROM m WHERE (id, {0}) IN ((1, {1}), (2, {2}))",
    "UPDATE m SET c = c + 1 WHERE c < 100 AND {0} IN ({1}, {2}) AND id IN (1, 2, 3)",
    "SELECT * FROM m WHERE {0} IN ({1}, {2})",
    "SELECT c FROM m WHERE {0} IN ({1}, {2}) ORDER BY {0} DESC FOR UPDATE",
)


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(
        STEADY_PLANS,
        "--postern-verify=0",
        "--innodb-status-output-locks=ON",
        "--loose-postern-threads=1",
        postern_port=0,
    )
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    keys = ", ".join(f"KEY ({name})" for name in COLUMNS)
    values = ", ".join(value for _, value in COLUMNS.values())
    server.execute(
        "CREATE USER own@'%' IDENTIFIED BY ''",
        "GRANT ALL ON *.* TO own@'%'",
        f"CREATE TABLE m (id INT PRIMARY KEY, c INT NOT NULL, {columns}, {keys}) COLLATE utf8mb4_general_ci",
        # Some rows in another order than that of the primary key.
        f"INSERT INTO m SELECT 1000 - seq, seq % 3, {values} FROM seq_1_to_300",
        "ANALYZE TABLE m",
        database="test",
    )
    return server


def seen(server, sessions, text, isolation):
    answers = []
    for session, connection in sessions:
        session.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        session.query("BEGIN")
        # The remark that no index was used is as it was when the worker learnt the form.
        answer = without_remarks(session.query(text))
        answers.append((answer, locks_of(server, connection)))
        session.query("ROLLBACK")
    return answers


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_mixed_lists(served, form, isolation):
    sessions = [Session(served.env[port], "own", "test") for port in PORTS]
    sessions = [(one, id_of(one)) for one in sessions]
    wrong = []
    for column, one, two in LISTS:
        text = form.format(column, one, two)
        for _ in range(4):
            door, port = seen(served, sessions, text, isolation)
        if door != port:
            wrong.append((text, door[0] == port[0], len(door[1]), len(port[1])))
    for session, _ in sessions:
        session.close()
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("one, two", [("8", "9"), ("'8'", "'9'"), ("8.00", "9.00"), ("8e0", "9e0")])
def test_workers_answer_lists_of_one_type(served, one, two):
    session = Session(served.env["POSTERN_PORT"], "own", "test")
    text = f"UPDATE m SET c = c + 1 WHERE id IN ({one}, {two})"
    for _ in range(3):
        session.query(text)
    before = fast(served)
    for _ in range(3):
        session.query(text)
    assert fast(served) - before == 3
    session.close()
