"""The bytes that malloc has handed out in a server (malloc_count.c). The process's own size varies: malloc keeps freed
memory, and hands it out again."""
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
