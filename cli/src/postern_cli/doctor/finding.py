"""A check's finding."""

from __future__ import annotations

from dataclasses import dataclass

# From the worst on. `broken`: something does not work. `unsafe`: somebody has a right that they should not have, or data may be lost.
# `slow`: it works, and could be faster. `note`: worth knowing. `good`: looked at, and in order.
SEVERITIES = ("broken", "unsafe", "slow", "note", "good")
# Of checks, in the order of the alphabet: what --skip takes.
NAMES = """access account accounts backlog binlog buffer-pool conflicts descriptors durability galera hash-index keys listening
loaded log logins loose mappings maturity memory name-resolve packages read-only scans sql-door threads tls turned-away
version""".split()


@dataclass
class Finding:
    severity: str
    check: str  # the name of the check, one word or two with a hyphen
    what: str  # the fact, a sentence
    why: str = ""  # what comes of it
    remedy: str = ""  # what to type, or where to read


def good(check: str, what: str) -> Finding:
    return Finding("good", check, what)
