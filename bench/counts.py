#!/usr/bin/python3
"""Counts the instructions that the hot paths execute and compares them with bench/counts.txt.

  bench/counts.py                     fails if a path executes over 5% more than its baseline
  bench/counts.py --accept            writes the baseline anew
  bench/counts.py --functions PATH    the functions of one path that execute most, for each request

Unlike times, counts are the same in every run, however busy the machine is. Only instructions of
our own code are compared: which of several memcpy() the C library takes depends on the processor.
The share of libraries and the server is printed beside them and not compared. Another compiler
makes other instructions: then the script compares nothing, and says so.

Exit codes: 0 as before or better, 1 worse or failed, 2 wrong usage.
"""
import argparse
import concurrent.futures
import dataclasses
import getpass
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
BASELINE = ROOT / "bench" / "counts.txt"
CHANGE_MAX = 0.05
SECONDS_MAX = 120
FUNCTIONS_SHOWN = 25
VALGRIND = [
    "valgrind",
    "-q",
    "--tool=callgrind",
    "--instr-atstart=no",
    "--collect-atstart=no",
    "--compress-strings=no",
    "--compress-pos=no",
]


class Failure(Exception):
    """An error with a message for the user."""


@dataclasses.dataclass
class Count:
    """Instructions that one request of a path executes."""

    path: str
    ours: float
    elsewhere: float
    functions: dict  # our own functions, by name


def parse_dump(text, program):
    """The Count in one callgrind dump; None if no path was counted. `program` is the file name of our code."""
    told = re.search(r"^desc: Trigger: Client Request: (\S+) (\d+)$", text, re.MULTILINE)
    if told is None:
        return None
    path, requests = told[1], int(told[2])
    objects, functions = Counter(), Counter()
    current, function, called = "", "", False
    for line in text.splitlines():
        if line.startswith("ob="):
            current = Path(line[3:]).name
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            called = True  # the next line is the callee's cost, which its own lines count
        elif line[:1].isdigit():
            if not called:
                cost = int(line.split()[1])
                objects[current] += cost
                if current == program:
                    functions[function] += cost
            called = False
    whole = re.search(r"^summary: (\d+)$", text, re.MULTILINE)
    if whole is None or int(whole[1]) != objects.total():
        raise Failure(
            f"callgrind's report of {path} was not understood: {objects.total()} instructions "
            f"of {whole[1] if whole else 'an unknown number'}"
        )
    if objects[program] == 0:
        raise Failure(f"callgrind has seen no instruction of {program} in {path}")
    return Count(
        path,
        objects[program] / requests,
        (objects.total() - objects[program]) / requests,
        {name: cost / requests for name, cost in functions.items()},
    )


def read_dumps(folder, program):
    """Sorts paths as the program runs them."""
    dumps = sorted((file for file in folder.glob("dump.*")), key=lambda file: int(file.suffix[1:]))
    counts = [parse_dump(file.read_text(), program) for file in dumps]
    return [count for count in counts if count is not None]


def run(command, program, folder):
    """Runs a command under callgrind; returns its counts."""
    command = [*VALGRIND, f"--callgrind-out-file={folder}/dump", *map(str, command)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{program} did not end within {SECONDS_MAX} seconds") from late
    # Exit by the requested signal is a clean shutdown.
    if done.returncode != 0 or re.search(r"^(counts_engine|ERROR):", done.stderr, re.MULTILINE):
        raise Failure(f"{program} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return read_dumps(folder, program)


def count_protocol(folder):
    return run([BUILD / "bench" / "counts"], "counts", folder)


TABLES = """
USE test;
CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50), user_email VARCHAR(255), created DATETIME);
INSERT INTO user SELECT seq, CONCAT('name', seq), CONCAT('user', seq, '@example.org'), '2010-02-03 11:22:33' FROM seq_1_to_1000;
CREATE TABLE written LIKE user;
INSERT INTO written SELECT * FROM user;
CREATE TABLE fresh (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50));
CREATE TABLE named (name VARCHAR(50), n INT, v VARCHAR(50), PRIMARY KEY (name, n)) CHARACTER SET utf8mb4;
INSERT INTO named SELECT CONCAT('name', seq), seq, 'a value' FROM seq_1_to_1000;
CREATE TABLE wide (id INT PRIMARY KEY, tiny TINYINT, big BIGINT UNSIGNED, price DECIMAL(10,2), day DATE, at DATETIME(3), kind ENUM('a','b'), note TEXT, code CHAR(8), ratio DOUBLE, nothing INT);
INSERT INTO wide SELECT seq, -5, 1 << 40, 12.5, '2010-02-03', '2010-02-03 11:22:33', 'b', 'a note', 'code', 1.5, NULL FROM seq_1_to_1000;
"""


def count_engine(folder):
    """Counts in a private server without grant tables and listening sockets, which shuts itself down."""
    server = dict(word.split("=", 1) for word in shlex.split((BUILD / "server" / "server.env").read_text()))
    data = folder / "data"
    (data / "test").mkdir(parents=True)
    tables = folder / "tables.sql"
    tables.write_text(TABLES.lstrip())
    return run(
        [
            server["MARIADBD"],
            "--no-defaults",
            f"--user={getpass.getuser()}",
            f"--basedir={server['SERVER_BASEDIR']}",
            f"--datadir={data}",
            f"--tmpdir={folder}",
            f"--pid-file={folder}/pid",
            f"--socket={folder}/socket",
            "--skip-networking",
            "--skip-grant-tables",
            f"--plugin-dir={BUILD / 'bench'}",
            "--plugin-maturity=unknown",
            "--plugin-load-add=counts_engine.so",
            "--counts-engine=FORCE",  # otherwise it would wait for a shutdown that nobody requests
            f"--init-file={tables}",
            "--innodb-adaptive-hash-index=ON",
            "--innodb-use-native-aio=OFF",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M",
            # Otherwise newer servers reserve terabytes of address space, more than valgrind provides.
            "--loose-innodb-buffer-pool-size-max=32M",
        ],
        "counts_engine.so",
        folder,
    )


def counted_apart(count_some):
    """The counts of a program, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="postern-counts-") as folder:
        return count_some(Path(folder))


def cmake_cache():
    return dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))


def compiler():
    """The compiler, in one line: counts of different compilers cannot be compared."""
    cache = cmake_cache()
    told = subprocess.run([cache["CMAKE_CXX_COMPILER"], "--version"], capture_output=True, text=True, check=True).stdout
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    sanitizers = cache.get("POSTERN_SANITIZE", "")
    return " ".join(filter(None, [told.splitlines()[0], machine, cache["CMAKE_BUILD_TYPE"], sanitizers]))


def parse_baseline(text):
    """(compiler, {path: instructions})"""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if not lines or not lines[0].startswith("compiler: "):
        raise Failure(f"{BASELINE.name} does not begin with its compiler")
    return lines[0].removeprefix("compiler: "), {path: float(ours) for path, ours in map(str.split, lines[1:])}


def baseline_text(made_by, counts):
    head = (
        "# Instructions of our own code for one request of each path. Written by: make counts ACCEPT=1\n"
        f"compiler: {made_by}\n"
    )
    return head + "".join(f"{count.path:<28}{count.ours:>10.1f}\n" for count in counts)


def compare(counts, baseline):
    """(lines to print, whether no path became worse)"""
    lines, good = [], True
    for count in counts:
        known = baseline.get(count.path)
        text = f"{count.path:<28}{count.ours:>10.1f}{count.elsewhere:>12.1f}"
        if known is None:
            lines.append(f"{text}   FAILED: has no baseline; accept it by make counts ACCEPT=1")
            good = False
            continue
        change = count.ours / known - 1
        text += f"{known:>12.1f}{change:>+9.1%}"
        if change > CHANGE_MAX:
            good = False
            text += (
                f"   FAILED: {count.path} executes {count.ours:.1f} instructions a request, its baseline is "
                f"{known:.1f}. Where: bench/counts.py --functions {count.path}. If they are worth it: "
                "make counts ACCEPT=1, and why in the commit"
            )
        elif change < -CHANGE_MAX:
            text += "   better; keep it by make counts ACCEPT=1"
        lines.append(text)
    gone = baseline.keys() - {count.path for count in counts}
    if gone:
        good = False
        lines += [f"{path:<28}   FAILED: is in the baseline and was not counted" for path in sorted(gone)]
    return lines, good


def print_functions(count):
    print(f"{count.path}: {count.ours:.1f} instructions of ours a request, {count.elsewhere:.1f} elsewhere")
    for name, cost in sorted(count.functions.items(), key=lambda item: -item[1])[:FUNCTIONS_SHOWN]:
        print(f"{cost:>10.1f}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--functions", metavar="PATH")
    arguments = parser.parse_args()
    programs = (count_protocol, count_engine)
    if arguments.functions:
        programs = (count_engine if arguments.functions.startswith("engine-") else count_protocol,)
    with concurrent.futures.ThreadPoolExecutor(len(programs)) as pool:
        counts = sum(pool.map(counted_apart, programs), [])
    if arguments.functions:
        chosen = [count for count in counts if count.path == arguments.functions]
        if not chosen:
            raise Failure(f"no such path; there are: {' '.join(count.path for count in counts)}")
        return print_functions(chosen[0])
    made_by = compiler()
    if arguments.accept:
        BASELINE.write_text(baseline_text(made_by, counts))
        return print(f"wrote {BASELINE}:\n{BASELINE.read_text()}", end="")
    known_compiler, baseline = parse_baseline(BASELINE.read_text())
    lines, good = compare(counts, baseline)
    print(f"{'instructions a request':<28}{'ours':>10}{'elsewhere':>12}{'baseline':>12}{'change':>9}")
    print("\n".join(lines))
    if made_by != known_compiler:
        return print(f"Not compared: the baseline is of another compiler.\n  then: {known_compiler}\n  now:  {made_by}")
    if not good:
        raise Failure("hot paths execute more than they did")
    return None


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"counts: {failure}")
