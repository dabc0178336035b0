"""Fixtures for tests of accounts: a server with accounts, and a factory of accounts."""
import pytest
from support.server import name_of


@pytest.fixture(scope="module")
def accounts(module_factory):
    server = module_factory("--handlersocket-auth=account", "--plugin-load-add=auth_ed25519", "--max-password-errors=5")
    server.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, KEY ab (a, b))",
        "INSERT INTO t SELECT seq, seq * 10, seq * 100, seq * 1000 FROM seq_1_to_100",
        "CREATE TABLE other LIKE t",
        database="test",
    )
    yield server


@pytest.fixture
def user(accounts, request):
    """Makes accounts named after the test, dropped afterwards: user("IDENTIFIED BY 'pw'")."""
    made = []

    def make(how="IDENTIFIED BY 'pw'", host="localhost", grants=()):
        name = f"u{name_of(request)}_{len(made)}"
        made.append(f"'{name}'@'{host}'")
        accounts.execute(f"CREATE USER {made[-1]} {how}", *(f"GRANT {grant} TO {made[-1]}" for grant in grants))
        return name

    yield make
    for account in made:
        accounts.execute(f"DROP USER IF EXISTS {account}")
