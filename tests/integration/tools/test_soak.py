"""The soak, in small: what `make soak` does for as long as wanted."""
import random

from soak.soak import Soak

SECONDS = 20
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
