#!/usr/bin/python3
"""Runs clang-tidy over the product's sources: lint.py BUILD_FOLDER [--all] [PART OF A PATH ...].

A clean source is checked again only when it, a header of ours that it includes, its command or the checks have
changed: BUILD_FOLDER/lint holds a mark for each. Needs a finished build, and takes include paths from ninja.
Without --all it leaves out sources that include the server's headers. Prints every finding and exits 1 if there is one.

Most of the time goes into the headers of the standard library, so neighbouring sources are checked together. If
anything is found, each half is checked, because it may be only a clash of two names."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_TIDY = "clang-tidy-14"
TOGETHER_MAX = 12
# clang cannot read GCC's precompiled header, and does not know a warning that a build of whole rooms leaves out.
FOR_GCC = re.compile(r" -Winvalid-pch| -include \S*cmake_pch\.hxx| -Wno-subobject-linkage")
# What CMake writes for a build that compiles the files of a room together.
INCLUDED = re.compile(r'^#include "(/.*\.cc)"$', re.M)


def compiled_by(entry):
    """The sources that a compile command compiles."""
    path = pathlib.Path(entry["file"])
    return map(pathlib.Path, INCLUDED.findall(path.read_text())) if path.parent.name == "Unity" else [path]


def product_sources(build, with_server):
    """{source: its compile command}, each source once."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        entry["command"] = FOR_GCC.sub("", re.sub(r"^\S*ccache ", "", entry["command"]))
        for path in compiled_by(entry):
            ours = path.is_relative_to(ROOT / "src") and "testing" not in path.parts and "fake" not in path.parts
            if not with_server and re.search("engine/(mariadb|rows|runs)|plugin/", str(path)):
                continue
            if ours and not re.search(r"_(test|fuzz)\.cc$", path.name):
                commands.setdefault(path, entry)
    return commands


def included(build):
    """{object: our own files that it depends on}, from ninja's log."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    files, current = {}, None
    for line in listed.splitlines():
        if not line.startswith(" "):
            current = files.setdefault(line.partition(":")[0], [])
        else:
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT / "src"):
                current.append(path)
    return files


def mark_of(entry, files):
    """A hash of everything that a finding depends on."""
    digest = hashlib.sha256(entry["command"].encode() + (ROOT / ".clang-tidy").read_bytes())
    for path in sorted(set(files)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def batches(commands, wanted):
    """The wanted sources, grouped by compile command apart from the folders of headers, neighbours together."""
    alike = {}
    for path in sorted(wanted):
        how = re.sub(r" -I\S+| -o \S+| -c \S+| -M[TF] \S+", "", commands[path]["command"])
        alike.setdefault(how, []).append(path)
    for paths in alike.values():
        count = -(-len(paths) // TOGETHER_MAX)
        size = -(-len(paths) // count)
        yield from (paths[i : i + size] for i in range(0, len(paths), size))


def with_all_folders(paths, commands):
    """The first source's compile command, with the folders of headers of all."""
    folders = dict.fromkeys(folder for path in paths for folder in re.findall(r" -I\S+", commands[path]["command"]))
    entry = commands[paths[0]]
    program, _, rest = re.sub(r" -I\S+", "", entry["command"]).partition(" ")
    return {**entry, "command": f"{program}{''.join(folders)} {rest}"}


def tidy(folder, path, entry):
    """The findings of clang-tidy in sources with this command; empty if they are clean."""
    with tempfile.TemporaryDirectory(dir=folder) as database:
        how = {**entry, "file": str(path), "command": entry["command"].replace(entry["file"], str(path))}
        pathlib.Path(database, "compile_commands.json").write_text(json.dumps([how]))
        done = subprocess.run(
            [CLANG_TIDY, "-p", database, "--quiet", path],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    return "" if done.returncode == 0 else done.stdout or done.stderr or "clang-tidy failed"


def lint(folder, paths, commands, marks):
    """True if the sources are clean, all together or else each half."""
    entry = with_all_folders(paths, commands)
    if len(paths) == 1:
        said = tidy(folder, paths[0], entry)
        print(said, end="", flush=True)
    else:
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".cc") as source:
            source.write("".join(f'#include "{path}"  // NOLINT\n' for path in paths))
            source.flush()
            said = tidy(folder, source.name, entry)
        if said:
            half = len(paths) // 2
            return all([lint(folder, part, commands, marks) for part in (paths[:half], paths[half:])])
    if not said:
        for path in paths:
            (folder / marks[path]).touch()
    return not said


def main():
    build, options = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    parts = [option for option in options if option != "--all"]
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    commands, files = product_sources(build, "--all" in options), included(build)
    wanted = {}
    for path, entry in commands.items():
        target = re.search(r" -o (\S+)", entry["command"])[1]
        mark = mark_of(entry, [*files.get(target, []), path])
        if any(part in str(path) for part in parts or [""]) and not (folder / mark).exists():
            wanted[path] = mark
    lists = sorted(batches(commands, wanted), key=len, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(lint, folder, paths, commands, wanted) for paths in lists]
    sys.exit(0 if all(job.result() for job in jobs) else 1)


main()
