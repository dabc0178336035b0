"""Fixtures for tests against real servers.

server            one server for the whole session; leave it as you found it
database          a fresh database of that server, dropped afterwards; its name
sandbox_factory   servers of your own: sandbox_factory("--log-bin"), stopped afterwards
module_factory    the same, for servers that all tests of a module share
fetched           other people's clients, built: fetched("hs4j")

With POSTERN_TEST_ON=mysql the servers are MySQL's, of build-mysql (support/on_mysql.py), for the
tests whose SQL both know: handlersocket/test_vectors.py. With POSTERN_TEST_ORIGINAL=1 they run the HandlerSocket plugin that comes with MariaDB in
place of ours: to prove a test itself, where its module says that it can be run so.

Whatever the outcome of a test, its servers are stopped, each by its own pid, must shut down
cleanly, and must not have logged a crash in the error log. A failed test shows the end of
the logs.
"""
import itertools
import os
import shutil
import subprocess

import pytest

from support import processors, rerunning
from support.on_mysql import MysqlServer
from support.server import ON_MYSQL, ORIGINAL, ROOT, Server, name_of, original_plugin, sandbox

CANNOT_BE_HAD = 3  # exit code of tools/clients if it cannot provide the client

rerunning.make_possible()
# Packages of tests are installed at most once: most of the time to make one would go into making it smaller.
os.environ.setdefault("DPKG_DEB_COMPRESSOR_LEVEL", "0")
ServerOfTests = MysqlServer if ON_MYSQL else Server
if ORIGINAL:
    os.environ["POSTERN_SO"] = original_plugin()


def end(servers):
    """Stops all servers, and raises the first problem only when none is left running."""
    problems = []
    for server in servers:
        for step in (server.stop, server.assert_no_crash):
            try:
                step()
            except AssertionError as problem:
                problems.append(str(problem))
        if problems and ServerOfTests is Server:
            sandbox("kill", server.dir, check=False)
        if not problems and not os.environ.get("POSTERN_KEEP"):
            shutil.rmtree(server.dir, ignore_errors=True)
    assert not problems, "\n".join(problems)


def pytest_terminal_summary(terminalreporter):
    rerunning.show_failures(terminalreporter)
    processors.show_idle(terminalreporter)


class Factory:
    def __init__(self, directory):
        self.directory = directory
        self.numbers = itertools.count(1)
        self.servers = []

    def __call__(self, *options, start=True, directory=None, **arguments):
        """Starts a new server with these mariadbd options and ports (hs_port=N). With start=False it only returns the
        handle, whose start() takes the same arguments."""
        server = ServerOfTests(directory or self.directory / f"server{next(self.numbers)}")
        # Registered before its start, so that a start that fails halfway is cleaned up, too.
        self.servers.append(server)
        return server.start(*options, **arguments) if start else server


@pytest.fixture
def sandbox_factory(tmp_path):
    factory = Factory(tmp_path)
    yield factory
    end(factory.servers)


@pytest.fixture(scope="module")
def module_factory(tmp_path_factory, request):
    factory = Factory(tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2]))
    yield factory
    end(factory.servers)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    shared = ServerOfTests(tmp_path_factory.mktemp("shared") / "server")
    try:
        yield shared.start()
    finally:
        end([shared])


@pytest.fixture
def database(server, request):
    name = f"t{name_of(request)}"
    server.execute(f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
    yield name
    server.execute(f"DROP DATABASE IF EXISTS {name}")


@pytest.fixture(scope="session")
def fetched():
    """Gets a third-party client by name, and returns the folder of all of them; skips the test if it cannot be had."""

    def fetch(name):
        done = subprocess.run([ROOT / "tools" / "clients", name], capture_output=True, text=True, check=False)
        if done.returncode == CANNOT_BE_HAD:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        return ROOT / "build" / "clients"

    return fetch


# The longest files, each run by one process: started late, they would keep the other processes waiting.
LONGEST_FIRST = """
    sql/test_server_suite clients/test_redis_suite clients/test_sql_drivers clients/test_redis_clients sql/test_fast_reads
    writes/test_prepare_writes engine/test_scan_pauses redis/test_redis_like_redis tools/test_cli
    clients/test_redis_programs engine/test_writes_like_sql writes/test_writes_that_return clients/test_memcached_clients
    door/test_lifecycle tools/test_cli_doctor tools/test_soak engine/test_galera_cluster engine/test_engines
    tools/test_cluster clients/test_memcached_suite tools/test_release redis/test_redis_bad_arguments engine/test_binlog
    engine/test_write_memory tools/test_sandbox planned/test_planned_once clients/test_mediawiki clients/test_wordpress
    writes/test_unflushed_commits tools/test_cli_try writes/test_writes writes/test_writes_among_rows
    memcached/test_memcached_mapping sql/test_prepare memcached/test_memcached_doors clients/test_clients door/test_tls
    clients/test_cpp_client tools/test_package tools/test_mtr engine/test_contract
""".split()


def pytest_collection_modifyitems(items):
    def place(item):
        name = "/".join(item.path.with_suffix("").parts[-2:])
        return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if not report.failed:
        return
    used = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, (Server, Factory))]
    for value in used:
        for one in value.servers if isinstance(value, Factory) else [value]:
            report.sections.append((f"end of {one.dir / 'error.log'}", one.log_tail()))
