"""Writes made twice: through a door into one database, by SQL into its twin. Both must end up with the same rows.

    twins = Twins(server)
    twins.make("CREATE TABLE t (k INT PRIMARY KEY, v TINYINT)")
    twins.run([Insert("t", k=b"1", v=b"300"), Update("t", b"1", v=b"5")])
    twins.assert_same()

SQL is the judge: the door must accept the same statements, and refuse others with the same
words, and all rows must be equal, history included. Values are the bytes of HandlerSocket tokens, None for NULL; they
are in the column's own character set.
"""
import datetime
import re
from decimal import Decimal
from typing import NamedTuple

import pymysql

DOOR, TWIN = "through_door", "through_sql_"  # equally long, so that messages are truncated at the same byte
STRICT = "CONCAT(@@GLOBAL.sql_mode, ',STRICT_ALL_TABLES')"
# The storage engine's numbers that the original answered, and SQL's names for them. 158: an empty geometry, which the
# server itself refuses before 11.
ENGINE_ERRORS = {
    "121": {1062, 1022},
    "139": {1118},
    "151": {1452},
    "152": {1451},
    "158": {1416},
    "160": {1526},
    "167": {167},
}
# Bad syntax, unknown column, unknown table: the test is wrong.
MISTAKES = {1064, 1054, 1146}
# The table that triggers write to; its first column is AUTO_INCREMENT.
LOG = "log"
PERIOD = ("row_start", "row_end")
NOW_TOLERANCE = datetime.timedelta(minutes=10)
BINARY_TYPES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit", "geometry", "point"}
# CAST to BINARY returns their bytes, not their text.
TEXT_FIRST_TYPES = {"uuid", "inet4", "inet6"}


class Insert:
    def __init__(self, table, **values):
        self.table, self.values = table, values


class Change:
    """Changes the rows from `key` on along `index`: U (values of columns), + and - (operands), or D."""

    def __init__(self, table, key, modification, values, index="PRIMARY", operator="=", limit=1):
        self.table, self.modification, self.values = table, modification, values
        self.index, self.operator, self.limit = index, operator, limit
        self.key = key if isinstance(key, tuple) else (key,)


def Update(table, key, **values):
    return Change(table, key, "U", values)


def Delete(table, key, **scan):
    return Change(table, key, "D", {}, **scan)


class Outcome(NamedTuple):
    accepted: bool
    number: int = 0  # SQL's error, or rows
    told: str = ""  # the error message
    generated: int = 0

    def __str__(self):
        return (
            f"accepted, {self.number} rows, id {self.generated}"
            if self.accepted
            else f"refused, {self.number} {self.told}"
        )


class SqlSide:
    """Writes by SQL statements in strict mode."""

    def __init__(self, server, database):
        self.server, self.database = server, database
        flags = pymysql.constants.CLIENT.FOUND_ROWS
        self.connection = server.connect(client_flag=flags)
        self.cursor = self.connection.cursor()
        self.cursor.execute(f"DROP DATABASE IF EXISTS {database}")
        self.cursor.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        self.cursor.execute(f"USE {database}")
        self.cursor.execute(f"SET SESSION sql_mode={STRICT}")
        self.columns, self.indexes, self.automatic, self.versioned = {}, {}, {}, set()

    def close(self):
        self.cursor.execute(f"DROP DATABASE IF EXISTS {self.database}")
        self.connection.close()

    def make(self, *statements):
        for statement in statements:
            self.cursor.execute(statement)
        self.learn()

    def learn(self):
        """Reads the schema: columns, index parts, AUTO_INCREMENT columns, tables with a history."""
        self.columns, self.indexes, self.automatic = {}, {}, {}
        for table, name, kind, charset, extra in self.rows(
            "SELECT table_name, column_name, data_type, character_set_name, extra FROM information_schema.columns"
            " WHERE table_schema=DATABASE() ORDER BY table_name, ordinal_position"
        ):
            self.columns.setdefault(table, {})[name] = kind, charset
            if "auto_increment" in extra:
                self.automatic[table] = name
        for table, index, name in self.rows(
            "SELECT table_name, index_name, column_name FROM information_schema.statistics"
            " WHERE table_schema=DATABASE() ORDER BY table_name, index_name, seq_in_index"
        ):
            self.indexes.setdefault((table, index), []).append(name)
        self.versioned = {
            row[0]
            for row in self.rows(
                "SELECT table_name FROM information_schema.tables WHERE table_schema=DATABASE() AND table_type='SYSTEM VERSIONED'"
            )
        }

    def rows(self, sql):
        self.cursor.execute(sql)
        return list(self.cursor.fetchall())

    def literal(self, table, name, value):
        if value is None:
            return b"NULL"
        kind, charset = self.columns[table][name]
        if charset not in (None, "utf8mb4", "utf8mb3"):
            return b"_%s x'%s'" % (charset.encode(), value.hex().encode())
        quoted = b"'" + value.replace(b"\\", b"\\\\").replace(b"'", b"''").replace(b"\0", b"\\0") + b"'"
        return b"_binary" + quoted if kind in BINARY_TYPES else quoted

    def statement(self, op):
        def given(form, values, between):
            return between.join(form % (name.encode(), self.literal(op.table, name, value)) for name, value in values)

        table = op.table.encode()
        if isinstance(op, Insert):
            names = b", ".join(name.encode() for name in op.values)
            values = b", ".join(self.literal(op.table, name, value) for name, value in op.values.items())
            return b"INSERT INTO %s (%s) VALUES (%s)" % (table, names, values)
        parts = self.indexes[op.table, op.index][: len(op.key)]
        where = b"(%s) %s (%s)" % (
            b", ".join(part.encode() for part in parts),
            op.operator.encode(),
            b", ".join(self.literal(op.table, part, value) for part, value in zip(parts, op.key)),
        )
        direction = b" DESC" if op.operator.startswith("<") else b""
        tail = b" WHERE " + where + b" ORDER BY " + b", ".join(part.encode() + direction for part in parts)
        tail += b" LIMIT %d" % op.limit
        if op.modification == "D":
            return b"DELETE FROM %s" % table + tail
        if op.modification == "U":
            return b"UPDATE %s SET " % table + given(b"%s = %s", op.values.items(), b", ") + tail
        sign = op.modification.encode()
        # Without an exponent, which would make SQL calculate inexactly.
        sets = (
            b"%s = %s %s %s" % (name.encode(), name.encode(), sign, format(Decimal(value.decode()), "f").encode())
            for name, value in op.values.items()
            if value is not None
        )
        return b"UPDATE %s SET " % table + b", ".join(sets) + tail

    def run(self, ops):
        outcomes = []
        for op in ops:
            sql = self.statement(op).decode("utf-8", "surrogateescape")
            try:
                count = self.cursor.execute(sql)
                explicit = isinstance(op, Insert) and self.gives_id(op)
                generated = self.cursor.lastrowid if isinstance(op, Insert) and not explicit else 0
                outcomes.append(Outcome(True, count, generated=generated))
            except pymysql.err.MySQLError as error:
                assert error.args[0] not in MISTAKES, f"{sql}: {error}"
                outcomes.append(Outcome(False, error.args[0], error.args[1]))
        return outcomes

    def gives_id(self, op):
        value = op.values.get(self.automatic.get(op.table))
        return value is not None and round(float(value)) != 0

    def snapshot(self, table):
        """Every row with every column, ordered by values; times within the last moments are {now}."""

        def shown(name, kind):
            if name in PERIOD and kind == "bigint":  # the number of a transaction, which differs in the twin
                return f"CAST(IF(`{name}` = ~0, 'none', 'one') AS BINARY)"
            text = f"CAST(`{name}` AS CHAR)" if kind in TEXT_FIRST_TYPES else f"`{name}`"
            # A FLOAT's text has fewer digits than the value.
            return f"CAST({f'CAST(`{name}` AS DOUBLE)' if kind == 'float' else text} AS BINARY)"

        columns = ", ".join(shown(name, kind) for name, (kind, _) in self.columns[table].items())
        hidden = [name for name in PERIOD if table in self.versioned and name not in self.columns[table]]
        period = "".join(f", CAST({name} AS BINARY)" for name in hidden)
        history = " FOR SYSTEM_TIME ALL" if table in self.versioned else ""
        rows = self.rows(f"SELECT {columns}{period} FROM `{table}`{history}")
        if table == LOG:
            # Only the order counts: a refused write may consume ids, or not.
            rows = [(b"%d" % at, *row[1:]) for at, row in enumerate(sorted(rows, key=lambda row: int(row[0])))]
        now = self.rows("SELECT NOW()")[0][0]
        return sorted((tuple(masked(value, now) for value in row) for row in rows), key=repr)


def masked(value, now):
    if value is not None and re.fullmatch(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", value):
        try:
            written = datetime.datetime.fromisoformat(value.decode().split(".")[0])
        except ValueError:
            return value
        if abs(now - written) < NOW_TOLERANCE:
            return b"{now}"
    return value


class HsSide:
    """Writes through the HandlerSocket write port; all of them are sent at once."""

    def __init__(self, server):
        self.client = server.hs_wr(timeout=60)
        self.ids = {}

    def close(self):
        self.client.close()

    def index_id(self, op):
        columns = ",".join(f"`{name}`" if "," in name else name for name in op.values)
        # By its position if any index will do: not every table has a primary key.
        wanted = op.table, getattr(op, "index", "0"), columns
        if wanted not in self.ids:
            reply = self.client.request("P", len(self.ids), DOOR, *wanted)
            assert reply == ["0", "1"], f"opening {wanted} was answered {reply}"
            self.ids[wanted] = len(self.ids)
        return self.ids[wanted]

    def request(self, op):
        values = list(op.values.values())
        if isinstance(op, Insert):
            return [self.index_id(op), "+", len(values), *values]
        return [self.index_id(op), op.operator, len(op.key), *op.key, op.limit, 0, op.modification, *values]

    def run(self, ops):
        return [
            self.outcome(op, reply) for op, reply in zip(ops, self.client.pipeline(*[self.request(op) for op in ops]))
        ]

    @staticmethod
    def outcome(op, reply):
        if reply[0] != "0":
            word = reply[2] if len(reply) > 2 else ""
            return Outcome(False, told=word)
        if isinstance(op, Insert):
            return Outcome(True, 1, generated=int(reply[2]) if len(reply) > 2 else 0)
        return Outcome(True, int(reply[2]))


class Twins:
    """With stand_in SQL writes both sides, which proves the comparison."""

    def __init__(self, server, stand_in=False):
        self.twin = SqlSide(server, TWIN)
        self.target = SqlSide(server, DOOR)
        self.door = self.target if stand_in else HsSide(server)
        self.differences = []

    def close(self):
        if self.door is not self.target:
            self.door.close()
        self.target.close()
        self.twin.close()

    def make(self, *statements):
        for side in (self.twin, self.target):
            side.make(*statements)

    def run(self, ops, refused=lambda op: False, words=True):
        """refused(op): the door must refuse an op that SQL accepts; SQL does not run it. words: refusals have SQL's
        messages."""
        ops = list(ops)
        for op, expected, got in zip(ops, self.judge(self.twin, ops, refused), self.answers(ops, refused)):
            if not same_outcome(expected, got, words and not refused(op)):
                self.differences.append(f"{self.told(op)}: SQL {expected}; the door {got}")

    @staticmethod
    def judge(side, ops, refused):
        return [Outcome(False) if refused(op) else side.run([op])[0] for op in ops]

    def answers(self, ops, refused):
        return self.judge(self.door, ops, refused) if self.door is self.target else self.door.run(ops)

    def told(self, op):
        text = self.twin.statement(op).decode("utf-8", "backslashreplace")
        return text if len(text) < 300 else f"{text[:250]}... ({len(text)} bytes)"

    def query(self, sql):
        """A query must return the same on both sides."""
        expected, got = self.twin.rows(sql), self.target.rows(sql)
        if expected != got:
            self.differences.append(f"{sql}: SQL {expected!r}; the door {got!r}")

    def compare(self, table):
        expected, got = self.twin.snapshot(table), self.target.snapshot(table)
        for row in sorted(set(expected) - set(got), key=repr):
            self.differences.append(f"{table}: only by SQL {shortened(row)}")
        for row in sorted(set(got) - set(expected), key=repr):
            self.differences.append(f"{table}: only through the door {shortened(row)}")
        if len(expected) != len(got):
            self.differences.append(f"{table}: {len(expected)} rows by SQL, {len(got)} through the door")
        problems = [row for row in self.target.rows(f"CHECK TABLE `{table}` EXTENDED") if row[2] == "error"]
        self.differences.extend(map(str, problems))

    def assert_same(self):
        for table in self.twin.columns:
            self.compare(table)
        shown = "\n".join(self.differences)
        assert not self.differences, f"{len(self.differences)} differences\n{shown}"


def shortened(row):
    return tuple(
        value if value is None or len(value) < 60 else value[:50] + b"... (%d bytes)" % len(value) for value in row
    )


def same_outcome(expected, got, words):
    if expected.accepted != got.accepted:
        return False
    if expected.accepted:
        return expected.number == got.number and expected.generated == got.generated
    if not words or expected.number in ENGINE_ERRORS.get(got.told, ()):
        return True
    return told(got).replace(DOOR, TWIN) == told(expected)


def told(outcome):
    """Ignores the row number in the message; SQL's protocol escapes control characters, and halves of UTF-16
    characters, as numbers."""
    words = re.sub(r" at row \d+$", "", outcome.told).replace("\udced\udca0\udc80", "\ud800")
    return re.sub(r"[\x00-\x1f\ud800]", lambda control: f"\\{ord(control[0]):04X}", words)
