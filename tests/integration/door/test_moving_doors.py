"""SET GLOBAL opens, moves and closes doors, and POSTERN_DOORS has a row for each of them."""
import contextlib
import random
import socket
import threading

import pymysql
import pytest
from support.clients import hs, mc, resp
from support.waiting import until

DOORS = ["handlersocket read", "handlersocket write", "memcached", "postern", "redis"]


@pytest.fixture(scope="module")
def own(module_factory):
    server = module_factory("--loose-redis-port=0", containers=True, redis=True)
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))",
        "INSERT INTO t SELECT seq, 'v' FROM seq_1_to_100",
        database="test",
    )
    server.execute("CREATE USER app@localhost IDENTIFIED BY 'app'", "GRANT ALL ON *.* TO app@localhost")
    yield server
    server.assert_alive()


def free_port():
    """A port below the kernel's range for outgoing connections, which could otherwise take it meanwhile."""
    while True:
        port = random.randrange(12000, 32000)
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port


def answers(ask, port):
    """Whether the door answers. A closing door still accepts a connection for a moment, and drops it."""
    try:
        ask(port)
    except (OSError, EOFError, pymysql.Error):
        return False
    return True


def door(server, name):
    columns = "state, port, threads, reason, remedy, lets_in, socket"
    rows = server.query(f"SELECT {columns} FROM information_schema.postern_doors WHERE door = %s", (name,))
    return dict(zip(columns.split(", "), rows[0]))


def until_at(server, name, port):
    def there():
        row = door(server, name)  # read once: a second read could see the state of the earlier door
        return (row["state"], row["port"]) == ("listening", port)

    until(there)


def refused(server, statement):
    with pytest.raises(pymysql.Error) as told:
        server.execute(statement)
    assert told.value.args[0] == 1231
    return told.value.args[1]


def sql_at(port, **options):
    return pymysql.connect(host="127.0.0.1", port=port, user="app", password="app", autocommit=True, **options)


def test_every_door_has_a_row_that_says_what_opens_it(own):
    rows = own.query("SELECT door FROM information_schema.postern_doors ORDER BY 1")
    assert [name for (name,) in rows] == DOORS
    closed = door(own, "postern")
    assert (closed["state"], closed["port"], closed["lets_in"]) == ("closed", None, "accounts")
    assert "SET GLOBAL postern_port = 3307" in closed["remedy"]
    assert "postern: closed; SET GLOBAL postern_port = 3307" in own.log()
    assert door(own, "handlersocket read")["lets_in"] == "everybody"
    assert "lets in: everybody" in own.log()


def test_a_plugin_that_is_not_loaded_has_a_row(sandbox_factory):
    server = sandbox_factory()
    server.execute("UNINSTALL PLUGIN redis")
    gone = door(server, "redis")
    assert gone["state"] == "closed" and "INSTALL PLUGIN redis" in gone["remedy"]
    assert "waits for a container" in door(server, "memcached")["reason"]


def test_the_sql_door_opens_moves_and_closes(own):
    first, second = free_port(), free_port()
    own.execute(f"SET GLOBAL postern_port = {first}")
    until_at(own, "postern", first)
    with contextlib.closing(sql_at(first)) as sql, sql.cursor() as cursor:
        cursor.execute("SELECT v FROM test.t WHERE id = 7")
        assert cursor.fetchall() == (("v",),)
    assert "Cannot assign" in refused(own, "SET GLOBAL postern_address = '192.0.2.1'")
    sent = own.status("postern_bytes_received")["postern_bytes_received"]
    own.execute(f"SET GLOBAL postern_port = {second}")
    until_at(own, "postern", second)
    until(lambda: not answers(sql_at, first))
    sql_at(second).close()
    assert own.status("postern_bytes_received")["postern_bytes_received"] >= sent > 0, "what was counted stays"
    path = own.dir / "moved.sock"
    own.execute(f"SET GLOBAL postern_socket = '{path}'")
    until(lambda: door(own, "postern")["socket"] == str(path) and path.exists())
    own.execute("SET GLOBAL postern_threads = 3")
    until(lambda: door(own, "postern")["threads"] == 3)
    sql_at(second).close()
    own.execute("SET GLOBAL postern_port = DEFAULT, GLOBAL postern_socket = DEFAULT, GLOBAL postern_threads = DEFAULT")
    until(lambda: door(own, "postern")["state"] == "closed")
    until(lambda: not path.exists())
    until(lambda: not answers(sql_at, second))


@pytest.mark.parametrize(
    "name, setting, ask",
    [
        (
            "handlersocket read",
            "handlersocket_port",
            lambda port: hs.Client(port).request("P", 0, "test", "t", "", "id"),
        ),
        (
            "handlersocket write",
            "handlersocket_port_wr",
            lambda port: hs.Client(port).request("P", 0, "test", "t", "", "id"),
        ),
        ("memcached", "memcached_port", lambda port: mc.Client(port).get("x")),
        ("redis", "redis_port", lambda port: resp.Client(port).ask("PING")),
    ],
)
def test_the_other_doors_do_as_well(own, name, setting, ask):
    """The Redis door had no port when the server started."""
    before, port = own.variable(setting), free_port()
    own.execute(f"SET GLOBAL {setting} = {port}")
    until_at(own, name, port)
    ask(port)
    own.execute(f"SET GLOBAL {setting} = 0")
    until(lambda: door(own, name)["port"] is None)
    until(lambda: not answers(ask, port))
    own.execute(f"SET GLOBAL {setting} = {before}")
    if before != "0":
        until_at(own, name, int(before))


def test_what_cannot_be_is_refused(own):
    taken = own.env["HS_PORT"]
    assert "already in use" in refused(own, f"SET GLOBAL postern_port = {taken}")
    assert "from 0 to 65535" in refused(own, "SET GLOBAL postern_port = 65536")
    assert "from 0 to 65535" in refused(own, "SET GLOBAL postern_port = -1")
    assert "numeric" in refused(own, "SET GLOBAL handlersocket_address = 'localhost'")
    assert "refusing to listen" in refused(own, "SET GLOBAL handlersocket_address = ''")
    assert "cannot bind" in refused(own, "SET GLOBAL memcached_socket = '/nowhere/at/all'")
    assert "at most 107 bytes" in refused(own, f"SET GLOBAL memcached_socket = '/{'x' * 107}'")
    assert own.variable("postern_port") == "0" and door(own, "postern")["reason"] is not None
    assert door(own, "handlersocket read")["state"] == "listening"


def test_what_turns_out_to_be_impossible_leaves_the_door_where_it_was(sandbox_factory):
    """The default is accepted without a check, and another process has the port."""
    server = sandbox_factory()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # unless another process has it already
            other.bind(("127.0.0.1", 9998))
            other.listen()
        server.execute("SET GLOBAL handlersocket_port = DEFAULT")
        until(lambda: door(server, "handlersocket read")["reason"])
        shown = door(server, "handlersocket read")
        assert "in use" in shown["reason"] and shown["port"] == int(server.env["HS_PORT"])
        server.hs().close()
    assert "cannot bind 127.0.0.1:9998" in server.log()


def test_a_session_closes_its_own_door_and_the_library(sandbox_factory):
    """The thread that closes the door waits for the session's thread, which unloads the plugin meanwhile."""
    server = sandbox_factory()
    server.execute("CREATE USER app@localhost IDENTIFIED BY 'app'", "GRANT ALL ON *.* TO app@localhost")
    for _ in range(3):
        port = free_port()
        server.execute(f"SET GLOBAL postern_port = {port}")
        until_at(server, "postern", port)
        with contextlib.suppress(pymysql.Error), contextlib.closing(sql_at(port, client_flag=65536)) as sql:
            with sql.cursor() as cursor:
                cursor.execute("SET GLOBAL postern_port = 0; UNINSTALL PLUGIN postern")
                while cursor.nextset():
                    continue
        loaded = "SELECT plugin_name FROM information_schema.plugins WHERE plugin_name = 'postern'"
        with contextlib.suppress(pymysql.Error):  # done already, unless the door was closed first
            server.execute("UNINSTALL PLUGIN postern")
        until(lambda: not server.query(loaded))
        server.execute("INSTALL PLUGIN postern SONAME 'postern'")
    server.assert_alive()


def test_doors_move_under_load(own):
    stop = threading.Event()
    rows = []

    def read():
        while not stop.is_set():
            with contextlib.suppress(pymysql.Error, OSError), contextlib.closing(
                sql_at(door(own, "postern")["port"] or 1, read_timeout=20)
            ) as sql, sql.cursor() as cursor:
                while not stop.is_set():
                    cursor.execute("SELECT v FROM test.t WHERE id = 7")
                    rows.append(cursor.fetchone()[0])

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for round_ in range(12):
            port = free_port()
            own.execute(f"SET GLOBAL postern_port = {port}, GLOBAL postern_threads = {round_ % 3 + 1}")
            until_at(own, "postern", port)
            until(lambda seen=len(rows): len(rows) > seen)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
        own.execute("SET GLOBAL postern_port = 0, GLOBAL postern_threads = 0")
    assert set(rows) == {"v"}
    until(lambda: door(own, "postern")["state"] == "closed")
