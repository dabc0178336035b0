#!/usr/bin/python3
"""Runs clang-tidy over the product's sources: lint.py BUILD_FOLDER [--all] [PART OF A PATH ...].

A source that was found clean is looked at again only when it, a header of ours that it includes, its command or the
checks have changed: BUILD_FOLDER/lint holds a mark for each. Needs a finished build, whose include paths it takes from
ninja. Without --all it leaves out what includes the server's headers, which takes twice as long as all the rest.
Prints every finding and exits 1 if there is one."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_TIDY = "clang-tidy-14"
# GCC's own precompiled header says nothing to clang.
PRECOMPILED = re.compile(r" -Winvalid-pch| -include \S*cmake_pch\.hxx")


def product_sources(build, with_server):
    """{source: how it is compiled}, each source once."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        ours = path.is_relative_to(ROOT / "src") and "testing" not in path.parts and "fake" not in path.parts
        if not with_server and re.search("engine/mariadb|plugin/", entry["file"]):
            continue
        if ours and not re.search(r"_(test|fuzz)\.cc$", path.name):
            entry["command"] = PRECOMPILED.sub("", re.sub(r"^\S*ccache ", "", entry["command"]))
            commands.setdefault(path, entry)
    return commands


def included(build):
    """{object: the files of ours that it was made from}, as ninja has noted them."""
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
    """What stands for all that a finding depends on."""
    digest = hashlib.sha256(entry["command"].encode() + (ROOT / ".clang-tidy").read_bytes())
    for path in sorted(set(files)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def lint(path, folder, mark):
    """True if there is nothing to say of the source."""
    done = subprocess.run(
        [CLANG_TIDY, "-p", folder, "--quiet", path],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode == 0:
        (folder / mark).touch()
        return True
    print(done.stdout or done.stderr, flush=True)
    return False


def main():
    build, options = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    parts = [option for option in options if option != "--all"]
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    commands, files = product_sources(build, "--all" in options), included(build)
    (folder / "compile_commands.json").write_text(json.dumps(list(commands.values())))
    wanted = {}
    for path, entry in commands.items():
        target = re.search(r" -o (\S+)", entry["command"])[1]
        mark = mark_of(entry, [*files.get(target, []), path])
        if any(part in str(path) for part in parts or [""]) and not (folder / mark).exists():
            wanted[path] = mark
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        clean = list(pool.map(lambda path: lint(path, folder, wanted[path]), wanted))
    sys.exit(0 if all(clean) else 1)


main()
