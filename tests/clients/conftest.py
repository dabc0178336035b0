import subprocess

import pytest
from support.server import ROOT

CANNOT_BE_HAD = 3


@pytest.fixture(scope="session")
def fetched():
    """Gets a client by name; skips the test where it cannot be had. The folder of all of them."""
    def fetch(name):
        done = subprocess.run([ROOT / "tools" / "clients", name], capture_output=True, text=True, check=False)
        if done.returncode == CANNOT_BE_HAD:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        return ROOT / "build" / "clients"
    return fetch
