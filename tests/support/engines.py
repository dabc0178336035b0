"""Storage engines that the distribution packages, each with a table like that of an InnoDB neighbour.

An Engine says how its table is made and which requests are refused; all others have to be answered as InnoDB answers.
"""
from typing import NamedTuple

COLUMNS = "id INT NOT NULL, k INT, v VARCHAR(40), n BIGINT"
KEYS = "PRIMARY KEY (id), KEY k (k)"
SHAPE = f"({COLUMNS}, {KEYS})"
ROWS = [(i, i * 10 if i % 5 else None, f"v{i:02}", i * 100) for i in range(1, 21)]
LOADED = ("ha_archive", "ha_blackhole", "ha_federatedx", "ha_sphinx")
# A user that may log in over the network, for engines that store their rows in another server.
FAR = "CREATE USER IF NOT EXISTS far IDENTIFIED BY 'far'", "GRANT ALL ON *.* TO far"


class Engine(NamedTuple):
    name: str
    make: str  # "{port}" is SQL's
    library: str = ""  # of tools/server engines
    behind: tuple = ()  # tables that store its rows
    ranges: bool = True  # it walks its primary key
    null_ranges: bool = True  # and one that contains NULL
    opens: bool = True
    keeps: bool = True  # written rows can be read again
    edits: bool = True
    null: bool = True


def spider(table, more=""):
    return (
        f'ENGINE=SPIDER COMMENT=\'wrapper "mysql", host "127.0.0.1", port "{{port}}", user "far", password "far",'
        f' database "engines"{table}\'{more}'
    )


ENGINES = [
    Engine("innodb", f"{SHAPE} ENGINE=InnoDB"),
    Engine("myisam", f"{SHAPE} ENGINE=MyISAM"),
    Engine("aria", f"{SHAPE} ENGINE=Aria"),
    Engine("memory", f"{SHAPE} ENGINE=MEMORY", ranges=False, null_ranges=False),
    Engine("memory_btree", f"({COLUMNS}, PRIMARY KEY (id) USING BTREE, KEY k (k) USING BTREE) ENGINE=MEMORY"),
    Engine("innodb_parts", f"{SHAPE} ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 3"),
    Engine("rocksdb", f"{SHAPE} ENGINE=ROCKSDB COLLATE utf8mb4_bin", "rocksdb"),
    Engine("spider", SHAPE + spider(', table "behind1"'), "spider", ("behind1",), null_ranges=False),
    Engine(
        "spider_parts",
        SHAPE
        + spider(
            "",
            " PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10) COMMENT"
            "='table \"behind2\"', PARTITION b VALUES LESS THAN MAXVALUE COMMENT"
            "='table \"behind3\"')",
        ),
        "spider",
        ("behind2", "behind3"),
        null_ranges=False,
    ),
    Engine(
        "federated",
        f"{SHAPE} ENGINE=FEDERATED CONNECTION='mysql://far:far@127.0.0.1:{{port}}/engines/behind4'",
        behind=("behind4",),
        ranges=False,
        null_ranges=False,
    ),
    Engine("blackhole", f"{SHAPE} ENGINE=BLACKHOLE", keeps=False),
    Engine(
        "archive",
        f"({COLUMNS.replace('NOT NULL', 'NOT NULL AUTO_INCREMENT')}, PRIMARY KEY (id)) ENGINE=ARCHIVE",
        ranges=False,
        null_ranges=False,
        edits=False,
    ),
    Engine("merge", f"{SHAPE} ENGINE=MERGE UNION=(behind5) INSERT_METHOD=LAST", behind=("behind5",), opens=False),
    Engine(
        "csv",
        f"({COLUMNS.replace('INT,', 'INT NOT NULL,').replace('(40),', '(40) NOT NULL,')} NOT NULL) ENGINE=CSV",
        opens=False,
        null=False,
    ),
    Engine(
        "connect",
        f"({COLUMNS.replace('k INT', 'k INT NOT NULL')}, {KEYS}) ENGINE=CONNECT TABLE_TYPE=FIX"
        " FILE_NAME='connect.txt'",
        "connect",
        opens=False,
        null=False,
    ),
    Engine(
        "mroonga",
        f"({COLUMNS.replace('k INT', 'k INT NOT NULL')}, {KEYS}) ENGINE=Mroonga",
        "mroonga",
        opens=False,
        null=False,
    ),
    Engine("mroonga_wraps", f"{SHAPE} ENGINE=Mroonga COMMENT='engine \"InnoDB\"'", "mroonga", opens=False),
]


def create(server, database, engine, name=None):
    """Creates its table, named after it, and the tables that store its rows."""
    for table in engine.behind:
        server.execute(
            f"CREATE OR REPLACE TABLE {table} {SHAPE} ENGINE={'MyISAM' if engine.name == 'merge' else 'InnoDB'}",
            database=database,
        )
    server.execute(
        f"CREATE OR REPLACE TABLE {name or engine.name} {engine.make.format(port=server.env['SQL_PORT'])}",
        database=database,
    )


def fill(server, database, table, null=True):
    rows = [tuple(0 if value is None and not null else value for value in row) for row in ROWS]
    values = ", ".join(["(%s, %s, %s, %s)"] * len(rows))
    server.query(f"INSERT INTO {table} VALUES {values}", [value for row in rows for value in row], database=database)


# --- requests: which index, then the tokens after its number
# ------------------------------------------------------------


def finds():
    for operator in ("=", ">", ">=", "<", "<="):
        for key in (7, 10, 0, 99, 15):
            for tail in ((), (1, 0), (3, 2), (100, 0)):
                yield "id", (operator, 1, key, *tail)
        for key in (70, 55, 1000, None):
            for tail in ((), (4, 1), (100, 0)):
                yield "k", (operator, 1, key, *tail)
    yield "id", ("=", 1, 7, 10, 0, "@", 0, 4, 3, 9, 77, 12)
    yield "id", ("=", 1, 0, 10, 0, "@", 0, 4, 19, 1, 19, 5)
    yield "k", ("=", 1, 0, 10, 0, "@", 0, 3, 30, 70, 77)
    yield "id", ("=", 1, 7, 1, 0, "F", "=", 1, "v07")
    yield "id", ("=", 1, 7, 1, 0, "F", "=", 1, "v08")
    yield "id", (">=", 1, 1, 100, 0, "F", ">", 0, 110)
    yield "id", (">=", 1, 1, 100, 0, "W", "<", 0, 60)
    yield "id", ("<=", 1, 20, 3, 1, "F", "!=", 1, "v15")
    yield "id", (">=", 1, 1, 100, 0, "F", "!=", 1, "v05", "W", "<", 0, 150)
    yield "id", ("=", 2, 7, 8)
    yield "id", ("=", 1, "abc")
    yield "id", ("=", 1, 99999999999)


WRITES = [
    ("id", ("+", 4, 30, 300, "v30", 3000)),
    ("id", ("+", 4, 30, 301, "dup", 1)),
    ("id", ("+", 2, 31, 310)),
    ("id", ("=", 1, 30, 1, 0, "U", 30, 302, "upd", 5)),
    ("id", ("=", 1, 30, 1, 0, "U?", 30, 303, "upd2", 6)),
    ("id", ("=", 1, 5, 1, 0, "U", 40, 50, "moved", 7)),
    ("id", ("=", 1, 7, 1, 0, "U", 8, 50, "dup", 7)),
    ("id", ("=", 1, 9, 1, 0, "U", 9, 90, "v09", 900)),
    ("id", ("=", 1, 99, 1, 0, "U", 9, 90, "v09", 900)),
    ("n", ("=", 1, 9, 1, 0, "+", 5)),
    ("n", ("=", 1, 9, 1, 0, "-?", 7)),
    ("n", ("=", 1, 9, 1, 0, "-", 100000)),
    ("n", (">=", 1, 10, 3, 1, "+?", 5)),
    ("kn", (">=", 1, 60, 3, 1, "-", 5)),
    ("n", ("=", 1, 1, 9, 0, "@", 0, 2, 3, 4, "+", 1)),
    ("id", ("=", 1, 11, 1, 0, "D")),
    ("id", ("=", 1, 12, 1, 0, "D?")),
    ("id", ("=", 1, 99, 1, 0, "D")),
    ("id", (">=", 1, 16, 3, 0, "D?")),
    ("k", ("<", 1, 40, 2, 0, "D")),
    ("k", ("=", 1, 10, 5, 0, "D")),
    ("id", ("=", 1, 0, 10, 0, "@", 0, 3, 4, 6, 99, "D?")),
    ("id", (">", 1, 0, 100, 0, "F", "=", 1, "v08", "U?", 8, 80, "f", 1)),
    ("id", (">", 1, 0, 100, 0, "F", ">", 1, "v1", "D")),
    ("id", (">=", 1, 0, 100, 0, "D")),
]  # yapf: disable
INDEXES = {"id": ("PRIMARY", "id,k,v,n"), "k": ("k", "id,k,v,n"), "n": ("PRIMARY", "n"), "kn": ("k", "n")}
