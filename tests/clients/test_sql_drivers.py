"""Drivers of six languages, and programs with ORMs, at the SQL door and at the server's own port: a program's results
are identical.

Each driver plays the session of support/clients/sql_drivers.py twice, at one port and then at the other, from the same tables,
and prints all results: rows, names and types of columns, counts, warnings, errors. Workers answer as many statements as
they can.
"""
import os
import shutil
import subprocess

import pytest
from support.clients.java import JAVA
from support.clients import sql_drivers
from support.server import ROOT, SERIES, STEADY_PLANS

HERE = ROOT / "tests" / "clients" / "sql"
SESSION_SECONDS = 120
JAR = "/usr/share/java/mariadb-java-client.jar"


@pytest.fixture(scope="module")
def played(module_factory, tmp_path_factory):
    """Plays a session at both ports with a command, in which PORT and SESSION are replaced, and asserts equal
    results."""
    server = module_factory(STEADY_PLANS, "--local-infile=1", postern_port=0)
    session = sql_drivers.session(tmp_path_factory.mktemp("session"))
    empty = ["SET foreign_key_checks = 0", "DROP DATABASE IF EXISTS orm", "CREATE DATABASE orm CHARSET utf8mb4"]
    tables = [*sql_drivers.tables(), *empty]

    def at(port, command):
        server.execute(*tables)
        words = [str({"PORT": port, "SESSION": session}.get(word, word)) for word in command]
        # Makes Python print sets in the same order every time.
        environment = os.environ | {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            words, capture_output=True, check=False, timeout=SESSION_SECONDS, cwd=ROOT, env=environment
        )
        assert done.returncode == 0, (done.stdout[-2000:] + done.stderr[-2000:]).decode(errors="replace")
        return done.stdout.decode(errors="replace").splitlines()

    def play(*command, lines=1000):
        own = at(server.env["SQL_PORT"], command)
        fast = server.status("Postern_statements_fast")["postern_statements_fast"]
        door = at(server.env["POSTERN_PORT"], command)
        fast = server.status("Postern_statements_fast")["postern_statements_fast"] - fast
        for number, (ours, theirs) in enumerate(zip(door, own)):
            if ours != theirs:
                before = "\n".join(line[:300] for line in own[max(0, number - 12) : number])
                raise AssertionError(f"{before}\nthe server: {theirs[:2000]}\nthe door:   {ours[:2000]}")
        assert len(own) == len(door) > lines
        return fast

    yield play
    server.assert_alive()
    assert "was not answered as the server does" not in server.log()


def need(program, *check):
    if not shutil.which(program) or (check and subprocess.run(check, capture_output=True, check=False).returncode != 0):
        pytest.skip(f"{program} lacks what this needs; run tools/deps clients")


def test_pymysql(played):
    assert played("/usr/bin/python3", HERE / "python_session.py", "pymysql", "PORT", "SESSION") > 100


def test_mysqldb(played):
    need("/usr/bin/python3", "/usr/bin/python3", "-c", "import MySQLdb")
    assert played("/usr/bin/python3", HERE / "python_session.py", "mysqldb", "PORT", "SESSION") > 100


def test_connector_python(played, fetched):
    folder = fetched("mysql-connector") / "mysql-connector"
    assert played("/usr/bin/python3", HERE / "python_session.py", "connector", "PORT", "SESSION", folder) > 100


@pytest.mark.parametrize("driver", ["mysqli", "pdo-emulated", "pdo-native"])
def test_php(played, driver):
    need("php", "php", "-r", "exit(extension_loaded('mysqli') && extension_loaded('pdo_mysql') ? 0 : 1);")
    assert played("php", HERE / "php_session.php", driver, "PORT", "SESSION") > 100


def test_php_compressed(played):
    need("php", "php", "-r", "exit(extension_loaded('mysqli') ? 0 : 1);")
    played("php", HERE / "php_session.php", "mysqli-compressed", "PORT", "SESSION")


@pytest.mark.parametrize("driver", ["mysql", "mysql-prepared", "MariaDB-prepared"])
def test_perl(played, driver):
    need("perl", "perl", f"-MDBD::{driver.split('-')[0]}", "-e", "1")
    assert played("perl", HERE / "perl_session.pl", driver, "PORT", "SESSION") > 100


def test_ruby(played):
    need("ruby", "ruby", "-rmysql2", "-e", "1")
    assert played("ruby", HERE / "ruby_session.rb", "PORT", "SESSION") > 100


def test_java(played, tmp_path):
    need("javac", "test", "-f", JAR)
    subprocess.run(["javac", "-d", tmp_path, HERE / "SqlSession.java"], check=True, timeout=SESSION_SECONDS)
    for prepared in ("false", "true"):
        options = f"allowLocalInfile=true&useServerPrepStmts={prepared}"
        assert played(*JAVA, "-cp", f"{tmp_path}:{JAR}", "SqlSession", options, "PORT", "SESSION") > 100, options


@pytest.mark.parametrize("options", ["interpolateParams=true", "clientFoundRows=true"])
def test_go(played, fetched, options):
    program = fetched("go-mysql") / "go-mysql" / "session"
    assert played(program, options, "PORT", "SESSION") > 100


@pytest.mark.parametrize("driver", ["mysql2", "mariadb"])
def test_node(played, fetched, driver):
    if driver == "mariadb" and SERIES != "10.11":
        pytest.skip("this version of the connector dies of the redirect_url that later series tell, at any port")
    modules = fetched("node-mysql") / "node-mysql" / "node_modules"
    assert played("node", HERE / "node_session.js", driver, modules, "PORT", "SESSION") > 100


@pytest.mark.parametrize("driver", ["pymysql", "mysqldb"])
def test_sqlalchemy(played, driver):
    need("/usr/bin/python3", "/usr/bin/python3", "-c", "import sqlalchemy, MySQLdb")
    assert played("/usr/bin/python3", HERE / "sqlalchemy_program.py", "PORT", driver, lines=40) > 10


def test_django(played, fetched):
    need("/usr/bin/python3", "/usr/bin/python3", "-c", "import MySQLdb")
    folder = fetched("django") / "django"
    assert played("/usr/bin/python3", HERE / "django_program.py", "PORT", folder, lines=40) > 10


@pytest.mark.parametrize("prepared", ["true", "false"])
def test_activerecord(played, prepared):
    need("ruby", "ruby", "-ractive_record", "-rmysql2", "-e", "1")
    assert played("ruby", HERE / "activerecord_program.rb", "PORT", prepared, lines=40) > 10


def test_mariadb_connector_python(played, fetched):
    folder = fetched("mariadb-connector") / "mariadb-connector"
    played("/usr/bin/python3", HERE / "bulk_program.py", "PORT", folder, lines=40)


def test_eloquent(played):
    need("php", "php", "-r", "exit(@include('Illuminate/Database/autoload.php') ? 0 : 1);")
    assert played("php", HERE / "eloquent_program.php", "PORT", lines=40) > 10


@pytest.mark.parametrize("driver", ["pdo_mysql", "mysqli"])
def test_doctrine(played, driver):
    need("php", "php", "-r", "exit(@include('Doctrine/ORM/autoload.php') ? 0 : 1);")
    assert played("php", HERE / "doctrine_program.php", "PORT", driver, lines=40) > 10


@pytest.mark.parametrize("driver", ["mysql", "MariaDB"])
def test_dbix_class(played, driver):
    need("perl", "perl", f"-MDBD::{driver}", "-MDBIx::Class", "-e", "1")
    assert played("perl", HERE / "dbix_program.pl", "PORT", driver, lines=40) > 10


def test_hibernate(played, fetched, tmp_path):
    need("javac", "test", "-f", JAR)
    jars = f"{fetched('hibernate')}/hibernate/*:{JAR}"
    compiler = ["javac", "-proc:none", "-cp", jars, "-d", tmp_path, HERE / "HibernateProgram.java"]
    subprocess.run(compiler, check=True, timeout=SESSION_SECONDS)
    assert (
        played(*JAVA, "-cp", f"{tmp_path}:{jars}", "HibernateProgram", "PORT", "useServerPrepStmts=true", lines=40) > 10
    )
