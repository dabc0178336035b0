"""Ordered reads with LIMIT over random tables: primary and secondary keys with ascending and descending parts, on both
ports.

InnoDB appends the primary key's parts to an index, in the primary key's directions. SEED=N in the environment makes
other choices, ROUNDS=N makes more tables.
"""
import os
import random

import pytest
from support.clients import sql_session
from support.random_input import seeds
from support.server import STEADY_PLANS
from support.clients.sql_session import Session

ROUNDS = int(os.environ.get("ROUNDS") or 40)
READS = 25
TIMES = 4  # a form is learnt from the first
COLUMNS = {
    "a": "INT NOT NULL",
    "b": "INT NOT NULL",
    "c": "SMALLINT",
    "d": "VARCHAR(6) COLLATE utf8mb4_general_ci NOT NULL",
    "e": "VARCHAR(6) COLLATE utf8mb4_general_nopad_ci",
    "f": "CHAR(5) COLLATE utf8mb4_general_nopad_ci NOT NULL",
    "g": "DECIMAL(6,2) NOT NULL",
    "h": "DATE",
}
TEXTS = ("", "a", "A", "a ", "a\t", "ab", "aB", "b", "b\t", "zz", "Zz ")
PREFIXED = ("d", "e")


class Table:
    """A random table `o` of random rows."""

    def __init__(self, chance):
        self.chance = chance
        self.keys = [self.key() for _ in range(chance.randrange(1, 4))]
        self.primary = self.key() if chance.random() < 0.85 else []
        # In a unique key that may be the primary one no part is nullable, or a prefix.
        self.unique = [part for part in self.key() if part[0] not in "ceh"] if chance.random() < 0.4 else []
        # A number after the other parts, ascending or descending, makes rows unique.
        for parts in (self.primary, self.unique):
            if parts:
                parts.insert(chance.randrange(len(parts) + 1), ("n", chance.choice(["", " DESC"]), ""))
        self.primary = [part for part in self.primary if part[0] not in "ceh"]

    def key(self):
        names = self.chance.sample(sorted(COLUMNS), self.chance.choice([1, 1, 2, 2, 3]))
        return [
            (
                name,
                self.chance.choice(["", "", " DESC"]),
                "(2)" if name in PREFIXED and self.chance.random() < 0.2 else "",
            )
            for name in names
        ]

    def statements(self):
        """The statements that create and fill it."""
        parts = [f"{name} {kind}" for name, kind in COLUMNS.items()] + ["n INT NOT NULL", "filler CHAR(60) DEFAULT 'x'"]
        for word, keys in (("PRIMARY KEY", [self.primary]), ("UNIQUE KEY", [self.unique]), ("KEY", self.keys)):
            parts += [f"{word} ({', '.join(a + b + c for a, c, b in one)})" for one in keys if one]
        if not self.unique and self.chance.random() < 0.3:
            parts.append("UNIQUE KEY (c, n)")
        yield f"CREATE OR REPLACE TABLE o ({', '.join(parts)}) CHARACTER SET utf8mb4"
        for first in range(0, 400, 100):
            rows = [", ".join([*map(self.literal, COLUMNS), str(number)]) for number in range(first, first + 100)]
            yield f"INSERT INTO o ({', '.join(COLUMNS)}, n) VALUES ({'), ('.join(rows)})"
        yield "ANALYZE TABLE o"

    def value(self, name):
        if name in "def":
            return self.chance.choice(TEXTS)
        if name == "g":
            return self.chance.choice(["1.00", "1.50", "-2.25", "7.00"])
        if name == "h":
            return f"2024-01-0{self.chance.randrange(1, 8)}"
        return self.chance.randrange(400) if name == "n" else self.chance.randrange(-3, 9)

    def literal(self, name):
        if "NOT NULL" not in COLUMNS[name] and self.chance.random() < 0.2:
            return "NULL"
        value = self.value(name)
        return str(value) if isinstance(value, int) else value if name == "g" else f"'{value}'"

    def read(self):
        """A text with ? and the columns of its values: most follow an index."""
        chance = self.chance
        key = chance.choice([one for one in (*self.keys, self.primary, self.unique) if one])
        has = [name for name, _, _ in key]
        steps = key + [part for part in self.primary if part[0] not in has]
        fixed = chance.randrange(1, len(key) + 1)
        where, columns = [], []
        for name, _, _ in steps[:fixed]:
            if name in "ceh" and chance.random() < 0.2:
                where.append(f"{name} IS NULL")
                continue
            where.append(f"{name} = ?")
            columns.append(name)
        order = steps[fixed if chance.random() < 0.8 else 0 :]
        if order and chance.random() < 0.4:
            where.append(f"{order[0][0]} {chance.choice(['<', '<=', '>', '>=', '<>'])} ?")
            columns.append(order[0][0])
        back = chance.random() < 0.5
        words = [name + (" DESC" if (down != "") != back else "") for name, down, _ in order]
        if words and chance.random() < 0.3:
            at = chance.randrange(len(words))
            words[at] = words[at].removesuffix(" DESC") if "DESC" in words[at] else words[at] + " DESC"
        wanted = chance.choice(["n", "*", "a, n", ", ".join([*has, "n"])])
        text = f"SELECT {wanted} FROM o WHERE {' AND '.join(where)}"
        if words:
            text += f" ORDER BY {', '.join(words)}"
            text += chance.choice(["", " LIMIT 1", " LIMIT 3", " LIMIT 2 OFFSET 1"])
        return text, columns


@pytest.fixture(scope="module")
def served(module_factory):
    server = module_factory(STEADY_PLANS, "--postern-plan-once=OFF", postern_port=0)
    server.execute("CREATE USER own@'%' IDENTIFIED BY ''", "GRANT ALL ON *.* TO own@'%'")
    return server


def sessions(server):
    return [Session(server.env[port], "own", "test") for port in ("POSTERN_PORT", "SQL_PORT")]


def assert_alike(pair, text, ordered=True):
    door, server = ([*map(bytes, sql_session.without_remarks(one.query(text)))] for one in pair)
    assert (door if ordered else sorted(door)) == (server if ordered else sorted(server)), text


def test_a_primary_key_that_goes_down_is_walked_by_a_second_key(served):
    served.execute(
        "CREATE OR REPLACE TABLE t (a INT NOT NULL, b INT NOT NULL, c INT NOT NULL,"
        " PRIMARY KEY (a DESC, c), KEY kb (b), KEY ba (b, a))",
        "INSERT INTO t SELECT seq, seq % 10, seq FROM seq_1_to_1000",
        "ANALYZE TABLE t",
        database="test",
    )
    pair = sessions(served)
    before = served.status("Postern_statements_fast")["postern_statements_fast"]
    orders = ("a", "a DESC", "a, c", "a DESC, c", "a, c DESC", "a DESC, c DESC", "c", "c DESC")
    for index in ("kb", "ba"):
        for order in orders:
            for value in range(3, 7):
                assert_alike(pair, f"SELECT a, c FROM t WHERE b = {value} ORDER BY {order} LIMIT 1")
                assert_alike(pair, f"SELECT a, c FROM t WHERE b = {value} ORDER BY {order} LIMIT 2 OFFSET 1")
        served.execute(f"ALTER TABLE t DROP KEY {index}", "ANALYZE TABLE t", database="test")
        if index == "kb":
            served.execute("ALTER TABLE t ADD KEY kb (b)", "ANALYZE TABLE t", database="test")
    assert served.status("Postern_statements_fast")["postern_statements_fast"] - before > 20


def test_ordered_reads_are_answered_alike(served):
    chance = random.Random(seeds.chosen())
    before = served.status("Postern_statements_fast")["postern_statements_fast"]
    for _ in range(ROUNDS):
        table = Table(chance)
        made = list(table.statements())
        served.execute(*made, database="test")
        pair = sessions(served)
        for _ in range(READS):
            text, columns = table.read()
            for _ in range(TIMES):
                said = sql_session.in_text(text, [table.value(name) for name in columns])
                try:
                    assert_alike(pair, said, "ORDER BY" in said)
                except AssertionError as problem:
                    raise AssertionError(made[0]) from problem
        for one in pair:
            one.close()
    answered = served.status("Postern_statements_fast")["postern_statements_fast"] - before
    print(f"{answered} of {ROUNDS * READS * TIMES} were answered by workers")
    assert answered > ROUNDS * READS * TIMES // 20
