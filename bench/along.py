"""Series of rows in which one parameter grows or one setting changes and everything else is constant."""
from matrix import CONNECTIONS_MOST, ENGINE_READERS, Point, ROWS, Row, State, WIDE_COLUMNS, rows_in


def grow(name, title, point, clients=50, depth=16, peers=ENGINE_READERS, **more):
    more.setdefault("key_max", rows_in(more.get("table", "user")))
    return Row(
        f"grow-{name}",
        f"find, {clients} connections x {depth} in flight, {title}",
        peers,
        "grow",
        clients=clients,
        depth=depth,
        point=Point("growth", *point),
        **more,
    )


def in_flight(depth, clients=50):
    return f"{clients} connections x {depth} in flight"


def growth_rows():
    """Rows in which one parameter grows."""
    for adaptive_hash, name, words in ((True, "", "AHI on"), (False, "nohash-", "AHI off")):
        for rows in (10_000, 100_000, 1_000_000, 10_000_000):
            for depth in (16, 1):
                yield grow(
                    f"rows-{name}{rows}x{depth}",
                    f"{rows:,} rows, {words}",
                    (f"rows in the table, {in_flight(depth)}", f"{rows:,}", words),
                    depth=depth,
                    table="user" if rows == ROWS else f"user_{rows}",
                    tells_levels=True,
                    state=State(buffer_pool="3G", adaptive_hash=adaptive_hash),
                )
    many = State(connections=CONNECTIONS_MOST)
    for clients in (1, 10, 50, 200, 1000, 5000, 19_000):
        yield grow(
            f"connections-{clients}",
            "all of them busy",
            ("connections, 1 in flight each", f"{clients:,}"),
            clients,
            1,
            ("null", "memcached", *ENGINE_READERS, "ours-memcached"),
            state=many,
        )
    for idle in (0, 1000, 5000, 19_000):
        for idle_as in ("used",) if idle < 19_000 else ("used", "connected"):
            words = "" if idle_as == "used" else ", which have asked nothing"
            yield grow(
                f"idle-{idle}" + ("" if idle_as == "used" else "-fresh"),
                f"{idle:,} silent ones beside{words}",
                (f"silent connections beside {in_flight(16)}", f"{idle:,}" + (" fresh" if words else "")),
                peers=("memcached", *ENGINE_READERS, "ours-memcached"),
                idle=idle,
                idle_as=idle_as,
                state=many,
            )
    for depth, sizes in ((1, (10, 80, 640, 4096, 32_768, 262_144, 1_048_576)), (16, (10, 80, 640, 4096, 32_768))):
        for size in sizes:
            yield grow(
                f"value-{size}x{depth}",
                f"a value of {size:,} bytes",
                (f"bytes of a value, {in_flight(depth)}", f"{size:,}"),
                depth=depth,
                table=f"value_{size}",
                peers=("memcached", *ENGINE_READERS, "ours-memcached"),
            )
    for columns in (1, 2, 4, 8, 16, 32):
        yield grow(
            f"columns-{columns}",
            f"{columns} of {WIDE_COLUMNS} columns",
            (f"columns read of {WIDE_COLUMNS}, {in_flight(16)}", f"{columns}"),
            table=f"wide_{columns}",
        )


def setting(name, title, point, state, peers=ENGINE_READERS, **more):
    return Row(f"set-{name}", title, peers, "settings", state=state, point=Point("settings", *point), **more)


def settings_rows():
    """Rows in which one setting changes."""
    for adaptive_hash, at in ((True, "on"), (False, "off")):
        state = State(adaptive_hash=adaptive_hash)
        for keys in ("uniform", "zipfian"):
            yield setting(
                f"hash-{at}-{keys}",
                f"find of {keys} keys, {in_flight(16)}, innodb_adaptive_hash_index {at}",
                (f"innodb_adaptive_hash_index, find of {keys} keys, {in_flight(16)}", at),
                state,
                depth=16,
                keys=keys,
            )
        yield setting(
            f"hash-{at}-scan",
            f"range scan of 100 rows, 50 connections, innodb_adaptive_hash_index {at}, " "rows a second",
            ("innodb_adaptive_hash_index, scan of 100 rows, 50 connections", at),
            state,
            mix="scan=100",
            rows_per_operation=100,
            option="scan",
        )
        yield setting(
            f"hash-{at}-update",
            f"update, {in_flight(16)}, relaxed, innodb_adaptive_hash_index {at}",
            (f"innodb_adaptive_hash_index, update, {in_flight(16)}, relaxed", at),
            state,
            mix="update=100",
            table="written",
            depth=16,
        )
        yield setting(
            f"hash-{at}-insert",
            f"insert, 50 connections, relaxed, innodb_adaptive_hash_index {at}",
            ("innodb_adaptive_hash_index, insert, 50 connections, relaxed", at),
            state,
            mix="insert=100",
            table="written",
        )
    for parts in (1, 8):
        yield setting(
            f"parts-{parts}-find",
            f"find, {in_flight(16)}, innodb_adaptive_hash_index_parts {parts}",
            (f"innodb_adaptive_hash_index_parts, find, {in_flight(16)}", str(parts)),
            State(hash_parts=parts),
            depth=16,
        )
        yield setting(
            f"parts-{parts}-update",
            f"update, {in_flight(16)}, relaxed, " f"innodb_adaptive_hash_index_parts {parts}",
            (f"innodb_adaptive_hash_index_parts, update, {in_flight(16)}, relaxed", str(parts)),
            State(hash_parts=parts),
            depth=16,
            mix="update=100",
            table="written",
        )
    # The table takes 90 MB.
    for pool in ("1G", "64M", "32M"):
        for threads in (1, 4, 16):
            yield setting(
                f"pool-{pool}-{threads}",
                f"find, {in_flight(1)}, innodb_buffer_pool_size {pool}, " f"{threads} read threads",
                (f"innodb_buffer_pool_size, find, {in_flight(1)}", pool, f"{threads} read threads"),
                State(buffer_pool=pool, threads=threads),
                peers=("original", "ours") + (("sql-prepared",) if threads == 1 else ()),
            )
    for threads in (1, 2, 4, 16):
        yield setting(
            f"threads-{threads}",
            f"find, {in_flight(16)}, {threads} read threads",
            (f"handlersocket_threads, find, {in_flight(16)}", str(threads)),
            State(threads=threads),
            peers=("original", "ours"),
            depth=16,
        )
    for threads in (1, 2, 4, 8):
        for depth in (1, 16):
            yield setting(
                f"threads-wr-{threads}x{depth}",
                f"durable update, {in_flight(depth)}, {threads} write threads",
                (f"handlersocket_threads_wr, durable update, {in_flight(depth)}", str(threads)),
                State(threads_wr=threads, durable=True),
                peers=("ours",),
                mix="update=100",
                table="written",
                depth=depth,
            )
    writers = {"peers": ("original", "sql-prepared", "ours"), "mix": "update=100", "table": "written"}
    for flush_log in (0, 1, 2):
        yield setting(
            f"flush-{flush_log}",
            f"update, {in_flight(1)}, innodb_flush_log_at_trx_commit {flush_log}, " "binlog off",
            (f"innodb_flush_log_at_trx_commit, update, {in_flight(1)}, binlog off", str(flush_log)),
            State(durable=True, flush_log=flush_log),
            **writers,
        )
    writers["peers"] = ("sql-prepared", "ours")
    for sync in (0, 1, 100):
        yield setting(
            f"sync-{sync}",
            f"update, {in_flight(1)}, sync_binlog {sync}, binlog on, " "innodb_flush_log_at_trx_commit 1",
            (f"sync_binlog, update, {in_flight(1)}", str(sync)),
            State(binlog=True, durable=True, sync_binlog=sync),
            **writers,
        )
    for large, at in ((False, "off"), (True, "on")):
        yield setting(
            f"pages-{at}",
            f"find, {in_flight(16)}, large_pages {at}",
            (f"large_pages, find, {in_flight(16)}", at),
            State(large_pages=large),
            depth=16,
        )
