"""The library in the server: after UNINSTALL it is unloaded, so that another one can be loaded. If that is impossible,
or if the server is not the one it was built for, it refuses with an error and the server survives."""
import os
import re
import shutil
from pathlib import Path

import pymysql
import pytest
from support.clients import libraries, sql_wire
from support.server import BUILD
from support.waiting import until

LIBRARY = Path(os.environ.get("POSTERN_SO") or BUILD / "src/plugin/postern.so")
NOT_INITIALISED = 1123
# The description of the first door in SHOW PLUGINS, and the one of a library that works like ours in another file.
TOLD, OTHER_TOLD = b"over the HandlerSocket protocol, past SQL", b"over the HandlerSocket protocol, past sql"


def put(server, content, how):
    """Installs this file as the server's library."""
    place = server.dir / "plugin/postern.so"
    if how == "renamed":
        libraries.write(place, content)
    else:
        # Overwrites the file as cp(1) does. The first file is a hard link to the build's own.
        place.write_bytes(content)


def own_file(server):
    """Gives the server a library file of its own, which the test may overwrite."""
    place = server.dir / "plugin/postern.so"
    server.execute("UNINSTALL SONAME 'postern'")
    libraries.write(place, LIBRARY.read_bytes())
    server.execute("INSTALL SONAME 'postern'")


def is_mapped(server):
    return "postern.so" in Path(f"/proc/{server.env['PID']}/maps").read_text()


def told(server):
    return server.query(
        "SELECT plugin_description FROM information_schema.plugins WHERE plugin_name = 'handlersocket'"
    )[0][0]


def used(server):
    """Uses each door, the SQL door also on threads of its pool."""
    server.execute(
        "CREATE TABLE IF NOT EXISTS test.t (id INT PRIMARY KEY, v INT)",
        "REPLACE INTO test.t VALUES (1, 10)",
    )
    with server.hs() as client:
        client.open(0, "test", "t", "id,v")
        assert client.request(0, "=", 1, 1) == ["0", "2", "1", "10"]
    sessions = [sql_wire.door(server) for _ in range(8)]
    for session in sessions:
        for _ in range(4):
            assert sql_wire.rows(session, "SELECT v FROM test.t WHERE id = 1") == [(10,)]
        assert sql_wire.rows(session, "SELECT COUNT(*) FROM test.t") == [(1,)]
        sql_wire.rows(session, "UPDATE test.t SET v = 10 WHERE id = 1")
    assert server.status("Postern%")
    assert server.query("SELECT COUNT(*) FROM information_schema.postern_doors")
    return sessions


@pytest.mark.parametrize("how", ["copied over", "renamed"])
def test_uninstalled_it_leaves_and_the_next_one_is_loaded(sandbox_factory, how):
    server = sandbox_factory(postern_port=0)
    own_file(server)
    for content, sentence in (
        (LIBRARY.read_bytes().replace(TOLD, OTHER_TOLD), OTHER_TOLD),
        (LIBRARY.read_bytes(), TOLD),
    ):
        sessions = used(server)
        server.execute("UNINSTALL SONAME 'postern'")
        until(lambda: not is_mapped(server))
        del sessions
        put(server, content, how)
        server.execute("INSTALL SONAME 'postern'")
        assert told(server).endswith(sentence.decode()[-20:])
    used(server)


def test_it_leaves_each_time_under_load(sandbox_factory):
    """No thread and no structure of the server uses the unloaded library."""
    server = sandbox_factory(postern_port=0)
    for _ in range(15):
        sessions = used(server)
        server.execute("UNINSTALL SONAME 'postern'")
        assert not is_mapped(server)
        del sessions
        server.execute("FLUSH TABLES", "FLUSH STATUS", "ALTER TABLE test.t FORCE", "SHOW FULL PROCESSLIST")
        server.execute("INSTALL SONAME 'postern'")


@pytest.mark.parametrize("how", ["copied over", "renamed"])
@pytest.mark.parametrize("through", ["its door", "the port it had"])
def test_where_it_has_to_stay_another_file_is_refused(sandbox_factory, how, through):
    server = sandbox_factory(
        *(["--loose-postern-main-port=ON"] if through == "the port it had" else []), postern_port=0
    )
    if through == "its door":
        own_file(server)
    before = server.log()
    if through == "its door":
        sql_wire.rows(sql_wire.door(server), "UNINSTALL SONAME 'postern'")
    else:
        server.execute("UNINSTALL SONAME 'postern'")
    until(lambda: server.log()[len(before) :].count("all doors closed") >= 4)
    if through == "the port it had":  # that file is the build's
        (server.dir / "plugin/postern.so").unlink()
        libraries.write(server.dir / "plugin/postern.so", LIBRARY.read_bytes())
    server.execute("INSTALL SONAME 'postern'")  # the library is the same
    server.execute("UNINSTALL SONAME 'postern'")
    put(server, LIBRARY.read_bytes().replace(TOLD, OTHER_TOLD)[: -(1 << 20)], how)
    with pytest.raises(pymysql.err.OperationalError) as refused:
        server.execute("INSTALL SONAME 'postern'")
    assert refused.value.args[0] == NOT_INITIALISED
    assert re.search(
        r"handlersocket: refusing to run here: .*plugin/postern.so is not what the server has in memory", server.log()
    )
    put(server, LIBRARY.read_bytes(), how)
    server.execute("INSTALL SONAME 'postern'")
    used(server)


@pytest.fixture
def with_library(sandbox_factory):
    """A server that loads a library with this content at its start."""

    def start(content, *options):
        server = sandbox_factory()
        server.stop()
        library = server.dir / "other" / "postern.so"
        library.parent.mkdir()
        libraries.write(library, content)
        # The sandbox does not start with a library that is refused. Other servers may use the default ports.
        ports = [
            f"--loose-handlersocket-port={server.env['HS_PORT']}",
            f"--loose-handlersocket-port-wr={server.env['HS_PORT_WR']}",
        ]
        load = [f"--plugin-dir={library.parent}", "--plugin-load-add=postern", *ports, *options]
        return server.start(*load, env={**os.environ, "POSTERN_SO": "none"})

    return start


def doors(server):
    return [
        name
        for name, state in server.query(
            "SELECT plugin_name, plugin_status FROM information_schema.plugins WHERE plugin_author = 'Postern'"
        )
        if state == "ACTIVE"
    ]


def test_a_library_for_another_configuration_is_refused(with_library):
    server = with_library(libraries.of_another_build(LIBRARY))
    assert doors(server) == []
    assert "handlersocket: refusing to run here: built for " in server.log()
    assert "loose_..._allow_other_build=ON" in server.log()


def test_an_administrator_may_allow_another_build(with_library):
    allowed = [f"--loose-{door}-allow-other-build=ON" for door in ("handlersocket", "memcached", "redis", "postern")]
    server = with_library(libraries.of_another_build(LIBRARY), *allowed)
    assert {"handlersocket", "memcached", "redis", "postern", "POSTERN_DOORS"} <= set(doors(server))
    assert "refusing" not in server.log()


def test_a_version_that_somebody_made_up_is_no_other_build(with_library):
    server = with_library(LIBRARY.read_bytes(), "--version=5.5.5-made-up")
    assert "handlersocket" in doors(server)


@pytest.mark.parametrize("asked", ["thd_query_string", "thd_mdl_context"])
def test_a_session_that_is_laid_out_otherwise_is_found_out(with_library, asked):
    """The library compares its view of THD with the server's own functions: here it calls another one."""
    server = with_library(libraries.renamed(LIBRARY.read_bytes(), asked, "thd_rnd"))
    assert doors(server) == []
    assert re.search(r"handlersocket: refusing to run here: the server has THD::\w+ elsewhere", server.log())
    server.execute("SET GLOBAL general_log = 0")
    with pytest.raises(pymysql.err.OperationalError):
        server.execute("INSTALL SONAME 'postern'")
    assert server.query("SELECT 1") == [(1,)]


def test_functions_that_the_server_lacks_are_named(with_library):
    """By itself the loader would only report an undefined symbol."""
    server = with_library(libraries.renamed(LIBRARY.read_bytes(), "thd_query_string", "thd_query_nowher"))
    assert doors(server) == []
    assert "handlersocket: refusing to run here: the server has no thd_query_nowher" in server.log()
    assert "undefined symbol" not in server.log()
