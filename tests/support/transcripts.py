"""The transcripts that drive every client: tests/wire/handlersocket/client/README.md explains them.

    for session in transcripts.sessions(): ...          # and transcripts.hostile()
    server = Stage(server, module_factory).prepare(session)     # a real one, with the session's tables
    with Peer(session) as peer:                          # one that plays the server's part, as it is written
        ... connect to peer.port, run the session's requests ...
    assert peer.problem is None
"""
import contextlib
import json
import socket
import threading

from support.server import ROOT

FOLDER = ROOT / "tests" / "wire" / "handlersocket" / "client"
PEER_SECONDS = 20


def read(name):
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="ascii").splitlines()]


def sessions():
    return read("sessions.jsonl")


def hostile():
    return read("hostile.jsonl")


class Stage:
    """Servers with the settings that sessions need, started when the first session needs them."""

    def __init__(self, server, factory):
        self.servers = {"plain": server}
        self.factory = factory
        self.accounts = set()

    def prepare(self, session):
        """Runs the session's statements; returns its server."""
        if "secret" in session:
            server = self._get("secret", f"--handlersocket-plain-secret={session['secret']}")
        elif "account" in session:
            server = self._get("account", "--handlersocket-auth=account")
        else:
            server = self.servers["plain"]
        server.execute("DROP DATABASE IF EXISTS hst", "CREATE DATABASE hst CHARACTER SET utf8mb4")
        server.execute(*session["sql"], database="hst")
        if "account" in session:
            self._let_in(server, **session["account"])
        return server

    def clear(self):
        for server in self.servers.values():
            server.execute("DROP DATABASE IF EXISTS hst")

    def _get(self, key, *options):
        if key not in self.servers:
            self.servers[key] = self.factory(*options)
        return self.servers[key]

    def _let_in(self, server, user, password, tables):
        if user not in self.accounts:
            server.query(f"CREATE USER {user}@localhost IDENTIFIED BY %s", (password,))
            self.accounts.add(user)
        server.execute(*(f"GRANT ALL ON hst.{table} TO {user}@localhost" for table in tables))


class Peer:
    """Plays the server of one session to one client that connects to `port`."""

    def __init__(self, session):
        self.session = session
        self.problem = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PEER_SECONDS)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(PEER_SECONDS)
        self.listener.close()

    def _run(self):
        try:
            connection, _ = self.listener.accept()
            with connection:
                connection.settimeout(PEER_SECONDS)
                for exchange in self.session["exchanges"]:
                    self._play(connection, exchange)
                if self.session.get("stall"):
                    self._drain(connection)
        except (OSError, AssertionError) as problem:
            self.problem = f"{type(problem).__name__}: {problem}"

    def _play(self, connection, exchange):
        wanted, got = exchange["send"].encode("latin1"), b""
        while len(got) < len(wanted):
            part = connection.recv(len(wanted) - len(got))
            assert part, f"the client closed after {got!r}; {wanted!r} was to come"
            got += part
        assert got == wanted, f"the client sent {got!r} in place of {wanted!r}"
        connection.sendall(exchange["receive"].encode("latin1"))

    @staticmethod
    def _drain(connection):
        with contextlib.suppress(ConnectionError):  # the client may close with bytes unread
            while connection.recv(1 << 16):
                pass
