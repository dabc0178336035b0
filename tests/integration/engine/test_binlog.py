"""The doors' writes reach the binary log as row events with GTIDs, and from there replicas, backups and recovery."""
import contextlib
import os
import subprocess
import threading

import pytest
from support.load import Load
from support.replica import catch_up, follow, same
from support.server import SERVER_DIR, Server
from support.waiting import until

DURABLE = ("--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
PROGRAMS = SERVER_DIR / "root" / "usr" / "bin"


def events(server, database=None):
    """(type, text) of all events in the binary logs."""
    found = []
    for name, *_ in server.query("SHOW BINARY LOGS"):
        found += [(kind, text) for _, _, kind, _, _, text in server.query(f"SHOW BINLOG EVENTS IN '{name}'")]
    return found if database is None else [(kind, text) for kind, text in found if f"({database}." in text]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A primary and its replica."""
    directory = tmp_path_factory.mktemp("binlog")
    both = [Server(directory / "primary"), Server(directory / "replica")]
    try:
        both[0].start("--log-bin=bin", "--server-id=1", *DURABLE)
        both[1].start("--log-bin=bin", "--server-id=2", "--log-slave-updates=0", "--slave-parallel-threads=0")
        follow(*both)
        yield both
    finally:
        for server in both:
            with contextlib.suppress(AssertionError):
                server.execute("STOP SLAVE")
            server.stop()
    for server in both:
        server.assert_no_crash()


TABLES_OF_ALL_KINDS = (
    "CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(50), n INT NOT NULL DEFAULT 5, w TEXT)",
    "CREATE TABLE ids (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50) UNIQUE, n INT DEFAULT 0)",
    "CREATE TABLE keyless (id INT NOT NULL, v VARCHAR(50), KEY (id))",
    "CREATE TABLE made (id INT PRIMARY KEY, v VARCHAR(50), at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), "
    "u CHAR(36) DEFAULT UUID(), s VARCHAR(100) AS (CONCAT(v, '!')) STORED, w VARCHAR(100) AS (UPPER(v)) VIRTUAL, KEY (w))",
    "CREATE TABLE parts (id INT, k INT, v VARCHAR(50), PRIMARY KEY (id, k)) PARTITION BY HASH (k) PARTITIONS 4",
    "CREATE TABLE parent (id INT PRIMARY KEY, v VARCHAR(50))",
    "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE audited (id INT PRIMARY KEY, v VARCHAR(50), n INT DEFAULT 0)",
    "CREATE TABLE audit (no INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(200), at TIMESTAMP(6))",
    "CREATE TABLE noted (no INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(200)) ENGINE=MyISAM",
    "CREATE TRIGGER b_i BEFORE INSERT ON audited FOR EACH ROW SET NEW.n = COALESCE(NEW.n, 0) + 1000",
    "CREATE TRIGGER a_i AFTER INSERT ON audited FOR EACH ROW INSERT INTO audit (what, at) VALUES (CONCAT('+', NEW.id, NEW.v), NOW(6))",
    "CREATE TRIGGER a_u AFTER UPDATE ON audited FOR EACH ROW BEGIN INSERT INTO audit (what, at) VALUES (CONCAT(OLD.v, '>', NEW.v), NOW(6)); "
    "INSERT INTO noted (what) VALUES (RAND()); END",
    "CREATE TRIGGER b_d BEFORE DELETE ON audited FOR EACH ROW BEGIN "
    "IF OLD.v = 'keep' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'kept'; END IF; "
    "INSERT INTO audit (what, at) VALUES (CONCAT('-', OLD.id), NOW(6)); END",
    "CREATE TABLE versioned (id INT PRIMARY KEY, v VARCHAR(50), n INT DEFAULT 0) WITH SYSTEM VERSIONING",
    "CREATE TABLE old (id INT PRIMARY KEY, v VARCHAR(50), n INT DEFAULT 0) ENGINE=MyISAM",
    "CREATE TABLE crash_safe (id INT PRIMARY KEY, v VARCHAR(50), n INT DEFAULT 0) ENGINE=Aria",
)


def write_everywhere(server, database):
    """Makes every kind of write to every kind of table, singly and many at once; returns the number of effective
    ones."""
    requests = [
        ("P", 1, database, "keyless", "id", "id,v"),
        ("P", 2, database, "parts", "PRIMARY", "id,k,v"),
        ("P", 3, database, "parent", "PRIMARY", "id,v"),
        ("P", 4, database, "child", "PRIMARY", "id,p"),
    ]
    names = {
        name: 10 + 2 * number
        for number, name in enumerate(("plain", "ids", "made", "audited", "versioned", "old", "crash_safe"))
    }
    for name, number in names.items():
        requests.append(("P", number, database, name, "PRIMARY", "id,v"))
        requests.append(("P", number + 1, database, name, "PRIMARY", "n" if name != "made" else "id"))
    requests.append(("P", 40, database, "plain", "PRIMARY", "id,v,n,w"))
    requests.append(("P", 41, database, "ids", "PRIMARY", "v"))
    opens = len(requests)
    refusals = 0
    for name, number in names.items():
        requests += [(number, "+", 2, key, f"{name} {key}") for key in range(1, 9)]
        requests.append((number, "+", 2, 1, "again"))
        refusals += 1
        requests += [(number, "=", 1, 1, 1, 0, "U", 1, "changed"), (number, "=", 1, 2, 1, 0, "U", 20, "moved")]
        if name != "made":
            requests += [
                (number + 1, "=", 1, 3, 1, 0, "+", 7),
                (number + 1, ">=", 1, 4, 3, 0, "+", 9),
                (number + 1, "=", 1, 3, 1, 0, "-", 2),
            ]
        requests += [
            (number, "=", 1, 5, 1, 0, "D"),
            (number, ">=", 1, 7, 2, 0, "D"),
            (number, "=", 1, 6, 1, 0, "@", 0, 2, 3, 6, "U?", 6, "in a list"),
        ]
        refusals += 1  # two rows cannot have the same id
        requests += [
            (number, "U", 2, 1, "upserted"),
            (number, "U", 2, 30, "upserted"),
            (number, "I", 2, 30, "ignored"),
            (number, "I", 2, 31, "new"),
        ]
    requests += [
        (40, "+", 1, 100),
        (40, "+", 4, 101, "v", 9, "blob " * 100),
        (40, "+", 3, 102, "v", 9),
        (40, "+", 2, 103, "v"),
        (40, "+", 1, 104),
    ]
    requests += [(40, "=", 1, 101, 1, 0, "U", 101, "only v"), (40, "=", 1, 102, 1, 0, "U", 102, "v", 10, "blob")]
    requests += [(41, "+", 1, f"id {number}") for number in range(40)]
    requests += [(1, "+", 2, number % 5, f"v{number}") for number in range(20)]
    requests += [(1, "=", 1, 2, 100, 0, "U", 3, "moved"), (1, "=", 1, 3, 2, 0, "D")]
    requests += [(2, "+", 3, number % 3, number, "v") for number in range(12)] + [
        (2, "=", 2, 1, 4, 1, 0, "U", 1, 5000, "far")
    ]
    requests += [(3, "+", 2, number, "p") for number in range(10)] + [
        (4, "+", 2, number, number % 5) for number in range(20)
    ]
    requests += [(3, "=", 1, 1, 1, 0, "D"), (3, "=", 1, 2, 1, 0, "U", 200, "renamed"), (4, "+", 2, 99, 99)]
    refusals += 1  # a child without a parent
    requests += [
        (names["audited"], "+", 2, 50, "keep"),
        (names["audited"], "=", 1, 50, 1, 0, "D"),
        (names["audited"], "=", 1, 50, 1, 0, "U", 50, "kept"),
    ]
    refusals += 1  # the trigger's
    with server.hs_wr(timeout=30) as client:
        replies = client.pipeline(*requests)
    refused = [(request, reply) for request, reply in zip(requests, replies) if reply[0] != "0"]
    assert len(refused) == refusals, refused
    return len(requests) - opens - refusals


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.parametrize("format", ["STATEMENT", "MIXED", "ROW"])
def test_tables_of_all_kinds_replicate(servers, format, image):
    primary, replica = servers
    database = f"kinds_{format}_{image}".lower()
    primary.execute(
        f"SET GLOBAL binlog_format = {format}", f"SET GLOBAL binlog_row_image = {image}", f"CREATE DATABASE {database}"
    )
    primary.execute(*TABLES_OF_ALL_KINDS, database=database)
    primary.execute("FLUSH BINARY LOGS")
    write_everywhere(primary, database)
    log = primary.query("SHOW BINARY LOGS")[-1][0]
    kinds = [kind for _, _, kind, _, _, text in primary.query(f"SHOW BINLOG EVENTS IN '{log}'") if text != "COMMIT"]
    assert not {"Query", "Intvar", "RAND", "User var"} & set(kinds), "a statement was logged"
    for wanted in ("Gtid", "Write_rows_v1", "Update_rows_v1", "Delete_rows_v1"):
        assert wanted in kinds
    catch_up(primary, replica)
    same(primary, replica, database)


@pytest.mark.alone
def test_many_clients_share_transactions_and_replicate(servers):
    primary, replica = servers
    primary.execute("SET GLOBAL binlog_row_image = FULL", "CREATE DATABASE shared", "FLUSH BINARY LOGS")
    with Load(primary, clients=8, database="shared", many=0.02) as load:
        load.wait_for(8000)
    load.check(primary)
    assert not load.errors, load.errors
    log = primary.query("SHOW BINARY LOGS")[-1][0]
    groups = sum(kind == "Gtid" for _, _, kind, *_ in primary.query(f"SHOW BINLOG EVENTS IN '{log}'"))
    assert groups < load.answered() / 2, "there is a transaction for nearly every write"
    catch_up(primary, replica)
    load.check(replica)
    same(primary, replica, "shared")


def test_a_killed_primary_and_its_replica_agree(servers):
    primary, replica = servers
    primary.execute("CREATE DATABASE killed")
    with Load(primary, clients=8, database="killed", many=0.02) as load:
        load.wait_for(3000)
        primary.kill()
    primary.start()
    load.check(primary, lost=True)
    catch_up(primary, replica)
    load.check(replica, lost=True)
    same(primary, replica, "killed")
    assert "server_errno" not in primary.log()


def test_the_binary_log_brings_an_empty_server_to_the_same_state(servers, sandbox_factory):
    primary, _ = servers
    empty = sandbox_factory("--server-id=3", env=without_plugin())
    logs = [f"{primary.env['DATADIR']}/{name}" for name, *_ in primary.query("SHOW BINARY LOGS")]
    reading = subprocess.Popen([PROGRAMS / "mariadb-binlog", "--no-defaults", *logs], stdout=subprocess.PIPE)
    done = subprocess.run(
        [PROGRAMS / "mariadb", "--no-defaults", "--user=root", f"--socket={empty.env['SQL_SOCKET']}"],
        stdin=reading.stdout,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    reading.stdout.close()
    assert reading.wait() == 0 and done.returncode == 0, done.stderr
    databases = {name for name, in primary.query("SHOW DATABASES")} - {
        "mysql",
        "sys",
        "information_schema",
        "performance_schema",
        "test",
    }
    assert databases
    for database in databases:
        same(primary, empty, database)


def without_plugin():
    return {**os.environ, "POSTERN_SO": "none"}


@pytest.mark.parametrize("option", ["--binlog-do-db=kept", "--binlog-ignore-db=left_out"])
def test_filters_of_the_binary_log_are_honoured(sandbox_factory, option):
    server = sandbox_factory("--log-bin=bin", "--server-id=1", option)
    for database in ("kept", "left_out"):
        server.execute(
            f"CREATE DATABASE {database}",
            f"CREATE TABLE {database}.t (id INT PRIMARY KEY, v INT)",
            f"CREATE TABLE {database}.m (id INT PRIMARY KEY, v INT) ENGINE=MyISAM",
        )
    with server.hs_wr() as client:
        requests = [
            ("P", 0, "kept", "t", "PRIMARY", "id,v"),
            ("P", 1, "left_out", "t", "PRIMARY", "id,v"),
            ("P", 2, "kept", "m", "PRIMARY", "id,v"),
            ("P", 3, "left_out", "m", "PRIMARY", "id,v"),
        ]
        requests += [(index, "+", 2, key, 0) for key in range(10) for index in range(4)]
        assert all(reply[0] == "0" for reply in client.pipeline(*requests))
        assert client.request(1, "=", 1, 1, 1, 0, "U", 1, 5) == ["0", "1", "1"]
    kept, left_out = events(server, "kept"), events(server, "left_out")
    assert {text.split("(")[1].split(")")[0] for _, text in kept} == {"kept.t", "kept.m"}
    assert not left_out
    assert server.query("SELECT COUNT(*) FROM left_out.t") == [(10,)]


def test_settings_of_the_server_hold_from_the_next_write_on(sandbox_factory):
    """A door's connection never ends, whereas SQL clients reconnect to follow SET GLOBAL."""
    server = sandbox_factory("--log-bin=bin", "--server-id=1")
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NULL)", database="test")
    with server.hs_wr() as client:
        client.open(0, "test", "t", "id,at")
        assert client.request(0, "+", 2, 1, "2020-01-01 12:00:00") == ["0", "1"]
        server.execute("SET GLOBAL gtid_domain_id = 7", "SET GLOBAL server_id = 5", "SET GLOBAL time_zone = '+03:00'")
        assert client.request(0, "+", 2, 2, "2020-01-01 12:00:00") == ["0", "1"]
    domain, origin, _ = server.query("SELECT @@gtid_binlog_pos")[0][0].split(",")[-1].split("-")
    assert (domain, origin) == ("7", "5")
    assert server.query(
        "SELECT TIMESTAMPDIFF(HOUR, b.at, a.at) FROM test.t a, test.t b WHERE a.id = 1 AND b.id = 2"
    ) == [(3,)]


def logged_inserts(server, logs):
    """The number of inserted rows in these binary logs."""
    files = [f"{server.env['DATADIR']}/{name}" for name in logs]
    text = subprocess.run(
        [PROGRAMS / "mariadb-binlog", "--no-defaults", "--verbose", *files], capture_output=True, check=True
    ).stdout
    return text.count(b"### INSERT INTO")


@contextlib.contextmanager
def read_on(server):
    """A client of the same worker that always has ten finds in flight, and gets ten answers each time."""
    stop, problems = threading.Event(), []

    def run():
        with server.hs_wr(timeout=10) as one:
            one.open(0, "test", "t", "id")
            while not stop.is_set():
                try:
                    assert one.pipeline(*[(0, "=", 1, -1)] * 10) == [["0", "1"]] * 10
                except (OSError, EOFError, AssertionError) as problem:
                    problems.append(problem)
                    return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
    assert not problems and not thread.is_alive(), problems


def test_a_batch_too_large_for_the_binary_log_is_written_in_parts(sandbox_factory):
    server = sandbox_factory(
        "--log-bin=bin",
        "--server-id=1",
        "--max-binlog-cache-size=4096",
        "--binlog-cache-size=4096",
        "--binlog-row-event-max-size=256",
    )
    server.execute("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)", database="test")
    with server.hs_wr(timeout=30) as client, read_on(server):
        client.open(0, "test", "t", "id,v")
        number = 0
        # Whichever row of a batch does not fit into the log: every acknowledged row is in the table and in the log.
        for size in range(20, 120):
            replies = client.pipeline(*[(0, "+", 2, number + key, "x" * size) for key in range(100)])
            assert replies == [["0", "1"]] * 100
            number += 100
    assert server.query("SELECT COUNT(*) FROM test.t") == [(number,)]
    assert server.status("handlersocket_transactions_lost")["handlersocket_transactions_lost"] > 0
    assert logged_inserts(server, [name for name, *_ in server.query("SHOW BINARY LOGS")]) == number


def test_an_edit_too_large_for_the_binary_log_is_refused_whole(sandbox_factory):
    server = sandbox_factory(
        "--log-bin=bin", "--server-id=1", "--max-binlog-cache-size=4096", "--binlog-cache-size=4096"
    )
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v TEXT)",
        "INSERT INTO t SELECT seq, REPEAT('a', 1000) FROM seq_1_to_3",
        *[f"INSERT INTO t SELECT seq, REPEAT('a', 1000) FROM seq_{first}_to_{first + 1}" for first in range(4, 40, 2)],
        database="test",
    )
    with server.hs_wr() as client:
        client.open(0, "test", "t", "v")
        assert client.request(0, ">=", 1, 0, 1000, 0, "U", "b")[0] == "1"
        assert client.request(0, "=", 1, 1, 1, 0, "U", "b") == ["0", "1", "1"]
    assert server.query("SELECT id FROM test.t WHERE v = 'b'") == [(1,)]


def test_rows_with_more_and_fewer_values_in_one_batch(servers):
    """With the minimal row image the log contains only the columns that a row was given."""
    primary, replica = servers
    primary.execute(
        "SET GLOBAL binlog_row_image = MINIMAL",
        "CREATE DATABASE uneven",
        "CREATE TABLE uneven.t (id INT PRIMARY KEY, a INT DEFAULT 7, b VARCHAR(20), c INT)",
        "CREATE TABLE uneven.needs (id INT PRIMARY KEY, a INT NOT NULL)",
    )
    with primary.hs_wr() as client:
        client.open(0, "uneven", "t", "id,a,b,c")
        client.open(1, "uneven", "needs", "id,a")
        rows = [(number, *(number * 10 + part for part in range(number % 4))) for number in range(200)]
        assert client.pipeline(*[(0, "+", len(row), *row) for row in rows]) == [["0", "1"]] * 200
        replies = client.pipeline(
            *[(1, "+", 2 - number % 2, number, *([5] if number % 2 == 0 else [])) for number in range(20)]
        )
        assert [reply[0] for reply in replies] == ["0", "1"] * 10
    catch_up(primary, replica)
    same(primary, replica, "uneven")
    assert primary.query("SELECT COUNT(*), COUNT(a), COUNT(b), COUNT(c) FROM uneven.t") == [(200, 200, 100, 50)]
    assert primary.query("SELECT COUNT(*) FROM uneven.needs") == [(10,)]


def test_semi_sync_replies_wait_for_the_replica(servers):
    primary, replica = servers
    primary.execute(
        "CREATE DATABASE semi",
        "CREATE TABLE semi.t (id INT PRIMARY KEY, v INT)",
        "SET GLOBAL rpl_semi_sync_master_timeout = 60000",
        "SET GLOBAL rpl_semi_sync_master_enabled = 1",
    )
    replica.execute("SET GLOBAL rpl_semi_sync_slave_enabled = 1", "STOP SLAVE IO_THREAD", "START SLAVE IO_THREAD")
    until(lambda: primary.status("Rpl_semi_sync_master_clients")["rpl_semi_sync_master_clients"] == 1)
    with primary.hs_wr(timeout=30) as client:
        try:
            client.open(0, "semi", "t", "id,v")
            assert client.request(0, "+", 2, 1, 1) == ["0", "1"]
            waited = primary.status("Rpl_semi_sync_master_yes_tx")["rpl_semi_sync_master_yes_tx"]
            assert waited >= 1
            replica.execute("STOP SLAVE IO_THREAD")
            client.send(b"0\t+\t2\t2\t2\n")
            until(
                lambda: primary.status("Rpl_semi_sync_master_wait_sessions")["rpl_semi_sync_master_wait_sessions"] == 1
            )
            client.socket.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.line()
            client.socket.settimeout(30)
            replica.execute("START SLAVE IO_THREAD")
            assert client.line() == b"0\t1"
            assert primary.status("Rpl_semi_sync_master_yes_tx")["rpl_semi_sync_master_yes_tx"] > waited
        finally:
            primary.execute("SET GLOBAL rpl_semi_sync_master_enabled = 0")
            replica.execute("SET GLOBAL rpl_semi_sync_slave_enabled = 0")
