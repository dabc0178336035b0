"""Write load with a model: clients that know every reply to expect and the rows that the tables must hold.

    with Load(server, clients=8) as load:        # creates the tables, starts the clients
        load.wait_for(5000)                      # replies heard by now
    load.check(server)                           # rows and replies agree with the model

Each client writes to rows of its own, so that its replies and rows are known exactly: after a crash
its rows must be as they were after some request between the last one answered and the last one sent.
All of them add to one counter, which is between the answered and the sent sum.
"""
import random
import threading
import time

TABLES = ("a", "b")
COUNTER = b"0"
SCHEMA = (
    "CREATE TABLE a (client INT, id INT, v VARCHAR(200), n INT NOT NULL DEFAULT 0, PRIMARY KEY (client, id))",
    "CREATE TABLE b (client INT, id INT, v VARCHAR(200), n INT NOT NULL DEFAULT 0, "
    "at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), "
    "twice BIGINT AS (n * 2) STORED, PRIMARY KEY (client, id), KEY n (n))",
    "CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL)",
    "INSERT INTO counters VALUES (0, 0)",
)
IDS = 40


class Owner:
    """The rows that only one client writes: its possible requests, their bytes, and their expected results."""

    def __init__(self, number, seed, many):
        self.number, self.many = number, many
        self.random = random.Random(f"{seed} {number}")

    def next_op(self, position):
        """A random request; `position` makes its value unique."""
        pick = self.random.random()
        table = self.random.randrange(2)
        key = (table, self.random.randrange(IDS))
        value = f"{self.number}-{position}-" + "x" * self.random.randrange(120)
        number = self.random.randrange(1000)
        if pick < 0.25:
            return ("insert", key, value, number)
        if pick < 0.45:
            return ("update", key, value, number)
        if pick < 0.65:
            return ("add", key, None, number)
        if pick < 0.75:
            return ("upsert", key, value, number)
        if pick < 0.85:
            return ("delete", key, None, 0)
        if pick < 0.85 + self.many:
            return ("many", (table, 0), None, number)
        return ("count", None, None, 1)

    def request(self, op):
        kind, key, value, number = op
        if kind == "count":
            return b"9\t=\t1\t0\t1\t0\t+\t1\n"
        base = key[0] * 3
        where = b"\t=\t2\t%d\t%d\t1\t0\t" % (self.number, key[1])
        if kind in ("insert", "upsert"):
            how = b"+" if kind == "insert" else b"U"
            return b"%d\t%b\t4\t%d\t%d\t%b\t%d\n" % (base, how, self.number, key[1], value.encode(), number)
        if kind == "update":
            return b"%d%bU\t%b\n" % (base + 1, where, value.encode())
        if kind == "add":
            return b"%d%b+\t%d\n" % (base + 2, where, number)
        if kind == "delete":
            return b"%d%bD\n" % (base, where)
        # Several rows of one table: all or none.
        return b"%d\t=\t1\t%d\t1000\t0\t+\t%d\n" % (base + 2, self.number, number)

    @staticmethod
    def apply(rows, op):
        """Changes the model's rows as the server must; returns the reply."""
        kind, key, value, number = op
        if kind == "count":
            return b"0\t1\t1"
        if kind == "insert":
            if key in rows:
                return b"1\t1\t121"
            rows[key] = (value, number)
            return b"0\t1"
        if kind == "upsert":
            known = key in rows
            rows[key] = (value, number)
            return b"0\t1\t2" if known else b"0\t1\t1"
        if kind == "many":
            count = 0
            for one, (text, old) in list(rows.items()):
                if one[0] == key[0]:
                    rows[one] = (text, old + number)
                    count += 1
            return b"0\t1\t%d" % count
        if key not in rows:
            return b"0\t1\t0"
        if kind == "delete":
            del rows[key]
        elif kind == "update":
            rows[key] = (value, rows[key][1])
        else:
            rows[key] = (rows[key][0], rows[key][1] + number)
        return b"0\t1\t1"


class Client(threading.Thread):
    """One connection that writes, with up to `depth` requests in flight."""

    def __init__(self, load, number, depth):
        super().__init__(name=f"client {number}")
        self.load, self.number, self.depth = load, number, depth
        self.owner = Owner(number, load.seed, load.many)
        self.ops = []  # everything sent, in order
        self.answered = 0
        self.refused = set()  # positions of requests that were answered with an error: no effect
        self.strange = []
        self.lost = None  # how the connection ended, unless we closed it
        self.now = {}  # the rows once all of `ops` are done

    # running

    def run(self):
        try:
            with self.load.server.hs_wr(timeout=self.load.timeout) as connection:
                for table, name in enumerate(TABLES):
                    for offset, columns in enumerate(("client,id,v,n", "v", "n")):
                        connection.open(table * 3 + offset, self.load.database, name, columns)
                connection.open(9, self.load.database, "counters", "n")
                self.load.has_opened()
                while not self.load.stop.is_set():
                    self.push(connection)
        except (OSError, EOFError) as problem:
            self.lost = problem

    def push(self, connection):
        begin = len(self.ops)
        requests = []
        for _ in range(self.owner.random.randrange(1, self.depth + 1)):
            self.ops.append(self.owner.next_op(len(self.ops)))
            requests.append(self.owner.request(self.ops[-1]))
        sent = time.monotonic()
        connection.send(b"".join(requests))
        for position in range(begin, len(self.ops)):
            line = connection.line()
            op = self.ops[position]
            if line.startswith(b"1\t1\t") and line != b"1\t1\t121":
                self.refused.add(position)
                self.load.heard(line)
            else:
                expected = self.owner.apply(self.now, op)
                if line != expected:
                    self.strange.append((position, op, line, expected))
            self.answered = position + 1
        self.load.took(time.monotonic() - sent)

    # checking

    def counted(self, count):
        return sum(
            1 for position, op in enumerate(self.ops[:count]) if op[0] == "count" and position not in self.refused
        )

    def check(self, rows):
        """`rows` are this client's in the tables; they must match the model after some unanswered request."""
        assert not self.strange, f"{self.name}: {len(self.strange)} wrong replies, the first {self.strange[0]}"
        model = {}
        for position, op in enumerate(self.ops[: self.answered]):
            if position not in self.refused:
                self.owner.apply(model, op)
        if rows == model:
            return
        first = dict(model)
        for op in self.ops[self.answered :]:
            self.owner.apply(model, op)
            if rows == model:
                return
        missing = [(key, value) for key, value in first.items() if rows.get(key) != value][:5]
        extra = [(key, value) for key, value in rows.items() if first.get(key) != value][:5]
        raise AssertionError(
            f"{self.name}: no prefix of what was sent gives the rows; {self.answered} of {len(self.ops)} "
            f"answered; expected {missing}, found {extra}"
        )


class Load:
    """Clients 0 to `clients` - 1; every other one has many requests in flight. `many`: the share of requests that
    change several rows."""

    def __init__(self, server, clients=6, depth=50, database="test", seed=1, many=0.0, timeout=60, create=True):
        self.server, self.database, self.seed, self.many, self.timeout = server, database, seed, many, timeout
        self.stop = threading.Event()
        self.changed = threading.Condition()
        self.errors = {}
        self.opened = 0
        self.slowest_s = 0.0
        if create:
            server.execute(*SCHEMA, database=database)
        self.clients = [Client(self, number, depth if number % 2 else 1) for number in range(clients)]

    def __enter__(self):
        for client in self.clients:
            client.start()
        with self.changed:
            assert self.changed.wait_for(
                lambda: self.opened == len(self.clients), self.timeout
            ), "clients cannot open their tables"
        return self

    def has_opened(self):
        with self.changed:
            self.opened += 1
            self.changed.notify_all()

    def __exit__(self, *_):
        self.stop.set()
        for client in self.clients:
            client.join(self.timeout + 30)
            assert not client.is_alive(), f"{client.name} hangs"

    def heard(self, line):
        with self.changed:
            self.errors[line] = self.errors.get(line, 0) + 1

    def took(self, seconds):
        with self.changed:
            self.slowest_s = max(self.slowest_s, seconds)
            self.changed.notify_all()

    def answered(self):
        return sum(client.answered for client in self.clients)

    def wait_for(self, count, seconds=60):
        """Waits for so many more replies."""
        target = self.answered() + count
        with self.changed:
            done = self.changed.wait_for(lambda: self.answered() >= target or not self.alive(), seconds)
        assert (
            done and self.answered() >= target
        ), f"only {self.answered()} of {target} replies; connections ended by {[c.lost for c in self.clients]}; {self.errors}"

    def alive(self):
        return any(client.is_alive() for client in self.clients)

    def check_ended(self):
        """The server has closed all connections, and none hangs."""
        for client in self.clients:
            client.join(self.timeout)
            assert not client.is_alive() and client.lost is not None, f"{client.name} was not closed"

    def rows(self, server):
        """The rows of the tables, by client."""
        found = {client.number: {} for client in self.clients}
        for table, name in enumerate(TABLES):
            for client, key, value, number in server.query(
                f"SELECT client, id, v, n FROM {name}", database=self.database
            ):
                found[client][table, key] = (value, number)
        return found

    def check(self, server, lost=False):
        """The tables of `server` agree with the model. `lost`: the connections may have been cut."""
        if not lost:
            assert [client.lost for client in self.clients if client.lost] == []
        found = self.rows(server)
        for client in self.clients:
            client.check(found[client.number])
        least = sum(client.counted(client.answered) for client in self.clients)
        most = sum(client.counted(len(client.ops)) for client in self.clients)
        ((count,),) = server.query("SELECT n FROM counters WHERE id = 0", database=self.database)
        assert least <= count <= most, f"the counter is {count}, but {least} were answered and {most} sent"
        for name in (*TABLES, "counters"):
            verdict = server.query(f"CHECK TABLE {name} EXTENDED", database=self.database)
            assert verdict[-1][3] == "OK", verdict
