"""Short statements stay on the worker's thread where another program takes its processor in between."""
import contextlib
import os
import subprocess
import sys
import time

import pytest

from support.clients import sql_wire
from support.clients.sql_wire import rows

STATEMENTS = 600
# The server serves it in some 50 microseconds of processor time.
SHORT = "SELECT COUNT(*) FROM (SELECT 1) one"
# Has its processor at a real-time priority for two milliseconds, lets others have it for little more than a short
# statement takes, and so on.
PROGRAM = """
import os, time
os.sched_setaffinity(0, {%d})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print(flush=True)
while True:
    until = time.monotonic() + 0.002
    while time.monotonic() < until:
        pass
    time.sleep(0.0003)
"""


@pytest.fixture
def server(sandbox_factory):
    made = sandbox_factory("--loose-postern-threads=1", postern_port=0)
    yield made
    made.assert_alive()


@contextlib.contextmanager
def shared_processor(server):
    """The server has one processor, which another program takes again and again."""
    processor = min(os.sched_getaffinity(0))
    for thread in os.listdir(f"/proc/{server.env['PID']}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread), {processor})
    with subprocess.Popen([sys.executable, "-c", PROGRAM % processor], stdout=subprocess.PIPE, stderr=2) as program:
        try:
            if not program.stdout.readline():
                pytest.skip("no right to set priorities")
            yield
        finally:
            program.kill()


def figures(server):
    """Statements that a worker's thread began to serve, with those from which its loop moved; and all of them."""
    status = server.status("Postern_%")
    return (
        status["postern_statements_in_place"] + status["postern_loops_moved"],
        status["postern_statements_served"],
    )


def share_that_stays(server, client):
    """Of short statements that are interrupted again and again."""
    here, served = figures(server)
    lasted = 0
    with shared_processor(server):
        for _ in range(STATEMENTS):
            begun = time.monotonic()
            rows(client, SHORT)
            lasted += time.monotonic() - begun > 0.001
    stayed, all_served = (after - before for after, before in zip(figures(server), (here, served)))
    assert all_served == STATEMENTS
    assert lasted > STATEMENTS / 10, "the program did not take the processor"
    return stayed / STATEMENTS


# Two that lose the processor in a row sent all others to the pool for a second: less than a twentieth stayed. Where the
# machine has other work a short one may compute for long at times.
@pytest.mark.alone
def test_short_statements_stay_though_they_are_preempted(server):
    with contextlib.closing(sql_wire.door(server)) as client:
        for _ in range(10):
            rows(client, SHORT)
        shares = []
        while not shares or (shares[-1] < 0.3 and len(shares) < 5):
            shares.append(share_that_stays(server, client))
    assert shares[-1] >= 0.3, shares
