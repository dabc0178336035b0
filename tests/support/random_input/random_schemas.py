"""Random tables: columns of nearly every type and collation, indexes of every kind, row formats, and few rows or none."""
from decimal import Decimal

WORDS = ("a", "A", "b", "B", "ab", "aB", "abc", "x", "é", "É", "あ", "zz", "", "1", "2", "03")
COLLATIONS = (
    "utf8mb4 COLLATE utf8mb4_general_ci",
    "utf8mb4 COLLATE utf8mb4_bin",
    "utf8mb4 COLLATE utf8mb4_unicode_ci",
    "utf8mb4 COLLATE utf8mb4_general_nopad_ci",
    "utf8mb4 COLLATE utf8mb4_uca1400_ai_ci",
    "utf8mb3 COLLATE utf8mb3_general_ci",
    "latin1 COLLATE latin1_swedish_ci",
    "latin1 COLLATE latin1_bin",
    "sjis COLLATE sjis_japanese_ci",
    "ucs2 COLLATE ucs2_general_ci",
)
DATES = tuple(f"2024-0{month}-{day:02}" for month in (1, 2, 3) for day in (1, 7, 28)) + ("0000-00-00", "1999-12-31")
TIMES = tuple(f"{day} {hour}" for day in DATES[:4] for hour in ("00:00:00", "10:20:30", "23:59:59.25"))
HOURS = ("00:00:00", "10:20:30", "-03:00:00", "100:00:00", "10:20:30.5")

# Type, kind, and values.
TYPES = (
    ("TINYINT", "int", range(-3, 12)),
    ("SMALLINT UNSIGNED", "int", range(0, 15)),
    ("INT", "int", range(-3, 12)),
    ("INT UNSIGNED", "int", (*range(10), 2**32 - 1)),
    ("BIGINT", "int", (*range(10), 2**63 - 1, -(2**63))),
    ("BIGINT UNSIGNED", "int", (*range(10), 2**64 - 1)),
    ("YEAR", "int", (0, 1999, 2000, 2024)),
    ("DECIMAL(9,2)", "decimal", (Decimal("0.00"), Decimal("1.50"), Decimal("-2.25"), Decimal("7"), Decimal("1e6"))),
    ("DECIMAL(30,10)", "decimal", (Decimal("0.0000000001"), Decimal("12345678901234567890"), Decimal("1.5"), 3)),
    ("FLOAT", "float", (0, 0.25, 1.5, -2.75, 7, 1e10)),
    ("DOUBLE", "float", (0, 0.25, 1.5, -2.75, 7, 1e15)),
    ("VARCHAR(12)", "text", WORDS),
    ("VARCHAR(12)", "text", WORDS),
    ("VARCHAR(300)", "text", WORDS),
    ("CHAR(5)", "text", WORDS),
    ("TEXT", "text", WORDS),
    ("TINYTEXT", "text", WORDS),
    ("LONGTEXT", "text", WORDS),
    ("VARBINARY(12)", "bytes", WORDS),
    ("BINARY(4)", "bytes", ("a", "ab", "", "abcd", "B")),
    ("BLOB", "bytes", WORDS),
    ("ENUM('a', 'B', 'x', '')", "kind", ("a", "B", "x", "")),
    ("SET('a', 'b', 'c')", "kind", ("a", "b", "a,c", "", "a,b,c")),
    ("DATE", "date", DATES),
    ("DATETIME", "time", TIMES),
    ("DATETIME(3)", "time", TIMES),
    ("TIMESTAMP NULL", "time", TIMES),
    ("TIME", "hour", HOURS),
    ("TIME(2)", "hour", HOURS),
    ("BIT(9)", "bit", (0, 1, 5, 300)),
    ("JSON", "json", ('{"a": 1}', '{"a": "x"}', "[1, 2]", "3", '"x"')),
    ("UUID", "uuid", tuple(f"{one}0000000-0000-0000-0000-00000000000{one}" for one in range(1, 7))),
    ("INET6", "inet", ("::1", "::2", "2001:db8::1", "::ffff:1.2.3.4")),
    ("INET4", "inet", ("1.2.3.4", "10.0.0.1", "0.0.0.0")),
    ("POINT", "point", ("POINT(1 1)", "POINT(1 2)", "POINT(0 3)")),
)
ODD = (
    *(0, -1, 7, 300, 2**31, 2**63 - 1, Decimal("1.5"), Decimal("0.00"), 2.5, 1e20, "", "x", "1", "1x", "1.5", "a "),
    *("0000-00-00", "2024-02-30", "2024-02-01 10:20:30", "9999-12-31", "ab", "É", "あ", "::1", "%", "a%"),
)
PREFIXED = ("TEXT", "TINYTEXT", "LONGTEXT", "BLOB", "JSON")  # an index has a part of them


class Column:
    def __init__(self, name, type_, kind, values, suffix, nullable):
        self.name, self.type, self.kind, self.values, self.nullable = name, type_, kind, tuple(values), nullable
        self.ddl = f"{name} {type_}{suffix}{'' if nullable or 'NULL' in type_ else ' NOT NULL'}"
        self.ignores_case = kind == "text" and not suffix.endswith("_bin")
        self.sorted = type_ not in ("VARCHAR(300)", "POINT")

    def value(self, chance):
        """A value as a client binds it."""
        return chance.choice(self.values)

    def stored(self, chance):
        """A literal for INSERT."""
        if self.nullable and chance.random() < 0.2:
            return "NULL"
        return literal(self.kind, self.value(chance))


def literal(kind, value):
    if kind == "point":
        return f"ST_GeomFromText('{value}')"
    return f"'{value}'" if isinstance(value, str) else str(value)


class Table:
    """Its columns: a unique id, small numbers k and m and a word w to join by, and others."""

    def __init__(self, name, chance):
        self.name = name
        self.chance = chance
        one = lambda: f" CHARACTER SET {chance.choice(COLLATIONS)}"
        nullable = lambda: chance.random() < 0.7
        number = chance.choice(("INT", "INT", "BIGINT", "SMALLINT", "INT UNSIGNED"))
        self.columns = [
            Column("id", number, "int", range(1, 60), "", False),
            Column("k", chance.choice(("INT", "INT", "SMALLINT", "BIGINT")), "int", range(13), "", nullable()),
            Column("m", chance.choice(("INT", "TINYINT", "BIGINT UNSIGNED")), "int", range(6), "", nullable()),
            Column("w", chance.choice(("VARCHAR(12)", "CHAR(6)", "TEXT")), "text", WORDS, one(), nullable()),
        ]
        for at, (type_, kind, values) in enumerate(chance.sample(TYPES, chance.randrange(2, 6))):
            suffix = one() if kind == "text" else ""
            self.columns.append(Column(f"c{at}", type_, kind, values, suffix, nullable()))
        self.by_name = {one.name: one for one in self.columns}
        self.indexes = []
        self.rows = chance.choice((0, 1, 2, 6, 20, 40, 58, 58, 120))

    def part(self, column):
        down = self.chance.choice(("", "", "", " DESC"))
        if column.type in PREFIXED:
            return f"{column.name}({self.chance.choice((1, 3, 20))}){down}"
        if column.kind == "text" and self.chance.random() < 0.2:
            return f"{column.name}(2){down}"
        return column.name + down

    def statements(self):
        """Those that create and fill it."""
        chance = self.chance
        parts = [one.ddl for one in self.columns]
        primary = chance.choice(("PRIMARY KEY (id)",) * 5 + ("PRIMARY KEY (id DESC)", "UNIQUE KEY u (id)", ""))
        if not self.by_name["k"].nullable and chance.random() < 0.3:
            primary = chance.choice(("PRIMARY KEY (k, id)", "PRIMARY KEY (id, k)", "PRIMARY KEY (k DESC, id)"))
        self.unique = "(id" in primary and "," not in primary
        parts += [primary] if primary else []
        usable = [one for one in self.columns if one.kind != "point"]
        for number in range(chance.choice((0, 1, 2, 2, 3, 4))):
            keyed = chance.sample(usable, chance.choice((1, 1, 2, 2, 3)))
            if chance.random() < 0.5:
                keyed = [self.by_name[chance.choice("kmw")]] + [one for one in keyed if one.name not in "kmw"]
            name = f"i{number}"
            self.indexes.append(name)
            unique = "UNIQUE " if any(one.name == "id" for one in keyed) and chance.random() < 0.5 else ""
            parts.append(f"{unique}KEY {name} ({', '.join(self.part(one) for one in keyed)})")
        forms = ("DYNAMIC", "DYNAMIC", "COMPACT", "REDUNDANT")
        form = "DYNAMIC" if any(one.type == "VARCHAR(300)" for one in self.columns) else chance.choice(forms)
        yield f"CREATE OR REPLACE TABLE {self.name} ({', '.join(parts)}) ROW_FORMAT={form} CHARACTER SET utf8mb4"
        yield from self.filling(range(1, self.rows + 1))
        if chance.random() < 0.8:
            yield f"ANALYZE TABLE {self.name}{chance.choice(('', '', ' PERSISTENT FOR ALL'))}"

    def row(self, number):
        return f"({number}, {', '.join(one.stored(self.chance) for one in self.columns[1:])})"

    def filling(self, numbers):
        numbers = list(numbers)
        for first in range(0, len(numbers), 100):
            rows = ", ".join(self.row(number) for number in numbers[first : first + 100])
            yield f"INSERT IGNORE INTO {self.name} VALUES {rows}"

    def change(self):
        """Statements that change some rows, all, or none; ids stay unique."""
        chance = self.chance
        number = chance.randrange(1, max(self.rows, 2) + 3)
        column = chance.choice(self.columns[1:])
        what = chance.random()
        if what < 0.35:
            return [f"UPDATE IGNORE {self.name} SET {column.name} = {column.stored(chance)} WHERE id = {number}"]
        if what < 0.5:
            at = self.by_name[chance.choice("km")]
            which = f"{at.name} = {at.value(chance)}"
            return [f"UPDATE IGNORE {self.name} SET {column.name} = {column.stored(chance)} WHERE {which}"]
        if what < 0.6:
            return [f"DELETE FROM {self.name} WHERE {chance.choice('km')} = {chance.randrange(13)}"]
        if what < 0.64:
            return [f"DELETE FROM {self.name}"]
        if what < 0.72:
            return [f"DELETE FROM {self.name}", *self.filling(range(1, chance.choice((2, 60, self.rows + 1))))]
        return [
            f"DELETE FROM {self.name} WHERE id = {number}",
            f"INSERT IGNORE INTO {self.name} VALUES {self.row(number)}",
        ]


class Schema:
    def __init__(self, chance):
        self.chance = chance
        self.tables = [Table(f"t{number}", chance) for number in range(chance.choice((2, 3, 3, 4)))]

    def statements(self):
        yield "SET sql_mode = ''"
        for one in self.tables:
            yield from one.statements()

    def change(self):
        return self.chance.choice(self.tables).change()
