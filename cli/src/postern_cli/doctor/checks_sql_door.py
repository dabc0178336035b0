"""Checks of the SQL door: whether it is open, and whether its workers answer statements."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from postern_cli.doctor.facts import Facts
from postern_cli.doctor.finding import Finding, good

# The server is to see each statement where long_query_time is below, in seconds, and counts it in Slow_queries without a
# slow log, too: src/engine/mariadb/hosted/thd/not_now.cc.
LONG_QUERY_MIN = 0.05
# Commands after which workers should have answered some.
ENOUGH = 1000
WHOLE = "Every statement goes through the server then, at its speed: the door is worth nothing."


def is_open(facts: Facts) -> bool:
    return bool(facts.number("postern_port") or facts.variable("postern_socket") or facts.on("postern_main_port"))


def closed(facts: Facts) -> Iterator[Finding]:
    """A door without a port or socket: not a fault, but easily missed."""
    if "postern" not in facts.doors():
        return
    if is_open(facts):
        yield good("sql-door", "The SQL door is open.")
        return
    yield Finding(
        "note",
        "sql-door",
        "The SQL door is closed: it has no port and no socket, and postern_main_port is OFF.",
        "MySQL clients have none of its speed.",
        "loose_postern_port = 3307  # in an option file; or loose_postern_main_port = ON, for clients as they are",
    )


def watchers(facts: Facts) -> Iterator[Tuple[str, str]]:
    """Settings that observe each statement while they are on, and how to turn them off."""
    if facts.on("performance_schema"):
        yield "performance_schema is ON", "performance_schema = OFF  # in an option file, for the next start"
    if facts.on("general_log"):
        yield "general_log is ON", "SET GLOBAL general_log = OFF;"
    if facts.on("userstat"):
        yield "userstat is ON", "SET GLOBAL userstat = OFF;"
    for plugin in audit_plugins(facts):
        yield f"the audit plugin {plugin} is loaded", f"UNINSTALL PLUGIN {plugin};  -- if nobody needs what it records"
    seconds = facts.variable("long_query_time")
    if seconds and float(seconds) < LONG_QUERY_MIN:
        yield f"long_query_time is {float(seconds):g}", "SET GLOBAL long_query_time = 1;  -- new connections have it"
    if facts.variable("query_cache_type").upper() not in ("", "OFF", "0") and facts.number("query_cache_size"):
        yield "the query cache is on", "SET GLOBAL query_cache_type = OFF;"
    if facts.number("postern_verify") == 1:
        yield "postern_verify is 1", "SET GLOBAL postern_verify = 1000;  -- one statement in a thousand is compared"


# Settings of new sessions, their harmless values, and the statements that the server answers under other values.
SESSIONS = {
    "max_statement_time": ("0", "statements"),
    "sql_select_limit": ("18446744073709551615", "SELECTs"),
    "sql_buffer_result": ("OFF", "statements"),
    "system_versioning_asof": ("DEFAULT", "SELECTs"),
    "max_join_size": ("18446744073709551615", "SELECTs"),
    "tx_isolation": ("", "statements"),
    "foreign_key_checks": ("ON", "writes"),
    "unique_checks": ("ON", "writes"),
    "check_constraint_checks": ("ON", "writes"),
    "innodb_rollback_on_timeout": ("OFF", "writes"),
    "profiling": ("OFF", "statements"),
    "session_track_transaction_info": ("OFF", "statements"),
}
# The same for some servers alone: those with a binary log, and nodes of a cluster.
LOGGED = {
    "binlog_format": ("MIXED", "ROW", "writes"),
    "binlog_row_image": ("FULL", "FULL_NODUP", "REPLACE and ON DUPLICATE KEY UPDATE"),
}
CLUSTERED = {"wsrep_sync_wait": ("0", "0", "statements")}


def number(text: str) -> Optional[float]:
    """The value as a number, so that 0.000000 equals 0; None for a word."""
    try:
        return float(text)
    except ValueError:
        return None


def of_sessions(facts: Facts) -> Iterator[Finding]:
    """Initial settings of sessions that make the server answer everything."""
    if "postern" not in facts.doors() or not is_open(facts):
        return
    for name, (harmless, what) in SESSIONS.items():
        value = facts.variable(name)
        if name == "tx_isolation":
            off = value == "SERIALIZABLE"
        else:
            off = bool(value) and value != harmless and not (number(value) == number(harmless) is not None)
        if off:
            yield Finding(
                "slow",
                "sql-door",
                f"The SQL door answers no {what} itself in sessions that begin with {name} = {value}.",
                f"The server does, at its speed. {name} is global: each new session has it unless it sets its own.",
                f"SET GLOBAL {name} = {harmless or 'DEFAULT'};  -- if nobody needs it; new connections have it"
                if name != "innodb_rollback_on_timeout"
                else "innodb_rollback_on_timeout = OFF  # in an option file, for the next start",
            )
    if "EMPTY_STRING_IS_NULL" in facts.variable("sql_mode"):
        yield Finding(
            "slow",
            "sql-door",
            "The SQL door answers no statements itself in sessions that begin with EMPTY_STRING_IS_NULL in sql_mode.",
            "The server does, at its speed.",
            "SET GLOBAL sql_mode = REPLACE(@@GLOBAL.sql_mode, 'EMPTY_STRING_IS_NULL', '');  -- if nobody needs it; new connections have it",
        )
    if facts.variable("postern_plan_once").upper() == "OFF":
        yield Finding(
            "slow",
            "sql-door",
            "The SQL door answers no joins, groups, sorts and subqueries itself while postern_plan_once is OFF.",
            "The server does, at its speed.",
            "SET GLOBAL postern_plan_once = ON;",
        )
    some = {**(LOGGED if facts.on("log_bin") else {}), **(CLUSTERED if facts.on("wsrep_on") else {})}
    for name, (harmless, as_good, what) in some.items():
        if facts.variable(name) not in ("", harmless, as_good):
            yield Finding(
                "slow",
                "sql-door",
                f"The SQL door answers no {what} itself in sessions that begin with {name} = {facts.variable(name)}.",
                "The server does, at its speed.",
                f"SET GLOBAL {name} = '{harmless}';  -- new connections have it",
            )


def limited_accounts(facts: Facts) -> Iterator[Finding]:
    """Accounts with limits per hour: the server counts their statements."""
    if "postern" not in facts.doors() or not is_open(facts):
        return
    rows = facts.ask(
        "SELECT user, host FROM mysql.user WHERE max_questions > 0 OR max_updates > 0 OR max_connections > 0"
    )
    for user, host in rows or []:
        yield Finding(
            "slow",
            "sql-door",
            f"The SQL door answers no statement of '{user}'@'{host}' itself: the account has limits per hour.",
            "The server counts its statements, at its speed.",
            f"ALTER USER '{user}'@'{host}' WITH MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 0;",
        )


def audit_plugins(facts: Facts) -> List[str]:
    rows = facts.ask(
        "SELECT plugin_name FROM information_schema.plugins WHERE plugin_type = 'AUDIT' AND plugin_status = 'ACTIVE'"
    )
    return [name for (name,) in rows or []]


def switched_off(facts: Facts) -> Iterator[Finding]:
    if "postern" not in facts.doors() or not is_open(facts):
        return
    found = list(watchers(facts))
    for what, remedy in found:
        yield Finding("slow", "sql-door", f"The SQL door answers no statement itself while {what}.", WHOLE, remedy)
    if facts.number("postern_verify") > 1:
        yield Finding(
            "note",
            "sql-door",
            f"One in {facts.number('postern_verify'):,} statements is answered by the server, too, and compared (postern_verify).",
        )
    if not found:
        yield good("sql-door", "Nothing that is switched on keeps the SQL door from answering statements.")


def answers_nothing(facts: Facts) -> Iterator[Finding]:
    if "postern" not in facts.doors():
        return
    served, fast = facts.count("postern_statements_served"), facts.count("postern_statements_fast")
    if served < ENOUGH or fast > 0:
        return
    prefix = "postern_not_now_"
    reasons = {name[len(prefix) :]: facts.count(name) for name in facts.status if name.startswith(prefix)}
    counted = [
        f"{name} ({reasons[name]:,})" for name in sorted(reasons, key=lambda one: -reasons[one])[:3] if reasons[name]
    ]
    yield Finding(
        "slow",
        "sql-door",
        f"The SQL door has answered none of {served:,} commands itself.",
        f"Why: {', '.join(counted) or 'no statement had a plan'}. POSTERN_PLANS has the forms it knows, with a reason each.",
        "SELECT state, reason, form FROM information_schema.postern_plans;",
    )


CHECKS = (closed, switched_off, of_sessions, limited_accounts, answers_nothing)
