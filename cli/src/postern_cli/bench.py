"""postern bench: compares the doors of a server on its own rows, in interleaved rounds. It only reads. Its client is Python,
so its figures compare doors and servers, not the limits of a door."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Tuple

from postern_cli import doors, names, output, picture
from postern_cli import server as sql
from postern_cli.failure import DONE, REFUSED, USAGE, Failure

KEYS_MAX = 100_000
TICK = 0.25  # seconds between two points of the line
SQL_DOORS = ("sql", "sql-door")
BUCKETS = 64  # latency buckets: powers of the square root of two, in microseconds


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "bench",
        parents=common,
        help="compare the speed of doors on rows of a table",
        description="Reads random rows of a table by its primary key through each door, in interleaved rounds, so that other load"
        " of the machine affects all doors alike: a live line, then a table and a picture. The client is Python: compare doors by it,"
        " or servers.",
    )
    parser.add_argument("table", metavar="TABLE", help="DATABASE.TABLE")
    parser.add_argument(
        "--door",
        action="append",
        choices=("sql", "sql-door", "handlersocket", "memcached", "redis"),
        help="(those of sql, sql-door and handlersocket that the server has)",
    )
    parser.add_argument(
        "--transport",
        choices=("tcp", "socket"),
        help="transport of both SQL doors (tcp, as for the other doors, where the account may; else socket)",
    )
    parser.add_argument("--container", metavar="NAME", help="the container that maps the table for memcached")
    parser.add_argument("--prefix", metavar="TEXT", help="the prefix that maps the table for Redis")
    parser.add_argument("--columns", metavar="A,B", help="only these columns")
    parser.add_argument(
        "--seconds", type=float, default=6.0, metavar="N", help="for each door, all rounds together (6)"
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="in which the doors take turns (3)")
    parser.add_argument("--clients", type=int, default=4, metavar="N", help="processes, each with a connection (4)")
    parser.add_argument(
        "--depth", type=int, default=1, metavar="N", help="requests in flight on each connection, for HandlerSocket (1)"
    )
    parser.add_argument("--picture", metavar="FILE", help="also draw an SVG")
    doors.add_options(parser)
    parser.set_defaults(run=run)


@dataclass
class Run:
    """The rounds of one door, added up."""

    door: str
    transport: str = "tcp"
    seconds: float = 0.0
    requests: int = 0
    rates: List[float] = field(default_factory=list)  # requests a second, one for each tick
    rounds: List[float] = field(default_factory=list)  # requests a second, one for each round
    latencies: List[int] = field(default_factory=lambda: [0] * BUCKETS)
    cpu: float = 0.0  # processor seconds of the server; 0 if it runs on another machine

    def percentile(self, part: float) -> float:
        """Microseconds, to within a fifth."""
        wanted, seen = part * sum(self.latencies), 0
        for place, count in enumerate(self.latencies):
            seen += count
            if seen >= wanted and count:
                return float(2 ** ((place + 0.5) / 2))
        return 0.0

    def told(self) -> Dict[str, Any]:
        rate = self.requests / self.seconds if self.seconds else 0.0
        return {
            "door": self.door,
            "transport": self.transport,
            "requests_per_second": rate,
            "slowest_round": min(self.rounds, default=0.0),
            "fastest_round": max(self.rounds, default=0.0),
            "p50_us": self.percentile(0.5),
            "p99_us": self.percentile(0.99),
            "server_cpu_us_per_request": 1e6 * self.cpu / self.requests if self.cpu and self.requests else None,
        }


def bucket(seconds: float) -> int:
    return min(max(int((seconds * 1e6)).bit_length() * 2 - 2 + half(seconds), 0), BUCKETS - 1)


def half(seconds: float) -> int:
    """Whether the value is in the upper half of its power of two."""
    micro = max(int(seconds * 1e6), 1)
    return int(micro * micro >= 2 ** (2 * micro.bit_length() - 1))


def run(options: Any) -> int:
    if options.clients < 1 or options.depth < 1 or options.seconds <= 0 or options.rounds < 1:
        raise Failure("--clients, --depth, --seconds and --rounds are above 0", USAGE)
    server = sql.Server(sql.target(options))
    table = names.table(server, options.table)
    index, key_columns = table.index(None)
    quoted = ", ".join(f"`{name}`" for name in key_columns)
    keys = server.query(f"SELECT {quoted} FROM `{table.schema}`.`{table.name}` ORDER BY RAND() LIMIT {KEYS_MAX}")
    if not keys:
        raise Failure(f"{options.table} has no rows to ask for")
    wanted = [table.column(name) for name in options.columns.split(",")] if options.columns else table.columns
    places = doors.Places(server, options)
    runs = []
    chosen = options.door or [door for door in ("sql", "sql-door", "handlersocket") if places.has(door)]
    transport = options.transport or transport_of(places, chosen)
    if not options.door and transport == "socket" and not server.variable("postern_socket"):
        chosen = [door for door in chosen if door != "sql-door"]
    askers = {door: asker(door, options, places, (table, index, key_columns, wanted, transport)) for door in chosen}
    runs = [Run(door, transport if door in SQL_DOORS else "tcp") for door in chosen]
    for number in range(options.rounds):
        # Every other round runs backwards, so that a growing or fading load favours no door.
        for one in runs if number % 2 == 0 else reversed(runs):
            measure(one, askers[one.door], keys, options, server)
    told = [one.told() for one in runs]
    if len({one.transport for one in runs}) > 1 and not options.json:
        print("SQL goes through unix sockets here, the others over TCP, which takes longer: compare with care.")
    if options.json:
        print(
            output.as_json({"table": options.table, "clients": options.clients, "depth": options.depth, "doors": told})
        )
    else:
        print(table_of(told))
        print(picture.text([(one.door, one.rates) for one in runs]))
    if options.picture:
        with open(options.picture, "w", encoding="utf-8") as file:
            file.write(picture.svg(f"{options.table}, {options.clients} clients x {options.depth}", runs))
    return DONE


def transport_of(places: doors.Places, chosen: List[str]) -> str:
    """TCP, unless the account can log in by socket only."""
    try:
        for door in SQL_DOORS:
            if door in chosen:
                sql.Server(places.of_sql(door, "tcp")).close()
        return "tcp"
    except Failure:
        return "socket"


def table_of(told: List[Dict[str, Any]]) -> str:
    first = told[0]["requests_per_second"] or 1
    rows = []
    for one in told:
        cpu = one["server_cpu_us_per_request"]
        times = one["requests_per_second"] / first
        rows.append(
            [
                one["door"],
                one["transport"],
                f"{one['requests_per_second']:,.0f}",
                f"{one['slowest_round']:,.0f} to {one['fastest_round']:,.0f}",
                f"{times:.2f}",
                f"{one['p50_us']:,.0f}",
                f"{one['p99_us']:,.0f}",
                f"{cpu:.1f}" if cpu else "-",
            ]
        )
    return output.table(
        ["door", "by", "requests a second", "rounds", "times", "median, us", "99 %, us", "server's CPU, us each"], rows
    )


def asker(
    door: str, options: Any, places: doors.Places, what: Tuple[Any, ...]
) -> Callable[[], Callable[[List[Any]], None]]:
    """Returns a function that reads the rows of some keys; called in the process that uses it."""
    table, index, key_columns, wanted, transport = what
    if door in SQL_DOORS:
        where = " AND ".join(f"`{name}` = %s" for name in key_columns)
        text = f"SELECT {', '.join(f'`{name}`' for name in wanted)} FROM `{table.schema}`.`{table.name}` WHERE {where}"

        def make_sql() -> Callable[[List[Any]], None]:
            connection = sql.Server(places.of_sql(door, transport))
            return lambda keys: [connection.query(text, key) for key in keys] and None

        return make_sql
    if door == "handlersocket":

        def make_handlersocket() -> Callable[[List[Any]], None]:
            opened = places.handlersocket().open(
                table.schema, table.name, {name: bytes for name in wanted}, index=index
            )
            connection = opened.connection

            def ask(keys: List[Any]) -> None:
                connection.execute_many([opened.requests.get(tuple(map(as_key, key))) for key in keys])

            return ask

        return make_handlersocket
    if door == "memcached":
        if not options.container:
            raise Failure("--container names the container that maps the table for memcached", USAGE)

        def make_memcached() -> Callable[[List[Any]], None]:
            client = places.memcached()
            client.get(f"@@{options.container}")
            return lambda keys: [client.get("|".join(str(part) for part in key)) for key in keys] and None

        return make_memcached
    if not options.prefix:
        raise Failure("--prefix is the prefix that maps the table for Redis", USAGE)

    def make_redis() -> Callable[[List[Any]], None]:
        client = places.redis()
        return (
            lambda keys: [client.command("HGETALL", options.prefix + ":".join(map(str, key))) for key in keys] and None
        )

    return make_redis


def as_key(value: Any) -> Any:
    return value if isinstance(value, (int, str, bytes, type(None))) else str(value)


def client(
    make: Callable[[], Callable[[List[Any]], None]],
    keys: List[Any],
    options: Any,
    results: Any,
    counts: Any,
    place: int,
) -> None:
    """The body of a client process: sends requests until the time is over, and counts them."""
    random.seed(os.getpid())
    try:
        ask = make()
        ask(random.choices(keys, k=options.depth))
    except Exception as error:  # the parent reports it
        results.put(str(error))
        return
    latencies, count = [0] * BUCKETS, 0
    now = begin = time.monotonic()
    while now < begin + options.seconds / options.rounds:
        try:
            ask(random.choices(keys, k=options.depth))
        except Exception as error:
            results.put(str(error))
            return
        after = time.monotonic()
        latencies[bucket(after - now)] += options.depth
        count += options.depth
        counts[place] = count
        now = after
    results.put((latencies, now - begin))


def measure(result: Run, make: Any, keys: List[Any], options: Any, server: sql.Server) -> None:
    """Adds a round to the door's result."""
    context = multiprocessing.get_context("fork")
    results, counts = context.Queue(), context.Array("L", options.clients, lock=False)
    workers = [
        context.Process(target=client, args=(make, keys, options, results, counts, place), daemon=True)
        for place in range(options.clients)
    ]
    before, begin, last = cpu_of(server), time.monotonic(), 0
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers) and time.monotonic() - begin < options.seconds / options.rounds:
        time.sleep(TICK)
        now = sum(counts)
        result.rates.append((now - last) / TICK)
        last = now
        live(result.door, result.rates)
    seconds = 0.0
    for _ in workers:
        told = results.get(timeout=doors.SECONDS)
        if isinstance(told, str):
            for worker in workers:
                worker.terminate()
            raise Failure(f"{result.door}: {told}", REFUSED)
        latencies, took = told
        result.latencies = [a + b for a, b in zip(result.latencies, latencies)]
        seconds += took / len(workers)
    for worker in workers:
        worker.join(doors.SECONDS)
    result.rounds.append(sum(counts) / seconds)
    result.seconds += seconds
    result.requests += sum(counts)
    result.cpu += cpu_of(server) - before
    if sys.stderr.isatty():
        print(file=sys.stderr)


def live(door: str, rates: List[float]) -> None:
    if sys.stderr.isatty():
        print(
            f"\r{door:14} {rates[-1]:10,.0f} a second  {picture.spark(rates[-40:])}\x1b[K",
            end="",
            file=sys.stderr,
            flush=True,
        )


def cpu_of(server: sql.Server) -> float:
    """Processor seconds of the server, if it runs on this machine and we may read them."""
    try:
        with open(server.variable("pid_file"), encoding="ascii") as file:
            pid = int(file.read())
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0
