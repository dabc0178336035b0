"""UPDATE and DELETE by a whole unique key with a condition on another indexed column: the server's optimizer may read by that
index, and lock its entries and gaps. In a transaction others wait for the same at both ports."""
import pytest
from support.random_input.planned_once import fast, plain, sessions  # noqa: F401

TABLE = (
    "CREATE OR REPLACE TABLE item (id INT PRIMARY KEY, x INT NOT NULL, b INT NOT NULL, n INT NOT NULL, UNIQUE KEY x (x),"
    " KEY b (b))",
    "INSERT INTO item SELECT seq * 2, seq * 2, seq DIV 2 * 4, 0 FROM seq_1_to_2000",
    "ANALYZE TABLE item",
)
WRITES = (
    "UPDATE item SET n = n + 1 WHERE id = %d AND b = %d",
    "DELETE FROM item WHERE id = %d AND b = %d",
    "UPDATE item SET n = n + 1 WHERE x = %d AND b = %d",
)
# The values in the first session's write, and the statement of the other.
PHANTOMS = (
    ((1000, 1002), "UPDATE item SET b = 1002 WHERE id = 1000"),
    ((1001, 1000), "INSERT INTO item VALUES (1001, 1001, 1000, 0)"),
    ((1001, 1000), "UPDATE item SET id = 1001, x = 1001 WHERE id = 1000"),
    ((1000, 1000), "DELETE FROM item WHERE id = 1000"),
)
LOCK_WAIT_TIMEOUT = 1205


def error_of(answer):
    """0 if the last packet is none."""
    at, packets = 0, []
    while at < len(answer):
        size = int.from_bytes(answer[at : at + 3], "little")
        packets.append(answer[at + 4 : at + 4 + size])
        at += 4 + size
    return int.from_bytes(packets[-1][1:3], "little") if packets[-1][0] == 0xFF else 0


@pytest.fixture(scope="module")
def items(plain):
    plain.execute(*TABLE, database="test")
    for one in WRITES:
        door = sessions(plain)[0]
        for number in range(20, 28, 2):
            door.query(one % (number, 1))
    return plain


def both_ports(server):
    """For each port two sessions that do not wait for locks."""
    for pair in zip(sessions(server), sessions(server)):
        for one in pair:
            one.query("SET innodb_lock_wait_timeout = 0")
        yield pair


@pytest.mark.parametrize("write", WRITES)
def test_workers_answer_under_autocommit(items, write):
    before = fast(items)
    door, port = sessions(items)
    for number in range(30, 38, 2):
        assert door.query(write % (number, 1)) == port.query(write % (number, 1))
    assert fast(items) > before


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("named, other", PHANTOMS)
def test_no_row_comes_to_match(items, write, named, other):
    for first, second in both_ports(items):
        first.query("BEGIN")
        assert error_of(first.query(write % named)) == 0
        assert error_of(second.query(other)) == LOCK_WAIT_TIMEOUT
        first.query("ROLLBACK")


@pytest.mark.parametrize("write", WRITES)
def test_two_sessions_count_and_insert(items, write):
    """The gaps of b stop both, and the rows of x and id that do not match stop nobody."""
    errors = []
    for first, second in both_ports(items):
        for one, number in ((first, 1600), (second, 1602)):
            one.query("BEGIN")
            assert error_of(one.query(write % (number, 2002))) == 0
            one.query("SELECT COUNT(*) FROM item WHERE b = 2002")
        errors.append(
            [
                error_of(one.query(statement))
                for one, statement in (
                    (first, "INSERT INTO item VALUES (9001, 9001, 2002, 0)"),
                    (second, "INSERT INTO item VALUES (9003, 9003, 2002, 0)"),
                    (second, "UPDATE item SET n = 5 WHERE id = 1600"),
                )
            ]
        )
        first.query("ROLLBACK")
        second.query("ROLLBACK")
    assert errors[0] == errors[1]
    assert LOCK_WAIT_TIMEOUT in errors[1]
