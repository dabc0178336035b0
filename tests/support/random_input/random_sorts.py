"""Random SELECTs of rows that are sorted, with subqueries in their conditions and columns and mostly a TEXT column: the
server sorts rowids, and reads for the sort only the columns that it needs."""
from support.random_input.random_selects import COLUMNS, JOINS, RandomSelects


class RandomSorts(RandomSelects):
    def select(self):
        while True:
            text, makers = self.sorted_rows()
            if "(SELECT" in text:
                return text, makers

    def sorted_rows(self):
        chance = self.random
        aliases = [chance.choice("hhhspt")]
        source = f"{COLUMNS[aliases[0]][0]} {aliases[0]}"
        if chance.random() < 0.6:
            aliases, source = self.tables()
        makers = []
        conditions = self.conditions(aliases, makers) if chance.random() < 0.5 else []
        for _ in range(chance.choice((0, 1, 1, 2))):
            conditions.append(self.subquery(chance.choice(aliases), makers, aliases) or "1 = 1")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if len(conditions) > 1 and chance.random() < 0.3:
            key = "sale" if aliases[0] == "t" else "id"
            where = f" WHERE ({conditions[0]} OR {aliases[0]}.{key} = 7)" + "".join(
                f" AND {one}" for one in conditions[1:]
            )
        columns = [self.expression(chance.choice(aliases)) for _ in range(chance.choice((1, 2)))]
        first = chance.choice(aliases)
        of = [new for new in JOINS if new not in aliases and first in JOINS[new]]
        if of and chance.random() < 0.7:
            columns.append(self.column_of(of[0], JOINS[of[0]][first]))
        chance.shuffle(columns)
        if "h" in aliases and chance.random() < 0.6:
            columns.append("h.note")
        order = [f"{at + 1}{chance.choice(('', ' DESC'))}" for at in range(len(columns))]
        text = f"SELECT {', '.join(columns)} FROM {source}{where} ORDER BY {', '.join(order)}"
        if chance.random() < 0.5:
            text += " LIMIT ?"
            makers.append(lambda: chance.randrange(1, 6))
        return text, makers
