"""Numbers of 19 and 20 digits, like snowflake ids and hashes: written, read and planned with, at both ports."""
import pytest
from support.clients import sql_session
from support.server import STEADY_PLANS
from support.clients.sql_session import Session

NUMBERS = (
    "999999999999999999",
    "1000000000000000000",
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551614",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "-1000000000000000000",
    "-9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775809",
    "-18446744073709551615",
    "00000000000000000005",
    "000000000000000000000000005",
    "5",
)
TABLE = (
    "CREATE OR REPLACE TABLE {0} (id INT PRIMARY KEY, i INT, b BIGINT, u BIGINT UNSIGNED, n DECIMAL(20, 0), f DOUBLE,"
    " t VARCHAR(30), KEY (i), KEY (b), KEY (u), KEY (n), KEY (f), KEY (t))"
)
READS = (
    "SELECT id FROM wide WHERE {c} = {v}",
    "SELECT id FROM wide WHERE {c} = {v} ORDER BY id LIMIT 1",
    "SELECT id FROM wide WHERE {c} IN ({v}, 5) ORDER BY id",
    "SELECT id FROM wide WHERE {c} <= {v} AND id > 0 ORDER BY id",
    "SELECT id FROM wide WHERE {c} > {v} ORDER BY {c} DESC, id LIMIT 3",
    "SELECT w.id + 1 FROM wide w JOIN wide x ON x.id = w.id WHERE w.{c} = {v}",
    "SELECT w.id + 1 FROM wide w JOIN wide x ON x.id = w.id WHERE w.{c} BETWEEN -9223372036854775808 AND {v}",
    "SELECT w.id + 1 FROM wide w JOIN wide x ON x.id = w.id WHERE w.{c} IN (5, {v}, 9223372036854775809)",
    "SELECT COUNT(*), SUM(id) FROM wide WHERE {c} <> {v}",
)


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", "--sql-mode=", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    server.execute(
        TABLE.format("wide"),
        *(
            f"INSERT IGNORE INTO wide VALUES ({at}, {number}, {number}, {number}, {number}, {number}, '{number}')"
            for at, number in enumerate(NUMBERS)
        ),
        "INSERT INTO wide SELECT seq, seq, seq, seq, seq, seq, seq FROM seq_100_to_400",
        "ANALYZE TABLE wide",
        database="test",
    )
    return server


def sessions(server):
    return [Session(server.env[port], "own", "test") for port in ("POSTERN_PORT", "SQL_PORT")]


def fast(server):
    return server.status("Postern_statements_fast")["postern_statements_fast"]


@pytest.mark.parametrize("column", "ibunft")
def test_reads(server, column):
    door, port = sessions(server)
    for text in READS:
        for _ in range(2):
            for number in NUMBERS:
                said = text.format(c=column, v=number)
                answers = [sql_session.without_remarks(one.query(said)) for one in (door, port)]
                if "ORDER BY" not in said:
                    answers = [sorted(map(bytes, one)) for one in answers]
                assert answers[0] == answers[1], said


def test_workers_answer_them(server):
    door, _ = sessions(server)
    for text in (
        "SELECT id FROM wide WHERE b = {}",
        "SELECT w.id + 1 FROM wide w JOIN wide x ON x.id = w.id WHERE w.u = {}",
    ):
        before = fast(server)
        for number in range(20):
            door.query(text.format(9223372036854775700 + number))
        assert fast(server) - before >= 16, text


def test_numbers_above_all_signed_ones_are_planned_with(server):
    door, port = sessions(server)
    text = "SELECT w.id + 1 FROM wide w JOIN wide x ON x.id = w.id WHERE w.u = {} AND w.u > {}"
    before = fast(server)
    for turn in range(20):
        said = text.format(18446744073709551615 - turn % 3, 9223372036854775809 + turn)
        assert door.query(said) == port.query(said)
    assert fast(server) - before >= 12
    for turn in range(20):  # alternating with others
        said = text.format((18446744073709551615, 5, 300 + turn)[turn % 3], (9223372036854775809, 1)[turn % 2])
        assert sql_session.without_remarks(door.query(said)) == sql_session.without_remarks(port.query(said)), said


WRITES = (
    "INSERT INTO {t} (id, {c}) VALUES ({n}, {v})",
    "UPDATE {t} SET {c} = {v} WHERE id = {n}",
    "REPLACE INTO {t} (id, {c}) VALUES ({n}, {v})",
    "INSERT INTO {t} (id, {c}) VALUES ({n}, 1) ON DUPLICATE KEY UPDATE {c} = {v}",
    "UPDATE {t} SET {c} = 1 WHERE id = {n} AND {c} = {v}",
    "UPDATE {t} SET {c} = {c} + {v} WHERE id = {n}",
    "UPDATE {t} SET {c} = {c} - {v} WHERE id = {n}",
    "DELETE FROM {t} WHERE id = {n} AND {c} <> {v}",
)


@pytest.mark.parametrize("column", "ibunft")
def test_writes(server, column):
    server.execute(TABLE.format("at_door"), TABLE.format("at_port"), database="test")
    door, port = sessions(server)
    for text in WRITES:
        for _ in range(2):
            for at, number in enumerate(NUMBERS):
                answers = [
                    one.query(text.format(t=table, c=column, v=number, n=at)).replace(b"at_door", b"at_port")
                    for one, table in ((door, "at_door"), (port, "at_port"))
                ]
                assert answers[0] == answers[1], (text, number)
            rows = [
                server.query(f"SELECT * FROM {table} ORDER BY id", database="test") for table in ("at_door", "at_port")
            ]
            assert rows[0] == rows[1], text
