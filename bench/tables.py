"""The SQL of the tables that are measured in MariaDB."""
import matrix

# Raise it when the tables change, so that existing ones are made anew. `made` is written last, so tables of an
# interrupted run do not count.
VERSION = 2
ALWAYS = f"""
DROP DATABASE test;
CREATE DATABASE test;
USE test;
CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50), user_email VARCHAR(255), created DATETIME)
  ENGINE=InnoDB;
INSERT INTO user SELECT seq, CONCAT('name', seq), CONCAT('user', seq, '@example.org'), '2010-02-03 11:22:33'
  FROM seq_1_to_{matrix.ROWS};
CREATE TABLE written LIKE user;
INSERT INTO written SELECT * FROM user;
CREATE TABLE fresh LIKE user;
CREATE TABLE counter (id INT UNSIGNED PRIMARY KEY, hits BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB;
INSERT INTO counter SELECT seq, 0 FROM seq_1_to_{matrix.COUNTERS};
CREATE TABLE made (version BIGINT);
INSERT INTO made VALUES ({VERSION});
"""
# The Redis door's keyspace: the rows of `user` and the counters, in the form that Redis stores.
ENTRIES_VERSION = VERSION * 100 + 2
ENTRIES = f"""
TRUNCATE TABLE postern_redis.entries;
INSERT INTO postern_redis.entries (k, type, v)
  SELECT CONCAT('user:', user_id), 1, CONCAT_WS('\\t', user_name, user_email, created) FROM user;
INSERT INTO postern_redis.entries (k, type, v) SELECT CONCAT('count:', id), 1, '0' FROM counter;
INSERT INTO made VALUES ({ENTRIES_VERSION});
"""
PEOPLE = """
DROP TABLE IF EXISTS people;
CREATE TABLE people (user_id INT UNSIGNED PRIMARY KEY, email VARCHAR(255), first_name VARCHAR(50),
  last_name VARCHAR(50), street VARCHAR(100), city VARCHAR(50), zip CHAR(8), country CHAR(2), phone VARCHAR(30),
  company VARCHAR(100), status TINYINT, score INT, created DATETIME, changed DATETIME, notes VARCHAR(255))
  ENGINE=InnoDB;
INSERT INTO people SELECT seq, CONCAT('user', seq, '@example.org'), CONCAT('first', seq), CONCAT('last', seq),
  CONCAT(seq % 1000, ' Example Street, building ', seq), CONCAT('city', seq % 5000), LPAD(seq % 99999, 8, '0'), 'JP',
  CONCAT('+81 3 ', seq), CONCAT('company ', seq % 20000), seq % 5, seq % 1000, '2010-02-03 11:22:33',
  '2012-08-03 11:22:33', REPEAT('note ', 50) FROM seq_1_to_{rows};
"""
USERS = """
DROP TABLE IF EXISTS {table};
CREATE TABLE {table} LIKE user;
INSERT INTO {table} SELECT seq, CONCAT('name', seq), CONCAT('user', seq, '@example.org'), '2010-02-03 11:22:33'
  FROM seq_1_to_{rows};
"""
# A value repeats its key in ten digits. InnoDB stores it in the row's page if it fits, else in pages of its own.
INLINE_BYTES = 8000
VALUES = """
DROP TABLE IF EXISTS {table};
CREATE TABLE {table} (user_id INT UNSIGNED PRIMARY KEY, value {type} NOT NULL) ENGINE=InnoDB;
INSERT INTO {table} SELECT seq, LEFT(REPEAT(LPAD(seq, 10, '0'), {size} DIV 10 + 1), {size}) FROM seq_1_to_{rows};
"""
WIDE = f"""
DROP TABLE IF EXISTS wide;
CREATE TABLE wide (user_id INT UNSIGNED PRIMARY KEY,
  {", ".join(f"c{i} VARCHAR(20) NOT NULL" for i in range(1, matrix.WIDE_COLUMNS + 1))}) ENGINE=InnoDB;
INSERT INTO wide SELECT seq, {", ".join(f"CONCAT('{i}.', seq)" for i in range(1, matrix.WIDE_COLUMNS + 1))}
  FROM seq_1_to_{matrix.WIDE};
"""


def statements_for(table):
    """(number in `made`, SQL that makes the table) for a table that only some runs need; None for others."""
    head, _, size = table.partition("_")
    if table == "people":
        return VERSION * 100, PEOPLE.format(rows=matrix.PEOPLE)
    if head == "wide":
        return VERSION * 100 + 1, WIDE
    if not size:
        return None
    # Numbers after those above.
    number = VERSION * 1_000_000_000 + int(size) * 10
    rows = matrix.rows_in(table)
    if head == "value":
        kind = f"VARBINARY({size})" if int(size) <= INLINE_BYTES else "MEDIUMBLOB"
        return number + 1, VALUES.format(table=table, rows=rows, size=size, type=kind)
    return number, USERS.format(table=table, rows=rows)
