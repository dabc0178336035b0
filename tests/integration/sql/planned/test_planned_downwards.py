"""Planned reads that go down an index, along the primary key's parts that InnoDB appends: rows as on the server's own
port, with values whose ranges are made anew for each execution."""
import contextlib

import pytest
from support.clients import sql_session
from support.clients.prepared import Client, Execute, Prepare
from support.server import STEADY_PLANS

KEYS = {
    "upwards": "PRIMARY KEY (b, a), KEY d (d)",
    "a part downwards": "PRIMARY KEY (b, a DESC), KEY d (d DESC)",
    "all downwards": "PRIMARY KEY (b DESC, a DESC), KEY d (d DESC)",
    "two parts": "PRIMARY KEY (b, a), KEY d (d, e)",
}
WHERE = {
    "d IS NULL": [(), (), (), ()],
    "d IN (?, ?)": [(1, 2), (0, 2), (1, 2), (2, 1), (1, 1), (0, 7)],
    "d = ? OR d IS NULL": [(1,), (2,), (1,), (9,)],
    "d BETWEEN ? AND ?": [(1, 1), (0, 0), (1, 2), (2, 2), (1, 1)],
    "d = ? AND e IN (?, ?)": [(1, 2, 3), (0, 1, 1), (1, 2, 3), (2, 0, 1)],
}
# Whole orders: rows that are equal come in the plan's order.
ORDER = (
    "d DESC, b DESC, a DESC",
    "d DESC, b DESC, a",
    "d, b DESC, a DESC",
    "b DESC, a",
    "b DESC, a, b",
    "d DESC, e DESC, b DESC, a DESC",
)


@pytest.fixture(scope="module", name="server")
def fixture_server(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", "--thread-cache-size=0", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


def fill(server, keys):
    server.execute(
        f"CREATE OR REPLACE TABLE o (a INT NOT NULL, b INT NOT NULL, c VARCHAR(5) NOT NULL, d INT, e INT NOT NULL, {keys})",
        "INSERT INTO o SELECT seq, seq % 6, seq % 4, IF(seq % 5 = 0, NULL, seq % 3), seq % 4 FROM seq_1_to_240",
        "ANALYZE TABLE o",
        database="test",
    )


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("keys", KEYS)
def test_rows_come_down_the_index(server, keys, where, prepared):
    fill(server, KEYS[keys])
    before = server.status("Postern_statements_fast")["postern_statements_fast"]
    with contextlib.ExitStack() as stack:
        door, port = [
            stack.enter_context(contextlib.closing(Client(server.env[port], "own", "test", 0)))
            for port in ("POSTERN_PORT", "SQL_PORT")
        ]
        for order in ORDER:
            text = f"SELECT a, b, c, d, e FROM o WHERE {where} ORDER BY {order} LIMIT 3"
            if prepared:
                assert door.run(Prepare(text)) == port.run(Prepare(text))
            for values in WHERE[where]:
                step = Execute(text, *values) if prepared else sql_session.in_text(text, values)
                answers = [sql_session.without_remarks(one.run(step)) for one in (door, port)]
                assert answers[0] == answers[1], (order, values)
    assert server.status("Postern_statements_fast")["postern_statements_fast"] > before
