"""postern explain: how each door would serve one statement, how it has served similar ones, and the changes that would help."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from postern_cli.failure import DONE, USAGE, Failure


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        parents=common,
        help="show how each door would serve one statement, and remedies",
        description="Shows how each door would serve one statement, or the reason against it; how the SQL door of this server has"
        " served similar ones, and at which cost; and remedies. The statement is not run.",
    )
    parser.add_argument("statement", metavar="SQL", help="the statement, in quotes")
    parser.add_argument("--database", default="", metavar="NAME", help="the statement's default database")
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    from postern_cli import output
    from postern_cli import server as sql

    if not options.statement.strip():
        raise Failure("there is no statement", USAGE)
    told = explained(options, sql.Server(sql.target(options)))
    print(output.as_json(told) if options.json else text(told))
    return DONE


def explained(options: Any, server: Any) -> Dict[str, Any]:
    from postern_cli.advise import doors, report
    from postern_cli.advise.classify import classify
    from postern_cli.advise.schema import from_server
    from postern_cli.doctor import checks_sql_door
    from postern_cli.doctor.facts import Facts

    statement, database = options.statement.strip().rstrip(";"), options.database
    verdict = classify(statement, from_server(server.query), database)
    services = doors.services(verdict)
    there = {service.door for service in services}
    services += [
        doors.Service(door, why=verdict.why or "it names no rows by a key") for door in doors.DOORS if door not in there
    ]
    served = [service for service in services if service.serves]
    facts = Facts(server)
    changes = []
    if "postern" not in facts.doors():
        changes.append({"what": "the SQL door is not loaded", "remedy": "INSTALL SONAME 'postern';"})
    elif not checks_sql_door.is_open(facts):
        changes.append({"what": "the SQL door is closed", "remedy": "SET GLOBAL postern_port = 3307;"})
    for what, remedy in checks_sql_door.watchers(facts):
        changes.append({"what": f"{what}: the SQL door answers nothing itself", "remedy": remedy})
    if verdict.kind == "unindexed":
        changes.append({"what": "the rows have no index", "remedy": doors.index_statement(verdict)})
    if verdict.warning:
        changes.append({"what": verdict.warning, "remedy": ""})
    uses = {(verdict.table_name, verdict.key_columns): [(1, verdict)]} if served and verdict.table else {}
    mapped = any(service.door in (doors.MEMCACHED, doors.REDIS) for service in served)
    return {
        "statement": statement,
        "kind": verdict.kind,
        "words": report.WORDS[verdict.kind],
        "table": verdict.table_name or None,
        "index": verdict.index.name if verdict.index else None,
        "doors": [vars(service) | {"serves": service.serves} for service in services],
        "mapping": next(iter(doors.mappings(uses).values()), []) if mapped else [],
        "seen": seen(server, statement),
        "changes": changes,
    }


def seen(server: Any, statement: str) -> List[Dict[str, Any]]:
    """The SQL door's record of similar statements."""
    from postern_cli.advise.statement import fingerprint
    from postern_cli.top import looks

    wanted = fingerprint(statement)
    found = []
    for row in looks.rows(server, looks.FORMS):
        prepared = row["form"].startswith("PREPARE ")
        if fingerprint(row["form"][len("PREPARE ") :] if prepared else row["form"]) == wanted:
            each = {f"{side}_each_us": looks.each(row, side) for side in ("worker", "server")}
            found.append({**row, **each, "prepared": prepared})
    return found


def text(told: Dict[str, Any]) -> str:
    from postern_cli.advise import report
    from postern_cli.output import paint

    place = f" ({told['table']}{', ' + told['index'] if told['index'] else ''})" if told["table"] else ""
    lines = [told["statement"], f"{paint(told['words'], 'bold')}{place}", ""]
    for service in told["doors"]:
        name = report.DOOR_WORDS[service["door"]].partition(",")[0]
        answer = paint("yes", "green") if service["serves"] else paint("no ", "yellow")
        lines.append(f"{name:<14} {answer}  {service['how'] or service['why']}")
    for row in told["seen"]:
        lines += ["", *text_of_seen(row)]
    if not told["seen"]:
        lines += ["", "The SQL door has not met a statement like it; once it has, this says what became of it."]
    if told["mapping"]:
        lines += ["", paint("For memcached and Redis", "bold"), *told["mapping"]]
    if told["changes"]:
        lines += ["", paint("To change", "bold")]
        for change in told["changes"]:
            lines += [change["what"], *([f"  {change['remedy']}"] if change["remedy"] else [])]
    return "\n".join(lines)


def text_of_seen(row: Dict[str, Any]) -> List[str]:
    kind = "prepared" if row["prepared"] else "as text"
    lines = [
        f"Seen {int(row['hits']):,} times {kind}: {row['state']}" + (f", {row['reason']}" if row["reason"] else "")
    ]
    if row["left_to_server"]:
        lines.append(f"  {int(row['left_to_server']):,} of them were left to the server")
    worker, server = row["worker_each_us"], row["server_each_us"]
    if worker is not None:
        lines.append(f"  a worker takes {worker:,.1f} us of a processor for one")
    if server is not None:
        lines.append(f"  the server takes {server:,.1f} us of a processor for one")
    return lines
