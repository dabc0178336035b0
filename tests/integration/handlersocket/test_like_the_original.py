"""Random sessions, played to the original HandlerSocket plugin and to ours: every reply and every row must be equal.

Sessions only contain what clients rely on: valid values, no request that fails halfway, nothing that decisions.tsv
decides otherwise. A failure prints the seed.
"""
import contextlib
import os
import random

import pytest
from support.clients import hs
from support.server import original_plugin

ROUNDS, REQUESTS = 40, 60
COLUMNS = ["k", "v", "n", "m"]
TABLE = (
    "CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(20), n INT, m BIGINT NOT NULL, g INT NOT NULL DEFAULT 3, KEY g (g), UNIQUE v (v))"
    " CHARSET utf8mb4"
)
# id, index, columns, filter columns
OPENED = [
    (0, "PRIMARY", "k,v,n,m", "n,v"),
    (1, "PRIMARY", "v", "m"),
    (2, "PRIMARY", "n,m", "k,n"),
    (3, "g", "k,n", "v"),
    (4, "PRIMARY", "k", ""),
    (5, "v", "n", "k"),
    (6, "g", "g", ""),
]
WORDS = [None, "", "a", "b", "A ", "é", "日本", "\t\n", "\0\1", "x" * 20, "7"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def word(self):
        # Half of the values are new, so that UNIQUE does not refuse everything.
        return self.random.choice(WORDS) if self.random.random() < 0.5 else f"w{self.random.randrange(10**6)}"

    def number(self):
        return self.random.choice([None, *range(-5, 6)])

    def key(self, index):
        if index == "v":
            return self.word()
        return self.random.randrange(1, 4) if index == "g" else self.random.randrange(-2, 25)

    def scan(self, one_row=False):
        return ["1", "0"] if one_row else [self.random.choice([0, 1, 2, 5, 100]), self.random.choice([0, 0, 0, 1, 3])]

    def filters(self, names):
        found = []
        for _ in range(self.random.choice([0, 0, 1, 2]) if names else 0):
            at = self.random.randrange(len(names.split(",")))
            value = self.word() if names.split(",")[at] == "v" else self.number()
            found += [self.random.choice("FFW"), self.random.choice(["=", "!=", "<", "<=", ">", ">="]), at, value]
        return found

    def find(self, modification=(), one_row=False):
        """modification(columns, index) returns its tokens; None if it does not fit."""
        number, index, columns, filters = self.random.choice(OPENED)
        tokens = modification(columns, index) if modification else []
        if tokens is None:
            return self.find(modification, one_row)
        operator = "=" if one_row else self.random.choice(["=", "=", "=", ">", ">=", "<", "<="])
        several = []
        # The original answers a list completely only if the index is unique.
        if operator == "=" and index == "PRIMARY" and not one_row and self.random.random() < 0.3:
            # A value given twice is found twice; but a change may have made the filter drop its row.
            several = [
                "@",
                0,
                3,
                *(self.random.sample(range(-2, 25), 3) if tokens else [self.key(index) for _ in range(3)]),
            ]
        return [number, operator, 1, self.key(index), *self.scan(one_row), *several, *self.filters(filters), *tokens]

    def update(self, columns, index):
        names = columns.split(",")
        if "k" in names or "v" in names or index in names:
            return None  # it could fail halfway, or meet its own rows
        return [self.asking("U"), *(self.value(name) for name in names)]

    def update_one(self, columns, _):
        return [self.asking("U"), *(self.value(name) for name in columns.split(","))]

    def value(self, name):
        return {
            "k": lambda: self.random.randrange(25),
            "v": self.word,
            "n": self.number,
            "m": lambda: self.random.randrange(10**12),
            "g": lambda: self.random.randrange(1, 4),
        }[name]()

    def asking(self, modification):
        return modification + self.random.choice(["", "?"])

    def increment(self, columns, index):
        return self.operands(self.asking("+"), columns, index)

    def decrement(self, columns, index):
        # Without ?: the original answers a refused row otherwise.
        return self.operands("-", columns, index)

    def operands(self, modification, columns, index):
        names = columns.split(",")
        if "v" in names or index in names:
            return None
        return [modification, *(None if name == "k" else self.random.choice([None, *range(-3, 4)]) for name in names)]

    def delete(self, _, __):
        return [self.asking("D")]

    def insert(self):
        return [0, "+", 4, *(self.value(name) for name in COLUMNS)]

    def write(self):
        return self.random.choice(
            [
                self.insert,
                self.insert,
                self.insert,
                self.find,
                lambda: self.find(self.update),
                lambda: self.find(self.update_one, one_row=True),
                lambda: self.find(self.increment),
                lambda: self.find(self.decrement),
                lambda: self.find(self.delete, one_row=True),
                lambda: self.find(self.delete),
            ]
        )()


@pytest.fixture(scope="module")
def pair(module_factory):
    """A server with our plugin and one with the original."""
    option = "--innodb-flush-log-at-trx-commit=0"  # durability is not tested here
    both = module_factory(option), module_factory(option, env={**os.environ, "POSTERN_SO": original_plugin()})
    for one in both:
        one.execute("CREATE DATABASE likewise", "USE likewise", TABLE)
    return both


def opened(client):
    for number, index, columns, filters in OPENED:
        client.open(number, "likewise", "t", columns, index, filters)
    return client


@pytest.mark.parametrize("seed", range(20101019, 20101025))
def test_random_sessions(pair, seed):
    generator = Generator(seed)
    for one in pair:
        one.execute("DELETE FROM likewise.t")
    with contextlib.ExitStack() as stack:
        writers = [opened(stack.enter_context(one.hs_wr(timeout=30))) for one in pair]
        readers = [opened(stack.enter_context(one.hs(timeout=30))) for one in pair]
        for _ in range(ROUNDS):
            ask_both(writers, [generator.write() for _ in range(REQUESTS)], generator, seed)
            ask_both(readers, [generator.find() for _ in range(REQUESTS // 3)], generator, seed)
            got, expected = (one.query("SELECT * FROM t ORDER BY k", database="likewise") for one in pair)
            assert got == expected, f"seed {seed}"


def ask_both(clients, requests, generator, seed):
    # Sometimes all at once, sometimes one by one: the results must be the same.
    at_once = generator.random.random() < 0.5
    ours, theirs = [
        client.pipeline(*requests) if at_once else [client.request(*request) for request in requests]
        for client in clients
    ]
    for request, got, expected in zip(requests, ours, theirs):
        assert got == expected, f"seed {seed}, {hs.encode_line(*request)!r}"
