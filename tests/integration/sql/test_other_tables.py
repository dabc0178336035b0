"""A prepared statement, after its table was replaced by another, while the SQL door has plans for it: byte for byte as
the server's own port answers, also if the client gets column metadata only when they change."""
import contextlib

import pytest
from support.clients import sql_session
from support.clients.prepared import Client, Execute, Prepare
from support.server import STEADY_PLANS

CACHED = sql_session.CACHE_METADATA | sql_session.EXTENDED_METADATA
CAPABILITIES = {"told each time": 0, "cached": CACHED, "cached, no EOF": CACHED | sql_session.DEPRECATE_EOF}
READ = "SELECT v FROM m WHERE id = ?"
WRITE = "DELETE FROM m WHERE id = ? RETURNING v"
NEXT = "INSERT INTO m VALUES (?, '123') RETURNING v"
MADE = (
    "CREATE OR REPLACE TABLE m (id INT PRIMARY KEY, v VARCHAR(20))",
    "INSERT INTO m SELECT seq, '123456' FROM seq_1_to_300",
)
HIDE = "CREATE TEMPORARY TABLE m (id INT PRIMARY KEY, v INT)"
FILL = "INSERT INTO m SELECT seq, 7 FROM seq_1_to_300"
SHOW = "DROP TEMPORARY TABLE m"


@pytest.fixture(scope="module", name="server")
def fixture_server(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", "--thread-cache-size=0", postern_port=0)
    server.execute("CREATE DATABASE mine", "CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


def play(server, port, steps, capabilities):
    """Plays steps: each is a command of the session, an administrator's statement, or another session's."""
    server.execute(*MADE, "GRANT ALL ON *.* TO own@'%'", database="mine")
    answers = []
    with contextlib.closing(Client(port, "own", "mine", capabilities)) as client:
        for step in steps:
            if callable(step):
                step(server, capabilities)
            else:
                answers.append((step, client.run(step)))
    return answers


def by_others(*statements):
    return lambda server, _: server.execute("SET lock_wait_timeout = 5", *statements, database="mine")


def others_learn(text):
    """The door learns altered tables anew."""

    def run(server, capabilities):
        with contextlib.closing(Client(server.env["POSTERN_PORT"], "own", "mine", capabilities)) as client:
            client.run(Prepare(text))
            for number in range(290, 296):
                client.run(Execute(text, number))

    return run


def executions(text, first, count=4):
    return [Execute(text, number) for number in range(first, first + count)]


def hidden(text, *between):
    steps = [Prepare(text), *executions(text, 301 if text == NEXT else 1)]
    for first in (310 if text == NEXT else 10, 320 if text == NEXT else 20):
        steps += [HIDE, *([] if text == NEXT else [FILL]), *between, *executions(text, first, 2), SHOW]
        steps += executions(text, first + 4)
    return steps


SCENARIOS = {
    "read": hidden(READ),
    "read, its numbers as bytes": hidden(READ, Prepare("SELECT id FROM m WHERE v = ?")),
    "write": hidden(WRITE),
    "new rows": hidden(NEXT),
    "prepared while it is hidden": [
        *(HIDE, FILL, Prepare(READ), *executions(READ, 1, 2), SHOW, *executions(READ, 3)),
        *(Prepare(READ), *executions(READ, 3)),
    ],
    "never executed while it is hidden": [Prepare(READ), Execute(READ, 1), HIDE, FILL, SHOW, *executions(READ, 3)],
    "refused while it changes": [
        Prepare(READ),
        *executions(READ, 1),
        by_others("ALTER TABLE m MODIFY v INT"),
        others_learn(READ),
        by_others("REVOKE ALL ON *.* FROM own@'%'"),
        Execute(READ, 1),
        by_others("GRANT ALL ON *.* TO own@'%'"),
        *executions(READ, 1),
    ],
    "renamed": [
        Prepare(READ),
        *executions(READ, 1),
        by_others(
            "CREATE OR REPLACE TABLE n LIKE m", "INSERT INTO n SELECT id, 77 FROM m", "ALTER TABLE n MODIFY v INT"
        ),
        by_others("RENAME TABLE m TO o, n TO m, o TO n"),
        *executions(READ, 1),
        others_learn(READ),
        *executions(READ, 1),
        by_others("RENAME TABLE m TO o, n TO m, o TO n", "DROP TABLE n"),
        *executions(READ, 1),
        others_learn(READ),
        *executions(READ, 1),
    ],
    "a view": [
        Prepare(READ),
        *executions(READ, 1),
        by_others("RENAME TABLE m TO n", "CREATE VIEW m AS SELECT id, 5 AS v FROM n"),
        *executions(READ, 1),
        by_others("DROP VIEW m", "RENAME TABLE n TO m"),
        *executions(READ, 1),
    ],
    "locked and altered": [
        Prepare(READ),
        *executions(READ, 1),
        "LOCK TABLES m WRITE",
        "ALTER TABLE m MODIFY v INT",
        *executions(READ, 1, 2),
        "ALTER TABLE m MODIFY v VARCHAR(20)",
        *executions(READ, 1, 1),
        "UNLOCK TABLES",
        *executions(READ, 1),
    ],
}


@pytest.mark.parametrize("capabilities", CAPABILITIES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_column_metadata_is_true(server, scenario, capabilities):
    steps, flags = SCENARIOS[scenario], CAPABILITIES[capabilities]
    expected = play(server, server.env["SQL_PORT"], steps, flags)
    for _ in range(2):  # the tables are unknown; the form is known
        before = server.status("Postern_statements_fast")["postern_statements_fast"]
        for answer, own in zip(play(server, server.env["POSTERN_PORT"], steps, flags), expected):
            assert answer == own, answer
        assert server.status("Postern_statements_fast")["postern_statements_fast"] > before
