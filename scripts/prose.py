#!/usr/bin/python3
"""Counts turns of phrase that make comments and pages hard to read: prose.py [--list] [--sum] [ROOM ...].

A room is a folder of src/ that has a library of its own, another folder of the tree, or one page of docs/. Its prose is
its comments, docstrings, names of tests, texts in .def files, and pages. Fails where a room has more of a turn for each
1,000 lines than GOALS allows. --list prints every place that counts; --sum, all rooms together. Model codebases
(leveldb, kvrocks, seastar) have fewer than two of any."""
import ast
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A turn: its pattern, and the number that 1,000 lines may have. Three in a room are always allowed.
GOALS = {
    "'what is ...' as a noun": (r"\bwhat (?:is|was|has|have|are|were|had|it|they|the|a)\b", 3),
    "tell, told": (r"\b(?:tell|tells|told|telling)\b", 2),
    "who for a thing, or as a noun": (r"\b(?:who|whom|whose)\b", 3),
    "'behind' for after": (r"\bbehind\b", 1),
    "'the like of', 'as ever'": (r"\b(?:the like of|of its like|their like|as ever)\b", 1),
    "a sentence that begins with Of": (
        r"(?:^|[.;:] )Of (?:it|that|this|these|those|them|a|an|the|each|such|what)\b",
        2,
    ),
    "'is to be'": (r"\b(?:is|are|was|were) to be\b", 3),
}


def room_of(path):
    """The room of a file, by its path from the root."""
    parts = path.parts
    if parts[0] == "docs":
        return str(path)
    if parts[0] != "src":
        return "/".join(parts[: 2 if parts[0] == "tests" else 1][: len(parts) - 1]) or "."
    folder = path.parent
    while len(folder.parts) > 2 and not (ROOT / folder / "CMakeLists.txt").exists():
        folder = folder.parent
    return str(folder)


def words_of(name):
    """A test's name as a sentence: OneWaitsForAnother, test_one_waits_for_another."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("_", " "))


def prose_of_python(text):
    """(line, text) of comments, docstrings and names of tests."""
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.match(r"\s*# ?(.*)", line) or re.search(r"  # (.*)", line):
            yield number, match[1]
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:  # Python 2, for an old client
        return
    for node in nodes:
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)):
            name = getattr(node, "name", "")
            if name.startswith("test_"):
                yield node.lineno, words_of(name)
            if ast.get_docstring(node):
                first = node.body[0]
                for i, line in enumerate(first.value.value.split("\n")):
                    yield first.lineno + i, line


def prose_of_code(text):
    """(line, text) of comments and names of tests in C++, and of texts in .def files."""
    for number, line in enumerate(text.split("\n"), 1):
        if match := re.search(r"//+<? ?(.*)", line):
            yield number, match[1]
        if match := re.match(r"TEST(?:_F|_P)?\(\w+, (\w+)\)", line):
            yield number, words_of(match[1])


def prose_of(path, text):
    if path.suffix == ".py" or text.startswith("#!/usr/bin/python3"):
        return prose_of_python(text)
    if path.suffix in (".cc", ".h", ".go", ".js", ".java", ".rs"):
        return prose_of_code(text)
    lines = list(enumerate(text.split("\n"), 1))
    if path.name == "commands.def":
        return [(number, re.sub(r'"\([^)]*\)', '"', line)) for number, line in lines]  # notes in Redis's own words
    if path.suffix in (".md", ".def", ".inc"):
        return lines
    return [(number, match[1]) for number, line in lines if (match := re.match(r"\s*# ?(.*)", line))]


def count(places):
    """{room: lines} and {(room, turn): hits}. Appends (path, line, turn, text) of each hit to `places`."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    lines, hits = collections.Counter(), collections.Counter()
    for name in listed.stdout.decode().splitlines():
        path = pathlib.Path(name)
        if path.parts[:2] == ("tests", "corpus") or not (ROOT / path).is_file() or path.name == "prose.py":
            continue
        if path.suffix not in (".cc", ".h", ".py", ".md", ".def", ".inc", ".cmake", ".go", ".js", ".java", ".rs", ""):
            continue
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        for number, line in prose_of(path, text):
            if not re.search("[a-z]{3}", line):
                continue
            lines[room_of(path)] += 1
            for turn, (pattern, _) in GOALS.items():
                found = len(re.findall(pattern, re.sub("`[^`]*`", "`", line), re.IGNORECASE))
                hits[room_of(path), turn] += found
                places += [(path, number, turn, line)] * found
    return lines, hits


def main():
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    places = []
    lines, hits = count(places)
    failed = False
    for room in sorted(lines):
        over = [
            f"{turn}: {hits[room, turn]} of {goal * lines[room] / 1000:.1f}"
            for turn, (_, goal) in GOALS.items()
            if hits[room, turn] > max(3, goal * lines[room] / 1000)
        ]
        if over:
            failed = True
            print(f"{room}: {'; '.join(over)} (scripts/prose.py --list {room})")
    if "--list" in sys.argv:
        for path, number, turn, text in places:
            if not wanted or room_of(path) in wanted:
                print(f"{path}:{number}: {turn}: {text.strip()}")
    if "--sum" in sys.argv:
        for turn in GOALS:
            print(f"{turn:36}{1000 * sum(hits[room, turn] for room in lines) / sum(lines.values()):8.1f}")
    sys.exit(failed)


main()
