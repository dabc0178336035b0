"""The C++ client as users install it: built into a prefix of its own, without access to the source tree.

The transcripts drive it (tests/wire/handlersocket/client), the programs on its page are compiled and run, and so is a
program written for the original's library.
"""
import json
import os
import re
import shutil
import subprocess

import pytest
from support import transcripts
from support.server import ROOT

HERE = ROOT / "tests" / "clients" / "cpp"
PAGE = ROOT / "clients" / "cpp" / "README.md"
COMPILE_SECONDS = 240
RUN_SECONDS = 120
OLD_PROGRAM_SAYS = """\
1 columns
1 columns
1 columns
code 1, 121
3 columns
[a][A][1]
[b][NULL][NULL]
3 columns
[a][A][1]
1 columns
[1]
3 columns
[b][NULL][NULL]
[a][changed][1]
1 columns
[1]
-1 a name, an operator or a secret has a tab or a line's end
-1 not connected
code 3, unauth
"""


def run(*command, seconds=RUN_SECONDS, **options):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        **options,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Installed:
    """The library, installed into a prefix of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.prefix = folder / "prefix"
        self.launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self.build(ROOT / "clients" / "cpp", "library", f"-DCMAKE_INSTALL_PREFIX={self.prefix}")
        run("cmake", "--install", folder / "library")

    def build(self, source, name, *options):
        folder = self.folder / name
        # Without optimization, which halves the time.
        run("cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Fast", *self.launcher, *options)
        run("cmake", "--build", folder, "-j2", seconds=COMPILE_SECONDS)
        return folder

    def flags(self):
        environment = os.environ | {"PKG_CONFIG_PATH": str(next(self.prefix.glob("lib*/**/pkgconfig")))}
        return run("pkg-config", "--static", "--cflags", "--libs", "handlersocket", env=environment).split()

    def compile(self, source, program, standard):
        """Compiles a program by hand, with the flags that pkg-config prints."""
        run("g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", source, *self.flags(), "-o", program)
        return program


def blocks(kind):
    """The page's code blocks of one language: cpp, `cpp connect`, ..."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def page_program():
    """The page's code blocks as functions of one program."""
    whole, *pieces = blocks("cpp")
    functions = [f"static void piece{i}(Connection &connection, Index user) {{\n{p}}}\n" for i, p in enumerate(pieces)]
    calls = "".join(f"  piece{i}(connection, user);\n" for i in range(len(pieces)))
    head, main = whole.split("int main() {\n")
    opening, _, _ = main.partition("  (void)connection.insert")
    return (
        whole,
        head
        + "".join(functions)
        + "int main() {\n"
        + opening.replace('"user_name"', '"user_name", "visits"')
        + calls
        + "}\n",
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("cpp"))


@pytest.fixture(scope="module")
def programs(installed, server):
    """The folder of all programs that CMake builds with the library, the page's among them."""
    source = installed.folder / "source"
    source.mkdir()
    for path in (HERE / "drive.cc", HERE / "checks.cc", ROOT / "tests" / "support" / "unit" / "json.h"):
        shutil.copy(path, source)
    first, pieces = (text.replace("9999", server.env["HS_PORT_WR"]) for text in page_program())
    (source / "first.cc").write_text(first)
    (source / "pieces.cc").write_text('#pragma GCC diagnostic ignored "-Wunused"\n' + pieces)
    (cmake,) = blocks("cmake")
    common, of_program = re.fullmatch(r"(.*?)(add_executable.*)", cmake, re.DOTALL).groups()
    names = ("drive", "checks", "first", "pieces")
    (source / "CMakeLists.txt").write_text(common + "".join(of_program.replace("program", name) for name in names))
    return installed.build(source, "programs", f"-DCMAKE_PREFIX_PATH={installed.prefix}")


@pytest.mark.parametrize("session", transcripts.sessions() + transcripts.hostile(), ids=lambda session: session["name"])
def test_transcript(programs, session):
    with transcripts.Peer(session) as peer:
        told = run(programs / "drive", peer.port, input=json.dumps(session))
    assert peer.problem is None
    got = [json.loads(line) for line in told.splitlines()]
    assert got == [exchange["results"] for exchange in session["exchanges"]]


def test_checks(programs, server):
    server.execute(
        "CREATE OR REPLACE DATABASE cpp_checks CHARACTER SET utf8mb4",
        "CREATE TABLE cpp_checks.kv (k VARCHAR(30) PRIMARY KEY, v TEXT, n INT)",
        "CREATE TABLE cpp_checks.counted (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(30))",
    )
    assert run(programs / "checks", server.env["HS_PORT_WR"]) == ""
    server.execute("DROP DATABASE cpp_checks")


def test_page(programs, server):
    ddl = re.search(r"`(CREATE TABLE test\.user .*?)`", PAGE.read_text())[1]
    server.execute("DROP TABLE IF EXISTS test.user", ddl)
    assert run(programs / "first") == "Yukari Takeba\n"
    assert run(programs / "pieces") == (
        "101 is taken\nuser 102 has no name\n1 visits before, 1 row set\nYukari Takeba\n"
    )
    assert server.query("SELECT * FROM test.user WHERE user_id > 99") == [
        (100, "someone", 0),
        (101, "Yukari Takeba", 10),
    ]
    server.execute("DROP TABLE test.user")


@pytest.mark.parametrize("standard, flag", [("c++98", None), ("c++17", "-DKEEP_IN_AUTO_PTR"), ("c++20", None)])
def test_old_program(installed, server, standard, flag):
    server.execute(
        "CREATE OR REPLACE DATABASE cpp_old CHARACTER SET utf8mb4",
        "CREATE TABLE cpp_old.kv (k VARCHAR(30) PRIMARY KEY, v VARCHAR(30), n INT)",
    )
    source = installed.folder / "old_program.cc"
    text = (HERE / "old_program.cc").read_text()
    if flag:
        text = f'#define {flag[2:]}\n#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n' + text
    source.write_text(text)
    program = installed.compile(source, installed.folder / "old_program", standard)
    assert run(program, "127.0.0.1", server.env["HS_PORT_WR"]) == OLD_PROGRAM_SAYS
    server.execute("DROP DATABASE cpp_old")


def test_page_of_old_programs(installed, server):
    server.execute(
        "CREATE TABLE test.user (user_id INT PRIMARY KEY, user_name VARCHAR(50))",
        "INSERT INTO test.user VALUES (101, 'Yukari')",
    )
    source = installed.folder / "old_page.cc"
    source.write_text(blocks("cpp old")[0].replace("9999", server.env["HS_PORT_WR"]))
    assert run(installed.compile(source, installed.folder / "old_page", "c++11")) == "Yukari\n"
    server.execute("DROP TABLE test.user")


def test_accounts_tls_and_unix_sockets(installed, module_factory, tmp_path):
    certificate, key = tmp_path / "ca.pem", tmp_path / "key.pem"
    run(
        *"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=db1".split(),
        *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate),
    )
    server = module_factory("--handlersocket-auth=account", f"--ssl-cert={certificate}", f"--ssl-key={key}")
    server.execute(
        "CREATE TABLE test.user (user_id INT PRIMARY KEY, user_name VARCHAR(50))",
        "INSERT INTO test.user VALUES (101, 'Yukari')",
        "CREATE USER shop@localhost IDENTIFIED BY 'secret'",
        "GRANT SELECT ON test.user TO shop@localhost",
    )
    text = blocks("cpp connect")[0].replace("9999", server.env["HS_PORT"]).replace("db1.example", "127.0.0.1")
    text = text.replace("/etc/ssl/shop-ca.pem", str(certificate)).replace(
        "/run/postern/read.sock", server.env["HS_SOCKET"]
    )
    source = installed.folder / "guarded.cc"
    source.write_text(
        "#include <handlersocket/client.h>\n#include <cstdio>\nusing namespace handlersocket;\nint main() {\n"
        + text
        + """
        const IndexSpec spec{.database = "test", .table = "user", .columns = {"user_name"}};
        for (Connection *connection : {&guarded, &local}) {
          const Rows rows = connection->find(connection->open(spec).value(), {101}).value();
          std::puts(rows[0][0].text().c_str());
        }
        Options options{.port = PORT, .tls = Tls{.ca_file = "CA"}, .account = Account{"shop", "wrong"}};
        const auto wrong = Connection::connect(options);
        if (!wrong && wrong.error().unauthorized()) std::puts("refused");
        options.account->password = "secret";
        options.tls->server_name = "another";
        if (const auto other = Connection::connect(options); !other) std::puts(other.error().message().c_str());
        options.tls->verify = false;
        if (Connection::connect(options)) std::puts("unverified");
        }
        """.replace(
            "PORT", server.env["HS_PORT"]
        ).replace(
            "CA", str(certificate), 1
        )
    )
    told = run(installed.compile(source, installed.folder / "guarded", "c++20"))
    assert told.splitlines() == ["Yukari", "Yukari", "refused", "TLS: hostname mismatch", "unverified"]
