"""Random SELECTs that are no lookups by key: joins, groups, sorts, expressions; and changes of the rows that they
read."""
import random
from decimal import Decimal

from support.clients.sql_session import Natural

TABLES = (
    "CREATE OR REPLACE TABLE place (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, code CHAR(3), UNIQUE (name))"
    " CHARACTER SET utf8mb4",
    "CREATE OR REPLACE TABLE person (id INT UNSIGNED PRIMARY KEY, name VARCHAR(20), place INT, born DATE,"
    " since DATETIME(3), note TEXT, KEY (name), KEY (place), KEY (since)) CHARACTER SET utf8mb3",
    "CREATE OR REPLACE TABLE sale (id BIGINT PRIMARY KEY, person INT, place SMALLINT, n TINYINT NOT NULL,"
    " price DECIMAL(9,2), kind ENUM('a', 'b', 'c'), tag VARCHAR(8), d DATETIME, seen TIMESTAMP NULL, KEY (person),"
    " KEY (place, n), KEY (tag), KEY (d), KEY (seen)) CHARACTER SET latin1",
    "CREATE OR REPLACE TABLE tag (sale BIGINT, word VARCHAR(10) NOT NULL, weight DOUBLE, PRIMARY KEY (sale, word))"
    " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "INSERT INTO place SELECT seq, CONCAT('place', seq), IF(seq % 4, CHAR(65 + seq), NULL) FROM seq_1_to_12",
    "INSERT INTO person SELECT seq, IF(seq % 7, CONCAT('name', seq % 40), NULL), IF(seq % 5, seq % 14, NULL),"
    " '1970-01-01' + INTERVAL seq DAY, '2024-01-01' + INTERVAL seq HOUR, IF(seq % 3, CONCAT('note ', seq % 9), NULL)"
    " FROM seq_1_to_120",
    "INSERT INTO sale SELECT seq, IF(seq % 11, seq % 130, NULL), seq % 13, seq % 5, IF(seq % 6, seq / 8, NULL),"
    " ELT(1 + seq % 4, 'a', 'b', 'c'), IF(seq % 9, CONCAT('t', seq % 17), NULL), '2024-02-01' + INTERVAL seq MINUTE,"
    " IF(seq % 8, '2024-02-01 12:00:00' - INTERVAL seq MINUTE, NULL) FROM seq_1_to_900",
    "INSERT INTO tag SELECT seq % 300, CONCAT('w', seq % 7), seq / 4 FROM seq_1_to_900 GROUP BY seq % 300, seq % 7",
    "ANALYZE TABLE place, person, sale, tag",
)

COLUMNS = {
    "p": ("place", {"id": "int", "name": "text", "code": "text"}),
    "h": ("person", {"id": "int", "name": "text", "place": "int", "born": "date", "since": "time", "note": "text"}),
    "s": (
        "sale",
        {
            "id": "int",
            "person": "int",
            "place": "int",
            "n": "int",
            "price": "decimal",
            "kind": "kind",
            "tag": "text",
            "d": "time",
            "seen": "time",
        },
    ),
    "t": ("tag", {"sale": "int", "word": "text"}),
}
KEYS = {
    "p": ("PRIMARY", "name"),
    "h": ("PRIMARY", "place", "since"),
    "s": ("PRIMARY", "person", "d"),
    "t": ("PRIMARY",),
}
# Functions of the session: sessions that are compared have the same time, ids and connection id.
OF_SESSION = (
    "NOW()",
    "NOW(3)",
    "CURDATE()",
    "UNIX_TIMESTAMP()",
    "UTC_TIMESTAMP()",
    "LAST_INSERT_ID()",
    "CONNECTION_ID()",
    "DATABASE()",
    "CURRENT_USER()",
)
MOMENTS = (
    "NOW()",
    "CURRENT_TIMESTAMP(3)",
    "CURDATE()",
    "UTC_TIMESTAMP()",
    "NOW() - INTERVAL 5 HOUR",
    "DATE_SUB(CURDATE(), INTERVAL 1 DAY)",
    "DATE(NOW() + INTERVAL 90 MINUTE)",
)
# Values that no row has: at the limits of types and beyond them, or in another form than the column's.
EXTREMES = {
    "int": (0, -128, 128, 65535, 2147483647, -2147483649, 4294967295, 2**63 - 1, -(2**63), 2**64 - 1),
    "text": ("", " ", "name1 ", "NAME3", "%", "_", "\u00e9\u00c9", "\u65e5\u672c", "x" * 240),
    "decimal": (
        0,
        -1,
        Decimal("0.005"),
        Decimal("-0.00"),
        Decimal("9999999.99"),
        Decimal("-9999999.99"),
        2**63,
        Decimal(10**20),
    ),
    "date": ("0000-00-00", "1000-01-01", "9999-12-31", "1970-02-30", "1970-1-2", "1970-01-01 00:00:00", "x"),
    "time": (
        "0000-00-00 00:00:00",
        "9999-12-31 23:59:59",
        "2024-02-30 00:00:00",
        "2024-02-01",
        "2024-02-01 00:05:00.500",
        "x",
    ),
    "kind": ("", "A", "z"),
}
# How to join each table: the tables that may come before it, and the join conditions then.
JOINS = {
    "h": {"p": "h.place = p.id", "s": "h.id = s.person"},
    "s": {"h": "s.person = h.id", "p": "s.place = p.id", "t": "s.id = t.sale"},
    "p": {"h": "p.id = h.place", "s": "p.id = s.place"},
    "t": {"s": "t.sale = s.id"},
}
CHANGES = (
    "UPDATE sale SET price = price + 1, n = (n + 1) % 5 WHERE id = {n}",
    "UPDATE sale SET person = {n} % 130, tag = CONCAT('t', {n} % 17) WHERE id = {n}",
    "DELETE FROM sale WHERE id = {n}",
    "INSERT IGNORE INTO sale SELECT {n}, {n} % 130, {n} % 13, 1, 2.5, 'b', 't3', '2024-02-01 10:00:00', NULL",
    "UPDATE person SET name = CONCAT('name', {n} % 40), place = {n} % 14 WHERE id = {n} % 120",
    "UPDATE person SET note = NULL, since = since + INTERVAL 1 DAY WHERE id = {n} % 120",
    "UPDATE place SET code = CHAR(65 + {n} % 20) WHERE id = {n} % 13",
    "DELETE FROM tag WHERE sale = {n} % 300",
    "INSERT IGNORE INTO tag VALUES ({n} % 300, 'w2', 1), ({n} % 300, 'w9', 2)",
)


class RandomSelects:
    """Texts with ?, and values for them: the same text may be executed again with others."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def change(self):
        return self.random.choice(CHANGES).format(n=self.random.randrange(1, 900))

    def value(self, kind, column):
        if self.random.random() < 0.08:
            return self.random.choice(EXTREMES[kind])
        number = self.random.randrange(0, 140)
        if kind == "int":
            return self.random.choice((number, number, number, number % 14, -1, 100000))
        if kind == "text":
            if column == "name":
                return self.random.choice((f"name{number % 45}", f"NAME{number % 45}", f"place{number % 14}", "é", ""))
            return self.random.choice((f"t{number % 19}", f"w{number % 9}", "C", "o'brien", f"note {number % 9}"))
        if kind == "decimal":
            return self.random.choice(
                (number, number % 20, Decimal(number) / 8, Decimal(number % 20) + Decimal("0.50"))
            )
        if kind == "date":
            return f"1970-0{1 + number % 4}-{1 + number % 28:02}"
        if kind == "time":
            return f"2024-0{1 + number % 3}-{1 + number % 27:02} {number % 24:02}:00:00"
        return self.random.choice("abc")

    def condition(self, alias, makers):
        column, kind = self.random.choice(list(COLUMNS[alias][1].items()))
        name = f"{alias}.{column}"
        what = self.random.randrange(22)
        if what >= 19 and kind in ("int", "decimal", "time", "date"):
            return self.sum(name, kind, makers)
        if what == 15 and kind in ("time", "date"):
            return self.near_now(name)
        if what == 16 and kind == "int":
            return f"{name} {self.random.choice(('=', '=', '<', '>='))} LAST_INSERT_ID()"
        value = lambda: self.value(kind, column)
        if what == 17:
            if self.random.random() < 0.3:
                test = self.random.choice(("<=>", "<=>", "=", "<>", "<", ">="))
                nulls = (f"{name} {test} NULL", f"(NULL {test} {name} OR NULL IS NULL AND {name} IS NULL)")
                return self.random.choice(nulls)
            makers.append(value)
            return f"{name} <=> ?"
        if what == 18:
            other, of = self.random.choice(list(COLUMNS[alias][1].items()))
            makers += [value, lambda: self.value(of, other)] * 2
            negated = self.random.choice(("", "", "", "NOT "))
            return f"({name}, {alias}.{other}) {negated}IN ((?, ?), (?, ?))"
        if what == 0:
            return f"{name} IS {self.random.choice(('', 'NOT '))}NULL"
        if what == 1:
            makers += [value, value]
            return f"{name} {self.random.choice(('', '', 'NOT '))}BETWEEN ? AND ?"
        if what == 2 and kind == "text":
            makers.append(lambda: self.random.choice(("n%", "t1%", "%e1", "w_", "place%")))
            return f"{name} LIKE ?"
        if what == 3:
            makers += [value, value]
            return f"({name} = ? OR {name} > ?)"
        if what == 4:
            fixed = ", ".join(str(value()) if kind in ("int", "decimal") else f"'{value()}'" for _ in range(3)).replace(
                "o'b", "ob"
            )
            return f"{name} {self.random.choice(('', 'NOT '))}IN ({fixed})"
        if what == 5:
            makers.append(value)
            return f"NOT {name} = ?"
        if what in (12, 13):
            many = self.random.choice((2, 3, 3, 9))
            makers += [value] * many
            return f"{name} {self.random.choice(('', '', '', 'NOT '))}IN ({', '.join('?' * many)})"
        if what == 14:
            makers += [value, value]
            return f"{name} > ? AND {name} < ?"
        makers.append(value)
        return f"{name} {self.random.choice(('=', '=', '=', '=', '<', '>=', '<>'))} ?"

    def subquery(self, alias, makers, aliases):
        """A condition on `alias` by rows of a table that is not among `aliases`; empty: there is none."""
        chance = self.random
        left = [new for new in JOINS if new not in aliases and alias in JOINS[new]]
        if not left:
            return ""
        new = chance.choice(left)
        own, outer = JOINS[new][alias].split(" = ")
        if own[0] != new:
            own, outer = outer, own
        source = f"FROM {COLUMNS[new][0]} {new}"
        more = [self.condition(new, makers) for _ in range(chance.choice((0, 1, 1, 2)))]
        within = self.subquery(new, makers, [*aliases, new]) if chance.random() < 0.25 else ""
        more += [within] if within else []
        tied = " WHERE " + " AND ".join([f"{own} = {outer}", *more])
        loose = " WHERE " + " AND ".join(more) if more else ""
        negated = chance.choice(("", "NOT "))
        what = chance.randrange(6)
        if what < 2:
            return f"{negated}EXISTS (SELECT 1 {source}{tied}{chance.choice(('', ' LIMIT 1'))})"
        if what == 2:
            return f"{negated}EXISTS (SELECT {new}.* {source}{loose})"
        if what == 3:
            return f"{outer} {negated}IN (SELECT {own} {source}{loose})"
        number = self.number_of(new)
        if what == 4:
            return f"{self.number_of(alias)} >= (SELECT MIN({number}) {source}{tied})"
        return f"{self.number_of(alias)} {chance.choice(('=', '<', '<>'))} (SELECT MAX({number}) {source}{loose})"

    def near_now(self, name):
        how = self.random.choice(("<", "<=", ">", ">=", "<>", "=", "BETWEEN"))
        if how == "BETWEEN":
            return f"{name} BETWEEN {self.random.choice(MOMENTS)} - INTERVAL 2 DAY AND NOW()"
        if self.random.random() < 0.2:
            return f"{self.random.choice(MOMENTS)} {how} {name}"
        return f"{name} {how} {self.random.choice(MOMENTS)}"

    def sum(self, name, kind, makers):
        """A comparison with numbers calculated from values."""
        how = self.random.choice(("=", "<", "<=", ">", ">=", "<>", "<=>"))
        if kind in ("time", "date"):
            unit = self.random.choice(("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "DAY_HOUR"))
            start = self.random.choice(("NOW()", "CURDATE()", "TIMESTAMP'2024-02-01 03:00:00'", "UTC_TIMESTAMP(3)"))
            makers.append(self.operand)
            return f"{name} {how} {start} {self.random.choice('+-')} INTERVAL ? {unit}"
        text = self.random.choice(
            (
                "{} {} ? - 20",
                "{} {} ? - ?",
                "{} {} 9 + ? - ?",
                "{} {} ? * 3",
                "{} {} -?",
                "{} {} -(? - ?) + 7",
                "{} - ? {} ?",
                "{} * ? {} ? + 1",
                "? - 9 {1} {0}",
                "{} BETWEEN ? - 9 AND ? + 9",
                "{} NOT BETWEEN ? AND ? + 9",
                "{} BETWEEN ? AND ? * 2",
                "{} IN (?, ? + 1, ? - 1)",
                "({} > ? - 9 OR ? * 2 > 40)",
                "NOT {} {} ? - 9",
            )
        )
        makers += [self.operand] * text.count("?")
        return text.format(name, how)

    def operand(self):
        chance = self.random.random()
        number = self.random.randrange(0, 140)
        if chance < 0.85:
            return self.random.choice((number, number, number, -number, 20, Natural(number)))
        return self.random.choice(
            (Decimal(number) / 8, float(number), number + 0.5, f"{number}", f"{number}x", "x", "2:3", *EXTREMES["int"])
        )

    def hint(self, alias):
        if self.random.random() < 0.85:
            return ""
        return f" {self.random.choice(('FORCE', 'USE', 'IGNORE'))} INDEX ({self.random.choice(KEYS[alias])})"

    def tables(self):
        """The aliases in their order, and FROM."""
        chance = self.random
        aliases = [chance.choice("hspt")]
        text = f"{COLUMNS[aliases[0]][0]} {aliases[0]}{self.hint(aliases[0])}"
        for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3))):
            left = [new for new in JOINS if new not in aliases and any(old in aliases for old in JOINS[new])]
            if not left:
                break
            new = chance.choice(left)
            old = chance.choice([one for one in JOINS[new] if one in aliases])
            how = chance.choice(("JOIN", "JOIN", "LEFT JOIN", "INNER JOIN", "STRAIGHT_JOIN"))
            text += f" {how} {COLUMNS[new][0]} {new}{self.hint(new)} ON {JOINS[new][old]}"
            aliases.append(new)
        return aliases, text

    def expression(self, alias):
        column, kind = self.random.choice(list(COLUMNS[alias][1].items()))
        name = f"{alias}.{column}"
        plain = (name, name, name, f"IFNULL({name}, 'none')", f"{name} IS NULL", f"COALESCE({name}, 1)")
        if self.random.random() < 0.1:
            return self.random.choice(OF_SESSION)
        special = {
            "int": (
                f"{name} + 1",
                f"{name} % 3",
                f"{name} * 2",
                f"CASE WHEN {name} > 5 THEN 'big' ELSE 'small' END",
                f"CASE WHEN {name} > 5 THEN {name} ELSE NULL END",
                f"{name} | 4",
                f"BIT_COUNT({name})",
                f"FIELD({name}, 3, 1, 2)",
                f"{name} + LAST_INSERT_ID()",
            ),
            "decimal": (f"{name} / 3", f"ROUND({name}, 1)", f"ABS({name})"),
            "text": (
                f"UPPER({name})",
                f"CONCAT({name}, '-', {name})",
                f"LENGTH({name})",
                f"LEFT({name}, 2)",
                f"MD5({name})",
                f"HEX({name})",
                f"SUBSTRING_INDEX({name}, 'e', 1)",
                f"LPAD({name}, 9, '*')",
                f"FIND_IN_SET({name}, 't1,t2,name3')",
            ),
            "date": (f"YEAR({name})", f"MONTH({name})", f"DATEDIFF({name}, CURDATE())", f"{name} + INTERVAL 2 MONTH"),
            "time": (
                f"YEAR({name})",
                f"MONTH({name})",
                f"DATE_FORMAT({name}, '%d %M')",
                f"{name} < NOW()",
                f"WEEK({name})",
                f"TIMESTAMPDIFF(MINUTE, {name}, NOW())",
                f"UNIX_TIMESTAMP({name})",
                f"DATE_ADD({name}, INTERVAL 1 DAY)",
            ),
        }
        return self.random.choice(plain + special.get(kind, ()))

    def conditions(self, aliases, makers):
        """Conditions that mostly match few rows."""
        chance = self.random
        found = chance.choice(("id", "person", "place")) if aliases[0] != "t" else "sale"
        first = [f"{aliases[0]}.{found} = ?"] if found in COLUMNS[aliases[0]][1] and chance.random() < 0.8 else []
        if first:
            makers.append(lambda: self.value("int", found))
        return first + [self.condition(chance.choice(aliases), makers) for _ in range(chance.choice((0, 0, 1, 1, 2)))]

    def derived(self, makers):
        """A SELECT for FROM, with columns c1 (a number) and c2."""
        chance = self.random
        aliases, source = self.tables()
        conditions = self.conditions(aliases, makers)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        number, other = self.number_of(chance.choice(aliases)), self.expression(chance.choice(aliases))
        if any(word in other for word in OF_SESSION):
            other = "1"
        kind = chance.randrange(5)
        if kind == 0:
            return f"SELECT DISTINCT {number} c1, {other} c2 FROM {source}{where}"
        if kind == 1:
            return f"SELECT {number} c1, COUNT(*) c2 FROM {source}{where} GROUP BY {number}{chance.choice(('', ' ORDER BY NULL'))}"
        if kind == 2:
            limit = chance.choice(("0", "1", "5", "3, 4", "4 OFFSET 1"))
            return f"SELECT {number} c1, {other} c2 FROM {source}{where} ORDER BY 1, 2 LIMIT {limit}"
        if kind == 3:
            return f"SELECT MAX({number}) c1, COUNT(DISTINCT {self.number_of(aliases[0])}) c2 FROM {source}{where}"
        return f"SELECT {number} c1, {other} c2 FROM {source}{where}"

    def select_of_derived(self):
        chance, makers = self.random, []
        how = chance.randrange(6)
        if how == 0:
            return f"SELECT COUNT(*) FROM ({self.derived(makers)}) q", makers
        if how == 1:
            return (
                f"SELECT q.c2, COUNT(*), SUM(q.c1) FROM ({self.derived(makers)}) q GROUP BY 1 ORDER BY 1, 2, 3",
                makers,
            )
        if how == 2:
            text = f"SELECT * FROM ({self.derived(makers)}) q WHERE q.c1 > 3 ORDER BY c1, c2 LIMIT ?"
            return text, makers + [lambda: chance.randrange(0, 6)]
        if how == 3:
            text = f"SELECT h.id, q.c2 FROM ({self.derived(makers)}) q JOIN person h ON h.id = q.c1"
        elif how == 4:
            text = f"SELECT h.id, q.c2 FROM person h LEFT JOIN ({self.derived(makers)}) q ON q.c1 = h.id"
        else:
            one, two = self.derived(makers), self.derived(makers)
            return f"SELECT a.c1, b.c2 FROM ({one}) a JOIN ({two}) b ON b.c1 = a.c1 ORDER BY 1, 2", makers
        makers.append(lambda: self.value("int", "place"))
        return f"{text} WHERE h.place = ? ORDER BY 1, 2", makers

    def union(self):
        """A UNION of two or three SELECTs of a number and something else; mostly with an order and a limit."""
        chance, makers = self.random, []
        texts = []
        for _ in range(chance.choice((2, 2, 3))):
            aliases, source = self.tables()
            conditions = self.conditions(aliases, makers)
            where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            number, other = self.number_of(chance.choice(aliases)), self.expression(chance.choice(aliases))
            if any(word in other for word in OF_SESSION):
                other = "1"
            group = ""
            if chance.random() < 0.2:
                other, group = "COUNT(*)", f" GROUP BY {number}"
            one = f"SELECT {chance.choice(('', '', 'DISTINCT '))}{number} c1, {other} c2 FROM {source}{where}{group}"
            texts.append(f"({one} ORDER BY 1, 2 LIMIT {chance.choice((1, 3))})" if chance.random() < 0.2 else one)
        text = texts[0]
        for one in texts[1:]:
            text += f" UNION {chance.choice(('', 'ALL ', 'DISTINCT '))}{one}"
        if chance.random() < 0.6:
            text += " ORDER BY 1, 2" + chance.choice(("", "", " LIMIT 4", " LIMIT 3 OFFSET 2"))
        return text, makers

    def select(self):
        chance = self.random
        if chance.random() < 0.15:
            return self.select_of_derived()
        if chance.random() < 0.1:
            return self.union()
        aliases, source = self.tables()
        makers = []
        conditions = self.conditions(aliases, makers)
        if chance.random() < 0.3:
            inner = []
            conditions.append(self.subquery(chance.choice(aliases), inner, aliases) or "1 = 1")
            makers += inner
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        options = chance.choice(("", "", "", "DISTINCT ", "SQL_CALC_FOUND_ROWS "))
        columns = [self.expression(chance.choice(aliases)) for _ in range(chance.choice((1, 2, 3)))]
        if chance.random() < 0.1:
            of = [new for new in JOINS if new not in aliases and aliases[0] in JOINS[new]]
            columns += [self.column_of(new, JOINS[new][aliases[0]]) for new in of[:1]]
        group = having = ""
        if chance.random() < 0.35:
            sums = [
                chance.choice(
                    (
                        "COUNT(*)",
                        "SUM({}) ",
                        "MIN({})",
                        "MAX({})",
                        "COUNT({})",
                        "AVG({})",
                        "COUNT(DISTINCT {})",
                        "GROUP_CONCAT({0} ORDER BY {0})",
                        "GROUP_CONCAT(DISTINCT {0} ORDER BY {0} DESC SEPARATOR '/')",
                    )
                ).format(self.number_of(chance.choice(aliases)))
                for _ in range(chance.choice((1, 2)))
            ]
            if chance.random() < 0.3:
                columns, options = sums, ""
            else:
                group = f" GROUP BY {', '.join(str(1 + at) for at in range(len(columns)))}"
                columns += sums
                if chance.random() < 0.3:
                    having = " HAVING COUNT(*) > 1"
        order = ""
        if chance.random() < 0.7:
            order = " ORDER BY " + ", ".join(
                f"{1 + at}{chance.choice(('', '', ' DESC'))}" for at in range(len(columns))
            )
            if chance.random() < 0.5:
                order += " LIMIT ?"
                makers.append(lambda: chance.randrange(1, 6))
                if chance.random() < 0.3:
                    order += " OFFSET ?"
                    makers.append(lambda: chance.choice((0, 1, 2, 7)))
        text = f"SELECT {options}{', '.join(columns)} FROM {source}{where}{group}{having}{order}"
        return text, makers

    def column_of(self, alias, tied):
        """A column of the answer, from the rows of another table that a condition ties to the rest."""
        number, order = self.number_of(alias), ""
        what = self.random.choice(("COUNT(*)", "MAX({})", "GROUP_CONCAT({0} ORDER BY {0})", "newest"))
        if what == "newest":
            what, order = "{}", f" ORDER BY {number} DESC LIMIT 1"
        return f"(SELECT {what.format(number)} FROM {COLUMNS[alias][0]} {alias} WHERE {tied}{order})"

    def number_of(self, alias):
        names = [name for name, kind in COLUMNS[alias][1].items() if kind in ("int", "decimal")]
        return f"{alias}.{self.random.choice(names)}"
