#!/usr/bin/python3
"""Sends every command in text.tsv to a real memcached and prints where its answers differ from the marks there. Run by
hand, with memcached 1.6 installed; each exchange has a memcached of its own, on a unix socket in a new directory."""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

# Features that Postern never has: watchers, and threads that move items.
OPTIONS = ["-W", "-o", "no_lru_crawler,no_slab_reassign,no_lru_maintainer", "-t", "1"]
START_SECONDS_MAX = 5


def meant(text):
    text = re.sub(r"<(.)\*(\d+)>", lambda match: match[1] * int(match[2]), text)
    return text.encode("latin1").decode("unicode_escape").encode("latin1")


def connected(path):
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(path)
            return client
        except OSError:
            client.close()
            if time.monotonic() > deadline:
                raise


def answered(directory, sent):
    path = os.path.join(directory, "socket")
    pathlib.Path(path).unlink(missing_ok=True)
    user = ["-u", "root"] if os.getuid() == 0 else []
    server = subprocess.Popen(["memcached", "-s", path, *user, *OPTIONS])
    try:
        with connected(path) as client:
            client.settimeout(START_SECONDS_MAX)
            received = b""
            try:
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                while piece := client.recv(1 << 16):
                    received += piece
            except (ConnectionResetError, BrokenPipeError):
                pass  # it closes on commands that it does not understand
            return received
    finally:
        server.kill()
        server.wait()


def main():
    wrong = 0
    lines = pathlib.Path(__file__).with_name("text.tsv").read_text(encoding="ascii").splitlines()
    with tempfile.TemporaryDirectory() as directory:
        for line in lines:
            if line.startswith("#"):
                continue
            mark, sent, expected = line.split("\t")
            received = answered(directory, meant(sent))
            if (received == meant(expected)) != (mark == "same"):
                wrong += 1
                print(f"{mark}: {sent}\n  {received!r}")
    print(f"{wrong} answers are not as marked")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
