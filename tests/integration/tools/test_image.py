"""The image's entry point, run with this machine's server in place of the image's."""
import contextlib
import os
import re
import signal
import socket
import subprocess

import pymysql
import pytest
from support.server import ROOT, SERVER_DIR, parse_env
from support.waiting import until

ENTRYPOINT = ROOT / "packaging/image/entrypoint"
ODD = 'it\'s "a\\b" `c` % _ ü & $(true)'


class Image:
    """A container's folder, and the programs that its entry point finds."""

    def __init__(self, folder):
        server = parse_env((SERVER_DIR / "server.env").read_text())
        self.folder = folder
        self.data = folder / "data"
        self.socket = folder / "sql.sock"
        self.scripts = folder / "scripts"
        self.programs = folder / "bin"
        for made in (self.data, self.scripts, self.programs):
            made.mkdir()
        base = f"--no-defaults --basedir={server['SERVER_BASEDIR']}"
        self._program("mariadbd", f'exec {server["MARIADBD"]} {base} --datadir={self.data} --user=root "$@"')
        self._program("mariadb-install-db", f'exec {server["MARIADB_INSTALL_DB"]} {base} "$@" --user=root')
        self._program("chown", "")
        for client in ("mariadb", "mariadb-admin"):
            (self.programs / client).symlink_to(f"{server['SERVER_BASEDIR']}/bin/{client}")
        self.log = folder / "log"
        self.running = None

    def _program(self, name, line):
        (self.programs / name).write_text(f"#!/bin/bash\n{line}\n")
        (self.programs / name).chmod(0o755)

    def start(self, *arguments, **variables):
        with open(self.log, "ab") as log:
            self.running = subprocess.Popen(
                [ENTRYPOINT, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    "PATH": f"{self.programs}:{os.environ['PATH']}",
                    "TMPDIR": str(self.folder),
                    "POSTERN_ENTRYPOINT_SCRIPTS": str(self.scripts),
                    "POSTERN_ENTRYPOINT_SHARED": str(ROOT / "sql"),
                    **variables,
                },
            )

    def serve(self, **variables):
        self.start("--skip-networking", f"--socket={self.socket}", f"--pid-file={self.folder}/pid", **variables)
        until(lambda: self.listens() or self.running.poll() is not None, 60)
        assert self.running.poll() is None, self.said()

    def listens(self):
        """Whether the server accepts connections: the socket's file exists slightly earlier."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def stop(self):
        """Stops it as a container engine does. No process is left if the test failed."""
        if self.running is not None and self.running.poll() is None:
            self.running.send_signal(signal.SIGTERM)
            try:
                return self.running.wait(60)
            except subprocess.TimeoutExpired:
                self.running.kill()
                raise
        return None

    def refused(self, *arguments, **variables):
        self.start(*arguments, **variables)
        assert self.running.wait(60) == 1
        return self.said()

    def said(self):
        return self.log.read_text(errors="replace")

    def query(self, sql, **login):
        with contextlib.closing(
            pymysql.connect(unix_socket=str(self.socket), charset="utf8mb4", **login)
        ) as connection:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                return [row[0] for row in cursor.fetchall()]


@pytest.fixture
def image(tmp_path):
    made = Image(tmp_path)
    yield made
    made.stop()


def test_the_first_start_makes_accounts_from_the_variables(image):
    (image.folder / "secret").write_text(ODD)
    (image.scripts / "1.sql").write_text("CREATE TABLE users (id INT PRIMARY KEY);")
    (image.scripts / "2.sh").write_text(f"touch {image.folder}/script-has-run")
    (image.scripts / "3.txt").write_text("not a script")
    image.serve(
        MARIADB_ROOT_PASSWORD="root's",
        MARIADB_DATABASE="shop_1",
        MARIADB_USER="ann's",
        MARIADB_PASSWORD_FILE=str(image.folder / "secret"),
        POSTERN_TABLES="redis innodb_memcache",
    )
    ann = {"user": "ann's", "password": ODD.encode()}
    assert image.query("SHOW TABLES", database="shop_1", **ann) == ["users"]
    with pytest.raises(pymysql.err.OperationalError, match="denied"):
        image.query("CREATE DATABASE shopx1", **ann)  # the _ in its grant is not a wildcard
    # The system's root needs no password on the socket.
    names = image.query("SHOW DATABASES", user="root")
    assert {"innodb_memcache", "postern_redis", "shop_1"} <= set(names) and "test" not in names
    roots = image.query(
        "SELECT host FROM mysql.user WHERE user = 'root' AND password = PASSWORD('root''s')", user="root"
    )
    assert sorted(roots) == ["%", "localhost"]
    assert (image.folder / "script-has-run").exists()
    assert ODD not in image.said() and "root's" not in image.said()
    assert image.stop() == 0
    image.serve()  # needs no variable any more, and changes nothing
    assert image.query("SHOW TABLES", database="shop_1", **ann) == ["users"]


def test_a_password_is_made_and_shown_once(image):
    image.serve(MARIADB_RANDOM_ROOT_PASSWORD="1", MARIADB_ROOT_HOST="localhost")
    (password,) = re.findall(r"root's password is (\S+)$", image.said(), re.M)
    assert len(password) == 32
    roots = image.query(
        f"SELECT host FROM mysql.user WHERE user = 'root' AND password = PASSWORD('{password}')", user="root"
    )
    assert roots == ["localhost"]
    assert image.query("SELECT COUNT(*) FROM mysql.user WHERE user = 'root'", user="root") == [1]


def test_nothing_is_made_where_a_variable_lacks(image):
    assert "set MARIADB_ROOT_PASSWORD" in image.refused()
    assert "MARIADB_USER needs" in image.refused(MARIADB_ROOT_PASSWORD="x", MARIADB_USER="ann")
    assert "there is no" in image.refused(MARIADB_ROOT_PASSWORD="x", POSTERN_TABLES="radish")
    file = image.folder / "secret"
    file.write_text("x")
    assert "both" in image.refused(MARIADB_ROOT_PASSWORD="x", MARIADB_ROOT_PASSWORD_FILE=str(file))
    assert not any(image.data.iterdir())


def test_a_first_start_that_failed_is_not_taken_for_a_server(image):
    (image.scripts / "1.sql").write_text("SELEKT;")
    assert "You have an error in your SQL syntax" in image.refused(MARIADB_ROOT_PASSWORD="x")
    assert subprocess.run(["pgrep", "-f", str(image.data)], check=False).returncode == 1, "a server is left"
    assert "the first start did not end well" in image.refused(MARIADB_ROOT_PASSWORD="x")


def test_another_command_is_run_as_it_is(image):
    image.start("bash", "-c", "echo $0 $@", "--skip-networking")
    assert image.running.wait(10) == 0
    assert image.said() == "--skip-networking\n"


def test_the_page_names_what_there_is():
    page = (ROOT / "docs/containers.md").read_text()
    entrypoint = ENTRYPOINT.read_text()
    named = set(re.findall(r"\b(?:MARIADB|POSTERN)_[A-Z_]+\b", page))
    assert len(named) >= 5 and all(name in entrypoint for name in named)
    published = set(re.findall(r"-p 127\.0\.0\.1:\S+:(\S+)", page))
    exposed = re.search(r"^EXPOSE (.*)", (ROOT / "packaging/image/Dockerfile").read_text(), re.M)[1].split()
    assert {port for ports in published for port in ports.split("-")} <= set(exposed)
