"""postern shell: one prompt for all doors of a server."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import posterndb

from postern_cli import doors, keys, names, output
from postern_cli import server as sql
from postern_cli.failure import DONE, REFUSED, USAGE, Failure

KEY_COMMANDS = ("get", "scan", "set", "incr", "delete")
HELP = """get TABLE KEY...                       a row by its key          (handlersocket)
scan TABLE [KEY...] [--op '>='] [--limit N] [--where 'a > 1'] [--columns a,b] [--index i]
set TABLE KEY... COLUMN=VALUE...       write a row
incr TABLE KEY... COLUMN=N...          add to columns
delete TABLE KEY...                    delete a row
sql STATEMENT                          any SQL; so does a line that begins with a word of SQL, select or update, say; \\G at its
                                       end shows a row with a line for each column
sql-door STATEMENT                     the same through the SQL door, which answers what names rows by key
memcached COMMAND                      get KEY, set KEY VALUE, incr KEY N, delete KEY, stats, or any other of the text dialect
redis COMMAND                          any command of the Redis door
handlersocket REQUEST                  a request as the protocol has it, its tabs written as \\t
door handlersocket|memcached|redis|sql|sql-door
                                       the door for lines that begin with none of these words
use DATABASE                           so that tables need not name it
doors, databases, tables, describe TABLE, containers, status [PATTERN]
json on|off                            answers for programs
help, quit"""
SQL_WORDS = {
    "select",
    "insert",
    "update",
    "replace",
    "show",
    "explain",
    "create",
    "alter",
    "drop",
    "call",
    "with",
    "begin",
    "commit",
    "rollback",
    "analyze",
    "truncate",
    "grant",
}


def add(commands: Any, common: List[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "shell",
        parents=common,
        help="one prompt for all doors",
        description="A prompt for HandlerSocket, memcached, Redis and SQL, with history and completion. Lines come from the terminal,"
        " from --execute or from the standard input.\n\n" + HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-e", "--execute", action="append", metavar="LINE", help="run this line, and end")
    parser.add_argument("--database", default="", metavar="NAME", help="the default database")
    parser.add_argument(
        "--door", choices=doors.NAMES, default="handlersocket", help="the door of the prompt (handlersocket)"
    )
    doors.add_options(parser)
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    shell = Shell(sql.Server(sql.target(options)), options)
    if options.execute:
        return max([shell.line(line) for line in options.execute], default=DONE)
    if not sys.stdin.isatty():
        code = DONE
        for line in sys.stdin:
            code = max(code, shell.line(line))
            if shell.over:
                break
        return code
    return interactive(shell)


def interactive(shell: "Shell") -> int:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.history import FileHistory

    from postern_cli.suggestions import ShellCompleter

    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "postern"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    session: Any = PromptSession(
        history=FileHistory(str(folder / "history")),
        auto_suggest=AutoSuggestFromHistory(),
        completer=ShellCompleter(shell),
        complete_while_typing=True,
    )
    print("help tells what there is to say; Ctrl-D or quit ends.")
    while not shell.over:
        try:
            shell.line(session.prompt(shell.prompt))
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
    return DONE


def use(database: str) -> str:
    return f"USE `{database.strip('`').replace('`', '``')}`"


class Shell:
    """Runs lines. Connects to each door on first use, and keeps the connection."""

    def __init__(self, server: sql.Server, options: Any) -> None:
        self.server = server
        self.database = options.database
        self.door = options.door
        self.json = options.json
        self.upright = False  # the line requests rows with a line for each column
        self.over = False
        self._options = options
        self._places = doors.Places(server, options)
        self._kept: Dict[str, Any] = {}
        self._parser = argparse.ArgumentParser(prog="", add_help=False, exit_on_error=False)
        keys.add(self._parser.add_subparsers(dest="command"), [])
        if self.database:
            self._use(self.database)

    @property
    def prompt(self) -> str:
        return f"postern {self.door}{' ' + self.database if self.database else ''}> "

    def line(self, line: str) -> int:
        """Runs one line and prints the result; returns an exit code."""
        self.upright = line.rstrip().endswith("\\G")
        if self.upright:
            line = line.rstrip()[:-2]
        line = line.strip().rstrip(";") if not self._first(line) == "memcached" else line.strip()
        if not line or line.startswith(("#", "--")):
            return DONE
        try:
            return self._run(line) or DONE
        except Failure as failure:
            print(f"{output.paint('ERROR', 'red')} {failure}", file=sys.stderr)
            return failure.code
        except (posterndb.Error, argparse.ArgumentError, ValueError) as error:
            print(f"{output.paint('ERROR', 'red')} {error}", file=sys.stderr)
            self._kept.clear()
            return REFUSED
        except SystemExit:
            return USAGE

    @staticmethod
    def _first(line: str) -> str:
        return (line.split(None, 1) or [""])[0].lower()

    def _run(self, line: str) -> Optional[int]:
        word, rest = self._first(line), line[len(self._first(line)) :].strip()
        if word in self.commands:
            return self.commands[word](self, rest)
        if word in doors.NAMES:
            return self._ask(word, rest)
        if self.door in ("memcached", "redis"):
            return self._ask(self.door, line)
        if word in KEY_COMMANDS:
            return self._key_command(line)
        if word in SQL_WORDS or self.door.startswith("sql"):
            return self._ask("sql-door" if self.door == "sql-door" else "sql", line)
        if word.isdigit() or word in ("p", "a"):
            return self._ask("handlersocket", line)
        raise Failure(f"{word}: no such command; help lists all", USAGE)

    def _ask(self, door: str, line: str) -> Optional[int]:
        asked: Dict[str, Callable[[str], Optional[int]]] = {
            "sql": lambda line: self._sql(self.server, line),
            "sql-door": lambda line: self._sql(self._connection("sql-door", self._sql_door), line),
            "memcached": self._memcached,
            "redis": self._redis,
            "handlersocket": self._handlersocket,
        }
        if not line:
            raise Failure(f"say what to ask; `door {door}` makes it the door of this prompt", USAGE)
        return asked[door](line)

    def _connection(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def _key_command(self, line: str) -> Optional[int]:
        options = self._parser.parse_args(shlex.split(line))
        options.json = self.json
        if options.door != "handlersocket":
            raise Failure(f"at this prompt: {options.door} COMMAND", USAGE)
        table = names.table(self.server, options.table, self.database)
        write = options.command in ("set", "incr", "delete")
        db = self._connection(f"handlersocket {write}", lambda: self._places.handlersocket(write))
        result = keys.run_handlersocket(db, table, options)
        return keys.show(result, options)

    def _sql(self, server: sql.Server, line: str) -> None:
        rows = server.query(line)
        if not server.columns:
            self._say({"rows": server.affected}, f"{server.affected} rows")
        else:
            self._rows(server.columns, rows)

    def _sql_door(self) -> sql.Server:
        server = sql.Server(self._places.sql_door())
        if self.database:
            server.query(use(self.database))
        return server

    def _memcached(self, line: str) -> None:
        client = self._connection("memcached", self._places.memcached)
        words = shlex.split(line)
        if words[0] in ("set", "add", "replace", "append", "prepend") and len(words) == 3:
            told = client.command(f"{words[0]} {words[1]} 0 0 ".encode(), words[2].encode())
        elif words[0] == "stats" and len(words) == 1:
            told = client.command(b"stats")
            self._rows(["name", "value"], [output.readable(one).split(" ", 2)[1:] for one in told[:-1]])
            return
        else:
            told = client.command(line.encode())
        self._say(
            {"answer": [output.readable(one) for one in told]}, "\n".join(output.cell(one, 10_000) for one in told)
        )

    def _redis(self, line: str) -> None:
        client = self._connection("redis", self._places.redis)
        answer = client.command(*shlex.split(line))
        self._say({"answer": answer}, resp(answer))

    def _handlersocket(self, line: str) -> None:
        db = self._connection("handlersocket raw", lambda: self._raw_connection())
        told = db.raw([part.encode() for part in line.replace("\\t", "\t").split("\t")])
        self._say(
            {"answer": [output.readable(one) for one in told]}, "\t".join(output.cell(one, 10_000) for one in told)
        )

    def _raw_connection(self) -> "Raw":
        return Raw(self._places)

    def _rows(self, columns: List[str], rows: Any) -> None:
        if self.json:
            for row in rows:
                print(output.as_json(dict(zip(columns, row))))
        elif self.upright:
            print(output.upright(columns, rows))
        else:
            print(output.table(columns, rows))
        if not self.json:
            print(output.paint(f"{len(rows):,} rows", "dim"))

    def _say(self, told: Any, words: str) -> None:
        print(output.as_json(told) if self.json else words)

    # commands of the shell itself

    def _help(self, _: str) -> None:
        print(HELP)

    def _quit(self, _: str) -> None:
        self.over = True

    def _set_door(self, door: str) -> None:
        if door not in doors.NAMES:
            raise Failure(f"door: one of {', '.join(doors.NAMES)}", USAGE)
        self.door = door

    def _use(self, database: str) -> None:
        self.server.query(use(database))
        if "sql-door" in self._kept:
            self._kept["sql-door"].query(use(database))
        self.database = database.strip("`")

    def _set_json(self, word: str) -> None:
        self.json = word != "off"

    def _doors(self, _: str) -> None:
        rows = []
        status = self.server.status()
        for name in ("handlersocket", "memcached", "redis", "postern"):
            for setting, counter in (("port", "listening"), ("port_wr", "listening_wr")):
                if f"{name}_{setting}" in self.server.variables():
                    rows.append(
                        [
                            name + (" (write)" if setting == "port_wr" else ""),
                            self.server.variable(f"{name}_address"),
                            self.server.number(f"{name}_{setting}"),
                            status.get(f"{name}_{counter}", "-"),
                            status.get(f"{name}_connections", "-"),
                        ]
                    )
        self._rows(["door", "address", "port", "listening", "connections"], rows)

    def _databases(self, _: str) -> None:
        self._rows(["database"], [[name] for name in names.databases(self.server)])

    def _tables(self, database: str) -> None:
        self._rows(["table"], [[name] for name in names.tables(self.server, database or self.database)])

    def _describe(self, table: str) -> None:
        found = names.table(self.server, table, self.database)
        self._rows(["column"], [[name] for name in found.columns])
        self._rows(["index", "columns"], [[name, ", ".join(columns)] for name, columns in found.indexes.items()])

    def _containers(self, _: str) -> None:
        rows = self.server.query(
            "SELECT name, db_schema, db_table, key_columns, value_columns FROM innodb_memcache.containers"
        )
        self._rows(self.server.columns, rows)

    def _status(self, pattern: str) -> None:
        status = self.server.status()
        rows = [
            [name, value]
            for name, value in status.items()
            if (pattern in name if pattern else name.startswith(("handlersocket_", "memcached_", "redis_", "postern_")))
        ]
        self._rows(["variable", "value"], rows)

    commands: Dict[str, Callable[["Shell", str], Optional[int]]] = {
        "help": _help,
        "\\h": _help,
        "quit": _quit,
        "exit": _quit,
        "\\q": _quit,
        "door": _set_door,
        "use": _use,
        "json": _set_json,
        "doors": _doors,
        "databases": _databases,
        "tables": _tables,
        "describe": _describe,
        "containers": _containers,
        "status": _status,
    }


class Raw:
    """Raw lines of HandlerSocket, sent to the port for writing if there is one."""

    def __init__(self, places: doors.Places) -> None:
        setting = "handlersocket_port_wr"
        try:
            port = places.port(setting)
        except Failure:
            port = places.port("handlersocket_port")
        self._wire = doors.Wire("HandlerSocket", (places.address("handlersocket"), port), places.tls("handlersocket"))

    def raw(self, tokens: List[bytes]) -> List[bytes]:
        self._wire.send(b"\t".join(tokens) + b"\n")
        return self._wire.line().split(b"\t")


def resp(answer: Any, indent: str = "") -> str:
    """A Redis reply in the form that redis-cli prints."""
    if answer is None:
        return "(nil)"
    if isinstance(answer, int):
        return f"(integer) {answer}"
    if isinstance(answer, list):
        if not answer:
            return "(empty array)"
        return "\n".join(
            f"{indent}{place}) {resp(one, indent + '   ').lstrip()}" for place, one in enumerate(answer, 1)
        )
    return f'"{output.cell(answer, 10_000)}"' if isinstance(answer, bytes) else str(answer)
