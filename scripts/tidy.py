#!/usr/bin/python3
"""Checks beyond a compiler's: which folder includes which, words that some folders must not use, stale
generated pages, turns of phrase that are hard to read (prose.py), names that a source does not include (includes.py),
the layout of sources, and the plain hygiene of text files; runs shellcheck on shell scripts.
Needs what tools/deps test installs. Prints every finding and exits 1 if there is one."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The plugins of the library: each has a folder.
DOORS = set(re.findall(r"^DOOR\(\w+, (\w+),", (ROOT / "src/plugin/doors.def").read_text(), re.M))


def below(*rooms):
    """Rooms of MariaDB's engine."""
    return {f"engine/mariadb/{room}" for room in rooms}


# The rooms that rooms of Redis commands see.
REDIS_COMMANDS = {"base", "contract", "redis", "redis/keyspace", "redis/registry", "redis/wire", "redis/work"}

# The server-independent rooms that plans of statements see.
SQL_PLANS = {"engine/sql", "engine/sql/packets", "engine/sql/plans"}

# The rooms that each folder of src/ may include besides itself: the arrows of docs/architecture.md.
SEES = {
    "base": set(),
    "net": {"base"},
    "contract": {"base"},
    "door/connections": {"base", "net", "contract"},
    "door/lanes": {"base", "net", "contract", "door/connections"},
    "door": {"base", "net", "contract", "door/connections", "door/lanes"},
    "handlersocket": {"base", "contract"},
    "items": {"base", "contract"},
    "memcached/wire": {"base", "items"},
    "memcached": {"base", "contract", "items", "memcached/wire"},
    "sqldoor": {"base", "contract"},
    "ping": {"base", "contract"},
    "redis/wire": {"base"},
    "redis/keyspace": {"base", "contract", "items", "redis/wire"},
    "redis/waiting": {"base", "contract", "redis/keyspace"},
    "redis/registry": {"base", "redis/wire"},
    "redis/lua": {"base", "redis/wire"},
    "redis/messages": {"base", "contract", "redis/wire"},
    "redis": {
        "base",
        "contract",
        "items",
        "redis/keyspace",
        "redis/lua",
        "redis/messages",
        "redis/registry",
        "redis/waiting",
        "redis/wire",
    },
    "redis/work": {"base", "contract", "items", "redis", "redis/keyspace", "redis/registry", "redis/wire"},
    "redis/scripts": {"base", "contract", "redis", "redis/lua", "redis/registry", "redis/wire", "redis/work"},
    "redis/strings": REDIS_COMMANDS | {"items"},
    "redis/hashes": REDIS_COMMANDS | {"items"},
    "redis/collections": REDIS_COMMANDS | {"redis/waiting"},
    "redis/lists": REDIS_COMMANDS | {"redis/collections"},
    "redis/sets": REDIS_COMMANDS | {"redis/collections"},
    "redis/streams": REDIS_COMMANDS | {"redis/collections"},
    "redis/geo": REDIS_COMMANDS | {"redis/collections"},
    "redis/dumps": REDIS_COMMANDS | {"redis/collections", "redis/hashes", "redis/streams"},
    "redis/commands": REDIS_COMMANDS
    | {"items", "redis/collections", "redis/hashes", "redis/lists", "redis/lua", "redis/messages", "redis/strings"},
    "engine": {"base", "contract"},
    "engine/fake": {"base", "contract"},
    "engine/sql": {"base", "contract"},
    "engine/sql/packets": {"base"},
    "engine/sql/plans": {"base", "contract"},
    "engine/sql/texts": {"base", "contract"},
    # A part of each server's engine, of which it sees a few headers as engine/server.
    "engine/rows": {"base", "contract", "engine", "engine/sql", "engine/server"},
    "engine/runs": {"base", "contract", "engine", "engine/sql", "engine/rows", "engine/server"},
    "engine/mysql": {"base", "contract", "engine", "engine/sql", "engine/sql/packets", "engine/rows", "engine/runs"},
    "engine/mariadb/basics": {"base", "contract", "engine", "engine/sql"},
    "engine/mariadb/tables": {"base", "contract", "engine/sql", "engine/rows", "engine/mariadb/basics"},
    "engine/mariadb/accounts": {"base", "contract", "engine", "engine/sql", "engine/sql/packets"}
    | below("basics", "tables"),
    "engine/mariadb/hosted/thd": {"base", "contract", "engine/sql", "engine/sql/packets"} | below("basics"),
    "engine/mariadb/hosted/plans": {"base", "contract"} | SQL_PLANS | below("basics", "hosted/thd"),
    "engine/mariadb/hosted/reads": {"base", "contract", "engine/sql/texts"}
    | SQL_PLANS
    | below("basics", "hosted/plans", "hosted/thd"),
    "engine/mariadb/hosted/writes": {"base", "contract", "engine/rows", "engine/sql", "engine/sql/packets"}
    | below("basics", "tables", "hosted/plans", "hosted/reads", "hosted/thd"),
    "engine/mariadb/hosted/planned/forms": {"base", "contract", "engine/sql", "engine/sql/plans", "engine/sql/texts"}
    | below("basics", "hosted/plans", "hosted/reads", "hosted/thd"),
    "engine/mariadb/hosted/planned/joins": {"base", "contract", "engine/sql/texts"}
    | SQL_PLANS
    | below("basics", "hosted/planned/forms", "hosted/plans", "hosted/reads", "hosted/thd"),
    "engine/mariadb/hosted/planned": {"base", "contract", "engine/sql/texts"}
    | SQL_PLANS
    | below("basics", "hosted/plans", "hosted/reads", "hosted/thd")
    | below("hosted/planned/forms", "hosted/planned/joins"),
    "engine/mariadb/hosted": {"base", "contract", "engine", "engine/sql", "engine/sql/packets", "engine/sql/texts"}
    | below("basics", "hosted/planned", "hosted/plans", "hosted/reads", "hosted/thd", "hosted/writes"),
    "engine/mariadb": {"base", "contract", "engine", "engine/sql", "engine/sql/texts", "engine/runs"}
    | below("basics", "tables", "accounts", "hosted", "hosted/planned", "hosted/reads", "hosted/thd", "hosted/writes"),
    "plugin": {"base", "net", "contract", "door", "door/connections", "engine", "redis/work"} | DOORS,
}
# Tests may also use these.
TESTS_SEE = {"base", "contract", "ping", "engine/fake"}
SERVER_HEADER = re.compile(
    r"my_global|my_config|sql/|sql_|handler\.h|field\.h|mysqld|mysql/|table\.h|transaction|key\.h|lock\.h|"
    r"my_bitmap|scheduler|log\.h|item\.h|set_var|hostname|violite|thr_timer|wsrep"
)
PROTOCOL = re.compile(r"handlersocket|memcache|redis", re.IGNORECASE)
LINES_MAX = 500
found = []


def complain(path, line, text):
    found.append(f"{path}:{line}: {text}")


def room_of(folder):
    """The room that a folder of src/ is a part of."""
    while "/" in folder and folder not in SEES:
        folder = folder.rpartition("/")[0]
    return folder


def folder_of(path):
    """The room that a file of src/ belongs to; files for tests, X/testing, belong to X."""
    return room_of("/".join(part for part in path.parts[1:-1] if part != "testing"))


def is_for_tests(path):
    return re.search(r"_(test|fuzz)\.cc$", path.name) is not None or "testing" in path.parts


def check_includes(path, lines):
    folder = folder_of(path)
    is_test = is_for_tests(path)
    # tests/support is on no path but the tests'.
    allowed = SEES.get(folder, set()) | {folder, "support"}
    if is_test:
        allowed |= TESTS_SEE | {room for room in SEES if room.startswith(f"{folder}/")}
    for number, line in enumerate(lines, 1):
        if match := re.match(r'#include "([^"]+)"', line):
            target = match[1].rpartition("/")[0]
            if target.endswith("/testing"):
                target = target.removesuffix("/testing")
                if not is_test:
                    complain(path, number, f"the product must not include what is for tests: {match[1]}")
            if target and target not in allowed and room_of(target) not in allowed:
                complain(path, number, f"{folder} must not include {match[1]}")
        elif match := re.match(r"#include <([^>]+)>", line):
            server = SERVER_HEADER.match(match[1])
            if server and folder == "plugin" and match[1] != "mysql/plugin.h":
                complain(path, number, "of the server, plugin may include <mysql/plugin.h> only")
            elif server and folder != "plugin" and not folder.startswith(("engine/mariadb", "engine/mysql")):
                complain(path, number, f"a server header outside the room of a server: {match[1]}")
            elif server and folder != "plugin" and path.name not in ("server.h", "cluster_hooks.h"):
                complain(path, number, f"the server's headers come in by server.h alone: {match[1]}")
        elif "MYSQL_VERSION_ID" in line and path.name != "compat.h":
            complain(path, number, "what differs between series of the server belongs in compat.h")


# Files that have to include a header of the server first.
SEES_A_SERVER = re.compile(r"(engine/(mariadb|mysql|rows|runs)|plugin)(/|$)")


def check_first_include(path, lines):
    """Checks that each source includes its own header first, which proves that the header compiles alone."""
    own = path.with_suffix(".h")
    if path.suffix == ".cc" and (ROOT / own).exists() and not SEES_A_SERVER.match(folder_of(path)):
        first = next((line for line in lines if line.startswith("#include ")), "")
        if first.strip() != f'#include "{own.relative_to("src")}"':
            complain(path, 1, f"the first include is not {own.name}")


# Names reserved for the compiler; clang-tidy would search all headers of the library for them, which takes long.
RESERVED = re.compile(r"\b(?:class|struct|enum|namespace|using|define|auto|int|bool)\s+(_[A-Z]\w*|\w*__\w*)")


def check_reserved_names(path, lines):
    for number, line in enumerate(lines, 1):
        if match := RESERVED.search(line):
            complain(path, number, f"the name is reserved: {match[1]}")


def check_words(path, lines):
    if path.parts[1] not in ("base", "net", "contract", "items", "door") and not folder_of(path).startswith(
        ("engine/sql", "engine/rows", "engine/runs", "engine/mariadb", "engine/mysql")
    ):
        return
    for number, line in enumerate(lines, 1):
        if PROTOCOL.search(line) and not path.name.endswith("_test.cc"):
            complain(path, number, "a protocol's name in a folder that should know none")


def check_text(path, lines, text):
    if len(lines) > LINES_MAX and path.suffix in (".cc", ".h", ".py"):
        complain(path, len(lines), f"more than {LINES_MAX} lines: split it")
    if text and not text.endswith("\n"):
        complain(path, len(lines), "no end of line at the end of the file")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() and path.suffix != ".txt":
            complain(path, number, "blanks at the end of the line")
        if "\t" in line and path.suffix in (".cc", ".h", ".py"):
            complain(path, number, "a tab")


def check_scripts(paths):
    """True if the shell scripts among the files are fine."""
    scripts = [
        path for path in paths if not path.suffix and path.open("rb").readline() in (b"#!/bin/bash\n", b"#!/bin/sh\n")
    ]
    return subprocess.run(["shellcheck", *scripts], check=False).returncode == 0


def check_layout(paths):
    """True if clang-format and black would change nothing."""
    sources = [path for path in paths if path.suffix in (".cc", ".h")]
    python = [path for path in paths if path.suffix == ".py" or path.open("rb").readline() == b"#!/usr/bin/python3\n"]
    formatted = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *sources], check=False).returncode == 0
    black = subprocess.run(["black", "--check", *python], cwd=ROOT, check=False, capture_output=True, text=True)
    print(black.stderr if black.returncode else "", end="")
    return formatted and black.returncode == 0


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    paths = [pathlib.Path(name) for name in listed.stdout.decode().splitlines()]
    for path in paths:
        if path.suffix not in (".cc", ".h", ".def", ".py", ".md", ".txt") or path.parts[:2] == ("tests", "corpus"):
            continue
        if path.parts[0] == "tests" and path.suffix in (".txt", ".tsv") or not (ROOT / path).exists():
            continue
        text = (ROOT / path).read_text()
        lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
        check_text(path, lines, text)
        if path.parts[0] == "src" and path.suffix in (".cc", ".h", ".def"):
            check_includes(path, lines)
            check_first_include(path, lines)
            check_reserved_names(path, lines)
            check_words(path, lines)
    print("\n".join(found), end="\n" if found else "")
    makers = ("document.py", "gains.py")
    stale = any(
        [subprocess.run([sys.executable, ROOT / "scripts" / one, "--check"], check=False).returncode for one in makers]
    )
    hard_to_read = subprocess.run([sys.executable, ROOT / "scripts/prose.py"], check=False).returncode
    not_included = subprocess.run([sys.executable, ROOT / "scripts/includes.py"], check=False).returncode
    present = [ROOT / path for path in paths if path.parts[:2] != ("tests", "corpus") and (ROOT / path).is_file()]
    sound = check_scripts(present) & check_layout(present)
    sys.exit(1 if found or stale or hard_to_read or not_included or not sound else 0)


main()
