"""A server in which the library's malloc() fails now and then."""
import mmap
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest
from support.waiting import until


class Failing:
    """Makes one in so many malloc calls of the plugin's library fail."""

    def __init__(self, directory):
        self.library = directory / "no_memory.so"
        source = Path(__file__).with_suffix(".c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self.library, source], check=True)
        self.file = directory / "control"
        self.file.write_bytes(bytes(4096))
        with open(self.file, "r+b") as file:
            self.control = mmap.mmap(file.fileno(), 4096)

    def environment(self):
        return {**os.environ, "POSTERN_PRELOAD": str(self.library), "NO_MEMORY_CONTROL": str(self.file)}

    def aim(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            places = [line.split() for line in maps if line.rstrip().endswith("/postern.so")]
        ranges = [tuple(int(end, 16) for end in place[0].split("-")) for place in places]
        struct.pack_into("QQ", self.control, 0, min(r[0] for r in ranges), max(r[1] for r in ranges))

    def fail(self, one_in):
        struct.pack_into("Q", self.control, 16, one_in)

    def failed(self):
        return struct.unpack_from("Q", self.control, 32)[0]

    def fail_amid(self, clients, seconds, rates, failing_seconds, calm_seconds=0):
        """Runs clients, which are threads with `problems` and `stop`, while allocations fail at the rates that rates()
        returns, until one has a problem or the time is over. Between them none fails for calm_seconds."""
        for client in clients:
            client.start()
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline and not any(client.problems for client in clients):
                for rate, length in ((rates(), failing_seconds), (0, calm_seconds)):
                    self.fail(rate)
                    end = min(time.monotonic() + length, deadline)
                    until(lambda end=end: time.monotonic() >= end, 5)
        finally:
            self.fail(0)
            for client in clients:
                client.stop = True
            for client in clients:
                client.join(60)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    return Failing(tmp_path_factory.mktemp("no_memory"))
