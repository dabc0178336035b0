"""make install and make test compile the files of a folder together, which requires unique names. Compiling files one by one does
not show a clash: the build would continue file by file, in twice the time."""
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.server import ROOT, SERIES, SERVER_DIR

FOLDERS = sorted(
    {"plugin"}
    | {
        path.parent.relative_to(ROOT / "src").as_posix()
        for path in ROOT.glob("src/**/CMakeLists.txt")
        if re.search(r"postern_(folder|mariadb_room|redis_room)\(", path.read_text())
    }
    # As CMakeLists.txt excludes them.
    - {"engine/sql/packets", "redis/wire"}
)

AT_ONCE = 16  # files that CMake compiles together
INCLUDED = re.compile(r'^#include "(/.*\.cc)"$', re.M)


def sources_of(folder):
    return [path for path in (ROOT / "src" / folder).glob("*.cc") if not re.search(r"_(test|fuzz)$", path.stem)]


def is_only_compiled_here(folder):
    """Whether no other build of `make test` compiles all of the folder's files at once: the fuzzers' build does so for
    small rooms without a server."""
    return re.match(r"engine/(mariadb|mysql)|plugin", folder) is not None or len(sources_of(folder)) > AT_ONCE


def is_compiled_at_once(build, folder):
    """Whether this build has compiled the current files as CMake divides them. From nothing `make test` makes such builds
    of both series before this test."""
    target = "postern" if folder == "plugin" else f"postern_{folder.replace('/', '_')}"
    made = sorted((ROOT / build / "src" / folder / "CMakeFiles" / f"{target}.dir/Unity").glob("*.cxx"))
    objects = [path.with_name(f"{path.name}.o") for path in made]
    included = [Path(name) for path in made for name in INCLUDED.findall(path.read_text())]
    if sorted(included) != sorted(sources_of(folder)) or not all(path.exists() for path in objects):
        return False
    oldest = min(path.stat().st_mtime for path in objects)
    return all(path.stat().st_mtime < oldest for path in (ROOT / "src" / folder).iterdir() if path.is_file())


DEFINED = re.compile(r"^#define (\w+)", re.M)


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """How the files of each folder are compiled together: folder to (directory, command, source)."""
    build = tmp_path_factory.mktemp("quick")
    subprocess.run(
        ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DPOSTERN_SERVER_DIR={SERVER_DIR}", "-DPOSTERN_TESTS=OFF"]
        + ["-DPOSTERN_QUICK_BUILD=ON", "-DCMAKE_BUILD_TYPE=Fast", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        folder = re.search(r"/src/([^.]+)/CMakeFiles/\w+\.dir/Unity/", entry["file"])
        if folder:
            words = shlex.split(entry["command"])
            words = words[: words.index("-o")] + words[words.index("-o") + 2 :]
            found.setdefault(folder[1], (entry["directory"], words[: words.index("-c")], []))[2].append(entry["file"])
    return found


def compiled_together(commands, folder):
    """(directory, words of a command, the files that CMake made for it)."""
    if folder not in commands:
        pytest.skip("a single file, or none of the plugin's")
    return commands[folder]


@pytest.mark.parametrize("folder", filter(is_only_compiled_here, FOLDERS))
def test_the_files_of_a_folder_compile_together(commands, tmp_path, folder):
    if SERIES == "10.11" and any(is_compiled_at_once(build, folder) for build in ("build", "build-11.8")):
        pytest.skip("a build has compiled them together")
    directory, words, files = compiled_together(commands, folder)
    together = tmp_path / "all.cc"
    together.write_text("".join(f'#include "{name}"\n' for name in files))
    done = subprocess.run(
        [*words, "-w", "-fsyntax-only", together],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "error" in line)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_leaves_its_macros_to_the_next(commands, folder):
    """Otherwise a plugin without settings for clients would get those of the file before it."""
    directory, words, files = compiled_together(commands, folder)
    sources = [Path(name) for file in files for name in INCLUDED.findall(Path(file).read_text())]
    assert sources, files
    own = {name for source in sources for name in DEFINED.findall(source.read_text())}
    left = {}
    for file in files if own else ():
        done = subprocess.run(
            [*words, "-w", "-E", "-dM", file], cwd=directory, capture_output=True, text=True, timeout=280, check=True
        )
        left[Path(file).name] = own.intersection(DEFINED.findall(done.stdout))
    assert not any(left.values()), left
