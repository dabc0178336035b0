"""Columns that a write through the door does not name get the same defaults as in SQL."""
from support.like_sql import Change, Insert, Update
from support.random_input.special_tables import Cases, OLD

CASES = Cases()

CASES.add(
    "constant defaults",
    "CREATE TABLE t (k INT PRIMARY KEY, a INT DEFAULT 7, b VARCHAR(9) DEFAULT 'é', c INT, d DATE DEFAULT"
    " '2020-02-02', e ENUM('x','y') DEFAULT 'y',"
    " f BIT(4) DEFAULT b'101', g DECIMAL(4,2) DEFAULT 1.5, h TEXT DEFAULT 'text', i BLOB DEFAULT x'00ff', j INT NOT"
    " NULL DEFAULT 5)",
    Insert("t", k=b"1"),
    Insert("t", k=b"2", c=b"3"),
    Insert("t", k=b"3", a=None, j=b"1"),
    Insert("t", k=b"4", a=b"", j=b"1"),
    Insert("t", k=b"5", j=None),
    Insert("t", c=b"1", k=b"6", i=b"\0"),
)
CASES.add(
    "expression defaults",
    [
        "CREATE SEQUENCE s",
        "CREATE TABLE t (k INT PRIMARY KEY, a INT DEFAULT (1 + 2), b INT DEFAULT (k * 10), c VARCHAR(20) DEFAULT"
        " (CONCAT('x', k)), d INT DEFAULT NEXTVAL(s),"
        " e INT NOT NULL DEFAULT (b + 1))",
    ],
    Insert("t", k=b"1"),
    Insert("t", k=b"2", b=b"5"),
    Insert("t", k=b"3", e=b"5"),
    Insert("t", k=b"3"),
    Insert("t", k=b"4", b=b"99999999999"),
    Update("t", b"1", k=b"9"),
)
CASES.add(
    "current timestamps",
    [
        "CREATE TABLE t (k INT PRIMARY KEY, v INT, a TIMESTAMP DEFAULT CURRENT_TIMESTAMP, b DATETIME(6) DEFAULT"
        " CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),"
        " c TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, d DATETIME DEFAULT (NOW()))",
        *(
            f"INSERT INTO t VALUES ({k}, 1, '2020-01-01', '2020-01-01', '2020-01-01', '2020-01-01')"
            for k in range(1, 8)
        ),
    ],
    Insert("t", k=b"10"),
    Insert("t", k=b"11", a=OLD, b=None),
    Update("t", b"1", v=b"2"),
    Update("t", b"2", v=b"1"),
    Update("t", b"3", v=b"2", b=OLD),
    Update("t", b"4", v=b"2", c=None),
    Update("t", b"5", v=b"x"),
    Change("t", b"6", "+", {"v": b"1"}),
    Change("t", b"7", "+", {"v": b"0"}),
    Change("t", b"3", "U", {"v": b"3"}, operator=">=", limit=3),
)
CASES.add(
    "no default",
    "CREATE TABLE t (k INT, a INT NOT NULL, b VARCHAR(5) NOT NULL, c TIMESTAMP NOT NULL, d ENUM('x','y') NOT NULL, e"
    " TEXT NOT NULL, PRIMARY KEY (k))",
    Insert("t", k=b"1"),
    Insert("t", k=b"1", a=b"1", b=b"", c=OLD, e=b""),
    Insert("t", k=b"2", a=b"1", b=b"", c=OLD, d=b"x"),
    Insert("t", a=b"1", b=b"", c=OLD, d=b"x", e=b""),
    Insert("t", k=b"4", a=None, b=b"", c=OLD, d=b"x", e=b""),
    Insert("t", k=b"5", a=b"1", b=None, c=OLD, d=b"x", e=b""),
    Insert("t", k=b"6", a=b"1", b=b"", c=None, d=b"x", e=b""),
    Update("t", b"1", a=None),
    Update("t", b"1", c=None, b=b"new"),
    Update("t", b"1", d=None),
    Update("t", b"1", e=None),
)
CASES.add(
    "invisible columns",
    "CREATE TABLE t (k INT PRIMARY KEY, a INT INVISIBLE DEFAULT 3, b INT INVISIBLE)",
    Insert("t", k=b"1"),
    Insert("t", k=b"2", a=b"5", b=b"6"),
    Update("t", b"1", b=b"7"),
)
CASES.add(
    "auto-increment",
    "CREATE TABLE t (k INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(5) NOT NULL DEFAULT 'd')",
    Insert("t", v=b"a"),
    Insert("t", k=None, v=b"b"),
    Insert("t", k=b"0", v=b"c"),
    Insert("t", k=b"50", v=b"d"),
    Insert("t", v=b"e"),
    Insert("t", k=b"-5", v=b"f"),
    Insert("t", v=b"g"),
    Insert("t", k=b"51", v=b"dup"),
    Insert("t", k=b"0.4", v=b"h"),
    Insert("t", k=b"", v=b"i"),
    Update("t", b"1", k=b"0"),
    Update("t", b"2", k=b"70"),
    Insert("t", v=b"j"),
)
CASES.add(
    "auto-increment at its end",
    ["CREATE TABLE t (k TINYINT AUTO_INCREMENT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (125, 1)"],
    Insert("t", v=b"2"),
    Insert("t", v=b"3"),
    Insert("t", v=b"4"),
    Insert("t", v=b"5"),
    Insert("t", k=b"128", v=b"6"),
    Insert("t", k=b"3", v=b"7"),
)
CASES.add(
    "auto-increment as second part",
    "CREATE TABLE t (g INT, k INT AUTO_INCREMENT, PRIMARY KEY (g, k)) ENGINE=MyISAM",
    Insert("t", g=b"1"),
    Insert("t", g=b"1"),
    Insert("t", g=b"2"),
    Insert("t", g=b"1"),
    Insert("t", g=b"2", k=b"9"),
    Insert("t", g=b"2"),
)


@CASES.each
def test_table(twins, name, together):
    CASES.play(twins, name, together)
