"""The base of every door's client: a socket, and nothing hidden."""
import socket

TIMEOUT_SECONDS = 10


class Connection:
    """One connection. address is a port on loopback, or the path of a unix socket. wrap: replaces the socket before
    anything is sent. Every wait has a limit."""

    def __init__(self, address, timeout=TIMEOUT_SECONDS, wrap=None):
        if isinstance(address, int) or str(address).isdigit():
            self.socket = socket.create_connection(("127.0.0.1", int(address)), timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(str(address))
        if wrap is not None:
            self.socket = wrap(self.socket)
        self.received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def closed_by_server(self):
        """Waits, and returns whether the server closes without sending more."""
        try:
            return not self.received and self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True
