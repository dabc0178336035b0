"""The door answers the recorded statements of 76 driver, library and application set-ups as the server's own port does.

Each conversation is played at both ports, over separate databases, with the capabilities, the character set and the
states of its sessions: three times, because the first two teach the door. Every packet of every answer is the same, and
so are the tables in the end. pytest -s shows which forms of statements the server answers, and why.
"""
import contextlib

import pytest
from support.clients import sql_drivers
from support.conversations import AUTOCOMMIT, Speaker, conversations
from support.server import STEADY_PLANS
from support.clients.sql_session import Session, without_remarks

SIDES = {"POSTERN_PORT": "by_door", "SQL_PORT": "by_port"}
ROUNDS = 3
TABLES = ("users", "kv", "order_items", "sbtest1", "wp_options", "wp_posts", "wp_users", "page", "objectcache")
# Tables with rows that are restored.
OTHERS = {
    "users": "id NOT BETWEEN 1000 AND 1200",
    "kv": "k NOT LIKE 'key %'",
    "order_items": "order_id NOT BETWEEN 1000 AND 1200",
    "wp_options": "option_name NOT LIKE 'option %'",
}
# Reasons for which the server may answer a SELECT of these conversations.
NOT_BY_KEY = {
    "a column that the table has not, or hides",
    "a view, a table function or a table of INFORMATION_SCHEMA",
    "an expression in the select list, or in RETURNING",
    "DISTINCT or another option of SELECT",
    "GROUP BY, HAVING or a window",
    "no condition to find rows by",
    "no index for the conditions and the order",
    "no table",
    "several tables",
    "UNION, a subquery or a derived table",
    "a range that cannot be made anew",
}


@pytest.fixture(scope="module")
def served(module_factory):
    # InnoDB's statistics are the same on both sides, and do not change.
    options = ("--innodb-flush-log-at-trx-commit=2", STEADY_PLANS, "--loose-postern-threads=1")
    server = module_factory("--postern-verify=0", *options, postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


class Side:
    """The tables of one side: those of shop, WordPress and MediaWiki in one database, with their first rows."""

    def __init__(self, server, name):
        self.name, self.connection = name, server.connect()
        self.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4", f"USE {name}")
        skipped = ("USE ", "CREATE DATABASE", "DROP DATABASE", "CREATE TABLE types", "INSERT INTO types", "CREATE PROC")
        made = [statement.strip() for statement in sql_drivers.tables()]
        self.run(*(statement for statement in made if not statement.startswith(skipped)))
        # Enough rows for an index to pay off, beside those that are restored.
        self.run(
            *(f"CREATE TABLE {table}_before SELECT * FROM {table}" for table in TABLES),
            "INSERT INTO users (id, email, city_id) SELECT seq, CONCAT('u', seq, '@example.com'), seq FROM seq_1000_to_1200",
            "INSERT INTO kv SELECT CONCAT('key ', seq), seq, seq FROM seq_1_to_200",
            "INSERT INTO order_items SELECT seq, 1, 'sku', seq FROM seq_1000_to_1200",
            "INSERT INTO wp_options (option_name, option_value) SELECT CONCAT('option ', seq), seq FROM seq_1_to_200",
            f"ANALYZE TABLE {', '.join(TABLES)}",
        )

    def run(self, *statements):
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()

    def put_back(self, tables):
        self.run("BEGIN")
        for table in tables:
            others = OTHERS.get(table, "TRUE")
            self.run(f"DELETE FROM {table} WHERE {others}", f"INSERT INTO {table} SELECT * FROM {table}_before")
        self.run("COMMIT")

    def sums(self):
        return [sum for _, sum in self.run(f"CHECKSUM TABLE {', '.join(TABLES)}")]


def play(server, client, capabilities, collation, conversation, begin_round):
    """Plays it three times: twice in one pair of sessions, and once in another."""

    def same(said, answers):
        door, port = (answer.replace(b"by_door", b"by_port") for answer in answers)
        # A cached plan may scan a small table where the server uses an index.
        alike = door == port or without_remarks(door) == without_remarks(port)
        assert alike, f"{client}: {said}\n door: {door!r}\n server: {port!r}"

    for rounds in (ROUNDS - 1, 1):
        with contextlib.ExitStack() as stack:
            pair = [Session(server.env[port], "own", name, capabilities, collation) for port, name in SIDES.items()]
            for session in pair:
                stack.callback(session.close)
            speaker = Speaker(pair, list(SIDES.values()), same)
            for _ in range(rounds):
                begin_round()
                for said in conversation:
                    if said.kind != "opening":
                        speaker.be_in(said.state)
                    speaker.ask(said)
                speaker.be_in(AUTOCOMMIT)


def test_recorded_statements_are_answered_alike(served):
    door, port = sides = [Side(served, name) for name in SIDES.values()]
    sums_before = port.sums()

    def begin_round():
        sums = port.sums()
        assert door.sums() == sums, "their tables differ"
        changed = [table for table, sum, before in zip(TABLES, sums, sums_before) if sum != before]
        for side in sides:
            side.put_back(changed)

    asked = 0
    for client, capabilities, collation, conversation in conversations():
        play(served, client, capabilities, collation, conversation, begin_round)
        asked += ROUNDS * len(conversation)
    begin_round()
    fast = served.status("Postern%")["postern_statements_fast"]
    print(f"workers answered {fast} of {asked} statements")
    plans = (
        "SELECT HITS, STATE, REASON, FORM FROM information_schema.POSTERN_PLANS WHERE STATE <> 'served' ORDER BY 2, 3"
    )
    left = served.query(plans)
    for row in left:
        print(*row)
    # "SELECT ..." counts all statements without a form.
    selects = [row[2:] for row in left if row[3].upper().startswith("SELECT") and row[3] != "SELECT ..."]
    # A form that occurs in several contexts counts once.
    by_key = {form for reason, form in selects if reason not in NOT_BY_KEY}
    assert len(by_key) < 4, by_key  # statements that came too seldom
    assert fast > asked / 2
