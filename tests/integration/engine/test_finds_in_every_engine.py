"""Random finds and changes by index in every storage engine, partitioned or not: each finds exactly the rows that
match, once. SEED=N chooses others."""
import functools
import random

import pytest
from support.random_input import seeds

ROWS, FINDS, CHANGES = 40, 120, 25
COLUMNS = ["id", "a", "b", "c"]
# name, columns, bytes of the last column in the index
INDEXES = [
    ("PRIMARY", ["id"], None),
    ("ab", "ab", None),
    ("ca", "ca", None),
    ("b2", "b", 2),
    ("cb2", "cb", 2),
    ("u", ["a", "id"], None),
]
UPWARDS = ("=", ">", ">=")
WORDS = [None, "", "a", "ab", "abc", "abd", "b", "ba", "bab", "zzz"]


def definition(engine, partitions):
    btree = " USING BTREE" if engine == "MEMORY" else ""
    keys = "".join(
        f", {kind} {name}{btree} {columns}"
        for kind, name, columns in [
            ("PRIMARY KEY", "", "(id)"),
            ("KEY", "ab", "(a, b)"),
            ("KEY", "ca", "(c, a)"),
            ("KEY", "b2", "(b(2))"),
            ("KEY", "cb2", "(c, b(2))"),
            ("UNIQUE", "u", "(a, id)"),
        ]
    )
    return (
        f"CREATE TABLE t (id INT, a BIGINT, b VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin, c INT NOT NULL, v INT{keys})"
        f" ENGINE={engine} {partitions}"
    )


def compare(one, other):
    """Compares keys; NULL is below every value."""
    if one is None or other is None:
        return (one is not None) - (other is not None)
    return (one > other) - (one < other)


def order(row, columns, key):
    """The row's leading key parts and the key."""
    for column, value in zip(columns, key):
        result = compare(row[column], value)
        if result:
            return result
    return 0


def passes(result, operator):
    return {"=": result == 0, ">": result > 0, ">=": result >= 0, "<": result < 0, "<=": result <= 0}[operator]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, column):
        return {
            "id": lambda: self.random.randrange(-2, ROWS + 3),
            "a": lambda: self.random.choice([None, *range(7)]),
            "b": lambda: self.random.choice(WORDS),
            "c": lambda: self.random.randrange(4),
        }[column]()

    def rows(self):
        return {number: {"id": number, **{column: self.value(column) for column in "abc"}} for number in range(ROWS)}

    def find(self):
        number = self.random.randrange(len(INDEXES))
        columns = list(INDEXES[number][1])
        key = [self.value(column) for column in columns[: self.random.randrange(1, len(columns) + 1)]]
        in_list = [self.value(columns[len(key) - 1]) for _ in range(3)] if self.random.random() < 0.2 else None
        return number, self.random.choice(["=", ">", ">", ">=", "<", "<", "<="]), key, in_list


def request(find, limit=1000):
    number, operator, key, in_list = find
    tokens = [number, operator, len(key), *key, limit, 0]
    return tokens + (["@", len(key) - 1, len(in_list), *in_list] if in_list else [])


def expected(rows, find):
    """For each key value the matching rows, and whether only the first one is returned."""
    number, operator, key, in_list = find
    columns = list(INDEXES[number][1])
    keys = [[*key[:-1], value] for value in in_list] if in_list else [key]
    return [
        [row for row in rows.values() if passes(order_as_index(row, number, columns, one, operator), operator)]
        for one in keys
    ]


def order_as_index(row, number, columns, key, operator):
    # `=` with a value that is no longer than the index's prefix compares prefixes.
    prefix = INDEXES[number][2]
    if operator == "=" and prefix and len(key) == len(columns) and key[-1] is not None and len(key[-1]) <= prefix:
        row = {**row, columns[-1]: row[columns[-1]] and row[columns[-1]][:prefix]}
    return order(row, columns, key)


def check_find(client, rows, find, seed):
    number, operator, _, in_list = find
    reply = client.request(*request(find))
    assert reply[:2] == ["0", "1"], (seed, find, reply)
    got = [int(one) for one in reply[2:]]
    columns, prefix = list(INDEXES[number][1]), INDEXES[number][2]
    if in_list and operator != "=":
        firsts = [ends(group, columns, operator) for group in expected(rows, find) if group]
        if prefix is None:
            assert [[rows[one][column] for column in columns] for one in got] == firsts, (seed, find)
        return
    wanted = [row["id"] for group in expected(rows, find) for row in group]
    assert sorted(got) == sorted(wanted), (seed, find)
    if prefix is None and not in_list:
        for one, other in zip(got, got[1:]):
            step = order(rows[other], columns, [rows[one][column] for column in columns])
            assert (step >= 0) if operator in UPWARDS else (step <= 0), (seed, find, got)


def ends(group, columns, operator):
    by_index = functools.cmp_to_key(lambda one, other: order(one, columns, [other[column] for column in columns]))
    row = (min if operator in UPWARDS else max)(group, key=by_index)
    return [row[column] for column in columns]


def check_change(server, database, client, rows, find, delete, seed):
    if find[3] and find[1] != "=":
        return  # any of the equal rows may be the first
    wanted = {row["id"] for group in expected(rows, find) for row in group}
    reply = client.request(*request(find), *(["D"] if delete else ["U", 1]))
    told = [row["id"] for group in expected(rows, find) for row in group]
    assert reply in (["0", "1", str(len(wanted))], ["0", "1", str(len(told))]), (seed, find, reply)
    left = {number for number, v in server.query("SELECT id, v FROM t", database=database) if v != 1}
    assert left == set(rows) - wanted, (seed, find, delete)
    fill(server, database, rows)


def fill(server, database, rows):
    values = ", ".join(
        "(" + ", ".join("NULL" if row[column] is None else repr(row[column]) for column in COLUMNS) + ", 0)"
        for row in rows.values()
    )
    server.execute(f"REPLACE INTO t (id, a, b, c, v) VALUES {values}", database=database)


@pytest.mark.parametrize(
    "partitions",
    [
        "",
        "PARTITION BY HASH (id) PARTITIONS 3",
        "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS"
        " THAN (5), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN MAXVALUE)",
    ],
    ids=["whole", "hash", "range"],
)
@pytest.mark.parametrize("engine", ["InnoDB", "MyISAM", "Aria", "MEMORY"])
def test_finds_and_changes_meet_the_rows_asked_for(server, database, engine, partitions):
    seed = seeds.chosen()
    generator = Generator(seed)
    rows = generator.rows()
    server.execute(definition(engine, partitions), database=database)
    fill(server, database, rows)
    with server.hs() as reader, server.hs_wr() as writer:
        for number, (name, _, _) in enumerate(INDEXES):
            reader.open(number, database, "t", "id", index=name)
            writer.open(number, database, "t", "v", index=name)
        for _ in range(FINDS):
            check_find(reader, rows, generator.find(), seed)
        for _ in range(CHANGES):
            check_change(server, database, writer, rows, generator.find(), generator.random.random() < 0.5, seed)
