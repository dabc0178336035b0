"""Observed statements and their sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional, Tuple

from postern_cli.advise.classify import classify
from postern_cli.advise.schema import Schema
from postern_cli.advise.statement import fingerprint
from postern_cli.advise.verdict import Verdict


@dataclass
class Observation:
    """A statement, or a server's sums for all statements of one form."""

    text: str
    database: str = ""
    count: int = 1
    seconds: Optional[float] = None  # sum of the server's time; None if the source has no times
    in_transaction: bool = False  # in an explicit transaction, or under autocommit=0
    prepared: bool = False  # executed over the binary protocol


@dataclass
class Shape:
    """Statements that differ only in their values."""

    text: str  # the text seen first
    fingerprint: str
    database: str
    verdict: Verdict
    count: int = 0
    seconds: float = 0.0
    in_transaction: int = 0
    prepared: int = 0

    @property
    def average(self) -> Optional[float]:
        return self.seconds / self.count if self.seconds and self.count else None


@dataclass
class Workload:
    shapes: List[Shape] = field(default_factory=list)
    source: str = ""
    timed: bool = False
    notes: List[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(shape.count for shape in self.shapes)

    @property
    def seconds(self) -> float:
        return sum(shape.seconds for shape in self.shapes)


# The most shapes kept, for a log without two similar statements; the rest count as `other`.
SHAPES_MAX = 50_000


def gather(observations: Iterable[Observation], schema: Schema, source: str) -> Workload:
    """Classifies one statement of each shape."""
    shapes: Dict[Tuple[str, str], Shape] = {}
    seen: Dict[Tuple[str, str], Shape] = {}  # by the text itself, which saves normalising it again
    workload = Workload(source=source)
    overflow = Shape("", "(more shapes than are kept)", "", Verdict("other", "not looked at"))
    for observed in observations:
        by_text = (observed.database, observed.text)
        shape = seen.get(by_text)
        if shape is None:
            print_of = fingerprint(observed.text)
            shape = shapes.get((observed.database, print_of))
            if shape is None and len(shapes) >= SHAPES_MAX:
                shape = overflow
            elif shape is None:
                verdict = classify(observed.text, schema, observed.database)
                shape = shapes[observed.database, print_of] = Shape(observed.text, print_of, observed.database, verdict)
            if len(seen) < SHAPES_MAX:
                seen[by_text] = shape
        shape.count += observed.count
        shape.prepared += observed.count * observed.prepared
        shape.in_transaction += observed.count * observed.in_transaction
        if observed.seconds is not None:
            shape.seconds += observed.seconds
            workload.timed = True
    for shape in shapes.values():
        if shape.verdict.variables and shape.in_transaction < shape.count:
            shape.verdict.unserved = shape.verdict.unserved or "a value of the session's, outside a transaction"
    workload.shapes = list(shapes.values()) + ([overflow] if overflow.count else [])
    workload.shapes.sort(key=lambda shape: (-shape.seconds, -shape.count, shape.fingerprint))
    return workload
