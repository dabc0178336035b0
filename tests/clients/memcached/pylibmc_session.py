"""A session of pylibmc, which wraps libmemcached: `python3 pylibmc_session.py PORT text|binary [USER PASSWORD]`.

Prints the client's results, one line for each step; they are the same in both protocols.
"""
import sys

import pylibmc

ANY_BYTES = bytes(range(256)) * 4
LARGE = b"0123456789abcdef" * 32_000
port, protocol = sys.argv[1:3]
login = dict(zip(("username", "password"), sys.argv[3:5]))


def connect(**changes):
    return pylibmc.Client(
        [f"127.0.0.1:{port}"],
        binary=protocol == "binary",
        behaviors={"cas": True, "tcp_nodelay": True},
        **{**login, **changes},
    )


def step(name, call, *arguments, **named):
    try:
        told = call(*arguments, **named)
    except pylibmc.Error as error:
        told = type(error).__name__
    print(f"{name}: {told!r}")
    return told


def replaced(key, value):
    """Returns false for a miss, which the client reports as false in one protocol and by an exception in the other."""
    try:
        return client.replace(key, value)
    except pylibmc.NotFound:
        return False


if login:
    step("a wrong password", lambda: connect(password="wrong").get("k"))
client = connect()
step("flush", client.flush_all)
step("get of nothing", client.get, "k")
step("set", client.set, "k", "one")
step("get", client.get, "k")
step("add over it", client.add, "k", "two")
step("add", client.add, "added", "two")
step("replace", client.replace, "k", "three")
step("replace nothing", replaced, "nothing", "x")
step("append", client.append, "k", ">")
step("prepend", client.prepend, "k", "<")
step("append to nothing", client.append, "nothing", "x")
value, cas = client.gets("k")
print(f"gets: {value!r}")
step("cas", client.cas, "k", "four", cas)
step("cas again", client.cas, "k", "five", cas)
step("get after cas", client.get, "k")
step("incr nothing", client.incr, "n", 1)
step("set a number", client.set, "n", 10)
step("incr", client.incr, "n", 89)
step("incr to more digits", client.incr, "n", 1)
step("decr", client.decr, "n", 1)
step("decr below zero", client.decr, "n", 1_000)
step("touch", client.touch, "k", 100)
step("touch nothing", client.touch, "nothing", 100)
step("delete", client.delete, "added")
step("delete nothing", client.delete, "added")
step("set many", client.set_multi, {f"m{i}": f"value {i}" for i in range(5)})
step("get many", lambda: sorted(client.get_multi(["m0", "m3", "nothing", "m4"]).items()))
step("add many", client.add_multi, {"m0": "x", "m9": "value 9"})
step("incr many", client.incr_multi, ["n"], delta=5)
step("delete many", client.delete_multi, ["m0", "m1"])
step("get many of what is left", lambda: sorted(client.get_multi([f"m{i}" for i in range(10)]).items()))
step("set any object", client.set, "object", {"a": [1, None, "é"]})
step("get any object", client.get, "object")
step("set any bytes", client.set, "bytes", ANY_BYTES)
step("get any bytes", lambda: client.get("bytes") == ANY_BYTES)
step("set nothing at all", client.set, "empty", b"")
step("get nothing at all", client.get, "empty")
step("set much", client.set, "large", LARGE)
step("get much", lambda: client.get("large") == LARGE)
step("set the longest key", client.set, "k" * 250, "x")
step("get the longest key", client.get, "k" * 250)
step("set what stays", client.set, "left", "by pylibmc")
client.disconnect_all()
