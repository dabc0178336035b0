"""Names of databases, tables, columns and keys of the server, for commands and completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from postern_cli.failure import Failure
from postern_cli.server import Server


@dataclass
class TableNames:
    schema: str
    name: str
    columns: List[str]
    indexes: Dict[str, List[str]]  # columns by index, the primary key first
    generated: List[str]

    def index(self, wanted: Optional[str]) -> Tuple[str, List[str]]:
        """The named index, else the primary key, else the first unique one."""
        if wanted:
            for name, columns in self.indexes.items():
                if name.lower() == wanted.lower():
                    return name, columns
            raise Failure(
                f"{self.schema}.{self.name} has no index {wanted}; it has {', '.join(self.indexes) or 'none'}"
            )
        for name, columns in self.indexes.items():
            return name, columns
        raise Failure(f"{self.schema}.{self.name} has no index to find rows by")

    def column(self, wanted: str) -> str:
        for name in self.columns:
            if name.lower() == wanted.lower():
                return name
        raise Failure(f"{self.schema}.{self.name} has no column {wanted}; it has {', '.join(self.columns)}")


def split_name(text: str, database: str = "") -> Tuple[str, str]:
    """`database.table`, or `table` of the database in use."""
    schema, dot, name = text.partition(".")
    if not dot:
        schema, name = database, text
    if not schema or not name:
        raise Failure(f"{text}: say DATABASE.TABLE")
    return schema.strip("`"), name.strip("`")


def table(server: Server, text: str, database: str = "") -> TableNames:
    """A table's columns and keys. Raises Failure if there is none."""
    schema, name = split_name(text, database)
    rows = server.query(
        "SELECT column_name, extra FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
        " ORDER BY ordinal_position",
        (schema, name),
    )
    if not rows:
        raise Failure(f"there is no table {schema}.{name}, or the account may not see it")
    indexes: Dict[str, List[str]] = {}
    for index, column, _ in server.query(
        "SELECT index_name, column_name, non_unique FROM information_schema.statistics WHERE table_schema = %s AND"
        " table_name = %s AND index_type IN ('BTREE', 'HASH') ORDER BY index_name <> 'PRIMARY', non_unique, index_name,"
        " seq_in_index",
        (schema, name),
    ):
        indexes.setdefault(index, []).append(column)
    generated = [row[0] for row in rows if "GENERATED" in row[1].upper()]
    return TableNames(schema, name, [row[0] for row in rows], indexes, generated)


def databases(server: Server) -> List[str]:
    return [row[0] for row in server.query("SELECT schema_name FROM information_schema.schemata ORDER BY schema_name")]


def tables(server: Server, database: str) -> List[str]:
    rows = server.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY table_name", (database,)
    )
    return [row[0] for row in rows]


def containers(server: Server) -> List[str]:
    """Containers of the memcached door."""
    rows = server.try_query("SELECT name FROM innodb_memcache.containers ORDER BY name")
    return [row[0] for row in rows or []]


def redis_prefixes(server: Server) -> List[str]:
    rows = server.try_query("SELECT prefix FROM postern.redis_maps WHERE prefix <> '' ORDER BY prefix")
    return [row[0].decode("utf-8", "replace") if isinstance(row[0], bytes) else row[0] for row in rows or []]
