"""Random INSERT and REPLACE of rows with keys that may exist already."""
import random

from support.random_input import random_values
from support.random_input.random_writes import BYTES, ODD, returning
from support.clients.sql_session import literal_of

TABLES = (
    "CREATE TABLE counters (k VARCHAR(20) PRIMARY KEY, n INT NOT NULL DEFAULT 0, u INT UNSIGNED NOT NULL DEFAULT 0, t TEXT,"
    " at TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP)",
    "INSERT INTO counters (k, n) SELECT CONCAT('k', seq), seq FROM seq_1_to_20",
    "CREATE TABLE options (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) NOT NULL DEFAULT '',"
    " value LONGTEXT NOT NULL, autoload VARCHAR(20) NOT NULL DEFAULT 'yes', UNIQUE name (name), KEY autoload (autoload))"
    " AUTO_INCREMENT = 1000",
    "INSERT INTO options (name, value) SELECT CONCAT('o', seq), REPEAT('v', seq) FROM seq_1_to_20",
    "CREATE TABLE several (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(10), n SMALLINT DEFAULT 3, t BLOB, d DATE,"
    " UNIQUE a (a), UNIQUE b (b), CHECK (n < 30000))",
    "INSERT INTO several (a, b) SELECT seq, CONCAT('b', seq) FROM seq_1_to_20",
    "CREATE TABLE pairs (a INT, b VARCHAR(10), v INT, w BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (a, b))",
    "INSERT INTO pairs (a, b, v) SELECT seq DIV 5, CONCAT('k', seq % 5), seq FROM seq_1_to_20",
    "CREATE TABLE parents (id INT PRIMARY KEY)",
    "INSERT INTO parents SELECT seq FROM seq_1_to_5",
    "CREATE TABLE children (id INT PRIMARY KEY, parent INT, u INT UNIQUE, v VARCHAR(9), FOREIGN KEY (parent) REFERENCES"
    " parents (id))",
    "INSERT INTO children SELECT seq, 1 + seq % 5, seq, 'v' FROM seq_1_to_9",
    "CREATE TABLE keyless (a INT, b TEXT)",
    "CREATE TABLE texts (id INT AUTO_INCREMENT PRIMARY KEY, name TEXT, t TEXT, UNIQUE name (name(3)), FULLTEXT (t))",
    "INSERT INTO texts (name, t) SELECT CONCAT('n', seq), CONCAT('word', seq % 3) FROM seq_1_to_20",
)
READS = {
    "counters": "SELECT k, n, u, t, at > '2020-01-01' FROM counters ORDER BY k",
    "options": "SELECT * FROM options ORDER BY id",
    "several": "SELECT * FROM several ORDER BY id",
    "pairs": "SELECT * FROM pairs ORDER BY a, b",
    "children": "SELECT * FROM children ORDER BY id",
    "keyless": "SELECT * FROM keyless ORDER BY a, b",
    "texts": "SELECT * FROM texts ORDER BY id",
    "words": "SELECT id FROM texts WHERE MATCH (t) AGAINST ('word1 word2') ORDER BY id",
    "ids": "SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
    " ORDER BY TABLE_NAME",
}
COLUMNS = {
    "counters": (("k", "n"), ("k", "n"), ("k", "n", "u"), ("k", "n", "t"), ("k", "u", "at")),
    "options": (
        ("name", "value", "autoload"),
        ("name", "value", "autoload"),
        ("name", "value"),
        ("id", "name", "value"),
    ),
    "several": (("a", "b", "n"), ("a", "n"), ("b", "t"), ("id", "a", "b"), ("a", "b", "d"), ("id", "t")),
    "pairs": (("a", "b", "v"), ("a", "b", "v", "w")),
    "children": (("id", "parent", "u", "v"), ("id", "parent"), ("id", "u")),
    "keyless": (("a", "b"),),
    "texts": (("name", "t"), ("name", "t"), ("id", "name", "t")),
}
RETURNED = {
    "counters": ("k", "n", "u", "t"),
    "options": ("id", "name", "value", "autoload"),
    "several": ("id", "a", "b", "n", "t", "d"),
    "pairs": ("a", "b", "v", "w"),
    "children": ("id", "parent", "u", "v"),
    "keyless": ("a", "b"),
    "texts": ("id", "name", "t"),
}
INTEGERS = ("n", "u", "v", "w")


class NewRows:
    """Random statements: a text with ? and its values."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, table, column):
        pick, number = self.random.choice, self.random.randrange(1, 40)
        if column == "id":
            return pick((None, 0, number, number, self.random.randrange(1, 5000))) if table != "children" else number
        if column in ("k", "name", "b"):
            return pick(
                (
                    f"{column[0]}{number}",
                    f"{column[0]}{number}",
                    f"{self.random.random()}"[:9],
                    f"{column[0].upper()}{number}",
                )
            )
        if column == "a":
            return pick((None, number, number)) if table == "several" else number // 5
        if column == "n":
            return pick((1, 2, -5, 7, 98, 31000, 40000, "6", "x", None))
        if column in ("u", "w"):
            return pick((0, 1, 2, 30, 30, number))
        if column == "parent":
            return pick((None, 1, 2, 3, 3, 4, 77))
        if column == "v":
            return pick(("v", "w", "x" * 10)) if table == "children" else pick((1, 2, None, -7))
        if column in ("d", "at"):
            return pick(("2024-05-06", "2024-02-30", None))
        if table == "texts":
            return pick(("word1", "word2 word1", "other", None))
        if column == "t" and self.random.random() < 0.2:
            return pick(BYTES)
        return pick(("", "a", "x" * 200, "Änn", None, 12, literal_of(pick(ODD), self.random)))

    def rows(self, table, columns):
        texts, values = [], []
        for _ in range(self.random.choice((1, 1, 1, 1, 2, 3))):
            row = []
            for column in columns:
                if column not in ("k", "name") and self.random.random() < 0.06:
                    row.append(self.random.choice(("DEFAULT", "NULL")))
                elif column in (*INTEGERS, "d", "at") and table != "children" and self.random.random() < 0.2:
                    make = random_values.number if column in INTEGERS else random_values.day
                    text, its = make(self.random)
                    row.append(text)
                    values += its
                else:
                    row.append("?")
                    values.append(self.value(table, column))
            texts.append(f"({', '.join(row)})")
        return ", ".join(texts), values

    def assignment(self, table, column):
        """The column's new value if the row exists already, and its values."""
        kinds = ["VALUES", "VALUES", "value", "keep"]
        if column in INTEGERS and table != "children":
            kinds += ["add", "add", "add VALUES", "VALUES add", "subtract"]
        kind = self.random.choice(kinds)
        if kind == "VALUES":
            return f"{column} = VALUES({column})", []
        if kind == "keep":
            return f"{column} = {self.random.choice((column, f'{table}.{column}'))}", []
        if kind == "value" and column in INTEGERS and table != "children" and self.random.random() < 0.3:
            text, values = random_values.number(self.random)
            return f"{column} = {text}", values
        if kind == "value":
            return f"{column} = ?", [self.value(table, column)]
        if kind == "add VALUES":
            return f"{column} = {column} + VALUES({column})", []
        if kind == "VALUES add":
            return f"`{column}` = VALUES(`{column}`) + {table}.{column}", []
        return f"{column} = {column} {'+' if kind == 'add' else '-'} ?", [self.random.choice((1, 1, 2, 5))]

    def update(self, table, columns):
        own = [column for column in columns if column not in ("k", "id")] or ["v"]
        sets, values = [], []
        for column in self.random.sample(own, self.random.randrange(1, len(own) + 1)):
            text, its = self.assignment(table, column)
            sets.append(text)
            values += its
        if table in ("options", "several", "texts") and self.random.random() < 0.3:
            sets.append(self.random.choice(("id = id", "id = LAST_INSERT_ID(id)")))
        return f" ON DUPLICATE KEY UPDATE {', '.join(sets)}", values

    def statement(self):
        table = self.random.choice(tuple(COLUMNS))
        columns = self.random.choice(COLUMNS[table])
        rows, values = self.rows(table, columns)
        kind = self.random.choice(("INSERT", "INSERT IGNORE", "REPLACE", "REPLACE", "UPDATE", "UPDATE", "UPDATE"))
        text = f"{'INSERT' if kind == 'UPDATE' else kind} INTO {table} ({', '.join(columns)}) VALUES {rows}"
        wanted = returning(self.random, table, RETURNED[table], star=table != "counters")
        if kind != "UPDATE":
            return text + wanted, values
        update, its = self.update(table, columns)
        return text + update + wanted, values + its

    def again(self, values):
        """The same types, with some other keys."""

        def other(value):
            if self.random.random() < 0.6 or value is None or isinstance(value, float):
                return value
            if isinstance(value, int):
                return self.random.randrange(1, 40)
            return value[0] + str(self.random.randrange(1, 40)) if value[1:].isdigit() else value

        return [other(value) for value in values]
