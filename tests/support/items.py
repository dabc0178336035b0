"""A memcached door whose default container stores items as memcached does: any key, any value, flags, CAS and expiry;
in a table or, by policy, in memory. Or Debian's memcached in its place, to prove a test itself."""
import contextlib
import shutil
import socket
import subprocess

import pytest

from support.clients import mc
from support.server import ORIGINAL
from support.waiting import until

READY_SECONDS = 30
ITEMS = """CREATE TABLE items (k VARBINARY(250) PRIMARY KEY, v LONGBLOB, flags INT UNSIGNED, cas BIGINT UNSIGNED,
           expires BIGINT) ENGINE = InnoDB"""
MAPPED = "REPLACE INTO innodb_memcache.containers VALUES ('default', %s, 'items', 'k', 'v', 'flags', 'cas', 'expires', 'PRIMARY')"
ORIGINAL_OR_STORES = ["memcached"] if ORIGINAL else ["innodb_only", "cache_only"]


def map_items(server, database, policy="innodb_only"):
    server.load("innodb_memcache")
    server.execute("DROP TABLE IF EXISTS items", ITEMS, database=database)
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(MAPPED, (database,))
        cursor.execute(
            "REPLACE INTO innodb_memcache.cache_policies VALUES ('cache_policy', %s, %s, %s, %s)", (policy,) * 4
        )


def wait_until_mapped(port, database, policy="innodb_only", login=None):
    """Waits for the door, which looks for new mappings once a second. `login`: user and password."""

    def is_mapped():
        if not mc.listens(port):
            return False
        with mc.Client(port) as client:
            if login is not None:
                assert client.set("login", " ".join(login)) == "STORED"
            client.send(b"get @@default\r\n")
            place = client.line()
            return place.startswith(b"VALUE") and client.line() == f"{database}/items".encode()

    until(is_mapped, READY_SECONDS, f"the mapping was not taken ({policy})")


@contextlib.contextmanager
def memcached(program=None):
    """The port of Debian's memcached: the installed one, or `program`."""
    program = program or shutil.which("memcached")
    if not program:
        pytest.skip("there is no memcached")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([program, "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)])
    try:
        until(lambda: mc.listens(port), READY_SECONDS, "memcached does not answer")
        yield port
    finally:
        process.terminate()
        process.wait(READY_SECONDS)


def unmap_items(server):
    server.execute(
        "DELETE FROM innodb_memcache.containers WHERE name = 'default'",
        "UPDATE innodb_memcache.cache_policies SET get_policy = 1, set_policy = 1, delete_policy = 1, flush_policy = 1",
    )


@contextlib.contextmanager
def items_door(request):
    """The port of the shared server's door, without logins; the fixture's parameter says where the items are."""
    if ORIGINAL:
        with memcached() as port:
            yield port
        return
    server, database = request.getfixturevalue("server"), request.getfixturevalue("database")
    map_items(server, database, request.param)
    wait_until_mapped(server.env["MEMC_PORT"], database, request.param)
    yield server.env["MEMC_PORT"]
    server.assert_alive()
    unmap_items(server)
