"""Whole sessions of third-party memcached clients, in the versions that users install today.

Each session's script prints its client's results; they must equal the .expected file beside the script, line by line,
for items in a table and in memory, and in both protocols if a client speaks both. The expected results are memcached
1.6's: with POSTERN_TEST_ORIGINAL=1 the sessions run against Debian's memcached.
"""
import functools

import pytest
from support.items import ORIGINAL_OR_STORES, items_door, map_items, unmap_items, wait_until_mapped
from support.clients.java import JAVA
from support.program import output_of
from support.server import ORIGINAL, ROOT

HERE = ROOT / "tests" / "clients" / "memcached"
USER, PASSWORD = "keeper", "se cret"


@pytest.fixture(params=ORIGINAL_OR_STORES)
def port(request):
    with items_door(request) as port_of_it:
        yield port_of_it


def run(name, *command):
    output = output_of(*command)
    kept = ROOT / "build" / "clients" / f"{name}.got"
    kept.parent.mkdir(exist_ok=True)  # clients of the standard distribution need no download
    kept.write_text(output)
    return output


def expected(name):
    return (HERE / f"{name}.expected").read_text()


def both(name, *command):
    for protocol in ("text", "binary"):
        assert run(f"{name}_{protocol}", *command, protocol) == expected(name), protocol


def test_packets(port):
    assert run("packets_session", "/usr/bin/python3", HERE / "packets_session.py", port) == expected("packets_session")


def test_pymemcache(port, fetched):
    folder = fetched("pymemcache")
    command = ("/usr/bin/python3", HERE / "pymemcache_session.py", folder / "pymemcache", port)
    assert run("pymemcache_session", *command) == expected("pymemcache_session")


def test_python_binary_memcached(port, fetched):
    folder = fetched("bmemcached")
    command = ("/usr/bin/python3", HERE / "bmemcached_session.py", folder / "bmemcached", port)
    assert run("bmemcached_session", *command) == expected("bmemcached_session")


def test_pylibmc(port, fetched):
    fetched("pylibmc")
    both("pylibmc_session", "/usr/bin/python3", HERE / "pylibmc_session.py", port)


def test_memjs(port, fetched):
    folder = fetched("memjs")
    assert run("memjs_session", "node", HERE / "memjs_session.js", folder / "memjs", port) == expected("memjs_session")


def test_gomemcache(port, fetched):
    folder = fetched("gomemcache")
    assert run("gomemcache_session", folder / "gomemcache" / "session", port) == expected("gomemcache_session")


@pytest.fixture(scope="module")
def java(fetched, tmp_path_factory):
    """The command that runs a session of a client: it is compiled once, not in each of its five runs."""

    @functools.cache
    def command(session, client, *jars):
        folder, classes = fetched(client) / client, tmp_path_factory.mktemp(session)
        path = ":".join(str(folder / jar) for jar in jars)
        output_of("javac", "-proc:none", "-cp", path, "-d", classes, HERE / f"{session}.java")
        return *JAVA, "-cp", f"{classes}:{path}", session

    return command


SPYMEMCACHED = "SpymemcachedSession", "spymemcached", "spymemcached.jar"
XMEMCACHED = "XmemcachedSession", "xmemcached", "xmemcached.jar", "slf4j-api.jar"


@pytest.mark.parametrize("client", [SPYMEMCACHED, XMEMCACHED], ids=["spymemcached", "xmemcached"])
def test_java(port, java, client):
    both(client[0], *java(*client), port)


def test_php_memcached(port, fetched):
    fetched("php-memcached")
    both("memcached_session", "php", HERE / "memcached_session.php", port)


@pytest.mark.skipif(ORIGINAL, reason="memcached has no accounts of the database")
def test_a_clients_item_is_a_row(server, database, fetched):
    folder = fetched("pymemcache")
    map_items(server, database)
    wait_until_mapped(server.env["MEMC_PORT"], database)
    run(
        "pymemcache_session",
        "/usr/bin/python3",
        HERE / "pymemcache_session.py",
        folder / "pymemcache",
        server.env["MEMC_PORT"],
    )
    assert server.query("SELECT v, flags FROM items WHERE k = 'left'", database=database) == [(b"by pymemcache", 3)]
    assert server.query("SELECT v FROM items WHERE k = 'bytes'", database=database) == [(bytes(range(256)) * 4,)]
    unmap_items(server)


@pytest.mark.skipif(ORIGINAL, reason="memcached has no accounts of the database")
def test_clients_log_in_as_accounts(sandbox_factory, fetched, java):
    """Every client with SASL PLAIN: a wrong password is refused, and the right one gets the whole session."""
    guarded = sandbox_factory("--loose-memcached-auth=account")
    guarded.execute(
        "CREATE DATABASE shop",
        f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO {USER}",
    )
    map_items(guarded, "shop")
    port = guarded.env["MEMC_PORT"]
    wait_until_mapped(port, "shop", login=(USER, PASSWORD))
    python = "/usr/bin/python3"
    sessions = {
        "bmemcached_session": (python, HERE / "bmemcached_session.py", fetched("bmemcached") / "bmemcached", port),
        "pylibmc_session": (fetched("pylibmc") and python, HERE / "pylibmc_session.py", port, "binary"),
        "memjs_session": ("node", HERE / "memjs_session.js", fetched("memjs") / "memjs", port),
        "SpymemcachedSession": (*java(*SPYMEMCACHED), port, "binary"),
        "XmemcachedSession": (*java(*XMEMCACHED), port, "binary"),
        "memcached_session": (fetched("php-memcached") and "php", HERE / "memcached_session.php", port, "binary"),
    }
    for name, command in sessions.items():
        got = run(f"{name}_with_login", *command, USER, PASSWORD)
        wrong, _, rest = got.partition("\n") if got.startswith("a wrong password") else ("", "", got)
        assert "true" not in wrong.lower(), name
        assert rest == expected(name), name
    guarded.assert_alive()
