"""memcached's own test suite, run against the door, with the items in a table and in memory.

The tests are fetched unchanged; memcached/RunningServer.pm runs them against a running server. With
POSTERN_TEST_ORIGINAL=1 they run against Debian's memcached, which is not started with their options and therefore
differs, too. LEFT_OUT lists the files that are not run, with reasons, and DIFFERS the checks that fail: exactly those,
so that a new difference, or one that has gone, fails the test.
"""
import os
import re
import shutil
import subprocess

import pytest
from support.items import ORIGINAL_OR_STORES, items_door
from support.server import ROOT

HERE = ROOT / "tests" / "clients" / "memcached"
TEST_SECONDS = 120
UNFINISHED = -1
FAILED = re.compile(r"^not ok (\d+)", re.MULTILINE)
DONE = re.compile(r"^(?:not )?ok (\d+)", re.MULTILINE)
PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)

RUN = [
    "binary",
    "binary-get",
    "bogus-commands",
    "cas",
    "expirations",
    "flags",
    "flush-all",
    "getandtouch",
    "incrdecr",
    "issue_104",
    "issue_108",
    "issue_152",
    "issue_192",
    "issue_3",
    "issue_61",
    "issue_68",
    "issue_70",
    "malicious-commands",
    "metaget",
    "multiversioning",
    "noreply",
    "quit",
    "stats",
    "stats-detail",
    "strtol-testing",
    "touch",
]
SLEEPERS = {"binary", "expirations", "flush-all", "getandtouch", "touch"}  # run once, with items in a table
LEFT_OUT = {
    "of the program: its options, sockets, processes and files": "00-startup conn-limits daemonize dash-M idle-timeout issue_67 item_size_max line-lengths maxconns misbehave restart "
    "shutdown stats-conns udp unixsocket whitespace",
    "of its memory: slabs, evictions, the LRU's crawler and maintainer": "64bit chunked-items dyn-maxbytes evictions issue_14 issue_163 issue_183 issue_22 issue_29 issue_41 issue_42 issue_50 "
    "lru lru-crawler lru-maintainer slabhang slabs-reassign-chunked slabs-reassign2 "
    "slabs_reassign",
    "of its external storage": "binary-extstore chunked-extstore error-extstore extstore extstore-buckets extstore-jbod",
    "of its proxy": "proxy",
    "of its own accounts and TLS; ours are the database's": "ascii-auth binary-sasl ssl_cert_refresh ssl_ports ssl_proto_version ssl_session_resumption ssl_settings "
    "ssl_verify_modes",
    "of its log, which watchers read": "watcher watcher_connid",
    "skipped by itself, everywhere": "issue_140 issue_260 refhang",
    "38,000 checks of values of every size up to 1 MiB, which other tests store": "getset",
}
# src/memcached/grammar.md and docs/memcached.md explain all of them.
DIFFERS = {
    # Delays, and the program's options -F and -C. Items stored in the second of a flush, which -C drops, survive here.
    "flush-all": dict.fromkeys(ORIGINAL_OR_STORES, {11, 14, 17, 25, 26, 27}),
    "issue_61": dict.fromkeys(ORIGINAL_OR_STORES, {7}),  # counts the turns in which a connection yielded
    # Flags for facts that a row does not record: last access, hits, stale items and the client that may refill them.
    "metaget": dict.fromkeys(
        ORIGINAL_OR_STORES,
        {*range(59, 90), *range(100, 128), 141}
        - {61, 65, 71, 77, 80, 86, 104, 109, 111, 112, 113, 115, 116, 120, 121, 122, 126},
    ),
    # Line counts, bytes since the start, a dump of keys, get_flushed, the option -I; rows have no count. Counts of
    # items in memory survive a reset, and expired ones are not counted separately.
    "stats": {
        "innodb_only": {1, 11, 27, 28, 32, 111, 112, 113},
        "cache_only": {1, 2, 3, 4, 11, 27, 28, 32, 102, 106, 111, 112, 113},
    },
}


@pytest.fixture(scope="module")
def server(module_factory):
    """A server with memcached's own defaults, and enough memory for all items of the suite."""
    return module_factory(
        "--loose-memcached-max-value-bytes=1M",
        "--loose-memcached-max-connections=1024",
        "--loose-memcached-cache-bytes=512M",
    )


@pytest.fixture(scope="module")
def suite(fetched, tmp_path_factory):
    """A copy of the folder that contains t/."""
    own = tmp_path_factory.mktemp("suite")
    shutil.copytree(fetched("memcached-suite") / "memcached-suite" / "t", own / "t")
    return own


def failed_checks(name, suite, port):
    """The numbers of the failed checks, with UNFINISHED if some did not run, and the output."""
    done = subprocess.run(
        ["perl", "-I", HERE, "-MRunningServer", f"t/{name}.t"],
        cwd=suite,
        capture_output=True,
        text=True,
        env={**os.environ, "PORT": str(port)},
        errors="replace",
        check=False,
        timeout=TEST_SECONDS,
    )
    planned = PLAN.search(done.stdout)
    complete = planned and len(DONE.findall(done.stdout)) == int(planned[1])
    return {int(number) for number in FAILED.findall(done.stdout)} | (set() if complete else {UNFINISHED}), done.stderr


def test_every_file_is_run_or_left_out_for_a_reason(suite):
    there = {path.stem for path in (suite / "t").glob("*.t")}
    left_out = " ".join(LEFT_OUT.values()).split()
    assert sorted(RUN + left_out) == sorted(there)
    assert set(DIFFERS) <= set(RUN)


@pytest.mark.parametrize("store", ORIGINAL_OR_STORES)
def test_suite(request, suite, store):
    request.param = store
    with items_door(request) as port:
        wrong = {}
        for name in sorted(set(RUN) - (SLEEPERS if store == "cache_only" else set())):
            failed, told = failed_checks(name, suite, port)
            if failed != DIFFERS.get(name, {}).get(store, set()):
                wrong[name] = f"{name}: {sorted(failed)}\n{told[-3000:]}"
    assert not wrong, "\n".join(wrong.values())
