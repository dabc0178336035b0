"""The one place where tests sleep: between two looks at what comes to pass by itself."""
import time

POLL_SECONDS = 0.01


def until(condition, seconds=10, otherwise="it did not come to pass"):
    """Looks again and again until the condition holds; fails with `otherwise` when that takes longer than a bound that
    no healthy server comes near."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{otherwise} within {seconds} s"
        time.sleep(POLL_SECONDS)
