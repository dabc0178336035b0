"""The server answers the clients' bytes in tests/wire/handlersocket/client/sessions.jsonl as the file says."""
import pytest
from support import transcripts


@pytest.fixture(scope="module")
def stage(server, module_factory):
    stage = transcripts.Stage(server, module_factory)
    yield stage
    stage.clear()


@pytest.mark.parametrize("session", transcripts.sessions(), ids=lambda session: session["name"])
def test_session(stage, session):
    server = stage.prepare(session)
    with server.hs() if session["door"] == "read" else server.hs_wr() as client:
        for exchange in session["exchanges"]:
            client.send(exchange["send"].encode("latin1"))
            got = b"".join(line + b"\n" for line in client.lines(len(exchange["requests"])))
            assert got == exchange["receive"].encode("latin1"), exchange["send"]
