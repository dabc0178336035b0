"""Random UPDATE, DELETE, INSERT and locking reads by key, over tables of nearly every type."""
import random
from decimal import Decimal

from support.random_input import random_values
from support.clients.sql_session import Literal, literal_of

TABLES = (
    "CREATE OR REPLACE TABLE w (id INT PRIMARY KEY, u INT UNSIGNED NOT NULL DEFAULT 7, b BIGINT, t TINYINT,"
    " n DECIMAL(8,2), f DOUBLE, c VARCHAR(12), l VARCHAR(20) CHARACTER SET latin1, x TEXT, y VARBINARY(9),"
    " d DATE, dt DATETIME(2), ts TIMESTAMP NULL, tm TIME, e ENUM('a','b','c'), s SET('p','q'), k VARCHAR(10) NOT NULL,"
    " UNIQUE k (k), UNIQUE cu (c, u), KEY b (b), CHECK (t IS NULL OR t <> 99)) CHARACTER SET utf8mb4",
    "INSERT INTO w SELECT seq, seq, seq * 10, seq % 90, seq / 8, seq / 3, CONCAT('c', seq), CONCAT('l', seq),"
    " REPEAT('x', seq), CHAR(seq % 128), '2024-01-01' + INTERVAL seq DAY, '2024-01-01' + INTERVAL seq HOUR,"
    " FROM_UNIXTIME(1700000000 + seq), SEC_TO_TIME(seq), 'a', 'p', CONCAT('k', seq) FROM seq_1_to_300",
    "CREATE OR REPLACE TABLE pairs (a INT, b VARCHAR(10), v INT, PRIMARY KEY (a, b))",
    "INSERT INTO pairs SELECT seq DIV 5, CONCAT('k', seq % 5), seq FROM seq_1_to_600",
    "CREATE OR REPLACE TABLE ids (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(10), n SMALLINT NOT NULL DEFAULT 3,"
    " e ENUM('x','y') NOT NULL DEFAULT 'y', t TEXT DEFAULT 'long', q DECIMAL(6,1), made TIMESTAMP DEFAULT CURRENT_TIMESTAMP"
    " ON UPDATE CURRENT_TIMESTAMP, UNIQUE a (a)) AUTO_INCREMENT = 1000",
    "INSERT INTO ids (a) SELECT CONCAT('a', seq) FROM seq_1_to_300",
)
READS = {
    "w": "SELECT * FROM w ORDER BY id",
    "pairs": "SELECT * FROM pairs ORDER BY a, b",
    "ids": "SELECT id, a, n, e, t, q, made > '2020-01-01' FROM ids ORDER BY id",
}
TEXTS = (
    "",
    "a",
    "Änn",
    "it is",
    "x" * 12,
    "x" * 13,
    "12",
    "-3",
    "1.5",
    "2024-02-30",
    "2024-05-06",
    "p,q",
    "b",
    "B",
    "€",
)
ODD = ("it's", 'say "hi"', "back\\slash", "100%_", "two\nlines", "nul\0", "\x1a", "\\", "'", "Ä'n\\é", "a\\%b\\_", "")
BYTES = ("x'4142'", "0x61", "X'00ff27'", "_binary'a\\0b'", "_binary'it''s'", '_binary"x"', "_binary''")
BYTES = tuple(map(Literal, BYTES))
FRACTIONS = ("1.5", "-0.25", "3.14159", "0.005", "1e2", "-2.5e-1", "1.5E+3", "12345678.9", "0.1", "-0.0", "7e30")
FRACTIONS = tuple(map(Literal, FRACTIONS))
DECIMALS = tuple(
    map(Decimal, ("1.5", "-0.25", "12", "0.005", "-3.10", "0.00", "12345678.9", "7" * 30, "1." + "3" * 38))
)
AMOUNTS = (1, 5, -7, 1.5, 0.1, 0.25, -3.0, 1e20, 12345678, "2.5", "x", None, 1 << 60, *DECIMALS, *FRACTIONS)
AMOUNTS += tuple(map(Decimal, ("2.50", "0.10", "-19.99", "0.01", "100", "33.33")))
TIMES = ("2024-05-06", "2024-05-06 07:08:09", "2024-05-06 07:08:09.126", "0000-00-00", "24-5-6", "12:34:56", "now")
NUMBERS = (0, 1, -1, 7, 99, 127, 128, -129, 255, 65536, 1 << 31, 1 << 40, 123456)
COLUMNS = ("u", "b", "t", "n", "f", "c", "l", "x", "y", "d", "dt", "ts", "tm", "e", "s", "k")


LOCKS = ("FOR UPDATE", "LOCK IN SHARE MODE")
LOCKING = LOCKS + ("FOR UPDATE SKIP LOCKED", "FOR UPDATE NOWAIT", "LOCK IN SHARE MODE SKIP LOCKED")
# The session's variable, in a text; when bound, it is a text.
VARIABLE = Literal("@v")


def returning(chance, table, columns, star=True):
    """RETURNING of random columns, or nothing. `star`: all columns are equal at both ports."""
    if chance.random() < 0.7:
        return ""
    wanted = chance.sample(columns, chance.randrange(1, min(4, len(columns)) + 1))
    wanted = [chance.choice((one, f"`{table}`.`{one}`", f"{one} AS x{one}")) for one in wanted]
    if star and chance.random() < 0.4:
        wanted = chance.choice((["*"], [f"{table}.*", *wanted]))
    return f" RETURNING {', '.join(wanted)}"


def ordered(chance):
    """ORDER BY and LIMIT of a change, which make it certain what is changed, or nothing."""
    if chance.random() < 0.8:
        return ""
    order = chance.choice(("", " ORDER BY id", " ORDER BY id DESC", " ORDER BY k", " ORDER BY `w`.`u`, id DESC"))
    limits = (" LIMIT 400", " LIMIT 0", *((" LIMIT 1", " LIMIT 2", "") if order else ()))
    return order + chance.choice(limits)


class Writes:
    """Random statements: a text with ? and its values."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, column):
        pick = self.random.choice
        if self.random.random() < 0.1:
            return None
        if self.random.random() < 0.03:
            return pick(BYTES + FRACTIONS)
        if column in ("u", "b", "t", "n", "f") and self.random.random() < 0.05:
            return VARIABLE
        if column in ("d", "dt", "ts", "tm"):
            return pick(TIMES)
        if column in ("n", "f") and self.random.random() < 0.1:
            return pick(DECIMALS)
        if column in ("n", "f") and self.random.random() < 0.3:
            return pick(FRACTIONS + (1.5, -0.1, 2.5e-3, 1e20, -0.75))
        if column in ("c", "l", "x", "y", "k") and self.random.random() < 0.3:
            return literal_of(pick(ODD), self.random)
        if column == "y" and self.random.random() < 0.4:
            return pick(BYTES)
        if column in ("u", "b", "t", "n", "f"):
            return pick(NUMBERS) if self.random.random() < 0.8 else pick(TEXTS)
        if column == "k":
            return f"k{self.random.randrange(1, 320)}"
        return pick(TEXTS) if self.random.random() < 0.9 else pick(NUMBERS)

    def key(self):
        number = self.random.randrange(1, 310)
        kind = self.random.randrange(14)
        if kind == 12:
            return "b = ? AND u < ?", [number * 10, self.random.choice((150, 400))]
        if kind == 13:
            test, values = self.random.choice((("t IS NOT NULL", []), ("f < ?", [50]), ("u IN (?, ?)", [number, 5])))
            return f"b >= ? AND b < ? AND {test}", [number * 10, number * 10 + 30, *values]
        if kind == 11:
            rows = [(f"c{one}", one) for one in (number, number + 1, self.random.randrange(1, 310))]
            rows = rows[: self.random.choice((1, 2, 3))]
            some = f"(c, u) IN ({', '.join(['(?, ?)'] * len(rows))})"
            if self.random.random() < 0.5:
                some = f"({' OR '.join(['(c = ? AND u = ?)'] * len(rows))})"
            return some, [value for row in rows for value in row]
        if kind >= 9:
            # Close to each other, so that statements change each other's rows.
            numbers = [number + self.random.randrange(-3, 4) for _ in range(self.random.choice((2, 3, 5)))]
            column, values = self.random.choice((("id", numbers), ("k", [f"k{one}" for one in numbers])))
            some = f"{column} IN ({', '.join('?' * len(values))})"
            if self.random.random() < 0.3:
                some = f"({' OR '.join([f'{column} = ?'] * len(values))})"
            return (f"{some} AND t < ?", [*values, self.random.choice((10, 200))]) if kind == 9 else (some, values)
        if kind == 8:
            return "k = ?", [literal_of(f"k{number}", self.random)]
        if kind == 0:
            return "k = ?", [f"k{number}"]
        if kind == 3 and number % 4 == 0:
            return "id = ?", [VARIABLE]
        if kind == 1:
            return "c = ? AND u = ?", [f"c{number}", number]
        if kind == 2:
            return "id = ? AND t < ?", [number, self.random.choice((10, 200))]
        if kind == 3:
            return "`w`.`id` = ?", [str(number)]
        if kind == 4:
            text, values = random_values.number(self.random, number)
            return f"id = {text}", values
        if kind == 5:
            column = self.random.choice(("d", "dt", "dt", "ts"))
            text, values = random_values.moment(self.random)
            return f"id = ? AND {column} {self.random.choice('<>')} {text}", [number, *values]
        return "id = ?", [number]

    def insert(self):
        """An INSERT of one row or more, with ids and without."""
        columns = (
            ("a",),
            ("a", "n"),
            ("id", "a"),
            ("id", "a", "n", "e"),
            ("n", "t", "a"),
            ("a", "q"),
            ("q", "id", "a"),
        )
        columns = self.random.choice(columns)
        rows, values = [], []
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            row = []
            for column in columns:
                if self.random.random() < 0.1:
                    row.append(self.random.choice(("DEFAULT", "NULL")))
                    continue
                row.append("?")
                values.append(
                    {
                        "id": self.random.choice((None, 0, self.random.randrange(1, 5000))),
                        "a": self.random.choice(
                            (None, f"a{self.random.randrange(3000)}", f"b{self.random.random()}"[:9])
                        ),
                        "n": self.random.choice((1, -5, "7", 40000, "x")),
                        "e": self.random.choice(("x", "y", "z", "")),
                        "t": self.value("x"),
                        "q": self.random.choice((1.25, 0.1, 7, 1e9, Decimal("3.14"), "2.75", None, *FRACTIONS)),
                    }[column]
                )
            rows.append(f"({', '.join(row)})")
        wanted = returning(self.random, "ids", ("id", "a", "n", "e", "t"), star=False)
        return f"INSERT INTO ids ({', '.join(columns)}) VALUES {', '.join(rows)}{wanted}", values

    def locking_walk(self):
        number = self.random.randrange(120)
        where, values = self.random.choice(
            (
                ("a = ? ORDER BY b", [number]),
                ("a = ? ORDER BY b DESC LIMIT 2", [number]),
                ("a = ? AND b > ? ORDER BY b LIMIT 1", [number, "k1"]),
                ("a >= ? AND a <= ? ORDER BY a, b LIMIT 3", [number, number + 3]),
                ("(a, b) IN ((?, ?), (?, ?))", [number + 1, "k1", number, "k4"]),
                ("(a, b) = (?, ?)", [number, "k3"]),
            )
        )
        return f"SELECT a, b, v FROM pairs WHERE {where} {self.random.choice(LOCKING)}", values

    def change_by_walk(self):
        """An UPDATE of the rows that an index finds."""
        number = self.random.randrange(300)
        where, values = self.random.choice(
            (
                ("b = ?", [number * 10]),
                ("b IN (?, ?)", [number * 10, number * 10 + 30]),
                ("b >= ? AND b < ?", [number * 10, number * 10 + 25]),
                ("id BETWEEN ? AND ?", [number, number + 4]),
                ("b = ? AND t < ?", [number * 10, 50]),
                ("b BETWEEN ? - 15 AND ? + 15", [number, number]),
                ("b = -?", [-number * 10]),
            )
        )
        change = self.random.choice(
            (
                "UPDATE w SET t = ?, tm = ?",
                "UPDATE w SET b = ?, f = ?",
                "UPDATE w SET dt = CURDATE() - INTERVAL ? HOUR, f = 2 * ?",
                "DELETE FROM w",
            )
        )
        if self.random.random() < 0.4:
            number //= 5
            where, values = self.random.choice(
                (
                    ("a = ?", [number]),
                    ("(a) IN ((?), (?))", [number, number + 2]),
                    ("a = ? AND b > ?", [number, "k2"]),
                    ("a > ? AND a <= ?", [number, number + 2]),
                )
            )
            change = self.random.choice(("DELETE FROM pairs", "UPDATE pairs SET v = ? + 1, v = v + ?"))
            change = change.replace("? + 1, v = v + ?", "v - ?") if self.random.random() < 0.5 else change
        given = [self.random.choice((1, 5, 60)) for _ in range(change.count("?"))]
        return f"{change} WHERE {where}", given + values

    def write(self):
        if self.random.random() < 0.2:
            return self.insert()
        where, key = self.key()
        if self.random.random() < 0.1:
            return f"SELECT b, k FROM w WHERE {where} {self.random.choice(LOCKING)}", key
        kind = self.random.randrange(13)
        if kind == 12:
            number = self.random.randrange(120)
            keys = [f"k{self.random.randrange(5)}" for _ in range(3)]
            change = self.random.choice(
                ("DELETE FROM pairs", "UPDATE pairs SET v = v + 1", "UPDATE pairs SET v = ? + 1")
            )
            values = [7] if "?" in change else []
            if self.random.random() < 0.5:
                return f"{change} WHERE a = ? AND b IN (?, ?, ?)", [*values, number, *keys]
            values += [one for key in keys for one in (number + self.random.randrange(2), key)]
            if self.random.random() < 0.5:
                return f"{change} WHERE (a = ? AND b = ?) OR (a = ? AND b = ?) OR (a = ? AND ? = b)", values
            return f"{change} WHERE (a, b) IN ((?, ?), (?, ?), (?, ?))", values
        if kind == 2 and self.random.random() < 0.5:
            return self.locking_walk()
        if kind == 3 and self.random.random() < 0.5:
            return self.change_by_walk()
        if kind == 0:
            end = f"{ordered(self.random)}{returning(self.random, 'w', ('id', *COLUMNS))}"
            return f"DELETE FROM w WHERE {where}{end}", key
        if kind == 1:
            return "UPDATE pairs SET v = v + ? WHERE a = ? AND b = ?", [
                self.random.choice((1, 5)),
                self.random.randrange(120),
                f"k{self.random.randrange(5)}",
            ]
        sets, values = [], []
        for column in self.random.sample(COLUMNS, self.random.choice((1, 1, 1, 2, 3))):
            if column in ("n", "f") and self.random.random() < 0.4:
                sets.append(f"{column} = {column} {self.random.choice('+-')} ?")
                values.append(self.random.choice(AMOUNTS))
            elif column in ("u", "b", "t") and self.random.random() < 0.5:
                old = self.random.choice((column, column, f"COALESCE({column}, 0)", f"IFNULL({column}, 3)"))
                new = f"{old} {self.random.choice('+-')} ?"
                sets.append(f"{column} = {self.random.choice((new, new, f'GREATEST({new}, 0)'))}")
                values.append(self.random.choice((1, 2, 5, 100, 1 << 40)))
            elif column in ("u", "b", "t", "n", "f") and self.random.random() < 0.3:
                text, its = random_values.number(self.random)
                sets.append(f"{column} = {text}")
                values += its
            elif column in ("d", "dt", "ts", "c") and self.random.random() < 0.4:
                text, its = random_values.day(self.random)
                sets.append(f"{column} = {text}")
                values += its
            elif column in ("u", "b", "t") and self.random.random() < 0.3:
                sets.append(f"{column} = ? {self.random.choice('+-')} {self.random.choice((1, 300))}")
                values.append(self.random.choice((1, 5, 100, 1 << 31, -3, "4", None)))
            else:
                sets.append(f"{column} = ?")
                values.append(self.value(column))
        return f"UPDATE w SET {', '.join(sets)} WHERE {where}{ordered(self.random)}", values + key
