"""The seed of what a test chooses by chance."""
import os

OF_THE_SUITE = 2010


def chosen(usual=OF_THE_SUITE):
    """SEED=N of the environment, else the usual one, so that what has passed passes again. Printed for who looks."""
    seed = int(os.environ.get("SEED") or usual)
    print(f"SEED={seed}")
    return seed
