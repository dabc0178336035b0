"""Malformed and odd sessions at the door and at Debian's redis-server: both send the same bytes, and end the connection
alike.

A session's bytes are sent in parts; then the client shuts down its sending side, and reads until the server closes.
SEED=N chooses other sessions, POSTERN_REDIS_SESSIONS=N more of them.
"""
import contextlib
import os
import random
import re
import socket

from support.random_input import seeds
from support.random_input.redis_commands import looked_at_arguments_first
from support.clients.resp import encode

SERVER_OPTIONS = ("--innodb-flush-log-at-trx-commit=0",)
SESSIONS = int(os.environ.get("POSTERN_REDIS_SESSIONS", "250"))
SEED = seeds.chosen(1)

PLAIN = """GET a|SET a x|SET a 10|INCR a|INCRBY a x|APPEND a 1|DEL a b l h|LPUSH l x y|LRANGE l 0 -1|RPOP l|LPOP a|HSET h f v
HGETALL h|HGET a f|PING|PING x|ECHO %|NOSUCH a b|GET|SET a|SELECT 0|SELECT 99|SELECT x|EXISTS a l|TYPE a|MGET a b l
SUBSTR a 0 0|SADD st 1 2|SCARD st|ZADD z 1 m|ZSCORE z m|ZRANGE z 0 -1 WITHSCORES|EXPIRE a 1000|PERSIST a|STRLEN a|SETRANGE a 2 zz
OBJECT NOSUCH a|CLIENT NOSUCH|CLIENT|CONFIG GET|SET a v EX 0|SET a v NX GET|GETRANGE a 0 x|COPY a b DB 99
LMPOP 1 l LEFT|BLPOP nosuch l 0.01|BLMOVE nosuch l LEFT LEFT 0.01|BLPOP l x|BLPOP nosuch 0.01|RESET|UNWATCH|WATCH a|WATCH
CLIENT SETNAME n|CLIENT GETNAME|CLIENT SETNAME %|CLIENT UNBLOCK 999999|BRPOP a 0""".replace(
    "\n", "|"
).split(
    "|"
)
ODD = """MULTI|EXEC|DISCARD|MULTI|EXEC|WATCH a|UNWATCH|HELLO 2|HELLO 3|HELLO 9|HELLO x|HELLO 3 AUTH default x|HELLO 3 AUTH a b
HELLO 2 SETNAME|HELLO 3 SETNAME n|HELLO|AUTH x|AUTH a b|AUTH default x|AUTH a b c|RESET|QUIT|CLIENT REPLY OFF|CLIENT REPLY SKIP
CLIENT REPLY ON|CLIENT REPLY|CLIENT REPLY x|CLIENT KILL ID <id>|CLIENT KILL ID <id> SKIPME no|CLIENT KILL <address>
CLIENT KILL ADDR <address> SKIPME no|CLIENT KILL ADDR 1.1.1.1:1|CLIENT KILL ID x|CLIENT KILL x|CLIENT KILL USER nosuch
CLIENT KILL TYPE x|CLIENT KILL SKIPME|CLIENT NO-EVICT x|CLIENT NO-EVICT on|MULTI x|EXEC x|QUIT x|RESET x""".replace(
    "\n", "|"
).split(
    "|"
)
RAW = [
    *(
        b"\r\n",
        b"\n",
        b"   \r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"*-5\r\n",
        b"*00\r\n",
        b"*+1\r\n",
        b"*\r\n",
        b"* 1\r\n",
        b"*1 \r\n",
    ),
    *(
        b"*abc\r\n",
        b"*9999999999\r\n",
        b"*2147483648\r\n",
        b"*99999999999999999999999\r\n",
        b"*1\r\n",
        b"*1\n",
        b"*1\rx",
    ),
    *(b"*1\r\nxyz\r\n", b"*1\r\n:3\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$abc\r\n", b"*1\r\n$\r\n", b"*1\r\n$ 4\r\nPING\r\n"),
    *(
        b"*1\r\n$04\r\nPING\r\n",
        b"*1\r\n$+4\r\nPING\r\n",
        b"*1\r\n$4\nPING\r\n",
        b"*1\r\n$4\r\nPINGxx",
        b"*1\r\n$0\r\n\r\n",
    ),
    *(b"*1\r\n$999999999999\r\n", b"*1\r\n$536870913\r\n", b"*1\r\n$9223372036854775808\r\n", b"*2\r\n$4\r\nPING\r\n"),
    *(b"*1\r\n\r\n", b"*1\r\n*1\r\n", b"*1\r\n\xff", b"$4\r\nPING\r\n", b"+OK\r\n", b"-ERR\r\n", b":1\r\n"),
    *(
        b'GET "a\r\n',
        b"GET 'a\r\n",
        b'GET "a"b\r\n',
        b'"PING"\r\n',
        b"'PING'\r\n",
        b'PING "\\x41\\n\\q"\r\n',
        b"PING 'a\\'b'\r\n",
    ),
    *(b'PING "\\x4"\r\n', b"PING\n", b"ping  x \r\n", b"\tPING\t x\r\n", b"PING\x0bx\r\n", b'""\r\n'),
    *(
        b'SET a ""\r\n',
        b"SET a \xff\xfe\r\n",
        b"GET a\rb\r\n",
        b'PING "a" "b"\r\n',
        b'PING ""x\r\n',
        b"x" * 300 + b"\r\n",
    ),
    *(b"GET / HTTP/1.1\r\n", b"\x03\x01 \r\n"),
]
ENDLESS = [
    b"x" * 70_000,
    b"*" + b"1" * 70_000,
    b"*1\r\n$" + b"1" * 70_000,
    b"*1\r\n$70000\r\n" + b"y" * 70_000,
    b"PING " + b"z" * 66_000,
]


class Bytes:
    """A client's bytes, in parts; `<id>` and `<address>` stand for the client's own."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def line(self):
        chance = self.random
        return chance.choice(PLAIN if chance.random() < 0.6 else ODD)

    def part(self):
        chance = self.random
        kind = chance.random()
        if kind < 0.08:
            return chance.choice(RAW)
        line = self.line()
        if kind < 0.25 and "%" not in line:
            return line.encode() + chance.choice([b"\r\n", b"\n", b" \r\n"])
        words = [word if word != "%" else "" for word in line.split()]
        if kind < 0.3:
            words[0] = words[0].lower()
        return encode(*words)

    def session(self):
        chance = self.random
        sent = b"".join(self.part() for _ in range(chance.choice([1, 3, 6, 12, 40])))
        if chance.random() < 0.3:
            sent = self.spoiled(sent)
        if chance.random() < 0.2:
            sent = sent[: chance.randrange(len(sent) + 1)]
        # The answers to the rest depend on how much of it a server receives at once.
        return sent + chance.choice(ENDLESS) if chance.random() < 0.05 else sent

    def spoiled(self, sent):
        """Replaces, deletes or repeats a few bytes."""
        chance = self.random
        for _ in range(chance.choice([1, 1, 2, 5])):
            at = chance.randrange(len(sent) + 1)
            end = at + chance.choice([0, 1, 1, 2, 5])
            sent = sent[:at] + chance.choice([b"", b"*", b"$", b"\r\n", b"1", b"\xff", sent[at:end] * 2]) + sent[end:]
        return sent


class Told:
    """A server's answers to a session."""

    def __init__(self, port, sent):
        self.reset = False
        with socket.create_connection(("127.0.0.1", int(port))) as client:
            client.settimeout(20)
            sent = self.as_own(client, sent)
            with contextlib.suppress(OSError):  # the server may have closed the connection
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
            self.bytes = self.all_of(client)

    def as_own(self, client, sent):
        if b"<" not in sent:
            return sent
        client.sendall(encode("CLIENT", "ID"))
        number = client.recv(100)
        address = "%s:%d" % client.getsockname()
        return (
            re.sub(
                rb"\$\d+\r\n<(id|address)>",
                lambda found: b"$%d\r\n%s" % (len(own := number[1:-2] if found[1] == b"id" else address.encode()), own),
                sent,
            )
            .replace(b"<id>", number[1:-2])
            .replace(b"<address>", address.encode())
        )

    def all_of(self, client):
        told = b""
        while True:
            try:
                some = client.recv(1 << 16)
            except (ConnectionResetError, BrokenPipeError):
                self.reset = True
                return told
            if not some:
                return told
            told += some


ADDRESS = re.compile(rb"127\.0\.0\.1:\d+")
# An unknown command with the client's id as its name or in its arguments.
UNKNOWN = re.compile(rb"unknown command .*")
GREETING = re.compile(rb"(?:\*\d+|%\d+)\r\n\$6\r\nserver\r\n.*?\$7\r\nmodules\r\n\*0\r\n", re.DOTALL)


def plain(told):
    told = ADDRESS.sub(b"127.0.0.1:1", GREETING.sub(b"+HELLO\r\n", told))
    return UNKNOWN.sub(lambda found: re.sub(rb"'\d+'", b"'1'", found[0]), told)


def is_told_before_the_line_ends(told, expected):
    """Redis waits for the line's end, which never comes, or is too far away."""
    before = told.rpartition(b"-ERR Protocol error: expected '$', got ")[0]
    rest = expected[len(before) :]
    return told != before and expected.startswith(before) and (not rest or b"Protocol error: too big" in rest)


def ends_in_exec(told, expected):
    """Redis omits the replies of the transaction for a client that has killed itself or turned replies off."""
    return b"+QUEUED\r\n" in expected and told.startswith(expected)


def reads_all_options_first(told, expected):
    """Redis logs in before it reads the options after the password."""
    return told.startswith(b"-ERR Syntax error in HELLO option") and expected.startswith(b"-WRONGPASS")


# Differences that grammar.md documents.
NAMED = [is_told_before_the_line_ends, ends_in_exec]


def same(one, other):
    told, expected = plain(one.bytes), plain(other.bytes)
    if told == expected:
        return True
    if any(differs(told, expected) for differs in NAMED):
        return True
    if one.reset or other.reset:  # replies in flight are lost then
        return told.startswith(expected) or expected.startswith(told)
    ours, theirs = told.split(b"\r\n"), expected.split(b"\r\n")
    return len(ours) == len(theirs) and all(
        a == b or looked_at_arguments_first(a + b"\r\n", b + b"\r\n") or reads_all_options_first(a, b)
        for a, b in zip(ours, theirs)
    )


def flush(*ports):
    for port in ports:
        with socket.create_connection(("127.0.0.1", int(port))) as client:
            client.sendall(b"FLUSHALL\r\n")
            client.recv(100)


def test_random_sessions(server, original):
    stream = Bytes(SEED)
    for number in range(SESSIONS):
        flush(server.env["REDIS_PORT"], original.port)
        sent = stream.session()
        ours, theirs = Told(server.env["REDIS_PORT"], sent), Told(original.port, sent)
        assert same(
            ours, theirs
        ), f"session {number}\n{sent[:3000]}\nthe door: {ours.bytes[:3000]}\n   redis: {theirs.bytes[:3000]}"
