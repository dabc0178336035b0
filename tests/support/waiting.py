"""The only place where tests sleep: between two checks of a condition."""
import time

POLL_SECONDS = 0.01


def until(condition, seconds=10, otherwise="it did not come to pass"):
    """Checks repeatedly until the condition holds; fails with `otherwise` after a time that no healthy server needs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{otherwise} within {seconds} s"
        time.sleep(POLL_SECONDS)
