"""Tables for postern advise: columns, indexes, and properties that matter for writes. From a server or from a dump."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Tuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from postern_cli.advise.statement import TOKEN, first_words, split

SYSTEM = ("information_schema", "performance_schema", "mysql", "sys")
OURS = ("innodb_memcache", "postern", "postern_redis")  # the databases of mappings, and the keyspace of the Redis door
INTEGERS = ("tinyint", "smallint", "mediumint", "int", "integer", "bigint")
TEXTS = ("char", "varchar", "text", "tinytext", "mediumtext", "longtext", "enum", "set")
BLOBS = ("text", "tinytext", "mediumtext", "longtext", "blob", "tinyblob", "mediumblob", "longblob", "json")

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass
class Column:
    name: str
    type: str  # the type's name alone, in lower case: varchar
    nullable: bool = True
    generated: bool = False
    automatic: bool = False  # AUTO_INCREMENT


@dataclass
class Index:
    name: str
    columns: Tuple[str, ...]  # in lower case
    unique: bool
    whole: bool = True  # no column is indexed by a prefix only
    nullable: bool = False

    @property
    def tells_rows_apart(self) -> bool:
        return self.unique and self.whole


@dataclass
class Table:
    schema: str
    name: str
    columns: Dict[str, Column] = field(default_factory=dict)  # by name in lower case, in order
    indexes: List[Index] = field(default_factory=list)
    engine: str = "InnoDB"
    rows: Optional[int] = None
    triggers: bool = False
    referenced: bool = False  # foreign keys of other tables point here
    view: bool = False
    definition: str = ""  # the SELECT, if it is a view

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name

    def keys(self) -> List[Index]:
        """Indexes that find one row, the primary key first."""
        return sorted(
            (i for i in self.indexes if i.tells_rows_apart), key=lambda i: (i.name != "PRIMARY", len(i.columns))
        )

    def others(self, columns: Iterable[str]) -> List[str]:
        """The names of all columns but these, in order."""
        left_out = set(columns)
        return [column.name for name, column in self.columns.items() if name not in left_out]


class Schema:
    """All known tables. Names are case-insensitive, because clients of most servers write them in any case."""

    def __init__(self, tables: Iterable[Table] = ()) -> None:
        self._by_name: Dict[Tuple[str, str], Table] = {}
        self._by_table: Dict[str, List[Table]] = {}
        self.plans = True  # workers of this server run plans that its optimizer made once
        for table in tables:
            self.add(table)

    def add(self, table: Table) -> None:
        self._by_name[table.schema.lower(), table.name.lower()] = table
        same = self._by_table.setdefault(table.name.lower(), [])
        same[:] = [other for other in same if other.schema.lower() != table.schema.lower()] + [table]

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def find(self, schema: str, name: str) -> Optional[Table]:
        """The table; if the schema is unknown or lacks it, the only table of that name."""
        found = self._by_name.get((schema.lower(), name.lower()))
        if found is None:
            same = self._by_table.get(name.lower(), [])
            found = same[0] if len(same) == 1 else None
        return found


def from_server(query: Any, schemas: Iterable[str] = ()) -> Schema:
    """The tables of a server. `query(sql, arguments)` returns tuples; `schemas` restricts the databases."""
    wanted = list(schemas)
    where = "NOT IN ('" + "','".join(SYSTEM + OURS) + "')"
    if wanted:
        where = "IN (" + ",".join(["%s"] * len(wanted)) + ")"
    tables: Dict[Tuple[str, str], Table] = {}
    for schema, name, engine, rows, kind in query(
        f"SELECT table_schema, table_name, engine, table_rows, table_type FROM information_schema.tables WHERE table_schema {where}",
        wanted,
    ):
        tables[schema, name] = Table(schema, name, engine=engine or "", rows=rows, view=kind == "VIEW")
    for schema, name, definition in query(
        f"SELECT table_schema, table_name, view_definition FROM information_schema.views WHERE table_schema {where}",
        wanted,
    ):
        if (schema, name) in tables:
            tables[schema, name].definition = definition or ""
    for schema, name, column, kind, nullable, extra in query(
        "SELECT table_schema, table_name, column_name, data_type, is_nullable, extra FROM information_schema.columns"
        f" WHERE table_schema {where} ORDER BY table_schema, table_name, ordinal_position",
        wanted,
    ):
        if (schema, name) in tables:
            generated = "GENERATED" in extra.upper()
            automatic = "auto_increment" in extra.lower()
            tables[schema, name].columns[column.lower()] = Column(
                column, kind.lower(), nullable == "YES", generated, automatic
            )
    add_indexes(
        tables,
        query(
            "SELECT table_schema, table_name, index_name, column_name, non_unique, sub_part, nullable FROM"
            f" information_schema.statistics WHERE table_schema {where} AND index_type IN ('BTREE', 'HASH', 'RTREE')"
            " ORDER BY table_schema, table_name, index_name, seq_in_index",
            wanted,
        ),
    )
    for schema, name in query(
        f"SELECT DISTINCT event_object_schema, event_object_table FROM information_schema.triggers WHERE event_object_schema {where}",
        wanted,
    ):
        if (schema, name) in tables:
            tables[schema, name].triggers = True
    for schema, name in query(
        "SELECT DISTINCT unique_constraint_schema, referenced_table_name FROM information_schema.referential_constraints"
        f" WHERE unique_constraint_schema {where}",
        wanted,
    ):
        if (schema, name) in tables:
            tables[schema, name].referenced = True
    found = Schema(tables.values())
    settings = dict(query("SHOW GLOBAL VARIABLES WHERE variable_name IN ('version', 'postern_plan_once')"))
    found.plans = settings["version"].startswith("10.11.") and settings.get("postern_plan_once") != "OFF"
    return found


def add_indexes(tables: Dict[Tuple[str, str], Table], rows: Iterable[Tuple[Any, ...]]) -> None:
    for schema, name, index_name, column, non_unique, part, nullable in rows:
        table = tables.get((schema, name))
        if table is None:
            continue
        if not table.indexes or table.indexes[-1].name != index_name:
            table.indexes.append(Index(index_name, (), not int(non_unique)))
        index = table.indexes[-1]
        index.columns += (column.lower(),)
        index.whole = index.whole and part is None
        index.nullable = index.nullable or nullable == "YES"


def from_definitions(text: str, schema: str = "") -> Schema:
    """The tables of a dump's CREATE TABLE statements (`mariadb-dump --no-data`); USE and names with a schema count."""
    found = Schema()
    for statement in split(text):
        words = first_words(statement, 2)
        if words[:1] == ["USE"]:
            schema = statement.split()[-1].strip("`")
        if words[:1] != ["CREATE"]:
            continue
        try:
            table = table_of(parse_one(without_options(statement), read="mysql"), schema)
        except SqlglotError:
            continue
        if table:
            found.add(table)
    return found


def without_options(statement: str) -> str:
    """The statement up to the bracket that ends the columns, without table options."""
    depth = 0
    for match in TOKEN.finditer(statement):
        depth += {"(": 1, ")": -1}.get(match.group(), 0)
        if match.group() == ")" and depth == 0:
            return statement[: match.end()]
    return statement


def table_of(tree: Any, schema: str) -> Optional[Table]:
    """The table that a parsed CREATE TABLE makes."""
    if not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Schema):
        return None
    named = tree.this.this
    table = Table(named.text("db") or schema, named.name)
    for part in tree.this.expressions:
        if isinstance(part, exp.ColumnDef):
            add_column(table, part)
        elif isinstance(part, exp.PrimaryKey):
            table.indexes.insert(0, Index("PRIMARY", names_of(part.expressions), True))
        elif isinstance(part, exp.UniqueColumnConstraint):
            columns = names_of(part.this.expressions)
            name = part.this.this.name if part.this.this else columns[0]
            table.indexes.append(Index(name, columns, True, whole=is_whole(part.this.expressions)))
        elif isinstance(part, exp.IndexColumnConstraint) and part.args.get("kind") not in ("FULLTEXT", "SPATIAL"):
            columns = names_of(part.expressions)
            table.indexes.append(Index(part.name or columns[0], columns, False, whole=is_whole(part.expressions)))
    for index in table.indexes:
        known = [table.columns[name] for name in index.columns if name in table.columns]
        index.nullable = index.name != "PRIMARY" and any(column.nullable for column in known)
    return table


def add_column(table: Table, definition: Any) -> None:
    column = Column(definition.name, definition.kind.this.value.lower() if definition.kind else "")
    name = column.name.lower()
    table.columns[name] = column
    for constraint in definition.constraints:
        kind = constraint.kind
        if isinstance(kind, exp.NotNullColumnConstraint):
            column.nullable = bool(kind.args.get("allow_null"))
        elif isinstance(kind, exp.PrimaryKeyColumnConstraint):
            column.nullable = False
            table.indexes.insert(0, Index("PRIMARY", (name,), True))
        elif isinstance(kind, exp.UniqueColumnConstraint):
            table.indexes.append(Index(column.name, (name,), True))
        elif isinstance(kind, exp.AutoIncrementColumnConstraint):
            column.automatic = True
        elif isinstance(kind, (exp.ComputedColumnConstraint, exp.GeneratedAsIdentityColumnConstraint)):
            column.generated = True


def names_of(expressions: Iterable[Any]) -> Tuple[str, ...]:
    """The columns of an index; a prefix, `name(20)`, counts as `name`."""
    names = []
    for expression in expressions:
        while isinstance(expression, exp.Ordered):
            expression = expression.this
        names.append(expression.name.lower())
    return tuple(names)


def is_whole(expressions: Iterable[Any]) -> bool:
    """Whether no column is indexed by a prefix only."""
    return not any(node for part in expressions for node in part.find_all(exp.ColumnPrefix, exp.Anonymous))
