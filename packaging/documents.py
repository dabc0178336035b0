#!/usr/bin/python3
"""packaging/documents.py FOLDER: copies the documents that users read into FOLDER, a package's folder in /usr/share/doc.

Links between them are adapted to their new places; a link to a file that is not copied becomes plain text.
"""
import pathlib
import posixpath
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)\s]+)\)")
# Files that a package has in another place.
ELSEWHERE = {"LICENSE": "copyright", "CHANGELOG.md": "changelog.gz"}


def places():
    """{document: its place in the package}, both as relative paths."""
    found = {name: name for name in ("README.md", "SECURITY.md")}
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".md", ".svg"):
            name = path.relative_to(ROOT).as_posix()
            found[name] = name
    for path in sorted((ROOT / "src").glob("*/grammar.md")):
        found[path.relative_to(ROOT).as_posix()] = f"docs/{path.parent.name}-grammar.md"
    return found


def with_links(text, name, known):
    """The text of the document `name` with its links adapted to the package."""
    here = posixpath.dirname(known[name])

    def link(match):
        image, label, target = match.groups()
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        place = known.get(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)))
        return f"{image}[{label}]({posixpath.relpath(place, here or '.')}{mark}{anchor})" if place else label

    return LINK.sub(link, text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    documents = places()
    for name, place in documents.items():
        target = pathlib.Path(sys.argv[1]) / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".md":
            target.write_text(with_links((ROOT / name).read_text(), name, {**documents, **ELSEWHERE}))
        else:
            target.write_bytes((ROOT / name).read_bytes())


if __name__ == "__main__":
    main()
