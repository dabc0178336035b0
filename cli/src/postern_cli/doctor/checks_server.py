"""Checks of the server's own settings that make doors slow, or writes less durable than they look."""

from __future__ import annotations

from typing import Iterator

from postern_cli.doctor.facts import Facts
from postern_cli.doctor.finding import Finding, good


def hash_index(facts: Facts) -> Iterator[Finding]:
    if "innodb_adaptive_hash_index" not in facts.variables:
        return
    if not facts.on("innodb_adaptive_hash_index"):
        yield Finding(
            "slow",
            "hash-index",
            "innodb_adaptive_hash_index is OFF.",
            "It about doubles the speed of look-ups by a whole key, for SQL, too; tables with many writes pay for it.",
            "SET GLOBAL innodb_adaptive_hash_index = ON;  -- and in an option file",
        )
    elif facts.number("innodb_adaptive_hash_index_parts") > 1 and hot_tables(facts) in (1, 2):
        yield Finding(
            "note",
            "hash-index",
            f"innodb_adaptive_hash_index_parts is {facts.number('innodb_adaptive_hash_index_parts')}.",
            "One or two tables have most rows: with 1 part they have all buckets, a quarter more finds (docs/performance.md).",
            "innodb_adaptive_hash_index_parts = 1  # in an option file; at start only",
        )
    else:
        yield good("hash-index", "InnoDB's adaptive hash index is on.")


def hot_tables(facts: Facts) -> int:
    """The number of tables that hold nine tenths of all rows."""
    rows = facts.ask(
        "SELECT table_rows FROM information_schema.tables WHERE engine = 'InnoDB' AND table_schema NOT IN"
        " ('mysql', 'sys', 'innodb_memcache', 'postern') AND table_rows > 0 ORDER BY table_rows DESC LIMIT 1000"
    )
    sizes = [int(row[0]) for row in rows or []]
    taken, tables = 0, 0
    for size in sizes:
        if taken >= 0.9 * sum(sizes):
            break
        taken, tables = taken + size, tables + 1
    return tables if sum(sizes) > 1_000_000 else 0


def buffer_pool(facts: Facts) -> Iterator[Finding]:
    pool = facts.number("innodb_buffer_pool_size")
    reads, asked = facts.count("innodb_buffer_pool_reads"), facts.count("innodb_buffer_pool_read_requests")
    rows = facts.ask(
        "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables WHERE engine = 'InnoDB'"
    )
    data = int(rows[0][0]) if rows else 0
    if data > pool and asked > 100_000 and reads > asked // 100:
        yield Finding(
            "slow",
            "buffer-pool",
            f"InnoDB has {data / 2**20:,.0f} MiB of rows and indexes, and innodb_buffer_pool_size is {pool / 2**20:,.0f} MiB;"
            f" {100 * reads / asked:.1f} % of its reads wait for the disk.",
            "Doors gain most if the rows are in memory.",
            "SET GLOBAL innodb_buffer_pool_size = ...;  -- up to about 70 % of the memory of a machine of its own",
        )
    else:
        yield good(
            "buffer-pool", f"innodb_buffer_pool_size is {pool / 2**20:,.0f} MiB, of {data / 2**20:,.0f} MiB of data."
        )


def durability(facts: Facts) -> Iterator[Finding]:
    flush = facts.variable("innodb_flush_log_at_trx_commit")
    if flush not in ("1", "3"):
        yield Finding(
            "unsafe",
            "durability",
            f"innodb_flush_log_at_trx_commit is {flush}.",
            "Answered writes may be lost when "
            + ("the server or the machine fails." if flush == "0" else "the machine fails: up to a second of writes."),
            "SET GLOBAL innodb_flush_log_at_trx_commit = 1;  -- doors share a flush among all clients that write at once",
        )
    else:
        yield good("durability", "Writes are on the disk before they are answered.")
    if facts.on("log_bin") and facts.variable("sync_binlog") == "0":
        yield Finding(
            "unsafe",
            "binlog",
            "sync_binlog is 0.",
            "After a crash of the machine the binary log may lack transactions that InnoDB has; replicas differ then.",
            "SET GLOBAL sync_binlog = 1;",
        )
    if facts.on("log_bin") and facts.number("binlog_commit_wait_count"):
        yield Finding(
            "note",
            "binlog",
            f"binlog_commit_wait_count is {facts.number('binlog_commit_wait_count')}.",
            "The server's own commits wait for others to join. Doors' commits do not wait, and do not count as others.",
            "SET GLOBAL binlog_commit_wait_count = 0;  -- if no replica needs it",
        )
    open_to_sql = facts.number("postern_port") or facts.variable("postern_socket") or facts.on("postern_main_port")
    full = facts.on("log_bin") and facts.variable("binlog_row_image") == "FULL"
    if full and not open_to_sql and door_writes(facts) > 100_000:
        yield Finding(
            "note",
            "binlog",
            "binlog_row_image is FULL.",
            "Each change of a row by a door writes the row twice to the binary log, whole.",
            "SET GLOBAL binlog_row_image = 'MINIMAL';  -- if nobody else reads the binary log",
        )
    if facts.variable("innodb_doublewrite").upper() in ("OFF", "0"):
        yield Finding(
            "unsafe",
            "durability",
            "innodb_doublewrite is OFF.",
            "A page that is half written when the power fails is lost, unless the file system writes pages whole.",
            "innodb_doublewrite = ON  # in an option file",
        )
    if facts.variable("innodb_log_file_buffering") == "OFF":
        yield Finding(
            "note",
            "log",
            "innodb_log_file_buffering is OFF.",
            "By a fault of the server it may not start again when it is killed in the middle of a write of InnoDB's log"
            " (docs/operating.md).",
            "SET GLOBAL innodb_log_file_buffering = ON;  -- and in an option file",
        )


def door_writes(facts: Facts) -> int:
    return sum(
        facts.count(f"{door}_rows_{what}") for door in facts.doors() for what in ("inserted", "updated", "deleted")
    )


def threads(facts: Facts) -> Iterator[Finding]:
    processors = facts.processors()
    for door in facts.doors():
        for setting in ("threads", "threads_wr"):
            count = facts.number(f"{door}_{setting}")
            most = processors * (4 if door == "memcached" else 2)
            if processors and count > most:
                yield Finding(
                    "slow",
                    "threads",
                    f"{door}_{setting} is {count}, and the machine has {processors} processors.",
                    "Threads that share a processor take turns, and fewer clients share a turn or a commit.",
                    f"loose_{door}_{setting} = {processors}",
                )
        slow, pauses = facts.count(f"{door}_slow_finds") + facts.count(f"{door}_lone_writes"), facts.count(
            f"{door}_scan_pauses"
        )
        asked = sum(facts.count(f"{door}_requests_{kind}") for kind in ("find", "insert", "edit"))
        if slow > 1000 and slow > asked // 10:
            yield Finding(
                "slow",
                "scans",
                f"{door}: {slow:,} of {asked:,} requests exceeded a turn ({pauses:,} pauses).",
                "Scans, and writes that are transactions of their own, share the scan threads.",
                f"loose_{door}_scan_threads = {max(4, 2 * facts.number(f'{door}_scan_threads'))}",
            )
    if facts.doors():
        yield good(
            "threads", "The doors' threads fit the machine." if processors else "The doors' threads were looked at."
        )


def memory(facts: Facts) -> Iterator[Finding]:
    if not facts.local or not facts.doors():
        return
    with open("/proc/meminfo", encoding="ascii") as lines:
        total = int(next(line.split()[1] for line in lines if line.startswith("MemTotal"))) * 1024
    wanted = facts.number("innodb_buffer_pool_size") + sum(
        facts.number(f"{door}_max_buffer_bytes") for door in facts.doors()
    )
    if wanted > total:
        yield Finding(
            "unsafe",
            "memory",
            f"The buffer pool and the doors' buffers may take {wanted / 2**30:.1f} GiB, of {total / 2**30:.1f} GiB.",
            "When memory runs out the kernel ends the server.",
            "\n".join(f"loose_{door}_max_buffer_bytes = 268435456" for door in facts.doors()),
        )
    else:
        yield good("memory", "The doors' buffers and the buffer pool fit into memory.")


def state(facts: Facts) -> Iterator[Finding]:
    if facts.on("read_only") and facts.doors():
        yield Finding(
            "note",
            "read-only",
            "The server is read_only.",
            "Doors refuse all writes.",
            "SET GLOBAL read_only = OFF;",
        )
    if facts.on("wsrep_on") and facts.status.get("wsrep_ready") == "OFF":
        yield Finding(
            "broken",
            "galera",
            "The Galera node is not ready.",
            "Doors refuse what SQL refuses.",
            "SHOW STATUS LIKE 'wsrep_%';  -- wsrep_cluster_status, wsrep_local_state_comment",
        )
    for door in facts.doors():
        lost, commits = facts.count(f"{door}_transactions_lost"), facts.count(f"{door}_commits")
        if lost > 100 and lost > commits // 20:
            yield Finding(
                "slow",
                "conflicts",
                f"{door}: {lost:,} transactions were lost to deadlocks, of {commits:,}.",
                "They are run again. SQL that changes the same rows in another order causes them.",
                "SHOW ENGINE INNODB STATUS;  -- LATEST DETECTED DEADLOCK",
            )


CHECKS = (hash_index, buffer_pool, durability, threads, memory, state)
