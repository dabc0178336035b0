"""postern doctor."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from postern_cli import server as sql
from postern_cli.failure import DONE, FOUND, USAGE, Failure
from postern_cli.output import as_json, paint

COLOURS = {"broken": "red", "unsafe": "red", "slow": "yellow", "note": "dim", "good": "green"}


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "doctor",
        parents=common,
        help="find faults, risks and slow settings, and their remedies",
        description="Looks at the server, its doors, mappings and tables, and at the machine if the server runs here. Each finding"
        " has a severity (broken, unsafe, slow, note), the reason and the remedy. It changes nothing. Ends with 1 if"
        " something is broken, unsafe or slow.",
    )
    parser.add_argument("--all", action="store_true", help="show passed checks, too")
    parser.add_argument(
        "--fail-on",
        choices=("broken", "unsafe", "slow", "note"),
        default="slow",
        help="exit with 1 for findings of this severity or a worse one (slow)",
    )
    parser.add_argument("--skip", action="append", default=[], metavar="CHECK", help="skip this check")
    parser.add_argument(
        "--option-files",
        action="append",
        metavar="PATH",
        help="look here for option files of the server (/etc/mysql, /etc/my.cnf)",
    )
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    from postern_cli.doctor import (
        checks_account,
        checks_doors,
        checks_library,
        checks_server,
        checks_sql_door,
        checks_tables,
    )
    from postern_cli.doctor.facts import Facts
    from postern_cli.doctor.finding import NAMES, SEVERITIES, Finding

    if unknown := sorted(set(options.skip) - set(NAMES)):
        raise Failure(f"--skip {unknown[0]}: there is no such check; there are {', '.join(NAMES)}", USAGE)
    server = sql.Server(sql.target(options))
    facts = Facts(server, tuple(options.option_files)) if options.option_files else Facts(server)
    findings: List[Finding] = []
    for module in (checks_library, checks_doors, checks_sql_door, checks_server, checks_tables, checks_account):
        for check in module.CHECKS:
            try:
                findings += check(facts)
            except Failure as failure:
                findings.append(
                    Finding("note", check.__name__.replace("_", "-"), "This check could not be made.", str(failure))
                )
    findings = [finding for finding in findings if finding.check not in options.skip]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    shown = [finding for finding in findings if options.all or finding.severity != "good"]
    if options.json:
        counts: Dict[str, int] = {s: sum(f.severity == s for f in findings) for s in SEVERITIES}
        print(as_json({"server": facts.variable("version"), "counts": counts, "findings": [vars(f) for f in shown]}))
    else:
        tell(shown, findings, facts.variable("version"))
    limit = SEVERITIES.index(options.fail_on)
    return FOUND if any(SEVERITIES.index(finding.severity) <= limit for finding in findings) else DONE


def tell(shown: List[Any], findings: List[Any], version: str) -> None:
    for finding in shown:
        print(f"{paint(finding.severity.upper(), COLOURS[finding.severity])} {finding.check}: {finding.what}")
        if finding.why:
            print(f"  {finding.why}")
        for line in finding.remedy.splitlines():
            print(f"  $ {line}" if is_shell(line) else f"  > {line}")
    counts = [f"{sum(f.severity == s for f in findings)} {s}" for s in ("broken", "unsafe", "slow", "note", "good")]
    print(f"MariaDB {version}: {', '.join(counts)}.")


def is_shell(line: str) -> bool:
    """Whether a remedy is typed at a shell; others are SQL, or lines of an option file."""
    words = ("apt-get", "make", "systemctl", "mkdir", "printf", "sysctl", "sed", "openssl", "mariadb", "ss")
    return line.split(" ")[0] in words
