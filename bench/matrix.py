"""Rows of measurements: each a workload with its peers and the state of the servers meanwhile. catalogue.py has all."""
import dataclasses

ROWS = 1_000_000
HOT_KEYS = 1_000
COUNTERS = 100_000
PEOPLE = 5_000_000
# Bounds of tables of values, in rows and bytes: they have to fit in memory.
VALUES_MAX = 100_000
VALUES_BYTES = 100 << 20
WIDE = 100_000
WIDE_COLUMNS = 32
CONNECTIONS = 5000
# The connections that 20,000 descriptors of a process allow, besides files and listeners.
CONNECTIONS_MOST = 19_150

# Peers by name; peers.py has their programs.
SQL = ("sql-text", "sql-prepared", "sql-door-text", "sql-door-prepared")
READERS = ("null", "memcached", "redis", "original", *SQL, "ours", "ours-memcached", "ours-redis")
UNIX_READERS = (
    *("null-unix", "memcached-unix", "redis-unix", "original-unix", "sql-prepared-unix"),
    *("sql-door-prepared-unix", "ours-unix", "ours-memcached-unix", "ours-redis-unix"),
)
ORDERED = ("original", *SQL, "ours")
WRITERS = ("redis", "original", *SQL, "ours", "ours-memcached", "ours-redis")
VOLATILE_WRITERS = ("memcached", *WRITERS)
ENGINE_READERS = ("original", "sql-prepared", "ours")
MORE_READERS = ("memcached-meta",)


def rows_in(table):
    """The number of rows of a table, by its name in --table of bench/load."""
    head, _, number = table.partition("_")
    if head == "value":
        return min(VALUES_MAX, VALUES_BYTES // int(number))
    return {"people": PEOPLE, "wide": WIDE}.get(head) or (int(number) if number else ROWS)


@dataclasses.dataclass(frozen=True)
class State:
    """The settings of the servers during a row. MariaDB restarts when settled() changes."""

    binlog: bool = False
    buffer_pool: str = "1G"
    threads: int = 1  # read threads of a door
    threads_wr: int | None = None  # write threads of our door; None: its default
    connections: int = CONNECTIONS
    large_pages: bool = False
    adaptive_hash: bool = True
    hash_parts: int = 1  # innodb_adaptive_hash_index_parts; the server's default is 8, see docs/figures.md
    durable: bool = False
    flush_log: int | None = None  # None: by `durable`, 1 or 2
    sync_binlog: int | None = None  # None: by `durable`, 1 or 0

    def settled(self):
        return (
            self.binlog,
            self.buffer_pool,
            self.threads,
            self.threads_wr,
            self.connections,
            self.large_pages,
            self.hash_parts,
            self.durable,
        )


@dataclasses.dataclass(frozen=True)
class Point:
    """The place of a row in a picture: on the curve `variant` of the panel `along`, at `at`."""

    picture: str
    along: str
    at: str
    variant: str = ""


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
    tail: bool = False  # measured at fixed rates, too
    idle: int = 0  # connections that stay silent beside the clients
    idle_as: str = "used"
    tells_levels: bool = False  # report the depth of the primary key's tree
    point: Point | None = None

    def arguments(self):
        """The arguments of bench/load for every peer."""
        extra = [f"--{self.option}", str(self.rows_per_operation)] if self.option else []
        if self.idle:
            extra += ["--idle", str(self.idle), "--idle-as", self.idle_as]
        return [
            "--mix",
            self.mix,
            "--clients",
            str(self.clients),
            "--depth",
            str(self.depth),
            "--keys",
            self.keys,
            "--max",
            str(self.key_max),
            "--table",
            self.table,
            *extra,
        ]


def shape_name(clients, depth):
    return f"{clients}x{depth}"


def find(clients, depth, profile="default", peers=READERS, **more):
    prefix, words = more.pop("prefix", "find"), more.pop("words", "uniform keys")
    return Row(
        f"{prefix}-{shape_name(clients, depth)}",
        f"find, {clients} connections x {depth} in flight, {words}",
        peers,
        profile,
        clients=clients,
        depth=depth,
        **more,
    )


def write(name, title, mix, profile="default", clients=50, depth=1, durable=True, **more):
    binlog = more.pop("binlog", False)
    more.setdefault("table", "written")
    kind = ("durable" if durable else "relaxed") + ("-binlog" if binlog else "")
    words = ("durable" if durable else "relaxed") + (", binlog on" if binlog else ", binlog off")
    peers = more.pop("peers", WRITERS if durable else VOLATILE_WRITERS)
    return Row(
        f"{name}-{kind}-{shape_name(clients, depth)}",
        f"{title}, {clients} connections x {depth} in flight, {words}",
        peers,
        profile,
        mix=mix,
        clients=clients,
        depth=depth,
        state=State(binlog=binlog, durable=durable),
        **more,
    )


def article_rows():
    """Workload of the 2012 article on MySQL's memcached plugin: 10,000 pairs, 100-byte values, its flush setting."""
    stores = ("memcached", "original", "sql-text", "sql-prepared", "ours", "ours-memcached")
    ways = stores + ("memcached-unix", "ours-unix", "ours-memcached-unix")
    for clients in (1, 4, 50):
        at = f"{clients} client{'s' if clients > 1 else ''}"
        yield Row(
            f"article-fetch-{clients}",
            f"10,000 pairs, fetched by {at}",
            ways,
            "article-2012",
            clients=clients,
            table="value_100",
            key_max=10_000,
            point=Point("article-2012", "10,000 pairs, fetched", at),
        )
        yield Row(
            f"article-load-{clients}",
            f"rows, loaded by {at}, relaxed",
            stores,
            "article-2012",
            mix="insert=100",
            clients=clients,
            table="written",
            point=Point("article-2012", "rows loaded, relaxed", at),
        )


def redis_rows():
    """The Redis door beside Redis: reads beside one that keeps no log, or flushes it once a second; durable writes."""
    ways = (
        ("get", "", "GET"),
        ("hgetall", "-hgetall", "HGETALL of 3 fields"),
        ("hmget", "-hmget", "HMGET of 3 fields"),
    )
    for name, way, words in ways:
        for clients, depth in ((50, 1), (50, 16), (20, 100)):
            yield Row(
                f"redis-{name}-{shape_name(clients, depth)}",
                f"{words}, {clients} connections x {depth} in flight, uniform keys",
                tuple(f"{server}{way}" for server in ("redis", "redis-everysec", "ours-redis")),
                "redis",
                clients=clients,
                depth=depth,
            )
    for name, words, mix, more in (
        ("redis-set", "SET", "update=100", {}),
        ("redis-incr", "INCR", "increment=100", {"key_max": COUNTERS}),
    ):
        for clients, depth in ((1, 1), (50, 1), (50, 16)):
            yield write(name, words, mix, "redis", clients, depth, peers=("redis", "ours-redis"), **more)
        peers = ("redis-everysec", "ours-redis")
        yield write(name, words, mix, "redis", durable=False, peers=peers, **more)


def plain_rows():
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
        yield Row(
            f"multi-{rows}",
            f"multi-get of {rows} keys, 50 connections, rows a second",
            tuple(p for p in READERS if p != "null"),
            profile,
            mix="multi=100",
            rows_per_operation=rows,
            option="multi",
        )
    for rows in (10, 100):
        yield Row(
            f"scan-{rows}",
            f"range scan of {rows} rows, 50 connections, rows a second",
            ORDERED,
            "default",
            mix="scan=100",
            rows_per_operation=rows,
            option="scan",
        )
    for clients, depth, profile in ((50, 1, "default"), (20, 100, "default"), (50, 16, "all"), (1000, 1, "all")):
        yield find(
            clients,
            depth,
            profile,
            ENGINE_READERS,
            prefix="find-nohash",
            words="uniform keys, adaptive hash index off",
            state=no_hash,
        )
    for clients, depth, profile in ((50, 1, "default"), (20, 100, "default"), (50, 16, "all")):
        yield find(
            clients,
            depth,
            profile,
            ENGINE_READERS + ("ours-memcached",),
            prefix="find-parts-8",
            words="uniform keys, adaptive hash index in eight parts",
            state=State(hash_parts=8),
        )
    yield Row(
        "scan-nohash-100",
        "range scan of 100 rows, 50 connections, adaptive hash index off, rows a second",
        ENGINE_READERS,
        "all",
        mix="scan=100",
        rows_per_operation=100,
        option="scan",
        state=no_hash,
    )

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
    # The buffer pool holds a tenth of the table, so reads go to the disk, and a client that waits for it must not delay
    # others. A door has as many threads as the original has by default.
    for clients in (1, 10):
        yield find(
            clients,
            1,
            "all",
            ORDERED,
            prefix="people",
            table="people",
            key_max=PEOPLE,
            words="15 columns, 5,000,000 rows, more than memory",
            state=State(buffer_pool="256M", threads=16),
        )
