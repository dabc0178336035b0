"""A session of pymemcache: `python3 pymemcache_session.py MODULES PORT`. Prints the client's results, one line for each
step."""
import sys

sys.path.insert(0, sys.argv[1])
from pymemcache.client.base import Client  # noqa: E402
from pymemcache.exceptions import MemcacheError  # noqa: E402

ANY_BYTES = bytes(range(256)) * 4
LARGE = b"0123456789abcdef" * 32_000


def step(name, call, *arguments, **named):
    try:
        told = call(*arguments, **named)
    except MemcacheError as error:
        told = f"{type(error).__name__} {error.args[0] if error.args else ''}"
    print(f"{name}: {told!r}")
    return told


client = Client(("127.0.0.1", int(sys.argv[2])), connect_timeout=10, timeout=60, no_delay=True, default_noreply=False)
step("flush", client.flush_all)
step("get of nothing", client.get, "k")
step("set", client.set, "k", "one", flags=7)
step("get", client.get, "k")
step("add over it", client.add, "k", "two")
step("add", client.add, "added", "two")
step("replace", client.replace, "k", "three")
step("replace nothing", client.replace, "nothing", "x")
step("append", client.append, "k", ">")
step("prepend", client.prepend, "k", "<")
step("append to nothing", client.append, "nothing", "x")
step("get what was joined", client.get, "k")
value, cas = client.gets("k")
print(f"gets: {value!r}")
step("cas", client.cas, "k", "four", cas)
step("cas again", client.cas, "k", "five", cas)
step("cas of nothing", client.cas, "nothing", "x", cas)
step("get after cas", client.get, "k")
step("incr nothing", client.incr, "n", 1)
step("set a number", client.set, "n", "10")
step("incr", client.incr, "n", 89)
step("incr to more digits", client.incr, "n", 1)
step("decr", client.decr, "n", 1)
step("decr below zero", client.decr, "n", 1_000)
step("set the largest", client.set, "n", str(2**64 - 1))
step("incr round the end", client.incr, "n", 2)
step("incr a word", client.incr, "k", 1)
step("touch", client.touch, "k", 100)
step("touch nothing", client.touch, "nothing", 100)
step("delete", client.delete, "added")
step("delete nothing", client.delete, "added")
step("set many", client.set_many, {f"m{i}": f"value {i}" for i in range(5)})
step("get many", client.get_many, ["m0", "m3", "nothing", "m4"])
step("gets many", lambda: {key: value for key, (value, _) in client.gets_many(["m1", "m2"]).items()})
step("delete many", client.delete_many, ["m0", "m1"])
step("get many of what is left", client.get_many, [f"m{i}" for i in range(5)])
step("set over at once", client.set, "gone", "x", expire=-1)
step("get it", client.get, "gone")
step("set a number again", client.set, "n", "41")
step("set without an answer", client.set, "quiet", "x", noreply=True)
step("incr without an answer", client.incr, "n", 1, noreply=True)
step("get what was not answered", client.get_many, ["quiet", "n"])
step("set any bytes", client.set, "bytes", ANY_BYTES)
step("get any bytes", lambda: client.get("bytes") == ANY_BYTES)
step("set nothing at all", client.set, "empty", b"")
step("get nothing at all", client.get, "empty")
step("set much", client.set, "large", LARGE)
step("get much", lambda: client.get("large") == LARGE)
step("set the longest key", client.set, "k" * 250, "x")
step("get the longest key", client.get, "k" * 250)
step("stats", lambda: {b"pid", b"version", b"curr_items", b"cmd_get"} <= set(client.stats()))
step("version", lambda: len(client.version()) > 0)
step("set what stays", client.set, "left", "by pymemcache", flags=3)
client.quit()
