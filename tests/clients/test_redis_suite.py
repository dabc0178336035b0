"""Redis's own test suite, run against the door: the files about the door's commands.

The tests are those of Debian's source package, which redis/external.tcl lets ask a server that tunes nothing in memory.
With POSTERN_TEST_ORIGINAL=1 they ask Debian's redis-server. LEFT_OUT says which files are not run and why, DIFFERS which of those that are come out otherwise:
exactly those, so that nothing more differs unseen and nothing stays here that no longer does. A test that ends at a
command which the door does not have differs for that reason, and needs no mention.
"""
import os
import re
import shutil
import subprocess

import pytest
from support.resp import Client
from support.server import ORIGINAL, ROOT

HERE = ROOT / "tests" / "clients" / "redis"
# The files have tens of thousands of writes, one after the other, which need no flush for each. Where two clients ask
# at once, and one has to be the first, one worker does all.
SERVER_OPTIONS = ("--innodb-flush-log-at-trx-commit=0", "--redis-threads=1")
FILE_SECONDS = 280
# The suite looks for a port from here on, and does not see one of another run's.
BASE_PORT = 21111 + 40 * (os.getpid() % 200)
TOLD = re.compile(
    r"^\[(ok|err|exception)\]: (.*?)(?: in tests/unit/\S+\.tcl)?(?: \(\d+ ms\))?$((?:\n(?!\[).*)*)", re.MULTILINE
)
UNKNOWN = re.compile(r"n (sub)?command '([^']+)'")
# Tags of the suite: tests that look into the program, load scripts, or fill gigabytes.
TAGS = "-needs:debug -needs:repl -needs:config-maxmemory -needs:save -needs:config-resetstat -large-memory"
# Files with slow tests that run, too; there may be no others.
SLOW_TOO = {"type/list-2"}

SKIPPED = {
    # They differ in how Redis has a list in memory, or a sorted set, and are the same for the door as the ones that run:
    # in the depth of its compression, and in its encoding.
    "type/list-2": ["--skiptest", "/LTRIM stress testing - ziplist"],
    "type/list-3": ["--skiptest", "/Stress tester for #3343-alike bugs comp: [12]"],
    "type/zset": ["--skiptest", "/ZDIFF fuzzing - listpack"],
    # They would wait for ever for notifications that the door does not send.
    "pubsub": ["--skiptest", "/Keyspace notifications: (new key|stream events) test"],
    # A minute each; test_redis_like_redis.py compares the strings byte for byte.
    "hyperloglog": ["--skiptest", "/Fuzzing dense/sparse encoding|PFCOUNT multiple-keys merge"],
    # Nobody is answered BUSY, as in DIFFERS, and they leave functions that run while others ask what does.
    "functions": [
        "--skiptest",
        "/^FUNCTION - test (function kill( not working on eval)?|script kill not working on function)$",
    ],
}

RUN = [
    "bitfield",
    "bitops",
    "dump",
    "expire",
    "functions",
    "geo",
    "hyperloglog",
    "introspection",
    "introspection-2",
    "keyspace",
    "latency-monitor",
    "multi",
    "other",
    "protocol",
    "pubsub",
    "quit",
    "scan",
    "scripting",
    "slowlog",
    "sort",
    "type/hash",
    "type/incr",
    "type/list",
    "type/list-2",
    "type/list-3",
    "type/set",
    "type/stream",
    "type/stream-cgroups",
    "type/string",
    "type/zset",
]
LEFT_OUT = {
    "all of it asks only a server that the suite itself has started": "acl acl-v2 aofrw auth client-eviction cluster "
    "cluster-scripting cluster/announced-endpoints cluster/links cluster/misc info limits maxmemory memefficiency "
    "networking obuf-limits oom-score-adj pubsubshard pendingquerybuf printver querybuf replybufsize shutdown tls wait",
    "of what the door does not have": "pause tracking violations",
    "of Redis's own counts, of memory and calls": "info-command lazyfree",
}
# They set options that external.tcl forbids, and Redis itself answers otherwise there, too.
SETTING = {
    "introspection": {
        "CONFIG SET duplicate configs",
        "CONFIG SET rollback on apply error",
        "CONFIG SET rollback on set error",
        "CONFIG SET set immutable",
        "CONFIG SET with multiple args",
    },
    "scripting": {
        "Consistent eval error reporting",
        "not enough good replicas",
        "reject script do not cause a Lua stack leak",
    },
    "type/stream": {"XADD with LIMIT consecutive calls", "XTRIM with LIMIT delete entries no more than limit"},
}
DIFFERS = {
    # A read writes nothing, and so keeps no estimate.
    "hyperloglog": {"PFADD / PFCOUNT cache invalidation works"},
    # They look for settings that the door does not have.
    "introspection": {"CONFIG GET hidden configs", "CONFIG GET multiple args"},
    # Rows do not say when they were read. The other looks for a command that is not there.
    "introspection-2": {
        "TTL, TYPE and EXISTS do not alter the last access time of a key",
        "COMMAND LIST FILTERBY PATTERN - list all commands/subcommands",
        "MIGRATE command is marked with movablekeys",
    },
    # A script keeps nobody waiting, so that nobody is answered BUSY, and external.tcl sets nothing.
    "multi": {
        "EXEC and script timeout",
        "just EXEC and script timeout",
        "MULTI and script timeout",
        "MULTI-EXEC body and script timeout",
        "MULTI with config error",
    },
    "scripting": {
        # Nor here.
        "Timedout read-only scripts can be killed by SCRIPT KILL",
        "Timedout read-only scripts can be killed by SCRIPT KILL even when use pcall",
        "Timedout script does not cause a false dead client",
        # All interpreters that rest count, and a library of functions is no part of one.
        "EVAL does not leak in the Lua stack",
        # There is no cluster, whatever is asked of it.
        "CLUSTER RESET can not be invoke from within a script",
        # ACL SETUSER is refused: accounts are the server's.
        "Script ACL check",
        # The metatable of the globals is not shown.
        "Try trick global protection 2",
    },
    "other": {"RESET clears authenticated state"},  # ACL SETUSER, as in scripting
    # Nothing counts changes since the last save.
    "bitops": {"SETBIT/BITFIELD only increase dirty when the value changed"},
    # Of another server it keeps no connections, and expiry is no event of its own.
    "dump": {"MIGRATE cached connections are released after some time"},
    "latency-monitor": {"LATENCY of expire events are correctly collected"},
    # A command that had to wait for elements is not logged.
    "slowlog": {"SLOWLOG - Rewritten commands are logged as their original command"},
    # MAXLEN ~ takes a hundred entries at a time, Redis a node of up to a hundred.
    "type/stream": {"XTRIM with MAXLEN option basic test"},
    # Calls that failed are not counted.
    "type/stream-cgroups": {"XGROUP DESTROY should unblock XREADGROUP with -NOGROUP"},
    "type/zset": {"zset score double range"},  # the largest number of a DOUBLE stands for inf
    # Fields come in the order of their names.
    "type/hash": {"Hash ziplist of various encodings", "Hash ziplist of various encodings - sanitize dump"},
}


# On a busy machine: a client that was killed is counted until its worker has closed the connection, and a script that
# packs 100,000 elements takes longer than redis_script_time_limit, as lasting scripts have a low priority.
SOMETIMES = {
    "introspection": {"CLIENT KILL SKIPME YES/NO will kill all clients"},
    "scripting": {"EVAL - cmsgpack pack/unpack smoke test"},
}


@pytest.fixture(scope="module")
def suite(fetched, tmp_path_factory):
    own = tmp_path_factory.mktemp("suite")
    shutil.copytree(fetched("redis-suite") / "redis-suite" / "tests", own / "tests")
    helper = own / "tests" / "test_helper.tcl"
    begin = "source tests/support/util.tcl\n"
    text = helper.read_text()
    assert text.count(begin) == 1
    helper.write_text(text.replace(begin, f"{begin}source {HERE / 'external.tcl'}\n"))
    # Most of the time of such a try is Tcl's, which looks at thousands of points. The first thirteen are those that once
    # found something.
    points = own / "tests" / "unit" / "geo.tcl"
    text = points.read_text()
    assert text.count("{ set attempt 30 }") == 2
    points.write_text(text.replace("{ set attempt 30 }", "{ set attempt 14 }"))
    return own


def is_absent(port, why):
    """Whether a test ended at a command that the door does not have."""
    unknown = UNKNOWN.search(why)
    if unknown is None or ORIGINAL:
        return False
    with Client(port) as client:
        known = {name.decode() for name in client.ask("COMMAND", "LIST")}
    return bool(unknown[1]) or unknown[2].lower() not in known


def outcomes(suite, port, name):
    """The names of the tests that passed, and of those that did not, and the whole output."""
    tags = TAGS if name in SLOW_TOO else f"{TAGS} -slow"
    done = subprocess.run(
        ["tclsh", "tests/test_helper.tcl", "--host", "127.0.0.1", "--port", str(port), "--singledb"]
        + ["--ignore-encoding", "--durable", "--single", f"unit/{name}", "--tags", tags, *SKIPPED.get(name, ())]
        + ["--baseport", str(BASE_PORT)],
        cwd=suite,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=FILE_SECONDS,
    )
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    told = TOLD.findall(said)
    passed = {test for outcome, test, _ in told if outcome == "ok"}
    failed = {test for outcome, test, why in told if outcome != "ok" and not is_absent(port, why)}
    assert "Testing" in said and passed | failed, said[-3000:]
    return passed, failed, said


def test_every_file_is_run_or_left_out_for_a_reason(suite):
    unit = suite / "tests" / "unit"
    there = {
        str(path.relative_to(unit).with_suffix("")) for path in unit.rglob("*.tcl") if "moduleapi" not in path.parts
    }
    left_out = " ".join(LEFT_OUT.values()).split()
    assert sorted(RUN + left_out) == sorted(there - {"type/list-common"})
    assert set(DIFFERS) <= set(RUN)


@pytest.mark.parametrize("name", RUN)
def test_suite(suite, redis_port, name):
    passed, failed, said = outcomes(suite, redis_port, name)
    expected = set(SETTING.get(name, ())) | (set() if ORIGINAL else set(DIFFERS.get(name, ())))
    wrong = sorted((failed ^ expected) - SOMETIMES.get(name, set()))
    assert not wrong, f"{wrong}\n{said[-6000:]}"
    assert passed
