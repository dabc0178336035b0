"""Our Net::HandlerSocket: built and installed like a CPAN module, with the article's sample, its page, programs written
for the original, and the client transcripts."""
import json
import re
import shutil
import subprocess
import sys

import pytest
from support.server import ROOT

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

from clients.python_transcripts import Scripted, sessions  # noqa: E402

CLIENT = ROOT / "clients" / "perl"
HERE = ROOT / "tests" / "clients"
PAGE = (CLIENT / "README.md").read_text()
USER = re.search(r"```sql\n(.*?);\n```", PAGE, re.S)[1]
YUKARI = "INSERT INTO user VALUES (101, 'Yukari Takeba', 'yukari.takeba@dena.jp', '2010-02-03 11:22:33')"


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=120, **options
    )
    assert done.returncode == 0 and not done.stderr, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which the module's own commands install it, after its own tests."""
    folder = tmp_path_factory.mktemp("perl")
    built = shutil.ignore_patterns("blib", "Makefile", "MYMETA.*", "pm_to_blib")
    source = shutil.copytree(CLIENT, folder / "source", ignore=built)
    listed = (source / "MANIFEST").read_text().split()
    assert sorted(listed) == sorted(str(path.relative_to(source)) for path in source.rglob("*") if path.is_file())
    run("perl", "Makefile.PL", f"INSTALL_BASE={folder}/base", cwd=source)
    assert "All tests successful" in run("make", "test", cwd=source)
    run("make", "install", cwd=source)
    return folder / "base" / "lib" / "perl5"


@pytest.fixture
def perl(installed, server, database):
    """Runs a third-party program unchanged, except for its server and its tables."""
    server.execute(USER, YUKARI, database=database)

    def run_program(program):
        ports = {"ip_to_remote_host": "127.0.0.1", "9998": server.env["HS_PORT"], "9999": server.env["HS_PORT_WR"]}
        for told, real in {**ports, "'test'": f"'{database}'"}.items():
            program = program.replace(told, real)
        return run("perl", f"-I{installed}", "-w", "-", input=program)

    return run_program


def test_the_articles_sample_runs_as_printed(perl):
    sample = (HERE / "article.pl").read_text()
    assert perl(sample) == "Yukari Takeba\tyukari.takeba@dena.jp\t2010-02-03 11:22:33\n"


def test_the_pages_examples_run_as_they_stand(perl):
    examples = re.findall(r"```perl\n(.*?)```", PAGE, re.S)
    assert perl("use strict;\n" + "\n".join(examples)) == "Kei Ito\n100 0 0\n"


def test_programs_written_for_the_original(perl, server, database):
    """Calls as in cookbooks and CPAN modules: limits with inserts, finds without limits, finds with all ten
    arguments."""
    printed = perl(
        """
        use strict; use warnings; use Net::HandlerSocket;
        my $hs = Net::HandlerSocket->new({ host => 'localhost', port => 9999 }) or die;
        $hs->open_index(1, 'test', 'user', 'PRIMARY', 'user_id,user_name', 'user_name') and die $hs->get_error;
        $hs->open_index(2, 'test', 'user', '', '') and die $hs->get_error;
        my $res = $hs->execute_single(1, '+', [ '7', 'Sylvester' ], 0, 0);
        die $hs->get_error() if $res->[0] != 0;
        for my $one (@{ $hs->execute_multi([ [ 2, '=', [ 7 ], 1, 0, 'D' ], [ 1, '+', [ 7, 'Paul' ] ], [ 1, '+', [ 8, 'Jon' ], 1, 0 ] ]) }) {
            die $hs->get_error() if $one->[0] != 0;
        }
        $res = $hs->execute_single(1, '=', [ 8 ], 1, 0, 'U', [ 8, 'John' ]);
        print "$res->[0] $res->[1]\\n";
        $res = $hs->execute_find(1, '>=', [ '' ], 10, 0, undef, undef, [ [ 'F', '>', 0, 'K' ] ], 0, [ 7, 8, 101 ]);
        print join(' ', @$res), "\\n";
        $res = $hs->execute_single(1, '+', [ 8, 'again' ], 1, 0);
        print "$res->[0] ", $hs->get_error, "\\n";
        print $hs->open_index(3, 'test', 'nothing', 'PRIMARY', 'id'), " ", $hs->get_error, "\\n";
        my $large = $hs->execute_multi([ map { [ 1, '+', [ 1000 + $_, 'x' x 50 ] ] } 1 .. 3000 ]);
        print scalar(grep { $_->[0] == 0 } @$large), "\\n";
        my $all = $hs->execute_multi([ map { [ 1, '>', [ 1000 ], 3000, 0 ] } 1 .. 20 ]);
        print join(' ', map { scalar @$_ } @$all[0, 19]), "\\n";
        """
    )
    assert printed.splitlines() == [
        "0 1",
        "0 7 Paul 101 Yukari Takeba",
        "1 121",
        "1 open_table",
        "3000",
        "6001 6001",
    ]
    names = "SELECT user_id, user_name FROM user WHERE user_id < 101 ORDER BY 1"
    assert server.query(names, database=database) == [(7, "Paul"), (8, "John")]


@pytest.fixture(scope="module")
def guarded(module_factory, tmp_path_factory):
    """A server with accounts, and with TLS on TCP; and the path of its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    about = ["-subj", "/CN=db", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-nodes", "-keyout", key]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    subprocess.run(["openssl", "req", "-x509", *curve, *about, "-out", certificate], check=True, capture_output=True)
    accounts, tls = "--handlersocket-auth=account", "--handlersocket-require-tls=ON"
    server = module_factory(accounts, tls, f"--ssl-cert={certificate}", f"--ssl-key={key}")
    server.execute(USER, YUKARI, "CREATE USER ann@localhost IDENTIFIED BY 'p\tw'", database="test")
    server.execute("GRANT SELECT ON test.user TO ann@localhost")
    return server, certificate


def test_accounts_and_unix_sockets(installed, guarded):
    server, _ = guarded
    program = f"""
        use strict; use warnings; use Net::HandlerSocket;
        my %where = (unix_socket => '{server.env["HS_SOCKET"]}', user => 'ann', password => "p\tw");
        my $hs = Net::HandlerSocket->new({{ %where }});
        print $hs->open_index(0, 'test', 'user', 'PRIMARY', 'user_name');
        my $stranger = Net::HandlerSocket->new({{ %where, password => 'no' }});
        print ' ', $stranger->get_error, ' ', $stranger->open_index(0, 'test', 'user', 'PRIMARY', 'user_name');
        print ' ', $stranger->login('ann', "p\tw"), $stranger->auth('secret');
    """
    assert run("perl", f"-I{installed}", "-w", "-", input=program) == "0 unauth 3 03"


def test_tls(installed, guarded):
    if subprocess.run(["perl", "-MIO::Socket::SSL", "-e1"], capture_output=True, check=False).returncode:
        pytest.skip("there is no IO::Socket::SSL")
    server, certificate = guarded
    program = f"""
        use strict; use warnings; use Net::HandlerSocket;
        my %where = (host => '127.0.0.1', port => {server.env["HS_PORT"]}, user => 'ann', password => "p\tw");
        my $hs = Net::HandlerSocket->new({{ %where, tls => {{ SSL_ca_file => '{certificate}' }} }});
        $hs->open_index(0, 'test', 'user', 'PRIMARY', 'user_name') and die $hs->get_error;
        my $answers = $hs->execute_multi([ map {{ [ 0, '=', [101], 1, 0 ] }} 1 .. 5000 ]);
        print scalar(grep {{ $_->[1] eq 'Yukari Takeba' }} @$answers), "\n";
        print Net::HandlerSocket->new({{ %where, tls => 1 }})->get_error, "\n";
        print Net::HandlerSocket->new({{ %where }})->get_error, "\n";
    """
    first, second, third = run("perl", f"-I{installed}", "-w", "-", input=program).splitlines()
    assert first == "5000" and "certificate verify failed" in second and third == "TLS is required"


def fits(session):
    """The module pipelines only finds and changes, and omits a limit of 0."""
    asked = [exchange["requests"] for exchange in session["exchanges"]]
    lone = ("open", "authenticate", "login")
    together = any(len(requests) > 1 and any(kind in one for one in requests for kind in lone) for requests in asked)
    return not together and '"limit": 0' not in json.dumps(session)


def shape(result):
    """A result as the module returns it, with numbers as text."""
    if "broken" in result:
        return ["-1"]
    if "error" in result:
        return [str(result["error"]["code"]), result["error"]["text"]]
    if "rows" in result:
        return ["0", *(value for row in result["rows"] for value in row)]
    return ["0", *(str(result[name]) for name in ("count", "id") if result.get(name) is not None)]


def as_text(answer):
    """An answer with numbers as text; the module reports in its own words why a connection broke."""
    texts = [value if value is None else str(value) for value in answer]
    return texts[:1] if texts[0] == "-1" else texts


def test_transcripts(installed):
    driven = 0
    for session in filter(fits, sessions("sessions") + sessions("hostile")):
        with Scripted(session) as server:
            told = json.loads(
                run("perl", f"-I{installed}", "-w", HERE / "perl_transcript.pl", server.port, input=json.dumps(session))
            )
        for exchange, answers in zip(session["exchanges"], told, strict=True):
            assert [as_text(one) for one in answers] == [shape(one) for one in exchange["results"]], session["name"]
        driven += 1
    assert driven > 50
