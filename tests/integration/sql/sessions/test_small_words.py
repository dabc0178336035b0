"""Answers without rows, as on the server's own port: for conditions that no row can meet, for counts of nothing, and
for BEGIN and COMMIT after comments."""
import pytest
from support.clients import sql_session
from support.clients.prepared import Client, Execute, Prepare
from support.server import STEADY_PLANS

TABLE = (
    "CREATE OR REPLACE TABLE w (id INT PRIMARY KEY, k INT NOT NULL, u INT NOT NULL, v VARCHAR(20), KEY k (k), UNIQUE u (u))",
    "INSERT INTO w SELECT seq, seq % 20, seq, IF(seq = 7, NULL, CONCAT('v', seq)) FROM seq_1_to_400",
    "ANALYZE TABLE w",
)
FOUND = "SELECT FOUND_ROWS(), ROW_COUNT()"
COUNTS = "SHOW SESSION STATUS WHERE Variable_name IN ('Empty_queries', 'Rows_sent', 'Questions', 'Com_select')"


@pytest.fixture(scope="module", name="server")
def fixture_server(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", "--thread-cache-size=0", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


def both(server, capabilities=0):
    return [Client(server.env[port], "own", "test", capabilities) for port in ("POSTERN_PORT", "SQL_PORT")]


def fast(server):
    return server.status("Postern_statements_fast")["postern_statements_fast"]


def assert_alike(server, steps, times=3):
    """Both ports answer each step alike. Returns how many the workers have answered."""
    before = fast(server)
    for _ in range(times):
        answers = []
        for client in both(server):
            server.execute(*TABLE, database="test")
            answers.append([sql_session.without_remarks(client.run(step)) for step in steps])
            client.close()
        for step, door, port in zip(steps, *answers):
            assert door == port, step
    return fast(server) - before


WRITES = (
    "UPDATE w SET v = 'x' WHERE id = {a} AND id = {b}",
    "UPDATE w SET v = 'x' WHERE id = {a} AND id > {b}",
    "UPDATE w SET v = 'x' WHERE id = {a} AND k BETWEEN {b} AND {a}",
    "UPDATE w SET v = 'x' WHERE u = {a} AND k <= {b} AND k >= {a}",
    "UPDATE w SET v = 'x' WHERE id IN ({a}, 9) AND id = {b}",
    "DELETE FROM w WHERE id = {a} AND id = {b}",
    "UPDATE w SET v = 'x' WHERE id = {a} AND u = {b}",
)


@pytest.mark.parametrize("form", WRITES)
def test_writes_that_no_row_can_meet(server, form):
    steps = []
    for a, b in ((1, 1), (2, 2), (3, 4), (5, 5), (7, 6), (999, 999), (999, 998)):
        steps += [form.format(a=a, b=b), FOUND]
    prepared = form.format(a="?", b="?")
    steps.append(Prepare(prepared))
    for a, b in ((11, 11), (12, 12), (13, 14), (15, 15)):
        steps += [Execute(prepared, *[a, b, a][: form.count("{")]), FOUND]
    assert assert_alike(server, steps) > 0


@pytest.mark.parametrize("wanted", ["COUNT(*)", "COUNT(v)", "1"])
@pytest.mark.parametrize(
    "where",
    [
        "id = {a}",
        "u = {a}",
        "k = {a}",
        "id IN ({a}, 900)",
        "id > {a} AND id < 900",
        "k = {a} AND k = 3",
        "id = {a} AND v = 'no'",
        "k = {a} AND id = 7",
    ],
)
def test_rows_found_by_a_count_of_nothing(server, wanted, where):
    form = f"SELECT {wanted} FROM w WHERE {where}"
    steps = [step for a in (3, 4, 999, 7, 500, 901) for step in (form.format(a=a), FOUND, COUNTS)]
    exists = f"SELECT EXISTS(SELECT 1 FROM w WHERE {where}) AS e"
    steps += [step for a in (3, 4, 999, 7, 500) for step in (exists.format(a=a), FOUND)]
    assert_alike(server, steps)


COMMENTED = (
    "BEGIN /* web:orders */",
    "/* traceparent='00-0123456789abcdef0123456789abcdef-0123456789abcdef-01', route='/orders/of/one/customer' */ COMMIT",
    "START /**/TRANSACTION/* x */;",
    "ROLLBACK/*! AND CHAIN */",
    "COMMIT /*M! AND CHAIN */",
    "COMMIT /* open",
    "ROLLBACK /*!99999 AND CHAIN */ /* y */",
    "SET /* z */ autocommit = 0",
    "SET autocommit = 1 /* z */",
    "BEG/**/IN",
)


def test_comments_about_transactions(server):
    steps = [step for text in COMMENTED for step in (text, "SELECT @@in_transaction, @@autocommit")]
    assert_alike(server, steps, 1)
    for text in ("BEGIN /* c */", "/* c */ COMMIT", "BEGIN", "COMMIT /* c */ -- "):
        before = server.status("Postern_statements_served")["postern_statements_served"]
        client = both(server)[0]
        client.run(text)
        after = server.status("Postern_statements_served")["postern_statements_served"]
        client.close()
        assert (after > before) == text.endswith("-- "), text
