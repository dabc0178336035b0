"""The doors' activity between two readings of the server's status variables."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

SUMS = ("requests_find", "requests_insert", "requests_edit", "requests_open", "requests_other")
# The requests of the SQL door: those that workers answered, and those that the server answered.
STATEMENTS = ("statements_fast", "statements_served")
NOW = ("connections", "connections_peak", "buffer_bytes")
LATENCY = re.compile(r"_latency_(\w+)_p(\d+)(?:_us)?$")
NOT_NOW = "postern_not_now_"


def doors_in(status: Dict[str, Any]) -> List[str]:
    """The plugins with counters."""
    return sorted({name[: -len("_requests_find")] for name in status if name.endswith("_requests_find")})


def figures(before: Dict[str, Any], after: Dict[str, Any], seconds: Optional[float]) -> List[Dict[str, Any]]:
    """The rates of each door between two readings, a second. `seconds`: None if there is only one reading, so that no
    rate is known."""
    told = []
    for door in doors_in(after):

        def rate(*counters: str) -> Optional[float]:
            if seconds is None:
                return None
            grown = sum(max(after.get(f"{door}_{name}", 0) - before.get(f"{door}_{name}", 0), 0) for name in counters)
            return grown / seconds

        is_sql = door == "postern"
        requests, batches = rate(*(STATEMENTS if is_sql else SUMS)), rate("batches")
        writes, commits = rate("rows_inserted", "rows_updated", "rows_deleted"), rate("commits")
        told.append(
            {
                "door": door,
                "requests": requests,
                "finds": rate("requests_find"),
                "inserts": rate("requests_insert"),
                "edits": rate("requests_edit"),
                "failed": rate("requests_failed"),
                "statements_fast": rate("statements_fast") if is_sql else None,
                "statements_served": rate("statements_served") if is_sql else None,
                "rows_sent": rate("rows_sent"),
                "rows_written": writes,
                "requests_per_batch": ratio(requests, batches),
                "writes_per_commit": ratio(writes, commits),
                "bytes_received": rate("bytes_received"),
                "bytes_sent": rate("bytes_sent"),
                "scans": rate("slow_finds"),
                "row_lock_waits": rate("row_lock_waits"),
                "ddl_yields": rate("ddl_yields"),
                "connections_accepted": rate("connections_accepted"),
                "spared_processors": millionths(rate("spared_processor_us")) if is_sql else None,
                **{name: after.get(f"{door}_{name}", 0) for name in NOW},
                "latency_us": latencies(door, after),
            }
        )
    return told


def ratio(some: Optional[float], others: Optional[float]) -> Optional[float]:
    return some / others if some is not None and others else None


def millionths(number: Optional[float]) -> Optional[float]:
    return None if number is None else number / 1e6


def latencies(door: str, status: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Latency percentiles in microseconds by kind of request, if the server has them."""
    found: Dict[str, Dict[str, Any]] = {}
    for name, value in status.items():
        match = LATENCY.search(name)
        if match and name.startswith(f"{door}_latency_"):
            found.setdefault(match[1], {})[f"p{match[2]}"] = value
    return found


def reasons(
    before: Dict[str, Any], after: Dict[str, Any], seconds: float, forms: List[Dict[str, Any]]
) -> List[Dict[str, Any]]:
    """Why the server answered statements, the most frequent reason first: for statements with a plan, and by forms for the
    others."""
    grown = {
        name[len(NOT_NOW) :].replace("_", " ") + ", now": (after[name] - before.get(name, 0)) / seconds
        for name in after
        if name.startswith(NOT_NOW) and after[name] > before.get(name, 0)
    }
    for form in forms:
        if form["state"] == "not served" and form["asked"]:
            why = form["reason"] or "not known"
            grown[why] = grown.get(why, 0) + form["asked"]
    return [{"a_second": grown[why], "why": why} for why in sorted(grown, key=lambda one: -grown[one])]


def rows_of(told: List[Dict[str, Any]]) -> List[List[str]]:
    def row(words: str, name: str, form: str = "{:,.0f}") -> List[str]:
        return [words, *(form.format(door[name]) if door[name] is not None else "-" for door in told)]

    return [
        row("requests", "requests"),
        row("  finds", "finds"),
        row("  inserts", "inserts"),
        row("  changes and deletions", "edits"),
        row("  by a plan", "statements_fast"),
        row("  by the server", "statements_served"),
        row("  failed", "failed"),
        row("rows sent", "rows_sent"),
        row("rows written", "rows_written"),
        row("requests a batch", "requests_per_batch", "{:,.1f}"),
        row("writes a commit", "writes_per_commit", "{:,.1f}"),
        row("bytes received", "bytes_received"),
        row("bytes sent", "bytes_sent"),
        row("to scan threads", "scans"),
        row("waits for rows", "row_lock_waits"),
        row("yields to DDL", "ddl_yields"),
        row("new connections", "connections_accepted"),
        row("connections now", "connections"),
        row("most at once", "connections_peak"),
    ]
