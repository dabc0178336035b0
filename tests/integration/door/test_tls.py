"""TLS on the ports with the server's own certificates, unix sockets, and the errors for refused clients."""
import concurrent.futures
import contextlib
import grp
import os
import resource
import shutil
import socket
import ssl
import stat
import struct
import subprocess
import time

import pytest
from support.clients import hs
from support.certificates import Certificates, client_context, make_certificate, name_of, tls
from support.waiting import until

CONNECTIONS = int(os.environ.get("POSTERN_CONNECTIONS", "2000"))
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")


@pytest.fixture
def certificates(tmp_path):
    return Certificates(tmp_path)


def fill(server, rows=1000):
    server.execute(
        "CREATE TABLE IF NOT EXISTS test.t (id INT PRIMARY KEY, v VARCHAR(200))",
        f"REPLACE INTO test.t SELECT seq, CONCAT('v', seq) FROM seq_1_to_{rows}",
        database="test",
    )


def check(client):
    client.open(0, "test", "t", "id,v")
    assert client.request(0, "=", 1, 7) == ["0", "2", "7", "v7"]


def connections(server):
    return server.status("handlersocket_connections")["handlersocket_connections"]


@needs_openssl
@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_both_versions_both_ports_and_plain_beside_them(sandbox_factory, certificates, kind):
    certificates.put("first", kind)
    server = sandbox_factory(*certificates.options())
    fill(server)
    for port in server.env["HS_PORT"], server.env["HS_PORT_WR"]:
        for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
            context = client_context(certificates.certificate, minimum_version=version, maximum_version=version)
            with tls(port, context) as client:
                assert client.socket.version() == version.name.replace("_", ".")
                check(client)
        with hs.Client(port) as client:
            check(client)
    with hs.Client(server.env["HS_SOCKET"]) as client:
        check(client)
    status = server.status("handlersocket_tls%")
    assert status["handlersocket_tls_connections"] == 4 and status["handlersocket_tls_handshakes_failed"] == 0
    with tls(server.env["HS_PORT_WR"]) as client:
        client.open(1, "test", "t", "id,v")
        assert client.request(1, "+", 2, 2000, "new") == ["0", "1"]
    assert server.query("SELECT v FROM test.t WHERE id = 2000") == [("new",)]


@needs_openssl
def test_old_versions_and_wrong_trust_fail(sandbox_factory, certificates, tmp_path):
    server = sandbox_factory(*certificates.options())
    for version in ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1:
        with pytest.warns(DeprecationWarning):
            context = client_context(minimum_version=version, maximum_version=version)
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.raises(ssl.SSLError):
            tls(server.env["HS_PORT"], context)
    other, _ = make_certificate(tmp_path, "other")
    with pytest.raises(ssl.SSLCertVerificationError):
        tls(server.env["HS_PORT"], client_context(other))
    with hs.Client(server.env["HS_PORT"]) as client:  # a ClientHello of SSL 3.0
        client.send(b"\x16\x03\x00\x00\x2d\x01\x00\x00\x29\x03\x00" + bytes(32) + b"\x00\x00\x02\x00\x0a\x01\x00")
        with contextlib.suppress(EOFError, ConnectionResetError):
            assert client.line()[:1] == b"\x15"
    until(lambda: server.status("handlersocket_tls%")["handlersocket_tls_handshakes_failed"] == 4)
    assert server.status("handlersocket_tls%")["handlersocket_tls_connections"] == 0


@needs_openssl
def test_the_servers_versions_and_ciphers_hold(sandbox_factory, certificates):
    server = sandbox_factory(
        *certificates.options(), "--tls-version=TLSv1.2", "--ssl-cipher=ECDHE-ECDSA-AES256-GCM-SHA384"
    )
    with tls(server.env["HS_PORT"]) as client:
        assert client.socket.version() == "TLSv1.2" and client.socket.cipher()[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"
    with pytest.raises(ssl.SSLError):
        tls(server.env["HS_PORT"], client_context(minimum_version=ssl.TLSVersion.TLSv1_3))
    weak = client_context()
    weak.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with pytest.raises(ssl.SSLError):
        tls(server.env["HS_PORT"], weak)


@needs_openssl
@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_openssl_s_client(sandbox_factory, certificates, version):
    server = sandbox_factory(*certificates.options())
    fill(server)
    requests = b"P\t0\ttest\tt\tPRIMARY\tid,v\n0\t=\t1\t7\nQ\n"
    process = subprocess.Popen(
        [
            "openssl",
            "s_client",
            "-quiet",
            version,
            "-CAfile",
            certificates.certificate,
            "-verify_return_error",
            "-connect",
            f"127.0.0.1:{server.env['HS_PORT']}",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        process.stdin.write(requests)
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(3)] == [b"0\t1\n", b"0\t2\t7\tv7\n", b"2\t1\tcmd\n"]
        process.terminate()


@needs_openssl
def test_sessions_are_resumed(sandbox_factory, certificates):
    server = sandbox_factory(*certificates.options())
    fill(server)
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
        context = client_context(minimum_version=version, maximum_version=version)
        with tls(server.env["HS_PORT"], context) as first:
            check(first)
            session = first.socket.session
        with tls(server.env["HS_PORT"], context, session) as second:
            check(second)
            assert second.socket.session_reused
    assert server.status("handlersocket_tls%")["handlersocket_tls_resumptions"] == 2


@needs_openssl
def test_flush_ssl(sandbox_factory, certificates):
    server = sandbox_factory(*certificates.options())
    fill(server)
    port = server.env["HS_PORT"]
    assert name_of(port) == "first"
    old = tls(port)
    for name in "second", "third":
        certificates.put(name)
        server.execute("FLUSH SSL")
        # The next connection gets it, on either port.
        assert name_of(port) == name
        assert name_of(server.env["HS_PORT_WR"]) == name
        check(old)
    certificates.certificate.write_text("-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n")
    with pytest.raises(Exception, match="SSL"):
        server.execute("FLUSH SSL")
    assert name_of(port) == "third"
    certificates.put("fourth")
    server.execute("FLUSH TABLES")
    assert name_of(port) == "third", "nobody asked for it"
    server.execute("FLUSH SSL")
    assert name_of(port) == "fourth"
    check(old)
    old.close()
    assert server.log().count("certificates were read again") == 3


@needs_openssl
def test_coming_and_going_with_encrypted_clients(sandbox_factory, certificates):
    server = sandbox_factory(*certificates.options())
    fill(server)
    for name in "second", "third", "fourth":
        clients = [tls(server.env["HS_PORT"]), tls(server.env["HS_PORT_WR"]), server.hs()]
        for client in clients:
            check(client)
        clients[2].send(b"\t")
        server.execute("UNINSTALL SONAME 'postern'")
        for client in clients[:2]:
            assert client.socket.recv(1) == b""
        for client in clients:
            client.close()
        certificates.put(name)
        server.execute("INSTALL SONAME 'postern'")
        assert name_of(server.env["HS_PORT"]) == name
        server.execute("FLUSH SSL")
        assert name_of(server.env["HS_PORT"]) == name


@needs_openssl
def test_require_tls(sandbox_factory, certificates):
    server = sandbox_factory(*certificates.options(), "--handlersocket-require-tls=ON")
    fill(server)
    before = server.status("handlersocket_errors_tls_required")["handlersocket_errors_tls_required"]
    for port in server.env["HS_PORT"], server.env["HS_PORT_WR"]:
        with hs.Client(port) as plain:
            assert plain.request("P", 0, "test", "t", "PRIMARY", "id") == ["3", "1", "TLS is required"]
            assert plain.closed_by_server()
        with tls(port) as client:
            check(client)
    with hs.Client(server.env["HS_SOCKET"]) as client:
        check(client)
    assert server.status("handlersocket_errors_tls_required")["handlersocket_errors_tls_required"] == before + 2
    assert "with TLS only" in server.log()


def test_require_tls_without_a_certificate_opens_no_port(sandbox_factory):
    server = sandbox_factory(start=False)
    with pytest.raises(AssertionError):
        server.start("--handlersocket-require-tls=ON")
    assert "handlersocket_require_tls is ON, but the server has no certificate" in server.log()


@needs_openssl
def test_tls_may_be_switched_off(sandbox_factory, certificates):
    server = sandbox_factory(*certificates.options(), "--handlersocket-tls=OFF")
    with hs.Client(server.env["HS_PORT"]) as client:
        assert client.request("\x16") == ["2", "1", "cmd"]
    with pytest.raises(ssl.SSLError):
        tls(server.env["HS_PORT"])


@needs_openssl
def test_large_replies_and_pipelines(sandbox_factory, certificates):
    server = sandbox_factory(*certificates.options())
    fill(server, 100000)
    server.execute(
        "CREATE TABLE test.large (id INT PRIMARY KEY, v LONGTEXT)",
        f"INSERT INTO test.large VALUES (1, REPEAT('v', {1 << 20}))",
    )
    with tls(server.env["HS_PORT"], timeout=60) as client:
        client.open(0, "test", "large", "v")
        client.open(1, "test", "t", "id")
        for _ in range(5):
            assert client.request(0, "=", 1, 1) == ["0", "1", "v" * (1 << 20)]
        assert client.pipeline(*[(1, "=", 1, key) for key in range(1, 5001)]) == [
            ["0", "1", str(key)] for key in range(1, 5001)
        ]
        assert client.request(1, ">=", 1, 1, 1000000) == ["0", "1", *map(str, range(1, 100001))]


@needs_openssl
def test_resets_and_ends_in_the_handshake_leave_nothing(sandbox_factory, certificates):
    server = sandbox_factory(*certificates.options(), "--handlersocket-threads=1")
    fill(server)
    before = None
    with hs.Client(server.env["HS_PORT"]) as recorded:
        context, incoming, outgoing = client_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
        half = context.wrap_bio(incoming, outgoing)
        with contextlib.suppress(ssl.SSLWantReadError):
            half.do_handshake()
        hello = outgoing.read()
        recorded.send(hello)
        assert recorded.socket.recv(1) == b"\x16"
    for number in range(3):
        for cut in range(1, len(hello) + 1, 7):
            client = hs.Client(server.env["HS_PORT"])
            client.send(hello[:cut])
            if cut % 2:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        for _ in range(100):
            with tls(server.env["HS_PORT"]) as client:
                client.send(b"nothing\n")
        until(lambda: connections(server) == 0)
        if number == 0:
            before = server.memory_kib(), server.descriptors()
    assert server.descriptors() <= before[1] + 2
    assert server.memory_kib() < before[0] + 4096
    with tls(server.env["HS_PORT"]) as client:
        check(client)


@needs_openssl
@pytest.mark.alone
def test_ddl_during_a_storm_of_handshakes(sandbox_factory, certificates):
    """A handshake takes a millisecond of a worker that may hold tables."""
    certificates.put("first", "rsa")
    server = sandbox_factory(*certificates.options(), "--handlersocket-threads=1")
    fill(server)
    stop = time.monotonic() + 3

    def shake_hands():
        count = 0
        while time.monotonic() < stop:
            with tls(server.env["HS_PORT"]) as client:
                check(client)
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        storms = [pool.submit(shake_hands) for _ in range(20)]
        waits = []
        with contextlib.closing(server.connect(database="test")) as connection:
            while time.monotonic() < stop:
                begin = time.monotonic()
                connection.cursor().execute("ALTER TABLE t COMMENT 'x'")
                waits.append(time.monotonic() - begin)
        assert sum(storm.result() for storm in storms) > 50
    assert sorted(waits)[len(waits) // 2] < 0.1


def test_unfinished_requests_are_timed_out(sandbox_factory):
    server = sandbox_factory("--handlersocket-request-timeout=1")
    fill(server)
    with server.hs() as half, server.hs() as dribbling, server.hs() as idle, server.hs() as busy:
        check(idle)
        busy.open(0, "test", "t", "id")
        half.send(b"P\t0\ttest")
        begin = time.monotonic()
        deadline = begin + 20
        dribbling.socket.settimeout(0.01)
        told = b""
        while not told and time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                dribbling.send(b"x")
                told = dribbling.socket.recv(100)
            assert busy.request(0, "=", 1, 7) == ["0", "1", "7"]
        assert told == b"2\t1\tRequest timed out\n"
        assert 0.9 < time.monotonic() - begin < 10
        assert half.line() == b"2\t1\tRequest timed out"
        assert half.closed_by_server()
        check(idle)
    status = server.status("handlersocket%")
    assert status["handlersocket_errors_request_timed_out"] == status["handlersocket_connections_timed_out"] == 2


def test_one_too_many_is_answered_with_an_error(sandbox_factory):
    server = sandbox_factory("--handlersocket-max-connections=3")
    clients = [server.hs() for _ in range(3)]
    for client in clients:
        client.request("x")
    for address in server.env["HS_PORT"], server.env["HS_SOCKET"]:
        with hs.Client(address) as refused:
            assert refused.line() == b"1\t1\tToo many connections"
            assert refused.closed_by_server()
    for client in clients:
        client.close()
    until(lambda: connections(server) == 0)
    with server.hs() as client:
        assert client.request("x") == ["2", "1", "cmd"]


def test_unix_sockets_have_mode_and_owner(sandbox_factory, tmp_path):
    path = tmp_path / "hs_wr.sock"
    group = grp.getgrgid(os.getgid()).gr_name
    server = sandbox_factory(
        f"--handlersocket-socket-wr={path}",
        "--handlersocket-socket-mode=0600",
        f"--handlersocket-socket-owner=:{group}",
    )
    fill(server)
    for address in path, server.env["HS_SOCKET"]:
        found = os.stat(address)
        assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600 and found.st_gid == os.getgid()
        with hs.Client(address) as client:
            check(client)
    with hs.Client(path) as client:
        client.open(0, "test", "t", "id,v")
        assert client.request(0, "+", 2, 5000, "new") == ["0", "1"]
    with hs.Client(server.env["HS_SOCKET"]) as client:
        client.open(0, "test", "t", "id,v")
        assert client.request(0, "+", 2, 5001, "new") == ["2", "1", "readonly"]
    server.stop()
    assert not path.exists()


@pytest.mark.parametrize(
    "option, told",
    [
        ("--handlersocket-socket-mode=0999", "no octal number"),
        ("--handlersocket-socket-mode=", "no octal number"),
        ("--handlersocket-socket-owner=no-such-user", "no such user"),
        ("--handlersocket-socket-owner=:no-such-group", "no such group"),
    ],
)
def test_wrong_modes_and_owners_are_logged(sandbox_factory, option, told):
    server = sandbox_factory(start=False)
    with pytest.raises(AssertionError):
        server.start(option)
    assert told in server.log()


def raise_descriptor_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def test_many_idle_connections_are_cheap(sandbox_factory):
    """2,000 by default; POSTERN_CONNECTIONS=19000 for the full number, if the descriptor limit allows it."""
    if raise_descriptor_limit() < CONNECTIONS + 200:
        pytest.skip(f"the descriptor limit is below {CONNECTIONS}")
    server = sandbox_factory(
        f"--open-files-limit={CONNECTIONS + 1000}",
        f"--handlersocket-max-connections={CONNECTIONS + 10}",
        "--handlersocket-threads=2",
        "--handlersocket-timeout=0",
    )
    fill(server)
    with server.hs() as client:
        check(client)
    empty = server.memory_kib()
    clients = [server.hs(timeout=60) for _ in range(CONNECTIONS)]
    until(lambda: connections(server) == CONNECTIONS, 60)
    fresh = server.memory_kib()
    for client in clients:
        client.open(0, "test", "t", "id,v")
        assert client.request(0, "=", 1, 7) == ["0", "2", "7", "v7"]
    used = server.memory_kib()
    per_fresh, per_used = (fresh - empty) * 1024 / CONNECTIONS, (used - empty) * 1024 / CONNECTIONS
    print(f"{CONNECTIONS} connections: {per_fresh:.0f} bytes each when fresh, {per_used:.0f} once used")
    # The allocator's overhead and the threads' first touch of memory weigh more with fewer connections.
    slack = (512 << 10) / CONNECTIONS
    assert per_fresh <= 512 + slack and per_used <= 1536 + slack
    assert server.status("handlersocket_buffer_bytes")["handlersocket_buffer_bytes"] == 0
    for client in clients:
        client.close()
    until(lambda: connections(server) == 0, 60)
    sizes = []
    for _ in range(3):
        clients = [server.hs() for _ in range(CONNECTIONS)]
        for client in clients[::10]:
            client.send(b"P\t0\ttest")
        for client in clients:
            client.close()
        until(lambda: connections(server) == 0, 60)
        sizes.append(server.memory_kib())
    assert sizes[-1] <= sizes[0] + 1024, f"memory grows: {sizes}"


@needs_openssl
def test_many_idle_encrypted_connections(sandbox_factory, certificates):
    count = CONNECTIONS // 10
    server = sandbox_factory(*certificates.options(), "--handlersocket-threads=1")
    fill(server)
    with tls(server.env["HS_PORT"]) as client:
        check(client)
    before = server.memory_kib()
    clients = [tls(server.env["HS_PORT"]) for _ in range(count)]
    for client in clients:
        check(client)
    each = (server.memory_kib() - before) * 1024 / count
    print(f"{count} encrypted connections: {each:.0f} bytes each once used")
    assert each < 32 << 10
    for client in clients:
        client.close()
    until(lambda: connections(server) == 0)


@needs_openssl
def test_an_account_may_require_tls(sandbox_factory, certificates):
    server = sandbox_factory("--handlersocket-auth=account", *certificates.options())
    fill(server)
    server.execute(
        "CREATE USER safe@localhost IDENTIFIED BY 'pw' REQUIRE SSL", "GRANT SELECT ON test.t TO safe@localhost"
    )
    with server.hs() as client:
        assert client.request("A", 2, "safe", "pw") == ["3", "1", "unauth"]
    with tls(server.env["HS_PORT"]) as client:
        assert client.request("A", 2, "safe", "wrong") == ["3", "1", "unauth"]
        assert client.request("A", 2, "safe", "pw") == ["0", "1"]
        check(client)
