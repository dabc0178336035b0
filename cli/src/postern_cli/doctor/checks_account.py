"""Facts that the account may not see. It runs last, because other checks note such facts."""

from __future__ import annotations

import re
from typing import Iterator

from postern_cli.doctor.facts import Facts
from postern_cli.doctor.finding import Finding, good

# The privileges, and the facts that stay hidden without each.
WANTED = {
    "SELECT": "tables without a key, and what mappings name",
    "PROCESS": "connections, tables and plans of the doors",
}


def without_accounts(facts: Facts) -> Iterator[Finding]:
    if facts.server.query("SELECT CURRENT_USER()")[0][0] == "@":
        yield Finding(
            "unsafe",
            "account",
            "The server runs with skip_grant_tables: everybody may log in without a password, with all privileges.",
            "So they may at its doors, even at those that require accounts.",
            "FLUSH PRIVILEGES;  -- and take skip_grant_tables out of option files and the server's command",
        )


def account(facts: Facts) -> Iterator[Finding]:
    if facts.server.query("SELECT CURRENT_USER()")[0][0] == "@":
        return
    rows = facts.server.try_query("SHOW GRANTS") or []
    everywhere = " ".join(found[1] for (line,) in rows if (found := re.match(r"GRANT (.*) ON \*\.\* TO ", line)))
    privileges = {one.strip() for one in everywhere.upper().split(",")}
    hidden = [] if "ALL PRIVILEGES" in privileges else [name for name in WANTED if name not in privileges]
    if not hidden and not facts.refused:
        yield good("account", "The account sees all that was looked at.")
        return
    missed = [WANTED[name] for name in hidden] + facts.refused
    yield Finding(
        "unsafe",
        "account",
        "This account does not see everything, so some checks were not made.",
        f"Not seen: {'; '.join(missed)}.",
        f"GRANT {', '.join(hidden or WANTED)} ON *.* TO {name_of(facts)};  -- by an administrator",
    )


def name_of(facts: Facts) -> str:
    user, _, host = facts.server.query("SELECT CURRENT_USER()")[0][0].rpartition("@")
    return f"'{user}'@'{host}'"


CHECKS = (without_accounts, account)
