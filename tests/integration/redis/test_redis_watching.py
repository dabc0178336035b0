"""CONFIG SET, SLOWLOG, LATENCY and ACL: a client sees and changes no more of the door than its rights allow."""
import re

import pytest
from support.clients.resp import Error
from support.waiting import until


@pytest.fixture(scope="module")
def with_accounts(module_factory):
    server = module_factory("--redis-auth=account", redis=True)
    for name in ("ann", "bob"):
        server.query(f"CREATE USER {name}@'%' IDENTIFIED BY 'secret'")
        server.query(f"GRANT ALL ON postern_redis.* TO {name}@'%'")
    yield server
    server.assert_alive()


def test_settings_that_are_the_servers_stay(server, original):
    with server.resp() as client, original.client() as theirs:
        for words in (("maxmemory", "0"), ("save", ""), ("appendonly", "yes"), ("MaxMemory-Policy", "noeviction")):
            assert client.ask("CONFIG", "SET", *words) == "OK"
        for words in (
            ("maxmemory", "100mb"),
            ("port", "1"),
            ("appendonly", "no"),
            ("slowlog-max-len", "1", "maxmemory", "1"),
        ):
            assert "can't set immutable config" in client.error("CONFIG", "SET", *words)
        for words in (("nosuch", "1"), ("slowlog-max-len", "5", "nosuch", "1"), ("slowlog-max-len",)):
            assert client.ask_raw("CONFIG", "SET", *words) == theirs.ask_raw("CONFIG", "SET", *words)
        twice = ("slowlog-max-len", "5", "slowlog-max-len", "6")
        assert client.ask_raw("CONFIG", "SET", *twice) == theirs.ask_raw("CONFIG", "SET", *twice)
        assert client.ask("CONFIG", "GET", "slowlog-max-len") == [b"slowlog-max-len", b"128"]
        assert "parsed into an integer" in client.error(
            "CONFIG", "SET", "slowlog-max-len", "5", "slowlog-log-slower-than", "x"
        )
        assert client.ask("CONFIG", "GET", "slowlog-max-len") == [b"slowlog-max-len", b"128"]
        assert client.ask_raw("CONFIG", "REWRITE") == theirs.ask_raw("CONFIG", "REWRITE")


def test_slow_commands_are_listed(server, original):
    long = "x" * 200
    with server.resp() as client, original.client() as theirs:
        told = []
        for one in (client, theirs):
            one.ask("CONFIG", "SET", "slowlog-log-slower-than", "0")
            one.ask("SLOWLOG", "RESET")
            one.ask("CLIENT", "SETNAME", "slow")
            one.ask("SET", "k", long)
            one.ask("SADD", "s", *range(40))
            one.ask_raw("GET")
            assert one.ask("SLOWLOG", "LEN") == 4
            one.ask("CONFIG", "SET", "slowlog-log-slower-than", "-1")
            entries = one.ask("SLOWLOG", "GET", "-1")
            assert [entry[0] for entry in entries] == sorted((entry[0] for entry in entries), reverse=True)
            told.append([(entry[3], re.sub(rb":\d+$", b"", entry[4]), entry[5]) for entry in entries])
            assert all(entry[2] >= 0 and entry[1] > 1_700_000_000 for entry in entries)
            assert len(one.ask("SLOWLOG", "GET", "2")) == 2
            one.ask("SLOWLOG", "GET")
            assert one.ask("SLOWLOG", "RESET") == "OK"
            assert one.ask("SLOWLOG", "GET") == []
        ours, theirs_told = told
        assert (
            ours == [entry for entry in theirs_told if entry[0][0] != b"config" or b"-1" in entry[0]]
            or ours == theirs_told
        )


def test_the_log_has_an_end(server):
    with server.resp() as client:
        client.ask("CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "3")
        for i in range(10):
            client.ask("SET", "k", i)
        assert client.ask("SLOWLOG", "LEN") == 3
        client.ask("CONFIG", "SET", "slowlog-log-slower-than", "10000", "slowlog-max-len", "128")
        client.ask("SLOWLOG", "RESET")


def test_a_log_is_the_accounts_own(with_accounts):
    """A client cannot make the door log more of other accounts' commands."""
    with with_accounts.resp() as ann, with_accounts.resp() as bob:
        for client, name in ((ann, "ann"), (bob, "bob")):
            assert client.ask("AUTH", name, "secret") == "OK"
        assert ann.error("CONFIG", "SET", "slowlog-log-slower-than", "0").startswith("NOPERM")
        assert ann.error("CONFIG", "SET", "notify-keyspace-events", "KEA").startswith("NOPERM")
        # This command is slow by itself.
        ann.ask("EVAL", "local n = 0 while n < 3000000 do n = n + 1 end return n", "0")
        until(lambda: ann.ask("SLOWLOG", "LEN") >= 1)
        assert any(entry[3][0] == b"EVAL" for entry in ann.ask("SLOWLOG", "GET", "-1"))
        assert not any(entry[3][0] == b"EVAL" for entry in bob.ask("SLOWLOG", "GET", "-1"))
        assert not any(b"secret" in entry[3] for client in (ann, bob) for entry in client.ask("SLOWLOG", "GET", "-1"))
        bob.ask("SLOWLOG", "RESET")
        assert ann.ask("SLOWLOG", "LEN") >= 1
        assert (ann.ask("ACL", "WHOAMI"), bob.ask("ACL", "WHOAMI")) == (b"ann", b"bob")
        assert ann.ask("ACL", "USERS") == [b"ann"]
        assert ann.ask("ACL", "GETUSER", "bob") is None
        assert b"nopass" not in ann.ask("ACL", "LIST")[0]


def test_latency(server):
    with server.resp() as client:
        client.ask("CONFIG", "RESETSTAT")
        for _ in range(5):
            client.ask("SET", "k", "1")
        told = client.ask("LATENCY", "HISTOGRAM", "set", "nosuch")
        assert told[0] == b"set" and told[1][:3] == [b"calls", 5, b"histogram_usec"]
        bounds = told[1][3]
        assert bounds[1::2] == sorted(bounds[1::2]) and bounds[-1] == 5
        assert bounds[::2] == sorted(bounds[::2])
        client.ask("CONFIG", "GET", "save")
        assert client.ask("LATENCY", "HISTOGRAM", "config")[0] == b"config|get"
        assert b"set" in client.ask("LATENCY", "HISTOGRAM")[::2]
        assert client.ask("LATENCY", "LATEST") == []
        client.ask("CONFIG", "SET", "latency-monitor-threshold", "1")
        client.ask("EVAL", "local n = 0 while n < 3000000 do n = n + 1 end return n", "0")
        until(lambda: client.ask("LATENCY", "LATEST"))
        (event, when, latest, worst), *_ = client.ask("LATENCY", "LATEST")
        assert event == b"command" and worst >= latest >= 1 and when > 1_700_000_000
        assert client.ask("LATENCY", "HISTORY", "command")[-1][1] <= worst
        assert client.ask("LATENCY", "HISTORY", "nosuch") == []
        assert b"command" in client.ask("LATENCY", "DOCTOR")
        client.ask("CONFIG", "SET", "latency-monitor-threshold", "0")
        assert client.ask("LATENCY", "RESET", "nosuch") == 0
        assert client.ask("LATENCY", "RESET") >= 1
        assert client.ask("LATENCY", "LATEST") == []


def test_categories(server, original):
    with server.resp() as client, original.client() as theirs:
        assert client.ask("ACL", "CAT") == theirs.ask("ACL", "CAT")
        known = set(client.ask("COMMAND", "LIST"))
        for category in client.ask("ACL", "CAT"):
            ours, expected = (set(one.ask("ACL", "CAT", category)) for one in (client, theirs))
            assert ours - {b"client|no-touch", b"client|setinfo"} == expected & known, category
        for words in (("ACL", "CAT", "nosuch"), ("ACL", "WHOAMI"), ("ACL", "USERS"), ("ACL", "GETUSER", "nobody")):
            assert client.ask_raw(*words) == theirs.ask_raw(*words), words
        assert client.ask("ACL", "LIST") == theirs.ask("ACL", "LIST")
        assert client.ask("ACL", "GETUSER", "default") == theirs.ask("ACL", "GETUSER", "default")
        assert client.ask("ACL", "LOG") == []
        for bits, letters in ((5, 2), (256, 64), (4096, 1024), (1, 1)):
            assert re.fullmatch(rb"[0-9a-f]{%d}" % letters, client.ask("ACL", "GENPASS", bits))
        for words in (("SETUSER", "x"), ("DELUSER", "x"), ("LOAD",), ("SAVE",)):
            with pytest.raises(Error, match="CREATE USER"):
                client.ask("ACL", *words)
