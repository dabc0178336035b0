"""MariaDB's own connector for Python, whose executemany() sends all rows in one packet (COM_STMT_BULK_EXECUTE), and its
prepared statements; prints the results: bulk_program.py PORT FOLDER, where FOLDER contains the connector."""
import datetime
import decimal
import sys

sys.path.insert(0, sys.argv[2])

import mariadb  # noqa: E402

ROWS = [
    (1, "один", decimal.Decimal("1.25"), datetime.datetime(2024, 2, 29, 23, 59, 59), b"\0\xff"),
    (2, None, None, None, None),
    (3, "", decimal.Decimal("-0.01"), datetime.datetime(1999, 12, 31), b""),
    (4, "x" * 60, decimal.Decimal("99999.99"), datetime.datetime(2038, 1, 19, 3, 14, 7), b"'\\"),
]


def attempt(connection, statement, values, many=True):
    """Runs a statement on a new cursor, which prepares it in the program's transaction."""
    print(f"> {statement}")
    cursor = connection.cursor(prepared=not connection.autocommit and bool(values))
    try:
        cursor.executemany(statement, values) if many else cursor.execute(statement, values)
        print(cursor.rowcount, cursor.lastrowid, cursor.warnings)
        if cursor.description:
            print([column[:2] for column in cursor.description], *cursor.fetchall(), sep="\n  ")
    except mariadb.Error as problem:
        print(type(problem).__name__, problem.errno, problem.sqlstate, problem)
    cursor.close()


def main():
    connection = mariadb.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", database="orm")
    columns = "id INT PRIMARY KEY, t VARCHAR(60) CHARSET utf8mb4, d DECIMAL(8,2), m DATETIME, b VARBINARY(20)"
    for autocommit in (True, False):
        connection.autocommit = autocommit
        attempt(connection, f"CREATE OR REPLACE TABLE bulk ({columns})", None, many=False)
        attempt(connection, "INSERT INTO bulk VALUES (?, ?, ?, ?, ?)", ROWS)
        refused = [(9, "a", 1, None, b""), (1, "again", 1, None, b"")]
        attempt(connection, "INSERT INTO bulk VALUES (?, ?, ?, ?, ?)", refused)
        attempt(connection, "INSERT IGNORE INTO bulk (id, t) VALUES (?, ?)", [(1, "again"), (10, "y" * 70), (11, "z")])
        attempt(connection, "REPLACE INTO bulk (id, t) VALUES (?, ?)", [(key, f"row {key}") for key in range(20, 220)])
        attempt(connection, "UPDATE bulk SET t = ? WHERE id = ?", [("changed", 1), ("changed", 77), ("nothing", 999)])
        attempt(connection, "DELETE FROM bulk WHERE id = ?", [(2,), (2,), (30,)])
        for key in (1, 2, 3, 77, 10, 999, 1):
            attempt(connection, "SELECT * FROM bulk WHERE id = ?", (key,), many=False)
        if not autocommit:
            connection.rollback()
        attempt(connection, "SELECT COUNT(*), MIN(t), SUM(d) FROM bulk", None, many=False)
    connection.close()


main()
