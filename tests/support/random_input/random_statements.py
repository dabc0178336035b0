"""Random SELECTs over random tables. Their results do not depend on the plan, but for the order of unordered rows and,
where a statement is `loose`, for the case of letters that its collation takes for equal."""
from dataclasses import dataclass, field

from support.random_input.random_schemas import ODD, Column, literal

COMPARISONS = ("=", "=", "=", "=", "<", "<=", ">", ">=", "<>", "<=>")


@dataclass
class Statement:
    """A text with ?, and what makes a value for each."""

    text: str
    makers: list = field(default_factory=list)
    ordered: bool = False
    loose: bool = False


class Statements:
    def __init__(self, schema):
        self.schema = schema
        self.chance = schema.chance
        self.made = 0
        self.makers = []
        self.loose = False

    # Parts. An alias stands with its table.

    def alias(self):
        self.made += 1
        return f"x{self.made}", self.chance.choice(self.schema.tables)

    def column(self, of, kinds=None):
        alias, table = of
        able = [one for one in table.columns if one.kind != "point" and (kinds is None or one.kind in kinds)]
        found = self.chance.choice(able)
        return f"{alias}.{found.name}", found

    def value(self, column):
        """A ? with values that are mostly some of the column's, or a literal."""
        chance = self.chance
        if chance.random() < 0.15:
            return literal(column.kind, column.value(chance))

        def make():
            if chance.random() < 0.06:
                return chance.choice(ODD)
            return column.value(chance)

        self.makers.append(make)
        return "?"

    def tie(self, old, new):
        """A condition that joins two tables."""
        chance = self.chance
        (a, first), (b, second) = old, new
        what = chance.random()
        if what < 0.35:
            return f"{a}.{chance.choice('km')} = {b}.id"
        if what < 0.6:
            return f"{a}.id = {b}.{chance.choice('km')}"
        if what < 0.8:
            return f"{a}.{chance.choice('km')} = {b}.{chance.choice('km')}"
        if what < 0.87:
            return f"{a}.w = {b}.w"
        if what < 0.9:
            return f"{a}.{chance.choice('km')} {chance.choice(('<', '>=', '<=>'))} {b}.{chance.choice('km')}"
        name, column = self.column(old)
        same = [one for one in second.columns if one.kind == column.kind]
        return f"{name} = {b}.{chance.choice(same).name}" if same else f"{a}.id = {b}.id"

    def condition(self, of):
        chance = self.chance
        name, column = self.column(of)
        what = chance.random()
        if what < 0.4:
            return f"{name} {chance.choice(COMPARISONS)} {self.value(column)}"
        if what < 0.5:
            return f"{name} IS {chance.choice(('', 'NOT '))}NULL"
        if what < 0.6:
            return f"{name} BETWEEN {self.value(column)} AND {self.value(column)}"
        if what < 0.7:
            values = ", ".join(self.value(column) for _ in range(chance.choice((2, 3, 5))))
            return f"{name} {chance.choice(('', '', 'NOT '))}IN ({values})"
        if what < 0.78:
            other, of_other = self.column(of)
            return f"({name} = {self.value(column)} OR {other} {chance.choice(COMPARISONS)} {self.value(of_other)})"
        if what < 0.83:
            return f"({name} = {self.value(column)} OR {name} IS NULL)"
        if what < 0.88 and column.kind == "text":
            return f"{name} LIKE '{chance.choice(('a%', 'A_%', '%b', 'x', 'é%', '%'))}'"
        if what < 0.92:
            other, of_other = self.column(of)
            return f"({name}, {other}) = ({self.value(column)}, {self.value(of_other)})"
        if what < 0.95:
            return f"NOT ({name} {chance.choice(COMPARISONS)} {self.value(column)})"
        return f"{of[0]}.k {chance.choice(COMPARISONS)} {of[0]}.m"

    def conditions(self, aliases, least=0):
        chance = self.chance
        found = []
        for _ in range(max(least, chance.choice((0, 1, 1, 2)))):
            if chance.random() < 0.5:
                alias, table = chance.choice(aliases)
                column = table.by_name[chance.choice(("id", "k", "m", "w"))]
                found.append(f"{alias}.{column.name} = {self.value(column)}")
            else:
                found.append(self.condition(chance.choice(aliases)))
        return found

    def hint(self, of):
        if self.chance.random() < 0.9 or not of[1].indexes:
            return ""
        return f" {self.chance.choice(('FORCE', 'USE', 'IGNORE'))} INDEX ({self.chance.choice(of[1].indexes)})"

    def tables(self, most=4):
        """Aliases in their order, and FROM."""
        chance = self.chance
        aliases = [self.alias()]
        text = f"{aliases[0][1].name} {aliases[0][0]}{self.hint(aliases[0])}"
        for _ in range(min(chance.choice((0, 1, 1, 1, 2, 3)), most - 1)):
            new, old = self.alias(), chance.choice(aliases)
            how = chance.choice(("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"))
            tie = self.tie(old, new)
            if chance.random() < 0.25:
                tie += f" AND {self.condition(chance.choice((old, new)))}"
            text += f" {how} {new[1].name} {new[0]}{self.hint(new)} ON {tie}"
            aliases.append(new)
        return aliases, text

    def inner(self, outer, tied, most=2):
        """FROM and WHERE of a subquery; and its first table."""
        aliases, source = self.tables(most)
        found = self.conditions(aliases)
        if tied:
            found.append(self.tie(outer, aliases[0]))
        if self.chance.random() < 0.15:
            found.append(self.subquery(self.chance.choice(aliases)))
        return aliases, f"FROM {source}" + (f" WHERE {' AND '.join(found)}" if found else "")

    def scalar(self, outer):
        chance = self.chance
        what = chance.random()
        aliases, rest = self.inner(outer, chance.random() < 0.7)
        name, column = self.column(aliases[0])
        if what < 0.3:
            return f"(SELECT COUNT(*) {rest})"
        if what < 0.7:
            self.loose = self.loose or column.ignores_case
            return f"(SELECT {chance.choice(('MIN', 'MAX'))}({name}) {rest})"
        if what < 0.85:
            return f"(SELECT SUM({aliases[0][0]}.{chance.choice('km')}) {rest})"
        order = ", ".join(f"{alias}.id" for alias, _ in aliases)
        return f"(SELECT {name} {rest} ORDER BY {self.order_of(aliases[0])}{order} LIMIT 1)"

    def order_of(self, of):
        name, column = self.column(of)
        if not column.sorted or self.chance.random() < 0.4:
            return ""
        return f"{name}{self.chance.choice(('', ' DESC'))}, "

    def subquery(self, outer):
        """A condition on rows of another SELECT."""
        chance = self.chance
        what = chance.random()
        negated = chance.choice(("", "", "NOT "))
        if what < 0.35:
            _, rest = self.inner(outer, chance.random() < 0.85)
            return f"{negated}EXISTS (SELECT 1 {rest})"
        if what < 0.65:
            name, column = self.column(outer)
            if chance.random() < 0.7:
                name = f"{outer[0]}.{chance.choice(('id', 'k', 'm', 'w'))}"
            aliases, rest = self.inner(outer, chance.random() < 0.3)
            inner = f"{aliases[0][0]}.{chance.choice(('id', 'k', 'm')) if not name.endswith('.w') else 'w'}"
            group = f" GROUP BY {inner}" if chance.random() < 0.1 else ""
            return f"{name} {negated}IN (SELECT {inner} {rest}{group})"
        if what < 0.7:
            aliases, rest = self.inner(outer, False)
            return (
                f"{outer[0]}.k {chance.choice(('> ALL', '= ANY', '<> ALL', '< ANY'))} (SELECT {aliases[0][0]}.m {rest})"
            )
        name, _ = self.column(outer, ("int", "decimal", "float"))
        return f"{name} {chance.choice(COMPARISONS)} {self.scalar(outer)}"

    def expression(self, aliases):
        chance = self.chance
        of = chance.choice(aliases)
        name, column = self.column(of)
        what = chance.random()
        if what < 0.55:
            return name, column
        number = Column("n", "INT", "int", (), "", True)
        if what < 0.65 and column.kind in ("int", "decimal", "float"):
            return chance.choice((f"{name} + 1", f"{name} % 3", f"-{name}", f"{name} * 2", f"ABS({name})")), number
        if what < 0.75 and column.kind == "text":
            form = chance.choice(("UPPER({})", "CONCAT({}, '-')", "LEFT({}, 2)", "REVERSE({})", "RPAD({}, 70, 'q')"))
            return form.format(name), column
        if what < 0.85:
            return (
                chance.choice((f"{name} IS NULL", f"IFNULL({name}, 'none')", f"LENGTH({name})", f"HEX({name})")),
                column,
            )
        if what < 0.92:
            return f"IF({of[0]}.k > 3, {name}, NULL)", column
        return f"COALESCE({name}, {of[0]}.m)", column

    def where(self, aliases, subqueries=0.35):
        chance = self.chance
        found = self.conditions(aliases)
        while chance.random() < subqueries and len(found) < 4:
            found.append(self.subquery(chance.choice(aliases)))
        if len(found) > 1 and chance.random() < 0.15:
            return f" WHERE ({found[0]} OR {found[1]})" + "".join(f" AND {one}" for one in found[2:])
        return f" WHERE {' AND '.join(found)}" if found else ""

    def limit(self):
        chance = self.chance
        what = chance.random()
        if what < 0.5:
            return ""
        if what < 0.6:
            return f" LIMIT {chance.choice((0, 1, 3))}"
        self.makers.append(lambda: chance.choice((0, 1, 1, 2, 3, 5, 100)))
        if what < 0.8:
            return " LIMIT ?"
        self.makers.append(lambda: chance.choice((0, 0, 1, 2, 30)))
        return " LIMIT ? OFFSET ?"

    # Statements.

    def rows(self):
        """Rows of joined tables, in a total order or none."""
        chance = self.chance
        first = [] if chance.random() < 0.7 else [True]
        aliases, columns = None, []
        start = len(self.makers)
        aliases, source = self.tables()
        of_source = self.makers[start:]
        del self.makers[start:]
        for _ in range(chance.choice((1, 2, 3))):
            columns.append(
                self.scalar(chance.choice(aliases)) if first and chance.random() < 0.5 else self.expression(aliases)[0]
            )
        if chance.random() < 0.2:
            columns = [f"{aliases[0][0]}.*", *columns]
        self.makers += of_source
        where = self.where(aliases)
        if chance.random() < 0.25:
            return f"SELECT {', '.join(columns)} FROM {source}{where}", False
        keys = []
        for _ in range(chance.choice((0, 1, 1, 2))):
            if chance.random() < 0.25:
                loose, self.loose = self.loose, False
                keys.append(self.scalar(chance.choice(aliases)))
                if self.loose:
                    keys[-1] = f"LOWER({keys[-1]})"
                self.loose = loose or self.loose
            else:
                text, column = self.expression(aliases)
                if column.sorted:
                    keys.append(text)
        keys = [f"{one}{chance.choice(('', ' DESC'))}" for one in keys] + [f"{alias}.id" for alias, _ in aliases]
        return f"SELECT {', '.join(columns)} FROM {source}{where} ORDER BY {', '.join(keys)}{self.limit()}", True

    def sums(self, aliases):
        chance = self.chance
        found = []
        for _ in range(chance.choice((1, 1, 2, 3))):
            of = chance.choice(aliases)
            name, column = self.column(of)
            number = f"{of[0]}.{chance.choice(('id', 'k', 'm'))}"
            what = chance.choice(
                (
                    "COUNT(*)",
                    f"COUNT({name})",
                    f"COUNT(DISTINCT {name})",
                    f"COUNT(DISTINCT {number}, {name})",
                    f"SUM({number})",
                    f"SUM(DISTINCT {number})",
                    f"AVG({number})",
                    f"MIN({name})",
                    f"MAX({name})",
                    f"MIN({number})",
                    f"GROUP_CONCAT({number} ORDER BY {number})",
                    f"GROUP_CONCAT(DISTINCT {number} ORDER BY {number} DESC)",
                )
            )
            self.loose = self.loose or (column.ignores_case and what.startswith("M"))
            found.append(what)
        return found

    def groups(self):
        chance = self.chance
        aliases, source = self.tables()
        where = self.where(aliases)
        if chance.random() < 0.25:
            return f"SELECT {', '.join(self.sums(aliases))} FROM {source}{where}", True
        keys = []
        for _ in range(chance.choice((1, 1, 2))):
            text, column = self.expression(aliases)
            self.loose = self.loose or column.ignores_case
            keys.append(text)
        columns = keys + self.sums(aliases)
        text = (
            f"SELECT {', '.join(columns)} FROM {source}{where} GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}"
        )
        if chance.random() < 0.3:
            text += f" HAVING COUNT(*) {chance.choice(('>', '=', '<'))} {chance.choice((1, 2, 3))}"
        if chance.random() < 0.3:
            return text, False
        order = list(range(1, len(columns) + 1))
        if self.loose:
            return text, False
        chance.shuffle(order)
        order = [f"{at}{chance.choice(('', ' DESC'))}" for at in order]
        return f"{text} ORDER BY {', '.join(order)}{self.limit()}", True

    def distinct(self):
        chance = self.chance
        aliases, source = self.tables()
        columns = []
        for _ in range(chance.choice((1, 2))):
            text, column = self.expression(aliases)
            self.loose = self.loose or column.ignores_case
            columns.append(text)
        where = self.where(aliases)
        text = f"SELECT DISTINCT {', '.join(columns)} FROM {source}{where}"
        if self.loose or chance.random() < 0.3:
            return text, False
        order = [f"{at + 1}{chance.choice(('', ' DESC'))}" for at in range(len(columns))]
        return f"{text} ORDER BY {', '.join(order)}{self.limit()}", True

    def derived(self):
        """A SELECT for FROM, with columns c1, a number, and c2."""
        chance = self.chance
        aliases, source = self.tables(3)
        number = f"{aliases[0][0]}.{chance.choice(('id', 'k', 'm'))}"
        other, column = self.expression(aliases)
        where = self.where(aliases, 0.15)
        what = chance.randrange(4)
        if what == 0:
            return f"SELECT {number} c1, {chance.choice(('COUNT(*)', f'MAX({aliases[0][0]}.id)'))} c2 FROM {source}{where} GROUP BY {number}"
        if what == 1:
            self.loose = self.loose or column.ignores_case
            return f"SELECT DISTINCT {number} c1, {other} c2 FROM {source}{where}"
        if what == 2:
            order = ", ".join(f"{alias}.id" for alias, _ in aliases)
            return f"SELECT {number} c1, {other} c2 FROM {source}{where} ORDER BY {number}, {order} LIMIT {chance.choice((1, 3, 5))}"
        return f"SELECT {number} c1, {other} c2 FROM {source}{where}"

    def of_derived(self):
        chance = self.chance
        new = self.alias()
        name = chance.choice(("k", "m", "id"))
        made = self.derived()
        how = chance.randrange(4)
        if how == 0:
            text, total = f"SELECT COUNT(*), SUM(q.c1), MIN(q.c1) FROM ({made}) q", True
        elif how == 1:
            text, total = f"SELECT q.c1, COUNT(*) FROM ({made}) q GROUP BY q.c1 ORDER BY 1", True
        elif how == 2:
            text = f"SELECT {new[0]}.id, q.c2, q.c1 FROM {new[1].name} {new[0]} LEFT JOIN ({made}) q ON q.c1 = {new[0]}.{name}"
            total = False
        else:
            text = (
                f"SELECT {new[0]}.id, q.c2, q.c1 FROM ({made}) q JOIN {new[1].name} {new[0]} ON q.c1 = {new[0]}.{name}"
            )
            total = False
        return text, total

    def union(self):
        chance = self.chance
        parts = []
        for _ in range(chance.choice((2, 2, 3))):
            aliases, source = self.tables(3)
            number = f"{aliases[0][0]}.{chance.choice(('id', 'k', 'm'))}"
            other, column = self.column(chance.choice(aliases))
            self.loose = self.loose or column.ignores_case
            parts.append(f"SELECT {number} c1, {other} c2 FROM {source}{self.where(aliases, 0.15)}")
        text = parts[0]
        for one in parts[1:]:
            text += f" UNION {chance.choice(('', 'ALL ', 'DISTINCT '))}{one}"
        if self.loose or chance.random() < 0.5:
            return text, False
        return f"{text} ORDER BY 1, 2{chance.choice(('', ' LIMIT 3', ' LIMIT 5 OFFSET 2'))}", True

    def select(self):
        self.makers, self.loose, self.made = [], False, 0
        kind = self.chance.choice(
            (self.rows,) * 6 + (self.groups,) * 3 + (self.distinct, self.distinct, self.of_derived, self.union)
        )
        text, ordered = kind()
        if text.count("?") != len(self.makers):
            return self.select()
        return Statement(text, self.makers, ordered, self.loose)
