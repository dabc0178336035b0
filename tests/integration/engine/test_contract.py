"""The executor contract's suite, which the unit tests run over the engine in memory, over the real one."""
import contextlib
import json
import os
import shutil

from support.server import BUILD, SERVER_DIR
from support.waiting import until

TESTED = BUILD / "tests" / "contract" / "contract_test.so"
SECONDS_MAX = 180


def test_the_engine_keeps_the_contract(sandbox_factory, tmp_path):
    # The server's environment reaches the suite; its socket is where the sandbox always puts it.
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
    server.execute("UNINSTALL SONAME 'contract_test'")  # waits for the suite to end
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
    """The column definitions of a statement's result, for a session that wants nothing converted."""
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET character_set_results = NULL")
        cursor.execute(statement)
        fields = cursor._result.fields  # pymysql's description leaves out flags and character sets
        return [(one.name, one.type_code, one.scale, one.flags, one.charsetnr, one.length) for one in fields]
