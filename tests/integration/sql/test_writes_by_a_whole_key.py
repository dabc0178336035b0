"""UPDATE and DELETE by a whole unique key with a condition on another indexed column, by which the server's optimizer may
read instead: at both ports no other session can make a row match while the transaction lasts."""
import pytest
from support.planned_once import fast, plain, sessions  # noqa: F401

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
@pytest.mark.parametrize("named, other", PHANTOMS)
def test_no_row_comes_to_match(items, write, named, other):
    before = fast(items)
    for first, second in both_ports(items):
        first.query("BEGIN")
        assert error_of(first.query(write % named)) == 0
        assert error_of(second.query(other)) == LOCK_WAIT_TIMEOUT
        first.query("ROLLBACK")
    assert fast(items) > before


def test_counting_for_update_keeps_two_sessions_from_inserting(items):
    """Not so after a plain SELECT, see docs/sql-door.md."""
    for first, second in both_ports(items):
        for one, number in ((first, 2000), (second, 2002)):
            one.query("BEGIN")
            assert error_of(one.query(WRITES[0] % (number, 2002))) == 0
            assert error_of(one.query("SELECT COUNT(*) FROM item WHERE b = 2002 FOR UPDATE")) == 0
        assert error_of(first.query("INSERT INTO item VALUES (9001, 9001, 2002, 0)")) == LOCK_WAIT_TIMEOUT
        assert error_of(second.query("INSERT INTO item VALUES (9003, 9003, 2002, 0)")) == LOCK_WAIT_TIMEOUT
        first.query("ROLLBACK")
        second.query("ROLLBACK")
