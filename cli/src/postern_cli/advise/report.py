"""The report of postern advise, as text and as JSON."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

from postern_cli.advise import doors
from postern_cli.advise.verdict import KEY_VALUE, Verdict
from postern_cli.advise.workload import Shape, Workload
from postern_cli.output import duration, paint, table

WORDS = {
    "point_select": "a row read by its key",
    "in_list": "rows read by a list of keys",
    "count": "counted by key",
    "exists": "looked for by key",
    "point_update": "a row changed by its key",
    "increment": "added to a row by its key",
    "point_delete": "a row deleted by its key",
    "insert": "rows inserted",
    "upsert": "rows inserted or changed",
    "range": "rows of a range of an index",
    "unindexed": "rows by columns without an index",
    "transaction": "transactions: BEGIN, COMMIT ...",
    "session": "sessions: SET, SHOW, SELECT 1 ...",
    "definition": "definitions: CREATE, ALTER ...",
    "other": "other SQL",
}
DOOR_WORDS = {
    "sql": "SQL door, nothing changed",
    "handlersocket": "HandlerSocket",
    "memcached": "memcached",
    "redis": "Redis",
}


def summary(workload: Workload) -> Dict[str, Any]:
    """The whole report, as one value."""
    groups: Dict[str, List[Shape]] = {}
    for shape in workload.shapes:
        groups.setdefault(shape.verdict.kind, []).append(shape)
    kinds = [
        {"kind": kind, "key_value": kind in KEY_VALUE, **totals(groups[kind], workload)}
        for kind in WORDS
        if kind in groups
    ]
    key_value = [shape for shape in workload.shapes if shape.verdict.key_value]
    of_tables = [s for s in workload.shapes if s.verdict.kind not in ("transaction", "session", "definition")]
    return {
        "source": workload.source,
        "statements": workload.count,
        "shapes": len(workload.shapes),
        "seconds": workload.seconds if workload.timed else None,
        "notes": workload.notes,
        "key_value": totals(key_value, workload),
        "key_value_of_statements_on_tables": {
            "count_share": part(sum(s.count for s in key_value), sum(s.count for s in of_tables)),
            "time_share": part(sum(s.seconds for s in key_value), sum(s.seconds for s in of_tables)),
        },
        "kinds": kinds,
        "doors": [door_totals(door, workload) for door in doors.DOORS],
        "in_transactions": sum(s.in_transaction for s in key_value),
        "tables": tables(workload),
        "indexes": indexes(workload),
        "warnings": sorted(
            {f"{s.verdict.table_name}: {s.verdict.warning}" for s in workload.shapes if s.verdict.warning}
        ),
        "statements_by_weight": [one(shape, workload) for shape in workload.shapes],
    }


def part(some: float, whole: float) -> Any:
    return round(some / whole, 4) if whole else None


def totals(shapes: List[Shape], workload: Workload) -> Dict[str, Any]:
    count, seconds = sum(s.count for s in shapes), sum(s.seconds for s in shapes)
    return {
        "shapes": len(shapes),
        "count": count,
        "count_share": part(count, workload.count),
        "seconds": seconds if workload.timed else None,
        "time_share": part(seconds, workload.seconds),
    }


def door_totals(door: str, workload: Workload) -> Dict[str, Any]:
    served = [s for s in workload.shapes if any(x.door == door and x.serves for x in doors.services(s.verdict))]
    saved = sum(s.count * doors.seconds_saved(s.verdict, door, s.average) for s in served)
    return {
        "door": door,
        **totals(served, workload),
        "seconds_saved_estimate": saved if workload.timed else None,
        "time_saved_share_estimate": part(saved, workload.seconds),
    }


def one(shape: Shape, workload: Workload) -> Dict[str, Any]:
    verdict = shape.verdict
    return {
        "statement": shape.fingerprint,
        "example": shape.text[:2000],
        "database": shape.database,
        "count": shape.count,
        "count_share": part(shape.count, workload.count),
        "seconds": shape.seconds if workload.timed else None,
        "average_seconds": shape.average,
        "time_share": part(shape.seconds, workload.seconds),
        "in_transaction": shape.in_transaction,
        "prepared": shape.prepared,
        "kind": verdict.kind,
        "key_value": verdict.key_value,
        "why": verdict.why,
        "table": verdict.table_name,
        "index": verdict.index.name if verdict.index else None,
        "key": list(verdict.key_columns),
        "further_conditions": verdict.residual,
        "locks": verdict.locking,
        "warning": verdict.warning,
        "doors": [
            {
                "door": service.door,
                "serves": service.serves,
                "how": service.how,
                "why_not": service.why,
                "estimated_seconds": estimate(verdict, service, shape),
            }
            for service in doors.services(verdict)
        ],
    }


def estimate(verdict: Verdict, service: doors.Service, shape: Shape) -> Any:
    if not service.serves or not shape.average:
        return None
    return shape.average - doors.seconds_saved(verdict, service.door, shape.average)


def tables(workload: Workload) -> List[Dict[str, Any]]:
    """The mappings for memcached and Redis, most used first."""
    uses: Dict[Tuple[str, Tuple[str, ...]], List[Tuple[int, Verdict]]] = {}
    for shape in workload.shapes:
        served = [s for s in doors.services(shape.verdict) if s.serves and s.door in (doors.MEMCACHED, doors.REDIS)]
        if served:
            uses.setdefault((shape.verdict.table_name, shape.verdict.key_columns), []).append(
                (shape.count, shape.verdict)
            )
    made = doors.mappings(uses)
    weight = {place: sum(count for count, _ in group) for place, group in uses.items()}
    return [
        {"table": place[0], "key": list(place[1]), "statements": weight[place], "sql": made[place]}
        for place in sorted(made, key=lambda place: -weight[place])
    ]


def indexes(workload: Workload) -> List[Dict[str, Any]]:
    """The missing indexes, each with the statements that need it."""
    found: Dict[str, Dict[str, Any]] = {}
    for shape in workload.shapes:
        if shape.verdict.kind == "unindexed":
            sql = doors.index_statement(shape.verdict)
            entry = found.setdefault(
                sql,
                {
                    "table": shape.verdict.table_name,
                    "sql": sql,
                    "statements": 0,
                    "seconds": 0.0,
                    "example": shape.fingerprint,
                },
            )
            entry["statements"] += shape.count
            entry["seconds"] += shape.seconds
    return sorted(found.values(), key=lambda entry: (-entry["seconds"], -entry["statements"]))


def text(told: Dict[str, Any], limit: int) -> str:
    """The report as text."""
    timed = told["seconds"] is not None
    head = f"{told['statements']:,} statements of {told['shapes']:,} shapes, from {told['source']}"
    head += f", in {duration(told['seconds'])} of the server's time" if timed else "; their times are not known"
    parts = [head, *(paint("NOTE ", "yellow") + note for note in told["notes"]), "", text_of_kinds(told, timed)]
    of_tables = told["key_value_of_statements_on_tables"]
    if of_tables["count_share"] is not None:
        line = f"Of the statements on tables {percent(of_tables['count_share'])} are key-value shaped"
        line += f", and {percent(of_tables['time_share'])} of their time is" if timed else ""
        if told["in_transactions"]:
            line += f"; {told['in_transactions']:,} of these ran in transactions, which only the SQL door shares"
        parts += ["", line + "."]
    if told["key_value"]["count"] or any(door["count"] for door in told["doors"]):
        parts += ["", paint("Doors", "bold"), text_of_doors(told, timed)]
    if told.get("measured"):
        parts += ["", text_of_measured(told["measured"])]
    parts += ["", paint("Statements", "bold"), text_of_statements(told, timed, limit)]
    if told["tables"]:
        parts += [
            "",
            paint("Mappings, for memcached and Redis (sql/innodb_memcache.sql and sql/redis.sql first)", "bold"),
        ]
        for entry in told["tables"][:limit]:
            parts += [
                f"-- {entry['table']} by {', '.join(entry['key'])}: {entry['statements']:,} statements",
                *entry["sql"],
            ]
    if told["indexes"]:
        parts += ["", paint("Missing indexes", "bold")]
        for entry in told["indexes"][:limit]:
            spent = f", {duration(entry['seconds'])}" if timed else ""
            parts += [f"-- {entry['statements']:,} statements{spent}: {entry['example'][:150]}", entry["sql"]]
    parts += [paint("WARNING ", "red") + warning for warning in told["warnings"]]
    return "\n".join(parts)


def text_of_measured(gain: Dict[str, Any]) -> str:
    every = gain["by_workers"] + gain["by_the_server"]
    spared = gain["processor_seconds_spared"]
    return (
        f"Measured, where the figures above are estimates: workers of the SQL door have answered {gain['by_workers']:,} of its"
        f" {every:,} statements since it was loaded, and spared about {duration(spared)} of processor time,"
        f" {1e6 * spared / gain['by_workers']:,.1f} us each."
    )


def percent(value: Any) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def text_of_kinds(told: Dict[str, Any], timed: bool) -> str:
    def row(name: str, entry: Dict[str, Any]) -> List[Any]:
        cells = [name, f"{entry['count']:,}", percent(entry["count_share"])]
        return cells + ([duration(entry["seconds"]), percent(entry["time_share"])] if timed else [])

    rows = [row("key-value shaped", told["key_value"])]
    rows += [row("  " + WORDS[entry["kind"]], entry) for entry in told["kinds"] if entry["key_value"]]
    rows += [row(WORDS[entry["kind"]], entry) for entry in told["kinds"] if not entry["key_value"]]
    heads = ["", "statements", "share"] + (["time", "share"] if timed else [])
    return table(heads, rows)


def text_of_doors(told: Dict[str, Any], timed: bool) -> str:
    rows = []
    for entry in told["doors"]:
        row = [DOOR_WORDS[entry["door"]], f"{entry['count']:,}", percent(entry["count_share"])]
        if timed:
            row += [percent(entry["time_share"]), "about " + percent(entry["time_saved_share_estimate"])]
        rows.append(row)
    return table(
        ["", "statements it would serve", "share"] + (["share of time", "of all time saved"] if timed else []), rows
    )


def text_of_statements(told: Dict[str, Any], timed: bool, limit: int) -> str:
    parts = []
    for entry in told["statements_by_weight"][:limit]:
        figures = f"{entry['count']:,} times, {percent(entry['count_share'])}"
        if timed and entry["average_seconds"]:
            figures += f"; {duration(entry['average_seconds'])} each, {percent(entry['time_share'])} of the time"
        kind = WORDS[entry["kind"]]
        if entry["index"]:
            kind += f" ({entry['table']}, {entry['index']})"
        colour = "green" if entry["key_value"] else "yellow" if entry["kind"] in ("range", "unindexed") else "dim"
        parts.append(f"{paint(kind, colour)}: {figures}\n  {entry['statement'][:400]}")
        if entry["why"] and not entry["key_value"]:
            parts.append(f"  -- {entry['why']}")
        parts += [f"  {line}" for line in text_of_services(entry)]
    left = len(told["statements_by_weight"]) - limit
    if left > 0:
        parts.append(f"... and {left:,} more shapes; --limit shows more, --json all")
    return "\n".join(parts)


def text_of_services(entry: Dict[str, Any]) -> List[str]:
    lines = []
    refused = []
    for service in entry["doors"]:
        name = DOOR_WORDS[service["door"]].partition(",")[0]
        if service["serves"]:
            cost = service["estimated_seconds"]
            lines.append(f"{name}: {service['how']}" + (f", about {duration(cost)}" if cost else ""))
        else:
            refused.append(f"{name} ({service['why_not']})")
    return lines + ([f"not: {'; '.join(refused)}"] if refused and lines else [])
