"""The read side of the protocol's test vectors, each answered as tests/wire/handlersocket/decisions.tsv says."""
import json
import re

import pytest
from support.server import ROOT

WIRE = ROOT / "tests" / "wire" / "handlersocket"


def unescape(text):
    return re.sub(rb"\\(x..|.)", lambda match: {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}.get(match[1])
                  or bytes((int(match[1][1:], 16),)), text)


def decisions():
    found = {}
    for line in (WIRE / "decisions.tsv").read_bytes().split(b"\n"):
        if line and not line.startswith((b"#", b"id\t")):
            name, _, reply, *_ = line.split(b"\t")
            found[name.decode()] = reply
    return found


def cases():
    decided = decisions()
    for line in (WIRE / "vectors.jsonl").read_text().splitlines():
        vector = json.loads(line)
        if vector["id"] in decided:
            reply = decided[vector["id"]]
            expected = vector["recv"].encode("latin1") if reply == b"=" else unescape(reply)
            yield pytest.param(vector, expected, id=vector["id"])


@pytest.fixture(scope="module")
def secret_server(tmp_path_factory):
    from conftest import Factory, end

    factory = Factory(tmp_path_factory.mktemp("secret"))
    try:
        yield factory("--handlersocket-plain-secret=rdsecret", "--handlersocket-plain-secret-wr=wrsecret")
    finally:
        end(factory.servers)


@pytest.fixture
def prepared(request):
    """Runs a vector's statements on its server; takes away what they made."""
    undo = []

    def prepare(vector):
        server = request.getfixturevalue("secret_server" if vector["server"] == "auth" else "server")
        connection = server.connect()
        cursor = connection.cursor()
        cursor.execute("CREATE DATABASE IF NOT EXISTS hst CHARACTER SET utf8mb4")
        cursor.execute("USE hst")
        cursor.execute("SET sql_mode=''")
        cursor.execute("SELECT @@global.time_zone, @@global.read_only")
        globals_before = cursor.fetchone()
        undo.append((connection, cursor, globals_before))
        for statement in vector["ddl"] + vector["preset"] + vector["setup"]:
            cursor.execute(statement)
        return server

    yield prepare
    for connection, cursor, (zone, read_only) in undo:
        cursor.execute("SET GLOBAL time_zone=%s, GLOBAL read_only=%s", (zone, read_only))
        cursor.execute("DROP DATABASE hst")
        connection.close()


@pytest.mark.parametrize("vector, expected", cases())
def test_vector(prepared, vector, expected):
    server = prepared(vector)
    with (server.hs() if vector["port"] == "rd" else server.hs_wr()) as client:
        for before in vector["pre"]:
            data = before["send"].encode("latin1")
            client.send(data)
            client.lines(data.count(b"\n"))
        client.send(vector["send"].encode("latin1"))
        got = b"".join(line + b"\n" for line in client.lines(expected.count(b"\n")))
        assert got == expected, vector["note"]
        # Exactly that: a line sent behind it is answered next.
        if b"\n" in vector["send"].encode("latin1")[-1:]:
            assert client.request("nothing") == ["2", "1", "cmd"]
