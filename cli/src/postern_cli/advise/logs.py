"""Statements from files: the general log, the slow log, traces with one statement a line, scripts. Reads files as
streams, so that one may be larger than memory; skips other lines."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterable, Iterator, List, Optional, TextIO

from postern_cli.advise.statement import LENGTH_MAX, first_words, split
from postern_cli.advise.workload import Observation

GENERAL = re.compile(
    r"^(?:\d{6} +\d{1,2}:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))?\t{1,2} *(\d+) "
    r"(Connect|Query|Prepare|Execute|Init DB|Quit|Close stmt|Reset stmt|Change user|Ping|Statistics|Field List|"
    r"Refresh|Shutdown|Processlist|Kill|Long Data|Daemon|Sleep|Fetch|Set option|Reset connection|Bulk_execute|Error)"
    r"(?:\t(.*))?$"
)
HEADER = re.compile(r"^(\S.*, Version: .*started with:|Tcp port: .*|Time\t+ *Id Command\tArgument) *$")
SLOW_QUERY = re.compile(r"^# Query_time: *([\d.]+)")
SLOW_THREAD = re.compile(r"^# Thread_id: *(\d+) +Schema: (\S*)")
SLOW_START = re.compile(r"^# (Time|User@Host): ")


class Sessions:
    """State of each connection: its database, and whether it is within a transaction."""

    def __init__(self) -> None:
        self._databases: Dict[str, str] = {}
        self._manual: Dict[str, bool] = {}
        self._begun: Dict[str, bool] = {}

    def connect(self, session: str, database: str) -> None:
        self._databases[session] = database
        self._manual.pop(session, None)
        self._begun.pop(session, None)

    def use(self, session: str, database: str) -> None:
        self._databases[session] = database.strip().strip("`")

    def database(self, session: str) -> str:
        return self._databases.get(session, "")

    def statement(self, session: str, text: str) -> bool:
        """Whether this statement runs in a transaction; keeps track of BEGIN and COMMIT."""
        words = [word for word in first_words(text, 6) if word not in ("=", ":=")]
        first = words[0] if words else ""
        inside = self._begun.get(session, False) or self._manual.get(session, False)
        if first == "USE" and len(words) > 1:
            self.use(session, text.split()[1].rstrip(";"))
        elif first == "BEGIN" or words[:2] == ["START", "TRANSACTION"]:
            self._begun[session] = True
        elif first == "COMMIT" or (first == "ROLLBACK" and "TO" not in words):
            self._begun[session] = False
        elif first == "SET":
            for word, value in zip(words, words[1:]):
                if word.split(".")[-1].strip("@`") == "AUTOCOMMIT":
                    self._manual[session] = value in ("0", "OFF", "FALSE")
        return inside


def general_log(lines: Iterable[str]) -> Iterator[Observation]:
    """Reads the general query log, which has no times."""
    sessions = Sessions()
    entry: Optional[List[Any]] = None  # session, command, lines of the argument

    def finish() -> Iterator[Observation]:
        if entry is None:
            return
        session, command, argument = entry[0], entry[1], "\n".join(entry[2])
        if command in ("Connect", "Change user"):
            match = re.match(r"\S+ (?:as .*? )?on (.*?)(?: using \S+)?$", argument)
            sessions.connect(session, match.group(1).strip() if match else "")
        elif command == "Init DB":
            sessions.use(session, argument)
        elif command in ("Query", "Execute", "Bulk_execute") and argument.strip():
            # The log also has the statement that a PREPARE or EXECUTE of the text protocol runs.
            if command == "Query" and first_words(argument, 1) in (["EXECUTE"], ["PREPARE"]):
                return
            inside = sessions.statement(session, argument)
            yield Observation(argument, sessions.database(session), in_transaction=inside, prepared=command != "Query")

    for line in lines:
        line = line.rstrip("\n")
        match = GENERAL.match(line)
        if match:
            yield from finish()
            entry = [match.group(1), match.group(2), [match.group(3) or ""]]
        elif HEADER.match(line):
            yield from finish()
            entry = None
        elif entry is not None and len(entry[2]) < LENGTH_MAX:
            entry[2].append(line)
    yield from finish()


def slow_log(lines: Iterable[str]) -> Iterator[Observation]:
    """Reads the slow query log; with long_query_time = 0 it has every statement, with its time."""
    sessions = Sessions()
    session, database, seconds = "", "", 0.0
    text: List[str] = []

    def finish() -> Iterator[Observation]:
        statement = "\n".join(text).strip().rstrip(";")
        text.clear()
        if statement and not statement.startswith("# administrator command"):
            inside = sessions.statement(session, statement)
            yield Observation(statement, database, seconds=seconds, in_transaction=inside)

    for line in lines:
        line = line.rstrip("\n")
        if line.startswith("#"):
            if SLOW_START.match(line):
                yield from finish()
            thread, query = SLOW_THREAD.match(line), SLOW_QUERY.match(line)
            if thread:
                session, database = thread.groups()
            if query:
                seconds = float(query.group(1))
            if line.startswith("# administrator command"):
                text.append(line)
        elif not text and re.match(r"(?i)use [^;]+;$", line):
            database = line[4:-1].strip("`")
        elif not text and re.match(r"SET timestamp=\d+;$", line):
            continue
        elif not HEADER.match(line) and len(text) < LENGTH_MAX:
            text.append(line)
    yield from finish()


def json_lines(lines: Iterable[str]) -> Iterator[Observation]:
    """Reads a trace with one JSON object a line: `statement` (or `query`, `sql`), and optionally `database`, `count`, `seconds`,
    `in_transaction`, `autocommit`, `mode`."""
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        text = next((told[name] for name in ("statement", "query", "sql") if isinstance(told.get(name), str)), None)
        if text is None:
            continue
        seconds = told.get("seconds")
        yield Observation(
            text,
            str(told.get("database") or ""),
            int(told.get("count") or 1),
            float(seconds) if isinstance(seconds, (int, float)) else None,
            bool(told.get("in_transaction")) or told.get("autocommit") is False,
            told.get("mode") == "prepared",
        )


def script(text: str) -> Iterator[Observation]:
    """Reads a script: statements that end with a semicolon, or one a line if none does."""
    sessions = Sessions()
    for statement in split(text) if ";" in text else text.splitlines():
        if statement.strip():
            inside = sessions.statement("", statement)
            yield Observation(statement, sessions.database(""), in_transaction=inside)


def kind_of(head: str) -> str:
    """The kind of a file, by its first lines: `general`, `slow`, `json` or `script`."""
    for line in head.splitlines():
        if GENERAL.match(line):
            return "general"
        if SLOW_START.match(line) or SLOW_QUERY.match(line):
            return "slow"
        if line.startswith("{"):
            return "json"
    return "script"


READERS = {"general": general_log, "slow": slow_log, "json": json_lines}
NAMES = {"general": "general log", "slow": "slow log", "json": "trace", "script": "statements"}


def read(stream: TextIO, head: str) -> Iterator[Observation]:
    """Reads an open file; `head` are its first bytes, already read."""
    kind = kind_of(head)

    def lines() -> Iterator[str]:
        rest = head
        while True:
            whole = rest.split("\n")
            yield from whole[:-1]
            more = stream.read(1 << 16)
            if not more:
                break
            rest = whole[-1] + more
        if whole[-1]:
            yield whole[-1]

    if kind == "script":
        return script("\n".join(lines()))
    return READERS[kind](lines())
