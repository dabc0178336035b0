# coding: utf-8
# A session of the package "handlersocket", in Python 2: `jython handlersocket_session.py PACKAGE DATABASE READ_PORT`. It
# only reads. Prints the client's results, a line a step.
import sys

sys.path.insert(0, sys.argv[1])
import handlersocket  # noqa: E402

database = sys.argv[2]
client = handlersocket.Client("127.0.0.1", int(sys.argv[3]))


def step(name, call, *arguments):
    try:
        told = repr(call(*arguments))
    except handlersocket.RemoteError as error:
        told = "error %s" % error
    print "%s: %s" % (name, told)


step("no such table", client.open_index, database, "nothing", "k")
step("no such index", client.open_index, database, "kv", "k", "nothing")
step("no such column", client.open_index, database, "kv", "k,nothing")
index = client.open_index(database, "kv", "k,v,n")
by_number = client.open_index(database, "kv", "n,k", "n")
step("find", client.find, index, "=", ("a",))
step("find NULL", client.find, index, "=", ("b",))
step("find control bytes", client.find, index, "=", ("d",))
step("find words of the world", client.find, index, "=", (u"é",))
step("find none", client.find, index, "=", ("nobody",))
step("range", client.find, index, ">=", ("a",), 3)
step("range with offset", client.find, index, ">", ("a",), 2, 1)
step("secondary index", client.find, by_number, ">=", (-100,), 10)
step("too many keys", client.find, index, "=", ("a", "b"))
client.start_batch()
for at in range(200):
    client.find(index, "=", ("abcd"[at % 4],))
lines = client.execute_batch()
print "batch: %d, %d different" % (len(lines), len(set(lines)))
