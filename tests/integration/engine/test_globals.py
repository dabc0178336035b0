"""SET GLOBAL affects every thread of every door, for reads and writes, as it affects new SQL sessions."""
import contextlib

import pymysql
import pytest
from support.clients.mc import map_table
from support.waiting import until

# More rows than a find may read in a worker's turn.
MANY = 5000

# Variables that the doors pin, whatever the globals are (globals.cc gives reasons).
PINNED = {
    "autocommit",
    "sql_notes",
    "unique_checks",
    "system_versioning_insert_history",
    "system_versioning_asof",
    "tx_isolation",
    "transaction_isolation",
    "lock_wait_timeout",
    "max_statement_time",
    "max_session_mem_used",
    "binlog_format",
    "innodb_snapshot_isolation",
}
# A trigger's body runs with the values at CREATE TRIGGER, also for SQL.
OF_THE_TRIGGER = {
    "sql_mode",
    "character_set_client",
    "collation_connection",
    "character_set_connection",
    "collation_database",
    "character_set_database",
}
# Variables that would keep statements from running here, or that say nothing about the session.
UNTOUCHED = {
    "tx_read_only",
    "transaction_read_only",
    "wsrep_on",
    "debug",
    "debug_dbug",
    "debug_sync",
    "sql_log_bin",
    "rand_seed1",
    "rand_seed2",
    "skip_replication",
    "skip_parallel_replication",
    "thread_pool_priority",
}


@pytest.fixture(scope="module")
def door(module_factory):
    server = module_factory(
        "--handlersocket-threads=2",
        "--handlersocket-threads-wr=2",
        "--memcached-threads=2",
        "--log-bin",
        "--server-id=7",
        containers=True,
    )
    server.execute(
        "CREATE TABLE r (k INT PRIMARY KEY, t TIMESTAMP NULL, c CHAR(6), month VARCHAR(20) CHARACTER SET utf8mb4 AS (MONTHNAME(t)) VIRTUAL, "
        "week INT AS (WEEK(t)) VIRTUAL, KEY (t))",
        f"INSERT INTO r (k, t, c) SELECT seq, '2020-01-03 01:30:00' + INTERVAL seq MINUTE, 'ab' FROM seq_1_to_{MANY}",
        "CREATE TABLE w (k INT AUTO_INCREMENT PRIMARY KEY, t TIMESTAMP NULL, v VARCHAR(2000), c INT CHECK (c > 0))",
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (k INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
        # Writes to a table with a trigger run on a scan thread.
        "CREATE TABLE lone LIKE w",
        "ALTER TABLE lone ADD CHECK (c > 0)",
        "CREATE TRIGGER lone_t BEFORE INSERT ON lone FOR EACH ROW SET @x = 1",
        "CREATE TABLE m (k INT PRIMARY KEY, t TIMESTAMP NULL)",
        database="test",
    )
    map_table(server, "m", "test", "m", "k", "t")
    yield server
    server.assert_alive()


@pytest.fixture
def globally(door):
    """Sets global variables, which are restored at the end of the test."""
    before = {}

    def assign(**values):
        for name, value in values.items():
            before.setdefault(name, door.query(f"SELECT @@GLOBAL.{name}")[0][0])
            door.query(f"SET GLOBAL {name} = %s", (value,))

    yield assign
    for name, value in before.items():
        door.query(f"SET GLOBAL {name} = %s", (value,))


@pytest.fixture
def opened(door):
    """Connections that were opened and served before any SET GLOBAL: some on each worker of each port."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(make()) for make in (door.hs, door.hs_wr) for _ in range(4)]
        for one in clients:
            one.open(0, "test", "r", "k,t,c,month,week")
            one.open(1, "test", "r", "k", "t")
            assert one.request(0, "=", 1, 1)[0] == "0"
            assert len(one.request(0, ">=", 1, 1, MANY)) > MANY
        for one in clients[4:]:
            one.open(2, "test", "w", "t,v,c")
            one.open(3, "test", "lone", "t,v,c")
            one.open(4, "test", "child", "k,p")
        yield clients


READS = [
    {"time_zone": "+05:00"},
    {"sql_mode": "PAD_CHAR_TO_FULL_LENGTH"},
    {"lc_time_names": "de_DE"},
    {"default_week_format": 3},
]


@pytest.mark.parametrize("values", READS, ids=lambda values: next(iter(values)))
def test_how_a_row_is_read(door, opened, globally, values):
    def sql():
        return list(
            door.query(
                "SELECT CONCAT(k), CONCAT(t), CONCAT(c), month, CONCAT(week) FROM r WHERE k = 1", database="test"
            )[0]
        )

    globally(time_zone="+00:00", lc_time_names="en_US", default_week_format=0)
    for given in (values, {}):
        before = sql()
        globally(**given)
        assert not given or sql() != before
        at = sql()[1]
        for one in opened:
            assert one.request(0, "=", 1, 1)[2:] == sql()
            assert one.request(0, ">=", 1, 1, MANY)[2:7] == sql(), "in the slow lane"
            assert one.request(1, "=", 1, at) == ["0", "1", "1"], "by a key that the global gives its meaning"


def test_time_zone_over_memcached(door, globally):
    globally(time_zone="+00:00")
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(door.mc()) for _ in range(6)]
        for one in clients:
            assert one.get("@@m") == b"test/m"
        globally(time_zone="+05:00")
        for number, one in enumerate(clients):
            assert one.set(f"{number}", "2020-01-01 12:00:00") == "STORED"
        for one in clients:
            assert {one.get(f"{number}") for number in range(6)} == {b"2020-01-01 12:00:00"}
        assert door.query("SELECT DISTINCT CONCAT(t) FROM m", database="test") == [("2020-01-01 12:00:00",)]


def outcome(door, statement):
    """The result of the change in a new SQL session: the error number, or 0."""
    with contextlib.closing(
        pymysql.connect(unix_socket=door.env["SQL_SOCKET"], user="root", database="test", autocommit=None)
    ) as fresh:
        try:
            fresh.cursor().execute(statement)
            fresh.commit()
        except pymysql.MySQLError as error:
            return error.args[0], error.args[1]
    return 0, ""


WRITES = [
    # the variable, index, row, the same change in SQL, SQL's error with and without the setting
    ({"foreign_key_checks": 0}, 4, (7, 99), "INSERT INTO child VALUES (7, 99)", 0, 1452),
    ({"check_constraint_checks": 0}, 2, (None, "x", -1), "INSERT INTO w (v, c) VALUES ('x', -1)", 0, 4025),
    ({"check_constraint_checks": 0}, 3, (None, "x", -1), "INSERT INTO lone (v, c) VALUES ('x', -1)", 0, 4025),
    ({"tx_read_only": 1}, 2, (None, "x", 1), "INSERT INTO w (v, c) VALUES ('x', 1)", 1792, 0),
    ({"tx_read_only": 1}, 3, (None, "x", 1), "INSERT INTO lone (v, c) VALUES ('x', 1)", 1792, 0),
    (
        {"sql_mode": "ALLOW_INVALID_DATES,STRICT_ALL_TABLES"},
        5,
        ("2020-02-31",),
        "INSERT INTO dates VALUES ('2020-02-31')",
        0,
        1292,
    ),
]


@pytest.mark.parametrize(
    "values,index,row,statement,when_set,when_not",
    WRITES,
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_the_result_of_a_write(door, opened, globally, values, index, row, statement, when_set, when_not):
    door.execute("CREATE TABLE IF NOT EXISTS dates (d DATE, KEY d (d))", database="test")
    writers = opened[4:]
    for one in writers:
        one.open(5, "test", "dates", "d", "d")
    forget = ("SET SESSION TRANSACTION READ WRITE", "DELETE FROM child", "DELETE FROM dates")

    def check(expected):
        assert outcome(door, statement)[0] == expected
        for one in writers:
            door.execute(*forget, database="test")
            code, _, *told = one.request(index, "+", len(row), *row)
            assert (code == "0") == (expected == 0), told
        if expected == 1792:
            assert told == [outcome(door, statement)[1]]
        door.execute(*forget, database="test")

    try:
        check(when_not)
        globally(**values)
        check(when_set)
    finally:
        for name in values:
            door.query(f"SET GLOBAL {name} = DEFAULT")
    check(when_not)


def test_the_stored_values(door, opened, globally):
    """Times are stored by time zone, ids are generated by increment and offset."""
    globally(time_zone="+00:00")
    globally(time_zone="-03:00", auto_increment_increment=10, auto_increment_offset=4)
    for one in opened[4:]:
        for index, table in ((2, "w"), (3, "lone")):
            code, _, number = one.request(index, "+", 3, "2020-01-01 12:00:00", "x", 1)
            assert code == "0" and int(number) % 10 == 4
            assert door.query(f"SELECT CONCAT(t) FROM {table} WHERE k = %s", (number,), database="test") == [
                ("2020-01-01 12:00:00",)
            ]


def test_what_bounds_one_users_session_bounds_nobody_here(door, opened):
    with contextlib.closing(door.connect()) as session:
        cursor = session.cursor()
        cursor.execute("SET GLOBAL max_session_mem_used = 8192, GLOBAL max_statement_time = 0.000001")
        try:
            for one in opened:
                for _ in range(3):
                    assert one.request(0, "=", 1, 1)[0] == "0"
                assert len(one.request(0, ">=", 1, 1, MANY)) > MANY
            for one in opened[4:]:
                assert one.request(2, "+", 3, None, "x", 1)[0] == one.request(3, "+", 3, None, "x", 1)[0] == "0"
        finally:
            cursor.execute("SET GLOBAL max_session_mem_used = DEFAULT, GLOBAL max_statement_time = DEFAULT")


def test_a_killed_worker_takes_nothing_along(door, opened, globally):
    """Workers that start while a global is set live on after it is reset."""
    globally(foreign_key_checks=0, time_zone="+09:00")
    kill_all(door)
    globally(foreign_key_checks=1, time_zone="+00:00")
    for one in opened[4:]:
        assert one.request(4, "+", 2, 7, 99)[:2] == ["1", "1"]
        assert one.request(0, "=", 1, 1)[3] == door.query("SELECT CONCAT(t) FROM r WHERE k = 1", database="test")[0][0]


def kill_all(door):
    def restarted():
        return sum(value for value in door.status("%workers_restarted").values())

    waiting = sum("yet," in state for _, _, state in door.threads())  # threads of closed doors
    before = restarted()
    killed = door.kill_threads() - waiting
    assert killed > 4
    until(lambda: restarted() == before + killed)


def session_variables(door):
    return [
        name.lower()
        for name, in door.query(
            "SELECT variable_name FROM information_schema.system_variables WHERE variable_scope = 'SESSION' AND global_value IS NOT NULL "
            "AND variable_name NOT LIKE 'handlersocket%%' ORDER BY 1"
        )
    ]


def change_all(door, names, changed):
    """Gives every variable that allows it another value. `changed`: their old values."""
    for name in names:
        # Pinned variables must not follow.
        if name in UNTOUCHED | OF_THE_TRIGGER:
            continue
        if name == "tx_isolation" and "transaction_isolation" in names:
            continue  # two names of one variable since 11.1
        kind, least, most, words = door.query(
            "SELECT variable_type, numeric_min_value, numeric_max_value, enum_value_list FROM information_schema.system_variables "
            "WHERE variable_name = %s",
            (name,),
        )[0]
        was = door.query(f"SELECT @@GLOBAL.{name}")[0][0]
        if kind == "BOOLEAN":
            tries = [1 - int(was)]
        elif kind == "ENUM" and words is not None:
            tries = [word for word in words.split(",") if word != str(was)]
        elif least is not None and was is not None:
            tries = [was - 1, was // 2] if was > 10**9 else [was + 1, was * 2, was + 1024, was - 1]
        else:
            tries = []
        for value in tries:
            try:
                door.query(f"SET GLOBAL {name} = %s", (value,))
            except pymysql.MySQLError:
                continue
            if door.query(f"SELECT @@GLOBAL.{name}")[0][0] != was:
                changed[name] = was
                break
    for name, value in {
        "lc_messages": "fr_FR",
        "lc_time_names": "de_DE",
        "time_zone": "-01:00",
        "old_mode": "NO_PROGRESS_INFO",
        "character_set_results": "latin1",
        "collation_server": "utf8mb4_bin",
        "optimizer_switch": "mrr=on",
    }.items():
        changed[name] = door.query(f"SELECT @@GLOBAL.{name}")[0][0]
        door.query(f"SET GLOBAL {name} = %s", (value,))


def test_every_variable_of_sessions_follows_but_those_that_are_pinned(door):
    """The list is the server's own: it includes variables of later versions."""
    names = session_variables(door)
    assert len(names) > 150
    seen = [name for name in names if name not in UNTOUCHED | OF_THE_TRIGGER]
    values = ", ".join(f"('{name}', @@SESSION.{name})" for name in seen)
    door.execute(
        "CREATE OR REPLACE TABLE seen (name VARCHAR(64), value LONGTEXT)",
        "CREATE OR REPLACE TABLE now LIKE seen",
        "CREATE OR REPLACE TABLE look (k INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        database="test",
    )
    door.execute(
        f"CREATE TRIGGER look_t BEFORE INSERT ON look FOR EACH ROW INSERT INTO seen VALUES {values}", database="test"
    )

    with door.hs_wr() as client, contextlib.closing(
        door.connect(database="test")
    ) as session, session.cursor() as cursor:
        client.open(0, "test", "look", "v")

        def differing():
            """The variables that differed from the globals in the thread that wrote a row."""
            for statement in (
                "DELETE FROM seen",
                "DELETE FROM now",
                "INSERT INTO now VALUES " + values.replace("@@SESSION", "@@GLOBAL"),
            ):
                cursor.execute(statement)
            inserted = client.request(0, "+", 1, 1)
            assert inserted[0] == "0", inserted
            cursor.execute("SELECT name FROM seen JOIN now USING (name) WHERE NOT seen.value <=> now.value")
            found = {name for name, in cursor.fetchall()}
            cursor.execute("SELECT COUNT(*) FROM seen")
            assert cursor.fetchall() == ((len(seen),),)
            return found

        for _ in range(20):
            assert differing() <= PINNED  # every scan thread has written
        changed = {}
        try:
            change_all(door, names, changed)
            assert len(changed) > 100, sorted(changed)
            # Variables of storage engines follow a little later.
            until(lambda: differing() <= PINNED, otherwise=str(sorted(differing() - PINNED)))
            for _ in range(20):
                assert differing() <= PINNED
            assert {"autocommit", "unique_checks", "tx_isolation", "lock_wait_timeout"} <= differing()
        finally:
            for name, value in changed.items():
                cursor.execute(f"SET GLOBAL {name} = %s", (value,))


def test_userstat(door, opened, globally):
    globally(userstat=1)
    door.query("FLUSH TABLE_STATISTICS")
    for one in opened:
        assert one.request(0, "=", 1, 1)[0] == "0"
    assert door.query("SELECT rows_read FROM information_schema.table_statistics WHERE table_name = 'r'") == [
        (len(opened),)
    ]


def test_read_only_is_answered_in_the_servers_words(door, opened, globally):
    words = "The MariaDB server is running with the --read-only option so it cannot execute this statement"
    refused = door.status("%errors_read_only")
    globally(read_only=1)
    for one in opened[4:]:
        assert one.request(2, "+", 3, None, "x", 1) == ["1", "1", words]
        assert one.request(3, "+", 3, None, "x", 1) == ["1", "1", words]
        assert one.request(0, "=", 1, 1)[0] == "0"
    with door.mc() as cache:
        assert cache.set("@@m.1000", "2020-01-01 12:00:00") == f"SERVER_ERROR {words}"
    after = door.status("%errors_read_only")
    assert after["handlersocket_errors_read_only"] - refused["handlersocket_errors_read_only"] == 8
    assert after["memcached_errors_read_only"] - refused["memcached_errors_read_only"] == 1
