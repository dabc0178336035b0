"""How the cluster soak writes through each door of a node, and finds the written rows."""
import contextlib
import threading

import pymysql

REPLY_SECONDS_MAX = 120
# Keys of rows that many writers increment.
COUNTER = 1
SHARED = 2


class Refused(Exception):
    """A write was answered with an error."""


def handlersocket(server):
    door = server.hs_wr(timeout=REPLY_SECONDS_MAX)
    door.open(0, "test", "t", "k,v")

    def write(key):
        answer = door.request(0, "+", 2, key, 1)
        if answer[:2] != ["0", "1"]:
            raise Refused(answer[2] if len(answer) > 2 else str(answer))

    return door, write


def memcached(server):
    door = server.mc(timeout=REPLY_SECONDS_MAX)

    def write(key):
        answer = door.set(f"mc{key}", key)
        if answer != "STORED":
            raise Refused(answer)

    return door, write


def redis(server):
    door = server.resp()
    door.socket.settimeout(REPLY_SECONDS_MAX)

    def write(key):
        raw = door.ask_raw("SET", f"redis{key}", key).decode().strip()
        if raw != "+OK":
            raise Refused(raw)

    return door, write


def sql_session(server):
    return pymysql.connect(
        host="127.0.0.1",
        port=int(server.env["POSTERN_PORT"]),
        user="root",
        autocommit=True,
        read_timeout=REPLY_SECONDS_MAX,
    )


@contextlib.contextmanager
def refused_by_sql():
    try:
        yield
    except pymysql.Error as error:
        if error.args and error.args[0] in (2006, 2013):
            raise EOFError from error
        raise Refused(str(error.args[1:])) from error


def sql(server):
    door = sql_session(server)

    def write(key):
        with refused_by_sql(), door.cursor() as cursor:
            cursor.execute("INSERT INTO test.t VALUES (%s, 1)", (key,))

    return door, write


def transactions(server):
    """Commits of sessions that pause in the middle, after changing a row that sessions of other nodes change, too."""
    door = sql_session(server)

    def write(key):
        with refused_by_sql(), door.cursor() as cursor:
            cursor.execute("ROLLBACK")
            cursor.execute("BEGIN")
            cursor.execute("SELECT v FROM test.t WHERE k = %s", (SHARED,))
            cursor.execute("UPDATE test.t SET v = v + 1 WHERE k = %s", (SHARED,))
            rest(key)
            cursor.execute("INSERT INTO test.t VALUES (%s, 1)", (key,))
            rest(key)
            cursor.execute("COMMIT")

    return door, write


def rest(key):
    """Pauses like a busy application, for a time that depends on the key."""
    threading.Event().wait(key % 7 * 0.003)


def counter(server):
    door = server.hs_wr(timeout=REPLY_SECONDS_MAX)
    door.open(0, "test", "t", "k,v")

    def write(_):
        answer = door.request(0, "=", 1, COUNTER, 1, 0, "+", 0, 1)
        if answer != ["0", "1", "1"]:
            raise Refused(answer[2] if len(answer) > 2 else str(answer))

    return door, write


# How to write through each door, and the statement that finds the written rows.
DOORS = {
    "handlersocket": (handlersocket, "SELECT k FROM test.t WHERE k BETWEEN {0} AND {1}"),
    "sql": (sql, "SELECT k FROM test.t WHERE k BETWEEN {0} AND {1}"),
    "transactions": (transactions, "SELECT k FROM test.t WHERE k BETWEEN {0} AND {1}"),
    "memcached": (
        memcached,
        "SELECT CAST(c2 AS UNSIGNED) FROM test.demo_test WHERE c1 LIKE 'mc%' AND c2 BETWEEN {0} AND {1}",
    ),
    "redis": (
        redis,
        "SELECT CAST(v AS UNSIGNED) FROM postern_redis.entries WHERE k LIKE 'redis%' AND v BETWEEN {0} AND {1}",
    ),
    "counter": (counter, ""),
}
