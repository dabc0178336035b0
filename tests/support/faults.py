"""A server whose storage engine's calls fail as rows ask for, by their column `fault`, and one that follows it."""
import contextlib
import os

from support.replica import follow
from support.server import BUILD, Server

# The plugin with src/engine/mariadb/testing in it.
LIBRARY = BUILD / "src" / "plugin" / "faults" / "postern.so"
# Every code of include/my_base.h, HA_ERR_FIRST to HA_ERR_LAST, but for those of which the server takes for granted that
# the storage engine has noted more about them: duplicates (121, 141, 162, 163), of which there are real ones, and a
# counter beyond its column (167); and 169, which means that there was nothing to change.
CODES = [code for code in range(120, 201) if code not in (121, 141, 162, 163, 167, 169)]
# By the storage engine's word such a failure has changed nothing: it cannot come after a change. (151 is a foreign
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
