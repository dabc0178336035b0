"""postern get, scan, set, incr, delete: rows by key, without SQL."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

import posterndb

from postern_cli import doors, names, output
from postern_cli import server as sql
from postern_cli.failure import DONE, FOUND, REFUSED, USAGE, Failure

OPERATORS = ("=", ">", ">=", "<", "<=")
WHERE = re.compile(r"\s*(`[^`]+`|[^\s=<>!]+)\s*(<=|>=|!=|<>|=|<|>)\s*(.*)", re.S)


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    key = "the values of the key's columns, the first ones at least where a range is meant"
    parser = one(commands, common, "get", "read the row with this key", "TABLE 101, or --door memcached KEY")
    parser.add_argument("key", nargs="*", metavar="KEY", help=key)
    reading(parser)
    parser = one(commands, common, "scan", "read rows along an index", "TABLE [KEY...] --op '>='")
    parser.add_argument("key", nargs="*", metavar="KEY", help=key)
    parser.add_argument(
        "--op", choices=OPERATORS, help="how rows compare with the key (=; without a key >=); < and <= read backwards"
    )
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="rows at most (100)")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="rows to skip (0)")
    parser.add_argument(
        "--where", action="append", default=[], metavar="'COLUMN < VALUE'", help="only rows for which this holds"
    )
    reading(parser)
    parser = one(commands, common, "set", "write the row with this key", "TABLE KEY... COLUMN=VALUE...")
    parser.add_argument(
        "key", nargs="+", metavar="KEY... COLUMN=VALUE", help="the key, then the columns to write; others are unchanged"
    )
    parser.add_argument("--new", action="store_true", help="fail if the row exists")
    parser = one(commands, common, "incr", "add to columns of the row with this key", "TABLE KEY... COLUMN=N...")
    parser.add_argument(
        "key", nargs="+", metavar="KEY... COLUMN=N", help="the key, then columns and the numbers to add"
    )
    parser = one(commands, common, "delete", "delete the row with this key", "TABLE KEY...")
    parser.add_argument("key", nargs="*", metavar="KEY", help=key)


def one(
    commands: Any, common: List[argparse.ArgumentParser], name: str, words: str, example: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        parents=common,
        help=words,
        description=f"To {words}. For example: postern {name} {example}. Values are texts, as in SQL; NULL is"
        " \\N. With --door memcached the table is a container, with --door redis it is the whole key.",
    )
    parser.add_argument("table", metavar="TABLE", help="DATABASE.TABLE; a container of memcached; a key of Redis")
    parser.add_argument(
        "--door", choices=("handlersocket", "memcached", "redis"), default="handlersocket", help="(handlersocket)"
    )
    parser.add_argument("--index", metavar="NAME", help="use this index in place of the primary key")
    doors.add_options(parser)
    parser.set_defaults(run=run)
    return parser


def reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--columns", metavar="A,B", help="only these columns")


def run(options: Any) -> int:
    server = sql.Server(sql.target(options))
    places = doors.Places(server, options)
    if options.door == "memcached":
        told = server.try_query("SELECT value FROM innodb_memcache.config_options WHERE name = 'separator'")
        return run_memcached(places.memcached(), options, told[0][0] if told else "|")
    if options.door == "redis":
        return run_redis(places.redis(), options)
    table = names.table(server, options.table)
    try:
        with places.handlersocket(write=options.command in ("set", "incr", "delete")) as db:
            result = run_handlersocket(db, table, options)
    except posterndb.Error as error:
        raise Failure(str(error), REFUSED) from None
    return show(result, options)


class Result:
    """Rows, or a number and its unit."""

    def __init__(
        self, columns: Sequence[str] = (), rows: Sequence[Any] = (), count: Optional[int] = None, words: str = ""
    ) -> None:
        self.columns, self.rows, self.count, self.words = list(columns), [list(row) for row in rows], count, words


def show(result: Result, options: Any) -> int:
    if result.count is not None:
        print(output.as_json({result.words: result.count}) if options.json else f"{result.words}: {result.count}")
        return DONE if result.count or options.command == "set" else FOUND
    if options.json:
        for row in result.rows:
            print(output.as_json(dict(zip(result.columns, row))))
    elif result.rows and options.command == "get":
        wide = max(output.width(column) for column in result.columns)
        for column, value in zip(result.columns, result.rows[0]):
            print(f"{output.paint(column.ljust(wide), 'bold')}  {output.cell(value, 10_000)}")
    elif result.rows:
        print(output.table(result.columns, result.rows))
    if not result.rows and options.command != "scan" and not options.json:
        print("no such row", file=sys.stderr)
    return DONE if result.rows or options.command == "scan" else FOUND


def run_handlersocket(db: posterndb.Connection, table: names.TableNames, options: Any) -> Result:
    index, key_columns = table.index(options.index)
    if options.command in ("get", "scan"):
        return read(db, table, index, key_columns, options)
    count = len(key_columns)
    key, rest = [value_of(word) for word in options.key[:count]], options.key[count:]
    if len(key) < count:
        raise Failure(f"{index} of {table.schema}.{table.name} has {count} columns: {', '.join(key_columns)}", USAGE)
    if options.command == "delete":
        if rest:
            raise Failure(f"{rest[0]}: {index} has no more columns than {', '.join(key_columns)}", USAGE)
        return Result(count=db.open(table.schema, table.name, [], index=index).delete(tuple(key)), words="deleted")
    values = assignments(table, rest)
    opened = db.open(table.schema, table.name, list(values), index=index)
    if options.command == "incr":
        if not values:
            raise Failure("say what to add: COLUMN=N", USAGE)
        return Result(count=opened.increment(tuple(key), list(values.values())), words="changed")
    return write(db, table, (index, key_columns, key), values, options.new)


def write(
    db: posterndb.Connection,
    table: names.TableNames,
    place: Tuple[str, List[str], List[Any]],
    values: Dict[str, Any],
    new: bool,
) -> Result:
    """Inserts a new row, or sets the values of an existing one."""
    index, key_columns, key = place
    row = dict(zip(key_columns, key), **{name: value for name, value in values.items() if name not in key_columns})
    opened = db.open(table.schema, table.name, list(row), index=index)
    if new:
        opened.insert(list(row.values()))
        return Result(count=1, words="new")
    outcome = opened.upsert(list(row.values()))
    return Result(count=outcome and 1, words={1: "new", 2: "changed", 0: "as it was"}[outcome])


def read(db: posterndb.Connection, table: names.TableNames, index: str, key_columns: List[str], options: Any) -> Result:
    wanted = [table.column(name) for name in options.columns.split(",")] if options.columns else table.columns
    key = [value_of(word) for word in options.key]
    if len(key) > len(key_columns):
        raise Failure(
            f"{index} of {table.schema}.{table.name} has no more columns than {', '.join(key_columns)}", USAGE
        )
    if options.command == "get":
        if not key:
            raise Failure(f"say the key: {', '.join(key_columns)}", USAGE)
        row = db.open(table.schema, table.name, columns_as_bytes(wanted), index=index).get(tuple(key))
        return Result(wanted, [row] if row is not None else [])
    filters = [condition(table, text) for text in options.where]
    opened = db.open(
        table.schema,
        table.name,
        columns_as_bytes(wanted),
        index=index,
        filter_columns=[filter.column for filter in filters],
    )
    op = options.op or ("=" if key else ">=")
    if not key and op in ("<", "<="):
        raise Failure(f"say from which key to read down: {', '.join(key_columns)}", USAGE)
    start = tuple(key) if key else (None,)
    rows = opened.find(start, op=op, limit=options.limit, offset=options.offset, filters=filters)
    return Result(wanted, rows)


def columns_as_bytes(columns: Sequence[str]) -> Dict[str, Any]:
    """Any type, as the server sends it."""
    return {name: bytes for name in columns}


def value_of(word: str) -> Optional[str]:
    return None if word == "\\N" else word


def assignments(table: names.TableNames, words: Sequence[str]) -> Dict[str, Any]:
    values = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise Failure(f"{word}: say COLUMN=VALUE", USAGE)
        values[table.column(name)] = value_of(value)
    return values


def condition(table: names.TableNames, text: str) -> posterndb.Where:
    match = WHERE.fullmatch(text)
    if not match:
        raise Failure(f"{text}: say COLUMN < VALUE, with one of = != < <= > >=", USAGE)
    op = {"<>": "!="}.get(match[2], match[2])
    return posterndb.Where(table.column(match[1].strip("`")), op, value_of(match[3]))


def run_memcached(client: doors.Memcached, options: Any, separator: str = "|") -> int:
    """The table is a container. The last word of `set` and `incr` is the value, all others are parts of the key."""
    pieces = list(options.key)
    if options.command in ("set", "incr") and len(pieces) < 2:
        raise Failure("say KEY VALUE", USAGE)
    value = pieces.pop() if options.command in ("set", "incr") else ""
    key = f"@@{options.table}.{separator.join(pieces)}"
    if options.command == "get":
        found = client.get(key)
        return show(Result(["value"], [[found]] if found is not None else []), options)
    if options.command == "set":
        client.set(key, value.encode())
        return show(Result(count=1, words="stored"), options)
    if options.command == "delete":
        told = client.checked(client.command(b"delete " + key.encode()))
        return show(Result(count=int(told[-1] == b"DELETED"), words="deleted"), options)
    if options.command == "incr":
        if not value.lstrip("-").isdigit():
            raise Failure(f"{value}: say KEY N", USAGE)
        by = int(value)
        told = client.checked(client.command(b"%s %s %d" % (b"decr" if by < 0 else b"incr", key.encode(), abs(by))))
        if told[-1] == b"NOT_FOUND":
            return FOUND
        return show(Result(["value"], [[told[-1]]]), argparse.Namespace(command="get", json=options.json))
    raise Failure("memcached has no ranges: scan needs --door handlersocket", USAGE)


def run_redis(client: doors.Redis, options: Any) -> int:
    key, words = options.table, options.key
    if options.command == "get":
        if words:
            found = client.command("HMGET", key, *words)
            return show(Result(words, [found] if any(value is not None for value in found) else []), options)
        kind = client.command("TYPE", key)
        if kind == "hash":
            flat = client.command("HGETALL", key)
            return show(Result([output.readable(name) for name in flat[::2]], [flat[1::2]]), options)
        found = client.command("GET", key)
        return show(Result(["value"], [[found]] if found is not None else []), options)
    pairs = [word.partition("=") for word in words]
    if options.command == "set":
        if len(words) == 1 and "=" not in words[0]:
            client.command("SET", key, words[0])  # a value that contains = needs the shell
        else:
            client.command("HSET", key, *(part for name, _, value in pairs for part in (name, value)))
        return show(Result(count=1, words="stored"), options)
    if options.command == "incr":
        if len(words) == 1 and "=" not in words[0]:
            number = client.command("INCRBY", key, words[0])
        else:
            number = [client.command("HINCRBY", key, name, value) for name, _, value in pairs][-1]
        return show(Result(["value"], [[number]]), argparse.Namespace(command="get", json=options.json))
    if options.command == "delete":
        return show(Result(count=client.command("DEL", key), words="deleted"), options)
    _, found = client.command("SCAN", 0, "MATCH", f"{key}*", "COUNT", options.limit)
    return show(Result(["key"], [[one] for one in found]), options)
