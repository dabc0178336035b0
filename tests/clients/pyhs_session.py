# coding: utf-8
# A session of pyhs, in Python 2: `jython pyhs_session.py PACKAGE DATABASE READ_PORT WRITE_PORT`. Prints the client's
# results, a line a step.
import sys

sys.path.insert(0, sys.argv[1])
from pyhs import Manager  # noqa: E402
from pyhs.exceptions import OperationalError  # noqa: E402
from pyhs.sockets import WriteSocket  # noqa: E402

database, read_port, write_port = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
manager = Manager([("inet", "127.0.0.1", read_port)], [("inet", "127.0.0.1", write_port)])
columns = ["k", "v", "n"]


def step(name, call, *arguments, **options):
    try:
        told = repr(call(database, *arguments, **options))
    except OperationalError as error:
        told = "error %s" % error
    print "%s: %s" % (name, told)


def pairs(*values):
    return zip(columns, values)


step("no such table", manager.find, "nothing", "=", ["k"], ["a"])
step("no such index", manager.find, "kv", "=", columns, ["a"], index_name="nothing")
step("no such column", manager.find, "kv", "=", ["k", "nothing"], ["a"])
step("insert", manager.insert, "kv", pairs("a", "A", "1"))
step("insert NULL", manager.insert, "kv", pairs("b", None, None))
step("insert empty", manager.insert, "kv", pairs("c", "", "0"))
step("insert control bytes", manager.insert, "kv", pairs("d", "\0\1\t\n\r\x0f\x10 end", "-4"))
step("insert words of the world", manager.insert, "kv", pairs("é", "日本語", "2147483647"))
step("duplicate", manager.insert, "kv", pairs("a", "again", "9"))
step("insert, generated", manager.insert, "counted", [("v", "one")])

step("get", manager.get, "kv", columns, "a")
step("get none", manager.get, "kv", columns, "nobody")
step("find NULL", manager.find, "kv", "=", columns, ["b"])
step("find control bytes", manager.find, "kv", "=", columns, ["d"])
step("find words of the world", manager.find, "kv", "=", columns, ["é"])
step("range", manager.find, "kv", ">=", columns, ["a"], limit=3)
step("range with offset", manager.find, "kv", ">", columns, ["a"], limit=2, offset=1)
step("range downwards", manager.find, "kv", "<", columns, ["d"], limit=10)
step("secondary index", manager.find, "kv", ">=", ["n", "k"], ["-100"], index_name="n", limit=10)

step("update", manager.update, "kv", "=", columns, ["a"], ["a", "new", "10"])
step("update and see", manager.update, "kv", "=", columns, ["a"], ["a", "newer", "11"], return_original=True)
step("update none", manager.update, "kv", "=", columns, ["nobody"], ["x", "y", "1"])
step("update to a duplicate", manager.update, "kv", "=", columns, ["b"], ["a", "b", "2"])
step("update a range", manager.update, "kv", ">=", ["v"], ["b"], ["range"], limit=2)
step("increment", manager.incr, "kv", "=", ["n"], ["a"])
step("increment by five, key left alone", manager.incr, "kv", "=", ["k", "n"], ["a"], [None, "5"])
step("increment and see", manager.incr, "kv", "=", ["n"], ["a"], ["100"], return_original=True)
step("decrement", manager.decr, "kv", "=", ["n"], ["a"], ["17"])
step("decrement and see", manager.decr, "kv", "=", ["n"], ["a"], ["1"], return_original=True)
step("decrement below zero", manager.decr, "kv", "=", ["n"], ["a"], ["1000"])
step("delete and see", manager.delete, "kv", "=", columns, ["d"], return_original=True)
step("delete", manager.delete, "kv", "=", columns, ["é"])
step("delete none", manager.delete, "kv", "=", columns, ["é"])

# A program that opens the index by hand, over and over.
writer = WriteSocket([("inet", "127.0.0.1", write_port)])
for at in range(300):
    index = writer.get_index_id(database, "kv", ["k", "v", "n"][:3 - at % 2] + ["v"] * (at // 2))
print "ids opened: %d" % writer.current_index_id
print "insert by id: %r" % writer.insert(0, ["id", "ID", "7"])
print "change by id: %r" % writer.find_modify(0, "=", ["id"], "U", ["id", "changed", "8"])
manager.purge()
step("after a purge", manager.find, "kv", ">=", columns, [""], limit=10)
