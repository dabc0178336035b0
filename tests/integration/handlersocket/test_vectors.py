"""The protocol's test vectors. tests/wire/handlersocket/decisions.tsv has the answer to each, and the table afterwards.

In MySQL (POSTERN_TEST_ON=mysql) decisions_mysql.tsv has the other answers there. With POSTERN_TEST_ORIGINAL=1 the original must
answer as the vectors say.
"""
import datetime
import json
import re

import pytest
from support.server import ON_MYSQL, ORIGINAL, ROOT, SERIES

WIRE = ROOT / "tests" / "wire" / "handlersocket"
# Vectors that later series answer otherwise, like SQL: 10.0.0.1 is an INET6, too.
OTHERWISE = {"ty-uuid-w"}
NOW_TOLERANCE = datetime.timedelta(minutes=5)


def unescape(text):
    return re.sub(
        rb"\\(x..|.)",
        lambda match: {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}.get(match[1])
        or bytes((int(match[1][1:], 16),)),
        text,
    )


def decisions():
    """The reply and the rows afterwards, by id, as in the file; None if a server lacks such tables."""
    found = {}
    for file in ["decisions.tsv", *(["decisions_mysql.tsv"] if ON_MYSQL else [])]:
        for line in (WIRE / file).read_bytes().split(b"\n"):
            if line and not line.startswith((b"#", b"id\t")):
                name, decision, reply, *rest = line.split(b"\t")
                after = rest[1] if len(rest) > 1 else None
                known = found.get(name.decode())
                found[name.decode()] = None if decision == b"none" else (reply, after or (known and known[1]))
    return found


def vectors():
    return [json.loads(line) for line in (WIRE / "vectors.jsonl").read_text().splitlines()]


def case(vector, decision):
    """(vector, reply, rows afterwards or None); a reply is a pattern of bytes."""
    reply, after = decision
    recv, rows = vector["recv"].encode("latin1"), vector["post_rows"] if vector["post_sql"] else None
    if not ORIGINAL:
        recv = recv if reply == b"=" else unescape(reply)
        rows = None if after in (None, b"-") else rows if after == b"=" else json.loads(after)
    pattern = re.escape(recv).replace(re.escape(b"{sentence}"), rb"[^\t\n]{4,}")
    return pytest.param(vector, pattern, rows, id=vector["id"])


def cases():
    decided = decisions()
    for vector in vectors():
        if ORIGINAL and vector["recv"].startswith("<"):
            continue  # the original crashes or closes the connection
        if vector["id"] in OTHERWISE and SERIES != "10.11":
            continue
        if decided[vector["id"]] is None:
            continue
        yield case(vector, decided[vector["id"]])


@pytest.fixture(scope="module")
def secret_server(module_factory):
    return module_factory("--handlersocket-plain-secret=rdsecret", "--handlersocket-plain-secret-wr=wrsecret")


@pytest.fixture
def prepared(request, sandbox_factory):
    """Runs a vector's statements on its server; drops their tables afterwards."""
    undo = []

    def prepare(vector):
        if ORIGINAL and vector["fresh_server"]:
            server = sandbox_factory()  # one failed open breaks the original for good
        else:
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


def text(value):
    return (
        value if value is None else value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    )


def assert_rows(server, sql, expected):
    """Compares the rows; {now} matches any time of the last moments."""
    rows = [[text(value) for value in row] for row in server.query(sql, database="hst")]
    now = server.query("SELECT NOW()")[0][0]
    for row, wanted in zip(rows, expected):
        for at, value in enumerate(wanted):
            if value == "{now}":
                written = datetime.datetime.fromisoformat(row[at])
                assert now - NOW_TOLERANCE <= written <= now, f"{row} was not written now, {now}"
                row[at] = value
    assert rows == expected, sql


@pytest.mark.parametrize("vector, reply, rows", cases())
def test_vector(prepared, vector, reply, rows):
    server = prepared(vector)
    with server.hs() if vector["port"] == "rd" else server.hs_wr() as client:
        for before in vector["pre"]:
            data = before["send"].encode("latin1")
            client.send(data)
            client.lines(data.count(b"\n"))
        client.send(vector["send"].encode("latin1"))
        got = b"".join(line + b"\n" for line in client.lines(reply.count(b"\n")))
        assert re.fullmatch(reply, got), f"{vector['note']}\n{got!r}\nis not\n{reply!r}"
        # Exactly one reply: the next line is answered next.
        if b"\n" in vector["send"].encode("latin1")[-1:]:
            assert client.request("nothing") == ["2", "1", "cmd"]
    if rows is not None:
        assert_rows(server, vector["post_sql"], rows)
