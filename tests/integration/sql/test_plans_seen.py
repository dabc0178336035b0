"""INFORMATION_SCHEMA.POSTERN_PLANS: the forms of statements that came through the SQL door."""
import contextlib
import threading

import pytest
from support.clients.sql_session import Session
from support.waiting import until

COLUMNS = "FORM, DATABASE_NAME, KIND, TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, STATE, REASON, HITS"


@pytest.fixture(name="server")
def fixture_server(sandbox_factory):
    server = sandbox_factory("--loose-postern-threads=1", "--postern-plan-once=OFF", postern_port=0)
    server.execute(
        "CREATE USER own@'%' IDENTIFIED BY ''",
        "GRANT ALL ON test.* TO own@'%'",
        "CREATE TABLE test.t (id INT PRIMARY KEY, name VARCHAR(20), other INT, UNIQUE by_name (name)) CHARSET utf8mb4",
        "INSERT INTO test.t SELECT seq, CONCAT('n', seq), seq FROM test.seq_1_to_20",
    )
    return server


@pytest.fixture(name="session")
def fixture_session(server):
    with contextlib.closing(Session(server.env["POSTERN_PORT"], "own", "test")) as session:
        yield session


def plans(server, form):
    """The rows of a form, as dictionaries."""
    rows = server.query(f"SELECT {COLUMNS} FROM information_schema.POSTERN_PLANS WHERE FORM = '{form}'")
    return [dict(zip(COLUMNS.lower().split(", "), row)) for row in rows]


def plan(server, form):
    until(lambda: plans(server, form))  # it is learnt after the answer
    (row,) = plans(server, form)
    return row


@pytest.mark.parametrize(
    "kind, form, texts",
    [
        ("UPDATE", "UPDATE many SET other = ? WHERE id = ?", "UPDATE many SET other = 7 WHERE id = {}"),
        ("DELETE", "DELETE FROM many WHERE id = ?", "DELETE FROM many WHERE id = {}"),
        ("INSERT", "INSERT INTO many (other) VALUES (?)", "INSERT INTO many (other) VALUES ({})"),
    ],
)
def test_writes_are_shown(server, session, kind, form, texts):
    server.execute(
        "CREATE TABLE test.many (id INT AUTO_INCREMENT PRIMARY KEY, other INT)",
        "INSERT INTO test.many SELECT seq, seq FROM test.seq_1_to_2000",
    )
    for number in range(1, 200):
        session.query(texts.format(number))
    row = plan(server, form)
    assert (row["kind"], row["table_name"], row["state"]) == (kind, "many", "served")
    assert row["index_name"] == (None if kind == "INSERT" else "PRIMARY")
    session.query("REPLACE INTO many VALUES (1, 2)")
    session.query("UPDATE many SET other = id * 2 WHERE id = 3")
    row = plan(server, "UPDATE many SET other = id * 2 WHERE id = ?")
    assert row["state"] == "not served" and row["reason"]


def test_a_form_is_learnt_served_and_counted(server, session):
    session.query("SELECT other FROM t WHERE name = 'n1'")
    form = "SELECT other FROM t WHERE name = ?"
    assert plan(server, form) == {
        "form": form,
        "database_name": "test",
        "kind": "SELECT",
        "table_schema": "test",
        "table_name": "t",
        "index_name": None,
        "state": "learning",
        "reason": None,
        "hits": 0,
    }
    for number in range(200):
        session.query(f"SELECT other FROM t WHERE name = 'n{number}'")
    row = plan(server, form)
    assert (row["state"], row["index_name"], row["reason"]) == ("served", "by_name", None)
    assert row["hits"] >= 128, "what a session has not told yet is at most 64"


def test_a_prepared_statement_counts_by_execution(server, session):
    text = "SELECT other FROM t WHERE name = ? AND other > ?"
    for number in range(150):
        session.execute(text, (f"n{number}", 1))
    session.forget(text)
    session.query("SELECT 1")
    row = plan(server, f"PREPARE {text}")
    assert (row["state"], row["hits"]) == ("served", 150)


def taken(server, form):
    columns = "hits, worker_runs, worker_us, server_runs, server_us, seen_seconds_ago, state"
    [row] = server.query(f"SELECT {columns} FROM information_schema.POSTERN_PLANS WHERE form = %s", (form,))
    return dict(zip(columns.split(", "), row))


def test_what_workers_and_the_server_take_is_shown_and_forgotten(server, session):
    spared = server.status("Postern_spared_processor_us")["postern_spared_processor_us"]
    for number in range(400):
        session.query(f"SELECT other FROM t WHERE name = 'n{number % 20}'")
        session.execute("SELECT id FROM t WHERE id = ?", (number % 20,))
        session.query(f"SELECT id FROM t WHERE id = {number} OR other = 2")
    for form in ("SELECT other FROM t WHERE name = ?", "PREPARE SELECT id FROM t WHERE id = ?"):
        row = taken(server, form)
        assert 80 <= row["worker_runs"] <= 1000 and row["server_runs"] >= 1, form
        assert 0 < row["worker_us"] / row["worker_runs"] < row["server_us"] / row["server_runs"], form
        assert row["seen_seconds_ago"] < 60
    left = taken(server, "SELECT id FROM t WHERE id = ? OR other = ?")
    assert left["worker_runs"] == 0 and 80 <= left["server_runs"] <= 1000 and left["server_us"] > 0
    assert server.status("Postern_spared_processor_us")["postern_spared_processor_us"] > spared
    server.execute("FLUSH POSTERN_PLANS")
    row = taken(server, "SELECT other FROM t WHERE name = ?")
    assert (row["hits"], row["worker_runs"], row["server_us"], row["state"]) == (0, 0, 0, "served")


def test_few_executions_are_shown_at_once(server, session):
    for number in range(5):
        session.query(f"SELECT other FROM t WHERE id = {number}")
    assert taken(server, "SELECT other FROM t WHERE id = ?")["hits"] == 4, "the first one taught its form"


def test_observers_of_statements_are_the_reason(server, session):
    form = "SELECT other FROM t WHERE name = ? AND other < ?"
    server.execute("SET GLOBAL general_log = ON")
    for number in range(3):
        session.query(f"SELECT other FROM t WHERE name = 'n{number}' AND other < 9")
    row = plan(server, form)
    server.execute("SET GLOBAL general_log = OFF")
    assert (row["state"], row["reason"]) == ("learning", "the general log")


def test_a_form_that_is_not_served_has_its_reason(server, session):
    session.query("SELECT id FROM t WHERE id = 1 OR other = 2")
    session.query("SELECT id FROM t WHERE other = 3")
    row = plan(server, "SELECT id FROM t WHERE id = ? OR other = ?")
    assert (row["state"], row["reason"], row["database_name"], row["kind"]) == ("not served", "OR", "test", None)
    assert plan(server, "SELECT id FROM t WHERE other = ?")["reason"] == "no index for the conditions and the order"


@pytest.mark.parametrize("lock", ["FOR UPDATE", "LOCK IN SHARE MODE"])
def test_a_lock_on_rows_found_among_others_is_the_servers(server, session, lock):
    for where in ("id IN (1, 2)", "id > 3", "id = 3", "id IN (1, 2) AND other > 7", "id > 3 AND other = 7"):
        session.query(f"SELECT other FROM t WHERE {where} {lock}")
    for where in ("id IN (?, ?) AND other > ?", "id > ? AND other = ?"):
        row = plan(server, f"SELECT other FROM t WHERE {where} {lock}")
        assert (row["state"], row["reason"]) == (
            "not served",
            "FOR UPDATE or LOCK IN SHARE MODE of other rows than one index finds",
        )
    for where in ("id = ?", "id IN (?, ?)", "id > ?"):
        assert plan(server, f"SELECT other FROM t WHERE {where} {lock}")["state"] != "not served"


def test_exists_without_a_name_is_served_where_it_is_prepared(server, session):
    text = "SELECT EXISTS(SELECT * FROM t WHERE id = ?)"
    for number in range(5):
        session.execute(text, (number,))
        session.query(text.replace("?", str(number)))
    assert plan(server, "PREPARE " + text)["state"] == "served"
    assert plan(server, text)["state"] == "not served", "its column is called by the text"


def test_rows_of_a_list_are_changed_where_what_finds_them_stays(server, session):
    server.execute(
        "CREATE TABLE test.many (id INT PRIMARY KEY, a INT, b INT, UNIQUE a (a))",
        "INSERT INTO test.many SELECT seq, seq, seq FROM test.seq_1_to_2000",
    )
    served = {
        "UPDATE many SET b = ? WHERE id IN (?, ?)": True,
        "UPDATE many SET b = ? WHERE a IN (?, ?)": True,
        "DELETE FROM many WHERE a IN (?, ?)": True,
        "UPDATE many SET a = a + ? WHERE a IN (?, ?)": False,
        "UPDATE many SET id = id + ? WHERE a IN (?, ?)": False,
        "DELETE FROM many WHERE id IN (?, ?) RETURNING a": False,
    }
    for number in range(1, 4):
        for form in served:
            literals = iter((5000, number, number + 100) if "SET" in form else (number, number + 100))
            session.query("".join(str(next(literals)) if one == "?" else one for one in form))
    states = {form: plan(server, form)["state"] == "served" for form in served}
    assert states == served


def test_literals_are_not_shown(server, session):
    session.query("SELECT id FROM t WHERE name = 'secret'")
    session.query("SELECT id FROM t WHERE name = 'secret' OR id = 815")
    forms = " ".join(row[0] for row in server.query("SELECT FORM FROM information_schema.POSTERN_PLANS"))
    assert "secret" not in forms and "815" not in forms


def test_it_takes_the_privilege_process(server, session):
    session.query("SELECT id FROM t WHERE id = 1")
    count = b"SELECT COUNT(*) FROM information_schema.POSTERN_PLANS"
    assert b"\x010" in session.query(count), "as INFORMATION_SCHEMA.QUERY_CACHE_INFO"
    server.execute("GRANT PROCESS ON *.* TO own@'%'")
    other = Session(server.env["POSTERN_PORT"], "own", "test")
    assert b"\x010" not in other.query(count)
    other.close()


def test_uninstalling_the_door_beside_readers_of_the_table(server, session):
    session.query("SELECT id FROM t WHERE id = 1")
    problems, done = [], threading.Event()

    def look():
        try:
            with server.connect() as connection, connection.cursor() as cursor:
                while not done.is_set():
                    cursor.execute("SELECT COUNT(*) FROM information_schema.POSTERN_PLANS")
                    cursor.fetchall()
        except Exception as problem:  # pylint: disable=broad-except
            problems.append(problem)

    looking = threading.Thread(target=look)
    looking.start()
    server.execute("UNINSTALL PLUGIN postern")
    assert server.query("SELECT COUNT(*) FROM information_schema.POSTERN_PLANS")[0][0] == 0
    done.set()
    looking.join()
    assert not problems
    server.execute("UNINSTALL PLUGIN POSTERN_PLANS", "INSTALL PLUGIN POSTERN_PLANS SONAME 'postern'")
    assert server.query("SELECT COUNT(*) FROM information_schema.POSTERN_PLANS")[0][0] == 0


def test_ddl_has_a_form_learnt_anew(server, session):
    form = "SELECT * FROM t WHERE id = ?"
    prepared = "PREPARE " + form

    def read():
        session.query("SELECT * FROM t WHERE id = 1")
        session.execute(form, (1,))

    for _ in range(4):
        read()
    assert plan(server, form)["state"] == plan(server, prepared)["state"] == "served"
    server.execute("ALTER TABLE t ADD COLUMN more INT DEFAULT 77", database="test")
    fast = server.status("Postern_statements_fast")["postern_statements_fast"]
    read()
    assert server.status("Postern_statements_fast")["postern_statements_fast"] == fast, "the server's, which learns"
    for _ in range(4):
        read()
    assert b"77" in session.query("SELECT * FROM t WHERE id = 1")
    assert server.status("Postern_statements_fast")["postern_statements_fast"] >= fast + 5
    assert plan(server, form)["state"] == plan(server, prepared)["state"] == "served"
    server.execute("ALTER TABLE t DROP PRIMARY KEY", database="test")
    for _ in range(3):
        read()
    for one in (form, prepared):
        assert plan(server, one)["state"] in ("retired", "not served")
        assert plan(server, one)["reason"] == "no index for the conditions and the order"
    server.execute("ALTER TABLE t ADD PRIMARY KEY (id)", database="test")


@pytest.mark.parametrize("prepared", [False, True], ids=["text", "prepared"])
def test_a_statement_left_to_the_server_for_a_trigger_comes_back_without_it(server, session, prepared):
    server.execute(
        "CREATE TABLE test.many (id INT AUTO_INCREMENT PRIMARY KEY, other INT)",
        "INSERT INTO test.many SELECT seq, seq FROM test.seq_1_to_2000",
    )
    text = "UPDATE many SET other = ? WHERE id = ?"

    def update(times):
        for number in range(1, times + 1):
            if prepared:
                session.execute(text, (7, number))
            else:
                session.query(f"UPDATE many SET other = 7 WHERE id = {number}")

    form = "PREPARE " + text if prepared else text
    update(5)
    assert plan(server, form)["state"] == "served"
    server.execute("CREATE TRIGGER t AFTER UPDATE ON many FOR EACH ROW SET @told = NEW.id", database="test")
    update(5)
    row = plan(server, form)
    assert row["state"] == "not served" and "triggers" in row["reason"]
    server.execute("DROP TRIGGER t", database="test")
    update(250)
    fast = server.status("Postern_statements_fast")["postern_statements_fast"]
    update(5)
    assert server.status("Postern_statements_fast")["postern_statements_fast"] == fast + 5
    assert plan(server, form)["state"] == "served"


def test_a_session_that_nothing_is_learnt_from_is_the_reason(server, session):
    session.query("CREATE TEMPORARY TABLE hidden (id INT)")
    session.query("SELECT id FROM t WHERE id = 3 AND other = 3")
    form = "SELECT id FROM t WHERE id = ? AND other = ?"
    row = plan(server, form)
    assert (row["state"], row["kind"]) == ("not served", None)
    assert row["reason"] == "the session has temporary tables, which may hide others"
    session.query("DROP TEMPORARY TABLE hidden")
    for number in range(20):
        session.query(f"SELECT id FROM t WHERE id = {number} AND other = 3")
    assert plan(server, form)["state"] == "served"


def test_a_prepared_statement_that_is_not_served_counts_by_execution(server, session):
    text = "SELECT id FROM t WHERE id = ? OR other = ?"
    for number in range(100):
        session.execute(text, (number, 1))
    session.forget(text)
    session.query("SELECT 1")
    row = plan(server, f"PREPARE {text}")
    assert (row["state"], row["reason"], row["hits"]) == ("not served", "OR", 100)


def test_a_reason_is_not_forgotten_while_more_is_learnt(server, session):
    """Values that cause a note are left to the server; then another session prepares the statement."""
    server.execute("CREATE TABLE test.prices (id INT AUTO_INCREMENT PRIMARY KEY, price DECIMAL(6, 2))")
    text = "INSERT INTO prices (price) VALUES (?)"
    for price in ["1.5"] * 4 + ["1.777"] * 12:
        session.execute(text, (price,))
    with contextlib.closing(Session(server.env["POSTERN_PORT"], "own", "test")) as other:
        other.query("BEGIN")
        other.execute(text, ("1.5",))
        other.query("COMMIT")
    assert "a value that its column does not take without a warning" in plan(server, f"PREPARE {text}")["reason"]


def test_texts_without_a_form_are_counted_by_their_kind(server, session):
    for number in range(30):
        session.query(f"SET @x = {number}")
        session.query("SHOW TABLES")
    for kind in ("SET ...", "SHOW ..."):
        row = plan(server, kind)
        assert row["hits"] == 30 and row["state"] == "not served" and "the server's own code" in row["reason"]


def retired(server, form):
    row = plan(server, form)
    return row["state"] == "retired" and row["reason"]


def test_statements_that_are_begun_in_vain_are_left_alone_for_a_while(server, session):
    server.execute(
        "CREATE TABLE test.wide (id INT PRIMARY KEY, kind INT, v CHAR(100), KEY (kind))",
        "INSERT INTO test.wide SELECT seq, IF(seq < 10, 7, seq), 'v' FROM test.seq_1_to_2000",
    )
    form = "SELECT v FROM wide WHERE kind = ?"

    def ask(times):
        for _ in range(times):
            session.query("SELECT v FROM wide WHERE kind = 7")

    def in_vain():
        return server.status("Postern_not_now_in_vain")["postern_not_now_in_vain"]

    ask(5)
    assert plan(server, form)["state"] == "served"
    more = "INSERT INTO test.wide SELECT seq, 7, 'v' FROM test.seq_2001_to_9000"
    server.execute(more)
    ask(12)
    assert retired(server, form) == "begun too often in vain, for now: more rows, or bytes, than a turn allows"
    before = in_vain()
    ask(5)
    assert in_vain() > before
    server.execute("DELETE FROM test.wide WHERE id > 2000")
    until(lambda: ask(1) or plan(server, form)["state"] == "served")  # after a while
    server.execute(more)
    until(lambda: ask(1) or retired(server, form))
    server.execute("DELETE FROM test.wide WHERE id > 2000", "ALTER TABLE test.wide ADD w INT")
    server.execute(
        "ANALYZE TABLE test.wide"
    )  # else the server scans the table, as if it were still large, and nothing is learnt
    until(lambda: ask(1) or plan(server, form)["state"] == "served")


def test_a_form_whose_answers_are_never_learnt_is_left_alone(server, session):
    server.execute(
        "CREATE TABLE test.long_rows (id INT PRIMARY KEY, v CHAR(200))",
        "INSERT INTO test.long_rows SELECT seq, REPEAT('v', 200) FROM test.seq_1_to_1000",
    )
    for _ in range(12):
        session.query("SELECT v FROM long_rows WHERE id > 3")
    assert "has yet to answer such a statement" in retired(server, "SELECT v FROM long_rows WHERE id > ?")


def test_statements_that_succeed_now_and_then_go_on(server, session):
    server.execute(
        "CREATE TABLE test.some (id INT PRIMARY KEY, kind INT, v CHAR(100), KEY (kind))",
        "INSERT INTO test.some SELECT seq, IF(seq < 10, seq, 77), 'v' FROM test.seq_1_to_6000",
    )
    for number in range(60):
        session.query(f"SELECT v FROM some WHERE kind = {77 if number % 2 else number % 10}")
    assert plan(server, "SELECT v FROM some WHERE kind = ?")["state"] == "served"


def test_bytes_that_the_server_sends_and_receives_by_itself_count(server, session):
    def bytes_now():
        counts = server.status("Postern_bytes_%")
        return counts["postern_bytes_received"], counts["postern_bytes_sent"]

    received, sent = bytes_now()
    session.query("SELECT REPEAT('x', 100000) FROM seq_1_to_20 UNION SELECT 1")
    session.query("SELECT LENGTH('" + "y" * 300_000 + "') UNION SELECT 1")
    until(lambda: bytes_now()[0] >= received + 300_000 and bytes_now()[1] >= sent + 100_000)
    assert bytes_now()[0] < received + 310_000
    [shown] = server.query(
        "SELECT bytes_received, bytes_sent FROM information_schema.POSTERN_CONNECTIONS WHERE door = 'postern'"
    )
    assert shown[0] >= 300_000 and shown[1] >= 100_000
