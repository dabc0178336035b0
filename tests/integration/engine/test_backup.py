"""Read-only servers, global locks and backups: writes are refused or wait, reads continue, and nobody waits for a
writer."""
import contextlib
import shutil
import statistics
import subprocess
import time

import pytest
from support.load import Load
from support.server import SERVER_DIR, timed

WAIT_MS_MAX = 100
BACKUP = SERVER_DIR / "root" / "usr" / "bin" / "mariadb-backup"


def fill(server, database):
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE m (id INT PRIMARY KEY, v INT) ENGINE=MyISAM",
        "CREATE TABLE g (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE said (no INT AUTO_INCREMENT PRIMARY KEY)",
        "CREATE TRIGGER a_u AFTER UPDATE ON g FOR EACH ROW INSERT INTO said VALUES ()",
        *[f"INSERT INTO {table} SELECT seq, 0 FROM seq_1_to_100" for table in "tmg"],
        database=database,
    )


def writer(server, database, **options):
    client = server.hs_wr(**options)
    for number, table in enumerate("tmg"):
        client.open(number, database, table, "v")
    return client


def update(index, key):
    return b"%d\t=\t1\t%d\t1\t0\t+\t1\n" % (index, key)


def test_a_read_only_server_refuses_writes(sandbox_factory):
    for style in ("compatible", "text"):
        server = sandbox_factory(f"--handlersocket-errors={style}")
        fill(server, "test")
        server.execute("SET GLOBAL read_only = 1")
        with writer(server, "test") as client:
            for index in range(3):
                code, _, text = client.request(index, "=", 1, 1, 1, 0, "U", 9)
                assert code == "1" and "read-only" in text, text
                assert client.request(index, "=", 1, 1) == ["0", "1", "0"]
            assert (
                client.pipeline((0, "=", 1, 1), (0, "=", 1, 1, 1, 0, "D"), (0, "=", 1, 1))[::2] == [["0", "1", "0"]] * 2
            )
            server.execute("SET GLOBAL read_only = 0")
            assert client.request(0, "=", 1, 1, 1, 0, "U", 9) == ["0", "1", "1"]


def test_read_only_under_load_loses_nothing(server, database):
    with Load(server, database=database, many=0.02) as load:
        for _ in range(5):
            load.wait_for(300)
            server.execute("SET GLOBAL read_only = 1")
            load.wait_for(300)
            server.execute("SET GLOBAL read_only = 0")
    assert any(b"read-only" in line for line in load.errors)
    load.check(server)


HOLDS = [
    # The statements that hold, the one that releases, and the tables that cannot be written meanwhile.
    (["FLUSH TABLES WITH READ LOCK"], "UNLOCK TABLES", (0, 1, 2)),
    (["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"], "BACKUP STAGE END", (0, 1, 2)),
    (["BACKUP STAGE START", "BACKUP STAGE BLOCK_DDL"], "BACKUP STAGE END", (1,)),
    (["LOCK TABLES t READ, m READ, g READ"], "UNLOCK TABLES", (0, 1, 2)),
]


@pytest.mark.parametrize(
    "statements,end,waiting", HOLDS, ids=lambda value: value[-1] if isinstance(value, list) else None
)
@pytest.mark.alone
def test_a_global_lock_holds_writes_back_and_nothing_else(server, database, statements, end, waiting):
    fill(server, database)
    with contextlib.closing(server.connect(database=database)) as holder, contextlib.ExitStack() as stack:
        writers = [stack.enter_context(writer(server, database, timeout=30)) for _ in range(3)]
        readers = [stack.enter_context(one) for one in (server.hs(), server.hs_wr())]
        for reader in readers:
            reader.open(0, database, "t", "id,v")
        for statement in statements:
            holder.cursor().execute(statement)
        for index, client in enumerate(writers):
            client.send(update(index, 7) + b"%d\t=\t1\t7\n" % index + update(index, 8) * 3)
        begin = time.monotonic()
        rounds = 0
        slowest = 0
        while time.monotonic() < begin + 0.5:
            for reader in readers:
                sent = time.monotonic()
                assert reader.request(0, "=", 1, 3) == ["0", "2", "3", "0"]
                slowest = max(slowest, time.monotonic() - sent)
            rounds += 1
        assert rounds > 20 and slowest < 0.3, (rounds, slowest)
        for index, client in enumerate(writers):
            if index in waiting:
                client.socket.settimeout(0.05)
                with pytest.raises(TimeoutError):
                    client.line()
                client.socket.settimeout(30)
        holder.cursor().execute(end)
        for client in writers:
            assert client.lines(5) == [b"0\t1\t1", b"0\t1\t1"] + [b"0\t1\t1"] * 3
    for table in "tmg":
        assert server.query(f"SELECT SUM(v) FROM {table}", database=database) == [(4,)]


ROUNDS = [
    ["ALTER TABLE a COMMENT 'round'"],
    ["ALTER TABLE b ADD COLUMN z INT", "ALTER TABLE b DROP COLUMN z"],
    ["CREATE INDEX vv ON a (v)", "DROP INDEX vv ON a"],
    ["RENAME TABLE a TO a2", "RENAME TABLE a2 TO a"],
    ["FLUSH TABLES", "FLUSH TABLES a"],
    ["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"],
    ["FLUSH TABLES a, b WITH READ LOCK", "UNLOCK TABLES"],
    ["LOCK TABLES a WRITE, counters WRITE", "UNLOCK TABLES"],
    ["LOCK TABLES b READ", "UNLOCK TABLES"],
    [
        "BACKUP STAGE START",
        "BACKUP STAGE FLUSH",
        "BACKUP STAGE BLOCK_DDL",
        "BACKUP STAGE BLOCK_COMMIT",
        "BACKUP STAGE END",
    ],
    ["ANALYZE TABLE a"],
    ["ALTER TABLE counters ENGINE=InnoDB"],
    ["TRUNCATE TABLE a", "TRUNCATE TABLE b"],
    ["DROP TRIGGER IF EXISTS x", "CREATE TRIGGER x AFTER DELETE ON b FOR EACH ROW SET @nothing = 1"],
    [
        "DROP TABLE counters",
        "CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL)",
        "INSERT INTO counters VALUES (0, 0)",
    ],
]
ROWS_SURVIVE = 12  # rounds


@pytest.mark.alone
def test_every_statement_gets_its_lock_under_writes(server, database):
    times, slow = {}, []
    with Load(server, clients=8, database=database, many=0.02) as load, contextlib.closing(
        server.connect(database=database)
    ) as connection:
        cursor = connection.cursor()

        def run(rounds):
            for statements in rounds:
                for _ in range(5):
                    for statement in statements:
                        times.setdefault(statement, []).append(timed(cursor, statement))
                    load.wait_for(50)

        run(ROUNDS[:ROWS_SURVIVE])
    load.check(server)
    for line in load.errors:
        assert b"doesn't exist" in line, load.errors
    with Load(server, clients=8, database=database, many=0.02, create=False, seed=2) as load, contextlib.closing(
        server.connect(database=database)
    ) as connection:
        cursor = connection.cursor()
        run(ROUNDS[ROWS_SURVIVE:])
    for line in load.errors:
        assert b"doesn't exist" in line, load.errors
    slow = {statement: all_ms for statement, all_ms in times.items() if statistics.median(all_ms) > WAIT_MS_MAX}
    assert not slow
    for table in ("a", "b", "counters"):
        assert server.query(f"CHECK TABLE {table} EXTENDED", database=database)[-1][3] == "OK"


def test_a_backup_of_a_busy_server_restores_to_a_consistent_state(sandbox_factory, tmp_path):
    if not BACKUP.exists():
        pytest.skip(f"no {BACKUP}")
    primary = sandbox_factory("--log-bin=bin", "--server-id=1")
    target = tmp_path / "backup"
    with Load(primary, many=0.02) as load:
        load.wait_for(1000)
        done = subprocess.run(
            [
                BACKUP,
                "--no-defaults",
                "--backup",
                f"--target-dir={target}",
                "--user=root",
                "--parallel=1",
                f"--socket={primary.env['SQL_SOCKET']}",
                f"--datadir={primary.env['DATADIR']}",
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        load.wait_for(1000)
    load.check(primary)
    assert not load.errors, load.errors
    done = subprocess.run(
        [BACKUP, "--no-defaults", "--prepare", f"--target-dir={target}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # Each client's rows are as after one of its requests; later requests are in the binary log.
    restored = sandbox_factory("--log-bin=bin", "--server-id=2")
    restored.stop()
    shutil.rmtree(restored.env["DATADIR"])
    shutil.copytree(target, restored.env["DATADIR"])
    restored.start()
    for client in load.clients:
        client.answered = 0
    load.check(restored)
    # From the position that the backup records, the binary log leads to the present.
    (named,) = target.glob("*_binlog_info")  # xtrabackup_, or mariadb_backup_ in later series
    position = named.read_text().split()[2]
    restored.execute(f"SET GLOBAL gtid_slave_pos = '{position}'", "CREATE USER x@'127.0.0.1' IDENTIFIED BY 'x'")
    primary.execute(
        "CREATE USER copy@'127.0.0.1' IDENTIFIED BY 'copy'", "GRANT REPLICATION SLAVE ON *.* TO copy@'127.0.0.1'"
    )
    restored.execute(
        "CHANGE MASTER TO master_host='127.0.0.1', master_user='copy', master_password='copy', "
        f"master_port={primary.env['SQL_PORT']}, master_use_gtid=slave_pos",
        "START SLAVE",
    )
    ((now,),) = primary.query("SELECT @@gtid_binlog_pos")
    assert restored.query("SELECT MASTER_GTID_WAIT(%s, 30)", (now,)) == [(0,)]
    assert load.rows(restored) == load.rows(primary)
    restored.execute("STOP SLAVE")
