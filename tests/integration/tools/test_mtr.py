"""tools/mtr: runs the tests of mysql-test/postern with the server's own test program."""
import subprocess

import pytest
from support.server import ROOT

CANNOT_BE_HAD = 3  # exit code of tools/server if it cannot provide the server


def test_the_tests_in_the_servers_own_form_pass():
    done = subprocess.run([ROOT / "tools" / "mtr"], capture_output=True, text=True, check=False, timeout=290)
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "tests were successful" in done.stdout
