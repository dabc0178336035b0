"""A session of python-binary-memcached: `python3 bmemcached_session.py MODULES PORT [USER PASSWORD]`.

Prints the client's results, one line for each step.
"""
import sys

sys.path.insert(0, sys.argv[1])
import bmemcached  # noqa: E402
from bmemcached.exceptions import MemcachedException  # noqa: E402

ANY_BYTES = bytes(range(256)) * 4
LARGE = b"0123456789abcdef" * 32_000


def step(name, call, *arguments, **named):
    try:
        told = call(*arguments, **named)
    except MemcachedException as error:
        told = f"{type(error).__name__} {error}"
    print(f"{name}: {told!r}")
    return told


address = f"127.0.0.1:{sys.argv[2]}"
user, password = sys.argv[3:5] if len(sys.argv) > 4 else (None, None)
if user is not None:
    step("a wrong password", bmemcached.Client(address, user, password + "x").get, "k")
client = bmemcached.Client(address, user, password, socket_timeout=60)
step("flush", client.flush_all)
step("get of nothing", client.get, "k")
step("set", client.set, "k", "one")
step("get", client.get, "k")
step("add over it", client.add, "k", "two")
step("add", client.add, "added", "two")
step("replace", client.replace, "k", "three")
step("replace nothing", client.replace, "nothing", "x")
value, cas = client.gets("k")
print(f"gets: {value!r}")
step("cas", client.cas, "k", "four", cas)
step("cas again", client.cas, "k", "five", cas)
step("get after cas", client.get, "k")
step("incr makes it", client.incr, "n", 1, default=10)
step("incr", client.incr, "n", 90)
step("decr", client.decr, "n", 1)
step("decr below zero", client.decr, "n", 1_000)
step("incr a word", client.incr, "k", 1)
step("delete", client.delete, "added")
step("delete nothing", client.delete, "added")
step("delete with a stale cas", client.delete, "k", cas=cas)
step("set many", client.set_multi, {f"m{i}": f"value {i}" for i in range(5)})
step("get many", lambda: sorted(client.get_multi(["m0", "m3", "nothing", "m4"]).items()))
step(
    "get many with cas",
    lambda: sorted((key, value) for key, (value, _) in client.get_multi(["m1", "m2"], get_cas=True).items()),
)
step("delete many", client.delete_multi, ["m0", "m1"])
step("get many of what is left", lambda: sorted(client.get_multi([f"m{i}" for i in range(5)]).items()))
step("set a number", client.set, "int", 12_345)
step("get a number", client.get, "int")
step("set any object", client.set, "object", {"a": [1, None, "é"]})
step("get any object", client.get, "object")
step("set any bytes", client.set, "bytes", ANY_BYTES)
step("get any bytes", lambda: client.get("bytes") == ANY_BYTES)
step("set nothing at all", client.set, "empty", "")
step("get nothing at all", client.get, "empty")
step("set much", client.set, "large", LARGE, compress_level=0)
step("get much", lambda: client.get("large") == LARGE)
step("set much, compressed", client.set, "large", LARGE)
step("get much, compressed", lambda: client.get("large") == LARGE)
step("set the longest key", client.set, "k" * 250, "x")
step("get the longest key", client.get, "k" * 250)
step("stats", lambda: {"pid", "version", "curr_items", "cmd_get"} <= set(client.stats()[f"127.0.0.1:{sys.argv[2]}"]))
step("set what stays", client.set, "left", "by bmemcached")
client.disconnect_all()
