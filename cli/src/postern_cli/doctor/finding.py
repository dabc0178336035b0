"""A check's finding."""

from __future__ import annotations

from dataclasses import dataclass

# Worst first. `broken`: something does not work. `unsafe`: somebody has too many rights, or data may be lost.
# `slow`: it works, and could be faster. `note`: worth knowing. `good`: checked, and in order.
SEVERITIES = ("broken", "unsafe", "slow", "note", "good")
# Names of checks, which --skip takes, in alphabetical order.
NAMES = """access account accounts backlog binlog buffer-pool conflicts descriptors durability galera hash-index keys listening
loaded log logins loose mappings maturity memory name-resolve packages read-only scans sql-door threads tls turned-away
version""".split()


@dataclass
class Finding:
    severity: str
    check: str  # the name of the check, one word or two with a hyphen
    what: str  # the fact, a sentence
    why: str = ""  # the consequence
    remedy: str = ""  # the command to type, or the page to read


def good(check: str, what: str) -> Finding:
    return Finding("good", check, what)
