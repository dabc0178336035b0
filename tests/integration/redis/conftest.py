"""A Redis beside the door, to compare with."""
import pytest
from support.resp import Original


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    original = Original(tmp_path_factory.mktemp("redis"))
    yield original
    original.stop()
