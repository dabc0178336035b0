"""A server with the Redis door, and a Redis to compare it with."""
import pytest
from support.clients.resp import Client, Original


@pytest.fixture(scope="module")
def server(module_factory, request):
    """The server that the tests of a module share, started with the module's SERVER_OPTIONS."""
    server = module_factory(*getattr(request.module, "SERVER_OPTIONS", ()), redis=True)
    yield server
    server.assert_alive()


@pytest.fixture
def port(server):
    """The door's port; the door has no keys and no functions."""
    port = server.env["REDIS_PORT"]
    with Client(port) as client:
        client.ask("FUNCTION", "FLUSH")
        client.ask("FLUSHALL")
    return port


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    original = Original(tmp_path_factory.mktemp("redis"))
    yield original
    original.stop()
