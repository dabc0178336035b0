"""A disk that is slow, or loses unflushed writes: slow_disk.c in a server."""
import contextlib
import mmap
import os
import struct
import subprocess
from pathlib import Path


class Disk:
    def __init__(self, directory):
        self.library = directory / "slow_disk.so"
        source = Path(__file__).with_suffix(".c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", "-o", self.library, source], check=True)
        self.file = directory / "control"
        self.file.write_bytes(bytes(4096))
        with open(self.file, "r+b") as file:
            self.control = mmap.mmap(file.fileno(), 4096)

    def environment(self):
        return {**os.environ, "POSTERN_PRELOAD": str(self.library), "SLOW_DISK_CONTROL": str(self.file)}

    def slow_down(self, flush_us):
        struct.pack_into("Q", self.control, 0, flush_us)

    def hold(self, held):
        struct.pack_into("Q", self.control, 8, held)

    def flushing(self):
        return struct.unpack_from("Q", self.control, 16)[0]

    def keep_log(self, kept):
        """Writes to InnoDB's log reach its file when it is flushed: SIGKILL then acts as a power failure."""
        struct.pack_into("Q", self.control, 24, kept)

    @contextlib.contextmanager
    def held(self):
        self.hold(1)
        try:
            yield
        finally:
            self.hold(0)
