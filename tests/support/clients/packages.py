"""Runs Debian's own checker on a package."""
import subprocess


def errors_of(folder):
    """Reads the one package in the folder."""
    (package,) = folder.glob("*.deb")
    done = subprocess.run(
        ["lintian", "--allow-root", "--tag-display-limit", "0", package],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return [line for line in done.stdout.splitlines() if line.startswith("E:")] + done.stderr.splitlines()
