"""The seed of a test's random choices."""
import os

OF_THE_SUITE = 2010


def chosen(usual=OF_THE_SUITE):
    """SEED=N of the environment, else the usual one, so that a passing test passes again. Printed for people."""
    seed = int(os.environ.get("SEED") or usual)
    print(f"SEED={seed}")
    return seed
