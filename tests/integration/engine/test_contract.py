"""Runs the executor contract's suite, which the unit tests run over the fake engine, over the real one."""
import contextlib
import json
import os
import shutil

from support.server import BUILD, SERVER_DIR
from support.waiting import until

TESTED = BUILD / "tests" / "contract" / "contract_test.so"
SECONDS_MAX = 180


def test_the_engine_keeps_the_contract(sandbox_factory, tmp_path):
    # The suite gets the server's environment; the sandbox always puts the socket in the same place.
    report = tmp_path / "report.json"
    server = sandbox_factory(start=False)
    client = SERVER_DIR / "root" / "usr" / "bin" / "mariadb"
    server.start(
        env={
            **os.environ,
            "POSTERN_SO": "none",
            "POSTERN_CONTRACT_REPORT": str(report),
            "POSTERN_SQL_CLIENT": str(client),
            "POSTERN_SQL_SOCKET": str(server.dir / "mysql.sock"),
        }
    )
    assert server.env["SQL_SOCKET"] == str(server.dir / "mysql.sock")
    shutil.copy(TESTED, server.query("SELECT @@plugin_dir")[0][0])
    server.execute("INSTALL SONAME 'contract_test'")
    until(report.exists, SECONDS_MAX)
    server.execute("UNINSTALL SONAME 'contract_test'")  # waits until the suite ends
    results = json.loads(report.read_text())
    failures = [
        f"{case['name']}: {failure['failure']}"
        for suite in results["testsuites"]
        for case in suite["testsuite"]
        for failure in case.get("failures", [])
    ]
    assert not failures, "\n".join(failures)
    assert results["tests"] >= 20
    # The engine describes columns of every type as SQL does.
    told = server.query("SELECT name, type, decimals, flags, charset, length FROM contract.shapes ORDER BY at")
    assert told == shapes_in_sql(server, "SELECT * FROM contract.every_type LIMIT 0")


def shapes_in_sql(server, statement):
    """The column definitions of a statement's result, for a session without character set conversion."""
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET character_set_results = NULL")
        cursor.execute(statement)
        fields = cursor._result.fields  # pymysql's description omits flags and character sets
        return [(one.name, one.type_code, one.scale, one.flags, one.charsetnr, one.length) for one in fields]
