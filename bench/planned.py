"""Joins, sorts, groups and lists on tables of customers, their orders, and the terms of posts.

# is another number from 1 to ROWS each time."""
ROWS = 10_000
PLANNED = {
    "join of two": "SELECT o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer WHERE o.id = #",
    "join of three": "SELECT o.total, c.name, r.name FROM orders o JOIN customers c ON c.id = o.customer"
    " JOIN regions r ON r.id = c.region WHERE o.id = #",
    "rows of a key": "SELECT id, total FROM orders WHERE customer = #",
    "children of three": "SELECT id, customer, total FROM orders WHERE customer IN (#, #, #)",
    "children of 20": f"SELECT id, customer, total FROM orders WHERE customer IN ({', '.join('#' * 20)})",
    "sum of 10 rows": "SELECT COUNT(*), SUM(total), MAX(total) FROM orders WHERE customer = #",
    "sort of 10 rows": "SELECT id, total FROM orders WHERE customer = # ORDER BY total DESC LIMIT 5",
    "group of 10 rows": "SELECT kind, COUNT(*) FROM orders WHERE customer = # GROUP BY kind",
    "terms of a post": "SELECT t.*, tt.* FROM terms t INNER JOIN taxonomy tt ON t.id = tt.term INNER JOIN relations tr"
    " ON tr.taxonomy = tt.id WHERE tt.kind IN ('category', 'tag', 'format') AND tr.post IN (#) ORDER BY t.name ASC",
}
PLANNED_TABLES = (
    "CREATE TABLE regions (id INT PRIMARY KEY, name VARCHAR(40))",
    "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), region INT)",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer INT, total DECIMAL(9,2), kind TINYINT, KEY (customer))",
    "CREATE TABLE terms (id INT PRIMARY KEY, name VARCHAR(40), KEY (name))",
    "CREATE TABLE taxonomy (id INT PRIMARY KEY, term INT, kind VARCHAR(32), UNIQUE (term, kind), KEY (kind))",
    "CREATE TABLE relations (post INT, taxonomy INT, PRIMARY KEY (post, taxonomy), KEY (taxonomy))",
    "INSERT INTO regions SELECT seq, CONCAT('region ', seq) FROM seq_1_to_50",
    f"INSERT INTO customers SELECT seq, CONCAT('name ', seq), 1 + seq % 50 FROM seq_1_to_{ROWS}",
    f"INSERT INTO orders SELECT seq, 1 + seq % {ROWS}, seq % 1000, seq % 7 FROM seq_1_to_{10 * ROWS}",
    "INSERT INTO terms SELECT seq, CONCAT('term ', seq) FROM seq_1_to_500",
    "INSERT INTO taxonomy SELECT seq, seq, ELT(1 + seq % 3, 'category', 'tag', 'other') FROM seq_1_to_500",
    f"INSERT IGNORE INTO relations SELECT 1 + seq % {ROWS}, 1 + seq * 7 % 500 FROM seq_1_to_{4 * ROWS}",
    "ANALYZE TABLE regions, customers, orders, terms, taxonomy, relations",
)
