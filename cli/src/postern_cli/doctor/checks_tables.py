"""Checks of tables: mapped ones, and tables that no door can address."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from postern_cli.doctor.facts import Facts
from postern_cli.doctor.finding import Finding, good

SYSTEM = "('information_schema', 'performance_schema', 'mysql', 'sys', 'innodb_memcache', 'postern')"


def without_keys(facts: Facts) -> Iterator[Finding]:
    rows = facts.ask(
        "SELECT t.table_schema, t.table_name, t.table_rows FROM information_schema.tables t LEFT JOIN"
        " information_schema.statistics s ON s.table_schema = t.table_schema AND s.table_name = t.table_name AND s.non_unique = 0"
        f" WHERE t.table_type = 'BASE TABLE' AND t.engine = 'InnoDB' AND t.table_schema NOT IN {SYSTEM}"
        " AND s.index_name IS NULL GROUP BY t.table_schema, t.table_name LIMIT 100"
    )
    for schema, name, count in rows or []:
        yield Finding(
            "slow",
            "keys",
            f"{schema}.{name} has no primary or unique key ({int(count or 0):,} rows).",
            "Doors cannot find a row of it, replicas scan it for each changed row, and scans of doors cannot be taken up again.",
            f"ALTER TABLE `{schema}`.`{name}` ADD COLUMN id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY;",
        )
    if rows is not None and not rows:
        yield good("keys", "Every table of users has a unique key.")


def columns_of(facts: Facts, schema: str, table: str) -> Optional[Dict[str, Tuple[Any, ...]]]:
    """Type and nullability by column; None if there is no such table."""
    rows = facts.server.query(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
        (schema, table),
    )
    return {name.lower(): (kind, nullable) for name, kind, nullable in rows} or None


def index_problem(facts: Facts, schema: str, table: str, index: str, keys: List[str]) -> str:
    """The reason why this index does not identify rows by these columns; empty if it does."""
    rows = facts.server.query(
        "SELECT column_name, non_unique, sub_part, nullable FROM information_schema.statistics WHERE table_schema = %s AND"
        " table_name = %s AND index_name = %s ORDER BY seq_in_index",
        (schema, table, index),
    )
    if not rows:
        return f"the table has no index {index}"
    if int(rows[0][1]):
        return f"the index {index} is not unique"
    if [row[0].lower() for row in rows] != [key.lower() for key in keys]:
        return f"the index {index} is of {', '.join(row[0] for row in rows)}, not of {', '.join(keys)}"
    if any(row[2] is not None for row in rows):
        return f"the index {index} has the beginning of a column alone"
    return f"a column of the index {index} may be NULL" if any(row[3] == "YES" for row in rows) else ""


def names_in(text: Optional[str]) -> List[str]:
    return [name for name in re.split(r"[,;| \t]+", text or "") if name]


def mapping_problem(facts: Facts, schema: str, table: str, keys: List[str], others: List[str], index: str) -> str:
    columns = columns_of(facts, schema, table)
    if columns is None:
        return f"there is no table {schema}.{table}"
    missing = [name for name in [*keys, *others] if name.lower() not in columns]
    if missing:
        return f"the table {schema}.{table} has no column {', '.join(missing)}"
    return index_problem(facts, schema, table, index, keys)


def memcached_mappings(facts: Facts) -> Iterator[Finding]:
    rows = facts.ask("SELECT * FROM innodb_memcache.containers ORDER BY name")
    if rows is None:
        return
    names = facts.server.columns
    found: Set[str] = set()
    for row in rows:
        mapping = dict(zip(names, row))
        extra = [mapping[c] for c in ("flags", "cas_column", "expire_time_column") if mapping[c] not in (None, "", "0")]
        problem = mapping_problem(
            facts,
            mapping["db_schema"],
            mapping["db_table"],
            names_in(mapping["key_columns"]),
            names_in(mapping["value_columns"]) + extra,
            mapping["unique_idx_name_on_key"],
        )
        name = mapping["name"]
        found.add(name)
        if problem:
            yield Finding(
                "broken",
                "mappings",
                f"The memcached container {name} cannot be used: {problem}.",
                "Its clients get an error.",
                f"CALL postern.map_table('{name}', ...);  -- or: CALL postern.unmap_table('{name}');",
            )
        elif not extra or mapping["expire_time_column"] in (None, "", "0"):
            yield Finding(
                "note",
                "mappings",
                f"The memcached container {name} has no column for expiry.",
                "Items never expire, whatever clients set.",
                f"ALTER TABLE `{mapping['db_schema']}`.`{mapping['db_table']}` ADD COLUMN expire_time BIGINT NOT NULL DEFAULT 0;"
                f"  -- then CALL postern.map_table('{name}', ...) again",
            )
        else:
            yield good("mappings", f"The memcached container {name} is in order.")
    if "aaa" in found:
        yield Finding(
            "unsafe",
            "mappings",
            "MySQL's example, the memcached container aaa, is there.",
            "Clients that name no container use it, unless one is called default; flush_all empties its table.",
            "CALL postern.unmap_table('aaa');",
        )


def redis_mappings(facts: Facts) -> Iterator[Finding]:
    rows = facts.ask(
        "SELECT prefix, db, kind, db_schema, db_table, key_columns, value_columns, key_index, expire_column FROM postern.redis_maps"
    )
    for prefix, db, kind, schema, table, keys, values, index, expiry in rows or []:
        name = prefix.decode("utf-8", "replace") if isinstance(prefix, bytes) else str(prefix)
        if kind == "generic":
            problem = "" if columns_of(facts, schema, table) else f"there is no table {schema}.{table}"
        else:
            others = (
                [part.strip().split(" ")[0] for part in values.split(",") if part.strip()]
                if kind == "row"
                else [values]
            )
            others = [] if others == ["*"] else others
            problem = mapping_problem(
                facts, schema, table, names_in(keys), others + ([expiry] if expiry else []), index
            )
        if problem:
            yield Finding(
                "broken",
                "mappings",
                f"The Redis mapping '{name}' of database {db} cannot be used: {problem}.",
                "Clients that use its keys get an error.",
                f"CALL postern.redis_unmap('{name}');  -- and map it anew",
            )
        else:
            yield good("mappings", f"The Redis mapping '{name}' of database {db} is in order.")


CHECKS = (without_keys, memcached_mappings, redis_mappings)
