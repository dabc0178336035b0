"""Statements that applications send between their queries: workers let the server answer them in place, byte for
byte."""
import contextlib
import random
import threading

import pytest
from support.clients import sql_session
from support.random_input import seeds
from support.server import STEADY_PLANS
from support.clients.sql_session import Session
from support.waiting import until

INIT_DB, SET_OPTION = 0x02, 0x1B
TABLES = (
    "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t SELECT seq, seq FROM seq_1_to_20",
    "CREATE DATABASE IF NOT EXISTS other CHARACTER SET latin1",
)
NEVER_HANDED_OVER = (
    "SELECT 1",
    "SELECT @@version_comment LIMIT 1",
    "/* driver 1.2 */ SELECT @@session.auto_increment_increment AS auto_increment_increment, @@sql_mode AS `sql mode`,"
    " @@max_allowed_packet, @@global.wait_timeout, @@tx_isolation x FROM DUAL",
    "SELECT DATABASE(), USER(), CURRENT_USER, VERSION(), @@warning_count",
    "SELECT LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS()",
    "SELECT @@sql_big_selects LIMIT 1",
    "SELECT '|#!?[]{}<>&$^~' AS `|#!?[]{}<>&$^~`",
    "SELECT @a, @nobody, 'text', -1.50, NULL AS n, TRUE",
    "SELECT CONCAT(@@sql_mode, ',', IFNULL(@a, 'x'))",
    "DO 1, @a",
    "SELECT IS_FREE_LOCK('a'), IS_USED_LOCK('a'), RELEASE_LOCK('a'), RELEASE_LOCK(@a)",
    "DO RELEASE_LOCK('a')",
    "SELECT GET_LOCK(CONCAT('own', CONNECTION_ID()), 0), IF(UNIX_TIMESTAMP(SYSDATE(6)), 'then', NULL) AS acquired",
    "SELECT GET_LOCK(NULL, 0), GET_LOCK('', 0)",
    "DO RELEASE_LOCK(CONCAT('own', CONNECTION_ID()))",
    "SET group_concat_max_len = 262144, `sql_mode` = ''",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SET NAMES latin1",
    "SET NAMES nothing",
    "SET character_set_results = NULL",
    "SET CHARACTER SET utf8mb4",
    "SET NAMES utf8mb4,  @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), ',NO_ZERO_DATE'),"
    "  @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 21474",
    "SET sql_mode = 'no such mode'",
    "SET SESSION sql_mode = DEFAULT, group_concat_max_len = 5000000000000000000000",
    "SET @a = 5, @b := 'b', @`c d` = @a",
    "SET foreign_key_checks = 0, unique_checks = off",
    "SET foreign_key_checks = 1, unique_checks = on",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
    "SET TRANSACTION READ ONLY",
    "SET autocommit = 0, @a = 1",
    "SET @@session.autocommit := 1",
    "BEGIN /* a comment */",
    "/* b */ COMMIT /* c */",
    "START TRANSACTION READ WRITE;",
    "SAVEPOINT `a b`",
    "RELEASE SAVEPOINT `a b`",
    "RELEASE SAVEPOINT nobody",
    "ROLLBACK AND NO CHAIN",
    "USE other",
    "USE nowhere",
    "USE `test`",
    "SHOW WARNINGS",
    "SHOW ERRORS",
)
STATUS = (
    "SHOW SESSION STATUS WHERE Variable_name IN ('Questions', 'Com_select', 'Com_set_option', 'Com_begin', 'Com_commit',"
    " 'Com_change_db', 'Com_savepoint', 'Com_show_warnings', 'Empty_queries', 'Rows_sent', 'Bytes_received', 'Bytes_sent')"
)
OTHERS = (
    "SELECT v FROM t WHERE id = 3",
    "SELECT v FROM t WHERE id = 300",
    "UPDATE t SET v = v + 1 WHERE id = 4",
    "INSERT INTO t VALUES (5, 5)",
    "SELECT COUNT(*) FROM t, t AS u",
    "SELECT 1/0",
    "SELECT @@no_such_variable",
    "ROLLBACK TO SAVEPOINT `a b`",
    "SET time_zone = '+01:00'",
    STATUS,
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('sql_mode', 'autocommit', 'tx_isolation', 'character_set_results',"
    " 'collation_connection', 'character_set_database', 'wait_timeout', 'foreign_key_checks')",
)
CAPABILITIES = {
    "plain": 0,
    "tracking": sql_session.SESSION_TRACK | sql_session.DEPRECATE_EOF,
}


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(STEADY_PLANS, "--loose-postern-threads=1", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'", *TABLES, database="test")
    return server


@contextlib.contextmanager
def session(server, port, capabilities=0):
    one = Session(server.env[port], "own", "test", capabilities)
    try:
        one.query("SELECT 1")  # the server's own port leaves a new session FOUND_ROWS() of the thread's last one
        yield one
    finally:
        one.socket.close()


def say(one, step):
    if isinstance(step, str):
        return one.query(step)
    one.put(bytes([step[0]]) + step[1])
    return one.packet()


# The server counts a statement after its answer, and before the session gets the next one. A worker answers this one.
COUNTED = "SELECT 1"


def handed_over(server):
    return server.status("Postern_statements_served")["postern_statements_served"]


def test_a_lock_is_got_at_once_or_not_at_all(served):
    ask = "SELECT GET_LOCK('one for all', 0)"
    with session(served, "SQL_PORT") as port:
        with session(served, "POSTERN_PORT") as door:
            got, not_got = port.query(ask), door.query(ask)
            assert got != not_got
            port.query("SELECT RELEASE_LOCK('one for all')")
            assert (door.query(ask), port.query(ask)) == (got, not_got)
        until(lambda: port.query(ask) == got)  # the door's session has ended


LOCKED = (
    "SELECT GET_LOCK('free', 5)",
    "SELECT GET_LOCK('free', 0.5) AS got",
    "SELECT RELEASE_LOCK('free')",
    "/* MediaWiki */ SELECT IF(GET_LOCK('free', 10),IFNULL(UNIX_TIMESTAMP(NULL), 'yes'),NULL) AS acquired;",
    "SELECT IS_FREE_LOCK('free'), IF(IS_USED_LOCK('free'), 'used', 'free')",
    "SELECT GET_LOCK('another', 1)",
    "SELECT GET_LOCK('site:tags|#|v', 3)",
    "SELECT RELEASE_LOCK('site:tags|#|v') AS released",
    "SHOW WARNINGS",
    "SELECT RELEASE_LOCK('free')",
    "SELECT RELEASE_LOCK('free')",
    "SELECT RELEASE_LOCK('free')",
    "SELECT IS_FREE_LOCK('free'), IS_FREE_LOCK('another'), FOUND_ROWS(), ROW_COUNT()",
    "SELECT RELEASE_LOCK('another')",
)


@pytest.mark.parametrize("charset", ["utf8mb4", "latin1", "binary"])
def test_a_lock_that_is_free_is_waited_for_by_nobody(served, charset):
    told = []
    for port in ("SQL_PORT", "POSTERN_PORT"):
        with session(served, port) as one, session(served, "SQL_PORT") as other:
            say(one, f"SET NAMES {charset}")
            before = handed_over(served)
            told.append([(step, say(one, step)) for step in LOCKED])
            assert handed_over(served) == before
            told[-1].append(say(other, "SELECT GET_LOCK('free', 0), GET_LOCK('another', 0), RELEASE_ALL_LOCKS()"))
            told[-1].append(say(one, STATUS))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "before",
    ["SET collation_connection = ucs2_general_ci", "SET sql_select_limit = 0", "SET sql_select_limit = DEFAULT"],
)
def test_a_lock_that_another_session_has_is_waited_for_on_both_ports(served, before):
    with session(served, "SQL_PORT") as holder, session(served, "SQL_PORT") as port:
        with session(served, "POSTERN_PORT") as door, session(served, "POSTERN_PORT") as other:
            say(holder, "SELECT GET_LOCK('held', 0)")
            for one in (port, door):
                say(one, before)
            asked = "SELECT GET_LOCK('held', 0.2)"
            told = []
            for one in (port, door):
                told.append([say(one, asked), say(one, "SELECT RELEASE_LOCK('held')")])
            assert told[0] == told[1]
            door.put(b"\3SELECT GET_LOCK('held', 60)")
            for _ in range(20):
                assert say(other, "SELECT 1")[4] == 1
            say(holder, "SELECT RELEASE_LOCK('held')")
            door.answer()
            free = say(holder, "SELECT IS_FREE_LOCK('held')")
            say(door, "DO RELEASE_LOCK('held')")
            assert (free == say(holder, "SELECT IS_FREE_LOCK('held')")) == ("DEFAULT" not in before)


@pytest.fixture(params=[2, 1], ids=["no flush", "flushed"])
def commits(served, request):
    """Settings with which workers commit: without a flush, or with one while another client is connected."""
    served.execute(f"SET GLOBAL innodb_flush_log_at_trx_commit = {request.param}")
    with session(served, "POSTERN_PORT"):
        yield served
    served.execute("SET GLOBAL innodb_flush_log_at_trx_commit = DEFAULT")


HANDLER_STATUS = "SHOW SESSION STATUS WHERE Variable_name REGEXP '^Handler_(commit|rollback|savepoint|prepare|update)'"
UPDATE = "UPDATE t SET v = v + 1 WHERE id = 7"


def begin_to_write(one, *steps):
    """Begins a transaction with a write by a worker."""
    for step in (UPDATE, UPDATE, "BEGIN", UPDATE, *steps):
        assert say(one, step)[4] == 0
    say(one, COUNTED)


@pytest.mark.parametrize("prepared", [False, True])
def test_a_commit_of_a_workers_writes_is_made_in_place(commits, prepared):
    told = []
    for port in ("SQL_PORT", "POSTERN_PORT"):
        commits.execute(*TABLES[:2], database="test")
        with session(commits, port) as one:
            if prepared:
                one.execute("COMMIT", [])
            begin_to_write(one)
            before = handed_over(commits)
            told.append([one.execute("COMMIT", []) if prepared else say(one, "COMMIT"), say(one, "SELECT 1")])
            assert handed_over(commits) == before
            told[-1] += [commits.query("SELECT v FROM t WHERE id = 7", database="test"), say(one, STATUS)]
            told[-1] += [say(one, "ROLLBACK"), say(one, "BEGIN"), say(one, UPDATE), say(one, "SET autocommit = 0")]
            told[-1] += [say(one, UPDATE), say(one, "COMMIT"), say(one, UPDATE), say(one, "SET autocommit = 1")]
            begin_to_write(one, "SAVEPOINT a", UPDATE, "ROLLBACK TO a", UPDATE, "SAVEPOINT b")
            told[-1] += [say(one, "/* a comment */ COMMIT WORK;"), say(one, "ROLLBACK TO b"), say(one, HANDLER_STATUS)]
            told[-1] += [say(one, "COMMIT AND CHAIN"), say(one, UPDATE), say(one, "COMMIT"), say(one, HANDLER_STATUS)]
        told[-1].append(commits.query("SELECT v FROM t WHERE id = 7", database="test"))
    assert told[0] == told[1]
    assert told[0][2] == [(10,)]


@pytest.mark.parametrize(
    "steps",
    [
        ["INSERT INTO t SELECT seq, 0 FROM seq_100_to_101"],
        ["INSERT INTO t SELECT seq, 0 FROM seq_102_to_103", UPDATE, "SAVEPOINT a"],
        ["DO writes(104)"],
        ["SET completion_type = 1"],
        [f"UPDATE t SET v = v + 1 WHERE id BETWEEN 1 AND {last}" for last in (20, 20, 20)] * 17,
    ],
    ids=["by the server", "by both", "by a function", "chained", "many"],
)
def test_another_commit_is_the_servers(commits, steps):
    writes = "CREATE OR REPLACE FUNCTION writes(id INT) RETURNS INT BEGIN INSERT INTO t VALUES (id, 0); RETURN 1; END"
    commits.execute(*TABLES[:2], writes, database="test")
    with session(commits, "POSTERN_PORT") as one:
        begin_to_write(one, *steps)
        before = int(handed_over(commits))
        assert say(one, "COMMIT")[4] == 0
        say(one, COUNTED)
        assert int(handed_over(commits)) == before + 1
        say(one, "SET completion_type = DEFAULT")
        say(one, "ROLLBACK")
        # A worker has the next transaction again.
        begin_to_write(one)
        before = handed_over(commits)
        assert say(one, "COMMIT")[4] == 0
        assert handed_over(commits) == before


def test_nobody_waits_for_a_commit_that_a_global_lock_keeps(commits):
    commits.execute(*TABLES[:2], database="test")
    with session(commits, "SQL_PORT") as holder, session(commits, "POSTERN_PORT") as other:
        for lock, unlock in (
            (["FLUSH TABLES WITH READ LOCK"], "UNLOCK TABLES"),
            (["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"], "BACKUP STAGE END"),
        ):
            with session(commits, "POSTERN_PORT") as one:
                begin_to_write(one)
                for step in lock:
                    assert say(holder, step)[4] == 0
                one.put(b"\3COMMIT")
                until(
                    lambda: commits.query(
                        "SELECT 1 FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for backup lock'"
                    )
                )
                for _ in range(20):
                    assert say(other, "SELECT 1")[4] == 1
                assert say(holder, unlock)[4] == 0
                assert one.answer()[4] == 0
    assert commits.query("SELECT v FROM t WHERE id = 7", database="test") == [(13,)]


@pytest.mark.parametrize("step", NEVER_HANDED_OVER)
def test_a_worker_has_it_answered_in_place(served, step):
    with session(served, "SQL_PORT") as port, session(served, "POSTERN_PORT") as door:
        before = handed_over(served)
        assert say(door, step) == say(port, step)
        assert handed_over(served) == before


@pytest.mark.parametrize(
    "step", [(INIT_DB, b"other"), (INIT_DB, b"nowhere"), (SET_OPTION, b"\0\0"), (SET_OPTION, b"\1\0")]
)
def test_commands_are_answered_in_place(served, step):
    with session(served, "SQL_PORT") as port, session(served, "POSTERN_PORT") as door:
        before = handed_over(served)
        assert say(door, step) == say(port, step)
        assert say(door, "SELECT DATABASE()") == say(port, "SELECT DATABASE()")
        assert handed_over(served) == before


@pytest.mark.parametrize("capabilities", CAPABILITIES)
def test_random_conversations_are_the_servers_byte_for_byte(served, capabilities):
    chance = random.Random(seeds.chosen())
    for _ in range(40):
        steps = [chance.choice(NEVER_HANDED_OVER if chance.random() < 0.7 else OTHERS) for _ in range(40)]
        said = []
        for port in ("SQL_PORT", "POSTERN_PORT"):
            served.execute(*TABLES[:2], database="test")
            with session(served, port, CAPABILITIES[capabilities]) as one:
                said.append([(step, say(one, step)) for step in steps])
        for expected, answered in zip(*said):
            assert answered == expected, steps


def test_use_waits_for_no_drop_of_the_database(served):
    """Otherwise a worker would wait with it. The server's own port answers at once, too."""
    served.execute("CREATE DATABASE going", "CREATE TABLE going.t (id INT PRIMARY KEY)")
    with contextlib.closing(served.connect()) as holder, contextlib.closing(served.connect()) as dropper:
        with holder.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT * FROM going.t")
        dropping = threading.Thread(target=lambda: dropper.query("DROP DATABASE going"))
        dropping.start()
        until(
            lambda: served.query("SELECT 1 FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%'")
        )
        for port in ("SQL_PORT", "POSTERN_PORT"):
            with session(served, port) as one:
                assert one.query("USE going")[4] == 0
                assert one.command(INIT_DB, b"going")[4] == 0
                assert one.query("SELECT DATABASE()")[4] == 1
        assert dropping.is_alive()
        holder.rollback()
        dropping.join()
