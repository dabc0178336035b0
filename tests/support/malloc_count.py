"""The bytes that malloc has given out in a server (malloc_count.c). Those that the process has vary: malloc keeps memory
that was given back, and gives it out again."""
import os
import socket
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


class MallocCount:
    def __init__(self, directory):
        self.library = Path(directory) / "malloc_count.so"
        self.socket = Path(directory) / "count.sock"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", "-o", self.library, SOURCE], check=True)

    def environment(self):
        return {**os.environ, "POSTERN_PRELOAD": str(self.library), "MALLOC_COUNT_SOCKET": str(self.socket)}

    def bytes(self):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self.socket))
            return struct.unpack("Q", asked.recv(8, socket.MSG_WAITALL))[0]
