"""Fixtures for tests that compare a door's writes with SQL's."""
import os

import pytest
from support.like_sql import Twins

STAND_IN = bool(os.environ.get("POSTERN_TEST_STAND_IN"))


@pytest.fixture
def twins(server):
    """Two databases that are to stay alike: one is written to through the door, one by SQL. With
    POSTERN_TEST_STAND_IN=1 the door is SQL itself, to prove the comparison."""
    both = Twins(server, STAND_IN)
    yield both
    both.close()
