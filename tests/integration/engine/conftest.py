"""Fixtures for tests that compare a door's writes with SQL's."""
import os

import pytest
from support.like_sql import Twins

STAND_IN = bool(os.environ.get("POSTERN_TEST_STAND_IN"))


@pytest.fixture
def twins(server):
    """Two databases that must stay equal: one is written through the door, the other by SQL. With
    POSTERN_TEST_STAND_IN=1 SQL writes both, to prove the comparison."""
    both = Twins(server, STAND_IN)
    yield both
    both.close()
