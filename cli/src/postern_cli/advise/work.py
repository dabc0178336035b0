"""postern advise: from observed statements to the report."""

from __future__ import annotations

import sys
import time
from typing import Any, List, Tuple

from postern_cli import server as sql
from postern_cli.advise import capture, digests, logs, report
from postern_cli.advise.schema import Schema, from_definitions, from_server
from postern_cli.advise.workload import Shape, Workload, gather
from postern_cli.failure import DONE, Failure
from postern_cli.output import as_json

HEAD = 1 << 16


def run(options: Any) -> int:
    server = None if options.tables and options.files else sql.Server(sql.target(options))
    schema = tables_of(options, server)
    workload = observed(options, server, schema)
    told = report.summary(workload)
    told["measured"] = measured(server) if server else None
    print(as_json(told) if options.json else report.text(told, options.limit))
    return DONE


def measured(server: Any) -> Any:
    """The gain of this server's SQL door since it was loaded; None if it has served nothing."""
    status = server.status("Postern%")
    fast, served = status.get("postern_statements_fast", 0), status.get("postern_statements_served", 0)
    spared = status.get("postern_spared_processor_us")
    if not fast or spared is None:
        return None
    return {"by_workers": fast, "by_the_server": served, "processor_seconds_spared": spared / 1e6}


def tables_of(options: Any, server: Any) -> Schema:
    if not options.tables:
        return from_server(server.query)
    try:
        with open(options.tables, encoding="utf-8", errors="replace") as stream:
            schema = from_definitions(stream.read(), options.database)
    except OSError as error:
        raise Failure(f"cannot read {options.tables}: {error.strerror}") from None
    if not len(schema):
        raise Failure(f"{options.tables} has no CREATE TABLE that could be read")
    return schema


def observed(options: Any, server: Any, schema: Schema) -> Workload:
    """The statements, classified."""
    notes: List[str] = []
    if options.files:
        source, observations = from_files(options, notes)
    else:
        source, observations = from_the_server(options, server, notes)
    wanted = {name.lower() for name in options.only}

    def all_of_them() -> Any:
        for one in observations:
            one.database = one.database or options.database
            yield one

    workload = gather(all_of_them(), schema, source)
    if wanted:
        workload.shapes = [shape for shape in workload.shapes if database_of(shape).lower() in wanted]
    workload.notes = notes
    if not workload.count:
        raise Failure(f"there are no statements in {source}" + (" of the databases wanted" if wanted else ""))
    return workload


def database_of(shape: Shape) -> str:
    """The database of the statement's table; the default database if the name is unqualified."""
    return shape.verdict.table_name.rpartition(".")[0] or shape.database


def from_files(options: Any, notes: List[str]) -> Tuple[str, Any]:
    def all_of_them() -> Any:
        for name in options.files:
            yield from one_file(name, options.sql_port, notes)

    return " and ".join("the standard input" if name == "-" else name for name in options.files), all_of_them()


def one_file(name: str, port: int, notes: List[str]) -> Any:
    try:
        with sys.stdin.buffer if name == "-" else open(name, "rb") as stream:
            head = stream.read(HEAD)
            if capture.is_capture(head):
                yield from capture.read(stream, head, port, notes)
            else:
                yield from logs.read(Decoded(stream), head.decode("utf-8", "replace"))
    except OSError as error:
        raise Failure(f"cannot read {name}: {error.strerror}") from None


class Decoded:
    """Decodes any bytes as text."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int) -> str:
        return self._stream.read(size).decode("utf-8", "replace")


def from_the_server(options: Any, server: Any, notes: List[str]) -> Tuple[str, Any]:
    if options.source == "general-log-table":
        return "mysql.general_log", digests.general_log_table(server)
    if options.source == "slow-log-table":
        return "mysql.slow_log", digests.slow_log_table(server)
    try:
        before, more = digests.read(server)
        if not options.watch:
            notes += more
            return "the performance schema", before
        time.sleep(options.watch)
        after, more = digests.read(server)
        notes += more
    except digests.NotRecorded as words:
        raise Failure(str(words)) from None
    return f"{options.watch:g} s of the performance schema", list(digests.changed(before, after))
