"""Completion in the shell."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

from prompt_toolkit.completion import Completer, Completion

from postern_cli import doors, names
from postern_cli.failure import Failure

OPTIONS = {
    "get": ["--columns", "--index"],
    "scan": ["--op", "--limit", "--offset", "--where", "--columns", "--index"],
    "set": ["--new", "--index"],
    "incr": ["--index"],
    "delete": ["--index"],
}
MEMCACHED = [
    "get",
    "gets",
    "set",
    "add",
    "replace",
    "append",
    "prepend",
    "cas",
    "incr",
    "decr",
    "delete",
    "touch",
    "gat",
    "stats",
    "version",
    "flush_all",
    "mg",
    "ms",
    "md",
    "ma",
]
REDIS = [
    "GET",
    "SET",
    "MGET",
    "MSET",
    "DEL",
    "EXISTS",
    "INCR",
    "INCRBY",
    "DECR",
    "HGET",
    "HSET",
    "HMGET",
    "HGETALL",
    "HINCRBY",
    "HDEL",
    "EXPIRE",
    "TTL",
    "TYPE",
    "SCAN",
    "MULTI",
    "EXEC",
    "DISCARD",
    "WATCH",
    "PING",
    "INFO",
    "CLIENT",
    "SELECT",
]
KEPT_SECONDS = 10.0


class ShellCompleter(Completer):
    """Completes commands, then the arguments of the command before the cursor. Reads names every ten seconds."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._kept: Dict[str, Tuple[float, List[str]]] = {}

    def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
        text = document.text_before_cursor
        words = text.split()
        word = "" if not text or text[-1].isspace() else words.pop()
        for offered in self.offers(words, word):
            if offered.lower().startswith(word.lower()) and offered != word:
                yield Completion(offered, start_position=-len(word))

    def offers(self, words: List[str], word: str) -> List[str]:
        """The words that may come next."""
        first = words[0].lower() if words else ""
        if not words:
            return self._first_words()
        if first in ("memcached", "redis") or self._shell.door in ("memcached", "redis"):
            door = first if first in ("memcached", "redis") else self._shell.door
            behind = words[1:] if first == door else words
            return self._of_keys(door, behind)
        if first == "use" or first == "tables":
            return self._names("databases", lambda: names.databases(self._shell.server))
        if first == "door":
            return list(doors.NAMES)
        if first == "json":
            return ["on", "off"]
        if first in OPTIONS:
            return self._tables(word) if len(words) == 1 else self._of_table(first, words, word)
        if first == "describe":
            return self._tables(word)
        return self._of_sql(words, word)

    def _first_words(self) -> List[str]:
        if self._shell.door == "memcached":
            return [*MEMCACHED, *self._shell.commands]
        if self._shell.door == "redis":
            return [*REDIS, *self._shell.commands]
        return [
            *OPTIONS,
            *doors.NAMES,
            *(name for name in self._shell.commands if name[0] != "\\"),
            "select",
            "show",
            "insert",
            "update",
        ]

    def _names(self, what: str, ask: Callable[[], List[str]]) -> List[str]:
        since, kept = self._kept.get(what, (0.0, []))
        if not since or time.monotonic() - since > KEPT_SECONDS:
            try:
                kept = ask()
            except Failure:
                kept = []
            self._kept[what] = (time.monotonic(), kept)
        return kept

    def _tables(self, word: str) -> List[str]:
        server, database = self._shell.server, self._shell.database
        if "." in word:
            schema = word.partition(".")[0]
            return [
                f"{schema}.{name}" for name in self._names(f"tables {schema}", lambda: names.tables(server, schema))
            ]
        offered = [f"{name}." for name in self._names("databases", lambda: names.databases(server))]
        if database:
            offered = self._names(f"tables {database}", lambda: names.tables(server, database)) + offered
        return offered

    def _columns(self, table: str) -> List[str]:
        return self._names(
            f"columns {table}", lambda: names.table(self._shell.server, table, self._shell.database).columns
        )

    def _of_table(self, command: str, words: List[str], word: str) -> List[str]:
        before = words[-1]
        if before == "--index":
            table = words[1]
            return self._names(
                f"indexes {table}", lambda: list(names.table(self._shell.server, table, self._shell.database).indexes)
            )
        if before == "--columns" or before == "--where":
            done, _, _ = word.rpartition(",")
            return [f"{done},{name}" if done else name for name in self._columns(words[1])]
        if word.startswith("-"):
            return OPTIONS[command]
        return [f"{name}=" for name in self._columns(words[1])] if command in ("set", "incr") else OPTIONS[command]

    def _of_keys(self, door: str, words: List[str]) -> List[str]:
        server = self._shell.server
        if not words:
            return MEMCACHED if door == "memcached" else REDIS
        if door == "memcached":
            return [f"@@{name}." for name in self._names("containers", lambda: names.containers(server))]
        return self._names("prefixes", lambda: names.redis_prefixes(server))

    def _of_sql(self, words: List[str], word: str) -> List[str]:
        if words[-1].lower() in ("from", "into", "update", "join", "table"):
            return self._tables(word)
        tables = [
            words[at + 1] for at, one in enumerate(words[:-1]) if one.lower() in ("from", "into", "update", "join")
        ]
        columns = [name for table in tables for name in self._columns(table.strip("`,"))]
        return [*columns, "from", "where", "and", "or", "order by", "limit", "set", "values"]
