"""Tables of odd kinds, statements about them, and concurrent changes to them by another connection.

In a statement's values # is a number by chance: the same kinds of rows are found, met and missed again and again.
"""
from typing import NamedTuple


class Scene(NamedTuple):
    tables: tuple
    statements: tuple  # a text with ?, and its values
    changes: tuple  # by another connection, at the server's own port
    reads: dict  # by table: a query for all rows, which must be equal on both sides


CASCADE = "ALTER TABLE c ADD CONSTRAINT of_p FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE"
REFERRED_TO = Scene(
    (
        "CREATE TABLE p (id INT PRIMARY KEY, v INT, u INT, UNIQUE (u))",
        "INSERT INTO p SELECT seq, seq, seq FROM seq_1_to_30",
        "CREATE TABLE c (id INT PRIMARY KEY, pid INT, x INT, KEY (pid))",
        "INSERT INTO c SELECT seq, seq % 30 + 1, 1 FROM seq_1_to_60",
        "CREATE TABLE noted (n INT)",
    ),
    (
        ("DELETE FROM p WHERE id = ?", "#"),
        ("INSERT INTO p VALUES (?, 1, ?)", "#", "#"),
        ("REPLACE INTO p VALUES (?, 2, ?)", "#", "#"),
        ("UPDATE p SET u = ? WHERE id = ?", "#", "#"),
        ("UPDATE p SET v = ? WHERE id = ?", "#", "#"),
        ("UPDATE p SET id = ? WHERE id = ?", "#", "#"),
        ("INSERT INTO c VALUES (?, ?, 1)", "#", "#"),
        ("UPDATE c SET pid = ? WHERE id = ?", "#", "#"),
        ("DELETE FROM c WHERE id = ?", "#"),
        ("SELECT * FROM c WHERE pid = ? ORDER BY id", "#"),
    ),
    (
        "DELETE FROM c WHERE pid NOT IN (SELECT id FROM p)",
        CASCADE,
        "ALTER TABLE c DROP FOREIGN KEY IF EXISTS of_p",
        "ALTER TABLE c ADD CONSTRAINT of_p FOREIGN KEY (pid) REFERENCES p (id)",
        "CREATE OR REPLACE TRIGGER on_c AFTER DELETE ON c FOR EACH ROW INSERT INTO noted VALUES (OLD.id)",
        "DROP TRIGGER IF EXISTS on_c",
        "CREATE OR REPLACE TRIGGER on_p AFTER DELETE ON p FOR EACH ROW INSERT INTO noted VALUES (OLD.id)",
        "DROP TRIGGER IF EXISTS on_p",
        "CREATE OR REPLACE TRIGGER of_v BEFORE UPDATE ON p FOR EACH ROW SET NEW.v = NEW.v + 100",
        "DROP TRIGGER IF EXISTS of_v",
    ),
    {
        "p": "SELECT * FROM p ORDER BY id",
        "c": "SELECT * FROM c ORDER BY id",
        "noted": "SELECT n, COUNT(*) FROM noted GROUP BY n",
    },
)

DEFAULTS = Scene(
    (
        "CREATE SEQUENCE numbers",
        "CREATE TABLE t (id INT DEFAULT NEXTVAL(numbers) PRIMARY KEY, v INT, w VARCHAR(40) DEFAULT CURRENT_USER(),"
        " x INT DEFAULT (v + 1), y INT DEFAULT (v - 1), e VARCHAR(30) DEFAULT (CONCAT(v, '-', 'ü')), KEY (v))",
        "CREATE TABLE k (id INT PRIMARY KEY, v INT NOT NULL, w INT DEFAULT (v * 2), c CHAR(4) DEFAULT 'ab',"
        " f FLOAT DEFAULT 0.1, b BIT(4) DEFAULT b'101', e ENUM('x', 'y') DEFAULT 'y', CHECK (v < 500), CHECK (w <> 14))",
    ),
    (
        ("INSERT INTO t (v) VALUES (?)", "#"),
        ("INSERT INTO t (v) VALUES (?), (?)", "#", "#"),
        ("INSERT INTO t (id, v) VALUES (DEFAULT, ?)", "#"),
        ("INSERT INTO t (id, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = ?", "#", "#", "#"),
        ("INSERT IGNORE INTO t (id, v) VALUES (?, ?)", "#", "#"),
        ("REPLACE INTO t (id, v) VALUES (?, ?)", "#", "#"),
        ("UPDATE t SET v = ? WHERE id = ?", "#", "#"),
        ("SELECT id, v, w, x, y, e FROM t WHERE id = ?", "#"),
        ("DELETE FROM t WHERE id = ?", "#"),
        ("SELECT LASTVAL(numbers)",),
        ("INSERT INTO k (id, v) VALUES (?, ?)", "#", "#"),
        ("INSERT INTO k VALUES (?, ?, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT)", "#", "#"),
        ("UPDATE k SET v = v + ? WHERE id = ?", "#0", "#"),
        ("UPDATE k SET w = DEFAULT, v = ? WHERE id = ?", "#", "#"),
        ("INSERT INTO k (id, v, w) VALUES (?, ?, 14)", "#", "#"),
        ("REPLACE INTO k (id, v, c) VALUES (?, ?, 'abcdef')", "#", "#"),
        ("INSERT INTO k (id) VALUES (?)", "#"),
        ("INSERT INTO k (id, v, e) VALUES (?, 1, 'q')", "#"),
        ("SELECT * FROM k WHERE id = ?", "#"),
    ),
    (
        "ALTER TABLE k ALTER v SET DEFAULT 7",
        "ALTER TABLE k ALTER v DROP DEFAULT",
        "ALTER TABLE t ALTER x SET DEFAULT (v + 5)",
        "ALTER TABLE k ADD CONSTRAINT IF NOT EXISTS of_v CHECK (v <> 5)",
        "ALTER TABLE k DROP CONSTRAINT IF EXISTS of_v",
    ),
    {"t": "SELECT id, v, w, x, y, e FROM t ORDER BY id", "k": "SELECT * FROM k ORDER BY id"},
)

KEYS = Scene(
    (
        "CREATE TABLE b (id INT PRIMARY KEY, t TEXT, u BLOB, UNIQUE (t), UNIQUE (u))",
        "CREATE TABLE lasting (id INT, a DATE, b DATE, PERIOD FOR p (a, b), v INT, UNIQUE (id, p WITHOUT OVERLAPS))",
        "CREATE TABLE n (a INT, b INT, c INT, UNIQUE (a, b), UNIQUE (c))",
        "CREATE TABLE begun (id INT PRIMARY KEY, c VARCHAR(20), UNIQUE (c(3)))",
        "CREATE TABLE padded (c VARCHAR(10) COLLATE utf8mb4_general_ci PRIMARY KEY,"
        " n VARCHAR(10) COLLATE utf8mb4_general_nopad_ci, v INT, UNIQUE (n))",
    ),
    (
        ("INSERT INTO b VALUES (?, ?, ?)", "#", "t#", "u#"),
        ("INSERT IGNORE INTO b VALUES (?, ?, NULL)", "#", "t#"),
        ("REPLACE INTO b VALUES (?, ?, ?)", "#", "t#", "u#"),
        ("UPDATE b SET t = ? WHERE id = ?", "t#", "#"),
        ("INSERT INTO b VALUES (?, ?, NULL) ON DUPLICATE KEY UPDATE u = ?", "#", "t#", "u#"),
        ("SELECT * FROM b WHERE t = ?", "t#"),
        ("DELETE FROM b WHERE t = ?", "t#"),
        ("INSERT INTO lasting VALUES (?, ?, ?, 1)", "#", "2024-01-1#", "2024-02-2#"),
        ("UPDATE lasting SET a = ? WHERE id = ?", "2024-01-0#", "#"),
        ("UPDATE lasting SET v = ? WHERE id = ?", "#", "#"),
        ("DELETE FROM lasting WHERE id = ?", "#"),
        ("DELETE FROM lasting FOR PORTION OF p FROM '2024-01-13' TO '2024-01-20' WHERE id = ?", "#"),
        ("INSERT INTO n VALUES (?, NULL, ?)", "#", "#"),
        ("INSERT INTO n VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE a = ?", "#", "#", "#", "#"),
        ("REPLACE INTO n VALUES (?, ?, ?)", "#", "#", "#"),
        ("SELECT * FROM n WHERE a = ? AND b = ?", "#", "#"),
        ("SELECT * FROM n WHERE a = ? ORDER BY b, c", "#"),
        ("UPDATE n SET c = ? WHERE a = ? AND b = ?", "#", "#", "#"),
        ("DELETE FROM n WHERE c = ?", "#"),
        ("INSERT INTO begun VALUES (?, ?)", "#", "a#bc"),
        ("INSERT IGNORE INTO begun VALUES (?, ?)", "#", "a#de"),
        ("SELECT * FROM begun WHERE c = ?", "a#bc"),
        ("UPDATE begun SET c = ? WHERE c = ?", "a#", "a#bc"),
        ("DELETE FROM begun WHERE c LIKE ?", "a#%"),
        ("INSERT INTO padded VALUES (?, ?, 1)", "k#", "k#"),
        ("INSERT INTO padded VALUES (?, ?, 1)", "K# ", "K# "),
        ("INSERT INTO padded VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE v = v + 1", "k#", "k#"),
        ("SELECT * FROM padded WHERE c = ?", "K# "),
        ("SELECT * FROM padded WHERE n = ?", "K# "),
        ("UPDATE padded SET c = ? WHERE c = ?", "K#", "k#  "),
        ("UPDATE padded SET n = ? WHERE n = ?", "k#", "K#"),
        ("DELETE FROM padded WHERE c = ?", "k# "),
        ("REPLACE INTO padded VALUES (?, ?, 7)", "K#", "k#"),
    ),
    (
        "ALTER TABLE n ADD UNIQUE IF NOT EXISTS only_b (b)",
        "ALTER TABLE n DROP KEY IF EXISTS only_b",
        "ALTER TABLE padded CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "ALTER TABLE padded CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "ANALYZE TABLE n",
        "TRUNCATE TABLE padded",
        "TRUNCATE TABLE b",
    ),
    {
        "b": "SELECT * FROM b ORDER BY id",
        "lasting": "SELECT * FROM lasting ORDER BY id, a, b",
        "n": "SELECT * FROM n ORDER BY a, b, c",
        "begun": "SELECT * FROM begun ORDER BY id",
        "padded": "SELECT * FROM padded ORDER BY c",
    },
)

IDS = Scene(
    (
        "CREATE TABLE f (id INT PRIMARY KEY, t TEXT, g POINT NOT NULL DEFAULT POINT(1, 1), v INT, FULLTEXT (t),"
        " SPATIAL KEY (g), KEY (v))",
        "INSERT INTO f SELECT seq, CONCAT('word', seq), POINT(seq, 1), seq FROM seq_1_to_20",
        "CREATE TABLE i (id INT AUTO_INCREMENT PRIMARY KEY, v INT, w VARCHAR(10))",
    ),
    (
        ("INSERT INTO f (id, t, v) VALUES (?, ?, 3)", "#", "word#"),
        ("UPDATE f SET t = ? WHERE id = ?", "word#", "#"),
        ("UPDATE f SET v = ? WHERE id = ?", "#", "#"),
        ("DELETE FROM f WHERE id = ?", "#"),
        ("REPLACE INTO f (id, t, v) VALUES (?, 'w', 1)", "#"),
        ("SELECT id, t FROM f WHERE MATCH (t) AGAINST (?) ORDER BY id", "word#"),
        ("SELECT id, t, ST_AsText(g) FROM f WHERE id = ?", "#"),
        ("SELECT * FROM f WHERE v = ? ORDER BY id", "#"),
        ("UPDATE f SET g = POINT(?, ?) WHERE id = ?", "#", "#", "#"),
        ("INSERT INTO i (v) VALUES (?)", "#"),
        ("INSERT INTO i (v) VALUES (?), (?)", "#", "#"),
        ("INSERT INTO i (id, v) VALUES (0, ?)", "#"),
        ("INSERT INTO i (id, v) VALUES (NULL, ?)", "#"),
        ("INSERT INTO i (w) VALUES (?)", "w#"),
        ("SELECT LAST_INSERT_ID()",),
        ("SELECT @@last_insert_id, @@insert_id",),
        ("SELECT * FROM i WHERE id IS NULL",),
        ("SELECT id FROM i WHERE id IS NULL AND v = ?", "#"),
        ("SELECT * FROM i WHERE id = ?", "#"),
        ("SELECT v FROM i WHERE id = LAST_INSERT_ID()",),
        ("UPDATE i SET v = LAST_INSERT_ID(?) WHERE id = ?", "#", "#"),
        ("SELECT w, COUNT(*) FROM i WHERE v = ? GROUP BY w ORDER BY 1", "#"),
    ),
    (
        "ALTER TABLE i AUTO_INCREMENT = 5000",
        "ANALYZE TABLE f",
        "ALTER TABLE f DROP KEY IF EXISTS t",
        "ALTER TABLE f ADD FULLTEXT KEY IF NOT EXISTS t (t)",
    ),
    {"f": "SELECT id, t, ST_AsText(g), v FROM f ORDER BY id", "i": "SELECT * FROM i ORDER BY id"},
)

# In an empty answer of a view that sorts or groups, the server names either the view or its table.
VIEWS = Scene(
    (
        "CREATE TABLE a (id INT PRIMARY KEY, v INT, w VARCHAR(10), KEY (v))",
        "INSERT INTO a SELECT seq, seq % 5, CONCAT('w', seq) FROM seq_1_to_40",
        "CREATE TABLE b (id INT PRIMARY KEY, v INT, w VARCHAR(10), KEY (v))",
        "INSERT INTO b SELECT seq, seq % 7, CONCAT('b', seq) FROM seq_1_to_40",
        "CREATE VIEW x AS SELECT id, v, w FROM a WHERE v > 0",
        "CREATE VIEW y (k, u) AS SELECT a.id, b.w FROM a JOIN b ON a.id = b.v",
        "CREATE VIEW z AS SELECT v, COUNT(*) c FROM a GROUP BY v",
        "CREATE VIEW who AS SELECT id, CURRENT_USER() cu, USER() us, DATABASE() d FROM a",
        "CREATE VIEW since AS SELECT id, v FROM a WHERE NOW() > '2020-01-01'",
        "CREATE VIEW both_of AS SELECT x.id, y.u FROM x JOIN y ON x.id = y.k",
    ),
    (
        ("SELECT * FROM x WHERE id = ?", "#"),
        ("SELECT w FROM x WHERE v = ? ORDER BY id", "#"),
        ("SELECT * FROM z WHERE v = ?", "#"),
        ("SELECT * FROM who WHERE id = ?", "#"),
        ("SELECT * FROM since WHERE id = ?", "#"),
        ("SELECT COUNT(*) FROM both_of WHERE id = ?", "#"),
        ("SELECT COUNT(*) FROM x WHERE v = ?", "#"),
        ("UPDATE x SET v = ? WHERE id = ?", "#", "#"),
        ("UPDATE a SET v = ? WHERE id = ?", "#", "#"),
        ("INSERT INTO x VALUES (?, 3, 'new')", "#"),
        ("DELETE FROM x WHERE id = ?", "#"),
        ("SELECT a.w, (SELECT MAX(v) FROM x WHERE x.id = a.id) FROM a WHERE a.id = ?", "#"),
        ("SELECT * FROM a WHERE v = ? ORDER BY id LIMIT 2", "#"),
        ("SELECT MAX(id), MIN(w) FROM a WHERE v = ?", "#"),
        ("SELECT v, GROUP_CONCAT(w ORDER BY id) FROM a WHERE id < ? GROUP BY v ORDER BY v", "#"),
        ("SELECT DISTINCT v FROM a WHERE id > ? ORDER BY v", "#"),
        ("(SELECT id FROM a WHERE v = ?) UNION (SELECT id FROM b WHERE v = ?) ORDER BY 1 LIMIT 5", "#", "#"),
        ("SELECT a.id, b.w FROM a LEFT JOIN b ON b.v = a.v AND b.id = ? WHERE a.id = ? ORDER BY 1, 2", "#", "#"),
        ("SELECT t.v, t.c FROM (SELECT v, COUNT(*) c FROM a WHERE id > ? GROUP BY v) t WHERE t.c > 1 ORDER BY 1", "#"),
    ),
    (
        "CREATE OR REPLACE VIEW x AS SELECT id, v, w FROM b WHERE v > 1",
        "CREATE OR REPLACE VIEW x AS SELECT id, v, CONCAT(w, '!') w FROM a",
        "CREATE OR REPLACE SQL SECURITY INVOKER VIEW x AS SELECT id, v, w FROM a WHERE v > 0",
        "CREATE OR REPLACE ALGORITHM=TEMPTABLE VIEW x AS SELECT id, v, w FROM a",
        "CREATE OR REPLACE VIEW y (k, u) AS SELECT b.id, a.w FROM a JOIN b ON a.id = b.v",
        "CREATE OR REPLACE VIEW z AS SELECT v, SUM(id) c FROM a GROUP BY v",
        "RENAME TABLE a TO between_them, b TO a, between_them TO b",
        "ALTER TABLE a MODIFY v BIGINT",
        "ALTER TABLE a MODIFY v INT",
        "ALTER TABLE a MODIFY w VARCHAR(10) CHARACTER SET latin1",
        "ALTER TABLE a MODIFY w VARCHAR(10) CHARACTER SET utf8mb4",
        "ANALYZE TABLE a",
        "ALTER TABLE a DROP KEY IF EXISTS v",
        "ALTER TABLE a ADD KEY IF NOT EXISTS v (v)",
        "INSERT INTO a SELECT seq + 100, 3, 'many' FROM seq_1_to_300 ON DUPLICATE KEY UPDATE v = 3",
        "DELETE FROM a WHERE id > 100",
        "TRUNCATE TABLE b",
        "INSERT IGNORE INTO b SELECT seq, seq % 7, CONCAT('b', seq) FROM seq_1_to_40",
        "ALTER TABLE a ADD COLUMN IF NOT EXISTS n INT DEFAULT 4 AFTER id",
        "ALTER TABLE a DROP COLUMN IF EXISTS n",
        "FLUSH TABLES",
    ),
    {"a": "SELECT * FROM a ORDER BY id", "b": "SELECT * FROM b ORDER BY id"},
)

SCENES = {"referred_to": REFERRED_TO, "defaults": DEFAULTS, "keys": KEYS, "ids": IDS, "views": VIEWS}
