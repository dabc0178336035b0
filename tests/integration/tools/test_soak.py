"""A short soak: the work of `make soak`, which can run as long as wanted."""
import contextlib
import random

import pytest
from soak.clusters import FAULTS, ClusterSoak
from soak.soak import Soak

SECONDS = 10
SABOTAGE_SECONDS = 2


def test_soak(sandbox_factory, tmp_path):
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    soak = Soak(sandbox_factory(), seed)
    good = soak.run(SECONDS)
    soak.write(tmp_path)
    assert good, soak.report()
    assert soak.requests > 1000 and len(soak.faults) > 3, soak.report()


def test_a_soak_notices_a_lost_write(sandbox_factory):
    class Sabotaged(Soak):
        def check_tables(self):
            self.server.execute("INSERT IGNORE INTO a SELECT client, 1000, v, n FROM a LIMIT 1", database="test")
            super().check_tables()

    soak = Sabotaged(sandbox_factory(), seed=1)
    assert not soak.run(SABOTAGE_SECONDS)
    assert all("no prefix of" in problem for problem in soak.problems), soak.report()


def test_a_soak_notices_a_wrong_reply(sandbox_factory):
    class Sabotaged(Soak):
        def give_faults(self, seconds):
            self.wait_for_requests(100)
            self.server.execute("UPDATE fixed SET v = 'wrong' WHERE id % 2 = 0", database="test")
            self.wait_for_requests(200, of="reads")

    soak = Sabotaged(sandbox_factory(), seed=1)
    assert not soak.run(SABOTAGE_SECONDS)
    assert all("was read as" in problem for problem in soak.problems), soak.report()


@contextlib.contextmanager
def of_a_cluster(cls, kind, directory):
    try:
        soak = cls(kind, directory, seed=1)  # other seeds are for `make soak`
    except FileNotFoundError as why:
        pytest.skip(str(why))
    try:
        yield soak
    finally:
        soak.stop()


@pytest.mark.parametrize("kind", FAULTS)
def test_a_cluster_in_small(tmp_path, kind):
    with of_a_cluster(ClusterSoak, kind, tmp_path / "c") as soak:
        assert soak.run(SABOTAGE_SECONDS), soak.report()
        assert soak.faults


def test_a_soak_notices_a_node_that_lacks_a_write(tmp_path):
    class Sabotaged(ClusterSoak):
        def check(self):
            node = self.others(self.primary)[0]
            self.nodes[node].execute("SET sql_log_bin = 0", "DELETE FROM test.t WHERE k > 2 LIMIT 1")
            super().check()

    with of_a_cluster(Sabotaged, "replicas", tmp_path / "c") as soak:
        assert not soak.run(SABOTAGE_SECONDS)
        assert any("not all nodes have the same" in problem for problem in soak.problems), soak.report()
