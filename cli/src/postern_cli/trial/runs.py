"""Runs of an application's own command."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from typing import Any, Dict, List, Tuple

from postern_cli.failure import Failure
from postern_cli.server import Server, Target
from postern_cli.trial.measured import Stretch, gains


def compared(server: Server, targets: Dict[str, Target], options: Any) -> Dict[str, Any]:
    runs: List[Dict[str, Any]] = []
    differences: List[str] = []
    for _ in range(options.rounds):
        outcome: Dict[str, Tuple[int, List[str]]] = {}
        for at, target in targets.items():
            if options.reset:
                reset(options.reset)
            stretch = Stretch(server)
            outcome[at] = run_one(at, target, options)
            runs.append({**stretch.done(at), "exit": outcome[at][0]})
        differences += different(outcome["port"], outcome["door"])
    return {
        "runs": runs,
        **gains(runs),
        "differences": differences,
        "same": not differences,
        "compared": f"what the command printed, and its end ({runs[0]['exit']} at the port)",
        "notes": notes(runs),
    }


def notes(runs: List[Dict[str, Any]]) -> List[str]:
    if not any(one["statements"] for one in runs if one["at"] == "door"):
        return ["Not one statement came to the SQL door: does the command use {port} or MYSQL_TCP_PORT?"]
    return []


def reset(command: str) -> None:
    done = subprocess.run(command, shell=True, check=False)
    if done.returncode != 0:
        raise Failure(f"--reset ended with {done.returncode}")


def run_one(at: str, target: Target, options: Any) -> Tuple[int, List[str]]:
    """The exit code, and the printed lines without the parts that may differ."""
    host = "localhost" if target.socket else target.host
    values = {
        "host": host,
        "port": str(target.port),
        "socket": target.socket,
        "user": target.user,
        "password": target.password,
        "database": options.database,
    }
    words = [re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), word) for word in options.words]
    environment = {
        **os.environ,
        "MYSQL_HOST": host,
        "MYSQL_TCP_PORT": values["port"],
        "MYSQL_UNIX_PORT": target.socket,
        "POSTERN_TRY": at,
    }
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, check=False)
    except OSError as error:
        raise Failure(f"cannot run {words[0]}: {error.strerror}") from None
    lines = done.stdout.decode(errors="replace").splitlines()
    for pattern in options.ignore:
        lines = [re.sub(pattern, "", line) for line in lines]
    return done.returncode, lines


def different(port: Tuple[int, List[str]], door: Tuple[int, List[str]]) -> List[str]:
    found = []
    if port[0] != door[0]:
        found.append(f"It ended with {port[0]} at the port, and with {door[0]} at the door.")
    lines = list(difflib.unified_diff(port[1], door[1], "the server's port", "the SQL door", lineterm="", n=1))
    if lines:
        found.append("\n".join(lines[:60]))
    return found
