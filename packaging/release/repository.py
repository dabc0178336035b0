"""The files of an apt repository, signed if there is a key."""
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from datetime import datetime, timezone

SIGNATURES = ("/InRelease", "/Release.gpg")


def created(key):
    """The creation time of the key, or of its newest subkey."""
    listed = subprocess.run(["gpg", "--list-keys", "--with-colons", key], capture_output=True, text=True, check=False)
    if listed.returncode:
        sys.exit(f"gpg: {listed.stderr.strip()}")
    rows = [line.split(":") for line in listed.stdout.splitlines()]
    return max(int(row[5]) for row in rows if row[0] in ("pub", "sub"))


def signed(arguments, key, date):
    """Runs gpg with the key, as of the release's date, so that the same bytes get the same signature. It is
    never older than the key."""
    command = [
        "gpg",
        "--batch",
        "--yes",
        "--faked-system-time",
        f"{max(date, created(key))}!",
        "--digest-algo",
        "SHA256",
    ]
    command += ["--armor", "--local-user", key, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"gpg: {done.stderr.strip()}")


def make(folder, packages_of, key, date):
    """`packages_of`: the package files of each suite, a Debian release. Writes pool/ and dists/SUITE/."""
    pool = folder / "pool"
    pool.mkdir(parents=True)
    for files in packages_of.values():
        for file in files:
            shutil.copy(file, pool / file.name)
    for suite, files in sorted(packages_of.items()):
        make_suite(folder, suite, [pool / file.name for file in files], date)
        if key:
            release = folder / "dists" / suite / "Release"
            signed(["--output", release.with_name("InRelease"), "--clearsign", release], key, date)
            signed(["--output", release.with_name("Release.gpg"), "--detach-sign", release], key, date)


def make_suite(folder, suite, files, date):
    place = folder / "dists" / suite
    architecture = subprocess.run(
        ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
    ).stdout.strip()
    index = place / "main" / f"binary-{architecture}" / "Packages"
    index.parent.mkdir(parents=True)
    index.write_text("\n".join(stanza(file, folder) for file in sorted(files)))
    with open(f"{index}.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(index.read_bytes())
    sums = "".join(
        f" {hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_size} {path.relative_to(place)}\n"
        for path in (index, index.with_name("Packages.gz"))
    )
    when = datetime.fromtimestamp(date, timezone.utc).strftime("%a, %d %b %Y %H:%M:%S UTC")
    (place / "Release").write_text(
        f"Origin: Postern\nLabel: Postern\nSuite: {suite}\nCodename: {suite}\nDate: {when}\n"
        f"Architectures: {architecture}\nComponents: main\nDescription: Postern, a plugin of MariaDB\nSHA256:\n{sums}"
    )


def stanza(file, folder):
    """The entry of a package in an index: its control file, place, size and sum."""
    fields = subprocess.run(["dpkg-deb", "--field", file], check=True, capture_output=True, text=True).stdout
    extra = f"Filename: {file.relative_to(folder)}\nSize: {os.path.getsize(file)}\n"
    head, _, description = fields.partition("Description:")
    return f"{head}{extra}SHA256: {hashlib.sha256(file.read_bytes()).hexdigest()}\nDescription:{description}"
