"""Statements that a server has aggregated itself."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

from postern_cli.advise.logs import general_log
from postern_cli.advise.workload import Observation

PICOSECONDS = 1e12
HOW_TO_RECORD = """The server does not add up statements: performance_schema is OFF. Leave it so: only an option file changes that,
and while it is ON the SQL door answers no statement itself.
Record some minutes of the general log instead; it costs disk, and as long as it is ON the SQL door's speed:
  mariadb -e "SET GLOBAL general_log_file = '/tmp/postern-advise.log', GLOBAL log_output = 'FILE', GLOBAL general_log = ON"
  sleep 300
  mariadb -e "SET GLOBAL general_log = OFF"
  postern advise /tmp/postern-advise.log
With slow_query_log = ON and long_query_time = 0 the slow log has every statement with its time; better where it can be had. The SQL
door is as slow as the server for that time, too: long_query_time = 1 gives it back."""


class NotRecorded(Exception):
    """The server has no statements to read; the text names the remedy."""


def read(server: Any) -> Tuple[List[Observation], List[str]]:
    """Statements of performance_schema, and notes for the report."""
    if server.variable("performance_schema") != "ON":
        raise NotRecorded(HOW_TO_RECORD)
    if not server.query(
        "SELECT 1 FROM performance_schema.setup_consumers WHERE name = 'statements_digest' AND enabled = 'YES'"
    ):
        raise NotRecorded(
            "Digests are switched off. Switch them on, let some time go by, and ask again:\n"
            "  UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'statements_digest'"
        )
    observations, notes, lost = [], [], 0
    for schema, text, count, time in server.query(
        "SELECT schema_name, digest_text, count_star, sum_timer_wait FROM"
        " performance_schema.events_statements_summary_by_digest WHERE count_star > 0"
    ):
        if text is None:
            lost += count
        else:
            observations.append(Observation(text, schema or "", int(count), int(time) / PICOSECONDS))
    if lost:
        notes.append(
            f"{lost:,} statements are of no digest, for there is room for {server.variable('performance_schema_digests_size')}"
            " alone: raise performance_schema_digests_size, or TRUNCATE performance_schema.events_statements_summary_by_digest"
        )
    notes += prepared(server)
    if (
        server.number("postern_port")
        or server.variable("postern_socket")
        or server.variable("postern_main_port") == "ON"
    ):
        notes.append(
            "While performance_schema is ON the SQL door answers no statement itself: switch it off (an option file, and a"
            " restart) when you have what you wanted to know"
        )
    return observations, notes


def prepared(server: Any) -> List[str]:
    """Prepared statements: MariaDB's digests leave out the binary protocol."""
    told = server.query(
        "SELECT count_star, sum_timer_wait FROM performance_schema.events_statements_summary_global_by_event_name"
        " WHERE event_name IN ('statement/com/Execute', 'statement/com/Bulk_execute') AND count_star > 0"
    )
    count, seconds = sum(row[0] for row in told), sum(row[1] for row in told) / PICOSECONDS
    if not count:
        return []
    return [
        f"{count:,} executions of prepared statements ({seconds:.3g} s) are not told here: MariaDB's digests leave them out."
        " The general and the slow log have them"
    ]


def changed(before: List[Observation], after: List[Observation]) -> Iterator[Observation]:
    """The difference of two readings."""
    earlier: Dict[Tuple[str, str], Observation] = {(one.database, one.text): one for one in before}
    for one in after:
        was = earlier.get((one.database, one.text))
        if was is None or was.count > one.count:
            yield one
        elif one.count > was.count:
            seconds = (one.seconds or 0) - (was.seconds or 0)
            yield Observation(one.text, one.database, one.count - was.count, max(seconds, 0.0))


def general_log_table(server: Any) -> Iterator[Observation]:
    """mysql.general_log, which log_output = TABLE fills."""
    rows = server.query("SELECT thread_id, command_type, argument FROM mysql.general_log ORDER BY event_time")
    entries = (f"\t\t{thread:6} {command}\t{as_text(argument)}" for thread, command, argument in rows)
    return general_log(line for entry in entries for line in entry.split("\n"))


def slow_log_table(server: Any) -> Iterator[Observation]:
    """mysql.slow_log."""
    for seconds, database, text in server.query("SELECT query_time, db, sql_text FROM mysql.slow_log"):
        yield Observation(as_text(text), database or "", 1, seconds.total_seconds())


def as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
