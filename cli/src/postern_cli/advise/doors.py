"""Which door would serve a statement, how a client would ask it, and about what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from postern_cli.advise.changes import integer
from postern_cli.advise.schema import BLOBS, Table
from postern_cli.advise.verdict import Verdict

SQL, HANDLERSOCKET, MEMCACHED, REDIS = "sql", "handlersocket", "memcached", "redis"
DOORS = (SQL, HANDLERSOCKET, MEMCACHED, REDIS)

# The server's time for a request relative to SQL, one request at a time: docs/figures.md, 50 x 1, and for the SQL
# door the measurements of its design. Pipelines and batches reduce it to a fifth.
PLANNED_PART = 0.75
READ_PARTS = {SQL: 0.42, HANDLERSOCKET: 0.22, MEMCACHED: 0.26, REDIS: 0.26}
WRITE_PARTS = {SQL: 0.6, HANDLERSOCKET: 0.41, MEMCACHED: 0.5, REDIS: 0.5}
PLANNED = "the statement as it is, by a plan made once while it reads few rows"
# A door saves processor time. A slower statement waits for something else, which no door shortens.
SAVES_OF_AT_MOST = 200e-6
WRITES = ("point_update", "increment", "point_delete", "insert", "upsert")
# Engines with rows that every door can address. docs/operating.md lists the others.
ENGINES = ("innodb", "myisam", "aria", "rocksdb", "memory", "")


@dataclass
class Service:
    """A door's verdict on a statement. `how` is the request, or empty if the door cannot serve it; `why` is the reason."""

    door: str
    how: str = ""
    why: str = ""

    @property
    def serves(self) -> bool:
        return bool(self.how)


def services(verdict: Verdict) -> List[Service]:
    """The verdict of each door, in the order of DOORS; doors without one cannot serve the statement."""
    if not verdict.key_value and verdict.kind != "range":
        return [Service(SQL, PLANNED)] if verdict.planned and verdict.kind == "other" else []
    assert verdict.table is not None
    if verdict.table.engine.lower() not in ENGINES:
        return [Service(door, why=f"the table's engine is {verdict.table.engine}") for door in DOORS]
    return [sql(verdict), handlersocket(verdict), memcached(verdict), redis(verdict)]


def seconds_saved(verdict: Verdict, door: str, average: Optional[float]) -> float:
    """An estimate for each statement."""
    if not average:
        return 0.0
    part = (WRITE_PARTS if verdict.kind in WRITES else READ_PARTS)[door]
    if door == SQL and verdict.planned and (verdict.kind == "other" or unserved(verdict)):
        part = PLANNED_PART
    return (1 - part) * min(average, SAVES_OF_AT_MOST)


def sql(verdict: Verdict) -> Service:
    """Whether the SQL door, which takes every statement, answers this one by itself."""
    why = unserved(verdict)
    if why and verdict.planned and not verdict.warning:
        return Service(SQL, PLANNED)
    if why:
        return Service(SQL, why=f"{why}: it works as ever, at the server's speed")
    return Service(SQL, "the statement as it is")


def unserved(verdict: Verdict) -> str:
    """The reason why a worker of the SQL door does not answer it by its key."""
    why = verdict.warning or verdict.unserved
    if not why and verdict.worked_out:
        why = "a value that the server works out"
    if not why:
        why = unserved_write(verdict) if verdict.changes or verdict.kind in WRITES else unserved_read(verdict)
    return why


def unserved_read(verdict: Verdict) -> str:
    if verdict.locking and verdict.kind != "point_select" and (verdict.residual or verdict.by_pattern):
        return "locks rows that it finds among others"
    if verdict.ordered and not verdict.order_kept and verdict.kind in ("in_list", "range"):
        return "an order that the index does not have"
    return ""


def unserved_write(verdict: Verdict) -> str:
    if verdict.returns_expressions:
        return "an expression in RETURNING"
    if table_is_special(verdict):
        return "a table with triggers, or one that foreign keys point at"
    if verdict.how == "other":
        return "a value that the server works out"
    if verdict.kind == "range" and (verdict.by_pattern or verdict.residual and not passes_rows(verdict)):
        return "changes rows that it finds among others"
    several = verdict.keys > 1 or verdict.kind == "range"
    if verdict.changes and several and verdict.returning:
        return "RETURNING of several rows"
    if (
        verdict.kind in ("point_update", "increment", "range")
        and several
        and set(verdict.columns) & set(verdict.key_columns)
    ):
        return "a change of the keys that find its rows"
    return ""


def passes_rows(verdict: Verdict) -> bool:
    """Whether a worker may walk over rows that are not changed. The server may use a condition on the primary key with
    every index."""
    primary = next((key for key in verdict.table.indexes if key.name == "PRIMARY"), None) if verdict.table else None
    return verdict.simple_residual and not (primary and primary.columns[0] in verdict.residual)


def table_is_special(verdict: Verdict) -> bool:
    return bool(verdict.table and (verdict.table.triggers or verdict.table.referenced and verdict.kind != "insert"))


def common_refusal(verdict: Verdict) -> str:
    """The reason why only the SQL door can serve it."""
    if verdict.locking:
        return "locks rows for its transaction"
    if verdict.returning:
        return "RETURNING"
    if verdict.how == "other" or (verdict.expressions and verdict.kind in WRITES):
        return "a value that the server works out"
    if verdict.offset and verdict.kind != "range":
        return "an OFFSET on a key"
    return ""


def handlersocket(verdict: Verdict) -> Service:
    why = common_refusal(verdict)
    if not why and verdict.residual and not filterable(verdict):
        why = f"a condition that is no filter: {', '.join(verdict.residual)}"
    if not why and verdict.ordered and verdict.kind == "range":
        why = "" if verdict.index else "an order that no index has"
    how = "" if why else handlersocket_request(verdict)
    if not how and not why:
        why = {
            "mixed": "adds to one column and sets another",
            "add": "adds to a row that may not be there",
            "update_some": "sets a part of the columns where the row is there",
            "replace": "REPLACE resets the columns that are not given",
        }.get(verdict.how, "no request for it")
    return Service(HANDLERSOCKET, how, why)


def filterable(verdict: Verdict) -> bool:
    """Whether conditions beyond the key are comparisons of columns that filters can make."""
    types = verdict.table.columns if verdict.table else {}
    return verdict.simple_residual and not any(types[name].type in BLOBS for name in verdict.residual if name in types)


def handlersocket_request(verdict: Verdict) -> str:
    key = "<" + ">,<".join(verdict.key_columns) + ">"
    filters = " and filters" if verdict.residual else ""
    if verdict.kind in ("point_select", "count", "exists"):
        return f"find = {key}{filters}" + (", columns worked out by the client" if verdict.expressions else "")
    if verdict.kind == "in_list":
        return f"find = with an IN list on {key}{filters}"
    if verdict.kind == "range":
        return f"find along {verdict.index.name if verdict.index else ''} from {key}{filters}"
    if verdict.kind == "insert":
        return "insert (+)" + (f", {verdict.keys} requests in one pipeline" if verdict.keys > 1 else "")
    if verdict.kind == "point_delete":
        return f"delete (D) {key}{filters}"
    if verdict.kind in ("point_update", "increment") and verdict.how != "mixed":
        return f"{'increment (+)' if verdict.kind == 'increment' else 'update (U)'} {key}{filters}"
    if verdict.kind == "upsert":
        if verdict.how in ("ignore", "keep"):
            return "insert or ignore (I)"
        if verdict.how == "update" or (verdict.how == "replace" and all_columns(verdict)):
            return "insert or update (U)"
    return ""


def all_columns(verdict: Verdict) -> bool:
    return bool(verdict.table) and set(verdict.columns) >= {
        name for name, column in verdict.table.columns.items() if not column.generated  # type: ignore[union-attr]
    }


def all_values(verdict: Verdict) -> bool:
    """Whether an UPDATE sets all columns but the key's."""
    assert verdict.table is not None
    rest = {name for name, column in verdict.table.columns.items() if not column.generated} - set(verdict.key_columns)
    return rest <= set(verdict.columns)


def mapping_refusal(verdict: Verdict) -> str:
    """The reason why a key of memcached or Redis cannot name these rows."""
    why = common_refusal(verdict)
    if why:
        return why
    if verdict.kind == "range":
        return "a range"
    if verdict.residual:
        return "a condition beyond the key"
    if verdict.index and verdict.index.nullable:
        return f"a column of {verdict.index.name} may be NULL"
    if verdict.kind in ("point_select", "in_list") and verdict.expressions:
        return "an expression is selected"
    if verdict.kind in ("insert", "upsert") and not set(verdict.key_columns) <= set(verdict.columns):
        return "the key is made by the server"
    return ""


def value_columns(verdict: Verdict) -> Tuple[str, ...]:
    """The columns besides the key that the statement reads or writes, in the table's order."""
    assert verdict.table is not None
    names = set(verdict.table.columns) if "*" in verdict.columns else set(verdict.columns)
    return tuple(name for name in verdict.table.columns if name in names and name not in verdict.key_columns)


def memcached(verdict: Verdict) -> Service:
    why = mapping_refusal(verdict)
    how = {
        "point_select": "get",
        "in_list": "get of several keys",
        "exists": "get",
        "count": "get",
        "point_delete": "delete",
    }.get(verdict.kind, "")
    columns = value_columns(verdict)
    if verdict.kind == "increment" and not why:
        if len(columns) != 1 or not integer(verdict, columns[0]):
            why = "incr adds to one integer column"
        how = "incr"
    elif verdict.kind in ("insert", "upsert", "point_update") and not why:
        if len(columns) != 1 and not all_columns(verdict) and not all_values(verdict):
            why = "a value has all mapped columns, and these are a part of the row's"
        how = {"insert": "add", "point_update": "replace"}.get(verdict.kind, "set")
        if verdict.how in ("ignore", "keep"):
            how = "add"
        elif verdict.how in ("add", "update_some", "mixed"):
            why = "set stores all columns of a value"
        elif verdict.how == "replace" and not all_columns(verdict):
            why = "REPLACE resets the columns that are not given"
    return Service(MEMCACHED, "" if why else how, why)


def redis(verdict: Verdict) -> Service:
    why = mapping_refusal(verdict)
    columns = value_columns(verdict)
    many = "*" in verdict.columns or len(columns) > 1
    how = {
        "point_select": "HGETALL" if "*" in verdict.columns else "HMGET" if many else "HGET",
        "in_list": "a pipeline of HMGET",
        "exists": "EXISTS",
        "count": "EXISTS",
        "point_delete": "DEL",
        "increment": "HINCRBY",
        "point_update": "HSET",
        "upsert": "HSET",
    }.get(verdict.kind, "")
    if verdict.kind == "increment" and not why and (len(columns) != 1 or not integer(verdict, columns[0])):
        why = "HINCRBY adds to one integer column"
    if verdict.kind == "insert" or verdict.how in ("ignore", "keep"):
        why = why or "HSET also changes a row that is there"
    if verdict.how in ("add", "mixed", "update_some"):
        why = why or "sets and adds in one"
    if verdict.how == "replace" and not all_columns(verdict):
        why = why or "REPLACE resets the columns that are not given"
    if verdict.kind == "point_update":
        how += " (which makes the row where it is not there)"
    return Service(REDIS, "" if why else how, why)


def mappings(
    uses: Dict[Tuple[str, Tuple[str, ...]], List[Tuple[int, Verdict]]]
) -> Dict[Tuple[str, Tuple[str, ...]], List[str]]:
    """The SQL that maps tables for memcached and Redis, from each table, key, and the counts of statements."""
    made = {}
    for (name, key), group in sorted(uses.items()):
        table = group[0][1].table
        assert table is not None
        columns = {column for _, verdict in group for column in value_columns(verdict)}
        values = [table.columns[column].name for column in table.columns if column in columns]
        values = values or table.others(key)[:1]
        alone = sorted({value_columns(verdict)[0] for _, verdict in group if alone_in_container(verdict)})
        made[name, key] = map_statements(table, key, values, alone)
    return made


def alone_in_container(verdict: Verdict) -> bool:
    """Whether memcached needs a container of just the one column that is written."""
    return verdict.kind in WRITES and len(value_columns(verdict)) == 1 and memcached(verdict).serves


def map_statements(table: Table, key: Tuple[str, ...], values: List[str], alone: List[str]) -> List[str]:
    names = ",".join(table.columns[part].name for part in key)
    by_primary = any(index.name == "PRIMARY" and index.columns == key for index in table.indexes)
    own = table.name if by_primary else f"{table.name}_by_{'_'.join(key)}"
    lines = []
    if values:
        lines.append(call("map_table", own, table.schema, table.name, names, ",".join(values)))
    lines += [
        call("map_table", f"{own}_{column}", table.schema, table.name, names, table.columns[column].name)
        for column in alone
        if values != [table.columns[column].name]
    ]
    if by_primary:
        lines.append(call("redis_map_row", f"{table.name}:", table.schema, table.name, "*"))
    elif len(values) == 1:
        lines.append(call("redis_map_value", f"{own}:", table.schema, table.name, names, values[0]))
    return lines


def call(procedure: str, *arguments: str) -> str:
    quoted = ", ".join("'" + argument.replace("\\", "\\\\").replace("'", "''") + "'" for argument in arguments)
    return f"CALL postern.{procedure}({quoted});"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def index_statement(verdict: Verdict) -> str:
    """The SQL that creates the missing index."""
    assert verdict.table is not None
    table, columns = verdict.table, verdict.missing_index
    parts = []
    for name in columns:
        long = table.columns[name].type in BLOBS
        parts.append(quoted(table.columns[name].name) + ("(100)" if long else ""))
    label = "_".join(columns)[:60]
    schema = f"{quoted(table.schema)}." if table.schema else ""
    return f"ALTER TABLE {schema}{quoted(table.name)} ADD INDEX {quoted(label)} ({', '.join(parts)});"
