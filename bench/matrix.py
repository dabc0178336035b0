"""What is measured: rows, each a workload with the peers it is put to and the state the servers are in meanwhile."""
import dataclasses
import fnmatch

ROWS = 1_000_000
HOT_KEYS = 1_000
COUNTERS = 100_000
PEOPLE = 5_000_000

# Peers by name; peers.py knows how each is started and spoken to.
READERS = ("null", "memcached", "redis", "original", "sql-text", "sql-prepared", "ours")
UNIX_READERS = ("null-unix", "memcached-unix", "redis-unix", "original-unix", "ours-unix")
ORDERED = ("original", "sql-text", "sql-prepared", "ours")
WRITERS = ("redis", "original", "sql-text", "sql-prepared", "ours")
VOLATILE_WRITERS = ("memcached", *WRITERS)
ENGINE_READERS = ("original", "sql-prepared", "ours")
MORE_READERS = ("memcached-meta", "sql-prepared-unix")


@dataclasses.dataclass(frozen=True)
class State:
    """What the servers are set to during a row. A change of what settled() tells restarts MariaDB."""
    binlog: bool = False
    buffer_pool: str = "1G"
    threads: int = 1  # of a door for reading
    adaptive_hash: bool = True
    durable: bool = False

    def settled(self):
        return self.binlog, self.buffer_pool, self.threads


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    title: str
    peers: tuple
    profile: str = "default"  # "quick" is part of "default", which is part of "all"
    mix: str = "find=100"
    clients: int = 50
    depth: int = 1
    keys: str = "uniform"
    key_max: int = ROWS
    table: str = "user"
    rows_per_operation: int = 1
    option: str = ""  # "multi" or "scan", with rows_per_operation
    state: State = State()
    tail: bool = False  # also at fixed rates

    def arguments(self):
        """Of bench/load, for every peer."""
        extra = [f"--{self.option}", str(self.rows_per_operation)] if self.option else []
        return ["--mix", self.mix, "--clients", str(self.clients), "--depth", str(self.depth), "--keys", self.keys,
                "--max", str(self.key_max), "--table", self.table, *extra]


def shape_name(clients, depth):
    return f"{clients}x{depth}"


def find(clients, depth, profile="default", peers=READERS, **more):
    prefix, words = more.pop("prefix", "find"), more.pop("words", "uniform keys")
    return Row(f"{prefix}-{shape_name(clients, depth)}", f"find, {clients} connections x {depth} in flight, {words}",
               peers, profile, clients=clients, depth=depth, **more)


def write(name, title, mix, profile="default", clients=50, depth=1, durable=True, **more):
    binlog = more.pop("binlog", False)
    more.setdefault("table", "written")
    kind = ("durable" if durable else "relaxed") + ("-binlog" if binlog else "")
    words = ("durable" if durable else "relaxed") + (", binlog on" if binlog else ", binlog off")
    peers = more.pop("peers", WRITERS if durable else VOLATILE_WRITERS)
    return Row(f"{name}-{kind}-{shape_name(clients, depth)}",
               f"{title}, {clients} connections x {depth} in flight, {words}", peers, profile, mix=mix, clients=clients,
               depth=depth, state=State(binlog=binlog, durable=durable), **more)


def every_row():
    no_hash = State(adaptive_hash=False)
    yield find(50, 1, "quick", READERS + UNIX_READERS, tail=True)
    yield find(50, 16, "quick")
    yield find(20, 100, "quick")
    yield find(1, 1)
    yield find(200, 1)
    yield find(1000, 1)
    yield find(1, 16, "all")
    yield find(1, 100, "all")
    yield find(200, 16, "all")
    yield find(50, 16, "all", UNIX_READERS, prefix="unix-find", words="uniform keys, unix sockets")
    yield find(20, 100, "all", UNIX_READERS, prefix="unix-find", words="uniform keys, unix sockets")
    yield find(50, 1, "all", MORE_READERS + ("null",), prefix="more-find")
    yield find(50, 16, "all", MORE_READERS + ("null",), prefix="more-find")
    for clients, depth, profile in ((50, 1, "default"), (20, 100, "default"), (50, 16, "all")):
        yield find(clients, depth, profile, prefix="hot", words=f"{HOT_KEYS} hot keys", key_max=HOT_KEYS)
        yield find(clients, depth, profile, prefix="zipfian", words="zipfian keys (0.99)", keys="zipfian")
    for rows, profile in ((50, "quick"), (10, "all")):
        yield Row(f"multi-{rows}", f"multi-get of {rows} keys, 50 connections, rows a second",
                  tuple(p for p in READERS if p != "null"), profile, mix="multi=100", rows_per_operation=rows,
                  option="multi")
    for rows in (10, 100):
        yield Row(f"scan-{rows}", f"range scan of {rows} rows, 50 connections, rows a second", ORDERED, "default",
                  mix="scan=100", rows_per_operation=rows, option="scan")
    for clients, depth, profile in ((50, 1, "default"), (20, 100, "default"), (50, 16, "all"), (1000, 1, "all")):
        yield find(clients, depth, profile, ENGINE_READERS, prefix="find-nohash",
                   words="uniform keys, adaptive hash index off", state=no_hash)
    yield Row("scan-nohash-100", "range scan of 100 rows, 50 connections, adaptive hash index off, rows a second",
              ENGINE_READERS, "all", mix="scan=100", rows_per_operation=100, option="scan", state=no_hash)

    counter = {"key_max": COUNTERS}
    yield write("update", "update", "update=100", "quick")
    yield write("update", "update", "update=100", depth=16)
    yield write("update", "update", "update=100", durable=False)
    yield write("update", "update", "update=100", binlog=True)
    yield write("update", "update", "update=100", "all", binlog=True, depth=16)
    yield write("update", "update", "update=100", "all", binlog=True, durable=False)
    yield write("update", "update", "update=100", "all", clients=1)
    yield write("update-zipfian", "update of zipfian keys", "update=100", "all", keys="zipfian")
    yield write("insert", "insert", "insert=100")
    yield write("insert", "insert", "insert=100", "all", depth=16)
    yield write("insert", "insert", "insert=100", "all", durable=False)
    yield write("insert", "insert", "insert=100", "all", binlog=True)
    yield write("increment", "increment", "increment=100", **counter)
    yield write("increment", "increment", "increment=100", "all", durable=False, **counter)
    yield write("increment", "increment", "increment=100", "all", binlog=True, **counter)
    yield write("mixed", "90% find, 10% update", "find=90,update=10")
    yield write("mixed", "90% find, 10% update", "find=90,update=10", "all", durable=False)
    yield write("mixed", "90% find, 10% update", "find=90,update=10", "all", depth=16)
    # The buffer pool holds a tenth of the table: the disk answers, and who waits for it must not keep others waiting.
    # A door has as many threads as the original has by default.
    for clients in (1, 10):
        yield find(clients, 1, "all", ORDERED, prefix="people", table="people", key_max=PEOPLE,
                   words="15 columns, 5,000,000 rows, more than memory", state=State(buffer_pool="256M", threads=16))


PROFILES = {"quick": {"quick"}, "default": {"quick", "default"}, "all": {"quick", "default", "all"}}


def rows_of(profile, patterns):
    """Patterns choose from all rows; without any the profile does. Rows that need the same server stand together."""
    def wanted(row):
        if patterns:
            return any(fnmatch.fnmatchcase(row.name, pattern) for pattern in patterns)
        return row.profile in PROFILES[profile]
    chosen = [row for row in every_row() if wanted(row)]
    order = {}
    for row in chosen:
        order.setdefault(row.state.settled(), len(order))
    return sorted(chosen, key=lambda row: (order[row.state.settled()], not row.state.adaptive_hash))
