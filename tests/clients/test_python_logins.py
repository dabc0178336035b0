"""Our Python client with silent, guarded and missing servers."""
import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from support.server import ROOT

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

import posterndb  # noqa: E402
import posterndb.asyncio  # noqa: E402


def test_a_server_that_is_not_there():
    for error in (posterndb.ConnectionError, ConnectionError, posterndb.OperationalError, posterndb.Error):
        with pytest.raises(error, match="cannot connect to 127.0.0.1:1:"):
            posterndb.connect(port=1)
    with pytest.raises(posterndb.ConnectionError, match="cannot connect"):
        asyncio.run(connect_async(port=1))
    with pytest.raises(posterndb.ConnectionError, match="nowhere.sock"):
        posterndb.connect(unix_socket="nowhere.sock")


async def connect_async(**options):
    async with posterndb.asyncio.connect(**options) as db:
        return (await db.raw("P", 0, "test", "t", "PRIMARY", "id")).code


def test_a_login_that_is_not_answered_times_out():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = {"port": silent.getsockname()[1], "secret": "x", "connect_timeout": 0.2}
        begin = time.monotonic()
        with pytest.raises(posterndb.TimeoutError):
            posterndb.connect(**options)
        with pytest.raises(TimeoutError):
            asyncio.run(connect_async(**options))
        assert time.monotonic() - begin < 5


def drip(listener):
    """Sends an endless reply, one byte at a time."""
    with contextlib.suppress(OSError):
        connection = listener.accept()[0]
        while connection.send(b"0") == 1:
            time.sleep(0.02)


@pytest.mark.parametrize("flavour", ["blocking", "asyncio"])
def test_a_reply_that_drips_is_late_all_the_same(flavour):
    async def ask(port):
        async with posterndb.asyncio.connect(port=port, timeout=0.3) as db:
            await db.raw("P")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=drip, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        with pytest.raises(posterndb.TimeoutError, match="no reply within 0.3 s"):
            if flavour == "asyncio":
                asyncio.run(ask(port))
            else:
                with posterndb.connect(port=port, timeout=0.3) as db:
                    db.raw("P")


@pytest.fixture(scope="module")
def guarded(module_factory, tmp_path_factory):
    """A server with accounts and TLS; and the path of its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subject = ["-subj", "/CN=db.example", "-addext", "subjectAltName=IP:127.0.0.1,DNS:db.example"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    request = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "2", *subject, "-keyout", key, "-out", certificate]
    subprocess.run(request, check=True, capture_output=True, timeout=60)
    server = module_factory(
        "--handlersocket-auth=account",
        "--handlersocket-require-tls=ON",
        "--plugin-load-add=auth_ed25519",
        f"--ssl-cert={certificate}",
        f"--ssl-key={key}",
    )
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE TABLE hidden (id INT PRIMARY KEY)",
        "CREATE USER ann@localhost IDENTIFIED VIA ed25519 USING PASSWORD('p\tw')",
        "GRANT SELECT ON test.t TO ann@localhost",
        database="test",
    )
    return server, certificate


def test_accounts_over_tls(guarded):
    server, certificate = guarded
    trusting = ssl.create_default_context(cafile=str(certificate))
    options = {"port": int(server.env["HS_PORT"]), "user": "ann", "password": "p\tw", "tls": trusting}
    with posterndb.connect(**options) as db:
        assert db.open("test", "t", ["id"]).get(1) is None
        with pytest.raises(posterndb.PermissionDeniedError, match="denied to user 'ann'"):
            db.open("test", "hidden", ["id"])
        assert db.is_alive()
    assert asyncio.run(connect_async(**options)) == 0
    with posterndb.connect(**options, tls_hostname="db.example") as db:
        assert db.is_alive()
    for connect in (posterndb.connect, lambda **options: asyncio.run(connect_async(**options))):
        with pytest.raises(posterndb.AuthenticationError, match="unauth"):
            connect(**{**options, "password": "no"})
        with pytest.raises(posterndb.ConnectionError, match="certificate"):
            connect(**{**options, "tls": True})
        with pytest.raises(posterndb.ConnectionError, match="doesn't match|mismatch|not valid for"):
            connect(**options, tls_hostname="other.example")
        with pytest.raises(posterndb.OperationalError, match="TLS is required"):
            connect(**{**options, "tls": False})


def test_a_unix_socket(guarded):
    server, _ = guarded
    options = {"unix_socket": server.env["HS_SOCKET"], "user": "ann", "password": "p\tw"}
    with posterndb.connect(**options) as db:
        assert db.open("test", "t", ["id"]).get(1) is None
    assert asyncio.run(connect_async(**options)) == 0
    with pytest.raises(posterndb.InterfaceError, match="not both"):
        posterndb.connect(**options, secret="x")


def test_the_secret_of_a_port_and_the_end_of_a_server(sandbox_factory):
    server = sandbox_factory("--handlersocket-plain-secret=rdsecret")
    server.execute("CREATE TABLE t (id INT PRIMARY KEY)", database="test")
    port = int(server.env["HS_PORT"])
    with pytest.raises(posterndb.AuthenticationError):
        posterndb.connect(port=port, secret="no")
    with posterndb.connect(port=port) as db, pytest.raises(posterndb.AuthenticationError):
        db.open("test", "t", ["id"])
    with posterndb.connect(port=port, secret="rdsecret") as db:
        assert db.open("test", "t", ["id"]).get(1) is None
        server.stop()
        assert not db.is_alive()
        with pytest.raises(posterndb.ConnectionError, match="closed"):
            db.open("test", "t", ["id"]).get(1)
