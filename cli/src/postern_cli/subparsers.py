"""The parsers of the commands, by name."""

from __future__ import annotations

import argparse
from typing import Any


def subparsers(parser: argparse.ArgumentParser) -> Any:
    [found] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return found.choices
