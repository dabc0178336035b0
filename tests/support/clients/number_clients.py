"""A client of each door that writes and reads numbers by their keys, and sends a write without waiting for its reply.

HandlerSocket's and SQL's are rows of test.t (id, v), those of memcached and Redis are keys k1, k2 ...
"""
from support.clients import sql_wire
from support.clients.resp import encode
from support.clients.sql_wire import QUERY, Wire, rows


class Handlersocket:
    def __init__(self, server, timeout=60):
        self.client = server.hs_wr(timeout=timeout)
        self.client.open(0, "test", "t", "id,v")

    def close(self):
        self.client.close()

    def send_write(self, key, value):
        self.client.send(f"0\t=\t1\t{key}\t1\t0\tU\t{key}\t{value}\n".encode())

    def end_write(self):
        assert self.client.line() == b"0\t1\t1"

    def send_lone_write(self, key):
        self.client.send(f"0\t>=\t1\t{key}\t2\t0\tD\n".encode())

    def end_lone_write(self):
        assert self.client.line() == b"0\t1\t2"

    def read(self, key):
        return int(self.client.request(0, "=", 1, key)[3])


class Memcached:
    def __init__(self, server, timeout=60):
        self.client = server.mc(timeout=timeout)

    def close(self):
        self.client.close()

    def send_write(self, key, value):
        value = str(value).encode()
        self.client.send(b"set k%d 0 0 %d\r\n%s\r\n" % (key, len(value), value))

    def end_write(self):
        assert self.client.line() == b"STORED"

    def read(self, key):
        return int(self.client.get(f"k{key}"))


class Redis:
    def __init__(self, server, timeout=60):
        self.client = server.resp()
        self.client.socket.settimeout(timeout)

    def close(self):
        self.client.close()

    def send_write(self, key, value):
        self.client.send(encode("SET", f"k{key}", str(value)))

    def end_write(self):
        assert self.client.raw() == b"+OK\r\n"

    def read(self, key):
        return int(self.client.ask("GET", f"k{key}"))


class Sql:
    def __init__(self, server, timeout=60):
        self.client = sql_wire.door(server, database="test", read_timeout=timeout)

    def close(self):
        self.client.close()

    def send_write(self, key, value):
        Wire(self.client).send(QUERY, f"UPDATE t SET v = {value} WHERE id = {key}".encode())

    def end_write(self):
        assert Wire(self.client).packet()[4] == 0

    def read(self, key):
        return int(rows(self.client, f"SELECT v FROM t WHERE id = {key}")[0][0])


class SqlTransaction(Sql):
    """Commits its transactions itself; a worker's turn runs its statements."""

    def __init__(self, server, timeout=60):
        super().__init__(server, timeout)
        rows(self.client, "SET autocommit = 0")

    def send_write(self, key, value):
        rows(self.client, f"UPDATE t SET v = {value} WHERE id = {key}")
        Wire(self.client).send(QUERY, b"COMMIT")

    def read(self, key):
        value = super().read(key)
        rows(self.client, "COMMIT")
        return value
