"""The option files that we ship and document: no server fails to start because of them, even if our library is missing,
of another version or uninstalled, or a value invalid; and with the library they work as described."""
import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from support.clients import hs, libraries, mc
from support.server import BUILD, ROOT
from support.waiting import until

# Only the option file says which plugins to load, not tools/sandbox.
WITHOUT_PLUGIN = {**os.environ, "POSTERN_SO": "none"}
LIBRARY = Path(os.environ.get("POSTERN_SO") or BUILD / "src/plugin/postern.so")


def block(document, number=0):
    """The document's fenced blocks that are option files."""
    blocks = re.findall(r"^```\n(\[mariadbd\]\n.*?)^```$", (ROOT / document).read_text(), re.M | re.S)
    return blocks[number]


def package_file():
    """The package's option file with every commented line enabled."""
    text = (ROOT / "packaging/70-postern.cnf").read_text().replace("@PACKAGE@", "postern")
    taken, count = re.subn(r"^#(?=\w+ = )", "", text, flags=re.M)
    assert count > 15, text
    return taken


FILES = {"README.md": block("README.md"), "the package": package_file(), "deploying.md": block("docs/deploying.md")}


class House:
    """One server's data folder, started with various option files and libraries."""

    def __init__(self, server, directory):
        self.server = server
        self.directory = directory
        self.sockets = server.dir / "run"
        self.sockets.mkdir(exist_ok=True)

    def library(self, which):
        folder = self.directory / which.replace(" ", "_")
        folder.mkdir(exist_ok=True)
        if which == "ours":
            shutil.copy(LIBRARY, folder / "postern.so")
        elif which == "of another version":
            (folder / "postern.so").write_bytes(libraries.of_another_version(LIBRARY))
        elif which == "of another series":
            # This library calls functions of the server that only that version has, too.
            content = libraries.of_another_version(LIBRARY)
            for name in ("thd_query_string", "init_alloc_root", "global_query_id"):
                content = libraries.renamed(content, name, "nowhere")
            (folder / "postern.so").write_bytes(content)
        return folder

    def here(self, text):
        """The option file, with the paths, ports and addresses of this test."""
        ports = {}

        def port(match):
            if match[2] not in ports:
                with socket.create_server(("127.0.0.1", 0)) as free:
                    ports[match[2]] = str(free.getsockname()[1])
            return match[1] + ports[match[2]]

        text = re.sub(r"(_port(?:_wr)?\s*=\s*)(\d+)", port, text)
        return (
            text.replace("/run/mysqld", str(self.sockets))
            .replace("/etc/mysql/tls", str(self.directory))
            .replace("10.1.0.5", "127.0.0.1")
        )

    @contextlib.contextmanager
    def running(self, text, which, *options):
        """The server, running with this option file. log() returns what it has logged since."""
        file = self.directory / "my.cnf"
        file.write_text(text)
        begin = len(self.server.log())
        self.server.log_since = lambda: self.server.log()[begin:]
        self.server.start(
            f"--defaults-file={file}", f"--plugin-dir={self.library(which)}", *options, env=WITHOUT_PLUGIN
        )
        try:
            assert self.server.query("SELECT 1") == [(1,)]
            yield self.server
        finally:
            self.server.stop()

    def plugins(self):
        """The doors' plugins, with their states."""
        return dict(
            self.server.query(
                "SELECT plugin_name, plugin_status FROM information_schema.plugins "
                "WHERE plugin_library = 'postern.so' AND plugin_type = 'DAEMON'"
            )
        )


@pytest.fixture(scope="module")
def house(module_factory, tmp_path_factory):
    server = module_factory(env=WITHOUT_PLUGIN)
    server.stop()
    directory = tmp_path_factory.mktemp("etc")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=test",
            "-keyout",
            directory / "server-key.pem",
            "-out",
            directory / "server-cert.pem",
        ],
        check=True,
        capture_output=True,
    )
    return House(server, directory)


@pytest.mark.parametrize("which", ["missing", "of another version", "of another series"])
@pytest.mark.parametrize("name", FILES)
def test_the_server_starts_without_the_library(house, name, which):
    with house.running(house.here(FILES[name]), which) as server:
        assert house.plugins() == {}
        log = server.log_since()
        assert "Couldn't load plugins from 'postern" in log
        assert "unknown variable 'loose_handlersocket_port=" in log
        assert "undefined symbol" not in log
        if which != "missing":
            assert (
                f"Postern: this library was built for MariaDB {libraries.OTHER_VERSION}, and the server is {libraries.VERSION}-"
                in log
            )
            assert "make install" in log


def test_the_server_starts_after_uninstalling(house):
    text = house.here(FILES["README.md"]).replace("plugin_load_add", "#")
    with house.running(text, "ours") as server:
        server.execute("INSTALL SONAME 'postern'")
        assert house.plugins() == dict.fromkeys(("handlersocket", "memcached", "postern", "redis"), "ACTIVE")
        server.execute("UNINSTALL SONAME 'postern'")
    with house.running(text, "ours"):
        assert house.plugins() == {}


# For each plugin a line, its message in the log, and whether the plugin may run: never with an unintended value,
# although the server skips invalid options after loose_.
WRONG = {
    "no number": [
        ("loose_handlersocket_scan_threads = few", "handlersocket_scan_threads is to be a number from 1 to 64", False),
        ("loose_memcached_max_connections = -5", "memcached_max_connections is to be a number from 1", False),
    ],
    "out of range": [
        ("loose_handlersocket_scan_threads = 70000", "unsigned value 70000 adjusted to 64", True),
        ("loose_memcached_cache_bytes = 1", "unsigned value 1 adjusted to 1048576", True),
    ],
    "no value": [
        ("loose_handlersocket_port", "'--handlersocket-port' requires an argument", False),
        ("loose_memcached_auth", "'--memcached-auth' requires an argument", False),
    ],
    "unknown word": [
        ("loose_handlersocket_auth = acount", "handlersocket_auth: 'acount' is none of: none,secret,account", False),
        ("loose_memcached_auth = acount", "memcached_auth: 'acount' is none of: none,account", False),
    ],
    "no switch": [
        ("loose_handlersocket_require_tls = yes", "handlersocket_require_tls: 'yes' is none of: OFF,ON", False),
        ("loose_memcached_require_tls", "'--memcached-require-tls' requires an argument", False),
    ],
    "no address": [
        ("loose_handlersocket_address = nowhere", "'nowhere' is not a numeric IPv4 or IPv6 address", False),
        ("loose_memcached_socket_mode = rwx", "memcached_socket_mode: 'rwx' is no octal number", False),
    ],
    "no certificate": [
        (
            "loose_handlersocket_require_tls = ON",
            "handlersocket_require_tls is ON, but the server has no certificate",
            False,
        ),
        ("loose_memcached_require_tls = ON", "memcached_require_tls is ON, but the server has no certificate", False),
    ],
    "misspelt": [
        ("loose_handlersocket_prot = 1", "unknown variable 'loose_handlersocket_prot=1'", True),
        ("loose_memcached_prot = 1", "unknown variable 'loose_memcached_prot=1'", True),
    ],
}


@pytest.mark.parametrize("cases", WRONG.values(), ids=WRONG)
def test_a_wrong_value_keeps_no_server_from_starting(house, cases):
    text = house.here(FILES["README.md"]) + "".join(f"{line}\n" for line, _, _ in cases)
    with house.running(text, "ours") as server:
        plugins = house.plugins()
        for line, told, runs in cases:
            assert told in server.log_since()
            assert (plugins.get(re.match(r"loose_([a-z]+)_", line)[1]) == "ACTIVE") == runs, line


def test_a_taken_port_keeps_no_server_from_starting(house):
    text = house.here(FILES["README.md"])
    port = int(re.search(r"handlersocket_port\s*= (\d+)", text)[1])
    with socket.create_server(("127.0.0.1", port)), house.running(text, "ours") as server:
        assert "Address already in use" in server.log_since()
        assert house.plugins() == dict.fromkeys(("memcached", "postern", "redis"), "ACTIVE")


def test_the_file_of_the_readme_opens_the_doors(house):
    with house.running(house.here(FILES["README.md"]), "ours") as server:
        server.execute(
            "CREATE TABLE IF NOT EXISTS test.t (id INT PRIMARY KEY, v VARCHAR(20))",
            "REPLACE INTO test.t VALUES (7, 'seven')",
        )
        for client in (server.hs(), server.hs_wr()):
            with client:
                client.open(0, "test", "t", "v")
                assert client.request(0, "=", 1, 7) == ["0", "1", "seven"]
        assert server.variable("innodb_adaptive_hash_index_parts") == "1"


def test_a_plugin_that_is_installed_again_reads_the_file_again(house):
    """So numbers of threads change without a restart of the server."""
    text = house.here(FILES["README.md"])
    with house.running(text + "loose_handlersocket_threads = 1\n", "ours") as server:
        assert server.variable("handlersocket_threads") == "1"
        (house.directory / "my.cnf").write_text(text + "loose_handlersocket_threads = 3\n")
        server.execute("UNINSTALL PLUGIN handlersocket", "INSTALL PLUGIN handlersocket SONAME 'postern'")
        assert server.variable("handlersocket_threads") == "3"
        with contextlib.ExitStack() as clients:  # each worker shows up with its own
            for _ in range(3):
                clients.enter_context(server.hs())
            names = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'handlersocket read worker%'"
            until(lambda: server.query(names) == [(3,)])


@pytest.mark.parametrize("name", ["the package", "deploying.md"])
def test_the_files_with_accounts_and_tls_keep_their_word(house, name):
    """No port serves anybody without TLS and a login, and a client that logs in is served within its grants."""
    context = ssl.create_default_context(cafile=house.directory / "server-cert.pem")
    context.check_hostname = False

    def tls(plain):
        return context.wrap_socket(plain)

    options = [f"--ssl-cert={house.directory}/server-cert.pem", f"--ssl-key={house.directory}/server-key.pem"]
    with house.running(house.here(FILES[name]), "ours", *(options if name == "the package" else [])) as server:
        with open(ROOT / "sql/innodb_memcache.sql") as script:
            subprocess.run([ROOT / "tools/sandbox", "sql", server.dir], stdin=script, check=True, timeout=60)
        server.execute(
            "CREATE TABLE IF NOT EXISTS test.t (id INT PRIMARY KEY, v VARCHAR(20))",
            "REPLACE INTO test.t VALUES (7, 'seven')",
            "CALL postern.map_table('default', 'test', 't', 'id', 'v')",
            "CREATE OR REPLACE USER shop@'127.0.%' IDENTIFIED BY 'pw' REQUIRE SSL",
            "GRANT SELECT ON test.t TO shop@'127.0.%'",
            "CREATE OR REPLACE USER shop@localhost IDENTIFIED BY 'pw'",
            "GRANT SELECT ON test.t TO shop@localhost",
        )
        for port in ("HS_PORT", "HS_PORT_WR"):
            with hs.Client(server.env[port]) as plain:
                assert plain.request("A", 2, "shop", "pw")[0] == "3"
            with hs.Client(server.env[port], wrap=tls) as client:
                assert client.request("P", 0, "test", "t", "PRIMARY", "v")[0] == "3"
                assert client.request("A", 2, "shop", "pw") == ["0", "1"]
                client.open(0, "test", "t", "v")
                assert client.request(0, "=", 1, 7) == ["0", "1", "seven"]
        for path in ("handlersocket.sock", "handlersocket_wr.sock"):
            with hs.Client(str(house.sockets / path)) as client:
                assert client.request("P", 0, "test", "t", "PRIMARY", "v")[0] == "3"
                assert client.request("A", 2, "shop", "pw") == ["0", "1"]
                client.open(0, "test", "t", "v")
                assert client.request(0, "=", 1, 7) == ["0", "1", "seven"]
        until(lambda: mc.listens(int(server.env["MEMC_PORT"])))
        with mc.Client(server.env["MEMC_PORT"]) as plain:
            assert "TLS" in plain.ask("get 7")
        with mc.Client(server.env["MEMC_PORT"], wrap=tls) as client:
            assert client.ask("get 7").startswith("CLIENT_ERROR")
            assert client.set("login", "shop pw") == "STORED"
            assert client.get("7") == b"seven"
            assert "denied" in client.set("7", "eight")
