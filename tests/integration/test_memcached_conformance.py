"""libmemcached's own conformance test, memccapable: every test of the text and of the binary protocol, with the items in
a table and in memory. With POSTERN_TEST_ORIGINAL=1 it runs against Debian's memcached."""
import re
import subprocess

import pytest
from support.items import ORIGINAL_OR_STORES, items_door

TESTS_OF_EACH = 27
TEST_SECONDS = 120
OUTCOME = re.compile(r"^(\S.*?)\s+\[(.*?)\]$", re.MULTILINE)


@pytest.fixture(params=ORIGINAL_OR_STORES)
def port(request):
    with items_door(request) as port:
        yield port


@pytest.mark.parametrize("protocol", ["-a", "-b"])
def test_memccapable(port, protocol):
    try:
        done = subprocess.run(["memccapable", "-h", "127.0.0.1", "-p", str(port), protocol], capture_output=True, text=True,
                              check=False, timeout=TEST_SECONDS)
    except FileNotFoundError:
        pytest.skip("there is no memccapable; run tools/deps clients")
    outcomes = dict(OUTCOME.findall(done.stdout))
    assert {name for name, outcome in outcomes.items() if outcome != "pass"} == set(), done.stdout + done.stderr
    assert len(outcomes) == TESTS_OF_EACH
