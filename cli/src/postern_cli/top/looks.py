"""Looks: the state of a server's doors at one moment, and the difference of two."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional

from postern_cli import server as sql
from postern_cli.top import figures

# Waiting and busy connections first; as many as any terminal shows.
CONNECTIONS = (
    "SELECT id, door, host, account, state, silent_ms, last_request, requests, bytes_received, bytes_sent"
    " FROM information_schema.postern_connections"
    " ORDER BY state NOT LIKE 'waiting%', bytes_received + bytes_sent DESC LIMIT 50"
)
TABLES = (
    "SELECT CONCAT(table_schema, '.', table_name) AS `table`, index_name AS `index`, column_names AS columns,"
    " opened, finds, writes FROM information_schema.postern_tables ORDER BY finds + writes DESC LIMIT 50"
)
FORMS = "SELECT * FROM information_schema.postern_plans"
DOORS = "SELECT * FROM information_schema.postern_doors"


class Look:
    """The rows, read once; empty if the server lacks the table or hides it from the account."""

    def __init__(self, server: sql.Server) -> None:
        self.status = server.status()
        self.at = time.monotonic()
        self.connections = rows(server, CONNECTIONS)
        self.tables = rows(server, TABLES)
        self.doors = rows(server, DOORS)
        self.forms = {(one["form"], one["database_name"], one["state"]): one for one in rows(server, FORMS)}


def rows(server: sql.Server, query: str) -> List[Dict[str, Any]]:
    found = server.try_query(query) or []
    return [dict(zip([name.lower() for name in server.columns], row)) for row in found]


def first(look: Look) -> Dict[str, Any]:
    """The report before the first interval has passed: rates are not known yet, and None."""
    return {**between(look, look), "doors": figures.figures({}, look.status, None), "forms": forms(look, look, None)}


def between(before: Look, after: Look) -> Dict[str, Any]:
    """The report for --json and for the screen."""
    seconds = max(after.at - before.at, 1e-9)
    asked = forms(before, after, seconds)
    return {
        "seconds": seconds,
        "doors": figures.figures(before.status, after.status, seconds),
        "open": after.doors,
        "forms": asked,
        "reasons": figures.reasons(before.status, after.status, seconds, asked),
        "connections": after.connections,
        "tables": after.tables,
    }


def forms(before: Look, after: Look, seconds: Optional[float]) -> List[Dict[str, Any]]:
    """Each form of statement, with its rate and cost. `seconds` as for figures.figures()."""
    told = []
    for key, now in after.forms.items():
        was = before.forms.get(key, {})

        def grown(name: str) -> float:
            return max(int(now.get(name) or 0) - int(was.get(name) or 0), 0)

        asked, left = grown("hits"), grown("left_to_server")
        served = now["state"] in ("served", "learning")
        told.append(
            {
                **now,
                "asked": asked / seconds if seconds is not None else None,
                "share": max(asked - left, 0) / asked if asked and served else 0.0 if asked else None,
                "worker_each_us": each(now, "worker"),
                "server_each_us": each(now, "server"),
            }
        )
    return told


def each(form: Dict[str, Any], side: str) -> Any:
    """Microseconds of processor time for one statement."""
    runs = int(form.get(f"{side}_runs") or 0)
    return int(form[f"{side}_us"]) / runs if runs else None
