"""tools/cluster, with the commands of its pages in docs/: the text of a block sh is run, and must print the text of the
unnamed block after it."""
import os
import re
import shutil
import subprocess

import pytest
from support.server import ROOT

CANNOT_BE_HAD = 3
BLOCK = re.compile(r"```(sh)?\n(.*?)```\n", re.S)


def steps(page):
    """Pairs of commands and their output."""
    found = []
    for kind, text in BLOCK.findall((ROOT / "docs" / page).read_text()):
        if kind:
            found.append([text, ""])
        else:
            found[-1][1] = text
    return found


@pytest.fixture
def folder(tmp_path):
    """The cluster's folder; the cluster is stopped afterwards in any case."""
    path = tmp_path / "c"
    yield path
    subprocess.run([ROOT / "tools/cluster", "stop", path], check=False, timeout=200, capture_output=True)


@pytest.mark.parametrize("page", ["galera.md", "replicas.md", "spider.md"])
def test_a_pages_commands_work(folder, page):
    script = "".join(f"{commands}\necho '---'\n" for commands, _ in steps(page))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={**os.environ, "DIR": str(folder)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr)
    wanted = "".join(f"{printed}---\n" for _, printed in steps(page))
    assert (done.stdout, done.returncode) == (wanted, 0), done.stderr
    assert not any("PID=1" in line for line in told(folder)), "a server still runs"


def told(folder):
    done = subprocess.run(
        [ROOT / "tools/cluster", "env", folder], capture_output=True, text=True, check=True, timeout=60
    )
    return [re.sub(r"^PID=\d+", "PID=1", line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "words", [["start"], ["start", "{}", "ring"], ["start", "{}", "galera", "--nodes", "1"], ["stop", "{}", "more"]]
)
def test_wrong_usage(folder, words):
    done = subprocess.run(
        [ROOT / "tools/cluster", *(word.format(folder) for word in words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "tools/cluster start DIR galera" in done.stderr
    shutil.rmtree(folder, ignore_errors=True)


def test_there_is_nothing_to_stop(folder):
    done = subprocess.run(
        [ROOT / "tools/cluster", "stop", folder], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, f"tools/cluster: there is no cluster in {folder}\n")
