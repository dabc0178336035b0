"""Whole sessions of third-party HandlerSocket clients, in the versions that users install today.

Each session's script prints its client's results; the tables' rows afterwards are appended. The output must equal the
.expected file beside the script, line by line. With POSTERN_TEST_ORIGINAL=1 the original plugin must give the same
output: no step here covers a difference between the two.
"""
import json

import pytest
from support.clients.java import JAVA
from support.program import output_of
from support.server import ROOT

HERE = ROOT / "tests" / "clients"
FETCHED = ROOT / "build" / "clients"
TABLES = [
    "CREATE TABLE kv (k VARCHAR(30) PRIMARY KEY, v VARCHAR(30), n INT, KEY n (n)) CHARSET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(30))",
]
SOME_ROWS = "INSERT INTO kv VALUES ('a', 'A', 1), ('b', NULL, NULL), ('c', '', 0), ('d', CONCAT('tab', CHAR(9), 'nul', CHAR(0)), -4), ('é', '日本語', 5)"


@pytest.fixture
def session(server, database):
    """Runs a session and compares its output, and the rows afterwards, with the expected ones."""
    server.execute(*TABLES, database=database)

    def run(name, *command, on=server):
        lines = output_of(*command).splitlines()
        for table in ("kv", "counted"):
            for row in on.query(f"SELECT * FROM {table} ORDER BY 1", database=database):
                lines.append(f"{table}: {json.dumps(row, ensure_ascii=False)}")
        on.assert_alive()
        got = "\n".join(lines) + "\n"
        (FETCHED / f"{name}.got").write_text(got)
        assert got == (HERE / f"{name}.expected").read_text(), f"it stands in build/clients/{name}.got"

    return run


def jython(folder, script, *arguments):
    # It stores its cache of facts about Java's packages beside itself.
    return [
        *JAVA,
        f"-Dpython.cachedir={folder}/jython/cache",
        "-Dfile.encoding=UTF-8",
        "-jar",
        folder / "jython" / "jython.jar",
        HERE / script,
        *arguments,
    ]


def test_node_handlersocket(server, database, fetched, session):
    folder = fetched("node")
    session(
        "node_session",
        "node",
        HERE / "node_session.js",
        folder / "node",
        database,
        server.env["HS_PORT"],
        server.env["HS_PORT_WR"],
    )


def test_node_handlersocket_with_secrets(sandbox_factory, database, fetched, session):
    folder = fetched("node")
    guarded = sandbox_factory("--handlersocket-plain-secret=rdsecret", "--handlersocket-plain-secret-wr=wrsecret")
    guarded.execute(f"CREATE DATABASE {database}", f"USE {database}", *TABLES)
    session(
        "node_session_with_secrets",
        "node",
        HERE / "node_session.js",
        folder / "node",
        database,
        guarded.env["HS_PORT"],
        guarded.env["HS_PORT_WR"],
        "rdsecret",
        "wrsecret",
        on=guarded,
    )


def test_hs4j(server, database, fetched, session):
    folder = fetched("hs4j")
    session(
        "Hs4jSession",
        *JAVA,
        "-Dfile.encoding=UTF-8",
        "-cp",
        f"{folder}/hs4j/hs4j.jar:{folder}/hs4j/slf4j-api.jar",
        HERE / "Hs4jSession.java",
        database,
        server.env["HS_PORT"],
        server.env["HS_PORT_WR"],
    )


def test_pyhs(server, database, fetched, session):
    folder = fetched("pyhs")
    session(
        "pyhs_session",
        *jython(folder, "pyhs_session.py", folder / "pyhs", database, server.env["HS_PORT"], server.env["HS_PORT_WR"]),
    )


def test_python_handlersocket(server, database, fetched, session):
    folder = fetched("handlersocket")
    server.execute(SOME_ROWS, database=database)
    session(
        "handlersocket_session",
        *jython(folder, "handlersocket_session.py", folder / "handlersocket", database, server.env["HS_PORT"]),
    )
