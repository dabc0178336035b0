"""COMMAND and INFO beside Debian's redis-server: client libraries and programs read them."""

from support.clients.resp import encode
from support.waiting import until

MISSING_COMMANDS = {
    *("asking", "bgrewriteaof", "bgsave", "debug", "failover", "migrate", "module", "move", "psync", "replconf"),
    *("replicaof", "restore-asking", "save", "shutdown", "slaveof", "swapdb", "sync"),
}
MISSING_SUBCOMMANDS = {
    *("acl|dryrun", "client|caching", "client|pause", "client|tracking", "client|trackinginfo", "client|unpause"),
}
LATER_SUBCOMMANDS = {"client|no-touch", "client|setinfo"}
# Reads are not counted by their success.
MISSING_FIELDS = {"keyspace_hits", "keyspace_misses"}


def rows(client):
    """The rows of COMMAND by name, subcommands among them, without the order of sets."""
    found = {}
    todo = list(client.ask("COMMAND"))
    while todo:
        name, arity, flags, first, last, step, categories, tips, specs, subcommands = todo.pop()
        found[name.decode()] = (arity, set(flags), first, last, step, set(categories), set(tips), specs)
        todo += subcommands
    return found


def test_commands_are_described_as_by_redis(server, original):
    with server.resp() as ours, original.client() as theirs:
        told, expected = rows(ours), rows(theirs)
    missing = {name for name in expected if name not in told and not name.startswith(("cluster|", "module|"))}
    assert missing == MISSING_COMMANDS | MISSING_SUBCOMMANDS
    assert set(told) - set(expected) == LATER_SUBCOMMANDS
    different = {
        name: (told[name], expected[name]) for name in expected if told.get(name, expected[name]) != expected[name]
    }
    assert not different


def fields(client, *sections):
    """Names of INFO's fields by section."""
    found, section = {}, None
    for line in client.ask("INFO", *sections).decode().split("\r\n"):
        if line.startswith("# "):
            section = line[2:]
            found[section] = set()
        elif line:
            found[section].add(line.split(":")[0])
    return found


def test_info_has_the_fields_of_redis(server, original):
    with server.resp() as ours, original.client() as theirs:
        for client in (ours, theirs):
            client.ask("SET", "k", "v")
        for sections in [(), ("everything",), ("all",), ("default",), ("stats", "nosuch", "CLIENTS")]:
            told, expected = fields(ours, *sections), fields(theirs, *sections)
            assert list(told) == list(expected), sections
            for section, names in expected.items():
                if section not in ("Keyspace", "Commandstats", "Latencystats"):
                    assert names - told[section] <= MISSING_FIELDS, section
        assert {"cmdstat_set", "latency_percentiles_usec_set"} <= set().union(*fields(ours, "all").values())


def test_info_has_rates(server):
    with server.resp() as client:

        def rate():
            text = client.ask("INFO", "stats").decode()
            return int(dict(line.split(":") for line in text.split("\r\n") if ":" in line)["instantaneous_ops_per_sec"])

        rate()
        client.send(b"".join(encode("GET", "k") for _ in range(5_000)))
        for _ in range(5_000):
            client.raw()
        until(lambda: rate() >= 1_000)
