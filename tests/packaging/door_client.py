"""door_client.py [once]: increments a row through the HandlerSocket door of the root in which it runs, and counts
the acknowledged increments in /story/client; while the door is closed it retries ten times a second. once: a single
read."""
import socket
import sys
import time
from pathlib import Path

SOCKET = "/run/mysqld/handlersocket_wr.sock"
COUNT = Path("/story/client")


def connect():
    door = socket.socket(socket.AF_UNIX)
    door.settimeout(10)
    door.connect(SOCKET)
    lines = door.makefile("rb")
    door.sendall(b"P\t0\tstory\tt\tPRIMARY\tk,v\n")
    if lines.readline() != b"0\t1\n":
        raise OSError("the door does not open the table")
    return door, lines


def add_for_ever():
    acknowledged = 0
    while True:
        try:
            door, lines = connect()
            while True:
                door.sendall(b"0\t=\t1\t1\t1\t0\t+\t0\t1\n")
                answer = lines.readline()
                if answer != b"0\t1\t1\n":
                    raise OSError(answer)
                acknowledged += 1
                COUNT.write_text(f"{acknowledged}\n")
                time.sleep(0.01)
        except OSError:
            time.sleep(0.1)


if len(sys.argv) > 1:
    channel, answers = connect()
    channel.sendall(b"0\t=\t1\t1\n")
    sys.exit(not answers.readline().startswith(b"0\t2\t1\t"))
COUNT.write_text("0\n")
add_for_ever()
