"""Replays the SELECTs of a recorded log at both ports, and compares their rows."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional, Tuple

import pymysql

from postern_cli.advise.statement import first_words
from postern_cli.failure import UNREACHABLE, Failure
from postern_cli.server import Server, Target, words_of
from postern_cli.trial.measured import Stretch, gains

READS = ("SELECT", "WITH", "(", "VALUES", "TABLE")
LINES_OF_ROWS = 3


class Client:
    """A connection that repeats a recorded one. Its time is the client's, including our overhead."""

    def __init__(self, target: Target, database: str) -> None:
        where: Dict[str, Any] = (
            {"unix_socket": target.socket} if target.socket else {"host": target.host, "port": target.port}
        )
        try:
            self._connection = pymysql.connect(
                user=target.user, password=target.password, charset="utf8mb4", autocommit=True, **where
            )
        except (pymysql.MySQLError, OSError) as error:
            raise Failure(f"cannot connect: {words_of(error)}", UNREACHABLE) from None
        self._database = ""
        self.seconds = 0.0
        self.use(database)

    def use(self, database: str) -> None:
        if database and database != self._database:
            try:
                self._connection.select_db(database)
            except pymysql.MySQLError as error:
                raise Failure(words_of(error)) from None
            self._database = database

    def ask(self, statement: str) -> Any:
        """The names of the columns and the rows, or the error's number."""
        begun = time.perf_counter()
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return [column[:2] for column in cursor.description or ()], cursor.fetchall()
        except pymysql.MySQLError as error:
            return error.args
        finally:
            self.seconds += time.perf_counter() - begun


def replayed(server: Server, targets: Dict[str, Target], options: Any) -> Dict[str, Any]:
    statements, left_out = reads(options)
    if not statements:
        raise Failure(f"there are no SELECTs in {options.log}")
    answers: Dict[str, List[Any]] = {}
    runs: List[Dict[str, Any]] = []
    for _ in range(options.rounds):
        for at, target in targets.items():
            client = Client(target, options.database)
            stretch = Stretch(server)
            answers[at] = [ask(client, *one) for one in statements]
            runs.append({**stretch.done(at), "seconds": client.seconds})
    differences, unsteady = compare(statements, answers, targets["port"], options)
    notes = [f"{left_out:,} statements of the log are no SELECTs, and were left out."] if left_out else []
    if unsteady:
        notes.append(f"{unsteady:,} answer otherwise each time at the server's port, too, and were not compared.")
    return {
        "runs": runs,
        **gains(runs),
        "differences": differences,
        "same": not differences,
        "compared": f"{len(statements):,} answers, with the names and types of their columns, row by row",
        "notes": notes,
    }


def reads(options: Any) -> Tuple[List[Tuple[str, str]], int]:
    """The statements, each with its database, and the number of others."""
    from postern_cli.advise.work import one_file

    statements: List[Tuple[str, str]] = []
    others = 0
    for observed in one_file(options.log, 3306, []):
        word: Optional[str] = (first_words(observed.text, 1) or [""])[0]
        if word in READS and " INTO OUTFILE " not in observed.text.upper() and "?" not in observed.text:
            statements.append((observed.text.strip().rstrip(";"), observed.database or options.database))
        else:
            others += 1
    return statements, others


def ask(client: Client, statement: str, database: str) -> Any:
    client.use(database)
    return client.ask(statement)


def compare(
    statements: List[Tuple[str, str]], answers: Dict[str, List[Any]], port: Target, options: Any
) -> Tuple[List[str], int]:
    """The differences, and the number of statements with varying answers at one port."""
    differences, unsteady = [], 0
    again: Optional[Client] = None
    for one, at_port, at_door in zip(statements, answers["port"], answers["door"]):
        if at_port == at_door:
            continue
        again = again or Client(port, options.database)
        now = ask(again, *one)
        if now == at_door:
            continue  # the rows changed in between
        if now != at_port:
            unsteady += 1
            continue
        differences.append(f"{one[0][:1000]}\n  port: {shown(at_port)}\n  door: {shown(at_door)}")
    return differences, unsteady


def shown(answer: Any) -> str:
    if isinstance(answer[0], int):
        return f"error {answer[0]}: {answer[1]}"
    rows = answer[1]
    return f"{len(rows):,} rows: {', '.join(str(row)[:200] for row in rows[:LINES_OF_ROWS])}"
