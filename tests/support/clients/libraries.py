"""Copies of our library that do not match the server."""
import re
import struct
from pathlib import Path

from support.server import SERVER_DIR, parse_env

SETTINGS = parse_env((SERVER_DIR / "server.env").read_text())
VERSION = SETTINGS["SERVER_VERSION"].partition("-")[0]
# Of the same length, because it replaces bytes of the library.
OTHER_VERSION = f"{VERSION[:-1]}{(int(VERSION[-1]) + 1) % 10}"
HEADER = (Path(SETTINGS["SERVER_INCLUDE_GENERATED"]) / "mysql_version.h").read_text()
SUFFIX = re.search(r'MYSQL_SERVER_SUFFIX_DEF\s+"(.*)"', HEADER)[1]


def write(place, content):
    """Writes a new file, so that a process that has mapped the old one keeps it."""
    new = place.with_name(place.name + ".new")
    new.write_bytes(content)
    new.rename(place)


def of_another_version(library):
    """A library that claims to be built for another patch level of the server."""
    content = library.read_bytes()
    version = int(SETTINGS["SERVER_VERSION_ID"])
    mine, other = (struct.pack("<i", number << 8) for number in (version, version + 1))
    assert content.count(mine) >= 2, "the plugins' declarations are not where they were"
    words, other_words = f"{VERSION}-MariaDB".encode(), f"{OTHER_VERSION}-MariaDB".encode()
    assert words in content
    return content.replace(mine, other).replace(words, other_words)


def of_another_build(library):
    """A library that claims to be built for another vendor's build of the same version."""
    mine, other = (f"{VERSION}-MariaDB{suffix}".encode() for suffix in (SUFFIX, SUFFIX[:-1] + "Z"))
    content = library.read_bytes()
    assert mine in content
    return content.replace(mine, other)


def renamed(content, name, other):
    """A library that imports another function, with a name that is not longer."""
    assert len(other) <= len(name)
    text = b"\0" + name.encode() + b"\0"
    assert content.count(text) >= 1
    # The loader reads the first occurrence; the rest is for debuggers.
    return content.replace(text, b"\0" + other.encode().ljust(len(name), b"\0") + b"\0", 1)
