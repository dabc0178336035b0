"""Redis's own test suite, run against the door: the files about the door's commands.

The tests are those of Debian's source package; redis/external.tcl runs them against a server without settings for
memory layouts. With POSTERN_TEST_ORIGINAL=1 they run against Debian's redis-server. LEFT_OUT lists the files that are
not run, with reasons, and DIFFERS the tests that fail: exactly those, so that a new difference, or one that has gone,
fails the test. A test that stops at a command that the door does not have needs no mention.
"""
import os
import re
import shutil
import subprocess

import pytest
from support.clients.resp import Client
from support.server import ORIGINAL, ROOT

HERE = ROOT / "tests" / "clients" / "redis"
# The files make tens of thousands of writes, one after another, which need no flush each. Some tests have two clients
# whose order matters, so one worker serves all.
SERVER_OPTIONS = ("--innodb-flush-log-at-trx-commit=0", "--redis-threads=1")
FILE_SECONDS = 280
# The suite looks for a free port from here on; another run's suite starts elsewhere.
BASE_PORT = 21111 + 40 * (os.getpid() % 200)
TOLD = re.compile(
    r"^\[(ok|err|exception)\]: (.*?)(?: in tests/unit/\S+\.tcl)?(?: \(\d+ ms\))?$((?:\n(?!\[).*)*)", re.MULTILINE
)
UNKNOWN = re.compile(r"n (sub)?command '([^']+)'")
# Tags of the suite: tests that inspect the program, load scripts, or fill gigabytes.
TAGS = "-needs:debug -needs:repl -needs:config-maxmemory -needs:save -needs:config-resetstat -large-memory"
# Files whose slow tests run, too; no other file may have slow tests.
SLOW_TOO = {"type/list-2"}

SKIPPED = {
    # Tests that differ from the ones that run only in Redis's encoding of a list or sorted set in memory: in its
    # compression depth or its type. They are the same for the door.
    "type/list-2": ["--skiptest", "/LTRIM stress testing - ziplist"],
    "type/list-3": ["--skiptest", "/Stress tester for #3343-alike bugs comp: [12]"],
    "type/zset": ["--skiptest", "/ZDIFF fuzzing - listpack"],
    # They would wait forever for notifications that the door does not send.
    "pubsub": ["--skiptest", "/Keyspace notifications: (new key|stream events) test"],
    # They take a minute each; test_redis_like_redis.py compares the strings byte for byte.
    "hyperloglog": ["--skiptest", "/Fuzzing dense/sparse encoding|PFCOUNT multiple-keys merge"],
    # The door never answers BUSY, see DIFFERS, and these tests run scripts for ever, until the time limit ends each.
    # test_redis_scripts.py has that limit, SCRIPT KILL, and commands of others meanwhile.
    "scripting": ["--skiptest", "/^Timedout (read-only scripts can be killed|script does not cause)"],
    # These tests leave functions running while others expect it.
    "functions": [
        "--skiptest",
        "/^FUNCTION - test (function kill( not working on eval)?|script kill not working on function)$",
    ],
}

# (what, instead, how often it is there): repetitions that would take minutes of Tcl and of round trips one after another.
SHORTER = {
    # Each try examines thousands of points: 14 tries of circles, because the first thirteen seeds once failed, and 3 of boxes.
    "geo": [
        (
            "{[incr attempt -1]} {\n            set rv",
            "{[incr attempt [dict get {byradius -2 bybox -8} $type]] > 0} {\n            set rv",
            1,
        )
    ],
    # Each round fills a set anew, for Redis to make its hash table smaller amid the walk.
    "scan": [("{set k 0} {$k < 100}", "{set k 0} {$k < 20}", 1)],
    # A script of as many commands, which is the slow event that the tests look for.
    "latency-monitor": [("{set count 1000000}", "{set count 50000}", 1)],
    # Three commands for each element of a list and of a set.
    "sort": [("10000 lpush", "2000 lpush", 1), ("10000 sadd", "2000 sadd", 1)],
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
# They set options that external.tcl forbids; Redis itself fails them there, too.
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
    # A read writes nothing, and so does not cache an estimate.
    "hyperloglog": {"PFADD / PFCOUNT cache invalidation works"},
    # They look for settings that the door does not have.
    "introspection": {"CONFIG GET hidden configs", "CONFIG GET multiple args"},
    # Rows do not record when they were read. The other test looks for a missing command.
    "introspection-2": {
        "TTL, TYPE and EXISTS do not alter the last access time of a key",
        "COMMAND LIST FILTERBY PATTERN - list all commands/subcommands",
        "MIGRATE command is marked with movablekeys",
    },
    # A script blocks nobody, so the door never answers BUSY; and external.tcl sets no options.
    "multi": {
        "EXEC and script timeout",
        "just EXEC and script timeout",
        "MULTI and script timeout",
        "MULTI-EXEC body and script timeout",
        "MULTI with config error",
    },
    "scripting": {
        # All idle interpreters count, and a function library is not part of one.
        "EVAL does not leak in the Lua stack",
        # There is no cluster, so every cluster command fails.
        "CLUSTER RESET can not be invoke from within a script",
        # ACL SETUSER is refused: the server manages accounts.
        "Script ACL check",
        # The metatable of the globals is hidden.
        "Try trick global protection 2",
    },
    "other": {"RESET clears authenticated state"},  # needs ACL SETUSER, like scripting
    # The door does not count changes since the last save.
    "bitops": {"SETBIT/BITFIELD only increase dirty when the value changed"},
    # Expiry sends no event of its own.
    "latency-monitor": {"LATENCY of expire events are correctly collected"},
    # A blocking command that had to wait is not logged.
    "slowlog": {"SLOWLOG - Rewritten commands are logged as their original command"},
    # MAXLEN ~ removes a hundred entries at a time; Redis a node of up to a hundred.
    "type/stream": {"XTRIM with MAXLEN option basic test"},
    # Failed calls are not counted.
    "type/stream-cgroups": {"XGROUP DESTROY should unblock XREADGROUP with -NOGROUP"},
    "type/zset": {"zset score double range"},  # inf is stored as the largest DOUBLE
    # Fields are ordered by name.
    "type/hash": {"Hash ziplist of various encodings", "Hash ziplist of various encodings - sanitize dump"},
}


# They fail at times on a busy machine: a killed client is counted until its worker has closed the connection, and a
# script that packs 100,000 elements takes longer than redis_script_time_limit, because long scripts have a low
# priority.
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
    for name, changes in SHORTER.items():
        path = own / "tests" / "unit" / f"{name}.tcl"
        text = path.read_text()
        for whole, shorter, times in changes:
            assert text.count(whole) == times, (name, whole)
            text = text.replace(whole, shorter)
        path.write_text(text)
    return own


def is_absent(port, why):
    """Whether a test stopped at a command that the door does not have."""
    unknown = UNKNOWN.search(why)
    if unknown is None or ORIGINAL:
        return False
    with Client(port) as client:
        known = {name.decode() for name in client.ask("COMMAND", "LIST")}
    return bool(unknown[1]) or unknown[2].lower() not in known


def outcomes(suite, port, name):
    """The names of the passed tests, the names of the failed tests, and the whole output."""
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
