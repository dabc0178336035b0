"""Our HandlerSocket for PHP: installed by Composer, with its page, programs written for the extension, and the client
transcripts."""
import json
import re
import shutil
import subprocess
import sys

import pytest
from support.server import ROOT

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

from clients.python_transcripts import Scripted, sessions  # noqa: E402

CLIENT = ROOT / "clients" / "php"
HERE = ROOT / "tests" / "clients"
PAGE = (CLIENT / "README.md").read_text()
USER = re.search(r"```sql\n(.*?);\n```", PAGE, re.S)[1]
YUKARI = "INSERT INTO user VALUES (101, 'Yukari Takeba', 'yukari.takeba@dena.jp', '2010-02-03 11:22:33')"


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=120, **options
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def autoload(tmp_path_factory):
    """The autoloader of a program that requires the package, in a copy."""
    if shutil.which("composer") is None:
        pytest.skip("there is no composer")
    folder = tmp_path_factory.mktemp("php")
    (folder / "program").mkdir()
    place = {"type": "path", "url": str(CLIENT), "options": {"symlink": False}}
    wanted = {"require": {"postern/handlersocket": "^2.0"}, "repositories": [place, {"packagist.org": False}]}
    (folder / "program" / "composer.json").write_text(json.dumps(wanted))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "COMPOSER_ALLOW_SUPERUSER": "1"}
    run("composer", "install", "--no-interaction", "--quiet", cwd=folder / "program", env=environment)
    return folder / "program" / "vendor" / "autoload.php"


@pytest.fixture
def php(autoload, server, database):
    """Runs a third-party program unchanged, except for its server and its tables."""
    server.execute(USER, YUKARI, database=database)

    def run_program(program):
        ports = {"'localhost'": "'127.0.0.1'", "9998": server.env["HS_PORT"], "9999": server.env["HS_PORT_WR"]}
        for told, real in {**ports, "'test'": f"'{database}'"}.items():
            program = program.replace(told, real)
        program = program.removeprefix("<?php")
        return run("php", "-d", "error_reporting=-1", input=f"<?php require '{autoload}';\n{program}")

    return run_program


def test_the_clients_own_tests(autoload):
    assert run("php", CLIENT / "tests" / "requests.php", autoload) == "all requests are right\n"


def test_the_pages_examples_run_as_they_stand(php):
    examples = re.findall(r"```php\n<\?php\n(.*?)```", PAGE, re.S)
    assert len(examples) == 3
    assert php("\n".join(examples)) == "Kei Ito\n100 1 1\n1 Yukari Takeba 1\n"


def test_programs_written_for_the_extension(php, server, database):
    """Calls as in the extension's wiki and its own tests."""
    printed = php(
        """<?php
        $hs = new HandlerSocket('localhost', 9999);
        if (!($hs->openIndex(1, 'test', 'user', '', 'user_id,user_name', array('user_name')))) { die($hs->getError()); }
        if (!($hs->openIndex(2, 'test', 'user', '', 'user_name'))) { die($hs->getError()); }
        var_dump($hs->executeSingle(1, '=', array('101'), 1, 0));
        var_dump($hs->executeInsert(1, array('7', 'Sylvester')));
        var_dump($hs->executeInsert(1, array('7', 'again')) === false, $hs->getError());
        var_dump($hs->executeUpdate(2, '=', array('7'), array('Paul'), 1, 0));
        var_dump($hs->executeSingle(2, '=', array('7'), 1, 0, 'U?', array('Jon'))[0][0]);
        $ret = $hs->executeMulti(array(
            array(1, '>=', array(''), 10, 0, null, null, array('F', '!=', 0, 'nobody'), 0, array('7', '101')),
            array(1, '>=', array('0'), 3),
            array(1, '+', array('8', 'Peter')),
            array(1, '=', array('8'), 1, 0, 'D'),
        ));
        echo json_encode($ret), PHP_EOL;
        var_dump($hs->executeDelete(1, '=', array('7')), $hs->executeSingle(1, '=', array('7')));
        $index = $hs->createIndex(3, 'test', 'user', 'PRIMARY', array('user_id', 'user_name'), array('filter' => array('user_name')));
        $index->insert('9', "a\\tb\\0c");
        $index->insert(array('10', null));
        echo json_encode($index->find(array('>=' => array('9')), 5, 0, array('filter' => array('!=', 'user_name', 'x')))), PHP_EOL;
        echo json_encode(array($index->update('9', array('U' => array('9', 'b'))), $index->remove(array('=' => '10')))), PHP_EOL;
        echo json_encode($index->multi(array(array('find', '9'), array('find', array('>' => '9'), 5)))), PHP_EOL;
        try { $hs->createIndex(4, 'test', 'nothing', '', 'id'); } catch (HandlerSocketException $e) { echo $e->getMessage(), PHP_EOL; }
        try { new HandlerSocket('localhost', 1); } catch (HandlerSocketException $e) { echo $e->getCode(), PHP_EOL; }
        """
    )
    assert re.sub(r"\s+", " ", printed).strip() == re.sub(
        r"\s+",
        " ",
        """array(1) { [0]=> array(2) { [0]=> string(3) "101" [1]=> string(13) "Yukari Takeba" } } int(1) bool(true)
        string(3) "121" int(1) string(4) "Paul"
        [[["7","Jon"],["101","Yukari Takeba"]],[["7","Jon"],["101","Yukari Takeba"]],1,1]
        int(1) array(0) { } [["9","a\\tb\\u0000c"],["10",null],["101","Yukari Takeba"]] [1,1]
        [[["9","b"]],[["101","Yukari Takeba"]]] open_table -1""",
    )
    assert server.query("SELECT user_id, user_name FROM user ORDER BY 1", database=database) == [
        (9, "b"),
        (101, "Yukari Takeba"),
    ]


def test_many_requests_and_large_values(php, server, database):
    printed = php(
        """
        $hs = new HandlerSocket('localhost', 9999);
        $hs->openIndex(1, 'test', 'user', '', 'user_id,user_email');
        $inserts = array_map(fn ($id) => [1, '+', [1000 + $id, str_repeat('x', 200)]], range(1, 3000));
        echo count(array_filter($hs->executeMulti($inserts))), ' ';
        $all = $hs->executeMulti(array_fill(0, 20, [1, '>', [1000], 3000]));
        echo count($all), ' ', count($all[19]), PHP_EOL;
        """
    )
    assert printed == "3000 20 3000\n"


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


def test_accounts_unix_sockets_and_tls(autoload, guarded):
    server, certificate = guarded
    program = f"""<?php require '{autoload}';
        $who = ['user' => 'ann', 'password' => "p\tw"];
        function show(string $host, array $options): void {{
            try {{
                $hs = new HandlerSocket($host, {server.env["HS_PORT"]}, $options);
                $hs->openIndex(0, 'test', 'user', 'PRIMARY', 'user_name') || die($hs->getError());
                $found = $hs->executeMulti(array_fill(0, 5000, [0, '=', [101]]));
                echo count(array_filter($found, fn ($rows) => $rows[0][0] === 'Yukari Takeba')), PHP_EOL;
            }} catch (HandlerSocketException $e) {{
                echo $e->getMessage(), PHP_EOL;
            }}
        }}
        show('{server.env["HS_SOCKET"]}', $who);
        show('{server.env["HS_SOCKET"]}', ['password' => 'no'] + $who);
        show('127.0.0.1', $who + ['tls' => ['cafile' => '{certificate}']]);
        show('127.0.0.1', $who + ['tls' => true]);
        show('127.0.0.1', $who);
    """
    unix, stranger, tls, unknown, clear = run("php", input=program).splitlines()
    assert (unix, stranger, tls, clear) == ("5000", "unauth", "5000", "TLS is required")
    assert unknown.startswith("TLS: ")


def fits(session):
    """The client pipelines only finds and changes."""
    asked = [exchange["requests"] for exchange in session["exchanges"]]
    lone = ("open", "authenticate", "login")
    return not any(len(requests) > 1 and any(kind in one for one in requests for kind in lone) for requests in asked)


def told(result):
    """A result as the client returns it."""
    if "broken" in result or "error" in result:
        return False
    if "rows" in result:
        return result["rows"]
    if "count" in result:
        return result["count"]
    return result.get("id") or 1 if "id" in result else True


def test_transcripts(autoload):
    driven = 0
    for session in filter(fits, sessions("sessions") + sessions("hostile")):
        with Scripted(session) as server:
            given = json.dumps(session)
            exchanges = json.loads(run("php", HERE / "php_transcript.php", autoload, server.port, input=given))
        for exchange, answer in zip(session["exchanges"], exchanges, strict=True):
            results = exchange["results"]
            shown = [one if isinstance(one, (list, bool)) else int(one) for one in answer["results"]]
            assert shown == [told(one) for one in results], session["name"]
            failed = [one for one in results if "error" in one or "broken" in one]
            last = failed[-1] if failed else {}
            wanted = {"error": last["error"]["code"]} if "error" in last else {"broken": -1} if last else {"none": 0}
            assert answer["code"] == next(iter(wanted.values())), session["name"]
            if "error" in last:
                assert answer["error"] == last["error"]["text"], session["name"]
        driven += 1
    assert driven > 50
