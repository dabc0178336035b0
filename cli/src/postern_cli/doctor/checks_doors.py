"""Checks of the doors: state, access, and room for clients."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

from postern_cli.doctor.facts import DOORS, Facts, is_loopback
from postern_cli.doctor.finding import Finding, good

# Doors that open only when they have tables to serve: the setting, the missing part, and the command that creates it.
LATE = {
    "memcached": (
        "SELECT 1 FROM innodb_memcache.containers LIMIT 1",
        "no table for it to serve",
        "innodb_memcache.sql",
        "CALL postern.map_table('default', 'shop', 'user', 'id', 'name,email');",
    ),
    "redis": (
        "SELECT 1 FROM information_schema.tables WHERE table_schema = 'postern' AND table_name = 'redis_maps'",
        "no table postern.redis_maps",
        "redis.sql",
        "CALL postern.redis_map_row('user:', 'shop', 'user', '*');",
    ),
}


def listening(facts: Facts) -> Iterator[Finding]:
    for door in facts.doors():
        for setting in DOORS.get(door, ("port",)):
            port = facts.number(f"{door}_{setting}")
            socket = facts.variable(f"{door}_{setting.replace('port', 'socket')}")
            if not port and not socket:
                continue
            state = facts.status.get(f"{door}_{setting.replace('port', 'listening')}")
            if state in ("ON", None):
                yield good("listening", f"{door} listens on {facts.variable(f'{door}_address')}:{port}.")
            elif door in LATE and not facts.ask(LATE[door][0]):
                _, what, script, example = LATE[door]
                yield Finding(
                    "note",
                    "listening",
                    f"The {door} door is closed, because there is {what}.",
                    "It opens within a second after that has changed.",
                    f"mariadb < /usr/share/postern/{script}\n{example}",
                )
            else:
                yield Finding(
                    "broken",
                    "listening",
                    f"{door} does not listen on port {port}.",
                    "The port is taken, or the door was refused; the error log says why.",
                    f"ss -ltnp 'sport = :{port}'",
                )


def moved(facts: Facts) -> Iterator[Finding]:
    """Changes by SET GLOBAL that failed."""
    rows = facts.ask(
        "SELECT door, state, address, port, reason FROM information_schema.postern_doors"
        " WHERE reason IS NOT NULL AND remedy IS NULL"
    )
    for door, state, address, port, reason in rows or []:
        place = f"listens on {address}:{port} still" if port and state != "closed" else "is closed"
        yield Finding(
            "broken",
            "listening",
            f"The door {door} {place}, not at the place in the settings.",
            f"It could not be moved: {reason}.",
            "SHOW GLOBAL VARIABLES WHERE variable_name RLIKE '_(port|address|socket|threads)(_wr)?$';  -- and set what fits",
        )


def access(facts: Facts) -> Iterator[Finding]:
    """Access to a port: its address and authentication."""
    for door in facts.doors():
        address = facts.variable(f"{door}_address")
        # The SQL door has no such setting: the server itself authenticates its clients.
        auth = facts.variables.get(f"{door}_auth", "account")
        open_ports = [setting for setting in DOORS.get(door, ("port",)) if facts.number(f"{door}_{setting}")]
        if not open_ports:
            continue
        if is_loopback(address):
            if auth != "account":
                yield Finding(
                    "note",
                    "access",
                    f"Every program of this machine may use {door} without an account.",
                    "It listens on loopback alone. Everybody with a login on the machine can use the tables.",
                    f"loose_{door}_auth = account",
                )
            else:
                yield good("access", f"{door} listens on loopback, and asks for accounts.")
            continue
        where = address or "every address"
        if auth == "account":
            yield good("access", f"{door} listens on {where}, and asks for accounts.")
        elif facts.on(f"{door}_allow_open_access"):
            yield Finding(
                "unsafe",
                "access",
                f"{door} listens on {where}, and allow_open_access is ON.",
                "Everybody who can reach the port can use every row of every table, unless a secret is set.",
                f"loose_{door}_auth = account\nloose_{door}_allow_open_access = OFF",
            )
        else:
            yield Finding(
                "note",
                "access",
                f"{door} listens on {where} with a secret.",
                "Clients that know it can use every table; accounts have grants.",
                f"loose_{door}_auth = account",
            )


def tls(facts: Facts) -> Iterator[Finding]:
    has_certificate = bool(facts.variable("ssl_cert")) and facts.variable("have_ssl") == "YES"
    for door in facts.doors():
        address = facts.variable(f"{door}_address")
        if not facts.number(f"{door}_port") or is_loopback(address):
            continue
        # At the SQL door the server itself handles TLS.
        ours = f"{door}_require_tls"
        setting, option = (ours, f"loose_{ours}") if ours in facts.variables else ("require_secure_transport",) * 2
        if facts.on(setting):
            yield good("tls", f"{door} requires TLS.")
            continue
        spoken = (
            "passwords and rows" if facts.variables.get(f"{door}_auth", "account") == "account" else "secrets and rows"
        )
        first = "" if has_certificate else "ssl_cert = /etc/mysql/cert.pem\nssl_key = /etc/mysql/key.pem\n"
        yield Finding(
            "unsafe",
            "tls",
            f"{door} takes clients of other machines without TLS"
            + ("." if has_certificate else ", and the server has no certificate."),
            f"Their {spoken} are sent in clear text.",
            f"{first}{option} = ON",
        )


def descriptors(facts: Facts) -> Iterator[Finding]:
    """The file descriptors that doors leave to their clients."""
    doors = facts.doors()
    if not doors:
        return
    limit = facts.number("open_files_limit")
    server = (
        facts.number("max_connections")
        + facts.number("extra_max_connections")
        + 2 * facts.number("table_open_cache")
        + 256
    )
    threads = 2 * sum(facts.count(f"{door}_threads") or door_threads(facts, door) for door in doors)
    left = limit - server - threads
    wanted = sum(facts.number(f"{door}_max_connections") * len(DOORS.get(door, ("port",))) for door in doors)
    fair = max(left, limit // 8)
    needed = server + threads + wanted
    remedy = (
        "mkdir -p /etc/systemd/system/mariadb.service.d\n"
        f"printf '[Service]\\nLimitNOFILE={round_up(needed)}\\n' > /etc/systemd/system/mariadb.service.d/limits.conf\n"
        "systemctl daemon-reload && systemctl restart mariadb"
    )
    used = sum(facts.count(f"{door}_connections_peak") for door in doors)
    if left < limit // 8 or used > fair * 0.8:
        yield Finding(
            "broken" if used > fair * 0.8 else "slow",
            "descriptors",
            f"Clients of doors may have {fair:,} connections together, of {limit:,} descriptors; {used:,} were in use at once.",
            f"{server:,} are kept for SQL (max_connections, table_open_cache); one more client gets Too many connections.",
            remedy,
        )
    elif fair < wanted:
        yield Finding(
            "note",
            "descriptors",
            f"Clients of doors may have {fair:,} connections together; the settings of the doors allow {wanted:,}.",
            "open_files_limit decides. At most " + f"{used:,} were in use at once.",
            remedy,
        )
    else:
        yield good("descriptors", f"There are descriptors for {fair:,} clients of doors.")


def door_threads(facts: Facts, door: str) -> int:
    threads = [facts.number(f"{door}_threads"), facts.number(f"{door}_threads_wr")]
    return sum(count or facts.processors() or 4 for count in threads) + facts.number(f"{door}_scan_threads")


def round_up(number: int) -> int:
    return (number + 9999) // 10000 * 10000


def backlog(facts: Facts) -> Iterator[Finding]:
    """The kernel's queue of connections not yet accepted."""
    try:
        somaxconn = int(Path("/proc/sys/net/core/somaxconn").read_text())
    except (OSError, ValueError):
        return
    if facts.local and facts.doors() and somaxconn < 1024:
        yield Finding(
            "note",
            "backlog",
            f"The kernel queues {somaxconn} connections for a port at most.",
            "When very many clients connect at once, some retry after a second.",
            "sysctl -w net.core.somaxconn=4096",
        )


def turned_away(facts: Facts) -> Iterator[Finding]:
    """Counters of refused clients."""
    for door in facts.doors():
        for counter, words, remedy in (
            (
                "connections_refused",
                "connections were refused, for the door was full",
                f"loose_{door}_max_connections = ...  # docs/operating.md",
            ),
            (
                "errors_out_of_memory",
                "requests were refused, for memory had run out",
                f"loose_{door}_max_buffer_bytes = ...",
            ),
            (
                "errors_too_many_logins",
                "logins were refused for coming too often",
                "have clients keep their connections",
            ),
            ("tls_handshakes_failed", "TLS handshakes failed", "openssl s_client -connect ...  # says why"),
        ):
            count = facts.count(f"{door}_{counter}")
            if count:
                yield Finding(
                    "note", "turned-away", f"{door}: {count:,} {words}, since the plugin was loaded.", "", remedy
                )
        failed, tried = facts.count(f"{door}_logins_failed"), facts.count(f"{door}_logins")
        if failed > 10 and failed > tried // 10:
            yield Finding(
                "unsafe",
                "logins",
                f"{door}: {failed:,} of {failed + tried:,} logins failed.",
                "Somebody guesses passwords, or a program has a wrong one. The error log has them with log_warnings above 1.",
                "SET GLOBAL log_warnings = 2;",
            )


def accounts(facts: Facts) -> Iterator[Finding]:
    if not any(facts.variable(f"{door}_auth") == "account" for door in facts.doors()):
        return
    rows = facts.ask(
        "SELECT user, host FROM mysql.global_priv WHERE user <> '' AND JSON_VALUE(priv, '$.account_locked') IS NULL AND"
        " COALESCE(JSON_VALUE(priv, '$.is_role'), 0) = 0 AND JSON_VALUE(priv, '$.plugin') = 'mysql_native_password' AND"
        " COALESCE(JSON_VALUE(priv, '$.authentication_string'), '') = '' AND JSON_EXTRACT(priv, '$.auth_or') IS NULL"
    )
    for user, host in rows or []:
        yield Finding(
            "unsafe",
            "accounts",
            f"'{user}'@'{host}' has no password.",
            "Doors accept logins of the server's accounts.",
            f"ALTER USER '{user}'@'{host}' IDENTIFIED BY '...';",
        )
    if not facts.on("skip_name_resolve"):
        yield Finding(
            "note",
            "name-resolve",
            "skip_name_resolve is OFF.",
            "Each login by TCP waits for the name server; a slow one keeps login threads waiting.",
            "skip_name_resolve = ON  # accounts are known by address alone then",
        )


CHECKS = (listening, moved, access, tls, descriptors, backlog, turned_away, accounts)
