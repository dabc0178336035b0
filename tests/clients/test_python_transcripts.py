"""Our Python client, blocking and with asyncio, against servers that play a transcript, byte for byte."""
import sys

import pytest
from support.server import ROOT

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

from clients import python_transcripts as transcripts  # noqa: E402

FLAVOURS = {"blocking": transcripts.run, "asyncio": transcripts.run_asyncio}
ALL = [session for name in ("sessions", "hostile") for session in transcripts.sessions(name)]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("session", ALL, ids=lambda session: session["name"])
def test_transcript(session, flavour):
    with transcripts.Scripted(session) as server:
        results = FLAVOURS[flavour](session, server.port)
    for exchange, result in zip(session["exchanges"], results, strict=True):
        assert result == transcripts.told(exchange["results"]), session["why"]
