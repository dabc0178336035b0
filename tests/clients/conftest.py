"""The Redis server that clients and programs connect to."""
import pytest
from support.clients.resp import Original
from support.server import ORIGINAL


@pytest.fixture(scope="module")
def redis_port(request, tmp_path_factory):
    """The port of the Redis door of a server with the module's SERVER_OPTIONS; with POSTERN_TEST_ORIGINAL=1, of a real
    Redis."""
    if ORIGINAL:
        original = Original(tmp_path_factory.mktemp("redis"))
        yield original.port
        original.stop()
        return
    server = request.getfixturevalue("module_factory")(*getattr(request.module, "SERVER_OPTIONS", ()), redis=True)
    yield server.env["REDIS_PORT"]
    server.assert_alive()
