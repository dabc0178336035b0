"""Plays a session with one of Python's drivers and prints the results: python_session.py DRIVER PORT SESSION [PATH].

support/clients/sql_drivers.py describes the format of a session. PATH: the driver's folder, if it is not installed.
"""
import sys
import warnings

DRIVER, PORT, SESSION = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sys.path[:0] = sys.argv[4:]
warnings.simplefilter("ignore")
COMMON = {"host": "127.0.0.1", "port": PORT, "user": "root", "database": "shop"}


def connect():
    if DRIVER == "pymysql":
        import pymysql
        from pymysql.constants import CLIENT

        return pymysql.connect(**COMMON, charset="utf8mb4", client_flag=CLIENT.MULTI_STATEMENTS, local_infile=True)
    if DRIVER == "mysqldb":
        import MySQLdb

        return MySQLdb.connect(**COMMON, charset="utf8mb4", local_infile=1)
    import mysql.connector

    return mysql.connector.connect(
        **COMMON,
        use_pure=True,
        allow_local_infile=True,
        ssl_disabled=True,
        collation="utf8mb4_general_ci",
        compress="compress" in DRIVER,
    )


def value_of(text):
    kind, value = text.split(":", 1)
    return {"i": int, "d": float, "s": str, "b": bytes.fromhex, "n": lambda _: None}[kind](value)


def run(connection, how, text, values):
    prepared = how == "p" and DRIVER.startswith("connector")
    cursor = connection.cursor(prepared=True) if prepared else connection.cursor()
    if values:
        text = text.replace("%", "%%").replace("?", "%s") if not prepared else text
        cursor.execute(text, tuple(values))
    else:
        cursor.execute(text)
    while True:
        rows = cursor.fetchall() if cursor.description else []
        described = [column[:2] for column in cursor.description or ()]
        print(described, cursor.rowcount, cursor.lastrowid, *rows, sep="\n  ")
        if how != "m" or not cursor.nextset():
            break
    cursor.close()
    if hasattr(connection, "show_warnings"):
        print(connection.show_warnings())


def main():
    connection = connect()
    is_lost = "InterfaceError", "UnicodeDecodeError", "LookupError", "InternalError", "IndexError"
    for line in open(SESSION, encoding="utf-8").read().splitlines():
        how, times, text, *values = line.split("\t")
        text = text.replace("\\n", "\n")
        values = [value_of(value) for value in values]
        for _ in range(int(times)):
            print(f"> {text[:200]}")
            try:
                run(connection, how, text, values)
            except Exception as problem:  # pylint: disable=broad-except
                print(type(problem).__name__, problem)
                if type(problem).__name__ in is_lost:  # the driver itself failed and cannot be used any more
                    connection.close()
                    connection = connect()
    connection.close()


main()
