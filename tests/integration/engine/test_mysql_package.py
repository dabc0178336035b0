"""The Debian package for MySQL 9.7: its option file, scripts and library fit that server."""
import re
import subprocess

import pytest

from support.clients.mysql import Mysql, build, marks
from support.server import ROOT, parse_env

pytestmark = marks

SERVER = ROOT / "build-mysql/server"
LIBRARY = ROOT / "build-mysql/src/plugin/postern.so"


@pytest.fixture(scope="module", name="package")
def made_package(tmp_path_factory):
    build()
    folder = tmp_path_factory.mktemp("package")
    made = subprocess.run([ROOT / "tools/package", SERVER, LIBRARY, folder], capture_output=True, text=True, check=True)
    path = made.stdout.split()[-1]
    subprocess.run(["dpkg-deb", "-R", path, folder / "tree"], check=True)
    return folder / "tree"


def test_it_names_its_server_and_nothing_of_mariadb(package):
    settings = parse_env((SERVER / "server.env").read_text())
    control = (package / "DEBIAN/control").read_text()
    assert "Package: postern-mysql-9.7\n" in control
    assert f"mysql-server-core (>= {settings['SERVER_VERSION']})" in control
    options = (package / "etc/mysql/mysql.conf.d/70-postern.cnf").read_text()
    for text in (control.replace("postern-mariadb", ""), (package / "DEBIAN/postinst").read_text(), options):
        assert "mariadb" not in text.lower(), text
    assert (package / "DEBIAN/triggers").read_text() == "interest-noawait /usr/sbin/mysqld\n"


def test_its_option_file_library_and_scripts_work(package, tmp_path, monkeypatch):
    settings = parse_env((SERVER / "server.env").read_text())
    monkeypatch.setenv("POSTERN_SO", str(next(package.glob("usr/lib/**/postern.so"))))
    server = Mysql(tmp_path / "server")
    server.start("--redis=ON")
    try:
        for script in ("innodb_memcache", "redis"):
            text = (package / f"usr/share/postern/{script}.sql").read_bytes()
            subprocess.run([ROOT / "tools/mysql", "sql", server.dir], input=text, check=True)
        assert server.query("SELECT COUNT(*) FROM postern_redis.entries") == ((0,),)
        names = {row[0] for row in server.query("SHOW GLOBAL VARIABLES")}
    finally:
        server.run("stop")
    options = (package / "etc/mysql/mysql.conf.d/70-postern.cnf").read_text()
    settings_named = re.findall(r"^#loose_(\w+) =", options, re.M)
    assert len(settings_named) > 15
    assert [name for name in settings_named if name not in names] == []
    taken = tmp_path / "taken.cnf"
    taken.write_text(re.sub(r"^#(?=\w+ = )", "", options, flags=re.M))
    checked = subprocess.run(
        [
            settings["MYSQLD"],
            f"--defaults-file={taken}",
            f"--basedir={settings['SERVER_BASEDIR']}",
            f"--lc-messages-dir={settings['SERVER_BASEDIR']}/share/mysql",
            f"--datadir={server.dir}/data",
            f"--plugin-dir={server.dir}/plugin",
            "--secure-file-priv=NULL",
            "--validate-config",
            "--user=root",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
