"""tools/server-suite: the server's own tests through the SQL door."""
import subprocess

import pytest
from support.server import ROOT

CANNOT_BE_HAD = 3  # what tools/server exits with then


@pytest.mark.timeout(600)
@pytest.mark.parametrize("verify", ["1", "0"], ids=["compared", "answered"])
def test_the_servers_own_tests_get_the_same_answers_from_the_door(tmp_path, verify):
    suite = [ROOT / "tools/server-suite", "--innodb", "--again", "--verify", verify, "--keep", tmp_path / "suite"]
    done = subprocess.run(suite, capture_output=True, text=True, check=False, timeout=590)
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert ("Postern_verified_same" if verify == "1" else "Postern_statements_fast") in done.stdout
