"""A session of statements that drivers play at both ports, and its tables with rows of every type.

A session is a file of lines with tabs: how (t: a text; p: prepared, where the driver can; m: several results), how often,
the statement with \\n for its ends of lines, and its values: i: an integer, d: a double, s: a text, b: bytes in hexadecimal,
n: NULL.
"""
import json

from support.server import ROOT

WIRE = ROOT / "tests" / "wire" / "sql"
# Twice for the server to learn the form; the metadata of prepared statements come with their first execution.
LEARNT = 3

COLUMNS = {
    "tiny": ("TINYINT", "-128", "127"),
    "tiny_u": ("TINYINT UNSIGNED ZEROFILL", "0", "255"),
    "small": ("SMALLINT", "-32768", "32767"),
    "medium": ("MEDIUMINT", "-8388608", "8388607"),
    "whole": ("INT(5) ZEROFILL", "7", "4294967295"),
    "big": ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    "big_u": ("BIGINT UNSIGNED", "0", "18446744073709551615"),
    "single": ("FLOAT", "-1.5e-30", "3.4e38"),
    "single_d": ("FLOAT(7,2)", "-1.25", "99999.99"),
    "double_": ("DOUBLE", "-2.2250738585072014e-308", "0.1"),
    "exact": ("DECIMAL(30,10)", "-12345678901234567890.0123456789", "0"),
    "exact_0": ("DECIMAL(5,0) ZEROFILL", "0", "99999"),
    "bits": ("BIT(1)", "b'0'", "b'1'"),
    "bits_m": ("BIT(63)", "b'101'", "9223372036854775807"),
    "day": ("DATE", "'1000-01-01'", "'9999-12-31'"),
    "moment": ("DATETIME", "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'"),
    "moment_6": ("DATETIME(6)", "'2000-01-01 00:00:00.000001'", "'2038-01-19 03:14:07.9'"),
    "stamp": ("TIMESTAMP NULL", "'1971-01-01 00:00:00'", "'2038-01-19 03:14:07'"),
    "stamp_3": ("TIMESTAMP(3) NULL", "'2024-03-31 02:59:59.999'", "'2024-06-01 00:00:00'"),
    "span": ("TIME", "'-838:59:59'", "'00:00:00'"),
    "span_2": ("TIME(2)", "'12:34:56.78'", "'838:59:59'"),
    "annual": ("YEAR", "1901", "2155"),
    "fixed": ("CHAR(10)", "'ä€'", "''"),
    "variable": ("VARCHAR(300)", "'𝄞 clef'", "REPEAT('é', 300)"),
    "latin": ("VARCHAR(50) CHARACTER SET latin1", "'Ärger'", "'€'"),
    "wide": ("VARCHAR(50) CHARACTER SET ucs2", "'Ωmega'", "'z'"),
    "octets": ("BINARY(4)", "x'00ff'", "'abcd'"),
    "octets_v": ("VARBINARY(300)", "x'0001027f80ff'", "''"),
    "text_": ("TEXT", "'long é'", "REPEAT('x', 5000)"),
    "text_m": ("MEDIUMTEXT CHARACTER SET utf8mb3", "'ключ'", "REPEAT('ы', 70000)"),
    "blob_": ("BLOB", "x'00'", "REPEAT(x'ff00', 300)"),
    "one_of": ("ENUM('a','é','') CHARACTER SET utf8mb4", "'é'", "''"),
    "some_of": ("SET('x','y','z')", "'x,z'", "''"),
    "document": ("JSON", """'{"a": [1, null]}'""", "'[]'"),
    "id_6": ("INET6", "'::1'", "'2001:db8::ff'"),
    "unique_id": ("UUID", "'123e4567-e89b-12d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'"),
    "spot": ("POINT", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(-1.5 1e10)')"),
}


def tables():
    """Statements that create and fill the tables, as they are before each session."""
    made = (WIRE / "tables.sql").read_text(encoding="utf-8").split(";\n")
    for name in ("shop", "wordpress", "mediawiki"):
        yield f"DROP DATABASE IF EXISTS {name}"
    yield from (statement for statement in made if statement.strip())
    columns = ", ".join(f"{name} {kind} NULL" for name, (kind, *_) in COLUMNS.items())
    yield "USE shop"
    yield f"CREATE TABLE types (id INT PRIMARY KEY, {columns}) CHARSET utf8mb4"
    for row in (1, 2):
        yield f"INSERT INTO types VALUES ({row}, {', '.join(values[row] for values in COLUMNS.values())})"
    yield "INSERT INTO types (id) VALUES (3)"
    yield (
        "INSERT INTO users VALUES (1,'ann@example.com','Ann',10,0,1.50,'2024-01-01 00:00:00'),"
        "(2,'bob@example.com','Bob',10,5,NULL,NULL),(3,'cé@example.com','Cécile',20,0,-3.00,'2024-02-29 23:59:59'),"
        "(4,'dan@example.com',NULL,NULL,0,0,NULL),(5,'𝄞@example.com','𝄞',30,-1,99999999.99,NULL)"
    )
    yield "INSERT INTO kv VALUES ('a','alpha',0),('ключ','значение',NULL),('𝄞','',1),('big',REPEAT('v',60000),2)"
    yield "INSERT INTO order_items VALUES (1,1,'x',1),(1,2,'y',NULL),(2,1,NULL,7)"
    yield "INSERT INTO sbtest1 (k, c, pad) SELECT seq, REPEAT('c', 119), CONCAT('pad ', seq) FROM seq_1_to_50"
    yield "CREATE PROCEDURE two_results(n INT) BEGIN SELECT * FROM users WHERE id = n; SELECT n + 1; END"
    yield "USE wordpress"
    yield "INSERT INTO wp_options (option_name, option_value) VALUES ('siteurl','http://x'),('theme_switched','')"
    yield "INSERT INTO wp_posts (post_title, post_name) VALUES ('Hello','hello'),('Wörld','world')"
    yield "INSERT INTO wp_users (user_login, user_email) VALUES ('admin','a@example.com')"
    yield "USE mediawiki"
    yield "INSERT INTO page (page_namespace, page_title) VALUES (0,'Main_Page'),(4,'About')"
    yield "INSERT INTO objectcache VALUES ('wiki:k', x'00ff', '99991231235959', '00000000000000000')"


def _line(how, times, statement, *values):
    return "\t".join((how, str(times), statement.replace("\n", "\\n"), *values))


def _recorded():
    for line in (WIRE / "libraries.jsonl").read_text(encoding="utf-8").splitlines():
        statement = json.loads(line)["statement"]
        if "?" in statement or "\t" in statement:
            continue
        if statement.lstrip("( ").upper().startswith("SELECT"):
            yield _line("t", LEARNT, statement)
        else:
            yield _line("t", 1, statement)
    for line in (WIRE / "applications.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        application, _, _, statement = line.split("\t", 3)
        if "?" not in statement:
            yield _line("t", 1, f"USE {application}")
            yield _line("t", LEARNT if statement.upper().startswith("SELECT") else 1, statement)
    yield _line("t", 1, "USE shop")


def _types():
    for how, key in (("t", "id = {}"), ("p", "id = ?")):
        for column in COLUMNS:
            yield _line(how, LEARNT, f"SELECT {column} FROM types WHERE {key.format(1)}", *["i:1"] * (how == "p"))
        for row in (1, 2, 3, 4):
            values = [f"i:{row}"] if how == "p" else []
            yield _line(how, LEARNT, f"SELECT * FROM types WHERE {key.format(row)}", *values)
    yield _line("p", LEARNT, "SELECT id FROM types WHERE id = ?", "s:2")
    yield _line("p", LEARNT, "SELECT id FROM types WHERE id = ?", "d:2")
    yield _line("p", LEARNT, "SELECT id FROM types WHERE id = ?", "d:2.5")
    yield _line("p", LEARNT, "SELECT id FROM types WHERE id = ?", "n:")
    yield _line("p", LEARNT, "SELECT id FROM types WHERE id = ?", "s:2abc")
    yield _line("p", LEARNT, "SELECT k, v FROM kv WHERE k = ?", "s:ключ")
    yield _line("p", LEARNT, "SELECT k, v FROM kv WHERE k = ?", "b:61")
    yield _line("p", LEARNT, "SELECT k, LENGTH(v) FROM kv WHERE k = ?", "s:big")
    yield _line("p", LEARNT, "SELECT v FROM kv WHERE k = ?", "s:big")
    yield _line("p", LEARNT, "SELECT id, name FROM users WHERE id IN (?, ?, ?) ORDER BY id", "i:1", "i:3", "i:99")
    yield _line("p", LEARNT, "SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?", "i:1", "i:2")
    yield _line("p", LEARNT, "SELECT COUNT(*) FROM users WHERE id = ?", "i:1")


def _states(data):
    """Other statements of sessions: character sets, transactions, errors, warnings, several results, files, big
    packets."""
    point = "SELECT id, name, created_at FROM users WHERE id = 3"
    stamp = "SELECT stamp, stamp_3, variable, latin, wide FROM types WHERE id = 1"
    for names in ("latin1", "utf8mb3", "utf8mb4 COLLATE utf8mb4_bin", "binary", "utf8mb4"):
        yield _line("t", 1, f"SET NAMES {names}")
        yield _line("t", LEARNT, point)
        yield _line("t", LEARNT, stamp)
    for setting in (
        "time_zone = '+05:30'",
        "time_zone = SYSTEM",
        "sql_mode = 'ANSI_QUOTES,PAD_CHAR_TO_FULL_LENGTH'",
        "sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "sql_mode = DEFAULT",
        "sql_select_limit = 1",
        "sql_select_limit = DEFAULT",
        "character_set_results = NULL",
        "character_set_results = utf8mb4",
        "sql_auto_is_null = 1",
        "sql_auto_is_null = 0",
        "session_track_schema = 1, session_track_state_change = 1, session_track_system_variables = '*'",
        "TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    ):
        yield _line("t", 1, f"SET {setting}")
        yield _line("t", LEARNT, point)
        yield _line("t", LEARNT, stamp)
        yield _line("t", LEARNT, "SELECT fixed FROM types WHERE id = 1")
        yield _line("t", LEARNT, "SELECT k FROM kv WHERE k = 'a\\\\'")
    for end in ("COMMIT", "ROLLBACK"):
        for begin in ("BEGIN", "START TRANSACTION READ ONLY", "SET autocommit = 0"):
            yield _line("t", 1, begin)
            yield _line("t", LEARNT, point)
            yield _line("t", 1, "UPDATE users SET visits = visits + 1 WHERE id = 3")
            yield _line("t", LEARNT, "SELECT visits FROM users WHERE id = 3")
            yield _line("t", 1, "SELECT visits FROM users WHERE id = 3 FOR UPDATE")
            yield _line("t", 1, "SAVEPOINT s")
            yield _line("t", 1, "INSERT INTO users (email) VALUES ('ann@example.com')")
            yield _line("t", 1, "ROLLBACK TO s")
            yield _line("t", 2, end)
            yield _line("t", LEARNT, "SELECT visits FROM users WHERE id = 3")
            yield _line("t", 1, "SET autocommit = 1")
    for statement in (
        "SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID()",
        "SELECT id FROM users WHERE id = '2abc'",
        "SHOW WARNINGS",
        "SELECT id FROM users WHERE id = ''",
        "SELECT nothing FROM users WHERE id = 1",
        "SELECT id FROM users WHERE id = 1 LIMIT 0",
        "SELEC",
        "SELECT 1 FROM absent WHERE id = 1",
        "INSERT INTO users (email, name) VALUES ('new@example.com', 'New') RETURNING id, email",
        "SELECT LAST_INSERT_ID(), @@insert_id",
        "SELECT id FROM users WHERE email = 'new@example.com'",
        "DELETE FROM users WHERE email = 'new@example.com'",
        "UPDATE users SET visits = 1/0 WHERE id = 1",
        "INSERT IGNORE INTO users (id, email) VALUES (1, 'x'), (77, 'y')",
        "REPLACE INTO kv VALUES ('a', 'again', 1)",
        "SELECT k, v FROM kv WHERE k = 'a'",
        "ALTER TABLE kv ADD COLUMN more INT DEFAULT 7",
        "SELECT * FROM kv WHERE k = 'a'",
        "ALTER TABLE kv DROP COLUMN more",
        "SELECT * FROM kv WHERE k = 'a'",
        "CREATE TEMPORARY TABLE kv (k INT)",
        "SELECT * FROM kv WHERE k = 'a'",
        "DROP TEMPORARY TABLE kv",
        "SELECT * FROM kv WHERE k = 'a'",
        "SET STATEMENT max_statement_time = 1 FOR SELECT * FROM kv WHERE k = 'a'",
        "LOCK TABLES kv READ",
        "SELECT * FROM kv WHERE k = 'a'",
        "SELECT id FROM users WHERE id = 1",
        "UNLOCK TABLES",
        "SELECT SLEEP(0.01) FROM users WHERE id = 1",
        "KILL QUERY CONNECTION_ID()",
        "SELECT id FROM users WHERE id = 1",
    ):
        yield _line("t", LEARNT if statement.startswith("SELECT") else 1, statement)
    yield _line("m", 2, "CALL two_results(3)")
    yield _line("m", 2, "SELECT id FROM users WHERE id = 1; SELECT name FROM users WHERE id = 2")
    yield _line("m", 2, "SELECT id FROM users WHERE id = 1; UPDATE kv SET exp = 9 WHERE k = 'a'; SELECT wrong")
    yield _line("t", 1, f"LOAD DATA LOCAL INFILE '{data}' INTO TABLE order_items")
    yield _line("t", LEARNT, "SELECT order_id, line_no, sku FROM order_items WHERE order_id = 9 AND line_no = 5")
    yield _line("t", 1, f"LOAD DATA LOCAL INFILE '{data}.absent' INTO TABLE order_items")
    yield _line("t", LEARNT, "SELECT sku FROM order_items WHERE order_id = 9 AND line_no = 5")
    yield _line("t", 1, f"REPLACE INTO kv VALUES ('huge', '{'h' * 3_000_000}', 0)")
    yield _line("t", LEARNT, "SELECT LENGTH(v) FROM kv WHERE k = 'huge'")
    yield _line("t", LEARNT, "SELECT v FROM kv WHERE k = 'huge'")
    yield _line("p", 2, "REPLACE INTO kv VALUES (?, ?, ?)", "s:bound", f"s:{'w' * 100_000}", "n:")
    yield _line("p", LEARNT, "SELECT k, v, exp FROM kv WHERE k = ?", "s:bound")


def session(folder):
    """The path of a session's file."""
    data = folder / "lines.tsv"
    data.write_text("".join(f"9\t{line}\tsku {line}\t{line * 2}\n" for line in range(2000)), encoding="utf-8")
    path = folder / "session.tsv"
    lines = [*_types(), *_recorded(), *_states(data)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
