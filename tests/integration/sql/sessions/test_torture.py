"""Many misbehaving clients at once: pipelines, truncated and garbage packets, transactions, DDL, KILLs."""
import collections
import contextlib
import random
import struct
import threading
import time

import pymysql
import pytest

from support.clients import sql_wire
from support.clients.sql_wire import Wire, rows
from support.waiting import until

SECONDS = 8
CLIENTS = 24
ROWS = 500


class Torture:
    def __init__(self, server, seed):
        self.server = server
        self.seed = seed
        self.ends = time.monotonic() + SECONDS
        self.done = collections.Counter()
        self.wrong = []
        self.ids = [0] * CLIENTS

    def lasts(self):
        few = self.done["answers"] <= 100 or self.done["KILL"] <= 10  # on a busy machine
        return (time.monotonic() < self.ends or few and time.monotonic() < self.ends + 60) and not self.wrong

    def client(self, number):
        dice = random.Random(f"{self.seed} {number}")
        while self.lasts():
            try:
                self.session(number, dice)
            except (pymysql.err.Error, OSError, EOFError):
                self.done["lost"] += 1
            except AssertionError as problem:
                self.wrong.append(repr(problem))

    def session(self, number, dice):
        connection = sql_wire.door(self.server, database="test", read_timeout=20)
        self.ids[number] = connection.thread_id()
        self.done["logins"] += 1
        wire = Wire(connection)
        by_key = wire.prepare("SELECT v FROM t WHERE id = ?")
        kinds = (
            [self.pipeline] * 12
            + [self.prepared] * 12
            + [self.transaction] * 6
            + [self.cut, self.garbage, self.leave, self.reset]
        )
        with contextlib.suppress(EOFError):
            while self.lasts():
                if dice.choice(kinds)(connection, wire, by_key, dice):
                    break
        with contextlib.suppress(Exception):
            connection._force_close()

    def expect(self, packets, key, mark=""):
        answer = b"".join(packets)
        if packets[0][4] == 0xFF:
            assert struct.unpack("<H", packets[0][5:7])[0] in (1317, 1053, 1927), packets[0]
            raise EOFError
        assert f"v{key}.{mark}".encode() in answer, (key, mark, answer)
        self.done["answers"] += 1

    def pipeline(self, _, wire, by_key, dice):
        keys = [dice.randrange(ROWS) for _ in range(dice.randrange(1, 20))]
        for key in keys:
            which = dice.randrange(4)
            if which == 0:
                wire.send(sql_wire.QUERY, b"SELECT v FROM t WHERE id = %d" % key)
            elif which == 1:
                wire.send(sql_wire.QUERY, b"SELECT CONCAT(v, '') AS slow FROM t WHERE id = %d" % key)
            else:
                wire.send(sql_wire.EXECUTE, sql_wire.execution(by_key, key))
        for key in keys:
            self.expect(wire.result(), key)

    def prepared(self, _, wire, by_key, dice):
        key = dice.randrange(ROWS)
        self.expect(wire.execute(by_key, key), key)

    def transaction(self, connection, wire, by_key, dice):
        key = dice.randrange(ROWS)
        rows(connection, "BEGIN")
        self.expect(wire.execute(by_key, key), key)
        mark = dice.randrange(1_000_000)
        with contextlib.suppress(pymysql.err.OperationalError):  # a deadlock
            rows(connection, f"UPDATE t SET v = 'v{key}.{mark}' WHERE id = {key}")
            self.expect(wire.execute(by_key, key), key, mark)
        rows(connection, dice.choice(("COMMIT", "ROLLBACK")))
        self.done["transactions"] += 1

    def reset(self, connection, wire, by_key, dice):
        """In the middle of a transaction, with answers to statements in flight."""
        key = dice.randrange(ROWS)
        rows(connection, "SET @mine = 1, autocommit = 0")
        try:
            rows(connection, f"UPDATE t SET v = 'v{key}.lost' WHERE id = {key}")
        except pymysql.err.OperationalError as problem:
            if problem.args[0] not in (1205, 1213, 1317):  # others' locks, or KILL QUERY
                raise
        wire.send(sql_wire.EXECUTE, sql_wire.execution(by_key, key))
        wire.send(sql_wire.RESET_CONNECTION)
        wire.send(sql_wire.QUERY, b"SELECT @mine, @@autocommit")
        wire.send(sql_wire.EXECUTE, sql_wire.execution(by_key, key))
        wire.send(sql_wire.QUERY, b"SELECT v FROM t WHERE id = %d" % key)
        self.expect(wire.result(), key)
        assert wire.result()[0][4] in (0x00, 0xFF)
        variables = b"".join(wire.result())
        assert b"\xfb\x011" in variables or variables[4] == 0xFF, variables
        gone = wire.result()
        assert gone[0][4] == 0xFF, gone
        answer = b"".join(wire.result())
        assert answer[4] == 0xFF or (b"v%d." % key in answer and b"lost" not in answer), (key, answer)
        self.done["resets"] += 1
        return True

    def cut(self, connection, *_):
        connection._sock.sendall(b"\x40\0\0\0\x03SELECT 1")
        self.done["cut"] += 1
        return True

    def garbage(self, connection, _wire, _by_key, dice):
        connection._sock.sendall(dice.randbytes(dice.randrange(1, 300)))
        self.done["garbage"] += 1
        return True

    def leave(self, connection, *_):
        if random.random() < 0.5:
            connection.close()
        return True

    def killer(self):
        dice = random.Random(f"{self.seed} killer")
        with contextlib.closing(self.server.connect()) as connection, connection.cursor() as cursor:
            while self.lasts():
                time.sleep(0.02)
                what = dice.choice(("KILL", "KILL", "KILL QUERY", "ALTER TABLE test.t ALTER w SET DEFAULT"))
                with contextlib.suppress(pymysql.err.Error):
                    cursor.execute(f"{what} {dice.choice(self.ids) if 'KILL' in what else dice.randrange(9)}")
                    self.done[what.split()[0]] += 1


def test_no_session_gets_anothers_answer_and_nothing_is_left(sandbox_factory):
    server = sandbox_factory("--loose-postern-verify=5", "--max-connections=200", postern_port=0)
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(50), w INT DEFAULT 1)",
        f"INSERT INTO t SELECT seq, CONCAT('v', seq, '.'), 1 FROM seq_0_to_{ROWS}",
        database="test",
    )
    seed = random.randrange(1_000_000)
    torture = Torture(server, seed)
    threads = [threading.Thread(target=torture.client, args=(number,)) for number in range(CLIENTS)]
    threads.append(threading.Thread(target=torture.killer))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS + 120)
        assert not thread.is_alive(), f"seed {seed}: a session hangs, {torture.done}"
    assert not torture.wrong, f"seed {seed}: {torture.wrong[:3]} {torture.done}"
    print(seed, dict(torture.done), {k: v for k, v in server.status("Postern_%").items() if v and "not_now" in k})
    server.assert_alive()
    assert server.status("Postern_verified_different")["postern_verified_different"] == 0, server.log_tail()
    assert torture.done["answers"] > 100 and torture.done["KILL"] > 10
    until(lambda: server.status("Threads_connected")["threads_connected"] == 1, 20)
    assert server.status("Postern_connections")["postern_connections"] == 0
