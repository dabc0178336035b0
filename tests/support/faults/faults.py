"""A server whose storage engine calls fail as rows request in their column `fault`, and a replica."""
import contextlib
import os

from support.replica import follow
from support.server import BUILD, Server

# The plugin with src/engine/mariadb/testing in it.
LIBRARY = BUILD / "src" / "plugin" / "faults" / "postern.so"
# Every code of include/my_base.h, HA_ERR_FIRST to HA_ERR_LAST, except those about which the server expects further
# details from the storage engine: duplicates (121, 141, 162, 163), which the tests make for real, and a counter out of
# range (167); and 169, which means that the row did not change.
CODES = [code for code in range(120, 201) if code not in (121, 141, 162, 163, 167, 169)]
# According to the storage engine such a failure has changed nothing: it cannot follow a change. (151 is a foreign
# key's.)
UNDONE = {139, 151, 152, 158, 160, 166}


@contextlib.contextmanager
def faulty_and_follower(directory, *options, **settings):
    primary, replica = Server(directory / "primary"), Server(directory / "replica")
    try:
        primary.start(
            "--log-bin=bin", "--server-id=1", *options, env={**os.environ, "POSTERN_SO": str(LIBRARY)}, **settings
        )
        replica.start("--server-id=2", env={**os.environ, "POSTERN_SO": "none"})
        follow(primary, replica)
        yield primary, replica
    finally:
        for server in (replica, primary):
            server.stop()
    for server in (primary, replica):
        server.assert_no_crash()
