"""tools/server-suite: the server's own tests through the SQL door."""
import subprocess

import pytest
from support.server import ROOT

CANNOT_BE_HAD = 3  # exit code of tools/server if it cannot provide the server


@pytest.mark.timeout(900)
def test_the_servers_own_tests_get_the_same_answers_from_the_door(tmp_path):
    """Workers answer once; if they send rows, the server answers again, and the door compares."""
    suite = [ROOT / "tools/server-suite", "--innodb", "--again", "--verify", "both", "--keep", tmp_path / "suite"]
    done = subprocess.run(suite, capture_output=True, text=True, check=False, timeout=890)
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "Postern_statements_fast" in done.stdout
    assert "Postern_verified_same" in done.stdout
